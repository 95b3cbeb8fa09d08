// clock = the length of the step, the times at which its members take their conditions, the time of the new state.
extern "C" __global__ void set_clock(real* clock, real dt, real t0, real t1, real t2, real t3, real t4, real t5, real t6, real t7,
                                     real look) {
    const real values[] = {dt, t0, t1, t2, t3, t4, t5, t6, t7, look};
    for (int i = 0; i < 10; ++i) clock[i] = values[i];
}
