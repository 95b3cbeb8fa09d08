"""Fluxes at joints, where two elements of different order, law or size meet: by mortars at Gauss points.

A mortar lies on the left face of a `Joint`.  The values of both sides are evaluated at its Gauss points, as many as the higher
order has; the numerical flux F* is taken there, once for both; and the points of each side's face get the L2 projection f of
all of the face's mortars (w: weights, J_m: of the mortar, l_i: the face's Lagrange polynomials, M_ij = integral l_i l_j):

    sum_j M_ij f_j = - sum_m w_m l_i(x_m) J_m F*_m

so that what leaves one side enters the other.  Kopriva 1996; Kopriva, Woodruff & Hussaini 2002.
"""
import numpy as np

from ...mesh.hanging import parts
from ...physics.pointwise import Pointwise
from ...physics.trace import call
from ...reference import quadrature, tensor_cell
from ...reference.faces import corner_weights, face_corners


class Mortars:
    """The mortars between the operations of some sets: see `dgarray.methods.dg.joined`.

    sets     the operations of each set
    joins    `Join`s"""

    def __init__(self, sets, joins):
        self.sets, self.lists = [each for each in sets if each.tables.joint], []
        for join in joins:
            left, right = (sets[number] for number in join.sets)
            alike = left.mortar_list is right.mortar_list          # else array expressions serve both
            self.lists.append((left.mortar_list if alike else MortarList)(left, right, join))

    def __call__(self, t):
        """Compute the fluxes at all joins from the sets' values at faces."""
        for each in self.sets:
            each.inside_joints(t)
        for mortars in self.lists:
            mortars(t)


class MortarList:
    """The mortars of one `Joint`."""

    def __init__(self, left, right, joint):
        self.sides, self.joint, self.backend = (left, right), joint, left.backend
        corners = len(joint.orientation)
        self.points, self.matrices_on_host = matrices_of(joint, *(side.tables for side in self.sides))
        self.matrices = [[self.backend.array(matrix) for matrix in pair] for pair in self.matrices_on_host]
        rows = joint.left, joint.right
        self.places = [side.face_places(faces, corners) for side, faces in zip(self.sides, rows)]
        self.positions = [self.backend.integers(side.tables.positions_on_faces(faces[:, 1], corners).T)
                          for side, faces in zip(self.sides, rows)]
        self.columns = [self.backend.integers(side.tables.number_of_joint(faces)) for side, faces in zip(self.sides, rows)]
        self.scales = [self.backend.array(side.tables.per_area(faces[:, 0])) for side, faces in zip(self.sides, rows)]
        self.function = flux_between(left.tables.physics, right.tables.physics)
        self.set_geometry(self.matrices_on_host[0][0])

    def set_geometry(self, to_mortar):
        """Normals, areas and positions at the mortars, (mortar point, face), from the left side's geometry."""
        tables = self.sides[0].tables
        vectors = np.einsum("mp,dpf->dmf", to_mortar, tables.area_vectors(self.joint.left))
        areas = np.linalg.norm(vectors, axis=0)
        self.normals, self.areas = self.backend.array(vectors / areas), self.backend.array(areas)
        varying = any(side.tables.media.names for side in self.sides)
        needed = varying or self.function.depends_on("x")
        self.x = self.backend.array(positions_of(tables, self.joint.left, self.points)) if needed else None
        self.parameters = [self.parameters_of(side, rows[:, 0])
                           for side, rows in zip(self.sides, (self.joint.left, self.joint.right))]

    def parameters_of(self, side, cells):
        """The law's parameters that vary at the mortars, {name: (face,) or (mortar point, face)}."""
        tables = side.tables
        found = {name: values[cells] for name, values in tables.parameters.items() if name not in tables.media.names}
        for name in tables.media.names:
            found[name] = np.asarray(call(tables.law.parameters[name], dict(x=tuple(self.backend.host(self.x))), name), float)
        return {name: self.backend.array(np.broadcast_to(values, values.shape)) for name, values in found.items()}

    def __call__(self, t):
        l, r = (tuple(self.backend.product(matrices[0], side.values_at(places)))
                for side, matrices, places in zip(self.sides, self.matrices, self.places))
        inputs = {} if self.x is None else {"x": tuple(self.x)}
        flux = self.function(l=l, r=r, n=tuple(self.normals), s=(self.areas,), t=self.sides[0].time(t), ml=self.parameters[0],
                             mr=self.parameters[1], **inputs)
        values = self.backend.xp.empty((len(l), *l[0].shape), l[0].dtype)
        for v, component in enumerate(flux):
            values[v] = component
        for sign, side, (_, back), positions, columns, scale in zip((-1, 1), self.sides, self.matrices, self.positions,
                                                                    self.columns, self.scales):
            side.given[:, positions, columns] += sign * scale * self.backend.product(back, values)


