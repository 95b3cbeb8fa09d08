"""Text of kernels over tiles of elements: where a tile's values lie, how formulas are evaluated on them, how they are moved.

Formulas are traced expressions, compiled without a text between; loops run over the lanes of a tile."""
import re
from hashlib import sha256
from inspect import getsource

import numpy as np

from ....physics.codegen import Python
from ....physics.explain import formulas_of
from ....physics.run_time_numbers import NUMBER, with_numbers
from .. import shared_loop
from ..shared_loop import loop_text
from ..simd import arithmetic as lanes
from ..simd import expressions, lines, logarithm, matmul, target, vector

PIECE = 32               # tiles that a thread takes at a time, at most
CACHED = 1 << 19         # bytes of unknowns and face values of a piece

# Part of every generated text, so that a kernel on disk is not used with other products or moves than it was made with.
KERNELS = sha256("".join(getsource(module) for module in (
    expressions, lanes, lines, logarithm, matmul, shared_loop, vector)).encode()).hexdigest()[:16]


class Lane(str):
    """Text of one lane of a row of the scratch array, w[at + step + lane]."""

    def __new__(cls, at, step=""):
        lane = super().__new__(cls, f"w[{at}{step} + lane]")
        lane.at, lane.step = at, step
        return lane


class TileSource:
    """Text of kernels over tiles.  All of a tile lies in one scratch array w, in rows of L lanes at offsets that are literals.

    A variable has N unknowns, B values at points of the volume, and W operands there for the product with [-D_1 .. -D_d], of
    which another product first makes few (nodal DG: D_k = E R_k).  F faces have M points each.

    at: where the rows of a name begin in w.
    Q        unknowns, (variable, unknown)
    BQ, T    where these are not values: values at the points of the volume and at those of all faces, (variable, point)
    G        dr_k/dx, normals and scales of the faces; origin and tangents where the physics asks for x
    P, MR    the law's parameters, of the element and of the one beyond a face; after the former those that vary inside of
             elements, at the points of each of the places `inside`;  X: x at a point
    QL, QR   the state on both sides of a face at a point
    RHS      operands of the products, (variable, operand): fluxes at the points, what these are reduced to, jumps at the faces
    W, WQ    dq/dt and the state at the points where the capacity divides, if it varies inside of elements
    R        dq/dt, (variable, unknown);  K: the register and q0 at one unknown;  S: wave speed normal to each face"""

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
        self.P, media = list(tables.varying), tables.media
        self.smooth = media.names
        self.inside, self.values_rows = {}, len(self.P)      # {place: (first row, rows of a parameter)}; rows in all
        for place, count in self.places(media).items():
            self.inside[place] = self.values_rows, count
            self.values_rows += count * len(self.smooth)
        self.mass, self.weighted = len(media.points) if media.weighted else 0, media.weighted
        self.weighted_finish = media.finish_of(media.weighted) if media.weighted else None
        self.per_face = max((len(group.values) for group in tables.groups), default=0)     # numbers of a boundary face
        self.L = target.lanes(self.dtype)
        padded = matmul.padded
        self.reduced = padded(self.low) if self.low else 0
        self.column = self.W + self.reduced + self.F * self.M                    # rows of one variable's right-hand sides
        self.first = 0 if self.modal else self.W                                 # of the operands of the last product
        self.size, rows = 0, {}
        for name, count in self.row_counts().items():
            rows[name], self.size = self.size, self.size + count
        rows |= dict.fromkeys(("BQ", "T"), 0) | rows
        self.at = {name: row * self.L for name, row in rows.items()}
        self.with_numbers, self.numbers = {}, []         # {function: (as evaluated, first row of its constants)}; their values
        for function in (*vars(tables.functions).values(), *(group.jump for group in tables.groups if group.jump is not None)):
            evaluated = with_numbers(function)
            self.with_numbers[function] = evaluated, len(self.numbers)
            self.numbers += evaluated.values
        self.at["C0"], self.size = self.size * self.L, self.size + len(self.numbers)
        # The state at the points, and rows of a variable.
        self.values = ("BQ", padded(self.B)) if tables.interpolate is not None else ("Q", self.N)
        self.at_faces = ("T", padded(self.F * self.M)) if self.modal else ("Q", self.N)
        bytes_of_tile = self.V * (self.N + self.F * self.M) * self.L * self.dtype.itemsize
        self.piece = max(2, min(PIECE, CACHED // bytes_of_tile)) if self.modal else PIECE
        self.height = self.F * self.M                    # rows of a variable's face values of a piece
        self.result_rows = padded(self.N)                # rows of a variable's dq/dt

    def row_counts(self):
        """How many rows of the scratch array each name has."""
        padded, points = matmul.padded, self.F * self.M
        of_variable = padded(self.mass) if self.mass else 0
        of_state = self.V * of_variable if self.mass and self.weighted_finish.depends_on("q") else 0
        modal = {"T": self.V * padded(points)} if self.modal else {}
        own_points = {"BQ": self.V * padded(self.B)} if self.t.interpolate is not None else {}
        return {"Q": self.V * self.N, "G": self.t.geometry_rows, "P": self.values_rows, "MR": len(self.P), "X": self.d,
                "QL": self.V, "QR": self.V, "RHS": self.column * self.V, "R": padded(self.N) * self.V, "K": 2, "S": self.F,
                "W": len(self.weighted) * of_variable, "WQ": of_state, **own_points, **modal}

    def places(self, media):
        """Points of the places where parameters that vary inside of elements are wanted: of the volume, of the own faces where
        these are other points, on the other side of the faces, and where the capacity divides."""
        counts = {"volume": self.B, "faces": self.F * self.M * self.modal, "outside": self.F * self.M,
                  "mass": len(media.points) if media.weighted and media.points is not self.t.points else 0}
        return {place: count for place, count in counts.items() if count and media.names}

    def parameters(self, place, point, beyond=False):
        """{name: row} of the parameters at a point, its number a text; beyond: of the element beyond a face."""
        first, count = self.inside.get(place) or self.inside.get("volume", (0, 0))
        return {name: self.lane("MR" if beyond else "P", i) for i, name in enumerate(self.P)} | {
            name: self.lane("P", first + i * count, f" + {point}*{self.L}") for i, name in enumerate(self.smooth)}

    def lane(self, name, row, step=""):
        """Text of one lane of a row of the scratch array."""
        return Lane(self.at[name] + row * self.L, step)

    @property
    def finishes(self):
        """Whether `finish` does anything, for any numbers: see `NodalTables.finishes`."""
        graph = self.with_numbers[self.t.functions.finish][0].graph
        return [graph.nodes[i][:2] for i in graph.outputs] != [("input", f"r{v}") for v in range(self.V)]

    def put_numbers(self, w):
        """Put the constants of the functions into their rows of a scratch array; no kernel changes them."""
        rows = w[self.at["C0"]:][:len(self.numbers) * self.L].reshape(-1, self.L)
        rows[...] = np.reshape(self.numbers, (-1, 1))

    def over_lanes(self, function, targets, **places):
        """Lines that evaluate a function in all lanes, as whole vectors where all its operations have instructions."""
        evaluated, _ = self.with_numbers.get(function, (function, 0))
        vectors = all(node[0] == "input" or node[0] in expressions.IN_VECTORS for node in evaluated.graph.nodes)
        if vectors and not function.depends_on("face"):
            return self.evaluate(function, targets, vectors=True, **places)
        return self.lanes(self.evaluate(function, targets, **places))

    def evaluate(self, function, targets, vectors=False, **places):
        """Lines that evaluate a function in one lane and give its components to the targets, rows or one name.

        places:  {argument: (scratch rows, first row, step, stride)}, where the lane's inputs lie, or their rows by number or
                 name; of `face` names in order
        vectors: in all lanes at once"""
        function, first_number = self.with_numbers.get(function, (function, 0))
        places[NUMBER] = "C0", first_number, "", 1
        steps, given, nodes = {}, {}, []

        def place(lane):
            return lane.at, steps.setdefault(lane.step, len(steps))
        for node in function.graph.nodes:
            if node[0] == "input":
                argument, number = function.used[node[1]]
                if argument in ("t", "face"):
                    value = "t" if argument == "t" else self.of_face(places[argument].index(number))
                    node = ("given", given.setdefault(value, len(given)))
                elif isinstance(places[argument], (list, dict)):
                    node = ("load", *place(places[argument][number]))
                else:
                    scratch, first, step, stride = places[argument]
                    number = number if isinstance(number, int) else self.P.index(number)
                    node = ("load", *place(self.lane(scratch, first + number * stride, step)))
            nodes.append(node)
        stored = isinstance(targets[0], Lane)
        result = [place(target) for target in targets] if stored else None
        text = f"{tuple(nodes)}, {function.graph.outputs}, {result}, np.{self.dtype}{', vectors=True' * vectors}"
        formulas = formulas_of(function, self.t.law)
        role = function.name.partition(" '")[0]
        name = f"{re.sub('[^a-zA-Z]+', '_', role)}_{sha256(text.encode()).hexdigest()[:8]}"
        self.functions[name] = text, formulas
        lane = "0" if vectors else "lane"
        call = f"{name}(w, ({''.join(f'{lane}{step}, ' for step in steps)}), ({''.join(f'{value}, ' for value in given)}))"
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
            terms = [(f"node{k}", self.lane("G", first + self.d + k * self.d + c)) for k in range(self.d)]
            sums.append(f"{self.lane('X', c)} = {expressions.sum_of_products(*terms, to=self.lane('G', first + c))}")
        return [f"node{k} = {table}[{step}, {k}]" for k in range(self.d)], sums

    def positions(self, function, step, table="POINTS"):
        """Lines that put x at this point into the rows X for all lanes, if the function needs x."""
        if not function.depends_on("x"):
            return []
        reads, sums = self.position(step, table)
        return reads + self.lanes(sums)

    def position_in_lane(self, function, step="node", table="FACE_POINTS"):
        """Lines that put x at a face node into the rows X for one lane, if the function needs x."""
        reads, sums = self.position(step, table) if function.depends_on("x") else ([], [])
        return reads + sums

    def load(self, source, rows, name, of=None):
        """Lines that copy this tile's rows of an array into the scratch array, all or the first ones of so many."""
        return [f"for row in range({rows}):",
                f"    copy({source}, (tile*{of or rows} + row)*{self.L}, w, {self.at[name]} + row*{self.L})"]

    def load_tile(self):
        """Lines that copy a tile and all that belongs to it into the scratch array."""
        geometry = (self.at["P"] - self.at["G"]) // self.L
        return [*self.load("state", self.V * self.N, "Q"), *self.load("geometry", geometry, "G"),
                *(self.load("tiled_values", self.values_rows, "P") if self.P else [])]

    def at_point(self, point):
        """Where dr_k/dx and x of a point of the volume lie."""
        return dict(g=("G", 0, "", 1), x=("X", 0, "", 1))

    def at_face(self):
        """Where normal, scale and x of point j of face f lie, whose number among a face's nodes is `node`."""
        d, L = self.d, self.L
        return dict(n=("G", d * d, f" + f*{d * L}", 1), s=("G", d * d + self.F * d, f" + f*{L}", 1), x=("X", 0, "", 1))

    def at_points(self):
        """Lines that put the state at the points into its rows, where they are not those of the unknowns."""
        return [f"for v in range({self.V}):", f"    interpolate(I, 0, w, {self.at['Q']} + v*{self.N * self.L}, "
                f"w, {self.at['BQ']} + v*{matmul.padded(self.B) * self.L})"] if self.values[0] == "BQ" else []

    def trace(self):
        """Lines that put the values at the face points, where these are not among the unknowns, into their rows."""
        return [f"for v in range({self.V}):", f"    trace(T, 0, w, {self.at['Q']} + v*{self.N * self.L}, "
                f"w, {self.at['T']} + v*{matmul.padded(self.F * self.M) * self.L})"] if self.modal else []

    def products(self):
        """What the products of the kernels are called, with the numbers of rows and of operands."""
        return {"reduce_": (self.low, self.W), "lift": (self.N, self.column - self.first),
                "interpolate": (self.B * self.modal, self.N), "trace": (self.F * self.M * self.modal, self.N),
                "to_mass": (self.mass, self.N), "from_mass": (self.N * bool(self.mass), self.mass)}

    def module(self, what, arguments, work, extra=(), before=""):
        """The text of a module whose loop does this work, lines for the tiles from `first` to `last` and for arguments of these
        names; extra: lines before its functions; before: functions that the work calls."""
        products = [f"{name} = matmul.multiply({rows}, {inner}, np.{self.dtype}{', add=True' * (name in self.added)})"
                    for name, (rows, inner) in self.products().items() if rows]
        gather_m = f"gather_m = vector.gather({len(self.P)}, np.{self.dtype})" if self.P else ""
        loop = loop_text(arguments, work)
        functions = ["\n".join([*(f"# {line}" for line in formulas), f"{name} = expressions.function({text})"])
                     for name, (text, formulas) in sorted(self.functions.items()) if name in before + loop]
        tables = self.t.points, self.t.face_points, self.t.media.points if self.mass else self.t.points[:1]
        points, at_faces, at_mass = (table.tolist() if self.needs_x else [[0.0]] for table in tables)
        return f'''"""Generated by dgarray {KERNELS}: {what} of DG for {type(self.t.law).__name__}."""
{self.dialect.header}

import numpy as np
from numba import njit
from numpy import inf, nan

from dgarray.backends.cpu.shared_loop import add_one, wait_for
from dgarray.backends.cpu.simd import expressions, lines, matmul, target, vector

assert target.lanes(np.{self.dtype}) == {self.L}
{chr(10).join(self.dialect.definitions)}
FACE_NODES = np.array({self.t.face_nodes.tolist()})
POINTS = np.array({points}, np.{self.dtype})
FACE_POINTS = np.array({at_faces}, np.{self.dtype})
MASS_POINTS = np.array({at_mass}, np.{self.dtype})
{chr(10).join(products)}
{chr(10).join(functions)}
prefetch, select, fma = vector.prefetch, vector.select, expressions.fma
copy = vector.copy(np.{self.dtype})
gather_q = vector.gather({self.V}, np.{self.dtype})
{gather_m}
{chr(10).join(extra)}
OPTIONS = dict(nogil=True, cache=True, error_model="numpy")

{before}

@njit(**OPTIONS){loop}'''


def indented(lines, levels=1):
    return ["    " * levels + line for line in lines]
