"""The steps of finite volumes backwards: the transposed programs of sweeps, of sources, and of stages of Runge and Kutta."""
import numpy as np

from ...backends.arrays import ArrayBackend
from ...methods.finite_volume.sweeps import Sweeps
from ...methods.stage_update import kind_of
from ...physics.laws.law import argument
from ...program.transpose import NotDifferentiable, adjoint
from .reverse_steps import ReverseSteps
from .state_views import ViewOfGrid


class ReverseSweeps(ReverseSteps):
    """The adjoint of the steps of finite volumes; it offers what `ReverseSteps` does.

    sweeps     the `Sweeps` by array expressions in float64, whose programs these are
    adjoint    {"": derivatives by the state (variable, 1, cell)};  found: {parameter: (cell,)}"""

    reads_stages = False

    def __init__(self, operator, parameters):
        self.operator, self.tables, self.views = operator, operator.tables, ViewOfGrid(operator)
        self.sweeps = Sweeps(ArrayBackend(np, "float64", "numpy", operator.backend.threads), operator.tables)
        self.found = {name: np.zeros(self.views.count) for name in parameters}
        self.adjoint = {"": np.zeros((len(operator.law.variables), 1, self.views.count))}
        self.programs, self.constants, self.copies = {}, {}, None
        self.needs_states = any(self.reads_state(*each) for each in self.programs_of_step())

    def programs_of_step(self):
        """(name, options) of each program of a step."""
        tables, axes = self.tables, range(self.tables.dim)
        if tables.split:
            return [*(("sweep", axis) for axis in axes), *[("sources",)] * bool(tables.physics.sources)]
        return [*(("tendency", axis) for axis in axes[:-1]), *(("stage", kind_of(row)) for row in self.operator.stepper.stages)]

    def transposed(self, name, *options):
        """The `Interpreter` of the adjoint of a program, by its inputs and by the parameters."""
        if (name, *options) not in self.programs:
            program = self.sweeps.program(name, *options)
            wanted = {"q", "r", "k", "q0", *(f"m.{each}" for each in self.found)} & program.inputs().keys()
            self.programs[name, *options] = self.sweeps.backend.interpreter(adjoint(program, wanted), self.constants)
        return self.programs[name, *options]

    def reads_state(self, name, *options):
        """Whether the adjoint of a program depends on the state."""
        program = self.transposed(name, *options).program
        return any(program.values[read.value].name == "q" for operation in program.operations for read in operation.reads)

    def step(self, state, t, dt):
        """Go back over the step of the length dt from t; state: before it, as of `ReverseSteps.step`."""
        b, parts = self.adjoint[""].reshape(self.tables.shape), self.sweeps.parts_of_step(t, dt) if self.tables.split else []
        count = len(parts) or self.operator.stage_count
        inputs = [np.zeros(self.tables.shape)] * count          # which do not matter
        if self.needs_states:
            start = self.host(state)
            inputs = [start, *(self.host(new) for _, new in self.operator.stages(self.operator.state(start), t, dt))][:-1]
        if self.tables.split:
            for q, (name, axis, time, length) in reversed(list(zip(inputs, parts))):
                if name == "sweep" or self.tables.physics.sources:
                    options = (axis,) if name == "sweep" else ()
                    b = self.back(name, options, axis, q, {"out": b}, {"t": time, "dt": length})["q"]
        else:
            b = self.through_stages([{"": q} for q in inputs], {"": b}, t, dt)[""]
        self.adjoint = {"": b.reshape(self.adjoint[""].shape)}

    def host(self, state):
        """A copy of a state in float64 on the host: steps change the arrays that they are given."""
        return np.array(self.operator.host(state), float)

    def pulled(self, output, q, adjoints, numbers, name, *options, k=None):
        """As of `ReverseSteps`, of a stage: first of its end along the last axis, then of the tendencies along the others."""
        given = {output: adjoints[""], "k": np.broadcast_to((k or {}).get("", 0.0), self.tables.shape)}
        last, numbers = self.tables.dim - 1, numbers | {"dt": 0.0}
        found = self.back(name, options, last, q[""], given, numbers)
        for axis in reversed(range(last)):
            more = self.back("tendency", (axis,), axis, q[""], {"r": found.pop("r")}, numbers)
            found["q"] += more["q"]
            found |= {"r": more["r"]} if "r" in more else {}
        return {what: {"": values} for what, values in found.items()}

    def back(self, name, options, axis, q, adjoints, numbers):
        """{input: adjoint} of a program on pencils along an axis, arrays (variable, z, y, x), from {output: adjoint}; those by
        parameters are added to `found`."""
        interpreter, sweeps, h = self.transposed(name, *options), self.sweeps, self.tables.grid.spacing[axis]
        given = sweeps.along(axis, q) | numbers | {"dt / h": numbers["dt"] / h, "1 / h": 1.0 / h}
        given |= {f"adjoint of {output}": sweeps.pencils(axis, values) for output, values in adjoints.items()}
        given |= dict.fromkeys(("r", "k", "q0"), given["q"])          # in which a stage is linear
        program, result = interpreter.program, {}
        found = interpreter.run({each: given[each] for each in (*program.inputs(), *program.inputs("number"))})
        for output, pencils in found.items():
            what = output.removeprefix("adjoint of ")
            values = np.empty(self.tables.shape[what.startswith("m."):])
            sweeps.pencils(axis, values)[...] = pencils
            if what.startswith("m."):
                self.found[what[2:]] += values.ravel()
            else:
                result[what] = values
        return result


def check_sweeps(operator, by_cell):
    """Raise NotDifferentiable for what a step of finite volumes does that has no derivative; by_cell: the parameters of which
    there are derivatives by each cell."""
    method, operations = operator.method, operator.operations
    if method.scheme == "muscl" and method.limiter is not None:
        raise NotDifferentiable(f"limiter={method.limiter!r} has a kink where a slope changes its sign, and no derivative "
                                f"there: {method!r}; take limiter=None, scheme='weno' or scheme='first-order'")
    for name in by_cell if method.scheme == "weno" else ():
        if any((np.diff(operator.tables.parameters[name], axis=axis) == 0).any() for axis in range(operator.mesh.dim)):
            raise NotDifferentiable("scheme='weno' takes the largest wave speed of six cells, which has no derivative by each "
                                    f"of them where {argument(operator.law, name)} is the same in cells side by side; take "
                                    "'number', scheme='muscl' with limiter=None, or 'first-order'")
    if operations.replaced or operations.warmed:
        raise NotDifferentiable(f"fluxes of first order took the place of {operations.replaced} others in this run, as states "
                                "were not admissible: that choice has no derivative; take more cells, or scheme='first-order'")
