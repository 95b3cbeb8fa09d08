"""Small dense products C = A B of a fixed matrix and a tile of elements, as one register-blocked loop of vector instructions.

A BLAS call on a 20 x 100 matrix times 16 columns spends much of its time on packing and on the call itself.  Here A is packed
once, the tile's columns are the lanes of the vector registers, and `rows` x 2 registers accumulate while one loop runs over the
inner index: 2 vector loads and `rows` broadcasts for 2 `rows` multiply-adds.
"""
from math import ceil

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .arithmetic import Vectors
from .target import vector_bytes
from .vector import INDEX, data


def row_block(rows):
    """Rows of A whose accumulators stay in registers, at most 14 (6 with 16 registers), chosen for the least padding."""
    most = 14 if vector_bytes() == 64 else 6
    blocks = ceil(rows / most)
    return ceil(rows / blocks)


def padded(rows):
    """Number of rows that a tile must offer to hold the product of a matrix with `rows` rows."""
    return ceil(rows / row_block(rows)) * row_block(rows)


def pack(matrix, dtype):
    """Matrix (rows, inner) in the order in which the product reads it, (block, inner, row in block), as one flat array."""
    rows, inner = matrix.shape
    full = np.zeros((padded(rows), inner), dtype)
    full[:rows] = matrix
    return np.ascontiguousarray(full.reshape(-1, row_block(rows), inner).transpose(0, 2, 1)).ravel()


def multiply(rows, inner, dtype, add=False):
    """Compiled function multiply(A, a, B, b, C, c): C[c + i*L + lane] = sum_k A[a + ...] B[b + k*L + lane], L = lanes(dtype).

    A, B, C are flat arrays, a, b, c offsets into them; A is packed by `pack`; padded(rows) rows of C are written.
    add: to what is in C.
    """
    block = row_block(rows)

    def product(context, builder, signature, args):
        v = Vectors(builder, dtype)
        A, B, C = (builder.gep(data(context, builder, signature, args, i), [args[i + 1]]) for i in (0, 2, 4))

        def constant(value):
            return ir.Constant(INDEX, value)

        with cgutils.for_range(builder, constant(padded(rows) // block)) as blocks:
            first = builder.mul(blocks.index, constant(inner * block))
            target = builder.mul(blocks.index, constant(2 * v.width * block))
            places = [v.plus(target, i * v.width) for i in range(2 * block)]
            begin = [v.load(C, place) if add else v.constant(0) for place in places]
            before, loop, after = builder.block, builder.append_basic_block("inner"), builder.append_basic_block("store")
            builder.branch(loop)
            builder.position_at_end(loop)
            k = builder.phi(INDEX)
            k.add_incoming(constant(0), before)
            sums = [builder.phi(v.type) for _ in range(2 * block)]
            for value, number in zip(sums, begin):
                value.add_incoming(number, before)
            column = builder.mul(k, constant(2 * v.width))
            halves = [v.load(B, v.plus(column, h * v.width)) for h in (0, 1)]
            row = builder.add(first, builder.mul(k, constant(block)))
            updated = []
            for i in range(block):
                factor = v.spread(builder.load(builder.gep(A, [v.plus(row, i)])))
                updated += [builder.call(v.fma, [factor, half, sums[2 * i + h]]) for h, half in enumerate(halves)]
            following = v.plus(k, 1)
            k.add_incoming(following, builder.block)
            for value, number in zip(sums, updated):
                value.add_incoming(number, builder.block)
            builder.cbranch(builder.icmp_signed("<", following, constant(inner)), loop, after)
            builder.position_at_end(after)
            for number, place in zip(updated, places):
                v.store(number, C, place)
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, A, a, B, b, C, c):
        return types.void(A, types.int64, B, types.int64, C, types.int64), product

    return call
