"""Limiters of modal DG as array expressions: slopes that make new extremes, negative densities and pressures.

They change coefficients in place, never those of mode 0: averages, and so what is conserved, stay bit for bit.
"""
from functools import cached_property
from math import comb

from .blocks import columns_at_once


class Limiter:
    """Limits the state c[variable, mode, element] of the reference's operations; see `dgarray.methods.dg.limiting.Limits`.

    Slopes: where u = mean + sum over degrees q of u_q, the parts become alpha_q u_q.
    Barth-Jespersen (order 1): the largest alpha_1 in [0, 1] of each variable with which u at the points of the faces is within
    the averages of the element and its neighbours across faces.  Barth & Jespersen 1989; Fuhry, Giuliani & Krivodonova 2014,
    equations (17) to (19).  With "barth-jespersen-vertices" the neighbours are all elements that share a vertex with it.
    Vertex: the same at the vertices with the averages of all elements around each; from the highest degree q down, by the
    partial derivatives of order q - 1 of the projection on degree q, which are linear; alpha_q is the smallest of these, but
    at least alpha_(q+1).  Kuzmin 2010.
    Beyond a boundary there is no average.  Linear states would be flat there, so there the states around are mirrored,
    u+ + u- = 2 mean: the nearest average across a face where all are above, or all below, the element's own (Barth-Jespersen);
    the farthest around any vertex, at vertices of the boundary; in elements that have one there, for Barth-Jespersen with all
    vertices, the extremes around that vertex around which they are nearest.

    Primitive variables: of the linear functions through their values at the vertices, about their value of the mean state.
    Characteristic variables: of the waves L (u - mean) along one direction n, L the left eigenvectors of the mean state; n is
    that of the element's density gradient (the law's first variable), normal to shocks and contacts: an upwind direction that
    turns with the flow as Davis's and Levy, Powell & van Leer's, so that the frame does not matter in one and two dimensions.
    Cockburn & Shu 1998, section 3.2.4; Davis 1984; Levy, Powell & van Leer 1993."""

    def __init__(self, operations):
        self.operations, self.backend, self.xp = operations, operations.backend, operations.xp
        self.limits = operations.tables.limits
        self.options = self.limits.options
        self.floor = float(self.xp.finfo(self.backend.dtype).eps) ** 0.5          # share of the mean that is positive enough

    @classmethod
    def needs(cls, backend, tables):
        """Bytes that the limiter of these tables holds, index lists, and those that it takes for a while: linear parts of the
        state, and, for blocks of elements, as measured 5 values of each variable and point where shares are looked for."""
        limits, E, (F, M), b = tables.limits, tables.elements, tables.face_nodes.shape, backend.dtype.itemsize
        d, V, options, state = tables.dim, tables.variables, limits.options, tables.variables * tables.rows * E * b
        lists = ((24 if options.around else 8) * F + 1) * E * bool(options.limiter)
        lists += (16 * F + 16) * E * bool(options.indicator)
        parts = 0
        if options.variables == "primitive":
            parts = 2 * state
        elif options.variables == "characteristic":
            parts = (3 if options.around else 1) * state
        elif options.limiter == "vertex" and limits.order > 1:
            derivatives = sum(comb(q + d - 2, d - 1) for q in range(1, limits.order + 1))
            parts = derivatives * (d + 1) * V * E * b + 3 * state
        points = max(F * M * options.at_faces, F * (options.limiter == "vertex"),
                     (len(tables.points) + F * M) * options.positivity)
        shares = 5 * V * points * columns_at_once(backend, E, points) * b
        return lists, max(4 * F * E * b * bool(options.indicator), parts + shares)

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
        return self.backend.array(self.limits.reference.nodal), self.backend.array(self.limits.inverse_nodal)

    @cached_property
    def lists(self):
        """The index lists that the limiter needs."""
        of_faces, of_vertices = ("neighbours", "outer"), ("vertices", "around", "outer_vertices", "alone")
        names = of_vertices if self.options.around else of_faces
        return {name: self.backend.integers(getattr(self.limits, name)) for name in names}

    @cached_property
    def sensing(self):
        """Averages over the faces, neighbours, places of the faces on the other side, thresholds."""
        return (self.backend.array(self.limits.averages), self.backend.integers(self.limits.neighbours),
                self.backend.integers(self.limits.beyond), self.backend.array(self.limits.threshold))

    @cached_property
    def slopes(self):
        """(dim, linear mode): du/dr_k of a linear u from its coefficients."""
        return self.backend.array(self.limits.derivatives[:, 0, self.limits.linear] * self.limits.unit)

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
        averages, neighbours, beyond, threshold = self.sensing
        xp, found = self.xp, threshold < 0
        for v in self.limits.sensors:
            at_faces = self.backend.product(averages, q[v:v + 1])[0]
            jumps = xp.abs(at_faces - at_faces.reshape(-1)[beyond])
            mean = xp.abs(q[v, 0]) * self.limits.unit
            size = xp.maximum(mean, xp.max(mean[neighbours], axis=0))
            found = found | (xp.max(jumps, axis=0) > threshold * size)
        return found

    def _slopes(self, q, troubled):
        groups = [] if self.options.variables == "characteristic" else self._linear_parts(q)
        extremes = [[self._extremes(u[:, 0]) for u in group] for group in groups]

        def used(share, columns):
            return share if troubled is None else self.xp.where(troubled[columns], share, 1.0)

        def task(columns):
            share = None
            if not groups:
                self._limit_waves(q, columns, used)
            for degree, group, known in zip(range(self.limits.order, 0, -1), groups, extremes):
                found = None
                for u, extreme in zip(group, known):
                    one = self._share(u[:, 1:, columns], *self._room(extreme, u[:, 0, columns][:, None], columns))
                    found = one if found is None else self.xp.minimum(found, one)
                share = found if share is None else self.xp.maximum(found, share)
                if self.options.variables == "primitive":
                    self._keep_primitive(q, group[0], used(share, columns), columns)
                else:
                    for mode in (self.limits.degrees == degree).nonzero()[0].tolist():
                        q[:, mode, columns] *= used(share, columns)
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
        if not self.options.around:
            return mean, mean
        around = mean[:, self.lists["around"]]
        return self.xp.max(around, axis=1), self.xp.min(around, axis=1)

    def _share(self, slopes, high, low):
        """The largest share in [0, 1] of the linear parts with which they are within what is allowed, (variable, element)."""
        xp, change = self.xp, self.backend.product(self.check, slopes)
        high, low = high * self.limits.unit, low * self.limits.unit
        over, under = change > high, change < low
        room = xp.where(over, high, xp.where(under, low, 1.0))
        return xp.min(room / xp.where(over | under, change, 1.0), axis=1)

    def _room(self, extremes, mean, columns):
        """How much more and less than the mean is allowed, in coefficients of mode 0: (variable, point or 1, element)."""
        if not self.options.around:
            return self._room_across(extremes[0][:, self.lists["neighbours"][:, columns]] - mean, columns)
        vertices = self.lists["vertices"][:, columns]
        return self._room_around(extremes[0][:, vertices] - mean, extremes[1][:, vertices] - mean, columns)

    def _room_across(self, change, columns):
        """The same from the changes (variable, face, element) to the averages across the faces."""
        xp, outer = self.xp, self.lists["outer"][:, columns]
        high = xp.maximum(xp.max(change, axis=1)[:, None], 0.0)
        low = xp.minimum(xp.min(change, axis=1)[:, None], 0.0)
        above = xp.min(xp.where(outer, -low, -change), axis=1)[:, None]
        below = xp.min(xp.where(outer, high, change), axis=1)[:, None]
        mirrors = xp.any(outer, axis=0)
        return (xp.where(mirrors, xp.maximum(high, above), high), xp.where(mirrors, xp.minimum(low, -below), low))

    def _room_around(self, high, low, columns):
        """The same from the largest and least changes (variable, vertex, element) to the averages around the vertices."""
        xp, outer = self.xp, self.lists["outer_vertices"][:, columns]
        most = xp.max(xp.maximum(high, -low), axis=1)[:, None]
        if not self.options.at_faces:
            return xp.where(outer, most, high), xp.where(outer, -most, low)
        alone, mirrors = self.lists["alone"][:, columns], xp.any(outer, axis=0)
        above, below = (xp.min(xp.where(alone, most, room), axis=1) for room in (-low, high))
        high, low = xp.max(high, axis=1), xp.min(low, axis=1)
        return (xp.where(mirrors, xp.maximum(high, above), high)[:, None],
                xp.where(mirrors, xp.minimum(low, -below), low)[:, None])

    def _limit_waves(self, q, columns, used):
        """Limit the waves of these elements, where something is limited."""
        xp, limits, m = self.xp, self.limits, self.operations.at(columns)
        mean, slopes = q[:, 0, columns], q[:, 1:, columns]
        along = self.slopes @ slopes[0]
        gradients, axes = self.operations.gradients, range(limits.dim)
        g = tuple(sum(gradients[k, d, columns] * along[k] for k in axes) for d in axes)
        at = dict(mean=tuple(mean * limits.unit), n=limits.direction(g=g), m=m)

        def waves(u):
            return xp.stack(limits.characteristic(q=tuple(u), **at))

        if not self.options.around:
            across = self.lists["neighbours"][:, columns]
            high, low = self._room_across(waves(q[:, 0][:, across] - mean[:, None]), columns)
        else:
            around, high, low = self.lists["around"][:, self.lists["vertices"][:, columns]], None, None
            for some in range(len(around)):
                change = waves(q[:, 0][:, around[some]] - mean[:, None])
                high, low = (change, change) if high is None else (xp.maximum(high, change), xp.minimum(low, change))
            high, low = self._room_around(high, low, columns)
        w = waves(slopes)
        share = used(self._share(w, high, low), columns)
        found = limits.from_characteristic(w=tuple(w * share[:, None]), **at)
        changed = xp.min(share, axis=0) < 1
        for v, values in enumerate(found):
            q[v, 1:, columns] = xp.where(changed, values, slopes[v])

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

