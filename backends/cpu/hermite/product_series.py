"""The Taylor series in the fused kernels of Hermite's method where coefficients vary: products of polynomials.

    b_0 = R,  b_s = tau / s L b_(s-1),  the result is the sum of all b_s,  C L w = - sum_k d/dx_k (A_k w) + B w

A coefficient that depends on x is a series a about every target node, and the product's coefficient j needs none above j:

    (a w)[j] = sum over i <= j of a[j - i] w[i]

So stage s of q is pruned as where coefficients are constant: it finds those with sum_k max(0, j_k - N) <= q - s.
w holds b_(s-1) and b_s of all variables, in turns, then one variable's C L b_(s-1).
"""
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..simd.arithmetic import Vectors
from ..simd.vector import INDEX, data
from .text import branches, nested, tuple_of


class ProductSeries:
    """The series of a law on `HermiteTables` with systems, for groups of L lanes, one vector register.

    numbers   factors that do not depend on x: each term's, of which `maps` holds tau, then all of them
    linear    (variable) [(variable of the term, axis of its derivative or None, its number)]
    products  (variable) [(variable of the term, axis or None, series, its number)]
    inverse   (variable) None, or the series that the sum of all terms is multiplied with
    given     (series) of both halves its coefficients (k_z, k_y, k_x, z, y, x), of length one along axes it does not depend on
    extents   (series) how many coefficients along z, y, x are not zero"""

    def __init__(self, tables, pruned, L=1):
        self.d, self.V, self.L, self.stages, self.pruned = tables.dim, tables.variables, L, tables.stages, pruned
        self.n, self.m, self.targets = tables.order + 1, 2 * tables.order + 2, tables.targets
        self.planes, self.rows = self.m if self.d > 2 else 1, self.m if self.d > 1 else 1
        self.row = self.m * L
        self.plane = self.rows * self.row
        self.block = self.planes * self.plane
        self.size = (2 * self.V + 1) * self.block
        self.numbers, self.given = [], []
        self.linear, self.products = ([[] for _ in range(self.V)] for _ in range(2))
        systems = tables.systems
        inverse = list(zip(*(system.inverse for system in systems)))
        self.inverse = [self.known(halves) if varies(halves) else None for halves in inverse]
        terms = [(k, -1 / tables.grid.spacing[k], [system.flux[k] for system in systems]) for k in range(self.d)]
        for k, factor, entries in [*terms, (None, 1.0, [system.source for system in systems])]:
            for i, j in sorted(set(entries[0]) | set(entries[1])):          # one that is zero at all places is absent
                a = [entry.get((i, j), 0.0) for entry in entries]
                own = factor * (inverse[i][0] if self.inverse[i] is None else 1.0)
                if varies(a):
                    self.products[i].append((j, k, self.known(a), self.number(own)))
                else:
                    self.linear[i].append((j, k, self.number(own * a[0])))
        self.extents = [self.extent(values) for values in self.given]

    def known(self, values):
        """The number of a series, of both halves."""
        self.given.append(values)
        return len(self.given) - 1

    def number(self, value):
        self.numbers.append(value)
        return len(self.numbers)          # after tau

    def extent(self, values):
        """How many coefficients of a series are not zero along z, y, x."""
        there = np.zeros((self.m,) * self.d, bool)
        for v in values:
            there |= np.any(v != 0, axis=tuple(range(self.d, np.ndim(v)))) if np.ndim(v) else False
        return *(1,) * (3 - self.d), *(int(np.max(k, initial=0)) + 1 for k in np.nonzero(there))

    def of_half(self, half, dtype):
        """All series of a half, one after the other, each [z, y, group, k_z, k_y, k_x, lane], and of each (series, 4): where
        it begins, and how far it is from one z, y and group to the next, 0 where it does not depend on them."""
        parts, steps, begin = [], [], 0
        for values, extent in zip(self.given, self.extents):
            a, d, L = values[half], self.d, self.L
            a = (np.asarray(a) if np.ndim(a) else np.full((1,) * (2 * d), a))[tuple(map(slice, extent[3 - d:]))]
            a = np.moveaxis(a, range(d), range(-d, 0))
            a = a.reshape(*a.shape[:d > 1], *(1,) * (3 - d), *a.shape[d > 1:])          # in 2D z is the last axis, too
            nz, ny, nx = a.shape[:3]
            groups = -(-nx // L)
            part = np.zeros((nz, ny, groups * L, int(np.prod(a.shape[3:]))), dtype)
            part[:, :, :nx] = a.reshape(*a.shape[:3], -1)
            if nx == 1:
                part[...] = part[:, :, :1]
            part = part.reshape(nz, ny, groups, L, -1).swapaxes(3, 4)
            sizes = np.array([part[0].size, part[0, 0].size, part[0, 0, 0].size])
            steps.append([begin, *np.where(np.array([nz, ny, groups]) > 1, sizes, 0)])
            parts.append(part.ravel())
            begin += part.size
        return np.concatenate([*parts, np.zeros(1, dtype)]), np.array(steps, np.int64).reshape(-1, 4)

    def makers(self):
        """{arguments of `product`: its name} for all rows: any count from N + 1 on, or all."""
        used = {(s, k == 0, True) for some in self.products for _, k, s, _ in some}
        used |= {(s, False, False) for s in self.inverse if s is not None}
        return {(int(x), min(count + x, self.m), self.extents[s], add): f"product{int(x)}{int(add)}_{s}_{count}"
                for s, x, add in sorted(used) for count in self.counts()}

    def definitions(self):
        """Lines that define compiled parts."""
        strides = {extent: (extent[1] * extent[2] * self.L, extent[2] * self.L) for extent in self.extents}
        return ["from dgarray.backends.cpu.hermite.product_series import linear, product",
                *(f"linear{i} = linear({tuple(k == 0 for _, k, _ in terms)!r}, {self.m}, real)"
                  for i, terms in enumerate(self.linear) if terms),
                *(f"{name} = product({first}, {last}, {extent[2]}, {(*strides[extent], self.plane, self.row)}, {add}, real)"
                  for (first, last, extent, add), name in self.makers().items())]

    def text(self):
        """Lines of the function that replaces the interpolants in w by their Taylor series and puts its sum in c, of the cells
        at z, y and in this group."""
        stage = []
        for i in range(self.V):
            scale, to = "share * ", f"other + {i * self.block}"
            if self.inverse[i] is not None:
                scale, to = "", str(2 * self.V * self.block)
            row = [f"o = {to} + jz * {self.plane} + jy * {self.row}", *self.sum_of_linear(i, scale)]
            for j, k, s, number in self.products[i]:
                row += self.product_of_term(j, k, s, f"{scale}numbers[{number}]")
            stage += self.over_rows(row)
            if self.inverse[i] is not None:
                stage += self.over_rows([f"o = other + {i * self.block} + jz * {self.plane} + jy * {self.row}",
                                         *self.call_product(self.inverse[i], 0, False, to, "share, real(0)", "jz", "jy")])
        places = [f"at{s} = places[{s}, 0] + z * places[{s}, 1] + y * places[{s}, 2] + group * places[{s}, 3]"
                  for s in range(len(self.given))]
        return nested(["def series(w, c, law, z, y, group, R, coming):"], [
            "numbers, coefficients, places = law", *places, f"this, other = 0, {self.V * self.block}",
            *self.summed("this", "="),
            *nested([f"for s in range(1, {self.stages + 1}):"], [
                "share = numbers[0] / real(s)", *stage, *self.summed("other", "+="), "this, other = other, this"])])

    def sum_of_linear(self, i, scale):
        """Lines that set a row to the sum of the terms whose factors do not depend on x, zero where it has no neighbour."""
        if not self.linear[i]:
            return [f"for k in range(count * {self.L}):", "    w[o + k] = 0"]
        places, factors, ups = [], [], {1: f"up_y = int(jy + 1 < {self.rows})", 2: f"up_z = int(jz + 1 < {self.planes})"}
        for j, k, number in self.linear[i]:
            z, y = "jz + up_z" if k == 2 else "jz", "jy + up_y" if k == 1 else "jy"
            places.append(f"this + {j * self.block + self.L * (k == 0)} + ({z}) * {self.plane} + ({y}) * {self.row}")
            more = {1: f" * real(up_y * ({y}))", 2: f" * real(up_z * ({z}))"}.get(k, "")
            factors.append(f"{scale}numbers[{number}]{more}")
        return [*(line for axis, line in ups.items() if any(k == axis for _, k, _ in self.linear[i])),
                f"linear{i}(w, o, {tuple_of(places)}, {tuple_of(factors)}, count)"]

    def product_of_term(self, j, k, s, factor):
        """Lines that add a term whose coefficient is a series, with a derivative along axis k or None; of x, the factor
        j_x + 1 is the product's own."""
        z, y = "jz + 1" if k == 2 else "jz", "jy + 1" if k == 1 else "jy"
        lines = self.call_product(s, int(k == 0), True, f"this + {j * self.block}", "f, f" if k == 0 else "f, real(0)", z, y)
        if k in (None, 0):
            return [f"f = {factor}", *lines]
        up, end = (y, self.rows) if k == 1 else (z, self.planes)
        return nested([f"if {up} < {end}:"], [f"f = {factor} * real({up})", *lines])

    def call_product(self, s, first, add, place, factors, z, y):
        """Lines that call the product with a series that finds as many coefficients as the row has."""
        names, (ez, ey, _) = self.makers(), self.extents[s]
        bounds = ", ".join(f"max(0, {j} - {extent - 1}), {j}" if extent > 1 else f"{j}, {j}"
                           for j, extent in ((z, ez), (y, ey)))
        return branches({f"count == {count}": [
            f"{names[first, min(count + first, self.m), self.extents[s], add]}(coefficients, at{s}, w, {place}, o, {factors}, "
            f"{bounds})"] for count in self.counts()})

    def counts(self):
        """How many coefficients of x a row may have."""
        return range(self.n, self.m + 1) if self.pruned else [self.m]

    def over_rows(self, lines):
        """Lines for all rows of coefficients that a stage finds, and how many these are."""
        count = [f"count = {self.m}"]
        if self.pruned:
            above = " - ".join(f"max(0, {j} - {self.n - 1})" for j in ("jz", "jy"))
            count = [f"count = min({self.m}, {self.n + self.stages} - s - {above})", f"if count < {self.n}:", "    break"]
        return nested([f"for jz in range({self.planes}):", f"for jy in range({self.rows}):"], [*count, *lines])

    def summed(self, place, sign):
        """Lines that set c to, or add to it, what lies at a place of w."""
        n, L = self.n, self.L
        planes, rows = (n if length > 1 else 1 for length in (self.planes, self.rows))
        return nested([f"for v in range({self.V}):", f"for jz in range({planes}):", f"for jy in range({rows}):"], [
            f"p = {place} + v * {self.block} + jz * {self.plane} + jy * {self.row}",
            f"o = ((v * {planes} + jz) * {rows} + jy) * {n * L}", f"for k in range({n * L}):", f"    c[o + k] {sign} w[p + k]"])


def varies(halves):
    """Whether a coefficient is a series in one of the halves, or another number in each."""
    return any(map(np.ndim, halves)) or halves[0] != halves[1]


def linear(along_x, m, dtype):
    """Compiled call(w, o, places, factors, count): w[o + j L] = sum over terms of factor w[place + j L] for j < count, L lanes
    each; of terms with a derivative along x the factor times j + 1, and nothing for j + 1 = m."""
    def emit(context, builder, signature, args):
        v, w = Vectors(builder, dtype), data(context, builder, signature, args, 0)
        places, factors = ([builder.extract_value(args[i], k) for k in range(len(along_x))] for i in (2, 3))
        spread = [v.spread(f) for f in factors]

        def row(j, number, terms):
            values = [v.load(w, builder.add(places[k], j)) for k in terms]
            some = [v.spread(builder.fmul(factors[k], number)) if along_x[k] else spread[k] for k in terms]
            v.store(v.dot(some, values) if terms else v.constant(0), w, builder.add(args[1], j))
        every, last = range(len(along_x)), ir.Constant(INDEX, m - 1)
        inside = builder.select(builder.icmp_signed("<", args[4], last), args[4], last)
        with cgutils.for_range(builder, inside) as loop:
            number = builder.fadd(builder.sitofp(loop.index, v.scalar), ir.Constant(v.scalar, 1.0))
            row(builder.mul(loop.index, ir.Constant(INDEX, v.width)), number, every)
        with builder.if_then(builder.icmp_signed(">", args[4], last)):
            row(ir.Constant(INDEX, (m - 1) * v.width), None, [k for k in every if not along_x[k]])
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, w, o, places, factors, count):
        return types.void(w, types.int64, places, factors, types.int64), emit

    return call


