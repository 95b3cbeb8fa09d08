"""The order of the nodes of Gmsh's lines, triangles, quadrilaterals, tetrahedra and hexahedra. Gmsh 4, "Node ordering"."""
import numpy as np

from ...reference.shapes import FILE_SHAPES

# Edges and faces of Gmsh's cells, in its order and directions.
EDGES = {"line": (), "triangle": ((0, 1), (1, 2), (2, 0)), "quad": ((0, 1), (1, 2), (2, 3), (3, 0)),
         "tetra": ((0, 1), (1, 2), (2, 0), (3, 0), (3, 2), (3, 1)),
         "hexahedron": ((0, 1), (0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (2, 6), (3, 7), (4, 5), (4, 7), (5, 6), (6, 7))}
FACES = {"tetra": ((0, 2, 1), (0, 1, 3), (0, 3, 2), (3, 1, 2)),
         "hexahedron": ((0, 3, 2, 1), (0, 1, 5, 4), (0, 4, 7, 3), (1, 2, 6, 5), (2, 3, 7, 6), (4, 5, 6, 7))}



def gmsh_order(name, order):
    """Nodes of Gmsh's cells in its order, (node, dim) whole numbers i: r = 2 i / order - 1.

    Corners, then the nodes inside edges, faces and the cell; those inside are in turn ordered like a cell of lower order."""
    shape = FILE_SHAPES[name]
    unit = (np.array(shape.vertices, dtype=np.int64) + 1) // 2
    if order == 0:
        return np.zeros((1, shape.dim), np.int64)
    rows = [order * unit]
    for first, last in EDGES[name]:
        rows.append(order * unit[first] + np.arange(1, order)[:, None] * (unit[last] - unit[first]))
    face = {"tetra": "triangle", "hexahedron": "quad"}.get(name)
    for corners in FACES.get(name, ()):
        first, along, *rest = unit[list(corners)]
        across = rest[0] if shape.simplex else rest[-1]
        inside = _inside(face, order)
        rows.append(order * first + inside @ np.stack([along - first, across - first]))
    return np.concatenate([*rows, _inside(name, order)])


def _inside(name, order):
    """The nodes inside of a cell, which are those of a cell of lower order; on a line one after the other."""
    if name == "line":
        return np.arange(1, order)[:, None]
    shape = FILE_SHAPES[name]
    lower = order - (shape.dim + 1 if shape.simplex else 2)
    return np.zeros((0, shape.dim), np.int64) if lower < 0 else gmsh_order(name, lower) + 1
