"""Mortars that keep summation by parts: energy, entropy, conservation, uniform states, orders."""
from types import SimpleNamespace

import numpy as np
import pytest
from strict import StrictNamespace
from test_split_form import rough_plasma
from test_tensor_dg import laws
from test_zones import mesh_of, operator_of, orders, rates, wavy

import dgarray as dg
from dgarray import backends
from dgarray.backends.arrays import ArrayBackend
from dgarray.methods.dg.mortar_forms import entropy_functions, mortar_form
from dgarray.physics.trace import call

POWELL = {dim: dg.MHD(dim, cleaning_speed=1.0, powell=True) for dim in (2, 3)}


def few(dim, kind, warped, curved=1):
    """Few cells in the zones "core" and "around"; the core is refined unless kind is "order"."""
    make, shape = (dg.rectangle, "quadrilateral") if dim == 2 else (dg.box, "hexahedron")
    mesh = make(cells=(2, 2) if dim == 2 else (2, 1, 1), shape=shape)

    def inside(x):
        return np.max(x, axis=0) < 0.5 if dim == 2 else x[0] < 0.5
    mesh = mesh.with_regions({"core": inside, "around": lambda x: ~inside(x)})
    mesh = mesh.mapped(wavy, curved) if curved > 1 else mesh
    mesh = mesh if kind == "order" else mesh.refined("core")
    return mesh.mapped(wavy) if warped and curved == 1 else mesh


def parts_of(operator):
    """The operators of the zones."""
    return list(getattr(operator, "operators", {None: operator}).values())


def weights(operator):
    """The weights (node, element) of each zone's quadrature."""
    for part in parts_of(operator):
        tables, dim = part.tables, part.tables.dim
        jacobian = tables.mesh.measures / 2 ** dim if tables.geometry.affine else tables.geometry.jacobian
        yield part, tables.basis.cell.weights[:, None] * np.broadcast_to(jacobian, (tables.rows, tables.elements))


def energy_weights(operator):
    """Twice the energy is the sum of these times the squares of the unknowns, (unknown,)."""
    found = []
    for part, w in weights(operator):
        tables, law = part.tables, part.law
        values = law.parameters | tables.parameters | tables.media.volume
        capacity = law.capacity(SimpleNamespace(**values))
        found += [(w * c).ravel() for c in capacity]
    return np.concatenate(found)


def energy_rates(sim):
    """The matrix of dq/dt in coordinates in which the energy is half the sum of squares, and the largest and smallest
    eigenvalue of its symmetric part, relative to its size: the rates at which energy can grow and fall."""
    A, root = sim.linear_operator(), np.sqrt(energy_weights(sim.operator))
    A = root[:, None] * (A @ np.eye(A.shape[0])) / root
    found = np.linalg.eigvalsh((A + A.T) / 2) / np.abs(A).max()
    return found[-1], found[0]


def waves(law, mesh, order, nodes, volume_flux, flux):
    method, sides = dg.TensorDG(order, nodes, volume_flux=volume_flux), dg.pec if law.fields else dg.wall
    return dg.Simulation(mesh, law, method, sides,
                         lambda x: tuple(np.sin(3 * x[0] + v) * np.cos(2 * x[1] - v) for v in range(len(law.variables))),
                         flux=flux, stepper="rk4", backend="numpy", kernels="array", threads=1)


# Energy of linear laws.

CELLS = [(False, 1, "gauss", None), (False, 1, "lobatto", None), (True, 1, "gauss", None), (True, 1, "lobatto", dg.central),
         (True, 2, "lobatto", dg.central)]


@pytest.mark.parametrize("warped, curved, nodes, volume_flux", CELLS)
@pytest.mark.parametrize("kind", ["order", "size", "both"])
@pytest.mark.parametrize("law", [dg.Acoustics(2, density={"core": 2.0, "around": 1.0}), dg.Maxwell(2), dg.Acoustics(3),
                                 dg.Maxwell(3)], ids=repr)
