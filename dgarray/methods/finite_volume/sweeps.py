"""The steps of finite volumes as array expressions: sweeps along one axis after the other, or stages of Runge and Kutta.

With splitting a step of length D is  S(D/2) X Y Z Z Y X S(D/2), each sweep half a step long, S the sources: symmetric, so of
second order, and each sweep may use the largest stable step of its own axis. Strang 1968; Helluy et al. 2015, equations (5) and
(6). Without it the tendencies along all axes are added, and a stepper of `dgarray.stepping` advances them.
"""
import numpy as np

from ...physics.pointwise import Rows
from ..check import Check
from ..halo import Halo
from ..recipe import Fetched, Recipe
from .heat import heated
from .lines import evaluate

PIECE = 1 << 16          # cells whose lines are evaluated at once
TEMPORARIES = 24         # operations of a line for one array that exists at a time
ROUNDS = 8               # in which fluxes of first order are given, at most
PARTS = 64               # into which a sweep is divided, at most


class Sweeps(Recipe):
    """The operations of finite volumes on a backend.

    A state q is (variable, z, y, x). `out` is another state, which a function fills.
    replaced   faces so far at which a flux of first order has taken the place of another one;  warmed: cells so far that got
               internal energy of others"""

    work = ("sweeps",)

    def __init__(self, backend, tables):
        self.backend, self.tables, self.xp, self.replaced, self.warmed = backend, tables, backend.xp, 0, 0
        self.m = {name: backend.array(values) for name, values in tables.parameters.items()}
        self.x = tuple(self.xp.broadcast_to(backend.array(x), tables.grid.shape) for x in tables.grid.places())
        self.halo = None if tables.share is None else Halo(backend, tables.share)

    # The state.

    def zeros(self):
        return self.backend.zeros(self.tables.shape)

    def state(self, q):
        return self.backend.copied(q)

    def plain(self, q):
        return self.xp.array(q)

    def host(self, q):
        return self.backend.host(q)

    def fetch(self, q):
        """A copy of the values of the cells, (variable, 1, cell), to the host: see `Operator.fetch`."""
        return Fetched(self.host(q).reshape(len(q), 1, -1))

    def finite(self, q):
        return self.backend.finite(self.own(q))

    def own(self, values):
        """Values (..., z, y, x) of the rows along the last axis that are not copies of those of other parts of the grid."""
        return values[(..., self.tables.own, *(slice(None),) * (self.tables.dim - 1))]

    @property
    def own_m(self):
        """The varying parameters in the own cells."""
        return {name: self.own(values) for name, values in self.m.items()}

    @property
    def own_x(self):
        """The own cells' centres."""
        return tuple(map(self.own, self.x))

    def renew(self, q):
        """Renew the copies of other parts' cells."""
        if self.halo is not None:
            self.halo.renew([q], -self.tables.dim)

    def over_all(self, number):
        """The largest of a number of each part of the grid."""
        return number if self.halo is None else self.halo.messages.largest([number])[0]

    def change(self, q, before):
        """Largest change since the state `before` and largest absolute value of each variable, (2, variable)."""
        axes, q, before = tuple(range(1, q.ndim)), self.own(q), self.own(before)
        found = self.xp.stack([self.xp.abs(q - before).max(axis=axes), self.xp.abs(q).max(axis=axes)])
        return self.backend.host(found).astype(float)

    # A step.

    def step(self, stepper, states, k, t, dt, exponent=None):
        if not self.tables.split:
            return super().step(stepper, states, k, t, dt, exponent)
        *_, (_, *states) = self.parts(*states, t, dt)
        return states, None

    def parts(self, q, out, t, dt):
        """The parts of a step with splitting: yield (time that the state has reached, the state, the other array) after the
        sources and after each sweep."""
        self.add_sources(q, t, dt / 2)
        yield t + dt / 2, q, out
        for number, axes in enumerate(self.tables.axes):
            for axis in axes:
                self.sweep(axis, q, out, t + self.tables.sweep_times[number] * dt, dt / 2)
                q, out = out, q
                yield t + (number + 1) * dt / 2, q, out
        self.add_sources(q, t + dt / 2, dt / 2)
        yield t + dt, q, out

    def add_sources(self, q, t, dt):
        """The sources alone for the time dt, in place."""
        if self.tables.physics.sources:
            self.evaluate_own(self.tables.physics.source_step, q, q, t=t, dt=dt)

    def evaluate_own(self, line, q, result, **numbers):
        """Evaluate a line of one field, in `result`, that reads q, m, x and that field of the same cell, at the own cells."""
        (field,), q = line.writes, self.own(q)
        fields = {field: (0, tuple(self.own(result))), "q": (0, tuple(q)), "m": (0, self.own_m), "x": (0, self.own_x)}
        found = evaluate(self.backend, [line], fields, {field: (0, q.shape[-1])}, numbers)[field]
        for target, values in zip(self.own(result), found):
            target[...] = values

    def sweep(self, axis, q, out, t, dt):
        """Solve dq/dt + dF_k/dx_k = 0 along one axis for the time dt; t: at which conditions at the boundary are taken."""
        if axis == self.tables.cut:
            self.renew(q)
        self.add_fluxes(axis, q, "q", q, out, t, dt)
        if self.tables.repairs:
            self.repair([axis], q, t, [(out, dt)])

    def add_fluxes(self, axis, q, base, values, out, t, dt):
        """out = values - dt/h (differences of the fluxes of q along an axis) / C; base: the field that `values` are."""
        lines, (first, end) = [*self.tables.sweeps[axis], self.tables.update(base)], self.tables.cells(axis)
        numbers = self.numbers(axis, t, dt)
        target, given = (self.along(axis, array)[..., first:end] for array in (out, values))
        for rows in self.pieces(axis):
            fields = self.fields(axis, q, t, rows)
            if base != "q":
                fields[base] = 0, tuple(given[(slice(None), *rows)])
            with np.errstate(all="ignore"):          # states that are not sound are looked for afterwards
                new = evaluate(self.backend, lines, fields, {"out": (0, end - first)}, numbers)["out"]
            for v, value in enumerate(new):
                target[(v, *rows)] = value

    def stage(self, q, out, k, q0, t, dt, row):
        """The `update` with r = -sum over axes of dF_k/dx_k + s."""
        self.update(row, dt, self.rhs(q, t), q, out, k, q0)
        if self.tables.repairs:
            self.repair_stage(q, out, k, t, dt, row)

    def repair_stage(self, q, out, k, t, dt, row):
        """Repair the state `out` of a stage, and its register."""
        kept = [(k, row.w * dt)] if k is not None and row.w else []
        self.repair(range(self.tables.dim), q, t, [(out, (row.B * row.w + row.C) * dt), *kept])

    def rhs(self, q, t):
        """r = -sum over axes of dF_k/dx_k / C + s / C, a new array."""
        self.renew(q)
        r, physics = self.xp.zeros_like(q), self.tables.physics
        for axis in range(self.tables.dim):
            self.add_fluxes(axis, q, "r", r, r, t, 1.0)
        if physics.sources:          # last: the sum of the fluxes along x and y does not depend on their order
            self.evaluate_own(physics.sources_line, q, r, t=t)
        return r

    # Lines of cells along an axis, with ghost layers.

    def along(self, axis, values):
        """A view of values (..., z, y, x) whose last axis is x, y or z."""
        return self.xp.moveaxis(values, values.ndim - 1 - axis, -1)

    def pieces(self, axis):
        """Which pencils along an axis are computed at once: indices of `along` before its last axis."""
        if self.tables.dim == 1:
            return [()]
        shape = self.tables.grid.shape
        count, *others = (n for k, n in enumerate(shape) if k != self.tables.dim - 1 - axis)
        size = max(1, PIECE // (self.tables.grid.cells[axis] * int(np.prod(others))))
        first, end = (0, count) if axis == self.tables.dim - 1 else (self.tables.own.start, self.tables.own.stop)
        return [(slice(low, min(low + size, end)),) for low in range(first, end, size)]

    def fields(self, axis, q, t, rows):
        """The fields q, m and x, as `evaluate` takes them, of some pencils along an axis with their ghost layers."""
        layers, ends = self.tables.ghosts, (slice(None, self.tables.ghosts), slice(-self.tables.ghosts, None))
        m = {name: self.padded(axis, self.along(axis, values)[rows]) for name, values in self.m.items()}
        x = tuple(self.padded(axis, self.along(axis, values)[rows]) for values in self.x)
        for cells in ends:
            x[axis][..., cells] = self.backend.array(self.tables.line(axis)[cells])
        q = self.padded(axis, self.along(axis, q)[(slice(None), *rows)])
        for side, cells in zip(self.tables.sides[axis], ends):
            if side.outside is not None and not self.tables.copies(axis, side.end):
                ghosts = Rows(q[..., cells])
                self.backend.evaluate(side.outside, [ghosts], q=ghosts, t=t, x=tuple(a[..., cells] for a in x),
                                      m={name: values[..., cells] for name, values in m.items()})
        return {"q": (-layers, tuple(q)), "m": (-layers, m), "x": (-layers, x)}

    def padded(self, axis, values):
        """Values along an axis, which is their last one, with those from which ghost layers are made, a new array."""
        (first, end), (low, high) = self.tables.cells(axis), self.tables.around(axis)
        return self.xp.concatenate([values[..., low], values[..., first:end], values[..., high]], axis=-1)

    # Checks.

    def repair(self, axes, q, t, targets):
        """Make the states of all cells sound, as far as that is possible without loss of anything that is conserved.

        First at all faces of cells that are not, the flux `positive` of q takes the place of the other one, on both sides
        alike; then the same for cells that this has changed. Where that is not enough a sweep is done again in parts that
        are short enough for this flux, if it was longer; and at last cells get internal energy of others.
        targets: [(new state, dt), ...], the first is looked at; each has the fluxes times its dt
        Dumbser, Zanotti, Loubere & Diot 2014; here faces change, not cells, so that the sum over all cells stays."""
        before = None          # the cells of the rounds so far
        for _ in range(ROUNDS):
            bad = self.unsound(targets[0][0], t)
            if not self.over_all(bool(bad.any())):
                return
            new = bad if before is None else bad & ~before
            if not self.over_all(bool(new.any())):
                break
            now = new if before is None else before | new
            if self.tables.cut in axes:
                self.halo.renew([now], -self.tables.dim, 1)
            for axis in axes:
                self.replace_fluxes(axis, q, t, targets, now, before)
            before = now
        out, dt = targets[0]
        parts = self.parts_of(axes[0], q, t, dt) if self.tables.split else 1
        if parts > 1:
            self.sweep_in_parts(axes[0], q, out, t, dt, parts)
        elif self.tables.lends:
            self.lend(out, t)

    def parts_of(self, axis, q, t, dt):
        """The number of equal parts of a sweep for which the flux `positive` keeps states admissible."""
        largest, (first, end) = 0.0, self.tables.cells(axis)
        for rows in self.pieces(axis):
            fields = self.fields(axis, q, t, rows)
            with np.errstate(all="ignore"):          # a source may have made q what it is
                s = evaluate(self.backend, [self.tables.speeds[axis]], fields, {"s": (-1, end - first)}, {"t": t})["s"][0]
            largest = max(largest, self.backend.largest(s))
        return min(PARTS, int(np.ceil(self.over_all(largest) * dt / self.tables.grid.spacing[axis])))

    def sweep_in_parts(self, axis, q, out, t, dt, parts):
        """A sweep from q to `out` as several shorter ones."""
        state = q
        for _ in range(parts):
            new = self.zeros()
            Sweeps.sweep(self, axis, state, new, t, dt / parts)
            state = new
        out[...] = state

    def lend(self, q, t):
        """Give the cells whose internal energy is not positive some of other cells, in place."""
        poor = self.unsound(q, t)
        if not self.over_all(bool(poor.any())):
            return
        energy = self.own(q[self.tables.law.variables.index("E")])
        with np.errstate(all="ignore"):
            heat = self.own(self.backend.evaluate(self.tables.physics.internal_energy, q=Rows(q), m=self.m)[0])
        if not self.over_all(not self.backend.finite(heat)):
            self.warmed += int(self.backend.host(poor.sum()))
            before, total = (self.of_whole(values) for values in (heat, energy))
            after = heated(self.xp, before, total, self.tables.periodic)
            energy += (after if self.halo is None else after[self.tables.share.first:self.tables.share.end]) - heat

    def of_whole(self, values):
        """Values of the own rows of all parts of the grid, in the order of the rows."""
        if self.halo is None:
            return values
        return self.backend.array(np.concatenate(self.halo.messages.everyones(self.backend.host(values))))

    def replace_fluxes(self, axis, q, t, targets, cells, done):
        """Change the fluxes through the faces of some cells along an axis; those of the cells `done` are changed already."""
        tables, (first, end) = self.tables, self.tables.cells(axis)
        n, mask, done = end - first, *(self.mask(axis, each) for each in (cells, done))
        rows = self.xp.nonzero(mask.any(axis=-1)) if tables.dim > 1 else ()
        faces = self.faces_of(axis, mask[rows])
        if done is not None:
            faces = faces & ~self.faces_of(axis, done[rows])
        fields = self.fields(axis, q, t, rows)
        with np.errstate(all="ignore"):
            numbers, wanted = self.numbers(axis, t, targets[0][1]), {"flux": (-1, n)}
            inside = dict.fromkeys(tables.inside, (0, n))
            found = evaluate(self.backend, tables.sweeps[axis], fields, wanted | inside, numbers)
            low = evaluate(self.backend, [tables.simple[axis]], fields, wanted, numbers)["flux"]
        counted = faces if axis != tables.cut or tables.share.end == tables.share.count else faces[..., :-1]
        self.replaced += int(self.backend.host(counted.sum()))          # a face between two parts once
        change = tuple(self.xp.where(faces, a - b, 0) for a, b in zip(low, found.pop("flux")))
        for target, dt in targets:
            view = self.along(axis, target)[..., first:end]
            given = {field: (0, values) for field, values in found.items()}
            given |= {"out": (0, tuple(view[(slice(None), *rows)])), "flux": (-1, change), "m": fields["m"]}
            new = evaluate(self.backend, [tables.update("out")], given, {"out": (0, n)}, self.numbers(axis, t, dt))["out"]
            for v, value in enumerate(new):
                view[(v, *rows)] = value

    def numbers(self, axis, t, dt):
        """The numbers of the lines of a sweep: t, and k = dt / h."""
        return {"t": t, "k": dt / self.tables.grid.spacing[axis]}

    def mask(self, axis, cells):
        """Which cells, for fluxes along an axis, which is then the last one: copies count along the axis that is cut alone."""
        if cells is None or self.halo is None or axis == self.tables.cut:
            return cells if cells is None else self.along(axis, cells)
        kept = self.xp.zeros_like(cells)
        self.own(kept)[...] = self.own(cells)
        return self.along(axis, kept)

    def faces_of(self, axis, cells):
        """Which faces along the last axis belong to some cells, one more than cells: masks."""
        first, end = self.tables.cells(axis)
        wraps, none = self.tables.periodic[axis], self.xp.zeros_like(cells[..., :1])
        beyond = [cells[..., place:place + 1] if self.tables.copies(axis, side) else cells[..., [other]] if wraps else none
                  for side, (place, other) in enumerate(((first - 1, end - 1), (end, first)))]
        cells = self.xp.concatenate([beyond[0], cells[..., first:end], beyond[1]], axis=-1)
        return cells[..., 1:] | cells[..., :-1]

    def unsound(self, q, t):
        """Which own cells have a state that is not sound, (z, y, x)."""
        found, sound = self.xp.zeros(q.shape[1:], bool), self.sound(q, t)
        self.own(found)[...] = ~self.own(sound)
        return found

    def sound(self, q, t):
        """Whether the state of each cell is finite and admissible, (z, y, x)."""
        with np.errstate(all="ignore"):
            found, = self.backend.evaluate(self.tables.physics.sound, q=Rows(q), t=t, m=self.m, x=self.x)
        return self.xp.broadcast_to(found, q.shape[1:])

    def rate(self, q, t):
        """The largest s_k / h_k over cells and axes k, without splitting of their sum over the axes: see `GridTables.rate`."""
        with np.errstate(all="ignore"):
            found, = self.backend.evaluate(self.tables.rate, q=Rows(self.own(q)), t=t, m=self.own_m, x=self.own_x)
        return self.backend.largest(found) if getattr(found, "ndim", 0) else float(found)

    def check(self, q, t):
        """The `Check` of a state with its rate."""
        finite = self.finite(q)
        return Check(finite, finite and bool(self.own(self.sound(q, t)).all()), self.rate(q, t) if finite else np.nan, 1.0)
