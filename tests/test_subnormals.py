"""Subnormal numbers are zero while the CPU's kernels run, and nowhere else."""
import platform

import numpy as np
import pytest

import dgarray as dg
from dgarray import backends

TINY = {"float32": 1e-40, "float64": 1e-310}
pytestmark = pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="a mode of x86")


def product(dtype):
    """A subnormal number times one."""
    return (np.full(4, TINY[dtype], dtype) * np.ones(4, dtype))[0]


@pytest.mark.parametrize("dtype", TINY)
def test_workers_see_zeros_and_others_do_not(dtype):
    found, workers = [], backends.get("numpy", "fused", dtype).workers
    workers.each(lambda worker: found.append(product(dtype)), workers.threads)
    assert found == [0.0] * workers.threads and product(dtype) > 0

    def fails(worker):
        assert product(dtype) == 0
        raise KeyError(worker)
    with pytest.raises(KeyError):
        workers.each(fails, 1)
    assert product(dtype) > 0


@pytest.mark.parametrize("method", [dg.NodalDG(2), dg.FiniteVolume("muscl")], ids=["nodal", "finite volumes"])
def test_kernels_leave_no_subnormal_numbers(method):
    """A pulse in float32 whose tail would be subnormal numbers."""
    mesh = dg.interval(0, 1, 200) if isinstance(method, dg.NodalDG) else dg.Grid(0.0, 1.0, 400, periodic=False)
    sim = dg.Simulation(mesh, dg.Acoustics(1), method, dg.wall, lambda x: (np.exp(-900 * (x[0] - 0.5) ** 2), 0 * x[0]),
                        dtype="float32", kernels="fused", backend="numpy", until=0.1)
    operator = sim.operator
    q = operator.project(sim.initial)

    def subnormal(values):
        return np.count_nonzero((values != 0) & (np.abs(values) < np.finfo(np.float32).tiny))
    assert subnormal(q) > 0
    state = operator.state(q)
    for _ in range(20):
        state = operator.advance(state, 0.0, 0.5 * operator.largest_step(operator.state(q), 0.0))
    values = operator.host(state)
    assert subnormal(values) == 0 and np.abs(values).max() > 0.3