def test_the_central_flux_keeps_the_energy(law, kind, warped, curved, nodes, volume_flux):
    """The form of the energy is zero, to rounding: for every state, not for one run."""
    if law.dim == 3 and curved == 2:
        pytest.skip("order 4, of too many unknowns")
    order = 2 if kind == "size" else {"core": 2, "around": 3}
    largest, smallest = energy_rates(waves(law, few(law.dim, kind, warped, curved), order, nodes, volume_flux, dg.central))
    assert largest < 1e-13 and smallest > -1e-13


@pytest.mark.parametrize("kind", ["order", "size", "both"])
def test_dissipation_only_takes_energy_in_split_form(kind):
    order = 2 if kind == "size" else {"core": 2, "around": 3}
    largest, smallest = energy_rates(waves(dg.Maxwell(2), few(2, kind, True), order, "lobatto", dg.central, dg.upwind))
    assert largest < 1e-13 and smallest < -0.1


def test_a_medium_that_varies_smoothly_keeps_the_energy():
    law = dg.Acoustics(2, density=lambda x: 1 + 0.3 * np.sin(3 * x[0]), sound_speed=lambda x: 1 + 0.2 * np.cos(2 * x[1]))
    sim = waves(law, few(2, "both", True), {"core": 2, "around": 3}, "lobatto", dg.central, dg.central)
    largest, smallest = energy_rates(sim)
    assert largest < 1e-13 and smallest > -1e-13


@pytest.mark.parametrize("warped, curved, nodes, volume_flux", CELLS[:4])
@pytest.mark.parametrize("law, kind", [(dg.Acoustics(2), "size"), (dg.Maxwell(2), "both"), (dg.Acoustics(3), "size")], ids=repr)
def test_no_energy_grows_in_ten_thousand_steps(law, kind, warped, curved, nodes, volume_flux):
    """The largest norm of the powers of the matrix of a default step, over all states: up to 16384 steps."""
    order = 2 if kind == "size" else {"core": 2, "around": 3}
    sim = waves(law, few(law.dim, kind, warped, curved), order, nodes, volume_flux, dg.central)
    root, dt = np.sqrt(energy_weights(sim.operator)), sim.max_dt(sim.project())
    A = root[:, None] * (sim.linear_operator() @ np.eye(len(root))) / root
    terms = [np.eye(len(root))]
    for k in range(1, 5):
        terms.append(dt / k * A @ terms[-1])
    step = sum(terms)          # of rk4
    for _ in range(14):
        step = step @ step
        assert np.linalg.norm(step, 2) < 1 + 1e-10


def test_forms():
    """Which elements keep summation by parts at mortars: at Gauss-Lobatto nodes those in split form, and in weak form linear
    laws with a flux without dissipation."""
    def form(law, nodes="lobatto", volume_flux=None, flux=dg.central):
        sim = waves(law, few(2, "size", False), 2, nodes, volume_flux, flux) if law.capacity else dg.Simulation(
            few(2, "size", False), law, dg.TensorDG(2, nodes, volume_flux=volume_flux), dg.outflow, flux=flux, backend="numpy")
        physics = sim.operator.tables.physics
        return mortar_form(physics, nodes, volume_flux)

    def own_average(law):
        return dg.upwind(law, alpha=0.0)
    acoustics, gas = dg.Acoustics(2), dg.Euler(2)
    assert form(acoustics) == form(acoustics, flux=own_average) == form(acoustics, volume_flux=dg.central) == "linear"
    assert form(acoustics, volume_flux=dg.central, flux=dg.upwind) == form(dg.Advection((1.0, 0.5))) == "linear"
    assert form(acoustics, "gauss") == form(acoustics, flux=dg.upwind) == form(gas, flux=dg.rusanov) == "projected"
    assert form(gas, volume_flux=dg.ranocha, flux=dg.rusanov) == "split"


# Entropy, conservation and uniform states.