def matrices_of(joint, left, right):
    """The mortar's points (point, dim - 1) on the left face, and for both sides (left, right: their tables) the matrices from
    values at the face's points to the mortar's and back.

    Where both sides have the same points, the mortar has these, and fluxes need no quadrature."""
    corners = len(joint.orientation)
    faces = [tables.reference.face_polynomials(corners) for tables in (left, right)]
    own, order = faces[0].points, max(left.order, right.order)
    if joint.part is None and own.shape == faces[1].points.shape:
        distance = np.abs(there(joint, own)[:, None] - faces[1].points).max(axis=2, initial=0)
        if distance.min(axis=1).max() < 1e-9:
            match = np.eye(len(own))[distance.argmin(axis=1)]
            return own, [(np.eye(len(own)),) * 2, (match, match.T)]
    points, weights = rule_on_face(corners, left.dim - 1, order)
    return points, [(face.at(r), face.projection(r, weights)) for face, r in zip(faces, (points, there(joint, points)))]


def rule_on_face(corners, dim, order):
    """Points (point, dim) and weights of the quadrature of a face with so many corners, exact up to the degree 2 order."""
    if dim and corners == dim + 1:
        return quadrature(dim, max(2 * order, 1))
    cell = tensor_cell(dim, order)
    return cell.nodes, cell.weights


def positions_of(tables, rows, r):
    """Positions (dim, point, face) at the points r (point, dim - 1) of the faces `rows` (face, 2)."""
    shape, x = tables.mesh.cell_shape, np.empty((tables.dim, len(r), len(rows)))
    for face in np.unique(rows[:, 1]):
        some, corners = rows[:, 1] == face, np.array(shape.faces[face])
        x[:, :, some] = tables.positions(corner_weights(len(corners), r) @ shape.corners[corners], rows[some, 0])
    return x


def there(joint, r):
    """The points r (point, dim - 1) of the left face in the coordinates of the right one."""
    count, dim = len(joint.orientation), r.shape[1]
    corners = face_corners(count, dim) if joint.part is None else parts(dim + 1)[joint.part]
    return corner_weights(count, r) @ corners[list(joint.orientation)]


def flux_between(left, right):
    """The pointwise function J F* between two sides with these `Physics`: the numerical flux where both have a law of the same
    kind; else the mean of both fluxes and Rusanov's dissipation."""
    law, v = left.law, len(left.law.variables)

    def alike(l, r, n, s, x, t, ml, mr):
        return tuple(s[0] * f for f in left.star(left.numerical, l, r, n, x, t, ml, mr))

    def mixed(l, r, n, s, x, t, ml, mr):
        fluxes = left.flux_along(n, l, x, t, ml), right.flux_along(n, r, x, t, mr)
        speed = np.maximum(left.wave_speed(l, n, x, t, ml)[0], right.wave_speed(r, n, x, t, mr)[0])
        return tuple(s[0] * ((f + g) / 2 - speed * (b - a) / 2) for a, b, f, g in zip(l, r, *fluxes))
    same = type(law) is type(right.law) and set(left.parameters) == set(right.parameters)
    inputs = {"l": v, "r": v, "n": law.dim, "s": 1, "x": law.dim, "t": None, "ml": left.parameters, "mr": right.parameters}
    return Pointwise(alike if same else mixed, inputs, "numerical flux")
