"""The recipe of tensor-product DG on quadrilaterals and hexahedra: products along lines of nodes.

Weak form, collocated at the nodes (J a^k: the metrics, w: weights, l: Lagrange polynomials of a line):

    J_i C dq_i/dt = sum_k sum_j (w_j / w_i) l'_i(x_j) (F . J a^k)_j - sum_ends l_i(end) / w_i (J_face F*)_end + J_i s_i

Helluy, Strub, Massaro & Roberts 2015, equation (9); Kopriva 2009, chapter 5.

Split form, on Gauss-Lobatto nodes: fluxes between two nodes of a line,

    J_i C dq_i/dt = - sum_k sum_j 2 D_ij F#(q_i, q_j) . (J a^k_i + J a^k_j) / 2
                    + sum_ends l_i(end) / w_i J_face (F . n - F*)_end + J_i s_i

F# symmetric and consistent makes it conservative; F# that conserves entropy makes it conserve entropy, up to what F* takes.
Nonconservative products Phi(q_i, q_j, n) of the law are added to F# at node i, to F* and, as Phi(q_i, q_i, n), to F.
Fisher & Carpenter 2013; Gassner, Winters & Kopriva 2016; Bohm, Winters, Gassner, Derigs, Hindenlang & Saur 2020.

With a share alpha of finite volumes on subcells where there are shocks:

    J_i dq_i/dt = (1 - alpha) (split form) - alpha sum_k (f_(i, i+1) - f_(i-1, i)) / w_i + face terms and sources,

f the run's numerical flux between neighbouring nodes i, j of a line along axis k, with the normal of their subcells,

    n_(i, i+1) = (J a^k)_0 + sum_(l <= i) sum_m w_l D_lm (J a^k)_m,

so that a uniform state stays uniform on curved cells.  At the ends of a line both parts have the same fluxes, hence what is
conserved stays.  Hennemann, Rueda-Ramirez, Hindenlang & Gassner 2021, equations (11), (16) and (B.1) to (B.3).
"""
from itertools import combinations

import numpy as np

from ...physics.pointwise import Pointwise
from ...program.arrays import apply, gather, product, put, reduce, stack
from .set_constants import given
from .weak_form import WeakForm


