"""Polynomials on curved triangles and tetrahedra, given by their values at the nodes of every element."""
from functools import cached_property

import numpy as np

from ..mesh.curved import cell_maps
from ..physics.pointwise import at_points
from .norms import degree_energies
from .parts import Part, face_rows, kept
from .polynomial import PolynomialSpace
from .simplex_metrics import metrics


class CurvedSpace(PolynomialSpace):
    """Polynomials of r, not of x, on every element of a mesh with geometry nodes: values (variable, node, element),
    attributes as of `PolynomialSpace`.

    The quadrature in the reference cell is exact for u^2 det dx/dr at least."""

    def rule(self, degree):
        """Quadrature on the reference cell, points (point, dim) and weights (point,)."""
        return self.mesh.cell_shape.quadrature(degree)

    @cached_property
    def extra(self):
        """The degree of det dx/dr."""
        return self.dim * (cell_maps.map_order(self.mesh) - 1)

    @cached_property
    def jacobians(self):
        """Mean of det dx/dr in each element, (element,)."""
        points, weights = self.rule(max(self.extra, 1))
        return np.concatenate([weights @ metrics(self.mesh, points, some)[1] for some in self.blocks(len(points) ** 2)]) / (
            weights.sum())

    def position(self, node, element):
        return cell_maps.positions(self.mesh, self.cell.nodes[node:node + 1], [element])[:, 0, 0]

    def bounds(self):
        return cell_maps.extent(self.mesh)

    def boundary_parts(self, boundary, role, degree=None):
        degree = degree or 2 * self.order + 4
        surface = self.surface(face_rows(self.mesh, boundary, role))
        x, weights, matrix = surface.quadrature(degree)
        return [Part(surface.rows[:, 0], tuple(x), weights.shape, tuple(surface.metrics(surface.rule(degree)[0])[0]),
                     lambda q: tuple(surface.take(q) @ matrix.T), lambda v: v[surface.rows[:, 0], None],
                     lambda f: np.sum(f * weights), weights)]

    @kept
    def parts(self, role="", degree=None, extra=4):
        """Yield the domain as `Part`s, blocks of elements; quadrature in the reference cell is exact up to `degree`, by default
        2 order + `extra`, and for squares of fields."""
        points, weights = self.rule(max(degree or 2 * self.order + extra, 2 * self.order + self.extra))
        matrix = self.cell.interpolation_at(points)
        for some in self.blocks(matrix.size):
            x, scale = cell_maps.positions(self.mesh, points, some), metrics(self.mesh, points, some)[1]

            def values(q, some=some):
                return tuple(matrix @ component[:, some].astype(float) for component in q)

            def integrate(f, scale=scale):
                return np.sum(weights @ (np.broadcast_to(f, scale.shape) * scale))
            yield Part(some, tuple(x), x[0].shape, None, values, lambda v, some=some: v[some], integrate)

    def mean(self, values):
        points, weights = self.rule(self.order + self.extra)
        matrix, found = self.cell.interpolation(points), []
        for some in self.blocks(matrix.size):
            shares = weights[:, None] * metrics(self.mesh, points, some)[1]
            found.append(np.sum((matrix @ values[some].T) * shares, axis=0) / shares.sum(axis=0))
        return np.concatenate(found)

    @cached_property
    def derivatives(self):
        """dl_j/dr_k (dim, node, node) and dr_k/dx_i (element, dim, dim, node) at the nodes."""
        drdx = np.linalg.inv(cell_maps.jacobians(self.mesh, self.cell.nodes))
        return self.cell.gradients(self.cell.nodes), np.moveaxis(drdx, 0, -1)

    def integral(self, values):
        return self._sum(values, lambda u: u)

    def norm(self, values):
        return np.sqrt(self._sum(values, np.square))

    def _sum(self, values, function):
        """Integrals of a function of fields (..., node, element), (...)."""
        values = np.asarray(values)
        fields = values.reshape(-1, *values.shape[-2:])
        total = np.zeros(len(fields))
        for part in self.parts():
            total += [part.integrate(function(u)) for u in part.values(fields)]
        return total.reshape(values.shape[:-2])[()]

    def energies(self, values):
        """Squared L2 norm of the part of each degree of fields (variable, node, element), (variable, degree), with the mean of
        det dx/dr in each element."""
        return degree_energies(values, self.cell, self.jacobians)

    def error(self, values, exact, t):
        total = np.zeros(len(values))
        for part in self.parts(degree=max(2 * self.order + 4, 12)):
            expected = at_points(exact, part.x, t, len(values), "the exact solution")
            total += [part.integrate((u - v) ** 2) for u, v in zip(part.values(values), expected)]
        return np.sqrt(total)
