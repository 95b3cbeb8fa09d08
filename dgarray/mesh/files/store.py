"""A mesh in a zarr store: checked, ordered and connected, perhaps cut into parts, and read without being loaded.

Arrays of the store are not compressed, and each is one chunk, so its file is the array itself. Who reads the mesh maps these
files into memory. Then memory holds what is looked at, once for all processes of a machine.
"""
from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...reference import reference_cell
from ..absorbing import layers
from ..errors import MeshError
from ..faces import Neighbours
from ..mesh import Mesh
from ..partition import balanced
from ..refine.hanging import Hanging

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import ArrayLike

FORMAT, VERSION = "dgarray mesh", 1
LAYERS = {kind.__name__: kind for kind in (layers.BoxLayer, layers.RoundLayer)}
NAMED = "boundaries", "interfaces", "regions"
ORDER = 3           # a cell costs its nodes at this order,
CURVED = 4          # and so often the time of a straight one where it is curved, see docs/performance.md


def write_mesh(mesh: Mesh, path: str | PathLike, parts: int | None = None, costs: ArrayLike | None = None,
               overwrite: bool = False) -> None:
    """Write a mesh to a zarr store, from which `read_mesh` reads it at once: it is checked, ordered and connected already, and
    memory holds only what is looked at, once for all processes of a machine.

        dgarray.write_mesh(dgarray.box(cells=100), "box.zarr", parts=64)
        mesh = dgarray.read_mesh("box.zarr")

    path       of the store, with the suffix .zarr
    parts      for how many ranks of a run the mesh is cut, by METIS; None: a run does that at its beginning
    costs      (cell,) what each cell costs beside others; by default its nodes at order 3, four times as many if it is curved
    overwrite  whether a mesh that is there is replaced
    Raises MeshError for a part of a mesh, for numbers of parts and costs that are not allowed, and for a path that is taken or
    cannot be written; ImportError where `parts` are asked for and pymetis is missing. Karypis & Kumar 1998."""
    if not isinstance(mesh, Mesh):
        raise MeshError(f"write_mesh({mesh!r}) is not allowed; give a mesh of cells")
    if not isinstance(path, (str, os.PathLike)) or "\0" in os.fspath(path):
        raise MeshError(f"write_mesh(path={path!r}) is not allowed; give the name of a store, such as 'mesh.zarr'")
    path = Path(path)
    if mesh.share is not None:
        raise MeshError(f"{mesh.source} is a part of a mesh; write the whole mesh")
    if costs is not None and parts is None:
        raise MeshError("costs are given without parts; give both")
    if path.suffix != ".zarr":
        raise MeshError(f"{path} is not allowed; the store of a mesh has the suffix .zarr")
    if os.path.lexists(path) and not (overwrite and is_mesh_store(path)):
        what = "overwrite it, or " if is_mesh_store(path) else "it is no store of a mesh; "
        raise MeshError(f"{path} exists; {what}take another name")
    if not path.parent.is_dir():
        raise MeshError(f"{path} cannot be written: there is no folder {path.parent}")
    arrays = arrays_of(mesh)
    if parts is not None:
        arrays["owner"] = owners(mesh, parts, costs)
    facts = {"format": FORMAT, "version": VERSION, "parts": parts, "notes": list(mesh.notes),
             "source": mesh.source, "names": {each: list(getattr(mesh, each)) for each in NAMED},
             "periods": [[*names, list(map(float, move))] for *names, move in mesh.periods],
             "layers": [[type(layer).__name__, asdict(layer)] for layer in mesh.layers]}
    aside = path.with_name(f".{os.getpid()}")
    try:
        write(aside, arrays, facts)
        there = Path(os.path.realpath(path))          # behind a link
        shutil.rmtree(there, ignore_errors=True)
        os.replace(aside, there)
    except OSError as error:
        raise MeshError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def owners(mesh, parts, costs=None):
    """The part of each cell, (cell,): so many parts of about the same cost; arguments as of `write_mesh`."""
    if isinstance(parts, bool) or not isinstance(parts, (int, np.integer)) or not 1 <= parts <= mesh.cell_count:
        raise MeshError(f"{mesh.source} cannot be cut into {parts!r} parts; allowed: 1 to {mesh.cell_count}, its number of "
                        "cells")
    try:
        costs = usual_costs(mesh) if costs is None else np.asarray(costs, float)
    except (TypeError, ValueError):          # words, lists of different lengths
        costs = np.zeros(0)
    if costs.shape != (mesh.cell_count,) or not (costs > 0).all() or not np.isfinite(costs).all():
        raise MeshError(f"costs must be {mesh.cell_count} positive numbers, what each cell of {mesh.source} costs")
    return balanced(mesh, int(parts), costs).astype(np.int32)


