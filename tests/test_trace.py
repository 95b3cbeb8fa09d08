"""The tracer and the scalar code: what array evaluation gives, the compiled function gives, in the dtype of the run."""
import importlib.util
import inspect
import math
import os
import random
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from formulas import INPUTS, LANES, OPERATIONS, by_argument, states
from numba import njit

from dgarray.physics.codegen import Cuda, Python, formulas, scalar_source
from dgarray.physics.trace import Graph, TraceError, arguments, call, trace
from dgarray.support.cached_modules import write_module


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DGARRAY_CACHE", str(tmp_path))


def compiled(graph, dtype):
    """The graph as a numba function (columns by input name (lane,), out (output, lane))."""
    dialect = Python(dtype)
    lines, outputs = scalar_source(graph, {name: f"{name}[i]" for name in graph.inputs}, dialect)
    lines += [f"out[{k}, i] = {output}" for k, output in enumerate(outputs)]
    source = "\n".join([
        "import numpy as np", dialect.header, *dialect.definitions, f"def kernel({', '.join([*graph.inputs, 'out'])}):",
        "    for i in range(out.shape[1]):", *(f"        {line}" for line in lines)])
    return njit(write_module(source, "kernel").kernel, fastmath={"contract"}, error_model="numpy")


def close(values, expected, tolerance):
    error = tolerance * np.finfo(expected.dtype).eps
    np.testing.assert_allclose(values, expected, rtol=error, atol=error)


def compare(function, dtype, tolerance=8, seed=0):
    """Check compiled against array evaluation, within `tolerance` rounding errors, and return the compiled function."""
    graph = trace(function, INPUTS)
    columns = states(dtype, seed)
    with np.errstate(all="ignore"):
        expected = call(function, by_argument(columns))
    expected = np.array([np.broadcast_to(value, LANES) for value in expected], dtype)
    kernel, out = compiled(graph, dtype), np.empty((len(expected), LANES), dtype)
    kernel(*(columns[name] for name in graph.inputs), out)
    close(out, expected, tolerance)
    return kernel


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_compiled_is_array(name, dtype):
    kernel = compare(OPERATIONS[name], dtype, tolerance=16)
    code = next(iter(kernel.inspect_llvm().values()))
    assert ("double" in code) == (dtype == "float64")


def random_expression(rng, q, depth):
    def sub():
        return random_expression(rng, q, depth - 1)
    if depth == 0:
        return rng.choice([*q, 0.0, 1.0, -1.0, 2.0, 0.3])
    kind = rng.randrange(11)
    if kind < 5:
        a, b = sub(), sub()
        return (a + b, a - b, a * b, a / (2 + b * b), -a)[kind]
    if kind == 5:
        return np.where(sub() < sub() + 0 * q[0], sub(), sub() + 0 * q[1])
    if kind == 6:
        return np.minimum(sub(), sub() + q[0])
    return (np.sqrt(1 + sub()**2), np.sin(sub() + q[2]), np.tanh(q[1] * sub()), abs(sub())**3 / 8)[kind - 7]


@pytest.mark.parametrize("seed", range(6))
def test_random_expressions(seed):
    def function(q):
        rng = random.Random(seed)
        finite = tuple(np.where(c == c, c, 0.0) for c in q)
        return tuple(np.tanh(random_expression(rng, finite, 4)) + finite[0] for _ in range(8))
    compare(function, "float64", tolerance=1e5, seed=seed)


def test_nan_wins_in_minimum_and_maximum():
    graph = trace(lambda q: (np.minimum(q[0], q[1]), np.maximum(q[0], q[1])), INPUTS)
    nan = np.nan
    out = np.empty((2, 3))
    compiled(graph, "float64")(np.array([nan, 1, nan]), np.array([1, nan, nan]), out)
    assert np.isnan(out).all()


@pytest.mark.thorough
def test_selects_leave_a_vector_loop():
    """Loops over selects become vector instructions: there is no branch in them."""
    kernel = compare(lambda q: (np.where((q[0] < q[1]) & ~(q[2] > 0), np.minimum(q[0], q[2]), np.sign(q[1])),),
                     "float32")
    assert " x float>" in next(iter(kernel.inspect_llvm().values()))


def operations(function):
    return trace(function, INPUTS).operations


def test_equal_expressions_are_one_node():
    assert operations(lambda q: (q[0] * q[1] + q[2], q[2] + q[1] * q[0])) == {"multiply": 1, "add": 1}
    assert operations(lambda q: (q[0] - q[1], q[1] - q[0])) == {"subtract": 2}
    graph = trace(lambda q: (q[0] * q[1], q[1] * q[0]), INPUTS)
    assert graph.outputs[0] == graph.outputs[1]


