"""The base class of the discontinuous Galerkin methods, and the checks of a problem that they share."""
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from ...mesh.errors import TO_SPLIT
from ...mesh.faces import Inner
from ...mesh.files.store import CURVED
from ...mesh.refine.hanging import joined
from ...physics.declared import declared
from ...physics.fluxes import upwind
from ...physics.laws.law import shown
from ...reference import NAMED_SHAPES
from ...spaces import MixedSpace, polynomial_space
from ...stepping import STEPPERS
from ...support.wording import choose
from ..method import Method
from ..problem import Problem
from .auxiliary_sets import has_internal
from .boundary_setup import boundary_groups, by_mortars, check_regions, face_values
from .interfaces import check_interfaces, conditions_inside
from .joins import JOINS
from .layer_checks import check_layers
from .limiters.tables import LIMITERS
from .mortar_forms import takes_energy
from .operator import DGOperator
from .physics import Physics
from .set_operations import CurvedOperations, SetOperations
from .sets import ElementSet, bent, cut_out, set_joins, sets_of, uneven_sets
from .spectrum import limiting_part
from .stability import check_stepper

SIMPLICES = tuple(name for name, shape in NAMED_SHAPES.items() if shape.simplex)
STRONG = tuple(name for name, shape in NAMED_SHAPES.items() if not shape.tensor)          # with dense matrices, in NodalDG
DEGREES = 50          # the highest degree of the quadrature rules on triangles


