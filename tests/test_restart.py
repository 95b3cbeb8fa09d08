"""Checkpoints and restart: bitwise equal to the run that was not interrupted; what differs is refused or said."""
import json
import os
import random
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from burgers import Burgers
from runs import StopAfter

import dgarray as dg
from dgarray import cli
from dgarray.output.store import checkpoint

SINGLE = {"threads": 1}


def pulse(x):
    return 0.0, 0.0, np.exp(-30 * ((x[0] - 0.4) ** 2 + (x[1] - 0.6) ** 2))


def rising(start):
    return lambda x: start + x[0]


def cavity(**changes):
    record = dict(receivers=dg.Points([(0.2, 0.3)], every=3), spectrum=dg.Fourier([0.2, 0.4], boundary="left"),
                  everywhere=dg.Fourier([0.5], start=0.04, every=2), extremes=dg.Extrema(every=4))
    given = dict(mesh=dg.rectangle(cells=3), law=dg.Maxwell(2), method=dg.NodalDG(3), boundary=dg.pec, initial=pulse)
    return dg.Simulation(**given | {"record": record} | changes)


def burgers(**changes):
    return dg.Simulation(dg.interval(cells=30, periodic=True), Burgers(), dg.NodalDG(2),
                         initial=lambda x: 2 + np.sin(2 * np.pi * x[0]), **changes)


def assert_same(a, b):
    xr.testing.assert_identical(a.load().drop_attrs(deep=False), b.load().drop_attrs(deep=False))


@pytest.mark.parametrize("make, options", [
    (cavity, {}), (cavity, {"stepper": "rk4"}), (cavity, {"stepper": "ssp33", "dtype": "float32"}),
    (cavity, {"kernels": "array"}), (cavity, {"dt": 0.01}), (cavity, SINGLE), (burgers, {}), (burgers, {"kernels": "array"})])
def test_an_interrupted_run_goes_on_bitwise(make, options, tmp_path):
    whole = make(**options).run(0.25, 0.04)
    steps = make(**options)
    steps.run(0.25, 0.04)
    rng = random.Random(str(options))
    for number in range(2 if options == {} else 1):
        path = tmp_path / f"{number}.zarr"
        stop = rng.randrange(1, steps.report["steps"])
        what = rf"stopped by SIGTERM at t = .* \(step {stop}\); saved in .*--restart"
        with pytest.raises(dg.Interrupted, match=what) as error:
            make(**options).run(0.25, 0.04, path, progress=StopAfter(stop))
        assert (error.value.signal, error.value.status) == (signal.SIGTERM, 143)
        sim = make(**options)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ds = sim.run(0.25, 0.04, path, restart=True)
        assert_same(ds, whole)
        assert sim.report["steps"] == steps.report["steps"]
        assert sim.report["rhs_evaluations"] == (steps.report["steps"] - stop) * len(sim.stepper.stages)
        assert sim.report["conserved"] == steps.report["conserved"]


def test_a_run_that_is_finished_can_go_on_for_longer(tmp_path):
    path = tmp_path / "run.zarr"
    cavity().run(0.1, 0.04, path)
    sim = cavity()
    with pytest.warns(UserWarning, match="run.zarr has reached t = 0.1, and until=0.1: nothing is left to do"):
        again = sim.run(0.1, 0.04, path, restart=True)
    assert sim.report["rhs_evaluations"] == 0
    assert again.sizes["time"] == 4
    longer = cavity().run(0.2, 0.05, path, restart=True)
    assert np.allclose(longer.time, [0, 0.04, 0.08, 0.1, 0.15, 0.2])
    assert longer.attrs["until"] == 0.2


def test_a_snapshot_whose_time_differs_by_rounding_is_not_stored_twice(tmp_path):
    """Three times 0.1 is not 0.3."""
    path = tmp_path / "run.zarr"
    cavity().run(0.3, 0.1, path)
    assert cavity().run(0.5, 0.1, path, restart=True).time.values == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5], abs=1e-15)


def test_checkpoints_by_the_time_of_the_model_and_by_the_clock(tmp_path, monkeypatch):
    times = []
    save = checkpoint.save
    monkeypatch.setattr(checkpoint, "save", lambda out, step, arrays, facts, *ranks: times.append(
        facts["t"]) or save(out, step, arrays, facts, *ranks))
    cavity().run(0.2, None, tmp_path / "a.zarr", checkpoint_every=0.05)
    assert [round(t / 0.05) for t in times] == [0, 1, 2, 3, 4, 4]
    assert all(0 <= t - 0.05 * round(t / 0.05) < 0.02 for t in times)
    times.clear()
    sim = cavity()
    sim.run(0.2, None, tmp_path / "b.zarr", checkpoint=1e-9)
    assert len(times) == sim.report["steps"] + 2          # at the start, after every step, at the end
    assert len(list((tmp_path / "b.zarr" / "checkpoints").iterdir())) == checkpoint.KEPT


