"""Operations of the CPU kernels of Hermite's method for a cell and half-step, counted from the tables."""
from itertools import product

import numpy as np

from ..backends.cpu.hermite.product_series import ProductSeries
from ..backends.cpu.hermite.recursion import Recursion
from ..backends.cpu.hermite.series import chosen


def counts(tables, variant, pruned=None):
    """{kernel: floating-point operations} for a cell and half-step; a multiply-add counts 2.

    tables     `dgarray.methods.hermite.node_tables.HermiteTables`
    variant    "two-kernel", which has the kernels "interpolation" and "evolution", or another, which has one kernel of its name
    pruned     whether coefficients that the result does not need are skipped; None: as the method says
    They are those of a cell inside the grid, without SIMD lanes beyond the end of a row; a face between two cells is
    interpolated once."""
    d, n, V = tables.dim, tables.order + 1, tables.variables
    m = 2 * n
    if variant == "collapsed":
        return {variant: V * d * n ** (d - 1) * n * (2 * 2 * n - 1)}
    left = tables.interpolation[0]
    column = 2 * n + 2 * np.count_nonzero(left) - len(left)         # sums and differences, then products
    columns = sum(n ** (d - 1 - k) * m ** k for k in range(d))      # a face along y, then x; the cell along z
    interpolation, evolution = V * columns * column, series(tables, pruned, variant) + V * n ** d
    if variant == "monolithic":
        return {variant: interpolation + evolution}
    return {"interpolation": interpolation, "evolution": evolution}


def of_the_paper(tables):
    """Operations of (interpolation, evolution) for a cell and half-step by the algorithms of Vargas et al. 2016.

    Let m = 2N + 2.  Interpolation: dense products with the m x m matrix along every axis; a face between two cells counts once.
    Evolution (algorithm 4): in each stage a multiply-add for every term of the law and each of m^d coefficients, and one for
    each of the V m^d coefficients of w = R + tau / k L w.  Operations that a variant skips count too."""
    d, n, V, m = tables.dim, tables.order + 1, tables.variables, 2 * tables.order + 2
    columns = sum(n ** (d - 1 - k) * m ** k for k in range(d))
    terms = len(tables.terms) + len(tables.decay)
    return V * columns * 2 * m ** 2, tables.stages * 2 * (terms + V) * m ** d


def series(tables, pruned=None, variant="monolithic"):
    """Operations of all stages of the Taylor series in time, for a target."""
    pruned = tables.method.pruned if pruned is None else pruned
    if tables.systems:
        return products(ProductSeries(tables, pruned))
    return chosen(Recursion(tables, variant), tables.stages, pruned).operations()


def products(series):
    """Operations of all stages of a `ProductSeries`, with the addition of each stage to the result."""
    total, n, m = 0, series.n, series.m
    for stage, jz, jy in product(range(1, series.stages + 1), range(series.planes), range(series.rows)):
        above = sum(max(0, j - n + 1) for j in (jz, jy))
        count = min(m, n + series.stages - stage - above) if series.pruned else m
        if count >= n:
            inside = {None: True, 0: True, 1: jy + 1 < series.rows, 2: jz + 1 < series.planes}      # a neighbour along an axis
            total += series.V * n * (jz < n and jy < n)
            for i in range(series.V):
                total += 2 * sum(count - (k == 0 and count == m) for _, k, _ in series.linear[i] if inside[k])
                for _, k, s, _ in series.products[i]:
                    if inside[k]:
                        first, last = (1, min(count + 1, series.m)) if k == 0 else (0, count)
                        total += of_product(series.extents[s], jz + (k == 2), jy + (k == 1), first, last) + 2 * (last - first)
                if series.inverse[i] is not None:
                    total += of_product(series.extents[series.inverse[i]], jz, jy, 0, count)
    return total


def of_product(extent, jz, jy, first, last):
    """Operations of coefficients first to last - 1 along x, at (jz, jy), of a product with a series of size `extent`."""
    ez, ey, ex = extent
    return 2 * min(ez, jz + 1) * min(ey, jy + 1) * sum(min(ex, j + 1) for j in range(first, last))
