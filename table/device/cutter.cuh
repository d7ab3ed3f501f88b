/* SPDX-License-Identifier: MIT
 *
 * cutter.cuh - cuts arrays from one allocation.
 */
#ifndef SHERWOOD_TABLE_DEVICE_CUTTER_CUH
#define SHERWOOD_TABLE_DEVICE_CUTTER_CUH

#include <stddef.h>
#include <stdint.h>

/* Arrays start at multiples of this. */
#define SW_CUDA_CUT_ALIGN 256

/* If `base` is NULL, the cutter only counts bytes. */
struct sw_cuda_cutter {
    char *base;
    size_t used;
};

template <typename T>
static inline void sw_cuda_cut(struct sw_cuda_cutter *cutter, T **array, uint64_t count)
{
    const size_t bytes = count * sizeof(T);
    *array = cutter->base != NULL ? (T *)(cutter->base + cutter->used) : NULL;
    cutter->used += (bytes + SW_CUDA_CUT_ALIGN - 1) / SW_CUDA_CUT_ALIGN * SW_CUDA_CUT_ALIGN;
}

#endif
