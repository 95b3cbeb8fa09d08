"""A mode of a rectangular cavity, 3D Maxwell."""
import numpy as np

from dgarray import Maxwell, NodalDG, Simulation, box, pec

from .common import case_mesh, check_box, check_numbers, energy_ratio

MESHES = 4                           # of the paper
LIGHT = 299792458.0                  # m/s


def maxwell_cavity(order=4, level=0, cells=None, m=4, n=3, p=3, width=1.0, depth=1.0, height=1.0, until=4e-10 * LIGHT,
                   mesh=None, start="interpolation"):
    """Mode TM_mnp of a rectangular vacuum cavity with perfectly conducting walls.

    Method: NodalDG on tetrahedra.

    With k = pi (m / width, n / depth, p / height), w = |k|, x from the lower corner, and g^2 = kx^2 + ky^2,
    E = cos(w t) (-kx kz / g^2 cos(kx x) sin(ky y) sin(kz z), -ky kz / g^2 sin(kx x) cos(ky y) sin(kz z),
                  sin(kx x) sin(ky y) cos(kz z)),   H = w / g^2 sin(w t) (-ky sin(kx x) cos(ky y) cos(kz z),
                  kx cos(kx x) sin(ky y) cos(kz z), 0).

    level: 0 to 3, one of the paper's four meshes, 476, 729, 1187 and 1834 tetrahedra of TetGen; they differ from the paper's
    as far as TetGen has changed since
    cells: bricks of six tetrahedra along a side instead, twice as many on each level; mesh: a file of a box, which then is the
    cavity
    until: the paper's 4e-10 s in a cube of 1 m; lengths are in m, times in m / c
    results: the error of E at the nodes over E, both by the L2 norm (relative_error), the frequency w, and the energy left
    (energy_ratio)
    Raises ValueError for m or n below 1 or p below 0, which are no modes.
    Kloeckner, Warburton, Bridge & Hesthaven 2009, section 6; the modes: Jackson 1998, section 8.4. Mode, time and meshes are
    not in the paper but in its authors' code hedge. Their table 2, relative errors of E in single precision:

    N \\ K      475      728     1187     1844    EOC
    1      1.57e+0  1.19e+0  1.03e+0  6.46e-1   1.72
    2      4.15e-1  2.84e-1  1.82e-1  1.19e-1   2.58
    3      1.61e-1  9.44e-2  5.56e-2  2.80e-2   3.55
    4      4.75e-2  2.52e-2  1.13e-2  5.03e-3   4.64
    5      1.54e-2  6.37e-3  2.55e-3  9.03e-4   5.79
    6      3.84e-3  1.42e-3  4.42e-4  1.32e-4   6.94
    7      9.89e-4  2.77e-4  7.36e-5  1.77e-5   8.24
    8      1.91e-4  4.76e-5  1.05e-5  2.55e-6   8.90
    9      4.25e-5  8.71e-6  2.10e-6  1.30e-6   7.31
    """
    check_numbers(above=0, width=width, depth=depth, height=height)
    check_numbers(least=0, whole=True, level=level)
    mesh = case_mesh(mesh, lambda: cuboid(level, cells, (width, depth, height)), 3)
    check_box(mesh)
    w, exact = cavity_mode(mesh, m, n, p)

    def results(dataset):
        return {"relative_error": relative_error(dataset, exact), "frequency": w, "energy_ratio": energy_ratio(dataset)}
    return Simulation(mesh, Maxwell(dim=3), NodalDG(order, start), boundary=pec, initial=exact, exact=exact, until=until,
                      case="maxwell_cavity", results=results)


def relative_error(dataset, exact):
    """L2 norm of E minus what interpolates exact(x, t) at the nodes, over the norm of the latter, of the last snapshot."""
    x, norm = tuple(dataset[axis].values.T for axis in "xyz"), dataset.dg.space.norm
    fields = dict(zip(dataset.dg.variables, exact(x, float(dataset.time[-1]))))
    pairs = [(norm(dataset.dg.values(name).T - fields[name]), norm(fields[name])) for name in ("Ex", "Ey", "Ez")]
    error, whole = np.linalg.norm(pairs, axis=0)
    return float(error / whole)


def cuboid(level, cells, sides):
    """The box [0, width] x [0, depth] x [0, height]: the paper's mesh of that level, or bricks of six tetrahedra."""
    if cells is not None:
        return box((0, 0, 0), sides, (cells * 2**level,) * 3)
    if level >= MESHES:
        raise ValueError(f"level={level} is not allowed; the paper has {MESHES} meshes, levels 0 to {MESHES - 1}. More: give "
                         "cells, the bricks along a side on level 0")
    mesh = case_mesh(None, f"cube_{level}.msh")
    return mesh if sides == (1.0, 1.0, 1.0) else mesh.mapped(lambda x: tuple(a * side for a, side in zip(x, sides)))


def cavity_mode(mesh, m, n, p):
    """The frequency w and the function exact(x, t) of the mode TM_mnp in the box that a mesh fills: see `maxwell_cavity`."""
    check_numbers(whole=True, m=m, n=n, p=p)
    if m < 1 or n < 1 or p < 0:
        raise ValueError(f"mode m={m!r}, n={n!r}, p={p!r} is not allowed; m and n must be at least 1, p at least 0")
    low = mesh.points.min(axis=0)
    kx, ky, kz = np.pi * np.array([m, n, p]) / np.ptp(mesh.points, axis=0)
    w, g2 = np.sqrt(kx**2 + ky**2 + kz**2), kx**2 + ky**2

    def exact(x, t):
        (sx, cx), (sy, cy), (sz, cz) = ((np.sin(k * (a - b)), np.cos(k * (a - b)))
                                        for k, a, b in zip((kx, ky, kz), x, low))
        e, h = np.cos(w * t), w / g2 * np.sin(w * t)
        return (-kx * kz / g2 * cx * sy * sz * e, -ky * kz / g2 * sx * cy * sz * e, sx * sy * cz * e,
                -ky * sx * cy * cz * h, kx * cx * sy * cz * h, 0 * x[2])
    return float(w), exact