class DG(Method):
    """The base class of the discontinuous Galerkin methods.

    order    a whole number, or {region: number}: then each region is an element set with kernels and output of its own;
             "default" stands for all other regions
    recipe   the operations, as `ArrayBackend.operations` takes them

    A method has check_set(problem, uneven) and tables(problem) for elements that are alike; uneven: whether some of them meet
    others at faces with other points.

    shapes   names of the shapes of cells that it works on"""

    programs = True
    has_flux, start, quadrature, recipe, by_region = True, "projection", None, SetOperations, True

    @property
    def orders(self) -> Any:
        """The orders of all sets."""
        return list(self.order.values()) if isinstance(self.order, dict) else [self.order]

    @property
    def highest_order(self) -> int:
        return max(self.orders)

    @property
    def nodal_order(self) -> Any:
        """The highest degree of the nodal polynomials that the output holds."""
        return max(self.highest_order, 1)

    def space(self, problem: Problem) -> Any:
        spaces = [self.of_set(block.cell_shape, self.highest_order).space_of_set(replace(problem, mesh=block))
                  for block in problem.mesh.blocks]
        return spaces[0] if len(spaces) == 1 else MixedSpace(problem.mesh, spaces)

    def space_of_set(self, problem: Problem) -> Any:
        """The function space of the output of elements that are alike."""
        return polynomial_space(problem.mesh, self.nodal_order)

    def stepper(self, name: str | None) -> Any:
        """The time stepper with that name, by default lsrk54.

        Raises ValueError for an unknown name, and for a stepper that has no stable step at this order."""
        stepper = STEPPERS[choose("stepper", name or "lsrk54", STEPPERS)]
        for order in self.orders:
            check_stepper(order, stepper)
        return stepper

    def in_sets(self, problem: Problem) -> bool:
        """Whether elements differ from one another, in shape, order, law or in whether they are curved, or have internal
        variables; or an interface has a condition."""
        mesh = problem.mesh.whole
        return (isinstance(self.order, dict) or problem.law.laws is not None or len(mesh.blocks) > 1
                or len(np.unique(bent(mesh))) > 1 or has_internal(mesh, problem.law)
                or bool(conditions_inside(mesh, problem.boundary)))

    def of_set(self, shape: Any, order: Any) -> Any:
        """The method on elements of one `Shape` and order."""
        return replace(self, order=order)

    def zones(self, problem: Problem) -> dict[str, tuple[Method, Problem]]:
        zones = {}
        for each in self.sets(problem):
            zones.setdefault(each.zone, []).append(each)
        zones.pop(None, None)
        return {name: (sets[0].method, replace(sets[0].problem, mesh=problem.mesh.part(np.sort(np.concatenate(
            [each.cells for each in sets])), Inner.JOIN))) for name, sets in zones.items()}

    def check(self, problem: Problem) -> None:
        """Raise ValueError or TypeError where mesh, law, boundary, flux and source do not fit, before anything is computed."""
        check_mesh(problem, self.shapes)
        if not self.in_sets(problem):
            check_regions(problem.mesh.whole, problem.law)
            self.alone(problem).check_set(problem)
            return
        sets = sets_of(self, problem)
        for each, uneven in zip(sets, uneven_sets(problem, sets)):
            each.method.check_set(each.problem, uneven)
            check_internal(each)
        check_interfaces(self, problem)
        check_layers(problem)

    def operations(self, tables: Any) -> Any:
        """The recipe for these tables."""
        return CurvedOperations if tables.geometry.curved else self.recipe

    def operator(self, problem: Problem, backend: Any) -> DGOperator:
        """The `DGOperator` of a problem on a backend."""
        return DGOperator(problem, self, self.sets(problem), backend)

    def sets(self, problem: Problem) -> list[ElementSet]:
        """The `ElementSet`s of a problem: one without a name where all elements are alike."""
        if self.in_sets(problem):
            return sets_of(self, problem)
        cells, hanging = np.arange(problem.mesh.cell_count), len(problem.mesh.whole.hanging) > 0
        return [ElementSet(None, None, cells, self.alone(problem), problem, hanging, None)]

    @property
    def needs(self) -> str:
        return "vertices" if self.limiting.limiter else "faces"

    def costs(self, problem: Problem) -> np.ndarray:
        """Relative cost of a stage of each element, (element,): its unknowns, those of internal variables included, times
        `CURVED` where it is curved."""
        costs = np.empty(problem.mesh.cell_count)
        for each in sets_of(self, problem):
            law = each.problem.law
            variables = len(law.variables) + (0 if law.internal is None else len(law.internal.names))
            unknowns = variables * each.problem.mesh.cell_shape.node_count(each.method.order)
            costs[each.cells] = unknowns * (CURVED if bent(each.problem.mesh).any() else 1)
        return costs

    @property
    def at_shocks(self) -> str:
        if self.limiting.limiter or self.limiting.positivity or getattr(self, "shock_capturing", None):
            return ""
        name, order = type(self).__name__, max(1, self.highest_order)
        return f"where there are shocks take a limiter: {name}({order}, limiter='vertex', indicator='kxrcf', positivity=True)"

    def alone(self, problem: Problem) -> Any:
        """The method where all elements are alike."""
        return self.of_set(problem.mesh.cell_shape, self.order)

    # Memory, see `Method`.

    def unknowns_of_place(self, problem: Problem) -> tuple[int, int]:
        counts = [block.cell_shape.node_count(order) for block in problem.mesh.blocks for order in self.orders]
        return min(counts), max(counts)

    def sizes(self, problem: Problem) -> dict[str, int]:
        """The numbers of elements of the sets, and of faces at joins."""
        if not self.in_sets(problem):
            return super().sizes(problem)
        sets = sets_of(self, problem)
        faces = sum(len(join.left) for join in set_joins(problem, sets))
        return {each.name: len(each.cells) for each in sets} | {JOINS: faces}

    def part(self, problem: Problem, places: int) -> Problem:
        """Some elements with layers of their neighbours, and a zero exterior state where they are cut out."""
        mesh = problem.mesh
        if mesh.share is not None:
            return problem
        cells = np.arange(mesh.cell_count)
        if places < len(cells):
            cells = limiting_part(mesh, self.first_rates(problem), places)
        part = cut_out(problem, cells)
        return replace(part, mesh=joined(part.mesh, Inner.CUT)) if len(mesh.hanging) else part

    def first_rates(self, problem: Problem) -> np.ndarray:
        """Numbers (element,), the largest for elements at joins, some of each pair of sets that meet, and some of each set."""
        rates, hanging = np.full(problem.mesh.cell_count, -np.inf), problem.mesh.hanging
        np.maximum.at(rates, np.column_stack([hanging.large[:, 0], hanging.small[..., 0]]).T, -np.arange(len(hanging)))
        if self.in_sets(problem):
            sets = sets_of(self, problem)
            chosen = [each.cells for each in sets]
            for join in set_joins(problem, sets):
                chosen += [sets[number].cells[np.unique(rows[:, 0])]
                           for number, rows in zip(join.sets, (join.left, join.right))]
            for cells in chosen:
                rates[cells] = np.maximum(rates[cells], -np.arange(len(cells)))
        return rates


def check_internal(of_set):
    """Raise ValueError for options of a method that do not go together with internal variables, of an `ElementSet`."""
    if of_set.problem.law.internal is None:
        return
    check_layer(of_set)
    given = [name for name in ("limiter", "positivity", "volume_flux", "filter") if getattr(of_set.method, name, None)]
    if given:
        raise ValueError(f"{given[0]}={shown(getattr(of_set.method, given[0]))} is not allowed where elements have internal "
                         f"variables, as those of {of_set.name!r} (an absorbing layer, a dispersive medium); leave it out")


