"""Permittivities and permeabilities that depend on frequency: sums of relaxations and resonances.

eps(s) = high + sum_k chi_k(s) at s = i omega, with the time dependence exp(i omega t): a passive medium has Im eps <= 0.
Each term chi_k is a linear ordinary differential equation of one or two states for the polarisation P = chi_k E.
Taflove & Hagness 2005, chapter 9.
"""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby
from numbers import Complex, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..support.keywords import keywords
from .frequency_ranges import ROUNDING, gains, loss_frequencies, runs, said, zeros
from .trace import parameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


class Written:
    """How a term was written, of both kinds of terms; terms are equal whose numbers are.

    factor, unit   the term is `factor` times the term `unit`
    call           name and arguments of the public constructor of `unit`, for what prints
    of_law         {name, as of `numbers`: parameter of a law that has this number}"""

    @property
    def numbers(self):
        """{name: value} of the numbers that the term was made from: "factor", and the arguments of the constructor of `unit`;
        of poles the real and the imaginary parts."""
        if self.call is None:
            return {"factor": self.factor}
        name, given = self.call
        if name == "Poles":
            parts = [part for value in map(complex, given) for part in (value.real, value.imag)]
            return {"factor": self.factor} | (dict(zip(("pole", "residue"), parts[::2])) if complex(given[0]).imag == 0 else
                                              dict(zip(("pole_real", "pole_imag", "residue_real", "residue_imag"), parts)))
        return {"factor": self.factor} | dict(zip(parameters(FORMULAS[name]), given))

    def at_parameters(self, m):
        """The term with the numbers that the law's parameters m have, arrays or traced values; the same without `of_law`."""
        if not self.of_law:
            return self
        return self.with_numbers({name: getattr(m, own) for name, own in self.of_law.items()})

    def with_numbers(self, changes):
        """The term with other numbers {name: value}, as of `numbers`."""
        given, unit = self.numbers | changes, self.unit or self
        factor = given.pop("factor")
        if set(changes) != {"factor"}:
            name = self.call[0] if self.call[0] != "Poles" else "pole" if "pole" in given else "pair"
            unit = FORMULAS[name](**given)
        return replace(unit, factor=1.0, unit=None).scaled(factor)

    @property
    def absent(self):
        """Whether the factor is 0, as of a term that a law's parameters bring in."""
        return self.factor == 0

    @property
    def typical(self):
        """The term, or what it would be with a factor that is not 0."""
        return self.unit if self.absent else self


@dataclass(frozen=True)
class Relaxation(Written):
    """chi(s) = residue / (s + decay):  z' = -decay z + residue E,  P = z.  With decay = 0 the residue is a conductivity.

    factor, unit, call, of_law: see `Written`"""

    residue: float
    decay: float
    factor: float = field(default=1.0, compare=False, repr=False)
    unit: Any = field(default=None, compare=False, repr=False)
    call: Any = field(default=None, compare=False, repr=False)
    of_law: Any = field(default=None, compare=False, repr=False)

    states = 1

    def at(self, s):
        """chi at the complex frequency s."""
        return self.residue / (s + self.decay)

    def rate(self, z, E):
        """dz/dt of the states z in the field E."""
        return (-self.decay * z[0] + self.residue * E,)

    def polarisation(self, z):
        """P of the states z."""
        return z[0]

    def current(self, z, dz):
        """dP/dt of the states z and their rates dz."""
        return dz[0]

    @property
    def stores(self):
        """Whether there is a formula of the energy that the states store."""
        return self.residue > 0 or self.absent

    def energy(self, z):
        """decay P^2 / (2 residue), the energy density that the states store, of terms that have `stores`."""
        return self.decay * z[0] * z[0] / (2 * self.residue)

    @property
    def fastest(self):
        """The largest absolute value of a pole, 1 / time."""
        return self.decay

    def scaled(self, factor):
        """The term times a number."""
        unit, factor = self.unit or self, factor * self.factor
        return replace(unit, residue=factor * unit.residue, factor=factor, unit=unit)

    def losses(self, omega):
        """The parts, here one, of -omega Im chi(i omega)."""
        return (self.residue * omega**2 / (omega**2 + self.decay**2),)

    def loss_system(self):
        """(A, b, c) of -Im chi / omega = c (x - A)^-1 b, a rational function of x = omega^2."""
        return np.array([[-self.decay**2]]), np.ones(1), np.array([self.residue])

    def real_system(self):
        """(A, b, c) of Re chi = c (x - A)^-1 b, a rational function of x = omega^2."""
        return np.array([[-self.decay**2]]), np.ones(1), np.array([self.residue * self.decay])

    def scales(self):
        """Frequency and width of what the term does: (omega, damping)."""
        return self.decay, self.decay

    def check_passive(self):
        """Nothing is to be checked beside the sign of the losses."""


