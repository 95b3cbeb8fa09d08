"""One run: from the start or a checkpoint to the end, with what is kept on the way."""
import logging
import random
import time
import warnings
from contextlib import nullcontext
from math import inf

import numpy as np

from ..analysis.current_moments import warn_of_narrow
from ..analysis.incident_waves import entering, passage, waves
from ..analysis.probes import given_text
from ..analysis.totals import totals_of_arrays
from ..analysis.truncated_records import advice
from ..output import store_of
from ..output.store import checkpoint
from .decayed import end_of
from .failure import SolutionError
from .provenance import began, call_of
from .restart import digest_of_exact, identity
from .signals import WORDS, Interrupted, Signals
from .steps import State
from .time_loop import TimeLoop, snapshot_times

LOGGER = logging.getLogger("dgarray")          # of the whole package
ROUNDING = 1e-12          # relative difference of times that are the same
IN_ERROR = "the last snapshot of the dataset of this error"
FLUSH = 1000          # steps after which the rows of records are written at the latest


class Run:
    """One run of a simulation, from the arguments of `Simulation.run`."""

    def __init__(self, sim, operator, until, every, out, checkpoint, checkpoint_every, progress, live, dump, compress,
                 callback=(None, 1)):
        self.sim, self.operator, self.end, self.every, self.out = sim, operator, until, every, out
        self.until = end_of(until)
        self.ranks, self.writes = sim.ranks, operator.writes
        self.seconds, self.interval = checkpoint, checkpoint_every
        self.progress, self.live, self.compress, self.callback = progress, live, compress, callback
        self.loop = TimeLoop(sim, operator, until, dump)
        self.recordings = {name: recorder.attach(name, operator) for name, recorder in sim.record.items()}
        self.shows = self._agreed(live is not None)[0]          # whether rank 0 has a live picture
        self.store, self.clock, self.first_step, self.begin, self.initial = None, self.loop.clock, 0, None, None
        self.estimate = None

    def __call__(self, overwrite, resumed):
        """Run; `resumed` is the arrays and facts of a checkpoint, or None. Returns the dataset."""
        facts = self._resume(*resumed) if resumed else self._begin()
        self.loop.say_what_limits(stacklevel=4)
        self.ready = time.perf_counter()
        self.began = began(self.sim.call or call_of(self.sim, self.end, self.every, bool(resumed))) | self._waves()
        with self._opened(overwrite, facts) as self.store:
            try:
                with Signals() as signals:
                    if facts is None:
                        self._sample()
                        self._snapshot()
                        self._checkpoint()
                    self._steps(signals)
                self._warn_of_limit()
                self._finish()
                self.estimate = self.operator.error_estimate(self.loop)
            except SolutionError as error:
                error.dataset = self._dataset()
                raise
            return self._dataset()

    def _waves(self):
        """Attributes of when the waves that enter have passed, for records of transforms, after a warning of those that do not
        enter."""
        found = entering(waves(self.sim.problem), self.until, 4 if self.writes else None)
        transforms = any(hasattr(recorder, "frequencies") for recorder in self.sim.record.values())
        return passage(found, self.until) if transforms else {}

    def _warn_of_limit(self):
        """Warn where fields that the run waits for have not decayed at its end."""
        loop = self.loop
        if loop.watch is not None and not loop.ended and self.writes:
            asked = loop.watch.condition
            warnings.warn(f"the run ends at its limit, t = {loop.t:g}, while {100 * loop.watch.left:.3g} % of the largest "
                          f"{loop.watch.slowest} is left at {given_text(asked.at)}, more than {asked!r} asks for; "
                          + advice(passage(waves(self.sim.problem), self.until), loop.t), stacklevel=4)

    def _opened(self, overwrite, facts):
        """The store; with a path all ranks write it together."""
        store = store_of(self.sim.layout(self.end, self.every, self.began), self.out, self.sim.backend.dtype, overwrite,
                         [r.series for r in self.recordings.values()], facts and facts["counts"], self.compress,
                         self.ranks if self.out is not None else None)
        if self.ranks is not None and self.out is not None:
            self.operator.shares = store.shares if isinstance(store.shares, dict) else {"q": store.shares}
        return store

    def _dataset(self):
        if self.ranks is not None:
            self.ranks.everyones(None)          # rank 0 has written by then
        return self.store.dataset()

    def _begin(self):
        """Set the initial state; there is no checkpoint to go on from."""
        first = self.loop.start_from_initial()
        self.begin, self.initial = totals_of_arrays(self.operator, first), self.operator.digest(first)
        warn_of_narrow(self.sim.problem, self.operator, first, 5 if self.writes else None)

    def _resume(self, arrays, facts):
        """Set the state of the checkpoint; the store goes on with the rows that it had then."""
        loop = self.loop
        loop.t, loop.steps, loop.dt, loop.usual = facts["t"], facts["steps"], facts["dt"], facts["usual"]
        self.begin, self.initial, self.first_step = facts["begin"], facts["initial"], loop.steps
        loop.start(self.operator.restored(arrays))
        loop.steady.resume(facts.get("change"), loop.t)
        if loop.watch is not None:
            loop.watch.resume(facts.get("decay"), loop.t)
        for name, recording in self.recordings.items():
            prefix = f"record/{name}/"
            recording.restore({key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)})
        restore_random(facts["random"], arrays["random"])
        return facts

    def _steps(self, signals):
        """All steps and snapshots that are left; where the run ends early, a last snapshot there."""
        loop, store = self.loop, self.store
        due, interval = time.monotonic() + (self.seconds or inf), self.interval or inf
        passed = loop.t // interval
        for target in snapshot_times(self.until, self.every):
            if target - self.store.last <= ROUNDING * target:          # it is there already
                continue
            if loop.ended and self.store.last >= loop.t:
                break
            while loop.t < target and not loop.ended:
                self._watched(loop.advance, target)
                with self.clock("snapshots"):
                    store.settle(wait=False)
                self._call_back()
                self._sample()
                if loop.steps % FLUSH == 0:
                    self._flush()
                now = signals.received or 0, time.monotonic() >= due
                received, late = now if self.ranks is None else self.operator.told(*now)
                if received:
                    self._stop(int(received))
                if late or loop.t // interval > passed:
                    self._checkpoint()
                    due, passed = time.monotonic() + (self.seconds or inf), loop.t // interval
            self._snapshot()
        received, = self._agreed(signals.received or 0)          # which several processes look at seldom
        if received:
            self._stop(int(received))

    def _agreed(self, *numbers):
        """The largest of each of these numbers over all ranks."""
        return numbers if self.ranks is None else self.ranks.largest(numbers)

    def _watched(self, function, *arguments):
        """Call a function of the loop; where the state goes bad, keep the last good one."""
        try:
            function(*arguments)
        except SolutionError as error:
            self._keep_good()
            where = f"the last snapshot of {self.out}" if self.out else IN_ERROR
            error.args = (f"{error}, {where}" + (f"; see {error.dump}" if error.dump else ""),)
            raise

    def _look(self):
        """Raise SolutionError unless all states up to this one are sound."""
        self._watched(self.loop.check_state)

    def _call_back(self):
        """Show the state to the user's function, which may change it or end the run."""
        function, every = self.callback
        if function is not None and self.loop.steps % every == 0:
            self._look()
            with self.clock("callback"):
                self._watched(function, State(self.sim, self.loop))
            self.loop.agree_on_stop()

    def _sample(self):
        loop = self.loop
        due = [recording for recording in self.recordings.values() if loop.steps % recording.every == 0]
        if due:
            self._look()
            with self.clock("records"):
                for recording in due:
                    recording.sample(loop.state, loop.t, loop.steps)
        if self.progress is not None and loop.steps > self.first_step:
            self.progress.update(loop.t, loop.dt, loop.steps)
        if self.shows and self._agreed(self.writes and self.live.due())[0]:
            self._look()
            with self.clock("live picture"):
                self._show()

    def _show(self):
        """Update the live picture."""
        values = self.operator.fetch(self.loop.state).result()
        if self.writes:
            self.live.update(values, self.loop.t)

    def _flush(self):
        """Write the rows of the records that have gathered."""
        for name, recording in self.recordings.items():
            if recording.series.over_time:
                self.store.extend(name, *recording.rows())

    def _snapshot(self):
        """Send the state to the store, which writes it when it has arrived, while stepping goes on."""
        self._look()
        with self.clock("snapshots"):
            self._flush()
            self.store.settle()          # one copy is on its way at a time: memory is planned for one
            self.store.expect(self.loop.t, self.operator.fetch_snapshot(self.loop.state))

    def _checkpoint(self):
        if self.out is None:
            return
        self._look()
        with self.clock("checkpoints"):
            loop, generator = self.loop, np.random.get_state()          # noqa: NPY002  what a user's functions may draw from
            self._flush()
            self.store.sync()
            arrays = {f"record/{name}/{key}": value for name, recording in self.recordings.items()
                      for key, value in recording.state().items()}
            facts = {"t": loop.t, "steps": loop.steps, "dt": loop.dt, "usual": loop.usual, "counts": self.store.counts,
                     "begin": self.begin, "initial": self.initial, "change": self.loop.steady.change,
                     "decay": loop.watch and loop.watch.facts(),
                     "exact": digest_of_exact(self.sim, loop.t, loop.dt),
                     "random": [random.getstate(), [generator[0], *generator[2:]]],
                     "run": identity(self.sim)}
            arrays |= self.operator.saved(loop.state) | {"random": generator[1]}
            checkpoint.save(self.out, loop.steps, arrays, facts, self.operator.saved_from, self.ranks)

    def _stop(self, number):
        """Save the state, without an output in the dataset of the error, and raise Interrupted."""
        self._look()
        if self.out is None:
            self._keep_good()
        else:
            self._finish_early()
        saved = (f"saved in {self.out}, continue with --restart {self.out} (in Python restart=True)" if self.out else
                 "not saved, there is no output")
        raise Interrupted(number, f"stopped by {WORDS[number]} at t = {self.loop.t:.6g} (step {self.loop.steps}); {saved}",
                          self._dataset())

    def _keep_good(self):
        if self.loop.t > self.store.last:
            self._snapshot()
        self._finish_early()

    def _finish(self):
        """Write the records that are known at the end only, the last checkpoint and the last live picture."""
        if self.shows:
            self._show()
        for name, recording in self.recordings.items():
            if not recording.series.over_time:
                self.store.put(name, recording.result())
        self._checkpoint()

    def _finish_early(self):
        """`_finish` before the end, where records need not be complete."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._finish()


def progress_of(progress, until, sim):
    """A context manager that gives what is told of every step: for True the progress that is shown, else the object given;
    without one the progress in the log of the package, where one listens to it."""
    if progress is True or not progress and LOGGER.isEnabledFor(logging.INFO):
        from .progress import Progress  # with rich
        return Progress(until, sim, shown=progress is True)
    return nullcontext(progress or None)


def restore_random(state, keys):
    """Set Python's and NumPy's global random generators to what a checkpoint holds."""
    (version, internal, gauss), (name, *rest) = state
    random.setstate((version, tuple(internal), gauss))
    np.random.set_state((name, keys, *rest))          # noqa: NPY002
