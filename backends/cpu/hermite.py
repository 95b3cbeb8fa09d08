"""Hermite's method on the CPU: a half-step in one pass over the state or in two, by kernels made for law, order and dtype."""
from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...codegen import write_module
from ..hermite_arrays import HermiteArrays
from .hermite_recursion import Recursion, weights
from .hermite_source import ALONG, HermiteSource
from .tiles import aligned

GROUPS = 64              # groups of cells at a time in 1D


class HermiteFused(HermiteArrays):
    """Overrides the half-steps of the reference.

    Along each axis targets lie between positions, target i between i and i + 1; every position has a source node and factors
    of its coefficients, which are those of an image at a wall."""

    fused = frozenset({"half-steps"})

    def __init__(self, backend, tables):
        super().__init__(backend, tables)
        dtype, d, n = backend.dtype, tables.dim, tables.order + 1
        self.recursion = None if self.variant == "collapsed" or tables.systems else Recursion(tables)
        g = np.ones(2 * n) if self.recursion is None else weights(2 * n)
        self.source = HermiteSource(tables, dtype, self.variant, g[:, None] * tables.interpolation[0], self.recursion)
        self.scale = 1 / np.prod(np.meshgrid(*[g[:n]] * d, indexing="ij"), axis=0).ravel().astype(dtype)
        self.modules = write_module(self.source.text(), f"hermite_{d}d_{dtype}")
        self.scratch = [tuple(aligned(size, dtype) for size in self.source.sizes) for _ in range(backend.threads)]
        self.halves = [self.half(half) for half in (0, 1)]
        self._coefficients = None, None
        self.given = [self.source.series.of_half(half, dtype) for half in (0, 1)] if tables.systems else None

    def half(self, half):
        """What kernels know of the neighbours in a half, and the parts in which threads take the targets.

        Along x: the place of the first target's lower neighbour in a row, how many targets and places a row has, what lies
        beyond its ends, as pairs (place, source), and the factors there of every variable and coefficient.  Of y and z the
        positions, images' numbers i as -1 - i, and their factors."""
        L, lengths, dtype, n = self.source.L, self.tables.targets[half], self.backend.dtype, self.tables.order + 1
        sources, factors = [np.zeros(1, np.int64)] * 3, [np.ones(1, dtype)] * 3
        for k, axis in enumerate(self.tables.neighbours[half]):
            sources[k] = np.append(axis.low, axis.high[-1]).astype(np.int64)
            factors[k] = np.append(axis.low_signs, axis.high_signs[..., -1:], axis=-1).astype(dtype)
            image = (factors[k] != 1).any(axis=(0, 1))
            if k:
                sources[k][image] = -1 - sources[k][image]
            else:
                steps, often = np.unique((sources[0] - np.arange(len(image)))[~image], return_counts=True)
                places = steps[often.argmax()] + np.arange(len(image))          # where most sources lie
                beyond = image | (places != sources[0])
                ghosts = np.stack([places, sources[0]], axis=1)[beyond].ravel()
                of_rows = np.tile(factors[0][..., beyond], (1, n ** (len(lengths) - 1), 1)).T.swapaxes(1, 2)
        groups = range(0, lengths[0], L)
        if len(lengths) == 1:
            parts = [(0, 1, 0, 1, start, min(start + GROUPS, len(groups))) for start in range(0, len(groups), GROUPS)]
        else:
            # In 2D only these parts are shared among the threads; a part's first face is interpolated twice.
            threads = self.backend.threads
            along = ALONG if len(lengths) == 3 else max(1, min(ALONG, -(-lengths[1] // (4 * threads))))
            rows, layers = lengths[1] if len(lengths) == 3 else 1, range(0, lengths[-1], along)
            together = max(1, min(self.source.rows, rows * len(layers) // (2 * threads)))
            parts = [(y, min(y + together, rows), start, min(start + along, lengths[-1]), 0, len(groups))
                     for start in layers for y in range(0, rows, together)]
        along_x = places[0], lengths[0], self.tables.grid.nodes[0], ghosts, np.append(of_rows, 0).astype(dtype)   # never empty
        return (*along_x, *sources[1:], *(f.ravel() for f in factors[1:])), parts

    def zeros(self):
        """An array (variable, coefficient, z, y, x) that lies in memory as [z, y, variable, coefficient, x].

        What a group of cells needs is near together, and distances in memory are not the powers of two that grids like."""
        t, d = self.tables, self.tables.dim
        rows = *t.grid.shape[:-1], t.variables, t.rows
        # Kernels read one number before the first row, and a group of cells from any place in the last one.
        line, size = 64 // self.backend.dtype.itemsize, prod(rows) * self.source.X
        space = aligned(line + size + self.source.L + line, self.backend.dtype)[line:line + size].reshape(*rows, -1)
        return space[..., :t.grid.nodes[0]].transpose(d - 1, d, *range(d - 1), d + 1)

    def flat(self, q):
        """All numbers of a state in the order in which they lie in memory."""
        return as_strided(q, (prod(q.shape[:-1]) * self.source.X,), q.strides[-1:])

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

    def coefficients(self, tau, half):
        """What kernels know of the law and of the length of the half-step."""
        if self._coefficients[0] != tau:
            self._coefficients = tau, [self.of_length(tau, half) for half in (0, 1)]
        return self._coefficients[1][half]

    def of_length(self, tau, half):
        def numbers(values):
            return np.ascontiguousarray(np.append(values, 0.0), self.backend.dtype)       # never empty
        none = np.zeros((0, 0), np.int32)
        if self.given:
            return numbers([tau, *self.source.series.numbers]), *[none] * 2, *self.given[half], none
        if self.recursion is None:
            left, right = self.tables.collapsed(tau)
            return numbers(np.stack([left, right], axis=2)), *[none] * 2, numbers([]), *[none] * 2
        series = self.source.series
        return numbers([]), series.program, series.stages, numbers(series.factors(tau)), series.heads, series.entries

    def half_step(self, q, out, half, tau):
        for kernel in (["kernel"] if self.variant != "two-kernel" else ["interpolate", "evolve"]):
            self.run(kernel, q, out, half, tau)

    def run(self, kernel, q, out, half, tau):
        """One kernel on all parts."""
        (axes, parts), function = self.halves[half], getattr(self.modules, kernel)
        arguments = (self.flat(q), self.flat(out), self.interpolants, q.shape[-2], self.source.X, *axes, self.scale,
                     *self.coefficients(tau, half))

        def task(part, worker):
            Y, F, w, c, edges = self.scratch[worker]
            function(*parts[part], Y, F, self.interpolants if kernel == "interpolate" else w, c, edges, *arguments)
        self.backend.workers.run(task, len(parts))

    @property
    def interpolants(self):
        """Of the two-kernel variant the interpolants of all groups of cells, (group, variable, t_z, t_y, t_x, lane)."""
        if self.variant != "two-kernel":
            return self.scale
        if not hasattr(self, "_interpolants"):
            groups = max(-(-t[0] // self.source.L) * prod(t[1:]) for t in self.tables.targets)
            self._interpolants = aligned(groups * self.source.cell, self.backend.dtype)
        return self._interpolants