@dataclass(frozen=True)
class Resonance(Written):
    """chi(s) = (b0 + b1 s) / (s^2 + a1 s + a0):  z1' = z2,  z2' = -a0 z1 - a1 z2 + E,  P = b0 z1 + b1 z2.

    With a0 = b1 = 0 it is Drude's term, with b1 = 0 Lorentz's.  factor, unit, call, of_law: see `Written`."""

    b0: float
    b1: float
    a0: float
    a1: float
    factor: float = field(default=1.0, compare=False, repr=False)
    unit: Any = field(default=None, compare=False, repr=False)
    call: Any = field(default=None, compare=False, repr=False)
    of_law: Any = field(default=None, compare=False, repr=False)

    states = 2

    def at(self, s):
        """chi at the complex frequency s."""
        return (self.b0 + self.b1 * s) / (s * s + self.a1 * s + self.a0)

    def rate(self, z, E):
        """dz/dt of the states z in the field E."""
        return z[1], -self.a0 * z[0] - self.a1 * z[1] + E

    def polarisation(self, z):
        """P of the states z."""
        return self.b0 * z[0] + self.b1 * z[1]

    def current(self, z, dz):
        """dP/dt of the states z and their rates dz."""
        return self.b0 * dz[0] + self.b1 * dz[1]

    @property
    def stores(self):
        """Whether there is a formula of the energy that the states store."""
        return self.b1 == 0 and (self.b0 > 0 or self.absent)

    def energy(self, z):
        """b0 (z2^2 + a0 z1^2) / 2, the energy density that the states store, of terms that have `stores`."""
        return self.b0 * (z[1] * z[1] + self.a0 * z[0] * z[0]) / 2

    @property
    def fastest(self):
        """The largest absolute value of a pole, 1 / time."""
        return max(self.a0**0.5, (self.a1 + max(self.a1**2 - 4 * self.a0, 0.0)**0.5) / 2)

    def scaled(self, factor):
        """The term times a number."""
        unit, factor = self.unit or self, factor * self.factor
        return replace(unit, b0=factor * unit.b0, b1=factor * unit.b1, factor=factor, unit=unit)

    def losses(self, omega):
        """The parts, of b0 and of b1, of -omega Im chi(i omega)."""
        detuning = self.a0 - omega**2
        shape = omega**2 / (detuning**2 + (self.a1 * omega)**2)
        return self.b0 * self.a1 * shape, -self.b1 * detuning * shape

    def loss_system(self):
        """(A, b, c) of -Im chi / omega = c (x - A)^-1 b, a rational function of x = omega^2."""
        return self._system(self.b0 * self.a1 - self.b1 * self.a0, self.b1)

    def real_system(self):
        """(A, b, c) of Re chi = c (x - A)^-1 b, a rational function of x = omega^2."""
        return self._system(self.b0 * self.a0, self.b1 * self.a1 - self.b0)

    def _system(self, c0, c1):
        """(A, b, c) of (c0 + c1 x) / ((a0 - x)^2 + a1^2 x)."""
        scale = self.a0 or self.a1**2 or 1.0
        A = np.array([[0.0, scale], [-self.a0**2 / scale, 2 * self.a0 - self.a1**2]])
        return A, np.array([0.0, 1.0]), np.array([c0 / scale, c1])

    def scales(self):
        """Frequency and width of what the term does: (omega, damping)."""
        return self.a0**0.5, self.a1

    def check_passive(self):
        """Raise ValueError for a pole without damping whose residue would make waves grow: its losses are zero or infinite."""
        if self.a1 == 0 and (self.b0 < 0 or self.b1 != 0):
            raise ValueError(f"a pole with the wrong sign at omega = {self.a0**0.5:.6g} is not passive: (b0 + b1 s) / (s^2 "
                             f"+ a0) with b0 = {self.b0:.6g}, b1 = {self.b1:.6g}; without damping it needs b0 >= 0, b1 = 0")


