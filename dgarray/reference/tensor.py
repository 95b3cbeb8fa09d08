"""Tensor-product reference cells: line, quadrilateral and hexahedron [-1, 1]^d with Gauss or Gauss-Lobatto nodes.

Nodes are numbered with the first coordinate fastest, i = p_1 + n p_2 + n^2 p_3, and so are the points of a face, in the
coordinates that it has.  Every matrix acts along one axis; a dense one would cost n^d instead of n for each node.
Helluy, Strub, Massaro & Roberts 2015, section 3.1; Kopriva 2009.
"""
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations, product

import modepy
import numpy as np

from .faces import FacePolynomials
from .kept_interpolation import KeptInterpolation
from .shapes import NAMED_SHAPES

KINDS = "gauss", "lobatto"
NAMES = {1: "line", 2: "quadrilateral", 3: "hexahedron"}


@lru_cache(maxsize=64)
def tensor_cell(dim, order, nodes="gauss"):
    """The `TensorCell` of a dimension, 1 to 3, and an order from 0; Gauss-Lobatto nodes from order 1."""
    return TensorCell(dim, int(order), nodes)


@dataclass(frozen=True)
class TensorCell(KeptInterpolation):
    """Nodes and matrices along a line for polynomials of degree `order` in each coordinate of [-1, 1]^dim.

    x, w              (n,)         nodes and weights on a line, n = order + 1: Gauss's, or those of Gauss and Lobatto
    slopes            (n, n)       dl_j/dx at x_i
    ends              (2, n)       l_j(-1), l_j(1)
    weak              (n, n)       w_j slopes_ji / w_i: the derivative moved to the test function
    lift              (n, 2)       l_i(-1) / w_i, l_i(1) / w_i
    nodes, weights    (node, dim), (node,)
    face_points       (face, face point, dim), faces in the order of `Shape`;  face_weights (face point,)
    """

    dim: int
    order: int
    kind: str

    @cached_property
    def _rule(self):
        if self.kind == "gauss":
            rule = modepy.LegendreGaussQuadrature(self.order, force_dim_axis=True)
            return rule.nodes[0], rule.weights
        x = modepy.JacobiGaussLobattoQuadrature(0, 0, self.order).nodes
        x = np.sort(np.ravel(x))
        return x, 2 / (self.order * (self.order + 1) * np.polynomial.legendre.Legendre.basis(self.order)(x) ** 2)

    @property
    def x(self):
        return self._rule[0]

    @property
    def w(self):
        return self._rule[1]

    def values(self, points):
        """l_j(points), (point, n)."""
        x = self.x
        factors = (np.asarray(points, float)[:, None, None] - x) / (x[:, None] - x + np.eye(len(x)))
        factors[:, np.eye(len(x), dtype=bool)] = 1
        return factors.prod(axis=2)

    @cached_property
    def slopes(self):
        x = self.x
        gaps = x[:, None] - x + np.eye(len(x))
        c = gaps.prod(axis=1)
        D = c[:, None] / c / gaps
        np.fill_diagonal(D, 0)
        return D - np.diag(D.sum(axis=1))

    @cached_property
    def ends(self):
        return self.values([-1.0, 1.0])

    @property
    def weak(self):
        return self.slopes.T * self.w / self.w[:, None]

    @property
    def lift(self):
        return self.ends.T / self.w[:, None]

    @cached_property
    def nodes(self):
        return lattice(self.x, self.dim)

    @cached_property
    def weights(self):
        return lattice(self.w, self.dim).prod(axis=1)

    @cached_property
    def face_weights(self):
        return lattice(self.w, self.dim - 1).prod(axis=1)

    @cached_property
    def face_points(self):
        along = lattice(self.x, self.dim - 1)
        return np.array([np.insert(along, axis, side, axis=1) for axis, side in product(range(self.dim), (-1.0, 1.0))])

    @property
    def face_nodes(self):
        """Numbers of the points of each face among those of all faces, (face, face point)."""
        return np.arange(2 * self.dim * len(self.face_weights)).reshape(2 * self.dim, -1)

    @cached_property
    def match_positions(self):
        """As `Simplex.match_positions`: for each permutation of the vertices of a face, the points of the other face that meet
        a face's points: their numbers among those of all faces, and on the face."""
        faces, points, corners = 2 * self.dim, lattice(self.x, self.dim - 1), lattice(np.array([-1.0, 1.0]), self.dim - 1)
        count = len(corners)
        positions = np.zeros((faces, faces, count ** count, len(points)), np.int64)
        weights = np.prod((1 + corners * points[:, None]) / 2, axis=2)          # of a point, to the face's vertices
        for permutation in permutations(range(count)):
            there = weights @ corners[list(permutation)]
            distance = np.abs(there[:, None] - points[None]).max(axis=2, initial=0)
            if distance.min(axis=1).max() < 1e-9:          # a symmetry of the square
                code = sum(p * count ** i for i, p in enumerate(permutation))
                positions[:, :, code] = distance.argmin(axis=1)
        return self.face_nodes[:, :1][None, :, None] + positions, positions

    @cached_property
    def differentiation(self):
        """D_k = dl_j/dr_k at r_i, (dim, node, node)."""
        line, none = self.slopes, np.eye(self.order + 1)
        matrices = np.ones((self.dim, 1, 1))
        for axis in range(self.dim):
            matrices = np.array([np.kron(line if k == axis else none, matrices[k]) for k in range(self.dim)])
        return matrices

    @cached_property
    def modes(self):
        """The products of orthonormal Legendre polynomials at the nodes, (node, mode); `degrees` (mode,): the largest."""
        n = self.order + 1
        line = np.polynomial.legendre.legvander(self.x, self.order) * np.sqrt(np.arange(n) + 0.5)
        matrix = np.ones((1, 1))
        for _ in range(self.dim):
            matrix = np.kron(line, matrix)
        return matrix

    @property
    def degrees(self):
        return lattice(np.arange(self.order + 1), self.dim).max(axis=1)

    @property
    def shape(self):
        return NAMED_SHAPES[NAMES[self.dim]]

    def interpolation(self, r):
        """Matrix (point, node) that evaluates polynomials at the reference points r (point, dim)."""
        matrix = np.ones((len(r), 1))
        for axis in reversed(range(self.dim)):
            matrix = np.einsum("pi,pj->pij", matrix, self.values(r[:, axis])).reshape(len(r), matrix.shape[1] * len(self.x))
        return matrix

    @cached_property
    def _face_polynomials(self):
        face = tensor_cell(self.dim - 1, self.order, self.kind)
        positions = np.tile(np.arange(len(face.nodes)), (2 * self.dim, 1))
        return FacePolynomials(face.nodes, positions, face.modes, np.linalg.inv(face.modes),
                               lambda r: face.interpolation(r) @ face.modes)

    def face_polynomials(self, corners):
        """The `FacePolynomials` on the faces, which all have two corners, or four."""
        return self._face_polynomials


def lattice(values, dim):
    """The points (point, dim) of a lattice with these coordinates along each axis, the first axis fastest."""
    grid = np.meshgrid(*dim * [values], indexing="ij")
    return np.stack([axis.ravel() for axis in grid[::-1]], axis=1) if dim else np.zeros((1, 0))
