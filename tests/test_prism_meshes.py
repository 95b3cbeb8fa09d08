"""Meshes of prisms, of pyramids, and of several shapes: geometry, conformity, names, files, and runs on them."""
from itertools import product

import numpy as np
import pytest

import dgarray as dg
from dgarray.analysis.totals import totals_of_state
from dgarray.mesh import MeshError, describe
from dgarray.mesh.locate import Locator
from dgarray.mesh.mesh import build

SIDES = {"left": (0, 0.0), "right": (0, 1.0), "front": (1, 0.0), "back": (1, 1.0), "bottom": (2, 0.0), "top": (2, 1.0)}
SHAPES = ["prism", "pyramid", "mixed", "hybrid"]
RING = [0, 1, 3, 2]          # from the order of a lattice to that around a face


def rows_and_others(mesh):
    cell, face = np.nonzero(mesh.neighbour_face >= 0)
    return np.stack([cell, face], 1), np.stack([mesh.neighbour_cell[cell, face], mesh.neighbour_face[cell, face]], 1)


def triangles(corners):
    return corners[:, 3] == corners[:, 2]


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_neighbours_share_the_corners_of_their_faces(shape, periodic):
    mesh = dg.box(cells=4, shape=shape, periodic=periodic, perturb=0.1)
    rows, others = rows_and_others(mesh)
    assert np.array_equal(mesh.neighbour_cell[tuple(others.T)], rows[:, 0])
    assert np.array_equal(mesh.neighbour_face[tuple(others.T)], rows[:, 1])
    own, there = mesh.face_points(rows), mesh.face_points(others)
    assert np.array_equal(triangles(own), triangles(there)) and triangles(own).any() and not triangles(own).all()
    gap = mesh.points[own] - mesh.points[np.take_along_axis(there, mesh.orientation[tuple(rows.T)], axis=1)]
    gap[triangles(own), 3:] = gap[triangles(own), :1]
    assert np.abs(gap - gap[:, :1]).max() < 1e-14
    assert np.allclose(mesh.normals[tuple(rows.T)], -mesh.normals[tuple(others.T)], atol=1e-14)
    assert len(mesh.boundary_faces) == (0 if periodic else sum(map(len, mesh.boundaries.values())))
    assert periodic == (len(mesh.glued) > 0)


@pytest.mark.parametrize("shape", SHAPES)
def test_volumes_and_areas(shape):
    """The box's, by the divergence theorem each cell's, and those of an affine image."""
    mesh = dg.box(cells=4, shape=shape, perturb=0.1)
    assert mesh.measures.sum() == pytest.approx(1.0, rel=1e-14) and mesh.measures.min() > 0
    vectors = mesh.normals * mesh.face_measures[:, :, None]
    assert np.abs(vectors.sum(axis=1)).max() < 1e-15
    for name, (axis, value) in SIDES.items():
        faces = mesh.boundaries[name]
        assert np.allclose(mesh.face_centres(faces)[:, axis], value)
        assert mesh.face_measures[tuple(faces.T)].sum() == pytest.approx(1.0, rel=1e-14)
        assert np.allclose(vectors[tuple(faces.T)].sum(axis=0), np.eye(3)[axis] * (1 if value else -1))
    A = np.array([(2, 0.3, 0), (0, 1, 0.2), (0.1, 0, 0.5)])
    image = mesh.mapped(lambda x: tuple(A @ np.array(x)))
    assert np.allclose(image.measures, np.linalg.det(A) * mesh.measures, rtol=1e-12)


@pytest.mark.parametrize("points", [[(0, 0, 0), (1, 0.1, 0), (0.1, 1, 0.2), (0.1, 0, 1), (1.2, 0, 1.1), (0, 0.8, 1.3)],
                                    [(0, 0, 0), (1, 0.1, -0.2), (1.1, 1, 0.2), (0.1, 0.9, 0), (0.4, 0.7, 1.3)]])
