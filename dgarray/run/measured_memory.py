"""The memory that a run needs, measured on small parts of its problem.

Two parts of the problem, alike in all but their size, are set up as a run does it. What their arrays hold, and what each phase
takes for a while, is traced, and grows with the number of elements along the line through both. A problem that is no larger
than these parts is measured as a whole.
"""
import random
import tracemalloc
import warnings
from contextlib import contextmanager
from math import prod

import numpy as np

from ..analysis.totals import totals_of_arrays, totals_of_state
from ..methods.dg.spectrum import forget_steps
from ..methods.method import OwnSteps
from ..output import store_of
from ..stepping import registers
from ..support.array_memory import held
from .memory import Plan
from .run import restore_random
from .time_loop import TimeLoop

UNKNOWNS = 1 << 18          # of a variable on the larger part: more than any function works on at once
SMALLER = 0.6               # size of the other part, in sizes of the larger one
BY_BLOCKS = "initial state", "time step"          # phases in which every thread works on a block of elements
SEARCHED = 1 << 14          # unknowns of a variable on the part on which the search for the largest step is measured


def measured(sim):
    """The `Plan` of a run of a simulation, without snapshots that are kept."""
    (samples, search), whole = samples_of(sim), places(sim.problem)
    sizes = sim.method.sizes(sim.problem) if len(samples) > 1 else samples[0].sizes
    kept = [{}, {}]
    for place, found in enumerate(kept):
        for part, what in samples[0].held[place]:
            points = [(each.sizes.get(part, 0), each.held[place].get((part, what), 0)) for each in samples]
            found[what] = found.get(what, 0) + max(0, line(points, sizes[part]))
    kept = [{what: int(size) for what, size in found.items() if size >= 1} for found in kept]
    transient = {}
    for phase in samples[0].beside:
        threads = sim.backend.threads // samples[0].threads if phase in BY_BLOCKS else 1
        transient[phase] = tuple(int(line([(each.places, each.beside[phase][place]) for each in samples], whole, threads))
                                 for place in (0, 1))
    if search is not None:          # its memory grows with the unknowns that it works on
        state = sum(found.get("state and registers", 0) for found in kept) / search.state * search.searched / whole
        transient["time step"] = tuple(int(there + size * state) for there, size in zip(
            transient["time step"], search.beside["time step"]))
    snapshot = int(line([(each.places, each.snapshot) for each in samples], whole))
    return Plan(*kept, transient, snapshot, len(sim.law.variables))


