"""Kernels of curved elements, and of mortars between sets, against array expressions: laws with media, sources, conditions."""
import numpy as np
import pytest
from modal_problems import agree, gas_problem, stage
from nodal_problems import SYSTEMS, problem

import dgarray as dg
from dgarray import backends

IN_PLANE = [name for name in SYSTEMS if name[-1] in "2ME"]
IN_SPACE = [name for name in SYSTEMS if name[-1] == "3"]


def bent(x):
    push = np.prod([np.sin(np.pi * c) for c in x], axis=0)
    return tuple(c + a * push for c, a in zip(x, (0.05, -0.04, 0.03)))


def rim(x):
    """Bends the last row of cells alone."""
    return (*x[:-1], x[-1] + 0.04 * np.sin(3 * x[0]) * np.maximum(x[-1] - 0.7, 0))


CURVED = {"triangles": lambda: dg.rectangle(cells=(7, 3)).mapped(bent, 2),
          "tetrahedra": lambda: dg.box(cells=(3, 2, 1)).mapped(bent, 2),
          "prisms": lambda: dg.box(cells=(3, 2, 2), shape="prism").mapped(bent, 2),
          "bent prisms": lambda: dg.box(cells=(3, 2, 2), shape="prism").mapped(
              lambda x: (x[0] + 0.1 * x[1] * x[2], x[1] - 0.1 * x[0] * x[2], x[2] + 0.1 * x[0] * x[1])),
          "pyramids": lambda: dg.box(cells=(2, 1, 1), shape="pyramid").mapped(bent, 2),
          "bent pyramids": lambda: dg.box(cells=(2, 1, 1), shape="pyramid", perturb=0.1).mapped(
              lambda x: (x[0] + 0.1 * x[1] * x[2], x[1] - 0.1 * x[0] * x[2], x[2] + 0.1 * x[0] * x[1]))}
METHODS = {"nodal": dg.NodalDG, "modal": dg.ModalDG}


def operators(mesh, system, method, order, dtype, threads=None):
    mesh, law, boundary, source = problem(system, order, dtype, mesh)
    for kind in ("array", "fused"):
        yield method.discretise(mesh, law, boundary, backends.get("numpy", kind, dtype, threads), source=source)


CASES = [(kind, system, method, order, ("float64", "float32")[(i + order) % 2]) for kind in CURVED
         for i, system in enumerate(IN_PLANE if kind == "triangles" else IN_SPACE)
         for method in (["nodal"] if kind.split()[-1] in ("prisms", "pyramids") else METHODS)
         for order in (1, 2, 3) if order < 3 or kind == "triangles"]


@pytest.mark.thorough
@pytest.mark.parametrize("kind, system, method, order, dtype", CASES)
def test_stage_agrees_with_the_arrays(kind, system, method, order, dtype):
    results = []
    for operator in operators(CURVED[kind](), system, METHODS[method](order), order, dtype):
        q, k = (np.random.default_rng(seed).standard_normal(operator.shape) for seed in (0, 1))
        results.append((*stage(operator, q, k), np.array(operator.operations.rate(operator.state(q), 0.3, 1.7))))
    for reference, fused in zip(*results):
        agree(fused, reference, order, dtype, 400)          # nodal values are taken to modes and back


@pytest.mark.thorough
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["triangles", "tetrahedra"])
def test_gas(kind, method):
    """Rates and admissible states of a nonlinear law."""
    mesh, law, boundary, around = gas_problem(CURVED[kind]().dim, CURVED[kind]())
    results = []
    for kernels in ("array", "fused"):
        operator = METHODS[method](2).discretise(mesh, law, boundary, backends.get("numpy", kernels), dg.hllc)
        q = operator.project(around)
        results.append((*stage(operator, q, 0 * q), np.array(operator.operations.rate(operator.state(q), 0.0, 1.0))))
        assert operator.operations.all_admissible(operator.state(q), 0.0)
        q[0, :, 3] = -1.0
        assert not operator.operations.all_admissible(operator.state(q), 0.0)
    for reference, fused in zip(*results):
        agree(fused, reference, 2, "float64", 400)


@pytest.mark.thorough
def test_threads_do_not_change_a_bit():
    found = []
    for threads in (1, 2):
        _, operator = operators(dg.rectangle(cells=30).mapped(bent, 2), "acoustics2", dg.NodalDG(2), 2, "float64", threads)
        q = np.random.default_rng(0).standard_normal(operator.shape)
        found.append(stage(operator, q, 0 * q))
    assert all(map(np.array_equal, *found))


# Mortars.

REGIONS = {"a": lambda x: x[0] < 0.5, "b": lambda x: x[0] > 0.5}
JOINED = {"orders": (lambda: dg.rectangle(cells=(6, 4), perturb=0.1).with_regions(REGIONS), {"a": 1, "b": 2}),
          "rim": (lambda: dg.rectangle(cells=(6, 4)).mapped(rim, 2), 2),
          "shapes": (lambda: dg.rectangle(cells=(6, 4), shape="mixed"), 2),
          "orders of tetrahedra": (lambda: dg.box(cells=(4, 2, 2), perturb=0.1).with_regions(REGIONS), {"a": 1, "b": 2}),
          "shapes in space": (lambda: dg.box(cells=(3, 2, 2), shape="mixed"), 2),
          "curved shapes": (lambda: dg.box(cells=(3, 2, 2), shape="mixed").mapped(bent, 2), 3)}
PAIRS = [(name, system, flux, dtype) for name in JOINED
         for i, system in enumerate(IN_PLANE if name in ("orders", "rim", "shapes") else IN_SPACE)
         for flux, dtype in [(("upwind", "float32"), ("rusanov", "float64"), ("central", "float64"))[(i + len(name)) % 3]]]


@pytest.mark.thorough
@pytest.mark.parametrize("name, system, flux, dtype", PAIRS)
def test_steps_across_joins_agree_with_the_arrays(name, system, flux, dtype):
    make, order = JOINED[name]
    mesh, law, boundary, source = problem(system, 1, dtype, make())
    results = []
    for kernels in ("array", "fused"):
        operator = dg.NodalDG(order).discretise(mesh, law, boundary, backends.get("numpy", kernels, dtype), getattr(dg, flux),
                                                source)
        q = operator.project(lambda x: tuple(np.sin(3 * sum(x) + v) for v in range(len(law.variables))))
        state = operator.state(q)
        for number in range(2):
            state = operator.advance(state, 0.1 * number, 1e-3)
        arrays = operator.host(state)
        results.append(np.concatenate([part.ravel() for part in (arrays.values() if isinstance(arrays, dict) else [arrays])]))
    agree(results[1], results[0], 2, dtype)
