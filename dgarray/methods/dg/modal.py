"""Modal discontinuous Galerkin in weak form on simplices, with an orthonormal basis phi: u = sum_j c_j phi_j.

C dc_i/dt = integral of sum_k (F . grad r_k) dphi_i/dr_k + phi_i s dr  -  sum_faces J_face / J integral of phi_i F* ds,
over the reference cell and its faces, by quadrature.  The mass matrix is the identity.
Fuhry, Giuliani & Krivodonova 2014, equation (12); Cockburn & Shu 1998.
"""
from dataclasses import dataclass, field
from typing import Any

from ...mesh.faces import Inner
from ...physics.fluxes import upwind
from ...support.wording import choose
from ..problem import Problem
from .basis import modal_basis
from .curved_geometry import CurvedGeometry, degree_for
from .geometry import AffineGeometry
from .limiters.tables import LimiterOptions
from .method import DG, SIMPLICES, check_degree, check_orders, check_problem
from .physics import Physics
from .sets import bent
from .tables import Tables


@dataclass(frozen=True)
class ModalDG(DG):
    """Modal discontinuous Galerkin of polynomial degree `order` (0 to 6) on intervals, triangles or tetrahedra.

    order        whole number from 0 to 6, by default 1, or {region: number}: then each region is a set of elements
                 with kernels and output of its own; "default" stands for all other regions. Laws may be given by region, too
    quadrature   degree up to which the quadrature is exact, at least 2 order: by default 2 order in the cells and 2 order + 1
                 on the faces (order + 1 Gauss points on an edge); more is for fluxes that are far from polynomials
    limiter      limits slopes after every stage and in the initial state, so that no new extremes arise: None: no limiter;
                 "barth-jespersen" (order 1): values at the points of the faces stay between the averages of the element and
                 its neighbours across faces;
                 "barth-jespersen-vertices" (order 1): the same with the averages of all elements that share a vertex, which
                 cuts smooth slopes less;
                 "vertex" (order 1 and above): values at each vertex stay between the averages of the elements around it,
                 degree by degree (Kuzmin). On curved cells, and with orders or laws by region, this one alone, as of `NodalDG`
    limiter_variables   which variables are limited, one by one: "conserved", at order 1 also "primitive" or "characteristic",
                 the waves along a normal of each element, which keeps shocks and contacts cleanest
    indicator    which elements are limited: None: all; "kxrcf": those where jumps at faces show that the state is not smooth
    positivity   how density and pressure are kept positive at all points after every stage: False: not; True or "scaling": the
                 state is scaled towards the mean of the element (Zhang & Shu), which keeps the order; "mean": an element where
                 one of them is not positive becomes its mean (Fuhry et al.), and the error is of order 1 there. Use it with
                 stepper="ssp33"
    surface      how the fused kernels of a CPU integrate over faces: "edges": each flux is evaluated once for both sides;
                 "elements": once for each side; None: the faster of the two. All other kernels visit each face once
    Raises ValueError for values that are not allowed.
    Fuhry, Giuliani & Krivodonova 2014; Cockburn & Shu 1998.
    """

    order: int | dict[str, int] = 1
    quadrature: int | None = None
    limiter: str | None = None
    limiter_variables: str = "conserved"
    indicator: str | None = None
    positivity: bool | str = False
    surface: str | None = field(default=None, repr=False)          # not in repr: it changes results by rounding only
    shapes = SIMPLICES

    def __post_init__(self):
        check_orders(self, range(7))
        check_degree(self)
        for order in self.orders:
            self.limiting.check(order)
        if self.surface is not None:
            choose("surface", self.surface, ("edges", "elements"), also=["None"])

    @property
    def limiting(self) -> LimiterOptions:
        """The options of the limiter, a `LimiterOptions`."""
        return LimiterOptions(self.limiter, self.limiter_variables, self.indicator, self.positivity)

    def check_set(self, problem: Problem, uneven: bool = False) -> None:
        """Raise ValueError or TypeError where mesh, law, boundary, flux and source do not fit, before anything is computed.

        The limiter must fit the law. On curved cells, and where there are several sets, it is the one
        of `dgarray.methods.dg.limiters.linear`."""
        check_problem(problem, weak=True)
        self.limiting.check_law(problem.law)
        if bent(problem.mesh).any():
            self.limiting.check_linear(f"ModalDG on the curved cells of {problem.mesh.source}")
        elif len(problem.mesh.boundaries.get(Inner.JOIN, ())):
            self.limiting.check_linear(f"ModalDG where {problem.mesh.source} has elements of several orders or laws, or curved "
                                       "ones beside straight ones")

    def tables(self, problem: Problem) -> Any:
        """The `Tables` of a problem; the numerical flux is by default `upwind`."""
        mesh, curved = problem.mesh, bool(bent(problem.mesh).any())
        physics = Physics(problem.law, problem.flux or upwind, problem.source, problem.numbers, True, curved)
        degree = degree_for(mesh, self.order, self.quadrature) if curved else self.quadrature
        basis = modal_basis(mesh.cell_shape, self.order, degree, physics.sources_inside)
        geometry = (CurvedGeometry if curved else AffineGeometry)(mesh, basis)
        return Tables(mesh, problem.boundary, physics, basis, geometry, self.limiting, surface=self.surface)
