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
from functools import cached_property

import numpy as np

from ...mesh.hanging import parts
from ...physics.laws.law import dot
from ...physics.pointwise import Pointwise, Rows, record
from ...physics.trace import call
from ...reference import quadrature, tensor_cell
from ...reference.columns import multiply
from ...reference.faces import corner_weights, face_corners
from ..operation import Operation
from ..physics import numerical_flux


class Mortars:
    """The mortars between the operations of some sets: see `dgarray.methods.dg.join_faces`.

    sets      {name: the operations of each set}
    joins     `Join`s
    several   {name: whether a face of that set may have several mortars}"""

    def __init__(self, sets, joins, several):
        self.sets, self.lists, self.joins = sets, [], list(joins)
        for name, each in sets.items():
            each.several = several[name]
        for join in self.joins:
            left, right = (list(sets.values())[number] for number in join.sets)
            self.lists.append(left.mortar_list(left, right, join))

    def operations(self, states, number, late=None):
        """The `Operation`s that compute the fluxes at joins of these states, {name of a set: q}, at a time of the clock.

        late: True for those alone that need copies of other parts' elements, False for the others, None for all
        What needs no values at faces comes first, so that those that do follow each other."""
        own, values, shares = ([], []), [], []
        for name, each in self.sets.items():
            if each.tables.join_faces:
                values += [operation._replace(of=name) for operation in each.values_operations(states[name], late)]
                if each.captures_shocks:
                    shares.append(each.shares_operation(states[name], late)._replace(of=name))
                if each.adds and not late:
                    own[bool(each.own_part)].append(each.inside_operation(number))
        names, found = list(self.sets), []
        for mortars, join in zip(self.lists, self.joins):
            if late in (None, join.late):
                found.append(mortars.operation([states[names[side]] for side in join.sets], number))
        if shares:
            shares.append(Operation("shares across joins", lambda: self.spread_shares(late),
                                    reads=("own shares of finite volumes",),
                                    writes={"shares beyond joins": sum(each.share_beyond.nbytes for each in self.at_joins)}))
        return [*own[0], *values, *shares, *own[1], *found]

    @property
    def at_joins(self):
        """The operations of the sets that have faces at joins."""
        return [each for each in self.sets.values() if each.tables.join_faces]

    def spread_shares(self, late):
        """Set the share of finite volumes beyond each face at joins; late: as of `operations`."""
        for each in [] if late else self.at_joins:
            each.share_beyond[...] = 0
        for mortars, join in zip(self.lists, self.joins):
            if late in (None, join.late):
                mortars.spread_shares()


