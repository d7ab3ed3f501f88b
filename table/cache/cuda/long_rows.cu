/* SPDX-License-Identifier: MIT
 *
 * long_rows.cu - large batches that write, in THROUGHPUT mode, where buckets are few: 8 lanes a
 * row, since a thread a row would leave most of the GPU idle. What an operation leaves in the
 * first-level cache is what the next one reads.
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
