"""The geometry of a set's elements: metrics, one for each element or at each point, which know no law."""
from functools import cached_property
from math import prod

import numpy as np

from ...mesh.curved.cell_maps import positions
from ...reference.columns import multiply


class Geometry:
    """The metrics of a mesh for a `Basis`, on the host in float64.

    gradients    dr_k / dx_d, or J times that
    normals, scale   outward unit normals, and J_face / J or J_face
    rate_metrics     normals (face, dim, element) and J_face / J (face, element) of wave rates, see `WeakForm.rate`
    affine       whether there is one number for each element, as the maps of the elements are affine
    curved       whether the mass matrix is adjusted by a weight at points of quadrature, see `CurvedGeometry`
    shapes       of all metrics, {name: shape}

    Arrays that grow with the mesh are computed on first use, or all at once by `build`."""

    curved = False

    def __init__(self, mesh, basis):
        self.mesh, self.basis, self.dim, self.elements = mesh, basis, mesh.dim, len(mesh.cells)

    def on(self, mesh):
        """The same on another mesh."""
        return type(self)(mesh, self.basis)

    def build(self):
        """Compute all metrics."""
        for name in self.shapes:
            getattr(self, name)

    def rows_of(self, name):
        """How many numbers the metrics of that name have per element."""
        return prod(self.shapes[name][:-1])

    def coordinates(self, points=None):
        """x at reference points (point, dim) in every element, (dim, point, element); the default is the basis' `points`."""
        return self.positions(self.basis.points if points is None else points)

    def area_vectors(self, rows, corners=None):
        """J_face n at the points of the faces `rows` (face, 2), as `Basis.points_of` orders them, (dim, face point, face)."""
        cells, sides = rows.T
        points = self.basis.points_of(sides, corners).T
        normals, scale = self.at_sides(sides, cells, points * self.elements + cells)
        vectors = np.asarray(normals * (scale / self.per_area(cells)))
        return vectors if vectors.ndim == 3 else np.repeat(vectors[:, None], len(points), axis=1)


class AffineGeometry(Geometry):
    """Elements whose maps are affine: x_d = origin_d + sum_k r_k tangents_kd.

    gradients (dim, dim, element)    dr_k / dx_d
    normals (face, dim, element), scale (face, element)   J_face / J
    origin (dim, element), tangents (dim, dim, element)"""

    affine = True

    @property
    def shapes(self):
        d, F, E = self.dim, len(self.basis.face_nodes), self.elements
        return {"tangents": (d, d, E), "origin": (d, E), "gradients": (d, d, E), "normals": (F, d, E), "scale": (F, E)}

    def read(self, needs_x):
        """The names of the metrics that kernels over elements read; needs_x: whether they need positions."""
        return ["gradients", "normals", "scale", *["origin", "tangents"] * needs_x]

    @cached_property
    def tangents(self):
        corners, shape = self.mesh.points[self.mesh.cells], self.basis.shape
        if shape.tensor:          # of parallelograms up to rounding: means over all edges
            slopes = shape.gradients(np.zeros((1, self.dim)))[0]          # (corner, axis)
            return np.ascontiguousarray(np.einsum("ecd,ck->kde", corners, slopes))
        return np.ascontiguousarray(((corners[:, shape.axes] - corners[:, :1]) / 2).transpose(1, 2, 0))

    @cached_property
    def origin(self):
        points, cells = self.mesh.points, self.mesh.cells
        if self.basis.shape.tensor:
            return np.ascontiguousarray(points[cells].mean(axis=1).T)
        return np.ascontiguousarray((points[cells[:, 0]] + self.tangents.transpose(2, 0, 1).sum(axis=1)).T)

    @cached_property
    def gradients(self):
        return np.ascontiguousarray(np.linalg.inv(self.tangents.transpose(2, 0, 1)).transpose(2, 1, 0))

    @cached_property
    def normals(self):
        return np.ascontiguousarray(self.mesh.normals.transpose(1, 2, 0))

    @cached_property
    def scale(self):
        mesh, shape = self.mesh, self.basis.shape
        return np.ascontiguousarray((mesh.face_measures / shape.face_measures).T / (mesh.measures / shape.measure))

    @property
    def rate_metrics(self):
        return self.normals, self.scale

    def at_sides(self, sides, cells, nodes):
        """Outward normals (dim, face) and J_face / J (face,) of faces of cells; where these vary over a face, at its points
        (face point, face), whose numbers among all face points are `nodes`."""
        return self.normals[sides, :, cells].T, self.scale[sides, cells]

    def per_area(self, cells):
        """What `scale` is for J_face = 1 in these cells."""
        return self.basis.shape.measure / self.mesh.measures[cells]

    def positions(self, points, some=slice(None)):
        """x at reference points (point, dim) in some elements, (dim, point, element)."""
        return np.array([self.origin[d, some] + multiply(points, self.tangents[:, d, some]) for d in range(self.dim)])


class PointGeometry(Geometry):
    """Elements with metrics at each point.

    gradients (dim, dim, point, element)   J a^k = J grad r_k;  inverse (point, element)   1 / J
    normals (dim, face * face point, element), scale (face * face point, element)   J_face
    x (dim, point, element), face_x (dim, face * face point, element)   positions"""

    affine = False

    def at_sides(self, sides, cells, nodes):
        """As of `AffineGeometry`, with J_face."""
        return self.normals.reshape(self.dim, -1)[:, nodes], self.scale.reshape(-1)[nodes]

    def per_area(self, cells):
        """What `scale` is for J_face = 1 in these cells."""
        return np.ones(len(cells))

    def positions(self, points, some=slice(None)):
        """As of `AffineGeometry`."""
        return positions(self.mesh, points, some)
