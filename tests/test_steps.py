"""Whole steps of the fused kernels on a CPU: the stages handed out at once, and what the last one sees of the new state."""
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from dgarray.backends.cpu import nodal
from dgarray.backends.cpu.turns import Turns
from dgarray.backends.workers import Workers
from meshes import anywhere

import dgarray as dg
from dgarray import backends, stepping
from dgarray.methods.nodal_dg import NodalOperator
from dgarray.run.time_loop import TimeLoop

LAW = dg.Euler(2)


def gas(x):
    rho = 1 + 0.2 * np.sin(9 * x[0] + 5 * x[1])
    return LAW.conservative((rho, 0.5 + 0 * rho, -0.2 + 0 * rho, 1 + 0.2 * np.cos(7 * x[0])))


def heated(q, x, t):
    return 0 * q[0], 0 * q[0], 0 * q[0], np.sin(4 * x[0] + t) * q[0]


def arrays(operator, stepper, q):
    count, with_k = stepping.registers(stepper)
    return [operator.state(q), *(operator.zeros() for _ in range(count - 1))], operator.zeros() if with_k else None


CASES = {
    "edges": (dg.ModalDG(1), "float64", "rk4", heated),
    "limited": (dg.ModalDG(1, limiter="barth-jespersen"), "float64", "ssp33", None),
    "limited and positive": (dg.ModalDG(1, limiter="vertex", positivity=True), "float32", "ssp22", None),
    "positive": (dg.ModalDG(2, positivity=True), "float64", "ssp54", heated),
    "nodal": (dg.NodalDG(2), "float32", "lsrk54", heated),
}


@pytest.mark.usually(lambda name: name in ("limited and positive", "nodal"))
@pytest.mark.parametrize("name", CASES)
def test_the_last_stage_sees_the_new_state(name, monkeypatch):
    """Bit for bit the states of one stage after the other, and the rate of a look at the state that comes out, for any number
    of threads, whether it is looked at piece by piece or at the end; and the reference's rate of it."""
    method, dtype, stepper, source = CASES[name]
    mesh, stepper = anywhere(dg.rectangle(cells=(36, 40), perturb=0.2)), stepping.STEPPERS[stepper]
    operators = [method.discretise(mesh, LAW, dg.outflow, backends.get("numpy", kernels, dtype, threads), dg.rusanov, source)
                 for kernels, threads in (("fused", 1), ("fused", None), ("array", None))]
    reference, results = operators.pop(), []
    q = reference.project(gas)
    if method.limiting.positivity:          # which averages are and the points are not
        q[3, 1, ::5] = q[3, 0, ::5]
        assert not reference.sound(reference.state(q), 0.0)
        reference.operations.limit(q)
    dt = 0.5 * reference.max_dt(reference.state(q), 0.0, stepper)
    for near, operator in product((0, nodal.NEAR), operators):
        monkeypatch.setattr(nodal, "NEAR", near)
        assert operator.operations.turns.count > 2
        states, k = arrays(operator, stepper, q)
        for number in range(3):
            states, seen = stepping.step_and_look(operator, stepper, states, k, number * dt, dt)
        results.append((operator.host(states[0]), seen))
    states, k = arrays(operator, stepper, q)
    for number in range(3):
        *_, new = stepping.stages(operator, stepper, states, k, number * dt, dt)
        states = [new] + [state for state in states if state is not new]
    expected = operator.host(states[0])
    assert not np.array_equal(expected, q)
    for found, seen in results:
        assert np.isfinite(found).all() and np.array_equal(found, expected)
        assert seen == operator.operations.look(states[0], 0.0, seen.exponent) and seen.sound
        assert operator.max_dt(states[0], 0.0, stepper, seen) == operator.max_dt(states[0], 0.0, stepper)
        assert abs(reference.operations.rate(reference.state(found), 0.0, seen.exponent) - seen.rate) < (
            40 * np.finfo(dtype).eps * seen.rate)


def operator_of(method=None, law=LAW):
    mesh, method = dg.rectangle(cells=12, periodic=True), method or dg.NodalDG(1)
    return method.discretise(mesh, law, None, backends.get("numpy", "fused", threads=1), dg.rusanov)


def loop_of(operator, **options):
    sim = SimpleNamespace(stepper=stepping.RK4, options={"dt": None, "cfl": 0.5, "steady": None} | options)
    loop = TimeLoop(sim, operator)
    loop.start(operator.project(lambda x: LAW.conservative((1 + 0.3 * np.sin(6.2832 * x[0]), 0.4, 0.1, 1.0))))
    return loop


