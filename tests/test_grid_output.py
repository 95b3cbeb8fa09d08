"""Output of runs on grids: datasets, the Hermite interpolant anywhere, norms, slices, recorders, pictures, files for VTK."""
import json

import numpy as np
import pytest
import xarray as xr
from strict import StrictNamespace

import dgarray as dg
from dgarray.backends.arrays import ArrayBackend
from dgarray.cli import main
from dgarray.mesh import Grid
from dgarray.methods import Hermite
from dgarray.output import GridLayout, Live, Store, grid_post
from dgarray.output.pictures import plot
from dgarray.output.pictures.grid_plot import GridPart
from dgarray.output.store import files
from dgarray.output.vtk.image import Image
from dgarray.physics.taylor import expand
from dgarray.physics.trace import call
from dgarray.spaces import grid_norms
from dgarray.spaces.interpolant import interpolant, on_lattice

pytest.importorskip("matplotlib", exc_type=ImportError).use("agg")
vtk = pytest.importorskip("vtk", exc_type=ImportError)
vtk_to_numpy = pytest.importorskip("vtk.util.numpy_support", exc_type=ImportError).vtk_to_numpy
N = 2
DEGREE = 2 * N + 1
LINES = (0.7, 0.3), (1.2, -0.25), (0.9, 0.4)          # of the factors (a + b x_k)^DEGREE of the field
TIMES = (0.0, 0.5, 1.0)


def grid(dim, periodic=False):
    return Grid((0.0, -1.0, 1.0)[:dim], (2.0, 1.0, 2.0)[:dim], (4, 3, 2)[:dim], periodic)


def field(x, t):
    """u of degree 2N + 1 in each direction, which the interpolant holds exactly, and v, which is constant."""
    u = 1.0 + t
    for (a, b), c in zip(LINES, x):
        u = u * (a + b * c) ** DEGREE
    return u, 3.0 + 0.0 * x[0]


def wave(x, t):
    """u and v on [0, 2] x [-1, 1] x [1, 2], periodic in each direction."""
    u = np.cos(np.pi * (x[0] - t))
    for c in x[1:]:
        u = u * np.sin(2 * np.pi * c)
    return u, 0.5 * u


def state(lattice, function, t, order=N):
    values = expand(function, lattice.places(), lattice.spacing, order, {"t": t}, "field")
    return np.stack([value.reshape((order + 1) ** lattice.dim, -1) for value in values])


def filled(dim, derivatives=True, path=None, function=field, periodic=False, dtype="float64", times=TIMES, order=N):
    lattice = grid(dim, periodic)
    plan = GridLayout(lattice, order, derivatives, ("u", "v"), {"u": "a field"}, {"u": "V", "x": "m"}, {"case": "none", "n": 3})
    with Store(plan, path, dtype) as store:
        for t in times:
            store.append(t, state(lattice, function, t, order)[:, :plan.shape[1]])
        return store.dataset()


def places(dim, count=20, seed=0):
    lattice = grid(dim)
    return np.random.default_rng(seed).uniform(lattice.lower, lattice.upper, (count, dim))


def power_integral(lattice, power):
    """Integral of u^power / (1 + t)^power over the grid."""
    n = DEGREE * power + 1
    return np.prod([((a + b * high) ** n - (a + b * low) ** n) / (b * n)
                    for (a, b), low, high in zip(LINES, lattice.lower, lattice.upper)])


# Datasets and stores


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_dims_coordinates_and_derivatives_are_those_of_the_grid(dim):
    ds, lattice = filled(dim), grid(dim)
    axes = ("x", "y", "z")[:dim]
    assert ds["u"].dims == ("time", *axes[::-1])
    assert ds["u_derivatives"].dims == ("time", "derivative", *axes[::-1])
    for axis, nodes in zip(axes, lattice.axes):
        assert np.array_equal(ds[axis], nodes)
    x = lattice.places()
    assert np.allclose(ds["u"].sel(time=0.5), field(x, 0.5)[0], rtol=1e-14)
    # h^|j| D^j u / j! of the product is a product of binomials.
    for c in range((N + 1) ** dim):
        assert np.array_equal(ds["u_derivatives"][:, 0], ds["u"])
        expected = 1.5
        for axis, (a, b), h, nodes in zip(axes, LINES, lattice.spacing, x):
            j = int(ds[f"derivative_{axis}"][c])
            binomial = np.prod([(DEGREE - i) / (i + 1) for i in range(j)])
            expected = expected * binomial * (b * h) ** j * (a + b * nodes) ** (DEGREE - j)
        assert np.allclose(ds["u_derivatives"].sel(time=0.5).isel(derivative=c), expected, rtol=1e-12, atol=1e-14)


