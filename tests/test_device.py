"""The device: launches, graphs, copies to the host; the emulation's own checks; what is said where no GPU can be used."""
import ctypes
import re
import subprocess
import sys
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from compiled import ARCHITECTURES, compiled, float64_instructions, without_simulator
from emulated import EmulatedDevice, compiler
from numba import config
from strict import StrictArray, StrictNamespace

from dgarray import backends
from dgarray.backends import gpu
from dgarray.backends.cuda.device import Device
from dgarray.support.cached_modules import write_module

LIFT = r"""
extern "C" __global__ void __launch_bounds__(256) lift(const real* L, const real* flux, real* out, int nodes, int face_nodes,
                                                       int elements) {
    DYNAMIC_SHARED(real, f);                                      // [face node][element of this block]
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = threadIdx.y; k < face_nodes; k += blockDim.y)
        if (e < elements) f[k * blockDim.x + threadIdx.x] = flux[k * elements + e];
    __syncthreads();
    if (e >= elements) return;
    for (int i = threadIdx.y; i < nodes; i += blockDim.y) {
        real sum = 0;
        for (int k = 0; k < face_nodes; ++k) sum += L[i * face_nodes + k] * f[k * blockDim.x + threadIdx.x];
        out[i * elements + e] += sum;
    }
}
extern "C" __global__ void add(real* a, const real* b, real factor, long long count) {
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) a[i] += factor * b[i];
}
"""
SCALED = """
from numba import cuda

@cuda.jit
def scaled(a, b, factor, count):
    i = cuda.grid(1)
    if i < count:
        b[i] += a[i] * factor
"""
needs_compiler = pytest.mark.skipif(compiler() is None, reason="there is no C++ compiler to run CUDA C on the CPU")


def arrays(device, *values):
    return [device.xp.asarray(value) for value in values]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_kernel_computes_what_the_arrays_do(device, dtype):
    """With shared memory, a barrier, and a last block whose threads return early."""
    rng = np.random.default_rng(0)
    L, flux, out = (rng.standard_normal(shape).astype(dtype) for shape in ((20, 40), (40, 37), (20, 37)))
    d_L, d_flux, d_out = arrays(device, L, flux, out)
    shared = 40 * 16 * out.itemsize
    device.compile(LIFT, dtype)("lift")((3,), (16, 4), (d_L, d_flux, d_out, *map(np.int32, (20, 40, 37))), shared)
    assert np.abs(d_out.get() - (out + L @ flux)).max() < 100 * np.finfo(dtype).eps


def test_more_shared_memory_than_a_block_has_unasked(device):
    """Every thread writes to the last bytes of its own share of what a block may ask for."""
    source = r"""extern "C" __global__ void fill(real* out, int each) {
        DYNAMIC_SHARED(real, s);
        s[(threadIdx.x + 1) * each - 1] = threadIdx.x;
        __syncthreads();
        out[threadIdx.x] = s[(blockDim.x - threadIdx.x) * each - 1];
    }"""
    out, each = device.xp.asarray(np.zeros(32)), device.shared_per_block // 32 // 8
    device.compile(source, "float64")("fill")((1,), (32,), (out, np.int32(each)), 32 * each * 8)
    assert out.get().tolist() == list(range(31, -1, -1))


