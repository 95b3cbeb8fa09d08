"""A law, a numerical flux and a source as the pointwise functions of tensor-product DG."""
from functools import cached_property

import numpy as np

from ...physics.pointwise import Pointwise
from ..physics import numerical_flux
from .limiters.slope_shares import direction
from .mortar_forms import entropy_functions
from .physics import Physics


class TensorPhysics(Physics):
    """As `Physics`, for tensor-product DG in weak form or, with a volume flux, in split form, collocated at the nodes.

    volume_flux   between two nodes of a line; None: the weak form
    sensor        the `ShockSensor`; None: no shock capturing
    affine        whether metrics are those of `AffineGeometry`

    More functions, with the metrics J a^k as g or a, b:

    collect (r, q, s, x, t, m)                 as finish, of r / J with s = 1 / J
    rate (q, g, s, x, t, m)                    the sum over k of s(J a^k) / J;  affine: without s
    two_point (l, r, a, b, x, t, ml, mr)       the volume flux, see `two_point`
    sensed, share, beside, blend, subcell      of shock capturing, see `of_shocks`"""

    def __init__(self, law, flux, source, parameters, volume_flux=None, sensor=None, affine=False):
        super().__init__(law, flux, source, parameters, volume_flux is None, True)
        self.volume_flux, d, given = volume_flux, law.dim, self.functions

        def collect(r, q, s, x, t, m):
            return self.finish(tuple(component * s[0] for component in r), q, x, t, m)

        def rate(q, g, s, x, t, m):
            return (s[0] * sum(self.wave_speed(q, g[k * d:(k + 1) * d], x, t, m)[0] for k in range(d)),)

        given.collect = Pointwise(collect, {**given.finish.inputs, "s": 1}, "source")
        given.rate = Pointwise(rate, {**self.state, "g": d * d, "s": 1}, "wave speed")
        if volume_flux is not None:
            given.two_point = Pointwise(*two_point(self, volume_flux), "volume flux")
        if sensor is not None:
            vars(given).update(of_shocks(self, sensor))
        if affine:
            given.rate = Pointwise(lambda q, g, x, t, m: rate(q, g, (1.0,), x, t, m), {**self.state, "g": d * d}, "wave speed")

    @cached_property
    def entropy_functions(self):
        """The pointwise functions of `entropy_functions` of the law; (None, None) of a law without entropy variables."""
        return entropy_functions(self.law)


def two_point(physics, volume_flux):
    """(function, inputs) of the flux between two nodes of a line with the metrics J a^k of both, a and b: with nonconservative
    products first that for the node l, then that for r.

    Raises ValueError where it depends on x: it has two places."""
    law, numerical = physics.law, numerical_flux(volume_flux, physics.law)
    d, v, m = law.dim, len(law.variables), physics.parameters

    def function(l, r, a, b, x, t, ml, mr):
        n = tuple((c + e) / 2 for c, e in zip(a, b))
        return of_sides(physics, physics.star(numerical, l, r, n, x, t, ml, mr), l, r, n)
    inputs = {"l": v, "r": v, "a": d, "b": d, "x": d, "t": None, "ml": m, "mr": m}
    if Pointwise(function, inputs, "volume flux").depends_on("x"):
        raise ValueError(f"volume_flux={volume_flux.__name__} of {law!r} depends on x; the split form has fluxes between two "
                         "places: give what varies as a parameter of the law, or volume_flux=None")
    return function, inputs


def of_sides(physics, flux, l, r, n):
    """The flux, of `Physics.star`, for both sides; with nonconservative products that for l and that for r."""
    if physics.law.products is None:
        return flux
    return (*physics.with_products(flux, l, r, n), *physics.with_products(flux, r, l, n))


def of_shocks(physics, sensor):
    """{name: `Pointwise`} of shock capturing: the functions of the sensor, and the flux between neighbouring nodes of a line,
    times the share, with the normal n of their subcells.

    x does not come: a flux that depends on it has no split form."""
    d, v, m = physics.law.dim, len(physics.law.variables), physics.parameters

    def subcell(l, r, n, share, x, t, ml, mr):
        unit, size = direction(n), share[0] * np.sqrt(sum(a * a for a in n))
        flux = of_sides(physics, physics.star(physics.numerical, l, r, unit, x, t, ml, mr), l, r, unit)
        return tuple(size * f for f in flux)
    inputs = {"l": v, "r": v, "n": d, "share": 1, "x": d, "t": None, "ml": m, "mr": m}
    return {"sensed": Pointwise(sensor.sensed, {"q": v, "m": m}, "shock sensor"),
            "share": Pointwise(sensor.share, {"energy": 3}, "share of finite volumes"),
            "beside": Pointwise(sensor.beside, {"own": 1, "around": 2 * d}, "share of finite volumes"),
            "blend": Pointwise(lambda r, share: ((1 - share[0]) * r[0],), {"r": 1, "share": 1}, "split form"),
            "subcell": Pointwise(subcell, inputs, "numerical flux")}
