"""The operator of Hermite's method: one law on one grid, on a backend."""
from functools import cache

import numpy as np

from ...physics.pointwise import written_at
from ...physics.taylor import expand
from ...physics.trace import TraceError
from ..array_operator import ArrayOperator
from ..check import Check
from ..stage_update import step_text
from .fit import fitted
from .half_step_program import programs_of
from .half_steps import HalfSteps


class HermiteOperator(ArrayOperator):
    """The operator of Hermite's method. The state is c (variable, coefficient, node), the scaled derivatives h^|j| D^j q / j!
    at the nodes, with j_x fastest."""

    def __init__(self, problem, method, tables, backend):
        if tables.grid.share is not None:
            tables.speeds = backend.messages.largest(tables.speeds)
        super().__init__(problem, method, tables.build(), backend.operations(HalfSteps, tables), backend)
        self.put = self.operations.put

    def step_text(self):
        return step_text(programs_of(self.tables, self.operations.collapsed), super().step_text())

    row_axis = -1          # nodes lie one after the other, row by row

    def nodal(self, q):
        """The coefficients that the output holds, (variable, coefficient, node), of a state q on the host: all of them if the
        method has `derivatives`, else the values."""
        return q if self.method.derivatives else q[:, :1]

    def fetch(self, q):
        return self.operations.fetch(q if self.method.derivatives else q[:, :1])

    def take(self, q, nodes):
        """The coefficients at some nodes on the host, (variable, coefficient, node of `nodes`)."""
        return self.operations.take(q, nodes)

    def check(self, q, t):
        """The `Check` of a state: whether every value is finite. Linear laws admit every state."""
        return Check(self.finite(q))

    def largest_step(self, state, t, check=None):
        """Largest stable time step, see `max_dt`."""
        return self.max_dt(state, t, self.stepper)

    def max_dt(self, q, t, stepper):
        """Largest stable time step, min_k h_k / speed_k, and with a source at most `decay_limit` over its rate.

        In half of h_k / speed_k no wave travels from a cell's boundary to its centre, so the interpolant there determines the
        solution. The Taylor series ends for waves, but not for what decays."""
        tables, waves = self.tables, self.waves_step(q, t)
        return min(waves, decay_limit(tables.stages) / tables.source_rate) if tables.source_rate else waves

    def waves_step(self, state, t):
        return min(h / s if s else np.inf for h, s in zip(self.tables.grid.spacing, self.tables.speeds))

    def project(self, f, t=0.0):
        """The scaled derivatives of the initial state f(x, t) -> tuple at the nodes, (variable, coefficient, node), on the host
        in the run's dtype: by Taylor arithmetic on the traced function or, if it cannot be traced, from a polynomial fit.

        Raises ValueError if f does not return one component per variable."""
        grid, tables = self.tables.grid, self.tables
        q = np.empty((tables.variables, tables.rows, *grid.shape), self.backend.dtype)
        for rows in pieces(grid, tables.rows * tables.variables):
            x, h = grid.places(rows), grid.spacing
            try:
                values = expand(f, x, h, tables.order, {"t": t}, "initial state")
            except TraceError:
                values = fitted(f, x, h, tables.order, t)
            if len(values) != tables.variables:
                raise ValueError(f"the initial state{written_at(f)} returns {len(values)} components; it must return "
                                 f"{tables.variables}: {', '.join(tables.law.variables)}")
            for v, value in enumerate(values):
                q[v, :, rows] = value.reshape(tables.rows, *value.shape[tables.dim:])
        return q.reshape(self.shape)


@cache
def decay_limit(stages):
    """Half of the step up to which the series with so many stages in each half-step is stable for dq/dt = -q. The other half
    is left to waves: beside them, steps up to 0.8 times the whole have been stable."""
    z = np.linspace(0.0, 40.0, 40001)
    series = np.ones_like(z)
    for k in range(stages, 0, -1):
        series = 1 - z / k * series
    return float(z[np.argmax(np.abs(series) > 1 + 1e-9)])


def pieces(grid, width, size=1 << 17):
    """Slices of the nodes along the last axis, each with about `size` numbers in all if every node has `width` numbers."""
    rows, row = grid.shape[0], int(np.prod(grid.shape[1:])) * width
    step = max(1, size // row)
    return [slice(first, min(first + step, rows)) for first in range(0, rows, step)]
