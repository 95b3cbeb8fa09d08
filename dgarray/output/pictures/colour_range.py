"""The range of colours of a picture: limits that a few bad places do not set, logarithmic ones, and values of isolines."""
from numbers import Real
from typing import NamedTuple

import numpy as np

from dgarray.support.wording import choose

# Share of the other sign above which a field counts as signed and gets symmetric limits.
SIGNED_SHARE = 0.05
# Shares of the area that are left out at both ends where they hold outliers: as much as does not cut into the field itself.
OUTER = 0.002, 0.005, 0.01, 0.02
# The range has outliers where it is so many times as large as without the first of these shares, and a further share is left
# out as long as the range does not shrink by more than the second factor.
STRETCHED, SHRUNK = 3.0, 4.0
# Share of the range by which values leave it before the colour bar gets an arrow.
BEYOND = 0.01
# The map "schlieren" goes from white to black as exp(-DARK s): weak gradients show beside strong ones.
DARK = 15
# Colour of what is not drawn.
NOTHING = "#cccccc"


class Limits(NamedTuple):
    """The range of the colours from `low` to `high`, of values that go from `least` to `largest`."""

    low: float
    high: float
    least: float
    largest: float

    @property
    def cut(self):
        """Whether values leave the range (below, above) by more than rounding."""
        slack = BEYOND * (self.high - self.low)
        return self.least < self.low - slack, self.largest > self.high + slack

    @property
    def extend(self):
        """matplotlib's word for the arrows of the colour bar."""
        return {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}[self.cut]


def spread(u, weights=None, log=False):
    """(low, high, least, largest) of values: least and largest are those of all finite ones, low and high leave out outliers.

    Outliers are the outermost 0.2 % of the area if without them the range is less than a third; then as much as 2 % at an end
    that is far away is left out, a smaller share where that would cut the range itself.
    weights: the area of each value, by default equal; 0 for what does not count;  log: compare the logarithms"""
    u, weights = np.ravel(u), np.ones(np.size(u)) if weights is None else np.ravel(weights)
    some = np.isfinite(u) & (weights > 0)
    u, weights = u[some], weights[some]
    if not u.size:
        return 0.0, 0.0, 0.0, 0.0
    least, largest = float(u.min()), float(u.max())
    if log and least <= 0:
        if not (u > 0).any():
            return least, largest, least, largest
        u, weights = u[u > 0], weights[u > 0]
    order = np.argsort(np.log(u) if log else u)
    values, share = u[order].astype("float64"), np.cumsum(weights[order]) / weights.sum()
    ends = [(values[0], values[-1])] + [tuple(values[np.searchsorted(share, (s, 1 - s)).clip(max=len(values) - 1)])
                                        for s in OUTER]
    scale = np.log if log else np.asarray
    widths = [float(np.ptp(scale(pair))) for pair in ends]
    if widths[0] <= STRETCHED * widths[1]:
        return float(values[0]), float(values[-1]), least, largest
    chosen = max(k for k in range(1, len(ends)) if widths[1] <= SHRUNK * widths[k])
    # An end that is near to the rest stays whole.
    away = np.abs(scale(ends[chosen]) - scale(ends[0])) > widths[chosen]
    low, high = np.where(away, ends[chosen], ends[0])
    return float(low), float(high), least, largest


def extent(u):
    """Smallest and largest finite value, 0 and 0 if there is none."""
    u = u[np.isfinite(u)]
    return (float(u.min()), float(u.max())) if u.size else (0.0, 0.0)


def limits_for(spreads, given=None, log=False, name="the field"):
    """The `Limits` of colours for states of these `spread`s; given: (low, high) that the user wants.

    Raises ValueError where logarithms of what is not positive would be needed."""
    low, high, least, largest = np.transpose(spreads)
    low, high, least, largest = low.min(), high.max(), float(least.min()), float(largest.max())
    if given is not None:
        return Limits(*given, least, largest)
    if log and least <= 0:
        raise ValueError(f"logarithmic colours need positive values, and {name} goes from {least:.4g} to {largest:.4g}; leave "
                         "out log, or give limits above 0, below which all has the lowest colour")
    return Limits(*limits_of(float(low), float(high), log), least, largest)


