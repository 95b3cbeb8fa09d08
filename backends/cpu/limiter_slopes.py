"""Text of the slopes' limiting at order 1 on a tile, across faces and around vertices.  Offsets of rows are literals, which
makes the loops over lanes vector code."""
from . import limiter_variables
from .nodal_source import indented


def rows(k):
    """Rows of the scratch array, {name: how many}; k: the LimiterSource."""
    d, V, K = k.d, k.V, k.K
    result = {"JUMP": len(k.sensed), "HIGH": V * (2 * K if k.vertex else 1), "LOW": V}
    if not k.vertex or k.variables == "characteristic":
        result["A"] = V * K
    if k.variables == "primitive":
        result |= {"MEAN": V, "U": V * K, "NODES": V * K}
    if k.variables == "characteristic":
        result |= {"MEAN": V, "DIRECTION": d, "ALONG": d, "U": V * K, "WAVES": V}
    return result


def limit(k):
    """Lines that limit the slopes of a tile, and the names of the arrays that they need: the room that each variable has above
    and below the mean, then its share."""
    before, after = limiter_variables.CHANGES[k.variables](k)
    if k.vertex and k.variables == "characteristic":
        names, room = ["around", "vertices", "outer"], waves_around(k)
    elif k.vertex:
        names, places = ["extremes", "vertices", "outer"], range(k.K)
        room = [f"gather_extremes(extremes, {k.L}, vertices, (tile*{k.K} + {i})*{k.L}, w, "
                f"{k.tile.at['HIGH'] + 2 * k.V * i * k.L})" for i in places]
    else:
        names, room = ["across", "outer_start", "outer_lanes", "outer_faces"], across(k)
    share = share_around(k) if k.vertex else share_across(k)
    clear = k.tile.lanes([f"{k.row('CHANGED', 0)} = {k.tile.dialect.literal(0.0)}"])
    done = [*count_changed(k), "if touched > 0:", "    changed = True", *indented(after)]
    return [*clear, *before, *room, *share, *done], names


def parts(k, v):
    """The mean that changes are counted from, and the slopes, of a variable: texts of one lane."""
    if k.variables == "conserved":
        return k.row("Q", v * k.N), [k.row("Q", v * k.N + mode) for mode in k.limits.linear]
    mean = k.tile.dialect.literal(0.0) if k.variables == "characteristic" else k.row("U", v * k.K)
    return mean, [k.row("U", v * k.K + 1 + i) for i in range(k.d)]


def sensed(k, share):
    """Lines after which a share is 1 where the state is smooth."""
    return [f"{share} = {share} if {k.row('SENSE', 0)} > {k.tile.dialect.literal(0.0)} else {k.tile.dialect.literal(1.0)}"
            ] if k.sensed else []


def used(k, slopes):
    """Lines that take the share of the slopes, and mark where it is less than 1."""
    one, changed = k.tile.dialect.literal(1.0), k.row("CHANGED", 0)
    return [*sensed(k, "share"), *(f"{slope} *= share" for slope in slopes),
            f"{changed} = {one} if share < {one} else {changed}"]


def count_changed(k):
    """Lines that count the lanes where something is limited, `touched`."""
    return ["touched = 0", *k.tile.lanes([f"touched += {k.row('CHANGED', 0)} > {k.tile.dialect.literal(0.0)}"])]


def across(k):
    """Lines that gather what the neighbours have, find the room above and below the mean, and then look again at the elements
    at the boundary."""
    L, V, s, number = k.L, k.V, k.tile, k.tile.dialect.literal
    array, stride, _ = k.source_of_means
    lines = [f"collect({array}, {stride}, across, (tile*{k.K} + {f})*{L}, w, {s.at['A'] + f * V * L})"
             for f in range(k.K)]
    if k.variables == "characteristic":
        for f in range(k.K):
            lines += s.lanes([*(f"{k.row('A', f * V + v)} -= {k.row('Q', v * k.N)}" for v in range(V)),
                              *limiter_variables.to_waves(k, ("A", f * V, "", 1),
                                                          [k.row("A", f * V + v) for v in range(V)])])
    zero, unit = number(0.0), number(k.limits.unit)
    for v in range(V):
        body = [f"mean, high, low = {parts(k, v)[0]}, {zero}, {zero}"]
        for f in range(k.K):
            body += [f"change = {k.row('A', f * V + v)} - mean", "high = change if change > high else high",
                     "low = change if change < low else low"]
        lines += s.lanes([*body, f"{k.row('HIGH', v)}, {k.row('LOW', v)} = high*{unit}, low*{unit}"])
    return [*lines, *mirrored(k)]


def changes(k, point):
    """Text of the change at a point where the linear modes have these values."""
    return " + ".join(f"{k.tile.dialect.literal(float(value))}*c{i}" for i, value in enumerate(point))


def mirrored(k):
    """Lines that put the room again for elements with faces at the boundary."""
    L, V, at, number = k.L, k.V, k.tile.at, k.tile.dialect.literal
    zero, unit = number(0.0), number(k.limits.unit)
    mean = {"conserved": f"w[{at['Q']} + v*{k.N * L} + lane]", "characteristic": zero,
            "primitive": f"w[{at.get('U')} + v*{k.K * L} + lane]"}[k.variables]
    change = f"change = w[{at['A']} + (f*{V} + v)*{L} + lane] - {mean}"
    return ["for place in range(outer_start[tile], outer_start[tile + 1]):", "    lane = outer_lanes[place]",
            f"    for v in range({V}):", f"        high = low = {zero}", f"        for f in range({k.K}):",
            f"            {change}", "            high, low = max(high, change), min(low, change)",
            "        above, below = -low, high",
            f"        for f in range({k.K}):", f"            {change}",
            f"            outer = outer_faces[place*{k.K} + f]",
            "            above = min(above, -low if outer else -change)",
            "            below = min(below, high if outer else change)",
            f"        w[{at['HIGH']} + v*{L} + lane] = max(high, above)*{unit}",
            f"        w[{at['LOW']} + v*{L} + lane] = min(low, -below)*{unit}"]


