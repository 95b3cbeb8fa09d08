"""NodalDG on prisms, affine and not: exact solutions, uniform states, conservation, fused kernels against arrays."""
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from support.prisms import prism_box

import dgarray as dg
from dgarray import backends
from dgarray.mesh.curved import cell_maps
from dgarray.methods.dg.sets import bent
from dgarray.spaces import MixedFacesSpace
from dgarray.stepping import STEPPERS

SHEAR, BEND = 0.1, 0.03
K = np.linalg.inv(np.eye(3) + SHEAR * np.roll(np.eye(3), 1, axis=1)).T @ (2 * np.pi * np.array([1, 1, -1]))
V = np.array([1.0, 0.5, 0.25])
SIZE = np.linalg.norm(K)
N = K / SIZE
E = np.cross(N, (0, 0, 1)) / np.linalg.norm(np.cross(N, (0, 0, 1)))
# Law, components of a plane wave, and its frequency.
WAVES = {"advection": (partial(dg.Advection, V), (1.0,), K @ V), "acoustics": (partial(dg.Acoustics, 3), (1.0, *N), SIZE),
         "maxwell": (partial(dg.Maxwell, 3), (*E, *np.cross(N, E)), SIZE)}


def plane_wave(name):
    _, components, frequency = WAVES[name]

    def exact(x, t):
        s = np.sin(K[0] * x[0] + K[1] * x[1] + K[2] * x[2] - frequency * t)
        return tuple(c * s for c in components)
    return exact


def wave(name, mesh, order, kernels="array", **options):
    exact = plane_wave(name)
    return dg.Simulation(mesh, WAVES[name][0](), dg.NodalDG(order), initial=lambda x: exact(x, 0.0), exact=exact, until=0.05,
                         every=0.05, backend="numpy", kernels=kernels, **options)


def total_error(sim):
    sim.run()
    return sim.report["l2_error"]["total"]


def partly_bent(n):
    """A box of affine prisms, but around one point that is moved."""
    mesh = prism_box(n)
    points = mesh.points.copy()
    points[np.linalg.norm(points - 1 / n, axis=1) < 1e-9] += np.array([0.2, 0.1, -0.15]) / n
    return replace(mesh, points=points)


MESHES = {"affine": lambda n: prism_box(n, shear=SHEAR), "bent": lambda n: prism_box(n, bend=BEND, shear=SHEAR),
          "partly": partly_bent}


def test_which_prisms_are_bent():
    assert not bent(MESHES["affine"](3)).any() and bent(MESHES["bent"](3)).all() and 0 < bent(partly_bent(3)).sum() < 54


@pytest.mark.thorough
@pytest.mark.parametrize("name, order", [("advection", 1), ("advection", 3), ("advection", 4), ("acoustics", 1),
                                         ("acoustics", 2), ("acoustics", 3), ("maxwell", 2)])
@pytest.mark.parametrize("kind", ["affine", "bent"])
def test_order(name, kind, order):
    coarse, fine = (total_error(wave(name, MESHES[kind](n), order, "fused")) for n in (4, 8))
    assert np.log2(coarse / fine) > order + 0.65


@pytest.mark.parametrize("kind", MESHES)
def test_uniform_state_stays(kind):
    operator = dg.NodalDG(2).discretise(MESHES[kind](3), dg.Acoustics(3), None, backends.get("numpy", "array", "float64"))
    state = operator.state(operator.project(lambda x: (1.0, 2.0, -1.0, 0.5)))
    new = operator.host(operator.advance(state, 0.0, 1e-2))
    assert np.abs(new - operator.host(state)).max() < 1e-12


@pytest.mark.thorough
@pytest.mark.parametrize("kind", MESHES)
@pytest.mark.parametrize("name", ["advection", "acoustics"])
def test_integrals_are_kept_and_fused_agrees(name, kind):
    array, fused = (wave(name, MESHES[kind](3), 2, kernels) for kernels in ("array", "fused"))
    assert total_error(array) == pytest.approx(total_error(fused), rel=1e-10)
    for variable, found in array.report["conserved"].items():
        if variable != "energy":
            assert abs(found["final"] - found["initial"]) < 1e-13


@pytest.mark.parametrize("kind", ["affine", "bent"])
def test_exact_integrals_keep_the_accuracy(kind):
    exact = plane_wave("acoustics")
    plain = wave("acoustics", MESHES[kind](3), 3)
    more = dg.Simulation(plain.mesh, plain.law, dg.NodalDG(3, quadrature=8), initial=lambda x: exact(x, 0.0), exact=exact,
                         until=0.05, every=0.05, backend="numpy", kernels="array")
    assert total_error(more) == pytest.approx(total_error(plain), rel=0.05)