class MortarList:
    """The mortars of one `Join`."""

    def __init__(self, left, right, join):
        self.sides, self.join, self.backend = (left, right), join, left.backend
        corners = len(join.orientation)
        self.forms = [side.tables.mortar_form for side in self.sides]
        self.points, self.matrices_on_host = matrices_of(join, *(side.tables for side in self.sides))
        rows = self.rows = join.left, join.right
        self.same = all(same_points(to) for to, _ in self.matrices_on_host)          # then in the order of the left side
        self.order = [to.argmax(axis=1) if self.same else slice(None) for to, _ in self.matrices_on_host]
        self.matrices = [[self.backend.array(matrix) for matrix in pair] for pair in self.matrices_on_host]
        self.places = [places if not self.same else places[self.backend.integers(order)] for places, order in zip(
            (side.face_places(faces, corners) for side, faces in zip(self.sides, rows)), self.order)]
        self.columns = [side.tables.number_at_joins(faces) for side, faces in zip(self.sides, rows)]
        self.slots = [self.backend.integers(side.given_places(
            columns, side.tables.positions_on_faces(faces[:, 1], corners).T[order]))
            for side, columns, faces, order in zip(self.sides, self.columns, rows, self.order)]
        self.scales = [self.backend.array(side.tables.per_area(faces[:, 0])) for side, faces in zip(self.sides, rows)]
        self.moved = [side.tables.physics.moved for side in self.sides]
        self.carried_slots = [[self.backend.integers(side.given_places(columns, side.tables.positions_on_faces(
            faces[:, 1], corners).T[order], some)) for some in side.tables.physics.carried_numbers]
            for side, columns, faces, order in zip(self.sides, self.columns, rows, self.order)]
        self.profiles = self.profiles_of(join.condition)
        self.function = flux_between(left.tables.physics, right.tables.physics, self.forms, join.condition, self.profiles)
        self.set_geometry(self.matrices_on_host[0][0])
        self.shares = [self.shares_of(side, i) for i, side in enumerate(self.sides)]
        self.splits = [SplitSide(self, i) if form == "split" and not same_points(to) else None
                       for i, (form, (to, _)) in enumerate(zip(self.forms, self.matrices_on_host))]
        self.owns = [None if side.tables.weak or side.several else OwnFlux(self, i) for i, side in enumerate(self.sides)]

    def set_geometry(self, to_mortar):
        """Normals, areas and positions at the mortars, (mortar point, face), from the left side's geometry."""
        tables = self.sides[0].tables
        vectors = multiply(to_mortar, tables.area_vectors(self.join.left, len(self.join.orientation)))
        areas = np.linalg.norm(vectors, axis=0)
        self.normals, self.areas = self.backend.array(vectors / areas), self.backend.array(areas)
        varying = any(side.tables.media.names for side in self.sides)
        needed = varying or self.function.depends_on("x")
        self.x = self.backend.array(positions_of(tables, self.join.left, self.points)) if needed else None
        self.parameters = [self.parameters_of(side, rows[:, 0], self.x)
                           for side, rows in zip(self.sides, (self.join.left, self.join.right))]

    def shares_of(self, side, i):
        """a . n, (face,), of each vector a that carries variables of a side along with the law's, see `Physics.of_side`.

        At joins a is (a . n) n, because layers grow along their depth: these variables get that share of the law's fluxes."""
        physics, normals = side.tables.physics, self.backend.host(self.normals)[:, 0]
        m = record("m", *physics.parameters)(**physics.parameters | {name: self.backend.host(values)
                                                                    for name, values in self.parameters[i].items()})
        return [self.backend.array(np.broadcast_to(dot(carry(tuple(normals), m), tuple(normals)), normals.shape[1:]).copy())
                for carry in physics.carried]

    def profiles_of(self, condition):
        """The profiles of an interface's condition at the mortars, {name: (mortar point, face)}."""
        if not hasattr(condition, "profiles"):
            return {}
        x = positions_of(self.sides[0].tables, self.join.left, self.points)
        return {name: self.backend.array(np.broadcast_to(np.asarray(values, float), x.shape[1:]))
                for name, values in call(condition.profiles, dict(x=tuple(x)), "profiles").items()}

    def parameters_of(self, side, cells, x):
        """The law's parameters that vary at the points x, {name: (face,) or (point, face)}."""
        tables = side.tables
        found = {name: values[cells] for name, values in tables.parameters.items() if name not in tables.media.names}
        for name in tables.media.names:
            found[name] = np.asarray(call(tables.law.parameters[name], dict(x=tuple(self.backend.host(x))), name), float)
        return {name: self.backend.array(np.broadcast_to(values, values.shape)) for name, values in found.items()}

    def operation(self, states, number):
        """The `Operation` that gives both sides the fluxes of these mortars, of the states of both sets at a time of the
        clock."""
        return Operation("mortars", lambda: self(self.sides[0].stage_times[number]), reads=("values at faces",),
                         writes=self.writes)

    @property
    def writes(self):
        return {"fluxes at joins": sum(side.given_by_face.nbytes for side in dict.fromkeys(self.sides))}

    def __call__(self, t):
        t = self.sides[0].time(t)
        own = [side.values_at(places) for side, places in zip(self.sides, self.places)]
        l, r = (Rows(self.at_mortar(i, values)) for i, values in enumerate(own))
        inputs = {} if self.x is None else {"x": Rows(self.x)}
        fluxes = self.backend.xp.empty((len(self.function.graph.outputs), *self.areas.shape), self.areas.dtype)
        self.backend.evaluate(self.function, [Rows(fluxes)], l=l, r=r, n=Rows(self.normals), s=(self.areas,), t=t,
                              ml=self.parameters[0], mr=self.parameters[1], p=self.profiles, **inputs)
        for i, (sign, side, (_, back), scale) in enumerate(zip((-1, 1), self.sides, self.matrices, self.scales)):
            flux = fluxes[-len(r):] if i else fluxes[:len(l)]
            if self.splits[i]:
                f = self.splits[i].between(own[i], (l, r)[i], flux, t)
            else:
                f = flux if self.same else self.backend.product(back, flux)
            if self.owns[i]:
                f = f - self.owns[i](own[i], t)
            given, f = side.given_by_face.reshape(-1), sign * scale * f
            every = slice(None), *map(list, self.moved[i])
            for slots, share, some in zip([self.slots[i], *self.carried_slots[i]], [1.0, *self.shares[i]], every):
                given[slots] = given[slots] + share * f[some] if side.adds else share * f[some]

    def at_mortar(self, i, values):
        """The state of a side at the mortar points, from that at the face's nodes."""
        split = self.splits[i]
        if self.same:
            return values
        if split is None or split.from_entropy is None:
            return self.backend.product(self.matrices[i][0], values)
        return split.states(values)

    @cached_property
    def numbers(self):
        """Of both sides the elements, and the numbers of their faces among those at joins: ([(face,), (face,)], the same)."""
        return tuple([self.backend.integers(numbers) for numbers in lists]
                     for lists in ([rows[:, 0] for rows in self.rows], self.columns))

    def spread_shares(self):
        """Give the faces of both sides the share of finite volumes in the element beyond them, or the largest of several."""
        elements, faces = self.numbers
        for i, side in enumerate(self.sides):
            found = self.sides[1 - i].own_share[elements[1 - i]]
            side.share_beyond[faces[i]] = self.backend.xp.maximum(side.share_beyond[faces[i]], found)


