"""A parameter of a law as a function of x, from numbers at the nodes of each element."""
from hashlib import sha256

import numpy as np

from ..mesh.curved.cell_maps import positions
from .by_element import ByElement


class ByNode(ByElement):
    """A function of x that is in each element the polynomial through the numbers at its nodes, plus another function or number.

    values: (element, node);  the rest as of `ByElement`, with (elements, weights (node, point)) for positions in `known`"""

    varies_inside = True

    def __repr__(self):
        return super().__repr__().replace("for each element", "for each node")

    def __call__(self, x):
        shape = np.broadcast_shapes(*(np.shape(each) for each in x))
        elements, weights = self.at(np.stack(np.broadcast_arrays(*x), axis=-1).reshape(-1, len(x)))
        found = np.einsum("np,pn->p", weights, self.values[elements]).reshape(shape)
        return found + (self.beside(x) if callable(self.beside) else self.beside)

    @property
    def positions(self):
        """Of the nodes, (dim, element, node)."""
        return np.array(positions(self.space.mesh, self.space.cell.nodes)).transpose(0, 2, 1)

    def at(self, points):
        """(elements, values there of the polynomials that are 1 at one node (node, point)) at points (point, dim)."""
        key = points.shape, sha256(np.ascontiguousarray(points)).digest()
        if key not in self.known:
            found, count = self.space.evaluation(points), self.values.shape[1]
            units = np.broadcast_to(np.eye(count)[:, :, None], (count, count, len(found.places)))
            self.known[key] = found.places, found.values(units)
        return self.known[key]

    def plus(self, values):
        return ByNode(self.space, self.values + values, self.beside, self.known)


class PointNumbers:
    """A function of x that gives every point at which it is asked a number of its own, from 1."""

    varies_inside = True

    def __init__(self):
        self.points, self.count = [], 1

    def __call__(self, x):
        x = np.broadcast_arrays(*x)
        self.points.append(np.stack([each.ravel() for each in x], axis=1))
        self.count += x[0].size
        return np.arange(self.count - x[0].size, self.count, dtype=float).reshape(x[0].shape)

    def at(self, numbers):
        """The points (point, dim) with these numbers."""
        return np.concatenate(self.points)[np.rint(numbers).astype(int) - 1]
