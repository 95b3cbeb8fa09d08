"""The steps of finite volumes by programs: sweeps along one axis after the other, or stages of Runge and Kutta.

With splitting a step of length D is  S(D/2) X Y Z Z Y X S(D/2), each sweep half a step long, S the sources: symmetric, so of
second order, and each sweep may use the largest stable step of its own axis. Strang 1968; Helluy et al. 2015, equations (5) and
(6). Without it the tendencies along all axes are added, and a stepper of `dgarray.stepping` advances them.
"""
import numpy as np

from ...physics.pointwise import Rows
from ...program.interpreter import Interpreter
from ..check import Check
from ..row_exchange import Halo
from ..stage_update import factors_of, kind_of
from ..step_operations import Fetched, Recipe
from . import sweep_program
from .heat import heated

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
        self.interpreters, self.constants, self.fixed, self.tendency = {}, {}, {}, None

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
        reached = t + dt / 2, *(t + (number + 1) * dt / 2 for number in (0, 1) for _ in self.tables.axes[number]), t + dt
        for end, (name, axis, time, length) in zip(reached, self.parts_of_step(t, dt)):
            if name == "sources":
                self.add_sources(q, time, length)
            else:
                self.sweep(axis, q, out, time, length)
                q, out = out, q
            yield end, q, out

    def parts_of_step(self, t, dt):
        """[(name of the program, axis, time at which conditions and sources are taken, length)] of the parts of a step with
        splitting."""
        sweeps = [("sweep", axis, t + self.tables.sweep_times[number] * dt, dt / 2)
                  for number, axes in enumerate(self.tables.axes) for axis in axes]
        return [("sources", 0, t, dt / 2), *sweeps, ("sources", 0, t + dt / 2, dt / 2)]

    def add_sources(self, q, t, dt):
        """The sources alone for the time dt, in place."""
        if self.tables.physics.sources:
            self.run("sources", 0, q, {"out": q}, t, dt)

    def sweep(self, axis, q, out, t, dt):
        """Solve dq/dt + dF_k/dx_k = 0 along one axis for the time dt; t: at which conditions at the boundary are taken."""
        if axis == self.tables.cut:
            self.renew(q)
        self.run("sweep", axis, q, {"out": out}, t, dt, (axis,))
        if self.tables.repairs:
            self.repair([axis], q, t, [(out, dt)])

    def stage(self, q, out, k, q0, t, dt, row):
        """The `update` with r = -sum over axes of dF_k/dx_k + s."""
        self.renew(q)
        r, last = self.room_for_tendency() if self.tables.dim > 1 else None, self.tables.dim - 1
        for axis in range(last):
            self.run("tendency", axis, q, {"r": r}, t, dt, (axis,), r=r)
        self.run("stage", last, q, {"out": out, "k": k}, t, dt, (kind_of(row),), r=r, k=k, q0=q0, **factors_of(row, dt))
        if self.tables.repairs:
            self.repair_stage(q, out, k, t, dt, row)

    def room_for_tendency(self):
        """Where a stage keeps the tendency along some axes."""
        if self.tendency is None:
            self.tendency = self.zeros()
        return self.tendency

    def repair_stage(self, q, out, k, t, dt, row):
        """Repair the state `out` of a stage, and its register."""
        kept = [(k, row.w * dt)] if k is not None and row.w else []
        self.repair(range(self.tables.dim), q, t, [(out, (row.B * row.w + row.C) * dt), *kept])

    def rhs(self, q, t):
        """r = -sum over axes of dF_k/dx_k / C + s / C, a new array."""
        self.renew(q)
        r = self.xp.zeros_like(q)
        for axis in range(self.tables.dim):
            self.run("tendency", axis, q, {"r": r}, t, 0.0, (axis,), r=r)
        return r

    # Programs.

    def program(self, name, *options):
        """A program, of a function of `sweep_program`."""
        return getattr(sweep_program, name)(self.tables, *options)

    def interpreter(self, name, *options):
        """The `Interpreter` of a program; that of repairs, of many sizes, is not compiled by XLA."""
        if (name, *options) not in self.interpreters:
            program = self.program(name, *options)
            self.interpreters[name, *options] = Interpreter(self.backend, program, {}) if name == "repair" else (
                self.backend.interpreter(program, self.constants))
        return self.interpreters[name, *options]

    def run(self, name, axis, q, targets, t, dt, options=(), **given):
        """Run a program on pencils along an axis. given: numbers, and arrays of the state's shape, as targets are."""
        interpreter, h = self.interpreter(name, *options), self.tables.grid.spacing[axis]
        numbers = {"t": t, "dt": dt, "dt / h": dt / h, "1 / h": 1.0 / h}
        arrays = {name: self.cells(axis, each) if getattr(each, "ndim", 0) else each for name, each in given.items()}
        targets = {name: self.cells(axis, each) for name, each in targets.items() if each is not None}
        return interpreter.run(self.along(axis, q) | numbers | arrays, targets)

    def along(self, axis, q):
        """The state, the parameters and the coordinates along other axes, as inputs of programs along an axis."""
        if axis not in self.fixed:
            self.fixed[axis] = {f"m.{name}": self.pencils(axis, values) for name, values in self.m.items()} | {
                f"x{k}": self.pencils(axis, x)[0] for k, x in enumerate(self.x) if k != axis}
        return {"q": self.pencils(axis, q)} | self.fixed[axis]

    def pencils(self, axis, values):
        """Values (.., z, y, x) as (.., cell along an axis, .., pencil): the other axes follow, the last one at the end."""
        first = values.ndim - self.tables.dim
        place = values.ndim - 1 - axis
        others = [k for k in range(values.ndim - 1, first - 1, -1) if k != place]
        values = values.transpose(*range(first), place, *others)
        return values[..., None] if not others else values if place == first else values[..., self.tables.own]

    def cells(self, axis, values):
        """Values (.., z, y, x) at the own cells alone, in the order of `pencils`."""
        lead = (slice(None),) * (values.ndim - self.tables.dim)
        return self.pencils(axis, values)[(*lead, slice(*self.tables.cells(axis)))]

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
        """The number of equal parts of a sweep for which the flux `positive` keeps states admissible; states that are not
        admissible before have no speed."""
        speeds = self.run("speed", axis, q, {}, t, dt, (axis,))["s"]
        largest = self.over_all(self.backend.largest(self.xp.where(self.xp.isfinite(speeds), speeds, 0.0)))
        return min(PARTS, int(np.ceil(largest * dt / self.tables.grid.spacing[axis])))

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
        tables, mask = self.tables, self.pencils(axis, cells)
        some = self.xp.nonzero(mask.any(axis=0))
        count = len(some[0])
        if not count:
            return
        faces = self.faces_of(axis, mask[(slice(None), *some)])
        if done is not None:
            faces = faces & ~self.faces_of(axis, self.pencils(axis, done)[(slice(None), *some)])
        counted = faces if axis != tables.cut or tables.share.end == tables.share.count else faces[:-1]
        self.replaced += int(self.backend.host(counted.sum()))          # a face between two parts once
        size = 1 << (count - 1).bit_length()          # few programs: of these sizes; what is too much repeats the last pencil
        more = self.backend.integers(np.minimum(np.arange(size), count - 1))
        some, h = tuple(places[more] for places in some), tables.grid.spacing[axis]
        given = {"t": t, "dt": 0.0, "faces": self.backend.zeros((len(faces), size))}
        given["faces"][...] = faces[:, more]
        views = [self.cells(axis, target) for target, _ in targets]
        for number, (view, (_, dt)) in enumerate(zip(views, targets)):
            given |= {f"out {number}": view[(..., *some)], "dt / h" if number == 0 else f"dt / h of {number}": dt / h}
        given |= {name: each[(..., *some)] for name, each in self.along(axis, q).items()}
        with np.errstate(all="ignore"):
            found = self.interpreter("repair", axis, size, len(targets)).run(given)
        for number, view in enumerate(views):
            view[(..., *some)] = found[f"out {number}"]

    def faces_of(self, axis, cells):
        """Which faces along the first axis belong to some cells, one more than own cells: masks."""
        first, end = self.tables.cells(axis)
        wraps, none = self.tables.periodic[axis], self.xp.zeros_like(cells[:1])
        beyond = [cells[place:place + 1] if self.tables.copies(axis, side) else cells[other:other + 1] if wraps else none
                  for side, (place, other) in enumerate(((first - 1, end - 1), (end, first)))]
        cells = self.xp.concatenate([beyond[0], cells[first:end], beyond[1]], axis=0)
        return cells[1:] | cells[:-1]

    def unsound(self, q, t):
        """Which own cells have a state that is not sound, (z, y, x)."""
        return ~self.sound(q, t)

    def sound(self, q, t):
        """Whether the state of each own cell is finite and admissible, (z, y, x); true at copies of others' cells."""
        found = self.xp.ones(q.shape[1:], bool)
        self.run("sound", 0, q, {"sound": found}, t, 0.0)
        return found

    def rate(self, q, t):
        """The largest s_k / h_k over cells and axes k, without splitting of their sum over the axes: see `GridTables.rate`."""
        return self.backend.largest(self.run("rate", 0, q, {}, t, 0.0)["rate"])

    def check(self, q, t):
        """The `Check` of a state with its rate."""
        finite = self.finite(q)
        return Check(finite, finite and bool(self.own(self.sound(q, t)).all()), self.rate(q, t) if finite else np.nan, 1.0)
