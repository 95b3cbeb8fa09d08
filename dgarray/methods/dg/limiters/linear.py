"""The limiter of elements of any shape, straight or curved, in one set or several: it limits a linear function.

`LinearLimiter.limit` says what happens to one element, as `Limiter` in the file beside it does for simplices alone.
"""
from functools import cached_property, reduce

import numpy as np

from ....mesh.neighbourhood import Neighbourhood
from ....mesh.refine.hanging import corners_of_parts
from ....reference import modal_cell, quadrature
from .indicator import Kxrcf, sensors
from .positivity import NodalPositivity, points_beside
from .slope_shares import any_of, dot, larger, largest_of, least_share, room_at_vertices, smaller


class LinearLimiter(Kxrcf, NodalPositivity):
    """Where a variable u of an element is not smooth, replace it by mean + alpha sum_k s_k (r_k - mean of r_k), a linear
    function of the reference coordinates r; then keep density and pressure positive, as the options say.

    mean and s_k are those of the linear function nearest to u in the norm of the element.  alpha in [0, 1] is the largest for
    which the values at each vertex lie between the least and the largest average of all elements around this vertex, of
    whatever set.  u is not smooth where the indicator says so; without an indicator where its own value at a vertex is not
    between these, or above order 1 its value at a node not between the largest and the least of these.  At vertices of a
    boundary the averages get mirror images as those of `Limiter` do.
    Kuzmin 2010; Cockburn & Shu 1998, section 2.4 (replacement by a linear function).

    limits: the `LinearLimiterTables`;  parameters: of the law;  dtype: of the state

    Of an element e the flow asks what `Limiter` asks, and
    e.mean                  the mean state, (variable);  e.mean_of(v): of one variable
    e.slopes(v)             s_k of variable v
    e.span(v)               the largest and the least value of variable v at the nodes
    e.make_linear(v, share, where, slopes, centre)   put mean + share * sum_k s_k (r_k - centre_k) into variable v where `where`
                            is 1
    e.at_nodes(f, v, **rows)          give each unknown of variable v what f(q, mean, **rows) returns for it and the same
                            unknown of the mean"""

    unit, means, rows_of_means = 1.0, "means", 1

    def __init__(self, limits, law, parameters, dtype):
        super().__init__(limits, law, parameters, dtype)
        self.dim = limits.dim

    @property
    def kept(self):
        """{name: (number of variables, rows of each)} that `keep` stores for other elements."""
        averages = {"averages": (len(self.limits.sensors), self.limits.faces)} if self.options.indicator else {}
        return {"means": (self.variables, 1), **averages} if self.options.limiter else {}

    @property
    def around_vertices(self):
        """Whether extremes around vertices are found before elements are limited."""
        return bool(self.options.limiter)

    @property
    def lists(self):
        """{(list, array that is read)} of `take`."""
        if not self.options.limiter:
            return set()
        indicator = {("neighbours", "means"), ("beyond", "averages")} if self.options.indicator else set()
        return {("vertices", "extremes"), ("around", "means"), *indicator}

    @property
    def matrices(self):
        """{name: matrix of `product`}."""
        names = ("averages", "to_corners", *["to_nodes"] * self.limits.basis.modal)
        return {name: getattr(self.limits, name) for name in names} | self.beside

    def keep(self, e):
        """Store the rows that other elements read."""
        if self.options.indicator:
            for number, v in enumerate(self.limits.sensors):
                e.keep("averages", e.product("averages", e.state[v]), number)
        e.keep("means", e.mean)

    def limit(self, e):
        """Limit the element in place; the means stay, up to rounding."""
        if self.options.limiter:
            rough, inside = {"rough": self.troubled(e)} if self.options.indicator else {}, self.limits.order > 1
            around, outer, centre, _ = e.take("vertices", "extremes"), e.rows("outer"), e.rows("centre"), e.mean
            for v in e.each():
                slopes, given = e.slopes(v), rough
                if not rough:
                    given = {"values": e.product("to_corners", e.state[v])} | ({"span": e.span(v)} if inside else {})
                share, limited = e(self.share, mean=[e.mean_of(v)], slopes=slopes, centre=centre, around=around[v],
                                   outer=outer, **given)
                with e.where(limited):
                    e.make_linear(v, share, limited, slopes, centre)
        if self.options.positivity:
            self.keep_positive(e)

    def means_around(self, e):
        return e.take("neighbours", "means")

    def mean_of(self, e, v):
        return e.mean_of(v)

    # Functions of numbers.

    def share(self, mean, slopes, centre, around, outer, values=(), span=(), rough=None):
        """alpha, and 1 where the element becomes linear, else 0."""
        high, low = [a - mean[0] for a in around[::2]], [a - mean[0] for a in around[1::2]]
        room = room_at_vertices(high, low, outer)
        changes = [dot([x - c for x, c in zip(corner, centre)], slopes) for corner in self.limits.corners.tolist()]
        share = least_share(*room, changes, self.rounding * largest_of(changes))
        if rough is None:
            (highs, lows), away = room, [value - mean[0] for value in (*values, *span)]
            tiny = self.rounding * larger(largest_of(away), np.abs(mean[0]))
            if span:          # at nodes anything between the extremes at all vertices is allowed
                highs, lows = [*highs, *[reduce(larger, highs)] * 2], [*lows, *[reduce(smaller, lows)] * 2]
            limited = any_of([(change > a + tiny) | (change < b - tiny) for change, a, b in zip(away, highs, lows)])
        else:
            limited = rough[0] > 0.0
        return share, np.where(limited, 1.0, 0.0)


