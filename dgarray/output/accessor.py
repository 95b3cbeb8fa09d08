"""`ds.dg`: norms, errors, integrals, point values and pictures of a run's dataset, exact for its polynomials."""
import difflib
import json
from functools import cached_property

import numpy as np
import xarray as xr

from dgarray.analysis.norms import integrate, jacobians, l2_error, l2_norm
from dgarray.output.dataset import AXES, LOCATIONS, UNITLESS
from dgarray.output.locate import Locator
from dgarray.reference.simplex import simplex


@xr.register_dataset_accessor("dg")
class Accessor:
    """What a dataset of nodal polynomials can answer; it needs only what the dataset holds.

    Everywhere `time` is an index (int, -1 the last) or a time (float, the nearest snapshot)."""

    def __init__(self, ds):
        self._ds = ds
        missing = [name for name in ("dim", "order", "cell_type") if name not in ds.attrs]
        if missing:
            raise ValueError(f"this dataset is not one of dgarray: it has no attribute {missing[0]!r}")
        self.dim, self.order = int(ds.attrs["dim"]), int(ds.attrs["order"])

    def __repr__(self):
        return (f"{', '.join(self.variables)}: polynomials of degree {self.order} on {self._ds.sizes['element']} "
                f"{self._ds.attrs['cell_type']} cells")

    @property
    def variables(self):
        """Names of the nodal fields: the law's in its order, then those that the user added."""
        law = json.loads(self._ds.attrs.get("variables", "[]"))
        added = (name for name, data in self._ds.data_vars.items() if {"element", "node"} <= set(data.dims))
        return tuple(dict.fromkeys([*(name for name in law if name in self._ds.data_vars), *added]))

    @property
    def reference(self):
        return simplex(self.dim, self.order)

    @cached_property
    def points(self):
        """Corners of the mesh (point, dim)."""
        return np.column_stack([self._ds[f"mesh_node_{axis}"].values for axis in AXES[:self.dim]])

    @cached_property
    def cells(self):
        """Corners of the elements (element, dim + 1)."""
        return self._ds[f"mesh_{LOCATIONS[self.dim]}_nodes"].values

    @cached_property
    def jacobians(self):
        """|det dx/dr| of the elements (element,)."""
        return jacobians(self.points, self.cells)

    @cached_property
    def _locator(self):
        return Locator(self.points, self.cells)

    def norm(self, variable, time=-1):
        """L2 norm by the exact mass matrix, sqrt(sum_e J_e u_e^T M u_e); for time=None a DataArray over time."""
        return self._over_time(l2_norm, variable, time)

    def integral(self, variable, time=-1):
        """Integral over the domain, sum_e J_e 1^T M u_e; for time=None a DataArray over time."""
        return self._over_time(integrate, variable, time)

    def error(self, variable, exact=None, time=-1):
        """L2 norm of u - exact(x, t) with a quadrature of degree 2 order + 4.

        `error("Ez", exact)` is a number; `error(exact)` a dict by variable with "total", the root sum of squares.
        exact: exact(x, t), x a tuple of arrays, returns a tuple with one component per variable of the law
        Raises ValueError for an unknown variable or another number of components."""
        if exact is None and callable(variable):
            variable, exact = None, variable
        if not callable(exact):
            raise ValueError(f"the exact solution is {exact!r}; it must be a function exact(x, t)")
        names = tuple(json.loads(self._ds.attrs["variables"]))
        if variable is not None and variable not in names:
            raise ValueError(_unknown("variable", variable, names, "law"))
        index = self.index(time)
        q = np.stack([self.values(name, index).T for name in names])
        t = float(self._ds["time"].values.reshape(-1)[index])
        errors = dict(zip(names, l2_error(q, exact, t, self.points, self.cells, self.order).tolist()))
        if variable is not None:
            return errors[variable]
        return {**errors, "total": float(np.hypot.reduce(list(errors.values())))}

    def sample(self, points, time=None):
        """Values of the polynomials at any points, exact to rounding, NaN outside the mesh.

        points: (point, dim); a point on a face gets the value of one of its elements
        Returns a Dataset with the dim `point` (and `time`, unless one time is chosen), with x, y, z and `element`
        (-1 outside) as coordinates. Raises ValueError for another shape."""
        points = np.asarray(points, dtype="float64")
        if points.ndim != 2 or points.shape[1] != self.dim:
            raise ValueError(f"points have the shape {points.shape}; it must be (point, {self.dim})")
        element, r = self._locator.find(points)
        inside = np.flatnonzero(element >= 0)
        # Each element is read once, also where many points lie in it.
        hit, rows = np.unique(element[inside], return_inverse=True)
        interpolation = self.reference.interpolation(r[inside])
        ds = self._ds if time is None or "time" not in self._ds.dims else self._ds.isel(time=self.index(time))
        data = {}
        for name in self.variables:
            source = ds[name].transpose(..., "element", "node")
            out = np.full((*source.shape[:-2], len(points)), np.nan, source.dtype)
            # One time step at a time: a lazy dataset need not fit the memory.
            for lead in np.ndindex(source.shape[:-2]):
                nodal = source[lead].values[hit][rows]
                out[(*lead, inside)] = np.einsum("pn,pn->p", interpolation, nodal)
            data[name] = ((*source.dims[:-2], "point"), out, _plain_attrs(source))
        coords = {axis: ("point", points[:, number], self._ds[axis].attrs if axis in self._ds else {})
                  for number, axis in enumerate(AXES[:self.dim])}
        coords["element"] = ("point", element, {"long_name": "element that holds the point, -1 outside"})
        if "time" in ds.coords:
            coords["time"] = ds["time"].variable
        return xr.Dataset(data, coords, {**self._ds.attrs, "sampled": "polynomials evaluated at points"})

    def plot(self, variable, time=-1, ax=None, **options):
        """Draw a 1D or 2D field at its true polynomial order; options as in `output.plot.draw`. Returns the axes."""
        from dgarray.output.plot import draw

        return draw(self._ds, variable, time, ax, **options)

    def values(self, variable, time=-1):
        """The field at one time as an array (element, node). Raises ValueError for an unknown variable or time."""
        field = self.field(variable)
        if "time" in field.dims:
            field = field.isel(time=self.index(time))
        return field.transpose("element", "node").values

    def field(self, variable):
        """The DataArray of a nodal field; a misspelt name is answered with the nearest one."""
        if variable not in self.variables:
            raise ValueError(_unknown("variable", variable, self.variables, "dataset"))
        return self._ds[variable]

    def units(self, name):
        """Units of a variable or coordinate, "normalised" if it has none."""
        return self._ds[name].attrs.get("units", UNITLESS)

    def index(self, time):
        """Position of a time: an int is an index, negative from the end; a float chooses the nearest snapshot."""
        times = self._ds["time"].values.reshape(-1)
        if not len(times):
            raise ValueError("the dataset holds no snapshot yet")
        if isinstance(time, (int, np.integer)):
            if not -len(times) <= time < len(times):
                raise ValueError(f"time index {time} is not in the dataset; it has {len(times)} snapshots, "
                                 f"allowed: {-len(times)} to {len(times) - 1} (a float chooses by time)")
            return int(time) % len(times)
        slack = 1e-9 * max(abs(times[0]), abs(times[-1]))
        if not times[0] - slack <= time <= times[-1] + slack:
            raise ValueError(f"time {time:g} is not in the dataset; it has t = {times[0]:g} to {times[-1]:g}")
        return int(np.abs(times - time).argmin())

    def _over_time(self, reduce, variable, time):
        field = self.field(variable)
        if time is not None or "time" not in field.dims:
            return float(reduce(self.values(variable, -1 if time is None else time).T,
                                self.reference.mass, self.jacobians))
        numbers = [self._over_time(reduce, variable, index) for index in range(field.sizes["time"])]
        return xr.DataArray(numbers, {"time": field["time"].variable}, "time", variable)


def _plain_attrs(array):
    # Point values no longer lie on the mesh.
    return {name: value for name, value in array.attrs.items() if name not in ("mesh", "location")}


def _unknown(kind, name, allowed, owner):
    near = difflib.get_close_matches(str(name), allowed, 1, 0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{kind} {name!r} is not in the {owner}; it has: {', '.join(allowed)}{hint}"
