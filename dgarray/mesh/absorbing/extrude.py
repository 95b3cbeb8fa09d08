"""Layers of cells that grow outwards from boundary faces of a mesh.

Over a point grows a line, over an edge a quadrilateral, over a triangle a prism, over a quadrilateral a hexahedron. In a mesh
of triangles or tetrahedra alone, each of these is cut into such cells, along diagonals that neighbours agree on."""
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...reference.shapes import NAMED_SHAPES, SHAPES
from .. import checks, interfaces as inner_faces, periodic
from ..curved import cell_maps
from ..elements import Elements
from ..errors import MeshError
from ..faces import is_triangle, keys, together
from ..files.split import cut_faces, ranks
from ..files.split_tables import KINDS, cell_codes, tables
from ..memory import check_room
from ..mesh import build

# The shape of the cells over faces, by dimension and number of corners, and their order around a face.
OVER = {(1, 1): "line", (2, 2): "quadrilateral", (3, 3): "prism", (3, 4): "hexahedron"}
AROUND = {1: (0,), 2: (0, 1), 3: (0, 1, 2), 4: (0, 1, 3, 2)}
# The ends of the edges of a face, by the length of its row of point numbers; those of an edge are its two points.
EDGES = {1: np.empty((0, 1), int), 2: np.array([(0,), (1,)]), 3: np.array([(0, 1), (1, 2), (2, 0)]),
         4: np.array([(0, 1), (1, 3), (3, 2), (2, 0)])}


class Cells(NamedTuple):
    """Cells of one shape: corners (cell, corner), geometry nodes (cell, node, dim) or None, and the number (cell,) of the old
    cell that each grows out of."""

    corners: np.ndarray
    nodes: np.ndarray | None
    parents: np.ndarray


class Levels:
    """The points of the extruded faces on every level, from the faces, level 0, to the outer end of the layers."""

    def __init__(self, points, base, move, steps, simplices):
        self.steps, self.simplices, self.base = steps, simplices, base
        self.points = np.concatenate([points, *(move(points[base], step / steps) for step in range(1, steps + 1))])
        self.numbers = np.vstack([base, len(points) + np.arange(steps * len(base)).reshape(steps, -1)])
        self.rank = ranks(self.points) if simplices else None

    def at(self, rows):
        """Point numbers (level, ...) over points of the faces."""
        return self.numbers[:, np.searchsorted(self.base, rows)]

    def sides(self, edges):
        """Point numbers (face, vertex) of the faces over edges (edge, end), cut as the cells are."""
        at = self.at(edges)
        rows = np.concatenate([at[:-1], at[1:]], axis=2).reshape(-1, 2 * edges.shape[1])[:, :2 ** (self.points.shape[1] - 1)]
        return cut_faces(rows[:, AROUND[4]], self.rank)[0] if self.simplices and rows.shape[1] == 4 else rows


def is_split(mesh, split):
    """Whether new cells over faces of a mesh are cut into simplices: if asked, where all of its cells are such."""
    return split and mesh.dim > 1 and all(block.cell_shape.simplex for block in mesh.blocks)


def extruded(mesh, rows, move, steps, name, split):
    """A copy of the mesh with `steps` layers of cells over the boundary faces `rows` (count, 2).

    move    function of points x (..., dim) of the faces and a share (...) of the layers' thickness, from 0 to 1, that returns
            where they go, linear in the share
    name    of the region that the new cells belong to, beside those of the cell that each grows out of
    split   whether they are cut into triangles or tetrahedra, see `is_split`
    The names of the faces move to the outer end. Where the faces end at other boundary faces, the new ones there have the names
    of these, and are periodic where these are. Raises MeshError where faces end at hanging nodes."""
    more = steps * len(rows) * (mesh.dim if split else 1)
    check_room(f"{mesh.source}, with its layer,", mesh.cell_count + more, mesh.dim, mesh.blocks[0].cell_shape.simplex)
    corners = mesh.face_points(rows)
    levels = Levels(mesh.points, np.unique(corners), move, steps, split)
    grown = {}
    for some, count in kinds(corners):
        shape, found = over(mesh, rows[some], corners[some, :count], move, levels)
        if split:
            shape, found = pieces(shape, found, levels)
        grown[shape.name] = found
    rim = ends(corners)
    try:
        copy = assembled(mesh, levels, grown, name, facets(mesh, rows, levels, rim))
        checks.touching_faces(copy, lambda cell: f"cell {copy.numbers[cell]}")
    except MeshError as error:
        raise error if not len(mesh.hanging) else MeshError(f"{error}; add the layer first, then refine") from None
    copy = replace(copy, layers=mesh.layers, interfaces=inner_faces.of_children(copy, {
        interface: (mesh.face_points(faces), mesh.normals[tuple(faces.T)]) for interface, faces in mesh.interfaces.items()}))
    if not len(mesh.glued):
        return copy
    own, other = periodic.sides(mesh)
    more, partners = glued_sides(mesh, own, other, levels, rim)
    sides = np.concatenate([own, more]), np.concatenate([other, partners])
    return copy._glued(periodic.pairs(copy, *sides), mesh.periods)


