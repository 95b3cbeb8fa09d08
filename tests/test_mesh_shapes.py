"""Meshes of quadrilaterals and hexahedra: geometry, connectivity, reading, refinement, maps, point location, partition."""
import tracemalloc
from itertools import permutations, product

import meshio
import numpy as np
import pytest
from references import mesh_path, nasty_path, parameters

import dgarray as dg
from dgarray.mesh import MeshError, MeshWarning, box, describe, from_arrays, interval, memory, read_mesh, rectangle
from dgarray.mesh.faces import by_kind
from dgarray.mesh.locate import Locator
from dgarray.mesh.partition import partition, split
from dgarray.mesh.refine.hanging import corners_of_parts
from dgarray.reference import NAMED_SHAPES
from dgarray.reference.multilinear import gradients, weights
from dgarray.spaces import PolynomialSpace

QUAD, HEX = NAMED_SHAPES["quadrilateral"], NAMED_SHAPES["hexahedron"]


def quads(cells=4, **options):
    return rectangle(cells=cells, shape="quadrilateral", **options)


def hexes(cells=3, **options):
    return box(cells=cells, shape="hexahedron", **options)


def check_mesh(mesh):
    """Every invariant that a mesh promises."""
    shape, count = mesh.cell_shape, len(mesh.cells)
    assert np.all(mesh.measures > 0) and np.all(mesh.quality() > 0) and np.all(mesh.quality() <= 1 + 1e-12)
    assert sorted(mesh.numbers) == list(range(count))
    own, face = np.indices((count, len(shape.faces)))
    inner = mesh.neighbour_face >= 0
    back = mesh.neighbour_cell[inner], mesh.neighbour_face[inner]
    assert np.array_equal(mesh.neighbour_cell[back], own[inner]) and np.array_equal(mesh.neighbour_face[back], face[inner])
    assert np.array_equal(mesh.neighbour_cell[~inner], own[~inner])
    places = np.stack([own, face], axis=2).reshape(-1, 2)
    corners = mesh.points[mesh.face_points(places)].reshape(*own.shape, -1, mesh.dim)
    three = np.broadcast_to([len(corner) == 3 for corner in shape.faces], own.shape) & (corners.shape[2] == 4)
    shift = np.take_along_axis(corners[back], mesh.orientation[inner][:, :, None], axis=1) - corners[inner]
    shift[three[inner], 3:] = shift[three[inner], :1]
    assert np.allclose(shift, shift[:, :1] if len(mesh.glued) else 0, atol=1e-9 * np.ptp(mesh.points))
    centres = mesh.face_centres(places).reshape(*own.shape, -1)
    assert np.all(np.sum(mesh.normals * (centres - mesh.centroids[:, None]), axis=2) > 0)
    closed = np.sum(mesh.normals * mesh.face_measures[:, :, None], axis=1)
    assert np.allclose(closed, 0, atol=1e-13 * mesh.face_measures.max())
    assert np.allclose(mesh.normals[inner], -mesh.normals[back], atol=1e-9)
    assert len(mesh.boundary_faces) + len(mesh.hanging.sides) == np.count_nonzero(~inner)
    for rows in mesh.boundaries.values():
        assert np.all(mesh.neighbour_face[rows[:, 0], rows[:, 1]] < 0)


# Shapes and geometry of single cells.

@pytest.mark.parametrize("shape", NAMED_SHAPES.values(), ids=lambda shape: shape.name)
def test_shapes_are_positively_oriented_with_faces_outwards(shape):
    mesh = from_arrays(shape.corners, [range(len(shape.vertices))])
    check_mesh(mesh)
    assert mesh.cell_type == shape.name and not mesh.notes
    share = {"triangle": 2, "tetra": 6, "prism": 2, "pyramid": 3}.get(shape.name, 1)
    assert mesh.measures[0] == pytest.approx(2**shape.dim / share)
    if shape.name == "prism":
        slope = np.sqrt(0.5)
        assert np.allclose(mesh.normals[0], [(0, 0, -1), (0, 0, 1), (0, -1, 0), (slope, slope, 0), (-1, 0, 0)])
        assert np.allclose(mesh.face_measures, [2, 2, 4, 4 / slope, 4])
    elif shape.name == "pyramid":          # over the corner (-1, -1), with the height 2
        slope = np.sqrt(0.5)
        found = {tuple(np.round(normal, 12)) for normal in mesh.normals[0]}
        outwards = (0, 0, -1), (0, -1, 0), (slope, 0, slope), (0, slope, slope), (-1, 0, 0)
        assert found == {tuple(np.round(n, 12)) for n in outwards}
        assert np.allclose(np.sort(mesh.face_measures), np.sort([4, 2, 2, 2 / slope, 2 / slope]))
    elif not shape.simplex:
        outwards = [side * np.eye(shape.dim)[axis] for axis in range(shape.dim) for side in (-1, 1)]
        assert np.allclose(mesh.normals[0], outwards) and np.allclose(mesh.face_measures, 2 ** (shape.dim - 1))
    turned = from_arrays(shape.corners, [shape.mirrored])
    assert np.array_equal(turned.cells, mesh.cells) and not turned.notes


