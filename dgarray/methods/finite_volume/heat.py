"""Internal energy given to cells that have none: conservative, towards that of their neighbours.

A scheme that conserves total energy finds the internal energy as a difference, less of kinetic and magnetic energy. A sweep
along x changes that of MHD by -(v . B) dBx/dx, which the sweep along y makes good, and an error of div B by -(v . B) div B. So
it may fall below zero in a gas of low beta however short the step.
The idea is the repair of Kucharik, Shashkov & Wendroff 2003, J. Comput. Phys. 188.
"""
import numpy as np

ROUNDS = 8               # of exchange between neighbours, at most
LEAST = 64               # roundings of the total energy that an internal energy is above


def heated(xp, heat, energy, periodic):
    """The internal energy of all cells, (z, y, x) with an axis for each of `periodic`, above zero and of the same sum.

    First cells that have too little, and those that this makes poor, exchange energy with their neighbours; what is still
    missing comes from all cells, of each in proportion to what it has. The heat as it is where the sum of all is not enough.
    energy: total energy of cells"""
    eps = float(np.finfo(heat.dtype).eps)
    least = LEAST * eps * xp.abs(energy)
    new, poor = heat, heat <= least
    share = 1 / (2 * len(periodic) + 1)
    for _ in range(ROUNDS):
        change = xp.zeros_like(new)
        for axis, wraps in zip(reversed(range(new.ndim)), periodic):
            above = xp.roll(new, -1, axis)
            flux = xp.where(poor | xp.roll(poor, -1, axis), share * (above - new), 0)
            if not wraps:
                xp.moveaxis(flux, axis, 0)[-1] = 0
            change += flux - xp.roll(flux, 1, axis)
        new = new + change
        below = new <= least
        if not bool(below.any()):
            return new
        poor = poor | below
    floor = xp.maximum(2 * least, eps ** 0.5 * float(new.sum()) / new.size)
    missing, more = xp.maximum(floor - new, 0), xp.maximum(new - floor, 0)
    needed, there = float(missing.sum()), float(more.sum())
    return new + missing - more * (needed / there) if needed < there else heat
