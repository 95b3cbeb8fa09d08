"""Cells with metrics at each point, simplices, prisms and pyramids that are not affine: the weak form, modes phi.

    dc_i/dt = integral of phi_i r dr,  r = (sum_j phi_j b_j / J + s) / C,
    b_j = integral of sum_k (F . J a^k) dphi_j/dr_k dr - sum_faces integral of phi_j F* J_face ds

The quadrature is exact for the metrics, polynomials whose sum of derivatives d(J a^k)/dr_k is 0: a uniform state stays uniform.
M^-1 M_(1/J) M^-1 is the weight-adjusted inverse of the mass matrix M_J, symmetric and positive; M is the identity here.
J stands for its projection onto the polynomials: they see no difference in integrals of J q, of which none is lost then.
Chan, Hewett & Warburton 2017; Chan & Wilcox 2019.
"""
from functools import cached_property

import numpy as np

from ...mesh.errors import MeshError
from ...reference import modal_cell, reference_cell
from ...spaces.simplex_metrics import face_metrics, metrics
from .tables import NO_LIMITER, ModalTables, QuadratureTables
from .tensor_tables import TensorTables


class PointMetrics:
    """What the tables of curved elements have in common; the other base class is `ModalTables`, or for values at nodes
    `QuadratureTables`.

    gradients (dim, dim, point, element)   J a^k;  inverse (point, element)   1 / J
    normals (dim, face * face point, element), scale (face * face point, element)   with J_face"""

    collocated = curved = True
    at_sides, positions = TensorTables.at_sides, TensorTables.positions

    def __init__(self, mesh, order, law, boundary, flux, source, degree=None, limiting=NO_LIMITER):
        self.given_degree = degree
        super().__init__(mesh, order, law, boundary, flux, source, degree_for(mesh, order, degree), limiting)

    def on(self, mesh, boundary):
        return type(self)(mesh, self.order, self.law, boundary, self.physics.flux, self.physics.source, self.given_degree,
                          self.limiting)

    @property
    def shapes(self):
        d, P, S, F, E = self.dim, len(self.points), len(self.trace), self.sides, self.elements
        return {"gradients": (d, d, P, E), "inverse": (P, E), "normals": (d, S, E), "scale": (S, E),
                "rate_normals": (F, d, E), "rate_scale": (F, E)}

    def rows_of(self, name):
        d = self.dim
        return {"at_points": d * len(self.points), "at_face_points": d * len(self.trace)}.get(name) or super().rows_of(name)

    def metrics_read(self, needs_x):
        return ["rate_normals", "rate_scale", "gradients", "inverse", "normals", "scale",
                *["at_points", "at_face_points"] * needs_x]

    rate_normals = property(lambda self: self.rate_metrics[0])
    rate_scale = property(lambda self: self.rate_metrics[1])
    at_points = property(lambda self: self.coordinates())
    at_face_points = property(lambda self: self.coordinates(self.face_points))

    @cached_property
    def _metrics(self):
        return metrics(self.mesh, self.points)

    @cached_property
    def _at_faces(self):
        normals, areas = face_metrics(self.mesh, self.reference.face_points)
        return normals.reshape(self.dim, -1, self.elements), areas.reshape(-1, self.elements)

    gradients = property(lambda self: self._metrics[0])
    normals = property(lambda self: self._at_faces[0])
    scale = property(lambda self: self._at_faces[1])

    @cached_property
    def inverse(self):
        J = self.interpolate @ (self.projection @ self._metrics[1])
        bad = np.flatnonzero((J <= 0).any(axis=0))
        if len(bad):
            raise MeshError(f"{self.mesh.source}: {self.mesh.named_place(bad[0])} is bent too strongly for order={self.order}: "
                            "the projection of det dx/dr is not positive; take a higher order, smaller cells or a map of lower "
                            "degree")
        return 1 / J

    @cached_property
    def rate_metrics(self):
        """The directions of the faces' area vectors, and the largest J_face over the least J, a bound."""
        mesh = self.mesh
        points = modal_cell(mesh.cell_shape, mesh.order).face_points
        J = metrics(mesh, reference_cell(mesh.cell_shape, mesh.order + mesh.cell_shape.mixed_faces).nodes)[1]
        areas = face_metrics(mesh, points)[1]
        return np.ascontiguousarray(mesh.normals.transpose(1, 2, 0)), areas.max(axis=1) / J.min(axis=0)

    def per_area(self, cells):
        return np.ones(len(cells))


class CurvedModalTables(PointMetrics, ModalTables):
    """The tables of curved elements, with modes for unknowns."""


class CurvedTables(PointMetrics, QuadratureTables):
    """The tables of curved elements, with values at the nodes for unknowns."""


def degree_for(mesh, order, degree):
    """The degree of the quadrature in curved elements: exact for J a^k times two polynomials, and for the projection of J.

    degree: asked for by the method, or None. In prisms and pyramids with maps of order g, J a^k times a derivative along r_k of
    a function of order N has at most the degree N + 2 g - 1 in each coordinate of the quadrature, and J the degree 3 g - 1"""
    d, bend = mesh.dim, mesh.order - 1
    if mesh.cell_shape.mixed_faces:
        return max(max(2 * order, degree or 0) + 2 * mesh.order - 1, order + 3 * mesh.order - 1)
    return max(max(2 * order, degree or 0) + (d - 1) * bend, order + d * bend)
