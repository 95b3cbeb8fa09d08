"""The base classes of operators that are stepped by a Runge-Kutta stepper, and of those whose state is one array."""
import numpy as np

from ..stepping import registers, sequence, stages
from .operator import Operator


class SteppedOperator(Operator):
    """An operator that a Runge-Kutta stepper advances.

    operations   a `dgarray.methods.step_operations.Recipe` on the backend: what a step computes"""

    def __init__(self, problem, method, operations, backend):
        super().__init__(problem, backend)
        self.method, self.operations, self.check_every = method, operations, operations.check_every
        self._others = self._k = None          # a step's other arrays of the state's size; its register k

    @property
    def work(self):
        """Names of the parts that a step of this problem has."""
        return self.operations.work

    @property
    def kernels(self):
        return "fused" if self.operations.work[0] in self.operations.fused else "array"

    @property
    def array_expressions(self):
        return self.operations.array_expressions

    @property
    def variant(self):
        return self.operations.variant

    def kernel_texts(self):
        return self.operations.kernel_texts(self.stepper)

    def stage(self, q, out, k, q0, t, dt, row):
        """One stage, from q to `out`: the row `row` of a stepper's table, see `dgarray.stepping`."""
        self.operations.stage(q, out, k, q0, t, dt, row)

    def states(self, state):
        """The arrays of a step: ([state, other arrays of its size], register k or None); see `dgarray.stepping`."""
        if self._others is None:
            count, with_k = registers(self.stepper, self.operations.in_place)
            self._others, self._k = [self.zeros() for _ in range(count - 1)], self.zeros() if with_k else None
        return [state, *self._others], self._k

    def advance(self, state, t, dt):
        return self._step(state, t, dt)[0]

    def _step(self, state, t, dt, exponent=None):
        states, k = self.states(state)
        (new, *self._others), check = self.operations.step(self.stepper, states, k, t, dt, exponent)
        return new, check

    def stages(self, state, t, dt):
        states, k = self.states(state)
        for row, new in zip(self.stepper.stages, stages(self.operations, self.stepper, states, k, t, dt)):
            yield t + row.c * dt, new

    def step_operations(self, state):
        states, k = self.states(state)
        return [self.operations.stage_operations(q, out, k, q0, row, number) for number, (row, q, out, q0) in enumerate(
            sequence(self.stepper, states, self.operations.in_place))]

    def forget(self):
        for k in self._k.values() if isinstance(self._k, dict) else [] if self._k is None else [self._k]:
            k[...] = 0          # the first stage takes 0 k, which is nan where an old k is not finite

    @property
    def stage_count(self):
        return len(self.stepper.stages)


class ArrayOperator(SteppedOperator):
    """A stepped operator whose state is one array. Its plain form is q (variable, row, place); on the backend the state has the
    layout that the `operations` choose.

    tables       matrices, metrics and index lists, from which the operations are made"""

    one = True

    def __init__(self, problem, method, tables, operations, backend):
        super().__init__(problem, method, operations, backend)
        self.tables = tables
        self.shape = (tables.variables, tables.rows, tables.elements)
        self.unknowns = {"q": self.shape}
        for name in ("state", "plain", "host", "zeros", "finite", "change"):
            setattr(self, name, getattr(operations, name))

    def on(self, backend):
        """This operator on another backend, with its tables."""
        operator = type(self)(self.problem, self.method, self.tables, backend)
        operator.stepper = self.stepper
        return operator

    @property
    def coefficients(self):
        return list(self.tables.parameters.values())

    def holdings(self):
        return [("", "state and registers", [self._others, self._k]), ("", "geometry and parameters", [self.mesh, self.tables]),
                ("", "working arrays", self.operations), ("", "working arrays", self)]

    def copy(self, state, target):
        target[...] = state

    def put(self, state, q):
        """Set a state of the backend to the state q (variable, row, place) of the host."""
        state[...] = self.state(q)

    def not_finite(self, q):
        return rows_not_finite(q)


def rows_not_finite(q):
    """Rows (place, variable, row) of the values q (variable, row, place) that are not finite."""
    return np.argwhere(~np.isfinite(q.transpose(2, 0, 1)))
