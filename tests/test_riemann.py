"""The exact Riemann solver: published values, tables, the integral form of the equations, vacuum, errors."""

import numpy as np
import pytest
from references import TORO, table_path

import dgarray as dg
from dgarray.physics.pointwise import Pointwise

# What the tables were made from: states, the place of the jump, the time.
MADE = {
    "sod": ((1, 0, 1), (0.125, 0, 0.1), 0.5, 0.2), "lax": ((0.445, 0.698, 3.528), (0.5, 0, 0.571), 0.5, 0.13),
    "toro1": ((1, 0.75, 1), (0.125, 0, 0.1), 0.3, 0.2), "toro2_123": ((1, -2, 0.4), (1, 2, 0.4), 0.5, 0.15),
    "toro3": ((1, 0, 1000), (1, 0, 0.01), 0.5, 0.012),
}
OPENED = (1.0, -8.0, 0.4), (0.5, 5.0, 1.0)                  # flies apart faster than the gas can follow
BESIDE = (1.0, 0.3, 0.4), (0.0, 0.0, 0.0)


@pytest.mark.parametrize("test", TORO)
def test_star_states_are_those_of_toro(test):
    (left, right), (p, u, rho_left, rho_right) = TORO[test]
    solution = dg.riemann(dg.Euler(1), left, right)
    found = np.array([solution.pressure, solution.velocity, *solution.densities])
    assert np.allclose(found, (p, u, rho_left, rho_right), rtol=8e-6, atol=6e-6)
    kinds = {1: ("rarefaction", "shock"), 2: ("rarefaction",) * 2, 3: ("rarefaction", "shock"), 4: ("shock", "rarefaction"),
             5: ("shock", "shock")}
    assert solution.waves == kinds[test] and not solution.vacuum


@pytest.mark.parametrize("name", MADE)
def test_profiles_are_those_of_an_independent_program(name):
    x, *expected = np.loadtxt(table_path(f"riemann_{name}.csv"), delimiter=",").T
    left, right, at, t = MADE[name]
    found = dg.riemann(dg.Euler(1), left, right, at=at).primitive((x,), t)
    for a, b in zip(found, expected):
        assert np.abs(a - b).max() < 1e-11 * np.abs(b).max()


def random_states(seed, count):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        rho, p, u = np.exp(2 * rng.standard_normal((2, 2))).T.tolist() + [(2 * rng.standard_normal(2)).tolist()]
        yield (rho[0], u[0], p[0]), (rho[1], u[1], p[1])


@pytest.mark.parametrize("gamma", [1.4, 5 / 3, 1.1, 3.0])
def test_solutions_conserve_mass_momentum_and_energy(gamma):
    """The integral over (-a, b) at t is that at 0 plus t times the flux through both ends; and shocks compress."""
    law = dg.Euler(1, gamma)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    kinds = set()
    for left, right in [*random_states(1, 40), OPENED, BESIDE, BESIDE[::-1], *(pair for pair, _ in TORO.values())]:
        solution = dg.riemann(law, left, right)
        edge = 1 + max(map(abs, solution.speeds))
        breaks = sorted({-edge, *solution.speeds, edge})
        total = np.zeros(3)
        for a, b in zip(breaks, breaks[1:]):         # smooth between the waves; t = 1
            s = (a + b) / 2 + (b - a) / 2 * nodes
            total += np.array(solution((s,), 1.0)) @ weights * (b - a) / 2
        ends = [np.array(law.conservative(w)) for w in (left, right)]
        fluxes = [np.array(law.flux(q, (1.0,))) if w[0] else np.zeros(3) for q, w in zip(ends, (left, right))]
        expected = edge * (ends[0] + ends[1]) + fluxes[0] - fluxes[1]
        scale = edge * np.abs(ends).max() + np.abs(fluxes).max()
        assert np.abs(total - expected).max() < 1e-6 * scale, (left, right)
        kinds |= {*solution.waves, solution.vacuum}
        for w, kind, star in zip((left, right), solution.waves, solution.densities):
            assert (star > w[0]) == (kind == "shock")
    assert kinds == {"shock", "rarefaction", "none", True, False}


def test_waves_are_shocks_and_rarefactions():
    """Across a shock the jumps of flux and state are parallel; in a fan entropy and one Riemann invariant are constant."""
    law = dg.Euler(1)
    for left, right in random_states(2, 20):
        solution = dg.riemann(law, left, right)
        for sign, w, kind, head, tail in zip((-1, 1), (left, right), solution.waves, solution.speeds[::4],
                                             solution.speeds[1::2]):
            if kind == "shock":
                before, behind = (np.array(law.conservative([float(c) for c in solution.sample(head + sign * e)]))
                                  for e in (1e-9, -1e-9))
                jump = np.array(law.flux(before, (1.0,))) - law.flux(behind, (1.0,)) - head * (before - behind)
                assert np.abs(jump).max() < 1e-10 * (1 + np.abs(law.flux(behind, (1.0,))).max())
            else:
                rho, u, p = solution.sample(np.linspace(min(head, tail), max(head, tail), 50))
                c, c0 = np.sqrt(1.4 * p / rho), np.sqrt(1.4 * w[2] / w[0])
                assert np.allclose(p / rho ** 1.4, w[2] / w[0] ** 1.4, rtol=1e-11)
                assert np.allclose(u - sign * 5 * c, w[1] - sign * 5 * c0, atol=1e-10 * c0)


