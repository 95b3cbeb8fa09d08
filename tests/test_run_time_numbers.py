"""Constants of laws come at run time: the text of kernels does not depend on them, and what they compute does."""
import numpy as np
import pytest

import dgarray as dg
from dgarray import backends
from dgarray.physics.pointwise import Pointwise
from dgarray.physics.run_time_numbers import NUMBER, with_numbers
from dgarray.stepping import LSRK54


def operator(law, method=None, boundary=dg.wall, shape="triangle", kernels="fused"):
    mesh = dg.rectangle(cells=(3, 3), shape=shape)
    return (method or dg.NodalDG(2)).discretise(mesh, law, boundary, backends.get("numpy", kernels, threads=1), None)


class Branching(dg.Acoustics):
    """A law whose flux branches on a parameter, which only a known number can."""

    def flux(self, q, n, m):
        return tuple((2 if m.rho > 1 else 1) * f for f in super().flux(q, n))


METHODS = {"nodal": (dg.NodalDG(2), "triangle"), "elements": (dg.ModalDG(2, surface="elements"), "triangle"),
           "edges": (dg.ModalDG(2, surface="edges"), "triangle"), "tensor": (dg.TensorDG(2), "quadrilateral")}
LAWS = {"acoustics": [dg.Acoustics(2), dg.Acoustics(2, density=1.4), dg.Acoustics(2, density=0.3, sound_speed=3.0)],
        "gas": [dg.Euler(2), dg.Euler(2, gamma=1.3)]}


@pytest.mark.parametrize("method, shape", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("laws", LAWS.values(), ids=LAWS)
def test_kernels_of_laws_with_other_constants_have_the_same_text(laws, method, shape):
    texts = [operator(law, method, shape=shape).operations.kernel_texts(LSRK54) for law in laws]
    assert all(text == texts[0] for text in texts[1:])


@pytest.mark.parametrize("name", METHODS)
def test_kernels_compute_with_the_constants_of_their_law(name):
    method, shape = METHODS[name]
    values = []
    for law in (dg.Acoustics(2, density=1.4, sound_speed=0.7), dg.Acoustics(2)):
        pair = [operator(law, method, shape=shape, kernels=kernels) for kernels in ("fused", "array")]
        q = np.random.default_rng(0).standard_normal(pair[0].shape)
        fused, arrays = (op.host(op.operations.rhs(op.state(q), 0.0)) for op in pair)
        assert np.abs(fused - arrays).max() < 1e-12 * np.abs(arrays).max()
        values.append(fused)
    assert np.abs(values[0] - values[1]).max() > 0.1


def test_constants_are_separated_from_the_formula():
    def function(q, m):
        return q[0] / (m.eps * m.mu), 0.5 * q[0] + 0.3 * q[1], m.eps
    given = Pointwise(function, {"q": 2, "m": {"eps": 4.0, "mu": 0.2}}, "function")
    found = with_numbers(given)
    assert found.values == pytest.approx((1 / 0.8, 0.3, 4.0)) and ("const", 0.5) in found.graph.nodes
    assert {found.used[name] for name in found.graph.inputs if found.used[name][0] == NUMBER} == {(NUMBER, i) for i in range(3)}
    other = with_numbers(Pointwise(function, {"q": 2, "m": {"eps": 1.0, "mu": 1.0}}, "function"))
    assert other.graph == found.graph and other.values == (1.0, 0.3, 1.0)


@pytest.mark.parametrize("function, parameter, asked", [
    (lambda q, x, m: q[0] * m.a if m.a > 0 else q[1], 2.5, {"q", NUMBER}), (lambda q, x, m: q[0] ** m.a, 2.0, {"q"}),
    (lambda q, x, m: q[0] + m.a * x[0], 0.0, {"q"})], ids=["branch", "power", "zero"])
def test_parameters_that_shape_the_formula_stay_in_it(function, parameter, asked):
    found = with_numbers(Pointwise(function, {"q": 2, "x": 1, "m": {"a": parameter}}, "function"))
    assert {argument for argument, _ in found.used.values()} == asked and "power" not in found.graph.operations


@pytest.mark.thorough
def test_a_law_that_branches_on_a_parameter_runs():
    pair = [operator(Branching(2, density=1.4), kernels=kernels) for kernels in ("fused", "array")]
    q = np.random.default_rng(0).standard_normal(pair[0].shape)
    fused, arrays = (op.host(op.operations.rhs(op.state(q), 0.0)) for op in pair)
    assert np.abs(fused - arrays).max() < 1e-12 * np.abs(arrays).max()
