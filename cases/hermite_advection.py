"""A smooth field that a constant velocity carries through a periodic box, by Hermite's method."""
import numpy as np

from dgarray import Advection, Grid, Hermite, Simulation

from .common import check_numbers


def hermite_advection(order=3, dim=3, cells=150, steps=200, cfl=0.9, speed=-1.0, waves=1, stages=0, variant="auto",
                      pruned=True, derivatives=False, until=None):
    """The velocity a = speed (1, ..., 1) carries a product of sines through the periodic unit box, by Hermite's method.

    Method: Hermite on a grid.

    u_t + div(a u) = 0,  u = prod_i sin(2 pi waves (x_i - a_i t)).

    order: N, derivatives in each direction; dim: 1, 2 or 3; cells: points along a side; steps: number of steps of length
    cfl h / |speed|, unless `until` gives the end; stages: of the Taylor series, 0 for all, dim (2 N + 1); variant: "auto",
    "two-kernel", "monolithic" or "collapsed"
    The setting of table 1 of Vargas, Chan, Hagstrom & Warburton 2016 (equation (1): speed -1): 150 points a side, 200
    steps, N = 1, 2, 3 on an NVIDIA GTX 980 in single precision: 2.09, 13.77, 36.17 s monolithic, 2.42, 13.77, 37.23 s by two
    kernels."""
    if dim not in (1, 2, 3):
        raise ValueError(f"dim={dim!r} is not allowed; it must be 1, 2 or 3")
    if not speed or not np.isfinite(speed):
        raise ValueError(f"speed={speed!r} is not allowed; it must be finite and not zero")
    check_numbers(above=0, steps=steps, cfl=cfl)
    check_numbers(least=1, whole=True, waves=waves)
    grid = Grid((0,) * dim, (1,) * dim, cells, periodic=True)
    k = 2 * np.pi * waves

    def exact(x, t):
        u = 1.0
        for a in x:
            u = u * np.sin(k * (a - speed * t))
        return (u,)

    until = steps * cfl * grid.spacing[0] / abs(speed) if until is None else until
    method = Hermite(order, stages or None, None if variant == "auto" else variant, bool(pruned),
                     bool(derivatives))
    return Simulation(grid, Advection((speed,) * dim), method, initial=lambda x: exact(x, 0.0), exact=exact, until=until,
                      cfl=cfl, case="hermite_advection")
