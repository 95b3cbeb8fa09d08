"""The base of the laws of gases without viscosity: velocity, flux, waves, and the Riemann solver of three waves."""
from __future__ import annotations

from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from .law import Law, counted, dot
from .shock_stability import pressure_share, split_along

if TYPE_CHECKING:
    from ..annotations import Components


class IdealGas(Law):
    """A gas with the pressure p = (gamma - 1) rho e, e the internal energy, and the entropy s = log(p / rho^gamma)."""

    gamma: float
    pressure: Any

    def set_gamma(self, gamma: float) -> None:
        """Set gamma; ValueError unless it is above 1."""
        if not (isinstance(gamma, Real) and gamma > 1 and isfinite(gamma)):
            raise ValueError(f"gamma={gamma!r} is not allowed; it must be a finite number above 1")
        self.gamma = float(gamma)

    def internal_energy(self, q: Components) -> Any:
        """p / (gamma - 1)."""
        return self.pressure(q) / (self.gamma - 1)

    def entropy(self, q: Components) -> Any:
        """The specific entropy s = log(p / rho^gamma); -rho s is convex and, without shocks, conserved."""
        return np.log(self.pressure(q)) - self.gamma * np.log(q[0])

    def admissible(self, q: Components) -> Any:
        """Whether density and pressure are positive."""
        rho, p = self.positive_quantities(q).values()
        return (rho > 0) & (p > 0)

    def positive_quantities(self, q: Components) -> dict[str, Any]:
        """{"rho": density, "pressure": pressure}."""
        return {"rho": q[0], "pressure": self.pressure(q)}


