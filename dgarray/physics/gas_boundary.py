"""Boundary conditions of a gas by its waves: far field, inflow and outflow, which give the state at the boundary itself."""
from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from .boundary import OfState
from .boundary_checks import check_pressure
from .declared import Formula
from .laws.euler import Euler
from .laws.law import dot
from .pointwise import components
from .trace import call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .annotations import Components
    from .laws.law import Law


def flux_of_state(law: Law) -> Callable:
    """The numerical flux F(r) . n of the state r that a condition gives at the boundary itself."""
    def flux(r, n, x, t, mr):
        star = call(law.flux, dict(q=r, n=n, x=x, t=t, m=mr))
        return star if law.products is None else (*star, *law.product_flux(r, n))
    return flux


@dataclass(frozen=True, repr=False)
class far_field(OfState):
    """Far field of a gas: what leaves is taken from inside, what enters from g, in subsonic and supersonic flow.

    g: the state there, a tuple of numbers or a function of x and t that returns one.

    In MHD and of two fluids the waves are those of linear equations, see `MHD.entering` and `TwoFluid.entering`.  In Euler:
    With u = n . v, R+ = u + 2 c / (gamma - 1) is carried at the speed u + c, R- = u - 2 c / (gamma - 1) at u - c, entropy and
    tangential velocity at u: each is that of inside where this speed is positive there, else that of g.
    u+ = (R+ + R-) / 2,  c+ = (gamma - 1) (R+ - R-) / 4,  rho+ = rho_k (c+ / c_k)^(2 / (gamma - 1)),  p+ = rho+ c+^2 / gamma,
    k the side of the entropy;  F* = F(q+) . n.  Blazek 2015, section 8.3."""

    g: Sequence[float] | Callable
    flux = staticmethod(flux_of_state)

    def __call__(self, q: Components, n: Components, x: Components, t: Any, law: Any) -> tuple:
        if law.entering is not None:
            return law.entering(q, self.state(x, t, law), n)
        gas(law, "far_field", also=", MHD or TwoFluid")
        inside, outside = split(law, q, n), split(law, self.state(x, t, law), n)
        (_, ui, ci, *_), (_, ug, cg, *_), a = inside, outside, 2 / (law.gamma - 1)
        plus = np.where(ui + ci > 0, ui + a * ci, ug + a * cg)
        minus = np.where(ui - ci > 0, ui - a * ci, ug - a * cg)
        u, c = (plus + minus) / 2, (plus - minus) / (2 * a)
        rho, uk, ck, *v = (np.where(ui > 0, i, e) for i, e in zip(inside, outside))
        return joined(law, n, rho * (c / ck) ** a, v, u - uk, c)


@dataclass(frozen=True, repr=False)
class inflow(OfState):
    """Inflow of a gas of given density and velocity: those of the state g, where it enters at supersonic speed all of g.

    g: a tuple of numbers or a function of x and t that returns one.

    In MHD and of two fluids all waves that enter are those of g, as in `far_field`.  In Euler, at subsonic speed,
    R+ = u + 2 c / (gamma - 1), u = n . v, comes from inside and gives the pressure:
    c+ = (gamma - 1) (R+ - u_g) / 2,  p+ = rho_g c+^2 / gamma;  F* = F(q+) . n."""

    g: Sequence[float] | Callable
    flux = staticmethod(flux_of_state)

    def __call__(self, q: Components, n: Components, x: Components, t: Any, law: Any) -> tuple:
        if law.entering is not None:
            return law.entering(q, self.state(x, t, law), n)
        gas(law, "inflow", also=", MHD or TwoFluid")
        _, ui, ci, *_ = split(law, q, n)
        rho, u, c, *v = split(law, self.state(x, t, law), n)
        return joined(law, n, rho, v, 0.0, np.where(u + c > 0, ci + (law.gamma - 1) / 2 * (ui - u), c))


@dataclass(frozen=True, repr=False)
class pressure_outflow(Formula):
    """Outflow of a gas against the pressure p, a number or p(x, t); where it leaves at supersonic speed, q+ = q-.

    Entropy, tangential velocity and R+ = u + 2 c / (gamma - 1), u = n . v, come from inside:
    rho+ = rho- (p / p-)^(1 / gamma),  c+ = sqrt(gamma p / rho+),  u+ = u- + 2 (c- - c+) / (gamma - 1);  F* = F(q+) . n.
    Carlson 2011, NASA/TM-2011-217181."""

    p: float | Callable
    flux = staticmethod(flux_of_state)

    def __post_init__(self):
        if not callable(self.p) and not (isinstance(self.p, Real) and self.p > 0):
            raise ValueError(f"pressure_outflow({self.p!r}) is not allowed; give a positive number or a function of x and t")

    def check(self, mesh: Any, faces: Any, law: Law) -> None:
        check_pressure(self.p, mesh, faces)

    def __call__(self, q: Components, n: Components, x: Components, t: Any, law: Euler) -> tuple:
        gas(law, "pressure_outflow")
        rho, u, c, *v = split(law, q, n)
        given = (components(call(self.p, dict(x=x, t=t), "pressure"), 1, "the pressure")[0] if callable(self.p) else
                 float(self.p))
        ratio = np.where(u < c, given / law.pressure(q), 1.0)
        outside = c * ratio ** ((law.gamma - 1) / (2 * law.gamma))
        return joined(law, n, rho * ratio ** (1 / law.gamma), v, (c - outside) * (2 / (law.gamma - 1)), outside)


def split(law, q, n):
    """Density, normal velocity, speed of sound and the components of the velocity of a gas."""
    v = law.velocity(q)
    return (q[0], dot(v, n), law.sound_speed(q), *v)


def joined(law, n, rho, v, push, c):
    """The state of a gas with density rho, velocity v + push n and speed of sound c."""
    return law.conservative((rho, *(a + push * k for a, k in zip(v, n)), rho * c * c * (1 / law.gamma)))


def gas(law, condition, also=""):
    if not isinstance(law, Euler):
        raise ValueError(f"boundary condition '{condition}' needs the Euler equations{also}, not {law!r}")
