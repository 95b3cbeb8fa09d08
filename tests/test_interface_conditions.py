"""Conditions at named faces inside of a mesh: total and scattered fields, sheets, and meshes that are cut."""
import numpy as np
import pytest

import dgarray as dg
from dgarray.mesh import MeshError

METHODS = {"quadrilaterals": (dg.TensorDG, "quadrilateral"), "lobatto": (lambda N: dg.TensorDG(N, "lobatto"), "quadrilateral"),
           "triangles": (dg.NodalDG, "triangle"), "modal": (dg.ModalDG, "triangle"), "mixed": (dg.NodalDG, "mixed")}
LAWS = {"TM": dg.Maxwell(2), "TE": dg.Maxwell(2, "TE"), "acoustics": dg.Acoustics(2)}
DIRECTION = (np.cos(0.4), np.sin(0.4))


def box_of(shape, cells, half=0.75):
    """A square of side 3 with a square of the total field inside, whose boundary is the interface "box"."""
    mesh = dg.rectangle((-1.5, -1.5), (1.5, 1.5), cells=cells, shape=shape)
    mesh = mesh.with_regions({"total": lambda x: np.maximum(abs(x[0]), abs(x[1])) < half})
    return mesh.with_interfaces({"box": "total"})


def wave_of(law, shape=lambda s: np.exp(-8 * (s - 3.0) ** 2)):
    across = (0, 0, 1) if "Ez" in law.variables else (-DIRECTION[1], DIRECTION[0], 0)
    amplitude = 1.0 if isinstance(law, dg.Acoustics) else across
    return dg.plane_wave(law, DIRECTION, amplitude, shape)


def empty_box(method, shape, cells, law, until=3.0, **options):
    """The error (root of the mean square) of a wave in an empty box, and the largest scattered field around it."""
    wave = wave_of(law)
    ds = dg.Simulation(box_of(shape, cells), law, method, {"box": dg.total_field(wave), "default": dg.absorbing},
                       until=until, every=until, **options).run()
    inside = np.random.default_rng(0).uniform(-0.74, 0.74, (1000, 2))
    ring = 1.1 * np.array([(np.cos(a), np.sin(a)) for a in np.linspace(0, 2 * np.pi, 40)])
    found, exact = ds.dg.sample(inside, time=until), wave(tuple(inside.T), until)
    errors = [np.sqrt(np.mean((found[v].values.ravel() - c) ** 2)) for v, c in zip(law.variables, exact)]
    leak = [np.abs(ds.dg.sample(ring, time=until)[v].values).max() for v in law.variables]
    return max(errors), max(leak)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("method", METHODS)
def test_a_wave_crosses_an_empty_box(method, law):
    """Inside it converges at the order N + 1; outside nothing is left but the error of the wave inside."""
    make, shape = METHODS[method]
    coarse, fine = (empty_box(make(3), shape, cells, LAWS[law]) for cells in (12, 20))
    assert np.log(coarse[0] / fine[0]) / np.log(20 / 12) > 3.9
    assert fine[0] < 1e-4 and fine[1] < 5e-5


