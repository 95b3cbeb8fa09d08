"""Linear responses with memory as ordinary differential equations at each point.

Where the frequency domain has  C lambda(s) s q = f,  s = i omega,  with lambda = 1 at infinite frequency, the time domain has

    C dq/dt = f - C d(y - q)/dt,   y = lambda q,

and lambda is a product of stages, each a sum of terms of first or second order in s with a state z of its own:

    y_1 = q + sum of values(z),   dz/dt = rate(z, q);   y_2 = y_1 + ..., and so on.

A term has `states`, their number, rate(z, y, x, m), value(z), change(z, dz, y, x, m), the rate of the value, `fastest`, about
how fast it changes at most, and at_end(): a term for the last stage, where only the rate of the value is asked for.

Taflove & Hagness 2005, chapter 9.
"""
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from .auxiliary_variables import Internal
from .capacity import diagonal
from .dispersion import Relaxation


def polarisation(term, high, name=None):
    """The term chi(s) / high of a dispersive permittivity or permeability high + sum of chi, see `dgarray.physics.dispersion`.

    Its states have the size of the field, in SI units too.  name: of the law's parameter that is `high`, where it varies"""
    typical = term.typical
    if isinstance(term, Relaxation):
        return Relaxing(term, high, name, typical.residue / high or typical.decay or 1.0 if term.of_law else None)
    return Resonating(term, high, name, max(typical.fastest, abs(typical.b0 / high) ** 0.5))


class Term:
    """Base of the terms, by default with the first state as the value; subclasses are frozen dataclasses."""

    def value(self, z):
        return z[0]

    def change(self, z, dz, y, x, m):
        return self.value(dz)

    def at_end(self):
        return self

    def at_parameters(self, m):
        """The term with the numbers that the law's parameters m have."""
        return self


@dataclass(frozen=True)
class Polarising(Term):
    """Base of the terms of dispersive media.

    term   a `Relaxation` or a `Resonance`;  high: the value at infinite frequency;  name: of the law's
    parameter that has it, None: it is `high`"""

    term: Any
    high: float
    name: Any

    def at_parameters(self, m):
        high = self.high if self.name is None else getattr(m, self.name)
        return replace(self, term=self.term.at_parameters(m), high=high)


@dataclass(frozen=True)
class Relaxing(Polarising):
    """residue / (s + decay) / high:  dz/dt = -decay z + unit y,  P = residue / unit z.

    unit   None: residue / high, so that P = high z; else a number, of terms whose residue may be 0"""

    unit: Any = None
    states: int = 1

    @property
    def gain(self):
        return self.loss if self.unit is None else self.unit

    def rate(self, z, y, x, m):
        return (self.gain * y - self.term.decay * z[0],)

    def value(self, z):
        return z[0] if self.unit is None else self.loss / self.unit * z[0]

    def energy(self, z):
        return self.term.decay * self.term.residue / (2 * self.gain * self.gain) * z[0] * z[0]

    @property
    def fastest(self):
        return self.term.fastest

    @property
    def loss(self):
        return self.term.residue / self.high

    def at_end(self):
        conducts = self.term.decay == 0 and "pole" not in (self.term.of_law or ())
        return Loss(lambda x, m: self.at_parameters(m).loss, self.loss) if conducts else self


@dataclass(frozen=True)
class Resonating(Polarising):
    """(b0 + b1 s) / (s^2 + a1 s + a0) / high, in units of the frequency `unit`:

    dz1/dt = unit z2,  dz2/dt = unit y - a0 / unit z1 - a1 z2,  P = b0 / unit^2 z1 + b1 / unit z2."""

    unit: float
    states: int = 2

    def rate(self, z, y, x, m):
        return self.unit * z[1], self.unit * y - self.term.a0 / self.unit * z[0] - self.term.a1 * z[1]

    def value(self, z):
        return self.term.b0 / (self.unit ** 2 * self.high) * z[0] + self.term.b1 / (self.unit * self.high) * z[1]

    def energy(self, z):
        return self.term.energy((z[0] / self.unit ** 2, z[1] / self.unit))

    @property
    def fastest(self):
        return self.unit

    def at_end(self):
        typical = self.term.typical
        conducts = typical.a0 == 0 == typical.b1
        return Current(self.term, self.high, self.name, (typical.b0 / self.high) ** 0.5) if conducts else self


@dataclass(frozen=True)
class Current(Polarising):
    """The rate of Drude's term plasma^2 / (s^2 + damping s), over high: plasma^2 / (high unit) z with
    dz/dt = -damping z + unit y,  unit = plasma / sqrt(high)."""

    unit: float
    states: int = 1

    def rate(self, z, y, x, m):
        return (self.unit * y - self.term.a1 * z[0],)

    def change(self, z, dz, y, x, m):
        return self.term.b0 / (self.unit * self.high) * z[0]

    def energy(self, z):
        return self.term.b0 / (2 * self.unit * self.unit) * z[0] * z[0]

    @property
    def fastest(self):
        return max(self.term.a1, self.unit)


