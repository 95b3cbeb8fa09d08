"""What a numerical method is: the base class that says what a simulation asks of it."""
from numpy import inf

from ..spaces import GridSpace
from ..stepping import Stage
from .memory import Plan, plan_of_arrays
from .problem import Problem


class OwnSteps:
    """The time step of a method that has no stepper to choose."""

    name, order, stages = "own", inf, (Stage(),)


class Method:
    """A numerical method. A method of your own, a frozen dataclass of its options, has

    check(problem)               raise ValueError or TypeError where it cannot solve the `Problem`; see `Problem.needs`
    operator(problem, backend)   the `Operator` of a problem on a backend

    and may have

    order     of the method, for reports
    stepper(name)                the time stepper of a name, None the default one; see `dgarray.stepping`
    has_flux  whether it takes a numerical flux
    strict    whether a step above the largest stable one is refused, not warned about
    space(problem)               where the values of the output lie, see `dgarray.spaces`
    derivatives                  whether output holds the scaled derivatives of a `GridSpace` too"""

    order, has_flux, strict, derivatives = 1, False, False, False

    def check(self, problem):
        """Raise ValueError or TypeError where this method cannot solve the problem, before anything is computed."""

    def operator(self, problem, backend):
        """The discretised problem on a backend."""
        raise NotImplementedError(f"{type(self).__name__} has no function operator(problem, backend), which makes its Operator")

    def space(self, problem):
        """The function space of the output; by default values at the nodes of a grid."""
        return GridSpace(problem.mesh)

    def stepper(self, name):
        """The time stepper of that name. Raises ValueError where the method has its own step."""
        if name not in (None, OwnSteps.name):
            raise ValueError(f"stepper={name!r} is not allowed for {type(self).__name__}, which has its own step; leave it out")
        return OwnSteps

    def kernels(self, backend, law=None):
        """What computes on a backend, "fused" kernels or "array" expressions."""
        return "array"

    def discretise(self, mesh, law, boundary, backend, flux=None, source=None, stepper=None):
        """The checked problem on a backend, an `Operator`; arguments as of `dgarray.Simulation`, stepper: its name or itself.

        Raises ValueError or TypeError where they do not fit."""
        problem = Problem(mesh, law, boundary, flux, source)
        self.check(problem)
        operator = self.operator(problem, backend)
        operator.method = self
        operator.stepper = stepper if hasattr(stepper, "stages") else self.stepper(stepper)
        return operator

    def memory(self, problem, backend, stepper) -> Plan:
        """What a run allocates and when; by default from the arrays of the operator and its unknowns."""
        operator = self.operator(problem, backend)
        operator.method = self
        return plan_of_arrays(operator)
