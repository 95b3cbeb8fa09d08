"""A shear layer in a weak magnetic field rolls up."""
import numpy as np

from dgarray import FiniteVolume, Grid, Simulation, wall

from .common import check_numbers
from .grids import magnetic_energy, mhd_flux, mhd_law, mhd_results


def mhd_kelvin_helmholtz(cells=64, mach=1.0, alfven=0.1, push=0.01, scheme="muscl", flux="hlld", limiter="van-leer",
                         variables="auto", cleaning_speed="auto", until=8.0):
    """A shear layer in a weak, oblique magnetic field rolls up; the vortex stretches the field until that tears it apart.

    Method: FiniteVolume on a grid.

    MHD in 2D, 0 < x < 1, |y| < 1, gamma = 5/3, rho = 1, p = 3/5 (the speed of sound is 1), periodic in x, walls at y = -+1:
    v = (mach / 2 tanh(20 y), push sin(2 pi x) exp(-(y / 0.1)^2), 0),  B = alfven (cos 60, 0, sin 60) degrees.

    cells: along x, twice as many along y; mach: of the jump of velocity; alfven: speed of Alfven waves; push: of the wave
    scheme, limiter, variables: as for FiniteVolume; flux: rusanov, hll or hlld
    cleaning_speed: "auto" is the fastest wave along an axis at the start, 0 switches the cleaning off
    results: the energy of the field in the plane over that at the start, least density and pressure, largest |div B|
    The walls conduct perfectly and are free to slip.  Mignone, Tzeferacos & Bodo 2010."""
    check_numbers(least=1, whole=True, cells=cells)
    check_numbers(mach=mach, alfven=alfven, push=push)
    grid = Grid((0, -1), (1, 1), (cells, 2 * cells), periodic=(True, False))

    def state(x, law):
        x, y = np.broadcast_arrays(*x)
        one = 1.0 + 0.0 * x
        return law.conservative((one, mach / 2 * np.tanh(20 * y), push * np.sin(2 * np.pi * x) * np.exp(-100 * y * y), 0 * one,
                                 0.6 * one, alfven / 2 * one, 0 * one, alfven * 0.75 ** 0.5 * one))

    law = mhd_law(grid, 5 / 3, state, cleaning_speed)

    def results(dataset):
        before, after = (magnetic_energy(dataset, time, ("Bx", "By")) for time in (0, -1))
        return {"field_energy_growth": after / before, **mhd_results(dataset, law)}

    return Simulation(grid, law, FiniteVolume(scheme, limiter=limiter, variables=variables), wall, lambda x: state(x, law),
                      flux=mhd_flux(flux), until=until, case="mhd_kelvin_helmholtz", results=results)
