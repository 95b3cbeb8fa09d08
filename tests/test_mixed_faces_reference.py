"""The reference prism and pyramid: polynomials, integrals and faces against exact values, and the faces of tetrahedra and
hexahedra."""
from itertools import permutations, product
from math import comb

import numpy as np
import pytest

from dgarray.mesh.curved import cell_maps
from dgarray.mesh.mesh import build
from dgarray.reference import NAMED_SHAPES, reference_cell, simplex, tensor_cell
from dgarray.reference.faces import corner_weights

SHAPES = {name: NAMED_SHAPES[name] for name in ("prism", "pyramid")}
# Outward normal * J_face of the biunit face, and volume.
OUTWARD = {"prism": np.array([(0, 0, -1), (0, 0, 1), (0, -1, 0), (1, 1, 0), (-1, 0, 0)]),
           "pyramid": np.array([(0, 0, -1), (0, -1, 0), (1, 0, 1), (0, 1, 1), (-1, 0, 0)])}
VOLUMES = {"prism": 4, "pyramid": 8 / 3}
ORDERS = 1, 2, 3, 4
cells = pytest.mark.parametrize("cell", [reference_cell(shape, order) for shape in SHAPES.values() for order in ORDERS],
                                ids=lambda cell: f"{cell.shape.name} {cell.order}")


def powers(cell):
    """Of the monomials among the functions: of degree N in the triangle and along the line of a prism, in all of a pyramid."""
    prism, N = cell.shape.name == "prism", cell.order
    return [(i, j, k) for i, j, k in product(range(N + 1), repeat=3) if i + j + k * (not prism) <= N]


def monomial(x, power):
    return np.prod(x ** np.array(power), axis=1)


def integral(shape, power):
    """Of r^i s^j t^k over the reference cell, by integrals of polynomials over t between functions of r and s."""
    (i, j, k), x = power, np.polynomial.Polynomial([0, 1])
    if shape.name == "prism":
        inner = ((-x) ** (j + 1) - (-1) ** (j + 1)) / (j + 1) * x ** i
        outer = inner.integ()
        return (outer(1) - outer(-1)) * (1 - (-1) ** (k + 1)) / (k + 1)
    sides = [((-x) ** (n + 1) - (-1) ** (n + 1)) / (n + 1) for n in (i, j)]          # r and s from -1 to -t
    outer = (sides[0] * sides[1] * x ** k).integ()
    return outer(1) - outer(-1)


@cells
def test_mass_and_derivatives_are_exact(cell):
    inside = np.array([(-0.3, -0.5, 0.2), (-0.9, 0.1, -0.7), (-0.98, -0.97, 0.9)])
    np.testing.assert_allclose(cell.interpolation(inside) @ cell.nodes, inside, atol=1e-13)
    assert cell.volume == pytest.approx(VOLUMES[cell.shape.name]) and len(cell.nodes) == cell.shape.node_count(cell.order)
    for power in powers(cell):
        values = monomial(cell.nodes, power)
        np.testing.assert_allclose(cell.mass.sum(axis=0) @ values, integral(cell.shape, power), atol=1e-12)
        for k in range(3):
            lower = np.maximum(np.array(power) - np.eye(3, dtype=int)[k], 0)
            np.testing.assert_allclose(cell.differentiation[k] @ values, power[k] * monomial(cell.nodes, lower), atol=1e-11)
            np.testing.assert_allclose(cell.gradients(inside)[k] @ values, power[k] * monomial(inside, lower), atol=1e-11)


@cells
def test_divergence_theorem(cell):
    """M D_k + (M D_k)^T is the matrix of the boundary, n_k J_face summed over the faces."""
    count = cell.face_nodes.shape[1]
    boundary = (cell.mass @ cell.lift).reshape(len(cell.nodes), 5, count)
    for k in range(3):
        B = np.zeros_like(cell.mass)
        for face, nodes in enumerate(cell.face_nodes):
            np.add.at(B, (slice(None), nodes), OUTWARD[cell.shape.name][face, k] * boundary[:, face])
        stiff = cell.mass @ cell.differentiation[k]
        np.testing.assert_allclose(stiff + stiff.T, B, atol=1e-11)


