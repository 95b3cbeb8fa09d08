"""Nodal discontinuous Galerkin in strong form on simplices.

M dq/dt = - sum_k S_k F_k + sum_faces integral of l (F.n - F*) dS, so
dq/dt = - sum_k D_k (F . grad r_k) + L (F.n - F*) J_face / J
Hesthaven & Warburton 2008; Kloeckner et al. 2009, equation (4); Kloeckner et al. 2013, equation (9).
"""
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from types import SimpleNamespace

import numpy as np

from ..fluxes import upwind
from ..pointwise import Pointwise, components
from ..reference import quadrature, simplex
from ..stepping import real_limit
from ..trace import call
from .connectivity import boundary_nodes, exterior_nodes, interior_faces
from .given import boundary_groups, element_values
from .stability import stability_limit


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
        if self.start not in ("projection", "interpolation"):
            raise ValueError(f"start={self.start!r} is not allowed; allowed: projection, interpolation")

    def check(self, mesh, law, boundary, flux=None, source=None):
        """Raise ValueError or TypeError where mesh, law, boundary, flux and source do not fit, before anything is computed."""
        if law.dim != mesh.dim:
            raise ValueError(f"the mesh has dimension {mesh.dim} ({mesh.cell_type} cells), but the law has {law.dim}: {law!r}")
        numbers = {name: None if callable(value) or isinstance(value, dict) else float(value)
                   for name, value in law.parameters.items()}
        physics = Physics(law, flux or upwind, source, numbers)
        jumps = [physics.boundary_jump(name, condition) for name, _, condition in boundary_groups(mesh, boundary)]
        for function in (*vars(physics.functions).values(), *jumps):
            function.graph                                    # noqa: B018  tracing is the check

    def discretise(self, mesh, law, boundary, backend, flux=None, source=None):
        """The operations of this method on the mesh: a NodalOperator on the backend.

        flux: numerical flux, a function of the law (`upwind`); source(q, x, t) -> tuple, added to the law's own.
        Raises ValueError where mesh, law and boundary do not fit."""
        self.check(mesh, law, boundary, flux, source)
        return NodalOperator(self, NodalTables(mesh, self.order, law, boundary, flux or upwind, source), backend)


class NodalTables:
    """All that nodal DG needs on one mesh, on the host in float64: matrices, metrics, index lists and physics.

    differentiation (dim, node, node), lift (node, face * face node): see `dgarray.reference.Simplex`
    gradients (dim, dim, element)   dr_k / dx_d
    normals (face, dim, element)    outward unit normals
    scale (face, element)           J_face / J
    origin (dim, element), tangents (dim, dim, element)   x_d = origin_d + sum_k r_k tangents_kd
    parameters {name: (element,)}   the law's parameters that vary; the others are literals
    groups                          boundary conditions: faces (count, 2), nodes and slots (face node, face), jump
    functions                       volume, pair, left, finish, wave_speed: see `Physics`
    """

    def __init__(self, mesh, order, law, boundary, flux, source):
        self.mesh, self.order, self.law = mesh, order, law
        self.cell = cell = simplex(mesh.dim, order)
        self.dim, self.elements, self.variables = mesh.dim, len(mesh.cells), len(law.variables)
        self.differentiation, self.lift, self.nodes = cell.differentiation, cell.lift, cell.nodes
        self.face_nodes = cell.face_nodes
        corners = mesh.points[mesh.cells]
        tangents = (corners[:, 1:] - corners[:, :1]) / 2
        self.tangents = np.ascontiguousarray(tangents.transpose(1, 2, 0))
        self.origin = np.ascontiguousarray((corners[:, 0] + tangents.sum(axis=1)).T)
        self.gradients = np.ascontiguousarray(np.linalg.inv(tangents).transpose(2, 1, 0))
        self.normals = np.ascontiguousarray(mesh.normals.transpose(1, 2, 0))
        face_measure = simplex(mesh.dim - 1, 1).volume if mesh.dim > 1 else 1.0
        jacobian = mesh.measures / cell.volume
        self.scale = np.ascontiguousarray((mesh.face_measures / face_measure).T / jacobian)
        values = {name: element_values(mesh, law, name, value) for name, value in law.parameters.items()}
        self.parameters = {name: v for name, v in values.items() if v is not None}
        self.physics = Physics(law, flux, source, {name: float(law.parameters[name]) if v is None else None
                                                   for name, v in values.items()})
        self.functions = self.physics.functions
        self.groups = []
        for name, faces, condition in boundary_groups(mesh, boundary):
            nodes, slots = boundary_nodes(cell, self.elements, faces)
            self.groups.append(SimpleNamespace(name=name, faces=faces, nodes=nodes, slots=slots,
                                               jump=self.physics.boundary_jump(name, condition)))

    @cached_property
    def finishes(self):
        """Whether sources or the capacity change anything."""
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

    def coordinates(self):
        """x at every node, (dim, node, element)."""
        return np.array([self.origin[d] + self.nodes @ self.tangents[:, d] for d in range(self.dim)])

    def interior_faces(self):
        return interior_faces(self.mesh, self.cell)

    def exterior_nodes(self):
        return exterior_nodes(self.mesh, self.cell)


