"""Checkpoints: all that a run needs to continue bit for bit, in the folder `checkpoints` of its store.

One file holds the arrays and, as JSON, the facts; a zip archive (npz), whose comment is a checksum of all before it.  It is
written to a temporary file, synced and renamed, and the two latest are kept, so one is valid at every moment.
"""
import json
import os
import warnings
import zipfile
import zlib
from pathlib import Path

import numpy as np

from dgarray.atomic_write import OutputError, sync
from dgarray.output.checksums import BLANK, DamagedError, digits
from dgarray.output.files import groups, read_metadata

KEPT = 2
MARK = b"crc32c "
# What zipfile raises for an archive that is cut short, or one without our checksum in which bits have flipped.
UNREADABLE = (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


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
        with aside.open("w+b") as stream:
            np.savez(stream, facts=np.frombuffer(json.dumps(facts).encode(), np.uint8), **arrays)
            with zipfile.ZipFile(stream, "a") as archive:
                archive.comment = MARK + BLANK
            size = stream.seek(-len(BLANK), os.SEEK_END)
            found = digits(stream, size)
            stream.seek(size)
            stream.write(found)
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


def files_of(out):
    """The checkpoints of the store `out`, the latest first."""
    return sorted(folder_of(out).glob("*.npz"), reverse=True)


def not_begun(out):
    """Whether the run of the store `out` was stopped before its first checkpoint, with only the initial state to lose."""
    return not files_of(out) and read_metadata(groups(Path(out))[0])[1]["time"]["shape"][0] <= 1


def damage(file):
    """What is wrong with a checkpoint, a DamagedError, or None. Those of earlier versions have checksums of their parts."""
    try:
        with file.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END) - len(BLANK)
            stream.seek(max(size - len(MARK), 0))
            end = stream.read()
            if end.startswith(MARK):
                return None if MARK + digits(stream, size) == end else DamagedError(file)
            with zipfile.ZipFile(stream) as archive:
                return DamagedError(file) if archive.comment or archive.testzip() else None
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        return DamagedError(file, f"it cannot be read ({error})")


def load(out):
    """Arrays and facts of the last good checkpoint of the store `out`; later ones, which are damaged, are named by a warning
    and removed.

    Raises ValueError if there is none."""
    damaged = []
    for file in files_of(out):
        error = damage(file)
        if error is not None:
            damaged.append(error)
            continue
        with np.load(file) as archive:
            arrays = {name: archive[name] for name in archive.files}
        facts = json.loads(arrays.pop("facts").tobytes())
        if damaged:
            warnings.warn(f"{'; '.join(map(str, damaged))}; continuing from the checkpoint before it, at t = {facts['t']:.6g}",
                          stacklevel=4)
        for bad in damaged:
            bad.file.unlink()
        return arrays, facts
    raise ValueError(f"{out} has no checkpoint that can be read{': ' * bool(damaged)}{'; '.join(map(str, damaged))}; "
                     "start anew with --overwrite (overwrite=True) or another path")
