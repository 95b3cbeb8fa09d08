"""Hermite interpolation between nodes that hold scaled derivatives c_i = h^i D^i u / i!, i = 0 .. N."""
from fractions import Fraction
from functools import cache

import numpy as np


@cache
def interpolation(N):
    """(left, right), each (2N + 2, N + 1): coefficients about the middle of the polynomial of degree 2N + 1 that has given
    scaled derivatives at both ends of a cell of length h; p(x) = sum_t p_t ((x - middle) / h)^t.

    By divided differences in exact arithmetic.  Goodrich, Hagstrom & Lorenz 2006, section 2."""
    half, count = Fraction(1, 2), 2 * N + 2
    points = [-half] * (N + 1) + [half] * (N + 1)
    columns = []
    for given in range(count):
        end, derivative = divmod(given, N + 1)
        polynomial = [Fraction(0)] * count
        for point, newton in zip(reversed(points), reversed(differences(points, end, derivative))):
            polynomial = [moved - point * c for moved, c in zip([Fraction(0), *polynomial[:-1]], polynomial)]
            polynomial[0] += newton
        columns.append([float(c) for c in polynomial])
    matrix = np.array(columns).T
    return matrix[:, :N + 1].copy(), matrix[:, N + 1:].copy()


def differences(points, end, derivative):
    """Divided differences u[x_0], u[x_0, x_1], ... over two points, each many times, of data that are zero but for one scaled
    derivative at one end; over k + 1 times the same point a difference is D^k u / k!."""
    N = len(points) // 2 - 1

    def same(i, k):
        return Fraction(k == derivative and (i > N) == end)
    column, first = [same(i, 0) for i in range(len(points))], []
    for k in range(len(points)):
        if k:
            column = [same(i, k) if points[i] == points[i + k] else
                      (column[i + 1] - column[i]) / (points[i + k] - points[i]) for i in range(len(points) - k)]
        first.append(column[0])
    return first


def values(N, s):
    """Weights (left, right), each (len(s), N + 1), of the scaled derivatives at both ends in the value of the interpolant at
    the places s, from 0 at the left end to 1 at the right one."""
    powers = (np.asarray(s, float)[:, None] - 0.5) ** np.arange(2 * N + 2)
    return tuple(powers @ matrix for matrix in interpolation(N))


def evolved(N, shift):
    """(left, right), each (N + 1, N + 1): the scaled derivatives 0 .. N at the place middle + shift h of the interpolant
    between two nodes.  An exact solution of du/dt + a du/dx = 0 over the time tau is the shift - a tau / h."""
    full = 2 * N + 2
    moved = np.zeros((N + 1, full))
    for i in range(N + 1):
        binomial = 1.0
        for t in range(i, full):          # D^i / i! of s^t is binomial(t, i) s^(t - i)
            moved[i, t] = binomial * shift ** (t - i)
            binomial *= (t + 1) / (t + 1 - i)
    return tuple(moved @ matrix for matrix in interpolation(N))