class Physics:
    """The law as the pointwise functions that nodal DG asks a backend to evaluate.

    volume (q, g, x, t, m)               F(q) . grad r_k for every k: dim * variables components; g_kd = dr_k/dx_d
    pair (l, r, n, s, x, t, ml, mr)      s (F.n - F*) on both sides of a face: 2 * variables components
    left (l, r, n, s, x, t, ml, mr)      the same on the left side only
    finish (r, q, x, t, m)               (r + source) / capacity
    wave_speed (q, n, x, t, m)           one component
    """

    def __init__(self, law, flux, source, parameters):
        self.law, self.flux, self.source, self.parameters = law, flux, source, parameters
        d, v = law.dim, len(law.variables)
        self.state = {"q": v, "x": d, "t": None, "m": parameters}
        self.numerical = flux(law)
        m = {"ml": parameters, "mr": parameters}
        self.functions = SimpleNamespace(
            volume=Pointwise(self.volume, {**self.state, "g": d * d}, "flux"),
            finish=Pointwise(self.finish, {**self.state, "r": v}, "source"),
            wave_speed=Pointwise(self.wave_speed, {**self.state, "n": d}, "wave speed"),
            pair=Pointwise(self.pair, {"l": v, "r": v, "n": d, "s": 2, "x": d, "t": None, **m}, "numerical flux"),
            left=Pointwise(self.left, {"l": v, "r": v, "n": d, "s": 1, "x": d, "t": None, **m}, "numerical flux"))

    def volume(self, q, g, x, t, m):
        d = self.law.dim
        directions = (g[k * d:(k + 1) * d] for k in range(d))
        return tuple(f for n in directions for f in self.flux_along(n, q, x, t, m))

    def flux_along(self, n, q, x, t, m):
        """F(q) . n."""
        return self.checked(call(self.law.flux, dict(q=q, n=n, x=x, t=t, m=m), "flux"), "the law's flux")

    def checked(self, result, role, function=None):
        """The components of a function of the law or the user, as many as the law has variables, else ValueError."""
        return components(result, len(self.law.variables), role + place(function), self.law.variables)

    def star(self, numerical, l, r, n, x, t, ml, mr):
        """F*, the numerical flux between two states."""
        sides = dict(l=l, r=r, n=n, x=x, t=t, ml=ml, mr=mr)
        return self.checked(call(numerical, sides, "numerical flux"), "the numerical flux")

    def pair(self, l, r, n, s, x, t, ml, mr):
        star = self.star(self.numerical, l, r, n, x, t, ml, mr)
        left, right = (self.flux_along(n, q, x, t, m) for q, m in ((l, ml), (r, mr)))
        return (*(s[0] * (f - h) for f, h in zip(left, star)), *(s[1] * (h - f) for f, h in zip(right, star)))

    def left(self, l, r, n, s, x, t, ml, mr):
        return self.pair(l, r, n, (s[0], 0.0), x, t, ml, mr)[:len(l)]

    def boundary_jump(self, name, condition):
        """s (F.n - F*) at a boundary: the exterior state is the condition's, its parameters are the element's own."""
        numerical = getattr(condition, "flux", self.flux)(self.law)

        def jump(q, n, s, x, t, m):
            outside = call(condition, dict(q=q, n=n, x=x, t=t, m=m, law=self.law), f"boundary {name!r}")
            star = self.star(numerical, q, self.checked(outside, f"boundary {name!r}", condition), n, x, t, m, m)
            return tuple(s[0] * (f - h) for f, h in zip(self.flux_along(n, q, x, t, m), star))
        return Pointwise(jump, {**self.state, "n": self.law.dim, "s": 1}, f"boundary {name!r}")

    def finish(self, r, q, x, t, m):
        for role, source in (("law's source", self.law.source), ("source", self.source)):
            if source is not None:
                added = self.checked(call(source, dict(q=q, x=x, t=t, m=m), role), f"the {role}", source)
                r = tuple(a + b for a, b in zip(r, added))
        if self.law.capacity is None:
            return r
        return tuple(a / c for a, c in zip(r, self.checked(call(self.law.capacity, dict(m=m), "capacity"), "the capacity")))

    def wave_speed(self, q, n, x, t, m):
        return components(call(self.law.wave_speed, dict(q=q, n=n, x=x, t=t, m=m), "wave speed"), 1, "the wave speed")


