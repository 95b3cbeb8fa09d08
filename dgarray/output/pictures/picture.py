"""A nodal field in matplotlib axes at its true polynomial order: lines in 1D, triangles in 2D; colours, limits and labels."""
import textwrap

import numpy as np

from dgarray.mesh.curved import cell_maps
from dgarray.mesh.curved.parts import edge_lines
from dgarray.mesh.elements import Elements
from dgarray.output.dataset import UNITLESS
from dgarray.output.derived_fields import FROM, at_points, missing
from dgarray.output.pictures.colour_range import (
    NOTHING,
    check_map,
    checked,
    colours,
    limits_for,
    line_values,
    lines_of,
    numbers,
    spread,
)
from dgarray.output.pictures.continuous import Continuous
from dgarray.output.pictures.triangles import FINEST, TRIANGLES, divided, outlines, sides, subdivision
from dgarray.output.slices import cut
from dgarray.support.wording import choose

OPTIONS = "limits", "mesh", "cmap", "colorbar", "log", "isolines", "levels", "zoom", "slice"
LINE_POINTS_PER_ORDER = 8
# Width over height of a domain from which the colour bar lies below it.
WIDE = 1.8
# Characters in a line of a title.
TITLE_WIDTH = 52
# Powers of ten between which numbers at a colour bar are written in full, and its ticks at most.
PLAIN_POWERS, TICKS = (-3, 4), 7


def seen(ds, variable, plane):
    """The datasets themselves, one of each shape of cells, or their one slice by the plane, which then holds this nodal field
    and those that it is computed from: a list."""
    for one in listed(ds):
        one.dg.field(variable)
    if plane is None:
        return listed(ds)
    kept = {variable, *listed(ds)[0][variable].attrs.get(FROM, "").split()}
    alone = [one.drop_vars([name for name in one.dg.variables if name not in kept]) for one in listed(ds)]
    return [alone[0].dg.slice(plane) if alone[0].attrs["cell_type"] == "grid" else cut(alone, plane)]


def listed(ds):
    """The datasets of a run as a list: one of each shape of cells."""
    return ds if isinstance(ds, list) else [ds]


