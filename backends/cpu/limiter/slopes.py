"""Text of the slopes' limiting at order 1 on a tile, across faces and around vertices.  Offsets of rows are literals, which
makes the loops over lanes vector code."""
from ..dg.tile_source import indented
from . import variables as limiter_variables


def rows(k):
    """Rows of the scratch array, {name: how many}; k: the LimiterSource."""
    d, V, K = k.d, k.V, k.K
    result = {"JUMP": len(k.sensed), "HIGH": V * (2 * K if k.vertex else 1), "LOW": V,
              "TOP": V * k.options.at_faces * k.vertex}
    if k.variables == "primitive":
        result |= {"MEAN": V, "U": V * K, "NODES": V * K}
    if k.variables == "characteristic":
        result |= {"A": V * K, "MEAN": V, "DIRECTION": d, "ALONG": d, "U": V * K, "WAVES": V}
    return result


def limit(k):
    """Lines that limit the slopes of a tile, and the names of the arrays that they need: the room that each variable has above
    and below the mean, then its share."""
    before, after = limiter_variables.CHANGES[k.variables](k)
    if k.vertex and k.variables == "characteristic":
        names, lines = ["around", "vertices", "outer"], [*waves_around(k), *share_around(k)]
    elif k.vertex:
        names, places = ["extremes", "vertices", "outer"], range(k.K)
        lines = [f"gather_extremes(extremes, {k.L}, vertices, (tile*{k.K} + {i})*{k.L}, w, "
                 f"{k.tile.at['HIGH'] + 2 * k.V * i * k.L})" for i in places] + share_around(k)
    else:
        names, lines = ["across", "outer_start", "outer_lanes", "outer_faces"], across(k)
    return [*before, *lines, "if limited:", "    changed = True", *indented(after)], names


def extra(k):
    """Lines of the module that define what the lines above call."""
    waves, points, dtype = k.variables == "characteristic", k.limits.check / k.limits.unit, f"np.{k.tile.dtype}"
    lines = []
    if not k.vertex or k.options.at_faces:
        lines.append(f"shares = limiter_lanes.shares({k.V}, np.array({points.tolist()}), {dtype}, {bool(k.sensed)})")
    if not k.vertex:
        lines.append(f"rooms = limiter_lanes.rooms({k.V}, {k.K}, {dtype}, {not waves})")
    if waves != k.vertex:
        lines.append(f"{'gather_waves' if waves else 'gather_extremes'} = vector.gather({k.V * (2 - waves)}, {dtype})")
    return lines


def parts(k, v):
    """The mean that changes are counted from, and the slopes, of a variable: texts of one lane."""
    if k.variables == "conserved":
        return k.row("Q", v * k.N), [k.row("Q", v * k.N + mode) for mode in k.limits.linear]
    mean = k.tile.dialect.literal(0.0) if k.variables == "characteristic" else k.row("U", v * k.K)
    return mean, [k.row("U", v * k.K + 1 + i) for i in range(k.d)]


def sensed(k, share):
    """Lines after which a share is 1 where the state is smooth."""
    zero, one = (k.tile.dialect.literal(value) for value in (0.0, 1.0))
    return [f"{share} = select({k.row('SENSE', 0)} > {zero}, {share}, {one})"] if k.sensed else []


def used(k, slopes):
    """Lines that take the share of the slopes, and mark where it is less than 1."""
    one, changed = k.tile.dialect.literal(1.0), k.row("CHANGED", 0)
    return [*sensed(k, "share"), *(f"{slope} *= share" for slope in slopes),
            f"{changed} = select(share < {one}, {one}, {changed})"]


def count_changed(k):
    """Lines that find whether something is `limited` in any lane."""
    count = k.tile.lanes([f"count += {k.row('CHANGED', 0)} > {k.tile.dialect.literal(0.0)}"])
    return ["count = 0", *count, "limited = count > 0"]


