"""Nodal discontinuous Galerkin in strong form on simplices.

M dq/dt = - sum_k S_k F_k + sum_faces integral of l (F.n - F*) dS, so
dq/dt = - sum_k D_k (F . grad r_k) + L (F.n - F*) J_face / J
Hesthaven & Warburton 2008; Kloeckner et al. 2009, equation (4); Kloeckner et al. 2013, equation (9).
"""
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Integral
from types import SimpleNamespace

import numpy as np

from .. import backends
from ..fluxes import upwind
from ..names import choose
from ..pointwise import Pointwise
from ..reference import quadrature, simplex
from ..stepping import real_limit, stages
from ..trace import call
from .connectivity import boundary_nodes, exterior_nodes, interior_faces
from .given import boundary_groups, element_values
from .memory import nodal_plan
from .memory_counts import PROJECTED
from .physics import Physics
from .spectrum import SEARCHES, UNKNOWNS, limiting_part, rounded_down, stable_step
from .stability import check_stepper, family, stability_limit

CUT = " cut"          # boundary where a part of the mesh was cut out



@dataclass(frozen=True)
class NodalDG:
    """Nodal discontinuous Galerkin of polynomial degree `order` (1 to 10) on intervals, triangles or tetrahedra.

    start: how the initial state is put on the elements, "projection" (L2) or "interpolation" (values at the nodes).
    """

    order: int = 4
    start: str = "projection"

    def __post_init__(self):
        if not isinstance(self.order, Integral) or self.order not in range(1, 11):
            raise ValueError(f"order={self.order!r} is not allowed for NodalDG; it must be a whole number from 1 to 10")
        choose("start", self.start, ("projection", "interpolation"))

    def check(self, mesh, law, boundary, flux=None, source=None):
        """Raise ValueError or TypeError where mesh, law, boundary, flux and source do not fit, before anything is computed."""
        check_given(mesh, law, boundary, flux, source)

    @property
    def nodal_order(self):
        """Degree of the nodal polynomials that the output holds."""
        return self.order

    def kernels(self, backend):
        """Which kernels compute on a backend, "fused" or "array"."""
        return backend.kernels

    def memory(self, mesh, law, backend, stepper, boundary=None, flux=None, source=None):
        """What a run allocates and when, a `dgarray.methods.memory.Plan`, computed from counts: nothing large is allocated.

        Arguments as for `discretise`; stepper: e.g. `dgarray.stepping.LSRK54`."""
        return nodal_plan(mesh, law, self, backend, stepper, boundary, flux, source)

    def discretise(self, mesh, law, boundary, backend, flux=None, source=None):
        """The operations of this method on the mesh: a NodalOperator on the backend.

        flux: numerical flux, a function of the law (`upwind`); source(q, x, t) -> tuple, added to the law's own.
        Raises ValueError where mesh, law and boundary do not fit."""
        self.check(mesh, law, boundary, flux, source)
        return NodalOperator(self, NodalTables(mesh, self.order, law, boundary, flux or upwind, source), backend)


def check_given(mesh, law, boundary, flux, source, weak=False):
    """Raise ValueError or TypeError where mesh, law, boundary, flux and source do not fit."""
    if law.dim != mesh.dim:
        raise ValueError(f"the mesh has dimension {mesh.dim} ({mesh.cell_type} cells), but the law has {law.dim}: {law!r}")
    numbers = {name: None if callable(value) or isinstance(value, dict) else float(value)
               for name, value in law.parameters.items()}
    physics = Physics(law, flux or upwind, source, numbers, weak)
    jumps = [physics.boundary_jump(name, condition) for name, _, condition in boundary_groups(mesh, boundary)]
    for function in (*vars(physics.functions).values(), *jumps):
        function.graph                                    # noqa: B018  tracing is the check


