"""Parts of a run's dataset as datasets of their own: the fields on a named boundary, and what a recorder kept."""
import json

import numpy as np
import xarray as xr

from dgarray.analysis.record_origin import ATTRIBUTES, origin_of_text
from dgarray.output.dataset import RESERVED, naming, variables_of
from dgarray.output.evaluation import at_time, by_snapshot
from dgarray.output.grid_layout import SUFFIX
from dgarray.spaces.curved_surface import simplex_surface
from dgarray.spaces.mixed_faces_surface import MixedFacesSurface
from dgarray.spaces.tensor_surface import TensorSurface
from dgarray.support.wording import choose

LAYOUT = ("dim", "order", "nodes")
OF_BOUNDARY = ("boundary", "field", "incident", "window", *ATTRIBUTES)          # of a record
OF_FIELDS = {"largest": ("largest", "largest_at_end"), "areas": ("area", "area_after")}          # of transforms
OF_WAVES = ("pulse_mean", "pulse_end")          # of a run, see `dgarray.analysis.incident_waves.passage`
PLACES = ("lower", "upper", "cells", "periodic")          # of a grid


def boundaries(ds):
    """{name: (face, 2) rows (position of the element, local face)} of the named boundaries that the elements of the dataset
    have; white space in names has become _."""
    if "boundary" not in ds.coords:
        return {}
    rows, here = faces_here(ds)
    found = {name: rows[inside[here]] for name, inside in members(ds["boundary"]).items()}
    return {name: faces for name, faces in found.items() if len(faces)}


def faces_here(ds):
    """(Rows (position of the element, local face) of the named faces, which of them these are), without those of elements that
    a selection has left out.

    Raises ValueError where a store of an earlier version, which has no numbers of elements, cannot say which they are."""
    faces = ds["boundary_faces"]
    if "element" in faces.dims:          # xr.concat of selections repeats what they have in common
        faces = faces.isel(element=0)
    with np.errstate(invalid="ignore"):
        faces = np.rint(faces.values).astype("int64").reshape(-1, 2)          # `ds.astype` makes them float
    count = ds.sizes["element"]
    if "element_number" not in ds.variables:
        if len(faces) and faces[:, 0].max() >= count:
            raise ValueError(f"boundary_faces names the element {faces[:, 0].max()} of {count}; this selection of elements "
                             "goes on without the boundary: ds.drop_vars(['boundary_faces', 'boundary'])")
        return faces, np.arange(len(faces))
    numbers = ds["element_number"].values
    order = np.argsort(numbers, kind="stable")
    place = order[np.searchsorted(numbers, faces[:, 0], sorter=order).clip(max=count - 1)] if count else faces[:0, 0]
    here = np.flatnonzero(numbers[place] == faces[:, 0]) if count else place
    return np.column_stack([place[here], faces[here, 1]]), here


def regions(ds):
    """{name: numbers of its elements} of the regions; white space in names has become _."""
    if "region" not in ds.coords:
        return {}
    return {name: np.flatnonzero(inside) for name, inside in members(ds["region"]).items() if name != "none"}


def members(flags):
    """{name: whether each entry belongs to it} of CF flags. An entry may belong to several names: each flag means all the names
    in which its meaning can be split."""
    names = [meaning.split("+") for meaning in flags.attrs["flag_meanings"].split()]
    values = np.atleast_1d(flags.attrs["flag_values"])
    return {name: np.isin(flags.values, [value for value, own in zip(values, names) if name in own])
            for name in dict.fromkeys(name for own in names for name in own)}


def surfaces(datasets, name, time=None):
    """`surface` of each of the datasets that have faces of the boundary `name`, all with the same coordinates.

    Raises ValueError for a boundary that none has."""
    having = [ds for ds in datasets if "_".join(str(name).split()) in boundaries(ds)]
    if not having:
        choose("boundary", name, dict.fromkeys(b for ds in datasets for b in boundaries(ds)), " in the dataset; it has")
    found = [surface(ds, name, time) for ds in having]
    if len(found) == 1:
        return found
    of_nodes = {v for ds in found for v in ds.coords if "face_node" in ds[v].dims}          # of flat faces constants
    return [ds.assign_coords({v: ds[v].broadcast_like(ds["x"]) for v in of_nodes & set(ds.coords)}) for ds in found]


