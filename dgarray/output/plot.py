"""Pictures of nodal fields: which kind is drawn, and the file that it goes to."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dgarray.atomic_write import written
from dgarray.figures import figure_and_axes, finished, need_matplotlib, writable
from dgarray.output.derived_fields import with_field
from dgarray.output.grid_plot import GridPicture
from dgarray.output.joined import check_one_run
from dgarray.output.picture import Picture, extent, figure_size, limits_of, seen, size_of_figure, time_of
from dgarray.output.triangles import outlines

if TYPE_CHECKING:
    import xarray as xr


def plot(ds, variable, time=-1, path="plot.png", dpi=150, **options):
    """Draw one field to an image file (by matplotlib PNG, PDF or SVG, by PyVista PNG). Returns the path.

    time, options: as in `draw`
    Raises ValueError for an unknown variable, time, plane or boundary, ImportError without the library."""
    ds = one_time(ds, variable, time)
    with written(writable(path)) as aside:
        picture = new_picture(ds, variable, **options)
        picture.show(picture.read(-1), time_of(ds))
        picture.save(aside, dpi)
    return path


def draw(ds: xr.Dataset, variable: str, time: float | None = -1, ax: Any = None, **options: Any) -> Any:
    """Draw one field into the axes `ax`, or a new pyplot figure. Returns the axes, or a PyVista plotter.

    variable a field of the dataset, or one that follows from them by its law, such as "mach" or "u" of a gas
    time     an index (int) or a time (float, the nearest snapshot)
    options  limits (low, high): those of the colours, or in 1D of the vertical axis
             mesh: True draws the elements' outlines
             slice: in 2D and 3D a line or plane such as "z=0.5", as in `ds.dg.slice`, drawn by matplotlib
             in 2D and on slices: cmap, colorbar (False omits it), isolines (low, high, count): so many lines of equal
             value, low and high among them; in 1D: as Axes.plot
             in 3D by PyVista: surface, the name of a boundary or a tuple of them; or slice, a list of planes, by default three
             through the middle; further options as in `output.volume.Scene`
    A field of both signs gets limits symmetric about zero and a diverging map, others viridis over their range.
    Raises ValueError for an unknown variable, time, plane or boundary, ImportError without the library."""
    ds = one_time(ds, variable, time)
    if needs_volume(ds, **options):
        from dgarray.output.volume import Scene

        if ax is not None:
            raise ValueError("this picture is made by PyVista and cannot be drawn into axes; leave out ax, or give one slice")
        picture = Scene(ds, variable, **options)
    else:
        picture = flat_picture(ds, variable, ax, pyplot=True, **options)
    picture.show(picture.read(-1), time_of(ds))
    return picture.ax if isinstance(picture, Picture) else picture.plotter


def several(datasets, variable, ax=None, path=None, limits=None, **options):
    """Draw one field of several 2D datasets with one range of colours: as `draw`, with a path as `plot`."""
    datasets = [one_time(ds, variable, -1) for ds in datasets]
    if datasets[0].dg.dim == 3:
        raise ValueError("pictures of 3D meshes of several shapes are made by PyVista or ParaView: write a file by "
                         "tree.dg.to_vtk('out.vtkhdf'), or draw a zone: tree.dg.zones[name].dg.plot(...)")
    for name in ("slice", "surface"):
        if options.pop(name, None) is not None:
            raise ValueError(f"{name} is for a mesh of cells of one shape; ask a zone: tree.dg.zones[name].dg.plot(...)")
    if ax is not None and path is not None:
        raise ValueError("ax and path are both given; give one")
    bounds = [ds.dg.bounds for ds in datasets]
    size = np.max([high for _, high in bounds], axis=0) - np.min([low for low, _ in bounds], axis=0)
    figure, ax = figure_and_axes(ax, path, size_of_figure(*size), "compressed")
    pictures = [flat_picture(ds, variable, ax, limits=limits, rim=rim, **options, **({} if i == 0 else {"colorbar": False}))
                for i, (ds, rim) in enumerate(zip(datasets, outer_edges(datasets)))]
    values = [picture.read(-1) for picture in pictures]
    low, high = zip(*map(extent, values))
    common = pictures[0].limits or limits_of(min(low), max(high))
    for picture, u in zip(pictures, values):
        picture.show(u, time_of(datasets[0]), common)
    ax.autoscale_view()
    return finished(figure, ax, path)


def outer_edges(datasets):
    """The `outlines` of each of several 2D datasets, without the edges that two of them share."""
    rows = [outlines(ds) for ds in datasets]
    ends = [np.sort(ds.dg.points[ds.dg.cells[own[:, :1], np.array(ds.dg.cell_shape.faces)[own[:, 1]]]].round(12)
                    .view("complex128")[..., 0], axis=1) for ds, own in zip(datasets, rows)]
    _, number, count = np.unique(np.concatenate(ends), axis=0, return_inverse=True, return_counts=True)
    once = np.split(count[number.ravel()] == 1, np.cumsum([len(own) for own in rows])[:-1])
    return [own[keep] for own, keep in zip(rows, once)]


def new_picture(ds, variable, **options):
    """The picture that the options of `draw` ask for, without a window: a Picture, or a `volume.Scene`."""
    if needs_volume(ds, **options):
        from dgarray.output.volume import Scene

        return Scene(ds, variable, off_screen=True, **options)
    return flat_picture(ds, variable, **options)


def flat_picture(ds, variable, ax=None, pyplot=False, slice=None, surface=None, **options):
    """A Picture in `ax` or in a new figure, which `pyplot` knows or not."""
    flat = seen(ds, variable, slice)
    need_matplotlib()
    if ax is None and pyplot:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=figure_size(flat), layout="compressed")
    elif ax is None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=figure_size(flat), layout="compressed")
        FigureCanvasAgg(figure)
        ax = figure.add_subplot()
    if flat.attrs["cell_type"] == "grid":
        return GridPicture(flat, variable, ax, **options)
    return Picture(flat, variable, ax, **options)


def needs_volume(ds, slice=None, surface=None, **_):
    """True if the picture is one for PyVista: in 3D all but a single slice. Raises ValueError for what 1D and 2D have not."""
    if surface is not None and slice is not None:
        raise ValueError(f"slice={slice!r} and surface={surface!r} are both given; give one")
    if ds.dg.dim < 3 and (surface is not None or isinstance(slice, list)):
        raise ValueError(f"{'several slices are' if surface is None else 'surface is'} for 3D; the dataset is {ds.dg.dim}D")
    return ds.dg.dim == 3 and (slice is None or isinstance(slice, list))


def one_time(ds, variable, time):
    """The dataset at one time, with the field `variable`, its own or one that follows from them. Raises ValueError for an
    unknown variable or time, and for several runs in one dataset."""
    ds = ds.isel(time=[ds.dg.index(time)]) if "time" in ds.dims else ds
    ds = with_field(ds, variable)
    check_one_run(ds.dg.field(variable), ds.dg.axes)
    return ds
