"""A law, a numerical flux and boundary conditions as the pointwise functions that a method asks a backend to evaluate."""
from types import SimpleNamespace

from ...physics.laws.law import shown
from ...physics.pointwise import Pointwise, at_points, components, place
from ...physics.trace import call, parameters


class Physics:
    """The law as the pointwise functions that a DG method asks a backend to evaluate, for the strong or the weak form.

    law, flux, source: of the problem;  parameters: {name: number} of the law, None for one that varies in space
    weak: for the weak form

    In the functions below q, l, r are states (l, r: left and right of a face; in `finish` r is the tendency), n is a unit
    normal that points from left to right, s the J_face / J of each side, and m, ml, mr are the law's parameters.

    volume (q, g, x, t, m)               F(q) . grad r_k for every k: dim * variables components; g_kd = dr_k/dx_d
                                         weak: then the source, if there is one: (dim + 1) * variables components
    pair (l, r, n, s, x, t, ml, mr)      s (F.n - F*) on both sides of a face: 2 * variables components;  weak: - s F*
    left (l, r, n, s, x, t, ml, mr)      the same on the left side only
    finish (r, q, x, t, m)               (r + source) / capacity;  weak: r / capacity
    wave_speed (q, n, x, t, m)           one component
    admissible (q, x, t, m)              one component, true or false; only where the law has it
    """

    def __init__(self, law, flux, source, parameters, weak=False):
        self.law, self.flux, self.source, self.parameters, self.weak = law, flux, source, parameters, weak
        given = {"law's source": law.source, "source": source}
        self.sources = {role: function for role, function in given.items() if function is not None}
        d, v = law.dim, len(law.variables)
        self.state = {"q": v, "x": d, "t": None, "m": parameters}
        self.numerical = numerical_flux(flux, law)
        m = {"ml": parameters, "mr": parameters}
        self.functions = SimpleNamespace(
            volume=Pointwise(self.volume, {**self.state, "g": d * d}, "flux"),
            finish=Pointwise(self.finish, {**self.state, "r": v}, "source"),
            wave_speed=Pointwise(self.wave_speed, {**self.state, "n": d}, "wave speed"),
            pair=Pointwise(self.pair, {"l": v, "r": v, "n": d, "s": 2, "x": d, "t": None, **m}, "numerical flux"),
            **({"admissible": Pointwise(self.admissible, self.state, "admissibility")} if law.admissible else {}),
            left=Pointwise(self.left, {"l": v, "r": v, "n": d, "s": 1, "x": d, "t": None, **m}, "numerical flux"))

    def volume(self, q, g, x, t, m):
        d = self.law.dim
        directions = (g[k * d:(k + 1) * d] for k in range(d))
        fluxes = tuple(f for n in directions for f in self.flux_along(n, q, x, t, m))
        return fluxes + self.with_sources((0.0,) * len(q), q, x, t, m) if self.weak and self.sources else fluxes

    def flux_along(self, n, q, x, t, m):
        """The flux F(q) . n along n, one component per variable."""
        return self.checked(call(self.law.flux, dict(q=q, n=n, x=x, t=t, m=m), "flux"), "the law's flux")

    def checked(self, result, role, function=None):
        """The components that a function of the law or the user returned. Raises ValueError unless it is one per variable."""
        return components(result, len(self.law.variables), role + place(function), self.law.variables)

    def at_points(self, function, x, t, role):
        """The components of a user's function(x, t) at many points, see `dgarray.physics.pointwise.at_points`."""
        names = self.law.variables
        return at_points(function, x, t, len(names), role + place(function), names)

    def star(self, numerical, l, r, n, x, t, ml, mr):
        """F*, the numerical flux between two states."""
        sides = dict(l=l, r=r, n=n, x=x, t=t, ml=ml, mr=mr)
        return self.checked(call(numerical, sides, "numerical flux"), "the numerical flux")

    def inside(self, n, q, x, t, m):
        """The flux from which F* is subtracted at a face: the element's own F(q) . n in the strong form, 0 in the weak form."""
        return (0.0,) * len(q) if self.weak else self.flux_along(n, q, x, t, m)

    def pair(self, l, r, n, s, x, t, ml, mr):
        star = self.star(self.numerical, l, r, n, x, t, ml, mr)
        left, right = (self.inside(n, q, x, t, m) for q, m in ((l, ml), (r, mr)))
        return (*(s[0] * (f - h) for f, h in zip(left, star)), *(s[1] * (h - f) for f, h in zip(right, star)))

    def left(self, l, r, n, s, x, t, ml, mr):
        return self.pair(l, r, n, (s[0], 0.0), x, t, ml, mr)[:len(l)]

    def boundary_jump(self, name, condition):
        """The pointwise function s (F.n - F*), in the weak form - s F*, of the boundary `name`.

        The condition gives the exterior state; the law's parameters outside are those of the element.  For a condition with
        `of_faces` the function has one more input, `face`: the condition's numbers of each face."""
        numerical = numerical_flux(getattr(condition, "flux", self.flux), self.law)
        given = {"face": dict.fromkeys(condition.of_faces.names)} if hasattr(condition, "of_faces") else {}

        def jump(q, n, s, x, t, m, face=None):
            asked = dict(q=q, n=n, x=x, t=t, m=m, law=self.law, **dict.fromkeys(given, face))
            outside = call(condition, asked, f"boundary {name!r}")
            star = self.star(numerical, q, self.checked(outside, f"boundary {name!r}", condition), n, x, t, m, m)
            return tuple(s[0] * (f - h) for f, h in zip(self.inside(n, q, x, t, m), star))
        return Pointwise(jump, {**self.state, "n": self.law.dim, "s": 1, **given}, f"boundary {name!r}")

    def finish(self, r, q, x, t, m):
        if not self.weak:
            r = self.with_sources(r, q, x, t, m)
        if self.law.capacity is None:
            return r
        return tuple(a / c for a, c in zip(r, self.checked(call(self.law.capacity, dict(m=m), "capacity"), "the capacity")))

    def with_sources(self, r, q, x, t, m):
        """r + s(q, x, t), with the sum s of the law's source and the user's."""
        for role, source in self.sources.items():
            added = self.checked(call(source, dict(q=q, x=x, t=t, m=m), role), f"the {role}", source)
            r = tuple(a + b for a, b in zip(r, added))
        return r

    def wave_speed(self, q, n, x, t, m):
        return components(call(self.law.wave_speed, dict(q=q, n=n, x=x, t=t, m=m), "wave speed"), 1, "the wave speed")

    def admissible(self, q, x, t, m):
        return components(call(self.law.admissible, dict(q=q, x=x, t=t, m=m), "admissibility"), 1, "the law's admissible")


def numerical_flux(flux, law):
    """The numerical flux F*(l, r, n) of a law: flux(law).

    Raises ValueError unless `flux` is a function of a law that returns a function."""
    needed = [name for name, p in parameters(flux).items() if p.default is p.empty and p.kind in (0, 1, 3)]
    if len(needed) != 1:
        raise ValueError(f"flux={shown(flux)} asks for {', '.join(needed) or 'nothing'}; it must be a function of the law that "
                         "returns F*(l, r, n), such as dgarray.upwind")
    made = flux(law)
    if not callable(made):
        raise ValueError(f"flux={shown(flux)} returns {shown(made)}; it must return a function F*(l, r, n), as "
                         "dgarray.upwind does")
    return made
