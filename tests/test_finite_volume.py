"""Finite volumes: orders, conservation, ghost layers, fluxes of first order where needed, kernels against arrays."""
import numpy as np
import pytest
from burgers import Burgers
from grid_problems import (
    CELLS,
    EULER,
    FIRST,
    GAS,
    LAWS,
    METHODS,
    MUSCL,
    SOURCE,
    WENO,
    advanced,
    blast,
    simulation,
)
from strict import StrictArray, StrictNamespace

import dgarray as dg
from dgarray.backends.arrays import ArrayBackend
from dgarray.methods.finite_volume.courant import courant_limit
from dgarray.methods.finite_volume.reconstruction import LIMITERS, weno_z
from dgarray.methods.finite_volume.schemes import SCHEMES
from dgarray.methods.finite_volume.stencils import ranges
from dgarray.stepping import STEPPERS, monotonicity_radius

# Reconstruction.


@pytest.mark.parametrize("name", LIMITERS)
def test_limited_slopes_keep_lines_and_stop_at_extremes(name):
    slope = LIMITERS[name]
    a, b = np.random.default_rng(0).standard_normal((2, 1000))
    s = slope(a, b)
    assert np.allclose(slope(a, a), a) and np.allclose(slope(b, a), s) and np.allclose(slope(-a, -b), -s)
    assert (s[a * b <= 0] == 0).all()
    assert (np.abs(s) <= 2 * np.minimum(np.abs(a), np.abs(b)) + 1e-15).all()          # no new extremes


def test_weno_z_is_of_fifth_order_and_keeps_to_one_side_of_a_jump():
    def face(h):
        edges = 0.3 + h * np.arange(-3, 3)          # the face is at 0.3
        averages = -np.diff(np.cos(edges)) / h
        return weno_z(*averages)
    errors = [abs(face(h) - np.sin(0.3)) for h in (0.1, 0.05, 0.025)]
    assert np.log2(np.array(errors[:-1]) / errors[1:]).min() > 4.8
    for dtype in (np.float64, np.float32):
        for scale in (1e-8, 1.0, 1e6):
            five = [dtype(scale * v) for v in (1, 1, 1, 0, 0)]
            value = weno_z(*five)
            assert value.dtype == dtype and abs(value / scale - 1) < 1e-5
    assert weno_z(*[np.float32(0)] * 5) == 0


def test_lines_say_which_cells_they_need():
    tables = MUSCL.tables(simulation(EULER[1], MUSCL, 8).problem)
    lines = [*tables.sweeps[0], tables.update("q")]
    assert ranges(lines, {"out": (0, 8)})["q"] == (-2, 10)
    lines = WENO.tables(simulation(EULER[1], WENO, 8).problem).sweeps[0]
    assert ranges(lines, {"flux": (-1, 8)})["q"] == (-3, 11)


# Stability.


def test_courant_numbers():
    """First order with Euler's steps: 1; the values of the literature for WENO5 (Wang & Spiteri 2007: 1.43 with ssp33)."""
    assert courant_limit(SCHEMES["first-order"], STEPPERS["ssp22"]) == pytest.approx(1.0, abs=2e-3)
    assert courant_limit(SCHEMES["weno"], STEPPERS["ssp33"]) == pytest.approx(1.43, abs=0.01)
    assert {name: monotonicity_radius(s) for name, s in STEPPERS.items()} == {
        "lsrk54": 0, "rk4": 0, "ssp33": 1, "rk2": 0, "ssp22": 1, "ssp54": pytest.approx(1.508, abs=1e-3)}
    with pytest.raises(ValueError, match="no useful stable step"):
        simulation(EULER[1], WENO, 8, stepper="rk2")


@pytest.mark.parametrize("method", [FIRST, MUSCL, dg.FiniteVolume("muscl", splitting=None), WENO])
def test_the_largest_step_is_stable_for_rough_states(method):
    rng = np.random.default_rng(3)
    sim = simulation(dg.Advection((1.0, 0.7)), method, (24, 20), cfl=1.0, until=8.0,
                     initial=lambda x: (rng.choice([0.0, 1.0], x[0].shape),))
    ds = sim.run()
    assert np.abs(ds.u[-1]).max() < 1.05          # weno may pass an extreme by a little


