"""Fields on a grid: values at its nodes, with the scaled derivatives there that make a Hermite interpolant."""
import numpy as np

from ..physics.pointwise import components
from ..physics.trace import call
from .cells import averages
from .interpolant import interpolant
from .parts import AXES, Evaluation, Part, Trace, check_names

PIECE = 1 << 17          # nodes at a time


class GridSpace:
    """Fields on a `dgarray.Grid`: (variable, coefficient, node), where the first coefficient is the value at the node and the
    others are the scaled derivatives h^|j| D^j u / j!, j up to `order` in each direction.

    Between the nodes a field is the Hermite interpolant of degree 2 order + 1 in each direction: at order 0 it is linear.
    Integrals use the trapezoidal rule on the values at the nodes. On a `dgarray.mesh.grid.CellGrid` the values are those of the
    cells, and integrals are sums of averages times the cells' sizes."""

    word, structured = "grid", True
    spaces = property(lambda self: [self])

    def __init__(self, grid, order=0):
        self.mesh = self.grid = grid
        self.order, self.dim = order, grid.dim
        self.dims, self.place = AXES[grid.dim - 1::-1], grid.place

    @property
    def count(self):
        """Number of nodes."""
        return int(np.prod(self.grid.shape))

    @property
    def sizes(self):
        return dict(zip(self.dims, self.grid.shape))

    def arranged(self, values):
        """Values (variable, 1, node) in the shape of a dataset, (variable, z, y, x)."""
        return values.reshape(len(values), *self.grid.shape)

    def filled(self, values):
        """The values, all of which there are."""
        return values

    def coordinates(self, units):
        """Coordinates of the nodes for a dataset, {name: (dims, values, attributes)}; units: function of a name."""
        return {axis: ((axis,), nodes, {"long_name": f"{axis} of the {self.grid.places_word}", "units": units(axis)})
                for axis, nodes in zip(AXES, self.grid.axes)}

    def position(self, coefficient, node):
        """Coordinates of a node."""
        return self.grid.centre(node)

    def bounds(self):
        """Lowest and highest coordinates."""
        return self.grid.lower, self.grid.upper

    def evaluation(self, x):
        """The `Evaluation` of fields at points x (point, dim), by the Hermite interpolant."""
        nodes, weights = interpolant(self.grid, self.order, x)

        def values(q):
            return np.einsum("pvc,kcpv->kp", weights, q.reshape(*q.shape[:2], *nodes.shape))
        return Evaluation(nodes.ravel(), values, np.isnan(weights[:, 0, 0]), {})

    def trace(self, boundary, role, units):
        """The `Trace` of one side. Raises ValueError for an unknown name and for several sides."""
        grid, chosen = self.grid, self._sides(boundary, role)
        if len(chosen) > 1:
            raise ValueError(f"{role}: boundary={boundary!r} names several sides; on a grid give one recorder for each side")
        (normal, side), = chosen
        rest = [k for k in reversed(range(grid.dim)) if k != normal]
        sizes = {AXES[k]: grid.nodes[k] for k in rest}
        word = grid.places_word
        coords = {AXES[k]: ((AXES[k],) if k in rest else (), grid.axes[k] if k in rest else (grid.lower, grid.upper)[side][k],
                            {"long_name": f"{AXES[k]} of the {word}", "units": units(AXES[k])}) for k in range(grid.dim)}
        places, values = self._at_side(normal, side)
        return Trace(places, lambda q: values(q).reshape(len(q), *sizes.values()), sizes, coords)

    def boundary_parts(self, boundary, role, degree=None):
        """The `Part`s of named sides, one each. Raises ValueError for an unknown name and for a degree."""
        self._refuse(degree, role)
        grid, found = self.grid, []
        for axis, side in self._sides(boundary, role):
            nodes, (places, values) = self._nodes(axis, side), self._at_side(axis, side)
            indices = np.unravel_index(nodes, grid.shape)[::-1]
            x = [nodes_along[i] for nodes_along, i in zip(grid.axes, indices)]
            x[axis] = np.full(nodes.shape, (grid.lower, grid.upper)[side][axis])
            weights = np.prod([rule[i] for k, (rule, i) in enumerate(zip(grid.weights(), indices)) if k != axis], axis=0)
            weights = np.broadcast_to(weights, nodes.shape)
            n = tuple(np.full(1, (2.0 * side - 1) * (k == axis)) for k in range(grid.dim))
            found.append(Part(places, tuple(x), nodes.shape, n, lambda q, values=values: tuple(values(q)),
                              lambda v, nodes=nodes: v[nodes], lambda f, w=weights: np.sum(f * w)))
        return found

    def _sides(self, boundary, role):
        known = self.grid.boundaries
        return [known[name] for name in check_names(boundary, known, role, " on the grid; it has")]

    def _nodes(self, axis, side, layer=0):
        """Numbers of the nodes on one side, counted with x fastest, or of a layer of nodes behind them."""
        numbers = np.arange(self.count).reshape(self.grid.shape)
        return np.take(numbers, -1 - layer if side else layer, axis=self.dim - 1 - axis).ravel()

    def _at_side(self, axis, side):
        """(places, function from q (variable, row, place of these) to the values (variable, node) on one side).

        Values of cells are continued to the side by the line through the two outermost ones, u_0 + (u_0 - u_1) / 2."""
        outermost = self._nodes(axis, side)
        if self.grid.location == "nodes" or self.grid.nodes[axis] == 1:
            return outermost, lambda q: q[:, 0]
        both = np.concatenate([outermost, self._nodes(axis, side, 1)])

        def values(q):
            first, second = q[:, 0, :len(outermost)], q[:, 0, len(outermost):]
            return first + (first - second) / 2
        return both, values

    @staticmethod
    def _refuse(degree, role):
        if degree is not None:
            raise ValueError(f"{role}: degree={degree!r} is for meshes; on a grid integrals use the trapezoidal rule")

    def parts(self, role="", degree=None, extra=4):
        """Yield the grid as `Part`s, slabs of nodes along the last axis, by the trapezoidal rule.

        Raises ValueError for a degree; `extra` is for meshes."""
        self._refuse(degree, role)
        rules, row = self.grid.weights(), int(np.prod(self.grid.shape[1:]))
        step = max(1, PIECE // row)
        for first in range(0, self.grid.shape[0], step):
            rows, weights = slice(first, first + step), 1.0
            for axis, rule in enumerate(rules):
                rule = rule[rows] if axis == self.dim - 1 else rule
                weights = weights * rule.reshape(-1, *(1,) * axis)

            def values(q, rows=rows):
                return tuple(q[:, 0].reshape(len(q), *self.grid.shape)[:, rows].astype(float))
            x = self.grid.places(rows)
            shape = len(self.grid.axes[-1][rows]), *self.grid.shape[1:]
            yield Part(rows, x, shape, None, values, lambda v, rows=rows: v.reshape(self.grid.shape)[rows],
                       lambda f, w=weights: np.sum(w * f))

    def error(self, values, exact, t):
        """L2 norm of u - exact(x, t) per variable, sqrt(sum w (u - exact)^2), (variable,)."""
        total = np.zeros(len(values))
        for part in self.parts():
            expected = self.at_places(part.places, lambda x: components(
                call(exact, dict(x=x, t=t), "exact solution"), len(values), "the exact solution"))
            total += [part.integrate((u - v) ** 2) for u, v in zip(part.values(values), expected)]
        return np.sqrt(total)

    def at_places(self, rows, function):
        """Components of a function of x at the nodes, or averaged over the cells, in some rows along the last axis."""
        if self.grid.location == "cell averages":
            return averages(self.grid, rows, function)
        return function(tuple(np.broadcast_arrays(*self.grid.places(rows))))
