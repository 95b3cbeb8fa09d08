"""States of a run on a disk, for the way back: what `KeptStates` keeps, in a file instead of in memory."""
import shutil
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

import numpy as np

from ...support.atomic_write import OutputError

SHARE = 0.75          # of the free space of a disk that states may take, where nobody says how much


class StateFile(MutableMapping):
    """{number of steps: what `Operator.arrays` gives}, one behind the other in a file without a name: however this process
    ends, the system removes it.

    folder     where that file is;  operator: whose states these are
    slots      {number of steps: number of its place in the file};  free: numbers of places of states that are gone
    Raises OutputError where the file cannot be written or read."""

    def __init__(self, folder, operator):
        self.here, self.operator, self.folder, self.slots, self.free = operator.here, operator, folder, {}, []
        self.size = self.here.dofs * self.here.dtype.itemsize
        self.file = self.done("made", lambda: tempfile.TemporaryFile(dir=folder, buffering=0))          # noqa: SIM115

    def done(self, what, function):
        """The result of a function of the file."""
        try:
            return function()
        except OSError as error:
            raise OutputError(f"folder={str(self.folder)!r}: the file of states for the way back cannot be {what}: "
                              f"{error.strerror or error}; give memory=, the bytes that they may take there, or another "
                              "folder") from error

    def __setitem__(self, step, arrays):
        slot = self.free.pop() if self.free else len(self.slots)

        def write():
            self.file.seek(slot * self.size)
            for array in self.here.as_list(self.operator.restricted(arrays)):
                whole(self.file.write, np.ascontiguousarray(array, self.here.dtype))
        self.done("written", write)
        self.slots[step] = slot

    def __getitem__(self, step):
        arrays = [np.empty(shape, self.here.dtype) for shape in self.here.unknowns.values()]

        def read():
            self.file.seek(self.slots[step] * self.size)
            for array in arrays:
                whole(self.file.readinto, array)
        self.done("read", read)
        return self.operator.of_here(self.here.from_list(arrays))

    def __delitem__(self, step):
        self.free.append(self.slots.pop(step))

    def __iter__(self):
        return iter(self.slots)

    def __len__(self):
        return len(self.slots)

    def close(self):
        """Remove the file."""
        self.slots.clear()
        self.file.close()


def whole(function, array):
    """Write or read an array: the system may do less at once than it is asked for. Raises OSError at the end of a file."""
    left = memoryview(array).cast("B")
    while left:
        done = function(left)
        if not done:
            raise OSError("the file has an end")
        left = left[done:]


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
