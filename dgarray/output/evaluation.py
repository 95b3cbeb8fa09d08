"""Point values, lines, regular grids, cell means and gradients of a run's dataset, exact for its polynomials.

Every function takes the dataset and returns labelled xarray objects. Where a field is chunked (dask) the result is lazy,
with one snapshot per task; else one snapshot at a time is read.
"""
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr

from dgarray.mesh.curved import cell_maps
from dgarray.output.dataset import UNITLESS, naming
from dgarray.reference.simplex import Simplex

# Entries of interpolation matrices that are kept for the next snapshot; larger ones are computed again in blocks.
KEPT_VALUES = 1 << 24
# More points than this are taken for a mistake.
GRID_POINTS = 1 << 31


def by_snapshot(field, function, dims=(), shape=(), some=None, dtype=None, core=("element", "node")):
    """Apply a function of one snapshot to all: a Variable with the leading dims of the field, then `dims`.

    field:    DataArray with the dims `core`, and any others
    function: array with the dims `core` -> array of `shape`
    some:     {dim of core: positions, sorted} of the only ones that the function gets; None for all
    dtype:    of the result, by default that of the field (integers become float64)"""
    source = field.variable.transpose(..., *core)
    lead = source.dims[:-len(core)]
    outer = source.ndim - len(core)
    dtype = np.dtype(dtype or np.result_type(source.dtype, np.float32))

    def chosen(variable):
        return variable if some is None else variable.isel(some)

    def on_block(block):
        out = np.empty((*block.shape[:outer], *shape), dtype)
        for index in np.ndindex(block.shape[:outer]):
            out[index] = function(block[index])
        return out

    if source.chunks is None:
        out = np.empty((*source.shape[:outer], *shape), dtype)
        for index in np.ndindex(source.shape[:outer]):
            out[index] = function(chosen(source[index]).values)
        return xr.Variable((*lead, *dims), out)
    # What is asked for is chosen before the chunks are joined, so that chunks without any of it are not read.
    whole = chosen(source).chunk(dict.fromkeys(core, -1))
    return xr.apply_ufunc(on_block, whole, input_core_dims=[core], output_core_dims=[dims], exclude_dims=set(core),
                          dask="parallelized",
                          dask_gufunc_kwargs={"output_sizes": dict(zip(dims, shape)), "meta": np.empty(0, dtype)})


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Nodal polynomials at fixed places: u(p) = sum_j l_j(r_p) u[element_p, j], NaN where element_p is negative.

    reference: the cell; element: any shape, positions of elements; r: (*element.shape, dim) reference coordinates"""

    reference: Simplex
    element: np.ndarray
    r: np.ndarray

    @cached_property
    def _inside(self):
        return np.flatnonzero(self.element.ravel() >= 0)

    @cached_property
    def _hit_and_rows(self):
        # Each element is read once, also where many points lie in it.
        hit, rows = np.unique(self.element.ravel()[self._inside], return_inverse=True)
        # Without any, one element keeps the shapes and dtypes as they are.
        return (hit if len(hit) else np.zeros(1, hit.dtype)), rows.ravel()

    @cached_property
    def _kept(self):
        return self._matrix(slice(None))

    def _matrix(self, block):
        return self.reference.interpolation(self.r.reshape(-1, self.reference.dim)[self._inside[block]])

    def _matrices(self):
        count, step = len(self._inside), max(1, KEPT_VALUES // len(self.reference.nodes))
        if not count:
            return
        if count <= step:
            yield slice(None), self._kept
            return
        for start in range(0, count, step):
            block = slice(start, start + step)
            yield block, self._matrix(block)

    def __call__(self, field, dims):
        """The field (DataArray) at the places: a Variable (..., *dims), lazy if the field is."""
        hit, rows = self._hit_and_rows

        def at_places(nodal):
            out = np.full(self.element.size, np.nan, np.result_type(nodal.dtype, np.float32))
            for block, matrix in self._matrices():
                out[self._inside[block]] = np.einsum("pn,pn->p", matrix, nodal[rows[block]])
            return out.reshape(self.element.shape)

        return by_snapshot(field, at_places, tuple(dims), self.element.shape, {"element": hit})

    def coords(self, dims):
        """The coordinate that says which element holds each place."""
        return {"element": (dims, self.element, {"long_name": "element that holds the point, -1 outside"})}

    def dataset(self, ds, dims, coords, attrs):
        """All nodal fields of `ds` at the places, with `coords` and the coordinates along the fields' other dims."""
        data = {name: labelled(self(ds[name], dims), ds[name]) for name in ds.dg.variables}
        return gathered(ds, data, dims, coords, attrs)


def gathered(ds, data, dims, coords, attrs):
    """Dataset of the Variables `data` over `dims`, with `coords`, the coordinates of `ds` along their other dims, and its
    attributes and more."""
    lead = {dim for variable in data.values() for dim in variable.dims} - set(dims)
    kept = {name: coord.variable for name, coord in ds.coords.items() if set(coord.dims) <= lead}
    return xr.Dataset(data, {**kept, **coords}, {**ds.attrs, **attrs})


