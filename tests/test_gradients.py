"""Derivatives of a number that a run gives: against runs with changed input, finite differences, and jax."""
from dataclasses import dataclass, replace

import numpy as np
import pytest
import xarray as xr
from support.pulses import POINTS, bent, bump, gas, heard, light, smooth, sound

import dgarray as dg
from dgarray.analysis.tracked_arrays import Tracked, adjoints
from dgarray.program.transpose import NotDifferentiable

GAS = dg.Euler(2)


def square(shape="triangle", cells=3):
    return dg.rectangle((-1, -1), (1, 1), cells=cells, shape=shape)


def halves():
    return square().with_regions({"west": np.arange(9), "east": np.arange(9, 18)})


def seen(ds):
    return ((ds.dg.record("mic").Ez - 0.1) ** 2).mean()


def thrown(ds):
    return ((ds.dg.record("mic").rho - 1) ** 2).integrate("time").sum()


def spectrum(ds):
    return (np.abs(ds.dg.record("f").p) ** 2).sum()


def through_boundary(ds):
    record = ds.dg.record("f")
    return (np.abs(record.p) ** 2 * record.weight).sum()


def at_end(ds):
    return (ds.p.isel(time=-1) ** 2).sum()


def power(q, n, m):
    return m.c * q[0] * (q[1] * n[0] + q[2] * n[1])


def energy(q, m):
    return q[0] ** 2 / m.c


def flown(ds):
    return ds.dg.record("P").power.integrate("time") + ds.dg.record("E").energy.max()


def of_shapes(tree):
    return sum((ds.p.isel(time=-1) ** 2).sum() for ds in tree.dg.zones.values()) + heard(tree)


def with_mic(mesh, law, method, boundary, initial, **options):
    return dg.Simulation(mesh, law, method, boundary, initial=initial, until=0.25,
                         **{"record": {"mic": dg.Points(POINTS)}, "backend": "numpy"} | options)


def of_sound(mesh, method, boundary=dg.absorbing, initial=sound, **options):
    return with_mic(mesh, dg.Acoustics(2), method, boundary, initial, **options)


def of_light(method, initial=light, eps=2.0, sigma=0.0):
    return with_mic(square(), dg.Maxwell(2, eps=eps, sigma=sigma), method, dg.pec, initial)


def of_gas(method, **options):
    return with_mic(square("quadrilateral"), GAS, method, dg.wall, gas, **options)


def in_space(shape, eps):
    return dg.Simulation(dg.box((0, 0, 0), (1, 1, 1), cells=1, shape=shape), dg.Maxwell(3, eps=eps), dg.NodalDG(2), dg.pec,
                         backend="numpy")


def hum(x, t, *, strength=2.0, rate=3.0):
    return strength * np.sin(rate * t) * bump(x), 0 * x[0], 0 * x[0]


def entering(x, t, amplitude=0.5, width=0.3):
    p = amplitude * np.exp(-((x[0] + 1 - t) / width) ** 2)
    return p, p, 0 * p


def opening(q, n, t, Z=0.8, rate=9.0):
    v = q[1] * n[0] + q[2] * n[1]
    return Z * (1 + np.sin(rate * t)) * v, q[1], q[2]


