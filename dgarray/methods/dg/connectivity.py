"""Face connectivity of nodal elements as index lists (the vmapM and vmapP of Hesthaven & Warburton 2008, section 6.3).

Nodes are numbered node * elements + element, the flat index into one variable of q[variable, node, element].  For a
`ModalSimplex` the points of the faces take the place of nodes: the numbers are flat indices into one variable of the values at
the faces, [variable, face * face point, element].
"""
from typing import NamedTuple

import numpy as np

from ...mesh.faces import by_kind


class FaceList(NamedTuple):
    """Faces between two elements, each once.

    cells (2, face)                 left and right element
    sides (2, face)                 local number of the face in each of them
    codes (1, face)                 code of the vertex permutation between the two, see `codes`
    nodes (2, face node, face)      node numbers on both sides, in the order of the left face
    slots (2, face node, face)      index of each side's face flux in one variable of [variable, face * face node, element]
    """

    cells: np.ndarray
    sides: np.ndarray
    codes: np.ndarray
    nodes: np.ndarray
    slots: np.ndarray


class FaceLists(NamedTuple):
    """The faces of a mesh by kind, as in `dgarray.mesh.faces.FaceKinds`.

    interior   `FaceList`s of the faces between two own elements
    halo       `FaceList`s of the faces between an own element and a copy of another part's
    boundary   (face, 2) rows (element, local face) of the boundary faces"""

    interior: tuple
    halo: tuple
    boundary: np.ndarray

    @property
    def pairs(self):
        """All `FaceList`s of faces between two elements; those that need no data of other parts come first."""
        return self.interior + self.halo


def face_lists(mesh, cell):
    """The `FaceLists` of a mesh, or of a part of one; cell: the reference cell, a `Simplex` or a `ModalSimplex`."""
    kinds = by_kind(mesh)
    interior, halo = (tuple(between(mesh, cell, *sides) for sides in lists) for lists in (kinds.interior, kinds.halo))
    return FaceLists(interior, halo, kinds.boundary)


def between(mesh, cell, left, right):
    """The `FaceList` of the faces with these left and right sides, each rows (face, 2: element, local face)."""
    elements, (numbers, positions), count = len(mesh.cells), cell.match_positions, cell.face_nodes.shape[1]
    (own, face), (other, there), code = left.T, right.T, codes(mesh, left)
    match, positions = np.arange(count)[:, None], positions[face, there, code].T
    return FaceList(np.array([own, other]), np.array([face, there]), code[None],
                    np.array([cell.face_nodes[face].T * elements + own, numbers[face, there, code].T * elements + other]),
                    np.array([(face * count + match) * elements + own, (there * count + positions) * elements + other]))


def codes(mesh, rows):
    """Code sum_i p[i] m^i of the permutation p between the m vertices of each side (face, 2) and those of its neighbour's
    side."""
    corners = np.array([len(face) for face in mesh.cell_shape.faces])[rows[:, 1], None]
    place = np.arange(mesh.orientation.shape[2])
    powers = np.where(place < corners, corners ** place, 0)          # a face with fewer corners fills up its row
    return (mesh.orientation[rows[:, 0], rows[:, 1]] * powers).sum(axis=1)


def exterior_nodes(mesh, cell):
    """Number of the neighbour's node at each face node, (face * face node, element).

    Where there is no neighbour, the node's own number: at the boundary, and at those faces of copies of other parts' elements
    behind which this part has no element."""
    elements = len(mesh.cells)
    kind = np.int32 if (cell.face_nodes.max() + 1) * elements < 2 ** 31 else np.int64
    numbers, _ = cell.match_positions
    result = np.empty((len(cell.face_nodes), cell.face_nodes.shape[1], elements), kind)
    own = np.arange(elements)
    for face, nodes in enumerate(cell.face_nodes):
        other, inside = mesh.neighbour_face[:, face], mesh.neighbour_face[:, face] >= 0
        code = np.where(inside, codes(mesh, np.stack([own, np.full(elements, face)], axis=1)), 0)
        outside = np.where(inside[:, None], numbers[face, other, code], nodes)
        result[face] = (outside * elements + np.where(inside, mesh.neighbour_cell[:, face], own)[:, None]).T
    return result.reshape(-1, elements)


def boundary_nodes(cell, elements, faces):
    """Node numbers and face-flux slots, both (face node, boundary face), of the boundary faces (count, 2)."""
    cells, sides = faces.T
    count = cell.face_nodes.shape[1]
    slots = (sides * count + np.arange(count)[:, None]) * elements + cells
    return cell.face_nodes[sides].T * elements + cells, slots
