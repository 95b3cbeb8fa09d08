"""Kernels of the limiter on tiles: the flow of `dgarray.methods.dg.limiters` as text, its functions as compiled code.

Three kernels at most, one after the other: `keep` keeps what limiting other elements reads, where that is not averages;
`extremes` finds the largest and least around each vertex; `limit` changes a tile in place.  The last reads nothing of other
elements but what the first two have kept and averages, which nobody changes, so tiles are limited in any order.
"""
from contextlib import contextmanager
from copy import copy
from math import prod

from ....methods.dg.limiters.limiter import Block
from ....physics.codegen import Python
from ....physics.run_time_numbers import with_numbers
from ..dg.kernel_source import Lane, indented
from ..simd import matmul

GATHERED = 10            # vectors that are put together at a time: more do not stay in registers


class LimiterSource:
    """Texts of the kernels of a `Limiter`; source: that of the stage.

    A kernel is called with (first tile, last tile, scratch, state) and the arrays of the names that its text gives:
    geometry, tiled_values, I, T  as the stage's
    kept_<name> [tile, row, lane] what `keep` keeps;  extremes [vertex tile, 2 * row, lane]
    <list>_in_<array>             where that lies which is read: [tile, place, lane];  around_counts: how many places of a tile
                                  of vertices there are before the first elements come again
    numbers, around               numbers of the vertices in tiles, and where averages around them lie, [place, vertex]
    of_<name>                     rows of the limits, outer or threshold;  by_<name>: factor of a product, packed
    constants_<kernel>            of the functions that take the law's parameters; their values are in `constants`"""

    @staticmethod
    def tile_of(source, limiter):
        return Tile(source, limiter)

    def __init__(self, source, limiter):
        self.tile, self.limiter, self.size, self.constants = source, limiter, 1, {}
        self.texts = {}
        if limiter.kept:
            self.texts["keep"] = self.over_tiles("keep", "what limiting an element needs of others")
        if limiter.around_vertices:
            self.texts["extremes"] = self.extremes()
        self.texts["limit"] = self.over_tiles("limit", "limiting a state")

    def over_tiles(self, kernel, what):
        """(text, names of the arrays) of a kernel that does what the method of this name of the limiter says."""
        e = self.tile_of(self.tile, self.limiter)
        getattr(self.limiter, kernel)(e)
        self.constants[kernel] = e.constants
        return self.module(e, what, [*e.load(), *e.lines, *e.write()], e.load_constants(f"constants_{kernel}"))

    def module(self, e, what, lines, begin=()):
        self.size = max(self.size, e.size)
        work = [*begin, "for tile in range(first, last):", *indented(lines)]
        text = e.tile.module(what, f"w, state, {', '.join(e.names)}", work,
                             [f"{name} = {definition}" for name, definition in e.definitions.items()])
        return text, list(e.names)

    def extremes(self):
        """Tiles of vertices: their elements one after the other, filled up with the first of each."""
        e, L = Tile(self.tile, self.limiter), self.tile.L
        array, stride, rows = e.array_of(self.limiter.means)
        step = stride if array == "state" else 1
        places, counts = e.name(f"around_in_{self.limiter.means}"), e.name("around_counts")
        result, (high, low) = e.name("extremes"), e.temporary(2)
        value = f"{array}[{places}[tile, c, lane] + row*{step * L}]"
        lines = [f"for row in range({rows}):", "    c = 0", *indented(e.tile.lanes([f"{high} = {value}", f"{low} = {high}"])),
                 f"    for c in range(1, {counts}[tile]):",
                 *indented(e.tile.lanes([f"value = {value}", f"{high} = select(value > {high}, value, {high})",
                                         f"{low} = select(value < {low}, value, {low})"]), 2),
                 f"    copy(w, {high.at}, {result}, (tile*{2 * rows} + 2*row)*{L})",
                 f"    copy(w, {low.at}, {result}, (tile*{2 * rows} + 2*row + 1)*{L})"]
        return self.module(e, "the extremes around vertices", lines)


