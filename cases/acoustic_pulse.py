"""A round pressure pulse in free space, 2D acoustics."""
from functools import lru_cache

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.special import j0, j1

from dgarray import Acoustics, NodalDG, Simulation, absorbing, rectangle

from .common import case_mesh, check_numbers

# Radii per pulse width at which the integrals are taken; panels of Gauss points in wave number.  Both to about 1e-12.
RADII_PER_WIDTH, PANELS, POINTS = 60, 30, 16


def acoustic_pulse(order=4, cells=20, half_width=0.2, size=2.5, until=1.5, every=None, mesh=None, start="projection"):
    """A round pressure pulse spreads in free space, c = rho = 1.

    Method: NodalDG on triangles.

    p = exp(-a r^2), v = 0 at t = 0, with a = ln 2 / half_width^2 (17.33);
    p(r, t) = int_0^inf P(k) cos(k t) J0(k r) k dk,  v_r(r, t) = int_0^inf P(k) sin(k t) J1(k r) k dk,
    P(k) = exp(-k^2 / 4a) / 2a  (Hankel transform; Morse & Ingard 1968).

    The square [-size, size]^2 has absorbing sides; the run ends before the pulse reaches them.
    At t = 0.5, 1, 1.5 the pressure at the centre is -0.187825, -0.0318140, -0.0133522 (evaluated independently)."""
    check_numbers(above=0, half_width=half_width, size=size)
    mesh = case_mesh(mesh, lambda: rectangle((-size, -size), (size, size), (cells, cells), diagonal="alternate"), 2)
    a = np.log(2) / half_width**2
    reach = 1.01 * float(np.max(np.hypot(*mesh.points.T)))

    @lru_cache(maxsize=4)
    def profile(t):
        r = np.linspace(0, reach, int(reach / half_width * RADII_PER_WIDTH) + 8)
        return make_interp_spline(r, np.stack(radial(r, t, a), axis=-1), k=5)

    def exact(x, t):
        r = np.hypot(*x)
        p, v = np.moveaxis(profile(t)(r), -1, 0)
        return (p, *(v * c / np.maximum(r, 1e-300) for c in x))

    def initial(x):
        return np.exp(-a * (x[0] ** 2 + x[1] ** 2)), 0.0, 0.0

    def results(dataset):
        t = float(dataset.time[-1])
        r = np.linspace(0, np.abs(mesh.points).max() * 0.99, 200)
        axis, diagonal = (dataset.dg.sample(np.outer(r, d), time=-1)["p"].values for d in ((1, 0), (0.5**0.5,) * 2))
        return {"centre": float(axis[0]), "centre_exact": float(radial(0.0, t, a)[0]),
                "profile_error": float(np.nanmax(np.abs(axis - radial(r, t, a)[0]))),
                "anisotropy": float(np.nanmax(np.abs(axis - diagonal)))}

    return Simulation(mesh, Acoustics(dim=2), NodalDG(order, start), boundary=absorbing, initial=initial, exact=exact,
                      until=until, every=every, case="acoustic_pulse", results=results)


def radial(r, t, a):
    """Pressure and radial velocity (p, v_r) at radii r and time t of the pulse exp(-a r^2)."""
    # exp(-k^2 / 4a) is 1e-18 at the end of the last panel.
    width = np.sqrt(4 * a * 41.5) / PANELS
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    k = (np.arange(PANELS)[:, None] + (nodes + 1) / 2).ravel() * width
    density = np.tile(weights, PANELS) * width / 2 * k * np.exp(-(k**2) / (4 * a)) / (2 * a)
    kr = np.multiply.outer(np.asarray(r, float), k)
    return j0(kr) @ (density * np.cos(k * t)), j1(kr) @ (density * np.sin(k * t))
