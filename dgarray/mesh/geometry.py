"""Measures, normals and shape of straight-sided simplices, from vertex coordinates alone."""
from itertools import combinations
from math import factorial

import numpy as np

from ..reference.simplex import FACES

# Sign that turns the normal of a face's vertex order in FACES outwards, for positively oriented cells.
OUTWARD = {1: (-1, 1), 2: (1, 1, 1), 3: (-1, 1, 1, -1)}


def signed_measures(points, cells):
    """Length, area or volume of each cell, negative where it is inverted: det(x_i - x_0) / dim!, (cell,)."""
    x = points[cells]
    edges = x[:, 1:] - x[:, :1]
    return np.linalg.det(edges) / factorial(points.shape[1])


def longest_edges(points, cells):
    """Length of the longest edge of each cell, (cell,)."""
    x = points[cells]
    pairs = list(combinations(range(cells.shape[1]), 2))
    return np.max([np.linalg.norm(x[:, i] - x[:, j], axis=1) for i, j in pairs], axis=0)


def area_vectors(points, cells):
    """Outward normal times measure of every face, (cell, face, dim); the measure of a point is 1."""
    dim = points.shape[1]
    x = points[cells[:, FACES[dim]]]
    sign = np.array(OUTWARD[dim], dtype=float)[None, :, None]
    if dim == 1:
        return np.broadcast_to(sign, (len(cells), 2, 1)).copy()
    edge = x[:, :, 1] - x[:, :, 0]
    if dim == 2:
        return np.stack([edge[..., 1], -edge[..., 0]], axis=-1) * sign
    return np.cross(edge, x[:, :, 2] - x[:, :, 0]) * (sign / 2)


def radius_ratios(points, cells, inradii):
    """Normalised radius ratio dim * inradius / circumradius of each cell: 1 for regular cells, 0 for flat ones.

    The circumcentre c solves 2 (x_i - x_0) . (c - x_0) = |x_i - x_0|^2."""
    dim = points.shape[1]
    x = points[cells]
    edges = x[:, 1:] - x[:, :1]
    squares = np.sum(edges * edges, axis=2, keepdims=True)
    return dim * inradii / np.linalg.norm(np.linalg.solve(2 * edges, squares)[..., 0], axis=1)
