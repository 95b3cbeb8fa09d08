"""Hermite's method on the CPU: a half-step in one pass over the state or in two, by kernels made for law, order and dtype."""
from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ....methods.hermite.half_steps import HalfSteps
from ....methods.operation import Operation
from ....program import operations
from ....program.listing import rates_of
from ....support.cached_modules import write_module
from ..simd.tiles import aligned
from ..threaded_loops import ONE_THREAD, Loop
from .layout import ALONG, Half
from .recursion import Recursion, weights
from .source import HermiteSource

GROUPS = 64              # groups of cells at a time in 1D


class HermiteFused(HalfSteps):
    """Overrides the half-steps of the reference.

    Along each axis targets lie between positions, target i between i and i + 1; every position has a source node and factors
    of its coefficients, which are those of an image at a wall."""

    fused = frozenset({"half-steps"})

    def __init__(self, backend, tables):
        super().__init__(backend, tables)
        dtype, d, n = backend.dtype, tables.dim, tables.order + 1
        recursion = None if self.variant == "collapsed" or tables.systems else Recursion(tables, self.variant)
        g = np.ones(2 * n) if recursion is None else weights(2 * n)
        self.source = HermiteSource(tables, dtype, self.variant, g[:, None] * tables.interpolation[0], recursion)
        self.layout, self.series = self.source.layout, self.source.series
        self.scale = 1 / np.prod(np.meshgrid(*[g[:n]] * d, indexing="ij"), axis=0).ravel().astype(dtype)
        self.module = write_module(self.source.text(), f"hermite_{d}d_{dtype}")
        Y, F, c, edges = self.layout.sizes
        sizes = Y, F, self.series.size if self.series else 0, c, edges
        self.scratch = [tuple(aligned(size, dtype) for size in sizes) for _ in range(backend.threads)]
        self.halves = [self.half(half) for half in (0, 1)]
        self.parts = [np.array(self.parts_of(targets)) for targets in tables.targets]
        self.varying = [self.series.of_half(half, dtype) for half in (0, 1)] if tables.systems else None
        # Of the variant "two-kernel" the interpolants of all groups of cells; of others, which have none, any array.
        groups = max(-(-targets[0] // self.layout.L) * prod(targets[1:]) for targets in tables.targets)
        self.interpolants = aligned(groups * self.layout.cell, dtype) if self.variant == "two-kernel" else self.scale
        self._length, self._laws = 0.0, [self.law_of_length(0.0, half) for half in (0, 1)]

    def half(self, number):
        """The grid and the neighbours in one of the halves of a step, a `layout.Half`."""
        tables, dtype, d, n = self.tables, self.backend.dtype, self.tables.dim, self.tables.order + 1
        x, *others = tables.neighbours[number]
        sources, factors = positions(x, dtype)
        image = (factors != 1).any(axis=(0, 1))
        steps, often = np.unique((sources - np.arange(len(image)))[~image], return_counts=True)
        places = steps[often.argmax()] + np.arange(len(image))          # where most sources lie
        beyond = image | (places != sources)
        ghosts = np.stack([places, sources], axis=1)[beyond]
        ghost_factors = np.tile(factors[..., beyond], (1, n ** (d - 1), 1)).T.swapaxes(1, 2).ravel()
        rows = [(np.zeros(2, np.int64), np.ones(1, dtype))] * (3 - d)
        for axis in others:
            sources, factors = positions(axis, dtype)
            image = (factors != 1).any(axis=(0, 1))
            rows.append((np.where(image, -1 - sources, sources), factors.ravel()))
        (y, y_factors), (z, z_factors) = rows
        nodes, targets = tables.grid.nodes, tables.targets[number]
        along_y = (nodes[1], targets[1]) if d == 3 else (1, 1)
        return Half(self.layout.pitch, *along_y, int(places[0]), targets[0], nodes[0], ghosts, ghost_factors, y, z, y_factors,
                    z_factors)

    def parts_of(self, targets):
        """(first row of y, row after the last, the same along the last axis and of groups along x) that a thread takes at a
        time.  In 2D and 3D a part's first face is mapped twice."""
        groups, threads = -(-targets[0] // self.layout.L), self.backend.threads
        if len(targets) == 1:
            return [(0, 1, 0, 1, start, min(start + GROUPS, groups)) for start in range(0, groups, GROUPS)]
        rows = targets[1] if len(targets) == 3 else 1
        # In 2D only these parts are shared among the threads.
        along = ALONG if len(targets) == 3 else max(1, min(ALONG, -(-targets[1] // (4 * threads))))
        layers = range(0, targets[-1], along)
        together = max(1, min(self.layout.rows, rows * len(layers) // (2 * threads)))
        return [(y, min(y + together, rows), start, min(start + along, targets[-1]), 0, groups)
                for start in layers for y in range(0, rows, together)]

    def zeros(self):
        """An array (variable, coefficient, z, y, x) that lies in memory as [z, y, variable, coefficient, x].

        What a group of cells needs is near together, and distances in memory are not the powers of two that grids like."""
        t, d = self.tables, self.tables.dim
        rows = *t.grid.shape[:-1], t.variables, t.rows
        # Kernels read one number before the first row, and a group of cells from any place in the last one.
        line, size = 64 // self.backend.dtype.itemsize, prod(rows) * self.layout.pitch
        space = aligned(line + size + self.layout.L + line, self.backend.dtype)[line:line + size].reshape(*rows, -1)
        return space[..., :t.grid.nodes[0]].transpose(d - 1, d, *range(d - 1), d + 1)

    def flat(self, q):
        """All numbers of a state in the order in which they lie in memory."""
        return as_strided(q, (prod(q.shape[:-1]) * self.layout.pitch,), q.strides[-1:])

    def state(self, q):
        state = self.zeros()
        self.put(state, q)
        return state

    def put(self, state, q):
        state[...] = q.reshape(*q.shape[:2], *self.tables.grid.shape)

    def host(self, q):
        return np.array(q, order="C").reshape(*q.shape[:2], -1)

    plain = host

    def take(self, q, nodes):
        return q[(slice(None), slice(None), *np.unravel_index(nodes, q.shape[2:]))]

    def finite(self, q):
        # Beyond the ends of rows there may still be what a state before this one had there.
        return self.backend.finite(self.flat(q)) or bool(np.isfinite(q).all())

    def kernel_texts(self, stepper):
        program = self.program("half_step", 0)
        lines = [line for each in program.operations if type(each) is operations.Recursion for line in rates_of(program, each)]
        return {"the law in units of the cell, whose factors the series has": "\n".join(lines), "half-step": self.source.text()}

    def half_step_operations(self, q, out, half):
        return [self.operation(kernel, q, out, half) for kernel in self.kernels]

    @property
    def kernels(self):
        """Names of the loops of a half-step."""
        return ["half_step"] if self.variant != "two-kernel" else ["interpolate", "evolve"]

    def operation(self, kernel, q, out, half):
        """One loop over all parts: "half_step", or of the variant "two-kernel" "interpolate", then "evolve"."""
        parts = self.parts[half]
        arguments = (parts, self.flat(q), self.flat(out), self.interpolants, tuple(self.halves[half]), self.scale,
                     self._laws[half])
        loop = Loop(getattr(self.module, kernel), 1, len(parts), self.scratch, arguments,
                    1 if q.size < ONE_THREAD else len(parts))
        reads, writes = "state", {"new state": out.nbytes}
        if kernel != "half_step":
            reads, writes = {"interpolate": ("state", {"interpolants": self.interpolants.nbytes}),
                             "evolve": ("interpolants", writes)}[kernel]
        return Operation(kernel.replace("_", "-"), loop=loop, reads=(reads,), writes=writes)

    def half_step(self, q, out, half, tau):
        for kernel in self.kernels:
            self.run(kernel, q, out, half, tau)

    def run(self, kernel, q, out, half, tau):
        """One loop of a half-step, of those that `kernels` names."""
        self.set_length(tau)
        self.performed((kernel, half), (q, out), lambda: ([self.operation(kernel, q, out, half)], lambda: None))

    def set_clock(self, dt, times):
        super().set_clock(dt, times)
        self.set_length(dt / 2)

    def set_length(self, tau):
        """Let kernels make half-steps of this length."""
        if tau != self._length:
            self._length = tau
            for half, (factors, *_) in enumerate(self._laws):
                factors[...] = self.factors(tau, half)

    def factors(self, tau, half):
        """The numbers that kernels know of a half-step of this length."""
        if self.variant == "collapsed":
            return np.stack(self.tables.collapsed(tau), axis=2).ravel()
        return [tau, *self.series.numbers] if self.varying else self.series.factors(tau)

    def law_of_length(self, tau, half):
        """Arguments of `loops.map_along` and of the series from the law and the length of the half-step."""
        series, factors = self.series, np.array(self.factors(tau, half), self.backend.dtype)
        if self.variant == "collapsed":
            return factors,
        if self.varying:
            return factors, *self.varying[half]
        heads, entries = (series.sums.heads, series.sums.entries) if series.sums else [np.zeros((0, 0), np.int32)] * 2
        return factors, series.program, series.stages, heads, entries


def positions(axis, dtype):
    """(nodes, factors (variable, coefficient, position)) at the positions along an axis, between which the targets lie."""
    return (np.append(axis.low, axis.high[-1]).astype(np.int64),
            np.append(axis.low_signs, axis.high_signs[..., -1:], axis=-1).astype(dtype))
