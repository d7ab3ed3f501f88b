/* SPDX-License-Identifier: MIT
 *
 * long_rows.cu - large batches that write, in THROUGHPUT mode, with few buckets: 8 lanes per row,
 * because one thread per row would leave most of the GPU idle. An operation reads from the L1 cache
 * what the one before it left there.
 */
#define SW_CACHE_LANES 8
#define SW_CACHE_LOAD(pointer) (*(pointer))
#define RANGE_ROWS SW_CACHE_LONG_RANGE_ROWS
#define RANGE_OPS SW_CACHE_LONG_RANGE_OPS
#define ROW_OPS SW_CACHE_LONG_ROW
#define LISTED 28
#define BLOCKS 6

#include "table/cache/cuda/one_bucket.inl"

cudaError_t sw_cache_launch_long_rows(const struct sw_cache_slice *slice, cudaStream_t stream)
{
    return launch(slice, stream);
}
