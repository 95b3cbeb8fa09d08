"""Piecewise polynomials of a degree in each coordinate on quadrilaterals or hexahedra, by values at tensor-product nodes."""
from functools import cached_property

import numpy as np

from ..mesh.curved import cell_maps
from ..physics.pointwise import at_points
from ..reference.tensor import tensor_cell
from .elements import ElementSpace
from .parts import Part, face_rows, kept
from .tensor_surface import TensorSurface


class TensorSpace(ElementSpace):
    """Polynomials of degree `order` in each coordinate of r on every quadrilateral or hexahedron: values (variable, node,
    element) at the nodes of `tensor_cell(dim, order, nodes)`."""

    def __init__(self, mesh, order, nodes="gauss"):
        self.mesh, self.order, self.dim = mesh, order, mesh.dim
        self.cell = tensor_cell(mesh.dim, order, nodes)

    def position(self, node, element):
        """Coordinates of a node of an element."""
        return cell_maps.positions(self.mesh, self.cell.nodes[node:node + 1], [element])[:, 0, 0]

    def bounds(self):
        """Lowest and highest coordinates."""
        return cell_maps.extent(self.mesh)

    def boundary_parts(self, boundary, role, degree=None):
        """The `Part`s of a named boundary, or of several. Raises ValueError for an unknown name."""
        degree = degree or 2 * self.order + 4
        surface = self.surface(face_rows(self.mesh, boundary, role), (degree + 1) // 2)
        return [Part(surface.rows[:, 0], tuple(surface.x), surface.shape, tuple(surface.normals),
                     lambda q: tuple(surface.take(q)), lambda v: v[surface.rows[:, 0], None],
                     lambda f: np.sum(f * surface.weights), surface.weights)]

    def surface(self, rows, order=None):
        """The faces `rows` (count, 2) with points on them, their nodes or those of quadrature of an order."""
        return TensorSurface(self.mesh, self.cell, rows, order)

    @kept
    def parts(self, role="", degree=None, extra=4):
        """Yield the domain as `Part`s, blocks of elements; quadrature is exact up to `degree` in each coordinate, or without a
        degree and with `extra` 0 the nodes' own, in which the method conserves."""
        fine = tensor_cell(self.dim, ((degree or 2 * self.order + extra) + 1) // 2) if degree or extra else self.cell
        matrix = self.cell.interpolation_at(fine.nodes)
        for some in self.blocks(matrix.size):
            x, scale = mapped(self.mesh, fine.nodes, some)

            def values(q, some=some):
                return tuple(matrix @ component[:, some].astype(float) for component in q)

            def integrate(f, scale=scale):
                return np.sum(fine.weights @ (np.broadcast_to(f, scale.shape) * scale))
            yield Part(some, tuple(x), x[0].shape, None, values, lambda v, some=some: v[some], integrate)

    def mean(self, values):
        """Means over the elements of a field (element, node), by the nodes' quadrature."""
        weights = (self.cell.weights[:, None] * self.determinants).T
        return np.sum(values * weights, axis=1) / weights.sum(axis=1)

    @cached_property
    def determinants(self):
        """det dx/dr at the nodes, (node, element)."""
        return mapped(self.mesh, self.cell.nodes, slice(None))[1]

    @cached_property
    def jacobians(self):
        """Mean of det dx/dr in each element, (element,)."""
        fine = tensor_cell(self.dim, max(1, self.dim - 1))          # exact: det dx/dr has this degree in each coordinate
        sums = [fine.weights @ mapped(self.mesh, fine.nodes, some)[1] for some in self.blocks(len(fine.nodes) ** 2)]
        return np.concatenate(sums) / fine.weights.sum()

    @cached_property
    def derivatives(self):
        """D_k (dim, node, node), and dr_k/dx_i (element, dim, dim, node) at the nodes."""
        J = cell_maps.jacobians(self.mesh, self.cell.nodes)
        return self.cell.differentiation, np.moveaxis(np.linalg.inv(J), 0, -1)

    def integral(self, values):
        """Integral of a field (node, element), by the quadrature of `parts`."""
        return float(sum(part.integrate(u) for part in self.parts() for u in part.values(values[None])))

    def norm(self, values):
        """L2 norm of a field (node, element), by the quadrature of `parts`."""
        return float(np.sqrt(sum(part.integrate(u ** 2) for part in self.parts() for u in part.values(values[None]))))

    def energies(self, values):
        """Squared L2 norm of the part of each degree of fields (variable, node, element), (variable, degree), with the mean of
        det dx/dr in each element; the degree is the largest of those in each coordinate."""
        to_modes = np.linalg.inv(self.cell.modes)
        squares = sum((to_modes @ np.asarray(values[..., some], float)) ** 2 @ self.jacobians[some]
                      for some in self.blocks(to_modes.size))
        return squares @ (self.cell.degrees[:, None] == np.arange(self.order + 1))

    def error(self, values, exact, t):
        """L2 norm of u - exact(x, t) per variable, (variable,)."""
        total = np.zeros(len(values))
        for part in self.parts():
            expected = at_points(exact, part.x, t, len(values), "the exact solution")
            total += [part.integrate((u - v) ** 2) for u, v in zip(part.values(values), expected)]
        return np.sqrt(total)


def mapped(mesh, points, cells):
    """x (dim, point, element) and det dx/dr (point, element) at reference points (point, dim) of some cells."""
    return cell_maps.positions(mesh, points, cells), cell_maps.determinant(cell_maps.jacobians(mesh, points, cells))
