"""Derivatives by what media are made of: the numbers of dispersive terms, components of tensors, values at points; and beside
conditions inside of the mesh."""
from dataclasses import replace

import numpy as np
import pytest

import dgarray as dg

POINTS = [(0.5, 0.3), (-0.4, -0.2)]


def bump(x):
    return np.exp(-20 * ((x[0] - 0.2) ** 2 + x[1] ** 2))


def light(x):
    return 0 * x[0], 0 * x[0], bump(x)


def seen(ds):
    return ((ds.dg.record("mic").Ez - 0.1) ** 2).mean()


def square(shape="triangle"):
    return dg.rectangle((-1, -1), (1, 1), cells=3, shape=shape)


def halves(mesh=None):
    mesh = mesh or square()
    cells = np.arange(mesh.cell_count)
    return mesh.with_regions({"west": cells[:len(cells) // 2], "east": cells[len(cells) // 2:]})


def of_light(eps, method=None, mesh=None, boundary=dg.absorbing, **options):
    return dg.Simulation(mesh or halves(), dg.Maxwell(2, eps=eps, **options), method or dg.NodalDG(2), boundary, initial=light,
                         until=0.3, dt=0.03, record={"mic": dg.Points(POINTS)}, backend="numpy")


def passes(found):
    """Whether a gradient passes the Taylor test."""
    test = found.check()
    return np.all(np.abs(test.order[1:4] - 2) < 0.02) and test.remainder[4] < 0.2 * test.difference[4]


LORENTZ = dg.Lorentz(1.0, 5.0, 0.3)
QUADS = halves(square("quadrilateral"))
LAYERED = halves(dg.pml(square(), 0.4, 1))
MEDIA = {
    "Drude": (lambda: of_light(1.0 + dg.Drude(4.0, 0.5), boundary=dg.pec), ["eps.plasma", "eps.damping", "eps", "eps.factor"]),
    "by region": (lambda: of_light({"west": 1.5 + dg.Debye(1.0, 0.2), "east": 1.0 + dg.Drude(4.0, 0.0)}, dg.TensorDG(2), QUADS),
                  {"eps.strength": True, "eps.tau": "element", "eps.damping": True, "eps": "element", "initial": True}),
    "modal": (lambda: of_light({"west": 1.5 + LORENTZ, "east": 1.0}, dg.ModalDG(2)),
              ["eps.strength", "eps.resonance", "eps.damping", "eps"]),
    "poles": (lambda: of_light(1.5 + dg.Poles([-1 + 3j, -2.0], [-0.5j, 1.0])),
              ["eps.pole_real", "eps.pole_imag", "eps.residue_real", "eps.residue_imag", "eps.pole", "eps.residue"]),
    "conductivity as a pole": (lambda: of_light(1.5 + dg.Poles(0.0, 1.0)), ["eps.pole", "eps.residue"]),
    "several terms": (lambda: of_light(2 * (1.5 + LORENTZ + dg.Lorentz(0.5, 3.0, 0.3)), sigma=0.2),
                      {"eps.strength_1": "region", "eps.strength_2": "element", "eps.factor_2": True, "sigma": "element"}),
    "layer": (lambda: of_light(1.5 + dg.Lorentz(0.3, 3.0, 0.8), mesh=LAYERED, boundary=dg.pec, sigma=0.1),
              {"eps.strength": "region", "eps.damping": True, "eps": "element", "sigma": True}),
    "tensor": (lambda: dg.Simulation(
        halves(), dg.Maxwell(2, "TE", eps=(2.0 + dg.Debye(1.0, 0.5), 3.0 + dg.Drude(3.0, 0.1), 1.0)), dg.NodalDG(2), dg.pec,
        lambda x: (0 * x[0], 0 * x[0], bump(x)), until=0.3, record={"mic": dg.Points(POINTS)}, backend="numpy"),
        {"eps_xx": True, "eps_yy": "element", "eps_xx.tau": True, "eps_yy.plasma": "element"})}


def heard(ds):
    return sum(((ds.dg.record("mic")[name] - 0.1) ** 2).sum() for name in ("Hz", "Ex", "Ey", "Ez") if f"mic_{name}" in ds)


@pytest.mark.parametrize("name", [each if each in ("by region", "poles") else pytest.param(each, marks=pytest.mark.thorough)
                                  for each in MEDIA])
def test_dispersive_media_pass_the_taylor_test(name):
    problem, wrt = MEDIA[name]
    assert passes(problem().gradient(heard, wrt))


@pytest.mark.parametrize("medium, name, value", [
    (lambda s: {"west": 1.5 + dg.Lorentz(s, 5.0, 0.3), "east": 1.0}, "eps.strength", 1.0),
    (lambda s: {"west": 1.5 + 2 * dg.Drude(s, 0.3), "east": 1 + dg.Drude(s, 0.1)}, "eps.plasma", 4.0),
    (lambda s: 1.5 + dg.Debye(1.0, 0.4) + dg.Debye(1.0, s), "eps.tau_2", 0.2),
    (lambda s: s + dg.Debye(1.0, 0.3), "eps", 2.0),
    (lambda s: 2.0 + dg.Poles(-1 + 1j * s, -1j), "eps.pole_imag", 3.0)])
def test_derivatives_by_numbers_of_media_are_finite_differences_of_runs_with_other_media(medium, name, value):
    found = of_light(medium(value)).gradient(seen, {name: "number"})
    assert found.value == pytest.approx(float(seen(of_light(medium(value)).run())), rel=1e-13)
    h = 1e-3 * value
    J = [float(seen(of_light(medium(value + k * h)).run())) for k in (2, 1, -1, -2)]
    assert float(found[name]) == pytest.approx((8 * (J[1] - J[2]) - (J[0] - J[3])) / (12 * h), rel=1e-7)


@pytest.mark.parametrize("eps, name, text", [
    (1.5 + LORENTZ + dg.Lorentz(0.5, 3.0, 0.3), "eps.damping", "several terms with this number; give one of eps.damping_1, "),
    (1.5 + LORENTZ, "eps.plasma", "'plasma' does not exist of eps; it has: factor_1, strength_1, resonance_1"),
    (1.5, "eps.plasma", "eps is not dispersive here")])
def test_numbers_that_media_do_not_have(eps, name, text):
    with pytest.raises(ValueError, match=text):
        of_light(eps).gradient(seen, name)


def test_boundaries_with_the_name_of_a_medium():
    mesh = halves()
    mesh = replace(mesh, boundaries={"eps": mesh.boundary_faces})
    with pytest.raises(ValueError, match="where a boundary has the name 'eps', too"):
        of_light(1.5 + LORENTZ, mesh=mesh, boundary={"eps": dg.absorbing}).gradient(seen, "eps.strength")


@pytest.mark.parametrize("medium, name, value, text", [
    (1.5 + LORENTZ, "eps.resonance", -1.0, "eps.resonance between -1 and -1 is not allowed; it must be positive"),
    (1.5 + LORENTZ, "eps.strength", -1.0, "not negative"), (1.5 + dg.Poles(-1.0, 1.0), "eps.pole", 0.5, "a pole is unstable"),
    (1.5 + dg.Poles(-1.0, 1.0), "eps.residue", -1.0, "is not passive"), (1.5 + LORENTZ, "eps", -1.0, "it must be positive")])
def test_numbers_that_are_not_allowed_are_refused_in_objectives(medium, name, value, text):
    objective = dg.objective(of_light(medium), seen, name)
    with pytest.raises(ValueError, match=text):
        objective([value])


M = [[2.0, 0.3, 0.0], [0.3, 3.0, 0.0], [0.0, 0.0, 1.0]]


def in_plane(eps=1.0, mu=1.0, polarisation="TE", method=None, mesh=None, boundary=dg.absorbing):
    return dg.Simulation(mesh or halves(), dg.Maxwell(2, polarisation, eps=eps, mu=mu), method or dg.NodalDG(2), boundary,
                         light, until=0.2, record={"mic": dg.Points(POINTS)}, backend="numpy")


def in_space(eps, method, shape):
    mesh = dg.box((-1, -1, -1), (1, 1, 1), cells=1, shape=shape)
    return dg.Simulation(mesh, dg.Maxwell(3, eps=eps), method, dg.absorbing, lambda x: (bump(x), *(0 * x[0],) * 5), until=0.2,
                         record={"mic": dg.Points([(0.3, 0.2, 0.1)])}, backend="numpy")


TENSORS = {
    "full": (lambda: in_plane(M), {"eps_xx": "element", "eps_xy": "region", "eps_yy": True, "mu": "element"}),
    "modal": (lambda: in_plane({"west": M, "east": 2.0}, method=dg.ModalDG(2)), ["eps_xx", "eps_xy", "eps_yy"]),
    "a diagonal": (lambda: in_plane((2.0, 3.0, 1.0), method=dg.TensorDG(2), mesh=QUADS, boundary=dg.pec),
                   {"eps_xx": "element", "eps_xy": "element", "initial": True}),
    "mu": (lambda: in_plane(mu=M, polarisation="TM"), {"mu_xx": "element", "mu_xy": "number", "eps": "element"}),
    "layer": (lambda: in_plane((2.0, 3.0, 1.0), mesh=LAYERED, boundary=dg.pec), {"eps_xx": "number", "eps_yy": "element"}),
    "smooth": (lambda: in_plane((lambda x: 2 + 0.3 * np.sin(x[0]), 3.0, 1.0)), {"eps_xx": "element", "eps_yy": "number"}),
    "tetrahedra": (lambda: in_space((2.0, 2.0, 2.0), dg.NodalDG(1), "tetra"), {"eps_xx": "element", "eps_yz": "element"}),
    "hexahedra": (lambda: in_space([[2.0, 0.3, 0.1], [0.3, 3.0, 0.2], [0.1, 0.2, 1.5]], dg.TensorDG(1), "hexahedron"),
                  {"eps_xy": "element", "eps_zz": "number"})}


@pytest.mark.parametrize("name", [each if each in ("full", "a diagonal") else pytest.param(each, marks=pytest.mark.thorough)
                                  for each in TENSORS])
def test_components_of_tensors_pass_the_taylor_test(name):
    problem, wrt = TENSORS[name]
    assert passes(problem().gradient(heard, wrt))


def test_components_of_a_tensor_add_up_to_the_number_that_it_is():
    whole, parts = in_plane(2.0).gradient(heard, "eps"), in_plane((2.0, 2.0, 2.0)).gradient(heard, ["eps_xx", "eps_yy"])
    assert float(whole.eps) == pytest.approx(float(parts.eps_xx + parts.eps_yy), rel=1e-12)


def test_components_off_the_diagonal_are_finite_differences():
    def J(c):
        return float(heard(in_plane([[2.0, c, 0], [c, 3.0, 0], [0, 0, 1]]).replace(dt=0.02).run()))
    found = in_plane((2.0, 3.0, 1.0)).replace(dt=0.02).gradient(heard, {"eps_xy": "number"})
    h = 1e-3
    assert float(found.eps_xy) == pytest.approx((8 * (J(h) - J(-h)) - J(2 * h) + J(-2 * h)) / (12 * h), rel=1e-7)


def test_tensors_of_objectives_stay_positive_definite():
    objective = dg.objective(in_plane(M), heard, {"eps_xy": "number"})
    with pytest.raises(ValueError, match="must be positive definite, but in the element 0 it has eps_xx = 2, eps_xy = 2.5"):
        objective([2.5])


DESIGNS = {
    "air to Lorentz": (1.0, 1.0 + dg.Lorentz(2.0, 5.0, 0.3), 1.0),
    "air to Drude": (1.0, 2.0 + dg.Drude(5.0, 0.1), {"west": 1.0, "east": 3.0}),
    "a term of both": (1.5 + dg.Debye(1.0, 0.2), 2.0 + dg.Drude(5.0, 0.1) + 0.5 * dg.Debye(1.0, 0.2),
                       {"west": 1.7 + 0.7 * dg.Debye(1.0, 0.2), "east": 3.0 + dg.Drude(2.0, 0.3)}),
    "another one": (1.5 + dg.Debye(1.0, 0.2), 1.5 + dg.Poles(-1 + 3j, -1j), {"west": 1.5 + LORENTZ, "east": 3.0})}


@pytest.mark.parametrize("name", ["air to Drude", *(pytest.param(each, marks=pytest.mark.thorough) for each in DESIGNS
                                                    if each != "air to Drude")])
def test_dispersive_designs(name):
    """Their ends are runs with the two media, and the gradient is exact there and between; steps are those of the media."""
    *media, eps = DESIGNS[name]
    elsewhere = eps["east"] if isinstance(eps, dict) else eps
    design = dg.design(of_light(eps), seen, ({"eps": media[0]}, {"eps": media[1]}), where="west", radius=0.5, beta=2.0)
    for rho, direction in ((0.0, 1.0), (1.0, -1.0), (0.4, 1.0)):
        x = np.full(len(design.x0), rho)
        value, gradient = design(x)
        d = direction * np.random.default_rng(1).uniform(0.2, 1, len(x))
        remainders = [abs(design(x + h * d)[0] - value - h * gradient @ d) for h in (1e-3, 5e-4)]
        assert np.log2(remainders[0] / remainders[1]) == pytest.approx(2, abs=0.02)
        if rho in (0, 1):
            sim, made = of_light({"west": media[int(rho)], "east": elsewhere}), design.simulation(x)
            assert value == pytest.approx(float(seen(sim.run())), rel=1e-12)
            steps = [float(each.operator.largest_step(each.operator.zeros(), 0.0)) for each in (sim, made)]
            assert steps[1] == pytest.approx(steps[0], rel=1e-12)


AIR_TO_LORENTZ = {"eps": 1.0}, {"eps": 1.0 + LORENTZ}


@pytest.mark.parametrize("eps, options, text", [
    (1.0 + LORENTZ, {"where": "west"}, "eps of .* is dispersive everywhere, and the design is not"),
    (1.0, {"between": ({"sigma": 0.0}, {"sigma": 1.0 + LORENTZ})}, "sigma of .* must not be dispersive"),
    (1.0, {"between": ({"eps": 1.0}, {"eps": 1.0 + dg.Poles(-1.0, -1.0)})}, "is not passive"),
    (1.0, {"where": ["west", "all"]}, "overlap")])
def test_dispersive_designs_that_are_not_allowed(eps, options, text):
    mesh = halves().with_regions({"all": np.arange(18)})
    with pytest.raises(ValueError, match=text):
        design = dg.design(of_light(eps, mesh=mesh), seen, **{"between": AIR_TO_LORENTZ} | options)
        design(design.x0)


def test_dispersive_designs_end_before_layers():
    with pytest.raises(ValueError, match="goes on in the absorbing layer"):
        dg.design(of_light(1.0, mesh=LAYERED, boundary=dg.pec), seen, AIR_TO_LORENTZ)


@pytest.mark.thorough
def test_derivatives_of_a_reflection_are_those_of_fresnels_formula():
    """R = |(1 - n) / (1 + n)|^2, n^2 = eps(f), of a half-space of polar molecules."""
    f, w = np.array([0.2, 0.4]), 0.4
    mesh = dg.interval(-4, 4, 24).with_regions({"air": lambda x: x[0] < 0, "water": lambda x: x[0] > 0})

    def medium(tau):
        return 1.5 + dg.Debye(1.0, tau)

    def start(x):
        return np.exp(-((x[0] + 2) / w) ** 2), -np.exp(-((x[0] + 2) / w) ** 2)
    law = dg.Maxwell(1, eps={"air": 1.0, "water": medium(0.4)})
    sim = dg.Simulation(mesh, law, dg.NodalDG(4), dg.absorbing, start, until=11.0, backend="numpy",
                        record={"f": dg.Fourier(f, points=[(-3.9,)])})
    incident = w * np.sqrt(np.pi) * np.exp(-(np.pi * f * w) ** 2)

    def reflected(ds):
        return ((np.abs(ds.dg.record("f").Ez) ** 2).isel(point=0) / incident ** 2).sum()

    def exact(tau):
        n = np.sqrt(medium(tau)(f))
        return np.sum(np.abs((1 - n) / (1 + n)) ** 2)
    found = sim.gradient(reflected, {"eps.tau": "number"})
    assert found.value == pytest.approx(exact(0.4), rel=1e-4)
    assert float(found["eps.tau"]) == pytest.approx((exact(0.4 + 1e-4) - exact(0.4 - 1e-4)) / 2e-4, rel=1e-4)
