"""The modal reference cells of prisms and pyramids: an orthonormal basis, seen from points of quadrature inside and on faces.

What `dgarray.reference.modal` says of simplices. Triangles and quadrilaterals have different numbers of points: faces with
fewer are filled up by their first point, with the weight 0.
"""
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .faces import FacePolynomials, corner_weights
from .mixed_faces import MixedFacesCell, basis_on_face, face_positions, match_positions
from .modal import ModalCell
from .quadrature import product, quadrature


@dataclass(frozen=True)
class ModalMixedFacesCell(ModalCell):
    """Matrices between the coefficients of the basis and points of quadrature, under the names of `ModalSimplex`.

    basis        the `MixedFacesCell` of the orthonormal functions, and `of_nodes` the one of `nodal`
    degree       up to which the quadrature is exact; on faces up to 2 order + 1 at least
    face_weights (face, face point)     0 where a point fills up"""

    basis: MixedFacesCell
    of_nodes: MixedFacesCell
    degree: int
    dim = 3

    @property
    def order(self):
        return self.basis.order

    @property
    def shape(self):
        return self.basis.shape

    @cached_property
    def _rule(self):
        return self.shape.quadrature(max(self.degree, 1))

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
        rows = [corner_weights(len(face), self._face_rules[len(face)][0]) @ self.shape.corners[list(face)]
                for face in self.shape.faces]
        return self._filled(rows, lambda row: row[0])

    @cached_property
    def face_weights(self):
        return self._filled([self._face_rules[len(face)][1] for face in self.shape.faces], lambda row: np.zeros(()))

    @cached_property
    def lift(self):
        return (self.trace * self.face_weights.reshape(-1, 1)).T

    @cached_property
    def nodal(self):
        return self.basis.evaluate_basis(self.of_nodes.nodes)

    @property
    def face_nodes(self):
        return np.arange(self.face_weights.size).reshape(self.face_weights.shape)

    @cached_property
    def match_positions(self):
        """As those of `MixedFacesCell`, for the points of the faces: rows of `trace`, and positions on the other face."""
        points = {corners: r for corners, (r, _) in self._face_rules.items()}
        return match_positions(self.shape, points, self.face_nodes)

    @cached_property
    def _face_polynomials(self):
        result = {}
        for corners, (points, weights) in self._face_rules.items():
            evaluate, positions = basis_on_face(corners, self.order), face_positions(self.shape, corners, len(points))
            values = evaluate(points)
            result[corners] = FacePolynomials(points, positions, values, (values * weights[:, None]).T, evaluate)
        return result

    def face_polynomials(self, corners):
        """The `FacePolynomials` on the faces with 3 corners, or with 4."""
        return self._face_polynomials[corners]
