"""Nodal reference prisms (wedges): the biunit triangle times the line [-1, 1], coordinates (r, s, t).

Polynomials of degree N in the triangle times degree N along the line. The nodes are those on a face of a tetrahedron times
Gauss-Lobatto points.
"""
from functools import cached_property

import numpy as np

from .mixed_faces import MixedFacesCell, legendre, legendre_slopes, times
from .shapes import NAMED_SHAPES
from .simplex import Simplex
from .tensor import tensor_cell


class PrismCell(MixedFacesCell):
    """A `MixedFacesCell` of the products of the orthonormal polynomials of the triangle and of Legendre's, the triangle's
    fastest."""

    shape = NAMED_SHAPES["prism"]

    @property
    def triangle(self):
        """The polynomials of the triangle; its nodes here are `triangle_nodes`, not those of a `Simplex`."""
        return Simplex(2, self.order)

    @cached_property
    def nodes(self):
        r, t = self.triangle_nodes, tensor_cell(1, self.order, "lobatto").x
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

    @property
    def degrees(self):
        """The larger one of the degrees of each mode in the triangle and along the line, (mode,)."""
        return np.maximum(np.arange(self.order + 1)[:, None], self.triangle.degrees).ravel()
