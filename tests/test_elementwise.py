"""Graphs at points of arrays by one launch on CuPy, against NumPy; launches of whole steps; what the emulation refuses."""
from functools import cache, reduce
from operator import add

import emulated_elementwise
import numpy as np
import pytest
from compiled import ARCHITECTURES, compiled, float64_instructions
from emulated import compiler
from strict import StrictNamespace, counting
from test_tensor_dg import laws, mesh_of, smooth

import dgarray as dg
from dgarray import backends
from dgarray.backends import series
from dgarray.backends.arrays import ArrayBackend
from dgarray.backends.elementwise import At, Elementwise
from dgarray.physics import taylor
from dgarray.physics.pointwise import Pointwise, Rows
from dgarray.physics.trace import trace

needs_compiler = pytest.mark.skipif(compiler() is None, reason="there is no C++ compiler to run CUDA C on the CPU")
DTYPES = pytest.mark.parametrize("dtype", ["float64", "float32"])


def on_arrays(xp, graph, reads, writes=()):
    """Evaluate a graph on arrays of the library xp, one operation after the other; arguments and result of `Elementwise`."""
    def read(value):
        if not isinstance(value, At):
            return value
        return value.entries if value.index is None else value.entries.reshape(-1)[value.index]
    values = []
    for op, first, *others in graph.nodes:
        if op == "input":
            values.append(read(reads[first]))
        else:
            values.append(first if op == "const" else getattr(xp, op)(*(values[i] for i in (first, *others))))
    found = [values[i] for i in graph.outputs]
    for target, value in zip(writes, found):
        place, entries = (..., target.entries) if target.index is None else (target.index, target.entries.reshape(-1))
        entries[place] = value if target.factor is None else entries[place] + target.factor * value
    return None if writes else found


def formula(q, r, s, t):
    """A number that needs all inputs, one by a choice, a truth, an input alone, a constant."""
    return q[0] * r[0] + s / t, np.where(q[1] > t, np.sqrt(q[1]), r[1] ** 3), q[0] > r[1], r[1], 2.5


GRAPH = trace(formula, {"q": 2, "r": 2, "s": None, "t": None}, "the 'formula'")


def arrays(dtype, seed=0):
    """Rows of a state, numbers of places in them at 7 times 5 points, values at these points, values at 5."""
    rng = np.random.default_rng(seed)
    q, r, s = (rng.uniform(0.5, 1.5, shape).astype(dtype) for shape in ((2, 50), (2, 7, 5), 5))
    return q, rng.permutation(50)[:35].reshape(7, 5), r, s


def on_host(values):
    return [value.get() if hasattr(value, "get") else value for value in values]


def reads_of(move, dtype, layout):
    """The reads of the graph on arrays that `move` has moved: of whole rows, of every second place, of transposed ones."""
    q, places, r, s = arrays(dtype)
    if layout == "apart":
        q, r = move(np.repeat(q, 2, axis=1))[:, ::2], move(np.repeat(r, 2, axis=2))[:, :, ::2]
    elif layout == "transposed":
        q, r = move(q.T.copy()).T, move(r.transpose(0, 2, 1).copy()).transpose(0, 2, 1)
    else:
        q, r = move(q), move(r)
    places = move(places.astype(np.int32 if layout == "apart" else np.int64))
    return {"q0": At(q, 0, places), "q1": At(q, 1, places), "r0": At(r, 0), "r1": r[1], "s": move(s), "t": 0.9}


@DTYPES
@pytest.mark.parametrize("layout", ["rows", "apart", "transposed"])
def test_one_launch_gives_what_numpy_does(device, dtype, layout):
    xp = device.xp
    evaluate, given = Elementwise(xp, dtype), reads_of(xp.asarray, dtype, layout)
    evaluate(GRAPH, given)
    with counting() as launches:
        found = evaluate(GRAPH, given)
    assert not isinstance(xp, StrictNamespace) or dict(launches) == {"pointwise_the_formula": 1}
    assert found[3] is given["r1"] or found[3].shape == (7, 5)
    assert found[4] == 2.5 and [value.dtype.name for value in found[:4]] == [dtype, dtype, "bool", dtype]
    host = {name: value if isinstance(value, At | float) else At(value)
            for name, value in reads_of(lambda values: values, dtype, layout).items()}
    for value, expected in zip(on_host(found)[:3], on_arrays(np, GRAPH, host)):
        assert value.shape == (7, 5) and np.abs(value * 1 - expected * 1).max() <= 4 * np.finfo(dtype).eps


