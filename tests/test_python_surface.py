"""What Python and notebooks show of the package: names, annotations, docstrings, tables, pictures, PyVista."""
import inspect
import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dgarray as dg
from dgarray.mesh import MeshError
from dgarray.output.vtk import to_pyvista

pytest.importorskip("matplotlib", exc_type=ImportError).use("agg")
plt = pytest.importorskip("matplotlib.pyplot", exc_type=ImportError)
ROOT = Path(__file__).parents[1]
ARRAYS = {"backend": "numpy", "kernels": "array"}
GAS = dg.Euler(dim=2)


def documented():
    """{name: function} of the reference: its functions, constructors, and the members that it lists or all of a class."""
    found = {}
    text = "\n".join(page.read_text() for page in sorted((ROOT / "docs" / "api").glob("*.md")))
    entry = r"^\.\. auto(function|class):: ([\w.]+)(?:\(\))?\n((?:   .*\n| {6,}.*\n)*)"
    for kind, name, options in re.findall(entry, text, re.M):
        parts, thing = name.removeprefix("dgarray.").split("."), dg
        for part in parts:
            thing = getattr(thing, part) if hasattr(thing, part) else __import__(f"{thing.__name__}.{part}", fromlist=["_"])
        if kind == "function":
            found[name] = thing
            continue
        listed = re.search(r":members:(.*(?:\n {9,}.*)*)", options)
        members = re.findall(r"\w+", listed[1]) if listed else []
        if listed and not members:
            members = [member for member in vars(thing) if not member.startswith("_")]
        for member in ("__init__", *members):
            value = inspect.getattr_static(thing, member)
            value = getattr(value, "fget", None) or getattr(value, "func", value)
            if inspect.isfunction(value) and value.__module__.startswith("dgarray"):
                found[f"{name}.{member}"] = value
    return {name: function for name, function in found.items() if not re.search(r"Error|Interrupted|State.__init__", name)}


def exported():
    """{name: function} of the names of dgarray: functions, and the public members of classes and of conditions."""
    found = {}
    for name in dg.__all__:
        thing = getattr(dg, name)
        if inspect.isfunction(thing):
            found[name] = thing
            continue
        for base in (thing if inspect.isclass(thing) else type(thing)).__mro__:
            for member, value in vars(base).items() if base.__module__.startswith("dgarray") else ():
                value = getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "__func__", value)
                if inspect.isfunction(value) and (not member.startswith("_") or member == "__call__"):
                    found[f"{name}.{member}"] = value
    return found


def test_public_functions_are_annotated():
    wrong, functions = [], documented() | exported()
    for name, function in functions.items():
        signature = inspect.signature(function)
        wrong += [f"{name}({p.name})" for p in signature.parameters.values() if p.annotation is p.empty and p.name != "self"]
        wrong += [f"{name} ->"] * (signature.return_annotation is signature.empty and not name.endswith("__init__"))
    assert len(functions) > 200 and not wrong, wrong


CONSTRUCTORS = [getattr(dg, name) for name in dg.__all__ if name not in (
    "Law", "Method", "Operator", "GridOperator", "Mesh", "Gradient", "SolutionError", "OutputError", "Interrupted", "pec",
    "pmc", "wall", "pressure_release", "absorbing", "outflow")]          # none that users call, and conditions of runs


@pytest.mark.parametrize("made", CONSTRUCTORS, ids=lambda made: made.__name__)
def test_docstrings_describe_every_parameter(made):
    text = inspect.getdoc(made)
    entry = r"(?m)(?:^|[\s(`]){}(?:`|,|:| {{2,}}| is )"
    missing = [name for name in inspect.signature(made).parameters if not re.search(entry.format(name), text)]
    # A numerical flux is a function of the law alone, which its first line says.
    assert missing in ([], ["law"]) if inspect.signature(made).parameters.keys() == {"law"} else not missing, missing


def test_names_for_completion():
    assert set(dir(dg)) == {*dg.__all__, "__version__", "__doc__"}
    package_data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    assert "py.typed" in package_data["dgarray"] and (ROOT / "dgarray" / "py.typed").is_file()


