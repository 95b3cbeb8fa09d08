// One sweep of a split step along one axis: out = q - dt/h (differences of the fluxes) / C.
// clock: see set_clock.cu;  time: number of the member of the step;  share: of the sweep in the step;  look, found: see look.cu
extern "C" __global__ void __launch_bounds__(THREADS) sweep(
        const real* __restrict__ state, real* __restrict__ out, const real* __restrict__ m, const real* __restrict__ box,
        const real* __restrict__ clock, real* __restrict__ found, int n, int na, offset along, offset a, offset b, offset cells,
        int time, real share, int look) {
    DYNAMIC_SHARED(real, shared);
    const Grid g = {n, na, along, a, b, cells};
    const Cell c = cell_of_thread(g);
    const offset at = place(g, c, 0);
    const real t = clock[1 + time];
    real q[V], r[V];
    load(g, c, at, state, m, box, t, q);
    stencils(g, c, at, shared, m, box, t, share * clock[0] / box[2 * AXIS + 1], q, r);
    if (c.stored)
        for (int v = 0; v < V; ++v) out[v * g.cells + at] = r[v];
    look_at(g, c, at, m, box, clock, r, shared, found, look);
}