def labelled(variable, source, **attrs):
    """`variable` with the attributes of `source`, without those that place it on the mesh, and with more."""
    kept = {name: value for name, value in source.attrs.items() if name not in ("mesh", "location")}
    return xr.Variable(variable.dims, variable.data, {**kept, **attrs})


def at_time(ds, time, field=None):
    """The dataset, or a field of it, at one time, which it must have; all of it for None."""
    data = ds if field is None else field
    if time is None:
        return data
    index = ds.dg.index(time)
    return data.isel(time=index) if "time" in data.dims else data


def locate(dg, points):
    """Evaluation at the points (..., dim) of the mesh's coordinates."""
    element, r = dg.locator.find(points.reshape(-1, dg.dim))
    return Evaluation(dg.reference, element.reshape(points.shape[:-1]), r.reshape(points.shape))


def sample(ds, points, time=None):
    """Values at points (point, dim), dim `point`; see Accessor.sample."""
    dg = ds.dg
    points = np.asarray(points, dtype="float64")
    if points.ndim != 2 or points.shape[1] != dg.dim:
        raise ValueError(f"points have the shape {points.shape}; it must be (point, {dg.dim})")
    return _along(ds, time, points, "point", {}, "polynomials evaluated at points")


def line(ds, a, b, n=101, time=None):
    """Values at n points from a to b, dim `distance`; see Accessor.line."""
    a, b = (_position(ds, name, point) for name, point in (("a", a), ("b", b)))
    n = whole_number("n", n, 2)
    length = float(np.linalg.norm(b - a))
    if length == 0:
        raise ValueError(f"a and b are both {tuple(a.tolist())}; a line needs two different points")
    share = np.linspace(0, 1, n)
    distance = ("distance", share * length, {"long_name": "distance from a", "units": ds.dg.units(ds.dg.axes[0])})
    # This form meets both ends without rounding.
    points = (1 - share)[:, None] * a + share[:, None] * b
    return _along(ds, time, points, "distance", {"distance": distance}, "polynomials evaluated along a line")


def _along(ds, time, points, dim, coords, how):
    # The accessor of the whole dataset keeps its locator for the next call.
    evaluation = ds.dg.evaluation(points)
    coords = {**coords, **evaluation.coords(dim)}
    for number, axis in enumerate(ds.dg.axes):
        coords[axis] = dim, points[:, number], ds[axis].attrs if axis in ds else {}
    return evaluation.dataset(at_time(ds, time), (dim,), coords, {"sampled": how})


def grid(ds, shape=None, lower=None, upper=None, time=None, spacing=None):
    """Values on a regular grid; see Accessor.grid."""
    dg = ds.dg
    lower = dg.bounds[0] if lower is None else _position(ds, "lower", lower)
    upper = dg.bounds[1] if upper is None else _position(ds, "upper", upper)
    if (upper < lower).any():
        raise ValueError(f"upper {tuple(upper.tolist())} is below lower {tuple(lower.tolist())}; "
                         f"it must not be smaller in any direction")
    if (shape is None) == (spacing is None):
        raise ValueError(f"shape is {shape!r} and spacing is {spacing!r}; give one of them, the other None")
    if shape is not None:
        counts = [whole_number("shape", count, 1) for count in _each(shape, "shape", dg.dim)]
        _refuse_large(counts)
        ticks = [np.linspace(*ends) for ends in zip(lower, upper, counts)]
    else:
        steps = np.array([float(step) for step in _each(spacing, "spacing", dg.dim)])
        if not (np.isfinite(steps) & (steps > 0)).all():
            raise ValueError(f"spacing {spacing!r} is not allowed; it must be positive")
        # A side that is a multiple of the spacing has its last point, whatever the rounding.
        counts = [int(count) + 1 for count in np.floor((upper - lower) / steps * (1 + 1e-12) + 1e-9)]
        _refuse_large(counts)
        ticks = [start + step * np.arange(count) for start, step, count in zip(lower, steps, counts)]
    dims = tuple(reversed(dg.axes))
    coords = {axis: (axis, tick, {"long_name": axis, "units": dg.units(axis)}) for axis, tick in zip(dg.axes, ticks)}
    attrs = {"sampled": "polynomials evaluated on a regular grid"}
    return dg.evaluation_on(ticks).dataset(at_time(ds, time), dims, coords, attrs)


def norm(ds, variable, time=-1):
    """L2 norm, a number, or a DataArray over the dims that are left; see Accessor.norm."""
    def of(real, imaginary):
        return np.hypot(real, imaginary)

    return _reduced(ds, variable, time, ds.dg.space.norm, of, "float64")


def integral(ds, variable, time=-1):
    """Integral over the domain, a number, or a DataArray over the dims that are left; see Accessor.integral."""
    def of(real, imaginary):
        return real + 1j * imaginary

    return _reduced(ds, variable, time, ds.dg.space.integral, of, "complex128")


