"""Text of the loop that checks a state: its largest rate, whether it is finite and admissible."""
from functools import cache

from ....methods.check import norm_over_faces
from ....physics.pointwise import Pointwise
from .kernel_source import indented

# Of each lane, over all tiles: whether all is finite, all is admissible, all rates are numbers; and the largest one.
FLAGS = {"finite": ("K", 0), "admissible": ("K", 1), "sound": ("QR", 0), "largest": ("QL", 0)}


def flag(s, name):
    """One lane of the row of that name."""
    return s.lane(*FLAGS[name])


def check_text(s):
    """The loop that puts three numbers into `found` for each piece of tiles: its largest rate, see `WeakForm`, whether it is
    finite and whether it is admissible (0 or 1).  The rate is a NaN where a speed is infinite or none.  s: the `TileSource`."""
    checked = hasattr(s.t.physics.functions, "admissible")
    begin = [f"{flag(s, name)} = {'zero' if name == 'largest' else 'one'}" for name in FLAGS]
    lines = [*s.load_tile(), *repeat_the_last(s), *(s.at_points() if s.t.speeds_inside or checked else []), *s.trace(),
             *finite(s), *at_the_points(s, checked), *rates(s)]
    end = [f"{name} &= {flag(s, name)} == one" for name in ("sound", "finite", "admissible")]
    arguments = "state, owned, I, T, geometry, tiled_values, clock, number_of_stage, exponent, found"
    return s.module("the check of a state", f"{s.scratch}, {arguments}",
        ["t = clock[1 + number_of_stage]", f"zero, one, infinity = np.{s.dtype}(0), np.{s.dtype}(1), np.{s.dtype}(np.inf)",
         "largest, sound, finite, admissible = zero, True, True, True", *s.lanes(begin),
         "for tile in range(first, last):", *indented(lines),
         *s.lanes([*end, f"largest = max(largest, {flag(s, 'largest')})"]),
         f"found[3*piece] = largest if sound else np.{s.dtype}(np.nan)",
         "found[3*piece + 1], found[3*piece + 2] = finite, admissible"])


def repeat_the_last(s):
    """Lines that put the last own element's state into the lanes beyond it, which may hold anything; they have no rates."""
    here = f"{s.at['Q']} + row*{s.L} + "
    return [f"filled = owned - tile*{s.L}", f"if filled < {s.L}:", f"    for row in range({s.V * s.N}):",
            f"        for lane in range(filled, {s.L}):", f"            w[{here}lane] = w[{here}filled - 1]"]


def finite(s):
    """Lines that put a NaN into `finite` where an unknown of the tile is not a finite number: zero times it is no zero."""
    L, here = s.L, flag(s, "finite")
    zeros = " + ".join(f"w[{s.at['Q'] + v * s.N * L} + row*{L} + lane]*zero" for v in range(s.V))
    return [f"for row in range({s.N}):", *indented(s.lanes([f"{here} = {here} + ({zeros})"]))]


def at_the_points(s, checked):
    """Lines that put the largest wave speed normal to each face into the rows S, and 0 into `admissible` where the state is not
    at one of the points.

    A point is visited once for all of it, so that what the speeds at faces and the pressure have in common is computed once."""
    L, d, M, every, good = s.L, s.d, s.M, range(s.F), flag(s, "admissible")
    faces, inside = [("i", s.F * M, *s.at_faces, "FACE_POINTS")] * s.modal, ("i", s.B, *s.values, "POINTS")
    if s.t.physics.speeds_everywhere:
        visits = dict.fromkeys(faces, every)
        visits |= {inside: every} if s.t.speeds_inside or not s.modal else {}
    else:
        visits = {(f"({f * M} + i)", M, *s.at_faces, "FACE_POINTS"): [f] for f in every}
    checks = [*faces, inside] if checked else []
    lines = [f"for row in range({s.F}):", *indented(s.lanes([f"w[{s.at['S']} + row*{L} + lane] = 0"]))]
    for place in dict.fromkeys([*visits, *checks]):
        point, count, rows, stride, table = place
        of_state = dict(q=(rows, 0, f" + {point}*{L}", stride), x=("X", 0, "", 1),
                        m=s.parameters("faces" if table == "FACE_POINTS" else "volume", point))
        functions, values, results = [], [], []
        if place in checks:
            functions.append(s.t.physics.functions.admissible)
            values += s.evaluate(functions[-1], ["good"], **of_state)
            results.append(f"{good} = select(good, {good}, zero)")
        for f in visits.get(place, []):
            functions.append(s.t.physics.functions.wave_speed)
            values += s.evaluate(functions[-1], [f"s{f}"], n=("G", s.rate_rows + f * d, "", 1), **of_state)
            here = s.lane("S", f)
            results.append(f"{here} = select((s{f} <= {here}) | ({here} != {here}), {here}, s{f})")
        needs_x = next((function for function in functions if function.depends_on("x")), functions[0])
        lines += [f"for i in range({count}):", *indented([*s.positions(needs_x, point, table), *s.lanes(values + results)])]
    return lines


def rates(s):
    """Lines that take the rates of a tile's elements into `largest`, see `WeakForm.rate`, and put 0 into `sound` where one
    is infinite or no number."""
    largest, sound = flag(s, "largest"), flag(s, "sound")

    def by(exponent):
        places = {"speed": ("S", 0, "", 1), "scale": ("G", s.rate_rows + s.F * s.d, "", 1), "exponent": {None: "exponent"}}
        return indented(s.lanes([
            *s.evaluate(rate_of(s.F, exponent), ["rate"], **places), "rate = select(lane < filled, rate, zero)",
            f"{sound} = select(rate < infinity, {sound}, zero)", f"{largest} = select(rate > {largest}, rate, {largest})"]))
    return ["if exponent == one:", *by(1), "else:", *by(None)]


@cache
def rate_of(faces, exponent):
    """The norm of s J_face / J over so many faces as a traced function; exponent: None where it comes at run time."""
    given = {} if exponent else {"exponent": None}

    def wave_rate(speed, scale, exponent=exponent):
        return norm_over_faces([a * b for a, b in zip(speed, scale)], exponent)
    return Pointwise(wave_rate, {"speed": faces, "scale": faces, **given}, "wave rate")
