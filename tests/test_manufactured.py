"""Manufactured solutions: derivatives of traced functions, sources of every law, and the orders that they show."""
import numpy as np
import pytest

import dgarray as dg
from dgarray.analysis import manufactured
from dgarray.physics.derivative import derivative
from dgarray.physics.laws.law import dot
from dgarray.physics.taylor import expand
from dgarray.physics.trace import call, record, trace


def everything(x):
    """Every operation that can be traced."""
    a, b = x
    c = np.sqrt(1 + a * a) + np.exp(-b) - np.log(2 + a) / (3 + b)
    d = np.sin(a * b) + np.cos(b) * np.tan(a / 3) + np.tanh(a - b) + np.arctan2(a, b) + (1.5 + a) ** 2.5 + a ** 3
    corners = np.abs(a - b) + np.maximum(a, b) - np.minimum(a * a, b)
    return c, d, corners, np.where(a > b, a * b, np.square(b)) + np.sign(a) * b, (1.2 + a) ** b


@pytest.mark.parametrize("axis", [0, 1])
def test_derivatives_are_those_of_taylor_series(axis):
    x = tuple(np.random.default_rng(axis).uniform(0.2, 0.9, (2, 40)))
    found = derivative(trace(everything, {"x": 2}), {"x0": x[0], "x1": x[1]}, {f"x{axis}": 1.0})
    series = expand(everything, x, (1.0, 1.0), 1)
    for value, coefficients in zip(found, series, strict=True):
        expected = coefficients[(1, 0) if axis == 1 else (0, 1)]          # the first axis belongs to the last coordinate
        assert np.abs(value - expected).max() < 1e-13 * (1 + np.abs(expected).max())


class ShallowWater(dg.Law):
    """Water of the depth h over a bottom at the height b(x): h_t + div(h v) = 0, (h v)_t + div(h v v) + g h grad(h + b) = 0."""

    variables = ("h", "hu", "hv")

    def __init__(self, slope=lambda x: (0.1 * np.cos(x[0]), 0.2 * x[1]), gravity=9.81):
        self.dim, self.slope, self.parameters = 2, slope, {"g": gravity}

    def flux(self, q, n, m):
        h, *hv = q
        u = dot(hv, n) / h
        return (h * u, *(k * u + m.g * h * h / 2 * a for k, a in zip(hv, n)))

    def wave_speed(self, q, n, m):
        h, *hv = q
        return np.abs(dot(hv, n)) / h + np.sqrt(m.g * h * dot(n, n))

    def source(self, q, x, m):
        return (0.0, *(-m.g * q[0] * s for s in self.slope(x)))

    def admissible(self, q):
        return q[0] > 0


def waves(x, t):
    return (2 + 0.1 * np.sin(np.pi * (x[0] + x[1] - t)), 0.3 * np.cos(np.pi * (x[0] - x[1] + t)),
            0.2 * np.sin(np.pi * x[0] * x[1] + t))


MESHES = {"triangles": lambda n: dg.rectangle(cells=n, diagonal="alternate"),
          "quadrilaterals": lambda n: dg.rectangle(cells=n, shape="quadrilateral"),
          "grid": lambda n: dg.Grid((0, 0), (1, 1), 4 * n)}


@pytest.mark.parametrize("kind, method, least", [
    ("triangles", dg.NodalDG(2), 2.7), ("triangles", dg.ModalDG(3), 3.7), ("quadrilaterals", dg.TensorDG(2), 2.7),
    ("grid", dg.FiniteVolume("muscl", splitting=None), 1.8), ("grid", dg.FiniteVolume("first-order"), 0.8)],
    ids=lambda value: getattr(value, "scheme", type(value).__name__))
def test_orders_of_a_law_of_ones_own(kind, method, least):
    problem, errors = manufactured(ShallowWater(), waves), []
    for cells in (4, 8):
        sim = dg.Simulation(MESHES[kind](cells), problem.law, method, **problem.options, until=0.1, backend="numpy",
                            kernels="array", threads=1)
        sim.run()
        errors.append(sim.report["l2_error"]["total"])
    assert np.log2(errors[0] / errors[1]) > least


