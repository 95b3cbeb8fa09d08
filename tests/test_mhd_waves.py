"""Waves of MHD: eigenvectors of the flux, finite and inverse to each other in every degenerate state; limiters of waves."""
import numpy as np
import pytest

import dgarray as dg
from dgarray import backends
from dgarray.physics.laws.mhd_waves import FAINT
from dgarray.physics.pointwise import Pointwise

# Normal and tangential field in units of sqrt(gamma p): where the normal one is 1 and the other 0, three speeds are one.
FIELDS = {"any": (0.8, 0.6), "backwards": (-0.8, 0.6), "none": (0, 0), "tiny": (1e-20, 1e-18), "weak along": (0.6, 0),
          "strong along": (-1.7, 0), "nearly along": (0.6, 1e-9), "across": (0, 0.9), "triple": (1, 0),
          "nearly triple": (1, 1e-12), "near triple": (1 - 1e-6, 1e-5), "beside triple": (-1.01, 1e-3), "strong": (30, 20)}
POINTS = 20


def gases(field, dim, dtype="float64", seed=0):
    """Conserved states (9, point) with this field, w of them, and unit normals (dim, point)."""
    random = np.random.default_rng(seed)
    n = np.zeros((3, POINTS))
    n[:dim] = random.standard_normal((dim, POINTS))
    n /= np.linalg.norm(n, axis=0)
    across = np.cross(n, random.standard_normal((3, POINTS)), axis=0)
    across /= np.linalg.norm(across, axis=0)
    (rho, p), v, law = random.uniform(0.5, 2, (2, POINTS)), random.uniform(-1, 1, (3, POINTS)), dg.MHD(1)
    B = np.sqrt(law.gamma * p) * (FIELDS[field][0] * n + FIELDS[field][1] * across)
    w = np.array([rho, *v, p, *B, 0.1 * p])
    return np.array(law.conservative(w), dtype), w, tuple(n[:dim].astype(dtype))


def eigenvectors(law, mean, n):
    """L and R, (point, 9, 9); an error if anything is divided by zero or too large on the way."""
    one = tuple(np.eye(9, dtype=mean.dtype)[:, :, None] + 0 * mean[0])
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        found = [np.array(f(one, tuple(mean), n)) for f in (law.characteristic, law.from_characteristic)]
    return [np.moveaxis(a, 2, 0) for a in found]


def jacobian(f, q):
    """df/dq, (point, 9, 9), without the errors of differences: by a complex step."""
    columns = [np.imag(np.array(f(tuple(q + 1e-30j * e[:, None])))) / 1e-30 for e in np.eye(9)]
    return np.moveaxis(np.array(columns), 2, 0).swapaxes(1, 2)


def rounding(*factors):
    """What errors of rounding may add to the product of these matrices, at every point."""
    product = np.abs(factors[0])
    for factor in factors[1:]:
        product = product @ np.abs(factor)
    return 16 * np.finfo(factors[0].dtype).eps * product.max(axis=(1, 2))


