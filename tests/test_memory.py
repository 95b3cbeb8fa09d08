"""The memory plan against what a run really allocates, and what the machine has free."""
import gc
import sys
import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import grid_problems
import numpy as np
import pytest
from dgarray.backends.arrays import ArrayBackend
from dgarray.backends.cuda import CudaBackend
from dgarray.backends.cuda.dg import tuning
from emulated import IdleDevice
from nodal_problems import of_element
from strict import StrictArray
from traced_memory import Loud, traced

import dgarray as dg
from dgarray import backends
from dgarray.methods.memory import EARLY, Plan, check, shown
from dgarray.run.time_loop import TimeLoop
from dgarray.system_memory import host_free

GIB = 1 << 30
pytestmark = pytest.mark.usefixtures("usual_garbage")


def layers(x):
    return 1.0 + np.where(x[0] > 0.5, 1.5, 0.0)


def swirl(x):
    return tuple(np.cos(c) + 0.1 * i for i, c in enumerate(x))


LAWS = {"loud": lambda dim: Loud(dim), "loud layers": lambda dim: Loud(dim, sound_speed=of_element(layers)),
        "loud media": lambda dim: Loud(dim, sound_speed=layers),
        "swirl": lambda dim: dg.Advection(swirl, dim=dim), "maxwell": lambda dim: dg.Maxwell(dim=dim)}


def simulation(dim, cells, law, order, **options):
    law = LAWS[law](dim)
    mesh = dg.rectangle(cells=(cells, cells), perturb=0.1) if dim == 2 else dg.box(cells=(cells,) * 3, perturb=0.1)

    def initial(x):
        return tuple(np.sin(x[0]) * (i + 1) for i in range(len(law.variables)))
    return dg.Simulation(mesh, law, dg.NodalDG(order), boundary=dg.absorbing, initial=initial, dt=5e-4,
                         **({"backend": "numpy", "threads": 1} | options))


@pytest.mark.usually(0, 2)
@pytest.mark.filterwarnings("ignore:dt=")
@pytest.mark.parametrize("dim, cells, law, order, kernels, dtype, stepper", [
    (2, 60, "loud", 4, "fused", "float64", "lsrk54"),
    (2, 60, "loud media", 4, "fused", "float32", "rk4"),
    (2, 60, "loud media", 4, "array", "float64", "ssp33"),
    (2, 40, "loud", 6, "array", "float32", "lsrk54"),
    (3, 9, "loud", 3, "fused", "float64", "lsrk54"),
    (2, 32, "swirl", 2, "fused", "float64", "lsrk54"),         # the time step is searched for on the whole mesh
    (3, 6, "maxwell", 5, "array", "float32", "lsrk54"),        # on a part of the mesh
])
def test_plan_is_what_a_run_takes(dim, cells, law, order, kernels, dtype, stepper):
    sim = simulation(dim, cells, law, order, kernels=kernels, dtype=dtype, stepper=stepper)
    small = simulation(dim, 3, law, order, kernels=kernels, dtype=dtype, stepper=stepper)
    small.run(until=1e-3, every=5e-4)                    # compiles, which takes memory of its own
    plan = sim.memory(1e-3, 5e-4)
    peak, _ = traced(lambda: sim.run(until=1e-3, every=5e-4))
    assert 0.9 < plan.peak_host / peak < 1.15, f"plan {shown(plan.peak_host)}, run {shown(peak)}: {plan}"
    assert plan.device == {} and plan.peak_device == 0


def gas(x):
    return 1 + 0.2 * np.sin(2 * np.pi * x[0]), *(0.1 for _ in x), 1.0


@pytest.mark.usually(0)
@pytest.mark.filterwarnings("ignore:dt=")
@pytest.mark.parametrize("cells, method, kernels", [
    ((60, 60), dg.TensorDG(4), "fused"), ((60, 60), dg.TensorDG(4), "array"), ((12, 12, 12), dg.TensorDG(3), "fused"),
    ((60, 60), dg.TensorDG(4, nodes="lobatto", volume_flux=dg.ranocha, shock_capturing=0.5), "fused"),
    ((10, 10, 10), dg.TensorDG({"left": 2, "right": 4}), "fused")])
