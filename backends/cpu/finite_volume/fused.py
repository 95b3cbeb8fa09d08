"""Finite volumes on the CPU: passes over the grid, each one or two sweeps, by kernels made for scheme, law and dtype."""
from functools import cached_property
from itertools import cycle
from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ....methods.check import Check
from ....methods.finite_volume.schemes import FirstOrder
from ....methods.finite_volume.sweeps import Sweeps
from ....stepping import first as new_first, sequence
from ....support.cached_modules import write_module
from ..simd.tiles import aligned
from ..threaded_loops import ONE_THREAD, Loop, LoopList
from .march_source import NUMBERS, MarchSource
from .side_source import Sides
from .update_source import UpdateSource

STRIP = 64               # cells of a row that a kernel takes at a time
ROWS = 128               # rows of a piece, at most
LINE = 64                # bytes
CHAIN = 3                # members of a chain, at most


class SweepsFused(Sweeps):
    """Overrides the sweeps of the reference; a state lies in rows that are padded, with a few numbers behind the last one."""

    fused = frozenset({"sweeps"})

    def __init__(self, backend, tables):
        super().__init__(backend, tables)
        self.pitch, self.plane = layout(tables, backend.dtype)
        self.margin = CHAIN * tables.ghosts
        self.passes = [Pass(self, *one) for one in passes(tables)] if tables.split else []
        self.known, self.final, self.spare = None, None, None

    def zeros(self):
        t = self.tables
        rows = t.grid.shape[:-1]
        space = aligned(size(t, self.backend.dtype), self.backend.dtype)
        strides = np.array([self.plane, *(prod(rows[i + 1:]) * self.pitch for i in range(len(rows))), 1]) * space.itemsize
        return as_strided(space, t.shape, tuple(int(s) for s in strides))

    def flat(self, q):
        """All numbers of a state in the order in which they lie in memory."""
        return as_strided(q, (size(self.tables, q.dtype),), (q.itemsize,))

    def state(self, q):
        state = self.zeros()
        state[...] = q
        return state

    def plain(self, q):
        return np.array(q)

    host = plain

    def finite(self, q):
        return all(self.backend.finite(np.ascontiguousarray(rows)) for rows in self.own(q))

    def kernel_texts(self, stepper):
        all_passes = self.passes or self.parts_of_stage
        return {", ".join(one.source.chain): one.text for one in all_passes} | self.sides.texts

    def step(self, stepper, states, k, t, dt, exponent=None):
        self._lists.hold([*states, *(array for array in (k, self.tendency, self.spare) if array is not None)])
        if not self.tables.split:
            self.known, self.final = None, stepper.stages[-1] if exponent is not None else None
            for row, q, out, q0 in sequence(stepper, states):
                self.stage(q, out, k, q0, t + row.c * dt, dt, row)
            states = new_first(out, states)
            return states, self.known if exponent is not None else None
        if repeats(self.tables):
            return self.step_again(stepper, states, k, t, dt, exponent)
        (q, out), check = states, None
        for one in self.passes:
            last = exponent is not None and one is self.passes[-1]
            check = one.run(q, out, one.times(t, dt), t + dt, dt / 2, last, dt / 2)
            if self.tables.repairs and one.swept and not self.all_sound(check):
                axis = one.swept[0]
                self.repair([axis], q, one.times(t, dt)[0], [(out, dt / 2)])
                check = self.check(out, t + dt) if last else None
            q, out = out, q
        return [q, out], check if exponent is not None else None

    def step_again(self, stepper, states, k, t, dt, exponent):
        """A step whose start remains; if its end is not sound it is done again sweep by sweep, with repairs."""
        (q, out), check = states, None
        if self.spare is None:
            self.spare = self.zeros()
        at, turns = q, cycle((out, self.spare))
        for one in self.passes:
            new = next(turns)
            check = one.run(at, new, one.times(t, dt), t + dt, dt / 2, one is self.passes[-1], dt / 2)
            at = new
        if not self.all_sound(check):
            (at, _), _ = Sweeps.step(self, stepper, [q, out], k, t, dt)
            check = self.check(at, t + dt)
        rest = [state for state in (q, out, self.spare) if state is not at]
        self.spare = rest[1]
        return [at, rest[0]], check if exponent is not None else None

    def all_sound(self, check):
        """Whether the states of all parts of the grid are sound."""
        return not self.over_all(not check.sound)

    @cached_property
    def parameters(self):
        """The varying parameters with `margin` ghost cells around, (parameter, flat), and the strides of their axes."""
        t = self.tables
        if not t.varying:
            return np.zeros((1, 1), self.backend.dtype), [0] * 3
        padded = np.array([t.parameters[name] for name in t.varying], self.backend.dtype)
        for k in range(t.dim):
            width = [(0, 0)] * padded.ndim
            width[padded.ndim - 1 - k] = (self.margin, self.margin)
            padded = np.pad(padded, width, "wrap" if t.grid.periodic[k] else "symmetric")
        return padded.reshape(len(padded), -1), [prod(padded.shape[padded.ndim - k:]) for k in range(t.dim)]

    @cached_property
    def sides(self):
        return Sides(self.tables, self.backend.dtype)

    @cached_property
    def check_pass(self):
        """The pass that only checks a state."""
        return Pass(self, [], None if self.tables.dim == 1 else 1)

    def rate(self, q, t):
        return self.check(q, t).rate

    def check(self, q, t):
        return self.check_pass.run(q, q, [], t, 0.0, True)

    def stage(self, q, out, k, q0, t, dt, row):
        numbers = row.A, row.v, row.u, row.w * dt, row.alpha, row.beta, row.B, row.C * dt
        if self.halo is not None:
            self.halo.send([q], -self.tables.dim)
        for one in self.parts_of_stage:
            ends = one is self.parts_of_stage[-1]
            target = out if ends else self.room_for_tendency()
            check = one.run(q, target, [t] * len(one.chain), t, 1.0, ends and row is self.final, 0.0,
                            (self.tendency, q0, k), numbers, sent=True)
        if self.tables.repairs and not self.all_sound(check):
            self.repair_stage(q, out, k, t, dt, row)
            check = self.check(out, t)
        self.known = check if row is self.final else None

    @cached_property
    def parts_of_stage(self):
        """The passes of a stage: in 3D two, for a march has two axes."""
        x = "x", 0, 0.0
        chains = {1: [([x], None)], 2: [([("rows", 1, 0.0), x], 1)],
                  3: [([("rows", 1, 0.0), x], 1), ([("rows", 2, 0.0)], 2)]}[self.tables.dim]
        return [Pass(self, *one, UpdateSource, adds=i > 0, ends=i == len(chains) - 1) for i, one in enumerate(chains)]


