"""Output of cells of several shapes: trees of two runs side by side, one on simplices, one on quadrilaterals or hexahedra."""
import h5py
import numpy as np
import pytest
import xarray as xr

import dgarray as dg
from dgarray.cli import main

ORDERS = 2, 3          # of the simplices, of the others


def exact(x, t=0.0):
    """A quadratic polynomial in each variable of Acoustics, continuous where the shapes meet."""
    z = x[2] if len(x) == 3 else 0 * x[0]
    return (1 + x[0] ** 2 - x[0] * x[1] + z, *(x[i] * x[0] - 2 * x[1] for i in range(len(x))))


def side_by_side(dim, shape, order=ORDERS):
    """The tree of simplices where x < 1/2, and of cells of the other shape where x > 1/2, at t = 0 and t = 0.01."""
    make, upper = (dg.rectangle, (1,)) if dim == 2 else (dg.box, (1, 1))
    meshes = {"triangle" if dim == 2 else "tetra": make((0,) * dim, (0.5, *upper), cells=2),
              shape: make((0.5, *(0,) * (dim - 1)), (1, *upper), cells=2, shape=shape)}
    found = {}
    for (name, mesh), own in zip(meshes.items(), order):
        method = dg.NodalDG(own) if name != shape else dg.TensorDG(own)
        mesh = mesh.with_regions({name + " cells": lambda x: x[1] > 0.5, "rest": lambda x: x[1] <= 0.5})
        sim = dg.Simulation(mesh, dg.Acoustics(dim), method, initial=exact, boundary=dg.wall, backend="numpy", kernels="array")
        found[name] = sim.run(0.01, every=0.01)
    return xr.DataTree.from_dict(found)


@pytest.fixture(scope="module", params=[(2, "quadrilateral"), (3, "hexahedron")], ids=["2D", "3D"])
def tree(request):
    return side_by_side(*request.param)


@pytest.fixture(scope="module")
def flat():
    return side_by_side(2, "quadrilateral")


@pytest.fixture(scope="module")
def solid():
    return side_by_side(3, "hexahedron")


def test_numbers_of_all_zones(tree):
    """integral of 1 + x^2 - xy + z over the unit square or cube; error of the polynomial; bounds."""
    dim = tree.dg.dim
    assert tree.dg.integral("p", 0) == pytest.approx(1 + 1 / 3 - 1 / 4 + (0.5 if dim == 3 else 0), rel=1e-13)
    # integral of (x^2 - 2y)^2
    assert tree.dg.norm("vx", 0) ** 2 == pytest.approx(1 / 5 - 2 / 3 + 4 / 3, rel=1e-13)
    assert tree.dg.error(exact, time=0)["total"] < 1e-13 and tree.dg.error("p", exact, 0) < 1e-13
    assert tree.dg.norm("p", None).shape == (2,) and tree.dg.order == max(ORDERS)
    assert np.array_equal(tree.dg.bounds, [[0] * dim, [1] * dim])


def test_values_anywhere(tree):
    dim = tree.dg.dim
    points = np.random.default_rng(1).uniform(0, 1, (60, dim))
    sampled = tree.dg.sample(points, 0)
    assert np.allclose(sampled["p"], exact(points.T)[0], rtol=0, atol=1e-13)
    first = next(iter(tree.dg.zones.values())).sizes["element"]
    assert np.array_equal(sampled.element < first, points[:, 0] < 0.5)
    line = tree.dg.line((0,) * dim, (1,) * dim, 9, time=0)
    assert np.allclose(line["vy"], exact([line[axis] for axis in tree.dg.axes])[2], rtol=0, atol=1e-13)
    grid = tree.dg.grid(5, time=0)
    x = np.meshgrid(*[grid[axis] for axis in tree.dg.axes], indexing="ij")
    assert np.allclose(grid["p"].transpose(*tree.dg.axes), exact(x)[0], rtol=0, atol=1e-13)


def test_means_and_derivatives(tree):
    means = tree.dg.cell_mean("p", 0)
    assert means.sizes == {"element": sum(ds.sizes["element"] for ds in tree.dg.zones.values())}
    # Means of the linear derivative dp/dx = 2x - y are its values at the centres.
    slope = tree.dg.gradient("p", 0).dg.cell_mean("dp_dx")
    assert np.allclose(slope, 2 * slope["x"] - slope["y"], rtol=0, atol=1e-12)
    assert set(means["region"].attrs["flag_meanings"].split()) >= {"rest", *(f"{n}_cells" for n in tree.children)}
    with pytest.raises(ValueError, match="variable 'q' does not exist"):
        tree.dg.cell_mean("q")


