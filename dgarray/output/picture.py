"""A nodal field in matplotlib axes at its true polynomial order: lines in 1D, triangles in 2D; colours, limits and labels."""
import textwrap

import numpy as np

from dgarray.mesh import cell_maps
from dgarray.mesh.curved_parts import edge_lines
from dgarray.output.dataset import UNITLESS
from dgarray.output.joined_slices import cut_all
from dgarray.output.triangles import TRIANGLES, divided, outlines, sides, subdivision
from dgarray.wording import choose

# Share of the other sign above which a field counts as signed and gets symmetric limits.
SIGNED_SHARE = 0.05
LINE_POINTS_PER_ORDER = 8
# Width over height of a domain from which the colour bar lies below it.
WIDE = 1.8
# Characters in a line of a title.
TITLE_WIDTH = 52
# Powers of ten between which numbers at a colour bar are written in full, and its ticks at most.
PLAIN_POWERS, TICKS = (-3, 4), 7
# The map "schlieren" goes from white to black as exp(-DARK s): weak gradients show beside strong ones.
DARK = 15


def seen(ds, variable, plane):
    """The dataset itself, or its slice by the plane, which then holds this one nodal field; ds may be a list of datasets, one
    of each shape of cells, which have one slice."""
    for one in listed(ds):
        one.dg.field(variable)
    if plane is None:
        return ds
    alone = [one.drop_vars([name for name in one.dg.variables if name != variable]) for one in listed(ds)]
    return cut_all(alone, plane) if isinstance(ds, list) else alone[0].dg.slice(plane)


def listed(ds):
    """The datasets of a run as a list: one of each shape of cells."""
    return ds if isinstance(ds, list) else [ds]


