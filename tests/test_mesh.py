"""Meshes: reading and refusing files, generators, connectivity, periodic gluing, refinement."""
import re
import tracemalloc
import warnings

import meshio
import numpy as np
import pytest
from references import DATA, mesh_path, nasty_path, parameters

from dgarray.mesh import MeshError, MeshWarning, box, describe, from_arrays, interval, memory, polygon, read_mesh, rectangle
from dgarray.reference.simplex import FACES


def quiet(path):
    """The mesh in a file, whatever it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        return read_mesh(path)


def check_mesh(mesh):
    """Every invariant that a mesh promises."""
    dim, count = mesh.dim, len(mesh.cells)
    assert np.all(mesh.measures > 0) and np.all(mesh.quality() <= 1 + 1e-12)
    assert sorted(mesh.numbers) == list(range(count))
    own = np.repeat(np.arange(count)[:, None], dim + 1, axis=1)
    face = np.broadcast_to(np.arange(dim + 1), own.shape)
    inner = mesh.neighbour_face >= 0
    back = mesh.neighbour_cell[inner], mesh.neighbour_face[inner]
    assert np.array_equal(mesh.neighbour_cell[back], own[inner])
    assert np.array_equal(mesh.neighbour_face[back], face[inner])
    assert np.array_equal(mesh.neighbour_cell[~inner], own[~inner])
    assert np.array_equal(np.take_along_axis(mesh.orientation[back], mesh.orientation[inner], axis=1),
                          np.broadcast_to(np.arange(dim), (inner.sum(), dim)))
    corners = mesh.points[mesh.cells[:, FACES[dim]]]
    other = np.take_along_axis(corners[back], mesh.orientation[inner][:, :, None], axis=1)
    shift = other - corners[inner]
    assert np.allclose(shift, shift[:, :1], atol=1e-9 * np.ptp(mesh.points))
    if not len(mesh.glued):
        assert np.allclose(shift, 0)
    centre = corners.mean(axis=2)
    assert np.all(np.sum(mesh.normals * (centre - mesh.centroids[:, None]), axis=2) > 0)
    assert np.allclose(np.linalg.norm(mesh.normals, axis=2), 1)
    assert np.allclose(mesh.normals[inner], -mesh.normals[back], atol=1e-6)
    closed = np.sum(mesh.normals * mesh.face_measures[:, :, None], axis=1)
    assert np.allclose(closed, 0, atol=1e-12 * mesh.face_measures.max())
    assert len(mesh.boundary_faces) == np.count_nonzero(~inner)
    for rows in mesh.boundaries.values():
        assert np.all(mesh.neighbour_face[rows[:, 0], rows[:, 1]] < 0)
    assert not mesh.is_named(mesh.unnamed).any()


GENERATED = {
    "interval": (lambda **k: interval(-1, 2, 7, **k), 3, {"left": 1, "right": 1}),
    "rectangle": (lambda **k: rectangle((0, 1), (2, 4), (3, 5), **k), 6,
                  {"left": 5, "right": 5, "bottom": 3, "top": 3}),
    "alternate": (lambda **k: rectangle((0, 0), (1, 1), 4, diagonal="alternate", **k), 1,
                  {"left": 4, "right": 4, "bottom": 4, "top": 4}),
    "box": (lambda **k: box((0, 0, 0), (1, 2, 3), (2, 3, 4), **k), 6,
            {"left": 24, "right": 24, "front": 16, "back": 16, "bottom": 12, "top": 12}),
}
SIDES = {"left": (0, -1), "right": (0, 1), "front": (1, -1), "back": (1, 1), "bottom": (-1, -1), "top": (-1, 1)}


@pytest.mark.parametrize("name", GENERATED)
@pytest.mark.parametrize("perturb", [0, 0.12])
def test_generated_meshes_have_named_sides(name, perturb):
    make, measure, faces = GENERATED[name]
    mesh = make(perturb=perturb)
    check_mesh(mesh)
    assert mesh.measures.sum() == pytest.approx(measure) and not mesh.notes and not len(mesh.unnamed)
    assert {side: len(rows) for side, rows in mesh.boundaries.items()} == faces
    for side, rows in mesh.boundaries.items():
        axis, sign = SIDES[side]
        normal = np.zeros(mesh.dim)
        normal[axis] = sign
        assert np.allclose(mesh.normals[rows[:, 0], rows[:, 1]], normal)
        end = mesh.points[:, axis].max() if sign > 0 else mesh.points[:, axis].min()
        assert np.allclose(mesh.face_centres(rows)[:, axis], end)
    assert (perturb == 0) == np.array_equal(mesh.points, make().points)


@pytest.mark.parametrize("name", GENERATED)
@pytest.mark.parametrize("cells", [1, 2, 3])
def test_periodic_meshes_have_no_boundary(name, cells):
    make = {"interval": interval, "rectangle": rectangle, "box": box}.get(name)
    if make:
        mesh = make(cells=cells, periodic=True, perturb=0.1)
    else:
        mesh = rectangle(cells=cells, periodic=True, diagonal="alternate")
    check_mesh(mesh)
    assert not len(mesh.boundary_faces) and not mesh.boundaries and len(mesh.periods) == mesh.dim
    refined = mesh.refined()
    check_mesh(refined)
    assert not len(refined.boundary_faces) and refined.periods == mesh.periods


def test_half_periodic_rectangle_meets_across_the_period():
    mesh = rectangle(cells=(4, 3), periodic=(True, False))
    check_mesh(mesh)
    assert set(mesh.boundaries) == {"bottom", "top"} and len(mesh.glued) == 3
    for cell, face, other, opposite in mesh.glued:
        assert mesh.neighbour_cell[cell, face] == other and mesh.neighbour_face[cell, face] == opposite
        jump = mesh.face_centres((other, opposite)) - mesh.face_centres((cell, face))
        assert np.allclose(jump, [[1, 0]])
    assert "periodic" in describe(mesh)


def test_periodic_refuses_and_names_what_does_not_match():
    mesh = rectangle(cells=(4, 4))
    with pytest.raises(MeshError, match=r"4 of 4 faces of 'left' have no partner: cell \d+ at \(0, "):
        mesh.periodic(("left", "top"))
    with pytest.raises(MeshError, match="cannot be periodic with itself"):
        mesh.periodic(("left", "left"))
    with pytest.raises(MeshError, match=r"pairs of boundary names.*'left'"):
        mesh.periodic("left", "right")
    with pytest.raises(MeshError, match="'rigth' is not in the mesh.*did you mean 'right'"):
        mesh.periodic(("left", "rigth"))
    points = mesh.points.copy()
    points[np.argmin(np.linalg.norm(points - (1, 0.5), axis=1)), 1] += 0.01
    moved = from_arrays(points, mesh.cells, {name: mesh.face_points(rows) for name, rows in mesh.boundaries.items()})
    with pytest.raises(MeshError, match="2 of 4 faces of 'left'.*2 of 4 faces of 'right'"):
        moved.periodic(("left", "right"))
    assert set(mesh.boundaries) == {"left", "right", "bottom", "top"}


@pytest.mark.parametrize("call", [
    lambda: interval(1, 0, 4), lambda: interval(0, 1, 0), lambda: interval(0, 1, 4, perturb=0.5),
    lambda: rectangle((0, 0), (1, np.nan)), lambda: rectangle(cells=(4, 2.5)), lambda: rectangle(diagonal="up"),
    lambda: rectangle(cells=(1, 2, 3)), lambda: box(perturb=0.45), lambda: box((0, 0), (1, 1)),
])
def test_generators_refuse_bad_input(call):
    with pytest.raises(MeshError):
        call()


POLYGONS = {          # corners, names of the sides, area
    "convex": (((0, 0), (2, 0.3), (1.2, 1.4)), None, 1.22),
    "step": (((0, 0), (0.6, 0), (0.6, 0.2), (3, 0.2), (3, 1), (0, 1)), ("wall", "wall", "wall", "out", "wall", "in"), 2.52),
    "named twice along a side": (((0, 0), (1 / 6, 0), (4, 0), (4, 1), (0, 1)), ("a", "b", "c", "d", "e"), 4.0),
}


@pytest.mark.parametrize("name", POLYGONS)
@pytest.mark.parametrize("jitter, mean", [(0.4, 0.9), (0.0, 0.97), (0.5, 0.9)])
def test_polygons_are_filled_with_good_triangles(name, jitter, mean):
    corners, names, area = POLYGONS[name]
    h = 0.08
    mesh = polygon(corners, h, names, jitter=jitter)
    check_mesh(mesh)
    assert sum(mesh.measures) == pytest.approx(area, rel=1e-12) and not mesh.notes and not len(mesh.unnamed)
    assert mesh.quality().min() > 0.35 and mesh.quality().mean() > mean
    assert len(mesh.cells) == pytest.approx(4 * area / (np.sqrt(3) * h**2), rel=0.1)
    sides = list(zip(corners, (*corners[1:], corners[0]), names or ["boundary"] * len(corners)))
    for side in {name for *_, name in sides}:
        length = sum(np.hypot(b[0] - a[0], b[1] - a[1]) for a, b, other in sides if other == side)
        rows = mesh.boundaries[side]
        assert mesh.face_measures[rows[:, 0], rows[:, 1]].sum() == pytest.approx(length, rel=1e-12)
        assert mesh.face_measures[rows[:, 0], rows[:, 1]].max() < h * (1 + 1e-9)
    again, other = polygon(corners, h, names, jitter=jitter), polygon(corners, h, names, seed=1, jitter=jitter)
    assert np.array_equal(mesh.points, again.points) and np.array_equal(mesh.cells, again.cells)
    assert np.array_equal(other.points, mesh.points) == (jitter == 0)


SLIT = (0, 0), (4, 0), (4, 0.495), (1, 0.495), (1, 0.505), (3.9, 0.505), (3.9, 1), (0, 1)


@pytest.mark.parametrize("given, words", [
    ((((0, 0), (1, 0)), 0.1), "give three points"), ((((0, 0, 0), (1, 0, 0), (1, 1, 0)), 0.1), "give three points"),
    ((((0, 0), (1, 0), (1, np.nan)), 0.1), "give three points"), ((((0, 0), (1, 1), (1, 0)), 0.1), "go round clockwise; give"),
    ((((0, 0), (1, 0), (1, 1)), 0), "h must be positive"), ((((0, 0), (1, 0), (1, 1)), 2), "below the area's root"),
    ((((0, 0), (1, 0), (1, 1)), 0.1, ("a", "b")), "2 names do not fit; there are 3 sides"),
    ((SLIT, 0.3), "take a smaller h"), ((((0, 0), (1, 0), (1, 1)), 0.1, None, 0, -0.1), "jitter=-0.1 .* from 0 to 0.5"),
    ((((0, 0), (1, 0), (1, 1)), 0.1, None, 0, "no"), "jitter='no' .* from 0 to 0.5")])
def test_polygons_refuse_bad_input(given, words):
    with pytest.raises(MeshError, match=words):
        polygon(*given)


@pytest.mark.parametrize("name", GENERATED)
def test_refinement_keeps_measures_names_and_quality(name):
    mesh = GENERATED[name][0](perturb=0.1)
    halves = np.flatnonzero(mesh.centroids[:, 0] < mesh.centroids[:, 0].mean())
    sides = {side: mesh.face_points(rows) for side, rows in mesh.boundaries.items()}
    mesh = from_arrays(mesh.points, mesh.cells, sides, {"half": halves})
    areas = {side: mesh.face_measures[rows[:, 0], rows[:, 1]].sum() for side, rows in mesh.boundaries.items()}
    fine, worst = mesh, mesh.quality().min()
    for _ in range(2):
        fine = fine.refined()
        check_mesh(fine)
    assert len(fine.cells) == len(mesh.cells) * 4**mesh.dim
    assert fine.quality().min() > 0.5 * worst
    parent = fine.numbers // 4**mesh.dim
    measure = np.bincount(parent, weights=fine.measures)
    assert np.allclose(measure[mesh.numbers], mesh.measures)
    assert fine.measures[fine.regions["half"]].sum() == pytest.approx(mesh.measures[mesh.regions["half"]].sum())
    assert list(fine.boundaries) == list(mesh.boundaries)
    for side, rows in fine.boundaries.items():
        assert fine.face_measures[rows[:, 0], rows[:, 1]].sum() == pytest.approx(areas[side])


def test_cells_are_ordered_for_locality():
    mesh = box(cells=8)
    shuffled = np.random.default_rng(0).permutation(len(mesh.cells))
    again = from_arrays(mesh.points, mesh.cells[shuffled])
    assert np.array_equal(np.sort(again.cells, axis=1), np.sort(mesh.cells[shuffled][again.numbers], axis=1))
    block = np.arange(len(again.cells)) // 16
    assert np.mean(block[again.neighbour_cell] == block[:, None]) > 0.45


def test_meshes_are_frozen_and_show_themselves():
    mesh = rectangle(cells=2)
    with pytest.raises(ValueError, match="read-only"):
        mesh.points[0] = 0
    with pytest.raises(AttributeError):
        mesh.points = None
    assert "8 triangle cells" in repr(mesh) and "left 2" in repr(mesh)
    assert mesh.named("left") is mesh.boundaries["left"]
    with pytest.raises(MeshError, match="'lefft' is not in the mesh.*left, right, bottom, top.*did you mean 'left'"):
        mesh.named("lefft")


# Files: what each broken or odd mesh is answered with.

READ = {
    "good_tri_4x4": 1, "good_tet_cubeK86": 8, "all_tris_clockwise": 1, "inverted_one_tri": 1, "inverted_one_tet": 8,
    "sliver_area_1e-9": 1, "duplicate_nodes_crack": 1, "duplicate_boundary_face": 8, "disconnected_element": 1.5,
    "no_physical_groups": 1, "no_boundary_elements": 1, "missing_one_boundary_group": 1, "interior_facets_tagged": 1,
    "group_names_odd": 1, "unused_nodes": 1, "plane_z_minus10": 1, "tiny_scale_1e-12": 1e-24, "comments_section": 1,
    "tri6_good_single": 0.5,
}
NOTES = {
    "sliver_area_1e-9": "2 slivers .* time step",
    "duplicate_nodes_crack": "duplicate nodes: 8 boundary faces lie on one another",
    "disconnected_element": "2 components",
    "unused_nodes": "3 nodes that no cell uses",
}
UNNAMED = {"no_physical_groups": 16, "no_boundary_elements": 16, "missing_one_boundary_group": 4,
           "disconnected_element": 3, "duplicate_nodes_crack": 8, "tri6_good_single": 3}
REFUSED = {
    "degenerate_zero_area": r"2 cells have no area: cell 10 \(element 27 in the file\), cell 11",
    "duplicate_element": "a face has three neighbours or more: cell 4 .*, cell 7 .*, cell 32 ",
    "nonconforming_interface": r"hanging nodes or a nonconforming interface: 7 unnamed .* at \(0.5, ",
    "boundary_line_not_on_mesh": r"boundary 'ghost': 1 of 1 faces belong to no cell.*\(0, 0\) to \(0.5, 0.5\)",
    "curved_surface_in_3d": "no volume cells: the triangle cells lie on a surface in 3D",
    "surface_only_3d": "no volume cells",
    "nan_coordinate": r"node 13 \(counted from 1\) has the coordinates \(nan, 0.5\)",
    "repeated_node_in_element": r"cell 3 \(element 20 in the file\) has a node twice: 2, 8, 8",
    "truncated_mid_elements": "cut off", "truncated_mid_nodes": "cut off", "version_99": "version is not known .*99",
    "empty_0_bytes": "the file is empty", "empty_no_elements_v22": "no cells", "not_a_mesh": "not a Gmsh file",
    "hole_missing_tet": "boundary 'wall': 1 of 72 faces belong to no cell",
    "hex_tet_quad_vs_tri_face": "nonconforming interface",
    "t5_o2_15_inverted_curved_tets_bin": "23 curved tetra cells are folded or degenerate, where the Jacobian ",
}


@pytest.mark.parametrize("name", parameters(READ, nasty_path))
def test_odd_meshes_are_read(name):
    path = nasty_path(name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mesh = read_mesh(path)
    check_mesh(mesh)
    assert mesh.measures.sum() == pytest.approx(READ[name], rel=1e-12)
    assert len(mesh.unnamed) == UNNAMED.get(name, 0)
    assert [str(one.message) for one in caught] == [f"{path}: {note}" for note in mesh.notes]
    if name in NOTES:
        assert len([note for note in mesh.notes if re.search(NOTES[name], note)]) == 1
        assert NOTES[name].split()[0] in describe(mesh)
    else:
        assert not mesh.notes


@pytest.mark.parametrize("name", parameters(REFUSED, nasty_path))
def test_broken_meshes_are_refused_in_one_line(name, capfd):
    path = nasty_path(name)
    with pytest.raises(MeshError, match=REFUSED[name]) as caught:
        read_mesh(path)
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", [
    "all_tris_clockwise", "inverted_one_tri", "unused_nodes", "plane_z_minus10", "comments_section"])
def test_repaired_meshes_equal_the_good_one(name):
    good, mesh = read_mesh(nasty_path("good_tri_4x4")), quiet(nasty_path(name))
    assert mesh.dim == 2 and np.allclose(mesh.centroids, good.centroids, atol=1e-15)
    assert np.array_equal(mesh.numbers, good.numbers) and np.allclose(mesh.measures, good.measures, rtol=1e-14)
    for side in good.boundaries:
        got, want = mesh.face_centres(mesh.named(side)), good.face_centres(good.named(side))
        assert np.allclose(np.sort(got, axis=0), np.sort(want, axis=0))


def test_every_odd_name_is_usable():
    mesh = read_mesh(nasty_path("group_names_odd"))
    assert {name: len(rows) for name, rows in mesh.boundaries.items()} == {
        "Bottom Wall": 4, "right=out;1": 4, "tóp": 4, "4": 4}
    assert len(mesh.named("domain")) == 32


@pytest.mark.external
def test_doubled_boundary_faces_count_once():
    assert len(quiet(nasty_path("duplicate_boundary_face")).boundaries["wall"]) == 72


@pytest.mark.parametrize("name", ["gmsh_t1_v22", "gmsh_t1_v22_bin", "gmsh_t1_v41", "gmsh_t1_v41_bin"])
def test_four_gmsh_encodings_give_the_same_mesh(name):
    mesh, first = read_mesh(DATA / f"{name}.msh"), read_mesh(DATA / "gmsh_t1_v22.msh")
    check_mesh(mesh)
    assert mesh.measures.sum() == pytest.approx(0.03)
    assert len(mesh.named("5")) == 35 and len(mesh.named("My surface")) == 186 and len(mesh.unnamed) == 5
    assert np.allclose(np.sort(mesh.centroids, axis=0), np.sort(first.centroids, axis=0))


def test_supersonic_vortex_sector():
    mesh = read_mesh(DATA / "gmsh_sv_o1_v22.msh")
    check_mesh(mesh)
    assert mesh.measures.sum() == pytest.approx(0.7189806088, rel=1e-9)
    assert {name: len(rows) for name, rows in mesh.boundaries.items()} == {"10000": 38, "20000": 4, "30000": 4}


MEASURES = {
    "ndg_Maxwell1.msh": 4, "ndg_Maxwell05.msh": 4, "ndg_Maxwell025.msh": 4, "ndg_cubeK86.msh": 8,
    "ndg_cubeK268.msh": 1, "ndg_circA01.msh": 3.061467455, "ndg_Sphere_1074.msh": 4.01355625, "ndg_vortexA04.msh": 100,
    "ndg_bump025.msh": 11.61731652, "ndg_fstepA001.msh": 2.519999998, "gmsh_t5_v41.msh": 0.875,
    "meshmode_annulus.msh": 2.355928481, "mfem_beam-tet.vtk": 8, "ndg_squarereg.msh": 4, "meshmode_testmesh.msh": 1,
    "ndg_block2.msh": None, "ndg_peccyl1K709.msh": None,
    "meshmode_blob2d-order1-h6e-2.msh": None, "mfem_beam-tri.vtk": None,
}
@pytest.mark.parametrize("name", parameters(MEASURES, mesh_path))
def test_meshes_of_other_projects_are_read(name):
    mesh = quiet(mesh_path(name))
    check_mesh(mesh)
    assert MEASURES[name] is None or mesh.measures.sum() == pytest.approx(MEASURES[name], rel=2e-9)
    assert name in describe(mesh)


@pytest.mark.external
def test_traps_of_other_projects():
    blob = quiet(mesh_path("meshmode_blob2d-order1-h6e-2.msh"))
    assert not blob.notes          # all of its triangles are clockwise
    step = read_mesh(mesh_path("ndg_fstepA001.msh"))
    assert {name: len(rows) for name, rows in step.boundaries.items()} == {"Wall": 55, "Inflow": 8, "Outflow": 8}
    cube = mesh_path("meshmode_hybrid-cube.msh")          # in which two faces of bricks meet triangles of tetrahedra
    with pytest.raises(MeshError, match="nonconforming.*; or cut the cells .* read_mesh\\(file, split=True\\)"):
        read_mesh(cube)
    assert read_mesh(cube, split=True).measures.sum() == pytest.approx(1000)
    beam = read_mesh(mesh_path("mfem_beam-tet.vtk"))
    assert {name: len(cells) for name, cells in beam.regions.items()} == {"1": 24, "2": 24}


# Files in other formats, written here.

def as_meshio(mesh, key=None, planar=False):
    """The mesh with one block of facets for each boundary, group numbers under `key`."""
    facets = [mesh.face_points(rows) for rows in mesh.boundaries.values()]
    halves = np.where(mesh.centroids[:, 0] < 0.5, 11, 12)
    tags = np.concatenate([np.full(len(rows), k + 1) for k, rows in enumerate(facets)])
    points = np.column_stack([mesh.points, np.zeros((len(mesh.points), 0 if planar else 3 - mesh.dim))])
    cells = [({1: "vertex", 2: "line", 3: "triangle"}[mesh.dim], np.concatenate(facets)), (mesh.cell_type, mesh.cells)]
    return meshio.Mesh(points, cells, cell_data={key: [tags, halves]} if key else {}), tags, halves


def write_su2(path, mesh):
    """meshio 5.3.5 cannot write SU2."""
    kind = {2: (5, 3), 3: (10, 5)}[mesh.dim]
    lines = [f"NDIME= {mesh.dim}", f"NELEM= {len(mesh.cells)}"]
    lines += [" ".join(map(str, [kind[0], *cell])) for cell in mesh.cells] + [f"NPOIN= {len(mesh.points)}"]
    lines += [" ".join(map(repr, map(float, point))) for point in mesh.points] + [f"NMARK= {len(mesh.boundaries)}"]
    for name, rows in mesh.boundaries.items():
        lines += [f"MARKER_TAG= {name}  % side", f"MARKER_ELEMS= {len(rows)}"]
        lines += [" ".join(map(str, [kind[1], *face])) for face in mesh.face_points(rows)]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module", params=["rectangle", "box"])
def original(request):
    make = {"rectangle": lambda: rectangle((0, 0), (2, 1), (5, 4), perturb=0.2),
            "box": lambda: box(cells=(5, 2, 2), perturb=0.1)}
    return make[request.param]()


def assert_same(mesh, original, sides, halves=("11", "12")):
    check_mesh(mesh)
    assert np.allclose(mesh.centroids, original.centroids, atol=1e-6)
    assert np.allclose(mesh.measures, original.measures, rtol=1e-4)
    assert set(mesh.boundaries) == set(sides)
    for side, rows in zip(sides, original.boundaries.values()):
        got, want = mesh.face_centres(mesh.boundaries[side]), original.face_centres(rows)
        assert got.shape == want.shape and np.allclose(np.sort(got, axis=0), np.sort(want, axis=0), atol=1e-6)
    assert set(mesh.regions) == set(halves)
    if halves:
        assert np.array_equal(mesh.regions[halves[0]], np.flatnonzero(original.centroids[:, 0] < 0.5))


@pytest.mark.parametrize("suffix, key, options", [
    (".vtk", "gmsh:physical", {"binary": True}), (".vtk", "material", {"binary": False}),
    (".vtu", "gmsh:physical", {"binary": True}), (".vtu", "CellEntityIds", {"binary": False}),
    (".xdmf", "gmsh:physical", {}), (".xdmf", "gmsh:physical", {"data_format": "XML"}),
    (".mesh", "medit:ref", {}), (".meshb", "medit:ref", {}), (".bdf", "nastran:ref", {}),
])
def test_formats_with_group_numbers(tmp_path, original, suffix, key, options):
    as_meshio(original, key)[0].write(tmp_path / f"mesh{suffix}", **options)
    assert_same(read_mesh(tmp_path / f"mesh{suffix}"), original, [str(k + 1) for k in range(len(original.boundaries))])


def test_fractions_are_no_group_numbers(tmp_path):
    data, *_ = as_meshio(rectangle(cells=2))
    meshio.Mesh(data.points, data.cells[1:], cell_data={"material": [np.linspace(1.0, 4.5, 8)]}).write(tmp_path / "mesh.vtu")
    assert not quiet(tmp_path / "mesh.vtu").regions


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("version", ["gmsh22", "gmsh"])
def test_gmsh_with_names(tmp_path, original, version, binary):
    data, tags, halves = as_meshio(original)
    dim, facets = original.dim, data.cells[0].data
    numbers = np.unique(tags)
    blocks = [(data.cells[0].type, facets[tags == k]) for k in numbers]
    blocks += [(original.cell_type, original.cells[halves == k]) for k in (11, 12)]
    groups = [np.full(len(cells), k) for (_, cells), k in zip(blocks, [*numbers, 11, 12])]
    entity = np.tile([dim, 12], (len(data.points), 1))
    entity[original.cells[halves == 11].ravel()] = dim, 11
    for k in numbers:
        entity[facets[tags == k].ravel()] = dim - 1, k
    names = {name: np.array([k, dim - 1]) for name, k in zip(original.boundaries, numbers)}
    mesh = meshio.Mesh(data.points, blocks, cell_data={"gmsh:physical": groups, "gmsh:geometrical": groups},
                       point_data={"gmsh:dim_tags": entity} if version == "gmsh" else {},
                       field_data={**names, "near": np.array([11, dim]), "far": np.array([12, dim])})
    if version == "gmsh":
        mesh.cell_sets = {name: [np.arange(len(cells) if k == number[0] else 0) for (_, cells), k in
                                 zip(blocks, [*numbers, 11, 12])] for name, number in mesh.field_data.items()}
    mesh.write(tmp_path / "mesh.msh", file_format=version, binary=binary)
    got = read_mesh(tmp_path / "mesh.msh")
    check_mesh(got)
    assert {name: len(rows) for name, rows in got.boundaries.items()} == {
        name: len(rows) for name, rows in original.boundaries.items()}
    assert set(got.regions) == {"near", "far"} and len(got.regions["near"]) == np.count_nonzero(halves == 11)


def test_abaqus_sets(tmp_path, original):
    data, tags, halves = as_meshio(original)
    none = np.array([], dtype=int)
    data.cell_sets = {name: [np.flatnonzero(tags == k + 1), none] for k, name in enumerate(original.boundaries)}
    data.cell_sets |= {"near": [none, np.flatnonzero(halves == 11)], "far": [none, np.flatnonzero(halves == 12)]}
    data.write(tmp_path / "mesh.inp")
    assert_same(read_mesh(tmp_path / "mesh.inp"), original, list(original.boundaries), ("near", "far"))


def test_med_families(tmp_path, original):
    data, tags, halves = as_meshio(original, planar=True)
    data.cell_data = {"cell_tags": [-tags, -halves]}
    data.cell_tags = {-k - 1: [name] for k, name in enumerate(original.boundaries)}
    data.cell_tags |= {-11: ["near", "all"], -12: ["all"]}
    data.write(tmp_path / "mesh.med")
    mesh = read_mesh(tmp_path / "mesh.med")
    assert_same(mesh, original, list(original.boundaries), ("near", "all"))
    assert len(mesh.regions["all"]) == len(mesh.cells)


def test_su2_markers_keep_their_names(tmp_path, original):
    write_su2(tmp_path / "mesh.su2", original)
    assert_same(read_mesh(tmp_path / "mesh.su2"), original, list(original.boundaries), ())


def test_lines_along_x_are_read_as_1d(tmp_path):
    mesh = interval(0, 2, 5)
    data, *_ = as_meshio(mesh, "gmsh:physical")
    data.write(tmp_path / "line.vtu")
    got = read_mesh(tmp_path / "line.vtu")
    check_mesh(got)
    assert got.dim == 1 and got.measures.sum() == pytest.approx(2) and set(got.boundaries) == {"1", "2"}
    data.points[2, 1] = 0.5
    data.write(tmp_path / "bent.vtu")
    with pytest.raises(MeshError, match="no volume cells: the line cells lie on a curve"):
        read_mesh(tmp_path / "bent.vtu")


@pytest.mark.parametrize("suffix, options", [
    (".msh", {"file_format": "gmsh22", "binary": False}), (".msh", {"file_format": "gmsh22", "binary": True}),
    (".vtk", {}),
    (".vtu", {}), (".xdmf", {}), (".mesh", {}), (".meshb", {}), (".bdf", {}), (".inp", {}), (".med", {}), (".node", {}),
    (".su2", None),
])
@pytest.mark.parametrize("part", [0.75, 0.4, 0.1, 0.01])
def test_files_that_are_cut_off_are_refused(tmp_path, suffix, options, part, capfd):
    mesh, path = box(cells=2), tmp_path / f"cut{suffix}"
    if options is None:
        write_su2(path, mesh)
    else:
        as_meshio(mesh)[0].write(path, **options)
    content = path.read_bytes()
    path.write_bytes(content[:max(1, int(part * len(content)))])
    capfd.readouterr()
    with pytest.raises(MeshError) as caught:
        read_mesh(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_paths_that_are_no_mesh_are_refused(tmp_path):
    (tmp_path / "grid.xyz").write_text("1")
    (tmp_path / "grid.dat").write_text("VARIABLES")
    for name, reason in (("none.msh", "no such file"), (".", "is a folder"), ("grid.dat", "does not stop on damaged"),
                         ("grid.xyz", "no reader for .xyz, .*; allowed: .*msh")):
        with pytest.raises(MeshError, match=reason):
            read_mesh(tmp_path / name)


def test_names_in_two_dimensions_and_two_groups_of_one_name(tmp_path):
    text = (DATA / "nasty" / "good_tri_4x4.msh").read_text()
    path = tmp_path / "same.msh"
    path.write_text(text.replace('"domain"', '"bottom"').replace('"top"', '"right"'))
    mesh = read_mesh(path)
    assert {name: len(rows) for name, rows in mesh.boundaries.items()} == {"bottom": 4, "right": 8, "left": 4}
    assert len(mesh.regions["bottom"]) == 32


def test_gmsh_41_may_have_cells_without_a_group(tmp_path):
    path = tmp_path / "part.msh"
    path.write_text((DATA / "gmsh_t1_v41.msh").read_text().replace("0.3 0 1 5 2 3 -2", "0.3 0 0 2 3 -2"))
    mesh, whole = read_mesh(path), read_mesh(DATA / "gmsh_t1_v41.msh")
    assert len(mesh.cells) == len(whole.cells) and len(mesh.regions["My surface"]) == 186
    assert 0 < len(mesh.boundaries["5"]) < len(whole.boundaries["5"])


# Arrays with something wrong, in every dimension.

@pytest.mark.filterwarnings("ignore:.*2 components")
@pytest.mark.parametrize("make, split", [
    (lambda: box(cells=2), 0.5), (lambda: rectangle(cells=(2, 3)), 0.5), (lambda: interval(0, 1, 4), 0.5)])
def test_cracks_are_noted_unless_named(make, split):
    mesh = make()
    right = mesh.centroids[:, 0] > split
    double = np.flatnonzero(np.isclose(mesh.points[:, 0], split))
    number = np.arange(len(mesh.points))
    number[double] = len(mesh.points) + np.arange(len(double))
    points = np.concatenate([mesh.points, mesh.points[double]])
    cells = np.where(right[:, None], number[mesh.cells], mesh.cells)
    with pytest.warns(MeshWarning, match="duplicate nodes"):
        cracked = from_arrays(points, cells)
    check_mesh(cracked)
    both = cracked.boundary_faces[np.isclose(cracked.face_centres(cracked.boundary_faces)[:, 0], split)]
    with pytest.warns(MeshWarning) as caught:
        from_arrays(points, cells, {"screen": cracked.face_points(both)})
    assert [str(one.message) for one in caught] == [f"mesh: {cracked.notes[1]}"] and "2 components" in cracked.notes[1]


def test_nonmatching_boxes_are_refused():
    """The common square is cut along different diagonals: the same nodes, but no common faces."""
    left, right = box(cells=1), box((1, 0, 0), (2, 1, 1), 1)
    flipped = right.points * [1, -1, 1] + [0, 1, 0]
    with pytest.raises(MeshError, match="nonconforming"):
        from_arrays(np.concatenate([left.points, flipped]), np.concatenate([left.cells, right.cells + 8]))
    with pytest.raises(MeshError, match="nonconforming"):
        from_arrays(np.concatenate([left.points, box((1, 0, 0), (2, 1, 1), 2).points]),
                    np.concatenate([left.cells, box((1, 0, 0), (2, 1, 1), 2).cells + 8]))


def test_one_hanging_node_is_refused():
    points = [[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5], [0, 2]]
    with pytest.raises(MeshError, match="hanging nodes"):
        from_arrays(points, [[0, 1, 2], [0, 4, 3], [4, 2, 3], [3, 2, 5]])


def test_folded_meshes_are_refused():
    with pytest.raises(MeshError, match="cell 0 and cell 1 overlap|cell 1 and cell 0 overlap"):
        from_arrays([[0, 0], [1, 0], [0, 1], [1, 1]], [[0, 1, 2], [0, 1, 3]])
    with pytest.raises(MeshError, match="overlap"):
        from_arrays([[0, 0], [1, 0], [0, 1]], [[0, 1, 2], [1, 2, 0]])


@pytest.mark.parametrize("points, cells, reason", [
    ([[0, 0], [1, 0]], [[0, 1, 2]], "names a node that does not exist"),
    ([[0, 0], [1, 0]], np.empty((0, 3)), "no cells"),
    ([[0.0], [1.0]], [[0, 1, 1]], "do not fit"), ([[0.0], [0.0]], [[0, 1]], "no length"),
    ([[0, 0], [1, np.inf], [0, 1]], [[0, 1, 2]], "finite")])
def test_arrays_that_are_no_mesh_are_refused(points, cells, reason):
    with pytest.raises(MeshError, match=reason):
        from_arrays(points, cells)


def test_a_face_may_carry_several_names():
    mesh = rectangle(cells=2)
    sides = {name: mesh.face_points(rows) for name, rows in mesh.boundaries.items()}
    both = from_arrays(mesh.points, mesh.cells, {**sides, "walls": np.concatenate(list(sides.values()))})
    assert len(both.boundaries["walls"]) == 8 and len(both.boundaries["left"]) == 2
    assert set(both.periodic(("left", "right")).boundaries) == {"bottom", "top", "walls"}
    assert len(both.periodic(("left", "right")).boundaries["walls"]) == 4


def test_describe_prints_what_a_user_asks():
    text = describe(quiet(nasty_path("missing_one_boundary_group")))
    for part in ("32 triangle, 2D", "25", "'bottom' (4 faces)", "'domain' (32 cells)", "quality", "min 0.828", "area",
                 "unnamed     4 of 16 boundary faces, for example at ("):
        assert part in text
    assert ["parts", "1"] in [line.split() for line in text.splitlines()]


def test_cells_must_be_whole_numbers():
    with pytest.raises(MeshError, match="the cells must be whole numbers, those of their points"):
        from_arrays(np.array([[0.0, 0], [1, 0], [0, 1]]), [(0, 1, 2.5)])


@pytest.mark.usefixtures("usual_garbage")
@pytest.mark.parametrize("make", [
    lambda: interval(cells=4000), lambda: rectangle(cells=40), lambda: box(cells=10), lambda: rectangle(cells=20).refined(),
    lambda: polygon([(0, 0), (1, 0), (1, 1), (0, 1)], 0.025)])
def test_memory_for_a_mesh_is_known_before_it_is_made(make, monkeypatch):
    make()          # what is imported and kept at the first time does not count
    tracemalloc.start()
    mesh = make()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.9 < memory.BYTES[mesh.dim] * len(mesh.cells) / peak < 1.1
    monkeypatch.setattr(memory, "host_free", lambda: peak // 2)
    with pytest.raises(MeshError, match=r"would have \d+ cells, which need about .* only .* GiB are free; take fewer"):
        make()


def test_the_number_of_cells_is_known_without_limit():
    with pytest.raises(MeshError, match="would have 1e.300 cells"):
        rectangle(cells=1e200)


@pytest.mark.parametrize("shape", ["triangle", "quadrilateral", "mixed"])
@pytest.mark.parametrize("chosen, said", [
    (lambda x: x[0] < 0.5, None), (lambda x: x[0] < 0.55, "its border cuts "), (lambda x: x[0] > 3, "no cell's centre is")])
def test_a_region_that_cuts_cells_is_noticed(shape, chosen, said, recwarn):
    rectangle((0, 0), (1, 1), cells=(8, 8), shape=shape).with_regions({"slab": chosen})
    assert [said in str(each.message) for each in recwarn] == ([True] if said else [])


SQUARE = [(0, 0), (1, 0), (1, 1), (0, 1)]


@pytest.mark.parametrize("cells, options, text", [
    ([(0, 1, 2), (0, 2, 3)], {"groups": {"g": [-1]}}, "the group 'g' must hold numbers of cells, whole ones from 0 to 1"),
    ([(0, 1, 2), (0, 2, 3)], {"groups": {"g": [0.5]}}, "the group 'g' must hold numbers of cells"),
    ([(0, 1, 2), (0, 2, 3)], {"numbers": [0]}, "numbers has the length 1; there are 2 cells"),
    ({"tetra": [(0, 1, 2, 3)]}, {}, "'tetra' do not exist on points .point, 2.; allowed: triangle, quadrilateral"),
    ({}, {}, "there are no cells"),
    ({"triangle": [(0, 1, 2)]}, {"geometry_nodes": np.zeros((1, 6, 2))}, "geometry_nodes must be given as the cells are")])
def test_arrays_that_do_not_fit_each_other(cells, options, text):
    with pytest.raises(MeshError, match=text):
        from_arrays(SQUARE, cells, **options)


@pytest.mark.parametrize("cells", [[2], [-1], [1, 1]])
def test_a_part_of_cells_that_do_not_exist(cells):
    with pytest.raises(MeshError, match="numbers of cells, each once, from 0 to 1"):
        from_arrays(SQUARE, [(0, 1, 2), (0, 2, 3)]).part(cells)
