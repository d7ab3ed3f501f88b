/* SPDX-License-Identifier: MIT
 *
 * ids.cu - numbers and settles the ids of a cache.
 */
#include "table/cache/cuda/ids.cuh"

#include "table/device/cutter.cuh"

/* Cuts the arrays out of memory at `base`, and returns their bytes. */
static size_t cut(struct sw_cache_settling *settling, void *base, uint64_t ids, uint64_t slots)
{
    struct sw_cuda_cutter cutter = {(char *)base, 0};
    sw_cuda_cut(&cutter, &settling->marks, sw_cache_id_marks_bytes(ids) / sizeof(uint64_t));
    sw_cuda_cut(&cutter, &settling->free, slots);
    sw_cuda_cut(&cutter, &settling->listed, 1);
    sw_cuda_cut(&cutter, &settling->taken, 1);
    return cutter.used;
}

cudaError_t sw_cache_settling_open(struct sw_cache_settling *settling, uint64_t ids, uint64_t slots)
{
    void *memory = NULL;
    *settling = sw_cache_settling();
    const cudaError_t error = cudaMalloc(&memory, cut(settling, NULL, ids, slots));
    *settling = sw_cache_settling();
    if (error == cudaSuccess) {
        settling->memory = memory;
        cut(settling, memory, ids, slots);
    }
    return error;
}

void sw_cache_settling_close(struct sw_cache_settling *settling)
{
    (void)cudaFree(settling->memory);
    *settling = sw_cache_settling();
}

/* Returns the place of each lane with `has` in a list of *count elements, and counts them. All
 * lanes of a warp. M6: the word before the addition is the warp's place. */
static __device__ __forceinline__ uint64_t append(uint64_t *count, bool has)
{
    const uint32_t lanes = __ballot_sync(0xffffffffU, has);
    uint64_t at = 0;
    if (threadIdx.x % 32 == 0 && lanes != 0) {
        at = atomicAdd((unsigned long long *)count, (unsigned long long)__popc(lanes));
    }
    return __shfl_sync(0xffffffffU, at, 0) +
           (uint32_t)__popc(lanes & ((1U << threadIdx.x % 32) - 1));
}

static __global__ void __launch_bounds__(SW_CACHE_THREADS)
    number_kernel(const struct sw_cache_slots slots, uint64_t capacity)
{
    const uint64_t step = (uint64_t)gridDim.x * SW_CACHE_THREADS;
    for (uint64_t slot = (uint64_t)blockIdx.x * SW_CACHE_THREADS + threadIdx.x; slot < capacity;
         slot += step) {
        sw_cache_id_put(&slots, slot, slot);
    }
}

/* Marks the ids of the entries. M6: each bit is the whole message. */
static __global__ void __launch_bounds__(SW_CACHE_THREADS)
    mark_kernel(const struct sw_cache_slots slots, uint64_t capacity,
                const struct sw_cache_settling settling)
{
    const uint64_t step = (uint64_t)gridDim.x * SW_CACHE_THREADS;
    for (uint64_t slot = (uint64_t)blockIdx.x * SW_CACHE_THREADS + threadIdx.x; slot < capacity;
         slot += step) {
        if (slots.digests[slot] != 0) {
            const uint64_t id = sw_cache_id_at(&slots, slot);
            atomicOr((uint32_t *)settling.marks + id / 32, 1U << id % 32);
        }
    }
}

/* Lists the ids below the number of slots that no entry has. */
static __global__ void __launch_bounds__(SW_CACHE_THREADS)
    free_kernel(uint64_t capacity, const struct sw_cache_settling settling)
{
    const uint64_t step = (uint64_t)gridDim.x * SW_CACHE_THREADS;
    for (uint64_t first = (uint64_t)blockIdx.x * SW_CACHE_THREADS; first < capacity;
         first += step) {
        const uint64_t id = first + threadIdx.x;
        const bool is_free =
            id < capacity && (((const uint32_t *)settling.marks)[id / 32] >> id % 32 & 1) == 0;
        const uint64_t at = append(settling.listed, is_free);
        if (is_free) {
            settling.free[at] = id;
        }
    }
}

/* Gives each empty slot an id of the list, which is long enough (table/cache/ids.h). */
static __global__ void __launch_bounds__(SW_CACHE_THREADS)
    take_kernel(const struct sw_cache_slots slots, uint64_t capacity,
                const struct sw_cache_settling settling)
{
    const uint64_t step = (uint64_t)gridDim.x * SW_CACHE_THREADS;
    for (uint64_t first = (uint64_t)blockIdx.x * SW_CACHE_THREADS; first < capacity;
         first += step) {
        const uint64_t slot = first + threadIdx.x;
        const bool is_empty = slot < capacity && slots.digests[slot] == 0;
        const uint64_t at = append(settling.taken, is_empty);
        if (is_empty) {
            sw_cache_id_put(&slots, slot, settling.free[at]);
        }
    }
}

cudaError_t sw_cache_launch_number(const struct sw_cache_slots *slots, cudaStream_t stream)
{
    const uint64_t capacity = slots->buckets * SW_CACHE_BUCKET_SLOTS;
    number_kernel<<<sw_cache_look_up_blocks(capacity), SW_CACHE_THREADS, 0, stream>>>(*slots,
                                                                                      capacity);
    return cudaGetLastError();
}

cudaError_t sw_cache_launch_settle(const struct sw_cache_slots *slots,
                                   const struct sw_cache_settling *settling, cudaStream_t stream)
{
    const uint64_t capacity = slots->buckets * SW_CACHE_BUCKET_SLOTS;
    const uint32_t blocks = sw_cache_look_up_blocks(capacity);
    cudaError_t error =
        cudaMemsetAsync(settling->marks, 0, sw_cache_id_marks_bytes(slots->ids), stream);
    if (error == cudaSuccess) {
        error = cudaMemsetAsync(settling->listed, 0, sizeof(*settling->listed), stream);
    }
    if (error == cudaSuccess) {
        error = cudaMemsetAsync(settling->taken, 0, sizeof(*settling->taken), stream);
    }
    if (error == cudaSuccess) {
        mark_kernel<<<blocks, SW_CACHE_THREADS, 0, stream>>>(*slots, capacity, *settling);
        free_kernel<<<blocks, SW_CACHE_THREADS, 0, stream>>>(capacity, *settling);
        take_kernel<<<blocks, SW_CACHE_THREADS, 0, stream>>>(*slots, capacity, *settling);
        error = cudaGetLastError();
    }
    return error;
}
