"""Text of the fused nodal kernel: the tracer's scalar code in loops over the lanes of a tile."""
from hashlib import sha256
from inspect import getsource
from textwrap import indent

import numpy as np

from ...codegen import Python, scalar_source
from . import matmul, vector

# Part of every generated text, so that a kernel on disk is not used with other products or moves than it was made with.
KERNELS = sha256("".join(getsource(module) for module in (matmul, vector)).encode()).hexdigest()[:16]


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
