"""Text of the vertex limiter above order 1 on a tile: a variable's derivatives by one product, then from reference to physical
directions one after the other."""
from itertools import combinations_with_replacement

import numpy as np

from ..dg.tile_source import indented
from . import slopes as limiter_slopes


class Degrees:
    """The partial derivatives of order q - 1 of the projections on degree q, q from the order down to 1, which are linear.

    A block is one of them: its coefficients of mode 0 and the linear modes, or that of mode 0 alone.  Blocks with reference
    directions come first, then those where one direction after the other has been replaced by a physical one.

    reference   (mode, mode) matrices of the first blocks
    parts       blocks with physical directions only, degree by degree from the highest
    replaced    (block, the blocks with dr_k in place of the last direction for every k, that direction)"""

    def __init__(self, limits):
        self.limits, self.d, dim = limits, limits.dim, range(limits.dim)
        self.numbers, self.reference, self.replaced = {}, [], []

        def directions(count):
            return list(combinations_with_replacement(dim, count))
        for q in range(limits.order, 0, -1):
            for index in directions(q - 1):
                self.numbers[q, (), index] = len(self.numbers)
                matrix = np.diag((limits.degrees <= q).astype(float))
                for k in index:
                    matrix = limits.derivatives[k] @ matrix
                self.reference.append(matrix)
        for q in range(limits.order, 0, -1):
            for done in range(1, q):
                for physical in directions(done):
                    for index in directions(q - 1 - done):
                        self.numbers[q, physical, index] = number = len(self.numbers)
                        sources = [self.numbers[q, physical[:-1], tuple(sorted((*index, k)))] for k in dim]
                        self.replaced.append((number, *sources, physical[-1]))
        ordered = [(q, index) for q in range(limits.order, 0, -1) for index in directions(q - 1)]
        self.parts = [self.numbers[q, index, ()] for q, index in ordered]
        self.first = [sum(p > q for p, _ in ordered) for q in range(limits.order + 1)]

    def matrices(self):
        """The factors of the products: of coefficients 0 and linear of all first blocks, and of coefficients 0 alone."""
        rows = [0, *self.limits.linear.tolist()]
        return (np.concatenate([matrix[rows] for matrix in self.reference]), np.array([matrix[0] for matrix in self.reference]))

    def rows(self, padded):
        """Rows of the scratch array: blocks, of which a product may write a few more, and shares."""
        width = self.d + 1
        return {"BLOCKS": max(len(self.numbers) * width, padded(len(self.reference) * width)) + width, "SHARE": 2}

    def tables(self):
        """Lines of the module that define the lists."""
        order, degrees = self.limits.order, self.limits.degrees
        modes = np.argsort(degrees, kind="stable")
        return [f"REPLACED = np.array({self.replaced})", f"PARTS = np.array({self.parts})",
                f"FIRST = np.array({[*self.first]})", f"MODES = np.array({modes.tolist()})",
                f"OF_DEGREE = np.array({[int((degrees < q).sum()) for q in range(order + 2)]})"]

    def replace(self, k, width):
        """Lines that replace reference directions by physical ones, in blocks of `width` rows."""
        L, at = k.L, k.tile.at
        terms = [f"w[{at['G']} + ({i * self.d} + along)*{L} + lane]*w[{at['BLOCKS']} + (source{i}*{width} + row)*{L} + lane]"
                 for i in range(self.d)]
        sources = ", ".join(f"source{i}" for i in range(self.d))
        return ["for entry in range(len(REPLACED)):",
                f"    to, {sources}, along = {', '.join(f'REPLACED[entry, {i}]' for i in range(self.d + 2))}",
                f"    for row in range({width}):",
                *indented(k.tile.lanes([f"w[{at['BLOCKS']} + (to*{width} + row)*{L} + lane] = {' + '.join(terms)}"]), 2)]

    def keep_means(self, k):
        """Lines that keep the averages of all parts of all variables, rows (part, variable)."""
        L, at = k.L, k.tile.at
        return [f"for v in range({k.V}):",
                f"    means_product(means, 0, w, {at['Q']} + v*{k.N * L}, w, {at['BLOCKS']})", *indented(self.replace(k, 1)),
                f"    for part in range({len(self.parts)}):",
                f"        copy(w, {at['BLOCKS']} + PARTS[part]*{L}, w, {at['KEPT']} + (part*{k.V} + v)*{L})"]

    def limit(self, k):
        """Lines that limit the coefficients of a tile, a variable after the other."""
        L, K, at, s, number = k.L, k.K, k.tile.at, k.tile, k.tile.dialect.literal
        share, found = (f"w[{at['SHARE'] + i * L} + lane]" for i in (0, 1))
        zero, one = number(0.0), number(1.0)
        take = []
        for i in range(K):
            place = f"vertices[(tile*{K} + {i})*{L} + lane] + (part*{k.V} + v)*{2 * L}"
            take += [f"{k.row('HIGH', 2 * i + j)} = extremes[{place}{f' + {L}' * j}]" for j in (0, 1)]
        block = f"{at['BLOCKS']} + PARTS[part]*{K * L}"
        body = [*(f"c{i} = w[{block} + {(1 + i) * L} + lane]" for i in range(self.d)),
                *limiter_slopes.share_at_vertices(k, f"w[{block} + lane]",
                                                  [tuple(k.row("HIGH", 2 * i + j) for j in (0, 1)) for i in range(K)]),
                f"{found} = select(share < {found}, share, {found})"]
        slope = f"w[{at['Q']} + (v*{k.N} + MODES[i])*{L} + lane]"
        used = [f"{share} = select({found} > {share}, {found}, {share})", f"share = {share}",
                *limiter_slopes.sensed(k, "share"), f"{found} = share",
                f"{k.row('CHANGED', 0)} = select(share < {one}, {one}, {k.row('CHANGED', 0)})"]
        return [*s.lanes([f"{k.row('CHANGED', 0)} = {zero}"]), f"for v in range({k.V}):",
                f"    derivatives_product(derivatives, 0, w, {at['Q']} + v*{k.N * L}, w, {at['BLOCKS']})",
                *indented(self.replace(k, K)), *indented(s.lanes([f"{share} = {zero}"])),
                f"    for degree in range({k.limits.order}, 0, -1):", *indented(s.lanes([f"{found} = {one}"]), 2),
                "        for part in range(FIRST[degree], FIRST[degree - 1]):",
                *indented(s.lanes(take), 3), *indented(s.lanes(body), 3),
                *indented(s.lanes(used), 2),
                "        for i in range(OF_DEGREE[degree], OF_DEGREE[degree + 1]):",
                *indented(s.lanes([f"{slope} *= {found}"]), 3),
                *limiter_slopes.count_changed(k), "changed = changed or limited"]
