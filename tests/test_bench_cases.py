"""`dgarray bench --backend cupy` of every case, on a device whose kernels do nothing; the counts of tensor-product kernels."""
from types import SimpleNamespace

import numpy as np
import pytest
from emulated import IdleDevice
from nodal_problems import of_element

from dgarray import Acoustics, TensorDG, backends, box, cases, rectangle, rusanov, wall
from dgarray.backends.cuda import CudaBackend, ceilings
from dgarray.bench import cpu, gpu, problem
from dgarray.bench.device_problem import DeviceProblem
from dgarray.bench.roofline import cost
from dgarray.cli import run_commands

SEVERAL_SETS = {"ball_cavity": "curved, straight", "disc_cavity": "curved, straight", "hex_zones": "around, core",
                "aircraft": "pml, pml edges, straight", "hex_pml": "pml, pml edges, straight",
                "slab_spectrum": "pml, slab, straight", "bend": "pml, straight", "room": "pml, straight",
                "dipole": "pml, pml edges, straight", "beam_lens": "pml, pml edges, straight",
                "mie_sphere": "pml, straight", "scattering_cylinder": "pml, straight"}
SMALLER = {"hermite_advection": dict(cells=8), "hermite_lens": dict(cells=8), "hermite_acoustics": dict(cells=8)}


@pytest.mark.parametrize("name", [name for name in cases.__all__ if name not in SEVERAL_SETS])
def test_every_case_is_measured(name, monkeypatch):
    """A row for the device's kernels, one for the array kernels, and all their operations with costs and times."""
    monkeypatch.setenv("DGARRAY_TUNE", "0")
    if name in SMALLER:
        case = getattr(cases, name)
        monkeypatch.setattr(cases, name, lambda: case(**SMALLER[name]))
    found = gpu.bench([name], quick=True, dtypes=("float32",), device=IdleDevice())
    assert not found["failed"]
    kinds = [row["kernels"] for row in found["rows"]]
    assert kinds in (["fused", "array"], ["array"])                    # what has no kernels is not measured twice
    for row in found["rows"]:
        assert row["best"] > 0 and row["bound"] > 0 and row["operations"]
        assert all(o["seconds"] > 0 and o["flops"] + o["bytes"] > 0 for o in row["operations"])


@pytest.mark.parametrize("name, unit", [("hex_cavity", "element and stage"), ("orszag_tang", "cell and step"),
                                        ("hermite_cavity", "node and half-step"), ("taylor_green", "element and stage")])
def test_line_of_a_run(name, unit, monkeypatch):
    """The line that a run prints, whatever the kernels' variants are."""
    monkeypatch.setattr(ceilings, "ceilings", lambda device, dtype: {"bandwidth": 4e12, "multiply_add": 60e12})
    simulation, backend = problem.of_case(name, backend="numpy", kernels="array"), CudaBackend("float32", IdleDevice())
    operator = simulation.operator.on(backend)
    kernels = operator.kernels
    report = {"backend": "cupy", "kernels": kernels, "dtype": "float32", "elements": operator.tables.elements,
              "dofs": operator.tables.elements, "dof_updates_per_s": 1.0}
    run = SimpleNamespace(operator=operator, backend=backend, report=report, stepper=simulation.stepper)
    assert f" per {unit}; bound by " in run_commands.roofline(run)


@pytest.mark.thorough
@pytest.mark.parametrize("name", SEVERAL_SETS)
def test_several_sets_are_one_row(name, monkeypatch):
    """On the CPU, with the costs of all sets; on a device they are refused."""
    monkeypatch.setattr(cpu, "ceilings", lambda *_: {"bandwidth": 50e9, "multiply_add": 100e9})
    found, operator = cpu.bench([name], quick=True), getattr(cases, name)().operator
    [row] = found["rows"]
    assert not found["failed"] and row["elements"] == operator.mesh.cell_count and row["dofs"] == operator.dofs
    [stage] = row["operations"]
    assert stage["flops"] > 0 and stage["bytes"] > 0 and stage["seconds"] > 0
    if name == "hex_zones":          # all by fused kernels
        total = sum(cost(each.tables)[0].flops * each.tables.elements for each in operator.operators.values())
        every, = cost(operator.tables, program=operator.program)          # with joins
        assert stage["flops"] == pytest.approx(every.flops, rel=1e-4) and stage["flops"] * row["elements"] > total
    found = gpu.bench([name], quick=True, dtypes=("float32",), device=IdleDevice())
    assert f"case '{name}' has several sets of elements ({SEVERAL_SETS[name]})" in found["failed"][0]["error"]


def straight(order, backend):
    mesh = rectangle(cells=(4, 4), periodic=True, shape="quadrilateral")
    return TensorDG(order).discretise(mesh, Acoustics(2), None, backend, rusanov)