@pytest.mark.thorough
def test_the_leak_falls_with_the_order():
    """Outside of an empty box, two wavelengths wide: below -80 dB at order 4 with 10 points a wavelength, those that neighbours
    share counted once.

    What leaks is the error of the wave inside.  The upwind flux damps a wave by (p! / (2 p + 1)!)^2 (k h)^(2 p + 2) / 2 per
    element (Ainsworth 2004), 2.1e-5 here, over five elements 1.1e-4: -79 dB of a wave along them."""
    law, mesh = LAWS["TM"], box_of("quadrilateral", 15, 0.5)
    wave = wave_of(law, lambda s: np.sin(2 * np.pi * s / 0.5) * np.exp(-((s - 4.5) ** 2)))
    ring = 1.1 * np.array([(np.cos(a), np.sin(a)) for a in np.linspace(0, 2 * np.pi, 40)])
    leaks = []
    for order in (2, 3, 4, 5):
        ds = dg.Simulation(mesh, law, dg.TensorDG(order), {
            "box": dg.total_field(wave), "default": dg.absorbing}, until=6.5, every=0.2).run()
        leaks.append(20 * np.log10(max(np.abs(ds.dg.sample(ring, time=t).Ez.values).max() for t in ds.time.values)))
    assert leaks[2] < -80 and np.all(np.diff(leaks) < [-25, -25, -14]), leaks


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", METHODS)
def test_kernels_compute_what_arrays_compute(method, dtype):
    make, shape = METHODS[method]
    x = np.random.default_rng(1).uniform(-1.4, 1.4, (100, 2))
    one, other = (dg.Simulation(box_of(shape, 8), LAWS["TM"], make(2), {
        "box": dg.total_field(wave_of(LAWS["TM"])), "default": dg.absorbing}, kernels=kernels, dtype=dtype,
        until=2.0).run().dg.sample(x, time=2.0).Ez.values for kernels in ("array", "fused"))
    assert np.abs(one).max() > 0.1 and np.abs(one - other).max() < (1e-12 if dtype == "float64" else 1e-5)


def test_the_total_field_may_be_outside():
    """A hole of scattered field in a total field."""
    law, mesh = LAWS["TM"], box_of("triangle", 16)
    wave = wave_of(law)
    ds = dg.Simulation(mesh, law, dg.NodalDG(3), {"box": dg.total_field(wave, side="outside"), "default": dg.incident(wave)},
                       until=3.0, every=3.0).run()
    assert float(abs(ds.dg.sample([(0.1, 0.2), (-0.4, 0.5)], time=3.0).Ez).max()) < 1e-4
    x = np.array([(1.2, 0.4), (-0.9, -0.3)])
    assert np.allclose(ds.dg.sample(x, time=3.0).Ez.values.ravel(), wave(tuple(x.T), 3.0)[2], atol=1e-3)


@pytest.mark.thorough
def test_total_and_scattered_field_of_a_conductor_agree():
    """A conducting square: by its boundary condition of the scattered field, and in a box of the total field."""
    def hollow(x):
        return np.maximum(abs(x[0]), abs(x[1])) > 0.26
    law, whole = LAWS["TM"], box_of("quadrilateral", 24)
    body = np.flatnonzero(~hollow(whole.centroids.T))
    mesh = whole.part(np.setdiff1d(np.arange(whole.cell_count), body), "body")
    wave, found = wave_of(law), []
    for conditions in ({"body": dg.pec, "box": dg.total_field(wave)}, {"body": dg.scattered(dg.pec, wave)}):
        found.append(dg.Simulation(mesh, law, dg.TensorDG(4), {**conditions, "default": dg.absorbing}, until=4.0).run())
    ring = 1.1 * np.array([(np.cos(a), np.sin(a)) for a in np.linspace(0, 2 * np.pi, 40)])
    one, other = (ds.dg.sample(ring, time=4.0).Ez.values for ds in found)
    assert np.abs(one).max() > 0.05 and np.abs(one - other).max() < 1e-4


@pytest.mark.thorough
@pytest.mark.parametrize("medium", [4.0, 2.0 + dg.Drude(4.0, 0.5)], ids=["glass", "metal"])
def test_the_surface_of_a_body_may_split_the_fields(medium):
    """The total field in a body of any medium, the scattered one around it: as with the whole box of the total field."""
    ring = 1.1 * np.array([(np.cos(a), np.sin(a)) for a in np.linspace(0, 2 * np.pi, 40)])
    mesh = box_of("quadrilateral", 24).with_regions({"body": lambda x: np.maximum(abs(x[0]), abs(x[1])) < 0.25,
                                                     "air": lambda x: np.maximum(abs(x[0]), abs(x[1])) > 0.25})
    mesh = mesh.with_interfaces({"skin": ("body", "air")})
    law = dg.Maxwell(2, eps={"body": medium, "air": 1.0})
    wave = dg.plane_wave(law, DIRECTION, (0, 0, 1), lambda s: np.exp(-8 * (s - 3.0) ** 2), medium="air")
    one, other = (dg.Simulation(mesh, law, dg.TensorDG(4), {name: dg.total_field(wave), "default": dg.absorbing},
                                until=4.0).run().dg.sample(ring, time=4.0).Ez.values for name in ("box", "skin"))
    assert np.abs(one).max() > 0.05 and np.abs(one - other).max() < 2e-4


