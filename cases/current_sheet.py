"""Two sheets of current that reconnect."""
import numpy as np

from dgarray import FiniteVolume, Grid, Simulation

from .common import check_numbers
from .grids import magnetic_energy, mhd_flux, mhd_law, mhd_results


def current_sheet(cells=100, beta=0.1, push=0.1, scheme="muscl", flux="hlld", limiter="van-leer", variables="auto",
                  cleaning_speed="auto", until=2.0):
    """A magnetic field that changes sign across two sheets is shaken, reconnects by numerical resistivity, and makes islands.

    Method: FiniteVolume on a grid.

    MHD in 2D, |x| < 0.5, |y| < 0.5, periodic, gamma = 5/3, rho = 1, p = beta / 2, v = (push sin 2 pi y, 0, 0),
    B = (0, 1, 0) for |x| > 0.25, else (0, -1, 0).  There is no exact solution: the test is how long a scheme lasts at a small
    beta or a large push.

    cells: along a side; beta: pressure over magnetic pressure, 0.1 in the source; push: 0.1 in the source
    scheme, limiter, variables: as for FiniteVolume; flux: rusanov, hll or hlld
    cleaning_speed: "auto" is the fastest wave along an axis at the start, 0 switches the cleaning off
    results: the energy of the field over that at the start, least density and pressure, largest |div B|
    Hawley & Stone 1995, section 3.4; Gardiner & Stone 2005."""
    check_numbers(least=1, whole=True, cells=cells)
    check_numbers(above=0, beta=beta)
    check_numbers(push=push)
    grid = Grid((-0.5, -0.5), (0.5, 0.5), cells, periodic=True)

    def state(x, law):
        one = 1.0 + 0.0 * (x[0] + x[1])
        return law.conservative((one, push * np.sin(2 * np.pi * x[1]) * one, 0 * one, 0 * one, beta / 2 * one, 0 * one,
                                 np.where(np.abs(x[0]) > 0.25, one, -one), 0 * one))

    law = mhd_law(grid, 5 / 3, state, cleaning_speed)

    def results(dataset):
        return {"field_energy_left": magnetic_energy(dataset) / magnetic_energy(dataset, 0), **mhd_results(dataset, law)}

    return Simulation(grid, law, FiniteVolume(scheme, limiter=limiter, variables=variables), initial=lambda x: state(x, law),
                      flux=mhd_flux(flux), until=until, case="current_sheet", results=results)
