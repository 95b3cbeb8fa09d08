"""The conserved integrals of a weight-adjusted mass matrix: in smooth media and in curved triangles and tetrahedra.

    dq/dt = P (r / w),  P (p / w) = q:  dp/dt = r

with the weight w = C, J or C J at points of quadrature and the projection P onto the polynomials. The integral of the
polynomial p is conserved, and with a flux that does not dissipate that of p q / 2. Up to the order of the method p is C J q.
Chan, Hewett & Warburton 2017.
"""
import numpy as np

from ...physics.capacity import is_matrix, over, times
from ...physics.pointwise import Pointwise
from ...reference.columns import multiply

BLOCK = 1 << 16          # numbers of the matrices of a block of elements


def conserved(tables, values):
    """The integrals of p and of p q over all elements, each (variable,), from values at the nodes (variable, node, element) on
    the host; None where p is C J q."""
    if not is_weight_adjusted(tables):
        return None
    mass, to_modes = WeightAdjustedMass(tables), np.linalg.inv(tables.basis.cell.vandermonde)
    total = np.zeros((2, tables.physics.moving))
    for cells in mass.blocks:
        modes = [to_modes @ values[v][:, cells] for v in range(tables.physics.moving)]
        for v, p in enumerate(mass.times(modes, cells)):
            total[:, v] += p[0].sum() * tables.basis.shape.measure ** 0.5, np.sum(p * modes[v])
    return total


def is_weight_adjusted(tables):
    """Whether p is another polynomial than C J q."""
    return bool(tables.media.weighted) or tables.geometry.curved


class WeightAdjustedMass:
    """p from q and q from p, of orthonormal modes (mode, element) of each variable in some elements."""

    def __init__(self, tables):
        self.tables, basis, media = tables, tables.basis, tables.media
        self.curved, self.volume, V = tables.geometry.curved, basis.shape.measure, basis.cell.vandermonde
        self.to_points, self.back = (basis.interpolate, basis.projection) if self.curved else (media.to_points, media.back)
        if not basis.modal:
            self.to_points, self.back = self.to_points @ V, np.linalg.solve(V, self.back)
        self.weighted, self.varying = ((range(tables.variables), media.volume) if self.curved else
                                       (media.weighted, media.mass))

    @property
    def blocks(self):
        """Slices of elements that bound temporary memory."""
        step = max(1, BLOCK // self.to_points.size)
        return [slice(first, first + step) for first in range(0, self.tables.elements, step)]

    def weights(self, cells):
        """(w of each variable; of pyramids J_0, else None; C, if it is a matrix, the same in all of an element, else None)."""
        geometry = self.tables.geometry
        J = geometry.jacobian[:, cells] if self.curved else self.tables.mesh.measures[cells] / self.volume
        apex = geometry.weight[:, cells] if self.tables.basis.weighted_modes is not None else None
        C = capacities(self.tables, self.varying, cells)
        return ([J] * len(C), apex, C) if is_matrix(C) else ([c * J for c in C], apex, None)

    def times(self, modes, cells):
        """The modes of p, of all variables."""
        weights, apex, C = self.weights(cells)
        found = [self.solved(each, weight, apex) if v in self.weighted else each * weight
                 for v, (each, weight) in enumerate(zip(modes, weights))]
        return found if C is None else times(C, found)

    def over(self, modes, cells):
        """The modes of q, from those of p."""
        weights, apex, C = self.weights(cells)
        modes = modes if C is None else over(C, modes)
        return [self.divided(each, weight, apex) if v in self.weighted else each / weight
                for v, (each, weight) in enumerate(zip(modes, weights))]

    def matrices(self, weight):
        """The mass matrices with a weight (point, element), (element, mode, mode)."""
        return (self.back * weight.T[:, None]) @ self.to_points

    def solved(self, modes, weight, apex):
        """The modes of p with P (p / weight) = q; of pyramids with M_(J_0)^-1 M_(J_0^2 / weight) M_(J_0)^-1 p = q."""
        inverse, q = 1 / np.broadcast_to(weight, (len(self.to_points), modes.shape[1])), modes.T[:, :, None]
        if apex is None:
            return np.linalg.solve(self.matrices(inverse), q)[:, :, 0].T
        of_apex = self.matrices(apex)
        return (of_apex @ np.linalg.solve(self.matrices(apex ** 2 * inverse), of_apex @ q))[:, :, 0].T

    def divided(self, modes, weight, apex):
        """The inverse of `solved`."""
        if apex is None:
            return multiply(self.back, multiply(self.to_points, modes) / weight)
        of_apex = self.matrices(apex)
        found = np.linalg.solve(of_apex, modes.T[:, :, None])[:, :, 0].T
        found = multiply(self.back, apex ** 2 / weight * multiply(self.to_points, found))
        return np.linalg.solve(of_apex, found.T[:, :, None])[:, :, 0].T


def capacities(tables, varying, cells):
    """C of each variable in some elements, from the parameters that are one number per element and those that vary inside."""
    if tables.law.capacity is None:
        return [1.0] * tables.physics.moving
    m = {name: numbers[..., cells] for name, numbers in (tables.parameters | varying).items()}
    return Pointwise(tables.law.capacity, {"m": tables.physics.parameters}, "capacity")(m=m)
