"""A law, a numerical flux and boundary conditions as the pointwise functions that a method asks a backend to evaluate."""
from functools import cached_property
from types import SimpleNamespace

from ...physics.declared import declared
from ...physics.laws.law import dot
from ...physics.pointwise import Pointwise
from ...physics.trace import call
from .. import physics
from ..physics import numerical_flux


class Physics(physics.Physics):
    """The law as the pointwise functions that a DG method asks a backend to evaluate, for the strong or the weak form.

    weak: for the weak form;  collocated: whether sources are taken at the unknowns' own points, in `finish`; by default in the
    strong form.  The other arguments and attributes are those of `dgarray.methods.physics.Physics`

    In the functions below q, l, r are states (l, r: left and right of a face; in `finish` r is the tendency), n is a unit
    normal that points from left to right, s the J_face / J of each side, and m, ml, mr are the law's parameters.

    Where the law has nonconservative products, F(q) . n stands for F(q) . n + A(q) b(q) . n, and F* for F* + A(l) b* on the
    side of l, F* + A(r) b* on that of r.

    Of variables that the flux carries along with a(n), see `dgarray.physics.auxiliary_variables`, F(q) . n
    stands for F(q) . a, and F* for that of `of_side`.

    volume (q, g, x, t, m)               F(q) . grad r_k for every k: dim * variables components; g_kd = dr_k/dx_d
                                         not collocated: then the source, if there is one: (dim + 1) * variables components
    pair (l, r, n, s, x, t, ml, mr)      s (F.n - F*) on both sides of a face: 2 * variables components;  weak: - s F*
    left (l, r, n, s, x, t, ml, mr)      the same on the left side only
    along (q, a, x, t, m)                F(q) . a
    finish (r, q, x, t, m)               (r + source) / capacity;  not collocated: r / capacity
    wave_speed (q, n, x, t, m)           one component
    admissible (q, x, t, m)              one component, true or false; only where the law has it
    """

    volume_flux = None          # of the split form

    def __init__(self, law, flux, source, parameters, weak=False, collocated=None):
        super().__init__(law, flux, source, parameters)
        self.weak, d, v = weak, law.dim, self.variables
        self.collocated = not weak if collocated is None else collocated
        m = {"ml": parameters, "mr": parameters}
        self.functions = SimpleNamespace(
            volume=Pointwise(self.volume, {**self.state, "g": d * d}, "flux"),
            finish=Pointwise(self.finish, {**self.state, "r": v}, "source"),
            wave_speed=Pointwise(self.wave_speed, {**self.state, "n": d}, "wave speed"),
            pair=Pointwise(self.pair, {"l": v, "r": v, "n": d, "s": 2, "x": d, "t": None, **m}, "numerical flux"),
            **({"admissible": Pointwise(self.admissible, self.state, "admissibility")} if law.admissible else {}),
            along=Pointwise(self.along, {**self.state, "a": d}, "flux"),
            left=Pointwise(self.left, {"l": v, "r": v, "n": d, "s": 1, "x": d, "t": None, **m}, "numerical flux"))

    def volume(self, q, g, x, t, m):
        d = self.law.dim
        directions = (g[k * d:(k + 1) * d] for k in range(d))
        fluxes = tuple(f for n in directions for f in self.flux_along(n, q, x, t, m))
        return fluxes + self.with_sources((0.0,) * len(q), q, x, t, m) if self.sources_inside else fluxes

    @property
    def sources_inside(self):
        """Whether `volume` returns the sources."""
        return bool(self.sources or self.internal) and not self.collocated

    @cached_property
    def varying(self):
        """Names of the law's parameters that vary in space."""
        return [name for name, value in self.parameters.items() if value is None]

    @cached_property
    def finishes(self):
        """Whether `finish` changes the tendency, by sources or a capacity."""
        graph = self.functions.finish.graph
        return [graph.nodes[i][:2] for i in graph.outputs] != [("input", f"r{v}") for v in range(self.variables)]

    @cached_property
    def needs_x(self):
        """Whether any function depends on the position x, besides those of boundary conditions."""
        return any(function.depends_on("x") for function in vars(self.functions).values())

    @cached_property
    def speeds_everywhere(self):
        """Whether the wave speed normal to a face is maximised over all points of an element, not over those of the face alone:
        where the state varies strongly in an element, its fastest wave may be at another face or in the interior."""
        return not self.weak or self.functions.wave_speed.depends_on("q")

    def flux_along(self, n, q, x, t, m):
        return self.plus_products(self.own_flux(n, q, x, t, m), q, self.product_flux(q, n))

    def own_flux(self, n, q, x, t, m):
        """F(q) . n without nonconservative products."""
        return super().flux_along(n, q, x, t, m)

    def along(self, q, a, x, t, m):
        return self.flux_along(a, q, x, t, m)

    def with_products(self, flux, l, r, n):
        """A flux between l and r, of `star`, as the side of l gets it: with the law's nonconservative products."""
        if self.law.products is None:
            return flux
        star = self.with_product_flux(flux, l, r, n)
        return self.plus_products(star[:self.moving], l, star[self.moving:])

    def of_side(self, star, q, other, n, x, t, m):
        """The numerical flux of every variable as the side with the state q and the parameters m gets it, from the law's, star.

        Of variables that are carried along with a(n) it is  F(q) . a - (a . n) (F(q) . n - F*) - (F(d) . a - (a . n) F(d) . n),
        d = (q - other) / 2: the part along a of the jump F(q) . n - F* to the mean of both sides, and of what is left of the
        jump, the dissipation, the share a . n.  Where a is (a . n) n, as at faces along an axis, it is (a . n) F*."""
        result = list(self.with_products(star, q, other, n))
        if self.carried:
            half = tuple((u - v) / 2 for u, v in zip(self.of_law(q), self.of_law(other)))
            own, between = (self.law_flux(n, state, x, t, m) for state in (q, half))
        for carry, moved in zip(self.carried, self.moved):
            a = carry(n, m)
            share, *along = dot(a, n), *(self.law_flux(a, state, x, t, m) for state in (q, half))
            every = [f - share * (fn - s) - (g - share * gn)
                     for f, fn, s, g, gn in zip(along[0], own, star, along[1], between)]
            result += [every[v] for v in moved]
        return self.widened(result)

    def inside(self, n, q, x, t, m):
        """The flux from which F* is subtracted at a face: the element's own F(q) . n in the strong form, 0 in the weak form."""
        return (0.0,) * len(q) if self.weak else self.flux_along(n, q, x, t, m)

    def pair(self, l, r, n, s, x, t, ml, mr):
        star = self.star(self.numerical, l, r, n, x, t, ml, mr)
        left, right = (self.inside(n, q, x, t, m) for q, m in ((l, ml), (r, mr)))
        at_left, at_right = self.of_side(star, l, r, n, x, t, ml), self.of_side(star, r, l, n, x, t, mr)
        return (*(s[0] * (f - h) for f, h in zip(left, at_left)), *(s[1] * (h - f) for f, h in zip(right, at_right)))

    def left(self, l, r, n, s, x, t, ml, mr):
        return self.pair(l, r, n, (s[0], 0.0), x, t, ml, mr)[:len(l)]

    def boundary_jump(self, name, condition):
        """The pointwise function s (F.n - F*), in the weak form - s F*, of the boundary `name`.

        The condition gives the exterior state; the law's parameters outside are those of the element.  For a condition with
        `of_faces` the function has one more input, `face`: the condition's numbers of each face."""
        numerical = numerical_flux(declared(condition).flux or self.flux, self.law)
        of_faces = declared(condition).of_faces
        given = {"face": dict.fromkeys(of_faces.names)} if of_faces else {}

        def jump(q, n, s, x, t, m, face=None):
            asked = dict(q=self.of_law(q), n=n, x=x, t=t, m=m, law=self.law, **dict.fromkeys(given, face))
            outside = call(condition, asked, f"boundary {name!r}")
            outside = self.checked(outside, f"boundary {name!r}", condition)
            star = self.of_side(self.star(numerical, q, outside, n, x, t, m, m), q, outside, n, x, t, m)
            return tuple(s[0] * (f - h) for f, h in zip(self.inside(n, q, x, t, m), star))
        return Pointwise(jump, {**self.state, "n": self.law.dim, "s": 1, **given}, f"boundary {name!r}")

    def finish(self, r, q, x, t, m):
        if self.collocated:
            r = self.with_sources(r, q, x, t, m)
        return self.over_capacity(r, m)