def test_plan_of_tensor_products(cells, method, kernels):
    """Of a law whose first state is looked at: what that takes is given back."""
    def simulation(cells):
        generate, shape = (dg.rectangle, "quadrilateral") if len(cells) == 2 else (dg.box, "hexahedron")
        mesh = generate(cells=cells, shape=shape, periodic=True)
        mesh = mesh.with_regions({"left": lambda x: x[0] < 0.5, "right": lambda x: x[0] >= 0.5})
        return dg.Simulation(mesh, dg.Euler(dim=len(cells)), method, initial=gas, dt=1e-3, backend="numpy", threads=1,
                             kernels=kernels)
    simulation((3,) * len(cells)).run(until=2e-3, every=1e-3)          # compiles, which takes memory of its own
    sim = simulation(cells)
    plan = sim.memory(2e-3, 1e-3)
    peak, _ = traced(lambda: sim.run(until=2e-3, every=1e-3))
    assert 0.9 < plan.peak_host / peak < 1.15, f"plan {shown(plan.peak_host)}, run {shown(peak)}: {plan}"


@pytest.mark.usually(2, 3)
@pytest.mark.parametrize("dim, cells, law, order, kernels, dtype", [
    (3, 10, "maxwell", 3, "fused", "float32"), (3, 7, "swirl", 2, "fused", "float64"), (2, 100, "loud", 4, "fused", "float64"),
    (3, 10, "loud media", 1, "array", "float64"), (3, 10, "loud", 3, "array", "float32"),
    (3, 7, "swirl", 2, "array", "float64")])
def test_what_stays(dim, cells, law, order, kernels, dtype):
    """After the first step nothing is held but what the plan names; and the way there takes what it says."""
    sim = simulation(dim, cells, law, order, kernels=kernels, dtype=dtype)
    plan, kept, peak, _ = held(sim, sim.backend)
    stays = sum(plan.host.values())
    assert 0.95 < stays / kept < 1.05, f"{shown(kept)}, {plan.host}"
    begin = max(plan.transient[phase][0] for phase in EARLY)
    assert 0.95 < (stays + begin) / peak < 1.15, f"{shown(peak)}, {plan}"


def held(sim, backend):
    """The plan, what is held after the first step, the most that was held before, and the loop."""
    boundary = sim.options["boundary"]

    def first_step(sim):
        loop = TimeLoop(sim, sim.method.discretise(sim.mesh, sim.law, boundary, backend))
        loop.start_from_initial()
        gc.collect()
        return (tracemalloc.get_traced_memory()[0] if tracemalloc.is_tracing() else 0), loop
    first_step(sim.replace(mesh=dg.box(cells=(2, 2, 2)) if sim.law.dim == 3 else dg.rectangle(cells=(2, 2))))
    plan = sim.method.memory(sim.problem, backend, sim.stepper)
    peak, (kept, loop) = traced(lambda: first_step(sim))
    return plan, kept, peak, loop


class Device(ArrayBackend):
    """NumPy in the place of CuPy: one block holds everything, and what would lie on the GPU can be counted."""

    def __init__(self, dtype):
        super().__init__(np, dtype, "cupy")

    def free_memory(self):
        return 8 * GIB, 4 * GIB


