"""Nodal discontinuous Galerkin in strong form on simplices.

M dq/dt = - sum_k S_k F_k + sum_faces integral of l (F.n - F*) dS, so
dq/dt = - sum_k D_k (F . grad r_k) + L (F.n - F*) J_face / J
Hesthaven & Warburton 2008; Kloeckner et al. 2009, equation (4); Kloeckner et al. 2013, equation (9).
"""
from dataclasses import dataclass
from functools import partial
from numbers import Integral

import numpy as np

from .. import backends
from ..backends.arrays import ArrayBackend
from ..fluxes import upwind
from ..mesh import Grid
from ..reference import quadrature
from ..stepping import STEPPERS, real_limit, stages
from ..wording import choose
from .boundary_setup import boundary_groups, face_values
from .filter import ExponentialFilter
from .memory import modal_plan, nodal_plan
from .memory_counts import PROJECTED
from .physics import Physics
from .spectrum import SEARCHES, UNKNOWNS, limiting_part, rounded_down, stable_step
from .stability import check_stepper, family, stability_limit
from .tables import NO_LIMITS, NodalTables, QuadratureTables

DEGREES = 50          # the highest degree of the rules on triangles


class DG:
    """What the discontinuous Galerkin methods share."""

    strict = False          # a step above the largest stable one is warned about

    def stepper(self, name):
        """The time stepper of that name, by default lsrk54. Raises ValueError for a name that does not exist."""
        return STEPPERS[choose("stepper", name or "lsrk54", STEPPERS)]


@dataclass(frozen=True)
class NodalDG(DG):
    """Nodal discontinuous Galerkin of polynomial degree `order` (1 to 10) on intervals, triangles or tetrahedra.

    start        how the initial state is put on the elements, "projection" (L2) or "interpolation" (values at the nodes)
    quadrature   None: fluxes are taken at the nodes, so that those of nonlinear laws are interpolated; else the degree up to
                 which the integrals of the weak form are exact, at least 2 order (over-integration); the state is the same
    filter       None, or an `ExponentialFilter` of the state after every step
    """

    order: int = 4
    start: str = "projection"
    quadrature: int | None = None
    filter: ExponentialFilter | None = None
    limiting = NO_LIMITS

    def __post_init__(self):
        if not isinstance(self.order, Integral) or self.order not in range(1, 11):
            raise ValueError(f"order={self.order!r} is not allowed for NodalDG; it must be a whole number from 1 to 10")
        choose("start", self.start, ("projection", "interpolation"))
        check_degree(self)
        if self.filter is not None:
            if not isinstance(self.filter, ExponentialFilter):
                raise ValueError(f"filter={self.filter!r} is not allowed for NodalDG; give None or dgarray.ExponentialFilter()")
            self.filter.check(self.order)

    def __repr__(self):
        more = "".join(f", {name}={value!r}" for name in ("quadrature", "filter") if (value := getattr(self, name)) is not None)
        return f"NodalDG(order={self.order!r}, start={self.start!r}{more})"

    def check(self, mesh, law, boundary, flux=None, source=None):
        """Raise ValueError or TypeError where mesh, law, boundary, flux and source do not fit, before anything is computed."""
        check_given(mesh, law, boundary, flux, source, weak=self.quadrature is not None)

    @property
    def nodal_order(self):
        """Degree of the nodal polynomials that the output holds."""
        return self.order

    def kernels(self, backend, law=None):
        """Which kernels compute on a backend, "fused" or "array", whatever the law; by quadrature those of modal DG."""
        modal = self.quadrature is not None
        return "array" if modal and type(backend).modal is ArrayBackend.modal else backend.kernels

    def memory(self, mesh, law, backend, stepper, boundary=None, flux=None, source=None):
        """What a run allocates and when, a `dgarray.methods.memory.Plan`, computed from counts: nothing large is allocated.

        Arguments as for `discretise`; stepper: e.g. `dgarray.stepping.LSRK54`."""
        plan = nodal_plan if self.quadrature is None else modal_plan
        return plan(mesh, law, self, backend, stepper, boundary, flux, source)

    def discretise(self, mesh, law, boundary, backend, flux=None, source=None):
        """The operations of this method on the mesh: a NodalOperator on the backend.

        flux: numerical flux, a function of the law (`upwind`); source(q, x, t) -> tuple, added to the law's own.
        Raises ValueError where mesh, law and boundary do not fit."""
        self.check(mesh, law, boundary, flux, source)
        given = mesh, self.order, law, boundary, flux or upwind, source
        tables = NodalTables(*given) if self.quadrature is None else QuadratureTables(*given, self.quadrature)
        tables.filter = None if self.filter is None else self.filter.matrix(tables.cell)
        return NodalOperator(self, tables, backend)