def limits_of(low, high, log=False):
    """Limits of the colours for a field from `low` to `high`: symmetric about zero if it has both signs; above 0 with log."""
    largest = max(abs(low), abs(high))
    if low < 0 < high and min(-low, high) > SIGNED_SHARE * largest:
        return -largest, largest
    if high - low <= 1e-12 * largest or largest == 0:
        # A constant field: rounding must not fill the range of colours.
        half = 0.5 * largest or 0.5
        return low - half, high + half
    # A bound that is zero up to rounding is zero, which has no logarithm.
    return (low, high) if log else tuple(0.0 if abs(bound) <= 1e-12 * largest else bound for bound in (low, high))


def checked(limits, log=False):
    """The limits as a tuple (low, high), or None. Raises ValueError unless they are two finite numbers, the lower first, for
    logarithmic colours above 0."""
    if limits is None:
        return None
    pair = numbers(limits)
    if pair.shape != (2,) or not np.isfinite(pair).all() or pair[0] >= pair[1]:
        raise ValueError(f"limits {limits!r} are not allowed; they must be two finite numbers (low, high), low below high")
    if log and pair[0] <= 0:
        raise ValueError(f"limits {limits!r} are not allowed with log; they must be above 0")
    return tuple(pair.tolist())


def numbers(values):
    """The values as an array, an empty one for what are no numbers."""
    try:
        return np.asarray(values, dtype="float64")
    except (TypeError, ValueError):
        return np.empty(0)


def lines_of(isolines, levels, dim):
    """The isolines to draw: a count, an array of their values, or None.

    isolines: a count, or (low, high, count);  levels: the values. Raises ValueError for others, for both, and in 1D."""
    name, given = ("isolines", isolines) if levels is None else ("levels", levels)
    if given is None:
        return None
    if isolines is not None and levels is not None:
        raise ValueError(f"isolines={isolines!r} and levels={levels!r} are both given; give one")
    if dim == 1:
        raise ValueError(f"{name} {given!r} are for 2D; the dataset is 1D")
    found = numbers(given)
    if name == "levels":
        if found.ndim > 1 or not found.size or not np.isfinite(found).all():
            raise ValueError(f"levels {levels!r} are not allowed; they must be finite numbers")
        return np.unique(found)
    if isinstance(given, Real) and not isinstance(given, bool) and given >= 1 and given % 1 == 0:
        return int(given)
    if found.shape != (3,) or not np.isfinite(found).all() or found[0] >= found[1] or found[2] < 2 or found[2] % 1:
        raise ValueError(f"isolines {isolines!r} are not allowed; they must be (low, high, count), low below high, count a "
                         "whole number from 2, or a count alone")
    return np.linspace(found[0], found[1], int(found[2]))


def line_values(lines, limits, log=False):
    """The values of the isolines that `lines_of` returned: of a count, between the limits and evenly in the colours."""
    if not isinstance(lines, int):
        return lines
    return (np.geomspace if log else np.linspace)(limits.low, limits.high, lines + 2)[1:-1]


def check_map(name):
    """Raise ValueError for a colour map, given by its name, that neither matplotlib nor dgarray has."""
    if isinstance(name, str):
        from matplotlib import colormaps

        choose("colour map", name, [*colormaps, "schlieren"])


def colours(chosen, field, low, high):
    """The colour map: the one that was chosen, that of the field's attribute `colour_map`, or a diverging one for limits
    symmetric about zero, viridis for others. Beside matplotlib's there is "schlieren", from white to black as exp(-15 s).
    What has no value is grey."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    name = chosen or field.attrs.get("colour_map") or ("RdBu_r" if low == -high else "viridis")
    if isinstance(name, str) and name == "schlieren":
        made = ListedColormap(np.exp(-DARK * np.linspace(0, 1, 1024))[:, None].repeat(3, axis=1), name)
    else:
        made = colormaps.get_cmap(name)
    return made.with_extremes(bad=NOTHING)
