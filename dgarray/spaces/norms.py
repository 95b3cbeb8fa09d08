"""Integrals and L2 norms of nodal polynomials on affine simplices.

A nodal field has the shape (..., node, element). The physical points of element e are x = sum_i lambda_i
points[cells[e, i]] with the barycentric coordinates lambda of the reference point, so the Jacobian determinant J_e
is constant on an element. Everything runs in blocks of elements in float64: temporary memory does not grow with the
mesh.
"""
import numpy as np

from dgarray.physics.pointwise import at_points
from dgarray.reference import quadrature, simplex

# Values held at once by one temporary array. Larger products are split over BLAS threads, which on two busy cores made
# l2_error 5 to 18 times slower at 2^15; with one BLAS thread the size hardly matters.
BLOCK_VALUES = 1 << 14


def jacobians(points, cells):
    """J_e = |det dx/dr| = measure of the cell / volume of the biunit simplex, (element,).

    points: (point, dim); cells: (element, dim + 1)"""
    points, cells = np.asarray(points, dtype="float64"), np.asarray(cells)
    edges = points[cells[:, 1:]] - points[cells[:, :1]]
    return np.abs(np.linalg.det(edges)) / 2 ** points.shape[1]


def integrate(values, mass, jacobians):
    """Integral of a nodal field, sum_e J_e sum_ij M_ij u_je, for every leading index.

    values: (..., node, element); mass: (node, node) of the reference cell; jacobians: (element,)"""
    values, weights = np.asarray(values), np.asarray(mass).sum(axis=0)
    total = np.zeros(values.shape[:-2])
    for block in _blocks(values.shape[-1], values.shape[-2]):
        total = total + (weights @ values[..., block].astype("float64")) @ jacobians[block]
    return total


def l2_norm(values, mass, jacobians):
    """Exact L2 norm of a nodal field, sqrt(sum_e J_e u_e^T M u_e), for every leading index.

    values: (..., node, element); mass: (node, node) of the reference cell; jacobians: (element,)"""
    values = np.asarray(values)
    factor = np.linalg.cholesky(np.asarray(mass)).T
    total = np.zeros(values.shape[:-2])
    for block in _blocks(values.shape[-1], values.shape[-2]):
        total = total + np.sum((factor @ values[..., block].astype("float64")) ** 2, axis=-2) @ jacobians[block]
    return np.sqrt(total)


def degree_energies(values, cell, jacobians):
    """Squared L2 norm of the part of each degree of a nodal field's orthonormal modes, (..., degree).

    values: (..., node, element); cell: the `Simplex` or `MixedFacesCell` of its nodes; jacobians: (element,)"""
    values, to_modes = np.asarray(values), np.linalg.inv(cell.vandermonde)
    degrees = cell.degrees
    squares = np.zeros((*values.shape[:-2], len(degrees)))
    for block in _blocks(values.shape[-1], values.shape[-2]):
        squares += (to_modes @ values[..., block].astype("float64")) ** 2 @ jacobians[block]
    return squares @ (degrees[:, None] == np.arange(cell.order + 1))


def with_total(names, errors):
    """The errors (variable,) as {name: error}, and "total", the square root of the sum of their squares."""
    return {**dict(zip(names, map(float, errors))), "total": float(np.hypot.reduce(errors))}


def l2_error(q, exact, t, points, cells, order, degree=None):
    """L2 norm of q - exact(x, t) per variable, (variable,); the total over all variables is its Euclidean norm.

    q:      (variable, node, element), polynomials of degree `order` on the nodes of `simplex(dim, order)`
    exact:  exact(x, t) or exact(x), x a tuple of `dim` arrays; returns a tuple with one array or number per variable
    points: (point, dim); cells: (element, dim + 1)
    degree: of the quadrature; 2 order + 4, at least 12, if None
    Raises ValueError if `exact` returns another number of components than q has."""
    points, cells, q = np.asarray(points, dtype="float64"), np.asarray(cells), np.asarray(q)
    dim = points.shape[1]
    reference = simplex(dim, order)
    r, weights = quadrature(dim, max(2 * order + 4, 12) if degree is None else degree)
    interpolation, corners = reference.interpolation(r), reference.barycentric(r)
    determinants = jacobians(points, cells)
    squares = np.zeros(len(q))
    for block in _blocks(len(cells), len(weights)):
        vertices = points[cells[block]]
        x = tuple(corners @ vertices[:, :, axis].T for axis in range(dim))
        expected = at_points(exact, x, t, len(q), "the exact solution")
        for variable, component in enumerate(expected):
            difference = interpolation @ q[variable][:, block].astype("float64") - component
            squares[variable] += (weights @ difference**2) @ determinants[block]
    return np.sqrt(squares)


def _blocks(elements, values_per_element):
    step = max(1, BLOCK_VALUES // values_per_element)
    return [slice(start, min(start + step, elements)) for start in range(0, elements, step)]