@DTYPES
def test_puts_and_sums_through_lists(device, dtype):
    """An output is set or added, in rows or through a list, and in a place that is read."""
    results = []
    for xp in (device.xp, np):
        move = xp.asarray
        reads, rng = reads_of(move, dtype, "rows"), np.random.default_rng(1)
        free, total, wide, flags = (move(values) for values in (
            np.zeros((2, 60), dtype), np.ones((3, 7, 5), dtype), np.ones((7, 10), dtype), np.zeros((7, 5), bool)))
        slots = move(rng.permutation(60)[:35].reshape(7, 5))
        writes = [At(free, 1, slots), At(free, 0, slots, -0.5), At(flags), At(total, 2, None, 3.0), At(wide[:, ::2])]
        into_r = [writes[0], At(reads["r0"].array, 0), *writes[2:]]          # r0, which is read, too
        for targets in (writes, into_r):
            if xp is np:
                reads = {name: value if isinstance(value, At | float) else At(value) for name, value in reads.items()}
                assert on_arrays(np, GRAPH, reads, targets) is None
            else:
                assert Elementwise(xp, dtype)(GRAPH, reads, targets) is None
        results.append(on_host([free, total, wide, flags, reads["r0"].array]))
    for found, expected in zip(*results):
        assert np.abs(found * 1 - expected * 1).max() <= 8 * np.finfo(dtype).eps and (expected != 1).any()


def test_what_needs_no_launch(device):
    xp = device.xp
    a = xp.asarray(np.ones(3))
    graph = trace(lambda q, t: (q[1], 0.0, t), {"q": 2, "t": None}, "as it is")
    with counting() as launches:
        found = Elementwise(xp, "float64")(graph, {"q1": a, "t": 4.0})
    assert found == [a, 0.0, 4.0] and not launches
    empty = Elementwise(xp, "float64")(trace(lambda q: 2 * q[0], {"q": 1}, "none"), {"q0": xp.asarray(np.ones((4, 0)))})
    assert empty[0].shape == (4, 0)
    number = trace(lambda t: np.sqrt(t), {"t": None}, "a number")
    assert on_host(Elementwise(xp, "float64")(number, {"t": 4.0}))[0] == 2.0


def test_texts_do_not_depend_on_numbers_and_sizes(device):
    evaluate = Elementwise(device.xp, "float64")
    graph = trace(lambda q, s, t: q[0] * s + t, {"q": 1, "s": None, "t": None}, "line")
    for count, s, t in ((3, 1.0, 2.0), (5, 2.0, 2.0), (7, 0.0, 1e300)):
        found = evaluate(graph, {"q0": device.xp.asarray(np.arange(float(count))), "s": s, "t": t})
        assert on_host(found)[0].tolist() == (np.arange(float(count)) * s + t).tolist()
    assert len(evaluate.texts) == len(evaluate.kernels) == 1


