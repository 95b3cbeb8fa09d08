"""Arrays on NumPy or CuPy, and the operations that every method needs: products, reductions, copies to and from the host."""
from functools import cache, cached_property, reduce
from numbers import Real
from operator import add

import numpy as np

from ..physics.pointwise import Pointwise, Rows
from ..program.interpreter import Interpreter
from ..reference.columns import PIECE, multiply, sum_of_rows
from ..support.system_memory import host_free
from . import series
from .elementwise import At, Elementwise
from .workers import Workers

PIECE_BYTES = 1 << 19          # one temporary of a piece of columns; a few dozen of them share the last-level cache
DEVICE_BYTES = 1 << 28         # the same on a GPU
AT_ONCE = 24          # rows that one launch adds


class ArrayBackend:
    """Arrays of one library in one dtype, and the operations on them.

    xp        the library, numpy or cupy
    dtype     of the arrays
    name      "numpy" or "cupy"
    threads   CPU threads that compute; None: one for every processor that this process may use; ValueError for more
    note      why "auto" has chosen the CPU; empty otherwise
    messages  the `dgarray.methods.exchange.Messages` of a part of a mesh; None: one process has all"""

    kernels, note, messages = "array", "", None
    new_workers = Workers

    def __init__(self, xp, dtype, name, threads=1):
        self.xp, self.dtype, self.name = xp, np.dtype(dtype), name
        self.workers = self.new_workers(threads)
        self.threads = self.workers.threads

    def __repr__(self):
        return f"{self.name} ({self.kernels} kernels, {self.dtype})"

    def array(self, values):
        """Move real numbers to the backend in the run's dtype."""
        return moved(self.xp, np.ascontiguousarray(values, self.dtype))

    def copied(self, values):
        """A copy of an array of the host or of the backend, on the backend and in the run's dtype."""
        if self.xp is np or not hasattr(values, "get"):
            return self.array(np.array(values))
        return self.xp.array(values, self.dtype)

    def integers(self, values):
        return moved(self.xp, np.ascontiguousarray(values))

    def zeros(self, shape):
        return self.xp.zeros(shape, self.dtype)

    def host(self, array):
        """The array as a NumPy array, copied."""
        return array.get() if hasattr(array, "get") else np.array(array)

    def message(self, values):
        """An array of the backend as `self.messages` takes it: on the host, unless they read the device's memory."""
        if not hasattr(values, "get") or not self.messages.read_devices:
            return values.get() if hasattr(values, "get") else values
        self.wait()
        return values

    def wait(self):
        """Wait until a GPU has done what it was asked for."""
        if self.name == "cupy":
            self.xp.cuda.get_current_stream().synchronize()

    def new_message(self, count, dtype=None):
        """An array for so many numbers, by default of the run's dtype, that come by `self.messages`."""
        return (self.xp if self.messages.read_devices else np).empty(count, dtype or self.dtype)

    def received(self, values):
        """The values of a message that arrived in such an array, as an array of the backend."""
        return moved(self.xp, values) if isinstance(values, np.ndarray) else values

    def number(self, value):
        """A number as `evaluate` takes it: in the run's dtype on a CPU, where functions of a Python float would be float64 and
        promote float32."""
        return float(value) if self.name == "cupy" else self.xp.asarray(value, dtype=self.dtype)

    def finite(self, q):
        """Whether every value is finite."""
        return bool(self.xp.all(self.xp.isfinite(q)))

    def largest(self, values):
        """The largest of these numbers >= 0; 0 where there are none."""
        return float(self.xp.max(values)) if values.size else 0.0

    def evaluate(self, function, into=(), /, **inputs):
        """The components of the result of a `Pointwise` function; CuPy computes them by one launch.

        inputs: as of the function;  into: `Rows` that take all components, one after the other; then nothing is returned"""
        if self.name == "cupy":
            return self._launched(function, into, inputs)
        found = function(**inputs)
        for rows in into:
            rows.put(found[:len(rows)])
            found = found[len(rows):]
        return None if into else found

    def _launched(self, function, into, inputs):
        def of(argument, which):
            given = inputs[argument]
            if isinstance(given, Rows):
                return row(given, which)
            return given if which is None else given[which]

        def row(rows, number):
            if not isinstance(rows.values, (tuple, list)):
                return At(rows.values, number, rows.index, rows.factor)
            value = rows.values[number]
            return value if isinstance(value, Real) else At(value, None, rows.index, rows.factor)
        reads = {name: of(*where) for name, where in function.used.items()}
        writes = [row(rows, number) for rows in into for number in range(len(rows))]
        return self._elementwise(function.graph, reads, writes)

    @cached_property
    def _elementwise(self):
        return Elementwise(self.xp, self.dtype)

    def product(self, matrix, values):
        """matrix @ values[v] for every variable v, a new array (variable, row of the matrix, element).

        values: (variable, column of the matrix, element)
        A CPU computes it in pieces of elements, so small that a BLAS library stays on the calling thread. Sharing such a
        product costs more than it gains: waiting for another thread takes milliseconds if the processors have other work."""
        if self.name == "cupy":
            return self.xp.matmul(matrix, values)
        variables, _, count = values.shape
        size = max(16, PIECE // matrix.size // 8 * 8)
        out = self.xp.empty((variables, len(matrix), count), values.dtype)
        even = count // size * size
        for part, width in ((slice(0, even), size), (slice(even, count), count - even)):
            if part.stop > part.start:
                source, target = (a[:, :, part].reshape(variables, a.shape[1], -1, width).swapaxes(1, 2) for a in (values, out))
                target[...] = multiply(matrix, source, self.xp)
        return out

    def sum_of_rows(self, values):
        """The sum over the rows of values (..., row, column), one after the other."""
        if self.name != "cupy" or values.shape[-2] < 2:
            return sum_of_rows(values)
        rows = self.xp.moveaxis(values, -2, 0)
        total = rows[0]
        for first in range(1, len(rows), AT_ONCE):
            some = rows[first:first + AT_ONCE]
            total, = self.evaluate(_combination(1 + len(some)), a=[total, *some], f=(1.0,) * (1 + len(some)))
        return total

    def hermite_variant(self, varies):
        """Hermite's variant that is fastest here for systems; varies: with coefficients that vary in space, where "monolithic"
        is 7 times slower as array expressions."""
        return "two-kernel"

    # Primitives of `dgarray.program.interpreter`.

    def interpreter(self, program, constants):
        """The interpreter of a `dgarray.program.operations.Program`; constants: {name: array}, shared by several programs."""
        return Interpreter(self, program, constants)

    def evaluated(self, function, arguments, order, shape):
        """The outputs of a `Pointwise` function, {argument: components}, in this order: on CuPy one array (output, *shape)."""
        if self.name != "cupy":
            found = function(**arguments)
            return found if order is None else [found[i] for i in order]
        count = len(function.graph.outputs) if order is None else len(order)
        values = self.xp.empty((count, *shape), self.dtype)
        places = range(count) if order is None else np.argsort(order).tolist()
        self.evaluate(function, [Rows([values[place] for place in places])], **arguments)
        return values

    def gathered(self, array, places):
        """The entries of an array (.., place) for a pointwise function, through an index list: on CuPy its kernel gathers."""
        return At(array, None, places) if self.name == "cupy" and array.ndim == 1 else self.taken(array, places)

    def taken(self, array, places):
        """array[..., places]."""
        return self.xp.take(array, places, axis=-1)

    def add_derivative(self, out, factor, w, axis):
        """out + factor dw/dxi along an axis of the coefficients (.., column), or out + factor w where axis is None, in place:
        coefficient j gets factor (j + 1) times coefficient j + 1. What has no place in `out` is left out."""
        w = w[tuple(slice(0, n + (k == axis)) for k, n in enumerate(out.shape[:-1]))]
        rows, values, factors = (out,), (w,), (factor,)
        if axis is not None:
            rows, values = self.xp.moveaxis(out, axis, 0), self.xp.moveaxis(w, axis, 0)[1:]
            rows, factors = rows[:len(values)], [factor * (j + 1) for j in range(len(values))]
        if self.name == "cupy":
            self.evaluate(_multiples(len(rows)), [Rows([row], factor=each) for row, each in zip(rows, factors)],
                          values=Rows(values), number=1.0)
        else:
            for row, each, value in zip(rows, factors, values):
                row += each * value
        return out

    def series_product(self, a, b):
        """The product of two power series (coefficient, .., column): c_k = sum_i a_i b_(k - i), for as many k as b has
        coefficients; a may have fewer."""
        if self.name == "cupy":
            return series.multiply(self.xp, b.ndim - 1, a, b)
        c, axes, summed = self.xp.empty_like(b), "zyx"[:b.ndim - 1], [n > 1 for n in a.shape[:-1]]
        text = f"{axes}c,{axes}c->{''.join(axis for axis, of in zip(axes, summed) if not of)}c"
        back = b[tuple(slice(None, None, -1 if of else 1) for of in summed)]
        for k in np.ndindex(*(n if of else 1 for n, of in zip(b.shape, summed))):
            some = a[tuple(slice(0, n + 1) for n in k)]
            there = [(size - 1 - n, size - 1 - n + many) if of else (0, size)
                     for n, size, many, of in zip(k, b.shape, some.shape, summed)]
            self.xp.einsum(text, some, back[tuple(slice(*ends) for ends in there)],
                           out=c[tuple(n if of else slice(None) for n, of in zip(k, summed))])
        return c

    def pieces(self, count, rows):
        """Slices that cut `count` columns into equal pieces of which one temporary with `rows` rows fits the cache, or a share
        of the memory of a GPU."""
        size = max(16, (DEVICE_BYTES if self.name == "cupy" else PIECE_BYTES) // (rows * self.dtype.itemsize))
        size = -(-count // -(-count // size)) if count else 1
        return [slice(first, min(first + size, count)) for first in range(0, count, size)]

    def stacked(self, components, shape):
        """Components, arrays or numbers, as one array (component, *shape)."""
        values = self.xp.empty((len(components), *shape), self.dtype)
        for row, component in zip(values, components):
            row[...] = component
        return values

    def write(self, target, places, values, how):
        """Write the values (component, .., column) to places of a target (component, place): see `Put`."""
        if self.name == "cupy" and how != "max":
            into = Rows(target, places, None if how == "set" else 1.0)
            self.evaluate(_multiples(len(values)), [into], values=Rows(values), number=1.0)
            return
        for row, value in zip(target, values):
            if how == "set":
                row[places] = value
            else:
                row[places] = row[places] + value if how == "add" else self.xp.maximum(row[places], value)

    def reduced(self, how, values, axis):
        """The "sum", "max" or "min" of values over an axis."""
        if how == "sum" and axis == -2:
            return self.sum_of_rows(values)
        return getattr(self.xp, how)(values, axis=axis)

    def perform(self, operations):
        """Perform `dgarray.methods.operation.Operation`s one after the other."""
        self.prepared(operations)()

    def prepared(self, operations):
        """A function that performs these operations, any number of times."""
        functions = self.functions_of(operations)

        def perform():
            for function in functions:
                function()
        return functions[0] if len(functions) == 1 else perform

    def functions_of(self, operations):
        """Functions that perform these operations when they are called one after the other."""
        return [operation.run for operation in operations]

    def free_memory(self):
        """(free bytes on the host, free bytes on the device); None where unknown, and for the device of the backend "numpy"."""
        if self.name != "cupy":
            return host_free(), None
        # CuPy's pool keeps the memory of freed arrays and uses it again, so it counts as free.
        return host_free(), self.xp.cuda.runtime.memGetInfo()[0] + self.xp.get_default_memory_pool().free_bytes()

    def pooled_memory(self):
        """The most bytes of the device that the library has taken since it was asked last; 0 on a CPU.

        What CuPy's pool holds for later use is given back."""
        return pooled(self.xp) if self.name == "cupy" else 0

    def kind(self, recipe, tables):
        """The class that computes a method on these tables: `recipe`, or a subclass that overrides operations by kernels.

        recipe: class of a method, such as `dgarray.methods.dg.set_operations.SetOperations`
        tables: the discretised problem, such as `Tables` of DG; its arrays need not be computed yet"""
        return recipe

    def operations(self, recipe, tables):
        """The object that computes a method on these tables, of the class that `kind` returns."""
        return self.kind(recipe, tables)(self, tables)


@cache
def _multiples(count):
    """So many values, times a number."""
    return Pointwise(lambda values, number: tuple(number * value for value in values), {"values": count, "number": None},
                     "multiples")


@cache
def _combination(count):
    """The sum of so many arrays a, times factors f."""
    return Pointwise(lambda f, a: reduce(add, (factor * array for factor, array in zip(f, a))), {"f": count, "a": count},
                     "combination")


def pooled(cupy):
    """The most bytes that CuPy's pool has held since this function was called last."""
    pool = cupy.get_default_memory_pool()
    most = pool.total_bytes()
    pool.free_all_blocks()
    return most


def moved(xp, values):
    """A contiguous host array as an array of the library xp.

    CuPy's `asarray` is avoided: it copies through page-locked memory, rounded up to a power of two, and keeps that memory."""
    if xp is np:
        return values
    array = xp.empty(values.shape, values.dtype)
    array.set(values)
    return array
