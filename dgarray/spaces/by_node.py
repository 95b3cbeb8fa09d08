"""A parameter of a law as a function of x, from numbers at the nodes of each element."""
import numpy as np

from .by_element import ByElement


class ByNode(ByElement):
    """A function of x that is in each element the polynomial through the numbers at its nodes, plus another function or number.

    values: (element, node);  the rest as of `ByElement`"""

    varies_inside = True

    def __repr__(self):
        return super().__repr__().replace("for each element", "for each node")

    def __call__(self, x):
        shape = np.broadcast_shapes(*(np.shape(each) for each in x))
        elements, weights = self.at(np.stack(np.broadcast_arrays(*x), axis=-1).reshape(-1, len(x)))
        found = np.einsum("np,pn->p", weights, self.values[elements]).reshape(shape)
        return found + (self.beside(x) if callable(self.beside) else self.beside)

    def at(self, points):
        """As of `ElementsAt.weights`."""
        return self.elements.weights(points, self.values.shape[1])

    def plus(self, values):
        return ByNode(self.elements, self.values + values, self.beside)


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
