"""Text of the Taylor series in the fused kernels of Hermite's method: loops over rows of coefficients around compiled sums.

w holds a block for each variable, those with a series of their own first, and, where two stages are made at once, further blocks
for the odd stages of these.  A block has rows of 2N + 2 coefficients of x and as many zeros as a term reaches beyond; after its
rows comes one of zeros, which is what a term finds beyond the last row.
"""
from itertools import product
from textwrap import indent

import numpy as np

from .hermite_recursion import size


class SeriesSource:
    """Text for a `hermite_recursion.Recursion`, for groups of L lanes in so many vector registers."""

    def __init__(self, recursion, L, vectors):
        self.r, self.d, self.V, self.L, self.vectors = recursion, recursion.dim, recursion.variables, L, vectors
        self.n, self.m = recursion.order + 1, 2 * recursion.order + 2
        self.row = (self.m + recursion.stride) * L
        self.block = (self.m ** (self.d - 1) + 1) * self.row
        self.slots = {v: slot for slot, v in enumerate((*recursion.kept, *recursion.rest))}
        self.size = (self.V + (recursion.stride - 1) * len(recursion.kept)) * self.block
        self.node = self.n ** self.d * L
        self.sums = {"step": recursion.step} | ({"begin": recursion.begin, "gain": recursion.gain} if recursion.stride == 2 else {})

    def definitions(self):
        """Lines that define the compiled sums; of those that make a stage, also with the stage added to the series' sum."""
        lines = [f"slots = {tuple(self.slots[v] for v in range(self.V))!r}"]
        for name, sums in self.sums.items():
            if name == "gain":
                lines.append(f"gain = {self.linear(sums, 'c')}")
            else:
                lines += [f"{name} = {self.linear(sums)}", f"{name}_and_add = {self.linear(sums, further=True)}"]
        return lines

    def linear(self, sums, target="w", further=False):
        """Compiled sums: results go to the blocks of their variables in w, or are added to what is in c."""
        number, rows, outputs = 0, self.rows(sums), []
        for i, terms in sums.items():
            texts = []
            for shift, m in terms:
                texts.append((number, rows.index(shift[1:]), self.slots[m] * self.block + shift[0] * self.L))
                number += 1
            outputs.append((self.slots[i] * self.block if target == "w" else self.node * i, texts, self.node * i if further else None))
        return f"lanes.linear({outputs!r}, real, {self.vectors}, {target == 'c'})"

    def rows(self, sums):
        """The rows (y, z) in which terms lie, as steps from that of the result."""
        return sorted({shift[1:] for terms in sums.values() for shift, _ in terms})

    def table(self, sums):
        """Of every row of coefficients, those of results first and lower ones before higher ones: sum of j_y and j_z, how much
        they are beyond N, where its results lie in c, where it lies in w, and where its terms do.

        In this order a row can be replaced by its next stage, because terms lie in the same row or in later ones."""
        found = []
        for js in product(range(self.m), repeat=self.d - 1):
            number = [sum(j * length ** k for k, j in enumerate(js)) for length in (self.n, self.m)]
            beyond = sum(max(0, j - self.n + 1) for j in js)
            ends = [tuple(map(sum, zip(js, shift))) for shift in self.rows(sums)]
            ends = [sum(j * self.m ** k for k, j in enumerate(end)) if max(end, default=0) < self.m else self.m ** (self.d - 1)
                    for end in ends]
            found.append((max(js, default=0) >= self.n, sum(js), beyond, number[0] * self.n * self.L,
                          *(row * self.row for row in (number[1], *ends))))
        return np.array(sorted(found), np.int64)[:, 1:]

    def sweep(self, name, target, factors, base="base"):
        """Loops over the coefficients that stage s finds (see `Recursion.bounds`), which are added to the sum."""
        n, count = self.n, len(self.rows(self.sums[name]))
        places = "(" + " ".join(f"{base} + {name}s[r, {4 + i}] + lane," for i in range(count)) + ")"

        def points(name, indices):
            return (f"for j in range({indices}):\n    lane = j * {self.L}\n"
                    f"    {name}(w, {target} + {name.split('_')[0]}s[r, 3] + lane, w, {places}, {factors}, c, {name.split('_')[0]}s[r, 2] + lane)")
        most = f"most = min({self.m}, {n} + needed - s - {name}s[r, 1], degree - s + 1 - {name}s[r, 0])"
        return "\n".join([f"for r in range({n ** (self.d - 1)}):", indent("\n".join([
            most, points(f"{name}_and_add", f"min({n}, most)"), points(name, f"{n}, most")]), "    "),
            f"for r in range({n ** (self.d - 1)}, {self.m ** (self.d - 1)}):", indent(f"{most}\n{points(name, 'most')}", "    ")])

    def text(self, jit):
        """The function: the Taylor series of the interpolants in w, summed up in c."""
        n, odd = self.n, self.V * self.block

        def factors(name, stage="s"):
            count = size(self.sums[name])
            return f"factors = ({' '.join(f'{name}_factors[{stage} * {count} + {i}],' for i in range(count)) or 'one,'})"
        lines = [f"for r in range({n ** (self.d - 1)}):",
                 *(f"    scaled(w, {slot * self.block} + steps[r, 3], c, {v * self.node} + steps[r, 2], one, {n * self.vectors})"
                   for v, slot in self.slots.items())]
        if self.r.stride == 2:
            lines += ["s = 1", factors("begin", 0), self.sweep("begin", odd, "factors", 0)]
        lines += [f"for start in range({self.r.stride}):", f"    base = start * {odd}"]
        if self.r.stride == 2:
            count = len(self.rows(self.r.gain))
            places = " ".join(f"base + gains[r, {4 + i}] + lane," for i in range(count))
            lines += ["    for s in range(start, stages, 2):", f"        {factors('gain')}", f"        for r in range({n ** (self.d - 1)}):",
                      f"            for j in range(min({n}, degree - s - gains[r, 0])):", f"                lane = j * {self.L}",
                      f"                gain(c, gains[r, 2] + lane, w, ({places}), factors, c, 0)",
                      "        s += 2", "        if s <= stages:"]
        else:
            lines += ["    for s in range(1, stages + 1):", "        if True:"]
        lines += [f"            {factors('step')}", indent(self.sweep("step", "base", "factors"), " " * 12)]
        text = "\n".join(lines)
        return f"{jit}\ndef series({self.arguments}):\n{indent(text, '    ')}"

    arguments = "w, c, steps, begins, gains, step_factors, begin_factors, gain_factors, stages, needed, degree"