def test_the_volume_with_warped_faces(points):
    """Its exact volume: of the tetrahedra between a point inside and the bilinear faces, whose share of the flux of x / 3 an
    integral by Gauss's rule gives."""
    points = np.array(points)
    mesh = build(points, [range(len(points))])
    s, w = np.polynomial.legendre.leggauss(4)
    flux = 0.0
    for face, sign in zip(mesh.cell_shape.faces, mesh.cell_shape.outward):
        x = points[list(face)]
        if len(face) == 3:
            flux += sign * np.cross(x[1] - x[0], x[2] - x[0]) @ x.mean(axis=0) / 2
            continue
        for (a, u), (b, v) in product(zip(s, w), repeat=2):
            along = ((x[1] - x[0]) * (1 - b) + (x[3] - x[2]) * (1 + b)) / 4
            across = ((x[2] - x[0]) * (1 - a) + (x[3] - x[1]) * (1 + a)) / 4
            at = ((x[0] * (1 - a) + x[1] * (1 + a)) * (1 - b) + (x[2] * (1 - a) + x[3] * (1 + a)) * (1 + b)) / 4
            flux += sign * u * v * np.cross(along, across) @ at
    assert mesh.measures[0] == pytest.approx(flux / 3, rel=1e-13)


def test_shapes_and_join_faces():
    mesh = dg.box(cells=4, shape="mixed")
    assert [(block.cell_type, block.cell_count) for block in mesh.blocks] == [("tetra", 96), ("prism", 64), ("hexahedron", 16)]
    assert [len(block.join_faces) for block in mesh.blocks] == [32, 48, 16]
    assert "96 tetra, 64 prism, 16 hexahedron, 3D" in describe(mesh)
    part = mesh.part(np.arange(90, 170))
    assert [block.cell_count for block in part.blocks] == [6, 64, 10]
    assert part.measures.sum() == pytest.approx(mesh.measures[90:170].sum())


def test_quality_is_one_for_the_pyramid_with_equal_edges():
    points = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0.5, 0.5, 0.5 ** 0.5)])
    assert build(points, [range(5)]).quality() == pytest.approx(1.0)
    for height in (0.02, 10):
        assert build(points * (1, 1, height), [range(5)]).quality()[0] < 0.03


def test_quality_is_one_for_the_prism_with_equal_edges():
    triangle = np.array([(0, 0), (1, 0), (0.5, np.sqrt(0.75))])
    points = np.array([(*x, z) for z in (0, 1) for x in triangle])
    assert build(points, [range(6)]).quality() == pytest.approx(1.0)
    points[2, 1] = points[5, 1] = 0.01
    assert build(points, [range(6)]).quality()[0] < 0.03


def test_prisms_upside_down_are_turned_and_twisted_ones_refused():
    mesh = dg.box(cells=2, shape="prism", perturb=0.1)
    mirrored = build(mesh.points * (-1, 1, 1), mesh.cells)
    assert mirrored.measures.min() > 0 and mirrored.measures.sum() == pytest.approx(1.0)
    twisted = mesh.cells.copy()
    twisted[3, 3:] = twisted[3, [4, 3, 5]]
    with pytest.raises(MeshError, match="prism cell is concave, twisted or degenerate"):
        build(mesh.points, twisted)


@pytest.mark.parametrize("shape", SHAPES)
def test_points_are_found(shape):
    mesh = dg.box(cells=3, shape=shape, perturb=0.15)
    x = np.random.default_rng(0).uniform(0, 1, (500, 3))
    found = np.zeros(len(x), int)
    for block in mesh.blocks:
        element, r = Locator(block.points, block.cells, None).find(x)
        inside = element >= 0
        weights = block.cell_shape.weights(r[inside])
        image = np.einsum("pc,pcd->pd", weights, block.points[block.cells[element[inside]]])
        assert np.abs(image - x[inside]).max() < 1e-9
        found += inside
    assert np.array_equal(found, np.ones(len(x)))


