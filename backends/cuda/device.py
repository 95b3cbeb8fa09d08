"""A CUDA device by CuPy and numba.cuda: kernels, graphs, asynchronous copies, a clock."""
import warnings
from contextlib import suppress
from functools import cache
from math import prod

import numpy as np

from ..arrays import pooled
from ..gpu import first_error, numba_cuda

OPTIONS = ("-std=c++17",)
SCALARS = (np.int32, np.int64, np.float32, np.float64)
GRID, BLOCK, THREADS = (2 ** 31 - 1, 65535, 65535), (1024, 1024, 64), 1024          # the most of a launch
UNASKED = 48 * 1024                # bytes of dynamic shared memory that a block may have without opting in
KNOWN = 4096                       # most array descriptions, and configured launches, that are cached


def prelude(dtype):
    """The first line of every CUDA C source: `real`, the type of the run's numbers."""
    return f"typedef {'float' if np.dtype(dtype) == np.float32 else 'double'} real;\n"


def cuda_source(source, dtype):
    """The text that the CUDA compiler gets: the type `real`, the macro DYNAMIC_SHARED(type, name), then the source.

    DYNAMIC_SHARED declares the block's dynamic shared memory as an array that is aligned for vector loads."""
    return (prelude(dtype) +
            "#define DYNAMIC_SHARED(type, name) extern __shared__ __align__(16) unsigned char dynamic_shared[]; "
            "type* name = reinterpret_cast<type*>(dynamic_shared)\n"
            '#line 1 "kernel.cu"\n' + source)


def check_launch(name, grid, block, threads, arguments, array):
    """Check a launch before it reaches the device; returns grid and block as three numbers each.

    threads: the most that a block of this kernel may have;  array: the class of the device's arrays
    Raises ValueError for a grid or block that is too large and for arrays that are not contiguous, TypeError for arguments
    that are neither arrays of the device nor NumPy scalars, which a kernel would misread."""
    grid, block = ((*shape, 1, 1)[:3] for shape in (grid, block))
    for what, shape, largest in (("grid", grid, GRID), ("block", block, BLOCK)):
        if not all(1 <= n <= most for n, most in zip(shape, largest)):
            raise ValueError(f"{name}: {what} {shape} is not allowed; the numbers must be from 1 to {largest}")
    if prod(block) > threads:
        raise ValueError(f"{name}: a block of {block} has {prod(block)} threads; this kernel allows {threads}")
    for a in arguments:
        if isinstance(a, array):
            if not a.flags.c_contiguous:
                raise ValueError(f"{name}: an array of shape {a.shape} and strides {a.strides} is not C-contiguous")
        elif type(a) not in SCALARS:
            raise TypeError(f"{name}: a {type(a).__name__} is not allowed; a kernel takes arrays of the device and NumPy "
                            f"scalars: {', '.join(kind.__name__ for kind in SCALARS)}")
    return grid, block


def check_shared(name, shared, allowed):
    """Raise ValueError for more bytes of dynamic shared memory than a block may have."""
    if shared > allowed:
        raise ValueError(f"{name}: {shared} bytes of shared memory are too many; a block may have {allowed}")


