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


def check_factors(law, what):
    """Raise ValueError where the capacity of a law is a matrix; what: needs factors, for the message."""
    if law.capacity is not None:
        ones = SimpleNamespace(**dict.fromkeys(law.parameters, 1.0))
        if is_matrix(call(law.capacity, dict(m=ones), "capacity")):
            raise ValueError(f"{what} needs a law whose variables have a capacity each, but that of {law!r} is a matrix; "
                             "give tensors along the axes, or take upwind or central fluxes with NodalDG, ModalDG or TensorDG")