@pytest.mark.parametrize("nodes", ["gauss", "lobatto"])
def test_curved_hexahedra_keep_a_uniform_state(nodes):
    """At faces inside of curved cells, of the least order that their maps allow."""
    def wavy(x):
        return tuple(c + 0.05 * (-1) ** i * np.prod(np.sin(np.pi * np.array(x)), axis=0) for i, c in enumerate(x))
    mesh = dg.box(cells=3, shape="hexahedron").mapped(wavy, order=2).with_regions({"core": lambda x: x[0] < 0.5})
    state, field = (1.0, 0.3, 0.2, 0.1), (0.4, 0.0, 0.3, 0.1)

    sim = dg.Simulation(mesh.with_interfaces({"skin": "core"}), dg.Acoustics(3), dg.TensorDG(2, nodes, start="interpolation"), {
        "skin": dg.total_field(field), "default": dg.outflow}, kernels="array", until=1.0)
    q = sim.project(lambda x: tuple(c + 0 * x[0] for c in state))
    q[:, :, mesh.regions["core"]] += np.array(field)[:, None, None]
    assert np.abs(sim.rhs(q)).max() < 1e-11


# Sheets.

def halves(dim, shape=None, cells=24):
    """A line, or a strip that is periodic across, of length 6 with an interface in its middle."""
    if dim == 1:
        mesh = dg.interval(-3, 3, cells)
    elif dim == 2:
        mesh = dg.rectangle((-3, 0), (3, 0.5), cells=(cells, 2), shape=shape).periodic(("bottom", "top"))
    else:
        mesh = dg.box((-3, 0, 0), (3, 0.5, 0.5), cells=(cells, 2, 2), shape=shape).periodic(
            ("front", "back"), ("bottom", "top"))
    mesh = mesh.with_regions({"west": lambda x: x[0] < 0, "east": lambda x: x[0] > 0})
    return mesh.with_interfaces({"sheet": ("west", "east")})


SHEETS = {"1D": (dg.Maxwell(1), 1, None, dg.NodalDG), "TM": (dg.Maxwell(2), 2, "triangle", dg.NodalDG),
          "TE": (dg.Maxwell(2, "TE"), 2, "quadrilateral", dg.TensorDG), "3D": (dg.Maxwell(3), 3, "hexahedron", dg.TensorDG),
          "modal": (dg.Maxwell(2), 2, "triangle", dg.ModalDG), "acoustics": (dg.Acoustics(2), 2, "mixed", dg.NodalDG)}


@pytest.mark.parametrize("kind", SHEETS)
def test_what_a_sheet_transmits(kind):
    """2 R / (2 R + Z) of E, of acoustics 2 Z / (2 Z + R) of p; the rest of the wave is reflected or lost."""
    law, dim, shape, make = SHEETS[kind]
    k, amplitude = (1.0, *(0.0,) * (dim - 1)), 1.0 if kind == "acoustics" else (0, 1, 0) if kind == "TE" else (0, 0, 1)
    wave, R = dg.plane_wave(law, k, amplitude, lambda s: np.exp(-6 * (s - 1.5) ** 2)), 0.8
    ds = dg.Simulation(halves(dim, shape), law, make(4), {"sheet": dg.resistive_sheet(R), "default": dg.absorbing},
                       lambda x: wave(x, 0.0), until=3.0, every=3.0).run()
    name = "p" if kind == "acoustics" else "Ey" if kind == "TE" else "Ez"
    through = 2 / (2 + R) if kind == "acoustics" else 2 * R / (2 * R + 1)
    back = R / (2 + R) if kind == "acoustics" else -1 / (2 * R + 1)
    x = np.array([(1.5, *(0.2,) * (dim - 1)), (-1.5, *(0.2,) * (dim - 1))])
    assert np.allclose(ds.dg.sample(x, time=3.0)[name].values.ravel(), (through, back), atol=2e-4)


