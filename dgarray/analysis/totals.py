"""Integrals over the domain of what a law conserves."""
import numpy as np

from ..backends.arrays import PIECE
from ..mesh import Grid
from ..pointwise import Pointwise
from ..reference import quadrature
from .grid import grid_totals


def totals(tables, q):
    """{variable: integral of C q} and, where the law has one, {"energy": integral of its energy density}.

    q (variable, node, element) on the host; C is the law's capacity (1 without).  The energy is integrated with the exact
    mass matrix of the nodal polynomials; on a grid, by the trapezoidal rule over the nodes."""
    if isinstance(tables.mesh, Grid):
        return grid_totals(tables, q[:, 0])
    law, physics = tables.law, tables.physics
    jacobian = tables.mesh.measures / tables.cell.volume
    weights = tables.cell.mass.sum(axis=0)
    ones = (1.0,) * len(q)
    capacity = Pointwise(law.capacity, {"m": physics.parameters}, "capacity")(m=tables.parameters) if law.capacity else ones
    q = q.astype(float, copy=False)
    result = {name: float(np.sum((weights @ values) * jacobian * c)) for name, values, c in zip(law.variables, q, capacity)}
    if law.energy is not None:
        result["energy"] = energy(tables, q)
    return result


def energy(tables, q):
    """Integral of the law's energy density, exact for energies quadratic in q: evaluated at points of degree 2 order."""
    points, weights = quadrature(tables.dim, 2 * tables.cell.order)
    matrix, jacobian = tables.cell.interpolation(points), tables.mesh.measures / tables.cell.volume
    density = Pointwise(tables.law.energy, {"q": len(q), "m": tables.physics.parameters}, "energy")
    total = 0.0
    step = max(16, PIECE // matrix.size)
    for first in range(0, tables.elements, step):
        some = slice(first, first + step)
        values = tuple(matrix @ component[:, some] for component in q)
        local = density(q=values, m={name: v[some] for name, v in tables.parameters.items()})[0]
        total += float(weights @ np.broadcast_to(local, values[0].shape) @ jacobian[some])
    return total
