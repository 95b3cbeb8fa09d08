"""The schemes: how the flux through a face follows from the cells around it, as `stencils.Stencil`s along an axis."""
from functools import reduce

import numpy as np

from ...physics.fluxes import smaller
from ...physics.trace import call
from .reconstruction import LIMITERS, SLOPES, weno_z

MARGIN = 1.1             # of the speed by which WENO splits fluxes
STEEP = 2.0 ** 60        # ratio of two slopes at which a limiter shows its steepest slope: in float64 the limit itself


class FirstOrder:
    """The numerical flux of the averages on both sides.  Godunov 1959; Helluy et al. 2015, equation (5)."""

    order, ghosts = 1, 1
    boundary_time = 0.5          # share of a sweep after which its conditions at the boundary are taken
    inside = ("q",)              # fields whose mean is the state inside a cell, of nonconservative products

    @staticmethod
    def monotone(method):
        """Largest Courant number of a forward Euler step that makes no new extremes."""
        return 1.0

    @staticmethod
    def stencils(physics, axis, method, k):
        return [physics.face_flux(axis, "q", "q")]

    @staticmethod
    def symbol(theta):
        """-h d/dx of exp(i theta j) for the wave speed 1."""
        return np.exp(-1j * theta) - 1


class Muscl:
    """Linear functions in the cells with limited slopes, and the numerical flux of their values on both sides of a face.

    In a step of their own the values are those half a step later (Hancock's method):
    q-, q+ = q -+ dq / 2 - k/2 (F(q + dq / 2) - F(q - dq / 2)) / C,  k = dt / h, and with A(q) b likewise.
    A safe method takes q- = q+ = q where one of them is not admissible.
    van Leer 1979; van Leer 1984 (Hancock); Toro 2009, section 14.4."""

    order, ghosts = 2, 2
    boundary_time = 0.0          # Hancock's half step moves the states of the ghost cells to the middle of the sweep
    inside = ("low", "high")

    @staticmethod
    def monotone(method):
        """Largest Courant number of a forward Euler step that makes no new extremes, 1 / (1 + b / 2): a slope is at most b
        times either difference of neighbours (Harten 1983; Sweby 1984). None without a limiter: there is none."""
        return None if method.limiter is None else 1 / (1 + float(LIMITERS[method.limiter](1.0, STEEP)) / 2)

    @staticmethod
    def stencils(physics, axis, method, k):
        law, limiter, n = physics.law, SLOPES[method.limiter], physics.normal(axis)
        variables = method.chosen_variables(law)
        primitive = variables == "primitive"

        def slopes(a, b, c):
            below, above = (tuple(y - x for x, y in zip(*pair)) for pair in ((a, b), (b, c)))
            if variables != "characteristic":
                return tuple(map(limiter, below, above))
            waves = (law.characteristic(q, b, n) for q in (below, above))
            return law.from_characteristic(tuple(map(limiter, *waves)), b, n)

        def edges(a, b, c, q, x, t, m, k=None):
            pair = moved(a, b, c, q, x, t, m, k)
            if not method.safe or law.admissible is None:
                return tuple(v for edge in pair for v in edge)
            good = [physics.admissible(edge, x, t, m)[0] for edge in pair]
            return tuple(np.where(good[0] & good[1], v, u) for edge in pair for v, u in zip(edge, q))

        def moved(a, b, c, middle, x, t, m, k):
            half = tuple(s / 2 for s in slopes(a, b, c))
            low, high = tuple(v - s for v, s in zip(b, half)), tuple(v + s for v, s in zip(b, half))
            if primitive:
                low, high = law.conservative(low), law.conservative(high)
            if k is None:
                return low, high
            differences = (tuple(k / 2 * (f - g) for f, g in zip(*pair)) for pair in (
                [physics.flux_along(n, q, x, t, m) for q in (high, low)], [physics.product_flux(q, n) for q in (high, low)]))
            flux, b = differences
            push = physics.over_capacity(physics.plus_products(flux, middle, b), m)
            return tuple(tuple(v - p for v, p in zip(q, push)) for q in (low, high))
        field = "w" if primitive else "q"
        first = [physics.stencil("primitive variables", lambda q: law.primitive(q), {"q": "q"}, ["w"])] if primitive else []
        reads = {"a": (field, -1), "b": field, "c": (field, 1), "q": "q", "x": "x", "m": "m"}
        return [*first, physics.stencil("slopes", edges, reads, ["low", "high"], ["k"] if k else []),
                physics.face_flux(axis, "low", "high")]

    @staticmethod
    def symbol(theta):
        """-h d/dx of exp(i theta j) for the wave speed 1, with central slopes."""
        edge = 1 + (np.exp(1j * theta) - np.exp(-1j * theta)) / 4
        return edge * (np.exp(-1j * theta) - 1)


