"""`tree.dg` where zones have different shapes of cells: each is asked, and what they answer is put together."""
from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from dgarray.output.accessor import Accessor
from dgarray.output.cf_flags import joined_flags
from dgarray.output.joined_slices import cut_all
from dgarray.output.surface import boundaries
from dgarray.output.tree_accessor import JOIN, TreeAccessor
from dgarray.output.ugrid import joined
from dgarray.output.vtk.files import export
from dgarray.support.wording import choose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike
    from pathlib import Path

    from numpy.typing import ArrayLike

# What one zone answers alone: arrays over the nodes or corners of cells of one shape.
OF_ONE = [name for name in ("values", "field", "reference", "cell_shape", "space", "points", "cells", "geometry_nodes",
                            "jacobians", "locator", "evaluation", "evaluation_on", "whole") if hasattr(Accessor, name)]


class MixedAccessor:
    """Evaluation, norms, pictures and files of a run on a mesh of several shapes.

    zones            {name: dataset}
    variables, order, dim, axes, bounds, index, units   as `ds.dg` has them
    Everywhere `time` is as for `ds.dg`. What is an array over the nodes of cells of one shape is asked of a zone:
    tree.dg.zones["triangle"].dg.values(...)."""

    def __init__(self, zones: dict[str, xr.Dataset]):
        by_shape: dict[str, dict] = {}
        self.zones = zones
        for name, ds in zones.items():
            by_shape.setdefault(ds.attrs["cell_type"], {})[name] = ds
        # Zones of one shape are one dataset of their highest order.
        self._shapes = [TreeAccessor(xr.DataTree.from_dict(found)) for found in by_shape.values()]

    def __repr__(self):
        return "\n".join(f"{name}: {ds.dg!r}" for name, ds in self.zones.items())

    @cached_property
    def _first(self):
        return next(iter(self.zones.values())).dg

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the fields."""
        return self._first.variables

    @property
    def dim(self) -> int:
        """Dimension of space."""
        return self._first.dim

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return self._first.axes

    @property
    def order(self) -> int:
        """The highest order."""
        return max(ds.dg.order for ds in self.zones.values())

    @property
    def bounds(self) -> np.ndarray:
        """Lowest and highest coordinates (2, dim) of the domain."""
        found = [ds.dg.bounds for ds in self.zones.values()]
        return np.stack([np.min([low for low, _ in found], axis=0), np.max([high for _, high in found], axis=0)])

    def index(self, time: Any) -> int:
        """Position of a time, as `Accessor.index`."""
        return self._first.index(time)

    def units(self, name: str) -> str:
        """Units of a variable or coordinate."""
        return self._first.units(name)

    def norm(self, variable: str, time: float | None = -1) -> Any:
        """L2 norm, the root of the zones' sum of squares: a number, for time=None a DataArray over time."""
        return sum(each.norm(variable, time) ** 2 for each in self._shapes) ** 0.5

    def integral(self, variable: str, time: float | None = -1) -> Any:
        """Integral over the domain: a number, for time=None a DataArray over time."""
        return sum(each.integral(variable, time) for each in self._shapes)

    def error(self, variable: str | Callable, exact: Callable | None = None, time: float | None = -1) -> Any:
        """L2 norm of u - exact(x, t), as `Accessor.error`."""
        found = [each.error(variable, exact, time) for each in self._shapes]
        if isinstance(found[0], dict):
            return {name: sum(errors[name] ** 2 for errors in found) ** 0.5 for name in found[0]}
        return sum(error ** 2 for error in found) ** 0.5

    def sample(self, points: ArrayLike, time: float | None = None) -> xr.Dataset:
        """Values at any points, as `Accessor.sample`; `element` counts through the zones, one shape after the other."""
        return self._first_inside([each.sample(points, time) for each in self._shapes])

    def line(self, a: ArrayLike, b: ArrayLike, n: int = 101, time: float | None = None) -> xr.Dataset:
        """Values at n points from a to b, as `Accessor.line`."""
        return self._first_inside([each.line(a, b, n, time) for each in self._shapes])

    def grid(self, shape: int | Sequence[int] | None = None, lower: ArrayLike | None = None, upper: ArrayLike | None = None,
             time: float | None = None, spacing: float | Sequence[float] | None = None) -> xr.Dataset:
        """Values on a regular grid over the whole domain, as `Accessor.grid`."""
        low, high = self.bounds
        lower, upper = (low if lower is None else lower), (high if upper is None else upper)
        return self._first_inside([each.grid(shape, lower, upper, time, spacing) for each in self._shapes])

    def _first_inside(self, found):
        """Of each point the values of the first shape whose cells hold it."""
        result, first = found[0], 0
        for each, accessor in zip(found[1:], self._shapes):
            first += sum(ds.sizes["element"] for ds in accessor.zones.values())
            if "element" not in result:          # a grid does not say in which element its points are
                result = result.fillna(each)
                continue
            inside, element = result["element"] >= 0, each["element"]
            element = xr.where(inside, result["element"], element.where(element < 0, element + first), keep_attrs=True)
            merged = {name: result[name].where(inside, each[name]).transpose(*result[name].dims) for name in result.data_vars
                      if set(inside.dims) <= set(result[name].dims)}
            result = result.assign(merged).assign_coords(element=element)
        return result

    def surface(self, name: str, time: float | None = None) -> xr.Dataset:
        """The fields at the nodes of the boundary `name`, as `Accessor.surface`, of all zones that have faces of it.

        Raises ValueError for an unknown boundary, and where its faces have different numbers of nodes."""
        having = [ds for ds in self.zones.values() if len(boundaries(ds).get(name, ()))]
        if not having:
            choose("boundary", name, dict.fromkeys(b for ds in self.zones.values() for b in boundaries(ds)),
                   " in the dataset; it has")
        found = [ds.dg.surface(name, time) for ds in having]
        if len({ds.sizes["face_node"] for ds in found}) > 1:
            raise ValueError(f"the faces of the boundary {name!r} have different numbers of nodes; ask each zone: "
                             f"tree.dg.zones[{next(iter(self.zones))!r}].dg.surface({name!r})")
        shared = set.intersection(*(set(ds.variables) for ds in found))
        found = [ds.drop_vars(set(ds.variables) - shared) for ds in found]
        of_nodes = [name for name in shared if any("face_node" in ds[name].dims for ds in found)]
        found = [ds.assign_coords({name: ds[name].broadcast_like(ds["x"]) for name in of_nodes if name in ds.coords})
                 for ds in found]
        return xr.concat(found, "face", data_vars="minimal", coords="minimal", compat="override", join="override",
                         combine_attrs="override")

    def record(self, name: str) -> xr.Dataset:
        """What the recorder `name` of the run kept."""
        return self._holder(name).dg.record(name)

    def _holder(self, name):
        """The zone that has a record."""
        return next((ds for ds in self.zones.values() if any(str(v).startswith(f"{name}_") for v in ds.variables)),
                    next(iter(self.zones.values())))

    def with_fields(self, *names: str) -> xr.DataTree:
        """The tree with fields that follow from its own by the law, as `Accessor.with_fields`."""
        return self._of_each(lambda dg: dg.with_fields(*names))

    def gradient(self, variable: str, time: float | None = None) -> xr.DataTree:
        """The tree with the derivatives of a field in place of its own fields, as `Accessor.gradient`."""
        return self._of_each(lambda dg: dg.gradient(variable, time))

    def _of_each(self, function):
        return xr.DataTree.from_dict({name: function(ds.dg) for name, ds in self.zones.items()})

    def cell_mean(self, variable: str | None = None, time: float | None = None) -> xr.DataArray | xr.Dataset:
        """Mean values over the cells of all zones, one zone after the other, as `Accessor.cell_mean`."""
        found = [ds.dg.cell_mean(variable, time) for ds in joined_flags(list(self.zones.values()), "region")]
        return xr.concat(found, "element", coords="minimal", compat="override", join="override", combine_attrs="override")

    def slice(self, plane: Any, time: float | None = None) -> xr.Dataset:
        """One dataset of all zones on a plane or a line, as `Accessor.slice`; pieces of all shapes have the highest order that
        one of them needs, twice the order on quadrilaterals, hexahedra and prisms."""
        return cut_all(self.datasets(), plane, time)

    def datasets(self, time: float | None = None) -> list[xr.Dataset]:
        """One dataset of each shape, of the highest order of its zones; time: as for `Accessor.whole`."""
        return [without_joins(next(iter(each.zones.values())).dg.whole(time)) if len(each.zones) == 1 else each.whole(time)
                for each in self._shapes]

    def to_vtk(self, path: str | PathLike, variables: str | Sequence[str] | None = None, time: float | None = None,
               overwrite: bool = False) -> Path:
        """Write fields for ParaView, PyVista or VTK in one file, as `Accessor.to_vtk`."""
        return export(self.datasets(), path, variables, time, overwrite)

    def to_ugrid(self, subdivide: int = 1, time: float | None = None) -> xr.Dataset:
        """A 2D dataset in the UGRID conventions, as `Accessor.to_ugrid`; triangles have -1 for their fourth corner."""
        return joined([each.dg.to_ugrid(subdivide, time) for each in joined_flags(self.datasets(), "region")])

    def plot(self, variable: str, time: float | None = -1, ax: Any = None, path: str | PathLike | None = None,
             record: str | None = None, spectrum: bool = False, **options: Any) -> Any:
        """Draw a field, or a record, as `Accessor.plot`, with one range of colours for all zones."""
        if record is not None or spectrum:
            return self._holder(record).dg.plot(variable, time, ax, path, record, spectrum, **options)
        from dgarray.output.pictures import plot

        if path is None:
            return plot.draw(self.datasets(time), variable, -1, ax, **options)
        if ax is not None:
            raise ValueError("ax and path are both given; give one")
        return plot.plot(self.datasets(time), variable, -1, path, **options)

    def animate(self, variable: str, path: str | PathLike | None = None, fps: float = 10, **options: Any) -> Any:
        """A movie of all snapshots with one range of colours, as `Accessor.animate`."""
        from dgarray.output.pictures import movie

        if path is None:
            return movie.animation(self.datasets(), variable, fps, **options)
        return movie.movie(self.datasets(), variable, path, fps, **options)

    def to_pyvista(self, variables: str | Sequence[str] | None = None, time: float | None = -1) -> Any:
        """One snapshot as a pyvista.UnstructuredGrid of cells of several shapes, as `Accessor.to_pyvista`."""
        from dgarray.output.vtk.to_pyvista import cells

        return cells(self.datasets(), variables, time)

    def __getattr__(self, name):
        if name in OF_ONE:
            zone = next(iter(self.zones))
            raise AttributeError(f"the run has cells of several shapes, of which one dataset holds no {name}; ask a zone: "
                                 f"tree.dg.zones[{zone!r}].dg.{name} (zones: {', '.join(self.zones)})", name=name, obj=self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)


def without_joins(ds):
    """A zone's dataset without the boundary where it meets other zones."""
    names = ds["boundary"].attrs["flag_meanings"].split() if "boundary" in ds else []
    if JOIN not in names:
        return ds
    ds, number = ds.isel(boundary_face=np.flatnonzero(ds["boundary"].values != names.index(JOIN))), names.index(JOIN)
    names.remove(JOIN)
    flags = ds["boundary"].attrs | {"flag_meanings": " ".join(names), "flag_values": list(range(len(names)))}
    values = ds["boundary"].values
    return ds.assign_coords(boundary=("boundary_face", values - (values > number).astype(values.dtype), flags))


def accessor_of_tree(tree):
    """The accessor of a tree of zones: a `TreeAccessor`, or a `MixedAccessor` where their cells have different shapes."""
    accessor = TreeAccessor(tree)
    mixed = len({ds.attrs["cell_type"] for ds in accessor.zones.values()}) > 1
    return MixedAccessor(accessor.zones) if mixed else accessor
