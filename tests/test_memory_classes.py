"""What tables and operations say that they will hold, class by class, against the arrays that they hold after a step."""
from types import SimpleNamespace

import numpy as np
import pytest
from dgarray.backends.cuda import CudaBackend
from emulated import IdleDevice
from strict import StrictArray
from traced_memory import Loud

import dgarray as dg
from dgarray import backends
from dgarray.methods.dg.weak_form import WeakForm
from dgarray.methods.finite_volume.sweeps import Sweeps
from dgarray.methods.hermite.half_steps import HalfSteps
from dgarray.methods.problem import Problem


def arrays_of(things, seen):
    """Bytes of all arrays that these things hold, but for what is in `seen`, numbers of objects, which grows by them."""
    size, left = 0, list(things)
    while left:
        thing = left.pop()
        while isinstance(thing, np.ndarray) and isinstance(thing.base, np.ndarray):
            thing = thing.base
        if id(thing) in seen or isinstance(thing, type):
            continue
        seen[id(thing)] = thing          # kept, so that no other object gets its number
        if isinstance(thing, np.ndarray):
            size += thing.nbytes
        elif isinstance(thing, StrictArray):
            left.append(thing.values)
        elif isinstance(thing, dict):
            left.extend(thing.values())
        elif isinstance(thing, (list, tuple)):
            left.extend(thing)
        elif isinstance(thing, SimpleNamespace) or type(thing).__module__.startswith("dgarray."):
            left.extend(vars(thing).values() if hasattr(thing, "__dict__") else [])
    return size


GAS, WAVES = dg.Euler(2), dg.Acoustics(3, sound_speed=lambda x: 1 + 0.1 * np.cos(x[0] + x[1] + x[2]))


@pytest.mark.usually(0, 2, 6, 10, 14)
@pytest.mark.parametrize("law, method, kernels, dtype", [
    (Loud(2), dg.NodalDG(2), "array", "float64"),
    (WAVES, dg.NodalDG(1), "array", "float32"),
    (WAVES, dg.NodalDG(2), "fused", "float32"),
    (GAS, dg.ModalDG(2), "fused", "float64"),                      # edge by edge
    (GAS, dg.ModalDG(2), "fused", "float32"),
    (GAS, dg.NodalDG(2, quadrature=5), "array", "float64"),
    (GAS, dg.ModalDG(1, limiter="barth-jespersen"), "array", "float64"),
    (GAS, dg.ModalDG(2, limiter="vertex", indicator="kxrcf"), "fused", "float64"),
    (GAS, dg.ModalDG(1, limiter="barth-jespersen", positivity=True), "cuda", "float64"),
    (WAVES, dg.NodalDG(2), "cuda", "float32"),
    (dg.Acoustics(2), dg.Hermite(2, variant="two-kernel"), "fused", "float64"),
    (WAVES, dg.Hermite(1), "fused", "float32"),
    (WAVES, dg.Hermite(1), "array", "float32"),
    (dg.Acoustics(3), dg.Hermite(1, variant="two-kernel"), "cuda", "float32"),
    (GAS, dg.FiniteVolume("muscl"), "cuda", "float32"),
    (WAVES, dg.FiniteVolume("weno"), "cuda", "float64"),
    (WAVES, dg.FiniteVolume("muscl"), "array", "float64"),
])
def test_what_each_class_says_that_it_holds(law, method, kernels, dtype, monkeypatch, tmp_path):
    """Asked before anything is there, tables and operations name the arrays that they hold after a step."""
    monkeypatch.setenv("DGARRAY_CACHE", str(tmp_path)) if kernels == "cuda" else None
    backend = CudaBackend(dtype, IdleDevice()) if kernels == "cuda" else backends.get("numpy", kernels, dtype, 1)
    recipe = {dg.Hermite: HalfSteps, dg.FiniteVolume: Sweeps}.get(type(method), WeakForm)
    grid = recipe is not WeakForm
    if grid:
        mesh = dg.Grid((0,) * law.dim, (1,) * law.dim, 120 if law.dim == 2 else 24)
    else:
        mesh = dg.rectangle(cells=(100, 100)) if law.dim == 2 else dg.box(cells=(12, 12, 12))
    wall = dg.wall if grid or law is GAS else dg.absorbing
    problem, at_rest = Problem(mesh, law, wall), [1.0, *[0.0] * law.dim, 2.5]
    method.check(problem)
    seen = {}
    arrays_of(vars(mesh).values(), seen)
    tables = method.tables(problem)
    kind, of_tables = backend.kind(recipe, tables), sum(tables.holds().values())
    held = sum(kind.holds(backend, tables).values()) - kind.holds(backend, tables).get("snapshot on its way", 0)
    held += 0 if grid else kind.limiting(backend, tables)[0]
    state = kind.state_size(backend, tables)
    assert arrays_of([tables], dict(seen)) < 0.1 * (of_tables + held)
    operator = method.discretise(mesh, law, wall, backend)
    reference = dict(seen)          # matrices of cells are no part of the mesh
    found = arrays_of([operator.tables, mesh], reference)
    assert found == pytest.approx(of_tables, rel=0.03, abs=100_000)
    assert isinstance(operator.operations, kind)
    q = operator.state(operator.project(lambda x: tuple(at_rest[:len(law.variables)]) if law is GAS else (0.0,) * len(
        law.variables)))
    assert arrays_of([q], {}) == pytest.approx(state, rel=0.01, abs=200)
    if kernels == "cuda" and recipe is not Sweeps:
        operator.stage(q, operator.zeros(), operator.zeros(), q, 0.0, 1e-6, operator.stepper.stages[0])
    else:
        q = operator.advance(q, 0.0, 1e-6)
    operator.largest_step(q, 0.0)
    operator.check(q, 0.0)
    if kernels != "cuda":
        operator.not_admissible(operator.host(q), 0.0)
    arrays_of([q, operator._others, operator._k], reference)          # states, which lists of operations know
    assert arrays_of([operator.operations, operator.tables], reference) == pytest.approx(held, rel=0.07, abs=60_000)
