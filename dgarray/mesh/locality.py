"""An order of points in space in which neighbours in the list are neighbours in space."""
import numpy as np


def hilbert_order(points, bits=16):
    """Permutation that sorts `points` (n, dim) along the Hilbert curve; ties keep their order. Skilling 2004."""
    dim = points.shape[1]
    if dim == 1:
        return np.argsort(points[:, 0], kind="stable")
    low = points.min(axis=0)
    extent = max(float((points.max(axis=0) - low).max()), np.finfo(float).tiny)
    x = ((points - low) / extent * (2**bits - 1)).astype(np.int64).T.copy()
    _axes_to_transpose(x, bits)
    key = np.zeros(len(points), dtype=np.int64)
    for bit in range(bits - 1, -1, -1):
        for axis in range(dim):
            key = (key << 1) | ((x[axis] >> bit) & 1)
    return np.argsort(key, kind="stable")


def _axes_to_transpose(x, bits):
    """Turn coordinates (axis, point) into the transposed Hilbert index, in place. Skilling 2004, figure 1."""
    dim = len(x)
    for level in range(bits - 1, 0, -1):
        low_bits = (1 << level) - 1
        for axis in range(dim):
            high = (x[axis] >> level) & 1 == 1
            swap = np.where(high, 0, (x[0] ^ x[axis]) & low_bits)
            x[0] ^= np.where(high, low_bits, swap)
            x[axis] ^= swap
    for axis in range(1, dim):
        x[axis] ^= x[axis - 1]
    correction = np.zeros_like(x[0])
    for level in range(bits - 1, 0, -1):
        correction ^= np.where((x[-1] >> level) & 1 == 1, (1 << level) - 1, 0)
    x ^= correction
