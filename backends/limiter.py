"""Limiters of modal DG as array expressions: slopes that make new extremes, negative densities and pressures.

They change coefficients in place, never those of mode 0: averages, and so what is conserved, stay bit for bit.
"""
from functools import cached_property

import numpy as np


class Limiter:
    """Limits the state c[variable, mode, element] of the reference's operations; see `dgarray.methods.limiting.Limits`.

    Slopes: where u = mean + sum over degrees q of u_q, the parts become alpha_q u_q.
    Barth-Jespersen (order 1): the largest alpha_1 in [0, 1] of each variable with which u at the points of the faces is within
    the averages of the element and its neighbours across faces.  Barth & Jespersen 1989; Fuhry, Giuliani & Krivodonova 2014,
    equations (17) to (19).
    Vertex: the same at the vertices with the averages of all elements around each; from the highest degree q down, by the
    partial derivatives of order q - 1 of the projection on degree q, which are linear; alpha_q is the smallest of these, but
    at least alpha_(q+1).  Kuzmin 2010.
    Beyond a boundary there is no average.  Linear states would be flat there, so there the states around are mirrored,
    u+ + u- = 2 mean: the nearest average across a face where all are above, or all below, the element's own (Barth-Jespersen);
    the farthest around any vertex, at vertices of the boundary.

    Primitive variables: of the linear functions through their values at the vertices, about their value of the mean state."""

    def __init__(self, operations):
        self.operations, self.backend, self.xp = operations, operations.backend, operations.xp
        self.limits = operations.tables.limits
        self.options = self.limits.options
        self.floor = float(self.xp.finfo(self.backend.dtype).eps) ** 0.5          # share of the mean that is positive enough

    @cached_property
    def check(self):
        return self.backend.array(self.limits.check)

    @cached_property
    def derivatives(self):
        return self.backend.array(self.limits.derivatives)

    @cached_property
    def points(self):
        """(point, mode), values at all points of the volume and the faces."""
        return self.xp.concatenate([self.operations.interpolate, self.operations.trace])

    @cached_property
    def nodal(self):
        """(vertex, mode) and its inverse, at order 1."""
        matrix = self.limits.reference.nodal
        return self.backend.array(matrix), self.backend.array(np.linalg.inv(matrix))

    @cached_property
    def lists(self):
        """The index lists that the limiter needs."""
        of_faces, of_vertices = ("neighbours", "outer"), ("vertices", "around", "outer_vertices")
        names = of_faces if self.options.limiter == "barth-jespersen" else of_vertices
        return {name: self.backend.integers(getattr(self.limits, name)) for name in names}

    @cached_property
    def sensing(self):
        """Neighbours, rows across the faces, weights of a face's points, thresholds."""
        weights = self.limits.reference.face_weights
        return (self.backend.integers(self.limits.neighbours), self.backend.integers(self.limits.exterior),
                self.backend.array(weights / weights.sum())[:, None], self.backend.array(self.limits.threshold))

    def __call__(self, q):
        """Limit the state q in place."""
        if self.options.limiter is not None:
            troubled = None if self.options.indicator is None else self.troubled(q)
            self._slopes(q, troubled)
        if self.options.positivity:
            self._blocks(q, len(self.points), lambda columns: self._positive(q, columns))

    def _blocks(self, q, rows, task):
        blocks = self.operations.blocks(q.shape[2], rows)
        self.backend.workers.run(lambda piece, _: task(blocks[piece]), len(blocks))

    def troubled(self, q):
        """Where the state is not smooth, (element,): where the average jump over a face is more than (h / L)^((order + 1) / 2)
        times the largest average of the element and its neighbours, in a variable that is no velocity or momentum.

        h is the distance from centroid to vertex, L the mesh's extent; jumps of smooth states are of order h^(order + 1).
        As Krivodonova, Xin, Remacle, Chevaugeon & Flaherty 2004, but over each face in place of those where something flows
        in, so that any law has it."""
        neighbours, exterior, weights, threshold = self.sensing
        values, xp = self.operations.at_faces(q), self.xp
        found = threshold < 0
        for v in self.limits.sensors:
            outside = values[v].reshape(-1)[exterior]
            jumps = ((values[v] - outside).reshape(len(neighbours), -1, q.shape[2]) * weights).sum(axis=1)
            mean = xp.abs(q[v, 0]) * self.limits.unit
            size = xp.maximum(mean, xp.max(mean[neighbours], axis=0))
            found = found | (xp.max(xp.abs(jumps), axis=0) > threshold * size)
        return found

    def _slopes(self, q, troubled):
        groups = self._linear_parts(q)
        extremes = [[self._extremes(u[:, 0]) for u in group] for group in groups]
        primitive = self.options.variables == "primitive"

        def task(columns):
            share = None
            for degree, group, known in zip(range(self.limits.order, 0, -1), groups, extremes):
                found = None
                for u, extreme in zip(group, known):
                    one = self._share(u, extreme, columns)
                    found = one if found is None else self.xp.minimum(found, one)
                share = found if share is None else self.xp.maximum(found, share)
                used = share if troubled is None else self.xp.where(troubled[columns], share, 1.0)
                if primitive:
                    self._keep_primitive(q, group[0], used, columns)
                else:
                    for mode in (self.limits.degrees == degree).nonzero()[0].tolist():
                        q[:, mode, columns] *= used
        self._blocks(q, len(self.check), task)

    def _linear_parts(self, q):
        """For every degree q from the highest on the partial derivatives of order q - 1 of the projection on degree q: their
        coefficients of mode 0 and the linear modes, (variable, 1 + dim, element)."""
        if self.options.variables == "primitive":
            return [[self._primitive(q)]]
        rows = [0, *self.limits.linear.tolist()]
        if self.limits.order == 1:
            return [[q]]
        result = []
        for degree in range(self.limits.order, 0, -1):
            low = self.backend.array((self.limits.degrees <= degree)[:, None])
            result.append([self._derivative(q * low, index)[:, rows] for index in self.limits.indices[degree]])
        return result

    def _derivative(self, u, directions):
        """Coefficients of the partial derivative of u along each of these directions."""
        for d in directions:
            u = sum(self.operations.gradients[k, d] * self.backend.product(matrix, u)
                    for k, matrix in enumerate(self.derivatives))
        return u

    def _extremes(self, mean):
        """What all elements must know of the averages (variable, element): themselves, or the largest and least around each
        vertex, (variable, vertex)."""
        if self.options.limiter == "barth-jespersen":
            return mean, mean
        around = mean[:, self.lists["around"]]
        return self.xp.max(around, axis=1), self.xp.min(around, axis=1)

    def _share(self, u, extremes, columns):
        """The largest share in [0, 1] of the linear parts of u with which u is within the extremes, (variable, element)."""
        xp, mean = self.xp, u[:, 0, columns][:, None]
        high, low = self._room(extremes, mean, columns)
        change = self.backend.product(self.check, u[:, 1:, columns])
        high, low = high * self.limits.unit, low * self.limits.unit
        over, under = change > high, change < low
        room = xp.where(over, high, xp.where(under, low, 1.0))
        return xp.min(room / xp.where(over | under, change, 1.0), axis=1)

    def _room(self, extremes, mean, columns):
        """How much more and less than the mean is allowed, in coefficients of mode 0: (variable, point or 1, element)."""
        xp, lists = self.xp, self.lists
        if self.options.limiter == "barth-jespersen":
            change, outer = extremes[0][:, lists["neighbours"][:, columns]] - mean, lists["outer"][:, columns]
            high = xp.maximum(xp.max(change, axis=1)[:, None], 0.0)
            low = xp.minimum(xp.min(change, axis=1)[:, None], 0.0)
            above = xp.min(xp.where(outer, -low, -change), axis=1)[:, None]
            below = xp.min(xp.where(outer, high, change), axis=1)[:, None]
            mirrors = xp.any(outer, axis=0)
            return (xp.where(mirrors, xp.maximum(high, above), high), xp.where(mirrors, xp.minimum(low, -below), low))
        vertices, outer = lists["vertices"][:, columns], lists["outer_vertices"][:, columns]
        high, low = extremes[0][:, vertices] - mean, extremes[1][:, vertices] - mean
        most = xp.max(xp.maximum(high, -low), axis=1)[:, None]
        return xp.where(outer, most, high), xp.where(outer, -most, low)

    def _primitive(self, q):
        """The primitive variables as a linear function, (variable, 1 + dim, element); its mean is that of the mean state."""
        to_nodes, to_modes = self.nodal
        w = self.xp.empty_like(q)
        at_nodes = self.limits.primitive(q=tuple(self.backend.product(to_nodes, q)), m=self.operations.parameters)
        of_mean = self.limits.primitive(q=tuple(q[:, 0] * self.limits.unit), m=self.operations.parameters)
        for v, (values, mean) in enumerate(zip(at_nodes, of_mean)):
            w[v] = to_modes @ values
            w[v, 0] = mean * (1 / self.limits.unit)
        return w

    def _keep_primitive(self, q, w, share, columns):
        """Put back the conserved variables of the limited primitive ones where something is limited."""
        to_nodes, to_modes = self.nodal
        w = w[:, :, columns] * 1.0
        w[:, 1:] *= share[:, None]
        changed = self.xp.min(share, axis=0) < 1
        found = self.limits.conservative(w=tuple(self.backend.product(to_nodes, w)), m=self.operations.at(columns))
        for v, values in enumerate(found):
            q[v, 1:, columns] = self.xp.where(changed, (to_modes @ values)[1:], q[v, 1:, columns])

    def _positive(self, q, columns):
        """Scale the state towards its mean until density and pressure are positive at all points: first the density, then all
        variables, theta = (mean - floor) / (mean - least), floor a small share of the mean; the pressure is concave.
        Zhang & Shu 2010; Zhang, Xia & Shu 2012; Wang, Zhang, Shu & Ning 2012."""
        values, mean = self.backend.product(self.points, q[:, :, columns]), q[:, 0, columns] * self.limits.unit
        theta = self._towards(mean[0], values[0])
        q[0, 1:, columns] *= theta
        values[0] = mean[0] + theta * (values[0] - mean[0])
        m = self.operations.at(columns)
        theta = self._towards(self.limits.pressure(q=tuple(mean), m=m)[0], self.limits.pressure(q=tuple(values), m=m)[0])
        q[:, 1:, columns] *= theta

    def _towards(self, mean, values):
        """theta, 1 where all values are above the floor already; 0 where the mean is not positive: nothing helps there."""
        xp, least = self.xp, self.xp.min(values, axis=0)
        floor = self.floor * mean
        low = least < floor
        share = (mean - floor) / xp.where(low & (least < mean), mean - least, 1.0)
        return xp.clip(xp.where(low, share, 1.0), 0.0, 1.0)