@pytest.mark.parametrize("function, expected", [
    (lambda q: q[0] + 0, {}), (lambda q: 0 + q[0], {}), (lambda q: q[0] - 0.0, {}), (lambda q: 1 * q[0], {}),
    (lambda q: q[0] / 1, {}), (lambda q: 0 * q[0], {}), (lambda q: np.negative(-q[0]), {}),
    (lambda q: q[0]**1, {}), (lambda q: q[0]**-0.3, {"power": 1, "divide": 1}),
    (lambda q: -1 * q[0], {"negative": 1}), (lambda q: 0 - q[0], {"negative": 1}),
    (lambda q: q[0] / -1, {"negative": 1}), (lambda q: q[0] + -q[1], {"subtract": 1}), (lambda q: q[1] - 0 * q[0], {}),
    (lambda q: q[0] - -q[1], {"add": 1}), (lambda q: q[0]**2, {"multiply": 1}), (lambda q: q[0]**3, {"multiply": 2}),
    (lambda q: q[0]**8, {"multiply": 3}), (lambda q: q[0]**0.5, {"sqrt": 1}), (lambda q: q[0]**9, {"power": 1}),
    (lambda q: q[0]**-1, {"divide": 1}), (lambda q: q[0]**-2, {"multiply": 1, "divide": 1}),
    (lambda q: q[0]**-0.5, {"sqrt": 1, "divide": 1}), (lambda q: np.where(q[0] < 0, q[1], q[1]), {}),
    (lambda q: np.where(True, q[0], q[1]), {}), (lambda q: np.exp(0 * q[0]) + 0 * q[1], {}),
    (lambda q: 1 / (0 * q[0]), {}),
])
def test_simplified(function, expected):
    assert operations(function) == expected


def test_unused_nodes_and_inputs_are_dropped():
    def function(q, n, t):
        np.exp(t) * q[2]
        return q[0] * n[1]
    graph = trace(function, INPUTS)
    assert graph.inputs == ("q0", "n1") and graph.operations == {"multiply": 1}
    assert graph.depends_on("q") and graph.depends_on("n") and not graph.depends_on("t") and not graph.depends_on("m")
    assert graph.nodes == (("input", "q0", "q"), ("input", "n1", "n"), ("multiply", 0, 1)) and graph.outputs == (2,)


def test_flops_count_arithmetic_only():
    def function(q):
        return -q[0] + q[1] * 2 - np.sqrt(q[2]), np.where(q[0] < q[1], np.minimum(q[0], 1), abs(q[1]))
    graph = trace(function, INPUTS)
    assert graph.flops == 4
    assert graph.operations == {"negative": 1, "multiply": 1, "add": 1, "subtract": 1, "sqrt": 1, "less": 1,
                                "minimum": 1, "absolute": 1, "where": 1}
    assert "4 flops" in repr(graph)


def test_nested_results_and_generators_come_in_one_row():
    graph = trace(lambda q, n: ((c * k for c in q) for k in n), INPUTS)
    assert len(graph.outputs) == 6 and graph.flops == 6
    assert len(trace(lambda q: (q[0], (q[1], [q[2]])), INPUTS).outputs) == 3
    assert trace(lambda q: q[0], INPUTS).outputs == (0,)


def floor(q):
    return np.floor(q[0])


def branch(q):
    return q[0] if q[0] > 0 else q[1]


def mathematics(q):
    return math.sqrt(q[0])


