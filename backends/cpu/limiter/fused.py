"""The limiter of modal DG on the CPU: up to three kernels over tiles, see `limiter_source` for what each of them does."""
from functools import cached_property
from math import comb

import numpy as np

from ....physics.codegen import write_module
from ..shared_loop import Loop
from ..simd import matmul
from ..simd.tiles import aligned, in_tiles
from .source import LimiterSource


class LimiterFused:
    """Limits a state in tiles in place, in the kernels of the operations `NodalFused`."""

    def __init__(self, operations, floor):
        self.operations, self.limits = operations, operations.tables.limits
        self.lanes, self.tiles, self.dtype = operations.lanes, operations.tiles, operations.backend.dtype
        around = self.limits.around if self.limits.options.around else np.zeros((1, 1), int)
        self.around_vertices = around
        self.vertex_tiles = -(-around.shape[1] // self.lanes)
        self.source = LimiterSource(operations.source, self.limits, floor)
        self.rows = self.source.tile.V * self.source.tile.N
        self.scratch = [(aligned(self.source.tile.size * self.lanes, self.dtype),) for _ in range(operations.backend.threads)]

    @classmethod
    def needs(cls, backend, tables):
        """Bytes that the kernels hold, with the index lists on the host that they are made from; and those that they take for a
        while."""
        limits, V, E, b, K = tables.limits, tables.variables, tables.elements, backend.dtype.itemsize, tables.dim + 1
        options = limits.options
        means = V * (options.variables == "primitive")
        if options.limiter and limits.order > 1:
            means = V * comb(limits.order - 1 + tables.dim, tables.dim)          # of each derivative below the highest degree
        held = b * E * means + bool(options.indicator) * E * (b * K * len(limits.sensors) + 8 * K + 8 + b)
        if options.around:
            held += (24 * K + 1) * E + (12 + b) * K * E + 2 * b * max(means, V) * len(tables.mesh.points)
        elif options.limiter:
            held += (1 + 4) * K * E
        return held, 0

    @cached_property
    def kernels(self):
        """{name: (compiled loop, its arrays)} in the order in which they run."""
        return {what: (write_module(text, f"{what}_{self.limits.dim}d_{self.dtype}").run,
                       [getattr(self, name) for name in names]) for what, (text, names) in self.source.passes().items()}

    def loops(self, q):
        """The loops that limit a state in place."""
        piece = self.operations.piece
        of_vertices = max(1, piece * self.vertex_tiles // self.tiles), self.vertex_tiles
        return [Loop(kernel, *(of_vertices if name == "extremes" else (piece, self.tiles)), self.scratch, (q, *arrays))
                for name, (kernel, arrays) in self.kernels.items()]

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
