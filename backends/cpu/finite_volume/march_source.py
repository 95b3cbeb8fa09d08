"""Text of kernels that march over the rows of a grid with a few rows in the first-level cache, and sweep them on the way.

A row is a strip of cells along x. Each step of the march loads the next row; then every sweep of a chain does one row of its
own, as many rows behind as it needs to see ahead. So several sweeps, along x and along the rows, read and write the state once.
"""
import re
from copy import copy
from hashlib import sha256
from inspect import getsource

import numpy as np

from ....methods.finite_volume.lines import of_line, ranges
from ....physics.explain import formulas_of
from ....physics.pointwise import Pointwise
from ....physics.run_time_numbers import NUMBER, with_numbers
from .. import shared_loop
from ..dg.kernel_source import indented
from ..simd import boundary, expressions, target, vector
from .cell_parts import parted

KERNELS = sha256("".join(getsource(module) for module in (
    boundary, expressions, shared_loop, vector)).encode()).hexdigest()[:16]

SOON = 4                 # rows ahead that are asked for


class Field:
    """Rows of some components in the scratch array: `depth` rows of the march, in which row r has the place r mod depth."""

    def __init__(self, name, components, depth, first, width):
        self.name, self.components, self.depth, self.first, self.width = name, components, depth, first, width
        self.size = components * depth * width

    def place(self, component, shift=0):
        return self.first + component * self.width + shift

    def slot(self, row):
        """Text: where a row begins, as an offset."""
        size = self.components * self.width
        return "0" if self.depth == 1 else f"({row} + {64 * self.depth}) % {self.depth} * {size}"


def numbered(line):
    """The line with a function whose constants come at run time."""
    line = copy(line)
    line.function = with_numbers(line.function)
    return line


