"""The short table that a run prints at its end, and the rows of observed orders."""
from rich.console import Console
from rich.table import Table

from ..support.wording import plural


def summary(report, roofline=""):
    """The report of a run as a short table: errors, conserved totals, speed, where the time went."""
    place = report["place"]
    lines = [f"{report['case'] or report['law']}: {report['method']} on {plural(report['elements'], place)}, "
             f"{report['dofs']} degrees of freedom, {report['backend']} {report['kernels']} {report['dtype']}, "
             f"{plural(report['threads'], 'thread')}" + on_ranks(report),
             f"{plural(report['steps'], 'step')} to t = {report['time']:.6g}, dt = {report['dt']:.4g}"
             + (", steady" if report["steady"] is not None else "") + (", decayed" if report["decayed"] is not None else "")]
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
    if "ranks" in report:
        lines.append(of_messages(report["ranks"], report["wall_s"]))
    return "\n".join([*lines, roofline] if roofline else lines)


def on_ranks(report):
    return f" on each of {len(report['ranks']['elements'])} ranks" if "ranks" in report else ""


def of_messages(ranks, wall):
    """One line about the ranks: how even their parts are, and what messages cost them."""
    least, most = min(ranks["elements"]), max(ranks["elements"])
    packing, waiting = (max(ranks[name]) / wall if wall else 0.0 for name in ("packing_s", "waiting_s"))
    return (f"ranks: {least} to {most} elements and at most {max(ranks['copies'])} copies each; at most "
            f"{max(ranks['bytes']) / 1024:,.0f} KiB sent a time, {packing:.0%} of the stepping for packing, {waiting:.0%} "
            "for waiting")


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
