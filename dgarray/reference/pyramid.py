"""Nodal reference pyramids: rational functions that are polynomials on the faces.

With the coordinates a, b in [0, 1] and the height h of `dgarray.reference.shapes.PyramidShape`, x = 2 a - 1, y = 2 b - 1 and
z = 1 - 2 h, the orthonormal functions of order N are

    P_i(x) P_j(y) h^m P_k^(2 m + 2, 0)(z),  m = max(i, j) <= N,  k <= N - m

with polynomials P of Jacobi, (N + 1) (N + 2) (2 N + 3) / 6 of them. They hold all polynomials of degree N in the coordinates of
a straight pyramid, affine or not. Bergot, Cohen & Durufle 2010.
"""
from functools import cached_property
from itertools import product

import modepy
import numpy as np

from .mixed_faces import MixedFacesCell, legendre, legendre_slopes
from .shapes import NAMED_SHAPES, barycentric, collapsed
from .simplex import simplex
from .tensor import tensor_cell


class PyramidCell(MixedFacesCell):
    """A `MixedFacesCell` of rational functions.

    The nodes inside follow from those of a triangle: the one in column i and row l of its lattice lies at a_il and h_il, and
    the node (i, j, l) of the pyramid at a = a_il, b = a_jl and the mean of h_il and h_jl. The Lebesgue constants of the orders
    1 to 8 are 1, 1.8, 2.7, 3.8, 5.2, 6.8, 8.0 and 10.4."""

    shape = NAMED_SHAPES["pyramid"]

    @cached_property
    def modes(self):
        """The numbers i, j, k of each mode, (mode, 3)."""
        orders = range(self.order + 1)
        return np.array([(i, j, k) for i, j in product(orders, orders) for k in range(self.order + 1 - max(i, j))])

    @property
    def degrees(self):
        """The degree max(i, j) + k of each mode in a, b and h, (mode,)."""
        return self.modes[:, :2].max(axis=1) + self.modes[:, 2]

    @cached_property
    def nodes(self):
        square = tensor_cell(2, self.order, "lobatto").nodes
        found = [np.column_stack([square, np.full(len(square), -1.0)])]
        for face in self.shape.faces[1:]:
            points = barycentric(self.triangle_nodes) @ self.shape.corners[list(face)]
            known = np.abs(np.concatenate(found)[:, None] - points).max(axis=2).min(axis=0) < 1e-9
            found.append(points[~known])
        return np.concatenate([*found, self._nodes_inside])

    @property
    def _nodes_inside(self):
        N = self.order
        shares = barycentric(modepy.equidistant_nodes(3, N).T[simplex(3, N).face_nodes[0]])
        lattice = np.rint(N * shares[:, 1:3]).astype(int)
        at = {tuple(place): (1 + r) / 2 for place, r in zip(lattice.tolist(), self.triangle_nodes)}
        found = []
        for level in range(1, N - 1):
            for j, i in product(range(1, N - level), repeat=2):
                (r, up), (s, other) = at[i, level], at[j, level]
                h = 1 - (up + other) / 2
                found.append((2 * h * r / (1 - up) - 1, 2 * h * s / (1 - other) - 1, 1 - 2 * h))
        return np.array(found).reshape(-1, 3)

    def _factors(self, r):
        """a, b, h, (point, 1) each, m (mode,), and P_i, P_j, P_k and their derivatives, (point, mode)."""
        (i, j, k), (a, b, h) = self.modes.T, collapsed(np.atleast_2d(r))
        m, x, y = np.maximum(i, j), 2 * a - 1, 2 * b - 1
        one, slope = ({(m, n): f(2 * m + 2, 0, n, 1 - 2 * h) * 2.0 ** (m + 1) for m, n in set(zip(m.tolist(), k.tolist()))}
                      for f in (modepy.jacobi, modepy.grad_jacobi))
        numbers = list(zip(m.tolist(), k.tolist()))
        along = [[f(x, self.order)[:, i], f(y, self.order)[:, j], np.stack([g[number] for number in numbers], axis=1)]
                 for f, g in ((legendre, one), (legendre_slopes, slope))]
        return [c[:, None] for c in (a, b, h)], m, *along

    def evaluate_basis(self, r):
        """P_j(r_i), (point, mode), at reference points r (point, 3)."""
        (_, _, h), m, (x, y, z), _ = self._factors(r)
        return x * y * z * h ** m

    def evaluate_gradients(self, r):
        """dP_j/dr_k at r_i, (3, point, mode), at reference points r (point, 3); at the apex as `PyramidShape.gradients`."""
        (a, b, h), m, (x, y, z), (dx, dy, dz) = self._factors(r)
        lower = h ** np.maximum(m - 1, 0)          # m = 0: what it multiplies is 0
        along = [dx * y * z * lower, x * dy * z * lower]
        return np.array([*along, a * along[0] + b * along[1] + x * y * (dz * h ** m - z * lower * m / 2)])

    @cached_property
    def differentiation(self):
        """D_k = M^-1 S_k with S_ij = integral of l_i dl_j/dr_k: derivatives are no functions of the space, but with these the
        strong form is the weak one on affine pyramids."""
        points, weights = self.shape.quadrature(2 * self.order)
        slopes = (self.evaluate_basis(points) * weights[:, None]).T @ self.evaluate_gradients(points)
        return self.vandermonde @ slopes @ np.linalg.inv(self.vandermonde)

    @cached_property
    def weighted_modes(self):
        """Another orthonormal basis, which weights that are bilinear in a and b leave orthogonal: points (mode, 3), and
        the functions at the nodes (node, mode). Its mass matrix with the weight is diagonal: the weight at the points.

        For k = 0 to N: Lagrange's polynomials of k + 1 Gauss points in a, times those in b, times
        h^k P_(N - k)^(2 k + 3, 0)(z). Chan & Warburton 2016."""
        places, found = [], []
        points, weights = self.shape.quadrature(2 * self.order)
        for k in range(self.order + 1):
            line = tensor_cell(2, k, "gauss")
            places.append(np.column_stack([line.nodes, np.full(len(line.nodes), -1.0)]))
            at_nodes, inside = (line.interpolation(np.column_stack([2 * a - 1, 2 * b - 1])) * (
                h ** k * modepy.jacobi(2 * k + 3, 0, self.order - k, 1 - 2 * h))[:, None]
                for a, b, h in map(collapsed, (self.nodes, points)))
            found.append(at_nodes / np.sqrt(weights @ inside ** 2))
        return np.concatenate(places), np.concatenate(found, axis=1)

    def gradients(self, r):
        """dl_j/dr_k of the nodal functions at reference points r (point, 3), (3, point, node)."""
        return self.evaluate_gradients(r) @ np.linalg.inv(self.vandermonde)
