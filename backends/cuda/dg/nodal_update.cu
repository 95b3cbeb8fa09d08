// One number of q for node n of variable v after the stage: k = A k + v q + w dt r,  out = alpha q0 + beta q + B k + C dt r.
__device__ __forceinline__ void update(const Stage& s, const real* q, real* out, real* k, const real* q0, offset at, real r) {
    real register_k = 0;
    if (s.w != 0 || s.v != 0) {
        register_k = s.w * s.dt * r;
        if (s.v != 0) register_k += s.v * q[at];
        if (s.A != 0) register_k += s.A * k[at];
        k[at] = register_k;
    } else if (s.B != 0) {
        register_k = k[at];
    }
    real total = 0;
    if (s.alpha != 0) total += s.alpha * q0[at];
    if (s.beta != 0) total += s.beta * q[at];
    if (s.B != 0) total += s.B * register_k;
    if (s.C != 0) total += s.C * s.dt * r;
    out[at] = total;
}

// clock = dt and the times of the stages.
extern "C" __global__ void set_clock(real* clock, real dt, real t0, real t1, real t2, real t3, real t4, real t5, real t6, real t7) {
    const real values[] = {dt, t0, t1, t2, t3, t4, t5, t6, t7};
    for (int i = 0; i < 9; ++i) clock[i] = values[i];
}
