"""Meshes cut along named faces inside of them: both sides become boundary faces."""
from dataclasses import replace

import numpy as np

from ..support.wording import choose
from .errors import MeshError
from .faces import Neighbours, keys
from .interfaces import must_be_even, other_side


def cut(mesh, name):
    """The mesh with the interface `name` as a boundary, both sides of each face: see `Mesh.cut`."""
    if name in mesh.boundaries or name in mesh.regions:
        raise MeshError(f"{name!r} is a {'boundary' if name in mesh.boundaries else 'region'} of {mesh.source}; a mesh is cut "
                        f"along faces inside of it: {', '.join(mesh.interfaces) or 'it has none with a name'}")
    try:
        rows = mesh.interfaces[choose("cut: interface", name, mesh.interfaces, f" in {mesh.source}; it has")]
    except ValueError as error:
        raise MeshError(str(error)) from None
    must_be_even(mesh, name)
    both = np.concatenate([rows, other_side(mesh.neighbours, rows)])
    inner = {other: faces[~among(faces, both)] for other, faces in mesh.interfaces.items() if other != name}
    return replace(mesh, neighbours=without(mesh.neighbours, both), boundaries={**mesh.boundaries, name: both},
                   interfaces={other: faces for other, faces in inner.items() if len(faces)})


def without(neighbours, rows):
    """The `Neighbours` in which the faces `rows` (count, 2: cell, local face) meet nothing."""
    cell, face = neighbours.cell.copy(), neighbours.face.copy()
    cell[tuple(rows.T)], face[tuple(rows.T)] = rows[:, 0], -1
    return Neighbours(cell, face, neighbours.orientation)


def among(faces, rows):
    """Which of the faces (count, 2) are some of the `rows`, (count,)."""
    sides = 1 + max(faces[:, 1].max(initial=0), rows[:, 1].max(initial=0))
    return np.isin(faces @ (sides, 1), rows @ (sides, 1))


def must_be_uncut(mesh, change):
    """Raise MeshError for a mesh that has been cut, whose sides a new mesh would join again."""
    faces = mesh.boundary_faces
    if len(np.unique(keys(mesh.face_points(faces)))) < len(faces):
        raise MeshError(f"{mesh.source} has been cut, and cannot be {change} then; cut it last")
