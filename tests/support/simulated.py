"""numba.cuda kernels on the CPU, in Python, as by numba's simulator but without a thread of Python's for each thread.

The threads of a block go on one after the other; where a kernel has barriers its text becomes a generator, which stops there.
From barrier to barrier the threads go from the first to the last and from the last to the first in turns, and in the next block
the other way: of two blocks that lack a barrier one is wrong, every time. Shared memory holds NaN when a block begins.
"""
import itertools
import re
import sys
from functools import cache
from pathlib import Path
from types import FunctionType, SimpleNamespace

import numpy as np
from numba.np.numpy_support import as_dtype

BARRIER = re.compile(r"\bcuda\.syncthreads\(\)")


class Cuda:
    """What the name `cuda` means in a kernel."""

    def __init__(self):
        self.shared = SimpleNamespace(array=self.array)

    def array(self, shape, dtype):
        """Shared memory: one array for each place in the text."""
        place = sys._getframe(1).f_lineno
        if place not in self.arrays:
            self.arrays[place] = np.full(shape, np.nan, as_dtype(dtype))
        return self.arrays[place]

    def grid(self, dimensions):
        found = tuple(getattr(self.blockIdx, x) * getattr(self.blockDim, x) + getattr(self.threadIdx, x)
                      for x in "xyz"[:dimensions])
        return found if dimensions > 1 else found[0]


@cache
def prepared(kernel):
    """A kernel's `cuda`, its function, and whether that is a generator, which gives the line of each barrier."""
    cuda, function = Cuda(), kernel.py_func
    names = function.__globals__ | {"cuda": cuda}
    if "syncthreads" not in function.__code__.co_names:
        return cuda, FunctionType(function.__code__, names), False
    path = function.__code__.co_filename
    lines = Path(path).read_text().splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith(f"def {function.__name__}("))
    text = "\n".join([""] * head + [BARRIER.sub(f"yield {number}", line) for number, line in enumerate(lines[head:], head + 1)])
    exec(compile(text, path, "exec"), names)
    return cuda, names[function.__name__], True


def places(shape):
    """The numbers (x, y, z) of the blocks of a grid or of the threads of a block, x first."""
    return [SimpleNamespace(x=x, y=y, z=z) for z, y, x in itertools.product(*map(range, reversed(shape)))]


def launch(kernel, grid, block, arguments):
    """Run the kernel; RuntimeError where the threads of a block wait at different barriers."""
    cuda, function, waits = prepared(kernel)
    cuda.gridDim, cuda.blockDim = (SimpleNamespace(**dict(zip("xyz", shape))) for shape in (grid, block))
    threads = places(block)
    for number, cuda.blockIdx in enumerate(places(grid)):
        cuda.arrays, backwards = {}, number % 2
        waiting = [(thread, function(*arguments)) for thread in threads] if waits else []
        for cuda.threadIdx in () if waits else threads[::-1 if backwards else 1]:
            function(*arguments)
        while waiting:
            lines = {}
            for cuda.threadIdx, going in waiting[::-1 if backwards else 1]:
                lines[going] = next(going, None)
            waiting, backwards = [each for each in waiting if lines[each[1]] is not None], not backwards
            if len({lines[going] for _, going in waiting}) > 1:
                raise RuntimeError(f"{kernel.__name__}: threads of a block wait at different barriers: {set(lines.values())}")
