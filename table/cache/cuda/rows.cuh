/* SPDX-License-Identifier: MIT
 *
 * rows.cuh - large batches that write, without a lock for each operation.
 *
 * As many operations as rows have room for are carried out by these kernels:
 *
 *   present     a thread an operation: looks the key up, uses its entry, and puts the operation in
 *               the row of its key's first bucket
 *   newcomers   a thread a row: of operations that write the same entry all but one lose their
 *               place; absent keys become entries, one after the other
 *   values      copies values to and from their places, as one stream, and answers
 *   write_some  what had no room in a row, under locks (write.cu)
 *
 * So a batch equals one order of its operations: first those whose keys are present, then the
 * others. Nobody else changes a row's first bucket meanwhile: in MEMORY mode first buckets are
 * never second ones. Those are locked while a newcomer looks for a place.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_ROWS_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_ROWS_CUH

#include "table/cache/cuda/launch.cuh"

/* Operations of a row. */
#define SW_CACHE_ROW 16

/* An operation in a row: its number in the piece; whether its key was absent; its code. That is the
 * digest of an absent key, else the slot in the first bucket, or 128 and the slot in the second. */
#define SW_CACHE_ROW_ID(entry) ((entry)&0x7fffffU)
#define SW_CACHE_ROW_ABSENT 0x800000U
#define SW_CACHE_ROW_CODE(entry) ((entry) >> 24)

/* The code of a key that is at `slot`. */
SW_HD static inline uint32_t sw_cache_row_code(const struct sw_cache_home *home, uint64_t slot)
{
    uint32_t second = slot / SW_CACHE_BUCKET_SLOTS != home->first ? SW_CACHE_BUCKET_SLOTS : 0;
    return second + (uint32_t)(slot % SW_CACHE_BUCKET_SLOTS);
}

/* What became of an operation, and where its value goes: bits 0 to 47 are the slot to write, bits
 * 48 to 50 its enum sw_cache_result, or SW_CACHE_ROW_REST if it is none of the row's; then there is
 * one of these, or none. */
#define SW_CACHE_PLACE_NONE (1ULL << 61) /* nowhere */
#define SW_CACHE_PLACE_READ (1ULL << 62) /* the slot is to be read */
#define SW_CACHE_PLACE_BATCH \
    (1ULL << 63) /* to be read is what this operation of the piece brings */
#define SW_CACHE_PLACE_NUMBER(place) ((place) & ((1ULL << 48) - 1))
#define SW_CACHE_PLACE_RESULT(place) ((uint32_t)((place) >> 48) & 7)
#define SW_CACHE_ROW_REST 7U

SW_HD static inline uint64_t sw_cache_place(uint64_t where, uint32_t result)
{
    return where | (uint64_t)result << 48;
}

/* A cache takes as many operations at a time as it has rows times this: one that is full is rare.
 * At most ROWS_MAX. If that is fewer than rows_min (sw_cache_config), by default ROWS_MIN, it has
 * no rows. */
#define SW_CACHE_ROW_SHARE 4
#define SW_CACHE_ROWS_MAX (1U << 21)
#define SW_CACHE_ROWS_MIN (1U << 14)

/* Pieces of a batch, six kernels each: more would fill the queue of launches, and make the one who
 * submits the batch wait. */
#define SW_CACHE_PIECES_MAX 128U

/* Device memory; batches that write take turns. Between batches counts and rest_count are 0. */
struct sw_cache_rows {
    uint32_t *counts;  /* [first buckets]: operations of the row, those without room counted too */
    uint32_t *entries; /* [first buckets * SW_CACHE_ROW] */
    uint64_t *places;  /* [ops_max]: SW_CACHE_PLACE_.. */
    uint64_t *left;    /* [ops_max]: where the value of the entry lies that left for it, */
    uint32_t *listed;  /* [ops_max]: and its number in the list */
    uint32_t *rest;    /* [ops_max]: operations that had no room in a row */
    uint32_t *rest_count;
    uint32_t ops_max; /* 0: there are no rows */
    uint32_t ops_min; /* of a batch */
};

/* Operations of a batch from `first` on. */
struct sw_cache_piece {
    struct sw_cache_launch launch;
    struct sw_cache_rows rows;
    uint64_t first;
    uint32_t count;
};

/* Buckets that are first ones. */
SW_HD static inline uint64_t sw_cache_first_buckets(const struct sw_cache_slots *slots)
{
    return slots->two ? slots->buckets - slots->buckets / 2 : slots->buckets;
}

/* Operations that rows of a cache have room for: 0 if it has none. */
static inline uint32_t sw_cache_rows_max(const struct sw_cache_slots *slots, uint32_t ops_min)
{
    uint64_t wanted = SW_CACHE_ROW_SHARE * sw_cache_first_buckets(slots);
    if (wanted < ops_min || slots->policy == SW_CACHE_CUSTOM) {
        return 0;
    }
    return wanted < SW_CACHE_ROWS_MAX ? (uint32_t)wanted : SW_CACHE_ROWS_MAX;
}

/* Whether a batch needs neither rows nor locks: what is present is used or erased. */
static inline bool sw_cache_is_of_present(const struct sw_cache_slots *slots,
                                          const struct sw_cache_batch *batch)
{
    return batch->op == SW_CACHE_ERASE ||
           (batch->op == SW_CACHE_ASSIGN_SCORES && slots->policy != SW_CACHE_CUSTOM);
}

/* Whether a batch is carried out by rows. (A CUSTOM score may fall, so its mark must fall with it;
 * what leaves a second bucket may be a value that another row brings; sums have an order.) */
static inline bool sw_cache_rows_suit(const struct sw_cache_slots *slots,
                                      const struct sw_cache_rows *rows,
                                      const struct sw_cache_batch *batch)
{
    return rows->ops_max > 0 && batch->count >= rows->ops_min &&
           batch->count <= (uint64_t)rows->ops_max * SW_CACHE_PIECES_MAX &&
           batch->op != SW_CACHE_ACCUM_OR_ASSIGN &&
           !(batch->op == SW_CACHE_INSERT_AND_EVICT && slots->two);
}

cudaError_t sw_cache_launch_rows(const struct sw_cache_launch *launch,
                                 const struct sw_cache_rows *rows, cudaStream_t stream);

/* Launches each kernel once, on nothing. */
cudaError_t sw_cache_warm_up_rows(const struct sw_cache_launch *launch,
                                  const struct sw_cache_rows *rows, cudaStream_t stream);

/* The kernels. */
cudaError_t sw_cache_launch_present(const struct sw_cache_piece *piece, cudaStream_t stream);
cudaError_t sw_cache_launch_newcomers(const struct sw_cache_piece *piece, cudaStream_t stream);
cudaError_t sw_cache_launch_values(const struct sw_cache_piece *piece, cudaStream_t stream);

#endif