@pytest.mark.parametrize("alone", [True, False])
def test_more_arrays_than_parameters(device, alone):
    """They are copied into rows of one; each by itself, or all but one of the points' shape."""
    xp, count, rng = device.xp, 150, np.random.default_rng(0)
    values = [rng.standard_normal((4, 6) if alone else 6) for _ in range(count)]
    graph = trace(lambda q: [reduce(add, q), *q[:2]], {"q": count}, "sum")
    expected = [sum(values), *values[:2]]
    into = xp.asarray(np.ones((4, 12)))
    targets = [At(xp.asarray(np.zeros((4, 6)))), At(into[:, ::2], None, None, 2.0), At(into[:, 1::2])]
    evaluate = Elementwise(xp, "float64")
    reads = {f"q{k}": xp.asarray(value) for k, value in enumerate(values)}
    evaluate(graph, reads, targets)
    found = on_host([targets[0].array, into[:, ::2], into[:, 1::2]])
    for value, wanted in zip(found, (expected[0], 1 + 2 * expected[1], expected[2])):
        assert np.abs(value - wanted).max() < 1e-13
    assert np.abs(on_host(evaluate(graph, reads))[0] - expected[0]).max() < 1e-13
    many = [At(xp.asarray(np.zeros((2, 6)))[:, ::2]) for _ in range(count)]
    evaluate(trace(lambda q: [k * q[0] for k in range(count)], {"q": 1}, "multiples"), {"q0": xp.asarray(np.arange(3.0))}, many)
    assert all((target.array.get() == k * np.arange(3.0)).all() for k, target in enumerate(many))
    places = {f"q{k}": At(xp.asarray(np.ones(9)), None, xp.asarray(np.arange(6))) for k in range(9, count)}
    with pytest.raises(ValueError, match="sum reads and writes more arrays through lists than a kernel takes"):
        evaluate(graph, {name: places.get(name, value) for name, value in reads.items()})


def test_shapes_and_types_that_do_not_fit(device):
    xp, evaluate = device.xp, Elementwise(device.xp, "float64")
    graph = trace(lambda q: 2 * q[0], {"q": 1}, "double")
    reads = {"q0": xp.asarray(np.ones((3, 4)))}
    with pytest.raises(ValueError, match=r"double is evaluated at points \(3, 4\) and cannot be put into .* shape \(4,\)"):
        evaluate(graph, reads, [At(xp.asarray(np.ones(4)))])
    with pytest.raises(TypeError, match="Type is mismatched"):
        evaluate(graph, {"q0": xp.asarray(np.ones(3, np.float32))})


@DTYPES
def test_a_function_on_a_backend(device, dtype):
    """Components as rows, lists, dicts and numbers, put in rows."""
    function = Pointwise(formula, {"q": 2, "r": 2, "s": None, "t": None}, "formula")
    results = []
    for backend in (ArrayBackend(device.xp, dtype, "cupy"), backends.get("numpy", "array", dtype, 1)):
        q, places, r, s = arrays(dtype)
        total, others = backend.zeros((2, 60)), backend.zeros((3, 7, 5))
        given = dict(q=Rows(backend.array(q), backend.integers(places)), r=Rows([backend.array(row) for row in r]),
                     s=backend.array(s), t=backend.number(0.9))
        backend.evaluate(function, [Rows(total, backend.integers(places), 2.0), Rows(others)], **given)
        results.append([backend.host(values) for values in (total, others, backend.evaluate(function, **given)[0])])
        assert results[-1][-1].dtype == dtype
    for found, expected in zip(*results):
        assert np.abs(found - expected).max() <= 8 * np.finfo(dtype).eps


@pytest.mark.parametrize("d", [1, 2, 3])
def test_products_of_series(device, d):
    """Of places that differ, and of those along one axis."""
    rng, places = np.random.default_rng(d), (2, 3, 4)[-d:]
    b = rng.standard_normal((4,) * d + places)
    for own in (places, (1,) * (d - 1) + (4,)):
        a = rng.standard_normal((4,) * d + own)
        found = series.multiply(device.xp, d, device.xp.asarray(a), device.xp.asarray(b)).get()
        assert np.abs(found - taylor.apply("multiply", d, a, b)).max() < 1e-13 * 4 ** d


# Launches of whole steps.

def sines(law, x):
    return tuple(np.sin(3 * sum(x) + i) for i in range(len(law.variables)))


def discs(law, x):
    near, rest = sum((c - 0.4) ** 2 for c in x) < 0.05, 0 * x[0]
    return law.conservative((np.where(near, 1.0, 0.5), *[0.2 + rest] * law.dim, np.where(near, 1.0, 0.4)))


