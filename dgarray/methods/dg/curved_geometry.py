"""Cells with metrics at each point, simplices, prisms and pyramids that are not affine: the weak form, modes phi.

    dc_i/dt = integral of phi_i r dr,  r = (sum_j phi_j b_j / J + s) / C,
    b_j = integral of sum_k (F . J a^k) dphi_j/dr_k dr - sum_faces integral of phi_j F* J_face ds

The quadrature is exact for the metrics, polynomials whose sum of derivatives d(J a^k)/dr_k is 0: a uniform state stays uniform.
M^-1 M_(1/J) M^-1 is the weight-adjusted inverse of the mass matrix M_J, symmetric and positive; M is the identity here.
J stands for its projection onto the polynomials: they see no difference in integrals of J q, of which none is lost then.

At the apex of a pyramid J depends on the direction. There J = J_0 kappa, with J_0 bilinear in a and b: straight pyramids have
kappa = 1. The matrix M_(J_0) has a known inverse, and the smooth kappa takes the place of J, the weight J_0 that of 1:

    dc/dt = M_(J_0)^-1 integral of phi J_0 r dr,  r = (sum_j phi_j (M_(J_0)^-1 b)_j / kappa + s) / C

Chan, Hewett & Warburton 2017; Chan & Wilcox 2019; Chan & Warburton 2016 (pyramids).
"""
from functools import cached_property

import numpy as np

from ...mesh.errors import MeshError
from ...reference import modal_cell, reference_cell
from ...reference.columns import multiply
from ...spaces.simplex_metrics import face_metrics, metrics
from .geometry import PointGeometry

NEAR = 1e-7          # distance from the apex, as a share of the way to the base, that counts as being there


class CurvedGeometry(PointGeometry):
    """As `PointGeometry`, at points of quadrature.

    inverse                        of pyramids 1 / kappa
    weight (point, element)        of pyramids J_0
    mode_inverse (row, element)    of pyramids the diagonal of M_(J_0)^-1 in the basis of `PyramidCell.weighted_modes`
    rate_normals (face, dim, element), rate_scale (face, element)   `rate_metrics`"""

    curved = True

    @property
    def shapes(self):
        d, P, (F, M), E = self.dim, len(self.basis.points), self.basis.face_nodes.shape, self.elements
        apex = {} if self.basis.weighted_modes is None else {"weight": (P, E), "mode_inverse": (self.basis.rows, E)}
        return {"gradients": (d, d, P, E), "inverse": (P, E), "normals": (d, F * M, E), "scale": (F * M, E),
                "rate_normals": (F, d, E), "rate_scale": (F, E)} | apex

    def rows_of(self, name):
        at = {"x": self.basis.points, "face_x": self.basis.face_points}
        return self.dim * len(at[name]) if name in at else super().rows_of(name)

    def read(self, needs_x):
        """As of `AffineGeometry`."""
        return ["rate_normals", "rate_scale", "gradients", "inverse", "normals", "scale",
                *(["weight", "mode_inverse"] if self.basis.weighted_modes is not None else []), *["x", "face_x"] * needs_x]

    x = property(lambda self: self.coordinates())
    face_x = property(lambda self: self.coordinates(self.basis.face_points))
    rate_normals = property(lambda self: self.rate_metrics[0])
    rate_scale = property(lambda self: self.rate_metrics[1])

    @cached_property
    def _metrics(self):
        return metrics(self.mesh, self.basis.points)

    @cached_property
    def _at_faces(self):
        normals, areas = face_metrics(self.mesh, self.basis.reference.face_points)
        return normals.reshape(self.dim, -1, self.elements), areas.reshape(-1, self.elements)

    gradients = property(lambda self: self._metrics[0])
    normals = property(lambda self: self._at_faces[0])
    scale = property(lambda self: self._at_faces[1])

    @cached_property
    def inverse(self):
        basis, J = self.basis, self._metrics[1]
        if basis.weighted_modes is None:
            J = multiply(basis.interpolate, multiply(basis.projection, J))
        else:
            kappa = multiply(basis.weighted_projection, J) * self.mode_inverse
            J = multiply(basis.interpolate @ basis.weighted_modes[1], kappa)
        bad = np.flatnonzero((J <= 0).any(axis=0))
        if len(bad):
            raise MeshError(f"{self.mesh.source}: {self.mesh.named_place(bad[0])} is bent too strongly for "
                            f"order={basis.order}: the projection of det dx/dr is not positive; take a higher order, "
                            "smaller cells or a map of lower degree")
        return 1 / J

    @cached_property
    def weight(self):
        return self.at_apex(self.basis.points)

    @cached_property
    def mode_inverse(self):
        return 1 / self.at_apex(self.basis.weighted_modes[0])

    def at_apex(self, points):
        """J_0 at reference points (point, dim): bilinear in a and b, with the values of J near the apex."""
        shape = self.mesh.cell_shape
        near = shape.corners[:4] if self.mesh.order == 1 else shape.corners[4] + NEAR * (shape.corners[:4] - shape.corners[4])
        along = shape.weights(points)[:, :4]
        J = multiply(along / along.sum(axis=1, keepdims=True), metrics(self.mesh, near)[1])
        bad = np.flatnonzero((J <= 0).any(axis=0))
        if len(bad):
            raise MeshError(f"{self.mesh.source}: {self.mesh.named_place(bad[0])} is folded at its apex, where det dx/dr is "
                            "not positive in all directions; take smaller cells or a map that bends them less")
        return J

    @property
    def jacobian(self):
        """J at the points, which integrals of J q take."""
        return (1.0 if self.basis.weighted_modes is None else self.weight) / self.inverse

    @property
    def kappa_is_one(self):
        return self.basis.weighted_modes is not None and self.mesh.order == 1

    @cached_property
    def rate_metrics(self):
        """The directions of the faces' area vectors, and the largest J_face over the least J, a bound."""
        mesh = self.mesh
        points = modal_cell(mesh.cell_shape, mesh.order).face_points
        J = metrics(mesh, reference_cell(mesh.cell_shape, mesh.order + mesh.cell_shape.mixed_faces).nodes)[1]
        areas = face_metrics(mesh, points)[1]
        return np.ascontiguousarray(mesh.normals.transpose(1, 2, 0)), areas.max(axis=1) / J.min(axis=0)


def degree_for(mesh, order, degree):
    """The degree of the quadrature in curved elements: exact for J a^k times two polynomials, and for the projection of J.

    degree: asked for by the method, or None. In prisms and pyramids with maps of order g, J a^k times a derivative along r_k of
    a function of order N has at most the degree N + 2 g - 1 in each coordinate of the quadrature, and J the degree 3 g - 1"""
    d, bend = mesh.dim, mesh.order - 1
    if mesh.cell_shape.mixed_faces:
        return max(max(2 * order, degree or 0) + 2 * mesh.order - 1, order + 3 * mesh.order - 1)
    return max(max(2 * order, degree or 0) + (d - 1) * bend, order + d * bend)