class Picture:
    """A field in matplotlib axes whose values can be renewed: lines and triangles are made once.

    ds: 1D or 2D dataset, a slice too; limits (low, high) or None for those of each state
    triangles: number of small triangles that it may have in 2D; other options as in `draw`"""

    def __init__(self, ds, variable, ax, limits=None, mesh=False, cmap=None, colorbar=True, triangles=TRIANGLES, isolines=None,
                 **line):
        self.lines, self.levels = None, levels(isolines, ds.dg.dim)
        self.ds, self.variable, self.ax, self.limits, self.cmap = ds, variable, ax, checked(limits), cmap
        if ds.dg.dim > 1:
            for name in line:
                choose("option", name, ("limits", "mesh", "cmap", "colorbar", "isolines", "slice"), " for this picture; it has")
        self._make(mesh, colorbar, triangles, line)

    def _make(self, mesh, colorbar, triangles, line):
        """Lines or triangles, without values yet."""
        dg = self.ds.dg
        r, small = _divisions(dg, triangles)
        self.count, self.interpolation = len(r), dg.reference.interpolation(r)
        x = [x.T for x in cell_maps.positions(dg, r)]
        if dg.dim == 1:
            self._lines(x[0], mesh, line)
        else:
            self._triangles(x, small, mesh, colorbar)

    def _lines(self, x, mesh, line):
        """Each element's polynomial as its own line: jumps between elements stay visible."""
        dg = self.ds.dg
        self.order = np.argsort(dg.points[dg.cells, 0].mean(axis=1))
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

    def _triangles(self, x, small, mesh, colorbar):
        """Each triangle's polynomial on an equispaced lattice of small triangles, smoothly shaded.

        The boundary and the lines between regions are drawn; what lies outside the mesh is grey."""
        from matplotlib.collections import LineCollection
        from matplotlib.tri import Triangulation

        ds, dg, ax = self.ds, self.ds.dg, self.ax
        triangles = (np.arange(len(dg.cells))[:, None, None] * self.count + small).reshape(-1, 3)
        self.triangulation = Triangulation(x[0].ravel(), x[1].ravel(), triangles)
        self.artist = ax.tripcolor(self.triangulation, np.zeros(x[0].size), shading="gouraud", rasterized=True)
        ax.add_collection(LineCollection(self._outlines(), colors="0.2", linewidths=0.8), autolim=False)
        ax.set_facecolor("0.8")
        if mesh:
            lines = LineCollection(edge_lines(dg, sides(ds)), colors="black", alpha=0.35, linewidths=0.4)
            ax.add_collection(lines, autolim=False)
        ax.margins(0)
        self._frame(colorbar)

    def _outlines(self):
        """Points (line, point, 2) of the boundary and of the lines between regions."""
        return edge_lines(self.ds.dg, outlines(self.ds))

    def _frame(self, colorbar):
        """Labels and colour bar of a picture in 2D."""
        ds, dg, ax = self.ds, self.ds.dg, self.ax
        ax.set(aspect="equal", xlabel=label(ds, dg.axes[0]), ylabel=label(ds, dg.axes[1]))
        if colorbar:
            from matplotlib.ticker import MaxNLocator, ScalarFormatter

            width, height = np.ptp(self._bounds(), axis=0)
            below = width > WIDE * height
            numbers = ScalarFormatter(useMathText=True)
            numbers.set_powerlimits(PLAIN_POWERS)
            ax.figure.colorbar(self.artist, ax=ax, label=label(ds, self.variable), format=numbers,
                               ticks=MaxNLocator(TICKS, steps=(1, 2, 2.5, 5, 10)),
                               location="bottom" if below else "right", aspect=40 if below else 20,
                               pad=0.06 if below else 0.02 * max(1, height / width))

    def _bounds(self):
        return self.ds.dg.bounds

    def evaluate(self, values):
        """The field at the points of the picture, (element, point), from nodal values (element, node)."""
        return values.astype("float64") @ self.interpolation.T

    def read(self, time):
        """The dataset's field at the points of the picture at one time, (element, point)."""
        return within(self.ds[self.variable], self.evaluate(self.ds.dg.values(self.variable, time)))

    def show(self, u, t=None, limits=None):
        """Draw the values u (element, point) at the time t; limits (low, high) if none were fixed."""
        low, high = self.limits or limits or limits_of(*extent(u))
        if self.ds.dg.dim == 1:
            self.artist.set_ydata(self._flat(u))
            margin = 0 if self.limits else 0.05 * (high - low)
            self.ax.set_ylim(low - margin, high + margin)
        else:
            self._colour(u)
            self.artist.set(clim=(low, high), cmap=colours(self.cmap, self.ds[self.variable], low, high))
            if self.levels is not None:
                self._isolines(u)
        place = ""
        if "plane" in self.ds.attrs:
            place = f" {'in the plane' if self.ds.dg.dim == 2 else 'on the line'} {self.ds.attrs['plane'].replace('=', ' = ')}"
        self.ax.set_title(title(self.ds, self.variable, place, t))

    def _colour(self, u):
        self.artist.set_array(u.ravel())

    def _contours(self, u):
        return self.ax.tricontour(self.triangulation, u.ravel(), self.levels, colors="black", linewidths=0.4)

    def _isolines(self, u):
        """Draw the lines of equal value anew."""
        if self.lines is not None:
            self.lines.remove()
        self.lines = self._contours(u)

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
        from matplotlib import colormaps

        colormap = colormaps.get_cmap(colours(self.cmap, self.ds[self.variable], *(self.limits or limits)))
        shades = np.vstack([colormap(np.linspace(0, 1, 200))[:, :3], np.linspace((0, 0, 0), (1, 1, 1), 56)])
        return (255 * shades).round().astype("uint8")

    def image(self):
        """The figure as it is now, (height, width, 3) of 8 bits."""
        canvas = self.ax.figure.canvas
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _divisions(dg, triangles):
    if dg.dim == 2:
        return divided(dg.cell_shape, subdivision(len(dg.cells), max(dg.order, 1), triangles))
    return np.linspace(-1, 1, LINE_POINTS_PER_ORDER * dg.order + 1)[:, None], None


