"""Hermite's kernels of the GPU: against the array text in every variant, whole runs, and what the compilers say of them."""
import copy
from dataclasses import replace

import numpy as np
import pytest
from compiled import ARCHITECTURES, compiled, float64_instructions

import dgarray as dg
from dgarray import backends
from dgarray.backends.cuda import CudaBackend
from dgarray.backends.cuda.hermite import fused as hermite
from dgarray.backends.cuda.hermite.fused import HermiteCuda
from dgarray.backends.cuda.hermite.source import source
from dgarray.backends.cuda.hermite.variant import KERNELS, HermiteShape, HermiteVariant, default, from_dict, sized
from dgarray.methods.hermite.half_steps import HalfSteps
from dgarray.methods.hermite.node_tables import HermiteTables
from dgarray.methods.problem import Problem

SHARED = {"sm_80": 163 * 1024, "sm_90": 227 * 1024}          # bytes that a block may have
SPILLS = 48                                                  # bytes a thread that are allowed
WALLS = {2: (False, True), 3: (True, False, False)}


def grid_of(dim, cells, periodic=True):
    """Cells of different lengths along the axes."""
    return dg.Grid((0.0,) * dim, (1.0, 0.8, 1.3)[:dim], cells, periodic)


# name: (law, grid, boundary), small enough for a thread of the CPU to be one of the device
SYSTEMS = {
    "advection 1D": (dg.Advection(-1.3), grid_of(1, (7,)), None),
    "advection 2D": (dg.Advection((1.0, -0.4)), grid_of(2, (5, 3)), None),
    "advection 3D": (dg.Advection((1.0, -0.4, 0.7)), grid_of(3, (3, 2, 3)), None),
    "acoustics 1D": (dg.Acoustics(1, density=1.3), grid_of(1, (6,), False), {"left": dg.wall, "right": dg.pressure_release}),
    "acoustics 2D": (dg.Acoustics(2, sound_speed=0.7), grid_of(2, (5, 4), WALLS[2]),
                     {"left": dg.wall, "right": dg.Sponge(0.4)}),
    "acoustics 3D": (dg.Acoustics(3), grid_of(3, (2, 2, 3), WALLS[3]), {"front": dg.wall, "default": dg.pressure_release}),
    "maxwell 1D": (dg.Maxwell(1, sigma=0.8), grid_of(1, (5,), False), dg.pec),
    "maxwell TM": (dg.Maxwell(2, eps=2.0), grid_of(2, (4, 3), False), {"left": dg.pmc, "default": dg.pec}),
    "maxwell TE": (dg.Maxwell(2, "TE", sigma=0.6), grid_of(2, (3, 5), WALLS[2]), dg.pec),
    "maxwell 3D": (dg.Maxwell(3, mu=1.5), grid_of(3, (2, 1, 2), WALLS[3]), {"front": dg.pmc, "default": dg.pec}),
    "lossy 3D": (dg.Maxwell(3, sigma=0.5), grid_of(3, (2, 2, 1)), None),
}
CHOICES = [("monolithic", "registers"), ("two-kernel", "shared"), ("monolithic", "shared"), ("two-kernel", "registers")]


def tables_of(system, order, **options):
    law, grid, boundary = SYSTEMS[system]
    return HermiteTables(dg.Hermite(order, **options), grid, law, Problem(grid, law, boundary).boundary)


def arrays(tables, dtype="float64"):
    """The array text, by two operations whatever variant is asked for."""
    operations = HalfSteps(backends.get("numpy", "array", dtype), tables)
    operations.variant = "two-kernel"
    return operations


