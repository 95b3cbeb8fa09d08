"""A blast in a magnetic field."""
import numpy as np

from dgarray import FiniteVolume, Grid, Simulation

from .common import check_numbers
from .grids import check_dim, mhd_flux, mhd_law, mhd_results


def mhd_blast(dim=2, cells=100, pressure=10.0, field=1.0, scheme="muscl", flux="hlld", limiter="van-leer", variables="auto",
              cleaning_speed="auto", until=0.2):
    """A cylinder or ball of high pressure bursts in a gas with an oblique magnetic field, which makes the blast oval.

    Method: FiniteVolume on a grid.

    MHD in a periodic box, gamma = 5/3, rho = 1, v = 0;  p = pressure for r < 0.1, else 0.1;  B = field (1, 1, 0) / sqrt(2).
    2D: |x| < 0.5, |y| < 0.75;  3D: also |z| < 0.5.  With field = 0 it is a blast in a gas.

    dim: 2 or 3; cells: along x, as many to a length in the other directions, so an even number
    pressure: inside, 10 in the source; field: 1 in the source
    scheme, limiter, variables: as for FiniteVolume; flux: rusanov, hll or hlld
    cleaning_speed: "auto" is the fastest wave along an axis at the start, 0 switches the cleaning off
    results: least density and pressure, largest |div B|
    Stone et al. 2008 (2D, 400 x 600 cells, t = 0.2); Londrillo & Del Zanna 2000; Gardiner & Stone 2005, 2008."""
    check_dim(dim, 2, 3)
    check_numbers(least=2, whole=True, cells=cells)
    if cells % 2:
        raise ValueError(f"cells={cells} is not allowed; it must be even, because the box is 1.5 times as high as wide")
    check_numbers(above=0, pressure=pressure)
    check_numbers(field=field)
    upper = (0.5, 0.75, 0.5)[:dim]
    grid = Grid(tuple(-a for a in upper), upper, (cells, cells * 3 // 2, cells)[:dim], periodic=True)

    def state(x, law):
        square = sum(a * a for a in x)
        zero, B = 0.0 * square, field / 2 ** 0.5 + 0.0 * square
        return law.conservative((1.0 + zero, zero, zero, zero, np.where(square < 0.01, pressure, 0.1), B, B, zero))

    law = mhd_law(grid, 5 / 3, state, cleaning_speed)
    return Simulation(grid, law, FiniteVolume(scheme, limiter=limiter, variables=variables), initial=lambda x: state(x, law),
                      flux=mhd_flux(flux), until=until, case="mhd_blast", results=lambda dataset: mhd_results(dataset, law))
