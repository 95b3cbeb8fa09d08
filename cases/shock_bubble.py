"""A shock in air runs over a bubble of light gas."""
import numpy as np

from dgarray import Euler, FiniteVolume, Grid, Simulation, outflow, prescribed, wall

from .common import behind_shock, check_numbers, flux_named
from .grids import least_values

# In diameters of the bubble, which is 50 mm wide in a channel 89 mm high: the channel, the bubble's centre, the shock.
LENGTH, HEIGHT, CENTRE, SHOCK = 6.5, 1.78, 3.5, 4.5
HALFWAY = 0.6          # a density between those of the bubble and of the air, before and after the shock


def shock_bubble(cells=128, mach=1.22, density=0.138, scheme="muscl", flux="hllc", limiter="van-leer", variables="auto",
                 until=2.8):
    """A shock in air runs to the left over a cylindrical bubble of light gas, which rolls up into a pair of vortices.

    Method: FiniteVolume on a grid.

    Euler in 2D, one gas of gamma = 1.4; lengths in diameters of the bubble, pressure and density in those of the air, so the
    speed of sound there is 1.183:  0 < x < 6.5, |y| < 0.89 (325 x 89 mm for a bubble of 50 mm);  rho = 1, v = 0, p = 1,
    in the bubble, r < 0.5 around (3.5, 0), rho = density;  x > 4.5: the state behind a shock of that Mach number.
    Walls at the bottom and the top, free outflow on the left, the state behind the shock on the right.

    cells: across the channel, square cells along it; mach: 1.22; density: 0.138 (helium), 3.15 (R22); all in the source
    scheme, limiter, variables: as for FiniteVolume; flux: rusanov, hll, hllc or roe
    until: 2.8 is about 427 microseconds after the shock has met the bubble, in air at 20 degrees
    results: ends of the bubble along x and where it is on the axis, by the density 0.6, for density < 0.6; least density and
    pressure, greatest density
    Quirk & Karni 1996, with two gases; how much of the channel is computed is ours; Haas & Sturtevant 1987 (experiment)."""
    check_numbers(least=1, whole=True, cells=cells)
    check_numbers(above=0, density=density)
    check_numbers(above=1, mach=mach)
    law = Euler(2)
    rho, u, p = behind_shock(law.gamma, mach, 1.0, 1.0)
    behind = law.conservative((rho, -u, 0.0, p))

    def initial(x):
        inside = (x[0] - CENTRE) ** 2 + x[1] ** 2 < 0.25
        ahead = law.conservative((np.where(inside, density, 1.0), 0.0 * x[0], 0.0 * x[1], 1.0 + 0.0 * x[0]))
        return tuple(np.where(x[0] > SHOCK, a, b) for a, b in zip(behind, ahead))

    def results(dataset):
        found = {**least_values(dataset, law), "greatest_density": float(dataset.rho[-1].max())}
        light = dataset.rho[-1].values < HALFWAY
        rows = light, light[len(light) // 2:len(light) // 2 + 1]
        if all(row.any() for row in rows):
            (left, right), (back, front) = (dataset.x.values[row.any(axis=0)][[0, -1]] for row in rows)
            found |= {"bubble_left": float(left), "bubble_right": float(right), "axis_left": float(back),
                      "axis_right": float(front)}
        return found

    sides = {"left": outflow, "right": prescribed(lambda x, t: behind), "bottom": wall, "top": wall}
    grid = Grid((0, -HEIGHT / 2), (LENGTH, HEIGHT / 2), (round(cells * LENGTH / HEIGHT), cells))
    return Simulation(grid, law, FiniteVolume(scheme, limiter=limiter, variables=variables), sides, initial,
                      flux=flux_named(flux), until=until, case="shock_bubble", results=results)
