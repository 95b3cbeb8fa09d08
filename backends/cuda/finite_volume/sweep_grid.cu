// Finite volumes on the GPU: a grid as a sweep along one axis sees it, and what a block of threads works on.
//
// A block has LENGTH neighbouring cells along the axis of PENCILS pencils side by side, a thread for each cell. The outermost
// GHOSTS cells at both ends belong to the blocks beside it; their threads only compute what this block's cells read.
// CONTIGUOUS: the axis is that along which neighbours lie side by side in memory; else the pencils do.
//
// Before this text stand the sizes: see source.py.

// n: cells along the axis;  na: along the axis of the pencils;  along, a, b: steps in memory;  cells: from variable to variable
struct Grid { int n, na; offset along, a, b, cells; };

// The cell from whose values those of cell i are made: itself, beyond a periodic side the one at the other end, else the image.
__device__ __forceinline__ int source_cell(int i, int n) {
    if (i < 0) return PERIODIC ? i + n : -1 - i;
    if (i >= n) return PERIODIC ? i - n : 2 * n - 1 - i;
    return i;
}

// p: number in the block along the axis, i: in the grid, beyond its sides too;  ja, jb: numbers of the pencil;
// own: number of the thread;  stored: whether this block computes the new value
struct Cell { int p, i, ja, jb, own; bool stored; };

__device__ __forceinline__ Cell cell_of_thread(const Grid& g) {
    const int pieces = (g.n + LENGTH - 2 * GHOSTS - 1) / (LENGTH - 2 * GHOSTS);
    const int p = CONTIGUOUS ? threadIdx.x : threadIdx.y, pencil = CONTIGUOUS ? threadIdx.y : threadIdx.x;
    const int i = int(blockIdx.x) % pieces * (LENGTH - 2 * GHOSTS) - GHOSTS + p;
    const int ja = int(blockIdx.x) / pieces * PENCILS + pencil;
    return {p, min(i, g.n - 1 + GHOSTS), min(ja, g.na - 1), int(blockIdx.y), int(threadIdx.y * blockDim.x + threadIdx.x),
            p >= GHOSTS && p < LENGTH - GHOSTS && i < g.n && ja < g.na};
}

__device__ __forceinline__ offset place(const Grid& g, const Cell& c, int shift) {
    return source_cell(c.i + shift, g.n) * g.along + c.ja * g.a + c.jb * g.b;
}

// The centre of cell j along axis k.
__device__ __forceinline__ real centre(const real* box, int k, int j) {
    return box[2 * k] + (real(j) + real(0.5)) * box[2 * k + 1];
}

// Field values of the threads of a block: what the thread `shift` cells further along the axis has put there.
#define NEAR(component, shift) shared[(component) * THREADS + c.own + (shift) * (CONTIGUOUS ? 1 : PENCILS)]

// The larger one; a NaN wins.
__device__ __forceinline__ real larger(real a, real b) { return (a >= b) | (a != a) ? a : b; }

// The largest value of all threads of a block, in thread 0.
__device__ __forceinline__ real largest_of_block(real value, int own, real* shared) {
    __syncthreads();
    shared[own] = value;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (own < half) shared[own] = larger(shared[own], shared[own + half]);
    }
    return shared[0];
}
