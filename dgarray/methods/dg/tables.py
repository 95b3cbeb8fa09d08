"""All that a DG method needs on one mesh, on the host in float64: matrices, metrics, index lists and physics."""
from functools import cached_property
from math import prod

import numpy as np

from ...physics.pointwise import Pointwise
from ...reference import modal_cell, reference_cell
from ...reference.columns import multiply
from .boundary_setup import conditions, parameters_on
from .connectivity import boundary_nodes, exterior_nodes, face_lists
from .joins import by_mortars
from .limiters.linear import LinearLimiterTables
from .limiters.tables import LimiterOptions, LimiterTables
from .media import Media, inside
from .physics import Physics
from .spectrum import search_of

CUT = " cut"          # boundary where a part of the mesh was cut out
NO_LIMITER = LimiterOptions()


class NodalTables:
    """All that nodal DG needs on one mesh, on the host in float64: matrices, metrics, index lists and physics.

    Arrays that grow with the mesh are computed on first use, or all at once by `build`.

    outer, inner                    number of faces at the boundary, and between two elements
    varying                         names of the law's parameters that vary in space
    variables, moving               number of the variables of a state, and of those that have a flux, which come first; the
                                    others are internal ones, see `dgarray.physics.auxiliary_variables`
    elements, owned                 number of all elements, and of the mesh's own, which come first. They differ on a part of a
                                    mesh only, where copies of other parts' elements follow the own ones
    cell                            the `dgarray.reference.Simplex` on whose nodes the output holds values
    reference                       the reference cell whose face nodes `dgarray.methods.dg.connectivity` numbers: here `cell`
    rows                            number of unknowns of a variable on an element
    differentiation (dim, node, node), lift (node, face * face node): see `dgarray.reference.Simplex`
    points (point, dim), face_points (face * face point, dim)   where fluxes are evaluated: here both are all nodes
    interpolate, trace              matrices from the unknowns to values at `points` and `face_points`; None: the unknowns are
                                    these values
    gradients (dim, dim, element)   dr_k / dx_d
    normals (face, dim, element)    outward unit normals
    scale (face, element)           J_face / J
    origin (dim, element), tangents (dim, dim, element)   x_d = origin_d + sum_k r_k tangents_kd
    parameters {name: (element,)}   the law's parameters that vary in space, at the centroids; the others are constants in the
                                    functions
    media                           the `Media`: those of them that vary inside of elements
    groups                          a `Group` for each boundary condition
    modal                           whether the unknowns are coefficients of modes, not values at the nodes of `cell`
    functions                       volume, pair, left, finish, wave_speed, admissible: see `Physics`
    sensor                          which elements take finite volumes on subcells; None: no shock capturing
    limits                          the `LimiterTables` or `LinearLimiterTables` applied after every stage; None: no limiter
    filter (node, node)             the matrix applied to the state after every step; None: no filter
    surface                         the option of `ModalDG`
    diagonal                        whether the mass matrix is
    curved                          whether metrics are at each point, see `dgarray.methods.dg.curved_tables`
    side_shapes                     shapes of what programs know of lists of faces, see `dgarray.methods.dg.set_constants.Side`
    mortar_points (point, dim)      where mortars of elements of this kind evaluate states, see `points_at_mortars`; None: the
                                    limiter need not know
    """

    weak, modal, curved, sensor, filter, surface, collocated, diagonal = False, False, False, None, None, None, None, False
    limiting = NO_LIMITER                # what the method limits
    mortar_points = None
    degree = None                       # of quadrature, where a method has it
    mortar_form = "projected"           # how mortars give the flux, see `dgarray.methods.dg.mortars`
    unit = "element and stage"          # to which the roofline model's counts belong
    sets = property(lambda self: {"": self})          # those of all element sets

    def __init__(self, mesh, order, law, boundary, flux, source):
        self.mesh, self.order, self.law, self.boundary = mesh, order, law, boundary
        self.side_shapes = {}
        self.dim, self.elements, self.owned = mesh.dim, len(mesh.cells), mesh.owned
        self.outer = len(mesh.boundary_faces)
        self.sides = mesh.neighbour_face.shape[1]
        self.inner = (self.elements * self.sides - self.outer) // 2
        self.varying = [name for name, value in law.parameters.items() if callable(value) or isinstance(value, dict)]
        numbers = {name: None if name in self.varying else float(value) for name, value in law.parameters.items()}
        self.physics = Physics(law, flux, source, numbers, self.weak, self.collocated)
        self.functions, self.variables, self.moving = self.physics.functions, self.physics.variables, self.physics.moving
        self.set_reference()
        self.groups = [
            Group(self, name, faces, values, None if condition is by_mortars else self.physics.boundary_jump(name, condition))
            for name, faces, condition, values in conditions(mesh, boundary)]

    def build(self):
        """Compute all arrays, in an order that keeps the peak memory low; returns the tables."""
        for name in (*self.shapes, "parameters"):
            getattr(self, name)
        for name in ("volume", "faces", "mass"):
            getattr(self.media, name)
        for group in self.groups:
            group.nodes          # noqa: B018
        return self

    @property
    def shapes(self):
        """The shapes of the metrics, {name: shape}."""
        d, F, E = self.dim, self.sides, self.elements
        return {"tangents": (d, d, E), "origin": (d, E), "gradients": (d, d, E), "normals": (F, d, E), "scale": (F, E)}

    @cached_property
    def tangents(self):
        corners = self.mesh.points[self.mesh.cells]
        return np.ascontiguousarray(((corners[:, self.mesh.cell_shape.axes] - corners[:, :1]) / 2).transpose(1, 2, 0))

    @cached_property
    def origin(self):
        first = self.mesh.points[self.mesh.cells[:, 0]]
        return np.ascontiguousarray((first + self.tangents.transpose(2, 0, 1).sum(axis=1)).T)

    @cached_property
    def gradients(self):
        return np.ascontiguousarray(np.linalg.inv(self.tangents.transpose(2, 0, 1)).transpose(2, 1, 0))

    @cached_property
    def normals(self):
        return np.ascontiguousarray(self.mesh.normals.transpose(1, 2, 0))

    @cached_property
    def scale(self):
        shape = self.mesh.cell_shape
        areas = (self.mesh.face_measures / shape.face_measures).T
        return np.ascontiguousarray(areas / (self.mesh.measures / shape.measure))

    @property
    def rate_metrics(self):
        """Normals (face, dim, element) and J_face / J (face, element) of wave rates, see `WeakForm.rate`."""
        return self.normals, self.scale

    def at_sides(self, sides, cells, nodes):
        """Outward normals (dim, face) and J_face / J (face,) of faces of cells; where these vary over a face, at its points
        (face point, face), whose numbers among all face points are `nodes`."""
        return self.normals[sides, :, cells].T, self.scale[sides, cells]

    @cached_property
    def parameters(self):
        return parameters_on(self.mesh, self.law)

    @cached_property
    def media(self):
        return Media(self)

    @cached_property
    def limits(self):
        return None if self.limiting == NO_LIMITER else LinearLimiterTables(self.limiting, self)

    @property
    def geometry(self):
        """The names of the metrics that kernels over elements read, boundary conditions included."""
        return self.metrics_read(self.needs_x)

    def metrics_read(self, needs_x):
        """The names of the metrics that kernels over elements read; needs_x: whether they need positions."""
        return ["gradients", "normals", "scale", *["origin", "tangents"] * needs_x]

    def rows_of(self, name):
        """How many numbers the metrics of that name have per element."""
        return prod(self.shapes[name][:-1])

    @property
    def geometry_rows(self):
        """The same of all in `geometry`."""
        return sum(map(self.rows_of, self.geometry))

    @cached_property
    def search(self):
        """How the eigenvalues for the largest stable step are searched for, see `dgarray.methods.dg.spectrum.search_of`; None
        where the step comes from the measured table, as it does with joins."""
        return None if self.join_faces else search_of(self)

    # At joins, see `dgarray.methods.dg.mortars`.

    @property
    def join_faces(self):
        """The `Group` of the faces where mortars give the flux; None: there are none."""
        return next((group for group in self.groups if group.jump is None), None)

    def number_at_joins(self, rows):
        """The number of each of the faces `rows` (face, 2) among those of `join_faces`."""
        number = np.full((self.elements, self.sides), -1)
        number[tuple(self.join_faces.faces.T)] = np.arange(len(self.join_faces.faces))
        return number[tuple(rows.T)]

    def points_of(self, sides, corners=None):
        """The points of the local faces `sides`, numbers as in `face_nodes`, (face, point): in the order of the face's points
        or, where the number of corners of these faces is given, in that of `FacePolynomials`."""
        points = self.face_nodes[sides]
        return points if corners is None else np.take_along_axis(points, self.positions_on_faces(sides, corners), axis=1)

    def positions_on_faces(self, sides, corners):
        """Which of the points of each of the local faces `sides` those of `FacePolynomials` are, (face, point)."""
        return self.reference.face_polynomials(corners).positions[sides]

    def area_vectors(self, rows, corners=None):
        """J_face n at the points of the faces `rows` (face, 2), as `points_of` orders them, (dim, face point, face)."""
        cells, sides = rows.T
        points = self.points_of(sides, corners).T
        normals, scale = self.at_sides(sides, cells, points * self.elements + cells)
        vectors = np.asarray(normals * (scale / self.per_area(cells)))
        return vectors if vectors.ndim == 3 else np.repeat(vectors[:, None], len(points), axis=1)

    def per_area(self, cells):
        """What `scale` is for J_face = 1 in these cells."""
        return self.mesh.cell_shape.measure / self.mesh.measures[cells]

    def set_reference(self):
        """Set the points and matrices of the reference cell."""
        self.cell = self.reference = cell = reference_cell(self.mesh.cell_shape, self.order)
        self.nodes = self.points = self.face_points = cell.nodes
        self.rows, self.face_nodes = len(cell.nodes), cell.face_nodes
        self.differentiation, self.lift = cell.differentiation, cell.lift
        self.interpolate = self.trace = None

    @cached_property
    def finishes(self):
        """Whether `finish` changes the tendency, by sources or a capacity."""
        graph = self.functions.finish.graph
        return [graph.nodes[i][:2] for i in graph.outputs] != [("input", f"r{v}") for v in range(self.variables)]

    @cached_property
    def speeds_everywhere(self):
        """Whether the wave speed normal to a face is maximised over all points of an element, not over those of the face alone:
        where the state varies strongly in an element, its fastest wave may be at another face or in the interior."""
        return not self.weak or self.functions.wave_speed.depends_on("q")

    @cached_property
    def speeds_inside(self):
        """Whether that maximum includes the points of the volume besides those of all faces; up to order 1 it does not, because
        a linear polynomial is largest on a face."""
        return self.weak and self.speeds_everywhere and self.order > 1

    @cached_property
    def damping(self):
        """The law's largest damping rate, and how fast its internal variables change at most, 1 / time; 0 without either."""
        inside_of = self.law.internal.fastest or 0.0 if self.law.internal else 0.0
        if self.law.damping is None:
            return inside_of
        damping, whole = Pointwise(self.law.damping, {"m": self.physics.parameters}, "damping"), self.mesh.whole
        varying = {name: inside(whole, self.law.parameters[name], self.points) for name in self.media.names}
        return float(np.max(damping(m=parameters_on(whole, self.law) | varying)[0])) + inside_of

    @cached_property
    def needs_x(self):
        """Whether any function of the physics depends on the position x, boundary conditions included."""
        return self.needs_x_inside or any(group.jump.depends_on("x") for group in self.groups if group.jump is not None)

    @cached_property
    def needs_x_inside(self):
        """Whether any function besides boundary conditions depends on x."""
        return any(function.depends_on("x") for function in vars(self.functions).values())

    def part(self, cells):
        """The tables of some of the elements alone, with a zero exterior state at the faces where they are cut out."""
        given = self.boundary if isinstance(self.boundary, dict) else {"default": self.boundary} if self.boundary else {}
        return self.on(self.mesh.part(cells, CUT), {**given, CUT: nothing})

    @property
    def of_whole(self):
        """The tables on the whole mesh if `mesh` is a part of one, else these tables."""
        return self if self.mesh.share is None else self.on(self.mesh.whole, self.boundary)

    def on(self, mesh, boundary):
        """The tables of the same problem on another mesh."""
        return NodalTables(mesh, self.order, self.law, boundary, self.physics.flux, self.physics.source)

    def rates(self):
        """Sum over the faces of s J_face / J, 1 / time, (element,), with the wave speed s at the centroid; for laws whose wave
        speed depends on neither state nor time."""
        x = tuple(self.mesh.centroids.T)
        normals, scales = self.rate_metrics
        speeds = (self.functions.wave_speed(n=tuple(n), x=x, t=0.0, m=self.parameters)[0] for n in normals)
        parts = [speed * scale for speed, scale in zip(speeds, scales)]
        if any(np.min(part) < 0 for part in parts):
            raise ValueError(f"the wave_speed of {type(self.law).__name__} is negative; it must be an absolute value")
        return sum(parts) + self.internal_rates(x)

    def internal_rates(self, x):
        """How fast internal variables of about 1 change at the points x (dim) of each element, a number or (element,)."""
        internal = self.law.internal
        if internal is None or not internal.names:
            return 0.0
        rate = Pointwise(internal.rate, {**self.physics.state, "q": self.moving, "w": len(internal.names)}, "rate")
        ones = dict(q=(1.0,) * self.moving, w=(1.0,) * len(internal.names))
        with np.errstate(all="ignore"):
            return sum(np.abs(value) for value in rate(**ones, x=x, t=0.0, m=self.parameters))

    def coordinates(self, points=None):
        """x at reference points (point, dim) in every element, (dim, point, element); the default is `points`."""
        return self.positions(self.points if points is None else points)

    def positions(self, points, some=slice(None)):
        """The same in some elements."""
        return np.array([self.origin[d, some] + multiply(points, self.tangents[:, d, some]) for d in range(self.dim)])

    def face_lists(self):
        """The faces by kind, a `dgarray.methods.dg.connectivity.FaceLists`."""
        return face_lists(self.mesh, self.reference)

    def exterior_nodes(self):
        """The neighbour's node at each face node, see `dgarray.methods.dg.connectivity.exterior_nodes`."""
        return exterior_nodes(self.mesh, self.reference)


