// A half-step whose map is a product of one along each axis, maps[variable][axis][OUT][ENDS]; a block has `depth` planes of a
// variable.
extern "C" __global__ void __launch_bounds__(LANES * PARTS) collapsed(
        const real* __restrict__ q, real* __restrict__ out, const int* __restrict__ around, const real* __restrict__ signs,
        const real* __restrict__ maps, int nx, int ny, offset nodes, int tx, int ty, int first, int end, int depth) {
    DYNAMIC_SHARED(real, map);
    real* b = map + MAPS;
    const Grid g = {nx, ny, nodes};
    const Source s = {q, signs, map, around, tx, ty};
    const Work w = work(tx, ty, (end - first + depth - 1) / depth, first, depth);
    for (int i = threadIdx.y * LANES + threadIdx.x; i < MAPS; i += LANES * PARTS) map[i] = maps[w.variable * MAPS + i];
    __syncthreads();
    along(s, g, w, w.first, min(w.first + depth, end), b, [&](int target, int, int, const real* p) {
        if (!w.inside) return;
#pragma unroll
        for (int t = 0; t < OUT; ++t)
            out[offset(w.variable * ROWS + t * PARTS + int(threadIdx.y)) * nodes + node(g, w.x, w.y, target)] = p[t];
    }, [](int) {});
}
