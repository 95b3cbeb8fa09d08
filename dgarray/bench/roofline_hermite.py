"""Operations and bytes of a half-step of Hermite's method, see `dgarray.bench.roofline`."""
import math

import numpy as np


def hermite_counts(tables, kernels="fused", dtype="float64", backend="numpy", variant=None):
    """{operation: (floating-point operations, bytes)} for a node and half-step, the mean of both: between walls the dual grid
    has fewer nodes.

    variant   of a GPU's kernels, "two-kernel", "monolithic" or "collapsed"; None: the one that runs on a CPU"""
    if kernels == "array" or backend == "cupy" and tables.systems:          # where coefficients vary the array text runs
        return mean(tables, array_counts(tables, np.dtype(dtype).itemsize))
    if backend == "cupy":
        from ..backends.cuda.hermite.cost import moved, operations
        from ..backends.cuda.hermite.variant import HermiteShape
        shape = HermiteShape.of(tables, np.dtype(dtype))
        kernel = variant or ("collapsed" if tables.collapsible else "monolithic")
        return mean(tables, {kernel: (operations(kernel, shape, tables), moved(kernel, shape))})
    from .operations_hermite import counts
    usual = tables.method.variant or ("collapsed" if tables.collapsible else "monolithic")
    return mean(tables, counts(tables, dtype, variant or usual))


def mean(tables, found):
    """Counts for a target, for a node of the grid and the mean of both half-steps."""
    targets = [math.prod(lengths) for lengths in tables.targets]
    share = sum(targets) / (len(targets) * tables.elements)
    return {name: tuple(round(share * number) for number in each) for name, each in found.items()}


def paper_counts(tables, names):
    """{operation: floating-point operations} as the paper's algorithm has them, for a node and half-step; names: those of
    `hermite_counts`, the two kernels or one for both.  Empty where coefficients vary, of which the paper has none."""
    from .operations_hermite import of_the_paper
    if tables.systems is not None:
        return {}
    parts = of_the_paper(tables)
    found = mean(tables, dict(zip(names, [(part,) for part in (parts if len(names) > 1 else [sum(parts)])])))
    return {name: flops for name, (flops,) in found.items()}


def array_counts(tables, size):
    """The same of the array text: products with the matrices as they are, all coefficients in every stage, sums as arrays."""
    d, v, n, m = tables.dim, tables.variables, tables.order + 1, 2 * tables.order + 2
    columns = [n ** (d - 1 - k) * m ** k for k in range(d)]
    if tables.systems is None:
        terms = tables.stages * 2 * (len(tables.terms) + len(tables.decay)) * m ** d
    else:
        from ..backends.cpu.hermite.products import ProductSeries
        from .operations_hermite import products
        terms = products(ProductSeries(tables, pruned=False))
    interpolation, evolution = v * sum(columns) * 2 * m * 2 * n, terms + tables.stages * 2 * v * m ** d
    moved = v * (n ** d + m ** d) * size
    return {"interpolate": (interpolation, moved), "evolve": (evolution, tables.stages * 4 * v * m ** d * size)}
