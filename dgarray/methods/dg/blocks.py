"""Sizes of blocks of elements or faces, so that one temporary of a block fits the processor's cache; a GPU has one block."""

BLOCK_BYTES = 1 << 19          # one temporary of a block; a few dozen of them share the last-level cache


def block_size(backend, count, rows):
    """Number of columns in a block whose temporaries have `rows` rows; on a GPU all columns, `count`."""
    return max(count, 1) if backend.name == "cupy" else max(16, BLOCK_BYTES // (rows * backend.dtype.itemsize))
