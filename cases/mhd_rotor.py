"""A dense disc that spins in a magnetic field."""
import numpy as np

from dgarray import FiniteVolume, Grid, Simulation, outflow
from dgarray.support.wording import choose

from .common import check_numbers
from .grids import mhd_flux, mhd_law, mhd_results

# Speed at the rim, pressure, field times sqrt(4 pi), time.
TESTS = {"first": (2.0, 1.0, 5.0, 0.15), "second": (1.0, 0.5, 2.5, 0.295)}
INNER, OUTER = 0.1, 0.115


def mhd_rotor(test="first", cells=128, scheme="muscl", flux="hlld", limiter="van-leer", variables="auto", cleaning_speed="auto",
              until=None):
    """A dense disc spins in a gas at rest; the magnetic field winds up, slows it down and presses it flat.

    Method: FiniteVolume on a grid.

    MHD in 2D in the unit square, gamma = 1.4, r the distance from its middle, f = (0.115 - r) / 0.015 between 0 and 1:
    rho = 1 + 9 f,  v = f V (0.5 - y, x - 0.5) / max(r, 0.1),  p = p0,  B = (b / sqrt(4 pi), 0, 0).
    first: V = 2, p0 = 1, b = 5, t = 0.15;  second: V = 1, p0 = 0.5, b = 2.5, t = 0.295.  All sides are free outflow.

    test: "first" or "second"; cells: along a side; until: by default the time of the test
    scheme, limiter, variables: as for FiniteVolume; flux: rusanov, hll or hlld
    cleaning_speed: "auto" is the fastest wave along an axis at the start, 0 switches the cleaning off
    results: least density and pressure, largest |div B|
    Balsara & Spicer 1999; Toth 2000 (first and second rotor problem)."""
    speed, pressure, field, end = TESTS[choose("test", test, TESTS)]
    check_numbers(least=1, whole=True, cells=cells)
    grid = Grid((0, 0), (1, 1), cells)

    def state(x, law):
        x, y = x[0] - 0.5, x[1] - 0.5
        r = np.sqrt(x * x + y * y)
        share = np.clip((OUTER - r) / (OUTER - INNER), 0.0, 1.0)
        turn, zero = share * speed / np.maximum(r, INNER), 0.0 * r
        return law.conservative((1 + 9 * share, -turn * y, turn * x, zero, pressure + zero, field / (4 * np.pi) ** 0.5 + zero,
                                 zero, zero))

    law = mhd_law(grid, 1.4, state, cleaning_speed)
    return Simulation(grid, law, FiniteVolume(scheme, limiter=limiter, variables=variables), outflow, lambda x: state(x, law),
                      flux=mhd_flux(flux), until=end if until is None else until, case="mhd_rotor",
                      results=lambda dataset: mhd_results(dataset, law))
