"""The limiter of modal DG on the CPU: up to three kernels over tiles, see `limiter_source` for what each of them does."""
from functools import cached_property

import numpy as np

from ...codegen import write_module
from . import matmul
from .limited_turns import LimitedTurns
from .limiter_source import LimiterSource
from .tiles import aligned, in_tiles

CALLS = 4                # pieces for each thread


class LimiterFused:
    """Limits a state in tiles in place, in the kernels of the operations `NodalFused`."""

    def __init__(self, operations, floor):
        self.operations, self.limits = operations, operations.tables.limits
        self.workers = operations.backend.workers
        self.lanes, self.tiles, self.dtype = operations.lanes, operations.tiles, operations.backend.dtype
        around = self.limits.around if self.limits.options.around else np.zeros((1, 1), int)
        self.around_vertices = around
        self.vertex_tiles = -(-around.shape[1] // self.lanes)
        self.source = LimiterSource(operations.source, self.limits, floor)
        self.rows = self.source.tile.V * self.source.tile.N
        self.scratch = [aligned(self.source.tile.size * self.lanes, self.dtype) for _ in range(operations.backend.threads)]

    @cached_property
    def kernels(self):
        """{name: (kernel, its arrays)} in the order of their calls."""
        return {what: (write_module(text, f"{what}_{self.limits.dim}d_{self.dtype}").kernel,
                       [getattr(self, name) for name in names]) for what, (text, names) in self.source.passes().items()}

    def tiles_of(self, name):
        """How many tiles a kernel works on, and how many at a time."""
        tiles, piece = self.vertex_tiles if name == "extremes" else self.tiles, self.operations.piece
        return tiles, -(-tiles // (CALLS * self.workers.threads * piece)) * piece

    def __call__(self, q):
        for name, (kernel, arrays) in self.kernels.items():
            tiles, size = self.tiles_of(name)

            def task(number, worker, kernel=kernel, arrays=arrays, tiles=tiles, size=size):
                kernel(number * size, min((number + 1) * size, tiles), self.scratch[worker], q, *arrays)
            self.workers.run(task, -(-tiles // size))

    def whole(self, q):
        """The same by one thread."""
        for name, (kernel, arrays) in self.kernels.items():
            kernel(0, self.tiles_of(name)[0], self.scratch[0], q, *arrays)

    @cached_property
    def turns(self):
        return LimitedTurns(self)

    def places(self, elements, rows, row=0):
        """Where a row of these elements lies in an array [tile, row, lane]."""
        tile, lane = np.divmod(elements, self.lanes)
        kind = np.int32 if (max(self.tiles, self.vertex_tiles) + 1) * rows * self.lanes < 2 ** 31 else np.int64
        return (tile * (rows * self.lanes) + row * self.lanes + lane).astype(kind)

    def tiled(self, rows):
        return in_tiles(rows, self.lanes)

    # The arrays that the texts of the kernels name.

    @property
    def geometry(self):
        return self.operations.geometry

    @property
    def tiled_values(self):
        return self.operations.tiled_values

    @property
    def I(self):          # noqa: E743
        return self.operations.I

    @property
    def T(self):
        return self.operations.T

    @cached_property
    def _at_boundary(self):
        return np.flatnonzero(self.limits.outer.any(axis=0))

    @property
    def outer_start(self):
        return np.searchsorted(self._at_boundary, np.arange(self.tiles + 1) * self.lanes)

    @property
    def outer_lanes(self):
        return self._at_boundary % self.lanes

    @property
    def outer_faces(self):
        return self.limits.outer[:, self._at_boundary].T.flatten()

    @cached_property
    def kept(self):
        return aligned(self.tiles * self.source.kept * self.lanes, self.dtype)

    @cached_property
    def extremes(self):
        return aligned(self.vertex_tiles * 2 * self.source.source_of_means[2] * self.lanes, self.dtype)

    @cached_property
    def across(self):
        return self.tiled(self.places(self.limits.neighbours, self.source.means and self.source.kept or self.rows))

    @cached_property
    def beside(self):
        return self.tiled(self.places(self.limits.neighbours, self.rows))

    @cached_property
    def beyond(self):
        face, element = np.divmod(self.limits.beyond, self.operations.tables.elements)
        return self.tiled(self.places(element, self.source.kept, self.source.means + face))

    @cached_property
    def threshold(self):
        return self.tiled(self.limits.threshold[None].astype(self.dtype))

    @cached_property
    def vertices(self):
        vertices = self.limits.vertices
        if self.source.variables != "characteristic":
            vertices = self.places(vertices, 2 * self.source.source_of_means[2])
        return self.tiled(vertices)

    @cached_property
    def outer(self):
        return self.tiled((self.limits.outer_vertices + self.limits.alone * 1.0).astype(self.dtype))

    @cached_property
    def around(self):
        if self.source.variables == "characteristic":
            return self.places(self.around_vertices, self.rows)
        tiles = self.tiled(self.places(self.around_vertices, self.source.means and self.source.kept or self.rows))
        return tiles.reshape(self.vertex_tiles, -1, self.lanes)

    @cached_property
    def around_counts(self):
        """Places of each tile of vertices after which the first elements come again."""
        places = np.arange(len(self.around_vertices))[:, None] * (self.around_vertices != self.around_vertices[0])
        return np.maximum.reduceat(places.max(axis=0), np.arange(0, places.shape[1], self.lanes)) + 1
    @property
    def derivatives(self):
        return self._products[0]

    @property
    def means(self):
        return self._products[1]

    @cached_property
    def _products(self):
        matrices = self.source.degrees.matrices() if self.source.degrees else (np.zeros((1, 1)),) * 2
        return [matmul.pack(matrix, self.dtype) for matrix in matrices]

    @cached_property
    def averages(self):
        return matmul.pack(self.limits.averages, self.dtype)
