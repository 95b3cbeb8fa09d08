"""What a run prints: progress during the run, a short table at the end."""
import sys
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from ..wording import plural


class Rate(ProgressColumn):
    """Steps per second so far."""

    def render(self, task: Task):
        seconds = task.elapsed or 0.0
        return Text(f"{task.fields['steps'] / seconds:.3g} steps/s" if seconds else "")


class Progress:
    """A bar with time, dt, rate and time left, on stderr; one that is no terminal gets nothing.

    sim: the Simulation, of which the first update says what has no kernels"""

    def __init__(self, until, sim=None):
        self.shown, self.sim = 0.0, sim
        self.bar = Bar(TextColumn("t = {task.fields[t]:.6g} of {task.total:.6g}"), BarColumn(),
                       TextColumn("dt = {task.fields[dt]:.3g}"), Rate(), TimeRemainingColumn(),
                       console=Console(file=sys.stderr), refresh_per_second=5, disable=not sys.stderr.isatty())
        self.task = self.bar.add_task("", total=until, t=0.0, dt=0.0, steps=0)

    def __enter__(self):
        self.bar.start()
        return self

    def __exit__(self, *error):
        self.bar.stop()

    def _say_what_has_no_kernels(self):
        """Print which parts of a step run as array expressions where fused kernels are asked for."""
        sim, self.sim = self.sim, None
        parts = sim.operator.array_expressions
        if sim.backend.kernels == "fused" and parts:
            print(f"backend {sim.backend.name}: array expressions, because it has no kernels for them: {', '.join(parts)}",
                  flush=True)

    def update(self, t, dt, steps):
        if self.sim is not None:
            self._say_what_has_no_kernels()
        if monotonic() - self.shown < 0.1:
            return
        self.shown = monotonic()
        self.bar.update(self.task, completed=t, t=t, dt=dt, steps=steps)


def summary(report, roofline=""):
    """The report of a run as a short table: errors, conserved totals, speed, where the time went."""
    place = report["place"]
    lines = [f"{report['case'] or report['law']}: {report['method']} on {plural(report['elements'], place)}, "
             f"{report['dofs']} degrees of freedom, {report['backend']} {report['kernels']} {report['dtype']}, "
             f"{plural(report['threads'], 'thread')}",
             f"{plural(report['steps'], 'step')} to t = {report['time']:.6g}, dt = {report['dt']:.4g}"
             + (", steady" if report["steady"] is not None else "")]
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    errors = report["l2_error"]
    names = ["L2 error"] * bool(errors) + ["integral at t = 0", "at the end"]
    for name in names:
        table.add_column(name, justify="right")
    for variable, pair in report["conserved"].items():
        row = [f"{errors[variable]:.4e}" if variable in errors else ""] if errors else []
        table.add_row(variable, *row, f"{pair['initial']:.8g}", f"{pair['final']:.8g}")
    if errors:
        table.add_row("total", f"{errors['total']:.4e}")
    lines.append(rendered(table))
    lines += [f"{name} = {value:.6g}" if isinstance(value, float) else f"{name} = {value}"
              for name, value in report["results"].items()]
    estimate = report["error_estimate"]
    if estimate and estimate["time"] and estimate["time"] > estimate["space"]:
        lines.append(f"the error in time, about {estimate['time']:.1e}, is likely to exceed that in space, about "
                     f"{estimate['space']:.1e}: a smaller --cfl takes more steps and is more accurate")
    shares = ", ".join(f"{name} {share:.0%}" for name, share in report["shares"].items())
    lines.append(f"{report['dof_updates_per_s'] / 1e6:.4g} M DOF updates/s, {report['wall_s']:.3g} s stepping "
                 f"({shares}), {report['setup_s']:.3g} s set-up")
    return "\n".join([*lines, roofline] if roofline else lines)


def rendered(table):
    """A rich table as plain text."""
    console = Console(width=120)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().rstrip().splitlines())


EOC = "{:>5} {:>5} {:>12} {:>10} {:>13} {:>7}"


def eoc_header():
    return EOC.format("order", "level", "h", "elements", "L2 error", "eoc")


def eoc_row(row):
    observed = "" if row["eoc"] is None else f"{row['eoc']:.3f}"
    return EOC.format(row["order"], row["level"], f"{row['h']:.5g}", row["elements"], f"{row['l2_error']:.4e}", observed)
