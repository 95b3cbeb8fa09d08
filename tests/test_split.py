"""Cells of all shapes become conforming triangles and tetrahedra: `read_mesh(file, split=True)`."""
import warnings
from itertools import permutations
from math import cos, factorial, log, pi

import meshio
import numpy as np
import pytest
from hybrid import SIDES, hybrid, places_of
from references import DATA, mesh_path, nasty_path

import dgarray as dg
from dgarray.cases import disc_cavity, maxwell_cavity
from dgarray.cases.disc_cavity import disc, to_circle
from dgarray.cli import main
from dgarray.mesh import MeshError, geometry
from dgarray.mesh.curved import cell_maps, geometry as curved_geometry
from dgarray.mesh.files.prism_nodes import prism_order
from dgarray.mesh.files.split import cut
from dgarray.mesh.files.split_tables import KINDS, codes, halves, tables

QUIET = dict(backend="numpy", kernels="array", threads=1)


def mixed(n):
    """Hexahedra and pyramids in turn, and columns of wedges."""
    i, j, k = np.indices((n, n, n))
    return np.where((i + j) % 3 == 2, "wedge", np.where((i + j + k) % 2 == 0, "hexahedron", "pyramid"))


def flat(n):
    i, j = np.indices((n, n))
    return np.where((i + j) % 2 == 0, "quad", "triangle")


def lattice(name, n):
    """An array of kinds of cells, n along each axis."""
    if name in ("mixed", "flat"):
        return mixed(n) if name == "mixed" else flat(n)
    return np.full((n, n) if name == "quad" else (n, n, n), name)


def warp(x):
    """A map of the cube or square onto itself."""
    return x + 0.05 * np.sin(2 * np.pi * np.roll(x, -1, axis=1)) * np.sin(np.pi * x)


