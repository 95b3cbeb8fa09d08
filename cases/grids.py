"""Shared by the cases on grids: laws with their cleaning speed, oblique boxes, errors and extremes of cells."""
from math import ceil, floor, log10

import numpy as np

from dgarray import MHD, Grid, hll, hlld, rusanov
from dgarray.spaces import GridSpace
from dgarray.support.wording import choose

from .common import check_numbers

MHD_FLUXES = {flux.__name__: flux for flux in (rusanov, hll, hlld)}
PIECE = 1 << 20          # cells at a time
# Boxes in which a plane wave of length 1 along (1/a, 1/b, 1/c) is periodic; a, b, c are their sides.
OBLIQUE = {1: (1.0,), 2: (5 ** 0.5, 5 ** 0.5 / 2), 3: (3.0, 1.5, 1.5)}


def check_dim(dim, *allowed):
    """Raise ValueError unless dim is one of those numbers."""
    if dim not in allowed or isinstance(dim, bool):
        raise ValueError(f"dim={dim!r} is not allowed; it must be {', '.join(map(str, allowed[:-1]))} or {allowed[-1]}")


def mhd_flux(name):
    """The numerical flux of MHD of that name."""
    return MHD_FLUXES[choose("flux", name, MHD_FLUXES)]


def mhd_law(grid, gamma, state, cleaning_speed):
    """MHD on a grid.

    state            function of x and a law: the initial state
    cleaning_speed   a number; "auto": the fastest wave along an axis in the initial state, rounded up to two digits, so that
                     kernels of grids of other sizes are the same; in 1D 0"""
    law = MHD(grid.dim, gamma, 0.0)
    if cleaning_speed == "auto":
        cleaning_speed = rounded_up(fastest(law, grid, lambda x: state(x, law))) if grid.dim > 1 else 0.0
    elif isinstance(cleaning_speed, str):
        raise ValueError(f"cleaning_speed={cleaning_speed!r} is not allowed; it must be a number, or 'auto'")
    return MHD(grid.dim, gamma, cleaning_speed)


def fastest(law, grid, initial):
    """The largest `law.wave_speed` along an axis of the state initial(x) at the centres of the grid's cells."""
    centres, largest = grid.with_values("cell centres"), 0.0
    step = max(1, PIECE // int(np.prod(centres.shape[1:])))
    for first in range(0, centres.shape[0], step):
        q = initial(tuple(np.broadcast_arrays(*centres.places(slice(first, first + step)))))
        largest = max(largest, fastest_along_axes(law, q))
    return largest


def fastest_along_axes(law, q):
    """The largest `law.wave_speed` of the state q along an axis."""
    return max(float(np.max(law.wave_speed(q, tuple(float(k == axis) for k in range(law.dim))))) for axis in range(law.dim))


def rounded_up(number):
    """A positive number rounded up to two digits."""
    unit = 10.0 ** (floor(log10(number)) - 1)
    return float(f"{ceil(number / unit - 1e-9) * unit:.2g}")


def oblique_grid(dim, cells):
    """A periodic grid in the box `OBLIQUE`, with `cells` along the shorter sides and twice as many along x in 2D and 3D."""
    check_dim(dim, 1, 2, 3)
    check_numbers(least=1, whole=True, cells=cells)
    return Grid((0,) * dim, OBLIQUE[dim], (cells,) if dim == 1 else (2 * cells, *(cells,) * (dim - 1)), periodic=True)


def oblique_frame(dim):
    """The direction (dim components) of a wave in the box `OBLIQUE`, and the frame e1, e2, e3 of which e1 is the direction.

    e2 = (-k_y, k_x, 0) / |.|,  e3 = e1 x e2.  Gardiner & Stone 2008."""
    along = np.zeros(3)
    along[:dim] = [1 / side for side in OBLIQUE[dim]]
    across = np.array([-along[1], along[0], 0.0]) / np.hypot(along[0], along[1])
    return along[:dim], np.array([along, across, np.cross(along, across)])


def l1_errors(dataset, exact):
    """Mean over the cells of |u - exact(x, t)| at the end, by variable; of averages of the cells, or at their centres."""
    grid, t = dataset.dg.lattice, float(dataset.time[-1])
    expected = GridSpace(grid).at_places(slice(None), lambda x: exact(x, t))
    return {name: float(np.mean(np.abs(dataset.dg.values(name) - u))) for name, u in zip(dataset.dg.variables, expected)}


def least_values(dataset, law):
    """Least density and pressure of the cells at the end."""
    q = [dataset.dg.values(name).astype(float) for name in law.variables]
    return {"least_density": float(q[0].min()), "least_pressure": float(law.pressure(q).min())}


def magnetic_energy(dataset, time=-1, components=("Bx", "By", "Bz")):
    """The integral of |B|^2 / 2, of these components."""
    return sum(dataset.dg.norm(name, time) ** 2 for name in components) / 2


def mhd_results(dataset, law):
    """Results of the cases of MHD in 2D and 3D: least density and pressure, largest |div B| by central differences."""
    return {**least_values(dataset, law), "largest_divergence": float(np.abs(dataset.dg.divergence("B", -1)).max())}
