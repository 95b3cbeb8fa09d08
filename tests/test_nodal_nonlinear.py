"""Nodal DG by quadrature and with a filter: what it computes, where it is stable, its kernels, its errors."""
import numpy as np
import pytest
import xarray as xr
from burgers import Burgers
from emulated import EmulatedDevice, compiler
from modal_problems import agree, gas, stage
from nodal_problems import SYSTEMS, box_of
from runs import StopAfter
from strict import StrictNamespace

import dgarray as dg
from dgarray import backends
from dgarray.backends.arrays import ArrayBackend
from dgarray.reference import simplex

WEAK = dg.ExponentialFilter(2, 4, 1)


def source_of(law):
    return lambda x, t: (np.sin(x[0] + t),) + (0.0,) * (len(law.variables) - 1)


@pytest.mark.parametrize("order", range(1, 7))
@pytest.mark.parametrize("system", SYSTEMS)
def test_quadrature_is_modal_dg_in_another_basis(system, order):
    """dq/dt of the same polynomials is the same, with sources and every boundary condition in turn."""
    law, conditions = SYSTEMS[system]()
    mesh = box_of(law.dim)
    chosen = {name: conditions[(order + i) % len(conditions)] for i, name in enumerate(mesh.boundaries)}
    nodal, modal = (method(order, quadrature=2 * order + 1).discretise(
        mesh, law, chosen, backends.get("numpy", "array"), source=source_of(law)) for method in (dg.NodalDG, dg.ModalDG))
    c = np.random.default_rng(0).standard_normal(modal.shape)
    found, expected = nodal.rhs(modal.nodal(c), 0.3), modal.nodal(modal.rhs(c, 0.3))
    assert np.abs(found - expected).max() <= 1e-12 * order * np.abs(expected).max()


@pytest.mark.parametrize("dim, order", [(1, 1), (1, 10), (2, 2), (2, 7), (3, 1), (3, 4)])
def test_quadrature_changes_nothing_where_fluxes_are_linear(dim, order):
    mesh, law = box_of(dim), dg.Acoustics(dim)
    plain, exact = (dg.NodalDG(order, quadrature=degree).discretise(mesh, law, dg.wall, backends.get("numpy", "array"))
                    for degree in (None, 2 * order))
    q = np.random.default_rng(0).standard_normal(plain.shape)
    expected = plain.rhs(q, 0.0)
    assert np.abs(exact.rhs(q, 0.0) - expected).max() <= 1e-11 * order * np.abs(expected).max()