@pytest.mark.parametrize("change, error, words", [
    (dict(grid=(0,)), ValueError, r"lift: grid \(0, 1, 1\) is not allowed"),
    (dict(grid=(1, 70000)), ValueError, "grid .* from 1 to"),
    (dict(block=(16, 4, 65)), ValueError, "block .* from 1 to"),
    (dict(block=(16, 17)), ValueError, "has 272 threads; this kernel allows 256"),
    (dict(count=37), TypeError, "lift: a int is not allowed; .* int32"),
    (dict(count=np.float16(37)), TypeError, "a float16 is not allowed"),
    (dict(array=np.zeros((40, 20))), TypeError, "a ndarray is not allowed"),
    (dict(step=2), ValueError, "not C-contiguous"),
    (dict(shared=10 ** 6), ValueError, "1000000 bytes of shared memory are too many"),
])
def test_launches_that_are_refused(device, change, error, words):
    kernel = device.compile(LIFT, "float64")("lift")
    values = dict(grid=(3,), block=(16, 4), shared=40 * 16 * 8, count=np.int32(37), step=1) | change
    L, flux, out = arrays(device, np.zeros((20, 40)), np.zeros((40, 37)), np.zeros((20, 37)))
    L = change.get("array", L)[:, ::values["step"]]
    with pytest.raises(error, match=words):
        kernel(values["grid"], values["block"], (L, flux, out, np.int32(20), np.int32(40), values["count"]), values["shared"])


def test_source_that_does_not_compile(device):
    with pytest.raises(RuntimeError, match=r"does not compile: kernel\.cu.2.*error.*nowhere"):
        device.compile('extern "C" __global__ void f(real* a) {\n    a[0] = nowhere;\n}', "float32")


def test_a_graph_repeats_its_launches_on_what_the_arrays_hold(device):
    """Scalars are those of the capture, arrays those of the launch; the capture itself does nothing."""
    add = device.compile(LIFT, "float64")("add")
    a, b, c = arrays(device, np.zeros(100), np.arange(100.0), np.zeros(100))

    def work(factor):
        add((2,), (32,), (a, b, np.float64(factor), np.int64(100)))
        c[...] = a
        device.xp.multiply(c, 2.0, out=c)
    work(0.0)
    graph = device.capture(lambda: work(3.0))
    assert not a.get().any() and not c.get().any()
    graph.launch()
    b[...] = 1.0
    graph.launch()
    assert (a.get() == 3 * np.arange(100) + 3).all() and (c.get() == 2 * a.get()).all()


@pytest.mark.parametrize("work", [
    lambda device, a: device.xp.zeros(10 ** 6), lambda device, a: a + 1.0, lambda device, a: float(a[0]),
    lambda device, a: a.get(), lambda device, a: bool((a > 0).all())],
    ids=["new array", "temporary array", "number", "copy", "truth"])
def test_a_graph_holds_no_new_array_and_no_copy_to_the_host(device, work):
    add = device.compile(LIFT, "float64")("add")
    a, b = arrays(device, np.zeros(100), np.ones(100))
    with pytest.raises(RuntimeError):
        device.capture(lambda: work(device, a))
    graph = device.capture(lambda: add((1,), (32,), (a, b, np.float64(1), np.int64(100))))     # the next capture is sound
    graph.launch()
    assert (a.get() == 1).all()


def test_numba_kernels_run_and_go_into_a_graph(device):
    scaled = write_module(SCALED, "scaled").scaled
    a, b = arrays(device, np.arange(70.0), np.zeros(70))
    arguments = a, b, np.float64(2), np.int32(70)
    device.numba_launch(scaled, (3,), (32,), arguments)
    assert (b.get() == 2 * np.arange(70)).all()
    graph = device.capture(lambda: device.numba_launch(scaled, (3,), (32,), arguments))
    a[...] = 1.0
    graph.launch()
    graph.launch()
    assert (b.get() == 2 * np.arange(70) + 4).all()
    with pytest.raises(ValueError, match="not C-contiguous"):
        device.numba_launch(scaled, (3,), (32,), (a[::2], b, np.float64(2), np.int32(35)))


def test_a_fetch_has_the_values_of_its_moment(device):
    """Also of the third, for which there is no room until the first has arrived."""
    a, fetches = device.xp.asarray(np.zeros((3, 50))), []
    for i in range(5):
        a[...] = float(i)
        fetches.append(device.fetch(a))
    small = device.fetch(a[1, :7])
    a[...] = -1.0
    for i, fetch in enumerate(fetches):
        values = fetch.result()
        assert type(values) is np.ndarray and values.shape == (3, 50) and (values == i).all()
        assert fetch.ready() and fetch.result() is values
    assert small.result().tolist() == [4.0] * 7
    kept = fetches[0].result()
    again = device.fetch(a)
    while not again.ready():
        pass
    assert (again.result() == -1).all() and (kept == 0).all()


