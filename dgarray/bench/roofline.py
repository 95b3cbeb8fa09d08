"""Roofline model: how fast a run can be, from the operations and bytes of a stage and the ceilings of the machine.

Williams, Waterman & Patterson 2009.
"""
from functools import partial
from typing import NamedTuple

import numpy as np

from ..backends.cpu.dg.edges import surface_of
from ..backends.cpu.dg.piece_borders import between_pieces
from ..methods.dg.set_operations import form_of
from ..methods.dg.stage_program import kind_of, stage
from ..methods.dg.tensor_tables import TensorTables
from ..program.costs import costs
from ..stepping import LSRK54, REGISTER, STATE
from .roofline_grid import grid_counts
from .roofline_hermite import hermite_counts, paper_counts

__all__ = ["Operation", "bound", "ceilings", "cost", "cost_of_sets", "of_the_paper", "roofline_line"]


class Operation(NamedTuple):
    """One part of a stage: floating-point operations and bytes to and from memory, both per element and stage."""

    name: str
    flops: float
    bytes: float


def ceilings(dtype="float64", threads=1, seconds=0.3):
    """{"bandwidth": bytes/s, "multiply_add": flop/s} of this machine, measured; see `dgarray.backends.cpu.ceilings`."""
    from ..backends.cpu.ceilings import ceilings as measure
    return measure(dtype, threads, seconds)


def cost(tables, kernels="fused", dtype="float64", stepper=LSRK54, backend="numpy", variant=None):
    """Cost per element of one evaluation of the right-hand side and its Runge-Kutta stage: a list of `Operation`.

    Of Hermite's method it is the cost per node of a half-step, of finite volumes that per cell of a step or a stage.
    tables    `NodalTables`, `TensorTables`, `QuadratureTables`, `HermiteTables` or `GridTables`
    kernels   "fused" or "array"
    dtype     of the run
    stepper   a class of `dgarray.stepping`
    backend   "numpy" or "cupy"
    variant   of the fused kernels of a GPU (`dgarray.backends.cuda.dg.variant.Variant`, or the name of Hermite's); None: of DG
              the one that moves the fewest bytes, a single kernel that visits each face from both sides

    Operations are those of the traced graphs (an addition, multiplication, division, root or elementary function counts 1),
    of the matrix products (a multiply-add counts 2), and of the update. Bytes are compulsory traffic: every array that an
    operation reads or writes is moved once. Data within a block or tile stays in cache, and values of neighbours are part of
    the state, which is read anyway.
    """
    if tables.unit.startswith("cell"):
        return [Operation("sweeps", *grid_counts(tables, kernels, dtype, stepper, variant))]
    if tables.unit.startswith("node"):
        return [Operation(name, *each) for name, each in hermite_counts(tables, kernels, dtype, backend, variant).items()]
    if kernels != "fused":
        return cost_of_programs(tables, dtype, stepper, backend)
    if backend == "cupy":
        count = (DeviceTensorCount if isinstance(tables, TensorTables) else DeviceCount)(tables, dtype, stepper)
        return count.fused(variant)
    return (TensorCount if isinstance(tables, TensorTables) else Count)(tables, dtype, stepper).fused()


def cost_of_programs(tables, dtype, stepper, backend):
    """As `cost`, of array expressions: the program of a stage added up, means over the stages."""
    total = {}
    for row in stepper.stages:
        program = stage({"": partial(form_of(tables), tables=tables)}, kind_of(row))
        for found in costs(program, np.dtype(dtype).itemsize, backend == "numpy"):
            flops, size = total.get(found.name, (0, 0))
            total[found.name] = flops + found.flops, size + found.bytes
    count = tables.elements * len(stepper.stages)
    return [Operation(name, flops / count, size / count) for name, (flops, size) in total.items()]


def cost_of_sets(operators, dtype, stepper):
    """As `cost`, of a stage of several element sets as one operation: means over all elements. Joins do not count.

    operators: of the sets, on a CPU"""
    elements, flops, size = sum(each.tables.elements for each in operators), 0.0, 0.0
    for each in operators:
        share, kernels = each.tables.elements / elements, "array" if "right-hand side" in each.array_expressions else "fused"
        for part in cost(each.tables, kernels, dtype, stepper):
            flops, size = flops + share * part.flops, size + share * part.bytes
    return [Operation("stage", flops, size)]


