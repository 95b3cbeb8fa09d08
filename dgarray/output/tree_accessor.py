"""`tree.dg`: what `ds.dg` offers, for the DataTree of several zones."""
from __future__ import annotations

import inspect
import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dgarray.mesh.curved import cell_maps
from dgarray.output.accessor import Accessor
from dgarray.output.dataset import Layout
from dgarray.output.joined_runs import on_one_mesh
from dgarray.output.store.verify import naming_damage
from dgarray.output.surface import boundaries, regions

if TYPE_CHECKING:
    import xarray as xr

JOIN = "join"          # boundary where a zone meets others
OFFERED = [name for name in dir(Accessor) if not name.startswith("_")]


@naming_damage
class TreeAccessor:
    """Evaluation, norms and pictures across zones: those of `Accessor`, of all zones as one dataset of the highest order, whose
    polynomials hold those of lower order.

    zones            {name: dataset}
    whole(time)      that dataset; time an index or a time for one snapshot, None for all
    Everything else is as `ds.dg`: sample, norm, integral, error, plot, to_vtk, line, grid, slice, surface ..."""

    def __init__(self, tree: xr.DataTree):
        self._tree = tree
        self.zones = {name: on_one_mesh(node.to_dataset()) for name, node in tree.children.items() if "order" in node.attrs}
        if not self.zones:
            raise ValueError("this tree is not one of dgarray: it has no zones with datasets")

    def __getstate__(self):
        # What is kept for the next call is left behind.
        return {"_tree": self._tree, "zones": self.zones}

    def __repr__(self):
        return "\n".join(f"{name}: {ds.dg!r}" for name, ds in self.zones.items())

    @cached_property
    def _first(self):
        return next(iter(self.zones.values()))

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the fields."""
        return self._first.dg.variables

    @property
    def dim(self) -> int:
        """Dimension of space."""
        return self._first.dg.dim

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return self._first.dg.axes

    @property
    def order(self) -> int:
        """The highest order."""
        return max(ds.dg.order for ds in self.zones.values())

    def index(self, time: Any) -> int:
        """Position of a time, as `Accessor.index`."""
        return self._first.dg.index(time)

    def whole(self, time: float | None = None) -> xr.Dataset:
        """All zones as one dataset of the highest order; time: as for `Accessor`, None for all."""
        zones, first = [ds.dg.whole(time) for ds in self.zones.values()], self._first
        if "time" in first.dims:
            count = min(ds.sizes["time"] for ds in zones)          # a run that goes on writes one zone after the other
            zones = [ds.isel(time=slice(count)) for ds in zones]
        layout = self._layout()
        onto = [ds.dg.reference.interpolation(layout.reference.nodes).T for ds in self.zones.values()]
        lead = tuple(dim for dim in first[self.variables[0]].dims if dim not in ("element", "node"))
        fields = {name: np.concatenate([ds[name].transpose(*lead, "element", "node").values @ matrix
                                        for ds, matrix in zip(zones, onto)], axis=-2) for name in self.variables}
        if lead == ("time",) and "time" in first.coords:
            result = layout.dataset(zones[0]["time"].values, fields)
        else:          # one time, or several runs
            result = _with_dims(layout, lead, fields, zones[0].coords)
        starts = tuple(f"{record}_" for record in json.loads(self._first.attrs.get("records", "{}")))
        for ds in zones:          # one of them has the records
            names = [name for name in ds.variables if name.startswith(starts)]
            result = result.assign(ds[names].variables).set_coords([name for name in names if name in ds.coords])
        return result

    def _layout(self):
        """The layout of the whole."""
        highest, found = max(self.zones.values(), key=lambda ds: ds.dg.order), [[], [], []]
        elements, corners, named, inside = 0, 0, {}, {}
        for ds in self.zones.values():
            ds.dg.cells          # noqa: B018  refuses a mesh that has been changed
            for places, own, first in ((named, boundaries(ds), [elements, 0]), (inside, regions(ds), elements)):
                for name, rows in own.items():
                    places.setdefault(name, []).append(rows + first)
            for parts, array in zip(found, (ds.dg.points, ds.dg.cells + corners, ds["cell_number"].values)):
                parts.append(array)
            elements, corners = elements + len(ds.dg.cells), corners + len(ds.dg.points)
        named.pop(JOIN, None)
        texts = [{name: highest[name].attrs[key] for name in self.variables} for key in ("long_name", "units")]
        return Layout(highest.dg.dim, highest.dg.order, *map(np.concatenate, found), self.variables, *texts,
                      dict(highest.attrs), *({name: np.concatenate(rows) for name, rows in places.items()}
                                             for places in (inside, named)),
                      getattr(highest.dg.reference, "kind", None), self._geometry())

    def _geometry(self):
        """The geometry nodes of all zones, also of straight ones, where the cells of a zone are curved; else None."""
        order = max(cell_maps.map_order(ds.dg.space.mesh) for ds in self.zones.values())
        if order == 1:
            return None
        lattice = cell_maps.geometry_cell(self._first.dg.cell_shape, order).nodes
        return np.concatenate([np.moveaxis(cell_maps.positions(ds.dg.space.mesh, lattice), (0, 2), (2, 0))
                               for ds in self.zones.values()])

    def __dir__(self):
        return [*super().__dir__(), *OFFERED]

    def __getattr__(self, name):
        """A function of `Accessor`, on the dataset of all zones at the times that it is asked for."""
        if name not in OFFERED:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        if not callable(getattr(Accessor, name)):
            return getattr(self.whole(0).dg, name)

        signature = inspect.signature(getattr(Accessor, name))

        def function(*arguments, **options):
            given = signature.bind(self, *arguments, **options)
            given.apply_defaults()
            time = given.arguments.get("time")
            if time is not None:
                given.arguments["time"] = 0          # of the one that is taken
            return getattr(self.whole(time).dg, name)(*given.args[1:], **given.kwargs)
        function.__name__, function.__doc__ = name, getattr(Accessor, name).__doc__
        return function


def _with_dims(layout, lead, fields, coords):
    """The dataset of fields (*lead, element, node), with those of the coordinates that belong to `lead`."""
    one = {name: values.reshape(-1, *values.shape[-2:])[:1] for name, values in fields.items()}
    result = layout.dataset(np.zeros(1), one)
    data = {name: ((*lead, "element", "node"), values, result[name].attrs) for name, values in fields.items()}
    own = {name: coord.variable for name, coord in coords.items() if set(coord.dims) <= set(lead)}
    return result.drop_vars([*fields, "time"]).assign(data).assign_coords(own)
