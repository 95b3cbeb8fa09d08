"""Nodal DG on the CPU: one kernel for the right-hand side and the Runge-Kutta update, generated for law, order and dtype.

Elements are worked on in tiles of two vector registers (16 in float64 with AVX-512).  Per tile: the state is copied in; the
fluxes F(q) . grad r_k are evaluated at the nodes; one product differentiates them; the jumps F.n - F* are evaluated at the
face nodes, whose outside values are gathered from the neighbours; one product lifts them; sources, capacity and the update of
the Runge-Kutta registers follow while everything is in cache.  The state is read once and written once per stage.  The
products need no memory, so they run while the next tile and its neighbours are on their way.

Two products instead of two per direction: D_k = E R_k, because derivatives have one degree less, so R = [R_1 .. R_d] takes
all directions to few coefficients and [E L] takes these and the jumps to the nodes.
"""
from hashlib import sha256
from inspect import getsource
from textwrap import indent

import numpy as np

from ...codegen import Python, scalar_source, write_module
from ..arrays import NodalArrays
from . import matmul, vector

PIECE = 32          # tiles that a thread takes at a time
# Part of every generated text, so that a kernel on disk is not used with other products or moves than it was made with.
KERNELS = sha256("".join(getsource(module) for module in (matmul, vector)).encode()).hexdigest()[:16]


