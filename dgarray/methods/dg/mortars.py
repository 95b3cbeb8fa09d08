"""Fluxes at joins, where two elements of different order, law, shape or size meet: by mortars at Gauss points.

A mortar lies on the left face of a `Join`.  P evaluates a side's polynomial at its points, those of Gauss or of Gauss and
Lobatto of the higher order; the numerical flux F* is taken there, once for both; and each side gets f, the sum over all
mortars of its face.  With the weights w and area J_m of the mortar, the face quadrature W of the element, a = J_face n:

    projected   M f = P^T w J_m F*                                         M: the exact mass matrix of the face
    linear      W f = W F(q).a / 2 + P^T w (J_m F* - F(Pq).a_m / 2)
    split       W_i f_i = sum_m w_m P_mi (F#(q_i, q_m, a_im) + J_m F*_m - sum_j P_mj F#(q_j, q_m, a_jm)),
                a_im = (a_i + a_m) / 2

so that what leaves one side enters the other; a side in strong form gets f - F(q).a.  `projected` holds degree N.  At
Gauss-Lobatto nodes `linear` and `split` hold degree N - 1, and keep summation by parts: what an element's own state does to its
energy or entropy inside and at its faces cancels, and what is left is that of F* at the mortar points, as where nodes agree.
In `split` the states q_m there have the interpolated entropy variables, but at strong shocks.  At Gauss nodes, where W = M,
`projected` is `linear`.
Kopriva 1996; Kopriva, Woodruff & Hussaini 2002; Friedrich, Winters, Del Rey Fernandez, Gassner, Parsani & Carpenter 2018;
Chan, Bencomo & Del Rey Fernandez 2021.
"""
import numpy as np

from ...mesh.refine.hanging import parts
from ...physics.declared import declared
from ...physics.laws.law import dot
from ...physics.pointwise import Pointwise
from ...physics.trace import call, record
from ...reference import quadrature, tensor_cell
from ...reference.columns import multiply
from ...reference.faces import corner_weights, face_corners
from ..physics import numerical_flux


class MortarList:
    """The mortars of one `Join`, on the host: matrices, places, geometry and functions of both sides.

    tables    of both sides' sets;  several: whether a face of each may have several mortars
    same      whether the mortar points are the face points of both sides, then in the order of the left one
    matrices  of both sides (to the mortar points, back)
    node_places   where the face points are among the values at all faces (point, face): numbers row * elements + element
    flux_slots    where the mortars put fluxes in one variable of the array of face fluxes, [face * face point, element]
    scales    what `scale` is for J_face = 1 in the elements, (face,)"""

    def __init__(self, tables, join, several):
        self.tables, self.join, self.several = tables, join, several
        self.corners = corners = len(join.orientation)
        self.forms = [side.mortar_form for side in tables]
        self.points, self.matrices = matrices_of(join, *tables)
        self.rows = join.left, join.right
        self.same = all(same_points(to) for to, _ in self.matrices)
        self.order = [to.argmax(axis=1) if self.same else slice(None) for to, _ in self.matrices]
        self.node_places = [(side.basis.points_of(rows[:, 1], corners).T * side.elements + rows[:, 0])[order]
                            for side, rows, order in zip(tables, self.rows, self.order)]
        self.positions = [side.basis.positions_on_faces(rows[:, 1], corners).T[order]
                          for side, rows, order in zip(tables, self.rows, self.order)]
        self.flux_slots = [(rows[:, 1] * side.basis.face_nodes.shape[1] + positions) * side.elements + rows[:, 0]
                           for side, rows, positions in zip(tables, self.rows, self.positions)]
        self.scales = [side.geometry.per_area(rows[:, 0]) for side, rows in zip(tables, self.rows)]
        self.moved = [side.physics.moved for side in tables]
        self.profiles = self.profiles_of(join.condition)
        self.function = flux_between(*(side.physics for side in tables), self.forms, join.condition, self.profiles)
        self.set_geometry(self.matrices[0][0])
        self.shares = [self.shares_of(side, i) for i, side in enumerate(tables)]
        self.splits = [SplitSide(self, i) if form == "split" and not same_points(to) else None
                       for i, (form, (to, _)) in enumerate(zip(self.forms, self.matrices))]
        self.owns = [None if side.physics.weak or own_several else OwnFlux(self, i)
                     for i, (side, own_several) in enumerate(zip(tables, several))]

    def set_geometry(self, to_mortar):
        """Normals, areas and positions at the mortars, (mortar point, face), from the left side's geometry."""
        tables = self.tables[0]
        vectors = multiply(to_mortar, tables.geometry.area_vectors(self.join.left, len(self.join.orientation)))
        areas = np.linalg.norm(vectors, axis=0)
        self.normals, self.areas = vectors / areas, areas
        varying = any(side.media.names for side in self.tables)
        needed = varying or self.function.depends_on("x")
        self.x = positions_of(tables, self.join.left, self.points) if needed else None
        self.parameters = [parameters_of(side, rows[:, 0], self.x) for side, rows in zip(self.tables, self.rows)]

    def shares_of(self, side, i):
        """a . n, (face,), of each vector a that carries variables of a side along with the law's, see `Physics.of_side`.

        At joins a is (a . n) n, because layers grow along their depth: these variables get that share of the law's fluxes."""
        physics, normals = side.physics, self.normals[:, 0]
        m = record("m", *physics.parameters)(**physics.parameters | self.parameters[i])
        return [np.broadcast_to(dot(carry(tuple(normals), m), tuple(normals)), normals.shape[1:]).copy()
                for carry in physics.carried]

    def profiles_of(self, condition):
        """The profiles of an interface's condition at the mortars, {name: (mortar point, face)}."""
        if not declared(condition).profiles:
            return {}
        x = positions_of(self.tables[0], self.join.left, self.points)
        return {name: np.broadcast_to(np.asarray(values, float), x.shape[1:])
                for name, values in call(condition.profiles, dict(x=tuple(x)), "profiles").items()}


