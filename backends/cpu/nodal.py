"""Nodal DG on the CPU: one kernel for the right-hand side and the Runge-Kutta update, generated for law, order and dtype.

Elements are worked on in tiles of two vector registers (16 in float64 with AVX-512).  Per tile: the state is copied in; the
fluxes F(q) . grad r_k are evaluated at the nodes; one product differentiates them; the jumps F.n - F* are evaluated at the
face nodes, whose outside values are gathered from the neighbours; one product lifts them; sources, capacity and the update of
the Runge-Kutta registers follow while everything is in cache.  The state is read once and written once per stage.

Two products instead of two per direction: D_k = E R_k, because derivatives have one degree less, so R = [R_1 .. R_d] takes
all directions to few coefficients and [E L] takes these and the jumps to the nodes.
"""
from textwrap import indent

import numba
import numpy as np

from ...codegen import Python, scalar_source, write_module
from ..arrays import NodalArrays
from . import matmul

CHUNKS_PER_THREAD = 8


class NodalFused(NodalArrays):
    """Overrides the right-hand side and the Runge-Kutta stage of the reference; the single operations are inherited."""

    def __init__(self, backend, tables):
        super().__init__(backend, tables)
        embed, reduced = tables.cell.reduced_differentiation
        columns = np.zeros((len(embed), matmul.padded(embed.shape[1])))
        columns[:, :embed.shape[1]] = embed
        self.R = matmul.pack(-np.concatenate(reduced, axis=1), backend.dtype)
        self.EL = matmul.pack(np.hstack([columns, tables.lift]), backend.dtype)
        self.exterior = tables.exterior_nodes().reshape(-1)
        self.neighbour = np.ascontiguousarray(tables.mesh.neighbour_cell.T, np.int32).reshape(-1)
        varying = [self.parameters[name].reshape(-1) for name in self.parameters]
        self.values = np.concatenate(varying) if varying else np.zeros(1, backend.dtype)
        self.geometry = backend.array(np.concatenate([a.reshape(-1, tables.elements) for a in self._geometry()])).reshape(-1)
        self.tiles, self.patches = self._tiles()
        self._kernels = {}

    def _geometry(self):
        t = self.tables
        yield from (t.gradients, t.normals, t.scale)
        if self.needs_x:
            yield from (t.origin, t.tangents)

    def _tiles(self):
        """First element of every tile, and per tile the boundary faces in it: (start, rows (lane, face, group))."""
        elements, width = self.tables.elements, matmul.lanes(self.backend.dtype)
        first = np.minimum(np.arange(0, elements, width), max(elements - width, 0))
        rows = [np.column_stack([g.faces, np.full(len(g.faces), i)]) for i, g in enumerate(self.tables.groups)]
        rows = np.concatenate([np.zeros((0, 3), int), *rows])
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        begin, end = (np.searchsorted(rows[:, 0], first + shift) for shift in (0, width))
        lists = [np.column_stack([rows[b:e, 0] - f, rows[b:e, 1:]]) for b, e, f in zip(begin, end, first)]
        start = np.concatenate([[0], np.cumsum([len(r) for r in lists])])
        return first.astype(np.int64), (start, np.concatenate(lists).astype(np.int32).reshape(-1))

    def rhs(self, q, t):
        out = np.empty_like(q)
        self._run(q, out, None, None, t, (0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
        return out

    def stage(self, q, out, k, q0, t, dt, row):
        self._run(q, out, k, q0, t, (row.A, row.alpha, row.beta, row.B, row.w * dt, row.C * dt))

    def _run(self, q, out, k, q0, t, factors):
        real = self.backend.dtype.type
        _, alpha, beta, _, _, C = factors
        # With q0 in play a stage may use or leave out q and r: one kernel serves all stages of the method.
        uses = (k is not None, bool(alpha), bool(alpha or beta), bool(alpha or C))
        kernel = self.kernel(uses)
        flat = q.reshape(-1)
        unused = flat[:0]
        numba.set_num_threads(self.backend.threads)
        A, alpha, beta, B, w, C = (real(f) for f in factors)
        start, rows = self.patches
        kernel(flat, out.reshape(-1), unused if k is None else k.reshape(-1), q0.reshape(-1) if uses[1] else unused,
               self.R, self.EL, self.geometry, self.values, self.exterior, self.neighbour, self.tiles, start, rows,
               self.tables.elements, min(len(self.tiles), CHUNKS_PER_THREAD * self.backend.threads),
               real(t), A, alpha, beta, B, w, C)

    def kernel(self, uses):
        """The compiled kernel for (register k, q0, q, r) used in the update."""
        if uses not in self._kernels:
            source = Source(self.tables, self.backend.dtype, self.needs_x, self.exterior.dtype).text(*uses)
            self._kernels[uses] = write_module(source, f"nodal_{self.tables.dim}d_{self.backend.dtype}").kernel
        return self._kernels[uses]


class Source:
    """Text of the kernel.  All of a tile lies in one scratch array w, in rows of L lanes at offsets that are literals."""

    def __init__(self, tables, dtype, needs_x, index):
        self.t, self.dtype, self.needs_x, self.index = tables, np.dtype(dtype), needs_x, index
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

    def inputs(self, graph, **places):
        """Lines that read a graph's inputs into local names: places maps an argument to (scratch name, first row, step, stride)."""
        lines, names = [], {}
        for name, argument in graph.sources.items():
            if argument == "t":
                names[name] = "t"
                continue
            scratch, first, step, stride = places[argument]
            if argument in ("m", "ml", "mr"):
                number = self.P.index(name.removeprefix(f"{argument}_"))
            else:
                number = int(name.removeprefix(argument))
            lines.append(f"{name} = {self.lane(scratch, first + number * stride, step)}")
            names[name] = name
        return lines, names

    def evaluate(self, graph, targets, prefix, **places):
        """Lines that evaluate a graph in one lane and assign its outputs to the targets."""
        lines, names = self.inputs(graph, **places)
        body, outputs = scalar_source(graph, names, self.dialect, prefix)
        return [*lines, *body, *(f"{target} = {value}" for target, value in zip(targets, outputs))]

    def lanes(self, lines):
        return [f"for lane in range({self.L}):", *(f"    {line}" for line in lines)]

    def position(self, step):
        """Lines that put x at node `node` into the rows X."""
        if not self.needs_x:
            return []
        first = self.d * self.d + self.F * (self.d + 1)
        sums = []
        for c in range(self.d):
            terms = [self.lane("G", first + c)]
            terms += [f"node{k} * {self.lane('G', first + self.d + k * self.d + c)}" for k in range(self.d)]
            sums.append(f"{self.lane('X', c)} = {' + '.join(terms)}")
        return [f"node{k} = NODES[{step}, {k}]" for k in range(self.d)] + self.lanes(sums)

    def volume(self):
        N, L = self.N, self.L
        graph = self.t.functions.volume.graph
        targets = [self.lane("RHS", v * self.column + k * N, f" + i*{L}") for k in range(self.d) for v in range(self.V)]
        body = self.evaluate(graph, targets, "v", q=("Q", 0, f" + i*{L}", N), g=("G", 0, "", 1), m=("P", 0, "", 1),
                             x=("X", 0, "", 1))
        return [f"for i in range({N}):", *indented(self.position("i") if "x" in graph.sources.values() else []),
                *indented(self.lanes(body)),
                f"for v in range({self.V}):",
                f"    reduce_(R, 0, w, {self.at['RHS']} + v*{self.column * L}, w, "
                f"{self.at['RHS'] + self.d * N * L} + v*{self.column * L})"]

    def flux_row(self, v):
        return v * self.column + self.d * self.N + matmul.padded(self.low)

    def faces(self):
        d, M, L, V = self.d, self.M, self.L, self.V
        graph = self.t.functions.left.graph
        step, face = f" + (f*{M} + j)*{L}", f" + f*{d * L}"
        targets = [self.lane("RHS", self.flux_row(v), step) for v in range(V)]
        body = self.evaluate(graph, targets, "v", l=("QL", 0, "", 1), r=("QR", 0, "", 1), n=("G", d * d, face, 1),
                             s=("G", d * d + self.F * d, f" + f*{L}", 1), x=("X", 0, "", 1), ml=("P", 0, "", 1),
                             mr=("MR", 0, "", 1))
        outside = [f"gather_m(values, elements, neighbour, f*elements + e, high, w, {self.at['MR']})"] if self.P else []
        own = [f"copy(w, {self.at['Q']} + ({v * self.N} + node)*{L}, w, {self.at['QL'] + v * L})" for v in range(V)]
        return [f"for f in range({self.F}):", *indented(outside),
                f"    for j in range({M}):",
                "        node = FACE_NODES[f, j]",
                *indented(self.position("node") if "x" in graph.sources.values() else [], 2),
                *indented(own, 2),
                f"        gather_q(state, stride, exterior, (f*{M} + j)*elements + e, high, w, {self.at['QR']})",
                *indented(self.lanes(body), 2)]

    def boundaries(self):
        """Overwrite the jumps of the boundary faces in this tile, one group of the mesh's boundary after the other."""
        d, M, L = self.d, self.M, self.L
        lines = []
        for number, group in enumerate(self.t.groups):
            graph = group.jump.graph
            step = f" + (f*{M} + j)*{L}"
            targets = [self.lane("RHS", self.flux_row(v), step) for v in range(self.V)]
            body = self.evaluate(graph, targets, "v", q=("Q", 0, f" + node*{L}", self.N), n=("G", d * d, f" + f*{d * L}", 1),
                                 s=("G", d * d + self.F * d, f" + f*{L}", 1), m=("P", 0, "", 1), x=("X", 0, "", 1))
            place = self.position("node") if "x" in graph.sources.values() else []
            lines += [f"if group == {number}:", f"    for j in range({M}):", "        node = FACE_NODES[f, j]",
                      *indented([line for line in place if not line.startswith("for lane")], 2, dedent=True), *indented(body, 2)]
        if not lines:
            return []
        return ["for p in range(patch_start[tile], patch_start[tile + 1]):",
                "    lane, f, group = patches[3*p], patches[3*p + 1], patches[3*p + 2]", *indented(lines)]

    def finish(self):
        N, L = self.N, self.L
        V, padded = self.V, matmul.padded(self.N)
        lines = [f"for v in range({V}):",
                 f"    lift(EL, 0, w, {self.at['RHS'] + self.d * N * L} + v*{self.column * L}, w, {self.at['R']} + v*{padded * L})"]
        graph = self.t.functions.finish.graph
        if self.t.finishes:
            targets = [self.lane("R", v * padded, f" + i*{L}") for v in range(V)]
            body = self.evaluate(graph, targets, "v", r=("R", 0, f" + i*{L}", padded), q=("Q", 0, f" + i*{L}", N),
                                 m=("P", 0, "", 1), x=("X", 0, "", 1))
            lines += [f"for i in range({N}):", *indented(self.position("i") if "x" in graph.sources.values() else []),
                      *indented(self.lanes(body))]
        return lines

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
        loads = [f"load(register, at, w, {self.at['K']}, high)"] * k + [f"load(start, at, w, {self.at['K'] + L}, high)"] * q0
        stores = [f"store(w, {self.at['K']}, register, at, low, high)"] * k + [f"store(w, {self.at['K'] + L}, out, at, low, high)"]
        return [f"for v in range({self.V}):", f"    for i in range({N}):", f"        at = (v*{N} + i)*elements + e",
                *indented([*loads, *self.lanes(body), *stores], 2)]

    def text(self, k, q0, q, r):
        L, geometry = self.L, (self.at["P"] - self.at["G"]) // self.L
        tile = [
            f"for row in range({self.V * self.N}):", f"    load(state, row*elements + e, w, {self.at['Q']} + row*{L}, high)",
            f"for row in range({geometry}):", f"    load(geometry, row*elements + e, w, {self.at['G']} + row*{L}, high)",
            *([f"for row in range({len(self.P)}):", f"    load(values, row*elements + e, w, {self.at['P']} + row*{L}, high)"]
              if self.P else []),
            *self.volume(), *self.faces(), *self.boundaries(), *self.finish(), *self.update(k, q0, q, r)]
        body = "\n".join(tile)
        inner = self.d * self.N
        total = matmul.padded(self.low) + self.F * self.M
        gather_m = f"gather_m = vector.gather({len(self.P)}, np.{self.dtype})" if self.P else ""
        return f'''"""Generated by dgarray: right-hand side and Runge-Kutta update of {self.t.law!r}, nodal DG of order {self.t.order}."""
{self.dialect.header}

import numpy as np
from numba import njit, prange

from dgarray.backends.cpu import matmul, vector

assert matmul.lanes(np.{self.dtype}) == {L}
{chr(10).join(self.dialect.definitions)}
FACE_NODES = np.array({self.t.face_nodes.tolist()})
NODES = np.array({self.t.nodes.tolist() if self.needs_x else [[0.0]]}, np.{self.dtype})
reduce_ = matmul.multiply({self.low}, {inner}, np.{self.dtype})
lift = matmul.multiply({self.N}, {total}, np.{self.dtype})
copy = vector.copy(np.{self.dtype})
gather_q = vector.gather({self.V}, np.{self.dtype})
{gather_m}
OPTIONS = dict(nogil=True, cache=True, fastmath={{"contract"}}, error_model="numpy")


@njit(inline="always", **OPTIONS)
def load(source, s, w, t, high):
    if high == {L}:
        copy(source, s, w, t)
    else:
        for lane in range(high):
            w[t + lane] = source[s + lane]


@njit(inline="always", **OPTIONS)
def store(w, s, target, t, low, high):
    if high - low == {L}:
        copy(w, s, target, t)
    else:
        for lane in range(low, high):
            target[t + lane] = w[s + lane]


@njit(parallel=True, **OPTIONS)
def kernel(state, out, register, start, R, EL, geometry, values, exterior, neighbour, tiles, patch_start, patches, elements, chunks,
           t, A, alpha, beta, B, wdt, C):
    stride = {self.N}*elements
    for chunk in prange(chunks):
        w = np.zeros({self.size * L}, np.{self.dtype})
        for tile in range(chunk*len(tiles)//chunks, (chunk + 1)*len(tiles)//chunks):
            e = tiles[tile]
            low = tile*{L} - e
            high = min({L}, elements - e)
{indent(body, " " * 12)}
'''


def indented(lines, levels=1, dedent=False):
    return ["    " * levels + (line.strip() if dedent else line) for line in lines]
