"""The Taylor series of Hermite's method summed at once: each result is one sum over the coefficients it depends on.

Coefficients are weighted so that L has no factor that depends on j (`hermite_recursion`): then neither have its powers, and

    sum over s of b_s:   w_i[j] = sum over variables m and shifts a of K_i,m[a] w_m[j + a]

with the same K for all j <= N.  No stage is written down: a row of results stays in registers while rows of coefficients are
read, and each number read takes part in several products.  K grows with the product of all shifts, stages do not: it is the
quicker where orders are low and variables few.
"""
from itertools import product
from math import factorial

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .lanes import Vectors
from .vector import INDEX, ask, data

CHAINS = 8                        # multiply-adds that the processor has on their way at a time
EVEN, ODD, ALL = 0, 1, 2          # which shifts along x a row of coefficients takes part with


def patterns(m):
    """Shifts along x of EVEN, ODD and ALL."""
    return [tuple(range(0, m, 2)), tuple(range(1, m, 2)), tuple(range(m))]


class Sums:
    """The sums of a `hermite_series.SeriesSource`, whose places they use: c and, with two kinds of variables, U.

    routines   [(coefficients of x that are found for c, for U)]
    heads      (row of results, 7): its routine, its places in c and U, and the first entry of each pattern, and the end
    entries    (entry, 2): place of a row of coefficients in w, and of its factors: for c, then for U, of each shift along x"""

    def __init__(self, source):
        self.s, self.r, self.m = source, source.r, source.m
        r, n = self.r, source.n
        self.base = 2 if source.scalar else 0
        self.step = r.step if not source.scalar else {i: {(shift, i): a for shift, a in source.scalar.items()} for i in r.kept}
        self.powers = [self.power(first) for first in range(r.stride)]
        used = [sum(np.abs(P) for _, P in powers) > 0 for powers in self.powers]
        self.weighted = r.stride == 2
        self.routines, self.heads, self.entries, self.blocks, places, count = [], [], [], [], {}, 0
        for row, i in enumerate(r.kept):
            for j in source.extended():
                inside = max(j, default=0) < n
                counts = n * inside, source.reached(i, j)
                if not any(counts):
                    continue
                if counts not in self.routines:
                    self.routines.append(counts)
                some = [[], [], []]
                for first, column, shift in product(range(r.stride), range(len(r.kept)), np.ndindex((self.m,) * len(j))):
                    along = used[first][(row, column, slice(None), *shift)]
                    if not along.any() or any(k + step >= self.m for k, step in zip(j, shift)):
                        continue
                    pattern = EVEN if not along[1::2].any() else ODD if not along[::2].any() else ALL
                    block = first, row, column, shift, pattern
                    if block not in places:
                        places[block] = count
                        self.blocks.append(block)
                        count += len(patterns(self.m)[pattern]) * (1 + self.weighted)
                    at = [k + step for k, step in zip(j, shift)]
                    place = first * source.odd + source.slots[r.kept[column]] * source.block
                    place += sum(k * size for k, size in zip(at, (source.row, source.plane)))
                    some[pattern].append((place, places[block]))
                ends = np.cumsum([len(self.entries), *map(len, some)])
                self.entries += sum(some, [])
                L = source.L
                self.heads.append((self.routines.index(counts),
                                   i * n ** source.d * L + sum(k * size for k, size in zip(j, (n * L, n * n * L))),
                                   source.weighted + source.slots[i] * source.box
                                   + sum(k * size for k, size in zip(j, ((n + 1) * L, (n + 1) ** 2 * L))), *ends))

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
        sums = []
        for first, powers in enumerate(self.powers):
            begin = first + self.base
            terms = [(s, tau ** (s - begin) * factorial(begin) / factorial(s) * P) for s, P in powers]
            sums.append((sum(P for _, P in terms), sum(P / (s + 1) for s, P in terms if s < self.s.count)))
        result = []
        for first, row, column, shift, pattern in self.blocks:
            for K in sums[first][:1 + self.weighted]:
                K = K if np.ndim(K) else np.zeros_like(self.powers[first][0][1])
                result += list(K[(row, column, slice(None), *shift)][list(patterns(self.m)[pattern])])
        return np.array(result)

    def operations(self):
        """Floating-point operations of all sums; a multiply-add counts 2."""
        total = 0
        for routine, _, _, *ends in self.heads:
            for count in self.routines[routine]:
                products = sum((end - begin) * sum(max(0, min(count, self.m - a)) for a in some)
                               for begin, end, some in zip(ends, ends[1:], patterns(self.m)))
                total += max(0, 2 * products - count * (not self.base))
        return int(total)

    def definitions(self, asked=None):
        """Lines that define the compiled sums; asked: at how many places of R they ask for how many cache lines."""
        asked = asked and (-(-asked[0] // len(self.entries)), asked[1])
        some = [pattern if any(head[3 + i] < head[4 + i] for head in self.heads) else ()
                for i, pattern in enumerate(patterns(self.m))]
        return [f"sum{i} = sums({counts!r}, {some!r}, {self.m}, real, {self.s.vectors}, {self.base > 0}, {asked})"
                for i, counts in enumerate(self.routines)]

    def text(self, begin, more=""):
        """Lines that find all sums; begin: the place of the first of `factors`; more: what else compiled sums are given."""
        lines = ["for i in range(len(heads)):",
                 "    c_at, u_at = np.int64(heads[i, 1]), np.int64(heads[i, 2])",
                 "    ends = (np.int64(heads[i, 3]), np.int64(heads[i, 4]), np.int64(heads[i, 5]), np.int64(heads[i, 6]))"]
        for number, _ in enumerate(self.routines):
            lines += [f"    {'el' if number else ''}if heads[i, 0] == {number}:",
                      f"        sum{number}(w, c, c_at, u_at, ends, entries, factors, {begin}{more})"]
        return lines


def sums(counts, patterns, m, dtype, vectors, add, asked=None):
    """Compiled call(w, c, c_at, u_at, ends, entries, factors, begin, R, coming, pitch) for a row of results, each
    `vectors` registers:

        c[c_at + j L], w[u_at + j L] = (or, if `add`, +=) sum over entries (place, f) and shifts a of K[a] w[place + (j + a) L]

    for j below counts[0], counts[1], where j + a < m, K = factors[begin + f:] for c, and after it for w.  Entries from ends[i]
    to ends[i + 1] have the shifts of patterns[i].

    asked: (each, lines): entry e asks for so many cache lines at each R[coming + k pitch], k = e each, ..., (e + 1) each - 1;
    None: the last three are not given."""
    def emit(context, builder, signature, args):
        v = Vectors(builder, dtype)
        w, c, entries, factors = (data(context, builder, signature, args, i) for i in (0, 1, 5, 6))
        ends = [builder.extract_value(args[4], i) for i in range(4)]
        L = vectors * v.width
        together = vectors if (sum(counts) + 4) * vectors <= 24 else 1        # registers: results and some of what is read
        # A multiply-add waits for the one before it: where results are few, shifts take turns with several sums of each.
        turns = -(-CHAINS // (sum(counts) * together))

        def entry(number, part):
            place = builder.add(builder.mul(number, ir.Constant(INDEX, 2)), ir.Constant(INDEX, part))
            return builder.sext(builder.load(builder.gep(entries, [place])), INDEX)

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
                    for number, line in product(range(asked[0]), range(asked[1])) if asked else ():
                        k = v.plus(builder.mul(loop.index, ir.Constant(INDEX, asked[0])), number)
                        at = v.plus(args[9], builder.mul(k, args[10]), line * 64 // v.size)
                        ask(builder, data(context, builder, signature, args, 8), at)
                    read = {}
                    for number, a in enumerate(shifts):
                        for part, count in enumerate(counts):
                            some = [j for j in range(count) if j + a < m]
                            if not some:
                                continue
                            at = v.plus(f, part * len(shifts) + number)
                            factor = v.spread(builder.load(builder.gep(factors, [at])))
                            for j in some:
                                for lane in lanes:
                                    if (j + a, lane) not in read:
                                        read[j + a, lane] = v.load(w, v.plus(place, (j + a) * L + lane))
                                    result = found[part, j, lane][number % turns]
                                    terms = [factor, read[j + a, lane], builder.load(result)]
                                    builder.store(builder.call(v.fma, terms), result)
            for (part, j, lane), results in found.items():
                total = v.dot([None] * turns, [builder.load(result) for result in results])
                at = v.plus(args[2 + part], j * L + lane)
                v.store(v.scaled(total, None, v.load((c, w)[part], at) if add else None), (c, w)[part], at)
        starts = range(0, L, v.width)
        for first in range(0, vectors, together):
            body(starts[first:first + together])
        return context.get_dummy_value()

    integer = types.int64
    if asked:
        @intrinsic
        def call(typingctx, w, c, c_at, u_at, ends, entries, factors, begin, R, coming, pitch):
            return types.void(w, c, integer, integer, ends, entries, factors, integer, R, integer, integer), emit
    else:
        @intrinsic
        def call(typingctx, w, c, c_at, u_at, ends, entries, factors, begin):
            return types.void(w, c, integer, integer, ends, entries, factors, integer), emit

    return call
