"""Nodal reference prisms (wedges): the biunit triangle times the line [-1, 1].

Polynomials of degree N in the triangle times degree N along the line, coordinates (r, s, t). The nodes of the triangle are
those on a face of a tetrahedron, those of the line Gauss-Lobatto points: so prisms share the nodes of faces with tetrahedra and
hexahedra.
"""
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations

import numpy as np

from .faces import FacePolynomials, corner_weights, face_corners
from .shapes import NAMED_SHAPES
from .simplex import NodalCell, Simplex, face_basis, simplex
from .tensor import tensor_cell

PRISM = NAMED_SHAPES["prism"]
PRISM_CORNERS, PRISM_FACES = PRISM.corners, PRISM.faces


@lru_cache(maxsize=64)
def prism(order):
    """The reference prism with nodes of polynomial degree `order` (at least 1)."""
    if order != int(order) or order < 1:
        raise ValueError(f"order {order!r} is not allowed; it must be a whole number from 1")
    return PrismCell(int(order))


@dataclass(frozen=True)
class PrismCell(NodalCell):
    """Nodes and matrices of polynomial degree `order` on the triangle and along the line.

    nodes            (node, 3)              interpolation points, those of the triangle fastest
    vandermonde      (node, mode)           orthonormal polynomials at the nodes, PKDO times Legendre, the triangle's fastest
    mass             (node, node)           M = (V V^T)^-1, exact: not lumped along the line
    differentiation  (3, node, node)        D_k = dl_j/dr_k at r_i
    face_nodes       (face, face node)      numbers of the nodes on each face of PRISM_FACES, on quadrilaterals in tensor order.
                                            A triangle has fewer: its first node fills up the row
    lift             (node, face * face node)  L = M^-1 sum_faces integral of l_i l_j ds over the biunit triangle or square; the
                                            columns of the nodes that fill up are 0
    """

    order: int
    dim = 3

    @cached_property
    def line(self):
        """The nodes along the line, in a `TensorCell`."""
        return tensor_cell(1, self.order, "lobatto")

    @property
    def triangle(self):
        """The polynomials of the triangle; its nodes here are `triangle_nodes`, not those of a `Simplex`."""
        return Simplex(2, self.order)

    @cached_property
    def triangle_nodes(self):
        """The nodes of a tetrahedron's face in the coordinates of the face, (node, 2)."""
        return simplex(3, self.order).face_barycentric(0)[:, 1:] * 2 - 1

    @cached_property
    def nodes(self):
        r, t = self.triangle_nodes, self.line.x
        return np.column_stack([np.tile(r, (len(t), 1)), np.repeat(t, len(r))])

    def evaluate_basis(self, r):
        """P_j(r_i), (point, mode), at reference points r (point, 3)."""
        r = np.atleast_2d(r)
        return times(legendre(r[:, 2], self.order), self.triangle.evaluate_basis(r[:, :2]))

    def evaluate_gradients(self, r):
        """dP_j/dr_k at r_i, (3, point, mode), at reference points r (point, 3)."""
        triangle, along = self.triangle, legendre(r[:, 2], self.order)
        inside, slopes = triangle.evaluate_gradients(r[:, :2]), legendre_slopes(r[:, 2], self.order)
        return np.array([*(times(along, slope) for slope in inside), times(slopes, triangle.evaluate_basis(r[:, :2]))])

    @cached_property
    def differentiation(self):
        return self.evaluate_gradients(self.nodes) @ np.linalg.inv(self.vandermonde)

    @cached_property
    def _points_on_faces(self):
        """For 3 and 4 corners, the coordinates of a face's nodes on the face."""
        return {3: self.triangle_nodes, 4: tensor_cell(2, self.order, "lobatto").nodes}

    @cached_property
    def face_nodes(self):
        count, rows = (self.order + 1) ** 2, []
        for face in PRISM_FACES:
            points = self._points_on_faces[len(face)]
            there = corner_weights(len(face), points) @ PRISM_CORNERS[list(face)]
            numbers = np.abs(there[:, None] - self.nodes).max(axis=2).argmin(axis=1)
            rows.append(np.concatenate([numbers, np.full(count - len(numbers), numbers[0])]))
        return np.array(rows)

    @cached_property
    def lift(self):
        count = self.face_nodes.shape[1]
        face_mass = np.zeros((len(self.nodes), len(self.face_nodes) * count))
        for face, corners in enumerate(PRISM_FACES):
            to_modes = self.face_polynomials(len(corners)).to_modes
            own = len(to_modes)
            face_mass[self.face_nodes[face, :own], face * count:face * count + own] = to_modes.T @ to_modes
        return self.vandermonde @ (self.vandermonde.T @ face_mass)

    @cached_property
    def match_positions(self):
        """As `Simplex.match_positions`, with the code sum_i p[i] n^i of a permutation of n = 3 or 4 vertices. The points that
        fill up a triangle meet each other, at its first node."""
        return match_positions(self._points_on_faces, self.face_nodes)

    @cached_property
    def mode_degrees(self):
        """Degree of each mode in the triangle, and along the line, (2, mode)."""
        in_triangle = self.triangle.degrees
        return np.array([np.tile(in_triangle, self.order + 1), np.repeat(np.arange(self.order + 1), len(in_triangle))])

    @property
    def degrees(self):
        """The larger of the two, (mode,)."""
        return self.mode_degrees.max(axis=0)

    @cached_property
    def reduced_differentiation(self):
        """Factors (E, R) of D_k = E R_k, see `Simplex.reduced_differentiation`: only modes of the highest degree in both the
        triangle and the line do not appear."""
        low = self.mode_degrees.min(axis=0) < self.order
        coefficients = np.linalg.solve(self.vandermonde, self.differentiation)
        return self.vandermonde[:, low], coefficients[:, low]

    @cached_property
    def volume(self):
        return float(self.mass.sum())

    @cached_property
    def _face_polynomials(self):
        result = {}
        for corners, points in self._points_on_faces.items():
            evaluate, positions = prism_face_basis(corners, self.order), face_positions(corners, len(points))
            values = evaluate(points)
            result[corners] = FacePolynomials(points, positions, values, np.linalg.inv(values), evaluate)
        return result

    def face_polynomials(self, corners):
        """The `FacePolynomials` on the faces with 3 corners, or with 4."""
        return self._face_polynomials[corners]