def split_form(**options):
    (law, uniform), method = laws(3)["euler"], dg.TensorDG(3, "lobatto", volume_flux=dg.ranocha, **options)
    return mesh_of(3, 3, periodic=True), law, method, None, dg.rusanov, smooth(law, uniform)


def medium(dim, order):
    law = dg.Acoustics(dim, sound_speed=lambda x: 1 + 0.3 * np.sin(2 * np.pi * x[0]))
    return dg.Grid((0,) * dim, (1,) * dim, (6, 5, 4)[:dim], True), law, dg.Hermite(order), None, None, lambda x: sines(law, x)


def gas(method, mesh=None):
    law = dg.Euler(2)
    return mesh or dg.rectangle(cells=(5, 4)), law, method, dg.wall, dg.hllc, lambda x: discs(law, x)


STEPS = {          # {name: (problem, launches of a stage)}
    "split form": (lambda: split_form(), 56), "split form with subcells": (lambda: split_form(shock_capturing=0.5), 96),
    "Hermite, varying, 2D": (lambda: medium(2, 2), 95), "Hermite, varying, 3D": (lambda: medium(3, 1), 111),
    "Maxwell on tetrahedra": (lambda: (dg.box(cells=2), dg.Maxwell(3), dg.NodalDG(2), dg.pec, None,
                                       lambda x: sines(dg.Maxwell(3), x)), 12),
    "limiter on triangles": (lambda: gas(dg.ModalDG(1, limiter="vertex", positivity=True)), 40),
    "limiter of waves": (lambda: gas(dg.ModalDG(1, limiter="vertex", limiter_variables="characteristic")), 38),
    "finite volumes": (lambda: gas(dg.FiniteVolume(), dg.Grid((0, 0), (1, 1), (12, 9))), 60)}


ALIKE = {"split form", "Hermite, varying, 3D", "limiter of waves"}          # to others in what runs


@cache
def stepped(name, kind):
    """(The state after two steps, launches of a stage of the second one)."""
    mesh, law, method, boundary, flux, initial = STEPS[name][0]()
    backend = ArrayBackend(StrictNamespace() if kind == "cupy" else np, "float64", kind)
    operator = method.discretise(mesh, law, boundary, backend, flux)
    state = operator.advance(operator.state(operator.project(initial)), 0.0, 1e-3)
    with counting() as launches:
        state = operator.advance(state, 1e-3, 1e-3)
    return operator.host(state), launches.total() / operator.stage_count


@needs_compiler
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.thorough] * (name in ALIKE)) for name in STEPS])
def test_steps_are_those_of_numpy_by_few_launches(name):
    (found, launches), (expected, _) = stepped(name, "cupy"), stepped(name, "numpy")
    assert np.abs(found - expected).max() < 1e-13 * np.abs(expected).max()
    assert launches <= STEPS[name][1]


@needs_compiler
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_kernels_of_steps_compile(arch):
    """As CuPy writes them around their bodies, all of a dtype in one text; those of float32 have no float64 instruction."""
    emulated_elementwise.sources.clear()
    for layout, dtype in (("rows", "float64"), ("apart", "float32")):
        Elementwise(StrictNamespace(), dtype)(GRAPH, reads_of(StrictNamespace().asarray, dtype, layout))
    for name in ("split form with subcells", "Hermite, varying, 2D", "Maxwell on tetrahedra"):
        stepped.__wrapped__(name, "cupy")
    header = emulated_elementwise.HEADER.read_text()
    for dtype, real in (("float64", "double"), ("float32", "float")):
        some = [(source.removeprefix(header), name) for source, name in emulated_elementwise.sources.items()
                if f" {real} " in source.removeprefix(header)]
        text = [source.replace(f" {name}(", f" {name}_{number}(") for number, (source, name) in enumerate(some)]
        code = compiled("\n".join([header, *text]), dtype, arch)
        assert len(code.kernels) == len(some) >= 1
        assert dtype == "float64" or not float64_instructions(code.ptx)


