"""How fast a run could be: operations and bytes of every part of a stage against what the machine can do.

Williams, Waterman & Patterson 2009.
"""
from typing import NamedTuple

import numpy as np

from ..stepping import LSRK54

__all__ = ["Operation", "bound", "ceilings", "cost", "roofline_line"]


class Operation(NamedTuple):
    """One part of a stage: floating-point operations and bytes to and from memory, both per element and stage."""

    name: str
    flops: float
    bytes: float


def ceilings(dtype="float64", threads=1, seconds=0.3):
    """{"bandwidth": bytes/s, "multiply_add": flop/s} of this machine, measured; see `dgarray.backends.cpu.ceilings`."""
    from ..backends.cpu.ceilings import ceilings as measure
    return measure(dtype, threads, seconds)


def cost(tables, kernels="fused", dtype="float64", stepper=LSRK54):
    """What one evaluation of the right-hand side and its Runge-Kutta stage cost per element: a list of Operation.

    tables    `dgarray.methods.nodal_dg.NodalTables`; kernels: "fused" or "array"; dtype of the run
    flops     those of the traced graphs (an addition, multiplication, division, root or elementary function counts 1), those
              of the matrix products (a multiply-add counts 2), and those of the update
    bytes     compulsory traffic: every array that a part reads or writes is moved once, what lies in a block or a tile
              stays in cache; values of neighbours are part of the state that is read anyway
    """
    return Count(tables, dtype, stepper).fused() if kernels == "fused" else Count(tables, dtype, stepper).array()


class Count:
    """Sizes of a discretised problem, from which operations and bytes per element follow."""

    def __init__(self, tables, dtype, stepper):
        self.tables, self.functions, self.stepper = tables, tables.functions, stepper
        self.real, self.needs_x = np.dtype(dtype).itemsize, tables.needs_x
        self.d, self.V, self.N = tables.dim, tables.variables, len(tables.nodes)
        self.F, self.M = tables.face_nodes.shape
        self.low = tables.cell.reduced_differentiation[0].shape[1]
        self.P = len(tables.parameters)
        self.boundary_faces = [(group.jump, len(group.faces) / tables.elements) for group in tables.groups]
        self.interior_faces = (self.F - sum(share for _, share in self.boundary_faces)) / 2
        self.state = self.V * self.N * self.real

    def at(self, function, points):
        """Operations of a pointwise function at so many points; where it needs x, x = origin + sum_k r_k tangents_k."""
        position = 2 * self.d ** 2 if function.depends_on("x") else 0
        return (function.graph.flops + position) * points

    def boundary(self):
        return sum(self.at(jump, self.M * share) for jump, share in self.boundary_faces)

    def finish(self):
        return self.at(self.functions.finish, self.N) if self.tables.finishes else 0

    def update(self):
        """Operations, arrays of the state's size read (the state itself left out) and written, mean over the stages:
        k = A k + w dt r,  out = alpha q0 + beta q + B k + C dt r."""
        flops = reads = writes = 0
        for number, s in enumerate(self.stepper.stages):
            terms = sum(map(bool, (s.alpha, s.beta, s.B, s.C)))
            plain = sum(factor == 1 for factor in (s.alpha, s.beta))
            flops += 2 * terms - 1 - plain + (1 + 2 * bool(s.A) if s.w else 0)
            reads += bool(s.A or s.B and not s.w) + bool(s.alpha and number)      # at the first stage q0 is the state itself
            writes += 1 + bool(s.w)
        stages = len(self.stepper.stages)
        return flops * self.V * self.N / stages, reads / stages, writes / stages

    def fused(self):
        """One kernel: every face from both sides, derivatives by D_k = E R_k, everything else in one pass over the state."""
        f, d, V, N, F, M, low = self.functions, self.d, self.V, self.N, self.F, self.M, self.low
        update, reads, writes = self.update()
        flops = (self.at(f.volume, N)                       # F(q) . grad r_k at the nodes
                 + V * 2 * low * (d * N)                    # R = [R_1 .. R_d]
                 + self.at(f.left, F * M) + self.boundary()  # F . n - F*
                 + V * 2 * N * (low + F * M)                # [E L]
                 + self.finish() + update)
        index = 4 if self.tables.elements * self.V * N < 2 ** 31 else 8
        size = (self.state                                  # q read
                + self.state * reads + self.state * writes  # k and q0 read, k and the new q written
                + d * d * self.real                         # gradients
                + F * (d + 1) * self.real                   # normals and face scales
                + (d + d * d) * self.real * self.needs_x    # origin and tangents
                + F * M * index                             # where the outside values lie
                + (self.P * self.real + F * 4) * bool(self.P))   # parameters, numbers of the neighbours
        return [Operation("stage", flops, size)]

    def array(self):
        """Array by array; a block of elements goes through all parts but the face fluxes while it is in cache."""
        f, d, V, N, F, M = self.functions, self.d, self.V, self.N, self.F, self.M
        update, reads, writes = self.update()
        boundary = sum(share for _, share in self.boundary_faces)
        flux = V * F * M * self.real
        on_faces = len(np.unique(self.tables.face_nodes))
        x = d * self.real * self.needs_x
        return [
            Operation("volume", self.at(f.volume, N) + V * 2 * N * (d * N),    # fluxes, then D = [D_1 .. D_d]
                      self.state + d * d * self.real + x * N),                 # q, gradients and x read
            Operation("face_flux", self.at(f.pair, M * self.interior_faces) + self.boundary(),
                      V * on_faces * self.real + flux                          # q at face nodes read, fluxes written
                      + self.interior_faces * (2 * 2 * M * 8                   # nodes and slots of both sides
                                               + (d + 2 + 2 * self.P) * self.real)      # normal, scales, parameters
                      + boundary * (2 * M * 8 + (d + 1 + self.P) * self.real)  # the same at a boundary
                      + x * on_faces),
            Operation("lift", V * 2 * N * (F * M) + V * N, flux),              # product and sum with the volume's; fluxes read
            Operation("finish", self.finish(), self.P * self.real),
            Operation("update", update, self.state * (reads + writes)),
        ]


