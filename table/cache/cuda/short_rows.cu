/* SPDX-License-Identifier: MIT
 *
 * short_rows.cu - large batches that write, in THROUGHPUT mode, with many buckets: one thread per
 * row.
 */
#define SW_CACHE_LANES 1
#define RANGE_ROWS SW_CACHE_SHORT_RANGE_ROWS
#define RANGE_OPS SW_CACHE_SHORT_RANGE_OPS
#define ROW_OPS SW_CACHE_ROW
/* Values that a warp lists, and blocks of a multiprocessor at a time, at least.
 *
 * %RANGE% SW_CACHE_SHORT_LISTED lst {16,32,64}
 * %RANGE% SW_CACHE_SHORT_BLOCKS bpm {8,12,16}
 */
#ifndef SW_CACHE_SHORT_LISTED
#define SW_CACHE_SHORT_LISTED 32
#endif
#ifndef SW_CACHE_SHORT_BLOCKS
#define SW_CACHE_SHORT_BLOCKS 12
#endif
#define LISTED SW_CACHE_SHORT_LISTED
#define BLOCKS SW_CACHE_SHORT_BLOCKS

#include "table/cache/cuda/one_bucket.inl"

cudaError_t sw_cache_launch_short_rows(const struct sw_cache_slice *slice, cudaStream_t stream)
{
    return launch(slice, stream);
}
