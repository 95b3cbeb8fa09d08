"""Nodal DG on the CPU: one kernel for the right-hand side and the Runge-Kutta update, generated for law, order and dtype.

Elements are worked on in tiles of two vector registers (16 in float64 with AVX-512).  Per tile: the state is copied in; the
fluxes F(q) . grad r_k are evaluated at the nodes; one product differentiates them; the jumps F.n - F* are evaluated at the
face nodes, whose outside values are gathered from the neighbours; one product lifts them; sources, capacity and the update of
the Runge-Kutta registers follow while everything is in cache.  The state is read once and written once per stage.  The
products need no memory, so they run while the next tile and its neighbours are on their way.

Two products instead of two per direction: D_k = E R_k, because derivatives have one degree less, so R = [R_1 .. R_d] takes
all directions to few coefficients and [E L] takes these and the jumps to the nodes.
"""
from functools import cached_property, partial

import numpy as np

from ...codegen import write_module
from ..dg_arrays import NodalArrays
from . import matmul
from .filter_source import filter_text
from .limiter import LimiterFused
from .nodal_source import Source
from .seen import seen
from .state_source import look_text
from .tiles import aligned, in_tiles
from .turns import Asked, Turns

NEAR = 1 << 22           # bytes of a state that is in a cache still when all of it has been made
TEXTS = {"look": look_text, "filter": filter_text}          # of kernels over tiles


