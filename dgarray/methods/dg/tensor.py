"""Tensor-product discontinuous Galerkin on quadrilaterals and hexahedra, collocated at Gauss or Gauss-Lobatto points.

Helluy, Strub, Massaro & Roberts 2015, section 3.1; Kopriva 2009, chapter 5.
"""
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from ...mesh.faces import Inner
from ...mesh.partition import within
from ...physics.fluxes import central, upwind
from ...reference.tensor import KINDS
from ...spaces.tensor import TensorSpace
from ...support.wording import choose
from ..problem import Problem
from .basis import tensor_basis
from .geometry import AffineGeometry
from .limiters.tables import LimiterOptions, needs_pressure
from .method import DG, check_limiting, check_problem, shown_limiting
from .mortar_forms import mortar_form
from .physics import Physics
from .set_operations import TensorOperations
from .shock_sensor import ShockSensor
from .tables import Tables
from .tensor_geometry import TensorGeometry, are_affine
from .tensor_physics import TensorPhysics

SHAPES = "quadrilateral", "hexahedron"
PARALLEL = {2: "parallelograms", 3: "parallelepipeds"}
ORDERS = range(9)


@dataclass(frozen=True)
class TensorDG(DG):
    """Tensor-product discontinuous Galerkin of polynomial degree `order` (0 to 8) in each coordinate, on quadrilaterals or
    hexahedra.

    order   whole number from 0 to 8, by default 3, or {region: number}: then each region is a set of elements with kernels and
            output of its own; "default" stands for all other regions. Laws may be given by region, too. Sets, and elements
            of two sizes, meet at mortars, which keep the energy of waves at Gauss points and in split form
    nodes   "gauss": Gauss-Legendre points, with which the mass matrix of an affine cell is exact; "lobatto": Gauss-Lobatto
            points (order 1 and above), whose mass is lumped
    volume_flux   None: the weak form. Else a symmetric flux F#(l, r, n) between two nodes, linear in n, such as
            `dgarray.ranocha`, which conserves entropy, or `dgarray.kennedy_gruber`: the divergence is a sum of fluxes between
            the nodes of each line (split form), for nodes "lobatto". With `rusanov` at the faces
            entropy never runs the wrong way
    shock_capturing   None, or the largest share of finite volumes of first order on subcells that is mixed into the split form
            where the highest modes show a shock, a number above 0 up to 1; 0.5 is good. The finite volumes take the numerical
            flux of the faces. For laws with a density rho and a pressure; strong shocks need positivity as well
    limiter   None, or "vertex": where the state is not smooth it becomes a linear function whose values at each vertex stay
            between the averages of the elements around it; at order 1 and above
    indicator   where it is not smooth: "kxrcf": where jumps at faces show it; None: where its own values at vertices and
            nodes are not between these averages
    positivity   how density and pressure are kept positive at all nodes and points of the faces after every stage: False: not;
            True or "scaling": the state is scaled towards the mean of the element (Zhang & Shu), which keeps the order;
            "mean": an element where one of them is not positive becomes its mean (Fuhry et al.), and the error is of order 1
            there. Use it with stepper="ssp33"
    start   how the initial state is represented: "interpolation" (values at the nodes) or "projection" (L2)
    Raises ValueError for values that are not allowed.
    Helluy, Strub, Massaro & Roberts 2015; Kopriva 2009; Gassner, Winters & Kopriva 2016 (split form); Hennemann,
    Rueda-Ramirez, Hindenlang & Gassner 2021 (shocks); Friedrich et al. 2018 (mortars in split form).
    """

    order: int | dict[str, int] = 3
    nodes: str = "gauss"
    start: str = "interpolation"
    volume_flux: Callable | None = None
    shock_capturing: float | None = None
    positivity: bool | str = False
    limiter: str | None = None
    indicator: str | None = None
    shapes, recipe = SHAPES, TensorOperations

    def __post_init__(self):
        choose("nodes", self.nodes, KINDS)
        choose("start", self.start, ("interpolation", "projection"))
        if self.volume_flux is not None and not callable(self.volume_flux):
            raise ValueError(f"volume_flux={self.volume_flux!r} is not allowed; it must be None or a function such as "
                             "dgarray.ranocha, or dgarray.central, which goes with every law")
        if self.volume_flux is not None and self.nodes != "lobatto":
            raise ValueError(f"volume_flux={getattr(self.volume_flux, '__name__', self.volume_flux)} needs nodes='lobatto'; "
                             f"nodes={self.nodes!r} has no node on the faces")
        least = int(self.nodes == "lobatto")
        if not self.orders or not all(isinstance(order, Integral) and order in ORDERS[least:] for order in self.orders):
            raise ValueError(f"order={self.order!r} is not allowed for TensorDG with nodes={self.nodes!r}; it must be a whole "
                             f"number from {least} to {ORDERS[-1]}, or {{region: number}}")
        check_limiting(self)
        share = self.shock_capturing
        if share is not None:
            if isinstance(share, bool) or not isinstance(share, Real) or not 0 < share <= 1:
                raise ValueError(f"shock_capturing={share!r} is not allowed; it must be None or a number above 0 up to 1, such "
                                 "as 0.5, the largest share of finite volumes")
            if self.volume_flux is None:
                raise ValueError(f"shock_capturing={share!r} needs the split form; give nodes='lobatto' and a volume_flux, "
                                 "such as dgarray.ranocha, or dgarray.central, which goes with every law")

    @property
    def has_products(self) -> bool:
        """Whether laws may have nonconservative products: in the split form."""
        return self.volume_flux is not None

    @property
    def at_shocks(self) -> str:
        if self.volume_flux is None or self.limiting.limiter or self.limiting.positivity or self.shock_capturing == 1:
            return super().at_shocks
        if self.shock_capturing is None:
            return "where there are shocks take shock_capturing=0.5, or up to 1.0 where they are strong or fluids meet"
        return "where shocks are strong or fluids meet take a larger share of finite volumes, up to shock_capturing=1.0"

    @property
    def limiting(self) -> LimiterOptions:
        """The options of the limiter, a `LimiterOptions`."""
        return LimiterOptions(self.limiter, indicator=self.indicator, positivity=self.positivity)

    @property
    def nodal_order(self) -> Any:
        """Highest polynomial degree of the output, one number for all coordinates."""
        return self.highest_order

    def __repr__(self):
        split = "" if self.volume_flux is None else f", volume_flux={getattr(self.volume_flux, '__name__', self.volume_flux)}"
        shocks = "" if self.shock_capturing is None else f", shock_capturing={self.shock_capturing!r}"
        more = split + shocks + shown_limiting(self)
        return f"TensorDG(order={self.order!r}, nodes={self.nodes!r}, start={self.start!r}{more})"

    def space_of_set(self, problem: Problem) -> Any:
        return TensorSpace(problem.mesh, self.nodal_order, self.nodes)

    def check_set(self, problem: Problem, uneven: bool = False) -> None:
        mesh = problem.mesh
        check_problem(problem, weak=True, shapes=SHAPES)
        self.limiting.check_law(problem.law)
        if self.shock_capturing is not None:
            needs_pressure(problem.law, f"shock_capturing={self.shock_capturing!r}")
        if mesh.whole.order > max(self.order, 1):
            raise ValueError(f"order={self.order} needs {mesh.cell_shape.plural} with maps of at most that degree, not "
                             f"{mesh!r}; take order={mesh.whole.order} or more, or "
                             f"mesh.mapped(lambda x: x, order={max(self.order, 1)})")
        uneven = uneven or len(mesh.whole.hanging) > 0
        self.check_energy(problem, uneven)
        least = 2 * mesh.order - (self.nodes == "gauss")          # so that both sides have the same normals
        if uneven and mesh.dim == 3 and 0 < self.highest_order < least and not are_affine(mesh):
            raise ValueError(f"order={self.order} with nodes={self.nodes!r} does not keep uniform states where hexahedra that "
                             f"are no parallelepipeds, {mesh!r}, meet others of another order or size; take order={least} or "
                             "more on both sides")

    def check_energy(self, problem: Problem, uneven: bool) -> None:
        """Raise ValueError where the energy of linear waves would grow: with a numerical flux that takes none, by a volume term
        that is not skew-symmetric, or at mortars without summation by parts. For Maxwell's equations in 3D no flux takes as
        much as that volume term adds."""
        if self.nodes == "gauss" or self.volume_flux is not None:
            return
        if problem.law.family == "curl" and problem.mesh.dim == 3 and not are_affine(problem.mesh):
            raise ValueError(f"nodes='lobatto' in weak form is not allowed for {problem.law!r} on cells that are no "
                             f"{PARALLEL[3]}: the quadrature is not exact there, and the energy would grow; give "
                             "volume_flux=dgarray.central (split form) or nodes='gauss'")
        if problem.flux is not central:
            return
        physics = Physics(problem.law, central, None, dict.fromkeys(problem.law.parameters))
        reason = None
        if not are_affine(problem.mesh):
            reason = f"on cells that are no {PARALLEL[problem.mesh.dim]}: the quadrature is not exact there"
        elif uneven and mortar_form(physics, self.nodes, self.volume_flux) == "projected":
            reason = f"for {problem.law!r} where two orders or sizes meet: its flux is not linear with constant coefficients"
        if reason:
            raise ValueError(f"flux=central with nodes='lobatto' in weak form is not allowed {reason}, and the energy would "
                             "grow; give volume_flux=dgarray.central (split form), nodes='gauss', or a flux with dissipation "
                             "such as upwind")

    def tables(self, problem: Problem) -> Any:
        """The `Tables` of a problem; the numerical flux is by default `upwind`."""
        mesh, law, affine = problem.mesh, problem.law, are_affine(problem.mesh)
        if len(mesh.whole.hanging):
            every = np.arange(mesh.whole.cell_count)
            apart = mesh.whole.part(every, Inner.JOIN)
            mesh = apart if mesh.share is None else within(mesh, apart, every)[1]
        share = self.shock_capturing
        sensor = None if share is None else ShockSensor(law, self.order, float(share))
        physics = TensorPhysics(law, problem.flux or upwind, problem.source, problem.numbers, self.volume_flux, sensor, affine)
        basis = tensor_basis(mesh.cell_shape, self.order, self.nodes)
        geometry = AffineGeometry(mesh, basis) if affine else TensorGeometry(mesh, basis, sensor is not None)
        return Tables(mesh, problem.boundary, physics, basis, geometry, self.limiting, sensor=sensor)
