"""Two fluids that do not mix, such as air and water, in 1D, 2D and 3D: stiffened gases, and which of them is where."""
from __future__ import annotations

from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..trace import Value
from .gas import Gas
from .law import check_dim, counted, dot

if TYPE_CHECKING:
    from ..annotations import Components

ROUNDING = 1e-6          # of volume fractions, in float32 too


class TwoFluid(Gas):
    """Flow of two fluids without viscosity, each a stiffened gas; where they meet density jumps, pressure and velocity do not.

        rho_t + div m = 0,   m_t + div(m v + p I) = 0,   E_t + div((E + p) v) = 0
        Gamma_t + v . grad Gamma = 0,   Pi_t + v . grad Pi = 0

    with the momentum m = rho v, the total energy E and the pressure  p = (E - rho |v|^2 / 2 - Pi) / Gamma,  where in a fluid
    with the numbers (gamma, p_inf)  Gamma = 1 / (gamma - 1)  and  Pi = gamma p_inf / (gamma - 1).  A fluid with p_inf = 0 is an
    ideal gas.  Gamma and Pi are carried with the flow, so that a scheme that smears them leaves pressure and velocity alone.

    dim      1, 2 (default) or 3; q = (rho, rho_u, rho_v, rho_w, E, Gamma, Pi), w = (rho, u, v, w, p, Gamma, Pi), each with the
             components of dim
    fluids   {name: (gamma, p_inf)} of two fluids, gamma above 1, p_inf a pressure, not negative; for example
             {"air": (1.4, 0.0), "water": (4.4, 6e8)}
    units    None (normalised), "SI" (kg/m^3, kg/m^2/s, J/m^3, m, s) or {name: text}, for labels and attributes; no number is
             converted

    Initial and boundary states are of conserved variables: state((rho, u, v, p), fluid) makes them.  ValueError for another
    dim, fluids or units.  For `FiniteVolume` (first-order, muscl) and the split form of `TensorDG`; mass of both together,
    momentum and energy are conserved, the mass of each fluid is not.  hllc takes a unit normal; it is the default.
    Abgrall 1996, J. Comput. Phys. 125; Shyue 1998, J. Comput. Phys. 142; Helluy, Strub, Massaro & Roberts 2015.
    """

    together = True          # p and v stay at interfaces where all variables are treated alike
    long_names = {"rho": "density", "E": "total energy density", "Gamma": "1 / (gamma - 1)",
                  "Pi": "gamma p_inf / (gamma - 1)"}
    si = {"rho": "kg/m^3", **{f"rho_{c}": "kg/m^2/s" for c in "uvw"}, "E": "J/m^3", "Gamma": "1", "Pi": "Pa",
          **dict.fromkeys("uvw", "m/s"), "p": "Pa", "pressure": "Pa", "mach": "1", "sound_speed": "m/s", "share": "1"}
    derived = {"pressure": "pressure", "mach": "Mach number", "sound_speed": "speed of sound",
               "share": "volume fraction of the first fluid"}
    gradients = {"schlieren": ("rho", "schlieren, |grad rho|")}

    def __init__(self, dim: int = 2, fluids: dict[str, tuple[float, float]] | None = None,
                 units: dict[str, str] | str | None = None):
        self.dim = check_dim(dim)
        self.fluids = checked_fluids(fluids)
        self.coefficients = {name: (1 / (gamma - 1), gamma * p_inf / (gamma - 1))
                             for name, (gamma, p_inf) in self.fluids.items()}
        velocities = "uvw"[:self.dim]
        self.momentum = slice(1, self.dim + 1)
        self.variables = ("rho", *(f"rho_{c}" for c in velocities), "E", "Gamma", "Pi")
        self.primitive_variables = ("rho", *velocities, "p", "Gamma", "Pi")
        self.long_names = self.long_names | {f"rho_{c}": f"momentum density, {axis} component"
                                             for c, axis in zip(velocities, "xyz")}
        self.say_units(units)

    def __repr__(self):
        return f"TwoFluid(dim={self.dim}, fluids={self.fluids}{self.units_shown})"

    def heat(self, q: Components) -> Any:
        """The density of the internal energy, E - m . v / 2 = Gamma p + Pi."""
        return q[self.dim + 1] - dot(q[self.momentum], self.velocity(q)) / 2

    def pressure(self, q: Components) -> Any:
        """p = (E - m . v / 2 - Pi) / Gamma."""
        return (self.heat(q) - q[-1]) * (1 / q[-2])

    def stiffness(self, q: Components) -> Any:
        """p_inf = Pi / (1 + Gamma)."""
        return q[-1] / (1 + q[-2])

    def internal_energy(self, q: Components) -> Any:
        """E - m . v / 2 - p_inf = Gamma (p + p_inf)."""
        return self.heat(q) - self.stiffness(q)

    def sound_speed_squared(self, q: Components) -> Any:
        """c^2 = gamma (p + p_inf) / rho = ((1 + Gamma) p + Pi) / (Gamma rho)."""
        return ((1 + q[-2]) * self.pressure(q) + q[-1]) * (1 / (q[-2] * q[0]))

    def share(self, q: Components) -> Any:
        """The volume fraction a of the first fluid: Gamma, or where both have the same one Pi, is a times the first one's and
        1 - a times the second one's."""
        first, second = self.coefficients.values()
        number = int(first[0] == second[0])
        return (q[number - 2] - second[number]) / (first[number] - second[number])

    def grueneisen(self, l: Components, r: Components, a: Any, b: Any) -> Any:
        """The mean of gamma - 1 = 1 / Gamma."""
        return a / l[-2] + b / r[-2]

    def admissible(self, q: Components) -> Any:
        """Whether density, p + p_inf and Gamma are positive."""
        rho, total, gamma = self.positive_quantities(q).values()
        return (rho > 0) & (total > 0) & (gamma > 0)

    def positive_quantities(self, q: Components) -> dict[str, Any]:
        """{"rho": density, "pressure + p_inf": p + p_inf, "Gamma": Gamma}; the second is positive where rho c^2 is."""
        return {"rho": q[0], "pressure + p_inf": self.pressure(q) + self.stiffness(q), "Gamma": q[-2]}

    def primitive(self, q: Components) -> tuple:
        """w = (rho, v, p, Gamma, Pi) of the conserved variables q."""
        q = tuple(q)
        return (q[0], *self.velocity(q), self.pressure(q), *q[-2:])

    def conservative(self, w: Components) -> tuple:
        """q = (rho, rho v, Gamma p + Pi + rho |v|^2 / 2, Gamma, Pi) of w = (rho, v, p, Gamma, Pi); ValueError unless w has
        dim + 4 components."""
        rho, *v, p, gamma, pi = counted(tuple(w), self.primitive_variables, self)
        m = tuple(rho * u for u in v)
        return (rho, *m, gamma * p + pi + dot(m, v) / 2, gamma, pi)

    def state(self, w: Components, fluid: Any) -> tuple:
        """The conserved variables of (rho, v, p) in a fluid: its name, or the volume fraction of the first fluid, a number or
        an array.  ValueError for another name, a fraction that is not from 0 to 1, or unless w has dim + 2 components."""
        (gamma, pi), (other_gamma, other_pi) = self.coefficients.values()
        fluid = checked_share(fluid, tuple(self.fluids))
        w = counted(tuple(w), self.primitive_variables[:-2], self)
        return self.conservative((*w, fluid * gamma + (1 - fluid) * other_gamma, fluid * pi + (1 - fluid) * other_pi))

    def entering(self, q: Components, given: Components, n: Components) -> tuple:
        """The state at a boundary with the outward unit normal n, q inside (-), `given` outside (+), by waves of sound:

        p = (Z+ p- + Z- p+ + Z- Z+ (u- - u+)) / (Z- + Z+),  u = (Z- u- + Z+ u+ + p- - p+) / (Z- + Z+),  Z = rho c, u = v . n;
        fluid, entropy and tangential velocity of the side from which it flows; q where that leaves, `given` where that comes in
        faster than sound.  Toro 2009, section 9.3."""
        (vl, vr), (pl, pr) = map(self.velocity, (q, given)), map(self.pressure, (q, given))
        (ul, cl), (ur, cr) = ((dot(v, n), self.sound_speed(s)) for v, s in ((vl, q), (vr, given)))
        a, b = q[0] * cl, given[0] * cr
        k = 1 / (a + b)
        p, u = (b * pl + a * pr + a * b * (ul - ur)) * k, (a * ul + b * ur + pl - pr) * k
        leaves = u > 0
        s, v, own, before = (tuple(np.where(leaves, x, y) for x, y in zip(*pair)) for pair in (
            (q, given), (vl, vr), ((ul,), (ur,)), ((pl,), (pr,))))
        stiff, gamma = self.stiffness(s), 1 + 1 / s[-2]
        rho = s[0] * (np.maximum(p + stiff, 0.0) / (before[0] + stiff)) ** (1 / gamma)
        between = self.conservative((rho, *(c + (u - own[0]) * e for c, e in zip(v, n)), p, *s[-2:]))
        return tuple(np.where(ul >= cl, x, np.where(ur <= -cr, y, z)) for x, y, z in zip(q, given, between))

    def product_flux(self, q: Components, n: Components) -> tuple:
        """v . n."""
        return (dot(self.velocity(q), n),)

    def products(self, q: Components, b: Components) -> tuple:
        """(0, 0, 0, -Gamma b, -Pi b): what div(Gamma v) has more than v . grad Gamma."""
        return (*(0.0 * a for a in q[self.conserved]), *(-a * b[0] for a in q[-2:]))

    def upwind(self, l: Components, r: Components, n: Components, alpha: float) -> tuple:
        """(1 - alpha) (F- + F+) / 2 + alpha F* of `hllc`."""
        central = (*((a + b) / 2 for f in (self.flux, self.product_flux) for a, b in zip(f(l, n), f(r, n))),)
        return central if alpha == 0 else tuple(a + alpha * (b - a) if alpha < 1 else b
                                                for a, b in zip(central, self.hllc(l, r, n)))

    def kennedy_gruber(self, l: Components, r: Components, n: Components) -> tuple:
        """The flux that conserves kinetic energy where the pressure is constant, and keeps pressure and velocity where both
        are constant: products of averages {.}.

        m = {rho} {v}.n,  (m, m {v} + {p} n, m v-.v+ / 2 + ({Gamma} {p} + {Pi}) {v}.n + (p- v+ + p+ v-).n / 2, {Gamma} {v}.n,
        {Pi} {v}.n).  Linear in n.  Jain & Moin 2022, J. Comput. Phys. 464 (for this energy flux)."""
        vl, vr, pl, pr = self.velocity(l), self.velocity(r), self.pressure(l), self.pressure(r)
        ul, ur = dot(vl, n), dot(vr, n)
        u, p, rho, gamma, pi = (ul + ur) / 2, (pl + pr) / 2, *((l[k] + r[k]) / 2 for k in (0, -2, -1))
        mass = rho * u
        return (mass, *(mass * (a + b) / 2 + p * c for a, b, c in zip(vl, vr, n)),
                mass * dot(vl, vr) / 2 + (gamma * p + pi) * u + (pl * ur + pr * ul) / 2, gamma * u, pi * u)


