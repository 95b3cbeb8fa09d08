"""One run: from the start or a checkpoint to the end, with what is kept on the way."""
import random
import time
import warnings
from math import ceil, inf, isfinite

import numpy as np

from .analysis.totals import totals
from .failure import Failure, SolutionError
from .interrupt import Interrupted, Signals
from .output import Store, checkpoint
from .output.checkpoint import digest
from .steady import Steady
from .stepping import registers, step, step_and_look

COPY = 64             # steps between copies of the state, from which a failure is traced
SNAPSHOTS = 1_000_000  # more are taken for a mistyped interval
IN_ERROR = "the last snapshot of the dataset of this error"
FLUSH = 1000          # steps after which the rows of records are written at the latest


class March:
    """The state between two steps: states, register k, t, steps; the steps (t, dt) since it was copied, and how many of them
    nobody has looked at; and what the last step has `seen` of the state that it made, None where the state is another."""

    def __init__(self, operator, stepper, options):
        self.operator, self.stepper, self.options = operator, stepper, options
        arrays, with_k = registers(stepper)
        self.states = [operator.zeros() for _ in range(arrays)]
        self.k = operator.zeros() if with_k else None
        self.copy, self.since, self.unseen, self.seen = operator.zeros(), [], 0, None
        self.t, self.steps, self.dt, self.usual, self.warned = 0.0, 0, 0.0, inf, False

    def start(self, q):
        """Set the state q (variable, node, element) of the host, with all kernels compiled: a step of length zero may round."""
        self.operator.put(self.states[0], q)
        self.states = step(self.operator, self.stepper, self.states, self.k, self.t, 0.0)
        self.operator.sound(self.states[0], self.t)
        self.set(q)

    def set(self, q):
        """Go on from the state q of the host."""
        self.operator.put(self.states[0], q)
        self.seen = None
        if self.k is not None:
            self.k[...] = 0
        self.keep()

    def keep(self):
        """Copy the state, so that the steps from here can be taken again."""
        self.copy[...] = self.states[0]
        self.since, self.unseen = [], 0

    def from_copy(self):
        """States and register as they were when the copy was taken."""
        self.states[0][...], self.seen = self.copy, None
        if self.k is not None:
            self.k[...] = 0          # zero times what is not finite would not be zero
        return self.states, self.k

    def largest_step(self):
        """The step to take at most. Raises SolutionError where the wave speed is not finite or the step collapses."""
        fixed = self.options["dt"]
        if fixed is not None and self.steps:
            return fixed
        stable = self.operator.max_dt(self.states[0], self.t, self.stepper, *self._known())
        if not stable > 0:
            raise SolutionError(f"the wave speed is not finite at t = {self.t:.6g} (step {self.steps})", self.t, self.steps)
        if fixed is not None:
            if fixed > stable and self.operator.method.strict:
                raise ValueError(f"dt={fixed:.6g} is above the largest stable step, {stable:.6g}; force=True of "
                                 f"{type(self.operator.method).__name__} takes it nevertheless")
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

    def _known(self):
        """What an operator that looks at its new states wants to be told."""
        return [] if self.seen is None else [self.seen]

    def choose_step(self, target, clock):
        """Choose the length of the next step towards the time `target`; returns how many of that length are left."""
        with clock("time step"):
            largest = self.largest_step()
        remaining = max(1, ceil((target - self.t) / largest * (1 - 1e-12)))
        self.dt = (target - self.t) / remaining
        return remaining

    def advance(self, end, clock):
        """Take the step that has been chosen; it ends at the time `end`."""
        self.since.append((self.t, self.dt))
        self.unseen += 1
        with clock("stages"):
            arguments = self.operator, self.stepper, self.states, self.k, self.t, self.dt
            self.states, self.seen = step_and_look(*arguments) if self.options["dt"] is None else (step(*arguments), None)
        self.t, self.steps = end, self.steps + 1

    def sound(self):
        """Whether the state is sound, and so those of all steps before: what is not finite stays so."""
        if not self.operator.sound(self.states[0], self.t, *self._known()):
            return False
        self.unseen = 0
        if len(self.since) >= COPY:
            self.keep()
        return True


