// What CuPy puts around the body of a `cupy.ElementwiseKernel`: arrays with strides, the loop over the points.  The same text is
// compiled for the CPU and, by NVRTC, for a GPU.
#define CUPY_FOR(i, n) for (ptrdiff_t i = ptrdiff_t(blockIdx.x) * blockDim.x + threadIdx.x; i < (n); \
                            i += ptrdiff_t(blockDim.x) * gridDim.x)

template <class T, int dims, bool contiguous, bool short_index> struct CArray {
    T* data;
    ptrdiff_t length, lengths[dims], steps[dims];                 // steps in bytes

    __device__ ptrdiff_t size() const { return length; }
    __device__ const T& operator[](const ptrdiff_t (&at)[dims]) const {
        ptrdiff_t bytes = 0;
        for (int axis = 0; axis < dims; ++axis) bytes += steps[axis] * at[axis];
        return *reinterpret_cast<const T*>(reinterpret_cast<const char*>(data) + bytes);
    }
    __device__ const T& operator[](ptrdiff_t number) const {
        if (contiguous) return data[number];
        ptrdiff_t bytes = 0;
        for (int axis = dims - 1; axis > 0; number /= lengths[axis--]) bytes += steps[axis] * (number % lengths[axis]);
        return *reinterpret_cast<const T*>(reinterpret_cast<const char*>(data) + bytes + steps[0] * number);
    }
    template <class At> __device__ T& operator[](const At& at) { return const_cast<T&>(const_cast<const CArray&>(*this)[at]); }
};

template <class T, bool short_index> struct CArray<T, 0, true, short_index> {
    T* data;
    ptrdiff_t length;

    __device__ ptrdiff_t size() const { return length; }
    template <class At> __device__ T& operator[](const At&) { return *data; }
    template <class At> __device__ const T& operator[](const At&) const { return *data; }
};

template <int dims, bool short_index> struct CIndexer {
    ptrdiff_t length, lengths[dims], at[dims];

    __device__ ptrdiff_t size() const { return length; }
    __device__ const ptrdiff_t (&get() const)[dims] { return at; }
    __device__ void set(ptrdiff_t number) {
        for (int axis = dims - 1; axis > 0; number /= lengths[axis--]) at[axis] = number % lengths[axis];
        at[0] = number;
    }
};

template <bool short_index> struct CIndexer<0, short_index> {
    ptrdiff_t length;

    __device__ ptrdiff_t size() const { return length; }
    __device__ int get() const { return 0; }
    __device__ void set(ptrdiff_t) {}
};
