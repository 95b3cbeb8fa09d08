"""Geometry nodes of curved cells from the nodes in mesh files, whose order differs from program to program.

Files have Lagrange nodes on an equispaced lattice, corners first. meshio 5.3.5 gives cells of order 2 VTK's order, also those
from Gmsh, and keeps Gmsh's order in the types of higher orders (triangle10, tetra20, quad16 and so on). VTK's own types
(VTK_LAGRANGE_TRIANGLE and so on) have VTK's order, hexahedra that of VTK 9."""
import re

import numpy as np
from meshio._mesh import topological_dimension

from ...reference.shapes import FILE_SHAPES
from ..curved import boundary_curves as curves, cell_maps
from .gmsh_nodes import gmsh_order
from .prism_nodes import prism_order, program_of, with_middles
from .vtk_nodes import node_order

LAGRANGE = {"VTK_LAGRANGE_CURVE": "line", "VTK_LAGRANGE_TRIANGLE": "triangle", "VTK_LAGRANGE_QUADRILATERAL": "quad",
            "VTK_LAGRANGE_TETRAHEDRON": "tetra", "VTK_LAGRANGE_HEXAHEDRON": "hexahedron", "VTK_LAGRANGE_WEDGE": "wedge",
            "VTK_LAGRANGE_PYRAMID": "pyramid"}
# Cells of order 2 that lack the nodes inside of faces and of the cell.
SERENDIPITY = {"quad8", "hexahedron20", "wedge15", "pyramid13"}
# meshio 5.3.5 reads these types, but does not know their dimension.
topological_dimension.update({"wedge15": 3, "pyramid13": 3})

def base_type(name):
    """The straight cell of a meshio type: "triangle" of triangle10 and of VTK_LAGRANGE_TRIANGLE; the name itself of others."""
    found = re.fullmatch(r"(line|triangle|quad|tetra|hexahedron|wedge|pyramid)\d*", name)
    return LAGRANGE.get(name, found[1] if found else name)


def order_in_file(name, count):
    """The order of cells of a meshio type with so many nodes. Raises ValueError for numbers that it does not have."""
    shape = FILE_SHAPES[base_type(name)]
    if count == len(shape.vertices):
        return 1
    if name == "VTK_LAGRANGE_PYRAMID":
        raise ValueError("VTK has no order of nodes for pyramids of higher order; write them as pyramid13 or pyramid14")
    return 2 if name in SERENDIPITY else cell_maps.order_of(shape, count)


def nodes_in_file(name, order, x=None):
    """Nodes of cells of a meshio type in meshio's order, (node, dim) whole numbers i: r = 2 i / order - 1; those of
    SERENDIPITY have the first of them.

    x: (cell, node, dim) where the nodes of wedges and pyramids are; of order 2 meshio gives some types VTK's order, others the
    file's"""
    shape = FILE_SHAPES[base_type(name)]
    if shape.mixed_faces:
        program = "vtk" if name in LAGRANGE else program_of(shape.in_files, x) if order == 2 else "gmsh"
        return prism_order(shape.in_files, order, program)
    return node_order(shape.name, order) if name in LAGRANGE else lattice(shape.in_files, order)


def geometry_nodes(name, x):
    """Geometry nodes (cell, node, dim) of cells of a meshio type with the file's nodes at x (cell, node, dim)."""
    shape, order = FILE_SHAPES[base_type(name)], order_in_file(name, x.shape[1])
    cell, places = cell_maps.geometry_cell(shape, order), nodes_in_file(name, order, x)
    r = 2 * places / order - 1
    if name in SERENDIPITY and shape.mixed_faces:
        x = with_middles(shape.in_files, x, places)
    elif name in SERENDIPITY:          # the nodes of order 2 are those of the geometry, in another order
        here = cell_maps.nearest_nodes(cell.nodes, r[:x.shape[1]])
        nodes, known = np.zeros((len(x), len(cell.nodes), shape.dim)), np.zeros((len(x), len(cell.nodes)), dtype=bool)
        nodes[:, here], known[:, here] = x, True
        return curves.blended_in_tensor_cells(shape, order, nodes, known)
    return np.einsum("ij,cjd->cid", np.linalg.inv(cell.interpolation(r)), x, optimize=True)


def lattice(name, order):
    """Nodes of meshio's cells of an order, as meshio orders them: (node, dim) whole numbers i, r = 2 i / order - 1.

    name: the straight cell's."""
    if order == 2:
        return node_order(FILE_SHAPES[name].name, order)
    return prism_order(name, order, "gmsh") if FILE_SHAPES[name].mixed_faces else gmsh_order(name, order)


def row_by_row(name, order):
    """For each node of meshio's cells its place among the nodes sorted by the last coordinate, then the one before, ..."""
    return np.argsort(np.lexsort(lattice(name, order).T))