def parameters_of(tables, cells, x):
    """The law's parameters that vary in these cells and, a hair inside of them, at the points x (dim, point, face) of their
    faces, {name: (face,) or (point, face)}."""
    found = {name: values[cells] for name, values in tables.parameters.items() if name not in tables.media.names}
    for name in tables.media.names:
        inside = tuple(tables.mesh.a_hair_inside(x, cells[None]))
        found[name] = np.asarray(call(tables.law.parameters[name], dict(x=inside), name), float)
    return found


def same_points(to):
    """Whether the mortar points are the nodes of the face, in any order; then f is F* there."""
    return len(to) == len(to.T) and np.allclose(to, to.round(), rtol=0, atol=1e-12)


class OwnFlux:
    """F(q).a of a side in strong form, at the points of its face, whose area vectors a point from left to right."""

    def __init__(self, mortars, i):
        tables, rows, corners, order = mortars.tables[i], mortars.rows[i], mortars.corners, mortars.order[i]
        vectors = (1 - 2 * i) * tables.geometry.area_vectors(rows, corners)
        self.function, self.vectors = own_flux(tables.physics), vectors[:, order]
        needed = tables.media.names or self.function.depends_on("x")
        points = tables.basis.reference.face_polynomials(corners).points[order]
        self.x = positions_of(tables, rows, points) if needed else None
        self.parameters = parameters_of(tables, rows[:, 0], self.x)


class SplitSide:
    """The `split` form of a side: fluxes between the nodes of its face and the mortar points.

    Both have area vectors of the whole face, from left to right; a mortar on a part of the face has `parts` times its own.
    mean (1, face point): the matrix that takes the mean over the face"""

    def __init__(self, mortars, i):
        tables, rows, (self.to, back) = mortars.tables[i], mortars.rows[i], mortars.matrices[i]
        self.function = tables.physics.functions.two_point
        self.to_entropy, self.from_entropy = tables.physics.entropy_functions
        self.parts = 1 if mortars.join.part is None or i == 0 else len(parts(tables.dim))
        self.back = back / self.parts
        face = tensor_cell(tables.dim - 1, tables.order, tables.basis.kind)
        self.mean = face.weights[None] / face.weights.sum()
        self.areas = (1 - 2 * i) * tables.geometry.area_vectors(rows)          # outward ones are those of the left side
        self.vectors = self.parts * mortars.normals * mortars.areas
        x = positions_of(tables, rows, face.nodes) if tables.media.names else None
        self.own, self.there = parameters_of(tables, rows[:, 0], x), mortars.parameters[i]


def matrices_of(join, left, right):
    """The mortar's points (point, dim - 1) on the left face, and for both sides (left, right: their tables) the matrices from
    values at the face's points to the mortar's and back.

    Where both sides have the same points, the mortar has these, and fluxes need no quadrature."""
    corners, forms = len(join.orientation), [tables.mortar_form for tables in (left, right)]
    faces = [tables.basis.reference.face_polynomials(corners) for tables in (left, right)]
    own, order = faces[0].points, max(left.order, right.order)
    if join.part is None and own.shape == faces[1].points.shape:
        distance = np.abs(there(join, own)[:, None] - faces[1].points).max(axis=2, initial=0)
        if distance.min(axis=1).max() < 1e-9:
            match = np.eye(len(own))[distance.argmin(axis=1)]
            return own, [(np.eye(len(own)),) * 2, (match, match.T)]
    points, weights = rule_on_face(corners, left.dim - 1, order, "gauss" if "projected" in forms else "lobatto")
    matrices = []
    for tables, face, form, r in zip((left, right), faces, forms, (points, there(join, points))):
        to, lumped = face.at(r), form != "projected"
        back = to.T * weights / tables.basis.cell.face_weights[:, None] if lumped else face.projection(r, weights)
        matrices.append((to, back))
    return points, matrices


