"""A mode of a rectangular cavity, 3D Maxwell."""
import numpy as np

from dgarray import Maxwell, NodalDG, Simulation, box, pec

from .common import case_mesh, check_box, check_numbers, energy_ratio


def maxwell_cavity(order=4, cells=2, m=1, n=1, p=0, width=1.0, depth=1.0, height=1.0, until=1.0, mesh=None,
                   start="projection"):
    """Mode TM_mnp of a rectangular vacuum cavity with perfectly conducting walls.

    Method: NodalDG on tetrahedra.

    With k = pi (m / width, n / depth, p / height), w = |k|, x from the lower corner, and g^2 = kx^2 + ky^2,
    E = cos(w t) (-kx kz / g^2 cos(kx x) sin(ky y) sin(kz z), -ky kz / g^2 sin(kx x) cos(ky y) sin(kz z),
                  sin(kx x) sin(ky y) cos(kz z)),   H = w / g^2 sin(w t) (-ky sin(kx x) cos(ky y) cos(kz z),
                  kx cos(kx x) sin(ky y) cos(kz z), 0).

    cells: bricks of six tetrahedra along a side; mesh: a file of a box, which then is the cavity
    Raises ValueError for m or n below 1 or p below 0, which are no modes.
    Kloeckner, Warburton, Bridge & Hesthaven 2009, section 6; the modes: Jackson 1998, section 8.4.  Their table 2, L2 errors
    in single precision (the box and the mode are not given):

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
    mesh = case_mesh(mesh, lambda: box((0, 0, 0), (width, depth, height), (cells, cells, cells)), 3)
    check_box(mesh)
    w, exact = cavity_mode(mesh, m, n, p)
    return Simulation(mesh, Maxwell(dim=3), NodalDG(order, start), boundary=pec, initial=exact, exact=exact, until=until,
                      case="maxwell_cavity",
                      results=lambda dataset: {"frequency": w, "energy_ratio": energy_ratio(dataset)})


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
