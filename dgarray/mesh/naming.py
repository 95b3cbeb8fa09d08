"""Regions of a mesh given by functions of the position."""
import numpy as np

from .errors import MeshError


def regions(mesh, given):
    """{name: numbers of cells} of new regions; see `Mesh.with_regions`."""
    if not isinstance(given, dict):
        raise MeshError(f"with_regions({given!r}) is not allowed; give {{name: function of x, or numbers of cells}}")
    return {str(name): _cells(mesh, str(name), chosen) for name, chosen in given.items()}


def _cells(mesh, name, chosen):
    """The cells of one region."""
    if name in (*mesh.regions, *mesh.boundaries, *mesh.interfaces):
        raise MeshError(f"{mesh.source} has the name {name!r} already; give another one")
    count = mesh.cell_count
    if callable(chosen):
        inside = np.asarray(chosen(tuple(mesh.centroids.T)))
        if inside.dtype != bool or inside.shape not in ((), (count,)):
            raise MeshError(f"region {name!r}: the function returns {inside.dtype} of the shape {inside.shape}; it must return "
                            f"True or False for each of the {count} places")
        return np.flatnonzero(np.broadcast_to(inside, count))
    numbers = np.asarray(chosen)
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1 or numbers.size and not 0 <= numbers.min() <= numbers.max() < count:
        raise MeshError(f"region {name!r}: {chosen!r} is not allowed; give a function of x, or numbers of cells from 0 to "
                        f"{count - 1}")
    return np.unique(numbers)
