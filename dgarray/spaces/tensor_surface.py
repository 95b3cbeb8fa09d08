"""Faces of quadrilaterals and hexahedra as a surface: tensor-product points, normals, weights, and values there."""
from functools import cached_property

import numpy as np

from ..mesh.elements import Elements
from ..reference.tensor import tensor_cell
from .surface import AXES
from .tensor_metrics import Metrics


class TensorSurface:
    """Some faces of a mesh with the points of a `TensorCell` on them.

    rows (face, 2) cell and local face;  order: of the points, by default that of the fields' `cell`
    x (dim, face, point), normals (dim, face, point) out of the faces' cells, weights (face, point) with the area"""

    def __init__(self, mesh, cell, rows, order=None):
        self.rows, self.cell = np.asarray(rows, np.int64).reshape(-1, 2), cell
        self.places = cell if order is None else tensor_cell(cell.dim, order)
        cells, nodes = self.rows[:, 0], mesh.geometry_nodes
        self.elements = Elements(mesh.points, mesh.cells[cells], mesh.numbers[cells], None if nodes is None else nodes[cells])

    @property
    def shape(self):
        return len(self.rows), len(self.places.face_weights)

    @cached_property
    def _metrics(self):
        found = Metrics(self.elements, self.places)
        every = np.arange(len(self.rows))
        shape = len(self.places.face_points), self.shape[1], len(self.rows)
        return [values.reshape(*values.shape[:-2], *shape)[..., self.rows[:, 1], :, every]
                for values in (found.face_x, found.normals, found.areas)]

    @cached_property
    def x(self):
        return np.moveaxis(self._metrics[0], 1, 0)

    @cached_property
    def normals(self):
        return np.moveaxis(self._metrics[1], 1, 0)

    @cached_property
    def weights(self):
        return self._metrics[2] * self.places.face_weights

    @cached_property
    def matrices(self):
        """From the nodes of an element to the points of each face, (local face, point, node)."""
        return np.array([self.cell.interpolation(points) for points in self.places.face_points])

    def take(self, values):
        """Values at the points, (..., face, point), from values (..., node, face) of each face's element."""
        return np.einsum("fpn,...nf->...fp", self.matrices[self.rows[:, 1]], values)

    def coords(self, numbers, units="normalised"):
        """Coordinates of the surface for a dataset, as those of `Surface`; normals and weights of quadrature at each point."""
        result = {}
        for axis, x, n in zip(AXES, self.x, self.normals):
            result[axis] = (("face", "face_node"), x, {"long_name": f"{axis} of the points", "units": units})
            result[f"normal_{axis}"] = (("face", "face_node"), n, {"long_name": f"{axis} component of the outward unit normal"})
        result["weight"] = (("face", "face_node"), self.weights, {"long_name": "weight of quadrature, with the face's measure"})
        result["area"] = (("face",), self.weights.sum(axis=1), {"long_name": "measure of the face"})
        result["cell_number"] = (("face",), np.asarray(numbers, "int64")[self.rows[:, 0]],
                                 {"long_name": "position among the cells of the mesh file, from 0"})
        return result
