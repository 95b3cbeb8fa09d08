"""The files of --json."""
import os
from pathlib import Path

from .. import atomic_write


def check_json(path):
    """Raise ValueError before a long run if the JSON file could not be written after it."""
    if path and (Path(path).is_dir() or not os.access(Path(path).resolve().parent, os.W_OK)):
        raise ValueError(f"--json {path}: " + ("this is a folder" if Path(path).is_dir() else
                                               f"the folder {Path(path).resolve().parent} cannot be written to"))


def write_json(path, value):
    """Write a value as JSON if there is a path to write it to."""
    if path:
        atomic_write.write_json(path, value)