@cells
def test_faces_share_the_nodes_of_tetrahedra_and_hexahedra(cell):
    order, faces = cell.order, cell.shape.faces
    for face, corners in enumerate(faces):
        own = cell.face_polynomials(len(corners))
        other = (simplex(3, order) if len(corners) == 3 else tensor_cell(3, order, "lobatto")).face_polynomials(len(corners))
        np.testing.assert_allclose(own.points, other.points, atol=1e-13)
        nodes = cell.nodes[cell.face_nodes[face, own.positions[face]]]
        there = corner_weights(len(corners), own.points) @ cell.shape.corners[list(corners)]
        np.testing.assert_allclose(there, nodes, atol=1e-13)
        assert (own.positions[[len(f) != len(corners) for f in faces]] == -1).all()
        np.testing.assert_allclose(own.at(own.points), np.eye(len(own.points)), atol=1e-11)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_padded_nodes_do_no_harm(shape):
    cell, three = reference_cell(shape, 2), [len(face) == 3 for face in shape.faces]
    lift = cell.lift.reshape(len(cell.nodes), 5, 9).swapaxes(0, 1)
    assert (cell.face_nodes[three, 6:] == cell.face_nodes[three, :1]).all()
    assert not lift[three, :, 6:].any() and lift[np.logical_not(three)].any(axis=(0, 1)).all()


@cells
def test_matches_meet_in_every_orientation(cell):
    numbers, positions = cell.match_positions
    faces = cell.shape.faces
    for face, other in product(range(5), repeat=2):
        n = len(faces[face])
        if len(faces[other]) != n:
            continue
        own = corner_weights(n, cell.face_polynomials(n).points)
        for p in permutations(range(n)):
            if n == 4 and {p[0], p[3]} not in ({0, 3}, {1, 2}):          # not a symmetry of the square
                continue
            there = own @ cell.shape.corners[[faces[other][i] for i in p]]
            code = sum(i * n ** place for place, i in enumerate(p))
            np.testing.assert_allclose(cell.nodes[numbers[face, other, code, :len(own)]], there, atol=1e-12)
            np.testing.assert_array_equal(cell.face_nodes[other][positions[face, other, code, :len(own)]],
                                          numbers[face, other, code, :len(own)])
            assert (numbers[face, other, code, len(own):] == numbers[face, other, code, 0]).all()


@cells
def test_reduced_differentiation(cell):
    E, R = cell.reduced_differentiation
    np.testing.assert_allclose(E @ R, cell.differentiation, atol=1e-11)
    assert E.shape[1] == len(cell.nodes) - (cell.order + 1 if cell.shape.name == "prism" else 1)


# Pyramids alone.

@pytest.mark.parametrize("order", ORDERS)
def test_polynomials_of_x_in_a_pyramid_that_is_not_affine(order):
    """All of the order, exact inside: what the rational functions are for."""
    mesh = build(np.array([(0, 0, 0), (1, 0.1, -0.1), (1.3, 1.2, 0.2), (-0.1, 0.9, 0), (0.3, 0.2, 1)]), [range(5)])
    cell, inside = reference_cell(mesh.cell_shape, order), np.random.default_rng(0).uniform(-1, 1, (30, 3))
    inside = mesh.cell_shape.kept_inside(inside)
    nodes, x = (cell_maps.positions(mesh, r)[..., 0].T for r in (cell.nodes, inside))
    for power in powers(cell):
        np.testing.assert_allclose(cell.interpolation(inside) @ monomial(nodes, power), monomial(x, power), atol=1e-11)


def test_lebesgue_constants_of_pyramids():
    side = -np.cos(np.linspace(0, np.pi, 22))
    points = np.array([((1 + a) * (1 - t) / 2 - 1, (1 + b) * (1 - t) / 2 - 1, t) for a, b, t in product(side, repeat=3)])
    for order, constant in enumerate((1.0, 1.84, 2.74, 3.77, 5.2, 6.81, 7.96), 1):
        cell = reference_cell(SHAPES["pyramid"], order)
        assert np.abs(cell.interpolation(points)).sum(axis=1).max() < constant + 0.01


@pytest.mark.parametrize("degree", [1, 4, 7])
def test_quadrature_of_pyramids(degree):
    """Exact for products of functions of orders that add up to the degree: (r + 1)^i (s + 1)^j / (1 - t)^n among them."""
    points, weights = SHAPES["pyramid"].quadrature(degree)
    r, s, t = (points.T + 1) / 2
    for i, j, k in product(range(degree + 1), repeat=3):
        if max(i, j) + k > degree:
            continue
        exact = 8 / ((i + 1) * (j + 1)) * sum((-1) ** n * comb(k, n) / (max(i, j) + n + 3) for n in range(k + 1))
        found = weights @ (r ** i * s ** j * (1 - t) ** (max(i, j) - i - j) * t ** k)
        assert found == pytest.approx(exact, abs=1e-14)
