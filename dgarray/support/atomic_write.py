"""Write files atomically: they are complete or absent."""
import json
import os
from contextlib import contextmanager
from pathlib import Path


class OutputError(OSError):
    """The output could not be written, for example because the disk is full; what was written before is intact."""


@contextmanager
def written(path):
    """A temporary path beside `path` to write to; it is synced and renamed to `path` on success and removed on failure.

    It has the suffix of `path`, by which libraries choose the format.  Raises OutputError where it cannot be written."""
    path = Path(path)
    aside = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        yield aside
        sync(aside)
        os.replace(aside, path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        aside.unlink(missing_ok=True)


def sync(path):
    """Force a file or a folder through the operating system's cache. Windows cannot for what is not open for writing."""
    if os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_json(path, value):
    """Write a value as JSON."""
    with written(path) as aside:
        aside.write_text(json.dumps(value, indent=1) + "\n")