class NodalTables:
    """All that nodal DG needs on one mesh, on the host in float64: matrices, metrics, index lists and physics.

    cell                            `dgarray.reference.Simplex` of the values that the output holds
    reference                       what `dgarray.methods.connectivity` asks for the nodes on the faces: here the same
    rows                            unknowns of a variable on an element
    differentiation (dim, node, node), lift (node, face * face node): see `dgarray.reference.Simplex`
    points (point, dim), face_points (face * face point, dim)   where fluxes are evaluated: here all nodes
    interpolate, trace              matrices from unknowns to values there; None: they are these values
    gradients (dim, dim, element)   dr_k / dx_d
    normals (face, dim, element)    outward unit normals
    scale (face, element)           J_face / J
    origin (dim, element), tangents (dim, dim, element)   x_d = origin_d + sum_k r_k tangents_kd
    parameters {name: (element,)}   the law's parameters that vary; the others are literals
    groups                          boundary conditions: faces (count, 2), nodes and slots (face node, face), jump
    functions                       volume, pair, left, finish, wave_speed: see `Physics`
    limits                          `dgarray.methods.limiting.Limits` of states after every stage; None: they stay
    """

    weak, limits = False, None

    def __init__(self, mesh, order, law, boundary, flux, source):
        self.mesh, self.order, self.law, self.boundary = mesh, order, law, boundary
        self.dim, self.elements, self.variables = mesh.dim, len(mesh.cells), len(law.variables)
        corners = mesh.points[mesh.cells]
        tangents = (corners[:, 1:] - corners[:, :1]) / 2
        self.tangents = np.ascontiguousarray(tangents.transpose(1, 2, 0))
        self.origin = np.ascontiguousarray((corners[:, 0] + tangents.sum(axis=1)).T)
        self.gradients = np.ascontiguousarray(np.linalg.inv(tangents).transpose(2, 1, 0))
        self.normals = np.ascontiguousarray(mesh.normals.transpose(1, 2, 0))
        face_measure = simplex(mesh.dim - 1, 1).volume if mesh.dim > 1 else 1.0
        jacobian = mesh.measures / simplex(mesh.dim, 1).volume
        self.scale = np.ascontiguousarray((mesh.face_measures / face_measure).T / jacobian)
        values = {name: element_values(mesh, law, name, value) for name, value in law.parameters.items()}
        self.parameters = {name: v for name, v in values.items() if v is not None}
        numbers = {name: float(law.parameters[name]) if v is None else None for name, v in values.items()}
        self.physics = Physics(law, flux, source, numbers, self.weak)
        self.functions = self.physics.functions
        self.set_reference()
        self.groups = []
        for name, faces, condition in boundary_groups(mesh, boundary):
            nodes, slots = boundary_nodes(self.reference, self.elements, faces)
            self.groups.append(SimpleNamespace(name=name, faces=faces, nodes=nodes, slots=slots,
                                               jump=self.physics.boundary_jump(name, condition)))

    def set_reference(self):
        """Set what comes from the reference cell: points and matrices."""
        self.cell = self.reference = cell = simplex(self.dim, self.order)
        self.nodes = self.points = self.face_points = cell.nodes
        self.rows, self.face_nodes = len(cell.nodes), cell.face_nodes
        self.differentiation, self.lift = cell.differentiation, cell.lift
        self.interpolate = self.trace = None

    @cached_property
    def finishes(self):
        """Whether `finish` changes anything: sources, the capacity."""
        graph = self.functions.finish.graph
        return [graph.nodes[i][:2] for i in graph.outputs] != [("input", f"r{v}") for v in range(self.variables)]

    @cached_property
    def damping(self):
        """The law's largest damping rate, 1 / time; 0 without one."""
        if self.law.damping is None:
            return 0.0
        damping = Pointwise(self.law.damping, {"m": self.physics.parameters}, "damping")
        return float(np.max(damping(m=self.parameters)[0]))

    @cached_property
    def needs_x(self):
        """Whether any of the physics depends on the position."""
        return any(f.depends_on("x") for f in (*vars(self.functions).values(), *(group.jump for group in self.groups)))

    def part(self, cells):
        """The tables of some of the elements alone; nothing comes in through the cut."""
        def nothing(q):
            return tuple(0.0 * component for component in q)
        given = self.boundary if isinstance(self.boundary, dict) else {"default": self.boundary} if self.boundary else {}
        return self.on(self.mesh.part(cells, CUT), {**given, CUT: nothing})

    def on(self, mesh, boundary):
        """The tables of the same problem on another mesh."""
        return NodalTables(mesh, self.order, self.law, boundary, self.physics.flux, self.physics.source)

    def rates(self):
        """Sum over the faces of s J_face / J, 1 / time, (element,), of laws whose speed depends on neither state nor time."""
        x = tuple(self.mesh.centroids.T)
        speeds = (self.functions.wave_speed(n=tuple(n), x=x, t=0.0, m=self.parameters)[0] for n in self.normals)
        parts = [speed * scale for speed, scale in zip(speeds, self.scale)]
        if any(np.min(part) < 0 for part in parts):
            raise ValueError(f"the wave_speed of {type(self.law).__name__} is negative; it must be an absolute value")
        return sum(parts)

    def coordinates(self, points=None):
        """x at reference points (point, dim) of every element, (dim, point, element); by default those of the volume."""
        r = self.points if points is None else points
        return np.array([self.origin[d] + r @ self.tangents[:, d] for d in range(self.dim)])

    def interior_faces(self):
        return interior_faces(self.mesh, self.reference)

    def exterior_nodes(self):
        return exterior_nodes(self.mesh, self.reference)