def surface(ds, name, time=None):
    """The fields at the nodes of the boundary `name`, dims (time, face, face_node), lazy where the dataset is.

    time    index (int) or time (float) of one snapshot; all by default
    Coordinates: x, y, z, normal_x ..., weight, area, cell_number, see `dgarray.spaces.surface.Surface`; the integral of f is
    sum(f weight), exact where f is a field, and the sum of the weights of a face is its area.
    Raises ValueError for an unknown time."""
    # Names are kept without white space.
    faces = surface_of(ds, boundaries(ds)["_".join(str(name).split())])
    chosen = at_time(ds, time)
    elements, place = np.unique(faces.rows[:, 0], return_inverse=True)

    def on_faces(values):
        return faces.take(values[place].T)
    data = {v: by_snapshot(chosen[v], on_faces, ("face", "face_node"), faces.shape, {"element": elements})
            for v in ds.dg.variables}
    for v, field in data.items():
        # On a surface the values no longer lie on the mesh.
        field.attrs = {key: value for key, value in ds[v].attrs.items() if key not in ("mesh", "location")}
    coords = faces.coords(ds["cell_number"].values, ds.dg.units(ds.dg.axes[0]))
    attrs = {key: ds.attrs[key] for key in LAYOUT} | naming(data) | {"boundary": str(name)}
    attrs |= origin_of_text(ds.attrs.get("law", ""))
    if "time" in chosen.coords:
        coords["time"] = chosen["time"].variable
    return xr.Dataset(data, coords, attrs)


def surface_of(ds, rows):
    """The faces (cell, local face) of a dataset, a `Surface`, `CurvedSurface`, `MixedFacesSurface` or `TensorSurface`."""
    mesh, cell = ds.dg.space.mesh, ds.dg.reference
    if mesh.cell_shape.mixed_faces:
        return MixedFacesSurface(mesh, cell, rows)
    return simplex_surface(mesh, ds.dg.order, rows) if mesh.cell_shape.simplex else TensorSurface(mesh, cell, rows)


def record(ds, name):
    """The record of the recorder `name` of the run, a Dataset with plain names, lazy where the dataset is.

    Attributes: `record` (the recorder's class), dim, order, nodes and, on a boundary, `boundary` and where the boundary
    conditions say it `field`, "total" or "scattered", and `incident`, the wave, beside those of
    `dgarray.analysis.record_origin`, such as `law` and `medium`; a transform has `time_span`, `record_name`, `window` if it has
    one, and of the waves of its run, where they are known, `pulse_mean` and `pulse_end`; each of its variables `largest`,
    `largest_at_end`, `area` and `area_after`.
    A transform of the whole volume comes with the mesh, so that `.dg` serves it too.
    Raises ValueError for an unknown record."""
    classes = json.loads(ds.attrs.get("records", "{}"))
    choose("record", name, classes, " in the dataset; it has")
    prefix = f"{name}_"
    # A record "a" does not own the variables "a_b_x" of a record "a_b".
    longer = tuple(f"{other}_" for other in classes if other.startswith(prefix))
    fields = {*RESERVED, *variables_of(ds), *(f"{v}{SUFFIX}" for v in variables_of(ds))}
    own = [v for v in ds.variables if str(v).startswith(prefix) and v not in fields
           and not (longer and str(v).startswith(longer))]
    part = ds[own].drop_vars([c for c in ds[own].coords if c not in own])
    part = part.rename({v: v.removeprefix(prefix) for v in (*own, *part.dims) if v.startswith(prefix)})
    part.attrs = {key: ds.attrs[key] for key in LAYOUT if key in ds.attrs} | {"record": classes[name]}
    for field in part.data_vars.values():
        part.attrs |= {key: field.attrs[key] for key in OF_BOUNDARY if key in field.attrs}
    if "time_span" in part:
        part.attrs |= {"record_name": name} | {key: ds.attrs[key] for key in OF_WAVES if key in ds.attrs}
        part.attrs["time_span"] = np.real(part["time_span"].values).tolist()
        for kept, keys in OF_FIELDS.items():
            if kept in part:          # stores of earlier versions lack them
                for variable, values in zip(part[kept].attrs["variables"].split(), part[kept].values.tolist()):
                    part[variable].attrs |= dict(zip(keys, values))
        part = part.drop_vars(["time_span", *OF_FIELDS], errors="ignore")
    if {"element", "node"} <= set(part.dims):
        part = _with_mesh(ds, part)
    elif set(ds.dg.axes) <= set(part.dims):
        part = part.assign_attrs({key: ds.attrs[key] for key in ("cell_type", *PLACES)} |
                                 {"variables": json.dumps(list(part.data_vars))})
    return part


def _with_mesh(ds, part):
    """The fields of `part` (..., element, node) on the mesh of the run's dataset."""
    topology = [v for v in ds.variables if v in RESERVED and v != "time"]
    mesh = ds[topology].drop_vars([c for c in ds[topology].coords if c not in topology])
    return mesh.assign(part.data_vars).assign_coords(part.coords).assign_attrs(
        {**part.attrs, "cell_type": ds.attrs["cell_type"], **naming(part.data_vars)})