class NodalFused(NodalArrays):
    """Overrides the right-hand side and the Runge-Kutta stage of the reference; the single operations are inherited.

    Its state is kept in tiles, [tile, variable, node, lane], so that a tile is one contiguous piece of memory; the last tile
    is filled up with copies of the last element that no flux reaches.  `state` and `host` translate."""

    def __init__(self, backend, tables):
        super().__init__(backend, tables)
        self.lanes = matmul.lanes(backend.dtype)
        self.tiles = -(-tables.elements // self.lanes)
        embed, reduced = tables.cell.reduced_differentiation
        columns = np.zeros((len(embed), matmul.padded(embed.shape[1])))
        columns[:, :embed.shape[1]] = embed
        self.R = matmul.pack(-np.concatenate(reduced, axis=1), backend.dtype)
        self.EL = matmul.pack(np.hstack([columns, tables.lift]), backend.dtype)
        self.exterior = self._exterior()
        self.neighbour = self.tiled(tables.mesh.neighbour_cell.T.astype(np.int32))
        values = list(self.parameters.values())
        self.values = np.stack(values) if values else np.ones((1, tables.elements), backend.dtype)
        self.tiled_values = self.tiled(self.values)
        flat = (a.reshape(-1, tables.elements) for a in self._geometry())
        self.geometry = self.tiled(np.concatenate(list(flat)).astype(backend.dtype))
        self._no_flux_beyond()
        self.patches = self._patches()
        self.source = Source(tables, backend.dtype, self.needs_x)
        self.scratch = [aligned(self.source.size * self.lanes, backend.dtype) for _ in range(backend.threads)]
        self._kernels = {}

    def tiled(self, rows):
        """Rows (row, element) as [tile, row, lane], one flat aligned array; the last tile is filled with the last element."""
        full = np.concatenate([rows, np.repeat(rows[:, -1:], self.tiles * self.lanes - rows.shape[1], axis=1)], axis=1)
        result = aligned(full.size, rows.dtype)
        result.reshape(self.tiles, len(rows), self.lanes)[:] = full.reshape(len(rows), self.tiles, self.lanes).swapaxes(0, 1)
        return result

    def state(self, q):
        """The state q[variable, node, element] of the host, in tiles."""
        return self.tiled(q.reshape(-1, q.shape[2]).astype(self.backend.dtype))

    def zeros(self):
        return aligned(self.tiles * self.lanes * self.tables.variables * len(self.tables.nodes), self.backend.dtype)

    def host(self, state):
        variables, nodes, elements = self.tables.variables, len(self.tables.nodes), self.tables.elements
        rows = state.reshape(self.tiles, -1, self.lanes).swapaxes(0, 1).reshape(variables, nodes, -1)
        return np.ascontiguousarray(rows[:, :, :elements])

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
        size = t.variables * len(t.nodes) * self.lanes
        kind = np.int32 if self.tiles * size < 2 ** 31 else np.int64
        return self.tiled((tile.astype(kind) * size + node * self.lanes + lane).astype(kind))

    def _patches(self):
        """The boundary faces of every tile: (start, rows (lane, face, group)), rows of tile i from start[i] to start[i + 1]."""
        rows = [np.column_stack([g.faces, np.full(len(g.faces), i)]) for i, g in enumerate(self.tables.groups)]
        rows = np.concatenate([np.zeros((0, 3), int), *rows])
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        start = np.searchsorted(rows[:, 0], np.arange(self.tiles + 1) * self.lanes)
        rows[:, 0] %= self.lanes
        return start, rows.astype(np.int32).reshape(-1)

    def rhs(self, q, t):
        out = np.empty_like(q)
        self._run(q, out, None, None, t, (0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
        return out

    def stage(self, q, out, k, q0, t, dt, row):
        self._run(q, out, k, q0, t, (row.A, row.alpha, row.beta, row.B, row.w * dt, row.C * dt))

    def rate(self, q, t, exponent):
        return super().rate(self.host(q), t, exponent)

    def _run(self, q, out, k, q0, t, factors):
        real = self.backend.dtype.type
        _, alpha, beta, _, _, C = factors
        # With q0 in play a stage may use or leave out q and r: one kernel serves all stages of the method.
        uses = (k is not None, bool(alpha), bool(alpha or beta), bool(alpha or C))
        kernel = self.kernel(uses)
        unused = q[:0]
        arrays = (q, out, unused if k is None else k, q0 if uses[1] else unused, self.R, self.EL, self.geometry,
                  self.tiled_values, self.values.reshape(-1), self.tables.elements, self.exterior, self.neighbour,
                  *self.patches)
        numbers = (real(t), *(real(f) for f in factors))

        def task(piece, worker):
            kernel(piece * PIECE, min((piece + 1) * PIECE, self.tiles), self.scratch[worker], *arrays, *numbers)
        self.backend.workers.run(task, -(-self.tiles // PIECE))

    def kernel(self, uses):
        """The compiled kernel for (register k, q0, q, r) used in the update."""
        if uses not in self._kernels:
            source = self.source.text(*uses)
            self._kernels[uses] = write_module(source, f"nodal_{self.tables.dim}d_{self.backend.dtype}").kernel
        return self._kernels[uses]


def aligned(size, dtype):
    """A flat array of zeros that begins at a cache line."""
    dtype = np.dtype(dtype)
    space = np.zeros(size * dtype.itemsize + 64, np.uint8)
    first = -space.ctypes.data % 64
    return space[first:first + size * dtype.itemsize].view(dtype)


class Source:
    """Text of the kernel.  All of a tile lies in one scratch array w, in rows of L lanes at offsets that are literals."""

    def __init__(self, tables, dtype, needs_x):
        self.t, self.dtype, self.needs_x = tables, np.dtype(dtype), needs_x
        self.dialect = Python(str(self.dtype))
        self.d, self.V, self.N = tables.dim, tables.variables, len(tables.nodes)
        self.F, self.M = tables.face_nodes.shape
        self.low = tables.cell.reduced_differentiation[0].shape[1]
        self.P = list(tables.parameters)
        self.L = matmul.lanes(self.dtype)
        padded = matmul.padded
        self.column = self.d * self.N + padded(self.low) + self.F * self.M       # rows of one variable's right-hand sides
        self.size, rows = 0, {}
        geometry = self.d * self.d + self.F * (self.d + 1) + (self.d + self.d * self.d if needs_x else 0)
        for name, count in (("Q", self.V * self.N), ("G", geometry), ("P", len(self.P)), ("MR", len(self.P)), ("X", self.d),
                            ("QL", self.V), ("QR", self.V), ("RHS", self.column * self.V), ("R", padded(self.N) * self.V),
                            ("K", 2)):
            rows[name], self.size = self.size, self.size + count
        self.at = {name: row * self.L for name, row in rows.items()}

    def lane(self, name, row, step=""):
        """Text of one lane of a row of the scratch array."""
        return f"w[{self.at[name] + row * self.L}{step} + lane]"

    def evaluate(self, function, targets, **places):
        """Lines that evaluate a function in one lane and assign its components to the targets.

        places: {argument: (scratch rows, first row, step, stride)}, where the lane's inputs lie."""
        lines = []
        for name, (argument, number) in function.used.items():
            if argument != "t":
                scratch, first, step, stride = places[argument]
                number = number if isinstance(number, int) else self.P.index(number)
                lines.append(f"{name} = {self.lane(scratch, first + number * stride, step)}")
        body, outputs = scalar_source(function.graph, {name: name for name in function.used}, self.dialect)
        return [*lines, *body, *(f"{target} = {value}" for target, value in zip(targets, outputs))]

    def lanes(self, lines):
        return [f"for lane in range({self.L}):", *(f"    {line}" for line in lines)]

    def position(self, step):
        """Lines that read the node's reference coordinates, and lines that put x at this node into one lane of the rows X."""
        first = self.d * self.d + self.F * (self.d + 1)
        sums = []
        for c in range(self.d):
            terms = [self.lane("G", first + c)]
            terms += [f"node{k} * {self.lane('G', first + self.d + k * self.d + c)}" for k in range(self.d)]
            sums.append(f"{self.lane('X', c)} = {' + '.join(terms)}")
        return [f"node{k} = NODES[{step}, {k}]" for k in range(self.d)], sums

    def positions(self, function, step):
        """Lines that put x at this node into the rows X for all lanes, if the function needs x."""
        if not function.depends_on("x"):
            return []
        reads, sums = self.position(step)
        return reads + self.lanes(sums)

    def volume(self):
        N, L = self.N, self.L
        function = self.t.functions.volume
        targets = [self.lane("RHS", v * self.column + k * N, f" + i*{L}") for k in range(self.d) for v in range(self.V)]
        body = self.evaluate(function, targets, q=("Q", 0, f" + i*{L}", N), g=("G", 0, "", 1), m=("P", 0, "", 1),
                             x=("X", 0, "", 1))
        return [f"for i in range({N}):", *indented(self.positions(function, "i")),
                *indented(self.lanes(body)),
                f"for v in range({self.V}):",
                f"    reduce_(R, 0, w, {self.at['RHS']} + v*{self.column * L}, w, "
                f"{self.at['RHS'] + self.d * N * L} + v*{self.column * L})", *self.ask_for("register", "tile")]

    def flux_row(self, v):
        return v * self.column + self.d * self.N + matmul.padded(self.low)

    def faces(self):
        d, M, L, V = self.d, self.M, self.L, self.V
        function = self.t.functions.left
        step, face = f" + (f*{M} + j)*{L}", f" + f*{d * L}"
        targets = [self.lane("RHS", self.flux_row(v), step) for v in range(V)]
        body = self.evaluate(function, targets, l=("QL", 0, "", 1), r=("QR", 0, "", 1), n=("G", d * d, face, 1),
                             s=("G", d * d + self.F * d, f" + f*{L}", 1), x=("X", 0, "", 1), ml=("P", 0, "", 1),
                             mr=("MR", 0, "", 1))
        outside = [f"gather_m(values, elements, neighbour, (tile*{self.F} + f)*{L}, w, {self.at['MR']})"] if self.P else []
        own = [f"copy(w, {self.at['Q']} + ({v * self.N} + node)*{L}, w, {self.at['QL'] + v * L})" for v in range(V)]
        return [f"for f in range({self.F}):", *indented(outside),
                f"    for j in range({M}):",
                "        node = FACE_NODES[f, j]",
                *indented(self.positions(function, "node"), 2),
                *indented(own, 2),
                f"        gather_q(state, {self.N * L}, exterior, (tile*{self.F * M} + f*{M} + j)*{L}, w, {self.at['QR']})",
                *indented(self.lanes(body), 2)]

    def boundaries(self):
        """Overwrite the jumps of the boundary faces in this tile, one group of the mesh's boundary after the other."""
        d, M, L = self.d, self.M, self.L
        lines = []
        for number, group in enumerate(self.t.groups):
            function = group.jump
            step = f" + (f*{M} + j)*{L}"
            targets = [self.lane("RHS", self.flux_row(v), step) for v in range(self.V)]
            body = self.evaluate(function, targets, q=("Q", 0, f" + node*{L}", self.N), n=("G", d * d, f" + f*{d * L}", 1),
                                 s=("G", d * d + self.F * d, f" + f*{L}", 1), m=("P", 0, "", 1), x=("X", 0, "", 1))
            reads, sums = self.position("node") if function.depends_on("x") else ([], [])
            lines += [f"if group == {number}:", f"    for j in range({M}):", "        node = FACE_NODES[f, j]",
                      *indented(reads + sums + body, 2)]
        if not lines:
            return []
        return ["for p in range(patch_start[tile], patch_start[tile + 1]):",
                "    lane, f, group = patches[3*p], patches[3*p + 1], patches[3*p + 2]", *indented(lines)]

    def finish(self):
        N, L = self.N, self.L
        V, padded = self.V, matmul.padded(self.N)
        lines = [f"for v in range({V}):",
                 f"    lift(EL, 0, w, {self.at['RHS'] + self.d * N * L} + v*{self.column * L}, w, "
                 f"{self.at['R']} + v*{padded * L})", *self.ask_for("state", "tile + 1"), *self.ask_for_neighbours()]
        function = self.t.functions.finish
        if self.t.finishes:
            targets = [self.lane("R", v * padded, f" + i*{L}") for v in range(V)]
            body = self.evaluate(function, targets, r=("R", 0, f" + i*{L}", padded), q=("Q", 0, f" + i*{L}", N),
                                 m=("P", 0, "", 1), x=("X", 0, "", 1))
            lines += [f"for i in range({N}):", *indented(self.positions(function, "i")), *indented(self.lanes(body))]
        return lines

    def ask_for(self, array, tile):
        """Lines, in a loop over v, that ask memory for one variable of a tile while the products keep the processor busy."""
        size = self.N * self.L
        return [f"    prefetch({array}, (({tile})*{self.V} + v)*{size}, {size * self.dtype.itemsize // 64})"]

    def ask_for_neighbours(self):
        """The same for the outside face values of the next tile, as far as its neighbours lie beyond the tiles beside it."""
        F, M, L = self.F, self.M, self.L
        return ["    if tile + 1 < last:",
                f"        for f in range({F}):",
                f"            for lane in range({L}):",
                f"                other = neighbour[((tile + 1)*{F} + f)*{L} + lane] // {L}",
                "                if other < tile - 1 or other > tile + 1:",
                f"                    for j in range({M}):",
                f"                        at = exterior[((tile + 1)*{F * M} + f*{M} + j)*{L} + lane]",
                f"                        prefetch(state, at + v*{self.N * L}, 1)"]

    def update(self, k, q0, q, r):
        """k = A k + w r,  out = alpha q0 + beta q + B k + C r, with r = dq/dt."""
        L, N, padded = self.L, self.N, matmul.padded(self.N)
        value = self.lane("R", 0, f" + (v*{padded} + i)*{L}")
        K, K0 = self.lane("K", 0), self.lane("K", 1)
        terms = [f"alpha*{K0}"] * q0 + [f"beta*{self.lane('Q', 0, f' + (v*{N} + i)*{L}')}"] * q
        body = [f"r = {value}"]
        if k:
            body += [f"kept = A*{K} + wdt*r", f"{K} = kept"]
            terms.append("B*kept")
        terms += ["C*r"] * r
        body.append(f"{K0} = {' + '.join(terms)}")
        loads = [f"copy(register, at, w, {self.at['K']})"] * k + [f"copy(start, at, w, {self.at['K'] + L})"] * q0
        stores = [f"copy(w, {self.at['K']}, register, at)"] * k + [f"copy(w, {self.at['K'] + L}, out, at)"]
        return [f"for v in range({self.V}):", f"    for i in range({N}):",
                f"        at = tile*{self.V * N * L} + (v*{N} + i)*{L}",
                *indented([*loads, *self.lanes(body), *stores], 2)]

    def load(self, source, rows, name):
        """Lines that copy this tile's rows of an array into the scratch array."""
        return [f"for row in range({rows}):",
                f"    copy({source}, (tile*{rows} + row)*{self.L}, w, {self.at[name]} + row*{self.L})"]

    def text(self, k, q0, q, r):
        L, geometry = self.L, (self.at["P"] - self.at["G"]) // self.L
        tile = [
            *self.load("state", self.V * self.N, "Q"), *self.load("geometry", geometry, "G"),
            *(self.load("tiled_values", len(self.P), "P") if self.P else []),
            *self.volume(), *self.faces(), *self.boundaries(), *self.finish(), *self.update(k, q0, q, r)]
        body = "\n".join(tile)
        inner = self.d * self.N
        total = matmul.padded(self.low) + self.F * self.M
        gather_m = f"gather_m = vector.gather({len(self.P)}, np.{self.dtype})" if self.P else ""
        return f'''"""Generated by dgarray {KERNELS}: a Runge-Kutta stage of nodal DG for {type(self.t.law).__name__}."""
{self.dialect.header}

import numpy as np
from numba import njit

from dgarray.backends.cpu import matmul, vector

assert matmul.lanes(np.{self.dtype}) == {L}
{chr(10).join(self.dialect.definitions)}
FACE_NODES = np.array({self.t.face_nodes.tolist()})
NODES = np.array({self.t.nodes.tolist() if self.needs_x else [[0.0]]}, np.{self.dtype})
reduce_ = matmul.multiply({self.low}, {inner}, np.{self.dtype})
lift = matmul.multiply({self.N}, {total}, np.{self.dtype})
prefetch = vector.prefetch(np.{self.dtype})
copy = vector.copy(np.{self.dtype})
gather_q = vector.gather({self.V}, np.{self.dtype})
{gather_m}
OPTIONS = dict(nogil=True, cache=True, fastmath={{"contract"}}, error_model="numpy")


@njit(**OPTIONS)
def kernel(first, last, w, state, out, register, start, R, EL, geometry, tiled_values, values, elements, exterior, neighbour,
           patch_start, patches, t, A, alpha, beta, B, wdt, C):
    for tile in range(first, last):
{indent(body, " " * 8)}
'''


def indented(lines, levels=1):
    return ["    " * levels + line for line in lines]