class LinearLimiterTables:
    """Arrays of `LinearLimiter` on the elements of one set, on the host; where all elements are affine, they have one column.

    options                          the `LimiterOptions`
    one (row,), linear (dim, row)    the unknowns of the functions 1 and r_k
    mean (row, element)              weights of the mean;  slopes (dim, row, element): weights of s_k
    centre (dim, element)            means of r_k
    corners (corner, dim)            r at the vertices;  to_corners (corner, row): values there;  to_nodes: at the nodes
    averages (rows of the neighbourhood, row)   averages over the faces, and parts of faces at hanging nodes; there are as many
                                     for elements of all shapes
    weights, faces_inside, beside    as of `NodalLimiterTables`
    neighbours, beyond, vertices, outer, threshold   of this set's elements, see `Neighbourhood`; numbers are those of all sets
    own                              which of the elements of all sets these are, a slice"""

    def __init__(self, options, tables):
        self.options, self.tables, self.basis, self.dim, self.order = options, tables, tables.basis, tables.dim, tables.order
        self.shape, self.corners = tables.mesh.cell_shape, tables.mesh.cell_shape.corners
        self.law, self.sensors = tables.law, sensors(tables.law)
        self.faces_inside = self.basis.trace is None or self.basis.kind == "lobatto"
        self.place(Neighbourhood.of(tables.mesh), slice(0, tables.elements))

    def place(self, neighbourhood, own):
        """Make these elements the `own` of a neighbourhood."""
        self.neighbourhood, self.own = neighbourhood, own

    @property
    def faces(self):
        """Rows of the neighbourhood's lists across faces: those of the element with the most faces, of all sets."""
        return self.neighbourhood.rows

    # Weights.

    @cached_property
    def _rule(self):
        """(points (point, dim), weights (point, element)) with sum 1, the integral that the method keeps."""
        basis, geometry = self.basis, self.tables.geometry
        if basis.diagonal:
            points, weights = basis.cell.nodes, basis.cell.weights[:, None] * (1.0 if geometry.affine else geometry.jacobian)
        elif geometry.curved:
            points, weights = basis.points, basis.reference.weights[:, None] * geometry.jacobian
        else:
            rule = modal_cell(self.shape, max(self.order, 1))
            points, weights = rule.points, rule.weights[:, None]
        return points, weights / weights.sum(axis=0)

    @cached_property
    def mean(self):
        points, weights = self._rule
        return self.basis.values(points).T @ weights

    weights = property(lambda self: self.mean)

    @cached_property
    def centre(self):
        points, weights = self._rule
        return points.T @ weights

    @cached_property
    def slopes(self):
        points, weights = self._rule
        apart = points.T[:, :, None] - self.centre[:, None]
        gram = np.einsum("kqe,lqe,qe->ekl", apart, apart, weights)
        tested = np.einsum("qi,kqe,qe->kie", self.basis.values(points), apart, weights, optimize=True)
        return np.einsum("ekl,lie->kie", np.linalg.inv(gram), tested)

    def unknowns(self, function):
        """The unknowns (..., row) of the projection of function(points (point, dim)), (..., point)."""
        if self.basis.modal:
            return function(self.basis.reference.points) @ self.basis.reference.project.T
        return function(self.basis.cell.nodes)

    @cached_property
    def one(self):
        return self.unknowns(lambda points: np.ones(len(points)))

    @cached_property
    def linear(self):
        return self.unknowns(np.transpose)

    @cached_property
    def to_corners(self):
        return self.basis.values(self.corners)

    @cached_property
    def beside(self):
        return self.basis.values(points_beside(self.tables))

    @cached_property
    def to_nodes(self):
        return self.basis.values(self.basis.cell.nodes)

    @cached_property
    def averages(self):
        rows, places = np.zeros((self.faces, self.tables.rows)), [self.corners[list(face)] for face in self.shape.faces]
        if self.neighbourhood.parts:
            places += [part for face in list(places) for part in corners_of_parts(face[None])[0]]
        for row, corners in zip(rows, places):
            points, weights = on_face(corners, max(self.order, 1))
            row[:] = weights @ self.basis.values(points)
        return rows

    # Lists, see `Neighbourhood`.

    neighbours = property(lambda self: self.neighbourhood.neighbours[:, self.own])
    beyond = property(lambda self: self.neighbourhood.beyond[:, self.own])
    around = property(lambda self: self.neighbourhood.around)
    vertices = property(lambda self: self.neighbourhood.vertices[:len(self.corners), self.own])

    @property
    def outer(self):
        return self.neighbourhood.at_boundary[:len(self.corners), self.own]

    @property
    def threshold(self):
        return self.neighbourhood.size[self.own] ** ((self.order + 1) / 2)


def on_face(corners, degree):
    """Points (point, dim) and weights (point,) with sum 1 on the face of a reference cell with these corners (corner, dim),
    exact up to `degree`."""
    first = corners[0]
    if len(corners) < 4:
        r, weights = quadrature(len(corners) - 1, degree) if len(corners) > 1 else (np.zeros((1, 0)), np.ones(1))
        edges = corners[1:] - first
    else:          # a parallelogram, of whose corners the one in the middle of the sums lies opposite
        opposite = next(i for i in (1, 2, 3) if np.allclose(2 * (first + corners[i]), corners.sum(axis=0)))
        edges = np.array([corners[i] - first for i in (1, 2, 3) if i != opposite])
        x, w = np.polynomial.legendre.leggauss(degree // 2 + 1)
        r, weights = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2), np.outer(w, w).ravel()
    return first + (r + 1) / 2 @ edges, weights / weights.sum()
