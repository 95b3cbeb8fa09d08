"""The adjoint of a program: of numbers J that depend on its outputs the derivatives by its inputs, as a program again.

Each kind of operation has a transpose: a matrix its own; a read through views or an index list a sum over all that read the
same place; a pointwise function its reverse mode. What nonlinear functions read is computed again from the inputs.
Griewank & Walther 2008, chapter 3.
"""
from math import prod

import numpy as np

from ..physics.pointwise import Pointwise as Function
from ..physics.pullback import transposed
from .arrays import Array, Trace, apply, gather, join, product, put, reduce
from .interpreter import viewed
from .operations import Copy, Join, Pointwise, Product, Put, Read, Recursion, Reduction, TransposedRecursion


class NotDifferentiable(ValueError):
    """A program has an operation without a derivative, such as the largest of several values."""


def adjoint(program, wanted):
    """The adjoint of a program.

    wanted   names of inputs and constants
    Its inputs are those of the program and "adjoint of NAME" for each output, dJ/dNAME; its outputs "adjoint of NAME" for each
    that is wanted. Raises NotDifferentiable."""
    return Adjoint(program, wanted).program()


class Adjoint:
    """The operations of a program, and then backwards those of their transposes.

    found    {number of a value: arrays whose sum is its adjoint}
    rows     {number of a value: [(array (row, column), places of its rows among the leading axes)]}: more of them
    listed   {(number of a value, rows): [(places, array)]}: more of them, (component, .., column), that belong to these places
             among so many rows, and the columns, of the value
    active   numbers of the values that depend on those that are wanted"""

    def __init__(self, program, wanted):
        self.given, self.trace, self.found, self.listed = program, Trace(), {}, {}
        self.rows = {}
        self.trace.values, self.trace.operations = list(program.values), list(program.operations)
        self.trace.known = {value.name: self.whole(value) for value in program.values if value.made != "result"}
        self.wanted = [value for value in program.values if value.made in ("input", "constant") and value.name in wanted]
        self.active = {value.number for value in self.wanted}
        for operation in program.operations:
            if any(read.value in self.active for read in operation.reads):
                self.active.add(operation.result)

    def whole(self, value):
        return Array(self.trace, Read(value.number, (), None, value.shape, value.domain))

    def program(self):
        """The finished program."""
        for name, read in self.given.outputs.items():
            if read.value in self.active:
                self.give([read], self.trace.input(f"adjoint of {name}", read.shape, read.domain).reshape(1, *lead_of(read)))
        for operation in reversed(self.given.operations):
            if operation.result in self.active and (total := self.total(operation.result)) is not None:
                KINDS[type(operation)](self, operation, total)
        outputs = {}
        for value in self.wanted:
            total = self.total(value.number)
            outputs[f"adjoint of {value.name}"] = self.zeros(value.shape, value.domain) if total is None else total
        return self.trace.program(f"adjoint of {self.given.name}", **outputs)

    def zeros(self, shape, domain):
        return put(self.trace, shape[:-1], domain, [])

    def total(self, number):
        """The adjoint of a value; None where nothing depends on it."""
        for key in [key for key in self.listed if key[0] == number]:
            self.found.setdefault(number, []).append(self.at_listed(self.given.values[number], key[1], self.listed.pop(key)))
        if number in self.rows:
            value, (arrays, places) = self.given.values[number], zip(*self.rows.pop(number))
            found = arrays[0] if len(arrays) == 1 else join(arrays, 0, "adjoints")
            lead = value.shape[:-1] if value.domain else value.shape
            self.found.setdefault(number, []).append(self.at_places(found, np.concatenate(places), prod(lead)).reshape(*lead))
        if number not in self.found:
            return None
        total, *others = self.found[number]
        for other in others:
            total = added(total, other)
        self.found[number] = [total]
        return total

    def at_listed(self, value, rows, parts):
        """The sums of what belongs to the same places of a value: each part is put where nothing else is put, in one of several
        layers, and the layers are added up."""
        columns = value.shape[-1]
        layers, count = layers_of([places for places, _ in parts], rows * columns)
        puts = []
        for (places, adjoints), layer in zip(parts, layers):
            index = (layer * rows + places // columns) * columns + places % columns
            name = f"adjoints of {value.name} {value.number}, {rows}, {len(puts)}"
            puts.append((self.trace.constant(name, index.shape, adjoints.domain, lambda index=index: index, "integer"),
                         adjoints, "set"))
        ahead = len(parts[0][1])
        found = put(self.trace, (ahead, count * rows), value.domain, puts, "adjoints").reshape(ahead, count, rows)
        return reduce("sum", found, 1, "sum of adjoints").reshape(*value.shape[:-1])

    # What reads give back to the values that they see.

    def give(self, reads, adjoints):
        """Add the adjoints (read, *shape of a read) of reads that have the same shape to those of the values that they see."""
        groups = {}
        for i, read in enumerate(reads):
            if read.value in self.active:
                groups.setdefault((read.value, read.index, len(read.views), read.after), []).append(i)
        for numbers in groups.values():
            some = part_of(adjoints, numbers)
            value, read = self.given.values[reads[numbers[0]].value], reads[numbers[0]]
            lead = value.shape[:-1] if value.domain else value.shape
            places = np.arange(prod(lead)).reshape(lead)
            seen = np.stack([viewed(places, [view for view in reads[i].views if view[0] != "columns"], None, True, np.array)
                             for i in numbers])
            width = next((count for what, count in read.views if what == "columns"), value.shape[-1])
            if read.index is not None:
                self.give_through_list(value, read, seen, some, width)
                continue
            some, seen = some.reshape(seen.size), seen.ravel()
            if value.domain and width != value.shape[-1]:
                found = self.widened(self.at_places(some, seen, prod(lead)), value)
                self.found.setdefault(value.number, []).append(found.reshape(*lead))
            elif is_all(seen, prod(lead)):
                self.found.setdefault(value.number, []).append(some.reshape(*lead))
            else:
                self.rows.setdefault(value.number, []).append((some, seen))

    def at_places(self, adjoints, places, count):
        """An array (place, column) with the sums of the rows of the adjoints that belong to each place."""
        if is_all(places, count):
            return adjoints
        (layers,), several = layers_of([places], count)
        if several == 1 and len(places) == count:
            return taken(adjoints, np.argsort(places))
        nothing, total = self.zeros((1, adjoints.shape[-1]), adjoints.domain), None
        padded = join([adjoints, nothing], 0, "adjoints")
        for layer in range(several):
            rows = np.full(count, len(places))
            rows[places[layers == layer]] = np.flatnonzero(layers == layer)
            found = taken(padded, rows)
            total = found if total is None else added(total, found)
        return total

    def widened(self, adjoints, value):
        """Adjoints (row, column) of the first columns of a value as those of all columns."""
        rows, columns = adjoints.shape
        index = self.trace.constant(f"first {columns} of {rows} x {value.shape[-1]} {value.domain.name}", (rows, columns),
                                    adjoints.domain, lambda: np.arange(rows)[:, None] * value.shape[-1] + np.arange(columns),
                                    "integer")
        return put(self.trace, (1, rows), value.domain, [(index, adjoints.reshape(1, rows), "set")], "adjoints").reshape(rows)

    def give_through_list(self, value, read, seen, adjoints, width):
        """As `give`, for reads through one index list, of which the views show `seen`, places among the leading axes."""
        index = self.given.values[read.index]
        if index.made != "constant":
            raise NotDifferentiable(f"{self.given.name}: where {value.name} is read depends on the state")
        rows, ahead = (seen.shape[-1], seen.shape[1:-1]) if seen.ndim > 1 else (1, ())
        seen = seen.reshape(-1, rows)          # (component, row)
        if not np.array_equal(seen, seen[:, :1] // rows * rows + np.arange(rows)):
            raise NotDifferentiable(f"{self.given.name}: some rows of {value.name} are read through {index.name}")
        lead, several = index.shape[:-1], len(seen) // len(adjoints)          # components of a read
        inside = np.arange(several * prod(lead)).reshape(several, *lead)
        inside = inside.reshape(*ahead, *lead)
        inside = viewed(inside, read.after, None, True, np.array).ravel()
        inside = (np.arange(len(adjoints))[:, None] * several * prod(lead) + inside).ravel()
        own = self.at_places(adjoints.reshape(len(inside)), inside, len(seen) * prod(lead))
        count = value.size // value.shape[-1] // rows
        components = (seen[:, :1] // rows * prod(lead) + np.arange(prod(lead))).ravel()
        own = self.at_places(own, components, count * prod(lead)).reshape(count, *lead)
        places = np.asarray(index.held())
        if width != value.shape[-1]:
            places = places // width * value.shape[-1] + places % width
        self.listed.setdefault((value.number, rows), []).append((places, own))

    # The kinds of operations.

    def product(self, operation, total):
        for matrix, read in operation.pairs:
            if read.value in self.active:
                back = self.transposed(self.given.values[matrix])
                found = product(back, total, operation.axis, f"adjoint of {operation.term}")
                self.give([read], found.reshape(1, *lead_of(read)))

    def transposed(self, matrix):
        """The transpose of a matrix; of one that is an input it is an input, too."""
        name, shape = f"transposed {matrix.name}", matrix.shape[::-1]
        if matrix.made == "input":
            return self.trace.input(name, shape, None)
        return self.trace.constant(name, shape, None, lambda: np.ascontiguousarray(matrix.held().T))

    def pointwise(self, operation, total):
        function, names, reads = operation.function, [], []
        for name, (argument, which) in function.used.items():
            given = operation.arguments[argument]
            read = given if isinstance(given, Read) and which is None else None if isinstance(given, Read) else given[which]
            if read is None:
                read = (Array(self.trace, given)[which]).read
            if read.value in self.active:
                names.append(name)
                reads.append(read)
        order = operation.order or range(len(function.graph.outputs))
        adjoints = [None] * len(function.graph.outputs)
        for component, output in enumerate(order):
            own = total[component]
            adjoints[output] = own if adjoints[output] is None else added(adjoints[output], own)
        nothing = [i for i, each in enumerate(adjoints) if each is None]
        if nothing:
            zero = self.zeros(total.shape[1:], total.domain)
            adjoints = [zero if i in nothing else each for i, each in enumerate(adjoints)]
        arguments = {argument: self.arrays(given) for argument, given in operation.arguments.items()}
        found = apply(transposed(function, tuple(names)), f"adjoint of {operation.term}", at=total, adjoint=adjoints,
                      **arguments)
        shapes = {}
        for i, read in enumerate(reads):
            shapes.setdefault(read.shape, []).append(i)
        for shape, numbers in shapes.items():
            some = part_of(found, numbers)
            self.give([reads[i] for i in numbers], self.summed(some, shape, operation))

    def arrays(self, given):
        """What an argument of a pointwise function is, as arrays."""
        if isinstance(given, dict):
            return {name: Array(self.trace, read) for name, read in given.items()}
        return [Array(self.trace, read) for read in given] if isinstance(given, list) else Array(self.trace, given)

    def summed(self, adjoints, shape, operation):
        """Adjoints (read, ...) at all points as those of reads of a shape that is the same at several of them."""
        points = adjoints.shape[1:]
        if not shape or shape[-1] != points[-1]:
            raise NotDifferentiable(f"{self.given.name}: {operation.term} reads a number, not an array, of what is asked for")
        padded = (1,) * (len(points) - len(shape)) + shape
        for axis in reversed(range(len(points))):
            if padded[axis] != points[axis]:
                adjoints = reduce("sum", adjoints, axis + 1, "sum of adjoints")
        return adjoints.reshape(len(adjoints), *shape[:-1])

    def put(self, operation, total):
        if operation.how == "max":
            raise NotDifferentiable(f"{self.given.name}: {operation.term} keeps the largest of several values")
        if operation.read.value in self.active:
            index = self.whole(self.given.values[operation.index])
            total = total if len(total.lead) > 1 else total.reshape(1, *total.lead)
            found = gather(total.reshape(-1, total.lead[-1]), index)
            self.give([operation.read], found.reshape(1, *lead_of(operation.read)))

    def copy(self, operation, total):
        self.give([operation.read], total.reshape(1, *total.lead))

    def join(self, operation, total):
        first = 0
        for read in operation.parts:
            part = (*[slice(None)] * operation.axis, slice(first, first + read.shape[operation.axis]))
            first += read.shape[operation.axis]
            if read.value in self.active:
                self.give([read], total[part].reshape(1, *lead_of(read)))

    def reduction(self, operation, total):
        if operation.how != "sum":
            raise NotDifferentiable(f"{self.given.name}: {operation.term} takes the {operation.how} of several values")
        read = operation.read
        axis = operation.axis % len(read.shape)
        before, count, after = read.shape[:axis], read.shape[axis], lead_of(read)[axis + 1:]
        ones = self.trace.constant(f"ones ({count}, 1)", (count, 1), None, lambda: np.ones((count, 1)))
        found = product(ones, total.reshape(prod(before), 1, prod(after)), -3, "adjoints")
        self.give([read], found.reshape(1, *lead_of(read)))


    def recursion(self, operation, total):
        """Of R, linear in it, and of the series, in which the recursion is no more than multilinear."""
        def record(slopes, shape):
            made = TransposedRecursion(f"adjoint of {operation.term}", -1, operation, total.read, slopes)
            return self.trace.record(made, shape, total.domain)
        columns = total.shape[-1]
        if operation.read.value in self.active:
            found = record((), (*operation.read.shape[:-1], columns))
            self.give([operation.read], found.reshape(1, *lead_of(operation.read)))
        wanted = {number: read for number, read in enumerate(operation.series) if read.value in self.active}
        if wanted:
            counts = [prod(read.shape[:-1]) for read in wanted.values()]
            found, first = record(tuple(wanted), (sum(counts), columns)), 0
            for read, count in zip(wanted.values(), counts):
                self.give([read], found[first:first + count].reshape(1, *lead_of(read)))
                first += count


KINDS = {Product: Adjoint.product, Pointwise: Adjoint.pointwise, Put: Adjoint.put, Copy: Adjoint.copy, Join: Adjoint.join,
         Reduction: Adjoint.reduction, Recursion: Adjoint.recursion}


def lead_of(read):
    """The leading axes of what is read."""
    return read.shape[:-1] if read.domain else read.shape


def is_all(places, count):
    """Whether places are 0, 1, .., count - 1."""
    return len(places) == count and np.array_equal(places, np.arange(count))


def part_of(array, rows):
    """Some entries of the first axis, a view where they follow each other."""
    if rows == list(range(rows[0], rows[-1] + 1)):
        return array if len(rows) == len(array) else array[rows[0]:rows[-1] + 1]
    return taken(array, rows)


def taken(array, rows):
    """Some entries of the first axis, copied once."""
    found = array[list(map(int, rows)),]
    return array.trace.record(Copy("adjoints", -1, found.read), found.shape, found.domain)


def added(a, b):
    """The sum of two arrays of the same shape."""
    total = apply(SUM, "sum of adjoints", a=a.reshape(1, *a.lead), b=b.reshape(1, *b.lead))
    return total.reshape(*a.lead)


SUM = Function(lambda a, b: (a[0] + b[0],), {"a": 1, "b": 1}, "sum")


def layers_of(lists, count):
    """For each of these lists of places an array that says how many entries before it, in this list or another, have the same
    place; and the most entries of one place."""
    places = np.concatenate([each.ravel() for each in lists])
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    first = np.searchsorted(ordered, ordered)
    layers = np.empty(len(places), int)
    layers[order] = np.arange(len(places)) - first
    ends = np.cumsum([each.size for each in lists])[:-1]
    return [part.reshape(each.shape) for part, each in zip(np.split(layers, ends), lists)], int(layers.max(initial=0)) + 1
