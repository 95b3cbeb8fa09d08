"""The runs of gradients: where states are kept, from a checkpoint, interrupted, in float32."""
import os
import resource
import signal

import numpy as np
import pytest
from support.pulses import bump, gas, sound

import dgarray as dg
from dgarray.run.gradients import kept_states
from dgarray.support.atomic_write import OutputError

BOTH = {"sound_speed": "element", "initial": True}


def hum(x, t, strength=2.0):
    return strength * np.sin(3 * t) * bump(x), 0 * x[0], 0 * x[0]


def energy(q, m):
    return q[0] ** 2 / m.c


def problem(law=None, initial=sound, **options):
    record = {"mic": dg.Points([(0.5, 0.3)]), "f": dg.Fourier([0.3], points=[(-0.4, 0.1)], every=2),
              "E": dg.VolumeIntegral(energy)}
    mesh = dg.rectangle((-1, -1), (1, 1), cells=3)
    return dg.Simulation(mesh, law or dg.Acoustics(2), dg.NodalDG(2), dg.wall, initial, until=1.0, dt=0.025, threads=1,
                         backend="numpy", **{"kernels": "array", "record": record} | options)


def misfit(ds):
    return (ds.dg.record("mic").p ** 2).sum() + (abs(ds.dg.record("f").p) ** 2).sum() + ds.dg.record("E").energy.max() + (
        ds.p.isel(time=-1) ** 2).sum()


@pytest.fixture(scope="module")
def expected():
    return problem().gradient(misfit, BOTH)


def same(found, expected):
    return np.array_equal(found.sound_speed, expected.sound_speed) and found.initial.equals(expected.initial)


@pytest.mark.parametrize("states", [None, 10, 1])
def test_states_in_a_file(states, expected, tmp_path, monkeypatch):
    """As many as are allowed, and then few are computed again; the file is gone afterwards."""
    sim, kept, again = problem(source=hum).replace(source=None), [], []
    size = sim.operator.dofs * 8
    look, advanced = kept_states.KeptStates.look, kept_states.KeptStates.advanced

    def looking(self, state):
        look(self, state)
        kept.append(os.fstat(self.file.file.fileno()).st_size // size)

    def advancing(self, operator, state, first, last):
        again.append(last - first)
        return advanced(self, operator, state, first, last)
    monkeypatch.setattr(kept_states.KeptStates, "look", looking)
    monkeypatch.setattr(kept_states.KeptStates, "advanced", advancing)
    found = sim.gradient(misfit, BOTH, folder=tmp_path, memory=states and states * size)
    assert same(found, expected) and not any(tmp_path.iterdir())
    assert max(kept) == (states or 40) and sum(again) <= {None: 0, 10: 40, 1: 80}[states]


def test_folders_without_room(tmp_path):
    sim = problem()
    for options, words in (({"folder": tmp_path / "none"}, "is not allowed; give a folder that exists"),
                           ({"folder": tmp_path, "memory": 1e18}, "free for each process, too few for memory=1e"),
                           ({"folder": tmp_path, "memory": 1}, "memory=1 is not allowed; give bytes, at least those of a")):
        with pytest.raises(ValueError, match=words):
            sim.gradient(misfit, BOTH, **options)


def test_a_disk_that_is_full(expected, tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(OutputError, match="states for the way back cannot be written: File too large; give memory="):
            problem().gradient(misfit, BOTH, folder=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert same(problem().gradient(misfit, BOTH, folder=tmp_path), expected)


def test_a_run_that_begins_at_a_checkpoint(tmp_path):
    """Its steps are those of the run that goes on, its records begin there, and so do derivatives."""
    out, sim = tmp_path / "run.zarr", problem(source=hum)
    sim.run(0.4, out=out)
    found = sim.gradient(misfit, {**BOTH, "source.strength": True}, restart=out)
    assert np.all(np.abs(found.check().order[1:] - 2) < 0.02)
    quiet = dg.decayed(0.1, "p", at=(0, 0), limit=1.0)
    for options, words in (({"until": 0.4}, "has reached t = 0.4, and until=0.4"),
                           ({"restart": tmp_path}, "no output to continue"), ({"until": quiet}, "looks at all from t = 0")):
        with pytest.raises(ValueError, match=words):
            sim.gradient(misfit, BOTH, **{"restart": out} | options)
    ds, whole = found.dataset, sim.run(out=out, restart=True)
    assert list(ds.time) == [0.4, 1.0] and np.array_equal(ds.p[-1], whole.p[-1])
    for name in ("time", "p", "vx"):
        assert np.array_equal(ds.dg.record("mic")[name], whole.dg.record("mic")[name][16:])


class Stop:
    """Ctrl-C after so many steps, of the run and then of the way back."""

    def __init__(self, count):
        self.count = count

    def update(self, t, dt, steps):
        self.count -= 1
        if self.count == 0:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(("steps", "words", "samples"), [(5, "at t = 0.125 ", 6), (40, "at t = 1 ", 41),
                                                         (45, "on the way back, after 5 of 40 steps", 41)])
def test_an_interrupt_keeps_what_the_run_has_found(steps, words, samples, expected, tmp_path):
    sim = problem()
    with pytest.raises(dg.Interrupted, match=f"stopped by Ctrl-C {words}") as error:
        sim.gradient(misfit, BOTH, progress=Stop(steps), folder=tmp_path)
    assert len(error.value.dataset.dg.record("mic").p) == samples and not any(tmp_path.iterdir())
    assert error.value.dataset.time[-1] == (samples - 1) * 0.025
    assert same(sim.gradient(misfit, BOTH, folder=tmp_path), expected)


def test_an_interrupt_in_the_misfit_keeps_what_the_run_has_found():
    def stopped(ds):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt) as error:
        problem().gradient(stopped, BOTH)
    assert len(error.value.dataset.dg.record("mic").p) == 41


@pytest.mark.parametrize("name", ["by kernels", "a gas, by programs", "a layer, by programs"])
def test_float32_has_the_derivatives_of_float64(name):
    """To its rounding of J. (Fluxes with a kink, as rusanov's, may be on its other side.)"""
    options, wrt = {"record": {"mic": dg.Points([(0.5, 0.3)])}}, {"sound_speed": "element", "initial": True}
    sim = problem(**options)
    if "gas" in name:
        sim, wrt = problem(dg.Euler(2), gas, flux=dg.central, **options), {"initial": True}
    elif "layer" in name:
        sim = sim.replace(mesh=dg.pml(sim.mesh, 0.5, 1, split=False))

    def heard(ds):
        record = ds.dg.record("mic")
        return sum((record[name] ** 2).sum() for name in record.data_vars)
    found, expected = (sim.replace(dtype=dtype, until=0.4).gradient(heard, wrt) for dtype in ("float32", "float64"))
    assert abs(found.value - expected.value) < 1e-6 * expected.value
    for each in wrt:
        pairs = zip(*(values_of(one[each]) for one in (found, expected)))
        assert all(np.abs(a - b).max() < 2e-6 * expected.value for a, b in pairs)


def values_of(derivatives):
    """The arrays of derivatives."""
    if hasattr(derivatives, "children"):
        return [each[name].values for each in derivatives.children.values() for name in each.dg.variables]
    return [derivatives[name].values for name in derivatives.dg.variables] if hasattr(derivatives, "data_vars") else [
        derivatives.values]