def test_a_sheet_between_two_media():
    """Of the admittances Y- and Y+: t = 2 Y- / (Y- + Y+ + 1 / R)."""
    law = dg.Maxwell(1, eps={"west": 1.0, "east": 4.0})
    wave = dg.plane_wave(law, (1.0,), (0, 0, 1), lambda s: np.exp(-6 * (s - 1.5) ** 2), medium="west")
    ds = dg.Simulation(halves(1, cells=40), law, dg.NodalDG(4), {"sheet": dg.resistive_sheet(lambda x: 0.5 + 0 * x[0]),
                                                                 "default": dg.absorbing},
                       lambda x: tuple(np.where(x[0] < 0, c, 0) for c in wave(x, 0.0)), until=3.0, every=3.0).run()
    assert np.allclose(ds.dg.sample([(0.75,), (-1.5,)], time=3.0).Ez.values.ravel(), (2 / 5, 2 / 5 - 1), atol=2e-4)


@pytest.mark.parametrize("flux", [dg.upwind, dg.central], ids=["upwind", "central"])
@pytest.mark.parametrize("method", METHODS)
def test_energy_falls_at_sheets(method, flux):
    """A sheet that ends inside, without an upwind flux elsewhere too: no eigenvalue of energy grows."""
    make, shape = METHODS[method]
    mesh = dg.rectangle((-1, -1), (1, 1), cells=4, shape=shape).with_regions(
        {"a": lambda x: (x[0] < 0) & (abs(x[1]) < 0.5), "b": lambda x: (x[0] > 0) & (abs(x[1]) < 0.5)})
    sim = dg.Simulation(mesh.with_interfaces({"sheet": ("a", "b")}), LAWS["TM"], make(1), {
        "sheet": dg.resistive_sheet(0.3), "default": dg.pec}, flux=flux, kernels="array", until=1.0)
    operator = sim.linear_operator()
    matrix = operator @ np.eye(operator.shape[0])
    values = np.linalg.eigvals(matrix)
    assert values.real.max() < 1e-10 * abs(values).max() and values.real.min() < -0.1


# Cuts.

def test_a_cut_is_a_conductor_on_both_sides():
    law, mesh = LAWS["TE"], halves(2, "quadrilateral").cut("sheet")
    wave = dg.plane_wave(law, (1, 0), (0, 1, 0), lambda s: np.exp(-6 * (s - 1.5) ** 2))
    ds = dg.Simulation(mesh, law, dg.TensorDG(4), {"sheet": dg.pec, "default": dg.absorbing}, lambda x: wave(x, 0.0),
                       until=3.0, every=3.0, record={"skin": dg.SurfaceFields("sheet")}).run()
    assert len(mesh.boundaries["sheet"]) == 4 and "sheet" not in mesh.interfaces
    assert np.allclose(ds.dg.sample([(1.5, 0.2), (-1.5, 0.2)], time=3.0).Ey.values.ravel(), (0, -1), atol=2e-4)


