"""`ds.dg` and `tree.dg`: norms, errors, integrals, point values and pictures of a run, exact for its polynomials."""
from __future__ import annotations

from functools import cached_property, reduce
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from dgarray.mesh.elements import Elements
from dgarray.mesh.locate import Locator
from dgarray.output import evaluation as post
from dgarray.output.dataset import AXES, LOCATIONS, UNITLESS, variables_of
from dgarray.output.derived_fields import refuse_derived, with_field
from dgarray.output.joined_runs import check_cells, check_mesh, check_nodes, check_once, check_one_run
from dgarray.output.pieces import end_to_end, first_inside, one_for_each_shape, zones_of
from dgarray.output.store.verify import naming_damage
from dgarray.spaces import TensorSpace, polynomial_space
from dgarray.spaces.norms import with_total
from dgarray.support.wording import choose, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike
    from pathlib import Path

    from numpy.typing import ArrayLike

    from dgarray.reference.shapes import Shape


@naming_damage
class Accessor:
    """Evaluation, norms and pictures of a run, a dataset of nodal polynomials or a tree of zones, from the data alone.

    zones  {name: dataset} of a tree; of a dataset {"": the dataset}
    dim, order, axes   dimension, the highest order, names of the coordinates
    Everywhere `time` is an index (int, -1 the last), a time (float, the nearest snapshot), or None for all snapshots.
    Results over all times are lazy if the dataset is (dask); else one snapshot at a time is read.
    Zones of one shape of cells are one dataset of their highest order. Elements of several shapes are numbered one shape after
    the other, and what is about the cells of one shape (space, reference, cells, locator ...) is asked of a zone:
    tree.dg.zones["triangle"].dg.space."""

    def __init__(self, data: xr.Dataset | xr.DataTree):
        self._data, self.zones = data, zones_of(data)
        self.dim, self.order = int(self._first.attrs["dim"]), max(int(ds.attrs["order"]) for ds in self.zones.values())
        # Names of the coordinates; a slice may have x and z, or others.
        self.axes = tuple(self._first.attrs["axes"].split()) if "axes" in self._first.attrs else AXES[:self.dim]

    def __getstate__(self):
        # What is kept for the next call is left behind.
        return {name: getattr(self, name) for name in ("_data", "zones", "dim", "order", "axes")}

    def __repr__(self):
        if "" not in self.zones:
            return "\n".join(f"{name}: {ds.dg!r}" for name, ds in self.zones.items())
        return (f"{', '.join(self.variables)}: polynomials of degree {self.order} on {self._ds.sizes['element']} "
                f"{self._ds.attrs['cell_type']} cells")

    @cached_property
    def _pieces(self):
        """One dataset for each shape of cells."""
        return list(self.zones.values()) if "" in self.zones else one_for_each_shape(self.zones)

    @property
    def _first(self):
        return next(iter(self.zones.values()))

    @property
    def _ds(self):
        """The one dataset. Raises AttributeError where there are several."""
        if len(self._pieces) > 1:
            raise AttributeError("the run has cells of several shapes, of which one dataset does not hold this; ask a zone: "
                                 f"tree.dg.zones[{next(iter(self.zones))!r}].dg (zones: {', '.join(self.zones)})")
        return self._pieces[0]

    def datasets(self, time: float | None = None) -> list[xr.Dataset]:
        """One dataset for each shape of cells, or one snapshot of them."""
        if time is None or "time" not in self._first.dims:
            return list(self._pieces)
        return [ds.isel(time=[self.index(time)]) for ds in self._pieces]

    def whole(self, time: float | None = None) -> xr.Dataset:
        """All as one dataset, or one snapshot of it. Raises AttributeError for cells of several shapes."""
        self._ds          # noqa: B018  refuses several
        return self.datasets(time)[0]

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the nodal fields: those of the law in its order, then those that the user added."""
        ds = self._first
        added = (name for name, data in ds.data_vars.items() if {"element", "node"} <= set(data.dims))
        return tuple(dict.fromkeys([*(name for name in variables_of(ds) if name in ds.data_vars), *added]))

    @property
    def reference(self) -> Any:
        """The reference cell of the polynomials, `dgarray.reference.reference_cell`."""
        return self.space.cell

    @property
    def cell_shape(self) -> Shape:
        """The `dgarray.reference.Shape` of the elements."""
        return self.space.mesh.cell_shape

    @cached_property
    def space(self) -> Any:
        """The function space of the fields, see `dgarray.spaces`."""
        elements = Elements(self.points, self.cells, self._ds["cell_number"].values, self.geometry_nodes)
        if elements.cell_shape.tensor:
            space = TensorSpace(elements, self.order, self._ds.attrs["nodes"])
        else:
            space = polynomial_space(elements, self.order)
        check_nodes(self._ds, elements, space.cell.nodes, self.axes)
        return space

    @cached_property
    def points(self) -> np.ndarray:
        """Corners of the mesh (point, dim)."""
        check_mesh(self._ds)
        return np.column_stack([self._ds[f"mesh_node_{axis}"].values for axis in self.axes])

    @cached_property
    def cells(self) -> np.ndarray:
        """Corners of the elements (element, corner)."""
        check_mesh(self._ds)
        check_once(self._ds)
        cells = self._ds[f"mesh_{LOCATIONS[self.dim]}_nodes"].values
        return check_cells(cells, self._ds.sizes["mesh_node"])

    @cached_property
    def geometry_nodes(self) -> np.ndarray | None:
        """Nodes of the maps of curved cells (element, geometry node, dim); None where all cells are straight."""
        if f"mesh_geometry_{self.axes[0]}" not in self._ds:
            return None
        return np.stack([self._ds[f"mesh_geometry_{axis}"].values for axis in self.axes], axis=-1)

    @cached_property
    def jacobians(self) -> np.ndarray:
        """|det dx/dr| of the elements (element,); its mean where it varies."""
        return self.space.jacobians

    @cached_property
    def locator(self) -> Locator:
        """Which element holds a point: `locator.find(x)`."""
        return Locator(self.points, self.cells, self.geometry_nodes)

    @cached_property
    def bounds(self) -> np.ndarray:
        """Lowest and highest coordinates (2, dim) of the domain."""
        found = [post.bounds(ds) for ds in self._pieces]
        return np.stack([np.min([low for low, _ in found], axis=0), np.max([high for _, high in found], axis=0)])

    def evaluation(self, points: np.ndarray) -> Any:
        """The fields' evaluation at points (..., dim), an `output.post.Evaluation`, for `sample` and its relatives."""
        return post.locate(self, points)

    def evaluation_on(self, ticks: Sequence[np.ndarray]) -> Any:
        """The fields' evaluation at all points of a lattice with these coordinates, one array for each axis, for `grid`."""
        return self.evaluation(np.stack(np.meshgrid(*reversed(ticks), indexing="ij")[::-1], axis=-1))

    def norm(self, variable: str, time: float | None = -1) -> Any:
        """L2 norm by the exact mass matrix, sqrt(sum_e J_e u_e^T M u_e): a number, for time=None a DataArray over time."""
        return reduce(np.hypot, [post.norm(ds, variable, time) for ds in self._pieces])

    def integral(self, variable: str, time: float | None = -1) -> Any:
        """Integral over the domain, sum_e J_e 1^T M u_e: a number, for time=None a DataArray over time."""
        return reduce(np.add, [post.integral(ds, variable, time) for ds in self._pieces])

    def error(self, variable: str | Callable, exact: Callable | None = None, time: float | None = -1) -> Any:
        """L2 norm of u - exact(x, t) with a quadrature of degree 2 order + 4.

        `error("Ez", exact)` is a number; `error(exact)` a dict by variable with "total", the root sum of squares.
        exact: exact(x, t), x a tuple of arrays, returns a tuple with one component per variable of the law
        Raises ValueError for an unknown variable or another number of components."""
        one = None if exact is None and callable(variable) else variable
        exact = variable if exact is None and callable(variable) else exact
        if not callable(exact):
            raise ValueError(f"the exact solution is {exact!r}; it must be a function exact(x, t)")
        names = variables_of(self._first)
        if one is not None:
            choose("variable", one, names, " in the law; it has")
        index = self.index(time)
        t = float(self._times()[index])
        errors = with_total(names, reduce(np.hypot, [ds.dg._errors(names, exact, t, index) for ds in self._pieces]))
        return errors if one is None else errors[one]

    def _errors(self, names, exact, t, index):
        q = np.stack([self.values(name, index).T for name in names])
        return self.space.error(q, exact, t)

    def sample(self, points: ArrayLike, time: float | None = None) -> xr.Dataset:
        """Values of the polynomials at any points, exact to rounding, NaN outside the mesh.

        points: (point, dim); a point on a face gets the value of one of its elements
        Returns a Dataset with the dim `point` (and `time`, unless one time is chosen), with x, y, z and `element`
        (-1 outside) as coordinates. Raises ValueError for another shape."""
        return self._first_inside([post.sample(ds, points, time) for ds in self._pieces])

    def line(self, a: ArrayLike, b: ArrayLike, n: int = 101, time: float | None = None) -> xr.Dataset:
        """Values at n points from a to b, both included, evaluated as by `sample`.

        a, b: (dim,) different points
        Returns a Dataset with the dim and coordinate `distance`, the length from a, and x, y, z and `element` along it.
        Raises ValueError for other shapes, equal ends and n below 2."""
        return self._first_inside([post.line(ds, a, b, n, time) for ds in self._pieces])

    def grid(self, shape: int | Sequence[int] | None = None, lower: ArrayLike | None = None, upper: ArrayLike | None = None,
             time: float | None = None, spacing: float | Sequence[float] | None = None) -> xr.Dataset:
        """Values on a regular grid, evaluated as by `sample`, NaN outside the mesh.

        shape:   number of points, one for all directions or one each in the order x, y, z; both ends are included
        spacing: instead of shape, the distance of the points, which start at `lower`; one or one each
        lower, upper: (dim,) corners of the grid, by default those of the mesh; equal in a direction with one point
        Returns a Dataset with the dims (time, z, y, x) and their 1D coordinates. Raises ValueError for other shapes."""
        low, high = self.bounds
        lower, upper = (low if lower is None else lower), (high if upper is None else upper)
        return self._first_inside([post.grid(ds, shape, lower, upper, time, spacing) for ds in self._pieces])

    def _first_inside(self, found):
        return first_inside(found, [ds.sizes.get("element", 0) for ds in self._pieces])

    def slice(self, plane: Any, time: float | None = None) -> xr.Dataset:
        """The dataset on a plane (3D) or a line (2D), exact: again nodal polynomials of the order, one dimension lower.

        plane: such as "z=0.5", or (origin, normal)
        Returns a Dataset with the dims (time, element, node), the coordinates x, y, z and `cell_number` of the cells that
        were cut, and its own `dg`: plot, norm, sample, grid and slice work on it. `dg.axes` are its coordinates: across an
        axis the other two; else lengths from the origin, s1 (horizontal) and s2 = normal x s1, in 2D s.
        If the plane contains faces, the cells below it (against the normal) are used; at the boundary the existing ones.
        Pieces of cells of several shapes have the highest order that one of them needs: twice that of the run, up to 10, where
        cells are no simplices.
        Raises ValueError for an invalid plane, or one that misses the mesh."""
        from dgarray.output.slices import cut

        return cut(self._pieces, plane, time)

    def cell_mean(self, variable: str | None = None, time: float | None = None) -> xr.DataArray | Any:
        """Mean values over the cells, 1/|e| integral of u over e: a DataArray (time, element), for None a Dataset of all
        fields; x, y, z are the cells' centres. Raises ValueError for an unknown variable."""
        means = end_to_end([post.cell_means(ds, variable, time) for ds in self._pieces], "element")
        return means if variable is None else means[variable]

    def gradient(self, variable: str, time: float | None = None) -> xr.Dataset | xr.DataTree:
        """The derivatives du/dx_i = sum_k dr_k/dx_i D_k u of a field, element by element, exact for its polynomials.

        Returns the dataset (of several shapes the tree) with the fields d{variable}_dx, d{variable}_dy, d{variable}_dz (time,
        element, node) in place of its own, and its `dg`. Raises ValueError for an unknown variable."""
        return self._of_each(lambda ds: post.gradient(ds, variable, time))

    def _of_each(self, function):
        """The dataset that a function of datasets gives; of cells of several shapes the tree of those of the zones."""
        if len(self._pieces) == 1:
            return function(self._ds)
        return xr.DataTree.from_dict({name: function(ds) for name, ds in self.zones.items()})

    def surface(self, name: str, time: float | None = None) -> xr.Dataset:
        """The fields at the nodes of the boundary `name`, seen from inside, for all snapshots or the chosen one.

        Returns a Dataset with the dims (time, face, face_node), the coordinates x, y, z and weight (face, face_node), the
        outward unit normal normal_x, normal_y, normal_z, area and cell_number (face); the integral of a field over the boundary
        is (field * ds.weight).sum(("face", "face_node")). Where faces have different numbers of nodes, the others are NaN.
        Raises ValueError for an unknown boundary."""
        from dgarray.output.surface import surfaces

        return end_to_end(surfaces(self._pieces, name, time), "face")

    def record(self, name: str) -> xr.Dataset:
        """Record of the recorder `name` of the run (`Simulation(..., record={name: recorder})`), a Dataset with plain names.

        Its times are its own. Raises ValueError for an unknown record."""
        from dgarray.output.surface import record

        return record(self._holder(name), name)

    def _holder(self, name):
        """The dataset that has a record, the first where none has it."""
        return next((ds for ds in self._pieces if any(str(v).startswith(f"{name}_") for v in ds.variables)), self._pieces[0])

    def to_ugrid(self, subdivide: int = 1, time: float | None = None) -> xr.Dataset:
        """A 2D dataset in the UGRID conventions, with means over faces, for `xugrid.UgridDataset`.

        subdivide: parts n of each edge; each cell becomes n^2 faces, so that the order is visible
        Returns a Dataset with the dims (time, mesh2d_nFaces); triangles beside quadrilaterals have -1 for their fourth corner.
        Raises ValueError in 1D and 3D."""
        from dgarray.output.ugrid import to_ugrid

        return to_ugrid(self._pieces, subdivide, time)

    def to_vtk(self, path: str | PathLike, variables: str | Sequence[str] | None = None, time: float | None = None,
               overwrite: bool = False) -> Path:
        """Write fields for ParaView, PyVista or VTK, as Lagrange cells of the run's order; returns the path.

        path: `.vtkhdf` holds all snapshots and the mesh once, `.vtu` one snapshot (the last, if time is None)
        Cell data: region, cell_number, and boundary, which numbers the names in the field data `boundary_names`.
        Raises ValueError for another suffix, an unknown variable or time, a path that exists (unless overwrite)."""
        from dgarray.output.vtk.cells import Cells
        from dgarray.output.vtk.files import export

        return export(Cells, self._pieces, path, variables, time, overwrite)

    def to_pyvista(self, variables: str | Sequence[str] | None = None, time: float | None = -1) -> Any:
        """One snapshot as a pyvista.UnstructuredGrid, to plot, clip, contour or stream through without a file.

        Lagrange cells of the run's order, each with points of its own: `.tessellate()` shows their curves. Cells, arrays and
        field data are those of `to_vtk`. The named boundary faces are cells too: those with the cell array boundary above 0,
        which numbers the names in field_data["boundary_names"].
        variables   name, or several, of nodal fields; by default all
        time        index (int) or time (float) of the snapshot, by default the last
        Raises ValueError for an unknown variable or time, ImportError without PyVista."""
        from dgarray.output.vtk.cells import Cells
        from dgarray.output.vtk.to_pyvista import to_pyvista

        return to_pyvista(Cells, self._pieces, variables, time)

    def with_fields(self, *names: str) -> xr.Dataset | xr.DataTree:
        """The dataset (of several shapes the tree) with fields that follow from its own by the law of the run, besides these:
        of a gas "pressure", "mach", "sound_speed", "entropy", and primitive variables such as "u" and "p".

        They are values at the nodes, which `sample`, `slice`, `norm`, `to_vtk` and all else take for polynomials like the
        others: ds.dg.with_fields("mach").dg.sample(points). `plot` and `animate` take such names as they are.
        Raises ValueError for a name that neither the dataset nor the law has."""
        return self._of_each(lambda ds: reduce(with_field, names, ds))

    def plot(self, variable: str, time: float | None = -1, ax: Any = None, path: str | PathLike | None = None,
             record: str | None = None, spectrum: bool = False, **options: Any) -> Any:
        """Draw a field at its true polynomial order: lines, coloured triangles, in 3D slices or surfaces.

        variable a field of the dataset, or one of `with_fields`, such as "mach" of a gas
        time     index (int) or time (float) of the snapshot
        ax:      matplotlib axes to draw into, a new figure by default
        path:    image file to write instead, without a window
        record:  name of a record, drawn over time instead of the field, or with spectrum=True over frequency
        options: limits=(low, high), log=True, cmap="magma", zoom=(0, 1, -1, 1), isolines=10, levels=(0.1, 0.5), mesh=True,
        slice="z=0.5", surface="boundary", with a path dpi=300, and more: see `output.plot.draw`
        Returns the axes, in 3D without a single slice a PyVista plotter (`.show()`), with a path the path.
        Raises ValueError for an unknown variable, time, plane, boundary or record, ImportError without the library."""
        from dgarray.output.pictures import plot, record_curves as curves

        if record is not None or spectrum:
            if record is None:
                raise ValueError("spectrum=True needs record=, the name of a record")
            return (curves.spectrum if spectrum else curves.series)(self._holder(record), record, variable, path, ax, **options)
        if path is None:
            return plot.draw(self._pieces, variable, time, ax, **options)
        if ax is not None:
            raise ValueError("ax and path are both given; give one")
        return plot.plot(self._pieces, variable, time, path, **options)

    def animate(self, variable: str, path: str | PathLike | None = None, fps: float = 10, **options: Any) -> Any:
        """A movie of all snapshots with one range of colours.

        variable: as in `plot`
        path:    file to write, .gif, .mp4 or .webp; None for a matplotlib animation (in a notebook `HTML(it.to_jshtml())`)
        fps:     snapshots per second; options: as in `plot`
        Returns the path or the animation. Raises ValueError as `plot` and for another suffix, ImportError without ffmpeg."""
        from dgarray.output.pictures import movie

        if path is None:
            return movie.animation(self._pieces, variable, fps, **options)
        return movie.movie(self._pieces, variable, path, fps, **options)

    def values(self, variable: str, time: float | None = -1) -> np.ndarray:
        """The field at one time as an array (element, node), NaN at nodes that cells of a shape do not have.

        Raises ValueError for an unknown variable or time."""
        field, index = self.field(variable), self.index(time)
        check_one_run(field)
        return (field.isel(time=index) if "time" in field.dims else field).transpose("element", "node").values

    def field(self, variable: str) -> xr.DataArray:
        """The DataArray of a nodal field, NaN at nodes that cells of a shape do not have; a misspelt name is answered with the
        nearest one."""
        refuse_derived(self._first, variable)
        name = choose("variable", variable, self.variables, " in the dataset; it has")
        return end_to_end([ds if len(self._pieces) == 1 else ds[[name]] for ds in self._pieces], "element")[name]

    def units(self, name: str) -> str:
        """Units of a variable or coordinate, "normalised" if it has none; of one that was dropped those of the mesh."""
        ds, corners = self._first, f"mesh_node_{name}"
        return ds[corners if name not in ds and corners in ds else name].attrs.get("units", UNITLESS)

    def index(self, time: Any) -> int:
        """Position of a time: an int is an index, from the end if negative; a float chooses the nearest snapshot.

        A dataset without the dim time has one snapshot; one without the coordinate time allows indices only.
        Raises ValueError for others."""
        time = time.item() if getattr(time, "ndim", None) == 0 else time
        if not isinstance(time, Real) or isinstance(time, bool):
            raise ValueError(f"time {time!r} is not allowed; give an index (int, -1 the last) or a time (float)")
        count = self._first.sizes.get("time", 1)
        if not count:
            raise ValueError("the dataset holds no snapshot yet")
        if isinstance(time, Integral):
            if not -count <= time < count:
                raise ValueError(f"time index {time} is not in the dataset; it has {plural(count, 'snapshot')}, "
                                 f"allowed: {-count} to {count - 1} (a float chooses by time)")
            return int(time) % count
        times = self._times()
        first, end = times.min(), times.max()          # a selection may have turned them round
        slack = 1e-9 * max(abs(first), abs(end))
        if not first - slack <= time <= end + slack:
            last = f" to {end:g}" * (count > 1)
            raise ValueError(f"time {time:g} is not in the dataset; it has t = {first:g}{last}")
        return int(np.abs(times - time).argmin())

    def _times(self):
        """The times of the snapshots (time,); ValueError for a dataset without them."""
        if "time" not in self._first.coords:
            raise ValueError("the dataset has no coordinate time, so that no time can be chosen or compared with")
        return self._first["time"].values.reshape(-1)
