"""Text of the changes of variables for limiting at order 1 on a tile: primitive variables, and waves of the mean state.

Each returns lines before and lines after: from the state to the linear functions, rows U (variable, 1 + slope), and from the
limited ones back to the state, in the lanes where something is limited (row CHANGED)."""


def combined(k, values, rows):
    """Text of sum_i values_i row_i."""
    return " + ".join(f"{k.tile.dialect.literal(float(value))}*{row}" for value, row in zip(values, rows))


def at_mean(k):
    """Lines of one lane that put the mean state into the rows MEAN."""
    unit = k.tile.dialect.literal(k.limits.unit)
    return [f"{k.row('MEAN', v)} = {k.row('Q', v * k.N)}*{unit}" for v in range(k.V)]


def where_changed(k, target, value):
    """A line of one lane that gives the target the value where something is limited."""
    return f"{target} = select({k.row('CHANGED', 0)} > {k.tile.dialect.literal(0.0)}, {value}, {target})"


def primitive(k):
    """By values at the vertices, rows NODES (variable, vertex); the mean is that of the mean state."""
    s, V, K = k.tile, k.V, k.K
    to_nodes, to_modes = k.limits.reference.nodal, k.limits.inverse_nodal
    modes = [0, *k.limits.linear.tolist()]
    nodes, linear, state = ([[k.row(name, v * count + i) for i in places] for v in range(V)] for name, count, places in (
        ("NODES", K, range(K)), ("U", K, range(K)), ("Q", k.N, modes)))

    def at_vertices(function, name, rows):
        lines = []
        for i, place in enumerate(to_nodes[:, modes]):
            lines += [f"{nodes[v][i]} = {combined(k, place, rows[v])}" for v in range(V)]
            lines += s.evaluate(function, [nodes[v][i] for v in range(V)], **{name: ("NODES", i, "", K)}, m=("P", 0, "", 1))
        return lines
    before = [*at_mean(k), *at_vertices(k.limits.primitive, "q", state), *primitive_means(k, [u[0] for u in linear]),
              *(f"{linear[v][j]} = {combined(k, to_modes[modes[j]], nodes[v])}" for v in range(V) for j in range(1, K))]
    after = at_vertices(k.limits.conservative, "w", linear)
    for v in range(V):
        for j in range(1, K):
            after += [f"value = {combined(k, to_modes[modes[j]], nodes[v])}", where_changed(k, state[v][j], "value")]
    return s.lanes(before), s.lanes(after)


def keep_primitive_means(k):
    """Lines that keep the primitive variables of the mean state, as coefficients of mode 0."""
    return k.tile.lanes([*at_mean(k), *primitive_means(k, [k.row("KEPT", v) for v in range(k.V)])])


def primitive_means(k, targets):
    unit = k.tile.dialect.literal(1 / k.limits.unit)
    lines = k.tile.evaluate(k.limits.primitive, targets, q=("MEAN", 0, "", 1), m=("P", 0, "", 1))
    return [*lines, *(f"{target} *= {unit}" for target in targets)]


def waves(k):
    """By the eigenvectors of the mean state along the direction of the density's gradient, rows DIRECTION."""
    s, d, V, K = k.tile, k.d, k.V, k.K
    modes = k.limits.linear.tolist()
    slopes = k.limits.derivatives[:, 0, k.limits.linear] * k.limits.unit
    at = {"mean": ("MEAN", 0, "", 1), "n": ("DIRECTION", 0, "", 1), "m": ("P", 0, "", 1)}
    before = [*at_mean(k), *(f"along{i} = {combined(k, row, [k.row('Q', mode) for mode in modes])}"
                             for i, row in enumerate(slopes))]
    for c in range(d):
        before.append(f"{k.row('ALONG', c)} = " + " + ".join(f"{k.row('G', i * d + c)}*along{i}" for i in range(d)))
    before += s.evaluate(k.limits.direction, [k.row("DIRECTION", c) for c in range(d)], g=("ALONG", 0, "", 1))
    after = []
    for j, mode in enumerate(modes):
        before += to_waves(k, ("Q", mode, "", k.N), [k.row("U", v * K + 1 + j) for v in range(V)])
        after += s.evaluate(k.limits.from_characteristic, [k.row("WAVES", v) for v in range(V)], w=("U", 1 + j, "", K), **at)
        after += [where_changed(k, k.row("Q", v * k.N + mode), k.row("WAVES", v)) for v in range(V)]
    return s.lanes(before), s.lanes(after)


def to_waves(k, place, targets):
    """Lines of one lane that take a difference of states to its waves."""
    return k.tile.evaluate(k.limits.characteristic, targets, q=place, mean=("MEAN", 0, "", 1), n=("DIRECTION", 0, "", 1),
                           m=("P", 0, "", 1))


CHANGES = {"conserved": lambda k: ([], []), "primitive": primitive, "characteristic": waves}
