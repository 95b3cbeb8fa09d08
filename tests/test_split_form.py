"""The split form of tensor-product DG: entropy and kinetic energy, conservation, kernels; logarithms of vectors."""
import numpy as np
import pytest
from numba import njit

import cases
import dgarray as dg
from dgarray import backends
from dgarray.backends.cpu.simd import expressions, target
from dgarray.physics.laws.means import logarithmic_mean
from dgarray.physics.pointwise import Pointwise


def warped(dim, cells=3):
    """A periodic mesh of curved lines, and no two cells alike."""
    shape = {2: "quadrilateral", 3: "hexahedron"}[dim]
    mesh = (dg.rectangle if dim == 2 else dg.box)(cells=cells, periodic=True, shape=shape)

    def warp(x):
        return tuple(c + 0.05 * np.sin(2 * np.pi * x[(i + 1) % dim]) for i, c in enumerate(x))
    return mesh.mapped(warp)


def rough(law, shape, seed=0):
    """A state that jumps from node to node."""
    random = np.random.default_rng(seed)
    rho, p = 1 + random.random(shape), 1 + random.random(shape)
    return np.array(law.conservative((rho, *random.normal(0, 0.5, (law.dim, *shape)), p)))


def problem(dim, order, volume_flux, flux, kernels="array", dtype="float64", mesh=None, law=None):
    """(operator, state) of a rough state."""
    law, mesh = law or dg.Euler(dim), mesh or warped(dim)
    operator = dg.TensorDG(order, nodes="lobatto", volume_flux=volume_flux)
    def initial(x):
        return law.conservative((1 + 0 * x[0], *(0 * c for c in x), 1 + 0 * x[0]))
    sim = dg.Simulation(mesh, law, operator, initial=initial, flux=flux, backend="numpy", kernels=kernels, dtype=dtype,
                        threads=1)
    return sim.operator, rough(law, sim.operator.shape[1:]).astype(dtype)


def tendency(operator, q):
    """dq/dt, and the weight of each node in integrals."""
    o, tables = operator.operations, operator.tables
    geometry, determinants = tables.geometry, tables.mesh.measures / 2 ** tables.dim
    J = geometry.scale[:1] * 0 + determinants if geometry.affine else geometry.jacobian
    return o.host(o.rhs(o.state(q), 0.0)), tables.basis.cell.weights[:, None] * J


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("dim", [2, 3])
def test_entropy_is_conserved_and_with_rusanov_it_grows(dim, order):
    """dS/dt = sum of w . dq/dt: 0 with the entropy-conserving flux everywhere, below 0 with Rusanov's at the faces."""
    rates = {}
    for flux in (dg.ranocha, dg.rusanov):
        operator, q = problem(dim, order, dg.ranocha, flux)
        r, weights = tendency(operator, q)
        terms = np.array(operator.law.entropy_variables(tuple(q))) * r * weights
        rates[flux] = terms.sum() / np.abs(terms).sum()
    assert abs(rates[dg.ranocha]) < 1e-14
    assert rates[dg.rusanov] < -1e-3


def test_the_weak_form_does_not_conserve_entropy():
    """The test above can fail."""
    operator, q = problem(2, 3, None, dg.ranocha)
    r, weights = tendency(operator, q)
    terms = np.array(operator.law.entropy_variables(tuple(q))) * r * weights
    assert abs(terms.sum() / np.abs(terms).sum()) > 1e-4


@pytest.mark.parametrize("flux", [dg.ranocha, dg.kennedy_gruber])
def test_kinetic_energy_is_conserved_where_the_pressure_is_constant(flux):
    """d(rho |v|^2 / 2)/dt = sum of v . dm/dt - |v|^2 / 2 drho/dt = 0, without the work of the pressure."""
    law = dg.Euler(2)
    operator, q = problem(2, 3, flux, flux, law=law)
    v = law.velocity(tuple(q))
    q = np.array(law.conservative((q[0], *v, 1 + 0 * q[0])))
    r, weights = tendency(operator, q)
    terms = np.array([-sum(u * u for u in v) / 2 * r[0], *(u * m for u, m in zip(v, r[1:-1]))]) * weights
    assert abs(terms.sum()) < 1e-13 * np.abs(terms).sum()


