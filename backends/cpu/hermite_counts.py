"""Operations and bytes that the CPU kernels of Hermite's method need for a cell and half-step, counted from their tables."""
import numpy as np

from .hermite_products import ProductSeries
from .hermite_recursion import Recursion
from .hermite_series import chosen


def counts(tables, dtype, variant, pruned=None):
    """{kernel: (floating-point operations, bytes)} for a cell and half-step; a multiply-add counts 2.

    Kernels are "interpolation" and "evolution" of the variant "two-kernel", else the variant.  Operations are those of a cell
    inside the grid, without what the lanes beyond a row's end do; a face between two cells is interpolated once.
    Bytes are what must be moved: the state read and written, in between the interpolants of two kernels, and the series of
    coefficients that vary."""
    d, n, V = tables.dim, tables.order + 1, tables.variables
    m, state, real = 2 * n, V * n ** d, np.dtype(dtype).itemsize
    if variant == "collapsed":
        return {variant: (V * d * n ** (d - 1) * n * (2 * 2 * n - 1), 2 * state * real)}
    left = tables.interpolation[0]
    column = 2 * n + 2 * np.count_nonzero(left) - len(left)         # sums and differences, then products
    columns = sum(n ** (d - 1 - k) * m ** k for k in range(d))      # of a face along y, then x, and of the cell along z
    interpolation, evolution = V * columns * column, series(tables, pruned, variant) + state
    read = ProductSeries(tables, pruned).coefficients() * real if tables.systems else 0
    if variant == "monolithic":
        return {variant: (interpolation + evolution, 2 * state * real + read)}
    moved = (state + V * m ** d) * real
    return {"interpolation": (interpolation, moved), "evolution": (evolution, moved + read)}


def of_the_paper(tables):
    """Operations of (interpolation, evolution) for a cell and half-step by the algorithms of Vargas et al. 2016.

    With m = 2N + 2, interpolation: dense products with the m x m matrix along every axis, a face between two cells once.
    Evolution (algorithm 4): in each stage a multiply-add for every term of the law and each of m^d coefficients, and one for
    each of the V m^d coefficients of w = R + tau / k L w.  Nothing is left out, whatever the variant does."""
    d, n, V, m = tables.dim, tables.order + 1, tables.variables, 2 * tables.order + 2
    columns = sum(n ** (d - 1 - k) * m ** k for k in range(d))
    terms = len(tables.terms) + len(tables.decay)
    return V * columns * 2 * m ** 2, tables.stages * 2 * (terms + V) * m ** d


def series(tables, pruned=None, variant="monolithic"):
    """Operations of a Taylor series and of its sum."""
    pruned = tables.method.pruned if pruned is None else pruned
    if tables.systems:
        return ProductSeries(tables, pruned).operations()
    return chosen(Recursion(tables), tables.stages, pruned, variant == "monolithic").operations()
