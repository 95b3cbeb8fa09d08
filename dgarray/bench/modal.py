"""Where the time of modal DG goes: the tables of docs/modal-dg.md, which `docs/make_modal_benchmarks.py` prints.

The paper is Fuhry, Giuliani & Krivodonova 2014.
"""
from statistics import median
from time import perf_counter

from .. import backends
from ..backends.cpu.threaded_loops import LoopList
from ..mesh import box, rectangle
from ..methods import ModalDG
from ..physics.fluxes import rusanov
from ..physics.laws import Euler
from ..stepping import RK4, first, stages
from ..support.cached_modules import write_module
from .attempts import rounded
from .machine import machine
from .problem import breeze

__all__ = ["measure"]

ORDERS = range(1, 6)
STEPS = 12                                       # most steps of a measurement, of which the best time counts
LIMITED = 300                                    # most steps of the comparison with and without a limiter
UPDATES = 2e8                                    # most DOF updates of a measurement, but at least three steps
ROUNDS = 6                                       # rounds over the mesh sizes
SQUARES = 71, 100, 158, 224, 316, 388            # cells along a side: 10,082 to 301,088 triangles
LEVELS = range(5)                                # of supersonic_vortex: the paper's meshes A to E
SMALL = {"orders": (1, 2), "squares": (6, 9), "levels": range(2), "cells": (8, 3)}
LARGE = {"orders": ORDERS, "squares": SQUARES, "levels": LEVELS, "cells": (100, 15)}


def measure(quick=False, progress=None):
    """Measure all tables; returns a dict for JSON, times in s: machine, stepper, shares, limiter, sizes, surfaces.

    quick: tiny meshes;  progress: function called with a line of text before each part"""
    say, take = progress or (lambda line: None), SMALL if quick else LARGE
    result = {"machine": machine(backends.get("numpy").threads), "stepper": RK4.name}
    say("shares of the kernels")
    result["shares"] = [shares(order, take["levels"][-1]) for order in take["orders"]]
    result["shares"].insert(1, shares(1, take["levels"][-1], "barth-jespersen"))
    say("cost of the limiter")
    result["limiter"] = [limiter(level) for level in take["levels"]]
    say("sizes")
    result["sizes"] = [sizes(order, take["squares"]) for order in take["orders"] if order < 5]
    say("edges and elements")
    jobs = [(2, order, dtype) for dtype in ("float64", "float32") for order in take["orders"]]
    jobs += [(3, order, "float64") for order in take["orders"] if order in (2, 3)]
    result["surfaces"] = [surfaces(dim, order, dtype, take["cells"][dim - 2]) for dim, order, dtype in jobs]
    return rounded(result)


