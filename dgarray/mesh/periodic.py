"""Periodic boundaries: pair faces by the translation between them."""
import numpy as np
from scipy.spatial import cKDTree

from .errors import MeshError
from .faces import centres, is_triangle

# Distance, relative to the size of the cell behind a face, at which two points count as one.
TOLERANCE = 1e-6


def match(mesh, first, second):
    """Pair the faces of boundary `first` with those of boundary `second` by the translation between them.

    Returns rows (count, 2) of `first`, the rows of `second` that they meet, the vertex matching (count, vertex) and the
    translation (dim,). Raises MeshError naming the faces that do not match."""
    rows, others = mesh.named(first), mesh.named(second)
    if first == second:
        raise MeshError(f"{mesh.source}: boundary {first!r} cannot be periodic with itself; name two boundaries")
    corners, their_corners = mesh.face_points(rows), mesh.face_points(others)
    x, y = mesh.points[corners], mesh.points[their_corners]
    translation = _middle(y) - _middle(x)
    size = np.minimum(mesh.inradii[rows[:, 0]].min(), mesh.inradii[others[:, 0]].min())
    distance, partner = cKDTree(centres(mesh.points, their_corners)).query(
        centres(mesh.points, corners) + translation)
    partner_size = mesh.inradii[others[partner, 0]]
    gaps = np.linalg.norm((x + translation)[:, :, None] - y[partner][:, None, :], axis=3)
    vertex = gaps.argmin(axis=2)
    vertex[is_triangle(corners), 3:] = 3
    good = (distance < TOLERANCE * partner_size) & np.all(gaps.min(axis=2) < TOLERANCE * partner_size[:, None], axis=1)
    good &= np.all(np.sort(vertex, axis=1) == np.arange(x.shape[1]), axis=1)
    good &= np.bincount(partner, minlength=len(others))[partner] == 1
    opposite = np.sum(mesh.normals[rows[:, 0], rows[:, 1]] *
                      mesh.normals[others[partner, 0], others[partner, 1]], axis=1) < 0
    problems = _unmatched(mesh, rows[~good], first, len(rows))
    problems += _unmatched(mesh, np.delete(others, partner[good], axis=0), second, len(others))
    if not problems and not opposite.all():
        problems = _unmatched(mesh, rows[~opposite], first, len(rows), "look the same way as their partners")
    if not problems and np.linalg.norm(translation) < TOLERANCE * size:
        problems = ["they lie on one another"]
    if problems:
        moved = ", ".join(f"{value:g}" for value in translation)
        raise MeshError(f"{mesh.source}: boundaries {first!r} and {second!r} do not match under the translation "
                        f"({moved}): {'; '.join(problems)}; mesh both sides alike (periodic in the mesh program)")
    return rows, others[partner], vertex, translation


def sides(mesh):
    """Points (count, vertex) of the glued faces of a mesh, and of those that they meet, in the order in which they do."""
    own, other = mesh.glued[:, :2], mesh.glued[:, 2:]
    corners, others = mesh.face_points(own), mesh.face_points(other)
    meets = np.take_along_axis(others, mesh.orientation[own[:, 0], own[:, 1], :others.shape[1]], axis=1)
    three = is_triangle(corners)
    meets[three, 3:] = meets[three, 2:3]
    return corners, meets


def pairs(mesh, corners, others):
    """Rows (count, 2) of the faces with the points `corners` (count, vertex), rows of those with the points `others`,
    and how their vertices meet, (count, vertex), when corners[k, i] meets others[k, i]."""
    rows, partners = map(mesh.find_faces, (corners, others))
    place = np.argmax(mesh.face_points(rows)[:, :, None] == corners[:, None, :], axis=2)
    meets = np.take_along_axis(others, place, axis=1)
    vertex = np.argmax(meets[:, :, None] == mesh.face_points(partners)[:, None, :], axis=2)
    vertex[is_triangle(corners), 3:] = 3
    return rows, partners, vertex


def _middle(x):
    """Centre of the bounding box of the vertices `x` (face, vertex, dim); it moves with a translation."""
    corners = x.reshape(-1, x.shape[-1])
    return (corners.min(axis=0) + corners.max(axis=0)) / 2


def _unmatched(mesh, rows, name, total, what="have no partner"):
    if not len(rows):
        return []
    places = ", ".join(mesh.place(row) for row in rows[:3])
    return [f"{len(rows)} of {total} faces of {name!r} {what}: {places}{', ...' if len(rows) > 3 else ''}"]
