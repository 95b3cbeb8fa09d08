"""Piecewise polynomials on a mesh of simplices, given by their values at the nodes of every element."""
from functools import cached_property

import numpy as np

from ..reference import quadrature, shape_of, simplex
from .curved_surface import simplex_surface
from .elements import PIECE, ElementSpace
from .norms import degree_energies, integrate, jacobians, l2_error, l2_norm
from .parts import Part, face_rows, kept


class PolynomialSpace(ElementSpace):
    """Polynomials of degree `order` on every element of a mesh: values (variable, node, element) at the nodes of
    `simplex(dim, order)`.

    Raises ValueError for a mesh of other cells.
    Integrals are by default exact up to the degree 2 order + 4."""

    def __init__(self, mesh, order):
        if not shape_of(mesh.points, mesh.cells).simplex:
            raise ValueError(f"PolynomialSpace is for lines, triangles and tetrahedra, not for {mesh!r}")
        self.mesh, self.order, self.dim = mesh, order, mesh.dim
        self.cell = simplex(mesh.dim, order)

    @cached_property
    def jacobians(self):
        """|det dx/dr|, (element,)."""
        return jacobians(self.mesh.points, self.mesh.cells)

    def position(self, node, element):
        """Coordinates of a node of an element."""
        return self.cell.barycentric(self.cell.nodes[node:node + 1])[0] @ self.mesh.points[self.mesh.cells[element]]

    def bounds(self):
        """Lowest and highest coordinates."""
        return self.mesh.points.min(axis=0), self.mesh.points.max(axis=0)

    def boundary_parts(self, boundary, role, degree=None):
        """The `Part`s of a named boundary, or of several. Raises ValueError for an unknown name."""
        surface = self.surface(face_rows(self.mesh, boundary, role))
        x, weights, matrix = surface.quadrature(degree or 2 * self.order + 4)
        normals = tuple(n[:, None] for n in surface.normals)
        return [Part(surface.rows[:, 0], tuple(x), weights.shape, normals, lambda q: tuple(surface.take(q) @ matrix.T),
                     lambda v: v[surface.rows[:, 0], None], lambda f: np.sum(f * weights), weights)]

    def surface(self, rows):
        """The faces `rows` (count, 2) with points on them."""
        return simplex_surface(self.mesh, self.order, rows)

    @kept
    def parts(self, role="", degree=None, extra=4):
        """Yield the domain as `Part`s, blocks of elements; quadrature is exact up to `degree`, by default 2 order + `extra`."""
        points, weights = quadrature(self.dim, degree or 2 * self.order + extra)
        matrix, corners = self.cell.interpolation_at(points), self.cell.barycentric(points)
        step = max(16, PIECE // matrix.size)
        for first in range(0, self.count, step):
            some = slice(first, first + step)
            vertices, scale = self.mesh.points[self.mesh.cells[some]], self.jacobians[some]
            x = tuple(corners @ vertices[:, :, d].T for d in range(self.dim))

            def values(q, some=some):
                return tuple(matrix @ component[:, some].astype(float) for component in q)

            def integrate(f, scale=scale):
                return weights @ np.broadcast_to(f, (len(weights), len(scale))) @ scale
            yield Part(some, x, x[0].shape, None, values, lambda v, some=some: v[some], integrate)

    def mean(self, values):
        """Means over the elements of a field (element, node)."""
        return values @ (self.cell.mass.sum(axis=0) / self.cell.volume)

    @cached_property
    def derivatives(self):
        """D_k (dim, node, node), and dr_k/dx_i (element, dim, dim, 1): at the nodes or one for all of them."""
        corners = self.mesh.points[self.mesh.cells]
        # The inverse of dx_i/dr_k = (corner k+1 - corner 0)_i / 2.
        drdx = np.linalg.inv(np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2) / 2)
        return self.cell.differentiation, drdx[..., None]

    def integral(self, values):
        """Integral of fields (..., node, element), sum_e J_e 1^T M u_e."""
        return integrate(values, self.cell.mass, self.jacobians)

    def norm(self, values):
        """L2 norm of fields (..., node, element), exact: sqrt(sum_e J_e u_e^T M u_e)."""
        return l2_norm(values, self.cell.mass, self.jacobians)

    def energies(self, values):
        """Squared L2 norm of the part of each degree of fields (variable, node, element), (variable, degree)."""
        return degree_energies(values, self.cell, self.jacobians)

    def error(self, values, exact, t):
        """L2 norm of u - exact(x, t) per variable, (variable,)."""
        return l2_error(values.astype(float), exact, t, self.mesh.points, self.mesh.cells, self.order)
