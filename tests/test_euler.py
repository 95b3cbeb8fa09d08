"""Euler's equations: the law, its numerical fluxes, its boundary conditions, and runs with them."""
from functools import partial

import numpy as np
import pytest
import xarray as xr
from meshes import PERIODIC, UNIFORM
from nodal_problems import box_of
from references import TORO
from strict import StrictNamespace

import dgarray as dg
from dgarray import backends, stepping
from dgarray.backends.arrays import ArrayBackend
from dgarray.output.derived_fields import with_field
from dgarray.physics.pointwise import Pointwise
from dgarray.physics.trace import call

FLUXES = [dg.rusanov, dg.hll, dg.hllc, dg.roe]
DIMS = (1, 2, 3)
GAMMA = 1.4


def states(dim, seed=0, count=200):
    """Random admissible states (conserved variables), (dim + 2, count), with supersonic ones among them."""
    rng = np.random.default_rng(seed)
    w = rng.standard_normal((dim + 2, count))
    return np.array(dg.Euler(dim).conservative((np.exp(w[0]), *(1.5 * w[1:-1]), np.exp(w[-1]))))


def normals(dim, seed=0, count=200):
    n = np.random.default_rng(seed + 1).standard_normal((dim, count))
    return n / np.linalg.norm(n, axis=0)


def flux_of(kind, law, l, r, n):
    """A numerical flux of constant parameters as an array."""
    parameters = dict(law.parameters)
    given = {"l": len(l), "r": len(l), "n": len(n), "x": len(n), "t": None, "ml": parameters, "mr": parameters}
    result = Pointwise(kind(law), given, "numerical flux")(l=tuple(l), r=tuple(r), n=tuple(n), x=tuple(n), t=0.0)
    return np.array(np.broadcast_arrays(*result))


def close(a, b, scale=1.0, tolerance=1e-12):
    return np.abs(np.asarray(a) - b).max() <= tolerance * np.max(scale)


# The law

@pytest.mark.parametrize("dim", DIMS)
def test_conversions_are_inverse(dim):
    law, q = dg.Euler(dim), states(dim)
    w = law.primitive(tuple(q))
    assert close(law.conservative(w), q, np.abs(q))
    assert close(w[-1], (GAMMA - 1) * (q[-1] - np.sum(q[1:-1] ** 2, axis=0) / (2 * q[0])), np.abs(q))
    assert law.primitive((2.0, *(2.0,) * dim, 10.0)) == pytest.approx((2.0, *(1.0,) * dim, 0.4 * (10 - dim)))
    assert close(law.entropy(tuple(q)), np.log(w[-1] / w[0] ** GAMMA), 1.0)
    assert close(law.mach(tuple(q)), np.sqrt(sum(np.array(w[1:-1]) ** 2) / (GAMMA * w[-1] / w[0])), 10.0)
    assert law.variables == ("rho", "rho_u", "rho_v", "rho_w")[:1 + dim] + ("E",) and set(law.long_names) == set(law.variables)


@pytest.mark.parametrize("dim", DIMS)
def test_flux_is_the_matrix_of_the_textbook(dim):
    law, q, n = dg.Euler(dim), states(dim), 3 * normals(dim)
    rho, *v, p = (np.array(c) for c in law.primitive(tuple(q)))
    columns = []
    for axis in range(dim):
        momentum = [rho * v[i] * v[axis] + p * (i == axis) for i in range(dim)]
        columns.append([rho * v[axis], *momentum, v[axis] * (q[-1] + p)])
    expected = np.einsum("avk,ak->vk", np.array(columns), n)
    assert close(law.flux(tuple(q), tuple(n)), expected, np.abs(expected))


@pytest.mark.parametrize("dim", DIMS)
def test_wave_speeds_are_the_eigenvalues_of_the_flux(dim):
    law, many, directions = dg.Euler(dim, 1.3), states(dim, count=20), 2 * normals(dim, count=20)
    for q, n in zip(many.T, directions.T):
        jacobian = np.array([np.imag(law.flux(tuple(q + 1e-30j * e), tuple(n))) / 1e-30 for e in np.eye(dim + 2)]).T
        eigenvalues = np.linalg.eigvals(jacobian).real
        slow, fast = law.speeds(tuple(q), tuple(n))
        assert np.allclose((slow, fast), (eigenvalues.min(), eigenvalues.max()), rtol=1e-6)
        assert law.wave_speed(tuple(q), tuple(n)) == pytest.approx(np.abs(eigenvalues).max(), rel=1e-6)


def test_admissible():
    law = dg.Euler(2)
    good, thin, cold = (1.0, 0.5, 0.0, 1.0), (-1.0, 0.5, 0.0, 1.0), (1.0, 2.0, 0.0, 1.0)
    assert [bool(law.admissible(q)) for q in (good, thin, cold, (np.nan,) * 4)] == [True, False, False, False]


