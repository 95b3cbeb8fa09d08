// Nodal DG on the GPU: right-hand side and Runge-Kutta stage as one matrix product whose operands are computed on the way,
//
//     dq/dt = ([-D_1 .. -D_d  L] [F_1 .. F_d  f] + source) / capacity,    F_k = F(q) . grad r_k,   f = s (F.n - F*),
//
// one row a node, one column a node and direction or a face node, one right-hand side a variable and element.  A block of
// threads works on LANES elements, threadIdx.x; a thread keeps the sums of ROWS nodes in registers, threadIdx.y counts GROUPS
// of them.  Operands go through shared memory, CHUNK nodes at a time, so each is computed once (FIELD_SHARED), or every thread
// computes them for itself.
//
// Around this text stand the macros and, generated from the physics, `volume`, `face` and `finish` and `update`: see nodal_source.py and update.py.

struct alignas(16) Vector { real of[16 / sizeof(real)]; };          // what one load instruction can read
constexpr int PER_LOAD = 16 / sizeof(real);

// r[v][i] += a[i] b[v]: one column of the matrix times one operand of every variable; b strides by `step`.
__device__ __forceinline__ void multiply_add(const real* column, const real* b, int step, real (&r)[V][ROWS]) {
    real a[PADDED_ROWS];
#pragma unroll
    for (int i = 0; i < PADDED_ROWS / PER_LOAD; ++i) {
        const Vector load = reinterpret_cast<const Vector*>(column)[i];
#pragma unroll
        for (int j = 0; j < PER_LOAD; ++j) a[i * PER_LOAD + j] = load.of[j];
    }
#pragma unroll
    for (int v = 0; v < V; ++v) {
        const real value = b[v * step];
#pragma unroll
        for (int i = 0; i < ROWS; ++i) r[v][i] += a[i] * value;
    }
}

#ifdef JOBS
// The face fluxes of a block of elements, each pair of faces within the block once (Kloeckner et al. 2009, algorithms 2 and 3).
// A job is such a pair, or a face whose other side is elsewhere: lane * F + face, the same of the other side or -1, and which
// row of `matches` says what face node of the other side lies where.
__device__ void face_jobs(const Problem& p, const int* first_job, const int* jobs, const int* matches, int group, real t,
                          real* jumps) {
    const int first = first_job[group], count = first_job[group + 1] - first;
    for (int i = threadIdx.y * LANES + threadIdx.x; i < count * M; i += LANES * GROUPS) {
        const int m = i / count, *job = jobs + 3 * (first + i % count), left = job[0], right = job[1];
        const int slot = left % F * M + m, e = group * LANES + left / F;
        if (right >= 0) {
            const int other = right % F * M + matches[job[2] * M + m];
            real b[2 * V];
            pair(p, e, slot, group * LANES + right / F, other, t, b);
            for (int v = 0; v < V; ++v) {
                jumps[(slot * V + v) * LANES + left / F] = b[v];
                jumps[(other * V + v) * LANES + right / F] = b[V + v];
            }
        } else {
            real b[V];
            face(p, e, slot, t, b);
            for (int v = 0; v < V; ++v) jumps[(slot * V + v) * LANES + left / F] = b[v];
        }
    }
}
#endif

extern "C" __global__ void __launch_bounds__(LANES * GROUPS) stage(
        const real* __restrict__ q, real* __restrict__ out, real* k, const real* q0, const real* __restrict__ global_matrix,
        const real* __restrict__ geometry, const offset* __restrict__ exterior, const real* __restrict__ flux,
        const int* __restrict__ first_job, const int* __restrict__ jobs, const int* __restrict__ matches,
        const real* __restrict__ clock, int number,
        real A, real w, real alpha, real beta, real B, real C, real v, real u, int elements, offset pitch) {
    DYNAMIC_SHARED(real, shared);
    const Stage s = {clock[0], A, w, alpha, beta, B, C, v, u};
    const real t = clock[1 + number];
    const Problem p = {q, geometry, exterior, flux, pitch};
    const int lane = threadIdx.x, part = threadIdx.y;
#ifdef MATRIX_SHARED
    real* matrix = shared + FIELD_SIZE;
    for (int i = part * LANES + lane; i < MATRIX_SIZE; i += LANES * GROUPS) matrix[i] = global_matrix[i];
    __syncthreads();
#else
    const real* matrix = global_matrix;
#endif
    constexpr int COLUMN = GROUPS * PADDED_ROWS;
    const real* own = matrix + part * PADDED_ROWS;
    for (int group = blockIdx.x; group * LANES < elements; group += gridDim.x) {
        const bool inside = group * LANES + lane < elements;
        const int e = inside ? group * LANES + lane : elements - 1;          // beyond the last element work is done twice
        real r[V][ROWS] = {};
#ifdef FIELD_SHARED
        real* field = shared;
        for (int first = 0; first < N; first += CHUNK) {
            const int count = min(CHUNK, N - first);
            for (int j = part; j < count; j += GROUPS) {
                real b[DIM * V];
                volume(p, e, first + j, t, b);
#pragma unroll
                for (int i = 0; i < DIM * V; ++i) field[(j * DIM * V + i) * LANES + lane] = b[i];
            }
            __syncthreads();
            for (int j = 0; j < count * DIM; ++j)
                multiply_add(own + (first * DIM + j) * COLUMN, field + j * V * LANES + lane, LANES, r);
            __syncthreads();
        }
#ifdef JOBS
        face_jobs(p, first_job, jobs, matches, group, t, field);
        __syncthreads();
        for (int j = 0; j < SLOTS; ++j)
            multiply_add(own + (DIM * N + j) * COLUMN, field + j * V * LANES + lane, LANES, r);
        __syncthreads();
#else
        for (int first = 0; first < SLOTS; first += DIM * CHUNK) {
            const int count = min(DIM * CHUNK, SLOTS - first);
            for (int j = part; j < count; j += GROUPS) {
                real b[V];
                FACE(p, e, first + j, t, b);
#pragma unroll
                for (int v = 0; v < V; ++v) field[(j * V + v) * LANES + lane] = b[v];
            }
            __syncthreads();
            for (int j = 0; j < count; ++j)
                multiply_add(own + (DIM * N + first + j) * COLUMN, field + j * V * LANES + lane, LANES, r);
            __syncthreads();
        }
#endif
#else
        for (int n = 0; n < N; ++n) {
            real b[DIM * V];
            volume(p, e, n, t, b);
#pragma unroll
            for (int j = 0; j < DIM; ++j) multiply_add(own + (n * DIM + j) * COLUMN, b + j * V, 1, r);
        }
        for (int slot = 0; slot < SLOTS; ++slot) {
            real b[V];
            FACE(p, e, slot, t, b);
            multiply_add(own + (DIM * N + slot) * COLUMN, b, 1, r);
        }
#endif
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const int n = part * ROWS + i;
            if (inside && n < N) {
                real sums[V], result[V];
#pragma unroll
                for (int v = 0; v < V; ++v) sums[v] = r[v][i];
                finish(p, e, n, t, sums, result);
#pragma unroll
                for (int v = 0; v < V; ++v) update(s, q, out, k, q0, p.at(V * N, v * N + n, e), result[v]);
            }
        }
    }
}
