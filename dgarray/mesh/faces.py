"""Which faces of cells are shared, by sorting, and the faces of a mesh by kind; no loop over cells.

`faces` are the corners of each face of a cell, those of its `Shape`. In rows of point numbers a triangle beside quadrilaterals,
as prisms have them, repeats its last corner."""
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from .errors import MeshError


class Inner(StrEnum):
    """The boundary names of faces where a part of a mesh meets the rest; no name of a user or a file begins with a space."""

    CUT = " cut"          # the rest is left out
    JOIN = " join"          # the rest is another set of elements
    BEYOND = " beyond"          # the rest is cells that are not even copied


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The neighbour across each face.

    cell         (cell, face)          neighbour cell; the own cell at a boundary face
    face         (cell, face)          local face of that neighbour; -1 at a boundary face
    orientation  (cell, face, vertex)  own face vertex i is the neighbour's face vertex orientation[..., i], in the order of
                                       `Shape.faces`; 3 at the fourth place of a triangle beside quadrilaterals
    """

    cell: np.ndarray
    face: np.ndarray
    orientation: np.ndarray

    def glued(self, rows, others, orientation):
        """A copy in which the faces `rows` (count, 2) meet the faces `others`, vertex i on vertex orientation[:, i]."""
        copy = Neighbours(self.cell.copy(), self.face.copy(), self.orientation.copy())
        for own, other, match in ((rows, others, orientation), (others, rows, np.argsort(orientation, axis=1))):
            copy.cell[own[:, 0], own[:, 1]] = other[:, 0]
            copy.face[own[:, 0], own[:, 1]] = other[:, 1]
            copy.orientation[own[:, 0], own[:, 1]] = match
        return copy


class FaceKinds(NamedTuple):
    """The faces that a mesh computes on, each once, by what lies behind them.

    Sides are rows (count, 2: cell, local face).
    interior   lists (left, right) between two own cells
    halo       lists (left, right) between an own cell and a copy of another part's, either of which may be left
    boundary   one list of sides that meet nothing; `Mesh.boundaries` has their names
    Left is the side whose cell has the lower number in the whole mesh, so that all parts evaluate a face with the same sides.
    """

    interior: tuple
    halo: tuple
    boundary: np.ndarray


def by_kind(mesh):
    """The faces of a mesh, or of a part of one, by kind: `FaceKinds`."""
    number = mesh.numbers_in_whole
    face, cell = np.nonzero(mesh.neighbour_face.T >= 0)          # by local face first, then by cell
    other, other_face = mesh.neighbour_cell[cell, face], mesh.neighbour_face[cell, face]
    once = (number[cell] < number[other]) | (number[cell] == number[other]) & (face < other_face)
    sides = np.stack([cell, face], axis=1)[once], np.stack([other, other_face], axis=1)[once]
    halo = np.maximum(sides[0][:, 0], sides[1][:, 0]) >= mesh.owned
    return FaceKinds((tuple(side[~halo] for side in sides),), (tuple(side[halo] for side in sides),) if halo.any() else (),
                     mesh.boundary_faces)


def face_points(cells, rows, faces):
    """Point numbers (count, vertex) of the faces `rows` (count, 2: cell, local face)."""
    return cells[rows[:, 0, None], corner_table(faces)[rows[:, 1]]]


def corner_table(faces):
    """Corners of each face, (face, vertex)."""
    vertices = max(map(len, faces))
    return np.array([(*face, *[face[-1]] * (vertices - len(face))) for face in faces])


def widened(rows, vertices):
    """Rows of point numbers (count, vertex) for faces with at most so many vertices."""
    more = vertices - rows.shape[1]
    return np.pad(rows, [(0, 0), (0, more)], mode="edge") if more > 0 else rows


def together(groups):
    """Rows of point numbers of several kinds of faces, one behind the other."""
    vertices = max(rows.shape[1] for rows in groups)
    return groups[0] if len(groups) == 1 else np.concatenate([widened(rows, vertices) for rows in groups])


def is_triangle(rows):
    """Whether each of the rows (count, vertex) is a triangle beside quadrilaterals, (count,)."""
    return rows[:, 3] == rows[:, 2] if rows.shape[1] == 4 else np.zeros(len(rows), bool)


def centres(points, rows):
    """Means of the corners of faces (count, vertex), (count, dim)."""
    x = points[rows]
    return np.where(is_triangle(rows)[:, None], x[:, :3].mean(axis=1), x.mean(axis=1))


def _distinct(rows):
    """The rows with -1 for a repeated corner."""
    rows = rows.copy()
    rows[is_triangle(rows), -1] = -1
    return rows


def meeting(own, other, refuse):
    """How the corners of faces meet, (count, vertex): own[k, i] is other[k, orientation[k, i]]. Rows (count, vertex) of the
    same points; `refuse(k)` raises the error for a quadrilateral whose corners are in another order."""
    match = np.argmax(_distinct(own)[:, :, None] == _distinct(other)[:, None, :], axis=2)
    if own.shape[1] == 4:
        crossed = np.flatnonzero((match[:, 0] + match[:, 3] != 3) & ~is_triangle(own))
        if len(crossed):
            refuse(crossed[0])
    return match


def all_faces(cells, faces):
    """Point numbers of every face of every cell, (cell * face, vertex)."""
    table = corner_table(faces)
    return cells[:, table].reshape(-1, table.shape[1])


def keys(rows):
    """One int64 for each row of point numbers, equal where the sorted rows are equal."""
    ordered = np.sort(_distinct(rows), axis=1) + 1
    base = int(ordered.max(initial=0)) + 1
    key = ordered[:, 0]
    for column in ordered[:, 1:].T:
        if int(key.max(initial=0)) + 1 > np.iinfo(np.int64).max // base:
            key = np.unique(key, return_inverse=True)[1]
        key = key * base + column
    return key


def connect(blocks, label):
    """The `Neighbours` of the cells of `blocks`, each (cells (cell, corner), `faces`), counted one block after the other;
    `label(cell)` names a cell in errors.

    Raises MeshError where three or more cells share a face, and where two cells join its corners in another order."""
    points = together([all_faces(cells, faces) for cells, faces in blocks])
    counts = np.repeat([len(faces) for _, faces in blocks], [len(cells) for cells, _ in blocks])
    count, sides, vertices = len(counts), counts.max(), points.shape[1]
    there = np.arange(sides) < counts[:, None]

    def place(number):
        """Where the faces of these numbers among `points` are in an array (cell, face), flattened."""
        return np.flatnonzero(there)[number]
    first, second, match = pairs(points, lambda number: label(place(number) // sides))
    first, second = place(first), place(second)
    cell = np.repeat(np.arange(count), sides)
    face = np.full(len(cell), -1)
    orientation = np.tile(np.arange(vertices), (len(cell), 1))
    cell[first], cell[second] = second // sides, first // sides
    face[first], face[second] = second % sides, first % sides
    orientation[first], orientation[second] = match, np.argsort(match, axis=1)
    return Neighbours(cell.reshape(count, -1), face.reshape(count, -1), orientation.reshape(count, sides, vertices))


def pairs(points, label):
    """Numbers of the faces, rows of `points` (face, vertex), that are the same: (first, second, how their corners meet (pair,
    vertex)); `label(face)` names its cell. Raises MeshError as `connect`."""
    key = keys(points)
    order = np.argsort(key, kind="stable")
    same = key[order[1:]] == key[order[:-1]]
    triple = np.flatnonzero(same[1:] & same[:-1])
    if len(triple):
        three = ", ".join(label(face) for face in order[triple[0]:triple[0] + 3])
        raise MeshError(f"a face has three neighbours or more: {three}; remove the cell that is there twice")
    first, second = order[:-1][same], order[1:][same]

    def refuse(k):
        raise MeshError(f"{label(first[k])} and {label(second[k])} join the four nodes of their common face in different "
                        "orders; untangle or remesh")
    return first, second, meeting(points[first], points[second], refuse)


def find_faces(cells, facets, faces):
    """Rows (facet, 2: cell, local face) of the faces with the point numbers `facets` (facet, vertex), in any order.

    (-1, -1) where no cell has such a face; the first of the two cells where a face is interior."""
    points = all_faces(cells, faces)
    key = keys(together([points, np.asarray(facets)]))
    of_faces, wanted = key[:len(points)], key[len(points):]
    order = np.argsort(of_faces, kind="stable")
    place = np.minimum(np.searchsorted(of_faces[order], wanted), len(order) - 1)
    found = order[place]
    rows = np.column_stack([found // len(faces), found % len(faces)])
    rows[of_faces[found] != wanted] = -1
    return rows
