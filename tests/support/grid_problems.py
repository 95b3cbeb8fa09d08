"""Problems of finite volumes on small grids, which tests of several kernels share."""
import numpy as np
from burgers import Burgers

import dgarray as dg

FIRST, MUSCL, WENO = dg.FiniteVolume("first-order"), dg.FiniteVolume("muscl"), dg.FiniteVolume("weno")
EULER, GAS = {dim: dg.Euler(dim) for dim in (1, 2, 3)}, dg.Euler(2)


def waves_of(dim, count, seed=0):
    """`count` smooth periodic functions of x, about one."""
    numbers = np.random.default_rng(seed).integers(0, 3, (count, dim))

    def functions(x):
        return [np.sin(2 * np.pi * sum(k * c for k, c in zip(row, x)) + i) for i, row in enumerate(numbers)]
    return functions


def smooth(law):
    """A smooth periodic state of a law."""
    functions = waves_of(law.dim, 9)

    def state(x):
        f = functions(x)
        if isinstance(law, dg.MHD):
            return law.conservative((1 + 0.3 * f[0], 0.3 * f[1], 0.3 * f[2], 0.2 * f[3], 1 + 0.3 * f[4], 0.5 + 0.2 * f[5],
                                     0.3 * f[6], 0.3 * f[7], 0.1 * f[8]))
        if isinstance(law, dg.Euler):
            return law.conservative((1 + 0.3 * f[0], *(0.3 * g for g in f[1:1 + law.dim]), 1 + 0.3 * f[4]))
        return tuple(0.5 + 0.3 * g for g in f[:len(law.variables)])
    return state


def simulation(law, method, cells, boundary=None, initial=None, **options):
    grid = dg.Grid((0,) * law.dim, (1,) * law.dim, cells, boundary is None)
    return dg.Simulation(grid, law, method, boundary, initial or smooth(law),
                         **{"backend": "numpy", "kernels": "array", "until": 1.0} | options)


def advanced(sim, steps=3):
    """The state after some steps as plain arrays, and the `Check` of the last step."""
    operator, t, check = sim.operator, 0.0, None
    state = operator.state(operator.project(sim.initial))
    for _ in range(steps):
        dt = 0.9 * operator.largest_step(state, t, check=check)
        state, check = operator.advance_checked(state, t, dt)
        t += dt
    return operator, state, t, check


def blast(x):
    """A strong explosion, for which schemes of higher order alone give negative pressures."""
    inside = (x[0] - 0.5) ** 2 + (x[1] - 0.5) ** 2 < 0.0101
    return GAS.conservative((np.where(inside, 1.0, 1e-3), 0.0, 0.0, np.where(inside, 1e6, 1e-3)))


LAWS = {"euler": dg.Euler, "mhd": lambda dim: dg.MHD(dim, cleaning_speed=2.0), "burgers": Burgers,
        "varying": lambda dim: dg.Acoustics(dim, sound_speed=lambda x: 1 + 0.3 * np.sin(2 * np.pi * sum(x)))}
METHODS = {"first-order": FIRST, "muscl": MUSCL, "quick": dg.FiniteVolume("muscl", safe=False, limiter="mc"), "weno": WENO,
           "unsplit": dg.FiniteVolume("muscl", splitting=None, variables="conserved", limiter="minmod")}
CELLS = {1: 66, 2: (65, 45), 3: (40, 9, 7)}          # the last strip of a row is shorter than its halo in 1D and 2D
SOURCE = {"euler": lambda q, x, t: tuple(0.1 * x[0] * c * np.cos(t) for c in q)}
