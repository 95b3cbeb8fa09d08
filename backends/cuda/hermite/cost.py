"""Floating-point operations of Hermite's kernels on the GPU, by counting."""
from itertools import product

from .source import stages


def operations(kernel, shape, tables):
    """Operations of a half-step for one target node; a multiply-add counts 2, and every face is interpolated once.

    kernel: "monolithic", "two-kernel" or "collapsed";  shape: `HermiteShape`;  tables: `HermiteTables`"""
    if kernel == "collapsed":
        return shape.variables * axes(shape, shape.order + 1) * 2 * (shape.order + 1) * shape.ends
    # Sums and differences of both ends, then a product of each with half of the numbers.
    interpolation = shape.variables * axes(shape, shape.ends) * shape.ends * (1 + 2 * (shape.order + 1))
    return interpolation + sum(coefficients(shape, tables)) * 2 * (len(tables.terms) + len(tables.decay)) + sum(
        shape.variables * part for part in coefficients(shape, tables, shape.order))


def axes(shape, out):
    """How many 1D products, each from 2 (N + 1) numbers to `out` numbers, a target and variable need along all axes."""
    n = shape.order + 1
    return (1, n + out, n * shape.ends + n * out + out ** 2)[shape.dim - 1]


def coefficients(shape, tables, most=None):
    """[number of coefficients that a stage computes, for every stage]; `most`: highest index along each axis that counts."""
    most, full, last = shape.ends - 1 if most is None else most, shape.dim * (shape.ends - 1), stages(tables)
    places = [(sum(j), sum(max(0, each - shape.order) for each in j)) for j in product(range(most + 1), repeat=shape.dim)]
    if not tables.method.pruned:
        return [len(places)] * last
    return [sum(beyond <= last - s and (bool(tables.decay) or degree <= full - s) for degree, beyond in places)
            for s in range(1, last + 1)]