class Count:
    """Counts operations and bytes per element of the CPU kernels for a discretised problem; arguments as those of `cost`."""

    def __init__(self, tables, dtype, stepper):
        self.tables, self.functions, self.stepper = tables, tables.functions, stepper
        self.dtype, self.real, self.needs_x = np.dtype(dtype), np.dtype(dtype).itemsize, tables.needs_x
        self.d, self.V, self.N, self.B = tables.dim, tables.variables, tables.rows, len(tables.points)
        self.F, self.M = tables.face_nodes.shape
        self.W = len(tables.differentiation) * self.B              # operands of the derivatives, with sources in modal DG
        self.modal = tables.trace is not None
        self.by_edges = self.modal and surface_of(tables.surface, tables.dim, tables.order, dtype) == "edges"
        self.low = 0 if self.modal else tables.cell.reduced_differentiation[0].shape[1]
        media = tables.media
        self.inside = len(media.names)                             # parameters that vary inside of elements
        self.mass = len(media.points) if media.weighted else 0
        self.P = len(tables.varying) - self.inside
        self.boundary_faces = [(group.jump, len(group.faces) / tables.elements) for group in tables.groups
                               if group.jump is not None]
        self.interior_faces = (self.F - sum(share for _, share in self.boundary_faces)) / 2
        self.state = self.V * self.N * self.real

    def at(self, function, points):
        """Operations of a pointwise function at so many points, with x = origin + sum_k r_k tangents_k if it needs x."""
        position = 2 * self.d ** 2 if function.depends_on("x") else 0
        return (function.graph.flops + position) * points

    def boundary(self):
        """Operations of the fluxes at boundary faces."""
        return sum(self.at(jump, self.M * share) for jump, share in self.boundary_faces)

    def finish(self):
        """Operations of the sources and the capacity."""
        if self.mass:
            media = self.tables.media
            here = media.finish_of(media.weighted)
            rest = self.at(media.finish_of(media.others), self.N) if media.others else 0
            products = 2 * len(media.weighted) + self.V * here.depends_on("q")
            return self.at(here, self.mass) + rest + products * 2 * self.N * self.mass
        return self.at(self.functions.finish, self.N) if self.tables.finishes else 0

    def volume(self):
        """Operations of the fluxes F(q) . grad r_k and of their product with D = [D_1 .. D_d]; in modal DG also of the values
        at the volume points."""
        points = self.V * 2 * self.B * self.N * self.modal
        return points + self.at(self.functions.volume, self.B) + self.V * 2 * self.N * self.W

    def traces(self):
        """Operations of the values at the face points in modal DG; in nodal DG they are among the unknowns."""
        return self.V * 2 * self.F * self.M * self.N * self.modal

    def lift(self):
        """Operations of the product with L."""
        return self.V * 2 * self.N * self.F * self.M

    def metrics(self):
        """Numbers per element of the metrics of the volume."""
        return self.d ** 2

    def update(self, stored="keeps"):
        """Cost of `dgarray.stepping.updated`, as means over the stages: (operations, arrays of the state's size read besides q,
        arrays written). stored: by which stages k is written, a property of `dgarray.stepping.Stage`."""
        flops = reads = writes = 0
        for number, s in enumerate(self.stepper.stages):
            kept, terms = s.terms(REGISTER), s.terms(STATE)
            plain = sum(factor == 1 and name in ("q", "q0") for factor, name in terms)
            flops += 2 * len(terms) - 1 - plain + max(0, 2 * len(kept) - 1)
            reads += s.reads_k + (s.reads_q0 and number > 0)                # at the first stage q0 is the state
            writes += 1 + getattr(s, stored)
        stages = len(self.stepper.stages)
        return flops * self.V * self.N / stages, reads / stages, writes / stages

    def fused(self):
        """One kernel with one pass over the state. Nodal DG: each face from both sides, derivatives by D_k = E R_k.

        Modal DG: derivatives by D_k, every face value once; with surface "edges" every flux once. What threads compute twice,
        for elements at the edge of their piece, does not count; nor do limiters."""
        f, d, V, N, F, M, low = self.functions, self.d, self.V, self.N, self.F, self.M, self.low
        update, reads, writes = self.update()
        volume = (self.volume() + self.traces() if self.modal else
                  self.at(f.volume, N)                      # F(q) . grad r_k at the nodes
                  + V * 2 * low * (d * N)                   # R = [R_1 .. R_d]
                  + V * 2 * N * low)                        # E
        fluxes = (self.at(f.pair, M * self.interior_faces) if self.by_edges else self.at(f.left, F * M)) + self.boundary()
        flops = (volume + fluxes                            # F . n - F*
                 + self.lift()
                 + self.finish() + update)
        index = 4 if self.tables.elements * self.V * N < 2 ** 31 else 8
        size = (self.state                                  # q read
                + self.state * reads + self.state * writes  # k and q0 read, k and the new q written
                + d * d * self.real                         # gradients
                + (d + d * d) * self.real * self.needs_x    # origin and tangents
                + self.P * self.real                        # parameters, and those at points
                + (self.tables.media.rows + self.inside * F * M * (not self.by_edges)) * self.real
                + (self.edges(index) if self.by_edges else
                   F * (d + 1) * self.real                  # normals and face scales
                   + F * M * index                          # where the outside values lie
                   + F * 4 * bool(self.P)))                 # numbers of the neighbours
        return [Operation("stage", flops, size)]

    def edges(self, index):
        """Bytes of the edges' data: normal, scales, positions, and parameters and indices of the values on both sides."""
        count = self.interior_faces + sum(share for _, share in self.boundary_faces)
        points = (self.d * self.needs_x + 2 * self.inside) * self.M
        return count * ((self.d + 2 + 2 * self.P + points) * self.real + 2 * self.M * index)