class NodalFused(NodalArrays):
    """Overrides the right-hand side and the Runge-Kutta stage of the reference; the single operations are inherited.

    Its state is kept in tiles, [tile, variable, node, lane], so that a tile is one contiguous piece of memory; the last tile
    is filled up with copies of the last element that no flux reaches.  `state` and `host` translate."""

    text = Source            # of the kernels
    fused = frozenset({"right-hand side", "limiter", "filter", "wave speeds", "admissible states"})

    def __init__(self, backend, tables):
        super().__init__(backend, tables)
        self.lanes = matmul.lanes(backend.dtype)
        self.tiles = -(-tables.elements // self.lanes)
        self.source = self.text(tables, backend.dtype, self.needs_x)
        self.R, self.EL, self.I, self.T = (matmul.pack(a, backend.dtype) for a in self._matrices())
        self.piece = self.source.piece
        values = list(self.parameters.values())
        self.values = np.stack(values) if values else np.ones((1, tables.elements), backend.dtype)
        self.tiled_values = self.tiled(self.values)
        flat = (a.reshape(-1, tables.elements) for a in self._geometry())
        self.geometry = self.tiled(np.concatenate(list(flat)).astype(backend.dtype))
        self.connect()
        self.turns = Turns(backend.workers, tables.mesh, self.lanes, self.tiles, self.of_a_call(),
                           self.tiles * self.lanes * tables.variables * tables.rows)
        self.scratch = [tuple(aligned(size * self.lanes, backend.dtype) for size in self.scratch_sizes())
                        for _ in range(backend.threads)]
        self._kernels = {}

    def connect(self):
        """Find where elements have what they need of others."""
        none = np.zeros(1, int)
        self.exterior, self.halo = self._exterior_in_pieces() if self.source.modal else (self._exterior(), (none, none))
        self.neighbour = self.tiled(self.tables.mesh.neighbour_cell.T.astype(np.int32))
        self._no_flux_beyond()
        self.patches, self.patch_values = self._patches()

    def scratch_sizes(self):
        """Rows of the arrays that each thread works in: those of a tile, and the face values of a piece."""
        around = int(np.diff(self.halo[0]).max(initial=0))
        return self.source.size, (self.piece + around) * self.tables.variables * self.source.height * self.source.modal

    def _matrices(self):
        """The factors of the products: R, [E L] or [-D L], and those that take unknowns to points and to face points."""
        t, none = self.tables, np.zeros((1, 1))
        if t.trace is not None:
            return none, np.hstack([-np.concatenate(t.differentiation, axis=1), t.lift]), t.interpolate, t.trace
        embed, reduced = t.cell.reduced_differentiation
        columns = np.zeros((len(embed), matmul.padded(embed.shape[1])))
        columns[:, :embed.shape[1]] = embed
        return -np.concatenate(reduced, axis=1), np.hstack([columns, t.lift]), none, none

    def tiled(self, rows, dtype=None):
        """Rows (row, element) as [tile, row, lane], one flat aligned array; the last tile is filled with the last element."""
        return in_tiles(rows, self.lanes, dtype)

    def state(self, q):
        """The state q[variable, row, element] of the host, in tiles."""
        return self.tiled(q.reshape(-1, q.shape[2]), self.backend.dtype)

    def zeros(self):
        return aligned(self.tiles * self.lanes * self.tables.variables * self.tables.rows, self.backend.dtype)

    def host(self, state):
        variables, rows, elements = self.tables.variables, self.tables.rows, self.tables.elements
        values = state.reshape(self.tiles, -1, self.lanes).swapaxes(0, 1).reshape(variables, rows, -1)
        return np.array(values[:, :, :elements], order="C")        # never a view of the state, as it would be of one tile

    plain = host

    def take(self, state, elements):
        tile, lane = np.divmod(np.asarray(elements), self.lanes)
        rows = state.reshape(self.tiles, self.tables.variables, self.tables.rows, self.lanes)[tile, :, :, lane]
        return np.ascontiguousarray(rows.transpose(1, 2, 0))

    def _geometry(self):
        t = self.tables
        yield from (t.gradients, t.normals, t.scale)
        if self.needs_x:
            yield from (t.origin, t.tangents)

    def _no_flux_beyond(self):
        """Take gradients and face scales off the lanes beyond the last element: nothing changes there."""
        d, faces = self.tables.dim, len(self.tables.scale)
        filled = self.tables.elements - (self.tiles - 1) * self.lanes
        last = self.geometry.reshape(self.tiles, -1, self.lanes)[-1, :, filled:]
        last[:d * d] = 0
        last[d * d + d * faces:d * d + d * faces + faces] = 0

    def _exterior(self):
        """Where each face node's outside value of variable 0 lies in the tiled state."""
        t = self.tables
        node, element = np.divmod(t.exterior_nodes(), t.elements)
        tile, lane = np.divmod(element, self.lanes)
        size = t.variables * t.rows * self.lanes
        kind = np.int32 if self.tiles * size < 2 ** 31 else np.int64
        return self.tiled((tile.astype(kind) * size + node * self.lanes + lane).astype(kind))

    def _exterior_in_pieces(self):
        """Where each face point's outside value of variable 0 lies among the face values of its piece, which are those of the
        piece's tiles and, in tiles after them, of the elements around it; and these: (start of each piece's tiles, where their
        elements lie in the state)."""
        row, element = np.divmod(self.tables.exterior_nodes(), self.tables.elements)
        at, halo = self.in_pieces(np.arange(self.tables.elements) // (self.piece * self.lanes), row, element)
        return self.tiled(at), halo

    def in_pieces(self, own, row, element):
        """Where the face values of these rows and elements lie among those of the pieces `own` which want them, and which
        elements come after each piece's own: see `_exterior_in_pieces`."""
        t, lanes, length = self.tables, self.lanes, self.piece * self.lanes
        away = element // length != own
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
        """The boundary faces of every tile: (start, rows (lane, face, group)), rows of tile i from start[i] to start[i + 1];
        and what conditions know of their faces, [row, value]."""
        rows = [np.column_stack([g.faces, np.full(len(g.faces), i)]) for i, g in enumerate(self.tables.groups)]
        rows = np.concatenate([np.zeros((0, 3), int), *rows])
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
        self.turns.run([self.call_of(q, out, None, None, t, (0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0))], self.scratch)
        return out

    def stage(self, q, out, k, q0, t, dt, row):
        self._stages([(q, out, k, q0, t, dt, row)])

    def step(self, stages, stepper, states, k, t, dt):
        """A whole step; `stages`: see `dgarray.stepping`."""
        return self.step_and_look(stages, stepper, states, k, t, dt, None)[0]

    def step_and_look(self, stages, stepper, states, k, t, dt, exponent):
        """The same, and what the new state is like, a `Seen` for this exponent, each part found while it is in the cache."""
        asked = Asked()
        *_, new = stages(asked, stepper, states, k, t, dt)
        return [new] + [state for state in states if state is not new], self._stages(asked, exponent)

    def _stages(self, asked, exponent=None):
        """Some stages, the arguments of `stage` of each; and a `Seen` of the last one's state if an exponent is given."""
        calls = [self.call_of(q, out, k, q0, t, (row.A, row.alpha, row.beta, row.B, row.w * dt, row.C * dt, row.v))
                 for q, out, k, q0, t, dt, row in asked]
        new, wanted, limiter = asked[-1][1], exponent is not None, self.fused_limiter
        if wanted or limiter:
            looking, found = self._looking(new, 0.0, exponent or 1.0)
        if limiter:
            limiter.turns.run(calls, [out for _, out, *_ in asked], looking, wanted)
        elif wanted and new.nbytes <= NEAR:
            self.turns.run([*calls, looking], self.scratch)
        else:
            self.turns.run(calls, self.scratch, partial(self._unit, *looking) if wanted else None)
        return seen(exponent, found) if wanted else None

    def _unit(self, kernel, arguments, number, worker, size=None):
        self.turns.one(number, kernel, arguments, self.scratch[worker], size)

    def limit(self, q):
        if self.fused_limiter is not None:
            self.fused_limiter(q)

    @cached_property
    def fused_limiter(self):
        return None if self.tables.limits is None else LimiterFused(self, self.limiter.floor)

    def filter(self, q):
        kernel, matrix = self._of_tiles("filter"), self.filter_matrix
        self._in_pieces(lambda first, last, worker: kernel(first, last, self.scratch[worker][0], q, matrix))

    @cached_property
    def filter_matrix(self):
        return matmul.pack(self.tables.filter, self.backend.dtype)

    def change(self, q, p):
        """As the reference; the lanes beyond the last element do not count."""
        pair = [a.reshape(self.tiles, self.tables.variables, -1, self.lanes) for a in (q, p)]
        filled = self.tables.elements - (self.tiles - 1) * self.lanes
        whole = range(0, self.tiles - 1, self.piece)
        parts = [[a[first:min(first + self.piece, self.tiles - 1)] for a in pair] for first in whole]
        return self._largest([*parts, [a[-1:, :, :, :filled] for a in pair]], axes=(0, 2, 3))

    def finite(self, q):
        """As the reference; the lanes beyond the last element do not count."""
        whole = (self.tiles - 1) * (q.size // self.tiles)
        filled = self.tables.elements - (self.tiles - 1) * self.lanes
        last = q[whole:].reshape(-1, self.lanes)[:, :filled]
        return bool(np.isfinite(last).all()) and (whole == 0 or self.backend.finite(q[:whole]))

    def look(self, q, t, exponent=1.0):
        """What the state is like, a `Seen`."""
        looking, found = self._looking(q, t, exponent)
        self.turns.run([looking], self.scratch)
        return seen(exponent, found)

    def _looking(self, q, t, exponent):
        """The kernel that looks and its arguments; and where it puts what it finds, rows of three numbers, see `look_text`."""
        real, found = self.backend.dtype.type, np.zeros((-(-self.tiles // self.piece), 3))
        found[:, 1:] = 1          # where larger parts are looked at
        arguments = (q, self.tables.elements, self.I, self.T, self.geometry, self.tiled_values, real(t), real(exponent),
                     found.reshape(-1))
        return (self._of_tiles("look"), arguments), found

    def rate(self, q, t, exponent):
        return self.look(q, t, exponent).rate

    def admissible(self, q, t):
        return super().admissible(self.host(q), t)

    def all_admissible(self, q, t):
        return self.look(q, t).admissible

    def sound(self, q, t):
        if self.tables.law.admissible is None:
            return self.finite(q)
        return self.look(q, t).sound

    def _of_tiles(self, what):
        """The kernel of that name, which works on some tiles."""
        if what not in self._kernels:
            source = TEXTS[what](self.source)
            self._kernels[what] = write_module(source, f"{what}_{self.tables.dim}d_{self.backend.dtype}").kernel
        return self._kernels[what]

    def _in_pieces(self, of_tiles):
        """Call of_tiles(first tile, last but one, worker) for every piece."""
        def task(piece, worker):
            of_tiles(piece * self.piece, min((piece + 1) * self.piece, self.tiles), worker)
        self.backend.workers.run(task, -(-self.tiles // self.piece))

    def call_of(self, q, out, k, q0, t, factors):
        """The kernel of a stage, and what it is called with after the tiles and the scratch arrays."""
        real, uses = self.backend.dtype.type, self.uses(k, factors)
        kernel = self.kernel(uses)
        unused = q[:0]
        arrays = (*self.halo, q, out, unused if k is None else k, q0 if uses[1] else unused, self.R, self.EL, self.I, self.T,
                  self.geometry, self.tiled_values, *self.others())
        return kernel, (*arrays, real(t), *(real(f) for f in factors))

    def uses(self, k, factors):
        """Whether a stage's update uses the register k, q0, q and r."""
        _, alpha, beta, _, _, C, _ = factors
        # With q0 in play a stage may use or leave out q and r: one kernel serves all stages of the method.
        return k is not None, bool(alpha), bool(alpha or beta), bool(alpha or C)

    def of_a_call(self):
        """Tiles of a unit, see `turns`."""
        return self.piece

    def others(self):
        """What a stage's kernel knows of other elements and of the boundary."""
        return self.values.reshape(-1), self.tables.elements, self.exterior, self.neighbour, *self.patches, self.patch_values

    def kernel(self, uses):
        """The compiled kernel for (register k, q0, q, r) used in the update."""
        if uses not in self._kernels:
            source = self.source.stage_text(*uses)
            self._kernels[uses] = write_module(source, f"nodal_{self.tables.dim}d_{self.backend.dtype}").kernel
        return self._kernels[uses]
