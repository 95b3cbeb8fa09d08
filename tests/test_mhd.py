"""Ideal MHD: its waves, numerical fluxes and walls, Alfven waves, shock tubes against references, divergence cleaning."""
import re

import numpy as np
import pytest
from references import table, table_path

import dgarray as dg
from dgarray import backends
from dgarray.physics.explain import law_formulas

FLUXES = {"rusanov": dg.rusanov, "hll": dg.hll, "hlld": dg.hlld}


def law_of(dim, **options):
    return dg.MHD(dim, **{"cleaning_speed": 1.3, **options})


def random_states(law, count=40, seed=0):
    """Two admissible states at many points, and unit normals there."""
    random = np.random.default_rng(seed)

    def state():
        positive, vector = random.uniform(0.5, 2, (2, count)), random.uniform(-1, 1, (7, count))
        return law.conservative((positive[0], *vector[:3], positive[1], *vector[3:6], 0.1 * vector[6]))
    n = random.standard_normal((law.dim, count))
    return state(), state(), tuple(n / np.sqrt((n ** 2).sum(axis=0)))


def numerical_flux(law, name, l, r, n):
    return np.array(FLUXES[name](law)(l=l, r=r, n=n, x=None, t=None, ml=None, mr=None))


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_speeds_are_eigenvalues_of_the_flux(dim):
    law = law_of(dim)
    states, _, normals = random_states(law, 6)
    for point in range(6):
        q, n = np.array([a[point] for a in states]), tuple(a[point] for a in normals)
        step = 1e-6 * np.eye(9)
        J = np.stack([(np.array(law.flux(tuple(q + h), n)) - np.array(law.flux(tuple(q - h), n))) / 2e-6 for h in step], axis=1)
        slow, alfven, fast = law.magnetosonic(tuple(q), n)
        u, ch = law.along(law.velocity(tuple(q)), n), law.cleaning_speed
        expected = np.sort([u - fast, u - alfven, u - slow, u, u + slow, u + alfven, u + fast, -ch, ch])
        assert np.allclose(np.sort(np.linalg.eigvals(J).real), expected, atol=2e-6)
        assert law.wave_speed(tuple(q), tuple(2.5 * k for k in n)) == pytest.approx(2.5 * np.abs(expected).max(), rel=1e-5)
        assert law.signal_speeds(tuple(q), tuple(q), n) == pytest.approx((u - fast, u + fast), rel=1e-12)


@pytest.mark.parametrize("flux", FLUXES)
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_numerical_fluxes_are_consistent_and_conservative(dim, flux):
    law = law_of(dim)
    l, r, n = random_states(law)
    back = tuple(-k for k in n)
    assert np.abs(numerical_flux(law, flux, l, l, n) - np.array(law.flux(l, n))).max() < 1e-13
    assert np.abs(numerical_flux(law, flux, l, r, n) + numerical_flux(law, flux, r, l, back)).max() < 1e-13
    assert np.allclose(law.conservative(law.primitive(l)), l, rtol=1e-13)
    low, high = (tuple(np.float32(a) for a in side) for side in (l, r))
    found = numerical_flux(law, flux, low, high, tuple(np.float32(k) for k in n))
    assert found.dtype == np.float32 and np.abs(found - numerical_flux(law, flux, l, r, n)).max() < 2e-5


def test_hlld_is_exact_for_contacts_and_alfven_waves():
    """A contact that stands still has no mass flux; the flux of one that moves, and of a rotated field, is that of its side."""
    law = dg.MHD(1)
    for speed in (0.0, 0.3, -0.3):
        l, r = (law.conservative((rho, speed, 0.2, 0.1, 1.0, 0.7, 0.4, 0.2)) for rho in (1.0, 0.25))
        expected = law.flux(l if speed >= 0 else r, (1.0,))
        assert np.allclose(numerical_flux(law, "hlld", l, r, (1.0,)), expected, atol=1e-14)
    Bn, rho, field = 0.7, 1.5, np.array([0.4, 0.2])
    turned = np.array([[0.0, -1.0], [1.0, 0.0]]) @ field
    for speed in (0.9, -0.9):          # against the wave's own, Bn / sqrt(rho) = 0.57: all of it goes to one side
        jump = (turned - field) / np.sqrt(rho)          # velocities of a wave that goes to the left
        l = law.conservative((rho, speed, 0.0, 0.0, 1.0, Bn, *field))
        r = law.conservative((rho, speed, *jump, 1.0, Bn, *turned))
        expected = law.flux(l if speed > 0 else r, (1.0,))
        assert np.allclose(numerical_flux(law, "hlld", l, r, (1.0,)), expected, atol=1e-14)
    aligned = law.conservative((1.0, 0.1, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0))          # fast and Alfven waves are one
    other = law.conservative((0.9, -0.1, 0.1, 0.0, 0.9, 2.0, 0.1, 0.0))
    assert np.isfinite(numerical_flux(law, "hlld", aligned, other, (1.0,))).all()


