"""Output of prisms and pyramids: VTK cells, slices and pictures of meshes that have them."""
import numpy as np
import pytest

import dgarray as dg


def f(x, t=0.0):
    return x[0] * x[1] - x[2] ** 2, x[2], 1 + x[0], x[1]


@pytest.fixture(scope="module", params=["prism", "mixed", "pyramid", "hybrid"])
def found(request):
    sim = dg.Simulation(dg.box(cells=2, shape=request.param), dg.Acoustics(3), dg.NodalDG(2), initial=f, boundary=dg.wall,
                        backend="numpy", kernels="array")
    return sim.dataset(sim.project())


def test_values_and_integrals_are_exact(found):
    points = np.random.default_rng(0).uniform(0, 1, (40, 3))
    assert np.allclose(found.dg.sample(points, 0)["p"], f(points.T)[0], rtol=0, atol=1e-13)
    assert found.dg.integral("p", 0) == pytest.approx(1 / 4 - 1 / 3, rel=1e-12)
    assert found.dg.norm("vy", 0) ** 2 == pytest.approx(7 / 3, rel=1e-12)
    assert found.dg.error(f, time=0)["total"] < 1e-13


@pytest.mark.parametrize("plane, area", [("z=0.3", 1.0), ("x=0.7", 1.0), (((0.5, 0.5, 0.5), (1.0, 1.0, 0.0)), 2 ** 0.5)])
def test_slices_are_whole_and_exact(found, plane, area):
    cut = found.dg.slice(plane, 0)
    assert cut.dg.norm("vx") ** 2 > 0
    assert cut.assign(one=cut["p"] * 0 + 1).dg.integral("one") == pytest.approx(area, rel=1e-12)
    if plane == "z=0.3":
        assert cut.dg.integral("p") == pytest.approx(1 / 4 - 0.09, rel=1e-12)


@pytest.mark.parametrize("shape", ["prism", "mixed", "hybrid"])
def test_a_single_point(shape):
    """In a cell of each shape, so that there is none in those of the others; by a recorder and by `sample`."""
    mesh = dg.box(cells=2, shape=shape)
    for block in mesh.blocks:
        x = block.centroids[:1]
        sim = dg.Simulation(mesh, dg.Acoustics(3), dg.NodalDG(2), initial=f, boundary=dg.wall, backend="numpy",
                            kernels="array", record={"probe": dg.Points(x)}, until=1e-3)
        ds, exact = sim.run(), float(f(x.T)[0][0])
        assert ds.dg.record("probe")["p"].values[0] == pytest.approx(exact, abs=1e-12)
        assert ds.dg.sample(x, time=0)["p"].values == pytest.approx(exact, abs=1e-12)


def test_files_have_all_cells(found, tmp_path):
    pyvista = pytest.importorskip("pyvista")
    grid = pyvista.read(found.dg.to_vtk(tmp_path / "prisms.vtu"))
    counts = {ds.attrs["cell_type"]: ds.sizes["element"] for ds in found.dg.datasets()}
    bricks = counts.get("hexahedron", 0) + counts.get("pyramid", 0)          # pyramids are hexahedra whose top is a point
    volumes = dict(zip(*np.unique(grid.celltypes[grid.cell_data["boundary"] == 0], return_counts=True)))
    assert volumes == {kind: n for kind, n in ((71, counts.get("tetra")), (73, counts.get("prism")), (72, bricks)) if n}
    assert grid.compute_cell_sizes()["Volume"].sum() == pytest.approx(1.0, rel=1e-6)
    assert np.allclose(grid.point_data["p"], f(np.asarray(grid.points, float).T)[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("shape", ["prism", "pyramid"])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_vtk_has_the_same_functions(shape, order):
    """Between the nodes of a cell VTK finds the values of any nodal field that `sample` does."""
    pyvista, random = pytest.importorskip("pyvista"), np.random.default_rng(1)
    sim = dg.Simulation(dg.box(cells=1, shape=shape), dg.Acoustics(3), dg.NodalDG(order), initial=f, boundary=dg.wall,
                        backend="numpy", kernels="array")
    ds = sim.dataset(sim.project()).isel(element=[0], time=0)
    ds = ds.assign(p=(ds.p.dims, random.normal(size=ds.p.shape)))
    corners = ds.dg.points[ds.dg.cells[0]]
    points = random.dirichlet(np.full(len(corners), 2.0), 40) @ corners
    cell = ds.dg.to_pyvista().extract_cells([0])
    assert np.allclose(pyvista.PolyData(points).sample(cell)["p"], ds.dg.sample(points)["p"], rtol=0, atol=1e-12)


def test_pictures_of_surfaces(found, tmp_path):
    """The values of the polynomials at all points of triangles and quadrilaterals, at the right places."""
    pytest.importorskip("pyvista")
    from dgarray.output.pictures import volume
    try:
        volume.check_rendering()
    except RuntimeError as error:
        pytest.skip(str(error))
    scene = volume.Scene(found.dg.datasets(0), "p", surface=("bottom", "right", "back"), off_screen=True)
    x = np.asarray(scene.field.points, float).T
    assert np.abs(scene.read(0) - f(x)[0]).max() < 1e-6
    facets = scene.field.compute_cell_sizes()["Area"]
    assert facets.sum() == pytest.approx(3.0, rel=1e-6)
    assert found.dg.plot("p", surface="top", mesh=True, path=tmp_path / "surface.png").stat().st_size > 5000
