"""The GPU's kernels of DG by quadrature: against the reference as Python or on a GPU, whole runs, their PTX."""
import json
import re

import numpy as np
import pytest
from burgers import Burgers
from compiled import ARCHITECTURES, float64_instructions, kept, without_simulator
from modal_problems import agree, gas, operators, stage
from nodal_problems import SYSTEMS, box_of

import dgarray as dg
from dgarray import backends, cases, stepping
from dgarray.backends.cuda import CudaBackend, ceilings
from dgarray.backends.cuda.dg.limiter_source import LimiterSource
from dgarray.backends.cuda.dg.modal import ModalCuda
from dgarray.backends.cuda.dg.modal_source import ModalSource, kernel
from dgarray.backends.gpu import numba_cuda
from dgarray.bench.roofline import cost
from dgarray.cli import main
from dgarray.methods.dg.limiters.limiter import Limiter
from dgarray.methods.dg.set_operations import SetOperations

BARTH, VERTEX, POSITIVE = {"limiter": "barth-jespersen"}, {"limiter": "vertex"}, {"positivity": True}
WIDE, SENSED = {"limiter": "barth-jespersen-vertices"}, {"indicator": "kxrcf"}
PRIMITIVE, WAVES = {"limiter_variables": "primitive"}, {"limiter_variables": "characteristic"}
LIMITED = [(1, 1, BARTH), (2, 1, BARTH), (3, 1, BARTH | POSITIVE), (1, 3, POSITIVE), (2, 2, POSITIVE), (2, 1, BARTH | POSITIVE),
           (2, 1, BARTH | PRIMITIVE), (3, 1, BARTH | WAVES), (2, 2, VERTEX | SENSED), (3, 1, VERTEX | POSITIVE),
           (2, 1, BARTH | PRIMITIVE | SENSED | POSITIVE), (2, 1, VERTEX | PRIMITIVE), (2, 1, VERTEX | WAVES | SENSED),
           (2, 1, WIDE), (1, 1, WIDE | WAVES), (2, 3, VERTEX), (3, 2, VERTEX)]


def small(dim, order):
    """A mesh that Python gets through in seconds."""
    return dg.box(cells=(1, 1, 1), perturb=0.1) if dim == 3 and order > 2 else box_of(dim)


def on(device, reference, dtype):
    """The same problem on the device."""
    tables = reference.tables
    physics, backend = tables.physics, CudaBackend(dtype, device)
    return reference.method.discretise(tables.mesh, tables.law, tables.boundary, backend, physics.flux, physics.source)


