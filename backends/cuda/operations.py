"""What all DG on the GPU has in common: the state as it lies on the device, the clock, whole steps as CUDA graphs."""
import numpy as np

from ..dg_arrays import NodalArrays
from .layout import Layout

STAGES = 8                # times that the clock on the device has room for


class DeviceOperations(NodalArrays):
    """The reference's operations on a state that is a flat array of rows variable * nodes + node over elements, see `Layout`.

    The times of the stages are read from an array on the device, the clock, so that a whole step is launched again as one CUDA
    graph.  Subclasses have
    _launches(q, out, k, q0, number, factors)   the launches of a stage by name whose time is the clock's `number`
    _limits(q)                                  those that follow it, in place
    set_clock(dt, times)
    captures                                    whether none of them asks for memory, so that a graph can hold them"""

    check_every, captures = 16, True

    def __init__(self, backend, tables, width):
        super().__init__(backend, tables)
        self.device, self.layout = backend.device, Layout(tables.elements, width)
        self.rows = tables.variables * tables.rows
        self.clock, self.nothing = backend.zeros(1 + STAGES), backend.zeros(0)
        self._graphs, self._began = {}, False

    def state(self, q):
        xp = self.backend.xp if hasattr(q, "get") else np
        return self.backend.copied(self.layout.pack(q.reshape(self.rows, -1), self.backend.dtype, xp))

    def plain(self, state):
        return self._rows(state).copy()

    def zeros(self):
        return self.backend.zeros(self.layout.size(self.rows))

    def _rows(self, state):
        """The state q[variable, node, element] on the device."""
        return self.layout.unpack(state, self.rows).reshape(self.tables.variables, -1, self.tables.elements)

    def host(self, state):
        return self._on_host(self.backend.host(state))

    def _on_host(self, flat):
        return np.array(self._rows(flat), order="C")

    def fetch(self, state):
        return Arriving(self.device.fetch(state), self._on_host)

    def take(self, state, elements):
        at = self.layout.at(self.rows, np.arange(self.rows)[:, None], np.asarray(elements, np.int64))
        values = self.backend.host(state[self.backend.integers(at)])
        return values.reshape(self.tables.variables, -1, at.shape[1])

    def change(self, q, p):
        return super().change(self._rows(q), self._rows(p))

    def filter(self, q):
        blocks = q.reshape(-1, self.tables.rows, self.layout.width)
        blocks[...] = self.backend.product(self.filter_matrix, blocks)

    def rate(self, q, t, exponent):
        return super().rate(self._rows(q), t, exponent)

    def admissible(self, q, t):
        return super().admissible(self._rows(q), t)

    def rhs(self, q, t):
        out = self.zeros()
        self.set_clock(1.0, [t])
        for launch in self._launches(q, out, None, q, 0, (0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0)).values():
            launch()
        return out

    def stage(self, q, out, k, q0, t, dt, row):
        for launch in self.parts(q, out, k, q0, t, dt, row).values():
            launch()

    def parts(self, q, out, k, q0, t, dt, row):
        """The launches of one stage by name, functions of no arguments, in order."""
        self.set_clock(dt, [t])
        return self._parts(q, out, k, q0, 0, row)

    def _parts(self, q, out, k, q0, number, row):
        return self._launches(q, out, k, q0, number, factors(row)) | self._limits(out)

    def _limits(self, q):
        return {}

    def step(self, stages, stepper, states, k, t, dt):
        """A whole step as one CUDA graph; `stages`: see `dgarray.stepping`."""
        self.set_clock(dt, [t + row.c * dt for row in stepper.stages])
        # The very first step compiles.
        if not self.captures or not self._began:
            self._began = True
            return self._steps(stages, stepper, states, k)
        key = stepper.name, *map(id, (*states, k))
        if key not in self._graphs:
            after = []
            graph = self.device.capture(lambda: after.extend(self._steps(stages, stepper, states, k)))
            self._graphs[key] = graph, after, k          # kept with all that it uses, so that nothing else gets their numbers
        graph, after, _ = self._graphs[key]
        graph.launch()
        return list(after)

    def _steps(self, stages, stepper, states, k):
        *_, last = stages(Clocked(self), stepper, states, k, 0.0, 0.0)
        return [last] + [state for state in states if state is not last]


def factors(row):
    """The factors of a stage in the kernels' order."""
    return row.A, row.w, row.alpha, row.beta, row.B, row.C, row.v


class Clocked:
    """The stages of one step, each with its own time of the clock."""

    def __init__(self, operations):
        self.operations, self.number = operations, 0

    def stage(self, q, out, k, q0, t, dt, row):
        for launch in self.operations._parts(q, out, k, q0, self.number, row).values():
            launch()
        self.number += 1


class Arriving:
    """A state on its way to the host."""

    def __init__(self, copy, as_state):
        self.copy, self.as_state = copy, as_state
        self.ready = copy.ready

    def result(self):
        return self.as_state(self.copy.result())
