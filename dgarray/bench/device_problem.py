"""What the GPU's benchmark times: a discretised problem on a device, by the device's own clock."""
from itertools import cycle
from time import perf_counter

from ..methods.hermite.half_steps import HalfSteps
from ..stepping import LSRK54
from .problem import Problem
from .roofline import Operation, cost

SECONDS = {"row": 1.0, "part": 0.1}      # how long to measure a row and a part of a stage
WARM_UP = 4                              # steps until the CUDA graphs of a run are there
DT = 1e-9                                # a step so short that it is stable for every problem


class DeviceProblem(Problem):
    """A discretised problem on a GPU with the arrays of a run; its times are those of the device's own clock."""

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
        """The choices of the fused kernels, a `Variant` or `HermiteVariant`; None where there are none to choose."""
        operations = self.operator.operations
        if isinstance(operations, HalfSteps):
            return getattr(operations, "choice", None)
        return getattr(operations, "variant", None)

    def counts(self):
        """What the operations of a stage cost. The array text of Hermite's method, whose parts go over rows of nodes, is one
        operation."""
        variant = getattr(self.variant, "kernel", self.variant)
        found = cost(self.operator.tables, self.kernels, self.operator.backend.dtype, self.stepper, "cupy", variant)
        if isinstance(self.operator.operations, HalfSteps) and len(found) > 1:
            return [Operation("half-step", sum(o.flops for o in found), sum(o.bytes for o in found))]
        return found

    def least(self):
        return cost(self.operator.tables, "fused", self.operator.backend.dtype, self.stepper, "cupy")

    def ceilings(self, limits, threads):
        return limits[ceiling(self.operator.backend.dtype)]

    def seconds(self, names, stage, quick):
        """(None, {name: seconds of a stage}), mean over the stages of a step."""
        if len(names) == 1:
            return None, {names[0]: stage}
        seconds, fused = dict.fromkeys(names, 0.0), self.kernels == "fused"
        for number in range(self.stages):
            parts = self.parts(number) if fused else self.array_parts(number)
            # As in a run: kernels of ours in a graph, so that launches do not count; a library may allocate.
            runs = [self.device.capture(parts[name]).launch if fused and name != "product" else parts[name] for name in names]
            for name, least in zip(names, in_turns(self.device, runs, quick, SECONDS["part"] * len(runs))):
                seconds[name] += least / self.stages
        return None, seconds

    def parts(self, number):
        """The launches of a stage by name."""
        q, out = self.states[:2]
        return self.operator.operations.parts(q, out, self.k, q, 0.0, DT, repeatable(self.stepper.stages[number]))

    def array_parts(self, number):
        """The array kernels' parts of a stage by name, as `WeakForm.stage` calls them."""
        operations, s, (q, out) = self.operator.operations, repeatable(self.stepper.stages[number]), self.states[:2]
        t, combine = operations.time(0.0), operations.backend.combine
        flux, r = operations.face_flux(q, t), operations.volume(q, t)

        def update():
            terms = [(s.A, self.k), (s.v, q)], [(s.alpha, q), (s.beta, q), (s.B, self.k)]
            for target, others, own in zip((self.k, out), terms, (s.w, s.C)):
                given = [(factor, array) for factor, array in (*others, (own * DT, r)) if factor]
                if given and (target is out or s.w or s.v):
                    combine(target, *given)
        return {"volume": lambda: operations.volume(q, t), "face_flux": lambda: operations.face_flux(q, t),
                "lift": lambda: r + operations.lift(flux), "finish": lambda: operations.finish(r, q, t), "update": update}


def ceiling(dtype):
    """The name under which the ceilings of the device for that dtype are kept."""
    return f"{dtype}, GPU"


def repeatable(stage):
    """The stage with a register that does not grow when it is done again and again."""
    return stage._replace(A=max(-0.5, stage.A))


def measured(device, function, quick, seconds):
    """Seconds of calls by the device's clock: at least three, and as many as fit into `seconds`, up to a thousand."""
    times = device.seconds(function, 3)
    if quick:
        return times
    return times + device.seconds(function, max(1, min(1000, int(seconds / max(1e-6, min(times))))))


def in_turns(device, functions, quick, seconds):
    """Least seconds of each of several functions, which are called one after the other again and again: each finds what the
    one before has left it, as in a stage; some change it in place."""
    following = cycle(functions)

    def least(rounds):
        times = device.seconds(lambda: next(following)(), rounds * len(functions))
        return [min(times[number::len(functions)]) for number in range(len(functions))]
    first = least(3)
    if quick:
        return first
    return list(map(min, first, least(max(1, min(1000, int(seconds / max(1e-6, sum(first))))))))
