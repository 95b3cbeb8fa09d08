"""NodalDG on pyramids, affine and not, curved, and beside tetrahedra, prisms and hexahedra: exact solutions, uniform states,
conservation, energy, kernels against arrays."""
from functools import partial

import numpy as np
import pytest

import dgarray as dg
from dgarray import backends
from dgarray.analysis.totals import totals_of_arrays, totals_of_state
from dgarray.mesh import MeshError
from dgarray.methods.dg.basis import at_nodes, in_weighted_modes, modal_basis
from dgarray.methods.dg.curved_geometry import CurvedGeometry, degree_for
from dgarray.methods.dg.physics import Physics
from dgarray.methods.dg.sets import bent
from dgarray.methods.dg.tables import Tables
from dgarray.methods.problem import Problem
from dgarray.physics.fluxes import upwind
from dgarray.spaces import MixedFacesSpace
from dgarray.stepping import STEPPERS

K = 2 * np.pi * np.array([1, 1, -1])
SIZE = np.linalg.norm(K)
N = K / SIZE
E = np.cross(N, (0, 0, 1)) / np.linalg.norm(np.cross(N, (0, 0, 1)))
# Law and components of a plane wave.
WAVES = {"acoustics": (partial(dg.Acoustics, 3), (1.0, *N)), "maxwell": (partial(dg.Maxwell, 3), (*E, *np.cross(N, E)))}


def wavy(x):
    """A map that moves all points, but those of opposite sides alike."""
    push = np.prod([np.sin(2 * np.pi * c + shift) for c, shift in zip(x, (0.1, 0.3, 0.5))], axis=0)
    return tuple(c + a * push for c, a in zip(x, (0.03, -0.025, 0.02)))


def box(kind, cells, order=2, periodic=True):
    """Affine pyramids, straight ones that are not, curved ones, or cells of all shapes, curved as hexahedra of that order allow
    beside others."""
    mesh = dg.box(cells=cells, shape="hybrid" if kind == "hybrid" else "pyramid", periodic=periodic)
    degree = {"straight": 1, "curved": min(max(order, 2), 3), "hybrid": (order + 1) // 2}
    return mesh if kind == "affine" else mesh.mapped(wavy, degree[kind])


def wave(name):
    components = WAVES[name][1]
    return lambda x, t: tuple(c * np.sin(sum(k * a for k, a in zip(K, x)) - SIZE * t) for c in components)


def operator_on(mesh, law, order, kernels="array", boundary=None, flux=None):
    return dg.NodalDG(order).discretise(mesh, law, boundary, backends.get("numpy", kernels, "float64"), flux)


def error(name, mesh, order, kernels="array", until=0.05):
    """The L2 error of a plane wave, and the state."""
    operator, exact = operator_on(mesh, WAVES[name][0](), order, kernels), wave(name)
    state = operator.state(operator.project(lambda x: exact(x, 0.0)))
    steps = int(np.ceil(until / (0.8 * operator.largest_step(state, 0.0))))
    for step in range(steps):
        state = operator.advance(state, step * until / steps, until / steps)
    return np.hypot.reduce(operator.error(state, exact, until)), operator.nodal(operator.host(state))


@pytest.mark.parametrize("kind, name, order, levels", [
    ("affine", "acoustics", 2, (3, 6)), ("straight", "acoustics", 1, (4, 8)),
    *(pytest.param(kind, name, order, levels, marks=pytest.mark.thorough)
      for kind, name in (("affine", "acoustics"), ("straight", "maxwell"), ("curved", "acoustics"), ("hybrid", "maxwell"))
      for order, levels in ((1, (4, 8)), (2, (4, 8)), (3, (3, 6)), (4, (2, 4)), (5, (2, 4)), (6, (2, 4)))
      if (kind, order) not in (("affine", 2), ("straight", 1)))])
def test_order(kind, name, order, levels):
    coarse, fine = (error(name, box(kind, cells, order), order, "fused")[0] for cells in levels)
    assert np.log2(coarse / fine) > order + (0.6 if order < 5 else 0.3), (coarse, fine)


@pytest.mark.parametrize("kind", ["affine", "straight", "curved", "hybrid"])
def test_uniform_states_and_integrals(kind):
    """Of a gas in a box: a uniform state stays, and mass and energy are kept between walls."""
    law, mesh = dg.Euler(3), box(kind, 2, 3, periodic=False)
    u = law.conservative((1.0, 0.3, -0.2, 0.1, 1.0))

    def smooth(x):
        return law.conservative((1 + 0.2 * np.sin(2 * x[0]) * np.cos(x[1]), *(0 * c for c in x), 1 + 0.2 * np.cos(3 * x[2])))
    operator = operator_on(mesh, law, 3, boundary=dg.prescribed(u), flux=dg.hllc)
    state = operator.state(operator.project(lambda x: tuple(c + 0 * x[0] for c in u)))
    assert np.nanmax(np.abs(operator.nodal(operator.host(operator.rhs(state, 0.0))))) < 1e-11
    operator = operator_on(mesh, law, 3, boundary=dg.wall, flux=dg.hllc)
    totals = totals_of_arrays(operator, operator.host(operator.rhs(operator.state(operator.project(smooth)), 0.0)))
    assert abs(totals["rho"]) < 1e-13 and abs(totals["E"]) < 1e-13


@pytest.mark.parametrize("kind, name, order", [("straight", "acoustics", 3), ("curved", "maxwell", 2),
                                               pytest.param("hybrid", "acoustics", 4, marks=pytest.mark.thorough)])
def test_energy_falls_over_many_default_steps(kind, name, order):
    """From a state of all wave lengths, in a box with walls."""
    law = WAVES[name][0]()
    operator = operator_on(box(kind, 2, 2, periodic=False), law, order, boundary=dg.wall if name == "acoustics" else dg.pec)
    random, state = np.random.default_rng(0), operator.state(operator.project(lambda x: [0 * x[0]] * len(law.variables)))
    arrays = operator.host(state)
    noise = {key: random.standard_normal(a.shape) for key, a in arrays.items()} if isinstance(arrays, dict) else (
        random.standard_normal(arrays.shape))
    state = operator.state(noise)
    dt, energies = 0.9 * operator.largest_step(state, 0.0), []
    for step in range(600):
        state = operator.advance(state, step * dt, dt)
        if step % 100 == 99:
            energies.append(totals_of_state(operator, state)["energy"])
    assert np.all(np.diff(energies) < 0) and energies[-1] > 0


@pytest.mark.parametrize("order", [1, 3])
def test_projected_derivatives_are_the_weak_form(order):
    """On affine pyramids the strong form with dense matrices is the weak form by quadrature, to rounding."""
    mesh, method = box("affine", 2), dg.NodalDG(order)
    assert not bent(mesh).any() and bent(box("straight", 2)).all()
    problem = Problem(mesh, dg.Acoustics(3), {})
    basis = in_weighted_modes(at_nodes(modal_basis(mesh.cell_shape, order, degree_for(mesh, order, None))))
    physics = Physics(problem.law, upwind, None, problem.numbers, weak=True, collocated=True)
    q, found = np.random.default_rng(0).standard_normal((4, basis.rows, mesh.cell_count)), []
    for tables in (method.tables(problem), Tables(mesh, {}, physics, basis, CurvedGeometry(mesh, basis))):
        operations = backends.get("numpy", "array", "float64").operations(method.operations(tables), tables)
        found.append(operations.rhs(q, 0.0))
    np.testing.assert_allclose(*found, atol=1e-10 * np.abs(found[0]).max())


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["affine", "curved", "hybrid"])
def test_kernels_and_arrays_agree(kind):
    (one, q), (other, p) = (error("maxwell", box(kind, 2, 2), 3, kernels) for kernels in ("array", "fused"))
    assert one == pytest.approx(other, rel=1e-10) and np.nanmax(np.abs(q - p)) < 1e-12


