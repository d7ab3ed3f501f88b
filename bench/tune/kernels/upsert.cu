/* SPDX-License-Identifier: MIT
 *
 * upsert.cu - upserts, to be tuned: the kernels of table/cuda/upsert.cu (cells) or of
 * table/cuda/upsert_ordered.cu (ordered), as a shared object.
 *
 * Load is that of the table before the batch. Hit: 1 writes new values for stored keys, 0 inserts
 * fresh ones. The sort before an ordered batch, and the moves that cells list (walk.cu), are not
 * among what is tuned, and not timed.
 *
 * %TUNES% table/cuda/upsert.cuh
 * %AXIS% Slot{ct} {64,128}
 * %AXIS% Operation{ct} {cells,ordered}
 * %AXIS% Load {0.5,0.85,0.95}
 * %AXIS% Batch{io} {2^13,2^18,2^21}
 * %AXIS% Hit{io} {1,0}
 */
#ifdef SW_TUNE_OPERATION_ordered
#include "table/cuda/upsert_ordered.cu"
#else
#include "table/cuda/upsert.cu"
#endif

#include "bench/tune/kernels/variant.cuh"

typedef struct sw_cuda_device<SW_TUNE_SLOT> device_view;
typedef struct sw_cuda_batch<SW_TUNE_SLOT> typed_batch;

static cudaError_t launch_variant(const void *device, void *work, cudaStream_t stream)
{
    const device_view *of = (const device_view *)device;
    const typed_batch *batch = (const typed_batch *)work;
#ifdef SW_TUNE_OPERATION_ordered
    return sw_cuda_launch_upsert_ordered<SW_TUNE_SLOT>(of, batch, stream);
#else
    cudaError_t error = sw_cuda_launch_collect<SW_TUNE_SLOT>(of, batch, false, stream);
    return error == cudaSuccess ? sw_cuda_launch_upsert<SW_TUNE_SLOT>(of, batch, false, stream)
                                : error;
#endif
}

const struct sw_tune_cuda_variant sw_tune_variant = {
    SW_BUCKET_SLOTS,        SW_TUNE_LAYOUT, SW_TUNE_SLOT,
#ifdef SW_TUNE_OPERATION_ordered
    SW_TUNE_UPSERT_ORDERED,
#else
    SW_TUNE_UPSERT_CELLS,
#endif
    launch_variant,
};