def test_attributes_say_what_grid_it_is_and_what_was_run():
    ds = filled(2, periodic=(True, False))
    assert {name: ds.attrs[name] for name in ("dim", "order", "cell_type", "Conventions", "case", "n")} == {
        "dim": 2, "order": N, "cell_type": "grid", "Conventions": "CF-1.11", "case": "none", "n": 3}
    assert [json.loads(ds.attrs[name]) for name in ("lower", "upper", "cells", "periodic", "fields")] == [
        [0.0, -1.0], [2.0, 1.0], [4, 3], [True, False], ["u", "v"]]
    assert ds.dg.lattice == grid(2, (True, False)) and ds.dg.variables == ("u", "v") and ds.dg.units("u") == "V"
    assert ds["u"].attrs["long_name"] == "a field" and ds["u_derivatives"].attrs["long_name"] == "h^|j| D^j u / j!"
    assert "derivatives" in repr(ds.dg) and "derivatives" not in repr(filled(1, False).dg)


@pytest.mark.parametrize("derivatives", [True, False])
def test_a_store_on_disk_holds_what_memory_holds_and_goes_on(derivatives, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "CHUNK_BYTES", 400)          # several chunks to a snapshot
    disk, memory = filled(3, derivatives, tmp_path / "a.zarr"), filled(3, derivatives)
    assert disk.identical(memory) and disk["u"].chunks[1:] == ((1, 1, 1) if derivatives else (2, 1), (4,), (5,))
    plan, q = disk.dg.lattice, state(grid(3), field, 2.0)
    plan = GridLayout(plan, N, derivatives, ("u", "v"))
    more = Store(plan, tmp_path / "a.zarr", resume={"time": 2})
    more.append(2.0, q[:, :plan.shape[1]])
    assert more.dataset()["time"].values.tolist() == [0.0, 0.5, 2.0]
    assert np.array_equal(more.dataset()["u"][-1], q[0, 0].reshape(grid(3).shape))


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="name 'x' is taken"):
        GridLayout(grid(1), N, False, ("u", "x"))
    with pytest.raises(ValueError, match="name 'u_derivatives' is taken"):
        GridLayout(grid(1), N, True, ("u", "u_derivatives"))
    with pytest.raises(ValueError, match=r"\(variable, coefficient, node\) = \(1, 1, 5\)"):
        Store(GridLayout(grid(1), N, False, ("u",))).append(0.0, np.zeros((1, 3, 5)))
    with pytest.raises(ValueError, match="3 nodes along x, the grid of the run 5"):
        filled(1).isel(x=slice(0, 3)).dg.norm("u")


def test_scipy_writes_the_dataset_as_netcdf(tmp_path):
    filled(2).to_netcdf(tmp_path / "a.nc", engine="scipy")
    with xr.open_dataset(tmp_path / "a.nc", engine="scipy") as back:
        assert back.dg.lattice == grid(2) and back.dg.norm("u") == filled(2).dg.norm("u")
        assert np.array_equal(back.dg.sample(places(2))["u"], filled(2).dg.sample(places(2))["u"])


