"""What a run, its recorders, its output and its failure reports ask of a discretised problem: the base of all operators."""
from functools import cached_property

import numpy as np

from ..stepping import registers, stages
from .check import Check
from .recipe import Fetched


class Operator:
    """A discretised problem on a backend.

    An operator of your own has at least

    unknowns                {name: shape} of the arrays of a state
    project(f, t)           the arrays {name: values} of the state f(x, t) on the host
    largest_step(state, t)  the largest stable time step
    advance(state, t, dt)   the state one step later; the arrays may be changed in place
    nodal(arrays)           values (variable, 1, place) for output of arrays on the host; `GridOperator` has it

    Here a state is a dict {name: array of the backend}. An operator whose state is something else overrides all functions
    under "The state".

    problem, backend   what was given
    stepper            the time stepper, where the method has several
    method             that has made it
    check_every        steps between two checks of the state, more than one where a check waits for a device
    tables             what the roofline's counts are found from; None where nobody has counted"""

    unknowns = {}
    method = stepper = tables = None
    check_every = 1

    def __init__(self, problem, backend):
        self.problem, self.backend = problem, backend

    @property
    def mesh(self):
        """The mesh or grid."""
        return self.problem.mesh

    @property
    def law(self):
        return self.problem.law

    @property
    def dtype(self):
        """The run's dtype."""
        return self.backend.dtype

    @property
    def dofs(self):
        """Degrees of freedom: how many numbers a state has."""
        return sum(int(np.prod(shape)) for shape in self.unknowns.values())

    @cached_property
    def space(self):
        """The function space of the output: where its values lie, see `dgarray.spaces`."""
        return self.method.space(self.problem)

    @property
    def coefficients(self):
        """Arrays that make the law's coefficients what they are; a restart compares them."""
        return []

    @property
    def array_expressions(self):
        """Parts of a step that are array expressions where the backend has fused kernels, by name."""
        return []

    @property
    def variant(self):
        """What computes, as text: a restart with another is not bitwise the same."""
        return None

    def kernel_texts(self):
        """{name: text} of the generated kernels of a step; empty where array expressions compute."""
        return {}

    def parameters(self, part):
        """{name: values} of the law's parameters that vary, at the points of a `dgarray.spaces.parts.Part`."""
        return self.problem.parameters(part.x)

    # The state.

    def zeros(self):
        """A state of zeros."""
        return {name: self.backend.zeros(shape) for name, shape in self.unknowns.items()}

    def state(self, arrays):
        """A state on the backend with a copy of these arrays, of the host or the backend."""
        return {name: self.backend.copied(arrays[name]) for name in self.unknowns}

    def plain(self, state):
        """A copy of the state as plain arrays of the backend's library."""
        return self.state(state)

    def host(self, state):
        """The state as plain arrays on the host."""
        return {name: self.backend.host(array) for name, array in state.items()}

    def copy(self, state, target):
        """Make `target` the same as `state`."""
        for name, array in state.items():
            target[name][...] = array

    def put(self, state, arrays):
        """Set a state to plain arrays."""
        self.copy(self.state(arrays), state)

    def checked(self, arrays):
        """Plain arrays of a user, if they are a state. Raises ValueError for other names, shapes and dtypes."""
        if not isinstance(arrays, dict) or set(arrays) != set(self.unknowns):
            got = ", ".join(map(str, arrays)) if isinstance(arrays, dict) else type(arrays).__name__
            raise ValueError(f"the state is {got}; it must be a dict of the arrays {', '.join(self.unknowns)}")
        for name, shape in self.unknowns.items():
            check_array(arrays[name], shape, f"{name} of the state", "")
        return arrays

    def saved(self, state):
        """{name: array of the host} for a checkpoint."""
        return {f"state/{name}": array for name, array in self.host(state).items()}

    def restored(self, arrays):
        """The plain arrays of a state from those of a checkpoint; `saved` backwards."""
        return {name: arrays[f"state/{name}"] for name in self.unknowns}

    def parts(self, arrays):
        """The plain arrays of a state, one after the other."""
        return [arrays[name] for name in self.unknowns]

    def project(self, f, t=0.0):
        """The state f(x, t) -> tuple as plain arrays on the host."""
        raise NotImplementedError(f"{type(self).__name__} has no function project(f, t)")

    # A step.

    def largest_step(self, state, t):
        """The largest stable time step at the state."""
        raise NotImplementedError(f"{type(self).__name__} has no function largest_step(state, t)")

    def advance(self, state, t, dt):
        """The state one step later. Arrays of `state` may be changed, and may be those of the result."""
        raise NotImplementedError(f"{type(self).__name__} has no function advance(state, t, dt)")

    def advance_checked(self, state, t, dt):
        """As `advance`, with the `Check` of the new state if it was found on the way, else None.

        The next `largest_step` is asked with `check=` that."""
        return self.advance(state, t, dt), None

    def stages(self, state, t, dt):
        """(time, state) of each stage of one step, in which a failure is looked for; the last is the new state."""
        yield t + dt, self.advance(state, t, dt)

    @property
    def stage_count(self):
        """How many stages a step has."""
        return 1

    def forget(self):
        """Forget what is kept from step to step beside the state: somebody has changed the state."""

    def rhs(self, state, t):
        """dq/dt. Raises ValueError where a step is not made of it."""
        raise ValueError(f"{self.method!r} has no right-hand side: it makes whole steps; use steps() or run()")

    # What a state is like.

    def check(self, state, t):
        """The `Check` of a state; by default whether all of it is finite."""
        return Check(all(self.backend.finite(array) for array in state.values()))

    def not_finite(self, arrays):
        """Where plain arrays on the host are not finite: rows (place of the space, number of the variable, row)."""
        names = list(self.law.variables)
        found = [np.column_stack([self.places(name, np.argwhere(~np.isfinite(array))),
                                  np.full(np.sum(~np.isfinite(array)), names.index(name) if name in names else 0),
                                  np.zeros(np.sum(~np.isfinite(array)), int)]) for name, array in arrays.items()]
        return np.concatenate([np.empty((0, 3), int), *found])

    def places(self, name, index):
        """The places of the space that lie nearest to elements (row) of the array `name` with these indices (row, axis)."""
        return np.zeros(len(index), int)

    def not_admissible(self, arrays, t):
        """Where plain arrays on the host are not admissible to the law: rows as of `not_finite`; by default nowhere."""
        return np.empty((0, 3), int)

    def change(self, state, before):
        """Largest change of each variable and its largest value, (2, variable), for the end of a run that has come to rest."""
        now, then = (self.nodal(self.host(each))[:, 0] for each in (state, before))
        return np.array([np.abs(now - then).max(axis=1), np.abs(now).max(axis=1)])

    def error_estimate(self, loop):
        """{"time", "space"}: what the errors at the end of a run are likely to be; None where nobody knows."""

    # Values for output and recorders.

    def nodal(self, arrays):
        """Values (variable, 1, place of the space), of plain arrays on the host."""
        raise NotImplementedError(f"{type(self).__name__} has no function nodal(arrays)")

    def fetch(self, state):
        """What `nodal` gives, on its way to the host: ready(), whether it has arrived; result(), which waits for it."""
        return Fetched(self.nodal(self.host(state)))

    def take(self, state, places):
        """What the space knows of the state at some places, (variable, row, place of `places`), on the host."""
        return self.nodal(self.host(state))[:, :, places]


