"""Faces of a mesh as a surface: nodes, normals, areas and quadrature of nodal polynomials on them."""
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..mesh.faces import face_points
from ..mesh.geometry import area_vectors
from ..reference import FACES, quadrature, simplex

AXES = ("x", "y", "z")


@dataclass(frozen=True, eq=False, repr=False)
class Surface:
    """Some faces of a mesh with the nodes of polynomials of degree `order` on them.

    points       (point, dim) corners of the mesh
    cells        (cell, dim + 1) corners of all its cells
    order        of the nodal polynomials of `simplex(dim, order)`
    rows         (face, 2) cell and local face of each face

    A field on the surface has the shape (..., face, face_node).  On every face the nodes lie at the same `reference` points
    with respect to the face's vertices in the order of FACES, so that one matrix interpolates on all of them.  (In 3D these
    are the nodes of the tetrahedron on its face, which from order 4 on are not those of `simplex(2, order)`.)
    In 1D a face is one point with the area 1."""

    points: np.ndarray
    cells: np.ndarray
    order: int
    rows: np.ndarray

    def __post_init__(self):
        object.__setattr__(self, "rows", np.asarray(self.rows, np.int64).reshape(-1, 2))

    def __repr__(self):
        return f"<Surface: {len(self.rows)} faces in {self.dim}D with nodes of order {self.order}>"

    @property
    def dim(self):
        """Dimension of space."""
        return self.points.shape[1]

    @property
    def shape(self):
        """(face, face_node) of a field."""
        return self.nodes.shape

    @cached_property
    def nodes(self):
        """Numbers of the element's nodes, (face, face_node)."""
        cell = simplex(self.dim, self.order)
        same = tuple(range(self.dim))
        table = np.array([cell.matches[0, face, same] for face in range(self.dim + 1)])
        return table[self.rows[:, 1]]

    @cached_property
    def reference(self):
        """Nodes of a face in the biunit simplex of one dimension less, (face_node, dim - 1)."""
        return simplex(self.dim, self.order).face_barycentric(0)[:, 1:] * 2 - 1

    @cached_property
    def corners(self):
        """Coordinates of the faces' vertices in the order of FACES, (face, vertex, dim)."""
        return np.asarray(self.points, float)[face_points(np.asarray(self.cells), self.rows, FACES[self.dim])]

    def at(self, r):
        """Positions x (dim, face, point) of the points r (point, dim - 1) of the biunit simplex, on every face."""
        tail = (np.asarray(r, float) + 1) / 2
        barycentric = np.column_stack([1 - tail.sum(axis=1), tail])
        return np.einsum("pv,fvd->dfp", barycentric, self.corners)

    @cached_property
    def x(self):
        """Positions of the nodes, (dim, face, face_node)."""
        return self.at(self.reference)

    @cached_property
    def _areas(self):
        vectors = area_vectors(np.asarray(self.points, float), np.asarray(self.cells)[self.rows[:, 0]])
        return vectors[np.arange(len(self.rows)), self.rows[:, 1]]

    @cached_property
    def areas(self):
        """Measure of each face, (face,): 1 in 1D, length in 2D, area in 3D."""
        return np.linalg.norm(self._areas, axis=1)

    @cached_property
    def normals(self):
        """Unit normals that point out of the faces' cells, (dim, face)."""
        return np.ascontiguousarray((self._areas / self.areas[:, None]).T)

    def take(self, values):
        """Values at the face nodes, (..., face, face_node), taken from values (..., node, face) of each face's element."""
        return values[..., self.nodes, np.arange(len(self.rows))[:, None]]

    def interpolation(self, r):
        """Matrix (point, face_node) that evaluates fields on the surface at the points r (point, dim - 1)."""
        if self.dim == 1:
            return np.ones((len(r), 1))
        face = simplex(self.dim - 1, self.order)
        return np.linalg.solve(face.evaluate_basis(self.reference).T, face.evaluate_basis(r).T).T

    def quadrature(self, degree):
        """Quadrature on every face, exact for polynomials up to `degree`: positions x (dim, face, point), weights (face, point)
        that include the area, and the interpolation matrix (point, face_node)."""
        if self.dim == 1:
            r, weights = np.zeros((1, 0)), np.ones(1)
        else:
            r, weights = quadrature(self.dim - 1, degree)
        return self.at(r), self.areas[:, None] * (weights / weights.sum()), self.interpolation(r)

    @cached_property
    def weights(self):
        """Integral of each node's Lagrange polynomial over the face, (face, face_node): sum(f weights) is that of a field f."""
        _, weights, matrix = self.quadrature(self.order)
        return weights @ matrix

    def coords(self, numbers, units="normalised"):
        """Coordinates of the surface for a dataset, {name: (dims, values, attributes)}: x, y, z, normals, weight, area and
        cell_number.

        numbers: (cell,) position of each cell in the mesh file; units: of lengths"""
        result = {}
        for axis, x, n in zip(AXES, self.x, self.normals):
            result[axis] = (("face", "face_node"), x, {"long_name": f"{axis} of the nodes", "units": units})
            result[f"normal_{axis}"] = (("face",), n, {"long_name": f"{axis} component of the outward unit normal"})
        result["weight"] = (("face", "face_node"), self.weights,
                            {"long_name": "integral of the node's polynomial over the face"})
        result["area"] = (("face",), self.areas, {"long_name": "measure of the face"})
        result["cell_number"] = (("face",), np.asarray(numbers, "int64")[self.rows[:, 0]],
                                      {"long_name": "position among the cells of the mesh file, from 0"})
        return result
