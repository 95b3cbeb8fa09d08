"""Pictures, movies, live pictures and curves of records: what they show, and what they refuse."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import dgarray as dg
from dgarray.cli import main
from dgarray.output import Layout, Store
from dgarray.output.pictures import colour_range, live, movie, picture, plot, record_curves as curves, volume
from dgarray.output.pictures.live import Live

pytest.importorskip("matplotlib", exc_type=ImportError).use("agg")
ContourSet = pytest.importorskip("matplotlib.contour", exc_type=ImportError).ContourSet
iio = pytest.importorskip("imageio.v3", exc_type=ImportError)
TIMES = (0.0, 0.5, 1.0)


def layout(dim, order=3, **more):
    mesh = {1: lambda: dg.interval(0, 2, 5), 2: lambda: dg.rectangle((0, 0), (2, 1), cells=(3, 2)),
            3: lambda: dg.box((0, 0, 0), (2, 1, 1), cells=(3, 2, 2))}[dim]()
    return Layout(dim, order, mesh.points, mesh.cells, mesh.numbers, ("a", "b"), boundaries=mesh.boundaries, **more)


def field(x, t):
    """a has both signs, b is positive; both are polynomials of degree 3."""
    return (1 - t) * (x[0] - 1) ** 3 + 0.3 * x[-1], 1 + x[0] ** 2 + t


def filled(dim, path=None, times=TIMES, order=3, **more):
    plan = layout(dim, order, **more)
    store = Store(plan, path)
    for t in times:
        store.append(t, np.stack([np.broadcast_to(u, plan.shape[:0:-1]).T for u in field(plan.coordinates(), t)]))
    return store.dataset()


def axes():
    from matplotlib.figure import Figure

    return Figure().subplots()


@pytest.fixture(scope="module")
def render():
    """3D pictures; skipped on machines that cannot render."""
    pytest.importorskip("pyvista", reason="PyVista is not installed")
    try:
        volume.check_rendering()
    except RuntimeError as error:
        pytest.skip(str(error))


# 1D and 2D


def test_lines_follow_the_polynomials_with_gaps_between_elements():
    ds = filled(1, units={"time": "ns", "x": "m"})
    ax = ds.dg.plot("a", 0.5, axes(), color="red", mesh=True)
    x, u = ax.lines[0].get_data()
    assert np.isnan(x).sum() == 5 and np.array_equal(np.isnan(x), np.isnan(u))
    inside = ~np.isnan(x)
    assert np.abs(u - field([x], 0.5)[0])[inside].max() < 1e-12
    assert ax.lines[0].get_color() == "red"
    assert len(ax.lines) == 1 + 6
    assert (ax.get_title(), ax.get_xlabel()) == ("a at t = 0.5 ns", "x (m)")
    assert ax.get_xlim() == (0, 2)
    assert ds.dg.plot("a", 0, axes(), limits=(-3, 4)).get_ylim() == (-3, 4)


def test_triangles_follow_the_polynomials():
    ds = filled(2, units={"x": "m"}, long_names={"a": "field a"})
    ax = ds.dg.plot("a", 0.5, axes())
    mappable = ax.collections[0]
    drawn = mappable._triangulation
    assert np.abs(np.asarray(mappable.get_array()) - field([drawn.x, drawn.y], 0.5)[0]).max() < 1e-12
    assert len(drawn.triangles) == ds.sizes["element"] * 18**2
    corners = np.stack([drawn.x, drawn.y], axis=-1)[drawn.triangles]
    assert 0.5 * np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])).sum() == pytest.approx(2, rel=1e-12)
    assert (ax.get_title(), ax.get_xlabel(), ax.get_ylabel()) == ("field a at t = 0.5", "x (m)", "y")
    assert ax.get_aspect() == 1
    assert mappable.colorbar.ax.get_xlabel() == "field a (normalised)", "a wide domain has its colour bar below"
    low, high = mappable.get_clim()
    assert low == -high < 0 and mappable.get_cmap().name == "RdBu_r"
    positive = ds.dg.plot("b", 0, axes()).collections[0]
    assert positive.get_clim() == pytest.approx((1, 5)) and positive.get_cmap().name == "viridis"


@pytest.mark.parametrize("name, long_name, expected", [
    ("Ez", "electric field, z component", "electric field Ez"), ("rho", "density", "density rho"), ("a", "a", "a"),
    ("mach", "Mach number", "Mach number"), ("sound_speed", "speed of sound", "speed of sound"),
    ("p", "pressure", "pressure p"),
    ("u", None, "u")])
def test_titles_are_words_and_the_name(name, long_name, expected):
    assert picture.words(xr.DataArray(0.0, name=name, attrs={"long_name": long_name} if long_name else {})) == expected


@pytest.mark.parametrize("scale", [1e-7, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("height", [0.5, 1.0])
def test_a_colour_bar_fits_its_axes_and_its_numbers_do_not_overlap(scale, height):
    mesh = dg.rectangle((0, 0), (1, height), cells=(2, 2))
    plan = Layout(2, 1, mesh.points, mesh.cells, mesh.numbers, ("a",))
    store = Store(plan)
    store.append(0.0, scale * (plan.coordinates()[0].T[None] - 0.45))
    shown = plot.new_picture(store.dataset(), "a")
    shown.show(shown.read(-1), 0.0)
    shown.image()
    bar, ax = shown.artist.colorbar.ax, shown.ax
    side, axis = ("height", bar.yaxis) if height == 1 else ("width", bar.xaxis)
    assert getattr(bar.get_window_extent(), side) == pytest.approx(getattr(ax.get_window_extent(), side), rel=0.02)
    boxes = [text.get_window_extent() for text in axis.get_ticklabels() if text.get_text()]
    assert len(boxes) > 3 and not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_limits_and_maps_can_be_given():
    ds = filled(2)
    ax = ds.dg.plot("a", 0, axes(), limits=[0, 3], cmap="magma", colorbar=False)
    assert ax.collections[0].get_clim() == (0, 3)
    assert ax.collections[0].get_cmap().name == "magma"
    assert ax.collections[0].colorbar is None
    assert ds.dg.plot("b", 0, axes(), limits=(-2, 2)).collections[0].get_cmap().name == "RdBu_r"
    grey = ds.dg.plot("b", 0, axes(), cmap="schlieren").collections[0].get_cmap()
    assert grey(0.0) == (1, 1, 1, 1) and max(grey(1.0)[:3]) < 1e-6
    assert grey(0.1)[:3] == pytest.approx((np.exp(-1.5),) * 3, abs=0.01)
    for wrong in ((1, 1), (2, 1), (0, np.inf), 3, (1, 2, 3)):
        with pytest.raises(ValueError, match="low below high"):
            ds.dg.plot("a", 0, axes(), limits=wrong)
    with pytest.raises(ValueError, match="option 'colourbar' .*did you mean 'colorbar'"):
        ds.dg.plot("a", 0, axes(), colourbar=False)


def test_isolines_are_where_the_field_has_their_values():
    ds = filled(2)
    picture = plot.flat_picture(ds, "a", isolines=(0.05, 0.25, 3))
    for time in (0, -1):          # drawn anew, the old ones are gone
        picture.show(picture.read(time))
        drawn = [part for part in picture.ax.collections if isinstance(part, ContourSet)]
        assert len(drawn) == 1 and np.allclose(drawn[0].levels, [0.05, 0.15, 0.25])
        t = float(ds.time[time])
        for level, path in zip(drawn[0].levels, drawn[0].get_paths()):
            assert len(path.vertices) and np.abs(field(path.vertices.T, t)[0] - level).max() < 0.02
    for wrong in ((0, 1), (1, 0, 5), (0, 1, 1), (0, 1, 2.5), (0, np.inf, 3)):
        with pytest.raises(ValueError, match=r"isolines .* must be \(low, high, count\)"):
            ds.dg.plot("a", 0, axes(), isolines=wrong)
    with pytest.raises(ValueError, match="for 2D; the dataset is 1D"):
        filled(1).dg.plot("a", 0, axes(), isolines=(0, 1, 3))


def gas(cells=8, bad=None, order=1):
    """A dataset of a gas in the unit square with u = x and c = 1; in the triangle `bad` the pressure falls to -0.98 in one
    corner."""
    law, mesh = dg.Euler(2), dg.rectangle(cells=cells)
    plan = Layout(2, order, mesh.points, mesh.cells, mesh.numbers, law.variables, attrs={"law": repr(law)})
    x = plan.coordinates()
    q = np.stack([u.T for u in law.conservative((1.4 + 0 * x[0], x[0], 0 * x[0], 1 + 0 * x[0]))])
    if bad is not None:
        q[-1, 0, bad] -= 1.98 / 0.4
    store = Store(plan)
    store.append(0.0, q)
    return store.dataset(), law


def test_derived_fields_are_computed_where_they_are_drawn():
    ds, law = gas()
    drawn = plot.flat_picture(plot.one_time(ds, "mach", -1), "mach")
    q = [drawn._own(name, 0) for name in law.variables]
    assert np.allclose(drawn.read(0), law.mach(q), rtol=1e-13)
    nodal = drawn.evaluate([ds.dg.with_fields("mach").dg.values("mach")])
    assert np.abs(drawn.read(0) - nodal).max() > 1e-4, "the interpolant of the nodes' values is another field"
    assert "computed_from" not in ds.dg.with_fields("mach").mach.attrs


def test_a_field_without_a_value_is_left_out_and_said():
    ds, law = gas(cells=16, bad=500)
    drawn = plot.flat_picture(plot.one_time(ds, "mach", -1), "mach", isolines=4)
    u = drawn.read(0)
    nothing = ~law.admissible([drawn._own(name, 0) for name in law.variables])
    assert nothing.any() and np.array_equal(np.isnan(u), nothing) and not np.isnan(np.delete(u, 500, axis=0)).any()
    drawn.show(u)
    share = 100 * nothing.sum() / nothing.size
    assert f"not drawn: density or pressure is not positive ({share:.2g} % of the area)" in drawn.ax.get_title()
    low, high = drawn.artist.get_clim()
    assert high == pytest.approx(1, abs=0.05) and np.nanmax(u) > 3, "the spike beside the bad corner does not set the colours"
    assert drawn.bar.extend == "max" and f"values from {np.nanmin(u):.3g} to {np.nanmax(u):.3g}" in drawn.ax.get_title()
    pressure = plot.flat_picture(plot.one_time(ds, "pressure", -1), "pressure").read(0)
    assert not np.isnan(pressure).any() and pressure.min() < 0, "a pressure below 0 is a number that one wants to see"


def test_outliers_do_not_set_the_colours_and_pulses_do():
    x = np.linspace(0, 1, 100_001)
    field = np.sin(6 * x)
    assert colour_range.spread(field) == (field.min(), field.max(), field.min(), field.max())
    spiked = np.where(x > 0.9995, 300.0, field)
    low, high, least, largest = colour_range.spread(spiked)
    assert (least, largest) == (field.min(), 300) and (low, high) == pytest.approx((-1, 1), abs=0.05)
    pulse = np.exp(-((x - 0.5) / 0.01) ** 2)
    assert colour_range.spread(pulse)[:2] == (pulse.min(), pulse.max())
    assert colour_range.spread(spiked, np.where(x > 0.9995, 0, 1))[3] < 1, "what is out of sight does not count"
    ranged = 10.0 ** (6 * x)
    assert colour_range.spread(ranged, log=True)[:2] == (1, 1e6)
    assert colour_range.limits_for([(1e-16, 1.0, 1e-16, 1.0)], log=True)[:2] == (1e-16, 1.0)


def test_zoom_draws_a_box_in_more_detail():
    ds = filled(2)
    drawn = plot.flat_picture(ds, "b", zoom=(0, 0.5, 0.5, 0.9))
    drawn.show(drawn.read(0))
    assert drawn.ax.get_xlim() == (0, 0.5) and drawn.ax.get_ylim() == (0.5, 0.9)
    x, y = drawn.triangulation.x, drawn.triangulation.y
    assert np.abs(drawn.read(0).ravel() - field([x, y], 0)[1]).max() < 1e-12 and drawn.shape[0] < ds.sizes["element"]
    assert drawn.artist.get_clim() == pytest.approx((1, 1.25), abs=1e-2), "the limits are those of what is seen"
    small, whole = (np.ptp(plot.flat_picture(ds, "b", **more).triangulation.x[:2]) for more in ({"zoom": (0, 0.5, 0, 1)}, {}))
    assert small < 0.5 * whole
    line = filled(1).dg.plot("b", 0, axes(), zoom=(0.5, 1))
    assert line.get_xlim() == (0.5, 1) and line.get_ylim() == pytest.approx((1.25 - 0.0375, 2 + 0.0375), abs=0.02)
    for wrong, words in (((0, 1), "finite numbers"), ((1, 0, 0, 1), "low below high"), (3, "finite numbers"),
                         ((5, 6, 0, 1), "outside of the mesh, which has x from 0 to 2, y from 0 to 1")):
        with pytest.raises(ValueError, match=words):
            ds.dg.plot("b", 0, axes(), zoom=wrong)


def test_logarithmic_colours():
    from matplotlib.colors import LogNorm

    ds = filled(2)
    mappable = ds.dg.plot("b", 0, axes(), log=True).collections[0]
    assert isinstance(mappable.norm, LogNorm) and mappable.get_clim() == pytest.approx((1, 5))
    assert filled(1).dg.plot("b", 0, axes(), log=True).get_yscale() == "log"
    with pytest.raises(ValueError, match="need positive values, and a goes from -1 to"):
        ds.dg.plot("a", 0, axes(), log=True)
    with pytest.raises(ValueError, match="must be above 0"):
        ds.dg.plot("a", 0, axes(), log=True, limits=(-1, 1))
    cut = ds.dg.plot("a", 0, axes(), log=True, limits=(0.1, 1)).collections[0]
    assert cut.colorbar.extend == "both" and not np.ma.is_masked(cut.norm(cut.get_array()))


def test_isolines_of_a_count_or_of_values_are_not_torn():
    """A discontinuous field has the lines of the continuous one that is nearest: here that of the exact plane."""
    ds = filled(2)
    values = ds.a.values
    values[:] = ds.x.values
    values[..., 0::2, :] += 0.01          # jumps between the two triangles of each rectangle
    drawn = plot.flat_picture(ds.assign(a=(ds.a.dims, values, ds.a.attrs)), "a", isolines=3)
    drawn.show(drawn.read(0))
    assert np.allclose(drawn.contours.levels, 2.01 * np.array([0.25, 0.5, 0.75]))
    for path in drawn.contours.get_paths():
        ends = np.concatenate([line[[0, -1]] for line in path.to_polygons(closed_only=False)])
        inner = ends[(ends[:, 1] > 1e-9) & (ends[:, 1] < 1 - 1e-9)]
        away = np.linalg.norm(inner[:, None] - inner, axis=2) + np.eye(len(inner))
        assert len(inner) and away.min(axis=1).max() < 1e-9, "where a line leaves an element it goes on in the next"
    found = [part for part in ds.dg.plot("b", 0, axes(), levels=(1.5, 3, 2)).collections if isinstance(part, ContourSet)]
    assert np.array_equal(found[0].levels, [1.5, 2, 3])
    for wrong, words in (({"levels": ()}, "finite numbers"), ({"levels": "x"}, "finite numbers"),
                         ({"isolines": 0}, "or a count"), ({"levels": 1, "isolines": 3}, "both given")):
        with pytest.raises(ValueError, match=words):
            ds.dg.plot("b", 0, axes(), **wrong)


def test_the_gradient_in_a_picture_is_continuous_and_exact_for_a_plane():
    mesh, law = dg.rectangle(cells=4), dg.Euler(2)
    for order in (1, 3):
        plan = Layout(2, order, mesh.points, mesh.cells, mesh.numbers, law.variables, attrs={"law": repr(law)})
        x, y = plan.coordinates()
        rho = 2 + 0.3 * x - 0.4 * y
        store = Store(plan)
        store.append(0.0, np.stack([u.T for u in (rho, 0 * x, 0 * x, 5 + 0 * x)]))
        ds = store.dataset()
        assert ds.dg.with_fields("schlieren").schlieren.values == pytest.approx(0.5, abs=1e-12)
        rough = ds.assign(rho=ds.rho + 0.1 * (np.arange(ds.sizes["element"]) % 2)[:, None]).assign_attrs(ds.attrs)
        rough.rho.attrs = ds.rho.attrs
        drawn = plot.flat_picture(plot.one_time(rough, "schlieren", -1), "schlieren")
        u, place = drawn.read(0).ravel(), np.round(np.stack([drawn.triangulation.x, drawn.triangulation.y]), 9)
        _, first, number = np.unique(place, axis=1, return_index=True, return_inverse=True)
        assert np.abs(u - u[first][number.ravel()]).max() < 1e-12 < np.ptp(u)


@pytest.mark.parametrize("values, expected", [
    ((-1.0, 2.0), (-2, 2)), ((-0.01, 2.0), (-0.01, 2)), ((-1e-17, 2.0), (0, 2)), ((3.0, 3.0), (1.5, 4.5)),
    ((0.0, 0.0), (-0.5, 0.5)), ((np.nan, np.inf, -1.0, 1.0), (-1, 1)), ((np.nan, np.nan), (-0.5, 0.5))])
def test_limits_of_signed_constant_and_broken_fields(values, expected):
    assert colour_range.limits_of(*colour_range.extent(np.array(values))) == expected


def test_outlines_are_the_boundary_the_lines_between_regions_and_with_mesh_all_edges():
    ds = filled(2, regions={"left": [0, 1, 2], "right": list(range(3, 12))})
    bare = filled(2)

    def edges(ds, number=1, **options):
        return len(ds.dg.plot("a", 0, axes(), **options).collections[number].get_segments())

    assert edges(bare) == 2 * (3 + 2)
    cells = ds.dg.cells
    sides = np.sort(cells[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    between = {tuple(s) for s in sides[:9].tolist()} & {tuple(s) for s in sides[9:].tolist()}
    assert edges(ds) == 10 + len(between)
    assert edges(bare, 2, mesh=True) == 3 * 3 + 4 * 2 + 6


def test_a_picture_of_one_snapshot_reads_only_that_one(tmp_path):
    ds = filled(2, tmp_path / "out.zarr")
    shutil.rmtree(tmp_path / "out.zarr" / "a" / "c" / "0")
    shutil.rmtree(tmp_path / "out.zarr" / "a" / "c" / "2")
    drawn = ds.dg.plot("a", 0.5, axes()).collections[0]
    assert np.abs(drawn.get_array()).max() > 0.3


def test_plot_writes_a_file_and_names_what_is_missing(tmp_path, monkeypatch):
    ds = filled(2)
    assert ds.dg.plot("a", path=tmp_path / "a.png") == tmp_path / "a.png"
    image = iio.imread(tmp_path / "a.png")
    assert image[..., :3].std() > 10 and min(image.shape[:2]) > 300
    with pytest.raises(ValueError, match="ax and path"):
        ds.dg.plot("a", ax=axes(), path=tmp_path / "b.png")
    with pytest.raises(ValueError, match="surface is for 3D; the dataset is 2D"):
        ds.dg.plot("a", surface="left")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'dgarray\[plot\]'"):
        ds.dg.plot("a", path=tmp_path / "a.png")


# Slices and 3D


def test_a_slice_is_drawn_by_matplotlib_alone(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyvista", None)
    ds = filled(3)
    ax = ds.dg.plot("a", 0.5, axes(), slice="x=0.75")
    drawn = ax.collections[0]._triangulation
    exact = field([np.full_like(drawn.x, 0.75), drawn.x, drawn.y], 0.5)[0]
    assert np.abs(np.asarray(ax.collections[0].get_array()) - exact).max() < 1e-12
    assert ax.get_title() == "a in the plane x = 0.75 at t = 0.5"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("y", "z")
    with pytest.raises(ImportError, match=r"pip install 'dgarray\[volume\]'"):
        ds.dg.plot("a")


def test_a_slice_of_2d_is_a_curve():
    ax = filled(2).dg.plot("a", 0, axes(), slice="y=0.3")
    x, u = ax.lines[0].get_data()
    assert np.nanmax(np.abs(u - field([x, 0.3], 0)[0])) < 1e-12
    assert ax.get_title() == "a on the line y = 0.3 at t = 0"


def test_slices_and_surfaces_in_3d_hold_the_polynomials(render, tmp_path):
    ds = filled(3, order=4)
    for area, options in ((2 + 2 + 1, {}), (1 + 2, {"slice": ["x=0.75", "z=0.2"], "mesh": True}), (2, {"surface": "top"}),
                          (1 + 2, {"surface": ("left", "top"), "limits": (-1, 2)})):
        plotter = ds.dg.plot("a", 0.5, **options)
        mesh = plotter.meshes[0]
        assert mesh.area == pytest.approx(area, rel=1e-5)
        assert np.abs(mesh["a"] - field(mesh.points.T.astype("float64"), 0.5)[0]).max() < 1e-12
        low, high = next(iter(plotter.actors.values())).mapper.scalar_range
        assert (low, high) == options.get("limits", (-high, high))
        plotter.close()
    path = ds.dg.plot("b", path=tmp_path / "b.png", surface="left")
    image = iio.imread(path)
    assert image.shape == (900, 1200, 3) and image.std() > 10


def test_what_3d_pictures_refuse(render):
    ds = filled(3)
    with pytest.raises(ValueError, match="boundary 'topp' .*did you mean 'top'"):
        ds.dg.plot("a", surface="topp")
    with pytest.raises(ValueError, match="both given; give one"):
        ds.dg.plot("a", surface="top", slice="x=1")
    with pytest.raises(ValueError, match="misses the mesh"):
        ds.dg.plot("a", slice=["x=1", "z=9"])
    with pytest.raises(ValueError, match="leave out ax"):
        ds.dg.plot("a", ax=axes())


def test_a_machine_that_cannot_render_gets_a_sentence(monkeypatch):
    pytest.importorskip("pyvista", reason="PyVista is not installed")
    monkeypatch.setattr(volume, "PROBE", "import os; os.abort()")
    volume.check_rendering.cache_clear()
    try:
        with pytest.raises(RuntimeError, match="EGL or OSMesa"):
            filled(3).dg.plot("a", path="never.png")
    finally:
        volume.check_rendering.cache_clear()
    assert not Path("never.png").exists()


# Movies


@pytest.mark.parametrize("dim, suffix", [(1, ".gif"), (2, ".gif"), (2, ".mp4")])
def test_a_movie_has_a_frame_for_every_snapshot(dim, suffix, tmp_path):
    ds = filled(dim)
    path = tmp_path / f"a{suffix}"
    assert ds.dg.animate("a", path, fps=5, dpi=61) == path
    frames = iio.imread(path)
    assert len(frames) == len(TIMES)
    assert all(np.abs(frames[i].astype(int) - frames[i + 1]).max() > 50 for i in range(2))
    seconds = iio.immeta(path)["duration"] / (1000 if suffix == ".gif" else 1) * (len(TIMES) if suffix == ".gif" else 1)
    assert seconds == pytest.approx(0.6)
    assert [p.name for p in tmp_path.iterdir()] == [path.name], "nothing is left aside"


def test_a_webp_has_all_frames_in_their_colours(tmp_path):
    from PIL import Image, ImageSequence

    ds = filled(2)
    ds.dg.animate("a", tmp_path / "a.webp", fps=5, dpi=61)
    drawn = plot.new_picture(ds, "a")
    drawn.resolution(61)
    limits = movie.common_limits(drawn, 3)
    with Image.open(tmp_path / "a.webp") as frames:
        assert (frames.n_frames, frames.info["loop"]) == (3, 0)
        for index, frame in enumerate(ImageSequence.Iterator(frames)):
            drawn.show(drawn.read(index), TIMES[index], limits)
            assert np.abs(np.asarray(frame.convert("RGB")).astype(int) - drawn.image()).mean() < 2
            assert frame.info["duration"] == 200


def test_the_colours_of_a_gif_are_those_of_the_picture(tmp_path):
    ds = filled(2)
    ds.dg.animate("a", tmp_path / "a.gif", dpi=80)
    picture = plot.new_picture(ds, "a")
    picture.resolution(80)
    picture.show(picture.read(1), 0.5, movie.common_limits(picture, 3))
    assert np.abs(iio.imread(tmp_path / "a.gif")[1].astype(int) - picture.image()).max() < 60
    assert np.abs(iio.imread(tmp_path / "a.gif")[1].astype(int) - picture.image()).mean() < 2


@pytest.mark.parametrize("upper", [(1.0, 1.0, 1.0), (1.0, 1.0, 4.0)])
def test_labels_stay_above_the_colour_bar(render, tmp_path, upper):
    sim = dg.Simulation(dg.box((0, 0, 0), upper, cells=1), dg.Advection((1.0, 0.0, 0.0)), dg.NodalDG(1), dg.outflow,
                        lambda x: (x[0],), backend="numpy", kernels="array")
    sim.dataset(sim.project()).dg.plot("u", path=tmp_path / "u.png", colorbar=False)
    image = iio.imread(tmp_path / "u.png")
    below = image[round(0.87 * len(image)):]
    assert (below == 255).all() and (image != 255).any()


def test_all_frames_have_the_limits_of_all_snapshots():
    animation = filled(2).dg.animate("a")
    animation._draw_was_started = True               # by hand, below
    seen = []
    for index in range(3):
        animation._draw_frame(index)
        mappable = animation._fig.axes[0].collections[0]
        seen.append((*mappable.get_clim(), animation._fig.axes[0].get_title(), np.asarray(mappable.get_array()).max()))
    assert all(row[:2] == pytest.approx((-1.3, 1.3)) for row in seen)
    assert [row[2] for row in seen] == [f"a at t = {t:g}" for t in TIMES]
    assert [row[3] for row in seen] == pytest.approx([1.3, 0.8, 0.3])
    limited = filled(1).dg.animate("b", limits=(0, 9))
    limited._draw_was_started = True
    limited._draw_frame(2)
    assert limited._fig.axes[0].get_ylim() == (0, 9)


def test_a_movie_in_3d(render, tmp_path, monkeypatch):
    monkeypatch.setattr(volume, "WINDOW", (301, 201))
    ds = filled(3)
    ds.dg.animate("a", tmp_path / "a.mp4", surface="left")
    assert iio.imread(tmp_path / "a.mp4").shape == (3, 202, 302, 3), "H.264 needs even sides"
    assert len(iio.imread(ds.dg.animate("a", tmp_path / "a.gif", slice="z=0.5", dpi=40))) == 3
    with pytest.raises(ValueError, match="needs slice="):
        ds.dg.animate("a")


def test_what_movies_refuse(tmp_path, monkeypatch):
    ds = filled(2)
    with pytest.raises(ValueError, match="suffix '.avi'; allowed: .gif, .mp4"):
        ds.dg.animate("a", tmp_path / "a.avi")
    with pytest.raises(ValueError, match="fps=0"):
        ds.dg.animate("a", tmp_path / "a.gif", fps=0)
    with pytest.raises(ValueError, match="cannot be written"):
        ds.dg.animate("a", tmp_path / "none" / "a.gif")
    with pytest.raises(ValueError, match="no snapshots"):
        ds.isel(time=0).dg.animate("a", tmp_path / "a.gif")
    monkeypatch.setattr(movie, "ffmpeg", lambda: shutil.which("false"))
    with pytest.raises(RuntimeError, match="ffmpeg could not write"):
        ds.dg.animate("a", tmp_path / "a.mp4")
    assert not list(tmp_path.iterdir())


def test_without_ffmpeg_the_remedy_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ImportError, match="pip install imageio-ffmpeg"):
        filled(2).dg.animate("a", tmp_path / "a.mp4")


# Live


def state(plan, t):
    return np.stack([np.broadcast_to(u, plan.shape[:0:-1]).T for u in field(plan.coordinates(), t)])


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_live_renews_a_file_in_place(dim, tmp_path):
    plan = layout(dim)
    shown = Live(plan, "a", tmp_path / "now.png", seconds=3600)
    assert shown.due()
    shown.update(state(plan, 0.0), 0.0)
    first = iio.imread(tmp_path / "now.png")
    inode = (tmp_path / "now.png").stat().st_ino
    assert not shown.due()
    shown.update(state(plan, 0.5), 0.5)
    second = iio.imread(tmp_path / "now.png")
    assert (tmp_path / "now.png").stat().st_ino != inode, "renamed, never half written"
    assert np.abs(first.astype(int) - second).max() > 50
    assert "t = 0.5" in shown.picture.ax.get_title()
    values = shown.picture.artist.get_ydata() if dim == 1 else np.asarray(shown.picture.artist.get_array())
    if dim == 1:
        x = shown.picture.artist.get_xdata()
        exact = field([x], 0.5)[0]
    else:
        drawn = shown.picture.artist._triangulation
        exact = field([drawn.x, drawn.y, np.full_like(drawn.x, 0.5)][:dim], 0.5)[0]
        # Colours keep the range of all that was seen.
        assert shown.picture.artist.get_clim() == pytest.approx((-1.15, 1.15) if dim == 3 else (-1.3, 1.3))
    assert np.nanmax(np.abs(values - exact)) < 1e-12
    shown.close()
    assert not shown.due()
    shown.update(state(plan, 1.0), 1.0)
    assert np.array_equal(iio.imread(tmp_path / "now.png"), second)
    assert [p.name for p in tmp_path.iterdir()] == ["now.png"]


def test_live_makes_its_triangles_once(tmp_path, monkeypatch):
    monkeypatch.setattr(live, "SHARE", 1.0)
    plan = layout(2)
    shown = Live(plan, "b", tmp_path / "b.png", seconds=0)
    before = shown.picture.artist._triangulation
    for t in TIMES:
        assert shown.due()
        shown.update(state(plan, t), t)
    assert shown.picture.artist._triangulation is before
    assert len(shown.picture.ax.collections) == 2


def test_live_takes_no_more_than_its_share(tmp_path, monkeypatch):
    """A picture that takes 2 s comes every 20 s, one that takes none every 5."""
    clock = iter([0, 100, 102, 119, 120, 200, 200, 204, 205])
    monkeypatch.setattr(live, "monotonic", lambda: next(clock))
    plan = layout(1)
    shown = Live(plan, "a", tmp_path / "a.png", seconds=5)
    shown.update(state(plan, 0.0), 0.0)
    assert (shown.due(), shown.due()) == (False, True)
    shown.update(state(plan, 0.0), 0.0)
    assert (shown.due(), shown.due()) == (False, True)


def test_live_without_a_screen_writes_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    plan = layout(2)
    shown = Live(plan, "a")
    shown.update(state(plan, 0.0), 0.0)
    assert Path("a.png").read_bytes()[:4] == b"\x89PNG"
    assert repr(shown) == "Live(a, a.png)"


def test_live_in_a_window(tmp_path, monkeypatch):
    """A window that counts what it is asked: shown once, drawn at every update, gone when the user closes it."""
    import matplotlib.pyplot as plt

    calls = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(live, "_is_window", lambda figure: True)
    plan = layout(1)
    shown = Live(plan, "a", seconds=0)
    canvas = shown.picture.ax.figure.canvas
    monkeypatch.setattr(canvas, "draw_idle", lambda: calls.append("draw"))
    monkeypatch.setattr(canvas, "flush_events", lambda: calls.append("events"))
    assert shown.due()
    shown.update(state(plan, 0.0), 0.0)
    assert calls == ["events", "draw", "events"]
    plt.close(shown.picture.ax.figure)
    assert not shown.due()
    shown.close()
    assert not list(tmp_path.iterdir())


def test_what_live_refuses(tmp_path):
    with pytest.raises(ValueError, match="variable 'c' does not exist in the run; it has: a, b"):
        Live(layout(2), "c", tmp_path / "c.png")
    with pytest.raises(ValueError, match="this is a folder"):
        Live(layout(2), "a", tmp_path)
    with pytest.raises(ValueError, match="cannot be written"):
        Live(layout(2), "a", tmp_path / "none" / "a.png")
    with pytest.raises(ValueError, match="misses the mesh"):
        Live(layout(3), "a", tmp_path / "a.png", slice="z=7")
    with pytest.raises(ValueError, match="slice='z=0' is for 3D; the run is 2D"):
        Live(layout(2), "a", tmp_path / "a.png", slice="z=0")


# Records


def receivers(times, points=((0.1, 0.2), (0.5, 0.25)), frequency=2.0):
    """Ez of amplitude 3 at the first point, half of it at the next, and so on."""
    size = 3 / 2.0 ** np.arange(len(points))
    u = np.cos(2 * np.pi * frequency * times)[:, None] * size
    x, y = np.transpose(points)
    return xr.Dataset({"Ez": (("time", "point"), u, {"long_name": "electric field", "units": "V/m"})},
                      {"time": ("time", times, {"units": "ns"}), "x": ("point", x), "y": ("point", y)})


def test_series_draws_a_line_for_each_point():
    record = receivers(np.linspace(0, 4, 200))
    ax = curves.series(None, record, "Ez", ax=axes())
    assert len(ax.lines) == 2
    assert np.array_equal(ax.lines[1].get_ydata(), record.Ez[:, 1])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0.1, 0.2", "0.5, 0.25"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time (ns)", "electric field (V/m)")
    many = receivers(np.linspace(0, 4, 20), [(i, 0) for i in range(35)])
    ax = curves.series(None, many, "Ez", ax=axes())
    assert len(ax.lines) == 35 and len(ax.get_legend().get_texts()) == 10
    whole = curves.series(None, record.isel(point=0, drop=True), "Ez", ax=axes())
    assert len(whole.lines) == 1 and whole.get_legend() is None


@pytest.mark.parametrize("uneven", [False, True])
def test_a_spectrum_has_the_amplitude_of_the_wave_at_its_frequency(uneven):
    times = np.linspace(0, 20, 2000, endpoint=False)
    if uneven:
        times = np.sort(np.concatenate([times, np.random.default_rng(1).uniform(0, 19.99, 300)]))
    frequency, amplitude = curves.amplitudes(times, receivers(times).Ez.values)
    peak = amplitude[:, 0].argmax()
    assert frequency[peak] == pytest.approx(2, abs=0.02)
    assert amplitude[peak] == pytest.approx([3, 1.5], rel=0.01)
    # Hann's window: nothing is left four bins away from a wave with whole periods.
    assert amplitude[np.abs(frequency - 2) > 0.5].max() < (0.01 if uneven else 1e-12)
    mean = curves.amplitudes(times, np.full(len(times), 7.0))[1]
    assert mean[0] == pytest.approx(7)


def test_the_picture_of_a_spectrum():
    ax = curves.spectrum(None, receivers(np.linspace(0, 20, 2000, endpoint=False)), "Ez", ax=axes())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("frequency (1/ns)", "amplitude of electric field (V/m)")
    assert 2 < ax.get_xlim()[1] < 3, "what is beyond the last large amplitude is not drawn"
    assert ax.get_yscale() == "log"
    assert ax.get_title() == "spectrum of electric field Ez"


def test_a_fourier_record_is_drawn_over_its_frequencies():
    values = np.array([[3j, 4.0], [0.0, 5.0]])
    points = xr.Dataset({"Ez": (("frequency", "point"), values)}, {"frequency": [1.0, 2.0], "x": ("point", [0.0, 1.0])})
    ax = curves.spectrum(None, points, "Ez", ax=axes())
    assert [list(line.get_ydata()) for line in ax.lines] == [[3, 0], [4, 5]]
    faces = xr.Dataset({"Ez": (("frequency", "face", "face_node"), values[:, :, None])}, {"frequency": [1.0, 2.0]})
    ax = curves.spectrum(None, faces, "Ez", ax=axes())
    assert list(ax.lines[0].get_ydata()) == pytest.approx([np.sqrt(12.5), np.sqrt(12.5)])
    assert ax.get_ylabel().startswith("root mean square of Ez")
    faces.Ez.attrs |= {"long_name": "Fourier transform of electric field, z component", "units": "V/m s"}
    ax = curves.spectrum(None, faces, "Ez", ax=axes())
    assert ax.get_ylabel() == "root mean square of electric field, z\ncomponent (V/m s)"
    assert ax.get_title() == "spectrum of electric field Ez"
    with pytest.raises(ValueError, match="'Ez' of the record is a transform, .*; draw it with --spectrum, in Python"):
        curves.series(None, faces, "Ez")


def test_what_curves_refuse():
    record = receivers(np.linspace(0, 1, 3))
    with pytest.raises(ValueError, match="variable 'Ex' does not exist in the record; it has: Ez"):
        curves.series(None, record, "Ex")
    with pytest.raises(ValueError, match="3 samples; a spectrum needs at least 4"):
        curves.spectrum(None, record, "Ez")
    with pytest.raises(ValueError, match=r"dims \(time, face\)"):
        curves.series(None, record.rename(point="face"), "Ez")
    with pytest.raises(ValueError, match="needs record="):
        filled(2).dg.plot("a", spectrum=True)


# The command line


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    for dim in (2, 3):
        filled(dim, folder / f"{dim}d.zarr")
    return folder


@pytest.mark.parametrize("arguments, size", [
    ("2d.zarr a --limits -1,1e0 --mesh -o f.png", 1), ("3d.zarr a --slice z=0.5 --time 0.5 -o f.png", 1),
    ("2d.zarr b --log -o f.png", 1), ("2d.zarr a --movie f.gif --fps 4 --limits -1,1", 3),
    ("3d.zarr a --slice x=0.5 --movie f.mp4", 3)])
def test_the_command_writes_pictures_and_movies(arguments, size, stores, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    store, *rest = arguments.split()
    assert main(["plot", str(stores / store), *rest]) == 0
    (path,) = capsys.readouterr().out.split()
    frames = iio.imread(path)
    assert frames.ndim == (3 if size == 1 else 4) and (size == 1 or len(frames) == size)


def test_the_command_draws_3d_and_records(render, stores, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(volume, "WINDOW", (300, 200))
    assert main(["plot", str(stores / "3d.zarr"), "a"]) == 0
    assert main(["plot", str(stores / "3d.zarr"), "a", "--surface", "top", "--surface", "left", "-o", "s.png"]) == 0
    assert main(["plot", str(stores / "3d.zarr"), "a", "--slice", "x=1", "--slice", "z=0.5", "-o", "xz.png"]) == 0
    images = [iio.imread(name) for name in ("a.png", "s.png", "xz.png")]
    assert {image.shape for image in images} == {(200, 300, 3)}
    assert all(np.abs(images[i].astype(int) - images[i - 1]).max() > 50 for i in range(3))


def test_the_command_draws_a_record(stores, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    times = np.linspace(0, 20, 400)
    record = receivers(times).rename(time="rec_time", point="rec_point", x="rec_x", y="rec_y", Ez="rec_Ez")
    ds = filled(2).merge(record)
    ds.attrs["records"] = json.dumps({"rec": "Points"})
    ds.to_zarr("out.zarr")
    assert main(["plot", "out.zarr", "Ez", "--record", "rec", "-o", "time.png"]) == 0
    assert main(["plot", "out.zarr", "Ez", "--record", "rec", "--spectrum", "-o", "frequency.png"]) == 0
    shapes = [iio.imread(name).std() for name in ("time.png", "frequency.png")]
    assert min(shapes) > 10 and shapes[0] != shapes[1]
    ax = xr.open_zarr("out.zarr").dg.plot("Ez", record="rec", ax=axes())
    assert np.array_equal(ax.lines[0].get_ydata(), record.rec_Ez[:, 0])
    capsys.readouterr()
    assert main(["plot", "out.zarr", "Ez", "--record", "rek"]) == 2
    assert "did you mean 'rec'" in capsys.readouterr().err


@pytest.mark.parametrize("arguments, words", [
    ("2d.zarr a --limits 3", "--limits 3: give two numbers"), ("2d.zarr a --limits 3,x", "give two numbers"),
    ("2d.zarr a --limits 3,1", "low below high"), ("2d.zarr a --surface top", "surface is for 3D"),
    ("2d.zarr a --isolines 3,1", "--isolines 3,1: give a number of lines, or three numbers LOW,HIGH,COUNT"),
    ("2d.zarr a --isolines 3,1,4", "low below high"), ("2d.zarr a --isolines 0,1,3 --record r", "are both given"),
    ("2d.zarr a --movie f.avi", "allowed: .gif, .mp4"), ("2d.zarr a --fps 3", "--fps is given without --movie"),
    ("2d.zarr a --spectrum", "--spectrum is given without --record"), ("2d.zarr a --record r", "it has: none"),
    ("2d.zarr a --record r --mesh", "--record and --mesh are both given"),
    ("2d.zarr a --movie f.gif --time 1", "--movie and --time are both given"),
    ("2d.zarr a --cmap virids", "colour map 'virids' does not exist; did you mean 'viridis'"),
    ("2d.zarr a --zoom 5,6,0,1", "outside of the mesh, which has x from 0 to 2"), ("2d.zarr a --zoom 1", "--zoom 1: give two"),
    ("2d.zarr a --log --time 0", "values, and a goes from -1 to"), ("2d.zarr a --levels x", "--levels x: give numbers"),
    ("2d.zarr a --levels 1 --isolines 3", "are both given"), ("2d.zarr a --dpi 0", "dpi"),
    ("3d.zarr a --zoom 0,1,0,1", "option 'zoom' does not exist for views in 3D (one slice"),
    ("3d.zarr a --slice q=1", "axis 'q'"), ("3d.zarr a --slice z=9", "misses the mesh")])
def test_the_command_refuses(arguments, words, stores, capsys):
    store, *rest = arguments.split()
    assert main(["plot", str(stores / store), *rest]) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


def test_import_is_light():
    """Pictures and stores load their libraries when they are made."""
    code = ("import sys; from dgarray.output.pictures import live, movie, plot, record_curves, volume; "
            "print([m for m in ('zarr', 'matplotlib', 'pyvista', 'vtkmodules', 'PIL') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ))
    assert done.stdout == "[]\n"