class Picture:
    """A field in matplotlib axes whose values can be renewed: lines and triangles are made once.

    ds: 1D or 2D dataset, a slice too; limits (low, high) or None for those of each state
    triangles: number of small triangles that it may have in 2D; other options as in `draw`"""

    def __init__(self, ds, variable, ax, limits=None, mesh=False, cmap=None, colorbar=True, log=False, zoom=None,
                 triangles=TRIANGLES, isolines=None, levels=None, **line):
        dim = ds.dg.dim
        if dim > 1:
            for name in line:
                choose("option", name, OPTIONS, " for this picture; it has")
        check_map(cmap)
        self.contours, self.lines, self.bar = None, lines_of(isolines, levels, dim), None
        self.ds, self.variable, self.ax, self.cmap, self.log = ds, variable, ax, cmap, bool(log)
        self.limits, self.with_bar = checked(limits, log), colorbar
        self.zoom = None if zoom is None else box_of(zoom, self._bounds(), ds.dg.axes)
        self._make(mesh, triangles, line)
        if self.zoom is not None:
            ax.set(**dict(zip(("xlim", "ylim"), self.zoom.T)))
        if self.log and dim == 1:
            ax.set_yscale("log")

    def _make(self, mesh, triangles, line):
        """Lines or triangles, without values yet."""
        dg = self.ds.dg
        self.some = np.arange(len(dg.cells)) if self.zoom is None else cells_in(dg, self.zoom)
        r, small = _divisions(dg, len(self.some), triangles, self.zoom is not None)
        self.r, self.shape, self.interpolation = r, (len(self.some), len(r)), dg.reference.interpolation(r)
        x = [x.T for x in cell_maps.positions(dg, r, self.some)]
        self.weights = np.repeat(dg.jacobians[self.some, None], len(r), axis=1) * self._in_view(x)
        if dg.dim == 1:
            self._lines(x[0], mesh, line)
        else:
            self._triangles(x, small, mesh)

    def _in_view(self, x):
        """Whether the points x, an array for each axis, lie in the box of `zoom`."""
        if self.zoom is None:
            return np.ones(np.shape(x[0]), bool)
        return np.all([(low <= along) & (along <= high) for along, low, high in zip(x, *self.zoom)], axis=0)

    def _lines(self, x, mesh, line):
        """Each element's polynomial as its own line: jumps between elements stay visible."""
        dg = self.ds.dg
        self.order = np.argsort(dg.points[dg.cells[self.some], 0].mean(axis=1))
        self._line(self._flat(x), np.unique(dg.points[dg.cells, 0]) if mesh else (), line)

    def _line(self, x, corners, line):
        """A line over x, without values yet, with thin vertical ones at the corners."""
        (self.artist,) = self.ax.plot(x, np.full(x.size, np.nan), **line)
        for corner in corners:
            self.ax.axvline(corner, color="0.85", linewidth=0.6, zorder=0)
        self.ax.set(xlabel=label(self.ds, self.ds.dg.axes[0]), ylabel=label(self.ds, self.variable),
                    xlim=(np.nanmin(x), np.nanmax(x)))

    def _flat(self, values):
        """Values as those of the line, with gaps between elements."""
        return np.hstack([values[self.order], np.full((len(values), 1), np.nan)]).ravel()

    def _triangles(self, x, small, mesh):
        """Each triangle's polynomial on an equispaced lattice of small triangles, smoothly shaded.

        The boundary and the lines between regions are drawn; what lies outside the mesh is grey."""
        from matplotlib.collections import LineCollection
        from matplotlib.tri import Triangulation

        ds, dg, ax = self.ds, self.ds.dg, self.ax
        triangles = (np.arange(len(self.some))[:, None, None] * len(self.r) + small).reshape(-1, 3)
        self.triangulation = Triangulation(x[0].ravel(), x[1].ravel(), triangles)
        self.artist = ax.tripcolor(self.triangulation, np.zeros(x[0].size), shading="gouraud", rasterized=True)
        ax.add_collection(LineCollection(self._outlines(), colors="0.2", linewidths=0.8), autolim=False)
        ax.set_facecolor(NOTHING)
        if mesh:
            lines = LineCollection(edge_lines(dg, sides(ds)), colors="black", alpha=0.35, linewidths=0.4)
            ax.add_collection(lines, autolim=False)
        ax.margins(0)
        self._frame()

    def _outlines(self):
        """Points (line, point, 2) of the boundary and of the lines between regions."""
        return edge_lines(self.ds.dg, outlines(self.ds))

    def _frame(self):
        """Labels of a picture in 2D."""
        self.ax.set(aspect="equal", xlabel=label(self.ds, self.ds.dg.axes[0]), ylabel=label(self.ds, self.ds.dg.axes[1]))

    def _colour_bar(self, extend):
        """The colour bar, made anew where it needs other arrows."""
        from matplotlib.ticker import MaxNLocator, ScalarFormatter

        if self.bar is not None and self.bar.extend == extend:
            return
        if self.bar is not None:
            self.bar.remove()
        width, height = np.ptp(self._bounds() if self.zoom is None else self.zoom, axis=0)
        below = width > WIDE * height
        numbers = ScalarFormatter(useMathText=True)
        numbers.set_powerlimits(PLAIN_POWERS)
        ticks = {} if self.log else {"format": numbers, "ticks": MaxNLocator(TICKS, steps=(1, 2, 2.5, 5, 10))}
        self.bar = self.ax.figure.colorbar(
            self.artist, ax=self.ax, label=label(self.ds, self.variable), extend=extend, **ticks,
            location="bottom" if below else "right", aspect=40 if below else 20,
            pad=0.06 if below else 0.02 * max(1, height / width))

    def _bounds(self):
        return self.ds.dg.bounds

    def evaluate(self, values):
        """The field at the points of the picture, (element, point), from nodal values (element, node) of each dataset."""
        return values[0][self.some].astype("float64") @ self.interpolation.T

    def read(self, time):
        """The dataset's field at the points of the picture at one time, (element, point)."""
        return at_points(self.ds, self.variable, lambda name: self._own(name, time))

    def _own(self, name, time):
        """A field that the dataset has, at the points of the picture at one time, (element, point)."""
        return self.evaluate([self.ds.dg.values(name, time)])

    def spread(self, u):
        """The (low, high, least, largest) of values of `read`, for `limits_for`; in 1D a line shows all values, so low and
        high are least and largest."""
        low, high, least, largest = spread(u, self.weights, self.log)
        return (low, high, least, largest) if self.ds.dg.dim > 1 else (least, largest, least, largest)

    def range(self, spreads):
        """The `Limits` for states of these spreads."""
        return limits_for(spreads, self.limits, self.log, self.variable)

    def show(self, u, t=None, limits=None):
        """Draw the values u (element, point) at the time t; limits: the `Limits` of all states if there are several."""
        limits = limits or self.range([self.spread(u)])
        if self.ds.dg.dim == 1:
            self._renew_line(u, limits)
        else:
            self._renew_colours(u, limits)
        self.name(t, self.notes(u, self.weights, limits))

    def name(self, t, notes):
        """Write the title, and the notes below it."""
        place = ""
        if "plane" in self.ds.attrs:
            place = f" {'in the plane' if self.ds.dg.dim == 2 else 'on the line'} {self.ds.attrs['plane'].replace('=', ' = ')}"
        self.ax.set_title("\n".join([title(self.ds, self.variable, place, t), *notes]))

    def _renew_line(self, u, limits):
        self.artist.set_ydata(self._flat(u))
        margin = 0 if self.limits else 0.05 * (limits.high - limits.low)
        if self.log:
            factor = 1 if self.limits else (limits.high / limits.low) ** 0.05
            self.ax.set_ylim(limits.low / factor, limits.high * factor)
        else:
            self.ax.set_ylim(limits.low - margin, limits.high + margin)

    def _renew_colours(self, u, limits):
        from matplotlib.colors import LogNorm

        self._colour(np.maximum(u, limits.low) if self.log else u)
        self.artist.set(clim=limits[:2], cmap=colours(self.cmap, self.ds[self.variable], *limits[:2]))
        if self.log and not isinstance(self.artist.norm, LogNorm):
            self.artist.set_norm(LogNorm(*limits[:2]))
        if self.with_bar:
            self._colour_bar(limits.extend)
        if self.lines is not None:
            self._isolines(u, line_values(self.lines, limits, self.log))

    def notes(self, u, weights, limits):
        """Lines below the title: that colours are cut, and that values u, which have these weights, are missing."""
        found = []
        if self.ds.dg.dim > 1 and self.limits is None and any(limits.cut):
            found.append(f"colours are cut; values from {limits.least:.3g} to {limits.largest:.3g}")
        nothing = np.isnan(u) & (weights > 0)
        if FROM in self.ds[self.variable].attrs and nothing.any():
            found.append(missing(self.ds, weights[nothing].sum() / weights.sum()))
        return found

    def _colour(self, u):
        self.artist.set_array(u.ravel())

    def _contours(self, u, values):
        """Lines of the continuous field that is nearest to the values, so that jumps between elements do not tear them."""
        if not hasattr(self, "continuous"):
            mesh, region = self.ds.dg.space.mesh, self.ds["region"].values[self.some] if "region" in self.ds else None
            nodes = None if mesh.geometry_nodes is None else mesh.geometry_nodes[self.some]
            part = Elements(mesh.points, mesh.cells[self.some], mesh.numbers[self.some], nodes)
            self.continuous = Continuous(part, self.ds.dg.order, region)
            self.onto = self.continuous.cell.interpolation(self.r)
            self.fit = np.linalg.pinv(self.onto)
        u = self.continuous.mean(u @ self.fit.T) @ self.onto.T
        drawn = ~np.isnan(u.ravel())
        self.triangulation.set_mask(~drawn[self.triangulation.triangles].all(axis=1))
        return self.ax.tricontour(self.triangulation, np.where(drawn, u.ravel(), 0), values, colors="black", linewidths=0.4)

    def _isolines(self, u, values):
        """Draw the lines of equal value anew."""
        if self.contours is not None:
            self.contours.remove()
        self.contours = self._contours(u, values)

    def save(self, path, dpi=150):
        """Write the figure to an image file, its kind by the suffix."""
        self.ax.figure.savefig(path, dpi=dpi)

    def resolution(self, dpi):
        """Set the pixels per inch of `image`."""
        self.ax.figure.set_dpi(dpi)

    def palette(self, limits):
        """Colours (256, 3) of 8 bits of all its images with these limits: the map's and greys. None in 1D: any will do."""
        if self.ds.dg.dim == 1:
            return None
        colormap = colours(self.cmap, self.ds[self.variable], *limits[:2])
        shades = np.vstack([colormap(np.linspace(0, 1, 200))[:, :3], np.linspace((0, 0, 0), (1, 1, 1), 56)])
        return (255 * shades).round().astype("uint8")

    def image(self):
        """The figure as it is now, (height, width, 3) of 8 bits."""
        canvas = self.ax.figure.canvas
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _divisions(dg, count, triangles, zoomed):
    """Reference points and small triangles that show the polynomials on so many elements; zoomed: larger than usual."""
    if dg.dim == 2:
        return divided(dg.cell_shape, subdivision(count, max(dg.order, 1), triangles, *[3 * FINEST] * zoomed))
    return np.linspace(-1, 1, LINE_POINTS_PER_ORDER * dg.order * (1 + 2 * zoomed) + 1)[:, None], None


