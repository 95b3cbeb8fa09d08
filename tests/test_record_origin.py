"""What a record knows of its run, law, media, mirrors, layers, units, and what its users take from it or refuse."""
import json
from dataclasses import replace

import numpy as np
import pytest

import dgarray as dg
from dgarray.analysis.cross_sections import cross_sections
from dgarray.analysis.farfield import cross_section, directions, near_to_far
from dgarray.analysis.mirror_images import with_mirror_images
from dgarray.analysis.ports import s_parameters
from dgarray.analysis.surface_currents import surface_currents

LIGHT, EPS_0 = 299792458.0, 8.8541878188e-12
ARRAYS = {"backend": "numpy", "kernels": "array"}
SMALL = {"until": 1e-3, **ARRAYS}


def size(x):
    return np.maximum(abs(x[0]), abs(x[1]))


def squares(cells=8, layer=True):
    """A square of regions "in", |x|, |y| < 0.5, and "out" up to 1, with the interface "s" between them, in a layer."""
    mesh = dg.rectangle((-1, -1), (1, 1), cells=cells, shape="quadrilateral")
    mesh = mesh.with_regions({"in": lambda x: size(x) < 0.5, "out": lambda x: size(x) > 0.5}).with_interfaces({"s": "in"})
    return dg.pml(mesh, 0.5, 2) if layer else mesh


def recorded(law, mesh=None, boundary=None, names="s", **options):
    """The record of a run that is short: only where it comes from counts."""
    mesh, default = squares() if mesh is None else mesh, dg.pec if getattr(law, "fields", None) else dg.wall
    with_options = {"record": {"r": dg.Fourier(0.1, boundary=names)}, **SMALL, **options}
    ds = dg.Simulation(mesh, law, dg.TensorDG(1), default if boundary is None else boundary, **with_options).run()
    return ds.dg.record("r")


# Mirrors and media, against exact far fields of line sources.

WIDTH, PLACE, LENGTH = 0.15, np.array([0.35, 0.1]), 0.5
SOUND = dg.Acoustics(2, density=2.0, sound_speed=1.5)
LIGHT_IN_GLASS = dg.Maxwell(2, eps=2.25 * EPS_0, units="SI")


@pytest.mark.parametrize("law, mirror, plane", [(SOUND, dg.wall, "hard"), (SOUND, dg.pressure_release, "soft"),
                                                (LIGHT_IN_GLASS, dg.pec, "pec"), (LIGHT_IN_GLASS, dg.pmc, "pmc")],
                         ids=["hard", "soft", "pec", "pmc"])
def test_a_line_source_and_its_image(law, mirror, plane):
    """The run is the half x > 0; the far field is that of the source and its image, in the medium of the run, SI or not."""
    light = law.fields
    mu = law.parameters["mu"] if light else 2.0
    speed = (law.parameters["eps"] * mu) ** -0.5 if light else 1.5
    mesh = dg.rectangle((0, -1), (1, 1), cells=(4, 8), shape="quadrilateral")
    mesh = mesh.with_regions({"near": lambda x: (x[0] < 0.75) & (abs(x[1]) < 0.75)}).with_interfaces({"s": "near"})
    mesh = dg.pml(mesh, 0.75, 3, boundary=("right", "bottom", "top"))
    centre, length, k = 1.6 / speed, LENGTH / speed, np.array([2.0, 3.5])
    f = k * speed / (2 * np.pi)
    source = dg.current(law, PLACE, (0, 0, 1.0) if light else 1.0, WIDTH, lambda t: np.exp(-((t - centre) / length) ** 2))
    ds = dg.Simulation(mesh, law, dg.TensorDG(4), {"left": mirror, "default": dg.pec if light else dg.wall}, source=source,
                       until=7.0 / speed, record={"s": dg.Fourier(f, boundary="s", every=2)}, backend="numpy").run()
    record, u, omega = ds.dg.record("s"), directions(12), 2 * np.pi * f
    assert json.loads(record.attrs["mirrors"]) == {"x": plane}
    far = near_to_far(with_mirror_images(record), u)
    spectrum = np.sqrt(np.pi) * length * np.exp(-(omega * length / 2) ** 2 - 1j * omega * centre)
    A = np.exp(-0.25j * np.pi) / np.sqrt(8 * np.pi * k) * np.exp(-(k * WIDTH / 2) ** 2)
    strength = mu * (-1j * omega) * (1j * omega * spectrum) if light else mu * (1j * omega) ** 2 * spectrum
    sign = 1 if plane in ("hard", "pmc") else -1
    phases = [np.exp(1j * k[:, None] * (u @ (PLACE * (way, 1)))) for way in (1, -1)]
    exact = (strength * A)[:, None] * (phases[0] + sign * phases[1])
    assert np.abs(far["Ez" if light else "p"].values - exact).max() < 5e-3 * np.abs(exact).max()
    if light:
        assert far.Ez.attrs["units"] == "V/m s m^0.5" and cross_section(far).attrs["units"] == "m"
    with pytest.raises(ValueError, match=rf"the run ends at the mirror x = 0 \('{plane}'\), outside of the record at 's'"):
        near_to_far(closed(record), u)
    assert with_mirror_images(record, {"x": mirror}).identical(with_mirror_images(record, {"x": plane}))


