"""The cells of a mesh alone, as a dataset holds them: corners and geometry nodes, without faces and neighbours."""
from typing import NamedTuple

import numpy as np

from ..reference.shapes import shape_of
from .curved.cell_maps import map_order


class Elements(NamedTuple):
    """points (point, dim) and cells (cell, corner), numbers (cell,) of the cells in their file, and geometry_nodes (cell, node,
    dim) of curved cells, as those of a `Mesh`."""

    points: np.ndarray
    cells: np.ndarray
    numbers: np.ndarray
    geometry_nodes: np.ndarray | None = None

    @property
    def dim(self):
        return self.points.shape[1]

    @property
    def order(self):
        """The degree of the cells' maps."""
        return map_order(self)

    @property
    def cell_shape(self):
        return shape_of(self.points, self.cells)
