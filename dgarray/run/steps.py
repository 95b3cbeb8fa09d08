"""The state of a run between two steps, for a loop of the user's own and for functions that a run calls back."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..support.wording import plural
from .decayed import end_of
from .failure import SolutionError
from .time_loop import TimeLoop, snapshot_times

if TYPE_CHECKING:
    import xarray as xr


class State:
    """The state of a run at the time t, after so many steps, the last one of the length dt.

    q          q[variable, node, element] (modal: mode for node; on a grid: coefficient, then node), a plain array of the
               backend's library in the run's dtype, a dict of arrays where a state has several; a copy each time. Set it to
               go on from another state; SolutionError where that is not finite or not admissible
    dataset()  the xarray.Dataset of this state alone
    stop()     end the run here"""

    def __init__(self, sim, loop):
        self._sim, self._loop = sim, loop

    def __repr__(self):
        return f"State(t={self.t:.6g}, {plural(self.step, 'step')})"

    @property
    def t(self) -> float:
        return self._loop.t

    @property
    def step(self) -> int:
        return self._loop.steps

    @property
    def dt(self) -> float:
        return self._loop.dt

    @property
    def q(self) -> Any:
        return self._loop.operator.plain(self._loop.state)

    @q.setter
    def q(self, q):
        loop = self._loop
        state = loop.operator.state(loop.operator.checked(q))
        if not loop.operator.check(state, loop.t).sound:
            fault = loop.fault(loop.operator.host(state), loop.t)
            raise SolutionError(f"the state that was set at t = {loop.t:.6g} (step {loop.steps}) {fault}", loop.t, loop.steps)
        loop.operator.copy(state, loop.state)
        loop.changed()

    @property
    def here(self) -> Any:
        """The state on the host, of which a process has its part alone: see `Operator.arrays`."""
        return self._loop.operator.arrays(self._loop.state)

    def dataset(self) -> xr.Dataset | Any:
        return self._sim.dataset(self.q, self.t)

    def stop(self) -> None:
        self._loop.stopped = True


def steps(sim, operator, until, every):
    """The states of a run, see `Simulation.steps`."""
    loop = TimeLoop(sim, operator, until)
    loop.start_from_initial()
    loop.say_what_limits(stacklevel=3)
    yield State(sim, loop)
    loop.agree_on_stop()
    for target in snapshot_times(end_of(until), every):
        while loop.t < target and not loop.ended:
            loop.advance(target)
            if every is None or loop.t == target:
                loop.check_state()
                yield State(sim, loop)
                loop.agree_on_stop()
        if loop.ended:
            return
