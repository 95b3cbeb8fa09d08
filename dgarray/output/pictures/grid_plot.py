"""Pictures of fields on grids: of the interpolant where the dataset holds derivatives, else of the values of nodes or cells."""
import numpy as np

from dgarray.output.dataset import AXES
from dgarray.output.derived_fields import within
from dgarray.output.pictures.picture import LINE_POINTS_PER_ORDER, Picture
from dgarray.output.pictures.triangles import lines_between
from dgarray.reference import hermite
from dgarray.spaces.interpolant import on_lattice
from dgarray.support.wording import choose

# Points that a line may have.
LINE_POINTS = 20_000


class GridPicture(Picture):
    """A field on a 1D or 2D grid in matplotlib axes; arguments as of `Picture`."""

    def _make(self, mesh, triangles, line):
        dg = self.ds.dg
        grid, parts, cells = dg.lattice, 1, dg.lattice.location != "nodes"
        if self.variable in dg.hermite and dg.order:
            most, wanted = (LINE_POINTS, LINE_POINTS_PER_ORDER) if dg.dim == 1 else (triangles, 6)
            parts = int(np.clip((most / np.prod(grid.cells)) ** (1 / dg.dim), 1, wanted * dg.order))
        # Coordinates of the picture's points, so many to a cell, with both ends, also of periodic axes.
        ends = [a + h / parts * np.arange(n * parts + 1) for a, h, n in zip(grid.lower, grid.spacing, grid.cells)]
        self.ticks, self.halves = grid.axes if cells else ends, [h / parts / 2 for h in grid.spacing]
        corners = [ticks[::parts] for ticks in ends]
        self.weights = self._in_view(np.meshgrid(*self.ticks)).astype(float)          # (y, x), as the values
        if dg.dim == 1:
            self._line(self.ticks[0], corners[0] if mesh else (), line)
        else:
            self._image(corners, mesh)

    def _image(self, corners, mesh):
        """An image whose pixels are the points, smoothed between them."""
        from matplotlib.collections import LineCollection

        (left, right), (low, high) = [(ticks[0], ticks[-1]) for ticks in corners]
        extent = [ticks[end] + sign * half for ticks, half in zip(self.ticks, self.halves) for end, sign in ((0, -1), (-1, 1))]
        self.artist = self.ax.imshow(np.zeros([len(ticks) for ticks in self.ticks[::-1]]), extent=extent, origin="lower",
                                     interpolation="bilinear")
        self.ax.set(xlim=(left, right), ylim=(low, high))
        if mesh:
            lines = [[(x, low), (x, high)] for x in corners[0]] + [[(left, y), (right, y)] for y in corners[1]]
            self.ax.add_collection(LineCollection(lines, colors="black", alpha=0.35, linewidths=0.4), autolim=False)
        self._frame()

    def evaluate(self, values):
        """The field at the points of the picture from the values at the nodes, of one dataset; periodic axes are closed."""
        [values], grid = values, self.ds.dg.lattice
        if grid.location != "nodes":
            return np.asarray(values, float)
        closed = [(0, n + 1 - nodes) for n, nodes in zip(grid.cells[::-1], grid.shape)]
        return np.pad(np.asarray(values, float), closed, mode="wrap")

    def read(self, time):
        dg = self.ds.dg
        if self.variable not in dg.hermite or not dg.order:
            return within(self.ds[self.variable], self.evaluate([dg.values(self.variable, time)]))
        return on_lattice(dg.lattice, dg.order, dg.coefficients(self.variable, time).astype(float), self.ticks)

    def _flat(self, values):
        return values

    def _colour(self, u):
        self.artist.set_data(u)

    def _contours(self, u, values):
        return self.ax.contour(*self.ticks, u, values, colors="black", linewidths=0.4)


class GridPart:
    """A slice of a 3D grid in space: two triangles for each of its cells, with the field on them."""

    def __init__(self, flat):
        self.flat, self.grid = flat, flat.dg.lattice
        self.count = 2 * int(np.prod(self.grid.cells))

    def place(self, corners):
        """Positions (triangle, point, 3) at the barycentric `corners` (point, 3), which `read` evaluates from now on."""
        triangles = np.array([[(0, 0), (1, 0), (0, 1)], [(1, 1), (0, 1), (1, 0)]])
        self.places = np.einsum("pv,tvk->tpk", corners, triangles)          # in a cell of length 1
        i, j = (a.ravel() for a in np.meshgrid(*map(np.arange, self.grid.cells)))
        x = np.empty((len(i), *self.places.shape[:2], 3))
        for number, axis in enumerate(AXES):
            if axis in self.flat.dg.axes:
                k = self.flat.dg.axes.index(axis)
                s = (i, j)[k][:, None, None] + self.places[..., k]
                x[..., number] = self.grid.lower[k] + self.grid.spacing[k] * s
            else:
                x[..., number] = float(self.flat[axis])
        self.cells = i, j
        return x.reshape(-1, len(corners), 3)

    def read(self, name, time):
        """A field (triangle, point) at one time."""
        dg, (nx, ny), (i, j) = self.flat.dg, self.grid.nodes, self.cells
        if self.grid.location != "nodes":
            return np.repeat(dg.values(name, time)[j, i], 2 * self.places.shape[1]).reshape(-1, self.places.shape[1])
        order = dg.order if name in dg.hermite else 0
        c = dg.coefficients(name, time) if order else dg.values(name, time)[None]
        c, flat = c.reshape(len(c), -1), self.places.reshape(-1, 2)
        along = [hermite.values(order, flat[:, k]) for k in (0, 1)]
        total = 0.0
        for right in (0, 1):
            for up in (0, 1):
                weights = np.einsum("pj,pi->pji", along[1][up], along[0][right]).reshape(len(flat), -1)
                total = total + c[:, (j + up) % ny * nx + (i + right) % nx].T @ weights.T
        return total.reshape(-1, self.places.shape[1])

    def edges(self, pyvista, mesh):
        """Outline of the slice, or with `mesh` of all its cells, as PolyData."""
        dg, points, ends = self.flat.dg, [], [(a, b) for a, b in zip(self.grid.lower, self.grid.upper)]
        for k, (low, high) in enumerate(ends):
            for place in np.linspace(low, high, self.grid.cells[k] + 1) if mesh else (low, high):
                for end in ends[1 - k]:
                    at = {dg.axes[k]: place, dg.axes[1 - k]: end}
                    points.append([at.get(axis, float(self.flat[axis]) if axis not in dg.axes else 0.0) for axis in AXES])
        return lines_between(pyvista, np.array(points), np.arange(len(points)).reshape(-1, 2))


def side_plane(ds, name):
    """The plane of a side of a 3D grid. Raises ValueError for an unknown name."""
    sides = ds.dg.lattice.boundaries
    axis, side = sides[choose("boundary", name, sides, " in the dataset; it has")]
    return f"{AXES[axis]}={float(ds.dg.bounds[side, axis])!r}"
