"""The Taylor series of Hermite's method where coefficients are constant: which rows of coefficients each stage finds.

w holds a block of (2N + 2)^d coefficients for each variable with a series of its own.  Where two stages are made at once, there
follow blocks for the odd stages, then U = sum of b_s / (s + 1), whose derivatives the other variables gain at the end: boxes of
N + 2 coefficients along each axis.
"""
import numpy as np

from .recursion import rows, scalar
from .sums import Sums, at
from .text import branches, indented, nested, tuple_of

PARTS = "own", "step", "gain"
ASK = "if AHEAD:\n    coming = ask_for_next(R, coming)"          # see `loops`
MORE = 2.0               # times as many operations that sums at once do in the time that stages take
SCALAR = 1.25            # the same of sums without a scalar, which needs stages 2 and 3 written down


class Series:
    """The stages of a `recursion.Recursion`, for groups of L lanes in so many vector registers.

    own     what b_0, and b_1 of two stages at once, add to the result and to U
    step    b_s from the stage before, in its place, and what it adds to both
    gain    the derivatives of U that the other variables gain

    routines   {part: pieces of the sums of its rows, see `arithmetic.rows`}; rows whose results or terms differ have others
    program    (run of neighbouring rows, 7): routine of the part, rows, coefficients that are found in the first row and how
               many more in each further one, and the places of the first row in w, c and U
    stages     (stage, 3): the first run, the run after the last and the first factor of each part and stage
    sums       None, or what replaces the steps: `sums.Sums`, all stages at once"""

    def __init__(self, recursion, stages, pruned, L=1, vectors=1, at_once=False, scalar=None):
        self.r, self.d, self.L, self.vectors, self.count, self.pruned = recursion, recursion.dim, L, vectors, stages, pruned
        self.n, self.m, self.scalar = recursion.order + 1, 2 * recursion.order + 2, scalar
        self.row, self.plane, self.block = (self.m ** k * L for k in (1, 2, self.d))
        self.slots = {v: slot for slot, v in enumerate(recursion.kept)}
        self.pairs = recursion.stride == 2
        self.odd = len(recursion.kept) * self.block
        self.U, self.box = recursion.stride * self.odd, self.pairs * (self.n + 1) ** self.d * L
        self.size = self.U + len(recursion.kept) * self.box
        terms = {"begin": recursion.begin, "own": {}, "step": recursion.step, "gain": recursion.gain}
        # In the order of the terms, not of size, so that the text does not depend on which spacing is the largest.
        self.values = {part: list(dict.fromkeys(a for terms in some.values() for a in terms.values()))
                       for part, some in terms.items()}
        self.reach = {m: {shift for terms in recursion.gain.values() for shift, k in terms if k == m} for m in recursion.kept}
        self.routines, program, stage_list, self.factored = {part: [] for part in PARTS}, [], [], []
        self.sums = Sums(self) if at_once else None
        first_factor = 0
        for part, stage, entries in self.order():
            runs = self.runs(entries, part)
            stage_list.append((len(program), len(program) + len(runs), first_factor))
            first_factor += 1 + len(self.values[part])
            self.factored.append((part, stage))
            program += runs
        self.steps_factors = first_factor
        self.program, self.stages = np.array(program, np.int32).reshape(-1, 7), np.array(stage_list, np.int32).reshape(-1, 3)

    def order(self):
        """(part, stage, rows) of what is done one after the other, rows in ascending order: a row can take the place of its
        last stage, because terms lie in the same row or in later ones.  Of "begin", which `Spread` does, the factors alone."""
        if self.pairs:
            yield "begin", 1, []
        if self.sums is None or self.scalar:
            yield "own", 1, [self.own(j) for j in self.results()]
        if self.scalar:
            for s in (2, 3):
                yield "step", s, [self.step(j, s, self.m) for j in rows(self.m, self.d)]
        if self.sums is None:
            for first in range(self.r.stride):
                for s in range(first + self.r.stride, self.count + 1, self.r.stride):
                    yield "step", s, [self.step(j, s, count) for j, count in self.lengths(s)]
        if self.pairs:
            yield "gain", 0, [self.gain(j) for j in rows(self.n, self.d)]

    def results(self):
        """Rows of results, those of U included."""
        return [j for j in rows(self.n + 1, self.d) if self.inside(j)
                or any(self.spans(j, shift[1:]) for shifts in self.reach.values() for shift in shifts)]

    def inside(self, j):
        return max(j, default=0) < self.n

    def spans(self, j, shift):
        """Whether the row j of U is wanted for a derivative of rows with all j_k <= N."""
        return all(step <= i < self.n + step for i, step in zip(j, shift))

    def reached(self, i, j):
        """How many coefficients of row j of U are wanted of a variable."""
        return max((self.n + shift[0] for shift in self.reach.get(i, ()) if self.spans(j, shift[1:])), default=0)

    def lengths(self, stage):
        return self.r.lengths(stage, self.count, self.pruned).items()

    def own(self, j):
        """b_0 and b_1, added up in the result, and with the weights 1 and 1/2 in U."""
        outputs = []
        for i in self.r.kept:
            b = [(None, number * self.odd + self.slots[i] * self.block, 0) for number in range(self.r.stride)]
            if self.inside(j):
                outputs.append((b, [self.to_result(i, False)]))
            if self.reached(i, j):
                outputs.append(([b[0], (0, *b[1][1:])], [self.to_U(i, j, None, False)]))
        return self.line("own", outputs, j, self.n + 1)

    def step(self, j, stage, count):
        """b_s = tau / s L b_(s-1), or of two stages at once tau / s tau / (s - 1) L L b_(s-2), added to the result and to U."""
        outputs, alone = [], self.sums is None
        for i, terms in self.r.step.items():
            results = [("w", 0, self.slots[i] * self.block, None, False, 0, self.m)]
            results += [self.to_result(i, True)] * (alone and self.inside(j))
            results += [self.to_U(i, j, 0, True)] * bool(alone and stage < self.count and self.reached(i, j))
            outputs.append((self.sources("step", terms, j, self.block, (self.L, self.row, self.plane)), results))
        return self.line("step", outputs, j, count, odd=self.pairs and stage % 2)

    def gain(self, j):
        """tau L U, added to the results of the other variables."""
        sizes = [(self.n + 1) ** k * self.L for k in range(3)]
        outputs = [(self.sources("gain", terms, j, self.box, sizes), [self.to_result(i, True)])
                   for i, terms in self.r.gain.items()]
        return self.line("gain", outputs, j, self.n)

    def sources(self, part, terms, j, block, sizes):
        """(factor, place, shift along x) of the terms that lie inside."""
        return [(1 + self.values[part].index(a), self.slots[m] * block + at(shift, sizes), shift[0])
                for (shift, m), a in terms.items() if all(k + step < self.m for k, step in zip(j, shift[1:]))]

    def to_result(self, i, add):
        return "c", 1, i * self.n ** self.d * self.L, None, add, 0, self.n

    def to_U(self, i, j, factor, add):
        return "w", 2, self.U + self.slots[i] * self.box, factor, add, 0, self.reached(i, j)

    def line(self, part, outputs, j, count, odd=False):
        """A line of the program: its routine, made where it is new, and where it begins."""
        routine = pieces(outputs, self.n + 1 if part == "gain" else self.m, self.L)
        if routine not in self.routines[part]:
            self.routines[part].append(routine)
        box, result = ([number ** k * self.L for k in (1, 2)] for number in (self.n + 1, self.n))
        place = self.U + at(j, box) if part == "gain" else odd * self.odd + at(j, (self.row, self.plane))
        return self.routines[part].index(routine), count, place, at(j, result), at(j, box)

    def steps(self, part):
        """From a row to the next in w, c and U."""
        box = (self.n + 1) * self.L
        return box if part == "gain" else self.row, self.n * self.L, box

    def runs(self, entries, part):
        """Neighbouring rows with the same routine, whose coefficients are ever as many more or less, as one line: the places
        of the others are counted and not read."""
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

    def factors(self, tau):
        """The factors of the sums: of every stage the weight in U, then the factors of its terms."""
        result = []
        for part, stage in self.factored:
            own = tau if part == "gain" else self.r.factor(tau, stage)
            result += [1 / (stage + 1), *(own * a for a in self.values[part])]
        return np.array(result if self.sums is None else result + list(self.sums.factors(tau)))

    def operations(self):
        """Floating-point operations of all rows; a multiply-add counts 2."""
        total = 0
        for (part, _), (begin, end, _) in zip(self.factored, self.stages):
            for routine, number, count, more, *_ in self.program[begin:end]:
                total += sum(max(0, min(count + row * more, last) - first) * operations(some)
                             for row in range(number) for first, last, some in self.routines[part][routine])
        inside = [sum(np.all(np.add(j, shift[:self.d]) < self.m) for shift, _ in terms) for terms in self.r.begin.values()
                  for j in np.ndindex((self.m,) * self.d)]
        total += sum(2 * number - 1 for number in inside if number)
        return int(total) + (self.sums.operations() if self.sums else 0)

    def found(self, part, routine):
        """How many coefficients a routine finds: for the compiler a number where that is always the same."""
        runs = np.array([run for (name, _), (begin, end, _) in zip(self.factored, self.stages) if name == part
                         for run in self.program[begin:end] if run[0] == routine])
        return str(runs[0, 2]) if (runs[:, 2] == runs[0, 2]).all() and not runs[:, 3].any() else "count + row * more"

    def definitions(self):
        """Lines that define the compiled sums."""
        return ["from dgarray.backends.cpu.hermite.sums import sums",
                *(f"{part}{i} = lanes.rows({routine!r}, real, {self.vectors})" for part in PARTS
                  for i, routine in enumerate(self.routines[part])),
                *(self.sums.definitions() if self.sums else [])]

    def text(self):
        """Lines of the function that replaces the interpolants in w by their Taylor series and puts its sum in c."""
        parts, lines = [part for part, _ in self.factored], ["factors, program, stages, heads, entries = law"]
        for part in PARTS:
            if part == "gain" and self.sums:
                lines += self.sums.text(self.steps_factors)
            if self.routines[part]:
                first = parts.index(part)
                some = tuple_of(f"factors[f + {i}]" for i in range(1 + len(self.values[part])))
                places = ", ".join(f"{name} + row * {step}" for name, step in zip(("at", "c_at", "u_at"), self.steps(part)))
                lines += [
                    f"for s in range({first}, {first + parts.count(part)}):", "    f = stages[s, 2]", f"    some = {some}",
                    "    for i in range(stages[s, 0], stages[s, 1]):", *indented([ASK] * (self.sums is None), 2),
                    "        routine, count, more = program[i, 0], program[i, 2], program[i, 3]",
                    "        at, c_at, u_at = np.int64(program[i, 4]), np.int64(program[i, 5]), np.int64(program[i, 6])",
                    *indented(branches({f"routine == {number}": [
                        "for row in range(program[i, 1]):",
                        f"    {part}{number}(w, c, ({places}), {self.found(part, number)}, some)"]
                        for number in range(len(self.routines[part]))}), 2)]
        return nested(["def series(w, c, law, z, y, group, R, coming):"], lines)


