"""Pictures of grids by matplotlib: the lines between the cells, and the sides by name."""
import numpy as np

from .picture import PLAIN, line, names_of, new_axes, palette, plane, surface, titled

MOST = {1: 400, 2: 100, 3: 32}          # cells along one axis that a picture shows one by one


def plot(grid, path=None, ax=None, boundary=None, cells=True, labels=None):
    """Draw a grid, see `Grid.plot`.  labels: {name: text} for the legend, else the names themselves."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    chosen = names_of(boundary, grid.boundaries)
    figure, ax = new_axes(grid, ax, path)
    step = max(1, *(-(-n // MOST[grid.dim]) for n in grid.cells))
    ticks = [np.unique([*range(0, n, step), n]) * h + a for a, h, n in zip(grid.lower, grid.spacing, grid.cells)]
    draw = (draw_line, draw_plane, draw_box)[grid.dim - 1]
    sides = sides_of(grid, chosen, labels or {})
    draw(ax, grid, ticks if cells else [axis[[0, -1]] for axis in ticks], sides)
    handle = Patch if grid.dim == 3 else Line2D
    entries = [handle([], [], color=colour, label=label, **style(grid.dim, kind)) if handle is Line2D else
               Patch(facecolor=colour, label=label) for label, _, _, (colour, kind) in sides]
    # Both ends of a periodic axis are one entry.
    entries = list({entry.get_label(): entry for entry in entries}.values())
    shown = f"; one line for every {step} cells" if step > 1 and cells else ""
    return titled(figure, ax, path, entries, f"Grid: {' x '.join(map(str, grid.cells))} cells{shown}")


def style(dim, kind):
    """How a side is drawn in 1D and 2D."""
    return {"linestyle": "none", "marker": "o"} if dim == 1 else {"linestyle": kind, "linewidth": 2.2}


def sides_of(grid, names, labels):
    """What is drawn of the sides, [(label, axis, side, (colour, line style))]."""
    wanted = [name for name in grid.boundaries if names is None or name in names]
    sides = [(labels.get(name, name), *grid.boundaries[name], (colour, "solid"))
             for name, colour in zip(wanted, palette(len(wanted)))]
    if names is None:
        axes = [axis for axis, glue in enumerate(grid.periodic) if glue]
        label = f"periodic along {', '.join('xyz'[axis] for axis in axes)}"
        sides += [(label, axis, side, (PLAIN, "dotted")) for axis in axes for side in (0, 1)]
    return sides


def draw_line(ax, grid, ticks, sides):
    line(ax, ticks[0])
    for _, _, side, (colour, _) in sides:
        ax.plot([ticks[0][-side]], [0], "o", color=colour, zorder=3)


def draw_plane(ax, grid, ticks, sides):
    from matplotlib.collections import LineCollection

    (x, y), (left, right), (low, high) = ticks, ticks[0][[0, -1]], ticks[1][[0, -1]]
    inner = [[(a, low), (a, high)] for a in x] + [[(left, b), (right, b)] for b in y]
    ax.add_collection(LineCollection(inner, colors="0.55", linewidths=0.4))
    for _, axis, side, (colour, kind) in sides:
        ends = [(left, right), (low, high)]
        ends[axis] = (ends[axis][side],) * 2
        ax.plot(*ends, color=colour, zorder=3, **style(2, kind))
    plane(ax)


def draw_box(ax, grid, ticks, sides):
    faces = []
    for _, axis, side, (colour, _) in sides:
        one, other = [k for k in range(3) if k != axis]
        normal = np.where(np.arange(3) == axis, 2 * side - 1, 0)
        for a, b in zip(ticks[one], ticks[one][1:]):
            for c, d in zip(ticks[other], ticks[other][1:]):
                points = np.empty((4, 3))
                points[:, axis] = ticks[axis][-side]
                points[:, one], points[:, other] = (a, b, b, a), (c, c, d, d)
                faces.append((points, normal, colour))
    surface(ax, faces, 0.3, np.array(grid.lower), np.array(grid.upper))
