"""Operators on a grid whose unknowns are values at its nodes, or at points half a cell from them."""
import numpy as np

from ..physics.pointwise import at_points, place
from ..wording import choose
from .operator import Operator


class GridOperator(Operator):
    """Unknowns at the nodes of a `Grid` or between them, one array (z, y, x) for each variable of the law.

    positions   {variable: shift along x, y, z}: 0 at the nodes, 0.5 in the middle between two along that axis; those of the
                law's variables that are not named lie at the nodes
    Output and recorders see all variables at the nodes: see `Grid.at_nodes`."""

    positions = {}

    def __init__(self, problem, backend):
        super().__init__(problem, backend)
        nodes = (0,) * self.mesh.dim
        for name in self.positions:
            choose(f"{type(self).__name__}.positions: the variable", name, self.law.variables, " in the law; it has")
        self.positions = {name: self.positions.get(name, nodes) for name in self.law.variables}

    @property
    def grid(self):
        return self.mesh

    @property
    def unknowns(self):
        return {name: np.broadcast_shapes(*(x.shape for x in self.points(name))) for name in self.positions}

    def points(self, variable):
        """Coordinates x, y, z of a variable's points, arrays that broadcast to (z, y, x)."""
        return self.grid.staggered(self.positions[variable])

    def project(self, f, t=0.0):
        """The values of the components of f(x, t) at their points."""
        found, names = {}, self.law.variables
        for number, (name, shape) in enumerate(self.unknowns.items()):
            x = tuple(np.broadcast_arrays(*self.points(name)))
            values = at_points(f, x, t, len(names), f"the initial state{place(f)}", names)
            found[name] = np.array(np.broadcast_to(values[number], shape), self.dtype)
        return found

    def nodal(self, arrays):
        values = [self.grid.at_nodes(arrays[name], shift).reshape(1, -1) for name, shift in self.positions.items()]
        return np.array(values, self.dtype)

    def places(self, name, index):
        """The node at or below each point."""
        most = np.array(self.grid.shape) - 1
        return np.ravel_multi_index(tuple(np.minimum(index, most).T), self.grid.shape)
