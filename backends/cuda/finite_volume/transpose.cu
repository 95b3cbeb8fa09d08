// Another order of a grid's axes in memory: axis a, along which neighbours lie side by side, changes places with axis b.
// na, nb: cells along them;  from_b, to_a: their steps in memory before and after;  from_c, to_c: of the third axis;
// cells: from variable to variable.  A block moves TILE x TILE cells through shared memory, so that both ends are coalesced.
// Ruetsch & Micikevicius 2009.
constexpr int TILE = 32, ROWS = 8;
extern "C" __global__ void __launch_bounds__(TILE * ROWS) transpose(
        const real* __restrict__ from, real* __restrict__ to, int na, int nb, offset from_b, offset from_c, offset to_a,
        offset to_c, offset cells) {
    DYNAMIC_SHARED(real, tile);
    const int across = (na + TILE - 1) / TILE, first_a = int(blockIdx.x) % across * TILE, first_b = int(blockIdx.x) / across * TILE;
    const offset read = blockIdx.z * cells + blockIdx.y * from_c, write = blockIdx.z * cells + blockIdx.y * to_c;
    const int x = threadIdx.x;
    for (int y = threadIdx.y; y < TILE; y += ROWS)
        if (first_a + x < na && first_b + y < nb) tile[y * (TILE + 1) + x] = from[read + (first_b + y) * from_b + first_a + x];
    __syncthreads();
    for (int y = threadIdx.y; y < TILE; y += ROWS)
        if (first_a + y < na && first_b + x < nb) to[write + (first_a + y) * to_a + first_b + x] = tile[x * (TILE + 1) + y];
}
