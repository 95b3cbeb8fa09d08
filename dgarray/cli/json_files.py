"""The files of --json."""
import json
import os
from pathlib import Path

from ..output.atomic_write import written


def check_json(path):
    """Raise ValueError before a long run if the JSON file could not be written after it."""
    if path and (Path(path).is_dir() or not os.access(Path(path).resolve().parent, os.W_OK)):
        raise ValueError(f"--json {path}: " + ("this is a folder" if Path(path).is_dir() else
                                               f"the folder {Path(path).resolve().parent} cannot be written to"))


def write_json(path, value):
    if path:
        with written(path) as aside:
            aside.write_text(json.dumps(value, indent=1) + "\n")
