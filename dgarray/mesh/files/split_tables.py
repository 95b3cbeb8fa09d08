"""How a cell is cut into triangles or tetrahedra, for every choice of the diagonals of its quadrilateral faces.

All corners of a mesh have an order. A quadrilateral face is cut along the diagonal through the first of its corners, so
neighbours cut it alike. The first corner v of a cell then has the diagonals of all its faces, and the cell is cut into the
tetrahedra between v and the triangles of the other faces: a pyramid into 2, a wedge into 3, a hexahedron into 6, or into 5
where the diagonals are the edges of one tetrahedron. Dompierre, Labbe, Vallet & Camarero 1999.

Several corners may have all diagonals of their faces, so there may be several tables for the same diagonals. In the last one
the centre of the cell takes v's place: that also fits cells so warped that the others would turn a tetrahedron over."""
from functools import cache
from typing import NamedTuple

import numpy as np

from .prism_nodes import unit_corners


class CellKind(NamedTuple):
    """A kind of cells in files: corners (corner, dim) in the unit cell, and the corners of each face in their order around it;
    a quadrilateral is its own face."""

    name: str
    corners: np.ndarray
    faces: tuple

    @property
    def dim(self):
        return self.corners.shape[1]

    @property
    def quads(self):
        """Its quadrilateral faces, (face, 4)."""
        return np.array([face for face in self.faces if len(face) == 4], dtype=np.int64).reshape(-1, 4)


FACES = {"triangle": (), "quad": ((0, 1, 2, 3),), "tetra": (),
         "hexahedron": ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)),
         "wedge": ((0, 2, 1), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)),
         "pyramid": ((0, 3, 2, 1), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4))}
KINDS = {name: CellKind(name, unit_corners(name), faces) for name, faces in FACES.items()}


def halves(code):
    """The triangles on both sides of a face's diagonal, as places among its corners: the diagonal from 0 to 2 (code 0) or from
    1 to 3 (code 1). They go around as the face does."""
    return ((1, 2, 3), (1, 3, 0)) if code else ((0, 1, 2), (0, 2, 3))


def codes(rank, quads):
    """Which diagonal each of the faces (..., 4) has, 0 or 1, (...): the one through the corner of the least rank (point,)."""
    return np.take(rank, quads, mode="clip").argmin(axis=-1) % 2


def cell_codes(kind, rank, corners):
    """The `code` (cell,) of `tables` for cells of a kind with the points `corners` (cell, corner)."""
    return np.sum(codes(rank, corners[:, kind.quads]) << np.arange(len(kind.quads)), axis=1)


@cache
def tables(name, code):
    """The ways to cut a cell of a kind: arrays (piece, dim + 1) of corners, positively oriented, the number after the last
    corner for the cell's centre. `code`: that of `codes` for each of its quadrilateral faces, the first in the lowest bit.

    The preferred ones come first. For diagonals that no order of the corners gives, that of the centre alone."""
    kind = KINDS[name]
    count = len(kind.corners)
    if name in ("triangle", "tetra"):
        return (np.arange(count)[None],)
    if name == "quad":
        return tuple(np.array(halves(one)) for one in (code, 1 - code))
    cut, number = [], 0
    for face in kind.faces:
        cut.append([face])
        if len(face) == 4:
            cut[-1] = [tuple(face[place] for place in half) for half in halves(code >> number & 1)]
            number += 1
    both = list(zip(kind.faces, cut))
    with_all = [v for v in range(count) if all(v in part for face, parts in both if v in face for part in parts)]
    found = [[(v, *part) for face, parts in both if v not in face for part in parts] for v in with_all]
    if name == "hexahedron" and len(with_all) == 4:
        found.insert(0, [tuple(with_all), *[(c, *_neighbours(kind, c)) for c in range(count) if c not in with_all]])
    found.append([(count, *part) for parts in cut for part in parts])
    places = np.concatenate([kind.corners, kind.corners.mean(axis=0)[None]])
    once = {frozenset(map(frozenset, pieces)): pieces for pieces in reversed(found)}
    return tuple(_oriented(np.array(pieces), places) for pieces in reversed(once.values()))


def _neighbours(kind, corner):
    """The corners that share an edge with a corner."""
    return [other for other in range(len(kind.corners)) if np.abs(kind.corners[other] - kind.corners[corner]).sum() == 1]


def _oriented(pieces, places):
    x = places[pieces]
    turned = np.linalg.det(x[:, 1:] - x[:, :1]) < 0
    pieces[turned, 2:] = pieces[turned, :1:-1]
    return pieces
