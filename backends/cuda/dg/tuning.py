"""Tuning: which variant of a kernel is fastest is measured on the device, and kept in the table of `variant_table`.

A problem that is in no table is tuned when it is first needed: a short list of variants is timed for some seconds.
`dgarray tune` times more variants.  With DGARRAY_TUNE=0 there is no tuning in a first run; the default variant is used.
"""
import os
import sys
import warnings

import numpy as np

from ....support import wording
from ...gpu import poisons_context
from .layout import WARP
from .variant import Shape, candidates, default, shortlist
from .variant_table import entry_for, keep, lookup, problem, read, setting, table_file
from .variant_trials import STAGES, kept, prepared

ELEMENTS, VALUES = (60_000, 250_000), 8_000_000       # see `enough`
SECONDS, FIRST_RUN = 10.0, 2.0        # of timing for one problem, without compiling: `dgarray tune`, a first run
COMPILING = 1.5               # seconds, about, to compile, set up and check one variant
MEMORY = 0.5                  # share of the device's free memory that tuning may use
FIRST_LOOK = 3                # calls of a variant after which a first time is known


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
    What is timed is the Runge-Kutta stage `variant_trials.ROW` on the middle part of the mesh, see `elements_that_fit`. A
    variant is left out, with a line of progress, if it does not compile or run, and if its result differs from the array
    kernels' by more than rounding; the latter also warns.
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
    names = problem(tables), setting(tables, backend.dtype)
    return kept(device, names, trials, why, seconds, part.elements, "stage", say)


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
