"""Tuning: which variant of a kernel is fastest is measured on the device and kept in a table on disk.

The table is JSON that a person can read, change and pass on:

    {"NVIDIA H200": {"Maxwell 3D, 6 variables, 0 coefficients, needs x: no": {"order 4, float32": {
        "variant": {...}, "seconds": 1.23e-3, "elements": 60000, "of": 12, "date": "2026-05-17"}}}}

with the seconds of a stage on so many elements, and "of" the number of variants that were timed.

`tuning.json` in the cache folder (see `dgarray.physics.codegen.cache_folder`) holds what was measured on this machine; it comes
before the table that the package ships.  A problem that is in neither is tuned when it is first needed: a short list of
variants is timed for some seconds.  `dgarray tune` times more variants.  With DGARRAY_TUNE=0 there is no tuning in a first run;
the default variant is used.
"""
import json
import math
import os
import sys
import time
import warnings
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from .... import wording
from ....methods.dg.weak_form import WeakForm
from ....physics.codegen import cache_folder, private_folder, write_file
from ...gpu import poisons_context
from .layout import WARP
from .variant import Shape, candidates, default, from_dict, shortlist

try:
    import fcntl
except ImportError:           # not on Windows, where two processes that tune at one moment may lose one result
    fcntl = None

NAME = "tuning.json"
SHIPPED = Path(__file__).with_name(NAME)
ELEMENTS, VALUES = (60_000, 250_000), 8_000_000       # see `enough`
SECONDS, FIRST_RUN = 10.0, 2.0        # of timing for one problem, without compiling: `dgarray tune`, a first run
COMPILING = 1.5               # seconds, about, to compile, set up and check one variant
MEMORY = 0.5                  # share of the device's free memory that tuning may use
TURNS, MOST = 3, 200          # turns of every variant in a round; most calls of a variant in a turn
FIRST_LOOK = 3                # calls of a variant after which a first time is known
STAGES = 4                    # in a graph that is timed: it then runs much longer than its launch takes
SAMPLE = 4096                 # elements whose results are compared with the array kernels'
ROW = SimpleNamespace(c=0.0, A=-0.5, v=0.0, w=1.0, alpha=0.0, beta=1.0, B=0.25, C=0.0)     # a stage that uses q and k


def problem(tables):
    """The name of a problem in the table: all that the kernel's text depends on besides order and dtype."""
    return (f"{type(tables.law).__name__} {tables.dim}D, {tables.variables} variables, {len(tables.varying)} coefficients, "
            f"needs x: {'yes' if tables.needs_x else 'no'}")


def setting(tables, dtype):
    """The name of order and dtype in the table."""
    return f"order {tables.order}, {np.dtype(dtype).name}"


def table_file():
    """Path of this machine's table."""
    return cache_folder() / NAME


def read(path):
    """The table in a file, {} if there is no file; ValueError, which names the file, if it holds anything else."""
    try:
        found = json.loads(Path(path).read_text())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as a tuning table ({error}); correct it or delete it") from error
    for level in (lambda: [found], lambda: found.values(), lambda: [p for d in found.values() for p in d.values()]):
        if not all(isinstance(value, dict) for value in level()):
            raise ValueError(f"{path} is not a tuning table: {{device: {{problem: {{order and dtype: entry}}}}}}; "
                             "correct it or delete it")
    return found


def entry(device, tables, dtype):
    """(file, entry) of the first table that has this device and problem; (None, None) if none has."""
    return entry_of(device, problem(tables), setting(tables, dtype))


def entry_of(device, problem, setting):
    """As `entry`, by the table's names of problem and setting."""
    for path in (private_folder() / NAME, table_file(), SHIPPED):
        found = read(path).get(device.name, {}).get(problem, {}).get(setting)
        if found is not None:
            return path, found
    return None, None


