"""The exact solution of the Riemann problem of ideal and of stiffened gases: two constant states that meet."""
from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from ..physics.laws.euler import Euler
from ..physics.laws.law import dot
from ..physics.laws.two_fluid import TwoFluid
from ..support.keywords import keywords

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..physics.annotations import Components

ITERATIONS = 100          # of Newton's method; ten are many


@keywords
def riemann(law: Euler | TwoFluid, left: Sequence[float], right: Sequence[float], at: float = 0.0,
            direction: Sequence[float] | None = None) -> RiemannSolution:
    """The exact solution of the Riemann problem, a function (x, t) -> q for `exact=`, `initial=` or `prescribed`.

    law           Euler(dim, gamma) or TwoFluid(dim, fluids)
    left, right   primitive variables of both sides, of Euler (rho, u, p) in 1D; density and pressure zero is vacuum. Of
                  TwoFluid with the name of the fluid behind them, (rho, u, p, "water")
    at            where the states meet at t = 0: the plane direction . x = at
    direction     unit vector from left to right, the x axis by default
    ValueError for another law, states without sense, vacuum on both sides, and a stiffened gas that is torn apart.
    Toro 2009, chapter 4; vacuum, given or opened by the flow: section 4.6.  With p + p_inf in place of p its formulas are those
    of a stiffened gas: Ivings, Causon & Toro 1998, Int. J. Numer. Meth. Fluids 28."""
    return RiemannSolution(law, left, right, at, direction)


class RiemannSolution:
    """The exact solution of a Riemann problem: two waves and a contact, where density and tangential velocity jump.

    pressure, velocity   of the gas between the waves (p*, u*: along the direction)
    densities            on both sides of the contact (rho*L, rho*R)
    waves                of both sides: "shock", "rarefaction", or "none" beside a vacuum
    speeds               (head, tail) of the left wave, contact, (tail, head) of the right wave, 1D velocities
    vacuum               whether the gas is torn apart; then p* = 0
    """

    def __init__(self, law: Euler | TwoFluid, left: Sequence[float], right: Sequence[float], at: float = 0.0,
                 direction: Sequence[float] | None = None):
        if not isinstance(law, Euler | TwoFluid):
            raise ValueError(f"riemann solves the Euler equations and those of TwoFluid, not {law!r}")
        self.law, self.given, self.at = law, (tuple(left), tuple(right)), float(at)
        (self.left, *of_left), (self.right, *of_right) = state(law, left), state(law, right)
        self.direction = tuple(float(c) for c in np.atleast_1d((1.0, 0.0, 0.0)[:law.dim] if direction is None else direction))
        if len(self.direction) != law.dim or abs(dot(self.direction, self.direction) - 1) > 1e-9:
            raise ValueError(f"direction={direction!r} is not allowed; it must be a unit vector with {law.dim} components")
        end = law.dim + 1
        l, r = self.sides = [Side(fluid, sign, w[0], dot(w[1:end], self.direction), w[end])
                             for sign, w, (fluid,) in ((-1, self.left, of_left), (1, self.right, of_right))]
        if not l.rho and not r.rho:
            raise ValueError("vacuum on both sides is not allowed: there is no gas")
        least = -min(l.p_inf, r.p_inf)
        self.vacuum = not (l.rho and r.rho) or l.u - l.change(least) <= r.u + r.change(least)
        if self.vacuum and least < 0:
            raise ValueError(f"the states {self.given[0]} and {self.given[1]} are not allowed: they tear the fluids apart")
        if self.vacuum:
            edges = [side.escape for side in (l, r) if side.rho]
            self.pressure, self.velocity = 0.0, sum(edges) / len(edges)
        else:
            self.pressure = star_pressure(l, r)
            self.velocity = (l.u + r.u + r.change(self.pressure) - l.change(self.pressure)) / 2
        for side in (l, r):
            side.attach(self.pressure, self.velocity)
        self.densities, self.waves = (l.star, r.star), (l.wave, r.wave)
        self.speeds = (l.head, l.tail, self.velocity, r.tail, r.head)

    def __repr__(self):
        left, right = self.given
        return f"riemann({self.law!r}, {left}, {right}, at={self.at:g}, direction={self.direction})"

    def __call__(self, x: Components, t: Any) -> tuple:
        """The conserved variables at x, a tuple of arrays, and the time t; at t = 0 the two states."""
        return self.law.conservative(self.primitive(x, t))

    def primitive(self, x: Components, t: Any) -> tuple:
        """The primitive variables (rho, u, .., p) at x, a tuple of arrays, and the time t."""
        distance = dot(self.direction, x) - self.at
        later = self.sample(distance / (t + (t <= 0) * 1.0))
        start = (np.where(distance < 0, a, b) for a, b in zip(self.left, self.right))
        return tuple(np.where(t > 0, a, b) for a, b in zip(later, start))

    def sample(self, s: Any) -> tuple:
        """The primitive variables at the speed s = (direction . x - at) / t, a number or an array.  Toro 2009, section 4.5."""
        both = []
        for side, w in zip(self.sides, (self.left, self.right)):
            rho, u, p = side.sample(s)
            both.append((rho, *(v + (u - side.u) * k for v, k in zip(w[1:], self.direction)), p, *w[self.law.dim + 2:]))
        return tuple(np.where(s < self.velocity, a, b) for a, b in zip(*both))