@pytest.mark.parametrize("damage", [
    lambda b: b[:len(b) // 2], lambda b: b[:500] + bytes([b[500] ^ 1]) + b[501:], lambda b: b""])
def test_a_damaged_checkpoint_is_passed_over(damage, tmp_path):
    path, whole = tmp_path / "run.zarr", cavity().run(0.2, 0.05)
    cavity().run(0.2, 0.05, path, checkpoint_every=0.08)
    files = sorted((path / "checkpoints").glob("*.npz"))
    files[-1].write_bytes(damage(files[-1].read_bytes()))
    sim = cavity()
    with pytest.warns(UserWarning, match=rf"{files[-1]} is damaged: .*; continuing from the checkpoint before it, at t = 0.1"):
        assert_same(sim.run(0.2, 0.05, path, restart=True), whole)
    assert sim.report["rhs_evaluations"] > 0
    for file in (path / "checkpoints").glob("*.npz"):
        file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(ValueError, match="no checkpoint that can be read: .*npz is damaged.*npz is damaged.*; start anew"):
        cavity().run(0.2, 0.05, path, restart=True)


def test_the_random_state_goes_on(tmp_path):
    """What is drawn after the restart is what would have been drawn."""
    drawn = []

    class Draw:
        def update(self, t, dt, steps):
            drawn.append((random.random(), np.random.random()))          # noqa: NPY002

    random.seed(1)
    np.random.seed(1)          # noqa: NPY002
    cavity().run(0.1, out=tmp_path / "a.zarr", progress=Draw(), checkpoint=1e-9)
    whole = drawn[:]
    random.seed(2)
    drawn.clear()
    files = sorted((tmp_path / "a.zarr" / "checkpoints").glob("*.npz"))
    files[-1].unlink()
    cavity().run(0.1, out=tmp_path / "a.zarr", progress=Draw(), restart=True)
    assert drawn == whole[-len(drawn):]
    assert drawn


@pytest.mark.parametrize("name, changes", [
    ("mesh", {"mesh": dg.rectangle(cells=4)}), ("law", {"law": dg.Maxwell(2, mu=2.0)}), ("method", {"method": dg.NodalDG(2)}),
    ("coefficients of the law", {"law": dg.Maxwell(2, eps=rising(2.0))}), ("records", {"record": None})])
def test_another_problem_is_refused_with_the_difference(name, changes, tmp_path):
    base = {"law": dg.Maxwell(2, eps=rising(1.0))} if name.startswith("coeff") else {}
    cavity(kernels="array", **base).run(0.05, out=tmp_path / "a.zarr")
    before = sorted((p, p.stat().st_mtime_ns) for p in (tmp_path / "a.zarr").rglob("*"))
    difference = f"a.zarr cannot be continued, because it differs in the {name}: .* in the store, .* now"
    with pytest.raises(ValueError, match=difference):
        cavity(kernels="array", **changes).run(0.1, out=tmp_path / "a.zarr", restart=True)
    assert sorted((p, p.stat().st_mtime_ns) for p in (tmp_path / "a.zarr").rglob("*")) == before


@pytest.mark.parametrize("word, changes", [
    ("kernels array instead of fused", {"kernels": "array"}), ("dtype float32 instead of float64", {"dtype": "float32"}),
    ("threads 1 instead of", {"threads": 1}), ("stepper rk4 instead of lsrk54", {"stepper": "rk4"}),
    ("boundary pmc instead of pec", {"boundary": dg.pmc}),
    ("the initial state differs from that of .*, and is not used", {"initial": lambda x: (0.0, 0.0, x[0])}),
    ("and is not used; the reported errors are those against the exact solution given now",
     {"initial": lambda x: (0.0, 0.0, x[0]), "exact": lambda x, t: (0.0, 0.0, 0.0)})])
def test_what_changes_the_bits_is_said(word, changes, tmp_path):
    if word.startswith("threads") and cavity().backend.threads == 1:
        pytest.skip("this machine has one processor")
    base = {} if {*changes} & {"kernels", "threads"} else {"kernels": "array"}
    whole = cavity(**base).run(0.2, 0.1)
    cavity(**base).run(0.1, 0.1, tmp_path / "a.zarr")
    effect = {"boundary": "from there on the problem is another one", "initial": ""}.get(
        next(iter(changes)), "the result will not be bitwise equal")
    with pytest.warns(UserWarning, match=f"continuing from t = 0.1.*{word}.*{effect}"):
        ds = cavity(**base | changes).run(0.2, 0.1, tmp_path / "a.zarr", restart=True)
    assert np.array_equal(ds.time, whole.time)
    if "boundary" not in changes:
        assert np.abs(ds.Ez - whole.Ez).max() < 1e-3


def waves_on_a_grid(**changes):
    grid = dg.Grid((0, 0), (1, 1), (6, 5))
    return dg.Simulation(grid, dg.Maxwell(2), dg.Hermite(1), boundary=dg.pec, initial=pulse, **changes)


@pytest.mark.parametrize("make", [cavity, waves_on_a_grid])
def test_another_exact_solution_is_said(make, tmp_path):
    """Once, also of solutions that begin with the same state; and not where there was none or is none now, nor where it is
    known to the end of the run only."""
    def decaying(rate):
        return lambda x, t: (0.0, 0.0, np.exp(-rate * t) * x[0] * x[1])

    def ending(x, t):
        if t > 0.35 + 1e-9:
            raise ValueError("known until 0.35")
        return decaying(1.5)(x, t)

    def run(until, **options):
        make(kernels="array", **options).run(until, out=tmp_path / "a.zarr", restart=(tmp_path / "a.zarr").exists())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(0.05)
        run(0.1, exact=decaying(1.0))
        run(0.15, exact=decaying(1.0))
    words = ("continuing from t = 0.15: the exact solution differs from that of .*a.zarr; the errors reported are those "
             "against the one given now")
    with pytest.warns(UserWarning, match=words):
        run(0.2, exact=decaying(1.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(0.25, exact=decaying(1.5))
        run(0.3)
        run(0.35, exact=ending)


def test_a_run_killed_before_its_first_checkpoint_begins_anew(tmp_path):
    whole = cavity().run(0.1, 0.05)
    cavity().run(0.1, None, tmp_path / "a.zarr")
    for file in (tmp_path / "a.zarr" / "checkpoints").iterdir():
        file.unlink()
    with pytest.raises(ValueError, match="no checkpoint that can be read"):          # there are two snapshots to lose
        cavity().run(0.1, 0.05, tmp_path / "a.zarr", restart=True)

    class Kill(Exception):
        pass

    def save(*arguments):
        raise Kill
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Kill):
        patch.setattr(checkpoint, "save", save)
        cavity().run(0.1, 0.05, tmp_path / "b.zarr")
    assert xr.open_zarr(tmp_path / "b.zarr").sizes["time"] == 1
    assert_same(cavity().run(0.1, 0.05, tmp_path / "b.zarr", restart=True), whole)


def test_restart_needs_an_output(tmp_path):
    with pytest.raises(ValueError, match="restart=True needs out="):
        cavity().run(0.1, restart=True)
    with pytest.raises(ValueError, match="there is no output to continue"):
        cavity().run(0.1, out=tmp_path / "none.zarr", restart=True)


def test_ctrl_c_without_an_output_says_so():
    before = signal.getsignal(signal.SIGINT)          # a shell lets what it runs in the background ignore it
    with pytest.raises(KeyboardInterrupt, match=r"stopped by Ctrl-C at t = .*; not saved, there is no output"):
        cavity().run(0.2, progress=StopAfter(3, signal.SIGINT))
    assert signal.getsignal(signal.SIGINT) == before


@pytest.mark.thorough
@pytest.mark.parametrize("kills", [3, 20])
def test_killed_runs_go_on_bitwise(kills):
    """`python tests/support/killed.py 100` does 100."""
    script = Path(__file__).parent / "support" / "killed.py"
    done = subprocess.run([sys.executable, script, str(kills)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) >= kills


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_on_the_command_line(number, status, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text('''
import os
import dgarray as dg
from dgarray.cases import tm_cavity
def case():
    return tm_cavity(order=3, until=0.4)
''')
    assert cli.main(["run", "mine.py", "--out", "whole.zarr", "--every", "0.1", "--quiet"]) == 0
    pid, original = os.getpid(), dg.NodalDG.discretised

    def discretised(self, *arguments):
        operator = original(self, *arguments)
        step, count = operator.advance_checked, iter(range(10**6))
        operator.advance_checked = lambda *a: (os.kill(pid, number) if next(count) == 6 else None, step(*a))[1]
        return operator
    with monkeypatch.context() as patch:
        patch.setattr(dg.NodalDG, "discretised", discretised)
        assert cli.main(["run", "mine.py", "--out", "cut.zarr", "--every", "0.1", "--quiet"]) == status
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "saved in cut.zarr, continue with --restart cut.zarr" in error
    assert cli.main(["run", "mine.py", "--restart", "cut.zarr", "--every", "0.1", "--quiet", "--json", "r.json"]) == 0
    assert_same(xr.open_zarr("cut.zarr"), xr.open_zarr("whole.zarr"))
    assert json.loads(Path("r.json").read_text())["time"] == 0.4
    assert cli.main(["run", "mine.py", "--restart", "cut.zarr", "--out", "other.zarr"]) == 2
    assert cli.main(["run", "mine.py", "--restart", "cut.zarr", "--overwrite"]) == 2
