"""Means of two states."""
import numpy as np


def logarithmic_mean(a, b):
    """(b - a) / (log b - log a) of positive numbers; by a series where they are nearly equal.

    With f = (b - a) / (b + a): (a + b) / 2 / (1 + f^2/3 + f^4/5 + f^6/7 + ..).  Ismail & Roe 2009, appendix B."""
    f2 = ((b - a) / (b + a)) ** 2
    close = f2 < 1e-4
    series = (a + b) / (2 + f2 * (2 / 3 + f2 * (2 / 5 + f2 * (2 / 7))))
    low, high = np.minimum(a, b), np.maximum(a, b)          # to the last bit the mean of (b, a), too
    return np.where(close, series, (high - low) / np.where(close, 1.0, np.log(high / low)))
