"""Curved prisms, alone and beside curved tetrahedra and hexahedra: geometry, files, exact solutions, output."""
from pathlib import Path

import numpy as np
import pytest

import dgarray as dg
from dgarray.analysis.totals import totals_of_arrays
from dgarray.mesh import MeshError
from dgarray.mesh.curved import cell_maps
from dgarray.mesh.files.prism_nodes import prism_order
from dgarray.mesh.locate import Locator
from dgarray.mesh.mesh import build

K = np.pi * np.array([1, 1, -1])
SIZE = np.linalg.norm(K)


def bent(x):
    push = np.prod([np.sin(np.pi * c) for c in x], axis=0)
    return tuple(c + a * push for c, a in zip(x, (0.05, -0.04, 0.03)))


def box_of(cells, shape, order, periodic=False):
    return dg.box(cells=cells, shape=shape, periodic=periodic).mapped(bent, order)


def wave(x, t):
    """A plane wave of sound."""
    s = np.sin(sum(k * c for k, c in zip(K, x)) - SIZE * t)
    return tuple(c * s for c in (1.0, *K / SIZE))


def simulation(mesh, order, **options):
    return dg.Simulation(mesh, dg.Acoustics(3), dg.NodalDG(order), dg.prescribed(wave), lambda x: wave(x, 0.0), exact=wave,
                         backend="numpy", **{"kernels": "array"} | options)


# Geometry.

@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("shape", ["prism", "pyramid", "mixed", "hybrid"])
def test_volumes_and_areas(shape, order):
    """A box stays a box; the faces of each cell close it, and its volume is a third of the integral of x . n over them."""
    mesh = box_of(3, shape, order)
    assert mesh.order == order and mesh.is_curved.all() and mesh.measures.sum() == pytest.approx(1.0, rel=1e-13)
    vectors = np.concatenate([np.sum(block._curved_faces[1], axis=1) for block in mesh.blocks])
    assert np.abs(vectors).max() < 1e-15
    outer = np.zeros(3)
    for name, axis in (("left", 0), ("front", 1), ("bottom", 2)):
        rows = mesh.boundaries[name]
        outer[axis] = mesh.face_measures[rows[:, 0], rows[:, 1]].sum()
    assert np.allclose(outer, 1.0, rtol=0, atol=1e-13)


def test_prisms_of_a_shell():
    """Between two cylinders: volumes converge with twice the degree of the maps."""
    exact, errors = 3 * np.pi / 4, []
    for cells in (2, 4):
        flat = dg.box((1, 0, 0), (2, np.pi / 2, 1), cells=cells, shape="prism")
        mesh = flat.mapped(lambda x: (x[0] * np.cos(x[1]), x[0] * np.sin(x[1]), x[2]), 3)
        errors.append(abs(mesh.measures.sum() - exact))
        assert mesh.quality().min() > 0.3
    assert np.log2(errors[0] / errors[1]) > 3.8


def test_the_quality_of_a_prism_that_is_hardly_bent():
    """Is that of the straight one: a scaled Jacobian, by two edges of the triangle and one along the line."""
    one = dg.box(cells=1, shape="prism").mapped(lambda x: (x[0] + 0.3 * x[1], x[1], 2 * x[2])).part([0])
    nodes = cell_maps.positions(one, cell_maps.geometry_cell(one.cell_shape, 2).nodes).transpose(2, 1, 0).copy()
    nodes[0, 1] += 1e-6
    curved = build(one.points, one.cells, geometry_nodes=nodes)
    assert curved.order == 2 and curved.quality()[0] == pytest.approx(one.quality()[0], abs=1e-4)


@pytest.mark.parametrize("shape", ["prism", "pyramid", "mixed", "hybrid"])
def test_points_are_found(shape):
    mesh, x = box_of(3, shape, 3), np.random.default_rng(0).uniform(0, 1, (300, 3))
    found = np.zeros(len(x), int)
    for block in mesh.blocks:
        element, r = Locator(block.points, block.cells, block.geometry_nodes).find(x)
        inside = np.flatnonzero(element >= 0)
        matrix = cell_maps.interpolation(block.cell_shape, 3, r[inside])
        image = np.einsum("pj,pjd->pd", matrix, block.geometry_nodes[element[inside]])
        assert np.abs(image - x[inside]).max() < 1e-9
        found[inside] += 1
    assert np.array_equal(found, np.ones(len(x)))


