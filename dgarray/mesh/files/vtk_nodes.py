"""The order of the nodes in VTK's Lagrange cells.

vtkHigherOrderCurve, -Triangle, -Tetra, -Quadrilateral, -Hexahedron and -Wedge of VTK.
"""
import numpy as np

from ...reference.shapes import NAMED_SHAPES
from ...support.wording import choose
from .prism_nodes import prism_order

# Vertices of the edges, faces and the whole of each simplex, in the order in which VTK numbers the nodes inside them.
PARTS = {0: (), 1: ((0, 1),), 2: ((0, 1), (1, 2), (2, 0), (0, 1, 2)),
         3: ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3), (0, 1, 3), (2, 3, 1), (0, 3, 2), (0, 2, 1), (0, 1, 2, 3))}


def node_order(cell_type, order):
    """Nodes of VTK's Lagrange cell in VTK's order, (node, dim) whole numbers i: x = x_0 + sum_k i_k / order (x_k - x_0).

    Corners first, then the nodes inside edges, faces and the cell; those of triangles and tetrahedra are in turn ordered
    like a cell of lower order. Raises ValueError for an unknown cell type."""
    choose("cell type", cell_type, ["vertex", *NAMED_SHAPES])
    if cell_type == "vertex":
        return _simplex_order(0, order)
    shape = NAMED_SHAPES[cell_type]
    if shape.mixed_faces:
        return prism_order(shape.in_files, order, "vtk")
    return (_tensor_order if shape.tensor else _simplex_order)(shape.dim, order)


def _tensor_order(dim, order):
    """Nodes of a quadrilateral or hexahedron, (node, dim): corners anticlockwise, at the bottom first; edges of bottom and
    top, upright ones; faces across x, y, z; inside, x fastest. All but the corners run along the axes."""
    corners = [(0, 0), (1, 0), (1, 1), (0, 1)]
    corners = np.array(corners if dim == 2 else [(*c, z) for z in (0, 1) for c in corners]) * order
    between = np.arange(1, order)

    def part(*along):
        """The lattice of these coordinates along each axis, x fastest."""
        return np.stack([a.ravel() for a in np.meshgrid(*along[::-1], indexing="ij")[::-1]], axis=1)
    levels = [()] if dim == 2 else [([0],), ([order],)]
    rows = [corners]
    for level in levels:
        rows += [part(between, [0], *level), part([order], between, *level), part(between, [order], *level),
                 part([0], between, *level)]
    if dim == 3:
        rows += [part([x], [y], between) for x, y in corners[:4, :2]]
        rows += [part(*(between if a != axis else [end] for a in range(3))) for axis in range(3) for end in (0, order)]
    return np.vstack([*rows, part(*dim * [between])]).astype("int64")


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
