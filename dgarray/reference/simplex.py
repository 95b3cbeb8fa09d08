"""Nodal reference simplices: interval, triangle and tetrahedron on the biunit cell.

The cell has the vertices (-1, ..., -1), (1, -1, ...), (-1, 1, -1, ...), ...; its nodes are Warburton's warp-and-blend
points and its matrices come from modepy's orthonormal basis.
Hesthaven & Warburton 2008, chapters 3, 6 and 10; Warburton 2006.
"""
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations

import modepy
import numpy as np

from .faces import FacePolynomials
from .kept_interpolation import KeptInterpolation

# Vertices of each face of the reference cell, by dimension.
FACES = {
    1: ((0,), (1,)),
    2: ((0, 1), (1, 2), (2, 0)),
    3: ((0, 1, 2), (0, 1, 3), (1, 2, 3), (0, 2, 3)),
}


@lru_cache(maxsize=64)
def simplex(dim, order):
    """The reference simplex of dimension `dim` (1, 2, 3) with nodes of polynomial degree `order` (at least 1)."""
    if dim not in FACES:
        raise ValueError(f"dimension {dim!r} has no reference simplex; allowed: 1, 2, 3")
    if order != int(order) or order < 1:
        raise ValueError(f"order {order!r} is not allowed; it must be a whole number from 1")
    return Simplex(dim, int(order))


class NodalCell(KeptInterpolation):
    """What follows from `nodes` and an orthonormal basis, `evaluate_basis`, on cells of any shape.

    weighted_modes   of pyramids, see `PyramidCell`; of others None"""

    weighted_modes = None

    @cached_property
    def vandermonde(self):
        return self.evaluate_basis(self.nodes)

    def interpolation(self, r):
        """Matrix (point, node) that evaluates nodal polynomials at the reference points r (point, dim)."""
        return np.linalg.solve(self.vandermonde.T, self.evaluate_basis(r).T).T

    @cached_property
    def mass(self):
        return np.linalg.inv(self.vandermonde @ self.vandermonde.T)


