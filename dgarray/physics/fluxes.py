"""Numerical fluxes: functions of a law that return a pointwise function of both states and the normal.

Each is consistent, F*(q, q, n) = F(q) . n, and conservative, F*(l, r, n) = -F*(r, l, -n).
"""
from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from .capacity import check_factors
from .pointwise import components
from .trace import call

if TYPE_CHECKING:
    from collections.abc import Callable


def upwind(law: Any, alpha: float = 1.0) -> Callable:
    """The law's own Riemann solution with dissipation alpha: 0 central, 1 upwind; Rusanov's flux for a law without one.

    law     any law
    alpha   number from 0 to 1, else ValueError
    Kloeckner, Warburton & Hesthaven 2013, equation (5)."""
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha={alpha!r} is not allowed; it must lie between 0 (central) and 1 (upwind)")
    if law.upwind is None:
        return rusanov(law, alpha)

    def flux(l, r, n, x, t, ml, mr):
        return call(law.upwind, dict(l=l, r=r, n=n, x=x, t=t, ml=ml, mr=mr, alpha=alpha))
    return flux


def flux_used(flux, law):
    """The numerical flux that `flux` stands for, None for `upwind`: of a law without an upwind flux that is `rusanov`."""
    return rusanov if flux in (None, upwind) and law.upwind is None else flux or upwind


def central(law: Any) -> Callable:
    """The average of both sides, weighted by impedance where the law knows one: no dissipation."""
    return upwind(law, alpha=0.0)


def rusanov(law: Any, alpha: float = 1.0) -> Callable:
    """Local Lax-Friedrichs flux  (F(l) + F(r)) . n / 2 - alpha s C (r - l) / 2.

    law     any law
    alpha   1 by default; below 1 less dissipation
    s is the larger wave speed, C the smaller capacity of both sides.  With one C a state that does not jump where the medium
    does has the flux F . n; with the smaller one, neither side feels the jump at more than the speed s.
    ValueError where C is a matrix.  Rusanov 1961."""
    check_factors(law, "rusanov")

    def flux(l, r, n, x, t, ml, mr):
        fl, fr, C = sides(law, l, r, n, x, t, ml, mr)
        s = larger_speed(law, l, r, n, x, t, ml, mr)
        return tuple((a + b) / 2 - alpha * s * (c * (v - u) / 2) for a, b, c, u, v in zip(fl, fr, C, l, r))
    return flux


def positive(law):
    """Rusanov's flux with a speed s, `positive_speed`, for which it keeps states admissible while dt/h s <= 1.

    For a gas the wave speed is one. Zhang & Shu 2010; for MHD see `MHD.positive_speed`."""
    plain = rusanov(law)

    def flux(l, r, n, x, t, ml, mr):
        s, more = (f(law, l, r, n, x, t, ml, mr) for f in (larger_speed, positive_speed))
        star = plain(l, r, n, x, t, ml, mr)
        return tuple(f - (more - s) * (b - a) / 2 for f, a, b in zip(star, l, r)) if law.positive_speed else star
    return flux


def positive_speed(law, l, r, n, x, t, ml, mr):
    """The speed of `positive` between two states."""
    if law.positive_speed is None:
        return larger_speed(law, l, r, n, x, t, ml, mr)
    speed = call(law.positive_speed, dict(l=l, r=r, n=n, x=x, t=t, m=ml))
    return np.maximum(components(speed, 1, "the law's positive_speed")[0], larger_speed(law, l, r, n, x, t, ml, mr))


def larger_speed(law, l, r, n, x, t, ml, mr):
    """The larger wave speed of two states."""
    return np.maximum(wave_speed(law, l, n, x, t, ml), wave_speed(law, r, n, x, t, mr))


def hll(law: Any) -> Callable:
    """Two waves  (S+ F(l) . n - S- F(r) . n + S- S+ C (r - l)) / (S+ - S-),  S- <= 0 <= S+ the signal speeds, C the smaller
    capacity as in `rusanov`.

    They are the law's own (`signal_speeds`; Euler: Einfeldt's), else the slowest and fastest wave of both sides (Davis 1988).
    A law whose cleaning waves are apart from the others takes them out first (`decoupled`; MHD: Bn and psi). What
    nonconservative products take the divergence of has the same mean, without a jump: b* = (S+ b(l) - S- b(r)) . n / (S+ - S-).
    ValueError where C is a matrix.  Harten, Lax & van Leer 1983."""
    check_factors(law, "hll")

    def flux(l, r, n, x, t, ml, mr):
        if law.decoupled is not None:
            l, r = call(law.decoupled, dict(l=l, r=r, n=n, x=x, t=t, ml=ml, mr=mr))
        fl, fr, C = sides(law, l, r, n, x, t, ml, mr)
        slow, fast = signal_speeds(law, l, r, n, x, t, ml, mr)
        slow, fast = np.minimum(slow, -TINY), np.maximum(fast, TINY)
        a, b, k = fast, -slow, 1 / (fast - slow)
        star = tuple((a * f + b * g - a * b * (c * (v - u))) * k for f, g, c, u, v in zip(fl, fr, C, l, r))
        if law.products is None:
            return star
        return (*star, *((a * f + b * g) * k for f, g in zip(law.product_flux(l, n), law.product_flux(r, n))))
    return flux


