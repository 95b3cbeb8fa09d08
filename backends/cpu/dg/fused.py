"""Nodal DG on the CPU: one kernel for the right-hand side and the Runge-Kutta update, generated for law, order and dtype.

Elements are worked on in tiles of two vector registers (16 in float64 with AVX-512).  Per tile: the state is copied in; the
fluxes F(q) . grad r_k are evaluated at the nodes; one product differentiates them; the jumps F.n - F* are evaluated at the
face nodes, whose outside values are gathered from the neighbours; one product lifts them; sources, capacity and the update of
the Runge-Kutta registers follow while everything is in cache.  The state is read once and written once per stage.  The
products need no memory, so they run while the next tile and its neighbours are on their way.

Two products instead of two per direction: D_k = E R_k, because derivatives have one degree less, so R = [R_1 .. R_d] takes
all directions to few coefficients and [E L] takes these and the jumps to the nodes.
"""
from functools import cached_property

import numpy as np

from ....methods.check import Check
from ....methods.dg.limiters.linear import LinearLimiterTables
from ....methods.dg.set_operations import SetOperations
from ....methods.operation import Operation
from ....support.cached_modules import write_module
from ..limiter.fused import LimiterFused
from ..limiter.linear import LinearLimiterFused
from ..simd import matmul
from ..simd.reduce import finite_loop
from ..simd.tiles import aligned
from ..threaded_loops import ONE_THREAD, Loop
from .boundary import BoundaryFaces
from .filter_source import filter_text
from .join_faces import FusedJoinFaces
from .stage_source import StageSource
from .state_check_source import check_text
from .tiled_state import TiledState

STAGES = 8               # times that the clock [dt, t of stage 0, ...] holds, at most
BUFFERED = 1 << 16       # numbers of a state below which a copy costs less than a list of loops
SHARES = 4               # pieces of each thread at least, where a mesh has so many tiles


