/* SPDX-License-Identifier: MIT
 *
 * parts.cuh - the parts of a combined launch, for the kernels that gather their operations and
 * scatter their results chunk by chunk.
 */
#ifndef SHERWOOD_TABLE_DEVICE_PARTS_CUH
#define SHERWOOD_TABLE_DEVICE_PARTS_CUH

#include <assert.h>

#include "table/device/combined_launch.cuh"
#include "table/device/reduce.cuh"

/* The parameters of these kernels. */
struct arrays {
    struct sw_cuda_combined_view memory;
    struct sw_cuda_gathered in;
    uint32_t parts;
    bool counts; /* count each part separately; false: one part, which has the whole batch's
                    counters */
};

/* One thread calls it: notes that a launch begins to use its buffer (0, 1), or ends (1, 0). Asserts
 * that no other launch uses the buffer. */
static __device__ inline void sw_cuda_check_launches(const struct sw_cuda_combined_view *memory,
                                                     unsigned int before, unsigned int after)
{
#ifdef SW_CUDA_LAUNCH_CHECKS
    assert(atomicCAS(memory->launches, before, after) == before);
#else
    (void)memory, (void)before, (void)after;
#endif
}

/* Copies bytes in units of UNIT. All threads of the block call it. */
template <typename UNIT>
static __device__ inline void copy_units(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    for (uint64_t i = threadIdx.x; i < bytes / sizeof(UNIT); i += SW_CUDA_BLOCK) {
        ((UNIT *)to)[i] = ((const UNIT *)from)[i];
    }
}

/* Copies from an address aligned to 16 bytes to one aligned to 4 bytes: reads that cross the bus
 * use the largest units. */
static __device__ inline void copy_by_16(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    for (uint64_t i = threadIdx.x; i < bytes / 16; i += SW_CUDA_BLOCK) {
        const uint4 unit = ((const uint4 *)from)[i];
        uint32_t *words = (uint32_t *)to + 4 * i;
        words[0] = unit.x;
        words[1] = unit.y;
        words[2] = unit.z;
        words[3] = unit.w;
    }
    copy_units<uint32_t>(to + bytes / 16 * 16, from + bytes / 16 * 16, bytes % 16);
}

/* Copies `count` elements from index `first_from` of `from` to index `first_to` of `to`. The size
 * and the alignment of an element are multiples of 4 bytes. */
static __device__ inline void copy_elements(uint8_t *to, const uint8_t *from, uint64_t first_to,
                                            uint64_t first_from, uint32_t count,
                                            uint32_t element_bytes)
{
    to += first_to * element_bytes;
    from += first_from * element_bytes;
    const uint64_t bytes = (uint64_t)count * element_bytes;
    if (((uintptr_t)to | (uintptr_t)from | bytes) % 16 == 0) {
        copy_units<uint4>(to, from, bytes);
    } else if ((uintptr_t)from % 16 == 0) {
        copy_by_16(to, from, bytes);
    } else if (((uintptr_t)to | (uintptr_t)from | bytes) % 8 == 0) {
        copy_units<uint2>(to, from, bytes);
    } else {
        copy_units<uint32_t>(to, from, bytes);
    }
}

/* Operations of SW_OPS_PAIR on integers (pairs.cu). The first kernel gathers the expected values in
 * memory.expected. The second one runs after the engine. It marks in memory.unmet the operations
 * that did not meet their expected values, and those that memory.silent marks. The third call loads
 * both. */
cudaError_t sw_cuda_launch_gather_expected(const struct arrays &all, uint32_t chunks,
                                           cudaStream_t stream);
cudaError_t sw_cuda_launch_mark_unmet(const struct arrays &all, uint32_t chunks,
                                      cudaStream_t stream);
cudaError_t sw_cuda_load_pairs(void);

/* Launches the gather kernel; loads it. */
cudaError_t sw_cuda_launch_gather_parts(const struct arrays &all, uint32_t chunks, bool on_device,
                                        cudaStream_t stream);
cudaError_t sw_cuda_load_gather_parts(void);

#endif