def alfven_wave(law, direction, amplitude=0.1):
    """A circularly polarised wave along a direction, exact: p = 0.1, rho = 1, B along it 1, so it moves at the speed 1.

    Toth 2000, J. Comput. Phys. 161, section 6.3.1."""
    along = np.zeros(3)
    along[:law.dim] = np.array(direction, float)
    length = np.linalg.norm(along)
    along = along / length
    first = np.cross([0.0, 0.0, 1.0], along)
    first /= np.linalg.norm(first)
    second = np.cross(along, first)

    def exact(x, t):
        phase = 2 * np.pi * length * (sum(k * a for k, a in zip(along, x)) + t)
        across = [amplitude * (np.sin(phase) * a + np.cos(phase) * b) for a, b in zip(first, second)]
        one = 1.0 + 0.0 * x[0]
        return law.conservative((one, *across, 0.1 * one, *(k + a for k, a in zip(along, across))))
    return exact


@pytest.mark.parametrize("direction, method, flux, order", [
    ((1,), dg.NodalDG, "hlld", 2), ((1,), dg.ModalDG, "hll", 3), ((1, 1), dg.NodalDG, "hlld", 2),
    ((1, 1), dg.ModalDG, "rusanov", 2), ((1, 1), dg.ModalDG, "hlld", 1)])
def test_alfven_waves_converge(direction, method, flux, order):
    """Along x in 1D and oblique in 2D, the cleaning at work: the observed order of By."""
    dim, errors = len(direction), []
    law = law_of(dim) if dim > 1 else dg.MHD(1)
    exact = alfven_wave(law, direction)
    for cells in (6, 12) if dim == 1 else (8, 16):
        mesh = dg.interval(cells=cells, periodic=True) if dim == 1 else dg.rectangle(cells=cells, periodic=True)
        sim = dg.Simulation(mesh, law, method(order), None, lambda x: exact(x, 0.0), flux=FLUXES[flux], exact=exact,
                            until=0.2, backend="numpy", kernels="array", stepper="ssp54")
        sim.run()
        errors.append(sim.report["l2_error"]["By"])
    assert np.log2(errors[0] / errors[1]) > order + 1 - 0.5, errors


def tube(left, right, gamma, Bx, cells, until, flux, at=0.5):
    """The law, places, and the state there at the end, of two states side by side, w without Bx and psi."""
    law = dg.MHD(1, gamma=gamma)

    def start(x):
        sides = [law.conservative((*w[:5], Bx, *w[5:])) for w in (left, right)]
        return tuple(np.where(x[0] < at, a, b) for a, b in zip(*sides))
    method = dg.ModalDG(1, limiter="vertex", limiter_variables="primitive", positivity=True)
    sim = dg.Simulation(dg.interval(cells=cells), law, method, dg.outflow, start, flux=FLUXES[flux], until=until,
                        stepper="ssp33", backend="numpy")
    x = (np.arange(4 * cells) + 0.5) / (4 * cells)
    return law, x, np.array([v.values for v in sim.run().dg.sample([(a,) for a in x], time=-1).data_vars.values()][:9])


@pytest.mark.thorough
@pytest.mark.parametrize("flux", FLUXES)
def test_brio_and_wu_is_the_reference(flux):
    """Errors in L1 of the density fall as contacts and compound waves allow."""
    x, rho = np.array([row[:2] for row in table("mhd_briowu_reference.csv")[1:]], float).T
    errors = []
    for cells in (100, 200):
        _, places, q = tube((1.0, 0, 0, 0, 1.0, 1.0, 0), (0.125, 0, 0, 0, 0.1, -1.0, 0), 2.0, 0.75, cells, 0.1, flux)
        errors.append(np.abs(q[0] - np.interp(places, x, rho)).mean())
        assert q[0].min() > 0
    assert errors[0] < 0.012 and np.log2(errors[0] / errors[1]) > 0.6, errors


@pytest.mark.thorough
@pytest.mark.parametrize("flux", FLUXES)
def test_ryu_and_jones_2a_is_exact(flux):
    """Seven waves, all different, with the field out of the plane."""
    speeds = [float(a) for a in re.findall(r"speed (-?[\d.]+)", table_path("mhd_rj2a_exact.csv").read_text())]
    states = np.array(table("mhd_rj2a_exact.csv")[1:], float)
    until, errors = 0.15, []
    for cells in (100, 200):
        law, places, q = tube(states[0], states[-1], 5 / 3, 2 / np.sqrt(4 * np.pi), cells, until, flux, at=0.45)
        exact = states[np.searchsorted(speeds, (places - 0.45) / until)].T
        found = np.array(law.primitive(q))[[0, 1, 2, 3, 4, 6, 7]]
        errors.append(np.abs(found - exact).mean(axis=1).sum())
    assert len(speeds) == 7 and errors[0] < 0.2 and np.log2(errors[0] / errors[1]) > 0.6, errors


