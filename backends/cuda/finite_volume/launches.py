"""The launches of finite volumes on the GPU: which blocks and arguments each kernel gets, compiled when first launched."""
from functools import cached_property
from math import prod

import numpy as np

from ....stepping import registers
from .source import LOOK_TIME, SweepSource, alone

LONG = 2 ** 31           # numbers in a state from which on offsets need 64 bits
TILE, ROWS = 32, 8       # of transpose.cu
SOUND, LARGEST = 1, 2    # what a kernel looks for: see look.cu


class Launches:
    """The kernels of a problem on a device, as a variant says.

    choice   `SweepVariant`;  clock: see set_clock.cu;  found: for each member of a step what its blocks have found, see look.cu
    A member of a step is a sweep, or the sources alone. An order of axes is a tuple; along its first axis neighbours lie
    side by side in memory."""

    def __init__(self, backend, tables, choice):
        self.backend, self.tables, self.choice, self.device = backend, tables, choice, backend.device
        self.offset = np.dtype(np.int64 if tables.variables * tables.elements >= LONG else np.int32)
        self.clock = backend.zeros(1 + LOOK_TIME)
        self.box = backend.array(np.array([*zip(tables.grid.lower, tables.grid.spacing)]).reshape(-1))
        self.flat_parameters, self.kernels = {}, {}
        self.plain = tuple(range(tables.dim))

    # The grid in memory.

    def order(self, axis):
        """The order of axes in which a sweep along an axis finds the state."""
        axes = list(self.plain)
        if self.choice.way == "transposed" and self.tables.split:
            axes[0], axes[axis] = axes[axis], axes[0]
        return tuple(axes)

    def steps(self, axes):
        """{axis: step in memory}."""
        return {axis: prod(self.tables.grid.cells[k] for k in axes[:i]) for i, axis in enumerate(axes)}

    def parameters(self, axes):
        """The varying parameters in this order of axes, flat; one number where there are none."""
        if axes not in self.flat_parameters:
            dim = self.tables.dim
            given = [np.transpose(self.tables.parameters[name], [dim - 1 - k for k in reversed(axes)])
                     for name in self.tables.varying]
            self.flat_parameters[axes] = self.backend.array(np.array(given or [0.0]).reshape(-1))
        return self.flat_parameters[axes]

    def geometry(self, axis, axes, ghosts):
        """(blocks, threads of a block, the kernels' arguments from n to cells) for a member along an axis."""
        cells, contiguous, steps = self.tables.grid.cells, axes[0] == axis, self.steps(axes)
        length, pencils = self.choice.block(contiguous)
        a, b = [*(k for k in axes if k != axis), None, None][:2]
        count, others = (1 if k is None else cells[k] for k in (a, b))
        blocks = -(-cells[axis] // (length - 2 * ghosts)) * -(-count // pencils), others
        numbers = np.int32(cells[axis]), np.int32(count), *(
            self.offset.type(steps.get(k, 0)) for k in (axis, a, b)), self.offset.type(self.tables.elements)
        return blocks, (length, pencils) if contiguous else (pencils, length), numbers

    @cached_property
    def found(self):
        blocks = max(prod(self.geometry(axis, axes, self.tables.ghosts)[0])
                     for axis in self.plain for axes in (self.plain, self.order(axis)))
        return self.backend.zeros((LOOK_TIME, blocks))

    # The kernels.

    def source(self, axis, axes, base="q"):
        """The `SweepSource` of the kernels along an axis."""
        shape = self.choice.block(axes[0] == axis)
        return SweepSource(self.tables, self.backend.dtype, axis, axes, shape, base, self.offset == np.int64)

    def compiled(self, name, axis=0, axes=None, base="q", **flags):
        """(kernel, bytes of shared memory of a block)."""
        key = name, axis, axes, *flags.values()
        if key not in self.kernels:
            source = None if axes is None else self.source(axis, axes, base)
            text = alone(name, self.offset == np.int64) if source is None else source.text(name, **flags)
            self.kernels[key] = self.device.compile(text, self.backend.dtype)(name), source and source.shared_bytes
        return self.kernels[key]

    def texts(self, stepper):
        """{name: source text} of the kernels of a step."""
        if self.tables.split:
            return {f"sweep along {'xyz'[axis]}": self.source(axis, self.order(axis)).text("sweep") for axis in self.plain}
        return {f"stage along {'xyz'[axis]}": self.source(axis, self.plain, "r").text("stage", **flags)
                for axis, flags in self.stage_flags(registers(stepper)[1])}

    def stage_flags(self, register):
        """[(axis, flags of the kernel)] of a stage."""
        return [(axis, {"ADDS": int(axis > 0), "ENDS": int(axis == self.tables.dim - 1), "REGISTER": int(register)})
                for axis in self.plain]

    # The launches.

    def set_clock(self, dt, times, look):
        """Set the length of the step, the times of its members, and that at which the new state is looked at."""
        values = [dt, *times, *[0.0] * (LOOK_TIME - 1 - len(times)), look]
        self.compiled("set_clock")[0]((1,), (1,), (self.clock, *map(self.backend.dtype.type, values)))

    def member(self, kernel, axis, axes, number, share, look):
        """The function of (q, out) that launches the member with this number, "sweep" or "source_step"; arguments: sweep.cu."""
        blocks, threads, sizes = self.geometry(axis, axes, 0 if kernel == "source_step" else self.tables.ghosts)
        numbers = np.int32(number), self.backend.dtype.type(share), np.int32(look)

        def launch(q, out):
            run, shared = self.compiled(kernel, axis, axes)
            run(blocks, threads, (q, out, self.parameters(axes), self.box, self.clock, self.found[number], *sizes, *numbers),
                shared)
        return launch

    def turn(self, before, after):
        """The function of (q, out) that launches the transposition from one order of axes to another."""
        cells, old, new = self.tables.grid.cells, self.steps(before), self.steps(after)
        a, b = before[0], after[0]
        c = next((k for k in before if k not in (a, b)), None)
        sizes = np.int32(cells[a]), np.int32(cells[b]), *(self.offset.type(n) for n in (
            old[b], old.get(c, 0), new[a], new.get(c, 0), self.tables.elements))
        blocks = -(-cells[a] // TILE) * -(-cells[b] // TILE), 1 if c is None else cells[c], self.tables.variables
        shared = TILE * (TILE + 1) * self.backend.dtype.itemsize
        return lambda q, out: self.compiled("transpose")[0](blocks, (TILE, ROWS), (q, out, *sizes), shared)

    def stage(self, q, out, start, k, tendency, row, look):
        """Launch the kernels of a stage, one for each axis."""
        factors = (self.backend.dtype.type(f) for f in (row.A, row.v, row.u, row.w, row.alpha, row.beta, row.B, row.C))
        arrays = (q, out, start, q if k is None else k, tendency, self.parameters(self.plain), self.box, self.clock,
                  self.found[0])
        last = *factors, np.int32(look)
        for axis, flags in self.stage_flags(k is not None):
            blocks, threads, sizes = self.geometry(axis, self.plain, self.tables.ghosts)
            run, shared = self.compiled("stage", axis, self.plain, "r", **flags)
            run(blocks, threads, (*arrays, *sizes, *last), shared)
