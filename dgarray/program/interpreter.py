"""The interpreter of programs: each kind of operation in one short function, on the arrays of a backend.

On a CPU neighbouring operations on the same columns are done for some columns at a time, which fit the cache, and threads share
these pieces. An operation waits for those before it only where it reads through an index list, or other columns.
"""
from collections import Counter
from math import prod
from typing import NamedTuple

import numpy as np

from . import recursion, recursion_transpose
from .operations import Copy, Join, Pointwise, Product, Put, Recursion, Reduction, TransposedRecursion

AT_ONCE = 12          # temporaries of a piece that is as large as all that is there at once


class Group(NamedTuple):
    """Operations on the same columns that are done together, some columns after the others.

    domain   of these columns;  rows: see `rows_of`
    local    numbers of the results that no other group needs
    outputs  names of the program's outputs that are then known
    done     for each operation, numbers of the local results that nothing needs after it"""

    operations: list
    domain: object
    rows: int
    local: frozenset
    outputs: tuple
    done: list


def groups_of(program):
    """The operations of a program in `Group`s, each as late as possible."""
    values, made = program.values, {}
    for number, operation in enumerate(program.operations):
        made.setdefault(operation.result, []).append(number)
    domains = [op.read.domain if type(op) is Put else values[op.result].domain for op in program.operations]
    levels = [0] * len(program.operations)
    for number in reversed(range(len(levels))):
        for read in program.operations[number].reads:
            for before in made.get(read.value, ()):
                waits = read.index is not None or type(program.operations[before]) is Put or domains[before] != domains[number]
                levels[before] = min(levels[before], levels[number] - waits)
            for before in made.get(read.index, ()):
                levels[before] = min(levels[before], levels[number] - (domains[before] != domains[number]))
    together = {}
    for number, key in enumerate(zip(levels, domains)):
        together.setdefault(key, []).append(number)
    groups = []
    for (_, domain), numbers in sorted(together.items(), key=lambda item: (item[0][0], item[1][-1])):
        operations, others = [program.operations[i] for i in numbers], set(range(len(levels))) - set(numbers)
        elsewhere = {value for i in others for read in program.operations[i].reads for value in (read.value, read.index)} | {
            read.value for read in program.outputs.values() if read.index is not None}
        results = {op.result for op in operations if type(op) is not Put}
        outputs = tuple(name for name, read in program.outputs.items() if read.value in results and read.index is None)
        local, wanted, done = results - elsewhere, {program.outputs[name].value for name in outputs}, []
        for operation in reversed(operations):
            used = {operation.result, *(value for read in operation.reads for value in (read.value, read.index))} & local
            done.append(used - wanted)
            wanted |= used
        groups.append(Group(operations, domain, rows_of(operations, values, local, done[::-1]), frozenset(local), outputs,
                            done[::-1]))
    return groups


