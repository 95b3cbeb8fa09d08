"""Derivatives by the numbers of sources and conditions of the package, beside conditions inside of the mesh, and of what is
recorded there."""
import numpy as np
import pytest
from support.pulses import POINTS, bump, heard, light, seen, sound

import dgarray as dg
from dgarray.program.transpose import NotDifferentiable

SOUND = dg.Acoustics(2)


def square(shape="triangle"):
    """Two halves with a screen between, and a box in the middle."""
    mesh = dg.rectangle((-1, -1), (1, 1), cells=4, shape=shape)
    mesh = mesh.with_regions({"west": lambda x: x[0] < 0, "east": lambda x: x[0] > 0,
                              "box": lambda x: np.maximum(abs(x[0]), abs(x[1])) < 0.5})
    return mesh.with_interfaces({"screen": ("west", "east"), "around": "box"})


def field(x, t, amplitude=0.5, width=0.3):
    p = amplitude * np.exp(-((x[0] + 1 - t) / width) ** 2)
    return p, p, 0 * p


def gauss(s):
    return np.exp(-9 * s * s)


def problem(boundary=dg.absorbing, method=None, shape="triangle", law=SOUND, initial=sound, record=None, **options):
    boundary = {"default": dg.absorbing} | boundary if isinstance(boundary, dict) else boundary
    return dg.Simulation(square(shape), law, method or dg.NodalDG(2), boundary, initial, until=0.25, dt=0.025, backend="numpy",
                         record=record or {"mic": dg.Points(POINTS)}, **options)


def passes(found):
    """Whether a gradient passes the Taylor test."""
    test = found.check()
    return np.all(np.abs(test.order[1:4] - 2) < 0.02) and test.remainder[4] < 0.2 * test.difference[4]


def through(ds):
    record = ds.dg.record("f")
    return (np.real(record.p * np.conj(record.vx)) * record.weight).sum()


def around(ds):
    record = ds.dg.record("f")
    return sum((np.abs(record[name]) ** 2 * record.weight).sum() for name in ("p", "vx", "Ez", "Hy") if f"f_{name}" in ds)


def energy(ds):
    record = ds.dg.record("E")
    return (record.energy ** 2).sum() + sum((record[name] ** 2).sum() for name in ("p", "vx", "Ez", "Hx") if f"E_{name}" in ds)


def of_light(eps, method=None, **options):
    return problem(method=method, record=TOTALS, law=dg.Maxwell(2, eps=eps, **options), initial=light)


TOTALS = {"E": dg.VolumeIntegral()}
SCREEN, BOX = ({"f": dg.Fourier([0.5, 1.0], boundary=name)} for name in ("screen", "around"))
WAVE = dg.plane_wave(SOUND, (1.0, 0.0), 1.0, gauss)
PULSE = dg.plane_wave(SOUND, (1.0, 0.0), 1.0, dg.pulse((0.5, 3.0), -1.0))
BEAM = dg.gaussian_beam(SOUND, (1.0, 0.0), 1.0, 0.5, 0.4, gauss, focus=(-0.8, 0.0))
SHEET = dg.resistive_sheet(0.7)
EVERY = {"sound_speed": "element", "initial": True}
PROBLEMS = {
    "sheet": (lambda: problem({"screen": SHEET}), heard, EVERY | {"screen.resistance": True}),
    "sheet between media": (lambda: problem({"screen": SHEET}, dg.ModalDG(2), law=dg.Acoustics(
        2, density={"west": 1.0, "east": 2.0})), heard, {"density": "region", "screen.resistance": True}),
    "sheet that varies": (lambda: problem({"screen": dg.resistive_sheet(lambda x, R=0.5: R + x[1] ** 2)}), heard,
                          {"screen.R": True, "density": "element"}),
    "sheet in light": (lambda: problem({"screen": SHEET}, law=dg.Maxwell(2, eps=2.0), initial=light), seen,
                       {"eps": "element", "screen.resistance": True}),
    "total field": (lambda: problem({"around": dg.total_field(field)}, dg.TensorDG(2), "quadrilateral"), heard,
                    EVERY | {"around.amplitude": True, "around.width": True}),
    "plane wave": (lambda: problem({"around": dg.total_field(WAVE)}), heard, ["around.amplitude", "initial"]),
    "pulse": (lambda: problem({"left": dg.incident(PULSE)}), heard, ["left.amplitude", "left.start", "initial"]),
    "beam": (lambda: problem({"around": dg.total_field(BEAM)}), heard, "around.amplitude"),
    "impedance": (lambda: problem({"left": dg.impedance(0.7)}, initial=lambda x: (bump((x[0] + 1, x[1])), 0.0, 0.0)), heard,
                  EVERY | {"left.Z": True}),
    "scattered": (lambda: problem({"left": dg.scattered(dg.impedance(0.4), field)}), heard,
                  EVERY | {"left.amplitude": True, "left.Z": True}),
    "current": (lambda: problem(source=dg.current(SOUND, (0.1, 0.2), 2.0, 0.5, lambda t: np.exp(-((t - 0.1) / 0.1) ** 2))),
                heard, ["source.moment", "source.width"]),
    "transform at a sheet": (lambda: problem({"screen": SHEET}, record=SCREEN), through, EVERY | {"screen.resistance": True}),
    "transform between media": (lambda: problem(record=SCREEN, law=dg.Acoustics(2, sound_speed={"west": 1.0, "east": 1.5})),
                                through, {"sound_speed": "element", "density": True}),
    "transform of light": (lambda: problem(record=SCREEN, law=dg.Maxwell(2, eps=2.0), initial=light), around,
                           {"eps": "element", "mu": True}),
    "transform where a field enters": (lambda: problem({"around": dg.total_field(field)}, dg.ModalDG(2), record=BOX), around,
                                       EVERY | {"around.width": True}),
    "totals": (lambda: problem(method=dg.TensorDG(2), shape="quadrilateral", record=TOTALS), energy, EVERY),
    "totals of modes": (lambda: of_light(2.0, dg.ModalDG(2), sigma=0.2), energy, {"eps": "element", "sigma": True}),
    "totals of Lorentz": (lambda: of_light({"west": 1.0, "east": 1 + dg.Lorentz(2.0, 4.0, 0.3)}), energy,
                          {"eps": "element", "eps.strength": "element", "eps.damping": True}),
    "totals of Debye": (lambda: of_light({"west": 1.0, "east": 1 + dg.Debye(2.0, 0.4)}), energy, ["eps.strength", "eps.tau"]),
    "totals of Drude": (lambda: of_light({"west": 1.0, "east": 1 + dg.Drude(2.0, 0.4)}), energy, ["eps.plasma", "initial"])}


