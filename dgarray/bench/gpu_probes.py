"""The first things to ask of a machine with a GPU, each for a process of its own: python -m dgarray.bench.gpu_probes NAME.

versions                what is installed and found: one line of JSON; it works without any of it
cuda_c, numba_cuda      a kernel of one line by CuPy's RawKernel, and by numba.cuda: compiled, launched, its result checked
ceilings DTYPE          copy bandwidth, multiply-add rate, time of a launch: one line of JSON
first_tests FILE WORDS  the first tests on the device in a file of tests whose names have these words (pytest's -k), for a run
                        under compute-sanitizer"""
import json
import os
import platform
import sys

import numpy as np

from ..backends import gpu
from ..physics.codegen import write_module
from .attempts import rounded
from .machine import driver_release, installed, processor, revision, wheels

COUNT, THREADS = 1000, 256                 # numbers and threads of a block: the last block is not full
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
TESTS = 2                                  # of a file; under the tools of compute-sanitizer each takes many times as long


def versions():
    """Print versions of driver, runtime, NVRTC, libraries and package, and the devices; where asking raises an error, that."""
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
    """The answer, or the error as text: what is broken is what a first contact looks for."""
    try:
        return question()
    except Exception as error:          # of libraries that are half there
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
    """The version of the NVRTC that numba-cuda finds, which need not be CuPy's."""
    from numba import cuda
    return ".".join(map(str, cuda.runtime.get_version()))


def cuda_c():
    """A RawKernel of CuPy."""
    xp = cupy()
    a, b = xp.asarray(np.arange(COUNT, dtype=np.float32)), xp.zeros(COUNT, dtype=np.float32)
    xp.RawKernel(TWICE, "twice")((-(-COUNT // THREADS),), (THREADS,), (a, b, np.int32(COUNT)))
    check(b.get())


def numba_cuda():
    """A kernel of numba.cuda."""
    from numba import cuda
    a, b = cuda.to_device(np.arange(COUNT, dtype=np.float32)), cuda.to_device(np.zeros(COUNT, np.float32))
    write_module(TWICE_IN_PYTHON, "twice").twice[-(-COUNT // THREADS), THREADS](a, b, COUNT)
    check(b.copy_to_host())


def check(found):
    """Raise RuntimeError unless the kernel has done what it should."""
    wrong = np.flatnonzero(found != 2 * np.arange(COUNT))
    if len(wrong):
        raise RuntimeError(f"{len(wrong)} of {COUNT} results are wrong, the first is number {wrong[0]}: {found[wrong[0]]}")
    print(f"{COUNT} results are right")


def ceilings(dtype):
    """The device's ceilings, see `dgarray.backends.cuda.ceilings`."""
    from ..backends.cuda.ceilings import ceilings as measured
    from ..backends.cuda.device import Device
    print(json.dumps(rounded(measured(Device(), dtype))))


def first_tests(file, words):
    """Run TESTS tests; returns pytest's exit status.

    CuPy's pool hands out parts of large pieces of memory, in which memcheck sees no end of an array: it is turned off."""
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
