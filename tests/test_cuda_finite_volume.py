"""The GPU's kernels of finite volumes: against the array expressions on the emulated device, whole runs, what compilers say."""
import numpy as np
import pytest
from compiled import ARCHITECTURES, compiled, float64_instructions
from grid_problems import EULER, FIRST, GAS, LAWS, METHODS, MUSCL, SOURCE, WENO, advanced, blast, simulation

import dgarray as dg
from dgarray import backends
from dgarray.backends.cuda import CudaBackend
from dgarray.backends.cuda.dg import tuning as dg_tuning, variant_table
from dgarray.backends.cuda.finite_volume import tuning
from dgarray.backends.cuda.finite_volume.fused import SweepsCuda
from dgarray.backends.cuda.finite_volume.source import SweepSource, alone
from dgarray.backends.cuda.finite_volume.variant import SweepVariant, candidates, default, shortlist
from dgarray.bench import tune
from dgarray.bench.device_problem import DeviceProblem
from dgarray.bench.roofline import cost
from dgarray.cli import main
from dgarray.methods.finite_volume.sweeps import Sweeps

CELLS = {1: 40, 2: (21, 13), 3: (9, 7, 6)}
FLUXES = {"mhd": dg.hlld, "euler": dg.hllc}
SMALL = SweepVariant(length=16, rows=2, depth=16, lanes=4)
TRIED = [("euler", 1, "muscl", None, 64), ("euler", 2, "first-order", dg.wall, 32), ("mhd", 2, "muscl", None, 64),
         ("mhd", 3, "first-order", dg.wall, 64), ("varying", 2, "quick", dg.wall, 64), ("euler", 2, "weno", dg.outflow, 64),
         ("euler", 3, "unsplit", None, 64), ("varying", 2, "weno", None, 32), ("burgers", 2, "quick", dg.outflow, 32)]
ALL = [*TRIED, *((law, dim, method, *((None, 32), (dg.wall if law != "burgers" else dg.outflow, 64))[(i + dim) % 2])
                 for law in LAWS for dim in (1, 2, 3) for i, method in enumerate(METHODS))]


def on(device, sim, variant=SMALL):
    """The operator of a simulation on a device, with this variant of its kernels."""
    backend = CudaBackend(sim.operator.dtype, device)
    operator = sim.method.operator(sim.problem, backend)
    operator.operations = SweepsCuda(backend, operator.tables, variant)
    for name in ("state", "plain", "host", "zeros", "finite", "change", "fetch"):
        setattr(operator, name, getattr(operator.operations, name))
    operator.method, operator.stepper = sim.method, sim.operator.stepper
    return operator


def both(device, sim, variant=SMALL, steps=2):
    """Steps by array expressions and by kernels: the states on the host, and the operator with kernels, its state and check."""
    reference, expected, *_ = advanced(sim, steps)
    operator, t = on(device, sim, variant), 0.0
    state, check = operator.state(operator.project(sim.initial)), None
    for _ in range(steps):
        dt = 0.9 * operator.largest_step(state, t, check=check)
        state, check = operator.advance_checked(state, t, dt)
        t += dt
    return reference.host(expected).astype(float), operator.host(state).astype(float), (operator, state, t, check)


@pytest.mark.parametrize("law, dim, method, boundary, bits", list(dict.fromkeys(ALL)))
def test_steps_agree_with_the_array_expressions(device, law, dim, method, boundary, bits):
    """Every law, scheme and dimension, sources, parameters that vary, boundaries; the check is that of the state."""
    sim = simulation(LAWS[law](dim), METHODS[method], CELLS[dim], boundary, flux=FLUXES.get(law), dtype=f"float{bits}",
                     source=SOURCE.get(law))
    expected, found, (operator, state, t, check) = both(device, sim)
    assert np.abs(expected - found).max() < {64: 3e-14, 32: 1e-5}[bits]
    assert operator.array_expressions == []
    if check is not None:
        assert check.sound and check.rate == pytest.approx(operator.check(state, t).rate, rel={64: 1e-13, 32: 1e-5}[bits])
    assert (check is None) == (law == "varying")          # its wave rates stay, and no state of it is not admitted


