"""All that a DG method needs on one mesh, on the host in float64: matrices, metrics, index lists and physics."""
from functools import cached_property
from types import SimpleNamespace

import numpy as np

from ..pointwise import Pointwise
from ..reference import modal_simplex, simplex
from .boundary_setup import boundary_groups, element_values, face_values
from .connectivity import boundary_nodes, exterior_nodes, interior_faces
from .limiting import Limiting, Limits
from .physics import Physics

CUT = " cut"          # boundary where a part of the mesh was cut out
NO_LIMITS = Limiting()


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
    groups                          boundary conditions: faces (count, 2), nodes and slots (face node, face), jump, and values
                                    {name: (face,)} of conditions that ask for numbers of their faces
    functions                       volume, pair, left, finish, wave_speed: see `Physics`
    limits                          `dgarray.methods.limiting.Limits` of states after every stage; None: they stay
    filter (node, node)             of states after every step; None: they stay
    surface                         of `ModalDG`
    """

    weak, limits, filter, surface = False, None, None, None

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
                                               values=face_values(mesh, faces, condition),
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
    def speeds_everywhere(self):
        """Whether the speed of waves towards a face is the largest at all points of an element and not at those of the face:
        where the state in it jumps, the fastest wave that an element holds may come from another face, or from none."""
        return not self.weak or self.functions.wave_speed.depends_on("q")

    @cached_property
    def speeds_inside(self):
        """Whether these are those of the volume too, and not of the faces alone, where a linear polynomial is largest."""
        return self.weak and self.speeds_everywhere and self.order > 1

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


class ModalTables(NodalTables):
    """As `NodalTables`, for modal DG: see `dgarray.reference.ModalSimplex` for the matrices.

    cell                                                    nodal cell of the output, of degree max(order, 1)
    reference                                               the ModalSimplex: points of the faces take the place of face nodes
    differentiation (dim, mode, point)                      where there are sources one row more, - project, which takes them
    interpolate (point, mode), trace (face * face point, mode), lift (mode, face * face point)
    groups                                                  their nodes and slots are both rows of `trace`
    """

    weak = True

    def __init__(self, mesh, order, law, boundary, flux, source, degree=None, limiting=NO_LIMITS):
        self.degree, self.limiting = degree, limiting
        super().__init__(mesh, order, law, boundary, flux, source)

    def set_reference(self):
        self.cell, self.reference = simplex(self.dim, max(self.order, 1)), modal_simplex(self.dim, self.order, self.degree)
        self.points, self.face_points = self.reference.points, self.reference.face_points.reshape(-1, self.dim)
        self.rows, self.face_nodes = len(self.reference.project), self.reference.face_nodes
        self.differentiation, self.lift = self.reference.differentiation, self.reference.lift
        if self.physics.sources:
            self.differentiation = np.concatenate([self.differentiation, -self.reference.project[None]])
        self.interpolate, self.trace = self.reference.interpolate, self.reference.trace

    def on(self, mesh, boundary):
        return type(self)(mesh, self.order, self.law, boundary, self.physics.flux, self.physics.source, self.degree,
                          self.limiting)

    @cached_property
    def limits(self):
        return Limits(self.limiting, self) if self.limiting.limiter or self.limiting.positivity else None


class QuadratureTables(ModalTables):
    """As `ModalTables`, with values at the nodes of the cell for unknowns: u = V c, so V^-1 on the way to points, V back."""

    def set_reference(self):
        super().set_reference()
        V = self.cell.vandermonde
        self.nodes = self.cell.nodes
        self.differentiation, self.lift = V @ self.differentiation, V @ self.lift
        self.interpolate, self.trace = (np.linalg.solve(V.T, values.T).T for values in (self.interpolate, self.trace))