@pytest.mark.parametrize("volume_flux", [dg.ranocha, dg.kennedy_gruber, dg.central])
@pytest.mark.parametrize("dim", [2, 3])
def test_conserved_and_a_uniform_state_stays(dim, volume_flux):
    operator, q = problem(dim, 3, volume_flux, dg.rusanov)
    r, weights = tendency(operator, q)
    assert np.all(np.abs((r * weights).sum(axis=(1, 2))) < 1e-13 * np.abs(r * weights).sum(axis=(1, 2)))
    uniform = np.broadcast_to(q[:, :1, :1], q.shape).copy()
    assert np.abs(tendency(operator, uniform)[0]).max() < 1e-11 * np.abs(r).max()


def test_the_average_of_fluxes_is_the_weak_form_on_affine_cells():
    """On Gauss-Lobatto nodes the products sum by parts: with F# = {F} both forms are one."""
    mesh = dg.rectangle(cells=3, periodic=True, shape="quadrilateral")
    (split, q), (weak, _) = (problem(2, 4, flux, dg.rusanov, mesh=mesh) for flux in (dg.central, None))
    a, b = tendency(split, q)[0], tendency(weak, q)[0]
    assert np.abs(a - b).max() < 1e-12 * np.abs(b).max()


@pytest.mark.parametrize("dtype, most", [("float64", 1e-12), ("float32", 2e-4)])
@pytest.mark.parametrize("volume_flux", [dg.ranocha, dg.kennedy_gruber])
@pytest.mark.parametrize("dim, order, affine", [(2, 1, False), (2, 6, True), (3, 3, False), (3, 2, True)])
def test_kernels_and_arrays_agree(dim, order, affine, volume_flux, dtype, most):
    shape = {2: "quadrilateral", 3: "hexahedron"}[dim]
    mesh = (dg.rectangle if dim == 2 else dg.box)(cells=3, periodic=True, shape=shape) if affine else None
    results = [tendency(*problem(dim, order, volume_flux, dg.rusanov, kernels, dtype, mesh))[0]
               for kernels in ("fused", "array")]
    assert np.abs(results[0] - results[1]).max() < most * np.abs(results[1]).max()


@pytest.mark.thorough
@pytest.mark.parametrize("law, initial", [
    (dg.Acoustics(2, sound_speed=lambda x: 1 + x[0] / 2), lambda x: (np.sin(x[0]), x[1], 0 * x[0])),
    (dg.Maxwell(2, "TM"), lambda x: (np.sin(x[0]), x[1], 0 * x[0])), (dg.Advection((1.0, 0.5)), lambda x: (np.sin(x[0]),))])
def test_other_laws_with_the_average(law, initial):
    """Parameters that vary are taken at both nodes."""
    results = []
    for kernels in ("fused", "array"):
        sim = dg.Simulation(warped(2), law, dg.TensorDG(3, "lobatto", volume_flux=dg.central), initial=initial, backend="numpy",
                            kernels=kernels, threads=1)
        ds = sim.run(0.05)
        results.append(np.stack([ds[name].values[-1] for name in law.variables]))
    assert np.abs(results[0] - results[1]).max() < 1e-13


