"""Modal discontinuous Galerkin in weak form on simplices, with an orthonormal basis phi: u = sum_j c_j phi_j.

C dc_i/dt = integral of sum_k (F . grad r_k) dphi_i/dr_k + phi_i s dr  -  sum_faces J_face / J integral of phi_i F* ds,
over the reference cell and its faces, by quadrature.  The mass matrix is the identity.
Fuhry, Giuliani & Krivodonova 2014, equation (12); Cockburn & Shu 1998.
"""
from dataclasses import dataclass, field
from numbers import Integral

from .. import backends
from ..backends.arrays import ArrayBackend
from ..fluxes import upwind
from ..reference import quadrature
from ..wording import choose
from .limiting import Limiting
from .memory import modal_plan
from .nodal_dg import DG, NodalOperator, check_degree, check_given
from .tables import ModalTables


@dataclass(frozen=True)
class ModalDG(DG):
    """Modal discontinuous Galerkin of polynomial degree `order` (0 to 6) on intervals, triangles or tetrahedra.

    quadrature   degree up to which the quadrature is exact, at least 2 order: by default 2 order in the cells and 2 order + 1
                 on the faces (order + 1 Gauss points on an edge); more is for fluxes that are far from polynomials
    limiter      what keeps slopes from making new extremes, after every stage and at the start: None;
                 "barth-jespersen" at order 1: at the points of the faces, by the averages of the neighbours across faces;
                 "barth-jespersen-vertices" at order 1: the same by the averages of all neighbours, those at a vertex too,
                 which cuts smooth slopes less;
                 "vertex" from order 1 on: by those around each vertex, degree by degree (Kuzmin)
    limiter_variables   which variables are limited, one by one: "conserved", at order 1 also "primitive" or "characteristic",
                 the waves along the gradient of the density, which keeps shocks and contacts cleanest
    indicator    None: the limiter looks at all elements; "kxrcf": at those where jumps show that the state is not smooth
    positivity   whether density and pressure are kept positive at all points by scaling towards the mean (Zhang & Shu); take
                 it with stepper="ssp33"
    surface      how the fused kernels of a CPU integrate over faces: "edges", each flux evaluated once for both sides,
                 "elements", once for each, or None, what is faster there; all other kernels visit each edge once
    """

    order: int = 1
    quadrature: int | None = None
    limiter: str | None = None
    limiter_variables: str = "conserved"
    indicator: str | None = None
    positivity: bool = False
    surface: str | None = field(default=None, repr=False)          # of no consequence but for rounding

    def __post_init__(self):
        if not isinstance(self.order, Integral) or self.order not in range(7):
            raise ValueError(f"order={self.order!r} is not allowed for ModalDG; it must be a whole number from 0 to 6")
        check_degree(self)
        self.limiting.check(self.order)
        if self.surface is not None:
            choose("surface", self.surface, ("edges", "elements"), also=["None"])

    @property
    def limiting(self):
        return Limiting(self.limiter, self.limiter_variables, self.indicator, self.positivity)

    @property
    def nodal_order(self):
        """Degree of the nodal polynomials that the output holds."""
        return max(self.order, 1)

    def check(self, mesh, law, boundary, flux=None, source=None):
        """Raise ValueError or TypeError where mesh, law, boundary, flux and source do not fit, before anything is computed."""
        check_given(mesh, law, boundary, flux, source, weak=True)
        self.limiting.check_law(law)

    def kernels(self, backend, law=None):
        """Which kernels compute on a backend, whatever the law: "array" where it has no fused ones for this method."""
        return "array" if type(backend).modal is ArrayBackend.modal else backend.kernels

    def memory(self, mesh, law, backend, stepper, boundary=None, flux=None, source=None):
        """What a run allocates and when, a `dgarray.methods.memory.Plan`: see `NodalDG.memory`."""
        return modal_plan(mesh, law, self, backend, stepper, boundary, flux, source)

    def discretise(self, mesh, law, boundary, backend, flux=None, source=None):
        """The operations of this method on the mesh: a ModalOperator on the backend.

        flux: numerical flux, a function of the law (`upwind`); source(q, x, t) -> tuple, added to the law's own.
        Raises ValueError where mesh, law and boundary do not fit."""
        self.check(mesh, law, boundary, flux, source)
        tables = ModalTables(mesh, self.order, law, boundary, flux or upwind, source, self.quadrature, self.limiting)
        tables.surface = self.surface
        return ModalOperator(self, tables, backend)


class ModalOperator(NodalOperator):
    """Modal DG of one law on one mesh, on a backend; the state is c[variable, mode, element]."""

    @staticmethod
    def on(backend, tables):
        return backend.modal(tables)

    def nodal(self, q):
        return self.tables.reference.nodal.astype(q.dtype, copy=False) @ q

    def project(self, f, t=0.0):
        """As `NodalOperator.project`, limited as after a stage."""
        q = super().project(f, t)
        if self.tables.limits is not None:
            self.on(backends.get("numpy", "array", "float64", 1), self.tables).limit(q)
        return q

    def fetch(self, state):
        return Nodal(self.operations.fetch(state), self.nodal)

    def projection(self):
        reference = self.tables.reference
        points, weights = quadrature(self.tables.dim, max(2 * self.method.order + 4, reference.degree))
        return points, (reference.basis.evaluate_basis(points) * weights[:, None]).T


@dataclass
class Nodal:
    """Coefficients on their way to the host, which arrive as values at the nodes."""

    coming: object
    nodal: object

    def ready(self):
        return self.coming.ready()

    def result(self):
        return self.nodal(self.coming.result())
