/* SPDX-License-Identifier: MIT
 *
 * get.cu - look-ups, to be tuned: the kernel of table/robin_hood/cuda/get.cu, as a shared object.
 *
 * Hit: the part of the keys that are stored.
 *
 * %TUNES% table/robin_hood/cuda/get.cu
 * %AXIS% Slot{ct} {64,128}
 * %AXIS% Operation{ct} {plain,hinted}
 * %AXIS% Load {0.5,0.75,0.85,0.95}
 * %AXIS% Batch{io} {2^16,2^20,2^24,2^27}
 * %AXIS% Hit {1,0}
 */
#include "table/robin_hood/cuda/get.cu"

#include "bench/tune/kernels/variant.cuh"

#ifdef SW_TUNE_OPERATION_hinted
#define HINTED true
#else
#define HINTED false
#endif

static cudaError_t launch_variant(const void *device, void *work, cudaStream_t stream)
{
    return sw_cuda_launch_get<SW_TUNE_SLOT, 1>(
        (const struct sw_cuda_device<SW_TUNE_SLOT> *)device, HINTED,
        (struct sw_cuda_reads<SW_TUNE_SLOT, 1> *)work, stream);
}

const struct sw_tune_cuda_variant sw_tune_variant = {
    SW_TUNE_LAYOUT,
    SW_TUNE_SLOT,
    HINTED ? SW_TUNE_GET_HINTED : SW_TUNE_GET,
    launch_variant,
};
