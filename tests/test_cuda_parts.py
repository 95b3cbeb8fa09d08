"""Kernels of a GPU on parts of a mesh or grid, by emulation: bit for bit what the whole gives."""
import numpy as np
import pytest
from emulated import compiler
from parts import GridParts, Parts, Queued, advance, discretising, same
from strict import StrictArray
from test_partition import field, problem, scattered
from test_parts_of_grids import PROBLEMS, steps
from test_parts_of_sets import GAS, QUADS, jump

import dgarray as dg
from dgarray.mesh.partition import split
from dgarray.methods.exchange import Messages
from dgarray.methods.problem import Problem

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C++ compiler to run CUDA C on the CPU")

WAVES = {"nodal": ("advection2", dg.NodalDG(2)), "nodal in 3D": ("maxwell3", dg.NodalDG(2)),
         "modal": ("acoustics2", dg.ModalDG(2)), "modal in 3D": ("maxwell3", dg.ModalDG(1))}
LIMITED = "vertex", "periodic", "vertex, positivity", "barth-jespersen", "characteristic", "indicator", "tetrahedra"
GRIDS = {"hermite": "HermiteCuda", "hermite, periodic": "HermiteCuda", "hermite, collapsed": "HermiteCuda",
         "hermite, sponges": "HermiteCuda", "muscl": "Sweeps", "weno": "Sweeps"}


def same_steps(mesh, method, law, boundary, initial, kind, **options):
    """Three steps of parts, by kernels of this kind, give what the whole gives."""
    discretise = discretising(method, law, boundary, "emulated", **options)
    whole = discretise(mesh)
    q = whole.project(initial)
    dts = [0.5 * float(whole.largest_step(whole.state(q), 0.0))] * 3
    expected = advance(whole, q, dts)
    assert not same(q, expected)
    for owner in (split(mesh, 3), scattered(mesh, 3)):
        parts = Parts(mesh, owner, discretise, method.needs)
        assert {type(operator.operations).__name__ for operator in parts.operators} == {kind}
        assert same(parts.gather(whole, parts.advance(parts.project(initial), dts)), expected)


@pytest.mark.parametrize("name", WAVES)
def test_waves(name):
    """With boundary conditions, parameters that vary, and a source."""
    system, method = WAVES[name]
    mesh, law, boundary, source = problem(system, method.order, "float64")
    same_steps(mesh, method, law, boundary, field(law), "ModalCuda" if "modal" in name else "NodalCuda", source=source)


def test_tensor_products():
    law = dg.Acoustics(2)
    same_steps(QUADS, dg.TensorDG(2), law, dg.wall, field(law), "TensorCuda")


@pytest.mark.parametrize("name", LIMITED)
def test_limiters(name):
    """Copies are renewed before a limiter looks at them, too."""
    method, mesh = GAS[name]
    law = dg.Euler(mesh.dim)
    same_steps(mesh, method, law, None if mesh.periods else dg.wall, jump(law), "ModalCuda", flux=dg.hllc, stepper="ssp33")


@pytest.mark.parametrize("name", GRIDS)
def test_grids(name):
    """Hermite's method by kernels, finite volumes by array expressions, of which no kernel knows rows of others."""
    mesh, method, law, boundary, initial, options = PROBLEMS[name]
    discretise, of_whole = (discretising(method, law, boundary, kernels, **options)
                            for kernels in ("emulated", "strict" if GRIDS[name] == "Sweeps" else "emulated"))
    expected = steps(of_whole(mesh), initial)
    given = Problem(mesh, law, boundary, options.get("flux"), options.get("source"))
    parts = GridParts(given, method, discretise, 3)
    assert {type(operator.operations).__name__ for operator in parts.operators} == {GRIDS[name]}
    for found in parts.together(lambda operator: steps(operator, initial, expected[5].tolist())):
        for value, other in zip(found, expected):
            assert np.array_equal(value, other) if isinstance(other, np.ndarray) else value == other


@pytest.mark.parametrize("name", ["nodal", "limited", "hermite", "muscl", "mixed"])
def test_messages_from_the_device(name, monkeypatch):
    """Where MPI reads its memory nothing goes by way of the host."""
    monkeypatch.setattr(Queued, "read_devices", True)
    sent = []
    monkeypatch.setattr(Queued, "send", lambda self, other, values, send=Queued.send: (
        sent.append(type(values)), send(self, other, values)))
    if name == "nodal":
        test_waves(name)
    elif name == "limited":
        test_limiters("vertex")
    elif name == "mixed":
        method, mesh = GAS["mixed"]
        law = dg.Euler(2)
        discretise = discretising(method, law, dg.wall, "strict", flux=dg.hllc, stepper="ssp33")
        whole, parts = discretise(mesh), Parts(mesh, split(mesh, 3), discretise, method.needs)
        expected = advance(whole, whole.project(jump(law)), [1e-3] * 2)
        assert same(parts.gather(whole, parts.advance(parts.project(jump(law)), [1e-3] * 2)), expected)
    else:
        test_grids(name)
    assert set(sent) == {StrictArray}


def test_operations():
    """Messages come before the launches of a stage, and before those of a limiter."""
    method, mesh = GAS["vertex"]
    part = Parts(mesh, split(mesh, 2), discretising(method, dg.Euler(2), dg.wall, "emulated", flux=dg.hllc, stepper="ssp33"),
                 method.needs).operators[0]
    part.operations.copies.messages = Messages()
    names = [operation.name for operation in part.step_operations(part.zeros())[0]]
    assert names[:2] == ["send to other parts", "receive copies"] and names.count("receive copies") == 2
    assert names.index("receive copies", 2) < min(i for i, name in enumerate(names) if "limit" in name)
