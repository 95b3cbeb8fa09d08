"""Expression graphs as instructions of the compiler: the values of NumPy, as from the text of `dgarray.physics.codegen`."""
import numpy as np
import pytest
from formulas import INPUTS, LANES, OPERATIONS, by_argument, states
from numba import njit

from dgarray.backends.cpu.simd import expressions, target
from dgarray.physics.trace import call, is_boolean, trace

COLUMNS = ("q0", "q1", "q2", "n0", "n1", "m_eps")          # t is given


def kernel_of(functions, first):
    """kernel(w, t): every function in every lane at the time t[0]; results in rows of w from `first` on, behind the COLUMNS."""
    scope, lines, row = {}, [], first
    for number, (function, dtype) in enumerate(functions):
        graph = trace(function, INPUTS)
        nodes = [node if node[0] != "input" else ("given", 0) if node[1] == "t" else ("load", LANES * COLUMNS.index(node[1]), 0)
                 for node in graph.nodes]
        targets = [(LANES * (row - first + i), 1) for i in range(len(graph.outputs))]
        row += len(targets)
        scope[f"f{number}"] = expressions.function(nodes, graph.outputs, targets, dtype)
        lines.append(f"        f{number}(w, (lane, {first * LANES} + lane), (t[0],))")
    exec("\n".join(["def kernel(w, t):", f"    for lane in range({LANES}):", *lines]), scope)
    return njit(scope["kernel"], error_model="numpy"), row


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_operation(dtype):
    columns = states(dtype)
    columns["t"] = columns["t"][:1]
    kernel, rows = kernel_of([(function, dtype) for function in OPERATIONS.values()], len(COLUMNS))
    w = np.zeros((rows, LANES), dtype)
    w[:len(COLUMNS)] = [columns[name] for name in COLUMNS]
    kernel(w.reshape(-1), columns["t"])
    found = iter(w[len(COLUMNS):])
    for name, function in OPERATIONS.items():
        with np.errstate(all="ignore"):
            expected = call(function, by_argument(columns))
        for value in expected:
            value = np.broadcast_to(value, LANES).astype(dtype)
            np.testing.assert_allclose(next(found), value, 16 * np.finfo(dtype).eps, 16 * np.finfo(dtype).eps, err_msg=name)
    code = next(iter(kernel.inspect_llvm().values()))
    assert ("double" in code) == (dtype == "float64")


def test_one_result_is_returned():
    """A number, or true or false, from places of any integer type; and a condition of NumPy's is false for a NaN."""
    for function, results in ((lambda q: (q[0] < 2 * q[1],), (True, False, False)),
                              (lambda q: (q[0] / q[1],), (0.5, 4.0, np.nan))):
        graph = trace(function, INPUTS)
        nodes = [("load", 3 * int(node[1][1]), 0) if node[0] == "input" else node for node in graph.nodes]
        value = expressions.function(nodes, graph.outputs, None, "float64")
        kernel = njit(lambda w, i, value=value: value(w, (i,), ()))
        w = np.array([1.0, 4.0, np.nan, 2.0, 1.0, 1.0])
        np.testing.assert_array_equal([kernel(w, i) for i in np.arange(3, dtype=np.int32)], results)
        assert isinstance(kernel(w, np.int32(0)), bool) == is_boolean(graph.nodes[graph.outputs[0]])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_vectors_are_the_lanes(dtype):
    """All lanes of a tile at once give the bits of one lane after the other."""
    L, columns, count = target.lanes(dtype), states(dtype), len(COLUMNS)
    graphs = {name: trace(function, INPUTS) for name, function in OPERATIONS.items()}
    graphs = {name: graph for name, graph in graphs.items()
              if all(node[0] == "input" or node[0] in expressions.IN_VECTORS for node in graph.nodes)}
    assert len(graphs) > 5
    for name, graph in graphs.items():
        nodes = [node if node[0] != "input" else ("given", 0) if node[1] == "t" else ("load", L * COLUMNS.index(node[1]), 0)
                 for node in graph.nodes]
        targets = [(L * (count + i), 0) for i in range(len(graph.outputs))]
        one, all_at_once = (expressions.function(nodes, graph.outputs, targets, dtype, vectors) for vectors in (False, True))

        def by_lane(w, t, one=one):
            for lane in range(L):
                one(w, (lane,), (t,))
        results = []
        for kernel in (by_lane, lambda w, t, f=all_at_once: f(w, (0,), (t,))):
            w = np.zeros((count + len(targets), L), dtype)
            w[:count] = [np.resize(columns[column], L) for column in COLUMNS]
            njit(kernel, error_model="numpy")(w.reshape(-1), columns["t"][0])
            results.append(w)
        assert np.array_equal(*results, equal_nan=True), name