@pytest.mark.parametrize("order", range(7))
@pytest.mark.parametrize("system", SYSTEMS)
def test_stage_agrees_with_the_reference(device, system, order):
    """Every law and order, the dtypes taking turns: update, register and the largest rate."""
    dtype = ("float64", "float32")[(order + list(SYSTEMS).index(system)) % 2]
    reference = next(operators(system, order, dtype, small(SYSTEMS[system]()[0].dim, order)))
    fused, results = on(device, reference, dtype), []
    assert isinstance(fused.operations, ModalCuda) and fused.kernels == "fused"
    for operator in (reference, fused):
        q, k = (np.random.default_rng(seed).standard_normal(operator.shape) for seed in (0, 1))
        rate = operator.operations.rate(operator.state(q), 0.3, 1.7)
        results.append((*stage(operator, q, k), np.array(rate)))
    for expected, found in zip(*results):
        agree(found, expected, order, dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("dim, order, flux", [
    (1, 3, dg.hllc), (2, 1, dg.rusanov), (2, 2, dg.roe), (2, 4, dg.hll), (3, 2, dg.hllc)])
def test_gas(device, dim, order, flux, dtype):
    """Rates, tendencies and what is admissible; a value that is not is found at any element, a NaN makes the rate one."""
    reference, q = next(gas(dim, order, dtype, flux, small(dim, 3)))
    fused, other = on(device, reference, dtype), 1 + reference.shape[2] // 2
    for name, t in (("rhs", 0.2), ("rate", 0.0)):
        found, expected = (o.operations.rhs(o.state(q), t) if name == "rhs" else np.array(o.operations.rate(o.state(q), t, 1.0))
                           for o in (fused, reference))
        agree(fused.host(found) if name == "rhs" else found, expected, order, dtype, 100)
    assert fused.check(fused.state(q), 0.0).sound
    q[0, 0, other] *= -1
    assert fused.operations.finite(fused.state(q)) and not fused.check(fused.state(q), 0.0).sound
    assert np.array_equal(np.unique(fused.not_admissible(q, 0.0)[:, 0]), [other])
    q[0, 0, other] = np.nan
    assert not fused.check(fused.state(q), 0.0).sound and np.isnan(fused.operations.rate(fused.state(q), 0.0, 1.0))


class Picky(Burgers):
    """A law whose wave speed is no number where u > 2."""

    def wave_speed(self, q, n):
        return np.where(q[0] > 2, np.nan, 1.0) * np.abs(q[0] * sum(n))


def test_rates_that_are_no_numbers_at_one_point_of_a_face(device):
    reference = dg.ModalDG(2).discretise(box_of(2), Picky(2), dg.outflow, backends.get("numpy", "array"), dg.rusanov)
    uniform = reference.project(lambda x: (1.0,))
    on_cpu = dg.ModalDG(2).discretise(box_of(2), Picky(2), dg.outflow, backends.get("numpy", "fused"), dg.rusanov)
    for values in (np.ones(6), *(1 + 2 * np.eye(6))):          # by its nodes: 3 at one of them
        q = uniform.copy()
        q[0, :, 30] = np.linalg.solve(reference.tables.basis.reference.nodal, values)
        expected = reference.operations.rate(q, 0.0, 1.0)
        assert np.isnan(expected) == (values.max() > 2)
        for fused in (on(device, reference, "float64"), on_cpu):
            assert fused.operations.rate(fused.state(q), 0.0, 1.0) == pytest.approx(expected, rel=1e-14, nan_ok=True)


def test_admissible_at_the_faces(device):
    """A density that is negative nowhere but at a point of a face."""
    law = dg.Euler(2)
    reference = dg.ModalDG(1).discretise(box_of(2), law, dg.wall, backends.get("numpy", "array"))
    q, tables = reference.project(lambda x: law.conservative((1.0, 0.0, 0.0, 1.0))), reference.tables
    inside, outside = (-(matrix[:, 1] / matrix[0, 0]).min() for matrix in (tables.basis.interpolate, tables.basis.trace))
    q[0, 1, 30] = q[0, 0, 30] / (inside * outside) ** 0.5
    assert (tables.basis.interpolate @ q[0]).min() > 0 > (tables.basis.trace @ q[0]).min()
    fused = on(device, reference, "float64")
    assert not fused.operations.all_admissible(fused.state(q), 0.0)


def rough(law, shape, unit, seed=0):
    """Coefficients of admissible averages with large slopes."""
    random = np.random.default_rng(seed)
    c = 0.5 * random.standard_normal(shape)
    c[:, 0] = np.array(law.conservative(random.uniform(0.5, 2.0, (shape[0], shape[2])))) / unit
    return c


@pytest.mark.parametrize("dim, order, options", LIMITED)
def test_limiters(device, dim, order, options):
    """Against the reference's arrays; averages stay to the bit."""
    dtype = ("float64", "float32")[(dim + order) % 2]
    law, mesh = dg.Euler(dim), box_of(dim)
    reference = dg.ModalDG(order, **options).discretise(mesh, law, dg.outflow, backends.get("numpy", "array", dtype))
    c = rough(law, reference.shape, reference.tables.limits.unit).astype(dtype)
    results = []
    for operator in (reference, on(device, reference, dtype)):
        state = operator.state(c)
        operator.operations.limit(state)
        results.append(operator.host(state))
    expected, found = results
    assert not np.array_equal(found[:, 1:], c[:, 1:]) and np.array_equal(found[:, 0], c[:, 0])
    agree(found, expected, order, dtype, 200)


@pytest.mark.parametrize("options, stepper", [
    (BARTH | POSITIVE, stepping.RK4), (VERTEX, stepping.SSP22), ({}, stepping.LSRK54), ({}, stepping.SSP54)])
def test_steps_as_graphs_are_the_steps(device, options, stepper):
    """Whole steps, captured, are bitwise the stages one by one, and the reference's to rounding."""
    law = dg.Euler(2)
    reference = dg.ModalDG(1, **options).discretise(dg.rectangle(cells=(3, 2), periodic=True), law, None,
                                                    backends.get("numpy", "array"), dg.hllc)
    fused = on(device, reference, "float64")
    assert fused.operations.captures
    q = reference.project(lambda x: law.conservative((1 + 0.3 * np.sin(7 * x[0]), 0.2, 0.1, 1.0)))
    results = []
    for operator, whole in ((fused, True), (fused, False), (reference, False)):
        states = [operator.state(q), *(operator.zeros() for _ in range(stepping.registers(stepper)[0] - 1))]
        k = operator.zeros()
        for t, dt in ((0.0, 0.01), (0.01, 0.01), (0.02, 0.005), (0.025, 0.01)):
            if whole:
                states = operator.operations.step(stepper, states, k, t, dt)[0]
            else:
                *_, last = stepping.stages(operator.operations, stepper, states, k, t, dt)
                states = [last] + [s for s in states if s is not last]
        results.append(operator.host(states[0]))
    assert np.array_equal(results[0], results[1])
    agree(results[0], results[2], 10, "float64")


@pytest.mark.parametrize("method", [dg.NodalDG(2, quadrature=6, filter=dg.ExponentialFilter(order=4)), dg.ModalDG(2)])
def test_spline_walls_and_nodal_unknowns(device, method):
    """Numbers that a condition has of its own for each face; DG by quadrature between values at nodes, filtered."""
    law, flat = dg.Euler(2), dg.rectangle(cells=(6, 2))
    angle, radius = flat.points[:, 0], 1 + flat.points[:, 1] ** 2
    ring = dg.mesh.from_arrays(np.stack([radius * np.sin(angle), radius * np.cos(angle)], axis=1), flat.cells)
    reference = method.discretise(ring, law, dg.curved_wall("spline"), backends.get("numpy", "array"), dg.hllc)
    fused = on(device, reference, "float64")
    q = reference.project(lambda x: law.conservative((1 + 0.2 * np.sin(3 * x[0]), 0.3 * x[1], 0.1, 1.0)))
    agree(fused.host(fused.rhs(fused.state(q), 0.1)), reference.rhs(q, 0.1), 2, "float64", 100)
    state, found = fused.state(q), fused.operations.change(fused.state(q), fused.state(0.9 * q))
    assert found == pytest.approx(reference.operations.change(q, 0.9 * q), rel=1e-14)
    if isinstance(method, dg.NodalDG):
        fused.operations.filter(state)
        expected = q.copy()
        reference.operations.filter(expected)
        agree(fused.host(state), expected, 2, "float64")


def test_a_run_is_the_cpu_s(cupy, tmp_path):
    """An isentropic vortex with limiters: steps, snapshots, what is conserved; a restart is bitwise."""
    def simulation(backend, **options):
        law = dg.Euler(2)

        def around(x):
            return law.conservative((1 + 0.4 * np.sin(2 * np.pi * x[0]), 0.5, 0.0, 1.0))
        mesh, method = dg.rectangle(cells=(4, 3), periodic=True), dg.ModalDG(1, **BARTH, **POSITIVE)
        return dg.Simulation(mesh, law, method, initial=around, flux=dg.hllc, stepper="ssp22", backend=backend, **options)
    results, reports = [], []
    for backend in ("cupy", "numpy"):
        sim = simulation(backend, kernels="fused" if backend == "cupy" else "array")
        results.append(sim.run(until=0.2, every=0.1, out=tmp_path / f"{backend}.zarr"))
        reports.append(sim.report)
    assert np.abs(results[0].rho.values - results[1].rho.values).max() <= 1e-12
    assert reports[0]["steps"] == reports[1]["steps"] > 5 and reports[0]["kernels"] == "fused"
    assert all(r["final"] == pytest.approx(r["initial"], abs=1e-13) for r in reports[0]["conserved"].values())
    simulation("cupy").run(until=0.1, every=0.1, out=tmp_path / "part.zarr")
    again = simulation("cupy").run(until=0.2, every=0.1, out=tmp_path / "part.zarr", restart=True)
    assert np.array_equal(again.rho, results[0].rho)


def test_a_failure_is_named_as_on_the_cpu(cupy):
    law, errors = dg.Euler(1), []

    def source(q, x, t):
        return 0.0 * q[0], 0.0 * q[0], np.where((t > 0.02) & (x[0] > 0.7), np.nan, 0.0)
    for backend in ("cupy", "numpy"):
        sim = dg.Simulation(dg.interval(0, 1, 9, periodic=True), law, dg.ModalDG(2), flux=dg.hll, source=source, dt=0.004,
                            initial=lambda x: law.conservative((1.0 + 0 * x[0], 0.1, 1.0)), stepper="ssp33", backend=backend,
                            kernels="fused" if backend == "cupy" else "array")
        with pytest.raises(dg.SolutionError) as info:
            sim.run(until=0.2)
        errors.append(info.value)
    found, expected = errors
    assert (found.time, found.step, found.stage, found.variable, found.element) == (
        expected.time, expected.step, expected.stage, expected.variable, expected.element)


def test_command_line(cupy, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(ceilings, "ceilings", lambda device, dtype: {"bandwidth": 1e12, "multiply_add": 1e13})
    path, given = tmp_path / "report.json", {"cells": 3, "method": "modal", "order": 1}
    options = [option for name, value in given.items() for option in ("--set", f"{name}={value}")]
    assert main(["run", "isentropic_vortex", *options, "--until", "0.1", "--json", str(path), "--backend", "cupy"]) == 0
    printed = capsys.readouterr().out
    assert "GPU memory:" in printed and "roofline:" in printed
    found, cpu = json.loads(path.read_text()), cases.isentropic_vortex(**given).replace(backend="numpy", kernels="array")
    cpu.run(until=0.1)
    assert found["kernels"] == "fused" and found["steps"] == cpu.report["steps"]
    assert found["l2_error"]["total"] == pytest.approx(cpu.report["l2_error"]["total"], rel=1e-12)


def test_no_mesh_has_texts_of_its_own(device):
    """Kernels depend on law, order and dtype, so what is compiled once serves every mesh."""
    texts = []
    for cells in ((3, 2), (5, 4)):
        tables = dg.ModalDG(2).discretise(dg.rectangle(cells=cells, perturb=0.1), dg.Euler(2), dg.wall,
                                          backends.get("numpy", "array")).tables
        operations = CudaBackend("float64", device).operations(SetOperations, tables)
        texts.append([operations.text(name) for name in ("trace", "stage", "rate", "admissible")]
                     + [part.source.text(False) for part in operations.faces.parts])
    assert texts[0] == texts[1] and len(texts[0]) == 6


def test_counted_bytes_are_those_of_the_arrays(device):
    """Operations by the names of the launches; bytes on a mesh without room beyond the last element."""
    tables = dg.ModalDG(2).discretise(dg.rectangle(cells=(4, 4), periodic=True), dg.Euler(2), None,
                                      backends.get("numpy", "array"), dg.rusanov).tables
    found = CudaBackend("float32", device).operations(SetOperations, tables)
    counted = {o.name: o.bytes for o in cost(tables, "fused", "float32", stepping.SSP22, "cupy")}
    q, out = found.zeros(), found.zeros()
    assert tables.elements == 32 and list(found.parts(q, out, None, q, 0.0, 0.1, stepping.SSP22.stages[0])) == list(counted)
    state, flux, (part,) = q.nbytes / 32, found.flux.nbytes / 32, found.faces.parts
    numbers, starts, _ = part.arrays
    assert counted["trace"] == pytest.approx(state + flux)
    # Of a face a normal, two scales, and places on both sides of three points; the kernel has a number of a pattern in place of
    # these.
    assert counted["face_flux"] == pytest.approx(2 * flux + 1.5 * 4 * (4 + 2 * 3))
    assert 1 <= counted["face_flux"] / (2 * flux + (numbers.nbytes + starts.nbytes) / 32) < 1.1
    # SSP22 reads the state twice, q0 once more, and writes two states; of the geometry the gradients.
    assert counted["stage"] == pytest.approx(state * (2 + 1 + 2) / 2 + 4 * 4 + flux)


@pytest.mark.thorough
def test_ptx_without_a_gpu():
    """Kernels compile and assemble for real architectures, in a process of its own, without the simulator."""
    kernels = set(without_simulator("test_cuda_modal").split())
    assert kernels == {"trace", "stage", "rate", "admissible", "keep", "extremes", "limit", "clock"}


def check_ptx():
    """AssertionError for local memory, more registers than blocks may have, or float64 in a float32 kernel.

    Laws, dtypes and architectures take turns: every kernel of a gas but the stage in float32, stages of both dtypes."""
    problems = ((dg.Euler(2), 1, "float32", BARTH | POSITIVE, ("trace", "rate", "admissible", "limit", "clock")),
                (dg.Euler(2), 1, "float32", VERTEX | PRIMITIVE | SENSED, ("keep", "extremes", "limit")),
                (SYSTEMS["maxwell3"]()[0], 1, "float32", {}, ("stage",)), (dg.Euler(3), 2, "float64", {}, ("stage", "rate")))
    names = []
    for law, order, dtype, options, wanted in problems:
        def source(q, x, t):
            return tuple(np.tanh(x[0] + t) + 0.0 * c for c in q)
        boundary, backend = dg.outflow if isinstance(law, dg.Euler) else dg.absorbing, backends.get("numpy", "array", dtype)
        tables = dg.ModalDG(order, **options).discretise(box_of(law.dim), law, boundary, backend, source=source).tables
        for name in wanted:
            check_kernel(tables, name, dtype, ARCHITECTURES[len(names) % 2])
            names.append(name)
    print(*names)


def check_kernel(tables, name, dtype, architecture):
    from cuda.bindings import nvjitlink
    from numba import types
    source, real = ModalSource(tables, np.dtype(dtype), tables.needs_x), getattr(types, dtype)
    array, places, end = types.Array(real, 1, "C"), types.Array(types.int32, 1, "C"), (types.int32, types.int64)
    arguments = {"trace": [array] * 3, "stage": [array] * 10 + [types.int32] + [real] * 8, "rate": [array] * 6 + [real] * 2,
                 "admissible": [array] * 5 + [real], "clock": [array] + [real] * 9}
    if name in arguments:
        text, arguments = getattr(source, name)(*(8,) * (name == "clock")), arguments[name]
    else:
        text, names = LimiterSource(source, Limiter(tables.limits, tables.law, tables.physics.parameters, dtype)).texts[name]
        of_kinds = {"list": places, "around": types.int32}
        arguments = [array, *(of_kinds.get(given.partition("_")[0], array) for given in names), types.int64]
    signature = types.void(*arguments, *(end if name != "clock" else ()))
    capability = tuple(map(int, architecture.removeprefix("sm_")))
    ptx = kept("ptx", (text, name, dtype, str(signature), architecture),
               lambda: numba_cuda().compile_ptx(kernel(text, name, dtype).py_func, signature, cc=capability)[0])
    assert (dtype == "float64") == bool(float64_instructions(ptx)), (name, float64_instructions(ptx))
    handle = nvjitlink.create(2, [f"-arch={architecture}", "-verbose"])
    nvjitlink.add_data(handle, nvjitlink.InputType.PTX, ptx.encode(), len(ptx), name)
    nvjitlink.complete(handle)
    log = bytearray(nvjitlink.get_info_log_size(handle))
    nvjitlink.get_info_log(handle, log)
    registers, stack = re.search(r"used (\d+) registers.*, (\d+) stack", log.decode()).groups()
    threads = source.lanes * source.groups if name == "stage" else 128
    assert int(stack) == 0 and int(registers) * threads <= 65536, (name, registers, stack)