FILTERED = dg.NodalDG(3, filter=dg.ExponentialFilter(cutoff=1, order=4))
WEST_EAST = {"west": 1.0, "east": 2.0}
PROBLEMS = {
    "numbers": (lambda: of_sound(square(), dg.NodalDG(2), {"left": dg.incident(entering), "default": dg.absorbing}, source=hum),
                heard, ["source.strength", "source.rate", "left.amplitude", "left.width", "sound_speed", "initial"]),
    "coefficients in time": (lambda: of_sound(square(), dg.ModalDG(2), opening, source=hum), heard,
                             ["default.Z", "default.rate", "source.rate", "initial"]),
    "by region": (lambda: with_mic(halves(), dg.Acoustics(2, sound_speed=WEST_EAST, density=WEST_EAST), dg.NodalDG(2), dg.wall,
                                   sound), heard, ["sound_speed", "density"]),
    "smooth": (lambda: with_mic(square(), dg.Acoustics(2, sound_speed=smooth), dg.NodalDG(2), dg.absorbing, sound),
               heard, {"sound_speed": "element"}),
    "light": (lambda: of_light(dg.NodalDG(3), sigma=0.3), seen, {"eps": "element", "sigma": "number", "initial": True}),
    "modal": (lambda: of_light(dg.ModalDG(3)), seen, {"eps": "element", "initial": True}),
    "dispersive": (lambda: of_light(dg.NodalDG(2), eps=1.0 + dg.Drude(plasma=2.0, damping=0.1)), seen, "initial"),
    "tensor": (lambda: of_sound(square("quadrilateral"), dg.TensorDG(3), dg.wall), heard,
               {"sound_speed": "element", "initial": True}),
    "curved, at the end": (lambda: of_sound(square().mapped(bent, 3), dg.NodalDG(3), dg.wall, record=None,
                                             stepper="rk4"), at_end,
                           {"sound_speed": "element"}),
    "curved modal": (lambda: of_sound(square().mapped(bent, 2), dg.ModalDG(2)), heard, "initial"),
    "bent pyramids": (lambda: dg.Simulation(
        dg.box((-1, -1, -1), (1, 1, 1), cells=1, shape="pyramid").mapped(lambda x: (*bent(x), x[2]), 2),
        dg.Acoustics(3, sound_speed=smooth), dg.NodalDG(2), dg.absorbing, lambda x: (*sound(x), 0 * x[0]), until=0.2,
        record={"mic": dg.Points([(0.5, 0.3, 0.2)])}, backend="numpy"), heard, "initial"),
    "transform at points": (lambda: of_sound(square(), dg.NodalDG(2), dg.wall, record={"f": dg.Fourier(
        [0.3, 0.5], points=POINTS, every=2, start=0.05, window=lambda t: 1 + t)}, dt=0.01), spectrum,
        {"sound_speed": "element"}),
    "transform on a boundary": (lambda: of_sound(square("quadrilateral"), dg.TensorDG(2), record={
        "f": dg.Fourier([0.3], boundary="left")}), through_boundary, {"sound_speed": "element"}),
    "power": (lambda: of_sound(square(), dg.NodalDG(2), record={
        "P": dg.BoundaryIntegral("left", power), "E": dg.VolumeIntegral(energy)}), flown,
              {"sound_speed": "element", "initial": True}),
    "shapes": (lambda: of_sound(square("mixed", 4), dg.NodalDG(2)), of_shapes, {"sound_speed": "element", "initial": True}),
    "hanging": (lambda: of_sound(square("quadrilateral").with_regions({"fine": [0, 1, 2]}).refined("fine"), dg.TensorDG(2),
                                 dg.wall), heard, {"sound_speed": "element", "initial": True}),
    "filtered": (lambda: of_sound(square(), FILTERED, dg.wall), heard, {"sound_speed": "number"}),
    "filtered start": (lambda: of_sound(square(), FILTERED), heard, "initial"),
    "gas": (lambda: of_gas(dg.TensorDG(2), flux=dg.rusanov), thrown, "initial"),
    "split gas": (lambda: of_gas(dg.TensorDG(2, nodes="lobatto", volume_flux=dg.ranocha)), thrown, "initial"),
}


def quick(names, some):
    """The names, of which all but some are thorough."""
    return [name if name in some else pytest.param(name, marks=pytest.mark.thorough) for name in names]


IN_MATRIX = "smooth", "modal", "tensor"          # like runs are in tests/test_matrix.py
QUICK = "by region", "light", "curved, at the end", "power", "shapes", "gas"


@pytest.mark.parametrize("name", quick([name for name in PROBLEMS if name not in IN_MATRIX], QUICK))
def test_remainder_of_the_taylor_series_falls_twice_as_fast(name):
    problem, misfit, wrt = PROBLEMS[name]
    found = problem().gradient(misfit, wrt).check()
    assert np.all(np.abs(found.order[1:4] - 2) < 0.02)
    assert found.remainder[4] < 0.2 * found.difference[4]


