"""Walls, sheets, sources and waves that go on in an absorbing layer: against a longer domain, or refused by name."""
from dataclasses import replace

import numpy as np
import pytest

import dgarray as dg

POINTS = np.random.default_rng(1).uniform((-0.9, 0.05), (0.9, 0.95), (200, 2))


def pulse(law):
    """A pulse of p, Ez or Hz in a duct."""
    number = 0 if isinstance(law, dg.Acoustics) else 2

    def state(x):
        g = np.exp(-30 * ((x[0] + 0.1) ** 2 + (x[1] - 0.35) ** 2))
        return tuple(g if v == number else 0 * g for v in range(3))
    return state, law.variables[number]


def found(mesh, law, method, boundary, until=2.0, **options):
    state, name = pulse(law)
    sim = dg.Simulation(mesh, law, method, boundary, state, until=until, backend="numpy", kernels="fused", **options)
    return sim.run().dg.sample(POINTS, time=-1)[name].values


def duct(shape, regions=None):
    mesh = dg.rectangle((-1, 0), (1, 1), (8, 4), shape=shape)
    return mesh if regions is None else mesh.with_regions(regions).with_interfaces({"sheet": ("low", "high")})


def error_of_a_layer(law, method, boundary, shape="quadrilateral", regions=None, **options):
    """The largest difference from a longer duct, over the largest value there."""
    inner = duct(shape, regions)
    layers, far = (dg.pml(inner, cells / 4, cells, boundary=("left", "right"), split=False) for cells in (4, 6))
    far = replace(far, layers=())
    exact, got = (found(mesh, law, method, boundary, **options) for mesh in (far, layers))
    return np.abs(got - exact).max() / np.abs(exact).max()


LAWS = {"sound": (dg.Acoustics(2), dg.wall), "TM": (dg.Maxwell(2), dg.pec), "TE": (dg.Maxwell(2, "TE"), dg.pec)}
WALLS = {"hard": None, "lined": dg.impedance(1.0), "half": dg.impedance(0.4), "open": dg.absorbing,
         "varying": dg.impedance(lambda x: 0.3 + x[1])}


@pytest.mark.parametrize("name", ["hard", "lined", "half", "open", "varying"])
@pytest.mark.parametrize("law", LAWS)
def test_a_lined_duct_goes_on(law, name):
    law, wall = LAWS[law]
    boundary = {"top": WALLS[name] or wall, "default": wall}
    assert error_of_a_layer(law, dg.TensorDG(4), boundary) < (1e-3 if name == "open" else 4e-4)


@pytest.mark.thorough
def test_a_lined_duct_of_triangles():
    assert error_of_a_layer(dg.Acoustics(2), dg.NodalDG(4), {"top": dg.impedance(1.0), "default": dg.wall}, "triangle") < 1e-3


@pytest.mark.thorough
@pytest.mark.parametrize("law", LAWS)
def test_a_sheet_goes_on(law):
    law, wall = LAWS[law]
    regions = {"low": lambda x: x[1] < 0.5, "high": lambda x: x[1] > 0.5}
    boundary = {"sheet": dg.resistive_sheet(0.7), "default": wall}
    assert error_of_a_layer(law, dg.TensorDG(4), boundary, regions=regions) < 1e-3


def test_a_source_goes_on():
    """-sigma E as a source of the user and as the law's own conductivity are the same bits but for rounding."""
    ends = []
    for law, source in ((dg.Maxwell(2, sigma=2.0), None), (dg.Maxwell(2), lambda q: (0.0, 0.0, -2.0 * q[2]))):
        mesh = dg.pml(duct("quadrilateral"), 1.0, 3, boundary=("left", "right"))
        ends.append(found(mesh, law, dg.TensorDG(3), dg.pec, until=1.5, source=source))
    assert np.abs(ends[0] - ends[1]).max() < 1e-13


def test_a_wave_along_a_layer_enters():
    """A plane wave that does not change along the depth enters through a side that goes on in the layer, and stays plane; one
    that comes from the layer's outer end is refused."""
    law = dg.Maxwell(2)
    wave = dg.plane_wave(law, (0, 1), (0, 0, 1), lambda s: np.exp(-20 * (s - 2) ** 2))
    mesh = dg.pml(dg.rectangle((-1, -1), (1, 1), cells=(4, 12), shape="quadrilateral"), 0.5, 2, boundary=("left", "right"))
    with pytest.raises(ValueError, match="absorbs what enters there"):
        dg.Simulation(mesh, law, dg.TensorDG(4), {"default": dg.incident(wave)})
    boundary = {"bottom": dg.incident(wave), "top": dg.absorbing, "default": dg.pmc}
    ds = dg.Simulation(mesh, law, dg.TensorDG(4), boundary, until=3.0, backend="numpy", kernels="fused").run(every=1.0)
    points = [(x, y) for x in (-0.9, 0.0, 0.9) for y in (-0.5, 0.0, 0.5)]
    exact = [[wave((np.array(x), np.array(y)), t)[2] for x, y in points] for t in (2.0, 3.0)]
    assert np.max(exact) > 0.9
    for k in (2, 3):
        assert np.abs(ds.dg.sample(points, time=k).Ez.values - exact[k - 2]).max() < 1e-3


