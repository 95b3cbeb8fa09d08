"""Arrays in tiles of lanes, aligned to cache lines."""
import numpy as np


def aligned(size, dtype):
    """A flat array of zeros that begins at a cache line."""
    dtype = np.dtype(dtype)
    space = np.zeros(size * dtype.itemsize + 64, np.uint8)
    first = -space.ctypes.data % 64
    return space[first:first + size * dtype.itemsize].view(dtype)


def in_tiles(rows, lanes, dtype=None):
    """Rows (row, element) as [tile, row, lane], one flat aligned array; the last tile is filled with the last element."""
    count = -(-rows.shape[1] // lanes)
    result = aligned(count * lanes * len(rows), dtype or rows.dtype)
    tiles, whole = result.reshape(count, len(rows), lanes), rows.shape[1] // lanes
    tiles[:whole] = rows[:, :whole * lanes].reshape(len(rows), whole, lanes).swapaxes(0, 1)
    if whole < count:
        last = rows[:, whole * lanes:]
        tiles[-1, :, :last.shape[1]], tiles[-1, :, last.shape[1]:] = last, last[:, -1:]
    return result
