"""Operators on a grid: each variable is given at the nodes, or at points staggered by half a cell."""
import numpy as np

from ..physics.pointwise import at_points, place
from ..wording import choose
from .operator import Operator


class GridOperator(Operator):
    """An operator on a `Grid` with one array (z, y, x) for each variable of the law, at the nodes or staggered by half a cell.

    positions   {variable: shift along x, y, z} in cells: 0 at the nodes, 0.5 half a cell above them along that axis; variables
                without an entry lie at the nodes
    Output and recorders get all variables at the nodes, averaged by `Grid.at_nodes`.
    Raises ValueError if `positions` names a variable that the law does not have."""

    positions = {}

    def __init__(self, problem, backend):
        super().__init__(problem, backend)
        nodes = (0,) * self.mesh.dim
        for name in self.positions:
            choose(f"{type(self).__name__}.positions: the variable", name, self.law.variables, " in the law; it has")
        self.positions = {name: self.positions.get(name, nodes) for name in self.law.variables}

    @property
    def grid(self):
        """The `Grid`."""
        return self.mesh

    @property
    def unknowns(self):
        """{variable: shape (z, y, x) of its array}."""
        return {name: np.broadcast_shapes(*(x.shape for x in self.points(name))) for name in self.positions}

    def points(self, variable):
        """Coordinates x, y, z of the points at which a variable is given, a tuple of arrays that broadcast to (z, y, x)."""
        return self.grid.staggered(self.positions[variable])

    def project(self, f, t=0.0):
        """Evaluate f(x, t), each component at its variable's own points: {variable: array (z, y, x)} in the run's dtype."""
        found, names = {}, self.law.variables
        for number, (name, shape) in enumerate(self.unknowns.items()):
            x = tuple(np.broadcast_arrays(*self.points(name)))
            values = at_points(f, x, t, len(names), f"the initial state{place(f)}", names)
            found[name] = np.array(np.broadcast_to(values[number], shape), self.dtype)
        return found

    def nodal(self, arrays):
        """Values of all variables at the nodes, (variable, 1, node)."""
        values = [self.grid.at_nodes(arrays[name], shift).reshape(1, -1) for name, shift in self.positions.items()]
        return np.array(values, self.dtype)

    def places(self, name, index):
        """Number (row,) of the node at or below each entry of the array `name`; index: (row, axis) indices of the entries."""
        most = np.array(self.grid.shape) - 1
        return np.ravel_multi_index(tuple(np.minimum(index, most).T), self.grid.shape)
