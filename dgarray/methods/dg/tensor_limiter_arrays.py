"""Positivity of tensor-product DG on arrays: `NodalPositivity` with whole arrays in place of numbers."""
from functools import cached_property

from ...physics.pointwise import Rows
from .limiter_arrays import AT_ONCE, Elements, LimiterArrays
from .positivity import NodalPositivity


class TensorLimiterArrays(LimiterArrays):
    """Limits states q[variable, node, element] of `TensorForm` in place."""

    flow = NodalPositivity

    def elements(self, *which):
        return TensorElements(self, *which)

    @staticmethod
    def rows_at_once(limiter, tables):
        points = tables.rows + tables.face_nodes.size + len(tables.limits.beside)
        return max(points * (tables.variables + 5), AT_ONCE)

    @cached_property
    def weights(self):
        return self.backend.array(self.limits.weights)


class TensorElements(Elements):
    """Some elements of a state, as `NodalPositivity` sees one."""

    @cached_property
    def mean(self):
        weights = self.arrays.weights
        weights = weights if weights.shape[1] == 1 else weights[:, self.columns]
        return self.backend.sum_of_rows(self.q[:, :, self.columns] * weights)

    def at_nodes(self, function, v, **rows):
        q = self.q[v, :, self.columns]
        mean = self.mean[v][..., None, :]
        function = self.arrays.limiter.function(function, q=1, mean=1, **dict.fromkeys(rows, 1))
        self.backend.evaluate(function, [Rows([q])], q=(q,), mean=(mean,), **{name: Rows(row) for name, row in rows.items()})

    def least(self, function, start):
        q = self.q[:, :, self.columns]
        q = self.with_points_beside(q, [] if self.arrays.limits.faces_inside else [self.operations.ends_of(q)])
        return self.least_of(function, start, q)