@pytest.mark.parametrize("method", [FIRST, MUSCL, dg.FiniteVolume(splitting=None)], ids=["first-order", "muscl", "unsplit"])
def test_nonconservative_products(device, method):
    """Two fluids: the fluxes have one component more than the state."""
    law = dg.TwoFluid(2, fluids={"water": (4.4, 1.0), "air": (1.4, 0.0)})

    def initial(x):
        a, b = np.sin(2 * np.pi * x[0]), np.cos(2 * np.pi * x[1])
        return law.state((2 + a, 0.5 * b, 0.3 * a, 2 + b), 0.5 + 0.4 * a * b)
    expected, found, _ = both(device, simulation(law, method, CELLS[2], dg.wall, initial))
    assert np.abs(expected - found).max() < 3e-14


@pytest.mark.parametrize("scheme", ["first-order", "muscl", "weno"])
def test_a_flux_that_is_zero_along_an_axis(device, scheme):
    """Advection along x in 2D: the sweeps along y read nothing."""
    sim = dg.Simulation(dg.Grid((0, 0), (1, 1), CELLS[2], periodic=True), dg.Advection((1.0, 0.0)), dg.FiniteVolume(scheme),
                        initial=lambda x: (np.sin(2 * np.pi * (x[0] + x[1])),), backend="numpy", kernels="array", threads=1)
    expected, found, _ = both(device, sim)
    assert np.abs(expected - found).max() < 1e-14


@pytest.mark.parametrize("dim, cells, variant", [
    (2, (70, 33), SweepVariant("transposed", 16, 2)), (2, (33, 40), SweepVariant("strided", 32, 1, 8, 8)),
    (3, (9, 35, 7), SweepVariant("transposed", 32, 4)), (1, 300, SweepVariant(length=128, rows=1)),
    (3, (10, 6, 34), SweepVariant("strided", 8, 1, 32, 2))])
@pytest.mark.parametrize("law, method", [("mhd", MUSCL), ("euler", FIRST)], ids=["muscl", "first"])
def test_both_ways_through_memory(device, dim, cells, variant, law, method):
    """Blocks that end within the grid, tiles of transpositions that are not full, sources between sweeps; in float32 too."""
    sim = simulation(LAWS[law](dim), method, cells, None, flux=FLUXES[law], source=SOURCE.get(law))
    expected, found, _ = both(device, sim, variant, 1)
    assert np.abs(expected - found).max() < 2e-14


def test_parameters_are_transposed_too(device):
    sim = simulation(LAWS["varying"](3), METHODS["quick"], (9, 12, 5), dg.wall)
    expected, found, _ = both(device, sim, SweepVariant("transposed", 16, 2))
    assert np.abs(expected - found).max() < 2e-14


@pytest.mark.parametrize("method", [MUSCL, WENO], ids=["muscl", "weno"])
def test_repairs_are_those_of_the_arrays(device, method):
    """A blast that needs fluxes of first order: the same faces, nothing lost."""
    sim = simulation(GAS, method, (20, 20), initial=blast, boundary={"default": dg.wall}, flux=dg.hllc)
    expected, found, (operator, *_, check) = both(device, sim, steps=3)
    assert np.allclose(expected, found, rtol=1e-9, atol=1e-9)
    assert operator.operations.replaced == sim.operator.operations.replaced > 0 and check.sound


def test_a_law_with_constant_coefficients_is_not_looked_at(device):
    """The wave rate is computed once, and no kernel waits for the host."""
    sim = simulation(dg.Maxwell(2), WENO, (12, 9), dg.pec)
    expected, found, (operator, state, t, check) = both(device, sim)
    assert np.abs(expected - found).max() < 1e-14 and check is None
    assert operator.check(state, t).sound and operator.check_every == 16
    assert operator.largest_step(state, t) == sim.operator.largest_step(sim.operator.state(found), t)


