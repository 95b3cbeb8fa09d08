"""Text of the fused limiter's kernels on tiles, see `dgarray.methods.dg.limiter` for the formulas.

Three kernels at most, one after the other: `prepare` keeps of each element what others look at, where that is not its averages;
`extremes` finds the largest and least around each vertex; `limit` changes a tile in place.  The last reads nothing of other
elements but what the first two have kept and averages, which nobody changes, so tiles are limited in any order.
"""
from copy import copy

from ....physics.codegen import Python
from ..dg.tile_source import indented
from ..simd import matmul
from . import degrees as limiter_degrees
from . import slopes as limiter_slopes
from . import variables as limiter_variables
from .positivity_source import positivity


class LimiterSource:
    """Text of the kernels; `tile` is the stage's Source with rows of its own.

    A kernel is called with (first tile, last tile, scratch, state) and the arrays of the names that its text gives:
    kept [tile, row, lane]        what `prepare` has kept: `means` rows of what the extremes are of, then the averages over the
                                  faces of the variables that the indicator looks at
    extremes [vertex tile, 2 * means, lane]     largest and least
    across [tile, face, lane]     where the averages of the neighbours lie in the state, or those kept
    beside                        where they lie in the state, for the indicator;  beyond: where the face's average lies in kept
    outer_start (tile,), outer_lanes    lanes of the elements at the boundary, those of tile i from outer_start[i] on;
                                  outer_faces: which of their faces are
    vertices [tile, vertex, lane] where a vertex lies in `extremes`, or its number;  outer: whether it is at the boundary
    around                        where the averages around vertices lie, [vertex tile, place, lane] or [place, vertex];
                                  around_counts: how many places a tile has
    derivatives, means, averages  the factors of products"""

    def __init__(self, source, limits, floor):
        self.tile = s = copy(source)
        s.dialect = Python(str(s.dtype))          # constants of its own: the stage's text does not depend on it
        s.contract = True                         # parts of a mesh have no limiters
        self.limits, self.options, self.floor = limits, limits.options, floor
        self.d, self.V, self.N, self.L = s.d, s.V, s.N, s.L
        self.K = s.d + 1
        self.vertex = self.options.around
        self.variables = self.options.variables
        self.degrees = limiter_degrees.Degrees(limits) if self.vertex and limits.order > 1 else None
        self.means = len(self.degrees.parts) * s.V if self.degrees else s.V if self.variables == "primitive" else 0
        self.sensed = limits.sensors if self.options.indicator else []
        self.kept = self.means + self.K * len(self.sensed)
        self.in_place = (not self.vertex and self.variables == "conserved" and not self.options.positivity and not self.sensed
                         and bool(self.options.limiter))
        self.needs_geometry = self.degrees is not None or self.variables == "characteristic"
        s.at, s.size = {}, 0
        rows = {"Q": s.V * s.N, "P": len(s.P), "G": s.d * s.d, "SENSE": 1, "CHANGED": 1}
        if self.options.limiter:
            rows |= limiter_slopes.rows(self)
        if self.kept:
            rows |= {"KEPT": self.kept + matmul.padded(self.K), "OTHER": len(self.sensed)}
        if self.degrees:
            rows |= self.degrees.rows(matmul.padded)
        if self.options.positivity:
            rows |= {"BQ": s.V * matmul.padded(s.B), "T": s.V * matmul.padded(s.F * s.M), "QL": s.V, "QR": s.V, "S": 3}
        for name, number in rows.items():
            s.at[name], s.size = s.size * s.L, s.size + number

    @property
    def own(self):
        """(array, place) of a tile's state, for those that limit its slopes."""
        return ("state", f"tile*{self.V * self.N * self.L}") if self.in_place else ("w", self.tile.at["Q"])

    def row(self, name, number):
        """Text of one lane of a row of the scratch array."""
        return self.tile.lane(name, number)

    def passes(self):
        """The kernels in the order in which they are called: {name: (text, names of the arrays)}."""
        result = {}
        if self.kept:
            result["prepare"] = self.prepare()
        if self.vertex and self.variables != "characteristic":
            result["extremes"] = self.extremes()
        return result | {"limit": self.limit()}

    def load(self, geometry=True):
        """Lines that copy a tile, and what its limiting reads, into the scratch array."""
        s, L = self.tile, self.L
        first = s.d * s.d + s.F * (s.d + 1) + (s.d + s.d * s.d if s.needs_x else 0)
        return [*s.load("state", s.V * s.N, "Q"), *(s.load("tiled_values", len(s.P), "P") if s.P else []),
                *([f"for row in range({s.d * s.d}):",
                   f"    copy(geometry, (tile*{first} + row)*{L}, w, {s.at['G']} + row*{L})"] if geometry else [])]

    def text(self, what, names, lines, extra=()):
        """A module with one kernel over tiles, and the names of its arrays."""
        return self.tile.module(what, f"w, state, {', '.join(names)}", ["for tile in range(first, last):", *indented(lines)],
                                extra), names

    def product(self, name, rows):
        return f"{name}_product = matmul.multiply({rows}, {self.N}, np.{self.tile.dtype})"

    def prepare(self):
        s, L, extra, lines = self.tile, self.L, [], self.load(self.degrees is not None)
        if self.degrees:
            extra += [self.product("means", len(self.degrees.reference)), *self.degrees.tables()]
            lines += self.degrees.keep_means(self)
        elif self.means:
            lines += limiter_variables.keep_primitive_means(self)
        if self.sensed:
            extra.append(self.product("averages", self.K))
        for i, v in enumerate(self.sensed):
            lines.append(f"averages_product(averages, 0, w, {s.at['Q'] + v * self.N * L}, w, "
                         f"{s.at['KEPT'] + (self.means + i * self.K) * L})")
        lines += [f"for row in range({self.kept}):",
                  f"    copy(w, {s.at['KEPT']} + row*{L}, kept, (tile*{self.kept} + row)*{L})"]
        return self.text("what limiting an element needs of others",
                         ["kept", "means", "averages", "geometry", "tiled_values"], lines, extra)

    def extremes(self):
        """Tiles of vertices: their elements one after the other, filled up with the first of each."""
        L, at, (array, stride, rows) = self.L, self.tile.at, self.source_of_means
        high, low = (f"w[{at['HIGH'] + i * L} + lane]" for i in (0, 1))
        value = f"{array}[around[tile, c, lane] + row*{stride}]"
        lines = [f"for row in range({rows}):", "    c = 0",
                 *indented(self.tile.lanes([f"{high} = {value}", f"{low} = {high}"])),
                 "    for c in range(1, around_counts[tile]):",
                 *indented(self.tile.lanes([f"value = {value}", f"{high} = select(value > {high}, value, {high})",
                                            f"{low} = select(value < {low}, value, {low})"]), 2),
                 *(f"    copy(w, {at['HIGH'] + i * L}, extremes, (tile*{2 * rows} + 2*row + {i})*{L})" for i in (0, 1))]
        return self.text("the extremes around vertices", ["kept", "extremes", "around", "around_counts"], lines)

    @property
    def source_of_means(self):
        """(array, step from one to the next, how many) of the averages that others look at."""
        return ("kept", self.L, self.means) if self.means else ("state", self.N * self.L, self.V)

    def limit(self):
        s, L, extra, names = self.tile, self.L, [], ["geometry", "tiled_values"]
        positive, slopes = [], []
        if self.options.positivity:
            positive, names = positivity(s, self.limits, self.floor), [*names, "I", "T"]
        if self.options.limiter:
            names += ["kept"] if self.kept else []
            if self.degrees:
                slopes, more = self.degrees.limit(self), ["derivatives", "extremes", "vertices", "outer"]
                extra += [self.product("derivatives", len(self.degrees.reference) * self.K), *self.degrees.tables()]
            else:
                slopes, more = limiter_slopes.limit(self)
                extra += limiter_slopes.extra(self)
            names += more
        if self.sensed:
            names, slopes = [*names, "beside", "beyond", "threshold"], [*self.sense(), "if touched > 0:", *indented(slopes)]
            extra.append(f"gather_sensed = vector.gather({len(self.sensed)}, np.{s.dtype})")
            extra.append(f"gather_one = vector.gather(1, np.{s.dtype})")
        if self.in_place:
            return self.text("limiting a state", names, ["changed = False", *slopes], extra)
        size = self.V * self.N
        lines = [*self.load(self.needs_geometry), "changed = False", *slopes, *positive, "if changed:",
                 f"    for row in range({size}):",
                 f"        copy(w, {s.at['Q']} + row*{L}, state, (tile*{size} + row)*{L})"]
        return self.text("limiting a state", names, lines, extra)

    def sense(self):
        """Lines that find where the state is not smooth: the row SENSE, and how many they are."""
        s, L, at = self.tile, self.L, self.tile.at
        zero, one, unit = (s.dialect.literal(value) for value in (0.0, 1.0, self.limits.unit))
        sense, limit = f"w[{at['SENSE']} + lane]", f"threshold[tile*{L} + lane]*{unit}"
        lines = ["touched = 0", *s.lanes([f"{sense} = {zero}"]), f"for f in range({self.K}):",
                 f"    gather_sensed(kept, {self.K * L}, beyond, (tile*{self.K} + f)*{L}, w, {at['OTHER']})"]
        for i in range(len(self.sensed)):
            jump, other = f"w[{at['JUMP'] + i * L} + lane]", f"w[{at['OTHER'] + i * L} + lane]"
            own = f"kept[(tile*{self.kept} + {self.means + i * self.K} + f)*{L} + lane]"
            lines += indented(s.lanes([f"jump = fabs({own} - {other})",
                                       f"{jump} = select((f == 0) | (jump > {jump}), jump, {jump})"]))
        for i, v in enumerate(self.sensed):
            jump, other, size = f"w[{at['JUMP'] + i * L} + lane]", f"w[{at['OTHER']} + lane]", f"w[{at['CHANGED']} + lane]"
            lines += [*s.lanes([f"{size} = fabs(w[{at['Q'] + v * self.N * L} + lane])"]), f"for f in range({self.K}):",
                      f"    gather_one(state[{v * self.N * L}:], {L}, beside, (tile*{self.K} + f)*{L}, w, {at['OTHER']})",
                      *indented(s.lanes([f"mean = fabs({other})", f"{size} = select(mean > {size}, mean, {size})"])),
                      *s.lanes([f"{sense} = select({jump} > {size}*{limit}, {one}, {sense})"])]
        return [*lines, *s.lanes([f"touched += {sense} > {zero}"])]