@dataclass(frozen=True, repr=False)
class Dispersion:
    """A permittivity or permeability eps(s) = high + sum of terms, s = i omega, with the time dependence exp(i omega t).

    Made by arithmetic: `2.0 + Debye(1.0, 0.5)`, `EPS_0 * (1 + Drude(plasma, damping))`, sums, a number less, multiples by and
    quotients by positive numbers; or by `fit`.
    medium(frequency)  complex values at frequencies f = omega / (2 pi), in cycles per unit of time, in the shape of these: what
                       `eps=` and `mu=` of `dgarray.analysis` ask for
    medium.at(s)       the same at complex s = i omega
    Two are equal that have equal numbers in the same order.

    high    the value at infinite frequency
    terms   tuple of `Relaxation` and `Resonance`
    error   of what `fit` returns: largest |fit - eps| / largest |eps| of the table; otherwise None"""

    high: float
    terms: tuple = ()
    error: float | None = field(default=None, compare=False)

    __array_ufunc__ = None          # NumPy's numbers leave the arithmetic to this class

    def __call__(self, frequency: ArrayLike) -> Any:
        """The complex value at frequencies in cycles per unit of time."""
        return self.at(2j * np.pi * np.asarray(frequency))

    def at(self, s: ArrayLike) -> Any:
        """The complex value at complex frequencies s."""
        s = np.asarray(s, complex)
        return sum((term.at(s) for term in self.terms), np.full(s.shape, self.high, complex))[()]

    def __add__(self, other):
        if isinstance(other, Real):
            return Dispersion(self.high + real(other, "the number that is added"), self.terms)
        if isinstance(other, Dispersion):
            return Dispersion(self.high + other.high, self.terms + other.terms)
        return NotImplemented

    __radd__ = __add__

    def __mul__(self, other):
        if not isinstance(other, Real):
            return NotImplemented
        factor = real(other, "the factor", positive=True)
        return Dispersion(factor * self.high, tuple(term.scaled(factor) for term in self.terms), self.error)

    __rmul__ = __mul__

    def __sub__(self, other):
        return self + -real(other, "the number that is subtracted") if isinstance(other, Real) else NotImplemented

    def __truediv__(self, other):
        return self * (1 / real(other, "the divisor", positive=True)) if isinstance(other, Real) else NotImplemented

    def __neg__(self):
        raise ValueError(f"-({self!r}) is not allowed; it would amplify waves: the sign of a pole must be that of losses")

    def __repr__(self):
        if not self.terms:
            return f"Dispersion({self.high!r})"
        parts = [repr(self.high)] * (self.high != 0)
        for (name, factor), terms in groupby(self.terms, lambda term: (term.call and term.call[0], term.factor)):
            times, units = "" if factor == 1 else f"{factor!r} * ", [term.unit or term for term in terms]
            if name == "Poles" and len(units) > 1:
                poles, residues = zip(*(unit.call[1] for unit in units))
                parts.append(f"{times}Poles({list(poles)!r}, {list(residues)!r})")
            else:
                parts += [f"{times}{name}({', '.join(map(repr, unit.call[1]))})" if name else
                          f"Dispersion(0.0, ({times}{unit!r},))" for unit in units]
        return " + ".join(parts)

    def negative_ranges(self) -> list[tuple[float, float]]:
        """The ranges (lowest, highest) of frequencies, in cycles, in which the real part is negative."""
        poles = [omega for omega, damping in (term.scales() for term in self.terms) if omega > 0 == damping]
        edges = np.union1d(zeros([term.real_system() for term in self.terms], self.high), poles)
        if not len(edges):
            return [] if self.high >= 0 else [(0.0, np.inf)]
        omega = np.sort(np.concatenate([edges, np.sqrt(edges[1:] * edges[:-1]), edges[:1] / 2, 2 * edges[-1:]]))
        with np.errstate(divide="ignore", invalid="ignore"):          # at a pole
            parts = np.array([np.full(omega.shape, self.high), *(term.at(1j * omega).real for term in self.terms)])
            negative = parts.sum(axis=0) < -ROUNDING * np.abs(parts).sum(axis=0)
        return [(low / (2 * np.pi), high / (2 * np.pi)) for low, high in runs(omega, negative, edges)]

    def check_passive(self) -> None:
        """Raise ValueError unless the medium is passive: high > 0 and omega Im eps <= 0 at every frequency.

        Frequencies are the zeros of Im eps, which are eigenvalues, and points between, around and far beyond the poles."""
        if not self.high > 0:
            raise ValueError(f"{self!r} is not allowed; its value at infinite frequency is {self.high:.6g}, and it must be "
                             "positive: write 1 + Debye(...)")
        for term in self.terms:
            term.check_passive()
        omega, edges = loss_frequencies(self.terms), zeros([term.loss_system() for term in self.terms])
        _, wrong = gains(self.terms, omega)
        if wrong.any():
            raise ValueError(f"{self!r} is not passive; where omega is {said(runs(omega, wrong, edges))} it has Im eps > 0, "
                             "and with exp(i omega t) it must be 0 or less at every frequency: a pole has the wrong sign, or "
                             "too large a residue")