def test_derivatives_are_those_of_finite_differences():
    def run(c):
        law = dg.Acoustics(2, sound_speed={"west": c[0], "east": c[1]})
        return with_mic(halves(), law, dg.NodalDG(2), dg.absorbing, sound, dt=0.01)
    found = run((1.0, 2.0)).gradient(heard, "sound_speed")
    assert found.value == pytest.approx(float(heard(run((1.0, 2.0)).run())), rel=1e-12)
    assert list(found.sound_speed.region.values) == ["west", "east"]
    for i, h in enumerate(np.eye(2) * 1e-4):
        values = [float(heard(run((1 + k * h[0], 2 + k * h[1])).run())) for k in (2, 1, -1, -2)]
        two, one = (values[0] - values[3]) / 4e-4, (values[1] - values[2]) / 2e-4
        assert float(found.sound_speed[i]) == pytest.approx((4 * one - two) / 3, rel=1e-7)


SOME = "smooth", "modal", "tensor", "gas", "split gas", "curved, at the end", "shapes"
RECIPES = {name: PROBLEMS[name][0] for name in SOME} | {
    "tetrahedra": lambda: in_space("tetra", lambda x: 1 + (x[0] > 0.4)), "prisms": lambda: in_space("prism", 1.0)}


@pytest.mark.parametrize("name", quick(RECIPES, ("smooth",)))
def test_adjoint_programs_are_those_of_jax(name):
    pytest.importorskip("jax")
    from adjoints import differences_from_jax

    operator, random = RECIPES[name]().operator, np.random.default_rng(1)
    program = operator.program("rhs")
    wanted = [*program.inputs(), *(each for each in program.inputs("constant") if "m." in each)]
    around = {False: 0.0, True: np.array([2.0, 0.1, 0.2, 5.0])[:, None, None]}[operator.law is GAS]
    given = {each: around + 0.1 * random.normal(size=value.shape) for each, value in program.inputs().items()}
    given |= dict.fromkeys(program.inputs("number"), 0.0)
    assert max(differences_from_jax(program, given, wanted, random).values()) <= 1e-12


DATA = np.random.default_rng(2).normal(size=(7, 3))
FUNCTIONS = {
    "sum": lambda a: ((as_xarray(a) - DATA) ** 2).sum(), "mean": lambda a: (as_xarray(a).mean("time") ** 2).sum(),
    "integral": lambda a: (as_xarray(a) ** 2).integrate("time").sum(),
    "selection": lambda a: (as_xarray(a).isel(point=1) * np.sin(as_xarray(a).sel(time=3.0))[0]).sum(),
    "spectrum": lambda a: (np.abs(np.fft.rfft(a, n=12, axis=0)) ** 1.5)[1:3].sum(),
    "complex": lambda a: np.real(np.fft.fft(np.exp(1j * a) * a, axis=0)[2] ** 2).sum(),
    "products": lambda a: (((DATA.T @ a) ** 2).sum() + np.einsum("ij,ij->", a, a * DATA) + np.tensordot(DATA.T, a, 1)[0, 1]
                           + np.dot(a[:, 0], a[:, 1])),
    "functions": lambda a: (np.sqrt(a * a + 1) * np.log(a * a + 2) + np.hypot(a, 2.0) ** 1.7
                            + np.tanh(a) / (2 + np.cos(a))).sum(),
    "extremes": lambda a: (as_xarray(a).max() + np.min(a, axis=0).sum() + np.var(a) + (as_xarray(a).std("time") ** 2).sum()
                           + np.clip(a, -0.5, 0.5).sum() + np.cumsum(a)[3] + np.trapezoid(a, axis=0)[1] + np.linalg.norm(a)),
    "missing numbers": lambda a: (as_xarray(a).where(DATA > 0).max("time").sum() + 2 * as_xarray(a).where(DATA > 0).min()
                                  + as_xarray(a).where(DATA > -1).std("time").sum() + as_xarray(a).where(DATA > 0).var()
                                  + as_xarray(a).where(DATA > 0).cumsum("time").sum()),
    "more extremes": lambda a: (as_xarray(a).expand_dims("case").max(("case", "time")).sum()
                                + np.clip(a, a_min=0.0, a_max=0.3).sum()
                                + np.trapezoid(a[:3], np.cumsum(DATA[:3] ** 2, axis=0), axis=0).sum()
                                + np.var(np.exp(1j * a) * a)),
    "any axes": lambda a: ((np.einsum("ij,...j->...i", DATA, a[None]) ** 2).sum()
                           + (np.einsum("i...,i", a, DATA[:, 0]) ** 2).sum()),
    "powers of 0": lambda a: ((a - a[0, 0]) ** np.array([1.0, 2.0, 3.0])).sum() + np.linalg.norm(np.fft.rfft(a[:, 0])),
    "choices": lambda a: np.where(a > 0, a ** 2, -3 * a).sum() + np.maximum(a, 0.1)[0].sum() + np.minimum(a, DATA[:1]).sum(),
    "parts": lambda a: (a[np.array([0, 1, 1, 3])] ** 2).sum() + a[2:5, 1].sum() ** 2 + (np.diff(a, axis=0) ** 2).sum(),
    "joined": lambda a: ((np.concatenate([a, 2 * a], 1).T.reshape(-1)[::2] ** 2).sum()
                         + (np.stack([a, a * a])[1].ravel() ** 2).sum())}


