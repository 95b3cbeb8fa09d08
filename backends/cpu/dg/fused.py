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
from ....methods.dg.weak_form import WeakForm
from ....methods.memory import added
from ....physics.codegen import write_module
from ....stepping import first, registers, sequence
from ..limiter.fused import LimiterFused
from ..shared_loop import ONE_THREAD, Loop, run_loops
from ..simd import matmul, target
from ..simd.tiles import aligned, in_tiles
from .filter_source import filter_text
from .stage_source import StageSource
from .state_check_source import check_text

SHARES = 4               # pieces of each thread at least, where a mesh has so many tiles


class NodalFused(WeakForm):
    """Overrides the right-hand side and the Runge-Kutta stage of the reference; the single operations are inherited.

    Its state is kept in tiles, [tile, variable, node, lane], so that a tile is one contiguous piece of memory; the last tile
    is filled up with copies of the last element that no flux reaches.  `state` and `host` translate.

    tiles, all_tiles   those that kernels work on, and those of the state: on a part of a mesh, those with own elements, and
                       those with copies of other parts' elements too. The last one that is worked on may hold some copies"""

    text = StageSource       # of the kernels
    check_text = staticmethod(check_text)
    limiter_of_tiles = LimiterFused
    fused = frozenset({"right-hand side", "limiter", "filter", "wave speeds", "admissible states"})

    def __init__(self, backend, tables):
        super().__init__(backend, tables)
        self.lanes = target.lanes(backend.dtype)
        self.tiles, self.all_tiles = (-(-count // self.lanes) for count in (tables.owned, tables.elements))
        self.source = self.text(tables, backend.dtype, self.needs_x)
        self.R, self.EL, self.I, self.T = (matmul.pack(a, backend.dtype) for a in self._matrices())
        self.piece = self.piece_of(self.source, self.tiles, backend)
        values = list(tables.parameters.values())
        self.values = (np.stack(values) if values else np.ones((1, tables.elements))).astype(backend.dtype)
        self.tiled_values = self.tiled(self.own(np.concatenate([self.values, *self._inside()])), backend.dtype)
        self.mass_I, self.mass_P = (matmul.pack(a, backend.dtype) for a in (
            (tables.media.to_points, tables.media.back) if self.source.mass else (np.zeros((1, 1)),) * 2))
        flat = (self.own(getattr(tables, name).reshape(-1, tables.elements)) for name in tables.geometry)
        self.geometry = self.tiled(np.concatenate(list(flat)).astype(backend.dtype))
        self.connect()
        around = int(np.diff(self.halo[0]).max(initial=0))
        self.scratch = [tuple(aligned(size * self.lanes, backend.dtype)
                              for size in self.scratch_sizes(self.source, self.piece, around)) for _ in range(backend.threads)]
        for w, *_ in self.scratch:
            self.source.put_numbers(w)
        self._kernels = {}

    @staticmethod
    def piece_of(source, tiles, backend):
        """How many of the tiles a thread takes at a time."""
        return max(1, min(source.piece, tiles // (SHARES * backend.threads)))

    def connect(self):
        """Find where elements have what they need of others."""
        none = np.zeros(1, int)
        self.exterior, self.halo = self._exterior_in_pieces() if self.source.modal else (self._exterior(), (none, none))
        self.neighbour = self.tiled(self.own(self.tables.mesh.neighbour_cell.T.astype(np.int32)))
        self._no_flux_beyond()
        self.patches, self.patch_values = self._patches()

    @staticmethod
    def scratch_sizes(source, piece, around):
        """Rows of the arrays that each thread works in: those of a tile, and the face values of a piece of tiles and of so many
        around it."""
        return source.size, (piece + around) * source.V * source.height * source.modal

    # Memory, see `dgarray.methods.recipe.Recipe`.

    @staticmethod
    def padded(backend, tables):
        """Elements with those that fill the last tile."""
        lanes = target.lanes(backend.dtype)
        return -(-tables.elements // lanes) * lanes

    @classmethod
    def state_size(cls, backend, tables):
        return cls.padded(backend, tables) * tables.variables * tables.rows * backend.dtype.itemsize

    @classmethod
    def index_size(cls, backend, tables):
        """Bytes of an index into a state."""
        return 4 if cls.state_size(backend, tables) // backend.dtype.itemsize < 2 ** 31 else 8

    @classmethod
    def holds(cls, backend, tables):
        E, P, b, padded = tables.elements, len(tables.varying), backend.dtype.itemsize, cls.padded(backend, tables)
        source, lanes = cls.text(tables, backend.dtype, tables.needs_x), target.lanes(backend.dtype)
        piece = cls.piece_of(source, padded // lanes, backend)
        # The elements around a piece are at most as many again, about.
        scratch = sum(cls.scratch_sizes(source, piece, piece)) * lanes * b * backend.threads
        inside = (source.values_rows - P) * padded
        return added(cls.inherited(backend, tables), cls.connections(backend, tables), {
            "metrics": tables.geometry_rows * padded * b, "parameters": (max(1, P) * (E + padded) + inside) * b,
            "scratch": scratch})

    @classmethod
    def inherited(cls, backend, tables):
        """What the array text holds that says where the first state is not admissible."""
        b = backend.dtype.itemsize
        values = (len(tables.varying) + tables.media.rows) * (tables.law.admissible is not None)
        return {"parameters": b * (b < 8) * tables.elements * values,
                "positions": cls.positions(backend, tables) * cls.looks(tables)}

    @classmethod
    def connections(cls, backend, tables):
        """What `connect` makes."""
        index, (F, M) = cls.index_size(backend, tables), tables.face_nodes.shape
        return {"connectivity": cls.padded(backend, tables) * (F * M * index + 4 * F) + 12 * tables.outer}

    @classmethod
    def connecting(cls, backend, tables):
        """Bytes that this takes on the way: numbers of nodes of 8 bytes, divided, and indices, before they are in tiles."""
        return tables.face_nodes.size * tables.elements * (16 + 2 * cls.index_size(backend, tables))

    @classmethod
    def later(cls, backend, tables):
        return 0

    @classmethod
    def takes(cls, backend, tables):
        there, b, E = sum(tables.holds().values()), backend.dtype.itemsize, tables.elements
        inherited, connections = (sum(part(backend, tables).values()) for part in (cls.inherited, cls.connections))
        # The metrics, or the parameters at points, in a row, before they are in tiles.
        inside = cls.text(tables, backend.dtype, tables.needs_x).values_rows
        gathering = max(tables.geometry_rows * max(8, 2 * b), inside * 16) * E
        setting_up = max(there + inherited + connections + cls.connecting(backend, tables),
                         there + sum(cls.holds(backend, tables).values()) + gathering)
        state, checking = cls.state_size(backend, tables), 0
        if cls.looks(tables):          # the state as an array, and positions in float64 before they are in the run's dtype
            positions = tables.dim * tables.rows * E * (8 if b == 8 else 12) * tables.needs_x
            traces = tables.variables * tables.face_nodes.size * E * b * (tables.trace is not None)
            checking = state + cls.looking(backend, tables) + positions + traces
        return {"set-up": (setting_up, 0), "first step": (max(state, checking), 0), "time step": (0, 0), "stages": (0, 0),
                "snapshots": (state, 0)}

    @classmethod
    def limiting(cls, backend, tables):
        return (0, 0) if tables.limits is None else cls.limiter_of_tiles.needs(backend, tables)

    # What the kernels work on.

    def _matrices(self):
        """The factors of the products: R, [E L] or [-D L], and those that take unknowns to points and to face points."""
        t, none = self.tables, np.zeros((1, 1))
        if t.trace is not None:
            return none, np.hstack([-np.concatenate(t.differentiation, axis=1), t.lift]), t.interpolate, t.trace
        embed, reduced = t.cell.reduced_differentiation
        columns = np.zeros((len(embed), matmul.padded(embed.shape[1])))
        columns[:, :embed.shape[1]] = embed
        return -np.concatenate(reduced, axis=1), np.hstack([columns, t.lift]), none, none

    def _inside(self):
        """The parameters that vary inside of elements, in the order of `TileSource.inside`: (point, element) of each."""
        media = self.tables.media
        for place in self.source.inside:
            values = (media.faces if place == "outside" else getattr(media, place)).values()
            yield from (v.reshape(-1)[self.tables.exterior_nodes()] if place == "outside" else v for v in values)

    def tiled(self, rows, dtype=None):
        """Rows (row, element) as [tile, row, lane], one flat aligned array; the last tile is filled with the last element."""
        return in_tiles(rows, self.lanes, dtype)

    def state(self, q):
        """The state q[variable, row, element] of the host, in tiles."""
        return self.tiled(q.reshape(-1, q.shape[2]), self.backend.dtype)

    def zeros(self):
        return aligned(self.all_tiles * self.lanes * self.tables.variables * self.tables.rows, self.backend.dtype)

    def host(self, state):
        shape = self.tables.variables, self.tables.rows
        values, tiles = np.empty((*shape, self.tables.elements), self.backend.dtype), self._by_tile(state)
        whole = self.tables.elements // self.lanes
        end = whole * self.lanes
        values[:, :, :end].reshape(*shape, whole, self.lanes)[...] = tiles[:whole].transpose(1, 2, 0, 3)
        if whole < self.all_tiles:
            values[:, :, end:] = tiles[-1, :, :, :self.tables.elements - end]
        return values

    plain = host

    @property
    def traces(self):
        """As inherited, made anew each time: only the look at the first state needs it."""
        return self.backend.zeros((self.tables.variables, self.tables.face_nodes.size, self.tables.elements))

    def take(self, state, elements):
        tile, lane = np.divmod(np.asarray(elements), self.lanes)
        return np.ascontiguousarray(self._by_tile(state)[tile, :, :, lane].transpose(1, 2, 0))

    def put(self, state, elements, values):
        tile, lane = np.divmod(np.asarray(elements), self.lanes)
        self._by_tile(state)[tile, :, :, lane] = values.transpose(2, 0, 1)

    def _by_tile(self, state):
        """The state as [tile, variable, row, lane]."""
        return state.reshape(self.all_tiles, self.tables.variables, self.tables.rows, self.lanes)

    @property
    def filled(self):
        """Lanes of the last tile worked on with own elements."""
        return self.tables.owned - (self.tiles - 1) * self.lanes

    def _no_flux_beyond(self):
        """Take gradients and face scales off the lanes beyond the last own element: nothing changes there."""
        d, faces = self.tables.dim, len(self.tables.scale)
        last = self.geometry.reshape(self.tiles, -1, self.lanes)[-1, :, self.filled:]
        last[:d * d] = 0
        last[d * d + d * faces:d * d + d * faces + faces] = 0

    def _exterior(self, rows=None):
        """Where each face node's outside value of variable 0 lies in the tiled state, or in other values of so many rows."""
        t = self.tables
        node, element = np.divmod(self.own(t.exterior_nodes()), t.elements)
        tile, lane = np.divmod(element, self.lanes)
        size = t.variables * (rows or t.rows) * self.lanes
        kind = np.int32 if self.all_tiles * size < 2 ** 31 else np.int64
        return self.tiled((tile.astype(kind) * size + node * self.lanes + lane).astype(kind))

    def _exterior_in_pieces(self):
        """Where each face point's outside value of variable 0 lies among the face values of its piece, which are those of the
        piece's tiles and, in tiles after them, of the elements around it; and these: (start of each piece's tiles, where their
        elements lie in the state)."""
        row, element = np.divmod(self.own(self.tables.exterior_nodes()), self.tables.elements)
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

    def _patches(self):
        """The boundary faces of every tile: (start, rows (lane, face, group, number in the group)), rows of tile i from
        start[i] to start[i + 1]; and what conditions know of their faces, [row, value]."""
        rows = [np.column_stack([g.faces, np.full(len(g.faces), i), np.arange(len(g.faces))])
                for i, g in enumerate(self.tables.groups)]
        rows = np.concatenate([np.zeros((0, 4), int), *rows])
        order = np.argsort(rows[:, 0], kind="stable")
        values, count = np.zeros((len(rows), self.source.per_face), self.backend.dtype), 0
        for group in self.tables.groups:
            for number, numbers in enumerate(group.values.values()):
                values[count:count + len(numbers), number] = numbers
            count += len(group.faces)
        rows, values = rows[order], values[order].reshape(-1)
        start = np.searchsorted(rows[:, 0], np.arange(self.tiles + 1) * self.lanes)
        rows[:, 0] %= self.lanes
        return (start, rows.astype(np.int32).reshape(-1)), values

    def rhs(self, q, t):
        out = np.empty_like(q)
        self._by_tile(out)[self.tiles:] = 0
        self._run(self.stage_loops(q, out, None, None, t, (0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0)))
        return out

    def stage(self, q, out, k, q0, t, dt, row):
        self._run(self._limited_stage(q, out, k, q0, t, dt, row))

    def step(self, stepper, states, k, t, dt, exponent=None):
        """As the reference, all stages at once; with an exponent the new state is checked."""
        loops, new = [], states[0]
        for row, q, new, q0 in sequence(stepper, states, self.in_place):
            loops += self._limited_stage(q, new, k, q0, t + row.c * dt, dt, row)
        if exponent is None:
            self._run(loops)
            return first(new, states), None
        loop, found = self._check_loop(new, t + dt, exponent)
        self._run([*loops, loop])
        return first(new, states), Check.of_parts(exponent, found)

    def _run(self, loops):
        """Run loops over the tiles one after the other; small states on one thread."""
        small = self.tiles * self.lanes * self.tables.variables * self.tables.rows < ONE_THREAD
        run_loops(loops, self.backend.workers, 1 if small else -(-self.tiles // self.piece))

    def _limited_stage(self, q, out, k, q0, t, dt, row):
        """The loops of a Runge-Kutta stage: fluxes and update, then the limiter's."""
        factors = row.A, row.alpha, row.beta, row.B, row.w * dt, row.C * dt, row.v
        limiter = [] if self.fused_limiter is None else self.fused_limiter.loops(out)
        return [*self.stage_loops(q, out, k, q0, t, factors), *limiter]

    def _loop(self, kernel, *arguments):
        return Loop(kernel, self.piece, self.tiles, self.scratch, arguments)

    def limit(self, q):
        if self.fused_limiter is not None:
            self._run(self.fused_limiter.loops(q))

    @cached_property
    def fused_limiter(self):
        return None if self.tables.limits is None else self.limiter_of_tiles(self)

    def filter(self, q):
        self._run([self._loop(self._kernel("filter", lambda: filter_text(self.source)), q, self.filter_matrix)])

    @cached_property
    def filter_matrix(self):
        return matmul.pack(self.tables.filter, self.backend.dtype)

    def change(self, q, p):
        """As the reference; the lanes beyond the last element do not count."""
        pair = [self._by_tile(a)[:self.tiles] for a in (q, p)]
        whole = range(0, self.tiles - 1, self.piece)
        parts = [[a[first:min(first + self.piece, self.tiles - 1)] for a in pair] for first in whole]
        return self._largest([*parts, [a[-1:, :, :, :self.filled] for a in pair]], axes=(0, 2, 3))

    def finite(self, q):
        """As the reference; the lanes beyond the last element do not count."""
        size = q.size // self.all_tiles
        whole = (self.tiles - 1) * size
        last = q[whole:whole + size].reshape(-1, self.lanes)[:, :self.filled]
        return bool(np.isfinite(last).all()) and (whole == 0 or self.backend.finite(q[:whole]))

    def check(self, q, t, exponent=1.0):
        """The `Check` of a state."""
        loop, found = self._check_loop(q, t, exponent)
        self._run([loop])
        return Check.of_parts(exponent, found)

    def _check_loop(self, q, t, exponent):
        """The loop that checks a state; and the array for what it finds, see `check_text`."""
        real, found = self.backend.dtype.type, np.zeros((-(-self.tiles // self.piece), 3))
        kernel = self._kernel("check", lambda: self.check_text(self.source))
        return self._loop(kernel, q, self.tables.owned, self.I, self.T, self.geometry, self.tiled_values, real(t),
                          real(exponent), found.reshape(-1)), found

    def rate(self, q, t, exponent, peak=None):
        """As the reference, but each element's rates are scaled by their own largest, so that no `peak` is needed."""
        return self.check(q, t, exponent).rate

    def peak(self, q, t):
        return None

    def admissible(self, q, t):
        return super().admissible(self.host(q), t)

    def all_admissible(self, q, t):
        return self.check(q, t).admissible

    def stage_loops(self, q, out, k, q0, t, factors):
        """The loops of a stage: fluxes, right-hand side and update."""
        return [self.stage_loop(q, out, k, q0, t, factors)]

    def stage_loop(self, q, out, k, q0, t, factors):
        real, uses = self.backend.dtype.type, self.uses(k, factors)
        kernel, unused = self._kernel("nodal", lambda: self.source.stage_text(*uses), uses), q[:0]
        return self._loop(kernel, *self.halo, q, out, unused if k is None else k, q0 if uses[1] else unused, self.R, self.EL,
                          self.I, self.T, self.mass_I, self.mass_P, self.geometry, self.tiled_values, *self.others(), real(t),
                          *map(real, factors))

    def uses(self, k, factors):
        """Whether a stage's update uses the register k, q0, q and r."""
        _, alpha, beta, _, _, C, _ = factors
        # With q0 in play a stage may use or leave out q and r: one kernel serves all stages of the method.
        return k is not None, bool(alpha), bool(alpha or beta), bool(alpha or C)

    def others(self):
        """What a stage's kernel knows of other elements and of the boundary."""
        return self.values.reshape(-1), self.tables.elements, self.exterior, self.neighbour, *self.patches, self.patch_values, \
            self.given_by_face.reshape(-1)

    # At joins: see `dgarray.methods.dg.mortars`.

    @cached_property
    def joined_cells(self):
        """Numbers of the elements with faces at joins."""
        return np.unique(self.tables.joint.faces[:, 0])

    def fill_faces(self, q):
        values = self.take(q, self.joined_cells)
        self.values_at_faces = values if self.trace is None else self.backend.product(self.trace, values)

    def face_places(self, rows, corners=None):
        cells, sides = np.asarray(rows).T
        return self.tables.points_of(sides, corners).T * len(self.joined_cells) + np.searchsorted(self.joined_cells, cells)

    def kernel_texts(self, stepper):
        with_k = registers(stepper)[1]
        uses = dict.fromkeys(self.uses(with_k or None, (0, row.alpha, row.beta, 0, 0, row.C, 0)) for row in stepper.stages)
        stages = {f"stage {number}" if len(uses) > 1 else "stages": self.source.stage_text(*use)
                  for number, use in enumerate(uses, 1)}
        limiter = {} if self.fused_limiter is None else {
            f"limiter: {name}": text for name, (text, _) in self.fused_limiter.source.texts.items()}
        return stages | limiter | {"check of the new state": self.check_text(self.source)}

    def _kernel(self, name, text, variant=()):
        """The compiled loop of that name, of the text that text() makes the first time."""
        if (name, variant) not in self._kernels:
            self._kernels[name, variant] = write_module(text(), f"{name}_{self.tables.dim}d_{self.backend.dtype}").run
        return self._kernels[name, variant]
