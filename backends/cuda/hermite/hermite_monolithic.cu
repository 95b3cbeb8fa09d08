// A half-step of length tau to the targets from `first` to `end`; a block has `depth` planes, one after the other.
extern "C" __global__ void __launch_bounds__(LANES * PARTS) monolithic(
        const real* __restrict__ q, real* __restrict__ out, const int* __restrict__ around, const real* __restrict__ signs,
        real tau, int nx, int ny, offset nodes, int tx, int ty, int first, int end, int depth) {
    DYNAMIC_SHARED(real, b);
    const Grid g = {nx, ny, nodes};
    const Source s = {q, signs, nullptr, around, tx, ty};
    const Work k = work(tx, ty, (end - first + depth - 1) / depth, first, depth);
    const Pencil p;
    along(s, g, k, k.first, min(k.first + depth, end), b, [&](int, int v, int place, const real* values) {
#pragma unroll
        for (int t = 0; t < ENDS; ++t) b[AT((v * ENDS + t) * PLANE + place)] = values[t];
    }, [&](int target) {
        real w[VARIABLES][ENDS + 1];
#pragma unroll
        for (int v = 0; v < VARIABLES; ++v)
#pragma unroll
            for (int j = 0; j < ENDS; ++j) w[v][j] = b[AT(p.at(v) + j)];
        taylor(p, w, b, tau, out, g, node(g, k.x, k.y, target), k.inside);
    });
}
