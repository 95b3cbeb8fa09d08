"""Modal discontinuous Galerkin in weak form on simplices, with an orthonormal basis phi: u = sum_j c_j phi_j.

C dc_i/dt = integral of sum_k (F . grad r_k) dphi_i/dr_k + phi_i s dr  -  sum_faces J_face / J integral of phi_i F* ds,
over the reference cell and its faces, by quadrature.  The mass matrix is the identity.
Fuhry, Giuliani & Krivodonova 2014, equation (12); Cockburn & Shu 1998.
"""
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

import numpy as np

from .. import backends
from ..backends.arrays import ArrayBackend
from ..fluxes import upwind
from ..reference import modal_simplex, quadrature, simplex
from ..stepping import real_limit
from .limiting import Limiting, Limits
from .memory import modal_plan
from .nodal_dg import NodalOperator, NodalTables, check_given
from .stability import stability_limit

DEGREES = 50          # the highest degree of the rules on triangles
NO_LIMITS = Limiting()


@dataclass(frozen=True)
class ModalDG:
    """Modal discontinuous Galerkin of polynomial degree `order` (0 to 6) on intervals, triangles or tetrahedra.

    quadrature   degree up to which the quadrature is exact, at least 2 order: by default 2 order in the cells and 2 order + 1
                 on the faces (order + 1 Gauss points on an edge); more is for fluxes that are far from polynomials
    limiter      what keeps slopes from making new extremes, after every stage and at the start: None;
                 "barth-jespersen" at order 1: by the averages of the neighbours across faces;
                 "vertex" from order 1 on: by those around each vertex, degree by degree (Kuzmin)
    limiter_variables   "conserved", or "primitive" at order 1: which variables are limited, one by one
    indicator    None: the limiter looks at all elements; "kxrcf": at those where jumps show that the state is not smooth
    positivity   whether density and pressure are kept positive at all points by scaling towards the mean (Zhang & Shu); take
                 it with stepper="ssp33"
    """

    order: int = 1
    quadrature: int | None = None
    limiter: str | None = None
    limiter_variables: str = "conserved"
    indicator: str | None = None
    positivity: bool = False

    def __post_init__(self):
        if not isinstance(self.order, Integral) or self.order not in range(7):
            raise ValueError(f"order={self.order!r} is not allowed for ModalDG; it must be a whole number from 0 to 6")
        degree = self.quadrature
        if degree is not None and (not isinstance(degree, Integral) or not 2 * self.order <= degree <= DEGREES):
            raise ValueError(f"quadrature={degree!r} is not allowed for ModalDG; at order {self.order} it must be None or a "
                             f"whole number from {2 * self.order} to {DEGREES}")
        self.limiting.check(self.order)

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

    def kernels(self, backend):
        """Which kernels compute on a backend: "array" where it has no fused ones for this method."""
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
        return ModalOperator(self, tables, backend)


class ModalTables(NodalTables):
    """As `NodalTables`, for modal DG: see `dgarray.reference.ModalSimplex` for the matrices.

    cell                                                    nodal cell of the output, of degree max(order, 1)
    reference                                               the ModalSimplex: points of the faces take the place of face nodes
    differentiation (dim, mode, point)                      where there are sources one row more, - project, which takes them
    interpolate (point, mode), trace (face * face point, mode), lift (mode, face * face point)
    groups                                                  their nodes and slots are both rows of `trace`
    """

    weak = True

    def __init__(self, mesh, order, law, boundary, flux, source, degree=None, limiting=NO_LIMITS):
        self.degree, self.limiting = degree, limiting
        super().__init__(mesh, order, law, boundary, flux, source)

    def set_reference(self):
        self.cell, self.reference = simplex(self.dim, max(self.order, 1)), modal_simplex(self.dim, self.order, self.degree)
        self.points, self.face_points = self.reference.points, self.reference.face_points.reshape(-1, self.dim)
        self.rows, self.face_nodes = len(self.reference.project), self.reference.face_nodes
        self.differentiation, self.lift = self.reference.differentiation, self.reference.lift
        if self.physics.sources:
            self.differentiation = np.concatenate([self.differentiation, -self.reference.project[None]])
        self.interpolate, self.trace = self.reference.interpolate, self.reference.trace

    def on(self, mesh, boundary):
        return ModalTables(mesh, self.order, self.law, boundary, self.physics.flux, self.physics.source, self.degree,
                           self.limiting)

    @cached_property
    def limits(self):
        return Limits(self.limiting, self) if self.limiting.limiter or self.limiting.positivity else None


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

    def _step_of_table(self, q, t, stepper):
        """dt = min over elements of h / s / (2 order + 1), h / s = 2 |T| / sum over faces of s |face|.

        Where s is the same on all faces, h is an interval's length, the radius of a triangle's inscribed circle, two thirds of
        that of a tetrahedron's inscribed sphere.  At order 0 a forward Euler step makes averages of the values around.
        From order 1 on the step is no longer than the measured table allows this stepper, its rate taken with exponent 1.
        Fuhry, Giuliani & Krivodonova 2014; Cockburn & Shu 2001, section 2.2."""
        law, order = self.tables.law, self.method.order
        factor = 4 / self.tables.dim / (2 * order + 1)          # |face| / |T| = dim / 2 times J_face / J
        if order:
            factor = min(factor, stability_limit(law, order, stepper).factor)
        rate = self.operations.rate(q, t, 1.0) / factor + self.tables.damping / real_limit(stepper)
        return 1 / rate if rate != 0 else np.inf

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
