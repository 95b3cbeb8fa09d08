"""Derivatives by a medium at the nodes of each element, and densities there."""
import numpy as np
import pytest
from support.pulses import POINTS, bent, bump, heard, light, seen, sound

import dgarray as dg
from dgarray.program.transpose import NotDifferentiable


def smooth(x):
    return 1 + 0.2 * np.sin(2 * x[0])


def square(shape="triangle"):
    mesh = dg.rectangle((-1, -1), (1, 1), cells=4, shape=shape)
    mesh = mesh.with_regions({"west": lambda x: x[0] < 0, "east": lambda x: x[0] > 0})
    return mesh.with_interfaces({"screen": ("west", "east")})


def problem(mesh=None, method=None, law=None, initial=sound, boundary=dg.absorbing, record=None, points=POINTS):
    law = dg.Acoustics(2, sound_speed=smooth) if law is None else law
    return dg.Simulation(mesh or square(), law, method or dg.NodalDG(2), boundary, initial, until=0.2, dt=0.02, backend="numpy",
                         record=record or {"mic": dg.Points(points)})


QUADS, SPEED = square("quadrilateral"), {"sound_speed": "node"}
PROBLEMS = {
    "smooth": (problem, heard, SPEED | {"density": "element"}),
    "numbers": (lambda: problem(law=dg.Acoustics(2)), heard, SPEED | {"density": "node", "initial": True}),
    "modal": (lambda: problem(method=dg.ModalDG(2)), heard, SPEED),
    "tensor": (lambda: problem(QUADS, dg.TensorDG(2)), heard, SPEED),
    "Gauss nodes": (lambda: problem(QUADS, dg.TensorDG(2, nodes="gauss"), dg.Acoustics(2)), heard, SPEED),
    "curved": (lambda: problem(square().mapped(bent, 3), dg.NodalDG(3)), heard, SPEED),
    "hanging": (lambda: problem(QUADS.refined("west"), dg.TensorDG(2)), heard, SPEED),
    "sheet": (lambda: problem(boundary={"screen": dg.resistive_sheet(0.7), "default": dg.absorbing}), heard,
              SPEED | {"screen.resistance": True}),
    "layer": (lambda: problem(dg.pml(square(), 0.4, 1), law=dg.Maxwell(2, eps=2.0), initial=light, boundary=dg.pec), seen,
              {"eps": "node"}),
    "Lorentz": (lambda: problem(law=dg.Maxwell(2, eps={"west": 1.5 + dg.Lorentz(1.0, 5.0, 0.3), "east": 1.0}), initial=light),
                seen, {"eps.strength": "node", "eps": "node"}),
    "1D": (lambda: problem(dg.interval(0, 1, 4), dg.NodalDG(3), dg.Acoustics(1, sound_speed=lambda x: 1 + x[0]),
                           lambda x: (np.exp(-50 * (x[0] - 0.4) ** 2), 0 * x[0]), points=[(0.7,)]), heard, SPEED),
    "3D": (lambda: problem(dg.box((-1, -1, -1), (1, 1, 1), cells=1, shape="tetra"), dg.NodalDG(1), dg.Maxwell(3, eps=2.0),
                           lambda x: (0 * x[0], 0 * x[0], bump(x), *(0 * x[0],) * 3), points=[(0.3, 0.2, 0.1)]), seen,
           {"eps": "node"})}


QUICK = "smooth", "tensor", "sheet"


@pytest.mark.parametrize("name", [
    each if each in QUICK else pytest.param(each, marks=pytest.mark.thorough) for each in PROBLEMS])
def test_media_at_nodes_pass_the_taylor_test(name):
    make, misfit, wrt = PROBLEMS[name]
    found = make().gradient(misfit, wrt).check(3e-4)
    assert np.all(np.abs(found.order[1:3] - 2) < 0.02) and found.remainder[4] < 0.1 * found.difference[4]


