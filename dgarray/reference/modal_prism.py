"""The modal reference prism: an orthonormal basis, seen from points of quadrature in the cell and on its faces.

What `dgarray.reference.modal` says of simplices. Triangles and quadrilaterals have different numbers of points: faces with
fewer are filled up by their first point, with the weight 0.
"""
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from .faces import FacePolynomials, corner_weights
from .modal import ModalCell
from .prism import PRISM_CORNERS, PRISM_FACES, PrismCell, face_positions, match_positions, prism, prism_face_basis
from .quadrature import product, quadrature


@lru_cache(maxsize=64)
def modal_prism(order, degree=None):
    """The modal reference prism with polynomials of degree `order` (at least 0) in the triangle and along the line.

    degree: up to which the quadrature is exact in both, 2 order by default; on faces up to 2 order + 1 at least"""
    return ModalPrism(order, 2 * order if degree is None else degree)


def prism_quadrature(degree):
    """Points (point, 3) and weights (point,) on the reference prism, exact up to `degree` in the triangle and the line."""
    (r, of_triangle), (t, of_line) = quadrature(2, degree), quadrature(1, degree)
    return (np.column_stack([np.tile(r, (len(t), 1)), np.repeat(t[:, 0], len(r))]),
            np.outer(of_line, of_triangle).ravel())


@dataclass(frozen=True)
class ModalPrism(ModalCell):
    """Matrices between the coefficients of the basis and points of quadrature, under the names of `ModalSimplex`.

    face_weights (face, face point)     0 where a point fills up"""

    order: int
    degree: int
    dim = 3

    @cached_property
    def basis(self):
        """The orthonormal polynomials, with `evaluate_basis`."""
        return PrismCell(self.order)

    @cached_property
    def _rule(self):
        return prism_quadrature(max(self.degree, 1))

    @property
    def points(self):
        return self._rule[0]

    @property
    def weights(self):
        return self._rule[1]

    @cached_property
    def _face_rules(self):
        """For 3 and 4 corners: points (face point, 2) on a face, and weights (face point,)."""
        degree = max(self.degree, 2 * self.order + 1)
        r, weights = product(2, degree)
        order = np.lexsort(r.T)          # the first coordinate fastest
        return {3: quadrature(2, degree), 4: (r[order], weights[order])}

    @property
    def _count(self):
        return max(len(weights) for _, weights in self._face_rules.values())

    def _filled(self, rows, value):
        """One row for each face, (face, face point, ...); shorter ones end in `value(row)`."""
        return np.array([np.concatenate([row, np.repeat(value(row)[None], self._count - len(row), axis=0)]) for row in rows])

    @cached_property
    def face_points(self):
        rows = [corner_weights(len(face), self._face_rules[len(face)][0]) @ PRISM_CORNERS[list(face)] for face in PRISM_FACES]
        return self._filled(rows, lambda row: row[0])

    @cached_property
    def face_weights(self):
        return self._filled([self._face_rules[len(face)][1] for face in PRISM_FACES], lambda row: np.zeros(()))

    @cached_property
    def lift(self):
        return (self.trace * self.face_weights.reshape(-1, 1)).T

    @cached_property
    def nodal(self):
        return self.basis.evaluate_basis(prism(max(self.order, 1)).nodes)

    @property
    def face_nodes(self):
        return np.arange(self.face_weights.size).reshape(self.face_weights.shape)

    @cached_property
    def match_positions(self):
        """As `PrismCell.match_positions`, for the points of the faces: rows of `trace`, and positions on the other face."""
        return match_positions({corners: r for corners, (r, _) in self._face_rules.items()}, self.face_nodes)

    @cached_property
    def _face_polynomials(self):
        result = {}
        for corners, (points, weights) in self._face_rules.items():
            evaluate, positions = prism_face_basis(corners, self.order), face_positions(corners, len(points))
            values = evaluate(points)
            result[corners] = FacePolynomials(points, positions, values, (values * weights[:, None]).T, evaluate)
        return result

    def face_polynomials(self, corners):
        """The `FacePolynomials` on the faces with 3 corners, or with 4."""
        return self._face_polynomials[corners]
