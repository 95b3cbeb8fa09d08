"""Standing and plane waves of acoustics, by Hermite's method."""
import numpy as np

from dgarray import Acoustics, Grid, Hermite, Simulation, pressure_release, wall
from dgarray.support.wording import choose

from .common import check_numbers


def hermite_acoustics(order=3, dim=2, cells=16, wave="standing", waves=1, until=1.0, variant="auto", pruned=True,
                      derivatives=False):
    """A standing wave between rigid walls or under a free surface, or a plane wave in a periodic box; c = rho = 1.

    Method: Hermite on a grid.

    p_t + div v = 0,  v_t + grad p = 0  in the unit box;  k = pi waves, w = k sqrt(dim):
    standing  p = cos(w t) prod_i cos(k x_i),  v = -(1/w) sin(w t) grad prod_i cos(k x_i);  walls all around
    free      the same with sin for cos in the last direction: p = 0 at its two sides, walls at the others
    plane     p = sin(2 k (sum_i x_i - sqrt(dim) t)),  v = p (1, ..., 1) / sqrt(dim)

    order: N, derivatives in each direction; dim: 1, 2 or 3; cells: along a side; variant: "auto", "two-kernel", "monolithic"
    Goodrich, Hagstrom & Lorenz 2006; Vargas, Chan, Hagstrom & Warburton 2016, section 4."""
    if dim not in (1, 2, 3):
        raise ValueError(f"dim={dim!r} is not allowed; it must be 1, 2 or 3")
    choose("wave", wave, ("standing", "free", "plane"))
    check_numbers(least=1, whole=True, waves=waves)
    k, root = np.pi * waves, np.sqrt(dim)
    last = (np.sin, np.cos) if wave == "free" else (np.cos, lambda s: -np.sin(s))

    def standing(x, t):
        shapes = [(np.cos, lambda s: -np.sin(s))] * (dim - 1) + [last]
        p, v = 1.0, []
        for i in range(dim):
            slope = 1.0
            for j, (shape, derivative) in enumerate(shapes):
                slope = slope * (derivative if i == j else shape)(k * x[j])
            p, v = p * shapes[i][0](k * x[i]), [*v, -np.sin(k * root * t) / root * slope]
        return np.cos(k * root * t) * p, *v

    def plane(x, t):
        p = np.sin(2 * k * (sum(x) - root * t))
        return p, *(p / root,) * dim

    exact = plane if wave == "plane" else standing
    grid = Grid((0,) * dim, (1,) * dim, cells, periodic=wave == "plane")
    sides = list(grid.boundaries)
    boundary = {side: pressure_release if wave == "free" and side in sides[-2:] else wall for side in sides}
    method = Hermite(order, None, None if variant == "auto" else variant, bool(pruned), bool(derivatives))
    return Simulation(grid, Acoustics(dim), method, boundary, lambda x: exact(x, 0.0), exact=exact, until=until,
                      case="hermite_acoustics")