class NodalOperator:
    """Nodal DG of one law on one mesh, on a backend: dq/dt and what a run needs beside it."""

    def __init__(self, method, tables, backend):
        self.method, self.tables, self.backend = method, tables, backend
        self.shape = (tables.variables, tables.rows, tables.elements)
        self.operations = self.on(backend, tables)
        self.state, self.host, self.zeros = self.operations.state, self.operations.host, self.operations.zeros
        self.stage, self.finite = self.operations.stage, self.operations.finite
        if hasattr(self.operations, "step"):
            self.step = partial(self.operations.step, stages)
        # What is not finite stays so, and can be found steps later; what is not admissible may become so again.
        self.check_every = self.operations.check_every if tables.law.admissible is None else 1
        self._steps = {}            # largest stable steps by stepper, of laws whose wave speed stays

    @staticmethod
    def on(backend, tables):
        """The operations of this method on a backend."""
        return backend.nodal(tables)

    def nodal(self, q):
        """Values at the nodes, as output and analysis want them, of a state q (variable, row, element) of the host."""
        return q

    def take(self, state, elements):
        """Values at the nodes of some elements on the host, (variable, node, element of `elements`)."""
        return self.nodal(self.operations.take(state, elements))

    def fetch(self, state):
        """Values at the nodes on their way to the host: ready(), whether they are there; result(), which waits for them."""
        return self.operations.fetch(state)

    def rhs(self, q, t):
        """dq/dt = (-div F + L (F.n - F*) + s) / C at (q, t), both as the backend keeps them (see `state` and `host`)."""
        return self.operations.rhs(q, t)

    def sound(self, q, t):
        """Whether every value of the state is finite, and admissible where the law says what is."""
        return self.finite(q) and (self.tables.law.admissible is None or self.operations.all_admissible(q, t))

    def inadmissible(self, q, t):
        """Where the state q of the host is not admissible, rows (element, 0, node)."""
        if self.tables.law.admissible is None:
            return np.empty((0, 3), int)
        bad = np.argwhere(~self.backend.host(self.operations.admissible(self.state(q), t)).T)
        return np.insert(bad, 1, 0, axis=1)

    def max_dt(self, q, t, stepper):
        """Largest stable time step at the state q.

        Where the wave speed depends on neither state nor time, from the eigenvalues of this operator, found once: see
        `dgarray.methods.spectrum`. Else from wave speeds and sizes of the elements, by a measured table: see
        `dgarray.methods.stability`; and where the law damps, 1/dt = 1/dt_waves + damping / z, z the stepper's limit on the
        negative real axis.
        Raises ValueError for a stepper that has no stable step at this order."""
        check_stepper(self.method.order, stepper)
        speed = self.tables.functions.wave_speed
        if speed.depends_on("q") or speed.depends_on("t"):
            return self._step_of_table(q, t, stepper)
        if stepper.name not in self._steps:
            step = self._step_of_spectrum(stepper)
            self._steps[stepper.name] = step if step > 0 else self._step_of_table(q, t, stepper)
        return self._steps[stepper.name]

    def _step_of_table(self, q, t, stepper):
        factor, exponent = stability_limit(self.tables.law, self.method.order, stepper)
        rate = self.operations.rate(q, t, exponent) / factor + self.tables.damping / real_limit(stepper)
        return 1 / rate if rate != 0 else np.inf

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
            values = tables.physics.checked(call(f, dict(x=x, t=t), "initial state"), "the initial state", f)
            for v, value in enumerate(values):
                q[v, :, some] = matrix @ np.broadcast_to(self._real(value, tables.law.variables[v]), x[0].shape)
        return q

    def projection(self):
        """Reference points (point, dim), and the matrix (row, point) from values there to the state."""
        cell = self.tables.cell
        if self.method.start == "interpolation":
            return cell.nodes, np.eye(len(cell.nodes))
        points, weights = quadrature(cell.dim, 2 * cell.order + 4)
        return points, cell.vandermonde @ (cell.evaluate_basis(points) * weights[:, None]).T

    @staticmethod
    def _real(value, variable):
        if np.iscomplexobj(value):
            raise ValueError(f"the initial state, component {variable}, is complex; it must be real")
        return np.asarray(value, float)