class Gas(Law):
    """A gas of density rho, momentum m = rho v, total energy E and pressure p, and what is carried along with it.

        rho_t + div m = 0,   m_t + div(m v + p I) = 0,   E_t + div((E + p) v) = 0,   a_t + v . grad a = 0

    q = (rho, m, E, a), a any number of components, or none.  v . grad a is div(a v) - a div v: the second part is a
    nonconservative product, in which a numerical flux has the velocity of its contact.  A subclass gives

    pressure, sound_speed_squared   functions of q
    grueneisen   (l, r, a, b) -> dp / d(rho e) at constant density, rho e the internal energy: the mean of both sides with the
                 weights a, b, a + b = 1"""

    pressure: Any
    sound_speed_squared: Any
    grueneisen: Any

    @property
    def conserved(self) -> slice:
        """The slice of q that is conserved: density, momentum, energy."""
        return slice(self.dim + 2)

    def velocity(self, q: Components) -> tuple:
        """v = m / rho."""
        counted(q, self.variables, self)
        volume = 1 / q[0]          # one division for all components, and for the speed of sound
        return tuple(m * volume for m in q[1:self.dim + 1])

    def sound_speed(self, q: Components) -> Any:
        """c, the root of `sound_speed_squared`."""
        return np.sqrt(self.sound_speed_squared(q))

    def mach(self, q: Components) -> Any:
        """|v| / c."""
        return np.sqrt(dot(self.velocity(q), self.velocity(q)) / self.sound_speed_squared(q))

    def flux(self, q: Components, n: Components) -> tuple:
        """F . n = (v . n) q + p (0, n, v . n, 0)."""
        u, p = dot(self.velocity(q), n), self.pressure(q)
        return (*(u * a + p * b for a, b in zip(q[self.conserved], (0.0, *n, u))), *(u * a for a in q[self.dim + 2:]))

    def wave_speed(self, q: Components, n: Components) -> Any:
        """|v . n| + c |n|."""
        return np.abs(dot(self.velocity(q), n)) + np.sqrt(self.sound_speed_squared(q) * dot(n, n))

    def speeds(self, q: Components, n: Components) -> tuple:
        """v . n - c |n| and v . n + c |n|."""
        u, c = dot(self.velocity(q), n), np.sqrt(self.sound_speed_squared(q) * dot(n, n))
        return u - c, u + c

    def signal_speeds(self, l: Components, r: Components, n: Components) -> tuple:
        """S- = min(u- - c-, u~ - c~), S+ = max(u+ + c+, u~ + c~), u = v . n, with Roe's averages ~.

        Einfeldt 1988; with them HLL and HLLC keep density and pressure positive, and HLLC is exact for a single shock.
        Einfeldt, Munz, Roe & Sjoegreen 1991; Batten, Clarke, Lambert & Causon 1997."""
        (slow, _), (_, fast) = self.speeds(l, n), self.speeds(r, n)
        _, v, c = self.roe_average(l, r)
        u = dot(v, n)
        return np.minimum(slow, u - c), np.maximum(fast, u + c)

    def roe_average(self, l: Components, r: Components) -> tuple:
        """Density, velocity and speed of sound of Roe's linearisation.

        rho = sqrt(rho- rho+);  v and H averaged with the weights a, b ~ sqrt(rho-), sqrt(rho+), a + b = 1, which gives
        c^2 = a c-^2 + b c+^2 + G / 2  a b |v+ - v-|^2, G = `grueneisen`, gamma - 1 of an ideal gas, a sum of positive terms.
        Roe 1981; Einfeldt 1988."""
        rho = np.sqrt(l[0] * r[0])
        k = 1 / (l[0] + r[0] + 2 * rho)          # 1 / (sqrt(rho-) + sqrt(rho+))^2
        a, b, ab = (l[0] + rho) * k, (r[0] + rho) * k, rho * k
        vl, vr = self.velocity(l), self.velocity(r)
        dv = tuple(y - x for x, y in zip(vl, vr))
        still = a * self.sound_speed_squared(l) + b * self.sound_speed_squared(r)
        c2 = still + self.grueneisen(l, r, a, b) / 2 * ab * dot(dv, dv)
        return rho, tuple(a * x + b * y for x, y in zip(vl, vr)), np.sqrt(c2)

    def hllc(self, l: Components, r: Components, n: Components) -> tuple:
        """Three waves S-, S*, S+: exact for contacts, shear layers and single shocks.

        S* = (p+ - p- + rho- u- (S- - u-) - rho+ u+ (S+ - u+)) / (rho- (S- - u-) - rho+ (S+ - u+)), and on the side K of S*
        F* = (S* ((S - u) q - p D(u)) + S p* D(S*)) / (S - S*),  D(u) = (0, n, u),  p* = p + rho (S - u) (S* - u), which is
        (a p+ - b p- - a b (u+ - u-)) / (a - b) of both sides, a = rho- (S- - u-), b = rho+ (S+ - u+),
        where the waves leave to both sides, else F(q).  What is carried along has the flux S* a, and S* in its product.
        Toro, Spruce & Speares 1994; Toro 2009, section 10.4."""
        return self.hllc_with(l, r, n, 1.0)

    def hllc_shock_stable(self, l: Components, r: Components, n: Components) -> tuple:
        """`hllc` with p+ - p- in S* times `shock_stability.pressure_share`: strong shocks along a grid stay straight, contacts
        and shear layers are exact. Formula and sources there."""
        return self.hllc_with(l, r, n, self.pressure_share(l, r, n))

    def pressure_share(self, l: Components, r: Components, n: Components) -> Any:
        """The share of the jump of pressure in what moves gas across a face: see `shock_stability.pressure_share`."""
        return pressure_share(*((*split_along(self.velocity(q), n), np.sqrt(self.sound_speed_squared(q))) for q in (l, r)))

    def hllc_with(self, l: Components, r: Components, n: Components, share: Any) -> tuple:
        """`hllc` with a share of the jump of pressure in S*."""
        slow, fast = self.signal_speeds(l, r, n)
        ul, ur = (dot(self.velocity(q), n) for q in (l, r))
        pl, pr = self.pressure(l), self.pressure(r)
        a, b = l[0] * (slow - ul), r[0] * (fast - ur)
        k = 1 / (a - b)
        middle, total = (share * (pr - pl) + (a * ul - b * ur)) * k, (a * pr - b * pl - a * b * (ur - ul)) * k
        left = middle >= 0
        q = tuple(np.where(left, x, y) for x, y in zip(l, r))
        u, p, s = (np.where(left, x, y) for x, y in ((ul, ur), (pl, pr), (slow, fast)))
        push, between, k = s * total, (slow < 0) & (fast > 0), 1 / (s - middle)
        flux = tuple(np.where(between, (middle * ((s - u) * x - p * d) + push * e) * k, u * x + p * d)
                     for x, d, e in zip(q[self.conserved], (0.0, *n, u), (0.0, *n, middle)))
        carried = tuple(middle * a for a in q[self.dim + 2:])
        return (*flux, *carried, *((middle,) if carried else ()))
