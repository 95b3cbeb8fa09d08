"""A pulse in time with a chosen band of frequencies and no mean, for waves and sources."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .declared import Formula

if TYPE_CHECKING:
    from collections.abc import Sequence

EDGE = 0.1               # of the largest amplitude, what the pulse has at both ends of its band
HALF_LENGTH = 4.5        # widths from its middle to where its envelope has fallen to 2e-9


@dataclass(frozen=True, repr=False)
class pulse(Formula):
    """A pulse s -> number with the frequencies of a band and a mean of zero: a sine with a Gaussian envelope,

    f(s) = sin(2 pi f_m u) exp(-(u / w)^2),   u = s - start - 4.5 w,   f_m = (low + high) / 2,
    w = 2 sqrt(ln 10) / (pi (high - low)),   so that at both ends of the band 0.1 of its largest amplitude is left

    It is odd about its middle, so its integral is 0.  A pulse with a mean, such as a Gaussian, may leave static fields at
    conductors, which never go, so that transforms are cut off at all frequencies.

    band    (low, high), the frequencies of a record: numbers from 0, low < high, in cycles per unit of s
    start   where it begins, with 2e-9 of its largest value; it ends at `pulse.end`, 9 w later
    As `shape` of a `plane_wave`, of c t - k . x, or as the pulse of a port, a `dipole` or a `current`, of t.
    ValueError for another band and start.  Taflove & Hagness 2005, section 5.2."""

    band: Sequence[float]
    start: float = 0.0

    def __post_init__(self):
        given, start = np.asarray(self.band), self.start
        if (given.shape != (2,) or given.dtype.kind not in "fiu" or not np.isfinite(given).all()
                or not 0 <= given[0] < given[1]):
            raise ValueError(f"band={self.band!r} is not allowed; it must be two numbers (low, high), 0 <= low < high")
        if isinstance(start, bool) or np.ndim(start) or np.asarray(start).dtype.kind not in "fiu" or not np.isfinite(start):
            raise ValueError(f"start={start!r} is not allowed; it must be a finite number")
        low, high = map(float, given)
        width = 2 * float(np.sqrt(np.log(1 / EDGE))) / (np.pi * (high - low))
        middle, rate = float(start) + HALF_LENGTH * width, np.pi * (low + high)
        self.keep(band=(low, high), start=float(start), width=width, middle=middle, rate=rate,
                  end=middle + HALF_LENGTH * width)

    def with_number(self, name: str, value: Any) -> pulse:
        return self.changed(start=value, middle=value + (self.middle - self.start), end=value + (self.end - self.start))

    def __repr__(self):
        low, high, start = (repr(number).removesuffix(".0") for number in (*self.band, self.start))
        return f"pulse(({low}, {high})" + f", start={start}" * bool(self.start) + ")"

    def __call__(self, s: Any) -> Any:
        u = s - self.middle
        return np.sin(self.rate * u) * np.exp(-((u * (1 / self.width)) ** 2))
