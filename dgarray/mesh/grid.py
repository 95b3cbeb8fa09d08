"""Uniform Cartesian grids in one, two and three dimensions, for methods with their unknowns at the grid's nodes or cells."""
from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from numbers import Integral
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..support.html_table import table
from ..support.keywords import Keywords
from . import grid_picture
from .errors import MeshError
from .generate import SIDES, per_axis

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from numpy.typing import ArrayLike

AXES = ("x", "y", "z")
GRID_SIDES = {1: (("left", "right"),), 2: SIDES[0], 3: SIDES[1]}
LARGEST = 2 ** 40          # more nodes are taken for a mistyped number


@dataclass(frozen=True, init=False)
class Grid(Keywords):
    """The box [lower, upper] with `cells` equal cells along each axis; the nodes are the corners of the cells.

    lower, upper   corners, one number for each of x, y, z, in 1D a number; 0 and 1 in 1D by default
    cells          number of cells along x, y, z; one for all axes or one each; 16 by default
    periodic       one flag, or one for each axis, by default False; along a periodic axis the last node is the first
    Boundaries of the other axes: left, right (x); 2D: bottom, top (y); 3D: front, back (y), bottom, top (z).
    Raises MeshError for invalid bounds or counts."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    cells: tuple[int, ...]
    periodic: tuple[bool, ...]

    def __init__(self, lower: float | Sequence[float] = (0.0,), upper: float | Sequence[float] = (1.0,),
                 cells: int | Sequence[int] = (16,), periodic: bool | Sequence[bool] = False):
        try:
            corners = [tuple(np.asarray(value, float).reshape(-1).tolist()) for value in (lower, upper)]
        except (TypeError, ValueError):
            raise MeshError(f"lower={lower!r}, upper={upper!r} are not allowed; give numbers") from None
        low, high = corners
        dim = len(low)
        if len(high) != dim or dim > 3 or not np.isfinite([*low, *high]).all() or not all(map(float.__lt__, low, high)):
            raise MeshError(f"lower={lower!r} must be below upper={upper!r} in 1, 2 or 3 coordinates, all finite")
        counts, flags = per_axis(cells, dim, "cells"), per_axis(periodic, dim, "periodic")
        if any(not isinstance(n, Integral) or n < 1 for n in counts) or prod(counts) > LARGEST:
            raise MeshError(f"cells={cells!r} is not allowed; give whole numbers from 1, for {dim} "
                            f"ax{'es' if dim > 1 else 'is'}, at most {LARGEST:.0e} cells in all")
        if any(not isinstance(p, (bool, np.bool_)) for p in flags):
            raise MeshError(f"periodic={periodic!r} is not allowed; give True or False, or one for each axis")
        for name, value in (("lower", low), ("upper", high), ("cells", tuple(map(int, counts))),
                            ("periodic", tuple(map(bool, flags)))):
            object.__setattr__(self, name, value)

    cell_type, notes, structured = "grid", (), True
    place, location, share = "node", "nodes", None
    regions: ClassVar[Mapping[str, np.ndarray]] = MappingProxyType({})          # a grid has none

    def _repr_html_(self):
        """The grid as a table for notebooks."""
        rows = [(name, getattr(self, name)) for name in ("lower", "upper", "cells", "periodic", "spacing")]
        return table("Grid", [*rows, ("values", self.places_word), ("boundaries", ", ".join(self.boundaries) or "none")])

    def with_values(self, location: str) -> Grid:
        """This box with its values at other places: "nodes", "cell averages" or "cell centres"."""
        own = self.lower, self.upper, self.cells, self.periodic
        return Grid(*own) if location == "nodes" else CellGrid(*own, location=location)

    @property
    def source(self) -> str:
        return repr(self)

    @property
    def places_word(self) -> str:
        """The noun for the places of the values, for labels."""
        return "nodes"

    @property
    def dim(self) -> int:
        return len(self.cells)

    @property
    def spacing(self) -> tuple[float, ...]:
        """Length of a cell along x, y, z."""
        return tuple((b - a) / n for a, b, n in zip(self.lower, self.upper, self.cells))

    @property
    def nodes(self) -> tuple[int, ...]:
        """Number of nodes along x, y, z."""
        return tuple(n if glue else n + 1 for n, glue in zip(self.cells, self.periodic))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of nodes along z, y, x."""
        return self.nodes[::-1]

    @property
    def boundaries(self) -> dict[str, tuple[int, int]]:
        """{name: (axis, side)} of the sides that are not periodic; side 0 is the lower one."""
        return {name: (axis, side) for axis, pair in enumerate(GRID_SIDES[self.dim]) if not self.periodic[axis]
                for side, name in enumerate(pair)}

    @cached_property
    def axes(self) -> tuple[np.ndarray, ...]:
        """Coordinates of the nodes along x, y, z."""
        return tuple(a + h * np.arange(n) for a, h, n in zip(self.lower, self.spacing, self.nodes))

    def places(self, rows: slice = slice(None)) -> tuple[np.ndarray, ...]:
        """Coordinates x, y, z of the nodes in some rows along the last axis, arrays that broadcast to (z, y, x)."""
        axes = (*self.axes[:-1], self.axes[-1][rows])
        return tuple(np.meshgrid(*axes[::-1], indexing="ij", sparse=True))[::-1]

    def staggered(self, shift: Sequence[float]) -> tuple[np.ndarray, ...]:
        """Coordinates x, y, z of points half a cell above the nodes along some axes, arrays that broadcast to (z, y, x).

        shift: along x, y, z, 0 (as many points as nodes) or 0.5 (one in every cell)"""
        if len(shift) != self.dim or not set(shift) <= {0, 0.5}:
            raise ValueError(f"shift={shift!r} is not allowed; give 0 or 0.5 for each of the {self.dim} axes")
        axes = [a + h * (np.arange(n if s else m) + s) for a, h, n, m, s in
                zip(self.lower, self.spacing, self.cells, self.nodes, shift)]
        return tuple(np.meshgrid(*axes[::-1], indexing="ij", sparse=True))[::-1]

    def at_nodes(self, values: np.ndarray, shift: Sequence[float]) -> np.ndarray:
        """Values (z, y, x) at the points `staggered(shift)` as values at the nodes: means of both neighbours along the shifted
        axes; beyond the last one at a side that is not periodic, the line through the last two goes on."""
        for k, s in enumerate(shift):
            if s:
                v = np.moveaxis(values, self.dim - 1 - k, 0)
                if self.periodic[k]:
                    v = (v + np.roll(v, 1, axis=0)) / 2
                else:
                    low, high = (2 * v[0] - v[1], 2 * v[-1] - v[-2]) if len(v) > 1 else (v[0], v[0])
                    v = np.concatenate([low[None], v, high[None]])
                    v = (v[1:] + v[:-1]) / 2
                values = np.moveaxis(v, 0, self.dim - 1 - k)
        return values

    @property
    def examples(self) -> tuple[np.ndarray, ...]:
        """Coordinates of one or two nodes, a tuple of arrays."""
        return tuple(axis[:2] if k == 0 else np.full(len(self.axes[0][:2]), axis[0]) for k, axis in enumerate(self.axes))

    def samples(self, count: int) -> tuple[np.ndarray, ...]:
        """Coordinates of `count` nodes along a path that crosses the grid once in x, twice in y, three times in z; arrays."""
        way = np.arange(count) / count
        return tuple(axis[(way * (k + 1) % 1 * len(axis)).astype(int)] for k, axis in enumerate(self.axes))

    @property
    def identity(self) -> tuple[np.ndarray, ...]:
        """The arrays that make it this grid."""
        return tuple(np.array(value) for value in (self.lower, self.upper, self.cells, self.periodic))

    @property
    def measures(self) -> np.ndarray:
        """Length, area or volume of a cell, (1,)."""
        return np.array([prod(self.spacing)])

    @property
    def cell_count(self) -> int:
        """Number of cells."""
        return prod(self.cells)

    @property
    def centroids(self) -> np.ndarray:
        """Centres of the cells, (cell, dim), counted with x fastest."""
        axes = [a + h * (np.arange(n) + 0.5) for a, h, n in zip(self.lower, self.spacing, self.cells)]
        return np.stack([x.ravel() for x in np.meshgrid(*axes[::-1], indexing="ij")[::-1]], axis=-1)

    def refined(self) -> Grid:
        """A grid with twice as many cells along each axis."""
        return replace(self, cells=tuple(2 * n for n in self.cells))

    def plot(self, path: str | PathLike | None = None, ax: Any = None, boundary: str | Sequence[str] | None = None,
             cells: bool = True) -> Any:
        """Draw the grid by matplotlib: the lines between its cells, the sides in colours with a legend of their names, periodic
        ones dotted.

        path, ax, boundary, cells, result and errors as of `Mesh.plot`; of more than 400 cells along an axis in 1D, 100 in 2D
        and 32 in 3D every second, third ... line is drawn"""
        return grid_picture.plot(self, path, ax, boundary, cells)

    def named_place(self, number: int) -> str:
        """Where a node is, for messages."""
        return f"{self.place} {number} at ({', '.join(f'{c:.6g}' for c in self.centre(number))})"

    def near(self, number: int) -> list[str]:
        """Names of the sides that a node is on, or next to."""
        place = np.unravel_index(number, self.shape)[::-1]
        return [name for name, (axis, side) in self.boundaries.items()
                if abs(int(place[axis]) - side * (self.nodes[axis] - 1)) <= 1]

    @property
    def numbers(self) -> range:
        """Numbers of the nodes, counted with x fastest."""
        return range(prod(self.nodes))

    def centre(self, number: int) -> tuple[float, ...]:
        """Coordinates (x, y, z) of a node."""
        return tuple(float(axis[i]) for axis, i in zip(self.axes, np.unravel_index(number, self.shape)[::-1]))

    def weights(self) -> tuple[np.ndarray, ...]:
        """Weights of the trapezoidal rule along x, y, z: integral of u over the box = sum of w u over the nodes."""
        rules = []
        for h, n, glue in zip(self.spacing, self.nodes, self.periodic):
            rule = np.full(n, h)
            rule[[0, -1]] *= 1.0 if glue else 0.5
            rules.append(rule)
        return tuple(rules)

    def locate(self, points: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Cells and places in them of points (point, dim): indices (dim, point), -1 outside, and s (dim, point) from 0 to 1."""
        cells, places = [], []
        for x, a, b, h, n in zip(np.asarray(points, float).T, self.lower, self.upper, self.spacing, self.cells):
            s = (x - a) / h
            cell = np.clip(np.floor(s), 0, n - 1)
            outside = ~((x >= a - 1e-12 * (b - a)) & (x <= b + 1e-12 * (b - a)))
            cells.append(np.where(outside, -1, cell).astype(int))
            places.append(s - cell)
        return np.array(cells), np.array(places)

    def holders(self, points: ArrayLike) -> np.ndarray:
        """Numbers of the cells that hold points (point, dim), counted with x fastest."""
        return np.ravel_multi_index(tuple(self.locate(points)[0][::-1]), self.cells[::-1])

    def between(self, axis: int, x: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """The two places around coordinates x along an axis, and where x lies between them: numbers (2, point), and s (point,)
        from 0 to 1; NaN outside the grid."""
        line = Grid(self.lower[axis], self.upper[axis], self.cells[axis], self.periodic[axis])
        (cell,), (s,) = line.locate(np.asarray(x, float)[:, None])
        low = np.maximum(cell, 0)
        return np.array([low, low + 1]) % self.nodes[axis], np.where(cell < 0, np.nan, s)


@dataclass(frozen=True, init=False)
class CellGrid(Grid):
    """A grid whose values belong to its cells: all that `Grid` says of nodes holds for the centres of the cells.

    location   "cell averages", or "cell centres" for values at the centres"""

    location: str
    place = "cell"

    def __init__(self, lower, upper, cells, periodic=False, location="cell averages"):
        super().__init__(lower, upper, cells, periodic)
        object.__setattr__(self, "location", location)

    @property
    def places_word(self):
        return "cells' centres"

    @property
    def nodes(self):
        """Number of cells along x, y, z."""
        return self.cells

    @cached_property
    def axes(self):
        """Coordinates of the cells' centres along x, y, z."""
        return tuple(a + h * (np.arange(n) + 0.5) for a, h, n in zip(self.lower, self.spacing, self.cells))

    def weights(self):
        """Lengths of the cells along x, y, z: integral of u over the box = sum of w u over the cells."""
        return tuple(np.full(n, h) for h, n in zip(self.spacing, self.cells))

    def between(self, axis, x):
        """The two centres around coordinates x, as of `Grid`: on an axis that is not periodic, beyond the outermost one twice
        that."""
        _, s = super().between(axis, x)
        n = self.cells[axis]
        place = np.where(np.isnan(s), 0.0, (np.asarray(x, float) - self.lower[axis]) / self.spacing[axis] - 0.5)
        low = np.floor(place)
        both = np.array([low, low + 1]).astype(int)
        both = both % n if self.periodic[axis] else np.clip(both, 0, n - 1)
        return both, np.where(np.isnan(s), s, place - low)
