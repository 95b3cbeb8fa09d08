"""Averages of functions over the cells of a grid."""
import numpy as np

POINTS = 3               # of Gauss's rule along each axis: averages are exact for polynomials of degree 5


def averages(grid, rows, function):
    """Components (variable, z, y, x) of a function averaged over the cells in some rows along the last axis.

    grid: a `dgarray.mesh.grid.CellGrid`;  function: of x, a tuple of arrays (z, y, x), returns the components"""
    points, weights = np.polynomial.legendre.leggauss(POINTS)
    centres, total = np.broadcast_arrays(*grid.places(rows)), 0.0
    for place in np.ndindex(*(POINTS,) * grid.dim):
        x = tuple(c + points[i] * h / 2 for c, i, h in zip(centres, place, grid.spacing))
        weight = np.prod([weights[i] / 2 for i in place])
        total = total + weight * np.stack([np.broadcast_to(np.asarray(v, float), x[0].shape) for v in function(x)])
    return total
