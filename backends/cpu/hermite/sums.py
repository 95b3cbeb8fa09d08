"""The Taylor series of Hermite's method summed at once: each result is one sum over the coefficients it depends on.

Coefficients are weighted so that L has no factor that depends on j (`recursion`): then neither have its powers, and

    sum over s of b_s:   w_i[j] = sum over variables m and shifts a of K_i,m[a] w_m[j + a]

with the same K for all j <= N.  No stage is written down: a row of results stays in registers while rows of coefficients are
read, and each number read takes part in several products.  K grows with the product of all shifts, stages do not: it is the
quicker where orders are low and variables few.
"""
from functools import cached_property
from itertools import product
from math import factorial

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..simd.arithmetic import Vectors
from ..simd.vector import INDEX, ask, data
from .text import branches, indented

CHAINS = 8                        # multiply-adds that the processor has on their way at a time
EVEN, ODD, ALL = 0, 1, 2          # which shifts along x a row of coefficients takes part with


def patterns(m):
    """Shifts along x of EVEN, ODD and ALL."""
    return [tuple(range(0, m, 2)), tuple(range(1, m, 2)), tuple(range(m))]


class Sums:
    """The sums that replace the stages of a `series.Series`, whose places they use: b_0 and b_1 in w, results in c, and U.

    routines   [(coefficients of x that are found for c, for U)]
    heads      (row of results, 7): its routine, its places in c and U, and the first entry of each pattern, and the end
    entries    (entry, 2): place of a row of coefficients in w, and of its factors: for c, then for U, of each shift along x

    With a scalar s, L L L L = s L L, the sums begin with stages 2 and 3, which then lie in the place of b_0 and b_1."""

    def __init__(self, series):
        self.s, self.r, self.m, n, d, L = series, series.r, series.m, series.n, series.d, series.L
        self.base, self.kinds = 2 if series.scalar else 0, 1 + series.pairs
        self.step = self.r.step
        if series.scalar:
            self.step = {i: {(shift, i): a for shift, a in series.scalar.items()} for i in self.r.kept}
        self.powers = [self.power(first) for first in range(self.r.stride)]
        self.used = [sum(np.abs(P) for _, P in powers) > 0 for powers in self.powers]
        self.routines, self.blocks, heads, entries = [], {}, [], []
        self.factor_count = 0
        for row, i in enumerate(self.r.kept):
            for j in series.results():
                counts = n * series.inside(j), series.reached(i, j)
                if not any(counts):
                    continue
                if counts not in self.routines:
                    self.routines.append(counts)
                found = self.rows_for(row, j)
                ends = np.cumsum([len(entries), *map(len, found)])
                entries += sum(found, [])
                result = i * n ** d * L + at(j, (n * L, n * n * L))
                U = series.U + series.slots[i] * series.box + at(j, ((n + 1) * L, (n + 1) ** 2 * L))
                heads.append((self.routines.index(counts), result, U, *ends))
        self.heads, self.entries = np.array(heads, np.int32).reshape(-1, 7), np.array(entries, np.int32).reshape(-1, 2)

    def rows_for(self, row, j):
        """(pattern) [(place in w, place of the factors)] of the rows of coefficients that a row of results depends on."""
        found, series, kept = [[], [], []], self.s, self.r.kept
        for first, column, shift in product(range(self.r.stride), range(len(kept)), np.ndindex((self.m,) * len(j))):
            along = self.used[first][(row, column, slice(None), *shift)]
            if not along.any() or any(k + step >= self.m for k, step in zip(j, shift)):
                continue
            pattern = EVEN if not along[1::2].any() else ODD if not along[::2].any() else ALL
            block = first, row, column, shift, pattern
            if block not in self.blocks:
                self.blocks[block] = self.factor_count
                self.factor_count += len(patterns(self.m)[pattern]) * self.kinds
            place = first * series.odd + series.slots[kept[column]] * series.block
            place += at([k + step for k, step in zip(j, shift)], (series.row, series.plane))
            found[pattern].append((place, self.blocks[block]))
        return found

    def power(self, first):
        """[(s, K of that stage)] without factors, (i, m, shift ...), s = first + base, then every stride: powers of L, or of
        the scalar, that b_first, or b_(first + 2), is multiplied with."""
        r, kept = self.r, self.r.kept
        P = np.zeros((len(kept),) * 2 + (self.m,) * r.dim)
        for i in range(len(kept)):
            P[(i, i) + (0,) * r.dim] = 1
        found = []
        for s in range(first + self.base, self.s.count + 1, r.stride):
            found.append((s, P))
            following = np.zeros_like(P)
            for i, terms in self.step.items():
                for (shift, m), a in terms.items():
                    to, of = (tuple(slice(*ends) for ends in some) for some in
                              ([(step, None) for step in shift[:r.dim]], [(0, self.m - step) for step in shift[:r.dim]]))
                    following[(kept.index(i), slice(None), *to)] += a * P[(kept.index(m), slice(None), *of)]
            P = following
        return found

    def factors(self, tau):
        """K for a time tau, of c and U, in the order in which entries name them."""
        result = np.zeros(self.factor_count)
        for first, (powers, places) in enumerate(self.taken):
            begin = first + self.base
            terms = [(s, tau ** (s - begin) * factorial(begin) / factorial(s) * P) for s, P in powers]
            result[places[0]] = sum(P for _, P in terms)
            if self.kinds > 1:
                result[places[1]] = sum(P / (s + 1) for s, P in terms if s < self.s.count)
        return result

    @cached_property
    def taken(self):
        """For each first stage ([(s, what entries take of K of that stage)], where it lies in the result: [of c, of U])."""
        found = []
        for first, powers in enumerate(self.powers):
            numbers, taken = np.arange(powers[0][1].size).reshape(powers[0][1].shape), []
            places = [[] for _ in range(self.kinds)]
            for (of, row, column, shift, pattern), begin in self.blocks.items():
                if of == first:
                    along = patterns(self.m)[pattern]
                    taken += list(numbers[(row, column, slice(None), *shift)][list(along)])
                    for kind, some in enumerate(places):
                        some += range(begin + kind * len(along), begin + (kind + 1) * len(along))
            found.append(([(s, P.ravel()[np.array(taken, int)]) for s, P in powers], [np.array(some, int) for some in places]))
        return found

    def operations(self):
        """Floating-point operations of all sums; a multiply-add counts 2."""
        total = 0
        for routine, _, _, *ends in self.heads:
            for count in self.routines[routine]:
                products = sum((end - begin) * sum(max(0, min(count, self.m - a)) for a in some)
                               for begin, end, some in zip(ends, ends[1:], patterns(self.m)))
                total += max(0, 2 * products - count * (not self.base))
        return int(total)

    def definitions(self):
        """Lines that define the compiled sums."""
        some = [pattern if (self.heads[:, 3 + i] < self.heads[:, 4 + i]).any() else ()
                for i, pattern in enumerate(patterns(self.m))]
        return [f"sum{i} = sums({counts!r}, {some!r}, {self.m}, real, {self.s.vectors}, {self.base > 0}, AHEAD)"
                for i, counts in enumerate(self.routines)]

    def text(self, begin):
        """Lines that find all sums; begin: the place of the first of `factors`."""
        return ["for i in range(len(heads)):",
                "    c_at, u_at = np.int64(heads[i, 1]), np.int64(heads[i, 2])",
                "    ends = np.int64(heads[i, 3]), np.int64(heads[i, 4]), np.int64(heads[i, 5]), np.int64(heads[i, 6])",
                *indented(branches({f"heads[i, 0] == {number}": [
                    f"sum{number}(w, c, c_at, u_at, ends, entries, factors, {begin}, R, coming)"]
                    for number in range(len(self.routines))}))]


