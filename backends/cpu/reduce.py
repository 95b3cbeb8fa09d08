"""Reductions over the whole state."""
import numpy as np
from numba import njit

PIECE = 1 << 16


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"}, error_model="numpy")
def zero_times_sum(q):
    """Sum of 0 * q: 0, or NaN where a value is not finite."""
    s = q[0] * 0
    for value in q:
        s += value * 0
    return s


def all_finite(q, workers):
    """Whether every value of the flat array q is finite."""
    pieces = -(-q.size // PIECE)
    sums = np.zeros(pieces)

    def task(piece, _):
        sums[piece] = zero_times_sum(q[piece * PIECE:(piece + 1) * PIECE])
    workers.run(task, pieces)
    return bool(np.isfinite(sums).all())
