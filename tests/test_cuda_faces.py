"""numba.cuda kernels of the face fluxes against the reference, as Python or on a GPU, and their PTX without one."""

import numpy as np
import pytest
from compiled import ARCHITECTURES, float64_instructions, kept, without_simulator
from nodal_problems import SYSTEMS, box_of, of_element, operators, random_state

import dgarray as dg
from dgarray import backends
from dgarray.backends.cuda.dg.faces import Faces, FaceSource, places
from dgarray.backends.cuda.dg.layout import Layout
from dgarray.backends.gpu import numba_cuda
from dgarray.cases.common import MESHES


def everything(q, n, x, t, m):
    """A condition with every operation that can be compiled."""
    a, b = 0.3 + np.abs(x[0]), np.sin(x[0] * t) * np.cos(n[0]) + np.tan(0.2 * n[-1])
    c = np.exp(-a) + np.log(a) - np.sqrt(a) + np.tanh(b) + np.arctan2(a, b) + a ** 1.7 + a ** b + np.sign(b)
    c = np.where((c > a) & ~(b < a) | (c == b), np.minimum(c, b), np.maximum(a, -b)) + (np.clip(b, -0.1, 0.1) > 0.5)
    return tuple(c + 0.1 * p for p in q)


def conditions_of(system, dtype, order=2):
    """Problems that together have every boundary condition of the system."""
    law, conditions = SYSTEMS[system]()
    mesh, conditions = box_of(law.dim), [*conditions, everything]
    names = list(mesh.boundaries)
    for first in range(0, len(conditions), len(names)):
        chosen = {name: conditions[(first + i) % len(conditions)] for i, name in enumerate(names)}
        yield dg.NodalDG(order).discretise(mesh, law, chosen, backends.get("numpy", "array", dtype))


class Call:
    """Faces of a problem with the arrays they work on: state at 0.7 in stage 3, fluxes that hold NaN."""

    def __init__(self, device, operator, width=32, **options):
        self.operator, tables = operator, operator.tables
        self.dtype, self.rows = operator.backend.dtype, tables.variables * tables.basis.face_nodes.size
        self.layout = Layout(tables.elements, width)
        self.faces = Faces(device, self.dtype, tables, self.layout, **options)
        self.q = random_state(operator, 0).astype(self.dtype)
        flat = self.q.reshape(-1, tables.elements)
        self.state, self.flux, self.clock = map(device.xp.asarray, (
            self.layout.pack(flat), np.full(self.layout.size(self.rows), np.nan, self.dtype), np.zeros(9, self.dtype)))
        self.clock[4] = 0.7

    def __call__(self):
        self.faces(self.state, self.flux, self.clock, 3)

    def result(self):
        return self.layout.unpack(self.flux.get(), self.rows).reshape(self.operator.tables.variables, -1, self.layout.elements)

    def check(self, t=0.7):
        """The fluxes are the reference's; every slot is written, and nothing beyond them."""
        operations, found = self.operator.operations, self.result()
        reference = operations.own_programs.interpreter("face_flux").run({"q": self.q, "t": t})["flux"]
        assert found.shape == reference.shape and found.dtype == reference.dtype
        assert np.isfinite(found).all() and np.isnan(self.flux.get()).sum() == self.flux.size - found.size
        tolerance = 40 * (self.operator.method.order + 1) * np.finfo(self.dtype).eps
        assert np.abs(found - reference).max() <= tolerance * np.abs(reference).max()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("order, options", [(1, {}), (2, {"per_face": True, "width": 0}), (3, {"width": 0, "block": 96}),
                                            (4, {"per_face": True, "block": 32})])
@pytest.mark.parametrize("system", SYSTEMS)
def test_agrees_with_the_reference(device, system, order, options, dtype):
    operator, = operators(system, order, dtype, ("array",))
    call = Call(device, operator, **options)
    call()
    call.check()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("order", range(1, 11))
@pytest.mark.parametrize("system, options", [("acoustics2", {}), ("maxwell3", {"per_face": True})])
def test_every_order(device, system, options, order, dtype):
    operator, = operators(system, order, dtype, ("array",))
    call = Call(device, operator, **options)
    call()
    call.check()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_boundary_condition(device, system, dtype):
    for operator in conditions_of(system, dtype):
        call = Call(device, operator, per_face=dtype == "float32")
        call()
        call.check()


@pytest.mark.parametrize("mesh, law, boundary", [
    (lambda: dg.interval(0, 1, 2, periodic=True), dg.Acoustics(1), None),
    (lambda: dg.interval(0, 1, 1), dg.Acoustics(1), dg.wall),
    (lambda: dg.rectangle(cells=(3, 3), periodic=True, perturb=0.1), dg.Maxwell(2, "TM"), None),
    (lambda: dg.read_mesh(MESHES / "sphere_coarse.msh"), dg.Acoustics(3), dg.absorbing)])
def test_meshes(device, mesh, law, boundary):
    """Elements beside themselves, no interior faces, no boundary, and tetrahedra that lie to each other in every way."""
    operator = dg.NodalDG(2).discretise(mesh(), law, boundary, backends.get("numpy", "array", "float32"))
    call = Call(device, operator, per_face=True)
    call()
    call.check()


def test_boundaries_with_one_condition_are_one_launch(device):
    mesh = box_of(2)
    boundary = dict(zip(mesh.boundaries, [dg.pec, dg.pmc, dg.pec, dg.pec]))
    operator = dg.NodalDG(2).discretise(mesh, dg.Maxwell(2, "TE"), boundary, backends.get("numpy", "array", "float64"))
    call = Call(device, operator)
    assert len(call.faces.parts) == 3
    call()
    call.check()


