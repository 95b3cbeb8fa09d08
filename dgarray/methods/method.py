"""The base class of numerical methods: what a simulation requires of a method."""
from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

from numpy import inf

from ..physics.capacity import check_factors
from ..physics.laws.law import shown
from ..spaces import GridSpace
from ..stepping import Stage
from ..support.html_table import table
from ..support.keywords import Keywords
from .problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..mesh.grid import Grid
    from ..mesh.mesh import Mesh
    from ..physics.laws.law import Law
    from .operator import Operator

ROWS = 16          # cells along the last axis that a part of a grid has at least


class OwnSteps:
    """The stepper of a method that makes its own time step: one stage, and no choice."""

    name, order, stages = "own", inf, (Stage(),)


class Method(Keywords):
    """A numerical method. A method of your own, a frozen dataclass of its options, has

    check(problem)               raise ValueError or TypeError where it cannot solve the `Problem`; see `Problem.needs`
    operator(problem, backend)   the `Operator` of a problem on a backend

    and may have

    order     of the method, for reports;  order_gain: by how much its error is of higher order, 1 for polynomials
    stepper(name)                the time stepper with that name, for None the default; see `dgarray.stepping`
    has_flux  whether it takes a numerical flux
    strict    True: a step above the largest stable one is an error; False: it is a warning
    space(problem)               the function space of the output, see `dgarray.spaces`
    derivatives                  whether output also holds the scaled derivatives of a `GridSpace`
    by_region                    whether laws may be given by region
    has_products                 whether laws may have nonconservative products
    zones(problem)               {name: (method, problem)} of parts of the mesh with output of their own; {}: one for all
    at_shocks                    what to do where a shock makes states that are not admissible, for messages; "": nothing
    needs                        what an element needs of a mesh that is cut into parts: "faces" or "vertices", see
                                 `dgarray.mesh.partition.partition`
    costs(problem)               what an element costs beside others, (element,), where it runs in several processes
    halo(problem)                on a grid: how many rows of nodes or cells beside its own a part of the grid needs, so that one
                                 step of its own rows is that of the whole grid; rows are counted along the last axis
    A method with neither `needs` nor `halo` runs in one process."""

    order_gain, has_flux, derivatives, by_region, programs = 1, False, False, False, False
    # Any: a method may have a field or a property of that name.
    order: Any = 1
    strict: Any = False
    has_products: Any = False
    needs: Any = None
    halo: Any = None
    at_shocks: Any = ""

    def _repr_html_(self):
        """The method as a table of its options for notebooks."""
        options = [(field.name, getattr(self, field.name)) for field in fields(self)] if is_dataclass(self) else []
        return table(type(self).__name__, [("call", repr(self)), *((name, shown(value)) for name, value in options)])

    @property
    def highest_order(self) -> int:
        """The order, the highest one where it differs by region; for reports."""
        return self.order

    def check(self, problem: Problem) -> None:
        """Raise ValueError or TypeError where this method cannot solve the problem, before anything is computed."""

    def check_law(self, law: Law) -> None:
        """Raise ValueError for laws by region, internal variables, capacities that are matrices, or nonconservative products,
        that this method does not take."""
        if law.laws is not None and not self.by_region:
            raise ValueError(f"law={law.laws!r}: {type(self).__name__} takes one law; NodalDG, ModalDG and TensorDG "
                             "take laws by region, and parameters may be given by region, too")
        if (law.dispersive or law.internal is not None) and not self.by_region:
            raise ValueError(f"{law!r} is dispersive or has internal variables, which {type(self).__name__} does not take; "
                             "NodalDG, ModalDG and TensorDG do")
        if not self.by_region:
            check_factors(law, type(self).__name__)
        if law.products is not None and not self.has_products:
            split = "ranocha" if law.ranocha else "kennedy_gruber" if law.kennedy_gruber else "central"
            raise ValueError(f"{law!r} has nonconservative products, which {self!r} does not take; give "
                             f"TensorDG(order, nodes='lobatto', volume_flux=dgarray.{split}), FiniteVolume('muscl') on a grid, "
                             "or a law without them")

    def operator(self, problem: Problem, backend: Any) -> Operator:
        """The discretised problem on a backend, an `Operator`."""
        raise TypeError(f"{type(self).__name__} has no function operator(problem, backend), which makes its Operator")

    def space(self, problem: Problem) -> Any:
        """The function space of the output; by default values at the nodes of a grid."""
        return GridSpace(problem.mesh)

    def zones(self, problem: Problem) -> dict[str, tuple[Method, Problem]]:
        """Parts of the mesh whose output is a dataset each, {name: (method, problem)}; {}: one dataset holds all."""
        return {}

    def stepper(self, name: str | None) -> Any:
        """The time stepper with that name; here the method's own step. Raises ValueError for any other name."""
        if name not in (None, OwnSteps.name):
            raise ValueError(f"stepper={name!r} is not allowed for {type(self).__name__}, which has its own step; leave it out")
        return OwnSteps

    def discretise(self, mesh: Mesh | Grid, law: Law, boundary: Any, backend: Any, flux: Callable | None = None,
                   source: Callable | None = None, stepper: Any = None) -> Any:
        """Check a problem and discretise it on a backend: its `Operator`.

        The arguments are those of `dgarray.Simulation`; stepper: its name, or the stepper itself.
        Raises ValueError or TypeError for arguments that do not fit together."""
        problem = Problem(mesh, law, boundary, flux, source)
        self.check_law(law)
        self.check(problem)
        return self.discretised(problem, backend, stepper)

    def discretised(self, problem: Problem, backend: Any, stepper: Any = None) -> Any:
        """The `Operator` of a problem that has been checked; stepper: as of `discretise`."""
        operator = self.operator(problem, backend)
        operator.method = operator.method or self
        operator.stepper = stepper if hasattr(stepper, "stages") else self.stepper(stepper)
        return operator

    # Memory is measured on parts of a problem, see `dgarray.run.measured_memory`.

    def unknowns_of_place(self, problem: Problem) -> tuple[int, int]:
        """The least and the largest number of unknowns of a variable at a place; by default one value."""
        return 1, 1

    def sizes(self, problem: Problem) -> dict[str, int]:
        """{part: number of its places} of the parts of a problem with which the parts of `Operator.holdings` grow."""
        mesh = problem.mesh
        return {"": prod(mesh.nodes) if mesh.structured else mesh.cell_count}

    def part(self, problem: Problem, places: int) -> Problem:
        """A part of a problem, alike in all that takes memory, with about so many places, or all if there are no more: on a
        grid the same box with fewer cells along the last axis; by default on a mesh the problem itself."""
        mesh = problem.mesh
        if not mesh.structured:
            return problem
        cells = min(mesh.cells[-1], max(ROWS, round(places * mesh.cells[-1] / prod(mesh.nodes))))
        return replace(problem, mesh=replace(mesh, cells=(*mesh.cells[:-1], cells)))
