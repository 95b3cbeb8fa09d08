"""Derivatives of a number that a run on a grid gives: by Taylor tests, finite differences and jax."""
import numpy as np
import pytest

import dgarray as dg
from dgarray.program.transpose import NotDifferentiable
from dgarray.run.gradients.reverse_methods import reverse_of

FIRST, MUSCL, WENO = dg.FiniteVolume("first-order"), dg.FiniteVolume("muscl", limiter=None), dg.FiniteVolume("weno")
UNSPLIT = dg.FiniteVolume("muscl", splitting=None, limiter=None)
POINTS = [(0.5, 0.3, 0.1), (-0.4, -0.2, 0.2)]
GAS = dg.Euler(2)


def uneven(x, k):
    """Differs along every line: the weights of weno have no derivative where all cells of a line are equal."""
    return 0.1 * np.sin(1.3 * x[0] + 0.7 * k + 0.2) * np.cos(1.1 * x[-1] + 0.5 * k) + 0.05 * np.sin(sum(x) + k)


def waves(count):
    return lambda x: tuple(uneven(x, k) for k in range(count))


def gas(x):
    return GAS.conservative((1 + uneven(x, 0), 0.1 + uneven(x, 1), uneven(x, 2), 1 + uneven(x, 3)))


def smooth(x):
    return 1 + 0.3 * np.sin(2 * x[0] + 0.3 * x[-1])


def hum(x, t, *, strength=2.0, rate=3.0):
    return strength * np.sin(rate * t) * np.exp(-6 * x[0] ** 2), 0 * x[0], 0 * x[0]


def entering(x, t, amplitude=0.5):
    p = amplitude * np.exp(-9 * (x[0] + 1 - t) ** 2)
    return p, p, 0 * p


def heard(ds):
    record = ds.dg.record("mic")
    return sum(((record[name] - 0.1) ** 2).sum() for name in record.data_vars)


def problem(law, method, boundary=dg.wall, initial=None, cells=(8, 7, 5), **options):
    """Without a boundary the grid is periodic."""
    d = law.dim
    grid = dg.Grid((-1,) * d, (1,) * d, cells[:d], periodic=boundary is None)
    given = {"record": {"mic": dg.Points([point[:d] for point in POINTS])}, "until": 0.2, "kernels": "array"}
    return dg.Simulation(grid, law, method, boundary, initial=initial or waves(len(law.variables)), backend="numpy",
                         **given | options)


def of_sound(method, boundary=dg.wall, dim=2, **options):
    return problem(dg.Acoustics(dim, sound_speed=smooth), method, boundary, **options)


def with_numbers(method):
    return of_sound(method, {"left": dg.incident(entering), "default": dg.wall}, source=hum)


def of_light(method, boundary, sigma=0.0, eps=2.0, dim=2):
    return problem(dg.Maxwell(dim, eps=eps, sigma=sigma), method, boundary)


def of_gas(method, boundary=dg.wall, **options):
    return problem(GAS, method, boundary, gas, **options)


class Transport(dg.Law):
    """du/dt + speed du/dx = 0."""

    dim, variables, parameters = 1, ("u",), {"speed": 0.8}

    def flux(self, q, n, m):
        return (m.speed * q[0] * n[0],)

    def wave_speed(self, q, n, m):
        return np.abs(m.speed * n[0])


NUMBERS = ["source.strength", "source.rate", "left.amplitude", "sound_speed", "initial"]
MEDIA = {"sound_speed": True, "density": "number", "initial": True}
PROBLEMS = {
    "first order, numbers": (lambda: with_numbers(FIRST), NUMBERS), "muscl, numbers": (lambda: with_numbers(MUSCL), NUMBERS),
    "muscl unsplit, numbers": (lambda: with_numbers(UNSPLIT), NUMBERS),
    "weno, numbers": (lambda: with_numbers(WENO), ["source.strength", "sound_speed", "initial"]),
    "first order, light": (lambda: of_light(FIRST, dg.absorbing), {"eps": "element", "sigma": "element", "initial": True}),
    "weno, light": (lambda: of_light(WENO, dg.pec, 0.3), {"eps": "number", "sigma": "number", "initial": True}),
    "muscl, light in 3D": (lambda: of_light(MUSCL, dg.pec, eps=lambda x: 1.0 + (x[0] > 0), dim=3), {"eps": "element"}),
    "muscl, gas": (lambda: of_gas(MUSCL, dg.far_field(GAS.conservative((1.0, 0.1, 0.0, 1.0))), flux=dg.rusanov), "initial"),
    "weno, gas": (lambda: of_gas(WENO), "initial"), "weno, periodic gas": (lambda: of_gas(WENO, None), "initial"),
    "weno, gas in 1D": (lambda: problem(dg.Euler(1), WENO, dg.outflow, lambda x: dg.Euler(1).conservative(
        (1 + uneven(x, 0), 0.1 + uneven(x, 1), 1 + uneven(x, 3))), (12,)), "initial"),
    "Hermite": (lambda: of_sound(dg.Hermite(2)), MEDIA), "Hermite in 1D": (lambda: of_sound(dg.Hermite(3), dim=1), MEDIA),
    "Hermite in 3D": (lambda: of_sound(dg.Hermite(1), dim=3, cells=(4, 5, 3)), MEDIA),
    "Hermite, few stages": (lambda: of_sound(dg.Hermite(1, stages=3, pruned=False), dt=0.05), MEDIA),
    "Hermite, constant media": (lambda: of_light(dg.Hermite(2), dg.pec), ["eps", "sigma", "initial"]),
    "Hermite, sponges": (lambda: of_light(dg.Hermite(1), {"left": dg.Sponge(0.6, 1e-2), "top": dg.Sponge(0.6, 1e-2),
                                                            "default": dg.pmc}, 0.2, smooth), ["eps", "sigma", "initial"]),
    "Hermite, collapsed": (lambda: problem(dg.Advection((1.0, 0.5)), dg.Hermite(2), None), "initial"),
    "Hermite, speed": (lambda: problem(Transport(), dg.Hermite(2, variant="collapsed"), None), ["speed", "initial"])}
