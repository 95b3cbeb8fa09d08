// The sources alone for a part of a step, by the midpoint rule: a thread for each cell. Arguments as of sweep.cu.
extern "C" __global__ void __launch_bounds__(THREADS) source_step(
        const real* __restrict__ state, real* __restrict__ out, const real* __restrict__ m, const real* __restrict__ box,
        const real* __restrict__ clock, real* __restrict__ found, int n, int na, offset along, offset a, offset b, offset cells,
        int time, real share, int look) {
    DYNAMIC_SHARED(real, shared);
    const Grid g = {n, na, along, a, b, cells};
    const Cell c = cell_of_thread(g);
    const offset at = place(g, c, 0);
    real q[V], r[V];
    for (int v = 0; v < V; ++v) q[v] = state[v * g.cells + at];
    sources(g, c, at, m, box, clock[1 + time], share * clock[0], q, r);
    if (c.stored)
        for (int v = 0; v < V; ++v) out[v * g.cells + at] = r[v];
    look_at(g, c, at, m, box, clock, r, shared, found, look);
}