def rows_of(operations, values, local, done):
    """Rows that tell how large pieces of columns may be: the most of a component, or a share of all that are there at once."""
    own, most = {}, 1
    for operation, over in zip(operations, done):
        shape, within = values[operation.result].shape, 0
        if type(operation) is Pointwise:
            within = max(0, operation.function.graph.width - shape[0]) * prod(shape[1:-1])
        if operation.result in local:
            own[operation.result] = prod(shape[:-1])
        if type(operation) is not Put:
            most = max(most, prod(shape[1:-1]), (sum(own.values()) + within) // AT_ONCE)
        for number in over:
            own.pop(number, None)
    return most


class Interpreter:
    """A program on a backend.

    backend     a `dgarray.backends.arrays.ArrayBackend`
    constants   {name: array} of the backend, to which those of this program are added, and arrays for results that are there as
                a whole: several programs share them"""

    def __init__(self, backend, program, constants):
        self.backend, self.program = backend, program.let_go()
        self.arrays, self.lists, self.joined = {}, {}, {}
        for name, value in program.inputs("constant").items():
            if name not in constants:
                constants[name] = (backend.integers if value.kind == "integer" else backend.array)(value.held())
            self.arrays[value.number] = constants[name]
        self.groups = groups_of(program)
        local = frozenset().union(*(group.local for group in self.groups))
        used = Counter()
        for number in sorted({operation.result for operation in program.operations} - local):
            shape = program.values[number].shape
            used[shape] += 1
            name = f"result {used[shape]} of {shape}"          # programs run one after the other and share these, too
            if name not in constants:
                constants[name] = backend.zeros(shape)
            self.arrays[number] = constants[name]
        self.added = {op.result for op in program.operations if type(op) is Put and op.how != "set"}

    def run(self, given, targets=None):
        """Perform all operations; given {name: array or number} of inputs and numbers. Returns {name: array} of the outputs,
        those of `targets`, {name: array}, or new ones."""
        targets, arrays = self.targets(targets), self.bound(given)
        for group in self.groups:
            self.perform(group, arrays, targets)
        return self.finish(arrays, targets)

    def finish(self, arrays, targets):
        """Set the outputs that no group sets: what is read or written through an index list, or known before."""
        for name in self.program.outputs.keys() - {name for group in self.groups for name in group.outputs}:
            targets[name][...] = self.seen(self.program.outputs[name], arrays, None)
        return targets

    def tasks(self, given, targets, numbers):
        """All operations as a list of tasks, (the operations, function that does them, names of the arrays that they read,
        {name: bytes} of those that they write); numbers(): {name: number} when the first one begins."""
        arrays, found = {}, []
        for group in self.groups:
            def task(group=group):
                if group is self.groups[0]:
                    arrays.update(self.bound(given | numbers()))
                self.perform(group, arrays, targets)
                if group is self.groups[-1]:
                    self.finish(arrays, targets)
            found.append((group.operations, task, *self.moved(group)))
        return found

    def moved(self, group):
        """(names of the arrays that a group reads besides constants, {name: bytes} of those that it writes)."""
        values, size = self.program.values, self.backend.dtype.itemsize
        reads = dict.fromkeys(values[read.value].name for operation in group.operations for read in operation.reads
                              if values[read.value].made != "constant" and values[read.value].shape
                              and read.value not in group.local)
        writes = {values[op.result].name: values[op.result].size * size for op in group.operations
                  if op.result not in group.local}
        return tuple(reads), writes | {name: prod(self.program.outputs[name].shape) * size for name in group.outputs}

    def targets(self, given=None):
        """{name: array} for all outputs."""
        given = given or {}
        return {name: given[name] if name in given else self.backend.xp.empty(read.shape, self.backend.dtype)
                for name, read in self.program.outputs.items()}

    def bound(self, given):
        """{number of a value: array} of all that is known before the first operation."""
        arrays = dict(self.arrays)
        for name, value in (self.program.inputs() | self.program.inputs("number")).items():
            arrays[value.number] = given[name] if value.shape else self.backend.number(given[name])
        for number in self.added:
            arrays[number][...] = 0
        return arrays

    def perform(self, group, arrays, targets):
        """Perform the operations of a group, some columns after the others."""
        domain = group.domain
        pieces = self.backend.pieces(domain.count, domain.weight * group.rows) if domain else [None]

        def task(piece, _):
            columns, own = pieces[piece], dict.fromkeys(group.local)
            for operation, done in zip(group.operations, group.done):
                KINDS[type(operation)](self, operation, arrays, own, columns)
                own.update(dict.fromkeys(done))
            for name in group.outputs:
                put(targets[name], self.by_components(self.program.outputs[name], arrays, own, columns), columns)
        with np.errstate(all="ignore"):          # states that are not sound are looked for afterwards
            self.backend.workers.run(task, len(pieces))

    def seen(self, read, arrays, columns, own=(), gather=None):
        """The array that a read sees, of these columns; columns None: of all. gather: a function of an array and places that
        stands for what is read through an index list."""
        value, views = self.program.values[read.value], read.views
        array = own[read.value] if read.value in own else arrays[read.value]
        if type(array) is Components:
            array, views = array.seen(views, self.backend)
        elif columns is not None and read.index is None and read.value not in own and value.domain:
            array = array[..., columns]
        array = viewed(array, views, value.domain, columns is None or read.index is not None, self.places)
        if read.index is None:
            return array
        places = own[read.index] if read.index in own else arrays[read.index]
        places = places if columns is None or read.index in own else places[..., columns]
        array = array.reshape(*array.shape[:-2], -1)
        if gather is not None and not read.after:
            return gather(array, places)
        array = array[places] if array.ndim == 1 else self.backend.taken(array, places)
        return viewed(array, read.after, read.domain, False, self.places)

    def by_components(self, read, arrays, own, columns):
        """The array of a read, to be written: components one by one where they are apart, without making one array of them."""
        values = own.get(read.value)
        if type(values) is not Components or any(what != "part" or len(index) > 1 or type(index[0]) is not slice
                                                 for what, index in read.views):
            return self.seen(read, arrays, columns, own)
        values = values.values
        for _, (index,) in read.views:
            values = values[index]
        return values

    def together(self, reads):
        """`as_one` of a list of reads of the program, kept."""
        if id(reads) not in self.joined:
            self.joined[id(reads)] = as_one(reads)
        return self.joined[id(reads)]

    def places(self, numbers):
        """An index of these numbers, where arrays are."""
        if numbers not in self.lists:
            self.lists[numbers] = self.backend.integers(np.array(numbers, int))
        return self.lists[numbers]

    def keep(self, number, found, arrays, own, columns):
        """Keep what an operation has made of these columns."""
        if number in own:
            own[number] = found
        else:
            put(arrays[number], found.values if type(found) is Components else found, columns)

    # The kinds of operations.

    def product(self, operation, arrays, own, columns):
        total = None
        for matrix, read in operation.pairs:
            values = self.seen(read, arrays, columns, own)
            before, after = values.shape[:operation.axis], values.shape[operation.axis + 1:]
            values = values.reshape(-1, values.shape[operation.axis], prod(after))
            found = self.backend.product(arrays[matrix], values)
            total = found if total is None else total + found
        self.keep(operation.result, total.reshape(*before, total.shape[1], *after), arrays, own, columns)

    def given(self, what, arrays, columns, own):
        """The value of a pointwise function's argument: of a `Read`, a list for its components or a dict for its fields."""
        if isinstance(what, dict):
            return {name: self.given(each, arrays, columns, own) for name, each in what.items()}
        if isinstance(what, list):
            if (together := self.together(what)) is not None:          # rows are taken once, for all components
                found = self.seen(together, arrays, columns, own)
                return tuple(found[read.views[-1][1][0]] for read in what)
            return tuple(self.given(each, arrays, columns, own) for each in what)
        return self.seen(what, arrays, columns, own, self.backend.gathered)

    def pointwise(self, operation, arrays, own, columns):
        arguments = {name: self.given(what, arrays, columns, own) for name, what in operation.arguments.items()}
        shape = self.program.values[operation.result].shape[1:]
        shape = shape if columns is None else (*shape[:-1], columns.stop - columns.start)
        found = self.backend.evaluated(operation.function, arguments, operation.order, shape)
        found = Components(found, shape) if isinstance(found, list | tuple) else found
        self.keep(operation.result, found, arrays, own, columns)

    def put(self, operation, arrays, own, columns):
        target, places = arrays[operation.result], arrays[operation.index][..., columns]
        values = self.by_components(operation.read, arrays, own, columns)
        lead = len(target.shape) - 2
        self.backend.write(target.reshape(*target.shape[:lead], -1), places, values, operation.how)

    def copy(self, operation, arrays, own, columns):
        self.keep(operation.result, self.seen(operation.read, arrays, columns, own), arrays, own, columns)

    def join(self, operation, arrays, own, columns):
        parts = [self.seen(each, arrays, columns, own) for each in operation.parts]
        self.keep(operation.result, self.backend.xp.concatenate(parts, axis=operation.axis), arrays, own, columns)

    def reduction(self, operation, arrays, own, columns):
        values = self.seen(operation.read, arrays, columns, own)
        found = self.backend.reduced(operation.how, values, operation.axis)
        self.keep(operation.result, found, arrays, own, columns)

    def recursion(self, operation, arrays, own, columns):
        R, *series = (self.seen(each, arrays, columns, own) for each in (operation.read, *operation.series))
        w = self.evolved(operation, R, arrays[operation.tau], series)
        self.keep(operation.result, Components(w, w[0].shape), arrays, own, columns)

    def evolved(self, operation, R, tau, series):
        return recursion.evolved(self.backend, operation, R, tau, series)

    def transposed_recursion(self, operation, arrays, own, columns):
        own_recursion = operation.recursion
        b, *series = (self.seen(each, arrays, columns, own) for each in (operation.adjoint, *own_recursion.series))
        tau = arrays[own_recursion.tau]
        if operation.slopes:
            R = self.seen(own_recursion.read, arrays, columns, own)
            found = recursion_transpose.slopes(self.backend, own_recursion, R, b, tau, series, operation.slopes)
        else:
            found = recursion_transpose.transposed(self.backend, own_recursion, b, tau, series)
        self.keep(operation.result, found, arrays, own, columns)


def as_one(reads):
    """The `Read` of all components of a value, where these reads are components of a part of it that copies rows by their
    numbers; else None."""
    if len(reads) < 2:
        return None
    first, *others = [read._replace(views=read.views[:-1], shape=()) for read in reads]
    rows = any(what == "part" and any(isinstance(each, tuple) for each in view) for what, view in first.views)
    single = all(read.views and read.views[-1][0] == "part" and len(read.views[-1][1]) == 1
                 and isinstance(read.views[-1][1][0], int) for read in reads)
    return first if rows and single and first.index is None and all(each == first for each in others) else None


def viewed(array, views, domain, whole, places):
    """An array through views, see `Read`; domain: of its columns;  whole: whether all of them are there.

    places: a function that makes an index of a tuple of numbers"""
    for what, view in views:
        if what == "part":
            array = array[tuple(places(each) if isinstance(each, tuple) else each for each in view)]
        elif what == "shape":
            array = array.reshape((*view, *array.shape[array.ndim - bool(domain):]))
        elif what == "order":
            array = array.transpose(*view, *[len(view)] * bool(domain))
        elif whole:
            array = array[..., :view]
    return array


def put(target, values, columns):
    """Set these columns of an array to an array, or to a list of components."""
    target = target if columns is None else target[..., columns]
    if isinstance(values, list | tuple):
        for row, value in zip(target, values):
            row[...] = value
    else:
        target[...] = values


class Components(NamedTuple):
    """The result of a pointwise operation, whose components are numbers or arrays that broadcast to a shape: they become one
    array where an operation wants that."""

    values: list
    shape: tuple

    def seen(self, views, backend):
        """(an array, the views that are left to take of it)."""
        if not views or views[0][0] != "part":
            return backend.stacked(self.values, self.shape), views
        index, *rest = views[0][1]
        found = self.values[index]
        if not isinstance(index, int):
            if rest:
                return backend.stacked(found, self.shape), (("part", (slice(None), *rest)), *views[1:])
            return Components(found, self.shape).seen(views[1:], backend)
        if getattr(found, "shape", None) != self.shape:
            found = backend.xp.broadcast_to(backend.xp.asarray(found, backend.dtype), self.shape)
        return found, (("part", tuple(rest)), *views[1:]) if rest else views[1:]


KINDS = {Product: Interpreter.product, Pointwise: Interpreter.pointwise, Put: Interpreter.put, Copy: Interpreter.copy,
         Join: Interpreter.join, Reduction: Interpreter.reduction, Recursion: Interpreter.recursion,
         TransposedRecursion: Interpreter.transposed_recursion}
