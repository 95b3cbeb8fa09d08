"""The memory plan against what a run really allocates, and what the machine has free."""
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from strict import StrictArray
from traced_memory import traced

import dgarray as dg
from dgarray import backends
from dgarray.backends.arrays import ArrayBackend
from dgarray.run import measured_memory
from dgarray.run.memory import MOST, Plan, check, shown
from dgarray.run.time_loop import TimeLoop
from dgarray.support.array_memory import held
from dgarray.support.system_memory import host_free

GIB = 1 << 30
ON_CPU = {"backend": "numpy", "threads": 1}


def waves(x):
    return tuple(np.sin(x[0]) * i for i in range(len(x) + 1))


def gas(x):
    return 1 + 0.2 * np.sin(2 * np.pi * x[0]), *(0.1 for _ in x), 1.0


def layers(x):
    return 1 + 0.1 * np.cos(x[0] + x[-1])


def halves(mesh):
    return mesh.with_regions({"left": lambda x: x[0] < 0.5, "right": lambda x: x[0] >= 0.5})


def nodal(n, **options):
    mesh = dg.rectangle(cells=(n, n), perturb=0.1)
    return dg.Simulation(mesh, dg.Acoustics(2), dg.NodalDG(4), dg.absorbing, waves, **options)


def media(n, **options):
    law = dg.Acoustics(2, sound_speed=layers)
    return dg.Simulation(dg.rectangle(cells=(n, n)), law, dg.NodalDG(2), dg.absorbing, waves, **options)


def limited(n, **options):
    law, method = dg.Euler(2), dg.ModalDG(1, limiter="vertex")
    return dg.Simulation(dg.rectangle(cells=(n, n)), law, method, dg.outflow, gas, **options)


def shocks(n, **options):
    mesh = dg.rectangle(cells=(n, n), shape="quadrilateral", periodic=True)
    method = dg.TensorDG(4, nodes="lobatto", volume_flux=dg.ranocha, shock_capturing=0.5)
    return dg.Simulation(mesh, dg.Euler(2), method, initial=gas, **options)


def orders(n, **options):
    """Two element sets that meet at mortars."""
    mesh, method = halves(dg.box(cells=(n,) * 3, shape="hexahedron", periodic=True)), dg.TensorDG({"left": 2, "right": 4})
    return dg.Simulation(mesh, dg.Euler(3), method, initial=gas, **options)


def hanging(n, **options):
    mesh = dg.rectangle(cells=(n, n), shape="quadrilateral").with_regions({"core": lambda x: x[0] < 0.5}).refined("core")
    return dg.Simulation(mesh, dg.Acoustics(2), dg.TensorDG(3), dg.wall, waves, **options)


def hermite(n, **options):
    law = dg.Acoustics(2, sound_speed=layers)
    return dg.Simulation(dg.Grid((0, 0), (1, 1), n), law, dg.Hermite(2), dg.wall, waves, **options)


def volumes(n, **options):
    return dg.Simulation(dg.Grid((0, 0), (1, 1), n), dg.Euler(2), dg.FiniteVolume("muscl"), dg.outflow, gas, **options)


@dataclass(frozen=True)
class Own(dg.Method):
    """A method of a user's own, of which little is known before it is measured."""

    def operator(self, problem, backend):
        return OwnOperator(problem, backend)


class OwnOperator(dg.GridOperator):
    positions = {"u": (0, 0)}

    def __init__(self, problem, backend):
        super().__init__(problem, backend)
        self.tables = backend.zeros((5, *self.unknowns["u"]))

    def largest_step(self, state, t):
        return 1.0

    def advance(self, state, t, dt):
        state["u"] += 0 * self.tables.sum(axis=0)
        return state


def own(n, **options):
    law = dg.Advection((1.0, 0.0), dim=2)
    return dg.Simulation(dg.Grid((0, 0), (1, 1), n, True), law, Own(), initial=lambda x: (np.sin(x[0]),), **options)


@pytest.mark.usefixtures("usual_garbage")
@pytest.mark.parametrize("problem, cells, kernels, dtype", [
    (nodal, 110, "array", "float64"), (nodal, 110, "fused", "float32"), (media, 180, "fused", "float64"),
    (limited, 220, "fused", "float64"), (limited, 220, "array", "float64"), (shocks, 120, "fused", "float64"),
    (orders, 16, "array", "float64"), (orders, 16, "fused", "float64"), (hanging, 90, "fused", "float64"),
    (hermite, 200, "array", "float32"), (volumes, 600, "array", "float64"), (volumes, 600, "fused", "float64"),
    (own, 800, "array", "float64")])