class Run:
    """What `Simulation.run` does, see there for the arguments."""

    def __init__(self, sim, operator, until, every, out, checkpoint, checkpoint_every, progress, live, dump, compress):
        self.sim, self.operator, self.until, self.every, self.out = sim, operator, until, every, out
        self.seconds, self.interval = checkpoint, checkpoint_every
        self.progress, self.live, self.dump, self.compress = progress, live, dump, compress
        self.march = March(operator, sim.stepper, sim.options)
        self.steady = Steady(operator, sim.options["steady"])
        self.recordings = {name: recorder.attach(name, operator) for name, recorder in sim.record.items()}
        self.store, self.clock, self.first_step, self.begin, self.initial = None, Clock(), 0, None, None

    def __call__(self, overwrite, resumed):
        """Run; `resumed` is the arrays and facts of a checkpoint, or None. Returns the dataset."""
        facts = self._resume(*resumed) if resumed else self._begin()
        self.ready = time.perf_counter()
        with Store(self.sim.layout(self.until, self.every), self.out, self.sim.backend.dtype, overwrite,
                   [r.series for r in self.recordings.values()], facts and facts["counts"], self.compress) as self.store:
            try:
                with Signals() as signals:
                    if facts is None:
                        self._sample()
                        self._snapshot()
                        self._checkpoint()
                    self._steps(signals)
                self._finish()
            except SolutionError as error:
                error.dataset = self.store.dataset()
                raise
            return self.store.dataset()

    def _begin(self):
        """Set the initial state; there is no checkpoint to go on from."""
        first = self.operator.project(self.sim.initial)
        bad = np.argwhere(~np.isfinite(first.transpose(2, 0, 1)))
        if len(bad):
            sim, (element, variable, _) = self.sim, bad[0]
            raise ValueError(f"the initial state is not finite: {sim.law.variables[variable]} in "
                             f"{sim.mesh.named_place(element)}")
        with np.errstate(all="ignore"):
            bad = self.operator.inadmissible(first, 0.0)
        if len(bad):
            mesh, names = self.sim.mesh, ", ".join(self.sim.law.variables)
            hint = "; of rho, v and p law.conservative makes them" if self.sim.law.conservative else ""
            raise ValueError(f"the initial state is not admissible in {mesh.named_place(bad[0, 0])}; initial gives the "
                             f"variables {names}{hint}")
        self.begin, self.initial = totals(self.operator.tables, self.operator.nodal(first)), digest(first)
        self.march.start(first)
        self.march.largest_step()

    def _resume(self, arrays, facts):
        """Set the state of the checkpoint; the store goes on with the rows that it had then."""
        march = self.march
        march.t, march.steps, march.dt, march.usual = facts["t"], facts["steps"], facts["dt"], facts["usual"]
        self.begin, self.initial, self.first_step = facts["begin"], facts["initial"], march.steps
        march.start(arrays["q"])
        march.largest_step()
        self.steady.resume(facts.get("change"), march.t)
        for name, recording in self.recordings.items():
            prefix = f"record/{name}/"
            recording.restore({key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)})
        restore_random(facts["random"], arrays["random"])
        return facts

    def _steps(self, signals):
        """All steps and snapshots that are left; where the run comes to rest before its end, a last snapshot there."""
        march, store = self.march, self.store
        due, interval = time.monotonic() + (self.seconds or inf), self.interval or inf
        passed = march.t // interval
        for target in snapshot_times(self.until, self.every):
            if target <= store.last:          # it is there already
                continue
            if self.steady.time is not None and store.last >= march.t:
                break
            while march.t < target and self.steady.time is None:
                self._advance(target)
                self._sample()
                if march.steps % FLUSH == 0:
                    self._flush()
                if signals.received:
                    self._stop(signals.received)
                if time.monotonic() >= due or march.t // interval > passed:
                    self._checkpoint()
                    due, passed = time.monotonic() + (self.seconds or inf), march.t // interval
            self._snapshot()

    def _advance(self, target):
        """One step, a look at the state where it is time, and a snapshot written where it has arrived."""
        self.steady.keep(self.march)
        try:
            remaining = self.march.choose_step(target, self.clock)
        except SolutionError as error:
            self._look()          # the cause may be a step that nobody has looked at
            self._keep_good()
            raise SolutionError(f"{error}; the last good state is of t = {self.march.t:.6g}, {self._where_kept()}", error.time,
                                error.step) from None
        if remaining == 1 and target == self.until:          # `error_estimate` takes the last step once more
            self._look()
            self.march.keep()
        self.march.advance(target if remaining == 1 else self.march.t + self.march.dt, self.clock)
        if self.march.unseen >= self.operator.check_every:
            self._look()
        if self.steady.tolerance is not None:
            with self.clock("steady"):
                self.steady.look(self.march)
        with self.clock("snapshots"):
            self.store.settle(wait=False)

    def _look(self):
        """Raise SolutionError unless all states up to this one are sound."""
        if self.march.unseen:
            with self.clock("finite check"):
                sound = self.march.sound()
            if not sound:
                self._fail()

    def _sample(self):
        march = self.march
        due = [recording for recording in self.recordings.values() if march.steps % recording.every == 0]
        if due:
            self._look()
            with self.clock("records"):
                for recording in due:
                    recording.sample(march.states[0], march.t, march.steps)
        if self.progress is not None and march.steps > self.first_step:
            self.progress.update(march.t, march.dt, march.steps)
        if self.live is not None and self.live.due():
            self._look()
            with self.clock("live picture"):
                self.live.update(self.operator.nodal(self.operator.host(march.states[0])), march.t)

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
            self.store.expect(self.march.t, self.operator.fetch(self.march.states[0]))

    def _checkpoint(self):
        if self.out is None:
            return
        self._look()
        with self.clock("checkpoints"):
            march, generator = self.march, np.random.get_state()          # noqa: NPY002  what a user's functions may draw from
            self._flush()
            self.store.sync()
            arrays = {f"record/{name}/{key}": value for name, recording in self.recordings.items()
                      for key, value in recording.state().items()}
            facts = {"t": march.t, "steps": march.steps, "dt": march.dt, "usual": march.usual, "counts": self.store.counts,
                     "begin": self.begin, "initial": self.initial, "change": self.steady.change,
                     "exact": self.sim.digest_of_exact(march.t, march.dt),
                     "random": [random.getstate(), [generator[0], *generator[2:]]],
                     "run": self.sim.identity()}
            arrays |= {"q": self.operator.host(march.states[0]), "random": generator[1]}
            checkpoint.save(self.out, march.steps, arrays, facts)

    def _stop(self, number):
        """Save the state and raise Interrupted."""
        self._look()
        self._finish_early()
        word = {2: "Ctrl-C", 15: "SIGTERM"}[number]
        saved = (f"saved in {self.out}, go on with --restart {self.out} (in Python restart=True)" if self.out else
                 "not saved, there is no output")
        raise Interrupted(number, f"stopped by {word} at t = {self.march.t:.6g} (step {self.march.steps}); {saved}")

    def _fail(self):
        """Trace the failure, keep the last good state and raise SolutionError."""
        march, sim = self.march, self.sim
        failure = Failure(march)
        error = failure.error(sim.stepper, sim.mesh, sim.law)
        if self.dump:
            failure.dump(self.dump, sim.mesh, sim.law, sim.method)
        march.t, march.dt, march.steps = failure.t, failure.dt, failure.step - 1
        march.set(failure.good)
        self._keep_good()
        error.args = (f"{error}, {self._where_kept()}" + (f"; see {self.dump}" if self.dump else ""),)
        raise error from None

    def _keep_good(self):
        if self.march.t > self.store.last:
            self._snapshot()
        self._finish_early()

    def _where_kept(self):
        return f"the last snapshot of {self.out}" if self.out else IN_ERROR

    def _finish(self):
        """Write the records that are known at the end only, the last checkpoint and the last live picture."""
        if self.live is not None:
            self.live.update(self.operator.nodal(self.operator.host(self.march.states[0])), self.march.t)
        for name, recording in self.recordings.items():
            if not recording.series.over_time:
                self.store.put(name, recording.result())
        self._checkpoint()

    def _finish_early(self):
        """The same before the end, where records need not be complete."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._finish()


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


def restore_random(state, keys):
    """Set Python's and NumPy's global random generators to what a checkpoint holds."""
    (version, internal, gauss), (name, *rest) = state
    random.setstate((version, tuple(internal), gauss))
    np.random.set_state((name, keys, *rest))          # noqa: NPY002
