"""A weak loop of magnetic field that a gas carries along."""
import numpy as np

from dgarray import FiniteVolume, Grid, Simulation

from .common import check_numbers
from .grids import magnetic_energy, mhd_flux, mhd_law, mhd_results


def field_loop(cells=64, strength=1e-3, radius=0.3, scheme="muscl", flux="hlld", limiter="van-leer", variables="auto",
               cleaning_speed="auto", until=2.0):
    """A gas carries a weak loop of magnetic field obliquely through a periodic box; the loop should stay as it is.

    Method: FiniteVolume on a grid.

    MHD in 2D, |x| < 1, |y| < 0.5, gamma = 5/3, rho = 1, p = 1, v = (2, 1, 0);  B = curl (0, 0, strength max(radius - r, 0)),
    which is strength (-y, x, 0) / r inside the loop, 0 outside.  It crosses the box in t = 1 and is back in the middle.

    cells: along y, twice as many along x; strength: 1e-3 in the source, so the field does nothing to the gas; radius: 0.3
    until: 2, as in the source: two crossings
    scheme, limiter, variables: as for FiniteVolume; flux: rusanov, hll or hlld
    cleaning_speed: "auto" is the fastest wave along an axis at the start, 0 switches the cleaning off
    results: the energy of the field over that at the start, largest |div B| times a cell over the strength, least density and
    pressure
    Gardiner & Stone 2005 (128 x 64 cells, to t = 2); Stone et al. 2008."""
    check_numbers(least=1, whole=True, cells=cells)
    check_numbers(above=0, strength=strength, radius=radius)
    if radius >= 0.5:
        raise ValueError(f"radius={radius!r} is not allowed; the loop must fit into the box, below 0.5")
    grid = Grid((-1, -0.5), (1, 0.5), (2 * cells, cells), periodic=True)

    def state(x, law):
        r = np.sqrt(x[0] * x[0] + x[1] * x[1])
        one, share = 1.0 + 0.0 * r, np.where(r < radius, strength, 0.0) / np.maximum(r, 1e-12)
        return law.conservative((one, 2 * one, one, 0 * one, one, -share * x[1], share * x[0], 0 * one))

    law = mhd_law(grid, 5 / 3, state, cleaning_speed)

    def results(dataset):
        found = mhd_results(dataset, law)
        found["largest_divergence"] *= float(dataset.y[1] - dataset.y[0]) / strength
        return {"field_energy_left": magnetic_energy(dataset) / magnetic_energy(dataset, 0), **found}

    return Simulation(grid, law, FiniteVolume(scheme, limiter=limiter, variables=variables), initial=lambda x: state(x, law),
                      flux=mhd_flux(flux), until=until, case="field_loop", results=results)