def kinds(corners):
    """(numbers of the faces, how many corners they have) of the triangles and of the others, where there are any; corners:
    rows of point numbers."""
    three = is_triangle(corners)
    for some, count in ((np.flatnonzero(three), 3), (np.flatnonzero(~three), corners.shape[1])):
        if len(some):
            yield some, count


def face_positions(mesh, rows, weights):
    """x (face, point, dim) at points of the faces `rows` (count, 2), weights (point, corner) of corners in the order of
    `Shape.faces`."""
    x = np.empty((len(rows), len(weights), mesh.dim))
    for block, inside, own in mesh.in_blocks(rows):
        for face, corners in enumerate(block.cell_shape.faces):
            some = np.flatnonzero(own[:, 1] == face)
            if len(some):
                r = weights @ block.cell_shape.corners[list(corners)]
                x[inside[some]] = cell_maps.positions(block, r, own[some, 0]).transpose(2, 1, 0)
    return x


def over(mesh, rows, corners, move, levels):
    """(shape, `Cells`) over faces of one kind, `rows` (count, 2) with the point numbers `corners` (count, vertex)."""
    dim, count = mesh.dim, corners.shape[1]
    around, shape = list(AROUND[count]), NAMED_SHAPES[OVER[dim, count]]
    at = levels.at(corners[:, around])
    cells = np.concatenate([at[:-1], at[1:, :, ::-1] if dim == 2 else at[1:]], axis=2).reshape(-1, len(shape.vertices))
    nodes = None
    if mesh.order > 1:
        r = cell_maps.geometry_cell(shape, mesh.order).nodes
        on_face = shape.weights(np.column_stack([r[:, :-1], np.full(len(r), -1.0)]))[:, :count]
        x = face_positions(mesh, rows, on_face[:, np.argsort(around)])
        nodes = np.concatenate([move(x, (step + (1 + r[:, -1]) / 2) / levels.steps) for step in range(levels.steps)])
    return shape, Cells(cells, nodes, np.tile(rows[:, 0], levels.steps))


def pieces(shape, cells, levels):
    """(shape, `Cells`) of the triangles or tetrahedra that quadrilaterals or prisms are cut into."""
    kind, simplex = KINDS[shape.in_files], SHAPES[shape.dim, shape.dim + 1]
    elements = Elements(levels.points, cells.corners, None, cells.nodes)
    code, found = cell_codes(kind, levels.rank, cells.corners), []
    for each in np.unique(code):
        some, cut = np.flatnonzero(code == each), tables(kind.name, int(each))[0]
        nodes = None
        if cells.nodes is not None:
            r = simplex.weights(cell_maps.geometry_cell(simplex, elements.order).nodes) @ shape.corners[cut]
            nodes = cell_maps.positions(elements, r.reshape(-1, shape.dim), some).transpose(2, 1, 0)
            nodes = nodes.reshape(-1, *r.shape[1:])
        found.append((cells.corners[some][:, cut].reshape(-1, cut.shape[1]), nodes, cells.parents[some].repeat(len(cut))))
    return simplex, Cells(*(None if part[0] is None else np.concatenate(part) for part in zip(*found)))


