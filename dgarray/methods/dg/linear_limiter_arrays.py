"""The limiter of elements of any shape on arrays: `LinearLimiter` with whole arrays in place of numbers."""
from functools import cached_property

import numpy as np

from ...physics.pointwise import Rows
from ..operation import Operation
from .limiter_arrays import Elements, LimiterArrays, block_of
from .linear_limiter import LinearLimiter


class Kept:
    """What the limiters of all sets keep for each other, arrays [variable, row, element of all sets], and extremes of the
    averages around the vertices of the mesh, [variable, 2, vertex].

    kept: {name: (number of variables, rows)}"""

    def __init__(self, backend, neighbourhood, kept):
        self.backend, self.neighbourhood = backend, neighbourhood
        self.arrays = {name: backend.zeros((*shape, len(neighbourhood.cells))) for name, shape in kept.items()}
        self.extremes = None

    @cached_property
    def around(self):
        return self.backend.integers(self.neighbourhood.around)

    def find_extremes(self):
        xp, means = self.backend.xp, self.arrays["means"][:, 0]
        values = [variable[self.around] for variable in means]
        self.extremes = xp.stack([xp.stack([xp.max(v, axis=0), xp.min(v, axis=0)]) for v in values])

    def operation(self):
        """The operation that finds the extremes."""
        means = self.arrays["means"]
        return Operation("limiter: extremes around vertices", self.find_extremes, reads=("averages of elements",),
                         writes={"extremes": means.nbytes // means.shape[2] * 2 * self.around.shape[1]})


class LinearLimiterArrays(LimiterArrays):
    """Limits states q[variable, row, element] in place, in three operations: keep what other elements read, find extremes
    around vertices, limit. The first two are done for all sets before the third is for any."""

    flow = LinearLimiter

    def elements(self, *which):
        return LinearElements(self, *which)

    @cached_property
    def rows(self):
        """Rows of an element that are there at once, about."""
        tables = self.operations.tables
        return tables.variables * (2 * tables.rows + len(tables.face_points) + len(self.limits.beside))

    def _blocks(self, q, task, count, extremes=None):
        blocks = self.operations.blocks(count, self.rows)
        self.backend.workers.run(lambda piece, _: task(self.elements(q, blocks[piece], extremes)), len(blocks))

    @cached_property
    def shared(self):
        """The `Kept` of all sets."""
        return Kept(self.backend, self.limits.neighbourhood, self.limiter.kept)

    @staticmethod
    def share(limiters):
        """Let the limiters of several sets see each other's elements."""
        first = limiters[0]
        shared = Kept(first.backend, first.limits.neighbourhood, first.limiter.kept)
        for limiter in limiters:
            limiter.shared = shared

    @property
    def kept(self):
        return {name: self.shared.arrays[name][:, :, self.limits.own] for name in self.limiter.kept}

    @cached_property
    def weights(self):
        return {name: self.backend.array(getattr(self.limits, name)) for name in ("mean", "slopes", "one", "linear", "centre")}

    @property
    def centre(self):
        return self.weights["centre"]

    def keep(self, q):
        self._blocks(q, self.limiter.keep, q.shape[2])

    def extremes_operation(self):
        return self.shared.operation()

    def finish(self, q):
        self._blocks(q, self.limiter.limit, self.operations.tables.owned, self.shared.extremes if self.limiter.kept else None)

    def operations_on(self, q):
        """([the operation that keeps what others read], [the one that limits]) of a state in the operations' own layout."""
        operations, held = self.operations, {}

        def keep():
            held["q"] = operations.as_array(q)
            self.keep(held["q"])

        def finish():
            values = held.pop("q") if held else operations.as_array(q)
            self.finish(values)
            operations.set_array(q, values)
        size = sum(np.prod(shape) for shape in self.limiter.kept.values()) * self.operations.tables.elements * q.itemsize
        before = [Operation("limiter: averages", keep, reads=("new state",), writes={"averages of elements": int(size)})]
        reads = ("new state", *("averages of elements", "extremes") * bool(self.limiter.kept))
        return before if self.limiter.kept else [], [Operation("limiter: limit", finish, reads=reads,
                                                               writes={"new state": q.nbytes})]


class LinearElements(Elements):
    """Some elements of a state, as `LinearLimiter` sees one."""

    def weight(self, name):
        values = self.arrays.weights[name]
        return values if values.shape[-1] == 1 else values[..., self.columns]

    @cached_property
    def mean(self):
        return self.backend.sum_of_rows(self.q[:, :, self.columns] * self.weight("mean"))

    def mean_of(self, v):
        return self.mean[v]

    def slopes(self, v):
        q = self.q[v, :, self.columns]
        return [self.backend.sum_of_rows(q * weights) for weights in self.weight("slopes")]

    def span(self, v):
        q = self.q[v, :, self.columns]
        if self.operations.tables.modal:
            q = self.arrays.matrices["to_nodes"] @ q
        return [self.xp.max(q, axis=-2), self.xp.min(q, axis=-2)]

    def rows(self, name):
        if name == "centre":
            return self.weight("centre")
        return super().rows(name)

    def make_linear(self, v, share, where, slopes, centre):
        q, (one, linear) = self.q[v, :, self.columns], (self.arrays.weights[name] for name in ("one", "linear"))
        found = self.mean[v][..., None, :] * one[:, None]
        for s, r, c in zip(slopes, linear, centre):
            found = found + (share * s)[..., None, :] * (r[:, None] - c * one[:, None])
        q[...] = self.xp.where(where[..., None, :] > 0, found, q)

    def at_nodes(self, function, v, **rows):
        q = self.q[v, :, self.columns]
        mean = self.mean[v][..., None, :] * self.arrays.weights["one"][:, None]
        function = self.arrays.limiter.function(function, q=1, mean=1, **dict.fromkeys(rows, 1))
        self.backend.evaluate(function, [Rows([q])], q=(q,), mean=(mean,), **{name: Rows(row) for name, row in rows.items()})

    def take(self, name, source):
        places, shared = self.arrays.lists[name][:, self.columns], self.arrays.shared
        if source == "averages":          # the list has places of rows, too
            values = shared.arrays["averages"]
            return block_of(values.reshape(len(values), -1)[:, places])
        found = (self.extremes_found if source == "extremes" else shared.arrays[source])[:, :, places]
        variables, rows, count, elements = found.shape
        return block_of(found.swapaxes(1, 2).reshape(variables, count * rows, elements))

    def least(self, function, start):
        operations, q = self.operations, self.q[:, :, self.columns]
        tables = operations.tables
        if operations.interpolate is not None:
            q = self.backend.product(self.arrays.points, q)
        else:
            gauss = tables.diagonal and tables.kind == "gauss"
            q = self.with_points_beside(q, [operations.ends_of(q)] if gauss else [])
        return self.least_of(function, start, q)