def check_degree(method):
    """Raise ValueError unless a method's `quadrature` is None or a degree that its order and the rules allow."""
    degree, least = method.quadrature, 2 * method.order
    if degree is not None and (not isinstance(degree, Integral) or not least <= degree <= DEGREES):
        raise ValueError(f"quadrature={degree!r} is not allowed for {type(method).__name__}; at order {method.order} it must "
                         f"be None or a whole number from {least} to {DEGREES}")


def check_given(mesh, law, boundary, flux, source, weak=False):
    """Raise ValueError or TypeError where mesh, law, boundary, flux and source do not fit."""
    if isinstance(mesh, Grid):
        raise ValueError(f"discontinuous Galerkin works on meshes of lines, triangles and tetrahedra, not on {mesh!r}; give a "
                         "mesh such as dgarray.rectangle(), or the method Hermite")
    if law.dim != mesh.dim:
        raise ValueError(f"the mesh has dimension {mesh.dim} ({mesh.cell_type} cells), but the law has {law.dim}: {law!r}")
    numbers = {name: None if callable(value) or isinstance(value, dict) else float(value)
               for name, value in law.parameters.items()}
    physics = Physics(law, flux or upwind, source, numbers, weak)
    groups = boundary_groups(mesh, boundary)
    jumps = [physics.boundary_jump(name, condition) for name, _, condition in groups]
    for function in (*vars(physics.functions).values(), *jumps):
        function.graph                                    # noqa: B018  tracing is the check
    for _, faces, condition in groups:
        face_values(mesh, faces, condition)
        if hasattr(condition, "check"):
            condition.check(mesh, faces, law)