def largest(matrices):
    return np.abs(matrices).max(axis=(1, 2))


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("field", FIELDS)
def test_waves_and_states_are_inverse(field, dim):
    """To rounding, in both dtypes, which they keep, with and without cleaning."""
    for dtype in ("float64", "float32"):
        for speed in (1.3, 0):
            mean, _, n = gases(field, dim, dtype)
            L, R = eigenvectors(dg.MHD(dim, cleaning_speed=speed), mean, n)
            assert L.dtype == R.dtype == dtype
            assert (largest(L @ R - np.eye(9)) < rounding(L, R)).all()
            assert (largest(R @ L - np.eye(9)) < rounding(R, L)).all()


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("field", FIELDS)
def test_waves_are_eigenvectors_of_the_flux(field, dim):
    """L A R = diag of the seven waves where dBn = dpsi = 0, the two of psi decoupled, all to rounding, and to the size of a
    tangential field that is too small to have a direction; the states of these two change only Bn and psi."""
    for speed in (1.3, 0):
        law = dg.MHD(dim, cleaning_speed=speed)
        q, (rho, *v, p, Bx, By, Bz, _), n = gases(field, dim)
        L, R = eigenvectors(law, q, n)
        A = jacobian(lambda q, law=law, n=n: law.flux(q, n), q)
        u, (along, across) = law.along(v, n), FIELDS[field]
        a, strength = np.sqrt(law.gamma * p / rho), along ** 2 + across ** 2
        fast = np.sqrt((1 + strength + np.hypot(1 - strength, 2 * across)) / 2)
        fast, alfven, slow = a * fast, a * abs(along), a * abs(along) / fast
        speeds = np.array([u - fast, u - alfven, u - slow, u, u + slow, u + alfven, u + fast])
        found, allowed = L @ A @ R, rounding(L, A, R) + (10 * across if across < FAINT else 0)
        assert (largest(found[:, :7, :7] - np.eye(7) * speeds.T[:, None]) < allowed).all()
        assert (largest(found[:, 7:, :7]) < allowed).all()
        assert (largest(found[:, 7:, 7:] - ([[-speed, 0], [0, speed]] if speed else [[0, 1], [0, 0]])) < allowed).all()
        w = jacobian(law.primitive, q) @ R[:, :, 7:]
        normal = np.stack([*n, *(0 * p,) * (3 - dim)], axis=1)[:, :, None]
        assert (largest(w[:, :5]) < allowed).all()
        assert (largest(w[:, 5:8] - normal * (normal * w[:, 5:8]).sum(axis=1, keepdims=True)) < allowed).all()


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_waves_stay_bounded_near_degenerate_states(dim):
    """In units of rho, a, gamma p and sqrt(gamma p) no entry of L and R is above one, however weak or strong the field is.

    1e-9: from here to conserved variables and back is rounding times |B|^2 / (gamma p), here up to 2e6."""
    law = dg.MHD(dim, cleaning_speed=1.3)
    q, w, n = gases("any", dim)
    normal = np.array([*n, *(0 * w[0],) * (3 - dim)])
    across = np.cross(normal, np.array([[0.3], [0.5], [0.8]]), axis=0)
    p, a = law.gamma * w[4], np.sqrt(law.gamma * w[4] / w[0])
    units = np.array([w[0], a, a, a, p, *(np.sqrt(p),) * 3, law.cleaning_speed * np.sqrt(p)]).T
    for along in (0, 1e-300, 1e-20, 1e-8, 1, 1 + 1e-15, 1 - 1e-8, 1e3):
        for tangential in (0, 1e-300, 1e-16, 2e-15, 1e-12, 1e-8, 1e-4, 1e3):
            w[5:8] = np.sqrt(p) * (along * normal + tangential * across)
            q = np.array(law.conservative(w))
            L, R = eigenvectors(law, q, n)
            left, right = L @ jacobian(law.conservative, w) * units[:, None], jacobian(law.primitive, q) @ R / units[:, :, None]
            assert (largest(left[:, :7, :8]) < 1 + 1e-9).all() and (largest(right[:, :8, :7]) < 1 + 1e-9).all()


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_waves_can_be_compiled(dim):
    law = dg.MHD(dim, cleaning_speed=1.3)
    for function, first in (law.characteristic, "q"), (law.from_characteristic, "w"):
        graph = Pointwise(function, {first: 9, "mean": 9, "n": dim}, "waves").graph
        assert len(graph.outputs) == 9 and graph.depends_on("mean") and graph.depends_on("n")
        assert graph.flops < 200, graph


@pytest.mark.parametrize("number", [8, 10])
def test_a_difference_has_nine_components(number):
    law = dg.MHD(1)
    with pytest.raises(ValueError, match=f"a state of {number} components is not allowed"):
        law.characteristic((1.0,) * number, law.conservative((1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)), (1.0,))


def limited(law, dim, limiter, make, kernels="array", dtype="float64"):
    """Rough linear functions, averages `make` of positive numbers (dim + 2, element), before and after they are limited."""
    mesh = (dg.interval(cells=20), dg.rectangle(cells=(6, 5), perturb=0.2))[dim - 1]
    method = dg.ModalDG(1, limiter=limiter, limiter_variables="characteristic")
    operator = method.discretise(mesh, law, dg.outflow, backends.get("numpy", kernels, dtype))
    random = np.random.default_rng(0)
    count = len(law.variables)
    q = np.zeros(operator.shape, dtype)
    values = np.array(make(random.uniform(0.5, 2, (dim + 2, len(mesh.cells)))))
    q[:, 0] = values / operator.tables.basis.reference.interpolate[0, 0]
    q[:, 1:] = 0.3 * random.standard_normal((9, *q.shape[1:]))[:count, 1:]
    return operator, q


def after(operator, q):
    state = operator.state(q)
    operator.operations.limit(state)
    return operator.host(state)


@pytest.mark.parametrize("limiter", ["vertex", "barth-jespersen"])
@pytest.mark.parametrize("dim", [1, 2])
def test_limited_waves_without_a_field_are_those_of_euler(dim, limiter):
    """And no field comes of them."""
    law, euler = dg.MHD(dim, cleaning_speed=1.3), dg.Euler(dim, gamma=5 / 3)
    own = [0, *range(1, dim + 1), 4]
    gas, c = limited(euler, dim, limiter, euler.conservative)
    plasma, q = limited(law, dim, limiter, lambda w: law.conservative((*w[:-1], *(0 * w[0],) * (3 - dim), w[-1],
                                                                       *(0 * w[0],) * 3)))
    q[:] = 0
    q[own] = c
    found = after(plasma, q)
    assert np.abs(found[own] - after(gas, c)).max() < 1e-13 and np.abs(found[own] - q[own]).max() > 0.05
    assert np.array_equal(found[5:], 0 * found[5:])


def magnetised(law, dim):
    """Averages (9, element) of `limited`: without a field, with one along x alone, and where three speeds are one, in turns."""
    def make(values):
        rho, p, *v = *values, *(0 * values[0],) * (3 - dim)
        turn = np.arange(len(rho)) % 4
        Bx = np.choose(turn, [0 * p, 0.7 + 0 * p, np.sqrt(law.gamma * p), -0.4 + 0 * p])
        return law.conservative((rho, *v, p, Bx, 0.6 * (turn == 3), 0.2 * (turn == 3), 0.1 * v[0]))
    return make