def test_times_and_memory(device):
    a = device.xp.asarray(np.zeros(1000))
    seconds = device.seconds(lambda: a.fill(1.0), 4)
    device.synchronize()
    assert len(seconds) == 4 and all(second >= 0 for second in seconds)
    assert device.free_memory() > 0 and device.multiprocessors > 0 and device.shared_per_block >= 48 * 1024
    assert len(device.capability) == 2 and device.name


# What the emulation finds.

def launch(source, block=(4,), shared=64, arguments=None, device=None):
    out = StrictNamespace().asarray(np.zeros(4))
    (device or EmulatedDevice()).compile(f'extern "C" __global__ void f(real* out) {{ {source} }}', "float64")("f")(
        (2,), block, arguments or (out,), shared)
    return out.get()


@needs_compiler
@pytest.mark.parametrize("source, words", [
    ("out[threadIdx.x + 1] = 1;", "writes beyond an array"),
    ("out[-1] += 1;", "writes beyond an array"),
    ("DYNAMIC_SHARED(real, s); s[8 + threadIdx.x] = 1;", "beyond its shared memory"),
    ("if (threadIdx.x < 2)\n__syncthreads();\nelse\n__syncthreads();", "wait at different __syncthreads"),
])
def test_the_emulation_finds(source, words):
    with pytest.raises(RuntimeError, match=words):
        launch(source)


@needs_compiler
def test_the_emulation_reads_nan_where_nothing_was_written():
    """Beyond an array, in shared memory before a block's first write and in that of the block before."""
    assert np.isnan(launch("out[threadIdx.x] = out[threadIdx.x + 4];")).all()
    assert np.isnan(launch("DYNAMIC_SHARED(real, s); out[threadIdx.x] = s[threadIdx.x]; s[threadIdx.x] = 1;")).all()


SHARED = "DYNAMIC_SHARED(real, s); unsigned i = threadIdx.x; s[i] = i;"


@needs_compiler
def test_the_emulation_finds_a_missing_barrier():
    """Whichever of two threads comes first, and whether what it needs is not there yet or is there no longer."""
    barrier = "__syncthreads();"
    assert launch(f"{SHARED} {barrier} out[i] += s[i ^ 1];").tolist() == [2, 0, 6, 4]
    assert np.isnan(launch(f"{SHARED} out[i] += s[i ^ 1];")).all()
    for last, expected in ((barrier, [2, 0, 6, 4]), ("", [11, 10, 13, 12])):
        assert launch(f"{SHARED} {barrier} out[i] += s[i ^ 1]; {last} s[i] = 10;").tolist() == expected


BARRIERS = """
from numba import cuda, float64 as real

@cuda.jit
def exchange(out):
    s = cuda.shared.array(4, real)
    i = cuda.threadIdx.x
    s[i] = i
    {first}
    out[i] += s[i ^ 1]
    {second}
    s[i] = 10
"""


@pytest.mark.parametrize("first, second, expected", [
    ("cuda.syncthreads()", "cuda.syncthreads()", [2, 0, 6, 4]), ("pass", "pass", [np.nan] * 4),
    ("cuda.syncthreads()", "pass", [11, 10, 13, 12])])
def test_a_missing_barrier_of_a_numba_kernel_is_found(first, second, expected):
    out = StrictNamespace().asarray(np.zeros(4))
    kernel = write_module(BARRIERS.format(first=first, second=second), "exchange").exchange
    EmulatedDevice().numba_launch(kernel, (2,), (4,), (out,))
    assert np.array_equal(out.get(), expected, equal_nan=True)