@pytest.mark.thorough
@pytest.mark.parametrize("dim", [2, 3])
def test_a_gas_in_a_field(dim):
    """A uniform state stays, nothing is lost, kernels and arrays agree."""
    law = dg.MHD(dim, cleaning_speed=1.5)
    mesh, results = warped(dim), []

    def initial(x, size=0.3):
        wave = size * np.sin(2 * np.pi * (x[0] + x[1]))
        return law.conservative((1 + wave, 0.3 + wave, 0.2, 0.1 - wave, 1 + wave, 0.4, 0.3 - wave, 0.5 + wave))
    for kernels in ("fused", "array"):
        operator = dg.Simulation(mesh, law, dg.TensorDG(2, "lobatto", volume_flux=dg.ranocha), initial=initial, flux=dg.rusanov,
                                 backend="numpy", kernels=kernels).operator
        r, still = (operator.host(operator.rhs(operator.state(operator.project(lambda x, s=size: initial(x, s))), 0.0))
                    for size in (0.3, 0.0))
        results.append(r)
        assert np.abs(still).max() < 1e-11 * np.abs(r).max()
        totals = np.sum(r * (operator.tables.basis.cell.weights[:, None] * operator.space.determinants), axis=(1, 2))
        assert np.abs(totals[:8]).max() < 1e-12 * np.abs(r).max()          # psi is damped
    assert np.abs(results[0] - results[1]).max() < 1e-12 * np.abs(results[1]).max()


def test_fluxes_of_two_points():
    """Symmetric, consistent, and Tadmor's condition: (w+ - w-) . F = (psi+ - psi-) . n with psi = m."""
    law = dg.Euler(3)
    l, r = (tuple(rough(law, (50,), seed)) for seed in (1, 2))
    n = tuple(np.random.default_rng(3).normal(size=(3, 50)))
    for flux in (law.ranocha, law.kennedy_gruber):
        assert np.allclose(flux(l, r, n), flux(r, l, n), rtol=1e-13, atol=1e-13)
        assert np.allclose(flux(l, l, n), law.flux(l, n), rtol=1e-13, atol=1e-13)
    w = [law.entropy_variables(q) for q in (l, r)]
    work = sum((b - a) * f for a, b, f in zip(*w, law.ranocha(l, r, n)))
    potential = sum((b - a) * c for a, b, c in zip(l[1:-1], r[1:-1], n))
    assert np.allclose(work, potential, rtol=1e-12, atol=1e-12)


