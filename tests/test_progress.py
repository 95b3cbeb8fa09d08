"""What a run says while it goes on: lines in the log of a batch job, a bar on a terminal, a line while kernels are compiled."""
import io

import pytest
from numba.core.event import trigger_event

import dgarray as dg
from dgarray.run import compile_notice, progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets: clock[0] in seconds."""
    now = [100.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    return now


def simulation(**options):
    return dg.Simulation(dg.interval(cells=4), dg.Advection((1.0,)), dg.NodalDG(1), dg.outflow, until=0.1, dt=0.01,
                         **{"backend": "numpy", "kernels": "array", **options})


def lines_of(seconds, steps, clock, capsys):
    """The lines of a run to t = 1 of so many steps."""
    with progress.Progress(1.0) as shown:
        for step in range(1, steps + 1):
            clock[0] += seconds / steps
            shown.update(step / steps, 1 / steps, step)
    return capsys.readouterr().err.splitlines()


def test_lines_of_a_batch_job(clock, capsys):
    assert lines_of(4, 1024, clock, capsys) == []
    lines = lines_of(128, 1024, clock, capsys)
    assert lines[0] == "dgarray: step 41, t = 0.0400391 of 1 (4%), dt = 0.000977, 8 steps/s, 0:02:03 left"
    assert lines[1] == "dgarray: step 281, t = 0.274414 of 1 (27%), dt = 0.000977, 8 steps/s, 0:01:33 left"
    assert lines[-1] == "dgarray: step 1024, t = 1 of 1 (100%), dt = 0.000977, after 0:02:08" and len(lines) == 6
    assert 95 < len(lines_of(10 * 3600, 5000, clock, capsys)) < 105                    # a line at each percent
    assert 1000 < len(lines_of(7 * 24 * 3600, 5000, clock, capsys)) < 1010             # a week: every ten minutes


def test_a_run_that_goes_on_counts_its_own_time(clock, capsys):
    with pytest.raises(KeyError), progress.Progress(1.0) as shown:
        for step in range(901, 1000):
            clock[0] += 1
            shown.update(step / 1000, 0.001, step)
        raise KeyError
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].endswith("1 steps/s, 0:01:34 left") and "after" not in lines[-1]


def test_a_bar_on_a_terminal(monkeypatch, clock):
    said = Terminal()
    monkeypatch.setattr("sys.stderr", said)
    monkeypatch.setenv("TERM", "xterm")
    simulation().run(progress=True)
    assert "t = 0.1 of 0.1" in said.getvalue() and "dgarray:" not in said.getvalue()


def test_progress_of_a_run_in_python(capsys, clock, monkeypatch):
    monkeypatch.setattr(progress, "FIRST", 0.0)
    simulation().run(progress=True)
    assert "t = 0.1 of 0.1 (100%)" in capsys.readouterr().err
    for silent in (None, False):
        simulation().run(progress=silent)
        assert capsys.readouterr().err == ""


def test_one_line_while_kernels_are_compiled(monkeypatch, capsys):
    """None where nothing is compiled for long, none after the first step, and none of what is found in the cache."""
    monkeypatch.setattr(compile_notice, "PATIENCE", 0.0)
    sim = simulation(kernels="fused")
    with progress.Progress(0.1, sim) as shown:
        for _ in range(2):
            with trigger_event("numba:compile"), trigger_event("numba:compile"):
                shown.notice.timer.join()
        assert sim.operator.array_expressions == []
        shown.update(0.1, 0.1, 1)
        with trigger_event("numba:compile"):
            pass
    line, = capsys.readouterr().err.splitlines()
    assert line == f"dgarray: compiling kernels for {sim.method!r}, {sim.law!r}, float64; the next run has them"
    monkeypatch.setattr(compile_notice, "PATIENCE", 100.0)
    with progress.Progress(0.1, sim) as shown, trigger_event("dgarray:compile"):
        pass
    assert capsys.readouterr().err == ""
