"""What internal variables do to the fields, at a complex frequency s: C s lambda(s) q, against lambda as the papers have it."""
from types import SimpleNamespace

import numpy as np
import pytest

import dgarray as dg
from dgarray.mesh.absorbing.layers import BoxLayer, RoundLayer
from dgarray.physics.stretched_coordinates import parameters_of
from dgarray.physics.trace import call

S = 0.3 + 2j


def multiplier(law, internal, x, parameters, s=S):
    """The matrix lambda(s) (variable, variable) of C s lambda q = C s q - adds(q, w), with s w = rate(q, w)."""
    V, W = len(law.variables), len(internal.names)
    m = SimpleNamespace(**{name: float(value) for name, value in law.parameters.items()}, **parameters)

    def value(function, q, w):
        return np.array(call(function, dict(q=tuple(q), w=tuple(w), x=x, t=0.0, m=m)))

    def matrix(function, count, of_q):
        units = np.eye(V if of_q else W)
        return np.array([value(function, *((unit, np.zeros(W)) if of_q else (np.zeros(V), unit))) for unit in units]).reshape(
            len(units), count).T
    states = np.linalg.solve(s * np.eye(W) - matrix(internal.rate, W, False), matrix(internal.rate, W, True))
    added = matrix(internal.adds, V, True) + matrix(internal.adds, V, False) @ states
    return np.eye(V) - added / s / np.array(call(law.capacity, dict(m=m)))[:, None]


LAWS = [dg.Maxwell(1), dg.Maxwell(2), dg.Maxwell(2, "TE"), dg.Maxwell(3), dg.Acoustics(1), dg.Acoustics(2)]


def expected(law, vectors):
    """lambda of a law where the stretched directions and their stretches are `vectors`, {name: (projector, stretch)}."""
    product = np.prod([stretch for _, stretch in vectors])
    three = np.zeros((3, 3), complex)
    dim = law.dim
    for projector, stretch in vectors:
        three[:dim, :dim] += projector * (product / stretch ** 2 if isinstance(law, dg.Maxwell) else stretch ** 2 / product)
    three += product * np.diag(np.arange(3) >= dim)
    if isinstance(law, dg.Acoustics):
        found = np.zeros((dim + 1, dim + 1), complex)
        found[0, 0], found[1:, 1:] = product, three[:dim, :dim]
        return found
    both, names = np.kron(np.eye(2), three), [field + axis for field in "EH" for axis in "xyz"]
    rows = [names.index(name) for name in law.variables]
    return both[np.ix_(rows, rows)]


@pytest.mark.parametrize("shift", [0.0, 0.4])
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_boxes(law, shift):
    """Faces, with fewer states, edges and corners."""
    dim = law.dim
    layer = BoxLayer("a", (-1.0,) * dim, (1.0,) * dim, ((0.5, 0.5),) * dim, 3, 1e-3, shift)
    for depths in ((0.2,), (0.0, 0.3), (0.1, 0.3), (0.0, 0.0, 0.4), (0.1, 0.2, 0.4)):
        if len(depths) > dim:
            continue
        x = tuple(1.0 + depth if depth else 0.5 for depth in (*depths, 0.0, 0.0)[:dim])
        several = sum(depth > 0 for depth in depths) > 1
        internal = law.response({}, layer, several, 1.5)
        values = {name: float(function(tuple(np.array([c]) for c in x))[0]) for name, function in parameters_of(layer).items()}
        stretches = [(S + 1.5 * (shift + value)) / (S + 1.5 * shift) for value in values.values()]
        found = multiplier(law, internal, x, values)
        vectors = [(np.outer(unit, unit), stretch) for unit, stretch in zip(np.eye(dim), stretches)]
        np.testing.assert_allclose(found, expected(law, vectors), rtol=0, atol=1e-13)


@pytest.mark.parametrize("axis", [None, 2])
@pytest.mark.parametrize("law", [law for law in LAWS if law.dim > 1], ids=repr)
def test_round_layers(law, axis):
    dim = law.dim
    if dim == 2 and axis is not None:
        return
    layer, x = RoundLayer("a", (0.1,) * dim, axis, 1.0, 1.0, 3, 1e-3, 0.4), (1.3, 0.7, 0.5)[:dim]
    along, across = ((S + 0.4 + value) / (S + 0.4) for value in layer.stretch(x))
    n = np.array(layer.direction(x))
    radial, axial = np.outer(n, n), np.zeros((dim, dim))
    if axis is not None:
        axial[axis, axis] = 1
    rest = np.eye(dim) - radial - axial
    vectors = [(radial, along), (rest, across), *[(0 * rest, across)] * (dim - 2 - (axis is not None)),
               *[(axial, 1.0)] * (axis is not None)]
    found = multiplier(law, law.response({}, layer, False, 1.0), x, {})
    np.testing.assert_allclose(found, expected(law, vectors), rtol=0, atol=1e-13)


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
@pytest.mark.parametrize("layered", [False, True])
def test_media(layered, axis):
    """Their product with the stretches in a layer, where a conductivity is one of them; or one medium along an axis alone."""
    eps = 2.0 + dg.Drude(1.5, 0.2) + dg.Debye(1.0, 0.3) + dg.Poles([-0.5 + 2j, 0], [0.2 - 0.1j, 0.3])
    mu = 1.5 + dg.Lorentz(1.0, 2.0, 0.3)
    tensor = eps if axis is None else tuple(eps if i == axis else 3.0 for i in range(3))
    law = dg.Maxwell(3, eps=tensor, mu=mu, sigma=0.6 if layered else 0.0)
    layer = BoxLayer("a", (-1.0,) * 3, (1.0,) * 3, ((0.5, 0.5),) * 3, 2, 1e-2, 0.3) if layered else None
    values = {"stretch_x": 1.2, "stretch_y": 0.7, "stretch_z": 0.0} if layered else {}
    found = multiplier(law, law.response(law.dispersive, layer, True, 1.0), (0.0,) * 3, values)
    own, other = (high_to(S) / high + law.parameters["sigma"] / (S * high) for high_to, high in ((eps.at, eps.high), (
        lambda s: 3.0, 3.0)))
    product = np.array([own if axis in (None, i) else other for i in range(3)] + [mu.at(S) / mu.high] * 3)
    stretches = [(S + 0.3 + value) / (S + 0.3) for value in values.values()] or [1.0] * 3
    whole = expected(dg.Maxwell(3), [(np.outer(unit, unit), stretch) for unit, stretch in zip(np.eye(3), stretches)])
    np.testing.assert_allclose(found, whole * product, rtol=0, atol=1e-12)


def test_round_layers_take_no_dispersive_tensors():
    """Where the components differ at any frequency; of components that are the same, what a number would give."""
    layer, eps = RoundLayer("a", (0.1,) * 2, None, 1.0, 1.0, 3, 1e-3, 0.4), 2.0 + dg.Debye(1.0, 0.3)
    law = dg.Maxwell(2, "TE", eps=(eps, 2.0, 2.0))
    with pytest.raises(ValueError, match="is a tensor in the round absorbing layer 'a'"):
        law.response(law.dispersive, layer, False, 1.0)
    found = []
    for medium in (eps, (eps,) * 3):
        law = dg.Maxwell(2, "TE", eps=medium, sigma=0.3)
        found.append(multiplier(law, law.response(law.dispersive, layer, False, 1.0), (1.3, 0.7), {}))
    np.testing.assert_allclose(*found, rtol=0, atol=1e-14)
