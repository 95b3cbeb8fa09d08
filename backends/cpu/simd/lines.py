"""Products of a small matrix along the lines of a lattice of rows: an axis of a tensor-product element, in all lanes."""
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .arithmetic import Vectors
from .target import vector_bytes
from .vector import INDEX, data


def along(dtype, rows, operands, given, add=False):
    """Compiled along(A, C, c, count, B_0, b_0, B_1, b_1, ..): for each of `count` lines, in all lanes of a tile,

    C[c + (line*next + i*given) L + lane] = sum over the operands s and k < inner_s of
                                            A[i, k and those before] B_s[b_s + (line*next_s + k*taken_s) L + lane],  i < rows

    with A (rows, all k) flat, L = lanes(dtype).
    operands: (inner, taken, next) of each;  given: (given, next), rows from one entry of a line to the next one, and from one
    line to the next.  add: to what is in C."""
    most = 12 if vector_bytes() == 64 else 5          # rows whose sums stay in registers
    blocks = [range(first, min(first + most, rows)) for first in range(0, rows, most)]
    columns = sum(inner for inner, _, _ in operands)

    def product(context, builder, signature, args):
        v = Vectors(builder, dtype)
        A, C, *B = (data(context, builder, signature, args, i) for i in (0, 1, *range(4, len(args), 2)))
        width = 2 * v.width

        def constant(value):
            return ir.Constant(INDEX, value)

        with cgutils.for_range(builder, args[3]) as loop:
            def line(array, start, step):
                return builder.gep(array, [builder.add(start, builder.mul(loop.index, constant(step * width)))])
            target = line(C, args[2], given[1])
            sources = [(line(array, args[5 + 2 * s], step), inner, taken)
                       for s, (array, (inner, taken, step)) in enumerate(zip(B, operands))]
            for block in blocks:
                places = {(i, h): constant(i * given[0] * width + h * v.width) for i in block for h in (0, 1)}
                sums, column = {key: v.load(target, place) if add else None for key, place in places.items()}, 0
                for source, inner, taken in sources:
                    for k in range(inner):
                        halves = [v.load(source, constant(k * taken * width + h * v.width)) for h in (0, 1)]
                        for i in block:
                            factor = v.spread(builder.load(builder.gep(A, [constant(i * columns + column)])))
                            for h in (0, 1):
                                before = sums[i, h]
                                sums[i, h] = (builder.fmul(factor, halves[h]) if before is None else
                                              builder.call(v.fma, [factor, halves[h], before]))
                        column += 1
                for key, place in places.items():
                    v.store(sums[key], target, place)
        return context.get_dummy_value()

    @intrinsic
    def one(typingctx, A, C, c, count, B, b):
        return types.void(A, C, types.int64, types.int64, B, types.int64), product

    @intrinsic
    def two(typingctx, A, C, c, count, B, b, D, d):
        return types.void(A, C, types.int64, types.int64, B, types.int64, D, types.int64), product

    return {1: one, 2: two}[len(operands)]


def accumulate(dtype, variables, taken, given, apart=0):
    """Compiled accumulate(w, f, to_l, to_r, c_l, c_r): in all lanes of a tile and for every variable v,

    w[to_l + v*given*L + lane] += c_l w[f + v*taken*L + lane],   the same with to_r and c_r;   L = lanes(dtype)

    apart: by how many rows of L numbers what is added at to_r lies behind what is added at to_l"""
    def add(context, builder, signature, args):
        v, w = Vectors(builder, dtype), data(context, builder, signature, args, 0)
        factors, width = [v.spread(args[i]) for i in (4, 5)], 2 * v.width
        for variable in range(variables):
            for h in (0, 1):
                def place(start, step, here=variable, half=h):
                    return builder.add(start, ir.Constant(INDEX, here * step * width + half * v.width))
                fluxes = [v.load(w, place(args[1], taken))] * 2
                if apart:
                    fluxes[1] = v.load(w, builder.add(place(args[1], taken), ir.Constant(INDEX, apart * width)))
                for start, factor, flux in zip(args[2:4], factors, fluxes):
                    v.store(builder.call(v.fma, [factor, flux, v.load(w, place(start, given))]), w, place(start, given))
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, w, f, l, r, c, e):
        number = w.dtype
        return types.void(w, types.int64, types.int64, types.int64, number, number), add

    return call