# The interpolant


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("order", [0, 1, 3])
def test_the_interpolant_at_points_and_on_a_lattice_agree_and_wrap(dim, order):
    lattice, rng = grid(dim, (True, False, True)[:dim]), np.random.default_rng(order)
    c, points = rng.standard_normal(((order + 1) ** dim, *lattice.shape)), places(dim)
    nodes, weights = interpolant(lattice, order, points)
    assert nodes.shape == (20, 2 ** dim) and weights.shape == (20, 2 ** dim, (order + 1) ** dim)
    u = np.einsum("pvc,cpv->p", weights, c.reshape(len(c), -1)[:, nodes])
    everywhere = on_lattice(lattice, order, c, points.T)
    numbers = np.arange(20)
    assert np.allclose(everywhere[(numbers,) * dim], u, rtol=1e-12, atol=1e-12)
    ends = on_lattice(lattice, order, c, [[a, b] for a, b in zip(lattice.lower, lattice.upper)])
    assert np.allclose(ends[..., 0], ends[..., 1])          # periodic in x


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_sample_is_exact_for_polynomials_and_nan_outside(dim, tmp_path, monkeypatch):
    monkeypatch.setattr(grid_post, "KEPT_VALUES", 500)          # several blocks of points
    points = np.vstack([places(dim), [grid(dim).upper], [[9.0] * dim]])
    disk = filled(dim, path=tmp_path / "a.zarr")
    for ds in (disk, filled(dim)):
        out = ds.dg.sample(points)
        assert out["u"].dims == ("time", "point") and np.array_equal(out["x"], points[:, 0])
        assert np.allclose(out["u"][1, :-1], field(points[:-1].T, 0.5)[0], rtol=1e-12, atol=1e-13)
        assert np.allclose(out["v"][:, :-1], 3) and np.isnan(out["u"][:, -1]).all()
        assert ds.dg.sample(points[-1:], time=0)["u"].shape == (1,)
    assert disk.dg.sample(points)["u"].chunks is not None
    single = filled(dim, dtype="float32").dg.sample(points[:-1], -1)["u"]
    assert single.dtype == np.float32 and np.allclose(single, field(points[:-1].T, 1.0)[0], rtol=1e-5)


def test_lines_and_grids_of_points_are_samples():
    ds = filled(2)
    line = ds.dg.line((0, -1), (2, 1), 5, time=1)
    assert np.allclose(line["u"], field((line["x"].values, line["y"].values), 0.5)[0])
    fine = ds.dg.grid((7, 5), time=0.0)
    assert fine["u"].dims == ("y", "x") and float(fine["x"][-1]) == 2.0 and float(fine["y"][0]) == -1.0
    assert np.allclose(fine["u"], field((fine["x"].values, fine["y"].values[:, None]), 0.0)[0])
    beyond = ds.dg.grid(lower=(1.8, 0.5), upper=(2.2, 0.5), shape=(3, 1))["u"]
    assert beyond.shape == (3, 1, 3) and np.isnan(beyond[..., 2]).all()
    assert np.allclose(beyond[1, 0, :2], field((np.array([1.8, 2.0]), 0.5), 0.5)[0])
    with pytest.raises(ValueError, match=r"Hermite\(2, derivatives=True\)"):
        filled(2, False).dg.sample([[0.1, 0.1]])


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_gradient_is_exact(dim):
    ds, x = filled(dim), grid(dim).places()
    out = ds.dg.gradient("u", time=1)
    assert out.dg.variables == tuple(f"du_d{axis}" for axis in ds.dg.axes)
    for k, axis in enumerate(ds.dg.axes):
        a, b = LINES[k]
        expected = field(x, 0.5)[0] * DEGREE * b / (a + b * x[k])
        assert np.allclose(out[f"du_d{axis}"], expected, rtol=1e-12)
    assert out.dg.units("du_dx") == "V/m" and ds.dg.gradient("u")["du_dx"].dims[0] == "time"
    with pytest.raises(ValueError, match="order 0"):
        filled(1, order=0, function=lambda x, t: (x[0], x[0])).dg.gradient("u")


# Norms


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_norm_and_integral_of_polynomials_are_exact(dim, monkeypatch):
    monkeypatch.setattr(grid_norms, "BLOCK_VALUES", 30)          # slabs of one cell
    ds, lattice = filled(dim), grid(dim)
    assert ds.dg.integral("u", 1) == pytest.approx(1.5 * power_integral(lattice, 1), rel=1e-12)
    assert ds.dg.norm("u", 0) == pytest.approx(np.sqrt(power_integral(lattice, 2)), rel=1e-12)
    over_time = ds.dg.norm("u", None)
    assert over_time.dims == ("time",) and float(over_time[2]) == pytest.approx(2 * ds.dg.norm("u", 0), rel=1e-12)


