"""Nodal DG on the GPU: one kernel for the right-hand side and the Runge-Kutta update, in the variant that the device likes."""
from functools import cached_property

import numpy as np

from ..arrays import NodalArrays
from .faces import Faces
from .layout import Layout
from .nodal_source import Source
from .tuning import choose
from .variant import Shape

STAGES = 8                # times that the clock on the device has room for
ELEMENTWISE = 128         # threads of a block of an elementwise kernel


class NodalCuda(NodalArrays):
    """Overrides the right-hand side and the Runge-Kutta stage of the reference; wave speeds and checks are inherited.

    The state is a flat array of rows variable * nodes + node over elements, see `Layout`.  The times of the stages are read
    from an array on the device, the clock, so that a whole step is launched again as one CUDA graph."""

    check_every = 16

    def __init__(self, backend, tables, variant=None):
        super().__init__(backend, tables)
        self.device, dtype = backend.device, backend.dtype
        self.shape = Shape.of(tables, dtype)
        self.variant = variant or choose(backend, tables)
        if not self.shape.fits(self.variant, self.device.shared_per_block):
            raise ValueError(f"the variant {self.variant} does not fit {self.device.name}: {self.shape.threads(self.variant)} "
                             f"threads and {self.shape.shared_bytes(self.variant)} bytes of shared memory a block; allowed: "
                             f"1024 threads, {self.device.shared_per_block} bytes, sums of one thread in its registers")
        self.layout = layout = Layout(tables.elements, self.variant.width)
        self.rows, self.face_rows = (tables.variables * count for count in (self.shape.nodes, self.shape.slots))
        source = Source(tables, dtype, self.needs_x)
        wide = layout.size(max(source.rows, self.shape.most_rows(self.variant))) >= 2 ** 31
        self.offset = np.dtype(np.int64 if wide else np.int32)
        self.kernels = self.device.compile(source.text(self.shape, self.variant, wide), dtype)
        self.geometry = backend.array(layout.pack(source.geometry(), dtype))
        self.clock = backend.zeros(1 + STAGES)
        self.nothing, self.no_list = backend.zeros(0), backend.integers(np.zeros(0, np.int32))
        once = self.variant.faces == "once"
        self.faces = Faces(self.device, dtype, tables, layout, self.variant.per_face) if once else None
        self.flux = backend.zeros(layout.size(self.face_rows)) if once else self.nothing
        self.exterior = backend.integers(np.zeros(0, self.offset) if once else self._exterior())
        self.jobs = self._jobs() if self.variant.faces == "block" else (self.no_list,) * 3
        self.library = self.variant.product == "cublas"
        self.matrix = backend.array(self._matrix())
        if self.library:
            self.operands, self.sums = (backend.zeros((tables.variables, rows, layout.width))
                                        for rows in (self.shape.columns, self.shape.nodes))
        self._graphs, self._began = {}, False

    def _matrix(self):
        """[-D_1 .. -D_d L], columns by node and direction, then by face node; for the stage kernel column by column, the rows
        of each group of threads filled up to whole vector loads."""
        t, shape, variant = self.tables, self.shape, self.variant
        columns = -np.stack(t.differentiation, axis=2).reshape(shape.nodes, -1)
        matrix = np.hstack([columns, t.lift])
        if variant.product == "cublas":
            return np.stack([matrix] * shape.variables)          # a batch for every variable, strided without lists of pointers
        groups = shape.groups(variant)
        padded = np.zeros((groups * variant.rows, shape.columns))
        padded[:shape.nodes] = matrix
        stored = np.zeros((shape.columns, groups, shape.padded_rows(variant)))
        stored[:, :, :variant.rows] = padded.reshape(groups, variant.rows, -1).transpose(2, 0, 1)
        return stored.reshape(-1)

    def _exterior(self):
        """Where each face node's outside value of variable 0 lies, (slot, element) packed; -1 - group at a boundary."""
        t, layout = self.tables, self.layout
        node, element = np.divmod(t.exterior_nodes(), t.elements)
        at = layout.at(self.rows, node.astype(self.offset), element.astype(self.offset))
        for number, group in enumerate(t.groups):
            slot, cell = np.divmod(group.slots, t.elements)
            at[slot, cell] = -1 - number
        return layout.pack(at, self.offset)

    def _jobs(self):
        """Faces of every block of elements, pairs within it once: first job of each block, jobs (left, right, match), matches;
        left and right are lane * F + face, right -1 where the other side is not in the block."""
        t, lanes, F = self.tables, self.variant.lanes, self.shape.faces
        faces = t.interior_faces()
        (left, right), (face, other) = faces["cells"], faces["sides"]
        within = left // lanes == right // lanes
        codes = faces["codes"][0][within]
        positions = t.cell.match_positions[1]
        number, match = np.unique((face[within] * F + other[within]) * positions.shape[2] + codes, return_inverse=True)
        matches = positions.reshape(-1, self.shape.face_nodes)[number]
        boundary = np.concatenate([np.zeros((0, 2), int), *(group.faces for group in t.groups)])
        alone = np.concatenate([np.stack([c[~within], f[~within]]) for c, f in ((left, face), (right, other))]
                               + [boundary.T], axis=1)
        pairs = np.stack([left[within], face[within], right[within] % lanes * F + other[within], match])
        cell, side, partner, match = np.concatenate([pairs, np.vstack([alone, np.tile([[-1], [0]], alone.shape[1])])], axis=1)
        order = np.lexsort((cell, side, partner < 0, cell // lanes))
        first = np.searchsorted(cell[order] // lanes, np.arange(-(-t.elements // lanes) + 1))
        jobs = np.stack([cell % lanes * F + side, partner, match], axis=1)[order]
        return tuple(self.backend.integers(np.ascontiguousarray(a, np.int32).reshape(-1)) for a in (first, jobs, matches))

    def state(self, q):
        return self.backend.array(self.layout.pack(q.reshape(self.rows, -1), self.backend.dtype))

    def zeros(self):
        return self.backend.zeros(self.layout.size(self.rows))

    def _rows(self, state):
        """The state q[variable, node, element] on the device."""
        return self.layout.unpack(state, self.rows).reshape(self.tables.variables, -1, self.tables.elements)

    def host(self, state):
        return self._on_host(self.backend.host(state))

    def _on_host(self, flat):
        return np.array(self._rows(flat), order="C")

    def fetch(self, state):
        return Arriving(self.device.fetch(state), self._on_host)

    def take(self, state, elements):
        at = self.layout.at(self.rows, np.arange(self.rows)[:, None], np.asarray(elements, np.int64))
        values = self.backend.host(state[self.backend.integers(at)])
        return values.reshape(self.tables.variables, -1, at.shape[1])

    def rate(self, q, t, exponent):
        return super().rate(self._rows(q), t, exponent)

    def admissible(self, q, t):
        return super().admissible(self._rows(q), t)

    def rhs(self, q, t):
        out = self.zeros()
        self.set_clock(1.0, [t])
        for launch in self._launches(q, out, None, q, 0, (0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0)).values():
            launch()
        return out

    def stage(self, q, out, k, q0, t, dt, row):
        for launch in self.parts(q, out, k, q0, t, dt, row).values():
            launch()

    def parts(self, q, out, k, q0, t, dt, row):
        """The launches of one stage by name, functions of no arguments, in order."""
        self.set_clock(dt, [t])
        return self._launches(q, out, k, q0, 0, factors(row))

    def step(self, stages, stepper, states, k, t, dt):
        """A whole step as one CUDA graph; `stages`: see `dgarray.stepping`."""
        self.set_clock(dt, [t + row.c * dt for row in stepper.stages])
        # The very first step compiles; a library may allocate whenever it is called, which a graph cannot hold.
        if self.library or not self._began:
            self._began = True
            return self._steps(stages, stepper, states, k)
        key = stepper.name, *map(id, (*states, k))
        if key not in self._graphs:
            after = []
            graph = self.device.capture(lambda: after.extend(self._steps(stages, stepper, states, k)))
            self._graphs[key] = graph, after, k          # kept with all that it uses, so that nothing else gets their numbers
        graph, after, _ = self._graphs[key]
        graph.launch()
        return list(after)

    def _steps(self, stages, stepper, states, k):
        *_, last = stages(Clocked(self), stepper, states, k, 0.0, 0.0)
        return [last] + [state for state in states if state is not last]

    def set_clock(self, dt, times):
        real = self.backend.dtype.type
        values = [real(value) for value in (dt, *times)] + [real(0)] * (STAGES - len(times))
        self._kernel("set_clock")((1,), (1,), (self.clock, *values))

    def _kernel(self, name):
        return self.kernels(name)

    def _launches(self, q, out, k, q0, number, factors):
        """The launches of a stage whose time is the clock's `number`."""
        real, shape, variant, layout = self.backend.dtype.type, self.shape, self.variant, self.layout
        k = self.nothing if k is None else k
        end = np.int32(self.tables.elements), self.offset.type(layout.width)
        numbers = np.int32(number), *(real(factor) for factor in factors), *end
        if self.library:
            width = -(-self.tables.elements // ELEMENTWISE)
            return {
                "operands": lambda: self._kernel("operands")(
                    (width, shape.nodes + shape.slots), (ELEMENTWISE,),
                    (q, self.operands, self.geometry, self.exterior, self.clock, numbers[0], *end)),
                "product": lambda: self.xp.matmul(self.matrix, self.operands, out=self.sums),
                "finish_stage": lambda: self._kernel("finish_stage")(
                    (width, shape.nodes), (ELEMENTWISE,),
                    (q, out, k, q0, self.sums, self.geometry, self.clock, *numbers))}
        launches = {"face_flux": lambda: self.faces(q, self.flux, self.clock, number)} if self.faces else {}
        launches["stage"] = lambda: self._kernel("stage")(
            (self.grid,), (variant.lanes, shape.groups(variant)),
            (q, out, k, q0, self.matrix, self.geometry, self.exterior, self.flux, *self.jobs, self.clock, *numbers),
            shape.shared_bytes(variant))
        return launches

    @cached_property
    def grid(self):
        """Blocks of the stage kernel: one for every group of elements; where each copies the matrix, as many as stay."""
        groups, shared = -(-self.tables.elements // self.variant.lanes), self.shape.shared_bytes(self.variant)
        if self.variant.matrix == "global":
            return groups
        resident = self._kernel("stage").resident(self.shape.threads(self.variant), shared)
        return min(groups, self.device.multiprocessors * resident)


def factors(row):
    """The factors of a stage in the kernels' order."""
    return row.A, row.w, row.alpha, row.beta, row.B, row.C, row.v


class Clocked:
    """The stages of one step, each with its own time of the clock."""

    def __init__(self, operations):
        self.operations, self.number = operations, 0

    def stage(self, q, out, k, q0, t, dt, row):
        for launch in self.operations._launches(q, out, k, q0, self.number, factors(row)).values():
            launch()
        self.number += 1


class Arriving:
    """A state on its way to the host."""

    def __init__(self, copy, as_state):
        self.copy, self.as_state = copy, as_state
        self.ready = copy.ready

    def result(self):
        return self.as_state(self.copy.result())
