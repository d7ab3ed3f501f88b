/* SPDX-License-Identifier: MIT
 *
 * ranges.cu - upserts by ranges, to be tuned: the first kernel of table/robin_hood/cuda/ranges.cu
 * (scatter), or those after it (apply), as a shared object.
 *
 * Load is that of the table before the batch. Hit: 1 writes new values for stored keys, 0 inserts
 * fresh ones. The inserts that are listed for walk.cu are neither tuned nor timed.
 *
 * %TUNES% table/robin_hood/cuda/ranges.cu
 * %AXIS% Slot{ct} {64,128}
 * %AXIS% Operation{ct} {scatter,apply}
 * %AXIS% Load {0.5,0.85,0.95}
 * %AXIS% Batch{io} {2^12,2^14,2^16,2^20}
 * %AXIS% Hit{io} {1,0}
 */
#include "table/robin_hood/cuda/ranges.cu"

#include "bench/tune/kernels/variant.cuh"

static cudaError_t launch_variant(const void *device, void *work, cudaStream_t stream)
{
    const struct sw_cuda_device<SW_TUNE_SLOT> *of =
        (const struct sw_cuda_device<SW_TUNE_SLOT> *)device;
    const struct sw_cuda_batch<SW_TUNE_SLOT> *batch = (struct sw_cuda_batch<SW_TUNE_SLOT> *)work;
#ifdef SW_TUNE_OPERATION_scatter
    return sw_cuda_launch_scatter<SW_TUNE_SLOT>(of, batch, stream);
#else
    return sw_cuda_launch_ranges<SW_TUNE_SLOT>(of, batch, stream);
#endif
}

const struct sw_tune_cuda_variant sw_tune_variant = {
    SW_TUNE_LAYOUT,
    SW_TUNE_SLOT,
#ifdef SW_TUNE_OPERATION_scatter
    SW_TUNE_RANGES_SCATTER,
#else
    SW_TUNE_RANGES_APPLY,
#endif
    launch_variant,
};
