"""The Euler equations of gas dynamics in 1D, 2D and 3D, with Roe's Riemann solver and the fluxes of split forms."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .gas import Gas, IdealGas
from .law import check_dim, counted, dot
from .means import logarithmic_mean

if TYPE_CHECKING:
    from ..annotations import Components


class Euler(Gas, IdealGas):
    """Compressible flow of an ideal gas without viscosity.

        rho_t + div m = 0,   m_t + div(m v + p I) = 0,   E_t + div((E + p) v) = 0

    with the momentum m = rho v, the total energy E and the pressure p = (gamma - 1) (E - rho |v|^2 / 2).

    dim     1, 2 (default) or 3; q = (rho, rho_u, rho_v, rho_w, E), w = (rho, u, v, w, p), each with the components of dim
    gamma   ratio of specific heats, a number above 1, by default 1.4
    units   None (normalised), "SI" (kg/m^3, kg/m^2/s, J/m^3, m, s) or {name: text}, for labels and attributes; no number is
            converted

    Initial and boundary states are of conserved variables: conservative((rho, u, v, p)) makes them.  ValueError for another
    dim, gamma or units.  hllc and roe take a unit normal.  Toro 2009, chapter 3.
    """

    primitive_variables: tuple[str, ...]
    momentum = slice(1, -1)
    si = {"rho": "kg/m^3", **{f"rho_{c}": "kg/m^2/s" for c in "uvw"}, "E": "J/m^3", **dict.fromkeys("uvw", "m/s"), "p": "Pa",
          "pressure": "Pa", "mach": "1", "sound_speed": "m/s", "entropy": "1", "gamma": "1"}
    derived = {"pressure": "pressure", "mach": "Mach number", "sound_speed": "speed of sound", "entropy": "specific entropy"}
    gradients = {"schlieren": ("rho", "schlieren, |grad rho|")}

    def __init__(self, dim: int = 2, gamma: float = 1.4, units: dict[str, str] | str | None = None):
        self.dim = check_dim(dim)
        self.set_gamma(gamma)
        self.variables = ("rho", *("rho_u", "rho_v", "rho_w")[:self.dim], "E")
        self.primitive_variables = ("rho", *"uvw"[:self.dim], "p")
        self.long_names = {"rho": "density", "E": "total energy density",
                           **{m: f"momentum density, {axis} component" for m, axis in zip(self.variables[1:-1], "xyz")}}
        self.say_units(units)

    def __repr__(self):
        return f"Euler(dim={self.dim}, gamma={self.gamma}{self.units_shown})"

    def pressure(self, q: Components) -> Any:
        """p = (gamma - 1) (E - m . v / 2)."""
        return (self.gamma - 1) * (q[-1] - dot(q[1:-1], self.velocity(q)) / 2)

    def sound_speed_squared(self, q: Components) -> Any:
        """c^2 = gamma p / rho."""
        return self.gamma * self.pressure(q) * (1 / q[0])

    def entropy_variables(self, q: Components) -> tuple:
        """dS/dq of the entropy S = -rho s / (gamma - 1), s = log(p / rho^gamma):
        ((gamma - s) / (gamma - 1) - rho |v|^2 / (2 p), rho v / p, -rho / p)."""
        v, beta = self.velocity(q), q[0] / self.pressure(q)
        return ((self.gamma - self.entropy(q)) / (self.gamma - 1) - beta * dot(v, v) / 2, *(beta * u for u in v), -beta)

    def from_entropy_variables(self, w: Components) -> tuple:
        """q of w = `entropy_variables`(q): v = -m / b of w = (a, m, b), s = gamma - (gamma - 1) (a + m . v / 2),
        p = (-b)^(-gamma / (gamma - 1)) exp(-s / (gamma - 1)), rho = -b p."""
        beta, k = -w[-1], 1 / (self.gamma - 1)
        v = tuple(u * (1 / beta) for u in w[1:-1])
        s = self.gamma - (self.gamma - 1) * (w[0] + dot(w[1:-1], v) / 2)
        p = np.exp(-k * (s + self.gamma * np.log(beta)))
        return self.conservative((beta * p, *v, p))

    def grueneisen(self, l: Components, r: Components, a: Any, b: Any) -> Any:
        """gamma - 1."""
        return self.gamma - 1

    def primitive(self, q: Components) -> tuple:
        """w = (rho, v, p) of the conserved variables q = (rho, m, E)."""
        q = tuple(q)
        return (q[0], *self.velocity(q), self.pressure(q))

    def conservative(self, w: Components) -> tuple:
        """q = (rho, rho v, p / (gamma - 1) + rho |v|^2 / 2) of w = (rho, v, p); ValueError unless w has dim + 2 components."""
        rho, *v, p = counted(tuple(w), self.primitive_variables, self)
        m = tuple(rho * u for u in v)
        return (rho, *m, p / (self.gamma - 1) + dot(m, v) / 2)

    def characteristic(self, q: Components, mean: Components, n: Components) -> tuple:
        """The waves that a difference q of states is made of, by the left eigenvectors of dF/dq . n at the state `mean`, n a
        unit normal: slower sound, entropy, shear along each tangent t, faster sound.

        (dp - rho c dv . n) / (2 c^2),  drho - dp / c^2,  rho dv . t,  (dp + rho c dv . n) / (2 c^2), with
        rho dv = dm - v drho,  dp = (gamma - 1) (dE - v . dm + |v|^2 / 2 drho).  Toro 2009, sections 3.1 and 3.2."""
        v, c2, k = self.velocity(mean), self.sound_speed_squared(mean), 1 / self.sound_speed_squared(mean)
        push = tuple(m - u * q[0] for m, u in zip(counted(q, self.variables, self)[1:-1], v))          # rho dv
        dp = (self.gamma - 1) * (q[-1] - dot(v, q[1:-1]) + dot(v, v) / 2 * q[0]) * k
        along = dot(push, n) * np.sqrt(c2) * k
        return ((dp - along) / 2, q[0] - dp, *(dot(push, t) for t in tangents(n)), (dp + along) / 2)

    def from_characteristic(self, w: Components, mean: Components, n: Components) -> tuple:
        """The difference of states that these waves make, by the right eigenvectors: the inverse of `characteristic`."""
        v, c2 = self.velocity(mean), self.sound_speed_squared(mean)
        slow, entropy, *shear, fast = w
        rho, along = slow + fast + entropy, (fast - slow) * np.sqrt(c2)
        push = tuple(along * a for a in n)
        for s, t in zip(shear, tangents(n)):
            push = tuple(a + s * b for a, b in zip(push, t))
        return (rho, *(a + u * rho for a, u in zip(push, v)),
                (slow + fast) * c2 * (1 / (self.gamma - 1)) + dot(v, push) + dot(v, v) / 2 * rho)

    def roe(self, l: Components, r: Components, n: Components) -> tuple:
        """Roe's linearisation: exact for contacts, shear layers and single shocks.

        F* = (F- + F+) / 2 - sum_k |lambda_k| alpha_k r_k / 2.  Of the two acoustic waves |lambda| is at least
        delta = max(0, lambda - lambda-, lambda+ - lambda), which is zero for shocks (entropy fix).
        It may lose positivity where a gas is torn apart: then take hllc or hll.
        Roe 1981; Harten & Hyman 1983; Toro 2009, section 11.2."""
        return self.roe_with(l, r, n, 1.0)

    def roe_shock_stable(self, l: Components, r: Components, n: Components) -> tuple:
        """`roe` with the jump of pressure in its acoustic waves times `shock_stability.pressure_share`: strong shocks along a
        grid stay straight, contacts and shear layers are exact. Formula and sources there."""
        return self.roe_with(l, r, n, self.pressure_share(l, r, n))

    def roe_with(self, l: Components, r: Components, n: Components, share: Any) -> tuple:
        """`roe` with a share of the jump of pressure in its acoustic waves."""
        rho, v, c = self.roe_average(l, r)
        u, c2, k = dot(v, n), c * c, 1 / (c * c)
        dv = tuple(y - x for x, y in zip(self.velocity(l), self.velocity(r)))
        du, dp, drho = dot(dv, n), self.pressure(r) - self.pressure(l), r[0] - l[0]
        slow, fast = map(entropy_fixed, (u - c, u + c), self.speeds(l, n), self.speeds(r, n))
        pushed = share * dp
        down, up = slow * (pushed - rho * c * du) * k / 2, fast * (pushed + rho * c * du) * k / 2       # the acoustic waves
        entropy, shear = np.abs(u) * (drho - dp * k), np.abs(u) * rho
        mass, push = down + up + entropy, (up - down) * c
        heat = (down + up) * c2 * (1 / (self.gamma - 1))
        jump = (mass, *(mass * x + push * a + shear * (d - du * a) for x, a, d in zip(v, n, dv)),
                mass * dot(v, v) / 2 + heat + push * u + shear * (dot(v, dv) - u * du))
        return tuple((a + b - d) / 2 for a, b, d in zip(self.flux(l, n), self.flux(r, n), jump))

    def ranocha(self, l: Components, r: Components, n: Components) -> tuple:
        """The flux that conserves entropy, kinetic energy where the pressure is constant, and pressure equilibria.

        With averages {.} and logarithmic means <.>: m = <rho> {v}.n,  (m, m {v} + {p} n,
        m (v-.v+ / 2 + 1 / ((gamma - 1) <rho / p>)) + (p- v+ + p+ v-).n / 2).  Linear in n.  Ranocha 2018; Ranocha 2020."""
        vl, vr, pl, pr = self.velocity(l), self.velocity(r), self.pressure(l), self.pressure(r)
        ul, ur = dot(vl, n), dot(vr, n)
        mass = logarithmic_mean(l[0], r[0]) * (ul + ur) / 2
        heat = pl * pr / (logarithmic_mean(l[0] * pr, r[0] * pl) * (self.gamma - 1))
        return (mass, *(mass * (a + b) / 2 + (pl + pr) / 2 * c for a, b, c in zip(vl, vr, n)),
                mass * (dot(vl, vr) / 2 + heat) + (pl * ur + pr * ul) / 2)

    def kennedy_gruber(self, l: Components, r: Components, n: Components) -> tuple:
        """The flux that conserves kinetic energy where the pressure is constant: products of averages {.}.

        m = {rho} {v}.n,  (m, m {v} + {p} n, m {E / rho} + {p} {v}.n).  Linear in n.  Kennedy & Gruber 2008; Pirozzoli 2011."""
        vl, vr, p = self.velocity(l), self.velocity(r), (self.pressure(l) + self.pressure(r)) / 2
        v = tuple((a + b) / 2 for a, b in zip(vl, vr))
        u = dot(v, n)
        mass = (l[0] + r[0]) / 2 * u
        return (mass, *(mass * a + p * b for a, b in zip(v, n)), mass * (l[-1] / l[0] + r[-1] / r[0]) / 2 + p * u)


def entropy_fixed(speed, l, r):
    """The absolute speed of a wave with that of the states on both sides: a rarefaction across zero does not stand still."""
    return np.maximum(np.abs(speed), np.maximum(speed - l, r - speed))


def tangents(n):
    """Unit vectors orthogonal to the unit vector n and to each other, one less than dimensions.

    Duff, Burgess, Christensen, Hery, Kensler, Liani & Villemin 2017."""
    if len(n) < 3:
        return ((-n[1], n[0]),) if len(n) == 2 else ()
    x, y, z = n
    k = 1 / (1 + np.abs(z))
    return ((1 - x * x * k, -x * y * k, np.where(z < 0, x, -x)), (-x * y * k, 1 - y * y * k, np.where(z < 0, y, -y)))
