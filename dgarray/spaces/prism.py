"""Polynomials on prisms, affine or not, given by their values at the nodes of every element."""
from functools import cached_property

from ..mesh import cell_maps
from ..reference import prism
from .curved import CurvedSpace
from .polynomial import PolynomialSpace


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

    def _surface(self, boundary, role):
        raise ValueError(f"{role or 'values on boundaries'}: not available on boundaries of prisms yet; take points")


def polynomial_space(mesh, order):
    """The space of polynomials on a mesh of simplices or prisms: a `PolynomialSpace`, `CurvedSpace` or `PrismSpace`."""
    if mesh.cell_shape.name == "prism":
        return PrismSpace(mesh, order)
    return (PolynomialSpace if mesh.geometry_nodes is None else CurvedSpace)(mesh, order)
