/* SPDX-License-Identifier: MIT
 *
 * rows.cuh - large batches that write, without a lock for each operation.
 *
 * The operations of a batch, or of a slice of it, are put in rows: one row per first bucket. A
 * thread or a tile of lanes sorts a row by operation number and executes it; no other thread
 * changes its first bucket at that time. THROUGHPUT mode has these kernels:
 *
 *   range          puts each operation in its range, which is some rows
 *   one_bucket    a block a range: puts its operations in rows, and carries them out. Where buckets
 *                 are many, rows are short: a thread does one. Where they are few, rows are long: 8
 *                 lanes do (one_bucket.inl, short_rows.cu, long_rows.cu)
 *
 * In MEMORY mode other rows may change second buckets, which are never first buckets:
 *
 *   count         counts the operations of each row
 *   present       looks each key up, uses its entry, and puts the operation in its row
 *   newcomers     a thread a row: of operations that write the same entry all but the last lose
 *                 their place; absent keys become entries, one after the other; second buckets are
 *                 locked while a newcomer looks for a place
 *   values        copies values to their places, as one stream, and answers
 *
 * In both modes a row that overflows is left whole for the next kernels:
 *
 *   bins          execute the operations without room in a row (bins.cuh)
 *
 * So a batch has the result of one serial order, in which the operations of each key are in array
 * order. In THROUGHPUT mode that order is row by row. In MEMORY mode operations on present keys
 * come before the others. The operations left for the bins come last.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_ROWS_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_ROWS_CUH

#include "table/cache/cuda/table.cuh"
#include "table/device/follow.cuh"

/* Room of a row in operations, in MEMORY mode and for short rows in THROUGHPUT mode; number of rows
 * of a range of short rows, and its room in operations. */
#define SW_CACHE_ROW 16
#define SW_CACHE_SHORT_RANGE_ROWS 64
#define SW_CACHE_SHORT_RANGE_OPS 384U

/* The same for long rows, which caches of at most SW_CACHE_LONG_BUCKETS_MAX buckets have. */
#define SW_CACHE_LONG_ROW 64
#define SW_CACHE_LONG_RANGE_ROWS 16
#define SW_CACHE_LONG_RANGE_OPS 640U
#define SW_CACHE_LONG_BUCKETS_MAX (1U << 15)

/* A slice has at most SHARE operations per row, so that ranges and rows rarely overflow, and at
 * most SW_CACHE_ROWS_MAX in all. If a cache's slices are smaller than SW_CACHE_ROWS_MIN, it has no
 * rows. In MEMORY mode, with three kernels a slice, the limit is twice as high: on an H200 slices
 * of 2^14 set new keys at 0.17 G/s, and bins at 0.30 (h200/cache at 9c1a1c3, fill_insert). Batches
 * with fewer operations than SW_CACHE_ROWS_MIN do not use rows. sw_table_tuning.cache_writing can
 * override it and the choice of long rows. */
#define SW_CACHE_ROW_SHARE 4
#define SW_CACHE_LONG_ROW_SHARE 32
#define SW_CACHE_ROWS_MAX (1U << 21)
#define SW_CACHE_ROWS_MIN (1U << 14)

/* An operation of a range: its number in the slice, its row and its digest. */
struct __align__(8) sw_cache_range_op
{
    uint32_t id;
    uint32_t code;
};
#define SW_CACHE_RANGE_CODE(row, digest) ((uint32_t)(row) << 8 | (digest))
#define SW_CACHE_RANGE_ROW(code) ((code) >> 8)
#define SW_CACHE_RANGE_DIGEST(code) ((code)&0xffU)

/* Number of operations of a range, including those without room. Each has its own sector of memory,
 * because additions to one sector wait for each other. */
struct __align__(32) sw_cache_range_count
{
    uint32_t ops;
};

/* Device memory; batches that write take turns. Between batches all counts are 0, except perhaps
 * *rest_count_next. */
struct sw_cache_rows {
    /* THROUGHPUT */
    struct sw_cache_range_count *range_counts; /* [ranges] */
    struct sw_cache_range_op *ranges;          /* [ranges * range_ops] */
    uint32_t range_rows;
    uint32_t range_ops;
    bool are_long;
    /* MEMORY (places.cuh) */
    uint32_t *counts;  /* [first buckets]: operations of the row, including those without room */
    uint32_t *entries; /* [first buckets * SW_CACHE_ROW]: SW_CACHE_ROW_.. */
    uint64_t *places;  /* [ops_max]: SW_CACHE_PLACE_.. */
    /* both */
    uint32_t *rest; /* [ops_max]: operations without room */
    uint32_t *rest_count;
    uint32_t *rest_count_next; /* the counter of the next slice; this one clears it */
    uint32_t ops_max;          /* 0: there are no rows */
    uint32_t ops_min;          /* least operations of a batch by rows */
};