class TensorCount(Count):
    """The same of tensor-product DG, whose products run along lines of nodes."""

    def volume(self):
        n, pairs, f = len(self.tables.cell.x), self.N * (len(self.tables.cell.x) - 1) / 2, self.functions
        if self.tables.volume_flux is None:
            return self.d * (self.at(f.along, self.N) + self.V * 2 * self.N * n)
        return self.d * (self.at(f.two_point, pairs) + self.V * 4 * pairs + (self.at(f.along, 2) + self.V * 4) * self.N / n)

    def traces(self):
        return self.V * 2 * self.F * self.M * len(self.tables.cell.x)

    def lift(self):
        return self.V * 2 * self.N * 2 * self.d

    def finish(self):
        return super().finish() if self.tables.affine else self.at(self.functions.collect, self.N)

    def metrics(self):
        return self.d ** 2 if self.tables.affine else self.d ** 2 * self.N

    def fused(self):
        """Two loops: the values at the faces between pieces of tiles, and all else; each face from both sides."""
        update, reads, writes = self.update()
        again, sides, lists, cached = between_pieces(self.tables, self.dtype)
        again /= 1 if self.tables.limits else len(self.stepper.stages)         # for the first stage, or behind a limiter
        points, at_border = self.F * self.M, self.V * self.M * self.real
        flops = (self.traces() + self.volume() + self.at(self.functions.left, points) + self.boundary() + self.lift()
                 + self.finish() + update)
        size = (self.state * (1 + again + reads + writes) + 2 * sides * at_border + lists
                + (self.state + 2 * self.F * at_border) * (not cached)         # read twice; values at all faces
                + (self.tables.geometry_rows + self.P + self.tables.media.rows + self.inside * points) * self.real
                + points * 4 + self.F * 4 * bool(self.P))
        return [Operation("stage", flops, size)]


