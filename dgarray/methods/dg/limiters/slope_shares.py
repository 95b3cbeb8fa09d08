"""The share of its slopes that an element keeps: functions of numbers, or of arrays of them, that `limiter` puts together.

The room of a linear function is how much more (high >= 0) and less (low <= 0) than the mean its values may be.
"""
import numpy as np


def larger(a, b):
    """The larger of two numbers; b where one of them is no number."""
    return np.where(a > b, a, b)


def smaller(a, b):
    """The smaller of two numbers; b where one of them is no number."""
    return np.where(a < b, a, b)


def any_of(conditions):
    result, *others = conditions
    for condition in others:
        result = result | condition
    return result


def dot(factors, values):
    """sum of factor * value."""
    terms = [(float(a) if isinstance(a, np.generic) else a) * b for a, b in zip(factors, values)]
    return sum(terms[1:], terms[0])


def used(shares, rough):
    """The shares, 1 where the state is smooth, and 1 where one is less than 1, else 0."""
    if rough is not None:
        shares = [np.where(rough[0] > 0.0, share, 1.0) for share in shares]
    return [*shares, np.where(any_of([share < 1.0 for share in shares]), 1.0, 0.0)]


def where_limited(shares, found, given):
    limited = any_of([share < 1.0 for share in shares])
    return [np.where(limited, a, b) for a, b in zip(found, given)]


def room_across(change, outer):
    """How much more and less than the mean is allowed, from the changes to the averages across the faces."""
    high = low = 0.0
    for a in change:
        high, low = larger(a, high), smaller(a, low)
    above, below = -low, high
    for a, o in zip(change, outer):
        above, below = smaller(np.where(o > 0.0, -low, -a), above), smaller(np.where(o > 0.0, high, a), below)
    mirrors = any_of([o > 0.0 for o in outer])
    return np.where(mirrors, larger(above, high), high), np.where(mirrors, smaller(-below, low), low)


def farthest(high, low):
    """The largest distance to an average around a vertex."""
    most = 0.0
    for a, b in zip(high, low):
        most = larger(-b, larger(a, most))
    return most


def room_at_vertices(high, low, outer):
    """The room of each vertex, from the largest and least changes to the averages around it."""
    most = farthest(high, low)
    mirrors = [o > 0.0 for o in outer]
    return ([np.where(mirror, most, a) for a, mirror in zip(high, mirrors)],
            [np.where(mirror, -most, a) for a, mirror in zip(low, mirrors)])


def room_around(high, low, outer):
    """The room of all points, from the same; outer is 2 where no other element is around a vertex."""
    above = below = farthest(high, low)
    top, bottom = high[0], low[0]
    for a, b, o in zip(high, low, outer):
        top, bottom = larger(a, top), smaller(b, bottom)
        above, below = smaller(np.where(o > 1.0, above, -b), above), smaller(np.where(o > 1.0, below, a), below)
    mirrors = any_of([o > 0.0 for o in outer])
    return np.where(mirrors, larger(above, top), top), np.where(mirrors, smaller(-below, bottom), bottom)


def largest_of(values):
    """The largest absolute value."""
    most = np.abs(values[0])
    for a in values[1:]:
        most = larger(np.abs(a), most)
    return most


def share_of_extremes(high, low, changes, tiny):
    """min(1, high / largest change, low / least change), by one division: products tell which of both is the smaller. Changes
    up to `tiny` are rounding and limit nothing."""
    top, bottom = changes[0], changes[0]
    for a in changes[1:]:
        top, bottom = larger(a, top), smaller(a, bottom)
    over, under = (top > high) & (top > tiny), (bottom < low) & (-bottom > tiny)
    upper = over & (~under | (high * bottom > low * top))
    return np.where(upper, high, np.where(under, low, 1.0)) / np.where(upper, top, np.where(under, bottom, 1.0))


def least_share(high, low, changes, tiny):
    """The least of 1, high / change and low / change, each at its own point. Changes up to `tiny` are rounding and limit
    nothing: where there is no room either, their quotient would be anything between 0 and 1."""
    share = 1.0
    for above, below, change in zip(high, low, changes):
        over, under = (change > above) & (change > tiny), (change < below) & (-change > tiny)
        here = np.where(over, above, np.where(under, below, 1.0)) / np.where(over | under, change, 1.0)
        share = smaller(here, share)
    return share


def direction(g):
    """g / |g|, along the first axis where g is zero."""
    most = np.abs(g[0])
    for a in g[1:]:
        most = np.maximum(most, np.abs(a))
    flat = ~(most > 0)
    g = tuple(np.where(flat, float(not i), a / np.where(flat, 1.0, most)) for i, a in enumerate(g))
    size = np.sqrt(sum(a * a for a in g))
    return tuple(a / size for a in g)
