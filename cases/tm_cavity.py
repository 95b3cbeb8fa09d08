"""A mode of a square cavity, 2D TM Maxwell."""
import numpy as np

from dgarray import Maxwell, NodalDG, Simulation, pec, rectangle

from .common import case_mesh, check_box, check_numbers, energy_ratio


def tm_cavity(order=4, cells=3, m=1, n=1, until=1.0, mesh=None, start="projection"):
    """Mode (m, n) of a square cavity with perfectly conducting walls, [-1, 1]^2, eps = mu = 1.

    Method: NodalDG on triangles.

    Ez = sin(m pi x) sin(n pi y) cos(w t),  w = pi sqrt(m^2 + n^2),
    Hx = -(n pi / w) sin(m pi x) cos(n pi y) sin(w t),  Hy = (m pi / w) cos(m pi x) sin(n pi y) sin(w t).

    cells: boxes of two triangles along a side; mesh: a file whose walls lie on multiples of 1/m and 1/n
    The system of Kloeckner, Warburton & Hesthaven 2013, equations (2) and (5); the cavity of Hesthaven & Warburton 2008,
    chapter 6.  On that book's meshes of 46 and 146 triangles an independent modal code (upwind flux, start by projection)
    has the L2 errors of Ez 8.20e-2, 9.95e-3, 1.17e-3, 1.26e-4 and 2.24e-2, 1.67e-3, 1.19e-4, 6.30e-6 at N = 1, 2, 3, 4.
    """
    check_numbers(least=1, whole=True, m=m, n=n)
    mesh = case_mesh(mesh, lambda: rectangle((-1, -1), (1, 1), (cells, cells), diagonal="alternate"), 2)
    check_box(mesh, (-1, 1), (-1, 1))
    kx, ky = m * np.pi, n * np.pi
    w = np.hypot(kx, ky)

    def exact(x, t):
        sx, sy, cx, cy = np.sin(kx * x[0]), np.sin(ky * x[1]), np.cos(kx * x[0]), np.cos(ky * x[1])
        return -ky / w * sx * cy * np.sin(w * t), kx / w * cx * sy * np.sin(w * t), sx * sy * np.cos(w * t)

    return Simulation(mesh, Maxwell(dim=2), NodalDG(order, start), boundary=pec, initial=exact, exact=exact, until=until,
                      case="tm_cavity", results=lambda dataset: {"frequency": float(w), "energy_ratio": energy_ratio(dataset)})