def state(law, dim):
    if not isinstance(law, dg.MHD):
        uniform = laws(dim)["euler"][1]
        return lambda x: tuple(value * (1 + 0.3 * np.sin(2 * np.pi * (x[0] + (v + 1) * x[1])) * (v in (0, law.dim + 1)))
                               for v, value in enumerate(uniform))
    rng = np.random.default_rng(3)
    a, b = rng.uniform(-0.3, 0.3, (2, 9))

    def f(x):
        w = [a[v] * np.sin(2 * np.pi * x[0] + v) + b[v] * np.cos(2 * np.pi * x[1] - v) for v in range(9)]
        return law.conservative((1 + w[0], *w[1:4], 1 + w[4], *(0.5 + c for c in w[5:8]), w[8]))
    return f


def sums(operator, f):
    """dS/dt of the entropy, relative to the sum of its absolute terms; the rate of the totals, relative to that of theirs."""
    states = operator.plain(operator.state(operator.project(f)))
    rates = operator.plain(operator.rhs(operator.state(states), 0.0))
    zones = [(s, r) for s, r in (zip(states.values(), rates.values()) if isinstance(states, dict) else [(states, rates)])]
    terms, totals = [], []
    for (part, w), (q, r) in zip(weights(operator), zones):
        terms.append((np.array(part.law.entropy_variables(tuple(q))) * r * w).ravel())
        totals.append((r * w).reshape(len(r), -1))
    terms, totals = np.concatenate(terms), np.concatenate(totals, axis=1)
    return terms.sum() / np.abs(terms).sum(), np.abs(totals.sum(axis=1)).max() / np.abs(totals).sum(axis=1).max()


@pytest.mark.parametrize("kind", ["order", "size", "both"])
@pytest.mark.parametrize("warped, curved", [(False, 1), (True, 1), (True, 2)])
@pytest.mark.parametrize("law", [dg.Euler(2), POWELL[2], dg.Euler(3), POWELL[3]], ids=repr)
def test_entropy(law, kind, warped, curved):
    """Kept by the flux that keeps it, not produced by Rusanov's; a gas conserves, and uniform states stay."""
    order = 4 if (law.dim, curved) == (3, 2) else 2
    mesh, f = mesh_of(law.dim, kind, warped, curved, periodic=True), state(law, law.dim)
    for flux in (dg.ranocha, dg.rusanov):
        method = dg.TensorDG(orders(order, kind), "lobatto", volume_flux=dg.ranocha)
        operator = operator_of(mesh, law, method, f, flux=flux)
        entropy, totals = sums(operator, f)
        assert abs(entropy) < 1e-13 if flux is dg.ranocha else entropy < -1e-9
        assert totals < 1e-13 or law.products is not None
        uniform = laws(law.dim)["mhd" if law.products is not None else "euler"][1]
        still = rates(operator, lambda x: tuple(value + 0 * x[0] for value in uniform))  # noqa: B023  called at once
        assert np.abs(still).max() < 1e-10 * np.abs(rates(operator, f)).max()


@pytest.mark.parametrize("dim, kind", [(2, "order"), (2, "size"), (2, "both"), (3, "both")])
def test_linear_laws_conserve(dim, kind):
    law = dg.Acoustics(dim)

    def f(x):
        return tuple(np.sin(2 * np.pi * (x[0] + v * x[1]) + v) for v in range(dim + 1))
    mesh, method = mesh_of(dim, kind, True, periodic=True), dg.TensorDG(orders(2, kind), "lobatto", volume_flux=dg.central)
    operator = operator_of(mesh, law, method, f, flux=dg.central)
    r = operator.plain(operator.rhs(operator.state(operator.project(f)), 0.0))
    zones = zip(weights(operator), r.values() if isinstance(r, dict) else [r])
    total = sum((values * w).sum(axis=(1, 2)) for (_, w), values in zones)
    still = rates(operator, lambda x: tuple(1.0 + v + 0 * x[0] for v in range(dim + 1)))
    assert np.abs(total).max() < 1e-12 and np.abs(still).max() < 1e-11 * np.abs(rates(operator, f)).max()


# Orders.

def middle(cells, kind, warped):
    """In weak form warped cells cost order without mortars, too."""
    mesh = dg.rectangle(cells=cells, shape="quadrilateral", periodic=True)

    def inside(x):
        return np.max([abs(c - 0.5) for c in x], axis=0) < 0.24
    mesh = mesh.with_regions({"core": inside, "around": lambda x: ~inside(x)})
    mesh = mesh if kind == "order" else mesh.refined("core")
    return mesh.mapped(wavy) if warped else mesh


