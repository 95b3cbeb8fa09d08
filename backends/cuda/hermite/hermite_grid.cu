// Hermite's method on the GPU: grids, and what a block of threads works on.
//
// A block has LANES neighbouring targets along x, threadIdx.x, and goes along the last axis: z, in 2D y, in 1D x itself.
// threadIdx.y counts PARTS threads that share the work of a target.  ROWS coefficients of each of ALL variables lie at a node,
// of a polynomial between nodes POLYNOMIAL; ENDS = 2 (N + 1).  VARIABLES are those of a block.
//
// Before this text stand the sizes: see hermite_source.py.

// Shared memory holds numbers of neighbouring targets side by side; PITCH and PLANE are the steps from one y and one z to the
// next, PITCH odd, so that threads beside each other read from different banks.
#define AT(i) ((i) * LANES + threadIdx.x)

struct Grid { int nx, ny; offset nodes; };                 // nodes along x and y (1 unless in 3D), in all

__device__ __forceinline__ offset node(const Grid& g, int x, int y, int last) {
    return DIM == 1 ? x : offset(last * g.ny + y) * g.nx + x;
}

// Coefficient of the polynomials of some planes of targets, [variable][coefficient][plane][y][x].
__device__ __forceinline__ offset polynomial(const Grid& g, int planes, int variable, int coefficient) {
    return offset(variable * POLYNOMIAL + coefficient) * planes * (DIM == 1 ? g.nodes : offset(g.nx) * g.ny);
}

// What a block has to do, from its number: targets along x and y, the first along the last axis, the first variable.
struct Work { int x, y, first, variable; bool inside; };

// Targets along x and y (1 unless in 3D); targets of the last axis from `first` in stretches of `depth`.
__device__ __forceinline__ Work work(int tx, int ty, int stretches, int first, int depth) {
    const int groups = (tx + LANES - 1) / LANES, x = blockIdx.x % groups * LANES + threadIdx.x;
    const int y = blockIdx.x / groups % ty, rest = blockIdx.x / groups / ty;
    return {min(x, tx - 1), y, first + rest % stretches * depth, rest / stretches * VARIABLES, x < tx};
}
