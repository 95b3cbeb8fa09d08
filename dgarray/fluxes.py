"""Numerical fluxes: functions of a law that return a pointwise function of both states and the normal.

Each is consistent, F*(q, q, n) = F(q) . n, and conservative, F*(l, r, n) = -F*(r, l, -n).
"""
import numpy as np

from .pointwise import components
from .trace import call


def upwind(law, alpha=1.0):
    """The law's own Riemann solution with dissipation alpha: 0 central, 1 upwind; Rusanov's flux for a law without one.

    alpha: number from 0 to 1, else ValueError.
    Kloeckner, Warburton & Hesthaven 2013, equation (5)."""
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha={alpha!r} is not allowed; it must lie between 0 (central) and 1 (upwind)")
    if law.upwind is None:
        return rusanov(law, alpha)

    def flux(l, r, n, x, t, ml, mr):
        return call(law.upwind, dict(l=l, r=r, n=n, x=x, t=t, ml=ml, mr=mr, alpha=alpha))
    return flux


def central(law):
    """The average of both sides, weighted by impedance where the law knows one: no dissipation."""
    return upwind(law, alpha=0.0)


def rusanov(law, alpha=1.0):
    """Local Lax-Friedrichs flux  (F(l) + F(r)) . n / 2 - alpha s (C(r) r - C(l) l) / 2,  s the larger wave speed.

    Rusanov 1961."""
    def flux(l, r, n, x, t, ml, mr):
        fl, fr, sl, sr, cl, cr = sides(law, l, r, n, x, t, ml, mr)
        s = np.maximum(sl, sr)
        return tuple((a + b) / 2 - alpha * s * ((d * v - c * u) / 2) for a, b, c, d, u, v in zip(fl, fr, cl, cr, l, r))
    return flux


def sides(law, l, r, n, x, t, ml, mr):
    """Flux, wave speed and capacity of both sides: (fl, fr, sl, sr, cl, cr)."""
    names = law.variables
    both = (dict(q=l, n=n, x=x, t=t, m=ml), dict(q=r, n=n, x=x, t=t, m=mr))
    fluxes = (components(call(law.flux, s), len(names), "the law's flux", names) for s in both)
    speeds = (components(call(law.wave_speed, s), 1, "the wave speed")[0] for s in both)
    ones = (1.0,) * len(names)
    return (*fluxes, *speeds, *(call(law.capacity, dict(m=m)) if law.capacity else ones for m in (ml, mr)))