@pytest.mark.parametrize("lengths", [(1, 1, 1), (1, 1, 0.1), (1, 4, 8)])
def test_steps_from_the_table_are_below_those_of_the_spectrum(lengths):
    for law, order in ((dg.Advection((1.0, 0.5, 0.25)), 2), (dg.Acoustics(3), 1), (dg.Acoustics(3), 3)):
        for kind in ("affine", "straight"):
            mesh = box(kind, 3).mapped(lambda x: tuple(a * c for a, c in zip(lengths, x)))
            operator, stepper = operator_on(mesh, law, order), STEPPERS["lsrk54"]
            table = operator._step_of_table(operator.project(lambda x, V=operator.shape[0]: V * (1.0,)), 0.0, stepper)
            assert 0.2 < table / operator._step_of_spectrum(stepper) < 1.0


@pytest.mark.parametrize("kind", ["affine", "straight", "curved"])
def test_space(kind):
    """A polynomial at points, its integral, norm, mean and derivatives, and by the divergence theorem on the boundary."""
    mesh = box(kind, 3, 2, periodic=False)
    space = MixedFacesSpace(mesh, 3)
    x = np.random.default_rng(1).uniform(0.3, 0.7, (50, 3))
    nodes = np.stack([space.position(node, element) for node in range(len(space.cell.nodes)) for element in range(space.count)])
    nodes = nodes.T.reshape(3, -1, space.count)
    evaluation = space.evaluation(x)
    found = evaluation.values((nodes[0] + 2 * nodes[1] - nodes[2])[None][:, :, evaluation.places])[0]
    np.testing.assert_allclose(found, x @ (1, 2, -1), atol=1e-10)
    ones, volume = np.ones((1, *nodes.shape[1:])), mesh.measures.sum()
    np.testing.assert_allclose([space.integral(ones)[0], space.norm(2 * ones)[0] ** 2], [volume, 4 * volume], rtol=1e-12)
    np.testing.assert_allclose(space.mean(ones[0].T), 1, rtol=1e-12)
    flux = sum(part.integrate(sum(n * v for n, v in zip(part.n, part.values(nodes[:, :, part.places]))))
               for name in mesh.boundaries for part in space.boundary_parts(name, "test"))
    assert flux == pytest.approx(3 * volume, rel=1e-12)


def test_what_pyramids_refuse():
    mesh = box("affine", 2)
    for method in (dg.ModalDG(2), dg.TensorDG(2)):
        with pytest.raises(ValueError, match="not on pyramid cells"):
            method.discretise(mesh, dg.Acoustics(3), None, backends.get("numpy", "array", "float64"))
    with pytest.raises(MeshError, match=r"curved\(\) is not for pyramids; take mapped\(function, order\)"):
        mesh.curved(2, lambda x: x)
