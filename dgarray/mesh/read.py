"""Meshes from files, through meshio."""
import contextlib
import io
from pathlib import Path

import meshio
import numpy as np

from .errors import MeshError
from .groups import find_groups
from .mesh import CELL_TYPES, build

# Extent in z, relative to the extent in x and y, below which a 2D mesh counts as plane (1D: y and z against x).
FLAT = 1e-9


def read_mesh(path):
    """The mesh in the file `path`, in any format that meshio reads, from lines, triangles or tetrahedra.

    Physical groups, references, markers and sets become region names and, one dimension below, boundary names.
    A mesh at constant z is read as 2D. Cells are counted as in the file, from 0, among those of the highest dimension.
    Raises MeshError, one line with file, place and remedy, for a file that cannot be used; warns with `mesh.notes`."""
    path = Path(path)
    data = _read(path)
    try:
        arrays = _arrays(path, data)
    except MeshError as error:
        raise MeshError(f"{path}: {error}") from None
    return build(**arrays, source=str(path))


def _read(path):
    """The meshio mesh in `path`. meshio ends the process or raises whatever comes on files that it cannot parse."""
    if not path.is_file():
        raise MeshError(f"{path}: {'is a folder, not a mesh file' if path.is_dir() else 'no such file'}")
    said = io.StringIO()
    try:
        if not path.stat().st_size:
            raise MeshError(f"{path}: the file is empty")
        _check_complete(path)
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            return meshio.read(path)
    except MeshError:
        raise
    except (Exception, SystemExit) as error:
        raise MeshError(f"{path}: {_reason(path, error, said.getvalue())}") from error


def _check_complete(path):
    """Refuse Gmsh files that are cut off: meshio reads some of them without complaint."""
    if path.suffix.lower() != ".msh":
        return
    content = path.read_bytes()
    for section in (b"Nodes", b"Elements"):
        if b"$MeshFormat" in content and b"$End" + section not in content:
            raise MeshError(f"{path}: the section {section.decode()} is missing or cut off; write the file again")


def _reason(path, error, said):
    if isinstance(error, OSError) and error.errno:
        return f"cannot be opened: {error.strerror}"
    text = " ".join(f"{said} {'' if isinstance(error, SystemExit) else error}".split()).replace("Error: ", "")
    known = meshio.extension_to_filetypes
    if path.suffix.lower() not in known:
        return f"no reader for {path.suffix or 'files without a suffix'}; allowed: {', '.join(sorted(known))}"
    if "Incompatible cell data" in text:
        return ("only some of the cells are in groups, which meshio cannot read from this format; give every cell a "
                "group, or save only cells in groups (Gmsh: Mesh.SaveAll = 0), or as Gmsh 2.2")
    if "zero-size array" in text or "at least one array" in text:
        return "the file has no cells"
    if "Need mesh format" in text:
        return f"the format version is not known: {text}"
    return (f"not a readable {'/'.join(known[path.suffix.lower()])} file: damaged, cut off, or another format "
            f"({type(error).__name__}: {text[:200] or 'no details'})")


def _arrays(path, data):
    """The arguments of `build` from a meshio mesh."""
    sizes = [len(block.data) for block in data.cells]
    if not sum(sizes):
        raise MeshError("the file has no cells")
    dim = max(block.dim for block, size in zip(data.cells, sizes) if size)
    _check_types({block.type for block, size in zip(data.cells, sizes) if size and block.dim >= max(dim - 1, 1)})
    if dim == 0:
        raise MeshError("the file has points, but no cells; allowed: line, triangle, tetra")
    start = np.cumsum([0, *sizes])
    volume = [k for k, block in enumerate(data.cells) if block.dim == dim and sizes[k]]
    cells = np.concatenate([np.asarray(data.cells[k].data, dtype=np.int64) for k in volume])
    offset = dict(zip(volume, np.cumsum([0] + [sizes[k] for k in volume])))
    regions, notes = find_groups(path, data, dim)
    boundaries, more = find_groups(path, data, dim - 1)
    return {
        "points": _flat(np.asarray(data.points, dtype=np.float64), cells, dim),
        "cells": cells,
        "facets": {name: np.concatenate([data.cells[k].data[inside].astype(np.int64) for k, inside in members])
                   for name, members in boundaries.items()},
        "groups": {name: np.unique(np.concatenate([offset[k] + inside for k, inside in members]))
                   for name, members in regions.items()},
        "elements": np.concatenate([start[k] + 1 + np.arange(sizes[k]) for k in volume]),
        "found": tuple(dict.fromkeys(notes + more)),
    }


def _check_types(types):
    """Refuse cell types other than straight simplices, by name."""
    strange = sorted(types - set(CELL_TYPES.values()) - {"vertex"})
    curved = [name for name in strange if name[-1].isdigit() or name.startswith("VTK_LAGRANGE")]
    if curved:
        raise MeshError(f"curved cells of type {', '.join(map(repr, curved))} are not supported; "
                        "allowed: line, triangle, tetra (write the mesh with straight cells of order 1)")
    if strange:
        raise MeshError(f"cells of type {', '.join(map(repr, strange))} are not supported; "
                        "allowed: line, triangle, tetra (split them into simplices)")


def _flat(points, cells, dim):
    """The first `dim` coordinates of `points`, if the others are constant on all used points."""
    if points.shape[1] < dim:
        raise MeshError(f"{CELL_TYPES[dim]} cells need {dim} coordinates, the points have {points.shape[1]}")
    inside = cells[(cells >= 0) & (cells < len(points))]
    used = points[inside]
    used = used[np.isfinite(used).all(axis=1)]
    extent = np.ptp(used, axis=0) if len(used) else np.zeros(points.shape[1])
    if np.any(extent[dim:] > FLAT * extent[:dim].max()):
        raise MeshError(f"there are no volume cells: the {CELL_TYPES[dim]} cells lie on a "
                        f"{'surface' if dim == 2 else 'curve'} in {points.shape[1]}D "
                        f"({'xyz'[dim]} varies by {extent[dim]:.3g}); allowed: tetra in 3D, triangle at constant z, "
                        "line at constant y and z")
    return points[:, :dim]