QUICK = "first order, numbers", "muscl unsplit, numbers", "weno, gas", "Hermite", "Hermite, sponges", "Hermite, collapsed"


def quick(names, some):
    """The names, of which all but some are thorough."""
    return [name if name in some else pytest.param(name, marks=pytest.mark.thorough) for name in names]


@pytest.mark.parametrize("name", quick(PROBLEMS, QUICK))
def test_remainder_of_the_taylor_series_falls_twice_as_fast(name):
    """Steps are short for weno and for a gas: weights bend, and the larger one of two speeds may be another one."""
    make, wrt = PROBLEMS[name]
    found = make().gradient(heard, wrt).check(5e-6 if "weno" in name or "gas" in name else 1e-3)
    assert np.all(np.abs(found.order[1:4] - 2) < 0.02)
    assert found.remainder[4] < 0.01 * found.difference[4]


@pytest.mark.parametrize("method", [MUSCL, dg.Hermite(2)], ids=["muscl", "Hermite"])
def test_derivatives_are_those_of_finite_differences(method):
    """By the kernels of the run."""
    def run(c):
        law = dg.Acoustics(2, sound_speed=c)
        return problem(law, method, dt=0.02, kernels=None)
    found = run(1.5).gradient(heard, "sound_speed")
    assert found.value == pytest.approx(float(heard(run(1.5).run())), rel=1e-12)
    values = [float(heard(run(1.5 + k * 1e-3).run())) for k in (2, 1, -1, -2)]
    slope = (8 * (values[1] - values[2]) - values[0] + values[3]) / 12e-3
    assert float(found.sound_speed) == pytest.approx(slope, rel=1e-8)


def power(q, n, m):
    return m.c * q[0] * (q[1] * n[0] + q[2] * n[1])


def energy(q, m):
    return q[0] ** 2 / m.c


def every_record(ds):
    total = sum((np.abs(ds.dg.record(name).p) ** 2).sum() for name in ("points", "side", "nodes"))
    fields = sum((ds[name].isel(time=-1) ** 2).sum() for name in ("p", "p_derivatives") if name in ds)
    return total + fields + ds.dg.record("power").power.integrate("time") + ds.dg.record("energy").energy.max()


@pytest.mark.parametrize("method", [MUSCL, dg.Hermite(2, derivatives=True)], ids=["muscl", "Hermite"])
def test_records_integrals_transforms_and_fields(method):
    """Integrals read a medium that is a number, too."""
    record = {"points": dg.Fourier([0.3, 0.5], points=[point[:2] for point in POINTS], every=2, window=lambda t: 1 + t),
              "side": dg.Fourier([0.3], boundary="left"), "nodes": dg.SurfaceFields("top"),
              "power": dg.BoundaryIntegral("right", power), "energy": dg.VolumeIntegral(energy)}
    sim = problem(dg.Acoustics(2, sound_speed=1.3), method, record=record, dt=0.02)
    found = sim.gradient(every_record, ["sound_speed", "initial"], every=0.1).check()
    assert np.all(np.abs(found.order[1:4] - 2) < 0.02) and found.remainder[4] < 0.01 * found.difference[4]


@pytest.mark.parametrize("method", [MUSCL, dg.Hermite(1)], ids=["muscl", "Hermite"])
def test_few_states_give_the_same_bits(method):
    sim = of_sound(method, dt=0.005)
    state = sim.operator.dofs * 8
    found = [sim.gradient(heard, ["density", "initial"], memory=memory) for memory in (None, 3 * state)]
    assert found[0].density == found[1].density and found[0].initial.equals(found[1].initial)