def lookup(device, tables, dtype):
    """The variant that a table has for this device and problem, or None; ValueError, naming the file, for a wrong entry."""
    shape = Shape.of(tables, np.dtype(dtype))
    return known(device, problem(tables), setting(tables, dtype), from_dict,
                 lambda variant: shape.fits(variant, device.shared_per_block))


def known(device, problem, setting, from_dict, fits):
    """As `lookup`, by the table's names of problem and setting.

    from_dict: makes a variant of an entry's choices, ValueError for wrong ones;  fits: whether a variant fits the device"""
    path, found = entry_of(device, problem, setting)
    if found is None:
        return None
    try:
        variant = from_dict(found["variant"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        wrong = error if isinstance(error, ValueError) else "there is no variant"
    else:
        if fits(variant):
            return variant
        wrong = f"the variant {variant} does not fit this device and problem"
    raise ValueError(f"{path}: {device.name}: {problem}: {setting}: {wrong}; correct it or delete it")


def keep(device, tables, dtype, found):
    """Put an entry into the table of this machine; returns the file.  Other processes may do so at the same time.

    If the cache folder cannot be written, this warns, and the entry is kept for the rest of the process only."""
    return keep_as(device, problem(tables), setting(tables, dtype), found)


def keep_as(device, problem, setting, found):
    """As `keep`, by the table's names of problem and setting."""
    path = table_file()
    try:
        _put(path, device.name, problem, setting, found)
    except OSError as error:
        warnings.warn(f"the tuning cannot be kept in {path} ({error.strerror}); it is lost with this process", stacklevel=4)
        path = private_folder() / NAME
        _put(path, device.name, problem, setting, found)
    return path


def _put(path, device, problem, setting, entry):
    with locked(path):
        table = read(path)
        table.setdefault(device, {}).setdefault(problem, {})[setting] = entry
        write_file(path, json.dumps(table, indent=1, sort_keys=True) + "\n")


@contextmanager
def locked(path):
    """Context in which no other process writes the file. The lock is on a file beside it, since the file itself is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_suffix(".lock"), "w") as file:
        if fcntl:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def first_run():
    """Whether a problem that no table has is tuned in its first run: $DGARRAY_TUNE, "1" (default) or "0", else ValueError."""
    return wording.choose("DGARRAY_TUNE", os.environ.get("DGARRAY_TUNE") or "1", ("0", "1")) == "1"


def choose(backend, tables):
    """The variant for a problem: that of the tables; else the fastest of a short list, timed now; else the default.

    Nothing is timed if the device's `tunes` is false, with DGARRAY_TUNE=0, if memory is short, or on a mesh that does not fill
    the device, where launches take the time whatever the variant.

    Before timing, one line goes to stderr if that is a terminal, since somebody waits there for some seconds. Files, notebooks
    and other programs get no line that they have not asked for.
    Raises ValueError for a broken table.  Errors while timing become a warning and the default, but those after which the
    device is unusable are raised."""
    device, shape = backend.device, Shape.of(tables, backend.dtype)
    asked, first = first_run(), default(shape, device.shared_per_block)
    found = lookup(device, tables, backend.dtype)
    if found is not None:
        return found
    variants = shortlist(shape, device.shared_per_block)
    most = min(tables.elements, elements_that_fit(device, shape, variants))
    if not asked or not device.tunes or most < filling(device):
        return first
    return tuned_now(device, (problem(tables), setting(tables, backend.dtype)), variants, first,
                     lambda: tune(backend, tables, variants, FIRST_RUN)[0])


def tuned_now(device, names, variants, first, fastest):
    """The variant that fastest() finds by timing; with a warning `first`, if that fails.

    names: of problem and setting;  variants: those that are timed"""
    tell(device, *names, len(variants))
    try:
        return fastest()
    except Exception as error:
        if poisons_context(error):
            raise
        warnings.warn(f"tuning failed, the default variant is used ({' '.join(str(error).split()) or type(error).__name__}); "
                      "DGARRAY_TUNE=0 turns it off", stacklevel=4)
        return first


def why_left_out(error, variant, title):
    """The error of a variant in one line.  Raises RuntimeError if the error has made the device unusable for this process."""
    why = " ".join(str(error).split()) or type(error).__name__
    if poisons_context(error):
        raise RuntimeError(f"the variant {variant} for {title} has made the GPU unusable for this process ({why}); "
                           "DGARRAY_TUNE=0 turns tuning off") from error
    return why


def tell(device, problem, setting, variants):
    """Print to stderr, if it is a terminal, that so many variants are about to be timed."""
    if sys.stderr.isatty():
        print(f"dgarray: tuning the kernels of {problem}, {setting} for {device.name}: once, about "
              f"{FIRST_RUN + COMPILING * variants:.0f} s; kept in {table_file()}; DGARRAY_TUNE=0 turns it off",
              file=sys.stderr, flush=True)


def filling(device):
    """Elements that fill the device: a warp of them for every multiprocessor."""
    return WARP * device.multiprocessors


def tune(backend, tables, variants=None, seconds=SECONDS, progress=None, each=None):
    """Time variants on the device and keep the fastest: (variant, [(variant, seconds of a stage), fastest first]).

    backend    `CudaBackend`; its nodal(tables, variant) makes the operations that are timed
    variants   all of `variant.candidates` by default
    seconds    of timing, in all; compiling comes on top
    progress   function called with a line of text now and then
    each       function called with (variant, seconds of a stage) as soon as a variant works. Then the table, too, has the
               fastest so far after each of them, so that a process that is ended early leaves a result
    What is timed is the Runge-Kutta stage ROW on the middle part of the mesh, see `elements_that_fit`. A variant is left out,
    with a line of progress, if it does not compile or run, and if its result differs from the array kernels' by more than
    rounding; the latter also warns.
    Raises MemoryError if not even a small part of the mesh fits, RuntimeError if no variant works or if one has made the device
    unusable for this process, ValueError for a broken table."""
    say = progress or (lambda line: None)
    device, shape = backend.device, Shape.of(tables, backend.dtype)
    variants = list(variants or candidates(shape, device.shared_per_block))
    title = f"{problem(tables)}, {setting(tables, backend.dtype)}"
    read(table_file())
    part = middle(tables, elements_that_fit(device, shape, variants), device)
    say(f"{title}: {len(variants)} variants on {part.elements} elements")
    first = {}

    def look(trial):
        before = trial.q.copy()          # from which the result of the next variant is checked
        first[trial.variant] = min(device.seconds(trial.run, FIRST_LOOK)) / STAGES
        trial.q[...] = before
        best = min(first, key=first.get)
        keep(device, tables, backend.dtype, entry_for(best, first[best], part.elements, len(first)))
        each(trial.variant, first[trial.variant])
    trials, why = prepared(backend, part, variants, say, look if each else lambda trial: None)
    if not trials:
        raise RuntimeError(f"no variant of the kernels of {title} works on {device.name}: {why}")
    ranking, found = decided(trials, seconds, device, part.elements)
    fastest, took = ranking[0]
    say(f"{title}: {took:.3g} s a stage with {fastest}; kept in {keep(device, tables, backend.dtype, found)}")
    return fastest, ranking


def decided(trials, seconds, device, count):
    """Time the trials: ([(variant, seconds), fastest first], the table's entry for the fastest).

    count: elements that the trials compute, for the entry"""
    best = race(trials, seconds, device.seconds)
    ranking = [(trial.variant, best[trial]) for trial in sorted(trials, key=best.get)]
    return ranking, entry_for(*ranking[0], count, len(ranking))


def entry_for(variant, seconds, elements, of):
    """The table's entry for a variant that is the fastest of so many."""
    return {"variant": asdict(variant), "seconds": float(f"{seconds:.4g}"), "elements": elements, "of": of,
            "date": time.strftime("%Y-%m-%d")}


def enough(values):
    """Elements, of `values` numbers each, that keep every multiprocessor busy, with a state far larger than the caches."""
    return min(ELEMENTS[1], max(ELEMENTS[0], VALUES // values))


def elements_that_fit(device, shape, variants):
    """How many elements to time on: `enough`, or fewer, so that the arrays of all variants fit in memory together.

    The bytes of an element are those of three states in every layout; of metrics, index lists, face fluxes and operands of
    every variant; or of the array kernels' temporaries, if these are more."""
    V, d, F, slots, b = shape.variables, shape.dim, shape.faces, shape.slots, shape.itemsize
    state, fluxes, metrics = V * shape.nodes * b, V * slots * b, (d * d + F * (d + 1) + d * (d + 1)) * b
    own = {"both": 4 * slots, "block": 4 * slots + 12 * F, "once": fluxes + F * ((d + 2) * b + 20)}
    library = V * shape.columns * b + state
    held = sum(metrics + own[v.faces] + (v.product == "cublas") * library for v in variants)
    states = 3 * len({v.width for v in variants}) * state
    reference = 2 * metrics + 16 * slots + (2 * d + 5) * state + 5 * fluxes
    return int(min(enough(V * shape.nodes), MEMORY * device.free_memory() / max(held + states, reference)))


def middle(tables, count, device):
    """The tables of the `count` elements nearest to the middle of the mesh, in the mesh's order; all if there are no more.

    Raises MemoryError if so few elements do not fill the device."""
    if count >= tables.elements:
        return tables
    if count < filling(device):
        raise MemoryError(f"tuning needs room for {min(tables.elements, filling(device))} elements on {device.name}, which has "
                          f"{device.free_memory() / 2**20:.4g} MiB free, enough for {count}")
    x = tables.mesh.centroids
    near = np.argsort(((x - x.mean(axis=0)) ** 2).sum(axis=1), kind="stable")[:count]
    return tables.part(np.sort(near))


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
    lists = {name: cache(getattr(part, name)) for name in ("face_lists", "exterior_nodes", "coordinates")}
    vars(part).update(lists)                 # computed once for all variants
    try:
        check, states, trials, why = Check(backend, part), {}, [], None
        for number, variant in enumerate(variants):
            try:
                operations = backend.operations(WeakForm, part, variant)
                if variant.width not in states:
                    states[variant.width] = [operations.state(check.q), operations.zeros(), operations.zeros()]
                difference = check(operations, *states[variant.width])
                if difference <= check.tolerance:
                    trial = Trial(operations, states[variant.width], check.dt * 1e-6)
                    each(trial)
                    trials.append(trial)
                    continue
                why = f"its results differ by {difference:.1e} from those of the array kernels"
                warnings.warn(f"the variant {variant} for {problem(part)}, {setting(part, backend.dtype)} is left out on "
                              f"{backend.device.name}: {why}", stacklevel=4)
            except Exception as error:          # compilers and drivers have exceptions of their own
                why = why_left_out(error, variant, f"{problem(part)}, {setting(part, backend.dtype)}")
            say(f"variant {number + 1} of {len(variants)} is left out ({variant}): {why}")
        return trials, why
    finally:
        for name in lists:
            del vars(part)[name]


class Check:
    """A stage by the array kernels from a random state, with which the results of the variants are compared.

    q          the state on the host, (variable, node, element) in float64
    dt         1 / max |dq/dt|, so that results, and rounding errors relative to them, are of numbers near 1
    tolerance  the largest difference that rounding explains"""

    def __init__(self, backend, part):
        shape = Shape.of(part, backend.dtype)
        self.q = np.random.default_rng(0).standard_normal((shape.variables, shape.nodes, part.elements))
        self.some = np.unique(np.linspace(0, part.elements - 1, SAMPLE).astype(int))
        reference = WeakForm(backend, part)
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
