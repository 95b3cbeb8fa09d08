"""Pictures of nodal fields: which kind is drawn, and the file that it goes to."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dgarray.output.derived_fields import drawable
from dgarray.output.joined_runs import check_one_run
from dgarray.output.pictures.grid_plot import GridPicture
from dgarray.output.pictures.joined_picture import JoinedPicture
from dgarray.output.pictures.picture import Picture, figure_size, listed, seen, time_of
from dgarray.support.atomic_write import written
from dgarray.support.figures import need_matplotlib, writable

if TYPE_CHECKING:
    pass


def plot(ds, variable, time=-1, path="plot.png", dpi=150, **options):
    """Draw one field to an image file (by matplotlib PNG, PDF or SVG, by PyVista PNG). Returns the path.

    ds: the dataset, or a list of them, one of each shape of cells
    time, options: as in `draw`
    Raises ValueError for an unknown variable, time, plane or boundary, ImportError without the library."""
    ds = one_time(ds, variable, time)
    with written(writable(path)) as aside:
        picture = new_picture(ds, variable, **options)
        picture.show(picture.read(-1), time_of(ds[0]))
        picture.save(aside, dpi)
    return path


def draw(ds: Any, variable: str, time: float | None = -1, ax: Any = None, **options: Any) -> Any:
    """Draw one field into the axes `ax`, or a new pyplot figure. Returns the axes, or a PyVista plotter.

    variable a field of the dataset, or one that follows from them by its law, such as "mach" or "u" of a gas
    time     an index (int) or a time (float, the nearest snapshot)
    options  limits (low, high): those of the colours, or in 1D of the vertical axis
             log: True for logarithmic colours, in 1D a logarithmic axis
             mesh: True draws the elements' outlines
             slice: in 2D and 3D a line or plane such as "z=0.5", as in `ds.dg.slice`, drawn by matplotlib
             zoom (x low, x high, y low, y high): the box that is drawn; in 1D (x low, x high)
             in 2D and on slices: cmap, a map of matplotlib or "schlieren"; colorbar (False omits it)
             isolines: a count of lines of equal value, or (low, high, count), low and high among them; or levels: their values.
             They are those of the continuous field that is nearest, so that jumps between elements do not tear them
             in 1D: as Axes.plot
             in 3D by PyVista: surface, the name of a boundary or a tuple of them; or slice, a list of planes, by default three
             through the middle; further options as in `output.volume.Scene`
    A field of both signs gets limits symmetric about zero and a diverging map, others viridis over their range. Outliers, the
    outermost places that make the range more than three times as large, see `output.colour_range.spread`, do not set it: then
    the colour bar has arrows and the picture says the whole range. A field that follows from others is computed where it is
    drawn, and not drawn where it has no value, as a Mach number where the pressure is not positive.
    Raises ValueError for an unknown variable, time, plane, boundary, colour map, a box outside of the mesh, and logarithmic
    colours of values that are not positive, ImportError without the library."""
    ds = one_time(ds, variable, time)
    if needs_volume(ds, **options):
        from dgarray.output.pictures.volume import Scene

        if ax is not None:
            raise ValueError("this picture is made by PyVista and cannot be drawn into axes; leave out ax, or give one slice")
        picture = Scene(ds, variable, **options)
    else:
        picture = flat_picture(ds, variable, ax, pyplot=True, **options)
    picture.show(picture.read(-1), time_of(ds[0]))
    return picture.ax if isinstance(picture, Picture) else picture.plotter


def new_picture(ds, variable, **options):
    """The picture that the options of `draw` ask for, without a window: a Picture, or a `volume.Scene`."""
    if needs_volume(ds, **options):
        from dgarray.output.pictures.volume import Scene

        return Scene(ds, variable, off_screen=True, **options)
    return flat_picture(ds, variable, **options)


def flat_picture(ds, variable, ax=None, pyplot=False, slice=None, surface=None, zoom=None, **options):
    """A Picture in `ax` or in a new figure, which `pyplot` knows or not."""
    flat = seen(ds, variable, slice)
    need_matplotlib()
    if ax is None and pyplot:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=figure_size(flat, zoom), layout="compressed")
    elif ax is None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=figure_size(flat, zoom), layout="compressed")
        FigureCanvasAgg(figure)
        ax = figure.add_subplot()
    options["zoom"] = zoom
    if len(flat) > 1:
        return JoinedPicture(flat, variable, ax, **options)
    return (GridPicture if flat[0].attrs["cell_type"] == "grid" else Picture)(flat[0], variable, ax, **options)


def needs_volume(ds, slice=None, surface=None, **_):
    """True if the picture is one for PyVista: in 3D all but a single slice. Raises ValueError for what 1D and 2D have not."""
    dim = listed(ds)[0].dg.dim
    if surface is not None and slice is not None:
        raise ValueError(f"slice={slice!r} and surface={surface!r} are both given; give one")
    if dim < 3 and (surface is not None or isinstance(slice, list)):
        raise ValueError(f"{'several slices are' if surface is None else 'surface is'} for 3D; the dataset is {dim}D")
    return dim == 3 and (slice is None or isinstance(slice, list))


def one_time(ds, variable, time):
    """The datasets at one time, with the field `variable`, their own or one that follows from them. Raises ValueError for an
    unknown variable or time, and for several runs in one dataset."""
    found = [drawable(one.isel(time=[one.dg.index(time)]) if "time" in one.dims else one, variable) for one in listed(ds)]
    check_one_run(found[0].dg.field(variable), found[0].dg.axes)
    return found
