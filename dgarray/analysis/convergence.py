"""Observed orders of convergence."""
from __future__ import annotations

from inspect import signature
from math import log
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from ..support.keywords import keywords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@keywords
def eoc(case: Callable, orders: Iterable[int] | None = None, levels: int = 3, report: Callable | None = None,
        run: dict | None = None, **keywords: Any) -> list[dict]:
    """Run a case at several orders on its mesh and `levels - 1` uniform refinements of it; observed orders of the L2 error.

    case      function (order, ...) -> Simulation with an exact solution; where it has a keyword `level`, it makes the mesh of
              each level itself, from that one on, so that curved boundaries stay so
    orders    polynomial orders, by default 1, 2, 3; a case without the keyword `order`, or whose method is the same with each
              of them, such as finite volumes, has one of its own and runs once
    levels    number of meshes, at least 2
    report    function called with each row when it is ready
    run       options of the run, {name: value}, as `Simulation.replace` takes them
    keywords  all others go to the case
    Returns a list of {order, level, h, elements, l2_error, eoc}; h is the largest element's measure to the power 1/dim,
    eoc = log(e_coarse / e_fine) / log(h_coarse / h_fine), None on the first level.
    On level i the step is smaller by 2^(-i (s/p - 1)) where s, the order + 1 or that of finite volumes, exceeds the order p of
    the time stepper, so that its error falls as fast as the spatial one; a step fixed by hand is halved beside that."""
    if not isinstance(levels, Integral) or levels < 2:
        raise ValueError(f"levels={levels!r} is not allowed; observed orders need at least 2")
    rows, taken = [], signature(case).parameters
    first = keywords.pop("level", 0)
    own = "level" in taken and keywords.get("mesh") is None
    chosen = "order" in taken or any(p.kind is p.VAR_KEYWORD for p in taken.values())
    if orders is not None and not chosen:
        raise ValueError(f"orders are given, but case {case.__name__!r} has no keyword order")
    each = [{"order": order} for order in orders or (1, 2, 3)] if chosen else [{}]
    sims = [case(**given, **(dict(level=first) if own else {}), **keywords).replace(**(run or {})) for given in each]
    for sim in sims:          # all are looked at before the first one runs
        if sim.options["exact"] is None:
            raise ValueError(f"case {sim.options['case'] or case.__name__!r} has no exact solution; eoc needs one")
    alike = len(sims) > 1 and len({repr(sim.method) for sim in sims}) == 1
    if alike:
        each, sims = each[:1], sims[:1]
    for given, sim in zip(each, sims):
        before, order = None, sim.method.highest_order if alike else given.get("order", sim.method.highest_order)
        cfl, dt = sim.options["cfl"], sim.options["dt"]
        for level in range(levels):
            sharper = max(0.0, (order + sim.method.order_gain) / sim.stepper.order - 1)
            if level:
                mesh = case(**given, level=first + level, **keywords).mesh if own else sim.mesh.refined()
                sim = sim.replace(mesh=mesh)
            sim = sim.replace(cfl=cfl * 2.0 ** (-level * sharper), dt=dt and dt * 2.0 ** (-level * (1 + sharper)))
            sim.run()
            h, error = float(np.max(sim.mesh.measures) ** (1 / sim.mesh.dim)), sim.report["l2_error"]["total"]
            observed = log(before[1] / error) / log(before[0] / h) if before and error > 0 else None
            rows.append({"order": order, "level": level, "h": h, "elements": sim.report["elements"], "l2_error": error,
                         "eoc": observed})
            before = h, error
            if report is not None:
                report(rows[-1])
    return rows