class Weno:
    """Finite differences of fluxes that are split by Lax and Friedrichs' formula and reconstructed by WENO-Z.

    The unknowns are values at the cells' centres. With F+- = (F(q) +- a q) / 2, a the largest wave speed of the six cells
    around a face, the flux through the face is the sum of the values at the face that WENO-Z finds from five values of F+,
    seen from the left, and of F-, seen from the right. Differences of these fluxes are derivatives of fifth order, axis by
    axis, for nonlinear laws in any dimension. Averages of cells would need integrals over faces for that.
    With a capacity, C q stands for q, C the smallest of the six cells as in `rusanov`. In waves: F and q are taken apart by
    the eigenvectors of the mean of the states on both sides of the face. a is larger by a tenth than the wave speed, or F- is
    nearly constant where F+ varies, and of lower order.
    Shu & Osher 1989; Jiang & Shu 1996; Borges, Carmona, Costa & Don 2008."""

    order, ghosts = 5, 3
    inside = ()                  # nonconservative products are refused

    @staticmethod
    def monotone(method):
        """Courant number of a forward Euler step."""
        return 1.0

    @staticmethod
    def stencils(physics, axis, method, k):
        law, n, count = physics.law, physics.normal(axis), physics.count
        waves = method.chosen_variables(law) == "characteristic"

        def cell(q, x, t, m):
            return (*physics.flux_along(n, q, x, t, m), *physics.wave_speed(q, n, x, t, m))

        def scaled(q, m):
            if law.capacity is None:
                return q
            least = [reduce(smaller, each) for each in zip(*(call(law.capacity, dict(m=one)) for one in m))]
            return [tuple(c * a for c, a in zip(least, one)) for one in q]

        def split(q0, q1, q2, q3, q4, q5, f0, f1, f2, f3, f4, f5, s0, s1, s2, s3, s4, s5, m0, m1, m2, m3, m4, m5):
            largest = s0[0]
            for s in (s1, s2, s3, s4, s5):
                largest = np.maximum(largest, s[0])
            largest = MARGIN * largest
            mean = tuple((a + b) / 2 for a, b in zip(q2, q3))

            def seen(v):
                return law.characteristic(v, mean, n) if waves else v
            states = scaled((q0, q1, q2, q3, q4, q5), (m0, m1, m2, m3, m4, m5))
            states, fluxes = ([seen(v) for v in six] for six in (states, (f0, f1, f2, f3, f4, f5)))
            result = []
            for v in range(count):
                plus, minus = ([(f[v] + sign * largest * q[v]) / 2 for f, q in zip(fluxes, states)] for sign in (1, -1))
                result.append(weno_z(*plus[:5]) + weno_z(*minus[:0:-1]))
            return law.from_characteristic(tuple(result), mean, n) if waves else tuple(result)
        fields = {"q": "q", "f": "F", "s": "s", "m": "m"}
        reads = {f"{name}{i}": (field, i - 2) for name, field in fields.items() for i in range(6)}
        return [physics.stencil("flux", cell, {"q": "q", "x": "x", "m": "m"}, ["F", "s"]),
                physics.stencil("numerical flux", split, reads, ["flux"])]

    @staticmethod
    def symbol(theta):
        """-h d/dx of exp(i theta j) for the wave speed 1, with the weights of smooth values."""
        face = sum(c * np.exp(1j * theta * j) for c, j in zip((2, -13, 47, 27, -3), range(-2, 3))) / 60
        return face * (np.exp(-1j * theta) - 1)


SCHEMES = {"first-order": FirstOrder, "muscl": Muscl, "weno": Weno}