def test_plan_is_what_a_run_takes(problem, cells, kernels, dtype):
    """From parts of the problem: it is larger than both."""
    sim = problem(cells, kernels=kernels, dtype=dtype, **ON_CPU)
    unknowns = measured_memory.places(sim.problem) * sim.method.unknowns_of_place(sim.problem)[1]
    assert unknowns > 1.05 * measured_memory.UNKNOWNS
    until = 1e-9          # one step
    sim.replace().run(until=until)          # compiles, which takes memory of its own
    plan = sim.memory(until)
    fresh = problem(cells, kernels=kernels, dtype=dtype, **ON_CPU)          # whose mesh knows nothing yet
    peak, _ = traced(lambda: fresh.run(until=until))
    assert 0.9 < plan.peak_host / peak < 1.15, f"plan {shown(plan.peak_host)}, run {shown(peak)}: {plan}"
    assert plan.device == {} and plan.peak_device == 0
    least = sim.memory(until, quick=True)
    assert least.least and least.peak_host < peak < MOST * least.peak_host, f"run {shown(peak)}, {least}"


@pytest.mark.parametrize("problem, cells", [(nodal, 8), (orders, 4), (hermite, 12), (volumes, 20)])
def test_small_problems_are_measured_whole(problem, cells):
    """The states are those of the run, two zones of output included; random numbers are as before."""
    sim = problem(cells, kernels="array", **ON_CPU)
    before = np.random.get_state()[1].tolist()          # noqa: NPY002
    plan = sim.memory(1.0, 0.25)
    assert np.random.get_state()[1].tolist() == before          # noqa: NPY002
    loop = TimeLoop(sim, sim.operator)
    loop.start_from_initial()
    state = sum(array.nbytes for array in sim.operator.as_list(sim.operator.host(loop.state)))
    assert plan.host["state and registers"] % state == 0 and plan.host["state and registers"] >= 3 * state
    assert plan.host["snapshots"] == 5 * plan.snapshot and plan.snapshot <= state
    assert ("joins" in plan.host) == (problem is orders)
    assert "snapshots" not in sim.memory(1.0, 0.25, out="x").host
    assert sim.replace(steady=1e-9).memory(1.0).host["state and registers"] == plan.host["state and registers"] + state


@pytest.mark.parametrize("problem, cells", [(nodal, 8), (limited, 8), (volumes, 20)])
def test_device(problem, cells, cupy):
    """On a device the states and what kernels work on are there, and the mesh and its tables are on the host."""
    sim = problem(cells, backend="cupy")
    plan, operator = sim.memory(1e-3, out="x"), sim.operator
    loop = TimeLoop(sim, operator)
    loop.start_from_initial()
    state = loop.state.nbytes
    assert plan.device["state and registers"] % state == 0 and "state and registers" not in plan.host
    if isinstance(loop.state, StrictArray):
        kept = {**vars(loop), "clock": None, "sim": None}
        assert sum(plan.device.values()) == pytest.approx(sum(held(kept, StrictArray).values()), rel=0.05)
    assert "GPU memory: " in str(plan)


def test_snapshots_that_are_kept():
    plan = Plan({"a": 100}, {}, {"set-up": (900, 0), "snapshots": (40, 0), "dataset": (60, 0)}, snapshot=30, variables=3)
    assert plan.peak_host == 1000 and plan.keeping(0) == plan
    assert plan.keeping(1).peak_host == 1000 and plan.keeping(1).transient["dataset"] == (30, 0)
    more, less = plan.keeping(1001), plan.keeping(1000)
    assert more.peak_host - less.peak_host == 30 + 10          # one more, and a third of it is copied at the end


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


@pytest.mark.thorough
def test_run_is_refused_before_anything_is_built(monkeypatch):
    """Where the states alone do not fit, and, after a measurement on parts, where they do but the run does not."""
    sim = nodal(120, kernels="array", **ON_CPU)
    monkeypatch.setattr(ArrayBackend, "free_memory", lambda self: (999, None))
    with monkeypatch.context() as nothing:
        nothing.setattr(dg.NodalDG, "discretised", lambda *a: pytest.fail("an operator was built"))
        with pytest.raises(ValueError, match="this run needs at least .* of memory, but only 999 B are free"):
            sim.run(until=1e-3)
    need, built = sim.memory(1e-3).peak_host, []
    discretised = dg.NodalDG.discretised
    monkeypatch.setattr(ArrayBackend, "free_memory", lambda self: (int(0.8 * need), None))
    monkeypatch.setattr(dg.NodalDG, "discretised",
                        lambda self, problem, *a: built.append(problem.mesh) or discretised(self, problem, *a))
    with pytest.raises(ValueError, match=r"this run needs \d.* of memory, but only .* are free; most goes to .*state and reg"):
        nodal(120, kernels="array", **ON_CPU).run(until=1e-3)
    assert built and max(mesh.cell_count for mesh in built) < sim.mesh.cell_count


def test_a_plan_is_measured_where_memory_is_short_only(monkeypatch):
    """A run that fits easily begins at once."""
    monkeypatch.setattr("dgarray.run.simulation.measured", lambda sim: pytest.fail("it was measured"))
    sim = nodal(4, kernels="array", **ON_CPU)
    monkeypatch.setattr(ArrayBackend, "free_memory", lambda self: (8 * GIB, None))
    sim.run(until=1e-3)
    assert str(sim.memory(1e-3, quick=True)).startswith("memory: at least ")


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
