"""The map along x in the fused kernels of Hermite's method, which reads each cache line of a row once.

Cell i lies between the nodes at the places i and i + 1, so a group of cells reads whole registers and one number more, which
lies in the next group's first cache line or in the last one's.  Groups follow each other towards this number: each leaves the
one that the next will lack on a list, and registers of neighbours are made of those that were read.
"""
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .lanes import Vectors, interpolated
from .vector import INDEX, data


def row_interpolation(left, dtype, vectors, backwards):
    """Compiled call(q, place, jump, edges, e, target, t, step) for a group of `vectors` registers: as `lanes.interpolation`

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


def text(source, jit):
    """The functions of a `hermite_source.HermiteSource` that read a row.

    ends    What lies beyond the row's ends, as far as a group needs it; two threads that read the same row put the same numbers
            there.  For all rows at a time: a register waits for what has just been put into a part of it.  With edges those
            of the outermost group are put on the list.
    line    Nodes of the row, coefficients from `begin` on (those of one variable and, in 3D, one j_z), mapped along x.  What
            the next face needs is asked for in between.
    image   changes the result for an image of the row."""
    n, d, size = source.n, source.d, source.node
    count, given, beside, lacking, lines = n if d > 1 else 1, "", "", "", source.lines + (source.beside == 1)
    mapped = source.map(0, "q", f"row + x + j * {n} * X", f"row + x + j * {n} * X + 1", "X", "target", "t + j * step", source.L)
    asks, inside, listed, rest = f"(j + 1) * {n}", size, "", ""
    if source.beside > 1:
        rest = f"""
    for k in range({size}):
        prefetch(q, later + x + width + k * X, 1)"""
    if source.edges:
        given, beside, lacking, lines = ", back, asked, edges, e", ", outermost, edge, edges, e", ", outermost", source.lines
        call = f"(q, row + x + j * {n} * X, X, edges, e + j * {n}, target, t + j * step, {source.L})"
        asks = f"(j + asked) * {n}"
        mapped = f"""if back:
            backwards{call}
        else:
            forwards{call}"""
        inside = f"{size} * (place != edge)"
        listed = f"""
            if place == edge:
                lacking = False
                for k in range({size} * outermost):
                    edges[e + k] = fx[number * {size} + k] * q[row + source + k * X]"""
        rest = f"""
    if lacking:
        copied(q, row + edge, X, edges, e, {size})
        for k in range({size}):
            prefetch(q, later + edge + k * X, 1)"""
    asks = f"""
        for k in range(j * {n}, {asks}):
            prefetch(q, later + x + k * X, {lines})""" * (d > 1)
    return f'''
{jit}
def ends(q, node, coming, x, width, X, ghosts, fx{beside}):
    row, later{", lacking" * source.edges} = node * {size} * X, coming * {size} * X{lacking}
    for number in range(len(ghosts) // 2):
        place, source = ghosts[2 * number], ghosts[2 * number + 1]
        if x <= place <= x + width:
            for k in range({inside}):
                ghost(q, row + place + k * X, row + source + k * X, fx[number * {size} + k]){listed}
            if not x <= source <= x + width:
                for k in range({size}):
                    prefetch(q, later + source + k * X, 1){rest}


{jit}
def line(q, node, coming, begin, v, target, t, step, x, count, maps, X{given}):
    row, later = (node * {size} + begin) * X, (coming * {size} + begin) * X
    for j in range({count}):
        {mapped}{asks}


{jit}
def image(target, t, step, factor, v, y, sy, fy):
    for j in range({count}):
        scaled(target, t + j * step, target, t + j * step, factor * fy[(v * {n} + j) * len(sy) + y],
               {source.m * source.vectors})'''
