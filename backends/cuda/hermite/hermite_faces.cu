// From the nodes of a grid to what lies between them, one axis after the other.
//
// Of a plane of nodes the products along x, then along y, are its `face`; the last axis follows from the faces below and above a
// target.  The face above is kept for the next target.  threadIdx.y counts the places (y, x) of a face; a thread has its place in
// all variables of the block.
//
// Each product takes ENDS numbers, coefficients 0 to N of the low and of the high neighbour, to OUT, by `apply`: either Hermite's
// interpolation, OUT = ENDS, in straight-line code, or a matrix from memory, the map of a whole half-step, OUT = N + 1.

struct Source {
    const real *q, *signs, *map;                           // the nodes; factors of images; matrices of `apply`, by axis
    const int* around;                                     // of targets along x, along y (in 3D), along the last axis: `Ends`
    int tx, ty;                                            // targets along x and y (1 unless in 3D)
};

struct Ends { int node[2], image[2]; };                    // neighbours along an axis, and which factors an image has, 0: none

__device__ __forceinline__ Ends ends(const Source& s, int target) {
    const int* a = s.around + 4 * target;
    return {{a[0], a[1]}, {a[2], a[3]}};
}

// Coefficients 0 to N of the low and of the high neighbour as they count: those of images times their factors.
__device__ __forceinline__ void reflect(const Source& s, const Ends& ends, int variable, real* c) {
#pragma unroll
    for (int side = 0; side < 2; ++side)
        if (ends.image[side])
#pragma unroll
            for (int j = 0; j <= N; ++j)
                c[side * (N + 1) + j] *= s.signs[(ends.image[side] * ALL + variable) * (N + 1) + j];
}

// The face of the plane `last` in shared memory: [variable][j of the last axis][y][x].
__device__ __forceinline__ void face(const Source& s, const Grid& g, const Work& w, int last, real* b) {
    const int part = threadIdx.y;
#if DIM == 1
    for (int i = 0; i < VARIABLES * (N + 1); ++i)
        b[AT(i)] = s.q[((w.variable + i / (N + 1)) * ROWS + i % (N + 1)) * g.nodes + last];
#else
    const Ends x = ends(s, w.x), y = DIM == 3 ? ends(s, s.tx + w.y) : Ends{};
    constexpr int LINES = DIM == 3 ? ENDS : 1;             // both neighbours along y and their coefficients
    for (int i = part; i < VARIABLES * (N + 1) * LINES; i += PARTS) {
        const int v = w.variable + i / LINES / (N + 1), j = i / LINES % (N + 1), line = i % LINES;
        const int row = DIM == 3 ? j * (N + 1) + line % (N + 1) : j, beside = line > N ? y.node[1] : y.node[0];
        const real* c = s.q + offset(v * ROWS + row * (N + 1)) * g.nodes;
        real e[ENDS], p[OUT];
#pragma unroll
        for (int k = 0; k < ENDS; ++k)
            e[k] = c[k % (N + 1) * g.nodes + node(g, x.node[k / (N + 1)], beside, last)];
        reflect(s, x, v, e);
        apply(e, p, s.map);
#pragma unroll
        for (int k = 0; k < OUT; ++k) b[AT(i / LINES * PLANE + line * PITCH + k)] = p[k];
    }
    __syncthreads();
#endif
#if DIM == 3
    for (int i = part; i < VARIABLES * (N + 1) * OUT; i += PARTS) {
        const int first = i / OUT * PLANE + i % OUT;
        real e[ENDS], p[OUT];
#pragma unroll
        for (int k = 0; k < ENDS; ++k) e[k] = b[AT(first + k * PITCH)];
        reflect(s, y, w.variable + i / OUT / (N + 1), e);
        apply(e, p, s.map + OUT * ENDS);
#pragma unroll
        for (int k = 0; k < OUT; ++k) b[AT(first + k * PITCH)] = p[k];
    }
    __syncthreads();
#endif
}

// What a thread keeps of the lower face, in registers or behind the face in shared memory.
#ifdef KEEP_SHARED
#define KEPT(v, j) b[AT(KEPT_FROM + ((v) * (N + 1) + (j)) * PLANE + place)]
#else
#define KEPT(v, j) kept[v][j]
#endif

// Targets `first` to `end` of the last axis: done(target, v, p) gets the thread's products p of variable v, and may put them into
// shared memory; after(target) follows, where all threads may use that.
template <class Done, class After>
__device__ __forceinline__ void along(const Source& s, const Grid& g, const Work& w, int first, int end, real* b,
                                      const Done& done, const After& after) {
    const int part = threadIdx.y, place = DIM == 3 ? part / OUT * PITCH + part % OUT : part;
#ifndef KEEP_SHARED
    real kept[VARIABLES][N + 1];
#endif
    int held = -1;                                         // the plane whose face is kept
    for (int target = first; target < end; ++target) {
        const Ends last = ends(s, DIM == 1 ? w.x : s.tx + (DIM == 3 ? s.ty : 0) + target);
        if (DIM == 1 || last.node[0] != held) {
            face(s, g, w, last.node[0], b);
#pragma unroll
            for (int v = 0; v < VARIABLES; ++v)
#pragma unroll
                for (int j = 0; j <= N; ++j) KEPT(v, j) = b[AT((v * (N + 1) + j) * PLANE + place)];
            __syncthreads();
        }
        held = last.node[1];
        face(s, g, w, held, b);
        // The last variable first, so that results in the face's own place meet only what has been read.
#pragma unroll
        for (int v = VARIABLES - 1; v >= 0; --v) {
            real e[ENDS], p[OUT];
#pragma unroll
            for (int j = 0; j <= N; ++j) {
                e[j] = KEPT(v, j);
                e[N + 1 + j] = KEPT(v, j) = b[AT((v * (N + 1) + j) * PLANE + place)];
            }
            reflect(s, last, w.variable + v, e);
            apply(e, p, s.map + (DIM - 1) * OUT * ENDS);
            done(target, v, place, p);
        }
        __syncthreads();
        after(target);
    }
}