class Side:
    """One of the two states and the wave that runs into it, to the left (sign -1) or to the right (sign 1).

    fluid          its (gamma, p_inf);  total: p + p_inf"""

    def __init__(self, fluid, sign, rho, u, p):
        gamma, p_inf = fluid
        self.gamma, self.p_inf, self.sign, self.rho, self.u, self.p, self.total = gamma, p_inf, sign, rho, u, p, p + p_inf
        self.c = sqrt(gamma * self.total / rho) if rho else 0.0
        self.escape = u - sign * 2 * self.c / (gamma - 1)          # the speed at which this gas expands into a vacuum

    def ratio(self, p):
        """(p + p_inf) / (p + p_inf of this side)."""
        return (p + self.p_inf) / self.total

    def change(self, p):
        """The change of velocity f(p) through the wave to the pressure p, towards the other side.

        Shock where p exceeds that of this side, else rarefaction.  Toro 2009, equations (4.6) and (4.7)."""
        g, ratio = self.gamma, self.ratio(p)
        if ratio > 1:
            return (p - self.p) * sqrt(2 / (self.rho * ((g + 1) * ratio + g - 1) * self.total))
        return 2 * self.c / (g - 1) * (ratio ** ((g - 1) / (2 * g)) - 1)

    def slope(self, p):
        """f'(p).  Toro 2009, equation (4.37)."""
        g, ratio = self.gamma, self.ratio(p)
        if ratio > 1:
            k = (g + 1) * ratio + g - 1
            return sqrt(2 / (self.rho * k * self.total)) * (1 - (g + 1) * (ratio - 1) / (2 * k))
        return ratio ** ((g - 1) / (2 * g) - 1) / (self.rho * self.c)

    def attach(self, p, u):
        """Fit the wave to the state (p, u) behind it: its kind, its speeds, the density behind."""
        g, ratio = self.gamma, self.ratio(p) if self.rho else 1.0
        if not self.rho:
            self.wave, self.star, self.head, self.tail = "none", 0.0, u, u
        elif ratio > 1:
            k = (g - 1) / (g + 1)
            self.wave, self.star = "shock", self.rho * (ratio + k) / (k * ratio + 1)
            self.head = self.tail = self.u + self.sign * self.c * sqrt((g + 1) / (2 * g) * ratio + (g - 1) / (2 * g))
        else:
            self.wave, self.star, self.head = "rarefaction", self.rho * ratio ** (1 / g), self.u + self.sign * self.c
            self.tail = u + self.sign * self.c * ratio ** ((g - 1) / (2 * g)) if ratio else self.escape
        self.behind = self.star, u, p

    def sample(self, s):
        """(rho, u, p) at the speed s, on this side of the contact."""
        if self.wave != "rarefaction":
            return tuple(np.where(self.sign * (s - self.head) > 0, a, b)
                         for a, b in zip((self.rho, self.u, self.p), self.behind))
        g, s = self.gamma, np.clip(s, min(self.head, self.tail), max(self.head, self.tail))
        c = np.maximum(2 / (g + 1) * self.c - self.sign * (g - 1) / (g + 1) * (self.u - s), 0.0)
        u = 2 / (g + 1) * (s - self.sign * self.c) + (g - 1) / (g + 1) * self.u
        ratio = (c / self.c) ** (2 / (g - 1))
        return self.rho * ratio, u, self.total * ratio ** g - self.p_inf


def star_pressure(l, r):
    """The pressure p* at which both waves lead to one velocity, f_L(p) + f_R(p) + u_R - u_L = 0, by Newton's method.

    The first guess is that of two waves of sound; the function is concave and grows, so that the iteration goes up to the root
    after the first step, and only guess and first step may have to be kept above the least pressure that both sides can have.
    Toro 2009, section 4.3."""
    a, b, least = l.rho * l.c, r.rho * r.c, -min(l.p_inf, r.p_inf)
    p = max((b * l.p + a * r.p - a * b * (r.u - l.u)) / (a + b), least + (min(l.p, r.p) - least) / 100)
    for _ in range(ITERATIONS):
        new = max(p - (l.change(p) + r.change(p) + r.u - l.u) / (l.slope(p) + r.slope(p)), least + (p - least) / 100)
        p, before = new, p
        if abs(p - before) <= 1e-14 * (p - least):
            break
    return p


def state(law, w):
    """(primitive variables as a tuple of floats, (gamma, p_inf)) of a side; ValueError unless density and p + p_inf are
    positive, or, of Euler, density and pressure zero."""
    given, fluid, carried = tuple(w), (getattr(law, "gamma", None), 0.0), ()
    if isinstance(law, TwoFluid):
        *w, name = given
        if name not in law.fluids:
            raise ValueError(f"the state {given} is not allowed; behind its numbers comes the fluid, "
                             f"{' or '.join(map(repr, law.fluids))}")
        fluid, carried = law.fluids[name], law.coefficients[name]
    law.conservative((*w, *carried))                          # as many as there should be
    w = tuple(float(c) for c in w)
    if not np.isfinite(w).all() or not (w[0] > 0 and w[-1] + fluid[1] > 0 or isinstance(law, Euler) and w[0] == w[-1] == 0):
        needed = "p + p_inf must be positive" if carried else "pressure must be positive, or both zero for a vacuum"
        raise ValueError(f"the state {given} is not allowed; density and {needed}")
    return (*w, *carried), fluid
