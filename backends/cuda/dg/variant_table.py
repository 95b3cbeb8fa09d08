"""The table on disk of the fastest variants: which variant of a kernel a device and problem have.

The table is JSON that a person can read, change and pass on:

    {"NVIDIA H200": {"Maxwell 3D, 6 variables, 0 coefficients, needs x: no": {"order 4, float32": {
        "variant": {...}, "seconds": 1.23e-3, "elements": 60000, "of": 12, "date": "2026-05-17"}}}}

with the seconds of a stage on so many elements, and "of" the number of variants that were timed.

`tuning.json` in `cached_modules.cache_folder()` holds what was measured on this machine; it comes
before the table that the package ships.
"""
import json
import time
import warnings
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import numpy as np

from ....support.cached_modules import cache_folder, private_folder, write_file
from .variant import Shape, from_dict

try:
    import fcntl
except ImportError:           # not on Windows, where two processes that tune at one moment may lose one result
    fcntl = None

NAME = "tuning.json"
SHIPPED = Path(__file__).with_name(NAME)


def problem(tables):
    """The name of a problem in the table: all that the kernel's text depends on besides order and dtype."""
    return (f"{type(tables.law).__name__} {tables.dim}D, {tables.variables} variables, "
            f"{len(tables.physics.varying)} coefficients, needs x: {'yes' if tables.needs_x else 'no'}")


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
    """(file, entry) of the first table that has this device, problem and setting, by their names; (None, None) if none has."""
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
    """The variant that a table has for this device, problem and setting, by their names, or None; ValueError for a wrong entry.

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
    """Put an entry for this device, problem and setting, by their names, into the table of this machine; returns the file."""
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
    """Context in which no other process writes the file. The lock is on a file beside it, since the file itself is replaced.

    Raises OSError where the lock cannot be had: `dgarray.support.cached_modules.locked` would go on without."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_suffix(".lock"), "w") as file:
        if fcntl:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def entry_for(variant, seconds, elements, of):
    """The table's entry for a variant that is the fastest of so many."""
    return {"variant": asdict(variant), "seconds": float(f"{seconds:.4g}"), "elements": elements, "of": of,
            "date": time.strftime("%Y-%m-%d")}