def chosen(recursion, stages, pruned, L=1, vectors=1):
    """The quicker way to the series: in stages, or pruned, where that is not too many more operations, at once."""
    stepped = Series(recursion, stages, pruned, L, vectors)
    if not pruned:
        return stepped
    scalars = [None] + [scalar(recursion.step)] * (recursion.stride == 2 and len(recursion.kept) > 1 and stages > 3)
    at_once = min((Series(recursion, stages, pruned, L, vectors, True, s) for s in scalars),
                  key=lambda series: series.operations() * (SCALAR if series.scalar else 1))
    return at_once if at_once.operations() <= MORE * stepped.operations() else stepped


def pieces(outputs, m, L):
    """Pieces of a row of m coefficients for `arithmetic.rows`: where a result is wanted, and a term lies inside the row.

    outputs: [(terms (factor, place, shift along x), results (name, place, offset, factor, add, first, last))]"""
    ends = sorted({m - term[-1] for terms, _ in outputs for term in terms}
                  | {end for _, results in outputs for result in results for end in result[-2:]})
    found = []
    for first, last in zip(ends, ends[1:]):
        some = [([(factor, place) for factor, place, shift in terms if first + shift < m],
                 [tuple(result) for *result, begin, end in results if begin <= first < end]) for terms, results in outputs]
        some = [(terms, results) for terms, results in some if results]
        if some:
            found.append((first, last, some))
    return found


def operations(some):
    """Floating-point operations on a coefficient."""
    return sum(max(0, sum(1 + (factor is not None) for factor, _ in terms) - 1)
               + sum(add + (factor is not None) for *_, factor, add in results) for terms, results in some)
