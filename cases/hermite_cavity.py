"""A mode of a cavity with conducting walls, Maxwell's equations in 2D and 3D by Hermite's method."""
import numpy as np

from dgarray import Grid, Hermite, Maxwell, Simulation, pec

from .common import check_numbers


def hermite_cavity(order=3, dim=2, cells=16, m=1, n=1, until=1.0, variant="auto", pruned=True, derivatives=False):
    """Mode (m, n) of the unit square or, in 3D, mode (m, n, 0) of the unit cube; perfectly conducting walls, eps = mu = 1.

    Method: Hermite on a grid.

    Ez = sin(m pi x) sin(n pi y) cos(w t),  w = pi sqrt(m^2 + n^2),
    Hx = -(n pi / w) sin(m pi x) cos(n pi y) sin(w t),  Hy = (m pi / w) cos(m pi x) sin(n pi y) sin(w t),  all else 0.

    order: N, derivatives in each direction; cells: along a side; variant: "auto", "two-kernel", "monolithic"
    Goodrich, Hagstrom & Lorenz 2006; the cavity of Hesthaven & Warburton 2008, chapter 6."""
    if dim not in (2, 3):
        raise ValueError(f"dim={dim!r} is not allowed; it must be 2 or 3")
    check_numbers(least=1, whole=True, m=m, n=n)
    kx, ky = m * np.pi, n * np.pi
    w = np.hypot(kx, ky)

    def exact(x, t):
        sx, sy, cx, cy = np.sin(kx * x[0]), np.sin(ky * x[1]), np.cos(kx * x[0]), np.cos(ky * x[1])
        Hx, Hy, Ez = -ky / w * sx * cy * np.sin(w * t), kx / w * cx * sy * np.sin(w * t), sx * sy * np.cos(w * t)
        return (Hx, Hy, Ez) if dim == 2 else (0 * Ez, 0 * Ez, Ez + 0 * x[2], Hx + 0 * x[2], Hy + 0 * x[2], 0 * Ez)

    method = Hermite(order, None, None if variant == "auto" else variant, bool(pruned), bool(derivatives))
    return Simulation(Grid((0,) * dim, (1,) * dim, cells), Maxwell(dim), method, pec, lambda x: exact(x, 0.0), exact=exact,
                      until=until, case="hermite_cavity", results=lambda dataset: {"frequency": float(w)})