@pytest.mark.parametrize("plane", ["y=0.3", "x=0.5", "x=0.7", "x=1", ((0.1, 0.2), (1, 0.7)), ((0.2, 0.1, 0.5), (1, 0.5, 0.3))])
def test_slices_through_all_zones(tree, plane):
    """The polynomial and the measure of the slice: lengths and areas by the pieces of one mesh of simplices of the whole."""
    dim = tree.dg.dim
    if not isinstance(plane, str) and len(plane[0]) != dim:
        pytest.skip("a plane of the other dimension")
    cut = tree.dg.slice(plane, 0)
    x = [cut[axis] for axis in tree.dg.axes]
    assert np.allclose(cut["p"], exact(x)[0], rtol=0, atol=1e-12)
    make = dg.rectangle if dim == 2 else dg.box
    whole = dg.Simulation(make(cells=2), dg.Acoustics(dim), dg.NodalDG(2), initial=exact, boundary=dg.wall, backend="numpy",
                          kernels="array")
    one = whole.dataset(whole.project()).dg.slice(plane, 0)
    assert cut.dg.integral("p") == pytest.approx(one.dg.integral("p"), rel=1e-12)
    assert cut.dg.norm("vx") == pytest.approx(one.dg.norm("vx"), rel=1e-12)


def test_a_slice_that_misses_all_zones(flat):
    with pytest.raises(ValueError, match="misses the mesh, which has x from 0 to 1, y from 0 to 1"):
        flat.dg.slice("x=2")


def test_vtk_files_of_several_shapes(tree, tmp_path):
    pyvista = pytest.importorskip("pyvista")
    with h5py.File(tree.dg.to_vtk(tmp_path / "a.vtkhdf"), "r") as file:
        root = file["VTKHDF"]
        types, counts = np.unique(root["Types"][:][root["CellData/boundary"][:] == 0], return_counts=True)
        sizes = [ds.sizes["element"] for ds in tree.dg.zones.values()]
        assert dict(zip(types.tolist(), counts.tolist())) == dict(zip((69, 70) if tree.dg.dim == 2 else (71, 72), sizes))
        points, dim = root["Points"][:], tree.dg.dim
        assert np.allclose(root["PointData/p"][:len(points)], exact(points.T[:dim])[0], rtol=0, atol=1e-12)
        assert root["Steps"].attrs["NSteps"] == 2 and len(root["PointData/p"]) == 2 * len(points)
        names = [name.decode() for name in root["FieldData/region_names"][:]]
        regions, y = root["CellData/region"][:], cell_centres(root)[:, 1]
        assert {names[r] for r in regions[y > 0.5]} == {f"{name}_cells" for name in tree.children}
        assert {names[r] for r in regions[y < 0.5]} == {"rest"}
    read, made = pyvista.read(tree.dg.to_vtk(tmp_path / "a.vtu", time=0)), tree.dg.to_pyvista(time=0)
    for found in (read, made):
        assert np.allclose(found.point_data["p"], exact(found.points.T[:dim])[0], rtol=0, atol=1e-12)
        elements = found.extract_cells(np.flatnonzero(found.cell_data["boundary"] == 0))
        measure = elements.compute_cell_sizes()["Area" if dim == 2 else "Volume"].sum()
        assert measure == pytest.approx(1, rel=1e-6)


def cell_centres(root):
    """Means of the points of the cells of a VTKHDF file."""
    points = root["Points"][:][root["Connectivity"][:]]
    return np.add.reduceat(points, root["Offsets"][:-1]) / np.diff(root["Offsets"][:])[:, None]


def test_faces_of_several_shapes_for_ugrid(flat, solid):
    faces = flat.dg.to_ugrid(2, time=0)
    corners = faces["mesh2d_face_nodes"].values
    assert sorted(np.unique((corners >= 0).sum(axis=1))) == [3, 4]
    x, y = faces["mesh2d_node_x"].values, faces["mesh2d_node_y"].values
    areas = [np.dot(x[f], np.roll(y[f], -1)) / 2 - np.dot(y[f], np.roll(x[f], -1)) / 2 for f in (c[c >= 0] for c in corners)]
    assert min(areas) > 0 and sum(areas) == pytest.approx(1, rel=1e-13)
    assert np.dot(areas, faces["p"]) == pytest.approx(flat.dg.integral("p", 0), rel=1e-13)
    assert len(np.unique(np.column_stack([x, y]), axis=0)) == len(x)
    xugrid = pytest.importorskip("xugrid")
    assert xugrid.UgridDataset(faces)["p"].ugrid.total_bounds == (0, 0, 1, 1)
    with pytest.raises(ValueError, match="UGRID faces need 2D; take a slice first"):
        solid.dg.to_ugrid()
    assert solid.dg.slice("z=0.3").dg.to_ugrid(time=0)["p"].mean() > 0


