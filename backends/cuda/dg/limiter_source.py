"""Kernels of the limiter on the device: the flow of `dgarray.methods.dg.limiters.limiter` as text, a thread for each element.

Three kernels at most: `keep` what limiting other elements reads, the `extremes` around vertices with a thread for each of
these, and `limit`.
Of other elements only averages and what the first two have kept are read, which nobody changes meanwhile, so the threads limit
a state in place in any order.
"""
from contextlib import contextmanager

from ....methods.dg.limiters.limiter import Block
from ....physics.codegen import Python, scalar_source
from .modal_source import indented


class LimiterSource:
    """Texts of the kernels of a `Limiter`; source: that of the stage.

    A kernel is called with the state and the arrays of the names that its text gives, then the number of elements (or vertices)
    and the lengths of a row over these:
    geometry, matrix     as the stage's
    kept_<name>, extremes  rows over elements and over vertices
    list_<name>          (place of the list, element or vertex)
    of_<name>            rows of the limits over elements;  by_<name>: factor of a product"""

    def __init__(self, source, limiter):
        self.source, self.limiter, self.texts = source, limiter, {}
        if limiter.kept:
            self.texts["keep"] = self.over_elements("what limiting an element needs of others", limiter.keep)
        if limiter.around_vertices:
            self.texts["extremes"] = self.extremes()
        self.texts["limit"] = self.over_elements("limiting a state", limiter.limit)

    def over_elements(self, what, flow):
        """(text, names of the arrays) of a kernel."""
        e = Thread(self.source, self.limiter)
        flow(e)
        return self.module(e, what, e.lines)

    def module(self, e, what, lines):
        arguments = ", ".join(["state", *e.names, "other_width"])
        return self.source.module(what, arguments, [*self.source.element, "wide = np.uint64(other_width)", *lines],
                                  e.dialect), list(e.names)

    def extremes(self):
        """The largest and least around each vertex; rows over elements are `wide`, those over vertices `width` numbers long."""
        e = Thread(self.source, self.limiter)
        array, stride, rows = e.array_of(self.limiter.means)
        around, result = e.name("list_around"), e.name("extremes")
        step = stride if array == "state" else 1
        value = f"{array}[np.uint64(row*{step})*wide + np.uint64({around}[np.uint64(c)*width + e])]"
        lines = [f"for row in range({rows}):", "    c = 0", f"    high = low = {value}", "    for c in range(1, around_count):",
                 f"        value = {value}", "        high = value if value > high else high",
                 "        low = value if value < low else low",
                 f"    {result}[np.uint64(2*row)*width + e], {result}[np.uint64(2*row + 1)*width + e] = high, low"]
        e.names["around_count"] = None
        return self.module(e, "the extremes around vertices", lines)