def box_of(zoom, bounds, axes):
    """The box (2, dim: lowest and highest coordinates) of zoom=(x low, x high, y low, y high), or (x low, x high).

    Raises ValueError for other numbers, and for a box outside of the bounds (2, dim) of the mesh."""
    given, wanted = numbers(zoom), ", ".join(f"{axis} low, {axis} high" for axis in axes)
    ends = given.reshape(-1, 2) if given.shape == (2 * len(axes),) else None
    if ends is None or not np.isfinite(ends).all() or (ends[:, 0] >= ends[:, 1]).any():
        raise ValueError(f"zoom {zoom!r} is not allowed; it must be finite numbers ({wanted}), low below high")
    if (ends[:, 0] >= bounds[1]).any() or (ends[:, 1] <= bounds[0]).any():
        extent = ", ".join(f"{axis} from {a:g} to {b:g}" for axis, a, b in zip(axes, *bounds))
        raise ValueError(f"zoom {zoom!r} lies outside of the mesh, which has {extent}")
    return ends.T


def cells_in(dg, box):
    """Numbers of the cells whose own boxes meet this one (2, dim). Raises ValueError where there are none."""
    nodes = dg.points[dg.cells] if dg.geometry_nodes is None else dg.geometry_nodes
    found = np.flatnonzero(((nodes.min(axis=1) <= box[1]) & (nodes.max(axis=1) >= box[0])).all(axis=1))
    if not len(found):
        raise ValueError(f"zoom {tuple(box.T.ravel().tolist())} holds no cell of the mesh")
    return found