# Numerical fluxes

@pytest.mark.parametrize("kind", FLUXES)
@pytest.mark.parametrize("dim", DIMS)
def test_fluxes_are_consistent_and_conservative(kind, dim):
    law, l, r, n = dg.Euler(dim), states(dim, 1), states(dim, 2), normals(dim)
    exact = np.array(law.flux(tuple(l), tuple(n)))
    assert close(flux_of(kind, law, l, l, n), exact, np.abs(exact))
    there = flux_of(kind, law, l, r, n)
    assert close(flux_of(kind, law, r, l, -n), -there, np.abs(there))


@pytest.mark.parametrize("kind", FLUXES)
@pytest.mark.parametrize("dim", (2, 3))
def test_fluxes_do_not_know_the_axes(kind, dim):
    """Rotated with the states and the normal, and the same as in 1D where nothing moves along the face."""
    law, l, r, n = dg.Euler(dim), states(dim, 1), states(dim, 2), normals(dim)
    turn, _ = np.linalg.qr(np.random.default_rng(5).standard_normal((dim, dim)))

    def turned(q):
        return np.array([q[0], *(turn @ q[1:-1]), q[-1]])
    there = flux_of(kind, law, l, r, n)
    assert close(flux_of(kind, law, turned(l), turned(r), turn @ n), turned(there), np.abs(there))

    def along(q, n):
        return np.array([q[0], *(q[1] * n), q[-1]])
    l, r = states(1, 3), states(1, 4)
    one = flux_of(kind, dg.Euler(1), l, r, np.ones((1, 200)))
    assert close(flux_of(kind, law, along(l, n), along(r, n), n), along(one, n), np.abs(one))


@pytest.mark.parametrize("kind", FLUXES)
@pytest.mark.parametrize("dim", DIMS)
def test_contacts_and_shear_layers(kind, dim):
    """Two states of the same pressure and normal velocity: HLLC and Roe carry them without dissipation, also at rest."""
    law, n = dg.Euler(dim), normals(dim)
    rng = np.random.default_rng(7)
    u, p = rng.standard_normal(200) * (np.arange(200) > 50), np.exp(rng.standard_normal(200))
    sides = []
    for _ in range(2):
        tangential = rng.standard_normal((dim, 200))
        v = tangential - np.sum(tangential * n, axis=0) * n + u * n
        sides.append(np.array(law.conservative((np.exp(rng.standard_normal(200)), *v, p))))
    expected = np.where(u > 0, *(np.array(law.flux(tuple(q), tuple(n))) for q in sides))
    sharp = kind in (dg.hllc, dg.roe)
    assert close(flux_of(kind, law, *sides, n), expected, np.abs(expected), 1e-13) == sharp


def shock(mach, speed, gamma=GAMMA):
    """A shock that runs with that speed to the right into gas at rest in its frame moved: states behind and ahead.

    Rankine-Hugoniot: Toro 2009, section 3.1.3."""
    ratio = (gamma + 1) * mach ** 2 / ((gamma - 1) * mach ** 2 + 2)
    p = (2 * gamma * mach ** 2 - (gamma - 1)) / (gamma + 1)
    ahead = speed - mach * np.sqrt(gamma)                       # in front of the shock: density and pressure 1
    behind = speed - (speed - ahead) / ratio
    return (ratio, behind, p), (1.0, ahead, 1.0)


@pytest.mark.parametrize("kind", [dg.hllc, dg.roe])
@pytest.mark.parametrize("mach", [1.1, 3.0, 20.0])
@pytest.mark.parametrize("speed", [-0.7, 0.0, 0.7])
def test_single_shocks_are_exact(kind, mach, speed):
    law = dg.Euler(1)
    left, right = (law.conservative(w) for w in shock(mach, speed))
    expected = law.flux(left if speed > 0 else right, (1.0,))
    assert close(flux_of(kind, law, left, right, (1.0,)), expected, np.abs(expected), 1e-13)


def test_roe_does_not_keep_an_expansion_shock():
    """A shock the wrong way round satisfies Rankine and Hugoniot; without the entropy fix it would stand still."""
    law = dg.Euler(1)
    left, right = (law.conservative(w) for w in shock(2.0, 0.0)[::-1])
    steady = law.flux(left, (1.0,))
    assert close(law.flux(right, (1.0,)), steady, np.abs(steady))
    through = flux_of(dg.roe, law, left, right, (1.0,))
    assert np.abs(through - steady).max() > 0.1


