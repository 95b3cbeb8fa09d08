// Tensor-product DG on the GPU: values at the faces, and right-hand side with Runge-Kutta stage, by products along lines,
//
//     J C dq/dt = sum_k (W_k F_k + L_k f_k) + J s,    F_k = F(q) . J a^k at the nodes,  f_k = - J_face F* at both ends.
//
// A block of threads works on LANES elements, threadIdx.x; threadIdx.y counts GROUPS of their nodes, and a thread keeps the sums
// of ROWS nodes in registers.  One axis after the other: the fluxes of all nodes, and of the face points at both ends of the
// lines, go to shared memory; each node sums along its line.  Fluxes at faces are computed from both sides.
//
// Before this text stand sizes, tables and, generated from the physics, `along`, `face` and `finish`, and `update`: see
// tensor_source.py and update.py.

// values (variable, face * face point): q at the ends of all lines.
extern "C" __global__ void trace(const real* __restrict__ q, real* __restrict__ values, int elements, offset pitch) {
    const offset e = offset(blockIdx.x) * blockDim.x + threadIdx.x;
    if (e >= elements) return;
    const int slot = blockIdx.y, axis = slot / (2 * M), end = slot / M % 2, point = slot % M, step = STEPS[axis];
    const int node = point / step * (LINE * step) + point % step;
    for (int v = 0; v < V; ++v) {
        real sum = 0;
        for (int i = 0; i < LINE; ++i) sum += ENDS[end * LINE + i] * q[(v * N + node + i * step) * pitch + e];
        values[(v * SLOTS + slot) * pitch + e] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(LANES * GROUPS) stage(
        const real* __restrict__ q, real* __restrict__ out, real* k, const real* q0, const real* __restrict__ values,
        const real* __restrict__ geometry, const offset* __restrict__ exterior, const real* __restrict__ clock, int number,
        real A, real w, real alpha, real beta, real B, real C, real v_, real u, int elements, offset pitch) {
    DYNAMIC_SHARED(real, at_nodes);
    real* at_ends = at_nodes + V * N * LANES;
    const int lane = threadIdx.x, group = threadIdx.y;
    const offset e = offset(blockIdx.x) * LANES + lane;
    const bool there = e < elements;
    const Stage s = {clock[0], A, w, alpha, beta, B, C, v_, u};
    const real t = clock[1 + number];
    const Problem p = {q, values, geometry, exterior, pitch};
    real r[V][ROWS] = {};
    for (int axis = 0; axis < DIM; ++axis) {
        const int step = STEPS[axis];
        for (int i = group; there && i < N; i += GROUPS) {
            real b[V];
            along(p, e, i, axis, t, b);
            for (int v = 0; v < V; ++v) at_nodes[(v * N + i) * LANES + lane] = b[v];
        }
        for (int i = group; there && i < 2 * M; i += GROUPS) {
            real b[V];
            face(p, e, axis * 2 * M + i, t, b);
            for (int v = 0; v < V; ++v) at_ends[(v * 2 * M + i) * LANES + lane] = b[v];
        }
        __syncthreads();
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            const int node = row * GROUPS + group, place = node / step % LINE, first = node - place * step;
            if (!there || node >= N) continue;
            const int point = node / (step * LINE) * step + node % step;
            for (int v = 0; v < V; ++v) {
                const real* line = at_nodes + (v * N + first) * LANES + lane;
                const real* ends = at_ends + (v * 2 * M + point) * LANES + lane;
                real sum = LIFT[2 * place] * ends[0] + LIFT[2 * place + 1] * ends[M * LANES];
                for (int j = 0; j < LINE; ++j) sum += WEAK[place * LINE + j] * line[j * step * LANES];
                r[v][row] += sum;
            }
        }
        __syncthreads();
    }
    if (!there) return;
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
        const int node = row * GROUPS + group;
        if (node >= N) continue;
        real sum[V], b[V];
        for (int v = 0; v < V; ++v) sum[v] = r[v][row];
        finish(p, e, node, t, sum, b);
        for (int v = 0; v < V; ++v) update(s, q, out, k, q0, (v * N + node) * pitch + e, b[v]);
    }
}