def label(ds, name):
    """Words such as: electric field (V/m); an axis without units is its bare name."""
    units = ds.dg.units(name)
    if name in ds.dg.axes:
        return name if units == UNITLESS else f"{name} ({units})"
    text = ds[name].attrs.get("long_name", name)
    return text if units == "1" else f"{text} ({units})"


def title(ds, variable, place="", t=None):
    """Words such as: electric field Ez in the plane z = 0.5 at t = 2 ns."""
    units = ds.dg.units("time")
    when = "" if t is None else f" at t = {t:.6g}{'' if units == UNITLESS else f' {units}'}"
    return textwrap.fill(f"{words(ds[variable])}{place}{when}", TITLE_WIDTH)


def words(field):
    """A field in words and its name, such as: electric field Ez; without a name that repeats the words, such as pressure."""
    text = str(field.attrs.get("long_name", field.name)).split(",")[0]
    return text if {*field.name.lower().split("_")} <= {*text.lower().split()} else f"{text} {field.name}"


def time_of(ds, time=-1):
    """The time of a snapshot, None for a dataset without times."""
    return float(ds["time"].values.reshape(-1)[ds.dg.index(time)]) if "time" in ds.coords else None


def figure_size(ds, zoom=None):
    """Width and height in inches: in 2D the domain's own shape, or that of the box of `zoom`, with room for the labels and the
    colour bar."""
    bounds = [one.dg.bounds for one in listed(ds)]
    if zoom is not None:
        bounds = [box_of(zoom, (np.min(bounds, axis=(0, 1)), np.max(bounds, axis=(0, 1))), listed(ds)[0].dg.axes)]
    if len(bounds[0][0]) == 1:
        return 6.4, 4.0
    width, height = np.max(bounds, axis=(0, 1)) - np.min(bounds, axis=(0, 1))
    if width > WIDE * height:
        return 7.0, float(max(6.2 * height / width + 1.6, 2.4))
    if width >= height:
        return 6.4, float(4.9 * height / width + 0.9)
    return float(np.clip(5.4 * width / height + 1.8, 3.2, 6.6)), 6.0
