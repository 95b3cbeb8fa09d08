"""DG by quadrature on the GPU: kernels over elements and over faces, every face visited once.

The recipe of Fuhry, Giuliani & Krivodonova 2014, section 4, on a state stored basis function by basis function.  A stage is
    trace       values at the points of the faces, from the state: a thread sums four points of an element
    face_flux   boundary faces by their condition, interior faces: a thread a face point evaluates one numerical flux and puts
                what both sides get of it into their places, see `Faces`
    stage       volume integrals, the integrals of the face fluxes, sources and the Runge-Kutta update: threads side by side sum
                a few modes of an element for all variables in registers; its fluxes at the volume's points go through shared
                memory, where each is evaluated once
    keep, extremes, limit   the limiter, see `limiter_source`
without atomics, so that the same input gives the same bits.

Where this differs from the paper, by counting: reals moved for a variable of an element in a stage, besides the state, with N
modes, F faces and S points on them
    as the paper: volume integrals and both contributions of every edge, each written and read, and modes read by the edges
                                                                                             2 N + 2 F N + F N
    here: values at the faces, then fluxes in their place, each written and read             4 S
Triangles at order 1: 33 and 24, at order 3: 110 and 48; tetrahedra at order 1: 56 and 96 (the rule has 6 points a face), at
order 3: 280 and 240.  Matrices are read by whole warps from global memory, through the first-level cache: in 3D from order 4 on
their N (B + S) + N (d B + S) numbers, B points of the volume, are more than the 64 KiB of constant memory.
"""
from functools import cached_property

import numpy as np

from ....methods.dg.weak_form import WeakForm
from ....methods.memory import added
from .faces import Faces
from .limiter import DeviceLimiter
from .modal_source import POINTS, Source, kernel
from .operations import STAGES, DeviceOperations

BLOCK = 128               # threads of a block of the kernels with one thread an element, at most


class ModalCuda(DeviceOperations):
    """Overrides the right-hand side, the stage, wave speeds, admissibility and the limiter."""

    fused = frozenset({"right-hand side", "wave speeds", "admissible states", "limiter"})

    def __init__(self, backend, tables):
        super().__init__(backend, tables, 0)
        dtype, layout, V = backend.dtype, self.layout, tables.variables
        self.source = source = Source(tables, dtype, self.needs_x)
        self.matrix = backend.array(source.matrix().reshape(-1))
        self.operator, self.points = (backend.array(a.reshape(-1)) for a in (source.operator(), source.points()))
        self.geometry = backend.array(layout.pack(source.geometry(), dtype))
        self.flux = backend.zeros(layout.size(V * source.S))          # values at the faces, then the fluxes in their place
        self.found = backend.zeros(tables.elements)                   # a number of each element, to be reduced
        self.faces = Faces(self.device, dtype, tables, layout)
        self.end = np.int32(tables.elements), np.int64(layout.width)
        self._kernels = {}

    # Memory, see `dgarray.methods.recipe.Recipe`.

    @classmethod
    def holds(cls, backend, tables):
        row, b, E, P, looks = (cls.row_size(backend, tables), backend.dtype.itemsize, tables.elements, len(tables.varying),
                               cls.looks(tables))
        return added(Faces.holds(tables, backend.dtype), {
            "metrics": row * tables.geometry_rows, "parameters": row * P + looks * b * E * P,
            "positions": looks * cls.positions(backend, tables),
            "face fluxes": row * tables.variables * tables.face_nodes.size, "rates": b * E,
            "snapshot on its way": cls.state_size(backend, tables)})

    @classmethod
    def takes(cls, backend, tables):
        state, lists = cls.state_size(backend, tables), tables.inner * (64 * tables.face_nodes.shape[1] + 112)
        # The array text says where the first state is not admissible.
        return {"set-up": (cls.setting_up(backend, tables, lists), 0),
                "first step": (2 * state, state + cls.looking(backend, tables)), "time step": (0, 0),
                "stages": (0, state // backend.dtype.itemsize),
                "snapshots": (state + WeakForm.state_size(backend, tables), 0)}

    @classmethod
    def limiting(cls, backend, tables):
        return (0, 0) if tables.limits is None else (DeviceLimiter.needs(backend, tables, cls.row_size(backend, tables)), 0)

    def _rows(self, state):
        return state.reshape(self.tables.variables, -1, self.layout.width)[:, :, :self.tables.elements]

    @cached_property
    def traces(self):
        """Room for `at_faces` of the reference: that of the face fluxes."""
        return self.flux.reshape(self.tables.variables, -1, self.layout.width)[:, :, :self.tables.elements]

    @cached_property
    def device_limiter(self):
        return None if self.tables.limits is None else DeviceLimiter(self)

    def launch(self, name, *arguments, grid=1, block=None, blocks=None, end=()):
        """Launch the kernel `name` with a thread for each element, or on so many `blocks`; grid: blocks in the direction y.

        end: how many threads there are and the length of their rows, where these are not elements"""
        count, width = end or self.end
        block = block or (min(BLOCK, int(width)), 1)
        if name not in self._kernels:
            self._kernels[name] = kernel(self.text(name), name, self.backend.dtype)
        blocks = -(-int(count) // block[0]) if blocks is None else blocks
        self.device.numba_launch(self._kernels[name], (blocks, grid), block, (*arguments, *end))

    def text(self, name):
        """The text of a kernel."""
        if self.device_limiter is not None and name in self.device_limiter.texts:
            return self.device_limiter.texts[name][0]
        return self.source.clock(STAGES) if name == "clock" else getattr(self.source, name)()

    def kernel_texts(self, stepper):
        return {name: self.text(name) for name in ("trace", "stage", *self._limits(self.nothing))}

    def set_clock(self, dt, times):
        real = self.backend.dtype.type
        values = [real(value) for value in (dt, *times)] + [real(0)] * (STAGES - len(times))
        self.launch("clock", self.clock, *values, block=(1, 1), blocks=1)

    def _trace(self, q):
        self.launch("trace", q, self.flux, self.matrix, *self.end, grid=-(-self.source.S // POINTS))

    def _launches(self, q, out, k, q0, number, factors):
        real, source, (_, _, alpha, *_) = self.backend.dtype.type, self.source, factors
        # Where q0 is not read, `out` may be its memory; for what is not read another array stands.
        arguments = (q, out, q if k is None else k, q0 if alpha else q, self.flux, self.operator, self.matrix, self.points,
                     self.geometry, self.clock, np.int32(number), *(real(factor) for factor in factors), *self.end)
        return {"trace": lambda: self._trace(q),
                "face_flux": lambda: self.faces(self.flux, self.flux, self.clock, number),
                "stage": lambda: self.launch("stage", *arguments, block=(source.lanes, source.groups))}

    def _limits(self, q):
        return {} if self.device_limiter is None else self.device_limiter.launches(q)

    def limit(self, q):
        for launch in self._limits(q).values():
            launch()

    def rate(self, q, t, exponent, peak=None):
        real = self.backend.dtype.type
        self._trace(q)
        self.launch("rate", q, self.flux, self.found, self.matrix, self.points, self.geometry, real(t), real(exponent),
                    *self.end)
        return self.backend.largest(self.found)

    def all_admissible(self, q, t):
        self.launch("admissible", q, self.found, self.matrix, self.points, self.geometry, self.backend.dtype.type(t),
                    *self.end)
        return self.backend.largest(self.found) == 0
