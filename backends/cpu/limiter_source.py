"""Text of the fused limiter: Barth-Jespersen and positivity on a tile, see `dgarray.backends.limiter` for the formulas.

Only averages of other elements are read, which nobody changes, so tiles are limited in place in any order.
"""
from textwrap import indent

from . import matmul
from .nodal_source import indented


def limit_text(source, limits, floor):
    """The kernel that limits tiles from `first` to `last` in place; source: the Source of the stage's kernels.

    around: where the average of the neighbour across each face lies, in tiles; outer: 1 for a boundary face."""
    slopes = barth_jespersen(source, limits) if limits.options.limiter else []
    positive = positivity(source, limits, floor) if limits.options.positivity else []
    size = source.V * source.N
    parameters = source.load("tiled_values", len(source.P), "P") if source.P else []
    tile = [*source.load("state", source.V * source.N, "Q"), *parameters, "changed = False", *slopes, *positive,
            "if changed:", f"    for row in range({size}):",
            f"        copy(w, {source.at['Q']} + row*{source.L}, state, (tile*{size} + row)*{source.L})"]
    return source.module("limiting a state", f"""
def kernel(first, last, w, state, I, T, geometry, tiled_values, around, outer):
    for tile in range(first, last):
{indent(chr(10).join(tile), " " * 8)}
""")


def barth_jespersen(source, limits):
    """Lines that limit the slopes of the tile's variables, one after the other: literal offsets make the loops vector code."""
    L, N, V, at, number = source.L, source.N, source.V, source.at, source.dialect.literal
    unit, zero, one = number(limits.unit), number(0.0), number(1.0)
    lines = ["touched = 0"] + [f"gather_q(state, {N * L}, around, (tile*{source.F} + {f})*{L}, w, {at['RHS'] + f * V * L})"
                               for f in range(source.F)]
    for v in range(V):
        mean = f"w[{at['Q'] + v * N * L} + lane]"
        around = [f"w[{at['RHS'] + (f * V + v) * L} + lane]" for f in range(source.F)]
        slopes = [f"w[{at['Q'] + (v * N + mode) * L} + lane]" for mode in limits.linear]
        body = [f"mean, high, low, beyond = {mean}, {zero}, {zero}, {zero}"]
        for f, value in enumerate(around):
            body += [f"change{f}, outer{f} = {value} - mean, outer[(tile*{source.F} + {f})*{L} + lane]",
                     f"beyond += outer{f}", f"high = change{f} if change{f} > high else high",
                     f"low = change{f} if change{f} < low else low"]
        body += ["above, below = -low, high"]
        for f in range(source.F):
            body += [f"mirror = -low if outer{f} > {zero} else -change{f}", "above = mirror if mirror < above else above",
                     f"mirror = high if outer{f} > {zero} else change{f}", "below = mirror if mirror < below else below"]
        body += [f"mirrors = beyond > {zero}", "high = above if mirrors & (above > high) else high",
                 "low = -below if mirrors & (-below < low) else low", f"high, low = high*{unit}, low*{unit}",
                 *(f"c{k} = {slope}" for k, slope in enumerate(slopes)), f"top = bottom = {zero}"]
        for row in limits.check:
            change = " + ".join(f"{number(float(value))}*c{k}" for k, value in enumerate(row))
            body += [f"change = {change}", "top = change if change > top else top",
                     "bottom = change if change < bottom else bottom"]
        body += [f"share = high/(top if top > high else {one}) if top > high else {one}",
                 f"below = low/(bottom if bottom < low else -{one}) if bottom < low else {one}",
                 "share = below if below < share else share",
                 *(f"{slope} = c{k}*share" for k, slope in enumerate(slopes)), f"touched += share < {one}"]
        lines += source.lanes(body)
    return [*lines, "changed = changed or touched > 0"]


def positivity(source, limits, floor):
    """Lines that scale the tile's state towards its mean until density and pressure are positive at all points."""
    L, N, V, at, number = source.L, source.N, source.V, source.at, source.dialect.literal
    unit, one, zero, share = number(limits.unit), number(1.0), number(0.0), number(floor)
    least, theta = (f"w[{at['S'] + i * L} + lane]" for i in (0, 1))
    mean = f"w[{at['QL']} + lane]"
    places = [("BQ", source.B, matmul.padded(source.B)),
              ("T", source.F * source.M, matmul.padded(source.F * source.M))]

    def towards(of_mean):
        return [f"mean, low = {of_mean}, {least}", f"bound = {share}*mean", "short = low < bound",
                f"part = (mean - bound)/(mean - low if short & (low < mean) else {one}) if short else {one}",
                f"part = {zero} if part < {zero} else part", f"{theta} = part", f"touched += part < {one}"]
    lines = [*source.at_points(), *source.trace(), "touched = 0", f"for v in range({V}):",
             *indented(source.lanes([f"w[{at['QL']} + v*{L} + lane] = {unit}*w[{at['Q']} + v*{N * L} + lane]"])),
             *source.lanes([f"{least} = {mean}"])]
    for name, count, _ in places:
        value = f"w[{at[name]} + i*{L} + lane]"
        lines += [f"for i in range({count}):",
                  *indented(source.lanes([f"{least} = {value} if {value} < {least} else {least}"]))]
    lines += [*source.lanes(towards(mean)), "if touched > 0:",
              f"    for i in range(1, {N}):", *indented(source.lanes([f"w[{at['Q']} + i*{L} + lane] *= {theta}"]), 2)]
    for name, count, _ in places:
        value = f"w[{at[name]} + i*{L} + lane]"
        lines += [f"    for i in range({count}):",
                  *indented(source.lanes([f"{value} = {mean} + {theta}*({value} - {mean})"]), 2)]
    at_mean = source.evaluate(limits.pressure, ["p"], q=("QL", 0, "", 1), m=("P", 0, "", 1))
    of_mean = f"w[{at['QR']} + lane]"
    lines += ["changed, touched = changed or touched > 0, 0", *source.lanes([*at_mean, f"{of_mean} = p", f"{least} = p"])]
    for name, count, stride in places:
        body = source.evaluate(limits.pressure, ["p"], q=(name, 0, f" + i*{L}", stride), m=("P", 0, "", 1))
        lines += [f"for i in range({count}):", *indented(source.lanes([*body, f"{least} = p if p < {least} else {least}"]))]
    return [*lines, *source.lanes(towards(of_mean)), "if touched > 0:", f"    for v in range({V}):",
            f"        for i in range(1, {N}):",
            *indented(source.lanes([f"w[{at['Q']} + (v*{N} + i)*{L} + lane] *= {theta}"]), 3),
            "changed = changed or touched > 0"]
