"""The run's result: datasets, zarr stores that survive a kill, norms, point values and pictures."""
import itertools
import json
import os
import signal
import time
import warnings
from math import factorial

import numpy as np
import pytest
import xarray as xr
from scipy.spatial import Delaunay

from dgarray.mesh.locate import Locator
from dgarray.output import Layout, Store, verify
from dgarray.output.dataset import plain
from dgarray.output.store import files as files_module
from dgarray.reference.simplex import simplex
from dgarray.spaces import norms


def mesh(dim, count, seed=0, stretch=1.0):
    """Points and cells of [0, stretch] x [0, 1]^(dim - 1): Delaunay cells of random points, slivers included."""
    rng = np.random.default_rng(seed)
    if dim == 1:
        points = np.concatenate([[0.0, 1.0], rng.random(count)])[:, None]
        rank = np.argsort(points[:, 0])
        return points * stretch, rng.permutation(np.column_stack([rank[:-1], rank[1:]]))
    corners = np.array(list(itertools.product((0.0, 1.0), repeat=dim)))
    points = np.vstack([corners, rng.random((count, dim))])
    cells = Delaunay(points).simplices.astype("int64")
    points[:, 0] *= stretch
    return points, cells


def layout(dim=2, order=3, count=12, variables=("a", "b"), points=None, cells=None, **more):
    if points is None:
        points, cells = mesh(dim, count)
    return Layout(dim, order, points, cells, np.arange(len(cells))[::-1], variables, **more)


def polynomial(degree, x, seed=1):
    """A polynomial of total degree `degree` with random coefficients at x (..., dim)."""
    x = np.asarray(x)
    powers = [e for e in itertools.product(range(degree + 1), repeat=x.shape[-1]) if sum(e) <= degree]
    rng = np.random.default_rng(seed)
    return sum(c * np.prod(x ** np.array(e), axis=-1) for c, e in zip(rng.standard_normal(len(powers)), powers))


def filled(plan, function, times=(0.0,), path=None, dtype="float64", compress=None):
    """A store of function(x, t) (variable, ...) with x (element, node, dim)."""
    x = np.stack(plan.coordinates(), axis=-1)
    store = Store(plan, path, dtype, compress=compress)
    for t in times:
        store.append(t, np.stack([np.broadcast_to(u, x.shape[:2]).T for u in function(x, t)]))
    return store