def nothing(q):
    """The boundary condition where elements are cut out of a mesh: the exterior state 0."""
    return tuple(0.0 * component for component in q)


class Group:
    """The boundary faces with one condition.

    name           of the boundary, for messages
    faces          (count, 2) rows (element, local face)
    values         {name: (count,)} numbers of the faces that the condition asks for, see `boundary_setup.face_values`
    jump           the pointwise function of the face flux, see `Physics.boundary_jump`; None at joins, where mortars give it
    nodes, slots   (face node, count) indices, see `dgarray.methods.dg.connectivity.boundary_nodes`"""

    def __init__(self, tables, name, faces, values, jump):
        self.reference, self.elements = tables.reference, tables.elements
        self.name, self.faces, self.values, self.jump = name, faces, values, jump

    @cached_property
    def _numbers(self):
        return boundary_nodes(self.reference, self.elements, self.faces)

    @property
    def nodes(self):
        return self._numbers[0]

    @property
    def slots(self):
        return self._numbers[1]


class ModalTables(NodalTables):
    """As `NodalTables`, for modal DG: see `dgarray.reference.ModalSimplex` for the matrices.

    cell                                                    nodal cell of the output, of degree max(order, 1)
    reference                                               the ModalSimplex: points of the faces take the place of face nodes
    differentiation (dim, mode, point)                      with sources (dim + 1, mode, point): the last is - project, which
                                                            is applied to the sources
    interpolate (point, mode), trace (face * face point, mode), lift (mode, face * face point), projection (mode, point)
    groups                                                  their nodes and slots are the same: both count rows of `trace`
    """

    weak = modal = True

    def __init__(self, mesh, order, law, boundary, flux, source, degree=None, limiting=NO_LIMITER):
        self.degree, self.limiting = degree, limiting
        super().__init__(mesh, order, law, boundary, flux, source)

    def set_reference(self):
        shape = self.mesh.cell_shape
        self.cell, self.reference = reference_cell(shape, max(self.order, 1)), modal_cell(shape, self.order, self.degree)
        self.points, self.face_points = self.reference.points, self.reference.face_points.reshape(-1, self.dim)
        self.rows, self.face_nodes = len(self.reference.project), self.reference.face_nodes
        self.differentiation, self.lift = self.reference.differentiation, self.reference.lift
        if self.physics.sources_inside:
            self.differentiation = np.concatenate([self.differentiation, -self.reference.project[None]])
        self.interpolate, self.trace, self.projection = (self.reference.interpolate, self.reference.trace,
                                                         self.reference.project)

    def on(self, mesh, boundary):
        return type(self)(mesh, self.order, self.law, boundary, self.physics.flux, self.physics.source, self.degree,
                          self.limiting)

    @cached_property
    def limits(self):
        """`LimiterTables` where elements have all neighbours in their own set and are straight, else `LinearLimiterTables`."""
        if self.limiting == NO_LIMITER or self.curved or self.join_faces or not self.modal:
            return super().limits
        return LimiterTables(self.limiting, self)


class QuadratureTables(ModalTables):
    """As `ModalTables`, but the unknowns are values u = V c at the nodes of the cell: matrices that act on the unknowns are
    multiplied by V^-1 from the right, matrices that return unknowns by V from the left."""

    modal = False

    def set_reference(self):
        super().set_reference()
        V = self.cell.vandermonde
        self.nodes = self.cell.nodes
        self.differentiation, self.lift, self.projection = V @ self.differentiation, V @ self.lift, V @ self.projection
        self.interpolate, self.trace = (np.linalg.solve(V.T, values.T).T for values in (self.interpolate, self.trace))
