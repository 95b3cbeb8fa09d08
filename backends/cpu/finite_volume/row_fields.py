"""Text that evaluates functions of the physics on rows of a grid, which lie in a scratch array."""
import re
from hashlib import sha256

import numpy as np

from ....physics.run_time_numbers import NUMBER, with_numbers
from ..simd import target


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


class RowFields:
    """The scratch array of a kernel that marches over rows, and what is evaluated there.

    tables   `GridTables`;  rows: the axis along which rows are counted, 1 or 2; None in 1D
    chain    what is done to each row, see `MarchSource`
    strip    cells of a row at a time
    fields   {name: `Field`}, in `size` numbers of the scratch array; constants of the functions lie behind them"""

    def __init__(self, tables, dtype, rows, chain, strip):
        self.t, self.dtype, self.rows, self.chain, self.strip = tables, np.dtype(dtype), rows, chain, strip
        self.physics, self.ghosts, self.V = tables.physics, tables.ghosts, tables.variables
        self.L = target.lanes(self.dtype)
        self.functions, self.fields, self.size = {}, {}, 0
        self.with_numbers, self.numbers = {}, []          # {function: (as evaluated, its first constant)}; all constants
        self.halo = self.ghosts * chain.count("x")
        self.width = -(-(strip + 2 * self.halo + self.L) // self.L) * self.L
        periodic = tables.periodic if chain else (False,) * tables.dim          # a check reads no cells beyond its own
        self.periodic_columns, self.open_rows = periodic[0], rows is not None and not periodic[rows]

    def field(self, name, components, depth=1):
        """A new field."""
        self.fields[name] = field = Field(name, components, depth, self.size, self.width)
        self.size += field.size
        return field

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
