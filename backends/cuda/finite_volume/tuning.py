"""Tuning of the sweeps of finite volumes: the table of `dgarray.backends.cuda.dg.variant_table` keeps the fastest, for example

    {"NVIDIA H200": {"Finite volumes, muscl, MHD 2D, 9 variables": {"strang, van-leer, primitive, hlld, float32": {
        "variant": {"way": "strided", "length": 128, ...}, "seconds": 1.23e-3, "elements": 1048576, ...}}}}

with the seconds of a step, or of a stage where all axes are done at once, on so many cells.
"""

import numpy as np

from ....methods.finite_volume.sweeps import Sweeps
from ....stepping import Stage
from ..dg import tuning, variant_table, variant_trials
from ..dg.tuning import FIRST_RUN, MEMORY, SECONDS
from ..dg.variant_trials import STAGES
from .source import SweepSource
from .variant import candidates, default, from_dict, shortlist, suited

ENOUGH = 1_000_000       # cells that fill a device, with states beyond its caches
EULER = Stage(c=0.0, beta=1.0, C=1.0)          # the stage that is timed
STEP = 0.2               # length of the steps that are compared, in the largest possible ones


def problem(tables):
    """The name of a problem in the table: what the kernels' text depends on besides `setting`."""
    law = tables.law
    return (f"Finite volumes, {tables.method.scheme}, {type(law).__name__} {tables.dim}D, {tables.variables} variables, "
            f"{len(tables.varying)} coefficients")


def setting(tables, dtype):
    """The name of the method's options, the numerical flux and the dtype in the table."""
    method, flux = tables.method, tables.physics.flux
    return ", ".join([str(method.splitting), str(method.limiter), method.variables, getattr(flux, "__name__", "flux of a user"),
                      np.dtype(dtype).name])


def fits(variant, tables, dtype, shared_per_block):
    """Whether a device with so many bytes of shared memory a block can run the variant on these tables."""
    blocks = {variant.block(contiguous) for contiguous in ((True, False) if tables.dim > 1 else (True,))}
    axes = tuple(range(tables.dim))
    return all(SweepSource(tables, dtype, 0, axes, block).shared_bytes <= shared_per_block for block in blocks)


def fitting(variants, tables, dtype, device):
    """Those of some variants that fit the device. Raises RuntimeError if none does."""
    found = [each for each in variants if fits(each, tables, dtype, device.shared_per_block)]
    if not found:
        raise RuntimeError(f"no variant of the kernels of {problem(tables)} fits the {device.shared_per_block} bytes of shared "
                           f"memory of a block of {device.name}; give kernels='array'")
    return found


def lookup(device, tables, dtype):
    """The variant that a table has for this device and problem, or None; ValueError, naming the file, for a wrong entry."""
    return variant_table.known(device, problem(tables), setting(tables, dtype), from_dict,
                               lambda variant: fits(suited(variant, tables), tables, dtype, device.shared_per_block))


def choose(backend, tables):
    """The variant for a problem: that of the tables; else the fastest of a short list, timed now; else the default.

    Nothing is timed if the device's `tunes` is false, with DGARRAY_TUNE=0, if memory is short, or on a grid that does not fill
    the device. Errors are as in `dgarray.backends.cuda.dg.tuning.choose`."""
    device, dtype = backend.device, backend.dtype
    asked, first = tuning.first_run(), fitting([default(tables), *candidates(tables)], tables, dtype, device)[0]
    found = lookup(device, tables, dtype)
    if found is not None:
        return found
    enough = tables.elements >= tuning.filling(device) and memory(tables, dtype) <= MEMORY * device.free_memory()
    if not asked or not device.tunes or not enough:
        return first
    variants = fitting(shortlist(tables), tables, dtype, device)
    return tuning.tuned_now(device, (problem(tables), setting(tables, dtype)), variants, first,
                            lambda: tune(backend, tables, variants, FIRST_RUN)[0])


def memory(tables, dtype):
    """Bytes that tuning takes on the device: the states, and what the array expressions need."""
    return 8 * tables.variables * tables.elements * np.dtype(dtype).itemsize


