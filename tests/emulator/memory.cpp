/* SPDX-License-Identifier: MIT
 *
 * memory.cpp - the device's memory. It begins with garbage, ends where the next page cannot be
 * touched, and cannot be touched once it is given back.
 */
#include "memory.hpp"
#include "failing.h"
#include "failing.hpp"
#include "schedule.hpp"

#include <map>
#include <mutex>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

struct emu_pool {
    size_t unused;
};

namespace
{

struct allocation {
    void *map;
    size_t map_bytes, bytes;
};
std::map<char *, allocation> allocations;
size_t allocated;
std::mutex mutex; /* guards these */
const size_t PAGE = 4096, ALIGN = 256;

cudaError_t allocate(void **memory, size_t bytes)
{
    std::lock_guard<std::mutex> lock(mutex);
    const size_t used = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    const size_t pages = (used + PAGE - 1) / PAGE * PAGE;
    *memory = NULL;
    if (bytes == 0) {
        return cudaSuccess;
    }
    if (bytes > EMU_DEVICE_BYTES || allocated + bytes > EMU_DEVICE_BYTES) {
        return cudaErrorMemoryAllocation;
    }
    void *map = mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED || mprotect((char *)map + pages, PAGE, PROT_NONE) != 0) {
        return cudaErrorMemoryAllocation;
    }
    char *begin = (char *)map + pages - used;
    memset(begin, 0xa5, used);
    allocations[begin] = allocation{map, pages + PAGE, bytes};
    allocated += bytes;
    *memory = begin;
    return cudaSuccess;
}

cudaError_t give_back(void *memory)
{
    std::lock_guard<std::mutex> lock(mutex);
    auto found = allocations.find((char *)memory);
    if (memory == NULL) {
        return cudaSuccess;
    }
    if (found == allocations.end()) {
        emu_fail("%p is given back and was never allocated", memory);
    }
    allocated -= found->second.bytes;
    munmap(found->second.map, found->second.map_bytes);
    allocations.erase(found);
    return cudaSuccess;
}

} // namespace

size_t emu_allocated(void)
{
    std::lock_guard<std::mutex> lock(mutex);
    return allocated;
}

bool emu_is_reached(const void *memory)
{
    std::lock_guard<std::mutex> lock(mutex);
    auto after = allocations.upper_bound((char *)memory);
    return after != allocations.begin() &&
           (--after)->first + after->second.bytes > (const char *)memory;
}

static void fault(int, siginfo_t *info, void *)
{
    emu_fail("access of %p, which is no memory", info->si_addr);
}

/* Once a host thread: the stack of a thread of a kernel may be what is exhausted. */
void emu_watch_faults(void)
{
    static __thread bool has_signal_stack;
    if (has_signal_stack) {
        return;
    }
    has_signal_stack = true;
    stack_t stack = {};
    stack.ss_size = 1 << 16;
    stack.ss_sp = new char[stack.ss_size];
    sigaltstack(&stack, NULL);
    struct sigaction action = {};
    action.sa_sigaction = fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

/* --- the runtime ------------------------------------------------------------------------------ */

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    EMU_MAY_FAIL(emu_allocates());
    return allocate(memory, bytes);
}

cudaError_t cudaMallocManaged(void **memory, size_t bytes, unsigned int)
{
    EMU_MAY_FAIL(emu_allocates());
    return allocate(memory, bytes);
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned int)
{
    EMU_MAY_FAIL(emu_allocates());
    return allocate(memory, bytes);
}

cudaError_t cudaFree(void *memory)
{
    cudaDeviceSynchronize();
    give_back(memory);
    return emu_gives_back();
}

cudaError_t cudaFreeHost(void *memory)
{
    cudaDeviceSynchronize();
    give_back(memory);
    return emu_gives_back();
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    EMU_MAY_FAIL(emu_called());
    std::lock_guard<std::mutex> lock(mutex);
    *total_bytes = EMU_DEVICE_BYTES;
    *free_bytes = EMU_DEVICE_BYTES - allocated;
    return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *)
{
    EMU_MAY_FAIL(emu_allocates());
    *pool = new emu_pool();
    return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    delete pool;
    return emu_gives_back();
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, enum cudaMemPoolAttr, void *)
{
    EMU_MAY_FAIL(emu_called());
    return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t)
{
    EMU_MAY_FAIL(emu_called());
    return cudaSuccess;
}

cudaError_t cudaMallocFromPoolAsync(void **memory, size_t bytes, cudaMemPool_t, cudaStream_t)
{
    EMU_MAY_FAIL(emu_allocates());
    return allocate(memory, bytes);
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream)
{
    emu_enqueue_work(stream, [=] { give_back(memory); });
    return emu_gives_back();
}