def points_at_mortars(joins, tables):
    """Where mortars evaluate the states of each set, points (point, dim) of its reference cell, by its number.

    tables: of each set.  Where both sides have the same points these are not among them"""
    found = {}
    for join in joins:
        left, right = (tables[number] for number in join.sets)
        points, matrices = matrices_of(join, left, right)
        if all(same_points(to) for to, _ in matrices):
            continue
        for number, side, rows, r in zip(join.sets, (left, right), (join.left, join.right), (points, there(join, points))):
            shape = side.mesh.cell_shape
            for face in np.unique(rows[:, 1]):
                corners = np.array(shape.faces[face])
                found.setdefault(number, []).append(corner_weights(len(corners), r) @ shape.corners[corners])
    return {number: np.unique(np.concatenate(each).round(12), axis=0) for number, each in found.items()}


def rule_on_face(corners, dim, order, kind):
    """Points (point, dim) and weights of the quadrature of a face with so many corners, of a line or a quadrilateral of this
    kind; "gauss" and those of triangles are exact up to the degree 2 order."""
    if dim and corners == dim + 1:
        return quadrature(dim, max(2 * order, 1))
    cell = tensor_cell(dim, order, kind)
    return cell.nodes, cell.weights


def positions_of(tables, rows, r):
    """Positions (dim, point, face) at the points r (point, dim - 1) of the faces `rows` (face, 2)."""
    shape, x = tables.mesh.cell_shape, np.empty((tables.dim, len(r), len(rows)))
    for face in np.unique(rows[:, 1]):
        some, corners = rows[:, 1] == face, np.array(shape.faces[face])
        x[:, :, some] = tables.geometry.positions(corner_weights(len(corners), r) @ shape.corners[corners], rows[some, 0])
    return x


def there(join, r):
    """The points r (point, dim - 1) of the left face in the coordinates of the right one."""
    count, dim = len(join.orientation), r.shape[1]
    corners = face_corners(count, dim) if join.part is None else parts(dim + 1)[join.part]
    return corner_weights(count, r) @ corners[list(join.orientation)]


def own_flux(physics):
    """The pointwise function F(q) . a of the law's variables alone, of a `Physics`."""
    if physics.internal is None:
        return physics.functions.along
    return Pointwise(lambda q, a, x, t, m: physics.of_law(physics.along(q, a, x, t, m)),
                     {**physics.functions.along.inputs, "q": physics.moving}, "flux")


def flux_between(left, right, forms, condition=None, profiles=()):
    """The pointwise function of what both sides with these `Physics` get, from left to right: J F*, the numerical flux where
    both have a law of the same kind, else the mean of both fluxes and Rusanov's dissipation; plus the side's nonconservative
    products, less half of its own flux in the form `linear`.

    condition   of an interface: F* is then the numerical flux between each side and what it sees there
    profiles    names of its values at the points
    One flux for both sides where they are the same, else that for the left side and that for the right one."""
    law, v = left.law, len(left.law.variables)

    def alike(l, r, n, x, t, ml, mr):
        return left.of_law(left.star(left.numerical, l, r, n, x, t, ml, mr))

    def mixed(l, r, n, x, t, ml, mr):
        fluxes = left.own_flux(n, l, x, t, ml), right.own_flux(n, r, x, t, mr)
        speed = np.maximum(left.wave_speed(l, n, x, t, ml)[0], right.wave_speed(r, n, x, t, mr)[0])
        return tuple((f + g) / 2 - speed * (b - a) / 2 for a, b, f, g in zip(l, r, *fluxes))
    def seen(l, r, n, x, t, ml, mr, p):
        given = dict(l=left.of_law(l), r=right.of_law(r), n=n, x=x, t=t, ml=ml, mr=mr, p=p, law=law)
        of_left, of_right = (left.checked(q, f"the condition {condition!r}")
                             for q in call(condition.between, given, "condition"))
        own = declared(condition).flux
        numerical = numerical_flux(own, law) if own else left.numerical
        return [left.of_law(left.star(numerical, *pair, n, x, t, ml, mr)) for pair in ((l, of_left), (of_right, r))]
    names = [set(side.parameters) - set(side.internal.parameters if side.internal else ()) for side in (left, right)]
    same = type(law) is type(right.law) and names[0] == names[1]
    two = "linear" in forms or any(side.law.products for side in (left, right)) or condition is not None

    def function(l, r, n, s, x, t, ml, mr, p):
        if condition is None:
            stars = [(alike if same else mixed)(l, r, n, x, t, ml, mr)] * 2
        else:
            stars = seen(l, r, n, x, t, ml, mr, p)
        sides = ((left, l, r, ml), (right, r, l, mr)) if two else ()
        fluxes = [side.of_law(side.with_products(star, q, other, n))
                  for star, (side, q, other, _) in zip(stars, sides)] or stars[:1]
        for i, (side, q, _, m) in enumerate(sides):
            if forms[i] == "linear":
                fluxes[i] = tuple(f - g / 2 for f, g in zip(fluxes[i], side.flux_along(n, q, x, t, m)))
        return tuple(s[0] * f for flux in fluxes for f in flux)
    inputs = {"l": v, "r": v, "n": law.dim, "s": 1, "x": law.dim, "t": None, "ml": left.parameters, "mr": right.parameters,
              "p": dict.fromkeys(profiles)}
    return Pointwise(function, inputs, "numerical flux")
