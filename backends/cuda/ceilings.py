"""What a device can do: the rates that the package's kernels are measured against.

The multiply-adds are those of the ordinary cores. A library's product in float64 may use tensor cores, which the solver's own
kernels do not, and can then be faster than this ceiling.
"""
from functools import partial

import numpy as np

COPY_BYTES = 1 << 29           # one of the two arrays of the copy; second-level caches hold a tenth of them
SHARE = 4                      # of the free memory, at most this part for one of them
THREADS = 256                  # of a block
RESIDENT = 8                   # blocks for each multiprocessor: as many threads as one holds, by the CUDA model
REPEATS = 1 << 11              # turns of the loop of multiply-adds, some milliseconds
CHAINS = 8                     # chains of multiply-adds in a thread that do not wait for each other
IN_TURN = 32                   # links of each in one turn, so that counting turns costs nothing
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
    """What a device reaches in `dtype`, each number the best of many runs on the device's own clock.

    bandwidth     bytes/s of a copy between arrays of `size` bytes, far beyond the caches, by a kernel of ours or by the
                  library, whichever is faster; bytes read and bytes written are counted
    multiply_add  flop/s of multiply-adds in registers, `turns` turns of a loop; each counts 2
    launch        seconds that a kernel that does nothing takes, of so many `launches` one after the other
    graph         the same of one in a CUDA graph of as many
    seconds       how long to measure; a quarter each
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
    nothings()                                        # compiles what a graph may not
    graph = device.capture(nothings)
    flops = 2 * CHAINS * IN_TURN * turns * grid[0] * THREADS
    return {"bandwidth": _bandwidth(device, dtype, copy, min(size, device.free_memory() // SHARE), measure),
            "multiply_add": flops / measure(products),
            "launch": measure(nothings) / launches, "graph": measure(graph.launch) / launches}


def _best(device, run, seconds):
    """Shortest time of `run`, called at least three times and until the seconds are over, after one call to warm up."""
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
