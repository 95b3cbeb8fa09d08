"""Pictures of grids by matplotlib: the lines between the cells, and the sides by name."""
import numpy as np

from .picture import PLAIN, line, names_of, new_axes, palette, plane, surface, titled, upright

MOST = {1: 400, 2: 100, 3: 32}          # cells along one axis that a picture shows one by one


def plot(grid, path=None, ax=None, boundary=None, cells=True, labels=None):
    """Draw a grid, see `Grid.plot`.  labels: {name: text} for the legend, else the names themselves."""
    chosen = names_of(boundary, grid.boundaries)
    figure, ax = new_axes(grid, ax, path)
    step = max(1, *(-(-n // MOST[grid.dim]) for n in grid.cells))
    ticks = [np.unique([*range(0, n, step), n]) * h + a for a, h, n in zip(grid.lower, grid.spacing, grid.cells)]
    sides = sides_of(grid, chosen, labels or {})
    if grid.dim == 1:
        line(ax, ticks[0] if cells else ())
    elif grid.dim == 2:
        draw_plane(ax, ticks if cells else [axis[[0, -1]] for axis in ticks])
    entries = draw_sides(ax, grid, sides, ticks if cells else None)
    shown = f"; one line for every {step} cells" if step > 1 and cells else ""
    return titled(figure, ax, path, entries, f"Grid: {' x '.join(map(str, grid.cells))} cells{shown}")


def sides_of(grid, names, labels):
    """The sides to draw, [(label, axis, side, (colour, line style))]."""
    wanted = [name for name in grid.boundaries if names is None or name in names]
    sides = [(labels.get(name, name), *grid.boundaries[name], (colour, "solid"))
             for name, colour in zip(wanted, palette(len(wanted)))]
    if names is None:
        axes = [axis for axis, glue in enumerate(grid.periodic) if glue]
        label = f"periodic along {', '.join('xyz'[axis] for axis in axes)}"
        sides += [(label, axis, side, (PLAIN, "dotted")) for axis in axes for side in (0, 1)]
    return sides


def draw_plane(ax, ticks):
    from matplotlib.collections import LineCollection

    (x, y), (left, right), (low, high) = ticks, ticks[0][[0, -1]], ticks[1][[0, -1]]
    inner = [[(a, low), (a, high)] for a in x] + [[(left, b), (right, b)] for b in y]
    ax.add_collection(LineCollection(inner, colors="0.55", linewidths=0.4))
    plane(ax)


def draw_sides(ax, grid, sides, ticks=None):
    """Draw the sides of `sides_of`, in 3D with lines at the ticks; returns the legend's entries."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    ends = list(zip(grid.lower, grid.upper))
    for _, axis, side, (colour, kind) in sides if grid.dim < 3 else ():
        if grid.dim == 1:
            upright(ax, [ends[0][side]], colour, kind)
        else:
            ax.plot(*[(pair[side],) * 2 if k == axis else pair for k, pair in enumerate(ends)], color=colour, linestyle=kind,
                    linewidth=2.2, zorder=3)
    if grid.dim == 3:
        faces = [face for side in sides for face in side_faces(ticks or [np.array(pair) for pair in ends], *side[1:])]
        surface(ax, faces, 0.3, np.array(grid.lower), np.array(grid.upper))
        entries = [Patch(facecolor=colour, label=label) for label, _, _, (colour, _) in sides]
    else:
        entries = [Line2D([], [], color=colour, linestyle=kind, linewidth=2.2, label=label)
                   for label, _, _, (colour, kind) in sides]
    # Both ends of a periodic axis are one entry.
    return list({entry.get_label(): entry for entry in entries}.values())


def side_faces(ticks, axis, side, style):
    """The rectangles of a side in 3D, as `picture.surface` takes them."""
    one, other = [k for k in range(3) if k != axis]
    normal = np.where(np.arange(3) == axis, 2 * side - 1, 0)
    for a, b in zip(ticks[one], ticks[one][1:]):
        for c, d in zip(ticks[other], ticks[other][1:]):
            points = np.empty((4, 3))
            points[:, axis] = ticks[axis][-side]
            points[:, one], points[:, other] = (a, b, b, a), (c, c, d, d)
            yield points, normal, style[0]
