"""Polar pictures of far fields: what is drawn, beside exact cross-sections, and what is refused."""
import numpy as np
import pytest
import xarray as xr

from dgarray.analysis.farfield import cross_section, directions
from dgarray.analysis.scattering_cylinders import cylinder_bistatic

FREQUENCIES = np.array([0.2, 0.5])
DEGREES = np.arange(0, 360, 3.0)


@pytest.fixture(autouse=True)
def without_windows():
    pytest.importorskip("matplotlib").use("agg")


def far_of(sigma, u):
    """A far field along the directions u whose cross-section is sigma (frequency, direction)."""
    factor = 4 * np.pi if u.shape[1] == 3 else 2 * np.pi
    coords = {f"direction_{axis}": ("direction", component) for axis, component in zip("xyz", u.T)}
    data = {"Ez": (("frequency", "direction"), np.sqrt(sigma / factor).astype(complex))}
    return xr.Dataset(data, coords | {"frequency": FREQUENCIES})


def cylinder():
    """A cylinder of glass, in another order of the angles than the picture's."""
    turned = np.roll(DEGREES, 17)[::-1]
    sigma = cylinder_bistatic(FREQUENCIES, turned, 1.0, 4.0).values
    angle = np.radians(turned)
    return far_of(sigma, np.column_stack([np.cos(angle), np.sin(angle)]))


@pytest.mark.parametrize("scale", ["dB", "linear"])
def test_widths_of_a_cylinder(scale):
    """The lines are those of the series at their angles, and close."""
    ax = cylinder().dg.plot_pattern((2.0, 0.5), scale, reference=np.pi)
    exact = cylinder_bistatic(FREQUENCIES, DEGREES, 1.0, 4.0).values / np.array([[4], [0.25]]) / np.pi
    low, high = ax.get_ylim()
    assert low < high and len(ax.lines) == 2
    for line, wanted in zip(ax.lines, exact):
        angle, found = line.get_data()
        assert angle[-1] == angle[0] and len(angle) == len(DEGREES) + 1
        wanted = np.interp(np.degrees(angle) % 360, np.append(DEGREES, 360), np.append(wanted, wanted[0]))
        wanted = np.maximum(10 * np.log10(wanted), low) if scale == "dB" else wanted
        assert np.allclose(found, wanted, rtol=1e-9) and found.max() <= high
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0.2", "0.5"]
    assert ax.get_legend().get_title().get_text() == "frequency"          # which has no unit


def test_cuts_in_three_dimensions(tmp_path):
    """sin^2 of the angle from z, the pattern of a dipole: a circle in the plane xy, an eight in xz."""
    u = np.concatenate([directions(72, plane) for plane in ("xy", "xz")])
    far = far_of(np.outer((1.0, 4.0), 1 - u[:, 2] ** 2), u)
    # Directions of one plane lie in the other where both meet, twice.
    both = far.dg.plot_pattern(scale="linear")
    assert [ax.get_title() for ax in both] == ["angle from x to y", "angle from x to z"]
    for ax, power in zip(both, (0, 2)):
        angle, found = ax.lines[1].get_data()
        assert np.allclose(found, 4 * np.cos(angle) ** power)
    ax = far.isel(frequency=0).dg.plot_pattern(plane="xz", span=20)
    angle, found = ax.lines[0].get_data()
    assert np.allclose(found, np.maximum(20 * np.log10(np.abs(np.cos(angle)) + 1e-30), -20)) and ax.get_ylim() == (-20, 0)
    part = far.isel(direction=slice(0, 19)).dg.plot_pattern(plane="xy").lines[0].get_xdata()
    assert np.allclose(part, np.linspace(0, np.pi / 2, 19))          # a quarter, which does not close
    path = tmp_path / "pattern.png"
    assert far.dg.plot_pattern(path=path) == path and path.stat().st_size > 10_000
    assert far.dg.cross_section(2.0).identical(cross_section(far, 2.0))


def test_what_does_not_do_is_named():
    import matplotlib.pyplot as plt

    flat, solid = cylinder(), far_of(np.ones((2, 90)), directions(90, "yz"))
    for far, options, message in (
            (flat, {"scale": "db"}, r"scale 'db' does not exist; allowed: dB, linear \(did you mean 'dB'\?\)"),
            (flat, {"plane": "xy"}, "plane='xy' is for 3D; this far field is 2D"),
            (flat, {"reference": 0.0}, "reference=0.0 is not allowed; it must be a positive number"),
            (flat, {"span": -3}, "span=-3 is not allowed"),
            (flat, {"ax": plt.figure().add_subplot()}, "ax must be polar axes"),
            (flat.isel(direction=slice(0, 2)), {}, "no 8 directions in a plane along the axes"),
            (solid, {"plane": "zx"}, "plane 'zx' does not exist; allowed: xy, xz, yz"),
            (solid, {"plane": "xz"}, r"has 0 directions in it; a curve needs 8, such as .*directions\(360, 'xz'\)"),
            (solid.drop_vars("direction_y"), {}, "the far field lacks direction_y")):
        with pytest.raises(ValueError, match=message):
            far.dg.plot_pattern(**options)
    for arguments, message in (((0,), "count=0 is not allowed"), ((8, "zy"), "plane 'zy' does not exist")):
        with pytest.raises(ValueError, match=message):
            directions(*arguments)
