"""Nodal elements as VTK's Lagrange cells: node order, points, values and topology.

VTK's Lagrange cells interpolate at equispaced points, so our polynomials are evaluated there.
Node order: vtkHigherOrderCurve, vtkHigherOrderTriangle and vtkHigherOrderTetra of VTK.
"""
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dgarray.output.dataset import CELL_TYPES
from dgarray.reference.simplex import FACES, simplex
from dgarray.wording import choose

VTK_TYPES = {"vertex": 1, "line": 68, "triangle": 69, "tetra": 71}
# Vertices of the edges, faces and the whole of each simplex, in the order in which VTK numbers the nodes inside them.
PARTS = {0: (), 1: ((0, 1),), 2: ((0, 1), (1, 2), (2, 0), (0, 1, 2)),
         3: ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3), (0, 1, 3), (2, 3, 1), (0, 3, 2), (0, 2, 1), (0, 1, 2, 3))}
BLOCK_VALUES = 2**20
XML_TYPES = {"f4": "Float32", "f8": "Float64", "i4": "Int32", "i8": "Int64", "u1": "UInt8"}


def node_order(cell_type, order):
    """Nodes of VTK's Lagrange cell in VTK's order, (node, dim) whole numbers i: x = x_0 + sum_k i_k / order (x_k - x_0).

    Corners first, then the nodes inside edges, faces and the cell; those of triangles and tetrahedra are in turn ordered
    like a cell of lower order. Raises ValueError for an unknown cell type."""
    dims = {"vertex": 0, "line": 1, "triangle": 2, "tetra": 3}
    return _simplex_order(dims[choose("cell type", cell_type, dims)], order)


def _simplex_order(dim, order):
    unit = np.vstack([np.zeros((1, dim), "int64"), np.eye(dim, dtype="int64")])
    if order == 0:
        return unit[:1]
    rows = [order * unit]
    for first, *others in PARTS[dim]:
        rows.append(order * unit[first] + _inside(len(others), order) @ (unit[others] - unit[first]))
    return np.vstack(rows)


def _inside(dim, order):
    if dim == 1:
        return np.arange(1, order)[:, None]
    return _simplex_order(dim, order - dim - 1) + 1 if order > dim else np.zeros((0, dim), "int64")


@dataclass(frozen=True, eq=False, repr=False)
class Grid:
    """Elements and named faces as VTK's points and cells: the elements first, then the faces.

    points (point, dim) corners; cells (element, dim + 1); order of the nodal polynomials
    faces  (face, 2) rows (element, local face)"""

    points: np.ndarray
    cells: np.ndarray
    order: int
    faces: np.ndarray

    def __repr__(self):
        return f"Grid({len(self.cells)} {self.cell_type} cells of order {self.order}, {len(self.faces)} faces)"

    @property
    def dim(self):
        return self.points.shape[1]

    @property
    def cell_type(self):
        return CELL_TYPES[self.dim]

    @cached_property
    def lattice(self):
        return node_order(self.cell_type, self.order)

    @cached_property
    def interpolation(self):
        """Matrix (VTK node, node) from our nodes to VTK's."""
        return simplex(self.dim, self.order).interpolation(2 * self.lattice / self.order - 1)

    @property
    def size(self):
        """Number of points."""
        return len(self.cells) * len(self.lattice)

    def blocks(self):
        """Slices of elements that bound the temporary memory."""
        step = max(1, BLOCK_VALUES // len(self.lattice))
        return [slice(start, min(start + step, len(self.cells))) for start in range(0, len(self.cells), step)]

    def coordinates(self):
        """Blocks (point, 3) of x, with zeros for the missing axes."""
        tail = self.lattice / self.order
        corners = np.column_stack([1 - tail.sum(axis=1), tail])
        for block in self.blocks():
            x = np.zeros(((block.stop - block.start) * len(corners), 3))
            x[:, :self.dim] = (corners @ self.points[self.cells[block]]).reshape(-1, self.dim)
            yield x

    def values(self, nodal):
        """Blocks (point,) of the field nodal (element, node) at VTK's nodes, in its own precision."""
        for block in self.blocks():
            # A state that went bad is exported, too: its values that are not finite stay so, without a warning.
            with np.errstate(invalid="ignore", over="ignore"):
                yield (nodal[block].astype("float64") @ self.interpolation.T).astype(real(nodal.dtype)).reshape(-1)

    def cell_values(self, each):
        """Values of all cells from those of the elements: a face has its element's."""
        each = np.asarray(each)
        each = each.astype("uint8") if each.dtype == bool else each
        if each.dtype.str[1:] not in XML_TYPES:
            each = each.astype("int64" if each.dtype.kind in "iu" else "float64")
        return np.concatenate([each, each[self.faces[:, 0]]])

    def topology(self):
        """connectivity (int64), offsets (cell + 1,) into it, and VTK's types (cell,)."""
        count, face_type = len(self.lattice), {1: "vertex", **CELL_TYPES}.get(self.dim - 1, "vertex")
        sides = node_order(face_type, self.order)
        number = {tuple(node): position for position, node in enumerate(self.lattice.tolist())}
        unit = np.vstack([np.zeros((1, self.dim), "int64"), np.eye(self.dim, dtype="int64")])
        local = np.array([[number[tuple(node)] for node in
                           (self.order * unit[first] + sides @ (unit[others] - unit[first])).tolist()]
                          for first, *others in FACES[self.dim]])
        faces = self.faces[:, :1] * count + local[self.faces[:, 1]]
        sizes = np.repeat([count, faces.shape[1]], [len(self.cells), len(faces)])
        types = np.repeat([VTK_TYPES[self.cell_type], VTK_TYPES[face_type]], [len(self.cells), len(faces)])
        return (np.concatenate([np.arange(self.size), faces.reshape(-1)]), np.concatenate([[0], np.cumsum(sizes)]),
                types.astype("uint8"))


def real(dtype):
    """The type in which a field is written: float32 stays, all else becomes float64."""
    return np.dtype("float32" if dtype == np.float32 else "float64")