def test_without_derivatives_norms_are_those_of_the_trapezoidal_rule():
    ds = filled(2, False)
    u = ds["u"].values[-1]

    def rule(values):
        return np.trapezoid(np.trapezoid(values, ds["x"].values, axis=1), ds["y"].values)
    assert ds.dg.integral("u") == pytest.approx(rule(u), rel=1e-13)
    assert ds.dg.norm("u") == pytest.approx(np.sqrt(rule(u ** 2)), rel=1e-13)
    glued = filled(2, False, function=wave, periodic=True)          # each node counts once
    assert glued.dg.norm("v", 0) == pytest.approx(0.5 * np.sqrt(np.mean(glued["u"].values[0] ** 2) * 4), rel=1e-13)


def test_error_is_over_the_nodes_and_that_of_the_report():
    ds = filled(2)
    errors = ds.dg.error(lambda x, t: (field(x, t)[0] + 1.0, 0.0), time=1)
    assert errors == pytest.approx({"u": 2.0, "v": 6.0, "total": np.sqrt(40)}, rel=1e-12)
    assert ds.dg.error("u", field) < 1e-12
    with pytest.raises(ValueError, match="it must return 2"):
        ds.dg.error(lambda x, t: (x[0],))
    sim = acoustics()
    sim = sim.replace(exact=lambda x, t: (np.cos(np.pi * x[0]) * np.cos(np.pi * t),
                                          np.sin(np.pi * x[0]) * np.sin(np.pi * t), 0.0))
    assert sim.run().dg.error(sim.options["exact"]) == sim.report["l2_error"]


# Slices


@pytest.mark.parametrize("derivatives", [True, False])
def test_slices_are_datasets_on_grids_of_their_own(derivatives, tmp_path):
    disk, plane = filled(3, derivatives, tmp_path / "a.zarr"), "y=0.3" if derivatives else f"y={1 / 3!r}"
    for ds in (disk, filled(3, derivatives)):
        cut = ds.dg.slice(plane)
        y = float(plane[2:])
        assert cut["u"].dims == ("time", "z", "x") and cut.dg.axes == ("x", "z") and float(cut["y"]) == y
        x, z = cut["x"].values, cut["z"].values[:, None]
        assert np.allclose(cut["u"][1], field((x, y, z), 0.5)[0], rtol=1e-12)
        line = cut.dg.slice("z=1.5", time=0)
        assert line.attrs["plane"] == f"{cut.attrs['plane']}, z=1.5"
        assert np.allclose(line["u"], field((x, y, 1.5), 0.0)[0], rtol=1e-12)
        if derivatives:
            points = places(3)[:, [0, 2]]
            assert np.allclose(cut.dg.sample(points, 0)["u"], field((points[:, 0], y, points[:, 1]), 0)[0], rtol=1e-12)
            assert np.allclose(cut.dg.gradient("u", 0)["du_dz"], field((x, y, z), 0)[0] * DEGREE * 0.4 / (0.9 + 0.4 * z))


def test_planes_that_a_grid_has_not_are_refused():
    with pytest.raises(ValueError, match=r"nodes lie in the planes y=-0.333333, 0.333333, 1"):
        filled(3, False).dg.slice("y=0.4")
    for plane, said in (("y=3", "misses the grid, which has y from -1 to 1"), (((0, 0, 1), (1, 1, 0)), "not across an axis"),
                        ("w=3", "does not exist")):
        with pytest.raises(ValueError, match=said):
            filled(3).dg.slice(plane)
    with pytest.raises(ValueError, match="1D dataset has no slice"):
        filled(1).dg.slice("x=0")


def test_what_is_for_meshes_says_so():
    ds = filled(2)
    for call_it, said in ((ds.dg.cell_mean, "integral"), (ds.dg.to_ugrid, "UGRID"), (lambda: ds.dg.points, "reference cells"),
                          (lambda: ds.dg.surface("top"), r"left is ds.dg.slice\('x=0'\)")):
        with pytest.raises(ValueError, match=said):
            call_it()


# Recorders


def standing(x):
    return np.cos(np.pi * x[0]), 0.0, 0.0


def acoustics(record=None, **more):
    """A standing wave between walls at x = 0 and 2, periodic in y."""
    return dg.Simulation(grid(2, (False, True)), dg.Acoustics(dim=2), Hermite(N, **more), boundary=dg.wall, initial=standing,
                         until=1.0, every=0.5, backend="numpy", kernels="array", record=record)


