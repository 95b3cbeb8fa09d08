"""Uniform refinement of quadrilaterals and hexahedra at the middles of edges, faces and cells: 4 or 8 children a cell.

Corners have tensor order here, the first coordinate runs fastest. The children cut the parent's bilinear or trilinear map, so
that they fill the parent exactly."""
from itertools import product

import numpy as np

from ..faces import keys


def lattice(dim):
    """The corners in whose middle each of the 3^dim points of a refined cell lies; the first axis runs fastest."""
    corners = [corner[::-1] for corner in product((0, 2), repeat=dim)]
    return [[number for number, corner in enumerate(corners) if all(p in (1, c) for p, c in zip(place[::-1], corner))]
            for place in product((0, 1, 2), repeat=dim)]


def refined(middles, cells):
    """Children (cell, child, corner) of cells or facets of any dimension, corners and children in tensor order."""
    dim = int(cells.shape[1]).bit_length() - 1
    local = np.stack([middles.numbers(cells[:, corners]) for corners in lattice(dim)], axis=1)
    return local[:, offsets(dim)[:, None] + offsets(dim)]


def offsets(dim):
    """Numbers of the corners of the first child among the points of a refined cell."""
    return np.array([corner[::-1] for corner in product((0, 1), repeat=dim)]) @ 3 ** np.arange(dim)


class Middles:
    """The new points of a refinement, one in the middle of every edge, face and cell.

    points   the old points, then those in the middle of 2, of 4 and of 8 corners"""

    def __init__(self, points, middles):
        """middles: {count: (row, corner)} of that many corners, in whose middle a new point lies"""
        self.points, self.known = [points], {}
        for count, rows in middles.items():
            rows = rows[np.sort(np.unique(keys(rows), return_index=True)[1])]
            self.known[count] = rows, sum(map(len, self.points))
            self.points.append(points[rows].mean(axis=1))

    def numbers(self, rows):
        """The point in the middle of the corners of each row, (n,): of one old point, an edge, a face or a cell."""
        if rows.shape[1] == 1:
            return rows[:, 0]
        known, first = self.known[rows.shape[1]]
        key = keys(np.concatenate([known, rows]))
        order = np.argsort(key[:len(known)])
        return first + order[np.searchsorted(key[order], key[len(known):])]
