"""The datasets behind `dg`, one for each shape of cells, and how answers of several become one."""
import json

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core.indexing import IndexingSupport, LazilyIndexedArray, explicit_indexing_adapter

from dgarray.mesh.curved import cell_maps
from dgarray.output.cf_flags import joined_flags
from dgarray.output.dataset import Layout
from dgarray.output.joined_runs import check_attributes, on_one_mesh
from dgarray.output.surface import boundaries, regions

JOIN = "join"          # boundary where a zone meets others


def zones_of(data):
    """{name: dataset} of a tree, all with as many snapshots; {"": dataset} of a dataset or of one zone of a tree. Raises
    ValueError for others."""
    if isinstance(data, xr.DataTree) and "order" in data.attrs:
        data = data.to_dataset()
    if not isinstance(data, xr.DataTree):
        check_attributes(data)
        return {"": on_one_mesh(data)}
    zones = {name: on_one_mesh(node.to_dataset()) for name, node in data.children.items() if "order" in node.attrs}
    if not zones:
        raise ValueError("this tree is not one of dgarray: it has no zones with datasets")
    counts = {ds.sizes.get("time", 1) for ds in zones.values()}
    if len(counts) > 1:          # a run that goes on writes one zone after the other
        zones = {name: ds.isel(time=slice(min(counts))) for name, ds in zones.items()}
    return zones


def one_for_each_shape(zones):
    """[dataset of each shape of cells] of zones, of the highest order of those of this shape, whose polynomials hold the
    others."""
    by_shape = {}
    for ds in zones.values():
        by_shape.setdefault(ds.attrs["cell_type"], []).append(ds)
    return [_without_joins(alike[0]) if len(alike) == 1 else _joined_zones(alike) for alike in by_shape.values()]


def _without_joins(ds):
    """A zone's dataset without the boundary where it meets other zones."""
    names = ds["boundary"].attrs["flag_meanings"].split() if "boundary" in ds else []
    if JOIN not in names:
        return ds
    ds, number = ds.isel(boundary_face=np.flatnonzero(ds["boundary"].values != names.index(JOIN))), names.index(JOIN)
    names.remove(JOIN)
    flags = ds["boundary"].attrs | {"flag_meanings": " ".join(names), "flag_values": list(range(len(names)))}
    values = ds["boundary"].values
    return ds.assign_coords(boundary=("boundary_face", values - (values > number).astype(values.dtype), flags))


def _joined_zones(zones):
    """Zones of one shape as one dataset, whose fields are read when they are asked for."""
    layout, names = _layout(zones), zones[0].dg.variables
    onto = [ds.dg.reference.interpolation(layout.reference.nodes).T for ds in zones]
    result, data = layout.dataset([], {name: np.empty((0, *layout.shapes[name])) for name in names}), {}
    for name in names:
        lead = tuple(dim for dim in zones[0][name].dims if dim not in ("element", "node"))
        fields = [ds[name].variable.transpose(*lead, "element", "node") for ds in zones]
        data[name] = (*lead, "element", "node"), LazilyIndexedArray(_Field(fields, onto)), result[name].attrs
    lead = {dim for dims, *_ in data.values() for dim in dims} - {"element", "node"}
    own = {name: coord.variable for name, coord in zones[0].coords.items() if set(coord.dims) <= lead}
    result = result.drop_vars([*names, "time"]).assign(data).assign_coords(own)
    starts = tuple(f"{record}_" for record in json.loads(zones[0].attrs.get("records", "{}")))
    for ds in zones:          # one of them has the records
        found = [name for name in ds.variables if name.startswith(starts)]
        result = result.assign(ds[found].variables).set_coords([name for name in found if name in ds.coords])
    return result


class _Field(BackendArray):
    """The field of several zones at the nodes of their highest order: values (..., element, node) of each times a matrix."""

    def __init__(self, fields, onto):
        self.fields, self.onto = fields, onto
        self.shape = (*fields[0].shape[:-2], sum(field.shape[-2] for field in fields), onto[0].shape[1])
        self.dtype = np.result_type(np.float64, *(field.dtype for field in fields))

    def __getitem__(self, key):
        return explicit_indexing_adapter(key, self.shape, IndexingSupport.BASIC, self._read)

    def _read(self, key):
        *lead, element, node = key
        each = [field[(*lead, ...)].values @ matrix for field, matrix in zip(self.fields, self.onto)]
        return np.concatenate(each, axis=-2)[..., element, node]


def _layout(zones):
    """The layout of zones of one shape as one dataset."""
    highest, found = max(zones, key=lambda ds: ds.dg.order), [[], [], []]
    elements, corners, named, inside = 0, 0, {}, {}
    for ds in zones:
        # First the cells, which refuse a mesh that has been changed.
        for parts, array in zip(found, (ds.dg.points, ds.dg.cells + corners, ds["cell_number"].values)):
            parts.append(array)
        for places, own, first in ((named, boundaries(ds), [elements, 0]), (inside, regions(ds), elements)):
            for name, rows in own.items():
                places.setdefault(name, []).append(rows + first)
        elements, corners = elements + len(ds.dg.cells), corners + len(ds.dg.points)
    named.pop(JOIN, None)
    names = highest.dg.variables
    texts = [{name: highest[name].attrs[key] for name in names} for key in ("long_name", "units")]
    return Layout(highest.dg.dim, highest.dg.order, *map(np.concatenate, found), names, *texts, dict(highest.attrs),
                  *({name: np.concatenate(rows) for name, rows in places.items()} for places in (inside, named)),
                  getattr(highest.dg.reference, "kind", None), _geometry(zones))


def _geometry(zones):
    """The geometry nodes of all zones, also of straight ones, where the cells of a zone are curved; else None."""
    meshes = [ds.dg.space.mesh for ds in zones]
    order = max(map(cell_maps.map_order, meshes))
    if order == 1:
        return None
    lattice = cell_maps.geometry_cell(zones[0].dg.cell_shape, order).nodes
    return np.concatenate([np.moveaxis(cell_maps.positions(mesh, lattice), (0, 2), (2, 0)) for mesh in meshes])


def end_to_end(parts, dim):
    """Datasets of several shapes one behind the other along `dim`; other dims get the longest length, filled with NaN."""
    if len(parts) == 1:
        return parts[0]
    shared = set.intersection(*(set(ds.variables) for ds in parts)) - {"element_number"}          # each begins at 0
    parts = joined_flags([ds.drop_vars(set(ds.variables) - shared) for ds in parts], "region")
    longest = {other: max(ds.sizes[other] for ds in parts) for other in parts[0].dims if other != dim}
    parts = [ds.pad({other: (0, most - ds.sizes[other]) for other, most in longest.items() if most > ds.sizes[other]})
             for ds in parts]
    return xr.concat(parts, dim, data_vars="minimal", coords="minimal", compat="override", join="override",
                     combine_attrs="override")


def first_inside(found, counts):
    """Of each point the values of the first of the datasets `found` whose cells hold it; counts: elements of each, which are
    numbered through."""
    result, first = found[0], 0
    for each, count in zip(found[1:], counts):
        first += count
        if "element" not in result:          # a grid does not say in which element its points are
            result = result.fillna(each)
            continue
        inside = result["element"] >= 0
        element = xr.where(inside | (each["element"] < 0), result["element"], each["element"] + first, keep_attrs=True)
        merged = {name: result[name].where(inside, each[name]).transpose(*result[name].dims) for name in result.data_vars
                  if set(inside.dims) <= set(result[name].dims)}
        result = result.assign(merged).assign_coords(element=element)
    return result
