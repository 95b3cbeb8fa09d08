"""The operator of finite volumes: one law on one grid, on a backend."""
import numpy as np

from ...physics.inadmissible_states import not_admitted
from ...stepping import monotonicity_radius, real_limit
from ..array_operator import ArrayOperator
from ..operator import check_array
from ..physics import real
from ..problem import parameters_at
from ..stage_update import kind_of, step_text
from .courant import courant_limit
from .sweep_program import of_step
from .sweeps import Sweeps


class FiniteVolumeOperator(ArrayOperator):
    """The operator of finite volumes. The state is q (variable, z, y, x): averages of the cells, of WENO values at their
    centres."""

    def __init__(self, problem, method, tables, backend):
        super().__init__(problem, method, tables, backend.operations(Sweeps, tables), backend)
        self.shape = tables.shape
        self.unknowns = {"q": self.shape}
        self.fetch, self.halo = self.operations.fetch, self.operations.halo
        if self.halo is not None:
            tables.damping = self.operations.over_all(tables.damping)
        if tables.law.admissible is not None:
            self.check_every = 1

    def checked(self, q):
        check_array(q, self.shape, "the state", f"(variable, {', '.join(self.space.dims)}) = ")
        return q

    def put(self, state, q):
        """Set a state of the backend to plain arrays, without another copy."""
        state[...] = q if hasattr(q, "get") else self.backend.array(q)

    def project(self, f, t=0.0):
        """The state that represents f(x, t), on the host in the run's dtype: averages by a product of Gauss rules, of WENO
        values at the centres. Raises ValueError unless f returns one component per variable."""
        q, role = np.empty(self.shape, self.dtype), "the initial state"

        def components(x):
            return [real(*each) for each in zip(self.tables.physics.at_points(f, x, t, role), self.law.variables)]
        for part in self.space.parts():
            values = self.space.at_places(part.places, components)
            for v, value in enumerate(values):
                q[v, part.places] = value
        return q

    def not_admitted(self, f):
        law, physics, found = self.law, self.tables.physics, []

        def look(x):
            q = physics.at_points(f, x, 0.0, "the initial state")
            full = tuple(np.broadcast_to(a, x[0].shape) for a in q)
            with np.errstate(all="ignore"):
                good = physics.admits(q=full, x=x, t=0.0, m=parameters_at(law, x))[0]
            if fault := not_admitted(law, good, q, x):
                found.append(fault)
            return full
        if law.admissible is not None:
            for part in self.space.parts():
                self.space.at_places(part.places, look)
                if found:
                    return found[0]
        return ""

    def nodal(self, q):
        """The values of the cells, (variable, 1, cell), of a state on the host."""
        return q.reshape(len(q), 1, -1)

    def take(self, state, cells):
        """The values of some cells on the host, (variable, 1, cell of `cells`)."""
        places = map(self.backend.integers, np.unravel_index(cells, state.shape[1:]))
        return self.backend.host(state[(slice(None), *places)])[:, None]

    def rhs(self, q, t):
        """dq/dt = (-sum over axes of dF_k/dx_k + s) / C. Raises ValueError where the method splits a step by axes."""
        if self.tables.split:
            raise ValueError(f"{self.method!r} has no right-hand side: it sweeps axis by axis; give splitting=None")
        return self.operations.rhs(q, t)

    def check(self, q, t):
        return self.operations.check(q, t)

    def not_finite(self, q):
        return self._places(~np.isfinite(q))

    def not_admissible(self, q, t):
        bad = self.backend.host(~self.operations.sound(self.state(q), t))
        return self._places(bad[None])

    @staticmethod
    def _places(bad):
        """Rows (cell, variable, 0) of the places where an array (variable, z, y, x) is true, in the order of the cells."""
        cells, variables = np.nonzero(bad.reshape(len(bad), -1).T)
        return np.column_stack([cells, variables, 0 * cells]).astype(int)

    def advance_checked(self, state, t, dt):
        new, check = self._step(state, t, dt, 1.0)
        return new, check

    def stages(self, state, t, dt):
        """Yield (time, state) after each stage; of a step that sweeps axis by axis after its sources and each sweep."""
        if self.tables.split:
            for time, new, _ in self.operations.parts(*self.states(state)[0], t, dt):
                yield time, new
        else:
            yield from super().stages(state, t, dt)

    def largest_step(self, state, t, check=None):
        """The largest stable step: the Courant number of each sweep is at most one, in 2D and 3D at most the
        `sweep_courant` of the law and of the flux; without splitting its sum over axes is at most `courant`.

        With sources 1/dt is larger by their damping rate over the stepper's limit."""
        rate = self.operations.rate(state, t) if check is None or check.rate is None else check.rate
        tables = self.tables          # of two sweeps along each axis the midpoint rule damps up to 2 / rate
        rate = self._rate_of_waves(rate) + tables.damping / (4 if tables.split else max(real_limit(self.stepper), 1e-3))
        return np.inf if rate == 0 else 1 / rate

    def _rate_of_waves(self, rate):
        """One over the step that waves with this rate allow."""
        if self.tables.split:
            largest = min(getattr(a, "sweep_courant", 1.0) for a in (self.tables.law, self.problem.flux))
            return rate / (2 * (largest if self.tables.dim > 1 else 1.0))
        return rate / self.courant

    def waves_step(self, state, t):
        rate = self._rate_of_waves(self.operations.rate(state, t))
        return np.inf if rate == 0 else 1 / rate

    def step_text(self):
        programs = step_text(of_step(self.tables, kind_of(self.stepper.stages[-1])), super().step_text())
        return f"{self.order_of_step}\n\n{programs}" if self.tables.split else programs

    @property
    def order_of_step(self):
        """Which sweeps a step makes, as text."""
        sweeps = ", ".join("xyz"[axis] for axes in self.tables.axes for axis in axes)
        around = "sources for dt / 2, " if self.tables.physics.sources else ""
        return f"a step: {around}sweeps along {sweeps}, each for dt / 2" + ", sources for dt / 2" * bool(around)

    @property
    def courant(self):
        """The largest Courant number without splitting: that of `courant_limit`, and if the stepper preserves strong stability
        at most the number of forward Euler steps in it times the largest Courant number of these."""
        scheme, steps = self.tables.scheme, monotonicity_radius(self.stepper)
        limit, monotone = courant_limit(scheme, self.stepper), scheme.monotone(self.method)
        return min(limit, steps * monotone) if steps and monotone else limit

    def report(self):
        """{name: count} of fluxes of first order that have taken another one's place, and of cells that got internal energy of
        others."""
        found = {"first_order_faces": self.operations.replaced} if self.tables.repairs else {}
        return found | ({"warmed_cells": self.operations.warmed} if self.tables.lends else {})