def bound(operations, ceilings):
    """Least seconds per element and stage: sum over the operations of max(flops / peak, bytes / bandwidth)."""
    return sum(max(o.flops / ceilings["multiply_add"], o.bytes / ceilings["bandwidth"]) for o in operations)


def roofline_line(report, tables, ceilings, stepper=LSRK54):
    """One line on a run: operations, bytes, and the share of this machine's bound that it reached.

    report     of `Simulation`: kernels, dtype, elements, dofs, dof_updates_per_s; tables: its discretised problem
    ceilings   of `ceilings` for the run's dtype and threads; stepper: the run's"""
    operations = cost(tables, report["kernels"], report["dtype"], stepper)
    seconds = bound(operations, ceilings)
    flops, size = (sum(getattr(o, name) for o in operations) for name in ("flops", "bytes"))
    best = report["dofs"] / report["elements"] / seconds
    by_arithmetic = sum(o.flops / ceilings["multiply_add"] for o in operations if limit(o, ceilings) == "arithmetic")
    side = "arithmetic" if by_arithmetic > seconds / 2 else "memory"
    return (f"roofline: {quantity(flops, 'flop')} and {quantity(size, 'B')} per element and stage; bound by {side} at "
            f"{best / 1e6:.4g} M DOF/s; {report['dof_updates_per_s'] / best:.0%} of it reached")


def limit(operation, ceilings):
    """Which ceiling holds an operation back: "arithmetic" or "memory"."""
    return ("arithmetic" if operation.flops / ceilings["multiply_add"] > operation.bytes / ceilings["bandwidth"]
            else "memory")


def quantity(value, unit):
    """A number with its unit: 19600 flop -> "19.6 kflop"."""
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"