def cuda(device, tables, dtype="float64", **changes):
    """The kernels in the default variant with changes and few targets in a block."""
    backend = CudaBackend(dtype, device)
    shape = HermiteShape.of(tables, backend.dtype)
    variant = default(shape, device.shared_per_block, changes.get("kernel"))
    variant = replace(variant, lanes=min(variant.lanes, 4))          # every thread is one of the CPU
    variant = replace(variant, **changes)
    while not shape.fits(variant, device.shared_per_block):
        variant = replace(variant, lanes=variant.lanes // 2)
    return HermiteCuda(backend, tables, variant)


def magnitudes(tables, q, half, tau):
    """What the array text makes of absolute values: |q'| <= this, of which rounding is a share."""
    tables = copy.copy(tables)
    tables.terms = [(*term, abs(a)) for *term, a in tables.terms]
    tables.decay = [(*term, abs(b)) for *term, b in tables.decay]
    tables.interpolation = tuple(map(np.abs, tables.interpolation))
    tables.neighbours = [[replace(axis, low_signs=abs(axis.low_signs), high_signs=abs(axis.high_signs)) for axis in axes]
                         for axes in tables.neighbours]
    operations = arrays(tables)
    out = operations.zeros()
    operations.half_step(operations.state(np.abs(q)), out, half, tau)
    return operations.host(out)


def state_of(tables, seed=0, dtype="float64"):
    q = np.random.default_rng(seed).standard_normal((tables.variables, tables.rows, tables.elements))
    return q.astype(dtype)


def check_halves(operations, tables, dtype="float64", tau=None, factor=3):
    """Both half-steps from random states are the array text's to rounding, and what lies beyond the dual grid stays zero."""
    reference = arrays(tables, dtype)
    tau = tau or 0.45 * min(h / s for h, s in zip(tables.grid.spacing, tables.speeds) if s)
    for half in (0, 1):
        q, results = state_of(tables, half, dtype), []
        for o in (operations, reference):
            out = o.zeros()
            o.half_step(o.state(q.copy()), out, half, tau)
            results.append(o.host(out))
        found, expected = results
        assert found.dtype == expected.dtype == dtype and np.isfinite(found).all()
        largest = magnitudes(tables, q.astype(float), half, tau).max(axis=(1, 2), keepdims=True)
        worst = (np.abs(found - expected) / largest).max()
        assert worst <= factor * np.finfo(dtype).eps, (half, worst / np.finfo(dtype).eps)
        assert np.abs(expected).max() > 1e-6 * largest.max()


@pytest.mark.parametrize("system, number", [(name, number) for name in SYSTEMS for number in range(3 if "3D" in name else 2)])
def test_half_steps_agree_with_the_array_text(device, system, number):
    """Every law, the orders 0 to 6, dtypes and variants taking turns."""
    place = list(SYSTEMS).index(system)
    order, (kernel, keep) = (2 * number + place) % 7, CHOICES[(number + place) % 4]
    dtype = ("float64", "float32")[(number + place // 4) % 2]
    tables = tables_of(system, order)
    check_halves(cuda(device, tables, dtype, kernel=kernel, keep=keep), tables, dtype)


@pytest.mark.parametrize("system, order", [*((f"advection {dim}D", order) for dim, orders in
                                             ((1, (2, 5)), (2, (0, 1, 3, 6)), (3, (1, 2, 4))) for order in orders)])
def test_one_map_along_each_axis(device, system, order):
    """The collapsed variant, every order in some dimension."""
    tables, dtype = tables_of(system, order), ("float32", "float64")[order // 2 % 2]
    operations = cuda(device, tables, dtype, keep=CHOICES[order // 2 % 2][1])
    assert operations.variant == "collapsed"
    check_halves(operations, tables, dtype)


class Pair(dg.Law):
    """Two waves that do not see each other."""

    dim, variables, parameters, long_names = 2, ("a", "b"), {}, {}

    def flux(self, q, n):
        return (0.9 * n[0] + 0.2 * n[1]) * q[0], (0.5 * n[1] - 0.3 * n[0]) * q[1]

    def wave_speed(self, n):
        return np.maximum(np.abs(0.9 * n[0] + 0.2 * n[1]), np.abs(0.5 * n[1] - 0.3 * n[0]))


@pytest.mark.parametrize("kernel", KERNELS)
def test_variables_in_blocks_of_their_own(device, kernel):
    """Two variables that do not depend on each other; a target count that no block divides; several stretches."""
    tables = HermiteTables(dg.Hermite(2), grid_of(2, (7, 5), (True, False)), Pair(), {"default": dg.Sponge(0.3)})
    check_halves(cuda(device, tables, kernel=kernel, lanes=3, depth=2), tables)


@pytest.mark.parametrize("system, options", [
    ("acoustics 2D", dict(pruned=False)), ("acoustics 2D", dict(stages=1)), ("acoustics 2D", dict(stages=4)),
    ("acoustics 2D", dict(stages=30)), ("maxwell TE", dict(stages=5, pruned=False)), ("maxwell TE", dict(stages=5)),
    ("maxwell TE", dict(stages=30))])
def test_stages_and_pruning(device, system, options):
    """Fewer stages and more, whole and pruned, without a law's decay and with it."""
    tables = tables_of(system, 2, **options)
    check_halves(cuda(device, tables, kernel="monolithic"), tables)


def test_pruning_leaves_out_what_nobody_needs(device):
    """The same to rounding without pruning, relative to the results and not to the terms of the series."""
    results = []
    for pruned in (True, False):
        tables = tables_of("acoustics 3D", 1, pruned=pruned)
        operations, q = cuda(device, tables), state_of(tables)
        out = operations.zeros()
        operations.half_step(operations.state(q), out, 1, 0.2)
        results.append(operations.host(out))
    assert np.abs(results[0] - results[1]).max() <= 1e-15 * np.abs(results[0]).max()


@pytest.mark.parametrize("system, kernel", [("advection 3D", "two-kernel"), ("acoustics 2D", "monolithic"),
                                            ("advection 3D", "collapsed")])
def test_long_offsets_and_few_planes_at_a_time(device, monkeypatch, system, kernel):
    """Offsets of 64 bits, and room for the polynomials of one plane only, change no bit."""
    tables, results = tables_of(system, 1), []
    for limit, room in ((hermite.LONG, hermite.ROOM), (1, 1)):
        monkeypatch.setattr(hermite, "LONG", limit)
        monkeypatch.setattr(hermite, "ROOM", room)
        operations = cuda(device, tables, kernel=kernel, lanes=2)
        assert operations.offset == (np.int64 if limit == 1 else np.int32)
        out = operations.zeros()
        operations.half_step(operations.state(state_of(tables)), out, 1, 0.2)
        results.append(operations.host(out))
    if kernel == "two-kernel":
        assert operations.planes == 1 and operations.polynomials.size == 4 ** 3 * 6
    assert np.array_equal(*results)


# whole runs


def wave(x):
    return np.sin(2 * np.pi * x[0]) * np.cos(2 * np.pi * x[1]), 0.0 * x[0], 0.0 * x[1]


def simulation(backend="cupy", method=None, law=None, **options):
    grid = dg.Grid((0, 0), (1, 1), (6, 5), (True, False))
    arguments = dict(boundary={"bottom": dg.wall, "top": dg.Sponge(0.3)}, initial=wave, dtype="float64") | options
    return dg.Simulation(grid, law or dg.Acoustics(2), method or dg.Hermite(2), backend=backend, **arguments)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_run_is_the_cpu_s(cupy, dtype):
    results, reports = [], []
    for backend in ("cupy", "numpy"):
        sim = simulation(backend, dg.Hermite(2, derivatives=True), dtype=dtype, kernels=None if backend == "cupy" else "array")
        results.append(sim.run(until=0.6, every=0.25))
        reports.append(sim.report)
    for name in ("p", "vx_derivatives"):
        found, expected = (ds[name].values for ds in results)
        assert np.abs(found - expected).max() <= 500 * np.finfo(dtype).eps * np.abs(expected).max(), name
    assert reports[0]["steps"] == reports[1]["steps"] and reports[0]["dt"] == reports[1]["dt"]
    assert reports[0]["backend"] == "cupy" and reports[0]["kernels"] == "fused"


def test_a_restart_is_bitwise(cupy, tmp_path):
    whole = simulation().run(until=0.4, every=0.1)
    simulation().run(until=0.2, every=0.1, out=tmp_path / "run.zarr")
    parts = simulation().run(until=0.4, every=0.1, out=tmp_path / "run.zarr", restart=True)
    assert np.array_equal(whole.time, parts.time) and np.array_equal(whole.p, parts.p)


@pytest.mark.parametrize("order", [1, 2])
def test_observed_order(cupy, order):
    """A wave around a periodic box, exact after one period: order 2N + 1."""
    errors = []
    for cells in (4, 8):
        sim = dg.Simulation(dg.Grid((0, 0), (1, 1), (cells, cells), True), dg.Acoustics(2), dg.Hermite(order), backend="cupy",
                            initial=lambda x: (np.sin(2 * np.pi * x[0]), np.sin(2 * np.pi * x[0]), 0.0),
                            exact=lambda x, t: (np.sin(2 * np.pi * (x[0] - t)), np.sin(2 * np.pi * (x[0] - t)), 0.0))
        sim.run(until=0.5)
        errors.append(sim.report["l2_error"]["total"])
    assert np.log2(errors[0] / errors[1]) > 2 * order + 0.6, errors


@pytest.mark.parametrize("room", [hermite.ROOM, 1])
def test_coefficients_that_vary_are_array_expressions_on_the_device(cupy, monkeypatch, room):
    """All rows at once, and one after the other."""
    monkeypatch.setattr(hermite, "ROOM", room)
    law = dg.Acoustics(2, sound_speed=lambda x: 1 + 0.3 * np.sin(2 * np.pi * x[0]))
    found, expected = (simulation(backend, dg.Hermite(1), law, kernels=kernels).run(until=0.3).p.values
                       for backend, kernels in (("cupy", None), ("numpy", "array")))
    assert np.abs(found - expected).max() <= 1e-13


def test_a_state_on_its_way_to_the_host(device):
    operations = cuda(device, tables_of("acoustics 2D", 1))
    q = state_of(operations.tables)
    state = operations.state(q)
    arriving = operations.fetch(state[:, :1])
    state[...] = operations.zeros()
    while not arriving.ready():
        pass
    assert np.array_equal(arriving.result(), q[:, :1])


# what fits


@pytest.mark.parametrize("itemsize", [4, 8])
@pytest.mark.parametrize("dim, variables", [(1, 2), (2, 3), (3, 1), (3, 4), (3, 6)])
def test_the_default_fits_wherever_something_does(dim, variables, itemsize):
    for order in range(7):
        shape = HermiteShape(dim, order, variables, itemsize, collapsible=variables == 1)
        for limit in (232448, 101376, 49152):
            found = default(shape, limit)
            polynomials = variables * (2 * order + 2) ** dim * itemsize
            if found is None:
                assert polynomials > 0.9 * limit          # less than a thread's coefficients and their padding
                continue
            assert shape.fits(found, limit)
            assert found.kernel == ("collapsed" if variables == 1 else "monolithic") or polynomials > 0.6 * limit
            for kernel in KERNELS[found.kernel]:
                assert shape.threads(found, kernel) <= 1024


def test_what_does_not_fit_falls_back_and_says_so(device, monkeypatch):
    """Less and less shared memory: monolithic, then two kernels, then the array text."""
    tables = tables_of("maxwell 3D", 2, variant="monolithic")
    need = {kernel: max(HermiteShape.of(tables, np.dtype(float)).shared_bytes(HermiteVariant(kernel, 1, keep="registers"), each)
                        for each in KERNELS[kernel]) for kernel in ("monolithic", "two-kernel")}
    assert need["monolithic"] == need["two-kernel"]       # the face that is kept goes to registers first
    monkeypatch.setattr(device, "shared_per_block", need["monolithic"] - 8)
    with pytest.warns(UserWarning, match="monolithic of order 2 with 6 variables needs more than .*; array expressions"):
        operations = HermiteCuda(CudaBackend("float64", device), tables)
    check_halves(operations, tables)
    with pytest.raises(ValueError, match="kernel=monolithic, lanes=4.* does not fit"):
        HermiteCuda(CudaBackend("float64", device), tables, HermiteVariant("monolithic", 4))


@pytest.mark.parametrize("wrong, message", [
    ({"kernel": "three-kernel"}, "kernel 'three-kernel' does not exist"), ({"lanes": 0}, "lanes=0 is not allowed"),
    ({"depth": True}, "depth=True is not allowed"), ({"keep": "global"}, "keep 'global' does not exist"),
    ({"depht": 3}, "choice 'depht' does not exist")])
def test_wrong_variants_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        from_dict(wrong)


# what the compilers say


PROBLEMS = [("advection 3D", "collapsed"), ("acoustics 3D", "monolithic"), ("maxwell 3D", "two-kernel"),
            ("maxwell 3D", "monolithic"), ("maxwell TE", "monolithic"), ("acoustics 1D", "two-kernel")]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("order", range(7))
def test_every_order_compiles(order, dtype):
    """Registers enough for a block, next to no spills in all but the largest, no float64 in float32; problems in turns."""
    for number, (system, kernel) in list(enumerate(PROBLEMS))[(order + (dtype == "float32")) % 2::2]:
        arch = ARCHITECTURES[(number + order) // 2 % 2]
        tables = tables_of(system, order)
        shape = HermiteShape.of(tables, np.dtype(dtype))
        variant = sized(shape, kernel, SHARED[arch])
        if variant is None:
            continue
        for name in KERNELS[kernel]:
            found = compiled(source(name, shape, variant, tables, dtype, number > 3), dtype, arch)
            assert dtype == "float64" or not float64_instructions(found.ptx)
            assert set(found.kernels) == {name}
            usage = found.kernels[name]
            assert usage.registers * shape.threads(variant, name) <= 65536
            # Beyond that a thread's numbers alone are more than the 255 registers of 4 bytes that it has.
            if shape.own_bytes(variant, name) <= 600:
                assert max(usage.spill_stores, usage.spill_loads) <= SPILLS, (system, name, usage)