def tune(backend, tables, variants=None, seconds=SECONDS, progress=None):
    """Time variants on the device and keep the fastest: (variant, [(variant, seconds of a step), fastest first]).

    backend    `CudaBackend`; its operations(Sweeps, tables, variant) are timed
    variants   all of `variant.candidates` that fit by default
    seconds    of timing, in all; compiling comes on top
    progress   function called with a line of text now and then
    What is timed is a split step, or else one of the explicit Euler method, of a smooth state. A variant is left out, with a
    line of progress, if it does not compile or run, and if its result differs from that of the array expressions by more than
    rounding; the latter also warns.
    Raises RuntimeError if no variant works or if one has made the device unusable for this process, ValueError for a broken
    table."""
    say, device, names = progress or (lambda line: None), backend.device, (problem(tables), setting(tables, backend.dtype))
    variants, title = list(variants or fitting(candidates(tables), tables, backend.dtype, device)), ", ".join(names)
    variant_table.read(variant_table.table_file())
    bench = Bench(backend, tables)
    say(f"{title}: {len(variants)} variants on {tables.elements} cells")

    def attempt(variant):
        trial = Trial(bench, backend.operations(Sweeps, tables, variant))
        return bench.difference(trial), lambda: trial
    trials, why = variant_trials.working(device, title, variants, attempt, bench.tolerance, say)
    return variant_trials.kept(device, names, trials, why, seconds, tables.elements, "step" if tables.split else "stage", say)


class Bench:
    """A smooth state, and what the array expressions make of it in a step.

    q: on the host;  dt: the length of the step;  tolerance: the largest difference that rounding explains"""

    def __init__(self, backend, tables):
        self.backend, self.tables = backend, tables
        reference = Sweeps(backend, tables)
        self.q = np.empty(tables.shape, backend.dtype)
        wave = sum(np.sin(2 * np.pi * (x - low) / (high - low)) for x, low, high in zip(
            tables.grid.places(), tables.grid.lower, tables.grid.upper)) / tables.dim
        for v, number in enumerate(state_of(tables.law)):
            self.q[v] = number * (1 + 0.1 * wave)
        state = reference.state(self.q)
        rate = reference.rate(state, 0.0)
        self.dt = STEP / rate if rate > 0 else 1.0
        self.wanted = backend.host(reference.host(self.step(reference, [state, reference.zeros()])))
        self.tolerance = 500 * np.finfo(backend.dtype).eps * np.abs(self.wanted).max()

    def step(self, operations, states):
        """The new state of a step."""
        if self.tables.split:
            return operations.step(None, states, None, 0.0, self.dt)[0][0]
        operations.stage(*states, None, states[0], 0.0, self.dt, EULER)
        return states[1]

    def difference(self, trial):
        """Largest difference of a step by a variant from the array expressions'; inf if it is not finite."""
        new = self.step(trial.operations, [trial.operations.state(self.q), trial.operations.zeros()])
        difference = np.abs(trial.operations.host(new) - self.wanted)
        return float(difference.max()) if np.isfinite(difference).all() else np.inf


class Trial:
    """A variant that works, with its states; run() computes STAGES steps, or stages."""

    def __init__(self, bench, operations):
        self.operations, self.variant = operations, operations.choice
        q, out = operations.state(bench.q), operations.zeros()

        def run():
            states = [q, out]
            for _ in range(STAGES):
                if bench.tables.split:
                    states = operations.step(None, states, None, 0.0, bench.dt * 1e-3)[0]
                else:
                    operations.stage(*states, None, states[0], 0.0, bench.dt * 1e-3, EULER)
                    states.reverse()
        self.run = run


def state_of(law):
    """Numbers of the variables that make an admissible state; where there are density and pressure both are one."""
    if law.conservative is None:
        return [1.0 + 0.1 * v for v in range(len(law.variables))]
    return law.conservative(tuple(1.0 if name in ("rho", "p") else 0.1 for name in law.primitive_variables))
