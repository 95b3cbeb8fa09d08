"""One set of elements on a backend: its tables, its operations, and what is asked of these elements alone."""
import numpy as np

from ...physics.inadmissible_states import not_admitted
from ...physics.trace import call
from ...reference.columns import multiply
from ..array_operator import rows_not_finite
from ..check import Check
from ..operator import Operator
from ..physics import real
from .mass import conserved
from .step_limits import internal_rates, limit, rates

PROJECTED = 4096          # elements that are projected at a time, for the initial state


class SetOperator(Operator):
    """A set of elements that are alike, as a part of the problem that a `DGOperator` steps. Its state is q (variable, row,
    element).

    of_set       the `ElementSet`
    tables       its `Tables`;  operations: the `SetOperations` that are made from them"""

    one = True

    def __init__(self, of_set, backend, tables=None):
        super().__init__(of_set.problem, backend)
        self.method = of_set.method
        self.tables = tables = (tables or of_set.method.tables(of_set.problem)).build()
        self.operations = backend.operations(self.method.operations(tables), tables)
        self.shape = (tables.variables, tables.rows, tables.elements)
        self.unknowns = {"q": self.shape}

    def parameters(self, part):
        return {name: part.spread(values) for name, values in self.tables.parameters.items()} | {
            name: np.asarray(call(self.law.parameters[name], dict(x=part.x), name), float) for name in self.tables.media.names}

    def nodal(self, q):
        """Values of the law's variables at the nodes, (variable, node, element), of a state q (variable, row, element) on the
        host."""
        return self.at_nodes(q[:self.tables.physics.moving])

    def internal(self, q):
        return self.at_nodes(q[self.tables.physics.moving:])

    def at_nodes(self, q):
        """Values at the nodes of variables of a state."""
        basis = self.tables.basis
        return multiply(basis.reference.nodal.astype(q.dtype, copy=False), q) if basis.modal else q

    def conserved(self, values):
        return conserved(self.tables, values)

    # The initial state.

    def projected(self, f, t=0.0):
        """The state that represents f(x, t) on the elements, (variable, row, element), on the host in float64.

        f returns a tuple with one real component per variable; raises ValueError for anything else."""
        tables, (points, matrix) = self.tables, self.projection()
        q = np.zeros(self.shape)
        for first in range(0, tables.elements, PROJECTED):
            some = slice(first, first + PROJECTED)
            x = tuple(tables.geometry.positions(points, some))
            values = tables.physics.at_points(f, x, t, "the initial state")
            for v, value in enumerate(values):
                q[v, :, some] = multiply(matrix, np.broadcast_to(real(value, tables.law.variables[v]), x[0].shape))
        return q

    def projection(self):
        """The points (point, dim) in the reference cell at which `projected` evaluates a function, and the matrix (row, point)
        from values there to the state."""
        basis = self.tables.basis
        if self.method.start == "interpolation":
            return basis.cell.nodes, np.eye(basis.rows)
        return basis.nearest(self.method.quadrature or 0)

    def not_admitted(self, f):
        tables, (points, _) = self.tables, self.projection()
        for first in range(0, tables.elements if tables.law.admissible else 0, PROJECTED):
            some = slice(first, first + PROJECTED)
            x = tuple(tables.geometry.positions(points, some))
            q = tables.physics.at_points(f, x, 0.0, "the initial state")
            m = {name: values[some] for name, values in tables.parameters.items()} | {
                name: call(tables.law.parameters[name], dict(x=x), name) for name in tables.media.names}
            with np.errstate(all="ignore"):
                good = tables.physics.admits(q=tuple(np.broadcast_to(a, x[0].shape) for a in q), x=x, t=0.0, m=m)[0]
            if fault := not_admitted(tables.law, good, q, x):
                return fault
        return ""

    # Checks of a state.

    def check(self, q, t):
        finite = self.operations.finite(q)
        return Check(finite, not finite or self.tables.law.admissible is None or self.operations.all_admissible(q, t))

    def not_finite(self, q):
        return rows_not_finite(q)

    def not_admissible(self, q, t):
        if self.tables.law.admissible is None:
            return np.empty((0, 3), int)
        bad = np.argwhere(~self.backend.host(self.operations.admissible(self.operations.state(q), t)).T)
        return np.insert(bad, 1, 0, axis=1)

    def state_at(self, q, place, row):
        tables, basis = self.tables, self.tables.basis
        points = basis.points if basis.trace is None else np.concatenate([basis.points, basis.face_points])
        r = points[row:row + 1]
        x = tables.geometry.positions(r, slice(place, place + 1))
        return (q[:tables.physics.moving, :, place] @ basis.values(r)[0]), tuple(c.item() for c in x)

    def waves_step(self, stepper):
        """About the largest step that waves alone would allow, for wave speeds that do not change."""
        tables = self.tables
        if not tables.elements:
            return np.inf
        rate = float(np.max(rates(tables) - internal_rates(tables, tuple(tables.mesh.centroids.T))))
        return limit(tables, stepper)[0] / rate if rate > 0 else np.inf
