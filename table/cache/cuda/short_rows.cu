/* SPDX-License-Identifier: MIT
 *
 * short_rows.cu - large batches that write, in THROUGHPUT mode, with many buckets: one thread per
 * row.
 */
#define SW_CACHE_LANES 1
#define RANGE_ROWS SW_CACHE_SHORT_RANGE_ROWS
#define RANGE_OPS SW_CACHE_SHORT_RANGE_OPS
#define ROW_OPS SW_CACHE_ROW
#define LISTED 32
#define BLOCKS 12

#include "table/cache/cuda/one_bucket.inl"

cudaError_t sw_cache_launch_short_rows(const struct sw_cache_slice *slice, cudaStream_t stream)
{
    return launch(slice, stream);
}
