"""States of a run in files, for the way back: what `KeptStates` keeps, on a disk instead of in memory."""
import shutil
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

import numpy as np

from ..support.atomic_write import OutputError

SHARE = 0.75          # of the free space of a disk that states may take, where nobody says how much


class StateFiles(MutableMapping):
    """{number of steps: what `Operator.arrays` gives}, each in a file of a new folder, which `close` removes.

    folder     where that folder is made;  operator: whose states these are
    Raises OutputError where a file cannot be written or read."""

    def __init__(self, folder, operator):
        self.here, self.operator = operator.here, operator
        try:
            self.path = Path(tempfile.mkdtemp(prefix="dgarray-states-", dir=folder))
        except OSError as error:
            raise OutputError(f"folder={str(folder)!r}: states cannot be kept there: {error.strerror or error}") from error
        self.steps = set()

    def file(self, step):
        return self.path / f"{step}.npy"

    def __setitem__(self, step, arrays):
        try:
            with self.file(step).open("wb") as file:
                for array in self.here.as_list(self.operator.restricted(arrays)):
                    np.save(file, array)
        except OSError as error:
            raise OutputError(f"{self.path}: the state after {step} steps cannot be written: {error.strerror or error}; give "
                              "memory=, the bytes that states may take there, or another folder") from error
        self.steps.add(step)

    def __getitem__(self, step):
        try:
            with self.file(step).open("rb") as file:
                arrays = [np.load(file) for _ in self.here.unknowns]
        except OSError as error:
            raise OutputError(f"{self.path}: the state after {step} steps cannot be read: {error.strerror or error}") from error
        return self.operator.of_here(self.here.from_list(arrays))

    def __delitem__(self, step):
        self.steps.remove(step)
        self.file(step).unlink(missing_ok=True)

    def __iter__(self):
        return iter(sorted(self.steps))

    def __len__(self):
        return len(self.steps)

    def close(self):
        """Remove all files."""
        self.steps.clear()
        shutil.rmtree(self.path, ignore_errors=True)


def check_folder(folder):
    """Raise ValueError unless this is None or a folder that exists."""
    if folder is not None and not (isinstance(folder, str | Path) and Path(folder).is_dir()):
        raise ValueError(f"folder={folder!r} is not allowed; give a folder that exists, for the states of the way back")


def states_that_fit(folder, memory, size, operator):
    """How many states of so many bytes may be in a folder, of each process the same number; memory: bytes, or None.

    Raises ValueError where the disk has less."""
    parts = operator.everyones(shutil.disk_usage(folder).free)
    free = min(parts) / len(parts)          # ranks may share a disk
    most = int(SHARE * free if memory is None else memory) // size
    if most < 1 or most * size > free:
        raise ValueError(f"folder={str(folder)!r} has {free:.3g} bytes free for each process, too few for "
                         + (f"a state of {size}" if memory is None else f"memory={memory!r}"))
    return most
