"""Check the memory that a mesh needs before it is made."""
from ..support.system_memory import host_free
from .errors import MeshError

# Bytes that a cell takes at the peak while a mesh is built, by dimension: measured by tracemalloc, and held by tests. First
# those of a simplex, then those of a quadrilateral or hexahedron.
BYTES = {1: 310, 2: 640, 3: 1350}
TENSOR_BYTES = {2: 880, 3: 2580}


def check_room(source, cells, dim, simplex=True):
    """Raise MeshError if a mesh of so many cells needs more memory than is free."""
    cells, free = float(min(cells, 10**300)), host_free()
    need = cells * (BYTES if simplex else TENSOR_BYTES)[dim]
    if free is not None and need > free:
        raise MeshError(f"{source} would have {cells:.4g} cells, which need about {need / 2**30:.3g} GiB of "
                        f"memory, but only {free / 2**30:.3g} GiB are free; take fewer")