def warped(order, backend):
    """With walls, and a density of each element."""
    mesh = box(cells=(2, 2, 3), shape="hexahedron").mapped(lambda x: (x[0] + 0.1 * x[1] * x[2], x[1], x[2]))
    return TensorDG(order).discretise(mesh, Acoustics(3, density=of_element(lambda x: 1 + x[0])), wall, backend, rusanov)


def test_cost_of_tensor_products_counted_by_hand():
    """2D acoustics of order 2 on squares: 3 x 3 nodes, 4 sides of 3 points, no boundary, metrics of an element."""
    t = straight(2, backends.get("numpy", "array")).tables
    assert t.geometry.affine
    f, V, d, n, N, points = t.physics.functions, 3, 2, 3, 9, 12
    trace, stage = cost(t, "fused", "float64", backend="cupy")
    state, at_faces = 8 * V * N, 8 * V * points
    ends, along = np.count_nonzero(t.basis.cell.ends), np.count_nonzero(t.basis.cell.weak)
    assert (trace.name, trace.flops, trace.bytes) == ("trace", V * d * 2 * n * ends, state + at_faces)
    volume = f.volume.graph.flops * N + d * V * 2 * n * along          # fluxes at the nodes, and products along their lines
    lift, update = d * V * 2 * n * np.count_nonzero(t.basis.cell.lift), V * N * (5 * 5 - 2) / 5
    sums = (2 * d - 1) * V * N                                         # of both axes, of the volume and the faces
    assert stage.name == "stage"
    assert stage.flops == pytest.approx(volume + f.pair.graph.flops * points / 2 + lift + sums + update)
    metrics = d * d + 2 * (d + 2)                                      # gradients; normal and both scales of each face
    assert stage.bytes == pytest.approx(3.6 * state + at_faces + 8 * metrics + 4 * points)


@pytest.mark.parametrize("make, affine", [(straight, True), (warped, False)])
def test_counted_bytes_are_those_of_the_arrays(make, affine):
    """The stage kernel writes the register in the last stage too, and has normals and scales from both sides of a face."""
    backend = CudaBackend("float32", IdleDevice())
    operator = make(3, backend)
    t, found = operator.tables, operator.operations
    assert t.geometry.affine == affine
    trace, stage = cost(t, "fused", "float32", backend="cupy")
    room = t.elements / found.layout.width                             # rows are filled up to whole cache lines
    state, values = (array.nbytes / t.elements * room for array in (found.zeros(), found.at_all_faces))
    assert trace.bytes == pytest.approx(state + values)
    tables = (found.geometry.nbytes + found.exterior.nbytes) / t.elements * room
    assert 0.9 < stage.bytes / (3.8 * state + values + tables) <= 1


def test_counted_bytes_of_a_cpu_are_those_of_the_arrays():
    """Several pieces: the state, the register, values at their borders, lists; the first of five stages reads tiles again."""
    mesh = box(cells=(8, 8, 4), periodic=True, shape="hexahedron")
    operator = TensorDG(3).discretise(mesh, Acoustics(3), None, backends.get("numpy", "fused", "float64", 1), rusanov)
    t, found = operator.tables, operator.operations
    stage, = cost(t, "fused", "float64")
    again = len(np.unique(found.borders.rows[:, 0] // found.lanes)) / found.tiles
    at_borders = len(found.borders.rows) * t.variables * t.basis.face_nodes.shape[1] * 8
    lists = found.exterior.nbytes + sum(each.nbytes for each in found.borders.moves)
    state, metrics = found.zeros().nbytes, 8 * t.elements * (9 + 3 * 5)       # normal and both scales of each face
    assert again > 0 and metrics < found.geometry.nbytes
    assert stage.bytes * t.elements == pytest.approx((3.6 + again / 5) * state + 2 * at_borders + lists + metrics, rel=1e-5)


@pytest.mark.parametrize("make", [straight, warped])
def test_products_along_lines_are_counted_as_on_a_cpu(make):
    """Not the dense matrices of an element, whoever computes them."""
    t = make(4, backends.get("numpy", "array")).tables
    device, host = (sum(o.flops for o in cost(t, "fused", backend=name)) for name in ("cupy", "numpy"))
    assert device == pytest.approx(host)
    arrays = {o.name: o.flops for o in cost(t, "array", backend="cupy")}
    assert arrays == {o.name: o.flops for o in cost(t, "array")} and sum(arrays.values()) == pytest.approx(host)


def test_parts_of_tensor_products_are_timed():
    backend = CudaBackend("float32", IdleDevice())
    found = DeviceProblem(warped(2, backend), backend.device)
    names = [o.name for o in found.counts()]
    assert names == list(found.parts(0)) == ["trace", "stage"]
    assert list(found.seconds(names, 1.0, True)[1]) == names