def test_a_state_that_is_not_sound_is_seen(device):
    sim = simulation(GAS, dg.FiniteVolume("muscl", safe=False), (12, 9), initial=blast, flux=dg.hllc)
    operator = on(device, sim)
    q = operator.project(blast)
    q[3, 5, 7] = -1.0
    _, check = operator.advance_checked(operator.state(q), 0.0, 1e-9)
    assert check.finite and not check.admissible
    q[3, 5, 7] = np.nan
    _, check = operator.advance_checked(operator.state(q), 0.0, 1e-9)
    assert not check.finite


def test_steps_as_graphs_are_the_steps(device):
    """Steps that are captured are bitwise those launched one by one, also where the step after takes the other states."""
    sim, results = simulation(GAS, MUSCL, (20, 12), flux=dg.hllc), []
    for began in (False, True):
        operator = on(device, sim)
        state, t = operator.state(operator.project(sim.initial)), 0.0
        for _ in range(5):
            operator.operations.began = operator.operations.began and began
            state, _ = operator.advance_checked(state, t, 0.004)
            t += 0.004
        results.append(operator.host(state))
        assert len(operator.operations.graphs) == (2 if began else 0)
    assert np.array_equal(*results)


def test_a_run_is_the_cpu_s(cupy, tmp_path):
    """Steps, snapshots, what is conserved; a restart is bitwise."""
    results, reports = [], []
    for backend in ("cupy", "numpy"):
        sim = simulation(GAS, MUSCL, (24, 16), flux=dg.hllc).replace(
            backend=backend, kernels="fused" if backend == "cupy" else "array")
        results.append(sim.run(until=0.1, every=0.05, out=tmp_path / f"{backend}.zarr"))
        reports.append(sim.report)
    assert np.abs(results[0].rho.values - results[1].rho.values).max() <= 1e-12
    assert reports[0]["steps"] == reports[1]["steps"] > 3 and reports[0]["kernels"] == "fused"
    assert "array_expressions" not in reports[0] or not reports[0]["array_expressions"]
    assert all(r["final"] == pytest.approx(r["initial"], abs=1e-13) for r in reports[0]["conserved"].values())
    sim = simulation(GAS, MUSCL, (24, 16), flux=dg.hllc).replace(backend="cupy", kernels="fused")
    sim.run(until=0.05, every=0.05, out=tmp_path / "part.zarr")
    again = sim.run(until=0.1, every=0.05, out=tmp_path / "part.zarr", restart=True)
    assert np.array_equal(again.rho, results[0].rho)


# What compilers say.


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("law", LAWS)
def test_kernels_compile(law, dim, method, dtype):
    """For real architectures, with registers enough for a block and no float64 in float32 code."""
    sim = simulation(LAWS[law](dim), METHODS[method], CELLS[dim], dg.outflow, flux=FLUXES.get(law), source=SOURCE.get(law))
    tables = METHODS[method].tables(sim.problem)
    variant = default(tables)
    for arch in ARCHITECTURES:
        for axis in range(dim):
            source = SweepSource(tables, dtype, axis, tuple(range(dim)), SweepVariant().block(axis == 0),
                            "q" if tables.split else "r", wide=dim == 3)
            kernel = "sweep" if tables.split else "stage"
            text = source.text(kernel, **({} if tables.split else {"ADDS": 1, "ENDS": 1, "REGISTER": 1}))
            result = compiled(text, dtype, arch)
            usage = result.kernels[kernel]
            assert usage.registers * 256 <= 65536 and variant is not None
            if dtype == "float32":
                assert not float64_instructions(result.ptx)


def test_other_kernels_compile():
    for name in ("transpose", "set_clock"):
        for dtype in ("float64", "float32"):
            found = compiled(alone(name, wide=dtype == "float64"), dtype).kernels[name]
            assert found.spill_loads == found.spill_stores == 0


