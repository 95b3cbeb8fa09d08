"""The steps of Hermite's method backwards: transposed programs of half-steps and sponges."""
import numpy as np

from ...backends.arrays import ArrayBackend
from ...methods.hermite import half_step_program
from ...methods.hermite.half_steps import HalfSteps
from ...program.transpose import adjoint
from .state_views import ViewOfGrid


class ReverseHalfSteps:
    """The adjoint of the steps of Hermite's method; it offers what `ReverseSteps` does.

    half_steps   the `HalfSteps` by array expressions in float64, whose programs these are
    adjoint      {"": derivatives by the state (variable, coefficient, node)}
    found        {parameter: (1,)} those by what is added to it everywhere

    Half-steps are linear: states matter for derivatives by parameters alone. A coefficient of the law is a power series about
    each node, s; its derivatives ds / dm by a parameter m are, too, and dJ / dm = sum dJ / ds . ds / dm."""

    reads_stages = False

    def __init__(self, operator, parameters):
        self.operator, self.tables, self.views = operator, operator.tables, ViewOfGrid(operator)
        self.half_steps = HalfSteps(ArrayBackend(np, "float64", "numpy", operator.backend.threads), operator.tables)
        self.found, self.needs_states = {name: np.zeros(1) for name in parameters}, bool(parameters)
        self.adjoint, self.programs, self.slopes = {"": np.zeros(operator.shape)}, {}, {}

    @property
    def by_parameters(self):
        """{parameter: (1,)} the derivatives."""
        return self.found

    def add(self, prefix, numbers, values):
        """Add to the derivatives by the state: values (variable, coefficient, node) of the nodes with these numbers."""
        np.add.at(self.adjoint[prefix], (slice(None), slice(None), numbers), values)

    def step(self, state, t, dt):
        """Go back over the step of the length dt from t; state: before it, for derivatives by parameters."""
        states = None, None
        if self.needs_states:
            start = np.array(self.operator.host(state), float)
            _, middle = next(self.operator.stages(self.operator.state(start), t, dt))
            states = start, np.array(self.operator.host(middle), float)
        b = self.undamped(self.adjoint[""], dt)
        for half in (1, 0):
            b = self.back(half, states[half], b, dt / 2)
        self.adjoint = {"": b}

    def undamped(self, b, dt):
        """The derivatives by the state before the sponges damp it."""
        b = np.array(b).reshape(*b.shape[:2], *self.tables.grid.shape)
        for number, (axis, factors) in reversed(list(enumerate(self.tables.damping(dt)))):
            near = self.tables.near[number]
            layer = b[(..., near, *[slice(None)] * axis)]
            flat = np.ascontiguousarray(layer).reshape(*b.shape[:2], -1)
            program = self.transposed("sponge", number)
            found = program.run({"q": flat, "adjoint of out": flat, "exp(-sigma dt)": factors[:, None, near]})
            layer[...] = found["adjoint of q"].reshape(layer.shape)
        return b.reshape(self.adjoint[""].shape)

    def back(self, half, q, b, tau):
        """The derivatives by the state before a half-step; those by parameters are added to `found`."""
        interpreter = self.transposed("half_step", half)
        given = {"q": b if q is None else q, "adjoint of out": b, "tau": tau}          # a half-step is linear in q
        if self.collapsed:
            maps = self.half_steps.maps(tau)
            given |= maps | {f"transposed {name}": matrix.T for name, matrix in maps.items()}
        program = interpreter.program
        found = interpreter.run({name: given[name] for name in (*program.inputs(), *program.inputs("number"))})
        for name, slopes in self.slopes.get(half, {}).items():
            for parameter, values in slopes.items():
                self.found[parameter] += np.sum(found[f"adjoint of {name}"] * values)
        return found["adjoint of q"]

    @property
    def collapsed(self):
        """Whether one matrix along each axis makes a half-step."""
        return self.half_steps.collapsed and not self.found

    def transposed(self, name, number):
        """The `Interpreter` of the adjoint of a program: of a half-step also by the coefficients that depend on parameters."""
        if (name, number) not in self.programs:
            if name == "half_step" and not self.collapsed:
                program, self.slopes[number] = half_step_program.differentiated(self.tables, number, tuple(self.found))
            else:
                program = self.half_steps.program(name, number, *[True] * (name == "half_step"))
            wanted = {"q", *(self.slopes.get(number, {}) if name == "half_step" else ())}
            self.programs[name, number] = self.half_steps.backend.interpreter(adjoint(program, wanted), {})
        return self.programs[name, number]