@pytest.mark.parametrize("law", UNIFORM, ids=lambda law: f"{type(law).__name__}{law.dim}")
def test_hll_of_linear_laws(law):
    """Consistent, conservative, and Rusanov's flux where the fastest waves run both ways at one speed; in 1D upwind."""
    rng = np.random.default_rng(3)
    l, r = rng.standard_normal((2, len(law.variables), 50))
    n = normals(law.dim, count=50)
    n[:, 0] = 0.0                                                # nothing runs along it: speeds of zero
    hll, rusanov = (flux_of(kind, law, l, r, n) for kind in (dg.hll, dg.rusanov))
    assert np.isfinite(hll).all() and close(hll, rusanov, np.abs(rusanov))
    assert close(flux_of(dg.hll, law, r, l, -n), -hll, np.abs(hll))
    if law.dim == 1:
        assert close(hll[:, 1:], flux_of(dg.upwind, law, l, r, n)[:, 1:], np.abs(hll))


def test_hll_takes_the_signal_speeds_of_the_law():
    class Stream(dg.Law):
        dim, variables = 1, ("u",)

        def flux(self, q, n):
            return (3.0 * q[0] * n[0],)

        def wave_speed(self, n):
            return np.abs(3.0 * n[0])

        def speeds(self, n):
            return 3.0 * n[0], 3.0 * n[0]

    for n in (1.0, -1.0):
        found = flux_of(dg.hll, Stream(), (np.array([2.0]),), (np.array([5.0]),), (np.array([n]),))
        assert found == pytest.approx(6.0 if n > 0 else -15.0, rel=1e-14)
    expected = dg.Euler(2).signal_speeds
    l, r, n = states(2, 1), states(2, 2), normals(2)
    slow, fast = expected(tuple(l), tuple(r), tuple(n))
    assert (slow < fast).all()
    a, b = np.abs(slow) > 0, slow >= 0
    exact = np.array(dg.Euler(2).flux(tuple(l), tuple(n)))
    assert b.any() and a.all() and np.allclose(flux_of(dg.hll, dg.Euler(2), l, r, n)[:, b], exact[:, b], rtol=1e-13)


def finite_volume(law, kind, left, right, at, until, cells):
    """The first-order scheme of Godunov on (0, 1) with transmissive ends, Courant number 0.9; smallest density and pressure."""
    x = (np.arange(cells) + 0.5) / cells
    q = np.where(x < at, *(np.array(law.conservative(w))[:, None] for w in (left, right)))
    t, least = 0.0, [np.inf, np.inf]
    while t < until:
        dt = min(0.9 / cells / np.max(law.wave_speed(tuple(q), (1.0,))), until - t)
        wide = np.concatenate([q[:, :1], q, q[:, -1:]], axis=1)
        f = flux_of(kind, law, wide[:, :-1], wide[:, 1:], (np.ones(cells + 1),))
        q, t = q - dt * cells * np.diff(f), t + dt
        least = [min(a, np.min(b)) for a, b in zip(least, (q[0], law.pressure(tuple(q))))]
    return x, q, least


@pytest.mark.parametrize("kind", [dg.rusanov, dg.hll, dg.hllc])
@pytest.mark.parametrize("test", TORO)
def test_first_order_runs_stay_positive_and_converge(kind, test):
    """Toro 2009, section 10.8: his tests with HLL and HLLC; for test 1 the data with a sonic point."""
    law, ((left, right), _) = dg.Euler(1), TORO[test]
    left, at, until = {1: ((1.0, 0.75, 1.0), 0.3, 0.2), 2: (left, 0.5, 0.15), 3: (left, 0.5, 0.012), 4: (left, 0.4, 0.035),
                       5: (left, 0.4, 0.035)}[test]
    exact = dg.riemann(law, left, right, at=at)
    errors = []
    for cells in (50, 200):
        x, q, least = finite_volume(law, kind, left, right, at, until, cells)
        assert min(least) > 0
        w, e = law.primitive(tuple(q)), exact.primitive((x,), until)
        errors.append([np.abs(a - b).sum() / np.abs(b).sum() for a, b in zip(w, e)])
    assert (np.array(errors[1])[[0, 2]] < 0.65 * np.array(errors[0])[[0, 2]]).all(), errors


def test_roe_goes_through_a_sonic_point():
    """No jump in the rarefaction where the flow becomes supersonic, as there is without the entropy fix."""
    law, right = dg.Euler(1), (0.125, 0.0, 0.1)
    x, q, _ = finite_volume(law, dg.roe, (1.0, 0.75, 1.0), right, 0.3, 0.2, 200)
    exact = dg.riemann(law, (1.0, 0.75, 1.0), right, at=0.3).primitive((x,), 0.2)
    fan = (x > 0.15) & (x < 0.45)
    assert np.abs(np.diff(law.velocity(tuple(q))[0][fan])).max() < 2.5 * np.abs(np.diff(exact[1][fan])).max()


# Boundary conditions

def exterior(condition, law, q, n):
    """The exterior state of a condition as an array, at x = 0 and t = 0."""
    given = dict(q=tuple(q), n=tuple(n), x=(0.0,) * len(n), t=0.0, m=None, law=law)
    return np.array(np.broadcast_arrays(*call(condition, given)))


