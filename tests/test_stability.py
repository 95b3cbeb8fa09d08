"""The stability factors: the table against a fresh measurement, and cfl=1 against real time steps."""
from types import SimpleNamespace

import numpy as np
import pytest
from nodal_problems import of_element

import dgarray as dg
from dgarray import backends
from dgarray.analysis.stability import MARGIN, fit, samples
from dgarray.mesh import box, interval, rectangle
from dgarray.methods import ModalDG, NodalDG, TensorDG
from dgarray.methods.dg import spectrum
from dgarray.methods.dg.spectrum import SEARCHES, largest_step, rounded_down
from dgarray.methods.dg.stability import FAMILIES, family, stability_limit, table, unstable
from dgarray.physics.boundary import absorbing, pec, wall
from dgarray.physics.fluxes import central
from dgarray.physics.laws import Acoustics, Advection, Law, Maxwell
from dgarray.stepping import LSRK54, STEPPERS, amplification, registers, step

BACKEND = backends.get("numpy", "array")
RANDOM = of_element(lambda x: np.exp(np.sin(37 * x[0] + 91 * x[1])))


def operator(mesh, law, order, boundary=None):
    return NodalDG(order).discretise(mesh, law, boundary, BACKEND)


def steppers_of(order):
    """Names of the steppers that have a stable step at this order."""
    return [name for name, stepper in STEPPERS.items() if not unstable(order, stepper)]


def growth(op, stepper, cfl, steps=200):
    """Norm of random data after that many steps, relative to the start."""
    start = np.random.default_rng(0).standard_normal(op.shape)
    count, needs_k = registers(stepper)
    states, k = [start.copy(), *(op.zeros() for _ in range(count - 1))], op.zeros() if needs_k else None
    dt = cfl * op.max_dt(start, 0.0, stepper)
    for _ in range(steps):
        states = step(op, stepper, states, k, 0.0, dt)
    return np.linalg.norm(states[0]) / np.linalg.norm(start)


@pytest.mark.parametrize("name, dim, orders", [("scalar", 1, (4,)), ("system", 1, (2,)), ("scalar", 2, (3,)),
                                               ("system", 2, (4,)), ("curl", 2, (4,)), ("scalar", 3, (5,)),
                                               ("system", 3, (5,)), ("curl", 3, (5,))])
def test_the_table_is_what_the_analysis_gives(name, dim, orders):
    for order in orders:
        found = samples(name, dim, order)
        for stepper in steppers_of(order):
            factor, exponent, *_ = fit(*found, stepper)
            kept = table()[name][str(dim)][stepper][order - 1]
            assert kept == pytest.approx([MARGIN * factor, exponent], rel=6e-5)          # of five digits


@pytest.mark.parametrize("name, dim, order", [("scalar", 2, 3), ("scalar", 2, 7), ("system", 2, 2)])
def test_noise_in_the_samples_does_not_change_the_fit(name, dim, order):
    """Exponents between which rounding alone would choose: those of advection along an axis do equally well."""
    found, noise = samples(name, dim, order), np.random.default_rng(0)
    for stepper in steppers_of(order):
        factor, exponent, *_ = fit(*found, stepper)
        for _ in range(20):
            noisy = [[SimpleNamespace(steps={stepper: one.steps[stepper] * (1 + noise.uniform(-1e-9, 1e-9))},
                                      contributions=one.contributions * (1 + noise.uniform(-1e-9, 1e-9, shape)))
                      for one in some for shape in [one.contributions.shape]] for some in found]
            assert fit(*noisy, stepper)[:2] == (pytest.approx(factor, rel=1e-8), exponent)


def test_known_limits_in_one_dimension():
    """Courant numbers of upwind DG with RK methods of order p + 1, Cockburn & Shu 2001, table 2.2: dt = C h."""
    for stepper, order, known in (("rk2", 1, 0.333), ("ssp22", 1, 0.333), ("ssp33", 1, 0.409), ("ssp33", 2, 0.209),
                                  ("ssp33", 3, 0.130), ("rk4", 1, 0.464), ("rk4", 2, 0.235), ("rk4", 3, 0.145)):
        limit = stability_limit(Advection(1.0), order, STEPPERS[stepper])
        rate = 2 * 2 ** (1 / limit.exponent)
        assert limit.factor / MARGIN / rate == pytest.approx(known, abs=1.1e-3)


