"""Products of a matrix with many columns, and sums of their rows, each rounded alike wherever a column stands and however many
there are."""
from functools import reduce
from operator import add

import numpy as np

GROUP = 8          # columns: BLAS libraries go through whole groups of them in one way, and through the rest in others
PIECE = 1 << 18    # multiply-adds of a product that a BLAS library still computes on one thread; more it sums in another order


def multiply(matrix, columns, xp=np):
    """matrix @ columns (..., row, column) of the library xp on the host, in float64 in whole groups of columns.

    BLAS libraries sum the last columns of an odd number in another order. The columns of a part of a mesh shall round as those
    of the whole mesh, so the last group is filled up, and many columns are taken piece by piece. One row is a product with a
    vector, whose order depends on the layout, so it is taken twice. In float32 they sum by place in other ways too, so it would
    not help."""
    if matrix.shape[-2] == 1:
        return multiply(xp.repeat(matrix, 2, axis=-2), columns, xp)[..., :1, :]
    count, size = columns.shape[-1], max(2 * GROUP, PIECE // (matrix.shape[-2] * matrix.shape[-1]) // GROUP * GROUP)
    if count > size:
        out = xp.empty((*columns.shape[:-2], matrix.shape[-2], count), np.result_type(matrix, columns))
        for first in range(0, count, size):
            out[..., first:first + size] = multiply(matrix, columns[..., first:first + size], xp)
        return out
    if count % GROUP == 0 or columns.dtype != np.float64:
        return xp.matmul(matrix, columns)
    filled = xp.zeros((*columns.shape[:-1], -(-count // GROUP) * GROUP), columns.dtype)
    filled[..., :count] = columns
    return xp.matmul(matrix, filled)[..., :count]


def multiply_by_rows(matrix, columns):
    """matrix @ columns (..., row, column) on the host, without a BLAS library: rounded alike in float32, too."""
    return reduce(add, (matrix[:, row:row + 1] * columns[..., row, None, :] for row in range(columns.shape[-2])))


def sum_of_rows(values):
    """The sum over the rows of values (..., row, column); NumPy's sum adds a single column in another order than several."""
    if not values.shape[-2]:
        return values.sum(axis=-2)
    return reduce(add, (values[..., row, :] for row in range(values.shape[-2])))