@pytest.mark.parametrize("suffix", ["msh", "vtu"])
@pytest.mark.parametrize("shape", ["prism", "mixed"])
def test_files_with_prisms(shape, suffix, tmp_path):
    meshio = pytest.importorskip("meshio")
    mesh, path = dg.box(cells=4, shape=shape), tmp_path / f"mesh.{suffix}"
    cells = [(block.cell_shape.in_files, block.cells) for block in mesh.blocks]
    tags, names = [np.full(len(rows), 7) for _, rows in cells], {"body": np.array([7, 3])}
    for number, (name, faces) in enumerate(mesh.boundaries.items(), 10):
        corners = mesh.face_points(faces)
        three = triangles(corners)
        for kind, rows in (("triangle", corners[three, :3]), ("quad", corners[~three][:, RING])):
            if len(rows):
                cells.append((kind, rows))
                tags.append(np.full(len(rows), number))
        names[name] = np.array([number, 2])
    gmsh = {"cell_data": {"gmsh:physical": tags, "gmsh:geometrical": tags}, "field_data": names}
    data = meshio.Mesh(mesh.points, cells, **(gmsh if suffix == "msh" else {"cell_data": {"material": tags}}))
    meshio.write(path, data, **({"file_format": "gmsh22"} if suffix == "msh" else {}))
    read = dg.read_mesh(path)
    assert read.shapes == mesh.shapes and not len(read.unnamed)
    for number, (name, (axis, value)) in enumerate(SIDES.items(), 10):
        faces = read.boundaries[name if suffix == "msh" else str(number)]
        assert len(faces) == len(mesh.boundaries[name]) and np.allclose(read.face_centres(faces)[:, axis], value)
    assert list(read.regions) == ["body" if suffix == "msh" else "7"] and read.measures.sum() == pytest.approx(1.0)


def test_a_face_that_meets_two_triangles_is_refused():
    """A hexahedron beside two tetrahedra; the message has the elements of the file."""
    points = np.array([(x, y, z) for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))] + [(2, 0.5, 0.5)], float)
    with pytest.raises(MeshError, match=r"nonconforming interface: .* cell 0 \(element 5 in the file\)"):
        build(points, {"hexahedron": [range(8)], "tetra": [(1, 2, 6, 8), (1, 6, 5, 8)]}, elements=np.array([5, 6, 7]))


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("make, shape", [(dg.rectangle, "mixed"), (dg.box, "mixed"), (dg.box, "hybrid"),
                                         (dg.box, "pyramid")])
