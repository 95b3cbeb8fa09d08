// One axis of a Runge-Kutta stage: the tendency r gets the differences of the fluxes along it; the last axis makes the new state,
// k = A k + v q + u q0 + w dt r,  out = alpha q0 + beta q + B k + C dt r.
// ADDS: r begins with what the axis before has found, else with zero;  ENDS: this axis is the last and adds the sources, else r
// goes to memory;
// REGISTER: the stepper has k;  start: q0;  other arguments as of sweep.cu
extern "C" __global__ void __launch_bounds__(THREADS) stage(
        const real* __restrict__ state, real* out, const real* start, real* kept, real* tendency, const real* __restrict__ m,
        const real* __restrict__ box, const real* __restrict__ clock, real* __restrict__ found, int n, int na, offset along,
        offset a, offset b, offset cells, real A, real v_, real u, real w_, real alpha, real beta, real B, real C, int look) {
    DYNAMIC_SHARED(real, shared);
    const Grid g = {n, na, along, a, b, cells};
    const Cell c = cell_of_thread(g);
    const offset at = place(g, c, 0);
    const real dt = clock[0], t = clock[1];
    real q[V], r[V];
    load(g, c, at, state, m, box, t, q);
    for (int v = 0; v < V; ++v) r[v] = ADDS ? tendency[v * g.cells + at] : real(0);
    stencils(g, c, at, shared, m, box, t, 1 / box[2 * AXIS + 1], q, r);
    if (!ENDS) {
        if (c.stored)
            for (int v = 0; v < V; ++v) tendency[v * g.cells + at] = r[v];
        return;
    }
    sources(g, c, at, m, box, t, real(0), q, r);
    if (c.stored)
        for (int v = 0; v < V; ++v) {
            const offset to = v * g.cells + at;
            const real k = REGISTER ? A * kept[to] + v_ * q[v] + u * start[to] + w_ * dt * r[v] : real(0);
            if (REGISTER) kept[to] = k;
            r[v] = alpha * start[to] + (beta * q[v] + C * dt * r[v]) + B * k;
            out[to] = r[v];
        }
    look_at(g, c, at, m, box, clock, r, shared, found, look);
}
