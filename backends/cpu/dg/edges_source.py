"""Text of the edge-wise kernels of modal DG: volume, edges, right-hand side.

They follow each other on a piece of tiles while its values are in the second-level cache.  `faces` holds first the values at
the face points of the piece's elements and of those around it; each edge takes those of its two sides and puts in their places
what the edge contributes to both, s (-F*), so that the products that lift it find it where the element wants it.
"""
from itertools import islice
from textwrap import indent

from ..simd import matmul
from .kernel_source import indented
from .stage_source import CLOCK, TIMES, UPDATED, StageSource


class EdgeSource(StageSource):
    """Text of a stage in three kernels, and of one that calls them for one piece after the other.

    An edge, or a face in 3D, has E numbers: its normal, the scales of both sides, the parameters of both, where the physics
    wants it the position of its points, and parameters that vary inside of elements at the points of both sides."""

    added, scratch = ("lift",), "w, faces, tendency"

    def __init__(self, tables, dtype):
        super().__init__(tables, dtype)
        self.gathered = self.V
        self.height = matmul.padded(self.F * self.M)
        self.geometry = (self.at["P"] - self.at["G"]) // self.L
        self.medium = self.d + 2 + 2 * len(self.P) + self.d * self.M * self.needs_x          # first row of parameters at points
        self.E = self.medium + 2 * len(self.smooth) * self.M
        for name, rows in (("E", self.E), ("C", 2 * self.V)):
            self.at[name], self.size = self.size * self.L, self.size + rows

    def products(self):
        return super().products() | {"differentiate": (self.N, self.W), "lift": (self.N, self.F * self.M)}

    def stage_text(self, calls=3):
        """The kernels of a stage; calls: how many of them are called, fewer to see how long they take."""
        scratch, states, metrics, mass = ("faces, tendency", "state, out, register, start", "geometry, tiled_values",
                                          "mass_I, mass_P")
        factors = "reads_k, keeps_k, reads_q0, A, alpha, beta, B, wdt, C, v_, u_"
        of_edges = "kinds, numbers, left, right, rows, outside, table, face_numbers"
        work = [f"volume(piece, first, last, w, {scratch}, halo_start, halo, state, D, I, T, {metrics}, t)",
                f"edges(edge_start[piece], edge_start[piece + 1], first, w, faces, {states}, {of_edges}, t)",
                f"update(size, first, last, w, {scratch}, {states}, EL, {mass}, {metrics}, owned, t, {factors})"]
        arguments = f"""{self.scratch}, halo_start, halo, {states}, D, EL, I, T, {mass}, {metrics},
           edge_start, {of_edges}, owned, {CLOCK}"""
        return self.module("a Runge-Kutta stage by edges", arguments, [*TIMES, *work[:calls]], before=f"""

@njit(**OPTIONS)
def volume(piece, first, last, w, {scratch}, halo_start, halo, state, D, I, T, {metrics}, t):
{block(self.around(), 1)}
    place = 0
    for tile in range(first, last):
{block(self.volume_and_traces(), 2)}
        place += 1
    for around in range(halo_start[piece], halo_start[piece + 1]):
{block(self.traces_around(), 2)}
        place += 1


@njit(**OPTIONS)
def edges(first, last, begin, w, faces, {states}, {of_edges}, t):
    for edge in range(first, last):
{block(self.edge(), 2)}


@njit(**OPTIONS)
def update(size, first, last, w, {scratch}, {states}, EL, {mass}, {metrics}, owned, t, {factors}):
    place = 0
    for tile in range(first, last):
{block(self.right_hand_side(), 2)}
        place += 1
""", extra=[f"scatter = vector.scatter({self.V}, np.{self.dtype})"])

    def of_variable(self, height):
        """Text of where the rows of variable v in place `place` of a piece's array begin, with so many rows a variable."""
        return f"(place*{self.V} + v)*{height * self.L}"

    def volume_and_traces(self):
        """Lines that put a tile's values at its face points into `faces`, its integrals over the volume into `tendency`."""
        L, N, V, at, padded = self.L, self.N, self.V, self.at, matmul.padded
        here = f"state, (tile*{V} + v)*{N * L}"
        return [*self.load_numbers(),
                f"prefetch(geometry, (tile + 1)*{self.geometry * L}, {self.cache_lines(self.d * self.d)})",
                f"for v in range({V}):",
                f"    trace(T, 0, {here}, faces, {self.of_variable(self.height)})",
                f"    interpolate(I, 0, {here}, w, {at['BQ']} + v*{padded(self.B) * L})",
                *self.prefetch_around(),
                *self.fluxes(),
                f"for v in range({V}):",
                f"    differentiate(D, 0, w, {at['RHS']} + v*{self.column * L}, tendency, {self.of_variable(padded(N))})"]

    def load_numbers(self):
        """Lines that copy what the volume needs of a tile beside the state: gradients, positions, parameters."""
        rows, positions, lines = self.geometry, self.d * self.d + self.F * (self.d + 1), []
        for first, last in ((0, self.d * self.d), (positions, rows)):
            if last > first:
                lines += [f"for row in range({first}, {last}):",
                          f"    copy(geometry, (tile*{rows} + row)*{self.L}, w, {self.at['G']} + row*{self.L})"]
        return lines + (self.load("tiled_values", self.values_rows, "P") if self.P else [])

    def traces_around(self):
        """Lines that put the values at the face points of a tile of elements around the piece into `faces`."""
        L, N, V = self.L, self.N, self.V
        return [f"for i in range({V * N}):", f"    for lane in range({L}):",
                f"        w[{self.at['Q']} + i*{L} + lane] = state[halo[around*{L} + lane] + i*{L}]",
                f"for v in range({V}):",
                f"    trace(T, 0, w, {self.at['Q']} + v*{N * L}, faces, {self.of_variable(self.height)})"]

    def edge(self):
        """Lines for L edges inside the mesh (kind 0), or for so many edges at the boundary; they ask for the arrays that the
        update of this piece goes through."""
        d, P, M, V, L, asked = self.d, len(self.P), self.M, self.V, self.L, self.prefetch_at_edges(UPDATED)
        places = dict(n=("E", 0, "", 1), s=("E", d, "", 1), x=("E", d + 2 + 2 * P, f" + j*{d * L}", 1))
        inside = self.over_lanes(self.t.physics.functions.pair, [self.lane("C", i) for i in range(2 * V)], l=("QL", 0, "", 1),
                                 r=("QR", 0, "", 1), ml=self.of_side(0), mr=self.of_side(1), **places)
        return [f"prefetch(numbers, (edge + 2)*{self.E * L}, {self.cache_lines(self.E)})",
                "if kinds[edge] > 0:", f"    for j in range({M}):", *indented(asked, 2),
                "    for lane in range(kinds[edge]):",
                f"        row, at = rows[edge*{L} + lane], left[edge*{M * L} + lane]",
                f"        condition(table, outside[2*row], faces, at, {self.height * L}, faces, at, {self.height * L},",
                f"                  IN_ORDER, 0, face_numbers, outside[2*row + 1], {M}, t)",
                "else:", f"    for row in range({self.E}):",
                f"        copy(numbers, (edge*{self.E} + row)*{L}, w, {self.at['E']} + row*{L})",
                *indented(self.at_edge(inside, asked))]

    def definitions(self):
        return [*super().definitions(), f"IN_ORDER = np.arange({self.M})"]

    def of_side(self, side):
        """{name: row} of the parameters at point j of an edge, on its left (0) or right side (1)."""
        constant, smooth = self.d + 2 + side * len(self.P), self.medium + side * len(self.smooth) * self.M
        return {name: self.lane("E", constant + i) for i, name in enumerate(self.P)} | {
            name: self.lane("E", smooth + i * self.M, f" + j*{self.L}") for i, name in enumerate(self.smooth)}

    def prefetch_at_edges(self, arrays):
        """Lines, in loops over the edges of a piece and their points, that ask for its part of these arrays: F / 2 vectors of
        edges belong to a tile, or more."""
        return self.prefetch_part(arrays, "begin", f"(edge - first)*{self.M} + j", self.F * self.M / 2)

    def at_edge(self, body, asked):
        """Lines that evaluate a function at the points of L edges and put its values in the places of what they came from."""
        L, V, stride = self.L, self.V, self.height * self.L
        sides = ("left", "right")
        gathers = [f"gather_q(faces, {stride}, {side}, at, w, {self.at[name]})" for side, name in zip(sides, ("QL", "QR"))]
        scatters = [f"scatter(w, {self.at['C'] + i * V * L}, faces, {stride}, {side}, at)" for i, side in enumerate(sides)]
        asks, lines = iter(asked), [f"for j in range({self.M}):", f"    at = (edge*{self.M} + j)*{L}"]
        for moves, rest in ((gathers, body), (scatters, [])):
            for move in moves:
                lines += indented([move, *islice(asks, 1)])
            lines += indented(rest)
        return [*lines, *indented(asks)]

    def right_hand_side(self):
        """Lines that lift what the edges contribute, add it to the volume's, and update the registers."""
        L, N, V, padded = self.L, self.N, self.V, matmul.padded(self.N)
        # Lanes beyond the last element have its fluxes, and its state but for rounding, which may grow: nobody reads them.
        lines = [f"filled = owned - tile*{L}", f"if filled < {L}:", f"    for i in range({V * self.height}):",
                 f"        for lane in range(filled, {L}):",
                 f"            faces[(place*{V * self.height} + i)*{L} + lane] = faces[(place*{V * self.height} + i)*{L} "
                 "+ filled - 1]",
                 f"for v in range({V}):", f"    for i in range({padded}):",
                 f"        copy(tendency, {self.of_variable(padded)} + i*{L}, w, {self.at['R']} + (v*{padded} + i)*{L})",
                 f"    lift(EL, 0, faces, {self.of_variable(self.height)}, w, {self.at['R']} + v*{padded * L})",
                 *self.prefetch_tile("state", "tile + size")]
        finish = self.finished()
        lines += self.load("state", V * N, "Q")
        if finish:
            lines += self.load_numbers()
        return [*lines, *finish, *self.update()]


def block(lines, levels):
    return indent("\n".join(lines), "    " * levels)