class TensorForm(WeakForm):
    """The weak form on quadrilaterals and hexahedra: a product along each axis in place of one with all nodes.

    Nodes are numbered with x fastest, so that values (.., node, element) are also (.., after, n, before, element) with the
    nodes of the lines along one axis in the middle."""

    def lines(self, values, axis):
        """Values (.., node, element) as (.., after, n, before, element), the nodes of the lines along an axis in the middle;
        values of elements alone as they are."""
        n = len(self.basis.cell.weak)
        if not values.lead or values.lead[-1] != n ** self.tables.dim:
            return values
        *more, nodes = values.lead
        return values.reshape(*more, nodes // n ** (axis + 1), n, n ** axis)

    def line_matrix(self, name):
        return self.matrix(name, getattr(self.basis.cell, name))

    def along(self, matrix, values, axis, term):
        """A matrix (n, n) applied to the lines of values (variable, node, element) along an axis."""
        return product(matrix, self.lines(values, axis), -3, term).reshape(*values.lead)

    share = None          # of finite volumes in each own element, set by `begin`

    def begin(self, q, own=None, beyond=()):
        """Find the shares of finite volumes at a state, if there are any; own: the `own_shares`, if they are known; beyond: of
        `find_share`."""
        if self.tables.sensor is not None:
            self.share = self.find_share(self.own_shares(q) if own is None else own, beyond)

    def volume(self, q, t):
        if self.tables.physics.volume_flux is not None:
            return self.split_volume(q, t)
        F, total = self.fluxes(q, t), None
        for k in range(self.tables.dim):
            part = self.along(self.line_matrix("weak"), F[:, k], k, f"-div F along {'xyz'[k]}")
            total = part if total is None else total + part
        return total

    def at_faces(self, q):
        return self.ends_of(q)

    def ends_of(self, q):
        """The values of q (variable, node, element) at the points of all faces, (variable, face * face point, element)."""
        variables, d, n = len(q), self.tables.dim, len(self.basis.cell.weak)
        found = []
        for k in range(d):
            ends = product(self.line_matrix("ends"), self.lines(q, k), -3, "q at faces")          # (.., after, end, before)
            found.append(ends.moved(0, 2, 1, 3).reshape(variables, 2, n ** (d - 1)))
        return stack(found, 1, "q at faces").reshape(variables, -1)

    def lift(self, flux):
        d, n, total = self.tables.dim, len(self.basis.cell.weak), None
        faces = flux.reshape(len(flux), d, 2, n ** (d - 1))
        for k in range(d):
            ends = faces[:, k].reshape(len(flux), 2, n ** (d - 1 - k), n ** k).moved(0, 2, 1, 3)
            part = product(self.line_matrix("lift"), ends, -3, "lift of F*").reshape(len(flux), n ** d)
            total = part if total is None else total + part
        return total

    def finish(self, r, q, t):
        if self.geometry.affine:
            return super().finish(r, q, t)
        return apply(self.functions.collect, "(r / J + s) / C", at=r, **given(
            r=r, q=q, s=[self.inverse], t=t, m=self.parameters(), x=self.x))

    def rate(self, q, t, exponent=1.0):
        """The largest wave rate of each element, max over its nodes of sum_k s(J a^k) / J, 1 / time."""
        rates = apply(self.functions.rate, "s(J a)", **given(
            q=q.first(self.own), g=self.gradients, t=t, m=self.parameters(), x=self.x,
            s=None if self.geometry.affine else [self.inverse]))[0]
        return reduce("max", rates) if len(rates.shape) == 2 else rates

    # The split form.

    def split_volume(self, q, t):
        total = None
        for k in range(self.tables.dim):
            parts = [self.two_point(q, k, t)] if self.share is None else [self.two_point(q, k, t), self.subcells(q, k, t)]
            for part in [*parts, self.at_ends(q, k, t)]:
                total = part if total is None else total + part
        return total

    def pairs_of(self, pairs, values, k):
        """For pairs (i, j) of nodes of each line, values at i and at j, (.., after, pair, before, element)."""
        lines = self.lines(values, k)
        if lines is values:
            return values, values
        more = (slice(None),) * (len(lines.lead) - 2)
        return [lines[(*more, [pair[side] for pair in pairs])] for side in (0, 1)]

    def fluxes_of_pairs(self, function, term, pairs, factors, q, k, more):
        """r_i = sum over the pairs (i, j) of factors (pair, 2) times a flux between both, for i by the first factor, for j by
        the second; (variable, node, element).

        more: arguments of the function by name"""
        n, V = len(self.basis.cell.weak), self.tables.variables
        l, r = self.pairs_of(pairs, q, k)
        m = {name: self.pairs_of(pairs, values, k) for name, values in self.parameters().items()}
        flux = apply(function, term, at=l, l=l, r=r, ml={name: both[0] for name, both in m.items()},
                     mr={name: both[1] for name, both in m.items()}, **more)
        to_left, to_right = np.zeros((2, n, len(pairs)))
        for number, ((i, j), (a, b)) in enumerate(zip(pairs, factors)):
            to_left[i, number], to_right[j, number] = a, b
        if len(flux) == V:
            found = product(self.matrix(f"factors of {term}", to_left + to_right), flux, -3, f"sum of {term}")
        else:          # nonconservative products: the first ones for i, the last ones for j
            found = product(self.matrix(f"factors of {term} at i", to_left), flux[:V], -3, f"sum of {term}") + product(
                self.matrix(f"factors of {term} at j", to_right), flux[V:], -3, f"sum of {term}")
        return found.reshape(*q.lead)

    def two_point(self, q, k, t):
        """- sum_j 2 D_ij F#(q_i, q_j) . (J a^k_i + J a^k_j) / 2 over j other than i, times 1 - alpha."""
        slopes, a = self.basis.cell.slopes, self.metrics_along(k)
        pairs = list(combinations(range(len(slopes)), 2))
        factors = [(-2 * slopes[i, j], -2 * slopes[j, i]) for i, j in pairs]
        both = self.pairs_of(pairs, a, k)
        found = self.fluxes_of_pairs(self.functions.two_point, "F#", pairs, factors, q, k, dict(a=both[0], b=both[1], t=t))
        return found if self.share is None else self.blended(found)

    def metrics_along(self, k):
        """J a^k, (dim, node, element) or (dim, element)."""
        return self.metric("gradients")[k]

    def at_ends(self, q, k, t):
        """The flux of the nodes at both ends of a line; at the others D_ii = 0."""
        slopes, n = self.basis.cell.slopes, len(self.basis.cell.slopes)
        ends = [(0, 0), (n - 1, n - 1)]
        own, a = (self.pairs_of(ends, values, k)[0] for values in (q, self.metrics_along(k)))
        m = {name: self.pairs_of(ends, values, k)[0] for name, values in self.parameters().items()}
        flux = apply(self.functions.along, "F at ends", at=own, q=own, a=a, t=t, m=m)
        factors = np.zeros((n, 2))
        factors[0, 0], factors[-1, 1] = -2 * slopes[0, 0], -2 * slopes[-1, -1]
        return product(self.matrix("factors of ends", factors), flux, -3, "ends").reshape(*q.lead)

    # Shock capturing.

    def blended(self, r):
        """(1 - alpha) r."""
        one = self.functions.blend.function
        blend = Pointwise(lambda r, share: tuple(one((component,), share)[0] for component in r), {"r": len(r), "share": 1},
                          "share of the split form")
        return apply(blend, r=r, share=[self.share])

    def subcells(self, q, k, t):
        """- alpha (f_(i, i+1) - f_(i-1, i)) / w_i."""
        w, n = self.basis.cell.w, len(self.basis.cell.w)
        pairs = [(i, i + 1) for i in range(n - 1)]
        if self.geometry.affine:
            normal = self.metrics_along(k)
        else:
            normal = self.metric("subcells")[k]
            normal = normal.reshape(self.tables.dim, -1, n - 1, n ** k)
        factors = [(-1 / w[i], 1 / w[j]) for i, j in pairs]
        return self.fluxes_of_pairs(self.functions.subcell, "subcell fluxes", pairs, factors, q, k,
                                    dict(n=normal, share=[self.share], t=t))

    def own_shares(self, q):
        """The share of finite volumes in each element by its own modes, (element,)."""
        tables, sensor = self.tables, self.tables.sensor
        modes, kinds = self.matrix("modes", sensor.modes(tables.basis.cell)), sensor.kinds(tables.basis.cell)
        values = apply(self.functions.sensed, "sensed", at=q, q=q, m=self.all_parameters())
        for k in range(tables.dim):
            values = self.along(modes, values, k, "modes")
        square = values * values
        energy = [reduce("sum", square[0][[i for i, kind in enumerate(kinds) if kind == which]]) for which in range(3)]
        return apply(self.functions.share, "own share of finite volumes", energy=energy)[0]

    def find_share(self, own, beyond=()):
        """The share of finite volumes in each own element, from the own shares (element,) of itself and of its neighbours;
        beyond: those of elements beyond joins, parts of an array (side, element) as `put` takes them."""
        sides = 2 * self.tables.dim
        around = stack([gather(own.reshape(1), self.neighbours(side)) for side in range(sides)], term="own shares around")
        if beyond:
            every = self.constant("sides", (sides, self.tables.owned), lambda: np.arange(
                sides)[:, None] * self.tables.elements + np.arange(self.tables.owned), self.own, "integer")
            parts = [(every, around.reshape(1, -1), "set"), *beyond]
            around = put(self.trace, (1, sides), self.all, parts, "shares around")
            around = around.first(self.own)[0]
        return apply(self.functions.beside, "share of finite volumes", at=[own.first(self.own)],
                     own=[own.first(self.own)], around=around)[0]

    def neighbours(self, side):
        """The numbers of the elements beyond a side, (own element,); of an element itself at the boundary."""
        cells = self.tables.mesh.neighbour_cell
        return self.constant(f"neighbours {side}", (self.tables.owned,), lambda: np.ascontiguousarray(
            cells[:self.tables.owned, side]), self.own, "integer")
