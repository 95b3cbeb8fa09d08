"""Terms without derivatives that make the largest step shorter than waves do: which one, where, and what to do about it."""
from typing import NamedTuple

import numpy as np

from ..physics.laws.law import argument
from ..physics.linear_response import polarisation
from ..physics.pointwise import Pointwise
from ..physics.trace import call
from .dg.auxiliary_sets import speeds_of_layers
from .dg.boundary_setup import parameters_on
from .dg.sets import numbers_by_region

SHORTER = 0.5          # a step that is shorter than this share of that of the waves is not theirs
CONDUCTOR = ("a good conductor is a wall: cut its region out of the mesh and give its surface dgarray.pec, or "
             "dgarray.impedance(Z) with Z = (pi f mu / sigma) ** 0.5")
MEDIUM = ("leave out terms that are much faster than all frequencies that matter, a relaxation's strength joins the number; a "
          "metal may be a wall, dgarray.pec or dgarray.impedance")


class LocalRate(NamedTuple):
    """How fast a term changes the unknowns at most, 1 / time; the term and where it is; what to do about it."""

    rate: float
    text: str
    advice: str


def limit_of_step(problem, step, waves):
    """One line that says which term sets a step that waves do not set, and what to do; None where they set it.

    step    the largest stable step;  waves: that of the waves alone, or None where it is not known"""
    if waves is None or not 0 < step < SHORTER * waves:
        return None
    found = [each for each in local_rates(problem) if each.rate * waves > 1]
    if found:
        _, text, advice = max(found, key=lambda each: each.rate)
    elif problem.source is not None:
        text, advice = "the source", "a smaller rate of it, or its steady part alone, allows longer steps"
    else:
        return None
    return (f"the largest stable time step, {step:.3g}, is set by {text}, not by waves, which allow {waves:.3g}, "
            f"{waves / step:.2g} times as much; {advice}")


def local_rates(problem):
    """The `LocalRate`s of a problem: conduction and other damping, dispersive media, absorbing layers."""
    mesh, law = problem.mesh if problem.mesh.structured else problem.mesh.whole, problem.law
    if law.laws is None:
        return [*of_law(mesh, law), *([] if mesh.structured else of_layers(mesh, [law], None))]
    of_element, laws = numbers_by_region(mesh, law.laws, "law"), list(law.laws.items())
    found = [each for number, (region, own) in enumerate(laws)
             for each in of_law(mesh, own, np.flatnonzero(of_element == number), region)]
    return [*found, *of_layers(mesh, [own for _, own in laws], of_element)]


def of_law(mesh, law, cells=None, region=None):
    """The `LocalRate`s of a law in all elements, or in the elements `cells` of a region."""
    found = [] if law.damping is None else [damping_of(mesh, law, cells, region)]
    for name, given in law.dispersive.items():
        for of_medium, medium in (given if isinstance(given, dict) else {region: given}).items():
            rate = max((polarisation(term, medium.high).at_end().fastest for term in medium.terms), default=0.0)
            found.append(LocalRate(rate, f"{argument(law, name)} = {medium!r}{within(of_medium)}, whose fastest term has the "
                                   f"rate {rate:.3g}", MEDIUM))
    if law.internal is not None and law.internal.fastest:
        found.append(LocalRate(law.internal.fastest, f"the internal variables {', '.join(law.internal.names)}{within(region)}, "
                               f"with the rate {law.internal.fastest:.3g}", "smaller rates allow longer steps"))
    return found


def damping_of(mesh, law, cells, region):
    """The `LocalRate` of the law's own source where it is largest."""
    x = centres(mesh) if mesh.structured else tuple(mesh.centroids.T)
    with np.errstate(all="ignore"):          # of a law of one region the values elsewhere do not matter
        varying = {name: np.asarray(call(value, dict(x=x), name), float)
                   for name, value in law.parameters.items() if callable(value)}
    varying |= {} if mesh.structured else parameters_on(mesh, law)
    numbers = {name: None if name in varying else float(value) for name, value in law.parameters.items()}
    rates = np.asarray(Pointwise(law.damping, {"m": numbers}, "damping")(m=varying)[0])
    if rates.ndim:
        rates, *x = (each.ravel() for each in np.broadcast_arrays(rates, *x))
        at = int(np.argmax(rates) if cells is None else cells[np.argmax(rates[cells])])
        rate, where = float(rates[at]), where_is(mesh, at, [c[at] for c in x])
    else:
        rate, where = float(rates), within(region)
    conducts = law.fields
    return LocalRate(rate, f"{'sigma / eps' if conducts else 'the damping'}{where}, with the rate {rate:.3g}",
                     CONDUCTOR if conducts else "a smaller damping allows longer steps")


def centres(grid):
    """The coordinates of the cells' centres of a grid, arrays that broadcast."""
    return np.meshgrid(*[a + h * (np.arange(n) + 0.5) for a, h, n in zip(grid.lower, grid.spacing, grid.cells)], sparse=True)


def within(region):
    return "" if region is None else f" in the region {str(region)!r}"


def where_is(mesh, element, x):
    """The smallest region that an element is in, or where it is."""
    inside = [] if mesh.structured else [(len(cells), name) for name, cells in mesh.regions.items() if element in cells]
    return within(min(inside)[1]) if inside else f" at ({', '.join(f'{c:.6g}' for c in x)})"


def of_layers(mesh, laws, of_law):
    """The `LocalRate`s of the mesh's absorbing layers; of_law: number of each element's law, None: there is one."""
    found = []
    for layer, speed in zip(mesh.layers, speeds_of_layers(mesh, laws, of_law)):
        rate = speed * (layer.largest + layer.shift)
        found.append(LocalRate(rate, f"the absorbing layer {layer.region!r}, with the rate {rate:.3g}",
                               "make the layer thicker, or let it reflect more"))
    return [each for each in found if np.isfinite(each.rate)]
