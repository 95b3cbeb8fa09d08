"""What boundary conditions say of the unknown at a record: the total or the scattered field, and of which wave."""
import numpy as np
import pytest

import dgarray as dg
from dgarray.analysis.scattered_fields import unknown_at

LAW = dg.Maxwell(2)
WAVE = dg.plane_wave(LAW, (1, 0), (0, 0, 1.0), np.sin)
NAME = {"incident": "plane_wave((1, 0), (0, 0, 1))"}


def size(x):
    return np.maximum(abs(x[0]), abs(x[1]))


def nested(cells="quadrilateral"):
    """Squares in each other: regions "core", "a", "b", "c", interfaces "inner", "ab", "bc" and, the other way, "cb"."""
    mesh = dg.rectangle((-2, -2), (2, 2), cells=8, shape="quadrilateral" if cells == "refined" else cells)
    if cells == "refined":
        mesh = mesh.refined([0])
    mesh = mesh.with_regions({"core": lambda x: size(x) < 0.5, "a": lambda x: (size(x) < 1) & (size(x) > 0.5),
                              "b": lambda x: (size(x) > 1) & (size(x) < 1.5), "c": lambda x: size(x) > 1.5})
    return mesh.with_interfaces({"inner": ("core", "a"), "ab": ("a", "b"), "bc": ("b", "c"), "cb": ("c", "b")})


@pytest.mark.parametrize("cells", ["quadrilateral", "triangle", "mixed", "refined"])
def test_of_nested_interfaces(cells):
    mesh = nested(cells)

    def kinds(boundary):
        found = [unknown_at(mesh, boundary, (name,)) for name in ("inner", "ab", "bc", "cb", "left")]
        assert all(each.get("incident") == NAME["incident"] for each in found)
        return [each.get("field", "?")[0] for each in found]
    assert kinds({"ab": dg.total_field(WAVE), "default": dg.pec}) == ["t", "t", "s", "s", "s"]
    assert kinds({"bc": dg.total_field(WAVE), "default": dg.pec}) == ["t", "t", "t", "s", "s"]
    assert kinds({"cb": dg.total_field(WAVE), "default": dg.pec}) == ["s", "s", "s", "t", "t"]
    assert kinds({"cb": dg.total_field(WAVE, side="outside"), "default": dg.pec}) == ["t", "t", "t", "s", "s"]
    # A shell of the scattered field, and what contradicts itself.
    assert kinds({"ab": dg.total_field(WAVE), "cb": dg.total_field(WAVE), "default": dg.pec}) == ["t", "t", "s", "t", "t"]
    assert kinds({"inner": dg.total_field(WAVE), "bc": dg.total_field(WAVE), "default": dg.pec}) == ["t", "?", "?", "s", "s"]


def test_of_boundaries():
    mesh = nested()
    for boundary, kind in (({"default": dg.incident(WAVE)}, "total"),
                           ({"left": dg.incident(WAVE), "default": dg.absorbing}, "total"),
                           ({"top": dg.absorbing, "default": dg.incident(WAVE)}, "total"),
                           ({"left": dg.scattered(dg.pec, WAVE), "default": dg.absorbing}, "scattered")):
        assert unknown_at(mesh, boundary, ("ab",)) == {"field": kind} | NAME
        assert unknown_at(mesh, boundary, ("left", "top")) == {"field": kind} | NAME
    both = {"left": dg.scattered(dg.pec, WAVE), "default": dg.incident(WAVE)}
    assert unknown_at(mesh, both, ("ab",)) == NAME
    for boundary in ({"default": dg.absorbing}, {"left": dg.pec, "default": dg.absorbing}):
        assert unknown_at(mesh, boundary, ("ab",)) == {}
    grid = dg.Grid((0, 0), (1, 1), (4, 4))
    assert unknown_at(grid, {"left": dg.incident(WAVE), "default": dg.absorbing}, ("top",)) == {"field": "total"} | NAME


def test_of_parts_that_touch_different_boundaries():
    """A body that cuts the mesh in two: only the half with the condition is known by it."""
    mesh = dg.rectangle((0, 0), (3, 1), cells=(6, 2), shape="quadrilateral").with_regions(
        {"left half": lambda x: x[0] < 1.5, "right half": lambda x: x[0] > 1.5}).with_interfaces(
        {"middle": ("left half", "right half")}).cut("middle")
    boundary = {"left": dg.incident(WAVE), "middle": dg.pec, "default": dg.absorbing}
    assert [unknown_at(mesh, boundary, (name,)).get("field") for name in ("left", "right")] == ["total", None]
    assert unknown_at(mesh, boundary, ("middle",)) == NAME          # both sides, of which one is unknown


def test_waves_that_differ_are_not_named():
    mesh, other = nested(), dg.plane_wave(LAW, (0, 1), (0, 0, 1), np.sin)
    boundary = {"ab": dg.total_field(WAVE), "bc": dg.total_field(other, side="outside"), "default": dg.pec}
    assert "incident" not in unknown_at(mesh, boundary, ("ab",))
    boundary = {"ab": dg.total_field(lambda x, t: (0.0, 0.0, 0.0)), "default": dg.pec}
    assert unknown_at(mesh, boundary, ("bc",)) == {"field": "scattered"}
    same = dg.plane_wave(LAW, np.array([1.0, -0.0]), [0, 0, 1], np.cos)
    assert same.plane == WAVE.plane == NAME["incident"]


@pytest.mark.filterwarnings("ignore:record '")
def test_records_have_it_and_how_much_is_left(tmp_path):
    """In memory, on disk, and after a restart; the fields of the record come from `total_field` alone."""
    boundary = {"ab": dg.total_field(dg.plane_wave(LAW, (1, 0), (0, 0, 1), lambda s: np.exp(-9 * (s - 1) ** 2))),
                "default": dg.absorbing}
    record = {"there": dg.Fourier([0.2, 0.4], boundary="bc"), "here": dg.Fourier(0.3, boundary="ab", variables=("Ez", "Hx")),
              "over_time": dg.SurfaceFields("ab")}
    sim = dg.Simulation(nested(), LAW, dg.TensorDG(1), boundary, until=1.5, backend="numpy", kernels="array", record=record)
    ds = sim.run(out=tmp_path / "a.zarr", checkpoint_every=0.4)
    sim.run(out=tmp_path / "b.zarr", until=0.7)
    again = sim.run(out=tmp_path / "b.zarr", restart=True)
    memory = sim.run()
    for dataset in (ds, again, memory):
        there, here, over_time = (dataset.dg.record(name) for name in record)
        assert [r.attrs["field"] for r in (there, here, over_time)] == ["scattered", "total", "total"]
        assert {r.attrs["incident"] for r in (there, here, over_time)} == set(NAME.values())
        for name in here.data_vars:
            whole, end = here[name].attrs["largest"], here[name].attrs["largest_at_end"]
            assert whole == end == float(abs(over_time[name]).max()) > 0          # less than two stretches
