"""First checks of a machine with a GPU, each to run as a process: python -m dgarray.bench.gpu_probes NAME.

versions                print what is installed and found, as one line of JSON; works without a GPU and its libraries
cuda_c, numba_cuda      compile and launch a small kernel by CuPy's RawKernel, or by numba.cuda, and check its result
ceilings DTYPE          print copy bandwidth, multiply-add rate and time of a launch, as one line of JSON
speed ORDER FILE        check and time Maxwell's equations on tetrahedra in float32, with the default variant of the kernels
stages ORDER            launch a few of its stages, one by one, for a profiler
tune ORDER FILE         tune its kernels; after each variant its time is in the file
rows ORDERS FILE        the rows of `dgarray bench --backend cupy` at these orders, such as 3 or 5,6, without the processor's
cases NAMES FILE        the same of cases, such as sod,hex_cavity
first_tests FILE WORDS  run the first device tests in FILE whose names match WORDS (pytest's -k), for compute-sanitizer"""
import json
import os
import platform
import sys

import numpy as np

from ..backends import gpu
from ..support.atomic_write import write_json
from ..support.cached_modules import write_module
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
LAUNCHES = 8                               # of a kernel for a profiler, which looks at one of them
SMALL, STEPS, CLOSE = 3, 5, 1e-5           # cells in each direction; steps; allowed difference, of the largest number
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
    cuda = gpu.numba_cuda()
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


def speed(order, file):
    """Steps of Maxwell's equations on a few tetrahedra, compared with those of the processor; then the row of a large mesh.

    Neither needs numba-cuda: the default variant is one kernel of CUDA C.  Raises RuntimeError for a wrong result."""
    from . import gpu as bench
    device, make, name = untuned(), bench.DeviceProblem, f"Maxwell 3D N={order}, float32"
    wrong = difference(int(order), device)
    print(f"after {STEPS} steps the largest difference from the processor's array expressions is {wrong:.1e}", flush=True)
    if not wrong <= CLOSE:
        raise RuntimeError(f"the kernels of order {order} are wrong: {wrong:.1e} is more than {CLOSE:.0e}")
    result = {"machine": bench.machine_with(device, os.cpu_count()), "ceilings": {}, "rows": [], "difference": wrong}
    measure = bench.Measure(device, False, result, None)
    measure.limits("float32")
    host = bench.problem(int(order), bench.SIZES[int(order)])
    measure.row(name, lambda backend: make(host.on(backend), device), bench.CudaBackend("float32", device))
    write_json(file, rounded(result))
    row, = result["rows"]
    print(json.dumps({"DOF/s": f"{row['best']:.4g}", "of bound": f"{row['share_of_bound']:.0%}", "by": row["bound_by"],
                      "GFLOP/s": f"{row['flop_rate'] / 1e9:.0f}", "GB/s": f"{row['byte_rate'] / 1e9:.0f}"}))


def untuned():
    """The device; kernels have their default variants."""
    from ..backends.cuda.device import Device
    os.environ["DGARRAY_TUNE"] = "0"
    return Device()


def difference(order, device):
    """Largest difference of a state after STEPS steps on the device, over its largest number on the processor."""
    from . import gpu as bench
    from .problem import Problem
    host = bench.problem(order, SMALL)
    on_device, here = host.on(bench.CudaBackend("float32", device)), host
    states = [operator.host(stepped(Problem(operator, stepper=bench.LSRK54), 1e-3 / order ** 2))
              for operator in (on_device, here)]
    return float(np.abs(states[0] - states[1]).max() / np.abs(states[1]).max())


def stepped(problem, dt):
    """The state after STEPS steps of length dt."""
    for _ in range(STEPS):
        problem.states, _ = problem.operator.operations.step(problem.stepper, problem.states, problem.k, 0.0, dt)
    return problem.states[0]


def stages(order):
    """Launch the stage kernel of the default variant one by one, without a graph."""
    from . import gpu as bench
    from .problem import usual
    device = untuned()
    operator = bench.problem(int(order), bench.SIZES[int(order)]).on(bench.CudaBackend("float32", device))
    q, out, k = operator.state(usual(operator)), operator.zeros(), operator.zeros()
    for _ in range(LAUNCHES):
        operator.stage(q, out, k, q, 0.0, 1e-9, bench.LSRK54.stages[1])
    device.synchronize()


def tune(order, file):
    """Time every variant of the kernels at one order; the file has a list of those timed so far, fastest first."""
    from ..backends.cuda import CudaBackend
    from ..backends.cuda.device import Device
    from .tune import Own, tune as whole
    from .tuning_table import table
    found = []

    def each(variant, seconds):
        found.append({"seconds": seconds, "variant": vars(variant)})
        found.sort(key=lambda one: one["seconds"])
        write_json(file, rounded(found))
        print(f"{len(found)} variants, fastest {found[0]['seconds']:.3g} s a stage; now {seconds:.3g} s: {variant}", flush=True)
    result = whole(CudaBackend("float32", Device()), Own("maxwell-3d", int(order)).tables(), progress=print, each=each)
    write_json(file, rounded([{"seconds": seconds, "variant": vars(variant)} for variant, seconds, _ in result["ranking"]]))
    print(table(result))
    fastest, seconds, share = result["ranking"][0]
    print(f"{len(result['ranking'])} variants, fastest {seconds:.3g} s a stage, {share:.0%} of the bound: {fastest}")


def rows(orders, file):
    """The rows of nodal Maxwell; returns the exit status, 1 if a part failed."""
    return measured(file, orders=[int(order) for order in orders.split(",")])


def cases(names, file):
    """The rows of cases; returns the exit status, 1 if a part failed."""
    return measured(file, cases=names.split(","))


def measured(file, **what):
    """Measure rows, written to the file after each part, and print them."""
    from ..backends.cuda.device import Device
    from .gpu import bench
    from .gpu_tables import table
    result = bench(device=Device(), cpu=False, keep=lambda result: write_json(file, result), progress=print, **what)
    write_json(file, result)
    print(table(result))
    return int(bool(result["failed"]))


def first_tests(file, words):
    """Run the first TESTS matching tests of a file; returns pytest's exit status.

    CuPy's pool is turned off: it places arrays within larger allocations, in which memcheck cannot see where an array ends."""
    import pytest

    class First:
        @pytest.hookimpl(trylast=True)             # after -m and -k
        def pytest_collection_modifyitems(self, items):
            del items[TESTS:]
    cupy().cuda.set_allocator(None)
    chosen = "-m", "gpu", "--all-combinations", "-k", words
    return pytest.main(["-q", *chosen, "--gpu-seconds", "0", file], plugins=[First()])


PROBES = {function.__name__: function for function in (
    versions, cuda_c, numba_cuda, ceilings, speed, stages, tune, rows, cases, first_tests)}

if __name__ == "__main__":
    sys.exit(PROBES[sys.argv[1]](*sys.argv[2:]))