def test_what_is_found_has_the_shape_of_the_grid():
    found = of_sound(MUSCL).gradient(heard, {"sound_speed": True, "density": "number", "initial": True})
    assert found.sound_speed.dims == found.initial.p.dims == ("y", "x") and found.density.dims == ()
    assert np.array_equal(found.sound_speed.x, found.initial.x)
    found = of_sound(dg.Hermite(1)).gradient(heard, {"sound_speed": True, "initial": True})
    assert found.sound_speed.dims == () and found.initial.p_derivatives.sizes["derivative"] == 4


def test_designs_on_a_part_of_a_grid():
    sim = problem(dg.Acoustics(2, sound_speed=1.2), MUSCL, dg.absorbing, dt=0.02)
    design = dg.design(sim, heard, ({"sound_speed": 1.0}, {"sound_speed": 1.5}), where=lambda x: x[0] > 0, radius=0.5, beta=2)
    x, direction = np.random.default_rng(1).uniform(0.2, 0.8, (2, *design.x0.shape))
    assert len(x) == 28 and (design.density(x).x > 0).all()
    _, gradient = design(x)
    (high, _), (low, _) = design(x + 1e-4 * direction), design(x - 1e-4 * direction)
    assert gradient @ direction == pytest.approx((high - low) / 2e-4, rel=1e-7)


def test_objectives_go_on_from_the_law_as_it_was_given():
    objective = dg.objective(problem(dg.Acoustics(2, sound_speed=1.2), dg.Hermite(1)), heard, ["sound_speed", "density"])
    assert objective.x0.tolist() == [1.2, 1.0]
    assert repr(objective.simulation([1.5, 1.0]).law) == "Acoustics(dim=2, density=1.0, sound_speed=1.5)"


PROGRAMS = {"a sweep": (lambda: of_sound(MUSCL), ("sweep", 1)), "a sweep of weno": (lambda: of_sound(WENO), ("tendency", 1)),
            "a half-step": (lambda: of_sound(dg.Hermite(1), cells=(4, 3)), ("half_step", 0, False)),
            "a half-step in 3D": (lambda: of_sound(dg.Hermite(1), dim=3, cells=(3, 2, 2)), ("half_step", 1, False)),
            "a sponge": (lambda: of_sound(dg.Hermite(2), dg.Sponge(0.6)), ("sponge", 1))}


@pytest.mark.parametrize("name", quick(PROGRAMS, ("a half-step",)))
def test_adjoint_programs_are_those_of_jax(name):
    pytest.importorskip("jax")
    from adjoints import differences_from_jax

    make, which = PROGRAMS[name]
    program, random = make().operator.operations.program(*which), np.random.default_rng(1)
    given = {each: 1 + 0.1 * random.normal(size=value.shape) for each, value in program.inputs().items()}
    given |= dict.fromkeys(program.inputs("number"), 0.1)
    wanted = [each for each in (*program.inputs(), *program.inputs("constant")) if each[:2] in ("q", "m.", "A_", "1 ")]
    assert len(wanted) > 1 or name == "a sponge"
    assert max(differences_from_jax(program, given, wanted, random).values()) <= 1e-12


def sudden(x):
    return dg.Euler(1).conservative((np.where(x[0] < 0, 1.0, 1e-3), 0 * x[0], np.where(x[0] < 0, 1.0, 1e-5)))


@pytest.mark.parametrize("make, wrt, text", [
    (lambda: of_sound(dg.FiniteVolume("muscl")), "initial", "limiter='van-leer' has a kink.*take limiter=None"),
    (lambda: problem(dg.Acoustics(2), WENO), {"sound_speed": "element"}, "where sound_speed is the same in cells side by side"),
    (lambda: problem(dg.Euler(1), WENO, dg.outflow, sudden, (40,)), "initial", "fluxes of first order took the place of")])
def test_what_has_no_derivative(make, wrt, text):
    with pytest.raises(NotDifferentiable, match=text):
        make().gradient(heard, wrt)


@pytest.mark.parametrize("make, wrt, text", [
    (lambda: of_sound(dg.Hermite(1)), {"sound_speed": "element"}, "give 'number'; a law's coefficients are power series"),
    (lambda: of_sound(dg.Hermite(1)), "left.width", "mirrors and sponges at its sides and no source"),
    (lambda: of_sound(MUSCL), {"sound_speed": "region"}, "which works on grids; give 'number', 'element'")])
def test_what_grids_do_not_have(make, wrt, text):
    with pytest.raises(ValueError, match=text):
        make().gradient(heard, wrt)


def test_methods_of_others_are_refused():
    with pytest.raises(ValueError, match="gradients are for NodalDG, ModalDG, TensorDG, FiniteVolume and Hermite, not for 3"):
        reverse_of(3)
