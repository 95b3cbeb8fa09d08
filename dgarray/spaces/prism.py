"""Polynomials on prisms, affine or not, given by their values at the nodes of every element."""
from functools import cached_property

import numpy as np

from ..mesh.curved import cell_maps
from ..reference import prism
from .curved import CurvedSpace
from .parts import Part, Trace, face_rows
from .polynomial import PolynomialSpace
from .prism_surface import PrismSurface


class PrismSpace(CurvedSpace):
    """As `CurvedSpace`, for values at the nodes of `prism(order)`: of degree `order` in the triangle and along the line."""

    def __init__(self, mesh, order):
        if mesh.cell_shape.name != "prism":
            raise ValueError(f"PrismSpace is for prisms, not for {mesh!r}")
        self.mesh, self.order, self.dim, self.cell = mesh, order, mesh.dim, prism(order)

    @cached_property
    def extra(self):
        """The degree of det dx/dr in the triangle and along the line."""
        return 3 * cell_maps.map_order(self.mesh) - 1

    def trace(self, boundary, role, units, beyond=False):
        surface = self._surface(boundary, role, beyond=beyond)
        return Trace(surface.rows[:, 0], surface.take, dict(zip(("face", "face_node"), surface.shape)),
                     surface.coords(self.mesh.numbers, units("x")))

    def boundary_parts(self, boundary, role, degree=None):
        surface = self._surface(boundary, role, degree or 2 * self.order + 4)
        return [Part(surface.rows[:, 0], tuple(surface.x), surface.shape, tuple(surface.normals),
                     lambda q: tuple(surface.take(q)), lambda v: v[surface.rows[:, 0], None],
                     lambda f: np.sum(f * surface.weights), surface.weights)]

    def _surface(self, boundary, role, degree=None, beyond=False):
        return PrismSurface(self.mesh, self.cell, face_rows(self.mesh, boundary, role, beyond), degree)


def polynomial_space(mesh, order):
    """The space of polynomials on a mesh of simplices or prisms: a `PolynomialSpace`, `CurvedSpace` or `PrismSpace`."""
    if mesh.cell_shape.name == "prism":
        return PrismSpace(mesh, order)
    return (PolynomialSpace if mesh.geometry_nodes is None else CurvedSpace)(mesh, order)