class MarchSource:
    """Text of one kernel, for the chain of sweeps of a pass.

    tables   `GridTables`;  rows: the axis along which rows are counted, 1 or 2; None in 1D
    chain    what is done to each row: "x" and "rows", sweeps along these;  "source": the sources alone;  empty: only a look
    strip    cells of a row at a time"""

    def __init__(self, tables, dtype, rows, chain, strip):
        self.t, self.dtype, self.rows, self.chain, self.strip = tables, np.dtype(dtype), rows, chain, strip
        self.physics, self.ghosts, self.V = tables.physics, tables.ghosts, tables.variables
        self.L = target.lanes(self.dtype)
        self.functions, self.fields, self.size, self.sweeps = {}, {}, 0, {}
        self.with_numbers, self.numbers = {}, []          # {function: (as evaluated, its first constant)}; all constants
        self.halo = self.ghosts * chain.count("x")
        self.width = -(-(strip + 2 * self.halo + self.L) // self.L) * self.L
        periodic = tables.periodic if chain else (False,) * tables.dim          # a look reads no cells beyond its own
        self.periodic_columns, self.open_rows = periodic[0], rows is not None and not periodic[rows]
        self.ahead = 2 * self.ghosts - 1 if self.open_rows else 0

    # The scratch array.

    def field(self, name, components, depth=1):
        """A new field."""
        self.fields[name] = field = Field(name, components, depth, self.size, self.width)
        self.size += field.size
        return field

    # Formulas.

    def call(self, function, read, targets, vectors=True):
        """Text that evaluates a function; read: (argument, number) -> ("load", place, offset) or ("given", text);
        targets: (place, offset) of each result."""
        offsets, given, nodes = {}, {}, []
        function, first = self.evaluated(function)

        def place(at, offset):
            return at, offsets.setdefault(offset, len(offsets))
        for node in function.graph.nodes:
            if node[0] == "input":
                argument, number = function.used[node[1]]
                kind, *where = (("load", self.size + (first + number) * self.L, "0") if argument == NUMBER
                                else read(argument, number))
                node = ("load", *place(*where)) if kind == "load" else ("given", given.setdefault(where[0], len(given)))
            nodes.append(node)
        results = [place(*one) for one in targets]
        text = f"{tuple(nodes)}, {function.graph.outputs}, {results}, np.{self.dtype}{', vectors=True' * vectors}"
        role = function.name.partition(" '")[0]
        name = f"{re.sub('[^a-zA-Z]+', '_', role)}_{sha256(text.encode()).hexdigest()[:8]}"
        self.functions[name] = text, function
        return f"{name}(w, ({''.join(f'{o}, ' for o in offsets)}), ({''.join(f'{g}, ' for g in given)}))"

    def evaluated(self, function):
        """(The function as a kernel evaluates it, the number of its first constant); these lie behind all fields."""
        if id(function) not in self.with_numbers:
            own = function if hasattr(function, "values") else with_numbers(function)
            self.with_numbers[id(function)] = own, len(self.numbers), function          # kept alive for its id
            self.numbers += own.values
        return self.with_numbers[id(function)][:2]

    @property
    def room(self):
        """Numbers in the scratch array."""
        return self.size + len(self.numbers) * self.L

    def put_numbers(self, w):
        """Put the constants of the functions into a scratch array; no kernel changes them."""
        w[self.size:self.room].reshape(-1, self.L)[...] = np.reshape(self.numbers, (-1, 1))

    def over_columns(self, first, end, call):
        return [f"for i in range({first}, {end}, {self.L}):", f"    {call}"]

    def position(self, number, row, inside=False):
        """How x, y or z of the cells of a row is read; inside: beyond a periodic side those of the cells at the other end."""
        if number == 0:
            return "load", self.fields["x_inside" if inside else "x"].place(0), "i"
        if inside and not self.open_rows:
            row = f"{row} % count"
        return ("given", f"lower_rows + (real({row}) + half)*h_rows") if number == self.rows else ("given", "slab_place")

    def parameter(self, number, row, shift=0):
        field, names = self.fields["m"], self.t.varying
        return "load", field.place(names.index(number), shift), f"{field.slot(row)} + i"

    # The march.

    def delays(self):
        """For each member of the chain, and before it for the load, how many rows behind the last loaded row it is; and by how
        many rows its result is needed on either side of the rows of a piece."""
        delay, behind = 0, [0]
        for kind in self.chain:
            delay += (self.ahead + self.ghosts) * (kind == "rows")
            behind.append(delay)
        around = [self.ghosts * self.chain[i:].count("rows") for i in range(len(self.chain) + 1)]
        return behind, around

    def text(self):
        chain = self.chain
        behind, around = self.delays()
        for name in ("x", "x_inside", "beyond"):
            self.field(name, 1)
        if self.t.varying:
            self.field("m", len(self.t.varying), behind[-1] + self.ghosts + 2)
        names = [f"q{i}" for i in range(len(chain) + 1)]
        self.make_state_fields(names)
        body = [*self.load_parameters(), "if low_0 <= N < high_0:", *indented(self.load())]
        for i, kind in enumerate(chain):
            after = chain[i + 1:].count("x") * self.ghosts
            columns = f"{self.halo - after}", f"{self.halo + after} + cells"
            step = {"x": self.sweep_x, "rows": self.sweep_rows, "source": self.source}[kind]
            body += [f"# {kind}", *step(i, behind, columns)]
        last = self.fields[names[-1]]
        body += [f"row = N - {behind[-1]}", "if first <= row < end:", f"    at = {last.slot('row')}",
                 *indented(self.look(last) + (self.store(last) if chain else []))]
        return self.module(self.marched(behind, around, body))

    def marched(self, behind, around, body):
        """Lines that do the body for each row N that a piece needs."""
        bounds = []
        for i, extra in enumerate(around):
            clip = self.open_rows or self.rows is None
            low, high = f"first - {extra}", f"end + {extra}"
            bounds.append(f"low_{i}, high_{i} = " + (f"max(0, {low}), min(count, {high})" if clip else f"{low}, {high}"))
        beyond = indented(self.load_parameters()) if self.open_rows else []
        begin = [*bounds, *([f"for N in range(low_0 - {self.ghosts}, low_0):", *beyond] if beyond else []),
                 f"for i in range({2 * self.width}):", f"    w[{self.fields['look'].first} + i] = 0", *self.load_places()]
        end = ["rate = unsound = zero", f"for i in range({self.halo}, {self.halo} + cells):",
               f"    value = w[{self.fields['look'].place(0)} + i]",
               "    rate = value if (value >= rate) | (value != value) else rate",
               f"    unsound = max(unsound, w[{self.fields['look'].place(1)} + i])",
               "found[piece, 0], found[piece, 1] = rate, unsound"]
        return [*begin, f"for N in range(low_0, end + {behind[-1]}):", *indented(body), *end]

    def make_state_fields(self, names):
        """The rows of the state before each member of the chain and behind the last, and all fields between."""
        for i, kind in enumerate((*self.chain, None)):
            depth = 1
            if kind == "rows":
                lines = self.lines(self.rows)
                depth = self.ahead + self.depths(lines).get("q", 1)
            self.field(names[i], self.V, depth)
        self.make_line_fields()
        self.field("look", 2)

    def make_line_fields(self):
        """The rows that lines of the sweeps write and read."""
        for i, kind in enumerate(self.chain):
            lines = [] if kind == "source" else self.lines(0 if kind == "x" else self.rows)
            depths = self.depths(lines)
            for line in lines[:-1]:
                for name, count in line.writes.items():
                    if kind == "rows":
                        self.field(f"rows{i}_{name}", count, depths[name])
                    elif f"x_{name}" not in self.fields:          # all sweeps along x use the same row
                        self.field(f"x_{name}", count)

    base = "q"               # the field to which sweeps add their fluxes

    def lines(self, axis):
        """The lines of a sweep, which end with the new state."""
        if axis not in self.sweeps:
            *others, flux, update = map(numbered, (*self.t.sweeps[axis], self.physics.update(self.base)))
            self.sweeps[axis] = [*others, *parted(flux, "cell"), update]
        return self.sweeps[axis]

    def states(self, i):
        """The fields that member i of the chain reads and writes."""
        return self.fields[f"q{i}"], self.fields[f"q{i + 1}"]

    def lags(self, lines):
        """{field: rows by which its last row is behind the last one of q}, for a sweep along the rows."""
        lag = {"q": 0}
        for line in lines:
            # Parameters come with q; a flux that is zero reads nothing.
            behind = max((lag.get(field, 0) + shift for field, shift in line.needed.values()), default=0)
            lag |= dict.fromkeys(line.writes, behind)
        return lag

    def depths(self, lines):
        """{field: rows that are kept of it}."""
        lag, depth = self.lags(lines), {}
        for line in lines:
            own = lag[next(iter(line.writes))]
            for field, shift in line.needed.values():
                if field in lag:
                    depth[field] = max(depth.get(field, 1), own - shift - lag[field] + 1)
        return depth

    # Members of the chain.

    def sweep_x(self, i, behind, columns):
        """Lines of a sweep along x: of one row, all cells at once."""
        lines, (before, after) = self.lines(0), self.states(i)
        needed = ranges(lines, {"out": (0, 0)})
        body = [f"at, to = {before.slot('row')}, {after.slot('row')}", *self.columns_beyond(i, before)]
        for line in lines:
            low, high = of_line(line, needed)

            def read(argument, number, line=line):
                if argument in ("t", "k"):
                    return "given", {"t": f"t{i}", "k": "k_x"}[argument]
                name, shift = line.reads[argument]
                if name in ("q", "r"):
                    return "load", *((before.place(number, shift), "at + i") if name == "q" else (after.place(number), "i"))
                if name == "m":
                    return self.parameter(number, "row", shift)
                if name == "x":
                    return self.position(number, "row")
                return "load", self.fields[f"x_{name}"].place(number, shift), "i"
            places = [(after.place(v), "to + i") if name == "out" else (self.fields[f"x_{name}"].place(v), "i")
                      for name, count in line.writes.items() for v in range(count)]
            body += self.over_columns(f"{columns[0]} + {low}", f"{columns[1]} + {high}", self.call(line.function, read, places))
        return [f"row = N - {behind[i + 1]}", f"if low_{i + 1} <= row < high_{i + 1}:", *indented(body)]

    def sweep_rows(self, i, behind, columns):
        """Lines of a sweep along the rows: each line does the last row that it can."""
        lines, (before, after) = self.lines(self.rows), self.states(i)
        needed, lag = ranges(lines, {"out": (0, 0)}), self.lags(lines)
        body = [f"last = N - {behind[i]}", *self.rows_beyond(i, before, columns)]
        for line in lines:
            low, high = of_line(line, needed)
            behind_last, slots, work = lag[next(iter(line.writes))] + self.ahead, {}, []

            def slot(field, shift, slots=slots):
                return slots.setdefault((field, shift), f"o{len(slots)}")

            def read(argument, number, line=line, slot=slot):
                if argument in ("t", "k"):
                    return "given", {"t": f"t{i}", "k": "k_rows"}[argument]
                name, shift = line.reads[argument]
                if name == "m":
                    return self.parameter(number, f"(row + {shift})")
                if name == "x":
                    return self.position(number, "row")
                if name == "r":
                    return "load", after.place(number), "i"
                field = before if name == "q" else self.fields[f"rows{i}_{name}"]
                return "load", field.place(number), f"{slot(field, shift)} + i"
            places = []
            for name, count in line.writes.items():
                field = after if name == "out" else self.fields[f"rows{i}_{name}"]
                places += [(field.place(v), f"{slot(field, 0)} + i") for v in range(count)]
            call = self.call(line.function, read, places)
            work = [f"{text} = {field.slot(f'row + {shift}')}" for (field, shift), text in slots.items()]
            body += [f"row = last - {behind_last}", f"if low_{i + 1} + {low} <= row < high_{i + 1} + {high}:",
                     *indented(work + self.over_columns(*columns, call))]
        return body

    def source(self, i, behind, columns):
        """Lines of the sources alone."""
        before, after = self.states(i)

        def read(argument, number):
            if argument == "q":
                return "load", before.place(number), "at + i"
            if argument == "m":
                return self.parameter(number, "row")
            if argument == "x":
                return self.position(number, "row", inside=True)
            return "given", {"t": f"t{i}", "dt": "dt_source"}[argument]
        call = self.call(self.physics.source_step.function, read, [(after.place(v), "to + i") for v in range(self.V)])
        return [f"row = N - {behind[i + 1]}", f"if low_{i + 1} <= row < high_{i + 1}:",
                f"    at, to = {before.slot('row')}, {after.slot('row')}",
                *indented(self.over_columns(0, f"{2 * self.halo} + cells", call))]

    # Beyond the sides.

    def columns_beyond(self, i, field):
        """Lines that make the ghost cells at both ends of a row, where the axis is not periodic."""
        if self.periodic_columns:
            return []
        g, lines = self.ghosts, []
        for side, test in zip(self.t.sides[0], ("x0 == 0", "x0 + cells == columns")):
            own, inside = (f"{self.halo - 1} - c", f"{self.halo} + c") if side.end == 0 else (
                f"{self.halo} + cells + c", f"{self.halo - 1} + cells - c")
            body = [f"own, inside = {own}, {inside}", *self.outside(i, side, field, "at + own", "at + inside")]
            lines += [f"if {test}:", f"    for c in range({g}):", *indented(body, 2)]
        return lines

    def rows_beyond(self, i, field, columns):
        """Lines that make the ghost rows, where the axis of the rows is not periodic."""
        if not self.open_rows:
            return []
        lower, upper = self.t.sides[self.rows]
        body = []
        for side, head, own, inside in ((lower, f"if (last == {self.ghosts - 1}) & (low_{i} == 0):", "-1 - c", "c"),
                                        (upper, f"if count <= last < count + {self.ghosts}:", "last", "2*count - 1 - last")):
            work = [f"row, mirror = {own}, {inside}", f"to, at = {field.slot('row')}, {field.slot('mirror')}",
                    f"for own in range({columns[0]}, {columns[1]}):",
                    *indented(self.outside(i, side, field, "to + own", "at + own"))]
            body += [head, *indented([f"for c in range({self.ghosts}):", *indented(work)] if side.end == 0 else work)]
        return body

    def outside(self, i, side, field, to, at):
        """Lines that put the state beyond a side into the cell `own` of the row `row`."""
        def read(argument, number):
            if argument == "x":
                kind, *where = self.position(number, "row")
                return ("load", where[0], "own") if kind == "load" else (kind, *where)
            kind, place, offset = self.parameter(number, "row")
            return kind, place, offset.replace("+ i", "+ own")
        numbers = self.fields["beyond"].first
        known = [read("x", k) for k in range(self.t.dim)] + [read("m", name) for name in self.t.varying]
        texts = [f"w[{where[0]} + {where[1]}]" if kind == "load" else where[0] for kind, *where in known]
        return [*(f"w[{numbers + k}] = {text}" for k, text in enumerate(texts)),
                f"condition(sides, {2 * side.axis + side.end}, w, {field.first} + {at}, {self.width}, w, {field.first} + {to}, "
                f"{self.width}, sides, 0, w, {numbers}, 1, t{i})"]

    # To and from memory.

    def load(self):
        """Lines that load the next row of the state, and of the parameters."""
        first, halo, V = self.fields["q0"], self.halo, self.V
        lines_of_strip = -(-self.strip * self.dtype.itemsize // 64)
        soon = [f"soon = slab + (min(N + {SOON}, count - 1) + row_shift)*row_stride + x0", f"for v in range({V}):",
                *(f"    prefetch({array}, soon + v*variable_stride, {lines_of_strip})" for array in ("state", "out"))]
        lines = [*(soon if self.rows is not None else []), f"at = {first.first} + {first.slot('N')}",
                 f"place = slab + {'(N + row_shift)' if self.open_rows else '((N + row_shift) % wrap)'}*row_stride",
                 f"left, right = max(x0 - {halo}, 0), min(x0 + cells + {halo}, columns)", f"shift = {halo} - x0",
                 f"for v in range({V}):", f"    for c in range(left, right, {self.L}):",
                 f"        copy(state, place + v*variable_stride + c, w, at + v*{self.width} + c + shift)"]
        if halo and self.periodic_columns:
            for ends in (f"x0 - {halo}, 0", f"columns, x0 + cells + {halo}"):
                lines += [f"    for c in range({ends}):",
                          f"        w[at + v*{self.width} + c + shift] = state[place + v*variable_stride + c % columns]"]
        return lines

    def load_parameters(self):
        """Lines that load the parameters in row N."""
        if not self.t.varying:
            return []
        field = self.fields["m"]
        return [f"if N < high_0 + {self.ghosts}:", f"    at = {field.first} + {field.slot('N')}",
                "    place = slab_row + (N + row_shift + margin)*m_row_stride + x0 + margin",
                f"    for v in range({field.components}):",
                f"        for c in range({2 * self.halo} + cells):",
                f"            w[at + v*{self.width} + c] = parameters[v, place + c - {self.halo}]"]

    def load_places(self):
        """Lines that put the coordinates of the cells along x into their row, those beyond the sides too."""
        first, inside = self.fields["x"].first, self.fields["x_inside"].first
        wrapped = " % columns" if self.periodic_columns else ""
        return [f"for c in range(2*{self.halo} + cells):", f"    column = x0 + c - {self.halo}",
                f"    w[{first} + c] = lower_x + (real(column) + half)*h_x",
                f"    w[{inside} + c] = lower_x + (real(column{wrapped}) + half)*h_x"]

    def store(self, field, array="out"):
        """Lines that put a row from the place `at` on into an array in memory."""
        at = f"at + {field.first} + v*{self.width} + {self.halo}"
        return ["place = slab + (row + row_shift)*row_stride + x0", f"for v in range({self.V}):",
                f"    whole = cells // {self.L} * {self.L}", f"    for c in range(0, whole, {self.L}):",
                f"        copy(w, {at} + c, {array}, place + v*variable_stride + c)", "    for c in range(whole, cells):",
                f"        {array}[place + v*variable_stride + c] = w[{at} + c]"]

    def look(self, field):
        """Lines that take the wave rates of a new row into account, and whether its states are sound."""
        look = self.fields["look"]

        def read(argument, number):
            if argument == "q":
                return "load", field.place(number), "at + i"
            if argument == "m":
                return self.parameter(number, "row")
            if argument == "x":
                return self.position(number, "row")
            return ("given", "t_look") if argument == "t" else ("load", look.place(["rate", "unsound"].index(argument)), "i")
        lines = []
        for flag, function, component in (("look_rate", self.largest_rate, 0), ("look_sound", self.any_unsound, 1)):
            call = self.call(function, read, [(look.place(component), "i")])
            lines += [f"if {flag}:", *indented(self.over_columns(self.halo, f"{self.halo} + cells", call))]
        return lines

    @property
    def largest_rate(self):
        """max(rate, wave rate of q)."""
        def largest(q, x, t, m, grid, rate):
            return np.maximum(rate, self.t.rate.function(q, x, t, m, grid))
        return Pointwise(largest, self.physics.state | {"grid": self.physics.grid, "rate": None}, "wave rate")

    @property
    def any_unsound(self):
        """1 where q is not sound, else what there was."""
        def unsound(q, x, t, m, unsound):
            return np.where(self.physics.sound.function(q, x, t, m), unsound, 1.0)
        return Pointwise(unsound, self.physics.state | {"unsound": None}, "whether a state is sound")

    def module(self, work):
        functions = []
        for name, (text, function) in sorted(self.functions.items()):
            formulas = formulas_of(function, self.t.law) if isinstance(function, Pointwise) else []
            functions += [*(f"# {line}" for line in formulas), f"{name} = expressions.function({text})"]
        law, chain = type(self.t.law).__name__, ", ".join(self.chain)
        return f'''"""Generated by dgarray {KERNELS}: {chain} of finite volumes for {law}."""
import numpy as np
from numba import njit
from numpy import inf, nan

from dgarray.backends.cpu.shared_loop import add_one
from dgarray.backends.cpu.simd import boundary, expressions, target, vector

assert target.lanes(np.{self.dtype}) == {self.L}
copy, prefetch, condition = vector.copy(np.{self.dtype}), vector.prefetch, boundary.condition(np.{self.dtype})
real = np.{self.dtype}
half, zero = real(0.5), real(0)
{chr(10).join(functions)}


@njit(nogil=True, cache=True, error_model="numpy")
def run(counts, pieces, slab_places, found, w, {', '.join(ARGUMENTS)}):
    while True:
        piece = add_one(counts, 0)
        if piece >= len(pieces):
            break
        first, end, x0, cells, slab, slab_row = pieces[piece]
        slab_place = slab_places[piece]
{chr(10).join(indented(work, 2))}
'''


# pieces (piece, 6): first row, row after the last, first cell and number of cells of the strip, where row 0 lies in memory and
# in the parameters;  slab_places: the coordinate along the third axis;  found (piece, 2): largest wave rate, and 1 where a
# state is not sound;  count, columns: rows, and cells of a row, in all;  row_shift: what is added to a row's number for its
# place in memory, wrap: rows there, fewer than all in a part of a grid;  lower, h: coordinates;  k: dt/h;  parameters with
# `margin` cells around;  sides: the table of `side_source.Sides`;  t0, t1, t2: times of the members of the chain;
# with_register: whether the stepper has one;  A to C: the row of its table
ARGUMENTS = ("state", "out", "tendency", "start", "register", "parameters", "sides", "count", "columns", "row_shift", "wrap",
             "row_stride", "variable_stride", "m_row_stride", "margin", "lower_x", "h_x", "lower_rows", "h_rows", "k_x",
             "k_rows", "t0", "t1", "t2", "dt_source", "t_look", "look_rate", "look_sound", "with_register", "A", "v_", "w_",
             "alpha", "beta", "B", "C")
