"""The problem as arrays, runs step by step, and functions that a run calls."""
import numpy as np
import pytest
import scipy.integrate

import dgarray as dg

MESH = dg.rectangle(cells=(5, 4), perturb=0.1)


def pulse(x):
    return np.exp(-30 * ((x[0] - 0.4) ** 2 + (x[1] - 0.6) ** 2)), 0.0, 0.0


def vortex(x):
    rho = 1 + 0.2 * np.sin(6 * x[0])
    return dg.Euler(2).conservative((rho, 0.3 + 0 * rho, 0.1 + 0 * rho, 1 + 0 * rho))


def waves(method=None, **options):
    return dg.Simulation(MESH, dg.Acoustics(2), method or dg.NodalDG(3), dg.wall, pulse, **({"backend": "numpy"} | options))


def gas(**options):
    mesh = dg.rectangle(cells=6, periodic=True)
    return dg.Simulation(mesh, dg.Euler(2), dg.ModalDG(1, limiter="vertex"), None, vortex, stepper="ssp33",
                         **({"backend": "numpy"} | options))


def series(**options):
    grid = dg.Grid((0, 0), (1, 1), (10, 8))
    return dg.Simulation(grid, dg.Acoustics(2), dg.Hermite(2), dg.wall, pulse, **({"backend": "numpy"} | options))


@pytest.mark.parametrize("make", [waves, gas, series])
@pytest.mark.parametrize("every", [None, 0.04])
def test_steps_are_those_of_a_run_bit_for_bit(make, every):
    sim = make(kernels="array")
    expected = sim.run(until=0.1, every=every)
    states = [(state.t, state.step, state.dataset()) for state in make(kernels="array").steps(until=0.1, every=every)]
    kept = states if every else [states[0], states[-1]]
    assert [t for t, *_ in kept] == expected.time.values.tolist()
    for number, (_, _, ds) in enumerate(kept):
        for name in sim.law.variables:
            assert np.array_equal(ds[name][0], expected[name][number]), name
    assert states[-1][1] == sim.report["steps"]
    if every is None:
        assert [step for _, step, _ in states] == list(range(sim.report["steps"] + 1))


@pytest.mark.parametrize("make", [waves, gas])
@pytest.mark.parametrize("kernels, dtype", [("fused", "float64"), ("array", "float32")])
def test_arrays_go_in_and_come_out(make, kernels, dtype):
    sim = make(kernels=kernels, dtype=dtype)
    q = sim.project()
    assert type(q) is np.ndarray and q.dtype == dtype and q.shape == sim.operator.shape
    before, rate = q.copy(), sim.rhs(q, 0.1)
    assert np.array_equal(q, before) and rate.shape == q.shape and rate.dtype == dtype
    reference = make(kernels="array").rhs(before.astype(float), 0.1)
    assert np.abs(rate - reference).max() < 1e4 * np.finfo(dtype).eps * np.abs(reference).max()
    assert sim.max_dt(q) == pytest.approx(make(kernels="array").max_dt(before.astype(float)), rel=1e-5)
    ds = sim.dataset(q, t=2.0)
    assert ds.time.values.tolist() == [2.0] and ds.attrs["cell_type"] == "triangle"
    assert np.array_equal(sim.project(lambda x: tuple(0 * x[0] for _ in sim.law.variables)), 0 * q)


def test_an_integrator_of_scipy_gives_the_runs_solution():
    sim = waves(cfl=0.1)
    ds = sim.run(until=0.2)
    q = sim.project()
    found = scipy.integrate.solve_ivp(lambda t, y: sim.rhs(y.reshape(q.shape), t).ravel(), (0, 0.2), q.ravel(),
                                      method="DOP853", rtol=1e-10, atol=1e-12)
    late = sim.dataset(found.y[:, -1].reshape(q.shape), 0.2)
    for name in sim.law.variables:
        assert np.abs(late[name].values[0] - ds[name].values[-1]).max() < 1e-7


