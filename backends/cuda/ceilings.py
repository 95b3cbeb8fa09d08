"""Ceilings of a device: the rates that the package's kernels are measured against.

The multiply-add rate is that of the ordinary cores, without tensor cores, as in the solver's own kernels. A library's matrix
product in float64 may use tensor cores and exceed this ceiling.
"""
from functools import partial

import numpy as np

COPY_BYTES = 1 << 29           # one of the two arrays of the copy; second-level caches hold a tenth of them
SHARE = 4                      # each array of the copy takes at most 1 / SHARE of the free memory
THREADS = 256                  # of a block
RESIDENT = 8                   # blocks per multiprocessor: 2048 threads, as many as one holds
REPEATS = 1 << 11              # iterations of the multiply-add loop: some milliseconds
CHAINS = 8                     # independent chains of multiply-adds in a thread, which hide the latency
IN_TURN = 32                   # multiply-adds of each chain in an iteration, so that the loop counter costs nothing
LAUNCHES = 200                 # kernels whose launches are timed together

TEXT = """
struct alignas(16) Vector { real of[16 / sizeof(real)]; };          // what one load instruction can read

// b = a, `count` vectors
extern "C" __global__ void __launch_bounds__(THREADS) copy(const real* __restrict__ a, real* __restrict__ b, long long count) {
    const Vector* from = reinterpret_cast<const Vector*>(a);
    Vector* to = reinterpret_cast<Vector*>(b);
    const long long threads = (long long)gridDim.x * THREADS;
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < count; i += threads) to[i] = from[i];
}

// out[thread] = sum of chains r = a r + b; 2 CHAINS IN_TURN operations a turn.
extern "C" __global__ void __launch_bounds__(THREADS) multiply_add(real* out, real a, real b, int turns) {
    const int thread = blockIdx.x * THREADS + threadIdx.x;
    real r[CHAINS];
#pragma unroll
    for (int j = 0; j < CHAINS; ++j) r[j] = real(thread + j);
    for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
        for (int i = 0; i < IN_TURN; ++i) {
#pragma unroll
            for (int j = 0; j < CHAINS; ++j) r[j] = a * r[j] + b;
        }
    }
    real sum = 0;
#pragma unroll
    for (int j = 0; j < CHAINS; ++j) sum += r[j];
    out[thread] = sum;
}

extern "C" __global__ void nothing(real* out) {}
"""
SOURCE = "".join(f"#define {name} {value}\n" for name, value in
                 (("THREADS", THREADS), ("CHAINS", CHAINS), ("IN_TURN", IN_TURN))) + TEXT


def ceilings(device, dtype, seconds=0.3, size=COPY_BYTES, turns=REPEATS, launches=LAUNCHES):
    """Measure what a device reaches in `dtype`: {"bandwidth", "multiply_add", "launch", "graph"}.

    Each number is the best of many runs, by the device's own clock:
    bandwidth     bytes/s of a copy between arrays far larger than the caches, bytes read plus bytes written, by this module's
                  kernel or by the library, whichever is faster
    multiply_add  flop/s of multiply-adds in registers; each counts 2
    launch        seconds per launch of an empty kernel, `launches` of them one after the other
    graph         seconds per launch of an empty kernel within a CUDA graph of `launches` of them

    seconds       how long to measure in all, a quarter for each number
    size          bytes of each array of the copy
    turns         iterations of the multiply-add loop
    """
    dtype, measure = np.dtype(dtype), partial(_best, device, seconds=seconds / 4)
    copy, multiply_add, nothing = map(device.compile(SOURCE, str(dtype)), ("copy", "multiply_add", "nothing"))
    grid = (device.multiprocessors * RESIDENT,)
    out = device.xp.zeros(grid[0] * THREADS, dtype=dtype)
    half, one = dtype.type(0.5), dtype.type(1)

    def products():
        multiply_add(grid, (THREADS,), (out, half, one, np.int32(turns)))

    def nothings():
        for _ in range(launches):
            nothing((1,), (32,), (out,))
    nothings()                                        # loads the kernel, which is not allowed during capture
    graph = device.capture(nothings)
    flops = 2 * CHAINS * IN_TURN * turns * grid[0] * THREADS
    return {"bandwidth": _bandwidth(device, dtype, copy, min(size, device.free_memory() // SHARE), measure),
            "multiply_add": flops / measure(products),
            "launch": measure(nothings) / launches, "graph": measure(graph.launch) / launches}


def _best(device, run, seconds):
    """Shortest time of a call of run(): at least three calls, more until `seconds` are over, after one to warm up."""
    run()
    times = device.seconds(run, 3)
    while sum(times) < seconds:
        times += device.seconds(run, 3)
    return min(times)


def _bandwidth(device, dtype, kernel, size, measure):
    count = max(1, size // 16)
    a = device.xp.zeros(count * 16 // dtype.itemsize, dtype=dtype)
    b = device.xp.zeros(len(a), dtype=dtype)
    grid = (min(-(-count // THREADS), device.multiprocessors * RESIDENT),)

    def library():
        b[...] = a
    times = [measure(lambda: kernel(grid, (THREADS,), (a, b, np.int64(count)))), measure(library)]
    return 2 * count * 16 / min(times)
