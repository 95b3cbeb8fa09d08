"""Measures, normals and quality of straight-sided cells, from vertex coordinates alone."""
from math import factorial

import numpy as np

from ..reference.shapes import shape_of
from .faces import corner_table

INWARD = 1e-10          # points are moved by this share of the way to the centroid, off faces where a medium may jump


def signed_measures(points, cells):
    """Length, area or volume of each cell, negative where it is inverted, (cell,).

    Simplices: det(x_i - x_0) / dim!. Others: the integral of det dx/dr, which has at most the degree dim - 1 in each
    coordinate."""
    shape, dim = shape_of(points, cells), points.shape[1]
    if not shape.simplex:
        r, weights = shape.quadrature(dim - 1)
        return np.sum(determinants(points, cells, r) * weights, axis=1)          # rounds alike in a part of the mesh
    x = points[cells]
    edges = x[:, 1:] - x[:, :1]
    return np.linalg.det(edges) / factorial(dim)


def determinants(points, cells, r):
    """det dx/dr of cells that are no simplices, (cell, point), at reference points r (point, dim)."""
    return np.stack([_determinant(J) for J in _jacobians(points, cells, r)], axis=1)


def _jacobians(points, cells, r):
    """dx_i/dr_d (cell, i, d) at one reference point after the other."""
    x = points[cells]
    return (np.einsum("kci,cd->kid", x, gradient) for gradient in shape_of(points, cells).gradients(r))


def _determinant(J):
    if J.shape[1] == 2:
        return J[:, 0, 0] * J[:, 1, 1] - J[:, 0, 1] * J[:, 1, 0]
    return np.sum(J[:, 0] * np.cross(J[:, 1], J[:, 2]), axis=1)


def are_valid(points, cells):
    """Whether each cell has a positive measure, one that is no simplex also det dx/dr > 0 at the points where that is
    tested, (cell,)."""
    shape = shape_of(points, cells)
    if shape.simplex:
        return signed_measures(points, cells) > 0
    return np.all(determinants(points, cells, shape.test_points) > 0, axis=1)


def longest_edges(points, cells):
    """Length of the longest edge of each cell, (cell,)."""
    x = points[cells]
    return np.max([np.linalg.norm(x[:, i] - x[:, j], axis=1) for i, j in shape_of(points, cells).edges], axis=0)


def area_vectors(points, cells):
    """Outward normal times measure of every face, (cell, face, dim); the measure of a point is 1.

    On a bilinear face, the integral of the normal: half the cross product of the diagonals, also on a triangle that repeats its
    last corner. Where such a face is warped, the vector is shorter than the face's area."""
    shape, dim = shape_of(points, cells), points.shape[1]
    x = points[cells[:, corner_table(shape.faces)]]
    sign = np.array(shape.outward, dtype=float)[None, :, None]
    if dim == 1:
        return np.broadcast_to(sign, (len(cells), 2, 1)).copy()
    edge = x[:, :, 1] - x[:, :, 0]
    if dim == 2:
        return np.stack([edge[..., 1], -edge[..., 0]], axis=-1) * sign
    if not shape.simplex:
        return np.cross(x[:, :, 3] - x[:, :, 0], x[:, :, 2] - x[:, :, 1]) * (sign / 2)
    return np.cross(edge, x[:, :, 2] - x[:, :, 0]) * (sign / 2)


def radius_ratios(points, cells, inradii):
    """Normalised radius ratio dim * inradius / circumradius of each cell: 1 for regular cells, 0 for flat ones.

    The circumcentre c solves 2 (x_i - x_0) . (c - x_0) = |x_i - x_0|^2."""
    dim = points.shape[1]
    x = points[cells]
    edges = x[:, 1:] - x[:, :1]
    squares = np.sum(edges * edges, axis=2, keepdims=True)
    return dim * inradii / np.linalg.norm(np.linalg.solve(2 * edges, squares)[..., 0], axis=1)


def scaled_jacobians(points, cells):
    """Scaled Jacobian of each cell that is no simplex, (cell,): 1 where all corners are right, of prisms and pyramids where all
    edges have one length; 0 for degenerate cells.

    The least det(e_1, ..., e_dim) / (|e_1| ... |e_dim|) of dim edges e_d at a corner, over that of the best cell.
    Knupp 2000."""
    shape, x = shape_of(points, cells), points[cells]
    least = np.full(len(cells), np.inf)
    for corner, *others in shape.angles:
        edges = np.swapaxes(x[:, others] - x[:, corner, None], 1, 2)
        least = np.minimum(least, _determinant(edges) / np.prod(np.linalg.norm(edges, axis=1), axis=1))
    return least / shape.regular