def samples_of(sim):
    """([`Sample` of the larger part, that of the smaller one], that of a small part on which the largest step is searched for);
    ([that of the whole], None) of a problem that is small. None, too, where no step is searched for."""
    whole, largest = places(sim.problem), max(1, UNKNOWNS // sim.method.unknowns_of_place(sim.problem)[1])
    with undisturbed():
        parts = [part_of(sim, count) for count in ([whole] if largest >= whole else [largest, int(SMALLER * largest)])]
        if places(parts[-1].problem) >= 0.9 * places(parts[0].problem):
            parts = [part_of(sim, whole)]          # there is no part that is much smaller
        alone = len(parts) == 1
        few = parts[0] if alone else part_of(sim, SEARCHED * largest // UNKNOWNS)
        # Memory kept for all problems, such as compiled kernels, is not measured. Kernels of a grid may know its spacing.
        for part in parts if sim.mesh.structured else [few]:
            Sample(part, whole)
        samples = [Sample(part, whole, search=alone) for part in parts]
        return samples, Sample(few, whole) if not alone and samples[0].searched else None


def known(sim):
    """The `Plan` of what is known without measuring: the mesh, the states of a step, snapshots, and beside a device the initial
    state on the host in float64. A run takes no less."""
    mesh, method, backend, variables = sim.mesh, sim.method, sim.backend, len(sim.law.variables)
    places, unknowns = prod(mesh.cells) if mesh.structured else mesh.cell_count, method.unknowns_of_place(sim.problem)[0]
    state = variables * unknowns * places * backend.dtype.itemsize
    states = {"state and registers": state * (2 if sim.stepper is OwnSteps else sum(registers(sim.stepper, in_place=True)) + 1)}
    snapshot = state // unknowns if mesh.structured and not method.derivatives else state
    host, device = {"mesh": sum(held(mesh).values())}, {}
    transient = {}
    if backend.name == "cupy":
        device, transient = states, {"initial state": (8 * state // backend.dtype.itemsize, 0)}
    else:
        host |= states
    return Plan(host, device, transient, snapshot, variables, least=True)


def places(problem):
    """Number of elements, or of nodes of a grid."""
    return prod(problem.mesh.nodes) if problem.mesh.structured else problem.mesh.cell_count


def part_of(sim, count):
    """The simulation on a part of its problem, with about so many places. On a part of a mesh there is one thread: all would
    have no more elements than one works on at a time."""
    part, whole = sim.method.part(sim.problem, count), count >= places(sim.problem)
    one = {} if whole or sim.mesh.structured or sim.backend.name == "cupy" else {"threads": 1}
    return sim.replace(mesh=part.mesh, boundary=part.boundary, record=None, dt=None, **one)


def line(points, size, threads=1):
    """The value at a size of the line through (size, value) at two sizes, or of one: in proportion.

    threads: so often what does not grow with the size is there, but no more often than the size has room for"""
    (large, most), (small, least) = points[0], points[-1]
    if large == small:
        return most * size / large if large else most
    slope = (most - least) / (large - small)
    constant = most - slope * large
    return slope * size + constant * (min(threads, max(1, size / large)) if constant > 0 else 1)


@contextmanager
def undisturbed():
    """Without warnings, and with random numbers as before: functions of the user's are called more often than in a run."""
    state, numbers = random.getstate(), np.random.get_state()          # noqa: NPY002  what a user's functions may draw from
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            restore_random([state, [numbers[0], *numbers[2:]]], numbers[1])


class Sample:
    """The memory that one run of a simulation takes, measured.

    sizes      of the problem, those of `Method.sizes`;  places: number of elements or nodes
    held       of the host and the device: {(part, what): bytes} of the arrays that stay
    state      bytes of the state and registers among them
    beside     {phase: (host, device)} the most bytes in addition in each phase
    searched   number of places on which the run searches for the largest step
    snapshot   bytes of a snapshot
    threads    that have worked on it"""

    def __init__(self, sim, whole, search=True):
        """whole: number of places of the whole problem;  search: whether to search for the largest step"""
        self.sizes, self.places, self.peaks, backend = sim.method.sizes(sim.problem), places(sim.problem), {}, sim.backend
        self.threads = backend.threads
        seen = {}
        held(sim.mesh, seen=seen)
        outer = tracemalloc.is_tracing()          # by a user; else tracing ends with the sample
        if not outer:
            tracemalloc.start()
        self.pool = backend.pooled_memory
        try:
            self.pool()
            self.before = tracemalloc.get_traced_memory()[0], self.pool()
            tracemalloc.reset_peak()
            operator = sim._operator = sim._discretised()
            self.ends("set-up")
            self.searched = operator.searched(whole)
            if not self.searched:
                operator.search = None
            loop = self.run(sim, operator, search or not self.searched)
        finally:
            if not outer:
                tracemalloc.stop()
        kinds = [np.ndarray] + [type(backend.zeros((1,)))] * (backend.name == "cupy")
        self.held = [self.holdings(sim, loop, kind, seen if kind is np.ndarray else {}) for kind in kinds]
        self.held += [{}] * (2 - len(kinds))
        self.state = sum(size for found in self.held for (_, what), size in found.items() if what == "state and registers")
        total = [sum(found.values()) for found in self.held]
        self.beside = {phase: [int(peak - kept) for peak, kept in zip(peaks, total)] for phase, peaks in self.peaks.items()}

    def ends(self, phase):
        """A phase has ended: keep its peaks."""
        now = tracemalloc.get_traced_memory()[1], self.pool()
        now = [peak - before for peak, before in zip(now, self.before)]
        self.peaks[phase] = tuple(map(max, self.peaks.get(phase, now), now))
        tracemalloc.reset_peak()

    def run(self, sim, operator, search):
        """All phases of a run, with one step and one snapshot; returns its `TimeLoop`."""
        ends = self.ends

        class Loop(TimeLoop):
            def largest_step(self):
                ends("initial state")
                forget_steps()          # a step that is known takes no memory
                step = super().largest_step() if search else 1.0
                ends("time step")
                return step
        loop = Loop(sim, operator)
        first = loop.start_from_initial()
        loop.steady.keep(loop)
        ends("initial state")
        totals_of_arrays(operator, first)
        ends("integrals")
        del first
        values = operator.fetch_snapshot(loop.state).result()
        self.snapshot = sum(each.nbytes for each in (values.values() if isinstance(values, dict) else [values]))
        ends("snapshots")
        store = store_of(sim.layout(), dtype=sim.backend.dtype)
        store.append(0.0, values)
        del values
        loop.since = [(0.0, 0.0)]
        operator.error_estimate(loop)
        ends("error estimate")
        dataset = store.dataset()
        ends("dataset")
        totals_of_state(operator, loop.state)
        ends("report")
        del dataset
        return loop

    @staticmethod
    def holdings(sim, loop, kind, seen):
        """{(part, what): bytes} of arrays of one kind, see `Operator.holdings`."""
        found = {}
        operator, copies = loop.operator, [loop.state, loop.copy, getattr(loop.steady, "before", None)]
        first = [(part, "state and registers", [each.get(part, {}) if isinstance(each, dict) and part else each
                                                for each in copies]) for part in dict.fromkeys(
                                                    part for part, *_ in operator.holdings())]
        for part, what, thing in [*first, *operator.holdings()]:
            found[part, what] = found.get((part, what), 0) + sum(held(thing, kind, seen).values())
        return found
