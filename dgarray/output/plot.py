"""Pictures of nodal fields at their true polynomial order, by matplotlib."""
import numpy as np

from dgarray.output.dataset import AXES, UNITLESS

# Small triangles that one 2D picture may have; beyond it they are below the size of its pixels.
TRIANGLES = 400_000
# Share of the other sign above which a field counts as signed and gets symmetric limits.
SIGNED_SHARE = 0.05
LINE_POINTS_PER_ORDER = 8


def plot(ds, variable, time=-1, path="plot.png", dpi=150, **options):
    """Draw one field to an image file (PNG, PDF, SVG by the suffix of `path`); options as in `draw`. Returns the path.

    Raises ValueError for an unknown variable or time and for 3D, ImportError without matplotlib."""
    _matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=_figure_size(ds), layout="compressed")
    draw(ds, variable, time, figure.add_subplot(), **options)
    figure.savefig(path, dpi=dpi)
    return path


def draw(ds, variable, time=-1, ax=None, **options):
    """Draw one field of a 1D or 2D dataset into `ax`, or a new pyplot figure. Returns the axes.

    options in 2D: edges (True draws the mesh), cmap, limits (low, high), colorbar (False omits it); 1D: as Axes.plot
    Raises ValueError for an unknown variable or time and for 3D, ImportError without matplotlib."""
    ds.dg.field(variable)
    if ds.dg.dim == 3:
        raise ValueError("a 3D field has no picture of its own; sample a slice with ds.dg.sample(points) and draw that")
    _matplotlib()
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=_figure_size(ds), layout="compressed")
    (plot1d if ds.dg.dim == 1 else plot2d)(ds, variable, time, ax, **options)
    ax.set_title(f"{variable}{_time_text(ds, time)}")
    return ax


def plot1d(ds, variable, time, ax, **options):
    """Each element's polynomial as its own line: jumps between elements stay visible. Returns the line."""
    dg = ds.dg
    corners = np.linspace(0, 1, LINE_POINTS_PER_ORDER * dg.order + 1)
    x, u = _evaluate(ds, dg.values(variable, time), np.column_stack([1 - corners, corners]))
    order = np.argsort(dg.points[dg.cells, 0].mean(axis=1))
    gap = np.full((len(order), 1), np.nan)
    (line,) = ax.plot(np.hstack([x[0][order], gap]).ravel(), np.hstack([u[order], gap]).ravel(), **options)
    ax.set(xlabel=_label(ds, "x"), ylabel=_label(ds, variable))
    ax.margins(x=0)
    return line


