"""Read meshes from files."""
from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...reference.shapes import FILE_SHAPES
from .. import clean
from ..elements import Elements
from ..errors import MeshError
from ..faces import together
from ..mesh import Mesh, build
from .load import load
from .names import find_groups
from .nodes import base_type, geometry_nodes, order_in_file
from .split import check_pieces, simplices
from .store import is_mesh_store, read

if TYPE_CHECKING:
    from os import PathLike

# Extent in z, relative to the extent in x and y, below which a 2D mesh counts as plane (1D: y and z against x).
FLAT = 1e-9
ALLOWED = ", ".join(FILE_SHAPES)


def read_mesh(path: str | PathLike, split: bool = False, zone: int | None = None) -> Mesh:
    """Read the mesh in the file `path`: cells of one order and one shape, or triangles and quadrilaterals together, or
    tetrahedra, prisms, pyramids and hexahedra, the boundary's faces, and names.

    split   True: quadrilaterals, hexahedra, wedges (prisms) and pyramids, also several shapes in one mesh, are cut into
            triangles or tetrahedra that fit together. Curved cells give curved pieces.
            Names are kept; `mesh.numbers` holds for each piece the number of its cell. Meshes of triangles, tetrahedra or
            lines alone are read as without it. A `Mesh` as `path` is returned as it is
    zone    which mesh of an SU2 file with several zones, its IZONE

    What becomes a name, by format:

    - Gmsh .msh (1, 2, 4.0, 4.1): physical groups, of cells and of faces
    - SU2 .su2: markers are boundaries
    - Abaqus .inp: *SURFACE of faces are boundaries, *ELSET regions, or boundaries where their elements are faces of others
    - Exodus .e, .exo (Cubit): side sets are boundaries, element blocks regions
    - Gambit .neu: boundary conditions are boundaries, element groups regions
    - MED .med: groups
    - Medit, Nastran, UGRID, Netgen, TetGen, AVS-UCD, DOLFIN: reference numbers, as "1", "2", ...
    - VTK .vtk and .vtu, XDMF .xdmf: the whole numbers in the cell data gmsh:physical, medit:ref, material, MaterialIDs,
      CellEntityIds, attribute or region

    - zarr stores that `write_mesh` or `dgarray partition` has written: all that the mesh had

    A name of faces is a boundary or an interface, one of cells a region. A group without a name goes by its number; sets of
    nodes name nothing. The first bytes say what a file is, the suffix only where they do not. Files may be compressed (.gz,
    .bz2, .xz).

    The shapes are lines, triangles, quadrilaterals, tetrahedra, prisms (wedges), pyramids and hexahedra. Cells of the orders 2
    to 10 (meshio's triangle6, quad9, tetra10, wedge18, pyramid14, hexahedron27 and so on, also quad8, wedge15, pyramid13 and
    hexahedron20, and VTK's Lagrange cells) become curved cells, or straight ones where they are all straight to rounding.
    Hexahedra, wedges and pyramids from Gmsh have the order 9 at most; VTK has pyramids up to order 2.

    A mesh at constant z is read as 2D. `mesh.numbers` counts cells as in the file, from 0, in the highest dimension.
    Raises MeshError, one line with file, place and remedy, for a file that cannot be used. Warns with `mesh.notes`."""
    if isinstance(path, Mesh):
        if split and not all(shape.simplex for shape in path.shapes):
            raise MeshError(f"{path.source} is a mesh already, of {path.cell_type} cells; split=True is for files")
        return path
    if not isinstance(path, (str, os.PathLike)):
        raise MeshError(f"read_mesh({path!r}) is not allowed; give the name of a mesh file")
    if zone is not None and (isinstance(zone, bool) or not isinstance(zone, (int, np.integer))):
        raise MeshError(f"read_mesh(zone={zone!r}) is not allowed; give the number of a zone in an SU2 file")
    path = Path(path)
    if is_mesh_store(path):
        if split or zone is not None:
            raise MeshError(f"{path} is a mesh that dgarray has written; split and zone are for the files of other programs")
        return read(path)
    data, notes = load(path, zone)
    try:
        arrays = _arrays(data, split)
    except MeshError as error:
        raise MeshError(f"{path}: {error}") from None
    arrays["found"] = tuple(dict.fromkeys((*notes, *arrays["found"])))
    return build(**arrays, source=str(path))