def plane_wave(x, t):
    p = np.sin(2 * np.pi * (x[0] + x[1] - 2 ** 0.5 * t))
    return p, p / 2 ** 0.5, p / 2 ** 0.5


def density_wave(x, t):
    rho = 1 + 0.3 * np.sin(2 * np.pi * (x[0] + x[1] - 1.5 * t))
    return dg.Euler(2).conservative((rho, 1 + 0 * rho, 0.5 + 0 * rho, 1 + 0 * rho))


def alfven_wave(x, t):
    """Circularly polarised, of any amplitude: at speed 1 along (1, 1), by a field of 1."""
    phase, n = 2 * np.pi * (x[0] + x[1] - 2 ** 0.5 * t), 2 ** -0.5
    b, c = 0.1 * np.sin(phase), 0.1 * np.cos(phase)
    return POWELL[2].conservative((1 + 0 * b, n * b, -n * b, -c, 0.1 + 0 * b, n - n * b, n + n * b, c))


@pytest.mark.thorough
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("kind", ["order", "size"])
@pytest.mark.parametrize("law, exact, volume_flux, flux, less", [
    (dg.Acoustics(2), plane_wave, dg.central, dg.central, 0.7), (dg.Acoustics(2), plane_wave, None, dg.upwind, -0.5),
    (dg.Acoustics(2), plane_wave, dg.central, dg.upwind, 0.3), (dg.Euler(2), density_wave, dg.ranocha, dg.rusanov, -0.3),
    (POWELL[2], alfven_wave, dg.ranocha, dg.rusanov, -0.3)])
def test_observed_orders(law, exact, volume_flux, flux, less, kind, order):
    errors = []
    for cells in (8, 16, 32) if order < 3 else (4, 8, 16):
        method = dg.TensorDG(orders(order, kind), "lobatto", volume_flux=volume_flux)
        sim = dg.Simulation(middle(cells, kind, volume_flux is not None), law, method, initial=lambda x: exact(x, 0.0),
                            exact=exact, flux=flux, backend="numpy")
        sim.run(0.2)
        errors.append(sim.report["l2_error"]["total"])
    assert np.log2(errors[-2] / errors[-1]) > order - less, errors


# Kernels.

@pytest.mark.parametrize("kind", ["order", "size", "both"])
@pytest.mark.parametrize("law, flux, options", [
    (dg.Acoustics(2, density=lambda x: 1 + 0.3 * np.sin(3 * x[0])), dg.central, {"volume_flux": dg.central}),
    (dg.Euler(2), dg.rusanov, {"volume_flux": dg.ranocha}), (POWELL[2], dg.rusanov, {"volume_flux": dg.ranocha}),
    (dg.Euler(2), dg.hllc, {"volume_flux": dg.ranocha, "shock_capturing": 0.5, "positivity": True}),
    (dg.Euler(3), dg.hllc, {"volume_flux": dg.ranocha})], ids=["acoustics", "gas", "powell", "shocks", "gas 3D"])
def test_kernels_and_arrays_agree(law, flux, options, kind):
    def waves(x):
        return tuple(np.sin(3 * x[0] + v) * np.cos(2 * x[1] - v) for v in range(len(law.variables)))
    f = state(law, law.dim) if law.entropy_variables else waves
    given = dict(flux=flux, boundary=dg.prescribed(lambda x, t: f(x)))
    method = dg.TensorDG(orders(2, kind), "lobatto", **options)
    array, fused = (rates(operator_of(few(law.dim, kind, True), law, method, f, kernels, **given), f)
                    for kernels in ("array", "fused"))
    assert np.abs(array - fused).max() < 1e-12 * np.abs(array).max()


@pytest.mark.parametrize("law, volume_flux", [
    (dg.Acoustics(2, density=lambda x: 1 + x[0]), dg.central), (POWELL[2], dg.ranocha)], ids=["linear", "split"])
