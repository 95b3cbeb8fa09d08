"""Geometry nodes of curved cells from the nodes in mesh files, whose order differs from program to program.

Files have Lagrange nodes on an equispaced lattice, corners first. meshio 5.3.5 gives cells of order 2 VTK's order, also those
from Gmsh, and keeps Gmsh's order in the types of higher orders (triangle10, tetra20, quad16 and so on). VTK's own types
(VTK_LAGRANGE_TRIANGLE and so on) have VTK's order, hexahedra that of VTK 9."""
import re

import numpy as np

from ..reference.shapes import FILE_SHAPES
from . import cell_maps, curves
from .vtk_nodes import node_order

LAGRANGE = {"VTK_LAGRANGE_CURVE": "line", "VTK_LAGRANGE_TRIANGLE": "triangle", "VTK_LAGRANGE_QUADRILATERAL": "quad",
            "VTK_LAGRANGE_TETRAHEDRON": "tetra", "VTK_LAGRANGE_HEXAHEDRON": "hexahedron"}
# Cells of order 2 that lack the nodes inside of faces and of the cell.
SERENDIPITY = {"quad8", "hexahedron20"}
# Edges and faces of Gmsh's cells, in its order and directions. Gmsh 4, "Node ordering".
EDGES = {"line": (), "triangle": ((0, 1), (1, 2), (2, 0)), "quad": ((0, 1), (1, 2), (2, 3), (3, 0)),
         "tetra": ((0, 1), (1, 2), (2, 0), (3, 0), (3, 2), (3, 1)),
         "hexahedron": ((0, 1), (0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (2, 6), (3, 7), (4, 5), (4, 7), (5, 6), (6, 7))}
FACES = {"tetra": ((0, 2, 1), (0, 1, 3), (0, 3, 2), (3, 1, 2)),
         "hexahedron": ((0, 3, 2, 1), (0, 1, 5, 4), (0, 4, 7, 3), (1, 2, 6, 5), (2, 3, 7, 6), (4, 5, 6, 7))}


def base_type(name):
    """The straight cell of a meshio type: "triangle" of triangle10 and of VTK_LAGRANGE_TRIANGLE; the name itself of others."""
    found = re.fullmatch(r"(line|triangle|quad|tetra|hexahedron)\d*", name)
    return LAGRANGE.get(name, found[1] if found else name)


def order_in_file(name, count):
    """The order of cells of a meshio type with so many nodes. Raises ValueError for a type that is not of Lagrange cells."""
    shape = FILE_SHAPES[base_type(name)]
    if count == len(shape.vertices):
        return 1
    return 2 if name in SERENDIPITY else cell_maps.order_of(shape, count)


def nodes_in_file(name, order):
    """Nodes of cells of a meshio type in meshio's order, (node, dim) whole numbers i: r = 2 i / order - 1; quad8 and
    hexahedron20 have the first of them."""
    shape = FILE_SHAPES[base_type(name)]
    return node_order(shape.name, order) if name in LAGRANGE else lattice(shape.in_files, order)


def geometry_nodes(name, x):
    """Geometry nodes (cell, node, dim) of cells of a meshio type with the file's nodes at x (cell, node, dim)."""
    shape, order = FILE_SHAPES[base_type(name)], order_in_file(name, x.shape[1])
    cell = cell_maps.geometry_cell(shape, order)
    r = 2 * nodes_in_file(name, order) / order - 1
    if name in SERENDIPITY:          # the nodes of order 2 are those of the geometry, in another order
        here = cell_maps.nearest_nodes(cell.nodes, r[:x.shape[1]])
        nodes, known = np.zeros((len(x), len(cell.nodes), shape.dim)), np.zeros((len(x), len(cell.nodes)), dtype=bool)
        nodes[:, here], known[:, here] = x, True
        return curves.blended_in_tensor_cells(shape, order, nodes, known)
    return np.einsum("ij,cjd->cid", np.linalg.inv(cell.interpolation(r)), x, optimize=True)


def lattice(name, order):
    """Nodes of meshio's cells of an order, as meshio orders them: (node, dim) whole numbers i, r = 2 i / order - 1.

    name: the straight cell's."""
    return node_order(FILE_SHAPES[name].name, order) if order == 2 else gmsh_order(name, order)


def row_by_row(name, order):
    """For each node of meshio's cells its place among the nodes sorted by the last coordinate, then the one before, ..."""
    return np.argsort(np.lexsort(lattice(name, order).T))


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