def product(first, last, extent, strides, add, dtype):
    """Compiled call(a, at, w, p, o, f, g, z0, z1, y0, y1): a row of a product of series, L lanes each,

        w[o + (j - first) L] = (or, if `add`, +=) (f + g (j - first)) sum over z0 <= i_z <= z1, y0 <= i_y <= y1 and i_x <= j
                               of a[z1 - i_z, y1 - i_y, j - i_x] w[i_z, i_y, i_x]   for first <= j < last, j - i_x < extent

    a begins at `at`, the w that is read at p; strides: from one plane of a to the next, from one row, and the same of w."""
    def emit(context, builder, signature, args):
        v = Vectors(builder, dtype)
        a, w = (data(context, builder, signature, args, i) for i in (0, 2))
        at, p, o, f, g, z0, z1, y0, y1 = args[1], *args[3:]
        one = ir.Constant(INDEX, 1)
        sums = [cgutils.alloca_once(builder, v.type) for _ in range(first, last)]
        for total in sums:
            builder.store(v.constant(0), total)

        def place(begin, *steps):
            return v.plus(begin, *(builder.mul(number, ir.Constant(INDEX, stride)) for number, stride in steps))
        with (cgutils.for_range(builder, builder.add(z1, one), z0) as over_z,
              cgutils.for_range(builder, builder.add(y1, one), y0) as over_y):
            iz, iy = over_z.index, over_y.index
            of_a = place(at, (builder.sub(z1, iz), strides[0]), (builder.sub(y1, iy), strides[1]))
            of_w = place(p, (iz, strides[2]), (iy, strides[3]))
            read = [v.load(w, v.plus(of_w, i * v.width)) for i in range(last)]
            for k in range(min(extent, last)):
                factor = v.load(a, v.plus(of_a, k * v.width))
                for j in range(max(first, k), last):
                    total = sums[j - first]
                    builder.store(builder.call(v.fma, [factor, read[j - k], builder.load(total)]), total)
        for number, total in enumerate(sums):
            factor = builder.fadd(f, builder.fmul(g, ir.Constant(v.scalar, float(number))))
            to = v.plus(o, number * v.width)
            v.store(v.scaled(builder.load(total), v.spread(factor), v.load(w, to) if add else None), w, to)
        return context.get_dummy_value()

    number, integer = types.float32 if np.dtype(dtype) == np.float32 else types.float64, types.int64

    @intrinsic
    def call(typingctx, a, at, w, p, o, f, g, z0, z1, y0, y1):
        return types.void(a, integer, w, *[integer] * 2, *[number] * 2, *[integer] * 4), emit

    return call