def test_recorders_on_a_grid(tmp_path):
    points = [(0.3, 0.7), (2.0, 1.0)]
    record = {"r": dg.Points(points), "extrema": dg.Extrema(), "totals": dg.VolumeIntegral(),
              "square": dg.VolumeIntegral(lambda q, x: (q[0] ** 2, x[0])), "left": dg.SurfaceFields("left"),
              "out": dg.BoundaryIntegral(("left", "right")),
              "push": dg.BoundaryIntegral("right", lambda q, n, x: q[0] * n[0] * x[1]), "volume": dg.Fourier((1.0, 2.0)),
              "there": dg.Fourier((1.0,), points=points), "side": dg.Fourier((1.0,), "left")}
    sim = acoustics(record, derivatives=True)
    ds = sim.run(out=tmp_path / "a.zarr")
    assert np.allclose(ds.dg.record("r")["p"][[0, -1]], ds.dg.sample(points)["p"][[0, -1]], rtol=1e-13, atol=1e-15)
    first = ds.dg.record("extrema").isel(time=0)
    assert [float(first[f"p_{name}"]) for name in ("min", "min_x", "min_y", "max", "max_x")] == pytest.approx([-1, 1, -1, 1, 0])
    for when, name in ((0, "initial"), (-1, "final")):
        totals = ds.dg.record("totals").isel(time=when)
        assert {v: float(totals[v]) for v in totals.data_vars} == {v: both[name] for v, both in sim.report["conserved"].items()}
    assert [float(each[0]) for each in ds.dg.record("square").data_vars.values()] == pytest.approx([2.0 * 1.0, 4.0])
    left = ds.dg.record("left")
    assert left["p"].dims == ("time", "y") and float(left["x"]) == 0.0
    assert np.array_equal(left["p"][-1], ds["p"].isel(time=-1, x=0))
    out = ds.dg.record("out")          # the flux of momentum is p n: both walls' cancels, that of p vanishes at walls
    assert abs(out.to_array()).max() < 1e-13
    y = ds["y"].values
    assert float(ds.dg.record("push").to_array()[0, 0]) == pytest.approx(np.sum(y) * 2 / 3)
    rows, there = ds.dg.record("r"), ds.dg.record("there")
    assert there["p"].dims == ("frequency", "point")
    waves = np.trapezoid(rows["p"].values * np.exp(-2j * np.pi * rows["time"].values[:, None]), rows["time"].values, axis=0)
    assert np.allclose(there["p"][0], waves)
    volume = ds.dg.record("volume")
    assert volume["p"].dims == ("frequency", "y", "x") and volume.dg.lattice == ds.dg.lattice
    assert np.allclose(volume["p"][0, :, 0], ds.dg.record("side")["p"][0])
    assert volume.dg.norm("p", None).shape == (2,)


@pytest.mark.parametrize("recorder", [
    dg.Points([(0.3, 0.7)]), dg.Extrema(), dg.VolumeIntegral(), dg.SurfaceFields("right"), dg.BoundaryIntegral("left"),
    dg.Fourier((1.0,))], ids=lambda recorder: type(recorder).__name__)
def test_recorders_copy_to_the_host_explicitly(recorder):
    """The same on arrays that, like CuPy's, are never converted by themselves."""
    plain = acoustics().operator
    strict = plain.on(ArrayBackend(StrictNamespace(), "float64", "strict"))
    first = plain.project(standing)
    there, here = (list(recorder.attach("r", operator).measure(operator.state(first), 0.0)) for operator in (strict, plain))
    np.testing.assert_array_equal(there, here)


@pytest.mark.parametrize("recorder, said", [
    (dg.Points([(0.1, 0.1), (5.0, 0.1)]), r"point 1 at \(5, 0.1\) is outside the grid; the grid lies between \(0, -1\) and"),
    (dg.SurfaceFields("lef"), "'lef' does not exist on the grid"), (dg.SurfaceFields(("left", "right")), "several sides"),
    (dg.VolumeIntegral(degree=3), "degree=3 is for meshes"), (dg.BoundaryIntegral("bottom"), "'bottom' does not exist"),
    (dg.BoundaryIntegral("left", degree=2), "degree=2 is for meshes")])
def test_recorders_refuse_what_a_grid_has_not(recorder, said):
    with pytest.raises(ValueError, match=said):
        acoustics({"r": recorder}).run()


