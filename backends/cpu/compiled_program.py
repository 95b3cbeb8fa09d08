"""Programs compiled for the CPU: each group of operations is one loop over its columns, made by numba from generated source.

It performs what `dgarray.program.interpreter` performs, some columns at a time, and needs nothing but the program: where no
kernel knows a recipe, such as the adjoint of a stage, this is several times as fast as array expressions.
"""
from math import prod

import numpy as np

from ...physics.codegen import Python, scalar_source
from ...program.interpreter import Interpreter, viewed
from ...program.operations import Copy, Join, Pointwise, Product, Put, Reduction
from ...support.cached_modules import write_module

TILE = 16           # columns that are done at a time
LEAST = 256         # columns that are worth a thread
AT_ONCE = 8         # terms of a sum of products in one line


class CompiledProgram(Interpreter):
    """The interpreter of a program with a compiled function for each group."""

    def __init__(self, backend, program, constants):
        super().__init__(backend, program, constants)
        self.loops = {id(group): GroupLoop(self, group) for group in self.groups}

    def perform(self, group, arrays, targets):
        loop, count = self.loops[id(group)], group.domain.count if group.domain else 1
        given = loop.given(arrays, targets)
        size = max(LEAST, -(-count // (4 * self.backend.threads)))
        firsts = range(0, count, size)

        def task(piece, _):
            loop.function(firsts[piece], min(firsts[piece] + size, count), *given)
        self.backend.workers.run(task, len(firsts))


class GroupLoop:
    """The source of one group, and the arrays that its function takes."""

    def __init__(self, interpreter, group):
        self.values, self.group, self.interpreter = interpreter.program.values, group, interpreter
        self.dialect, self.names, self.tables, self.local, self.body = Python(interpreter.backend.dtype.name), {}, [], {}, []
        for operation in group.operations:
            KINDS[type(operation)](self, operation)
        for name in group.outputs:
            self.output(name)
        self.function = self.compiled()

    def given(self, arrays, targets):
        """The arrays of the function, as (row, column), without columns (entry,)."""
        found = []
        for key in self.names:
            if isinstance(key, str):
                found.append(flat(targets[key], True))
            else:
                found.append(flat(arrays[key], self.values[key].domain) if self.values[key].shape else float(arrays[key]))
        return (*found, *self.tables)

    def compiled(self):
        args = [*self.names.values(), *(f"t{i}" for i in range(len(self.tables)))]
        lines = [f"def run(first, last, {', '.join(args)}):",
                 *(f"    {name} = np.empty(({rows}, {TILE}), np.{self.dialect.dtype})" for name, rows in self.local.values()),
                 *(f"    f_{name} = {name}.reshape(-1)" for key, name in self.names.items()
                   if isinstance(key, str) or self.values[key].domain),
                 f"    for c in range(first, last, {TILE}):", f"        w = min({TILE}, last - c)",
                 *(f"        {line}" for line in self.body)]
        source = "\n".join(["import numpy as np", "from numba import njit", self.dialect.header, *self.dialect.definitions, "",
                            '@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})', *lines, ""])
        return write_module(source, "program").run

    # Places of what is read and written.

    def array(self, key):
        """The name of an array of the function: of a value by its number, of an output by its name."""
        return self.names.setdefault(key, f"a{len(self.names)}")

    def entry(self, number, place):
        """The expression of an entry of a value at these columns."""
        value = self.values[number]
        if number in self.group.local:
            name, _ = self.local.setdefault(number, (f"l{len(self.local)}", rows_of(value)))
            return f"{name}[{place}, k]"
        if not value.shape:
            return self.array(number)
        return f"{self.array(number)}[{place}, c + k]" if value.domain else f"{self.array(number)}[{place}]"

    def place(self, places, axes):
        """The expression of an array of places over named axes, ones of length 1 repeated."""
        places, axes = np.asarray(places), axes[len(axes) - np.ndim(places):]
        base, terms, rest = int(places.flat[0]), [], places - places.flat[0]
        for axis, name in enumerate(axes):
            step = int(np.take(places, 1, axis).flat[0] - base) if places.shape[axis] > 1 else 0
            shape = [1] * places.ndim
            shape[axis] = -1
            rest = rest - step * np.arange(places.shape[axis]).reshape(shape)
            terms += [f"{step} * {name}" if step != 1 else name] if step else []
        if not rest.any():
            return " + ".join([*terms, *([str(base)] if base or not terms else [])])
        self.tables.append(np.ascontiguousarray(places.ravel(), np.int64))
        index, step = [], 1
        for axis in reversed(range(places.ndim)):
            if places.shape[axis] > 1:
                index.append(axes[axis] if step == 1 else f"{step} * {axes[axis]}")
            step *= places.shape[axis]
        return f"t{len(self.tables) - 1}[{' + '.join(index) or '0'}]"

    def read(self, read, axes):
        """The expression of what is read, at these axes of its lead and at column k."""
        value = self.values[read.value]
        lead = value.shape[:-1] if value.domain else value.shape
        views = [view for view in read.views if view[0] != "columns"]
        seen = viewed(np.arange(prod(lead)).reshape(lead), views, None, True, np.array)
        if read.index is None:
            return self.entry(read.value, self.place(seen, axes))
        if len(views) < len(read.views):
            raise NotImplementedError("a read through an index list of some columns")
        index = self.values[read.index]
        inside, rows = index.shape[:-1], seen.shape[-1] if seen.ndim else 1
        ahead = seen.reshape(-1, rows)[:, 0] if seen.ndim else np.zeros(1, int)
        shape = (*seen.shape[:-1], *inside)
        order = viewed(np.arange(prod(shape)).reshape(shape), read.after, None, True, np.array)
        first, entry = ahead[order // prod(inside)], order % prod(inside)
        place = self.place(first, axes)
        array = self.array(read.value)
        return (f"f_{array}[" + (f"({place}) * {array}.shape[1] + " if place != "0" else "")
                + f"{self.entry(read.index, self.place(entry, axes))}]")

    def over(self, shape, lines):
        """Lines within loops over the axes of a shape and over columns."""
        for depth, count in enumerate(shape):
            self.body.append(f"{'    ' * depth}for i{depth} in range({count}):")
        indent = "    " * len(shape)
        self.body.append(f"{indent}for k in range(w):")
        self.body += [f"{indent}    {line}" for line in lines]

    def set(self, number, lead, read):
        """Copy what is read to rows of a value: lead, places among its leading axes, of the shape of the read."""
        axes = axes_of(np.shape(lead))
        self.over(np.shape(lead), [f"{self.entry(number, self.place(lead, axes))} = {self.read(read, axes)}"])

    def output(self, name):
        read = self.interpreter.program.outputs[name]
        lead, axes = read.shape[:-1], axes_of(read.shape[:-1])
        places = np.arange(prod(lead)).reshape(lead)
        self.over(lead, [f"{self.array(name)}[{self.place(places, axes)}, c + k] = {self.read(read, axes)}"])

    # The kinds of operations.

    def product(self, operation):
        result = self.values[operation.result]
        lead = result.shape[:-1]
        axis = operation.axis % len(result.shape)
        places, axes = np.arange(prod(lead)).reshape(lead), axes_of(lead)
        to = self.entry(operation.result, self.place(places, axes))
        self.over(lead, [f"{to} = {self.dialect.literal(0.0)}"])
        for matrix, read in operation.pairs:
            count = self.values[matrix].shape[1]
            name = self.array(matrix)
            for first in range(0, count, AT_ONCE):
                terms = []
                for j in range(first, min(first + AT_ONCE, count)):
                    part = list(axes)
                    part[axis] = str(j)
                    terms.append(f"{name}[i{axis} * {count} + {j}] * {self.read(read, part)}")
                self.over(lead, [f"{to} += {' + '.join(terms)}"])

    def pointwise(self, operation):
        shape, axes, names = self.values[operation.result].shape[1:-1], None, {}
        axes = axes_of(shape)
        for name, (argument, which) in operation.function.used.items():
            given = operation.arguments[argument]
            if which is None:
                names[name] = self.read(given, axes)
            elif isinstance(given, dict | list):
                names[name] = self.read(given[which], axes)
            else:
                names[name] = self.read(given._replace(after=(*given.after, ("part", (which,)))) if given.index is not None else
                                        given._replace(views=(*given.views, ("part", (which,)))), axes)
        lines, outputs = scalar_source(operation.function.graph, names, self.dialect)
        order = operation.order or range(len(outputs))
        places = np.arange(prod(shape)).reshape(shape)
        for component, output in enumerate(order):
            to = self.entry(operation.result, self.place(component * prod(shape) + places, axes))
            lines.append(f"{to} = {outputs[output]}")
        self.over(shape, lines)

    def put(self, operation):
        read, rows = operation.read, self.values[operation.result].shape[-2]
        lead, array = read.shape[:-1], self.array(operation.result)
        inside = self.values[operation.index].shape[:-1]
        axes = axes_of(lead)
        ahead = lead[:len(lead) - len(inside)]
        component = self.place(np.arange(prod(ahead)).reshape(*ahead, *[1] * len(inside)), axes) if ahead else "0"
        index = self.entry(operation.index, self.place(np.arange(prod(inside)).reshape(inside), axes))
        to = f"f_{array}[({component}) * {rows} * {array}.shape[1] + {index}]"
        value = self.read(read, axes)
        how = {"set": f"{to} = {value}", "add": f"{to} += {value}", "max": f"{to} = max({to}, {value})"}[operation.how]
        self.over(lead, [how])

    def copy(self, operation):
        lead = self.values[operation.result].shape[:-1]
        self.set(operation.result, np.arange(prod(lead)).reshape(lead), operation.read)

    def join(self, operation):
        lead, first = self.values[operation.result].shape[:-1], 0
        places = np.arange(prod(lead)).reshape(lead)
        for read in operation.parts:
            count = read.shape[operation.axis]
            self.set(operation.result, np.take(places, np.arange(first, first + count), operation.axis), read)
            first += count

    def reduction(self, operation):
        lead = self.values[operation.result].shape[:-1]
        axes, axis = axes_of(lead), operation.axis % len(operation.read.shape)
        to = self.entry(operation.result, self.place(np.arange(prod(lead)).reshape(lead), axes))
        for j in range(operation.read.shape[axis]):
            value = self.read(operation.read, [*axes[:axis], str(j), *axes[axis:]])
            more = f"{to} + {value}" if operation.how == "sum" else f"{operation.how}({to}, {value})"
            self.over(lead, [f"{to} = {value if j == 0 else more}"])


KINDS = {Product: GroupLoop.product, Pointwise: GroupLoop.pointwise, Put: GroupLoop.put, Copy: GroupLoop.copy,
         Join: GroupLoop.join, Reduction: GroupLoop.reduction}


def axes_of(shape):
    return [f"i{axis}" for axis in range(len(shape))]


def rows_of(value):
    return prod(value.shape[:-1])


def flat(array, columns):
    """An array (.., column) as (row, column), one without columns as (entry,)."""
    return array.reshape(-1, array.shape[-1]) if columns else array.reshape(-1)
