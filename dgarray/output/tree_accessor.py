"""`tree.dg`: what `ds.dg` offers, for the DataTree of several zones."""
from dataclasses import replace
from functools import cached_property

import numpy as np
import xarray as xr

from dgarray.output.accessor import Accessor
from dgarray.output.dataset import AXES, Layout, variables_of
from dgarray.output.surface import boundaries, regions
from dgarray.output.verify import naming_damage
from dgarray.wording import choose


@xr.register_datatree_accessor("dg")
@naming_damage
class TreeAccessor:
    """Evaluation, norms and pictures across zones: those of `Accessor`, of all zones as one dataset of the highest order, whose
    polynomials hold those of lower order.

    zones            {name: dataset}
    whole(time)      that dataset; time an index or a time for one snapshot, None for all
    Everything else is as `ds.dg`: sample, norm, integral, error, plot, to_vtk, line, grid, slice, surface ..."""

    def __init__(self, tree):
        self._tree = tree
        self.zones = {name: node.to_dataset(inherit=False) for name, node in tree.children.items() if "order" in node.attrs}
        if not self.zones:
            raise ValueError("this tree is not one of dgarray: it has no zones with datasets")

    def __repr__(self):
        return "\n".join(f"{name}: {ds.dg!r}" for name, ds in self.zones.items())

    @cached_property
    def _first(self):
        return next(iter(self.zones.values()))

    @property
    def variables(self):
        """Names of the fields."""
        return self._first.dg.variables

    @property
    def order(self):
        """The highest order."""
        return max(ds.dg.order for ds in self.zones.values())

    def whole(self, time=None):
        """All zones as one dataset of the highest order; time: as for `Accessor`."""
        parts = {name: ds if time is None else ds.isel(time=[ds.dg.index(time)]) for name, ds in self.zones.items()}
        count = min(ds.sizes["time"] for ds in parts.values())          # zones are written one after the other
        highest = max(self.zones.values(), key=lambda ds: ds.dg.order)
        layout, names = self._layout(highest), self.variables
        cell, fields = layout.reference, {name: [] for name in names}
        for ds in parts.values():
            matrix = ds.dg.reference.interpolation(cell.nodes)
            for name in names:
                fields[name].append(ds[name].values[:count] @ matrix.T)
        times = self._first["time"].values if time is None else parts[next(iter(parts))]["time"].values
        result = layout.dataset(times[:count], {name: np.concatenate(values, axis=1) for name, values in fields.items()})
        records = [ds for ds in parts.values() if any(name.endswith("_time") for name in ds.coords)]
        for ds in records[:1]:
            added = [name for name in ds.variables if name not in result.variables and not ({"element", "node"} & set(ds[name].dims))]
            result = result.assign({name: ds[name] for name in added if name in ds.data_vars}).assign_coords(
                {name: ds[name] for name in added if name in ds.coords})
        return result

    def _layout(self, highest):
        """The layout of the whole."""
        elements, corners, cells, points, numbers, named, inside = 0, 0, [], [], [], {}, {}
        for ds in self.zones.values():
            dg = ds.dg
            for rows, found in ((boundaries(ds), named), (regions(ds), inside)):
                for name, places in rows.items():
                    found.setdefault(name, []).append(places + ([elements, 0] if places.ndim == 2 else elements))
            cells.append(dg.cells + corners)
            points.append(dg.points)
            numbers.append(ds["cell_number"].values)
            elements, corners = elements + len(dg.cells), corners + len(dg.points)
        named.pop("joint", None)
        layout = Layout(highest.dg.dim, highest.dg.order, np.concatenate(points), np.concatenate(cells), np.concatenate(numbers),
                        variables_of(highest), {name: highest[name].attrs["long_name"] for name in self.variables},
                        {name: highest[name].attrs["units"] for name in self.variables},
                        {name: value for name, value in highest.attrs.items()},
                        {name: np.concatenate(places) for name, places in inside.items()},
                        {name: np.concatenate(places) for name, places in named.items()}, highest.attrs["nodes"])
        return layout

    def __getattr__(self, name):
        """A function of `Accessor`, on the dataset of all zones at the times that it is asked for."""
        if name.startswith("_"):
            raise AttributeError(name)
        offered = [each for each in dir(Accessor) if not each.startswith("_")]
        try:
            choose("dg: the function", name, offered)
        except ValueError as error:
            raise AttributeError(str(error)) from None
        if not callable(getattr(Accessor, name)):
            return getattr(self.whole(0).dg, name)

        def function(*arguments, **options):
            return getattr(self.whole().dg, name)(*arguments, **options)
        function.__name__, function.__doc__ = name, getattr(Accessor, name).__doc__
        return function
