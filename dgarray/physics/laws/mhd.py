"""Ideal magnetohydrodynamics with divergence cleaning, one text for 1D, 2D and 3D, and its Riemann solver of five waves."""
from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from .gas import IdealGas
from .law import check_dim, counted, dot
from .means import logarithmic_mean
from .mhd_waves import Waves
from .shock_stability import pressure_share, split_along

if TYPE_CHECKING:
    from ..annotations import Components


class MHD(IdealGas):
    """Flow of an ideal, perfectly conducting gas in a magnetic field; lengths and fields in units where mu_0 = 1.

        rho_t + div(rho v) = 0,   (rho v)_t + div(rho v v - B B + (p + |B|^2 / 2) I) = 0
        E_t + div((E + p + |B|^2 / 2) v - B (v . B)) = 0
        B_t + div(v B - B v + psi I) = 0,   psi_t + ch^2 div B = -(ch / length) psi

    with the total energy E = p / (gamma - 1) + rho |v|^2 / 2 + |B|^2 / 2.  psi is the generalised Lagrange multiplier: errors
    of div B = 0 leave with it at the speed ch and are damped.  Velocity and field have three components in every dimension.

    dim               1, 2 (default) or 3; q = (rho, rho_u, rho_v, rho_w, E, Bx, By, Bz, psi),
                      w = (rho, u, v, w, p, Bx, By, Bz, psi)
    gamma             ratio of specific heats, a number above 1, by default 5/3
    cleaning_speed    ch, not negative; the fastest wave of the solution is a good value, a faster one makes the time step
                      smaller.  It must be given in 2D and 3D; in 1D, where div B stays zero, it is zero
    cleaning_length   above 0, in units of x, by default 0.18: psi decays as exp(-ch t / length); None: no damping
    units             None (normalised), "SI" or {name: text}, for labels and attributes; no number is converted.  In SI B is
                      the field in tesla over sqrt(mu_0), with the unit Pa^(1/2)
    powell            whether the law has Powell's terms and the work of psi, by default not; they are zero where div B and
                      psi are: (0, B, v . B, v, 0) div B + (0, 0, B . grad psi, 0, 0) on the left.  With them entropy is
                      conserved also where div B is not zero; momentum, energy and field are then conserved up to that error
                      only.
                      For `FiniteVolume` and the split form of `TensorDG`

    Initial and boundary states are of conserved variables: conservative((rho, u, v, w, p, Bx, By, Bz)) makes them, psi = 0.
    ValueError for other arguments.  hlld takes a unit normal.
    Dedner, Kemm, Kroener, Munz, Schnitzer & Wesenberg 2002 (0.18 is theirs, for boxes of length one to two); Miyoshi & Kusano
    2005.
    """

    variables = ("rho", "rho_u", "rho_v", "rho_w", "E", "Bx", "By", "Bz", "psi")
    primitive_variables = ("rho", "u", "v", "w", "p", "Bx", "By", "Bz", "psi")
    momentum, field = slice(1, 4), slice(5, 8)
    sweep_courant = 0.5          # above 0.6 noise grows where sweeps along two axes follow one another
    mirrored = (momentum, field)          # at a wall that conducts perfectly n . B = 0
    derived = {"pressure": "pressure", "speed": "speed", "field_strength": "strength of the magnetic field",
               "plasma_beta": "plasma beta", "mach": "Mach number of sound", "alfven_mach": "Alfven Mach number"}
    si = {"rho": "kg/m^3", **{f"rho_{c}": "kg/m^2/s" for c in "uvw"}, "E": "J/m^3",
          **{f"B{axis}": "Pa^(1/2)" for axis in "xyz"},
          "psi": "Pa^(1/2) m/s", **dict.fromkeys("uvw", "m/s"), "p": "Pa", "pressure": "Pa", "speed": "m/s",
          "field_strength": "Pa^(1/2)", "plasma_beta": "1", "mach": "1", "alfven_mach": "1", "gamma": "1",
          "cleaning_speed": "m/s", "cleaning_length": "m"}
    curls = {"current": ("B", "strength of the current density, |curl B|")}
    gradients = {"schlieren": ("rho", "schlieren, |grad rho|")}
    long_names = {"rho": "density", "E": "total energy density", "psi": "Lagrange multiplier of div B",
                  **{f"rho_{c}": f"momentum density, {axis} component" for c, axis in zip("uvw", "xyz")},
                  **{f"B{axis}": f"magnetic field, {axis} component" for axis in "xyz"}}

    def __init__(self, dim: int = 2, gamma: float = 5 / 3, cleaning_speed: float | None = None,
                 cleaning_length: float | None = 0.18, powell: bool = False,
                 units: dict[str, str] | str | None = None):
        self.dim = check_dim(dim)
        self.set_gamma(gamma)
        if cleaning_speed is None:
            if self.dim > 1:
                raise ValueError("cleaning_speed=None is not allowed in 2D and 3D; give a number: the fastest wave speed of "
                                 "the solution, or 0 for no cleaning")
            cleaning_speed = 0.0
        if not (isinstance(cleaning_speed, Real) and 0 <= cleaning_speed < np.inf):
            raise ValueError(f"cleaning_speed={cleaning_speed!r} is not allowed; it must be a finite number, not negative")
        if not (cleaning_length is None or isinstance(cleaning_length, Real) and 0 < cleaning_length < np.inf):
            raise ValueError(f"cleaning_length={cleaning_length!r} is not allowed; it must be a finite number above 0, or None")
        self.cleaning_speed: float = float(cleaning_speed)
        self.cleaning_length: float | None = cleaning_length
        self.powell = bool(powell)
        if self.rate == 0:
            self.source = self.damping = None
        if not powell:
            self.products = self.product_flux = None
        self.say_units(units)

    def __repr__(self):
        return (f"MHD(dim={self.dim}, gamma={self.gamma}, cleaning_speed={self.cleaning_speed}, "
                f"cleaning_length={self.cleaning_length}{', powell=True' * self.powell}{self.units_shown})")

    @property
    def rate(self) -> float:
        """At which psi is damped, ch / length, 1 / time."""
        return 0.0 if self.cleaning_length is None else self.cleaning_speed / self.cleaning_length

    def sizes(self, means: dict, m: Any = None) -> dict:
        """The largest sizes of the variables: |B| <= sqrt(2 E), psi <= ch sqrt(2 E), as waves of the speed ch join it and B."""
        largest = np.sqrt(2 * means[self.variables.index("E")])
        factors = {"B": largest, "p": self.cleaning_speed * largest}
        return {v: np.maximum(size, factors.get(self.variables[v][0], 0.0)) for v, size in means.items()}

    def velocity(self, q: Components) -> tuple:
        """v = m / rho, three components."""
        volume = 1 / counted(q, self.variables, self)[0]
        return tuple(m * volume for m in q[self.momentum])

    def along(self, vector: Components, n: Components) -> Any:
        """The component of a vector of three components along n, which has those of dim."""
        return dot(vector[:len(n)], n)

    def pressure(self, q: Components) -> Any:
        """p = (gamma - 1) (E - m . v / 2 - |B|^2 / 2)."""
        return (self.gamma - 1) * (q[4] - dot(q[self.momentum], self.velocity(q)) / 2 - dot(q[self.field], q[self.field]) / 2)

    def speed(self, q: Components) -> Any:
        """|v|."""
        return np.sqrt(dot(self.velocity(q), self.velocity(q)))

    def field_strength(self, q: Components) -> Any:
        """|B|."""
        return np.sqrt(dot(q[self.field], q[self.field]))

    def plasma_beta(self, q: Components) -> Any:
        """Pressure over magnetic pressure, 2 p / |B|^2."""
        return 2 * self.pressure(q) / dot(q[self.field], q[self.field])

    def mach(self, q: Components) -> Any:
        """|v| / a, a^2 = gamma p / rho."""
        return self.speed(q) / np.sqrt(self.gamma * self.pressure(q) / q[0])

    def alfven_mach(self, q: Components) -> Any:
        """|v| / (|B| / sqrt(rho))."""
        return self.speed(q) * np.sqrt(q[0]) / self.field_strength(q)

    def energy(self, q: Components) -> Any:
        """The total energy density E."""
        return q[4]

    def entropy_variables(self, q: Components) -> tuple:
        """dS/dq of the entropy S = -rho s / (gamma - 1): with beta = rho / p
        ((gamma - s) / (gamma - 1) - beta |v|^2 / 2, beta v, -beta, beta B, 0)."""
        v, beta = self.velocity(q), q[0] / self.pressure(q)
        return ((self.gamma - self.entropy(q)) / (self.gamma - 1) - beta * dot(v, v) / 2, *(beta * u for u in v), -beta,
                *(beta * b for b in q[self.field]), 0.0 * beta)

    def from_entropy_variables(self, w: Components, q: Components) -> tuple:
        """The state with these `entropy_variables` w and the psi of q; see `Euler.from_entropy_variables`."""
        beta, k = -w[4], 1 / (self.gamma - 1)
        v, B = (tuple(u * (1 / beta) for u in w[part]) for part in (self.momentum, self.field))
        s = self.gamma - (self.gamma - 1) * (w[0] + dot(w[self.momentum], v) / 2)
        p = np.exp(-k * (s + self.gamma * np.log(beta)))
        return self.conservative((beta * p, *v, p, *B, q[8]))

    def primitive(self, q: Components) -> tuple:
        """w = (rho, v, p, B, psi) of the conserved variables q."""
        q = tuple(q)
        return (q[0], *self.velocity(q), self.pressure(q), *q[5:])

    def conservative(self, w: Components) -> tuple:
        """q = (rho, rho v, p / (gamma - 1) + rho |v|^2 / 2 + |B|^2 / 2, B, psi) of w = (rho, v, p, B, psi) or (rho, v, p, B);
        ValueError for another number of components."""
        w = tuple(w)
        rho, u, v, s, p, *field, psi = counted(w if len(w) != 8 else (*w, 0.0 * w[0]), self.primitive_variables, self)
        velocity = (u, v, s)
        m = tuple(rho * a for a in velocity)
        return (rho, *m, p / (self.gamma - 1) + dot(m, velocity) / 2 + dot(field, field) / 2, *field, psi)

    def flux(self, q: Components, n: Components) -> tuple:
        """F . n with u = v . n, Bn = B . n and P = p + |B|^2 / 2:

        (rho u,  m u + P n - B Bn,  (E + P) u - Bn v . B,  B u - v Bn + psi n,  ch^2 Bn)."""
        v, B, psi, pad = self.velocity(q), q[self.field], q[8], (0.0,) * (3 - len(n))
        u, Bn, P = self.along(v, n), self.along(B, n), self.pressure(q) + dot(B, B) / 2
        normal = (*n, *pad)
        return (q[0] * u, *(m * u + P * k - b * Bn for m, k, b in zip(q[self.momentum], normal, B)),
                (q[4] + P) * u - Bn * dot(v, B), *(b * u - a * Bn + psi * k for a, b, k in zip(v, B, normal)),
                self.cleaning_speed ** 2 * Bn)

    def source(self, q: Components) -> tuple:
        """-(ch / length) psi, nothing else."""
        return (*(0.0 * a for a in q[:8]), -self.rate * q[8])

    def damping(self, m: Any) -> Any:
        """ch / length."""
        return self.rate

    def magnetosonic(self, q: Components, n: Components, Bn: Any = None) -> tuple:
        """(slow, Alfven, fast) wave speeds along n relative to the gas, for a normal of any length.

        c^2 = (a^2 + b^2 -+ sqrt((a^2 + b^2)^2 - 4 a^2 bn^2)) / 2,  a^2 = gamma p / rho,  b = B / sqrt(rho), bn = b . n;  |bn|.
        Bn: the normal component of the field, if it is not that of q"""
        volume, nn = 1 / q[0], dot(n, n)
        Bn = self.along(q[self.field], n) if Bn is None else Bn
        tangential = dot(q[self.field], q[self.field]) - self.along(q[self.field], n) ** 2 / nn
        a2, bn2 = self.gamma * self.pressure(q) * volume * nn, Bn ** 2 * volume
        both = a2 + np.maximum(tangential, 0.0) * volume * nn + bn2
        root = np.sqrt(np.maximum(both ** 2 - 4 * a2 * bn2, 0.0))
        return np.sqrt(np.maximum(both - root, 0.0) / 2), np.sqrt(bn2), np.sqrt((both + root) / 2)

    def characteristic(self, q: Components, mean: Components, n: Components) -> tuple:
        """The waves that a difference q of states is made of, by left eigenvectors of dF/dq . n at the state `mean`, n a unit
        normal: fast, Alfven and slow to the left, entropy, slow, Alfven and fast to the right, then two of Bn and psi.

        Their speeds are u - cf, u - ca, u - cs, u, u + cs, u + ca, u + cf, -ch, ch.  The first seven are those of differences
        with dBn = dpsi = 0.  A jump of Bn also pushes the gas; that is left out: it makes the last two waves alone, in which
        rho, v, p and the tangential field stay.  Where ch = 0 these are dBn and dpsi, which have no waves of their own.
        `Waves`; Dedner et al. 2002; Mignone & Tzeferacos 2010, J. Comput. Phys. 229."""
        return Waves(self, mean, n).of(q)

    def from_characteristic(self, w: Components, mean: Components, n: Components) -> tuple:
        """The difference of states that these waves make: the inverse of `characteristic`."""
        return Waves(self, mean, n).difference(w)

    def entering(self, q: Components, given: Components, n: Components) -> tuple:
        """The state beyond a boundary with the outward unit normal n: q inside, with the waves that enter those of `given`.

        q+ = q + R I L (given - q), I = 1 for the waves whose speed along n is negative, at the mean of both states."""
        mean = tuple((a + b) / 2 for a, b in zip(q, given))
        waves = Waves(self, mean, n)
        u, (slow, alfven, fast) = self.along(self.velocity(mean), n), self.magnetosonic(mean, n)
        speeds = (u - fast, u - alfven, u - slow, u, u + slow, u + alfven, u + fast, -1.0, 1.0)
        amplitudes = waves.of(tuple(b - a for a, b in zip(q, given)))
        change = waves.difference(tuple(np.where(s < 0, w, 0.0 * w) for s, w in zip(speeds, amplitudes)))
        return tuple(a + b for a, b in zip(q, change))

    def wave_speed(self, q: Components, n: Components) -> Any:
        """The larger of |v . n| + fast speed and ch |n|."""
        fast = np.abs(self.along(self.velocity(q), n)) + self.magnetosonic(q, n)[2]
        return np.maximum(fast, self.cleaning_speed * dot(n, n) ** 0.5)

    def positive_speed(self, l: Components, r: Components, n: Components) -> Any:
        """max(|u-| + c-, |u+| + c+, |u~| + max(c-, c+)) + |B+ - B-| / (a + b), at least ch;  a, b = sqrt(rho-), sqrt(rho+),
        u~ the mean of u = v . n with these weights, c the fast speeds.

        With it Rusanov's flux keeps density and pressure positive where psi is zero and the fluxes of the field through
        the faces of a cell, averages of both sides, add up to zero.  Wu 2018, SIAM J. Numer. Anal. 56."""
        a, b, length = np.sqrt(l[0]), np.sqrt(r[0]), dot(n, n) ** 0.5
        (u, v), (c, d) = ((self.along(self.velocity(q), n) for q in (l, r)), (self.magnetosonic(q, n)[2] for q in (l, r)))
        jump = tuple(y - x for x, y in zip(l[self.field], r[self.field]))
        largest = np.maximum(np.abs(u) + c, np.abs(v) + d)
        largest = np.maximum(largest, np.abs(a * u + b * v) / (a + b) + np.maximum(c, d))
        return np.maximum(largest + np.sqrt(dot(jump, jump)) * length / (a + b), self.cleaning_speed * length)

    def signal_speeds(self, l: Components, r: Components, n: Components) -> tuple:
        """The slowest and the fastest magnetosonic wave of both states; those of psi are apart, see `decoupled`."""
        (ul, fl), (ur, fr) = ((self.along(self.velocity(q), n), self.magnetosonic(q, n)[2]) for q in (l, r))
        return np.minimum(ul - fl, ur - fr), np.maximum(ul + fl, ur + fr)

    def decoupled(self, l: Components, r: Components, n: Components) -> tuple:
        """Both states with the Bn and psi of `cleaned`, at their own density, velocity, pressure and field along the face.

        Dedner et al. 2002; Mignone & Tzeferacos 2010, section 3.3."""
        Bn, psi = self.cleaned(l, r, n)
        return tuple(self.with_normal_field(q, Bn, psi, n) for q in (l, r))

    def with_normal_field(self, q: Components, Bn: Any, psi: Any, n: Components) -> tuple:
        """The state with another normal field and psi; the pressure stays, so E changes by that of the field."""
        B, change = q[self.field], Bn - self.along(q[self.field], n)
        field = tuple(b + change * k for b, k in zip(B, (*n, *(0.0,) * (3 - len(n)))))
        return (*q[:4], q[4] + (dot(field, field) - dot(B, B)) / 2, *field, psi)

    def cleaned(self, l: Components, r: Components, n: Components) -> tuple:
        """Bn and psi between two states: the exact solution of their own linear system, whose waves have the speeds -+ch.

        Bn = (Bn- + Bn+) / 2 - (psi+ - psi-) / (2 ch),  psi = (psi- + psi+) / 2 - ch (Bn+ - Bn-) / 2.
        Dedner et al. 2002, equation (42)."""
        ch, a, b = self.cleaning_speed, self.along(l[self.field], n), self.along(r[self.field], n)
        jump = (r[8] - l[8]) / (2 * ch) if ch else 0.0
        return (a + b) / 2 - jump, (l[8] + r[8]) / 2 - ch * (b - a) / 2

    def ranocha(self, l: Components, r: Components, n: Components) -> tuple:
        """The flux that conserves entropy with `products`, or where B . n and psi are continuous.

        Without a field it is that of `Euler.ranocha`.

        With averages {.}, logarithmic means <.>, m = <rho> {v}.n and b = B- . B+ / 2:
        (m, m {v} + ({p} + b) n - (Bn- B+ + Bn+ B-) / 2,
         m (v-.v+ / 2 + 1 / ((gamma - 1) <rho / p>)) + (p- v+ + p+ v-).n / 2 + (2 {v}.n b - Bn- v-.B+ - Bn+ v+.B-) / 2,
         {B v.n - v Bn} + {psi} n, ch^2 {Bn}).  Linear in n.  Hindenlang & Gassner 2019; Powell's terms are `products`."""
        (vl, pl, Bl), (vr, pr, Br) = ((self.velocity(q), self.pressure(q), q[self.field]) for q in (l, r))
        (ul, ur), (bl, br) = ((self.along(a, n), self.along(b, n)) for a, b in ((vl, vr), (Bl, Br)))
        mass, b, normal = logarithmic_mean(l[0], r[0]) * (ul + ur) / 2, dot(Bl, Br) / 2, (*n, *(0.0,) * (3 - len(n)))
        heat = pl * pr / (logarithmic_mean(l[0] * pr, r[0] * pl) * (self.gamma - 1))
        momentum = (mass * (v + w) / 2 + ((pl + pr) / 2 + b) * k - (bl * d + br * c) / 2
                    for v, w, c, d, k in zip(vl, vr, Bl, Br, normal))
        work = pl * ur + pr * ul + 2 * (ul + ur) * b - (bl * dot(vl, Br) + br * dot(vr, Bl))
        energy = mass * (dot(vl, vr) / 2 + heat) + work / 2
        field = ((ul * c - v * bl + (ur * d - w * br) + (l[8] + r[8]) * k) / 2
                 for v, w, c, d, k in zip(vl, vr, Bl, Br, normal))
        return (mass, *momentum, energy, *field, self.cleaning_speed ** 2 * (bl + br) / 2)

    def product_flux(self, q: Components, n: Components) -> tuple:
        """(Bn, psi n): what Powell's terms and the work of psi take the divergence of."""
        return (self.along(q[self.field], n), *(q[8] * k for k in n))

    def products(self, q: Components, b: Components) -> tuple:
        """Powell's terms and the work of psi on the field: b0 (0, B, v . B, v, 0) + (0, 0, B . b', 0, 0), b = (b0, b').

        With the mean b of l and r and Tadmor's condition for `ranocha` entropy is conserved:
        (w+ - w-) . F + (w+ . A(r) - w- . A(l)) b = Psi+ - Psi-.
        Powell et al. 1999; Dedner et al. 2002 (psi); Bohm et al. 2020, J. Comput. Phys. 422."""
        v, B, Bn = self.velocity(q), q[self.field], b[0]
        work = dot(v, B) * Bn + dot(B[:self.dim], b[1:])
        return (0.0 * q[0], *(c * Bn for c in B), work, *(u * Bn for u in v), 0.0 * q[8])

    def hlld(self, l: Components, r: Components, n: Components) -> tuple:
        """Five waves: two fast ones, two of Alfven and the contact; a contact or an Alfven wave alone is exact.  Bn and psi are
        those of `cleaned`.  Miyoshi & Kusano 2005, J. Comput. Phys. 208, equations (31) to (67)."""
        return self.hlld_with(l, r, n, lambda *sides: 1.0)

    def hlld_shock_stable(self, l: Components, r: Components, n: Components) -> tuple:
        """`hlld` with the jump of total pressure in the contact's speed times `shock_stability.pressure_share`, of fast waves:
        strong shocks along a grid stay straight, contacts and Alfven waves are exact. Formula and sources there."""
        return self.hlld_with(l, r, n, lambda *sides: pressure_share(*((*split_along(s.v[:len(n)], n), s.fast) for s in sides)))

    def hlld_with(self, l: Components, r: Components, n: Components, share: Any) -> tuple:
        """`hlld` with a share of the jump of total pressure in the contact's speed, a function of both sides."""
        Bn, psi = self.cleaned(l, r, n)
        normal = (*n, *(0.0,) * (3 - len(n)))
        sides: Any = [Side(self, q, n, normal, Bn) for q in (l, r)]
        left, right = sides
        fastest = np.maximum(left.fast, right.fast)
        left.outer, right.outer = np.minimum(left.u, right.u) - fastest, np.maximum(left.u, right.u) + fastest
        a, b = left.mass, right.mass          # rho (S - u), below zero on the left
        k = 1 / (b - a)
        middle = (b * right.u - a * left.u + share(*sides) * (left.P - right.P)) * k
        total = (b * left.P - a * right.P + a * b * (right.u - left.u)) * k
        for side in sides:
            side.behind(middle, total)
        x, y = left.root, right.root
        w = 1 / (x + y)
        turned = np.where(Bn < 0, -w, w)          # w times the sign of Bn, in the dtype of the state
        v = tuple((x * c + y * d) * w + (f - e) * turned for c, d, e, f in zip(left.v1, right.v1, left.B1, right.B1))
        B = tuple((x * f + y * e) * w + x * y * (d - c) * turned for c, d, e, f in zip(left.v1, right.v1, left.B1, right.B1))
        flux = [np.where(middle > 0, c, np.where(middle < 0, d, (c + d) / 2))          # at zero both are one, up to rounding
                for c, d in zip(left.flux(v, B, -1), right.flux(v, B, 1))]
        magnetic = [c + psi * k for c, k in zip(flux[5:], normal)]
        return (*flux[:5], *magnetic, self.cleaning_speed ** 2 * Bn)


