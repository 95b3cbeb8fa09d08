"""A law with a numerical flux and a source: what a method asks of them, each result checked."""
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from ..physics.capacity import over
from ..physics.laws.law import shown
from ..physics.pointwise import Pointwise, at_points, components, written_at
from ..physics.trace import call, parameters


def real(value, variable):
    """A component of an initial state in float64. Raises ValueError where it is complex."""
    if np.iscomplexobj(value):
        raise ValueError(f"the initial state, component {variable}, is complex; it must be real")
    return np.asarray(value, float)


class Physics:
    """A law, a numerical flux and a source, as functions whose results are checked.

    law, flux, source: of the problem;  internal: the law's `Internal`, or None
    parameters: {name: number} of the law, None for one that varies in space
    state: the inputs of functions of a state, as `dgarray.physics.pointwise.Pointwise` takes them;  sources: {role: function}
    moving: number of the law's variables;  variables: of these and the internal ones, which follow them;  flowing: of the first
    ones, which have a flux: the law's and those that its flux carries along, see `dgarray.physics.auxiliary_variables.Internal`
    carried, moved: as there, moved in full

    In the functions q, l, r are states (l, r: left and right of a face), n is a unit normal that points from left to right, and
    m, ml, mr are the law's parameters."""

    def __init__(self, law, flux, source, parameters):
        self.law, self.flux, self.source, self.parameters = law, flux, source, parameters
        self.internal = internal = law.internal
        given = {"law's source": None if internal and internal.replaces_source else law.source, "source": source}
        self.sources = {role: function for role, function in given.items() if function is not None}
        self.moving = len(law.variables)
        self.variables = self.moving + (0 if internal is None else len(internal.names))
        self.carried = () if internal is None else internal.carried
        self.moved = internal.moved if self.carried and internal.moved else (tuple(range(self.moving)),) * len(self.carried)
        self.flowing = self.moving + sum(map(len, self.moved))
        self.state = {"q": self.variables, "x": law.dim, "t": None, "m": parameters}
        self.numerical = numerical_flux(flux, law)

    @property
    def carried_numbers(self):
        """The numbers of the variables that each of `carried` takes shares of fluxes to."""
        ends = list(accumulate(map(len, self.moved), initial=self.moving))
        return [range(*pair) for pair in pairwise(ends)]

    def of_law(self, q):
        """The law's variables of a state."""
        return q[:self.moving]

    def widened(self, components):
        """Components of the first variables, and 0 for each other one."""
        return (*components, *(0.0,) * (self.variables - len(components)))

    def law_flux(self, n, q, x, t, m):
        """The flux F(q) . n along n, one component for each of the law's variables."""
        flux = call(self.law.flux, dict(q=self.of_law(q), n=n, x=x, t=t, m=m), "flux")
        return self.checked(flux, "the law's flux")

    def flux_along(self, n, q, x, t, m):
        """The flux F(q) . n along n of all variables, (variable,): those of the law, shares of its fluxes, and 0 for others."""
        fluxes = list(self.law_flux(n, q, x, t, m))
        for carry, moved in zip(self.carried, self.moved):
            shares = self.law_flux(carry(n, m), q, x, t, m)
            fluxes += [shares[v] for v in moved]
        return self.widened(fluxes)

    def checked(self, result, role, function=None):
        """The components that a function of the law or the user returned. Raises ValueError unless it is one for each of the
        law's variables."""
        return components(result, len(self.law.variables), role + written_at(function), self.law.variables)

    def at_points(self, function, x, t, role):
        """The components of a user's function(x, t) at many points, see `dgarray.physics.pointwise.at_points`."""
        names = self.law.variables
        return at_points(function, x, t, len(names), role + written_at(function), names)

    def star(self, numerical, l, r, n, x, t, ml, mr):
        """F*, the numerical flux between two states, one component for each of the law's variables, and of a law with
        nonconservative products b* behind it, if the numerical flux returns it."""
        sides = dict(l=self.of_law(l), r=self.of_law(r), n=n, x=x, t=t, ml=ml, mr=mr)
        found = call(numerical, sides, "numerical flux")
        if self.law.products is None or len(tuple(found)) == self.moving:
            return self.checked(found, "the numerical flux")
        return components(found, self.moving + self.product_count, "the numerical flux with b* of nonconservative products")

    def product_flux(self, q, n):
        """b(q) . n of the law's nonconservative products, a tuple; empty of a law without."""
        if self.law.products is None:
            return ()
        return tuple(call(self.law.product_flux, dict(q=self.of_law(q), n=n), "product_flux"))

    @cached_property
    def product_count(self):
        """How many components `product_flux` has."""
        return len(Pointwise(self.product_flux, {"q": self.variables, "n": self.law.dim}, "product_flux").graph.outputs)

    def with_product_flux(self, star, l, r, n):
        """F* and behind it b*, of `star`: where the numerical flux does not return it the mean of both sides."""
        if len(star) > self.moving or self.law.products is None:
            return star
        return (*star, *((a + b) / 2 for a, b in zip(self.product_flux(l, n), self.product_flux(r, n))))

    def plus_products(self, flux, q, b):
        """F + A(q) b, with the law's nonconservative products if it has some."""
        if self.law.products is None:
            return flux
        added = self.checked(call(self.law.products, dict(q=self.of_law(q), b=b), "products"), "the law's products")
        return tuple(f + p for f, p in zip(flux, self.widened(added)))

    def with_sources(self, r, q, x, t, m):
        """r + s(q, x, t), with the sum s of the law's source and the user's; of internal variables r + their rate."""
        own, w = self.of_law(q), q[self.moving:]
        for role, source in self.sources.items():
            added = self.checked(call(source, dict(q=own, x=x, t=t, m=m), role), f"the {role}", source)
            r = tuple(a + b for a, b in zip(r, self.widened(added)))
        if self.internal is None:
            return r
        given = dict(q=own, w=w, x=x, t=t, m=m)
        added = self.checked(self.internal.found("adds", given), "adds, of internal variables")
        rates = components(self.internal.found("rate", given), len(w), "the rate of internal variables",
                           self.internal.names)
        return tuple(a + b for a, b in zip(r, (*added, *rates)))

    def over_capacity(self, r, m):
        """C^-1 r, with the law's capacity C if it has one."""
        if self.law.capacity is None:
            return r
        factors = self.checked(call(self.law.capacity, dict(m=m), "capacity"), "the capacity")
        return (*over(factors, self.of_law(r)), *r[self.moving:])

    def wave_speed(self, q, n, x, t, m):
        given = dict(q=self.of_law(q), n=n, x=x, t=t, m=m)
        return components(call(self.law.wave_speed, given, "wave speed"), 1, "the wave speed")

    @cached_property
    def admits(self):
        """The function of (q, x, t, m), states of the law's variables alone, that says whether the law admits them."""
        return Pointwise(self.admissible, self.state | {"q": self.moving}, "admissibility")

    def admissible(self, q, x, t, m):
        given = dict(q=self.of_law(q), x=x, t=t, m=m)
        return components(call(self.law.admissible, given, "admissibility"), 1, "the law's admissible")


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
