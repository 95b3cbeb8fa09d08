"""Linear runs backwards by their own kernels: derivatives by parameters are those of transposed programs, and states come back
once each, whatever the room."""
import numpy as np
import pytest

import dgarray as dg
from dgarray.backends.cpu.dg import bilinear_sums as kernels, element_values
from dgarray.methods.dg.bilinear_sums import terms_of
from dgarray.run.gradients import reverse_methods
from dgarray.run.gradients.kept_states import KeptStates
from dgarray.run.gradients.reciprocal_steps import ReciprocalSteps, reciprocal_steps

POINTS = [(0.5, 0.3), (-0.4, -0.2)]
REGIONS = {"west": 1.5, "east": 1.0}


def pulse(x):
    return np.exp(-20 * ((x[0] - 0.2) ** 2 + x[1] ** 2)), 0 * x[0], 0 * x[0]


def square(shape="triangle", cells=3):
    mesh = dg.rectangle((-1, -1), (1, 1), cells=cells, shape=shape)
    west = mesh.centroids[:, 0] < 0
    return mesh.with_regions({"west": np.flatnonzero(west), "east": np.flatnonzero(~west)})


def entering(x, t, width=0.3):
    p = np.exp(-((x[0] + 1 - t) / width) ** 2)
    return p, p, 0 * p


class Waves(dg.Law):
    """p_t / (k r) + div v / r = -a p,  v_t / r^2 + grad p / r = 0: the flux and a source read the medium."""

    dim, variables, parameters = 2, ("p", "vx", "vy"), {"k": 2.0, "r": 1.3, "a": 0.3}

    def capacity(self, m):
        return 1 / (m.k * m.r), 1 / m.r ** 2, 1 / m.r ** 2

    def flux(self, q, n, m):
        return (q[1] * n[0] + q[2] * n[1]) / m.r, q[0] * n[0] / m.r, q[0] * n[1] / m.r

    def source(self, q, m):
        return -m.a * q[0], 0.0, 0.0

    def wave_speed(self, n, m):
        return 2.0 * (n[0] ** 2 + n[1] ** 2) ** 0.5


def soft(q, n):
    return -q[0], q[1], q[2]


def of_sound(mesh, method, boundary=dg.absorbing, law=None, **options):
    law = law or dg.Acoustics(2, sound_speed=REGIONS, density=REGIONS)
    return dg.Simulation(mesh, law, method, boundary, initial=pulse, until=0.15, backend="numpy", **options)


def of_waves(mesh, method):
    return of_sound(mesh, method, soft, Waves(), flux=dg.central)


def bent(x):
    return x[0] + 0.1 * np.sin(x[1]), x[1] + 0.1 * np.sin(x[0])


PROBLEMS = {
    "triangles": lambda: of_sound(square(), dg.NodalDG(2)),
    "incident, rk4": lambda: of_sound(square(), dg.NodalDG(2), {"left": dg.incident(entering), "default": dg.wall},
                                      stepper="rk4"),
    "incident": lambda: of_sound(square(), dg.NodalDG(2), {"left": dg.incident(entering), "default": dg.absorbing}),
    "array expressions": lambda: of_sound(square(), dg.NodalDG(2), kernels="array", stepper="ssp54"),
    "modal": lambda: of_sound(square(), dg.ModalDG(2)),
    "tensor": lambda: of_sound(square("quadrilateral").mapped(bent, 2), dg.TensorDG(2)),
    "shapes": lambda: of_sound(square("mixed", 4), dg.NodalDG(2)),
    "hanging": lambda: of_sound(square("quadrilateral").refined("west"), dg.TensorDG(2)),
    "medium in the flux": lambda: of_waves(square(), dg.NodalDG(2)),
    "medium in the flux, modal": lambda: of_waves(square(), dg.ModalDG(2)),
    "medium in the flux, tensor": lambda: of_waves(square("quadrilateral").mapped(bent, 2), dg.TensorDG(2))}
QUICK = "triangles", "incident, rk4"


def at_end(ds):
    zones = ds.dg.zones.values() if hasattr(ds, "children") else [ds]
    return sum((each.p.isel(time=-1) ** 2).sum() + (each.vx.isel(time=-1) ** 2).sum() for each in zones)


NAMES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.thorough) for name in PROBLEMS]


