"""Hermite's method for one law on one grid, on a backend: the operator."""
import numpy as np

from ...physics.pointwise import place
from ...physics.taylor import expand
from ...physics.trace import TraceError
from ..check import Check
from ..operator import ArrayOperator
from .fit import fitted
from .half_steps import HalfSteps


class HermiteOperator(ArrayOperator):
    """Hermite's method; the state is c (variable, coefficient, node), scaled derivatives at the nodes."""

    def __init__(self, problem, method, tables, backend):
        super().__init__(problem, method, tables.build(), backend.operations(HalfSteps, tables), backend)
        self.put = self.operations.put

    def nodal(self, q):
        """What the output keeps of a state of the host, (variable, coefficient, node): all coefficients, or values alone."""
        return q if self.method.derivatives else q[:, :1]

    def fetch(self, q):
        return self.operations.fetch(q if self.method.derivatives else q[:, :1])

    def take(self, q, nodes):
        """The coefficients at some nodes on the host, (variable, coefficient, node of `nodes`)."""
        return self.operations.take(q, nodes)

    def check(self, q, t):
        """The `Check` of a state: whether all of it is finite. Linear laws allow every state."""
        return Check(self.finite(q))

    def largest_step(self, state, t, check=None):
        """As `max_dt`."""
        return self.max_dt(state, t, self.stepper)

    def max_dt(self, q, t, stepper):
        """Largest stable step, min_k h_k / speed_k: in half of it no wave comes from a cell's boundary to its centre."""
        return min(h / s if s else np.inf for h, s in zip(self.tables.grid.spacing, self.tables.speeds))

    def project(self, f, t=0.0):
        """The scaled derivatives of the initial state f(x, t) -> tuple at the nodes, (variable, coefficient, node), on the host
        in the run's dtype: by Taylor arithmetic through the traced function; where it cannot be traced, from a fit."""
        grid, tables = self.tables.grid, self.tables
        q = np.empty((tables.variables, tables.rows, *grid.shape), self.backend.dtype)
        for rows in pieces(grid, tables.rows * tables.variables):
            x, h = grid.places(rows), grid.spacing
            try:
                values = expand(f, x, h, tables.order, {"t": t}, "initial state")
            except TraceError:
                values = fitted(f, x, h, tables.order, t)
            if len(values) != tables.variables:
                raise ValueError(f"the initial state{place(f)} returns {len(values)} components; it must return "
                                 f"{tables.variables}: {', '.join(tables.law.variables)}")
            for v, value in enumerate(values):
                q[v, :, rows] = value.reshape(tables.rows, *value.shape[tables.dim:])
        return q.reshape(self.shape)


def pieces(grid, width, size=1 << 17):
    """Slices of rows of nodes along the last axis, of about `size` numbers where each node has `width`."""
    rows, row = grid.shape[0], int(np.prod(grid.shape[1:])) * width
    step = max(1, size // row)
    return [slice(first, min(first + step, rows)) for first in range(0, rows, step)]
