"""Trials of variants on the device: their results are compared with the array kernels', and they race for the least time."""
import math
import warnings
from functools import cache

import numpy as np

from ....methods.dg.set_operations import SetOperations
from ....stepping import Stage
from ...gpu import poisons_context
from .variant import Shape
from .variant_table import entry_for, keep_as, problem, setting

TURNS, MOST = 3, 200          # turns of every variant in a round; most calls of a variant in a turn
STAGES = 4                    # in a graph that is timed: it then runs much longer than its launch takes
SAMPLE = 4096                 # elements whose results are compared with the array kernels'
ROW = Stage(A=-0.5, w=1.0, beta=1.0, B=0.25)     # a stage that uses q and k


class Trial:
    """A variant that works, with its arrays; run() computes STAGES stages.  operations: its `NodalCuda`;  states: q, out, k."""

    def __init__(self, operations, states, dt):
        self.operations, self.variant = operations, operations.variant
        self.q, self.out, self.k = states
        launches = [list(operations.parts(q, out, self.k, q, 0.0, dt, ROW).values())
                    for q, out in ((self.q, self.out), (self.out, self.q))]

        def stages():
            for number in range(STAGES):
                for launch in launches[number % 2]:
                    launch()
        # cuBLAS may allocate at any call, which a graph cannot hold; a run, too, launches this variant kernel by kernel.
        self.run = stages if self.variant.product == "cublas" else operations.device.capture(stages).launch
        self.launches = launches          # kept, because a graph does not keep the arrays that it uses


def prepared(backend, part, variants, say, each=lambda trial: None):
    """(a `Trial` of each variant that works, why the last of the others does not work).

    part: tables of the elements to use;  each: function called with every trial as soon as it is there"""
    once = (part.faces, "lists"), (part.faces, "exterior_nodes"), (part.geometry, "coordinates")          # for all variants
    for thing, name in once:
        vars(thing)[name] = cache(getattr(thing, name))
    try:
        check, states = Check(backend, part), {}

        def attempt(variant):
            operations = backend.operations(SetOperations, part, variant)
            if variant.width not in states:
                states[variant.width] = [operations.state(check.q), operations.zeros(), operations.zeros()]

            def trial():
                found = Trial(operations, states[variant.width], check.dt * 1e-6)
                each(found)
                return found
            return check(operations, *states[variant.width]), trial
        title = f"{problem(part)}, {setting(part, backend.dtype)}"
        return working(backend.device, title, variants, attempt, check.tolerance, say)
    finally:
        for thing, name in once:
            del vars(thing)[name]


def working(device, title, variants, attempt, tolerance, say):
    """(the trials of the variants that work, why the last of the others does not work).

    attempt(variant) -> (largest difference of its results from those of the array kernels, function that makes its trial)
    A variant is left out, with a line of `say`, if it does not compile or run, and, with a warning, if its results differ by
    more than the tolerance.  Raises RuntimeError if one has made the device unusable for this process."""
    trials, why = [], None
    for number, variant in enumerate(variants):
        try:
            difference, trial = attempt(variant)
            if difference <= tolerance:
                trials.append(trial())
                continue
            why = f"its results differ by {difference:.1e} from those of the array kernels"
            warnings.warn(f"the variant {variant} for {title} is left out on {device.name}: {why}", stacklevel=4)
        except Exception as error:          # compilers and drivers have exceptions of their own
            why = why_left_out(error, variant, title)
        say(f"variant {number + 1} of {len(variants)} is left out ({variant}): {why}")
    return trials, why


def kept(device, names, trials, why, seconds, count, what, say):
    """Time the trials and keep the fastest in the table: (variant, [(variant, seconds), fastest first]).

    names: of problem and setting;  count: elements that the trials compute;  what: a trial computes, such as "stage"
    Raises RuntimeError without a trial; why: no variant works."""
    title = ", ".join(names)
    if not trials:
        raise RuntimeError(f"no variant of the kernels of {title} works on {device.name}: {why}")
    best = race(trials, seconds, device.seconds)
    ranking = [(trial.variant, best[trial]) for trial in sorted(trials, key=best.get)]
    file = keep_as(device, *names, entry_for(*ranking[0], count, len(ranking)))
    say(f"{title}: {ranking[0][1]:.3g} s a {what} with {ranking[0][0]}; kept in {file}")
    return ranking[0][0], ranking


class Check:
    """A stage by the array kernels from a random state, with which the results of the variants are compared.

    q          the state on the host, (variable, node, element) in float64
    dt         1 / max |dq/dt|, so that results, and rounding errors relative to them, are of numbers near 1
    tolerance  the largest difference that rounding explains"""

    def __init__(self, backend, part):
        shape = Shape.of(part, backend.dtype)
        self.q = np.random.default_rng(0).standard_normal((shape.variables, shape.nodes, part.elements))
        self.some = np.unique(np.linspace(0, part.elements - 1, SAMPLE).astype(int))
        reference = SetOperations(backend, part)
        q, out, k = reference.state(self.q), reference.zeros(), reference.zeros()
        with np.errstate(all="ignore"):
            peak = float(np.nanmax(np.abs(backend.host(reference.rhs(q, 0.0))), initial=0))
        self.dt = 1 / peak if 0 < peak < np.inf else 1.0
        self.tolerance = 8 * shape.columns * np.finfo(backend.dtype).eps
        self.wanted = self.result(reference, q, out, k, lambda state, some: reference.host(state)[:, :, some])

    def result(self, operations, q, out, k, take):
        """`out` and k after a stage, at the elements of the sample; take(array, elements) moves them to the host."""
        k.fill(0)
        operations.stage(q, out, k, q, 0.0, self.dt, ROW)
        return np.array([take(array, self.some) for array in (out, k)], float)

    def __call__(self, operations, q, out, k):
        """Largest difference of a stage by `operations` from the array kernels' at the sample; inf if one alone is finite."""
        result, wanted = self.result(operations, q, out, k, operations.take), self.wanted
        if not np.array_equal(np.isfinite(result), np.isfinite(wanted)):
            return math.inf
        return float(np.nanmax(np.abs(result - wanted)[np.isfinite(wanted)], initial=0))


def why_left_out(error, variant, title):
    """The error of a variant in one line.  Raises RuntimeError if the error has made the device unusable for this process."""
    why = " ".join(str(error).split()) or type(error).__name__
    if poisons_context(error):
        raise RuntimeError(f"the variant {variant} for {title} has made the GPU unusable for this process ({why}); "
                           "DGARRAY_TUNE=0 turns tuning off") from error
    return why


def race(trials, seconds, time_calls):
    """{trial: least seconds of a stage}, by successive halving: Jamieson & Talwalkar 2016.

    Rounds are of equal length, and the slower half of the trials leaves after each. Within a round the trials take turns, so
    that a change of the device's clock rate affects all alike.
    seconds: of all rounds together;  time_calls(function, repeats): seconds of each call, by the device's own clock"""
    best, alive = dict.fromkeys(trials, math.inf), list(trials)
    rounds = max(1, math.ceil(math.log2(len(trials))))
    for _ in range(rounds):
        share = seconds / rounds / TURNS / len(alive)
        for _ in range(TURNS):
            for trial in alive:
                repeats = 2 if best[trial] == math.inf else min(MOST, max(1, int(share / best[trial] / STAGES)))
                best[trial] = min(best[trial], min(time_calls(trial.run, repeats)) / STAGES)
        alive = sorted(alive, key=best.get)[:-(-len(alive) // 2)]
    return best