def edges_of(corners):
    """The edges (face * edge, end) of faces (face, vertex), in 2D their points."""
    return corners[:, EDGES[corners.shape[1]]].reshape(-1, EDGES[corners.shape[1]].shape[1])


def ends(corners):
    """The edges (edge, end) that only one of the faces (face, vertex) has."""
    edges = edges_of(corners)
    edges = edges[edges[:, 0] != edges[:, 1]] if edges.shape[1] == 2 else edges          # a triangle repeats a corner
    _, first, count = np.unique(keys(edges), return_index=True, return_counts=True)
    return edges[first[count == 1]]


def among(edges, others):
    """Whether each of the edges (edge, end) is one of the others, (edge,)."""
    key = keys(np.concatenate([others, edges]))
    return np.isin(key[len(others):], key[:len(others)])


def facets(mesh, rows, levels, rim):
    """name -> point numbers (face, vertex) of the boundaries with the layers: faces that stay, outer faces, and those over the
    rim of the extruded faces."""
    moved = np.zeros(mesh.neighbour_face.shape, bool)
    moved[tuple(rows.T)] = True
    found = {}
    for name, faces in mesh.boundaries.items():
        leaves = moved[tuple(faces.T)]
        corners = mesh.face_points(faces)
        edges = edges_of(corners[~leaves])
        found[name] = together([corners[~leaves], levels.at(corners[leaves])[-1], levels.sides(edges[among(edges, rim)])])
    return found


def glued_sides(mesh, own, other, levels, rim):
    """Point numbers (face, vertex) of faces over the rim that meet across periodic boundaries, and of those that they meet.
    own, other: those of the periodic faces, in the order in which they do."""
    edges, partners = edges_of(own), edges_of(other)
    here, there = among(edges, rim), among(partners, rim)
    if (here != there).any():
        raise MeshError(f"{mesh.source}: the layer would end on one side of a periodic boundary and not on the other; make the "
                        "mesh periodic after pml(...)")
    faces, others = levels.sides(edges[here]), levels.sides(partners[here])
    pairs = np.unique(np.column_stack([levels.at(edges[here]).ravel(), levels.at(partners[here]).ravel()]), axis=0)
    if levels.simplices and mesh.dim == 3 and not alike(faces, others, pairs):
        raise MeshError(f"{mesh.source}: the layer's faces on periodic boundaries are cut along different diagonals; make the "
                        "mesh periodic after pml(...)")
    return faces, others


def alike(faces, others, pairs):
    """Whether each corner of the faces (face, vertex) and that of the others are one of the pairs (pair, 2) of points."""
    found = np.column_stack([faces.ravel(), others.ravel()])
    return len(np.unique(np.concatenate([pairs, found]), axis=0)) == len(pairs)


def assembled(mesh, levels, grown, name, boundaries):
    """The mesh of the old cells and those that have `grown`, {shape: `Cells`}."""
    parts, parents, first = {}, [], mesh.cell_count
    for block, begin in zip(mesh.blocks, mesh.first):
        parts[block.cell_type] = [(begin + np.arange(block.cell_count), block.cells, block.geometry_nodes)]
    for shape, cells in grown.items():
        parts.setdefault(shape, []).append((first + np.arange(len(cells.corners)), cells.corners, cells.nodes))
        parents.append(cells.parents)
        first += len(cells.corners)
    parents = np.concatenate(parents)
    order = np.concatenate([numbers for part in parts.values() for numbers, *_ in part])
    place, new = np.argsort(order), mesh.cell_count + np.arange(len(parents))
    groups = {region: np.concatenate([cells, new[np.isin(parents, cells)]]) for region, cells in mesh.regions.items()}
    groups[name] = np.union1d(groups.get(name, new), new)
    cells = {shape: np.concatenate([corners for _, corners, _ in part]) for shape, part in parts.items()}
    nodes = None if mesh.order == 1 else {shape: np.concatenate([own for *_, own in part]) for shape, part in parts.items()}
    return build(levels.points, cells, boundaries, {region: place[members] for region, members in groups.items()},
                 numbers=np.concatenate([mesh.numbers, mesh.numbers.max() + 1 + np.arange(len(parents))])[order],
                 geometry_nodes=nodes, source=mesh.source, inherited=mesh.notes)
