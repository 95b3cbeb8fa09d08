"""Operations and bytes of a half-step of Hermite's method, see `dgarray.bench.roofline`."""
import math

import numpy as np


def hermite_counts(tables, kernels="fused", dtype="float64", backend="numpy", variant=None):
    """{operation: (floating-point operations, bytes)} per node of the grid and half-step: the mean of both half-steps.

    The two differ between walls, where the dual grid has fewer nodes than the grid.
    tables    `dgarray.methods.hermite.tables.HermiteTables`
    kernels   "fused" or "array";  backend: "numpy" or "cupy"
    variant   "two-kernel", "monolithic" or "collapsed"; None: "collapsed" if the law allows it, else "monolithic", but on a CPU
              the variant that the method asks for comes first"""
    if kernels == "array" or backend == "cupy" and tables.systems:          # coefficients that vary: array expressions
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
    """Convert {operation: counts per target} to counts per node of the grid, the mean of both half-steps."""
    targets = [math.prod(lengths) for lengths in tables.targets]
    share = sum(targets) / (len(targets) * tables.elements)
    return {name: tuple(round(share * number) for number in each) for name, each in found.items()}


def paper_counts(tables, names):
    """{operation: floating-point operations} of the paper's algorithm per node and half-step.

    names: the operations of `hermite_counts`, two kernels or one
    Empty for coefficients that vary, which the paper does not treat."""
    from .operations_hermite import of_the_paper
    if tables.systems is not None:
        return {}
    parts = of_the_paper(tables)
    found = mean(tables, dict(zip(names, [(part,) for part in (parts if len(names) > 1 else [sum(parts)])])))
    return {name: flops for name, (flops,) in found.items()}


def array_counts(tables, size):
    """{operation: (floating-point operations, bytes)} of the array expressions per target.

    They multiply by the full matrices, compute all coefficients in every stage, and write each sum to memory.
    size: bytes of a number"""
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