def constant(state):
    return lambda x, t: tuple(state)


@pytest.mark.parametrize("dim", DIMS)
def test_wall(dim):
    law, q, n = dg.Euler(dim), states(dim), normals(dim)
    outside = exterior(dg.wall, law, q, n)
    assert close(outside[[0, -1]], q[[0, -1]]) and close(np.sum((outside + q)[1:-1] * n, axis=0), 0.0)
    assert close(outside[1:-1] - q[1:-1], np.sum((outside - q)[1:-1] * n, axis=0) * n)
    for kind in FLUXES:                                          # nothing but pressure goes through
        f = flux_of(kind, law, q, outside, n)
        assert close(f[[0, -1]], 0.0, np.abs(f)) and close(f[1:-1], np.sum(f[1:-1] * n, axis=0) * n, np.abs(f))
    still = q.copy()
    still[1:-1] = 0.0
    p = (GAMMA - 1) * q[-1]
    for kind in FLUXES:
        assert close(flux_of(kind, law, still, exterior(dg.wall, law, still, n), n)[1:-1], p * n, p)


@pytest.mark.parametrize("dim", DIMS)
def test_curved_wall(dim):
    """The velocity is mirrored about the wall's normal, of any length and sign; where that is the face's it is `wall`."""
    law, q, n, N = dg.Euler(dim), states(dim), normals(dim), normals(dim, 5)
    outside = exterior(dg.curved_wall(lambda x: tuple(-2.5 * N)), law, q, n)
    assert close(outside[[0, -1]], q[[0, -1]])
    assert close(np.sum((outside + q)[1:-1] * N, axis=0), 0.0)
    assert close(outside[1:-1] - q[1:-1], np.sum((outside - q)[1:-1] * N, axis=0) * N)
    assert close(exterior(dg.curved_wall(lambda x: tuple(3 * n)), law, q, n), exterior(dg.wall, law, q, n))


@pytest.mark.parametrize("dim", DIMS)
def test_far_field(dim):
    law, q, n = dg.Euler(dim), states(dim), normals(dim)
    assert close(exterior(dg.far_field(constant(q)), law, q, n), q, np.abs(q))
    free = law.conservative((1.2, *(0.3, -0.2, 0.1)[:dim], 0.9))
    outside = exterior(dg.far_field(constant(free)), law, q, n)
    (u, c), (u0, c0), (u1, c1) = ((np.sum(np.array(law.velocity(tuple(s))) * n, axis=0), law.sound_speed(tuple(s)))
                                  for s in (q, np.broadcast_to(np.array(free)[:, None], q.shape), outside))
    subsonic, out, into = np.abs(u) < c, u > c, u < -c
    assert subsonic.any() and out.any() and into.any()
    assert close(outside[:, out], q[:, out], np.abs(q)) and close(outside[:, into] - np.array(free)[:, None], 0.0, 10.0)
    assert close((u1 + 5 * c1 - u - 5 * c)[subsonic], 0.0, 100.0) and close((u1 - 5 * c1 - u0 + 5 * c0)[subsonic], 0.0, 100.0)
    s, s0, s1 = (law.entropy(tuple(state)) for state in (q, free, outside))
    assert close((s1 - np.where(u > 0, s, s0))[subsonic], 0.0, 10.0)


def test_far_field_is_upwind_for_small_disturbances():
    """F(q+) . n to first order, where the entropy is uniform: A+ of what is inside and A- of what is outside."""
    law, n = dg.Euler(2), (0.6, 0.8)
    free = np.array(law.conservative((1.0, 0.3, -0.5, 0.7)))
    jacobian = np.array([np.imag(law.flux(tuple(free + 1e-30j * e), n)) / 1e-30 for e in np.eye(4)]).T
    values, vectors = np.linalg.eig(jacobian)
    leaving = ((vectors * np.maximum(values.real, 0)) @ np.linalg.inv(vectors)).real
    for u, v, p in 1e-6 * np.random.default_rng(0).standard_normal((5, 3)):
        inside = np.array(law.conservative(((1 + p / 0.7) ** (1 / GAMMA), 0.3 + u, -0.5 + v, 0.7 + p)))
        outside = exterior(dg.far_field(constant(free)), law, inside, np.array(n))
        change = np.array(law.flux(tuple(outside), n)) - law.flux(tuple(free), n)
        assert np.abs(change - leaving @ (inside - free)).max() < 1e-10


