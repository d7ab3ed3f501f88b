/* SPDX-License-Identifier: MIT
 *
 * memory.cpp - the device's memory. It begins with garbage, ends where the next page cannot be
 * touched, and cannot be touched once it is given back.
 */
#include "memory.hpp"
#include "failing.h"
#include "failing.hpp"
#include "schedule.hpp"

#include <cuda.h>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <set>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A pool keeps mapped memory until it is trimmed. Only memory in use counts as memory of the
 * device. */
struct emu_pool {
    size_t mapped, used;
};

namespace
{

struct allocation {
    void *map;
    size_t map_bytes, bytes;
    emu_pool *pool; /* NULL: none */
    int descriptor; /* of a memfd that other processes can map; -1: none */
};
std::map<char *, allocation> allocations;
std::map<char *, size_t> registered; /* memory of the host's */
std::map<char *, int> opened;        /* how many times, by handles */
std::set<char *> foreign;            /* those of `opened` that another process has allocated */
size_t allocated;
std::mutex mutex; /* guards these */
const size_t PAGE = 4096, ALIGN = 256;

/* Bytes that this host thread made pools map. */
__thread size_t mapped_by_thread;

/* `shares`: other processes can open its handle. */
cudaError_t allocate(void **memory, size_t bytes, emu_pool *pool = NULL, bool shares = false)
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
    const int descriptor = shares ? memfd_create("device memory", MFD_CLOEXEC) : -1;
    const int kind = shares ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    (void)!(shares && ftruncate(descriptor, (off_t)(pages + PAGE)));
    void *map = mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE, kind, descriptor, 0);
    if (map == MAP_FAILED || mprotect((char *)map + pages, PAGE, PROT_NONE) != 0) {
        return cudaErrorMemoryAllocation;
    }
    char *begin = (char *)map + pages - used;
    memset(begin, 0xa5, used);
    allocations[begin] = allocation{map, pages + PAGE, bytes, pool, descriptor};
    allocated += bytes;
    if (pool != NULL) {
        pool->used += bytes;
        mapped_by_thread += pool->used > pool->mapped ? pool->used - pool->mapped : 0;
        pool->mapped = pool->used > pool->mapped ? pool->used : pool->mapped;
    }
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
    if (opened.count((char *)memory) != 0) {
        emu_fail("%p is given back and is still open elsewhere", memory);
    }
    allocated -= found->second.bytes;
    if (found->second.pool != NULL) {
        found->second.pool->used -= found->second.bytes;
    }
    munmap(found->second.map, found->second.map_bytes);
    if (found->second.descriptor >= 0) {
        close(found->second.descriptor);
    }
    allocations.erase(found);
    return cudaSuccess;
}

} // namespace

/* The allocation that an address is of; the end where there is none. Under the mutex. */
static std::map<char *, allocation>::iterator allocation_of(const void *memory)
{
    auto after = allocations.upper_bound((char *)memory);
    if (after == allocations.begin()) {
        return allocations.end();
    }
    --after;
    return after->first + after->second.bytes > (const char *)memory ? after : allocations.end();
}

size_t emu_mapped_by_thread(void)
{
    return mapped_by_thread;
}

size_t emu_allocated(void)
{
    std::lock_guard<std::mutex> lock(mutex);
    return allocated;
}

bool emu_is_reached(const void *memory)
{
    std::lock_guard<std::mutex> lock(mutex);
    auto after = registered.upper_bound((char *)memory);
    return allocation_of(memory) != allocations.end() ||
           (after != registered.begin() && (--after)->first + after->second > (const char *)memory);
}

bool emu_is_foreign(const void *memory)
{
    std::lock_guard<std::mutex> lock(mutex);
    const auto found = allocation_of(memory);
    return found != allocations.end() && foreign.count(found->first) > 0;
}

bool emu_crosses_a_piece(const void *memory, size_t bytes)
{
    std::lock_guard<std::mutex> lock(mutex);
    auto after = registered.upper_bound((char *)memory);
    if (after == registered.begin()) {
        return false;
    }
    const auto piece = std::prev(after);
    const char *end = piece->first + piece->second;
    return end > (const char *)memory && (const char *)memory + bytes > end;
}

/* --- the runtime ------------------------------------------------------------------------------ */

/* Memory in whole units of 2 MiB can be shared. */
cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    EMU_MAY_FAIL(emu_allocates());
    return allocate(memory, bytes, NULL, bytes % (2 << 20) == 0);
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

