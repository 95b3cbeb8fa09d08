"""Datasets of fields on grids: dims (time, z, y, x), with 1D coordinates, as CF has them."""
import json
from dataclasses import dataclass, field, replace

import numpy as np
import xarray as xr

from dgarray.mesh import Grid
from dgarray.output.dataset import AXES, UNITLESS, given, named, naming

GRID_RESERVED = frozenset((*AXES, "time", "derivative", *(f"derivative_{axis}" for axis in AXES)))
SUFFIX = "_derivatives"          # of the array that holds all scaled derivatives of a variable


@dataclass(frozen=True, eq=False, repr=False)
class GridLayout:
    """All that the dataset of a run on a grid holds besides times and values.

    grid         the Grid, or the CellGrid where values belong to the cells
    order        N: the nodes hold the scaled derivatives 0 to N in each direction
    derivatives  whether the dataset keeps them all, else the values only
    variables, long_names, units, attrs   as of a `Layout`
    Raises ValueError for names that are taken."""

    grid: Grid
    order: int
    derivatives: bool
    variables: tuple
    long_names: dict = field(default_factory=dict)
    units: dict = field(default_factory=dict)
    attrs: dict = field(default_factory=dict)

    def __post_init__(self):
        object.__setattr__(self, "variables", tuple(self.variables))
        more = (f"{name}{SUFFIX}" for name in self.variables if self.derivatives)
        named(self.variables, GRID_RESERVED.union(more))

    def __repr__(self):
        return f"GridLayout({', '.join(self.variables)} of order {self.order} on {self.grid!r})"

    state_dims = "variable, coefficient, node"
    whole = property(lambda self: [self], doc="The layouts of all, one of each shape of cells.")

    @property
    def dim(self):
        return self.grid.dim

    @property
    def shape(self):
        """(variable, coefficient, node) of a state; without derivatives only the first coefficient, the values."""
        rows = (self.order + 1) ** self.dim if self.derivatives else 1
        return len(self.variables), rows, int(np.prod(self.grid.shape))

    @property
    def shapes(self):
        """{name: shape of one snapshot} of the arrays along time."""
        more = {f"{name}{SUFFIX}": (self.shape[1], *self.grid.shape) for name in self.variables if self.derivatives}
        return dict.fromkeys(self.variables, self.grid.shape) | more

    @property
    def shared_axes(self):
        """{name: the axis of one snapshot along which several processes share it}: the last one of the grid, its first here."""
        return {name: len(shape) - self.dim for name, shape in self.shapes.items()}

    def fields(self, q):
        """{name: one snapshot} of the arrays along time, from a state (variable, coefficient, node) or whole rows of it."""
        q = q.reshape(*q.shape[:2], -1, *self.grid.shape[1:])
        more = {f"{name}{SUFFIX}": values for name, values in zip(self.variables, q) if self.derivatives}
        return {name: values[0] for name, values in zip(self.variables, q)} | more

    def only(self, variable):
        """The layout of the values of one variable alone, for a picture."""
        return replace(self, variables=(variable,), derivatives=False)

    def middle_height(self):
        """z of the nodes in the middle, in 3D."""
        z = self.grid.axes[2]
        return float(z[len(z) // 2])

    def at_plane(self, origin, normal):
        """The layout of what a plane needs, and the numbers of its cells: all of the grid, None."""
        return self, None

    def dataset(self, times, values):
        """The run's xarray.Dataset.

        times: (time,); values: {name: (time, *shapes[name])}"""
        axes = AXES[:self.dim]
        units = {**dict.fromkeys((*self.variables, "time", *axes), UNITLESS), **self.units}
        coords = {"time": ("time", np.asarray(times, "float64"), {"long_name": "time", "units": units["time"]})}
        for axis, nodes in zip(axes, self.grid.axes):
            long = f"{axis} of the {self.grid.places_word}"
            coords[axis] = axis, nodes, {"long_name": long, "units": units[axis], "axis": axis.upper()}
        data = {}
        for name in self.variables:
            attrs = {"long_name": self.long_names.get(name, name), "units": units[name]}
            data[name] = ("time", *reversed(axes)), values[name], attrs
            if self.derivatives:
                long = {"long_name": f"h^|j| D^j {name} / j!", "units": units[name]}
                data[f"{name}{SUFFIX}"] = ("time", "derivative", *reversed(axes)), values[f"{name}{SUFFIX}"], long
        if self.derivatives:
            for axis, j in zip(axes, exponents(self.order, self.dim)):
                coords[f"derivative_{axis}"] = "derivative", j, {"long_name": f"j_{axis}, order of the derivative in {axis}"}
        return xr.Dataset(data, coords, self.attributes())

    def attributes(self):
        """The attributes of the run's dataset."""
        grid = self.grid
        places = {name: json.dumps(getattr(grid, name)) for name in ("lower", "upper", "cells", "periodic")}
        return {**given(self.attrs), "Conventions": "CF-1.11", "dim": grid.dim, "order": int(self.order),
                "cell_type": grid.cell_type, "location": grid.location, **naming(self.variables), **places}


def exponents(order, dim):
    """Arrays j_x, j_y, ... (derivative,) of the scaled derivatives h^|j| D^j q / j! in the order of the state."""
    return np.unravel_index(np.arange((order + 1) ** dim), (order + 1,) * dim)[::-1]
