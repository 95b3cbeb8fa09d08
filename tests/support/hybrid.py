"""Mesh files with cells of all kinds and any order: each cube or square of a lattice is cut into cells of one kind."""
from itertools import product

import meshio
import numpy as np

from dgarray.mesh.files.nodes import gmsh_order, nodes_in_file
from dgarray.mesh.files.prism_nodes import prism_order
from dgarray.mesh.files.split_nodes import LATTICE_TYPES
from dgarray.mesh.files.split_tables import KINDS

# Cells in the unit cube or square, by corners; the six pyramids and the twelve tetrahedra in a cube meet in its centre.
SQUARE = (0, 0), (1, 0), (1, 1), (0, 1)
CUBE = tuple((*corner, z) for z in (0, 1) for corner in SQUARE)
BASES = [[CUBE[i] for i in face[::-1]] for face in KINDS["hexahedron"].faces]
CELLS = {"quad": [SQUARE], "triangle": [SQUARE[:3], (SQUARE[0], *SQUARE[2:])], "hexahedron": [CUBE],
         "wedge": [[CUBE[i] for i in (1, 2, 3, 5, 6, 7)], [CUBE[i] for i in (1, 3, 0, 5, 7, 4)]],
         "pyramid": [(*base, (0.5, 0.5, 0.5)) for base in BASES]}
SIDES = ("left", "right"), ("front", "back"), ("bottom", "top")
SHORT = {"quad": 8, "hexahedron": 20, "wedge": 15, "pyramid": 13}
# The corners after the first along the axes of the unit cell.
AXES = {"line": (1,), "triangle": (1, 2), "quad": (1, 3), "tetra": (1, 2, 3), "hexahedron": (1, 3, 4), "wedge": (1, 2, 3),
        "pyramid": (1, 3, 4)}


def type_of(kind, order, program, count):
    """The name in meshio of cells with so many nodes; program "lagrange": that of VTK's Lagrange cells."""
    if program == "lagrange":
        return LATTICE_TYPES.get(kind, "VTK_LAGRANGE_CURVE")
    return kind if order == 1 else f"{kind}{count}"


def places_of(kind, order, program):
    """Places (node, dim) of the nodes in the unit cell, in the order in which meshio has them in files of a program."""
    if kind == "line":
        return gmsh_order("line", order) / order
    if kind in ("wedge", "pyramid"):
        return prism_order(kind, order, "gmsh" if program == "gmsh" else "vtk") / order
    return nodes_in_file(type_of(kind, order, program, 0), order) / order


def faces_of(kind):
    """The corners of the faces of a cell."""
    if kind in ("quad", "triangle"):
        count = len(KINDS[kind].corners)
        return [(i, (i + 1) % count) for i in range(count)]
    return KINDS[kind].faces


def hybrid(kinds, order=1, x=None, short=False, program="gmsh", turned=(), shuffled=False):
    """A meshio mesh of the unit square or cube.

    kinds    array of the kind of the cells in each square or cube of the lattice
    x        map of the points (point, dim)
    short    whether cells lack the nodes inside of faces and cells, at order 2
    program  whose order of nodes prisms and pyramids have, "gmsh" or "vtk"; "lagrange": VTK's Lagrange cells
    turned   kinds of which every other cell has the other orientation
    shuffled whether the points are numbered at random
    Groups: the sides, the kinds, and "middle": the faces at x_0 = 1/2 on the lattice."""
    kinds, cells, facets = np.asarray(kinds), {}, {}
    for place in product(*map(range, kinds.shape)):
        for corners in CELLS[kinds[place]]:
            cells.setdefault(kinds[place], []).append((np.array(corners, dtype=float) + place) / kinds.shape)
    sides = [(name, axis, end) for axis, pair in enumerate(SIDES[:kinds.ndim]) for end, name in enumerate(pair)]
    for kind, found in cells.items():
        for corners in found:
            for face in faces_of(kind):
                here = corners[list(face)]
                for name, axis, end in (*sides, ("middle", 0, 0.5)):
                    if np.all(here[:, axis] == end):
                        shape = {2: "line", 3: "triangle", 4: "quad"}[len(here)]
                        facets.setdefault((shape, name), {})[tuple(sorted(map(tuple, here)))] = here
    blocks = [(kind, kind, np.array(found)) for kind, found in cells.items()]
    blocks += [(shape, name, np.array(list(found.values()))) for (shape, name), found in facets.items()]
    names = {name: (number + 1, kinds.ndim - (name not in cells)) for number, name in enumerate(dict.fromkeys(
        name for _, name, _ in blocks))}
    nodes, types = [], []
    for kind, name, corners in blocks:
        first, axes = corners[:, :1], corners[:, list(AXES[kind])] - corners[:, :1]
        if name in turned:
            swapped = np.arange(len(corners)) % 2 == 1
            axes[swapped] = axes[swapped][:, [1, 0, 2][:axes.shape[1]]]
        inside = places_of(kind, order, program)
        inside = inside[:SHORT[kind]] if short and kind in SHORT else inside
        nodes.append(first + inside @ axes)
        types.append(type_of(kind, order, program, len(inside)))
    everywhere = np.concatenate([rows.reshape(-1, kinds.ndim) for rows in nodes])
    points, number = np.unique(np.round(everywhere, 9), axis=0, return_inverse=True)
    if shuffled:
        at = np.random.default_rng(0).permutation(len(points))
        points, number = points[at], np.argsort(at)[number.ravel()]
    ends = np.cumsum([0] + [rows.shape[0] * rows.shape[1] for rows in nodes])
    numbered = [number.ravel()[a:b].reshape(rows.shape[:2]) for a, b, rows in zip(ends, ends[1:], nodes)]
    points = points if x is None else x(points)
    points = np.column_stack([points, np.zeros(len(points))]) if kinds.ndim == 2 else points
    tags = [np.full(len(rows), names[name][0]) for (_, name, _), rows in zip(blocks, numbered)]
    return meshio.Mesh(points, list(zip(types, numbered)), field_data={name: np.array(value) for name, value in names.items()},
                       cell_data={"gmsh:physical": tags, "gmsh:geometrical": tags})
