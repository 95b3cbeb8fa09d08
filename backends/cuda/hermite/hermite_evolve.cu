// The polynomials of planes of targets from `first` to `end`, evolved by the time tau; a block has targets of one plane.
extern "C" __global__ void __launch_bounds__(LANES * PARTS) evolve(
        const real* __restrict__ polynomials, real* __restrict__ out, real tau, int nx, int ny, offset nodes, int tx, int ty,
        int first, int end) {
    DYNAMIC_SHARED(real, b);
    const Grid g = {nx, ny, nodes};
    const Work k = work(tx, ty, end - first, first, 1);
    const Pencil p;
    real w[VARIABLES][ENDS + 1];
#pragma unroll
    for (int v = 0; v < VARIABLES; ++v)
#pragma unroll
        for (int j = 0; j < ENDS; ++j) {
            w[v][j] = polynomials[polynomial(g, end - first, v, int(threadIdx.y) * ENDS + j) + node(g, k.x, k.y, k.first - first)];
            b[AT(p.at(v) + j)] = w[v][j];
        }
    __syncthreads();
    taylor(p, w, b, tau, out, g, node(g, k.x, k.y, k.first), k.inside);
}