@dataclass(frozen=True)
class Conduction(Term):
    """The term sigma / (C s) of a conductivity: dz/dt = sigma y / C, with the function (m) -> sigma / C."""

    quotient: object
    states: int = 1

    def rate(self, z, y, x, m):
        return (self.quotient(m) * y,)

    fastest: float = 0.0          # as of a law's own source

    def at_end(self):
        return Loss(lambda x, m: self.quotient(m), 0.0)


@dataclass(frozen=True)
class Loss(Term):
    """The rate factor(x, m) y, without a state."""

    factor: object
    fastest: float
    states: int = 0

    def rate(self, z, y, x, m):
        return ()

    def value(self, z):
        return 0.0

    def change(self, z, dz, y, x, m):
        return self.factor(x, m) * y


class Chain(NamedTuple):
    """The stages of variables of a law.

    variables   their numbers: one, or the components of a vector along the axes, None for one that the law does not have
    stages      of each component alike, a list of lists of terms
    radial      stages that come after these for the vector's component along direction(x), a function that returns the
                components of a unit vector"""

    variables: tuple
    stages: list
    radial: list = []
    direction: object = None

    @property
    def shortened(self):
        """A copy without the states of the last stage that nothing asks for."""
        if self.radial or not self.stages:
            return self
        *first, last = self.stages
        return self._replace(stages=[*first, [term.at_end() for term in last]])


class Walk:
    """The states of the terms one after the other, and what is found of their rates."""

    def __init__(self, w, x, m):
        self.w, self.x, self.m, self.at, self.rates = w, x, m, 0, []

    def through(self, stages, y, to_end=False):
        """(y after the stages, with to_end after the last one too; d(y - q)/dt)"""
        total = 0.0
        for number, stage in enumerate(stages):
            change, values, terms = 0.0, [], [term.at_parameters(self.m) for term in stage]
            for term in terms:
                z = self.w[self.at:self.at + term.states]
                dz, self.at = term.rate(z, y, self.x, self.m), self.at + term.states
                self.rates += dz
                change = change + term.change(z, dz, y, self.x, self.m)
                values.append((term, z))
            total = total + change
            if number < len(stages) - 1 or to_end:
                y = y + sum(term.value(z) for term, z in values)
        return y, total


def states_of(stages):
    """How many states these stages have."""
    return sum(term.states for stage in stages for term in stage)


def internal_of(law, chains, energy=None, replaces_source=False, parameters=None):
    """The `Internal` of a law with these `Chain`s; None without a stage. The other arguments are those of `Internal`."""
    chains = [chain.shortened for chain in chains]
    names = []
    for chain in chains:
        present = [v for v in chain.variables if v is not None]
        names += [f"{law.variables[v]}_{k}" for v in present for k in range(states_of(chain.stages))]
        names += [f"{law.variables[present[0]][0]}r_{k}" for k in range(states_of(chain.radial))]
    if not any(chain.stages for chain in chains):
        return None

    def walked(q, w, x, m):
        """(rates of the internal variables, d(y - q)/dt of each variable)"""
        walk, totals = Walk(w, x, m), [0.0] * len(q)
        for chain in chains:
            ends = {v: walk.through(chain.stages, q[v], bool(chain.radial)) for v in chain.variables if v is not None}
            for v, (_, total) in ends.items():
                totals[v] = total
            if chain.radial:
                n = dict(zip(chain.variables, chain.direction(x)))
                _, along = walk.through(chain.radial, sum(ends[v][0] * n[v] for v in ends))
                for v in ends:
                    totals[v] = totals[v] + along * n[v]
        return walk.rates, totals

    def rate(q, w, x, m):
        return tuple(walked(q, w, x, m)[0])

    def adds(q, w, x, m):
        return tuple(-c * total for c, total in zip(diagonal(law.capacity(m)), walked(q, w, x, m)[1]))
    terms = [term for chain in chains for stage in [*chain.stages, *chain.radial] for term in stage]
    fastest = max(term.fastest for term in terms)
    return Internal(tuple(names), rate, adds, energy, fastest, replaces_source, parameters or {})


def stored_energy(chains):
    """The function (w, m) -> energy density of the polarisations in these `Chain`s, where all terms have one; else None."""
    terms = [term for chain in chains for v in chain.variables if v is not None for stage in chain.shortened.stages
             for term in stage if term.states]
    if not terms or not all(term.term.stores for term in terms):
        return None

    def energy(w, m):
        total, at = 0.0, 0
        for term in terms:
            total, at = total + term.at_parameters(m).energy(w[at:at + term.states]), at + term.states
        return total
    return energy