class Pass:
    """One pass over the grid: a chain of sweeps, in a kernel.

    chain    [(kind, axis, share of the step at which its conditions are taken)]: "x", "rows" or "source"
    rows     axis along which the kernel marches; None in 1D"""

    def __init__(self, operations, chain, rows, source=MarchSource, **options):
        self.operations, self.chain, self.rows = operations, chain, rows
        t, dtype = operations.tables, operations.backend.dtype
        self.swept = [axis for kind, axis, _ in chain if kind != "source"]
        self.source = source(t, dtype, rows, tuple(kind for kind, *_ in chain), STRIP, **options)
        self.text = self.source.text()
        self.module = write_module(self.text, f"finite_volume_{t.dim}d_{dtype}")
        grid, n = t.grid, t.grid.cells
        # Rows have their numbers in the whole grid; `shift` leads to their places in memory.
        self.count, self.wrap, self.shift = (1, 1, 0) if rows is None else (n[rows], n[rows], 0)
        first_row, end_row, self.reach = 0, self.count, 0
        if rows is not None and rows == t.cut:
            share, self.reach = t.share, t.ghosts * self.source.chain.count("rows")
            self.count, self.shift, first_row, end_row = share.count, share.low - share.first, share.first, share.end
        strides = {k: prod(n[1:k]) * operations.pitch for k in range(1, t.dim)}
        self.row_stride = strides.get(rows, 0)
        others = [k for k in range(1, t.dim) if k != rows]
        slabs = [(0, 0, 0.0)] if not others else [(i, i * strides[others[0]], grid.axes[others[0]][i])
                                                  for i in range(*t.cells(others[0]))]
        chunk = max(1, min(ROWS, -(-(end_row - first_row) // max(1, 4 * operations.backend.threads // len(slabs)))))
        pieces, places, near = [], [], []
        for i, slab, place in slabs:
            for first in range(first_row, end_row, chunk):
                for x0, cells in strips(n[0], self.source.halo, self.source.L):
                    end = min(first + chunk, end_row)
                    pieces.append((first, end, x0, cells, slab, self.slab_row(others, i)))
                    places.append(place)
                    near.append(self.reach and (first - self.reach < first_row or end + self.reach > end_row))
        # Pieces that read copies of other parts' rows come last.
        pieces, places, near = np.array(pieces, np.int64), np.array(places, dtype), np.array(near, bool)
        self.pieces = [(pieces[some], places[some]) for some in (~near, near) if some.any()]
        self.count_of_pieces = len(pieces)
        self.scratch = [(aligned(self.source.room, dtype),) for _ in range(operations.backend.threads)]
        for w, in self.scratch:
            self.source.put_numbers(w)
        self.numbers = np.zeros(len(NUMBERS), dtype)

    def slab_row(self, others, i):
        """Where the slab i begins in the parameters."""
        return (i + self.operations.margin) * self.operations.parameters[1][others[0]] if others else 0

    def times(self, t, dt):
        return [t + share * dt for _, _, share in self.chain]

    def run(self, q, out, t, t_check, k, last, dt=0.0, arrays=(), row=(0.0,) * 8, sent=False):
        """Compute `out` from q; the `Check` of it, whose rate is found in the last pass only. Where a part of a grid needs
        copies of q they are renewed meanwhile; sent: whether those that others need are on their way already.

        t: times of the chain's members;  k: the time by which fluxes are multiplied;  dt: that of sources;  arrays: tendency,
        start and register, row: numbers, of a stage"""
        o = self.operations
        if self.reach and not sent:
            o.halo.send([q], -o.tables.dim)
        checked = last or o.tables.repairs and not repeats(o.tables)
        h_x, h_rows = self.spacing
        self.numbers[:] = (k / h_x, k / h_rows, *(*t, 0, 0, 0)[:3], dt, t_check, last, checked, *row)
        arrays = q, out, *(arrays or (None,) * 3)
        loops, found = o._lists.held(self, [array for array in arrays if array is not None], lambda: self.loops(*arrays))
        for turn, run in enumerate(loops):
            if self.reach and turn == len(loops) - 1:
                o.halo.receive()
            run()
        rate, unsound = float(found[:, 0].max()), bool(found[:, 1].any())
        finite = not unsound or o.finite(q if q is out else out)
        return Check(finite, not unsound, rate, 1.0) if last else Check(finite, not unsound)

    def loops(self, q, out, tendency, start, register):
        """(the `LoopList`s of the pieces before and after what other parts send, the array for what they find)."""
        o = self.operations
        grid, real, rows = o.tables.grid, q.dtype.type, self.rows or 0
        (h_x, h_rows), (parameters, strides) = self.spacing, o.parameters
        arrays = [o.flat(q if array is None else array) for array in (q, out, tendency, start, register)]
        lower_x, lower_rows = grid.lower[0], grid.lower[rows]
        arguments = (self.numbers, *arrays, parameters, o.sides.table, self.count, grid.cells[0], self.shift, self.wrap,
                     self.row_stride, o.plane, 0 if self.rows is None else strides[rows], o.margin, real(lower_x), real(h_x),
                     real(lower_rows), real(h_rows), register is not None)
        found, lists, end = np.empty((self.count_of_pieces, 2), q.dtype), [], 0
        for pieces, places in self.pieces:
            begin, end = end, end + len(pieces)
            loop = Loop(self.module.run, 1, len(pieces), self.scratch, (pieces, places, found[begin:end], *arguments),
                        len(pieces) if q.size > ONE_THREAD else 1)
            lists.append(LoopList([loop], o.backend.workers))
        return lists, found

    @cached_property
    def spacing(self):
        """The distances of cells along x and along the rows."""
        h = self.operations.tables.grid.spacing
        return h[0], h[self.rows or 0]


def strips(count, halo, lanes):
    """First cell and number of cells of each strip of a row. Only the last strip may reach beyond the row with its halo, so it
    has at least as many cells."""
    ends = [*range(STRIP, count, STRIP), count]
    if len(ends) > 1 and count - ends[-2] < halo:
        ends[-2] -= max(lanes, halo)
    return [(first, end - first) for first, end in zip([0, *ends], ends)]


def passes(tables):
    """The passes of a step: (chain, axis of the rows).

    Where cells may need fluxes of first order the state before each sweep must remain, so each sweep is a pass; not at first
    order, where that is seldom and a step is done again."""
    source = [("source", None, 0.0)], [("source", None, 0.5)]
    if not tables.physics.sources:
        source = [], []
    rows = {1: None, 2: 1, 3: 1}[tables.dim]
    first, second = tables.sweep_times
    forward = [("x" if k == 0 else "rows", k, first) for k in range(tables.dim)]
    back = [(kind, k, second) for kind, k, _ in reversed(forward)]
    if tables.repairs and not repeats(tables):
        return [([one], rows if one[1] in (None, 0) else one[1]) for one in (*source[0], *forward, *back, *source[1])]
    if tables.dim == 1:
        return [([*source[0], *forward, *back, *source[1]][:3], None)] if not source[0] else [
            ([*source[0], *forward], None), ([*back, *source[1]], None)]
    middle = [([forward[2], back[0]], 2)] if tables.dim == 3 else []
    return [([*source[0], *forward[:2]], rows), *middle, ([*back[-2:], *source[1]], rows)]


def repeats(tables):
    """Whether a whole step is done again where its end is not sound, instead of a sweep."""
    return tables.split and tables.repairs and tables.scheme is FirstOrder


def layout(tables, dtype):
    """(numbers from row to row, numbers from variable to variable) of a state."""
    numbers = LINE // dtype.itemsize
    pitch = -(-tables.grid.cells[0] // numbers) * numbers
    pitch += numbers * (pitch * dtype.itemsize % 4096 == 0)          # or all rows share few places of the cache
    plane = pitch * prod(tables.grid.cells[1:])
    return pitch, plane + numbers * (plane * dtype.itemsize % 4096 == 0)


def size(tables, dtype):
    """Numbers in memory of a state, with those behind the last row that a kernel may read."""
    return tables.variables * layout(tables, np.dtype(dtype))[1] + 4 * LINE