class NodalOperator:
    """Nodal DG of one law on one mesh, on a backend: dq/dt and what a run needs beside it."""

    def __init__(self, method, tables, backend):
        self.method, self.tables, self.backend = method, tables, backend
        self.shape = (tables.variables, tables.rows, tables.elements)
        self.operations = self.on(backend, tables)
        self.state, self.host, self.zeros = self.operations.state, self.operations.host, self.operations.zeros
        self.plain = self.operations.plain
        self.stage, self.finite, self.change = self.operations.stage, self.operations.finite, self.operations.change
        if tables.filter is not None:
            self.after_step = self.operations.filter
        if hasattr(self.operations, "step"):
            self.step = partial(self.operations.step, stages) if tables.filter is None else self._filtered_step
        if hasattr(self.operations, "step_and_look") and self._may_look():
            self.step_and_look = self._step_and_look
        # What is not finite stays so, and can be found steps later; what is not admissible may become so again.
        self.check_every = self.operations.check_every if tables.law.admissible is None else 1
        self._steps = {}            # largest stable steps by stepper, of laws whose wave speed stays

    @staticmethod
    def on(backend, tables):
        """The operations of this method on a backend."""
        return backend.nodal(tables) if tables.trace is None else backend.modal(tables)

    def _may_look(self):
        """Whether what a run asks of a new state can be seen by the last stage that makes it: the step depends on it, neither
        that nor what is admissible on the time, and nothing else changes the state."""
        asked = self.tables.functions
        asked = asked.wave_speed, *([asked.admissible] if self.tables.law.admissible else [])
        return (asked[0].depends_on("q") and not any(function.depends_on("t") for function in asked)
                and self.tables.filter is None)

    def _step_and_look(self, stepper, states, k, t, dt):
        """A whole step; and what the new state is like, which `max_dt` and `sound` of this state take."""
        return self.operations.step_and_look(stages, stepper, states, k, t, dt, self._limit(stepper)[1])

    def _filtered_step(self, stepper, states, k, t, dt):
        states = self.operations.step(stages, stepper, states, k, t, dt)
        self.after_step(states[0])
        return states

    def nodal(self, q):
        """Values at the nodes, as output and analysis want them, of a state q (variable, row, element) of the host."""
        return q

    def take(self, state, elements):
        """Values at the nodes of some elements on the host, (variable, node, element of `elements`)."""
        return self.nodal(self.operations.take(state, elements))

    def put(self, state, q):
        """Set a state of the backend to the state q of the host."""
        state[...] = self.state(q)

    def fetch(self, state):
        """Values at the nodes on their way to the host: ready(), whether they are there; result(), which waits for them."""
        return self.operations.fetch(state)

    def rhs(self, q, t):
        """dq/dt = (-div F + L (F.n - F*) + s) / C at (q, t), both as the backend keeps them (see `state` and `host`)."""
        return self.operations.rhs(q, t)

    def sound(self, q, t, seen=None):
        """Whether every value of the state is finite, and admissible where the law says what is; seen: what `step_and_look`
        has found of this state."""
        return self.operations.sound(q, t) if seen is None else seen.sound

    def inadmissible(self, q, t):
        """Where the state q of the host is not admissible, rows (element, 0, node)."""
        if self.tables.law.admissible is None:
            return np.empty((0, 3), int)
        bad = np.argwhere(~self.backend.host(self.operations.admissible(self.state(q), t)).T)
        return np.insert(bad, 1, 0, axis=1)

    def max_dt(self, q, t, stepper, seen=None):
        """Largest stable time step at the state q; seen: what `step_and_look` has found of this state.

        Where the wave speed depends on neither state nor time, from the eigenvalues of this operator, found once: see
        `dgarray.methods.spectrum`. Else from wave speeds and sizes of the elements, by a measured table: see
        `dgarray.methods.stability`; and where the law damps, 1/dt = 1/dt_waves + damping / z, z the stepper's limit on the
        negative real axis.
        Raises ValueError for a stepper that has no stable step at this order."""
        check_stepper(self.method.order, stepper)
        speed = self.tables.functions.wave_speed
        if speed.depends_on("q") or speed.depends_on("t"):
            return self._step_of_table(q, t, stepper, seen)
        if stepper.name not in self._steps:
            step = self._step_of_spectrum(stepper)
            self._steps[stepper.name] = step if step > 0 else self._step_of_table(q, t, stepper)
        return self._steps[stepper.name]

    def _step_of_table(self, q, t, stepper, seen=None):
        """The step by the measured table; in the weak form at most

        dt = min over elements of h / s / (2 order + 1), h / s = 2 |T| / sum over faces of s |face|, s as in `NodalArrays.rate`,
        and no longer than the table allows this stepper, its rate taken with exponent 1.
        Where s is the same on all faces, h is an interval's length, the radius of a triangle's inscribed circle, two thirds of
        that of a tetrahedron's inscribed sphere.  At order 0 a forward Euler step makes averages of the values around.
        Fuhry, Giuliani & Krivodonova 2014; Cockburn & Shu 2001, section 2.2."""
        factor, exponent = self._limit(stepper)
        known = seen is not None and seen.exponent == exponent
        rate = seen.rate if known else self.operations.rate(q, t, exponent)
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
        """The step by the array text in float64, so that it is the same on every backend; nan where the table must do."""
        tables = self.tables
        search = SEARCHES[family(tables.law) if tables.dim > 1 else "scalar"]       # in 1D every wave is advected
        count = UNKNOWNS // (search.products * self.shape[0] * self.shape[1])
        whole = count >= tables.elements
        rates = np.broadcast_to(tables.rates(), self.shape[2:])
        if not np.isfinite(rates).all() or not (whole or search.share_of_part):
            return np.nan
        part = tables if whole else tables.part(limiting_part(tables.mesh, rates, count))
        operations = self.on(backends.get("numpy", "array", "float64", self.backend.threads), part)
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
            x = tuple(tables.origin[d, some] + points @ tables.tangents[:, d, some] for d in range(cell.dim))
            values = tables.physics.at_points(f, x, t, "the initial state")
            for v, value in enumerate(values):
                q[v, :, some] = matrix @ np.broadcast_to(self._real(value, tables.law.variables[v]), x[0].shape)
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