@pytest.mark.parametrize("method", [FIRST, MUSCL])
@pytest.mark.parametrize("field", [(1.0, 0.0, 0.0), (1.0, 2 ** 0.5, 0.5)])
def test_noise_in_a_field_at_rest_does_not_grow(method, field):
    """Sweeps of MHD with cleaning and without damping, at the largest step."""
    law = dg.MHD(2, cleaning_speed=1.9, cleaning_length=None)
    rest = np.array(law.conservative((1.0, 0.0, 0.0, 0.0, 0.6, *field)))[:, None, None]
    sim = simulation(law, method, 12, initial=lambda x: tuple(c + 0 * x[0] for c in rest[:, 0, 0]), flux=dg.hlld)
    operator, found = sim.operator, []
    state = operator.state(rest + 1e-9 * np.random.default_rng(0).standard_normal(operator.shape))
    for _ in range(2):
        for _ in range(40):
            state = operator.advance(state, 0.0, operator.largest_step(state, 0.0))
        found.append(np.abs(operator.host(state) - rest).max())
    assert found[1] < 1.2 * found[0] < 6e-9


# Orders.


def observed(method, sizes, make, cfl=0.9):
    """Observed orders between grids."""
    errors = []
    for n in sizes:
        sim = make(method, n).replace(cfl=cfl)
        sim.run()
        errors.append(sim.report["l2_error"]["total"])
    return np.log2(np.array(errors[:-1]) / errors[1:]) / np.log2(np.array(sizes[1:]) / sizes[:-1])


def travelling(dim, **options):
    """Waves of density in a gas that moves as a whole."""
    law = EULER[dim]

    def exact(x, t):
        rho = 1 + 0.2 * np.sin(2 * np.pi * sum(c - 0.5 * t for c in x))
        return law.conservative((rho, *(0.5 + 0 * rho,) * dim, 1 + 0 * rho))

    def make(method, n):
        return simulation(law, method, n, initial=lambda x: exact(x, 0.0), exact=exact, until=0.5, **options)
    return make


def vortex(method, n):
    """The isentropic vortex, small at the edge of its periodic box."""
    law, far = GAS, 5.0

    def exact(x, t):
        dx, dy = ((c - 5 - t + far) % (2 * far) - far for c in x)
        bump = 5 / (2 * np.pi) * np.exp((1 - 2 * (dx * dx + dy * dy)) / 2)
        heat = 1 - 0.4 / (2 * 1.4) * bump * bump / 2
        rho = heat ** 2.5
        return law.conservative((rho, 1 - dy * bump, 1 + dx * bump, rho * heat))
    return dg.Simulation(dg.Grid((0, 0), (10, 10), n, True), law, method, None, lambda x: exact(x, 0.0), exact=exact, until=0.5,
                         backend="numpy")


def burgers(method, n):
    """Burgers' equation before its shock, by characteristics."""
    def exact(x, t):
        u = np.sin(2 * np.pi * x[0])
        for _ in range(100):
            u = u - (u - np.sin(2 * np.pi * (x[0] - u * t))) / (1 + 2 * np.pi * t * np.cos(2 * np.pi * (x[0] - u * t)))
        return (u,)
    return simulation(Burgers(1), method, n, initial=lambda x: exact(x, 0.0), exact=exact, until=0.08)


@pytest.mark.parametrize("make, method, sizes, cfl, least", [
    (travelling(1), FIRST, (64, 128), 0.9, 0.8), (travelling(1), MUSCL, (32, 64), 0.9, 1.7),
    (travelling(2), MUSCL, (32, 64), 0.9, 1.7), (burgers, WENO, (40, 80), 0.2, 4.8),
    (travelling(1), dg.FiniteVolume("muscl", splitting=None), (32, 64), 0.9, 1.7),
    (travelling(1), dg.FiniteVolume("muscl", limiter="mc", variables="characteristic"), (32, 64), 0.9, 1.8),
    (travelling(2), WENO, (12, 24), 0.3, 4.6), (vortex, WENO, (60, 90), 0.3, 4.5)],
    ids=["first 1D", "muscl 1D", "muscl 2D", "weno burgers", "muscl unsplit", "muscl mc", "weno 2D", "weno vortex"])
def test_observed_orders(make, method, sizes, cfl, least):
    assert observed(method, sizes, make, cfl).min() > least