def rough_plasma(law, count, seed=0):
    """States (variable, count) of a gas in a field."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(9, count))
    w[0], w[4], w[8] = rng.uniform(0.5, 2, count), rng.uniform(0.5, 2, count), 0
    return np.stack(law.conservative(tuple(w)))


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_flux_of_two_points_in_a_field(dim):
    """Symmetric, consistent, without a field that of a gas, and Tadmor's condition with Powell's terms, Bn their mean:
    (w+ - w-) . F + {Bn} (theta+ - theta-) = Psi+ - Psi-,  theta = beta v . B,  Psi = w . f - S v.n + theta Bn."""
    law, gas = dg.MHD(dim, cleaning_speed=1.5), dg.Euler(3, 5 / 3)
    l, r = (tuple(rough_plasma(law, 50, seed)) for seed in (1, 2))
    n = tuple(np.random.default_rng(3).normal(size=(dim, 50)))
    assert np.allclose(law.ranocha(l, r, n), law.ranocha(r, l, n), rtol=1e-13, atol=1e-13)
    assert np.allclose(law.ranocha(l, l, n), law.flux(l, n), rtol=1e-12, atol=1e-12)
    parts = []
    for q in (l, r):
        w, v = law.entropy_variables(q), law.velocity(q)
        theta = q[0] / law.pressure(q) * sum(a * b for a, b in zip(v, q[law.field]))
        entropy = -q[0] * law.entropy(q) / (law.gamma - 1)
        Bn = law.along(q[law.field], n)
        potential = sum(a * f for a, f in zip(w, law.flux(q, n))) - entropy * law.along(v, n) + theta * Bn
        parts.append((np.stack(w), theta, potential, Bn))
    (wl, tl, pl, bl), (wr, tr, pr, br) = parts
    work = np.sum((wr - wl) * law.ranocha(l, r, n), axis=0) + (bl + br) / 2 * (tr - tl)
    assert np.allclose(work, pr - pl, rtol=1e-11, atol=1e-11)
    if dim == 3:
        l, r = (law.conservative((*law.primitive(q)[:5], 0 * q[0], 0 * q[0], 0 * q[0])) for q in (l, r))
        assert np.allclose(law.ranocha(l, r, n)[:5], gas.ranocha(l[:5], r[:5], n), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_products_of_two_points(dim):
    """With them and psi, as any: (w+ - w-) . F + (w+ . A(r) - w- . A(l)) {b} = Psi+ - Psi-."""
    law = dg.MHD(dim, cleaning_speed=1.5, powell=True)
    l, r = (rough_plasma(law, 50, seed) for seed in (1, 2))
    l[8], r[8], *n = np.random.default_rng(3).normal(size=(2 + dim, 50))
    l, r, n = tuple(l), tuple(r), tuple(n)
    (wl, pl), (wr, pr) = ((law.entropy_variables(q), entropy_potential(law, q, n)) for q in (l, r))
    mean = [(a + b) / 2 for a, b in zip(law.product_flux(l, n), law.product_flux(r, n))]
    work = (sum((b - a) * f for a, b, f in zip(wl, wr, law.ranocha(l, r, n)))
            + sum(b * f for b, f in zip(wr, law.products(r, mean))) - sum(a * f for a, f in zip(wl, law.products(l, mean))))
    assert np.allclose(work, pr - pl, rtol=1e-11, atol=1e-11)


def entropy_potential(law, q, n):
    """Psi = w . (f + A(q) b(q)) - S v . n."""
    flux = (f + p for f, p in zip(law.flux(q, n), law.products(q, law.product_flux(q, n))))
    entropy = -q[0] * law.entropy(q) / (law.gamma - 1)
    return sum(a * f for a, f in zip(law.entropy_variables(q), flux)) - entropy * law.along(law.velocity(q), n)


def plasma(dim, order, flux=dg.rusanov, kernels="array", dtype="float64", **options):
    """(operator, state) of a plasma with Powell's terms that jumps from node to node, as does its field."""
    law = dg.MHD(dim, cleaning_speed=1.5, cleaning_length=None, powell=True)
    method = dg.TensorDG(order, nodes="lobatto", volume_flux=dg.ranocha, **options)
    operator = dg.Simulation(warped(dim), law, method, initial=lambda x: law.conservative((1, 0, 0, 0, 1, 0, 0, 0)), flux=flux,
                             backend="numpy", kernels=kernels, dtype=dtype, threads=1).operator
    q = rough_plasma(law, int(np.prod(operator.shape[1:])))
    q[8] = np.random.default_rng(4).normal(size=q.shape[1])
    return operator, q.reshape(operator.shape).astype(dtype)


@pytest.mark.parametrize("dim, order, kernels", [(2, 1, "array"), (2, 4, "array"), (3, 2, "array"), (2, 3, "fused")])
def test_entropy_of_a_plasma_is_conserved_and_with_rusanov_it_grows(dim, order, kernels):
    """As above, though the divergence of the field is not zero at all; mass is conserved and a uniform state stays."""
    rates = {}
    for flux in (dg.ranocha, dg.rusanov):
        operator, q = plasma(dim, order, flux, kernels)
        r, weights = tendency(operator, q)
        terms = np.array(operator.law.entropy_variables(tuple(q))) * r * weights
        rates[flux] = terms.sum() / np.abs(terms).sum()
        assert abs((r[0] * weights).sum()) < 1e-13 * np.abs(r[0] * weights).sum()
        uniform = np.broadcast_to(q[:, :1, :1], q.shape).copy()
        assert np.abs(tendency(operator, uniform)[0]).max() < 1e-11 * np.abs(r).max()
    assert abs(rates[dg.ranocha]) < 1e-14
    assert rates[dg.rusanov] < -1e-3


