"""Boundary conditions of a gas by its waves: far field, inflow and outflow, which give the state at the boundary itself."""
from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from .boundary import maker, marked, state_function, state_of
from .boundary_checks import check_pressure, check_state
from .laws.euler import Euler
from .laws.law import dot, shown
from .pointwise import components
from .trace import call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@maker
def far_field(g: Sequence[float] | Callable) -> Callable:
    """Far field of a gas: what leaves is taken from inside, what enters from g, in subsonic and supersonic flow.

    g: the state there, a tuple of numbers or a function of x and t that returns one.

    In MHD and of two fluids the waves are those of linear equations, see `MHD.entering` and `TwoFluid.entering`.  In Euler:
    With u = n . v, R+ = u + 2 c / (gamma - 1) is carried at the speed u + c, R- = u - 2 c / (gamma - 1) at u - c, entropy and
    tangential velocity at u: each is that of inside where this speed is positive there, else that of g.
    u+ = (R+ + R-) / 2,  c+ = (gamma - 1) (R+ - R-) / 4,  rho+ = rho_k (c+ / c_k)^(2 / (gamma - 1)),  p+ = rho+ c+^2 / gamma,
    k the side of the entropy;  F* = F(q+) . n.  Blazek 2015, section 8.3."""
    g = state_function(g, "far_field")

    def far_field_state(q, n, x, t, law):
        if law.entering is not None:
            return law.entering(q, state_of(g, x, t, law, "far_field"), n)
        gas(law, "far_field", also=", MHD or TwoFluid")
        inside, outside = split(law, q, n), split(law, state_of(g, x, t, law, "far_field"), n)
        (_, ui, ci, *_), (_, ug, cg, *_), a = inside, outside, 2 / (law.gamma - 1)
        plus = np.where(ui + ci > 0, ui + a * ci, ug + a * cg)
        minus = np.where(ui - ci > 0, ui - a * ci, ug - a * cg)
        u, c = (plus + minus) / 2, (plus - minus) / (2 * a)
        rho, uk, ck, *v = (np.where(ui > 0, i, e) for i, e in zip(inside, outside))
        return joined(law, n, rho * (c / ck) ** a, v, u - uk, c)
    return at_boundary(far_field_state, f"far_field({shown(g)})", check_state(g, "far_field"))


@maker
def inflow(g: Sequence[float] | Callable) -> Callable:
    """Inflow of a gas of given density and velocity: those of the state g, where it enters at supersonic speed all of g.

    g: a tuple of numbers or a function of x and t that returns one.

    In MHD and of two fluids all waves that enter are those of g, as in `far_field`.  In Euler, at subsonic speed,
    R+ = u + 2 c / (gamma - 1), u = n . v, comes from inside and gives the pressure:
    c+ = (gamma - 1) (R+ - u_g) / 2,  p+ = rho_g c+^2 / gamma;  F* = F(q+) . n."""
    g = state_function(g, "inflow")

    def inflow_state(q, n, x, t, law):
        if law.entering is not None:
            return law.entering(q, state_of(g, x, t, law, "inflow"), n)
        gas(law, "inflow", also=", MHD or TwoFluid")
        _, ui, ci, *_ = split(law, q, n)
        rho, u, c, *v = split(law, state_of(g, x, t, law, "inflow"), n)
        return joined(law, n, rho, v, 0.0, np.where(u + c > 0, ci + (law.gamma - 1) / 2 * (ui - u), c))
    return at_boundary(inflow_state, f"inflow({shown(g)})", check_state(g, "inflow"))


@maker
def pressure_outflow(p: float | Callable) -> Callable:
    """Outflow of a gas against the pressure p, a number or p(x, t); where it leaves at supersonic speed, q+ = q-.

    Entropy, tangential velocity and R+ = u + 2 c / (gamma - 1), u = n . v, come from inside:
    rho+ = rho- (p / p-)^(1 / gamma),  c+ = sqrt(gamma p / rho+),  u+ = u- + 2 (c- - c+) / (gamma - 1);  F* = F(q+) . n.
    Carlson 2011, NASA/TM-2011-217181."""
    if not callable(p) and not (isinstance(p, Real) and p > 0):
        raise ValueError(f"pressure_outflow({p!r}) is not allowed; give a positive number or a function of x and t")

    def outflow_state(q, n, x, t, law):
        gas(law, "pressure_outflow")
        rho, u, c, *v = split(law, q, n)
        given = components(call(p, dict(x=x, t=t), "pressure"), 1, "the pressure")[0] if callable(p) else float(p)
        ratio = np.where(u < c, given / law.pressure(q), 1.0)
        outside = c * ratio ** ((law.gamma - 1) / (2 * law.gamma))
        return joined(law, n, rho * ratio ** (1 / law.gamma), v, (c - outside) * (2 / (law.gamma - 1)), outside)
    return at_boundary(outflow_state, f"pressure_outflow({shown(p)})", check_pressure(p))


def split(law, q, n):
    """Density, normal velocity, speed of sound and the components of the velocity of a gas."""
    v = law.velocity(q)
    return (q[0], dot(v, n), law.sound_speed(q), *v)


def joined(law, n, rho, v, push, c):
    """The state of a gas with density rho, velocity v + push n and speed of sound c."""
    return law.conservative((rho, *(a + push * k for a, k in zip(v, n)), rho * c * c * (1 / law.gamma)))


def at_boundary(condition, name, check):
    """A condition that gives the state at the boundary itself: the numerical flux there is F(q+) . n."""
    def outer(law):
        def flux(r, n, x, t, mr):
            star = call(law.flux, dict(q=r, n=n, x=x, t=t, m=mr))
            return star if law.products is None else (*star, *law.product_flux(r, n))
        return flux
    return marked(condition, name, flux=outer, check=check)


def gas(law, condition, also=""):
    if not isinstance(law, Euler):
        raise ValueError(f"boundary condition '{condition}' needs the Euler equations{also}, not {law!r}")