def test_pictures_of_several_shapes(flat, tmp_path):
    pytest.importorskip("matplotlib")
    ax = flat.dg.plot("p", 0, mesh=True)
    meshes = [each for each in ax.collections if hasattr(each, "get_clim") and each.get_array() is not None]
    assert len(meshes) == 2 and meshes[0].get_clim() == meshes[1].get_clim()
    low, high = meshes[0].get_clim()
    assert low <= 1 and high == pytest.approx(2, abs=1e-12) and ax.get_xlim() == (0, 1)
    assert flat.dg.plot("p", path=tmp_path / "p.png", isolines=(1, 2, 5)).stat().st_size > 5000
    assert flat.dg.plot("p", slice="y=0.3").get_xlim() == (0, 1)
    from PIL import Image
    assert Image.open(flat.dg.animate("p", tmp_path / "p.gif")).n_frames == 2


@pytest.mark.thorough
def test_pictures_of_several_shapes_in_3d(solid, tmp_path):
    pytest.importorskip("matplotlib")
    assert solid.dg.plot("p", slice="z=0.4", path=tmp_path / "z.png").stat().st_size > 5000
    volume = pytest.importorskip("dgarray.output.pictures.volume")
    pytest.importorskip("pyvista")
    try:
        volume.check_rendering()
    except RuntimeError as error:
        pytest.skip(str(error))
    scene = volume.Scene(solid.dg.datasets(0), "p", off_screen=True)
    assert np.allclose(scene.read(0), exact(scene.field.points.T.astype(float))[0], rtol=0, atol=1e-5)
    assert scene.field.area == pytest.approx(3, rel=1e-6)
    scene = volume.Scene(solid.dg.datasets(0), "p", surface=("bottom", "top"), off_screen=True)
    assert np.allclose(scene.read(0), exact(scene.field.points.T.astype(float))[0], rtol=0, atol=1e-5)
    assert scene.field.area == pytest.approx(2, rel=1e-6)
    assert solid.dg.plot("p", path=tmp_path / "p.png").stat().st_size > 5000
    assert solid.dg.plot("p", surface="top", mesh=True, path=tmp_path / "s.png").stat().st_size > 5000


def test_nodes_of_all_zones(tree):
    """One array of all elements, in which cells with fewer nodes have NaN, as on faces of several shapes; the rest is asked of
    a zone."""
    dim, p = tree.dg.dim, tree.dg.field("p").isel(time=0)
    counts = [ds.sizes["node"] * ds.sizes["element"] for ds in tree.dg.zones.values()]
    assert np.isfinite(p).sum() == np.isfinite(p["x"]).sum() == sum(counts) and np.isnan(p).any()
    assert np.allclose(p, exact([p[axis] for axis in tree.dg.axes])[0], rtol=0, atol=1e-13, equal_nan=True)
    assert np.array_equal(tree.dg.values("p", 0), p, equal_nan=True)
    face = tree.dg.surface("top", 0)          # y = 1 in 2D, z = 1 in 3D, of both shapes
    assert float(face.weight.sum()) == pytest.approx(1, rel=1e-13)
    assert float((face.p * face.weight).sum()) == pytest.approx(1 + 1 / 3 - 1 / 2 if dim == 2 else 2 + 1 / 3 - 1 / 4, rel=1e-13)
    first = next(iter(tree.children))
    with pytest.raises(AttributeError, match=rf"ask a zone: tree.dg.zones\['{first}'\].dg "):
        tree.dg.whole()
    assert not hasattr(tree.dg, "space") and tree.dg.zones[first].dg.whole().dg.space.count


