"""Orszag and Tang's vortex: smooth vortices of a gas and of its magnetic field turn into shocks."""
import numpy as np

from dgarray import FiniteVolume, Grid, Simulation

from .common import check_numbers
from .grids import mhd_flux, mhd_law, mhd_results


def orszag_tang(cells=128, scheme="muscl", flux="hlld", limiter="van-leer", variables="auto", cleaning_speed="auto", until=0.5):
    """Orszag and Tang's vortex: a vortex of the gas and two of its magnetic field turn into shocks that meet.

    Method: FiniteVolume on a grid.

    MHD in 2D in the periodic unit square, gamma = 5/3, B0 = 1 / sqrt(4 pi):
    rho = 25 / (36 pi),  p = 5 / (12 pi),  v = (-sin 2 pi y, sin 2 pi x, 0),  B = B0 (-sin 2 pi y, sin 4 pi x, 0),
    so the speed of sound is 1 and the largest Mach number 1.  Compared at t = 0.5.

    cells: along a side; scheme, limiter, variables: as for FiniteVolume; flux: rusanov, hll or hlld
    cleaning_speed: "auto" is the fastest wave along an axis at the start, 0 switches the cleaning off
    results: least density and pressure, largest |div B| by central differences
    Orszag & Tang 1979; compressible: Picone & Dahlburg 1991; in these units: Stone et al. 2008 (pressure at t = 0.5)."""
    check_numbers(least=1, whole=True, cells=cells)
    grid = Grid((0, 0), (1, 1), cells, periodic=True)

    law = mhd_law(grid, 5 / 3, vortices, cleaning_speed)
    return Simulation(grid, law, FiniteVolume(scheme, limiter=limiter, variables=variables), initial=lambda x: vortices(x, law),
                      flux=mhd_flux(flux), until=until, case="orszag_tang", results=lambda dataset: mhd_results(dataset, law))


def vortices(x, law):
    """The state at the start, of angles around the centre of the square: so it is its own image under a turn by 180 degrees,
    to the last bit where the centres of the cells are."""
    a, b = (2 * np.pi * (along - 0.5) for along in x)
    one, B = 1.0 + 0.0 * (a + b), 1 / np.sqrt(4 * np.pi)
    u = np.sin(b)
    return law.conservative((25 / (36 * np.pi) * one, u, -np.sin(a), 0.0 * one, 5 / (12 * np.pi) * one, B * u,
                             B * np.sin(2 * a), 0.0 * one))
