"""The vocabulary of recipes, and the stand-ins for arrays with which a recipe is called to make a `Program`.

    F = apply(flux, q=q, m=m)                         a pointwise function at points
    r = product(D, F)                                 a matrix applied to the rows
    l = gather(q, left), taken(q, left)               a read through an index list, by each that reads it, or once for all
    f = put(trace, (V, F), elements, [(slots, jumps, "set")])   writes through index lists
    s = reduce("max", speeds)                         a reduction over the rows
    a = join([low, q, high], 1)                       arrays one after the other along an axis
    F[v], q[:, rows], a.reshape(..), a.moved(..)      views

All these take and return `Array`s, whole ones: what fits a cache, who computes and in which order is not the recipe's business.
"""
from dataclasses import replace
from functools import cache
from math import prod
from operator import add, mul, sub

import numpy as np

from ..physics.pointwise import Pointwise
from . import operations
from .operations import Copy, Domain, Join, Product, Program, Put, Rate, Read, Recursion, Reduction, Value


class Trace:
    """The values and operations while a recipe runs."""

    def __init__(self):
        self.values, self.operations, self.known, self.made = [], [], {}, {}

    def new(self, name, shape, domain, kind="real", made="result", held=None):
        """A new value of the program, as an `Array`."""
        shape = tuple(map(int, shape))
        value = Value(name, len(self.values), shape, domain, kind, made, held)
        self.values.append(value)
        return Array(self, Read(value.number, (), None, shape, domain))

    def once(self, name, *given):
        if name not in self.known:
            self.known[name] = self.new(name, *given)
        return self.known[name]

    def constant(self, name, shape, domain, held, kind="real"):
        """An array that is known: held() returns it on the host. The name says which one."""
        return self.once(name, shape, domain, kind, "constant", held)

    def input(self, name, shape, domain):
        return self.once(name, shape, domain, "real", "input")

    def number(self, name):
        """A number that each run gives, such as the time."""
        return self.once(name, (), None, "real", "number")

    def record(self, operation, shape, domain, kind="real"):
        """Record an operation and return what it makes; the same operation on the same arrays is one."""
        if (key := repr(operation)) not in self.made:
            self.made[key] = result = self.new(operation.term, shape, domain, kind)
            self.operations.append(replace(operation, result=result.read.value))
        return self.made[key]

    def program(self, name, **outputs):
        """The finished program: what these outputs need. The trace is empty then: it and what stands for its arrays refer to
        each other, and would keep arrays of the host alive."""
        reads = {name: each.read for name, each in outputs.items()}
        needed, kept = {number for read in reads.values() for number in (read.value, read.index)}, []
        for operation in reversed(self.operations):
            if operation.result in needed:
                kept.append(operation)
                for read in operation.reads:
                    needed |= {read.value, read.index}
        program = Program(name, tuple(self.values), tuple(reversed(kept)), reads)
        self.__init__()
        return program


class Array:
    """A stand-in for an array: shape (.., row, column), the last axis without views of its own, if it has a domain."""

    def __init__(self, trace, read):
        self.trace, self.read = trace, read
        self.shape, self.domain = read.shape, read.domain

    def __repr__(self):
        return f"<{self.trace.values[self.read.value].name} {self.shape}>"

    @property
    def lead(self):
        """The axes before that of the columns."""
        return self.shape[:-1] if self.domain else self.shape

    def __len__(self):
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def _seen(self, view, lead, before=False):
        """The array through one more view; before: of what it shows before it is read through the index list."""
        shape = (*lead, self.shape[-1]) if self.domain else tuple(lead)
        which = "views" if before or self.read.index is None else "after"
        return Array(self.trace, self.read._replace(**{which: (*getattr(self.read, which), view), "shape": shape}))

    def __getitem__(self, index):
        """A part by indices of the leading axes: numbers, slices, lists of numbers (one at most)."""
        index = tuple(tuple(each) if isinstance(each, list | np.ndarray) else each
                      for each in (index if isinstance(index, tuple) else (index,)))
        if len(index) > len(self.lead):
            raise IndexError(f"{self!r} has no part {index}: columns are not taken apart")
        shape = np.broadcast_to(0, self.lead)[tuple(list(i) if isinstance(i, tuple) else i for i in index)].shape
        listed = self.read.index is not None and not self.read.after and len(self.trace.values[self.read.index].shape)
        return self._seen(("part", index), shape, listed and len(index) <= len(self.shape) - listed)

    def reshape(self, *lead):
        """A view with other leading axes."""
        if -1 in lead:
            rest = prod(self.lead) // -prod(lead)
            lead = tuple(rest if axis == -1 else axis for axis in lead)
        if prod(lead) != prod(self.lead):
            raise ValueError(f"{self!r} does not have the leading axes {lead}")
        return self._seen(("shape", lead), lead)

    def moved(self, *order):
        """The leading axes in another order."""
        return self._seen(("order", order), [self.lead[axis] for axis in order])

    def first(self, domain):
        """The first columns, which are those of another domain."""
        if not self.domain or self.domain == domain:
            return self
        views = (*self.read.views, ("columns", domain.count))
        return Array(self.trace, self.read._replace(views=views, shape=(*self.lead, domain.count), domain=domain))

    def __add__(self, other):
        return apply(by_components(add, len(self)), "sum", a=self, b=other)

    def __sub__(self, other):
        return apply(by_components(sub, len(self)), "difference", a=self, b=other)

    def __mul__(self, other):
        return apply(by_components(mul, len(self)), "times", a=self, b=other)


@cache
def by_components(operator, count):
    """The pointwise function that joins so many components of a and b by an operator."""
    return Pointwise(lambda a, b: tuple(map(operator, a, b)), {"a": count, "b": count}, operator.__name__)