def check_array(array, shape, what, meaning):
    """Raise ValueError unless an array has this shape and real numbers."""
    found = getattr(array, "shape", np.shape(array))
    if found != shape:
        raise ValueError(f"{what} has the shape {found}; it must be {meaning}{shape}")
    if getattr(array, "dtype", np.dtype(float)).kind not in "fiu":
        raise ValueError(f"{what} has the dtype {array.dtype}; it must be real numbers")


class ArrayOperator(Operator):
    """An operator whose state is one array q (variable, row, place), as its `operations` on the backend keep it.

    operations: of a `Recipe`;  tables: what they work on"""

    def __init__(self, problem, method, tables, operations, backend):
        super().__init__(problem, backend)
        self.method, self.tables, self.operations = method, tables, operations
        self.shape = (tables.variables, tables.rows, tables.elements)
        self.unknowns = {"q": self.shape}
        for name in ("state", "plain", "host", "zeros", "finite", "change"):
            setattr(self, name, getattr(operations, name))
        self.check_every = operations.check_every
        self._others = self._k = None          # what a step needs beside the state: arrays of its size, the register k

    def on(self, backend):
        """The same problem on another backend, with the same tables."""
        operator = type(self)(self.problem, self.method, self.tables, backend)
        operator.stepper = self.stepper
        return operator

    @property
    def coefficients(self):
        return list(self.tables.parameters.values())

    @property
    def array_expressions(self):
        return self.operations.array_expressions

    @property
    def variant(self):
        return self.operations.variant

    def kernel_texts(self):
        return self.operations.kernel_texts(self.stepper)

    def copy(self, state, target):
        target[...] = state

    def put(self, state, q):
        """Set a state of the backend to the state q (variable, row, place) of the host."""
        state[...] = self.state(q)

    def checked(self, q):
        check_array(q, self.shape, "the state", "(variable, node, element) = ")
        return q

    def saved(self, state):
        return {"q": self.host(state)}

    def restored(self, arrays):
        return arrays["q"]

    def parts(self, q):
        return [q]

    def stage(self, q, out, k, q0, t, dt, row):
        """One row of a stepper's table, see `dgarray.stepping`."""
        self.operations.stage(q, out, k, q0, t, dt, row)

    def states(self, state):
        """The state and the other arrays that a step needs, and the register k or None: see `dgarray.stepping`."""
        if self._others is None:
            count, with_k = registers(self.stepper)
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

    def forget(self):
        if self._k is not None:
            self._k[...] = 0          # zero times what is not finite would not be zero

    def not_finite(self, q):
        return np.argwhere(~np.isfinite(q.transpose(2, 0, 1)))

    @property
    def stage_count(self):
        return len(self.stepper.stages)