# Variants.


def test_variants_are_few_and_suit_the_grid():
    for dim, cells in ((1, 5), (2, (1000, 3)), (3, (4, 64, 6))):
        for method in (FIRST, MUSCL):
            tables = method.tables(simulation(EULER[dim], method, cells).problem)
            every, short = candidates(tables), shortlist(tables)
            assert every[0] == short[0] == default(tables) and set(short) <= set(every)
            assert len(set(every)) == len(every) <= 15 and len(short) <= 6
            assert {each.way for each in short} == ({"strided"} if dim == 1 else {"strided", "transposed"})


@pytest.mark.parametrize("options, message", [
    ({"way": "diagonal"}, "way 'diagonal' does not exist; allowed: strided, transposed"),
    ({"length": 48}, "length=48 is not allowed; it must be a power of"),
    ({"depth": 64, "lanes": 32}, "depth x lanes = 2048 is not allowed; a block has at most 1024")])
def test_variants_that_are_not_allowed(options, message):
    with pytest.raises(ValueError, match=message):
        SweepVariant(**options)


def test_the_tuner_keeps_the_fastest(device, tmp_path, monkeypatch):
    """Variants of both ways and of stages are right; the fastest is found again, also by a run."""
    monkeypatch.setenv("DGARRAY_CACHE", str(tmp_path))
    monkeypatch.setattr(device, "seconds", lambda function, repeats: [function() or 1.0] * repeats)
    for method in (MUSCL, WENO):
        tables = method.tables(simulation(GAS, method, (20, 12), flux=dg.hllc).problem)
        backend = CudaBackend("float64", device)
        variants = shortlist(tables)[:3]
        found, ranking = tuning.tune(backend, tables, variants, 0.1)
        assert found in variants and len(ranking) == len(variants)
        assert backend.operations(Sweeps, tables).choice == found == tuning.lookup(device, tables, "float64")


@pytest.mark.thorough
def test_the_command_tunes_a_case(device, tmp_path, monkeypatch, capsys):
    """Its grid is refined until it fills a device; the table has the share of the bound."""
    monkeypatch.setenv("DGARRAY_CACHE", str(tmp_path))
    monkeypatch.setattr(backends, "get", lambda name, kernels=None, dtype="float64", threads=None: CudaBackend(dtype, device))
    monkeypatch.setattr(backends, "gpu_problem", lambda kernels=None: None)
    monkeypatch.setattr(tuning, "ENOUGH", 200)
    monkeypatch.setattr(dg_tuning, "FIRST_RUN", 0.01)
    monkeypatch.setattr(tune, "ceilings", lambda device, dtype: {"bandwidth": 1e12, "multiply_add": 1e13})
    assert main(["tune", "orszag_tang", "--set", "cells=12", "--dtype", "float64", "--quick"]) == 0
    out, lines = capsys.readouterr()
    assert "6 variants on 576 cells" in lines and "Finite volumes, muscl, MHD 2D, 9 variables" in out
    assert out.count("transposed") + out.count("strided") >= 5 and out.endswith(f"kept in {variant_table.table_file()}\n")


def test_a_case_is_measured(device):
    """A row of `dgarray bench CASE --backend cupy` has the variant, and the bound counts what transpositions move."""
    sim = simulation(LAWS["mhd"](2), MUSCL, (16, 8), flux=dg.hlld)
    operator = sim.operator.on(CudaBackend("float64", device))
    problem = DeviceProblem(operator, device, operator.project(sim.initial), sim.stepper)
    assert isinstance(problem.variant, SweepVariant)
    (one,), (least,) = problem.counts(), problem.least()
    assert one == least and one.bytes == 2 * 4 * 9 * 8
    turned = cost(operator.tables, "fused", np.dtype("float64"), sim.stepper, "cupy", SweepVariant("transposed"))[0]
    assert turned.bytes == 1.5 * one.bytes and turned.flops == one.flops > 1000
    assert problem.step() > 0
