// The threads of emulated CUDA C: each of a block is a context of its own, which runs until __syncthreads or its end and then
// hands over to the next one; blocks run one after another.  From barrier to barrier the threads go from the first to the last
// and from the last to the first in turns, and in the next block the other way: of two blocks that lack a barrier one is wrong, every
// time.  What this cannot show: speed, warp-level operations, two threads that change one value at the same time.
#include <sys/mman.h>
#include <ucontext.h>

#include <cstring>
#include <vector>

#include "emulation.hpp"

uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulation {

constexpr unsigned SHARED = 232448, GUARD = 4096;                 // what a block of an H100 may have; bytes looked at behind it
alignas(1024) unsigned char shared_memory[SHARED];
static const char* fault;                                         // what went wrong in this launch

struct Thread {
    ucontext_t context;
    uint3 index;
    int line;                                                     // where it waits, -1 before it begins, 0 once it has returned
};
constexpr std::size_t STACK = 1 << 20;                            // bytes for a thread; what is not touched takes no memory
static std::vector<Thread> pool;
static std::vector<void*> stacks;
static Thread* current;
static ucontext_t scheduler;

void wait(int line) {
    current->line = line;
    swapcontext(&current->context, &scheduler);
}

static void begin(unsigned number, uint3 block, void (*body)()) {
    Thread& thread = pool[number];
    thread.index = {number % block.x, number / block.x % block.y, number / block.x / block.y};
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = stacks[number], thread.context.uc_stack.ss_size = STACK;
    thread.context.uc_link = &scheduler;
    makecontext(&thread.context, body, 0);
}

static void run_block(uint3 block, bool backwards, void (*body)()) {
    const unsigned threads = block.x * block.y * block.z;
    for (unsigned t = 0; t < threads; ++t) begin(t, block, body), pool[t].line = -1;
    for (bool waits = true; waits; backwards = !backwards) {
        for (unsigned i = 0; i < threads; ++i) {
            current = &pool[backwards ? threads - 1 - i : i];
            if (!current->line) continue;
            threadIdx = current->index, current->line = 0;
            swapcontext(&scheduler, &current->context);
        }
        int line = 0;
        for (unsigned t = 0; t < threads; ++t) {
            if (pool[t].line && line && pool[t].line != line) fault = "threads of a block wait at different __syncthreads()";
            if (pool[t].line) line = pool[t].line;
        }
        waits = line;
    }
}

const char* run(uint3 grid, uint3 block, unsigned shared, void (*body)()) {
    const std::uint64_t blocks = std::uint64_t(grid.x) * grid.y * grid.z;
    const unsigned guarded = std::min(shared + GUARD, SHARED);
    gridDim = grid, blockDim = block, fault = nullptr;
    pool.resize(block.x * block.y * block.z);
    while (stacks.size() < pool.size())
        stacks.push_back(mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    for (std::uint64_t b = blocks; b--;) {                        // last first: no block may count on an earlier one
        std::memset(shared_memory, 0xFF, guarded);                // every float and double in it is a NaN
        blockIdx = {unsigned(b % grid.x), unsigned(b / grid.x % grid.y), unsigned(b / grid.x / grid.y)};
        run_block(block, b % 2, body);
        for (unsigned i = shared; i < guarded; ++i)
            if (shared_memory[i] != 0xFF) fault = "a block writes beyond its shared memory";
    }
    return fault;
}

}
