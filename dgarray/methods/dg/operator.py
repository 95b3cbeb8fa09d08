"""The operators of nodal and modal discontinuous Galerkin: one law on one mesh, on a backend."""
from dataclasses import dataclass

import numpy as np

from ...backends.arrays import ArrayBackend
from ...physics.admission import not_admitted
from ...physics.trace import call
from ...reference.columns import multiply
from ...stepping import real_limit
from ..array_operator import ArrayOperator
from ..check import Check
from ..exchange import Copies
from ..physics import real
from ..stage_update import step_text
from .error_estimate import error_estimate
from .mass import conserved
from .spectrum import limiting_part, rounded_down, searched, stable_step
from .stability import check_stepper, limit_on
from .stage_program import last_stage

PROJECTED = 4096          # elements that are projected at a time, for the initial state


class DGOperator(ArrayOperator):
    """The operator of nodal DG: dq/dt, time steps, projection and error estimate.

    The state is q (variable, node, element).

    messages   the `Messages` by which a part of a mesh is connected with the others; else None"""

    messages = None

    def __init__(self, problem, method, tables, backend):
        super().__init__(problem, method, tables.build(), backend.operations(method.operations(tables), tables), backend)
        # A value that is not finite stays so, and can be found some steps later. A state that is not admissible may become
        # admissible again, so it is looked for after every step.
        self.check_every = self.operations.check_every if tables.law.admissible is None else 1
        self._steps = {}            # {stepper: largest stable step}, for laws whose wave speed does not change
        self._checks = {}           # {stepper: what `check_on_the_way` says}

    @property
    def dofs(self):
        return int(np.prod(self.shape))

    def parameters(self, part):
        return {name: part.spread(values) for name, values in self.tables.parameters.items()} | {
            name: np.asarray(call(self.law.parameters[name], dict(x=part.x), name), float) for name in self.tables.media.names}

    def advance(self, state, t, dt):
        return self.filtered(super().advance(state, t, dt))

    def advance_checked(self, state, t, dt):
        new, check = self._step(state, t, dt, self.check_on_the_way)
        return self.filtered(new), check

    @property
    def check_on_the_way(self):
        """Which check a step includes: the exponent of the wave rate in it, 0 without a rate, None for no check.

        There is none where admissibility depends on time, or a filter changes the state after the last stage. The rate is not
        asked for where wave speeds do not depend on the state, or depend on time."""
        if self.stepper.name not in self._checks:
            law, functions = self.tables.law, self.tables.functions
            exponent = self.limit(self.stepper)[1] if functions.wave_speed.depends_on("q") and not (
                functions.wave_speed.depends_on("t")) else 0
            late = self.tables.filter is not None or law.admissible and functions.admissible.depends_on("t")
            # On several ranks each look is a message.
            seldom = self.messages is not None and law.admissible is None
            self._checks[self.stepper.name] = None if late or seldom and not exponent else exponent
        return self._checks[self.stepper.name]

    def stages(self, state, t, dt):
        for number, (time, new) in enumerate(super().stages(state, t, dt), 1):
            yield time, self.filtered(new) if number == self.stage_count else new

    def filtered(self, state):
        """The state at the end of a step, filtered in place if the method has a filter, and then limited again."""
        if self.tables.filter is not None:
            self.operations.filter(state)
            self.operations.limit(state)
        return state

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

    def take(self, state, elements):
        """Values at the nodes of some elements on the host, (variable, node, element of `elements`)."""
        return self.nodal(self.operations.take(state, elements))

    def fetch(self, state):
        return self.operations.fetch(state)

    def rhs(self, q, t):
        """dq/dt = (-div F + L (F.n - F*) + s) / C at (q, t).

        q and the result are states in the backend's layout; `state` and `host` convert from and to plain arrays."""
        return self.operations.rhs(q, t)

    def check(self, q, t):
        """The `Check` of a state: whether every value is finite and, if the law has `admissible`, admissible."""
        finite = self.operations.finite(q)
        return Check(finite, not finite or self.tables.law.admissible is None or self.operations.all_admissible(q, t))

    def not_admissible(self, q, t):
        if self.tables.law.admissible is None:
            return np.empty((0, 3), int)
        bad = np.argwhere(~self.backend.host(self.operations.admissible(self.state(q), t)).T)
        return np.insert(bad, 1, 0, axis=1)

    def largest_step(self, state, t, check=None):
        """Largest stable time step at the state; check: its `Check` from `advance_checked`, or None."""
        return self.max_dt(state, t, self.stepper, check)

    def waves_step(self, state, t):
        tables, speed = self.tables, self.tables.functions.wave_speed
        if speed.depends_on("q") or speed.depends_on("t"):
            return None
        if not tables.elements:
            return np.inf
        rate = float(np.max(tables.rates() - tables.internal_rates(tuple(tables.mesh.centroids.T))))
        return self.limit(self.stepper)[0] / rate if rate > 0 else np.inf

    def connect(self, messages):
        """Let the operator of a part of a mesh renew its copies of other parts' elements by these `Messages`."""
        if messages is not None and self.mesh.share is not None:
            self.messages = messages
            self.operations.alone.copies = Copies(messages, {None: (self.operations, self.mesh.share)})

    @property
    def copies(self):
        """The `Copies` of other parts' elements, on a part of a mesh."""
        return self.operations.copies

    def max_dt(self, q, t, stepper, check=None):
        """Largest stable time step at the state q with a stepper.

        If the wave speed depends on neither state nor time, the step comes from the eigenvalues of this operator, which are
        found once: see `dgarray.methods.dg.spectrum`. Else it comes from wave speeds and sizes of the elements, by a measured
        table: see `dgarray.methods.dg.stability`. If the law has a damping rate, 1/dt = 1/dt_waves + damping / z, with z the
        stepper's stability limit on the negative real axis.

        check: the `Check` of q, whose rate is used if it has one
        Raises ValueError for a stepper that has no stable step at this order."""
        check_stepper(self.method.order, stepper)
        speed = self.tables.functions.wave_speed
        if speed.depends_on("q") or speed.depends_on("t"):
            return self._step_of_table(q, t, stepper, check)
        if stepper.name not in self._steps:
            search = self._step_of_spectrum
            step = search(stepper) if self.messages is None else self.messages.once(search, stepper)
            self._steps[stepper.name] = step if step > 0 else self._step_of_table(q, t, stepper)
        return self._steps[stepper.name]

    @property
    def search(self):
        return self.tables.search

    @search.setter
    def search(self, value):
        self.tables.search = value

    def searched(self, places):
        return 0 if self.search is None else searched(self.search[0], self.tables.variables * self.tables.rows, places)

    def _step_of_table(self, q, t, stepper, check=None):
        """The step from the measured table, dt = factor / rate.  In the weak form, but that of prisms and pyramids which are
        not affine, the rate has exponent 1, with the bound

        dt <= min over elements of h / s / (2 order + 1), h / s = 2 |T| / sum over faces of s |face|, s as in `WeakForm.rate`.

        Where s is the same on all faces, h is an interval's length, the radius of a triangle's inscribed circle, or two thirds
        of the radius of a tetrahedron's inscribed sphere.  At order 0, which the table lacks, this bound makes a forward Euler
        step an average of the element's value and its neighbours'.
        Fuhry, Giuliani & Krivodonova 2014; Cockburn & Shu 2001, section 2.2."""
        factor, exponent = self.limit(stepper)
        known = check is not None and check.exponent == exponent
        rate = check.rate if known else self.operations.rate(q, t, exponent)
        if self.messages is not None and not known:          # a check is that of all parts
            rate = self.messages.largest(np.array([rate]))[0]
        rate = rate / factor + self.tables.damping / real_limit(stepper)
        return 1 / rate if rate != 0 else np.inf

    def limit(self, stepper):
        """(factor, exponent) of the largest stable step, dt = factor / rate: see `dgarray.methods.dg.stability`."""
        order, tables = self.method.order, self.tables
        shape = tables.mesh.cell_shape
        factor, exponent = limit_on(shape, tables.law, order, stepper) if order else (np.inf, 1.0)
        if tables.weak and not (tables.curved and shape.mixed_faces):          # |face| / |T| = dim / 2 times J_face / J
            factor, exponent = min(factor, 4 / tables.dim / (2 * order + 1)), 1.0
        return factor, exponent

    def _step_of_spectrum(self, stepper):
        """The step from the operator's eigenvalues, by array expressions in float64, so that it is the same on every backend;
        nan where the table must be used instead. On a part of a mesh it is that of the whole."""
        tables = self.tables.of_whole
        rates = np.broadcast_to(tables.rates(), tables.elements)
        if tables.search is None or not np.isfinite(rates).all():
            return np.nan
        search, count = tables.search
        whole = count == tables.elements
        part = tables if whole else tables.part(limiting_part(tables.mesh, rates, count))
        operations = ArrayBackend(np, "float64", "numpy", self.backend.threads).operations(self.method.operations(part), part)
        shape = (*self.shape[:2], part.elements)
        with np.errstate(all="ignore"):          # a user's source may be nan at a random state; then the table is used
            still = operations.rhs(np.zeros(shape), 0.0)

            def linear(q):
                return (operations.rhs(q.reshape(shape), 0.0) - still).ravel()
            share = search.share_of(count, tables.elements, tables.dim)
            step = stable_step(linear, int(np.prod(shape)), stepper, search, share)
        return rounded_down(step)

    def project(self, f, t=0.0):
        """As `projected`; then the state is limited, if the method has a limiter."""
        return self.limited(self.projected(f, t))

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

    def state_at(self, q, place, row):
        tables = self.tables
        points = tables.points if tables.trace is None else np.concatenate([tables.points, tables.face_points])
        r = points[row:row + 1]
        values = tables.reference.basis.evaluate_basis(r) if tables.modal else tables.cell.interpolation(r)
        x = tables.positions(r, slice(place, place + 1))
        return (q[:tables.moving, :, place] @ values[0]), tuple(c.item() for c in x)

    def limited(self, q):
        """The state q (variable, row, element) of the host, limited in place as after a stage, if the method has a limiter."""
        if self.tables.limits is not None:
            ArrayBackend(np, "float64", "numpy").operations(self.method.operations(self.tables), self.tables).limit(q)
        return q

    def projection(self):
        """The points (point, dim) in the reference cell at which `project` evaluates a function, and the matrix (row, point)
        from values there to the state."""
        cell = self.tables.cell
        if self.method.start == "interpolation":
            return cell.nodes, np.eye(len(cell.nodes))
        points, weights = self.tables.mesh.cell_shape.quadrature(max(2 * cell.order + 4, self.method.quadrature or 0))
        return points, cell.vandermonde @ (cell.evaluate_basis(points) * weights[:, None]).T

    def error_estimate(self, loop):
        return error_estimate(self, loop)

    def program(self, name, *options):
        """A program of these elements, of a function of `stage_program`."""
        return self.operations.alone.program(name, *options)

    def step_text(self):
        return step_text(last_stage(self, self.stepper), super().step_text())


class ModalOperator(DGOperator):
    """The operator of modal DG; the state is the coefficients c[variable, mode, element]."""

    def at_nodes(self, q):
        return self.tables.reference.nodal.astype(q.dtype, copy=False) @ q

    def fetch(self, state):
        return Nodal(self.operations.fetch(state), self.nodal)

    def projection(self):
        reference = self.tables.reference
        points, weights = self.tables.mesh.cell_shape.quadrature(max(2 * self.method.order + 4, reference.degree))
        return points, (reference.basis.evaluate_basis(points) * weights[:, None]).T


@dataclass
class Nodal:
    """A copy of coefficients to the host whose result is values at the nodes.

    coming: the copy, from `DGArrays.fetch`;  nodal: the function from coefficients to values at the nodes"""

    coming: object
    nodal: object

    def ready(self):
        return self.coming.ready()

    def result(self):
        return self.nodal(self.coming.result())