class NodalFused(TiledState, FusedJoinFaces, SetOperations):
    """Overrides the right-hand side and the Runge-Kutta stage of the reference; the single operations are inherited.

    `TiledState` has the layout of the state, `FusedJoinFaces` what mortars read and write.

    piece   how many tiles a thread takes at a time"""

    text = StageSource       # of the kernels
    check_text = staticmethod(check_text)
    limiter_of_tiles, checks = LimiterFused, True
    fused = frozenset({"right-hand side", "limiter", "filter", "wave speeds", "admissible states"})

    def __init__(self, backend, tables):
        super().__init__(backend, tables)
        self.source = self.text(tables, backend.dtype)
        self.R, self.EL, self.I, self.T = (matmul.pack(a, backend.dtype) for a in self._matrices())
        self.piece = self.tiles_at_once()
        values = list(tables.parameters.values())
        self.values = (np.stack(values) if values else np.ones((1, tables.elements))).astype(backend.dtype)
        self.tiled_values = self.tiled(np.concatenate([self.values, *self._inside()]), backend.dtype)
        self.mass_I, self.mass_P = (matmul.pack(a, backend.dtype) for a in self.source.mass_matrices)
        flat = (getattr(tables.geometry, name).reshape(-1, tables.elements) for name in self.source.geometry_names)
        self.geometry = self.tiled(np.concatenate(list(flat)).astype(backend.dtype))
        self.connect()
        around = int(np.diff(self.halo[0]).max(initial=0))
        self.scratch = [tuple(aligned(size * self.lanes, backend.dtype)
                              for size in self.scratch_sizes(self.source, self.piece, around)) for _ in range(backend.threads)]
        for w, *_ in self.scratch:
            self.source.put_numbers(w)
        self._kernels, self.clock = {}, np.zeros(1 + STAGES, backend.dtype)

    def tiles_at_once(self):
        """How many of the tiles a thread takes at a time: a share of them where several work, or some wait for messages."""
        alone = self.backend.threads == 1 and self.tables.mesh.share is None
        return max(1, min(self.source.piece, self.tiles if alone else self.tiles // (SHARES * self.backend.threads)))

    def connect(self):
        """Find where elements have what they need of others."""
        none = np.zeros(1, int)
        self.exterior, self.halo = self._exterior_in_pieces() if self.source.modal else (self._exterior(), (none, none))
        self.neighbour = self.tiled(self.own(self.tables.mesh.neighbour_cell.T.astype(np.int32)))
        self._no_flux_beyond()
        self.patches = self._patches()

    @staticmethod
    def scratch_sizes(source, piece, around):
        """Rows of the arrays that each thread works in: those of a tile, and the face values of a piece of tiles and of so many
        around it."""
        return source.size, (piece + around) * source.V * source.height * source.modal

    # The arrays of the kernels.

    def _matrices(self):
        """The factors of the products: R, [E L] or [-D L], and those that take unknowns to points and to face points."""
        basis, none = self.tables.basis, np.zeros((1, 1))
        if basis.trace is not None:
            columns = -np.concatenate(basis.differentiation, axis=1)
            return none, np.hstack([columns, basis.lift]), basis.interpolate, basis.trace
        embed, reduced = basis.cell.reduced_differentiation
        columns = np.zeros((len(embed), matmul.padded(embed.shape[1])))
        columns[:, :embed.shape[1]] = embed
        return -np.concatenate(reduced, axis=1), np.hstack([columns, basis.lift]), none, none

    def _inside(self):
        """The parameters that vary inside of elements, in the order of `TileSource.inside`: (point, element) of each."""
        media = self.tables.media
        for place in self.source.inside:
            values = (media.faces if place == "outside" else getattr(media, place)).values()
            yield from (v.reshape(-1)[self.tables.faces.exterior_nodes()] if place == "outside" else v for v in values)

    def _no_flux_beyond(self):
        """Take gradients and face scales off the lanes beyond the last element: nothing changes there. What kernels put into
        lanes with copies of other parts' elements nobody reads."""
        beyond = self.tables.elements - (self.all_tiles - 1) * self.lanes
        last = self.geometry.reshape(self.all_tiles, -1, self.lanes)[-1, :, beyond:]
        for name in {"gradients", "scale", "rate_scale", "subcells"}.intersection(self.source.first_of):
            first = self.source.first_of[name]
            last[first:first + self.tables.geometry.rows_of(name)] = 0

    def _exterior(self, rows=None):
        """Where each face node's outside value of variable 0 lies in the tiled state, or in other values of so many rows."""
        t = self.tables
        node, element = np.divmod(self.own(t.faces.exterior_nodes()), t.elements)
        tile, lane = np.divmod(element, self.lanes)
        size = t.variables * (rows or t.rows) * self.lanes
        kind = np.int32 if self.all_tiles * size < 2 ** 31 else np.int64
        return self.tiled((tile.astype(kind) * size + node * self.lanes + lane).astype(kind))

    def _exterior_in_pieces(self):
        """Where each face point's outside value of variable 0 lies among the face values of its piece, which are those of the
        piece's tiles and, in tiles after them, of the elements around it; and these: (start of each piece's tiles, where their
        elements lie in the state)."""
        row, element = np.divmod(self.own(self.tables.faces.exterior_nodes()), self.tables.elements)
        at, halo = self.in_pieces(np.arange(self.tables.owned) // (self.piece * self.lanes), row, element)
        return self.tiled(at), halo

    def in_pieces(self, own, row, element):
        """Where the face values of these rows and elements lie among those of the pieces `own` which want them, and which
        elements come after each piece's own: see `_exterior_in_pieces`."""
        t, lanes, length = self.tables, self.lanes, self.piece * self.lanes
        away = (element // length != own) | (element >= self.tiles * lanes)
        keys, position = np.unique((own * t.elements + element)[away], return_inverse=True)
        piece, around = np.divmod(keys, t.elements)
        pieces = -(-self.tiles // self.piece)
        counts = np.bincount(piece, minlength=pieces)
        first = np.cumsum(counts) - counts
        place = element % length
        whole = np.minimum(np.arange(1, pieces + 1) * self.piece, self.tiles) - np.arange(pieces) * self.piece
        place[away] = (whole[piece] * lanes + np.arange(len(keys)) - first[piece])[position]
        size = t.variables * self.source.height * lanes
        kind = np.int32 if (self.piece + -(-max(counts, default=0) // lanes)) * size < 2 ** 31 else np.int64
        at = place // lanes * size + row * lanes + place % lanes
        # Every piece has whole tiles around it, the last one filled with its first element.
        tiles = -(-counts // lanes)
        start = np.concatenate([[0], np.cumsum(tiles)])
        halo = np.repeat(around[np.minimum(first, max(0, len(around) - 1))] if len(around) else first, tiles * lanes)
        halo[start[piece] * lanes + np.arange(len(keys)) - first[piece]] = around
        return at.astype(kind), (start, halo // lanes * (t.variables * t.rows * lanes) + halo % lanes)

    @cached_property
    def boundary(self):
        return BoundaryFaces(self.tables, self.backend.dtype)

    def _patches(self):
        """The faces of `boundary` in every tile: (start, rows (lane, face, number there)), rows of tile i from start[i] to
        start[i + 1]."""
        faces = self.boundary.faces
        order = np.argsort(faces[:, 0], kind="stable")
        rows = np.column_stack([faces, np.arange(len(faces))])[order]
        start = np.searchsorted(rows[:, 0], np.arange(self.tiles + 1) * self.lanes)
        rows[:, 0] %= self.lanes
        return start, rows.astype(np.int32).reshape(-1)

    @cached_property
    def buffers(self):
        size = self.all_tiles * self.lanes * self.tables.variables * self.tables.rows
        return (self.zeros(), self.zeros()) if size < BUFFERED else ()

    def buffered(self, q):
        if not self.buffers or q is self.buffers[0]:
            return q
        self.buffers[0][...] = q
        return self.buffers[0]

    def set_clock(self, dt, times):
        super().set_clock(dt, times)
        self.clock[0], self.clock[1:1 + len(times)] = dt, times

    @cached_property
    def independent_pieces(self):
        """How many pieces of tiles, from the first on, have elements alone that need none of other parts."""
        share = self.tables.mesh.share
        return np.count_nonzero(share.own & ~share.rim) // (self.piece * self.lanes)

    def around_messages(self, operations):
        """The operations of a stage in two parts: what can be done while messages are on their way, and what needs copies.

        The last operation changes elements; those before it prepare all tiles, copies included."""
        if not self.independent_pieces:
            return [], operations
        *before, stage = operations
        whole = self.tables.owned // (self.piece * self.lanes)          # pieces without copies
        early = [each._replace(loop=each.loop._replace(tiles=self.tiles)) for each in before]
        late = [each._replace(loop=each.loop._replace(first=whole)) for each in before]
        inside = stage._replace(loop=stage.loop._replace(tiles=self.independent_pieces * self.piece),
                                name=f"{stage.name} of independent elements")
        return [*early, inside], [*late, stage._replace(loop=stage.loop._replace(first=self.independent_pieces))]

    def checking(self, q, number, exponent):
        if not exponent and self.tables.law.admissible is None:
            look, finite = self.finite_operation(q)
            return [look], lambda: Check(finite())
        found = np.zeros((-(-self.tiles // self.piece), 3))
        loop = self.loop_of(self._kernel("check", lambda: self.check_text(self.source)),
                            *self.check_arguments(q, number, exponent or 1), found.reshape(-1))
        look = Operation("check of the new state", loop=loop, reads=("new state",), writes={"check": found.nbytes})
        return [look], lambda: Check.of_parts(exponent, found)

    def finite_operation(self, q):
        """(The operation that looks for values that are not finite, a function that then returns whether all are); the lanes
        beyond the last element do not count."""
        loop, found = finite_loop(q[:self.tiles * (q.size // self.all_tiles)], self.tiles, self.piece, self.backend.threads,
                                  self.lanes, self.filled)
        return Operation("check of the new state", loop=loop, reads=("new state",), writes={"check": found.nbytes}), (
            lambda: not found.any())

    def loop_of(self, kernel, *arguments):
        """A loop over the tiles; small states on one thread."""
        small = self.tiles * self.lanes * self.tables.variables * self.tables.rows < ONE_THREAD
        return Loop(kernel, self.piece, self.tiles, self.scratch, arguments, 1 if small else -(-self.tiles // self.piece))

    @cached_property
    def limiter(self):
        """The kernels of the limiter; None if the method has none."""
        if self.tables.limits is None:
            return None
        return (LinearLimiterFused if isinstance(self.tables.limits, LinearLimiterTables) else self.limiter_of_tiles)(self)

    def filter(self, q):
        def operations():
            loop = self.loop_of(self._kernel("filter", lambda: filter_text(self.source)), q, self.filter_matrix)
            return [Operation("filter", loop=loop, reads=("new state",), writes={"new state": q.nbytes})], lambda: None
        self.performed("filter", (q,), operations)

    @cached_property
    def filter_matrix(self):
        return matmul.pack(self.tables.filter, self.backend.dtype)

    def check(self, q, t, exponent=1.0):
        """The `Check` of a state."""
        self.set_clock(0.0, [t])
        return self.performed(("check", exponent), (q,), lambda: self.checking(q, 0, exponent))

    def finite(self, q):
        def operations():
            look, finite = self.finite_operation(q)
            return [look], finite
        return self.performed("finite", (q,), operations)

    def check_arguments(self, q, number, exponent):
        """The arguments of the check's kernel, but for the array of its results."""
        return (q, self.tables.owned, self.I, self.T, self.geometry, self.tiled_values, self.clock, number,
                self.backend.dtype.type(exponent))

    def rate(self, q, t, exponent):
        return self.check(q, t, exponent).rate

    def all_admissible(self, q, t):
        return self.check(q, t).admissible

    def tile_operations(self, q, out, k, q0, row, number=0):
        """The operations of a stage, besides those at joins and the limiter's."""
        writes = {"new state": out.nbytes} | ({} if k is None else {"register": k.nbytes})
        return [Operation("fluxes, lift and update", loop=self.stage_loop(q, out, k, q0, row, number),
                          reads=(*self.stage_reads, *self.given_names), writes=writes)]

    stage_reads = ("state",)

    def stage_loop(self, q, out, k, q0, row, number=0):
        return self.loop_of(self._kernel("nodal", self.source.stage_text), *self.halo, q, *self.updated(q, out, k, q0, row),
                          self.R, self.EL, self.I, self.T, self.mass_I, self.mass_P, self.geometry, self.tiled_values,
                          *self.others(), *self.numbers_of(row, number))

    @staticmethod
    def updated(q, out, k, q0, row):
        """The arrays that a stage's update goes through: another one stands for one that it does not use."""
        return out, k if row.reads_k or row.keeps else out, q0 if row.reads_q0 else q

    def numbers_of(self, row, number):
        """The numbers that a stage's kernel takes: clock, stage there, whether the update reads k, keeps it, and reads q0; its
        factors."""
        factors = row.A, row.w, row.alpha, row.beta, row.B, row.C, row.v, row.u
        return self.clock, number, row.reads_k, row.keeps, row.reads_q0, *map(self.backend.dtype.type, factors)

    def others(self):
        """The arguments of a stage's kernel from other elements and the boundary."""
        return (self.values.reshape(-1), self.tables.elements, self.exterior, self.neighbour, *self.patches,
                self.boundary.outside, self.boundary.table, self.boundary.numbers, self.given_by_face.reshape(-1))

    def kernel_texts(self, stepper):
        limiter = {} if self.limiter is None else {
            f"limiter: {name}": text for name, (text, _) in self.limiter.source.texts.items()}
        texts = {"stages": self.source.stage_text()} | self.boundary.texts() | limiter
        return texts | {"check of the new state": self.check_text(self.source)}

    def _kernel(self, name, text):
        """The compiled loop of that name, of the text that text() makes the first time."""
        if name not in self._kernels:
            self._kernels[name] = write_module(text(), f"{name}_{self.tables.dim}d_{self.backend.dtype}").run
        return self._kernels[name]
