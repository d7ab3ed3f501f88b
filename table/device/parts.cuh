/* SPDX-License-Identifier: MIT
 *
 * parts.cuh - the parts of a launch of several batches, chunk by chunk, for the kernels that
 * collect them and deal them out.
 */
#ifndef SHERWOOD_TABLE_DEVICE_PARTS_CUH
#define SHERWOOD_TABLE_DEVICE_PARTS_CUH

#include "table/device/reduce.cuh"
#include "table/device/together.cuh"

/* The parameters of these kernels. */
struct arrays {
    struct sw_cuda_together memory;
    struct sw_cuda_collected in;
    uint32_t parts;
    bool counts; /* each part apart; else there is one, which is counted as the whole */
};

/* Copies bytes in units, all threads of the block. */
template <typename UNIT>
static __device__ inline void copy_units(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    for (uint64_t i = threadIdx.x; i < bytes / sizeof(UNIT); i += SW_CUDA_BLOCK) {
        ((UNIT *)to)[i] = ((const UNIT *)from)[i];
    }
}

/* From an address that is a number of 16s to any that is a number of 4s: what crosses the bus is
 * read in the largest units. */
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

/* Elements [first_from, first_from + count) to first_to, each of a number of 4 bytes and aligned to
 * that. */
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

/* Enqueues the kernel that collects, and loads it. */
cudaError_t sw_cuda_launch_collect_parts(const struct arrays &all, uint32_t chunks, bool on_device,
                                         cudaStream_t stream);
cudaError_t sw_cuda_load_collect_parts(void);

#endif
