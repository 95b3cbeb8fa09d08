// CUDA C on the CPU: every CUDA thread of a block is a std::thread, __syncthreads a barrier, blocks run one after another.
// What it cannot show: speed, warp-level operations, races between threads that the processor happens not to run into.
#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <math.h>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

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

static thread_local uint3 threadIdx;
static uint3 blockIdx, blockDim, gridDim;

namespace emulation {

constexpr unsigned SHARED = 232448, GUARD = 4096;                 // what a block of an H100 may have; bytes looked at behind it
alignas(1024) static unsigned char shared_memory[SHARED];
static const char* fault;                                         // what went wrong in this launch

static thread_local unsigned thread;                              // its number in the block
static std::vector<int> place;                                    // the line where each thread waits, 0 once it has returned

struct Together {                                                 // runs when all threads of a block have come to a barrier
    void operator()() noexcept {
        int line = 0;
        for (int here : place) {
            if (here && line && here != line) fault = "threads of a block wait at different __syncthreads()";
            if (here) line = here;
        }
    }
};
static std::optional<std::barrier<Together>> block_barrier;

static inline void wait(int line) {
    place[thread] = line;
    block_barrier->arrive_and_wait();
}

template <class... Types, std::size_t... I>
void call(void (*kernel)(Types...), void** arguments, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_const_t<Types>*>(arguments[I])...);
}

template <class... Types>
const char* launch(void (*kernel)(Types...), uint3 grid, uint3 block, unsigned shared, void** arguments) {
    const unsigned threads = block.x * block.y * block.z;
    const std::uint64_t blocks = std::uint64_t(grid.x) * grid.y * grid.z;
    gridDim = grid, blockDim = block, fault = nullptr;
    const unsigned guarded = std::min(shared + GUARD, SHARED);
    std::uint64_t done = 0;
    auto next = [&]() noexcept {                                  // between two blocks, while all threads wait
        for (unsigned i = shared; done && i < guarded; ++i)
            if (shared_memory[i] != 0xFF) fault = "a block writes beyond its shared memory";
        std::memset(shared_memory, 0xFF, guarded);                // every float and double in it is a NaN
        if (done == blocks) return;
        const std::uint64_t b = blocks - ++done;                  // last first: no block may count on an earlier one
        blockIdx = {unsigned(b % grid.x), unsigned(b / grid.x % grid.y), unsigned(b / grid.x / grid.y)};
        place.assign(threads, 0);
        block_barrier.emplace(threads);
    };
    std::barrier between(threads, next);
    std::vector<std::thread> pool;
    for (unsigned t = 0; t < threads; ++t)
        pool.emplace_back([=, &between] {
            thread = t;
            threadIdx = {t % block.x, t / block.x % block.y, t / block.x / block.y};
            for (std::uint64_t i = 0; i < blocks; ++i) {
                between.arrive_and_wait();
                call(kernel, arguments, std::index_sequence_for<Types...>());
                place[t] = 0;
                block_barrier->arrive_and_drop();                 // a thread that has returned no longer counts
            }
        });
    for (auto& each : pool) each.join();
    next();
    return fault;
}

template <class T> std::string kind() {                           // as NumPy writes it; a star before what a pointer points to
    if constexpr (std::is_pointer_v<T>) return "*" + kind<std::remove_cv_t<std::remove_pointer_t<T>>>();
    else if constexpr (std::is_floating_point_v<T>) return "f" + std::to_string(sizeof(T));
    else if constexpr (std::is_integral_v<T>) return (std::is_signed_v<T> ? "i" : "u") + std::to_string(sizeof(T));
    else return "struct";
}

template <class... Types> const char* kinds(void (*)(Types...)) {
    static const std::string text = ((kind<std::remove_cv_t<Types>>() + " ") + ... + "");
    return text.c_str();
}

constexpr unsigned first(unsigned value, unsigned = 0, unsigned = 0) { return value; }

}
