"""Operations and bytes of finite volumes, per cell and step, or per cell and stage where all axes are done at once."""
import numpy as np

from ..stepping import registers


def grid_counts(tables, kernels, dtype, stepper, variant=None):
    """(flops, bytes) per cell: of a step that sweeps twice along each axis, or of a stage.

    kernels: "fused", where each sweep, or stage, reads and writes a state once, or "array", where each stencil of a sweep does
    variant: `dgarray.backends.cuda.finite_volume.variant.SweepVariant` on a GPU, where transpositions read and write it too
    Operations are those of the traced stencils; what a numerical flux computes of one side alone counts for each face."""
    real, sweeps = np.dtype(dtype).itemsize, 2 if tables.split else 1
    update = tables.update("q")
    stencils = [[*axis, update] for axis in tables.sweeps]
    flops = sweeps * sum(stencil.function.graph.flops for axis in stencils for stencil in axis)
    if tables.physics.sources:
        flops += 2 * tables.physics.source_step.function.graph.flops if tables.split else (
            tables.physics.sources_stencil.function.graph.flops)
    if kernels == "array":
        moved = sweeps * sum(len(stencil.needed) + sum(stencil.writes.values()) for axis in stencils for stencil in axis)
        return flops, moved * real
    states = 2 * sweeps * tables.dim if tables.split else 3 + 2 * registers(stepper)[1]
    if variant is not None and variant.way == "transposed":
        states += 4 * (tables.dim - 1) * tables.split
    return flops, states * tables.variables * real