@pytest.mark.parametrize("dim", DIMS)
def test_inflow_and_pressure_outflow(dim):
    law, n = dg.Euler(dim), np.eye(dim)[0]
    for mach, condition, sign in ((0.4, dg.inflow, -1), (0.4, dg.pressure_outflow, 1), (1.7, dg.inflow, -1),
                                  (1.7, dg.pressure_outflow, 1)):
        v = (sign * mach * np.sqrt(GAMMA), *(0.3, -0.2)[:dim - 1])
        inside = np.array(law.conservative((1.0, *v, 1.0)))
        given = law.conservative((1.3, *(1.1 * c for c in v), 0.8))
        outside = exterior(condition(0.8 if sign > 0 else constant(given)), law, inside, n)
        rho, *w, p = law.primitive(tuple(outside))
        if mach > 1:
            assert close(outside, inside if sign > 0 else np.array(given), 10.0)
            continue
        if sign < 0:
            assert close((rho, *w), (1.3, *(1.1 * c for c in v)))
        else:
            assert close(p, 0.8) and close(p / rho ** GAMMA, 1.0) and np.allclose(w[1:], v[1:])
        invariant = w[0] * n[0] + 5 * np.sqrt(GAMMA * p / rho)
        assert close(invariant, v[0] + 5 * np.sqrt(GAMMA), 10.0)
        same = exterior(condition(1.0 if sign > 0 else constant(inside)), law, inside, n)
        assert close(same, inside, 10.0)


def test_the_flux_of_these_conditions_is_that_of_the_state_at_the_boundary():
    law, l, r, n = dg.Euler(2), states(2, 1), states(2, 2), normals(2)
    exact = np.array(law.flux(tuple(r), tuple(n)))
    for condition in (dg.far_field(constant(r)), dg.inflow(constant(r)), dg.pressure_outflow(1.0)):
        assert close(flux_of(condition.flux, law, l, r, n), exact, np.abs(exact))


# Operators and runs

def gas(dim, turn=0):
    """Everything that is a condition of a gas, on a small mesh; random admissible states are given to it."""
    law = dg.Euler(dim)

    def g(x, t):
        return law.conservative((1.0 + 0.2 * np.sin(x[0] + t), *(0.4, -1.5, 0.3)[:dim], 0.8 + 0.1 * np.cos(x[-1])))
    conditions = [dg.wall, dg.curved_wall(lambda x: tuple(a - 0.3 for a in x)), dg.far_field(g), dg.inflow(g),
                  dg.pressure_outflow(lambda x, t: 0.7 + 0.1 * x[0]), dg.outflow, dg.prescribed(g)]
    mesh = box_of(dim)
    return mesh, law, {name: conditions[(turn + i) % len(conditions)] for i, name in enumerate(mesh.boundaries)}


def random_state(operator, seed):
    shape = operator.shape
    return states(shape[0] - 2, seed, shape[1] * shape[2]).reshape(shape)


@pytest.mark.parametrize("dim, kind, dtype", [
    *((dim, kind, "float64") for dim in DIMS for kind in FLUXES),
    (1, dg.roe, "float32"), (2, dg.hllc, "float32"), (3, dg.rusanov, "float32")])
def test_fused_kernels_agree_with_the_array_text(dim, kind, dtype):
    order, results = {1: 4, 2: 3, 3: 2}[dim], []
    mesh, law, boundary = gas(dim, FLUXES.index(kind))
    for kernels in ("array", "fused"):
        operator = dg.NodalDG(order).discretise(mesh, law, boundary, backends.get("numpy", kernels, dtype), kind)
        q, out, k = operator.state(random_state(operator, 0)), operator.zeros(), operator.state(random_state(operator, 1))
        operator.stage(q, out, k, q, 0.3, 0.01, stepping.LSRK54.stages[2])
        results.append((operator.host(out), operator.host(k), operator.max_dt(q, 0.0, stepping.LSRK54)))
        assert operator.check(q, 0.0).sound
        bad = random_state(operator, 0)
        bad[-1, 0, 3] *= -1
        assert not operator.check(operator.state(bad), 0.0).sound
        assert operator.not_admissible(bad, 0.0).tolist() == [[3, 0, 0]]
    for reference, fused in zip(*results):
        scale = 200 * (order + 1) * np.finfo(dtype).eps * np.abs(reference).max()
        assert np.abs(fused - reference).max() <= scale


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_array_kernels_on_strict_arrays(dim, dtype):
    mesh, law, boundary = gas(dim)
    plain = dg.NodalDG(2).discretise(mesh, law, boundary, backends.get("numpy", "array", dtype), dg.hllc)
    strict = plain.on(ArrayBackend(StrictNamespace(), dtype, "strict"))
    results = []
    for operator in (plain, strict):
        q, out, k = operator.state(random_state(plain, 1).astype(dtype)), operator.zeros(), operator.zeros()
        operator.stage(q, out, k, q, 0.2, 1e-3, stepping.RK4.stages[1])
        assert operator.check(q, 0.0).sound and operator.host(out).dtype == dtype
        results.append(operator.host(out))
    assert np.array_equal(*results)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("kind", FLUXES)