/* --- memory of others ------------------------------------------------------------------------- */

cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned int)
{
    EMU_MAY_FAIL(emu_allocates());
    std::lock_guard<std::mutex> lock(mutex);
    return registered.emplace((char *)memory, bytes).second ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaHostUnregister(void *memory)
{
    cudaDeviceSynchronize();
    std::lock_guard<std::mutex> lock(mutex);
    if (registered.erase((char *)memory) == 0) {
        emu_fail("%p is unregistered and was not registered", memory);
    }
    return emu_gives_back();
}

/* A handle of tests/support/cuda_driver/fake_cuda.c: a memfd of another process. */
struct foreign_handle {
    char magic[8];
    int32_t process, descriptor;
    uint64_t bytes;
};

/* Returns the memory of such a handle, or NULL. Under the mutex. */
static char *map_foreign(const cudaIpcMemHandle_t *handle)
{
    struct foreign_handle named;
    char path[64];
    memcpy(&named, handle, sizeof(named));
    if (memcmp(named.magic, "foreign", sizeof(named.magic)) != 0) {
        return NULL;
    }
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", named.process, named.descriptor);
    const int descriptor = open(path, O_RDWR);
    struct stat status;
    void *map = MAP_FAILED;
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 &&
        (uint64_t)status.st_size == named.bytes) {
        map = mmap(NULL, named.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
    if (map == MAP_FAILED) {
        return NULL;
    }
    allocations[(char *)map] = allocation{map, named.bytes, named.bytes, NULL, -1};
    return (char *)map;
}

/* Handles have the address of the allocation, and are for this process too, unlike CUDA's. Other
 * processes can open the handles of memory that has a descriptor. */
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *memory)
{
    EMU_MAY_FAIL(emu_called());
    std::lock_guard<std::mutex> lock(mutex);
    auto found = allocation_of(memory);
    if (found == allocations.end()) {
        return cudaErrorInvalidValue;
    }
    memset(handle, 0, sizeof(*handle));
    if (found->second.descriptor >= 0) {
        const size_t bytes = found->second.bytes + PAGE; /* of the memfd */
        const foreign_handle named = {"foreign", getpid(), found->second.descriptor, bytes};
        memcpy(handle, &named, sizeof(named));
    } else {
        memcpy(handle, &found->first, sizeof(found->first));
    }
    return cudaSuccess;
}

cudaError_t cudaIpcOpenMemHandle(void **memory, cudaIpcMemHandle_t handle, unsigned int)
{
    EMU_MAY_FAIL(emu_allocates());
    std::lock_guard<std::mutex> lock(mutex);
    char *first = map_foreign(&handle);
    if (first != NULL) {
        foreign.insert(first);
    } else {
        memcpy(&first, &handle, sizeof(first));
    }
    if (allocations.find(first) == allocations.end()) {
        return cudaErrorInvalidResourceHandle;
    }
    opened[first]++;
    *memory = first;
    return cudaSuccess;
}

cudaError_t cudaIpcCloseMemHandle(void *memory)
{
    cudaDeviceSynchronize();
    std::lock_guard<std::mutex> lock(mutex);
    auto found = opened.find((char *)memory);
    if (found == opened.end()) {
        emu_fail("%p is closed and was not open", memory);
    }
    if (--found->second == 0) {
        opened.erase(found);
    }
    if (foreign.erase((char *)memory) != 0) {
        munmap(memory, allocations[(char *)memory].bytes);
        allocations.erase((char *)memory);
    }
    return emu_gives_back();
}

static int address_range(uintptr_t *base, size_t *bytes, uintptr_t address)
{
    std::lock_guard<std::mutex> lock(mutex);
    auto found = allocation_of((void *)address);
    if (found == allocations.end()) {
        return cudaErrorInvalidValue;
    }
    *base = (uintptr_t)found->first;
    *bytes = found->second.bytes;
    return cudaSuccess;
}

/* --- addresses, and memory that is mapped there -------------------------------------------------
 */

static CUresult granularity(size_t *bytes, const CUmemAllocationProp *,
                            CUmemAllocationGranularity_flags)
{
    *bytes = PAGE;
    return cudaSuccess;
}

static CUresult reserve(CUdeviceptr *at, size_t bytes, size_t, CUdeviceptr, unsigned long long)
{
    EMU_MAY_FAIL(emu_allocates());
    void *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *at = (CUdeviceptr)memory;
    return memory == MAP_FAILED ? cudaErrorMemoryAllocation : cudaSuccess;
}

static CUresult unreserve(CUdeviceptr at, size_t bytes)
{
    std::lock_guard<std::mutex> lock(mutex);
    auto inside = allocations.lower_bound((char *)at);
    if (inside != allocations.end() && inside->first < (char *)at + bytes) {
        emu_fail("addresses from %p on are given back and have memory", (void *)at);
    }
    munmap((void *)at, bytes);
    return emu_gives_back();
}

/* A handle is how many bytes it has. */
static CUresult create(CUmemGenericAllocationHandle *handle, size_t bytes,
                       const CUmemAllocationProp *, unsigned long long)
{
    EMU_MAY_FAIL(emu_allocates());
    std::lock_guard<std::mutex> lock(mutex);
    if (bytes > EMU_DEVICE_BYTES || allocated + bytes > EMU_DEVICE_BYTES) {
        return cudaErrorMemoryAllocation;
    }
    *handle = bytes;
    return cudaSuccess;
}

static CUresult release(CUmemGenericAllocationHandle)
{
    return emu_gives_back();
}

static CUresult map(CUdeviceptr at, size_t bytes, size_t, CUmemGenericAllocationHandle handle,
                    unsigned long long)
{
    EMU_MAY_FAIL(emu_called());
    std::lock_guard<std::mutex> lock(mutex);
    if (handle != bytes || bytes % PAGE != 0) {
        emu_fail("%zu bytes are mapped, and the handle has %zu", bytes, (size_t)handle);
    }
    allocations[(char *)at] = allocation{NULL, 0, bytes, NULL, -1};
    allocated += bytes;
    return cudaSuccess;
}

static CUresult set_access(CUdeviceptr at, size_t bytes, const CUmemAccessDesc *, size_t)
{
    EMU_MAY_FAIL(emu_called());
    if (mprotect((void *)at, bytes, PROT_READ | PROT_WRITE) != 0) {
        return cudaErrorInvalidValue;
    }
    memset((void *)at, 0xa5, bytes);
    return cudaSuccess;
}

static CUresult unmap(CUdeviceptr at, size_t bytes)
{
    cudaDeviceSynchronize();
    std::lock_guard<std::mutex> lock(mutex);
    auto found = allocations.find((char *)at);
    if (found == allocations.end() || found->second.bytes != bytes) {
        emu_fail("%zu bytes at %p are unmapped and were not mapped so", bytes, (void *)at);
    }
    allocated -= bytes;
    allocations.erase(found);
    mmap((void *)at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
         0);
    return emu_gives_back();
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned int,
                                             unsigned long long,
                                             enum cudaDriverEntryPointQueryResult *found)
{
    EMU_MAY_FAIL(emu_called());
    const struct {
        const char *name;
        void *function;
    } all[] = {
        {"cuMemGetAddressRange", (void *)address_range},
        {"cuMemGetAllocationGranularity", (void *)granularity},
        {"cuMemAddressReserve", (void *)reserve},
        {"cuMemAddressFree", (void *)unreserve},
        {"cuMemCreate", (void *)create},
        {"cuMemRelease", (void *)release},
        {"cuMemMap", (void *)map},
        {"cuMemUnmap", (void *)unmap},
        {"cuMemSetAccess", (void *)set_access},
    };
    *function = NULL;
    for (const auto &one : all) {
        *function = strcmp(symbol, one.name) == 0 ? one.function : *function;
    }
    if (*function == NULL) {
        return cudaErrorInvalidValue;
    }
    *found = cudaDriverEntryPointSuccess;
    return cudaSuccess;
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

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    EMU_MAY_FAIL(emu_called());
    std::lock_guard<std::mutex> lock(mutex);
    *(uint64_t *)value = attribute == cudaMemPoolAttrUsedMemCurrent ? pool->used : pool->mapped;
    return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes)
{
    EMU_MAY_FAIL(emu_called());
    std::lock_guard<std::mutex> lock(mutex);
    const size_t least = pool->used > bytes ? pool->used : bytes;
    pool->mapped = pool->mapped < least ? pool->mapped : least;
    return cudaSuccess;
}

cudaError_t cudaMallocFromPoolAsync(void **memory, size_t bytes, cudaMemPool_t pool, cudaStream_t)
{
    EMU_MAY_FAIL(emu_allocates());
    return allocate(memory, bytes, pool);
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream)
{
    emu_enqueue_free(stream, [=] { give_back(memory); });
    return emu_gives_back();
}
