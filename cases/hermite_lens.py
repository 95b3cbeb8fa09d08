"""A smooth lens focuses a plane wave: acoustics with a variable sound speed, by Hermite's method."""
import numpy as np

from dgarray import Acoustics, Grid, Hermite, Simulation, Sponge

from .common import check_numbers


def hermite_lens(order=3, cells=24, slowness=0.6, radius=0.5, width=0.15, sponge=0.75, until=2.1, stages=0, derivatives=False):
    """A plane pulse passes a round lens, in which sound is slower, and is focused behind it.

    Method: Hermite on a grid.

    p_t / c^2 + div v = 0,  v_t + grad p = 0  on [-2, 3] x [-1.5, 1.5], periodic in y, a sponge on the left and the right;
    1 / c = 1 + slowness exp(-(r / radius)^2),  r from the origin;  at t = 0  p = vx = exp(-((x + 1) / width)^2).

    order: N, derivatives in each direction; cells: along a length of 1; sponge: width of the layers; stages: of the Taylor
    series, 0 for 2 (2 N + 1)
    results: the largest pressure of the last snapshot (1 without the lens, while the pulse is in the box) and its position.
    Varying coefficients, the future work of Vargas, Chan, Hagstrom & Warburton 2016, section 5."""
    check_numbers(above=-1, slowness=slowness)
    check_numbers(above=0, radius=radius, width=width)
    check_numbers(least=1, whole=True, cells=cells)

    def sound_speed(x):
        return 1 / (1 + slowness * np.exp(-(x[0] ** 2 + x[1] ** 2) / radius ** 2))

    def initial(x):
        p = np.exp(-((x[0] + 1) / width) ** 2) + 0 * x[1]
        return p, p, 0 * p

    def results(dataset):
        p = dataset.p[-1].load()
        row, column = np.unravel_index(p.values.argmax(), p.shape)
        return {"focus": float(p.max()), "focus_x": float(p.x[column]), "focus_y": float(p.y[row])}

    grid = Grid((-2, -1.5), (3, 1.5), (5 * cells, 3 * cells), periodic=(False, True))
    method = Hermite(order, stages or None, derivatives=bool(derivatives))
    return Simulation(grid, Acoustics(2, sound_speed=sound_speed), method, Sponge(sponge), initial, until=until,
                      every=until / 4, case="hermite_lens", results=results)
