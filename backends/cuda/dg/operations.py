"""What all DG on the GPU has in common: the state as it lies on the device, the clock, whole steps as CUDA graphs."""
import numpy as np

from ....methods.dg.weak_form import WeakForm
from ....stepping import first, sequence
from .layout import Layout

STAGES = 8                # times that the clock on the device has room for


class DeviceOperations(WeakForm):
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

    # Memory, see `dgarray.methods.recipe.Recipe`.

    @classmethod
    def width(cls, backend, tables):
        """Of the layout that these tables get."""
        return 0

    @classmethod
    def row_size(cls, backend, tables):
        """Bytes of a row over elements."""
        return Layout(tables.elements, cls.width(backend, tables)).size(1) * backend.dtype.itemsize

    @classmethod
    def state_size(cls, backend, tables):
        return cls.row_size(backend, tables) * tables.variables * tables.rows

    @classmethod
    def holds_on_host(cls, backend, tables):
        """Pinned memory for a state on its way."""
        return {"snapshot on its way": cls.state_size(backend, tables)}

    @classmethod
    def setting_up(cls, backend, tables, lists):
        """Bytes on the host while the operations are made: tables, and the metrics in float64 and packed, or index lists."""
        rows = tables.geometry_rows + len(tables.varying)
        packed = 8 * rows * tables.elements + 2 * rows * cls.row_size(backend, tables)
        return sum(tables.holds().values()) + max(packed, lists)

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

    def finite(self, q):
        # Rows are filled up with numbers that are finite, so the flat array serves where all elements are the mesh's own.
        return self.backend.finite(q if self.tables.owned == self.tables.elements else self.own(self._rows(q)))

    def change(self, q, p):
        return super().change(self._rows(q), self._rows(p))

    def filter(self, q):
        blocks = q.reshape(-1, self.tables.rows, self.layout.width)
        blocks[...] = self.backend.product(self.filter_matrix, blocks)

    def put(self, state, elements, values):
        at = self.layout.at(self.rows, np.arange(self.rows)[:, None], np.asarray(elements, np.int64))
        state[self.backend.integers(at)] = self.backend.array(values.reshape(self.rows, -1))

    def rate(self, q, t, exponent, peak=None):
        return super().rate(self._rows(q), t, exponent, peak)

    def peak(self, q, t):
        return super().peak(self._rows(q), t)

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

    def step(self, stepper, states, k, t, dt, exponent=None):
        """As the reference, as one CUDA graph."""
        self.set_clock(dt, [t + row.c * dt for row in stepper.stages])
        # The very first step compiles.
        if not self.captures or not self._began:
            self._began = True
            return self._stages(stepper, states, k), None
        key = stepper.name, *map(id, (*states, k))
        if key not in self._graphs:
            after = []
            graph = self.device.capture(lambda: after.extend(self._stages(stepper, states, k)))
            self._graphs[key] = graph, after, k          # kept with all that it uses, so that nothing else gets their numbers
        graph, after, _ = self._graphs[key]
        graph.launch()
        return list(after), None

    def _stages(self, stepper, states, k):
        """Launch all stages of a step, each with its own time of the clock; the states with the new one first."""
        for number, (row, q, out, q0) in enumerate(sequence(stepper, states)):
            for launch in self._parts(q, out, k, q0, number, row).values():
                launch()
        return first(out, states)


def factors(row):
    """The factors of a stage in the kernels' order."""
    return row.A, row.w, row.alpha, row.beta, row.B, row.C, row.v


class Arriving:
    """A state on its way to the host."""

    def __init__(self, copy, as_state):
        self.copy, self.as_state = copy, as_state
        self.ready = copy.ready

    def result(self):
        return self.as_state(self.copy.result())