def closed(fields):
    """The fields on the whole surface, as if nothing said that the images are there."""
    whole = with_mirror_images(fields)
    del whole.attrs["images"]
    return whole


def test_mirrors_that_are_not_those_of_the_run():
    mesh = dg.rectangle(cells=4, shape="quadrilateral").with_regions({"a": lambda x: x[0] + x[1] < 0.7})
    mesh = mesh.with_interfaces({"s": "a"})
    light = recorded(dg.Maxwell(2), mesh, {"left": dg.pec, "bottom": dg.pmc, "default": dg.absorbing})
    assert json.loads(light.attrs["mirrors"]) == {"x": "pec", "y": "pmc"}
    assert json.loads(with_mirror_images(light).attrs["images"]) == {"x": "pec", "y": "pmc"}
    sound = recorded(dg.Acoustics(2), mesh, {"left": dg.wall, "default": dg.absorbing})
    own = recorded(dg.Acoustics(2), mesh, {"left": lambda q: (q[0], -q[1], q[2]), "default": dg.absorbing})
    assert json.loads(with_mirror_images(own, {"x": "hard"}).attrs["images"]) == {"x": "hard"}
    for fields, planes, message in (
            (light, {"x": "pmc"}, "planes: 'pmc' at x = 0 is not what the run has, 'pec'"),
            (light, {"x": "hard"}, "the condition at x = 0 'hard' does not exist; allowed: pec, pmc"),
            (sound, {"x": "pec"}, "the condition at x = 0 'pec' does not exist; allowed: hard, soft"),
            (sound, {"y": "absorbing"}, "does not exist; allowed: hard, soft"),
            (with_mirror_images(sound, {"x": "hard"}), {"x": "hard"}, "have their images in x = 0 already"),
            (recorded(dg.Acoustics(2)), None, "knows no mirror of its run at a plane through the origin"),
            (recorded(dg.Acoustics(2)), {"x": "hard"}, "is not what the run has, 'no mirror'"),
            (sound, {"y": "hard"}, "planes: 'hard' at y = 0 is not what the run has, 'absorbing'; its mirrors are"),
            (light.drop_vars([*light.data_vars]).assign(u=light.Ez), None, "the fields u have no images that are known"),
            (light.assign_attrs(law="Mine"), None, "has fields of the law Mine; they must be of Maxwell's equations")):
        with pytest.raises(ValueError, match=message):
            with_mirror_images(fields, planes)
    wave = dg.plane_wave(dg.Maxwell(2), (1, 0), (0, 0, 1), lambda s: np.exp(-s * s))
    with pytest.raises(ValueError, match="the incident field is not symmetric as the mirror x = 0"):
        cross_sections(with_mirror_images(light + 1).assign_attrs(time_span=[-9, 9]), wave)