class Device:
    """The current CUDA device.

    xp                                  the array library, cupy
    name, capability, multiprocessors   for example "NVIDIA H200", (9, 0), 132
    shared_per_block                    bytes of dynamic shared memory that a block may have
    tunes                               whether variants of kernels are timed on this device, see `dg.tuning`"""

    tunes = True

    def __init__(self):
        import cupy
        self.xp, self.cuda = cupy, cupy.cuda
        runtime = cupy.cuda.runtime
        number = runtime.getDevice()
        properties = runtime.getDeviceProperties(number)
        self.name = properties["name"].decode()
        self.capability = properties["major"], properties["minor"]
        self.multiprocessors = properties["multiProcessorCount"]
        self.shared_per_block = runtime.deviceGetAttribute(runtime.cudaDevAttrMaxSharedMemoryPerBlockOptin, number)
        # Non-blocking: these streams and the default stream do not wait for each other.
        self.copying, self.capturing = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
        self.buffers, self.described, self.launches = [], {}, {}

    def compile(self, source, dtype):
        """Compile CUDA C; returns a function from the name of a kernel in the source to its `Kernel`.

        Raises RuntimeError with the compiler's first error."""
        from numba.core.event import trigger_event
        module = self.xp.RawModule(code=cuda_source(source, dtype), options=OPTIONS)
        try:
            with trigger_event("dgarray:compile"):
                module.compile()
        except self.cuda.compiler.CompileException as error:
            raise RuntimeError(f"CUDA C does not compile: {first_error(str(error))}") from error
        return cache(lambda name: Kernel(self, module.get_function(name)))

    def numba_launch(self, kernel, grid, block, arguments):
        """Launch a numba.cuda kernel on the current stream, without waiting for anything."""
        grid, block = check_launch(kernel.__name__, grid, block, THREADS, arguments, self.xp.ndarray)
        stream = self.cuda.get_current_stream().ptr
        key = id(kernel), grid, block, stream
        if key not in self.launches:
            bounded(self.launches)[key] = self._configured(kernel, grid, block, stream)
        self.launches[key](*[self._description(a) if isinstance(a, self.xp.ndarray) else a for a in arguments])

    def _configured(self, kernel, grid, block, stream):
        cuda = numba_cuda()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")              # numba warns of small grids; a mesh may be small
            return kernel[grid, block, cuda.external_stream(stream) if stream else 0]

    def _description(self, array):
        """The array as numba's type, cached. It does not own the memory, so CuPy frees that when its own array is gone."""
        key = array.data.ptr, array.shape, array.dtype
        if key not in self.described:
            from numba import cuda
            interface = dict(array.__cuda_array_interface__)
            interface.pop("stream", None)
            bounded(self.described)[key] = cuda.from_cuda_array_interface(interface, sync=False)
        return self.described[key]

    def capture(self, function):
        """Record the launches and copies that function() makes as a `Graph`, whose `launch()` repeats them.

        Every kernel must have been launched before, so that it is compiled and loaded.  Raises RuntimeError if function()
        allocates memory: a graph would keep the address, but not the memory."""
        def refuse(size):
            raise RuntimeError(f"a new array of {size} bytes while a graph is captured")
        with self.capturing:
            self.capturing.begin_capture()
            try:
                with self.cuda.using_allocator(refuse):
                    function()
            except BaseException:
                with suppress(Exception):                # the error that led here says more
                    self.capturing.end_capture()
                raise
            return Graph(self.capturing.end_capture())

    def fetch(self, array):
        """Start an asynchronous copy of an array to the host; returns a `Fetch`.

        The array is first copied to a buffer on the device, so later work may overwrite it during the transfer.  Two copies
        may be under way; a third waits until the first has arrived."""
        buffer = self._free_buffer(array.nbytes)
        staged, pinned = (room[:array.nbytes].view(array.dtype).reshape(array.shape) for room in (buffer.device, buffer.host))
        staged[...] = array
        self.copying.wait_event(self.cuda.get_current_stream().record(self.cuda.Event(disable_timing=True)))
        staged.get(stream=self.copying, out=pinned, blocking=False)
        buffer.fetch = Fetch(self.copying.record(self.cuda.Event(disable_timing=True)), pinned, buffer)
        return buffer.fetch

    def _free_buffer(self, size):
        free = next((buffer for buffer in self.buffers if buffer.fetch is None), None)
        if free is None and len(self.buffers) == 2:
            free = self.buffers[0]
            free.fetch.result()
        if free is not None:
            self.buffers.remove(free)
        if free is None or free.device.size < size:
            free = Buffer(self.xp, size)
        self.buffers.append(free)                        # the list is in the order of use
        return free

    def seconds(self, function, repeats):
        """Seconds of each of `repeats` calls of function(), by the device's clock."""
        stream = self.cuda.get_current_stream()
        marks = [stream.record()]
        for _ in range(repeats):
            function()
            marks.append(stream.record())
        marks[-1].synchronize()
        return [self.cuda.get_elapsed_time(start, end) / 1000 for start, end in zip(marks, marks[1:])]

    def synchronize(self):
        """Wait for all work of the device."""
        self.cuda.runtime.deviceSynchronize()

    def pooled_memory(self):
        """The most bytes of the device that CuPy's pool has taken since it was asked last; unused ones are given back."""
        return pooled(self.xp)

    def free_memory(self):
        """Free bytes, with the memory of freed arrays that CuPy's pool keeps and uses again."""
        return self.cuda.runtime.memGetInfo()[0] + self.xp.get_default_memory_pool().free_bytes()


class Kernel:
    """A CUDA C kernel; kernel(grid, block, arguments, shared=0) launches it on the current stream.

    grid, block   up to three numbers each
    arguments     arrays, passed as pointers, and NumPy scalars, passed by value
    shared        bytes of dynamic shared memory of a block
    Raises ValueError or TypeError for a launch that the device would refuse or misread, see `check_launch`."""

    def __init__(self, device, raw):
        self.device, self.raw, self.name = device, raw, raw.name
        self.threads, self.shared = raw.max_threads_per_block, device.shared_per_block - raw.shared_size_bytes

    def __call__(self, grid, block, arguments, shared=0):
        grid, block = check_launch(self.name, grid, block, self.threads, arguments, self.device.xp.ndarray)
        self._allow(shared)
        self.raw(grid, block, arguments, shared_mem=shared)

    def resident(self, threads, shared=0):
        """Blocks of `threads` threads and `shared` bytes that a multiprocessor holds at a time, at least 1."""
        self._allow(shared)
        occupancy = self.device.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor
        return max(1, occupancy(self.raw.kernel.ptr, threads, shared))

    def _allow(self, shared):
        check_shared(self.name, shared, self.shared)
        # Read from the driver each time, because another `Kernel` object may have set the limit of the same kernel.
        if shared > UNASKED and shared > self.raw.max_dynamic_shared_size_bytes:
            self.raw.max_dynamic_shared_size_bytes = shared


class Graph:
    """A captured CUDA graph. It does not keep the arrays and kernels that it uses: whoever captured it must."""

    def __init__(self, graph):
        self.graph = graph

    def launch(self):
        self.graph.launch()


class Buffer:
    """Two pieces of memory for one copy from the device to the host, one on the device and one pinned on the host.

    fetch   the copy that uses them at present, or None"""

    def __init__(self, xp, size):
        # Not from CuPy's pool, which rounds up to a power of two.
        memory = xp.cuda.PinnedMemoryPointer(xp.cuda.PinnedMemory(max(size, 1)), 0)
        self.device, self.host, self.fetch = xp.empty(size, np.uint8), np.frombuffer(memory, np.uint8, size), None


class Fetch:
    """An asynchronous copy to the host; `arrived`: its event."""

    def __init__(self, arrived, pinned, buffer):
        self.arrived, self.pinned, self.buffer, self.values = arrived, pinned, buffer, None

    def ready(self):
        """Whether `result` returns without waiting."""
        return self.values is not None or self.arrived.done

    def result(self):
        """The array; waits until it has arrived, then frees the buffer."""
        if self.values is None:
            self.arrived.synchronize()
            self.values = np.array(self.pinned)
            self.pinned = self.buffer.fetch = self.buffer = None
        return self.values


def bounded(known):
    """The dict, emptied first if it has KNOWN entries."""
    if len(known) >= KNOWN:
        known.clear()
    return known