@pytest.mark.thorough
@pytest.mark.parametrize("dim, order", [(2, 3), (3, 2)])
@pytest.mark.parametrize("dtype, most", [("float64", 1e-12), ("float32", 2e-4)])
@pytest.mark.parametrize("options", [{}, {"shock_capturing": 0.5}], ids=["smooth", "shocks"])
def test_kernels_and_arrays_agree_with_products(dim, order, dtype, most, options):
    results = [tendency(*plasma(dim, order, dg.hlld if options else dg.rusanov, kernels, dtype, **options))[0]
               for kernels in ("fused", "array")]
    assert np.abs(results[0] - results[1]).max() < most * np.abs(results[1]).max()


def test_a_uniform_plasma_stays_on_subcells():
    operator, q = plasma(2, 3, shock_capturing=0.5)
    uniform = np.broadcast_to(q[:, :1, :1], q.shape).copy()
    operator.tables.physics.functions.beside = Pointwise(lambda own, around: (0.5,), {"own": 1, "around": 4}, "share")
    r, still = (tendency(operator, state)[0] for state in (q, uniform))
    assert np.abs(still).max() < 1e-11 * np.abs(r).max()


class Transport(dg.Law):
    """u_t + a . grad u = 0 as a nonconservative product alone."""

    dim, variables, a = 2, ("u",), (1.0, -0.5)

    def flux(self, q, n):
        return (0.0 * q[0],)

    def product_flux(self, q, n):
        return (q[0] * n[0], q[0] * n[1])

    def products(self, q, b):
        return (self.a[0] * b[0] + self.a[1] * b[1],)

    def wave_speed(self, q, n):
        return np.abs(self.a[0] * n[0] + self.a[1] * n[1])


@pytest.mark.thorough
@pytest.mark.parametrize("kernels", ["array", "fused"])
def test_a_product_is_what_its_flux_is(kernels):
    """A law of the user's own, where the product is the divergence of a flux; with a boundary, on cells that are not alike."""
    walls = dg.rectangle(cells=4, shape="quadrilateral")
    for mesh, boundary in ((warped(2), None), (walls, dg.prescribed(lambda x, t: (np.cos(x[0] + t),)))):
        found = []
        for law in (Transport(), dg.Advection(Transport.a)):
            sim = dg.Simulation(mesh, law, dg.TensorDG(3, "lobatto", volume_flux=dg.central), boundary=boundary,
                                flux=dg.rusanov, initial=lambda x: (np.sin(4 * x[0] + x[1]),), backend="numpy", kernels=kernels)
            found.append(sim.run(0.1)["u"].values[-1])
        assert np.abs(found[0] - found[1]).max() < 1e-13


def test_products_are_refused_where_they_are_not_solved():
    law = dg.MHD(2, cleaning_speed=1.0, powell=True)
    squares = dg.rectangle(cells=4, periodic=True, shape="quadrilateral")
    assert repr(law) == "MHD(dim=2, gamma=1.6666666666666667, cleaning_speed=1.0, cleaning_length=0.18, powell=True)"
    for mesh, method in ((dg.rectangle(cells=4), dg.NodalDG(2)), (dg.rectangle(cells=4), dg.ModalDG(2)),
                         (dg.Grid((0, 0), (1, 1), (8, 8)), dg.FiniteVolume("weno")), (squares, dg.TensorDG(2))):
        with pytest.raises(ValueError, match="powell=True.* has nonconservative products, which .* does not take; give Tensor"):
            dg.Simulation(mesh, law, method, backend="numpy")
        with pytest.raises(ValueError, match="has nonconservative products"):
            method.discretise(mesh, law, None, backends.get())


@pytest.mark.parametrize("law, states", [(dg.Euler(2), None), (dg.MHD(2, cleaning_speed=1.0), rough_plasma)],
                         ids=["euler", "mhd"])
