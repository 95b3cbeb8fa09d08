"""The stability factors: the table against a fresh measurement, and cfl=1 against real time steps."""
import numpy as np
import pytest

from dgarray import backends
from dgarray.analysis.stability import MARGIN, fit, largest_step, outer_spectrum, samples
from dgarray.boundary import pec, wall
from dgarray.laws import Acoustics, Advection, Maxwell
from dgarray.mesh import box, interval, rectangle
from dgarray.methods import NodalDG
from dgarray.methods.stability import FAMILIES, family, stability_limit, table
from dgarray.stepping import LSRK54, STEPPERS, registers, step

BACKEND = backends.get("numpy", "array")


def operator(mesh, law, order, boundary=None):
    return NodalDG(order).discretise(mesh, law, boundary, BACKEND)


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
        for stepper in STEPPERS:
            factor, exponent, *_ = fit(*found, stepper)
            assert table()[name][str(dim)][stepper][order - 1] == pytest.approx([MARGIN * factor, exponent], rel=1e-2)


def test_known_limits_in_one_dimension():
    """Courant numbers of upwind DG with RK methods of order p + 1, Cockburn & Shu 2001, table 2.2: dt = C h."""
    for stepper, order, known in (("ssp33", 1, 0.409), ("ssp33", 2, 0.209), ("ssp33", 3, 0.130), ("rk4", 1, 0.464),
                                  ("rk4", 2, 0.235), ("rk4", 3, 0.145)):
        limit = stability_limit(Advection(1.0), order, STEPPERS[stepper])
        rate = 2 * 2 ** (1 / limit.exponent)
        assert limit.factor / MARGIN / rate == pytest.approx(known, abs=1.1e-3)


@pytest.mark.parametrize("mesh, law, order", [
    (interval(cells=32, periodic=True), Advection(1.0), 4), (rectangle(cells=3, periodic=True), Maxwell(2), 3),
    (rectangle(cells=6, periodic=True), Advection((1.0, 0.4)), 2), (box(cells=2, periodic=True), Acoustics(3), 2)],
    ids=["1D advection", "2D Maxwell", "2D advection", "3D acoustics"])
def test_cfl_1_is_the_largest_stable_step_within_five_percent(mesh, law, order):
    op = operator(mesh, law, order)
    for stepper in STEPPERS.values() if mesh.dim == 1 else [LSRK54]:
        assert growth(op, stepper, 1.0) <= 1
        assert growth(op, stepper, 1.05) > 10


@pytest.mark.parametrize("mesh, law, boundary", [
    (rectangle(cells=4, periodic=True, diagonal="alternate"), Advection((1.0, 0.4)), None),
    (rectangle((0, 0), (8, 1), cells=4), Maxwell(2), pec), (rectangle(cells=4, perturb=0.25), Acoustics(2), wall),
    (rectangle(cells=4), Maxwell(2, eps=lambda x: np.exp(np.sin(37 * x[0] + 91 * x[1]))), pec),
    (box(cells=2), Maxwell(3), pec), (box((0, 0, 0), (4, 2, 1), cells=2, perturb=0.1), Acoustics(3), wall)],
    ids=["alternate", "stretched", "perturbed", "contrast", "box", "stretched box"])
def test_cfl_1_is_stable_on_other_meshes(mesh, law, boundary):
    """By the eigenvalues of the operator itself."""
    for order in (1, 2):
        op = operator(mesh, law, order, boundary)
        values = outer_spectrum(lambda q, op=op: op.rhs(q.reshape(op.shape), 0.0).ravel(), int(np.prod(op.shape)))
        for stepper in STEPPERS.values():
            assert largest_step(values, stepper) > op.max_dt(op.zeros(), 0.0, stepper)


def test_the_table_is_complete():
    for name in FAMILIES:
        for dim in "123":
            for stepper in STEPPERS:
                assert len(table()[name][dim][stepper]) == 10


def test_family_and_errors():
    class Odd(Advection):
        family = "odd"

    class Other:
        name = "euler"

    assert [family(law) for law in (Advection(1.0), Acoustics(2), Maxwell(3))] == list(FAMILIES)
    with pytest.raises(ValueError, match="family='odd' is not allowed; allowed: scalar, system, curl"):
        family(Odd(1.0))
    with pytest.raises(ValueError, match="no stability factor for order 11; measured: 1 to 10"):
        stability_limit(Advection(1.0), 11, STEPPERS["rk4"])
    with pytest.raises(ValueError, match="no stability factor for stepper 'euler'; measured: lsrk54, rk4, ssp33"):
        stability_limit(Advection(1.0), 1, Other)
