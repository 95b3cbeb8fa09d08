"""A device that lives on the CPU, with the methods of `dgarray.backends.cuda.device.Device`, for tests without a GPU.

Arrays are strict ones.  CUDA C is compiled by the C++ compiler and executed thread by thread (`emulation.cpp`): shared memory
is poisoned with NaN before every block, and arrays lie between guards of NaN, so that a read beyond one is seen in the result
and a write raises.  numba.cuda kernels run as Python (`simulated.py`).  What a CUDA graph cannot hold is refused.
"""
import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import simulated
from strict import StrictArray, StrictNamespace, capturing, count, enqueue, refuse_in_graph

from dgarray.backends.cuda.device import THREADS, check_launch, check_shared, first_error, prelude

HEADER, RUNTIME = (Path(__file__).with_name(f"emulation.{kind}") for kind in ("hpp", "cpp"))
KERNEL = re.compile(r"__global__\s+(?:void\s+)?(?:__launch_bounds__\s*\(([^()]*)\)\s*)?(?:void\s+)?(\w+)\s*\(")
GUARD, ALIGNED = 4096, 512
ONE = threading.Lock()          # one thread launches at a time: kernels of the emulation share their blocks' memory
SIGNALLING = {"float32": np.uint32(0x7FA00000), "float64": np.uint64(0x7FF4000000000000)}


def compiler():
    """The C++ compiler, or None."""
    return shutil.which(os.environ.get("CXX") or "g++") or shutil.which("c++") or shutil.which("clang++")


class EmulatedDevice:
    name = "emulated GPU"
    capability = (9, 0)
    multiprocessors = 4
    tunes = False

    def __init__(self, shared_per_block=232448, free=2**33):
        self.xp = StrictNamespace()
        self.shared_per_block, self.free = shared_per_block, free
        self.fetches, self.launched = [], set()

    def compile(self, source, dtype):
        """A function from the name of a kernel of this CUDA C source to the kernel."""
        names, library = compiled(source, np.dtype(dtype).name)

        @cache
        def kernel(name):
            if name not in names:
                raise KeyError(f"the source has no kernel {name!r}; it has: {', '.join(names)}")
            return Kernel(self, library, name)
        return kernel

    def numba_launch(self, kernel, grid, block, arguments):
        """Run a numba.cuda kernel's Python."""
        grid, block = check_launch(kernel.__name__, grid, block, THREADS, arguments, StrictArray)
        values = [a.values if isinstance(a, StrictArray) else a for a in arguments]
        if kernel not in self.launched:
            refuse_in_graph(f"the first launch of {kernel.__name__}, which compiles it,")
        self.launched.add(kernel)
        count(kernel.__name__)

        def launch():
            with ONE:
                simulated.launch(kernel, grid, block, values)
        enqueue(launch)

    def capture(self, function):
        """The launches and copies that function() makes, as a graph with `launch()`."""
        with capturing() as calls:
            function()
        return Graph(calls)

    def fetch(self, array):
        """Start a copy to the host; the values are those of now."""
        refuse_in_graph("a fetch")
        self.fetches = [fetch for fetch in self.fetches if not fetch.done]
        if len(self.fetches) == 2:
            self.fetches.pop(0).done = True            # there are two buffers: a third copy waits for the first
        self.fetches.append(Fetch(np.array(array.values)))
        return self.fetches[-1]

    def seconds(self, function, repeats):
        """The seconds that each of `repeats` calls takes."""
        def once():
            start = time.perf_counter()
            function()
            return time.perf_counter() - start
        return [once() for _ in range(repeats)]

    def synchronize(self):
        refuse_in_graph("a wait for the device")

    def free_memory(self):
        return self.free

    def pooled_memory(self):
        return 0


class IdleDevice(EmulatedDevice):
    """The emulated device with kernels that do nothing: they need no compiler, and no memory for their emulation."""

    def compile(self, source, dtype):
        return lambda name: lambda *arguments: None

    def numba_launch(self, *arguments):
        pass


class Kernel:
    """kernel(grid, block, arguments, shared=0), as of CUDA C on the device, with every argument checked."""

    def __init__(self, device, library, name):
        self.device, self.name, self.run = device, name, runner(library, name)
        kinds = getattr(library, f"kinds_{name}")
        kinds.restype = ctypes.c_char_p
        self.kinds, self.threads = kinds().decode().split(), getattr(library, f"threads_{name}")()

    def __call__(self, grid, block, arguments, shared=0):
        grid, block = check_launch(self.name, grid, block, self.threads, arguments, StrictArray)
        check_shared(self.name, shared, self.device.shared_per_block)
        given = [("*" if isinstance(a, StrictArray) else "") + a.dtype.str[1:] for a in arguments]
        if given != self.kinds:
            raise TypeError(f"{self.name} takes ({', '.join(self.kinds)}), not ({', '.join(given)})")
        count(self.name)
        values = [a.values if isinstance(a, StrictArray) else np.array(a) for a in arguments]
        arrays = [v for v, a in zip(values, arguments) if isinstance(a, StrictArray)]

        def launch():
            with ONE, Guarded(arrays) as guarded:
                pointers = [ctypes.c_void_p(guarded.address(v)) if isinstance(a, StrictArray) else None
                            for v, a in zip(values, arguments)]
                places = [v.ctypes.data if p is None else ctypes.addressof(p) for v, p in zip(values, pointers)]
                fault = self.run(grid, block, shared, places)
            if fault := fault or guarded.fault:
                raise RuntimeError(f"{self.name}: {fault}")
        enqueue(launch)

    def resident(self, threads, shared=0):
        return 1                                               # so that a block takes several groups of elements