@pytest.mark.parametrize("some", [None, [1, 4]], ids=["all", "some"])
@pytest.mark.parametrize("name", NAMES)
def test_derivatives_by_parameters_are_those_of_transposed_programs(name, some, monkeypatch):
    sim, taken = PROBLEMS[name](), []
    for module in (kernels, element_values):
        monkeypatch.setattr(module, "FEWEST", 1)
    wrt = dict.fromkeys("kra" if isinstance(sim.law, Waves) else ("sound_speed", "density"), "element")

    def steps(operator, parameters, elements=None):
        taken.append(reciprocal_steps(operator, parameters, some))
        return taken[-1]
    monkeypatch.setattr(reverse_methods, "reciprocal_steps", steps)
    found = sim.gradient(at_end, wrt)
    monkeypatch.setattr(reverse_methods, "reciprocal_steps", lambda *_: None)
    expected = sim.gradient(at_end, wrt)
    assert isinstance(taken[0], ReciprocalSteps)
    asked = slice(None) if some is None else some
    for each in wrt:
        size = np.abs(expected[each].values).max()
        assert size > 0 and np.abs(found[each].values[asked] - expected[each].values[asked]).max() < 1e-12 * size
        assert some is None or not np.delete(found[each].values, some).any()


@pytest.mark.parametrize("most", [1, 2, 3, 7, 30, None])
@pytest.mark.parametrize("inside", [False, True])
def test_states_come_back_once_each_in_the_room_that_there_is(most, inside):
    sim = of_sound(square(cells=1), dg.NodalDG(1))
    operator, states = sim.operator, KeptStates(1 << 20, most)
    q, forwards = operator.state(sim.project()), []
    forwards.append(operator.host(q))
    for step in range(23):
        q = operator.advance(q, 0.01 * step, 0.01)
        forwards.append(operator.host(q))
        states.steps.append((0.01 * (step + 1), 0.01))
    states.kept = {step: forwards[step] for step in range(0, 24, 23 if most == 1 else 12)}
    expected = 23
    for step, state, between in states.backwards(operator, inside):
        assert step == expected and np.array_equal(operator.host(state), forwards[step])
        assert (between is None) == (not inside or step == 23)
        if between is not None:
            assert len(between) == 6 and np.array_equal(operator.host(between[-1]), forwards[step + 1])
        expected -= 1
    assert expected == -1


def test_terms_of_matrices_with_entries_of_very_different_units():
    """Sound in SI units: small entries count as large ones do."""
    random, units = np.random.default_rng(0), np.array([1e-6, 1.0, 1e6])
    u, v = random.normal(size=(2, 2, 3, 5))
    u[1, :, 3] = 0
    matrices = np.einsum("tre,tce->rce", u * units[:, None], v * units[::-1, None])
    left, right = terms_of(matrices)
    assert len(left) == 2
    assert np.all(np.abs(np.einsum("tre,tce->rce", left, right) - matrices) <= 1e-12 * np.abs(matrices))


def test_a_coupling_is_seen_whatever_its_units_are():
    """Weight in water, in SI units: p, in Pa, gets what is small beside what waves do to it, and large beside v."""
    law = dg.Acoustics(2, sound_speed=1500.0, density=1000.0, units="SI")

    def weight(q, m):
        return 9.81 * q[2] / m.c ** 2, 0.0 * q[0], 0.0 * q[0]
    mesh = dg.rectangle((0, 0), (100, 100), cells=4)
    sim = dg.Simulation(mesh, law, dg.NodalDG(2), dg.wall, source=weight, backend="numpy", kernels="array")
    assert reciprocal_steps(sim.operator, ("c",)) is None
    assert reciprocal_steps(sim.replace(source=None).operator, ("c",)) is not None


def test_what_is_not_linear_is_seen_whatever_its_units_are():
    """A term of a velocity beside rates of pressure that are 1e12 times as large."""
    def squared(q):
        return 0.0 * q[0], 1e-3 * q[1] ** 2, 0.0 * q[0]
    law = dg.Acoustics(2, sound_speed=1500.0, density=1000.0, units="SI")
    sim = dg.Simulation(dg.rectangle((0, 0), (100, 100), cells=3), law, dg.NodalDG(2), dg.wall, source=squared, backend="numpy",
                        kernels="array")
    with pytest.raises(ValueError, match="is not linear"):
        sim.linear_operator()
    sim.replace(source=None).linear_operator()