class Tile:
    """A tile of elements, as `Limiter` sees one: what it asks for becomes lines of text, rows lie in the scratch array w."""

    def __init__(self, source, limiter):
        self.tile = s = copy(source)
        s.dialect, s.functions = Python(str(s.dtype)), {}          # of its own: the stage's text does not depend on it
        s.with_numbers = {}                                        # its scratch array is not that of the stage
        self.limiter, self.V, self.N, self.L = limiter, s.V, s.N, s.L
        self.lines, self.level, self.size, self.names, self.definitions = [], 0, 0, {}, {}
        self.uses_geometry, self.changes, self.constants, self.rows_of_constants = False, False, [], []
        s.at = {"C0": 0} | {name: self.allocate(rows) for name, rows in (("Q", s.V * s.N), ("P", len(s.P)), ("G", s.d * s.d))}
        self.state = self.rows_of("Q", s.V, s.N)
        self.kept, self.stored = {}, {}
        for name, (variables, rows) in limiter.kept.items():
            s.at[name] = self.allocate(variables * rows)
            self.kept[name] = self.rows_of(name, variables, rows)

    # Text and the scratch array.

    def emit(self, *lines):
        self.lines += indented(lines, self.level)

    def name(self, array):
        """Ask for an array."""
        self.names[array] = None
        return array

    def define(self, name, definition):
        self.definitions[name] = definition
        return name

    def allocate(self, rows):
        """Where so many new rows begin in the scratch array."""
        first, self.size = self.size, self.size + rows
        return first * self.L

    def temporary(self, rows):
        at = self.allocate(rows)
        return [Lane(at + i * self.L) for i in range(rows)]

    def block(self, at, variables, stride, offsets):
        """The `Block` of rows that begin at `at`, those of a variable at these offsets, `stride` rows after the one before."""
        def rows(v):
            step = f" + v*{stride * self.L}" if v == "v" else ""
            return [Lane(at + (offset + (0 if step else v * stride)) * self.L, step) for offset in offsets]
        return Block(variables, rows)

    def rows_of(self, name, variables, rows):
        return self.block(self.tile.at[name], variables, rows, range(rows))

    def over_lanes(self, function, targets, **places):
        """Lines that evaluate a function in all lanes. If it takes the law's parameters its constants come at run time."""
        s = self.tile
        if "m" in function.inputs and function not in s.with_numbers:
            evaluated = with_numbers(function)
            s.with_numbers[function] = evaluated, self.allocate(len(evaluated.values)) // self.L
            self.constants += evaluated.values
            self.rows_of_constants += range(self.size - len(evaluated.values), self.size)
        return s.over_lanes(function, targets, **places)

    def load_constants(self, array):
        """Lines that put the constants of the functions into their rows, which other kernels have used for something else."""
        return [line for i, row in enumerate(self.rows_of_constants)
                for line in self.tile.lanes([f"{Lane(row * self.L)} = {self.name(array)}[{i}]"])]

    def load(self):
        """Lines that copy a tile, and what its limiting reads, into the scratch array."""
        s, L = self.tile, self.L
        values = s.load(self.name("tiled_values"), len(s.P), "P", s.values_rows) if s.P else []
        lines = [*s.load("state", s.V * s.N, "Q"), *values]
        if self.uses_geometry:
            lines += [f"for row in range({s.d * s.d}):",
                      f"    copy({self.name('geometry')}, (tile*{s.geometry_rows} + row)*{L}, w, {s.at['G']} + row*{L})"]
        if self.changes and "averages" in self.kept:
            lines += s.load(self.name("kept_averages"), prod(self.limiter.kept["averages"]), "averages")
        return [*lines, "changed = False"] if self.changes else lines

    def write(self):
        """Lines that copy back what has changed."""
        s, L, lines = self.tile, self.L, []
        for name in self.stored:
            rows = prod(self.limiter.kept[name])
            lines += [f"for row in range({rows}):",
                      f"    copy(w, {s.at[name]} + row*{L}, {self.name('kept_' + name)}, (tile*{rows} + row)*{L})"]
        size = self.V * self.N
        return lines + ["if changed:", f"    for row in range({size}):",
                        f"        copy(w, {s.at['Q']} + row*{L}, state, (tile*{size} + row)*{L})"] * self.changes

    def note_change(self):
        self.changes = True
        self.emit("changed = True")

    # The attributes that a `Limiter` asks for.

    @property
    def g(self):
        self.uses_geometry = True
        return [Lane(self.tile.at["G"] + i * self.L) for i in range(self.tile.d ** 2)]

    m = None

    def rows(self, name):
        count = self.count(name)
        rows = self.temporary(count)
        array = self.name(f"of_{name}")
        self.emit(*(f"copy({array}, (tile*{count} + {i})*{self.L}, w, {row.at})" for i, row in enumerate(rows)))
        return rows

    def count(self, name):
        """How many rows of the limits, or elements or vertices of a list, an element has."""
        return 1 if name == "threshold" else self.tile.F

    def each(self):
        self.emit(f"for v in range({self.V}):")
        self.level += 1
        yield "v"
        self.level -= 1

    @contextmanager
    def where(self, row):
        zero = self.tile.dialect.literal(0.0)
        self.emit("count = 0", *self.tile.lanes([f"count += {row} > {zero}"]), "if count > 0:")
        self.level += 1
        yield
        self.level -= 1

    def __call__(self, function, into=None, **rows):
        counts = {name: value if name == "m" else len(value) for name, value in rows.items()}
        function = self.limiter.function(function, **counts)
        result = into or self.temporary(len(function.graph.outputs))
        m = {"m": ("P", 0, "", 1)} if "m" in rows else {}
        self.emit(*self.over_lanes(function, result, **rows | m))
        return result

    def keep(self, name, rows, v=None):
        into = self.kept[name].all if v is None else self.kept[name][v]
        self.emit(*(f"copy(w, {row.at}{row.step}, w, {place.at}{place.step})" for place, row in zip(into, rows)))
        self.stored[name] = None

    def change(self, function, v=None, **rows):
        self(function, [row for i in (range(self.V) if v is None else [v]) for row in self.state[i][1:]], **rows)
        self.note_change()

    def product(self, name, rows):
        matrix = self.limiter.matrices[name]
        function = self.define(f"{name}_product", f"matmul.multiply({len(matrix)}, {self.N}, np.{self.tile.dtype})")
        result = self.temporary(matmul.padded(len(matrix)))[:len(matrix)]
        self.emit(f"{function}({self.name('by_' + name)}, 0, w, {rows[0].at}{rows[0].step}, w, {result[0].at})")
        return result

    def array_of(self, source):
        """(array, rows from one variable to the next, rows in all) of what limiting other elements reads."""
        if source == "state":
            return "state", self.N, self.V
        if source == "extremes":
            rows = 2 * self.limiter.rows_of_means
            return self.name("extremes"), rows, self.V * rows
        variables, rows = self.limiter.kept[source]
        return self.name(f"kept_{source}"), rows, variables * rows

    def take(self, name, source):
        array, stride, rows = self.array_of(source)
        places, K, L = self.name(f"{name}_in_{source}"), self.count(name), self.L
        one = source in ("state", "averages")          # row of a variable; those of averages are among the places
        variables = self.limiter.kept[source][0] if source == "averages" else self.V
        each, step = (1, stride) if one else (stride, 1)
        count = variables * each
        at = self.allocate(K * count)
        for i in range(K):
            for first in range(0, count, GATHERED):
                some = min(GATHERED, count - first)
                gather = self.define(f"gather_{some}", f"vector.gather({some}, np.{self.tile.dtype})")
                start, to = f"[{first * step * L}:]" if first else "", at + (i * count + first) * L
                self.emit(f"{gather}({array}{start}, {step * L}, {places}, (tile*{K} + {i})*{L}, w, {to})")
        return self.block(at, variables, each, [i * count + row for i in range(K) for row in range(each)])

    def least(self, function, start):
        s, L, V = self.tile, self.L, self.V
        function, least = self.limiter.function(function, q=V, least=1, m=None), self.temporary(1)
        used = sorted({number for argument, number in function.used.values() if argument == "q"})
        self.emit(f"copy(w, {start[0].at}, w, {least[0].at})")
        for product, matrix, count in (("interpolate", "I", s.B), ("trace", "T", s.F * s.M)):
            height = matmul.padded(count)
            s.at["VALUES"] = at = self.allocate(V * height)
            self.emit(*(f"{product}({self.name(matrix)}, 0, w, {s.at['Q'] + v * self.N * L}, w, {at + v * height * L})"
                        for v in used))
            lines = self.over_lanes(function, least, q=("VALUES", 0, f" + i*{L}", height), least=least, m=("P", 0, "", 1))
            self.emit(f"for i in range({count}):", *indented(lines))
        self.least_beside(function, used, least)
        return least

    def least_beside(self, function, used, least):
        """Lines that go on with `least` at the points beside; used: numbers of the variables that the function reads."""
        s, L, V = self.tile, self.L, self.V
        for name, matrix in self.limiter.beside.items():
            height = matmul.padded(len(matrix))
            product = self.define(f"{name}_product", f"matmul.multiply({len(matrix)}, {self.N}, np.{s.dtype})")
            s.at["BESIDE"] = at = s.at.get("BESIDE") or self.allocate(V * height)
            self.emit(*(f"{product}({self.name('by_' + name)}, 0, w, {s.at['Q'] + v * self.N * L}, w, {at + v * height * L})"
                        for v in used))
            lines = self.over_lanes(function, least, q=("BESIDE", 0, f" + i*{L}", height), least=least, m=("P", 0, "", 1))
            self.emit(f"for i in range({len(matrix)}):", *indented(lines))

    def extremes(self, function, own, **rows):
        s, V, L, K = self.tile, self.V, self.L, self.tile.F
        at = self.allocate(2 * V * K)
        beside, waves = self.temporary(V), self.temporary(V)
        place = f"{self.name('around')}[c, {self.name('numbers')}[(tile*{K} + i)*{L} + lane]]"
        body = [f"{row} = state[{place} + {v * self.N * L}]" for v, row in enumerate(beside)]
        given = dict(q=beside, own=own, **rows)
        counts = {name: value if name == "m" else len(value) for name, value in given.items()}
        m = {"m": ("P", 0, "", 1)} if "m" in rows else {}
        update = [*s.lanes(body), *self.over_lanes(self.limiter.function(function, **counts), waves, **given | m)]
        body = []
        for v, value in enumerate(waves):
            high, low = (Lane(at + (v * 2 * K + j) * L, f" + i*{2 * L}") for j in (0, 1))
            body += [f"value = {value}", f"{high} = select((c == 0) | (value > {high}), value, {high})",
                     f"{low} = select((c == 0) | (value < {low}), value, {low})"]
        self.emit(f"for i in range({K}):", f"    for c in range({self.name('around')}.shape[0]):",
                  *indented([*update, *s.lanes(body)], 2))
        return [Lane(at + i * L) for i in range(2 * V * K)]