def _arrays(file, split=False):
    """The arguments of `build` from a meshio mesh; split: with its cells cut into simplices."""
    sizes = [len(block.data) for block in file.cells]
    if not sum(sizes):
        raise MeshError("the file has no cells")
    dim = max(block.dim for block, size in zip(file.cells, sizes) if size)
    volume = [k for k, block in enumerate(file.cells) if block.dim == dim and sizes[k]]
    start, before = np.cumsum([0, *sizes]), dict(zip(volume, np.cumsum([0] + [sizes[k] for k in volume])))
    data, parents = file, [np.arange(size) for size in sizes]
    if split:
        data, parents = simplices(file, dim, lambda k, cell: named(before[k] + cell, start[k] + 1 + cell))

    def pieces(k, inside):
        """Numbers of the pieces into which these cells of block k are cut, or of the cells where nothing is."""
        return inside if data is file else np.flatnonzero(np.isin(np.arange(sizes[k]), inside)[parents[k]])
    types = {(block.type, np.shape(block.data)[1]) for block, size in zip(data.cells, sizes) if size and block.dim == dim}
    face_types = {block.type for block, size in zip(data.cells, sizes) if size and block.dim == dim - 1}
    _check_types({name for name, _ in types} | (face_types if dim > 1 else set()))
    if dim == 0:
        raise MeshError(f"the file has points, but no cells; allowed: {ALLOWED}")
    shapes = _shapes(types, face_types)
    volume.sort(key=lambda k: list(shapes).index(base_type(data.cells[k].type)))          # cells of one shape after the other
    cells = {shape.name: np.concatenate([np.asarray(data.cells[k].data, dtype=np.int64) for k in volume
                                         if base_type(data.cells[k].type) == name]) for name, shape in shapes.items()}
    offset = dict(zip(volume, np.cumsum([0] + [len(parents[k]) for k in volume])))
    numbers, elements = (np.concatenate([first[k] + parents[k] for k in volume]) for first in (before, start + 1))
    regions, notes = find_groups(file, dim)
    boundaries, more = find_groups(file, dim - 1)
    _check_faces(file, dim, start)
    facets = {name: together([_corners(data.cells[k])[pieces(k, inside)] for k, inside in members])
              for name, members in boundaries.items()}
    points = _flat(np.asarray(data.points, dtype=np.float64), cells, next(iter(shapes.values())))
    nodes, first = None, 0
    if any(len(shape.vertices) < cells[shape.name].shape[1] for shape in shapes.values()):
        nodes = {}
        for name, shape in shapes.items():
            own = cells[shape.name]

            def label(k, first=first):
                return named(numbers[first + k], elements[first + k])
            clean.check_used(points, own, label)
            types = {data.cells[k].type for k in volume if base_type(data.cells[k].type) == name}
            nodes[shape.name] = geometry_nodes(types.pop(), points[own])
            first += len(own)
        points, cells, facets = _corners_alone(points, cells, facets, shapes.values())
    if data is not file:
        [(name, corners)] = cells.items()
        check_pieces(Elements(points, corners, numbers, nodes and nodes[name]), lambda k: named(numbers[k], elements[k]))
    return {
        "points": points,
        "cells": cells,
        "geometry_nodes": nodes,
        "facets": facets,
        "groups": {name: np.unique(np.concatenate([offset[k] + pieces(k, inside) for k, inside in members]))
                   for name, members in regions.items()},
        "numbers": numbers,
        "elements": elements,
        "found": tuple(dict.fromkeys(notes + more)),
    }


def named(number, element):
    """A cell of the file in messages."""
    return f"cell {number} (element {element} in the file)"


def _corners(block):
    """Corners (cell, corner) of the cells in a block of a meshio mesh."""
    name = base_type(block.type)
    count = len(FILE_SHAPES[name].vertices) if name in FILE_SHAPES else 1
    return np.asarray(block.data, dtype=np.int64)[:, :count]


