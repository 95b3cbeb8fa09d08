"""The Fourier transform of a run's fields at chosen frequencies, summed up while it computes."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..backends.arrays import PIECE
from ..physics.laws.law import shown as shown_function
from .envelope import STRETCHES, Envelope
from .probes import Recorder, Recording, whole
from .record_layout import Fixed, Series
from .resolution import warn_of_short_waves
from .sampling import at_points, choice, in_volume, on_boundary, units

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..methods.operator import Operator

# Samples that wait for one matrix product: with 16 at once 200,000 values at 4 frequencies took 0.6 ms a sample, one by one
# 7 ms, with 32 no less.
WAITING = 16
WAITING_BYTES = 1 << 24         # beyond this the waiting samples take at most half the memory of the sums


@dataclass(frozen=True, eq=False, repr=False)
class Fourier(Recorder):
    """Discrete Fourier transform at chosen frequencies f, without keeping the history:

        Q(f) = sum_n w_n W(t_n) q(t_n) exp(-2 pi i f t_n),

    w_n the weights of the trapezoidal rule in t (steps may vary), W the window.  A wave q = Re(A exp(2 pi i f t)) over whole
    periods, T in all, gives Q = A T / 2.

    frequencies   numbers from 0, in cycles per unit of time, at most 1 / (2 every dt) with the time step dt
    boundary      name of a boundary, or several in a tuple: dims (frequency, face, face_node), see `SurfaceFields`.  On a plane
                  interface, such as a port's, E and H along it, of sound p and the normal velocity, are those of the numerical
                  flux: they have the wave that enters the cells, too, at the accuracy of the one that leaves them
    points        points (point, dim) instead: dims (frequency, point), see `Points`; without both the whole volume is
                  transformed: dims (frequency, element, node)
    every         steps between samples
    variables     names, all of the law by default
    start         samples before this time are left out
    window        function W(t) -> number, 1 by default

    The result comes at the end of the run, complex128; `time_span` holds the first and the last time.  Each variable has the
    attributes largest, the largest |W q| of all samples, and largest_at_end, that of the last ones, at most a sixteenth of
    the record: what a pulse has left there is cut off.  area is the integral of the largest |W q| over the record, and
    area_after that of what would follow.  In memory are sums of the size of the result, 16 bytes for each
    frequency and value, and at most half as much of samples that wait (16 MB where that is more); the end of the run makes
    one copy of the sums.
    Raises ValueError for what does not exist or is no number, for negative frequencies, and after the first step for those
    that are too high for it.  Warns where waves of a frequency lose more than 1 % of their amplitude over a
    wavelength in half of the cells of a mesh, outside of absorbing layers."""

    frequencies: ArrayLike
    boundary: str | Sequence[str] | None = None
    every: int = 1
    variables: Sequence[str] | None = None
    start: float = 0.0
    window: Callable | None = None
    points: ArrayLike | None = None

    def __post_init__(self):
        whole("every", self.every)
        if self.boundary is not None and self.points is not None:
            raise ValueError("boundary and points are both given; a Fourier recorder takes one of them, or none for the volume")
        if self.window is not None and not callable(self.window):
            raise ValueError(f"window={self.window!r} is not allowed; it must be a function of t")
        for name, dims in (("frequencies", (0, 1)), ("start", (0,))):
            given = np.asarray(getattr(self, name))
            if given.dtype.kind not in "fiu" or given.ndim not in dims or not given.size or not np.isfinite(given).all():
                raise ValueError(f"{name}={getattr(self, name)!r} is not allowed; it must be "
                                 + ("finite numbers, at least one" if name == "frequencies" else "a finite number"))
        negative = np.ravel(self.frequencies)[np.ravel(self.frequencies) < 0]
        if len(negative):
            raise ValueError(f"the frequency {negative[0]:g} is not allowed; frequencies are numbers from 0, and the transform "
                             "at -f is the complex conjugate of that at f")
        if self.window is not None:
            window_value(self.window, float(self.start))

    def attach(self, name: str, operator: Operator) -> Recording:
        """The Transform of this recorder in one run."""
        law, chosen = operator.law, choice(f"record {name!r}", operator.law, self.variables)
        place = (at_points(f"record {name!r}", operator, self.points) if self.points is not None
                 else in_volume(name, operator) if self.boundary is None
                 else on_boundary(f"record {name!r}", operator, self.boundary, of_flux=True))
        frequencies, time = np.atleast_1d(np.asarray(self.frequencies, float)), units(law, "time")
        warn_of_short_waves(name, operator, frequencies)
        variables = place.variables(name, law, chosen, ("frequency",))
        for _, attrs in variables.values():
            attrs |= {} if self.window is None else {"window": shown_function(self.window)}
            attrs["long_name"] = f"Fourier transform of {attrs['long_name']}"
            attrs["units"] = attrs["units"] if time == "normalised" else f"{attrs['units']} {time}"
        variables["time_span"] = ("bound",), {"long_name": "first and last time of the transform", "units": time}
        variables["largest"] = ("variable", "bound"), {
            "long_name": "largest absolute value of each variable, in the whole record and at its end", "units": "mixed",
            "variables": " ".join(chosen)}
        variables["areas"] = ("variable", "bound"), {
            "long_name": "integral over time of the largest absolute value of each variable, over the record and after it",
            "units": "mixed", "variables": " ".join(chosen)}
        coords = place.coords | {"frequency": Fixed(("frequency",), frequencies, {
            "long_name": "frequency", "units": "normalised" if time == "normalised" else f"1/{time}"})}
        dims = {"frequency": len(frequencies), **place.dims, "bound": 2, "variable": len(chosen)}
        real = dict.fromkeys(("time_span", "largest", "areas"), "float64")
        series = Series(name, dims, variables, False, coords, "complex128", real)
        return Transform(series, self, frequencies, len(chosen),
                         lambda state, t: place.read(state, t, list(chosen.values())))


class Transform(Recording):
    """A `Fourier` recorder at work in one run.

    sums      (value, frequency) complex128, of all samples but those that wait
    waiting   (sample, value) and `times` (sample,): the last samples
    before    time of the sample before those, NaN if there was none;  first: time of the first of all
    envelope  `Envelope` of the samples in the sums"""

    def __init__(self, series, recorder, frequencies, variables, measure):
        super().__init__(series, recorder.every, measure)
        self.recorder, self.frequencies = recorder, frequencies
        _, *sizes, _, _ = series.dims.values()
        self.shape = (variables, *sizes)
        values, count = prod(self.shape), len(frequencies)
        self.sums = np.zeros((values, count), complex)
        room = WAITING if 8 * WAITING * values <= WAITING_BYTES else min(count, WAITING)
        self.waiting, self.times = np.empty((room, values)), []
        self.before = self.first = np.nan
        self.envelope = Envelope(np.zeros((STRETCHES, variables)))

    def keep(self, values, t):
        if t < self.recorder.start:
            return
        if not self.times and np.isnan(self.before):
            self.first = t
        elif np.isnan(self.before) and len(self.times) == 1:
            self._check_interval(t - self.first)
        if len(self.times) == len(self.waiting):
            self._add(self.sums, self.envelope, t)
            self.before, self.times = self.times[-1], []
        self.waiting[len(self.times)].reshape(self.shape)[...] = values
        self.times.append(t)

    def _check_interval(self, interval):
        """Raise ValueError for a frequency of which there are less than two samples in a period."""
        highest, allowed = self.frequencies.max(), 0.5 / interval
        if highest > allowed:
            steps = "every step" if self.every == 1 else f"every {self.every} steps"
            raise ValueError(f"record {self.series.name!r}: the frequency {highest:g} is not allowed; with a sample {steps}, "
                             f"after {interval:.3g} each, it must be at most {allowed:.4g}, so that two fall in a period")

    def _add(self, sums, envelope, following):
        """Add the samples that wait to the sums and the envelope; `following` is the time of the next sample, or of the last at
        the end."""
        t = np.array(self.times)
        around = np.concatenate([[t[0] if np.isnan(self.before) else self.before], t, [following]])
        weights = (around[2:] - around[:-2]) / 2
        values = self.waiting[:len(t)].reshape(len(t), self.shape[0], -1)
        sizes = np.maximum(values.max(axis=2, initial=0), -values.min(axis=2, initial=0)) + 0.0
        if self.recorder.window is not None:
            window = np.array([window_value(self.recorder.window, time) for time in self.times])
            weights, sizes = weights * window, sizes * np.abs(window)[:, None]
        envelope.add(sizes.max(axis=0))
        phases = weights[:, None] * np.exp(-2j * np.pi * t[:, None] * self.frequencies)
        # Real samples times complex phases: a real product with real and imaginary parts side by side.
        parts, samples, phases = sums.view(float), self.waiting[:len(t)], phases.view(float)
        step = max(16, PIECE // phases.size)
        for first in range(0, len(parts), step):
            parts[first:first + step] += samples[:, first:first + step].T @ phases

    def result(self):
        """{variable: (frequency, ...)} of the samples so far, and the time span."""
        sums, envelope = self.sums.copy(), self.envelope.copy()
        if self.times:
            self._add(sums, envelope, self.times[-1])
        else:
            warnings.warn(f"record {self.series.name!r} has no sample at or after start = {self.recorder.start:g}; "
                          "its transform is 0", stacklevel=2)
        each = np.moveaxis(sums.reshape(*self.shape, -1), -1, 1)
        found = dict(zip(self.series.variables, each))
        found["time_span"] = np.array([self.first, self.times[-1] if self.times else np.nan])
        found["largest"] = np.stack([envelope.whole, envelope.end], axis=1)
        found["areas"] = envelope.areas(np.diff(found["time_span"]))
        return {name: found[name] for name in self.series.variables}

    def state(self):
        """{name: array} for a checkpoint: the sums, and the samples that wait, so that a restart goes on bitwise."""
        return {"sums": self.sums, "waiting": self.waiting[:len(self.times)], "times": np.array(self.times, float),
                "span": np.array([self.first, self.before]), "frequencies": self.frequencies,
                "largest": self.envelope.values, "blocks": np.array([self.envelope.count]),
                "kept": np.array([len(self.series.variables)])}

    def restore(self, state):
        """Go on from `state`. Raises ValueError if it is that of another recorder."""
        keys, earlier = set(self.state()), {"largest": self.envelope.values, "blocks": [self.envelope.count]}
        if set(state) in (keys - {"kept"}, keys - {"kept", *earlier}):          # of versions whose stores lack some of them
            state = {"kept": len(self.series.variables) - (1 if "largest" in state else 2), **earlier, **state}
        if set(state) != keys:
            raise ValueError(f"record {self.series.name!r} cannot go on from a state with {', '.join(state) or 'nothing'}; "
                             f"it needs {', '.join(sorted(keys))}")
        absent = ("areas", "largest")[:len(self.series.variables) - int(np.ravel(state["kept"])[0])]
        variables = {name: each for name, each in self.series.variables.items() if name not in absent}
        self.series = replace(self.series, variables=variables)
        if not np.array_equal(state["frequencies"], self.frequencies):
            raise ValueError(f"record {self.series.name!r} was at the frequencies {shown(state['frequencies'])}, "
                             f"now it has {shown(self.frequencies)}; they must be the same")
        if np.shape(state["sums"]) != self.sums.shape:
            raise ValueError(f"record {self.series.name!r} had {len(state['sums'])} values at every frequency, now it has "
                             f"{len(self.sums)}; its place and variables must be the same")
        self.sums[...] = state["sums"]
        self.times = [float(t) for t in state["times"]]
        self.waiting[:len(self.times)] = state["waiting"]
        self.first, self.before = map(float, state["span"])
        self.envelope = Envelope(np.array(state["largest"]), int(state["blocks"][0]))


def window_value(window, t):
    """W(t) as a float. Raises ValueError unless it is a finite number."""
    value = np.asarray(window(t))
    if value.ndim or value.dtype.kind not in "fiub" or not np.isfinite(value):
        raise ValueError(f"the window gives {window(t)!r} at t = {t:g}; it must be a finite number")
    return float(value)


def shown(values):
    return ", ".join(f"{value:g}" for value in np.atleast_1d(values)[:5]) + (", ..." if np.size(values) > 5 else "")