def checked_share(fluid, names):
    """The volume fraction of the first fluid, of a fluid's name or of fractions; ValueError for another name, or for fractions
    outside 0 to 1 by more than rounding. What is traced passes."""
    if isinstance(fluid, Value):
        return fluid
    if isinstance(fluid, str):
        share, allowed = float(fluid == names[0]), fluid in names
    else:
        try:
            share = fluid if isinstance(fluid, Real) or hasattr(fluid, "__array_ufunc__") else np.asarray(fluid, float)
            inside = abs(share - 0.5) <= 0.5 + ROUNDING
            allowed = bool(inside if isinstance(share, Real) else inside.all())
        except (TypeError, ValueError):
            allowed = False
    if not allowed:
        raise ValueError(f"fluid={fluid!r} is not allowed; it must be {' or '.join(map(repr, names))}, or the volume fraction "
                         "of the first one, from 0 to 1")
    return share


def checked_fluids(fluids):
    """{name: (gamma, p_inf)}, numbers; ValueError unless it is such a dict of two fluids that differ."""
    example = "give two fluids that differ, {name: (gamma, p_inf)}, such as {'air': (1.4, 0.0), 'water': (4.4, 6e8)}"
    if not isinstance(fluids, dict) or len(fluids) != 2 or not all(isinstance(name, str) for name in fluids):
        raise ValueError(f"fluids={fluids!r} is not allowed; {example}")
    for name, numbers in fluids.items():
        if not isinstance(numbers, tuple | list) or len(numbers) != 2 or not all(
                isinstance(a, Real) and isfinite(a) for a in numbers) or numbers[0] <= 1 or numbers[1] < 0:
            raise ValueError(f"fluid {name!r}: {numbers!r} is not allowed; it must be (gamma, p_inf), a number above 1 and one "
                             "that is not negative")
    found = {name: tuple(map(float, numbers)) for name, numbers in fluids.items()}
    if len(set(found.values())) == 1:
        raise ValueError(f"fluids={fluids!r} is not allowed: both are alike, for which Euler does; {example}")
    return found