class Side:
    """One side of a face in `MHD.hlld`; vectors have three components, `n` those of the law's dimension.

    u, fast, P   normal velocity, fast speed and total pressure;  outer: speed S of the fast wave;  mass: rho (S - u)
    v1, B1, E1, rho1   behind the fast wave;  root: sqrt(rho1);  inner: speed of the Alfven wave"""

    def __init__(self, law, q, n, normal, Bn):
        given = law.along(q[law.field], n)
        self.law, self.normal, self.Bn, self.rho, self.v = law, normal, Bn, q[0], law.velocity(q)
        self.u, self.fast = law.along(self.v, n), law.magnetosonic(q, n, Bn)[2]
        self.B = tuple(b + (Bn - given) * k for b, k in zip(q[law.field], normal))
        p = law.pressure(q)
        self.P = p + dot(self.B, self.B) / 2
        self.E = p / (law.gamma - 1) + q[0] * dot(self.v, self.v) / 2 + dot(self.B, self.B) / 2

    @property
    def mass(self):
        return self.rho * (self.outer - self.u)

    def behind(self, middle, total):
        """The state between the fast wave and that of Alfven, where the normal velocity is `middle`, the pressure `total`.

        Where the fast wave is one of Alfven, too, velocity and field along the face are those before it."""
        gap = 1 / (self.outer - middle)
        self.rho1 = self.mass * gap
        below = self.mass * (self.outer - middle) - self.Bn ** 2
        flat = np.abs(below) <= 1e-8 * total
        k = np.where(flat, 0.0, 1 / np.where(flat, 1.0, below))
        turn, stretch = self.Bn * (middle - self.u) * k, self.mass * (middle - self.u) * k
        along = tuple(b - self.Bn * c for b, c in zip(self.B, self.normal))          # of the field, in the face
        self.v1 = tuple(a + (middle - self.u) * c - turn * b for a, b, c in zip(self.v, along, self.normal))
        self.B1 = tuple(a + stretch * b for a, b in zip(self.B, along))
        self.E1 = ((self.outer - self.u) * self.E - self.P * self.u + total * middle
                   + self.Bn * (dot(self.v, self.B) - dot(self.v1, self.B1))) * gap
        self.root, self.middle = np.sqrt(self.rho1), middle

    def flux(self, v, B, side):
        """F(q) + S (q1 - q) + S1 (q2 - q1), S and S1 the waves' speeds if they leave to the other side, else 0, psi left out.

        v, B: velocity and field between the waves of Alfven;  side: -1 on the left, 1 on the right"""
        inner = self.middle + side * np.abs(self.Bn) / self.root
        clip = np.minimum if side < 0 else np.maximum
        S, S1 = clip(self.outer, 0.0), clip(inner, 0.0)
        root = np.where(self.Bn < 0, -self.root, self.root)
        E2 = self.E1 + side * root * (dot(self.v1, self.B1) - dot(v, B))
        states = [(self.rho, self.v, self.E, self.B), (self.rho1, self.v1, self.E1, self.B1), (self.rho1, v, E2, B)]
        q, q1, q2 = ((rho, *(rho * a for a in velocity), E, *field) for rho, velocity, E, field in states)
        push = dot(self.v, self.B)
        flux = (q[0] * self.u, *(m * self.u + self.P * k - b * self.Bn for m, k, b in zip(q[1:4], self.normal, self.B)),
                (self.E + self.P) * self.u - self.Bn * push, *(b * self.u - a * self.Bn for a, b in zip(self.v, self.B)))
        return tuple(f + S * (b - a) + S1 * (c - b) for f, a, b, c in zip(flux, q, q1, q2))