class DeviceCount(Count):
    """`Count` for the kernels of a GPU; operations have the names of `NodalCuda.parts` and `ModalCuda.parts`.

    Only the work that a variant cannot do without counts, not padding or what several threads compute redundantly."""

    def update(self, stored="changes"):
        """As inherited; the kernels write k wherever it changes: to ask for more costs them registers."""
        return super().update(stored)

    def fused(self, variant=None):
        if self.modal:
            return self.by_quadrature()
        V, N, M, slots, columns = self.V, self.N, self.M, self.F * self.M, self.d * self.N + self.F * self.M
        update, reads, writes = self.update()
        volume, product = self.at(self.functions.volume, N), V * 2 * N * columns   # [-D_1 .. -D_d  L]
        new = self.state * (reads + writes)                                        # k and q0 read, k and the new q written
        own = (self.d ** 2 + self.P) * self.real + self.positions()                # gradients, parameters, x
        at_faces = self.F * (self.d + 1) * self.real                               # normals and face scales
        lists = slots * self.place()                                               # where the outside values lie
        if variant and variant.product == "cublas":
            operands, sums = V * columns * self.real, self.state
            return [Operation("operands", volume + self.from_both_sides(), self.state + own + at_faces + lists + operands),
                    Operation("product", product, operands + sums),
                    Operation("finish_stage", self.finish() + update,
                              sums + new + self.state * self.old() + (own if self.finish() else 0))]
        stage, size = volume + product + self.finish() + update, self.state + new + own
        if variant and variant.faces == "once":
            flux = V * slots * self.real
            return [self.faces_once(flux), Operation("stage", stage, size + flux)]
        faces = self.from_both_sides()
        if variant and variant.faces == "block":
            boundary, pairs = sum(share for _, share in self.boundary_faces), self.pairs(variant.lanes)
            alone = 2 * (self.interior_faces - pairs)
            faces = self.at(self.functions.pair, M * pairs) + self.at(self.functions.left, M * alone) + self.boundary()
            lists = 12 * (pairs + alone + boundary) + M * (alone + boundary) * self.place()      # jobs are three numbers
        return [Operation("stage", stage + faces, size + at_faces + lists)]

    def by_quadrature(self):
        """Modal DG: values at the face points, fluxes in their place, the rest of the stage. Volume fluxes stay on the chip."""
        update, reads, writes = self.update()
        flux, own = self.V * self.F * self.M * self.real, (self.d ** 2 + self.P) * self.real + self.positions()
        stage = self.volume() + self.V * 2 * self.N * self.F * self.M + self.finish() + update
        return [Operation("trace", self.traces(), self.state + flux), self.faces_once(flux),
                Operation("stage", stage, self.state * (1 + reads + writes) + own + flux)]

    def faces_once(self, flux):
        """The kernel that visits each face once: it reads state, metrics and indices of a face, and writes `flux` bytes."""
        f, boundary, at = self.functions, sum(share for _, share in self.boundary_faces), self.place()
        x = self.d * self.M * self.real
        size = (self.V * len(np.unique(self.tables.face_nodes)) * self.real + flux
                + self.interior_faces * ((self.d + 2 + 2 * self.P) * self.real + 5 * at + x * f.pair.depends_on("x"))
                + boundary * ((self.d + 1 + self.P) * self.real + 3 * at)
                + x * sum(share for jump, share in self.boundary_faces if jump.depends_on("x")))
        return Operation("face_flux", self.at(f.pair, self.M * self.interior_faces) + self.boundary(), size)

    def from_both_sides(self):
        """Operations of the face fluxes if each element computes its own."""
        return self.at(self.functions.left, 2 * self.interior_faces * self.M) + self.boundary()

    def pairs(self, lanes):
        """Interior faces between two elements of one block of `lanes` elements, per element."""
        mesh = self.tables.mesh
        groups = np.arange(self.tables.elements) // lanes
        return np.count_nonzero((mesh.neighbour_face >= 0) & (groups[mesh.neighbour_cell] == groups[:, None])) / 2 / len(groups)

    def positions(self):
        """Bytes of origin and tangents, if the physics needs positions."""
        return (self.d + self.d ** 2) * self.real * self.needs_x

    def place(self):
        """Bytes of an index."""
        return 4 if self.tables.elements * self.V * max(self.N, self.F * self.M) < 2 ** 31 else 8

    def old(self):
        """Share of the stages in which the last of several kernels reads q again."""
        if self.functions.finish.depends_on("q"):
            return 1
        stages = self.stepper.stages
        return sum(bool(s.beta or s.v or s.alpha and not number) for number, s in enumerate(stages)) / len(stages)


class DeviceTensorCount(DeviceCount, TensorCount):
    """The same of tensor-product DG, whose kernels are `TensorCuda.parts`: products run along lines of nodes."""

    def fused(self, variant=None):
        """The values at the face points; then the fluxes, the products along the lines and the rest of the stage."""
        update, reads, writes = self.update()
        points, numbers = self.F * self.M, self.tables.geometry_rows + self.P
        at_faces = self.V * points * self.real
        stage = self.volume() + self.from_both_sides() + self.lift() + self.finish() + update
        return [Operation("trace", self.traces(), self.state + at_faces),
                Operation("stage", stage, self.state * (1 + reads + writes) + at_faces + numbers * self.real
                          + points * self.place())]


def variant_of(operations):
    """The variant of the kernels of these operations on a GPU, as `cost` takes it; None if they have none."""
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
    operations  what they cost, a list of `Operation`;  unit: to which the costs belong, in words
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
