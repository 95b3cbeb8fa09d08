"""Densities between two media: the filter, the projection, exact gradients, media of the simulation, refusals."""
import numpy as np
import pytest

import dgarray as dg
from dgarray import cases
from dgarray.cases.inversion import invert, true_speed
from dgarray.run.gradients.design import cone_filter, projection, unprojected

WEST = ({"sound_speed": 1.0, "density": 1.0}, {"sound_speed": 0.6, "density": 1.5})


def sound(x):
    return np.exp(-20 * (x[0] ** 2 + x[1] ** 2)), 0.0, 0.0


def halves(shape="quadrilateral"):
    return dg.rectangle((-1, -1), (1, 1), 4, shape=shape).with_regions({"west": lambda x: x[0] < 0, "east": lambda x: x[0] > 0})


def problem(mesh=None, initial=sound, **media):
    mesh = halves() if mesh is None else mesh
    method = dg.TensorDG(2) if mesh.cell_type == "quadrilateral" else dg.NodalDG(2)
    return dg.Simulation(mesh, dg.Acoustics(2, **media), method, dg.absorbing, initial, until=0.2, dt=0.02, backend="numpy",
                         record={"mic": dg.Points([(-0.3, 0.2), (0.4, -0.2)])})


def heard(ds):
    return ((ds.dg.record("mic").p - 0.1) ** 2).sum()


def order_of_remainder(function, x, seed=0):
    """The slope of |J(x + h d) - J(x) - h dJ d| over h, for a random d."""
    direction = np.random.default_rng(seed).uniform(-1, 1, x.shape)
    value, gradient = function(x)
    remainders = [abs(function(x + h * direction)[0] - value - h * gradient @ direction) for h in (0.01, 0.005)]
    return np.log2(remainders[0] / remainders[1])


@pytest.mark.parametrize("shape, options", [("quadrilateral", {"where": "west", "radius": 0.8, "beta": 3.0, "eta": 0.4}),
                                            ("triangle", {"radius": 0.6})])
def test_gradient_is_exact(shape, options):
    design = dg.design(problem(halves(shape)), heard, WEST, **options)
    x = np.random.default_rng(1).uniform(0.2, 0.8, design.x0.shape)
    assert order_of_remainder(design, x) == pytest.approx(2, abs=0.05)


def test_misfits_of_several_simulations_add_up():
    sims = [problem(), problem(initial=lambda x: (np.exp(-20 * (x[0] - 0.5) ** 2), 0.0, 0.0), sound_speed=1.1)]
    misfits = [heard, lambda ds: 2 * heard(ds)]
    options = {"between": WEST, "where": "west", "radius": 0.8}
    both = dg.design(sims, misfits, **options)
    x = np.random.default_rng(1).uniform(0.2, 0.8, both.x0.shape)
    parts = [dg.design(sim, misfit, **options)(x) for sim, misfit in zip(sims, misfits)]
    value, gradient = both(x)
    assert value == pytest.approx(parts[0][0] + parts[1][0]) and np.allclose(gradient, parts[0][1] + parts[1][1], rtol=1e-12)
    assert [heard(sim.run()) for sim in both.simulation(x)] == pytest.approx([parts[0][0], parts[1][0] / 2])


def test_filter_keeps_constants_and_is_a_weighted_mean_of_what_is_near():
    random = np.random.default_rng(0)
    centres, volumes, radius = random.uniform(size=(40, 2)), random.uniform(0.1, 1, 40), 0.3
    matrix, x = cone_filter(centres, volumes, radius), random.uniform(size=40)
    weights = volumes * np.maximum(0, radius - np.linalg.norm(centres[:, None] - centres, axis=2))
    assert np.allclose(matrix @ x, (weights @ x) / weights.sum(axis=1), rtol=1e-13)
    assert np.allclose(matrix @ np.ones(40), 1, rtol=1e-14)
    assert np.array_equal(cone_filter(centres, volumes, 0.0) @ x, x)


def test_projection_goes_from_none_to_a_step():
    y = np.linspace(0, 1, 11)
    for beta in (0, 1e-5, 5.0, 1e4):
        rho, slope = projection(y, beta, 0.35)
        assert rho[0] == pytest.approx(0, abs=1e-15) and rho[-1] == pytest.approx(1)
        h = 1e-6
        assert np.allclose(slope, (projection(y + h, beta, 0.35)[0] - projection(y - h, beta, 0.35)[0]) / (2 * h), atol=1e-6)
        if beta < 100:
            assert np.allclose(unprojected(rho, beta, 0.35), y, atol=1e-9)
    assert np.allclose(projection(y, 1e-5, 0.35)[0], y, atol=1e-5)
    assert np.array_equal(np.round(projection(y, 1e4, 0.35)[0], 12), (y > 0.35).astype(float))


