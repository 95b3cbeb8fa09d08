"""Nodal discontinuous Galerkin in strong form on simplices.

M dq/dt = - sum_k S_k F_k + sum_faces integral of l (F.n - F*) dS, so
dq/dt = - sum_k D_k (F . grad r_k) + L (F.n - F*) J_face / J
Hesthaven & Warburton 2008; Kloeckner et al. 2009, equation (4); Kloeckner et al. 2013, equation (9).
"""
from dataclasses import dataclass
from numbers import Integral

from ...mesh.errors import TO_SPLIT
from ...physics.fluxes import upwind
from ...reference import simplex
from ...spaces import polynomial_space
from ...stepping import STEPPERS
from ...wording import choose
from ..method import Method
from .boundary_setup import boundary_groups, face_values
from .curved_form import CurvedForm
from .filter import ExponentialFilter
from .joints import joined
from .media import varying_inside
from .operator import DGOperator
from .physics import Physics
from .plan import plan_of
from .stability import check_stepper
from .tables import NO_LIMITS, NodalTables, QuadratureTables
from .weak_form import WeakForm

PLURALS = {"line": "lines", "triangle": "triangles", "tetra": "tetrahedra", "quadrilateral": "quadrilaterals",
           "hexahedron": "hexahedra"}
DEGREES = 50          # the highest degree of the quadrature rules on triangles


class DG(Method):
    """The base class of the discontinuous Galerkin methods.

    recipe   the operations, as `ArrayBackend.operations` takes them"""

    has_flux, start, recipe = True, "projection", WeakForm

    def space(self, problem):
        return polynomial_space(problem.mesh, self.nodal_order)

    def stepper(self, name):
        """The time stepper with that name, by default lsrk54.

        Raises ValueError for an unknown name, and for a stepper that has no stable step at this order."""
        stepper = STEPPERS[choose("stepper", name or "lsrk54", STEPPERS)]
        check_stepper(self.order, stepper)
        return stepper

    def kernels(self, backend, law=None, mesh=None):
        """Which implementation computes on a backend: "fused" kernels or "array" expressions. A law whose parameters
        vary inside of elements, and a mesh with curved triangles or tetrahedra, may have another one than others."""
        if mesh is not None and backend.kernels != backend.curved and mesh.cell_shape.simplex and mesh.whole.is_curved.any():
            return backend.curved
        given = law is not None and mesh is not None and backend.kernels != backend.media
        varies = given and varying_inside(law, mesh.whole, simplex(mesh.dim, self.nodal_order).nodes)
        return backend.media if varies else backend.kernels

    def operations(self, tables):
        """The recipe for these tables."""
        return CurvedForm if len(tables.curved) else self.recipe

    def memory(self, problem, backend, stepper):
        """What a run allocates and when, a `dgarray.methods.memory.Plan`, computed without large arrays."""
        return plan_of(self, self.tables(problem), backend, stepper)