def _reduced(ds, variable, time, reduce, combine, dtype):
    dg = ds.dg
    field = at_time(ds, time, dg.field(variable))

    def number(nodal):
        return reduce(nodal.T)

    if np.iscomplexobj(field):
        return reduced(field, variable, lambda nodal: combine(number(nodal.real), number(nodal.imag)), dtype)
    return reduced(field, variable, number, "float64")


def reduced(field, name, function, dtype, core=("element", "node")):
    """A function of one snapshot that gives a number: the number, or over the dims that are left a DataArray of this name."""
    out = by_snapshot(field, function, dtype=dtype, core=core)
    if not out.dims:
        return out.values.item()
    coords = {coord: values.variable for coord, values in field.coords.items() if set(values.dims) <= set(out.dims)}
    return xr.DataArray(out, coords, name=name)


def bounds(ds):
    """Lowest and highest coordinates (2, dim) of the cells."""
    if ds.dg.geometry_nodes is not None:
        return np.stack(ds.dg.space.bounds())
    corners = ds.dg.points[ds.dg.cells]
    return np.stack([corners.min(axis=(0, 1)), corners.max(axis=(0, 1))])


def cell_means(ds, variable=None, time=None):
    """Means of a field, or of all, over the cells, a Dataset (time, element); see Accessor.cell_mean."""
    dg = ds.dg
    ds = at_time(ds, time)
    mean = dg.space.mean
    names = dg.variables if variable is None else (dg.field(variable).name,)
    data = {name: labelled(by_snapshot(ds[name], mean, ("element",), (len(dg.cells),)), ds[name],
                           long_name=f"cell mean of {ds[name].attrs.get('long_name', name)}") for name in names}
    coords = {name: coord.variable for name, coord in ds.coords.items()
              if coord.dims in (("element",), ("time",), ())}
    centres = cell_maps.centres(dg)
    for number, axis in enumerate(dg.axes):
        attrs = ds[axis].attrs if axis in ds else {"units": dg.units(axis)}
        coords[axis] = "element", centres[number], {**attrs, "long_name": f"{axis} of the cell's centre"}
    return xr.Dataset(data, coords, ds.attrs)


def gradient(ds, variable, time=None):
    """Derivatives along the axes as nodal fields; see Accessor.gradient."""
    dg = ds.dg
    dg.field(variable)
    field = at_time(ds, time)[variable]
    D, drdx = dg.space.derivatives
    shape = len(dg.cells), len(dg.reference.nodes)

    def along(number):
        return by_snapshot(field, lambda nodal: sum((nodal @ D[k].T) * drdx[:, k, number] for k in range(dg.dim)),
                           ("element", "node"), shape)

    return with_derivatives(ds, variable, time, along)


def with_derivatives(ds, variable, time, along):
    """The dataset with the fields d{variable}_d{axis}, for each number of an axis the Variable along(number), in place of its
    own fields."""
    chosen, added = at_time(ds, time), {}
    field = chosen[variable]
    kept = {name: field.attrs[name] for name in ("mesh", "location") if name in field.attrs}
    for number, axis in enumerate(ds.dg.axes):
        added[f"d{variable}_d{axis}"] = labelled(along(number), field, units=quotient(ds.dg, variable, axis), **kept,
                                                 long_name=f"d({field.attrs.get('long_name', variable)})/d{axis}")
    own = [name for name in chosen.variables if "derivative" in chosen[name].dims or name in ds.dg.variables]
    return chosen.drop_vars(own).assign(added).assign_attrs(naming(added))


def quotient(dg, variable, axis):
    """Units of a derivative along an axis."""
    above, below = dg.units(variable), dg.units(axis)
    if below == UNITLESS:
        return above
    return f"{'1' if above == UNITLESS else above}/{below if below.isalnum() else f'({below})'}"


def _position(ds, name, point):
    point = np.atleast_1d(np.asarray(point, dtype="float64"))
    if point.shape != (ds.dg.dim,) or not np.isfinite(point).all():
        raise ValueError(f"{name} is {point.tolist()}; it must have {ds.dg.dim} finite coordinates: {', '.join(ds.dg.axes)}")
    return point


def _each(value, name, dim):
    values = tuple(value) if isinstance(value, (tuple, list, np.ndarray)) else (value,) * dim
    if len(values) != dim:
        raise ValueError(f"{name} {value!r} has {len(values)} entries; it must be one number or {dim}")
    return values


def whole_number(name, value, least):
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        hint = "; a distance is given with spacing=" if name == "shape" else ""
        raise ValueError(f"{name} {value!r} is not allowed; it must be a whole number from {least}{hint}")
    return int(value)


def _refuse_large(counts):
    points = np.prod(np.array(counts, dtype="float64"))
    if points > GRID_POINTS:
        raise ValueError(f"the grid would have {points:.3g} points; at most {GRID_POINTS:,} are allowed")