def at(j, sizes):
    return sum(i * size for i, size in zip(j, sizes))


def sums(counts, patterns, m, dtype, vectors, add, ahead=0):
    """Compiled call(w, c, c_at, u_at, ends, entries, factors, begin, R, coming) for a row of results, each
    `vectors` registers:

        c[c_at + j L], w[u_at + j L] = (or, if `add`, +=) sum over entries (place, f) and shifts a of K[a] w[place + (j + a) L]

    for j below counts[0], counts[1], where j + a < m, K = factors[begin + f:] for c, and after it for w.  Entries from ends[i]
    to ends[i + 1] have the shifts of patterns[i].  Entry e asks for `ahead` lines of R, after coming and e ahead lines."""
    def emit(context, builder, signature, args):
        v = Vectors(builder, dtype)
        w, c, entries, factors = (data(context, builder, signature, args, i) for i in (0, 1, 5, 6))
        ends = [builder.extract_value(args[4], i) for i in range(4)]
        L = vectors * v.width

        def entry(number, part):
            place = builder.add(builder.mul(number, ir.Constant(INDEX, 2)), ir.Constant(INDEX, part))
            return builder.sext(builder.load(builder.gep(entries, [place])), INDEX)

        # Results and some of what is read stay in registers. A multiply-add waits for the one before it: where results are few,
        # shifts take turns with several sums of each.
        together = vectors if (sum(counts) + 4) * vectors <= 24 else 1
        turns = -(-CHAINS // (sum(counts) * together))

        def body(lanes):
            found = {(part, j, lane): [cgutils.alloca_once(builder, v.type) for _ in range(turns)]
                     for part, count in enumerate(counts) for j in range(count) for lane in lanes}
            for result in sum(found.values(), []):
                builder.store(v.constant(0), result)
            for i, shifts in enumerate(patterns):
                if not shifts:
                    continue
                with cgutils.for_range(builder, ends[i + 1], ends[i]) as loop:
                    place, f = entry(loop.index, 0), builder.add(args[7], entry(loop.index, 1))
                    for k in range(ahead):
                        line = builder.add(builder.mul(loop.index, ir.Constant(INDEX, ahead)), ir.Constant(INDEX, k))
                        line = builder.mul(line, ir.Constant(INDEX, 64 // v.size))
                        ask(builder, data(context, builder, signature, args, 8), builder.add(args[9], line))
                    read = {}
                    for number, a in enumerate(shifts):
                        for part, count in enumerate(counts):
                            some = [j for j in range(count) if j + a < m]
                            if not some:
                                continue
                            at = v.plus(f, part * len(shifts) + number)
                            factor = v.spread(builder.load(builder.gep(factors, [at])))
                            for j, lane in product(some, lanes):
                                if (j + a, lane) not in read:
                                    read[j + a, lane] = v.load(w, v.plus(place, (j + a) * L + lane))
                                result = found[part, j, lane][number % turns]
                                total = builder.call(v.fma, [factor, read[j + a, lane], builder.load(result)])
                                builder.store(total, result)
            for (part, j, lane), results in found.items():
                total = v.dot([None] * turns, [builder.load(result) for result in results])
                at = v.plus(args[2 + part], j * L + lane)
                v.store(v.scaled(total, None, v.load((c, w)[part], at) if add else None), (c, w)[part], at)
        starts = range(0, L, v.width)
        for first in range(0, vectors, together):
            body(starts[first:first + together])
        return context.get_dummy_value()

    integer = types.int64

    @intrinsic
    def call(typingctx, w, c, c_at, u_at, ends, entries, factors, begin, R, coming):
        return types.void(w, c, integer, integer, ends, entries, factors, integer, R, integer), emit

    return call