@pytest.mark.usually(0, 1)
@pytest.mark.parametrize("law, order", [("loud layers", 3), ("loud media", 3), ("swirl", 1)])
def test_device(law, order):
    """Kept arrays of host and device together, and the temporaries of one stage, with arrays where there is no GPU."""
    sim, backend = simulation(3, 10, law, order, dtype="float32", kernels="array"), Device("float32")
    plan, kept, *_ = held(sim, backend)
    assert 0.95 < (sum(plan.host.values()) + sum(plan.device.values())) / kept < 1.05
    assert plan.device["state and registers"] == 4 * 4 * np.prod(sim.operator.shape)
    assert set(plan.host) <= {"metrics", "parameters", "connectivity"}
    operator = sim.method.discretise(sim.mesh, sim.law, dg.absorbing, backend)
    q, out, k = (operator.zeros() for _ in range(3))
    row = sim.stepper.stages[1]
    operator.stage(q, out, k, None, 0.0, 0.0, row)
    peak, _ = traced(lambda: operator.stage(q, out, k, None, 0.0, 0.0, row))
    face = sim.method.order == 1          # there the numerical flux decides, whose temporaries are estimated
    assert 0.95 < plan.transient["stages"][1] / peak < (1.15 if face else 1.05)
    assert "GPU memory: " in str(plan) and "4 GiB free" in str(plan)


def on_device():
    """Bytes of all arrays that lie on the emulated device."""
    gc.collect()
    arrays = [array.values for array in gc.get_objects() if isinstance(array, StrictArray)]
    owners = {id(owner): owner.nbytes for owner in (a if a.base is None else a.base for a in arrays)}
    return sum(owners.values())


@pytest.mark.parametrize("dim, cells, law, order, dtype, choices", [
    (3, 8, "loud layers", 3, "float32", {"faces": "once"}),
    (3, 8, "loud", 3, "float64", {"faces": "block"}),
    (3, 6, "swirl", 3, "float32", {}),
    (2, 40, "loud layers", 4, "float32", {"product": "cublas", "faces": "both", "width": 0}),
])
def test_fused_device(dim, cells, law, order, dtype, choices, tmp_path, monkeypatch):
    """What lies on the host and on the device, in the variant that the tuning table holds; and what is taken on the way."""
    monkeypatch.setenv("DGARRAY_CACHE", str(tmp_path))
    sim, backend = simulation(dim, cells, law, order, dtype=dtype), CudaBackend(dtype, IdleDevice())
    variant = replace(tuning.choose(backend, sim.operator.tables), **choices)
    tuning.keep(backend.device, sim.operator.tables, dtype, {"variant": vars(variant)})
    before = on_device()
    plan, kept, peak, loop = held(sim, backend)
    operator, state = loop.operator, loop.state
    assert operator.operations.variant == variant
    # The buffers of copies to the host are not there yet: one on the device and one that is pinned.
    way = plan.host["snapshot on its way"]
    assert way == plan.device["snapshot on its way"] == state.nbytes == plan.device["state and registers"] // 4
    device, stays = sum(plan.device.values()) - way, sum(plan.host.values()) + sum(plan.device.values()) - 2 * way
    assert 0.95 < device / (on_device() - before) < 1.05, plan.device
    assert 0.95 < stays / kept < 1.05, f"{shown(kept)}, {plan}"
    begin = max(sum(plan.transient[phase]) for phase in EARLY)
    assert 0.95 < (stays + begin) / peak < 1.15, f"{shown(peak)}, {plan}"
    def discretised():
        return sim.method.discretise(sim.mesh, sim.law, dg.absorbing, backend)
    discretised()                                                         # the first one of a process makes more
    peak, _ = traced(discretised)
    host = sum(plan.host.values()) + plan.transient["set-up"][0]          # the device's part is there too, or will be
    device -= plan.device["state and registers"]
    assert 0.95 * host < peak < 1.05 * (host + device) + 20_000, f"{shown(peak)}, {plan}"
    for function in (lambda: operator.check(state, 0.0).sound, lambda: operator.max_dt(state, 0.0, sim.stepper)):
        peak, _ = traced(function)
        assert peak < 1.05 * plan.transient["stages"][1] + 20_000
    peak, _ = traced(lambda: operator.fetch(state).result())
    assert 0.95 < plan.transient["snapshots"][0] / peak < 1.05          # without what is pinned, which is not emulated


