"""Where elements meet that a set's own face lists do not join: faces between two sets, faces of half the size, and interfaces
with a condition.

A set is some elements of a mesh as a mesh of their own, whose faces to others have the boundary name `Inner.JOIN`.
"""
from typing import NamedTuple

import numpy as np

from ...mesh.interfaces import other_side

JOINS = "joins"          # their name among the sets, where memory is shown


class Join(NamedTuple):
    """Faces of a left set, each on a face of a right set or on a part of it.

    sets          numbers of the left and of the right set, which may be one
    left, right   (face, 2) rows (element of the set, local face)
    part          which half or quarter of the right face the left one is, see `dgarray.mesh.refine.hanging`; None: all
    orientation   (vertex,) vertex i of the left face lies on vertex orientation[i] of the right face, or of its part
    condition     what each side sees beyond these faces, see `dgarray.physics.interface_conditions`; None: the other side
    late          whether there are copies of other parts' elements at each of these faces, or at another of its right face"""

    sets: tuple
    left: np.ndarray
    right: np.ndarray
    part: int | None
    orientation: tuple
    condition: object = None
    late: bool = False


def joins(mesh, of_set, interfaces=()):
    """The `Join`s of a mesh, where each element belongs to the set of that number, (element,).

    interfaces   (left (face, 2), right (face, 2), condition) of each that has a condition, see `dgarray.methods.dg.interfaces`
    Elements of a set have the order of the mesh."""
    number = np.empty(len(of_set), int)
    for each in np.unique(of_set):
        number[of_set == each] = np.arange(np.count_nonzero(of_set == each))
    meet = (mesh.neighbour_face >= 0) & (of_set[:, None] < of_set[mesh.neighbour_cell])
    for left, right, _ in interfaces:
        meet[tuple(left.T)] = meet[tuple(right.T)] = False
    own = np.argwhere(meet)
    pairs, hanging = [(own, other_side(mesh.neighbours, own), None), *interfaces], mesh.hanging
    lists = [(own[some], other[some], None, mesh.orientation[own[some, 0], own[some, 1], :corners],
              have_copies(mesh, own[some], other[some]), condition)
             for own, other, condition in pairs for corners, some in by_corners(mesh, own)]
    late = have_copies(mesh, hanging.large, *hanging.small.swapaxes(0, 1))
    lists += [(hanging.small[:, part], hanging.large, part, hanging.orientation[:, part], late)
              for part in range(hanging.small.shape[1])]
    return [join for left, *each in lists for join in _sorted(*_present(left, *each), of_set, number)]


def have_copies(mesh, *sides):
    """Which faces have copies of other parts' elements, or missing ones, among the elements at these `sides` of theirs, rows
    (face, 2): (face,)."""
    own = np.append(np.ones(mesh.cell_count, bool) if mesh.share is None else mesh.share.own, False)          # -1: missing
    return ~np.all([own[rows[:, 0]] for rows in sides], axis=0)


def _present(left, right, part, orientation, late, condition=None):
    """The arguments without the faces of small cells that a part of a mesh does not have."""
    here = left[:, 0] >= 0
    return left[here], right[here], part, orientation[here], late[here], condition


def by_corners(mesh, rows):
    """Pairs (corners, which) of the faces `rows` (count, 2: cell, local face) with that number of corners."""
    counts = np.empty(len(rows), int)
    for block, here, own in mesh.in_blocks(rows):
        counts[here] = np.array([len(face) for face in block.cell_shape.faces])[own[:, 1]]
    return [(int(corners), counts == corners) for corners in np.unique(counts)]


def _sorted(left, right, part, orientation, late, condition, of_set, number):
    """`Join`s of the faces with the same sets and orientation."""
    keys = np.column_stack([of_set[left[:, 0]], of_set[right[:, 0]], orientation, late])
    kinds, which = np.unique(keys, axis=0, return_inverse=True)
    for i, (a, b, *vertices, copies) in enumerate(kinds.tolist()):
        some = which.reshape(-1) == i
        rows = [np.column_stack([number[side[some, 0]], side[some, 1]]) for side in (left, right)]
        yield Join((a, b), *rows, part, tuple(vertices), condition, bool(copies))
