"""The field of a run while it computes: a window where there is a screen, else an image file renewed in place."""
import os
import sys
from dataclasses import replace
from time import monotonic

import numpy as np

from dgarray.output.dataset import AXES
from dgarray.output.grid_layout import GridLayout
from dgarray.output.picture import extent, limits_of, seen, writable
from dgarray.output.plot import flat_picture
from dgarray.output.slices import parse
from dgarray.wording import choose

# Drawing takes at most this share of the time, however long one picture takes.
SHARE = 0.1
# Small triangles of a picture: at the size of a window more cannot be seen.
TRIANGLES = 100_000
DPI = 100


class Live:
    """A picture of one variable that is renewed during a run; in 3D a slice.

        live = Live(layout, "Ez")
        if live.due():
            live.update(host(q), t)

    layout    Layout or GridLayout of the run's dataset; on a grid the values at the nodes are drawn
    variable  name of the variable
    path      image file to renew; None for a window, or VARIABLE.png in the current folder where there is no screen
    seconds   between two pictures at least; more where drawing would take more than a tenth of the time
    slice     plane of a 3D field, by default across z through the middle of the domain
    options   limits, cmap, mesh as in `output.plot.draw`; without limits the range of colours grows with the values seen
    The lines and triangles of the picture are made once, an update renews their values; of a 3D run only the cells at the
    plane are cut again.
    Raises ValueError for an unknown variable, plane or folder, ImportError without matplotlib."""

    def __init__(self, layout, variable, path=None, seconds=1.0, slice=None, **options):
        self.number = layout.variables.index(choose("variable", variable, layout.variables, " in the run; it has"))
        self.variable, self.seconds = variable, seconds
        if slice is not None and layout.dim < 3:
            raise ValueError(f"slice={slice!r} is for 3D; the run is {layout.dim}D")
        self.plane, self.elements, self.on_grid = slice, None, isinstance(layout, GridLayout)
        self.layout = replace(layout, variables=(variable,), **({"derivatives": False} if self.on_grid else {"boundaries": {}}))
        if layout.dim == 3:
            self._only_what_is_cut()
        self.path = writable(path) if path is not None else None
        self.picture = flat_picture(self._flat(np.zeros(self.layout.shapes[variable]), 0.0), variable, pyplot=self.path is None,
                                    triangles=TRIANGLES, **options)
        self.window = self.path is None and _is_window(self.picture.ax.figure)
        if self.path is None and not self.window:
            self._close_figure()
            self.path = writable(f"{variable}.png")
        self.range, self.closed = None, False
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
        u = np.asarray(q[self.number])
        u = u[0].reshape(self.layout.grid.shape) if self.on_grid else u.T if self.elements is None else u[:, self.elements].T
        if self.layout.dim == 3:
            u = self._flat(u, t).dg.values(self.variable)
        u = self.picture.evaluate(u)
        low, high = extent(u)
        self.range = (low, high) if self.range is None else (min(low, self.range[0]), max(high, self.range[1]))
        self.picture.show(u, t, limits_of(*self.range))
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
        layout = self.layout
        if self.on_grid:
            if self.plane is None:
                z = layout.grid.axes[2]
                self.plane = f"z={float(z[len(z) // 2])!r}"
            return
        if self.plane is None:
            z = layout.points[layout.cells][..., 2]
            self.plane = f"z={float(z.min() + z.max()) / 2!r}"
        origin, normal, _ = parse(self.plane, AXES)
        height = ((layout.points - origin) @ normal)[layout.cells]
        slack = 1e-9 * np.ptp(layout.points)
        self.elements = np.flatnonzero((height.min(axis=1) <= slack) & (height.max(axis=1) >= -slack))
        if not len(self.elements):
            raise ValueError(f"the plane {self.plane} misses the mesh")
        regions = {name: np.flatnonzero(np.isin(self.elements, cells)) for name, cells in layout.regions.items()}
        self.layout = replace(layout, cells=layout.cells[self.elements], numbers=layout.numbers[self.elements], regions=regions)

    def _flat(self, u, t):
        """The 1D or 2D dataset that is drawn, of the values u (element, node), or (z, y, x), at the time t."""
        return seen(self.layout.dataset([t], {self.variable: u[None]}), self.variable, self.plane)


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
