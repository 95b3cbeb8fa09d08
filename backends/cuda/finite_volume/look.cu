// Look at the new states r of a block: found = the largest wave rate, NaN where a state is not sound.
// look: 0 not at all, 1 whether states are sound, 2 wave rates too
__device__ __forceinline__ void look_at(const Grid& g, const Cell& c, offset at, const real* m, const real* box, const real* clock,
                                        const real* r, real* shared, real* found, int look) {
    if (look == 0) return;
    const real value = largest_of_block(c.stored ? rate(g, c, at, m, box, clock[LOOK_TIME], r, look > 1) : real(0), c.own, shared);
    if (c.own == 0) found[blockIdx.y * gridDim.x + blockIdx.x] = value;
}