def check_layer(of_set):
    """Raise ValueError for an absorbing layer in which waves would grow, of an `ElementSet`.

    Where fields are multiplied, slabs of cells are stable. Elsewhere coefficients vary inside of elements: round layers are
    stable on quadrilaterals and hexahedra, others on all shapes, both with numerical fluxes that have dissipation. Where
    derivatives are divided, slabs are stable with such, too; without, they are not beside cells that are not along the axes."""
    layer, problem = of_set.layer, of_set.problem
    if layer is None or layer.slabs and (problem.law.dim == 1 or not layer.by_derivatives):
        return
    shape, physics = problem.mesh.cell_shape.name, Physics(problem.law, problem.flux or upwind, None, problem.numbers)
    if not layer.straight and shape not in ("quadrilateral", "hexahedron"):
        raise ValueError(f"the round layer {layer.region!r} has {NAMED_SHAPES[shape].plural}, on which waves in it grow; its "
                         "cells must be quadrilaterals or hexahedra, or the layer that of a box")
    if not takes_energy(physics):
        raise ValueError(f"flux={problem.flux.__name__} has no dissipation, and waves grow with it in the layer "
                         f"{layer.region!r}; take another, such as upwind")


def check_limiting(method):
    """Raise ValueError for options of a limiter that a method with values at nodes does not have."""
    if method.limiting.limiter not in (None, *LIMITERS):
        choose("limiter", method.limiting.limiter, ("vertex",), also=["None"])
    method.limiting.check_linear(type(method).__name__)
    for order in method.orders:
        method.limiting.check(order)


def shown_limiting(method):
    """The options of the limiter that are not the default, as a repr shows them."""
    return "".join(f", {name}={value!r}" for name in ("limiter", "indicator", "positivity") if (value := getattr(method, name)))


def check_orders(method, allowed):
    """Raise ValueError unless a method's order is a whole number of the range `allowed`, or {region: number} of such."""
    if not method.orders or not all(isinstance(order, Integral) and order in allowed for order in method.orders):
        raise ValueError(f"order={method.order!r} is not allowed for {type(method).__name__}; it must be a whole number from "
                         f"{allowed[0]} to {allowed[-1]}, or {{region: number}}")


def check_degree(method):
    """Raise ValueError unless a method's `quadrature` is None or a degree from 2 order to the highest that the rules have."""
    degree, order = method.quadrature, method.highest_order
    least = 2 * order
    if degree is not None and (not isinstance(degree, Integral) or not least <= degree <= DEGREES):
        raise ValueError(f"quadrature={degree!r} is not allowed for {type(method).__name__}; at order {order} it must "
                         f"be None or a whole number from {least} to {DEGREES}")


def check_problem(problem, weak=False, shapes=SIMPLICES):
    """Raise ValueError or TypeError where mesh, law, boundary, flux and source do not fit; weak: for the weak form; shapes: of
    the cells."""
    check_mesh(problem, shapes)
    mesh, law = problem.mesh.whole, problem.law
    if law.dim != mesh.dim:
        raise ValueError(f"the mesh has dimension {mesh.dim} ({mesh.cell_type} cells), but the law has {law.dim}: {law!r}")
    physics = Physics(law, problem.flux or upwind, problem.source, problem.numbers, weak)
    groups = [group for group in boundary_groups(mesh, problem.boundary) if group[2] is not by_mortars]
    jumps = [physics.boundary_jump(name, condition) for name, _, condition in groups]
    asked = (function for name, function in vars(physics.functions).items() if name not in ("along", "left"))
    for function in (*asked, *jumps):          # those two ask the law and the flux for what `volume` and `pair` do
        function.graph                                    # noqa: B018  tracing is the check
    for _, faces, condition in groups:
        face_values(mesh, faces, condition)
        if check := declared(condition).check:
            check(mesh, faces, law)


def check_mesh(problem, shapes):
    """Raise ValueError unless the problem is on a mesh of cells of these shapes."""
    mesh = problem.mesh
    *first, last = (NAMED_SHAPES[shape].plural for shape in shapes)
    cells = f"{', '.join(first)} and {last}"
    if mesh.structured:
        example = "" if "line" in shapes else "shape='quadrilateral'"
        raise ValueError(f"discontinuous Galerkin works on meshes of {cells}, not on {mesh!r}; give a mesh such as "
                         f"dgarray.rectangle({example}), or the method Hermite")
    strange = [block.cell_type for block in mesh.blocks if block.cell_type not in shapes]
    if strange:
        found = [NAMED_SHAPES[each] for each in strange]
        if "line" in shapes:
            other = f"{'TensorDG' if all(each.tensor for each in found) else 'NodalDG'}; {TO_SPLIT}"
        else:
            other = f"NodalDG{' or ModalDG' * all(each.simplex for each in found)}, or another mesh"
        raise ValueError(f"this method works on {cells}, not on {strange[0]} cells: {mesh!r}; take {other}")
