"""Shock tubes of `sod` on grids, along any axis, exact."""
from dgarray import Euler, FiniteVolume, Grid, Simulation, outflow, riemann
from dgarray.support.wording import choose

from .common import check_numbers, flux_named
from .grids import check_dim, l1_errors, least_values
from .sod import TESTS

WIDTH = 4          # cells across the tube


def sod_grid(test="sod", dim=1, axis="x", cells=100, scheme="muscl", flux="hllc", limiter="van-leer", variables="auto",
             until=None):
    """Sod's shock tube and others by finite volumes on a grid, along an axis in 1D, 2D or 3D.

    Method: FiniteVolume on a grid.

    gamma = 1.4, (rho, u, p) = left for s < s0, right for s > s0, s the coordinate along the axis from 0 to 1; the seven tests
    are those of the case sod: sod, lax, toro1 to toro5.  Exact by the Riemann problem.  Across the tube are 4 periodic cells.

    test: one of the seven; axis: "x", "y" or "z"; cells: along the tube
    scheme, limiter, variables: as for FiniteVolume; flux: rusanov, hll, hllc or roe; until: by default the time of the test
    results: mean errors of density and energy, least density and pressure
    Sod 1978; Lax 1954; Toro 2009, table 6.2 (tests 1 to 5)."""
    left, right, at, end = TESTS[choose("test", test, TESTS)]
    check_dim(dim, 1, 2, 3)
    check_numbers(least=1, whole=True, cells=cells)
    along = "xyz".index(choose("axis", axis, "xyz"[:dim]))
    direction = tuple(float(k == along) for k in range(dim))
    across = tuple(k != along for k in range(dim))
    upper, counts = (tuple(b if side else a for side in across) for a, b in ((1.0, WIDTH / cells), (cells, WIDTH)))
    grid = Grid((0,) * dim, upper, counts, across)
    law = Euler(dim)
    exact = riemann(law, *((rho, *(u * k for k in direction), p) for rho, u, p in (left, right)), at=at, direction=direction)

    def results(dataset):
        errors = l1_errors(dataset, exact)
        return {"l1_rho": errors["rho"], "l1_E": errors["E"], **least_values(dataset, law)}

    return Simulation(grid, law, FiniteVolume(scheme, limiter=limiter, variables=variables), outflow, exact,
                      flux=flux_named(flux), exact=exact, until=end if until is None else until, case="sod_grid",
                      results=results)