@pytest.mark.parametrize("splitting", ["strang", None])
def test_sources_keep_the_order(splitting):
    """A gas whose density is fed: rho_t = s(x, t) by a made solution of advection with a source in q, x and t."""
    law = dg.Advection((1.0,))

    def exact(x, t):
        return (np.exp(-t) * np.sin(2 * np.pi * x[0]) + np.sin(t),)

    def source(q, x, t):
        return (-(q[0] - np.sin(t)) + 2 * np.pi * np.exp(-t) * np.cos(2 * np.pi * x[0]) + np.cos(t),)

    def make(method, n):
        return simulation(law, method, n, initial=lambda x: exact(x, 0.0), exact=exact, source=source, until=0.5)
    assert observed(dg.FiniteVolume("muscl", splitting=splitting), (40, 80), make).min() > 1.7


@pytest.mark.parametrize("method, least", [(MUSCL, 1.5), (WENO, 3.0)], ids=["muscl", "weno"])
@pytest.mark.parametrize("law", [dg.Acoustics(1, sound_speed=lambda x: 1 + 0.3 * np.sin(2 * np.pi * x[0])),
                                 dg.Maxwell(1, eps=lambda x: 1 + 0.3 * np.sin(2 * np.pi * x[0]))], ids=["acoustics", "maxwell"])
def test_every_law_runs_with_varying_parameters(law, method, least):
    """Acoustics with a sound speed that varies, and Maxwell in a smooth medium, against a fine grid."""
    def initial(x):
        bump = np.exp(-100 * (x[0] - 0.5) ** 2)
        return bump, 0 * bump
    runs = [simulation(law, method, n, initial=initial, until=0.2).run()[law.variables[0]][-1].values
            for n in (50, 100, 200, 400)]
    if method is WENO:          # values at centres: cubic means of four meet those of the coarser grid
        coarse = [(-np.roll(v, 1)[::2] + 9 * v[::2] + 9 * v[1::2] - np.roll(v, -1)[1::2]) / 16 for v in runs[1:]]
    else:
        coarse = [v.reshape(-1, 2).mean(axis=1) for v in runs[1:]]
    differences = [np.abs(a - b).max() for a, b in zip(runs, coarse)]
    assert np.log2(differences[1] / differences[2]) > least


# Conservation, and fluxes of first order where a state would not make sense.


@pytest.mark.parametrize("kernels", ["array", "fused"])
@pytest.mark.parametrize("method", [FIRST, MUSCL, WENO, dg.FiniteVolume("muscl", splitting=None, limiter="mc")],
                         ids=["first", "muscl", "weno", "unsplit"])
def test_all_is_conserved_also_where_fluxes_are_replaced(method, kernels):
    sim = simulation(GAS, method, (30, 30), initial=blast, flux=dg.hllc, until=3e-4, kernels=kernels)
    ds = sim.run()
    q = [ds[name][-1].values for name in GAS.variables]
    assert GAS.admissible(q).all()
    for name, pair in sim.report["conserved"].items():
        assert abs(pair["final"] - pair["initial"]) < 1e-13 * np.abs(ds[name][-1].values).mean() * 30, name
    if method is WENO:
        assert sim.report["first_order_faces"] > 0
    # The blast is symmetric, and so is what repairs it.
    assert np.allclose(q[0], q[0][::-1], rtol=1e-9)


def test_without_safe_a_bad_state_is_named():
    sim = simulation(GAS, dg.FiniteVolume("weno", safe=False), (30, 30), initial=blast, until=3e-4)
    with pytest.raises(dg.SolutionError, match=r"not (finite|admissible) at t = .* in cell \d+ at \(0\.\d+, 0\.\d+\)") as error:
        sim.run()
    x, y = error.value.centre
    assert (x * 30 - 0.5) % 1 == pytest.approx(0, abs=1e-9) and (y * 30 - 0.5) % 1 == pytest.approx(0, abs=1e-9)


# Ghost layers.


@pytest.mark.parametrize("method", [FIRST, MUSCL, WENO])
def test_walls_are_mirrors(method):
    """Half of a symmetric flow between walls is the whole flow's half."""
    law, half = EULER[1], 20

    def initial(x):
        return law.conservative((1 + 0.5 * np.cos(2 * np.pi * x[0]), 0 * x[0], 1 + 0.3 * np.cos(2 * np.pi * x[0])))
    both = [simulation(law, method, n, boundary, initial, until=0.3).replace(mesh=dg.Grid(0.0, end, n, boundary is None)).run()
            for n, end, boundary in ((2 * half, 1.0, None), (half, 0.5, dg.wall))]
    assert np.allclose(both[0].rho[-1][:half], both[1].rho[-1], atol=1e-12)


