"""Check the memory that a mesh needs before it is made."""
from ..system_memory import host_free
from .errors import MeshError

# Bytes that a cell takes at the peak while a mesh is built, by dimension: measured by tracemalloc, and held by a test.
BYTES = {1: 340, 2: 640, 3: 1350}


def check_room(source, cells, dim):
    """Raise MeshError if a mesh of so many cells needs more memory than is free."""
    cells, free = float(min(cells, 10**300)), host_free()
    if free is not None and cells * BYTES[dim] > free:
        raise MeshError(f"{source} would have {cells:.4g} cells, which take about {cells * BYTES[dim] / 2**30:.3g} GiB of "
                        f"memory to be made, but only {free / 2**30:.3g} GiB are free; take fewer")