def test_vacuum():
    law = dg.Euler(1)
    opened = dg.riemann(law, *OPENED)
    assert opened.vacuum and opened.pressure == 0 and opened.densities == (0, 0)
    rho, _, p = opened.sample(np.linspace(opened.speeds[1], opened.speeds[3], 9)[1:-1])
    assert rho.max() < 1e-60 and p.max() < 1e-60            # zero but for rounding
    beside, mirrored = dg.riemann(law, *BESIDE), dg.riemann(law, BESIDE[1], (1.0, -0.3, 0.4))
    assert beside.waves == ("rarefaction", "none") and beside.speeds[1] == pytest.approx(0.3 + 5 * np.sqrt(0.56))
    s = np.linspace(-3, 6, 50)
    for a, b, sign in zip(beside.sample(s), mirrored.sample(-s), (1, -1, 1)):
        assert np.allclose(a, sign * b)


def test_the_plane_may_lie_anywhere():
    """In 2D and 3D along a direction: the 1D solution, tangential velocities jump at the contact."""
    n, tangent = np.array([2.0, -1.0, 2.0]) / 3, np.array([1.0, 2.0, 0.0])
    one = dg.riemann(dg.Euler(1), (1.0, 0.2, 1.0), (0.125, -0.1, 0.1), at=0.3)
    left = (1.0, *(0.2 * n + 0.7 * tangent), 1.0)
    right = (0.125, *(-0.1 * n - 0.4 * tangent), 0.1)
    three = dg.riemann(dg.Euler(3), left, right, at=0.3, direction=n)
    distance = np.linspace(-1, 1.5, 101)
    x = np.multiply.outer(n, distance) + np.array([[0.3], [0.6], [0.0]])          # moved within the plane
    rho, u, p = one.primitive((distance,), 0.4)
    rho3, *v, p3 = three.primitive(tuple(x), 0.4)
    assert np.allclose(rho3, rho) and np.allclose(p3, p)
    expected = np.where(distance < 0.3 + 0.4 * one.velocity, 0.7, -0.4)
    assert np.allclose(v, np.multiply.outer(n, u) + np.multiply.outer(tangent, expected))
    at_start = three.primitive(tuple(x), 0.0)[0]
    assert np.array_equal(at_start, np.where(distance < 0.3, 1.0, 0.125))


def test_it_can_be_traced_as_a_boundary_state():
    law = dg.Euler(2)
    solution = dg.riemann(law, (1.0, 0.0, 0.2, 1.0), (0.125, 0.0, 0.0, 0.1), at=0.5)
    x, t = (np.linspace(0, 1, 11), np.linspace(1, 2, 11)), 0.1
    assert Pointwise(solution, {"x": 2, "t": None}, "state").graph.depends_on("t")
    assert np.allclose(solution(x=x, t=t), dg.prescribed(solution)(x=x, t=t, law=law))


def test_a_run_is_compared_with_it():
    """Before its waves reach the ends, the integrals are those of the initial state plus the work done there."""
    law = dg.Euler(1)
    exact = dg.riemann(law, (1.0, 0.0, 1.0), (0.8, 0.0, 0.9), at=0.5)
    sim = dg.Simulation(dg.interval(0, 1, 50), law, dg.NodalDG(1), dg.prescribed(exact), exact, exact=exact, until=0.1,
                        kernels="array", backend="numpy")
    sim.run()
    assert sim.report["l2_error"]["total"] < 0.06          # a small jump, without a limiter
    assert repr(exact) == "riemann(Euler(dim=1, gamma=1.4), (1.0, 0.0, 1.0), (0.8, 0.0, 0.9), at=0.5, direction=(1.0,))"


@pytest.mark.parametrize("make, message", [
    (lambda: dg.riemann(dg.Acoustics(1), (1, 0, 1), (1, 0, 1)), "Euler equations"),
    (lambda: dg.riemann(dg.Euler(2), (1, 0, 1), (1, 0, 1)), "needs 4: rho, u, v, p"),
    (lambda: dg.riemann(dg.Euler(1), (1, 0, -1), (1, 0, 1)), "must be positive"),
    (lambda: dg.riemann(dg.Euler(1), (0, 0, 1), (1, 0, 1)), "must be positive"),
    (lambda: dg.riemann(dg.Euler(1), (1, np.nan, 1), (1, 0, 1)), "must be positive"),
    (lambda: dg.riemann(dg.Euler(1), (0, 0, 0), (0, 0, 0)), "vacuum on both sides"),
    (lambda: dg.riemann(dg.Euler(2), (1, 0, 0, 1), (1, 0, 0, 1), direction=(1, 1)), "unit vector"),
])
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError) as caught:
        make()
    assert message in str(caught.value)
