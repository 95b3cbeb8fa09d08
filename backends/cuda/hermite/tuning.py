"""Tuning of Hermite's kernels: the table of `dgarray.backends.cuda.dg.variant_table` keeps the fastest variant, for example

    {"NVIDIA H200": {"Hermite, Acoustics 3D, 4 variables, 6 + 0 terms": {"order 3, float32": {
        "variant": {"kernel": "monolithic", "lanes": 8, ...}, "seconds": 1.23e-3, "elements": 60000, ...}}}}

with the seconds of a half-step to so many target nodes.
"""
import warnings

import numpy as np

from ....methods.hermite.half_step_program import half_step
from ....methods.hermite.half_steps import HalfSteps
from ..dg import tuning, variant_table, variant_trials
from ..dg.tuning import FIRST_RUN, MEMORY, SECONDS
from ..dg.variant_trials import STAGES
from .variant import HermiteShape, candidates, default, from_dict, shortlist

ENOUGH = 60_000           # target nodes that are timed, more only if a plane of the grid has more


def problem(tables):
    """The name of a problem in the table: what the kernels' text depends on besides `setting`."""
    return (f"Hermite, {type(tables.law).__name__} {tables.dim}D, {tables.variables} variables, "
            f"{len(tables.terms)} + {len(tables.decay)} terms")


def setting(tables, dtype):
    """The name of order, dtype and the options of the method in the table."""
    method = tables.method
    asked = [f"{method.stages} stages"] * bool(method.stages) + ["not pruned"] * (not method.pruned) + (
        [method.variant] if method.variant else [])
    return ", ".join([f"order {tables.order}", np.dtype(dtype).name, *asked])


def lookup(device, tables, dtype):
    """The variant that a table has for this device and problem, or None; ValueError, naming the file, for a wrong entry."""
    shape, asked = HermiteShape.of(tables, np.dtype(dtype)), tables.method.variant
    return variant_table.known(device, problem(tables), setting(tables, dtype), from_dict, lambda variant: (
        shape.fits(variant, device.shared_per_block) and asked in (None, variant.kernel)))


def choose(backend, tables):
    """The variant for a problem: that of the tables; else the fastest of a short list, timed now; else the default.

    None if no kernel fits the device. Warns if the kernel that the method asks for does not fit.
    Nothing is timed if the device's `tunes` is false, with DGARRAY_TUNE=0, if memory is short, or on a grid that does not fill
    the device. Errors are as in `dgarray.backends.cuda.dg.tuning.choose`."""
    device, shape, kernel = backend.device, HermiteShape.of(tables, backend.dtype), tables.method.variant
    asked, limit = tuning.first_run(), device.shared_per_block
    first = default(shape, limit, kernel)
    if first is None or kernel not in (None, first.kernel):
        instead = "array expressions are" if first is None else f"variant '{first.kernel}' is"
        warnings.warn(f"{kernel or 'a kernel'} of order {shape.order} with {shape.variables} variables needs more than the "
                      f"{limit} bytes of shared memory that a block of {device.name} has; {instead} used instead", stacklevel=4)
        return first
    found = lookup(device, tables, backend.dtype)
    if found is not None:
        return found
    enough = tables.elements >= tuning.filling(device) and memory(tables, backend) <= MEMORY * device.free_memory()
    if not asked or not device.tunes or not enough:
        return first
    variants = shortlist(shape, limit, kernel)
    return tuning.tuned_now(device, (problem(tables), setting(tables, backend.dtype)), variants, first,
                            lambda: tune(backend, tables, variants, FIRST_RUN)[0])


def memory(tables, backend):
    """Bytes that tuning takes on the device: two states, and the array expressions' polynomials of a plane of nodes."""
    plane = tables.elements // (tables.grid.nodes[-1] if tables.dim > 1 else 1)
    full = (2 * tables.order + 2) ** tables.dim
    return tables.variables * (2 * tables.rows * tables.elements + 5 * full * plane) * backend.dtype.itemsize


