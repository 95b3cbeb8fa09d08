"""The limiters of modal DG on arrays: `Limiter` with whole arrays in place of numbers, for blocks of elements at once."""
from contextlib import contextmanager
from functools import cached_property

from ...physics.pointwise import Rows
from .limiter import Block, Limiter

AT_ONCE = 8              # temporaries of other operations that all which is there at once is as large as


def block_of(values):
    """The `Block` of an array (variable, row, element); for all variables at once the rows are arrays (variable, element)."""
    return Block(len(values), lambda v: values[v].swapaxes(0, 1) if isinstance(v, slice) else values[v])


class LimiterArrays:
    """Limits states c[variable, mode, element] of the reference's operations in place."""

    flow = Limiter

    def __init__(self, operations):
        self.operations, self.backend, self.xp = operations, operations.backend, operations.xp
        tables = operations.tables
        self.limits = tables.limits
        self.limiter = self.flow(self.limits, tables.law, tables.physics.parameters, self.backend.dtype)

    def elements(self, *which):
        return Elements(self, *which)

    @staticmethod
    def rows_at_once(limiter, tables):
        """Rows of an element that are there at once, as measured."""
        V, K, points = tables.variables, tables.dim + 1, len(tables.points) + len(tables.trace) + len(tables.limits.beside)
        slopes = V * K * (2 + 7 * limiter.rows_of_means) if limiter.options.around else 7 * V * K
        return max(slopes * bool(limiter.options.limiter), points * (V + 5) * bool(limiter.options.positivity), AT_ONCE)

    @cached_property
    def kept(self):
        E = self.operations.tables.elements
        return {name: self.backend.zeros((count, rows, E)) for name, (count, rows) in self.limiter.kept.items()}

    @cached_property
    def lists(self):
        names = {name for name, _ in self.limiter.lists}
        return {name: self.backend.integers(getattr(self.limits, name)) for name in names}

    @cached_property
    def outer(self):
        return self.backend.array(self.limits.outer)

    @cached_property
    def threshold(self):
        return self.backend.array(self.limits.threshold[None])

    @cached_property
    def matrices(self):
        return {name: self.backend.array(matrix) for name, matrix in self.limiter.matrices.items()}

    @cached_property
    def points(self):
        """(point, mode), values at all points of the volume and the faces, and those beside."""
        return self.xp.concatenate([self.operations.interpolate, self.operations.trace, *self.beside])

    @property
    def beside(self):
        """[(point, row), values at the points beside]; none where there are no such points."""
        return [self.matrices[name] for name in self.limiter.beside]

    def __call__(self, q):
        """Limit the own elements of the state q in place."""
        self._keep(q)
        extremes = self._extremes(q) if self.limiter.around_vertices else None
        self._blocks(q, self.limiter.limit, self.operations.tables.owned, extremes)

    def troubled(self, q):
        """Where the state q is not smooth to the indicator, (element,)."""
        self._keep(q)
        return self.limiter.troubled(self.elements(q, slice(None)))[0] > 0

    def _keep(self, q):
        if self.limiter.kept:
            self._blocks(q, self.limiter.keep, q.shape[2])

    def _blocks(self, q, task, count, extremes=None):
        rows = self.rows_at_once(self.limiter, self.operations.tables) // AT_ONCE
        blocks = self.operations.blocks(count, rows)
        self.backend.workers.run(lambda piece, _: task(self.elements(q, blocks[piece], extremes)), len(blocks))

    def means(self, q):
        """What limiting other elements reads, (variable, row, element)."""
        return self.kept["means"] if self.limiter.means == "means" else q[:, :1]

    def _extremes(self, q):
        """The largest and least of these around each vertex, (variable, 2 row, vertex)."""
        means, around = self.means(q), self.lists["around"]
        result = self.xp.empty((len(means), 2 * means.shape[1], around.shape[1]), q.dtype)
        for v, variable in enumerate(means):
            for row, mean in enumerate(variable):
                values = mean[around]
                result[v, 2 * row], result[v, 2 * row + 1] = self.xp.max(values, axis=0), self.xp.min(values, axis=0)
        return result


class Elements:
    """Some elements of a state, as `Limiter` sees one: its rows are arrays over these elements."""

    def __init__(self, arrays, q, columns, extremes=None):
        self.arrays, self.q, self.columns, self.extremes_found = arrays, q, columns, extremes
        self.backend, self.xp, self.operations = arrays.backend, arrays.xp, arrays.operations
        self.state = block_of(q[:, :, columns])
        self.kept = {name: block_of(values[:, :, columns]) for name, values in arrays.kept.items()}

    @property
    def g(self):
        return self.operations.gradients[:, :, self.columns].reshape(-1, self.q[0, 0, self.columns].shape[0])

    @property
    def m(self):
        return self.operations.at(self.columns)

    def rows(self, name):
        return getattr(self.arrays, name)[:, self.columns]

    def each(self):
        yield slice(None)

    def __call__(self, function, into=None, **rows):
        counts = {name: value if name == "m" else len(value) for name, value in rows.items()}
        function = self.arrays.limiter.function(function, **dict(counts, m=None) if "m" in counts else counts)
        found = self.backend.evaluate(function, () if into is None else [Rows(into)],
                                      **{name: value if name == "m" else Rows(value) for name, value in rows.items()})
        return found if into is None else into

    def product(self, name, rows, into=None):
        matrix = self.arrays.matrices[name]
        values = self.backend.product(matrix, rows.swapaxes(0, 1)).swapaxes(0, 1) if rows.ndim == 3 else matrix @ rows
        if into is None:
            return values
        into[...] = values
        return into

    def take(self, name, source):
        places = self.arrays.lists[name][:, self.columns]
        if source == "averages":          # the list has places of rows, too
            values = self.arrays.kept["averages"]
            return block_of(values.reshape(len(values), -1)[:, places])
        values = {"state": self.q[:, :1], "extremes": self.extremes_found, "means": self.arrays.kept.get("means")}[source]
        found = values[:, :, places]
        variables, rows, count, elements = found.shape
        return block_of(found.swapaxes(1, 2).reshape(variables, count * rows, elements))

    @contextmanager
    def where(self, row):
        yield

    def with_points_beside(self, q, others):
        """Values q (variable, row, element) of nodes, those of others and those at the points beside."""
        more = [*others, *(self.backend.product(matrix, q) for matrix in self.arrays.beside)]
        return self.xp.concatenate([q, *more], axis=1) if more else q

    def least(self, function, start):
        values = self.backend.product(self.arrays.points, self.q[:, :, self.columns])
        return self.least_of(function, start, values)

    def least_of(self, function, start, values):
        """As `least`, from the values at points, (variable, point, element)."""
        function = self.arrays.limiter.function(function, q=len(values), least=1, m=None)
        found, = self.backend.evaluate(function, q=Rows(values), least=start, m=self.m)
        return (self.xp.min(found, axis=0),)

    def extremes(self, function, **rows):
        lists, means, pairs = self.arrays.lists, self.q[:, 0], []
        around = lists["around"][:, lists["vertices"][:, self.columns]]
        for vertex in range(around.shape[1]):
            high = low = None
            for elements in around[:, vertex]:
                q = means[:, elements]
                values = self(function, into=self.xp.empty_like(q), q=q, **rows)
                high = values if high is None else self.xp.maximum(high, values)
                low = values if low is None else self.xp.minimum(low, values)
            pairs.append((high, low))
        return [values[v] for v in range(len(means)) for pair in pairs for values in pair]
