"""Text of the kernel that looks at a whole state: its largest rate, whether it is finite and admissible."""
from textwrap import indent

from .nodal_source import indented


def lanes_of_elements(L):
    """Text of the lanes of a tile in which there are elements: those beyond the last one stand still, and do not count."""
    return f"range(min({L}, elements - tile*{L}))"


def fastest(s):
    """Lines that put the largest wave speed normal to each face into the rows S, see `NodalArrays.rate`.

    A point is visited once for all faces for which it counts, so that what their speeds have in common is computed once."""
    L, d, F, function = s.L, s.d, range(s.F), s.t.functions.wave_speed
    if s.t.speeds_everywhere:
        parts = [(F, "i", s.F * s.M, *s.at_faces, "FACE_POINTS")] * s.modal
        parts += [(F, "i", s.B, *s.values, "POINTS")] * (s.t.speeds_inside or not s.modal)
    else:
        parts = [([f], f"({f * s.M} + i)", s.M, *s.at_faces, "FACE_POINTS") for f in F]
    lines = [f"for row in range({s.F}):", *indented(s.lanes([f"w[{s.at['S']} + row*{L} + lane] = 0"]))]
    for faces, point, count, rows, stride, table in parts:
        body = [line for f in faces for line in s.evaluate(
            function, [f"s{f}"], q=(rows, 0, f" + {point}*{L}", stride), n=("G", d * d + f * d, "", 1), m=("P", 0, "", 1),
            x=("X", 0, "", 1))]
        for f in faces:
            here = s.lane("S", f)
            body.append(f"{here} = {here} if (s{f} <= {here}) | ({here} != {here}) else s{f}")
        lines += [f"for i in range({count}):", *indented([*s.positions(function, point, table), *s.lanes(body)])]
    return lines


def rates(s):
    """Lines that take the rates of a tile's elements into `largest`, see `NodalArrays.rate`; `broken` says that one is no number
    or infinite."""
    L, d = s.L, s.d
    here = f"w[{s.at['S']} + f*{L} + lane]"
    own = lanes_of_elements(L)
    scale = s.lane("G", d * d + s.F * d, f" + f*{L}")
    faces = [f"{s.lane('S', f)}*{s.lane('G', d * d + s.F * d + f)}" for f in range(s.F)]
    return [*fastest(s),
            "if exponent == one:", *indented(s.lanes([f"{s.lane('QL', 0)} = {' + '.join(faces)}"])),
            f"    for lane in {own}:", f"        total = {s.lane('QL', 0)}",
            "        broken |= not total < infinity", "        largest = max(largest, total)",
            "else:", f"    for lane in {own}:", "        peak = total = zero", f"        for f in range({s.F}):",
            f"            value = {here}*{scale}", "            broken |= not value < infinity",
            "            peak = max(peak, value)", "        if peak > 0:", f"            for f in range({s.F}):",
            f"                total += ({here}*{scale}/peak)**exponent",
            "            largest = max(largest, peak*total**(one/exponent))"]


def flagged(s, name, lines):
    """Lines that put 1 into a row, run these lines, and set the flag `name` to False where an element's lane is not 1 then."""
    here = f"w[{s.at['S']} + lane]"
    return [*s.lanes([f"{here} = 1"]), *lines, f"for lane in {lanes_of_elements(s.L)}:", f"    {name} &= {here} == 1"]


def finite(s):
    """Lines that set `finite` to False where an unknown of the tile is not a finite number: zero times it is no zero."""
    here = f"w[{s.at['S']} + lane]"
    return flagged(s, "finite", [f"for row in range({s.V * s.N}):",
                                 *indented(s.lanes([f"{here} = {here} + w[{s.at['Q']} + row*{s.L} + lane]*zero"]))])


def admissible(s):
    """Lines that set `admissible` to False where the tile is not, see `NodalArrays.admissible`."""
    L, function = s.L, s.t.functions.admissible
    here, parts, lines = f"w[{s.at['S']} + lane]", [(s.B, *s.values, "POINTS")], []
    if s.modal:
        parts.append((s.F * s.M, *s.at_faces, "FACE_POINTS"))
    for count, rows, stride, table in parts:
        body = s.evaluate(function, ["good"], q=(rows, 0, f" + i*{L}", stride), m=("P", 0, "", 1), x=("X", 0, "", 1))
        lines += [f"for i in range({count}):", *indented(s.positions(function, "i", table)),
                  *indented(s.lanes([*body, f"{here} = {here} if good else 0"]))]
    return flagged(s, "admissible", lines)


def look_text(s):
    """The kernel that looks at a state: (largest rate, whether all is finite, whether all is admissible); the rate is a NaN
    where a speed is infinite or none.  s: the Source of the stage's kernels."""
    checked = hasattr(s.t.functions, "admissible")
    lines = [*s.load_tile(), *(s.at_points() if s.t.speeds_inside or checked else []), *s.trace(), *finite(s), *rates(s),
             *(admissible(s) if checked else [])]
    return s.module("what a state is like", f"""
def kernel(first, last, w, state, elements, I, T, geometry, tiled_values, t, exponent):
    zero, one, infinity = np.{s.dtype}(0), np.{s.dtype}(1), np.{s.dtype}(np.inf)
    largest, broken, finite, admissible = zero, False, True, True
    for tile in range(first, last):
{indent(chr(10).join(lines), " " * 8)}
    return np.{s.dtype}(np.nan) if broken else largest, finite, admissible
""")
