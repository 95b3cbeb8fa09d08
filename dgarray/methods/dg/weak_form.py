"""The operations of DG as batched matrix products and elementwise expressions on NumPy or CuPy arrays.

This file is the reference; backends override the operations for which they have kernels. Threads share the work as blocks of
elements or faces that fit the processor's cache; on a GPU one block holds all. Only `host` converts an array to NumPy.

On a part of a mesh the last elements are copies of other parts' elements. Their state is read; nothing is computed on them.
"""
from functools import cached_property, reduce

import numpy as np

from ...physics.pointwise import Rows
from ..check import norm_over_faces
from ..operation import Operation
from ..recipe import Recipe
from .arrays import ALL, DGArrays
from .join_faces import JoinFaces
from .limiter_arrays import LimiterArrays
from .linear_limiter import LinearLimiterTables
from .linear_limiter_arrays import LinearLimiterArrays


class WeakForm(DGArrays, JoinFaces, Recipe):
    """dq/dt = (-div F + L (F.n - F*) + s) / C on every element; Hesthaven & Warburton 2008, chapter 6, has every symbol.

    Modal DG uses the same functions: its tables have matrices from the state to values at quadrature points (`at_points`,
    `at_faces`), where nodal DG uses the state itself, and matrices from these values back to the unknowns."""

    limiter_of_arrays = LimiterArrays

    def rhs(self, q, t):
        """dq/dt = (-div F + L (F.n - F*) + s) / C; 0 at copies of other parts' elements."""
        out = self.xp.empty_like(q)
        out[:, :, self.tables.owned:] = 0

        def keep(columns, r):
            out[:, :, columns] = r
        self.set_clock(1.0, [t])
        self.backend.perform([*self.outside_operations(q), *self.tendency_operations(q, keep, {"dq/dt": out.nbytes})])
        return out

    def tendency_operations(self, q, use, writes, number=0):
        """The operations that compute dq/dt and call use(elements of a block, their dq/dt), which writes {name: bytes}."""
        fluxes = {"face fluxes": self.face_values.nbytes}
        return [Operation("face fluxes", lambda: self.face_flux(q, self.now(number)), reads=("state", *self.given_names),
                          writes=fluxes),
                Operation("volume, lift and update", lambda: self.tendencies(q, self.now(number), use),
                          reads=("state", *fluxes), writes=writes)]

    def tendencies(self, q, t, use):
        """Compute dq/dt from the face fluxes, block by block, and call use(elements of the block, their dq/dt)."""
        flux = self.face_values.reshape(len(q), -1, q.shape[2])
        blocks = self.blocks(self.tables.owned, max(q.shape[1], len(self.tables.points)))

        def task(piece, _):
            columns = blocks[piece]
            use(columns, self.finish(self.volume(q, t, columns) + self.lift(flux, columns), q, t, columns))
        self.backend.workers.run(task, len(blocks))

    def volume(self, q, t, columns=ALL):
        """-div F(q) at the nodes of these elements, (variable, node, element): - sum_k D_k (F(q) . grad r_k).

        For modal DG: the weak form of this term, plus the projected sources."""
        q = self.at_points(q[:, :, columns])
        variables, nodes, count = q.shape
        function = self.tables.functions.volume
        fluxes = self.xp.empty((variables, len(function.graph.outputs) // variables, nodes, count), q.dtype)
        self.backend.evaluate(
            function, [Rows(each) for each in fluxes.swapaxes(0, 1)], q=Rows(q), t=t, m=self.at(columns),
            **self.position(columns),
            g=tuple(self.gradients[k, d][..., columns] for k, d in np.ndindex(self.gradients.shape[:2])))
        return self.backend.product(self.minus_D, fluxes.reshape(variables, -1, count))

    def face_flux(self, q, t):
        """(F(q-) . n - F*) J_face / J at every face node of every element, (variable, face * face node, element).

        For modal DG: - F* J_face / J.  Each interior face is visited once, for both sides.  The next call overwrites the
        result."""
        variables, _, elements = q.shape
        flat, out = self.at_faces(q).reshape(variables, -1), self.face_values
        for group in self.groups:
            self._boundary_flux(flat, out, group, t)
        self.backend.workers.run(lambda piece, _: self._interior_flux(flat, out, self.faces[piece], t), len(self.faces))
        return out.reshape(variables, -1, elements)

    def _interior_flux(self, flat, out, block, t):
        left, right = block["nodes"]
        ml, mr = block["parameters"]
        inputs = {"x": self._points(left)} if self.needs_x else {}
        self.backend.evaluate(
            self.tables.functions.pair, [Rows(out, slots) for slots in block["slots"]], l=Rows(flat, left), r=Rows(flat, right),
            n=Rows(block["normals"]), s=block["scales"], t=t, ml=ml, mr=mr, **inputs)

    def _boundary_flux(self, flat, out, group, t):
        if group["jump"] is None:          # mortars give the flux
            Rows(out, group["slots"]).put(self.given)
            return
        nodes = group["nodes"]
        inputs = {"x": self._points(nodes)} if self.needs_x else {}
        self.backend.evaluate(
            group["jump"], [Rows(out, group["slots"])], q=Rows(flat, nodes), n=Rows(group["normals"]), s=(group["scale"],), t=t,
            m=group["parameters"], **inputs, **({"face": group["face"]} if group["face"] else {}))

    def _points(self, nodes):
        return Rows(self.face_x.reshape(len(self.face_x), -1), nodes)

    def lift(self, flux, columns=ALL):
        """L f: face fluxes lifted to the nodes of these elements, (variable, node, element)."""
        return self.backend.product(self.lift_matrix, flux[:, :, columns])

    def finish(self, r, q, t, columns=ALL):
        """(r + s(q, x, t)) / C at these elements, with sources s and the law's capacity C; r (variable, node, element) is
        overwritten."""
        if not self.tables.finishes:
            return r
        if self.tables.media.weighted:
            return self.weighted(r, q, t, columns)
        self.backend.evaluate(self.tables.functions.finish, [Rows(r)], r=Rows(r), q=Rows(q[:, :, columns]), t=t,
                              m=self.at(columns), **self.position(columns))
        return r

    def weighted(self, r, q, t, columns):
        """As `finish`, at points of quadrature and projected: see `Media`."""
        media, (to_points, back) = self.tables.media, self.mass_matrices
        weighted, others = (media.finish_of(which) if which else None for which in (media.weighted, media.others))
        here = {"x": Rows(self.mass_x[:, :, columns])} if weighted.depends_on("x") else {}
        if weighted.depends_on("q"):
            here["q"] = Rows(self.backend.product(to_points, q[:, :, columns]))
        values = [0.0] * len(r)
        for v in media.weighted:
            values[v] = self.backend.product(to_points, r[v:v + 1])[0]
        result = self.backend.evaluate(weighted, r=tuple(values), t=t, m=self.at(columns, "mass"), **here)
        if others is not None:          # which do not read what varies inside
            m = {name: values[columns] for name, values in self.parameters.items()} | dict.fromkeys(media.names, 1.0)
            self.backend.evaluate(others, [Rows([r[v] for v in media.others])], r=Rows(r), q=Rows(q[:, :, columns]), t=t, m=m,
                                  **self.position(columns))
        for v, value in zip(media.weighted, result):
            r[v] = self.backend.product(back, value[None])[0]
        return r

    def at_points(self, q):
        """The state q (variable, row, element) at the points of the volume, (variable, point, element)."""
        return q if self.interpolate is None else self.backend.product(self.interpolate, q)

    def at_faces(self, q):
        """The values from which face fluxes are computed: at the points of all faces, (variable, face * face point, element),
        or the state itself if its nodes include the face nodes.  The next call overwrites the result."""
        if self.trace is None:
            return q
        blocks, traces = self.blocks(q.shape[2], len(self.trace)), self.traces

        def task(piece, _):
            columns = blocks[piece]
            traces[:, :, columns] = self.backend.product(self.trace, q[:, :, columns])
        self.backend.workers.run(task, len(blocks))
        return traces

    def stage(self, q, out, k, q0, t, dt, row):
        self.set_clock(dt, [t])
        self.backend.perform(self.stage_operations(q, out, k, q0, row))

    def stage_operations(self, q, out, k, q0, row, number=0):
        """The operations of one Runge-Kutta stage: `update_operations`, then `out` is limited.  `out` may not be `q`."""
        return [*self.update_operations(q, out, k, q0, row, number), *self.limit_operations(out)]

    def update_operations(self, q, out, k, q0, row, number=0):
        """The operations that compute r = dq/dt at (q, t), then k = A k + v q + w dt r and
        out = alpha q0 + beta q + B k + C dt r, see `dgarray.stepping.Stage`."""
        def update(columns, r):
            self.update(row, self.dt, r, *(None if array is None else array[:, :, columns] for array in (q, out, k, q0)))
        writes = {"new state": out.nbytes} | ({"register": k.nbytes} if row.w or row.v else {})
        return [*self.outside_operations(q, number), *self.tendency_operations(q, update, writes, number)]

    def limit_operations(self, out):
        """The operations that limit a new state; where the limiter looks at neighbours, copies of some are renewed before."""
        before, after = self.limiting_operations(out)
        copies = self.copies_operations(out) if self.tables.limiting.limiter else []
        return [*copies, *before, *([self.linear_limiter.extremes_operation()] if before else []), *after]

    def limiting_operations(self, out):
        """([the operations that keep what elements of other sets read], [those that limit]) of a new state."""
        if self.tables.limits is None:
            return [], []
        if self.linear:
            return self.linear_limiter.operations_on(out)
        return [], [Operation("limiter", lambda: self.limiter(out), reads=("new state",),
                              writes={"new state": out.nbytes})]

    @cached_property
    def linear(self):
        """Whether the limiter is that of elements of any shape."""
        return isinstance(self.tables.limits, LinearLimiterTables)

    @cached_property
    def mass_matrices(self):
        return tuple(self.backend.array(matrix) for matrix in (self.tables.media.to_points, self.tables.media.back))

    @cached_property
    def limiter(self):
        """The `LimiterArrays` that limits a state in place; None if the method has none, or the limiter of any shape."""
        return None if self.tables.limits is None or self.linear else self.limiter_of_arrays(self)

    @cached_property
    def linear_limiter(self):
        """The `LinearLimiterArrays`, or kernels that stand for it."""
        return LinearLimiterArrays(self)

    def limit(self, q):
        """Limit the state q (variable, row, element) in place, if the method has a limiter."""
        if self.linear:
            self.backend.perform(self.limit_operations(q))
        elif self.limiter is not None:
            self.limiter(q)

    def filter(self, q):
        """Filter the state q (variable, node, element) in place; only for a method that has a filter."""
        def task(columns):
            q[:, :, columns] = self.backend.product(self.filter_matrix, q[:, :, columns])
        blocks = self.blocks(self.tables.owned, q.shape[1])
        self.backend.workers.run(lambda piece, _: task(blocks[piece]), len(blocks))

    def rate(self, q, t, exponent):
        """The largest wave rate, max over elements of `norm_over_faces` of s J_face / J, 1 / time.

        s is the wave speed normal to the face, its maximum over the element's points.  In the strong form these are all nodes;
        by quadrature, the points of all faces and, above order 1, of the volume, or only those of the face if the speed does
        not depend on the state.
        Returns nan if a rate is not finite."""
        with np.errstate(invalid="ignore", over="ignore"):
            rate = self.backend.largest(norm_over_faces(self._face_rates(q, t), exponent))
        return rate if 0 <= rate < np.inf else np.nan

    def _face_rates(self, q, t):
        """s J_face / J of the own elements: a list with an array (element,) for each local face; see `rate`."""
        t = self.time(t)
        places = [("faces", self.own(self.at_faces(q)), self.own(self.face_x) if self.needs_x else None)]
        if self.tables.speeds_inside:
            places.append(("volume", self.at_points(self.own(q)), self.own(self.x) if self.needs_x else None))
        faces = []
        for face, scale in enumerate(self.rate_metrics[1]):
            rows = ALL if self.tables.speeds_everywhere else self.rows_of(face)
            speeds = [self._speed(values[:, rows], x if x is None else x[:, rows], face, t,
                                  self.at(slice(self.tables.owned), place, rows)) for place, values, x in places]
            faces.append(reduce(self.xp.maximum, speeds) * self.own(scale))
        return faces

    def _speed(self, q, x, face, t, m):
        """The largest wave speed normal to a face at these points of every own element."""
        x = {} if x is None else {"x": Rows(x)}
        n = Rows(self.own(self.rate_metrics[0][face]))
        speed, = self.backend.evaluate(self.tables.functions.wave_speed, q=Rows(q), n=n, t=t, m=m, **x)
        return self.xp.max(speed, axis=0) if getattr(speed, "ndim", 0) == 2 else speed

    def rows_of(self, face):
        """The rows of a face's points among those of all faces."""
        count = self.tables.face_nodes.shape[1]
        return slice(face * count, (face + 1) * count)

    def finite(self, q):
        """Whether every value of the state is finite."""
        return self.backend.finite(self.own(q))

    def sound(self, q, t):
        """Whether every value of the state is finite and, if the law has `admissible`, admissible."""
        return self.finite(q) and (self.tables.law.admissible is None or self.all_admissible(q, t))

    def admissible(self, q, t):
        """Where the law admits the state: truth values (node, own element), for modal DG at the points of volume and faces."""
        own = slice(self.tables.owned)
        inside = self._admissible(self.at_points(self.own(q)), t, self.position(own), self.at(own))
        if self.trace is None:
            return inside
        x = {"x": Rows(self.own(self.face_x))} if self.needs_x else {}
        return self.xp.concatenate([inside, self._admissible(self.own(self.at_faces(q)), t, x, self.at(own, "faces"))])

    def all_admissible(self, q, t):
        """Whether the state is admissible everywhere."""
        return bool(self.admissible(q, t).all())

    def _admissible(self, q, t, x, m):
        values, = self.backend.evaluate(self.tables.functions.admissible, q=Rows(q), t=self.time(t), m=m, **x)
        return self.xp.broadcast_to(values, q.shape[1:])

    def change(self, q, p):
        """Largest |q - p| and largest |q| of every variable, (2, variable), on the host."""
        return self._largest((q[:, :, part], p[:, :, part]) for part in self.blocks(self.tables.owned, q.shape[1]))

    def _largest(self, parts, axes=(1, 2)):
        """Largest |q - p| and largest |q| over `axes`, from pairs (q, p) of parts of two states; see `change`."""
        found = [[self.backend.host(self.xp.max(self.xp.abs(a), axis=axes)) for a in (q - p, q)] for q, p in parts]
        return np.max([np.zeros((2, self.tables.variables)), *found], axis=0)

    @property
    def work(self):
        tables, speed = self.tables, self.tables.functions.wave_speed
        there = {"right-hand side": True, "limiter": tables.limits is not None, "filter": tables.filter is not None,
                 "wave speeds": speed.depends_on("q") or speed.depends_on("t"),
                 "admissible states": tables.law.admissible is not None}
        return [part for part in there if there[part]]
