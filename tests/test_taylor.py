"""Taylor arithmetic: coefficients of traced functions against derivatives known in closed form."""
from math import comb, exp, factorial, sin

import numpy as np
import pytest

from dgarray.methods.hermite.fit import fitted
from dgarray.physics.taylor import evaluate, expand
from dgarray.physics.trace import TraceError, trace

X = np.array([0.3, 0.7, 1.9])

# f and its derivative of order i at x.
KNOWN = {
    "exp": (lambda x: np.exp(2 * x[0]), lambda x, i: 2.0 ** i * np.exp(2 * x)),
    "sin": (lambda x: np.sin(3 * x[0]), lambda x, i: 3.0 ** i * np.sin(3 * x + i * np.pi / 2)),
    "cos": (lambda x: np.cos(3 * x[0]), lambda x, i: 3.0 ** i * np.cos(3 * x + i * np.pi / 2)),
    "log": (lambda x: np.log(x[0]), lambda x, i: np.log(x) if i == 0 else (-1) ** (i - 1) * factorial(i - 1) / x ** i),
    "reciprocal": (lambda x: 1 / x[0], lambda x, i: (-1) ** i * factorial(i) / x ** (i + 1)),
    "sqrt": (lambda x: np.sqrt(x[0]), lambda x, i: np.prod([0.5 - k for k in range(i)]) * x ** (0.5 - i)),
    "power": (lambda x: x[0] ** 2.5, lambda x, i: np.prod([2.5 - k for k in range(i)]) * x ** (2.5 - i)),
    "cube": (lambda x: x[0] ** 3, lambda x, i: np.prod([3.0 - k for k in range(i)]) * x ** (3.0 - min(i, 3))),
    "variable power": (lambda x: 2.0 ** x[0], lambda x, i: np.log(2) ** i * 2 ** x),
    "abs": (lambda x: np.abs(-x[0]), lambda x, i: (x, 1 + 0 * x, 0 * x)[min(i, 2)]),
    "where": (lambda x: np.where(x[0] > 1, x[0] ** 2, 1.0),
              lambda x, i: np.where(x > 1, (x ** 2, 2 * x, 2 + 0 * x, 0 * x)[min(i, 3)], 1.0 * (i == 0))),
    "maximum": (lambda x: np.maximum(x[0], 1.0), lambda x, i: (np.maximum(x, 1), 1.0 * (x > 1), 0 * x)[min(i, 2)]),
}


@pytest.mark.parametrize("name", KNOWN)
def test_derivatives_in_one_dimension(name):
    f, derivative = KNOWN[name]
    h, degree = 0.2, 6
    c, = expand(f, (X,), (h,), degree)
    for i in range(degree + 1):
        expected = h ** i * derivative(X, i) / factorial(i)
        assert np.allclose(c[i], expected, rtol=1e-11, atol=1e-13), i


@pytest.mark.parametrize("function", [np.tan, np.tanh, lambda u: np.arctan2(u, 1.0)])
def test_series_of_functions_whose_derivatives_are_rational(function):
    """u = f(x) solves a differential equation: tan' = 1 + tan^2, tanh' = 1 - tanh^2, arctan' = 1 / (1 + x^2)."""
    degree, h = 8, 0.3
    c, = expand(lambda x: function(x[0]), (X,), (h,), degree)
    square, = expand(lambda x: function(x[0]) ** 2, (X,), (h,), degree)
    rational, = expand(lambda x: 1 / (1 + x[0] ** 2), (X,), (h,), degree)
    slope = np.array([(i + 1) * c[i + 1] / h for i in range(degree)])
    one = np.zeros_like(slope)
    one[0] = 1
    expected = {"tan": one + square[:-1], "tanh": one - square[:-1]}.get(getattr(function, "__name__", ""), rational[:-1])
    assert np.allclose(slope, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("dim", [2, 3])
def test_mixed_derivatives(dim):
    """(sum a_k x_k)^5 has the coefficients of the multinomial theorem; places broadcast to (z, y, x)."""
    a, h = (1.5, -0.5, 2.0)[:dim], (0.1, 0.3, 0.2)[:dim]
    x = np.meshgrid(*[np.linspace(0.5, 1, 2 + k) for k in range(dim)][::-1], indexing="ij", sparse=True)[::-1]
    c, = expand(lambda x: sum(s * v for s, v in zip(a, x)) ** 5, x, h, 5)
    total = sum(s * v for s, v in zip(a, x))
    assert c.shape == (6,) * dim + total.shape
    for index in np.ndindex((6,) * dim):
        powers = index[::-1]          # of x first
        order = sum(powers)
        expected = 0.0
        if order <= 5:
            ways = factorial(order) // np.prod([factorial(p) for p in powers])
            expected = comb(5, order) * total ** (5 - order) * ways * np.prod([(s * w) ** p for s, w, p in zip(a, h, powers)])
        assert np.allclose(c[index], expected, rtol=1e-11, atol=1e-12), powers


def test_numbers_stay_numbers():
    graph = trace(lambda q, m: (q[0] * m.c, q[1] / m.c), {"q": 2, "m": {"c": None}})
    assert evaluate(graph, {"q0": 2.0, "q1": 3.0, "m_c": 4.0}, 2) == [8.0, 0.75]


def test_what_cannot_be_traced_is_fitted():
    """A function of compiled code is refused by the tracer; the fit's derivatives are right but for rounding."""
    def f(x):
        return (np.vectorize(lambda a, b: sin(a) * exp(b))(*x),)
    x, h, N = np.meshgrid([0.1, 0.4], [0.2, 0.3, 0.8]), (0.1, 0.1), 3
    with pytest.raises(TraceError):
        expand(f, x, h, N)
    exact, = expand(lambda x: np.sin(x[0]) * np.exp(x[1]), x, h, N)
    found, = fitted(f, x, h, N)
    assert np.allclose(found, exact, rtol=1e-9, atol=1e-10)
