"""Integrals and norms of fields on grids.

For a field with scaled derivatives c (coefficient, z, y, x), 0 to N in each direction, they are exact for its Hermite
interpolant.  For values alone, N = 0, they use the trapezoidal rule; those of cells are multiplied by the cells' sizes.
"""
import numpy as np

from ..mesh import Grid
from ..reference import hermite

# Numbers of a field to which the mass matrix is applied at a time.
BLOCK_VALUES = 1 << 20


def quadrature(N):
    """Gauss quadrature in a cell of length 1, exact for squares of the interpolant: weights (point,), and values
    (point, 2 (N + 1)) of the Hermite basis functions at the points, first those of the low end, then those of the high end."""
    s, weights = np.polynomial.legendre.leggauss(2 * N + 2)
    return weights / 2, np.hstack(hermite.values(N, (s + 1) / 2))


def rule(grid, N, axis):
    """Quadrature weights (N + 1, node) along an axis: the integral of the interpolant is the sum of weights times c."""
    if N == 0:
        return grid.weights()[axis][None]
    weights, values = quadrature(N)
    low, high = np.split(grid.spacing[axis] * (weights @ values), 2)
    out = np.zeros((N + 1, grid.nodes[axis]))
    cells = np.arange(grid.cells[axis])
    out[:, cells] += low[:, None]
    out[:, (cells + 1) % grid.nodes[axis]] += high[:, None]
    return out


def integral(grid, N, c):
    """Integral over the grid of the Hermite interpolant of c (coefficient, z, y, x)."""
    c = np.asarray(c).reshape(*(N + 1,) * grid.dim, *grid.shape)
    for axis in range(grid.dim):
        # The last axis of the nodes and the last of the coefficients are those of x, then of y, ...
        c = np.tensordot(c, rule(grid, N, axis), ((grid.dim - 1 - axis, -1), (0, 1)))
    return c[()]


def norm(grid, N, c):
    """L2 norm of c (coefficient, z, y, x), the square root of the integral of |u|^2: exact for the interpolant u, or for N = 0
    by the trapezoidal rule."""
    if N == 0:
        return np.sqrt(integral(grid, 0, np.abs(np.asarray(c)).astype(float) ** 2))
    total, c, (low, high) = 0.0, np.asarray(c), (grid.lower[-1], grid.spacing[-1])
    rows = max(1, BLOCK_VALUES // (c.size // c.shape[1]))
    for first in range(0, grid.cells[-1], rows):
        last = min(first + rows, grid.cells[-1])
        slab = Grid((*grid.lower[:-1], low + first * high), (*grid.upper[:-1], low + last * high),
                    (*grid.cells[:-1], last - first), (*grid.periodic[:-1], False))
        part = c[:, np.arange(first, last + 1) % grid.nodes[-1]]
        total += np.vdot(part, mass_times(slab, N, part)).real
    return np.sqrt(total)


def mass_times(grid, N, c):
    """M c (coefficient, z, y, x), with the mass matrix M: c . M c is the integral of the interpolant's square."""
    d, (weights, values) = grid.dim, quadrature(N)
    c = c.reshape(*(N + 1,) * d, *c.shape[1:])
    for axis in range(d):
        mass = grid.spacing[axis] * values.T @ (weights[:, None] * values)
        c = np.moveaxis(c, (d - 1 - axis, -1 - axis), (0, 1))
        low = np.arange(grid.cells[axis])
        high = (low + 1) % grid.nodes[axis]
        products = np.tensordot(mass, np.concatenate([c[:, low], c[:, high]]), 1)
        c = np.zeros(c.shape, products.dtype)
        c[:, low] += products[:N + 1]
        c[:, high] += products[N + 1:]
        c = np.moveaxis(c, (0, 1), (d - 1 - axis, 2 * d - 1 - axis))
    return c.reshape(-1, *grid.shape)
