"""The field of a running simulation: a window if there is a screen, else an image file that is updated."""
from __future__ import annotations

import os
import sys
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from dgarray.output.dataset import AXES
from dgarray.output.pictures.picture import seen
from dgarray.output.pictures.plot import flat_picture
from dgarray.output.slices import parse
from dgarray.support.figures import writable
from dgarray.support.wording import choose

if TYPE_CHECKING:
    from os import PathLike

# Drawing takes at most this share of the time, however long one picture takes.
SHARE = 0.1
# Small triangles of a picture: at the size of a window more cannot be seen.
TRIANGLES = 100_000
DPI = 100


class Live:
    """A picture of one variable that is updated during a run; in 3D a slice.

        live = Live(layout, "Ez")
        if live.due():
            live.update(host(q), t)

    layout    Layout, ZonedLayout or GridLayout of the run's dataset; on a grid the values at the nodes are drawn
    variable  name of the variable
    path      image file to update; None for a window, or VARIABLE.png in the current folder if there is no screen
    seconds   least time between two pictures; longer if drawing would take more than a tenth of the time
    slice     plane of a 3D field, by default across z through the middle of the domain
    options   limits, cmap, mesh as in `output.plot.draw`; without limits the range of colours grows with the values seen
    The lines and triangles of the picture are made once, an update renews their values; of a 3D run only the cells at the
    plane are cut again.
    Raises ValueError for an unknown variable, plane or folder, ImportError without matplotlib."""

    def __init__(self, layout: Any, variable: str, path: str | PathLike | None = None, seconds: float = 1.0, slice: Any = None,
                 **options: Any):
        layouts = layout.whole
        variables, self.dim = layouts[0].variables, layouts[0].dim
        self.number = variables.index(choose("variable", variable, variables, " in the run; it has"))
        self.variable, self.seconds = variable, seconds
        if slice is not None and self.dim < 3:
            raise ValueError(f"slice={slice!r} is for 3D; the run is {self.dim}D")
        self.plane, self.parts, first = slice, [], 0
        for each in layouts:          # layout, where its values (node, element) are in the state, which elements are drawn
            _, rows, columns = each.shape
            self.parts.append((each.only(variable), np.s_[:rows, first:first + columns], None))
            first += columns
        if self.dim == 3:
            self._only_what_is_cut()
        self.path = writable(path) if path is not None else None
        nothing = [np.zeros(each.shapes[variable]) for each, _, _ in self.parts]
        self.picture = flat_picture(self._flat(nothing, 0.0), variable, pyplot=self.path is None, triangles=TRIANGLES,
                                    **options)
        self.window = self.path is None and _is_window(self.picture.ax.figure)
        if self.path is None and not self.window:
            self._close_figure()
            self.path = writable(f"{variable}.png")
        self.range: list = []
        self.closed = False
        self.next = monotonic()

    def __repr__(self):
        return f"Live({self.variable}, {'window' if self.window else self.path})"

    def due(self):
        """True if it is time for a new picture, and the window has not been closed."""
        if self.window and not self.closed:
            # The window stays responsive between two pictures.
            self.picture.ax.figure.canvas.flush_events()
            self.closed = not _exists(self.picture.ax.figure)
        return not self.closed and monotonic() >= self.next

    def update(self, q, t):
        """Draw the state q (variable, node, element), on a grid (variable, coefficient, node), at the time t."""
        if self.closed:
            return
        start = monotonic()
        q = np.asarray(q[self.number])[None]
        u = [layout.fields(own if elements is None else own[:, :, elements])[self.variable]
             for layout, some, elements in self.parts for own in [q[:, *some]]]
        u = self.picture.evaluate([flat.dg.values(self.variable) for flat in self._flat(u, t)] if self.dim == 3 else u)
        both = np.array([*self.range, self.picture.spread(u)])
        self.range = [(both[:, 0].min(), both[:, 1].max(), both[:, 2].min(), both[:, 3].max())]
        self.picture.show(u, t, self.picture.range(self.range))
        figure = self.picture.ax.figure
        if self.window:
            figure.canvas.draw_idle()
            figure.canvas.flush_events()
        else:
            aside = self.path.with_name(f".{os.getpid()}-{self.path.name}")
            try:
                self.picture.save(aside, DPI)
                os.replace(aside, self.path)
            finally:
                aside.unlink(missing_ok=True)
        end = monotonic()
        self.next = end + max(self.seconds, (end - start) * (1 / SHARE - 1))

    def close(self):
        """Let go of the window; the image file stays."""
        if self.window and not self.closed:
            self._close_figure()
        self.closed = True

    def _close_figure(self):
        from matplotlib.pyplot import close

        close(self.picture.ax.figure)

    def _only_what_is_cut(self):
        """Keep the cells that touch the plane: all others would be sorted out again at every picture."""
        if self.plane is None:
            heights = [layout.middle_height() for layout, _, _ in self.parts]
            self.plane = f"z={float(min(heights) + max(heights)) / 2!r}"
        origin, normal, _ = parse(self.plane, AXES)
        cut = [(*layout.at_plane(origin, normal), some) for layout, some, _ in self.parts]
        self.parts = [(layout, some, elements) for layout, elements, some in cut if elements is None or len(elements)]
        if not self.parts:
            raise ValueError(f"the plane {self.plane} misses the mesh")

    def _flat(self, u, t):
        """The 1D or 2D datasets that are drawn, one of each shape, of the values of each part at the time t."""
        datasets = [layout.dataset([t], {self.variable: values[None]}) for (layout, _, _), values in zip(self.parts, u)]
        return seen(datasets, self.variable, self.plane)


def _is_window(figure):
    """True if the figure has a window on a screen, which is then shown."""
    screen = not sys.platform.startswith("linux") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not screen or getattr(figure.canvas, "required_interactive_framework", None) is None:
        return False
    figure.show()
    return True


def _exists(figure):
    from matplotlib.pyplot import fignum_exists

    return fignum_exists(figure.number)
