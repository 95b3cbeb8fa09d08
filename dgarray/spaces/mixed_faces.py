"""Functions on prisms and pyramids, affine or not, given by their values at the nodes of every element."""
from functools import cached_property

import numpy as np

from ..mesh.curved import cell_maps
from ..reference import reference_cell
from .curved import CurvedSpace
from .mixed_faces_surface import MixedFacesSurface
from .parts import Part, face_rows
from .polynomial import PolynomialSpace


class MixedFacesSpace(CurvedSpace):
    """Polynomials of r on prisms or pyramids: values (variable, node, element) at the nodes of a `MixedFacesCell`."""

    def __init__(self, mesh, order):
        if not mesh.cell_shape.mixed_faces:
            raise ValueError(f"MixedFacesSpace is for prisms and pyramids, not for {mesh!r}")
        self.mesh, self.order, self.dim, self.cell = mesh, order, mesh.dim, reference_cell(mesh.cell_shape, order)

    @cached_property
    def extra(self):
        """The degree of det dx/dr in each coordinate of the quadrature."""
        return 3 * cell_maps.map_order(self.mesh) - 1

    def boundary_parts(self, boundary, role, degree=None):
        surface = self.surface(face_rows(self.mesh, boundary, role), degree or 2 * self.order + 4)
        return [Part(surface.rows[:, 0], tuple(surface.x), surface.shape, tuple(surface.normals),
                     lambda q: tuple(surface.take(q)), lambda v: v[surface.rows[:, 0], None],
                     lambda f: np.sum(f * surface.weights), surface.weights)]

    def surface(self, rows, degree=None):
        return MixedFacesSurface(self.mesh, self.cell, rows, degree)


def polynomial_space(mesh, order):
    """The space of dense nodal functions on a mesh: a `PolynomialSpace`, `CurvedSpace` or `MixedFacesSpace`."""
    if mesh.cell_shape.mixed_faces:
        return MixedFacesSpace(mesh, order)
    return (PolynomialSpace if mesh.geometry_nodes is None else CurvedSpace)(mesh, order)
