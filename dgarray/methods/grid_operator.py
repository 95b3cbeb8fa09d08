"""Operators on a grid: each variable is given at the nodes, or at points staggered by half a cell."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..physics.pointwise import at_points, written_at
from ..support.wording import choose
from .operator import Operator

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..mesh.grid import Grid
    from .problem import Problem


class GridOperator(Operator):
    """An operator on a `Grid` with one array (z, y, x) for each variable of the law, at the nodes or staggered by half a cell.

    positions   {variable: shift along x, y, z} in cells: 0 at the nodes, 0.5 half a cell above them along that axis; variables
                without an entry lie at the nodes
    Output and recorders get all variables at the nodes, averaged by `Grid.at_nodes`.
    Raises ValueError if `positions` names a variable that the law does not have."""

    positions = {}

    def __init__(self, problem: Problem, backend: Any):
        super().__init__(problem, backend)
        nodes = (0,) * self.mesh.dim
        for name in self.positions:
            choose(f"{type(self).__name__}.positions: the variable", name, self.law.variables, " in the law; it has")
        self.positions = {name: self.positions.get(name, nodes) for name in self.law.variables}

    @property
    def grid(self) -> Grid:
        """The `Grid`."""
        return self.mesh

    @property
    def unknowns(self) -> dict[str, tuple[int, ...]]:
        """{variable: shape (z, y, x) of its array}."""
        return {name: np.broadcast_shapes(*(x.shape for x in self.points(name))) for name in self.positions}

    def points(self, variable: str) -> tuple[np.ndarray, ...]:
        """Coordinates x, y, z of the points at which a variable is given, a tuple of arrays that broadcast to (z, y, x)."""
        return self.grid.staggered(self.positions[variable])

    def project(self, f: Callable, t: float = 0.0) -> dict[str, np.ndarray]:
        """Evaluate f(x, t), each component at its variable's own points: {variable: array (z, y, x)} in the run's dtype."""
        found, names = {}, self.law.variables
        for number, (name, shape) in enumerate(self.unknowns.items()):
            x = tuple(np.broadcast_arrays(*self.points(name)))
            values = at_points(f, x, t, len(names), f"the initial state{written_at(f)}", names)
            found[name] = np.array(np.broadcast_to(values[number], shape), self.dtype)
        return found

    def nodal(self, arrays: Any) -> np.ndarray:
        """Values of all variables at the nodes, (variable, 1, node)."""
        values = [self.grid.at_nodes(arrays[name], shift).reshape(1, -1) for name, shift in self.positions.items()]
        return np.array(values, self.dtype)

    def places(self, name: str, index: np.ndarray) -> np.ndarray:
        """Number (row,) of the node at or below each entry of the array `name`; index: (row, axis) indices of the entries."""
        most = np.array(self.grid.shape) - 1
        return np.ravel_multi_index(tuple(np.minimum(index, most).T), self.grid.shape)
