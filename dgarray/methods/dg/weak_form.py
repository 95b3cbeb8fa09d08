"""The weak form of discontinuous Galerkin as array expressions, of which programs are made: see
`dgarray.program.arrays`.

On a part of a mesh the last elements are copies of other parts' elements. Their state is read; nothing is computed on them.
"""
import numpy as np

from ...physics.pointwise import Pointwise
from ...program.arrays import apply, gather, product, put, reduce, stack
from ..check import norm_over_faces
from .set_constants import SetConstants, given


class WeakForm(SetConstants):
    """dq/dt = (-div F + L (F.n - F*) + s) / C on every element; Hesthaven & Warburton 2008, chapter 6, has every symbol.

    Modal DG uses the same functions: its tables have matrices from the state to values at quadrature points (`at_points`,
    `at_faces`), where nodal DG uses the state itself, and matrices from these values back to the unknowns.

    q is the state (variable, row, element), t the time; `outside`: s (F.n - F*) of the faces at joins, where mortars give it, a
    list of parts as `put` takes them."""

    def begin(self, q, own=None, beyond=()):
        """Prepare the recipe for a state; arguments as of `TensorForm.begin`."""

    def tendency(self, q, t, outside=()):
        """dq/dt = (-div F + L (F.n - F*) + s) / C, (variable, row, own element)."""
        own = q.first(self.own)
        return self.finish(self.volume(own, t) + self.lift(self.face_flux(q, t, outside)), own, t)

    def volume(self, q, t):
        """-div F(q) at the nodes: - sum_k D_k (F(q) . grad r_k).

        For modal DG: the weak form of this term, plus the projected sources."""
        F = self.fluxes(self.at_points(q), t)
        return product(self.minus_D, F.reshape(len(q), -1), term="-div F")

    def fluxes(self, q, t):
        """F(q) . grad r_k, (variable, k, point, element)."""
        volume, variables = self.functions.volume, self.tables.variables
        kinds = len(volume.graph.outputs) // variables
        order = [k * variables + v for v in range(variables) for k in range(kinds)]
        F = apply(volume, "F(q).grad r", order, q, **given(
            q=q, g=self.gradients, t=t, m=self.parameters(), x=self.x))
        return F.reshape(variables, kinds, *F.lead[1:])

    @property
    def minus_D(self):
        return self.matrix("-D", -np.concatenate(self.basis.differentiation, axis=1))

    def face_flux(self, q, t, outside=()):
        """s (F(q-) . n - F*) at every face node, s = J_face / J, (variable, face * face node, element); for modal DG - s F*.

        Each interior face is visited once, for both sides."""
        values, variables, parts = self.at_faces(q), self.tables.variables, [*outside]
        for group, side in self.groups:
            q = gather(values, side.nodes)
            jump = apply(group.jump, f"F.n - F* at {group.name}", at=q, **given(
                q=q, n=side.normals, s=[side.scale], t=t, m=side.parameters, x=side.x,
                face={name: side.constant(f"face.{name}", lambda of_faces=of_faces: of_faces)
                      for name, of_faces in group.values.items()}))
            parts.append((side.slots, jump, "set"))
        for left, right in self.pairs:
            l, r = gather(values, left.nodes), gather(values, right.nodes)
            jumps = apply(self.functions.pair, "F.n - F*", at=l, **given(
                l=l, r=r, n=left.normals, s=[left.scale, right.scale], t=t, ml=left.parameters, mr=right.parameters, x=left.x))
            parts += [(left.slots, jumps[:variables], "set"), (right.slots, jumps[variables:], "set")]
        return put(self.trace, (variables, self.basis.face_nodes.size), self.all, parts, "fluxes of faces").first(self.own)

    def lift(self, flux):
        """L f: face fluxes lifted to the nodes."""
        return product(self.matrix("L", self.basis.lift), flux, term="L (F.n - F*)")

    def finish(self, r, q, t):
        """(r + s(q, x, t)) / C, with sources s and the law's capacity C."""
        if not self.tables.physics.finishes:
            return r
        if self.tables.media.weighted:
            return self.weighted(r, q, t)
        return apply(self.functions.finish, "(r + s) / C", at=r, **given(r=r, q=q, t=t, m=self.parameters(), x=self.x))

    def weighted(self, r, q, t):
        """(r + s) / C of media that vary in the elements: evaluated at points of quadrature, then projected, see `Media`."""
        media, found = self.tables.media, [r[v:v + 1] for v in range(len(r))]
        weighted, others = (media.finish_of(which) if which else None for which in (media.weighted, media.others))
        to_points, back = self.matrix("to points", media.to_points), self.matrix("projection", media.back)
        here, x = product(to_points, r, term="r at points"), self.positions("x of quadrature", media.points)
        values = apply(weighted, "(r + s) / C at points", at=here, **given(
            r=here, q=product(to_points, q, term="q at points") if weighted.depends_on("q") else None, t=t,
            m=self.parameters("mass"), x=x and x.first(self.own)))
        for i, v in enumerate(media.weighted):
            found[v] = product(back, values[i:i + 1], term="projection")
        if others is not None:          # which do not read what varies inside
            one = self.constant("1", (1,), lambda: np.ones(1))
            rest = apply(others, "(r + s) / C", at=r, **given(
                r=r, q=q, t=t, m=self.parameters() | dict.fromkeys(media.names, one), x=self.x))
            for i, v in enumerate(media.others):
                found[v] = rest[i:i + 1]
        return stack([each.reshape(*each.lead[1:]) for each in found], term="variables")

    def at_points(self, q):
        """The state q at the points of the volume, (variable, point, element)."""
        if self.basis.interpolate is None:
            return q
        return product(self.matrix("V", self.basis.interpolate), q, term="q at points")

    def at_faces(self, q):
        """The values from which face fluxes are computed: at the points of all faces, (variable, face * face point, element),
        or the state itself if its nodes include the face nodes."""
        if self.basis.trace is None:
            return q
        return product(self.matrix("trace", self.basis.trace), q, term="q at faces")

    def filtered(self, q):
        """The state damped by the filter."""
        return product(self.matrix("filter", self.tables.filter), q, term="filtered state")

    # What limits the time step, and what the law admits.

    def rate(self, q, t, exponent):
        """`norm_over_faces` of s J_face / J of each element, 1 / time, (element,).

        s is the wave speed normal to the face, its maximum over the element's points.  In the strong form these are all nodes;
        by quadrature, the points of all faces and, above order 1, of the volume, or only those of the face if the speed does
        not depend on the state."""
        own, count = q.first(self.own), self.basis.face_nodes.shape[1]
        x = self.face_x and self.face_x.first(self.own)
        places = [(self.at_faces(q).first(self.own), x, "faces")]
        if self.tables.speeds_inside:
            places.append((self.at_points(own), self.x, "volume"))
        faces = []
        for face in range(len(self.basis.face_nodes)):
            rows = slice(None) if self.tables.physics.speeds_everywhere else slice(face * count, (face + 1) * count)
            found = [self.speed(values[:, rows], face, t, x and x[:, rows], {
                name: m[rows] if len(m.shape) > 1 else m for name, m in self.parameters(place).items()})
                for values, x, place in places]
            faces.append(apply(function_of(np.maximum, len(found)), "s", a=found)[0] if found[1:] else found[0])
        scales = [self.rate_metrics[1][face] for face in range(len(self.basis.face_nodes))]
        norm = Pointwise(lambda s, f: (norm_over_faces([a * b for a, b in zip(s, f)], exponent),),
                         {"s": len(faces), "f": len(faces)}, "rate")
        return apply(norm, "s J_face / J", s=faces, f=scales)[0]

    def speed(self, q, face, t, x, m):
        """The largest wave speed normal to a face at these points of every own element, (element,)."""
        normals = self.rate_metrics[0][face]
        speed = apply(self.functions.wave_speed, "wave speed", **given(q=q, n=normals, t=t, m=m, x=x))[0]
        return reduce("max", speed) if len(speed.shape) == 2 else speed

    @property
    def rate_metrics(self):
        """Normals (face, dim, element) and J_face / J (face, element) of wave rates."""
        names = ("rate_normals", "rate_scale") if self.geometry.curved else ("normals", "scale")
        return [self.metric(name) for name in names]

    def admissible(self, q, t):
        """1 where the law admits the state, else 0, (point, own element): at the points of volume and faces."""
        own = q.first(self.own)
        found = [self._admissible(self.at_points(own), t, self.x, self.parameters())]
        if self.basis.trace is not None:
            x = self.face_x and self.face_x.first(self.own)
            found.append(self._admissible(self.at_faces(q).first(self.own), t, x, self.parameters("faces")))
        return found

    def _admissible(self, q, t, x, m):
        return apply(self.functions.admissible, "admissible", at=q, **given(q=q, t=t, x=x, m=m))[0]


def function_of(ufunc, count):
    """The pointwise function that combines so many components a by a NumPy function of two."""
    def combined(a):
        result = a[0]
        for other in a[1:]:
            result = ufunc(result, other)
        return (result,)
    return Pointwise(combined, {"a": count}, ufunc.__name__)