def pair(pole_real, pole_imag, residue_real, residue_imag):
    """The term r / (s - p) + conj(r) / (s - conj(p))."""
    return Resonance(-2 * (residue_real * pole_real + residue_imag * pole_imag), 2 * residue_real,
                     pole_real * pole_real + pole_imag * pole_imag, -2 * pole_real)


# {constructor: its term from its numbers, which may be arrays or traced values}; of poles that of a real one and of a pair.
FORMULAS: dict[str, Any] = {
    "Debye": lambda strength, tau: Relaxation(strength / tau, 1 / tau),
    "Drude": lambda plasma, damping: Resonance(plasma**2, 0.0, 0.0, damping),
    "Lorentz": lambda strength, resonance, damping: Resonance(strength * resonance**2, 0.0, resonance**2, damping),
    "pole": lambda pole, residue: Relaxation(residue, -pole),
    "pair": pair}
NUMBERS = ("factor", "strength", "tau", "plasma", "damping", "resonance", "pole", "residue", "pole_real", "pole_imag",
           "residue_real", "residue_imag")          # of all terms


def real(value, name, positive=False, negative=True):
    """A number as a float. Raises ValueError unless it is real, finite and within the bounds."""
    if not isinstance(value, Real) or not np.isfinite(value) or (positive and value <= 0) or (not negative and value < 0):
        bound = "positive and " if positive else "" if negative else "not negative and "
        raise ValueError(f"{name}={value!r} is not allowed; it must be a number, {bound}finite")
    return float(value)


def strength_of(value, name):
    """A strength as a float. Raises ValueError unless it is positive and finite."""
    if isinstance(value, Real) and value < 0:
        raise ValueError(f"{name}={value!r} is not allowed; it must be positive: a pole with the wrong sign amplifies waves")
    return real(value, name, positive=True)


def written(name, *numbers):
    """The medium of one term, by the name of its constructor."""
    return Dispersion(0.0, (replace(FORMULAS[name](*numbers), call=(name, numbers)),))