@pytest.mark.skipif(not config.ENABLE_CUDASIM, reason="numba's simulator is there where there is no GPU")
def test_numba_kernels_run_as_in_numba_s_simulator():
    """A kernel with shared memory, barriers and an early return in a grid of two dimensions, to the bit."""
    kernel = write_module(PLANES, "planes").planes
    found, expected = (np.random.default_rng(0).standard_normal((6, 10)) for _ in range(2))
    EmulatedDevice().numba_launch(kernel, (3, 3), (4, 2), (StrictArray(found), np.int32(10)))
    kernel[(3, 3), (4, 2)](expected, np.int32(10))
    assert np.array_equal(found, expected) and len(np.unique(found)) == 60


PLANES = """
from numba import cuda, float64 as real

@cuda.jit
def planes(a, count):
    s = cuda.shared.array(8, real)
    i, j = cuda.grid(2)
    place = cuda.threadIdx.y * 4 + cuda.threadIdx.x
    for turn in range(3):
        s[place] = a[j, i] * cuda.blockDim.x if i < count else cuda.blockIdx.x
        cuda.syncthreads()
        x = s[place ^ 1] + s[place ^ 4] * cuda.gridDim.y
        cuda.syncthreads()
        if i < count:
            a[j, i] += x * 0.1
    if i >= count:
        return
    a[j, i] += 1
"""


def test_different_barriers_of_a_numba_kernel_are_refused():
    first, second = "if i < 2:\n        cuda.syncthreads()", "if i > 1:\n        cuda.syncthreads()"
    kernel = write_module(BARRIERS.format(first=first, second=second), "exchange").exchange
    with pytest.raises(RuntimeError, match="threads of a block wait at different barriers"):
        EmulatedDevice().numba_launch(kernel, (1,), (4,), (StrictNamespace().asarray(np.zeros(4)),))


@needs_compiler
def test_the_emulation_lets_threads_return_before_a_barrier():
    found = launch("""DYNAMIC_SHARED(real, s);
        if (threadIdx.x > 1) return;
        for (int i = 0; i < 9; ++i) {
            s[threadIdx.x] = i + threadIdx.x;
            __syncthreads();
            out[threadIdx.x] = s[1 - threadIdx.x];
            __syncthreads();
        }""")
    assert found.tolist() == [9, 8, 0, 0]


@needs_compiler
def test_the_emulation_compares_the_arguments_with_the_kernels():
    xp = StrictNamespace()
    with pytest.raises(TypeError, match=r"f takes \(\*f8\), not \(\*f4\)"):
        launch("out[0] = 1;", arguments=(xp.asarray(np.zeros(4, np.float32)),))
    with pytest.raises(TypeError, match=r"add takes \(\*f8, \*f8, f8, i8\), not \(\*f8, \*f8, f8, i4\)"):
        a = xp.asarray(np.zeros(4))
        EmulatedDevice().compile(LIFT, "float64")("add")((1,), (4,), (a, a, np.float64(1), np.int32(4)))
    with pytest.raises(ValueError, match="100 bytes of shared memory are too many; a block may have 64"):
        launch("out[0] = 1;", shared=100, device=EmulatedDevice(shared_per_block=64))
    with pytest.raises(KeyError, match="no kernel 'lit'; it has: lift, add"):
        EmulatedDevice().compile(LIFT, "float64")("lit")


# The device's own text, on a CuPy of NumPy arrays whose stream does a copy when somebody waits for it.

class Lazy(np.ndarray):
    """A CuPy array, as far as `Device.fetch` uses one."""

    def get(self, stream=None, out=None, blocking=True):
        assert not blocking and out.shape == self.shape and out.dtype == self.dtype
        stream.work.append(lambda: np.copyto(out, self))


class Stream:
    def __init__(self, non_blocking=False):
        self.work, self.waited = [], []

    def record(self, event):
        event.stream, event.position = self, len(self.work)
        return event

    def wait_event(self, event):
        self.waited.append(event)


