"""A picture of a problem before it runs: the initial state, and the boundaries by name with their conditions."""
import numpy as np

from dgarray.mesh import grid_picture, picture
from dgarray.output.derived_fields import drawable
from dgarray.output.pictures.colour_range import extent
from dgarray.output.pictures.picture import OPTIONS, figure_size, time_of
from dgarray.output.pictures.plot import flat_picture
from dgarray.support.figures import figure_and_axes, finished
from dgarray.support.wording import choose

WORDS = 44          # characters of a condition in the legend


def plot(dg, domain, conditions, variable=None, path=None, ax=None, **options):
    """Draw the one state of a run's output and the boundaries of its `domain`, a mesh or grid, see `Simulation.plot`.

    dg: the accessor of the dataset or tree;  conditions: {name of a boundary, None for faces without a name: text}"""
    for name in options if domain.dim > 1 else ():
        choose("option", name, OPTIONS, " for this picture; it has")
    datasets = dg.datasets()
    variable = first_that_varies(datasets) if variable is None else variable
    datasets = [drawable(ds, variable) for ds in datasets]
    if domain.dim == 3 and isinstance(options.get("slice", ""), list):
        raise ValueError(f"slice={options['slice']!r} is not allowed here; give one plane such as \"z=0\"")
    if domain.dim == 3 and ax is not None:
        raise ValueError("ax is for 1D and 2D; a picture in 3D has two axes of its own, leave it out")
    labels = {name: f"{name or picture.UNNAMED}: {shortened(text)}" for name, text in conditions.items()}
    rows = -(-len(labels) // 2)
    width, height = (11.0, 5.2) if domain.dim == 3 else figure_size(datasets, options.get("zoom"))
    layout = "compressed" if domain.dim == 2 else "constrained"
    figure, ax = figure_and_axes(ax, path, (width, height + 0.25 * rows), layout)
    if domain.dim == 3:
        figure.clear()
        figure.get_layout_engine().set(wspace=0.12)
        ax = figure.add_subplot(1, 2, 1, projection="3d")
        entries = boundaries(ax, domain, labels)
        ax.set_title("boundaries")
        options = {"slice": middle(domain)} | options
        ax = figure.add_subplot(1, 2, 2)
    drawn = flat_picture(datasets, variable, ax, **options)
    drawn.show(drawn.read(-1), time_of(datasets[0]))
    if domain.dim < 3:
        entries = boundaries(ax, domain, labels)
    if domain.dim == 2:          # room for the lines around the field
        low, high = picture.extent_of(domain)
        room = 0.02 * (high - low).max()
        if "zoom" not in options:
            ax.set(xlim=(low[0] - room, high[0] + room), ylim=(low[1] - room, high[1] + room), facecolor="white")
    if entries:
        figure.legend(handles=entries, loc="outside lower center", ncols=2, fontsize="small", frameon=False)
    return finished(figure, ax, path)


def boundaries(ax, mesh, labels):
    """Draw the boundaries of a mesh or grid; returns the legend's entries."""
    if mesh.structured:
        return grid_picture.draw_sides(ax, mesh, grid_picture.sides_of(mesh, None, labels))
    return picture.draw_groups(ax, mesh, picture.groups_of(mesh, labels=labels))


def middle(mesh):
    """The plane across z through the middle of a mesh, or of the nodes nearest to it."""
    low, high = picture.extent_of(mesh)
    z = float(low[2] + high[2]) / 2
    return f"z={float(mesh.axes[2][np.abs(mesh.axes[2] - z).argmin()]) if mesh.structured else z!r}"


def first_that_varies(datasets):
    """The first variable that is not constant, the very first where all are."""
    ranges = {name: extent(np.concatenate([ds[name].values.ravel() for ds in datasets])) for name in datasets[0].dg.variables}
    varying = [name for name, (low, high) in ranges.items() if high - low > 1e-12 * max(abs(low), abs(high))]
    return (varying or list(ranges))[0]


def shortened(text):
    """The text of a condition, without the function that it was defined in, cut off where it is long."""
    text = text.rpartition("<locals>.")[2]
    return text if len(text) <= WORDS else f"{text[:WORDS - 4]} ..."