def test_free_stream_and_conservation(dim, kind):
    law = dg.Euler(dim)
    operator = dg.NodalDG(2).discretise(PERIODIC[dim], law, None, backends.get("numpy", "array"), kind)
    q = operator.project(lambda x: law.conservative((1.1, *(0.5, -1.4, 0.2)[:dim], 0.6)))
    assert np.abs(operator.host(operator.rhs(operator.state(q), 0.0))).max() < 1e-10
    r = operator.host(operator.rhs(operator.state(random_state(operator, 3)), 0.0))
    measure, weights = operator.tables.mesh.measures, operator.tables.basis.cell.mass.sum(axis=0)
    assert np.abs(np.einsum("i,vie,e->v", weights, r, measure)).max() < 1e-12 * np.abs(r).max() * measure.sum()


@pytest.mark.parametrize("dim", DIMS)
def test_a_uniform_flow_stays_with_every_condition_that_it_meets(dim):
    law = dg.Euler(dim)
    for mach, ends in ((0.5, (dg.inflow, dg.pressure_outflow)), (0.5, (dg.far_field,) * 2), (2.0, (dg.prescribed, None)),
                       (2.0, (dg.inflow, dg.far_field))):
        q = law.conservative((1.0, mach * np.sqrt(GAMMA), *(0.0, 0.0)[:dim - 1], 1.0))
        left, right = (dg.outflow if end is None else end(1.0) if end is dg.pressure_outflow else end(constant(q))
                       for end in ends)
        mesh = box_of(dim)
        boundary = {"left": left, "right": right, **({"default": dg.wall} if dim > 1 else {})}
        operator = dg.NodalDG(2).discretise(mesh, law, boundary, backends.get("numpy", "array"))
        state = operator.project(lambda x, q=q: q)
        assert np.abs(operator.host(operator.rhs(operator.state(state), 0.0))).max() < 1e-10


def density_wave(dim, order, cells, flux=None, **options):
    """A wave of the density that the flow carries along: u and p constant, exact."""
    law, v = dg.Euler(dim), (0.7, -0.4, 0.3)[:dim]

    def exact(x, t):
        phase = 2 * np.pi * sum(c - a * t for c, a in zip(x, v))
        return law.conservative((1 + 0.2 * np.sin(phase), *v, 0.7))
    mesh = {1: dg.interval, 2: dg.rectangle, 3: dg.box}[dim]
    cells = cells if dim == 1 else (cells,) * dim
    return dg.Simulation(mesh(cells=cells, periodic=True), law, dg.NodalDG(order), initial=exact, exact=exact, flux=flux,
                         until=0.1, **options)


@pytest.mark.parametrize("dim, order, cells, flux", [(1, 3, 8, None), (2, 2, 5, dg.hllc), (2, 3, 5, dg.roe),
                                                     (3, 2, 5, dg.hll)])
def test_observed_order(dim, order, cells, flux):
    errors = []
    for n in (cells, 2 * cells):
        sim = density_wave(dim, order, n, flux, backend="numpy", kernels="array")
        sim.run()
        errors.append(sim.report["l2_error"]["total"])
        for total in sim.report["conserved"].values():
            assert total["final"] == pytest.approx(total["initial"], rel=1e-12, abs=1e-13)
    assert set(sim.report["conserved"]) == set(sim.law.variables)
    assert np.log2(errors[0] / errors[1]) > order + 0.6


def test_walls_keep_mass_and_energy():
    law = dg.Euler(2)

    def initial(x):
        p = 1 + 0.3 * np.exp(-30 * ((x[0] - 0.4) ** 2 + (x[1] - 0.6) ** 2))
        return law.conservative((p ** (1 / GAMMA), 0.0, 0.0, p))
    sim = dg.Simulation(dg.rectangle(cells=(6, 6)), law, dg.NodalDG(3), dg.wall, initial, until=0.5, backend="numpy",
                        kernels="array")
    sim.run()
    totals = sim.report["conserved"]
    for name in ("rho", "E"):
        assert totals[name]["final"] == pytest.approx(totals[name]["initial"], rel=1e-12)


@pytest.mark.parametrize("mach", [0.0, 0.4])
def test_sound_leaves_through_the_far_field(mach):
    """A pulse of 1 % that runs to the right is gone; what comes back is of second order."""
    law = dg.Euler(1)
    free = law.conservative((1.0, mach, 1 / GAMMA))

    def pulse(x):
        d = 0.01 * np.exp(-100 * (x[0] - 0.5) ** 2)               # an acoustic wave: dp = c^2 drho = rho c du, c = 1
        return law.conservative((1 + d, mach + d, 1 / GAMMA + d))
    sim = dg.Simulation(dg.interval(0, 1, 30), law, dg.NodalDG(4), dg.far_field(constant(free)), pulse, until=1.6,
                        backend="numpy", kernels="array", flux=dg.hllc)
    ds = sim.run()
    assert np.abs(ds.rho.values[0] - 1).max() > 0.009 and np.abs(ds.rho.values[-1] - 1).max() < 1e-4


