"""Checkpoints: all that a run needs to go on bit for bit, in the folder `checkpoints` of its store.

One file holds the arrays and, as JSON, the facts; a zip archive (npz) with a checksum (CRC-32) for each member.  It is written
aside, forced to disk and renamed, and the two latest are kept, so that there is a good one at every moment.
"""
import json
import os
import zipfile
import zlib
from hashlib import sha256
from pathlib import Path

import numpy as np
import xarray as xr

from dgarray.output.files import sync
from dgarray.output.store import OutputError

KEPT = 2
UNREADABLE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)


def folder_of(out):
    """Where the checkpoints of the store `out` lie."""
    return Path(out) / "checkpoints"


def save(out, step, arrays, facts):
    """Write the checkpoint after `step` steps: arrays {name: array}, facts that JSON can hold; the oldest goes.

    Raises OutputError if it cannot be written; the earlier ones are intact then."""
    folder = folder_of(out)
    file = folder / f"{step:012d}.npz"
    aside = file.with_suffix(".partial")
    try:
        folder.mkdir(exist_ok=True)
        with aside.open("wb") as stream:
            np.savez(stream, facts=np.frombuffer(json.dumps(facts).encode(), np.uint8), **arrays)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(aside, file)
        sync(folder)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise OutputError(f"{file}: the checkpoint cannot be written: {error.strerror or error}; "
                          "the snapshots and the checkpoints before are kept") from error
    for old in sorted(folder.glob("*.npz"))[:-KEPT]:
        old.unlink()


def not_begun(out):
    """Whether the run of the store `out` was stopped before its first checkpoint, with only the initial state to lose."""
    return not any(folder_of(out).glob("*.npz")) and xr.open_zarr(out).sizes["time"] <= 1


def load(out):
    """Arrays and facts of the last good checkpoint of the store `out`; later ones, which cannot be read, are removed.

    Raises ValueError if there is none."""
    files = sorted(folder_of(out).glob("*.npz"), reverse=True)
    for number, file in enumerate(files):
        try:
            with np.load(file) as archive:
                arrays = {name: archive[name] for name in archive.files}
            facts = json.loads(arrays.pop("facts").tobytes())
        except UNREADABLE:
            continue
        for bad in files[:number]:
            bad.unlink()
        return arrays, facts
    raise ValueError(f"{out} has no checkpoint that can be read ({len(files)} damaged); start anew with --overwrite "
                     "(overwrite=True) or another path")


def digest(*arrays):
    """Eight digits that tell arrays apart."""
    found = sha256()
    for array in arrays:
        found.update(memoryview(np.ascontiguousarray(array)).cast("B") if array.size else b"")
    return found.hexdigest()[:8]
