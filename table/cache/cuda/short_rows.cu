/* SPDX-License-Identifier: MIT
 *
 * short_rows.cu - large batches that write, in THROUGHPUT mode, where buckets are many: a thread a
 * row.
 */
#define SW_CACHE_LANES 1
#define PART_ROWS SW_CACHE_SHORT_PART_ROWS
#define PART_OPS SW_CACHE_SHORT_PART_OPS
#define ROW_OPS SW_CACHE_ROW
#define LISTED 32
#define BLOCKS 12

#include "table/cache/cuda/one_bucket.inl"

cudaError_t sw_cache_launch_short_rows(const struct sw_cache_piece *piece, cudaStream_t stream)
{
    return launch(piece, stream);
}