def same_points(to):
    """Whether the mortar points are the nodes of the face, in any order; then f is F* there."""
    return len(to) == len(to.T) and np.allclose(to, to.round(), rtol=0, atol=1e-12)


class OwnFlux:
    """F(q).a of a side in strong form, at the points of its face, whose area vectors a point from left to right."""

    def __init__(self, mortars, i):
        self.side, rows, corners = mortars.sides[i], mortars.rows[i], len(mortars.join.orientation)
        tables, backend = self.side.tables, mortars.backend
        vectors, order = (1 - 2 * i) * tables.area_vectors(rows, corners), mortars.order[i]
        self.function, self.vectors = own_flux(tables.physics), backend.array(vectors[:, order])
        needed = tables.media.names or self.function.depends_on("x")
        points = tables.reference.face_polynomials(corners).points[order]
        self.x = backend.array(positions_of(tables, rows, points)) if needed else None
        self.parameters = mortars.parameters_of(self.side, rows[:, 0], self.x)

    def __call__(self, q, t):
        """(variable, face point, face) from the values q there."""
        inputs, result = {} if self.x is None else {"x": Rows(self.x)}, self.side.xp.empty(q.shape, q.dtype)
        self.side.backend.evaluate(self.function, [Rows(result)], q=Rows(q), a=Rows(self.vectors), t=t, m=self.parameters,
                                   **inputs)
        return result