def test_currents_have_images_as_the_fields_have():
    """Those of the images of the fields are the images of those of the fields."""
    run = dg.Simulation(dg.box(cells=1), dg.Maxwell(3), dg.NodalDG(1), dg.pec, lambda x: (1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
                        record={"r": dg.SurfaceFields(("right", "top"))}, **SMALL)
    for plane in (dg.pec, dg.pmc):
        fields = run.replace(boundary=plane).run().dg.record("r")
        assert json.loads(fields.attrs["mirrors"]) == dict.fromkeys("xyz", plane.__name__)
        one, other = surface_currents(with_mirror_images(fields)), with_mirror_images(surface_currents(fields))
        for name in ("Jx", "Jy", "Jz", "rho"):
            assert float(abs(one[name]).max()) > 0.1
            np.testing.assert_allclose(one[name], other[name], atol=1e-12)


@pytest.mark.parametrize("law, message", [
    (dg.Maxwell(2, sigma={"in": 0.0, "out": 0.1}), "it conducts: sigma is 0.1"),
    (dg.Maxwell(2, eps={"in": 1.0, "out": 1 + dg.Debye(1.0, 0.1)}), "eps is dispersive there"),
    (dg.Maxwell(2, "TE", eps={"in": (1.0, 1.0, 1.0), "out": (1.0, 2.0, 1.0)}), "it is a tensor there"),
    (dg.Maxwell(2, eps=lambda x: np.where(x[1] > 0.75, 2.0, 1.0)), "eps lies between 1 and 2 there"),
    (dg.Acoustics(2, density=lambda x: np.where(x[1] > 0.75, 2.0, 1.0)), "density lies between 1 and 2 there")])
def test_media_around_a_surface_that_have_no_far_field(law, message):
    record = recorded(law)
    for use in (lambda: near_to_far(record, directions(4)),
                lambda: cross_sections(record + 1, lambda x, t: (np.exp(-t * t) + 0 * x[0],) * 3)):
        with pytest.raises(ValueError, match=f"the medium around the surface of the record at 's' must .*, but {message}"):
            use()


def test_the_medium_is_that_outside_of_the_surface():
    """Inside it may be any; normals may point either way; a number that is given must be that of the run."""
    law = dg.Maxwell(2, eps={"in": 9.0, "out": 4.0}, mu=2.0)
    mesh = squares().with_interfaces({"inward": ("out", "in")})
    for name in ("s", "inward"):
        record = recorded(law, mesh, names=name)
        assert near_to_far(record, directions(4)).attrs == {"eps": 4.0, "mu": 2.0}
        for given in ({"eps": 9.0}, {"mu": 1.0}):
            (key, value), = given.items()
            with pytest.raises(ValueError, match=rf"{key}={value} is not allowed, because the run has {key}=. around the surf"):
                near_to_far(record, directions(4), **given)
        assert near_to_far(record, directions(4), eps=4.0).attrs["eps"] == 4.0
        with pytest.raises(ValueError, match="sound_speed=1.5 is not allowed of the fields Hx, Hy, Ez, whose medium has eps"):
            near_to_far(record, directions(4), sound_speed=1.5)
    hole = recorded(dg.Acoustics(2, sound_speed=3.0), squares(layer=False), names=("left", "right", "bottom", "top"))
    assert near_to_far(hole, directions(4)).attrs == {"density": 1.0, "sound_speed": 3.0}
    unknown = hole.drop_attrs(deep=False).assign_attrs({key: hole.attrs[key] for key in ("order", "nodes")})
    assert near_to_far(unknown, directions(4)).attrs["sound_speed"] == 1.0
    unknown.p.attrs["units"] = "Pa s"
    with pytest.raises(ValueError, match="does not say the medium .* but has the units Pa s; give density= and sound_speed="):
        near_to_far(unknown, directions(4))


def test_other_laws_and_waves_of_other_laws():
    class Moving(dg.Acoustics):
        def flux(self, q, n):
            return tuple(f + 0.1 * n[0] * c for f, c in zip(super().flux(q, n), q))

        upwind = None
    with pytest.raises(ValueError, match="the record at 's' has fields of the law Moving; they must be of Maxwell's"):
        near_to_far(recorded(Moving(2), squares(layer=False)), directions(4))
    TM, TE, glass = dg.Maxwell(2), dg.Maxwell(2, "TE"), dg.Maxwell(2, eps=4.0)
    of_TM, in_glass = (dg.plane_wave(law, (1, 0), (0, 0, 1), np.sin) for law in (TM, glass))
    with pytest.raises(ValueError, match="is a wave of another law than Maxwell.*, with Hx, Hy, Ez"):
        recorded(TE, squares(layer=False), {"s": dg.total_field(of_TM), "default": dg.pec})
    for name, value in (("source", dg.current(TM, (0, 0), (0, 0, 1), 0.1, np.sin)), ("exact", of_TM), ("initial", of_TM)):
        with pytest.raises(ValueError, match=rf"{name}=.* was made for a law with Hx, Hy, Ez, but the law is .*'TE'"):
            recorded(TE, squares(layer=False), **{name: value})
    with pytest.raises(ValueError, match="is a wave of a law with Hx, Hy, Ez, but the record at 's' is one of Ex, Ey, Hz"):
        cross_sections(recorded(TE) + 1, of_TM)
    with pytest.raises(ValueError, match="is a wave in a medium with eps=4, but around the surface of the record at 's' the"):
        cross_sections(recorded(TM) + 1, in_glass)
    with pytest.raises(ValueError, match="is a transform with the window .*, which the incident field does not have"):
        cross_sections(recorded(TM, record={"r": dg.Fourier(0.1, boundary="s", window=lambda t: 1.0)}) + 1, of_TM)
    both = {"left": dg.scattered(dg.pec, of_TM), "default": dg.incident(of_TM)}
    with pytest.raises(ValueError, match="do not say whether the record at 's' holds the scattered or the total field"):
        cross_sections(recorded(TM, squares(layer=False), both) + 1, of_TM)


# Layers and surface currents.

def test_faces_in_layers():
    law, u = dg.Maxwell(2, "TE"), directions(4)
    outer = recorded(law, names=("left", "right", "bottom", "top"))
    with pytest.raises(ValueError, match="has 48 of 48 faces in an absorbing layer or at its outer end, where the fields are"):
        near_to_far(outer, u)
    mesh = squares().with_interfaces({"deep": "pml", "first": ("out", "pml")})
    assert "in_layer" not in recorded(law, mesh, names="deep").coords          # the inner end of the layer
    near_to_far(recorded(law, mesh, names="first"), u)
    ground = dg.pml(dg.rectangle(cells=2, shape="quadrilateral"), 0.5, 1, boundary="right")
    record = dg.Simulation(ground, law, dg.TensorDG(1), dg.pec, lambda x: (0.0, 1.0, 2.0), **SMALL,
                           record={"r": dg.SurfaceFields("bottom")}).run().dg.record("r")
    found = surface_currents(record).isel(time=0)
    assert record.in_layer.values.tolist() == [0, 0, 1]
    assert np.isnan(found.Jx[2]).all() and np.allclose(found.Jx[:2], 2) and np.allclose(found.rho[:2], 1)


@pytest.mark.parametrize("given, charge, units", [
    ({"units": "SI"}, EPS_0, "C/m^2"), ({"units": "SI", "eps": 4 * EPS_0}, 4 * EPS_0, "C/m^2"),
    ({"units": {"Ex": "V/m", "Ey": "V/m"}, "eps": 2.0}, 2.0, "V/m"), ({"eps": 2.25}, 2.25, "normalised"),
    ({"sigma": 0.5, "eps": 3.0}, 3.0, "normalised"), ({"eps": {"left half": 2.0, "right half": 3.0}}, None, None),
    ({"eps": (1.0, 2.0, 1.0)}, None, None)])
def test_charges_in_the_medium_of_the_run(given, charge, units):
    """E = 1 normal to the wall, in its units: over time, over frequency, and of snapshots."""
    mesh = dg.rectangle(cells=2, shape="quadrilateral").with_regions({
        "left half": lambda x: x[0] < 0.5, "right half": lambda x: x[0] > 0.5})
    boundary, until = {"top": dg.pec, "bottom": dg.pec, "default": dg.pmc}, 1e-3 / (LIGHT if given.get("units") == "SI" else 1)
    law = dg.Maxwell(2, "TE", **given)
    ds = dg.Simulation(mesh, law, dg.TensorDG(1), boundary, lambda x: (0.0, 1.0, 0.0), until=until, **ARRAYS,
                       record={"w": dg.SurfaceFields("bottom"), "f": dg.Fourier(0.0, boundary="bottom")}).run()
    for fields, time, more in ((ds.dg.record("w"), 1.0, ""), (ds.dg.surface("bottom"), 1.0, ""),
                               (ds.dg.record("f"), until, " s" * (given.get("units") == "SI"))):
        found = surface_currents(fields)
        if charge is None:
            assert [*found] == ["Jx", "Jy"] and "rho" in surface_currents(fields, eps=2.0)
            with pytest.raises(ValueError, match="the medium at the record at 'bottom' must be uniform"):
                surface_currents(fields.drop_vars("Hz"))
        else:
            np.testing.assert_allclose(found.rho / time, charge, rtol=1e-3)
            assert found.rho.attrs["units"] == units + more
            with pytest.raises(ValueError, match="eps=7.0 is not allowed, because the run has eps="):
                surface_currents(fields, eps=7.0)


def test_currents_need_the_total_field():
    law = dg.Maxwell(2)
    wave, other = (dg.plane_wave(law, k, (0, 0, 1), np.sin) for k in ((1, 0), (0, 1)))
    record = recorded(law, squares(layer=False), {"left": dg.scattered(dg.pec, wave), "default": dg.absorbing}, "left")
    for incident, message in ((None, "the record at 'left' holds the scattered field, .*give the incident field"),
                              (other, r"the incident field of the run is plane_wave\(\(1, 0\)"),
                              (dg.plane_wave(dg.Maxwell(2, "TE"), (1, 0), (0, 1, 0), np.sin), "the incident field of the run")):
        with pytest.raises(ValueError, match=message):
            surface_currents(record, incident)


# Ports.

FREQUENCIES = np.array([0.5, 0.7, 0.9])


def guide(names=("device", "feed"), polarisation="TM", layers=("left", "right"), height=1.0, cells=(6, 2)):
    mesh = dg.rectangle((-0.5, 0), (1.0, height), cells, shape="quadrilateral").with_regions({
        "feed": lambda x: x[0] < 0, "device": lambda x: (x[0] > 0) & (x[0] < 0.5), "end": lambda x: x[0] > 0.5})
    mesh = mesh.with_interfaces({"one": names, "two": ("device", "end")})
    return dg.pml(mesh, 1.25, 3, boundary=layers) if layers else mesh


def burst(t):
    return np.exp(-((t - 11.2) / 2.8) ** 2) * np.sin(1.4 * np.pi * (t - 11.2))


def run_of(mesh, law, port, order, until, **boundary):
    record = {name: dg.Fourier(FREQUENCIES, boundary=name) for name in ("one", "two")}
    return dg.Simulation(mesh, law, dg.TensorDG(order), {"one": port.launch(burst), "default": dg.pec, **boundary}, until=until,
                         record=record, backend="numpy").run()


def test_walls_are_those_of_the_run():
    """Between pec and pmc the cutoff is half of that between pec alone: all is transmitted; other walls are refused."""
    mesh, law = guide(), dg.Maxwell(2)
    ports = [dg.Port(mesh, law, name) for name in ("one", "two")]
    ds = run_of(mesh, law, ports[0], 4, 30.0, top=dg.pmc)
    S = abs(s_parameters({"one": ds}, ports)).sel(into="one")
    assert float(S.sel(out="one").max()) < 1e-3 and float(abs(S.sel(out="two") - 1).max()) < 2e-3
    record = ds.dg.record("one")
    assert json.loads(record.attrs["walls"]) == {"bottom": "pec", "top": "pmc"}
    assert ports[0].of_record(record).mode.cutoff == pytest.approx(0.25) and ports[0].mode.cutoff == pytest.approx(0.5)
    fixed = dg.Port(mesh, law, "one", walls={"top": dg.pec, "default": dg.pec})
    for use in (lambda: fixed.waves(record), lambda: run_of(mesh, law, fixed, 1, 1e-3, top=dg.pmc)):
        with pytest.raises(ValueError, match="has the walls 'bottom': pec, 'top': pec, but the run has 'bottom': pec, 'top'"):
            use()
    with pytest.raises(ValueError, match="port 'one' ends at the boundary 'top', whose condition is impedance"):
        run_of(mesh, law, ports[0], 1, 1e-3, top=dg.impedance(0.5))
    glass = dg.Port(mesh, dg.Maxwell(2, eps=4.0), "one")
    for port, message in ((ports[1], "port 'two': the record at 'one' is not at its interface 'two'"),
                          (glass, "in a medium with eps=4, mu=1, but at the record at 'one' the run has eps=1, mu=1")):
        with pytest.raises(ValueError, match=message):
            port.waves(record)


def test_walls_that_change_at_the_port():
    mesh, law = guide(), dg.Maxwell(2)
    top = mesh.boundaries["top"]
    before = mesh.face_centres(top)[:, 0] < 0
    mesh = replace(mesh, boundaries={**mesh.boundaries, "top": top[~before], "above the feed": top[before]})
    with pytest.raises(ValueError, match=r"port 'one' ends at \(0, 1\), where walls of pec and pmc meet; put it where"):
        run_of(mesh, law, dg.Port(mesh, law, "one"), 1, 1e-3, top=dg.pmc)


def test_normals_that_point_to_the_device():
    """A short: the cells behind the port are between walls, and the feed ends in a layer."""
    law, mesh = dg.Maxwell(2), guide(("feed", "device"), layers="left")
    with pytest.raises(ValueError, match="port 'one': the normal of the interface points to cells between walls"):
        run_of(mesh, law, dg.Port(mesh, law, "one"), 1, 1e-3)
    record = recorded(law, mesh, names="one", record={"r": dg.Fourier(FREQUENCIES, boundary="one")})
    with pytest.raises(ValueError, match="points to cells between walls alone"):
        dg.Port(mesh, law, "one").waves(record)
    assert "behind" not in recorded(law, guide(layers="left"), names="one").attrs
    assert "behind" not in recorded(law, guide(layers=None), names="one").attrs          # closed on both sides
    deep = guide(layers=None).with_regions({"a": lambda x: x[0] < -0.25, "b": lambda x: (x[0] > -0.25) & (x[0] < 0)})
    deep = dg.pml(deep.with_interfaces({"in": ("b", "a")}), region="feed")
    with pytest.raises(ValueError, match="port 'in' lies in an absorbing layer"):
        dg.Port(deep, law, "in")


def test_the_wave_that_enters_is_as_accurate_as_the_one_that_leaves():
    """TEM in glass, 2.2 to 4 cells a wavelength: a is that of the pulse; the cells' own trace has an error of 6e-2."""
    law = dg.Maxwell(2, "TE", eps=4.0)
    mesh = guide(height=0.25, cells=(6, 1))
    ports = [dg.Port(mesh, law, name) for name in ("one", "two")]
    ds = run_of(mesh, law, ports[0], 3, 30.0)
    t = np.linspace(0, 30, 30001)
    spectrum = np.trapezoid(burst(t) * np.exp(-2j * np.pi * FREQUENCIES[:, None] * t), t, axis=1)
    exact = 0.5 * spectrum / 2 / np.sqrt(0.5)
    a, b = ports[0].waves(ds.dg.record("one")).a.values, ports[1].waves(ds.dg.record("two")).b.values
    assert abs(a / exact - 1).max() < 1e-4
    assert abs(b / exact * np.exp(2j * np.pi * FREQUENCIES) - 1).max() < 1e-2


def test_records_on_cells_of_two_orders_know_as_much():
    """What places, layers and units are made of stays a coordinate where the zones of a run become one."""
    law, mesh = dg.Maxwell(3, units="SI"), dg.box(cells=2, shape="hexahedron")
    mesh = mesh.with_regions({"a": lambda x: x[0] < 0.5, "b": lambda x: x[0] > 0.5})
    sides = ("left", "right", "front", "back", "bottom", "top")
    options = {"until": 1e-12, "record": {"r": dg.Fourier(1e8, boundary=sides)}, **ARRAYS}

    def linear(x):
        return (x[1], x[2], x[0], 1e-3 * x[2], 1e-3 * x[0], 1e-3 * x[1])
    one, two = (dg.Simulation(mesh, law, dg.TensorDG(order), dg.absorbing, linear, **options).run().dg.record("r")
                for order in (2, {"a": 1, "b": 2}))
    assert set(one.coords) == set(two.coords) and set(one.data_vars) == set(two.data_vars)
    u = np.array([(0.6, 0.48, 0.64), (0.0, -0.6, 0.8)])
    for name in ("Ex", "Ez"):
        far = [near_to_far(record, u)[name] for record in (one, two)]
        assert far[0].attrs == far[1].attrs and float(abs(far[0]).max()) > 0
        np.testing.assert_allclose(far[1], far[0], rtol=1e-2, atol=1e-2 * float(abs(far[0]).max()))
    mesh = squares().with_regions({"left half": lambda x: x[0] < 0, "right half": lambda x: x[0] > 0})
    outer = dg.Simulation(mesh, dg.Maxwell(2), dg.TensorDG({"left half": 1, "default": 2}), dg.pec, record={
        "r": dg.Fourier(0.1, boundary=("left", "right", "bottom", "top"))}, **SMALL).run().dg.record("r")
    with pytest.raises(ValueError, match="has 48 of 48 faces in an absorbing layer or at its outer end"):
        near_to_far(outer, directions(4))


def test_the_medium_of_laws_by_region_with_a_default():
    for near, far in (("in", "default"), ("default", "out")):
        record = recorded({near: dg.Acoustics(2, density=9.0), far: dg.Acoustics(2, density=4.0)}, squares(layer=False))
        assert near_to_far(record, directions(4)).attrs == {"density": 4.0, "sound_speed": 1.0}