@pytest.mark.parametrize("dim, cells, law, order, dtype, options", [
    (2, 40, "loud layers", 2, "float32", {}), (3, 6, "swirl", 2, "float64", {}),
    (2, 40, "gas", 1, "float64", {"limiter": "barth-jespersen"})])
def test_modal_device(dim, cells, law, order, dtype, options):
    """The same of modal DG, and what its first state takes where it must be admissible."""
    sim = simulation(dim, cells, "loud" if law == "gas" else law, order, dtype=dtype)
    sim = sim.replace(method=dg.ModalDG(order, **options))
    if law == "gas":
        gas = dg.Euler(dim)
        sim = sim.replace(law=gas, boundary=dg.outflow,
                          initial=lambda x: gas.conservative((1 + 0.2 * np.sin(x[0]), 0.1, 0.2, 1.0)))
    backend = CudaBackend(dtype, IdleDevice())
    before = on_device()
    plan, kept, peak, loop = held(sim, backend)
    operator, state = loop.operator, loop.state
    (_, other), k = operator.states(state)
    operator.stage(state, other, k, state, 0.0, 0.0, sim.stepper.stages[0])          # the limiter's lists
    way = plan.device["snapshot on its way"]
    assert way == state.nbytes == plan.device["state and registers"] // 4
    device, stays = sum(plan.device.values()) - way, sum(plan.host.values()) + sum(plan.device.values()) - 2 * way
    assert 0.95 < device / (on_device() - before) < 1.05, plan.device
    assert 0.95 < stays / kept < 1.05, f"{shown(kept)}, {plan}"
    begin = max(sum(plan.transient[phase]) for phase in EARLY)
    assert 0.95 < (stays + begin) / peak < 1.15, f"{shown(peak)}, {plan}"
    q = operator.project(sim.initial)
    for function, most in ((lambda: operator.check(state, 0.0).sound, plan.transient["stages"][1]),
                           (lambda: operator.max_dt(state, 0.0, sim.stepper), plan.transient["stages"][1]),
                           (lambda: operator.not_admissible(q, 0.0), sum(plan.transient["first step"]))):
        peak, _ = traced(function)
        assert peak < 1.05 * most + 20_000
    peak, _ = traced(lambda: operator.fetch(state).result())
    assert 0.95 < plan.transient["snapshots"][0] / peak < 1.05          # without what is pinned, which is not emulated


@pytest.mark.gpu
def test_gpu():
    """What CuPy's pool holds after the first step."""
    import cupy
    sim, pool = simulation(3, 16, "loud layers", 3, backend="cupy", dtype="float32"), cupy.get_default_memory_pool()
    plan, before = sim.memory(1e-3), pool.used_bytes()
    loop = TimeLoop(sim, sim.operator)
    loop.start_from_initial()
    loop.operator.fetch(loop.state).result()
    assert 0.9 < sum(plan.device.values()) / (pool.used_bytes() - before) < 1.1, plan.device


def test_plan_takes_nothing_itself():
    sim = simulation(2, 40, "loud", 8)
    simulation(2, 2, "loud", 8).memory(1.0)          # the reference cell is kept
    peak, plan = traced(lambda: sim.memory(1.0))
    assert peak < 0.05 * plan.peak_host


def test_registers_and_snapshots():
    sim = simulation(2, 16, "loud", 1)
    state = 3 * 3 * 512 * 8
    for stepper, states in (("lsrk54", 4), ("rk4", 5), ("ssp33", 4), ("ssp54", 5), ("rk2", 4)):
        assert sim.replace(stepper=stepper).memory(1.0, out="x").host["state and registers"] == states * state
    plan = sim.memory(1.0, out="x")
    assert "snapshots" not in plan.host
    assert sim.memory(1.0, 0.1).host["snapshots"] == 11 * state
    more, less = plan.keeping(1001), plan.keeping(1000)
    assert more.peak_host - less.peak_host == state + state // 3          # one more, and a third of it is copied at the end


