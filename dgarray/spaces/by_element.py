"""A parameter of a law as a function of x, from one number for each element."""
from hashlib import sha256

import numpy as np


class ElementsAt:
    """The elements of a mesh, or cells of a grid, that hold points, which are looked up once for all functions on it.

    space   of the mesh, see `dgarray.spaces`"""

    def __init__(self, space):
        self.space, self.known, self.known_weights = space, {}, {}

    def __call__(self, x):
        """The elements that hold points x, a tuple of arrays."""
        points = np.stack(np.broadcast_arrays(*x), axis=-1)
        key = points.shape, sha256(np.ascontiguousarray(points)).digest()
        if key not in self.known:
            flat = points.reshape(-1, points.shape[-1])
            found = self.space.mesh.holders(flat) if self.space.structured else self.space.evaluation(flat).places
            self.known[key] = found.reshape(points.shape[:-1])
        return self.known[key]

    def weights(self, points, nodes):
        """(Elements, values there of the polynomials that are 1 at one of so many nodes (node, point)) at points (point,
        dim)."""
        key = points.shape, sha256(np.ascontiguousarray(points)).digest()
        if key not in self.known_weights:
            found = self.space.evaluation(points)
            units = np.broadcast_to(np.eye(nodes)[:, :, None], (nodes, nodes, len(found.places)))
            self.known_weights[key] = found.places, found.values(units)
        return self.known_weights[key]


class ByElement:
    """A function of x that is a number in each element of a mesh, or cell of a grid, plus another function or number.

    elements   the `ElementsAt` of the mesh;  values: (element,);  beside: function of x or a number that is added"""

    def __init__(self, elements, values, beside=0.0):
        self.elements, self.values, self.beside = elements, np.asarray(values, float), beside

    def __repr__(self):
        more = getattr(self.beside, "__name__", self.beside)
        beside = f" + {more}" if callable(self.beside) or self.beside else ""
        return f"<one number for each element, {sha256(self.values).hexdigest()[:8]}{beside}>"

    def __call__(self, x):
        values = self.values[self.elements(x)]
        return values + (self.beside(x) if callable(self.beside) else self.beside)

    def plus(self, values):
        """This function plus one number for each element."""
        return ByElement(self.elements, self.values + values, self.beside)