def test_waves_go_around_the_end_of_a_cut():
    """A pulse in the middle of a box with a slit: energy is kept, and the field is the same on both sides of where it ends."""
    mesh = dg.rectangle((-1, -1), (1, 1), cells=12).with_regions(
        {"a": lambda x: (x[0] < 0) & (x[1] < 0), "b": lambda x: (x[0] > 0) & (x[1] < 0)})
    mesh = mesh.with_interfaces({"slit": ("a", "b")}).cut("slit")

    def spot(x):
        return np.exp(-30 * ((x[0] + 0.4) ** 2 + (x[1] + 0.4) ** 2)), 0 * x[0], 0 * x[0]
    sim = dg.Simulation(mesh, dg.Acoustics(2), dg.NodalDG(3), dg.wall, spot, flux=dg.central, until=1.5)
    ds = sim.run()
    energy = sim.report["conserved"]["energy"]
    near, beyond = ds.dg.sample([(-0.02, -0.8), (0.02, -0.8)], time=1.5).p.values.ravel()
    assert abs(energy["final"] / energy["initial"] - 1) < 1e-3 and abs(near - beyond) > 0.05


def test_a_cut_mesh_is_not_refined():
    mesh = halves(2, "triangle")
    with pytest.raises(MeshError, match="has been cut, and cannot be refined then; cut it last"):
        mesh.cut("sheet").refined()
    with pytest.raises(MeshError, match="has been cut, and cannot be given a layer then"):
        dg.pml(mesh.cut("sheet"), 1.0, 2, boundary="left")
    assert len(mesh.refined().cut("sheet").boundaries["sheet"]) == 8


# Errors.

def run(boundary, mesh=None, law=LAWS["TM"], method=None):
    return dg.Simulation(box_of("triangle", 6) if mesh is None else mesh, law, method or dg.NodalDG(1), boundary, until=0.1)


def test_what_does_not_fit():
    wave = wave_of(LAWS["TM"])
    with pytest.raises(ValueError, match="is for faces inside of the mesh: interface 'bx' does not exist; it has: box"):
        run({"bx": dg.total_field(wave), "default": dg.pec})
    with pytest.raises(ValueError, match="where pec is not allowed; give dgarray.total_field"):
        run({"box": dg.pec, "default": dg.pec})
    with pytest.raises(ValueError, match="side 'insde' does not exist; allowed: inside, outside"):
        dg.total_field(wave, side="insde")
    with pytest.raises(ValueError, match="total_field.3. is not allowed; give a tuple of finite numbers, or a function"):
        dg.total_field(3)
    with pytest.raises(ValueError, match="'total_field' is for linear laws"):
        run({"box": dg.total_field((1.0, 0.0, 0.0, 1.0)), "default": dg.wall}, law=dg.Euler(2))
    with pytest.raises(ValueError, match="limiter='vertex' is not allowed beside"):
        run({"box": dg.total_field(wave), "default": dg.pec}, method=dg.NodalDG(1, limiter="vertex"))
    for resistance in (0, -1.0, np.inf, "1"):
        with pytest.raises(ValueError, match="is not allowed; give a positive number, or a function of x"):
            dg.resistive_sheet(resistance)
    with pytest.raises(ValueError, match=r"the resistance of a sheet is .* it must be positive"):
        run({"box": dg.resistive_sheet(lambda x: x[0]), "default": dg.pec})
    with pytest.raises(ValueError, match="needs a law of Maxwell or Acoustics type"):
        run({"box": dg.resistive_sheet(1.0), "default": dg.outflow}, law=dg.Advection((1.0, 0.0)))
    with pytest.raises(MeshError, match="'left' is a boundary of .* along faces inside of it: box"):
        box_of("triangle", 6).cut("left")
    with pytest.raises(MeshError, match="cut: interface 'bix' does not exist"):
        box_of("triangle", 6).cut("bix")
    again = box_of("triangle", 6).with_regions({"again": lambda x: np.maximum(abs(x[0]), abs(x[1])) < 0.75})
    with pytest.raises(ValueError, match="have common faces; give one condition to each"):
        run({"box": dg.total_field(wave), "twice": dg.resistive_sheet(1.0), "default": dg.pec},
            again.with_interfaces({"twice": "again"}))