def a_plan(host, device=0):
    return Plan({"state and registers": host, "metrics": host // 4}, {"state and registers": device} if device else {},
                {"initial state": (host // 2, 0), "stages": (0, device // 2)})


def test_shown():
    assert [shown(n) for n in (0, 999, 1500, 5 * 2 ** 20, 1.24 * GIB)] == ["0 B", "999 B", "1.46 KiB", "5 MiB", "1.24 GiB"]
    text = str(a_plan(GIB))
    assert text == "memory: 1.75 GiB (state and registers 1 GiB, temporary for the initial state 512 MiB, metrics 256 MiB)"


def machine(*free, dtype="float64"):
    return SimpleNamespace(free_memory=lambda: free, dtype=np.dtype(dtype))


def test_check():
    plan = a_plan(4 * GIB, 2 * GIB)
    check(plan, machine(7 * GIB, 3 * GIB))
    check(plan, machine(None, None))
    wanted = (r"needs 7 GiB of memory, but only 6 GiB are free; most goes to state and registers 4 GiB, "
              r"temporary for the initial state 2 GiB, .*fewer elements, a lower order or dtype='float32'")
    with pytest.raises(ValueError, match=wanted):
        check(plan, machine(6 * GIB, 3 * GIB))
    with pytest.raises(ValueError, match=r"needs 3 GiB of the GPU's memory, but only 2.5 GiB are free"):
        check(plan, machine(7 * GIB, int(2.5 * GIB)))
    with pytest.raises(ValueError) as error:
        check(plan, machine(GIB, None, dtype="float32"))
    assert "float32" not in str(error.value)
    with pytest.raises(ValueError, match="an output file for the snapshots"):
        check(Plan({"a": 1, "snapshots": GIB}, {}, {}), machine(GIB, None))


def test_run_is_refused_before_anything_is_built(monkeypatch):
    sim = simulation(2, 4, "loud", 2)
    monkeypatch.setattr(ArrayBackend, "free_memory", lambda self: (999, None))
    monkeypatch.setattr(dg.NodalDG, "discretise", lambda *a: pytest.fail("the operator was built"))
    with pytest.raises(ValueError, match="this run needs .* of memory, but only 999 B are free"):
        sim.run(until=1e-3)


def test_free_memory_of_this_machine():
    for kernels in ("fused", "array"):
        host, device = backends.get("numpy", kernels).free_memory()
        assert device is None and (host is None or 1e6 < host < 1e15)


def tree(root, rows):
    for name, text in rows.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


MEMINFO = {"proc/meminfo": "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:    8388608 kB\n"}
V2, V1 = "sys/fs/cgroup", "sys/fs/cgroup/memory"


@pytest.mark.parametrize("rows, free", [
    ({}, 8.0),
    ({"proc/self/cgroup": "0::/job\n", f"{V2}/job/memory.max": "max\n", f"{V2}/job/memory.current": "5\n"}, 8.0),
    ({"proc/self/cgroup": "0::/job\n", f"{V2}/job/memory.max": f"{4 * GIB}\n", f"{V2}/job/memory.current": f"{GIB}\n"}, 3.0),
    ({"proc/self/cgroup": "0::/user/job\n", f"{V2}/user/memory.max": f"{4 * GIB}\n", f"{V2}/user/memory.current": f"{GIB}\n",
      f"{V2}/user/job/memory.max": "max\n", f"{V2}/user/job/memory.current": "7\n"}, 3.0),
    ({"proc/self/cgroup": "0::/\n", f"{V2}/memory.max": f"{4 * GIB}\n", f"{V2}/memory.current": f"{3 * GIB}\n",
      f"{V2}/memory.stat": f"anon {GIB}\ninactive_file {2 * GIB}\n"}, 3.0),
    ({"proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/\n", f"{V1}/memory.limit_in_bytes": f"{2 * GIB}\n",
      f"{V1}/memory.usage_in_bytes": f"{GIB}\n", f"{V1}/memory.stat": f"total_inactive_file {GIB // 2}\n"}, 1.5),
    ({"proc/self/cgroup": "4:memory:/\n", f"{V1}/memory.limit_in_bytes": "9223372036854771712\n",
      f"{V1}/memory.usage_in_bytes": f"{GIB}\n"}, 8.0),
    ({"proc/self/cgroup": "0::/\n", f"{V2}/memory.max": f"{GIB}\n", f"{V2}/memory.current": f"{2 * GIB}\n"}, 0.0),
])
def test_free_on_linux(tmp_path, rows, free):
    """Memory that is available, or what control groups of both versions leave, of the process's own group and those above."""
    assert host_free(tree(tmp_path, MEMINFO | rows)) == free * GIB


def test_free_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "psutil", SimpleNamespace(virtual_memory=lambda: SimpleNamespace(available=123)))
    assert host_free(tmp_path) == 123
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert host_free(tmp_path) is None


@pytest.mark.usually(2)
@pytest.mark.parametrize("dim, cells, order, kernels, dtype, options", [
    (3, 28, 2, "fused", "float64", {}), (3, 20, 1, "fused", "float32", {"variant": "two-kernel"}),
    (2, 100, 3, "array", "float64", {"derivatives": True}), (3, 16, 1, "array", "float32", {"variant": "monolithic"}),
    (2, 80, 2, "fused", "float64", {"sound_speed": lambda x: 1 + 0.1 * np.cos(x[0] + x[1])}),
    (2, 80, 2, "array", "float32", {"sound_speed": lambda x: 1 + 0.1 * np.cos(x[0] + x[1])})])
def test_plan_of_hermite(dim, cells, order, kernels, dtype, options):
    """State, dual state and copy, interpolants where they are kept, series of coefficients."""
    options = dict(options)
    law = dg.Acoustics(dim, sound_speed=options.pop("sound_speed", 1.0))

    def problem(cells):
        return dg.Simulation(dg.Grid((0,) * dim, (1,) * dim, cells), law, dg.Hermite(order, **options), dg.wall,
                             lambda x: (np.sin(x[0]), *(0.0,) * dim), backend="numpy", kernels=kernels, dtype=dtype, threads=1)
    problem(cells).run(until=1e-3)          # compiles; not all sizes have the same kernels
    sim = problem(cells)
    plan = sim.memory(1e-3)
    peak, _ = traced(lambda: sim.run(until=1e-3))
    assert 0.85 < plan.peak_host / peak < 1.25, f"plan {shown(plan.peak_host)}, run {shown(peak)}: {plan}"


@pytest.mark.thorough
@pytest.mark.parametrize("dim, cells, law, method, kernels, dtype, stored", [
    (2, 700, "mhd", "first-order", "fused", "float32", True), (2, 700, "euler", "weno", "fused", "float64", True),
    (3, 80, "mhd", "muscl", "fused", "float32", True), (2, 700, "varying", "quick", "fused", "float64", False),
    (2, 500, "mhd", "muscl", "array", "float64", True), (2, 700, "euler", "weno", "array", "float64", False)])
def test_plan_of_finite_volumes(dim, cells, law, method, kernels, dtype, stored, tmp_path):
    """States, the initial state among them, parameters with ghost cells, fields of the array expressions, kept snapshots."""
    def problem(cells):
        return grid_problems.simulation(grid_problems.LAWS[law](dim), grid_problems.METHODS[method], cells, kernels=kernels,
                                        dtype=dtype, threads=1)
    problem(24).run(until=1e-3)
    sim, where = problem(cells), {"out": tmp_path / "run.zarr"} if stored else {}
    plan = sim.memory(1e-4, **where)
    peak, _ = traced(lambda: sim.run(until=1e-4, **where))
    assert 0.85 < plan.peak_host / peak < 1.25, f"plan {shown(plan.peak_host)}, run {shown(peak)}: {plan}"
