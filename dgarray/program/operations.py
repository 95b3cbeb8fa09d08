"""A program: values, and the operations that make them.

A value is an array (.., row, column): its last axis counts the columns of a `Domain`, such as the elements of a set or the
faces of a list; matrices and numbers have none. Operations are frozen, have named operands, and work on each column alone, but
for reads and writes that go through an index list.
"""
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, NamedTuple


class Domain(NamedTuple):
    """The domain of the columns of a value: `count` things of this name.

    weight   by how much fewer of them are done at a time where many results of each are needed at once"""

    name: str
    count: int
    weight: int = 1


class Value(NamedTuple):
    """An array of a program.

    name     what it is;  number: its place in the program's list
    shape    its axes, the last one that of the columns, if it has a domain
    kind     "real", "integer" or "truth"
    made     "constant" (known when the program is made), "input", "number" (of each run, without axes) or "result"
    held     of a constant a function that returns it, an array of the host"""

    name: str
    number: int
    shape: tuple
    domain: Domain | None
    kind: str = "real"
    made: str = "result"
    held: Any = None

    @property
    def size(self):
        return prod(self.shape)


class Read(NamedTuple):
    """How an operation sees a value.

    views    one after the other: ("part", index of leading axes), ("shape", leading axes), ("order", leading axes),
             ("columns", how many of the first ones)
    index    number of the value with an index list: then the read has its shape, each number a place among the rows and columns
             of what the views show, counted row by row; None: it has that of the views
    after    views of what is read through the index list
    shape    of what is seen;  domain: of its columns"""

    value: int
    views: tuple
    index: int | None
    shape: tuple
    domain: Domain | None
    after: tuple = ()


@dataclass(frozen=True)
class Product:
    """result = a matrix applied along an axis of what is read, -2 the rows, -3 the axis before, and the same of `more`, pairs
    (matrix, read), added to it."""

    term: str
    result: int
    matrix: int
    read: Read
    axis: int
    more: tuple = ()

    @property
    def pairs(self):
        return (self.matrix, self.read), *self.more

    @property
    def reads(self):
        return [each for matrix, read in self.pairs for each in (Read(matrix, (), None, (), None), read)]


@dataclass(frozen=True)
class Pointwise:
    """result[i] = output i of a pointwise function at each point; `arguments` {argument: Read, a list of them for its
    components, or a dict of them for its fields}. order: which output each component of the result is."""

    term: str
    result: int
    function: Any
    arguments: dict = field(hash=False)
    order: tuple | None = None

    @property
    def reads(self):
        for given in self.arguments.values():
            yield from given.values() if isinstance(given, dict) else given if isinstance(given, list) else [given]


@dataclass(frozen=True)
class Put:
    """Write what is read (component, .., column) through an index list into an array of zeros: a place among its rows and
    columns, counted row by row. how: "set" what is there, "add" to it, or keep the "max" of both."""

    term: str
    result: int
    index: int
    read: Read
    how: str = "set"

    @property
    def reads(self):
        return [self.read, Read(self.index, (), None, (), None)]


@dataclass(frozen=True)
class Copy:
    """result = what is read."""

    term: str
    result: int
    read: Read

    @property
    def reads(self):
        return [self.read]


@dataclass(frozen=True)
class Join:
    """result = several arrays one after the other along an axis."""

    term: str
    result: int
    parts: tuple
    axis: int

    @property
    def reads(self):
        return self.parts


@dataclass(frozen=True)
class Reduction:
    """result = the sum, max or min of what is read over an axis, -2 the rows."""

    term: str
    result: int
    read: Read
    how: str
    axis: int

    @property
    def reads(self):
        return [self.read]


class Rate(NamedTuple):
    """A term of a rate of change L: L w has in variable `to` factor d(s w_of)/dxi_axis, or factor s w_of where axis is None.

    axis     counted among those of coefficients, (z, y, x)
    series   number of s among the recursion's series; None: s = 1"""

    to: int
    axis: int | None
    of: int
    factor: float
    series: int | None = None


@dataclass(frozen=True)
class Recursion:
    """result = w after w = R + tau / k L w for k = stages, ..., 1, a Taylor series in time of polynomials in space.

    What is read is R (variable, z, y, x, column), coefficients of xi_z^j_z xi_y^j_y xi_x^j_x; fewer axes in fewer dimensions.
    Of the last w the first `kept` coefficients along each axis are the result.

    tau      number of the value with the time;  rates: the terms of L;  names: of the variables
    series   `Read`s of power series in space (z, y, x, column), whose other coefficients are 0
    over     {variable: number of the series by which L w is multiplied there}
    pruned   leave out coefficients of w that no later stage needs"""

    term: str
    result: int
    read: Read
    tau: int
    stages: int
    kept: int
    rates: tuple
    series: tuple
    over: dict = field(hash=False)
    names: tuple = ()
    pruned: bool = True

    @property
    def reads(self):
        return [self.read, Read(self.tau, (), None, (), None), *self.series]

    def needed(self, k):
        """How many coefficients of w along each axis the stages after the one with this k need."""
        whole = self.read.shape[1]
        return min(whole, self.kept + k - 1) if self.pruned else whole


@dataclass(frozen=True)
class TransposedRecursion:
    """result = the adjoint of R of a recursion, from that of its result, or those of some of its series, their coefficients one
    after the other (coefficient, column): see `dgarray.program.recursion_transpose`.

    recursion   the `Recursion`;  adjoint: `Read` of (variable, z, y, x, column), its `kept` coefficients
    slopes      numbers of these series; none: of R"""

    term: str
    result: int
    recursion: Recursion
    adjoint: Read
    slopes: tuple = ()

    @property
    def reads(self):
        first, *others = self.recursion.reads
        return [self.adjoint, *[first] * bool(self.slopes), *others]


@dataclass(frozen=True)
class Program:
    """Values, operations in the order in which a reader understands them, and what is asked for: {name: Read}."""

    name: str
    values: tuple
    operations: tuple
    outputs: dict = field(hash=False)

    def let_go(self):
        """The program without the functions that return constants, which keep arrays of the host alive."""
        return replace(self, values=tuple(value._replace(held=None) for value in self.values))

    def inputs(self, made="input"):
        """{name: value} of the inputs, or of the "constant"s or "number"s."""
        return {value.name: value for value in self.values if value.made == made}