def test_neighbours_with_different_geometry_are_refused():
    """Of prisms, and between two shapes."""
    mesh = box_of(2, "prism", 2)
    nodes = mesh.geometry_nodes.copy()
    nodes[0, 8] += 0.01          # in the middle of a quadrilateral between two cells
    with pytest.raises(MeshError, match=r"cell \d+ and cell \d+ have different geometry on the face that they share"):
        build(mesh.points, mesh.cells, geometry_nodes=nodes)
    mesh = box_of(3, "mixed", 2)
    nodes = {block.cell_type: block.geometry_nodes.copy() for block in mesh.blocks}
    cells = {block.cell_type: block.cells for block in mesh.blocks}
    assert build(mesh.points, cells, geometry_nodes=nodes).order == 2
    first = len(cells["tetra"])
    meets = (mesh.neighbour_face >= 0) & (mesh.neighbour_cell >= first + len(cells["prism"]))
    prism, face = np.argwhere(meets[first:first + len(cells["prism"])])[0]
    shape = mesh.blocks[1].cell_shape
    middle = shape.corners[list(shape.faces[face])].mean(axis=0)
    there = np.abs(cell_maps.geometry_cell(shape, 2).nodes - middle).max(axis=1).argmin()
    nodes["prism"][prism, there] += 0.01
    with pytest.raises(MeshError, match="have different geometry on the face that they share"):
        build(mesh.points, cells, geometry_nodes=nodes)


def test_a_folded_prism_is_named():
    with pytest.raises(MeshError, match=r"curved prism cells? (is|are) folded or degenerate"):
        dg.box(cells=2, shape="prism").mapped(lambda x: (x[0], x[1], x[2] + 0.8 * np.sin(2 * np.pi * x[2])), 3)


@pytest.mark.parametrize("shape", ["prism", "pyramid", "mixed", "hybrid"])
def test_boundaries_are_not_curved_alone(shape):
    with pytest.raises(MeshError, match=r"curved\(\) is .*; take mapped\(function, order\)"):
        dg.box(cells=2, shape=shape).curved(2, lambda x: x)


@pytest.mark.parametrize("degree", [1, 2])
def test_refined_prisms(degree):
    """Children fill their parent and keep its map; names, interfaces and periods are kept."""
    mesh = dg.box(cells=2, shape="prism", perturb=0.1).with_regions({"low": lambda x: x[2] < 0.5, "high": lambda x: x[2] > 0.5})
    mesh = mesh.with_interfaces({"middle": ("low", "high")}).mapped(bent, degree)
    fine = mesh.refined()
    families = fine.measures[np.argsort(fine.numbers)].reshape(-1, 8).sum(axis=1)
    assert np.abs(families - mesh.measures[np.argsort(mesh.numbers)]).max() < 1e-15 and not len(fine.unnamed)
    assert all(len(fine.boundaries[name]) == 4 * len(rows) for name, rows in mesh.boundaries.items())
    assert all(len(fine.regions[name]) == 8 * len(cells) for name, cells in mesh.regions.items())
    rows = fine.interfaces["middle"]
    assert len(rows) == 32 and fine.normals[tuple(rows.T)][:, 2].min() > 0.5
    periodic = dg.box(cells=2, shape="prism", periodic=True).mapped(lambda x: (x[0] + 0.1 * x[1], x[1], x[2])).refined()
    assert not len(periodic.boundary_faces) and len(periodic.periods) == 3
    with pytest.raises(MeshError, match=r"refined\(where\) is for quadrilaterals and hexahedra; prism cells are all refined"):
        mesh.refined("low")


# Files.

def in_file(mesh, kind, order, program):
    """points and cells (cell, node) of prisms as a file has them."""
    places = prism_order("wedge", order, program)[:15 if kind == "wedge15" else None]
    x = cell_maps.positions(mesh, 2 * places / order - 1).transpose(2, 1, 0)
    points, number = np.unique(np.round(x.reshape(-1, 3), 12), axis=0, return_inverse=True)
    return points, number.reshape(x.shape[:2])


@pytest.mark.parametrize("kind, order, program, suffix", [
    ("wedge15", 2, "vtk", "vtu"), ("wedge18", 2, "vtk", "vtu"), ("wedge15", 2, "vtk", "msh"), ("wedge18", 2, "gmsh", "msh"),
    ("wedge40", 3, "gmsh", "msh"), ("VTK_LAGRANGE_WEDGE", 3, "vtk", "vtu")])
def test_curved_prisms_in_files(kind, order, program, suffix, tmp_path):
    meshio = pytest.importorskip("meshio")
    mesh, path = box_of(2, "prism", order), tmp_path / f"curved.{suffix}"
    points, cells = in_file(mesh, kind, order, program)
    meshio.write(path, meshio.Mesh(points, [(kind, cells)]), **({"file_format": "gmsh22"} if suffix == "msh" else {}))
    read = dg.read_mesh(path)
    assert read.cell_type == "prism" and read.order == order and read.is_curved.all()
    nearest = np.linalg.norm(read.points[:, None] - mesh.points, axis=2).min(axis=1)
    assert nearest.max() < 1e-9 and read.measures.sum() == pytest.approx(1.0, rel=1e-9)
    if kind != "wedge15":          # which lacks the middles of faces
        assert np.allclose(np.sort(read.measures), np.sort(mesh.measures), rtol=1e-9)


