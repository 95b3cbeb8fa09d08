"""Beams and point sources: exact fields (x, t) -> state, as `plane_wave` makes them, and currents that excite waves in a mesh.

Each field is a sum of exact solutions of the law in a uniform medium, so it is one, in plain NumPy that can be traced.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from .boundary import acoustic
from .declared import Formula
from .derivative import derivative
from .laws.law import cross, dot, shown
from .plane_waves import Field, plane_wave
from .trace import Graph, trace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .annotations import Components
    from .laws.law import Law

COUNTS = {2: 41, 3: 19}             # plane waves of a beam in each direction across it
CUTS = {2: 8.6, 3: 6.1}             # greatest wave number across a beam, in 1 / waist: weights down to 1e-8, in 3D 1e-4
WIDEST = 0.99                       # greatest sine of the angle between a plane wave and the beam


@dataclass(frozen=True, repr=False)
class gaussian_beam(Field):
    """A Gaussian beam as a field (x, t) -> state in 2D or 3D, in a uniform medium: a sum of plane waves, so an exact solution.

    sum_j w_j shape(c t - k_j . (x - focus)) q_j,   k_j = s_j + sqrt(1 - |s_j|^2) direction,
    w_j ~ exp(-(pi waist |s_j| / wavelength)^2),   s_j on a lattice across the beam, sum of w_j q_j = the amplitude at the focus

    law        Maxwell or Acoustics
    direction  unit vector (dim) of the beam
    amplitude  at the focus, where the field is amplitude shape(c t).  Maxwell: the vector E (three components, normal to
               direction), which turns with k_j; acoustics: the pressure, a number
    waist      radius at the focus at which the amplitude has fallen to 1 / e, at the wavelength; at least half of it.  At a
               distance z, if many wavelengths wide, it is waist sqrt(1 + (z wavelength / (pi waist^2))^2)
    wavelength of the beam.  The plane waves have the same directions at every frequency of the shape; shorter waves have a
               smaller waist in proportion
    shape      function s -> profile, such as lambda s: np.cos(2 * np.pi * s / wavelength) * np.exp(-(s / length) ** 2)
    focus      point (dim), by default the origin
    medium     as of `plane_wave`
    count      of plane waves across the beam, odd, by default 41 in 2D, 19 in 3D, of which those in a circle count, about 270.
               The field repeats across the beam, in 2D at the distance 0.36 (count - 1) waist, in 3D 0.51 (count - 1)
               waist; give more for domains beyond a third of it and where the beam has spread that far
    ValueError as of `plane_wave`, for a law in 1D, and for a waist, wavelength, focus or count that is not allowed.
    Goodman 2005, section 3.10 (angular spectrum); Stratton 1941, section 7.2."""

    law: Law
    direction: Sequence[float]
    amplitude: float | Sequence[float]
    waist: float
    wavelength: float
    shape: Callable
    focus: Any = None
    medium: str | dict[str, float] | None = field(default=None, hash=False)
    count: int | None = None

    def __post_init__(self):
        law, focus, count, waist, wavelength = self.law, self.focus, self.count, self.waist, self.wavelength
        if law.dim == 1:
            raise ValueError(f"gaussian_beam needs a law in 2D or 3D, not {law!r}; in 1D take plane_wave")
        for name, value in (("waist", waist), ("wavelength", wavelength)):
            positive(name, value)
        if waist < wavelength / 2:
            raise ValueError(f"waist={waist!r} is not allowed; it must be at least half of the wavelength {wavelength:g}")
        focus = point_of(law, "focus", (0.0,) * law.dim if focus is None else focus)
        count = COUNTS[law.dim] if count is None else count
        if not (isinstance(count, Integral) and count >= 3 and count % 2):
            raise ValueError(f"count={count!r} is not allowed; it must be an odd number from 3")
        # checks direction, amplitude, shape and medium
        centre = plane_wave(law, self.direction, self.amplitude, self.shape, self.medium)
        self.keep(focus=focus, count=int(count), waist=float(waist), wavelength=float(wavelength), parameters=centre.parameters,
                  **{name: getattr(centre, name) for name in ("direction", "amplitude", "medium")})
        self.keep(waves=self.plane_waves())

    def __repr__(self):
        waist, wavelength = (repr(number).removesuffix(".0") for number in (self.waist, self.wavelength))
        more = f", medium={self.medium!r}" * bool(self.medium) + f", count={self.count}" * (self.count != COUNTS[self.law.dim])
        return (f"gaussian_beam({self.law!r}, {self.direction}, {self.amplitude}, shape={shown(self.shape)}, waist={waist}, "
                f"wavelength={wavelength}, focus={self.focus}{more})")

    def with_number(self, name: str, value: Any) -> gaussian_beam:
        if name != "amplitude":
            return super().with_number(name, value)
        return self.changed(amplitude=value, waves=[(value * (w / self.amplitude), wave) for w, wave in self.waves])

    def plane_waves(self) -> list[tuple[float, plane_wave]]:
        """The plane waves of which the beam is the sum, each with its weight."""
        law, number = self.law, 2 * np.pi / self.wavelength
        direction, scale = np.array(self.direction, float), float(np.linalg.norm(self.amplitude))
        amplitude: Any = self.amplitude
        unit = tuple(np.array(amplitude, float) / scale) if np.ndim(amplitude) else amplitude / scale
        waves, weights, strength = [], [], 0.0
        for sines in sines_across(law.dim, min(CUTS[law.dim] / (number * self.waist), WIDEST), self.count):
            k = np.sqrt(1 - dot(sines, sines)) * direction + np.array(sines) @ across(law, direction, unit)
            turned, share = turned_with(law, direction, k, unit)
            waves.append(plane_wave(law, k, turned, self.shape, self.medium))
            weights.append(np.exp(-dot(sines, sines) * (number * self.waist / 2) ** 2))
            strength += weights[-1] * share
        return [(float(scale * w / strength), wave) for w, wave in zip(weights, waves)]

    def __call__(self, x: Components, t: Any) -> tuple:
        x = tuple(a - b for a, b in zip(x, self.focus))
        total = [0.0] * len(self.law.variables)
        for weight, wave in self.waves:
            total = [a + weight * b for a, b in zip(total, wave(x, t))]
        return tuple(total)


def sines_across(dim, largest, count):
    """The components of k across a beam, on a lattice in a circle, tuples of dim - 1 numbers."""
    line = largest * np.linspace(-1, 1, count)
    return [sines for sines in product(line, repeat=dim - 1) if dot(sines, sines) <= largest**2 * (1 + 1e-12)]


def across(law, direction, amplitude):
    """Unit vectors (dim - 1, dim) normal to the direction; in 3D the first one is along E."""
    if law.dim == 2:
        return np.array([[-direction[1], direction[0]]])
    first = np.array(amplitude) if law.fields else np.eye(3)[np.argmin(np.abs(direction))]
    first = first - direction * (first @ direction)
    first = first / np.linalg.norm(first)
    return np.array([first, np.cross(direction, first)])


def turned_with(law, direction, k, amplitude):
    """The unit amplitude of the plane wave along k, and its share along that of the beam: E turns with k about the normal of
    both, E_k = E - (E . k) (direction + k) / (1 + direction . k)."""
    if not law.fields:
        return amplitude, 1.0
    E, (d, k) = np.array(amplitude), (np.array(law.direction(tuple(v))) for v in (direction, k))
    turned = E - (E @ k) / (1 + d @ k) * (d + k)
    return tuple(map(float, turned)), float(turned @ E)


@dataclass(frozen=True, repr=False)
class dipole(Field):
    """The exact field (x, t) -> state of a point source in 3D, in a uniform medium: electric dipole, of acoustics monopole.

    With R = x - position, r = |R|, n = R / r and f, f', f'' the pulse and its derivatives at t - r / c:
    Maxwell, dipole moment p f(t), so the current p f'(t) delta(R):
    E = 1 / (4 pi eps) ((3 n (n . p) - p) (f / r^3 + f' / (c r^2)) + (n (n . p) - p) f'' / (c^2 r))
    H = 1 / (4 pi) p x n (f' / r^2 + f'' / (c r))
    Acoustics, volume V f(t), so the inflow V f'(t) delta(R):
    p = rho V f'' / (4 pi r),   v = V n (f' / r^2 + f'' / (c r)) / (4 pi)

    law        Maxwell or Acoustics in 3D.  In 2D the field of a line source is no closed expression in time
    position   (3) of the source; the field is infinite there, so give it to boundaries that do not contain it
    moment     Maxwell: the vector p, three components, charge times length; acoustics: V, a volume
    pulse      function of time f(t) -> number, twice differentiable, in NumPy that can be traced, such as
               lambda t: np.exp(-((t - 3) / 0.5) ** 2)
    medium     as of `plane_wave`
    `current` with the same arguments is the source of this field in a mesh.
    ValueError for a law in 1D or 2D, another moment or position, and a medium that varies, has losses or is dispersive;
    TraceError for a pulse that cannot be traced.
    Jackson 1999, sections 9.2 and 9.3; Pierce 1989, section 4.3."""

    law: Law
    position: Sequence[float]
    moment: Any
    pulse: Callable
    medium: str | dict[str, float] | None = field(default=None, hash=False)

    def __post_init__(self):
        law = self.law
        if law.dim != 3:
            raise ValueError(f"dipole needs a law in 3D, not {law!r}; in 2D a point source leaves a wake, whose field is no "
                             "closed expression: compute it in a mesh with source=dgarray.current(...)")
        self.keep(position=point_of(law, "position", self.position), moment=moment_of(law, self.moment, "dipole"))
        numbers = self.in_medium("a dipole")
        first = derivative_of(self.pulse)
        eps, mu = law.isotropic(numbers, "a dipole") if law.fields else (None, None)
        self.keep(first=first, second=derivative_of(first), eps=eps,
                  speed=(eps * mu) ** -0.5 if law.fields else numbers["c"])

    def with_number(self, name: str, value: Any) -> dipole:
        return self.changed(moment=value) if name == "moment" else super().with_number(name, value)

    def __call__(self, x: Components, t: Any) -> tuple:
        R = tuple(a - b for a, b in zip(x, self.position))
        r = np.sqrt(dot(R, R))
        n, s = tuple(c / r for c in R), t - r / self.speed
        return self.waves(n, r, s) if self.law.fields else self.sound(n, r, s)

    def waves(self, n: Components, r: Any, s: Any) -> tuple:
        """The electric dipole's state at n, r and the time s = t - r / c."""
        speed, p, unit = self.speed, self.moment, 1 / (4 * np.pi)
        f, df, ddf = self.pulse(s) / (r * r * r), self.first(s) / (speed * (r * r)), self.second(s) / (speed * speed * r)
        near, far, along = unit / self.eps * (f + df), unit / self.eps * ddf, dot(n, p)
        E = tuple((3 * k * along - c) * near + (k * along - c) * far for k, c in zip(n, p))
        turning = unit * speed * (df + ddf)
        return self.law.state(E, tuple(turning * c for c in cross(p, n)))

    def sound(self, n: Components, r: Any, s: Any) -> tuple:
        """The monopole's state at n, r and the time s = t - r / c."""
        rho, inflow = self.parameters["rho"], self.moment / (4 * np.pi)
        ddf = self.second(s) / r
        outward = inflow * (self.first(s) / (r * r) + ddf / self.speed)
        return (rho * inflow * ddf, *(outward * k for k in n))


@dataclass(frozen=True, repr=False)
class current(Formula):
    """A small current as the source (x, t) -> state of a `Simulation`, around a point: Maxwell eps E_t = curl H - J.

    J = p f'(t) g(x),   g = exp(-|x - position|^2 / width^2) / (sqrt(pi) width)^dim,   whose integral is 1;
    acoustics: an inflow of volume, p_t / (rho c^2) + div v = V f'(t) g(x)

    As the width goes to 0 it radiates the field of `dipole(law, position, moment, pulse)`.  In a uniform medium, some widths
    away from it, the waves of the wave number k are those of the point times exp(-(k width / 2)^2).  In 2D it is a line, in 1D
    a plane, across which the current flows.

    law        Maxwell or Acoustics, 1D to 3D
    position   point (dim)
    moment     Maxwell: the dipole moment p, three components (in 2D by length of the line, in 1D by area of the plane), charge
               times length; acoustics: V, a volume
    width      positive length; cells there are at most about order / 2 widths in size: a run warns where they show another
               moment than this one, if the source ends three widths before the boundary, in straight cells
    pulse      function of time f(t) -> number, differentiable, in NumPy that can be traced; the current is its derivative, so
               after a pulse that does not return to 0 a static field stays
    ValueError for other laws, another moment, position or width, and a moment along components that the law does not have;
    TraceError for a pulse that cannot be traced.
    Taflove & Hagness 2005, section 5.1."""

    law: Law
    position: Sequence[float]
    moment: float | Sequence[float]
    width: float
    pulse: Callable

    def __post_init__(self):
        law = self.law
        place, given = point_of(law, "position", self.position), moment_of(law, self.moment, "current")
        positive("width", self.width)
        strength = law.state(tuple(-p for p in given), (0.0, 0.0, 0.0)) if law.fields else (given, *(0.0,) * law.dim)
        self.keep(position=place, moment=given, width=float(self.width), course=derivative_of(self.pulse), strength=strength,
                  scale=float(np.sqrt(np.pi) * self.width) ** -law.dim)

    def with_number(self, name: str, value: Any) -> current:
        if name == "width":
            return self.changed(width=value, scale=self.scale * (self.width / value) ** self.law.dim)
        if name == "moment":
            return self.changed(moment=value, strength=(value, *(0.0,) * self.law.dim))
        return super().with_number(name, value)

    def __repr__(self):
        width = repr(self.width).removesuffix(".0")
        return f"current({self.law!r}, {self.position}, {self.moment}, {width}, {shown(self.pulse)})"

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the components of the source."""
        return tuple(self.law.variables)

    def profile(self, x: Components) -> Any:
        """g(x)."""
        R = tuple(a - b for a, b in zip(x, self.position))
        return self.scale * np.exp(-dot(R, R) * (1 / self.width**2))

    def __call__(self, x: Components, t: Any) -> tuple:
        value = self.course(t) * self.profile(x)
        return tuple(s * value for s in self.strength)


@dataclass(frozen=True, repr=False)
class Rate(Formula):
    """The derivative of a function of one number, recorded as a graph: for numbers, arrays and traced values."""

    graph: Graph

    def __call__(self, s: Any) -> Any:
        return derivative(self.graph, {"s": s}, {"s": 1.0})[0]


def derivative_of(pulse):
    """The derivative of a function of one number."""
    if not callable(pulse):
        raise ValueError(f"pulse={pulse!r} is not allowed; give a function of time that returns a number")
    graph = trace(lambda s: pulse(s), {"s": None}, "pulse")
    if len(graph.outputs) != 1:
        raise ValueError(f"pulse returns {len(graph.outputs)} numbers; it must return one")
    return Rate(graph)


def point_of(law, name, values):
    """The point as a tuple of floats. Raises ValueError for another number of coordinates."""
    found = np.atleast_1d(np.asarray(values))
    if found.shape != (law.dim,) or found.dtype.kind not in "fiu" or not np.isfinite(found).all():
        raise ValueError(f"{name}={values!r} is not allowed; it must be a point with {law.dim} "
                         f"coordinate{'s' * (law.dim > 1)}")
    return tuple(map(float, found))


def moment_of(law, moment, maker):
    """The moment of a source, three components, or of acoustics a number. Raises ValueError for others."""
    if not law.fields:
        acoustic(law, maker)
        if not (isinstance(moment, Real) and np.isfinite(moment)):
            raise ValueError(f"moment={moment!r} is not allowed; of acoustics it must be a number")
        return float(moment)
    found = np.asarray(moment)
    if found.shape != (3,) or found.dtype.kind not in "fiu" or not np.isfinite(found).all():
        raise ValueError(f"moment={moment!r} is not allowed; it must be three components")
    absent = ["E" + axis for axis, p in zip("xyz", found) if p and "E" + axis not in law.variables]
    if absent:
        raise ValueError(f"moment={moment!r} drives {', '.join(absent)}; the law has {', '.join(law.variables)}")
    return tuple(map(float, found))


def positive(name, value):
    if not (isinstance(value, Real) and 0 < value < np.inf):
        raise ValueError(f"{name}={value!r} is not allowed; it must be a positive length")
