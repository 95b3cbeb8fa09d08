"""Text of the edge-wise kernels of modal DG: volume, edges, right-hand side.

They follow each other on a piece of tiles while its values are in the second-level cache.  `faces` holds first the values at
the face points of the piece's elements and of those around it; each edge takes those of its two sides and puts in their places
what the edge contributes to both, s (-F*), so that the products that lift it find it where the element wants it.
"""
from itertools import islice
from textwrap import indent

from ..simd import matmul
from .stage_source import StageSource
from .tile_source import indented


class EdgeSource(StageSource):
    """As `StageSource`, with three kernels for a stage, and one that calls them for one piece after the other.

    An edge, or a face in 3D, has E numbers: its normal, the scales of both sides, the parameters of both, where the physics
    wants it the position of its points, parameters that vary inside of elements at the points of both sides, and what
    conditions of the boundary know of it."""

    added, scratch = ("lift",), "w, faces, tendency"

    def __init__(self, tables, dtype, needs_x):
        super().__init__(tables, dtype, needs_x)
        self.height = matmul.padded(self.F * self.M)
        self.geometry = (self.at["P"] - self.at["G"]) // self.L
        self.medium = self.d + 2 + 2 * len(self.P) + self.d * self.M * needs_x          # first row of parameters at points
        self.known = self.medium + 2 * len(self.smooth) * self.M
        self.E = self.known + self.per_face
        for name, rows in (("E", self.E), ("C", 2 * self.V)):
            self.at[name], self.size = self.size * self.L, self.size + rows

    def products(self):
        return super().products() | {"differentiate": (self.N, self.W), "lift": (self.N, self.F * self.M)}

    def of_face(self, number):
        return self.lane("E", self.known + number)

    def stage_text(self, k, q0, q, r, calls=3):
        """The kernels of a stage; which of register k, q0, q and r the update uses; calls: how many kernels are called, fewer
        to see how long they take."""
        names = "faces, tendency", "state, out, register, start", "geometry, tiled_values", "A, alpha, beta, B, wdt, C, v_"
        (scratch, states, metrics, factors), mass = names, "mass_I, mass_P"
        work = [f"volume(piece, first, last, w, {scratch}, halo_start, halo, state, D, I, T, {metrics}, t)",
                  f"edges(edge_start[piece], edge_start[piece + 1], first, w, faces, {states}, kinds, numbers, left, right, t)",
                  f"update(size, first, last, w, {scratch}, {states}, EL, {mass}, {metrics}, owned, t, {factors})"][:calls]
        arguments = f"""{self.scratch}, halo_start, halo, {states}, D, EL, I, T, {mass}, {metrics},
           edge_start, kinds, numbers, left, right, owned, t, {factors}"""
        return self.module("a Runge-Kutta stage by edges", arguments, work, before=f"""

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
def edges(first, last, begin, w, faces, {states}, kinds, numbers, left, right, t):
    for edge in range(first, last):
{block(self.edge(["out"] + ["register"] * k + ["start"] * q0), 2)}


@njit(**OPTIONS)
def update(size, first, last, w, {scratch}, {states}, EL, {mass}, {metrics}, owned, t, {factors}):
    place = 0
    for tile in range(first, last):
{block(self.right_hand_side(k, q0, q, r), 2)}
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

    def edge(self, arrays):
        """Lines for L edges of one kind: inside the mesh, or of one group of the boundary, which come first; they ask for the
        arrays that the update of this piece goes through."""
        d, P, groups, asked = self.d, len(self.P), self.t.groups, self.prefetch_at_edges(arrays)
        scales, parameters = d, d + 2
        places = dict(n=("E", 0, "", 1), s=("E", scales, "", 1), x=("E", parameters + 2 * P, f" + j*{d * self.L}", 1))
        inside = self.at_edge(self.t.functions.pair, 2, asked, places | dict(
            l=("QL", 0, "", 1), r=("QR", 0, "", 1), ml=self.of_side(0), mr=self.of_side(1)))
        lines = [f"prefetch(numbers, (edge + 2)*{self.E * self.L}, {self.cache_lines(self.E)})",
                 f"for row in range({self.E}):",
                 f"    copy(numbers, (edge*{self.E} + row)*{self.L}, w, {self.at['E']} + row*{self.L})",
                 "kind = kinds[edge]", f"if kind == {len(groups)}:", *indented(inside)]
        for number, group in enumerate(groups):
            own = dict(q=("QL", 0, "", 1), m=self.of_side(0), face=list(group.values))
            lines += [f"elif kind == {number}:", *indented(self.at_edge(group.jump, 1, asked, places | own))]
        return lines

    def of_side(self, side):
        """{name: row} of the parameters at point j of an edge, on its left (0) or right side (1)."""
        constant, smooth = self.d + 2 + side * len(self.P), self.medium + side * len(self.smooth) * self.M
        return {name: self.lane("E", constant + i) for i, name in enumerate(self.P)} | {
            name: self.lane("E", smooth + i * self.M, f" + j*{self.L}") for i, name in enumerate(self.smooth)}

    def prefetch_at_edges(self, arrays):
        """Lines, in loops over the edges of a piece and their points, that ask for its part of these arrays: F / 2 vectors of
        edges belong to a tile, or more."""
        return self.prefetch_part(arrays, "begin", f"(edge - first)*{self.M} + j", self.F * self.M / 2)

    def at_edge(self, function, sides, asked, places):
        """Lines that evaluate a function at the points of L edges and put its values in the places of what they came from."""
        L, V, stride = self.L, self.V, self.height * self.L
        sides = ("left", "right")[:sides]
        body = self.over_lanes(function, [self.lane("C", i) for i in range(V * len(sides))], **places)
        gathers = [f"gather_q(faces, {stride}, {side}, at, w, {self.at[name]})" for side, name in zip(sides, ("QL", "QR"))]
        scatters = [f"scatter(w, {self.at['C'] + i * V * L}, faces, {stride}, {side}, at)" for i, side in enumerate(sides)]
        asks, lines = iter(asked), [f"for j in range({self.M}):", f"    at = (edge*{self.M} + j)*{L}"]
        for moves, rest in ((gathers, body), (scatters, [])):
            for move in moves:
                lines += indented([move, *islice(asks, 1)])
            lines += indented(rest)
        return [*lines, *indented(asks)]

    def right_hand_side(self, k, q0, q, r):
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
        if q or (q0 and k) or finish:
            lines += self.load("state", V * N, "Q")
        if finish:
            lines += self.load_numbers()
        return [*lines, *finish, *self.update(k, q0, q, r)]


def block(lines, levels):
    return indent("\n".join(lines), "    " * levels)