class Thread:
    """The element of a thread, as `Limiter` sees one: what it asks for becomes lines of text, rows are texts of numbers."""

    def __init__(self, source, limiter):
        self.source, self.limiter, self.dialect = source, limiter, Python(str(source.dtype))
        self.lines, self.level, self.names, self.count = [], 0, {}, 0
        self.state = Block(source.V, lambda v: [f"state[np.uint64({v}*{source.N} + {i})*width + e]" for i in range(source.N)])
        self.kept = {name: self.kept_block(name, *shape) for name, shape in limiter.kept.items()}

    def kept_block(self, name, variables, rows):
        return Block(variables, lambda v: [f"{self.name('kept_' + name)}[np.uint64({v}*{rows} + {i})*width + e]"
                                           for i in range(rows)])

    def emit(self, *lines):
        self.lines += indented(lines, self.level)

    def name(self, array):
        """Ask for an array."""
        self.names[array] = None
        return array

    def new(self):
        self.count += 1
        return f"a{self.count}_"

    # The attributes that a `Limiter` asks for.

    @property
    def g(self):
        self.name("geometry")
        return [self.source.number(self.source.row["g"] + i) for i in range(self.source.d ** 2)]

    @property
    def m(self):
        return None

    def rows(self, name):
        rows = 1 if name == "threshold" else self.source.F
        return [f"{self.name('of_' + name)}[np.uint64({i})*width + e]" for i in range(rows)]

    def each(self):
        self.emit(f"for v in range({self.source.V}):")
        self.level += 1
        yield "v"
        self.level -= 1

    @contextmanager
    def where(self, row):
        self.emit(f"if {row} > zero:")
        self.level += 1
        yield
        self.level -= 1

    def evaluate(self, function, rows):
        """Lines that evaluate a function of numbers, and its results."""
        counts = {name: value if name == "m" else len(value) for name, value in rows.items()}
        function, prefix, lines, names = self.limiter.function(function, **counts), self.new(), [], {}
        for name, (argument, number) in function.used.items():
            if argument == "m":
                self.name("geometry")
                text = self.source.number(self.source.row["m"] + self.source.parameters.index(number))
            else:
                text = rows[argument][number]
            names[name] = f"{prefix}{name}"
            lines.append(f"{names[name]} = {text}")
        more, results = scalar_source(function.graph, names, self.dialect, prefix)
        return lines + more, results

    def __call__(self, function, **rows):
        lines, results = self.evaluate(function, rows)
        self.emit(*lines)
        return results

    def put(self, rows, into):
        self.emit(*(f"{place} = {row}" for place, row in zip(into, rows)))

    def keep(self, name, rows, v=None):
        self.put(rows, self.kept[name].all if v is None else self.kept[name][v])

    def change(self, function, v=None, **rows):
        self.put(self(function, **rows),
                 [row for i in (range(self.source.V) if v is None else [v]) for row in self.state[i][1:]])

    def product(self, name, rows):
        matrix, sums = self.name("by_" + name), self.new()
        height, N = len(self.limiter.matrices[name]), self.source.N
        results = [f"{sums}{i}" for i in range(height)]
        self.emit(*(f"{result} = zero" for result in results))
        for j, row in enumerate(rows):
            self.emit(f"value = {row}", *(f"{result} += {matrix}[{i * N + j}]*value" for i, result in enumerate(results)
                                          if self.limiter.matrices[name][i, j]))
        return results

    def array_of(self, source):
        """(array, rows from one variable to the next, rows in all) of what limiting other elements reads."""
        if source == "state":
            return "state", self.source.N, self.source.V
        if source == "extremes":
            rows = 2 * self.limiter.rows_of_means
            return self.name("extremes"), rows, self.source.V * rows
        variables, rows = self.limiter.kept[source]
        return self.name(f"kept_{source}"), rows, variables * rows

    def take(self, name, source):
        array, stride, _ = self.array_of(source)
        each = 1 if source in ("state", "averages") else stride
        places, width = self.new(), "wide" if source == "extremes" else "width"
        self.emit(*(f"{places}{i} = np.uint64({self.name('list_' + name)}[np.uint64({i})*width + e])"
                    for i in range(self.source.F)))
        variables = self.limiter.kept[source][0] if source == "averages" else self.source.V
        return Block(variables, lambda v: [f"{array}[np.uint64({v}*{stride} + {row})*{width} + {places}{i}]"
                                           for i in range(self.source.F) for row in range(each)])

    def least(self, function, start):
        least, source = [self.new()], self.source
        rows = {"q": [f"q{v}" for v in range(source.V)], "least": least, "m": None}
        counts = {name: value if name == "m" else len(value) for name, value in rows.items()}
        used = [number for argument, number in self.limiter.function(function, **counts).used.values() if argument == "q"]
        lines, (result,) = self.evaluate(function, rows)
        self.name("matrix")
        self.emit(f"{least[0]} = {start[0]}", f"for point in range({source.B + source.S}):",
                  *indented([*source.values(used, "point"), *lines, f"{least[0]} = {result}"]))
        for name, matrix in self.limiter.beside.items():
            values = [line.replace("matrix[", f"{self.name('by_' + name)}[") for line in source.values(used, "point")]
            self.emit(f"for point in range({len(matrix)}):", *indented([*values, *lines, f"{least[0]} = {result}"]))
        return least

    def extremes(self, function, own, **rows):
        beside, found, V = self.new(), self.new(), self.source.V
        rows = {"q": [f"{beside}{v}" for v in range(V)], "own": own, **rows}
        pairs = [[f"{found}{i}_{v}_{j}" for v in range(V) for j in (0, 1)] for i in range(self.source.F)]
        self.name("around_count")
        for i, results in enumerate(pairs):
            lines, waves = self.evaluate(function, rows)
            self.emit(f"vertex = np.uint64({self.name('list_vertices')}[np.uint64({i})*width + e])",
                      *(f"{name} = zero" for name in results), "for c in range(around_count):",
                      f"    other = np.uint64({self.name('list_around')}[np.uint64(c)*wide + vertex])",
                      *indented([*(f"{beside}{v} = state[np.uint64({v * self.source.N})*width + other]" for v in range(V)),
                                 *lines]))
            for high, low, wave in zip(results[::2], results[1::2], waves):
                self.emit(f"    {high} = {wave} if c == 0 or {wave} > {high} else {high}",
                          f"    {low} = {wave} if c == 0 or {wave} < {low} else {low}")
        return [results[2 * v + j] for v in range(V) for results in pairs for j in (0, 1)]