def extent(u):
    """Smallest and largest finite value, 0 and 0 if there is none."""
    u = u[np.isfinite(u)]
    return (float(u.min()), float(u.max())) if u.size else (0.0, 0.0)


def limits_of(low, high):
    """Limits of the colours for a field from `low` to `high`: symmetric about zero if it has both signs."""
    largest = max(abs(low), abs(high))
    if low < 0 < high and min(-low, high) > SIGNED_SHARE * largest:
        return -largest, largest
    if high - low <= 1e-12 * largest or largest == 0:
        # A constant field: rounding must not fill the range of colours.
        half = 0.5 * largest or 0.5
        return low - half, high + half
    # A bound that is zero up to rounding is zero.
    return tuple(0.0 if abs(bound) <= 1e-12 * largest else bound for bound in (low, high))


def checked(limits):
    """The limits as a tuple (low, high), or None. Raises ValueError unless they are two finite numbers, the lower first."""
    if limits is None:
        return None
    pair = numbers(limits)
    if pair.shape != (2,) or not np.isfinite(pair).all() or pair[0] >= pair[1]:
        raise ValueError(f"limits {limits!r} are not allowed; they must be two finite numbers (low, high), low below high")
    return tuple(pair.tolist())


def numbers(values):
    """The values as an array, an empty one for what are no numbers."""
    try:
        return np.asarray(values, dtype="float64")
    except (TypeError, ValueError):
        return np.empty(0)


def levels(isolines, dim):
    """The values of the lines that (low, high, count) asks for, or None. Raises ValueError for others, and in 1D."""
    if isolines is None:
        return None
    given = numbers(isolines)
    if dim == 1:
        raise ValueError(f"isolines {isolines!r} are for 2D; the dataset is 1D")
    if given.shape != (3,) or not np.isfinite(given).all() or given[0] >= given[1] or given[2] < 2 or given[2] % 1:
        raise ValueError(f"isolines {isolines!r} are not allowed; they must be (low, high, count), low below high, count a "
                         "whole number from 2")
    return np.linspace(given[0], given[1], int(given[2]))


def within(field, u):
    """The values u without those below the field's attribute `valid_min`, which a polynomial may have between its nodes."""
    return np.maximum(u, field.attrs["valid_min"]) if "valid_min" in field.attrs else u


def colours(chosen, field, low, high):
    """The colour map: the one that was chosen, that of the field's attribute `colour_map`, or a diverging one for limits
    symmetric about zero, viridis for others. Beside matplotlib's there is "schlieren", from white to black as exp(-15 s)."""
    name = chosen or field.attrs.get("colour_map") or ("RdBu_r" if low == -high else "viridis")
    if name != "schlieren":
        return name
    from matplotlib.colors import ListedColormap

    return ListedColormap(np.exp(-DARK * np.linspace(0, 1, 1024))[:, None].repeat(3, axis=1), name)


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
    """What a field is and its name, such as: electric field Ez; without a name that repeats the words, such as pressure."""
    text = str(field.attrs.get("long_name", field.name)).split(",")[0]
    return text if {*field.name.lower().split("_")} <= {*text.lower().split()} else f"{text} {field.name}"


def time_of(ds, time=-1):
    """The time of a snapshot, None for a dataset without times."""
    return float(ds["time"].values.reshape(-1)[ds.dg.index(time)]) if "time" in ds.coords else None


def figure_size(ds):
    """Width and height in inches: in 2D the domain's own shape with room for the labels and the colour bar."""
    bounds = [one.dg.bounds for one in listed(ds)]
    if len(bounds[0][0]) == 1:
        return 6.4, 4.0
    width, height = np.max(bounds, axis=(0, 1)) - np.min(bounds, axis=(0, 1))
    if width > WIDE * height:
        return 7.0, float(max(6.2 * height / width + 1.6, 2.4))
    if width >= height:
        return 6.4, float(4.9 * height / width + 0.9)
    return float(np.clip(5.4 * width / height + 1.8, 3.2, 6.6)), 6.0