class Steps:
    """A run whose steps are timed; a step finds its length, computes the stages and checks the new state.

    operator: a discretised problem;  initial: its initial state, a function of x"""

    def __init__(self, operator, initial):
        operator.stepper = RK4
        self.operator, self.t, self.check = operator, 0.0, None
        self.state = operator.state(operator.project(initial))
        self.updates = len(RK4.stages) * operator.dofs
        self.take()                                            # the first step compiles

    def take(self):
        """One step; returns its seconds."""
        begin = perf_counter()
        dt = self.operator.largest_step(self.state, self.t, self.check)
        self.state, self.check = self.operator.advance_checked(self.state, self.t, dt)
        self.t += dt
        return perf_counter() - begin

    @property
    def count(self):
        """How many steps to time."""
        return int(max(3, min(STEPS, UPDATES // self.updates)))


def vortex(level, order, limiter=None, threads=None):
    """`Steps` of the paper's supersonic vortex, with the surface integrals computed edge by edge."""
    from .. import cases
    simulation = cases.supersonic_vortex(order, level).replace(
        method=ModalDG(order, limiter=limiter, surface="edges"), backend="numpy", kernels="fused", threads=threads)
    return Steps(simulation.operator, simulation.initial)


def in_turns(problems, count=None):
    """[seconds of `count` steps, for each of several `Steps`]; the problems take steps in turns."""
    times = [[problem.take() for problem in problems] for _ in range(count or min(problem.count for problem in problems))]
    return list(zip(*times))


def gas(dim, cells):
    """(mesh, law) of a periodic square or cube of gas."""
    return (rectangle if dim == 2 else box)(cells=cells, periodic=True), Euler(dim)


def periodic(dim, order, cells, dtype="float64", surface=None):
    """`Steps` of a gas in a periodic square or cube."""
    mesh, law = gas(dim, cells)
    operator = ModalDG(order, surface=surface).discretise(mesh, law, None, backends.get("numpy", "fused", dtype), rusanov)
    return Steps(operator, breeze(law))


def shares(order, level, limiter=None):
    """Least seconds of each kernel in a step on one thread, as in figure 11 of the paper.

    "look" is the check of the new state."""
    steps = vortex(level, order, limiter, threads=1)
    operator, best = steps.operator, {}
    timed, (states, k) = Timed(operator), operator.states(steps.state)
    for _ in range(1 + steps.count):                           # the first compiles
        timed.seconds = {}
        *_, q = stages(timed, RK4, states, k, steps.t, 1e-9)
        states = first(q, states)
        timed.measure("look", operator.operations.check, q, steps.t)
        best = {name: min(seconds, best.get(name, seconds)) for name, seconds in timed.seconds.items()}
    volume, edges, whole = (best[part] for part in Timed.parts)
    best |= dict(zip(Timed.parts, (volume, edges - volume, whole - edges)))
    return {"order": order, "limiter": limiter, "elements": operator.tables.elements, "updates": steps.updates, "seconds": best}


class Timed:
    """An operator whose stage on one thread is computed several times, each time with one kernel more, and timed.

    So the difference of two times is that of the kernel added.  seconds: {name: seconds so far}"""

    parts = "volume", "edges", "right-hand side"

    def __init__(self, operator):
        self.operations, self.seconds, self.kernels = operator.operations, {}, {}

    def measure(self, name, function, *arguments):
        """Call function(*arguments) and add its time to that of `name`."""
        begin = perf_counter()
        function(*arguments)
        self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - begin

    def stage(self, q, out, k, q0, t, dt, row):
        o = self.operations
        o.set_clock(dt, [t])
        loop = o.stage_loop(q, out, k, q0, row)
        if not self.kernels:
            texts = [o.source.stage_text(calls) for calls in (1, 2)]
            self.kernels = dict(zip(self.parts, [*(write_module(text, "part").run for text in texts), loop.run]))
        for name, part in self.kernels.items():
            self.measure(name, LoopList([loop._replace(run=part, most=1)], o.backend.workers))
        if o.tables.limits is not None:
            self.measure("limiter", o.limit, out)


def limiter(level):
    """Seconds of a step at order 1 without and with the limiter of Barth & Jespersen, as in section 7.2 of the paper."""
    steps = [vortex(level, 1, name) for name in (None, "barth-jespersen")]
    off, on = in_turns(steps, max(3, min(LIMITED, int(UPDATES / steps[0].updates))))
    return {"elements": steps[0].operator.tables.elements, "off": min(off), "on": min(on), "best": min(on) / min(off),
            "median": median(b / a for a, b in zip(off, on))}


def sizes(order, squares):
    """Seconds of a DOF update on meshes of several sizes. They take turns, so that another program disturbs all alike."""
    every = [periodic(2, order, cells) for cells in squares]
    times = [[] for _ in every]
    for _ in range(ROUNDS):
        for steps, taken in zip(every, times):
            taken += [steps.take() for _ in range(-(-steps.count // ROUNDS))]
    rows = [{"elements": steps.operator.tables.elements, "best": min(taken) / steps.updates,
             "median": median(taken) / steps.updates} for steps, taken in zip(every, times)]
    return {"order": order, "rows": rows}


def surfaces(dim, order, dtype, cells):
    """DOF updates per second with surface integrals by elements and by edges, and the speed of edges over elements."""
    steps = [periodic(dim, order, cells, dtype, surface) for surface in ("elements", "edges")]
    elements, edges = in_turns(steps)
    return {"dim": dim, "order": order, "dtype": dtype, "elements": steps[0].operator.tables.elements,
            "by elements": steps[0].updates / min(elements), "by edges": steps[1].updates / min(edges),
            "best": min(elements) / min(edges), "median": median(a / b for a, b in zip(elements, edges))}
