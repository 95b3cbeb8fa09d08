"""What the base classes of methods and operators offer: defaults, and clear errors for what is missing. (docs/own-method.md
has a whole method, which tests/test_docs.py runs.)"""
from dataclasses import dataclass

import numpy as np
import pytest

import dgarray as dg

LAW = dg.Advection((1.0, 0.5))


class Shift(dg.GridOperator):
    """Upwind differences of advection on a periodic grid."""

    def largest_step(self, state, t):
        return 1 / sum(abs(c) / h for c, h in zip((1.0, 0.5), self.grid.spacing))

    def advance(self, state, t, dt):
        u, (hx, hy) = state["u"], self.grid.spacing
        u -= dt * (1.0 / hx * (u - np.roll(u, 1, axis=1)) + 0.5 / hy * (u - np.roll(u, 1, axis=0)))
        return state


@dataclass(frozen=True)
class Upwind(dg.Method):
    kind: type = Shift

    def check(self, problem):
        problem.needs(self, mesh=dg.Grid, law=dg.Advection, conditions=())

    def operator(self, problem, backend):
        return self.kind(problem, backend)


def wave(x, t=0.0):
    return np.sin(2 * np.pi * (x[0] - t)) * np.cos(2 * np.pi * (x[1] - 0.5 * t)),


def simulation(kind=Shift, grid=None, **options):
    grid = grid or dg.Grid((0, 0), (1, 1), (16, 12), True)
    return dg.Simulation(grid, LAW, Upwind(kind), initial=wave, exact=wave, **{"backend": "numpy", "until": 0.2} | options)


def test_a_run_with_every_recorder(tmp_path):
    """The totals stay, recorders at nodes and between them see the values, a restart is bit for bit."""
    records = {"p": dg.Points([(0.25, 0.5), (0.28, 0.5)]), "e": dg.Extrema(), "v": dg.VolumeIntegral(),
               "f": dg.Fourier((1.0,)), "s": dg.VolumeIntegral(lambda q: q[0] ** 2)}
    sim = simulation(record=records, every=0.05)
    ds = sim.run(out=tmp_path / "whole.zarr")
    assert sim.report["method"].startswith("Upwind(") and sim.report["rhs_evaluations"] == sim.report["steps"]
    assert abs(sim.report["conserved"]["u"]["final"]) < 1e-15 and sim.report["l2_error"]["total"] < 0.2
    u = ds.u[0]
    node, right = float(u.sel(x=0.25, y=0.5)), float(u.sel(x=0.3125, y=0.5))
    assert np.allclose(ds.p_u[0], [node, node + (0.28 - 0.25) * 16 * (right - node)], atol=1e-14)
    assert ds.e_u_max[0] == u.max() and np.allclose(ds.s_integral[0], 0.25)
    simulation(record=records, every=0.05, until=0.1).run(out=tmp_path / "cut.zarr")
    again = simulation(record=records, every=0.05).run(out=tmp_path / "cut.zarr", restart=True)
    assert np.array_equal(ds.u[-1], again.u[-1])


def test_states_are_dicts():
    sim = simulation()
    q = sim.project()
    assert list(q) == ["u"] and q["u"].shape == (12, 16) and 0 < sim.max_dt(q) < 1
    assert np.array_equal(sim.dataset(q).u[0], q["u"])
    for wrong, words in (({"v": q["u"]}, "the state is v; it must be a dict of the arrays u"),
                         (q["u"], "the state is ndarray; it must be a dict"),
                         ({"u": q["u"][1:]}, r"u of the state has the shape \(11, 16\); it must be \(12, 16\)")):
        with pytest.raises(ValueError, match=words):
            sim.dataset(wrong)
    with pytest.raises(ValueError, match="has no right-hand side"):
        sim.rhs(q)
    with pytest.raises(ValueError, match="has no right-hand side"):
        sim.linear_operator()
    for state in sim.steps(until=0.05):
        state.q = {"u": 2 * state.q["u"]}
    assert np.abs(state.q["u"]).max() > 1


def test_the_run_stops_where_the_state_goes_bad():
    class Bad(Shift):
        def advance(self, state, t, dt):
            state = super().advance(state, t, dt)
            if t > 0.1:
                state["u"][3, 5] = np.nan
            return state
    with pytest.raises(dg.SolutionError, match=r"u is not finite at .* in node 53 at \(0.3125, 0.25\)") as caught:
        simulation(Bad).run()
    assert caught.value.variable == "u" and caught.value.time > 0.1


@pytest.mark.parametrize("missing", ["largest_step", "advance"])
def test_what_is_missing_is_named(missing):
    there = {name: getattr(Shift, name) for name in ("largest_step", "advance") if name != missing}
    kind = type("Half", (dg.GridOperator,), there)
    with pytest.raises(TypeError, match=f"Half has no function {missing}"):
        simulation(kind).run()
    with pytest.raises(TypeError, match="Method has no function operator"):
        dg.Simulation(dg.Grid((0, 0), (1, 1), 4, True), LAW, dg.Method(), initial=wave, backend="numpy").run(until=0.1)


@pytest.mark.parametrize("change, words", [
    (dict(mesh=dg.rectangle()), "Upwind works on a Grid, not on <Mesh"),
    (dict(law=dg.Acoustics(2)), r"Upwind solves the law Advection, not Acoustics"),
    (dict(mesh=dg.Grid(0, 1, 8, True)), "the grid has dimension 1, but the law has 2"),
    (dict(mesh=dg.Grid((0, 0), (1, 1), 8), boundary=dg.outflow), "boundary 'left': outflow is not allowed for Upwind"),
    (dict(flux=dg.upwind), "flux=upwind is not allowed for Upwind"), (dict(stepper="rk4"), "stepper='rk4' is not allowed"),
    (dict(method=Upwind), "method=.* is not allowed; give a method")])
def test_problems_that_do_not_fit(change, words):
    with pytest.raises(ValueError, match=words):
        simulation().replace(**change)


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("shift", [(0, 0.5), (0.5, 0), (0.5, 0.5)])
def test_values_between_nodes_are_seen_at_nodes_to_second_order(periodic, shift):
    """Linear functions exactly; a wave with an error that falls to a quarter."""
    errors = []
    for cells in (16, 32):
        grid = dg.Grid((0, 0), (1, 1), cells, periodic)
        x, nodes = grid.staggered(shift), grid.places()
        if not periodic:
            assert np.allclose(grid.at_nodes(2 * x[0] - x[1], shift), 2 * nodes[0] - nodes[1])
        found, wanted = grid.at_nodes(wave(x)[0], shift), wave(nodes)[0]
        assert found.shape == wanted.shape
        errors.append(np.abs(found - wanted).max())
    assert 3.4 < errors[0] / errors[1] < 4.6
    with pytest.raises(ValueError, match="shift=.* is not allowed"):
        grid.staggered((0.25, 0))
