"""The limiter of modal DG on the CPU: up to three kernels over tiles, see `source` for what each of them does."""
from functools import cached_property

import numpy as np

from ....methods.dg.limiters.limiter import Limiter
from ....methods.operation import Operation
from ....support.cached_modules import write_module
from ..simd import matmul
from ..simd.tiles import aligned, in_tiles
from .source import LimiterSource


class LimiterFused:
    """Limits a state in tiles in place, in the kernels of the operations `NodalFused`."""

    flow, text = Limiter, LimiterSource

    def __init__(self, operations):
        tables, dtype = operations.tables, operations.backend.dtype
        self.operations, self.limits, self.lanes, self.dtype = operations, tables.limits, operations.lanes, dtype
        self.limiter = self.flow(tables.limits, tables.law, tables.physics.parameters, dtype)
        self.source = self.text(operations.source, self.limiter)
        around = self.limits.around if self.limits.options.around else np.zeros((1, 1), int)
        self.tiles, self.vertex_tiles = operations.all_tiles, -(-around.shape[1] // self.lanes)
        self.scratch = [(aligned(self.source.size * self.lanes, dtype),) for _ in range(operations.backend.threads)]
        self._arrays = {}

    @cached_property
    def kernels(self):
        """{name: (compiled loop, its arrays)} in the order in which they run."""
        return {what: (write_module(text, f"{what}_{self.limits.dim}d_{self.dtype}").run, [self.array(name) for name in names])
                for what, (text, names) in self.source.texts.items()}

    def operations_on(self, q):
        """([the operations that keep what elements of other sets read], [those that limit]) of a state, in place."""
        return [], list(self.by_name(q).values())

    def by_name(self, q):
        """{name of a kernel: its operation}, in the order in which they run."""
        piece, found = self.operations.piece, {}
        of_vertices = max(1, piece * self.vertex_tiles // self.tiles), self.vertex_tiles
        for name, (kernel, arrays) in self.kernels.items():
            loop = self.operations.loop_of(kernel, q, *arrays)._replace(scratch=self.scratch)
            if name == "extremes":
                loop = loop._replace(size=of_vertices[0], tiles=of_vertices[1])
            elif name == "keep":          # of copies of other parts' elements, too
                loop = loop._replace(tiles=self.tiles)
            found[name] = Operation(f"limiter: {name}", loop=loop, reads=("new state",), writes={"new state": q.nbytes})
        return found

    # The arrays that the texts of the kernels name.

    def array(self, name):
        if name not in self._arrays:
            self._arrays[name] = self._array(name)
        return self._arrays[name]

    def _array(self, name):
        kind, _, rest = name.partition("_")
        if name in ("geometry", "tiled_values", "I", "T"):
            return getattr(self.operations, name)
        if kind == "by":
            return matmul.pack(self.limiter.matrices[rest], self.dtype)
        if kind == "constants":
            return np.array(self.source.constants[rest], self.dtype)
        if kind == "of":
            return self.tiled(getattr(self.limits, rest).astype(self.dtype).reshape(-1, self.operations.tables.elements))
        if kind == "kept":
            return aligned(self.tiles * self.rows(rest) * self.lanes, self.dtype)
        if name == "extremes":
            return aligned(self.vertex_tiles * self.rows(name) * self.lanes, self.dtype)
        if name == "numbers":
            return self.tiled(self.limits.vertices)
        if name == "around_counts":
            return self.around_counts()
        if name == "around":
            return self.places(self.limits.around, "state")
        of, _, source = name.partition("_in_")
        if of == "around":
            return self.tiled(self.places(self.limits.around, source)).reshape(self.vertex_tiles, -1, self.lanes)
        return self.tiled(self.places(getattr(self.limits, of), source))

    def tiled(self, rows):
        return in_tiles(rows, self.lanes)

    def rows(self, source):
        """Rows of an array."""
        if source == "state":
            return self.operations.tables.variables * self.operations.tables.rows
        if source == "extremes":
            return 2 * self.operations.tables.variables * self.limiter.rows_of_means
        variables, rows = self.limiter.kept[source]
        return variables * rows

    def places(self, numbers, source):
        """Where the first variable of these elements or vertices lies in an array [tile, row, lane]; of averages, where the row
        of a face does, whose number is row * elements + element."""
        rows, row = self.rows(source), 0
        if source == "averages":
            row, numbers = np.divmod(numbers, self.operations.tables.elements)
        tile, lane = np.divmod(numbers, self.lanes)
        kind = np.int32 if (max(self.tiles, self.vertex_tiles) + 1) * rows * self.lanes < 2 ** 31 else np.int64
        return (tile * (rows * self.lanes) + row * self.lanes + lane).astype(kind)

    def around_counts(self):
        """Places of each tile of vertices after which the first elements come again."""
        around = self.limits.around
        places = np.arange(len(around))[:, None] * (around != around[0])
        return np.maximum.reduceat(places.max(axis=0), np.arange(0, places.shape[1], self.lanes)) + 1
