// CUDA C on the CPU: what a kernel needs of CUDA, and its launch; emulation.cpp runs the threads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <math.h>
#include <stddef.h>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define DYNAMIC_SHARED(type, name) type* name = reinterpret_cast<type*>(emulation::shared_memory)
#define __syncthreads() emulation::wait(__LINE__)
using std::max, std::min;

struct uint3 { unsigned x, y, z; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) double2 { double x, y; };
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline double2 make_double2(double x, double y) { return {x, y}; }
template <class T> static inline T __ldg(const T* p) { return *p; }

extern uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulation {

extern unsigned char shared_memory[];
void wait(int line);
const char* run(uint3 grid, uint3 block, unsigned shared, void (*body)());

template <class... Types, std::size_t... I>
void call(void (*kernel)(Types...), void** arguments, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_const_t<Types>*>(arguments[I])...);
}

template <class... Types> struct Launch {                         // what every thread is to do
    static inline void (*kernel)(Types...);
    static inline void** arguments;
    static void body() { call(kernel, arguments, std::index_sequence_for<Types...>()); }
};

template <class... Types>
const char* launch(void (*kernel)(Types...), uint3 grid, uint3 block, unsigned shared, void** arguments) {
    Launch<Types...>::kernel = kernel, Launch<Types...>::arguments = arguments;
    return run(grid, block, shared, Launch<Types...>::body);
}

template <class T> constexpr char letter = std::is_floating_point_v<T> ? 'f' : !std::is_integral_v<T> ? 'V'
                                           : std::is_signed_v<T> ? 'i' : 'u';
template <class T> struct Kind {                                  // as NumPy writes it; a star before what a pointer points to
    using To = std::remove_cv_t<std::remove_pointer_t<T>>;
    static constexpr char text[] = {std::is_pointer_v<T> ? '*' : ' ', letter<To>, '0' + sizeof(To) % 10, ' '};
};

template <class... Types> const char* kinds(void (*)(Types...)) {
    static char text[4 * sizeof...(Types) + 1];
    char* to = text;
    ((to = std::copy(Kind<std::remove_cv_t<Types>>::text, Kind<std::remove_cv_t<Types>>::text + 4, to)), ...);
    return text;
}

constexpr unsigned first(unsigned value, unsigned = 0, unsigned = 0) { return value; }

}
