"""Point values, slices and derivatives of datasets on grids, by the Hermite interpolant between the nodes."""
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from dgarray.mesh import Grid
from dgarray.output.dataset import naming
from dgarray.output.evaluation import KEPT_VALUES, at_time, by_snapshot, gathered, labelled, quotient, with_derivatives
from dgarray.output.grid_layout import SUFFIX, exponents
from dgarray.output.slices import TOLERANCE, parse
from dgarray.output.surface import PLACES
from dgarray.spaces.interpolant import along, ends, interpolant
from dgarray.support.wording import choose


@dataclass(frozen=True, eq=False)
class GridEvaluation:
    """The interpolant at fixed places, NaN outside the grid.

    grid: the Grid;  order: N;  axes: names of its coordinates;  points (..., dim)"""

    grid: Grid
    order: int
    axes: tuple
    points: Any

    @cached_property
    def _blocks(self):
        """Slices of the points whose weights are held at once."""
        flat = self.points.reshape(-1, self.grid.dim)
        step = max(1, KEPT_VALUES // (2 * self.order + 2) ** self.grid.dim)
        return [(slice(first, first + step), flat[first:first + step]) for first in range(0, len(flat), step)]

    @cached_property
    def _kept(self):
        return [interpolant(self.grid, self.order, points) for _, points in self._blocks]

    def _weights(self):
        if len(self._blocks) < 2:
            return self._kept
        return (interpolant(self.grid, self.order, points) for _, points in self._blocks)

    @cached_property
    def _needed(self):
        """{axis: numbers of the nodes that hold weights}."""
        flat = self.points.reshape(-1, self.grid.dim)
        found = {axis: np.unique(ends(self.grid, 0, k, flat[:, k])[0]) for k, axis in enumerate(self.axes)}
        # Without any point, one node keeps the shapes and dtypes as they are.
        return {axis: numbers if len(numbers) else np.zeros(1, int) for axis, numbers in found.items()}

    def __call__(self, field, dims):
        """The field (DataArray of scaled derivatives) at the places: a Variable (..., *dims), lazy if the field is."""
        axes, shape = self.axes[::-1], self.points.shape[:-1]

        def at_places(c):
            out = np.empty(int(np.prod(shape)), np.result_type(c.dtype, np.float32))
            c, local = c.reshape(len(c), -1), tuple(len(self._needed[axis]) for axis in axes)
            for (block, _), (nodes, weights) in zip(self._blocks, self._weights()):
                numbers = zip(axes, np.unravel_index(nodes, self.grid.shape))
                places = np.ravel_multi_index([np.searchsorted(self._needed[axis], n) for axis, n in numbers], local)
                out[block] = np.einsum("pvc,cpv->p", weights, c[:, places])
            return out.reshape(shape)

        return by_snapshot(field, at_places, tuple(dims), shape, self._needed, core=("derivative", *axes))

    def coords(self, dims):
        """No coordinate says where a point lies."""
        return {}

    def dataset(self, ds, dims, coords, attrs):
        """All fields of `ds` at the places, with `coords` and the coordinates along the fields' other dims."""
        names = ds.dg.interpolated or ds.dg.variables[:1]          # the first is then refused
        data = {name: labelled(self(ds.dg.derivatives(name), dims), ds[name]) for name in names}
        out = gathered(ds, data, dims, coords, attrs)
        for name in (*PLACES, "cell_type"):
            del out.attrs[name]
        return out.assign_attrs(naming(data))


@dataclass(frozen=True, eq=False)
class LatticeEvaluation(GridEvaluation):
    """The interpolant at all points with given coordinates; points: an array for each axis."""

    def __call__(self, field, dims):
        """The field (DataArray of scaled derivatives) at the places: a Variable (..., *dims), lazy if the field is."""
        axes, dim = self.axes, self.grid.dim
        found = [ends(self.grid, self.order, k, x) for k, x in enumerate(self.points)]
        needed = {axis: np.unique(numbers) for axis, (numbers, _) in zip(axes, found)}

        def on_lattice(c):
            c = c.reshape(*(self.order + 1,) * dim, *c.shape[1:])
            for k, (axis, (numbers, weights)) in enumerate(zip(axes, found)):
                c = along(c, dim, k, np.searchsorted(needed[axis], numbers), weights)
            return c
        shape = tuple(len(x) for x in reversed(self.points))
        return by_snapshot(field, on_lattice, tuple(dims), shape, needed, core=("derivative", *axes[::-1]))


def cut(ds, plane, time=None):
    """The dataset on a plane across an axis; see GridAccessor.slice."""
    dg = ds.dg
    if dg.dim == 1:
        raise ValueError("a 1D dataset has no slice; point values are ds.dg.sample(points)")
    origin, normal, text = parse(plane, dg.axes)
    across = np.flatnonzero(normal)
    if len(across) > 1:
        raise ValueError(f"the plane {text} is not across an axis; a grid is cut by planes such as '{dg.axes[-1]}=0.5', other "
                         "values are ds.dg.sample(points)")
    number, grid, chosen = int(across[0]), dg.lattice, at_time(ds, time)
    axis, place = dg.axes[number], origin[across]
    low, high = grid.lower[number], grid.upper[number]
    if not low - TOLERANCE * (high - low) <= place[0] <= high + TOLERANCE * (high - low):
        raise ValueError(f"the plane {text} misses the grid, which has {axis} from {low:g} to {high:g}")
    rest = [k for k in range(dg.dim) if k != number]
    axes = tuple(dg.axes[k] for k in rest)
    data = {}
    if dg.hermite:
        numbers, weights = ends(grid, dg.order, number, place)
        needed, where = np.unique(numbers, return_inverse=True)
        kept = {f"derivative_{name}": ("derivative", j) for name, j in zip(axes, exponents(dg.order, dg.dim - 1))}
    for name in dg.variables:
        if name not in dg.hermite:
            data[name] = on_node(ds, chosen[name], axis, number, float(place[0]))
            continue
        shape = (dg.order + 1) ** (dg.dim - 1), *(grid.nodes[k] for k in reversed(rest))

        def on_plane(c, shape=shape):
            c = along(c.reshape(*(dg.order + 1,) * dg.dim, *c.shape[1:]), dg.dim, number, where.reshape(numbers.shape), weights)
            return np.squeeze(c, -1 - number).reshape(shape)
        field = chosen[f"{name}{SUFFIX}"]
        new = by_snapshot(field, on_plane, ("derivative", *reversed(axes)), shape, {axis: needed},
                          core=("derivative", *reversed(dg.axes)))
        data[name] = labelled(new.isel(derivative=0), chosen[name])
        data[f"{name}{SUFFIX}"] = labelled(new, field)
    coords = {name: coord.variable for name, coord in chosen.coords.items() if set(coord.dims) <= {"time"} or name in axes}
    if dg.hermite:
        coords |= {name: xr.Variable(dims, j, chosen[name].attrs) for name, (dims, j) in kept.items()}
    coords[axis] = xr.Variable((), place[0], chosen[axis].attrs)
    places = {name: json.dumps([getattr(grid, name)[k] for k in rest]) for name in PLACES}
    attrs = {"dim": dg.dim - 1, "axes": " ".join(axes), **naming(dg.variables), **places,
             "plane": f"{ds.attrs['plane']}, {text}" if "plane" in ds.attrs else text}
    return xr.Dataset(data, coords, {name: value for name, value in ds.attrs.items() if name != "records"} | attrs)


def on_node(ds, field, axis, number, place):
    """A field of values in the plane of nodes at a place, of cells linear between their centres. Raises ValueError where there
    is no plane of nodes."""
    grid = ds.dg.lattice
    if grid.location != "nodes":
        (low, high), (s,) = grid.between(number, np.array([place]))
        below, above = (field.isel({axis: int(cell[0])}).variable for cell in (low, high))
        return below if s == 0 or low == high else (1 - s) * below + s * above
    low, h = grid.lower[number], grid.spacing[number]
    position = round((place - low) / h)
    if abs(low + position * h - place) > 1e-9 * h:
        raise ValueError(f"{ds.dg.needs(field.name)}; nodes lie in the planes {axis}={low + (position - 1) * h:.6g}, "
                         f"{low + position * h:.6g}, {low + (position + 1) * h:.6g}")
    return field.isel({axis: position % grid.nodes[number]}).variable


def divergence(ds, vector, time=None):
    """sum over axes of dv_k/dx_k by central differences; see GridAccessor.divergence."""
    terms = [difference(ds, component(ds, vector, axis), axis, time) for axis in ds.dg.axes]
    return sum(terms).assign_attrs(units=quotient(ds.dg, f"{vector}{ds.dg.axes[0]}", ds.dg.axes[0]))


def curl(ds, vector, time=None):
    """The components of the curl that the dimension gives; see GridAccessor.curl."""
    found, axes = {}, "xyz"
    for k, axis in enumerate(axes):
        a, b = axes[(k + 1) % 3], axes[(k + 2) % 3]          # d v_b / d a - d v_a / d b
        terms = [sign * difference(ds, component(ds, vector, of), along, time)
                 for sign, of, along in ((1, b, a), (-1, a, b)) if along in ds.dg.axes]
        if terms:
            found[axis] = sum(terms).assign_attrs(units=quotient(ds.dg, f"{vector}{axes[0]}", axes[0]))
    return found


def component(ds, vector, axis):
    """Name of a vector's component. Raises ValueError where the dataset does not have it."""
    return choose("variable", f"{vector}{axis}", ds.dg.variables, " in the dataset; it has")


def difference(ds, variable, axis, time):
    """The derivative of a field of values along an axis by central differences, at sides one-sided, a DataArray."""
    grid, field, number = ds.dg.lattice, at_time(ds, time, ds.dg.field(variable)), ds.dg.axes.index(axis)
    if grid.nodes[number] < 2:
        raise ValueError(f"the grid has one {grid.place} along {axis}; a derivative needs two")
    if grid.periodic[number]:
        return (field.roll({axis: -1}) - field.roll({axis: 1})) / (2 * grid.spacing[number])
    return field.differentiate(axis)


def gradient(ds, variable, time=None):
    """Derivatives along the axes at the nodes; see GridAccessor.gradient."""
    dg = ds.dg
    of_values = dg.lattice.location != "nodes"
    dg.field(variable)
    if dg.order < 1 and not of_values:
        raise ValueError("a dataset of order 0 holds no derivatives; run with Hermite(1, derivatives=True) or a higher order")
    field = None if of_values else at_time(ds, time, dg.derivatives(variable))

    def along(k):
        first = (difference(ds, variable, dg.axes[k], time) if of_values
                 else field.isel(derivative=(dg.order + 1) ** k) / dg.lattice.spacing[k])
        return first.variable
    return with_derivatives(ds, variable, time, along)
