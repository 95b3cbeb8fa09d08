"""Prisms at walls and in nonlinear laws: modes of a box, gas at rest, long runs at the default step."""
from dataclasses import replace

import numpy as np
import pytest
from support.prisms import prism_box

import dgarray as dg
from dgarray import backends

BEND = 0.04


def walled_box(n, bend=0.0):
    """The unit cube in prisms with walls around it; bend: of a map of the corners that keeps the walls plane."""
    mesh = prism_box(n, periodic=False)
    x = mesh.points
    return replace(mesh, points=x + bend * np.sin(2 * np.pi * x) * np.cos(2 * np.pi * (x[:, [1, 2, 0]] + 0.1)))


def resonance(x, t):
    """Pressure and velocity of the first mode of a cube with rigid walls, density and speed of sound 1."""
    s, c, w = np.sin, np.cos, np.sqrt(3) * np.pi
    x, y, z = (np.pi * a for a in x)
    share = s(w * t) / np.sqrt(3)
    return (c(x) * c(y) * c(z) * c(w * t), s(x) * c(y) * c(z) * share, c(x) * s(y) * c(z) * share, c(x) * c(y) * s(z) * share)


def cavity(x, t):
    """Fields of the mode E_z = sin(pi x) sin(pi y) cos(w t) of a cube with perfectly conducting walls."""
    s, c, w = np.sin, np.cos, np.sqrt(2) * np.pi
    x, y, _ = (np.pi * a for a in x)
    share, zero = s(w * t) / np.sqrt(2), 0 * x
    return zero, zero, s(x) * s(y) * c(w * t), -s(x) * c(y) * share, c(x) * s(y) * share, zero


RESONATORS = {"acoustics": (dg.Acoustics, dg.wall, resonance), "maxwell": (dg.Maxwell, dg.pec, cavity)}


def error(name, n, order, bend, kernels):
    law, condition, exact = RESONATORS[name]
    sim = dg.Simulation(walled_box(n, bend), law(3), dg.NodalDG(order), boundary=condition, initial=lambda x: exact(x, 0.0),
                        exact=exact, until=0.3, every=0.3, backend="numpy", kernels=kernels)
    sim.run()
    return sim.report["l2_error"]["total"]


@pytest.mark.parametrize("bend", [0.0, BEND])
@pytest.mark.parametrize("name", RESONATORS)
def test_walls(name, bend):
    """Fused kernels give what arrays do, and that is near the mode of the box."""
    array, fused = (error(name, 3, 2, bend, kernels) for kernels in ("array", "fused"))
    assert array == pytest.approx(fused, rel=1e-10) and array < 0.03


@pytest.mark.thorough
@pytest.mark.parametrize("bend", [0.0, BEND])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("name", RESONATORS)
def test_order_at_walls(name, order, bend):
    coarse, fine = (error(name, k, order, bend, "fused") for k in (4, 8))
    assert np.log2(coarse / fine) > order + 0.7


@pytest.mark.parametrize("bend", [0.0, BEND])
def test_gas_at_rest_stays(bend):
    """Euler's equations between walls: the pressure on the faces of each cell adds up to nothing."""
    operator = dg.NodalDG(2).discretise(walled_box(3, bend), dg.Euler(3), dg.wall, backends.get("numpy", "array", "float64"))
    state = operator.state(operator.project(lambda x: (1.0, 0.0, 0.0, 0.0, 2.5)))
    new = operator.host(operator.advance(state, 0.0, 1e-2))
    assert np.abs(new - operator.host(state)).max() < 1e-13


@pytest.mark.thorough
@pytest.mark.parametrize("bend", [0.0, BEND])
def test_a_long_run_keeps_mass_and_energy(bend):
    """A smooth pulse of a gas between walls, many steps of the size that follows from wave speeds."""
    def pulse(x):
        p = 1 + 0.1 * np.exp(-20 * sum((a - 0.5) ** 2 for a in x))
        return p ** (1 / 1.4), 0.0, 0.0, 0.0, p / 0.4
    sim = dg.Simulation(walled_box(3, bend), dg.Euler(3), dg.NodalDG(2, quadrature=5), boundary=dg.wall, initial=pulse,
                        until=6.0, every=6.0, backend="numpy", kernels="fused")
    sim.run()
    kept = sim.report["conserved"]
    for variable in ("rho", "E"):
        assert kept[variable]["final"] == pytest.approx(kept[variable]["initial"], rel=1e-12)
    assert sim.report["steps"] > 500