class Event:
    def __init__(self, disable_timing=False):
        self.done = False

    def synchronize(self):
        if not self.done:
            for copy in self.stream.work[:self.position]:
                copy()
            self.done = True


@pytest.fixture
def half_a_device():
    """A `Device` whose fetches run on the fakes above."""
    device, main = Device.__new__(Device), Stream()
    device.cuda = SimpleNamespace(Event=Event, get_current_stream=lambda: main)
    pinned = SimpleNamespace(PinnedMemory=lambda size: np.empty(size, np.uint8),
                             PinnedMemoryPointer=lambda memory, first: memory)
    device.xp = SimpleNamespace(empty=lambda size, dtype: np.zeros(size, dtype).view(Lazy), cuda=pinned)
    device.copying, device.buffers = Stream(), []
    return device


def test_two_buffers_serve_all_fetches(half_a_device):
    """The third copy waits for the first; a buffer grows where a larger array comes."""
    device, a = half_a_device, np.zeros(6).view(Lazy)
    fetches = []
    for i in range(4):
        a[...] = i
        fetches.append(device.fetch(a[:3 if i == 0 else 6]))
        assert len(device.buffers) <= 2
    assert [fetch.ready() for fetch in fetches] == [True, True, False, False]
    assert [fetch.result().tolist() for fetch in fetches] == [[0] * 3, [1] * 6, [2] * 6, [3] * 6]
    assert len(device.copying.waited) == 4 and all(buffer.fetch is None for buffer in device.buffers)
    kept = [buffer.device for buffer in device.buffers]
    device.fetch(a)
    assert all(any(buffer.device is room for room in kept) for buffer in device.buffers)


# Where no GPU can be used.

class Driver:
    """libcuda with this CUDA version, result of cuInit and number of devices."""

    def __init__(self, version=13000, result=0, count=1):
        self.version, self.result, self.count = version, result, count

    def cuDriverGetVersion(self, pointer):
        pointer._obj.value = self.version

    def cuInit(self, flags):
        return self.result

    def cuDeviceGetCount(self, pointer):
        pointer._obj.value = self.count

    def cuGetErrorName(self, code, pointer):
        pointer._obj.value = b"CUDA_ERROR_NO_DEVICE"


class FakeError(RuntimeError):
    pass


def cupy(zeros=None, nvrtc=None, cublas=None, built=13020, capability=(9, 0), raw=None, factor=1):
    """A module like CuPy whose first array, first kernel, cuBLAS and first CUDA C raise these errors; factor: 1 where results
    are right."""
    def fails(error, value=0):
        if error:
            raise error
        return value

    class Array:
        def __init__(self, size):
            self.values = np.zeros(size)
            self.__cuda_array_interface__ = {"array": self.values, "stream": 1}

        def __add__(self, other):
            return fails(nvrtc, np.ones(1))

        def get(self):
            return self.values

    class RawModule:
        def __init__(self, code, options):
            assert "add_thread" in code and options == ("-std=c++17",)

        def get_function(self, name):
            def launch(grid, block, arguments):
                arguments[0].values += factor * np.arange(fails(raw, block[0]))
            return launch

    class Device:
        @property
        def cublas_handle(self):
            return fails(cublas)
    properties = {"name": b"NVIDIA H200", "major": capability[0], "minor": capability[1]}
    runtime = SimpleNamespace(getDevice=lambda: 0, getDeviceProperties=lambda number: properties)
    return SimpleNamespace(__version__="14.2.0", zeros=lambda size: fails(zeros, Array(size)), RawModule=RawModule,
                           cuda=SimpleNamespace(runtime=runtime, driver=SimpleNamespace(get_build_version=lambda: built),
                                                Device=Device))