@pytest.mark.parametrize("name, order, error", [("o2", 2, 2e-3), ("o2_short", 2, 2e-3), ("o3", 3, 1e-3)])
def test_curved_prisms_of_gmsh(name, order, error):
    """A cylinder of radius and height 1, as Gmsh writes it."""
    mesh = dg.read_mesh(Path(__file__).parent / "data" / f"gmsh_prisms_{name}.msh")
    assert mesh.cell_type == "prism" and mesh.order == order and mesh.is_curved.all() and list(mesh.boundaries) == [
        "bottom", "top", "side"]
    assert mesh.measures.sum() == pytest.approx(np.pi, rel=error)
    rows = mesh.boundaries["side"]
    assert mesh.face_measures[tuple(rows.T)].sum() == pytest.approx(2 * np.pi, rel=error)
    middle = np.linalg.norm(mesh.face_centres(rows)[:, :2], axis=1)
    assert np.abs(middle - 1).max() < 2e-3          # that of a straight face is off by 1 - cos(pi / 7) = 0.1


# Runs.

@pytest.mark.parametrize("shape, degree, order", [
    *(("prism", degree, order) for degree in (2, 3) for order in (1, 2, 3)), ("mixed", 2, 3), ("mixed", 2, 4), ("mixed", 3, 5)])
def test_observed_orders(shape, degree, order):
    errors = []
    for cells in {1: (4, 8), 2: (4, 8), 3: (3, 6)}.get(order, (2, 4)):
        sim = simulation(box_of(cells, shape, degree), order, until=0.1)
        sim.run()
        errors.append(sim.report["l2_error"]["total"])
    assert np.log2(errors[0] / errors[1]) > order + (0.7 if order < 5 else 0.3), errors


@pytest.mark.parametrize("shape, degree, order", [("prism", 2, 1), ("prism", 3, 2), ("mixed", 2, 3)])
def test_free_stream_and_conservation(shape, degree, order):
    """Of a gas: a uniform state stays, and a box with walls keeps mass and energy."""
    law, mesh = dg.Euler(3), box_of(2, shape, degree)
    u = law.conservative((1.0, 0.3, -0.2, 0.1, 1.0))

    def smooth(x):
        return law.conservative((1 + 0.2 * np.sin(2 * x[0]) * np.cos(x[1]), *(0 * c for c in x), 1 + 0.2 * np.cos(3 * x[2])))
    for initial, boundary in ((lambda x: tuple(c + 0 * x[0] for c in u), dg.prescribed(u)), (smooth, dg.wall)):
        sim = dg.Simulation(mesh, law, dg.NodalDG(order), boundary, initial, flux=dg.hllc, backend="numpy", kernels="array")
        operator = sim.operator
        state = operator.state(operator.project(sim.initial))
        rates = operator.host(operator.rhs(state, 0.0))
        if boundary is not dg.wall:
            parts = rates.values() if isinstance(rates, dict) else [rates]
            assert max(np.abs(part).max() for part in parts) < 1e-11
        else:
            totals = totals_of_arrays(operator, rates)
            assert abs(totals["rho"]) < 1e-13 and abs(totals["E"]) < 1e-13


@pytest.mark.parametrize("shape, degree, order", [("prism", 2, 2), pytest.param("mixed", 2, 3, marks=pytest.mark.thorough)])
def test_kernels_and_arrays_agree(shape, degree, order):
    results = []
    for kernels in ("array", "fused"):
        sim = simulation(box_of(2, shape, degree), order, kernels=kernels, until=0.02)
        ds = sim.run()
        parts = [ds] if shape == "prism" else ds.dg.zones.values()
        results.append(np.concatenate([part.p[-1].values.ravel() for part in parts]))
    assert np.abs(results[0] - results[1]).max() < 1e-12


# Output.

@pytest.mark.thorough
@pytest.mark.parametrize("shape", ["prism", "mixed"])
def test_output(shape, tmp_path):
    """Samples, integrals, slices and files hold the polynomials; a run restarts from its store."""
    def run(**options):
        return simulation(box_of(2, shape, 2), 3, **options)
    whole = run(until=0.04).run(every=0.02, out=tmp_path / "whole.zarr")
    x = np.random.default_rng(1).uniform(0.05, 0.95, (40, 3))
    found = whole.dg.sample(x, time=-1)["p"].values
    assert np.abs(found - wave(tuple(x.T), 0.04)[0]).max() < 0.02
    # The mean of sin(a x + b y - c z) over the unit cube is the imaginary part of a product.
    exact = np.imag(np.prod([(np.exp(1j * k) - 1) / (1j * k) for k in K]))
    assert whole.dg.integral("p", time=0) == pytest.approx(exact, abs=2e-3)
    run(until=0.02).run(every=0.02, out=tmp_path / "first.zarr")
    again = run(until=0.04).run(every=0.02, out=tmp_path / "first.zarr", restart=True)
    assert np.array_equal(again.dg.sample(x, time=-1)["p"].values, found)
    section = whole.dg.slice("z=0.4", time=-1)
    there = x[:, :2]
    assert np.abs(section.dg.sample(there)["p"].values - wave((*there.T, 0.4), 0.04)[0]).max() < 0.03
    whole.dg.to_vtk(tmp_path / "whole.vtkhdf")
    whole.dg.plot("p", path=tmp_path / "slice.png", time=-1)
