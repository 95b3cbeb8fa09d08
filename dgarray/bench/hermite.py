"""Speed of Hermite's method, measured as in its paper, for the tables that `docs/make_hermite_benchmarks.py` writes.

The paper is Vargas, Chan, Hagstrom & Warburton 2016.
"""
from statistics import median
from time import perf_counter

import numpy as np

from .. import backends
from ..mesh import Grid
from ..methods import Hermite
from ..methods.hermite.method import VARIANTS
from ..physics.laws import Acoustics, Advection
from ..stepping import Taylor
from .attempts import rounded
from .machine import machine
from .problem import Problem
from .roofline import bound, ceilings, of_the_paper

__all__ = ["measure"]

ORDERS = 1, 2, 3
STEPS = 200                                       # steps of the run in table 1
ADVECTION = Advection((-1.0, -1.0, -1.0))          # the paper's equation (1)
FIGURE5 = [(ADVECTION, {"variant": variant, "pruned": pruned}) for variant in VARIANTS for pruned in (True, False)
           if pruned or variant != "collapsed"]
FIGURE5 += [(Acoustics(3), {"variant": "monolithic", "pruned": pruned}) for pruned in (True, False)]
RECURSIONS = {"two-kernel": "evolve", "monolithic": "half_step"}          # {variant: kernel with the Taylor series}
LARGE = {"table": 150, "cells": 64, "seconds": 2.0}
SMALL = {"table": 6, "cells": 5, "seconds": 0.0}


def measure(quick=False, progress=None):
    """Repeat the paper's measurements; returns a dict for JSON, times in s.

    quick      tiny grids
    progress   function called with a line of text before each part
    As in the paper, the problem is 3D advection in a periodic box, in single precision.
    Result: machine, ceilings; table1: seconds of 200 steps on 150 points a side, from the best and the median of the steps
    taken; figure4: rates by the number of stages; figure5: kernels against the ceilings; pruning: its gain in 3D acoustics."""
    say, take = progress or (lambda line: None), SMALL if quick else LARGE
    threads = backends.get("numpy").threads
    result = {"machine": machine(threads), "ceilings": ceilings("float32", threads, take["seconds"] or 0.1), "steps": STEPS,
              "points": take["table"], "cells": take["cells"], "table1": [], "figure4": [], "figure5": [], "pruning": []}
    for order in ORDERS:
        for variant in VARIANTS:
            say(f"table 1: N = {order}, {variant}")
            times = problem(take["table"], order, variant=variant).times(quick, take["seconds"])
            result["table1"].append({"order": order, "variant": variant, "taken": len(times), "best": STEPS * min(times),
                                     "median": STEPS * median(times)})
    for order in ORDERS:
        say(f"figure 4: N = {order}")
        full = 3 * (2 * order + 1)
        for stages in sorted({1, *(max(1, round(full * part / 6)) for part in range(1, 7))}):
            result["figure4"].append({"order": order, "stages": stages}
                                     | rates(problem(take["cells"], order, variant="monolithic", stages=stages), quick, take))
    for order in ORDERS:
        for law, options in FIGURE5:
            say(f"figure 5: N = {order}, {law.__class__.__name__}, {options}")
            result["figure5"] += kernels(problem(take["cells"], order, law, **options), order, result["ceilings"], quick, take)
    for order in ORDERS:
        for variant, kernel in RECURSIONS.items():
            say(f"pruning: N = {order}, {variant}")
            result["pruning"].append(pruning(order, take["cells"], quick, variant, kernel))
    return rounded(result)


def problem(cells, order, law=None, **options):
    """A `Problem` on a periodic grid, by default of advection; its state is random."""
    grid = Grid((0,) * 3, (1,) * 3, cells, periodic=True)
    operator = Hermite(order, **options).discretise(grid, law or ADVECTION, None,
                                                    backends.get("numpy", "fused", "float32"))
    return Problem(operator, np.random.default_rng(0).standard_normal(operator.shape, np.float32), Taylor)


def rates(problem, quick, take):
    """DOF updates per second of the best and the median step, flop/s of the best; take: LARGE or SMALL."""
    times = problem.times(quick, take["seconds"])
    flops = sum(o.flops for o in problem.counts()) * problem.operator.tables.elements * problem.stages
    updates = problem.dofs * problem.stages
    return {"updates": updates / min(times), "median": updates / median(times), "flops": flops / min(times)}


def kernels(problem, order, most, quick, take):
    """[dict for each kernel of the problem's variant]: operations, bytes and seconds of a half-step, and the seconds that the
    ceilings `most` allow.

    paper flops, paper bound: operations of the paper's algorithm, and the seconds that the ceilings allow for these: see
    `roofline.of_the_paper`"""
    stage, counts = min(problem.times(quick, take["seconds"])) / problem.stages, problem.counts()
    tables = problem.operator.tables
    nodes = tables.elements
    _, seconds = problem.seconds([o.name for o in counts], stage, quick)
    return [{"order": order, "law": tables.law.__class__.__name__, "kernel": o.name, "pruned": tables.method.pruned,
             "flops": o.flops * nodes, "bytes": o.bytes * nodes, "seconds": seconds[o.name], "bound": bound([o], most) * nodes,
             "paper flops": paper.flops * nodes, "paper bound": bound([paper], most) * nodes}
            for o, paper in zip(counts, of_the_paper(tables, counts))]


def pruning(order, cells, quick, variant, kernel):
    """Seconds of a kernel of 3D acoustics with and without pruning, timed in turns, and the share of time saved."""
    both = [problem(cells, order, Acoustics(3), variant=variant, pruned=pruned) for pruned in (True, False)]
    times = [[], []]
    for _ in range(2 if quick else 10):
        for each, taken in zip(both, times):
            start = perf_counter()
            each.operator.operations.run(kernel, *each.states, 0, 1e-9)
            taken.append(perf_counter() - start)
    ratios = [1 - pruned / whole for pruned, whole in zip(*times)]
    return {"order": order, "variant": variant, "pruned": min(times[0]), "not pruned": min(times[1]),
            "saved": 1 - min(times[0]) / min(times[1]), "median": median(ratios)}
