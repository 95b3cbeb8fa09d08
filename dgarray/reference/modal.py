"""Modal reference simplices: an orthonormal basis, seen from points of quadrature in the cell and on its faces.

Coefficients c_j of u = sum_j c_j phi_j take the place of nodes; integral of phi_i phi_j dr = 1 if i = j, else 0, so there is
no mass matrix.  Koornwinder 1975; Fuhry, Giuliani & Krivodonova 2014, section 2.
"""
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations

import numpy as np

from .faces import FacePolynomials
from .quadrature import quadrature
from .simplex import FACES, Simplex, face_basis, simplex


@lru_cache(maxsize=64)
def modal_simplex(dim, order, degree=None):
    """The modal reference simplex of dimension `dim` with polynomials of degree `order` (at least 0).

    degree: up to which the quadrature is exact, 2 order by default; on the faces it is exact up to 2 order + 1 at least."""
    return ModalSimplex(dim, order, 2 * order if degree is None else degree)


class ModalCell:
    """What follows from an orthonormal `basis` and points of quadrature, `points`, `weights` and `face_points`, on cells of any
    shape."""

    @cached_property
    def interpolate(self):
        return self.basis.evaluate_basis(self.points)

    @cached_property
    def differentiation(self):
        return -self.basis.evaluate_gradients(self.points).swapaxes(1, 2) * self.weights

    @cached_property
    def project(self):
        return (self.interpolate * self.weights[:, None]).T

    @cached_property
    def trace(self):
        return self.basis.evaluate_basis(self.face_points.reshape(-1, self.dim))


@dataclass(frozen=True)
class ModalSimplex(ModalCell):
    """Matrices between the coefficients of phi, orthonormal of degree `order` on the biunit simplex, and points of quadrature.

    points, weights     (point, dim), (point,) of the cell;  face_points (face, face point, dim), face_weights (face point,)
    interpolate         (point, mode)              phi_j(x_p)
    differentiation     (dim, mode, point)         - w_p dphi_i/dr_k (x_p)
    project             (mode, point)              w_p phi_i(x_p)
    trace               (face * face point, mode)  phi_j(x_s) at the faces' points
    lift                (mode, face * face point)  w_s phi_i(x_s)
    nodal               (node, mode)               phi_j at the nodes of simplex(dim, max(order, 1))
    face_nodes          (face, face point)         rows of `trace`, which take the place of a nodal element's nodes
    """

    dim: int
    order: int
    degree: int

    @cached_property
    def basis(self):
        """The orthonormal polynomials, with `evaluate_basis`."""
        return Simplex(self.dim, self.order)

    @cached_property
    def points(self):
        return quadrature(self.dim, max(self.degree, 1))[0]

    @cached_property
    def weights(self):
        return quadrature(self.dim, max(self.degree, 1))[1]

    @cached_property
    def _face_rule(self):
        """Barycentric coordinates (face point, dim) with respect to the vertices of a face, and weights (face point,)."""
        if self.dim == 1:
            return np.ones((1, 1)), np.ones(1)
        r, weights = quadrature(self.dim - 1, max(self.degree, 2 * self.order + 1))
        return simplex(self.dim - 1, 1).barycentric(r), weights

    @cached_property
    def face_points(self):
        return self._face_rule[0] @ simplex(self.dim, 1).vertices[np.array(FACES[self.dim])]

    @property
    def face_weights(self):
        return self._face_rule[1]

    @cached_property
    def lift(self):
        return (self.trace * np.tile(self.face_weights, self.dim + 1)[:, None]).T

    @cached_property
    def nodal(self):
        return self.basis.evaluate_basis(simplex(self.dim, max(self.order, 1)).nodes)

    @property
    def face_nodes(self):
        return np.arange((self.dim + 1) * len(self.face_weights)).reshape(self.dim + 1, -1)

    @cached_property
    def match_positions(self):
        """As `Simplex.match_positions`: rows of `trace`, and positions on the other face, of the points that meet a face's."""
        own, d = self._face_rule[0], self.dim
        positions = np.zeros((d + 1, d + 1, d ** d, len(own)), np.int64)
        for permutation in permutations(range(d)):
            distance = np.abs(own[:, None, :] - own[None][:, :, list(permutation)]).max(axis=2)
            positions[:, :, sum(p * d ** i for i, p in enumerate(permutation))] = distance.argmin(axis=1)
        return self.face_nodes[:, :1][None, :, None] + positions, positions

    @cached_property
    def _face_polynomials(self):
        points, evaluate = self._face_rule[0][:, 1:] * 2 - 1, face_basis(self.dim, self.order)
        values = evaluate(points)
        positions = np.tile(np.arange(len(points)), (self.dim + 1, 1))
        return FacePolynomials(points, positions, values, (values * self.face_weights[:, None]).T, evaluate)

    def face_polynomials(self, corners):
        """The `FacePolynomials` on the faces, which all have as many corners as the dimension."""
        return self._face_polynomials
