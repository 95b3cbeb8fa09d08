"""Costs of a half-step of Hermite's method, see `dgarray.bench.roofline`."""
from math import prod

import numpy as np

from ..methods.hermite.half_step_program import half_step
from ..program.costs import Cost, costs, divided, means, passes_of
from .flops_hermite import counts, of_the_paper

TWO_KERNELS = [("interpolation", ("R", "left", "right")), ("evolution", "")]


def hermite_costs(tables, kernels="fused", dtype="float64", backend="numpy", variant=None):
    """A list of `Cost` per node of the grid and half-step: the mean of both half-steps.

    The two differ between walls, where the dual grid has fewer nodes than the grid.
    tables    `dgarray.methods.hermite.node_tables.HermiteTables`
    kernels   "fused" or "array";  backend: "numpy" or "cupy"
    variant   "two-kernel", "monolithic" or "collapsed"; None: "collapsed" if the law allows it, else "monolithic", but on a CPU
              the variant that the method asks for comes first

    Bytes are those of the program, of kernels without index lists, which a grid does not need. So are the operations of array
    expressions. Kernels do fewer, of which each of their texts knows the number: they interpolate each face once, and compute
    sums once that several coefficients have."""
    best, real, on_cpu = "collapsed" if tables.collapsible else "monolithic", np.dtype(dtype).itemsize, backend == "numpy"
    if kernels == "array" or tables.systems and not on_cpu:          # on a GPU coefficients that vary have no kernels
        collapsed = (tables.method.variant or best) == "collapsed"
        return per_node(tables, collapsed, lambda program: costs(program, passes_of(program, on_cpu), real))
    variant = variant or on_cpu and tables.method.variant or best
    division = TWO_KERNELS if variant == "two-kernel" else [(variant, "")]
    found = per_node(tables, variant == "collapsed", lambda program: costs(program, divided(program, division), real, 0))
    if on_cpu:
        flops = counts(tables, variant)
    else:          # one count for all kernels of a variant
        from ..backends.cuda.hermite.cost import operations
        from ..backends.cuda.hermite.variant import HermiteShape
        flops = {variant: operations(variant, HermiteShape.of(tables, np.dtype(dtype)), tables)}
        found = [Cost(variant, 0.0, sum(each.bytes for each in found))]
    return [each._replace(flops=share(tables) * flops[each.name]) for each in found]


def per_node(tables, collapsed, costs_of):
    """The mean of both half-steps per node."""
    found = means([(half_step(tables, half, collapsed), 0.5) for half in (0, 1)], costs_of)
    return [each._replace(flops=each.flops / tables.elements, bytes=each.bytes / tables.elements) for each in found]


def share(tables):
    """Targets of a half-step for each node of the grid, the mean of both."""
    return sum(map(prod, tables.targets)) / (len(tables.targets) * tables.elements)


def paper_counts(tables, names):
    """{operation: floating-point operations} of the paper's algorithm per node and half-step.

    names: the operations of `hermite_costs`, two kernels or one
    Empty for coefficients that vary, which the paper does not treat."""
    if tables.systems is not None:
        return {}
    parts = of_the_paper(tables)
    return {name: share(tables) * part for name, part in zip(names, parts if len(names) > 1 else [sum(parts)])}
