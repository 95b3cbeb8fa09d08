"""Text of the positivity limiter on a tile, see `dgarray.methods.dg.limiter`."""
from ..dg.tile_source import indented
from ..simd import matmul


def positivity(source, limits, floor):
    """Lines that scale the tile's state towards its mean until density and pressure are positive at all points.

    The least density and pressure are found together; only where a density is too low are the pressures found again."""
    L, N, V, at, number = source.L, source.N, source.V, source.at, source.dialect.literal
    unit, one, zero, share = number(limits.unit), number(1.0), number(0.0), number(floor)
    low_density, low, theta = (f"w[{at['S'] + i * L} + lane]" for i in range(3))
    density, of_mean = (f"w[{at[name]} + lane]" for name in ("QL", "QR"))
    places = [("BQ", source.B, matmul.padded(source.B)), ("T", source.F * source.M, matmul.padded(source.F * source.M))]

    def towards(mean, least):
        return [f"mean, low = {mean}, {least}", f"bound = {share}*mean", "short = low < bound",
                f"part = select(short, (mean - bound)/select(short & (low < mean), mean - low, {one}), {one})",
                f"part = select(part < {zero}, {zero}, part)", f"{theta} = part"]

    def pressures(densities):
        """The least pressure of the points and the mean, and the least density."""
        lines = source.lanes([f"{low} = {of_mean}"])
        for name, count, stride in places:
            value = f"w[{at[name]} + i*{L} + lane]"
            body = source.evaluate(limits.pressure, ["p"], q=(name, 0, f" + i*{L}", stride), m=("P", 0, "", 1))
            body += [f"{low} = select(p < {low}, p, {low})"]
            body += [f"{low_density} = select({value} < {low_density}, {value}, {low_density})"] * densities
            lines += [f"for i in range({count}):", *indented(source.lanes(body))]
        return lines

    at_mean = source.evaluate(limits.pressure, ["p"], q=("QL", 0, "", 1), m=("P", 0, "", 1))
    scale = [f"for i in range(1, {N}):", *indented(source.lanes([f"w[{at['Q']} + i*{L} + lane] *= {theta}"]))]
    for name, count, _ in places:
        value = f"w[{at[name]} + i*{L} + lane]"
        scale += [f"for i in range({count}):",
                  *indented(source.lanes([f"{value} = {density} + {theta}*({value} - {density})"]))]
    return [*source.at_points(), *source.trace(), "touched = 0", f"for v in range({V}):",
            *indented(source.lanes([f"w[{at['QL']} + v*{L} + lane] = {unit}*w[{at['Q']} + v*{N * L} + lane]"])),
            *source.lanes([*at_mean, f"{of_mean} = p", f"{low_density} = {density}"]), *pressures(True),
            *source.lanes([f"touched += {low_density} < {share}*{density}"]), "if touched > 0:", "    changed = True",
            *indented([*source.lanes(towards(density, low_density)), *scale, *pressures(False)]), "touched = 0",
            *source.lanes([f"touched += {low} < {share}*{of_mean}"]), "if touched > 0:", "    changed = True",
            *indented([*source.lanes(towards(of_mean, low)), f"for v in range({V}):", f"    for i in range(1, {N}):",
                       *indented(source.lanes([f"w[{at['Q']} + (v*{N} + i)*{L} + lane] *= {theta}"]), 2)])]
