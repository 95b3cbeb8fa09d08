"""A matrix times the unknowns of some elements: values at the points of faces, or what functions read inside."""
from typing import NamedTuple

import numpy as np

from ..operation import Operation


class Products(NamedTuple):
    """The matrix (row, unknown) and the numbers of the elements; variables of the state, where its values lie as of
    `DGArrays.layout`, and how many elements it has."""

    matrix: np.ndarray
    elements: np.ndarray
    variables: int
    layout: tuple
    count: int


class ElementValues:
    """The values of `Products`, by array expressions: (variable, row, element) as one flat array."""

    def __init__(self, backend, products):
        self.backend, self.tables, self.arrays = backend, products, {}
        self.number = np.zeros(products.count, int)
        self.number[products.elements] = np.arange(len(products.elements))

    def array(self, which):
        """The array for the values of one of several states, made once."""
        if which not in self.arrays:
            self.arrays[which] = self.new_array()
        return self.arrays[which]

    def new_array(self):
        return self.backend.zeros(self.tables.variables * len(self.tables.matrix) * len(self.tables.elements))

    def places(self, rows, elements):
        """Where rows of elements are in the array, and the step from one variable to the next."""
        count = len(self.tables.elements)
        return rows * count + self.number[elements], len(self.tables.matrix) * count

    def operation(self, state, array):
        """The `Operation` that computes the values of a state."""
        return Operation("values", lambda: self.put(state, array))

    def put(self, state, array):
        matrix, elements, variables, (first, stride, step), _ = self.tables
        at = first[elements] + step * np.arange(matrix.shape[1])[:, None]
        flat = state.reshape(-1)
        values = np.stack([flat[at + v * stride] for v in range(variables)])
        array.reshape(variables, len(matrix), -1)[...] = matrix @ values
