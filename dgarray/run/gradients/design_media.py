"""The two media of a design: which numbers of the law lie between those of both, and the law that has the terms of both."""
from copy import copy
from numbers import Real

import numpy as np

from ...physics.dispersion import Dispersion
from ...physics.laws.law import argument, check_bounds
from ...support.wording import choose
from .arguments import own_names


def check_media(between):
    """Raise ValueError unless these are two media by the same names, of numbers or dispersive ones, that differ."""
    good = isinstance(between, list | tuple) and len(between) == 2 and all(isinstance(each, dict) and each for each in between)
    if not good or between[0].keys() != between[1].keys():
        raise ValueError(f"between={between!r} is not allowed; give two media with the same names, "
                         "({'sound_speed': 1.0}, {'sound_speed': 0.5})")
    for name in between[0]:
        low, high = between[0][name], between[1][name]
        good = all(isinstance(each, Dispersion) or isinstance(each, Real) and not isinstance(each, bool) and np.isfinite(each)
                   for each in (low, high))
        if not good or low == high:
            raise ValueError(f"between: {name} from {low!r} to {high!r} is not allowed; give two numbers that differ, or "
                             "dispersive media")


def between_media(sim, between, where, inside):
    """(the simulation with the terms of both media in the region, {name as of `Simulation.gradient`: (number of the first
    medium, change to the second)}).

    Of dispersive media the value at infinite frequency and the factor of each term are linear in the density, so that eps is at
    every frequency; terms that both have are one term.  Their numbers in the simulation's law are those of its own medium.

    between, where   as of `dgarray.design`;  inside: numbers of the elements of the region
    Raises ValueError for media that the law does not allow."""
    own, law, change = own_names(sim.law), copy(sim.law), {}
    law.dispersive = dict(law.dispersive)
    for name in between[0]:
        choose("wrt", name, own, f" for {sim.law!r}; derivatives are by")
        media, part = [medium_of(each[name]) for each in between], own[name]
        check_bounds(law, part, [medium.high for medium in media], f"between: {name} of {between!r}")
        if callable(law.parameters[part]):
            raise ValueError(f"{name} is a function of x in {law!r}; give the simulation a number, or one for each region")
        change[name] = media[0].high, media[1].high - media[0].high
        regions = [where] if isinstance(where, str) else [None] if where is None or callable(where) else list(where)
        given = law.dispersive.get(part, {})
        before = given if isinstance(given, dict) else dict.fromkeys([None, *regions], given)
        if not any(medium.terms for medium in media) and not before.keys() & {None, *regions}:
            continue
        if callable(where):
            raise ValueError(f"where={where!r} is not allowed with dispersive media; give the name of a region")
        check_dispersive(sim, part, media, inside)
        if None in before and where is not None:
            raise ValueError(f"{name} of {law!r} is dispersive everywhere, and the design is not; give {name} by region, "
                             "{region: medium}")
        for region in regions:
            medium, more = both(media, before.get(region, Dispersion(0.0)), name)
            before = {region: medium} if region is None else before | {region: medium}
            change |= more
        law.dispersive[part] = before.get(None, before)
    return sim.replace(law=law) if law.dispersive != sim.law.dispersive else sim, change


def medium_of(value):
    return value if isinstance(value, Dispersion) else Dispersion(float(value))


def check_dispersive(sim, part, media, inside):
    """Raise ValueError where dispersive media are not allowed."""
    if part not in sim.law.may_be_dispersive:
        raise ValueError(f"between: {argument(sim.law, part)} of {sim.law!r} must not be dispersive; of Maxwell eps and mu may "
                         "be")
    for medium in media:
        medium.check_passive()
    layers = [layer.region for layer in sim.mesh.layers if np.isin(inside, sim.mesh.regions[layer.region]).any()]
    if layers:
        raise ValueError(f"a dispersive design goes on in the absorbing layer {layers[0]!r}, where waves may grow; give where= "
                         "a region that ends before it")


def both(media, before, name):
    """(The medium with the terms of both, {name of a factor: (of the first medium, change)}); before: the simulation's own."""
    terms, factors = [], []
    for which, medium in enumerate((*media, before)):
        free = list(range(len(terms)))
        for term in medium.terms:
            unit = term.unit or term
            same = next((k for k in free if terms[k] == unit), None)
            if same is None and which == 2:
                continue          # a term that neither medium has
            if same is None:
                terms.append(unit)
                factors.append([0.0, 0.0, 0.0])
                same = len(terms) - 1
            else:
                free.remove(same)
            factors[same][which] = term.factor
    change = {f"{name}.factor_{k + 1}": (low, high - low) for k, (low, high, _) in enumerate(factors) if low != high}
    own = [now if low != high else low for low, high, now in factors]
    return Dispersion(media[0].high, tuple(unit.scaled(factor) for unit, factor in zip(terms, own))), change