@pytest.mark.parametrize("mesh, law, order, boundary", [
    (interval(cells=200, periodic=True), Advection(1.0), 4, None), (rectangle(cells=12, periodic=True), Maxwell(2), 3, None),
    (rectangle(cells=12, periodic=True), Advection((1.0, 0.4)), 2, None), (box(cells=3, periodic=True), Acoustics(3), 2, None),
    (rectangle(cells=12, periodic=True, perturb=0.2), Advection((1.0, 0.7)), 3, None),
    (rectangle(cells=8, perturb=0.25), Acoustics(2), 2, wall), (rectangle((0, 0), (8, 1), cells=4), Maxwell(2), 4, pec),
    (rectangle(cells=6), Maxwell(2, eps=RANDOM, sigma=9.0), 2, pec),
    (box(cells=2), Maxwell(3), 5, pec), (box((0, 0, 0), (4, 2, 1), cells=2, perturb=0.1), Acoustics(3), 3, wall)],
    ids=["1D advection", "2D Maxwell", "2D advection", "3D acoustics", "perturbed advection", "perturbed", "stretched",
         "contrast", "box", "stretched box"])
def test_cfl_1_is_the_largest_stable_step_within_five_percent(mesh, law, order, boundary):
    op = operator(mesh, law, order, boundary)
    for stepper in [STEPPERS[name] for name in steppers_of(order)] if mesh.dim == 1 else [LSRK54]:
        assert growth(op, stepper, 1.0) <= 1.5          # advection is not normal: it may grow a little at first
        assert growth(op, stepper, 1.05) > 10


OPEN = [*((interval(0, 1, n), Advection(1.0), NodalDG(4)) for n in (4, 8, 16, 32, 64)),
        *((interval(0, 1, n), Maxwell(1), NodalDG(4)) for n in (4, 8, 16)),
        *((rectangle(cells=n), Advection((1.0, 0.4)), method) for n in (2, 8) for method in (NodalDG(2), ModalDG(2))),
        *((rectangle(cells=n, shape="quadrilateral"), Advection((1.0, 0.4)), TensorDG(3)) for n in (3, 8)),
        (rectangle(cells=6, perturb=0.3), Advection((1.0, 0.4)), NodalDG(3)),
        (box(cells=2), Advection((1.0, 0.4, 0.2)), NodalDG(2)),
        (rectangle(cells=2), Maxwell(2), NodalDG(3)), (box(cells=1), Acoustics(3), NodalDG(2))]


@pytest.mark.parametrize("stepper", [STEPPERS["lsrk54"], STEPPERS["ssp33"]], ids=lambda stepper: stepper.name)
@pytest.mark.parametrize("mesh, law, method", OPEN)
def test_nothing_grows_on_its_way_to_an_open_boundary(mesh, law, method, stepper):
    """The operator is far from normal: its eigenvalues alone allow steps with which states grow by up to 1e14."""
    op = method.discretise(mesh, law, absorbing, BACKEND)
    assert max(growth(op, stepper, 1.0, steps) for steps in (3, 10, 30, 100)) < 2


class Stream(Law):
    """Sound in a stream of Mach 2 along x, and entropy: every wave runs to the right."""

    dim, variables = 2, ("p", "vx", "vy", "s")

    def flux(self, q, n):
        p, vx, vy, s = q
        u = 2 * n[0]
        return u * p + vx * n[0] + vy * n[1], u * vx + p * n[0], u * vy + p * n[1], u * s

    def wave_speed(self, n):
        return 2 * np.abs(n[0]) + np.sqrt(n[0] ** 2 + n[1] ** 2)


@pytest.mark.thorough
@pytest.mark.parametrize("cells, order, stepper", [(200, 1, "rk4"), (400, 1, "lsrk54"), (400, 2, "lsrk54")])
def test_nothing_grows_in_a_law_of_ones_own_whose_waves_run_one_way(cells, order, stepper):
    """On a strip of squares, cut in two, states grew by up to 1e16 when the search was that for waves both ways."""
    op = NodalDG(order).discretise(rectangle((0, 0), (cells, 1), cells=(cells, 1)), Stream(), absorbing, BACKEND)
    assert max(growth(op, STEPPERS[stepper], 1.0, steps) for steps in (30, 100, 300)) < 2


