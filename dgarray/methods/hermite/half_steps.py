"""Hermite's two operations as array expressions: the reference, on NumPy or CuPy.

A node holds c[variable, j_z, j_y, j_x] = h^|j| D^j q / j!, j from 0 to N in each direction; a half-step interpolates to the
centres between nodes, where a polynomial of degree 2N + 1 in each direction results, and evolves it there by a Taylor series.
Goodrich, Hagstrom & Lorenz 2006; Vargas, Chan, Hagstrom & Warburton 2016, algorithms 1 to 4.
"""
from functools import cached_property

import numpy as np

from ..recipe import Fetched, Recipe


class HalfSteps(Recipe):
    """The operations of Hermite's method on these tables (`dgarray.methods.hermite.tables.HermiteTables`).

    A state is an array (variable, coefficient, z, y, x); the coefficients are numbered with j_x fastest.  A state on the dual
    grid uses the same array, from index 0 along each axis; entries beyond the dual grid's nodes are unused."""

    check_every = 16

    def __init__(self, backend, tables):
        self.backend, self.tables, self.xp = backend, tables, backend.xp
        self.variant = self.variant_of(backend, tables)
        self.left, self.right = (backend.array(m) for m in tables.interpolation)
        self.box = (tables.order + 1,) * tables.dim
        self.full = (2 * tables.order + 2,) * tables.dim
        self.neighbours = [[(backend.integers(n.low), backend.integers(n.high),
                             *((backend.array(n.low_signs), backend.array(n.high_signs)) if n.mirrors else (None, None)))
                            for n in axes] for axes in tables.neighbours]
        self._maps = None, None

    @property
    def work(self):
        return ["half-steps", *["sponges"] * bool(self.tables.layers)]

    @cached_property
    def systems(self):
        """The coefficients of both half-steps on the backend, where they vary in space; else None."""
        return self.tables.systems and [self.moved(system) for system in self.tables.systems]

    def moved(self, system):
        """The coefficients of a `LinearSystem` copied to the backend: (flux, source, inverse)."""
        def array(value):
            return self.backend.array(value) if np.ndim(value) else value
        return (tuple({key: array(value) for key, value in entries.items()} for entries in system.flux),
                {key: array(value) for key, value in system.source.items()}, tuple(array(value) for value in system.inverse))

    @classmethod
    def variant_of(cls, backend, tables):
        """The variant that runs, as `dgarray.Hermite` names them."""
        return tables.method.chosen(tables.linear, backend)

    def zeros(self):
        return self.backend.zeros((self.tables.variables, self.tables.rows, *self.tables.grid.shape))

    def state(self, q):
        """A copy of the state q (variable, coefficient, node), of the host or the backend, in the shape of the operations."""
        return self.backend.copied(q).reshape(*q.shape[:2], *self.tables.grid.shape)

    def plain(self, state):
        """A copy of the state as q (variable, coefficient, node) on the backend."""
        return self.backend.xp.ascontiguousarray(state.reshape(*state.shape[:2], -1)).copy()

    def put(self, state, q):
        """Set a state of the backend to the state q (variable, coefficient, node) of the host."""
        state[...] = self.state(q)

    def host(self, q):
        """A state on the host, (variable, coefficient, node)."""
        return self.backend.host(q).reshape(*q.shape[:2], -1)

    def fetch(self, q):
        return Fetched(self.host(q))

    def take(self, q, nodes):
        """The coefficients at some nodes on the host, (variable, coefficient, node of `nodes`)."""
        return self.backend.host(q.reshape(*q.shape[:2], -1)[:, :, self.backend.integers(nodes)])

    def finite(self, q):
        return self.backend.finite(q)

    def change(self, q, p):
        """Largest |q - p| and largest |q| of every variable, (2, variable), on the host."""
        return np.array([[self.backend.largest(self.xp.abs(part)) for part in parts] for parts in (q - p, q)])

    def stage(self, q, out, k, q0, t, dt, row):
        """A half-step from q to `out`: the first (row.c = 0) to the dual grid, the second back to the grid, where the sponges
        then damp the state."""
        half = int(row.c > 0)
        self.half_step(q, out, half, dt / 2)
        if half:
            self.damp(out, dt)

    def half_step(self, q, out, half, tau):
        """Interpolate q to the other grid and evolve it there by the time tau; half: 0 to the dual grid, 1 back.

        The variants are those of `dgarray.Hermite`; "monolithic" keeps the interpolants of one plane of nodes at a time."""
        targets = self.tables.targets[half][::-1]
        place, step = (Ellipsis, *(slice(0, n) for n in targets[1:])), self.rows_at_a_time(targets[0])
        for first in range(0, targets[0], step):
            row = slice(first, min(first + step, targets[0]))
            if self.variant == "collapsed":
                new = self.mapped(q, half, row, tau)
            else:
                new = self.evolve(self.interpolate(q, half, row), half, row, tau)
            out[(slice(None), slice(None), row, *place[1:])] = new.reshape(*out.shape[:2], *new.shape[-self.tables.dim:])

    def rows_at_a_time(self, count):
        """How many rows of target nodes along the last axis, of `count`, are interpolated before they are evolved."""
        return 1 if self.variant == "monolithic" else count

    def interpolate(self, q, half, row):
        """The Hermite interpolants of q between source nodes, dimension by dimension: their coefficients about the target
        nodes, (variable, *(2N + 2,) * dim, *target).

        row: slice of the target nodes along the last axis"""
        return self.by_axes(q, half, row, lambda axis: (self.left, self.right))

    def mapped(self, q, half, row, tau):
        """Coefficients (variable, *(N + 1,) * dim, *target) after the time tau, where the half-step is a product of one matrix
        along each axis."""
        if self._maps[0] != tau:
            self._maps = tau, [self.backend.array(m) for m in self.tables.collapsed(tau)]
        left, right = self._maps[1]
        return self.by_axes(q, half, row, lambda axis: (left[:, axis], right[:, axis]))

    def by_axes(self, q, half, row, maps):
        """Along each axis in turn, apply one matrix to the coefficients of the low neighbour, another to those of the high one,
        and add.

        maps: function of the axis that returns the two matrices (new coefficient, N + 1), or (variable, new coefficient,
        N + 1)"""
        d = self.tables.dim
        c = q.reshape(len(q), *self.box, *q.shape[2:])
        last = self.tables.neighbours[half][d - 1]
        needed, place = np.unique(np.concatenate([last.low[row], last.high[row]]), return_inverse=True)
        c = self.xp.take(c, self.backend.integers(needed), axis=1 + d)
        for axis in range(d):
            low, high, *signs = self.neighbours[half][axis]
            if axis == d - 1:
                low, high = (self.backend.integers(part) for part in np.split(place.reshape(-1), 2))
                signs = [s if s is None else s[..., row] for s in signs]
            ends = [self.xp.take(c, numbers, axis=1 + d + d - 1 - axis) for numbers in (low, high)]
            ends = [end if s is None else end * self.spread(s, axis) for end, s in zip(ends, signs)]
            c = sum(self.applied(matrix, end, d - axis) for matrix, end in zip(maps(axis), ends))
        return c

    def spread(self, signs, axis):
        """Factors (variable, coefficient, node) along an axis, shaped to multiply (variable, *coefficients, *nodes)."""
        d = self.tables.dim
        shape = [1] * (1 + 2 * d)
        shape[0], shape[d - axis], shape[2 * d - axis] = signs.shape
        return signs.reshape(shape)

    def applied(self, matrix, c, axis):
        """A matrix, or one for each variable, applied along an axis of the coefficients."""
        c = self.xp.moveaxis(c, axis, 1)
        shape = c.shape[2:]
        new = self.xp.matmul(matrix, c.reshape(*c.shape[:2], -1))
        return self.xp.moveaxis(new.reshape(*new.shape[:2], *shape), 1, axis)

    def evolve(self, R, half, row, tau):
        """The solution at the target nodes after the time tau, (variable, *(N + 1,) * dim, *target), from the interpolant R.
        Algorithm 4, with the law's right-hand side L:

        w = R;  for k = stages, ..., 1:  w = R + tau / k L w"""
        w = R
        for k in range(self.tables.stages, 0, -1):
            w = R + tau / k * self.rate(w, half, row)
        return w[(slice(None), *(slice(0, n) for n in self.box))]

    def rate(self, w, half, row):
        """L w, the time derivative of the polynomials w."""
        out = self.xp.zeros_like(w)
        if self.systems is None:
            for i, k, j, a in self.tables.terms:
                self.add_derivative(out[i], a, w[j], k)
            for i, j, b in self.tables.decay:
                out[i] += b * w[j]
            return out
        d, spacing = self.tables.dim, self.tables.grid.spacing
        flux, source, inverse = self.systems[half]

        def here(value):
            return value[(slice(None),) * d + (row,)] if np.ndim(value) and value.shape[d] > 1 else value
        for k, entries in enumerate(flux):
            for (i, j), value in entries.items():
                number, given = (None, self.backend.series_product(d, here(value), w[j])) if np.ndim(value) else (value, w[j])
                self.add_derivative(out[i], -1 / spacing[k], given, k, number)
        for (i, j), value in source.items():
            out[i] += self.backend.series_product(d, here(value), w[j])
        for i, value in enumerate(inverse):
            if np.ndim(value):
                out[i] = self.backend.series_product(d, here(value), out[i])
            else:
                out[i] *= value
        return out

    def add_derivative(self, out, a, w, k, number=None):
        """out += a d(number w)/dxi_k: coefficient j gets a (j_k + 1) times coefficient j + e_k.  Algorithm 3."""
        axis = self.tables.dim - 1 - k
        out, w = self.xp.moveaxis(out, axis, 0), self.xp.moveaxis(w, axis, 0)
        self.backend.add_multiples(out[:-1], [a * (j + 1) for j in range(len(out) - 1)], w[1:], number)

    def damp(self, q, dt):
        """Damp the state in the sponges, in place: q times exp(-sigma dt), as a product of series about the nodes."""
        d = self.tables.dim
        for axis, factors in self.tables.damping(dt):
            near = np.flatnonzero(factors[0] != 1)
            if not len(near):          # a step of length zero
                continue
            some = slice(near[0], near[-1] + 1)
            c = self.xp.moveaxis(q.reshape(len(q), *self.box, *q.shape[2:]), (d - axis, 2 * d - axis), (0, -1))[..., some]
            factors = self.backend.array(factors[:, some])
            c[...] = self.xp.stack([sum(factors[i - j] * c[j] for j in range(i + 1)) for i in range(len(c))])
