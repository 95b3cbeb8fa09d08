"""Blocks of elements or faces of which one temporary fits the processor's cache; on a GPU one block holds all."""

BLOCK_BYTES = 1 << 19          # one temporary of a block; a few dozen of them share the last-level cache


def block_size(backend, count, rows):
    """Columns of a block, of `count`, where one temporary has so many rows."""
    return count if backend.name == "cupy" else max(16, BLOCK_BYTES // (rows * backend.dtype.itemsize))


def columns_at_once(backend, count, rows):
    """How many of `count` columns are worked on at once: a block for every thread."""
    return min(count, backend.threads * block_size(backend, count, rows))
