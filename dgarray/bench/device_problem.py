"""A discretised problem on a device for the GPU benchmark, timed by the device's own clock."""
from itertools import cycle
from time import perf_counter

from ..methods.finite_volume.sweeps import Sweeps
from ..methods.hermite.half_steps import HalfSteps
from ..stepping import LSRK54
from .problem import Problem
from .roofline import Cost, cost, variant_of

SECONDS = {"row": 1.0, "part": 0.1}      # how long to measure a row and a part of a stage
WARM_UP = 4                              # steps after which the CUDA graphs of a run have been captured
DT = 1e-9                                # a step so short that it is stable for every problem


class DeviceProblem(Problem):
    """A `Problem` on a GPU, timed by the device's own clock; device: `Device` of the operator's backend."""

    threads = None

    def __init__(self, operator, device, initial=None, stepper=LSRK54):
        self.device = device
        super().__init__(operator, initial, stepper)
        for _ in range(WARM_UP):
            self.advance()

    def advance(self):
        """Take one step without waiting for it."""
        super().step()

    def step(self):
        """Take one step; returns the seconds it took, the host's work and the wait included."""
        start = perf_counter()
        self.advance()
        self.device.synchronize()
        return perf_counter() - start

    def times(self, quick, seconds=SECONDS["row"]):
        return measured(self.device, self.advance, quick, seconds)

    @property
    def variant(self):
        """The `Variant`, `HermiteVariant` or `SweepVariant` of the fused kernels; None where kernels have no variants."""
        operations = self.operator.operations
        if isinstance(operations, (HalfSteps, Sweeps)):
            return getattr(operations, "choice", None)
        return getattr(operations, "variant", None)

    def counts(self):
        """Costs of the operations of a stage. The array expressions of Hermite's method count as one operation, because they
        alternate between interpolation and evolution row by row."""
        found = cost(self.operator.tables, self.kernels, self.operator.backend.dtype, self.stepper, "cupy",
                     variant_of(self.operator), self.operator.program)
        if isinstance(self.operator.operations, HalfSteps) and len(found) > 1:
            return [Cost("half-step", sum(o.flops for o in found), sum(o.bytes for o in found))]
        return found

    def least(self):
        return cost(self.operator.tables, "fused", self.operator.backend.dtype, self.stepper, "cupy",
                    program=self.operator.program)

    def ceilings(self, limits, threads):
        return limits[ceiling(self.operator.backend.dtype)]

    def seconds(self, names, stage, quick):
        """(None, {name: seconds of a stage}), mean over the stages of a step."""
        if len(names) == 1:
            return None, {names[0]: stage}
        seconds, fused = dict.fromkeys(names, 0.0), self.kernels == "fused"
        for number in range(self.stages):
            parts = self.parts(number) if fused else self.array_parts(number)
            # As in a run, the package's kernels are in a graph, so that launches do not count; cuBLAS may allocate and is not.
            runs = [self.device.capture(parts[name]).launch if fused and name != "product" else parts[name] for name in names]
            for name, least in zip(names, in_turns(self.device, runs, quick, SECONDS["part"] * len(runs))):
                seconds[name] += least / self.stages
        return None, seconds

    def parts(self, number):
        """{name: launch} of a stage by the fused kernels."""
        q, out = self.states[:2]
        return self.operator.operations.parts(q, out, self.k, q, 0.0, DT, repeatable(self.stepper.stages[number]))

    def array_parts(self, number):
        """{name: function} of the parts of a stage by array expressions, those of its program."""
        row, (q, out) = repeatable(self.stepper.stages[number]), self.states[:2]
        operations = self.operator.operations
        operations.set_clock(DT, [0.0] * len(self.stepper.stages))
        return {each.name: each.run for each in operations.update_operations(q, out, self.k, q, row, number)}


def ceiling(dtype):
    """The key of the device's ceilings for a dtype in a result."""
    return f"{dtype}, GPU"


def repeatable(stage):
    """The stage with A of at least -0.5, so that the register k stays bounded when the stage is repeated."""
    return stage._replace(A=max(-0.5, stage.A))


def measured(device, function, quick, seconds):
    """Seconds of each call of function() by the device's clock: at least three calls, and as many as fit into `seconds`, up to
    a thousand."""
    times = device.seconds(function, 3)
    if quick:
        return times
    return times + device.seconds(function, max(1, min(1000, int(seconds / max(1e-6, min(times))))))


def in_turns(device, functions, quick, seconds):
    """Least seconds of each of several functions, called in turn again and again.

    In turn, because each works on the results of the one before, as in a stage; some change these in place."""
    following = cycle(functions)

    def least(rounds):
        times = device.seconds(lambda: next(following)(), rounds * len(functions))
        return [min(times[number::len(functions)]) for number in range(len(functions))]
    first = least(3)
    if quick:
        return first
    return list(map(min, first, least(max(1, min(1000, int(seconds / max(1e-6, sum(first))))))))