@pytest.mark.parametrize("method, least", [(MUSCL, 1.4), (WENO, 4.5)])
def test_prescribed_states_keep_the_order(method, least):
    def exact(x, t):
        return (np.sin(2 * np.pi * (x[0] - t)),)

    def make(method, n):
        return simulation(dg.Advection((1.0,)), method, n, dg.prescribed(exact), lambda x: exact(x, 0.0),
                          exact=exact, until=0.4)
    assert observed(method, (32, 64), make, 0.2).min() > least


def test_a_gas_leaves_through_an_outflow():
    law = EULER[1]

    def initial(x):
        return law.conservative((1 + 0.5 * (np.abs(x[0] - 0.7) < 0.1), 3.0 + 0 * x[0], 1.0 + 0 * x[0]))
    ds = simulation(law, MUSCL, 50, {"left": dg.prescribed(lambda x: law.conservative((1.0, 3.0, 1.0))), "right": dg.outflow},
                    initial, until=0.5).run()
    assert np.abs(ds.rho[-1] - 1).max() < 1e-3


# Kernels against arrays.

TRIED = [("euler", 1, "muscl", None, 64), ("euler", 2, "first-order", dg.wall, 32), ("mhd", 2, "muscl", None, 64),
         ("mhd", 2, "first-order", None, 32), ("mhd", 3, "first-order", dg.wall, 64), ("varying", 2, "quick", dg.wall, 64),
         ("burgers", 2, "weno", None, 64), ("euler", 2, "weno", dg.outflow, 64), ("euler", 3, "unsplit", None, 64),
         ("varying", 2, "weno", None, 32)]
ALL = [*TRIED, *((law, dim, method, *((None, 32), (dg.wall if law != "burgers" else dg.outflow, 64))[(i + dim) % 2])
                 for j, law in enumerate(LAWS) for dim in (1, 2, 3) for i, method in enumerate(METHODS)
                 if (i + j + dim) % 3 == 0 and (dim < 3 or method != "weno"))]          # every law, method and dimension


@pytest.mark.parametrize("law, dim, method, boundary, bits", ALL)
def test_kernels_are_the_array_expressions(law, dim, method, boundary, bits):
    made, flux = LAWS[law](dim), {"mhd": dg.hlld, "euler": dg.hllc}.get(law)
    results = []
    for kernels in ("array", "fused"):
        sim = simulation(made, METHODS[method], CELLS[dim], boundary, flux=flux, kernels=kernels, dtype=f"float{bits}",
                         source=SOURCE.get(law))
        operator, state, t, check = advanced(sim, 2)
        results.append(operator.host(state).astype(float))
        if kernels == "fused":          # the check that the last kernel has found is that of the state, bit for bit
            assert check.rate == operator.check(state, t).rate and check.sound
            assert operator.array_expressions == []
    assert np.abs(results[0] - results[1]).max() < {64: 2e-14, 32: 1e-5}[bits]


@pytest.mark.thorough
def test_threads_do_not_change_a_bit():
    sim = simulation(Burgers(2), MUSCL, (70, 200), kernels="fused")
    operator, state, *_ = advanced(sim)
    assert np.array_equal(operator.host(state), operator.host(advanced(sim.replace(threads=1))[1]))


@pytest.mark.parametrize("method", [MUSCL, WENO], ids=["muscl", "weno"])
def test_array_expressions_stay_on_the_device(method):
    """Nothing travels to the host, and a blast that needs fluxes of first order comes out as on the host."""
    sim = simulation(GAS, method, (20, 20), initial=blast, boundary={"default": dg.wall})
    backend = ArrayBackend(StrictNamespace(), "float64", "cupy")
    operator = method.operator(sim.problem, backend)
    operator.method, operator.stepper = method, method.stepper(None)
    state, t = operator.state(operator.project(blast)), 0.0
    assert isinstance(state, StrictArray)
    expected, there, *_ = advanced(sim, 2)
    for _ in range(2):
        dt = 0.9 * operator.largest_step(state, t)
        state, _ = operator.advance_checked(state, t, dt)
        t += dt
    assert np.allclose(operator.host(state), expected.host(there), rtol=1e-11)
    assert operator.operations.replaced == expected.operations.replaced


# A run with all that belongs to it.


