"""The Hermite interpolant of a field on a grid, evaluated at any point: the nodes that it uses, and their weights."""
import numpy as np

from ..reference import hermite


def ends(grid, N, axis, x):
    """The interpolant along one axis at coordinates x (point,): the numbers (2, point) of the nodes at both ends of the points'
    cells, and the weights (2, point, N + 1) of the scaled derivatives at these nodes; NaN outside the grid."""
    numbers, s = grid.between(axis, x)
    return numbers, np.array(hermite.values(N, s))


def interpolant(grid, N, points):
    """The interpolant at points (point, dim): at each, u = sum over the 2^dim corners v of the point's cell and over the
    coefficients j of weights[v, j] c[j, nodes[v]].

    Returns nodes (point, 2^dim), counted with x fastest, and weights (point, 2^dim, (N + 1)^dim), NaN outside the grid."""
    count = len(points)
    nodes, product = np.zeros((count, 1), int), np.ones((count, 1, 1))
    for axis in reversed(range(grid.dim)):
        numbers, weights = ends(grid, N, axis, points[:, axis])
        nodes = (nodes[:, :, None] * grid.nodes[axis] + numbers.T[:, None]).reshape(count, -1)
        product = np.einsum("pvj,pwk->pvwjk", product, weights.transpose(1, 0, 2))
        product = product.reshape(count, nodes.shape[1], -1)
    return nodes, product


def along(c, dim, axis, numbers, weights):
    """Evaluate c (j_z, ..., j_x, z, y, x) along one axis, at the points p: the sum over ends v and derivatives j of
    weights[v, p, j] c[j, numbers[v, p]].

    The result lacks the axis of j, and has p in place of the nodes.  Must be called for x first, then for y, then for z."""
    c = np.moveaxis(c, (dim - 1 - axis, -1 - axis), (0, 1))
    new = sum(np.einsum("pj,jp...->p...", w, c[:, n]) for n, w in zip(numbers, weights))
    return np.moveaxis(new, 0, new.ndim - 1 - axis)


def on_lattice(grid, N, c, ticks):
    """The interpolant of c (coefficient, z, y, x) at all points of a lattice, (z, y, x).

    ticks: coordinates of the lattice along x, y, z"""
    c = c.reshape(*(N + 1,) * grid.dim, *c.shape[1:])
    for axis, x in enumerate(ticks):
        c = along(c, grid.dim, axis, *ends(grid, N, axis, x))
    return c
