"""Roofline model: how fast a run can be, from the operations and bytes of a stage and the ceilings of the machine.

Williams, Waterman & Patterson 2009.
"""
from collections import Counter
from functools import partial

import numpy as np

from ..backends.cpu.dg.piece_borders import between_pieces
from ..methods.dg.set_operations import form_of
from ..methods.dg.stage_program import kind_of, stage
from ..program.costs import INDEX, Cost, costs, divided, means, passes_of
from ..stepping import LSRK54
from .roofline_finite_volume import grid_counts
from .roofline_hermite import hermite_costs, paper_counts

__all__ = ["bound", "ceilings", "cost", "of_the_paper", "roofline_line"]

# How kernels divide the program of a stage: [(name of the pass, how its terms begin)].
STAGE, TRACE = ("stage", ""), ("trace", "q at faces")
FLUXES = ("face_flux", ("F.n - F*", "fluxes of faces"))
CUBLAS = [("operands", ("F(q).grad r", *FLUXES[1])), ("product", ("-div F", "L (F.n - F*)", "sum")), ("finish_stage", "")]


def ceilings(dtype="float64", threads=1, seconds=0.3):
    """{"bandwidth": bytes/s, "multiply_add": flop/s} of this machine, measured; see `dgarray.backends.cpu.ceilings`."""
    from ..backends.cpu.ceilings import ceilings as measure
    return measure(dtype, threads, seconds)


def cost(tables, kernels="fused", dtype="float64", stepper=LSRK54, backend="numpy", variant=None, program=None):
    """Cost per element of one evaluation of the right-hand side and its Runge-Kutta stage: a list of `Cost`, means over stages.

    Of Hermite's method it is the cost per node of a half-step, of finite volumes that per cell of a step or a stage.
    tables    `Tables` of DG, `HermiteTables` or `GridTables`, or those of several sets
    kernels   "fused" or "array"
    dtype     of the run
    stepper   a class of `dgarray.stepping`
    backend   "numpy" or "cupy"
    variant   of the fused kernels of a GPU (`dgarray.backends.cuda.dg.variant.Variant`, or the name of Hermite's); None: of DG
              the one that moves the fewest bytes, a single kernel
    program   the `Operator.program` of the elements, in which joins count too; None: that of these tables alone

    It is that of the program of a stage: operations of the traced graphs (an addition, multiplication, division, root or
    elementary function counts 1), of the matrix products (a multiply-add counts 2), and of the update. Each face between two
    elements counts once, though kernels may compute its flux from both sides. Bytes are compulsory traffic: every array that a
    pass over the elements reads or writes is moved once. Data within a pass stays in cache, and values of neighbours are part
    of the state, which is read anyway."""
    if tables.unit.startswith("cell"):
        return [Cost("sweeps", *grid_counts(tables, kernels, dtype, stepper, variant))]
    if tables.unit.startswith("node"):
        return hermite_costs(tables, kernels, dtype, backend, variant)
    sets = tables.sets
    if program is None:
        program = partial(stage, {name: partial(form_of(each), tables=each) for name, each in sets.items()})
    else:
        program = partial(program, "stage")
    programs, real, on_cpu = programs_of(program, stepper), np.dtype(dtype).itemsize, backend == "numpy"
    if kernels != "fused":
        found = means(programs, lambda program: costs(program, passes_of(program, on_cpu), real))
    else:
        division = [STAGE] if on_cpu else division_of(tables, variant)
        index = 4 if all(each.elements * each.variables * each.rows < 2 ** 31 for each in sets.values()) else INDEX
        found = means(programs, lambda program: costs(
            program, divided(program, division), real, index, positions(sets)))
        if on_cpu:
            more = sum(at_borders(each, dtype, stepper) for each in sets.values() if each.basis.diagonal)
            found[0] = found[0]._replace(bytes=found[0].bytes + more)
    if len(sets) > 1:
        found = [Cost("stage", sum(each.flops for each in found), sum(each.bytes for each in found))]
    return [Cost(name, flops / tables.elements, size / tables.elements) for name, flops, size in found]


def programs_of(program, stepper):
    """[(program of a kind of stage, the share of such stages)] of a stepper. At the first stage q0 is the state."""
    first, *others = stepper.stages
    rows = [first._replace(alpha=0.0, beta=first.alpha + first.beta, u=0.0, v=first.u + first.v), *others]
    return [(program(row), times / len(rows)) for row, times in Counter(map(kind_of, rows)).items()]


