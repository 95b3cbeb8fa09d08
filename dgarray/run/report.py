"""The report at the end of a run: errors, conserved totals, speed, where the time went."""
from ..analysis.totals import totals_of_state
from ..spaces.norms import with_total


def report(sim, run, setup, result):
    """The dict `Simulation.report` of a run; docs/results.md lists its entries.

    run: the `Run`; setup: seconds before its first step; result: its dataset"""
    o, loop, clock = sim.options, run.loop, run.clock
    evaluations = (loop.steps - run.first_step) * run.operator.stage_count
    wall = sum(clock.seconds.get(name, 0.0) for name in ("time step", "stages", "finite check"))
    errors, dofs, end = None, run.operator.dofs, totals_of_state(run.operator, loop.state)
    if o["exact"] is not None:
        errors = with_total(sim.law.variables, run.operator.error(loop.state, o["exact"], loop.t))
    return {
        "case": o["case"], "method": repr(sim.method), "law": repr(sim.law), "order": sim.method.highest_order,
        "backend": sim.backend.name, "kernels": sim.kernels,
        "array_expressions": run.operator.array_expressions, "dtype": str(sim.backend.dtype),
        "threads": sim.backend.threads, "cell_type": sim.mesh.cell_type,
        "elements": run.operator.space.count, "place": run.operator.space.place, "dofs": dofs, "steps": loop.steps,
        "dt": loop.dt, "time": loop.t, "steady": loop.steady.time, "decayed": loop.decayed, "rhs_evaluations": evaluations,
        "wall_s": wall, "setup_s": setup, "dof_updates_per_s": dofs * evaluations / wall if wall else 0.0, "l2_error": errors,
        "error_estimate": run.estimate, **run.operator.report(),
        "conserved": {name: {"initial": run.begin[name], "final": end[name]} for name in run.begin},
        "results": numbers(o["results"](result)) if o["results"] else {},
        "mesh": sim.mesh.source, **sim.provenance, "date": run.began["date"], "call": run.began["call"],
        "shares": {name: seconds / clock.total for name, seconds in clock.seconds.items()}}


def numbers(results):
    """The results of a case as plain numbers and lists; ValueError if they are no dict."""
    if not isinstance(results, dict):
        raise ValueError(f"the case's results are {results!r}; they must be a dict")
    return {str(name): value.tolist() if hasattr(value, "tolist") else value for name, value in results.items()}