QUICK = "sheet", "impedance", "pulse", "transform at a sheet", "totals of Lorentz"


@pytest.mark.parametrize("name", [
    each if each in QUICK else pytest.param(each, marks=pytest.mark.thorough) for each in PROBLEMS])
def test_conditions_and_their_numbers_pass_the_taylor_test(name):
    make, misfit, wrt = PROBLEMS[name]
    assert passes(make().gradient(misfit, wrt))


@pytest.mark.parametrize("boundary, name, value", [
    (lambda v: {"screen": dg.resistive_sheet(v)}, "screen.resistance", 0.7),
    (lambda v: {"left": dg.impedance(v)}, "left.Z", 0.7),
    (lambda v: {"around": dg.total_field(dg.plane_wave(SOUND, (0.6, 0.8), v, gauss))}, "around.amplitude", 1.0),
    (lambda v: {"left": dg.incident(dg.plane_wave(SOUND, (1.0, 0.0), 1.0, dg.pulse((0.5, 3.0), v)))}, "left.start", -1.0)])
def test_derivatives_are_finite_differences_of_runs_with_other_conditions(boundary, name, value):
    found = problem(boundary(value)).gradient(heard, name)
    J = [float(heard(problem(boundary(value + k * 1e-3)).run())) for k in (2, 1, -1, -2)]
    assert float(found[name]) == pytest.approx((8 * (J[1] - J[2]) - (J[0] - J[3])) / 0.012, rel=1e-7)


@pytest.mark.parametrize("boundary, name", [({"screen": SHEET}, "screen.resistance"), ({"left": dg.impedance(0.2)}, "left.Z")])
def test_numbers_of_conditions_that_are_not_allowed_are_refused_in_objectives(boundary, name):
    with pytest.raises(ValueError, match=".-1.0. is not allowed; give a"):
        dg.objective(problem(boundary), heard, name)([-1.0])


def test_records_know_what_field_they_are_of_where_its_numbers_are_asked_for():
    def misfit(ds):
        assert ds.dg.record("mic").p.attrs == plain.dg.record("mic").p.attrs
        return (ds.dg.record("mic").p ** 2).sum()
    sim = problem({"around": dg.total_field(WAVE)}, record={"mic": dg.SurfaceFields("left")})
    plain = sim.run()
    assert plain.dg.record("mic").p.attrs["field"] == "scattered"
    sim.gradient(misfit, "around.amplitude")


def test_totals_of_smooth_media_are_refused():
    smooth = problem(record=TOTALS, law=dg.Acoustics(2, sound_speed=lambda x: 1 + 0.1 * x[0]))
    with pytest.raises(NotDifferentiable, match="record 'E': VolumeIntegral without a function has no derivative"):
        smooth.gradient(energy, "initial")


def test_densities_of_which_nothing_is_there_yet_store_energy():
    """Of a term whose strength is 0 in the first medium."""
    media = {"eps": 1.0}, {"eps": 1.0 + dg.Debye(2.0, 0.4)}
    design = dg.design(of_light(1.0), lambda ds: ds.dg.record("E").energy.sum(), media, where="east")
    value, gradient = design(design.x0)
    remainders = [abs(design(0 * design.x0 + h)[0] - value - h * gradient.sum()) for h in (1e-2, 5e-3)]
    assert np.all(design.x0 == 0) and np.log2(remainders[0] / remainders[1]) == pytest.approx(2, abs=0.02)


def test_laws_by_region_have_derivatives_by_the_initial_state():
    laws = {"west": dg.Acoustics(2), "east": dg.Acoustics(2, sound_speed=1.5)}
    sim = problem(method=dg.TensorDG(2), shape="quadrilateral", law=laws)
    assert passes(sim.gradient(heard, "initial"))
    with pytest.raises(ValueError, match="with laws by region, west, east, where derivatives are by the initial"):
        sim.gradient(heard, "sound_speed")
