"""`ds.dg` of datasets on grids: values at nodes and, where the run kept them, all scaled derivatives, which determine the
Hermite interpolant between the nodes."""
from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import xarray as xr

from dgarray.mesh import Grid
from dgarray.output import grid_post
from dgarray.output.accessor import Accessor
from dgarray.output.dataset import variables_of
from dgarray.output.evaluation import at_time, reduced
from dgarray.output.grid_layout import SUFFIX
from dgarray.output.joined_runs import check_one_run
from dgarray.output.store.verify import naming_damage
from dgarray.spaces import GridSpace, grid_norms

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike
    from pathlib import Path



@naming_damage
class GridAccessor(Accessor):
    """Evaluation, norms and pictures of a dataset on a grid, dims (time, z, y, x); `time` as for `Accessor`.

    A run with `Hermite(..., derivatives=True)` stores the scaled derivatives. `sample`, `line`, `grid` and `gradient` need
    them, and norms and integrals are exact with them. Without them norms and integrals use the trapezoidal rule, as `error`
    always does, and `slice` works for planes of nodes. Values of methods without derivatives (order 0) are linear between the
    nodes; those of finite volumes, which belong to the cells, between the cells' centres, and constant beyond the outermost.
    `record`, `plot`, `animate`, `units`, `field` and `index` are those of `Accessor`."""

    def __repr__(self):
        derivatives = f" and their derivatives up to {self.order} in each direction" if self.hermite else ""
        places = self.lattice.location if self.lattice.location != "nodes" else f"values{derivatives} at the nodes"
        return f"{', '.join(self.variables)}: {places} of {self.lattice!r}"

    @cached_property
    def lattice(self) -> Grid:
        """The Grid of the nodes. Raises ValueError for a part of a grid, which is none."""
        lower, upper, cells, periodic = (json.loads(self._ds.attrs[name]) for name in grid_post.PLACES)
        grid = Grid(lower, upper, tuple(cells), tuple(periodic)).with_values(self._ds.attrs.get("location", "nodes"))
        sizes = tuple(self._ds.sizes.get(axis, 0) for axis in self.axes)
        if sizes != grid.nodes:
            have, had = (", ".join(map(str, counts)) for counts in (sizes, grid.nodes))
            raise ValueError(f"the dataset has {have} {grid.place}s along {', '.join(self.axes)}, the grid of the run {had}; "
                             "norms, points and pictures need the whole grid")
        for axis, nodes, low, high, count in zip(self.axes, grid.axes, lower, upper, cells):
            near = 1e-3 * (high - low) / count + 1e-6 * np.abs(nodes).max()          # they may be float32
            if axis in self._ds.coords and not (np.abs(self._ds[axis].values - nodes) <= near).all():
                raise ValueError(f"the {grid.place}s of this dataset along {axis} are not those of the run's grid in their "
                                 f"order; turn them back, ds.sortby({axis!r}), and keep {axis} as it is")
        return grid

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the fields of values: the law's in its order, then those that the user added."""
        law, axes = variables_of(self._ds), set(self.axes)
        added = (name for name, data in self._ds.data_vars.items() if axes <= set(data.dims) and "derivative" not in data.dims)
        return tuple(dict.fromkeys([*(name for name in law if name in self._ds.data_vars), *added]))

    @property
    def hermite(self) -> tuple[str, ...]:
        """Names of the fields whose derivatives the dataset holds."""
        return tuple(name for name in self.variables if f"{name}{SUFFIX}" in self._ds)

    @property
    def interpolated(self) -> tuple[str, ...]:
        """Names of the fields that have values between the nodes: those with derivatives; of methods of order 0 all, linear."""
        return self.variables if self.order == 0 else self.hermite

    @property
    def bounds(self) -> np.ndarray:
        """Lowest and highest coordinates (2, dim) of the grid."""
        return np.array([self.lattice.lower, self.lattice.upper])

    def derivatives(self, variable: str) -> xr.DataArray:
        """The scaled derivatives h^|j| D^j u / j! of a field, a DataArray (time, derivative, z, y, x).

        Raises ValueError for an unknown variable and where the dataset does not hold them."""
        field = self.field(variable)
        if variable not in self.interpolated:
            raise ValueError(self.needs(variable))
        if variable not in self.hermite:
            return field.expand_dims("derivative", -1 - self.dim)
        return self._ds[f"{variable}{SUFFIX}"]

    def needs(self, variable: str) -> str:
        """Why values of a field between the nodes cannot be had."""
        if self.order == 0:
            return f"a slice of the values of {variable!r} goes through nodes"
        return (f"the dataset holds values of {variable!r} at the nodes only; values between them and derivatives need a run "
                f"with Hermite({self.order}, derivatives=True)")

    def evaluation(self, points: np.ndarray) -> Any:
        """The fields' evaluation at points (..., dim), an `output.grid_post.GridEvaluation`."""
        return grid_post.GridEvaluation(self.lattice, self.order, self.axes, np.asarray(points, float))

    def evaluation_on(self, ticks: Sequence[np.ndarray]) -> Any:
        """The fields' evaluation, axis by axis, at all points of a lattice with these coordinates, one array for each axis."""
        return grid_post.LatticeEvaluation(self.lattice, self.order, self.axes, list(ticks))

    def norm(self, variable: str, time: float | None = -1) -> Any:
        """L2 norm: of the interpolant, exact, or of values by the trapezoidal rule; a number, or over time a DataArray."""
        return self._reduced(variable, time, grid_norms.norm, "float64")

    def integral(self, variable: str, time: float | None = -1) -> Any:
        """Integral over the grid: of the interpolant, exact, or of values by the trapezoidal rule; as `norm`."""
        complex_values = np.iscomplexobj(self.field(variable))
        return self._reduced(variable, time, grid_norms.integral, "complex128" if complex_values else "float64")

    def _reduced(self, variable, time, reduce, dtype):
        lattice, order = self.lattice, self.order if variable in self.hermite else 0
        field = self.derivatives(variable) if order else self.field(variable).expand_dims("derivative")
        return reduced(at_time(self._ds, time, field), variable, lambda c: reduce(lattice, order, c), dtype,
                       ("derivative", *self.axes[::-1]))

    def _errors(self, names, exact, t, index):
        values = np.stack([self.values(name, index).reshape(1, -1) for name in names])
        return GridSpace(self.lattice).error(values, exact, t)

    def slice(self, plane: Any, time: float | None = None) -> xr.Dataset:
        """The dataset on a plane (3D) or a line (2D) across an axis such as "z=0.5": again one on a grid, with derivatives.

        Returns a Dataset with the dims (time, and two of z, y, x) and an own `dg`.
        Raises ValueError for a plane that is not understood, not across an axis, or misses the grid; without derivatives for
        planes between those of the nodes."""
        return grid_post.cut(self._ds, plane, time)

    def gradient(self, variable: str, time: float | None = None) -> xr.Dataset:
        """The derivatives of a field along the axes at the nodes; of finite volumes by central differences, as `divergence`.

        Returns the dataset with the fields d{variable}_dx, d{variable}_dy, d{variable}_dz (time, z, y, x) in place of its own.
        Raises ValueError for an unknown variable, and of Hermite's method for a dataset without derivatives and for order 0."""
        return grid_post.gradient(self._ds, variable, time)

    def divergence(self, vector: str, time: float | None = None) -> xr.DataArray:
        """The divergence of a vector, such as "B" of Bx, By, Bz, from the values by central differences, at the sides of the
        grid one-sided: a DataArray (time, z, y, x).

        Components along axes that the grid does not have count as constant. Raises ValueError for an unknown vector."""
        return grid_post.divergence(self._ds, vector, time).rename(f"div_{vector}")

    def curl(self, vector: str, time: float | None = None) -> xr.Dataset:
        """The curl of a vector such as "B", as `divergence`: the dataset with the fields curl_Bx, curl_By, curl_Bz besides its
        own, or those of them that the dimension gives. Raises ValueError for an unknown vector."""
        chosen = self._ds if time is None or "time" not in self._ds.dims else self._ds.isel(time=[self.index(time)])
        return chosen.assign({f"curl_{vector}{axis}": field for axis, field in grid_post.curl(chosen, vector).items()})

    def to_vtk(self, path: str | PathLike, variables: str | Sequence[str] | None = None, time: float | None = None,
               overwrite: bool = False) -> Path:
        """Write fields at the nodes for ParaView, PyVista or VTK, as an image; returns the path.

        path: `.vtkhdf` holds all snapshots, `.vti` one (the last, if time is None); periodic axes get their first nodes again
        at the end
        Raises ValueError for another suffix, an unknown variable or time, a path that exists (unless overwrite)."""
        from dgarray.output.vtk.files import export
        from dgarray.output.vtk.image import Image

        return export(Image, self._ds, path, variables, time, overwrite)

    def to_pyvista(self, variables: str | Sequence[str] | None = None, time: float | None = -1) -> Any:
        """One snapshot as a pyvista.ImageData: values at its points, of finite volumes at its cells; arguments and errors as of
        `Accessor.to_pyvista`."""
        from dgarray.output.vtk.image import Image
        from dgarray.output.vtk.to_pyvista import to_pyvista

        return to_pyvista(Image, self._ds, variables, time)

    def values(self, variable: str, time: float | None = -1) -> np.ndarray:
        """The values at the nodes at one time as an array (z, y, x). Raises ValueError for an unknown variable or time."""
        field = at_time(self._ds, self.index(time), self.field(variable))
        check_one_run(field, self.axes)
        return field.transpose(*self.axes[::-1]).values

    def coefficients(self, variable: str, time: float | None = -1) -> np.ndarray:
        """The scaled derivatives of a field at one time, an array (derivative, z, y, x). Raises ValueError as `derivatives`."""
        field = at_time(self._ds, self.index(time), self.derivatives(variable))
        return field.transpose("derivative", *self.axes[::-1]).values

    def _no(self, what: str, instead: str) -> NoReturn:
        raise ValueError(f"{what} for meshes, and this dataset is on a grid; {instead}")

    def cell_mean(self, variable: str | None = None, time: float | None = None) -> NoReturn:
        """For meshes only: raises ValueError."""
        self._no("means over cells are", "take ds.dg.integral, or the values at the nodes")

    def surface(self, name: str, time: float | None = None) -> NoReturn:
        """For meshes only: raises ValueError, which says how to get the values on a side of the grid."""
        sides = {side: f"{self.axes[axis]}={self.bounds[end, axis]:g}" for side, (axis, end) in self.lattice.boundaries.items()}
        slices = ", ".join(f"{side} is ds.dg.slice({plane!r})" for side, plane in sides.items())
        self._no("surfaces are", f"its sides are slices: {slices or 'none, all is periodic'}")

    def to_ugrid(self, subdivide: int = 1, time: float | None = None) -> NoReturn:
        """For meshes only: raises ValueError."""
        self._no("UGRID is", "xarray and CF tools read it as it is")

    @property
    def reference(self) -> Any:
        """For meshes only: raises ValueError."""
        self._no("reference cells are", "its polynomials are those of dgarray.reference.hermite")

    points = cells = jacobians = locator = reference


def accessor_of(data):
    """The accessor of a run's dataset or tree: a GridAccessor on grids, else an Accessor."""
    return (GridAccessor if data.attrs.get("cell_type") == "grid" else Accessor)(data)
