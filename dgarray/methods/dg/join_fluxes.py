"""The recipe of the fluxes at joins, where mortars give them: see `dgarray.methods.dg.mortars` for the formulas."""
import numpy as np

from ...physics.pointwise import Pointwise
from ...program.arrays import Domain, apply, gather, product, reduce
from .set_constants import given


class JoinFluxes:
    """Fluxes through the joins of elements, of several sets or of one.

    lists   the `MortarList`s;  several: {name of a set: whether a face of it may have several mortars}"""

    def __init__(self, lists, several):
        self.lists, self.several = lists, several

    def __call__(self, sets):
        """{name of a set: parts of its array of face fluxes, as `put` takes them}."""
        own = {name: form.at_faces(sets.q[name]) for name, form in sets.forms.items()}
        parts = {name: self.inside(name, form, own[name], sets.t) for name, form in sets.forms.items()}
        for number, mortars in enumerate(self.lists):
            names = [list(sets.forms)[side] for side in mortars.join.sets]
            found = OnTrace(mortars, number, [sets.forms[name] for name in names])
            for name, part in zip(names, found.fluxes([own[name] for name in names], sets.t)):
                parts[name].append(part)
        return parts

    def shares(self, sets):
        """({name of a set: the own shares of finite volumes of its elements}, {name: parts of an array (side, element) of those
        beyond joins})."""
        own = {name: form.own_shares(sets.q[name]) for name, form in sets.forms.items() if form.tables.sensor is not None}
        parts = {name: [] for name in sets.forms}
        for number, mortars in enumerate(self.lists if own else ()):
            names = [list(sets.forms)[side] for side in mortars.join.sets]
            found = OnTrace(mortars, number, [sets.forms[name] for name in names])
            for name, part in zip(names, found.shares([own[name] for name in names])):
                parts[name].append(part)
        return own, parts

    def inside(self, name, form, values, t):
        """The share `own_part` of F(q).n that elements of a set take at their own face nodes, as a list of parts."""
        share = own_part(form.tables, self.several[name])
        if not share:
            return []
        side, functions = form.side_of(form.tables.faces.at_joins), form.functions
        vectors = apply(scaled(form.tables.dim, share), "area vectors", n=side.normals, s=[side.scale])
        flux = apply(functions.along, "own F.n at joins", at=gather(values, side.nodes), **given(
            q=gather(values, side.nodes), a=vectors, t=t, m=side.parameters, x=side.x))
        return [(side.slots, flux, "set")]


def own_part(tables, several):
    """Which share of F.n elements take at their own face nodes besides what mortars give: in the form `linear`, and in the
    strong form where several mortars meet a face."""
    return -0.5 * (tables.mortar_form == "linear") + (not tables.physics.weak and several)


def scaled(count, factor):
    """The pointwise function n times s and a number."""
    return Pointwise(lambda n, s: tuple(factor * each * s[0] for each in n), {"n": count, "s": 1}, "scaled")


