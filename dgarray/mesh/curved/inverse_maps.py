"""Reference coordinates of points in cells: the inverse of the maps of straight cells, affine or not, and of curved ones."""
import numpy as np

from . import cell_maps

# A point this far outside a cell, in shares of its size, still counts as inside.
TOLERANCE = 1e-10
# Most steps of Newton's iteration; on valid cells it takes about five.
STEPS = 60
# Steps to places that lie a little outside of a cell.
OUTSIDE = 4
# Least share of a step that is tried.
SHORTEST = 1e-3
# A map counts as folded where |det dx/dr| is below this share of the power of its largest derivative.
FOLD = 1e-14
# A cell is skewed where det dx/dr at one corner is below this share of that at another.
SKEWED = 0.25


def inverse_maps(mesh):
    """The inverse maps of the cells of a mesh, or of `Elements`: `CurvedMaps` of curved ones, else `AffineMaps` of simplices,
    `MultilinearMaps` of others."""
    if mesh.geometry_nodes is not None:
        return CurvedMaps(mesh)
    return (AffineMaps if mesh.cell_shape.simplex else MultilinearMaps)(mesh.points[mesh.cells], mesh.cell_shape)


class AffineMaps:
    """r in barycentric coordinates l: x = x_0 + sum_i l_i (x_i - x_0), r_i = 2 l_i - 1."""

    def __init__(self, corners, shape):
        """corners: (cell, corner, dim)"""
        self.origin = corners[:, 0]
        self.inverse = np.linalg.inv(np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2))
        # Rounding of x - origin, carried to barycentric coordinates, for meshes far from the origin.
        rounding = np.abs(self.inverse).sum(axis=(1, 2)) * np.abs(corners).max(axis=(1, 2))
        self.tolerance = TOLERANCE + 4 * np.finfo("float64").eps * rounding

    def invert(self, candidate, x):
        """How far inside its candidate cells (point, candidate) each point x (point, dim) lies, negative outside,
        (point, candidate), and its reference coordinates there, (point, candidate, dim)."""
        tail = np.einsum("pkij,pkj->pki", self.inverse[candidate], x[:, None] - self.origin[candidate])
        return np.minimum(tail.min(axis=2), 1 - tail.sum(axis=2)) + self.tolerance[candidate], 2 * tail - 1