def test_faces_of_two_sizes_and_open_surfaces_are_refused():
    """Where a condition would act on some faces alone."""
    mesh = box_of("quadrilateral", 12)
    wave = wave_of(LAWS["TM"])
    for refined in (mesh.refined("total"), mesh.refined(np.setdiff1d(np.arange(mesh.cell_count), mesh.regions["total"]))):
        with pytest.raises(MeshError, match="interface 'box': .* meets a face of another size; refine on both sides"):
            run({"box": dg.total_field(wave), "default": dg.pec}, refined, method=dg.TensorDG(1))
        with pytest.raises(MeshError, match="interface 'box': .* meets a face of another size"):
            refined.cut("box")
        with pytest.raises(MeshError, match="interface 'again': .* meets smaller cells beyond it; refine on both sides"):
            refined.with_interfaces({"again": "total"})
    upper = mesh.with_regions({"upper": lambda x: (np.maximum(abs(x[0]), abs(x[1])) < 0.75) & (x[1] > 0),
                               "rest": lambda x: np.maximum(abs(x[0]), abs(x[1])) > 0.75})
    with pytest.raises(ValueError, match="its faces end inside of the mesh, at .* they must be closed, or end at a boundary"):
        run({"open": dg.total_field(wave), "default": dg.pec}, upper.with_interfaces({"open": ("upper", "rest")}),
            method=dg.TensorDG(1))
    half = dg.pml(box_of("quadrilateral", 12), 0.5, 2).with_regions({"west": lambda x: x[0] < 0})
    with pytest.raises(ValueError, match="lies in the absorbing layer 'pml', whose waves the field does not know"):
        run({"middle": dg.total_field(wave), "default": dg.pec}, half.with_interfaces({"middle": "west"}),
            method=dg.TensorDG(1))
    for given in ({"box": 5}, "box"):
        with pytest.raises(MeshError, match="is not allowed; give"):
            mesh.with_interfaces(given if isinstance(given, str) else {"other": 5})


def test_waves_that_are_no_solution_are_refused():
    halves = box_of("triangle", 6).with_regions({"rest": lambda x: np.maximum(abs(x[0]), abs(x[1])) > 0.75})
    law = dg.Maxwell(2, eps={"total": 1.0, "rest": 1.0 + dg.Debye(3.0, 0.05)})
    with pytest.raises(ValueError, match="is a wave in a medium without dispersion, but at the faces of its condition eps of"):
        run({"box": dg.total_field(dg.plane_wave(law, DIRECTION, (0, 0, 1), np.sin, medium="total")), "default": dg.pec},
            halves, law)
    sound = dg.plane_wave(dg.Acoustics(2), DIRECTION, 1.0, np.sin)
    with pytest.raises(ValueError, match="is a wave of another law than Maxwell"):
        run({"box": dg.total_field(sound), "default": dg.pec})
    with pytest.raises(ValueError, match=r"the resistance of a sheet is -0.3"):
        run({"box": dg.resistive_sheet(lambda x: sum(np.sin(2 * np.pi * c) ** 2 for c in x) - 0.3), "default": dg.pec})


def test_the_medium_of_the_wave_is_that_of_the_scattered_field():
    mesh = box_of("quadrilateral", 12).with_regions({"rest": lambda x: np.maximum(abs(x[0]), abs(x[1])) > 0.75})
    law = dg.Maxwell(2, eps={"total": 4.0, "rest": 1.0})
    fits, other = (dg.plane_wave(law, DIRECTION, (0, 0, 1), np.sin, medium=name) for name in ("rest", "total"))
    run({"box": dg.total_field(fits), "default": dg.pec}, mesh, law, dg.TensorDG(1))
    run({"box": dg.total_field(other, side="outside"), "default": dg.pec}, mesh, law, dg.TensorDG(1))
    with pytest.raises(ValueError, match="is a wave in a medium with eps=4, but at the faces of its condition"):
        run({"box": dg.total_field(other), "default": dg.pec}, mesh, law, dg.TensorDG(1))


def test_how_they_are_shown():
    sim = run({"box": dg.total_field(wave_of(LAWS["TM"])), "default": dg.pec})
    assert "total_field(plane_wave" in str(sim.layout().attrs["boundary"])