class OnTrace:
    """The mortars of one `MortarList` on the trace of both sides' recipes.

    number   of the list;  forms: the recipes of both sides"""

    def __init__(self, mortars, number, forms):
        self.mortars, self.forms, self.name = mortars, forms, f"join {number}"
        self.trace, self.faces = forms[0].trace, Domain(f"join {number}", mortars.areas.shape[-1])

    def constant(self, name, values, kind="real"):
        """Values (.., face) at the mortars."""
        return self.trace.constant(f"{name}, {self.name}", values.shape[:-1] + (self.faces.count,), self.faces,
                                   lambda: np.ascontiguousarray(values), kind)

    def matrix(self, name, values):
        return self.trace.constant(f"{name}, {self.name}", values.shape, None, lambda: values)

    def parameters(self, name, given):
        return {key: self.constant(f"{key}, {name}", values) for key, values in given.items()}

    def fluxes(self, own, t):
        """For both sides a part of the array of face fluxes, from the values at the faces of their sets."""
        m, values = self.mortars, self.values(own)
        l, r = (self.at_mortar(i, values[i]) for i in (0, 1))
        star = apply(m.function, "F* at mortars", at=l, **given(
            l=l, r=r, n=self.constant("normals", m.normals), s=[self.constant("areas", m.areas)], t=t,
            ml=self.parameters("left", m.parameters[0]), mr=self.parameters("right", m.parameters[1]),
            p=self.parameters("profiles", m.profiles), x=None if m.x is None else self.constant("x", m.x)))
        for i, form in enumerate(self.forms):
            flux = star[len(star) - form.tables.physics.moving:] if i else star[:form.tables.physics.moving]
            if m.splits[i]:
                f = self.between(i, values[i], (l, r)[i], flux, t)
            else:
                f = flux if m.same else product(self.matrix(f"back {i}", m.matrices[i][1]), flux, term="back from mortars")
            if m.owns[i]:
                f = f - self.own_flux(i, values[i], t)
            adds = m.several[i] or own_part(form.tables, m.several[i])
            yield self.constant(f"slots {i}", m.flux_slots[i], "integer"), self.widened(i, f), "add" if adds else "set"

    def values(self, own):
        """The law's variables at the face points of both sides, from the values at the faces of their sets."""
        return [gather(q, self.constant(f"places {i}", self.mortars.node_places[i], "integer"))[:form.tables.physics.moving]
                for i, (q, form) in enumerate(zip(own, self.forms))]

    def at_mortar(self, i, values):
        """The state of side i, 0 or 1, interpolated from the nodes of its face to the mortar points."""
        m, split = self.mortars, self.mortars.splits[i]
        if m.same:
            return values
        to = self.matrix(f"to mortars {i}", m.matrices[i][0])
        if split is None or split.from_entropy is None:
            return product(to, values, term="q at mortars")
        w = apply(split.to_entropy, "entropy variables", q=values)
        near = product(self.matrix(f"mean {i}", split.mean), values, term="mean of faces")
        return apply(split.from_entropy, "q of entropy variables", near=near, w=product(to, w, term="w at mortars"),
                     q=product(to, values, term="q at mortars"))

    def widened(self, i, f):
        """All variables' face fluxes, from those of the law's: signed, per volume, and shares of them for variables that are
        carried along."""
        physics, sign, shares = self.forms[i].tables.physics, (-1.0, 1.0)[i], self.mortars.shares[i]
        carried = list(zip(physics.carried_numbers, physics.moved))

        def function(f, s, share=()):
            own = [sign * s[0] * each for each in f]
            for (_, moved), part in zip(carried, share):
                own += [part * own[v] for v in moved]
            return physics.widened(own)
        inputs = {"f": len(f), "s": 1, "share": len(shares)}
        scale = self.constant(f"scale {i}", self.mortars.scales[i])
        return apply(Pointwise(function, inputs, "flux of a side"), f=f, s=[scale], share=[
            self.constant(f"share {i} {k}", share) for k, share in enumerate(shares)])

    def own_flux(self, i, q, t):
        """F(q).a of a side in strong form, at the points of its face."""
        own = self.mortars.owns[i]
        return apply(own.function, "own F.n", at=q, **given(
            q=q, a=self.constant(f"area vectors {i}", own.vectors), t=t, m=self.parameters(f"own {i}", own.parameters),
            x=None if own.x is None else self.constant(f"own x {i}", own.x)))

    def between(self, i, q, states, star, t):
        """f of the split form at the face's nodes: fluxes between the nodes i of the face and the mortar points m,

            f_i = sum_m back_im (F#(q_i, q_m) + parts F*_m - sum_j to_mj F#(q_j, q_m))."""
        split, V = self.mortars.splits[i], len(q)
        nodes, points = q.shape[1], states.shape[1]
        at_node = q.reshape(V, nodes, 1)
        at_mortar = states.reshape(V, 1, points)
        areas, vectors = (self.constant(f"{name} {i}", values) for name, values in (
            ("areas of faces", split.areas), ("area vectors at mortars", split.vectors)))
        there = {key: each.reshape(1, *each.lead) if each.lead else each
                 for key, each in self.parameters(f"there {i}", split.there).items()}
        own = {key: each.reshape(*each.lead, 1) if each.lead else each
               for key, each in self.parameters(f"own {i}", split.own).items()}
        flux = apply(split.function, "F# at mortars", l=at_node, r=at_mortar, a=areas.reshape(len(areas), nodes, 1),
                     b=vectors.reshape(len(vectors), 1, points), t=t, ml=own, mr=there)
        to, back = self.matrix(f"to {i}", split.to.T[:, :, None]), self.matrix(f"back of parts {i}", split.back[:, :, None])

        def weighted(g, w):
            return tuple(w[0] * each for each in g)
        inner = apply(Pointwise(weighted, {"g": V, "w": 1}, "to F#"), g=flux[len(flux) - V:], w=[to])
        inner = reduce("sum", inner, -3).reshape(V, 1, points)

        def total(f, s, g, w):
            return tuple(w[0] * (a + split.parts * b - c) for a, b, c in zip(f, s, g))
        terms = apply(Pointwise(total, {"f": V, "s": V, "g": V, "w": 1}, "split form at mortars"), f=flux[:V],
                      s=star.reshape(V, 1, points), g=inner, w=[back])
        return reduce("sum", terms, -2)

    def shares(self, own):
        """For both sides a part of the array of shares around their elements: those of the elements beyond."""
        m = self.mortars
        for i, form in enumerate(self.forms):
            cells, sides = m.rows[i].T
            beyond = gather(own[1 - i].reshape(1, 1), self.constant(f"elements {1 - i}", m.rows[1 - i][:, 0], "integer"))
            place = self.constant(f"sides {i}", sides * form.tables.elements + cells, "integer")
            yield place, beyond, "max"
