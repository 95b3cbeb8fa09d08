"""One set of elements on a backend: its tables, its operations, and what is asked of these elements alone."""
import numpy as np

from ...physics.inadmissible_states import not_admitted
from ...physics.trace import call
from ...reference.columns import multiply
from ...reference.tensor import tensor_cell
from ..array_operator import rows_not_finite
from ..check import Check
from ..operator import Operator
from ..physics import real
from .mass import conserved

PROJECTED = 4096          # elements that are projected at a time, for the initial state


class SetOperator(Operator):
    """A set of elements that are alike, as a part of the problem that a `DGOperator` steps. Its state is q (variable, row,
    element).

    of_set       the `ElementSet`
    tables       matrices, metrics and index lists; operations: the `SetOperations` that are made from them"""

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
        return self.at_nodes(q[:self.tables.moving])

    def internal(self, q):
        return self.at_nodes(q[self.tables.moving:])

    def at_nodes(self, q):
        """Values at the nodes of variables of a state."""
        return q

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
            x = tuple(tables.positions(points, some))
            values = tables.physics.at_points(f, x, t, "the initial state")
            for v, value in enumerate(values):
                q[v, :, some] = multiply(matrix, np.broadcast_to(real(value, tables.law.variables[v]), x[0].shape))
        return q

    def projection(self):
        """The points (point, dim) in the reference cell at which `projected` evaluates a function, and the matrix (row, point)
        from values there to the state."""
        cell = self.tables.cell
        return (cell.nodes, np.eye(len(cell.nodes))) if self.method.start == "interpolation" else self.nearest(cell)

    def nearest(self, cell):
        """The same of the polynomial that is nearest in L2."""
        points, weights = self.tables.mesh.cell_shape.quadrature(max(2 * cell.order + 4, self.method.quadrature or 0))
        return points, cell.vandermonde @ (cell.evaluate_basis(points) * weights[:, None]).T

    def not_admitted(self, f):
        tables, (points, _) = self.tables, self.projection()
        for first in range(0, tables.elements if tables.law.admissible else 0, PROJECTED):
            some = slice(first, first + PROJECTED)
            x = tuple(tables.positions(points, some))
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
        tables = self.tables
        points = tables.points if tables.trace is None else np.concatenate([tables.points, tables.face_points])
        r = points[row:row + 1]
        values = tables.reference.basis.evaluate_basis(r) if tables.modal else tables.cell.interpolation(r)
        x = tables.positions(r, slice(place, place + 1))
        return (q[:tables.moving, :, place] @ values[0]), tuple(c.item() for c in x)

    def waves_step(self, stepper):
        """About the largest step that waves alone would allow, for wave speeds that do not change."""
        tables = self.tables
        if not tables.elements:
            return np.inf
        rate = float(np.max(tables.rates() - tables.internal_rates(tuple(tables.mesh.centroids.T))))
        return tables.limit(stepper)[0] / rate if rate > 0 else np.inf


class ModalSetOperator(SetOperator):
    """A set of modal DG; the state is the coefficients c[variable, mode, element]."""

    def at_nodes(self, q):
        return self.tables.reference.nodal.astype(q.dtype, copy=False) @ q

    def nearest(self, cell):
        reference = self.tables.reference
        points, weights = self.tables.mesh.cell_shape.quadrature(max(2 * self.method.order + 4, reference.degree))
        return points, (reference.basis.evaluate_basis(points) * weights[:, None]).T


class TensorSetOperator(SetOperator):
    """A set of tensor-product DG."""

    def nearest(self, cell):
        exact, fine = tensor_cell(cell.dim, cell.order), tensor_cell(cell.dim, cell.order + 2)
        to_exact = exact.interpolation(fine.nodes).T * fine.weights / exact.weights[:, None]
        return fine.nodes, exact.interpolation(cell.nodes) @ to_exact