def linear(k):
    """Where the linear function of variable 0 lies, and the step to the next one's: (array, place, step)."""
    if k.variables == "conserved":
        return (*k.own, k.N * k.L)
    return "w", k.tile.at["U"], k.K * k.L


def across(k):
    """Lines that find the room above and below the mean from what the neighbours have, look again at the elements at the
    boundary, and limit; of waves the changes are found before."""
    L, V, s = k.L, k.V, k.tile
    at, (array, stride, _), (own, place, step) = s.at, k.source_of_means, linear(k)
    lines = []
    if k.variables == "characteristic":
        for f in range(k.K):
            lines += [f"gather_waves({array}, {stride}, across, (tile*{k.K} + {f})*{L}, w, {at['A'] + f * V * L})",
                      *s.lanes([*(f"{k.row('A', f * V + v)} -= {k.row('Q', v * k.N)}" for v in range(V)),
                                *limiter_variables.to_waves(k, ("A", f * V, "", 1),
                                                            [k.row("A", f * V + v) for v in range(V)])])]
        changes = f"w, {V * L}, across, {at['A']}, w, 0, 0"
    else:
        changes = f"{array}, {stride}, across, tile*{k.K * L}, {own}, {place}, {step}"
    return [*lines, f"rooms({changes}, w, {at['HIGH']}, {at['LOW']})", *mirrored(k), take_shares(k, "HIGH")]


def changes(k, point):
    """Text of the change at a point where the linear modes have these values."""
    return " + ".join(f"{k.tile.dialect.literal(float(value))}*c{i}" for i, value in enumerate(point))


def mirrored(k):
    """Lines that put the room again for elements with faces at the boundary."""
    L, V, at, zero = k.L, k.V, k.tile.at, k.tile.dialect.literal(0.0)
    array, stride, _ = k.source_of_means
    own, place, step = linear(k)
    change = (f"change = w[{at['A']} + (f*{V} + v)*{L} + lane]" if k.variables == "characteristic" else
              f"change = {array}[across[(tile*{k.K} + f)*{L} + lane] + v*{stride}] - {own}[{place} + v*{step} + lane]")
    return ["for i in range(outer_start[tile], outer_start[tile + 1]):", "    lane = outer_lanes[i]",
            f"    for v in range({V}):", f"        high = low = {zero}", f"        for f in range({k.K}):",
            f"            {change}", "            high, low = max(high, change), min(low, change)",
            "        above, below = -low, high",
            f"        for f in range({k.K}):", f"            {change}",
            f"            outer = outer_faces[i*{k.K} + f]",
            "            above = min(above, -low if outer else -change)",
            "            below = min(below, high if outer else change)",
            f"        w[{at['HIGH']} + v*{L} + lane] = max(high, above)",
            f"        w[{at['LOW']} + v*{L} + lane] = min(low, -below)"]


def share_around(k):
    """Lines that limit each variable by the extremes around the vertices, rows HIGH: (place, variable, high and low)."""
    lines = []
    for v in range(k.V):
        mean, slopes = parts(k, v)
        extremes = [(k.row("HIGH", 2 * (i * k.V + v)), k.row("HIGH", 2 * (i * k.V + v) + 1)) for i in range(k.K)]
        if k.options.at_faces:
            room = [*above_and_below(mean, extremes), *room_of_element(k)]
            lines += k.tile.lanes([*room, f"{k.row('TOP', v)}, {k.row('LOW', v)} = high, low"])
        else:
            body = [*(f"c{i} = {slope}" for i, slope in enumerate(slopes)), *share_at_vertices(k, mean, extremes)]
            lines += k.tile.lanes([*body, *used(k, slopes)])
    if k.options.at_faces:
        return [*lines, take_shares(k, "TOP")]
    clear = k.tile.lanes([f"{k.row('CHANGED', 0)} = {k.tile.dialect.literal(0.0)}"])
    return [*clear, *lines, *count_changed(k)]


