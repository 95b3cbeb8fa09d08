// The Taylor series in time of the polynomials about a target: with b_0 the polynomial and b_s = tau / s L b_(s - 1), the
// solution is the sum of b_0 .. b_STAGES, of which the coefficients up to N along each axis are wanted.
//
// A thread has the coefficients of one pencil (j_z, j_y) in registers; those of the neighbouring pencils are in shared memory,
// [variable][j_z][j_y][j_x].  L reads higher coefficients only, so a pencil is overwritten from j_x = 0 on.  PRUNED leaves out
// what no later stage needs, j with sum_d max(0, j_d - N) > STAGES - s, and, without DECAY, what is zero, j with
// sum_d j_d > DIM (2N + 1) - s.
//
// Before this text stand `Factors`, what the terms of the law are multiplied by in a stage, and `rate`, L at one coefficient of
// all variables: see hermite_source.py.

// The last coefficient along x of a pencil that is wanted of stage s; -1: none.
__device__ __forceinline__ int reach(const Pencil& p, int s) {
#ifdef PRUNED
    const int more = STAGES - s - max(0, p.jy - N) - max(0, p.jz - N);
    const int needed = more < 0 ? -1 : min(ENDS - 1, N + more);
#ifdef DECAY
    return needed;
#else
    return min(needed, DIM * (ENDS - 1) - s - p.jy - p.jz);
#endif
#else
    return ENDS - 1;
#endif
}

// w: the polynomials' pencils, which are in shared memory too; the solution's coefficients go to `out` at a node if `inside`.
__device__ __forceinline__ void taylor(const Pencil& p, real (&w)[VARIABLES][ENDS + 1], real* b, real tau, real* out,
                                       const Grid& g, offset at, bool inside) {
    real sum[VARIABLES][N + 1];
#pragma unroll
    for (int v = 0; v < VARIABLES; ++v) {
        w[v][ENDS] = 0;
#pragma unroll
        for (int j = 0; j <= N; ++j) sum[v][j] = w[v][j];
    }
#pragma unroll 1
    for (int s = 1; s <= STAGES; ++s) {
        const int last = reach(p, s);
        const Factors f(tau / s, p);
#pragma unroll
        for (int j = 0; j < ENDS; ++j)
            if (j <= last) {
                real r[VARIABLES];
                rate(w, b, f, p, j, r);
#pragma unroll
                for (int v = 0; v < VARIABLES; ++v) {
                    w[v][j] = r[v];
                    if (j <= N) sum[v][j] += r[v];
                }
            }
#if DIM > 1
        __syncthreads();
#pragma unroll
        for (int v = 0; v < VARIABLES; ++v)
#pragma unroll
            for (int j = 0; j < ENDS; ++j)
                if (j <= last) b[AT(p.at(v) + j)] = w[v][j];
        __syncthreads();
#endif
    }
    if (!inside || p.jy > N || p.jz > N) return;
#pragma unroll
    for (int v = 0; v < VARIABLES; ++v)
#pragma unroll
        for (int j = 0; j <= N; ++j)
            out[offset(v * ROWS + (p.jz * (N + 1) + p.jy) * (N + 1) + j) * g.nodes + at] = sum[v][j];
}