@pytest.mark.parametrize("points, area", [
    ([(0, 0), (4, 0), (3, 2), (1, 2)], 6), ([(0, 0), (2, 1), (3, 3), (1, 2)], 3), ([(-1, 0), (5, -2), (2, 2), (0, 1)], 9.5)])
def test_areas_of_trapezia_and_other_quadrilaterals(points, area):
    mesh = from_arrays(points, [(0, 1, 2, 3)])
    check_mesh(mesh)
    x, y = np.array(points).T
    assert area == 0.5 * np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)) and mesh.measures[0] == pytest.approx(area, rel=1e-14)
    lengths = np.hypot(np.roll(x, -1) - x, np.roll(y, -1) - y)
    assert np.allclose(mesh.face_measures[0], lengths[[3, 1, 0, 2]])
    assert mesh.inradii[0] == pytest.approx(2 * area / lengths.sum())


def test_volume_of_a_frustum_of_a_pyramid():
    """h / 3 (A + B + sqrt(A B)) of the squares A, B."""
    points = np.array([(*(side * np.array(corner)), z) for side, z in ((2.0, 0), (0.5, 3)) for corner in QUAD.vertices])
    mesh = from_arrays(points, [range(8)])
    check_mesh(mesh)
    assert mesh.measures[0] == pytest.approx((16 + 1 + 4), rel=1e-14)
    assert np.allclose(mesh.face_measures[0], [(4 + 1) / 2 * np.hypot(3, 1.5)] * 4 + [16, 1])


