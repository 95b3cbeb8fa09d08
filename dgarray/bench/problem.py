"""A discretised problem for the benchmark: the arrays of a run, its steps and the parts of a stage."""
from time import perf_counter

import numpy as np

from ..stepping import LSRK54, registers
from .roofline import ceilings, cost

SECONDS = 2.0                   # how long a row is measured


class Problem:
    """A discretised problem with the arrays of a run, whose steps and operations are timed.

    operator   the discretised problem, on the backend that computes
    initial    its state on the host; None: `usual`
    stepper    a class of `dgarray.stepping`
    dofs       degrees of freedom of all variables;  first_step: seconds of the first step, compiling included"""

    def __init__(self, operator, initial=None, stepper=LSRK54):
        self.operator, self.stepper = operator, stepper
        initial = usual(operator) if initial is None else initial
        arrays, with_k = registers(stepper, operator.operations.in_place)
        self.dofs = operator.dofs
        self.states = [operator.state(initial), *(operator.zeros() for _ in range(arrays - 1))]
        self.k = operator.zeros() if with_k else None
        start = perf_counter()
        self.step()
        self.first_step = perf_counter() - start

    def step(self):
        """Take one step, short enough to be stable for every problem; returns its seconds."""
        start = perf_counter()
        self.states, _ = self.operator.operations.step(self.stepper, self.states, self.k, 0.0, 1e-9)
        return perf_counter() - start

    def times(self, quick, seconds=SECONDS):
        """Seconds of several steps: at least three, and as many as fit into `seconds`."""
        times = [self.step() for _ in range(3)]
        while not quick and sum(times) < seconds:
            times.append(self.step())
        return times

    @property
    def tables(self):
        """The sizes to which costs and rates belong."""
        return self.operator.tables

    @property
    def threads(self):
        return self.operator.backend.threads

    @property
    def kernels(self):
        """The kernels in use: "fused", or "array" expressions where the backend has none for the problem."""
        return self.operator.kernels

    @property
    def stages(self):
        """Evaluations of the right-hand side, or half-steps, in a step."""
        return len(self.stepper.stages)

    def counts(self):
        """The costs of the operations of a stage, a list of `Cost`."""
        return cost(self.tables, self.kernels, self.operator.backend.dtype, self.stepper, program=self.operator.program)

    def least(self):
        """The costs from which the bound follows, a list of `Cost`."""
        return self.counts()

    def ceilings(self, limits, threads):
        """The ceilings for so many threads, from `limits`; if they are not there they are measured and added."""
        dtype = str(self.operator.backend.dtype)
        if ceiling(dtype, threads) not in limits:
            limits[ceiling(dtype, threads)] = ceilings(dtype, threads)
        return limits[ceiling(dtype, threads)]

    def seconds(self, names, stage, quick):
        """(threads, {operation: seconds of a stage}) of the operations `names`.

        A single operation takes the `stage` seconds that were measured. Hermite's two kernels are timed one by one; the
        operations of the array kernels are timed on one thread."""
        if len(names) == 1:
            return self.threads, {names[0]: stage}
        if "interpolation" in names:
            return self.threads, timed_kernels(self.operator.operations, self.states, quick)
        return 1, timed(self, names, quick)


def ceiling(dtype, threads):
    """The key of the ceilings for a dtype and so many threads in a result."""
    return f"{dtype}, {threads} threads"


def of_case(name, **backend):
    """The simulation of a case with the defaults of all its options, on the backend that is given if one is."""
    from .. import cases
    return getattr(cases, name)().replace(**backend)


def usual(operator):
    """An initial state: random numbers, or `breeze` for a gas, whose density and pressure must be positive."""
    law, random = operator.tables.law, np.random.default_rng(0)
    if law.admissible is None:
        return operator.from_list([random.standard_normal(shape) for shape in operator.unknowns.values()])
    return operator.project(breeze(law))


def breeze(law):
    """A smooth initial state of a gas in a periodic unit box, as a function of x: a density wave in uniform flow."""
    def initial(x):
        rho = 1 + 0.2 * np.sin(2 * np.pi * x[0])
        values = {"rho": rho, "p": 1 + 0 * rho, "psi": 0 * rho}
        return law.conservative(tuple(values.get(name, 0.3 + 0 * rho) for name in law.primitive_variables))
    return initial


def timed(problem, names, quick):
    """{name: seconds of a stage} of the operations of a program on one thread."""
    operator, seconds = problem.operator, dict.fromkeys(names, 0.0)
    backend, steps = operator.backend, 2 if quick else 4
    workers, backend.workers = backend.workers, backend.new_workers(1)
    operator.operations.set_clock(1e-9, [0.0] * (1 + problem.stages))
    for _ in range(steps):
        for operation in (each for stage in operator.step_operations(problem.states[0]) for each in stage):
            start = perf_counter()
            operation.run()
            seconds[operation.name] += perf_counter() - start
    backend.workers = workers
    return {name: value / steps / problem.stages for name, value in seconds.items()}


def timed_kernels(operations, states, quick):
    """{"interpolation": seconds, "evolution": seconds} of Hermite's two kernels in a half-step."""
    times = {"interpolate": [], "evolve": []}
    for _ in range(2 if quick else 8):
        for name, taken in times.items():
            start = perf_counter()
            operations.run(name, *states, 0, 1e-9)
            taken.append(perf_counter() - start)
    return {"interpolation": min(times["interpolate"]), "evolution": min(times["evolve"])}
