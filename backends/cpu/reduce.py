"""Reductions over the whole state."""
import numba
import numpy as np
from numba import njit, prange


@njit(parallel=True, nogil=True, cache=True, fastmath={"reassoc", "contract"}, error_model="numpy")
def zero_times_sum(q, chunks):
    """Sum of 0 * q: 0, or NaN where a value is not finite."""
    partial = np.zeros(chunks, q.dtype)
    for c in prange(chunks):
        s = q[0] * 0
        for i in range(c * len(q) // chunks, (c + 1) * len(q) // chunks):
            s += q[i] * 0
        partial[c] = s
    return partial.sum()


def total(q, threads):
    numba.set_num_threads(threads)
    return zero_times_sum(q, threads if q.size > 50000 else 1)
