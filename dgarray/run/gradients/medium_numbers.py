"""Numbers of dispersive media, by which a run has derivatives: they become parameters of the law.

The number NAME of the k-th term of a medium, counted from 1, is "eps.NAME_k", and "eps.NAME" where no medium has two of them.
Names are those of `Debye`, `Drude`, `Lorentz` and `Poles`, and "factor", what multiplies the term; see
`dgarray.physics.dispersion.Written`.
"""
from dataclasses import replace
from itertools import count

import numpy as np

from ...methods.problem import by_name
from ...physics.dispersion import NUMBERS, Dispersion
from ...physics.laws.law import argument
from ...support.wording import choose

ABOVE_ZERO = "tau", "resonance"          # numbers that must be; of all others but those of poles 0 is allowed
OF_POLES = NUMBERS[NUMBERS.index("pole"):]


class MediumNumbers:
    """The numbers of a law's dispersive media that are asked for.

    law, mesh   of the simulation;  names: such as "eps.strength"
    own         {name: the law's parameter}
    part        {name: the law's parameter that is dispersive};  number: {name: of its terms}
    places      {name: {region, None for all elements: which of the terms of the medium there}}"""

    def __init__(self, sim, names):
        self.law, self.mesh = sim.law, sim.mesh
        self.own, self.part, self.number, self.places = {}, {}, {}, {}
        free = (name for name in map("number_of_medium_{}".format, count()) if name not in sim.law.parameters)
        for name in names:
            of_medium, _, number = name.partition(".")
            if of_medium in by_name(sim.options["boundary"]):
                raise ValueError(f"wrt={name!r} is not allowed where a boundary has the name {of_medium!r}, too; rename the "
                                 "boundary")
            part = {argument(self.law, each): each for each in self.law.dispersive}[of_medium]
            found = numbers_of(self.media(part))
            number = choose(f"wrt={name!r}: number", number, found, f" of {of_medium}; it has")
            if found[number] is None:
                several = [each for each in found if each.startswith(f"{number}_") and each[len(number) + 1:].isdigit()]
                raise ValueError(f"wrt={name!r} is not allowed: a medium has several terms with this number; give one of "
                                 f"{', '.join(f'{of_medium}.{each}' for each in several)}")
            self.own[name], self.part[name] = next(free), part
            self.number[name], self.places[name] = found[number]

    def media(self, part):
        """{region, None for all elements: the medium there}."""
        given = self.law.dispersive[part]
        return given if isinstance(given, dict) else {None: given}

    def cells(self, region):
        return slice(None) if region is None else self.mesh.regions[region]

    def regions(self, name):
        """The regions that a number is given by; all of the mesh where a medium is everywhere."""
        places = list(self.places[name])
        return list(self.mesh.regions) if None in places else places

    def base(self, name):
        """(Numbers of the elements, what is added to them), as of a parameter of the law; in elements without the number their
        mean, which nothing reads."""
        values, media = np.full(self.mesh.cell_count, np.nan), self.media(self.part[name])
        for region, term in self.places[name].items():
            values[self.cells(region)] = media[region].terms[term].numbers[self.number[name]]
        return np.where(np.isnan(values), np.nanmean(values), values), 0.0

    @property
    def signs(self):
        """{the law's parameter: 1 or -1} of numbers that may be 0, and else have this sign."""
        signs = {name: self.sign(number) for name, number in self.number.items()}
        return {own: signs[name] for name, own in self.own.items() if signs[name]}

    def sign(self, number):
        """The sign of a number that may be 0, else 0."""
        return -1 if number in ("pole", "pole_real") else 0 if number in (*ABOVE_ZERO, *OF_POLES) else 1

    def dispersive(self):
        """The attribute `dispersive` of the law whose parameters are the numbers."""
        found = {part: dict(self.media(part)) for part in self.law.dispersive}
        for name, places in self.places.items():
            media = found[self.part[name]]
            for region, term in places.items():
                terms = list(media[region].terms)
                terms[term] = replace(terms[term], of_law=(terms[term].of_law or {}) | {self.number[name]: self.own[name]})
                media[region] = replace(media[region], terms=tuple(terms))
        return {part: media if isinstance(self.law.dispersive[part], dict) else media[None] for part, media in found.items()}

    def check_values(self, values):
        """Raise ValueError for numbers {name: (element,)} that a medium must not have."""
        for name in self.own:
            inside = np.concatenate([np.ravel(values[name][self.cells(region)]) for region in self.places[name]])
            number, low = self.number[name], inside.min()
            positive = number in ABOVE_ZERO
            if not np.isfinite(inside).all() or number not in OF_POLES and (low <= 0 if positive else low < 0):
                raise ValueError(f"{name} between {low:.6g} and {inside.max():.6g} is not allowed; it must be "
                                 f"{'positive' if positive else 'not negative'} and finite")
        for part in dict.fromkeys(self.part.values()):
            for region, medium in self.media(part).items():
                names = [name for name in self.own if self.part[name] == part and region in self.places[name]]
                if names and any(term.call is None or term.call[0] == "Poles" for term in medium.terms):
                    self.check_passive(medium, region, {name: values[name] for name in names})

    def check_passive(self, medium, region, values):
        """Raise ValueError where poles with these numbers {name: (element,)} are unstable or gain energy."""
        rows = np.unique([np.ravel(each[self.cells(region)]) for each in values.values()], axis=1)
        for numbers in rows.T.tolist():
            changes = [{} for _ in medium.terms]
            for name, value in zip(values, numbers):
                changes[self.places[name][region]][self.number[name]] = value
            terms = [term.with_numbers(each) if each else term for term, each in zip(medium.terms, changes)]
            found = Dispersion(medium.high, tuple(terms))
            if any(damping < 0 for _, damping in (term.scales() for term in terms)):
                raise ValueError(f"{', '.join(values)} = {', '.join(f'{value:.6g}' for value in numbers)} is not allowed; a "
                                 "pole is unstable, its real part must not be positive")
            found.check_passive()


def numbers_of(media):
    """{name of a number, behind the dot: (as of `Written.numbers`, {region: number of the term}), None where a medium has
    several} of media {region: medium}."""
    found = {}
    for region, medium in media.items():
        here = {}
        for k, term in enumerate(medium.terms):
            for number in term.numbers:
                found.setdefault(f"{number}_{k + 1}", (number, {}))[1][region] = k
                here.setdefault(number, []).append(k)
        for number, terms in here.items():
            if len(terms) > 1 or found.get(number, ()) is None:
                found[number] = None
            else:
                found.setdefault(number, (number, {}))[1][region] = terms[0]
    return found


def of_medium(law, name):
    """Whether a name is that of a number of a dispersive medium."""
    return name.partition(".")[0] in {argument(law, each) for each in law.dispersive}
