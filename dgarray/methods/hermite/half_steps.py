"""The operations of Hermite's method on a backend: half-steps and sponges, programs by the interpreter."""
import numpy as np

from ...program.costs import title
from ..operation import Operation
from ..step_operations import Fetched, Recipe
from . import half_step_program
from .half_step_program import SIDES, map_name


class HalfSteps(Recipe):
    """The operations of Hermite's method on these tables (`dgarray.methods.hermite.node_tables.HermiteTables`).

    A state is an array (variable, coefficient, z, y, x); the coefficients are numbered with j_x fastest.  A state on the dual
    grid uses the same array, from index 0 along each axis; entries beyond the dual grid's nodes are unused."""

    check_every = 16

    def __init__(self, backend, tables):
        self.backend, self.tables, self.xp = backend, tables, backend.xp
        self.variant = self.variant_of(backend, tables)
        self._interpreters, self._maps = {}, (None, {})

    @property
    def work(self):
        return ["half-steps", *["sponges"] * bool(self.tables.layers)]

    @classmethod
    def variant_of(cls, backend, tables):
        """The variant that runs, as `dgarray.Hermite` names them."""
        return tables.method.chosen(tables.linear, backend)

    def zeros(self):
        return self.backend.zeros((self.tables.variables, self.tables.rows, *self.tables.grid.shape))

    def state(self, q):
        """A copy of the state q (variable, coefficient, node), of the host or the backend, in the shape of the operations."""
        return self.backend.copied(q).reshape(*q.shape[:2], *self.tables.grid.shape)

    def plain(self, state):
        """A copy of the state as q (variable, coefficient, node) on the backend."""
        return self.backend.xp.ascontiguousarray(state.reshape(*state.shape[:2], -1)).copy()

    def put(self, state, q):
        """Set a state of the backend to the state q (variable, coefficient, node) of the host."""
        state[...] = self.state(q)

    def host(self, q):
        """A state on the host, (variable, coefficient, node)."""
        return self.backend.host(q).reshape(*q.shape[:2], -1)

    def fetch(self, q):
        return Fetched(self.host(q))

    def take(self, q, nodes):
        """The coefficients at some nodes on the host, (variable, coefficient, node of `nodes`)."""
        return self.backend.host(q.reshape(*q.shape[:2], -1)[:, :, self.backend.integers(nodes)])

    def finite(self, q):
        return self.backend.finite(q)

    def change(self, q, p):
        """Largest |q - p| and largest |q| of every variable, (2, variable), on the host."""
        return np.array([[self.backend.largest(self.xp.abs(part)) for part in parts] for parts in (q - p, q)])

    def program(self, name, *options):
        """A program of these tables, of a function of `half_step_program`."""
        return getattr(half_step_program, name)(self.tables, *options)

    def interpreter(self, name, *options):
        """The `Interpreter` of a program."""
        if (name, *options) not in self._interpreters:
            self._interpreters[name, *options] = self.backend.interpreter(self.program(name, *options), {})
        return self._interpreters[name, *options]

    @property
    def collapsed(self):
        """Whether one matrix along each axis makes a half-step."""
        return self.variant == "collapsed"

    def stage(self, q, out, k, q0, t, dt, row):
        """A half-step from q to `out`: the first (row.c = 0) to the dual grid, the second back to the grid, where the sponges
        then damp the state."""
        self.set_clock(dt, [t])
        self.backend.perform(self.stage_operations(q, out, k, q0, row))

    def stage_operations(self, q, out, k, q0, row, number=0):
        half = int(row.c > 0)
        sponges = Operation("sponges", lambda: self.damp(out, self.dt), reads=("new state",), writes={"new state": out.nbytes})
        return [*self.half_step_operations(q, out, half), *[sponges] * bool(half and self.tables.layers)]

    def half_step(self, q, out, half, tau):
        """Interpolate q to the other grid and evolve it there by the time tau; half: 0 to the dual grid, 1 back."""
        self.set_clock(2 * tau, [0.0])
        self.backend.perform(self.half_step_operations(q, out, half))

    def half_step_operations(self, q, out, half):
        """The operations of a half-step, of half the clock's time step."""
        plain = [each.reshape(*each.shape[:2], -1) for each in (q, out)]
        tasks = self.interpreter("half_step", half, self.collapsed).tasks(
            {"q": plain[0]}, {"out": plain[1]}, lambda: self.maps(self.dt / 2) if self.collapsed else {"tau": self.dt / 2})
        return [Operation(title(operations), run, None, reads, writes) for operations, run, reads, writes in tasks]

    def maps(self, tau):
        """{name: matrix} along each axis of each variable that make a half-step of this length."""
        if self._maps[0] != tau:
            names = self.tables.law.variables
            self._maps = tau, {map_name(names[v], axis, side): self.backend.array(maps[v, axis]) for side, maps in zip(
                SIDES, self.tables.collapsed(tau)) for v, axis in np.ndindex(maps.shape[:2])}
        return self._maps[1]

    def damp(self, q, dt):
        """Damp the state in the sponges, in place: q times exp(-sigma dt)."""
        for number, (axis, factors) in enumerate(self.tables.damping(dt)):
            near = self.tables.near[number]
            if near.start == near.stop:          # a part of the grid without nodes in this layer
                continue
            layer = q[(..., near, *[slice(None)] * axis)]
            found = self.interpreter("sponge", number).run({
                "q": self.xp.ascontiguousarray(layer).reshape(*q.shape[:2], -1),
                "exp(-sigma dt)": self.backend.array(factors[:, None, near])})
            layer[...] = found["out"].reshape(layer.shape)