def test_on_strict_arrays(law, volume_flux):
    """As on a GPU, where mortars are array expressions."""
    def waves(x):
        return tuple(np.sin(3 * x[0] + v) * np.cos(2 * x[1] - v) for v in range(len(law.variables)))
    f, results = state(law, 2) if law.entropy_variables else waves, []
    method = dg.TensorDG({"core": 2, "around": 3}, "lobatto", volume_flux=volume_flux)
    for backend in (backends.get("numpy", "array"), ArrayBackend(StrictNamespace(), "float64", "strict")):
        operator = method.discretise(few(2, "both", True), law, dg.wall, backend, dg.central if law.capacity else dg.rusanov)
        results.append(operator.host(operator.rhs(operator.state(operator.project(f)), 0.0)))
    for name, values in results[0].items():
        assert np.abs(values - results[1][name]).max() < 1e-12 * np.abs(values).max()


def test_single_precision_stays_single():
    law, f = POWELL[2], state(POWELL[2], 2)
    method = dg.TensorDG({"core": 2, "around": 3}, "lobatto", volume_flux=dg.ranocha)
    operator = operator_of(few(2, "both", True), law, method, f, boundary=dg.wall, flux=dg.rusanov, dtype="float32")
    r = operator.rhs(operator.state(operator.project(f)), 0.0)
    assert all(values.dtype == np.float32 for values in r.values())


@pytest.mark.parametrize("law", [dg.Euler(1), dg.Euler(3), POWELL[2]], ids=repr)
def test_states_of_entropy_variables(law):
    if isinstance(law, dg.MHD):
        q = rough_plasma(law, 20)
    else:
        rng = np.random.default_rng(0)
        q = law.conservative((rng.uniform(0.1, 3, 20), *rng.normal(size=(law.dim, 20)), rng.uniform(0.1, 3, 20)))
    w = law.entropy_variables(tuple(q))
    assert np.allclose(np.array(call(law.from_entropy_variables, dict(w=w, q=tuple(q)))), np.array(q), rtol=1e-12, atol=1e-12)


def test_states_at_mortar_points_are_states():
    """Where interpolated entropy variables belong to no state, or to one far from that interpolated, this is taken; where
    that is no state either, the mean of the face."""
    law = dg.Euler(2)
    (_, state), one = entropy_functions(law), np.ones(4)
    q = law.conservative((one, 0 * one, 0 * one, np.array([1.0, 1.0, 1.0, -1.0])))
    p = np.array([1.2, 3.0, 1.0, 1.0])
    w = [np.array(c) for c in law.entropy_variables(law.conservative((one, 0.1 * one, 0 * one, p)))]
    w[-1][2] *= -1
    with np.errstate(all="ignore"):
        found = np.array(state(w=tuple(w), q=q, near=law.conservative((2 * one, 0 * one, 0 * one, one))))
    assert np.allclose(law.pressure(found), [1.2, 1.0, 1.0, 1.0]) and np.allclose(found[0], [1.0, 1.0, 1.0, 2.0])


@pytest.mark.thorough
def test_a_blast_across_hanging_nodes():
    """From a jump of pressure of 50 inside of the cells at them."""
    law = dg.Euler(2)

    def blast(x):
        return law.conservative((1 + 0 * x[0], 0 * x[0], 0 * x[0], np.where((x[0] - 0.4) ** 2 + x[1] ** 2 < 0.04, 5.0, 0.1)))
    method = dg.TensorDG(3, "lobatto", volume_flux=dg.ranocha, shock_capturing=0.5, positivity=True)
    mesh = dg.rectangle(cells=6, shape="quadrilateral").with_regions({"core": lambda x: x[0] < 0.5}).refined("core")
    sim = dg.Simulation(mesh, law, method, dg.wall, blast, flux=dg.hllc, stepper="ssp33", backend="numpy", kernels="array")
    sim.run(0.05)
    for name in ("rho", "E"):
        assert sim.report["conserved"][name]["final"] == pytest.approx(sim.report["conserved"][name]["initial"], rel=1e-12)