def test_a_record_may_not_be_called_as_what_the_dataset_keeps():
    with pytest.raises(ValueError, match="derivative"):
        acoustics({"derivative": dg.Extrema()})


# Pictures


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("derivatives", [True, False])
def test_pictures_show_the_interpolant_or_the_nodes(dim, derivatives):
    picture = plot.flat_picture(filled(dim, derivatives), "u", mesh=True)
    values = picture.read(1)
    x = np.meshgrid(*picture.ticks[::-1], indexing="ij")[::-1]
    assert values.shape == tuple(len(ticks) for ticks in picture.ticks[::-1])
    assert (len(picture.ticks[0]) > 5) == derivatives
    assert np.allclose(values, field(x, 0.5)[0], rtol=1e-12)
    picture.show(values, 0.5)
    shown = picture.artist.get_ydata() if dim == 1 else picture.artist.get_array()
    assert np.array_equal(shown, values) and "t = 0.5" in picture.ax.get_title()
    assert picture.ax.get_xlim() == (0.0, 2.0)


def test_a_periodic_picture_is_closed():
    values = plot.flat_picture(filled(2, False, function=wave, periodic=True), "u").read(0)
    assert values.shape == (4, 5) and np.array_equal(values[0], values[-1]) and np.array_equal(values[:, 0], values[:, -1])


@pytest.mark.parametrize("derivatives", [True, False])
def test_slices_in_space_show_the_interpolant(derivatives):
    ds = filled(3, derivatives)
    part = GridPart(ds.dg.slice("y=0.3" if derivatives else "y=1.0"))
    corners = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.25, 0.25]])
    x, values = part.place(corners), part.read("u", 0)
    assert x.shape == (part.count, 4, 3) == (16, 4, 3)
    a, b, c = np.moveaxis(x[:, :3], 1, 0)
    assert np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2 == pytest.approx(2.0)          # of the plane
    assert x[:, :3].mean(axis=(0, 1)) == pytest.approx([1.0, 0.3 if derivatives else 1.0, 1.5])
    good = slice(None) if derivatives else slice(0, 3)          # bilinear between the nodes
    assert np.allclose(values[:, good], field(np.moveaxis(x, -1, 0), 0.0)[0][:, good], rtol=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_live_pictures_renew_the_values_at_the_nodes(dim, tmp_path):
    plan = GridLayout(grid(dim), N, True, ("u", "v"))
    live = Live(plan, "u", tmp_path / "u.png")
    live.update(state(grid(dim), field, 1.0), 1.0)
    shown = live.picture.artist.get_ydata() if dim == 1 else live.picture.artist.get_array()
    expected = filled(dim, False)["u"][-1]
    assert np.array_equal(shown, expected if dim < 3 else expected.sel(z=1.5)) and (tmp_path / "u.png").stat().st_size > 1000


# Files


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("suffix", [".vtkhdf", ".vti"])
def test_vtk_reads_the_image(dim, suffix, tmp_path):
    ds = filled(dim, False, function=wave, periodic=(True, False, True)[:dim])
    ds["still"] = 2 * ds["u"].isel(time=0, drop=True)
    path = ds.dg.to_vtk(tmp_path / f"a{suffix}")
    reader = vtk.vtkHDFReader() if suffix == ".vtkhdf" else vtk.vtkXMLImageDataReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    lattice = ds.dg.lattice
    for t in TIMES if suffix == ".vtkhdf" else TIMES[-1:]:
        reader.UpdateTimeStep(t) if suffix == ".vtkhdf" else reader.Update()
        image = reader.GetOutputDataObject(0)
        axes = [a + h * np.arange(n + 1) for a, h, n in zip(lattice.lower, lattice.spacing, lattice.cells)]
        x = np.meshgrid(*axes[::-1], indexing="ij")[::-1]
        data = image.GetPointData()
        assert np.allclose(vtk_to_numpy(data.GetArray("u")), call(wave, {"x": x, "t": t}, "f")[0].ravel(), atol=1e-14)
        assert np.allclose(vtk_to_numpy(data.GetArray("still")), 2 * wave(x, 0.0)[0].ravel(), atol=1e-14)
        assert image.GetBounds()[:2 * dim] == pytest.approx([b for pair in zip(lattice.lower, lattice.upper) for b in pair])
        units = image.GetFieldData().GetAbstractArray("units")
        assert [units.GetValue(n) for n in range(3)] == ["V", "normalised", "V"]


@pytest.mark.parametrize("part", [lambda ds: ds.isel(time=[1]), lambda ds: ds.isel(time=1),
                                  lambda ds: ds.isel(time=1, drop=True)])
def test_vtk_reads_a_single_snapshot(part, tmp_path):
    ds = part(filled(3, False))
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(ds.dg.to_vtk(tmp_path / "a.vtkhdf")))
    reader.Update()
    image = reader.GetOutputDataObject(0)
    assert np.array_equal(vtk_to_numpy(image.GetPointData().GetArray("u")), ds["u"].values.ravel())
    assert "time" not in ds.coords or image.GetFieldData().GetArray("TimeValue").GetValue(0) == 0.5
    assert Image(ds).extent == [0, 4, 0, 3, 0, 2]