class NodalOperator:
    """Nodal DG of one law on one mesh, on a backend: dq/dt and what a run needs beside it."""

    def __init__(self, method, tables, backend):
        self.method, self.tables, self.backend = method, tables, backend
        self.shape = (tables.variables, len(tables.nodes), tables.elements)
        self.operations = backend.nodal(tables)
        self.state, self.host, self.zeros = self.operations.state, self.operations.host, self.operations.zeros
        self.stage, self.finite = self.operations.stage, self.operations.finite
        self._rates = {}            # of wave speeds that depend on neither state nor time, by exponent

    def rhs(self, q, t):
        """dq/dt = (-div F + L (F.n - F*) + s) / C at (q, t), both as the backend keeps them (see `state` and `host`)."""
        return self.operations.rhs(q, t)

    def max_dt(self, q, t, stepper):
        """Largest stable time step at the state q, as measured: see `dgarray.methods.stability`.

        Where the law damps, 1/dt = 1/dt_waves + damping / z, z the stepper's limit on the negative real axis."""
        factor, exponent = stability_limit(self.tables.law, self.method.order, stepper)
        if exponent not in self._rates:
            rate = self.operations.rate(q, t, exponent)
            speed = self.tables.functions.wave_speed
            if not (speed.depends_on("q") or speed.depends_on("t")):
                self._rates[exponent] = rate
        else:
            rate = self._rates[exponent]
        rate = rate / factor + self.tables.damping / real_limit(stepper)
        return 1 / rate if rate != 0 else np.inf

    def project(self, f, t=0.0):
        """The initial state f(x, t) -> tuple on the elements, (variable, node, element), on the host in float64."""
        cell, tables = self.tables.cell, self.tables
        if self.method.start == "interpolation":
            points, matrix = cell.nodes, np.eye(len(cell.nodes))
        else:
            points, weights = quadrature(cell.dim, 2 * cell.order + 4)
            matrix = cell.vandermonde @ (cell.evaluate_basis(points) * weights[:, None]).T
        q = np.empty(self.shape)
        for first in range(0, tables.elements, 4096):
            some = slice(first, first + 4096)
            x = tuple(tables.origin[d, some] + points @ tables.tangents[:, d, some] for d in range(cell.dim))
            values = tables.physics.checked(call(f, dict(x=x, t=t), "initial state"), "the initial state", f)
            for v, value in enumerate(values):
                q[v, :, some] = matrix @ np.broadcast_to(self._real(value, tables.law.variables[v]), x[0].shape)
        return q

    @staticmethod
    def _real(value, variable):
        if np.iscomplexobj(value):
            raise ValueError(f"the initial state, component {variable}, is complex; it must be real")
        return np.asarray(value, float)


def place(function):
    """Where a user's function is written, for messages: " (name, file:line)"."""
    code = getattr(function, "__code__", None)
    return f" ({function.__name__}, {code.co_filename}:{code.co_firstlineno})" if code else ""
