"""Whole runs on the GPU's backend, on the emulated device and on a GPU: results, failures, restart, the command line."""
import json
import warnings
from functools import partial

import numpy as np
import pytest
from burgers import Burgers
from emulated import EmulatedDevice

import dgarray as dg
from dgarray import backends, cases
from dgarray.backends.cuda import ceilings
from dgarray.cli import main


def pulse(x):
    return np.exp(-8 * (x[0] ** 2 + x[1] ** 2)), 0.0 * x[0], 0.0


def simulation(backend="cupy", **options):
    mesh = dg.rectangle((-1, -1), (1, 1), cells=(5, 4), perturb=0.2)
    arguments = dict(boundary={"left": dg.wall, "default": dg.absorbing}, initial=pulse, dtype="float64",
                     kernels="fused" if backend == "cupy" else "array") | options
    return dg.Simulation(mesh, dg.Acoustics(2), dg.NodalDG(3), backend=backend, **arguments)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_run_is_the_cpu_s(cupy, dtype):
    """Snapshots, recorders and reports, to rounding; the time step is the same to the bit."""
    records = {"probe": dg.Points([(0.1, 0.2), (-0.7, 0.3)]), "peak": dg.Extrema()}
    results, reports = [], []
    for backend in ("cupy", "numpy"):
        sim = simulation(backend, dtype=dtype, record=dict(records))
        results.append(sim.run(until=1.0, every=0.4))
        reports.append(sim.report)
    eps = np.finfo(dtype).eps
    assert set(results[0].variables) == set(results[1].variables)
    for name in results[1].data_vars:
        found, expected = (ds[name].values for ds in results)
        if expected.dtype.kind == "f" and found.shape == expected.shape and "x" not in name:
            assert np.abs(found - expected).max() <= 500 * eps * max(1, np.abs(expected).max()), name
    assert reports[0]["steps"] == reports[1]["steps"] > 16 and reports[0]["dt"] == reports[1]["dt"]
    assert reports[0]["backend"] == "cupy" and reports[0]["kernels"] == "fused"


def test_the_same_run_twice_gives_the_same_bits(cupy):
    first, second = (simulation().run(until=0.2, every=0.1) for _ in range(2))
    assert all(np.array_equal(first[name], second[name]) for name in first.data_vars)


@pytest.mark.parametrize("stepper", ["rk4", "ssp33"])
def test_other_steppers(cupy, stepper):
    found, expected = (simulation(backend, stepper=stepper).run(until=0.2).p.values for backend in ("cupy", "numpy"))
    assert np.abs(found - expected).max() <= 1e-13


def test_array_kernels_on_the_device(cupy):
    """kernels="array" is the reference's text on the device's arrays; here with whole steps, without fused kernels."""
    backend = backends.ArrayBackend(cupy.xp, "float64", "cupy")
    backend.free_memory = lambda: (None, None)
    sim = simulation("numpy", kernels="array")
    sim._backend = backend
    found, expected = sim.run(until=0.2).p.values, simulation("numpy", kernels="array").run(until=0.2).p.values
    assert np.abs(found - expected).max() <= 1e-13


def test_a_failure_is_named_as_on_the_cpu(cupy, tmp_path):
    """A source that goes bad between two looks at the state."""
    def source(q, x, t):
        blown = np.where((t > 0.2) & (x[0] > 0.5) & (x[1] < -0.5), np.sqrt(0.2 - t), 0.0)
        return 0.0 * q[0] + blown, 0.0 * q[1], 0.0 * q[2]
    errors = []
    for backend in ("cupy", "numpy"):
        with pytest.raises(dg.SolutionError) as info:
            simulation(backend, source=source).run(until=0.5, every=0.25, out=tmp_path / f"{backend}.zarr")
        errors.append(info.value)
    found, expected = errors
    assert (found.time, found.step, found.stage, found.variable, found.element) == (
        expected.time, expected.step, expected.stage, expected.variable, expected.element)
    assert np.abs(found.dataset.p.values - expected.dataset.p.values).max() <= 1e-13


def test_a_restart_is_bitwise(cupy, tmp_path):
    whole = simulation().run(until=0.4, every=0.1)
    simulation().run(until=0.2, every=0.1, out=tmp_path / "run.zarr")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parts = simulation().run(until=0.4, every=0.1, out=tmp_path / "run.zarr", restart=True)
    assert np.array_equal(whole.time, parts.time) and np.array_equal(whole.p, parts.p)


def test_a_wave_speed_that_depends_on_the_state(cupy):
    line = dg.interval(0, 1, 40, periodic=True)
    found, expected = (dg.Simulation(line, Burgers(), dg.NodalDG(2), initial=lambda x: (np.sin(2 * np.pi * x[0]),),
                                     backend=backend, kernels="fused" if backend == "cupy" else "array",
                                     ).run(until=0.05).u.values for backend in ("cupy", "numpy"))
    assert np.abs(found - expected).max() <= 1e-13


def test_too_large_for_the_device(cupy, monkeypatch):
    monkeypatch.setattr(cupy, "free_memory", lambda: 1000)
    with pytest.raises(ValueError, match=r"this run needs .* of the GPU's memory, but only 0.977 KiB are free"):
        simulation().run(until=0.1)


def test_command_line(cupy, tmp_path, capsys, monkeypatch):
    """A case of the package on the device, its summary, and the bound that it is compared with."""
    if isinstance(cupy, EmulatedDevice):          # whose memory is the CPU's: less of it is copied
        few = dict(seconds=0.0, size=1 << 14, turns=2, launches=3)
        monkeypatch.setattr(ceilings, "ceilings", partial(ceilings.ceilings, **few))
    path = tmp_path / "report.json"
    options = ["--backend", "cupy", "--order", "2", "--until", "0.1", "--json", str(path)]
    assert main(["run", "tm_cavity", *options]) == 0
    printed = capsys.readouterr().out
    assert "GPU memory:" in printed and "roofline:" in printed
    report, cpu = json.loads(path.read_text()), cases.tm_cavity(order=2)
    cpu.run(until=0.1)
    assert report["backend"] == "cupy"
    assert report["l2_error"]["total"] == pytest.approx(cpu.report["l2_error"]["total"], rel=1e-12)