def as_xarray(a):
    return xr.DataArray(a, dims=("time", "point"), coords={"time": np.arange(7.0)})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arrays_that_remember_give_the_derivatives_of_what_was_made_of_them(name):
    function, random = FUNCTIONS[name], np.random.default_rng(3)
    a, direction = random.normal(size=(7, 3)), random.normal(size=(7, 3))

    def number(step):
        return float(np.asarray(function(a + step * direction)))
    followed = Tracked(a)
    found = function(followed)
    found = found.data if isinstance(found, xr.DataArray) else found
    slope, = adjoints(found, [followed])
    h = 1e-3
    expected = (8 * (number(h) - number(-h)) - number(2 * h) + number(-2 * h)) / (12 * h)
    assert np.sum(slope * direction) == pytest.approx(expected, rel=1e-7)
    assert found.value == pytest.approx(number(0.0), rel=1e-12)


def test_deep_copies_are_the_same_array_to_the_derivatives():
    def copied(ds):
        return (ds.copy(deep=True).dg.record("mic").p.sortby("time") ** 2).sum()
    found = sim_of_sound().gradient(copied, "sound_speed").check()
    assert np.all(np.abs(found.order[1:4] - 2) < 0.02)


@pytest.mark.parametrize("left, right", [("a b", "a_b"), ("2/in-out", "_c")])
def test_numbers_at_boundaries_of_any_name(left, right):
    mesh = square()
    sides = {left: mesh.boundaries["left"], right: mesh.boundaries["right"], "default": np.concatenate(
        [mesh.boundaries[name] for name in ("bottom", "top")])}

    def partly(Z):
        def condition(q, n, Z=Z):
            v = q[1] * n[0] + q[2] * n[1]
            return Z * v, q[1], q[2]
        return condition
    sim = of_sound(replace(mesh, boundaries=sides), dg.NodalDG(1), {left: partly(0.6), right: partly(0.9), "default": dg.wall})
    found = sim.gradient(heard, [f"{left}.Z", f"{right}.Z"])
    assert float(found[f"{left}.Z"]) != float(found[f"{right}.Z"])
    assert np.all(np.abs(found.check(0.1).order[1:4] - 2) < 0.1)


