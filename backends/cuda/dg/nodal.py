"""Nodal DG on the GPU: one kernel for the right-hand side and the Runge-Kutta update, in the variant that was chosen."""
from functools import cached_property

import numpy as np

from .faces import Faces
from .nodal_source import NodalSource
from .operations import STAGES, DeviceOperations
from .tuning import choose
from .variant import Shape

ELEMENTWISE = 128         # threads of a block of an elementwise kernel


class NodalCuda(DeviceOperations):
    """`SetOperations` with the right-hand side and the Runge-Kutta stage by kernels; wave speeds and checks are inherited.

    variant: `Variant`; None: the one that `tuning.choose` returns.  Raises ValueError for one that does not fit the device."""

    fused = frozenset({"right-hand side"})

    def __init__(self, backend, tables, variant=None):
        variant, dtype = variant or choose(backend, tables), backend.dtype
        super().__init__(backend, tables, variant.width)
        self.shape, self.variant = Shape.of(tables, dtype), variant
        if not self.shape.fits(variant, self.device.shared_per_block):
            raise ValueError(f"the variant {self.variant} does not fit {self.device.name}: {self.shape.threads(self.variant)} "
                             f"threads and {self.shape.shared_bytes(self.variant)} bytes of shared memory a block; allowed: "
                             f"1024 threads, {self.device.shared_per_block} bytes, sums of one thread in its registers")
        layout, self.face_rows = self.layout, tables.variables * self.shape.slots
        source = NodalSource(tables, dtype, self.needs_x)
        wide = layout.size(max(source.rows, self.shape.most_rows(self.variant))) >= 2 ** 31
        self.offset = np.dtype(np.int64 if wide else np.int32)
        self.kernels = self.device.compile(source.text(self.shape, self.variant, wide), dtype)
        self.geometry = backend.array(layout.pack(source.geometry(), dtype))
        self.no_list = backend.integers(np.zeros(0, np.int32))
        once = self.variant.faces == "once"
        self.faces = Faces(self.device, dtype, tables, layout, self.variant.per_face) if once else None
        self.flux = backend.zeros(layout.size(self.face_rows)) if once else self.nothing
        self.exterior = backend.integers(np.zeros(0, self.offset) if once else self._exterior())
        self.jobs = self._jobs() if self.variant.faces == "block" else (self.no_list,) * 3
        self.library = self.variant.product == "cublas"
        self.captures = not self.library          # cuBLAS may allocate at any call; a graph cannot hold that
        self.matrix = backend.array(self._matrix())
        if self.library:
            self.operands, self.sums = (backend.zeros((tables.variables, rows, layout.width))
                                        for rows in (self.shape.columns, self.shape.nodes))

    def _matrix(self):
        """[-D_1 .. -D_d L], with columns by node and direction, then by face node.

        For the stage kernel it is flat, column by column, with the rows of each group padded to whole vector loads; for cuBLAS
        it is (variable, row, column)."""
        t, shape, variant = self.tables, self.shape, self.variant
        columns = -np.stack(t.basis.differentiation, axis=2).reshape(shape.nodes, -1)
        matrix = np.hstack([columns, t.basis.lift])
        if variant.product == "cublas":
            return np.stack([matrix] * shape.variables)          # a strided batch, without lists of pointers
        groups = shape.groups(variant)
        padded = np.zeros((groups * variant.rows, shape.columns))
        padded[:shape.nodes] = matrix
        stored = np.zeros((shape.columns, groups, shape.padded_rows(variant)))
        stored[:, :, :variant.rows] = padded.reshape(groups, variant.rows, -1).transpose(2, 0, 1)
        return stored.reshape(-1)

    def _exterior(self):
        """Index of the exterior value of variable 0 at each face node, (slot, element) packed; -1 - group at a boundary."""
        t, layout = self.tables, self.layout
        node, element = np.divmod(t.faces.exterior_nodes(), t.elements)
        at = layout.at(self.rows, node.astype(self.offset), element.astype(self.offset))
        for number, group in enumerate(t.faces.groups):
            slot, cell = np.divmod(group.slots, t.elements)
            at[slot, cell] = -1 - number
        return layout.pack(at, self.offset)

    def _jobs(self):
        """The face jobs of every block of elements, as flat arrays: first job of each block, jobs, matches.

        A job (left, right, match) is one face; left and right are lane * F + face.  A face between two elements of the block is
        one job.  For any other face right is -1, and each of its elements has a job of its own.
        matches (match, face node) says which face node on the right lies at each face node on the left."""
        t, lanes, F = self.tables, self.variant.lanes, self.shape.faces
        cells, sides, codes = (np.concatenate(arrays, axis=1) for arrays in list(zip(*t.faces.lists().pairs))[:3])
        (left, right), (face, other) = cells, sides
        within = left // lanes == right // lanes
        codes = codes[0][within]
        positions = t.basis.cell.match_positions[1]
        number, match = np.unique((face[within] * F + other[within]) * positions.shape[2] + codes, return_inverse=True)
        matches = positions.reshape(-1, self.shape.face_nodes)[number]
        boundary = np.concatenate([np.zeros((0, 2), int), *(group.faces for group in t.faces.groups)])
        alone = np.concatenate([np.stack([c[~within], f[~within]]) for c, f in ((left, face), (right, other))]
                               + [boundary.T], axis=1)
        pairs = np.stack([left[within], face[within], right[within] % lanes * F + other[within], match])
        cell, side, partner, match = np.concatenate([pairs, np.vstack([alone, np.tile([[-1], [0]], alone.shape[1])])], axis=1)
        order = np.lexsort((cell, side, partner < 0, cell // lanes))
        first = np.searchsorted(cell[order] // lanes, np.arange(-(-t.elements // lanes) + 1))
        jobs = np.stack([cell % lanes * F + side, partner, match], axis=1)[order]
        return tuple(self.backend.integers(np.ascontiguousarray(a, np.int32).reshape(-1)) for a in (first, jobs, matches))

    def set_clock(self, dt, times):
        real = self.backend.dtype.type
        values = [real(value) for value in (dt, *times)] + [real(0)] * (STAGES - len(times))
        self._kernel("set_clock")((1,), (1,), (self.clock, *values))

    def kernel_texts(self, stepper):
        wide = self.offset == np.int64
        return {"stages": NodalSource(self.tables, self.backend.dtype, self.needs_x).text(self.shape, self.variant, wide)}

    def _kernel(self, name):
        return self.kernels(name)

    def _launches(self, q, out, k, q0, number, factors):
        """{name: launch} of a stage whose time is clock[1 + number]; factors: see `operations.factors`."""
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
        """Blocks of the stage kernel: one for every `lanes` elements; if blocks copy the matrix, no more than are resident."""
        groups, shared = -(-self.tables.elements // self.variant.lanes), self.shape.shared_bytes(self.variant)
        if self.variant.matrix == "global":
            return groups
        resident = self._kernel("stage").resident(self.shape.threads(self.variant), shared)
        return min(groups, self.device.multiprocessors * resident)