@keywords
def Debye(strength: float, tau: float) -> Dispersion:
    """Debye's relaxation of polar media such as water: strength / (1 + i omega tau).

    strength: what it adds to the static value, positive
    tau:      relaxation time, positive
    A medium is `high + Debye(strength, tau)`.  Raises ValueError for other numbers.
    Taflove & Hagness 2005, section 9.2."""
    strength, tau = strength_of(strength, "strength"), real(tau, "tau", positive=True)
    return written("Debye", strength, tau)


@keywords
def Drude(plasma: float, damping: float) -> Dispersion:
    """Drude's free electrons of metals and plasmas: plasma^2 / (s^2 + damping s) = -plasma^2 / (omega^2 - i damping omega).

    plasma:   plasma frequency, angular, positive
    damping:  collision rate, 1 / time, not negative
    A medium is `high + Drude(plasma, damping)`.  Raises ValueError for other numbers.
    Taflove & Hagness 2005, section 9.2."""
    plasma, damping = strength_of(plasma, "plasma"), real(damping, "damping", negative=False)
    return written("Drude", plasma, damping)


@keywords
def Lorentz(strength: float, resonance: float, damping: float) -> Dispersion:
    """Lorentz's bound electrons: strength w0^2 / (w0^2 + i damping omega - omega^2) with w0 = resonance.

    strength:   what it adds to the static value, positive
    resonance:  resonance frequency w0, angular, positive
    damping:    full width of a narrow line, 1 / time, not negative; some texts write 2 delta
    A medium is `high + Lorentz(strength, resonance, damping)`.  Raises ValueError for other numbers.
    Taflove & Hagness 2005, section 9.2."""
    strength, resonance = strength_of(strength, "strength"), real(resonance, "resonance", positive=True)
    return written("Lorentz", strength, resonance, real(damping, "damping", negative=False))


@keywords
def Poles(poles: complex | Sequence[complex], residues: complex | Sequence[complex]) -> Dispersion:
    """Poles of any kind, with their conjugates: sum of r / (s - p), and of conj(r) / (s - conj(p)) where p is not real.

    poles:     a number p or several, each with Re p <= 0; of a conjugate pair give one
    residues:  a number r for each, real where p is real; r at p = 0 is a conductivity
    A medium is `high + Poles(poles, residues)`; that it is passive is checked when a law takes it.
    Critical points of metals, A w0 (exp(i phi) / (w0 + omega - i gamma) + exp(-i phi) / (w0 - omega + i gamma)), are
    Poles(-gamma + i w0, -i A w0 exp(-i phi)).
    Raises ValueError for other numbers, for unstable poles, and where a pole and its conjugate are both given."""
    poles, residues = (list(np.atleast_1d(np.asarray(values, dtype=object)).ravel()) for values in (poles, residues))
    if len(poles) != len(residues) or not poles:
        raise ValueError(f"{len(poles)} poles with {len(residues)} residues are not allowed; give a residue for each pole")
    for name, values in (("poles", poles), ("residues", residues)):
        for value in values:
            if not isinstance(value, Complex) or not np.isfinite(complex(value)):
                raise ValueError(f"{name}: {value!r} is not allowed; it must be a finite number, real or complex")
    terms, poles = [], [complex(pole) for pole in poles]
    for p, r in zip(poles, map(complex, residues)):
        if p.real > 0:
            raise ValueError(f"the pole {shown(p)!r} is unstable: its field grows as exp({p.real:.6g} t); it must have Re <= 0")
        if p.imag == 0 and r.imag != 0:
            raise ValueError(f"the real pole {shown(p)!r} has the residue {r!r}; it must be real")
        if p.imag != 0 and p.conjugate() in poles:
            raise ValueError(f"the pole {p!r} and its conjugate are both given; give one, which stands for both")
        call = ("Poles", (shown(p), shown(r)))
        term = FORMULAS["pole"](p.real, r.real) if p.imag == 0 else pair(p.real, p.imag, r.real, r.imag)
        terms.append(replace(term, call=call))
    return Dispersion(0.0, tuple(terms))


def shown(value):
    """A complex number as a float where it is real."""
    return value.real if value.imag == 0 else value