def test_steps_are_those_of_the_state(monkeypatch):
    """What the last stage has seen is taken for the next step; and not when the state is another one."""
    operator = operator_of()
    looks, look = [], nodal.NodalFused.look
    monkeypatch.setattr(nodal.NodalFused, "look", lambda self, *given: looks.append(given) or look(self, *given))
    loop = loop_of(operator)

    def true_step(cfl=0.5):
        return cfl * operator.max_dt(loop.states[0], loop.t, stepping.RK4)
    for _ in range(3):
        loop.advance(1.0)
        before = len(looks)
        largest = loop.largest_step()
        loop.look()
        assert len(looks) == before and largest == true_step()
    loop.options = loop.options | {"cfl": 0.3}
    assert loop.largest_step() == true_step(0.3)
    seen, faster = loop.check, operator.host(loop.states[0])
    faster[3] *= 2
    loop.set(faster)
    assert loop.check is None and loop.largest_step() == true_step(0.3) < 0.95 * 0.3 * operator.max_dt(
        None, 0.0, stepping.RK4, seen)
    loop.advance(1.0)
    assert loop.check is not None
    loop.from_copy()
    assert loop.check is None and loop.largest_step() == true_step(0.3)
    assert operator.max_dt(loop.states[0], 0.0, stepping.RK4, seen._replace(exponent=3.3)) == true_step(1.0)
    assert not loop_of(operator, dt=1e-3).check


def test_who_does_not_look():
    """A filter after the last stage, speeds that change in time or are always the same; and a run with steps of its own."""
    class Later(dg.Euler):
        def wave_speed(self, q, n, t):
            return (1 + t) * super().wave_speed(q, n)
    assert hasattr(operator_of(), "step_and_look")
    for operator in (operator_of(dg.NodalDG(1, filter=dg.ExponentialFilter())), operator_of(law=Later(2)),
                     operator_of(law=dg.Advection((1.0, 0.5)))):
        assert not hasattr(operator, "step_and_look")
        assert stepping.step_and_look(operator, stepping.RK4, *arrays(operator, stepping.RK4, np.ones(operator.shape)), 0.0,
                                      1e-4)[1] is None
    loop = loop_of(operator_of(), dt=1e-3)
    loop.advance(1.0)
    assert loop.check is None


@pytest.mark.parametrize("method, pressure", [(dg.ModalDG(1), 0.01), (dg.ModalDG(1, limiter="barth-jespersen"), 0.4)])
def test_runs_are_the_same_without_looking(method, pressure, monkeypatch):
    """Their steps, their states, or the words with which they fail."""
    def run():
        sim = dg.Simulation(dg.rectangle(cells=20), LAW, method, dg.outflow, flux=dg.rusanov, stepper="ssp33",
                            initial=lambda x: LAW.conservative((np.where(x[0] < 0.5, 1.0, 0.2), 0.0, 0.0,
                                                                np.where(x[0] < 0.5, 1.0, pressure))))
        try:
            ds = sim.run(until=0.05, every=0.01)
            return None, ds.rho.values, sim.report["steps"], sim.report["dt"]
        except dg.SolutionError as error:
            return str(error), error.dataset.rho.values, error.step, error.element
    looked = run()
    monkeypatch.setattr(NodalOperator, "_may_look", lambda self: False)
    assert all(np.array_equal(one, other) for one, other in zip(looked, run()))
    assert "not admissible" in looked[0] if pressure < 0.1 else looked[0] is None


def test_units_need_all_around_them():
    mesh = anywhere(dg.rectangle(cells=(9, 7)))
    turns = Turns(Workers(1), mesh, 8, 16, 3)
    unit = np.arange(len(mesh.cells)) // 24
    for number in range(turns.count):
        wanted = {number, *unit[mesh.neighbour_cell[unit == number]].ravel().tolist()}
        assert set(turns.needs[turns.start[number]:turns.start[number + 1]].tolist()) == wanted


def test_nobody_waits_for_a_unit_that_failed():
    turns = Turns(Workers(None), dg.rectangle(cells=(6, 6)), 8, 9, 3)

    def kernel(number, once, todo, stage, ended, *rest):
        if number < 0:
            number, todo[stage] = int(todo[stage]), todo[stage] + 1
        if number >= turns.count:
            return -1, True
        if stage == 0 and number == 1:
            raise KeyError("a unit")
        if ended[1] < stage:
            return number, False
        ended[number] = stage + 1
        return -1 if number < 0 else number, True
    with pytest.raises(KeyError, match="a unit"):
        turns.run([(kernel, ()), (kernel, ())], [()] * turns.workers.threads, lambda *given: None)
