"""Uniform refinement of simplices at the edge midpoints: 2, 4 or 8 children a cell."""
from itertools import combinations

import numpy as np

# Edges of the simplex as vertex pairs, by dimension; midpoint e of a cell has the local number dim + 1 + e.
EDGES = {dim: tuple(combinations(range(dim + 1), 2)) for dim in (0, 1, 2, 3)}

# Children in local numbers. Tetrahedron: the corners, then the inner octahedron cut along the diagonal that joins the
# midpoints of two opposite edges; DIAGONALS lists for each choice its four tetrahedra. Bey 1995.
CHILDREN = {
    0: ((0,),),
    1: ((0, 2), (2, 1)),
    2: ((0, 3, 4), (3, 1, 5), (4, 5, 2), (3, 5, 4)),
    3: ((0, 4, 5, 6), (4, 1, 7, 8), (5, 7, 2, 9), (6, 8, 9, 3)),
}
# Opposite edges are 01-23, 02-13, 03-12: midpoints 4-9, 5-8, 6-7; the other four midpoints form a ring around each.
DIAGONALS = ((4, 9, (5, 6, 8, 7)), (5, 8, (4, 6, 9, 7)), (6, 7, (4, 5, 9, 8)))


def split(points, given):
    """Refine cells of one shape, [(shape, (cell, corner))]; returns what `dgarray.mesh.refine.children.children` does, with the
    new points in the order of their edges.

    A tetrahedron is cut along the shortest of its three inner diagonals, which bounds the children's quality."""
    [(shape, cells)], dim = given, points.shape[1]
    edges = np.sort(cells[:, EDGES[dim]].reshape(-1, 2), axis=1)
    key, place = np.unique(edges[:, 0] * len(points) + edges[:, 1], return_inverse=True)
    ends = np.column_stack([key // len(points), key % len(points)])
    new_points = np.concatenate([points, points[ends].mean(axis=1)])
    local = np.concatenate([cells, len(points) + place.reshape(len(cells), -1)], axis=1)

    def midpoint(pairs):
        low, high = np.sort(pairs, axis=1).T
        return len(points) + np.searchsorted(key, low * len(points) + high)

    numbers = parts_of(new_points, local)
    children = local[np.arange(len(cells))[:, None, None], numbers]
    return new_points, [{shape.name: (children, _places(dim)[numbers])}], lambda facets: _split_facets(facets, midpoint)


def parts_of(points, local):
    """Local numbers of the children's corners, (cell or 1, child, dim + 1), of cells with the points `local` (cell, number)."""
    dim = {1: 0, 3: 1, 6: 2, 10: 3}[local.shape[1]]
    numbers = np.array(CHILDREN[dim])[None]
    if dim < 3:
        return numbers
    return np.concatenate([np.broadcast_to(numbers, (len(local), *numbers.shape[1:])), _octahedra(points, local)], axis=1)


def _places(dim):
    """Coordinates (local number, dim) of the corners and the midpoints of the edges in the reference cell."""
    corners = 2 * np.vstack([np.zeros(dim), np.eye(dim)]) - 1
    return np.concatenate([corners, corners[np.array(EDGES[dim])].mean(axis=1)])


def _split_facets(facets, midpoint):
    dim = facets.shape[1] - 1
    edges = np.array(EDGES[dim], dtype=np.int64).reshape(-1, 2)
    middle = midpoint(facets[:, edges].reshape(-1, 2)).reshape(len(facets), len(edges))
    return np.concatenate([facets, middle], axis=1)[:, CHILDREN[dim]]


def _octahedra(points, local):
    """Local numbers of the four inner tetrahedra of each cell, (cell, 4, 4), around its shortest diagonal; positively
    oriented."""
    choices = np.array([[(a, b, ring[i], ring[(i + 1) % 4]) for i in range(4)] for a, b, ring in DIAGONALS])
    r = _places(3)[choices]
    inverted = np.linalg.det(r[:, :, 1:] - r[:, :, :1]) < 0
    choices[inverted, 2:] = choices[inverted, :1:-1]
    lengths = [np.linalg.norm(points[local[:, a]] - points[local[:, b]], axis=1) for a, b, _ in DIAGONALS]
    return choices[np.argmin(lengths, axis=0)]
