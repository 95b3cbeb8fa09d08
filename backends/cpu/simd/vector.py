"""Moves between the state and a tile: whole vector registers where elements are contiguous, else by an index list."""
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .target import lanes

INDEX = ir.IntType(64)


def data(context, builder, signature, args, position):
    """Pointer to the first value of an array argument."""
    return context.make_array(signature.args[position])(context, builder, args[position]).data


def scalar_type(dtype):
    return ir.FloatType() if np.dtype(dtype) == np.float32 else ir.DoubleType()


def copy(dtype):
    """Compiled copy(source, s, target, t): target[t:t + L] = source[s:s + L], L = lanes(dtype), flat arrays."""
    size, width = np.dtype(dtype).itemsize, lanes(dtype) // 2
    vector = ir.VectorType(scalar_type(dtype), width)

    def move(context, builder, signature, args):
        source = builder.gep(data(context, builder, signature, args, 0), [args[1]])
        target = builder.gep(data(context, builder, signature, args, 2), [args[3]])
        halves = []
        for h in (0, 1):
            offset = [ir.Constant(INDEX, h * width)]
            halves.append(builder.load(builder.bitcast(builder.gep(source, offset), vector.as_pointer()), align=size))
        for h in (0, 1):
            offset = [ir.Constant(INDEX, h * width)]
            builder.store(halves[h], builder.bitcast(builder.gep(target, offset), vector.as_pointer()), align=size)
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, source, s, target, t):
        return types.void(source, types.int64, target, types.int64), move

    return call


def entry(builder, index, i, lane):
    """index[i + lane], of whatever width the list's numbers are, as an offset."""
    number = builder.load(builder.gep(index, [builder.add(i, lane)]))
    return number if number.type == INDEX else builder.sext(number, INDEX)


def scatter(variables, dtype):
    """Compiled scatter(source, s, target, stride, index, i), `gather` the other way round:
    target[v*stride + index[i + lane]] = source[s + v*L + lane] for every variable v and lane."""
    width = lanes(dtype)

    def move(context, builder, signature, args):
        source, target, index = (data(context, builder, signature, args, i) for i in (0, 2, 4))
        _, s, _, stride, _, i = args
        with cgutils.for_range(builder, ir.Constant(INDEX, width)) as loop:
            number = entry(builder, index, i, loop.index)
            place = builder.add(s, loop.index)
            for v in range(variables):
                value = builder.load(builder.gep(source, [builder.add(place, ir.Constant(INDEX, v * width))]))
                builder.store(value, builder.gep(target, [number]))
                number = builder.add(number, stride)
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, source, s, target, stride, index, i):
        return types.void(source, types.int64, target, types.int64, index, types.int64), move

    return call


def gather(variables, dtype):
    """Compiled gather(source, stride, index, i, target, t):
    target[t + v*L + lane] = source[v*stride + index[i + lane]] for every variable v and lane.

    Vectors are assembled in registers: what is stored value by value cannot be read as a vector at once."""
    size, width = np.dtype(dtype).itemsize, lanes(dtype) // 2
    vector = ir.VectorType(scalar_type(dtype), width)

    def move(context, builder, signature, args):
        source, index, target = (data(context, builder, signature, args, i) for i in (0, 2, 4))
        _, stride, _, i, _, t = args
        for half in (0, 1):
            values = [ir.Constant(vector, ir.Undefined)] * variables
            for lane in range(width):
                number = entry(builder, index, i, ir.Constant(INDEX, half * width + lane))
                for v, value in enumerate(values):
                    one = builder.load(builder.gep(source, [number]))
                    values[v] = builder.insert_element(value, one, ir.Constant(ir.IntType(32), lane))
                    number = builder.add(number, stride)
            for v, value in enumerate(values):
                place = builder.gep(target, [builder.add(t, ir.Constant(INDEX, (2 * v + half) * width))])
                builder.store(value, builder.bitcast(place, vector.as_pointer()), align=size)
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, source, stride, index, i, target, t):
        return types.void(source, types.int64, index, types.int64, target, types.int64), move

    return call


def ask(builder, pointer, place):
    """Ask for the cache line of the value at a place."""
    byte, integer = ir.IntType(8).as_pointer(), ir.IntType(32)
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(ir.VoidType(), [byte, integer, integer, integer]), "llvm.prefetch.p0")
    address = builder.bitcast(builder.gep(pointer, [place]), byte)
    builder.call(function, [address, *(integer(i) for i in (0, 2, 1))])


@intrinsic
def select(typingctx, test, a, b):
    """select(test, a, b): a if test else b, both of one type, both computed: one instruction, where numba makes four blocks."""
    def choose(context, builder, signature, args):
        return builder.select(context.cast(builder, args[0], signature.args[0], types.boolean), args[1], args[2])
    return (a(test, a, b), choose) if a == b else None


@intrinsic
def prefetch(typingctx, source, s, lines):
    """prefetch(source, s, lines): ask for `lines` cache lines from source[s] on, without waiting for them."""

    def emit(context, builder, signature, args):
        step = 64 * 8 // signature.args[0].dtype.bitwidth
        with cgutils.for_range(builder, args[2]) as loop:
            place = builder.add(args[1], builder.mul(loop.index, ir.Constant(INDEX, step)))
            ask(builder, data(context, builder, signature, args, 0), place)
        return context.get_dummy_value()

    return types.void(source, types.int64, types.int64), emit