def share_across(k):
    """Lines that limit each variable: of high/top and low/bottom, where they are below 1, the smaller, by one division.

    Which it is is found from products: where these underflow, below the square root of the smallest number, it may be the
    other."""
    number, lines = k.tile.dialect.literal, []
    zero, one = number(0.0), number(1.0)
    for v in range(k.V):
        slopes = parts(k, v)[1]
        body = [f"high, low, top, bottom = {k.row('HIGH', v)}, {k.row('LOW', v)}, {zero}, {zero}",
                *(f"c{i} = {slope}" for i, slope in enumerate(slopes))]
        for point in k.limits.check:
            body += [f"change = {changes(k, point)}", "top = change if change > top else top",
                     "bottom = change if change < bottom else bottom"]
        lines += k.tile.lanes([
            *body, "over, under = top > high, bottom < low", "below = under & ((low*top >= high*bottom) | (top <= high))",
            "room, change = (low if below else high), (bottom if below else top)",
            f"share = room/(change if over | under else {one}) if over | under else {one}", *used(k, slopes)])
    return lines


def share_around(k):
    """Lines that limit each variable by the extremes around the vertices, rows HIGH: (place, variable, high and low)."""
    lines = []
    for v in range(k.V):
        mean, slopes = parts(k, v)
        body = [f"mean = {mean}", *(f"c{i} = {slope}" for i, slope in enumerate(slopes)),
                *share_at_vertices(k, [(k.row("HIGH", 2 * (i * k.V + v)), k.row("HIGH", 2 * (i * k.V + v) + 1))
                                       for i in range(k.K)])]
        lines += k.tile.lanes([*body, *used(k, slopes)])
    return lines


def share_at_vertices(k, extremes):
    """Lines of one lane that find the share of the slopes c0, c1, .. about `mean` from (largest, least) around each vertex: at
    every vertex from those around it, at the points of faces from those around all vertices."""
    one = k.tile.dialect.literal(1.0)
    lines, each = room_of_element(k) if k.options.at_faces else room_at_vertices(k)
    lines = [*(f"high{i}, low{i} = {high} - mean, {low} - mean" for i, (high, low) in enumerate(extremes)), *lines]
    lines.append(f"share = {one}")
    for i, point in enumerate(k.limits.check):
        lines += [*each(i), f"change = {changes(k, point)}", "over, under = change > high, change < low",
                  f"room = high if over else (low if under else {one})",
                  f"here = room/(change if over | under else {one})", "share = here if here < share else share"]
    return lines


def outer(k, i):
    """Text of one lane: 0 inside the mesh, 1 where a vertex is at the boundary, 2 where no other element is around it."""
    return f"outer[(tile*{k.K} + {i})*{k.L} + lane]"


def room_at_vertices(k):
    """Lines before those at all vertices, and lines of a vertex, that find the room `high` and `low` there."""
    zero, unit = (k.tile.dialect.literal(value) for value in (0.0, k.limits.unit))
    return farthest(k), lambda i: [f"mirrored = {outer(k, i)} > {zero}", f"high = (most if mirrored else high{i})*{unit}",
                                   f"low = (-most if mirrored else low{i})*{unit}"]


def room_of_element(k):
    """The same, the room being that of all points of the element."""
    zero, one, unit = (k.tile.dialect.literal(value) for value in (0.0, 1.0, k.limits.unit))
    lines = [*farthest(k), f"high, low, above, below, sides = high0, low0, most, most, {zero}"]
    for i in range(k.K):
        lines += [f"high = high{i} if high{i} > high else high", f"low = low{i} if low{i} < low else low",
                  f"side = {outer(k, i)}", "sides += side", f"among = side <= {one}",
                  f"above = -low{i} if among & (-low{i} < above) else above",
                  f"below = high{i} if among & (high{i} < below) else below"]
    return [*lines, f"mirrored = sides > {zero}", f"high = (above if mirrored & (above > high) else high)*{unit}",
            f"low = (-below if mirrored & (-below < low) else low)*{unit}"], lambda i: []


def farthest(k):
    """Lines that find `most`, the largest distance from the mean to an average around a vertex."""
    return [f"most = {k.tile.dialect.literal(0.0)}",
            *(line for i in range(k.K) for line in (f"most = high{i} if high{i} > most else most",
                                                    f"most = -low{i} if -low{i} > most else most"))]


def waves_around(k):
    """Lines that find the largest and least waves from the mean to the averages around each vertex, rows HIGH as above."""
    s, L, V, at = k.tile, k.L, k.V, k.tile.at
    place = f"around[c, vertices[(tile*{k.K} + i)*{L} + lane]]"
    take = [f"w[{at['A'] + v * L} + lane] = state[{place} + {v * k.N * L}] - {k.row('Q', v * k.N)}" for v in range(V)]
    update = []
    for v in range(V):
        high, low = (f"w[{at['HIGH'] + (2 * v + j) * L} + i*{2 * V * L} + lane]" for j in (0, 1))
        update += [f"value = {k.row('WAVES', v)}", f"{high} = value if (c == 0) | (value > {high}) else {high}",
                   f"{low} = value if (c == 0) | (value < {low}) else {low}"]
    body = [*take, *limiter_variables.to_waves(k, ("A", 0, "", 1), [k.row("WAVES", v) for v in range(V)]), *update]
    return [f"for i in range({k.K}):", "    for c in range(around.shape[0]):", *indented(s.lanes(body), 2)]
