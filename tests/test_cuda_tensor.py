"""The GPU's kernels of tensor-product DG: against the reference on the CPU's emulation or a GPU, whole runs, as compiled."""
import numpy as np
import pytest
from compiled import ARCHITECTURES, compiled, float64_instructions
from nodal_problems import SYSTEMS, problem
from test_cuda_nodal import agrees, stage_of
from test_tensor_dg import laws, mesh_of, smooth

import dgarray as dg
from dgarray import backends, stepping
from dgarray.backends.cuda import CudaBackend
from dgarray.backends.cuda.dg.tensor import TensorCuda
from dgarray.backends.cuda.dg.tensor_source import TensorSource

SYSTEMS = [system for system in SYSTEMS if system[-1] != "1"]


def reference_of(system, order, dtype, warped, nodes="gauss"):
    """A problem of a law with materials, sources and three conditions, on the CPU by array expressions."""
    dim = 3 if system[-1] == "3" else 2
    mesh, law, boundary, source = problem(system, order, dtype, mesh_of(dim, (3, 2, 3)[:dim], warped))
    return dg.TensorDG(order, nodes).discretise(mesh, law, boundary, backends.get("numpy", "array", dtype), source=source)


@pytest.mark.parametrize("warped", [True, False])
@pytest.mark.parametrize("order", range(5))
@pytest.mark.parametrize("system", SYSTEMS)
def test_stage_agrees_with_the_reference(device, system, order, warped):
    """Every law, cells with one metric and with many, the dtypes and kinds of nodes taking turns, where they are allowed."""
    turn = order + SYSTEMS.index(system)
    allowed = order and (system, warped) != ("maxwell3", True)
    dtype, nodes = ("float64", "float32")[turn % 2], "lobatto" if allowed and turn % 3 == 0 else "gauss"
    reference = reference_of(system, order, dtype, warped, nodes)
    operations = TensorCuda(CudaBackend(dtype, device), reference.tables)
    for row in (stepping.LSRK54.stages[2], stepping.SSP33.stages[1]):
        for found, expected in zip(*(stage_of(o, (0, 1), reference.shape, row) for o in (operations, reference.operations))):
            agrees(found, expected, order, dtype)


@pytest.mark.parametrize("order", [6, 8])
def test_high_orders_and_little_shared_memory(device, order):
    """Several nodes a thread; and fewer elements a block where the device has less memory for them."""
    reference = reference_of("maxwell3", order, "float64", True)
    operations = TensorCuda(CudaBackend("float64", device), reference.tables)
    assert operations.source.rows > 1
    for found, expected in zip(*(stage_of(o, (2, 3), reference.shape) for o in (operations, reference.operations))):
        agrees(found, expected, order, "float64")
    few = TensorSource(reference.tables, "float64", True, 48 * 1024)
    assert few.shared_bytes <= 48 * 1024 and few.lanes * few.groups <= 512


@pytest.mark.parametrize("name", ["euler", "mhd"])
@pytest.mark.parametrize("dim", [2, 3])
def test_gases_agree_with_the_reference(device, dim, name):
    law, uniform = laws(dim)[name]
    reference = dg.TensorDG(2).discretise(mesh_of(dim, 2, periodic=True), law, None, backends.get("numpy", "array"), dg.rusanov)
    operations = TensorCuda(CudaBackend("float64", device), reference.tables)
    q = reference.project(lambda x: tuple(value * (1 + 0.5 * np.sin(2 * np.pi * (x[0] + x[1]))) for value in uniform))
    found, expected = (o.host(o.rhs(o.state(q), 0.2)) for o in (operations, reference.operations))
    agrees(found, expected, 9, "float64")
    assert operations.rate(operations.state(q), 0.2, 1.0) == pytest.approx(reference.operations.rate(q, 0.2, 1.0), rel=1e-12)


def test_runs(cupy):
    """Whole runs: kernels where there are some, array expressions for the split form, joints and smooth media."""
    law, uniform = laws(2)["euler"]
    mesh = mesh_of(2, 3, periodic=True)
    for method, kernels in ((dg.TensorDG(2), "fused"), (dg.TensorDG(2, "lobatto", volume_flux=dg.ranocha), "array")):
        on = [dg.Simulation(mesh, law, method, initial=smooth(law, uniform), flux=dg.rusanov, **options)
              for options in ({"backend": "cupy"}, {"backend": "numpy", "kernels": "array"})]
        a, b = (sim.run(0.02)["rho"].values[-1] for sim in on)
        assert np.abs(a - b).max() < 1e-13
        assert ("right-hand side" in on[0].report["array_expressions"]) == (kernels == "array")
    smooth_medium = dg.Simulation(mesh_of(2, 3), dg.Acoustics(2, sound_speed=lambda x: 1 + 0.3 * np.sin(3 * x[0])),
                                  dg.TensorDG(2), boundary=dg.wall, initial=lambda x: (np.sin(x[0]), 0 * x[0], 0 * x[0]))
    a, b = (smooth_medium.replace(**options).run(0.05)["p"].values[-1]
            for options in ({"backend": "cupy"}, {"backend": "numpy", "kernels": "array"}))
    assert np.abs(a - b).max() < 1e-13


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("order", [0, 1, 3, 4, 8])
def test_it_compiles(order, dtype):
    """For real architectures: no spills, no float64 in float32 code; also with a user's condition, whose exp and sin spill."""
    for warped in (True, False):
        backend = backends.get("numpy", "array", dtype)
        plain = dg.TensorDG(order).discretise(mesh_of(3, 2, warped), dg.Maxwell(3), dg.pec, backend)
        for tables, spills in ((plain.tables, 0), (reference_of("maxwell3", order, dtype, warped).tables, 512)):
            for arch, shared in zip(ARCHITECTURES, (163 * 1024, 227 * 1024)):
                source = TensorSource(tables, dtype, tables.needs_x, shared)
                result = compiled(source.text(order == 3), dtype, arch)
                assert set(result.kernels) == {"trace", "stage", "set_clock"}
                assert dtype == "float64" or not float64_instructions(result.ptx, spills > 0)
                for name, usage in result.kernels.items():
                    threads = source.lanes * source.groups if name == "stage" else 128
                    assert max(usage.spill_stores, usage.spill_loads) <= spills, f"{name}: {usage}"
                    assert usage.registers * threads <= 65536, f"{name}: {usage}"
