"""Piecewise polynomials of a degree in each coordinate on quadrilaterals or hexahedra, by values at tensor-product nodes."""
from functools import cached_property

import numpy as np

from ..mesh.curved import cell_maps
from ..mesh.locate import Locator
from ..physics.pointwise import at_points
from ..reference.tensor import tensor_cell
from .parts import Evaluation, Part, Trace, face_rows, kept
from .tensor_surface import TensorSurface

PIECE = 1 << 18          # multiply-adds of one interpolation, so few that BLAS libraries use one thread for the product


class TensorSpace:
    """Polynomials of degree `order` in each coordinate of r on every quadrilateral or hexahedron: values (variable, node,
    element) at the nodes of `tensor_cell(dim, order, nodes)`; attributes as of `PolynomialSpace`."""

    dims, word, place, structured, mixed = ("element", "node"), "mesh", "element", False, False

    def __init__(self, mesh, order, nodes="gauss"):
        self.mesh, self.order, self.dim = mesh, order, mesh.dim
        self.cell = tensor_cell(mesh.dim, order, nodes)

    @property
    def count(self):
        """Number of elements."""
        return len(self.mesh.cells)

    @property
    def sizes(self):
        return {"element": self.count, "node": len(self.cell.nodes)}

    def arranged(self, values):
        return values.transpose(0, 2, 1)

    def coordinates(self, units):
        return {}

    def position(self, node, element):
        """Coordinates of a node of an element."""
        return cell_maps.positions(self.mesh, self.cell.nodes[node:node + 1], [element])[:, 0, 0]

    def bounds(self):
        """Lowest and highest coordinates."""
        return cell_maps.extent(self.mesh)

    def evaluation(self, x):
        """The `Evaluation` of fields at points x (point, dim); on a face it takes the value in one of the face's elements."""
        element, r, quality = Locator(self.mesh.points, self.mesh.cells, self.mesh.geometry_nodes).held(x)
        matrix = self.cell.interpolation(r)
        coords = {"cell_number": (("point",), self.mesh.numbers[element].astype("int64"),
                                  {"long_name": "position among the cells of the mesh file, from 0"})}
        return Evaluation(element, lambda q: np.einsum("pn,vnp->vp", matrix, q), element < 0, coords, quality)

    def trace(self, boundary, role, units, beyond=False):
        """The `Trace` of a named boundary, or of several; beyond: of the cells on the other side of an interface.

        Raises ValueError for an unknown name."""
        surface = self._surface(boundary, role, beyond=beyond)
        return Trace(surface.rows[:, 0], surface.take, dict(zip(("face", "face_node"), surface.shape)),
                     surface.coords(self.mesh.numbers, units("x")))

    def boundary_parts(self, boundary, role, degree=None):
        """The `Part`s of a named boundary, or of several. Raises ValueError for an unknown name."""
        degree = degree or 2 * self.order + 4
        surface = self._surface(boundary, role, (degree + 1) // 2)
        return [Part(surface.rows[:, 0], tuple(surface.x), surface.shape, tuple(surface.normals),
                     lambda q: tuple(surface.take(q)), lambda v: v[surface.rows[:, 0], None],
                     lambda f: np.sum(f * surface.weights), surface.weights)]

    def _surface(self, boundary, role, order=None, beyond=False):
        return TensorSurface(self.mesh, self.cell, face_rows(self.mesh, boundary, role, beyond), order)

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

    def blocks(self, size):
        """Slices of elements that bound temporary memory, for a product with a matrix of this size."""
        step = max(16, PIECE // size)
        return [slice(first, min(first + step, self.count)) for first in range(0, self.count, step)]

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