def test_a_run_that_loses_positivity_stops():
    law = dg.Euler(1)
    torn = dg.riemann(law, (1.0, -3.0, 0.4), (1.0, 3.0, 0.4), at=0.5)
    sim = dg.Simulation(dg.interval(0, 1, 20), law, dg.NodalDG(4), dg.outflow, torn, until=0.2, backend="numpy")
    with np.errstate(all="ignore"), pytest.raises(dg.SolutionError):
        sim.run()


# What is printed, and errors

def test_explain(capsys):
    dg.explain(dg.Euler(2))
    text = capsys.readouterr().out
    assert text.startswith("Euler(dim=2, gamma=1.4)\n") and "numerical flux (rusanov)" in text
    assert "  a1 = rho_u/rho*nx + rho_v/rho*ny\n" in text and "admissible = rho > 0 and " in text
    dg.explain(dg.wall, law=dg.Euler(1))
    assert "rho_u+ = rho_u- - 2*rho_u-*nx*nx" in capsys.readouterr().out


def problem(law, condition=dg.wall, **options):
    return dg.Simulation(box_of(law.dim), law, dg.NodalDG(1), condition, **options)


@pytest.mark.parametrize("make, message", [
    (lambda: dg.Euler(4), "dim=4"),
    (lambda: dg.Euler(2, gamma=1.0), "gamma=1.0 is not allowed"),
    (lambda: dg.Euler(2, gamma="air"), "gamma='air' is not allowed"),
    (lambda: dg.Euler(2).conservative((1.0, 0.0, 1.0)),
     "a state of 3 components is not allowed; Euler(dim=2, gamma=1.4) needs 4: rho, u, v, p"),
    (lambda: dg.Euler(1).primitive((1.0,)), "1 component is not allowed"),
    *((lambda f=f, q=q: getattr(dg.Euler(2), f)(q),
       f"a state of {len(q)} components is not allowed; Euler(dim=2, gamma=1.4) needs 4: rho, rho_u, rho_v, E")
      for f in ("velocity", "pressure", "sound_speed", "mach", "entropy", "admissible", "primitive")
      for q in ((1.0, 0.0, 2.5), (1.0, 0.0, 0.0, 0.0, 2.5))),
    (lambda: dg.Euler(2).flux((1.0, 0.0, 2.5), (1.0, 0.0)), "a state of 3 components is not allowed"),
    (lambda: dg.Euler(2).wave_speed((1.0, 0.0, 0.0, 2.5), (1.0,)), "vectors of 2 and 1 components do not fit"),
    (lambda: dg.Acoustics(2).flux((1.0, 0.0), (1.0, 0.0)), "needs 3: p, vx, vy"),
    (lambda: dg.Maxwell(2).flux((1.0, 0.0), (1.0, 0.0)), "needs 3: Hx, Hy, Ez"),
    (lambda: dg.Advection((1.0,)).flux((1.0, 0.0), (1.0,), (0.0,)), "needs 1: u"),
    (lambda: problem(dg.Maxwell(2), dg.pec, flux=dg.hllc),
     "has no numerical flux 'hllc'; allowed: upwind, central, rusanov, hll"),
    (lambda: problem(dg.Acoustics(2), flux=dg.roe), "has no numerical flux 'roe'"),
    (lambda: problem(dg.Maxwell(2), dg.wall), "'wall' needs a law of Acoustics, Euler or MHD type"),
    (lambda: problem(dg.Euler(2), dg.pec), "'pec' needs a law of Maxwell type"),
    (lambda: problem(dg.Euler(2), dg.pressure_release), "'pressure_release' needs a law with variables p and v"),
    (lambda: problem(dg.Euler(2), dg.absorbing), "'absorbing' is for linear laws"),
    (lambda: problem(dg.Euler(2), dg.scattered(dg.wall, lambda x, t: (0, 0, 0, 0))), "'scattered' is for linear laws"),
    (lambda: problem(dg.Acoustics(2), dg.far_field(lambda x, t: (1, 0, 0, 1))), "'far_field' needs the Euler equations"),
    (lambda: problem(dg.Acoustics(2), dg.inflow(lambda x, t: (1, 0, 0, 1))), "'inflow' needs the Euler equations"),
    (lambda: problem(dg.Acoustics(2), dg.pressure_outflow(1.0)), "'pressure_outflow' needs the Euler equations"),
    (lambda: problem(dg.Euler(2), dg.far_field(lambda x, t: (1, 0, 1))),
     "the state of far_field returns 3 components; it must return 4: rho, rho_u, rho_v, E"),
    (lambda: dg.far_field("here"), "function of x and t"),
    (lambda: dg.curved_wall((1, 0)), "function of x"),
    (lambda: problem(dg.Euler(2), dg.curved_wall(lambda x: x[0])), "normal of curved_wall returns 1 component;"),
    (lambda: problem(dg.Maxwell(2), dg.curved_wall(lambda x: x)), "'curved_wall' needs a law of Acoustics, Euler or MHD type"),
    *((lambda normal=normal: problem(dg.Acoustics(2), {"left": dg.curved_wall(normal), "default": dg.wall}), message)
      for normal, message in (
          (lambda x: (0.0, 0.0), "the normal of curved_wall is zero"),
          (lambda x: (0 * x[0], 0 * x[1]), "the normal of curved_wall is (0, 0) at ("),
          (lambda x: (x[1], 0.0), "the normal of curved_wall is (0, 0) at (0, 0)"),
          (lambda x: (0.0 * x[1], 1.0), "tangential"), (lambda x: (-0.1, 1.0 + x[1]), "tangential"),
          (lambda x: (np.nan, 1.0), "it must be finite"))),
    (lambda: problem(dg.Acoustics(2), dg.scattered(dg.curved_wall(lambda x: (0.0, 0.0)), lambda x, t: (0, 0, 0))), "is zero"),
    (lambda: problem(dg.Acoustics(3), dg.curved_wall(lambda x: (1.0, 0.0, 0.0))), "tangential"),
    (lambda: dg.inflow(1.0), "function of x and t"),
    (lambda: dg.pressure_outflow(-1.0), "positive number or a function"),
    (lambda: dg.plane_wave(dg.Euler(2), (1, 0), 1.0, np.sin), "needs a law with variables p and v"),
])
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError) as caught:
        make()
    assert message in str(caught.value)


