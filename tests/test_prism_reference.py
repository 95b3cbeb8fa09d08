"""The reference prism: polynomials, integrals and faces against exact values, and the faces of tetrahedra and hexahedra."""
from itertools import permutations, product

import numpy as np
import pytest

from dgarray.reference import NAMED_SHAPES, reference_cell, simplex, tensor_cell
from dgarray.reference.faces import corner_weights

CORNERS = np.array([(-1, -1, -1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1), (1, -1, 1), (-1, 1, 1)], float)
OUTWARD = np.array([(0, 0, -1), (0, 0, 1), (0, -1, 0), (1, 1, 0), (-1, 0, 0)])          # normal * J_face of the biunit face
PRISM_FACES = NAMED_SHAPES["prism"].faces
ORDERS = 1, 2, 3, 4


def powers(order):
    return [(i, j, k) for i, j, k in product(range(order + 1), repeat=3) if i + j <= order]


def monomial(x, power):
    return np.prod(x ** np.array(power), axis=1)


def integral(power):
    """Of r^i s^j t^k over the biunit triangle times [-1, 1]: from the integral of a polynomial over s from -1 to -r."""
    i, j, k = power
    r = np.polynomial.Polynomial([0, 1])
    inner = ((-r) ** (j + 1) - (-1) ** (j + 1)) / (j + 1) * r ** i
    outer = inner.integ()
    return (outer(1) - outer(-1)) * (1 - (-1) ** (k + 1)) / (k + 1)


@pytest.mark.parametrize("order", ORDERS)
def test_mass_and_derivatives_are_exact(order):
    cell = reference_cell(NAMED_SHAPES["prism"], order)
    for power in powers(order):
        values = monomial(cell.nodes, power)
        np.testing.assert_allclose(cell.mass.sum(axis=0) @ values, integral(power), atol=1e-12)
        for k in range(3):
            lower = np.array(power) - np.eye(3, dtype=int)[k]
            exact = power[k] * monomial(cell.nodes, np.maximum(lower, 0))
            np.testing.assert_allclose(cell.differentiation[k] @ values, exact, atol=1e-11)
    assert cell.volume == pytest.approx(4)
    inside = np.array([(-0.3, -0.5, 0.2), (-0.9, 0.1, -0.7)])
    np.testing.assert_allclose(cell.interpolation(inside) @ cell.nodes, inside, atol=1e-13)


@pytest.mark.parametrize("order", ORDERS)
def test_divergence_theorem(order):
    """M D_k + (M D_k)^T is the matrix of the boundary, n_k J_face summed over the faces."""
    cell = reference_cell(NAMED_SHAPES["prism"], order)
    count = cell.face_nodes.shape[1]
    boundary = (cell.mass @ cell.lift).reshape(len(cell.nodes), 5, count)
    for k in range(3):
        B = np.zeros_like(cell.mass)
        for face, nodes in enumerate(cell.face_nodes):
            np.add.at(B, (slice(None), nodes), OUTWARD[face, k] * boundary[:, face])
        stiff = cell.mass @ cell.differentiation[k]
        np.testing.assert_allclose(stiff + stiff.T, B, atol=1e-11)


@pytest.mark.parametrize("order", ORDERS)
def test_faces_share_the_nodes_of_tetrahedra_and_hexahedra(order):
    cell = reference_cell(NAMED_SHAPES["prism"], order)
    for face, corners in enumerate(PRISM_FACES):
        own = cell.face_polynomials(len(corners))
        other = (simplex(3, order) if len(corners) == 3 else tensor_cell(3, order, "lobatto")).face_polynomials(len(corners))
        np.testing.assert_allclose(own.points, other.points, atol=1e-13)
        nodes = cell.nodes[cell.face_nodes[face, own.positions[face]]]
        np.testing.assert_allclose(corner_weights(len(corners), own.points) @ CORNERS[list(corners)], nodes, atol=1e-13)
        assert (own.positions[[len(f) != len(corners) for f in PRISM_FACES]] == -1).all()
        np.testing.assert_allclose(own.at(own.points), np.eye(len(own.points)), atol=1e-11)


def test_padded_nodes_do_no_harm():
    cell = reference_cell(NAMED_SHAPES["prism"], 2)
    lift = cell.lift.reshape(len(cell.nodes), 5, 9)
    assert (cell.face_nodes[:2, 6:] == cell.face_nodes[:2, :1]).all()
    assert not lift[:, :2, 6:].any() and lift[:, 2:].any(axis=0).all()


@pytest.mark.parametrize("order", ORDERS)
def test_matches_meet_in_every_orientation(order):
    cell = reference_cell(NAMED_SHAPES["prism"], order)
    numbers, positions = cell.match_positions
    for face, other in product(range(5), repeat=2):
        n = len(PRISM_FACES[face])
        if len(PRISM_FACES[other]) != n:
            continue
        own = corner_weights(n, cell.face_polynomials(n).points)
        for p in permutations(range(n)):
            if n == 4 and {p[0], p[3]} not in ({0, 3}, {1, 2}):          # not a symmetry of the square
                continue
            there = own @ CORNERS[[PRISM_FACES[other][i] for i in p]]
            code = sum(i * n ** place for place, i in enumerate(p))
            np.testing.assert_allclose(cell.nodes[numbers[face, other, code, :len(own)]], there, atol=1e-12)
            np.testing.assert_array_equal(cell.face_nodes[other][positions[face, other, code, :len(own)]],
                                          numbers[face, other, code, :len(own)])
            assert (numbers[face, other, code, len(own):] == numbers[face, other, code, 0]).all()


@pytest.mark.parametrize("order", ORDERS)
def test_reduced_differentiation(order):
    cell = reference_cell(NAMED_SHAPES["prism"], order)
    E, R = cell.reduced_differentiation
    np.testing.assert_allclose(E @ R, cell.differentiation, atol=1e-11)
