"""Checkpoints: all that a run needs to continue bit for bit, in the folder `checkpoints` of its store.

One file holds the arrays and, as JSON, the facts; a zip archive (npz), whose comment is a checksum of all before it.  It is
written to a temporary file, synced and renamed, and the two latest are kept, so one is valid at every moment.

Several processes, the ranks of a run, each write their share of the state to a file STEP.rankN of the same kind; the first one
writes the file as before when all are on disk, with its own share, and with their checksums among the facts.  So any number of
processes, also one, can go on from it.
"""
import io
import json
import os
import warnings
import zipfile
import zlib
from math import prod
from pathlib import Path

import numpy as np

from dgarray.output.store.checksums import BLANK, DamagedError, digits
from dgarray.output.store.files import groups, read_metadata
from dgarray.support.atomic_write import OutputError, sync

KEPT = 2
MARK = b"crc32c "
BLOCK = 2**24          # bytes that are read at once
# What zipfile raises for an archive that is cut short, or one without our checksum in which bits have flipped.
UNREADABLE = (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


def folder_of(out):
    """Where the checkpoints of the store `out` lie."""
    return Path(out) / "checkpoints"


def save(out, step, arrays, facts, begins=None, ranks=None):
    """Write the checkpoint after `step` steps: arrays {name: array}, facts that JSON can hold; the oldest goes.

    ranks    the `Messages` of the processes that write it together, each its share of the state's arrays; all call this
             function, and facts and arrays that are no shares are the first one's
    begins   {name: (axis, where the share begins along it)} of each array that is a share
    Raises OutputError if it cannot be written; the earlier ones are intact then."""
    file = folder_of(out) / f"{step:012d}.npz"
    if ranks is None:
        complete(file, arrays, facts)
        return
    facts = facts | {"begins": begins}
    digits, fault = None, None
    if ranks.part:
        try:
            digits = write(of_rank(file, ranks.part), {name: arrays[name] for name in begins}, {"begins": begins})
        except OutputError as error:
            fault = error
    found = ranks.everyones((digits, fault))
    for _, fault in found:
        if fault is not None:
            raise fault
    ranks.once(complete, file, arrays, facts | {"ranks": [each for each, _ in found[1:]]})


def complete(file, arrays, facts):
    """Write the file of the first process, with which a checkpoint counts; the oldest one goes."""
    write(file, arrays, facts)
    for old in sorted(file.parent.glob("*.npz"))[:-KEPT]:
        remove(old)


def write(file, arrays, facts):
    """Write one archive of a checkpoint; returns its checksum, eight digits. Raises OutputError if it cannot be written."""
    folder, aside = file.parent, file.with_name(file.name + ".partial")
    try:
        folder.mkdir(exist_ok=True)
        with aside.open("w+b") as stream:
            np.savez(stream, facts=np.frombuffer(json.dumps(facts).encode(), np.uint8),
                     **{name: np.asarray(array, order="C") for name, array in arrays.items()})
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
    return found.decode()


def of_rank(file, rank):
    """The file of a rank of the checkpoint `file`."""
    return file.with_suffix(f".rank{rank}")


def remove(file):
    """Remove a checkpoint."""
    file.unlink()
    for other in file.parent.glob(f"{file.stem}.rank*"):
        other.unlink()


def files_of(out):
    """The checkpoints of the store `out`, the latest first."""
    return sorted(folder_of(out).glob("*.npz"), reverse=True)


def not_begun(out):
    """Whether the run of the store `out` was stopped before its first checkpoint, with only the initial state to lose."""
    return not files_of(out) and read_metadata(groups(Path(out))[0])[1]["time"]["shape"][0] <= 1


def damage(file):
    """The DamagedError of a file of a checkpoint, None where it is whole. Those of earlier versions have checksums of their
    parts."""
    try:
        with file.open("rb") as stream:
            end = signature(stream)
            if end.startswith(MARK):
                size = stream.seek(0, os.SEEK_END) - len(BLANK)
                return None if MARK + digits(stream, size) == end else DamagedError(file)
            with zipfile.ZipFile(stream) as archive:
                return DamagedError(file) if archive.comment or archive.testzip() else None
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        return DamagedError(file, f"it cannot be read ({error})")


def signature(stream):
    """The last bytes of an open file: the comment of an archive, if this module wrote it."""
    stream.seek(max(stream.seek(0, os.SEEK_END) - len(MARK + BLANK), 0))
    return stream.read()


def damage_of_any(file):
    """The DamagedError of the first damaged file of the checkpoint `file`, None where all are whole."""
    error = damage(file)
    for rank, expected in enumerate([] if error else facts_of(file).get("ranks", []), 1):
        other = of_rank(file, rank)
        if not other.is_file():
            return DamagedError(other, "it is missing")
        with other.open("rb") as stream:
            same = signature(stream) == MARK + expected.encode()
        if not same:
            return DamagedError(other, f"it is not of this checkpoint, {file.name}")
        error = error or damage(other)
    return error


def latest(out):
    """The last good checkpoint of the store `out`; later ones, which are damaged, are named by a warning and removed.

    Raises ValueError if there is none."""
    damaged = {}
    for file in files_of(out):
        error = damage_of_any(file)
        if error is not None:
            damaged[file] = error
            continue
        if damaged:
            warnings.warn(f"{'; '.join(map(str, damaged.values()))}; continuing from the checkpoint before it, at t = "
                          f"{facts_of(file)['t']:.6g}", stacklevel=5)
        for bad in damaged:
            remove(bad)
        return file
    raise ValueError(f"{out} has no checkpoint that can be read{': ' * bool(damaged)}{'; '.join(map(str, damaged.values()))}; "
                     "start anew with --overwrite (overwrite=True) or another path")


def facts_of(file):
    """The facts of a file of a checkpoint."""
    with np.load(file) as archive:
        return json.loads(archive["facts"].tobytes())


def arrays_of(file, wanted=None):
    """{name: array} of the checkpoint `file`.

    wanted   {name: (axis, entries)}: of these arrays only the entries along an axis, (entry,) numbers in the whole array, are
             read, without holding more of them than they take and `BLOCK` bytes"""
    facts = facts_of(file)
    files = [file, *(of_rank(file, rank) for rank in range(1, 1 + len(facts.get("ranks", []))))]
    shares = facts.get("begins", {})
    with np.load(file) as archive:
        arrays = {name: archive[name] for name in archive.files if name not in {"facts", *shares, *(wanted or {})}}
    if wanted is None:
        for name, (axis, _) in shares.items():
            arrays[name] = np.concatenate([np.load(each)[name] for each in files], axis)
        return arrays
    begins = [facts_of(each).get("begins", {}) for each in files]
    for name, (axis, entries) in wanted.items():
        found = None
        for each, begin in zip(files, begins):
            found = take(each, name, axis, entries - begin.get(name, (axis, 0))[1], found)
        arrays[name] = found
    return arrays


def take(file, name, axis, entries, found=None):
    """Read entries along an axis of an array in an archive, those that it has, into `found` or a new array."""
    with zipfile.ZipFile(file) as archive, archive.open(f"{name}.npy") as stream:
        version, _ = np.lib.format.read_magic(stream)
        shape, by_columns, dtype = getattr(np.lib.format, f"read_array_header_{version}_0")(stream)
        if found is None:
            found = np.empty((*shape[:axis], len(entries), *shape[axis + 1:]), dtype)
        if by_columns:          # earlier versions wrote arrays as they lay in memory
            whole = np.frombuffer(stream.read(), dtype).reshape(shape, order="F")
            stream = io.BytesIO(whole.tobytes())
        rows, length, width = prod(shape[:axis]), shape[axis], prod(shape[axis + 1:])
        step, target = max(1, BLOCK // max(1, width * dtype.itemsize)), found.reshape(rows, len(entries), width)
        for row in range(rows):
            for first in range(0, length, step):
                count = min(step, length - first)
                block = np.frombuffer(stream.read(count * width * dtype.itemsize), dtype).reshape(count, width)
                here = np.flatnonzero((entries >= first) & (entries < first + count))
                target[row, here] = block[entries[here] - first]
    return found
