"""Formulas that make values at faces from those of cells along a line: limited slopes, and WENO-Z."""
import numpy as np


def minmod(a, b):
    """The smaller of two slopes of one sign, else zero.  Roe 1986."""
    return np.where(a * b > 0, np.where(np.abs(a) < np.abs(b), a, b), 0.0)


def van_leer(a, b):
    """The harmonic mean of two slopes of one sign, else zero.  van Leer 1974."""
    same = a * b > 0
    return np.where(same, 2 * a * b / np.where(same, a + b, 1.0), 0.0)


def monotonized_central(a, b):
    """The mean of two slopes of one sign, at most twice the smaller one, else zero.  van Leer 1977."""
    return np.where(a * b > 0, np.sign(a) * np.minimum(np.abs(a + b) / 2, 2 * np.minimum(np.abs(a), np.abs(b))), 0.0)


def mean(a, b):
    """The mean of two slopes, without a limit, of smooth values.  Fromm 1968."""
    return (a + b) / 2


LIMITERS = {"minmod": minmod, "van-leer": van_leer, "mc": monotonized_central}
SLOPES = LIMITERS | {None: mean}

FLOOR = 1e-5          # of a smoothness relative to the sum of all: its square is a normal number in float32
TINY = 1e-30          # added to that sum, so that constant values divide no zero; float32 has it too


def weno_z(a, b, c, d, e):
    """The fifth-order value at the right face of the middle one of five cells, whose averages are a, b, c, d, e.

    A mean of three parabolas' values p_k with the weights w_k ~ d_k (1 + (tau / beta_k)^2), where beta_k measures how rough
    the values under a parabola are. tau is the square of the fourth difference, of eighth order where values are smooth. (With
    |beta_0 - beta_2|, of fifth order, waves that are constant, such as the entropy of a smooth gas, fall to order 3.6.)
    The beta_k and tau enter as shares of the sum of the beta_k.  Jiang & Shu 1996; Borges, Carmona, Costa & Don 2008."""
    values = (2 * a - 7 * b + 11 * c) / 6, (-b + 5 * c + 2 * d) / 6, (2 * c + 5 * d - e) / 6
    rough = tuple(13 / 12 * bend * bend + tilt * tilt / 4 for bend, tilt in (
        (a - 2 * b + c, a - 4 * b + 3 * c), (b - 2 * c + d, b - d), (c - 2 * d + e, 3 * c - 4 * d + e)))
    scale = 1 / (rough[0] + rough[1] + rough[2] + TINY)
    fourth = (a + e) - 4 * (b + d) + 6 * c
    tau = fourth * fourth * scale
    x, y, z = ((r * scale + FLOOR) * (r * scale + FLOOR) for r in rough)
    # The weights times x y z, which needs one division instead of three.
    weights = 0.1 * (x + tau * tau) * (y * z), 0.6 * (y + tau * tau) * (x * z), 0.3 * (z + tau * tau) * (x * y)
    return sum(w * v for w, v in zip(weights, values)) / (weights[0] + weights[1] + weights[2])
