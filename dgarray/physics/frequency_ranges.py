"""Ranges of frequencies in which a sum of terms of a dispersive medium gains energy, or its real part is negative.

`terms` are those of a `dgarray.physics.dispersion.Dispersion`, omega angular frequencies."""
import numpy as np

ROUNDING = 1e-12        # a gain that is smaller than this part of what cancels in it counts as zero


def runs(x, wrong, edges):
    """The ranges (low, high) of sorted x > 0 in which something is wrong, from 0 or to infinity where the first or the last is
    wrong; they end at one of the edges where there is one."""
    changes = np.flatnonzero(np.diff(wrong))
    between = [edges[(edges >= x[i]) & (edges <= x[i + 1])] for i in changes]
    ends = [each[0] if len(each) else np.sqrt(x[i] * x[i + 1]) for i, each in zip(changes, between)]
    ends = [*[0.0] * bool(wrong[0]), *map(float, ends), *[np.inf] * bool(wrong[-1])]
    return list(zip(ends[::2], ends[1::2]))


def said(ranges):
    """Ranges of a positive number in words."""
    def words(low, high):
        if low == 0:
            return "any number" if high == np.inf else f"below {high:.4g}"
        return f"above {low:.4g}" if high == np.inf else f"between {low:.4g} and {high:.4g}"
    return " or ".join(words(*each) for each in ranges)


def gains(terms, omega):
    """Im chi of the sum of terms at frequencies above 0, and where it is positive beyond rounding."""
    if not terms:
        return np.zeros_like(omega), np.zeros(omega.shape, bool)
    with np.errstate(divide="ignore", invalid="ignore"):          # at a pole without damping, whose residue is checked
        parts = np.array([np.broadcast_to(part, omega.shape) for term in terms for part in term.losses(omega)])
        loss, size = parts.sum(axis=0), np.abs(parts).sum(axis=0)
        return -loss / omega, loss < -ROUNDING * size


def loss_frequencies(terms):
    """Frequencies above 0, sorted, between any two zeros of the losses of a sum of terms, and around its poles."""
    widths = np.array([scale for term in terms for scale in term.scales() if scale > 0] or [1.0])
    low, high = widths.min(), widths.max()
    grid = np.geomspace(1e-3 * low, 1e3 * high, 20 * int(np.log10(high / low) + 7))
    around = [center + width * np.linspace(-5, 5, 41) for center, width in (term.scales() for term in terms)]
    omega = np.concatenate([grid, zeros([term.loss_system() for term in terms]), *around, [1e-8 * low, 1e8 * high]])
    omega = np.unique(omega[omega > 0])
    return np.sort(np.concatenate([omega, np.sqrt(omega[1:] * omega[:-1])]))


def zeros(systems, constant=0.0):
    """omega > 0 at which  constant + sum of c (x - A)^-1 b,  x = omega^2, of systems (A, b, c) is zero, or nearly so."""
    from scipy.linalg import eigvals  # which takes long to import

    systems = [system for system in systems if np.any(system[2])]
    size = sum(len(b) for _, b, _ in systems)
    if not size:
        return np.empty(0)
    pencil, start = np.zeros((size + 1, size + 1)), 0
    for A, b, c in systems:
        block = slice(start, start + len(b))
        pencil[block, block], pencil[block, -1], pencil[-1, block] = A, b, c
        start += len(b)
    scale = np.abs(pencil[:-1, :-1]).max() or 1.0
    pencil[:-1, :-1] /= scale
    pencil[-1, -1] = constant * scale
    pencil[-1] /= np.abs(pencil[-1]).max()
    found = eigvals(pencil, np.diag([*np.ones(size), 0.0]))
    squares = scale * found.real[np.isfinite(found)]
    return np.sqrt(squares[squares > 0])
