"""Unstructured triangles of a polygon, without a mesh generator."""
from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array
from scipy.spatial import Delaunay

from .errors import MeshError
from .geometry import signed_measures
from .memory import check_room
from .mesh import build

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from .mesh import Mesh

MOST_JITTER = 0.5      # moved further, points come too near to each other
NEAREST = 0.6          # distance of inner points from the boundary, in spacings: no boundary edge has one in its circle
ROUNDS = 4             # of moving every inner point to the middle of those around it


def polygon(corners: ArrayLike, h: float, names: Sequence[str] | None = None, seed: int = 0, jitter: float = 0.4) -> Mesh:
    """Unstructured triangles of a polygon with edges about h long: a Delaunay triangulation of a lattice moved at random.

    corners   (corner, 2) in anticlockwise order; a change of name on a straight side needs a corner, too
    h         spacing of the points; the triangles are about 4 area / (sqrt(3) h^2)
    names     of the sides, names[i] from corner i to the next; names may repeat; "boundary" by default
    seed      of the random numbers; the same seed gives the same mesh
    jitter    random move of the points of a hexagonal lattice in x and in y, in spacings, up to 0.5: with 0.4 the triangles
              form no rows; with 0 they are nearly equilateral away from the sides
    Raises MeshError if the corners form no polygon, or if h is too large for it."""
    corners = np.array(corners, dtype=float)
    h = float(h) if isinstance(h, Real) else h
    if corners.ndim != 2 or corners.shape[0] < 3 or corners.shape[1] != 2 or not np.isfinite(corners).all():
        raise MeshError(f"polygon: corners of the shape {corners.shape} are not allowed; give three points (x, y) or more")
    names = ("boundary",) * len(corners) if names is None else tuple(names)
    if len(names) != len(corners):
        raise MeshError(f"polygon: {len(names)} names do not fit; there are {len(corners)} sides")
    ends, area = np.roll(corners, -1, axis=0), polygon_area(corners)
    if not area > 0:
        raise MeshError(f"polygon: the corners {'go round clockwise' if area < 0 else 'enclose no area'}; give them "
                        f"anticlockwise{', corners[::-1], and the names of the sides in that order' * bool(area < 0)}")
    if not (isinstance(h, Real) and 0 < h < np.sqrt(area)):
        raise MeshError(f"polygon: h={h!r} and the area {area:.6g} of the corners do not fit; h must be positive and below the "
                        "area's root")
    if not (isinstance(jitter, Real) and 0 <= jitter <= MOST_JITTER):
        raise MeshError(f"polygon: jitter={jitter!r} is not allowed; it must be from 0 to {MOST_JITTER}")
    check_room("polygon", 4 * area / (np.sqrt(3) * h * h), 2)
    pieces = np.ceil(np.linalg.norm(ends - corners, axis=1) / h * (1 - 1e-12)).astype(int)
    shell = np.concatenate([a + np.arange(n)[:, None] / n * (b - a) for a, b, n in zip(corners, ends, pieces)])
    points = np.concatenate([shell, inner_points(corners, ends, h, seed, jitter)])
    for _ in range(ROUNDS):
        points[len(shell):] = middles(points, inside_cells(points, corners, ends, h))[len(shell):]
    cells = inside_cells(points, corners, ends, h)
    edges = np.column_stack([np.arange(len(shell)), np.roll(np.arange(len(shell)), -1)])
    found = np.sort(cells[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    alone, count = np.unique(found, axis=0, return_counts=True)
    if not np.array_equal(alone[count == 1], np.unique(np.sort(edges, axis=1), axis=0)):
        raise MeshError(f"polygon: the triangles do not follow its sides with h={h:g}; take a smaller h")
    of_side = np.repeat(np.array(names, dtype=object), pieces)
    facets = {name: edges[of_side == name] for name in dict.fromkeys(names)}
    return build(points, cells, facets, source=f"polygon({len(corners)} corners, h={h:g})")


def polygon_area(corners):
    """Area inside the corners, positive where they go round anticlockwise."""
    x, y = corners.T
    return float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)) / 2)


def inner_points(corners, ends, h, seed, jitter):
    """Points of a hexagonal lattice, moved at random, that lie inside and not too near the boundary."""
    low, high = corners.min(axis=0), corners.max(axis=0)
    rows = np.arange(low[1], high[1] + h, h * np.sqrt(3) / 2)
    row = np.arange(low[0], high[0] + h, h)
    lattice = np.stack(np.broadcast_arrays(row + np.resize([0, h / 2], len(rows))[:, None], rows[:, None]), axis=-1)
    points = lattice.reshape(-1, 2)
    points = points + jitter * h * np.random.default_rng(seed).uniform(-1, 1, points.shape)
    near = np.min([distance(points, a, b) for a, b in zip(corners, ends)], axis=0) < NEAREST * h
    return points[inside(points, corners, ends) & ~near]


def distance(points, a, b):
    """Distance of the points from the line between a and b."""
    along = np.clip((points - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
    return np.linalg.norm(points - a - along[:, None] * (b - a), axis=1)


def inside(points, corners, ends):
    """Whether the points lie in the polygon: an odd number of sides is crossed on the way up."""
    x, y = points.T
    odd = np.zeros(len(points), dtype=bool)
    for (ax, ay), (bx, by) in zip(corners, ends):
        if ax != bx:
            odd ^= ((ax <= x) != (bx <= x)) & (y < ay + (x - ax) / (bx - ax) * (by - ay))
    return odd


def inside_cells(points, corners, ends, h):
    """The triangles of the Delaunay triangulation that lie in the polygon, without flat ones at its sides."""
    cells = Delaunay(points).simplices
    kept = inside(points[cells].mean(axis=1), corners, ends) & (np.abs(signed_measures(points, cells)) > 1e-6 * h * h)
    return cells[kept].astype(np.int64)


def middles(points, cells):
    """For every point the middle of the points that share an edge with it."""
    i, j = cells[:, [0, 1, 2, 1, 2, 0]].ravel(), cells[:, [1, 2, 0, 0, 1, 2]].ravel()
    around = coo_array((np.ones(i.size), (i, j)), shape=(len(points),) * 2).tocsr()
    return (around @ points) / np.maximum(around.sum(axis=1), 1)[:, None]