# What the emulation refuses, as CuPy does.

@needs_compiler
@pytest.mark.parametrize("parameters, given, error, words", [
    (("float64 i", "float64 y", "y = i"), (), ValueError, "Can not use 'i'"),
    (("float64 _x", "float64 y", "y = _x"), (), ValueError, "Can not use '_x'"),
    (("const float64 x", "float64 y", "y = x"), (), ValueError, "Unknown keyword"),
    (("real x", "float64 y", "y = x"), (), TypeError, "'real' not understood"),
    (("float64 x", "float64 y", "y = x", "a name"), (), ValueError, "Invalid kernel name"),
    (("float64 x", "float64 y", "y = x"), (1.0,), ValueError, "Loop size is undecided"),
    (("float64 x", "float64 y", "y = x"), (1.0, 2.0, 3.0), TypeError, "Wrong number of arguments"),
    (("float64 x", "float64 y", "y = x"), (np.ones(3),), TypeError, "Unsupported type"),
    (("float32 x", "float32 y", "y = x"), ("ones",), TypeError, "Type is mismatched"),
    (("T x, T y", "T z", "z = x + y"), ("ones", "single"), TypeError, "Type is mismatched"),
    (("T x", "T y", "y = x"), ("ones", "short"), ValueError, "Out shape is mismatched"),
    (("float64 x", "raw float64 y", "y[i] = x"), ("ones",), ValueError, "Output array size is Undecided"),
    (("raw T x", "T y", "y = x[9]"), ("ones", "ones"), RuntimeError, None),
    (("T x", "raw T y", "y[i + 1] = x"), ("ones", "ones"), RuntimeError, "writes beyond an array"),
    (("T x", "T y", "x = y"), ("ones", "ones"), RuntimeError, "does not compile.*read-only"),
    ((", ".join(f"float64 x{k}" for k in range(300)), "float64 y", "y = x0"), ("ones",) * 300, RuntimeError,
     "bytes of parameters are more than 4096")])
def test_what_the_emulation_refuses(parameters, given, error, words):
    xp = StrictNamespace()
    values = {"ones": xp.asarray(np.ones(3)), "single": xp.asarray(np.ones(3, np.float32)), "short": xp.asarray(np.ones(1))}
    if words is None:          # a read beyond an array is seen in the result
        xp.ElementwiseKernel(*parameters)(values["ones"], values["ones"])
        assert np.isnan(values["ones"].get()).all()
        return
    with pytest.raises(error, match=words):
        xp.ElementwiseKernel(*parameters)(*(values[each] if isinstance(each, str) else each for each in given))


@needs_compiler
def test_the_emulation_has_cupy_s_loop():
    """Raw arrays by number, also with steps; broadcasting; a type of one letter; the number of points; `reduce_dims`."""
    xp = StrictNamespace()
    x, y = np.arange(24.0).reshape(4, 6), np.arange(6.0)
    kernel = xp.ElementwiseKernel("T x, raw T y, int32 k", "T z", "z = x + y[i % k] * _ind.size()")
    found = kernel(xp.asarray(x)[:, ::2], xp.asarray(y)[::-2], 3).get()
    assert found.tolist() == (x[:, ::2] + y[::-2] * 12).tolist()
    whole = xp.ElementwiseKernel("raw float32 x", "raw int64 n0", "n0[i] = x[_ind.size() - 1 - i]")
    assert whole(xp.asarray(np.arange(5, dtype=np.float32)), size=5).get().tolist() == [4, 3, 2, 1, 0]
    with pytest.raises(ValueError, match="'size' can be used only if all"):
        kernel(xp.asarray(x), xp.asarray(y), 3, size=4)
    axes = xp.ElementwiseKernel("T x", "int64 d", "d = sizeof(_ind.get()) / sizeof(ptrdiff_t) * x", reduce_dims=False)
    assert (axes(xp.asarray(np.ones((2, 3, 4)))).get() == 3).all()
