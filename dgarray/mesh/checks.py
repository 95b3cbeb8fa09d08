"""Defects of a mesh that connectivity alone does not show: slivers, cracks, hanging nodes, loose parts."""
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from ..reference.multilinear import gradients, weights
from .errors import TO_SPLIT, MeshError

# Distance, relative to the size of a face, at which two places count as one: coordinates in files often have 7 digits.
TOLERANCE = 1e-6
# Quality below which a cell is called a sliver; a right triangle with an aspect of 200 has this radius ratio.
SLIVER = 0.01
# Corners of the reference face of a hexahedron in tensor order, and steps of the iteration for the nearest point on a face.
SQUARE = np.array([(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)])
STEPS = 12


def notes(mesh, label):
    """Tuple of one-line warnings about `mesh`; `label(cell)` names a cell. Raises MeshError on hanging nodes."""
    found = slivers(mesh, label) + touching_faces(mesh, label)
    count, part = components(mesh)
    if count > 1:
        sizes = ", ".join(str(size) for size in np.sort(np.bincount(part))[::-1][:8])
        found.append(f"{count} components that share no face ({sizes}{', ...' if count > 8 else ''} cells)")
    return tuple(found)


def components(mesh):
    """Number of parts of the mesh that share no face, and the part of each cell (cell,)."""
    inner = mesh.neighbours.face >= 0
    large, small = mesh.hanging.large[:, 0], mesh.hanging.small[..., 0]
    own = np.concatenate([np.nonzero(inner)[0], np.repeat(large, small.shape[1])])
    other = np.concatenate([mesh.neighbours.cell[inner], small.ravel()])
    graph = coo_array((np.ones(len(own), dtype=np.int8), (own, other)), shape=(mesh.cell_count,) * 2)
    return connected_components(graph, directed=False)


def slivers(mesh, label):
    """A note on cells of bad quality, in a list; an empty one where there are none."""
    quality = mesh.quality()
    count = int(np.count_nonzero(quality < SLIVER))
    if not count:
        return []
    worst = int(quality.argmin())
    factor = np.median(mesh.inradii) / mesh.inradii[worst]
    step = f"{factor:.2g} times smaller than" if factor > 1.05 else "that which"
    return [f"{count} slivers ({mesh.quality_measure} below {SLIVER:g}; worst {quality[worst]:.2g} in {label(worst)}): the "
            f"time step is about {step} a cell of median size would allow"]


def touching_faces(mesh, label):
    """Refuse boundary faces that partly lie on others (hanging nodes); note those that coincide (cracks).

    Where every face concerned has a name, the gap is meant and nothing is said. On an interface whose two sides do not
    match, each face's centre lies on some face of the other side, so looking at centres finds them all."""
    rows = mesh.boundary_faces
    named = mesh.is_named(rows)
    if named.all():
        return []
    x = mesh.points[mesh.face_points(rows)]
    centre = x.mean(axis=1)
    size = np.linalg.norm(x - centre[:, None], axis=2).max(axis=1)
    size = np.where(size > 0, size, mesh.inradii[rows[:, 0]])
    near = cKDTree(centre).query_ball_point(centre, size * (1 + TOLERANCE))
    big = np.repeat(np.arange(len(rows)), [len(found) for found in near])
    small = np.concatenate(near).astype(np.int64)
    keep = (big != small) & ~(named[big] & named[small])
    big, small = big[keep], small[keep]
    inside = _contains(x[big], centre[small], TOLERANCE * size[big])
    big, small = big[inside], small[inside]
    gap = np.linalg.norm(x[big][:, :, None] - x[small][:, None, :], axis=3).min(axis=2).max(axis=1)
    same = (gap < TOLERANCE * size[big]) & (size[big] < 2 * size[small])
    if not same.all():
        bad = np.flatnonzero(~same)
        one, other = rows[big[bad[0]]], rows[small[bad[0]]]
        allowed = "" if not mesh.blocks[0].cell_shape.tensor else f" or meet {2 ** (mesh.dim - 1)} faces of half their size"
        raise MeshError(
            f"hanging nodes or a nonconforming interface: {len(np.unique(small[bad]))} unnamed inner faces without a "
            f"matching neighbour, first between {label(one[0])} and {label(other[0])} at {mesh.position(other)}; "
            f"remesh so that neighbouring cells share whole faces{allowed}"
            + (f"; {TO_SPLIT}" if len(mesh.blocks) > 1 else ""))
    count = len(np.unique(small))
    if not count:
        return []
    at = mesh.position(rows[small[0]])
    return [f"duplicate nodes: {count} boundary faces lie on one another (a crack), first at {at}; merge the duplicate "
            "nodes or name the faces to make them a boundary"]


def _contains(x, point, tolerance):
    """Whether each point (n, dim) lies on the face with the vertices x (n, vertex, dim), up to `tolerance` (n,)."""
    if x.shape[1] == 4:
        return _on_bilinear(x, point, tolerance)
    return _on_simplex(x, point, tolerance)


def _on_simplex(x, point, tolerance):
    """Whether each point (n, dim) lies on the closed simplex with vertices x (n, dim, dim), up to `tolerance` (n,).

    The nearest point of the simplex's plane has weights w with (E E^T) w = E (p - x_0), E the edges from x_0."""
    distance = point - x[:, 0]
    if x.shape[1] == 1:
        return np.abs(distance[:, 0]) < tolerance
    edges = x[:, 1:] - x[:, :1]
    length = np.linalg.norm(edges, axis=2, keepdims=True)
    unit = edges / length
    weights = np.linalg.pinv(unit.transpose(0, 2, 1)) @ distance[:, :, None]
    foot = np.sum(unit * weights, axis=1)
    weights = weights[..., 0] / length[..., 0]
    slack = (tolerance / length.min(axis=1)[:, 0])[:, None]
    last = 1 - weights.sum(axis=1, keepdims=True)
    return (np.linalg.norm(distance - foot, axis=1) < tolerance) & np.all(np.hstack([weights, last]) > -slack, axis=1)


def _on_bilinear(x, point, tolerance):
    """Whether each point (n, 3) lies on the bilinear face with the vertices x (n, 4, 3), in tensor order.

    Gauss-Newton iteration for the nearest point of the face's surface, where the point lies in the face's bounding box."""
    margin = tolerance[:, None]
    found = np.all((point > x.min(axis=1) - margin) & (point < x.max(axis=1) + margin), axis=1)
    x, point = x[found], point[found]
    r = np.zeros((len(x), 2))
    for _ in range(STEPS):
        distance = point - np.einsum("nv,nvd->nd", weights(SQUARE, r), x)
        tangents = np.einsum("nva,nvd->nda", gradients(SQUARE, r), x)
        r = np.clip(r + np.einsum("nad,nd->na", np.linalg.pinv(tangents), distance), -1, 1)
    distance = point - np.einsum("nv,nvd->nd", weights(SQUARE, r), x)
    found[found] = np.linalg.norm(distance, axis=1) < tolerance[found]
    return found