def take_shares(k, high):
    """A line that limits the slopes of a tile by these rows and LOW, the room above and below the mean."""
    at, (own, place, step) = k.tile.at, linear(k)
    return f"limited = shares(w, {at[high]}, {at['LOW']}, {at['SENSE']}, {at['CHANGED']}, {own}, {place} + {k.L}, {step})"


def above_and_below(mean, extremes):
    """Lines of one lane that find the room high0, low0, high1, .. about `mean` from (largest, least) around each vertex."""
    return [f"mean = {mean}", *(f"high{i}, low{i} = {high} - mean, {low} - mean" for i, (high, low) in enumerate(extremes))]


def share_at_vertices(k, mean, extremes):
    """Lines of one lane that find the share of the slopes c0, c1, .. from (largest, least) around each vertex."""
    one = k.tile.dialect.literal(1.0)
    zero, unit = (k.tile.dialect.literal(value) for value in (0.0, k.limits.unit))
    lines = [*above_and_below(mean, extremes), *farthest(k), f"share = {one}"]
    for i, point in enumerate(k.limits.check):
        lines += [f"mirrored = {outer(k, i)} > {zero}", f"high = select(mirrored, most, high{i})*{unit}",
                  f"low = select(mirrored, -most, low{i})*{unit}", f"change = {changes(k, point)}",
                  "over, under = change > high, change < low", f"room = select(over, high, select(under, low, {one}))",
                  f"here = room/select(over | under, change, {one})", "share = select(here < share, here, share)"]
    return lines


def outer(k, i):
    """Text of one lane: 0 inside the mesh, 1 where a vertex is at the boundary, 2 where no other element is around it."""
    return f"outer[(tile*{k.K} + {i})*{k.L} + lane]"


def room_of_element(k):
    """Lines of one lane that find the room `high` and `low` of all points of an element from that around each vertex."""
    zero, one = (k.tile.dialect.literal(value) for value in (0.0, 1.0))
    lines = [*farthest(k), f"high, low, above, below, sides = high0, low0, most, most, {zero}"]
    for i in range(k.K):
        lines += [f"high = select(high{i} > high, high{i}, high)", f"low = select(low{i} < low, low{i}, low)",
                  f"side = {outer(k, i)}", "sides += side", f"among = side <= {one}",
                  f"above = select(among & (-low{i} < above), -low{i}, above)",
                  f"below = select(among & (high{i} < below), high{i}, below)"]
    return [*lines, f"mirrored = sides > {zero}", "high = select(mirrored & (above > high), above, high)",
            "low = select(mirrored & (-below < low), -below, low)"]


def farthest(k):
    """Lines that find `most`, the largest distance from the mean to an average around a vertex."""
    return [f"most = {k.tile.dialect.literal(0.0)}",
            *(line for i in range(k.K) for line in (f"most = select(high{i} > most, high{i}, most)",
                                                    f"most = select(-low{i} > most, -low{i}, most)"))]


def waves_around(k):
    """Lines that find the largest and least waves from the mean to the averages around each vertex, rows HIGH as above."""
    s, L, V, at = k.tile, k.L, k.V, k.tile.at
    place = f"around[c, vertices[(tile*{k.K} + i)*{L} + lane]]"
    take = [f"w[{at['A'] + v * L} + lane] = state[{place} + {v * k.N * L}] - {k.row('Q', v * k.N)}" for v in range(V)]
    update = []
    for v in range(V):
        high, low = (f"w[{at['HIGH'] + (2 * v + j) * L} + i*{2 * V * L} + lane]" for j in (0, 1))
        update += [f"value = {k.row('WAVES', v)}", f"{high} = select((c == 0) | (value > {high}), value, {high})",
                   f"{low} = select((c == 0) | (value < {low}), value, {low})"]
    body = [*take, *limiter_variables.to_waves(k, ("A", 0, "", 1), [k.row("WAVES", v) for v in range(V)]), *update]
    return [f"for i in range({k.K}):", "    for c in range(around.shape[0]):", *indented(s.lanes(body), 2)]