def gather(values, index):
    """values[.., index]: of each component what is at places among its rows and columns; index (.., column)."""
    if values.read.index is not None:
        raise ValueError(f"{values!r} is read through an index list already")
    read = values.read._replace(index=index.read.value, shape=(*values.lead[:-1], *index.shape), domain=index.domain)
    return Array(values.trace, read)


def taken(values, index, term="taken"):
    """values[.., index] as an array of its own, gathered once for all that read it."""
    found, kind = gather(values, index), values.trace.values[values.read.value].kind
    return values.trace.record(Copy(term, -1, found.read), found.shape, found.domain, kind)


def apply(function, term=None, order=None, at=None, **given):
    """The outputs of a `dgarray.physics.pointwise.Pointwise` function at points, (output, .., column).

    at      an array (component, ..) that has all the points, where the function may read nothing that does
    given   what its arguments are: arrays (component, ..), or tuples of arrays; dicts of arrays for fields
    order   which output each component of the result is"""
    used = set(function.used.values())
    needed = [given[argument] if which is None else given[argument][which] for argument, which in used]
    points = [each.read for each in (*needed, *([] if at is None else [at[0]]))]
    shape = np.broadcast_shapes(*(read.shape for read in points))
    domain = next((read.domain for read in points if read.domain), None)

    def fits(array):
        return len(array.shape) <= len(shape) and all(a in (1, b) for a, b in zip(array.shape[::-1], shape[::-1]))
    arguments = {}
    for argument, found in given.items():          # also what its text asks for and its result does not need, at these points
        if isinstance(found, dict):
            arguments[argument] = {name: each.read for name, each in found.items() if (argument, name) in used or fits(each)}
        elif function.inputs[argument] is None:
            arguments[argument] = found.read
        elif argument in {name for name, _ in used}:
            arguments[argument] = [each.read for each in found]
    operation = operations.Pointwise(term or function.name, -1, function, arguments, None if order is None else tuple(order))
    count = len(function.graph.outputs if order is None else order)
    return next(every(given.values())).trace.record(operation, (count, *shape), domain)


def every(given):
    """All arrays among arguments."""
    for each in given:
        if isinstance(each, Array):
            yield each
        elif isinstance(each, dict):
            yield from every(each.values())
        elif isinstance(each, list | tuple):
            yield from every(each)


def product(matrix, values, axis=-2, term="product", more=()):
    """A matrix (row, n) applied along an axis of n entries of the values, -2 their rows; plus the same of `more`, pairs
    (matrix, values) of the same shapes."""
    shape = list(values.shape)
    for factor, array in ((matrix, values), *more):
        if array.shape[axis] != factor.shape[1]:
            raise ValueError(f"{factor!r} cannot be applied along axis {axis} of {array!r}")
    shape[axis], more = matrix.shape[0], tuple((factor.read.value, array.read) for factor, array in more)
    return values.trace.record(Product(term, -1, matrix.read.value, values.read, axis, more), shape, values.domain)


def put(trace, lead, domain, parts, term="put"):
    """An array (*lead, column) of zeros, but for `parts`, (index, values (component, ..), how) one after the other: they "set"
    what is at places among its rows and columns, or "add" to it, or the "max" of both stays."""
    if not parts:
        shape = *lead, domain.count
        return trace.constant(f"zeros {shape} of {domain.name}", shape, domain, lambda: np.zeros(shape))
    result = trace.new(term, (*lead, domain.count), domain)
    for index, values, how in parts:
        trace.operations.append(Put(term, result.read.value, index.read.value, values.read, how))
    return result


def stack(parts, axis=0, term="stack"):
    """Arrays of the same shape along a new leading axis."""
    return join([each.reshape(*each.lead[:axis], 1, *each.lead[axis:]) for each in parts], axis, term)


def join(parts, axis, term="join"):
    """Arrays one after the other along a leading axis, of the same shape but for that."""
    shape = list(parts[0].shape)
    shape[axis] = sum(each.shape[axis] for each in parts)
    return parts[0].trace.record(Join(term, -1, tuple(each.read for each in parts), axis), shape, parts[0].domain)


def reduce(how, values, axis=-2, term=None):
    """The "sum", "max" or "min" of the values over an axis, -2 the rows."""
    shape = list(values.shape)
    del shape[axis]
    return values.trace.record(Reduction(term or how, -1, values.read, how, axis), shape, values.domain)


def recursion(R, tau, stages, kept, rates, over=(), names=(), pruned=True, term="w"):
    """w after w = R + tau / k L w for k = stages, ..., 1, its first `kept` coefficients along each axis: see `Recursion`.

    rates   (to, axis, of, factor, series) as of a `Rate`, but with a series itself, an array (z, y, x, column), or None
    over    {variable: series by which L w is multiplied there}"""
    over, rates = dict(over), list(rates)
    reads = list(dict.fromkeys(s.read for s in (*(rate[-1] for rate in rates), *over.values()) if s is not None))
    numbers = {read: number for number, read in enumerate(reads)}
    rates = tuple(Rate(*which, float(factor), None if s is None else numbers[s.read]) for *which, factor, s in rates)
    over = {variable: numbers[s.read] for variable, s in over.items()}
    operation = Recursion(term, -1, R.read, tau.read.value, stages, kept, rates, tuple(reads), over, tuple(names), pruned)
    return R.trace.record(operation, (len(R), *(kept for _ in R.lead[1:]), R.shape[-1]), R.domain)


__all__ = ["Array", "Domain", "Trace", "apply", "gather", "join", "product", "put", "recursion", "reduce", "stack", "taken"]
