"""First checks of a machine with a GPU, each to run as a process: python -m dgarray.bench.gpu_probes NAME.

versions                print what is installed and found, as one line of JSON; works without a GPU and its libraries
cuda_c, numba_cuda      compile and launch a small kernel by CuPy's RawKernel, or by numba.cuda, and check its result
ceilings DTYPE          print copy bandwidth, multiply-add rate and time of a launch, as one line of JSON
first_tests FILE WORDS  run the first device tests in FILE whose names match WORDS (pytest's -k), for compute-sanitizer"""
import json
import os
import platform
import sys

import numpy as np

from ..backends import gpu
from ..physics.codegen import write_module
from .attempts import rounded
from .machine import driver_release, installed, processor, revision, wheels

COUNT, THREADS = 1000, 256                 # numbers; threads of a block: the last block is not full
TWICE = """extern "C" __global__ void twice(const float* a, float* b, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) b[i] = 2 * a[i];
}"""
TWICE_IN_PYTHON = """from numba import cuda

@cuda.jit
def twice(a, b, count):
    i = cuda.grid(1)
    if i < count:
        b[i] = 2 * a[i]
"""
TESTS = 2                                  # tests of a file; under compute-sanitizer each takes many times as long


def versions():
    """Print the device and the versions of driver, runtime, NVRTC, libraries and package; in place of one an error's text."""
    cuda, problem = gpu.driver()
    questions = {"runtime": lambda: gpu.shown(cupy().cuda.runtime.runtimeGetVersion()),
                 "nvrtc": lambda: ".".join(map(str, cupy().cuda.nvrtc.getVersion())), "numba_nvrtc": numba_nvrtc}
    answers = {name: asked(question) for name, question in questions.items()}
    print(json.dumps({
        "revision": revision(), "device": problem or asked(device), "driver": driver_release(),
        "cuda": gpu.shown(cuda) if cuda else None, **answers, "dgarray": installed("dgarray"),
        "python": platform.python_version(), "system": platform.platform(), "processor": processor(), "cores": os.cpu_count(),
        "wheels": wheels()}))


def asked(question):
    """question(), or the text of the error that it raises: a first contact looks for what is broken."""
    try:
        return question()
    except Exception as error:          # libraries that are partly installed may raise any error
        return f"{type(error).__name__}: {' '.join(str(error).split())}"


def cupy():
    import cupy
    return cupy


def device():
    """Name, memory, compute capability and multiprocessors of the current device, and how many there are."""
    runtime = cupy().cuda.runtime
    p = runtime.getDeviceProperties(runtime.getDevice())
    return (f"{p['name'].decode()}, {p['totalGlobalMem'] / 2 ** 30:.1f} GiB, compute capability {p['major']}.{p['minor']}, "
            f"{p['multiProcessorCount']} multiprocessors, 1 of {runtime.getDeviceCount()}")


def numba_nvrtc():
    """The version of the NVRTC that numba-cuda finds; CuPy may find another."""
    from numba import cuda
    return ".".join(map(str, cuda.runtime.get_version()))


def cuda_c():
    """Run a RawKernel of CuPy and check its result."""
    xp = cupy()
    a, b = xp.asarray(np.arange(COUNT, dtype=np.float32)), xp.zeros(COUNT, dtype=np.float32)
    xp.RawKernel(TWICE, "twice")((-(-COUNT // THREADS),), (THREADS,), (a, b, np.int32(COUNT)))
    check(b.get())


def numba_cuda():
    """Run a kernel of numba.cuda and check its result."""
    from numba import cuda
    a, b = cuda.to_device(np.arange(COUNT, dtype=np.float32)), cuda.to_device(np.zeros(COUNT, np.float32))
    write_module(TWICE_IN_PYTHON, "twice").twice[-(-COUNT // THREADS), THREADS](a, b, COUNT)
    check(b.copy_to_host())


def check(found):
    """Raise RuntimeError unless the kernel has doubled the numbers from 0 to COUNT - 1."""
    wrong = np.flatnonzero(found != 2 * np.arange(COUNT))
    if len(wrong):
        raise RuntimeError(f"{len(wrong)} of {COUNT} results are wrong, the first is number {wrong[0]}: {found[wrong[0]]}")
    print(f"{COUNT} results are right")


def ceilings(dtype):
    """Print the device's ceilings, see `dgarray.backends.cuda.ceilings`."""
    from ..backends.cuda.ceilings import ceilings as measured
    from ..backends.cuda.device import Device
    print(json.dumps(rounded(measured(Device(), dtype))))


def first_tests(file, words):
    """Run the first TESTS matching tests of a file; returns pytest's exit status.

    CuPy's pool is turned off: it places arrays within larger allocations, in which memcheck cannot see where an array ends."""
    import pytest

    class First:
        @pytest.hookimpl(trylast=True)             # after -m and -k
        def pytest_collection_modifyitems(self, items):
            del items[TESTS:]
    cupy().cuda.set_allocator(None)
    return pytest.main(["-q", "-m", "gpu", "-k", words, "--gpu-seconds", "0", file], plugins=[First()])


PROBES = {function.__name__: function for function in (versions, cuda_c, numba_cuda, ceilings, first_tests)}

if __name__ == "__main__":
    sys.exit(PROBES[sys.argv[1]](*sys.argv[2:]))
