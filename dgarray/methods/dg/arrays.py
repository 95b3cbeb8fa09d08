"""Arrays of a set that limiters and checks work on, on the backend, and copies of a state between backend and host."""
from functools import cached_property

import numpy as np

from ..step_operations import Fetched


class DGArrays:
    """Arrays of a discontinuous Galerkin method on a backend, copies of those of `Tables`; a state is q[variable, node,
    element]. A base class of `SetOperations`.

    Each array is copied on first use, because kernels that replace an operation have arrays of their own instead."""

    def __init__(self, backend, tables):
        self.backend, self.xp, self.tables, self.needs_x = backend, backend.xp, tables, tables.needs_x

    @cached_property
    def trace(self):
        trace = self.tables.basis.trace
        return None if trace is None else self.backend.array(trace)

    @cached_property
    def x(self):
        return self.backend.array(self.tables.geometry.coordinates())

    @cached_property
    def face_x(self):
        points = self.tables.basis.face_points
        return self.x if self.trace is None else self.backend.array(self.tables.geometry.coordinates(points))

    @cached_property
    def filter_matrix(self):
        return self.backend.array(self.tables.filter)

    def state(self, q):
        """A copy of q[variable, node, element], of the host or the backend, in the layout that the operations use."""
        return self.backend.copied(q)

    def plain(self, state):
        """A copy of the state as q[variable, node, element] on the backend."""
        return state.copy()

    def as_array(self, state):
        """The state as q[variable, node, element]: a view where it is one, else a copy."""
        return state

    def host(self, state):
        """The state as q[variable, node, element] on the host."""
        return self.backend.host(state)

    def fetch(self, state):
        """Start copying the state to the host; the caller may change the state at once.

        The object returned has ready(), whether the copy is complete, and result(), which waits for it and returns the same as
        `host`. Here the copy is complete on return."""
        return Fetched(self.host(state))

    def take(self, state, elements):
        """The state of some elements on the host, q[variable, node, element of `elements`]; only these are copied."""
        values = self.gather(state, self.places_of(elements))
        return values.get() if hasattr(values, "get") else values

    def places_of(self, elements):
        """Where these elements are in a state, as `gather` and `scatter` take it."""
        return self.backend.integers(elements)

    def layout(self):
        """Where the first value of each element is in a state as one flat array, (element,), and the steps from there to the
        next variable, and to the next row."""
        elements = self.tables.elements
        return np.arange(elements), self.tables.rows * elements, elements

    def gather(self, state, places):
        """The values of some elements, a new array q[variable, node, element] on the backend."""
        return state[:, :, places]

    def scatter(self, state, places, values):
        """Set some elements to these values, q[variable, node, element]."""
        state[:, :, places] = values

    def zeros(self):
        """A state of zeros."""
        return self.backend.zeros((self.tables.variables, self.tables.rows, self.tables.elements))

    def own(self, values):
        """The values (..., element) at the mesh's own elements, without those at copies of other parts' elements."""
        return values[..., :self.tables.owned]

    def time(self, t):
        """The time as pointwise functions take it."""
        return self.backend.number(t)