def plot2d(ds, variable, time, ax, edges=False, cmap=None, limits=None, colorbar=True):
    """Each triangle's polynomial on an equispaced lattice of small triangles, smoothly shaded. Returns the mappable.

    The boundary and the lines between regions are drawn; what lies outside the mesh is grey.
    A field of both signs gets limits symmetric about zero and a diverging map, others viridis over their range."""
    from matplotlib.collections import LineCollection
    from matplotlib.tri import Triangulation

    dg = ds.dg
    corners, small = lattice(_subdivision(len(dg.cells), dg.order))
    (x, y), u = _evaluate(ds, dg.values(variable, time), corners)
    triangles = (np.arange(len(u))[:, None, None] * len(corners) + small).reshape(-1, 3)
    low, high, signed = _limits(u) if limits is None else (*limits, limits[0] == -limits[1])
    mappable = ax.tripcolor(Triangulation(x.ravel(), y.ravel(), triangles), u.ravel(), shading="gouraud",
                            vmin=low, vmax=high, cmap=cmap or ("RdBu_r" if signed else "viridis"), rasterized=True)
    ax.add_collection(LineCollection(dg.points[outlines(ds)], colors="0.2", linewidths=0.8), autolim=False)
    ax.set_facecolor("0.8")
    if edges:
        sides = np.unique(np.sort(dg.cells[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
        ax.add_collection(LineCollection(dg.points[sides], colors="black", alpha=0.35, linewidths=0.4), autolim=False)
    ax.set(aspect="equal", xlabel=_label(ds, "x"), ylabel=_label(ds, "y"))
    ax.margins(0)
    if colorbar:
        width, height = np.ptp(dg.points, axis=0)
        ax.figure.colorbar(mappable, ax=ax, label=_label(ds, variable), pad=0.02 * max(1, height / width))
    return mappable


def outlines(ds):
    """Corner numbers (edge, 2) of the edges of one triangle only, and of those between two regions."""
    cells = ds.dg.cells
    edges = np.sort(cells[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    unique, inverse, count = np.unique(edges, axis=0, return_inverse=True, return_counts=True)
    region = np.repeat(ds["region"].values if "region" in ds else np.zeros(len(cells)), 3)
    low, high = np.full(len(unique), np.inf), np.full(len(unique), -np.inf)
    np.minimum.at(low, inverse.ravel(), region)
    np.maximum.at(high, inverse.ravel(), region)
    return unique[(count == 1) | (low < high)]


def lattice(divisions):
    """Equispaced barycentric lattice of a triangle: points (point, 3), and its divisions^2 triangles (triangle, 3)."""
    n = divisions
    rows = [(i, j) for j in range(n + 1) for i in range(n + 1 - j)]
    number = {row: index for index, row in enumerate(rows)}
    upward = [(number[i, j], number[i + 1, j], number[i, j + 1]) for i, j in rows if i + j < n]
    downward = [(number[i + 1, j], number[i + 1, j + 1], number[i, j + 1]) for i, j in rows if i + j < n - 1]
    tail = np.array(rows) / n
    return np.column_stack([1 - tail.sum(axis=1), tail]), np.array(upward + downward)


def _subdivision(elements, order):
    if order == 1 and elements > TRIANGLES:
        return 1
    return int(np.clip(np.sqrt(TRIANGLES / elements), 2, 6 * order))


def _evaluate(ds, values, corners):
    """Coordinates, a list by axis, and field, all (element, point), at the barycentric `corners` (point, dim + 1)."""
    dg = ds.dg
    interpolation = dg.reference.interpolation(2 * corners[:, 1:] - 1)
    x = [dg.points[dg.cells, axis] @ corners.T for axis in range(dg.dim)]
    return x, values.astype("float64") @ interpolation.T


def _limits(u):
    low, high = float(np.nanmin(u)), float(np.nanmax(u))
    largest = max(abs(low), abs(high))
    if low < 0 < high and min(-low, high) > SIGNED_SHARE * largest:
        return -largest, largest, True
    if high - low <= 1e-12 * largest or largest == 0:
        # A constant field: rounding must not fill the range of colours.
        half = 0.5 * largest or 0.5
        return low - half, high + half, False
    return low, high, False


def _label(ds, name):
    units, text = ds.dg.units(name), ds[name].attrs.get("long_name", name)
    if name in AXES:
        return name if units == UNITLESS else f"{name} ({units})"
    return f"{text} ({units})"


def _time_text(ds, time):
    if "time" not in ds.coords:
        return ""
    value, units = float(ds["time"].values.reshape(-1)[ds.dg.index(time)]), ds.dg.units("time")
    return f" at t = {value:.6g} {f'({units})' if units == UNITLESS else units}"


def _figure_size(ds):
    if ds.dg.dim != 2:
        return 6.4, 4.0
    width, height = np.ptp(ds.dg.points, axis=0)
    # Room for the colour bar and the labels beside a picture of the domain's own shape.
    return (6.4, float(np.clip(4.9 * height / width + 0.9, 2.2, 9.0))) if width >= height else (
        float(np.clip(5.4 * width / height + 1.8, 3.2, 6.6)), 6.0)


def _matplotlib():
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("pictures need matplotlib; install it with: pip install 'dgarray[plot]'") from error
