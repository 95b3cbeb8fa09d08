"""Curved faces of triangles and tetrahedra as a surface: nodes, normals, areas and quadrature of nodal polynomials on them."""
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..mesh.curved import cell_maps
from ..mesh.elements import Elements
from ..reference import FACES, quadrature
from .simplex_metrics import face_metrics
from .surface import AXES, Surface


@dataclass(frozen=True, eq=False, repr=False)
class CurvedSurface(Surface):
    """Some faces of a mesh with geometry nodes (cell, node, dim): a `Surface` with normals (dim, face, face_node) at nodes."""

    geometry_nodes: np.ndarray | None = None

    @cached_property
    def elements(self):
        """The cell of each face."""
        cells = self.rows[:, 0]
        return Elements(self.points, np.asarray(self.cells)[cells], None, self.geometry_nodes[cells])

    def on_cell(self, r):
        """The points r (point, dim - 1) of the biunit simplex on each face of the reference cell, (face, point, dim)."""
        tail = (np.asarray(r, float) + 1) / 2
        barycentric = np.column_stack([1 - tail.sum(axis=1), tail])
        return barycentric @ self.elements.cell_shape.corners[np.array(FACES[self.dim])]

    def at(self, r):
        x = np.empty((self.dim, len(self.rows), len(r)))
        for face, points in enumerate(self.on_cell(r)):
            some = np.flatnonzero(self.rows[:, 1] == face)
            x[:, some] = cell_maps.positions(self.elements, points, some).swapaxes(1, 2)
        return x

    def metrics(self, r):
        """Unit normals (dim, face, point) and J_face (face, point)."""
        normals, areas = face_metrics(self.elements, self.on_cell(r))
        every = np.arange(len(self.rows))
        return np.moveaxis(normals[:, self.rows[:, 1], :, every], 1, 0), areas[self.rows[:, 1], :, every]

    @cached_property
    def normals(self):
        return self.metrics(self.reference)[0]

    @cached_property
    def weights(self):
        _, weights, matrix = self.quadrature(self.order + 2 * cell_maps.map_order(self.elements) + 4)
        return weights @ matrix

    @cached_property
    def areas(self):
        return self.weights.sum(axis=1)

    def rule(self, degree):
        """Points (point, dim - 1) and weights (point,) on the biunit simplex of one dimension less."""
        return (np.zeros((1, 0)), np.ones(1)) if self.dim == 1 else quadrature(self.dim - 1, degree)

    def quadrature(self, degree):
        r, weights = self.rule(degree)
        return self.at(r), self.metrics(r)[1] * weights, self.interpolation(r)

    def coords(self, numbers, units="normalised"):
        result = super().coords(numbers, units)
        for axis, n in zip(AXES, self.normals):
            result[f"normal_{axis}"] = (("face", "face_node"), n, result[f"normal_{axis}"][2])
        return result


def simplex_surface(mesh, order, rows):
    """The faces `rows` (count, 2) of a mesh of simplices, a `Surface` or a `CurvedSurface`."""
    if mesh.geometry_nodes is None:
        return Surface(mesh.points, mesh.cells, order, rows)
    return CurvedSurface(mesh.points, mesh.cells, order, rows, mesh.geometry_nodes)
