"""Averages of functions over the cells of a grid."""
import numpy as np


def averages(grid, rows, function):
    """Components (variable, z, y, x) of a function averaged over the cells in some rows along the last axis, by Gauss's rule
    with three points along each axis, exact for polynomials of degree 5.

    grid: a `dgarray.mesh.grid.CellGrid`;  function: of x, a tuple of arrays (z, y, x), returns the components.
    The order of the sums does not depend on the side: mirrored states, and states turned around z, have averages with the same
    bits."""
    points, (end, middle, _) = np.polynomial.legendre.leggauss(3)
    end, middle, centres = end / 2, middle / 2, np.broadcast_arrays(*grid.places(rows))

    def at(*place):
        x = tuple(c + points[i] * h / 2 for c, i, h in zip(centres, place, grid.spacing))
        return np.stack([np.broadcast_to(np.asarray(v, float), x[0].shape) for v in function(x)])

    def line(f):
        return end * (f(0) + f(2)) + middle * f(1)

    def square(f):
        corners, sides = (f(0, 0) + f(2, 2)) + (f(0, 2) + f(2, 0)), (f(0, 1) + f(2, 1)) + (f(1, 0) + f(1, 2))
        return end * end * corners + end * middle * sides + middle * middle * f(1, 1)
    return {1: line, 2: square, 3: lambda f: square(lambda i, j: line(lambda k: f(i, j, k)))}[grid.dim](at)