@pytest.mark.parametrize("kernels", ["array", "fused"])
@pytest.mark.parametrize("method", [MUSCL, WENO], ids=["split", "stages"])
def test_a_restart_continues_bit_for_bit(method, kernels, tmp_path):
    sim = simulation(GAS, method, (24, 20), flux=dg.hllc, kernels=kernels, until=0.3, every=0.1)
    whole = sim.run()
    sim.run(until=0.2, out=tmp_path / "run", checkpoint_every=0.05)
    again = sim.run(out=tmp_path / "run", restart=True)
    assert np.array_equal(whole.rho[-1], again.rho[-1]) and len(again.time) == len(whole.time)


def test_values_belong_to_cells(tmp_path):
    """Averages at the cells' centres: output, sums, points, slices, images."""
    law = dg.Advection((1.0, 0.5))

    def initial(x):
        return (x[0] ** 2 + 3 * x[1],)
    sim = simulation(law, MUSCL, (8, 4), dg.outflow, initial, until=1e-9, record={"probe": dg.Points([(0.5, 0.5)])})
    ds = sim.run()
    assert ds.u.dims == ("time", "y", "x") and ds.attrs["location"] == "cell averages"
    assert np.allclose(ds.x, (np.arange(8) + 0.5) / 8) and sim.report["place"] == "cell"
    assert np.allclose(ds.u[0], (ds.x ** 2 + 1 / (12 * 64) + 3 * ds.y).T.transpose("y", "x"), atol=1e-14)
    assert ds.dg.integral("u", 0) == pytest.approx(1 / 3 + 1.5) and ds.dg.norm("u", 0) ** 2 == pytest.approx(
        float((ds.u[0] ** 2).mean()))
    assert ds.dg.error("u", lambda x, t: initial(x), 0) < 1e-14
    at = ds.dg.sample([(0.5, 0.5), (0.0, 0.0), (1.0, 0.6)], 0).u.values
    assert at[0] == pytest.approx(float(ds.u[0, 1:3, 3:5].mean())) and at[1] == ds.u[0, 0, 0]
    assert np.isnan(ds.dg.sample([(1.1, 0.5)], 0).u.values).all()
    assert np.allclose(ds.dg.slice("x=0.5", 0).u, ds.u[0, :, 3:5].mean("x"))
    assert ds.dg.slice("x=0.5").attrs["location"] == "cell averages"
    for suffix in ("vti", "vtkhdf"):
        ds.dg.to_vtk(tmp_path / f"a.{suffix}")
    assert b"<CellData>" in (tmp_path / "a.vti").read_bytes()
    assert "cell averages" in repr(ds.dg)
    centres = simulation(law, WENO, (8, 4), dg.outflow, initial, until=1e-9).run()
    assert centres.attrs["location"] == "cell centres" and np.allclose(centres.u[0], ds.u[0] - 1 / (12 * 64))


@pytest.mark.parametrize("scheme", ["muscl", "weno"])
def test_integrals_over_a_side_are_of_second_order(scheme):
    """The values of the outermost cells belong to their centres; at the side those of the line through two of them count."""
    law, errors = dg.Acoustics(2), []

    def field(x, t=0.0):
        return np.sin(2 * x[0] + x[1]), np.cos(2 * x[0] + 0.3) * x[1], np.exp(x[0])
    for cells in (10, 20):
        sim = dg.Simulation(dg.Grid((0, 0), (1, 1), cells), law, dg.FiniteVolume(scheme), dg.prescribed(field), field,
                            record={"flux": dg.BoundaryIntegral("right"), "side": dg.SurfaceFields("right")}, until=1e-9,
                            backend="numpy", kernels="array")
        ds = sim.run()
        y = (np.arange(cells) + 0.5) / cells
        errors.append([abs(ds.flux_p.values[0] - np.cos(2.3) / 2), abs(ds.flux_vx.values[0] - np.cos(2) + np.cos(3)),
                       np.abs(ds.side_p.values[0].ravel() - np.sin(2 + y)).max()])
    assert (np.log2(np.divide(*errors)) > 1.8).all() and max(errors[1]) < 4e-3