def test_derivatives_at_nodes_belong_to_the_polynomials_that_are_1_there():
    """Those by a number in each element are their sums; those by a linear change are finite differences of runs with it."""
    at_nodes, by_element = (problem().gradient(heard, {"sound_speed": kind}).sound_speed for kind in ("node", "element"))
    assert at_nodes.dims == ("element", "node")
    assert np.allclose(at_nodes.sum("node"), by_element, rtol=1e-9, atol=1e-12)
    h = 1e-3
    J = [float(heard(problem(law=dg.Acoustics(2, sound_speed=lambda x, k=k: smooth(x) + k * h * (x[1] + x[0] * x[1]))).run()))
         for k in (2, 1, -1, -2)]
    slope = float((at_nodes * (at_nodes.y + at_nodes.x * at_nodes.y)).sum())
    assert slope == pytest.approx((8 * (J[1] - J[2]) - (J[0] - J[3])) / (12 * h), rel=1e-7)


def test_objectives_have_numbers_at_nodes():
    objective = dg.objective(problem(law=dg.Acoustics(2)), heard, SPEED)
    assert np.array_equal(objective.x0, np.ones(32 * 6)) and objective.named(objective.x0)["sound_speed"].shape == (32, 6)
    d = np.random.default_rng(0).normal(size=objective.x0.shape)
    _, slope = objective(objective.x0)
    J = [objective(objective.x0 + k * 1e-3 * d)[0] for k in (2, 1, -1, -2)]
    assert slope @ d == pytest.approx((8 * (J[1] - J[2]) - (J[0] - J[3])) / 0.012, rel=1e-7)


def energy(q, m):
    return q[0] ** 2 / m.c


def test_what_has_no_derivatives_at_nodes_is_said():
    mixed = dg.rectangle((-1, -1), (1, 1), cells=3, shape="mixed")
    with pytest.raises(ValueError, match="elements have several shapes or orders; take 'element'"):
        problem(mixed).gradient(heard, SPEED)
    with pytest.raises(NotDifferentiable, match="a record reads a parameter of which derivatives at nodes are asked for"):
        problem(record={"E": dg.VolumeIntegral(energy)}).gradient(lambda ds: ds.dg.record("E").energy.sum(), SPEED)
    full = dg.Maxwell(2, "TE", eps=[[2.0, 0.3, 0.0], [0.3, 3.0, 0.0], [0.0, 0.0, 1.0]])
    with pytest.raises(ValueError, match="a medium that varies inside of elements needs a law whose variables have a capacity"):
        problem(law=full).gradient(lambda ds: ds.dg.record("mic").Hz.sum(), {"eps_xx": "node"})


@pytest.mark.parametrize("law, initial, misfit, media", [
    (dg.Acoustics(2), sound, heard, ({"sound_speed": 1.0, "density": 1.0}, {"sound_speed": 0.6, "density": 1.5})),
    pytest.param(dg.Maxwell(2), light, seen, ({"eps": 1.0}, {"eps": 2.0 + dg.Drude(5.0, 0.1)}), marks=pytest.mark.thorough)])
def test_densities_at_nodes(law, initial, misfit, media):
    design = dg.design(problem(law=law, initial=initial), misfit, media, where="west", radius=0.3, beta=3.0, at="node")
    rho = design.density(np.full(16 * 6, 0.7))
    assert rho.dims == ("element", "node") and rho.shape == (16, 6) and np.all(rho.x < 1e-9)
    assert np.allclose(rho, rho[0, 0]) and design.grayness(design.x0) == pytest.approx(0, abs=1e-12)
    random = np.random.default_rng(1)
    x, d = random.uniform(0.2, 0.8, design.x0.shape), random.uniform(-1, 1, design.x0.shape)
    value, gradient = design(x)
    remainders = [abs(design(x + h * d)[0] - value - h * gradient @ d) for h in (2e-3, 1e-3)]
    assert np.log2(remainders[0] / remainders[1]) == pytest.approx(2, abs=0.02)
    changed = misfit(design.simulation(x).run())
    assert value == pytest.approx(float(changed), rel=1e-12)