class NumbaCuda:
    """A module like numba.cuda that runs threads one by one, whose first launch raises this error."""

    def __init__(self, error=None, simulator=0):
        self.error, self.config = error, SimpleNamespace(ENABLE_CUDASIM=simulator)

    def from_cuda_array_interface(self, interface, sync):
        assert "stream" not in interface and not sync
        return interface["array"]

    def jit(self, function):
        class Kernel:
            def __getitem__(_, shape):
                def launch(array):
                    if self.error:
                        raise self.error
                    for i in range(shape[1]):
                        self.threadIdx = SimpleNamespace(x=i)
                        function(array)
                return launch
        return Kernel()


def look(monkeypatch, missing=(), driver=None, library=None, cuda=None):
    """What is found when somebody looks for a GPU."""
    def load(name):
        if driver is None:
            raise OSError(f"{name}: cannot open shared object file")
        return driver
    monkeypatch.setattr(gpu, "find_spec", lambda name: None if name in missing else "found")
    monkeypatch.setattr(gpu, "DRIVER", "libcuda.so.1")
    monkeypatch.setattr(gpu, "_working", set())
    monkeypatch.setattr(gpu, "installed", lambda name: "0.30.4")
    monkeypatch.setattr(ctypes, "CDLL", load)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    monkeypatch.setitem(sys.modules, "cupy", library)
    monkeypatch.setattr(numba, "cuda", cuda or NumbaCuda(), raising=False)


@pytest.mark.parametrize("missing, driver, library, words", [
    (["cupy"], None, None, ["CuPy is not installed", "pip install 'dgarray[gpu]'"]),
    (["numba_cuda"], None, None, ["numba-cuda is not installed", "pip install 'dgarray[gpu]'"]),
    ([], None, None, ["no NVIDIA driver", "looked for libcuda.so.1", "R580 or newer"]),
    ([], Driver(12040), cupy(), ["for CUDA 12.4", "CuPy 14.2.0 needs CUDA 13", "R580 or newer", "cupy-cuda12x[ctk]"]),
    ([], Driver(result=100), None, ["driver for CUDA 13.0 finds no GPU", "CUDA_ERROR_NO_DEVICE", "CUDA_VISIBLE_DEVICES='-1'"]),
    ([], Driver(count=0), None, ["finds no GPU", "0 devices"]),
    ([], Driver(), cupy(capability=(7, 0)), ["NVIDIA H200 has compute capability 7.0", "7.5 or higher"]),
    ([], Driver(), cupy(zeros=MemoryError("Out of memory allocating 512 bytes")), ["of NVIDIA H200 is full", "nvidia-smi"]),
    ([], Driver(), cupy(zeros=FakeError("cudaErrorMemoryAllocation:\nout of memory")), ["is full", "nvidia-smi"]),
    ([], Driver(), cupy(zeros=FakeError("cudaErrorECCUncorrectable")), ["does not work", "ECCUncorrectable"]),
    ([], Driver(), cupy(nvrtc=FakeError("failed to load libnvrtc.so.13")), ["libnvrtc.so.13", "pip install 'dgarray[gpu]'"]),
    ([], Driver(), cupy(cublas=ImportError("libcublas.so.13: cannot open")), ["libcublas.so.13", "pip install 'dgarray[gpu]'"]),
    ([], Driver(), cupy(raw=FakeError("In file x\nkernel.cu(1): error: no such header\nmore")), [
        "CuPy 14.2.0 is installed, but its kernels do not run (kernel.cu(1): error: no such header)", "dgarray[gpu]"]),
    ([], Driver(), cupy(factor=2), ["a kernel of CuPy 14.2.0 runs, but gives wrong results"]),
    ([], Driver(13010), cupy(), None),
])
def test_why_there_is_no_gpu(monkeypatch, missing, driver, library, words):
    """One line that says what was looked for, what was found and what to do."""
    look(monkeypatch, missing, driver, library)
    found = backends.gpu_problem()
    if words is None:
        assert found is None
        return
    assert all(word in found for word in words) and "\n" not in found
    with pytest.raises(RuntimeError, match="backend 'cupy' cannot be used: .*; use backend 'numpy' or 'auto'"):
        backends.get("cupy")
    backend = backends.get("auto")
    assert backend.name == "numpy" and backend.note.startswith("no GPU is used: ")
    assert backends.get("auto", threads=1).note == "chosen because threads=1 is given, which are threads of the CPU"


