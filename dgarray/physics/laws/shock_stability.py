"""Dissipation that keeps strong shocks along a grid straight, for fluxes that keep contacts and shear layers."""
import numpy as np

from .law import dot

ACROSS = 0.1          # Mach number across a face from which on the flow is not along it: Fleischmann, Adami & Adams 2020


def pressure_share(left, right):
    """The share of the jump of pressure that moves gas across a face: 1, less where the gas runs along the face.

        max(x (2 - x), (c - w) / (c + w)),  x = min(1, u / (0.1 c))

    with the larger ones of both sides of the speed u across the face, the speed w along it, and the speed c of waves; a side:
    (velocity across, square of w, c).

    Along a strong shock small differences of pressure push mass from face to face, and nothing damps the differences of density
    that they make: rows part (odd-even decoupling), the shock bulges (carbuncle).  Fleischmann, Adami & Adams 2020, J. Comput.
    Phys. 423, scale all acoustic dissipation by u / c; Minoshima & Miyoshi 2021, J. Comput. Phys. 446, the part of the pressure
    alone, by a sensor of shocks.  The other part, of the jump of velocity, still damps sound: forward Euler is stable for it
    while c dt / h <= (1 + share) / 2, MUSCL-Hancock (by its amplification of waves) with the share 0 while c dt / h <= 0.27.
    So sweeps are shorter than otherwise (`sweep_courant` of the fluxes).  (c - w) / (c + w) is the share of the first limit on
    square cells, where c dt / h <= c / (c + w); with it gas at rest, and flow across faces, as in 1D, have share 1.

    On the subcells of `TensorDG(shock_capturing=)` a shock of Mach 6 in a duct bulges all the same; `hll` and `rusanov` keep it
    straight."""
    (ul, wl, cl), (ur, wr, cr) = left, right
    u, w, c = np.maximum(np.abs(ul), np.abs(ur)), np.sqrt(np.maximum(wl, wr)), np.maximum(cl, cr)
    x = np.minimum(u / (ACROSS * c), 1.0)
    return np.maximum(x * (2 - x), (c - w) / (c + w))


def split_along(v, n):
    """The component of a velocity along the unit normal n, and the square of what is left."""
    u = dot(v, n)
    along = tuple(a - u * k for a, k in zip(v, n))
    return u, dot(along, along)
