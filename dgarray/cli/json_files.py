"""The files of --json, or standard output."""
import json
import os
import sys
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from ..support import atomic_write


@contextmanager
def json_alone(options):
    """While entered, --json - writes to standard output and all else goes to standard error."""
    if getattr(options, "json", None) != "-":
        yield
        return
    options.json = sys.stdout
    with redirect_stdout(sys.stderr):
        yield


def check_json(path):
    """Raise ValueError before a long run if the JSON file could not be written after it."""
    if isinstance(path, str) and (Path(path).is_dir() or not os.access(Path(path).resolve().parent, os.W_OK)):
        raise ValueError(f"--json {path}: " + ("this is a folder" if Path(path).is_dir() else
                                               f"the folder {Path(path).resolve().parent} cannot be written to"))


def write_json(path, value):
    """Write a value as JSON if there is a path, or a file that is open, to write it to."""
    if hasattr(path, "write"):
        print(json.dumps(value, indent=1), file=path)
    elif path:
        atomic_write.write_json(path, value)