def test_the_linear_operator_is_the_right_hand_side():
    sim = waves(source=lambda x, t: (np.sin(x[0] + t), 0.0, 0.0), kernels="array")
    A, q = sim.linear_operator(), np.random.default_rng(0).standard_normal(sim.operator.shape)
    assert np.allclose(A @ q.ravel(), (sim.rhs(q) - sim.rhs(0 * q)).ravel(), rtol=1e-12, atol=1e-10)
    values = np.linalg.eigvals(waves(dg.NodalDG(2), kernels="array").linear_operator() @ np.eye(3 * 6 * 40))
    assert np.abs(values - np.pi * 1j).min() < 1e-2          # the closed box's lowest wave
    with pytest.raises(ValueError, match="the right-hand side of Euler.* is not linear"):
        gas().linear_operator()


def test_a_callback_looks_changes_and_ends():
    seen = []

    def look(state):
        seen.append((state.t, state.step, state.q))
    plain, sim = waves().run(until=0.1), waves()
    watched = sim.run(until=0.1, callback=look, callback_every=3)
    assert all(np.array_equal(plain[name], watched[name]) for name in sim.law.variables)
    assert [step for _, step, _ in seen] == list(range(3, sim.report["steps"] + 1, 3))

    def half(state):
        state.q = state.q / 2
        if state.step == 4:
            state.stop()
    halved = waves()
    ds = halved.run(until=0.3, callback=half, callback_every=2)
    assert halved.report["steps"] == 4 and ds.time[-1] < 0.3
    [fourth] = [state.dataset() for state in waves().steps(until=0.3) if state.step == 4]
    assert np.allclose(ds.p[-1], fourth.p[0] / 4, rtol=1e-12, atol=1e-14)


def test_states_that_are_wrong_are_refused_and_bad_ones_named():
    sim = waves()
    for call in (sim.rhs, sim.max_dt, sim.dataset):
        with pytest.raises(ValueError, match=r"the state has the shape \(3, 10\); it must be .* = \(3, 10, 40\)"):
            call(np.zeros((3, 10)))
    with pytest.raises(ValueError, match="the state has the dtype complex128; it must be real numbers"):
        sim.rhs(np.zeros((3, 10, 40), complex))
    with pytest.raises(ValueError, match="Hermite.* has no right-hand side"):
        series().rhs(series().project())
    for options, message in (({"callback": 3}, "callback=3 is not allowed"), ({"callback": print, "callback_every": 0},
                                                                              "callback_every=0 is not allowed")):
        with pytest.raises(ValueError, match=message):
            sim.run(until=0.1, **options)
    for endless in (sim.run, sim.steps):
        with pytest.raises(ValueError, match=r"no end; give run\(until=\.\.\.\) or Simulation\(until"):
            endless()
    with pytest.raises(ValueError, match="until=-1.0 is not allowed"):
        sim.steps(until=-1.0)

    def break_it(state):
        q = state.q
        q[1, 2, 7] = np.nan
        state.q = q
    fault = r"the state that was set at t = .* \(step 2\) is not finite: vx in element 11 "
    with pytest.raises(dg.SolutionError, match=fault) as caught:
        sim.run(until=0.1, callback=break_it, callback_every=2)
    assert np.isfinite(caught.value.dataset.vx).all() and caught.value.dataset.time[-1] > 0
    with pytest.raises(dg.SolutionError, match=fault):
        for state in sim.steps(until=0.1):
            if state.step == 2:
                break_it(state)


def test_on_a_device(cupy):
    """Arrays stay on the device."""
    for make in (waves, gas, series):
        sim = make(backend="cupy")
        q = sim.project()
        assert hasattr(q, "get")
        if make is not series:
            rate = sim.rhs(q)
            expected = make(kernels="array").rhs(q.get())
            assert hasattr(rate, "get") and np.allclose(rate.get(), expected, atol=1e-9 * np.abs(expected).max())
        for state in sim.steps(until=0.02):
            if state.step == 2:
                state.q = state.q * 2
        assert np.isfinite(state.dataset()[sim.law.variables[0]]).all()
