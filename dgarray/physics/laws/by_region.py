"""Laws given by region of the mesh, {region: law}."""
from copy import copy

from .law import Law


def law_of(given):
    """The law that a user gave: itself, or for {region: law} one that stands for all, with the attribute `laws`.

    Laws of one class are that class with parameters by region. Of laws of several classes the variables are known, and what
    goes with their names. What computes takes each region's own law.
    Raises ValueError for laws whose variables differ."""
    if not isinstance(given, dict):
        return given
    if not given or not all(isinstance(law, Law) for law in given.values()):
        raise ValueError(f"law={given!r} is not allowed; give a law, or {{region: law}}")
    (name, first), *others = given.items()
    for other, law in others:
        if (law.dim, law.variables) != (first.dim, first.variables):
            raise ValueError(f"the laws of the regions {name!r} and {other!r} do not go together: the variables are "
                             f"{', '.join(first.variables)} in {first.dim}D and {', '.join(law.variables)} in {law.dim}D; "
                             "they must be the same")
        if law.units != first.units:
            raise ValueError(f"the laws of the regions {name!r} and {other!r} have other units: {first!r} and {law!r}; give "
                             "both the same units")
    alike = all(type(law) is type(first) and set(law.parameters) == set(first.parameters) for _, law in others)
    whole = copy(first) if alike else Unlike(first)
    whole.laws = given
    whole.parameters = {name: by_region(name, given) for name in first.parameters} if alike else {}
    return whole


def by_region(name, laws):
    """A parameter of all laws: one number if it is the same, else {region: value}."""
    values = {region: law.parameters[name] for region, law in laws.items()}
    first, *others = values.values()
    return first if all(value is first or value == first for value in others) else values


class Unlike(Law):
    """Laws of several classes: the variables that they share."""

    def __init__(self, law):
        self.dim, self.variables, self.long_names, self.units = law.dim, law.variables, law.long_names, law.units

    def __repr__(self):
        return "{" + ", ".join(f"{name!r}: {law!r}" for name, law in self.laws.items()) + "}"

    def flux(self, q, n):
        raise TypeError("each region has its own flux")

    wave_speed = flux