def test_the_time_step_is_that_of_modal_dg():
    mesh, law = dg.rectangle(cells=(3, 2), perturb=0.2), dg.Euler(2)

    def initial(x):
        return law.conservative((1.0 + 0.1 * x[0], 0.3, 0.1, 1.0))
    steps = [operator.max_dt(operator.state(operator.project(initial)), 0.0, dg.stepping.STEPPERS["rk4"]) for operator in (
        method(3, quadrature=7).discretise(mesh, law, dg.wall, backends.get("numpy", "array"))
        for method in (dg.NodalDG, dg.ModalDG))]
    assert steps[0] == pytest.approx(steps[1], rel=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("dim, order, dtype", [(1, 9, "float32"), (2, 2, "float64"), (3, 1, "float32")])
def test_fused_kernels(dim, order, dtype):
    """A stage with each kind of kernels, in one dimension also the largest rate and what is admissible."""
    found = []
    for operator, q in gas(dim, order, dtype, dg.rusanov, method=lambda order: dg.NodalDG(order, quadrature=3 * order)):
        results, state = [*stage(operator, q, 0 * q)], operator.state(q)
        if dim == 1:
            assert operator.check(state, 0.0).sound
            results.append(np.array(operator.operations.rate(state, 0.0, 1.0)))
        found.append(results)
    for reference, fused in zip(*found):
        agree(fused, reference, order, dtype, 100)


@pytest.mark.parametrize("dim, order, dtype", [(1, 10, "float64"), (2, 3, "float32"), (3, 2, "float64")])
def test_filter_of_the_fused_kernels(dim, order, dtype):
    found = []
    for operator, q in gas(dim, order, dtype, dg.rusanov, method=lambda order: dg.NodalDG(order, filter=WEAK)):
        state = operator.state(q)
        operator.operations.filter(state)
        found.append(operator.host(state))
    agree(found[1], found[0], order, dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("options", [{"quadrature": 7}, {"filter": WEAK}])
def test_on_strict_arrays(options, dtype):
    mesh, law = dg.rectangle(cells=(3, 2)), dg.Euler(2)
    plain = dg.NodalDG(3, **options).discretise(mesh, law, dg.wall, backends.get("numpy", "array", dtype))
    strict = plain.on(ArrayBackend(StrictNamespace(), dtype, "strict"))
    q = plain.project(lambda x: law.conservative((1 + 0.2 * np.sin(3 * x[0]), 0.1, 0.2, 1.0)))
    results = []
    for operator in (plain, strict):
        out = [operator.host(operator.rhs(operator.state(q), 0.0))]
        state = operator.state(q)
        if "filter" in options:
            operator.operations.filter(state)
        results.append([*out, operator.host(state)])
    assert all(np.array_equal(*pair) and pair[0].dtype == dtype for pair in zip(*results))


@pytest.mark.skipif(compiler() is None, reason="there is no C++ compiler to run CUDA C on the CPU")
def test_filter_of_the_fused_kernels_of_a_gpu(monkeypatch):
    """A run on the emulated device, where a step is one graph, is the run on the CPU."""
    device = EmulatedDevice()
    monkeypatch.setattr(backends, "gpu_problem", lambda kernels=None: None)
    monkeypatch.setattr("dgarray.backends.cuda.device.Device", lambda: device)
    method = dg.NodalDG(2, filter=dg.ExponentialFilter(0.5, 2))
    found, expected = (dg.Simulation(
        dg.rectangle(cells=(3, 2)), dg.Acoustics(2), method, boundary=dg.wall, until=0.1, backend=backend,
        initial=lambda x: (np.sin(3 * x[0]), 0.0, x[1])).run().p[-1] for backend in ("cupy", "numpy"))
    assert np.abs(found - expected).max() <= 1e-13


@pytest.mark.parametrize("dim, order", [(1, 6), (2, 5), (3, 3)])
def test_filter_of_every_degree(dim, order):
    """Each orthonormal polynomial is multiplied by sigma of its degree; up to the cutoff nothing changes."""
    cell, chosen = simplex(dim, order), dg.ExponentialFilter(3.0, 4, 1)
    degrees = np.array([sum(mode) for mode in cell.basis.mode_ids])
    sigma = [1.0 if k <= 1 else np.exp(-3.0 * ((k - 1) / (order - 1)) ** 4) for k in degrees]
    assert np.abs(chosen.matrix(cell) @ cell.vandermonde - cell.vandermonde * sigma).max() <= 1e-12


def inviscid(method, **options):
    """Burgers' equation on four intervals, far past the time at which a shock forms."""
    return dg.Simulation(dg.interval(0, 1, 4, periodic=True), Burgers(), method, flux=dg.rusanov, backend="numpy",
                         kernels="array", threads=1, initial=lambda x: (np.sin(2 * np.pi * x[0]),), until=1.0,
                         **{"cfl": 0.5} | options)


def test_aliasing_that_quadrature_and_filter_cure():
    """The shock's interpolated flux feeds energy in until the run ends; by exact integrals energy cannot grow."""
    with pytest.raises(dg.SolutionError):
        inviscid(dg.NodalDG(4)).run()
    for method in (dg.NodalDG(4, quadrature=12), dg.NodalDG(4, filter=dg.ExponentialFilter(36, 4))):
        sim = inviscid(method)
        ds = sim.run(every=0.1)
        norms = [ds.dg.norm("u", time) for time in range(11)]
        assert np.all(np.diff(norms) <= 1e-12) and norms[-1] < 0.5 * norms[0]
        assert abs(sim.report["conserved"]["u"]["final"]) <= 1e-14


@pytest.mark.parametrize("method, stepper, cfl", [
    (dg.NodalDG(4, quadrature=12), "lsrk54", 0.9), (dg.NodalDG(4, quadrature=12), "rk4", 0.9), (dg.ModalDG(4), "lsrk54", 0.9),
    (dg.ModalDG(4), "rk4", 1.0), (dg.ModalDG(6), "rk4", 1.0)])
def test_the_step_where_a_shock_stands_inside_an_element(method, stepper, cfl):
    """The fastest wave is then inside: with steps by the speeds at each face alone these runs end early, and at order 6 also
    with steps by the largest at all faces."""
    sim = inviscid(method, stepper=stepper, cfl=cfl)
    ds = sim.run(every=0.2)
    norms = [ds.dg.norm("u", time) for time in range(6)]
    assert np.all(np.diff(norms) <= 1e-12) and norms[-1] < 0.5 * norms[0] and sim.report["time"] == 1.0


@pytest.mark.parametrize("options, lost", [({"quadrature": 9}, 0), ({"filter": dg.ExponentialFilter(0.01)}, 0.2),
                                           ({"filter": dg.ExponentialFilter(36, 32)}, 1)])
def test_order_of_a_smooth_solution(options, lost):
    """A wave of density that a gas carries along; a filter that takes all of the highest degree takes an order."""
    law = dg.Euler(1)

    def exact(x, t):
        return law.conservative((1 + 0.2 * np.sin(2 * np.pi * (x[0] - t)), 1.0 + 0 * x[0], 1.0 + 0 * x[0]))
    errors = []
    for cells in (8, 16):
        sim = dg.Simulation(dg.interval(0, 1, cells, periodic=True), law, dg.NodalDG(3, **options), exact=exact, flux=dg.hllc,
                            initial=lambda x: exact(x, 0.0), until=0.3, backend="numpy", kernels="array", cfl=0.5)
        sim.run()
        errors.append(sim.report["l2_error"]["total"])
    assert 3.8 - lost < np.log2(errors[0] / errors[1]) < 4.3 - lost * 0.9


@pytest.mark.parametrize("method", [dg.NodalDG(3, quadrature=9), dg.NodalDG(3, filter=dg.ExponentialFilter(1, 4))])
def test_restart_is_bitwise(method, tmp_path):
    whole = inviscid(method).run(until=0.3, every=0.1)
    with pytest.raises(dg.Interrupted):
        inviscid(method).run(until=0.3, every=0.1, out=tmp_path / "a.zarr", progress=StopAfter(7))
    rest = inviscid(method).run(until=0.3, every=0.1, out=tmp_path / "a.zarr", restart=True)
    xr.testing.assert_identical(rest.load().drop_attrs(deep=False), whole.load().drop_attrs(deep=False))


@pytest.mark.parametrize("options, message", [
    ({"quadrature": 5}, "quadrature=5 is not allowed for NodalDG; at order 3 it must be None or a whole number from 6 to 50"),
    ({"quadrature": 51}, "from 6 to 50"), ({"quadrature": 6.5}, "whole number"),
    ({"filter": 36}, "filter=36 is not allowed for NodalDG; give None or dgarray.ExponentialFilter()"),
    ({"filter": dg.ExponentialFilter(cutoff=3)}, "changes nothing at order 3; its cutoff must be below the order")])
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(")", r"\)")):
        dg.NodalDG(3, **options)


@pytest.mark.parametrize("options, message", [
    ({"strength": 0}, "strength=0 is not allowed"), ({"strength": "x"}, "positive number"),
    ({"order": 0}, "whole number from 1"), ({"cutoff": -1}, "whole number from 0")])
def test_bad_filters(options, message):
    with pytest.raises(ValueError, match=message):
        dg.ExponentialFilter(**options)


def test_what_a_method_shows():
    assert repr(dg.NodalDG(3)) == "NodalDG(order=3, start='projection')"
    assert repr(dg.NodalDG(2, quadrature=6, filter=dg.ExponentialFilter())) == (
        "NodalDG(order=2, start='projection', quadrature=6, filter=ExponentialFilter(strength=36.0, order=16, cutoff=0))")
