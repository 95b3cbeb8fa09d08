"""Base of nodal and modal DG on the GPU: the layout of the state, the clock, whole steps as CUDA graphs."""
import numpy as np

from ....methods.dg.set_operations import SetOperations
from ....methods.operation import Operation
from ....stepping import Stage, first, sequence
from .layout import Layout

STAGES = 8                # most stages of a stepper: the clock holds their times


class DeviceOperations(SetOperations):
    """The operations of `SetOperations` on a state that is a flat array in a `Layout`; its rows are variable * nodes + node.

    Kernels read dt and the times of the stages from an array on the device, the clock [dt, t of stage 0, t of stage 1, ...].
    So one CUDA graph of a whole step can be launched again and again.  A launch is a function of no arguments.
    width: elements of a microblock, see `Layout`.  Subclasses define
    _launches(q, out, k, q0, number, factors)   {name: launch} of a stage whose time is clock[1 + number]
    _limits(q)                                  {name: launch} of the limiter, which changes q in place
    set_clock(dt, times)                        write the clock
    captures                                    whether no launch allocates memory, so that a graph can hold them all"""

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
        """A flat state as (variable, node, element)."""
        return self.layout.unpack(state, self.rows).reshape(self.tables.variables, -1, self.tables.elements)

    def as_array(self, state):
        return self._rows(state)

    def host(self, state):
        return self._on_host(self.backend.host(state))

    def _on_host(self, flat):
        return np.array(self._rows(flat), order="C")

    def fetch(self, state):
        return Arriving(self.device.fetch(state), self._on_host)

    def places_of(self, elements):
        at = self.layout.at(self.rows, np.arange(self.rows)[:, None], np.asarray(elements, np.int64))
        return self.backend.integers(at)

    def gather(self, state, places):
        return state[places].reshape(self.tables.variables, -1, places.shape[1])

    def scatter(self, state, places, values):
        state[places] = values.reshape(self.rows, -1)

    def finite(self, q):
        # Padding is finite, so the flat array is checked; not on a part of a mesh, which has copies of other parts' elements.
        return self.backend.finite(q if self.tables.owned == self.tables.elements else self.own(self._rows(q)))

    def change(self, q, p):
        return super().change(self._rows(q), self._rows(p))

    def filter(self, q):
        blocks = q.reshape(-1, self.tables.rows, self.layout.width)
        blocks[...] = self.backend.product(self.filter_matrix, blocks)

    def rhs(self, q, t):
        out = self.zeros()
        self.set_clock(1.0, [t])
        for launch in self._launches(q, out, None, q, 0, factors(Stage(C=1.0))).values():
            launch()
        return out

    def stage_operations(self, q, out, k, q0, row, number=0):
        stage, limits = ([Operation(*each, reads=("state",), kernel=True) for each in launches.items()]
                         for launches in (self._launches(q, out, k, q0, number, factors(row)), self._limits(out)))
        copies = self.copies_operations(out) if limits and self.tables.limiting.limiter else []
        return [*self.copies_operations(q), *stage, *copies, *limits]

    def parts(self, q, out, k, q0, t, dt, row):
        """{name: launch} of one stage, in order; writes the clock."""
        self.set_clock(dt, [t])
        return self._launches(q, out, k, q0, 0, factors(row)) | self._limits(out)

    def _limits(self, q):
        return {}

    def step(self, stepper, states, k, t, dt, exponent=None):
        """A whole step by one CUDA graph; arguments and result of `Recipe.step`."""
        self.set_clock(dt, [t + row.c * dt for row in stepper.stages])
        # The first step is not captured, because it compiles the kernels; and a graph holds no messages.
        if not self.captures or not self._began or self.copies is not None:
            self._began = True
            return self._stages(stepper, states, k), None
        key = stepper.name, *map(id, (*states, k))
        if key not in self._graphs:
            after = []
            graph = self.device.capture(lambda: after.extend(self._stages(stepper, states, k)))
            self._graphs[key] = graph, after, k          # kept alive, so that no other object gets an id of the key
        graph, after, _ = self._graphs[key]
        graph.launch()
        return list(after), None

    def _stages(self, stepper, states, k):
        """Do all stages of a step, each with its own time of the clock; returns the states with the new one first."""
        for number, (row, q, out, q0) in enumerate(sequence(stepper, states)):
            self.backend.perform(self.stage_operations(q, out, k, q0, row, number))
        return first(out, states)


def factors(row):
    """The factors of a `stepping.Stage` in the order of the kernels' arguments."""
    return row.A, row.w, row.alpha, row.beta, row.B, row.C, row.v, row.u


class Arriving:
    """A state on its way to the host.

    copy: `device.Fetch` of the flat array;  as_state: function from that array to the state (variable, node, element)"""

    def __init__(self, copy, as_state):
        self.copy, self.as_state = copy, as_state
        self.ready = copy.ready

    def result(self):
        return self.as_state(self.copy.result())