def test_growth_is_that_of_the_powers_of_a_matrix():
    """Of a step with a matrix that is far from normal, the norms of all powers by brute force."""
    A = -np.eye(30) + 1.4 * np.eye(30, k=-1)
    step = amplification(LSRK54, 0.7 * A, np.eye(30), np.matmul)
    expected = max(np.linalg.norm(np.linalg.matrix_power(step, 2 ** k), 2) for k in range(9))
    assert expected > 100 and spectrum.growth(A, LSRK54, 0.7, 8) == pytest.approx(expected, rel=1e-3)
    assert spectrum.growth(1e6 * A, LSRK54, 0.7, 8) == np.inf


def test_the_step_of_part_of_a_mesh_is_that_of_the_whole(monkeypatch):
    """Unevenly meshed, what limits the step is a few elements: found on a fifth of the mesh, it is the same within 5 %."""
    mesh = box(cells=6, perturb=0.2)
    whole = operator(mesh, Maxwell(3), 1, pec).max_dt(None, 0.0, LSRK54)
    monkeypatch.setattr(spectrum, "UNKNOWNS", SEARCHES["curl"].products * 24 * len(mesh.cells) // 5)
    part = operator(mesh, Maxwell(3), 1, pec).max_dt(None, 0.0, LSRK54)
    search, count = SEARCHES["curl"], len(mesh.cells)
    assert part / search.share_of(count // 5, count, 3) == pytest.approx(whole / search.share, rel=0.025)
    assert part <= whole / search.share


@pytest.mark.parametrize("count", [20, 60, 150])
def test_the_step_of_a_small_part_is_stable(monkeypatch, count):
    """A few cells of a uniform mesh hold no waves as short as the whole does: up to a fifth of the step is left for that."""
    mesh, law = box(cells=7, shape="hexahedron"), Acoustics(3)
    steps = []
    for unknowns in (spectrum.UNKNOWNS, SEARCHES["system"].products * 4 * 27 * count):
        monkeypatch.setattr(spectrum, "UNKNOWNS", unknowns)
        steps.append(TensorDG(2).discretise(mesh, law, wall, backends.get("numpy", "array")).max_dt(None, 0.0, LSRK54))
    assert 0.75 < steps[1] / steps[0] < 1 / SEARCHES["system"].share


def test_the_step_is_the_same_on_every_backend_and_for_every_dtype():
    steps = {NodalDG(3).discretise(rectangle(cells=3, perturb=0.1), Acoustics(2), wall, backends.get("numpy", *kind)).max_dt(
        None, 0.0, LSRK54) for kind in (("array",), ("fused",), ("array", "float32"), ("fused", "float64", 1))}
    assert len(steps) == 1


def test_the_central_flux_allows_longer_steps():
    mesh, law = rectangle(cells=4, periodic=True), Maxwell(2)
    steps = [NodalDG(3).discretise(mesh, law, None, BACKEND, flux).max_dt(None, 0.0, LSRK54) for flux in (central, None)]
    assert 1.1 < steps[0] / steps[1] < 2.3


def test_nothing_limits_the_step_of_what_does_not_move():
    assert operator(rectangle(cells=2), Advection((0.0, 0.0)), 2, absorbing).max_dt(None, 0.0, LSRK54) == np.inf
    assert [rounded_down(x) for x in (0.123456, 98766.0, 1.0007e-7)] == pytest.approx([0.1234, 98760, 1e-7])


@pytest.mark.parametrize("mesh, law, boundary", [
    (rectangle(cells=4, periodic=True, diagonal="alternate"), Advection((1.0, 0.4)), None),
    (rectangle((0, 0), (8, 1), cells=4), Maxwell(2), pec), (rectangle(cells=4, perturb=0.25), Acoustics(2), wall),
    (rectangle(cells=4), Maxwell(2, eps=RANDOM), pec),
    (box(cells=2), Maxwell(3), pec), (box((0, 0, 0), (4, 2, 1), cells=2, perturb=0.1), Acoustics(3), wall)],
    ids=["alternate", "stretched", "perturbed", "contrast", "box", "stretched box"])
def test_the_step_of_the_table_is_stable_on_other_meshes(mesh, law, boundary):
    """By the eigenvalues of the operator itself; and cfl=1 lies below the largest stable step by 5 % at most."""
    for order in (1, 2) if mesh.dim < 3 else (1,):
        op = operator(mesh, law, order, boundary)
        size = int(np.prod(op.shape))
        values = np.linalg.eigvals(np.array([op.rhs(unit.reshape(op.shape), 0.0).ravel() for unit in np.eye(size)]).T)
        for stepper in [STEPPERS[name] for name in steppers_of(order)]:
            limit, largest = stability_limit(law, order, stepper), largest_step(values, stepper)
            assert limit.factor / op.operations.rate(op.zeros(), 0.0, limit.exponent) < largest
            assert 0.95 * largest < op.max_dt(op.zeros(), 0.0, stepper) < largest


def test_the_table_is_complete():
    for name in FAMILIES:
        for dim in "123":
            for stepper in STEPPERS:
                assert len(table()[name][dim][stepper]) == (10 if STEPPERS[stepper].order > 2 else 1)


@pytest.mark.parametrize("stepper", ["rk2", "ssp22"])
def test_second_order_steppers_are_for_order_1(stepper):
    """With the step of the third-order method a long wave at order 2 grows; at order 1 nothing does with cfl=1."""
    op = operator(interval(cells=40, periodic=True), Advection(1.0), 1, None)
    assert growth(op, STEPPERS[stepper], 1.0, 2000) <= 1.0
    op = operator(interval(cells=40, periodic=True), Advection(1.0), 2, None)
    dt = op.max_dt(None, 0.0, STEPPERS["ssp33"])
    values = np.linalg.eigvals(np.array([op.rhs(unit.reshape(op.shape), 0.0).ravel() for unit in np.eye(120)]).T)
    waves = values[(np.abs(values.imag) > 1) & (np.abs(values) < 20)]
    assert (np.abs(amplification(STEPPERS[stepper], dt * waves)) > 1).all()
    with pytest.raises(ValueError, match=f"stepper '{stepper}' has no stable time step at order 2"):
        op.max_dt(None, 0.0, STEPPERS[stepper])


def test_family_and_errors():
    class Odd(Advection):
        family = "odd"

    class Other:
        name, order = "euler", 1

    assert [family(law) for law in (Advection(1.0), Acoustics(2), Maxwell(3))] == list(FAMILIES)
    with pytest.raises(ValueError, match="family 'odd' does not exist; allowed: scalar, system, curl"):
        family(Odd(1.0))
    with pytest.raises(ValueError, match="no stability factor for order 11; measured: 1 to 10"):
        stability_limit(Advection(1.0), 11, STEPPERS["rk4"])
    with pytest.raises(ValueError, match="no stability factor for stepper 'euler'; measured: lsrk54, rk4, ssp33, rk2, ssp22, "):
        stability_limit(Advection(1.0), 1, Other)


def test_a_step_that_is_known_is_not_searched_for_again(monkeypatch):
    """As long as the functions that were given return the same; the step is the same bit for bit."""
    searched, medium, found = [], [1.0], spectrum._found_step
    monkeypatch.setattr(spectrum, "_found_step", lambda *a: searched.append(1) or found(*a))
    spectrum.forget_steps()
    for mesh in (dg.rectangle(cells=2), dg.pml(dg.rectangle(cells=2), 0.5, 1)):
        sim = dg.Simulation(mesh, dg.Maxwell(2, eps=lambda x: medium[0] + 0 * x[0]), dg.NodalDG(2), dg.pec, backend="numpy",
                            kernels="array")
        searched.clear()
        steps, counts = [], []
        for medium[0] in (1.0, 1.0, 4.0, 1.0):
            again = sim.replace(cfl=0.5)
            steps.append(again.max_dt(again.project()))
            counts.append(len(searched))
        assert counts == [1, 1, 2, 2] and steps[0] == steps[1] == steps[3] and abs(steps[2] / steps[0] - 2) < 0.01
