"""Pictures of meshes by matplotlib: cells in outline, regions shaded, the boundaries by name; in 3D the boundary faces."""
from pathlib import Path

import numpy as np

from ..support.figures import figure_and_axes, finished
from ..support.wording import choose, plural
from .curved import cell_maps
from .curved.parts import LINES, edge_lines
from .errors import MeshError

UNNAMED = "without a name"
PLAIN = "0.45"          # colour of faces that have no name, and of periodic ones
ENTRIES = 24          # names that a legend may have
SHADE = 0.6          # opacity of regions
GLASS = 0.18          # opacity of outer faces in front of the others
RING = {3: (0, 1, 2), 4: (0, 1, 3, 2)}          # the corners of a face in 3D, in their order around it


def plot(mesh, path=None, ax=None, boundary=None, cells=True):
    """Draw a mesh, see `Mesh.plot`."""
    groups = groups_of(mesh, names_of(boundary, (*mesh.boundaries, *mesh.interfaces)))
    figure, ax = new_axes(mesh, ax, path)
    drawn = [*draw_cells(ax, mesh, cells), *draw_groups(ax, mesh, groups, cells)]
    return titled(figure, ax, path, drawn, f"{Path(mesh.source).name}: " + " and ".join(
        plural(block.cell_count, f"{block.cell_type} cell") for block in mesh.blocks))


def names_of(boundary, allowed):
    """The names that are to be drawn, None for all. Raises MeshError for one that does not exist."""
    if boundary is None:
        return None
    try:
        return [choose("boundary", name, allowed, " in the mesh; it has")
                for name in ([boundary] if isinstance(boundary, str) else boundary)]
    except ValueError as error:
        raise MeshError(str(error)) from None


def new_axes(mesh, ax, path):
    """The figure and axes of a picture of a mesh or grid."""
    size = np.subtract(*reversed(extent_of(mesh)))
    if mesh.dim == 1:
        return figure_and_axes(ax, path, (7.0, 1.7))
    if mesh.dim == 3:
        return figure_and_axes(ax, path, (8.6, 6.0), projection="3d")
    width = float(np.clip(5.0 * size[0] / size[1], 2.0, 7.5))
    return figure_and_axes(ax, path, (width + 2.5, float(np.clip(width * size[1] / size[0], 1.5, 7.0) + 0.9)),
                           "compressed")


def extent_of(mesh):
    """Lowest and highest coordinates of a mesh or grid, (dim,) each."""
    return (np.array(mesh.lower), np.array(mesh.upper)) if mesh.structured else cell_maps.extent(mesh)


def groups_of(mesh, names=None, labels=None):
    """The faces to draw, [(label, rows (count, 2), style)]: boundaries, interfaces, periodic and unnamed faces.

    names: those that are drawn, None for all;  labels: {name: text} for the legend, else the names themselves"""
    found = [(name, rows, "solid") for name, rows in mesh.boundaries.items() if len(rows)]
    found += [(name, rows, "dashed") for name, rows in mesh.interfaces.items()]
    if names is not None:
        found = [group for group in found if group[0] in names]
    groups = [((labels or {}).get(name, name), rows, (colour, style))
              for (name, rows, style), colour in zip(found, palette(len(found)))]
    if names is None and len(mesh.unnamed):
        groups.append(((labels or {}).get(None, UNNAMED), mesh.unnamed, (PLAIN, "solid")))
    if names is None and len(mesh.glued):
        pairs = ", ".join(f"{one} = {other}" for one, other, _ in mesh.periods)
        groups.append((f"periodic: {pairs}", mesh.glued.reshape(-1, 2), (PLAIN, "dotted")))
    return groups


def palette(count, name=None):
    """So many colours that can be told apart."""
    from matplotlib import colormaps

    kind = name or ("tab10" if count <= 10 else "tab20")
    return [colormaps[kind](number % colormaps[kind].N) for number in range(count)]


def draw_cells(ax, mesh, cells):
    """Draw the cells, shaded by region; returns the legend's entries of the regions."""
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Patch

    shades = [(*shade[:3], SHADE) for shade in palette(len(mesh.regions), "Pastel1")]
    entries = [Patch(facecolor=shade, label=f"region {name}") for name, shade in zip(mesh.regions, shades)]
    if mesh.dim == 3:
        return []
    colours = np.ones((len(mesh.cells), 4))
    for shade, members in zip(shades, mesh.regions.values()):
        colours[members] = shade
    if mesh.dim == 1:
        x = mesh.points[mesh.cells][:, :, 0]
        if mesh.regions:
            ax.broken_barh(np.column_stack([x[:, 0], x[:, 1] - x[:, 0]]), (-0.4, 0.8), facecolors=colours)
        line(ax, mesh.points[np.unique(mesh.cells), 0] if cells else ())
        return entries
    rims = [rim for block in mesh.blocks for rim in around(block, block.cell_shape.corners)]
    width = float(np.clip(30 / np.sqrt(len(rims)), 0.1, 0.6))
    style = {"edgecolors": "0.55", "linewidths": width} if cells else {"edgecolors": colours, "linewidths": 0.2}
    ax.add_collection(PolyCollection(rims, facecolors=colours, **style))
    plane(ax)
    return entries