def legendre(t, order):
    """The orthonormal Legendre polynomials at points t (point,), (point, mode)."""
    return np.polynomial.legendre.legvander(t, order) * np.sqrt(np.arange(order + 1) + 0.5)


def legendre_slopes(t, order):
    """The derivatives of `legendre`."""
    one = np.eye(order + 1)
    slopes = [np.polynomial.Legendre(one[k]).deriv()(t) if k else np.zeros(len(t)) for k in range(order + 1)]
    return np.stack(slopes, axis=1) * np.sqrt(np.arange(order + 1) + 0.5)


def times(slow, fast):
    """Products of functions (point, i) and (point, j), (point, i * j), j fastest."""
    return np.einsum("pi,pj->pij", slow, fast).reshape(len(slow), slow.shape[1] * fast.shape[1])          # of no points, too


def prism_face_basis(corners, order):
    """The function from points (point, 2) on a face with 3 or 4 corners to the orthonormal polynomials there, (point, mode)."""
    if corners == 3:
        return face_basis(3, order)
    return lambda r: times(legendre(r[:, 1], order), legendre(r[:, 0], order))


def face_positions(corners, count):
    """`FacePolynomials.positions` of `count` points: the first of each face with that many corners, -1 on the others."""
    return np.array([np.arange(count) if len(face) == corners else np.full(count, -1) for face in PRISM_FACES])


def match_positions(points, face_nodes):
    """`PrismCell.match_positions` for the points {corners: (point, 2)} of a face and the numbers (face, face point) of those of
    each face: numbers and positions (face, other face, code, face point)."""
    faces, count = face_nodes.shape
    positions = np.tile(np.arange(count), (faces, faces, 4 ** 4, 1))
    numbers = np.broadcast_to(face_nodes[None, :, None], positions.shape).copy()
    for corners, r in points.items():
        weights, vertices = corner_weights(corners, r), face_corners(corners, 2)
        same = [face for face in range(faces) if len(PRISM_FACES[face]) == corners]
        for permutation in permutations(range(corners)):
            distance = np.abs((weights @ vertices[list(permutation)])[:, None] - r).max(axis=2)
            if distance.min(axis=1).max() > 1e-9:          # not a symmetry of the square
                continue
            code, there = sum(p * corners ** i for i, p in enumerate(permutation)), distance.argmin(axis=1)
            for face in same:
                positions[face, same, code, :len(r)] = there
                numbers[face, same, code, :len(r)] = face_nodes[np.ix_(same, there)]
                numbers[face, same, code, len(r):] = face_nodes[same, there[0]][:, None]
    return numbers, positions
