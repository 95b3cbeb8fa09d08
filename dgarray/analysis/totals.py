"""Integrals over the domain of what a law conserves."""
import numpy as np

from ..physics.capacity import times
from ..physics.pointwise import Pointwise
from ..spaces.parts import of_places


def totals(operator, values, own=None):
    """{variable: integral of C q} and, where the law has one, {"energy": integral of its energy density}.

    values (variable, row, place) of the operator's space, on the host; C is the law's capacity (1 without).  They are the
    integrals that the scheme conserves: exact for polynomials and for energies quadratic in q; where its mass matrix is
    weight-adjusted, those of `Operator.conserved`, with the energy sum C q^2 / 2; of tensor-product DG by the quadrature of
    its nodes; on a grid by the trapezoidal rule over the nodes.
    own: (place,) over which places; None: over all"""
    law, numbers, count = operator.law, operator.problem.numbers, len(operator.law.variables)
    capacity = Pointwise(law.capacity, {"m": numbers}, "capacity") if law.capacity else None
    energy = Pointwise(law.energy, {"q": count, "m": numbers}, "energy") if law.energy else None
    names, weighted = totals_of(law), operator.conserved(values if own is None else np.where(own, values, 0))
    total = [0.0] * len(names)
    for part in of_places(operator.space.parts(extra=0), own):
        here, m = part.values(values), operator.parameters(part)
        factors = capacity(m=m) if capacity else (1.0,) * count
        densities = [*times(factors, here)] + ([energy(q=here, m=m)[0]] if energy else [])
        if weighted is not None and energy:
            densities[-1] = densities[-1] - sum(d * u for d, u in zip(densities, here)) / 2
        total = [found + part.integrate(density) for found, density in zip(total, densities)]
    if weighted is not None:
        total = [*weighted[0], *(found + weighted[1].sum() / 2 for found in total[count:])]
    return dict(zip(names, total))


def energy_inside(operator, fields, values, own=None):
    """Integral over the domain of the energy that internal variables hold, as {"energy": number}; {} where the law has none.

    fields, values (variable, row, place) of the law's and of the internal variables at the nodes;  own: as of `totals`"""
    internal = operator.law.internal
    if internal is None or internal.energy is None or operator.law.energy is None or not internal.names:
        return {}
    inputs = {"q": len(operator.law.variables), "w": len(internal.names), "x": operator.law.dim, "m": operator.problem.numbers}
    density = Pointwise(internal.energy, inputs, "energy")
    total = 0.0
    for part in of_places(operator.space.parts(extra=0), own):
        given = dict(q=part.values(fields), w=part.values(values), x=part.x, m=operator.parameters(part))
        total = total + part.integrate(density(**given)[0])
    return {"energy": total}


def totals_of_state(operator, state):
    """{variable, "energy": integral} of a state on the backend; the sum over zones, each by its own quadrature."""
    return totals_of_arrays(operator, operator.arrays(state))


def totals_of_arrays(operator, arrays):
    """{variable, "energy": integral} of the plain arrays of a state on the host; the sum over zones and ranks."""
    found = []
    for _, zone, part, own in operator.in_zones(arrays):
        found += [totals(zone, zone.nodal(part), own), energy_inside(zone, zone.nodal(part), zone.internal(part), own)]
    return operator.summed({name: float(total) for name, total in summed(found).items()})


def summed(found):
    """The sums of several {name: total}."""
    found = list(found)
    return {name: sum(each[name] for each in found if name in each) for name in found[0]}


def totals_of(law):
    """Names of what `totals` integrates."""
    return (*law.variables, *(() if law.energy is None else ("energy",)))