def test_the_dataset_names_the_flux_that_is_used():
    for law, flux, name in ((dg.Euler(2), None, "rusanov"), (dg.Euler(2), dg.upwind, "rusanov"), (dg.Euler(2), dg.hllc, "hllc"),
                            (dg.Euler(2), dg.central, "central"), (dg.Acoustics(2), None, "upwind")):
        assert problem(law, flux=flux, kernels="array").layout().attrs["flux"] == name


@pytest.mark.parametrize("dim", DIMS)
def test_fields_that_follow_from_those_of_a_run(dim, tmp_path):
    """As `dgarray plot OUT.zarr pressure` draws them: the law's functions at the nodes, lazy where the run's fields are."""
    law = dg.Euler(dim, 1.6)
    v = (0.3, -0.2, 0.1)[:dim]
    sim = problem(law, dg.outflow, initial=lambda x: law.conservative((1.0 + 0.1 * x[0], *v, 0.8)), kernels="array", dt=1e-4)
    sim.run(until=2e-4, out=tmp_path / "a.zarr")
    ds = xr.open_zarr(tmp_path / "a.zarr")
    q = [ds[name].values for name in law.variables]
    for name, expected in (("pressure", law.pressure(q)), ("mach", law.mach(q)), ("entropy", law.entropy(q)),
                           ("p", law.pressure(q)), ("u", law.velocity(q)[0]), ("sound_speed", law.sound_speed(q))):
        more = with_field(ds, name)
        assert more[name].chunks and more.dg.variables == (*law.variables, name)
        assert np.array_equal(more[name].values, expected)
        assert more.dg.norm(name, 0) > 0 and more[name].attrs["location"] == ds.rho.attrs["location"]
    slope = with_field(ds, "schlieren")
    assert slope.schlieren.chunks and slope.schlieren.values == pytest.approx(0.1, abs=1e-6)
    assert slope.schlieren.attrs["colour_map"] == "schlieren" and slope.schlieren.attrs["valid_min"] == 0
    assert with_field(ds, "rho") is ds
    with pytest.raises(ValueError, match="variable 'presure' does not exist .*; it has: rho, .*did you mean 'pressure'"):
        with_field(ds, "presure")
    for other in (*(ds.assign_attrs(law=text) for text in ("Mine()", "Euler(", "open('a')", "Euler(dim)")), ds.drop_vars("E")):
        with pytest.raises(ValueError, match="variable 'pressure' does not exist in the dataset; it has: rho"):
            with_field(other, "pressure")


def test_rusanov_is_what_a_law_without_its_own_solver_gets():
    law, l, r, n = dg.Euler(2), states(2, 1), states(2, 2), normals(2)
    assert np.array_equal(flux_of(dg.upwind, law, l, r, n), flux_of(dg.rusanov, law, l, r, n))
    half = flux_of(partial(dg.upwind, alpha=0.5), law, l, r, n)
    assert close(half, (flux_of(dg.upwind, law, l, r, n) + flux_of(dg.central, law, l, r, n)) / 2, np.abs(half))
