"""DG by quadrature on the GPU: kernels over elements and over faces; every face is visited once.

The algorithm is that of Fuhry, Giuliani & Krivodonova 2014, section 4, with the state stored basis function by basis function.
The kernels of a stage are
    trace       values of the state at the face points; a thread sums four points of an element
    face_flux   the numerical flux, at boundary faces with the exterior state of their condition; a thread evaluates it at one
                face point and writes it to the places of both sides, see `Faces`
    stage       volume integrals, integrals of the face fluxes, sources and the Runge-Kutta update; a thread sums a few modes of
                an element for all variables in registers; the fluxes at the volume points are evaluated once, for all threads
                of the element, and kept in shared memory
    keep, extremes, limit   the limiter, see `limiter_source`
There are no atomics, so the same input gives the same bits.

The paper stores other intermediate results.  Reals moved per variable, element and stage besides the state, with N modes, F
faces and S points on all of them:
    the paper   volume integrals and both contributions of every edge, each written and read; modes read by the edges
                                                                                             2 N + 2 F N + F N
    here        values at the face points, then fluxes in their place, each written and read 4 S
Triangles at order 1: 33 and 24, at order 3: 110 and 48; tetrahedra at order 1: 56 and 96 (the rule has 6 points a face), at
order 3: 280 and 240.

Whole warps read the matrices from global memory through the first-level cache.  Constant memory is too small: in 3D from order
4 on the N (B + S) + N (d B + S) numbers of the matrices, with B volume points, exceed its 64 KiB.
"""
from functools import cached_property

import numpy as np

from .faces import Faces
from .limiter import DeviceLimiter
from .modal_source import POINTS, ModalSource, kernel
from .operations import STAGES, DeviceOperations

BLOCK = 128               # most threads of a block in kernels with one thread an element


class ModalCuda(DeviceOperations):
    """`SetOperations` by kernels: right-hand side, stage, wave speeds, admissibility and limiter; all else is inherited."""

    fused = frozenset({"right-hand side", "wave speeds", "admissible states", "limiter"})

    def __init__(self, backend, tables):
        super().__init__(backend, tables, 0)
        dtype, layout, V = backend.dtype, self.layout, tables.variables
        self.source = source = ModalSource(tables, dtype, self.needs_x)
        self.matrix = backend.array(source.matrix().reshape(-1))
        self.operator, self.points = (backend.array(a.reshape(-1)) for a in (source.operator(), source.points()))
        self.geometry = backend.array(layout.pack(source.geometry(), dtype))
        self.flux = backend.zeros(layout.size(V * source.S))          # values at the face points, overwritten by the fluxes
        self.found = backend.zeros(tables.elements)                   # one number for each element, reduced on the device
        self.faces = Faces(self.device, dtype, tables, layout)
        self.end = np.int32(tables.elements), np.int64(layout.width)
        self._kernels = {}

    def _rows(self, state):
        return state.reshape(self.tables.variables, -1, self.layout.width)[:, :, :self.tables.elements]

    @cached_property
    def device_limiter(self):
        return None if self.tables.limits is None else DeviceLimiter(self)

    def launch(self, name, *arguments, grid=1, block=None, blocks=None, end=()):
        """Launch the kernel `name`, compiled at its first launch.

        grid:   blocks along y
        block:  threads (x, y) of a block
        blocks: blocks along x; None: as many as give every element a thread
        end:    (number of items, length of their rows) of a kernel over other items than elements, its last arguments"""
        count, width = end or self.end
        block = block or (min(BLOCK, int(width)), 1)
        if name not in self._kernels:
            self._kernels[name] = kernel(self.text(name), name, self.backend.dtype)
        blocks = -(-int(count) // block[0]) if blocks is None else blocks
        self.device.numba_launch(self._kernels[name], (blocks, grid), block, (*arguments, *end))

    def text(self, name):
        """The text of the kernel `name`."""
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
        real, source, (_, _, alpha, *_, u) = self.backend.dtype.type, self.source, factors
        # A kernel gets q in place of an array that it does not read; q0 that is not read may have the memory of `out`.
        arguments = (q, out, q if k is None else k, q0 if alpha or u else q, self.flux, self.operator, self.matrix, self.points,
                     self.geometry, self.clock, np.int32(number), *(real(factor) for factor in factors), *self.end)
        return {"trace": lambda: self._trace(q),
                "face_flux": lambda: self.faces(self.flux, self.flux, self.clock, number),
                "stage": lambda: self.launch("stage", *arguments, block=(source.lanes, source.groups))}

    def _limits(self, q):
        return {} if self.device_limiter is None else self.device_limiter.launches(q)

    def limit(self, q):
        for launch in self._limits(q).values():
            launch()

    def rate(self, q, t, exponent):
        real = self.backend.dtype.type
        self._trace(q)
        self.launch("rate", q, self.flux, self.found, self.matrix, self.points, self.geometry, real(t), real(exponent),
                    *self.end)
        return self.backend.largest(self.found)

    def all_admissible(self, q, t):
        self.launch("admissible", q, self.found, self.matrix, self.points, self.geometry, self.backend.dtype.type(t),
                    *self.end)
        return self.backend.largest(self.found) == 0
