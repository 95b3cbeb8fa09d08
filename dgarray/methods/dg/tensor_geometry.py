"""The geometry of quadrilaterals and hexahedra that are no parallelograms or parallelepipeds."""
from functools import cached_property

import numpy as np

from ...spaces.tensor_metrics import Metrics
from .geometry import PointGeometry


class TensorGeometry(PointGeometry):
    """As `PointGeometry`, at the nodes and the points of the faces of tensor-product cells.

    subcells (dim, dim, (order / (order + 1)) node, element)   where there are finite volumes on subcells: the normals n of
             `dgarray.methods.dg.tensor_form` between the nodes of the lines along each axis"""

    def __init__(self, mesh, basis, has_subcells):
        super().__init__(mesh, basis)
        self.has_subcells = has_subcells

    def on(self, mesh):
        return TensorGeometry(mesh, self.basis, self.has_subcells)

    @property
    def shapes(self):
        d, N, S, E = self.dim, self.basis.rows, self.basis.face_nodes.size, self.elements
        subcells = {"subcells": (d, d, N // (self.basis.order + 1) * self.basis.order, E)} if self.has_subcells else {}
        return {"gradients": (d, d, N, E), "normals": (d, S, E), "scale": (S, E), "inverse": (N, E), "x": (d, N, E),
                "face_x": (d, S, E)} | subcells

    def read(self, needs_x):
        """As of `AffineGeometry`."""
        return ["gradients", "normals", "scale", "inverse", *["x", "face_x"] * needs_x, *["subcells"] * self.has_subcells]

    @cached_property
    def metrics(self):
        return Metrics(self.mesh, self.basis.cell)

    x = property(lambda self: self.metrics.x)
    face_x = property(lambda self: self.metrics.face_x)
    gradients = property(lambda self: self.metrics.gradients)
    jacobian = property(lambda self: self.metrics.jacobian)
    normals = property(lambda self: self.metrics.normals)
    scale = property(lambda self: self.metrics.areas)
    inverse = cached_property(lambda self: 1 / self.metrics.jacobian)

    @cached_property
    def subcells(self):
        cell, d, E = self.basis.cell, self.dim, self.elements
        n, sums = len(cell.w), np.cumsum(cell.w[:, None] * cell.slopes, axis=0)[:-1] + (np.arange(len(cell.w)) == 0)
        return np.stack([np.einsum("ij,dajbe->daibe", sums, a.reshape(d, -1, n, n ** k, E)).reshape(d, -1, E)
                         for k, a in enumerate(self.gradients)])


def are_affine(mesh):
    """Whether all cells are parallelograms or parallelepipeds, up to 1e-10 of their size; curved ones are not, nor those whose
    points may move."""
    if mesh.whole.order > 1 or mesh.whole.movable:
        return False
    corners, shape = mesh.whole.points[mesh.whole.cells], mesh.cell_shape
    slopes = np.einsum("ecd,ck->ekd", corners, shape.gradients(np.zeros((1, mesh.dim)))[0])
    gaps = corners - corners.mean(axis=1, keepdims=True) - np.einsum("ck,ekd->ecd", shape.corners, slopes)
    return bool(np.all(np.abs(gaps).max(axis=(1, 2)) <= 1e-10 * np.abs(slopes).max(axis=(1, 2))))