def test_commands_on_stores_of_several_shapes(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    sim = dg.Simulation(dg.rectangle(cells=2, shape="mixed"), dg.Acoustics(2), dg.NodalDG(2), initial=exact, boundary=dg.wall,
                        backend="numpy", kernels="array", until=0.02, record={"mass": dg.VolumeIntegral()})
    tree, store = sim.run(out=tmp_path / "run.zarr", every=0.01), str(tmp_path / "run.zarr")
    for options in (["plot", store, "p", "-o", str(tmp_path / "p.png")], ["export", store],
                    ["plot", store, "p", "--slice", "x=0.5", "-o", str(tmp_path / "s.png")],
                    ["plot", store, "p", "--record", "mass", "-o", str(tmp_path / "m.png")],
                    ["plot", store, "p", "--movie", str(tmp_path / "p.gif")]):
        assert main(options) == 0, capsys.readouterr()
    assert all((tmp_path / name).stat().st_size > 3000 for name in ("p.png", "s.png", "m.png", "p.gif", "run.vtkhdf"))
    assert np.array_equal(tree.dg.record("mass")["p"][[0, -1]].values.shape, (2,))


def test_a_dump_and_a_picture_of_a_problem(tmp_path):
    """A shock far too strong for the scheme: both shapes of cells are near the place."""
    pyvista = pytest.importorskip("pyvista")
    pytest.importorskip("matplotlib")
    sim = dg.Simulation(dg.rectangle(cells=6, shape="mixed"), dg.Euler(2), dg.NodalDG(4), boundary=dg.wall, backend="numpy",
                        kernels="array", initial=lambda x: (1 + 0 * x[0], 0 * x[0], 0 * x[0], np.where(x[0] < 0.5, 100, 1e-2)))
    for suffix in (".vtu", ".png"):
        with np.errstate(all="ignore"), pytest.raises(dg.SolutionError) as caught:
            sim.run(1.0, dump_on_error=tmp_path / f"bad{suffix}")
    dump = pyvista.read(tmp_path / "bad.vtu")
    assert {69, 70} == set(dump.celltypes) and caught.value.element in dump.cell_data["cell_number"][dump.cell_data["bad"] == 1]
    assert dump.n_cells < sim.mesh.cell_count and np.isfinite(dump.point_data["rho"]).all()
    assert (tmp_path / "bad.png").stat().st_size > 5000
    assert sim.plot(path=tmp_path / "problem.png").stat().st_size > 5000


def test_recorders_on_several_shapes():
    """Extrema against the nodes of all zones; nodes that an element does not have are none."""
    records = {"extrema": dg.Extrema(variables=["vx"]), "points": dg.Points([(0.3, 0.4), (0.8, 0.6)])}

    def sim(records):
        return dg.Simulation(dg.rectangle(cells=4, shape="mixed"), dg.Acoustics(2), dg.NodalDG(2), initial=exact,
                             boundary=dg.wall, backend="numpy", kernels="array", record=records)
    tree = sim(records).run(0.01)
    first = tree.dg.record("extrema").isel(time=0)
    nodes = [(ds["vx"].values[0].ravel(), ds["x"].values.ravel(), ds["y"].values.ravel()) for ds in tree.dg.zones.values()]
    values, x, y = map(np.concatenate, zip(*nodes))
    for name, at in ("min", values.argmin()), ("max", values.argmax()):
        assert first[f"vx_{name}"] == values[at]
        assert (first[f"vx_{name}_x"], first[f"vx_{name}_y"]) == pytest.approx((x[at], y[at]), abs=1e-14)
    assert np.allclose(tree.dg.record("points")["p"][0], exact(np.array([(0.3, 0.4), (0.8, 0.6)]).T)[0], rtol=0, atol=1e-13)
    with pytest.raises(ValueError, match="record 'f': a transform of the whole volume is for cells of one shape; give points="):
        sim({"f": dg.Fourier(1.0)}).run(0.01)


@pytest.mark.parametrize("make, order", [(dg.rectangle, 3), (dg.box, 2)])
def test_live_pictures_of_several_shapes(make, order, tmp_path):
    """The values drawn are those of the field at the points of the picture, before and after a step."""
    pytest.importorskip("matplotlib")
    from dgarray.output import Live
    mesh = make(cells=4, shape="mixed")

    def f(x):
        return (x[0] - 2 * x[1] + x[-1] ** 2, *(0 * c for c in x))
    sim = dg.Simulation(mesh, dg.Acoustics(mesh.dim), dg.NodalDG(order), dg.wall, f, backend="numpy", kernels="array")
    live = Live(sim.layout(), "p", tmp_path / "live.png")
    operator = sim.operator
    live.update(operator.fetch(operator.state(sim.project())).result(), 0.0)
    assert (tmp_path / "live.png").stat().st_size > 5000 and live.range is not None
    low, high = (-1.0, 1.0) if mesh.dim == 2 else (-1.75, 1.25)          # in space at z = 0.5; y is the last axis in the plane
    assert live.range[0][:2] == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.01))
    sim.run(until=0.01, live=live)
    live.close()