SMOOTH = dg.Acoustics(2, sound_speed=lambda x: 1 + 0.2 * np.sin(x[0]), density={"a": 1.0, "b": 2.0})
LAWS = [dg.Advection(lambda x: (1 + x[1], x[0] * x[1]), dim=2), SMOOTH,
        dg.Maxwell(2, "TE", eps=lambda x: 1 + x[0] ** 2, sigma=0.3), dg.Euler(2), dg.MHD(2, cleaning_speed=1.5),
        dg.MHD(2, cleaning_speed=1.5, powell=True)]


def state(law):
    def q(x, t):
        wave = [0.1 * np.sin(x[0] + 2 * x[1] - t + v) for v in range(9)]
        if law.conservative is None:
            return tuple(wave[:len(law.variables)])
        rest = (1.0, *(0.2,) * (len(law.variables) - 2 if isinstance(law, dg.Euler) else 3), 1.0, *(0.3,) * 4)
        return law.conservative(tuple(a + b for a, b in zip(rest[:len(law.variables)], wave)))
    return q


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_the_source_is_the_residual_of_the_law(law):
    """s_q = C q_t + div F + nonconservative products - s, by differences of the law's own functions."""
    q, h, t, x = state(law), 1e-6, 0.4, (np.array([0.3, 0.8]), np.array([0.6, 0.1]))
    problem = manufactured(law, q)

    def medium(x):
        return record("m", *law.parameters)(*(value(x) if callable(value) else 2.0 if isinstance(value, dict) else value
                                              for value in law.parameters.values()))

    def given(x, t):
        return dict(q=q(x, t), x=x, t=t, m=medium(x))
    rate = [(b - a) / (2 * h) for a, b in zip(q(x, t - h), q(x, t + h))]
    capacity = call(law.capacity, dict(m=medium(x))) if law.capacity else (1.0,) * len(rate)
    expected = [c * r for c, r in zip(capacity, rate)]
    for axis in range(2):
        n = tuple(float(k == axis) for k in range(2))
        low, high = (tuple(c + s * h * (k == axis) for k, c in enumerate(x)) for s in (-1, 1))
        ends = [call(law.flux, given(end, t) | {"n": n}) for end in (low, high)]
        expected = [e + (b - a) / (2 * h) for e, a, b in zip(expected, *ends)]
        if law.products:
            ends = [law.products(q(x, t), law.product_flux(q(end, t), n)) for end in (low, high)]
            expected = [e + (b - a) / (2 * h) for e, a, b in zip(expected, *ends)]
    if law.source:
        expected = [e - s for e, s in zip(expected, call(law.source, given(x, t)))]
    for found, wanted in zip(problem.source(x, t, medium(x)), expected, strict=True):
        assert np.abs(found - wanted).max() < 1e-8


def test_kernels_compute_the_source():
    law = dg.Euler(2)
    problem, found = manufactured(law, state(law)), []
    for kernels in ("array", "fused"):
        sim = dg.Simulation(dg.rectangle(cells=3), law, dg.NodalDG(2), **problem.options, backend="numpy", kernels=kernels)
        found.append(sim.rhs(sim.project(), 0.2))
    assert np.abs(found[0] - found[1]).max() < 1e-12 * np.abs(found[0]).max()


@pytest.mark.parametrize("law, q, error, message", [
    (dg.Euler, waves, ValueError, "give a law"), (dg.Euler(1), 3, ValueError, "must be a function of x and t"),
    (dg.Euler(1), lambda x, t, m: (1.0, 1.0, 1.0), ValueError, "asks for m; it may ask for x and t"),
    (dg.Euler(1), lambda x, t: (1.0, 1.0), ValueError, "must return 3"),
    (dg.Advection(1.0), lambda x, t: (x[0] if x[0] > t else t,), TypeError, "np.where")])
def test_bad_input_is_named(law, q, error, message):
    with pytest.raises(error, match=message):
        manufactured(law, q)