# Quadrature and norms


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("degree", [0, 1, 6, 13, 19, 20, 24])
def test_quadrature_is_exact_and_positive(dim, degree):
    points, weights = norms.quadrature(dim, degree)
    assert points.shape == (len(weights), dim)
    assert weights.min() > 0
    unit = (points + 1) / 2
    for powers in itertools.product(range(degree + 1), repeat=dim):
        if sum(powers) == degree:
            exact = np.prod([float(factorial(k)) for k in powers]) / factorial(degree + dim) * 2**dim
            assert weights @ np.prod(unit ** np.array(powers), axis=1) == pytest.approx(exact, rel=1e-11)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_jacobians_measure_the_domain(dim):
    points, cells = mesh(dim, 30, stretch=3.0)
    assert norms.jacobians(points, cells).sum() * simplex(dim, 1).volume == pytest.approx(3.0, rel=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_norm_and_integral_of_polynomials_are_exact(dim, monkeypatch):
    monkeypatch.setattr(norms, "BLOCK_VALUES", 64)
    ds = filled(layout(dim, 3), lambda x, t: (x[..., 0] ** 3, 2 + 0 * x[..., 0])).dataset()
    assert ds.dg.integral("a") == pytest.approx(1 / 4, rel=1e-12)
    assert ds.dg.norm("a") == pytest.approx(np.sqrt(1 / 7), rel=1e-12)
    assert ds.dg.norm("b", time=0) == pytest.approx(2, rel=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_error_against_another_polynomial_is_the_exact_norm(dim, monkeypatch):
    """u - v with v of degree order + 2 has a square that the quadrature still integrates exactly."""
    monkeypatch.setattr(norms, "BLOCK_VALUES", 512)
    ds = filled(layout(dim, 2), lambda x, t: (x[..., 0], t + 0 * x[..., 0]), times=(0.0, 0.5)).dataset()

    def exact(x, t):
        return x[0] + x[0] ** 4, 0.0

    errors = ds.dg.error(exact)
    assert errors["a"] == pytest.approx(1 / 3, rel=1e-11)
    assert errors["b"] == pytest.approx(0.5, rel=1e-12)
    assert errors["total"] == pytest.approx(np.hypot(1 / 3, 0.5), rel=1e-11)
    assert ds.dg.error("b", exact, time=0.0) == pytest.approx(0, abs=1e-14)
    assert ds.dg.error("b", exact, time=0.5) == errors["b"]


def test_error_names_a_wrong_number_of_components():
    ds = filled(layout(), lambda x, t: (0, 0)).dataset()
    with pytest.raises(ValueError, match="1 component; it must return 2, one for each variable"):
        ds.dg.error(lambda x, t: x[0])
    with pytest.raises(ValueError, match="must be a function"):
        ds.dg.error("a")


def test_norm_over_time_is_labelled():
    ds = filled(layout(), lambda x, t: (t, 1), times=(0.0, 1.0, 3.0)).dataset()
    xr.testing.assert_allclose(ds.dg.norm("a", time=None), xr.DataArray([0.0, 1.0, 3.0], ds.a.time.coords, name="a"))
    assert ds.dg.integral("a", time=None).values == pytest.approx([0, 1, 3])


# Point values


@pytest.mark.parametrize("dim, order", [(1, 1), (1, 7), (2, 1), (2, 5), (2, 8), (3, 1), (3, 4), (3, 6)])
def test_sample_is_exact_for_polynomials_of_the_degree(dim, order):
    plan = layout(dim, order, count=25)
    ds = filled(plan, lambda x, t: (polynomial(order, x), t * polynomial(order, x, 2)), times=(0.0, 2.0)).dataset()
    rng = np.random.default_rng(5)
    corners = plan.points[plan.cells]
    points = np.vstack([rng.random((500, dim)), plan.points, corners.mean(axis=1), corners[:, :2].mean(axis=1),
                        corners[:, 1:].mean(axis=1)])
    found = ds.dg.sample(points)
    scale = np.abs(ds.a).max().item()
    assert found.a.dims == ("time", "point")
    assert np.abs(found.a.values - polynomial(order, points)).max() < 2e-12 * scale
    last = ds.dg.sample(points, time=-1)
    assert last.b.dims == ("point",)
    assert float(last.time) == 2.0
    assert np.abs(last.b.values - 2 * polynomial(order, points, 2)).max() < 1e-11 * scale
    assert (found.element >= 0).all()
    assert np.array_equal(found.x, points[:, 0])


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_sample_outside_is_nan(dim):
    ds = filled(layout(dim), lambda x, t: (1, 2)).dataset()
    points = np.full((6, dim), 0.5)
    points[1, 0], points[2, -1], points[3, 0], points[4, 0] = -1e-6, 1 + 1e-6, np.nan, np.inf
    found = ds.dg.sample(points, time=0)
    assert np.array_equal(np.isnan(found.a), [False, True, True, True, True, False])
    assert np.array_equal(found.element < 0, np.isnan(found.b))


def test_sample_of_a_point_on_a_face_is_one_of_the_two_values():
    points, cells = mesh(2, 10)
    own_number = np.arange(len(cells))[:, None]
    ds = filled(layout(points=points, cells=cells), lambda x, t: (own_number, 0)).dataset()
    sides = points[cells][:, :2]
    for weight in (0.1, 0.3, 0.77):
        on_face = sides[:, 0] * weight + sides[:, 1] * (1 - weight)
        found = ds.dg.sample(on_face, time=0)
        shared = (np.isin(cells[found.element.values], cells[:, :2]).sum(axis=1) >= 2)
        assert shared.all()
        assert np.allclose(found.a, found.element)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_locator_finds_points_in_graded_stretched_and_distant_meshes(dim):
    """Cells of sizes from 1e-9 to 1, aspect ratios of thousands and coordinates far from the origin: all found."""
    points, cells = mesh(dim, 60, seed=3)
    shapes = {"graded": points**6 + 1e-9 * points, "stretched": points * ([1e4] + [1] * (dim - 1)), "far": points + 1e6}
    rng = np.random.default_rng(0)
    for moved in shapes.values():
        measures = norms.jacobians(moved, cells)
        whole = cells[measures > 1e-9 * np.median(measures)] if dim > 1 else cells
        corners = moved[whole]
        weights = rng.dirichlet(np.ones(dim + 1), (len(whole), 5))
        targets = np.einsum("kpi,kid->kpd", weights, corners)
        element, reference = Locator(moved, whole).find(targets.reshape(-1, dim))
        assert (element >= 0).all()
        barycentric = simplex(dim, 1).barycentric(reference)
        assert barycentric.min() > -1e-6
        back = np.einsum("pi,pid->pd", barycentric, corners[element])
        assert np.allclose(back, targets.reshape(-1, dim), rtol=1e-9, atol=1e-9 * np.ptp(moved))


def test_sample_refuses_wrong_shapes():
    ds = filled(layout(2), lambda x, t: (0, 0)).dataset()
    for bad in (np.zeros(2), np.zeros((4, 3)), 0.5):
        with pytest.raises(ValueError, match=r"it must be \(point, 2\)"):
            ds.dg.sample(bad)


# The dataset


def test_dataset_is_labelled():
    plan = layout(3, 2, variables=("Ex", "Ez"), attrs={"case": "cavity"},
                  long_names={"Ez": "electric field, z"}, units={"Ez": "V/m", "time": "s"},
                  regions={"core": np.arange(5), "all of it": np.arange(20)},
                  boundaries={"walls": np.array([[3, 1], [0, 2]]), "port": np.array([[3, 1], [5, 0]])})
    ds = filled(plan, lambda x, t: (x[..., 0], x[..., 1]), times=(0.0, 0.5)).dataset()
    assert ds.Ez.dims == ("time", "element", "node")
    assert ds.Ez.attrs == {"long_name": "electric field, z", "units": "V/m", "mesh": "mesh", "location": "volume"}
    assert ds.Ex.attrs["units"] == "normalised"
    assert ds.time.attrs["units"] == "s"
    assert np.array_equal(ds.Ex[1], ds.x)
    assert np.array_equal(ds.Ez[0], ds.y)
    assert np.array_equal(ds.cell_number, np.arange(len(plan.cells))[::-1])
    assert ds.attrs["case"] == "cavity"
    assert (ds.attrs["dim"], ds.attrs["order"], ds.attrs["cell_type"]) == (3, 2, "tetra")
    topology = ds.mesh.attrs
    assert (topology["cf_role"], topology["topology_dimension"]) == ("mesh_topology", 3)
    assert [name in ds for name in topology["node_coordinates"].split()] == [True] * 3
    assert ds[topology["volume_node_connectivity"]].attrs["cf_role"] == "volume_node_connectivity"
    assert np.array_equal(ds[topology["volume_node_connectivity"]], plan.cells)
    meanings = dict(zip(ds.region.attrs["flag_values"], ds.region.attrs["flag_meanings"].split()))
    assert [meanings[ds.region.values[cell]] for cell in (0, 10, 30)] == ["core+all_of_it", "all_of_it", "none"]
    names = ds.boundary.attrs["flag_meanings"].split()
    found = {tuple(face): names[flag] for face, flag in zip(ds.boundary_faces.values.tolist(), ds.boundary.values)}
    assert found == {(0, 2): "walls", (3, 1): "walls+port", (5, 0): "port"}


@pytest.mark.parametrize("dim, place", [(1, "edge"), (2, "face"), (3, "volume")])
def test_topology_names_the_entity_of_each_dimension(dim, place):
    ds = filled(layout(dim), lambda x, t: (0, 0)).dataset()
    assert ds.a.attrs["location"] == place
    assert ds.mesh.attrs[f"{place}_dimension"] == "element"
    assert ds[f"mesh_{place}_nodes"].attrs["start_index"] == 0


def test_attributes_survive_the_store(tmp_path):
    inputs = {"cfl": 1.0, "steps": np.int64(3), "flag": True, "off": np.bool_(False), "none": None, "name": "t\u00e9st",
              "alpha": np.float32(0.5), "nested": {"eps": [1, 2.5, None, True], "f": np.sin}, "list": (1, 2),
              "array": np.eye(2), "infinite": np.inf, "boundary": np.sin}
    plan = layout(attrs=inputs)
    Store(plan, tmp_path / "a.zarr")
    attrs = xr.open_zarr(tmp_path / "a.zarr").attrs
    assert attrs == Store(plan).dataset().attrs
    assert attrs["flag"] is True
    assert attrs["off"] is False
    assert attrs["none"] is None
    assert (attrs["cfl"], attrs["steps"], attrs["alpha"], attrs["name"]) == (1.0, 3, 0.5, "t\u00e9st")
    assert json.loads(attrs["nested"]) == {"eps": [1, 2.5, None, True], "f": "sin"}
    assert json.loads(attrs["array"]) == [[1, 0], [0, 1]]
    assert (attrs["infinite"], attrs["boundary"], attrs["list"]) == ("inf", "sin", "[1, 2]")
    assert plain(np.array(2)) == 2


def test_layout_refuses_what_does_not_fit():
    points, cells = mesh(2, 5)
    with pytest.raises(ValueError, match=r"cells has the shape .* it must be \(any, 3\)"):
        Layout(2, 1, points, cells[:, :2], np.arange(len(cells)), ("a",))
    with pytest.raises(ValueError, match="numbers has the shape"):
        Layout(2, 1, points, cells, np.arange(3), ("a",))
    with pytest.raises(ValueError, match="variable name 'x' is taken"):
        layout(variables=("u", "x"))
    with pytest.raises(ValueError, match="each once"):
        layout(variables=("u", "u"))


# The store


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_store_on_disk_equals_the_one_in_memory(dim, dtype, tmp_path, monkeypatch):
    monkeypatch.setattr(files_module, "CHUNK_BYTES", 1000)
    monkeypatch.setattr(files_module, "TIME_CHUNK", 2)
    plan = layout(dim, attrs={"number": 1}, regions={"r": np.arange(3)}, boundaries={"none": np.empty((0, 2), int)})
    arguments = plan, lambda x, t: (polynomial(3, x), t + x[..., 0]), (0.0, 0.1, 0.2, 0.3, 1.0)
    memory, disk = filled(*arguments, dtype=dtype), filled(*arguments, path=tmp_path / "run.zarr", dtype=dtype)
    kept = memory.dataset()
    assert kept.a.dtype == dtype
    assert len(list((tmp_path / "run.zarr" / "a" / "c" / "0").iterdir())) > 1 or dim == 1
    for consolidated in (None, True, False):
        xr.testing.assert_identical(xr.open_zarr(tmp_path / "run.zarr", consolidated=consolidated).load(), kept)
    xr.testing.assert_identical(disk.dataset().load(), kept)
    assert list(disk.dataset().data_vars) == list(kept.data_vars)
    assert disk.dataset().dg.variables == ("a", "b")
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.zarr"]


def test_an_empty_store_reads_as_no_snapshots(tmp_path):
    disk, memory = Store(layout(), tmp_path / "run.zarr"), Store(layout())
    xr.testing.assert_identical(disk.dataset().load(), memory.dataset())
    assert disk.dataset().sizes["time"] == 0
    with pytest.raises(ValueError, match="no snapshot yet"):
        memory.dataset().dg.norm("a")


def test_the_dataset_in_memory_goes_on_growing():
    store = filled(layout(), lambda x, t: (t, 0), times=(0.0,))
    first = store.dataset()
    store.append(1.0, np.ones(store.layout.shape))
    assert first.sizes["time"] == 1
    assert store.dataset().dg.norm("a", time=None).values == pytest.approx([0, 1])


def test_append_refuses_what_does_not_fit(tmp_path):
    store = filled(layout(), lambda x, t: (0, 0), times=(0.0, 1.0), path=tmp_path / "run.zarr")
    good = np.zeros(store.layout.shape)
    with pytest.raises(ValueError, match="it must be .variable, node, element. ="):
        store.append(2.0, good[:, :-1])
    for t in (1.0, 0.5, np.nan):
        with pytest.raises(ValueError, match="later than the last snapshot, t = 1.0"):
            store.append(t, good)
    store.close()
    with pytest.raises(ValueError, match="closed"):
        store.append(2.0, good)
    with pytest.raises(ValueError, match="allowed: float64, float32"):
        Store(layout(), dtype="int32")


def test_an_existing_path_is_refused_unless_overwritten(tmp_path, monkeypatch):
    path = tmp_path / "run.zarr"
    filled(layout(), lambda x, t: (0, 0), times=(0.0, 1.0), path=path)
    with pytest.raises(ValueError, match="exists; .*overwrite=True"):
        Store(layout(), path)
    assert xr.open_zarr(path).sizes["time"] == 2
    with monkeypatch.context() as patch:          # killed while it is replaced: gone as a whole, and made anew
        patch.setattr("os.unlink", lambda *a, **k: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            Store(layout(), path, overwrite=True)
    assert not path.exists()
    assert Store(layout(), path).dataset().sizes["time"] == 0 and os.listdir(path.parent) == [path.name]
    assert Store(layout(), path, overwrite=True).dataset().sizes["time"] == 0 and os.listdir(path.parent) == [path.name]
    precious = tmp_path / "notes"
    precious.mkdir()
    (precious / "thesis.tex").write_text("x")
    with pytest.raises(ValueError, match="not a zarr store; it is not replaced"):
        Store(layout(), precious, overwrite=True)
    assert (precious / "thesis.tex").exists()


@pytest.mark.thorough
@pytest.mark.parametrize("compress", [None, "zstd"])
def test_a_store_interrupted_at_any_write_reads_as_the_snapshots_before(compress, tmp_path, monkeypatch):
    """An append is stopped after each of its file operations, a write half done; readers see whole snapshots only."""
    monkeypatch.setattr(files_module, "TIME_CHUNK", 2)
    write, rename = files_module.write, os.replace
    plan = layout()
    for when in range(100):
        path = tmp_path / f"{when}.zarr"
        store = filled(plan, lambda x, t: (t, x[..., 0]), times=(0.0, 1.0, 2.0), path=path, compress=compress)
        operations = itertools.count()

        def write_half(file, pieces, count=operations, when=when):
            if next(count) == when:
                write(file, [memoryview(pieces[0])[:len(pieces[0]) // 2]])
                raise KeyboardInterrupt
            write(file, pieces)

        def stop_after_rename(old, new, count=operations, when=when):
            rename(old, new)
            if next(count) == when:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(files_module, "write", write_half)
            patch.setattr(os, "replace", stop_after_rename)
            try:
                store.append(3.0, np.full(plan.shape, 3.0))
            except KeyboardInterrupt:
                finished = False
            else:
                finished = True
        assert not verify(path).damaged
        ds = xr.open_zarr(path).load()
        assert ds.sizes["time"] in ((4,) if finished else (3, 4))
        assert np.array_equal(ds.time, np.arange(ds.sizes["time"]))
        assert np.array_equal(ds.a[:, 0, 0], ds.time)
        assert np.isfinite(ds.b).all()
        if finished:
            break
        if ds.sizes["time"] == 3:
            store.append(3.5, np.zeros(plan.shape))
            assert np.array_equal(store.dataset().time, [0, 1, 2, 3.5])
    assert finished
    assert when > 8


def forked_writer(path):
    """A process that appends to a store for ever, once three steps are there; its number."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")          # of forking with idle threads
        process = os.fork()
    if not process:
        try:
            points, cells = np.random.default_rng(0).random((3000, 2)), np.arange(3000).reshape(-1, 3)
            store = Store(Layout(2, 2, points, cells, np.arange(1000), ("a", "b", "c")), path)
            for number in itertools.count():
                store.append(number, np.full(store.layout.shape, number))
                if number == 2:
                    os.write(writing, b"!")
        finally:
            os._exit(1)
    os.close(writing)
    assert os.read(reading, 1) == b"!"
    os.close(reading)
    return process


def test_a_killed_process_leaves_a_readable_store(tmp_path):
    rng = np.random.default_rng()
    for number in range(10):
        path = tmp_path / f"{number}.zarr"
        writer = forked_writer(path)
        time.sleep(rng.uniform(0, 0.1))
        os.kill(writer, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(writer, 0)[1]) == -signal.SIGKILL
        ds = xr.open_zarr(path).load()
        assert ds.sizes["time"] >= 3
        assert np.array_equal(ds.time, np.arange(ds.sizes["time"]))
        for name in "abc":
            assert (ds[name] == ds.time).all()


# The accessor


def test_misspelt_names_and_times_are_answered():
    ds = filled(layout(variables=("Hx", "Ez")), lambda x, t: (t, 0), times=(0.0, 0.25, 0.5)).dataset()
    with pytest.raises(ValueError, match="variable 'Ezz' does not exist in the dataset; it has: Hx, Ez .did you mean 'Ez'"):
        ds.dg.norm("Ezz")
    with pytest.raises(ValueError, match="variable 'mesh' does not exist in the dataset"):
        ds.dg.plot("mesh")
    with pytest.raises(ValueError, match="time 2 is not in the dataset; it has t = 0 to 0.5"):
        ds.dg.norm("Hx", time=2.0)
    with pytest.raises(ValueError, match="time index 3 .* allowed: -3 to 2"):
        ds.dg.norm("Hx", time=3)
    assert ds.dg.norm("Hx", time=0.3) == pytest.approx(0.25)
    assert ds.dg.norm("Hx", time=-2) == pytest.approx(0.25)


def test_the_accessor_serves_parts_of_a_dataset_and_added_fields():
    ds = filled(layout(), lambda x, t: (1 + t, x[..., 0]), times=(0.0, 1.0)).dataset()
    ds["square"] = ds.a**2
    assert ds.dg.variables == ("a", "b", "square")
    assert ds.dg.norm("square") == pytest.approx(4)
    one, bare = ds.isel(time=0), ds.isel(time=0, drop=True)
    assert one.dg.norm("a") == one.dg.norm("a", 0.0) == bare.dg.norm("a") == bare.dg.norm("a", 0) == pytest.approx(1)
    for each in (one, bare, ds.assign(a=one.a.drop_vars("time"))):
        for call in (each.dg.norm, each.dg.integral, each.dg.values, each.dg.cell_mean, each.dg.gradient):
            with pytest.raises(ValueError, match="time 1.5 is not in the dataset; it has t = 0|has no coordinate time"):
                call("a", time=1.5)
            with pytest.raises(ValueError, match="time index 2 is not in the dataset"):
                call("a", time=2)
        with pytest.raises(ValueError, match="time 1.5 is not in the dataset; it has t = 0|has no coordinate time"):
            each.dg.slice("x=0.5", time=1.5)
    part = ds.isel(element=slice(0, 3), time=-1)
    assert part.dg.integral("a") == pytest.approx(2 * part.dg.jacobians.sum() * 2)
    assert part.dg.sample(np.zeros((1, 2)) + 0.5).sizes == {"point": 1}
    with pytest.raises(ValueError, match="no attribute 'dim'"):
        xr.Dataset().dg  # noqa: B018
    assert "polynomials of degree 3" in repr(ds.dg)


@pytest.mark.parametrize("engine", ["scipy", "netcdf4"])
def test_netcdf_files_give_the_dataset_back(engine, tmp_path):
    if engine == "netcdf4":
        pytest.importorskip("netCDF4")
    ds = filled(layout(), lambda x, t: (1 + t, x[..., 0]), times=(0.0, 1.0)).dataset()
    ds.to_netcdf(tmp_path / "a.nc", engine=engine)
    with xr.open_dataset(tmp_path / "a.nc", engine=engine) as again:
        assert again.dg.variables == ("a", "b")
        assert again.dg.norm("b") == ds.dg.norm("b")
        assert again.dg.slice("x=0.5").dg.norm("b") == ds.dg.slice("x=0.5").dg.norm("b")


def test_stores_that_name_the_variables_as_before_are_read():
    ds = filled(layout(variables=("b", "a")), lambda x, t: (1 + t, x[..., 0])).dataset()
    old = ds.assign_attrs(variables=ds.attrs["fields"])
    del old.attrs["fields"]
    assert old[["a", "b", *(name for name in ds.variables if name not in "ab")]].dg.variables == ("b", "a")
    assert old.dg.error(lambda x, t: (0.0, 0.0)) == ds.dg.error(lambda x, t: (0.0, 0.0))
    assert old.dg.gradient("a").dg.variables == ("da_dx", "da_dy")