class Guarded:
    """Copies of arrays between guards of signalling NaN, which even x += y changes; arrays that share memory still do so."""

    def __init__(self, arrays):
        self.pieces = []                                       # [first address, end, bits of a guard]
        bounds = [(*np.lib.array_utils.byte_bounds(array), array) for array in arrays if array.size]
        for start, end, array in sorted(bounds, key=lambda each: each[:2]):
            if self.pieces and start < self.pieces[-1][1]:
                self.pieces[-1][1] = max(end, self.pieces[-1][1])
            else:
                self.pieces.append([start, end, SIGNALLING.get(array.dtype.name, np.int32(-1))])

    def __enter__(self):
        self.copies = []
        for start, end, guard in self.pieces:
            room = np.full((end - start + 2 * GUARD + ALIGNED) // guard.itemsize, guard).view(np.uint8)
            first = GUARD + -(room.ctypes.data + GUARD) % ALIGNED
            self.copies.append((room, first, room.copy()))
            ctypes.memmove(room.ctypes.data + first, start, end - start)
        return self

    def address(self, array):
        for (start, end, _), (room, first, _) in zip(self.pieces, self.copies):
            if start <= array.ctypes.data < end:
                return room.ctypes.data + first + array.ctypes.data - start
        return 0                                               # an empty array

    def __exit__(self, *_):
        self.fault = None
        for (start, end, _), (room, first, before) in zip(self.pieces, self.copies):
            ctypes.memmove(start, room.ctypes.data + first, end - start)
            before[first:first + end - start] = room[first:first + end - start]
            if not np.array_equal(before, room):
                self.fault = "it writes beyond an array"


class Graph:
    def __init__(self, calls):
        self.calls = calls

    def launch(self):
        refuse_in_graph("the launch of another graph")
        for call in self.calls:
            call()


class Fetch:
    """A copy on its way to the host: ready at the second question, so that the waiting is tested."""

    def __init__(self, values):
        self.values, self.asked, self.done = values, False, False

    def ready(self):
        self.done, self.asked = self.done or self.asked, True
        return self.done

    def result(self):
        refuse_in_graph("a copy to the host")
        self.done = True
        return self.values


def compiled(source, dtype):
    """(names of the kernels, library) of a CUDA C source; a `runner` runs one."""
    text = [f'#include "{HEADER.name}"', prelude(dtype), '#line 1 "kernel.cu"', source, '#line 1 "wrapper"']
    names = []
    for bounds, name in KERNEL.findall(re.sub(r"//[^\n]*|/\*.*?\*/", "", source, flags=re.DOTALL)):
        names.append(name)
        text.append(f'extern "C" const char* run_{name}(uint3* grid, uint3* block, unsigned shared, void** arguments) '
                    f"{{ return emulation::launch({name}, *grid, *block, shared, arguments); }}\n"
                    f'extern "C" const char* kinds_{name}() {{ return emulation::kinds({name}); }}\n'
                    f'extern "C" unsigned threads_{name}() {{ return emulation::first({bounds or THREADS}); }}')
    runtime()
    return names, ctypes.CDLL(str(shared_object("\n".join(text))))


def runner(library, name):
    """A function run(grid, block, shared, addresses of the arguments) of a kernel, which returns what went wrong, or None."""
    function = getattr(library, f"run_{name}")
    function.restype = ctypes.c_char_p
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_void_p]

    def run(grid, block, shared, places):
        shapes = [(ctypes.c_uint * 3)(*shape) for shape in (grid, block)]
        fault = function(*shapes, shared, (ctypes.c_void_p * len(places))(*places))
        return fault.decode() if fault else None
    return run


@cache
def _private_folder():
    return tempfile.TemporaryDirectory(prefix="dgarray-emulated-")


def cached(text, name, write):
    """The path of the file or folder called `name`, with the hash of `text` in it, that write(path) makes once."""
    folder = Path(os.environ.get("DGARRAY_CACHE") or _private_folder().name)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name.format(hashlib.sha256((HEADER.read_text() + text).encode()).hexdigest()[:16])
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=folder) as aside:
            write(Path(aside) / "made")
            with suppress(OSError):                            # another process may have been faster
                os.replace(Path(aside) / "made", path)
    return path


def compile_cpp(*arguments):
    done = subprocess.run([compiler(), "-std=c++20", "-O1", "-shared", "-fPIC", "-Wno-unknown-pragmas", "-ffp-contract=off",
                           *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"CUDA C does not compile: {first_error(done.stderr)}")


@cache
def precompiled():
    """The folder with the header and its compiled form, which saves most of a kernel's compile time."""
    def write(folder):
        folder.mkdir()
        shutil.copy(HEADER, folder)
        compile_cpp("-x", "c++-header", "-o", folder / f"{HEADER.name}.gch", folder / HEADER.name)
    return cached(compiler(), "emulation_{}", write)


@cache
def runtime():
    """The library that runs the threads of every kernel, loaded for all of them."""
    path = cached(RUNTIME.read_text(), "emulation_{}.so", lambda path: compile_cpp("-o", path, RUNTIME))
    return ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)


@cache
def shared_object(text):
    """The path of the compiled text."""
    def write(path):
        source = path.with_suffix(".cpp")
        source.write_text(text)
        compile_cpp("-I", precompiled(), "-o", path, source)
    return cached(text, "emulated_{}.so", write)