@pytest.mark.parametrize("name", ["bad.vti", "bad.png"])
def test_a_run_that_goes_bad_is_dumped(name, tmp_path):
    with pytest.warns(UserWarning, match="unstable"):
        sim = dg.Simulation(grid(2, True), dg.Acoustics(dim=2), Hermite(N, force=True), until=1e3, cfl=2.9, dtype="float32",
                            initial=lambda x: (np.sin(np.pi * x[0]), 0, 0), backend="numpy", kernels="array")
    with np.errstate(all="ignore"), pytest.raises(dg.SolutionError, match=f"see .*{name}") as error:
        sim.run(dump_on_error=tmp_path / name)
    if name == "bad.vti":
        reader = vtk.vtkXMLImageDataReader()
        reader.SetFileName(str(tmp_path / name))
        reader.Update()
        image, last = reader.GetOutputDataObject(0), error.value.dataset["p"][-1].values
        p = vtk_to_numpy(image.GetPointData().GetArray("p")).reshape(4, 5)
        assert np.isfinite(p).all() and np.array_equal(p[:3, :4], last)
        assert vtk_to_numpy(image.GetPointData().GetArray("bad")).any()
    else:
        assert (tmp_path / name).stat().st_size > 1000
    with pytest.raises(ValueError, match="allowed: .vti, .png"):
        sim.run(dump_on_error=tmp_path / "bad.vtu")


SCRIPT = """
import numpy as np
import dgarray as dg
from dgarray.mesh import Grid
from dgarray.methods import Hermite

def case():
    return dg.Simulation(Grid((0, 0), (1, 1), (4, 4), True), dg.Acoustics(dim=2), Hermite(1, derivatives=True),
                         initial=lambda x: (np.sin(2 * np.pi * x[0]), 0.0, 0.0), until=0.5, every=0.25)
"""


@pytest.mark.thorough
def test_a_run_on_a_grid_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "waves.py"
    script.write_text(SCRIPT)
    options = ["--backend", "numpy", "--kernels", "array", "--probe", "0.1,0.2", "--quiet"]
    assert main(["run", "waves.py", "--out", "a.zarr", "--live", "live.png", *options]) == 0
    assert main(["run", "waves.py", "--out", "b.zarr", "--until", "0.25", *options]) == 0
    assert main(["run", "waves.py", "--restart", "b.zarr", *options]) == 0
    a, b = xr.open_zarr("a.zarr"), xr.open_zarr("b.zarr")
    assert a.equals(b) and a.sizes["time"] == 3
    assert main(["info", "a.zarr"]) == 0 and "p_derivatives" in capsys.readouterr().out
    assert main(["plot", "a.zarr", "p", "--mesh", "--isolines", "-1,1,5"]) == 0
    assert main(["plot", "a.zarr", "p", "--movie", "p.gif"]) == 0
    assert main(["plot", "a.zarr", "p", "--record", "probes", "-o", "r.png"]) == 0
    assert main(["export", "a.zarr"]) == 0
    assert {"live.png", "p.png", "p.gif", "r.png", "a.vtkhdf"} <= {path.name for path in tmp_path.iterdir()}
    capsys.readouterr()
    assert main(["export", "a.zarr", "-o", "a.vtu"]) == 2 and ".vti (one)" in capsys.readouterr().err
