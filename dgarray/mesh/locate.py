"""Which element of a mesh holds a point, and where in it."""
import numpy as np

from .curved.inverse_maps import inverse_maps
from .elements import Elements

# Point-candidate pairs examined at once.
BLOCK_PAIRS = 200_000


class Locator:
    """Point location by k-d trees over the centroids.

    A cell can hold only points that are nearer to the mean of its corners than its farthest corner is (its reach); the reach
    of a curved cell is that of the box around it. Cells are grouped by reach in powers of two, one tree each, so that on
    graded meshes a large cell does not widen the search among small ones. The search is exhaustive: a point is outside only if
    no cell within reach holds it.
    """

    def __init__(self, points, cells, geometry_nodes=None):
        """points: (point, dim) float64; cells: (element, corner); geometry_nodes: (element, node, dim) of curved elements"""
        from scipy.spatial import cKDTree

        mesh = Elements(np.asarray(points, dtype="float64"), np.asarray(cells), None, geometry_nodes)
        corners = mesh.points[mesh.cells]
        self.dim = mesh.dim
        self.maps = inverse_maps(mesh)
        centroids = corners.mean(axis=1)
        if geometry_nodes is not None:
            corners = np.stack([self.maps.low, self.maps.high], axis=1)
            corners = centroids[:, None] + np.abs(corners - centroids[:, None]).max(axis=1)[:, None]
        reach = np.sqrt(((corners - centroids[:, None]) ** 2).sum(axis=2).max(axis=1))
        level = np.floor(np.log2(reach / reach.min())).astype(int)
        self.groups = []
        for number in np.unique(level):
            group = np.flatnonzero(level == number)
            self.groups.append((group, cKDTree(centroids[group]), reach[group].max() * (1 + 1e-6)))

    def find(self, x):
        """Element (point,), -1 outside the mesh, and reference coordinates (point, dim) of the points x (point, dim).

        A point on a shared face belongs to the cell that holds it best by rounding; non-finite points are outside."""
        return self.held(x)[:2]

    def held(self, x):
        """The same, and how well the element holds each point, (point,): from 1 on it is inside, from 0 on by rounding."""
        element = np.full(len(x), -1)
        reference, quality = np.full((len(x), self.dim), np.nan), np.full(len(x), -np.inf)
        finite = np.isfinite(x).all(axis=1)
        for group, tree, radius in self.groups:
            pending = np.flatnonzero(finite & (quality < 1))
            first, count = 0, 8
            while pending.size and first < len(group):
                ranks = np.arange(first + 1, min(first + count, len(group)) + 1)
                step = max(1, BLOCK_PAIRS // len(ranks))
                blocks = [pending[start:start + step] for start in range(0, len(pending), step)]
                pending = np.concatenate([self._search(x, block, group, tree, radius, ranks, element, reference, quality)
                                          for block in blocks])
                first, count = first + len(ranks), 2 * count
        return element, reference, quality

    def _search(self, x, block, group, tree, radius, ranks, element, reference, quality):
        """Try the candidates of the given ranks for one block of points; returns those that still have candidates."""
        distance, number = tree.query(x[block], k=ranks, distance_upper_bound=radius)
        near = np.isfinite(distance)
        candidate = group[np.where(near, number, 0)]
        inside, local = self.maps.invert(candidate, x[block])
        inside[~near] = -np.inf
        inside /= self.maps.tolerance[candidate]
        best = inside.argmax(axis=1)
        rows = np.arange(len(block))
        found = (inside[rows, best] >= 0) & (inside[rows, best] > quality[block])
        quality[block[found]] = inside[rows, best][found]
        element[block[found]] = candidate[rows, best][found]
        reference[block[found]] = local[rows, best][found]
        return block[(quality[block] < 1) & near[:, -1]]
