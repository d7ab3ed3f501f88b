/* SPDX-License-Identifier: MIT
 *
 * variant.cuh - the interface of a variant of a CUDA kernel: a shared object with one
 * symbol, sw_tune_variant.
 *
 * Runner and variant must be compiled from the same headers; `layout` tells whether they were.
 */
#ifndef SHERWOOD_BENCH_TUNE_KERNELS_VARIANT_CUH
#define SHERWOOD_BENCH_TUNE_KERNELS_VARIANT_CUH

#include "table/robin_hood/cuda/device.cuh"

/* What `work` of launch is. */
enum sw_tune_operation {
    SW_TUNE_GET,            /* sw_cuda_reads<BITS, 1>, no hints */
    SW_TUNE_GET_HINTED,     /* the same, with hints */
    SW_TUNE_RANGES_SCATTER, /* sw_cuda_batch<BITS>, of SET, with `found`: the first launch */
    SW_TUNE_RANGES_APPLY    /* the same: what follows it */
};

struct sw_tune_cuda_variant {
    uint64_t layout; /* SW_TUNE_LAYOUT */
    uint32_t slot_bits;
    enum sw_tune_operation operation;
    /* Enqueues the kernels that are timed. `device` is sw_cuda_device<slot_bits>. */
    cudaError_t (*launch)(const void *device, void *work, cudaStream_t stream);
};

#define SW_TUNE_LAYOUT                                                                      \
    (((uint64_t)sizeof(struct sw_cuda_device<128>) << 32) ^                                 \
     ((uint64_t)sizeof(struct sw_cuda_control) << 16) ^ sizeof(struct sw_cuda_batch<128>) ^ \
     ((uint64_t)sizeof(struct sw_cuda_reads<128, 1>) << 48))

extern "C" const struct sw_tune_cuda_variant sw_tune_variant;

#endif