def vortex(law, x):
    """Orszag & Tang's vortex on the unit square."""
    s, c = np.sin(2 * np.pi * x[0]), np.sin(2 * np.pi * x[1])
    B, zero = 1 / np.sqrt(4 * np.pi), 0.0 * x[0]
    return law.conservative((25 / (36 * np.pi) + zero, -c, s, zero, 5 / (12 * np.pi) + zero, -B * c,
                             B * np.sin(4 * np.pi * x[0]), zero))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_kernels_agree_and_conserve(dtype):
    """A limited step of every kind of kernels; mass, momentum, energy and magnetic flux stay."""
    law, results = law_of(2), []
    method = dg.ModalDG(1, limiter="vertex", positivity=True)
    for kernels in ("array", "fused"):
        operator = method.discretise(dg.rectangle(cells=12, periodic=True), law, None, backends.get("numpy", kernels, dtype),
                                     dg.hlld, stepper="ssp33")
        q = operator.state(operator.project(lambda x: vortex(law, x)))
        start = operator.host(q)
        for _ in range(3):
            q = operator.advance(q, 0.0, 2e-3)
        results.append(operator.host(q))
        totals = (results[-1] - start)[:8, 0].sum(axis=1)
        assert np.abs(totals).max() < 1e3 * np.finfo(dtype).eps
    assert np.abs(results[1] - results[0]).max() < 500 * np.finfo(dtype).eps * np.abs(results[0]).max()
    assert np.abs(results[0] - start).max() > 0.01


@pytest.mark.thorough
def test_cleaning_carries_the_divergence_away():
    """A field with a divergence, at rest: with cleaning a fifth of it is left at most, and psi says where it was."""
    left = []
    for speed in (0.0, 2.0):
        law = dg.MHD(2, cleaning_speed=speed)

        def start(x, law=law):
            bump = 0.1 * np.exp(-((x[0] - 0.5) ** 2 + (x[1] - 0.5) ** 2) / 0.02)
            zero = 0.0 * x[0]
            return law.conservative((1 + zero, zero, zero, zero, 6 + zero, bump, zero, 1 + zero))
        sim = dg.Simulation(dg.rectangle(cells=16), law, dg.NodalDG(3), dg.outflow, start, flux=dg.hlld, until=0.6,
                            backend="numpy")
        final = sim.run().isel(time=-1)
        operator = sim.operator
        q = np.stack([final[name].values.T for name in law.variables])
        gradients, D = operator.tables.geometry.gradients, operator.tables.basis.differentiation
        divergence = sum(gradients[k, d] * (D[k] @ q[5 + d]) for k in (0, 1) for d in (0, 1))
        left.append(np.abs(divergence).mean())
    assert left[1] < left[0] / 5, left


def test_walls_conduct():
    """A gas at rest in a field along the walls stays; mirrored states have no normal component of velocity and field."""
    law = law_of(2)
    q, _, n = random_states(law)
    outside = dg.wall(q, n, law)
    for vector in (law.momentum, law.field):
        assert np.abs(law.along(q[vector], n) + law.along(outside[vector], n)).max() < 1e-14
    assert all(np.array_equal(outside[i], q[i]) for i in (0, 3, 4, 7, 8))
    sides = {"left": dg.outflow, "right": dg.outflow, "bottom": dg.wall, "top": dg.wall}
    sim = dg.Simulation(dg.rectangle(cells=(4, 4)), law, dg.NodalDG(2), sides, flux=dg.hlld, until=0.2,
                        backend="numpy", kernels="array",
                        initial=lambda x: law.conservative((1.0 + 0 * x[0], 0.0, 0.0, 0.0, 1.0, 0.5, 0.0, 0.3)))
    final = sim.run()
    assert max(np.ptp(final[name].values) for name in law.variables) < 1e-13


@pytest.mark.parametrize("make, message", [
    (lambda: dg.MHD(4), "dim=4 is not allowed; it must be 1, 2 or 3"),
    (lambda: dg.MHD(1, gamma=1), "gamma=1 is not allowed; it must be a finite number above 1"),
    (lambda: dg.MHD(2), "cleaning_speed=None is not allowed in 2D and 3D; give a number: the fastest wave speed of the "
                        "solution, or 0 for no cleaning"),
    (lambda: dg.MHD(2, cleaning_speed=-1), "cleaning_speed=-1 is not allowed; it must be a finite number, not negative"),
    (lambda: dg.MHD(2, cleaning_speed=1, cleaning_length=0),
     "cleaning_length=0 is not allowed; it must be a finite number above 0, or None"),
    (lambda: dg.MHD(1).conservative((1.0, 0.0, 1.0)), "a state of 3 components is not allowed; "),
    (lambda: dg.hllc(dg.MHD(1)), "has no numerical flux 'hllc'; allowed: upwind, central, rusanov, hll, hlld"),
    (lambda: dg.hlld(dg.Euler(1)), "has no numerical flux 'hlld'; allowed: upwind, central, rusanov, hll, hllc, hllc_sh")])
def test_bad_input_is_named_in_one_line(make, message):
    with pytest.raises(ValueError) as caught:
        make()
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_repr_is_the_call():
    law = dg.MHD(2, 1.4, 3.0, None)
    assert repr(law) == "MHD(dim=2, gamma=1.4, cleaning_speed=3.0, cleaning_length=None)" and law.source is None
    text = "\n".join(law_formulas(law, dg.hlld))
    assert law_of(3).source is not None and "numerical flux (hlld)" in text and "F_Bz = " in text