@pytest.mark.parametrize("cuda, words", [
    (NumbaCuda(FakeError("NVVM_ERROR_COMPILATION\nno libNVVM")), "kernels do not run (NVVM_ERROR_COMPILATION); pip"),
    (NumbaCuda(FakeError()), "numba-cuda 0.30.4 is installed, but its kernels do not run (FakeError()); pip install"),
    (NumbaCuda(simulator=1), "NUMBA_ENABLE_CUDASIM is set, .* in its simulator .*; unset it")])
def test_kernels_of_numba_that_do_not_run(monkeypatch, cuda, words):
    """A GPU counts as usable only for what does without them; and what has run once is not tried again."""
    look(monkeypatch, (), Driver(), cupy(), cuda)
    found = backends.gpu_problem()
    assert re.search(words.replace("(", r"\(").replace(")", r"\)"), found) and "\n" not in found
    assert backends.gpu_problem("array") is None
    assert backends.get("auto", "fused").note == f"no GPU is used: {found}"
    monkeypatch.setattr(numba, "cuda", NumbaCuda())
    assert backends.gpu_problem() is None
    monkeypatch.setattr(numba, "cuda", cuda)
    assert backends.gpu_problem() is None


def test_the_kernel_that_is_tried_compiles():
    assert set(compiled(gpu.SOURCE).kernels) == {"add_thread"}


def test_numba_kernels_compile_without_a_name_that_numpy_has_lost():
    """NumPy 2.5 has no `row_stack`, which numba-cuda asks for before its first kernel; here no NumPy has it."""
    assert without_simulator("test_device") == "scaled float64\n"


def check_ptx():
    """Compile a kernel for a device, and print its name and the type of its product."""
    import numba.np.arrayobj  # noqa: F401  which has done what it needs of NumPy
    from numba import types
    vars(np).pop("row_stack", None)
    kernel, array = write_module(SCALED, "scaled").scaled.py_func, types.Array(types.float64, 1, "C")
    ptx, _ = gpu.numba_cuda().compile_ptx(kernel, (array, array, types.float64, types.int32), cc=(9, 0))
    assert not hasattr(np, "row_stack")
    print(kernel.__name__, "float64" if float64_instructions(ptx) else "float32")


class CUDARuntimeError(RuntimeError):
    """As CuPy's; numba-cuda's and CUDA's own Python have others, with these words."""


class CudaAPIError(Exception):
    pass


class CUDAError(Exception):
    pass