def usual_costs(mesh):
    """Relative cost of each cell, (cell,), for any method: its nodes at order `ORDER`, times `CURVED` where it is curved."""
    nodes = [len(reference_cell(block.cell_shape, ORDER).nodes) * np.where(block.is_curved, CURVED, 1) for block in mesh.blocks]
    return np.concatenate(nodes).astype(float)


def arrays_of(mesh):
    """{name: array} of all that a mesh holds."""
    found = {"points": mesh.points, "cells": mesh.cells, "numbers": mesh.numbers, "glued": mesh.glued,
             **{f"neighbours/{field.name}": getattr(mesh.neighbours, field.name) for field in fields(Neighbours)},
             **{f"hanging/{field.name}": getattr(mesh.hanging, field.name) for field in fields(Hanging)}}
    if mesh.geometry_nodes is not None:
        found["geometry_nodes"] = mesh.geometry_nodes
    for each in NAMED:          # by number, since names may have any characters
        found |= {f"{each}/{number}": rows for number, rows in enumerate(getattr(mesh, each).values())}
    return found


def write(path, arrays, facts):
    """Write the store: arrays as they are in memory, `facts` as attributes."""
    import zarr
    group = zarr.open_group(path, mode="w", zarr_format=3)
    for name, array in arrays.items():
        array = np.ascontiguousarray(array).astype(np.asarray(array).dtype.newbyteorder("<"), copy=False)
        made = group.create_array(name, shape=array.shape, dtype=array.dtype, chunks=tuple(max(1, n) for n in array.shape),
                                  compressors=None, filters=None, config={"write_empty_chunks": True})
        if array.size:
            made[...] = array
    group.attrs.update(facts)


def is_mesh_store(path):
    """Whether there is a store of a mesh at `path`."""
    try:
        found = json.loads((Path(path) / "zarr.json").read_text())
    except (OSError, ValueError):          # nothing there, or no JSON
        return False
    return isinstance(found, dict) and (found.get("attributes") or {}).get("format") == FORMAT


def read(path):
    """The mesh in the store at `path`, whose arrays are files that are mapped into memory.

    Raises MeshError for a store of another version and for one that is damaged."""
    import zarr
    try:
        group = zarr.open_group(path, mode="r")
        facts = dict(group.attrs)
        if facts["version"] != VERSION:
            raise MeshError(f"{path} has version {facts['version']} of the format, this dgarray reads {VERSION}; write it "
                            "again")
        arrays = {name: mapped(Path(path) / name, each) for name, each in group.members(max_depth=None)
                  if isinstance(each, zarr.Array)}
        named = {each: {name: arrays[f"{each}/{number}"] for number, name in enumerate(facts["names"][each])} for each in NAMED}
        parts = {kind: kind(**{field.name: arrays[f"{name}/{field.name}"] for field in fields(kind)})
                 for name, kind in (("neighbours", Neighbours), ("hanging", Hanging))}
        return Mesh(
            arrays["points"], arrays["cells"], named["boundaries"], named["regions"], arrays["numbers"], parts[Neighbours],
            tuple(facts["notes"]), facts["source"], arrays["glued"],
            tuple((*names, tuple(move)) for *names, move in facts["periods"]), hanging=parts[Hanging],
            geometry_nodes=arrays.get("geometry_nodes"), interfaces=named["interfaces"], owner=arrays.get("owner"),
            layers=tuple(LAYERS[kind](**{name: as_tuple(value) for name, value in values.items()})
                         for kind, values in facts["layers"]))
    except MeshError:
        raise
    except Exception as error:
        raise MeshError(f"{path} is damaged ({type(error).__name__}: {error}); write it again") from error


def as_tuple(value):
    """Lists of JSON, also those in others, as tuples."""
    return tuple(map(as_tuple, value)) if isinstance(value, list) else value


def mapped(path, array):
    """The numbers of a zarr array at `path`, mapped into memory from the file of its one chunk."""
    if not array.size:
        return np.empty(array.shape, array.dtype)
    file = path.joinpath("c", *"0" * array.ndim)
    size = file.stat().st_size if file.is_file() else 0
    if size != array.nbytes:
        raise MeshError(f"{file} has {size} bytes, not {array.nbytes}; the mesh is damaged, write it again")
    return np.asarray(np.memmap(file, array.dtype, "r", shape=array.shape))