def _check_faces(file, dim, start):
    """Refuse boundary faces on nodes that are not there; start: position of the first element of each block."""
    for block, first in zip(file.cells, start):
        rows = np.asarray(block.data)
        if block.dim == dim - 1 and len(rows):
            outside = np.flatnonzero(((rows < 0) | (rows >= len(file.points))).any(axis=1))
            if len(outside):
                more = f" (and {len(outside) - 1} more)" if len(outside) > 1 else ""
                raise MeshError(f"the boundary face {outside[0] + 1 + first} among the elements of the file{more} names a node "
                                f"that does not exist; the mesh has {len(file.points)} nodes; mend the file or write it again")


def _corners_alone(points, cells, facets, shapes):
    """Points, cells {shape: (cell, corner)} and facets without the points that only lie between the corners of cells."""
    kept = np.ones(len(points), dtype=bool)
    for shape in shapes:
        kept[cells[shape.name][:, len(shape.vertices):]] = False
    for shape in shapes:
        kept[cells[shape.name][:, :len(shape.vertices)]] = True
    number = np.where(kept, np.cumsum(kept) - 1, -1)
    return (points[kept], {shape.name: number[cells[shape.name][:, :len(shape.vertices)]] for shape in shapes},
            {name: number[rows] for name, rows in facets.items()})


def _check_types(types):
    """Refuse cell types other than those with a `Shape`, by name."""
    strange = sorted(name for name in types if base_type(name) not in {*FILE_SHAPES, "vertex"})
    if strange:
        raise MeshError(f"cells of type {', '.join(map(repr, strange))} are not supported; allowed: {ALLOWED}"
                        + ("; cut them into simplices (ParaView: Tetrahedralize)" if strange[0].startswith("poly") else ""))


def _shapes(types, face_types):
    """{base type in meshio: `Shape`} of cells of these types (name, nodes).

    Raises MeshError for cells of several orders, for faces of another shape, and for orders that are not read."""
    names = sorted({base_type(name) for name, _ in types}, key=list(FILE_SHAPES).index)
    if len(types) > len(names):
        found = ", ".join(sorted(f"'{name}' with {count} nodes" for name, count in types))
        raise MeshError(f"cells of type {found} in one mesh are not supported; write all with one order")
    shapes, orders = {name: FILE_SHAPES[name] for name in names}, set()
    for name, count in sorted(types):
        try:
            orders.add(order_in_file(name, count))
        except ValueError as error:
            raise MeshError(f"curved cells of type {name!r} are not supported: {error}") from None
    if len(orders) > 1:
        raise MeshError(f"cells of the orders {', '.join(map(str, sorted(orders)))} in one mesh are not supported; write all "
                        "with one order")
    allowed = {kind for shape in shapes.values() for kind in shape.faces_in_files}
    if strange := sorted(face for face in face_types if base_type(face) not in allowed):
        raise MeshError(f"boundary faces of type {', '.join(map(repr, strange))} do not fit "
                        f"{' and '.join(shape.name for shape in shapes.values())} cells; allowed: {', '.join(sorted(allowed))}")
    return shapes


def _flat(points, cells, shape):
    """The first coordinates of `points`, as many as `shape` has, if the others are constant on all used points."""
    dim = shape.dim
    if points.shape[1] < dim:
        raise MeshError(f"{shape.name} cells need {dim} coordinates, the points have {points.shape[1]}")
    cells = np.concatenate([rows.ravel() for rows in cells.values()])
    inside = cells[(cells >= 0) & (cells < len(points))]
    used = points[inside]
    used = used[np.isfinite(used).all(axis=1)]
    extent = np.ptp(used, axis=0) if len(used) else np.zeros(points.shape[1])
    if np.any(extent[dim:] > FLAT * extent[:dim].max()):
        raise MeshError(f"there are no volume cells: the {shape.name} cells lie on a "
                        f"{'surface' if dim == 2 else 'curve'} in {points.shape[1]}D "
                        f"({'xyz'[dim]} varies by {extent[dim]:.3g}); allowed: tetra, wedge, pyramid or hexahedron in 3D, "
                        "triangle or quad at constant z, line at constant y and z")
    return points[:, :dim]
