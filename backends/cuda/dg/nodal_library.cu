// The same with the product left to a library: what is computed before it and after it.

// The operands of all elements, (variable, column, element), for a product by a library; one thread a node or face node.
extern "C" __global__ void operands(const real* __restrict__ q, real* __restrict__ values, const real* __restrict__ geometry,
        const offset* __restrict__ exterior, const real* __restrict__ clock, int number, int elements, offset pitch) {
    const Problem p = {q, geometry, exterior, nullptr, pitch};
    const int e = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (e >= elements) return;
    const real t = clock[1 + number];
    if (row < N) {
        real b[DIM * V];
        volume(p, e, row, t, b);
        for (int i = 0; i < DIM * V; ++i) values[(i % V * COLUMNS + row * DIM + i / V) * pitch + e] = b[i];
    } else {
        real b[V];
        face(p, e, row - N, t, b);
        for (int v = 0; v < V; ++v) values[(v * COLUMNS + DIM * N + row - N) * pitch + e] = b[v];
    }
}

// Sources, capacity and Runge-Kutta update after that product; sums (variable, node, element), one thread a node.
extern "C" __global__ void finish_stage(const real* __restrict__ q, real* __restrict__ out, real* k, const real* q0,
        const real* __restrict__ sums_of_all, const real* __restrict__ geometry, const real* __restrict__ clock, int number,
        real A, real w, real alpha, real beta, real B, real C, real v, real u, int elements, offset pitch) {
    const Problem p = {q, geometry, nullptr, nullptr, pitch};
    const Stage s = {clock[0], A, w, alpha, beta, B, C, v, u};
    const int e = blockIdx.x * blockDim.x + threadIdx.x, n = blockIdx.y;
    if (e >= elements) return;
    real sums[V], result[V];
    for (int v = 0; v < V; ++v) sums[v] = sums_of_all[p.at(V * N, v * N + n, e)];
    finish(p, e, n, clock[1 + number], sums, result);
    for (int v = 0; v < V; ++v) update(s, q, out, k, q0, p.at(V * N, v * N + n, e), result[v]);
}