def test_kernels_limit_the_same_waves():
    """Slopes of density and pressure in a plasma of degenerate states: compiled and array kernels, averages as they were."""
    law = dg.MHD(1, cleaning_speed=1.3)
    (array, q), (fused, _) = (limited(law, 1, "vertex", magnetised(law, 1), kernels) for kernels in ("array", "fused"))
    found, expected = after(fused, q), after(array, q)
    assert np.array_equal(expected[:, 0], q[:, 0]) and np.abs(expected - q).max() > 0.1
    assert np.isfinite(found).all() and np.abs(found - expected).max() < 1e-12


@pytest.mark.parametrize("method", [dg.FiniteVolume("muscl", variables="characteristic"), dg.FiniteVolume("weno"),
                                    dg.ModalDG(1, limiter="vertex", limiter_variables="characteristic")], ids=repr)
def test_rounding_of_a_field_has_no_direction(method):
    """A field along x alone, in a gas that moves across it; a change of 1e-12 across stays below 1e-9."""
    law = dg.MHD(1, cleaning_speed=3.0)

    def after(eps):
        def start(x):
            left, none = x[0] < 0.5, 0 * x[0]
            return law.conservative((np.where(left, 1.0, 0.5), none, np.where(left, 0.3, -0.3) * np.sin(9 * x[0]),
                                     np.where(left, 0.2, -0.3) * np.cos(7 * x[0]), np.where(left, 1.0, 0.3), none + 0.7,
                                     eps * np.sin(37 * x[0]), eps * np.cos(23 * x[0]), none))
        grid = isinstance(method, dg.FiniteVolume)
        mesh = dg.Grid(0.0, 1.0, 40) if grid else dg.interval(cells=20)
        return dg.Simulation(mesh, law, method, dg.outflow, start, **{} if grid else {"stepper": "ssp33"}, until=0.05,
                             kernels="array", threads=1).run()
    plain, changed = after(0.0), after(1e-12)
    assert max(np.abs(changed[v][-1] - plain[v][-1]).max() for v in law.variables) < 1e-9


@pytest.mark.parametrize("n", [(1.0, 0.0), (-0.6, 0.8)])
def test_waves_that_enter_are_those_of_the_far_field(n):
    """At rest half of the waves; in a fast stream out of the domain none, into it all but the cleaning wave."""
    law, rng = dg.MHD(2, cleaning_speed=2.0), np.random.default_rng(0)
    for u, entering in ((0.0, None), (5.0, False), (-5.0, True)):
        primitive = np.array([1.0, u * n[0], u * n[1], 0.3, 0.6, 0.5, 0.4, 0.3, 0.0])
        inside, given = (np.array(law.conservative(tuple(primitive + 0.05 * rng.standard_normal(9)))) for _ in range(2))
        beyond = np.array(law.entering(tuple(inside), tuple(given), n))
        waves = np.array(law.characteristic(tuple(beyond - inside), tuple((inside + given) / 2), n))
        asked = np.array(law.characteristic(tuple(given - inside), tuple((inside + given) / 2), n))
        assert waves[7] == pytest.approx(asked[7], abs=1e-13) and waves[8] == pytest.approx(0, abs=1e-13)
        if entering is None:
            assert np.allclose(waves[:3], asked[:3], atol=1e-13) and np.allclose(waves[4:7], 0, atol=1e-13)
        else:
            assert np.allclose(waves[:7], asked[:7] if entering else 0, atol=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("condition", [dg.far_field, dg.inflow], ids=["far field", "inflow"])
@pytest.mark.parametrize("method", [dg.FiniteVolume("muscl"), dg.ModalDG(2)], ids=["finite volumes", "modal"])
def test_a_pulse_leaves_through_the_far_field(method, condition):
    """Nothing of it is left after all waves but the entropy at rest had time to leave."""
    law = dg.MHD(1, cleaning_speed=1.5)
    rest = (1.0, 0.0, 0.0, 0.0, 0.6, 0.7, 0.5, 0.4, 0.0)

    def pulse(x):
        bump = 1e-3 * np.exp(-((x[0] - 0.5) / 0.05) ** 2)
        return law.conservative(tuple(a + bump * b for a, b in zip(rest, (0, 1, 1, 1, 1, 0, 1, 1, 0))))
    mesh = dg.interval(0, 1, 40) if isinstance(method, dg.ModalDG) else dg.Grid(0.0, 1.0, 200, periodic=False)
    ds = dg.Simulation(mesh, law, method, condition(lambda x: law.conservative(rest)), pulse, flux=dg.hlld, until=4.0).run()
    for name in ("rho_v", "By", "Bz", "rho_u"):
        left = np.abs(ds[name][-1] - ds[name].values[-1].mean()).max()
        assert left < 0.02 * np.abs(ds[name][0] - ds[name].values[0].min()).max(), name
