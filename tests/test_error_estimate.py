"""The errors in time and in space that a report estimates, against those measured."""
import numpy as np
import pytest

import dgarray as dg
from dgarray import cases
from dgarray.output.report import summary


@pytest.mark.parametrize("order, cells, dominates", [(3, 8, False), (8, 4, True)])
def test_estimates_are_the_errors_measured(order, cells, dominates):
    """The TM cavity: the error in space is that with small steps, what comes on top with cfl 0.9 that in time."""
    reports = {}
    for cfl in (0.9, 0.2):
        sim = cases.tm_cavity(order=order, cells=cells).replace(backend="numpy", kernels="array", cfl=cfl)
        sim.run(until=1.0)
        reports[cfl] = sim.report
    coarse, fine = (reports[cfl]["l2_error"]["total"] for cfl in (0.9, 0.2))
    estimate = reports[0.9]["error_estimate"]
    assert fine / 2 < estimate["space"] < 2 * fine
    if dominates:
        assert estimate["time"] == pytest.approx(np.sqrt(coarse ** 2 - fine ** 2), rel=0.15)
    assert ("the error in time" in summary(reports[0.9])) == dominates
    assert "the error in time" not in summary(reports[0.2])


def test_the_estimate_sees_a_nonlinear_flow_and_modal_dg():
    """With the third-order stepper at order 5 the isentropic vortex is wrong in time, with short steps in space."""
    found = []
    for dt in (0.01, 0.001):
        sim = cases.isentropic_vortex(order=5, cells=12, until=0.2).replace(backend="numpy", kernels="array", stepper="ssp33",
                                                                         dt=dt, cfl=0.9)
        sim.run()
        found.append(sim.report["error_estimate"])
    assert found[0]["time"] == pytest.approx(1000 * found[1]["time"], rel=0.2)
    assert found[0]["space"] == pytest.approx(found[1]["space"], rel=0.2)


def test_zones_add_up():
    """A mode in zones of the orders 6 and 7: the errors of both kinds, as measured."""
    w = np.sqrt(2) * np.pi

    def exact(x, t=0.0):
        (sx, sy), (cx, cy) = (f(np.pi * np.array(x)) for f in (np.sin, np.cos))
        return -sx * cy * np.sin(w * t) / np.sqrt(2), cx * sy * np.sin(w * t) / np.sqrt(2), sx * sy * np.cos(w * t)
    mesh = dg.rectangle(cells=6, shape="quadrilateral").with_regions({"a": lambda x: x[0] < 0.5, "b": lambda x: x[0] >= 0.5})
    sim = dg.Simulation(mesh, dg.Maxwell(dim=2), dg.TensorDG({"a": 6, "b": 7}), dg.pec, exact, exact=exact, backend="numpy",
                        kernels="array")
    errors, estimates = [], []
    for cfl in (0.9, 0.2):
        run = sim.replace(cfl=cfl)
        run.run(until=0.5)
        errors.append(run.report["l2_error"]["total"])
        estimates.append(run.report["error_estimate"])
    assert estimates[0]["time"] == pytest.approx(np.sqrt(errors[0]**2 - errors[1]**2), rel=0.15)
    assert estimates[1]["time"] is None
    assert all(errors[1] / 2 < estimate["space"] < 2 * errors[1] for estimate in estimates)


@pytest.mark.parametrize("mesh, method", [
    (dg.rectangle(cells=2, periodic=True), dg.NodalDG(1)),
    (dg.Grid((0, 0), (1, 1), (8, 8), periodic=True), dg.Hermite(1))], ids=["order 1", "Hermite"])
def test_there_is_no_estimate_where_there_is_nothing_to_tell(mesh, method):
    sim = dg.Simulation(mesh, dg.Advection((1.0, 0.5)), method, initial=lambda x: (np.sin(x[0]),), backend="numpy",
                        kernels="array")
    sim.run(until=0.05)
    assert sim.report["error_estimate"] is None
    assert "the error in time" not in summary(sim.report)


GAS = dg.Euler(2)


@pytest.mark.parametrize("mesh, method", [
    (dg.rectangle(cells=4), dg.ModalDG(2, limiter="vertex")), (dg.rectangle(cells=4), dg.ModalDG(2, positivity=True)),
    (dg.rectangle(cells=4, shape="quadrilateral"),
     dg.TensorDG(2, "lobatto", volume_flux=dg.ranocha, shock_capturing=0.5, positivity=True))])
def test_there_is_no_estimate_where_a_step_makes_choices(mesh, method):
    """A shock tube: a smaller cfl would not make it more accurate, and the line that says so is not there."""
    def tube(x):
        left = x[0] < 0.5
        return GAS.conservative((np.where(left, 1.0, 0.5), 0 * x[0], 0 * x[0], np.where(left, 1.0, 0.4)))
    sim = dg.Simulation(mesh, GAS, method, dg.wall, tube, backend="numpy", kernels="array")
    sim.run(until=0.02)
    assert sim.report["error_estimate"] is None and "the error in time" not in summary(sim.report)


@pytest.mark.parametrize("dtype, initial", [("float32", lambda x: 1 + 1e-9 * x), ("float64", lambda x: 0 * x)])
def test_rounding_is_no_error_in_time(dtype, initial):
    mesh = dg.rectangle(cells=2, periodic=True)
    sim = dg.Simulation(mesh, dg.Advection((1.0, 0.5)), dg.NodalDG(4), initial=lambda x: (initial(x[0]),), backend="numpy",
                        kernels="array", dtype=dtype)
    sim.run(until=0.05)
    assert sim.report["error_estimate"]["time"] is None and sim.report["error_estimate"]["space"] < 1e-5
    assert "the error in time" not in summary(sim.report)
