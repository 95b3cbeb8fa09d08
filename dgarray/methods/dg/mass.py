"""The conserved integrals of a weight-adjusted mass matrix: in smooth media and in curved triangles and tetrahedra.

    dq/dt = P (r / w),  P (p / w) = q:  dp/dt = r

with the weight w = C, J or C J at points of quadrature and the projection P onto the polynomials. The integral of the
polynomial p is conserved, and with a flux that does not dissipate that of p q / 2. Up to the order of the method p is C J q.
Chan, Hewett & Warburton 2017.
"""
import numpy as np

from ...physics.capacity import is_matrix, times
from ...physics.pointwise import Pointwise

BLOCK = 1 << 16          # numbers of the matrices of a block of elements


def conserved(tables, values):
    """The integrals of p and of p q over all elements, each (variable,), from values at the nodes (variable, node, element) on
    the host; None where p is C J q."""
    media = tables.media
    basis, geometry, curved = tables.basis, tables.geometry, tables.geometry.curved
    if not media.weighted and not curved:
        return None
    V, volume = basis.cell.vandermonde, basis.shape.measure
    to_modes = np.linalg.inv(V)
    to_points, back = (basis.interpolate, basis.projection) if curved else (media.to_points, media.back)
    if not basis.modal:
        to_points, back = to_points @ V, to_modes @ back
    weighted, varying = (range(tables.variables), media.volume) if curved else (media.weighted, media.mass)
    step, total = max(1, BLOCK // to_points.size), np.zeros((2, tables.physics.moving))
    for first in range(0, tables.elements, step):
        cells = slice(first, first + step)
        jacobian = geometry.jacobian[:, cells] if curved else tables.mesh.measures[cells] / volume
        apex = geometry.weight[:, cells] if basis.weighted_modes is not None else None
        C = capacities(tables, varying, cells)
        modes = [to_modes @ values[v][:, cells] for v in range(tables.physics.moving)]
        weights = [jacobian if is_matrix(C) else c * jacobian for c in C]          # a matrix is the same in all of an element
        found = [weight_adjusted(each, weight, to_points, back, apex) if v in weighted else each * weight
                 for v, (each, weight) in enumerate(zip(modes, weights))]
        for v, p in enumerate(times(C, found) if is_matrix(C) else found):
            total[:, v] += p[0].sum() * volume ** 0.5, np.sum(p * modes[v])
    return total


def capacities(tables, varying, cells):
    """C of each variable in some elements, from the parameters that are one number per element and those that vary inside."""
    if tables.law.capacity is None:
        return [1.0] * tables.physics.moving
    m = {name: numbers[..., cells] for name, numbers in (tables.parameters | varying).items()}
    return Pointwise(tables.law.capacity, {"m": tables.physics.parameters}, "capacity")(m=m)


def weight_adjusted(modes, weight, to_points, back, apex=None):
    """The modes of p, P (p / weight) = q, from those of q (mode, element); weight (point, element).

    apex (point, element): J_0 of pyramids, see `curved_geometry`: then M_(J_0)^-1 M_(J_0^2 / weight) M_(J_0)^-1 p = q"""
    inverse = 1 / np.broadcast_to(weight, (len(to_points), modes.shape[1]))

    def mass(weight):
        return (back * weight.T[:, None]) @ to_points
    q = modes.T[:, :, None]
    if apex is None:
        return np.linalg.solve(mass(inverse), q)[:, :, 0].T
    of_apex = mass(apex)
    return (of_apex @ np.linalg.solve(mass(apex ** 2 * inverse), of_apex @ q))[:, :, 0].T
