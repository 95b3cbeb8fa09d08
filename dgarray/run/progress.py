"""Progress of a run: a bar on a terminal or in a notebook, elsewhere a line now and then, on stderr; the lines
also go to the log of the package, `logging.getLogger("dgarray")`, where one listens to it."""
import logging
import sys
from datetime import timedelta
from importlib.util import find_spec
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress as RichProgress, TextColumn, TimeRemainingColumn

REDRAW = 0.1                      # seconds between two pictures of the bar
FIRST, EVERY, LONGEST = 5.0, 30.0, 600.0          # seconds to the first line, and between two lines: at least, at most
LOGGER = logging.getLogger("dgarray")
SHARE = 0.01                      # of the whole run between two lines, within these bounds


class Progress:
    """Step, time, rate and time left of a run, and a line while its kernels are compiled; a context manager around the run.

    until: end of the run
    sim:   the Simulation, of which the first update says what has no kernels
    shown: False for the log alone"""

    def __init__(self, until, sim=None, shown=True):
        self.sim, self.notice, self.spoken = sim, None, shown
        self.kinds = [(Bar if has_bar(sys.stderr) else Lines)(until)] if shown else []
        self.kinds += [Logged(until)] if LOGGER.isEnabledFor(logging.INFO) else []

    def __enter__(self):
        for kind in self.kinds:
            kind.start()
        if self.sim is not None and self.sim.backend.kernels == "fused":
            from .compile_notice import CompileNotice  # with numba, which array kernels do without
            self.notice = CompileNotice(self._say_that_kernels_are_compiled)
            self.notice.start()
        return self

    def __exit__(self, kind, *error):
        self._all_is_compiled()
        for each in self.kinds:
            each.stop(good=kind is None)

    def update(self, t, dt, steps):
        """Called after every step. t: time reached;  dt: length of the step;  steps: number of steps so far."""
        if self.sim is not None:
            self._all_is_compiled()
            self._say_what_has_no_kernels()
            self.sim = None
        for kind in self.kinds:
            kind.update(t, dt, steps)

    def _all_is_compiled(self):
        if self.notice is not None:
            self.notice.stop()
            self.notice = None

    def _say_that_kernels_are_compiled(self):
        sim = self.sim
        for kind in self.kinds:
            kind.say(f"compiling kernels for {sim.method!r}, {sim.law!r}, {sim.backend.dtype}; the next run has them")

    def _say_what_has_no_kernels(self):
        """Print which parts of a step run as array expressions where fused kernels are asked for."""
        sim, parts = self.sim, self.sim.operator.array_expressions
        if sim.backend.kernels == "fused" and parts:
            text = f"backend {sim.backend.name}: array expressions, because it has no kernels for them: {', '.join(parts)}"
            LOGGER.info(text)
            if self.spoken:
                print(text, flush=True)


def has_bar(stream):
    """Whether rich can draw a bar: on a terminal that moves its cursor, or in a notebook with ipywidgets."""
    console = Console(file=stream)
    if console.is_jupyter:
        return find_spec("ipywidgets") is not None
    return stream.isatty() and not console.is_dumb_terminal


class Bar:
    """The bar of a run to the time `until`."""

    def __init__(self, until):
        self.due, self.began, self.last = 0.0, None, None
        self.bar = RichProgress(TextColumn("t = {task.fields[t]:.6g} of {task.total:.6g}"), BarColumn(),
                                TextColumn("{task.fields[rate]}"), TimeRemainingColumn(),
                                console=Console(file=sys.stderr), refresh_per_second=5)
        self.task = self.bar.add_task("", total=until, t=0.0, rate="")

    def start(self):
        self.bar.start()

    def stop(self, good):
        if good and self.last is not None:
            self._draw(monotonic(), *self.last)
        self.bar.stop()

    def say(self, text):
        self.bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def update(self, t, dt, steps):
        self.last = t, dt, steps
        now = monotonic()
        if now >= self.due:
            self._draw(now, t, dt, steps)

    def _draw(self, now, t, dt, steps):
        self.began = self.began or (now, steps)
        seconds, taken = now - self.began[0], steps - self.began[1]
        rate = f"dt = {dt:.3g} {taken / seconds:.3g} steps/s" if seconds else f"dt = {dt:.3g}"
        self.due = now + REDRAW
        self.bar.update(self.task, completed=t, t=t, rate=rate)


class Lines:
    """Lines about a run to the time `until`, for the log of a batch job: one soon, so that one sees how long it will take;
    then one at each percent of the run, but no two within EVERY seconds, and one at least in LONGEST seconds."""

    def __init__(self, until):
        self.until, self.due, self.began, self.last, self.spoken = until, 0.0, None, None, False

    def start(self):
        pass

    def stop(self, good):
        if good and self.spoken:
            self.say(f"{self._where(*self.last)}, after {clock(monotonic() - self.began[0])}")

    def say(self, text):
        print(f"dgarray: {text}", file=sys.stderr, flush=True)

    def update(self, t, dt, steps):
        self.last = t, dt, steps
        now = monotonic()
        if now >= self.due:
            self._line(now, t, dt, steps)

    def _line(self, now, t, dt, steps):
        if self.began is None:
            self.began, self.due = (now, t, steps), now + FIRST
            return
        before, first, taken = self.began
        seconds, advanced = max(now - before, 1e-9), max(t - first, 1e-300)
        left = seconds * (self.until - t) / advanced
        self.spoken, self.due = True, now + min(max(EVERY, SHARE * (seconds + left)), LONGEST)
        self.say(f"{self._where(t, dt, steps)}, {(steps - taken) / seconds:.3g} steps/s, {clock(left)} left")

    def _where(self, t, dt, steps):
        return f"step {steps}, t = {t:.6g} of {self.until:.6g} ({t / self.until:.0%}), dt = {dt:.3g}"


class Logged(Lines):
    """Progress lines in the log of the package, and one at the end of every run."""

    def say(self, text):
        LOGGER.info(text)

    def stop(self, good):
        if good and self.last is not None:
            self.say(self._where(*self.last))


def clock(seconds):
    """Seconds as 0:01:35, or 2 days, 3:00:00."""
    return str(timedelta(seconds=round(min(seconds, 1e9))))
