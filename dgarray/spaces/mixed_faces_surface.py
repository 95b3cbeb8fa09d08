"""Faces of prisms and pyramids as a surface: points of quadrature, normals, weights, and values there."""
from functools import cached_property

import numpy as np

from ..mesh.curved import cell_maps
from ..reference import modal_cell
from .simplex_metrics import face_metrics
from .tensor_surface import TensorSurface


class MixedFacesSurface(TensorSurface):
    """Some faces of prisms or pyramids with the points of a `ModalMixedFacesCell` on them: those of triangles, which are fewer,
    are filled up by the first point with the weight 0.

    degree: of the quadrature, by default 2 order + 1"""

    def __init__(self, mesh, cell, rows, degree=None):
        super().__init__(mesh, cell, rows)
        self.places = modal_cell(mesh.cell_shape, cell.order, degree)

    @property
    def shape(self):
        return len(self.rows), self.places.face_weights.shape[1]

    @cached_property
    def _metrics(self):
        normals, areas = face_metrics(self.elements, self.places.face_points)
        x = np.stack([cell_maps.positions(self.elements, r) for r in self.places.face_points], axis=1)
        every = np.arange(len(self.rows))
        return [values[..., self.rows[:, 1], :, every] for values in (x, normals, areas)]

    @cached_property
    def weights(self):
        return self._metrics[2] * self.places.face_weights[self.rows[:, 1]]
