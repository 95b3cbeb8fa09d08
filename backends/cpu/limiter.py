"""The limiter of modal DG on the CPU: up to three kernels over tiles, see `limiter_source` for what each of them does."""
from functools import cached_property

import numpy as np

from ...codegen import write_module
from . import matmul
from .limiter_source import LimiterSource
from .tiles import aligned, in_tiles

CALLS = 4                # pieces for each thread
ALONE = 64               # tiles below which one thread is done before others have woken up
AHEAD = 3                # pieces of a stage for each thread by which it is ahead of what limits it: fewer, and threads wait


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

    def call(self, name, number, worker, q, piece=None):
        """Work on the piece of this number."""
        (kernel, arrays), (tiles, size) = self.kernels[name], self.tiles_of(name)
        piece = piece or size
        kernel(number * piece, min((number + 1) * piece, tiles), self.scratch[worker], q, *arrays)

    def __call__(self, q):
        for name in self.kernels:
            tiles, piece = self.tiles_of(name)
            self.workers.run(lambda number, worker, name=name: self.call(name, number, worker, q), -(-tiles // piece))

    def after(self, stage, q, look=None):
        """Call stage(piece, worker) for all pieces of the state q that it makes, and limit each part of q as soon as what it
        looks at is there: it is in the cache still, and nobody waits for the last piece.  Then look(number, worker,
        tiles) at each part of so many tiles."""
        def limit(number, worker, piece=None):
            self.call("limit", number, worker, q, piece)
            if look is not None:
                look(number, worker, piece or self.tiles_of("limit")[1])
        if not self.source.options.limiter:          # positivity looks at nothing else
            piece, _ = self.operations.of_a_call(), self.kernels          # which are made here, not by each thread

            def both(number, worker):
                stage(number, worker)
                limit(number, worker, piece)
            self.workers.run(both, -(-self.tiles // piece))
            return
        tasks, needs = self.schedule

        def task(number, worker):
            name, piece = tasks[number]
            if name == "stage":
                stage(piece, worker)
            elif name == "limit":
                limit(piece, worker)
            else:
                self.call(name, piece, worker, q)
        if self.tiles < ALONE:
            for number in range(len(tasks)):
                task(number, 0)
        else:
            self.workers.run_in_order(task, needs)

    def looks_at(self, name):
        """What a kernel reads: (what it works on, the kernel that makes what it reads, where), numbers of elements or of
        vertices."""
        elements, made = np.arange(self.operations.tables.elements), "prepare" if self.source.kept else "stage"
        if name == "extremes":
            yield np.arange(self.around_vertices.shape[1]), made, self.around_vertices
            return
        yield elements, "stage" if name == "prepare" else made, elements
        if name == "limit" and self.source.options.limiter:
            if self.source.sensed or not self.source.vertex:
                yield elements, made, self.limits.neighbours
            if self.source.vertex and self.source.variables != "characteristic":
                yield elements, "extremes", self.limits.vertices
            elif self.source.vertex:
                for around in self.around_vertices:
                    yield elements, made, around[self.limits.vertices]

    @cached_property
    def schedule(self):
        """The tasks (kernel, piece), each a while after those which make what it reads, and the numbers of these."""
        sizes = {"stage": (self.tiles, self.operations.of_a_call())} | {name: self.tiles_of(name) for name in self.kernels}
        counts = {name: -(-tiles // piece) for name, (tiles, piece) in sizes.items()}
        tasks = [(name, piece) for name, count in counts.items() for piece in range(count)]
        first = {name: tasks.index((name, 0)) for name in counts}
        needs = [set() for _ in tasks]
        for name in self.kernels:
            for own, made, others in self.looks_at(name):
                reader, maker = (first[of] + numbers // (self.lanes * sizes[of][1])
                                 for of, numbers in ((name, own), (made, others)))
                pairs = np.unique(np.broadcast_to(reader, maker.shape) * len(tasks) + maker)
                for reading, made_by in zip(*(numbers.tolist() for numbers in np.divmod(pairs, len(tasks)))):
                    needs[reading].add(made_by)
        ready = []
        for (name, piece), needed in zip(tasks, needs):
            ready.append(piece if name == "stage" else max(ready[i] for i in needed))
        order = sorted(range(len(tasks)), key=lambda i: ready[i] + AHEAD * self.workers.threads * (tasks[i][0] != "stage"))
        place = {task: number for number, task in enumerate(order)}
        return [tasks[i] for i in order], [[place[j] for j in needs[i]] for i in order]

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