class MultilinearMaps:
    """r with x = sum_c N_c(r) x_c of a `Shape`, by Newton's iteration, kept in the reference cell, where a valid cell's map is
    invertible.

    A point outside ends at the cell's boundary and keeps a distance from its image."""

    def __init__(self, corners, shape):
        """corners: (cell, corner, dim)"""
        self.corners, self.shape, self.vertices = corners, shape, shape.corners
        self.low, self.high = corners.min(axis=1), corners.max(axis=1)
        self.size = np.linalg.norm(self.high - self.low, axis=1)
        at_corners = np.linalg.det(np.einsum("kci,pcd->kpid", corners, shape.gradients(self.vertices)))
        self.skewed = at_corners.min(axis=1) < SKEWED * at_corners.max(axis=1)
        self.tolerance = TOLERANCE * self.size + 8 * np.finfo("float64").eps * np.abs(corners).max(axis=(1, 2))

    def invert(self, candidate, x):
        """How far inside its candidate cells (point, candidate) each point x (point, dim) lies, negative outside,
        (point, candidate), and its reference coordinates there, (point, candidate, dim)."""
        slack, reference = np.full(candidate.shape, -np.inf), np.zeros((*candidate.shape, x.shape[1]))
        margin = self.tolerance[candidate][..., None]
        near = np.all((x[:, None] > self.low[candidate] - margin) & (x[:, None] < self.high[candidate] + margin), axis=2)
        pairs = np.nonzero(near)
        cells = candidate[pairs]
        r, distance = self._search(cells, x[pairs[0]])
        slack[pairs], reference[pairs] = self.tolerance[cells] - distance, r
        return slack, reference

    def _search(self, cells, x):
        """Reference coordinates (pair, dim) of x (pair, dim) in the cells (pair,), and the distance of their image from x.

        In skewed cells the iteration may end at a face though x lies inside; there it is tried from other places too."""
        r, distance = self._newton(cells, x, np.tile(self.vertices.mean(axis=0), (len(x), 1)))
        for start in 0.95 * self.vertices:
            again = np.flatnonzero(self.skewed[cells] & (distance > self.tolerance[cells]))
            if not len(again):
                break
            new, new_distance = self._newton(cells[again], x[again], np.tile(start, (len(again), 1)))
            nearer = new_distance < distance[again]
            r[again[nearer]], distance[again[nearer]] = new[nearer], new_distance[nearer]
        return r, distance

    def _newton(self, cells, x, r):
        """Newton's iteration from r (pair, dim), which it overwrites: the last r, and the distance of its image from x (pair,).

        A step that does not bring the image nearer to x is tried again at half its length."""
        length = np.ones(len(x))
        off = x - self._image(cells, r)
        distance = np.linalg.norm(off, axis=1)
        active = np.arange(len(x))
        for _ in range(STEPS):
            step = self._step(cells[active], r[active], off[active])
            new = self._kept_inside(r[active] + length[active, None] * step)
            new_off = x[active] - self._image(cells[active], new)
            new_distance = np.linalg.norm(new_off, axis=1)
            nearer = new_distance < distance[active]
            moved = np.abs(new - r[active]).max(axis=1, initial=0) > 4 * np.finfo(float).eps
            better = active[nearer]
            r[better], off[better], distance[better] = new[nearer], new_off[nearer], new_distance[nearer]
            length[active] = np.where(nearer, np.minimum(2 * length[active], 1), length[active] / 2)
            active = active[moved & (length[active] > SHORTEST)]
            if not len(active):
                break
        return r, distance

    def extended(self, cells, x, r):
        """Reference coordinates (pair, dim) of places x (pair, dim) a little outside of the cells (pair,), from r nearby."""
        for _ in range(OUTSIDE):
            r = r + self._step(cells, r, x - self._image(cells, r))
        return r

    def _image(self, cells, r):
        return np.einsum("nc,ncd->nd", self.shape.weights(r), self.corners[cells])

    def _step(self, cells, r, off):
        """Newton's step from r (pair, dim) where the image is off by `off` (pair, dim)."""
        J = np.einsum("nci,ncd->nid", self.corners[cells], self.shape.gradients(r))
        return np.linalg.solve(J, off[..., None])[..., 0]

    def _kept_inside(self, r):
        """The points r (pair, dim), moved into the reference cell."""
        return self.shape.kept_inside(r)


class CurvedMaps(MultilinearMaps):
    """r with x = X(r), X the polynomial through a cell's geometry nodes, found as by `MultilinearMaps`; cells of any shape."""

    def __init__(self, mesh):
        """mesh: a `Mesh` or `Elements` with geometry nodes"""
        shape, nodes = mesh.cell_shape, mesh.geometry_nodes
        self.cell, self.shape = cell_maps.geometry_cell(shape, cell_maps.map_order(mesh)), shape
        self.nodes, self.vertices = nodes, shape.corners
        corners = mesh.points[mesh.cells]
        margin = overshoot(shape, self.cell) * cell_maps.bends(mesh)
        self.low, self.high = corners.min(axis=1) - margin[:, None], corners.max(axis=1) + margin[:, None]
        self.size = np.linalg.norm(self.high - self.low, axis=1)
        determinants = cell_maps.determinant(cell_maps.jacobians(mesh, self.cell.nodes))
        self.skewed = determinants.min(axis=0) < SKEWED * determinants.max(axis=0)
        self.tolerance = TOLERANCE * self.size + 8 * np.finfo("float64").eps * np.abs(nodes).max(axis=(1, 2))

    def _step(self, cells, r, off):
        J = np.einsum("knj,nji->nik", self.cell.gradients(r), self.nodes[cells])
        determinants = np.abs(cell_maps.determinant(J))
        # On the way from a far start the iteration may pass where the map folds: there a step of no length ends it.
        J[determinants < FOLD * np.abs(J).max(axis=(1, 2)) ** J.shape[1]] = 1 / FOLD * np.eye(J.shape[1])
        return np.linalg.solve(J, off[..., None])[..., 0]

    def _image(self, cells, r):
        return np.einsum("nj,nji->ni", self.cell.interpolation(r), self.nodes[cells])


def overshoot(shape, cell):
    """A bound on |sum_j l_j(r) u_j| for |u_j| <= 1: the Lebesgue constant of the geometry nodes, from a fine lattice."""
    fine = cell_maps.geometry_cell(shape, min(2 * cell.order + 1, 12)).nodes
    return 1.1 * np.abs(cell.interpolation(fine)).sum(axis=1).max()