# What is refused.

def side_layers(shape="quadrilateral"):
    return dg.pml(duct(shape), 0.5, 2, boundary=("left", "right"))


def slanted(x, t):
    g = np.exp(-20 * (t - 0.6 * x[0] - 0.8 * x[1] - 2) ** 2)
    return 0.8 * g, -0.6 * g, -g


@pytest.mark.parametrize("condition, words", [
    (dg.incident(slanted), "incident.*changes along its depth there"), (dg.prescribed(slanted), "prescribed.*changes along"),
    (dg.scattered(dg.pec, slanted), "scattered.*changes along"),
    (dg.impedance(lambda x: 1.0 + x[0] ** 2), "impedance.*changes along"),
    (lambda q, x: (q[0], q[1], -q[2] * x[0]), "lambda.*changes along")],
    ids=["incident", "prescribed", "scattered", "impedance", "own"])
def test_conditions_that_change_along_the_depth(condition, words):
    with pytest.raises(ValueError, match=f"(?s)boundary 'top': .*{words}"):
        dg.Simulation(side_layers(), dg.Maxwell(2), dg.TensorDG(2), {"top": condition, "default": dg.pec})


def test_sources_that_change_along_the_depth():
    def source(x, t):
        return 0.0, 0.0, np.sin(3 * t) * np.exp(-((x[0] - 1.0) ** 2 + (x[1] - 0.5) ** 2) / 0.04)
    with pytest.raises(ValueError, match="changes along the depth of the absorbing layer 'pml', at .* must end before the la"):
        dg.Simulation(side_layers(), dg.Maxwell(2), dg.TensorDG(2), dg.pec, source=source)


def test_walls_of_layers_whose_fields_are_stretched():
    named = dg.pml(duct("quadrilateral", {"low": lambda x: x[1] < 0.5, "high": lambda x: x[1] > 0.5,
                                          "end": lambda x: x[0] > 0.5}), region="end")
    for boundary in ({"top": dg.impedance(1.0), "default": dg.pec}, {"top": dg.absorbing, "default": dg.pec}):
        with pytest.raises(ValueError, match="boundary 'top': .* goes on in the absorbing layer 'end', whose fields are"):
            dg.Simulation(named, dg.Maxwell(2), dg.TensorDG(2), boundary)
    with pytest.raises(ValueError, match="resistive_sheet.* goes on in the absorbing layer 'end', whose fields are stretched"):
        dg.Simulation(named, dg.Maxwell(2), dg.TensorDG(2), {"sheet": dg.resistive_sheet(1.0), "default": dg.pec})
    with pytest.raises(ValueError, match="source=.* is not zero in the absorbing layer 'end'"):
        dg.Simulation(named, dg.Maxwell(2), dg.TensorDG(2), dg.pec, source=lambda q: (0.0, 0.0, -q[2]))
    dg.Simulation(named, dg.Maxwell(2), dg.TensorDG(2), {"right": dg.absorbing, "default": dg.pec})          # its outer end


@pytest.mark.parametrize("shape, where", [("box", "layer 'end' where sides meet; take a layer of new cells around a box"),
                                          ("tetra", "layer 'pml' where sides meet; take NodalDG and a layer of other cells"),
                                          ("cylinder", "cylinder 'pml'")])
def test_sound_that_would_grow_is_refused(shape, where):
    mesh = dg.box((-1, -1, 0), (1, 1, 1), (2, 2, 1), shape="hexahedron")
    method = dg.NodalDG(1) if shape == "tetra" else dg.TensorDG(2)
    if shape == "tetra":
        mesh = dg.pml(dg.box(cells=1), 0.5, 1)
    elif shape == "box":
        mesh = dg.pml(mesh.with_regions({"end": lambda x: (x[0] > 0) | (x[1] > 0)}), region="end")
    else:
        mesh = mesh.mapped(lambda x: (x[0] * np.sqrt(1 - x[1] ** 2 / 2), x[1] * np.sqrt(1 - x[0] ** 2 / 2), x[2]), 2)
        mesh = dg.pml(mesh, 0.5, 1, shape="cylinder", axis="z", boundary=("left", "right", "front", "back"))
    with pytest.raises(ValueError, match=f"sound in 3D grows in the {where}"):
        dg.Simulation(mesh, dg.Acoustics(3), method, dg.wall)
