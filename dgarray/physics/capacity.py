"""The capacity C of a law in C dq/dt + div F = s: one factor for each variable, or a row of the symmetric matrix C.

A variable whose entry is a number c has the row (0, ..., c, ..., 0).
"""
from types import SimpleNamespace

from .trace import call


def is_matrix(C):
    """Whether any entry of a capacity is a row."""
    return any(isinstance(entry, tuple) for entry in C)


def rows_of(C):
    """All entries as rows."""
    return [entry if isinstance(entry, tuple) else tuple(entry if i == v else 0.0 for i in range(len(C)))
            for v, entry in enumerate(C)]


def diagonal(C):
    """The entries on the diagonal."""
    return tuple(entry[v] if isinstance(entry, tuple) else entry for v, entry in enumerate(C))


def times(C, q):
    """C q."""
    return tuple(sum(c * u for c, u in zip(entry, q) if not is_zero(c)) if isinstance(entry, tuple) else entry * q[v]
                 for v, entry in enumerate(C))


def over(C, r):
    """C^-1 r, of a matrix by elimination without a choice of pivots, as it is positive definite."""
    if not is_matrix(C):
        return tuple(a / c for a, c in zip(r, C))
    rows, r, count = [list(row) for row in rows_of(C)], list(r), len(C)
    inverse = [0.0] * count
    for k in range(count):
        inverse[k] = 1 / rows[k][k]
        for i in range(k + 1, count):
            if not is_zero(rows[i][k]):
                factor = rows[i][k] * inverse[k]
                r[i] = r[i] - factor * r[k]
                for j in range(k + 1, count):
                    if not is_zero(rows[k][j]):
                        rows[i][j] = rows[i][j] - factor * rows[k][j]
    for k in reversed(range(count)):
        known = sum(rows[k][j] * r[j] for j in range(k + 1, count) if not is_zero(rows[k][j]))
        r[k] = (r[k] - known) * inverse[k]
    return tuple(r)


def is_zero(c):
    """Whether an entry is the number 0, which is left out of sums."""
    return isinstance(c, float | int) and c == 0


def named(C, variables):
    """{name: entry}: C_v of the factor of the variable v, C_v,w of the entries of its row that may differ from zero."""
    found = {}
    for v, entry in zip(variables, C):
        row = {f"C_{v},{w}": c for w, c in zip(variables, entry) if not is_zero(c)} if isinstance(entry, tuple) else {
            f"C_{v}": entry}
        found |= row
    return found


def check_factors(law, what):
    """Raise ValueError where the capacity of a law is a matrix; what: that which needs factors, for the message."""
    if law.capacity is not None and is_matrix(with_ones(law)):
        raise ValueError(f"{what} needs a law whose variables have a capacity each, but that of {law!r} is a matrix; "
                         "give tensors along the axes, or take upwind or central fluxes with NodalDG, ModalDG or TensorDG")


def with_ones(law):
    """The capacity of a law with ones as its parameters."""
    return call(law.capacity, dict(m=SimpleNamespace(**dict.fromkeys(law.parameters, 1.0))), "capacity")
