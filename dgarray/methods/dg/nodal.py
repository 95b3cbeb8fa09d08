"""Nodal discontinuous Galerkin in strong form on simplices, prisms and pyramids.

M dq/dt = - sum_k S_k F_k + sum_faces integral of l (F.n - F*) dS, so
dq/dt = - sum_k D_k (F . grad r_k) + L (F.n - F*) J_face / J
Hesthaven & Warburton 2008; Kloeckner et al. 2009, equation (4); Kloeckner et al. 2013, equation (9).
"""
from dataclasses import dataclass, replace
from typing import Any

from ...physics.fluxes import upwind
from ...support.wording import choose
from ..problem import Problem
from .basis import at_nodes, in_weighted_modes, modal_basis, nodal_basis
from .curved_geometry import CurvedGeometry, degree_for
from .filter import ExponentialFilter
from .geometry import AffineGeometry
from .limiters.tables import LimiterOptions
from .method import DG, STRONG, check_degree, check_limiting, check_orders, check_problem, shown_limiting
from .physics import Physics
from .sets import bent
from .tables import Tables
from .tensor import SHAPES as TENSOR_SHAPES, TensorDG


@dataclass(frozen=True)
class NodalDG(DG):
    """Nodal discontinuous Galerkin of polynomial degree `order` (1 to 10).

    On intervals, triangles, tetrahedra, prisms and pyramids in strong form; on quadrilaterals and hexahedra (orders 1 to 8) as
    TensorDG(order), at Gauss points, which keep the order of the method on cells of any form. Cells of different shapes meet
    at mortars.

    order        whole number from 1 to 10, by default 4, or {region: number}: then each region is a set of elements
                 with kernels and output of its own; "default" stands for all other regions. Laws may be given by region, too
    start        how the initial state is represented on the elements: "projection" (L2) or "interpolation" (values at the
                 nodes)
    quadrature   None: fluxes are evaluated at the nodes, so that nonlinear fluxes are interpolated; else the degree up to which
                 the integrals of the weak form are exact, at least 2 order (over-integration). Either way the unknowns are
                 values at the nodes
    filter       None, or an `ExponentialFilter` that is applied to the state after every step; then the state is limited again
    limiter      None, or "vertex": after every stage, and in the initial state, a variable that is not smooth in an element
                 becomes a linear function whose values at each vertex stay between the averages of all elements around it
    indicator    where it is not smooth: "kxrcf": where jumps at faces show it; None: where its own values at vertices and nodes
                 are not between these averages
    positivity   how density and pressure are kept positive at all nodes after every stage: False: not; True or "scaling": the
                 state is scaled towards the mean of the element (Zhang & Shu), which keeps the order; "mean": an element where
                 one of them is not positive becomes its mean (Fuhry et al.), and the error is of order 1 there. Use it with
                 stepper="ssp33"
    Raises ValueError for values that are not allowed.
    Hesthaven & Warburton 2008.
    """

    order: int | dict[str, int] = 4
    start: str = "projection"
    quadrature: int | None = None
    filter: ExponentialFilter | None = None
    limiter: str | None = None
    indicator: str | None = None
    positivity: bool | str = False
    shapes = *STRONG, *TENSOR_SHAPES

    def __post_init__(self):
        check_orders(self, range(1, 11))
        choose("start", self.start, ("projection", "interpolation"))
        check_degree(self)
        check_limiting(self)
        if self.filter is not None:
            if not isinstance(self.filter, ExponentialFilter):
                raise ValueError(f"filter={self.filter!r} is not allowed for NodalDG; give None or dgarray.ExponentialFilter()")
            for order in self.orders:
                self.filter.check(order)

    def __repr__(self):
        more = "".join(f", {name}={value!r}" for name in ("quadrature", "filter") if (value := getattr(self, name)) is not None)
        return f"NodalDG(order={self.order!r}, start={self.start!r}{more}{shown_limiting(self)})"

    @property
    def limiting(self) -> LimiterOptions:
        """The options of the limiter, a `LimiterOptions`."""
        return LimiterOptions(self.limiter, indicator=self.indicator, positivity=self.positivity)

    def of_set(self, shape: Any, order: Any) -> Any:
        if shape.name in STRONG:
            return replace(self, order=order)
        for name in ("quadrature", "filter"):
            if getattr(self, name) is not None:
                raise ValueError(f"{name}={getattr(self, name)!r} is for triangles and tetrahedra; NodalDG on "
                                 f"{shape.plural} is TensorDG and takes none; leave it out")
        return TensorDG(order, start=self.start, limiter=self.limiter, indicator=self.indicator, positivity=self.positivity)

    def check_set(self, problem: Problem, uneven: bool = False) -> None:
        """Raise ValueError or TypeError where mesh, law, boundary, flux and source do not fit, before anything is computed."""
        check_problem(problem, weak=self.quadrature is not None, shapes=STRONG)
        self.limiting.check_law(problem.law)

    def tables(self, problem: Problem) -> Any:
        """The `Tables` of a problem; the numerical flux is by default `upwind`."""
        mesh, curved = problem.mesh, bool(bent(problem.mesh).any())
        weak = curved or self.quadrature is not None
        physics = Physics(problem.law, problem.flux or upwind, problem.source, problem.numbers, weak, curved or not weak)
        if weak:
            degree = degree_for(mesh, self.order, self.quadrature) if curved else self.quadrature
            basis = at_nodes(modal_basis(mesh.cell_shape, self.order, degree, physics.sources_inside))
        else:
            basis = nodal_basis(mesh.cell_shape, self.order)
        if curved:
            basis = in_weighted_modes(basis)
        geometry = (CurvedGeometry if curved else AffineGeometry)(mesh, basis)
        return Tables(mesh, problem.boundary, physics, basis, geometry, self.limiting,
                      None if self.filter is None else self.filter.matrix(basis.cell))
