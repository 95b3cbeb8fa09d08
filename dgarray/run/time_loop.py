"""The loop over time steps: how long the next one is, the step, and whether the state is as it must be after it."""
import time
import warnings
from math import ceil, inf, isfinite

import numpy as np

from ..methods.local_rates import limit_of_step
from ..physics.inadmissible_states import place_text, wrong_state
from .decayed import Watch, decayed, end_of
from .failure import Failure, SolutionError
from .steady_state import SteadyState

COPY = 64             # steps between copies of the state, from which a failure is traced
SNAPSHOTS = 1_000_000  # more are taken for a mistyped interval


class TimeLoop:
    """The state of a run between two steps, and how it goes on.

    state       of the operator;  copy: what it was some steps ago
    t, steps    time and number of steps so far; dt the length of the last one
    since       (t, dt) of the steps since the state was copied; `unchecked` of these nobody has checked
    check       `Check` of this state, found while it was made; None if it was not, or the state has changed since
    steady      `SteadyState`: whether the state has come to rest; stopped: whether somebody has asked the loop to end
    watch       `Watch` of whether fields have decayed, where `end` says so, else None
    clock       seconds spent by name
    end         the time at which the last step ends, of a `decayed` at the latest

    sim: the `Simulation`, of which law, mesh, method, stepper and options are read."""

    def __init__(self, sim, operator, end=inf, dump=None):
        self.sim, self.operator, self.stepper, self.options = sim, operator, sim.stepper, sim.options
        self.end, self.dump = end_of(end), dump
        self.state, self.copy, self.since, self.unchecked, self.check = operator.zeros(), operator.zeros(), [], 0, None
        self.t, self.steps, self.dt, self.usual, self.warned = 0.0, 0, 0.0, inf, False
        self.steady, self.stopped, self.clock = SteadyState(operator, sim.options["steady"]), False, Clock()
        self.watch = Watch(sim, operator, end) if isinstance(end, decayed) else None

    # The state.

    def start(self, q):
        """Set the state to plain arrays of the host, or what `Operator.initial` gives, with all kernels compiled: a step of
        length zero may round."""
        self.operator.put(self.state, q)
        self.state = self._advanced(0.0)
        self.operator.check(self.state, self.t)
        self.set(q)
        self.largest_step()
        self.operator.forget_waiting()

    def start_from_initial(self):
        """Set the initial state and return it. Raises ValueError where it is not finite or not admissible."""
        law, start, self.t = self.sim.law, self.sim.start, self.sim.began
        first = self.operator.initial(self.sim.initial) if start is None else start
        given = self.operator.not_admitted(self.sim.initial)
        fault = self.fault(first, self.t)
        if given and "finite" not in fault:          # a limiter may hide what is wrong with what was given
            fault = f"is not admissible {given}"
        if fault:
            hint = f"; of {', '.join(law.primitive_variables)} law.conservative makes them" if law.conservative else ""
            given = "" if "finite" in fault else f"; initial gives the variables {', '.join(law.variables)}{hint}"
            raise ValueError(f"the initial state {fault}{given}")
        self.start(first)
        return first

    def fault(self, q, t):
        """The fault of a state on the host as text: a value that is not finite, a state that is not admissible; "" if none."""
        sim, bad, mesh = self.sim, self.operator.not_finite(q), self.operator.space.mesh
        if len(bad):
            element, variable, _ = bad[0]
            return f"is not finite: {sim.law.variables[variable]} in {mesh.named_place(element)}"
        with np.errstate(all="ignore"):
            bad = self.operator.not_admissible(q, t)
        if not len(bad):
            return ""
        state, x = self.operator.state_at(q, *bad[0, [0, 2]])
        return f"is not admissible in {mesh.named_place(bad[0, 0])}: {wrong_state(sim.law, state)} at {place_text(x)}"

    def set(self, q):
        """Go on from a state of the host."""
        self.operator.put(self.state, q)
        self.changed()

    def changed(self):
        """Go on from the current state, which somebody has changed since the last step."""
        self.check = None
        self.operator.forget()
        self.keep()

    def keep(self):
        """Copy the state, so that the steps from here can be taken again."""
        self.operator.copy(self.state, self.copy)
        self.since, self.unchecked = [], 0

    def from_copy(self):
        """Go back to the state of which the copy was taken."""
        self.operator.copy(self.copy, self.state)
        self.operator.forget()
        self.check = None

    # The steps.

    @property
    def ended(self):
        """Whether there is nothing left to do before the end: the state has come to rest, fields have decayed, or somebody has
        asked to stop."""
        return self.stopped or self.steady.time is not None or self.decayed is not None

    def agree_on_stop(self):
        """Where somebody has asked to end the run, on one rank, it ends on all, which call this together."""
        ranks = self.sim.ranks
        if ranks is not None:
            self.stopped = bool(ranks.largest([self.stopped])[0])

    @property
    def decayed(self):
        """The time at which fields were found to have decayed, or None."""
        return None if self.watch is None else self.watch.time

    def largest_step(self):
        """The step to take at most. Raises SolutionError where the wave speed is not finite or the step collapses."""
        fixed = self.options["dt"]
        if fixed is not None and self.steps:
            return fixed
        known = {} if self.check is None else {"check": self.check}
        stable = self.operator.largest_step(self.state, self.t, **known)
        if not stable > 0:
            raise SolutionError(f"the wave speed is not finite at t = {self.t:.6g} (step {self.steps})", self.t, self.steps)
        if fixed is not None:
            if fixed > stable and self.operator.method.strict:
                raise ValueError(f"dt={fixed:.6g} is above the largest stable step, {stable:.6g}; "
                                 f"{type(self.operator.method).__name__}(..., force=True) allows it")
            if fixed > stable and not self.warned:
                self.warned = True
                warnings.warn(f"dt={fixed:.6g} is above the largest stable step, {stable:.6g}", stacklevel=5)
            return fixed
        largest = self.options["cfl"] * stable
        self.usual = self.usual if isfinite(self.usual) else largest
        if largest < 1e-6 * self.usual or self.t + largest == self.t:
            raise SolutionError(f"the time step has fallen from {self.usual:.3g} to {largest:.3g} at t = {self.t:.6g} "
                                f"(step {self.steps}): the wave speed grows without bound", self.t, self.steps)
        return largest

    def say_what_limits(self, stacklevel):
        """Warn, once in a run, where something else than waves sets the step."""
        if self.options["dt"] is None and isfinite(self.usual):
            waves = self.operator.waves_step(self.state, self.t)
            line = limit_of_step(self.operator.problem, self.usual / self.options["cfl"], waves)
            if line is not None and self.operator.writes:
                warnings.warn(line, stacklevel=stacklevel)

    def advance(self, target):
        """One step towards the time `target`, and a check of the state where it is time.

        Raises SolutionError where the state goes bad; the loop then stands at the last good state."""
        self.steady.keep(self)
        remaining = self._choose_step(target)
        if remaining == 1 and target == self.end:          # `error_estimate` takes the last step once more
            self.check_state()
            self.keep()
        self.since.append((self.t, self.dt))
        self.unchecked += 1
        with self.clock("stages"):
            self.state = self._advanced(self.dt)
        self.t, self.steps = (self.t + self.dt if remaining > 1 else target), self.steps + 1
        if self.unchecked >= self.operator.check_every:
            self.check_state()
        if self.steady.tolerance is not None:
            with self.clock("steady"):
                self.steady.compare(self)
        if self.watch is not None:
            with self.clock("decayed"):
                self.watch.look(self)

    def _advanced(self, dt):
        """The state one step later; with a step fixed by hand nobody needs to know how fast its waves are, so its check may be
        put off."""
        if self.options["dt"] is None or self.operator.check_every == 1:
            state, self.check = self.operator.advance_checked(self.state, self.t, dt)
        else:
            state, self.check = self.operator.advance(self.state, self.t, dt), None
        return state

    def _choose_step(self, target):
        """Choose the length of the next step towards the time `target`; returns how many of that length are left."""
        if self.sim.lengths is not None:
            self.dt = self.sim.lengths[self.steps]
            return 1 if self.t + self.dt > target - self.dt / 2 else 2
        try:
            with self.clock("time step"):
                largest = self.largest_step()
        except SolutionError as error:
            self.check_state()          # the cause may be a step that nobody has checked
            raise SolutionError(f"{error}; the last good state is at t = {self.t:.6g}", error.time, error.step) from None
        remaining = max(1, ceil((target - self.t) / largest * (1 - 1e-12)))
        self.dt = (target - self.t) / remaining
        return remaining

    def check_state(self):
        """Raise SolutionError unless all states up to this one are sound: what is not finite stays so."""
        if not self.unchecked:
            return
        with self.clock("finite check"):
            found = self.check or self.operator.check(self.state, self.t)
            if found.sound:
                self.unchecked = 0
                if len(self.since) >= COPY:
                    self.keep()
        if not found.sound:
            self._fail()

    def _fail(self):
        """Trace the failure, go back to the last good state and raise SolutionError."""
        sim, failure = self.sim, Failure(self)
        error = failure.error(sim.law)
        if self.dump:
            failure.dump(self.dump, sim.law)
            error.dump = self.dump
        self.t, self.dt, self.steps = failure.t, failure.dt, failure.step - 1
        self.set(failure.good)
        raise error from None


class Clock:
    """Seconds spent by name: `with clock("stages"): ...`."""

    def __init__(self):
        self.seconds, self._name, self._start = {}, None, 0.0

    def __call__(self, name):
        self._name = name
        return self

    def __enter__(self):
        self._start = time.perf_counter()

    def __exit__(self, *error):
        self.seconds[self._name] = self.seconds.get(self._name, 0.0) + time.perf_counter() - self._start

    @property
    def total(self):
        return sum(self.seconds.values())


def snapshot_count(until, every):
    """How many snapshots there are after the one at t = 0. Raises ValueError for more than anybody keeps."""
    count = 1 if every is None else max(1, ceil(min(until / every, 1e300) * (1 - 1e-12)))
    if count > SNAPSHOTS:
        raise ValueError(f"every={every!r} gives {count:.3g} snapshots up to t = {until:g}; at most {SNAPSHOTS} are allowed")
    return count


def snapshot_times(until, every):
    """every, 2 every, ... up to `until`, and `until` itself."""
    yield from (i * every for i in range(1, snapshot_count(until, every)))
    yield until
