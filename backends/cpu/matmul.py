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

from .target import vector_bytes


def lanes(dtype):
    """Elements in a tile: two vector registers."""
    return 2 * vector_bytes() // np.dtype(dtype).itemsize


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
    scalar = ir.FloatType() if np.dtype(dtype) == np.float32 else ir.DoubleType()
    size, block, width = np.dtype(dtype).itemsize, row_block(rows), lanes(dtype) // 2
    vector, index = ir.VectorType(scalar, width), ir.IntType(64)
    fma_type = ir.FunctionType(vector, [vector] * 3)
    fma_name = f"llvm.fmuladd.v{width}f{8 * size}"

    def product(context, builder, signature, args):
        arrays = [context.make_array(signature.args[i])(context, builder, args[i]).data for i in (0, 2, 4)]
        a, b, c = (builder.gep(array, [args[i]]) for array, i in zip(arrays, (1, 3, 5)))
        fma = cgutils.get_or_insert_function(builder.module, fma_type, fma_name)

        def vector_at(pointer, offset):
            return builder.bitcast(builder.gep(pointer, [offset]), vector.as_pointer())

        def constant(value):
            return ir.Constant(index, value)

        with cgutils.for_range(builder, constant(padded(rows) // block)) as outer:
            first = builder.mul(outer.index, constant(inner * block))
            target = builder.mul(outer.index, constant(2 * width * block))
            places = [vector_at(c, builder.add(target, constant(i * width))) for i in range(2 * block)]
            begin = [builder.load(place, align=size) if add else ir.Constant(vector, None) for place in places]
            entry = builder.block
            head, after = builder.append_basic_block("inner"), builder.append_basic_block("store")
            builder.branch(head)
            builder.position_at_end(head)
            k = builder.phi(index)
            k.add_incoming(constant(0), entry)
            sums = [builder.phi(vector) for _ in range(2 * block)]
            for s, value in zip(sums, begin):
                s.add_incoming(value, entry)
            column = builder.mul(k, constant(2 * width))
            halves = [builder.load(vector_at(b, builder.add(column, constant(h * width))), align=size) for h in (0, 1)]
            row = builder.add(first, builder.mul(k, constant(block)))
            updated = []
            for i in range(block):
                entry_value = builder.load(builder.gep(a, [builder.add(row, constant(i))]))
                lane0 = builder.insert_element(ir.Constant(vector, ir.Undefined), entry_value, ir.Constant(ir.IntType(32), 0))
                spread = builder.shuffle_vector(lane0, ir.Constant(vector, ir.Undefined),
                                                ir.Constant(ir.VectorType(ir.IntType(32), width), None))
                updated += [builder.call(fma, [spread, half, sums[2 * i + h]]) for h, half in enumerate(halves)]
            following = builder.add(k, constant(1))
            k.add_incoming(following, builder.block)
            for s, u in zip(sums, updated):
                s.add_incoming(u, builder.block)
            builder.cbranch(builder.icmp_signed("<", following, constant(inner)), head, after)
            builder.position_at_end(after)
            for u, place in zip(updated, places):
                builder.store(u, place, align=size)
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, A, a, B, b, C, c):
        return types.void(A, types.int64, B, types.int64, C, types.int64), product

    return call
