"""Regions of a mesh given by functions of the position."""
import warnings

import numpy as np

from .errors import MeshError, MeshWarning

INWARDS = 1e-6          # share of the way to a cell's centre at which its corners are looked at


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
        inside = np.broadcast_to(inside, count)
        _warn_of_cut_cells(mesh, name, chosen, inside)
        return np.flatnonzero(inside)
    numbers = np.asarray(chosen)
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1 or numbers.size and not 0 <= numbers.min() <= numbers.max() < count:
        raise MeshError(f"region {name!r}: {chosen!r} is not allowed; give a function of x, or numbers of cells from 0 to "
                        f"{count - 1}")
    return np.unique(numbers)


def _warn_of_cut_cells(mesh, name, function, inside):
    """Warn where the function says one thing of a cell's centre and another of a corner, and of a region without cells."""
    corner = mesh.cells >= 0          # in a mesh of several shapes rows are filled up by -1
    places = mesh.points[mesh.cells] + INWARDS * (mesh.centroids[:, None] - mesh.points[mesh.cells])
    found = np.asarray(function(tuple(places.reshape(-1, places.shape[-1]).T)))
    there = np.broadcast_to(found, corner.size).reshape(corner.shape)
    cut = np.flatnonzero((corner & (there != inside[:, None])).any(axis=1))
    if not inside.any():
        note = "no cell's centre is in it"
    elif len(cut):
        at = ", ".join(f"{x:.3g}" for x in mesh.centre(int(cut[0])))
        note = (f"its border cuts {len(cut)} cells, e.g. that at ({at}): a cell belongs to it where its centre does, so "
                "the border moves to faces; for a medium put faces on it")
    else:
        return
    warnings.warn(f"{mesh.source}: region {name!r}: {note}", MeshWarning, stacklevel=5)
