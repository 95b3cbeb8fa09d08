"""The base class of operators: all that a run, its recorders, its output and its failure reports ask of a discretised problem.

Shapes: a place is an element of a mesh or a node of a grid. Its rows are the nodes or modes of the element, or the
value and the scaled derivatives at the node.
"""
from __future__ import annotations

from functools import cached_property
from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from ..physics.boundary_checks import parameter_at
from .check import Check
from .operation import Operation, listed
from .step_operations import Fetched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..physics.laws.law import Law
    from .problem import Problem


class Operator:
    """A discretised problem on a backend.

    An operator of your own has at least

    unknowns                {name: shape} of the arrays of a state
    project(f, t)           the arrays {name: values} of the state f(x, t) on the host
    largest_step(state, t)  the largest stable time step
    advance(state, t, dt)   the state one step later; the arrays may be changed in place
    nodal(arrays)           values (variable, 1, node) for output, from arrays on the host; `GridOperator` has it

    Here a state is a dict {name: array of the backend}. An operator with any other state overrides all functions under "The
    state" in its source. "Plain arrays" are a state in the form that users see: here such a dict, on the host or the backend.

    problem, backend   the arguments: a `dgarray.methods.problem.Problem` and the backend
    stepper            the time stepper, where the method has several
    method             the method that has made this operator
    search             how the largest step is searched for; None: it is not
    check_every        steps between two checks of the state; more than one where a check waits for a device
    tables             the sizes of the problem;  program(name, *options): the program of its "stage", as the functions of
                       `dgarray.methods.dg.stage_program`: the roofline model adds it up; None: there is no count
    own                which of the places of `here` are this process's own, (place,); None: all
    halo               what renews the copies of other parts' rows of a grid within a step, see
                       `dgarray.methods.row_exchange`; None: nothing does
    one                whether plain arrays are one array, of the name q in `unknowns`, and not a dict
    writes             whether this process writes the files of a run: of several, one does"""

    unknowns: Any = {}
    method: Any = None
    stepper: Any = None
    tables: Any = None
    program: Any = None
    search: Any = None
    halo: Any = None
    own: Any = None
    check_every = 1
    one = False
    writes = True

    def __init__(self, problem: Problem, backend: Any):
        self.problem, self.backend = problem, backend

    @property
    def row_axis(self) -> int:
        """The axis of a grid's rows in each of a state's plain arrays, counted from the end."""
        return -self.mesh.dim

    @property
    def mesh(self) -> Any:
        """The mesh or grid."""
        return self.problem.mesh

    @property
    def law(self) -> Law:
        """The law."""
        return self.problem.law

    @property
    def dtype(self) -> Any:
        """The run's dtype."""
        return self.backend.dtype

    @property
    def dofs(self) -> int:
        """Number of degrees of freedom: of all numbers in a state."""
        return sum(int(np.prod(shape)) for shape in self.unknowns.values())

    @cached_property
    def space(self) -> Any:
        """The function space of the output, see `dgarray.spaces`."""
        return self.method.space(self.problem)

    @property
    def zones(self) -> dict[str | None, np.ndarray]:
        """{name of a zone: numbers of its elements in the mesh}; {}: one dataset holds all."""
        return {}

    @property
    def cells_of_arrays(self) -> dict[str, np.ndarray]:
        """{name of a plain array: numbers of its places in the mesh}: all, where the method does not say otherwise."""
        return {name: np.arange(shape[-1]) for name, shape in self.unknowns.items()}

    @property
    def coefficients(self) -> list:
        """Arrays of the law's coefficients, which a restart compares with those of the interrupted run."""
        return []

    @property
    def kernels(self) -> str:
        """Whether "fused" kernels or "array" expressions compute the largest part of a step."""
        return "array"

    @property
    def array_expressions(self) -> list[str]:
        """Names of the parts of a step that run as array expressions although the backend has fused kernels."""
        return []

    @property
    def variant(self) -> str | None:
        """The kernel variant that computes, as text; None: the only one. A restart with another variant differs by rounding."""
        return None

    def kernel_texts(self) -> dict[str, str]:
        """{name: source text} of the generated kernels of a step; empty where array expressions compute."""
        return {}

    # Memory, see `dgarray.run.measured_memory`.

    def holdings(self) -> list[tuple[str, str, Any]]:
        """(part, what, object) of the objects whose arrays stay to the end of a run; their bytes grow with the size of the part
        in `Method.sizes`. What is reached twice counts where it comes first."""
        return [("", "coefficients", self)]

    def searched(self, places: int) -> int:
        """On how many places of a problem with so many the search for the largest step works; by default 0: there is none."""
        return 0

    def parameters(self, part: Any) -> dict[str, Any]:
        """{name: values} of the law's parameters that vary in space, at the points of a `dgarray.spaces.parts.Part`."""
        return self.problem.parameters(part.x)

    def parameters_beside(self, law: Law, rows: np.ndarray, x: np.ndarray) -> dict[str, Any]:
        """{name: values (face, point)} of a law's parameters at points x (dim, face, point) of faces, rows (element, local
        face), a hair inside of these elements."""
        mesh = self.problem.mesh if self.problem.mesh.structured else self.problem.mesh.whole
        return {name: parameter_at(mesh, rows, x, value) for name, value in law.parameters.items()}

    # The state.

    def zeros(self) -> Any:
        """A state of zeros."""
        return {name: self.backend.zeros(shape) for name, shape in self.unknowns.items()}

    def state(self, arrays: Any) -> Any:
        """A new state on the backend with a copy of plain arrays, of the host or the backend."""
        return {name: self.backend.copied(arrays[name]) for name in self.unknowns}

    def plain(self, state: Any) -> Any:
        """A copy of the state as plain arrays on the backend."""
        return self.state(state)

    def host(self, state: Any) -> Any:
        """The state as plain arrays on the host."""
        return {name: self.backend.host(array) for name, array in state.items()}

    def copy(self, state: Any, target: Any) -> None:
        """Copy the values of `state` into the state `target`."""
        for name, array in state.items():
            target[name][...] = array

    def put(self, state: Any, arrays: Any) -> None:
        """Set a state to the values of plain arrays."""
        self.copy(self.state(arrays), state)

    def checked(self, arrays: Any) -> Any:
        """Check and return plain arrays of a user. Raises ValueError for names, shapes or dtypes that no state has."""
        if self.one:
            check_array(arrays, self.unknowns["q"], "the state", "(variable, node, element) = ")
            return arrays
        if not isinstance(arrays, dict) or set(arrays) != set(self.unknowns):
            got = ", ".join(map(str, arrays)) if isinstance(arrays, dict) else type(arrays).__name__
            raise ValueError(f"the state is {got}; it must be a dict of the arrays {', '.join(self.unknowns)}")
        for name, shape in self.unknowns.items():
            check_array(arrays[name], shape, f"{name} of the state", "")
        return arrays

    # The state in a checkpoint. Of several processes each saves its share, and reads what it needs.

    def saved_as(self, name: str) -> str:
        """The name that one of the plain arrays of a state has in a checkpoint."""
        return "q" if self.one else f"state/{name}"

    def saved(self, state: Any) -> dict[str, np.ndarray]:
        """The state as {name: array of the host}, for a checkpoint."""
        return {self.saved_as(name): array for name, array in zip(self.unknowns, self.as_list(self.host(state)))}

    @property
    def saved_from(self) -> dict[str, tuple[int, int]]:
        """{name in a checkpoint: (axis of the elements or rows, where this process' share begins along it)}, of several."""
        return {}

    @property
    def wanted(self) -> dict[str, tuple[int, np.ndarray]] | None:
        """{name in a checkpoint: (axis, numbers of the entries along it that this process needs)}; None: all of everything."""
        return None

    def restored(self, arrays: Any) -> Any:
        """The plain arrays of a state, or what stands for them, from the arrays of a checkpoint: the inverse of `saved`."""
        return self.from_list([arrays[self.saved_as(name)] for name in self.unknowns])

    def as_list(self, arrays: Any) -> list:
        """The plain arrays of a state as a list, in the order of `unknowns`."""
        return [arrays] if self.one else [arrays[name] for name in self.unknowns]

    def from_list(self, parts: Sequence[Any]) -> Any:
        """The plain arrays of a state from a list of them: the inverse of `as_list`."""
        return parts[0] if self.one else dict(zip(self.unknowns, parts))

    def in_zones(self, arrays: Any) -> list[tuple[str | None, Operator, Any, Any]]:
        """[(name of a zone, its operator, its part of plain arrays on the host, which of its places are this process's own,
        (place,))]: here one, None for its name, and None where all places are."""
        return [(None, self, arrays, None)]

    # What is asked of all places. On several ranks each answers for its own, and the answers are put together.

    @property
    def here(self) -> Operator:
        """The operator whose places this process has: itself."""
        return self

    def numbers_of(self, places: np.ndarray) -> np.ndarray:
        """The numbers in the whole problem of places of `here`."""
        return places

    def number_here(self, places: np.ndarray) -> np.ndarray:
        """The numbers in `here` of places of the whole problem, -1 for those of other processes."""
        return places

    def gathered(self, arrays: Any) -> Any:
        """Plain arrays of the whole problem, for all processes, from those of `here`."""
        return arrays

    def summed(self, found: dict) -> dict:
        """{name: value} with the sums of what all processes have found."""
        return found

    def everyones(self, found: Any) -> list:
        """The list of what the processes have found, one entry each."""
        return [found]

    def initial(self, f: Callable) -> Any:
        """The initial state f(x, 0), to be put into a state or to be asked about: plain arrays, or what stands for them."""
        return self.project(f)

    def restricted(self, arrays: Any) -> Any:
        """Plain arrays of `here` from what `arrays` gives."""
        return arrays

    def of_here(self, arrays: Any) -> Any:
        """What `arrays` gives, from plain arrays of `here`."""
        return arrays

    def arrays(self, state: Any) -> Any:
        """The state on the host, to be asked about only: plain arrays, or what stands for them."""
        return self.host(state)

    def digest(self, arrays: Any) -> str:
        """Eight digits that tell what `initial` gives apart."""
        return digest(self.as_list(arrays))

    def error(self, state: Any, exact: Callable, t: float) -> np.ndarray:
        """L2 norm of the difference from exact(x, t) of each variable, (variable,)."""
        return self.space.error(self.fetch(state).result(), exact, t)

    def project(self, f: Callable, t: float = 0.0) -> Any:
        """The state that represents f(x, t), as plain arrays on the host; f returns a tuple with one component per variable."""
        raise TypeError(f"{type(self).__name__} has no function project(f, t)")

    # A step.

    def largest_step(self, state: Any, t: float) -> float:
        """The largest stable time step at the state."""
        raise TypeError(f"{type(self).__name__} has no function largest_step(state, t)")

    def waves_step(self, state: Any, t: float) -> float | None:
        """About the largest step that waves alone would allow, to say what makes it shorter; None where it is not known."""
        return None

    def advance(self, state: Any, t: float, dt: float) -> Any:
        """The state one step later. The step may overwrite the arrays of `state`, and may return them."""
        raise TypeError(f"{type(self).__name__} has no function advance(state, t, dt)")

    def advance_checked(self, state: Any, t: float, dt: float) -> tuple[Any, Check | None]:
        """(The state one step later, its `Check`), None for the check if the step does not compute it anyway; see `advance`.

        A run hands a check that is not None to the next `largest_step` as `check=`."""
        return self.advance(state, t, dt), None

    def stages(self, state: Any, t: float, dt: float) -> Iterator[tuple[float, Any]]:
        """Yield (time, state) after each stage of one step, to find the stage that fails; the last state is the new one."""
        yield t + dt, self.advance(state, t, dt)

    @property
    def stage_count(self) -> int:
        """Number of stages in a step."""
        return 1

    def step_operations(self, state: Any) -> list[list[Operation]]:
        """The operations of one step, a list of `dgarray.methods.operation.Operation` for each stage; by default one that
        advances."""
        return [[Operation("step", lambda: self.advance(state, 0.0, 1.0), reads=tuple(self.unknowns),
                           writes={name: array.nbytes for name, array in state.items()})]]

    def step_text(self) -> str:
        """One step as text: the operations of each stage in their order, alike stages once."""
        texts = ["\n".join(listed(found)) for found in self.step_operations(self.zeros())]
        lines = []
        for text, group in groupby(enumerate(texts, 1), lambda pair: pair[1]):
            numbers = [number for number, _ in group]
            which = f"stages {numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"stage {numbers[0]}"
            lines += [f"{which} of {len(texts)}", text, ""]
        return "\n".join(lines[:-1])

    def forget_waiting(self) -> None:
        """Count the time that ranks wait for one another from now on."""

    def forget(self) -> None:
        """Discard what the operator keeps from step to step besides the state; called when the state has been replaced."""

    def rhs(self, state: Any, t: float) -> Any:
        """The right-hand side dq/dt. Raises ValueError for a method whose step does not use one."""
        raise ValueError(f"{self.method!r} has no right-hand side: it makes whole steps; use steps() or run()")

    # Checks of a state.

    def check(self, state: Any, t: float) -> Check:
        """The `Check` of a state; by default whether all of it is finite."""
        return Check(all(self.backend.finite(array) for array in state.values()))

    def not_finite(self, arrays: Any) -> np.ndarray:
        """Positions of values that are not finite in plain arrays on the host: (value, 3), each (place, number of the variable,
        row)."""
        names = list(self.law.variables)
        found = [np.column_stack([self.places(name, np.argwhere(~np.isfinite(array))),
                                  np.full(np.sum(~np.isfinite(array)), names.index(name) if name in names else 0),
                                  np.zeros(np.sum(~np.isfinite(array)), int)]) for name, array in arrays.items()]
        return np.concatenate([np.empty((0, 3), int), *found])

    def places(self, name: str, index: np.ndarray) -> np.ndarray:
        """Number of the place of `space` nearest to each of some entries of the array `name`, (entry,).

        index: (entry, axis) indices of the entries"""
        return np.zeros(len(index), int)

    def not_admissible(self, arrays: Any, t: float) -> np.ndarray:
        """Positions where the law does not admit the values, as those of `not_finite`; by default none."""
        return np.empty((0, 3), int)

    def state_at(self, arrays: Any, place: int, row: int) -> tuple[np.ndarray, Sequence[float]]:
        """(values of the law's variables (variable,), position) of plain arrays on the host at one of the positions that
        `not_admissible` returns; by default those of `nodal` and the place's centre."""
        return self.nodal(arrays)[:, row, place], self.space.mesh.centre(place)

    def not_admitted(self, f: Callable) -> str:
        """Where the law does not admit the initial state f(x, 0) at the points at which `project` evaluates it, as text; "":
        nowhere, the default."""
        return ""

    def change(self, state: Any, before: Any) -> np.ndarray:
        """Largest change since the state `before` and largest absolute value of each variable, (2, variable).

        A run that stops at a steady state compares the two."""
        now, then = (self.nodal(self.host(each))[:, 0] for each in (state, before))
        return np.array([np.abs(now - then).max(axis=1), np.abs(now).max(axis=1)])

    def error_estimate(self, loop: Any) -> dict[str, float] | None:
        """Estimated errors at the end of a run, {"time": error, "space": error}; None: there is no estimate."""

    def report(self) -> dict[str, Any]:
        """{name: value} that the report of a run holds of this method alone."""
        return {}

    # Values for output and recorders.

    def nodal(self, arrays: Any) -> np.ndarray:
        """Values for output, (variable, row, place), from plain arrays on the host."""
        raise TypeError(f"{type(self).__name__} has no function nodal(arrays)")

    def internal(self, arrays: Any) -> np.ndarray | None:
        """Values of the law's internal variables for output, shaped as those of `nodal`; None: there are none."""

    def conserved(self, values: np.ndarray) -> Any:
        """The conserved integrals (variable,) of polynomials p that stand for C q, and those of p q, from values as `nodal`
        returns them. None, the default: the integrals of C q and of the energy."""

    def fetch(self, state: Any) -> Any:
        """Start copying the values of `nodal` to the host. The object returned has ready(), whether the copy is complete, and
        result(), which waits for it and returns the values."""
        return Fetched(self.nodal(self.host(state)))

    def snapshot(self, arrays: Any) -> Any:
        """The values for a run's dataset, from plain arrays on the host: those of `nodal`, or {zone: values} if the method has
        `zones`."""
        return self.nodal(arrays)

    def fetch_snapshot(self, state: Any) -> Any:
        """Start copying the values of `snapshot` to the host: see `fetch`."""
        return self.fetch(state)

    def take(self, state: Any, places: np.ndarray) -> np.ndarray:
        """The values of `nodal` at some places, (variable, row, place of `places`), on the host."""
        return self.nodal(self.host(state))[:, :, places]


def digest(arrays):
    """Eight digits that tell lists of arrays apart, from any iterable of arrays."""
    found = sha256()
    for array in arrays:
        found.update(memoryview(np.ascontiguousarray(array)).cast("B") if array.size else b"")
    return found.hexdigest()[:8]


def check_array(array, shape, what, meaning):
    """Raise ValueError unless an array has this shape and real numbers; what, meaning: the array and its axes, for messages."""
    found = getattr(array, "shape", np.shape(array))
    if found != shape:
        raise ValueError(f"{what} has the shape {found}; it must be {meaning}{shape}")
    if getattr(array, "dtype", np.dtype(float)).kind not in "fiu":
        raise ValueError(f"{what} has the dtype {array.dtype}; it must be real numbers")