REFUSED = [
    (floor, "np.floor is not supported", "return np.floor(q[0])"),
    (branch, "use np.where instead of if", "return q[0] if q[0] > 0"),
    (mathematics, "use np.sqrt, not math.sqrt", "return math.sqrt(q[0])"),
    (lambda q: max(q[0], 1), "np.maximum and np.minimum instead of max and min", "max(q[0], 1)"),
    (lambda q: 0 < q[0] < 1, "use np.where", "0 < q[0] < 1"),
    (lambda q: q[0] or q[1], "& and | for logic", "q[0] or q[1]"),
    (lambda q: int(q[0]), "need a known number", "int(q[0])"),
    (lambda q: round(q[0]), "need a known number", "round(q[0])"),
    (lambda q: q[0][1], "index the tuple of components", "q[0][1]"),
    (lambda q: len(q[0]), "without length", "len(q[0])"),
    (lambda q: [c for c in q[0]], "without length", "for c in q[0]"),    # noqa: C416
    (lambda q: np.array([q[0], q[1]]), "cannot go into a NumPy array", "np.array("),
    (lambda q: np.sum(q[0]), "np.sum is not supported", "np.sum(q[0])"),
    (lambda q: np.linalg.norm(q[0]), "np.linalg.norm is not supported", "np.linalg.norm"),
    (lambda q: np.stack([q[0], q[1]]), "np.stack is not supported", "np.stack"),
    (lambda q: q[0].sum(), "'.sum' of a value", "q[0].sum()"),
    (lambda q: q[0] % 2, "np.remainder is not supported", "q[0] % 2"),
    (lambda q: q[0] // 2, "np.floor_divide is not supported", "q[0] // 2"),
    (lambda q: q[0] ^ q[1], "np.bitwise_xor is not supported", "q[0] ^ q[1]"),
    (lambda q: q[0] & 1, "write (a < b) & (c < d)", "q[0] & 1"),
    (lambda q: ~q[0], "write (a < b) & (c < d)", "~q[0]"),
    (lambda q: (q[0] < 0) + (q[1] < 0), "only comparisons", "(q[0] < 0) + (q[1] < 0)"),
    (lambda q: np.add.reduce(q[0]), "np.add.reduce is not supported", "np.add.reduce(q[0])"),
    (lambda q: np.add(q[0], q[1], where=q[2] > 0), "np.add with where=", "np.add("),
    (lambda q: np.add(q[0], q[1], out=q[2]), "np.add with out=", "np.add("),
    (lambda q: np.clip(q[0], 0, 1, out=q[1]), "np.clip with out=", "np.clip("),
    (lambda q: np.where(q[0] > 0), "np.where is not supported", "np.where(q[0] > 0)"),
    (lambda q: q[0] * np.ones(3), "an array of shape (3,)", "np.ones(3)"),
    (lambda q: q[0] * "a", "", "q[0] * \"a\""),
    (lambda q: q[0] * 1j, "neither a real number", "1j"),
    (lambda q: q[0] == None, "None (NoneType)", "== None"),    # noqa: E711
]


@pytest.mark.parametrize("function, problem, line", REFUSED)
def test_refused_with_the_users_line(function, problem, line):
    with pytest.raises(TraceError) as error:
        trace(function, INPUTS)
    message = str(error.value)
    assert problem in message and line in message and f"{__file__}:" in message
    if "not supported" in message:
        assert "arctan2" in message


def test_line_is_the_innermost_of_the_user():
    def outer(q):
        return floor(q)
    with pytest.raises(TraceError, match="return np.floor"):
        trace(outer, INPUTS)


def test_line_is_found_when_the_package_is_installed(tmp_path):
    """In site-packages, trace.py itself is still not the user's line."""
    path = tmp_path / "lib" / "site-packages" / "dgarray" / "trace.py"
    path.parent.mkdir(parents=True)
    shutil.copy(inspect.getfile(trace), path)
    spec = importlib.util.spec_from_file_location("installed_trace", path)
    installed = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(installed)
    with pytest.raises(installed.TraceError, match="return np.floor"):
        installed.trace(floor, INPUTS)


def test_results_must_be_numbers():
    with pytest.raises(TraceError, match="boundary 'walls': function '<lambda>' returns None; it must return numbers"):
        trace(lambda q: None, INPUTS, "boundary 'walls'")
    with pytest.raises(TraceError, match="returns 'a'"):
        trace(lambda q: (q[0], "a"), INPUTS)


def test_arguments_of_an_earlier_call_are_refused():
    kept = []

    def function(q):
        kept.append(q[0])
        return kept[0] * q[1]
    trace(function, INPUTS)
    with pytest.raises(TraceError, match="earlier call"):
        trace(function, INPUTS)


def test_parameters_that_are_numbers_are_constants():
    graph = trace(lambda m: m.eps * m.mu, INPUTS)
    assert graph.inputs == ("m_eps",) and ("const", 2.5) in graph.nodes


def test_arguments_by_name():
    class Condition:
        def state(self, q, n, scale=2):
            return q, n, scale

        def __call__(self, t):
            return t
    condition = Condition()
    assert arguments(condition.state) == ("q", "n", "scale") and arguments(condition) == ("t",)
    assert arguments(lambda q, *rest, **options: q) == ("q",)
    assert call(condition.state, {"q": 1, "n": 2, "t": 3}) == (1, 2, 2)
    assert call(condition.state, {"q": 1, "n": 2, "scale": 3}) == (1, 2, 3)
    assert call(partial(condition.state, n=5), {"q": 1}) == (1, 5, 2)

    def mirror(q, z):
        return q
    expected = "boundary 'walls': function 'mirror' asks for 'z'; allowed: l, n, q"
    with pytest.raises(TypeError, match=expected):
        call(mirror, {"q": 1, "n": 2, "l": 3}, "boundary 'walls'")
    with pytest.raises(TypeError, match="function 'mirror' asks for 'z'; allowed: m, n, q, t"):
        trace(mirror, INPUTS)


def test_constants_are_named_once():
    dialect = Python("float32")
    graph = trace(lambda q: (q[0] * 0.5, q[1] + 0.5, q[2] * -0.25), INPUTS)
    lines, outputs = scalar_source(graph, {f"q{i}": f"q[{i}]" for i in range(3)}, dialect)
    assert lines == ["v0 = q[0] * c_0", "v1 = q[1] + c_0", "v2 = q[2] * c_1"] and outputs == ["v0", "v1", "v2"]
    assert dialect.constants == {"c_0": 0.5, "c_1": -0.25}
    assert dialect.definitions == ["c_0 = np.float32(0.5)", "c_1 = np.float32(-0.25)"]
    more, _ = scalar_source(trace(lambda q: 0.5 / q[0], INPUTS), {"q0": "a"}, dialect, prefix="w")
    assert more == ["w0 = c_0 / a"]


def test_bad_requests_to_the_code_generator():
    graph = trace(lambda q: q[0] + q[1], INPUTS)
    with pytest.raises(KeyError, match="reads q1, but expressions are given for: q0"):
        scalar_source(graph, {"q0": "a"}, Python())
    with pytest.raises(ValueError, match="allowed: 'float32', 'float64'"):
        Cuda("float16")
    with pytest.raises(ValueError, match="1 outputs and 2 names"):
        formulas(graph, ["a", "b"])


def test_cuda_source():
    graph = trace(lambda q: (np.where(q[0] < -0.5, np.sqrt(q[1]), q[2] ** 1.5), np.inf * q[0]), INPUTS)
    lines, outputs = scalar_source(graph, {f"q{i}": f"q{i}" for i in range(3)}, Cuda("float32"))
    assert lines == ["const bool v0 = q0 < (-0.5f);", "const float v1 = sqrtf(q1);", "const float v2 = powf(q2, 1.5f);",
                     "const float v3 = v0 ? v1 : v2;", "const float v4 = (1.0f / 0.0f) * q0;"]
    assert outputs == ["v3", "v4"]
    double, _ = scalar_source(graph, {f"q{i}": f"q{i}" for i in range(3)}, Cuda("float64"))
    assert double[1:3] == ["const double v1 = sqrt(q1);", "const double v2 = pow(q2, 1.5);"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cuda_arithmetic_on_the_host(dtype, tmp_path):
    """CUDA C of every operation, compiled as C++ by the host's compiler, gives what the arrays give."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler on this machine")

    def everything(q, n, t, m):
        given = {"q": q, "n": n, "t": t, "m": m}
        return tuple(value for function in OPERATIONS.values() for value in call(function, given))
    graph, columns = trace(everything, INPUTS), states(dtype)
    dialect = Cuda(dtype)
    lines, outputs = scalar_source(graph, {name: f"{name}[i]" for name in graph.inputs}, dialect)
    lines += [f"out[{k} * {LANES} + i] = {output};" for k, output in enumerate(outputs)]
    pointers = ", ".join([f"const {dialect.real} *{name}" for name in graph.inputs] + [f"{dialect.real} *out"])
    text = f'#include <math.h>\nextern "C" void kernel({pointers}) {{\n for (int i = 0; i < {LANES}; i++) {{\n'
    (tmp_path / "kernel.cpp").write_text(text + "\n".join(lines) + "\n}}\n")
    subprocess.run([compiler, "-O1", "-Wdouble-promotion", "-Werror", "-shared", "-fPIC", "-o", tmp_path / "kernel.so",
                    tmp_path / "kernel.cpp"], check=True)
    out = np.empty((len(outputs), LANES), dtype)
    arrays = [*(columns[name] for name in graph.inputs), out.reshape(-1)]
    np.ctypeslib.load_library("kernel.so", tmp_path).kernel(*map(np.ctypeslib.as_ctypes, arrays))
    with np.errstate(all="ignore"):
        expected = np.array([np.broadcast_to(value, LANES) for value in everything(**by_argument(columns))], dtype)
    close(out, expected, 16)


def test_formulas():
    names = {"q0": "Hx", "q1": "Hy", "q2": "Ez", "n0": "nx", "n1": "ny"}

    def shown(function, outputs):
        return formulas(trace(function, INPUTS), outputs, names)
    assert shown(lambda q, n: (n[1] * q[0] - n[0] * q[1],), ["F_Ez"]) == ["F_Ez = ny*Hx - nx*Hy"]
    assert shown(lambda q: (q[0] - (q[1] - q[2]), q[0] / (q[1] / q[2]), -(q[0] + q[1])), "abc") == [
        "a = Hx - (Hy - Ez)", "b = Hx/(Hy/Ez)", "c = -(Hx + Hy)"]
    assert shown(lambda q: (-(q[0] * q[1]), q[2] / -(q[0] * q[1]), -q[0] + q[1], q[0] * -q[1]), "abcd") == [
        "a = -Hx*Hy", "b = Ez/(-Hx*Hy)", "c = -Hx + Hy", "d = Hx*(-Hy)"]
    assert shown(lambda q: (q[0]**2, (q[0] + q[1])**2.5, abs(q[0]) * -2.0, 2 * (q[1] + 1)), "abcd") == [
        "a = Hx**2", "b = (Hx + Hy)**2.5", "c = abs(Hx)*-2", "d = 2*(Hy + 1)"]
    assert shown(lambda q: (np.where((q[0] < 0) & ~((q[1] > 1) | (q[2] == 0)), q[0], 0),), "a") == [
        "a = where(Hx < 0 and not (Hy > 1 or Ez == 0), Hx, 0)"]

    def shared(q):
        a = np.sqrt(q[0] * q[1] + q[2])
        return a + 1, a - 1
    assert shown(shared, "bc") == ["a1 = sqrt(Hx*Hy + Ez)", "b = a1 + 1", "c = a1 - 1"]


def test_modules_are_written_once_and_imported_from_their_file(tmp_path, monkeypatch):
    monkeypatch.setenv("DGARRAY_CACHE", str(tmp_path / "cache"))
    source = "def f():\n    return 3\n"
    module = write_module(source, "once")
    path = tmp_path / "cache" / f"{module.__name__}.py"
    assert module.f() == 3 and module.__file__ == str(path) and path.read_text() == source
    assert module.__name__.startswith("once_") and len(module.__name__) == len("once_") + 16
    assert write_module(source, "once") is module
    assert write_module(source.replace("3", "4"), "once").f() == 4
    assert sorted(p.suffix for p in (tmp_path / "cache").iterdir() if p.is_file()) == [".py", ".py"]


def test_unwritable_cache_folder(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DGARRAY_CACHE", str(tmp_path / "file" / "cache"))
    module = write_module("x = 5\n", "private")
    assert module.x == 5 and not module.__file__.startswith(str(tmp_path))


TWO_FUNCTIONS = """
import numpy as np
from numba import njit


@njit(cache=True)
def inner(a, i):
    return a[i] + np.sin(a[i])


@njit(cache=True)
def run(a):
    for i in range(len(a)):
        a[i] = inner(a, i)
"""
COUNTED = """
from dgarray.support.cached_modules import write_module
import numpy as np
module = write_module({source!r}, "counted")
module.run(np.zeros(4))
print(*(sum(sum(getattr(each.stats, count).values()) for each in (module.run, module.inner))
        for count in ("cache_misses", "cache_hits")))
"""


def test_one_of_several_processes_compiles(tmp_path):
    """The others wait for it and find what it has compiled, also where one function calls another."""
    started = [subprocess.Popen([sys.executable, "-c", COUNTED.format(source=TWO_FUNCTIONS)], cwd=Path(__file__).parents[1],
                                stdout=subprocess.PIPE, text=True, env={**os.environ, "DGARRAY_CACHE": str(tmp_path)})
               for _ in range(3)]
    assert sorted(process.communicate()[0] for process in started) == ["0 1\n", "0 1\n", "2 0\n"]


def test_a_cache_folder_that_is_removed(tmp_path):
    """What has been imported compiles all the same."""
    run = write_module("from numba import njit\n\n\n@njit\ndef run(a):\n    return a + 1\n", "removed").run
    shutil.rmtree(tmp_path)
    assert run(2) == 3


def test_graph_is_frozen():
    graph = trace(lambda q: q[0], INPUTS)
    assert isinstance(graph, Graph)
    with pytest.raises(AttributeError):
        graph.name = "other"