def around(mesh, corners, some=slice(None)):
    """Points (cell, point, dim) around the polygon with these reference corners (corner, dim), in some cells."""
    ends = np.roll(corners, -1, axis=0)
    share = np.arange(LINES)[:, None] / LINES if mesh.order > 1 else np.zeros((1, 1))
    r = np.concatenate([a + share * (b - a) for a, b in zip(corners, ends)])
    return cell_maps.positions(mesh, r, some).transpose(2, 1, 0)


def line(ax, places):
    """Axes in 1D: a line with a mark at each place."""
    ax.axhline(0, color="0.3", linewidth=1.0)
    ax.plot(places, np.zeros(len(places)), "|", color="0.3", markersize=12, markeredgewidth=0.7)
    ax.set(ylim=(-1, 1), yticks=[], xlabel="x")
    ax.spines[["left", "right", "top"]].set_visible(False)


def upright(ax, places, colour, style):
    """Draw upright lines at places in 1D."""
    for place in places:
        ax.axvline(place, 0.15, 0.85, color=colour, linestyle=style, linewidth=3, zorder=3)


def plane(ax):
    """Axes in 2D: x and y to one scale."""
    ax.autoscale_view()
    ax.margins(0.03)
    ax.set(aspect="equal", xlabel="x", ylabel="y")


def draw_groups(ax, mesh, groups, cells=True):
    """Draw the faces of `groups_of`; returns the legend's entries."""
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries = []
    for label, rows, (colour, style) in groups:
        if mesh.dim == 1:
            upright(ax, mesh.face_centres(rows)[:, 0], colour, style)
            entries.append(Line2D([], [], color=colour, linestyle=style, linewidth=3, label=label))
        elif mesh.dim == 2:
            lines = [line for block, _, own in mesh.in_blocks(rows) for line in edge_lines(block, own)]
            ax.add_collection(LineCollection(lines, colors=[colour], linestyles=style, linewidths=2.2, zorder=3), autolim=False)
            entries.append(Line2D([], [], color=colour, linestyle=style, linewidth=2.2, label=label))
        else:
            entries.append(Patch(facecolor=colour, label=label))
    if mesh.dim == 3:
        count = sum(len(rows) for _, rows, _ in groups)
        faces = []
        for _, rows, (colour, _) in groups:
            for block, _, own in mesh.in_blocks(rows):
                shape = block.cell_shape
                for face, corners in enumerate(shape.faces):
                    some = own[own[:, 1] == face]
                    ring = shape.corners[[corners[number] for number in RING[len(corners)]]]
                    faces += zip(around(block, ring, some[:, 0]), block.normals[some[:, 0], face], [colour] * len(some))
        width = float(np.clip(25 / np.sqrt(max(count, 1)), 0.05, 0.5)) if cells else 0.0
        surface(ax, faces, width, *extent_of(mesh))
    return entries


def surface(ax, faces, width, low, high):
    """Draw faces [(points (point, 3), outward normal, colour)] in 3D; those that face the viewer are like glass, so that what
    lies behind them is seen."""
    from matplotlib.colors import to_rgba
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    if faces:
        points, normals, colours = zip(*faces)
        elevation, azimuth = np.radians([ax.elev, ax.azim])
        viewer = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
        facing = np.array(normals) @ viewer
        colours = np.array([to_rgba(colour) for colour in colours])
        colours[:, :3] *= (0.62 + 0.38 * np.abs(facing))[:, None]
        colours[:, 3] = np.where(facing > 1e-9, GLASS, 1.0)
        edges = np.column_stack([np.full((len(faces), 3), 0.15), np.where(facing > 1e-9, 0.25, 0.8)])
        ax.add_collection3d(Poly3DCollection(points, facecolors=colours, edgecolors=edges if width else "none",
                                             linewidths=width))
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]), xlabel="x", ylabel="y", zlabel="z")
    ax.set_box_aspect(np.maximum(high - low, 0.05 * (high - low).max()))


def titled(figure, ax, path, entries, title):
    """Put a legend and a title to the axes, and write the figure where there is a path; returns the path or the axes."""
    if len(entries) > ENTRIES:
        from matplotlib.patches import Patch

        entries = [*entries[:ENTRIES - 1], Patch(alpha=0, label=f"and {len(entries) - ENTRIES + 1} more")]
    if entries:
        style = {"handles": entries, "frameon": False, "fontsize": "small"}
        if figure.get_layout_engine() is None or len(figure.axes) > 1:          # a figure of the user's own
            ax.legend(**style)
        elif not len(ax.get_yticks()):          # in 1D
            figure.legend(**style, loc="outside lower center", ncols=5)
        elif ax.name == "3d":
            figure.legend(**style, loc="outside right center")
        else:
            ax.legend(**style, loc="center left", bbox_to_anchor=(1.02, 0.5))
    ax.set_title(title, fontsize="medium")
    return finished(figure, ax, path)
