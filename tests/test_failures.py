"""A solution that goes bad is named exactly and its last good state kept; the output fails without a loss."""
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import meshio
import numpy as np
import pytest
import xarray as xr

import dgarray as dg
from dgarray import cli
from dgarray.output.store import checkpoint
from dgarray.stepping import STEPPERS

DT = 0.004


def loaded(out):
    """Arrays and facts of the last checkpoint."""
    file = checkpoint.latest(out)
    return checkpoint.arrays_of(file), checkpoint.facts_of(file)


def wave(x):
    return tuple(np.cos(3 * x[0] + d) * np.sin(2 * x[-1]) for d in range(4))


def poisoned(mesh, element, variable, time):
    """A source of NaN near the centre of one element at one time (within a hundredth of a step), in one variable."""
    centre, size = mesh.centroids[element], 0.3 * mesh.inradii[element]

    def source(x, t):
        near = sum((a - c) ** 2 for a, c in zip(x, centre)) < size ** 2
        bad = np.where(near & (np.abs(t - time) < DT / 100), np.nan, 0.0)
        return tuple(bad if v == variable else 0.0 for v in range(mesh.dim + 1))
    return source


@pytest.mark.parametrize("number", range(12))
def test_a_bad_value_is_named_and_the_last_good_state_is_kept(number, tmp_path):
    """At a random element, variable, step and stage, for every stepper, dimension, both kernels and both dtypes."""
    dim, rng = 2 + number % 2, np.random.default_rng(number)
    mesh = dg.rectangle(cells=4, perturb=0.1) if dim == 2 else dg.box(cells=2)
    name, kernels, dtype = list(STEPPERS)[number % 3], ("fused", "array")[number // 3 % 2], ("float64", "float32")[number // 6]
    element, variable = int(rng.integers(len(mesh.cells))), int(rng.integers(dim + 1))
    bad_step, stage = int(rng.integers(3, 150)), int(rng.integers(len(STEPPERS[name].stages)))
    t = (bad_step - 1) * DT
    time = t + STEPPERS[name].stages[stage].c * DT
    first = min(i for i, row in enumerate(STEPPERS[name].stages) if abs(row.c - STEPPERS[name].stages[stage].c) < 1e-9)
    if STEPPERS[name].stages[stage].c in (0.0, 1.0):          # a stage at a step's end belongs to two steps: the first is named
        time = t + (0.5 if name == "rk4" else 0.0) * DT
        first = 1 if name == "rk4" else 0
        if name == "ssp33":
            time, first = t + 0.5 * DT, 2

    def sim(source):
        return dg.Simulation(mesh, dg.Acoustics(dim), dg.NodalDG(4 if dim == 3 else 3), dg.wall, lambda x: wave(x)[:dim + 1],
                             source=source, stepper=name, kernels=kernels, dtype=dtype, dt=DT)
    path = tmp_path / "run.zarr"
    with pytest.raises(dg.SolutionError) as caught:
        sim(poisoned(mesh, element, variable, time)).run(160 * DT, 40 * DT, path)
    error = caught.value
    names = mesh.cells[element]
    assert (error.step, error.stage, error.element) == (bad_step, first + 1, mesh.numbers[element])
    assert error.variable == dg.Acoustics(dim).variables[variable]
    assert error.time == pytest.approx(time, abs=DT / 50)
    assert error.centre == pytest.approx(tuple(mesh.centroids[element]))
    touched = [name for name, rows in mesh.boundaries.items() if any(set(names) & set(mesh.cells[c]) for c, _ in rows)]
    assert error.boundaries == touched
    assert f"{error.variable} is not finite at t = " in str(error)
    assert f"(step {bad_step}, stage {first + 1} of {len(STEPPERS[name].stages)}) in element" in str(error)
    assert f", the last snapshot of {path}" in str(error)
    ds = xr.open_zarr(path).load()
    xr.testing.assert_identical(ds, error.dataset.load())
    clean = tmp_path / "clean.zarr"
    with pytest.raises(dg.Interrupted):
        sim(poisoned(mesh, element, variable, 99.0)).run(160 * DT, 40 * DT, clean, progress=StopAfter(bad_step - 1))
    arrays, facts = loaded(path)
    wanted, same = loaded(clean)
    assert (facts["t"], facts["steps"]) == (same["t"], same["steps"]) == (ds.time.values[-1], bad_step - 1)
    assert np.array_equal(arrays["q"], wanted["q"])
    assert np.array_equal(arrays["q"].transpose(0, 2, 1), np.stack([ds[v].values[-1] for v in ds.dg.variables]))
    earlier = xr.open_zarr(clean).load()
    for v in ds.dg.variables:
        assert np.array_equal(ds[v][:earlier.sizes["time"]], earlier[v])


class StopAfter:
    """Progress that asks the run to stop after so many steps."""

    def __init__(self, steps):
        self.steps = steps

    def update(self, t, dt, steps):
        if steps == self.steps:
            os.kill(os.getpid(), signal.SIGTERM)


def bad_cavity(**changes):
    mesh = dg.rectangle(cells=4)
    given = dict(source=poisoned(mesh, 5, 1, 10.5 * DT), dt=DT)
    return dg.Simulation(mesh, dg.Acoustics(2), dg.NodalDG(3), dg.wall, lambda x: wave(x)[:3], stepper="rk4", **given | changes)


def test_without_an_output_the_error_holds_the_dataset():
    with pytest.raises(dg.SolutionError, match="good state is at t = .*, the last snapshot of the dataset of this") as caught:
        bad_cavity().run(1.0, 5 * DT)
    assert np.allclose(caught.value.dataset.time, np.array([0, 5, 10]) * DT)


def test_going_on_after_a_failure_with_another_source(tmp_path):
    with pytest.raises(dg.SolutionError):
        bad_cavity().run(20 * DT, 5 * DT, tmp_path / "a.zarr")
    with pytest.warns(UserWarning, match="source None instead of"):
        ds = bad_cavity(source=None).run(20 * DT, 5 * DT, tmp_path / "a.zarr", restart=True)
    whole = bad_cavity(source=None).run(20 * DT, 5 * DT)
    assert np.array_equal(ds.p.isel(time=-1), whole.p.isel(time=-1))


@pytest.mark.parametrize("suffix", [".vtu", ".png"])
def test_the_surroundings_are_dumped(suffix, tmp_path):
    file = tmp_path / f"dump{suffix}"
    with pytest.raises(dg.SolutionError, match=f"; see {re.escape(str(file))}$") as caught:
        bad_cavity().run(1.0, dump_on_error=file)
    if suffix == ".png":
        assert file.read_bytes().startswith(b"\x89PNG")
        return
    import vtk
    reader = vtk.vtkXMLUnstructuredGridReader()
    reader.SetFileName(str(file))
    reader.Update()
    cells = reader.GetOutput().GetCellData()
    numbers = [cells.GetArray("cell_number").GetValue(i) for i in range(reader.GetOutput().GetNumberOfCells())]
    bad = [cells.GetArray("bad").GetValue(i) for i in range(len(numbers))]
    assert numbers[bad.index(1)] == caught.value.element
    assert 4 < len(numbers) < 32
    assert reader.GetOutput().GetPointData().GetArray("vx") is not None


def test_a_dump_that_cannot_be_is_refused_before_the_run():
    with pytest.raises(ValueError, match=r"the dump a.gif has the suffix '.gif'; allowed: .vtu, .png"):
        bad_cavity().run(1.0, dump_on_error="a.gif")
    with pytest.raises(ValueError, match="the dump none/a.vtu: the folder .*none does not exist"):
        bad_cavity().run(1.0, dump_on_error="none/a.vtu")


class Positive(dg.Law):
    """Decay to below zero, which its law forbids."""

    dim, variables = 1, ("rho",)

    def flux(self, q, n):
        return (0.1 * q[0] * n[0],)

    def wave_speed(self, q, n):
        return 0.1 * np.abs(n[0])

    def source(self, q, x):
        return (np.where(x[0] > 0.9, -1.0, 0.0),)

    def admissible(self, q):
        return q[0] > 0


@pytest.mark.parametrize("kernels", ["fused", "array"])
def test_a_state_that_is_not_admissible_stops_the_run(kernels):
    sim = dg.Simulation(dg.interval(cells=10, periodic=True), Positive(), dg.NodalDG(2), initial=lambda x: 0.5 + 0 * x[0],
                        kernels=kernels)
    with pytest.raises(dg.SolutionError, match=r"the state is not admissible at t = .* \(step \d+, stage \d of 5\)") as caught:
        sim.run(2.0)
    assert 0.4 < caught.value.time < 0.6
    assert not 0.1 < caught.value.centre[0] < 0.9
    last = caught.value.dataset.rho.isel(time=-1).values
    assert 0 < last.min() < 0.25


FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from dgarray import cli
limit = int(sys.argv.pop(1))
import dgarray.output.store.snapshots as store
create = store.Store._create
def limited(*arguments):
    create(*arguments)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
store.Store._create = limited
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("limit, what", [(30_000, "the checkpoint cannot be written"), (5_000, "the snapshot of t = 0 cannot")])
def test_an_output_that_cannot_grow_is_one_line_and_loses_nothing(limit, what, tmp_path):
    """A limit on the size of files stands for the full disk, which `test_a_full_disk` needs the right to mount for."""
    command = [sys.executable, "-c", FULL, str(limit), "run", "tm_cavity", "--order", "4", "--until", "0.2", "--every", "0.05",
               "--out", "a.zarr", "--quiet", "--set", "cells=8", "--kernels", "array"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert re.fullmatch(rf"dgarray run: a.zarr.*{what}.*File too large.*\n", done.stderr), done.stderr
    assert xr.open_zarr(tmp_path / "a.zarr").load().sizes["time"] == (1 if limit > 10_000 else 0)


def test_a_full_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=900k", "none", disk]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        command = [sys.executable, "-m", "dgarray", "run", "tm_cavity", "--order", "4", "--until", "2", "--every", "0.02",
                   "--out", str(disk / "a.zarr"), "--quiet", "--set", "cells=8", "--kernels", "array"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1, done.stderr
        assert re.fullmatch(r"dgarray run: .*a.zarr: the snapshot of t = .* cannot be written: No space left on device; "
                            r"what was kept before, up to the snapshot of t = .*, is intact\n", done.stderr), done.stderr
        ds = xr.open_zarr(disk / "a.zarr").load()
        whole = cases_run(float(ds.time[-1]))
        assert ds.sizes["time"] > 3
        assert np.array_equal(ds.Ez, whole.Ez)
        arrays, facts = loaded(disk / "a.zarr")
        assert facts["t"] == 0
    finally:
        subprocess.run(["umount", disk], check=True)


def cases_run(until):
    from dgarray import cases
    return cases.tm_cavity(order=4, cells=8).replace(backend="numpy", kernels="array").run(until, 0.02)


def test_a_mesh_file_that_vanishes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    mesh = dg.rectangle((-1, -1), (1, 1), cells=2)
    meshio.write_points_cells("a.vtu", np.column_stack([mesh.points, np.zeros(len(mesh.points))]), [("triangle", mesh.cells)])
    Path("mine.py").write_text("import dgarray as dg\nmesh = dg.read_mesh('a.vtu')\n")
    os.remove("a.vtu")
    for command in (["run", "tm_cavity", "--mesh", "a.vtu"], ["run", "mine.py"], ["info", "a.vtu"]):
        assert cli.main(command) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "a.vtu" in error


def test_two_signals_stop_at_once():
    class Twice:
        def update(self, t, dt, steps):
            if steps == 3:
                os.kill(os.getpid(), signal.SIGINT)
                os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(dg.Interrupted, match="interrupted twice: the last step is not saved"):
        bad_cavity().run(1.0, progress=Twice())


def test_too_little_memory_is_refused_before_anything_is_allocated(monkeypatch):
    sim = bad_cavity()
    monkeypatch.setattr(type(sim.backend), "free_memory", lambda self: (100_000, None))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match="this run needs .* of memory, but only .* are free; most goes to"):
        sim.run(1.0, 1e-3)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


GRID, TRIANGLES = dg.Grid((0, 0), (1, 1), (8, 8)), dg.rectangle(cells=4)
SQUARES = dg.rectangle(cells=8, shape="quadrilateral")
GAS = dg.Euler(2)


def gas(mesh, method, initial=lambda x: GAS.conservative((1.0 + 0 * x[0], 0.0, 0.0, 1.0)), **given):
    stepper = None if isinstance(method, dg.FiniteVolume) else "ssp33"
    return dg.Simulation(mesh, GAS, method, dg.wall, initial, until=0.1, backend="numpy", stepper=stepper, **given)


@pytest.mark.parametrize("quantity, taken", [("rho", (-300.0, 0.0, 0.0, 0.0)), ("pressure", (0.0, 0.0, 0.0, -300.0))])
@pytest.mark.parametrize("mesh, method, kernels", [
    (GRID, dg.FiniteVolume("first-order"), "fused"), (GRID, dg.FiniteVolume("muscl"), "array"),
    (GRID, dg.FiniteVolume("muscl"), "fused"), (GRID, dg.FiniteVolume("weno", safe=False), "array"),
    (SQUARES, dg.TensorDG(1, positivity=True), "array"), (SQUARES, dg.NodalDG(1), "array")])
def test_a_sink_is_named_by_its_cell_and_by_what_is_not_positive(mesh, method, kernels, quantity, taken):
    """Not by what sweeps and stages make of it afterwards, in other cells and variables."""
    def sink(q, x):
        inside = (np.abs(x[0] - 0.6875) < 0.06) & (np.abs(x[1] - 0.3125) < 0.06)
        return tuple(np.where(inside, rate, 0.0) for rate in taken)
    wanted = (rf"not admissible at t = .*: {quantity} = -\d[^;]*; 1 \w+ is affected(; where there are shocks [^;]*)?; the last "
              "good state is at t = [^;]*, the last snapshot of the dataset of this error$")
    with pytest.raises(dg.SolutionError, match=wanted) as caught:
        gas(mesh, method, source=sink, kernels=kernels).run()
    assert caught.value.variable == quantity
    assert caught.value.centre == pytest.approx((0.6875, 0.3125))


@pytest.mark.parametrize("mesh, method", [
    (GRID, dg.FiniteVolume("muscl")), (GRID, dg.FiniteVolume("weno")), (TRIANGLES, dg.ModalDG(1, positivity=True)),
    (TRIANGLES, dg.NodalDG(2, limiter="vertex", positivity=True)), (SQUARES, dg.TensorDG(3, positivity=True)),
    (dg.rectangle(cells=4, shape="mixed"), dg.NodalDG(2, positivity=True))])
def test_initial_values_that_are_not_admissible_are_refused(mesh, method):
    """Though their averages are, and a limiter would make the state positive."""
    def corner(x):
        return GAS.conservative((1.0 + 0 * x[0], 0.0, 0.0, np.where((x[0] < 0.07) & (x[1] < 0.07), -0.01, 1.0)))
    with pytest.raises(ValueError, match=r"the initial state is not admissible at \(0.0\d*, 0.0\d*\): pressure = -0.01;"):
        gas(mesh, method, corner).run()


def test_an_initial_vacuum_is_named():
    """Its velocity would be a division by zero."""
    def half_empty(x):
        return GAS.conservative((np.where(x[0] < 0.5, 1.0, 0.0), 0.0, 0.0, np.where(x[0] < 0.5, 1.0, 0.0)))
    with pytest.raises(ValueError, match=r"the initial state is not admissible at \(0.5\d*, 0.0\d*\): rho = 0;"):
        gas(GRID, dg.FiniteVolume("muscl"), half_empty).run()