class Text(HTMLParser):
    """The text of a page, and whether all that was opened is closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.text = [], ""
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += f"{data} "


def test_tables_for_notebooks():
    mesh = dg.rectangle(cells=(2, 2)).with_regions({"a<b>": lambda x: x[0] < 0.5})
    law = dg.Maxwell(2, eps={"a<b>": 2.0, "rest": 1.0})
    sim = dg.Simulation(mesh, law.__class__(2), dg.NodalDG(2), {"left": dg.pec, "default": dg.absorbing}, **ARRAYS)
    for shown, facts in ((mesh, ["8 triangle", "'left' (2 faces)", "'a<b>' (4 cells)"]), (law, [repr(law), "Ez", "F*_Ez"]),
                         (dg.NodalDG(2), [repr(dg.NodalDG(2)), "quadrature"]),
                         (dg.Grid((0, 0), (1, 1), 4, True), ["(4, 4)", "(True, True)"]),
                         (sim, [repr(sim.law), repr(sim.method), repr(sim.backend), "lsrk54", "boundary left pec"])):
        page = shown._repr_html_()
        assert "<b>" not in page and "color: #" not in page and not (missing := [
            fact for fact in facts if fact not in " ".join(Text(page).text.split())]), missing

    halves = dg.interval(cells=2).with_regions({"a": lambda x: x[0] < 0.5, "b": lambda x: x[0] > 0.5})
    laws = {"a": dg.Maxwell(1), "b": dg.Maxwell(1, eps=2.0)}
    several = dg.Simulation(halves, laws, dg.NodalDG(2), dg.pec, **ARRAYS)
    assert repr(several).startswith(f"Simulation({laws!r}") and f"\n  law of b {laws['b']!r}\n" in repr(several)
    assert f"law of b {laws['b']!r}" in " ".join(Text(several._repr_html_()).text.split())

    class Odd(dg.Law):
        dim, variables = 1, ("u",)

        def flux(self, q, n):
            return (q[0] if q[0] > 0 else 0.0,)

        def wave_speed(self, q, n):
            return 1.0
    assert "np.where" in Text(Odd()._repr_html_()).text


DISC = dg.rectangle((-1, -1), (1, 1), cells=(2, 2), shape="quadrilateral").mapped(
    lambda x: tuple(a * np.sqrt(1 - b ** 2 / 3) for a, b in zip(x, x[::-1])), order=3)


@pytest.mark.parametrize("mesh, names", [
    (dg.interval(0, 1, 3).with_regions({"one": [0]}), ["region one", "left", "right"]),
    (DISC.with_regions({"a": [0], "b": [1, 2, 3]}).with_interfaces({"cut": ("a", "b")}),
     ["region a", "region b", "left", "right", "bottom", "top", "cut"]),
    (dg.rectangle(cells=2, periodic=(True, False)), ["bottom", "top", "periodic: left = right"]),
    (dg.box(cells=2), ["left", "right", "front", "back", "bottom", "top"]),
    (dg.Grid(0, 1, 5), ["left", "right"]),
    (dg.Grid((0, 0), (1, 1), (4, 200), (True, False)), ["bottom", "top", "periodic along x"]),
    (dg.Grid((0, 0, 0), (1, 1, 1), 3), ["left", "right", "front", "back", "bottom", "top"])],
    ids=["interval", "curved", "periodic", "box", "line", "grid", "lattice"])
def test_meshes_draw_themselves(mesh, names, tmp_path):
    path = tmp_path / "mesh.png"
    assert mesh.plot(path) == path and path.stat().st_size > 5000
    ax = mesh.plot()
    legend = ax.get_legend() or ax.figure.legends[0]
    assert [text.get_text() for text in legend.get_texts()] == names
    assert ("every 2 cells" in ax.get_title()) == ("200" in repr(mesh))
    plt.close("all")


def test_curved_edges_are_drawn_curved():
    ax = DISC.plot()
    points = ax.collections[1].get_paths()[0].vertices
    middle, chord = points[len(points) // 2], points[[0, -1]].mean(axis=0)
    assert len(points) == 9 and np.linalg.norm(middle - chord) > 0.03
    with pytest.raises(MeshError, match=r"boundary 'lefft' does not exist in the mesh; it has: .*did you mean 'left'"):
        DISC.plot(boundary="lefft")
    with pytest.raises(ValueError, match="ax and path are both given"):
        DISC.plot("disc.png", ax=ax)
    plt.close("all")


def gas_state(x):
    return GAS.conservative((1.0 + 0 * x[0], 0.3 + 0.1 * x[0], 0.1 * x[1], 1.0 + 0 * x[0]))


def gas_run(mesh, method, **boundary):
    return dg.Simulation(mesh, GAS, method, initial=gas_state, **boundary, **ARRAYS)


@pytest.fixture(scope="module")
def gas():
    sim = gas_run(dg.rectangle(cells=(2, 2)), dg.NodalDG(2), boundary={"left": dg.inflow((1, 0.3, 0, 2.5)), "default": dg.wall})
    return sim, sim.run(until=0.02, every=0.01)


def test_the_initial_state_draws_itself(gas, tmp_path):
    sim, path = gas[0], tmp_path / "state.png"
    assert sim.plot("mach", path) == path and path.stat().st_size > 5000
    ax = sim.plot()          # the density is constant
    assert ax.get_title() == "momentum density rho_u at t = 0"
    assert [text.get_text() for text in ax.figure.legends[0].get_texts()] == [
        "left: inflow((1.0, 0.3, 0.0, 2.5))", "right: wall", "bottom: wall", "top: wall"]
    box = dg.Simulation(dg.box(cells=1), dg.Acoustics(3), dg.NodalDG(1), dg.wall, lambda x: (x[0], 0.0, 0.0, 0.0), **ARRAYS)
    assert "in the plane z = 0.5" in box.plot().get_title()
    with pytest.raises(ValueError, match="did you mean 'mach'"):
        sim.plot("mahc")
    plt.close("all")


def test_derived_fields_by_name(gas, tmp_path):
    ds = gas[1]
    ax = ds.dg.plot("mach", time=0)
    mach = GAS.mach(tuple(ds[name].values for name in GAS.variables))
    with_mach = ds.dg.with_fields("mach", "u")
    assert_allclose(with_mach.mach, mach)
    assert_allclose(ax.collections[0].get_array().max(), mach[0].max(), rtol=0.02)
    assert ds.dg.animate("u", tmp_path / "u.gif").stat().st_size > 1000
    there = with_mach.dg.sample([(0.4, 0.3)], time=0)
    assert_allclose(there["mach"], GAS.mach(gas_state((0.4, 0.3))), rtol=1e-3)
    with pytest.raises(ValueError, match="did you mean 'mach'"):
        ds.dg.with_fields("mahc")
    for asked in (ds.dg.norm, ds.dg.integral, ds.dg.values):
        with pytest.raises(ValueError, match=r"its law gives it: take ds\.dg\.with_fields\('mach'\)\.dg in place"):
            asked("mach")
    plt.close("all")


def test_pyvista_has_the_cells_and_values(gas, monkeypatch):
    pytest.importorskip("pyvista")
    ds = gas[1]
    cells = ds.dg.to_pyvista(time=0)
    named = cells.cell_data["boundary"]
    names = {str(cells.field_data["boundary_names"][number]) for number in named}
    assert names == {"elements", "left", "right", "bottom", "top"}
    inner = cells.extract_cells(named == 0)
    assert_allclose(inner.tessellate().compute_cell_sizes().cell_data["Area"].sum(), 1.0)
    assert_allclose(inner.point_data["rho_u"], 0.3 + 0.1 * inner.points[:, 0], rtol=1e-9)
    assert set(ds.dg.to_pyvista("rho").point_data) == {"rho"} and float(cells.field_data["TimeValue"][0]) == 0.0
    grid = gas_run(dg.Grid((0, 0), (1, 1), (8, 8), True), dg.FiniteVolume()).run(until=0.01)
    image = grid.dg.to_pyvista("E")
    assert image.dimensions == (9, 9, 1) and np.array_equal(image.cell_data["E"], grid.E.values[-1].ravel())
    monkeypatch.setitem(__import__("sys").modules, "pyvista", None)
    with pytest.raises(ImportError, match=r"pip install 'dgarray\[volume\]'"):
        to_pyvista.need_pyvista()