def read(path, *given, suffix=".msh", split=True, **keywords):
    """The mesh of a file that `hybrid` makes."""
    name = path / f"mesh{suffix}"
    data = hybrid(*given, **keywords)
    meshio.write(name, data, **(dict(file_format="gmsh22", binary=False) if suffix == ".msh" else {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")          # about cells that are turned over
        return dg.read_mesh(name, split=split)


def area(mesh, rows):
    return mesh.face_measures[tuple(rows.T)].sum()


def faces_of(pieces):
    """The triangles of tetrahedra that only one of them has, as sets of corners."""
    faces = [frozenset(piece) - {corner} for piece in np.asarray(pieces).tolist() for corner in piece]
    return {face for face in faces if faces.count(face) == 1}


@pytest.mark.parametrize("name", ["wedge", "pyramid", "hexahedron"])
def test_all_choices_of_diagonals(name):
    """Each table fills the cell with positive volumes, and cuts its faces along the diagonals. Orders of the corners give all
    choices but those of three diagonals around a wedge, and of hexahedra in which no corner has three."""
    kind = KINDS[name]
    places = np.concatenate([kind.corners, kind.corners.mean(axis=0)[None]])
    volume = {"wedge": 1 / 2, "pyramid": 1 / 3, "hexahedron": 1}[name]
    triangles = {frozenset(face) for face in kind.faces if len(face) == 3}
    for code in range(2 ** len(kind.quads)):
        cut_faces = {frozenset(quad[list(half)].tolist()) for number, quad in enumerate(kind.quads)
                     for half in halves(code >> number & 1)}
        for table in tables(name, code):
            x = places[table]
            sizes = np.linalg.det(x[:, 1:] - x[:, :1]) / factorial(3)
            assert sizes.min() > 0.01 and sizes.sum() == pytest.approx(volume, rel=1e-14)
            assert faces_of(table) == cut_faces | triangles
    bits = 1 << np.arange(len(kind.quads))
    met = {int(codes(np.array(rank), kind.quads) @ bits) for rank in permutations(range(len(kind.corners)))}
    assert len(met) == {"wedge": 6, "pyramid": 2, "hexahedron": 42}[name]
    counts = {len(tables(name, code)[0]) for code in met}
    assert counts == {"wedge": {3}, "pyramid": {2}, "hexahedron": {5, 6}}[name]
    assert all(len(tables(name, code)) == 1 for code in set(range(bits.sum() + 1)) - met)          # around the centre alone


@pytest.mark.parametrize("suffix", [".msh", ".vtu"])
@pytest.mark.parametrize("name", ["mixed", "wedge", "pyramid", "hexahedron", "quad", "flat"])
def test_volumes_names_and_numbers(tmp_path, name, suffix):
    kinds = lattice(name, 4)
    mesh = read(tmp_path, kinds, 1, None, suffix=suffix, turned=("wedge", "hexahedron", "quad"))
    dim, cells = kinds.ndim, kinds.size
    assert mesh.cell_type == ("triangle" if dim == 2 else "tetra") and mesh.measures.sum() == pytest.approx(1, rel=1e-14)
    per_kind = {kind: count / cells for kind, count in zip(*np.unique(kinds, return_counts=True))}
    if suffix == ".vtu":          # groups have numbers only
        assert len(mesh.boundaries) == 2 * dim and len(mesh.regions) == len(per_kind)
        return
    assert {kind: mesh.measures[inside].sum() for kind, inside in mesh.regions.items()} == pytest.approx(per_kind)
    assert {side: area(mesh, rows) for side, rows in mesh.boundaries.items()} == pytest.approx(
        dict.fromkeys([side for pair in SIDES[:dim] for side in pair], 1.0))
    assert not len(mesh.unnamed)
    [(middle, rows)] = mesh.interfaces.items()
    assert middle == "middle" and area(mesh, rows) == pytest.approx(1)
    assert np.allclose(mesh.face_centres(rows)[:, 0], 0.5)
    size = {"quad": 1, "triangle": 1 / 2, "hexahedron": 1, "wedge": 1 / 2, "pyramid": 1 / 6}
    sizes = [[size[kind]] * round((kinds == kind).sum() / size[kind]) for kind in dict.fromkeys(kinds.ravel())]
    assert np.bincount(mesh.numbers, mesh.measures) * cells == pytest.approx(sum(sizes, []))          # kind after kind


@pytest.mark.parametrize("name", ["mixed", "wedge", "pyramid", "hexahedron"])
@pytest.mark.parametrize("short, program", [(False, "gmsh"), (False, "vtk"), (True, "vtk")])
def test_curved_pieces_meet(tmp_path, name, short, program):
    """Neighbours have opposite normals, those of a cell add up to zero, and the box stays a box."""
    mesh = read(tmp_path, lattice(name, 3), 2, warp, short=short, program=program, shuffled=True)
    assert mesh.order == 2 and mesh.measures.sum() == pytest.approx(1, rel=1e-13) and mesh.quality().min() > 0.1
    normals = curved_geometry.faces(mesh)[1]
    assert np.abs(normals.sum(axis=1)).max() < 1e-14
    cell, face = np.nonzero(mesh.neighbour_face >= 0)
    assert np.abs(normals[cell, face] + normals[mesh.neighbour_cell[cell, face], mesh.neighbour_face[cell, face]]).max() < 1e-14
    assert all(area(mesh, rows) == pytest.approx(1, rel=1e-13) for rows in mesh.boundaries.values())


def shell(x):
    """A part of a spherical shell between the radii 1 and 2."""
    r, theta, phi = 1 + x[:, 0], 3 * pi / 8 + pi / 4 * x[:, 1], pi / 4 * x[:, 2]
    return np.stack([r * np.sin(theta) * np.cos(phi), r * np.sin(theta) * np.sin(phi), r * np.cos(theta)], axis=1)


def ring(x):
    return np.stack([(1 + x[:, 0]) * np.cos(pi / 2 * x[:, 1]), (1 + x[:, 0]) * np.sin(pi / 2 * x[:, 1])], axis=1)


@pytest.mark.parametrize("name, order, form", [
    ("mixed", 1, "whole"), ("mixed", 2, "whole"), ("mixed", 2, "short"), ("mixed", 2, "cells"), ("wedge", 3, "whole"),
    ("wedge", 4, "lagrange"),
    ("hexahedron", 4, "whole"), ("hexahedron", 3, "lagrange"), ("flat", 2, "short"), ("flat", 3, "whole"),
    ("flat", 5, "lagrange")])
def test_volumes_converge(tmp_path, name, order, form):
    """A map of even order k has an error of the order k + 2 in the volume, one of odd order k + 1."""
    x, exact = (ring, 3 * pi / 4) if name == "flat" else (shell, 7 / 3 * 2 * cos(3 * pi / 8) * pi / 4)
    given = {"whole": {}, "short": dict(short=True, program="vtk"), "lagrange": dict(suffix=".vtu", program="lagrange"),
             "cells": dict(split=False)}[form]
    meshes = [read(tmp_path, lattice(name, n), order, x, **given) for n in ((1, 2) if order > 3 else (2, 4))]
    assert all(mesh.order == order for mesh in meshes)
    error = [abs(mesh.measures.sum() / exact - 1) for mesh in meshes]
    assert log(error[-2] / error[-1], 2) > order + 1.7 - order % 2 and error[-1] < 0.02 * 0.03 ** (order // 2)


@pytest.mark.filterwarnings("ignore:.* lie between two cells")
@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize("name, cells, pieces, volume, regions", [
    ("prisms_o2", 14, 42, 3.1374448355512, {"cylinder": 3.1374448355512}),
    ("prisms_o2_short", 14, 42, 3.1374448355512, {"cylinder": 3.1374448355512}),
    ("hybrid_o2", 118, 162, 2, {"bricks": 1, "tets": 1}), ("hybrid_o2_short", 118, 162, 2, {"bricks": 1, "tets": 1}),
    ("hybrid_o4", 26, 32, 2, {"bricks": 1, "rest": 1})])
def test_files_of_gmsh(name, cells, pieces, volume, regions, split):
    """The volumes of Gmsh's own cells by its quadrature, of cells and of their pieces; straight cells are found to be so, which
    other orders of their nodes would not be."""
    mesh = dg.read_mesh(DATA / f"gmsh_{name}.msh", split=split)
    assert mesh.cell_count == (pieces if split else cells) and mesh.measures.sum() == pytest.approx(volume, rel=1e-13)
    assert {region: mesh.measures[inside].sum() for region, inside in mesh.regions.items()} == pytest.approx(regions, rel=1e-13)
    assert "hybrid" not in name or mesh.order == 1
    if "hybrid_o2" in name:
        assert area(mesh, mesh.boundaries["outside"]) == pytest.approx(10)
        assert not split or area(mesh, mesh.interfaces["between"]) == 1


def test_prisms_of_order_3():
    mesh = dg.read_mesh(DATA / "gmsh_prisms_o3.msh", split=True)
    assert mesh.order == 3 and mesh.is_curved.sum() == 42 and mesh.quality().min() > 0.5
    assert mesh.measures.sum() == pytest.approx(pi, rel=2e-3)
    areas = {name: area(mesh, rows) for name, rows in mesh.boundaries.items()}
    assert areas == pytest.approx({"bottom": pi, "top": pi, "side": 2 * pi}, rel=1e-3)


@pytest.mark.parametrize("name, cells, measure", [
    ("gmsh_hexdemo_v22.msh", 1152, 3), ("gmsh_hexdemo_o2_v41.msh", 1152, 3), ("gmsh_sv_quad_o1_v22.msh", 158, 0.7189806088),
    ("gmsh_sv_quad_o2_v22.msh", 158, 0.7189975316)])
def test_files(name, cells, measure):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")          # three cubes that do not touch
        mesh = dg.read_mesh(DATA / name, split=True)
    assert len(mesh.cells) == cells and mesh.measures.sum() == pytest.approx(measure, rel=1e-9)


@pytest.mark.external
@pytest.mark.parametrize("name, cells, measure", [
    ("meshmode_hybrid-cube.msh", 1301, 1000), ("meshmode_cubed-cube.msh", 1296, 1000), ("pyfr_couette-flow.msh", 84, 2),
    ("mfem_beam-hex.vtk", 48, 8), ("mfem_star-q2.vtk", 40, 4.755276696), ("mfem_square-disc-p2.vtk", 154, 0.8757701227)])
def test_files_of_others(name, cells, measure):
    mesh = dg.read_mesh(mesh_path(name), split=True)
    assert len(mesh.cells) == cells and mesh.measures.sum() == pytest.approx(measure, rel=1e-9)
    assert name != "pyfr_couette-flow.msh" or {side: len(rows) for side, rows in mesh.boundaries.items()} == {
        "periodic_0_l": 4, "periodic_0_r": 4, "bcwalllower": 8, "bcwallupper": 8}


@pytest.mark.parametrize("order", range(1, 6))
def test_node_order_of_vtk(order):
    vtk = pytest.importorskip("vtk")
    places = prism_order("wedge", order, "vtk")
    cell = vtk.vtkLagrangeWedge()
    cell.GetPointIds().SetNumberOfIds(len(places))
    cell.GetPoints().SetNumberOfPoints(len(places))
    cell.SetUniformOrderFromNumPoints(len(places))
    assert [cell.PointIndexFromIJK(*place) for place in places.tolist()] == list(range(len(places)))


def test_warped_and_collapsed_hexahedra():
    """Where faces are so warped that the tables turn a piece over, the cell is cut around its centre; hexahedra in which
    corners are one point are prisms, pyramids or tetrahedra."""
    kind, generator = KINDS["hexahedron"], np.random.default_rng(1)
    points = (kind.corners + 0.3 * generator.uniform(-1, 1, (2000, 8, 3))).reshape(-1, 3)
    cells = np.arange(len(points)).reshape(-1, 8)
    cells = cells[geometry.are_valid(points, cells)]
    x, pieces, parents = cut(points, cells, kind, 1, kind.corners, generator.permutation(len(points)))
    counts, bad = np.bincount(parents), np.unique(parents[geometry.signed_measures(x, pieces) <= 0])
    assert set(counts) == {5, 6, 12} and len(bad) < 0.005 * len(cells)
    for name, volume, corners in (("wedge", 1 / 2, (0, 1, 2, 2, 3, 4, 5, 5)), ("pyramid", 1 / 3, (0, 1, 2, 3, 4, 4, 4, 4)),
                                  ("tetra", 1 / 6, (0, 1, 2, 2, 3, 3, 3, 3))):
        points = KINDS[name].corners.astype(float)
        for rank in list(permutations(range(len(points))))[::5]:
            x, pieces, _ = cut(points, np.array([corners]), kind, 1, kind.corners, np.array(rank))
            volumes = geometry.signed_measures(x, pieces)
            assert volumes.min() > 0 and volumes.sum() == pytest.approx(volume)


def test_simplices_stay(tmp_path):
    for name in ("gmsh_t1_v22", "gmsh_sv_o3_v22", "gmsh_t5_v41"):
        one, other = (dg.read_mesh(DATA / f"{name}.msh", split=split) for split in (False, True))
        assert all(np.array_equal(a, b) for a, b in zip((*one.identity, one.numbers), (*other.identity, other.numbers)))
        assert dg.read_mesh(one, split=True) is one
    meshio.write(tmp_path / "line.vtu", meshio.Mesh(np.linspace(0, 1, 5)[:, None] * [[1, 0, 0]], [("line", [[0, 1], [1, 2]])]))
    with pytest.warns(dg.mesh.MeshWarning, match="left out"):
        assert dg.read_mesh(tmp_path / "line.vtu", split=True).cell_type == "line"


def test_periodic_boundaries_are_cut_alike(tmp_path):
    mesh = read(tmp_path, lattice("hexahedron", 3), 1, lambda x: x + 0.1 * np.sin(2 * np.pi * x[:, [1, 2, 0]]), shuffled=True)
    mesh = mesh.periodic(*SIDES)
    assert not len(mesh.boundary_faces) and len(mesh.periods) == 3


def test_interfaces_between_pieces_of_a_cell(tmp_path):
    """Pieces of one cell have its number, and yet a face between them keeps its normal where they are refined."""
    mesh = read(tmp_path, lattice("quad", 2)).with_regions({"low": lambda x: x[1] < x[0], "high": lambda x: x[1] > x[0]})
    for pair in (("low", "high"), ("high", "low")):
        named = mesh.with_interfaces({"cut": pair})
        fine, before = named.refined(), named.interfaces["cut"]
        rows = fine.interfaces["cut"]
        sign = 1 if pair[0] == "low" else -1
        assert len(rows) == 2 * len(before) > 0 and area(fine, rows) == pytest.approx(area(named, before))
        assert np.allclose(fine.normals[tuple(rows.T)], sign * np.array([-1, 1]) / 2 ** 0.5)


def file_of(path, *cells, points=None):
    points = KINDS["hexahedron"].corners if points is None else points
    meshio.write(path / "odd.vtu", meshio.Mesh(np.array(points, dtype=float), [(name, np.array(rows)) for name, rows in cells]))
    return path / "odd.vtu"


def test_refusals(tmp_path):
    """What cannot be cut is named, and what can be cut is told how."""
    way_out = r"or cut the cells into .* read_mesh\(file, split=True\), on the command line --split$"
    assert len(dg.read_mesh(nasty_path("mixed_tri_quad"), split=True).cells) > 2
    with pytest.raises(ValueError, match=f"not on quadrilateral cells: .*; take TensorDG; {way_out}"):
        dg.Simulation(dg.rectangle(shape="quadrilateral"), dg.Acoustics(2), dg.ModalDG(1), boundary=dg.wall)
    with pytest.raises(MeshError, match="is a mesh already, of quadrilateral cells; split=True is for files"):
        dg.read_mesh(dg.rectangle(shape="quadrilateral"), split=True)
    with pytest.raises(MeshError, match="'polygon' cannot be cut into simplices; allowed: triangle, quad, tetra, "):
        dg.read_mesh(file_of(tmp_path, ("polygon", [[0, 1, 2, 3]]), points=KINDS["hexahedron"].corners * [1, 1, 0]), split=True)
    wedges, pyramids = (hybrid(lattice(name, 1), 2) for name in ("wedge", "pyramid"))
    nodes = wedges.cells[0].data
    several = file_of(tmp_path, ("wedge18", nodes[:1]), ("wedge", nodes[1:, :6]), points=wedges.points)
    with pytest.raises(MeshError, match="several orders in one mesh .*: 'wedge' of order 1; 'wedge18' of order 2"):
        dg.read_mesh(several, split=True)
    with pytest.raises(MeshError, match="'wedge' with 6 nodes, 'wedge18' with 18 nodes in one mesh .* all with one order"):
        dg.read_mesh(several)
    with pytest.raises(MeshError, match="'VTK_LAGRANGE_PYRAMID' .*: VTK has no order .*; write them as pyramid13 or pyramid14"):
        dg.read_mesh(file_of(tmp_path, ("VTK_LAGRANGE_PYRAMID", [np.arange(14)]), points=pyramids.points))
    bad = KINDS["hexahedron"].corners.astype(float)
    bad[6] = 0.1, 0.1, -0.5
    with pytest.raises(MeshError, match=r"1 cell cannot be split into tetrahedra .*: cell 0 \(element 1 in the file\)"):
        dg.read_mesh(file_of(tmp_path, ("hexahedron", [range(8)]), points=bad), split=True)
    bad[6] = np.nan
    with pytest.raises(MeshError, match=r"node 7 \(counted from 1\) has the coordinates \(nan, nan, nan\)"):
        dg.read_mesh(file_of(tmp_path, ("hexahedron", [range(8)]), points=bad), split=True)

    def folded(x):
        return x + 1.2 * (abs(x - 0.5).max(axis=1, keepdims=True) < 0.01)
    with pytest.raises(MeshError, match=r"curved tetra cells are folded .*: a piece of cell 0 \(element 1 in the file\) at"):
        read(tmp_path, lattice("hexahedron", 1), 2, folded)


def test_command_line(tmp_path, capsys):
    read(tmp_path, lattice("mixed", 2))
    path = str(tmp_path / "mesh.msh")
    assert main(["info", path]) == 0 and "18 pyramid, 4 prism, 3 hexahedron, 3D" in capsys.readouterr().out
    assert main(["info", path, "--split"]) == 0 and "cells       66 tetra, 3D" in capsys.readouterr().out
    run = ["run", "maxwell_cavity", "--order", "1", "--until", "0.01", "--backend", "numpy", "--kernels", "array", "--quiet"]
    assert main([*run, "--mesh", path, "--split"]) == 0
    assert main([*run, "--split"]) == 2 and "--split is given without --mesh; give both" in capsys.readouterr().err
    assert main(["info", str(tmp_path), "--split"]) == 2 and "--split is for mesh files" in capsys.readouterr().err
    assert main(["eoc", "maxwell_cavity", "--mesh", path, "--split", "--orders", "1", "--levels", "2", "--backend", "numpy",
                 "--kernels", "array", "--until", "0.1", "--quiet"]) == 0


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("name, geometry_order", [
    (name, order) for name in ("mixed", "wedge", "pyramid", "hexahedron") for order in (1, 2, 3)
    if order < 3 or name in ("wedge", "hexahedron")])
def test_orders_of_convergence(tmp_path, name, geometry_order, order):
    """A mode of Maxwell's equations in a cavity, in warped cells with straight and with curved edges."""
    sizes, errors = (3, 6) if geometry_order == 3 or (name, order) == ("mixed", 3) else (2, 4), []
    for n in sizes:
        mesh = read(tmp_path, lattice(name, n), geometry_order, lambda x: x + 0.04 / 0.05 * (warp(x) - x))
        sim = maxwell_cavity(order=order, mesh=mesh, m=1, n=1, p=0, until=0.5).replace(**QUIET)
        sim.run()
        errors.append(sim.report["l2_error"]["total"])
    assert log(errors[0] / errors[1], 2) > order + 0.7


def smooth_disc(level):
    """The disc in quadrilaterals of order 8, images of those of a coarse mesh under a smooth map of each of these."""
    mesh = disc(0, "quadrilateral", 8)
    for _ in range(level):
        mesh = mesh.refined()
    return mesh.curved(8, to_circle)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_orders_of_convergence_on_a_disc(tmp_path, order):
    """Curved quadrilaterals of order 3 as triangles: a mode of the conducting disc."""
    errors = []
    for level in (2, 3):
        quads = smooth_disc(level)
        x = cell_maps.positions(quads, 2 * places_of("quad", 3, "lagrange") - 1).transpose(2, 1, 0)
        points, nodes = np.unique(np.round(x.reshape(-1, 2), 12), axis=0, return_inverse=True)
        meshio.write(tmp_path / "disc.vtu", meshio.Mesh(np.column_stack([points, 0 * points[:, 0]]), [
            ("VTK_LAGRANGE_QUADRILATERAL", nodes.reshape(x.shape[:2]))]))
        sim = disc_cavity(order=order, mesh=dg.read_mesh(tmp_path / "disc.vtu", split=True), until=0.15).replace(**QUIET)
        sim.run()
        errors.append(sim.report["l2_error"]["total"])
    assert log(errors[0] / errors[1], 2) > order + 0.7
