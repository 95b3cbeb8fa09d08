"""The map along x that reads each cache line of a row once.

Cell i lies between nodes i and i + 1, so a group of cells needs whole registers of nodes and one number more, which lies in
the cache line of the group beside it.  Groups follow each other from the side on which it lies: each keeps on a list the number
that the next one lacks, and the registers of neighbours, one place on, are shuffled from those that were read.
"""
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..simd.arithmetic import Vectors, interpolated
from ..simd.vector import INDEX, data


def row_interpolation(left, dtype, vectors, backwards):
    """Compiled call(q, place, jump, edges, e, target, t, step) for a group of `vectors` registers, as
    `arithmetic.interpolation`

        target[t + i step] = sum_j left[i, j] (low_j + (-1)^(i + j) high_j)

    with low_j the numbers q[place + j jump:], high_j those one place on, where the number after the last is edges[e + j];
    not `backwards` with high_j = q[place + j jump:], low_j one place before, where that before the first is edges[e + j].
    edges[e + j] is set to what the group lacks that ends, or not `backwards` begins, beside this one."""
    def emit(context, builder, signature, args):
        v = Vectors(builder, dtype)
        q, edges, target = (data(context, builder, signature, args, i) for i in (0, 3, 5))
        _, place, jump, _, e, _, t, step = args
        lanes = range(vectors)
        mask = ir.Constant(ir.VectorType(ir.IntType(32), v.width),
                           list(range(1, v.width + 1) if backwards else range(v.width - 1, 2 * v.width - 1)))
        pairs = [[] for _ in lanes]
        for j in range(left.shape[1]):
            at = v.plus(place, builder.mul(jump, ir.Constant(INDEX, j)))
            read = [v.load(q, v.plus(at, lane * v.width)) for lane in lanes]
            edge = builder.gep(edges, [v.plus(e, j)])
            lacking = v.spread(builder.load(edge))
            builder.store(builder.load(builder.gep(q, [v.plus(at, 0 if backwards else vectors * v.width - 1)])), edge)
            line = [*read, lacking] if backwards else [lacking, *read]
            for lane, (low, high) in enumerate(zip(line, line[1:])):
                beside = builder.shuffle_vector(low, high, mask)
                pairs[lane].append((low, beside) if backwards else (beside, high))
        for lane in lanes:
            for i, value in enumerate(interpolated(v, left, pairs[lane])):
                v.store(value, target, v.plus(t, builder.mul(step, ir.Constant(INDEX, i)), lane * v.width))
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, q, place, jump, edges, e, target, t, step):
        integer = types.int64
        return types.void(q, integer, integer, edges, integer, target, integer, integer), emit

    return call


@intrinsic
def copied(typingctx, q, place, jump, edges, e, count):
    """copied(q, place, jump, edges, e, count): edges[e + k] = q[place + k jump] for k < count; the place may be -1: that before
    the first."""
    def emit(context, builder, signature, args):
        source, target = (data(context, builder, signature, args, i) for i in (0, 3))
        _, place, jump, _, e, count = args
        with cgutils.for_range(builder, count) as loop:
            number = builder.load(builder.gep(source, [builder.add(place, builder.mul(jump, loop.index))]))
            builder.store(number, builder.gep(target, [builder.add(e, loop.index)]))
        return context.get_dummy_value()

    integer = types.int64
    return types.void(q, integer, integer, edges, integer, integer), emit
