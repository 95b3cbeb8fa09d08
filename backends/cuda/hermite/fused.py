"""Hermite's method on the GPU: a half-step as one kernel, or as two kernels with the polynomials in memory between them."""
from dataclasses import replace

import numpy as np

from ....methods.hermite.half_steps import HalfSteps
from ....methods.operation import Operation
from ..dg.operations import Arriving
from .source import source
from .tuning import choose
from .variant import KERNELS, HermiteShape

ROOM = 2 ** 29            # most bytes of the polynomials between two kernels, but always one plane of targets
LONG = 2 ** 31            # numbers in an array from which on offsets need 64 bits
FULL = 4                  # blocks per multiprocessor that fill a device


class HermiteCuda(HalfSteps):
    """`HalfSteps` with the half-step by kernels where the law's coefficients are constant.

    Coefficients that vary, and sponges, are computed by the inherited array expressions on the device.
    A half-step is launched on stretches, which are runs of target planes along the last axis; the array `polynomials` holds
    those of one stretch between the two kernels.
    variant: `HermiteVariant`; None: the one that `tuning.choose` returns.  ValueError for one that does not fit the device."""

    def __init__(self, backend, tables, variant=None):
        super().__init__(backend, tables)
        dtype, self.device = backend.dtype, backend.device
        self.shape, self.choice = HermiteShape.of(tables, dtype), None
        if tables.terms is None:
            return
        self.choice = variant or suited(choose(backend, tables), tables.grid.nodes[0])
        if self.choice is None:
            return
        if not self.shape.fits(self.choice, self.device.shared_per_block):
            raise ValueError(f"the variant {self.choice} does not fit {self.device.name}, which has "
                             f"{self.device.shared_per_block} bytes of shared memory for a block")
        self.variant = self.choice.kernel
        nodes = tables.grid.nodes
        self.nodes, self.plane = tables.elements, 1 if tables.dim == 1 else int(np.prod(nodes[:-1]))
        per_plane = tables.variables * self.shape.ends ** tables.dim * (self.nodes if tables.dim == 1 else self.plane)
        two = self.variant == "two-kernel"
        self.planes = 1 if tables.dim == 1 else nodes[-1]
        self.planes = max(1, min(self.planes, ROOM // (per_plane * dtype.itemsize))) if two else self.planes
        wide = max(tables.variables * tables.rows * self.nodes, two * per_plane * self.planes) >= LONG
        self.offset = np.dtype(np.int64 if wide else np.int32)
        self.kernels = {name: self.device.compile(source(name, self.shape, self.choice, tables, dtype, wide), dtype)(name)
                        for name in KERNELS[self.variant]}
        self.polynomials = backend.zeros(per_plane * self.planes if two else 0)
        self.around, self.signs = zip(*(self._around(axes) for axes in tables.neighbours))

    @property
    def fused(self):
        return frozenset() if self.choice is None else frozenset({"half-steps"})

    def _around(self, axes):
        """The source nodes of the targets of one half, as the kernels read them: (numbers, factors).

        numbers   flat, (low, high, image of low, image of high) of every target along x, then y, then z
        factors   flat, (image, variable, coefficient): factors of the coefficients of a node that is a mirror image; image 0
                  has factors 1, for nodes that are none
        axes: `Neighbours` along every axis"""
        found, numbers = [np.ones((self.tables.variables, self.tables.order + 1))], []
        for n in axes:
            images = []
            for signs in (n.low_signs, n.high_signs):
                images.append([])
                for factors in np.moveaxis(signs, 2, 0):
                    image = next((i for i, known in enumerate(found) if np.array_equal(known, factors)), len(found))
                    found += [factors] * (image == len(found))
                    images[-1].append(image)
            numbers.append(np.stack([n.low, n.high, *images], axis=1))
        around = np.concatenate(numbers).astype(np.int32)
        return self.backend.integers(around.reshape(-1)), self.backend.array(np.array(found).reshape(-1))

    def fetch(self, q):
        return Arriving(self.device.fetch(q), lambda values: values.reshape(*values.shape[:2], -1))

    def half_step_operations(self, q, out, half):
        if self.choice is None:
            return super().half_step_operations(q, out, half)
        end = 1 if self.tables.dim == 1 else self.tables.targets[half][-1]
        return [Operation("half-step", lambda: self.advance(q, out, half, self.dt / 2, 0, end), None, ("state",),
                          {"new state": out.nbytes}, kernel=True)]

    def advance(self, q, out, half, tau, first, end):
        """The half-step to the targets from `first` to `end` along the last axis, stretch by stretch; in 1D from 0 to 1 means
        all targets.  tau: its length in time"""
        for start in range(first, end, self.planes):
            self.launch(q, out, half, tau, start, min(start + self.planes, end))

    def launch(self, q, out, half, tau, first, end):
        """Launch the kernels for one stretch, the targets from `first` to `end` along the last axis."""
        shape, choice, targets, nodes = self.shape, self.choice, self.tables.targets[half], self.tables.grid.nodes
        real, d = self.backend.dtype.type, self.tables.dim
        ty, ny = (targets[1], nodes[1]) if d == 3 else (1, 1)
        groups = -(-targets[0] // choice.lanes) * ty
        depth = self.depth(groups * (1 if self.variant == "monolithic" else self.tables.variables), end - first)
        sizes = (np.int32(nodes[0]), np.int32(ny), self.offset.type(self.nodes), np.int32(targets[0]), np.int32(ty),
                 np.int32(first), np.int32(end))
        inputs = q, out, self.around[half], self.signs[half]
        arguments = {
            "interpolate": (q, self.polynomials, *inputs[2:], *sizes, np.int32(depth)),
            "evolve": (self.polynomials, out, real(tau), *sizes),
            "monolithic": (*inputs, real(tau), *sizes, np.int32(depth)),
            "collapsed": (*inputs, self.flat_maps(tau) if self.variant == "collapsed" else None, *sizes, np.int32(depth))}
        for name in KERNELS[self.variant]:
            stretches = -(-(end - first) // (1 if name == "evolve" else depth))
            blocks = groups * stretches * (self.tables.variables // shape.of_block(name))
            self.kernels[name]((blocks,), (choice.lanes, shape.parts(name)), arguments[name],
                               shape.shared_bytes(choice, name))

    def depth(self, blocks, planes):
        """Planes of targets that a block goes through: the variant's depth, less if the device would not be filled."""
        return max(1, min(self.choice.depth, planes, blocks * planes // (FULL * self.device.multiprocessors)))

    def flat_maps(self, tau):
        """The maps of a collapsed half-step of length tau: flat, (variable, axis, output, inputs low then high)."""
        if self._maps[0] != tau:
            self._maps = tau, self.backend.array(np.concatenate(self.tables.collapsed(tau), axis=-1).reshape(-1))
        return self._maps[1]


def suited(variant, nodes):
    """The variant with `lanes` at most the length of a row of nodes, rounded up to a power of two; None for None."""
    return variant and replace(variant, lanes=min(variant.lanes, 1 << (nodes - 1).bit_length()))