def test_time_is_read_when_a_graph_is_launched(device):
    operator, = operators("advection2", 2, "float32", ("array",))
    call = Call(device, operator)
    call()                                     # on a device the first call compiles
    call.check()
    graph = device.capture(call)
    for t in (0.1, 0.4):
        call.flux[...] = np.nan
        call.clock[4] = t
        graph.launch()
        call.check(t)


@pytest.mark.parametrize("per_face", [False, True])
def test_same_bits_every_time(device, per_face):
    operator, = operators("maxwell3", 2, "float32", ("array",))
    results = []
    for block in (128, 128, 64):
        call = Call(device, operator, per_face=per_face, block=block)
        call()
        results.append(call.result())
    assert np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])


def test_large_problems_have_wide_numbers(device, monkeypatch):
    operator, = operators("acoustics2", 2, "float64", ("array",))
    small = Call(device, operator)
    assert {a.dtype.name for part in small.faces.parts for a in part.arrays} == {"float64", "uint32"}
    size = Layout.size
    monkeypatch.setattr(Layout, "size", lambda layout, rows: size(layout, rows) + 2 ** 32)
    faces = Faces(device, "float64", operator.tables, small.layout)
    assert {a.dtype.name for part in faces.parts for a in part.arrays} == {"float64", "uint64"}
    monkeypatch.undo()
    small.faces = faces
    small()
    small.check()


@pytest.mark.parametrize("order", range(1, 11))
@pytest.mark.parametrize("width", [0, 32])
def test_patterns_hold_every_node_and_slot(order, width):
    """The place of every face node of every interior face, of tetrahedra that lie to each other in every way."""
    mesh = dg.read_mesh(MESHES / "sphere_coarse.msh")
    tables = dg.NodalDG(order).discretise(mesh, dg.Acoustics(3), dg.wall, backends.get("numpy", "array", "float64")).tables
    faces, layout = tables.faces.lists().interior[0]._asdict(), Layout(tables.elements, width)
    order = np.random.default_rng(0).permutation(faces["cells"].shape[1])
    (*starts, pattern), rows = places(tables, layout, order, faces)
    assert rows.shape[2] > 6
    counts = len(tables.basis.cell.nodes), tables.basis.face_nodes.size
    for k, (name, count) in enumerate(zip(("nodes", "slots"), counts)):
        for side in range(2):
            found = starts[2 * k + side].astype(int) + rows[2 * k + side][:, pattern]
            row, element = np.divmod(faces[name][side][:, order], tables.elements)
            assert np.array_equal(found, layout.at(tables.variables * count, row, element))


def test_bytes_on_the_device(device):
    """In the docstring's count: the reals and five or three integers of every face, and small tables."""
    operator = dg.NodalDG(3).discretise(box_of(3), dg.Maxwell(3, eps=of_element(lambda x: 1 + x[0])), dg.pec,
                                        backends.get("numpy", "array", "float32"))
    faces = Faces(device, "float32", operator.tables, Layout(operator.tables.elements, 32))
    interior, boundary = faces.parts
    numbers, starts, rows = interior.arrays
    assert (numbers.nbytes + starts.nbytes) / interior.count == (3 + 2 + 2) * 4 + 20
    assert rows.shape[:2] == (4, 10)
    numbers, starts, rows = boundary.arrays
    assert (numbers.nbytes + starts.nbytes) / boundary.count == (3 + 1 + 1) * 4 + 12
    assert faces.nbytes == sum(a.nbytes for part in faces.parts for a in part.arrays)


@pytest.mark.thorough
def test_ptx_without_a_gpu():
    """Every kernel compiles, and in float32 computes in float32; in a process of its own, without the simulator."""
    assert int(without_simulator("test_cuda_faces")) > 100


def check_ptx():
    """Compile the kernels of every law and condition; raises AssertionError for what has no place in a float32 kernel."""
    from numba import types
    cuda = numba_cuda()

    def ptx(source, per_face, architecture, integer=types.uint32):
        real = getattr(types, str(source.dtype))
        arrays = [types.Array(kind, dimension, "C") for kind, dimension in (
            (real, 1), (real, 1), (real, 1), (real, 2), (integer, 2), (integer, 3))]
        signature = types.void(*arrays[:3], types.int32, *arrays[3:])
        capability = tuple(map(int, architecture.removeprefix("sm_")))
        return kept("ptx", (source.text(per_face), str(signature), architecture),
                    lambda: cuda.compile_ptx(source.kernel(per_face).py_func, signature, cc=capability)[0])

    both = [(per_face, architecture) for per_face in (False, True) for architecture in ARCHITECTURES]
    done = set()
    for system in SYSTEMS:
        for operator in conditions_of(system, "float32"):
            tables, layout = operator.tables, Layout(operator.tables.elements, 32)
            pair = tables.physics.functions.pair, "lr", ("ml", "mr")
            jumps = [(group.jump, "q", ("m",)) for group in tables.faces.groups]
            for number, part in enumerate((pair, *jumps)):
                source = FaceSource(np.dtype("float32"), tables, layout, *part)
                for per_face, architecture in both[::3] if part is pair else [both[number % 4]]:
                    key = source.text(per_face), architecture
                    if key not in done:
                        only_float32(ptx(source, per_face, architecture), source.function.graph)
                    done.add(key)
        assert ".f64" in ptx(FaceSource(np.dtype("float64"), tables, layout, *pair), False, "sm_90")
    ptx(source, False, "sm_90", types.uint64)
    print(len(done))


def only_float32(ptx, graph):
    found = float64_instructions(ptx, {"sin", "cos", "tan"} & graph.operations.keys())
    assert not found, f"{graph.name}: {found}"
