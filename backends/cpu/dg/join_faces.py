"""What the kernels of DG on the CPU offer to mortars at joins: values at the faces there, and where they lie."""
from functools import cached_property

import numpy as np

from ....methods.dg.join_faces import JoinFaces
from ....reference.columns import multiply_by_rows
from .mortars import FusedMortars


class FusedJoinFaces(JoinFaces):
    """A base class of `NodalFused`: mortars read the tiles of the state where its nodes are the points of the faces; else they
    read `values_at_joins`, which are those of the elements at joins alone."""

    mortar_list = FusedMortars

    def values_operations(self, q, copies=None):
        if self.trace is None or copies and self.cells_at_joins.max(initial=0) < self.tables.owned:
            return []
        return super().values_operations(q)

    @cached_property
    def cells_at_joins(self):
        """Numbers of the elements with faces at joins."""
        return np.unique(self.tables.join_faces.faces[:, 0])

    @cached_property
    def values_at_joins(self):
        """Values at the points of all faces of these elements, (variable, face * face point, element)."""
        return np.empty((self.tables.variables, len(self.trace), len(self.cells_at_joins)), self.backend.dtype)

    @property
    def faces_read(self):
        return "state" if self.trace is None else "values at faces"

    @property
    def face_bytes(self):
        return self.values_at_joins.nbytes

    def fill_faces(self, q):
        """Compute the values at faces that mortars take, `values_at_joins`."""
        product = self.backend.product if q.dtype == np.float64 else multiply_by_rows
        self.values_at_joins[...] = product(self.trace, self.take(q, self.cells_at_joins))

    def face_places(self, rows, corners=None):
        points = self.tables.points_of(rows[:, 1], corners)
        if self.trace is None:
            return self.places_in_tiles(rows, points, self.tables.rows)
        return points.T * len(self.cells_at_joins) + np.searchsorted(self.cells_at_joins, rows[:, 0])

    def places_in_tiles(self, rows, numbers, count):
        """Where the rows of these numbers (face, point) lie, of `count` rows of each variable, of the elements of the faces
        `rows`: (point, face)."""
        tile, lane = np.divmod(rows[:, 0], self.lanes)
        return (tile * self.tables.variables * count + numbers.T) * self.lanes + lane

    def face_array(self, q):
        """Where kernels find the values at faces, and how far the variables are apart: in the state itself, where its nodes are
        the points of the faces."""
        return (q, self.tables.rows * self.lanes) if self.trace is None else (
            self.values_at_joins.reshape(-1), self.values_at_joins[0].size)
