"""Text of the fused kernels: the tracer's scalar code in loops over the lanes of a tile."""
from hashlib import sha256
from inspect import getsource
from math import ceil

import numpy as np

from ...codegen import Python
from . import lanes, limiter_lanes, matmul, scalar, turns, vector

PIECE = 32               # tiles that a thread takes at a time
CACHED = 1 << 19         # bytes of unknowns and face values of a piece
COLLECTED = 12           # face points of an element up to which gathered values are put together in registers in float64

# Part of every generated text, so that a kernel on disk is not used with other products or moves than it was made with.
KERNELS = sha256("".join(getsource(module) for module in (lanes, limiter_lanes, matmul, scalar, turns, vector)).encode()
                 ).hexdigest()[:16]


class Lane(str):
    """Text of one lane of a row of the scratch array, w[at + step + lane]."""

    def __new__(cls, at, step=""):
        lane = super().__new__(cls, f"w[{at}{step} + lane]")
        lane.at, lane.step = at, step
        return lane


class Source:
    """Text of the kernels.  All of a tile lies in one scratch array w, in rows of L lanes at offsets that are literals.

    A variable has N unknowns, B values at points of the volume, and W operands there for the product with [-D_1 .. -D_d], of
    which another product first makes few (nodal DG: D_k = E R_k).  Where face values are not among the unknowns (modal DG)
    they are computed for a piece of tiles, and the elements around it, before anything else, into memory that fits the
    second-level cache."""

    added = ()               # products that are added to what is in their rows
    scratch = "w, faces"     # arrays of each thread

    def __init__(self, tables, dtype, needs_x):
        self.t, self.dtype, self.needs_x = tables, np.dtype(dtype), needs_x
        self.dialect = Python(str(self.dtype))
        self.functions = {}                                                      # {name: what it evaluates, as text}
        self.d, self.V, self.N, self.B = tables.dim, tables.variables, tables.rows, len(tables.points)
        self.F, self.M = tables.face_nodes.shape
        self.modal = tables.trace is not None
        self.W = len(tables.differentiation) * self.B
        self.low = 0 if self.modal else tables.cell.reduced_differentiation[0].shape[1]
        self.P = list(tables.parameters)
        self.per_face = max((len(group.values) for group in tables.groups), default=0)     # numbers of a boundary face
        self.L = matmul.lanes(self.dtype)
        padded = matmul.padded
        self.reduced = padded(self.low) if self.low else 0
        self.column = self.W + self.reduced + self.F * self.M                    # rows of one variable's right-hand sides
        self.first = 0 if self.modal else self.W                                 # of the operands of the last product
        self.size, rows = 0, {}
        geometry = self.d * self.d + self.F * (self.d + 1) + (self.d + self.d * self.d if needs_x else 0)
        modal = [("BQ", self.V * padded(self.B)), ("T", self.V * padded(self.F * self.M))] * self.modal
        for name, count in (("Q", self.V * self.N), ("G", geometry), ("P", len(self.P)), ("MR", len(self.P)), ("X", self.d),
                            ("QL", self.V), ("QR", self.V), ("RHS", self.column * self.V), ("R", padded(self.N) * self.V),
                            ("K", 2), ("S", self.F), *modal):
            rows[name], self.size = self.size, self.size + count
        rows |= dict.fromkeys(("BQ", "T"), 0) | rows
        self.at = {name: row * self.L for name, row in rows.items()}
        self.values = ("BQ", padded(self.B)) if self.modal else ("Q", self.N)    # the state at the points, rows of a variable
        self.at_faces = ("T", padded(self.F * self.M)) if self.modal else ("Q", self.N)
        bytes_of_tile = self.V * (self.N + self.F * self.M) * self.L * self.dtype.itemsize
        self.piece = max(2, min(PIECE, CACHED // bytes_of_tile)) if self.modal else PIECE
        self.height = self.F * self.M                    # rows of a variable's face values of a piece

    def lane(self, name, row, step=""):
        """Text of one lane of a row of the scratch array."""
        return Lane(self.at[name] + row * self.L, step)

    def evaluate(self, function, targets, **places):
        """Lines that evaluate a function in one lane and give its components to the targets, rows or one name.

        places: {argument: (scratch rows, first row, step, stride)}, where the lane's inputs lie; of `face`, names in order."""
        steps, given, nodes = {}, {}, []

        def place(lane):
            return lane.at, steps.setdefault(lane.step, len(steps))
        for node in function.graph.nodes:
            if node[0] == "input":
                argument, number = function.used[node[1]]
                if argument in ("t", "face"):
                    value = "t" if argument == "t" else self.of_face(places[argument].index(number))
                    node = ("given", given.setdefault(value, len(given)))
                else:
                    scratch, first, step, stride = places[argument]
                    number = number if isinstance(number, int) else self.P.index(number)
                    node = ("load", *place(self.lane(scratch, first + number * stride, step)))
            nodes.append(node)
        stored = isinstance(targets[0], Lane)
        text = f"{tuple(nodes)}, {function.graph.outputs}, {[place(target) for target in targets] if stored else None}"
        name = f"evaluate_{sha256(text.encode()).hexdigest()[:12]}"
        self.functions[name] = text
        call = f"{name}(w, ({''.join(f'lane{step}, ' for step in steps)}), ({''.join(f'{value}, ' for value in given)}))"
        return [call if stored else f"{targets[0]} = {call}"]

    def of_face(self, number):
        """Text of one of the numbers that a boundary condition has of its face."""
        return f"patch_values[p*{self.per_face} + {number}]"

    def lanes(self, lines):
        return [f"for lane in range({self.L}):", *(f"    {line}" for line in lines)]

    def position(self, step, table="POINTS"):
        """Lines that read a point's reference coordinates, and lines that put x at this point into one lane of the rows X."""
        first = self.d * self.d + self.F * (self.d + 1)
        sums = []
        for c in range(self.d):
            terms = [self.lane("G", first + c)]
            terms += [f"node{k} * {self.lane('G', first + self.d + k * self.d + c)}" for k in range(self.d)]
            sums.append(f"{self.lane('X', c)} = {' + '.join(terms)}")
        return [f"node{k} = {table}[{step}, {k}]" for k in range(self.d)], sums

    def positions(self, function, step, table="POINTS"):
        """Lines that put x at this point into the rows X for all lanes, if the function needs x."""
        if not function.depends_on("x"):
            return []
        reads, sums = self.position(step, table)
        return reads + self.lanes(sums)

    def at_points(self):
        """Lines that put the state at the points into its rows, where they are not those of the unknowns."""
        return [f"for v in range({self.V}):", f"    interpolate(I, 0, w, {self.at['Q']} + v*{self.N * self.L}, "
                f"w, {self.at['BQ']} + v*{matmul.padded(self.B) * self.L})"] if self.modal else []

    def fluxes(self):
        """Lines that put F(q) . grad r_k at the points, and sources of modal DG, into their rows."""
        B, L = self.B, self.L
        function = self.t.functions.volume
        targets = [self.lane("RHS", v * self.column + k * B, f" + i*{L}") for k in range(self.W // B) for v in range(self.V)]
        rows, stride = self.values
        body = self.evaluate(function, targets, q=(rows, 0, f" + i*{L}", stride), g=("G", 0, "", 1), m=("P", 0, "", 1),
                             x=("X", 0, "", 1))
        return [f"for i in range({B}):", *indented(self.positions(function, "i")), *indented(self.lanes(body))]

    def volume(self):
        L = self.L
        reduce = [f"    reduce_(R, 0, w, {self.at['RHS']} + v*{self.column * L}, w, "
                  f"{self.at['RHS'] + self.W * L} + v*{self.column * L})"] * bool(self.low)
        return [*self.at_points(), *self.fluxes(), *([f"for v in range({self.V}):", *reduce] if reduce else [])]

    def flux_row(self, v):
        return v * self.column + self.W + self.reduced

    def faces(self, arrays=()):
        """Lines that put the jumps into their rows; they ask for what the update of this tile goes through."""
        d, M, L, V = self.d, self.M, self.L, self.V
        function = self.t.functions.left
        step, face = f" + (f*{M} + j)*{L}", f" + f*{d * L}"
        targets = [self.lane("RHS", self.flux_row(v), step) for v in range(V)]
        body = self.evaluate(function, targets, l=("QL", 0, "", 1), r=("QR", 0, "", 1), n=("G", d * d, face, 1),
                             s=("G", d * d + self.F * d, f" + f*{L}", 1), x=("X", 0, "", 1), ml=("P", 0, "", 1),
                             mr=("MR", 0, "", 1))
        outside = [f"gather_m(values, elements, neighbour, (tile*{self.F} + f)*{L}, w, {self.at['MR']})"] if self.P else []
        rows, height = self.at_faces
        own = [f"copy(w, {self.at[rows]} + ({v * height} + node)*{L}, w, {self.at['QL'] + v * L})" for v in range(V)]
        values, stride = ("faces", self.F * M * L) if self.modal else ("state", self.N * L)
        return [f"for f in range({self.F}):", *indented(outside),
                f"    for j in range({M}):",
                "        node = FACE_NODES[f, j]",
                *indented(self.positions(function, "node", "FACE_POINTS"), 2),
                *indented(own, 2),
                f"        gather_q({values}, {stride}, exterior, (tile*{self.F * M} + f*{M} + j)*{L}, w, {self.at['QR']})",
                *indented(self.ask_at_faces(arrays), 2),
                *indented(self.lanes(body), 2)]

    def boundaries(self):
        """Overwrite the jumps of the boundary faces in this tile, one group of the mesh's boundary after the other."""
        d, M, L = self.d, self.M, self.L
        lines = []
        for number, group in enumerate(self.t.groups):
            function = group.jump
            step = f" + (f*{M} + j)*{L}"
            targets = [self.lane("RHS", self.flux_row(v), step) for v in range(self.V)]
            rows, height = self.at_faces
            body = self.evaluate(function, targets, q=(rows, 0, f" + node*{L}", height), n=("G", d * d, f" + f*{d * L}", 1),
                                 s=("G", d * d + self.F * d, f" + f*{L}", 1), m=("P", 0, "", 1), x=("X", 0, "", 1),
                                 face=list(group.values))
            reads, sums = self.position("node", "FACE_POINTS") if function.depends_on("x") else ([], [])
            lines += [f"if group == {number}:", f"    for j in range({M}):", "        node = FACE_NODES[f, j]",
                      *indented(reads + sums + body, 2)]
        if not lines:
            return []
        return ["for p in range(patch_start[tile], patch_start[tile + 1]):",
                "    lane, f, group = patches[3*p], patches[3*p + 1], patches[3*p + 2]", *indented(lines)]

    def finish(self):
        L, V, padded = self.L, self.V, matmul.padded(self.N)
        lines = [f"for v in range({V}):",
                 f"    lift(EL, 0, w, {self.at['RHS'] + self.first * L} + v*{self.column * L}, w, "
                 f"{self.at['R']} + v*{padded * L})",
                 *self.ask_for("state", f"tile + {self.piece if self.modal else 1}"), *self.ask_for_neighbours()]
        return [*lines, *self.finished()]

    def finished(self):
        """Lines that take sources and capacity into the rows of dq/dt, if there are any."""
        if not self.t.finishes:
            return []
        N, L, padded, function = self.N, self.L, matmul.padded(self.N), self.t.functions.finish
        targets = [self.lane("R", v * padded, f" + i*{L}") for v in range(self.V)]
        body = self.evaluate(function, targets, r=("R", 0, f" + i*{L}", padded), q=("Q", 0, f" + i*{L}", N), m=("P", 0, "", 1),
                             x=("X", 0, "", 1))
        return [f"for i in range({N}):", *indented(self.positions(function, "i")), *indented(self.lanes(body))]

    def cache_lines(self, rows):
        """How many cache lines so many rows are."""
        return ceil(rows * self.L * self.dtype.itemsize / 64)

    def ask_in_turn(self, arrays, tile, turn, turns):
        """Lines that ask for some cache lines of these arrays, from this tile on: after so many turns a tile for all of it.

        What a stage goes through comes while fluxes are evaluated only if it is asked for a few lines at a time; and `out` like
        what is read, because an ordinary store fetches its line first."""
        count = ceil(self.cache_lines(self.V * self.N) / turns)
        first = f"{tile}*{self.V * self.N * self.L} + ({turn})*{count * 64 // self.dtype.itemsize}"
        return [f"prefetch({array}, {first}, {count})" for array in arrays]

    def ask_at_faces(self, arrays):
        """Lines, in loops over a tile's faces and their points, that ask for its part of these arrays."""
        return self.ask_in_turn(arrays, "tile", f"f*{self.M} + j", self.F * self.M)

    def ask_for(self, array, tile):
        """Lines, in a loop over v, that ask memory for one variable of a tile while the products keep the processor busy."""
        size = self.N * self.L
        return [f"    prefetch({array}, (({tile})*{self.V} + v)*{size}, {size * self.dtype.itemsize // 64})"]

    def around(self):
        """Lines that find the elements around a piece: `other` to `end` in the list, a share of them for each tile."""
        return [f"piece = first // {self.piece}",
                f"other, end = halo_start[piece]*{self.L}, halo_start[piece + 1]*{self.L}",
                "share = (end - other)//(last - first) + 1"]

    def ask_around(self):
        """Lines, after a loop over v, that ask for a tile's share of the elements around the piece."""
        return ["    for asked in range(other, min(other + share, end)):", f"        for i in range({self.N}):",
                f"            prefetch(state, halo[asked] + (v*{self.N} + i)*{self.L}, 1)", "other += share"]

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
                f"                        prefetch(state, at + v*{self.N * L}, 1)"] if not self.modal else []

    def update(self, k, q0, q, r):
        """k = A k + v q + w r,  out = alpha q0 + beta q + B k + C r, with r = dq/dt; v in methods that use q0 alone."""
        L, N, padded = self.L, self.N, matmul.padded(self.N)
        value = self.lane("R", 0, f" + (v*{padded} + i)*{L}")
        K, K0, Q = self.lane("K", 0), self.lane("K", 1), self.lane("Q", 0, f" + (v*{N} + i)*{L}")
        terms = [f"alpha*{K0}"] * q0 + [f"beta*{Q}"] * q
        body = [f"r = {value}"]
        if k:
            body += [f"kept = A*{K}{f' + v_*{Q}' * q0} + wdt*r", f"{K} = kept"]
            terms.append("B*kept")
        terms += ["C*r"] * r
        body.append(f"{K0} = {' + '.join(terms)}")
        loads = [f"copy(register, at, w, {self.at['K']})"] * k + [f"copy(start, at, w, {self.at['K'] + L})"] * q0
        stores = [f"copy(w, {self.at['K']}, register, at)"] * k + [f"copy(w, {self.at['K'] + L}, out, at)"]
        return [f"for v in range({self.V}):", f"    for i in range({N}):",
                f"        at = tile*{self.V * N * L} + (v*{N} + i)*{L}",
                *indented([*loads, *self.lanes(body), *stores], 2)]

    def trace(self):
        """Lines that put the values at the face points, where these are not among the unknowns, into their rows."""
        return [f"for v in range({self.V}):", f"    trace(T, 0, w, {self.at['Q']} + v*{self.N * self.L}, "
                f"w, {self.at['T']} + v*{matmul.padded(self.F * self.M) * self.L})"] if self.modal else []

    def face_values(self):
        """Lines that fill `faces`, [tile, variable, face point, lane], of a piece's own tiles and of those around it."""
        L, V, N, count, height = self.L, self.V, self.N, self.F * self.M, matmul.padded(self.F * self.M)
        keep = [f"for v in range({V}):", f"    for i in range({count}):",
                f"        copy(w, {self.at['T']} + (v*{height} + i)*{L}, faces, ((place*{V} + v)*{count} + i)*{L})"]
        gather = [f"for i in range({V * N}):", f"    for lane in range({L}):",
                  f"        w[{self.at['Q']} + i*{L} + lane] = state[halo[around*{L} + lane] + i*{L}]"]
        return [*self.around(), "place = 0", "for tile in range(first, last):",
                *indented([*self.load("state", V * N, "Q"), *self.trace(), *self.ask_around(), *keep, "place += 1"]),
                "for around in range(halo_start[piece], halo_start[piece + 1]):",
                *indented([*gather, *self.trace(), *keep, "place += 1"])] if self.modal else []

    def own_face_values(self):
        """Lines that read them back."""
        L, V, count, height = self.L, self.V, self.F * self.M, matmul.padded(self.F * self.M)
        return [f"for v in range({V}):", f"    for i in range({count}):",
                f"        copy(faces, (((tile - first)*{V} + v)*{count} + i)*{L}, w, {self.at['T']} + (v*{height} + i)*{L})"
                ] if self.modal else []

    def load(self, source, rows, name):
        """Lines that copy this tile's rows of an array into the scratch array."""
        return [f"for row in range({rows}):",
                f"    copy({source}, (tile*{rows} + row)*{self.L}, w, {self.at[name]} + row*{self.L})"]

    def stage_text(self, k, q0, q, r):
        """The kernel of a stage; which of register k, q0, q and r the update uses."""
        arrays = ["out"] + ["register"] * k + ["start"] * q0
        tile = [*self.load_tile(), *self.own_face_values(), *self.volume(), *self.faces(arrays), *self.boundaries(),
                *self.finish(), *self.update(k, q0, q, r)]
        return self.module("a Runge-Kutta stage", turns.text(
            f"""{self.scratch}, halo_start, halo, state, out, register, start, R, EL, I, T, geometry, tiled_values, values,
           elements, exterior, neighbour, patch_start, patches, patch_values, t, A, alpha, beta, B, wdt, C, v_""",
            [*self.face_values(), "for tile in range(first, last):", *indented(tile)]))

    def load_tile(self):
        """Lines that copy a tile and all that belongs to it into the scratch array."""
        geometry = (self.at["P"] - self.at["G"]) // self.L
        return [*self.load("state", self.V * self.N, "Q"), *self.load("geometry", geometry, "G"),
                *(self.load("tiled_values", len(self.P), "P") if self.P else [])]

    def products(self):
        """What the products of the kernels are called, with the numbers of rows and of operands."""
        return {"reduce_": (self.low, self.W), "lift": (self.N, self.column - self.first),
                "interpolate": (self.B * self.modal, self.N), "trace": (self.F * self.M * self.modal, self.N)}

    def module(self, what, kernel, extra=()):
        """The text of a module with one kernel; extra: lines before it."""
        products = [f"{name} = matmul.multiply({rows}, {inner}, np.{self.dtype}{', add=True' * (name in self.added)})"
                    for name, (rows, inner) in self.products().items() if rows]
        gather = "collect" if self.dtype == np.float32 or self.F * self.M <= COLLECTED else "gather"
        gather_m = f"gather_m = vector.gather({len(self.P)}, np.{self.dtype})" if self.P else ""
        functions = [f"{name} = scalar.function({text}, np.{self.dtype})" for name, text in sorted(self.functions.items())
                     if name in kernel]
        points, at_faces = (table.tolist() if self.needs_x else [[0.0]] for table in (self.t.points, self.t.face_points))
        return f'''"""Generated by dgarray {KERNELS}: {what} of DG for {type(self.t.law).__name__}."""
{self.dialect.header}

import numpy as np
from numba import njit
from numpy import inf, nan

from dgarray.backends.cpu import limiter_lanes, matmul, scalar, turns, vector

assert matmul.lanes(np.{self.dtype}) == {self.L}
{chr(10).join(self.dialect.definitions)}
FACE_NODES = np.array({self.t.face_nodes.tolist()})
POINTS = np.array({points}, np.{self.dtype})
FACE_POINTS = np.array({at_faces}, np.{self.dtype})
{chr(10).join(products)}
{chr(10).join(functions)}
prefetch, select = vector.prefetch, vector.select
copy = vector.copy(np.{self.dtype})
gather_q = vector.{gather}({self.V}, np.{self.dtype})
{gather_m}
{chr(10).join(extra)}
OPTIONS = dict(nogil=True, cache=True, fastmath={{"contract"}}, error_model="numpy")


@njit(**OPTIONS){kernel}'''


def indented(lines, levels=1):
    return ["    " * levels + line for line in lines]
