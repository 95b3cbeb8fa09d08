"""A slice through cells of several shapes: the slices of each, whose pieces are all simplices, as one dataset."""
import numpy as np
import xarray as xr

from dgarray.mesh.locate import Locator
from dgarray.output.cf_flags import joined_flags
from dgarray.output.dataset import LOCATIONS
from dgarray.output.slices import Missed, cut, missed, order_of, parse


def cut_all(datasets, plane, time=None):
    """The datasets of cells of several shapes on a plane, as one dataset of the highest of their orders there.

    Where the plane contains faces between two shapes, the cells of the one that comes first are used."""
    order, found = max(map(order_of, datasets)), []
    for ds in datasets:
        try:
            found.append(cut(ds, plane, time, order))
        except Missed:
            continue
    if not found:
        axes, bounds = datasets[0].dg.axes, [ds.dg.bounds for ds in datasets]
        raise missed(parse(plane, axes)[2], axes, (np.min(bounds, axis=(0, 1)), np.max(bounds, axis=(0, 1))))
    return joined(_without_repeated(found))


def _without_repeated(slices):
    """The slices without the pieces that lie in those before them."""
    kept = []
    for ds in slices:
        centres = ds.dg.points[ds.dg.cells].mean(axis=1)
        repeated = np.zeros(len(centres), bool)
        for before in kept:
            repeated |= Locator(before.dg.points, before.dg.cells).find(centres)[0] >= 0
        if not repeated.all():
            kept.append(ds.isel(element=~repeated) if repeated.any() else ds)
    return kept


def joined(datasets):
    """One dataset of those of cells of one shape and order, without their named boundaries; points at one place are one."""
    first, axes = datasets[0], datasets[0].dg.axes
    connectivity, names = f"mesh_{LOCATIONS[first.dg.dim]}_nodes", [f"mesh_node_{axis}" for axis in axes]
    starts = np.cumsum([0, *(len(ds.dg.points) for ds in datasets)])
    points, number = np.unique(np.concatenate([ds.dg.points for ds in datasets]), axis=0, return_inverse=True)
    cells = number.ravel()[np.concatenate([ds.dg.cells + start for ds, start in zip(datasets, starts)])]
    datasets = joined_flags(datasets, "region")
    shared = set.intersection(*(set(ds.variables) for ds in datasets))
    own = [ds.drop_vars([*(set(ds.variables) - shared), connectivity, *names]) for ds in datasets]
    result = xr.concat(own, "element", data_vars="minimal", coords="minimal", compat="override", join="override",
                       combine_attrs="override")
    corners = {name: xr.Variable("mesh_node", points[:, column], first[name].attrs) for column, name in enumerate(names)}
    return result.assign_coords(corners).assign({connectivity: (first[connectivity].dims, cells, first[connectivity].attrs)})
