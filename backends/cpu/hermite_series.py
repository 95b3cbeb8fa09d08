"""The Taylor series in the fused kernels of Hermite's method: a list of rows of coefficients, and compiled sums along a row.

w holds a block for each variable, those with a series of their own first: (2N + 2)^(d - 1) rows of 2N + 2 coefficients of x.
Where two stages are made at once, there follow blocks for the odd stages of the kept variables, then the sum U of all
b_s / (s + 1), whose derivatives the other variables gain at the end: boxes of N + 2 coefficients along each axis.
"""
from textwrap import indent

import numpy as np

from .hermite_recursion import rows, scalar
from .hermite_sums import Sums

PARTS = "start", "begin", "own", "step", "gain"
MORE = 2.0               # times as many operations that sums at once do in the time that stages take
SCALAR = 1.25            # the same of sums without a scalar, which needs stages 2 and 3 written down


class SeriesSource:
    """The rows of a `hermite_recursion.Recursion` of so many stages, for groups of L lanes in so many vector registers.

    routines   {part: pieces of the sums of its rows, see `lanes.rows`}; rows whose results or terms differ have others
    program    (run of neighbouring rows, 7): routine of the part, rows, coefficients that are found in the first row and how
               many more in each further one, and the places of the first row in w, c and U
    stages     (stage, 3): the first run, the run after the last and the first factor, of start, begin, steps and gain
    sums       None, or instead of the steps `hermite_sums.Sums`, if `at_once`
    spreads    whether interpolants of the other kind of variables go straight to b_1 and c, see `spread`: of several axes, and
               `alone`, wanted for nothing else"""

    def __init__(self, recursion, stages, pruned, L=1, vectors=1, at_once=False, scalar=None, alone=True):
        self.r, self.d, self.V, self.L, self.vectors = recursion, recursion.dim, recursion.variables, L, vectors
        self.count, self.pruned, self.scalar = stages, pruned, scalar
        self.n, self.m = recursion.order + 1, 2 * recursion.order + 2
        self.row = self.m * L
        # Registers between planes and blocks: no powers of two.
        self.plane = self.m ** min(1, self.d - 1) * self.row + L
        self.block = self.m ** max(0, self.d - 2) * self.plane + L
        self.along = ({"w": self.plane, "c": self.n ** 2 * L} if self.d == 3 else {"w": self.row, "c": self.n * L})
        self.slots = {v: slot for slot, v in enumerate((*recursion.kept, *recursion.rest))}
        self.spreads = alone and recursion.stride == 2 and self.d > 1
        self.odd = (len(recursion.kept) if self.spreads else self.V) * self.block
        self.weighted = self.odd + (recursion.stride - 1) * len(recursion.kept) * self.block
        self.box = (self.n + 1) ** self.d * L if recursion.stride == 2 else 0
        self.size = self.weighted + len(recursion.kept) * self.box
        self.sums = {"start": {i: {((0,) * self.d, i): None} for i in self.slots}, "begin": recursion.begin,
                     "step": recursion.step, "own": {i: {} for i in recursion.kept}, "gain": recursion.gain}
        self.values = {part: sorted({a for terms in sums.values() for a in terms.values()} - {None})
                       if part not in ("start", "own") else [] for part, sums in self.sums.items()}
        self.reach = {m: {shift for terms in recursion.gain.values() for shift, k in terms if k == m} for m in recursion.kept}
        self.routines, program, self.stages, self.factored = {part: [] for part in PARTS}, [], [], []
        self.sums_at_once = Sums(self) if at_once else None
        for part, stage, some in self.order():
            factors = sum(1 + len(self.values[name]) for name, _ in self.factored)
            runs = self.runs(some, part)
            self.stages.append((len(program), len(program) + len(runs), factors))
            self.factored.append((part, stage))
            program += runs
        self.program, self.stages = np.array(program, np.int32).reshape(-1, 7), np.array(self.stages, np.int32).reshape(-1, 3)
        self.steps_factors = sum(1 + len(self.values[part]) for part, _ in self.factored)
        self.heads, self.entries = (np.array(some, np.int32).reshape(-1, width) for some, width in (
            (self.sums_at_once.heads, 7), (self.sums_at_once.entries, 2))) if at_once else [np.zeros((0, 0), np.int32)] * 2

    def order(self):
        """(part, stage, rows) of what is done one after the other, rows in ascending order: a row can take the place of its
        last stage, because terms lie in the same row or in later ones."""
        n, r = self.n, self.r
        if self.sums_at_once is None and not self.spreads:
            yield "start", 0, [self.entry("start", j, 0, n + 1) for j in self.extended()]
        elif r.rest and not self.spreads:
            yield "start", 0, [self.entry("start", j, 0, n) for j in rows(n, self.d)]
        if r.stride == 2:
            lengths = self.lengths(1) if self.sums_at_once is None else [(j, self.m) for j in rows(self.m, self.d)]
            lengths = [] if self.spreads else lengths
            yield "begin", 1, [self.entry("begin", j, 1, count, odd=True) for j, count in lengths]
        if self.scalar or self.spreads and self.sums_at_once is None:
            yield "own", 1, [self.own(j) for j in self.extended()]
        if self.scalar:
            for s in (2, 3):
                yield "step", s, [self.entry("step", j, s, self.m, odd=s == 3) for j in rows(self.m, self.d)]
        for first in range(r.stride) if self.sums_at_once is None else []:
            for s in range(first + r.stride, self.count + 1, r.stride):
                yield "step", s, [self.entry("step", j, s, count, odd=first == 1) for j, count in self.lengths(s)]
        if r.stride == 2:
            yield "gain", 0, [self.entry("gain", j, 0, n) for j in rows(n, self.d)]

    def runs(self, entries, part):
        """Neighbouring rows with the same routine, whose coefficients are ever as many more or less, as one."""
        found = []
        for routine, count, *places in entries:
            if found:
                last, number, first, more, *begin = found[-1]
                if (last == routine and (number == 1 or count == first + number * more)
                        and places == [place + number * step for place, step in zip(begin, self.steps(part))]):
                    found[-1] = last, number + 1, first, count - first if number == 1 else more, *begin
                    continue
            found.append((routine, 1, count, 0, *places))
        return found

    def steps(self, part):
        """From a row to the next in w, c and U."""
        box = (self.n + 1) * self.L
        return box if part == "gain" else self.row, self.n * self.L, box

    def spread(self, v, columns=None):
        """[(first, last, pieces)]: where interpolants of a variable of the other kind go, for columns along the last axis with
        first <= t_y < last (in 2D only 0), `pieces` those of t_x as `lanes.spread` takes them.

        The first of all terms of a b_1 sets it, and to zero where it has none, the others are added."""
        n, m, L, last = self.n, self.m, self.L, self.d - 1
        found = []
        for y in range(m if self.d == 3 else 1):
            ends = {0, n, m}
            outputs = [("c", v * n ** self.d * L, None, False, 0, 0, n, 0, n)] if y < n or self.d == 2 else []
            for i, terms in self.r.begin.items():
                place = self.odd + self.slots[i] * self.block
                for number, ((shift, k), a) in enumerate(sorted(terms.items(), key=lambda term: self.r.rest.index(term[0][1]))):
                    if k != v:
                        continue
                    x, along, across = shift[0], shift[last], shift[1] if self.d == 3 else 0
                    if y >= across:
                        outputs.append(("w", place - across * self.row - x * L, 1 + self.values["begin"].index(a), number > 0,
                                        along, along, m, x, m))
                    if number == 0:
                        outputs += [("w", place, -1, False, 0, m - along, m, 0, m)] * (along > 0)
                        outputs += [("w", place, -1, False, 0, 0, m, 0, m)] * (0 <= m - across <= y)
                        outputs += [("w", place, -1, False, 0, 0, m, m - x, m)] * (x > 0)
                    ends |= {x, m - x}
            ends = sorted(ends)
            pieces = [(first, end, [result for *result, begin, stop in outputs if begin <= first < stop])
                      for first, end in zip(ends, ends[1:])]
            if found and found[-1][-1] == pieces:
                found[-1] = found[-1][0], y + 1, pieces
            else:
                found.append((y, y + 1, pieces))
        return found

    def extended(self):
        """Rows of results, those of U included."""
        return [j for j in rows(self.n + 1, self.d) if max(j, default=0) < self.n
                or any(self.spans(j, shift[1:]) for shifts in self.reach.values() for shift in shifts)]

    def reached(self, i, j):
        """How many coefficients of row j of U are wanted of a kept variable."""
        return max((self.n + shift[0] for shift in self.reach.get(i, ()) if self.spans(j, shift[1:])), default=0)

    def lengths(self, stage):
        return self.r.lengths(stage, self.count, self.pruned).items()

    def spans(self, j, shift):
        """Whether the row j of U is wanted for a derivative of rows with all j_k <= N."""
        return all(step <= i < self.n + step for i, step in zip(j, shift))

    def entry(self, part, j, stage, count, odd=False):
        """The line of the program for row j of a part: results go to w, to c where all j_k <= N, and to U where they are
        wanted."""
        n, L, outputs = self.n, self.L, []
        sizes = (self.row, self.plane) if part != "gain" else ((n + 1) * L, (n + 1) ** 2 * L)
        inside, written = max(j, default=0) < n, part in ("begin", "step")
        for i, terms in self.sums[part].items():
            slot, texts, alone = self.slots[i], [], self.sums_at_once is not None and i in self.r.kept
            if alone and part == "start":
                continue
            for (shift, m), a in terms.items():
                if all(k + step < self.m for k, step in zip(j, shift[1:])):
                    source = self.slots[m] * (self.box if part == "gain" else self.block)
                    texts.append((None if part == "start" else 1 + self.values[part].index(a),
                                  source + sum(step * size for step, size in zip(shift, (L, *sizes))), shift[0]))
            first = part == "start"
            results = [("w", 0, slot * self.block + (part == "begin") * self.odd, None, False, 0, self.m)] * written
            results += [("c", 1, i * n ** self.d * L, None, not first, 0, n)] * (inside and not alone)
            if self.reached(i, j) and part != "gain" and stage < self.count and not alone:
                factor = None if first else 0
                results.append(("w", 2, self.weighted + slot * self.box, factor, not first, 0, self.reached(i, j)))
            if results:
                outputs.append((texts, results))
        place = (self.weighted if part == "gain" else odd * (part != "begin") * self.odd) + at(j, sizes)
        return self.line(part, outputs, j, count, place)

    def own(self, j):
        """The line for row j of what b_0 and b_1 of kept variables add to c and U."""
        outputs, inside = [], max(j, default=0) < self.n
        for i in self.r.kept:
            slot = self.slots[i]
            b_0, b_1 = ((None, odd + slot * self.block, 0) for odd in (0, self.odd))
            if inside:
                outputs.append(([b_0, b_1], [("c", 1, i * self.n ** self.d * self.L, None, False, 0, self.n)]))
            if self.reached(i, j):
                u = "w", 2, self.weighted + slot * self.box, None, False, 0, self.reached(i, j)
                outputs.append(([b_0, (0, *b_1[1:])], [u]))
        return self.line("own", outputs, j, self.n + 1, at(j, (self.row, self.plane)))

    def line(self, part, outputs, j, count, place):
        """A line of the program: its routine, made where it is new, and where it begins."""
        n, L = self.n, self.L
        routine = pieces(outputs, self.m if part != "gain" else n + 1, L)
        if routine not in self.routines[part]:
            self.routines[part].append(routine)
        return (self.routines[part].index(routine), count, place, at(j, (n * L, n * n * L)),
                at(j, ((n + 1) * L, (n + 1) ** 2 * L)))

    def factor_of(self, part):
        """The place of the first factor of a part."""
        return next(int(first) for (name, _), (_, _, first) in zip(self.factored, self.stages) if name == part)

    def factors(self, tau):
        """What the sums are multiplied with: of every stage the weight in U, then the factors of its terms."""
        result = []
        for part, stage in self.factored:
            own = self.r.factor(tau, stage)
            result += [1 / (stage + 1), *((tau if part == "gain" else own) * a for a in self.values[part])]
        return np.array(result if self.sums_at_once is None else result + list(self.sums_at_once.factors(tau)))

    def operations(self):
        """Floating-point operations of all rows; a multiply-add counts 2."""
        total = 0
        for (part, _), (begin, end, _) in zip(self.factored, self.stages):
            for number, count in ((run[0], run[2] + row * run[3]) for run in self.program[begin:end] for row in range(run[1])):
                total += sum(max(0, min(count, last) - first) * operations(sums)
                             for first, last, sums in self.routines[part][number])
        if self.spreads:
            inside = [sum(np.all(np.add(j, shift[:self.d]) < self.m) for shift, _ in terms) for terms in self.r.begin.values()
                      for j in np.ndindex((self.m,) * self.d)]
            total += sum(2 * number - 1 for number in inside if number)
        return int(total) + (self.sums_at_once.operations() if self.sums_at_once is not None else 0)

    def found(self, part, number):
        """How many coefficients a routine finds: for the compiler a number where that is always the same."""
        runs = self.program[[i for (name, _), (begin, end, _) in zip(self.factored, self.stages) if name == part
                             for i in range(begin, end) if self.program[i, 0] == number]]
        return str(runs[0, 2]) if (runs[:, 2] == runs[0, 2]).all() and not runs[:, 3].any() else "count + row * more"

    def definitions(self, asked=None):
        """Lines that define the compiled sums; asked: see `hermite_sums.Sums.definitions`."""
        return [f"slots = {tuple(self.slots[v] for v in range(self.V))!r}",
                *(f"{part}{i} = lanes.rows({routine!r}, real, {self.vectors})" for part in PARTS
                  for i, routine in enumerate(self.routines[part])),
                *(f"spread{v}_{i} = lanes.spread(left, {pieces!r}, {self.along!r}, real, {self.vectors})"
                  for v in self.r.rest if self.spreads for i, (_, _, pieces) in enumerate(self.spread(v))),
                *(self.sums_at_once.definitions(asked) if self.sums_at_once is not None else [])]

    def text(self, jit, asked=None):
        """The function: the Taylor series of the interpolants in w, summed up in c.

        asked: at how many places of R, from `coming` on, `pitch` from each to the next, how many cache lines are asked for
        meanwhile, some with each entry of the sums or, in stages, with each run."""
        once = self.sums_at_once is not None
        each = 0 if once or not asked else -(-asked[0] // len(self.program))
        asks = [f"        for k in range({each}):", f"            prefetch(R, coming + k * pitch, {asked[1]})",
                f"        coming += {each} * pitch"] if each else []
        more = ", R, coming, pitch" * (asked is not None)
        parts, lines = [part for part, _ in self.factored], []
        spans = {part: f"range({parts.index(part)}, {parts.index(part) + parts.count(part)})" for part in set(parts)}
        for part in PARTS:
            if part == "gain" and once:
                lines += self.sums_at_once.text(self.steps_factors, more)
            if self.routines[part]:
                factors = "".join(f"factors[f + {i}], " for i in range(1 + len(self.values[part])))
                lines += [f"for s in {spans[part]}:", "    f = stages[s, 2]", f"    some = ({factors.strip()})",
                          "    for i in range(stages[s, 0], stages[s, 1]):",
                          "        routine, count, more = program[i, 0], program[i, 2], program[i, 3]",
                          "        at, c_at, u_at = np.int64(program[i, 4]), np.int64(program[i, 5]), np.int64(program[i, 6])"]
                lines += asks
                places = ", ".join(f"{name} + row * {step}" for name, step in zip(("at", "c_at", "u_at"), self.steps(part)))
                for number, _ in enumerate(self.routines[part]):
                    lines += [f"        {'el' if number else ''}if routine == {number}:",
                              "            for row in range(program[i, 1]):",
                              f"                {part}{number}(w, c, ({places}), {self.found(part, number)}, some)"]
        return f"{jit}\ndef series(w, c, program, stages, factors, heads, entries{more}):\n" + indent("\n".join(lines), "    ")


def chosen(recursion, stages, pruned, alone=True, L=1, vectors=1):
    """The quicker way to the series: in stages, or pruned, where that is not too many more operations, at once.

    alone: the interpolants are wanted for nothing else.  Those of two kernels are read from memory meanwhile, which with two
    kinds of variables takes longer than the stages."""
    stepped = SeriesSource(recursion, stages, pruned, L, vectors, alone=alone)
    if not pruned or not alone and recursion.stride == 2:
        return stepped
    scalars = [None] + [scalar(recursion.step)] * (recursion.stride == 2 and len(recursion.kept) > 1 and stages > 3)
    at_once = min((SeriesSource(recursion, stages, pruned, L, vectors, True, s) for s in scalars),
                  key=lambda source: source.operations() * (SCALAR if source.scalar else 1))
    return at_once if at_once.operations() <= MORE * stepped.operations() else stepped


def pieces(outputs, m, L):
    """Pieces of a row of m coefficients for `lanes.rows`: where a result is wanted, and a term lies inside the row.

    outputs: [(terms (factor, place, shift along x), results (name, place, offset, factor, add, first, last))]"""
    ends = sorted({m - term[-1] for terms, _ in outputs for term in terms}
                  | {end for _, results in outputs for result in results for end in result[-2:]})
    found = []
    for first, last in zip(ends, ends[1:]):
        sums = [([(factor, place) for factor, place, shift in terms if first + shift < m],
                 [tuple(result) for *result, begin, end in results if begin <= first < end]) for terms, results in outputs]
        sums = [(terms, results) for terms, results in sums if results]
        if sums:
            found.append((first, last, sums))
    return found


def operations(sums):
    """Floating-point operations on a coefficient."""
    return sum(max(0, sum(1 + (factor is not None) for factor, _ in terms) - 1)
               + sum(add + (factor is not None) for *_, factor, add in results) for terms, results in sums)


def at(j, sizes):
    return sum(i * size for i, size in zip(j, sizes))