def tune(backend, tables, variants=None, seconds=SECONDS, progress=None):
    """Time variants on the device and keep the fastest: (variant, [(variant, seconds of a half-step), fastest first]).

    backend    `CudaBackend`; its hermite(tables, variant) makes the operations that are timed
    variants   all of `variant.candidates` by default
    seconds    of timing, in all; compiling comes on top
    progress   function called with a line of text now and then
    What is timed are half-steps to the dual grid and back, on planes around the middle of the grid. A variant is left out, with
    a line of progress, if it does not compile or run, and if its result differs from that of the array expressions by more than
    rounding; the latter also warns.
    Raises RuntimeError if no variant works or if one has made the device unusable for this process, ValueError for a broken
    table."""
    say, device = progress or (lambda line: None), backend.device
    shape = HermiteShape.of(tables, backend.dtype)
    variants = list(variants or candidates(shape, device.shared_per_block, tables.method.variant))
    names = problem(tables), setting(tables, backend.dtype)
    title = ", ".join(names)
    variant_table.read(variant_table.table_file())
    bench = Bench(backend, tables)
    say(f"{title}: {len(variants)} variants on {bench.targets} targets")

    def attempt(variant):
        trial = Trial(bench, backend.operations(HalfSteps, tables, variant))
        return bench.difference(trial.operations), lambda: trial
    trials, why = variant_trials.working(device, title, variants, attempt, bench.tolerance, say)
    return variant_trials.kept(device, names, trials, why, seconds, bench.targets, "half-step", say)


class Bench:
    """Random states, the planes of targets that are timed, and the half-step of the middle plane by the array expressions.

    A state is a plane of random numbers times random numbers along the last axis: cheap, and without symmetry.
    first, end: planes that are timed;  targets: target nodes in them;  row: the plane that is compared;  tau: length in time"""

    def __init__(self, backend, tables):
        self.backend, self.tables, d = backend, tables, tables.dim
        rng = np.random.default_rng(0)
        self.last = 1 if d == 1 else tables.grid.cells[-1]
        plane = max(1, int(np.prod(tables.grid.cells[:-1] if d > 1 else tables.grid.cells)))
        count = min(self.last, -(-ENOUGH // plane))
        self.first = (self.last - count) // 2
        self.end, self.targets = self.first + count, count * plane
        self.tau = 0.45 * min((h / s for h, s in zip(tables.grid.spacing, tables.speeds) if s), default=1.0)
        shape = (tables.variables, tables.rows, *tables.grid.shape)
        last, rest = (shape[2], shape[3:]) if d > 1 else (1, shape[2:])
        along, across = (1, 1, last, *[1] * len(rest)), (*shape[:2], 1, *rest)
        self.q, self.out = backend.zeros(shape), backend.zeros(shape)
        self.q[...] = (backend.array(rng.uniform(0.5, 1.5, along)) * backend.array(rng.standard_normal(across))).reshape(shape)
        middle = (self.first + self.end) // 2
        self.row = slice(middle, middle + 1) if d > 1 else slice(0, tables.grid.cells[0])
        reference = backend.interpreter(half_step(tables, 0, rows=self.row), {})
        wanted = reference.run({"q": self.q.reshape(*shape[:2], -1), "tau": self.tau})["out"]
        self.wanted = backend.host(wanted).reshape(*shape[:2], -1, *tables.targets[0][-2::-1])
        # The terms of the series cancel: the sum of their absolute values grows with the order like 2^(dim order).
        self.tolerance = 8 * 2.0 ** (d * tables.order) * np.finfo(backend.dtype).eps * np.abs(self.wanted).max()

    def difference(self, operations):
        """Largest difference of a half-step by `operations` from the array expressions' in that plane; inf if not finite."""
        self.out[...] = 0
        operations.advance(self.q, self.out, 0, self.tau, self.first, self.end)
        cells = tuple(slice(0, n) for n in self.tables.targets[0][::-1])
        found = self.backend.host(self.out[(slice(None), slice(None), self.row, *cells[1:])])
        difference = np.abs(found - self.wanted)
        return float(difference.max()) if np.isfinite(difference).all() else np.inf


class Trial:
    """A variant that works, with the states of a `Bench`; run() computes STAGES half-steps, there and back in turn."""

    def __init__(self, bench, operations):
        self.operations, self.variant = operations, operations.choice

        def run():
            for number in range(STAGES):
                states = (bench.q, bench.out) if number % 2 == 0 else (bench.out, bench.q)
                operations.advance(*states, number % 2, bench.tau * 1e-3, bench.first, bench.end)
        self.run = run

