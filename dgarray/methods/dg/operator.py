"""Discontinuous Galerkin of one law on one mesh, on a backend: the operator."""
from dataclasses import dataclass

import numpy as np

from ...backends.arrays import ArrayBackend
from ...reference import quadrature, simplex
from ...reference.columns import multiply
from ...spaces.norms import degree_energies
from ...stepping import real_limit
from ..check import Check
from ..operator import ArrayOperator
from .spectrum import limiting_part, rounded_down, stable_step
from .stability import check_stepper, stability_limit
from .weak_form import WeakForm

PROJECTED = 4096          # elements that the projection of the initial state takes at a time
ROUNDING = 64             # local errors below so many rounding errors of the state tell nothing


class DGOperator(ArrayOperator):
    """Nodal DG: dq/dt and what a run needs beside it; the state is q (variable, node, element)."""

    def __init__(self, problem, method, tables, backend):
        super().__init__(problem, method, tables.build(), backend.operations(WeakForm, tables), backend)
        # What is not finite stays so, and can be found steps later; what is not admissible may become so again.
        self.check_every = self.operations.check_every if tables.law.admissible is None else 1
        self._steps = {}            # largest stable steps by stepper, of laws whose wave speed stays

    @property
    def dofs(self):
        return int(np.prod(self.shape))

    def parameters(self, part):
        return {name: part.spread(values) for name, values in self.tables.parameters.items()}

    def advance(self, state, t, dt):
        return self._filtered(super().advance(state, t, dt))

    def advance_checked(self, state, t, dt):
        exponent = self._limit(self.stepper)[1] if self._checks_on_the_way() else None
        new, check = self._step(state, t, dt, exponent)
        return self._filtered(new), check

    def _checks_on_the_way(self):
        """Whether the last stage can check the state that it makes: the time step depends on the state, neither that nor what
        is admissible on the time, and nothing else changes the state."""
        asked = self.tables.functions
        asked = asked.wave_speed, *([asked.admissible] if self.tables.law.admissible else [])
        return (asked[0].depends_on("q") and not any(function.depends_on("t") for function in asked)
                and self.tables.filter is None)

    def stages(self, state, t, dt):
        for number, (time, new) in enumerate(super().stages(state, t, dt), 1):
            yield time, self._filtered(new) if number == self.stage_count else new

    def _filtered(self, state):
        """The state at the end of a step, filtered in place where the method says so."""
        if self.tables.filter is not None:
            self.operations.filter(state)
        return state

    def nodal(self, q):
        """Values at the nodes, as output and analysis want them, of a state q (variable, row, element) of the host."""
        return q

    def take(self, state, elements):
        """Values at the nodes of some elements on the host, (variable, node, element of `elements`)."""
        return self.nodal(self.operations.take(state, elements))

    def fetch(self, state):
        return self.operations.fetch(state)

    def rhs(self, q, t):
        """dq/dt = (-div F + L (F.n - F*) + s) / C at (q, t), both as the backend keeps them (see `state` and `host`)."""
        return self.operations.rhs(q, t)

    def check(self, q, t):
        """The `Check` of a state: whether all of it is finite, and admissible where the law says what is."""
        finite = self.operations.finite(q)
        return Check(finite, not finite or self.tables.law.admissible is None or self.operations.all_admissible(q, t))

    def not_admissible(self, q, t):
        if self.tables.law.admissible is None:
            return np.empty((0, 3), int)
        bad = np.argwhere(~self.backend.host(self.operations.admissible(self.state(q), t)).T)
        return np.insert(bad, 1, 0, axis=1)

    def largest_step(self, state, t, check=None):
        """Largest stable time step at the state; check: what `advance_checked` has found of it."""
        return self.max_dt(state, t, self.stepper, check)

    def max_dt(self, q, t, stepper, check=None, peak=None):
        """Largest stable time step at the state q with a stepper.

        On a part of a mesh the step of the whole mesh is the least over the parts; peak: the largest over the parts of what
        `peak` returns, without which their steps may differ from the whole mesh's in the last digits.

        Where the wave speed depends on neither state nor time, from the eigenvalues of this operator, found once: see
        `dgarray.methods.dg.spectrum`. Else from wave speeds and sizes of the elements, by a measured table: see
        `dgarray.methods.dg.stability`; and where the law damps, 1/dt = 1/dt_waves + damping / z, z the stepper's limit on the
        negative real axis.
        Raises ValueError for a stepper that has no stable step at this order."""
        check_stepper(self.method.order, stepper)
        speed = self.tables.functions.wave_speed
        if speed.depends_on("q") or speed.depends_on("t"):
            return self._step_of_table(q, t, stepper, check, peak)
        if stepper.name not in self._steps:
            step = self._step_of_spectrum(stepper)
            self._steps[stepper.name] = step if step > 0 else self._step_of_table(q, t, stepper, peak=peak)
        return self._steps[stepper.name]

    def peak(self, q, t):
        """What rates at the state q are scaled by, for `max_dt` on a part of a mesh; None where nothing depends on it."""
        return self.operations.peak(q, t)

    def _step_of_table(self, q, t, stepper, check=None, peak=None):
        """The step by the measured table; in the weak form at most

        dt = min over elements of h / s / (2 order + 1), h / s = 2 |T| / sum over faces of s |face|, s as in `WeakForm.rate`,
        and no longer than the table allows this stepper, its rate taken with exponent 1.
        Where s is the same on all faces, h is an interval's length, the radius of a triangle's inscribed circle, two thirds of
        that of a tetrahedron's inscribed sphere.  At order 0 a forward Euler step makes averages of the values around.
        Fuhry, Giuliani & Krivodonova 2014; Cockburn & Shu 2001, section 2.2."""
        factor, exponent = self._limit(stepper)
        known = check is not None and check.exponent == exponent
        rate = check.rate if known else self.operations.rate(q, t, exponent, peak)
        rate = rate / factor + self.tables.damping / real_limit(stepper)
        return 1 / rate if rate != 0 else np.inf

    def _limit(self, stepper):
        """The largest stable step times the rate, and the rate's exponent."""
        order, tables = self.method.order, self.tables
        factor, exponent = stability_limit(tables.law, order, stepper) if order else (np.inf, 1.0)
        if tables.weak:          # |face| / |T| = dim / 2 times J_face / J
            factor, exponent = min(factor, 4 / tables.dim / (2 * order + 1)), 1.0
        return factor, exponent

    def _step_of_spectrum(self, stepper):
        """The step by the array text in float64, so that it is the same on every backend; nan where the table must do.

        A part of a mesh finds the step of the whole mesh, as every other part does."""
        tables = self.tables.of_whole
        rates = np.broadcast_to(tables.rates(), tables.elements)
        if tables.search is None or not np.isfinite(rates).all():
            return np.nan
        search, count = tables.search
        whole = count == tables.elements
        part = tables if whole else tables.part(limiting_part(tables.mesh, rates, count))
        operations = ArrayBackend(np, "float64", "numpy", self.backend.threads).operations(WeakForm, part)
        shape = (*self.shape[:2], part.elements)
        with np.errstate(all="ignore"):          # a user's source may not like a random state: then the table serves
            still = operations.rhs(np.zeros(shape), 0.0)

            def linear(q):
                return (operations.rhs(q.reshape(shape), 0.0) - still).ravel()
            step = stable_step(linear, int(np.prod(shape)), stepper, search.products)
        return rounded_down(step * (search.share if whole else search.share_of_part))

    def project(self, f, t=0.0):
        """The initial state f(x, t) -> tuple on the elements, (variable, row, element), on the host in float64."""
        cell, tables, (points, matrix) = self.tables.cell, self.tables, self.projection()
        q = np.empty(self.shape)
        for first in range(0, tables.elements, PROJECTED):
            some = slice(first, first + PROJECTED)
            x = tuple(tables.origin[d, some] + multiply(points, tables.tangents[:, d, some]) for d in range(cell.dim))
            values = tables.physics.at_points(f, x, t, "the initial state")
            for v, value in enumerate(values):
                q[v, :, some] = multiply(matrix, np.broadcast_to(self._real(value, tables.law.variables[v]), x[0].shape))
        return q

    def projection(self):
        """Reference points (point, dim), and the matrix (row, point) from values there to the state."""
        cell = self.tables.cell
        if self.method.start == "interpolation":
            return cell.nodes, np.eye(len(cell.nodes))
        points, weights = quadrature(cell.dim, max(2 * cell.order + 4, self.method.quadrature or 0))
        return points, cell.vandermonde @ (cell.evaluate_basis(points) * weights[:, None]).T

    @staticmethod
    def _real(value, variable):
        if np.iscomplexobj(value):
            raise ValueError(f"the initial state, component {variable}, is complex; it must be real")
        return np.asarray(value, float)

    def error_estimate(self, loop):
        """{"time": error, "space": error}, L2 norms over all variables at the end of a run, or None; uses up the loop's copy.

        Time: the last step is taken once more as two half steps. The difference, over 1 - 2^-p for a stepper of order p, is the
        error of one step (Richardson's extrapolation; Hairer, Norsett & Wanner 1993, section II.4), and the errors of all steps
        are taken to add up, as those of a wave do.
        Space: the part of degree order + 1 that the polynomials lack, E_(N+1) = E_N sqrt(E_N / E_(N-2)), E_n being the squared
        norm of the part of degree n; where coefficients decay geometrically that is the error of the best approximation.
        There is no estimate below order 2 and after a run that ended early; "time" is None where only rounding is left."""
        order = self.method.nodal_order
        if order < 2 or len(loop.since) != 1:
            return None
        (t, dt), last, halved = loop.since[0], loop.state, loop.copy
        self.forget()
        for i in (0, 1):
            halved = self.advance(halved, t + i * dt / 2, dt / 2)
        halved -= last
        rest, parts = (self._energies(state) for state in (halved, last))
        one_step = np.sqrt(rest.sum()) / (1 - 2.0 ** -self.stepper.order)
        known = one_step > ROUNDING * np.finfo(self.dtype).eps * np.sqrt(parts.sum())
        decay = np.sqrt(parts[order] / parts[order - 2]) if parts[order] < parts[order - 2] else 1.0
        return {"time": float(loop.steps * one_step) if known else None, "space": float(np.sqrt(parts[order] * decay))}

    def _energies(self, state):
        """Squared norms over all variables of the parts of each degree of a state, (degree,)."""
        values = self.nodal(self.host(state))
        return degree_energies(values, simplex(self.mesh.dim, self.space.order), self.space.jacobians).sum(axis=0)


class ModalOperator(DGOperator):
    """Modal DG of one law on one mesh, on a backend; the state is c[variable, mode, element]."""

    def nodal(self, q):
        return self.tables.reference.nodal.astype(q.dtype, copy=False) @ q

    def project(self, f, t=0.0):
        """As `DGOperator.project`, limited as after a stage."""
        q = super().project(f, t)
        if self.tables.limits is not None:
            ArrayBackend(np, "float64", "numpy").operations(WeakForm, self.tables).limit(q)
        return q

    def fetch(self, state):
        return Nodal(self.operations.fetch(state), self.nodal)

    def projection(self):
        reference = self.tables.reference
        points, weights = quadrature(self.tables.dim, max(2 * self.method.order + 4, reference.degree))
        return points, (reference.basis.evaluate_basis(points) * weights[:, None]).T


@dataclass
class Nodal:
    """Coefficients on their way to the host, which arrive as values at the nodes."""

    coming: object
    nodal: object

    def ready(self):
        return self.coming.ready()

    def result(self):
        return self.nodal(self.coming.result())
