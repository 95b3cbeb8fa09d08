"""Text of the limiters of modal DG on the device, see `dgarray.methods.dg.limiter` for the formulas.

Only averages of other elements are read, which nobody changes, so the threads limit a state in place in any order.
"""
import numpy as np

from ....physics.codegen import Python, scalar_source
from ....physics.trace import trace
from .modal_source import indented


def fused(options):
    """Whether the limiter has kernels here: Barth-Jespersen of each conserved variable in all elements, positivity."""
    return options.limiter in (None, "barth-jespersen") and options.variables == "conserved" and options.indicator is None


def share_within(change, outer, slope, check, unit):
    """The largest share in [0, 1] of an element's slopes with which it is within the averages around.

    change, outer   the neighbours' averages less its own and 1 at a boundary, across each face;  check (point, linear mode)"""
    high, low, mirrors = 0.0, 0.0, sum(outer) > 0.0
    for a in change:
        high, low = np.maximum(high, a), np.minimum(low, a)
    above, below = -low, high
    for a, o in zip(change, outer):
        above, below = np.minimum(above, np.where(o > 0.0, -low, -a)), np.minimum(below, np.where(o > 0.0, high, a))
    high = np.where(mirrors, np.maximum(high, above), high) * unit
    low = np.where(mirrors, np.minimum(low, -below), low) * unit
    top = bottom = 0.0
    for row in check:
        value = sum(float(number) * c for number, c in zip(row, slope))
        top, bottom = np.maximum(top, value), np.minimum(bottom, value)
    return np.minimum(np.where(top > high, high / np.where(top > high, top, 1.0), 1.0),
                      np.where(bottom < low, low / np.where(bottom < low, bottom, 1.0), 1.0))


def share_above(mean, least, floor):
    """The share in [0, 1] of the way from the mean with which the least value is at least `floor` times the mean."""
    bound = floor * mean
    low = least < bound
    share = (mean - bound) / np.where(low & (least < mean), mean - least, 1.0)
    return np.clip(np.where(low, share, 1.0), 0.0, 1.0)


def slopes(source, limits):
    """Barth-Jespersen; the block's y is the variable, `around` holds the neighbours across the faces, -1 at a boundary."""
    F, N, dialect, linear = source.F, source.N, Python(str(source.dtype)), range(len(limits.linear))
    graph = trace(lambda change, outer, slope: share_within(change, outer, slope, limits.check, limits.unit),
                  {"change": F, "outer": F, "slope": len(linear)}, "Barth-Jespersen")
    lines, (share,) = scalar_source(graph, {name: name for name in graph.inputs}, dialect)
    body = [*source.element, f"first = np.uint64(cuda.blockIdx.y)*np.uint64({N})*width", "mean = state[first + e]"]
    for f in range(F):
        body += [f"other = around[np.uint64({f})*width + e]", f"change{f}, outer{f} = zero, one", "if other >= 0:",
                 f"    change{f}, outer{f} = state[first + np.uint64(other)] - mean, zero"]
    places = [f"state[first + np.uint64({mode})*width + e]" for mode in limits.linear]
    body += [*(f"slope{i} = {places[i]}" for i in linear), *lines, f"if {share} < one:",
             *(f"    {places[i]} = slope{i}*{share}" for i in linear)]
    return source.module("limiting slopes", "state, around", body, dialect)


def positive(source, limits, floor):
    """First the density, then all variables scaled towards the means until density and pressure are positive at all points."""
    V, N, dialect, points = source.V, source.N, Python(str(source.dtype)), source.B + source.S
    unit, function = dialect.literal(float(limits.unit)), limits.pressure
    pressure, (p,) = source.compute(function, dialect)
    graph = trace(lambda mean, least: share_above(mean, least, floor), {"mean": None, "least": None}, "positivity")
    towards, (share,) = scalar_source(graph, {name: name for name in graph.inputs}, dialect)
    m, used = source.reads(function), source.variables(function)

    def scale(variables):
        return [*towards, f"if {share} < one:", "    at = e", f"    for _ in range(1, {N}):", "        at += width",
                *(f"        state[at + np.uint64({v * N})*width] *= {share}" for v in variables)]
    body = [*source.element, f"mean = {unit}*state[e]", "least = mean", f"for point in range({points}):",
            *indented([*source.values([0], "point"), "least = q0 if q0 < least else least"]), *scale([0]),
            *(f"q{v} = {unit}*state[np.uint64({v * N})*width + e]" for v in used), *m, *pressure, f"mean = {p}", "least = mean",
            f"for point in range({points}):",
            *indented([*source.values(used, "point"), *pressure, f"least = {p} if {p} < least else least"]), *scale(range(V))]
    return source.module("keeping density and pressure positive", "state, matrix, geometry", body, dialect)
