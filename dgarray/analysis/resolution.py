"""Whether a mesh carries the waves of a frequency: what they lose by discontinuous Galerkin methods over a wavelength."""
import warnings
from math import factorial
from types import SimpleNamespace

import numpy as np

from ..physics.trace import arguments, call

MOST = 0.01          # share of its amplitude that a wave may lose over a wavelength


def warn_of_short_waves(name, operator, frequencies):
    """Warn of a frequency of the record `name` whose waves lose more than 1 % of their amplitude over a wavelength in half of
    the cells.

    The speed of waves is the slowest of those along the axes that the law has in a cell.  Absorbing layers, grids, nonlinear
    laws and laws by region are left out."""
    mesh, law, order = operator.mesh, operator.law, getattr(operator.method, "order", None)
    if mesh.structured or not isinstance(order, int | dict) or law.laws is not None or "q" in arguments(law.wave_speed):
        return
    mesh, highest = mesh.whole, frequencies.max()
    found = loss(mesh, law, order, highest)
    for layer in mesh.layers:
        found[mesh.regions[layer.region]] = np.nan
    share = np.nanmedian(found)
    if share > MOST and operator.writes:
        warnings.warn(f"record {name!r}: waves of the frequency {highest:g} lose {100 * share:.3g} % of their amplitude over a "
                      "wavelength, or more, in half of the cells; such frequencies need smaller cells or a higher order",
                      stacklevel=6)


def loss(mesh, law, order, frequency):
    """(cell,) share of its amplitude that a wave loses over a wavelength, at most 1, with the upwind flux:

        pi (p! / (2p + 1)!)^2 (k h)^(2p + 1),   k = 2 pi f / c,   h^dim the measure of a cell, of simplices times dim!

    order: p, or {region: p}.  Ainsworth 2004, theorem 1."""
    p = cell_values(mesh, order if isinstance(order, dict) else float(order), ())
    x = tuple(mesh.centroids.T)
    values = SimpleNamespace(**{name: cell_values(mesh, value, x) for name, value in law.parameters.items()})
    speed = np.min([np.broadcast_to(call(law.wave_speed, dict(n=tuple(axis), x=x, t=0.0, m=values)), len(mesh.cells))
                    for axis in np.eye(mesh.dim)], axis=0)
    corners = np.count_nonzero(mesh.cells >= 0, axis=1)
    boxes = mesh.measures * np.where(corners == mesh.dim + 1, factorial(mesh.dim), 1)
    kh = 2 * np.pi * frequency / speed * boxes ** (1 / mesh.dim)
    share = {own: np.pi * (factorial(int(own)) / factorial(2 * int(own) + 1)) ** 2 for own in np.unique(p)}
    return np.minimum([share[own] for own in p.tolist()] * kh ** (2 * p + 1), 1.0)


def cell_values(mesh, value, x):
    """(cell,) values of a parameter: a number, {region: number}, "default" for all other cells, or a function of x."""
    if callable(value):
        value = np.asarray(call(value, dict(x=x)), float)
    if not isinstance(value, dict):
        return np.broadcast_to(value, len(mesh.cells))
    found = np.full(len(mesh.cells), float(value.get("default", np.nan)))
    for region, number in value.items():
        if str(region) in mesh.regions:
            found[mesh.regions[str(region)]] = number
    return found