/* Operations of a batch from `first` on. */
struct sw_cache_slice {
    struct sw_cache_table_batch batch;
    struct sw_cache_rows rows;
    uint64_t first;
    uint32_t count;
    bool plain; /* the batch is a SET whose only answers are bits */
};

/* Lists an operation of each lane with `has` for the bins. All lanes of a warp. M6: the word before
 * the addition is the warp's place in the list. */
static __device__ __forceinline__ void sw_cache_leave_for_later(const struct sw_cache_rows *rows,
                                                                bool has, uint32_t id)
{
    uint32_t lanes = __ballot_sync(0xffffffffU, has);
    if (lanes == 0) {
        return;
    }
    uint32_t at = 0;
    if (threadIdx.x % 32 == 0) {
        at = atomicAdd(rows->rest_count, (uint32_t)__popc(lanes));
    }
    at = __shfl_sync(0xffffffffU, at, 0);
    if (has) {
        rows->rest[at + (uint32_t)__popc(lanes & ((1U << threadIdx.x % 32) - 1))] = id;
    }
}

/* Returns the number of buckets that are first candidates. */
SW_HD static inline uint64_t sw_cache_first_buckets(const struct sw_cache_slots *slots)
{
    return slots->two ? slots->buckets - slots->buckets / 2 : slots->buckets;
}

/* Returns the number of ranges of a cache. */
SW_HD static inline uint32_t sw_cache_ranges(const struct sw_cache_slots *slots, uint32_t rows)
{
    return (uint32_t)((slots->buckets + rows - 1) / rows);
}

/* Returns whether rows of a cache are long. */
static inline bool sw_cache_rows_are_long(const struct sw_cache_slots *slots,
                                          enum sw_cache_writing writing)
{
    return !slots->two &&
           (writing == SW_CACHE_WRITING_LONG_ROWS ||
            (writing == SW_CACHE_WRITING_AUTO && slots->buckets <= SW_CACHE_LONG_BUCKETS_MAX));
}

/* Returns the most operations of a slice; 0: the cache has no rows. (In MEMORY mode CUSTOM has no
 * rows: a score might fall while another row reads it, and its mark would have to fall at the same
 * time.) */
static inline uint32_t sw_cache_rows_max(const struct sw_cache_slots *slots, bool are_long,
                                         uint32_t ops_min)
{
    uint64_t rows = sw_cache_first_buckets(slots);
    uint64_t wanted = (are_long ? SW_CACHE_LONG_ROW_SHARE : SW_CACHE_ROW_SHARE) * rows;
    uint64_t least = (slots->two ? 2ULL : 1ULL) * ops_min;
    if (wanted < least || rows > UINT32_MAX || (slots->two && slots->policy == SW_CACHE_CUSTOM)) {
        return 0;
    }
    return wanted < SW_CACHE_ROWS_MAX ? (uint32_t)wanted : SW_CACHE_ROWS_MAX;
}

/* sw_cache_rows_suit returns whether rows can carry out a batch: all its operations are of one
 * kind, and it has from ops_min operations to SW_CACHE_PIECES_MAX slices. In MEMORY mode it must be
 * a SET whose only answers are bits, because a value that leaves a second bucket may be one that
 * another row has yet to copy there. The caller has handled batches of DELETE before.
 * sw_cache_launch_rows carries the batch out. */
bool sw_cache_rows_suit(const struct sw_cache_table_batch *batch, const struct sw_cache_rows *rows);
cudaError_t sw_cache_launch_rows(const struct sw_cache_table_batch *batch,
                                 struct sw_cache_rows *rows, cudaStream_t stream);
/* Launches the kernels without operations, so that the runtime loads them. */
cudaError_t sw_cache_warm_up_rows(const struct sw_cache_table_batch *batch,
                                  struct sw_cache_rows *rows, cudaStream_t stream);

/* Launch one kernel each. */
cudaError_t sw_cache_launch_short_rows(const struct sw_cache_slice *slice, cudaStream_t stream);
cudaError_t sw_cache_launch_long_rows(const struct sw_cache_slice *slice, cudaStream_t stream);
cudaError_t sw_cache_launch_present(const struct sw_cache_slice *slice, cudaStream_t stream);
cudaError_t sw_cache_launch_newcomers(const struct sw_cache_slice *slice, cudaStream_t stream);
cudaError_t sw_cache_launch_values(const struct sw_cache_slice *slice, cudaStream_t stream);

#endif
