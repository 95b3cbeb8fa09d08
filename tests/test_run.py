"""A run that looks at its state every so many steps, as on a GPU, keeps the same and fails the same as one that always does."""
import os
import random
import signal

import numpy as np
import pytest
import xarray as xr
from burgers import Burgers

import dgarray as dg
from dgarray.methods.dg.set_operations import SetOperations
from dgarray.methods.step_operations import Fetched
from dgarray.output.store import checkpoint
from dgarray.stepping import STEPPERS, step as step_of_stages

DT = 0.004
STEPS = 150
LOOKS = (5, 16, 64)


class Slow(Fetched):
    """A copy that takes its time: it has arrived when asked for the second time, or never before it is waited for."""

    patience = 1

    def __init__(self, values):
        super().__init__(values)
        self.asked = 0

    def ready(self):
        self.asked += 1
        return self.asked > self.patience


class Lost(Slow):
    patience = 10 ** 9


@pytest.fixture(autouse=True)
def one_date(monkeypatch):
    """Stores of the same run are the same to the last bit, the date apart."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000")


@pytest.fixture
def looking(monkeypatch):
    """looking(n, fetched): from here on runs look at their state every n steps, and their snapshots come by `fetched`."""
    def patch(every, fetched=Slow):
        monkeypatch.setattr(SetOperations, "check_every", every)
        monkeypatch.setattr(SetOperations, "fetch", lambda self, state: fetched(self.host(state)))
    return patch


def poisoned(centre, size, variable, time):
    """A source of NaN near a point at one time (within a hundredth of a step), in one of three variables."""
    def source(x, t):
        near = sum((a - c) ** 2 for a, c in zip(x, centre)) < size ** 2
        bad = np.where(near & (np.abs(t - time) < DT / 100), np.nan, 0.0)
        return tuple(bad if v == variable else 0.0 for v in range(3))
    return source


def cavity(time, rng, **changes):
    mesh = dg.rectangle(cells=4, perturb=0.1)
    element, variable = rng.randrange(len(mesh.cells)), rng.randrange(3)
    if time > STEPS * DT:
        element, variable = 0, 0          # never bad, whatever these are: one kernel for all
    source = poisoned(mesh.centroids[element], 0.3 * mesh.inradii[element], variable, time)

    def wave(x):
        return np.cos(3 * x[0]) * np.sin(2 * x[1]), 0.0, 0.0
    return dg.Simulation(mesh, dg.Acoustics(2), dg.NodalDG(3), dg.wall, wave, **dict(source=source, dt=DT) | changes)


def records(rng):
    """Recorders that look seldom, so that most steps pass unseen; sometimes none."""
    every = (rng.randrange(2, 40), rng.randrange(2, 40), rng.randrange(20, 60))
    return rng.choice([None, {"points": dg.Points([(0.2, 0.3)], every=every[0]),
                              "spectrum": dg.Fourier([0.3, 0.6], boundary="left", every=every[1]),
                              "extremes": dg.Extrema(every=every[2])}])


def files(path):
    """{name: bytes} of every file of a store, checkpoints too."""
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def failed(sim, path, **options):
    """Facts of the SolutionError that the run raises, and the files that it leaves."""
    with pytest.raises(dg.SolutionError) as caught:
        sim.run(STEPS * DT, out=path, **options)
    error = caught.value
    xr.testing.assert_identical(xr.open_zarr(path).load(), error.dataset.load())
    names = ("time", "step", "stage", "variable", "element", "centre", "boundaries")
    return str(error).replace(str(path), "PATH"), {name: getattr(error, name) for name in names}, files(path)


@pytest.mark.parametrize("number", range(10))
def test_a_failure_is_the_same_however_seldom_the_run_looks(number, tmp_path, looking):
    """At a random step, stage, element and variable; with records, snapshots, checkpoints and a fixed or a stable step."""
    rng = random.Random(number)
    stepper = list(STEPPERS)[number % 3]
    step, stage = rng.randrange(1, STEPS), rng.randrange(len(STEPPERS[stepper].stages))
    options = dict(stepper=stepper, kernels=("fused", "array")[number % 2], dtype=("float64", "float32")[number // 5],
                   record=records(rng))
    sim = cavity((step - 1 + STEPPERS[stepper].stages[stage].c) * DT, rng, **options)
    run = dict(every=rng.choice([None, 7 * DT, 40 * DT]), checkpoint_every=rng.choice([None, 33 * DT]))
    wanted = failed(sim, tmp_path / "1.zarr", **run)
    assert abs(wanted[1]["step"] - step) <= 1
    for every in LOOKS:
        looking(every)
        found = failed(sim, tmp_path / f"{every}.zarr", **run)
        assert found[:2] == wanted[:2]
        assert found[2] == wanted[2]


@pytest.mark.parametrize("every", LOOKS)
@pytest.mark.parametrize("stepper", [name for name, stepper in STEPPERS.items() if stepper.order > 2])
def test_a_whole_run_is_the_same(stepper, every, tmp_path, looking):
    rng = random.Random(f"{stepper} {every}")
    sim = cavity(99.0, rng, stepper=stepper, record=records(rng), dt=rng.choice([None, DT]))
    run = dict(every=rng.choice([None, 7 * DT]), checkpoint_every=rng.choice([None, 33 * DT]))
    sim.run(STEPS * DT, out=tmp_path / "1.zarr", **run)
    report = sim.report
    looking(every)
    sim.run(STEPS * DT, out=tmp_path / "n.zarr", **run)
    assert files(tmp_path / "n.zarr") == files(tmp_path / "1.zarr")
    assert [sim.report[name] for name in ("steps", "dt", "time", "conserved")] == [
        report[name] for name in ("steps", "dt", "time", "conserved")]
    assert sim.run(STEPS * DT, run["every"]).load().drop_attrs(deep=False).equals(
        xr.open_zarr(tmp_path / "1.zarr").load().drop_attrs(deep=False))


def test_how_often_a_run_looks(looking, monkeypatch):
    """Every so many steps, at snapshots, at the samples of records, and where a live picture is due; and once to begin."""
    looks, finite = [], SetOperations.finite
    monkeypatch.setattr(SetOperations, "finite", lambda self, q: looks.append(steps[0]) or finite(self, q))
    steps = [0]

    class Count:
        def update(self, t, dt, number):
            steps[0] = number

    class Live:
        def due(self):
            return steps[0] in (3, 70)

        def update(self, q, t):
            pass
    looking(16)

    def seen(until, **options):
        steps[0], live = 0, options.pop("live", None)
        looks.clear()
        cavity(99.0, random.Random(0), kernels="array", **options).run(until * DT, 50 * DT, progress=Count(), live=live)
        return looks[1:]
    # Progress counts after the looks of every 16 steps and for records, and before those for pictures and snapshots; the last
    # step begins with a look.
    assert seen(100) == [15, 31, 47, 50, 65, 81, 97, 99, 100]
    assert seen(40, record={"a": dg.Points([(0.2, 0.3)], every=10)}) == [9, 19, 29, 39, 39]
    assert seen(70, live=Live()) == [3, 18, 34, 50, 65, 69, 70]
    assert seen(4, record={"a": dg.Points([(0.2, 0.3)])}) == [0, 1, 2, 3]


class Root(Burgers):
    """A wave speed that is not a number below zero, where the state is good all the same."""

    def wave_speed(self, q, n):
        return np.sqrt(q[0]) * np.abs(n[0])


def average(law):
    """A numerical flux that asks for no wave speed."""
    def flux(l, r, n):
        return tuple((a + b) / 2 for a, b in zip(law.flux(l, n), law.flux(r, n)))
    return flux


def rising(q):
    return (20 * q[0] ** 2,)


def late(x, t):
    return (np.where(t > 0.07, np.nan, 0.0) + 0 * x[0],)


def falling(x, t):
    return (-10 + 0 * x[0],)


@pytest.mark.parametrize("law, source, words", [
    (Burgers(), late, "u is not finite"), (Burgers(), rising, "the time step has fallen"),
    (Root(), falling, "the wave speed is not finite")])
@pytest.mark.parametrize("kernels", ["fused", "array"])
@pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow")
def test_a_step_that_cannot_be_found(law, source, words, kernels, tmp_path, looking):
    """Named by the value that went bad before, if there is one."""
    def initial(x):
        return 1 + 0.2 * np.sin(2 * np.pi * x[0])
    sim = dg.Simulation(dg.interval(cells=8, periodic=True), law, dg.NodalDG(2), initial=initial, flux=average,
                        source=source, kernels=kernels)
    wanted = failed(sim, tmp_path / "1.zarr", every=0.05)
    assert words in wanted[0]
    for every in LOOKS:
        looking(every)
        assert failed(sim, tmp_path / f"{every}.zarr", every=0.05) == wanted


class Dip(dg.Law):
    """A value that falls below what is admissible for a while, and then is admissible again."""

    dim, variables = 1, ("rho",)

    def flux(self, q, n):
        return (0.1 * q[0] * n[0],)

    def wave_speed(self, q, n):
        return 0.1 * np.abs(n[0])

    def source(self, q, x, t):
        return (np.where(t < 0.1, -10.0, 10.0) + 0 * x[0],)

    def admissible(self, q):
        return q[0] > 0


@pytest.mark.thorough
def test_what_is_not_admissible_for_a_moment_is_seen(tmp_path, looking):
    sim = dg.Simulation(dg.interval(cells=8, periodic=True), Dip(), dg.NodalDG(2), initial=lambda x: 0.95 + 0 * x[0], dt=0.01)
    wanted = failed(sim, tmp_path / "1.zarr")
    looking(64)
    assert failed(sim, tmp_path / "n.zarr") == wanted
    assert "not admissible" in wanted[0]


class Stop:
    """Progress that asks the run to stop after so many steps, or raises an error of its own."""

    def __init__(self, steps, error=None):
        self.steps, self.error = steps, error

    def update(self, t, dt, steps):
        if steps == self.steps:
            if self.error:
                raise self.error
            os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("every", LOOKS)
@pytest.mark.parametrize("fetched", [Slow, Lost])
def test_an_interrupted_run_leaves_and_becomes_the_same(every, fetched, tmp_path, looking):
    rng = random.Random(f"{every} {fetched.__name__}")
    stop = rng.randrange(1, STEPS)
    sim = cavity(99.0, rng, record=records(rng))
    run = dict(until=STEPS * DT, every=7 * DT)
    paths = [tmp_path / "1.zarr", tmp_path / "n.zarr"]
    for number, path in enumerate(paths):
        if number:
            looking(every, fetched)
        with pytest.raises(dg.Interrupted, match=rf"stopped by SIGTERM at t = .* \(step {stop}\)"):
            sim.run(out=path, progress=Stop(stop), **run)
    assert files(paths[0]) == files(paths[1])
    ends = [sim.run(out=path, restart=True, **run).load() for path in paths]
    xr.testing.assert_identical(*ends)
    assert ends[0].drop_attrs(deep=False).equals(sim.run(**run).load().drop_attrs(deep=False))


@pytest.mark.thorough
def test_a_run_that_is_bad_already_cannot_be_interrupted(tmp_path, looking):
    """What was asked for after the bad step does not hide it, nor is a bad state saved."""
    sim = cavity(20.25 * DT, random.Random(3), stepper="rk4")
    looking(64)
    sim = sim.replace(source=poisoned((0.5, 0.5), 0.2, 1, 20.5 * DT))
    for options in ({"progress": Stop(30)}, {"checkpoint_every": 30 * DT}, {"every": 30 * DT}):
        with pytest.raises(dg.SolutionError) as caught:
            sim.run(100 * DT, out=tmp_path / "a.zarr", overwrite=True, **options)
        assert (caught.value.step, caught.value.stage) == (21, 1 + 1)
        file = checkpoint.latest(tmp_path / "a.zarr")
        assert checkpoint.facts_of(file)["steps"] == 20 and np.isfinite(checkpoint.arrays_of(file)["q"]).all()
    with pytest.raises(dg.SolutionError, match="step 21"):
        sim.run(100 * DT, progress=Stop(30))


@pytest.mark.parametrize("out", [True, False])
@pytest.mark.parametrize("fetched", [Fetched, Slow, Lost])
def test_when_a_snapshot_is_written(fetched, out, tmp_path, looking, monkeypatch):
    """When it has arrived; at the latest before the next, and where the run ends in whatever way. Without an output the last
    state of a run that is stopped is one, too, in the dataset of the error."""
    from dgarray.output import Store
    looking(16, fetched)
    written, append = [], Store.append
    monkeypatch.setattr(Store, "append", lambda self, t, q: written.append((round(t / DT), steps[0])) or append(self, t, q))
    steps = [0]

    class Count(Stop):
        def update(self, t, dt, number):
            steps[0] = number
            super().update(t, dt, number)
    sim, path = cavity(99.0, random.Random(0)), tmp_path / "a.zarr" if out else None
    late = {Fetched: 0, Slow: 0, Lost: 10}[fetched]          # Slow is asked again before the count goes on
    sim.run(30 * DT, 10 * DT, path, progress=Count(99))
    first = 0 if out else late          # the checkpoint at the start waits for it
    assert written == [(0, first), (10, 10 + late), (20, 20 + late), (30, 30)]
    for end, error in ((Count(25), dg.Interrupted), (Count(25, KeyError("own")), KeyError)):
        written.clear()
        steps[0] = 0
        with pytest.raises(error):
            sim.run(30 * DT, 10 * DT, path, overwrite=True, progress=end)
        assert [t for t, _ in written] == [0, 10, 20] + [25] * (error is dg.Interrupted and not out)
        if out:
            assert np.allclose(xr.open_zarr(path).time, np.array([0, 10, 20]) * DT)


@pytest.mark.thorough
def test_a_whole_step_at_once(tmp_path, looking, monkeypatch):
    """Operations that take a step at once are asked to, and a failure is traced by their stages."""
    sim, taken = cavity(40.5 * DT, random.Random(1), stepper="rk4"), []
    wanted = failed(sim, tmp_path / "1.zarr", every=7 * DT)

    def step(self, stepper, states, k, t, dt, exponent=None):
        taken.append(t)
        return step_of_stages(self, stepper, states, k, t, dt), None
    monkeypatch.setattr(type(sim.operator.operations), "step", step)
    looking(16)
    assert failed(sim, tmp_path / "n.zarr", every=7 * DT) == wanted
    assert wanted[1]["step"] == 41 and len(taken) > 41


@pytest.mark.parametrize("every", [None, 7 * DT])
def test_on_a_device(every, device, tmp_path, monkeypatch):
    """Steps as graphs, looks every 16 of them, copies that arrive later: the same as with a look at every step."""
    from dgarray import backends
    from dgarray.backends.cuda import CudaBackend
    from dgarray.backends.cuda.dg.nodal import NodalCuda
    from dgarray.backends.cuda.dg.operations import DeviceOperations
    get, backend = backends.get, CudaBackend("float64", device)
    monkeypatch.setattr(backends, "get", lambda name, *given: backend if name == "cupy" else get(name, *given))
    mesh = dg.rectangle(cells=2, perturb=0.1)
    source = poisoned(mesh.centroids[5], 0.3 * mesh.inradii[5], 1, 40.5 * DT)
    sim = dg.Simulation(mesh, dg.Acoustics(2), dg.NodalDG(3), dg.wall, lambda x: (np.cos(3 * x[0]), 0.0, 0.0), source=source,
                        dt=DT, stepper="rk4", record={"points": dg.Points([(0.2, 0.3)], every=9)}, backend="cupy")
    assert NodalCuda.check_every == 16
    found = failed(sim, tmp_path / "16.zarr", every=every)
    assert found[1]["step"] == 41 and found[1]["element"] == mesh.numbers[5] and found[1]["variable"] == "vx"
    monkeypatch.setattr(NodalCuda, "check_every", 1)
    monkeypatch.setattr(NodalCuda, "fetch", SetOperations.fetch)
    monkeypatch.delattr(DeviceOperations, "step")
    assert failed(sim, tmp_path / "1.zarr", every=every) == found


@pytest.mark.parametrize("change, words", [
    ({"initial": lambda x: (1.0, 2.0)}, "returns 2 components; it must return 3"),
    ({"initial": lambda x: (x[7], 0.0, 0.0)}, "tuple index"),
    ({"law": dg.Acoustics(2, density={"steel": 2.0})}, "region 'steel' does not exist"),
    ({"record": {"mic": dg.Points([(5.0, 5.0)])}}, "point 0 at .5, 5. is outside"),
])
def test_mistakes_are_said_when_the_simulation_is_made(change, words):
    given = {"mesh": dg.rectangle(cells=1), "law": dg.Acoustics(2), "method": dg.NodalDG(1), "boundary": dg.wall}
    with pytest.raises((ValueError, IndexError), match=words):
        dg.Simulation(**given | change)


def test_a_shock_without_a_limiter_is_told_of_one():
    gas = dg.Euler(2)
    sim = dg.Simulation(dg.rectangle(cells=4), gas, dg.NodalDG(3), dg.wall, lambda x: gas.conservative(
        (np.where(x[0] < 0.5, 10.0, 0.1), 0.0, 0.0, np.where(x[0] < 0.5, 100.0, 0.1))), kernels="array")
    with pytest.raises(dg.SolutionError, match="NodalDG.3, limiter='vertex'"):
        sim.run(until=0.3)
