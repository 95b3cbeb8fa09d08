"""Shock tubes of magnetohydrodynamics: two constant states that meet."""
import numpy as np

from dgarray import MHD, FiniteVolume, Grid, Simulation, outflow

from .common import check_numbers
from .grids import least_values, mhd_flux

UNIT = 1 / (4 * np.pi) ** 0.5          # of a field in Gauss's units


def brio_wu(cells=400, scheme="muscl", flux="hlld", limiter="van-leer", variables="auto", until=0.1):
    """Brio and Wu's shock tube: two rarefactions, a compound wave, a contact and a slow shock in a field in the plane.

    Method: FiniteVolume on a grid.

    MHD in 1D on [0, 1], gamma = 2, Bx = 0.75, v = 0, Bz = 0, (rho, p, By) = (1, 1, 1) for x < 0.5, (0.125, 0.1, -1) for
    x > 0.5, compared at t = 0.1.  Both ends are free outflow.  The exact solution is in doubt, as schemes agree on a compound
    wave, which has no viscous profile among three-dimensional fields: compare with a fine run.

    cells, scheme, limiter, variables: as for FiniteVolume; flux: rusanov, hll or hlld
    Brio & Wu 1988 (800 cells)."""
    method = FiniteVolume(scheme, limiter=limiter, variables=variables)
    return tube("brio_wu", 2.0, 0.75, (1, 0, 0, 0, 1, 1, 0), (0.125, 0, 0, 0, 0.1, -1, 0), cells, flux, until, method)


def ryu_jones(cells=400, scheme="muscl", flux="hlld", limiter="van-leer", variables="auto", until=0.2):
    """Ryu and Jones' shock tube 2a: all seven waves of magnetohydrodynamics, with a field that leaves the plane.

    Method: FiniteVolume on a grid.

    MHD in 1D on [0, 1], gamma = 5/3, Bx = 2 k, k = 1 / sqrt(4 pi), states (rho, u, v, w, p, By, Bz):
    x < 0.5: (1.08, 1.2, 0.01, 0.5, 0.95, 3.6 k, 2 k);  x > 0.5: (1, 0, 0, 0, 1, 4 k, 2 k),  compared at t = 0.2.
    From left to right: a fast shock, a rotation, a slow shock, a contact, a slow shock, a rotation, a fast shock.

    cells, scheme, limiter, variables: as for FiniteVolume; flux: rusanov, hll or hlld
    Ryu & Jones 1995, figure 2a (512 cells)."""
    method = FiniteVolume(scheme, limiter=limiter, variables=variables)
    return tube("ryu_jones", 5 / 3, 2 * UNIT, (1.08, 1.2, 0.01, 0.5, 0.95, 3.6 * UNIT, 2 * UNIT),
                (1, 0, 0, 0, 1, 4 * UNIT, 2 * UNIT), cells, flux, until, method)


def tube(case, gamma, Bx, left, right, cells, flux, until, method):
    """The tube of two states (rho, u, v, w, p, By, Bz)."""
    check_numbers(least=1, whole=True, cells=cells)
    law = MHD(1, gamma)
    sides = [law.conservative((*map(float, w[:5]), Bx, *map(float, w[5:]))) for w in (left, right)]

    def initial(x):
        return tuple(np.where(x[0] < 0.5, a, b) for a, b in zip(*sides))

    return Simulation(Grid(0, 1, cells), law, method, outflow, initial, flux=mhd_flux(flux), until=until, case=case,
                      results=lambda dataset: least_values(dataset, law))