@pytest.mark.parametrize("kind", MESHES)
def test_space(kind):
    """A polynomial at points, its integral and norm."""
    space = MixedFacesSpace(MESHES[kind](3), 3)
    nodes = cell_maps.positions(space.mesh, space.cell.nodes)
    x = np.random.default_rng(1).uniform(0.3, 0.7, (50, 3))
    evaluation = space.evaluation(x)
    values = evaluation.values((nodes[0] + 2 * nodes[1] - nodes[2])[None][:, :, evaluation.places])[0]
    np.testing.assert_allclose(values, x @ (1, 2, -1), atol=1e-10)
    ones = np.ones((1, *nodes.shape[1:]))
    volume = space.mesh.measures.sum()
    np.testing.assert_allclose([space.integral(ones)[0], space.norm(2 * ones)[0] ** 2], [volume, 4 * volume], rtol=1e-12)
    np.testing.assert_allclose(space.mean(ones[0].T), 1, rtol=1e-12)
    assert space.error(ones, lambda x, t: (1.0 + 0 * x[0],), 0.0)[0] < 1e-12
    # Energies by degree add up to the norm where J is constant.
    if kind == "affine":
        q = np.sin(nodes[:1] + nodes[1:2])
        assert space.energies(q).sum() == pytest.approx(space.norm(q)[0] ** 2)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["affine", "bent"])
def test_boundaries(kind):
    """A wave that comes in and leaves, on a box with sides; kernels agree."""
    exact = plane_wave("acoustics")
    mesh = prism_box(4, bend=BEND * (kind == "bent"), shear=SHEAR, periodic=False)
    assert len(mesh.boundary_faces) == 2 * 4 * 4 * 2 + 4 * 4 * 4
    found = [total_error(wave("acoustics", mesh, 3, kernels, boundary=dg.prescribed(exact))) for kernels in ("array", "fused")]
    inside = total_error(wave("acoustics", MESHES[kind](4), 3))
    assert found[0] == pytest.approx(found[1], rel=1e-10) and found[0] < 1.3 * inside


@pytest.mark.parametrize("kind", ["affine", "bent"])
def test_steps_of_nonlinear_laws_are_stable(kind):
    """Euler's equations with a step from triangles and lines: a density wave."""
    def exact(x, t):
        rho = 1 + 0.2 * np.sin(K[0] * x[0] + K[1] * x[1] + K[2] * x[2] - K @ V * t)
        return (rho, *(v * rho for v in V), 1 / 0.4 + 0.5 * V @ V * rho)
    sims = [dg.Simulation(MESHES[kind](3), dg.Euler(3), dg.NodalDG(order),
                          initial=lambda x: exact(x, 0.0), exact=exact, until=0.3, every=0.3, backend="numpy", kernels="array")
            for order in (1, 3)]
    coarse, fine = map(total_error, sims)
    assert fine < coarse / 10


@pytest.mark.parametrize("order", [1, 2, 3])
def test_steps_from_the_table_are_below_those_of_the_spectrum(order):
    for law in (dg.Advection((1.0, 0.5, 0.25)), dg.Acoustics(3)):
        for lengths in ((1, 1, 1), (1, 1, 0.1), (1, 1, 8)):
            operator = dg.NodalDG(order).discretise(prism_box(3, lengths=lengths), law, None,
                                                    backends.get("numpy", "array", "float64"))
            stepper = STEPPERS["lsrk54"]
            table = operator._step_of_table(operator.project(lambda x, V=operator.shape[0]: V * (1.0,)), 0.0, stepper)
            assert 0.2 < table / operator._step_of_spectrum(stepper) < 0.95


@pytest.mark.parametrize("bend", [0, BEND])
def test_boundary_integrals(bend):
    """The integral of x.n over the boundary is that of 3 over the volume, and the trace is the field."""
    mesh = prism_box(3, bend=bend, shear=SHEAR, periodic=False)
    mesh = replace(mesh, boundaries={"all": mesh.boundary_faces})
    space = MixedFacesSpace(mesh, 2)
    x = cell_maps.positions(mesh, space.cell.nodes)
    total = 0.0
    for part in space.boundary_parts("all", "test"):
        total += part.integrate(sum(n * v for n, v in zip(part.n, part.values(x[:, :, part.places]))))
    assert total == pytest.approx(3 * mesh.measures.sum(), rel=1e-12)
    trace = space.trace("all", "test", lambda name: "m")
    np.testing.assert_allclose(trace.values(x[:, :, trace.places])[1], trace.coords["y"][1], atol=1e-12)


def test_a_dataset_gives_fields_at_points_and_integrals():
    sim = wave("acoustics", prism_box(3), 3)
    ds, exact = sim.run(), plane_wave("acoustics")
    x = np.random.default_rng(0).uniform(0.2, 0.8, (20, 3))
    assert np.abs(ds.dg.sample(x).p.values[0] - exact(x.T, 0.0)[0]).max() < 0.1
    assert ds.dg.space.sizes == {"element": 54, "node": 40}


def test_other_methods_refuse_prisms():
    for method in (dg.ModalDG(2), dg.TensorDG(2)):
        with pytest.raises(ValueError, match="not on prism cells"):
            dg.Simulation(prism_box(3), dg.Acoustics(3), method)
