"""`far.dg` of a far field: its cross-section, and polar pictures of it over the angle, by matplotlib."""
from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..support.figures import figure_and_axes, finished, need_matplotlib
from ..support.wording import choose, plural
from .farfield import AXES, PLANES, cross_section

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    import xarray as xr
    from numpy.typing import ArrayLike

SIZE = 4.6                  # of one picture, in inches
FEWEST = 8                  # directions that make a curve; where two planes meet they share directions
IN_PLANE = 1e-9             # largest component across a plane of a direction in it
CLOSED = 1.5                # a curve is closed if no gap is that much wider than the others
NAMES = 10                  # in a legend
UNITLESS = "normalised"


class FarField:
    """`far.dg` of a Dataset as `dgarray.analysis.farfield.near_to_far` returns it."""

    def __init__(self, far: xr.Dataset):
        missing = [name for name in ("frequency", "direction_x", "direction_y") if name not in far.coords]
        if missing:
            raise ValueError(f"the far field lacks {', '.join(missing)}; give a Dataset as near_to_far returns it")
        self._far = far if "frequency" in far.dims else far.expand_dims("frequency")
        self.axes = AXES[:3 if "direction_z" in far.coords else 2]

    def __repr__(self):
        frequencies, count = self._far.sizes["frequency"], plural(self._far.sizes["direction"], "direction")
        return f"far field of {', '.join(self._far.data_vars)}, frequencies: {frequencies}, {count}"

    def cross_section(self, incident: ArrayLike = 1.0) -> xr.DataArray:
        """Bistatic cross-section, in 2D width, (frequency, direction), see `dgarray.analysis.farfield.cross_section`."""
        return cross_section(self._far, incident)

    def plot_pattern(self, incident: ArrayLike = 1.0, scale: str = "dB", plane: str | Sequence[str] | None = None,
                     reference: float = 1.0, span: float = 40.0, path: str | PathLike | None = None, ax: Any = None,
                     dpi: float = 150) -> Any:
        """Draw the bistatic cross-section, in 2D width, over the angle in polar axes, one line for each frequency.

        dB: 10 log10(sigma / reference);   linear: sigma / reference

        incident   amplitude of the incident wave's transform, a number or (frequency,), as of `cross_section`; of a source
                   leave it out: the pattern then is 4 pi |far field|^2, in 2D 2 pi
        scale      "dB" or "linear"
        plane      in 3D "xy", "xz", "yz" or several of them, one picture each; the angle runs from the first axis to the
                   second.  By default those in which the far field has eight directions or more
        reference  positive area, in 2D length, such as pi a^2 of a sphere
        span       of "dB": how far below the largest value the axes reach
        path       image file to write; without one into `ax`, polar axes, or a new pyplot figure
        Returns the path, the axes, or of several planes an array of them.
        ValueError for another scale or plane, a plane without directions, a reference or span that is not positive, an `ax`
        that is not polar, and one for several planes; ImportError without matplotlib."""
        choose("scale", scale, ("dB", "linear"))
        for name, value in (("reference", reference), ("span", span)):
            if not (isinstance(value, Real) and 0 < value < np.inf):
                raise ValueError(f"{name}={value!r} is not allowed; it must be a positive number")
        planes = self._planes(plane)
        if ax is not None and (len(planes) > 1 or getattr(ax, "name", None) != "polar"):
            raise ValueError("ax must be polar axes, such as figure.add_subplot(projection='polar')" if len(planes) == 1 else
                             f"the planes {', '.join(planes)} need axes each; give one plane, or leave out ax")
        sigma = cross_section(self._far, incident).transpose("frequency", "direction")
        values = sigma.values / reference
        if scale == "dB":
            # Where nothing is radiated a logarithm does not exist; the least number is far below the span.
            values = 10 * np.log10(np.maximum(values, np.finfo(float).tiny))
        high = float(max(values[:, rows].max() for rows, _ in planes.values()))
        if scale == "dB":
            high = 5 * np.ceil(high / 5)
            low = high - span
        else:
            low, high = 0.0, (1.05 * high or 1.0)
        need_matplotlib()
        from matplotlib.ticker import MaxNLocator, MultipleLocator

        figure, first = figure_and_axes(ax, path, (SIZE * len(planes) + 1.2, SIZE), projection="polar")
        drawn = [first]
        if len(planes) > 1:
            first.remove()
            drawn = list(figure.subplots(1, len(planes), subplot_kw={"projection": "polar"}))
        for each, (name, (rows, angle)) in zip(drawn, planes.items()):
            self._curves(each, angle, np.maximum(values[:, rows], low))
            each.set_rlim(low, high)
            each.yaxis.set_major_locator(MultipleLocator(10) if scale == "dB" and span <= 60 else MaxNLocator(4))
            each.tick_params(axis="y", labelsize="x-small")
            each.set_title(f"angle from {name[0]} to {name[1]}")
        over = f" over {reference:g}" * (reference != 1)
        text = f"{sigma.attrs['long_name']}{over}{', dB' * (scale == 'dB')}"
        if ax is None:
            figure.suptitle(text)
        else:
            ax.set_title(text)
        units = self._far["frequency"].attrs.get("units", UNITLESS)
        if values.shape[0] > 1:
            drawn[-1].legend(title="frequency" + f" ({units})" * (units != UNITLESS), fontsize="small", frameon=False,
                             loc="center left", bbox_to_anchor=(1.12, 0.5))
        return finished(figure, first if len(drawn) == 1 else np.array(drawn), path, dpi)

    def _planes(self, plane):
        """{name: (numbers of its directions in the order of their angles, angles)}."""
        u = np.array([self._far[f"direction_{axis}"].values for axis in self.axes])
        if len(self.axes) == 2 and plane is not None:
            raise ValueError(f"plane={plane!r} is for 3D; this far field is 2D")
        names = PLANES[:1] if len(self.axes) == 2 else PLANES if plane is None else [plane] if isinstance(plane, str) else plane
        found = {}
        for name in names:
            choose("plane", name, PLANES)
            a, b = (self.axes.index(axis) for axis in name)
            across = [c for c in range(len(u)) if c not in (a, b)]
            rows = np.flatnonzero((np.abs(u[across]) < IN_PLANE).all(axis=0))
            angle = np.arctan2(u[b, rows], u[a, rows])
            order = np.argsort(angle, kind="stable")
            if len(rows) >= FEWEST:
                found[name] = rows[order], angle[order]
            elif plane is not None:
                raise ValueError(f"plane={name!r}: the far field has {plural(len(rows), 'direction')} in it; a curve needs "
                                 f"{FEWEST}, such as near_to_far(fields, directions(360, {name!r}))")
        if not found:
            raise ValueError(f"the far field has no {FEWEST} directions in a plane along the axes; a curve needs them, such as "
                             "near_to_far(fields, directions(360, 'xz'))")
        return found

    def _curves(self, ax, angle, values):
        """Draw values (frequency, angle), closed where the angles go all around."""
        from matplotlib import colormaps

        gaps = np.diff(angle, append=angle[0] + 2 * np.pi)
        if gaps[-1] < CLOSED * np.median(gaps):
            angle, values = np.append(angle, angle[0]), np.column_stack([values, values[:, 0]])
        count = len(values)
        # Few lines get the distinct colours of matplotlib, many a range of colours.
        colours = [f"C{i}" for i in range(count)] if count <= NAMES else colormaps["viridis"](np.linspace(0, 0.95, count))
        named = np.unique(np.linspace(0, count - 1, min(count, NAMES)).round().astype(int))
        for number, (frequency, line) in enumerate(zip(self._far["frequency"].values, values)):
            ax.plot(angle, line, color=colours[number], linewidth=1.2, label=f"{frequency:.4g}" if number in named else None)