class SplitSide:
    """The `split` form of a side: fluxes between the nodes of its face and the mortar points.

    Both have area vectors of the whole face, from left to right; a mortar on a part of the face has `parts` times its own."""

    def __init__(self, mortars, i):
        self.side, backend, (to, back) = mortars.sides[i], mortars.backend, mortars.matrices_on_host[i]
        rows, tables = (mortars.join.left, mortars.join.right)[i], self.side.tables
        self.function, (self.to_entropy, self.from_entropy) = tables.functions.two_point, tables.entropy_functions
        self.parts = 1 if mortars.join.part is None or i == 0 else len(parts(tables.dim))
        self.back, self.to = back / self.parts, mortars.matrices[i][0]
        face = tensor_cell(tables.dim - 1, tables.order, tables.kind)
        self.mean_on_host = face.weights[None] / face.weights.sum()
        self.mean = backend.array(self.mean_on_host)
        self.rows = [tuple(backend.array(row[:, None]) for row in pair) for pair in zip(to, self.back.T)]
        self.areas = backend.array((1 - 2 * i) * tables.area_vectors(rows))          # outward ones are those of the left side
        self.vectors = self.parts * mortars.normals * mortars.areas
        x = backend.array(positions_of(tables, rows, face.nodes)) if tables.media.names else None
        self.own, self.there = mortars.parameters_of(self.side, rows[:, 0], x), mortars.parameters[i]

    def states(self, q):
        """The states (component: (mortar point, face)) with the interpolated entropy variables of q (variable, face point,
        face), see `dgarray.methods.dg.mortar_forms.entropy_functions`."""
        backend, w = self.side.backend, self.side.xp.empty(q.shape, q.dtype)
        backend.evaluate(self.to_entropy, [Rows(w)], q=Rows(q))
        w, q, near = backend.product(self.to, w), backend.product(self.to, q), backend.product(self.mean, q)
        with np.errstate(all="ignore"):          # of variables that no state has
            return backend.evaluate(self.from_entropy, w=Rows(w), q=Rows(q), near=Rows(near))

    def between(self, q, states, star, t):
        """f at the face's nodes, (variable, face point, face)."""
        V, result = len(q), self.side.xp.zeros(q.shape, q.dtype)
        flux = self.side.xp.empty((len(self.function.graph.outputs), *q.shape[1:]), q.dtype)
        for m, (to, back) in enumerate(self.rows):
            there = {name: value if value.ndim == 1 else value[m] for name, value in self.there.items()}
            self.side.backend.evaluate(self.function, [Rows(flux)], l=Rows(q), r=Rows([c[m] for c in states]),
                                       a=Rows(self.areas), b=Rows(self.vectors[:, m]), t=t, ml=self.own, mr=there)
            taken = self.side.backend.sum_of_rows(to * flux[-V:])
            result += back * (flux[:V] + self.parts * star[:, m, None] - taken[:, None])
        return result


def matrices_of(join, left, right):
    """The mortar's points (point, dim - 1) on the left face, and for both sides (left, right: their tables) the matrices from
    values at the face's points to the mortar's and back.

    Where both sides have the same points, the mortar has these, and fluxes need no quadrature."""
    corners, forms = len(join.orientation), [tables.mortar_form for tables in (left, right)]
    faces = [tables.reference.face_polynomials(corners) for tables in (left, right)]
    own, order = faces[0].points, max(left.order, right.order)
    if join.part is None and own.shape == faces[1].points.shape:
        distance = np.abs(there(join, own)[:, None] - faces[1].points).max(axis=2, initial=0)
        if distance.min(axis=1).max() < 1e-9:
            match = np.eye(len(own))[distance.argmin(axis=1)]
            return own, [(np.eye(len(own)),) * 2, (match, match.T)]
    points, weights = rule_on_face(corners, left.dim - 1, order, "gauss" if "projected" in forms else "lobatto")
    matrices = []
    for tables, face, form, r in zip((left, right), faces, forms, (points, there(join, points))):
        to = face.at(r)
        lumped = form != "projected"
        matrices.append((to, to.T * weights / tables.cell.face_weights[:, None] if lumped else face.projection(r, weights)))
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
        x[:, :, some] = tables.positions(corner_weights(len(corners), r) @ shape.corners[corners], rows[some, 0])
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
        numerical = numerical_flux(condition.flux, law) if hasattr(condition, "flux") else left.numerical
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
