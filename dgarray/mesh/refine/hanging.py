"""Hanging nodes: faces of quadrilaterals and hexahedra that meet 2 or 4 faces of half their size."""
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from ...reference.multilinear import weights
from ...reference.tensor import lattice
from ..curved.cell_maps import positions
from ..faces import face_points

# Distance, relative to the size of a face, at which two places count as one: coordinates in files often have 7 digits.
TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Hanging:
    """Faces that meet smaller ones. The parts of a large face are its halves or quarters, in tensor order as its corners are.

    large        (face, 2)            rows (cell, local face)
    small        (face, part, 2)      the face on each part
    orientation  (face, part, vertex) vertex i of a small face lies on corner orientation[.., i] of its part of the large face

    In a part of a mesh small cells that are not there have the number -1."""

    large: np.ndarray
    small: np.ndarray
    orientation: np.ndarray

    def __len__(self):
        return len(self.large)

    @property
    def sides(self):
        """All faces concerned, rows (cell, local face)."""
        return np.concatenate([self.large, self.small[self.small[..., 0] >= 0]])


def none(vertices):
    """No hanging nodes, on faces with so many corners."""
    return Hanging(np.empty((0, 2), int), np.empty((0, vertices, 2), int), np.empty((0, vertices, vertices), int))


def parts(dim):
    """Coordinates on the large face of the corners of its parts, (part, corner, dim of the face)."""
    ends = lattice(np.array([-1.0, 1.0]), dim - 1)
    return (ends[:, None] + ends) / 2


def corners_of_parts(x):
    """The corners (face, part, corner, dim) of the halves or quarters of faces with the corners x (face, corner, dim)."""
    ends = lattice(np.array([-1.0, 1.0]), x.shape[2] - 1)
    return np.einsum("pcv,fvd->fpcd", weights(ends, parts(x.shape[2])), x)


def corners(mesh, rows):
    """The corners (face, corner, dim) of the faces `rows` (count, 2)."""
    return mesh.points[face_points(mesh.cells, rows, mesh.cell_shape.faces)]


def parts_of_faces(mesh, rows):
    """The corners (face, part, corner, dim) of the parts of the faces `rows` (count, 2), also of curved ones."""
    if mesh.geometry_nodes is None:
        return corners_of_parts(corners(mesh, rows))
    shape = mesh.cell_shape
    ends = lattice(np.array([-1.0, 1.0]), mesh.dim - 1)
    on_face = weights(ends, parts(mesh.dim))          # of its corners, (part, corner, corner of the face)
    pieces = np.empty((len(rows), *on_face.shape[:2], mesh.dim))
    for face, vertices in enumerate(shape.faces):
        some = np.flatnonzero(rows[:, 1] == face)
        r = (on_face @ shape.corners[list(vertices)]).reshape(-1, mesh.dim)
        pieces[some] = positions(mesh, r, rows[some, 0]).transpose(2, 1, 0).reshape(-1, *pieces.shape[1:])
    return pieces


def find(mesh, rows):
    """The `Hanging` faces among the faces `rows` (count, 2) without a neighbour: those of which every part is another one.

    mesh: a `Mesh`, or `Elements`"""
    x = corners(mesh, rows)
    if not len(rows) or not mesh.cell_shape.tensor:
        return none(x.shape[1])
    pieces = parts_of_faces(mesh, rows)
    distance, small = cKDTree(x.mean(axis=1)).query(pieces.mean(axis=2))
    size = np.linalg.norm(x - x.mean(axis=1, keepdims=True), axis=2).max(axis=1)[:, None]
    gaps = np.linalg.norm(x[small][:, :, :, None] - pieces[:, :, None], axis=4)          # (face, part, vertex, corner)
    found = ((distance < TOLERANCE * size) & (gaps.min(axis=3).max(axis=2) < TOLERANCE * size)).all(axis=1)
    return Hanging(rows[found], rows[small[found]], gaps[found].argmin(axis=3))


def settled(mesh, points):
    """A copy of the corners (point, dim) of straight cells in which hanging nodes lie where the large faces have them."""
    points, here = points.copy(), mesh.hanging
    large, small = mesh.face_points(here.large), mesh.face_points(here.small.reshape(-1, 2)).reshape(here.orientation.shape)
    while len(here):          # a corner of a large face may hang itself
        pieces = np.take_along_axis(corners_of_parts(points[large]), here.orientation[..., None], axis=2)
        gap = np.abs(points[small] - pieces).max()
        points[small] = pieces
        if gap <= 1e-14 * np.abs(points).max():
            break
    return points


def joined(mesh, cut):
    """The mesh, a part of another one, with the hanging nodes among the faces of its boundary `cut`, which they leave."""
    rows, number = mesh.boundaries[cut], (len(mesh.cell_shape.faces), 1)
    found = find(mesh, rows)
    left = ~np.isin(rows @ number, found.sides @ number)
    return replace(mesh, hanging=found, boundaries={**mesh.boundaries, cut: rows[left]})
