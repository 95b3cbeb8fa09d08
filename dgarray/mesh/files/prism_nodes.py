"""The order of the nodes of wedges (prisms) and pyramids in mesh files: that of VTK and that of Gmsh.

Corners first, then the nodes inside the edges, the faces and the cell. Gmsh 4, "Node ordering"; vtkHigherOrderWedge,
vtkQuadraticPyramid of VTK, which has no order of nodes for pyramids above the second."""
import numpy as np

from ...reference.shapes import FILE_SHAPES
from .gmsh_nodes import gmsh_order

# Edges and faces in the order and the directions of each program.
EDGES = {("wedge", "gmsh"): ((0, 1), (0, 2), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (3, 5), (4, 5)),
         ("wedge", "vtk"): ((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)),
         ("pyramid", "gmsh"): ((0, 1), (0, 3), (0, 4), (1, 2), (1, 4), (2, 3), (2, 4), (3, 4)),
         ("pyramid", "vtk"): ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4))}
FACES = {("wedge", "gmsh"): ((0, 2, 1), (3, 4, 5), (0, 1, 4, 3), (0, 3, 5, 2), (1, 2, 5, 4)),
         ("wedge", "vtk"): ((0, 1, 2), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)),
         ("pyramid", "gmsh"): ((0, 1, 4), (3, 0, 4), (1, 2, 4), (2, 3, 4), (0, 3, 2, 1)),
         ("pyramid", "vtk"): ((0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4), (0, 3, 2, 1))}


def prism_order(name, order, program):
    """Nodes of wedges or pyramids in the order of a program, "vtk" (of pyramids up to order 2) or "gmsh": (node, 3) whole
    numbers i, x = x_0 + sum_k i_k / order (x_k - x_0), with k the corners 1, 2, 3 of a wedge, 1, 3, 4 of a pyramid."""
    unit = unit_corners(name)
    if order == 0:
        return unit[:1]
    rows = [order * unit]
    for first, last in EDGES[name, program]:
        rows.append(order * unit[first] + np.arange(1, order)[:, None] * (unit[last] - unit[first]))
    for corners in FACES[name, program]:
        first, along, across = unit[[corners[0], corners[1], corners[-1]]]
        rows.append(order * first + _in_face(len(corners), order, program) @ np.stack([along - first, across - first]))
    if name == "wedge":
        triangle, line = _in_face(3, order, program), _in_edge(order, program)
        both = [(t, z) for t in triangle for z in line] if program == "gmsh" else [(t, z) for z in line for t in triangle]
        rows.append(np.array([(*t, z) for t, z in both], dtype=np.int64).reshape(-1, 3))
    elif order > 2:
        rows.append(prism_order(name, order - 3, program) + 1)
    return np.concatenate(rows)


def unit_corners(name):
    """Corners (corner, dim) of the cells of a straight type of meshio in [0, 1]^dim, whole numbers."""
    return ((FILE_SHAPES[name].corners + 1) / 2).astype(np.int64)


def program_of(name, x):
    """Whose order the nodes x (cell, node, dim) of wedges or pyramids of order 2 have, "vtk" or "gmsh": in it they lie near the
    middles of edges and faces."""
    def bend(program):
        faces = [face for face in FACES[name, program] if len(face) == 4]
        between = zip(range(len(unit_corners(name)), x.shape[1]), (*EDGES[name, program], *faces))
        return sum(np.linalg.norm(x[:, node] - x[:, list(corners)].mean(axis=1), axis=1).sum() for node, corners in between)
    return min(("vtk", "gmsh"), key=bend)


def find(places, wanted, order):
    """Numbers (...) of the nodes at the places `wanted` (..., dim) among `places` (node, dim)."""
    base = (order + 1) ** np.arange(places.shape[1])
    key = places @ base
    ordered = np.argsort(key)
    return ordered[np.searchsorted(key[ordered], wanted @ base)]


def with_middles(name, x, places):
    """The nodes x (cell, node, dim) of wedges or pyramids of order 2, at the first of the `places` (node, 3), with the middles
    of quadrilateral faces, which they lack: half the sum of the nodes of a face's edges less a quarter of that of its
    corners."""
    unit, around = unit_corners(name), np.array([face for face in FACES[name, "vtk"] if len(face) == 4])
    edges = find(places, unit[around] + unit[np.roll(around, -1, axis=1)], 2)
    there = find(places, unit[around].sum(axis=1) // 2, 2)
    result = np.concatenate([x, np.empty((len(x), len(around), 3))], axis=1)
    result[:, there] = x[:, edges].sum(axis=2) / 2 - x[:, around].sum(axis=2) / 4
    return result


def _in_edge(order, program):
    """The nodes inside of an upright edge, by which those inside of the cell are ordered."""
    return gmsh_order("line", order - 2)[:, 0] + 1 if program == "gmsh" and order > 1 else np.arange(1, order)


def _in_face(corners, order, program):
    """The nodes inside of a face, (node, 2): Gmsh orders them like those of a cell of lower order, VTK row by row."""
    if program == "vtk":
        last = [order - 1] * order if corners == 4 else range(order - 1, -1, -1)
        return np.array([(i, j) for j in range(1, order) for i in range(1, 1 + last[j - (corners == 4)])], dtype=np.int64
                        ).reshape(-1, 2)
    lower = order - (2 if corners == 4 else 3)
    return gmsh_order("quad" if corners == 4 else "triangle", lower) + 1 if lower >= 0 else np.zeros((0, 2), np.int64)