@pytest.mark.parametrize("error, poisons", [
    (CUDARuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered"), True),
    (CUDARuntimeError("cudaErrorLaunchFailure: unspecified launch failure"), True),
    (CudaAPIError("[700] Call to cuMemcpyDtoH results in CUDA_ERROR_ILLEGAL_ADDRESS"), True),
    (CudaAPIError("[719] Call to cuCtxSynchronize results in CUDA_ERROR_LAUNCH_FAILED"), True),
    (CUDAError("CUDA_ERROR_MISALIGNED_ADDRESS: While executing a kernel"), True),
    (CUDARuntimeError("cudaErrorMemoryAllocation: out of memory"), False),
    (CUDARuntimeError("cudaErrorInvalidValue: invalid argument"), False),
    (CudaAPIError("[701] Call to cuLaunchKernel results in CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"), False),
    (AssertionError("cudaErrorIllegalAddress"), False), (ValueError(), False)])
def test_errors_after_which_nothing_runs(error, poisons):
    assert gpu.poisons_context(error) is poisons
    try:
        raise RuntimeError("what somebody made of it") from error
    except RuntimeError as wrapped:
        assert gpu.poisons_context(wrapped) is poisons


def test_array_kernels_do_without_numba_cuda(monkeypatch):
    monkeypatch.setattr(gpu, "find_spec", lambda name: None if name == "numba_cuda" else "found")
    assert "numba-cuda" in backends.gpu_problem() and "numba-cuda" not in (backends.gpu_problem("array") or "")


def test_a_cpu_run_says_why_auto_takes_no_gpu(monkeypatch, capsys, tmp_path):
    from dgarray.cli import main
    monkeypatch.setattr(backends, "gpu_problem", lambda kernels=None: "it is elsewhere")
    small = ["run", "tm_cavity", "--order", "1", "--kernels", "array", "--until", "0.01"]
    assert main(small) == 0
    assert capsys.readouterr().out.splitlines()[0] == "backend numpy: no GPU is used: it is elsewhere"
    for more in (["--quiet"], ["--backend", "numpy"]):
        assert main(small + more) == 0
        assert "GPU" not in capsys.readouterr().out


CPU_ONLY = """
import sys
blocked = {blocked}
sys.modules.update(dict.fromkeys(blocked))                # an import of one of these raises, as where it is not installed
from dgarray.cli import main
status = main({arguments})
found = [name for name, module in sys.modules.items() if module and any(f"{{name}}.".startswith(f"{{b}}.") for b in blocked)]
print(status, found)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("backend", ["numpy", "auto"])
@pytest.mark.parametrize("kernels", ["fused", "array"])
def test_a_cpu_run_needs_and_imports_no_gpu_library(backend, kernels, tmp_path):
    blocked = ("cupy", "cupyx", "cupy_backends", "numba_cuda", "numba.cuda", "cuda")
    arguments = ["run", "tm_cavity", "--order", "1", "--until", "0.01", "--backend", backend, "--kernels", kernels]
    done = subprocess.run([sys.executable, "-c", CPU_ONLY.format(blocked=blocked, arguments=arguments)],
                          capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1:] == ["0 []"], done.stdout + done.stderr
    assert ("CuPy is not installed" in done.stdout) == (backend == "auto")


# The compiler's report.

SPILLING = """
extern "C" __global__ void __launch_bounds__(1024, 2) spilling(real* a) {
    real x[64];
    for (int i = 0; i < 64; ++i) x[i] = a[i * 1024 + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < 64; ++i) a[i * 1024 + threadIdx.x] = x[63 - i] * x[i];
}"""


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_registers_and_spills_are_read(arch):
    kernels = compiled(LIFT, "float32", arch).kernels
    assert set(kernels) == {"lift", "add"}
    assert all(0 < k.registers <= 255 and not k.spill_stores and not k.spill_loads for k in kernels.values())
    found = compiled(SPILLING, "float64", arch).kernels["spilling"]
    assert found.registers <= 32 and found.spill_stores > 0 and found.spill_loads > 0 and found.stack > 0


def test_float64_instructions_are_found():
    assert not float64_instructions(compiled(LIFT, "float32").ptx)
    assert float64_instructions(compiled(LIFT, "float64").ptx)
    careless = LIFT.replace("factor * b[i]", "0.1 * factor * b[i]")
    assert float64_instructions(compiled(careless, "float32").ptx)
    with pytest.raises(RuntimeError, match=r"does not compile: kernel\.cu\(1\): error: .*nowhere"):
        compiled('extern "C" __global__ void f(real* a) { a[0] = nowhere; }', "float32")


def test_shared_memory_of_several_types_and_names_compiles():
    source = "".join(f'extern "C" __global__ void {name}({kind}* a) {{ DYNAMIC_SHARED({kind}, s_{name}); '
                     f's_{name}[threadIdx.x] = 1; __syncthreads(); a[0] = s_{name}[1]; }}\n'
                     for name, kind in (("f", "real"), ("g", "int"), ("h", "long long")))
    assert set(compiled(source, "float32").kernels) == {"f", "g", "h"}