@dataclass(frozen=True)
class Simplex(NodalCell):
    """Nodes and matrices of polynomial degree `order` on the biunit simplex of dimension `dim`.

    nodes            (node, dim)            interpolation points r
    vandermonde      (node, mode)           V_ij = P_j(r_i), orthonormal P
    mass             (node, node)           M = (V V^T)^-1 = integral of l_i l_j dr
    differentiation  (dim, node, node)      D_k = dl_j/dr_k at r_i
    face_nodes       (face, face node)      numbers of the nodes on each face; vertices of the faces in FACES
    lift             (node, face * face node)  L = M^-1 sum_faces integral of l_i l_j ds, unit face Jacobian
    """

    dim: int
    order: int

    @cached_property
    def basis(self):
        """The orthonormal polynomials of modepy, in its order."""
        return modepy.orthonormal_basis_for_space(modepy.PN(self.dim, self.order), modepy.Simplex(self.dim))

    @cached_property
    def nodes(self):
        return np.ascontiguousarray(modepy.warp_and_blend_nodes(self.dim, self.order).reshape(self.dim, -1).T)

    @property
    def vertices(self):
        """Corners of the biunit cell, (dim + 1, dim)."""
        return np.vstack([np.zeros(self.dim), np.eye(self.dim)]) * 2 - 1

    def barycentric(self, r):
        """Barycentric coordinates (point, dim + 1) of the reference points r (point, dim)."""
        tail = (np.asarray(r) + 1) / 2
        return np.column_stack([1 - tail.sum(axis=1), tail])

    def evaluate_basis(self, r):
        """P_j(r_i), (point, mode), at reference points r (point, dim)."""
        return modepy.vandermonde(self.basis.functions, np.atleast_2d(r).T)

    @property
    def degrees(self):
        """Degree of each mode, (mode,)."""
        return np.array([sum(mode) for mode in self.basis.mode_ids])

    def evaluate_gradients(self, r):
        """dP_j/dr_k at r_i, (dim, point, mode), at reference points r (point, dim)."""
        return np.array(modepy.multi_vandermonde(self.basis.gradients, np.atleast_2d(r).T)).reshape(self.dim, len(r), -1)

    @cached_property
    def differentiation(self):
        matrices = modepy.differentiation_matrices(self.basis.functions, self.basis.gradients, self.nodes.T)
        return np.array(matrices).reshape(self.dim, len(self.nodes), len(self.nodes))

    @cached_property
    def face_nodes(self):
        corners = self.barycentric(self.nodes)
        return np.array([np.flatnonzero(np.all(np.abs(np.delete(corners, face, axis=1)) < 1e-10, axis=1))
                         for face in FACES[self.dim]])

    def face_barycentric(self, face):
        """Barycentric coordinates (face node, dim) of a face's nodes with respect to the vertices FACES[dim][face]."""
        return self.barycentric(self.nodes)[np.ix_(self.face_nodes[face], FACES[self.dim][face])]

    @cached_property
    def lift(self):
        count = self.face_nodes.shape[1]
        face_mass = np.zeros((len(self.nodes), len(self.face_nodes) * count))
        for face, nodes in enumerate(self.face_nodes):
            face_mass[nodes, face * count:(face + 1) * count] = self._face_mass(face)
        return self.vandermonde @ (self.vandermonde.T @ face_mass)

    def _face_mass(self, face):
        """Integral over the biunit (dim - 1)-simplex of the face's nodal polynomials, (face node, face node)."""
        if self.dim == 1:
            return np.ones((1, 1))
        cell = Simplex(self.dim - 1, self.order)
        points = self.face_barycentric(face)[:, 1:] * 2 - 1
        V = cell.evaluate_basis(points)
        return np.linalg.inv(V @ V.T)

    @cached_property
    def matches(self):
        """Table {(face, other face, permutation): numbers}: entry j of `numbers` is the node of the cell that, seen from
        its `other face`, lies on node j of `face` when vertex i of `face` is vertex permutation[i] of `other face`."""
        table = {}
        for face in range(self.dim + 1):
            own = self.face_barycentric(face)
            for other in range(self.dim + 1):
                theirs = self.face_barycentric(other)
                for permutation in permutations(range(self.dim)):
                    distance = np.abs(own[:, None, :] - theirs[None][:, :, list(permutation)]).max(axis=2)
                    table[face, other, permutation] = self.face_nodes[other][distance.argmin(axis=1)]
        return table

    @cached_property
    def reduced_differentiation(self):
        """Factors (E, R) of D_k = E R_k: derivatives have degree order - 1, so E (node, mode) takes its fewer coefficients
        to the nodes and R (dim, mode, node) computes them."""
        low = self.degrees < self.order
        coefficients = np.linalg.solve(self.vandermonde, self.differentiation)
        return self.vandermonde[:, low], coefficients[:, low]

    @cached_property
    def match_positions(self):
        """Arrays (face, other face, permutation code, face node) of `matches`: node numbers, and positions on the other face.

        The code of a permutation p is sum_i p[i] dim^i."""
        shape = (self.dim + 1, self.dim + 1, self.dim ** self.dim, self.face_nodes.shape[1])
        numbers, positions = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for (face, other, permutation), nodes in self.matches.items():
            code = sum(p * self.dim ** i for i, p in enumerate(permutation))
            numbers[face, other, code] = nodes
            positions[face, other, code] = np.searchsorted(self.face_nodes[other], nodes)
        return numbers, positions

    @cached_property
    def volume(self):
        return float(self.mass.sum())

    @cached_property
    def _face_polynomials(self):
        faces = [self.face_barycentric(face)[:, 1:] * 2 - 1 for face in range(self.dim + 1)]
        positions = [np.abs(faces[0][:, None] - points).max(axis=2, initial=0).argmin(axis=1) for points in faces]
        evaluate = face_basis(self.dim, self.order)
        values = evaluate(faces[0])
        return FacePolynomials(faces[0], np.array(positions), values, np.linalg.inv(values), evaluate)

    def face_polynomials(self, corners):
        """The `FacePolynomials` on the faces, which all have as many corners as the dimension."""
        return self._face_polynomials


def face_basis(dim, order):
    """The function from points (point, dim - 1) on a face of a simplex to the orthonormal polynomials there, (point, mode)."""
    if dim == 1:
        return lambda r: np.ones((len(r), 1))
    return Simplex(dim - 1, order).evaluate_basis