def test_volume_of_cells_with_warped_faces():
    """Of the trilinear map, by the divergence theorem on bilinear faces: each is the mean of its two cuts into triangles."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        points = HEX.corners + rng.uniform(-0.35, 0.35, (8, 3))
        mesh = from_arrays(points, [range(8)])
        check_mesh(mesh)
        volume = 0
        for face, sign in zip(HEX.faces, HEX.outward):
            a, b, c, d = points[list(face)]
            for triangles in (((a, b, d), (a, d, c)), ((a, b, c), (b, d, c))):
                volume += sum(sign * np.dot(p, np.cross(q, r)) / 12 for p, q, r in triangles)
        assert mesh.measures[0] == pytest.approx(volume, rel=1e-13)


def test_quality_is_the_least_sine_of_a_corner():
    for angle in (90, 60, 20, 3):
        c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
        mesh = from_arrays([(0, 0), (5, 0), (5 + c, s), (c, s)], [(0, 1, 2, 3)])
        assert mesh.quality()[0] == pytest.approx(s, rel=1e-12)
    with pytest.warns(MeshWarning, match="1 slivers .scaled Jacobian below 0.01; worst 0.0087 in cell 0"):
        from_arrays([(0, 0), (5, 0), (6, 0.00873), (1, 0.00873)], [(0, 1, 2, 3)])
    assert quads((1, 300)).quality() == pytest.approx(1) and hexes((1, 2, 30)).quality() == pytest.approx(1)
    assert "scaled Jacobian (1 is best): min 1, mean 1" in describe(quads())


@pytest.mark.parametrize("shape", [QUAD, HEX], ids=lambda shape: shape.name)
def test_multilinear_functions_and_their_gradients(shape):
    assert np.array_equal(weights(shape.corners, shape.corners), np.eye(len(shape.vertices)))
    r, step = np.random.default_rng(0).uniform(-1, 1, (5, shape.dim)), 1e-6
    for axis in range(shape.dim):
        d = step * np.eye(shape.dim)[axis]
        slope = (weights(shape.corners, r + d) - weights(shape.corners, r - d)) / (2 * step)
        assert np.allclose(gradients(shape.corners, r)[..., axis], slope, atol=1e-9)


# Cells that are refused.

SQUARE = [(0, 0), (1, 0), (1, 1), (0, 1)]
CUBE = (HEX.corners + 1) / 2


def cube_with(corner, x):
    points = CUBE.copy()
    points[corner] = x
    return points


@pytest.mark.parametrize("points, cell, words", [
    ([(0, 0), (1, 0), (0.2, 0.2), (0, 1)], range(4), r"1 quadrilateral cell is concave, .* cell 0 at \(0.2, 0.2\); remesh"),
    (SQUARE, (0, 1, 3, 2), "cell is concave, twisted"), ([(0, 0), (2, 0), (1, 1), (0, 2)], range(4), r"degenerate.*\(1, 1\)"),
    ([(0, 0), (1, 0), (1, 0), (0, 1)], range(4), r"degenerate.*cell 0 at \(1, 0\)"),
    (SQUARE, (0, 1, 2, 2), "cell 0 has a node twice: 1, 2, 3, 3"),
    ([(0, 0), (1, 0), (2, 0), (3, 0)], range(4), "1 cell has no area: cell 0"),
    (CUBE, (0, 1, 2, 3, 6, 7, 4, 5), "hexahedron cell is concave, twisted"), (CUBE, (0, 1, 3, 2, 4, 5, 7, 6), "twisted"),
    (cube_with(6, (0.2, 0.2, 0.2)), range(8), r"concave.*cell 0 at \(0.2, 0.2, 0.2\)"),
    (CUBE * [1, 1, 0], range(8), "1 cell has no volume: cell 0"), (CUBE, (0, 1, 2, 3, 4, 5, 6, 6), "has a node twice"),
    (CUBE, (0, 1, 2, 3, 4, 5, 6), "do not fit"), (CUBE, (0, 1, 2, 3, 4, 5, 6, 9), "a node that does not exist"),
])
def test_bad_cells_are_refused(points, cell, words):
    with pytest.raises(MeshError, match=words) as caught:
        from_arrays(points, [list(cell)])
    assert "\n" not in str(caught.value)


def test_a_hexahedron_may_fail_away_from_its_corners():
    """The top is turned by 180 degrees and longer in x than in y: all corners are right, but half way up x alone is turned."""
    points = HEX.corners.copy()
    points[4:] *= -2, -0.5, 1
    det = np.linalg.det(np.einsum("ci,pcd->pid", points, gradients(HEX.corners, HEX.test_points)))
    assert det[:8].min() > 0 > det[8:].min()
    with pytest.raises(MeshError, match="concave, twisted"):
        from_arrays(points, [range(8)])


@pytest.mark.parametrize("make", [quads, hexes])
def test_inverted_cells_are_turned(make):
    good = make(3, perturb=0.1)
    cells = good.cells.copy()
    cells[::2] = cells[::2][:, good.cell_shape.mirrored]
    mesh = from_arrays(good.points, cells)
    check_mesh(mesh)
    assert not mesh.notes
    assert np.array_equal(mesh.measures, good.measures) and np.array_equal(np.sort(mesh.cells), np.sort(good.cells))


def test_faces_may_meet_faces_of_half_their_size():
    mesh = from_arrays([*SQUARE, (2, 0), (2, 0.5), (1, 0.5), (2, 1)], [(0, 1, 2, 3), (1, 4, 5, 6), (6, 5, 7, 2)])
    assert len(mesh.hanging) == 1 and len(mesh.boundary_faces) == 7 and not mesh.notes
    left, right = hexes(1), hexes((1, 2, 2))
    points, cells = np.concatenate([left.points, right.points + (1, 0, 0)]), [*left.cells, *(right.cells + 8)]
    bent = points + 0.1 * (points * [0, 1, 0])[:, [1, 0, 0]] * points[:, 2:]      # the common face is warped
    for x in (points, bent):
        mesh = from_arrays(x, cells)
        (large,), (small,), (orientation,) = mesh.hanging.large, mesh.hanging.small, mesh.hanging.orientation
        parts = corners_of_parts(mesh.points[mesh.face_points(large[None])])[0]
        for part, row, corners in zip(parts, small, orientation):
            assert np.allclose(part[corners], mesh.points[mesh.face_points(row[None])[0]], atol=1e-12)


def test_cells_that_meet_otherwise_are_refused():
    with pytest.raises(MeshError, match=r"hanging nodes .* 4 unnamed .* or meet 2 faces of half their size"):
        from_arrays([*SQUARE, (2, 0), (2, 1 / 3), (1, 1 / 3), (2, 2 / 3), (1, 2 / 3), (2, 1)],
                    [(0, 1, 2, 3), (1, 4, 5, 6), (6, 5, 7, 8), (8, 7, 9, 2)])
    left, right = hexes(1), hexes((1, 2, 3))
    points, cells = np.concatenate([left.points, right.points + (1, 0, 0)]), [*left.cells, *(right.cells + 8)]
    with pytest.raises(MeshError, match=r"hanging nodes .* or meet 4 faces of half their size"):
        from_arrays(points, cells)
    with pytest.raises(MeshError, match="overlap"):
        from_arrays([*SQUARE, (2, 0.1), (2, 1.2)], [(0, 1, 2, 3), (0, 3, 5, 4)][:1] + [(0, 4, 5, 3)])
    with pytest.raises(MeshError, match="three neighbours or more: cell 0, cell 1, cell 2"):
        from_arrays(CUBE, [range(8)] * 3)


@pytest.mark.filterwarnings("ignore:.*2 components")
def test_a_crack_of_warped_faces_is_noted():
    left = HEX.corners.copy()
    left[6] += (0.3, 0.2, 0.1)
    right = HEX.corners + (2, 0, 0)
    right[[0, 3, 4, 7]] = left[[1, 2, 5, 6]]
    with pytest.warns(MeshWarning, match="duplicate nodes: 2 boundary faces lie on one another"):
        mesh = from_arrays(np.concatenate([left, right]), [range(8), range(8, 16)])
    check_mesh(mesh)


def test_the_nodes_of_a_common_face_must_have_one_order():
    """The corners of a regular tetrahedron look like a square from the left and, in another order, from behind."""
    corners = 0.5 * np.array([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)])
    left, back = ((3, *x) for x in QUAD.vertices), ((x, 6, y) for x, y in QUAD.vertices)
    points = np.concatenate([corners, 0.5 * np.array([*left, *back]) * (-2, 1, 1)])
    points[8:, 0] /= -2
    one, two = (4, 1, 2, 5, 7, 3, 0, 6), (2, 1, 9, 8, 3, 0, 10, 11)
    for cell in one, two:
        check_mesh(from_arrays(points[list(cell)], [range(8)]))
    with pytest.raises(MeshError, match="cell 0 and cell 1 join the four nodes of their common face in different orders"):
        from_arrays(points, [one, two])


# Connectivity.

def rotations(shape):
    """The corners of a cell in the orders of all rotations of the square or the cube."""
    corners = shape.corners
    for axes in permutations(range(shape.dim)):
        for signs in product((-1, 1), repeat=shape.dim):
            turn = np.eye(shape.dim)[list(axes)] * signs
            if np.linalg.det(turn) > 0:
                turned = corners @ turn
                yield [int(np.argmin(np.abs(corners - x).sum(axis=1))) for x in turned]


@pytest.mark.parametrize("make, count", [(quads, 4), (hexes, 24)])
def test_neighbours_agree_on_vertices_for_every_rotation(make, count):
    """With the 24 rotations of the cube the common face is each of the six, at each of its four angles."""
    good, seen, all_of = make((2, 1, 1)[:2 if make is quads else 3]), set(), list(rotations(make(1).cell_shape))
    assert len(all_of) == count
    for first, second in product(all_of, all_of):
        cells = np.array([good.cells[0][first], good.cells[1][second]])
        mesh = from_arrays(good.points, cells)
        assert np.count_nonzero(mesh.neighbour_face >= 0) == 2 and not mesh.notes
        [(cell, face), _] = np.argwhere(mesh.neighbour_face >= 0)
        match = mesh.orientation[cell, face]
        other = mesh.neighbour_cell[cell, face], mesh.neighbour_face[cell, face]
        mine, theirs = mesh.face_points(np.array([(cell, face), other]))
        assert np.array_equal(mine, theirs[match])
        seen.add(tuple(match))
    assert len(seen) == (2 if make is quads else 8)
    check_mesh(mesh)


@pytest.mark.parametrize("make", [quads, hexes])
@pytest.mark.parametrize("cells", [1, 2, 3])
def test_periodic_meshes_have_no_boundary(make, cells):
    mesh = make(cells, periodic=True, perturb=0.15)
    check_mesh(mesh)
    assert not len(mesh.boundary_faces) and len(mesh.periods) == mesh.dim and mesh.measures.sum() == pytest.approx(1)
    fine = mesh.refined()
    check_mesh(fine)
    assert not len(fine.boundary_faces) and fine.periods == mesh.periods and "periodic" in describe(fine)


@pytest.mark.parametrize("make", [quads, hexes])
@pytest.mark.parametrize("perturb", [0, 0.15])
def test_generated_meshes_have_named_sides(make, perturb):
    mesh = make((3, 4, 2)[:2 if make is quads else 3], perturb=perturb)
    check_mesh(mesh)
    assert not mesh.notes and not len(mesh.unnamed) and mesh.measures.sum() == pytest.approx(1)
    assert {name: len(rows) for name, rows in mesh.boundaries.items()} == (
        {"left": 4, "right": 4, "bottom": 3, "top": 3} if make is quads else
        {"left": 8, "right": 8, "front": 6, "back": 6, "bottom": 12, "top": 12})
    for side, axis, sign in (("left", 0, -1), ("right", 0, 1), ("bottom", -1, -1), ("top", -1, 1)):
        rows = mesh.boundaries[side]
        assert np.allclose(mesh.normals[rows[:, 0], rows[:, 1]], sign * np.eye(mesh.dim)[axis])
        assert np.allclose(mesh.face_centres(rows)[:, axis], sign > 0)


@pytest.mark.parametrize("call, words", [
    (lambda: rectangle(shape="quad"), "shape 'quad' does not exist; allowed: triangle, quadrilateral"),
    (lambda: box(shape="hexaheron"), "allowed: tetra, hexahedron, prism, pyramid, mixed, hybrid .did you mean 'hexahedron'"),
    (lambda: quads(diagonal="left"), "only triangles have diagonals"),
    (lambda: quads(8, perturb=0.49), "inverts or makes concave"),
    (lambda: from_arrays(CUBE, [range(8)], {"wall": np.array([(0, 1, 2)])}),
     r"boundary 'wall': faces of the shape \(1, 3\) do not fit hexahedron cells; allowed: \(face, 4\)")])
def test_generators_refuse_what_does_not_fit(call, words):
    with pytest.raises(MeshError, match=words):
        call()


@pytest.mark.parametrize("make, bounds", [(quads, (4, 3)), (hexes, (3, 3, 2))])
def test_refinement_keeps_measures_names_and_regions(make, bounds):
    mesh = make(bounds, perturb=0.2)
    halves = np.flatnonzero(mesh.centroids[:, 0] < 0.5)
    mesh = from_arrays(mesh.points, mesh.cells, {name: mesh.face_points(rows) for name, rows in mesh.boundaries.items()},
                       {"half": halves})
    fine = mesh.refined()
    check_mesh(fine)
    children = 2**mesh.dim
    assert len(fine.cells) == children * len(mesh.cells) and fine.cell_type == mesh.cell_type
    measure = np.bincount(fine.numbers // children, weights=fine.measures)
    assert np.allclose(measure[mesh.numbers], mesh.measures, rtol=1e-13)
    assert fine.measures[fine.regions["half"]].sum() == pytest.approx(mesh.measures[mesh.regions["half"]].sum())
    for name, rows in mesh.boundaries.items():
        again = fine.boundaries[name]
        assert len(again) == children // 2 * len(rows)
        assert fine.face_measures[again[:, 0], again[:, 1]].sum() == pytest.approx(
            mesh.face_measures[rows[:, 0], rows[:, 1]].sum())
    assert fine.refined().measures.sum() == pytest.approx(1)


# Points in cells.

@pytest.mark.parametrize("make, bounds", [(quads, (7, 5)), (hexes, (4, 3, 3))])
@pytest.mark.parametrize("perturb", [0, 0.2])
def test_points_are_found_again(make, bounds, perturb):
    mesh = make(bounds, perturb=perturb)
    rng = np.random.default_rng(3)
    cell = rng.integers(len(mesh.cells), size=2000)
    r = rng.uniform(-1, 1, (2000, mesh.dim))
    x = np.einsum("pc,pcd->pd", weights(mesh.cell_shape.corners, r), mesh.points[mesh.cells[cell]])
    found, reference = Locator(mesh.points, mesh.cells).find(x)
    assert np.array_equal(found, cell) and np.abs(reference - r).max() < 1e-12 * (1 if perturb == 0 else 10)
    outside = rng.uniform(-0.5, 1.5, (2000, mesh.dim))
    found, _ = Locator(mesh.points, mesh.cells).find(outside)
    assert np.array_equal(found >= 0, np.all((outside > 0) & (outside < 1), axis=1))


def test_points_are_found_in_very_skewed_cells_and_on_their_faces():
    rng, tried = np.random.default_rng(7), 0
    while tried < 60:
        shape = (QUAD, HEX)[tried % 2]
        points = shape.corners + rng.uniform(-0.95, 0.95, shape.corners.shape)
        J = np.einsum("ci,pcd->pid", points, gradients(shape.corners, shape.test_points))
        if np.linalg.det(J).min() < 1e-3:
            continue
        tried += 1
        r = rng.uniform(-1, 1, (500, shape.dim))
        r[::5, 0] = 1
        x = 1e4 + np.einsum("pc,cd->pd", weights(shape.corners, r), points)
        found, reference = Locator(1e4 + points, np.arange(len(points))[None]).find(x)
        image = 1e4 + np.einsum("pc,cd->pd", weights(shape.corners, reference), points)
        assert np.all(found == 0) and np.abs(image - x).max() < 1e-10
    assert Locator(CUBE, np.arange(8)[None]).find(np.array([[np.nan, 0, 0], [2, 0, 0]]))[0].tolist() == [-1, -1]


# Maps.

def ring(x):
    return (1 + x[0]) * np.cos(x[1]), (1 + x[0]) * np.sin(x[1])


def test_a_mapped_mesh_keeps_numbers_names_and_measures():
    flat = rectangle((0, 0), (1, np.pi / 2), (16, 24), shape="quadrilateral")
    mesh = flat.mapped(ring)
    check_mesh(mesh)
    assert mesh.measures.sum() == pytest.approx(3 * np.pi / 4, rel=2e-3) and mesh.source.endswith(", mapped")
    assert np.array_equal(mesh.numbers, flat.numbers) and np.array_equal(mesh.cells, flat.cells)
    assert np.array_equal(mesh.boundaries["left"], flat.boundaries["left"])
    assert np.allclose(np.linalg.norm(mesh.points[mesh.face_points(mesh.boundaries["left"])], axis=2), 1)
    assert np.allclose(interval().mapped(lambda x: (x[0] ** 2,)).points[:, 0] ** 0.5, interval().points[:, 0])
    shear = box(cells=2).mapped(lambda x: (x[0] + x[1], x[1], 2 * x[2]))
    assert shear.measures.sum() == pytest.approx(2) and shear.cell_type == "tetra"


def test_mapped_periodic_meshes_must_keep_their_periods():
    wave = quads(6, periodic=True).mapped(lambda x: (2 * x[0] + 0.1 * np.sin(2 * np.pi * x[1]), x[1] - x[0]))
    check_mesh(wave)
    assert [np.round(shift, 12).tolist() for *_, shift in wave.periods] == [[2, -1], [0, 1]]
    check_mesh(wave.refined())
    solid = hexes(3, periodic=(True, False, True)).mapped(lambda x: (x[0], x[1] + 0.1 * np.cos(2 * np.pi * x[0]), 3 * x[2]))
    check_mesh(solid)
    assert solid.measures.sum() == pytest.approx(3)
    with pytest.raises(MeshError, match="'left' and 'right' do not match any more: 6 of 6 faces, first cell "):
        quads(6, periodic=True).mapped(lambda x: (x[0], x[1] * (1 + x[0])))
    with pytest.raises(MeshError, match="do not match"):
        quads(6, periodic=(True, False)).mapped(ring)


@pytest.mark.parametrize("function, words", [
    (lambda x: (-x[0], x[1]), "inverts 16 of 16 cells"), (lambda x: (x[0], 0), "16 cells have no area"),
    (lambda x: (x[0] * np.nan, x[1]), "must be finite"), (lambda x: x[0], "must return 2 coordinates"),
    (lambda x: (x[0],), "must return 2 coordinates"), (lambda x: (x[0][:3], x[1]), "2 arrays of 25 numbers"),
    (lambda x: tuple(np.where((x[0] == 0.5) & (x[1] == 0.5), 0.7, c) for c in x), r"concave, .* at \(0.7, 0.7\)")])
def test_maps_that_spoil_a_mesh_are_refused(function, words):
    with pytest.raises(MeshError, match=words) as caught:
        quads().mapped(function)
    assert str(caught.value).startswith("rectangle(4 x 4), mapped: ") and "\n" not in str(caught.value)


# Parts.

@pytest.mark.parametrize("make, options", [(quads, {}), (hexes, {}), (hexes, {"periodic": True})])
def test_parts_see_each_face_as_the_whole_mesh_does(make, options):
    mesh = make(4, perturb=0.1, **options)
    for parts in (2, 5):
        pieces = partition(mesh, split(mesh, parts))
        assert sum(piece.owned for piece in pieces) == len(mesh.cells)
        for piece in pieces:
            cells = piece.numbers_in_whole
            assert np.array_equal(piece.points[piece.cells], mesh.points[mesh.cells[cells]])
            own = slice(0, piece.owned)
            assert np.array_equal(cells[piece.neighbour_cell[own]], mesh.neighbour_cell[cells[own]])
            assert np.array_equal(piece.orientation[own], mesh.orientation[cells[own]])
            assert np.array_equal(piece.measures, mesh.measures[cells])
        faces = sum(len(left) for piece in pieces for left, _ in by_kind(piece).interior)
        halo = sum(len(left) for piece in pieces for left, _ in by_kind(piece).halo)
        assert faces + halo // 2 == np.count_nonzero(mesh.neighbour_face >= 0) // 2
    with pytest.raises(MeshError, match="cannot be mapped"):
        pieces[0].mapped(lambda x: x)


# Files.

READ = {"gmsh_hexdemo_v22.msh": (3, "hexahedron"), "gmsh_sv_quad_o1_v22.msh": (0.7189806088, "quadrilateral"),
        "grudge_gh-339.msh": (1, "hexahedron"), "meshmode_cubed-cube.msh": (1000, "hexahedron"),
        "mfem_beam-hex.vtk": (8, "hexahedron"), "pyfr_euler-vortex.msh": (400, "quadrilateral")}
NASTY = {"good_quad_4x4": "quadrilateral", "hanging_node_quad": "quadrilateral", "hex_good_single": "hexahedron"}
REFUSED = {"hex_tet_quad_vs_tri_face": r"nonconforming interface: .* cell 0 \(element 1 in the file\)",
           "hex_negative_corner": r"1 hexahedron cell is concave, .*cell 0 \(element 1 in the file\) at \(",
           "quad_concave": r"1 quadrilateral cell is concave, .*cell 0 \(element 1 in the file\) at \(0.2, 0.2\)"}


@pytest.mark.filterwarnings("ignore:.*components that share no face")
@pytest.mark.parametrize("name", parameters(READ, mesh_path))
def test_meshes_of_other_projects_are_read(name):
    mesh = read_mesh(mesh_path(name))
    check_mesh(mesh)
    assert mesh.cell_type == READ[name][1] and mesh.measures.sum() == pytest.approx(READ[name][0], rel=2e-9)
    assert f"{len(mesh.cells)} {mesh.cell_type}" in describe(mesh)
    check_mesh(mesh.refined())


@pytest.mark.external
def test_a_mesh_with_periodic_groups_can_be_glued():
    mesh = read_mesh(mesh_path("pyfr_euler-vortex.msh"))
    mesh = mesh.periodic(("periodic_0_l", "periodic_0_r"), ("periodic_1_l", "periodic_1_r"))
    check_mesh(mesh)
    assert not len(mesh.boundary_faces)


@pytest.mark.parametrize("name", parameters(NASTY, nasty_path))
def test_good_meshes_are_read(name):
    mesh = read_mesh(nasty_path(name))
    check_mesh(mesh)
    assert mesh.cell_type == NASTY[name] and mesh.measures.sum() == pytest.approx(1) and not mesh.notes


@pytest.mark.parametrize("name", parameters(REFUSED, nasty_path))
def test_broken_meshes_are_refused_in_one_line(name):
    with pytest.raises(MeshError, match=REFUSED[name]) as caught:
        read_mesh(nasty_path(name))
    assert str(caught.value).startswith(f"{nasty_path(name)}: ") and "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix, options", [(".vtu", {}), (".vtk", {}), (".msh", {"file_format": "gmsh22"}), (".xdmf", {}),
                                             (".mesh", {}), (".bdf", {}), (".inp", {})])
@pytest.mark.parametrize("make", [quads, hexes])
def test_formats(tmp_path, make, suffix, options):
    original = make(3, perturb=0.1)
    shape = original.cell_shape
    cyclic = (0, 1, 3, 2)[:4] if shape is HEX else (0, 1)
    facets = [(shape.face_in_files, original.face_points(rows)[:, cyclic]) for rows in original.boundaries.values()]
    points = np.column_stack([original.points, np.zeros((len(original.points), 3 - original.dim))])
    blocks = [*facets, (shape.in_files, original.cells)]
    groups = {} if suffix == ".inp" else {"gmsh:physical": [np.full(len(cells), k + 1) for k, (_, cells) in enumerate(blocks)]}
    if suffix in (".mesh", ".bdf"):
        groups = {{".mesh": "medit:ref", ".bdf": "nastran:ref"}[suffix]: groups["gmsh:physical"]}
    if suffix == ".msh":
        groups["gmsh:geometrical"] = groups["gmsh:physical"]
    path = tmp_path / f"mesh{suffix}"
    meshio.Mesh(points, blocks, cell_data=groups).write(path, **options)
    mesh = read_mesh(path)
    check_mesh(mesh)
    assert np.allclose(mesh.centroids, original.centroids, atol=1e-6)
    assert np.allclose(mesh.measures, original.measures, rtol=1e-4)
    if groups:
        assert [len(mesh.boundaries[str(k + 1)]) for k in range(len(facets))] == [len(f) for _, f in facets]
        assert list(mesh.regions) == [str(len(blocks))]


def test_faces_that_do_not_fit_and_bent_surfaces_are_refused(tmp_path):
    points = np.concatenate([CUBE, CUBE[:4] - (0, 0, 1)])
    meshio.Mesh(CUBE, [("hexahedron", [range(8)]), ("triangle", [(0, 1, 2)])]).write(tmp_path / "faces.vtu")
    with pytest.raises(MeshError, match="boundary faces of type 'triangle' do not fit hexahedron cells; allowed: quad"):
        read_mesh(tmp_path / "faces.vtu")
    meshio.Mesh(points, [("quad", [(0, 1, 2, 3), (4, 5, 6, 7)])]).write(tmp_path / "surface.vtu")
    with pytest.raises(MeshError, match="no volume cells: the quadrilateral cells lie on a surface in 3D"):
        read_mesh(tmp_path / "surface.vtu")


# Methods and memory.

@pytest.mark.parametrize("method", [dg.ModalDG(1)], ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("make", [quads, hexes])
def test_methods_refuse_these_cells_in_one_sentence(make, method):
    mesh = make(2, periodic=True)
    with pytest.raises(ValueError, match=f"works on lines, triangles and tetrahedra, not on {mesh.cell_type} cells"):
        dg.Simulation(mesh, dg.Acoustics(mesh.dim), method, initial=lambda x: (0 * x[0],) * (mesh.dim + 1), backend="numpy")


@pytest.mark.usefixtures("usual_garbage")
@pytest.mark.parametrize("make", [
    lambda: quads(50), lambda: hexes(14), lambda: quads(20).refined(), lambda: hexes(8).refined()])
def test_memory_for_a_mesh_is_known_before_it_is_made(make, monkeypatch):
    make()          # what is imported and kept at the first time does not count
    tracemalloc.start()
    mesh = make()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.9 < memory.TENSOR_BYTES[mesh.dim] * len(mesh.cells) / peak < 1.1
    monkeypatch.setattr(memory, "host_free", lambda: peak // 2)
    for call in (make, mesh.refined):
        with pytest.raises(MeshError, match=r"would have .* cells, which need about .* GiB are free; take fewer"):
            call()


def test_polynomials_on_simplices_refuse_other_cells():
    with pytest.raises(ValueError, match=r"for lines, triangles and tetrahedra, not for <Mesh rectangle\(2 x 2\)"):
        PolynomialSpace(dg.rectangle(cells=2, shape="quadrilateral"), 2)
