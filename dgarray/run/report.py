"""What a run reports at its end: errors, conserved totals, speed, where the time went."""
import numpy as np

from ..analysis.grid import grid_error
from ..analysis.norms import l2_error, with_total
from ..analysis.totals import totals
from ..mesh import Grid


def report(sim, run, setup, result):
    """What `Simulation.report` holds after a run: see docs/results.md.

    run: the `Run`; setup: seconds before its first step; result: its dataset"""
    o, loop, clock = sim.options, run.loop, run.clock
    evaluations = (loop.steps - run.first_step) * len(sim.stepper.stages)
    wall = sum(clock.seconds.get(name, 0.0) for name in ("time step", "stages", "finite check"))
    last, errors = run.operator.fetch(loop.states[0]).result(), None
    dofs = int(np.prod(run.operator.shape))
    if o["exact"] is not None:
        if isinstance(sim.mesh, Grid):
            each = grid_error(sim.mesh, last[:, 0], o["exact"], loop.t)
        else:
            each = l2_error(last.astype(float), o["exact"], loop.t, sim.mesh.points, sim.mesh.cells,
                            sim.method.nodal_order)
        errors = with_total(sim.law.variables, each)
    end = totals(run.operator.tables, last)
    return {
        "case": o["case"], "method": repr(sim.method), "law": repr(sim.law), "order": sim.method.order,
        "backend": sim.backend.name, "kernels": sim.kernels,
        "array_expressions": run.operator.operations.array_expressions, "dtype": str(sim.backend.dtype),
        "threads": sim.backend.threads, "cell_type": sim.mesh.cell_type,
        "elements": run.operator.tables.elements, "dofs": dofs, "steps": loop.steps,
        "dt": loop.dt, "time": loop.t, "steady": loop.steady.time, "rhs_evaluations": evaluations, "wall_s": wall,
        "setup_s": setup, "dof_updates_per_s": dofs * evaluations / wall if wall else 0.0, "l2_error": errors,
        "error_estimate": run.estimate,
        "conserved": {name: {"initial": run.begin[name], "final": end[name]} for name in run.begin},
        "results": numbers(o["results"](result)) if o["results"] else {},
        "shares": {name: seconds / clock.total for name, seconds in clock.seconds.items()}}


def numbers(results):
    """What a case reports, as plain numbers and lists; ValueError if it is no dict."""
    if not isinstance(results, dict):
        raise ValueError(f"the case's results are {results!r}; they must be a dict")
    return {str(name): value.tolist() if hasattr(value, "tolist") else value for name, value in results.items()}