def test_media_lie_between_the_two_inside_and_are_the_simulation_s_outside():
    sim = problem(sound_speed={"west": 0.8, "east": 2.0}, density=1.25)
    design = dg.design(sim, heard, WEST, "west", radius=0.8, beta=6.0)
    assert len(design.x0) == len(design.bounds) == 8 and design.density(design.x0).values == pytest.approx(0.5)
    assert design(design.x0)[0] == pytest.approx(float(heard(problem(sound_speed={"west": 0.8, "east": 2.0},
                                                                     density={"west": 1.25, "east": 1.25}).run())), rel=1e-12)
    x = np.linspace(0, 1, 8)
    rho, media, west = design.density(x), design.media(x), sim.mesh.regions["west"]
    assert np.array_equal(rho.x, sim.mesh.centroids[west, 0]) and np.array_equal(rho.cell_number, sim.mesh.numbers[west])
    assert np.allclose(media["sound_speed"][west], 1 - 0.4 * rho) and np.allclose(media["density"][west], 1 + 0.5 * rho)
    assert np.all(media["sound_speed"][sim.mesh.regions["east"]] == 2.0)
    assert design.grayness(np.ones(8)) == pytest.approx(0, abs=1e-12) and design.grayness(design.x0) == pytest.approx(1)
    assert dg.design(sim, heard, WEST, "west", beta=40.0).grayness(x) < 0.2 < design.grayness(x)


@pytest.mark.parametrize("changes, text", [
    ({"where": "wst"}, r"region 'wst' does not exist in the mesh; it has: west, east \(did you mean 'west'\?\)"),
    ({"where": []}, "where=\\[\\] has no element"), ({"where": 3}, "where=3 is not allowed; give the name of a region"),
    ({"sim": 3}, "3 is not allowed; give a Simulation"),
    ({"between": ({"sound_speed": 1.0}, {"sound_speed": -1.0})}, "between: sound_speed .* must be positive and finite"),
    ({"radius": -1.0}, "radius=-1.0 is not allowed; it must be a number from 0"),
    ({"radius": 0.5}, "radius=0.5 is not allowed, since it filters nothing: the centres of elements are at least 0.5 apart"),
    ({"beta": np.inf}, "beta=inf"),
    ({"beta": "8"}, "beta='8'"), ({"eta": 1.5}, "eta=1.5 is not allowed; it must be a number from 0 to 1"),
    ({"between": (1.0, 2.0)}, r"between=\(1.0, 2.0\) is not allowed; give two media with the same names"),
    ({"between": ({"sound_speed": 1.0}, {"density": 1.0})}, "two media with the same names"),
    ({"between": ({"sound_speed": 1.0}, {"sound_speed": 1.0})}, "sound_speed from 1.0 to 1.0 is not allowed"),
    ({"between": ({"speed": 1.0}, {"speed": 2.0})}, "'speed' does not exist.*derivatives are by"),
    ({"misfit": [heard, heard]}, "2 misfits for 1 simulations"), ({"sim": []}, "0 misfits for 0 simulations"),
    ({"sim": [problem(), problem(halves("triangle"))]}, "on several meshes"),
    ({"sim": problem(sound_speed=lambda x: 1 + 0.1 * x[0])}, "sound_speed is a function of x")])
def test_what_is_not_allowed_is_said(changes, text):
    given = {"sim": problem(), "misfit": heard, "between": WEST} | changes
    with pytest.raises(ValueError, match=text):
        dg.design(**given)


def test_densities_of_another_number_are_refused():
    with pytest.raises(ValueError, match=r"x has the shape \(3,\); it must be \(8,\), as design.x0"):
        dg.design(problem(), heard, WEST, "west").density(np.ones(3))


def test_the_designed_lens_makes_its_focus_ten_times_as_bright():
    """Its squares are 0 or 1 here, and the mesh and order are not those of the design."""
    sim = cases.lens_design(order=4, cells=10)
    sim.run()
    assert sim.report["results"]["gain"] > 10


@pytest.mark.thorough
def test_an_inversion_divides_the_misfit_by_100():
    speed, misfits = invert(cases.inversion().run(), iterations=14)
    assert misfits[-1] < 0.01 * misfits[0]
    body = true_speed((speed.x, speed.y))
    assert ((speed - body) ** 2).mean() < 0.15 * ((1 - body) ** 2).mean()