def test_entropy_variables_are_the_gradient_of_the_entropy(law, states):
    h = 1e-6
    q = rough(law, (20,)) if states is None else states(law, 20)

    def entropy(q):
        return -q[0] * law.entropy(tuple(q)) / (law.gamma - 1)
    for v, w in enumerate(law.entropy_variables(tuple(q))):
        step = h * (np.arange(len(q)) == v)[:, None]
        assert np.allclose((entropy(q + step) - entropy(q - step)) / (2 * h), w, rtol=1e-7, atol=1e-7)


def test_the_logarithmic_mean():
    a = np.array([1.0, 1.0, 2.0, 1e-3, 5.0])
    b = np.array([1.0, 1 + 1e-9, 2.0 * 1.0202, 1e3, 1.0])
    assert np.allclose(logarithmic_mean(a, b), [1.0, 1 + 5e-10, *((b - a)[2:] / np.log(b / a)[2:])], rtol=1e-13, atol=0)


@pytest.mark.thorough
def test_taylor_green_runs_where_the_weak_form_ends():
    quantities = {}
    for flux in ("rusanov", "ranocha"):
        sim = cases.taylor_green(order=3, cells=2, flux=flux, until=6.0, every=1.0)
        sim.run()
        quantities[flux] = sim.report["results"]
    assert quantities["rusanov"]["least_growth"] > 1e-6
    assert abs(quantities["ranocha"]["entropy"]) < 1e-6
    assert quantities["rusanov"]["kinetic_energy"] < quantities["ranocha"]["kinetic_energy"] < 1.02
    with pytest.raises(dg.SolutionError, match="not admissible"):
        cases.taylor_green(order=3, cells=4, volume_flux="none", flux="ranocha", until=6.0).run()


def test_bad_input():
    with pytest.raises(ValueError, match="volume_flux='central' is not allowed; it must be None or a function"):
        dg.TensorDG(3, nodes="lobatto", volume_flux="central")
    with pytest.raises(ValueError, match="volume_flux=ranocha needs nodes='lobatto'"):
        dg.TensorDG(3, volume_flux=dg.ranocha)
    with pytest.raises(ValueError, match="has no numerical flux 'ranocha'; allowed: upwind, central, rusanov, hll"):
        problem(2, 2, dg.ranocha, None, law=Waves(2))
    with pytest.raises(ValueError, match="depends on x; the split form has fluxes between two places"):
        law = dg.Advection(lambda x: (x[1], 0 * x[0]), dim=2)
        dg.Simulation(warped(2), law, dg.TensorDG(2, "lobatto", volume_flux=dg.central), initial=lambda x: (x[0],),
                      backend="numpy").run(0.1)


class Waves(dg.Acoustics):
    """Acoustics with the function that `problem` asks for."""

    def conservative(self, w):
        return w[:3]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_logarithms_of_vectors(dtype):
    """Within two units in the last place, also near 1, and what is no logarithm."""
    L = target.lanes(dtype)
    call = expressions.function((("load", 0, 0), ("log", 0)), (1,), [(L, 0)], dtype, vectors=True)

    @njit
    def logarithms(w):
        call(w, (0,), ())
    random = np.random.default_rng(0)
    samples = random.uniform(-80, 80, (50, L)), random.normal(0, 0.3, (50, L)), random.normal(0, 1e-5, (9, L))
    for x in np.exp(np.concatenate(samples)):
        w = np.tile(x.astype(dtype), 2)
        logarithms(w)
        assert np.allclose(w[L:], np.log(w[:L].astype(np.longdouble)).astype(float), rtol=2 * np.finfo(dtype).eps, atol=0)
    w = np.ones(2 * L, dtype)
    w[:4] = 0, -1, np.inf, np.nan
    logarithms(w)
    assert np.array_equal(w[L:L + 4], [-np.inf, np.nan, np.inf, np.nan], equal_nan=True)
