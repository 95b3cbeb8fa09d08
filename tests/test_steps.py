"""Whole steps of the fused kernels on a CPU: all stages at once, the check of the new state, the loops that threads share."""
from types import SimpleNamespace

import numpy as np
import pytest
from meshes import anywhere

import dgarray as dg
from dgarray import backends, stepping
from dgarray.backends.cpu.dg import fused as nodal
from dgarray.backends.cpu.threaded_loops import Loop, loop_text, run_loops
from dgarray.backends.workers import Workers
from dgarray.methods.dg.operator import DGOperator
from dgarray.methods.dg.step_limits import limit
from dgarray.run.time_loop import TimeLoop
from dgarray.support.cached_modules import write_module

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


@pytest.mark.parametrize("name", CASES)
def test_a_step_checks_the_new_state(name):
    """Bit for bit the states of one stage after the other, and the check of the state that comes out, for any number of
    threads; and the reference's rate of it."""
    method, dtype, stepper, source = CASES[name]
    mesh, stepper = anywhere(dg.rectangle(cells=(36, 40), perturb=0.2)), stepping.STEPPERS[stepper]
    operators = [method.discretise(mesh, LAW, dg.outflow, backends.get("numpy", kernels, dtype, threads), dg.rusanov, source)
                 for kernels, threads in (("fused", 1), ("fused", None), ("array", None))]
    reference, results = operators.pop(), []
    q = reference.project(gas)
    if method.limiting.positivity:          # which averages are and the points are not
        q[3, 1, ::5] = q[3, 0, ::5]
        assert not reference.check(reference.state(q), 0.0).sound
        reference.operations.limit(q)
    dt = 0.5 * reference.max_dt(reference.state(q), 0.0, stepper)
    for operator in operators:
        assert operator.operations.tiles > 2 * operator.operations.piece
        states, k = arrays(operator, stepper, q)
        for number in range(3):
            states, seen = operator.operations.step(stepper, states, k, number * dt, dt, limit(operator.tables, stepper)[1])
        results.append((operator.host(states[0]), seen))
    states, k = arrays(operator, stepper, q)
    for number in range(3):
        *_, new = stepping.stages(operator, stepper, states, k, number * dt, dt)
        states = [new] + [state for state in states if state is not new]
    expected = operator.host(states[0])
    assert not np.array_equal(expected, q)
    for found, seen in results:
        assert np.isfinite(found).all() and np.array_equal(found, expected)
        assert seen == operator.operations.check(states[0], 0.0, seen.exponent) and seen.sound
        operator.stepper = stepper
        new, check = operator.advance_checked(operator.state(q), 0.0, dt)
        assert check.sound and operator.largest_step(new, dt, check) == operator.max_dt(new, dt, stepper)
        assert abs(reference.operations.rate(reference.state(found), 0.0, seen.exponent) - seen.rate) < (
            40 * np.finfo(dtype).eps * seen.rate)


def operator_of(method=None, law=LAW):
    mesh, method = dg.rectangle(cells=12, periodic=True), method or dg.NodalDG(1)
    return method.discretise(mesh, law, None, backends.get("numpy", "fused", threads=1), dg.rusanov)


def loop_of(operator, **options):
    operator.stepper = stepping.RK4
    options = {"dt": None, "cfl": 0.5, "steady": None} | options
    sim = SimpleNamespace(stepper=stepping.RK4, lengths=None, start=None, options=options)
    loop = TimeLoop(sim, operator)
    loop.start(operator.project(lambda x: LAW.conservative((1 + 0.3 * np.sin(6.2832 * x[0]), 0.4, 0.1, 1.0))))
    return loop


@pytest.mark.thorough
def test_steps_are_those_of_the_state(monkeypatch):
    """The check of a new state is taken for the next step; and not when the state is another one."""
    operator = operator_of()
    checks, check = [], nodal.NodalFused.check
    monkeypatch.setattr(nodal.NodalFused, "check", lambda self, *given: checks.append(given) or check(self, *given))
    loop = loop_of(operator)

    def true_step(cfl=0.5):
        return cfl * operator.max_dt(loop.state, loop.t, stepping.RK4)
    for _ in range(3):
        loop.advance(1.0)
        before = len(checks)
        largest = loop.largest_step()
        loop.check_state()
        assert len(checks) == before and largest == true_step()
    loop.options = loop.options | {"cfl": 0.3}
    assert loop.largest_step() == true_step(0.3)
    seen, faster = loop.check, operator.host(loop.state)
    faster[3] *= 2
    loop.set(faster)
    assert loop.check is None and loop.largest_step() == true_step(0.3) < 0.95 * 0.3 * operator.largest_step(
        None, 0.0, seen)
    loop.advance(1.0)
    assert loop.check is not None
    loop.from_copy()
    assert loop.check is None and loop.largest_step() == true_step(0.3)
    assert operator.largest_step(loop.state, 0.0, seen._replace(rate=None)) == true_step(1.0)
    assert not loop_of(operator, dt=1e-3).check