@dataclass(frozen=True)
class NodalDG(DG):
    """Nodal discontinuous Galerkin of polynomial degree `order` (1 to 10) on intervals, triangles or tetrahedra.

    order        whole number from 1 to 10, by default 4
    start        how the initial state is represented on the elements: "projection" (L2) or "interpolation" (values at the
                 nodes)
    quadrature   None: fluxes are evaluated at the nodes, so that nonlinear fluxes are interpolated; else the degree up to which
                 the integrals of the weak form are exact, at least 2 order (over-integration). Either way the unknowns are
                 values at the nodes
    filter       None, or an `ExponentialFilter` that is applied to the state after every step
    Raises ValueError for values that are not allowed.
    Hesthaven & Warburton 2008.
    """

    order: int = 4
    start: str = "projection"
    quadrature: int | None = None
    filter: ExponentialFilter | None = None
    limiting = NO_LIMITS

    def __post_init__(self):
        if not isinstance(self.order, Integral) or self.order not in range(1, 11):
            raise ValueError(f"order={self.order!r} is not allowed for NodalDG; it must be a whole number from 1 to 10")
        choose("start", self.start, ("projection", "interpolation"))
        check_degree(self)
        if self.filter is not None:
            if not isinstance(self.filter, ExponentialFilter):
                raise ValueError(f"filter={self.filter!r} is not allowed for NodalDG; give None or dgarray.ExponentialFilter()")
            self.filter.check(self.order)

    def __repr__(self):
        more = "".join(f", {name}={value!r}" for name in ("quadrature", "filter") if (value := getattr(self, name)) is not None)
        return f"NodalDG(order={self.order!r}, start={self.start!r}{more})"

    def check(self, problem):
        """Raise ValueError or TypeError where mesh, law, boundary, flux and source do not fit, before anything is computed."""
        check_problem(problem, weak=self.quadrature is not None)

    @property
    def nodal_order(self):
        """Degree of the nodal polynomials that the output holds."""
        return self.order

    def tables(self, problem):
        """The `NodalTables` of a problem, or its `QuadratureTables`; the numerical flux is by default `upwind`."""
        given = problem.mesh, self.order, problem.law, problem.boundary, problem.flux or upwind, problem.source
        tables = NodalTables(*given) if self.quadrature is None else QuadratureTables(*given, self.quadrature)
        tables.filter = None if self.filter is None else self.filter.matrix(tables.cell)
        return tables

    def operator(self, problem, backend):
        """The `DGOperator` of a problem on a backend."""
        return DGOperator(problem, self, self.tables(problem), backend)


def check_degree(method):
    """Raise ValueError unless a method's `quadrature` is None or a degree from 2 order to the highest that the rules have."""
    degree, least = method.quadrature, 2 * method.order
    if degree is not None and (not isinstance(degree, Integral) or not least <= degree <= DEGREES):
        raise ValueError(f"quadrature={degree!r} is not allowed for {type(method).__name__}; at order {method.order} it must "
                         f"be None or a whole number from {least} to {DEGREES}")


def check_problem(problem, weak=False, shapes=("line", "triangle", "tetra")):
    """Raise ValueError or TypeError where mesh, law, boundary, flux and source do not fit; weak: for the weak form; shapes: of
    the cells."""
    check_mesh(problem, shapes)
    mesh, law = problem.mesh.whole, problem.law
    if law.dim != mesh.dim:
        raise ValueError(f"the mesh has dimension {mesh.dim} ({mesh.cell_type} cells), but the law has {law.dim}: {law!r}")
    physics = Physics(law, problem.flux or upwind, problem.source, problem.numbers, weak)
    groups = [group for group in boundary_groups(mesh, problem.boundary) if group[2] is not joined]
    jumps = [physics.boundary_jump(name, condition) for name, _, condition in groups]
    for function in (*vars(physics.functions).values(), *jumps):
        function.graph                                    # noqa: B018  tracing is the check
    for _, faces, condition in groups:
        face_values(mesh, faces, condition)
        if hasattr(condition, "check"):
            condition.check(mesh, faces, law)


def check_mesh(problem, shapes):
    """Raise ValueError unless the problem is on a mesh of cells of these shapes."""
    mesh = problem.mesh
    *first, last = (PLURALS[shape] for shape in shapes)
    cells = f"{', '.join(first)} and {last}"
    if mesh.structured:
        example = "" if "line" in shapes else "shape='quadrilateral'"
        raise ValueError(f"discontinuous Galerkin works on meshes of {cells}, not on {mesh!r}; give a mesh such as "
                         f"dgarray.rectangle({example}), or the method Hermite")
    if mesh.cell_type not in shapes:
        other = f"TensorDG; {TO_SPLIT}" if "line" in shapes else "NodalDG or ModalDG, or another mesh"
        raise ValueError(f"this method works on {cells}, not on {mesh.cell_type} cells: {mesh!r}; take {other}")
    if mesh.cell_shape.simplex and mesh.share is not None and mesh.whole.is_curved.any():
        raise ValueError(f"{mesh!r} is a part of a mesh with curved {mesh.cell_type} cells, which run whole; take TensorDG on "
                         "quadrilaterals or hexahedra, or mesh.mapped(lambda x: x, order=1)")