def positions(sets):
    """{name of a constant: numbers that a kernel reads of an element in its place}: x = origin + sum_k r_k tangents_k, where
    elements are affine."""
    return {f"{name}: {x}" if name else x: each.dim + each.dim ** 2 for name, each in sets.items() if each.geometry.affine
            for x in ("x", "x at faces", "x of quadrature")}


def division_of(tables, variant):
    """How the kernels of a GPU divide a stage, those of `NodalCuda.parts`, `ModalCuda.parts` or `TensorCuda.parts`."""
    if tables.basis.diagonal:
        return [TRACE, STAGE]
    if tables.basis.trace is not None:
        return [TRACE, FLUXES, STAGE]
    if variant and variant.product == "cublas":
        return CUBLAS
    return [FLUXES, STAGE] if variant and variant.faces == "once" else [STAGE]


def at_borders(tables, dtype, stepper):
    """Bytes of a stage that a CPU's loops over pieces of tensor-product elements move besides: the values at faces between
    pieces, lists of where these go, and tiles that are read a second time, in the first stage or behind a limiter."""
    again, sides, lists, cached = between_pieces(tables, dtype)
    size = tables.variables * np.dtype(dtype).itemsize
    (faces, points), state = tables.basis.face_nodes.shape, size * tables.rows
    at_face = size * points
    again /= 1 if tables.limits else len(stepper.stages)
    return tables.elements * (state * again + 2 * sides * at_face + lists + (state + 2 * faces * at_face) * (not cached))


def variant_of(operator):
    """The variant of an operator's kernels on a GPU, as `cost` takes it; None if they have none."""
    operations = getattr(operator, "operations", None)
    variant = getattr(operations, "choice", getattr(operations, "variant", None))
    return getattr(variant, "kernel", variant)


def bound(operations, ceilings):
    """Least seconds per element and stage: sum over the operations of max(flops / multiply_add, bytes / bandwidth)."""
    return sum(max(o.flops / ceilings["multiply_add"], o.bytes / ceilings["bandwidth"]) for o in operations)


def of_the_paper(tables, operations):
    """The operations of Hermite's method with the flops of the paper's algorithm, which skips nothing, and the same bytes.

    An empty list for other methods, and for coefficients that vary.
    Their bound over the measured time is the share of the bound that the paper's algorithm would have to reach to be as
    fast.  It may exceed 1: kernels that skip operations can be faster than the machine could do them all."""
    if not tables.unit.startswith("node"):
        return []
    flops = paper_counts(tables, [o.name for o in operations])
    return [o._replace(flops=flops[o.name]) for o in operations if flops]


def roofline_line(report, operations, unit, ceilings, least=None):
    """One line on a run: operations, bytes, and the share of the machine's bound that the run reached.

    report      of `Simulation`, with elements, dofs and dof_updates_per_s
    operations  what they cost, a list of `Cost`;  unit: to which the costs belong, in words
    ceilings    of `ceilings` for the run's dtype and threads, or of `dgarray.backends.cuda.ceilings`
    least       the operations of the bound, where these are others; on a GPU those of a single kernel, whatever the variant"""
    least = least or operations
    seconds = bound(least, ceilings)
    flops, size = (sum(getattr(o, name) for o in operations) for name in ("flops", "bytes"))
    best = report["dofs"] / report["elements"] / seconds
    by_arithmetic = sum(o.flops / ceilings["multiply_add"] for o in least if limit(o, ceilings) == "arithmetic")
    side = "arithmetic" if by_arithmetic > seconds / 2 else "memory"
    return (f"roofline: {quantity(flops, 'flop')} and {quantity(size, 'B')} per {unit}; bound by {side} at "
            f"{best / 1e6:.4g} M DOF/s; {report['dof_updates_per_s'] / best:.0%} of it reached")


def limit(operation, ceilings):
    """Which ceiling bounds an operation: "arithmetic" or "memory"."""
    return ("arithmetic" if operation.flops / ceilings["multiply_add"] > operation.bytes / ceilings["bandwidth"]
            else "memory")


def quantity(value, unit):
    """A number with its unit: 19600 flop -> "19.6 kflop"."""
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"
