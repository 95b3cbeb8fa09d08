"""The end of a run that has come to rest: when, on every kind of kernels, with a restart, in the report."""
import json
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from emulated import EmulatedDevice, compiler
from runs import StopAfter

import dgarray as dg
from dgarray import backends, cli
from dgarray.backends.cuda import CudaBackend
from dgarray.run.steady_state import EVERY, SteadyState
from dgarray.stepping import registers, step


def filling(**changes):
    """Something flows into an empty box and out of it again, exact after three crossings."""
    given = dict(mesh=dg.rectangle(cells=(3, 2), perturb=0.2), law=dg.Advection((1.0, 0.5), dim=2), method=dg.ModalDG(1),
                 boundary=dg.prescribed(lambda x, t: (1.0,)), initial=lambda x: 0.0, backend="numpy", kernels="array",
                 until=50.0, stepper="rk4", steady=1e-12, threads=1)
    return dg.Simulation(**given | changes)


@pytest.mark.parametrize("kernels, dtype, tolerance, stepper", [
    ("array", "float64", 1e-10, "rk4"), ("array", "float32", 1e-4, "ssp33"), ("fused", "float64", 1e-8, "lsrk54")])
def test_a_run_ends_where_it_is_steady(kernels, dtype, tolerance, stepper):
    """At the first step looked at that changes nothing more, as steps taken one by one say."""
    sim = filling(kernels=kernels, dtype=dtype, steady=tolerance, stepper=stepper)
    last, report = sim.run(), sim.report
    assert report["steady"] == report["time"] == last.time[-1] < 50
    assert np.abs(last.u[-1] - 1).max() < 100 * tolerance
    operator, changes = sim.operator, []
    states, k = [operator.zeros() for _ in range(registers(sim.stepper)[0])], operator.zeros()
    for number in range(report["steps"]):
        before = operator.host(states[0])
        states = step(operator, sim.stepper, states, k, number * report["dt"], report["dt"])
        after = operator.host(states[0])
        changes.append(np.abs(after - before).max() / np.abs(after).max())
    looked = np.array(changes[EVERY - 1::EVERY]) <= tolerance
    assert report["steps"] % EVERY == 0 and looked[-1] and not looked[:-1].any()


def test_a_tighter_tolerance_ends_later():
    times = [sim.report["steady"] for tolerance in (1e-4, 1e-8, 1e-12) if (sim := filling(steady=tolerance)).run() is not None]
    assert times == sorted(set(times))


@pytest.mark.parametrize("where", ["early", "last step"])
def test_restart(where, tmp_path):
    """Stopped before its end, or between its last step and the snapshot of it, and gone on with after it."""
    out, whole = tmp_path / "a.zarr", filling(steady=1e-8)
    expected = whole.run(every=3.0)
    with pytest.raises(dg.Interrupted):
        steps = 2 * EVERY if where == "early" else whole.report["steps"]
        filling(steady=1e-8).run(every=3.0, out=out, progress=StopAfter(steps))
    for _ in range(2):          # the second time there is nothing left to do
        sim = filling(steady=1e-8)
        found = sim.run(every=3.0, out=out, restart=True)
        xr.testing.assert_identical(found.load().drop_attrs(deep=False), expected.load().drop_attrs(deep=False))
        assert sim.report["steady"] == whole.report["steady"]
    longer = filling(steady=1e-15)
    assert longer.run(every=3.0, out=out, restart=True).time[-1] > whole.report["steady"]


def test_change_of_every_variable():
    """Of all kernels, and of lanes and rows that hold no element nothing."""
    mesh, law = dg.rectangle(cells=(3, 3)), dg.Acoustics(2)
    q, p = (np.random.default_rng(seed).standard_normal((3, 6, 18)) for seed in (0, 1))
    expected = [np.abs(q - p).max(axis=(1, 2)), np.abs(q).max(axis=(1, 2))]
    given = [backends.get("numpy", "array"), backends.get("numpy", "fused", "float32")]
    if compiler() is not None:
        given.append(CudaBackend("float64", EmulatedDevice()))
    for backend in given:
        for method in (dg.NodalDG(2), dg.ModalDG(2)):
            operator = method.discretise(mesh, law, dg.wall, backend, source=lambda x: (1.0, 1.0, 1.0))
            states = operator.state(q), operator.state(p)
            assert np.abs(operator.change(*states) - expected).max() <= 10 * np.finfo(backend.dtype).eps


def test_sizes():
    """A variable that is zero does not count; components of a momentum have one size; what is not finite is not steady."""
    found = [np.full((2, 4), np.nan), np.array([[1e-6, 1e-6, 1e-9, 0.0], [1.0, 1.0, 1e-9, 0.0]])]
    operator = SimpleNamespace(zeros=lambda: None, change=lambda q, p: found.pop(0),
                               law=dg.Euler(2))
    steady, loop = SteadyState(operator, 1e-6), SimpleNamespace(state=None, steps=EVERY, t=0.5)
    steady.compare(loop)
    assert steady.time is None
    steady.compare(loop)
    assert steady.time == 0.5 and steady.change == 1e-6


@pytest.mark.thorough
def test_memory_has_the_state_before():
    plans = [filling(steady=tolerance).memory() for tolerance in (None, 1e-3)]
    states = [plan.host["state and registers"] for plan in plans]
    assert states[1] - states[0] == 8 * filling().operator.shape[1] * filling().operator.shape[2]


def test_command_line(tmp_path, capsys):
    path = tmp_path / "report.json"
    assert cli.main(["run", "supersonic_vortex", "--backend", "numpy", "--kernels", "array", "--order", "1", "--until", "30",
                     "--steady", "1e-3", "--json", str(path)]) == 0
    report = json.loads(path.read_text())
    assert 0 < report["steady"] == report["time"] < 1 and f"to t = {report['time']:.6g}" in capsys.readouterr().out
    assert cli.main(["run", "supersonic_vortex", "--steady", "0"]) == 2
    assert "steady=0.0 is not allowed; it must be a positive number" in capsys.readouterr().err