@pytest.mark.thorough
def test_who_does_not_look():
    """At anything, with a filter after the last stage; at rates, where speeds change in time or are always the same."""
    class Later(dg.Euler):
        def wave_speed(self, q, n, t):
            return (1 + t) * super().wave_speed(q, n)
    filtered = operator_of(dg.NodalDG(1, filter=dg.ExponentialFilter()))
    assert filtered.advance_checked(filtered.state(np.ones(filtered.shape)), 0.0, 1e-4)[1] is None
    for operator in (operator_of(law=Later(2)), operator_of(law=dg.Advection((1.0, 0.5)))):
        q, good = np.ones(operator.shape), operator.shape[0] == 1          # a gas needs more energy
        checks = [operator.advance_checked(operator.state(q * factor), 0.0, 1e-4)[1] for factor in (1, np.nan)]
        assert [check.sound for check in checks] == [good, False] and checks[0].rate is None
    operator = operator_of()
    assert operator.advance_checked(operator.state(operator.project(gas)), 0.0, 1e-4)[1].sound


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
    monkeypatch.setattr(DGOperator, "check_on_the_way", None)
    assert all(np.array_equal(one, other) for one, other in zip(looked, run()))
    assert "not admissible" in looked[0] if pressure < 0.1 else looked[0] is None


LOOP = """from numba import njit

from dgarray.backends.cpu.loop_arguments import unpacked


@njit(nogil=True, _nrt=False)""" + loop_text("scratch, source, target", ["for i in range(first, last):",
                                                             "    target[i] = source[len(source) - 1 - i] + 1"])


ARGUMENTS = """from numba import njit

from dgarray.backends.cpu.loop_arguments import unpacked


@njit(nogil=True, _nrt=False)""" + loop_text("own, result, pair, flag, other, single, real, number, matrix", [
    "result[piece, 0], result[piece, 1] = own[0], pair[0][1]", "result[piece, 2], result[piece, 3] = pair[1], flag",
    "result[piece, 4], result[piece, 5] = other, single", "result[piece, 6], result[piece, 7] = real, number",
    "result[piece, 8], result[piece, 9] = matrix[1, 2], last - first"])


def test_loops_find_what_they_work_on():
    matrix, result = np.arange(12.0).reshape(3, 4).T, np.zeros((2, 10))
    arguments = result, (np.array([4, 5], np.int32), 6), True, np.False_, np.float32(0.1), 0.1, -7, matrix
    run = write_module(ARGUMENTS, "arguments").run
    run_loops([Loop(run, 3, 5, [(np.array([3.0]),)], arguments, 1)], Workers(1))
    assert np.array_equal(result, [[3, 5, 6, 1, 0, np.float32(0.1), 0.1, -7, matrix[1, 2], size] for size in (3, 2)])


def reversals(count, workers, size=3, tiles=400):
    """Loops, each of which reverses what the one before has made and adds one; and the first and last array."""
    run = write_module(LOOP, "reversal").run
    states = np.arange(tiles), np.zeros(tiles, int)
    scratch = [(np.zeros(1),) for _ in range(workers.threads)]
    loops = [Loop(run, size, tiles, scratch, (states[i % 2], states[1 - i % 2]), workers.threads) for i in range(count)]
    return loops, states[count % 2]


def test_a_loop_begins_when_the_one_before_is_done():
    workers = Workers(None)
    for _ in range(50):
        loops, result = reversals(20, workers)
        run_loops(loops, workers)
        assert np.array_equal(result, np.arange(400) + 20)


def test_nobody_waits_for_a_thread_that_was_interrupted():
    """Before it began; the others do its share."""
    class Interrupted(Workers):
        def each(self, work, most):
            def interrupted(worker):
                if worker == 0:
                    raise KeyboardInterrupt
                work(worker)
            super().each(interrupted, most)
    workers = Interrupted(None)
    loops, result = reversals(20, workers)
    with pytest.raises(KeyboardInterrupt):
        run_loops(loops, workers)
    assert workers.threads == 1 or np.array_equal(result, np.arange(400) + 20)
