// The polynomials between the nodes, of planes of targets from `first` to `end`; a block has `depth` planes of a variable.
extern "C" __global__ void __launch_bounds__(LANES * PARTS) interpolate(
        const real* __restrict__ q, real* __restrict__ polynomials, const int* __restrict__ around,
        const real* __restrict__ signs, int nx, int ny, offset nodes, int tx, int ty, int first, int end, int depth) {
    DYNAMIC_SHARED(real, b);
    const Grid g = {nx, ny, nodes};
    const Source s = {q, signs, nullptr, around, tx, ty};
    const Work w = work(tx, ty, (end - first + depth - 1) / depth, first, depth);
    along(s, g, w, w.first, min(w.first + depth, end), b, [&](int target, int, int, const real* p) {
        if (!w.inside) return;
        const offset at = node(g, w.x, w.y, target - first);
#pragma unroll
        for (int t = 0; t < ENDS; ++t)
            polynomials[polynomial(g, end - first, w.variable, t * PARTS + int(threadIdx.y)) + at] = p[t];
    }, [](int) {});
}