def test_refined_meshes_of_several_shapes(make, shape, degree, periodic):
    """Children fill their parent; names, interfaces and periods are kept, and no face is left open."""
    def bent(x):
        push = 0.05 * np.prod([np.sin(np.pi * c) for c in x], axis=0)
        return tuple(c + push for c in x)
    mesh = make(cells=4, shape=shape, periodic=periodic).with_regions({"a": lambda x: x[0] < 0.5, "b": lambda x: x[0] > 0.5})
    mesh = mesh.with_interfaces({"section": ("a", "b")}).mapped(bent, degree)
    fine, count = mesh.refined(), 2 ** mesh.dim
    children = {name: 10 if name == "pyramid" else count for name in mesh.cell_type.split(" and ")}
    families = np.bincount(fine.numbers // max(children.values()), weights=fine.measures)
    assert np.abs(families - mesh.measures[np.argsort(mesh.numbers)]).max() < 1e-15 and fine.order == degree
    assert len(np.unique(fine.numbers)) == fine.cell_count == sum(
        children[block.cell_type] * block.cell_count for block in mesh.blocks)
    assert len(fine.boundary_faces) == count // 2 * len(mesh.boundary_faces) and not len(fine.unnamed)
    assert {name: count // 2 * len(rows) for name, rows in mesh.boundaries.items()} == {
        name: len(rows) for name, rows in fine.boundaries.items()}
    assert all(fine.measures[fine.regions[name]].sum() == pytest.approx(mesh.measures[cells].sum())
               for name, cells in mesh.regions.items())
    rows = fine.interfaces["section"]
    assert len(rows) == count // 2 * len(mesh.interfaces["section"]) and fine.periods == mesh.periods
    assert np.all(np.isin(rows[:, 0], fine.regions["a"]))
    assert fine.refined().measures.sum() == pytest.approx(1.0)
    with pytest.raises(MeshError, match=r"refined\(where\) is for quadrilaterals and hexahedra; .* cells are all refined"):
        mesh.refined("a")


def test_an_error_falls_at_its_order_on_refined_meshes():
    def exact(x, t):
        s = np.sin(2 * np.pi * (x[0] + x[1] + x[2] - 3 ** 0.5 * t))
        return tuple(c * s for c in (1.0, *3 * [3 ** -0.5]))
    errors, mesh = [], dg.box(cells=4, shape="mixed", periodic=True)
    for _ in range(2):
        sim = simulation(mesh, dg.Acoustics(3), 1, lambda x: exact(x, 0.0), exact=exact)
        sim.run(until=0.05)
        errors.append(sim.report["l2_error"]["total"])
        mesh = mesh.refined()
    assert np.log2(errors[0] / errors[1]) > 1.6, errors


@pytest.mark.parametrize("shape", SHAPES)
def test_interfaces_through_prisms(shape):
    mesh = dg.box(cells=4, shape=shape).with_regions({"a": lambda x: x[2] < 0.5, "b": lambda x: x[2] > 0.5})
    mesh = mesh.with_interfaces({"section": ("a", "b")})
    rows = tuple(mesh.interfaces["section"].T)
    assert mesh.face_measures[rows].sum() == pytest.approx(1.0) and np.allclose(mesh.normals[rows], (0, 0, 1))
    named = {"section": mesh.face_points(mesh.interfaces["section"])}          # as a file has it
    read = build(mesh.points, {block.cell_type: block.cells for block in mesh.blocks}, named)
    rows = tuple(read.interfaces["section"].T)
    assert read.face_measures[rows].sum() == pytest.approx(1.0) and np.ptp(read.normals[rows][:, 2]) < 1e-12


def test_pictures_of_meshes_with_prisms(tmp_path):
    pytest.importorskip("matplotlib")
    for shape in SHAPES:
        assert dg.box(cells=2, shape=shape).plot(tmp_path / f"{shape}.png").stat().st_size > 5000


# Runs.

def plane_wave(x, t):
    p = np.sin(2 * np.pi * (x[0] + x[2] - np.sqrt(2) * t))
    return p, p / np.sqrt(2), 0 * p, p / np.sqrt(2)


def simulation(mesh, law, order, initial, **options):
    return dg.Simulation(mesh, law, dg.NodalDG(order), initial=initial, backend="numpy", kernels="array", **options)


@pytest.mark.parametrize("law, u", [(dg.Euler(3), (1.0, 0.3, 0.2, 0.1, 2.5)), (dg.Maxwell(3), (1.0,) * 6)],
                         ids=["euler", "maxwell"])
@pytest.mark.parametrize("shape", ["mixed", "hybrid"])
def test_free_stream_and_conservation_on_several_shapes(law, u, shape):
    """Faces of every pair of shapes, warped ones and those of periodic boundaries among them."""
    def smooth(x):
        return tuple(value * (1 + 0.1 * np.sin(2 * np.pi * sum(x))) for value in u)
    sim = simulation(dg.box(cells=4 if shape == "hybrid" else 3, shape=shape, periodic=True, perturb=0.1), law, 2, smooth)
    operator = sim.operator

    def rates(f):
        return operator.nodal(operator.host(operator.rhs(operator.state(operator.project(f)), 0.0)))
    uniform = np.nanmax(np.abs(rates(lambda x: tuple(value + 0 * x[0] for value in u))))
    assert uniform < 1e-11 * np.nanmax(np.abs(rates(smooth)))
    state = operator.state(operator.project(smooth))
    before = totals_of_state(operator, state)
    state = operator.advance(state, 0.0, operator.largest_step(state, 0.0) / 2)
    after = totals_of_state(operator, state)
    assert max(abs(after[name] - before[name]) for name in law.variables) < 1e-13


@pytest.mark.thorough
@pytest.mark.parametrize("order, levels", [(1, (4, 8)), (2, (4, 8)), (3, (3, 6))])
def test_observed_orders_on_three_shapes(order, levels):
    errors = [simulation(dg.box(cells=cells, shape="mixed", periodic=True), dg.Acoustics(3), order,
                         lambda x: plane_wave(x, 0.0), cfl=0.5).run(0.1).dg.error(plane_wave)["total"] for cells in levels]
    assert np.log2(errors[0] / errors[1]) > order + 0.7