def test_divergence_and_curl_are_exact_for_lines_and_find_the_waves():
    law, n = dg.MHD(2, cleaning_speed=1.0), 32

    def initial(x):
        k = 2 * np.pi
        return law.conservative((1.0 + 0 * x[0], 0.0, 0.0, 0.0, 1.0, np.sin(k * x[1]), np.sin(2 * k * x[0]), np.cos(k * x[0])))
    ds = simulation(law, MUSCL, n, initial=initial, until=1e-9).run()
    assert float(abs(ds.dg.divergence("B", 0)).max()) < 1e-12
    curl = ds.dg.curl("B", 0)
    x, y = np.meshgrid(ds.x, ds.y)
    exact = 4 * np.pi * np.cos(4 * np.pi * x) - 2 * np.pi * np.cos(2 * np.pi * y)
    assert np.abs(curl.curl_Bz[0] - exact).max() < 0.06 * np.abs(exact).max()
    assert float(abs(curl.curl_Bx).max()) < 1e-12 and float(abs(curl.curl_By).max()) > 6
    slope = ds.dg.gradient("Bz", 0)
    assert slope.dg.variables == ("dBz_dx", "dBz_dy") and float(abs(slope.dBz_dy).max()) < 1e-12
    assert np.abs(slope.dBz_dx.values + curl.curl_By[0].values).max() < 1e-12
    with pytest.raises(ValueError, match="variable 'Ax' does not exist"):
        ds.dg.divergence("A")


def test_cleaning_bounds_the_divergence():
    """A field that is not free of divergence: with cleaning a fifth of it is left at most, and it does not grow."""
    left = []
    for speed in (0.0, 2.5):
        law = dg.MHD(2, cleaning_speed=speed)

        def initial(x, law=law):
            bump = np.exp(-80 * ((x[0] - 0.5) ** 2 + (x[1] - 0.5) ** 2))
            return law.conservative((1.0 + 0 * bump, 0.0, 0.0, 0.0, 1.0, 0.2 * bump, 0.0, 0.0))
        ds = simulation(law, MUSCL, 32, initial=initial, flux=dg.hlld, until=0.5).run()
        left.append([float((ds.dg.divergence("B", i) ** 2).mean()) ** 0.5 for i in (0, -1)])
    assert left[1][1] < 0.2 * left[0][1] and left[1][1] < 0.5 * left[1][0]


# What is not allowed.


@pytest.mark.parametrize("make, message", [
    (lambda: dg.FiniteVolume("musk"), "scheme 'musk' does not exist; allowed: first-order, muscl, weno .did you mean 'muscl'"),
    (lambda: dg.FiniteVolume(limiter="superbee"), "limiter 'superbee' does not exist; allowed: minmod, van-leer, mc"),
    (lambda: dg.FiniteVolume(splitting="lie"), "splitting 'lie' does not exist; allowed: auto, strang, None"),
    (lambda: dg.FiniteVolume("weno", splitting="strang"), "splitting is of second order"),
    (lambda: dg.FiniteVolume("weno", variables="primitive"), "which reconstructs fluxes"),
    (lambda: dg.FiniteVolume(safe=2), "safe=2 is not allowed"),
    (lambda: simulation(Burgers(1), dg.FiniteVolume(variables="characteristic"), 8), "has no characteristic variables"),
    (lambda: simulation(EULER[1], WENO, 2), "the grid has 2 cells along x; scheme='weno' needs at least 3"),
    (lambda: simulation(EULER[1], MUSCL, 8, {"left": dg.wall}), "side 'right' of the grid has no condition"),
    (lambda: simulation(EULER[1], MUSCL, 8, {"lefft": dg.wall}), "boundary 'lefft' does not exist on the grid"),
    (lambda: simulation(EULER[1], MUSCL, 8, dg.Sponge(0.1)), "is not for finite volumes"),
    (lambda: simulation(EULER[1], MUSCL, 8, dg.prescribed), "is not a condition but makes one; call it"),
    (lambda: simulation(EULER[1], MUSCL, 8, lambda q: q[:2]), "returns 2 components; it must return 3"),
    (lambda: simulation(dg.Acoustics(1, sound_speed={"a": 1.0}), MUSCL, 8), "by region, but a grid has no regions"),
    (lambda: simulation(EULER[1], MUSCL, 8, stepper="ssp33"), "which has its own step; leave it out, or give splitting=None"),
    (lambda: simulation(dg.Acoustics(1), MUSCL, 8, initial=lambda x: (1j * x[0], 0.0)).project(), "component p, is complex"),
    (lambda: dg.Simulation(dg.interval(), EULER[1], MUSCL), "FiniteVolume works on grids"),
    (lambda: simulation(EULER[1], MUSCL, 8).rhs(np.zeros((3, 8))), "it sweeps axis by axis; give splitting=None"),
])
def test_what_is_not_allowed_is_said(make, message):
    with pytest.raises(ValueError, match=message):
        make()
