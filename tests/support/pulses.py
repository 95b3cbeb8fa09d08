"""Small problems in the square from -1 to 1, and numbers that are made from what microphones hear."""
import numpy as np

import dgarray as dg

POINTS = [(0.5, 0.3), (-0.4, -0.2)]


def bump(x):
    return np.exp(-20 * ((x[0] - 0.2) ** 2 + x[1] ** 2))


def sound(x):
    return bump(x), 0 * x[0], 0 * x[0]


def light(x):
    return 0 * x[0], 0 * x[0], bump(x)


def gas(x):
    """Of a gas that moves along x."""
    return dg.Euler(2).conservative((1 + 0.2 * bump(x), 0.1 + 0 * x[0], 0 * x[0], 1 + 0.2 * bump(x)))


def smooth(x):
    """A medium."""
    return 1 + 0.3 * np.sin(2 * x[0])


def bent(x):
    """A map that bends cells."""
    return x[0] + 0.1 * np.sin(x[1]), x[1] + 0.1 * np.sin(x[0])


def heard(ds):
    return ((ds.dg.record("mic")["p"] - 0.1) ** 2).sum()


def seen(ds):
    return ((ds.dg.record("mic")["Ez"] - 0.1) ** 2).sum()