TINY = 1e-30         # instead of a speed of zero, so that two of them give the average; float32 has it too


def hllc(law: Any) -> Callable:
    """The law's flux of three waves, which keeps contacts and shear layers: `Euler.hllc`. ValueError for a law without one."""
    return own(law, "hllc")


def roe(law: Any) -> Callable:
    """The law's own flux by Roe's linearisation, with an entropy fix: `Euler.roe`. ValueError for a law without one."""
    return own(law, "roe")


def hlld(law: Any) -> Callable:
    """The law's own flux of five waves, which keeps contacts and Alfven waves: `MHD.hlld`. ValueError for a law without one."""
    return own(law, "hlld")


def hllc_shock_stable(law: Any) -> Callable:
    """`hllc` with which strong shocks along rows of a mesh stay straight. ValueError for a law without one."""
    return own(law, "hllc_shock_stable")


def roe_shock_stable(law: Any) -> Callable:
    """`roe` with which strong shocks along rows of a mesh stay straight. ValueError for a law without one."""
    return own(law, "roe_shock_stable")


def hlld_shock_stable(law: Any) -> Callable:
    """`hlld` with which strong shocks along rows of a mesh stay straight. ValueError for a law without one."""
    return own(law, "hlld_shock_stable")


for _flux in (hllc_shock_stable, roe_shock_stable, hlld_shock_stable):
    vars(_flux)["sweep_courant"] = 0.25          # above 0.27 sound across a stream grows: see `shock_stability.pressure_share`


def ranocha(law: Any) -> Callable:
    """The law's own flux that conserves entropy: see `Euler.ranocha`, which also conserves kinetic energy, and `MHD.ranocha`.
    For `TensorDG(volume_flux=)`; at faces it has no dissipation. ValueError for a law without one."""
    return own(law, "ranocha")


def kennedy_gruber(law: Any) -> Callable:
    """The law's own flux that conserves kinetic energy: see `Euler.kennedy_gruber`. For `TensorDG(volume_flux=)`; at faces
    it has no dissipation. ValueError for a law without one."""
    return own(law, "kennedy_gruber")


OWN = "hllc", "hllc_shock_stable", "roe", "roe_shock_stable", "hlld", "hlld_shock_stable", "ranocha", "kennedy_gruber"


def own(law, name):
    """The numerical flux that a law has by that name."""
    if getattr(law, name) is None:
        others = [other for other in OWN if getattr(law, other) is not None]
        allowed = ", ".join(["upwind", "central", "rusanov", "hll", *others])
        raise ValueError(f"{law!r} has no numerical flux {name!r}; allowed: {allowed}")

    def flux(l, r, n, x, t, ml, mr):
        return call(getattr(law, name), dict(l=l, r=r, n=n, x=x, t=t, ml=ml, mr=mr))
    return flux


def sides(law, l, r, n, x, t, ml, mr):
    """The fluxes of both sides, and the smaller of their capacities for each variable: (fl, fr, C)."""
    names = law.variables
    both = (dict(q=l, n=n, x=x, t=t, m=ml), dict(q=r, n=n, x=x, t=t, m=mr))
    fluxes = (components(call(law.flux, s), len(names), "the law's flux", names) for s in both)
    if law.capacity is None:
        return *fluxes, (1.0,) * len(names)
    return *fluxes, tuple(map(smaller, *(call(law.capacity, dict(m=m)) for m in (ml, mr))))


def smaller(a, b):
    """The smaller of two capacities. Of numbers it stays a number of Python's: NumPy's would make float32 arrays float64."""
    return min(a, b) if isinstance(a, Real) and isinstance(b, Real) else np.minimum(a, b)


def wave_speed(law, q, n, x, t, m):
    """The largest absolute wave speed at a state."""
    return components(call(law.wave_speed, dict(q=q, n=n, x=x, t=t, m=m)), 1, "the wave speed")[0]


def signal_speeds(law, l, r, n, x, t, ml, mr):
    """The slowest and the fastest signal that two states send out: (S-, S+)."""
    if law.signal_speeds is not None:
        between = call(law.signal_speeds, dict(l=l, r=r, n=n, x=x, t=t, ml=ml, mr=mr))
        return components(between, 2, "the law's signal_speeds")
    (a, b), (c, d) = speeds(law, l, n, x, t, ml), speeds(law, r, n, x, t, mr)
    return np.minimum(a, c), np.maximum(b, d)


def speeds(law, q, n, x, t, m):
    """The slowest and the fastest wave at a state; of a law that does not say, minus and plus its wave speed."""
    if law.speeds is not None:
        return components(call(law.speeds, dict(q=q, n=n, x=x, t=t, m=m)), 2, "the law's speeds")
    s = wave_speed(law, q, n, x, t, m)
    return -s, s
