"""Fluxes at joints, where two elements of different order, law or size meet: by mortars at Gauss points.

A mortar lies on the left face of a `Joint`.  The values of both sides are evaluated at its Gauss points, as many as the higher
order has; the numerical flux F* is taken there, once for both; and the points of each side's face get the L2 projection f of
all of the face's mortars (w: weights, J_m: of the mortar, l_i: the face's Lagrange polynomials, M_ij = integral l_i l_j):

    sum_j M_ij f_j = - sum_m w_m l_i(x_m) J_m F*_m

so that what leaves one side enters the other.  Kopriva 1996; Kopriva, Woodruff & Hussaini 2002.
"""
from functools import cached_property

import numpy as np

from ...mesh.hanging import parts
from ...physics.pointwise import Pointwise
from ...physics.trace import call
from ...reference.tensor import lattice, tensor_cell


class Mortars:
    """The mortars between the operations of some zones, which offer `values_at` and `given`: see `TensorForm`.

    zones    the operations of each zone
    joints   `Joint`s"""

    def __init__(self, zones, joints):
        self.zones, self.lists = zones, [
            zones[0].mortar_list(zones[j.zones[0]], zones[j.zones[1]], j) for j in joints]

    def __call__(self, t):
        """Compute the fluxes at all joints from the zones' values at faces."""
        for zone in self.zones:
            zone.inside_joints(t)
        for mortars in self.lists:
            mortars(t)


class MortarList:
    """The mortars of one `Joint`."""

    def __init__(self, left, right, joint):
        self.sides, self.joint, self.backend = (left, right), joint, left.backend
        tables = left.tables
        self.rule = tensor_cell(tables.dim - 1, max(left.tables.order, right.tables.order))
        r = self.rule.nodes
        matrices = []
        for side, points in zip(self.sides, (r, there(joint, r, tables.dim))):
            cell = side.tables.cell
            face, exact = tensor_cell(cell.dim - 1, cell.order, cell.kind), tensor_cell(cell.dim - 1, cell.order)
            at_exact, at_mortar = face.interpolation(exact.nodes), face.interpolation(points)
            mass = at_exact.T @ (exact.weights[:, None] * at_exact)
            matrices.append((at_mortar, np.linalg.solve(mass, at_mortar.T * self.rule.weights)))
        self.matrices_on_host = matrices
        self.matrices = [[self.backend.array(matrix) for matrix in pair] for pair in matrices]
        rows = joint.left, joint.right
        self.places = [side.face_places(faces) for side, faces in zip(self.sides, rows)]
        self.columns = [self.backend.integers(side.tables.number_of_joint(faces)) for side, faces in zip(self.sides, rows)]
        self.scales = [self.backend.array(side.tables.per_area(faces[:, 0])) for side, faces in zip(self.sides, rows)]
        self.function = flux_between(left.tables.physics, right.tables.physics)
        self.set_geometry(matrices[0][0])

    def set_geometry(self, to_mortar):
        """Normals, areas and positions at the mortars, (mortar point, face), from the left side's geometry."""
        tables, (cells, faces) = self.sides[0].tables, self.joint.left.T
        vectors = np.einsum("mp,dpf->dmf", to_mortar, tables.area_vectors(self.joint.left))
        areas = np.linalg.norm(vectors, axis=0)
        self.normals, self.areas = self.backend.array(vectors / areas), self.backend.array(areas)
        varying = any(side.tables.media.names for side in self.sides)
        if not (varying or self.function.depends_on("x")):
            self.x = None
        else:
            x, ends = np.empty(vectors.shape), [(axis, end) for axis in range(tables.dim) for end in (-1.0, 1.0)]
            for face, (axis, end) in enumerate(ends):
                some = faces == face
                x[:, :, some] = tables.positions(np.insert(self.rule.nodes, axis, end, axis=1), cells[some])
            self.x = self.backend.array(x)
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
        for sign, side, (_, back), columns, scale in zip((-1, 1), self.sides, self.matrices, self.columns, self.scales):
            side.given[:, :, columns] += sign * scale * self.backend.product(back, values)


def there(joint, r, dim):
    """The points r (point, dim - 1) of the left face in the coordinates of the right one."""
    ends = lattice(np.array([-1.0, 1.0]), dim - 1)
    corners = ends if joint.part is None else parts(dim)[joint.part]
    weights = np.prod((1 + ends * r[:, None]) / 2, axis=2)
    return weights @ corners[list(joint.orientation)]


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


class Joined:
    """What operations of tensor-product DG need at joints.

    mortar_list   the class of their mortars"""

    mortar_list = MortarList

    mortars = None          # of these operations alone, where all joints lie between their own elements

    @cached_property
    def given_by_face(self):
        """The flux at the face points of each face of the tables' joint, (face, variable, face point)."""
        tables = self.tables
        faces = len(tables.joint.faces) if tables.joint else 0
        return self.backend.zeros((faces, tables.variables, tables.face_nodes.shape[1]))

    @property
    def given(self):
        """The same, (variable, face point, face)."""
        return self.given_by_face.transpose(1, 2, 0)

    def face_places(self, rows):
        """Where the values at the points of these faces (face, 2) are, for `values_at`."""
        cells, faces = np.asarray(rows).T
        return self.backend.integers(self.tables.face_nodes[faces].T * self.tables.elements + cells)

    def values_at(self, places):
        """Values at face points that `face_places` found, (variable, face point, face)."""
        return self.traces.reshape(self.tables.variables, -1)[:, places]

    def inside_joints(self, t):
        """Set the given flux to the part of F.n - F* that is each element's own: 0 in the weak form."""
        self.given[...] = 0