def test_numbers_beside_a_plane_wave_and_in_an_objective():
    """The wave knows its law, which has one more parameter then; a number twice in one condition is refused."""
    wave = dg.incident(dg.plane_wave(dg.Acoustics(2), (1.0, 0.0), 1.0, lambda s: np.exp(-9 * s * s)))
    sim = of_sound(square(), dg.NodalDG(1), {"left": wave, "default": dg.absorbing}, source=hum)
    objective = dg.objective(sim, heard, ["source.strength", "source.rate"])
    value, slope = objective(objective.x0)
    assert list(objective.x0) == [2.0, 3.0] and value > 0
    h = 1e-4 * np.array([1.0, 0.0])
    assert slope[0] == pytest.approx((objective(objective.x0 + h)[0] - objective(objective.x0 - h)[0]) / 2e-4, rel=1e-6)
    assert repr(objective.simulation(objective.x0).law) == repr(objective.simulation(objective.x0).law)

    @dataclass(frozen=True)
    class Twice:
        field: object
        amplitude: float = 1.0

        def __call__(self, x, t):
            return tuple(self.amplitude * each for each in self.field(x, t))
    with pytest.raises(ValueError, match="several numbers of this name"):
        of_sound(square(), dg.NodalDG(1), dg.incident(Twice(entering))).gradient(heard, "default.amplitude")


def areas(q):
    return q[0] ** 2


def test_integrals_may_have_the_names_of_what_transforms_say_of_themselves():
    sim = of_sound(square(), dg.NodalDG(1), record={"E": dg.VolumeIntegral(areas)})
    found = sim.gradient(lambda ds: ds.dg.record("E").areas.sum(), "initial")
    assert np.abs(found.initial.p).max() > 0


def sim_of_sound():
    return PROBLEMS["tensor"][0]()


@pytest.mark.parametrize("misfit, wrt, text", [
    (heard, {"sound_sped": True}, "'sound_sped' does not exist.*derivatives are by: initial, points, density.*did you"),
    (heard, {"sound_speed": "cell"}, r"'cell'.*True, 'number', 'region', 'element'"),
    (heard, {}, "asks for nothing"),
    (lambda ds: ds.dg.record("mic").p, "initial", r"the shape \(\d+, 2\) and the type float64; it must be one real number"),
    (lambda ds: 1.0, "initial", "does not depend on the run"),
    (lambda ds: np.log(-ds.dg.record("mic").p.data[0, 0] ** 2), "initial", "the misfit is nan; it must be finite"),
    (heard, "source.strength", "'source' does not exist; numbers are those of: default"),
    (3, "initial", "misfit=3 is not allowed"), (heard, 3, "wrt=3 is not allowed"),
    (heard, {"sound_speed": "region"}, "has no regions"),
    (lambda ds: np.sum(ds.dg.record("mic").p.data, where=False), "initial", "where= has no derivative"),
    (lambda ds: np.max(ds.dg.record("mic").p.data, initial=0), "initial", "initial= has no derivative"),
    (lambda ds: np.linalg.norm(ds.dg.record("mic").p.data, 1), "initial", "ord=1 has no derivative"),
    (lambda ds: np.median(ds.dg.record("mic").p.data), "initial", "numpy.median has no derivative here"),
    (lambda ds: float(np.asarray(ds.dg.record("mic").p).sum()), "initial", "a function that needs plain numbers")])
def test_what_cannot_be_differentiated_is_said(misfit, wrt, text):
    with pytest.raises((ValueError, TypeError), match=text):
        sim_of_sound().gradient(misfit, wrt)


def test_runs_without_derivatives_are_refused():
    overlapping = of_sound(halves().with_regions({"both": [8, 9]}), dg.NodalDG(1))
    with pytest.raises(ValueError, match="elements are in two of the regions west, east, both"):
        dg.objective(overlapping, heard, {"sound_speed": "region"})
    with pytest.raises(ValueError, match="with backend='numpy', not with 'jax'"):
        of_sound(halves(), dg.NodalDG(1), backend="jax").gradient(heard, "initial", until=0.1)


@pytest.mark.parametrize("method", [dg.ModalDG(1, limiter="vertex"), dg.ModalDG(1, positivity=True)])
def test_limiters_have_no_derivative(method):
    with pytest.raises(NotDifferentiable, match="decides by the state"):
        with_mic(square(), GAS, method, dg.wall, gas).gradient(thrown, "initial")
