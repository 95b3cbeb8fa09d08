"""Tensor-product DG on the GPU: a kernel for the values at the faces, and one for fluxes, products and update."""
import numpy as np

from ....methods.dg.set_operations import TensorOperations
from .operations import STAGES, DeviceOperations
from .tensor_source import TensorSource

TRACED = 128              # threads of a block of the kernel for values at the faces


class TensorCuda(DeviceOperations, TensorOperations):
    """Tensor-product DG on the GPU: right-hand side and Runge-Kutta stage by kernels, wave speeds and checks by arrays."""

    fused = frozenset({"right-hand side"})

    def __init__(self, backend, tables):
        super().__init__(backend, tables, 0)
        layout, V = self.layout, tables.variables
        self.source = TensorSource(tables, backend.dtype, self.needs_x, self.device.shared_per_block)
        self.wide = layout.size(max(self.source.rows_in_table, V * max(tables.rows, tables.basis.face_nodes.size))) >= 2 ** 31
        self.offset = np.dtype(np.int64 if self.wide else np.int32)
        self.kernels = self.device.compile(self.source.text(self.wide), backend.dtype)
        self.geometry = backend.array(layout.pack(self.source.geometry(), backend.dtype))
        self.exterior = backend.integers(self._exterior())
        self.at_all_faces = backend.zeros(layout.size(V * tables.basis.face_nodes.size))

    def _exterior(self):
        """Index of the outside value of variable 0 at each face point; -1 - group at a boundary."""
        t, layout = self.tables, self.layout
        slot, element = np.divmod(t.faces.exterior_nodes(), t.elements)
        at = layout.at(t.basis.face_nodes.size, slot.astype(self.offset), element.astype(self.offset))
        for number, group in enumerate(t.faces.groups):
            slot, cell = np.divmod(group.slots, t.elements)
            at[slot, cell] = -1 - number
        return layout.pack(at, self.offset)

    def kernel_texts(self, stepper):
        return {"stages": self.source.text(self.wide)}

    def set_clock(self, dt, times):
        real = self.backend.dtype.type
        values = [real(value) for value in (dt, *times)] + [real(0)] * (STAGES - len(times))
        self.kernels("set_clock")((1,), (1,), (self.clock, *values))

    def _launches(self, q, out, k, q0, number, factors):
        """{name: launch} of a stage whose time is clock[1 + number]; factors: see `operations.factors`."""
        real, source, elements = self.backend.dtype.type, self.source, self.tables.elements
        end = np.int32(elements), self.offset.type(self.layout.width)
        numbers = np.int32(number), *(real(factor) for factor in factors), *end
        return {
            "trace": lambda: self.kernels("trace")(
                (-(-elements // TRACED), source.slots), (TRACED,), (q, self.at_all_faces, *end)),
            "stage": lambda: self.kernels("stage")(
                (-(-elements // source.lanes),), (source.lanes, source.groups),
                (q, out, self.nothing if k is None else k, q0, self.at_all_faces, self.geometry, self.exterior, self.clock,
                 *numbers), source.shared_bytes)}
