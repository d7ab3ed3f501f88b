/* SPDX-License-Identifier: MIT
 *
 * table.cuh - the cache as a table's engine on CUDA: a batch as its kernels see it.
 *
 * The operations of a batch on one key take effect in array order. A large batch of one operation
 * uses rows (rows.cuh), which are sorted by operation number. Operations without room in a row, and
 * all other batches, use bins (bins.cuh).
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_TABLE_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_TABLE_CUH

#include "table/cache/cuda/launch.cuh"
#include "table/cache/table_ops.h"
#include "table/device/channel.cuh"

/* The result of a batch, in mapped host memory. */
struct sw_cache_record {
    uint64_t done; /* the batch's ticket, once the record is complete */
    struct sw_counters counters;
    uint64_t listed; /* number of entries listed (evicted or scanned) or counted */
};

/* Counters of a running batch. */
enum sw_cache_word {
    SW_CACHE_WORD_CLASS, /* three words per class: misses, hits, probes */
    SW_CACHE_WORD_INSERTED = 3 * SW_CLASS_COUNT,
    SW_CACHE_WORD_UPDATED,
    SW_CACHE_WORD_DELETED,
    SW_CACHE_WORD_EVICTED,
    SW_CACHE_WORD_NOT_ADMITTED,
    SW_CACHE_WORD_COUNT
};

/* Device memory of a queue; all zero between its batches. */
struct sw_cache_table_tally {
    uint64_t words[SW_CACHE_WORD_COUNT];
    struct sw_cache_tally list;
    struct sw_cache_counters cleared;
    uint32_t blocks;
};

/* A bin: the operations whose keys share some bits of a hash. It is a range of an array of
 * operation numbers. */
struct sw_cache_bin {
    uint32_t first;
    uint32_t count;
};

/* Counters for the slice that is put in bins; all zero between slices. */
struct sw_cache_bin_numbers {
    uint32_t placed; /* operations */
    uint32_t few;    /* bins with few operations; the next: with many */
    uint32_t many;
    uint32_t taken; /* bins of many operations that blocks have taken */
    uint32_t blocks;
};

/* A tile executes bins of at most this many operations; a block executes larger bins. */
#define SW_CACHE_BIN_FEW 32U
/* Maximum operations of a slice. */
#define SW_CACHE_BINS_PIECE_MAX (1U << 21)

/* Device memory for putting a slice of up to ops_max operations in bins. */
struct sw_cache_bins {
    uint32_t ops_max;
    uint32_t mask;             /* number of bins (a power of two) minus 1 */
    uint32_t *counts;          /* [mask + 1], all zero between slices */
    uint32_t *firsts;          /* [mask + 1] */
    uint32_t *ranks;           /* [ops_max] by operation: its rank in its bin */
    uint32_t *ids;             /* [ops_max] operations by bin, in any order */
    uint32_t *sorted;          /* [ops_max] the same in array order, for bins of many operations */
    struct sw_cache_bin *few;  /* [ops_max] */
    struct sw_cache_bin *many; /* [ops_max / SW_CACHE_BIN_FEW + 1] */
    struct sw_cache_bin_numbers *numbers;
};

/* Device memory for a batch with writes, of at most batch_ops_max operations. Such batches never
 * overlap. */
struct sw_cache_scratch {
    uint64_t *keys; /* copies of the batch's keys, which may lie in host memory; next: of its
                       operations */
    uint8_t *ops;
    uint8_t *results; /* by operation: enum sw_cache_result, if the batch requests answers */
    uint64_t *left;   /* keys of evicted entries */
    uint64_t *places; /* slots of the keys to erase */
    uint8_t *zeros;   /* [SW_CACHE_VALUE_BYTES_MAX] */
    uint8_t *ones;    /* [8]: no id */
    struct sw_cache_bins bins;
};

struct sw_cache_rows;

struct sw_cache_table_batch {
    struct sw_cache_slots slots;
    struct sw_cache_time time;
    struct sw_cache_scratch scratch;
    const uint8_t *ops; /* or NULL: all are `op` */
    uint32_t op;
    uint32_t count;
    uint32_t key_bytes;
    const void *keys;
    const uint8_t *values;
    uint8_t *previous;
    uint32_t *found; /* halves of the batch's words, or NULL */
    uint32_t *not_admitted;
    const uint64_t *scores; /* this and the next: or NULL */
    uint64_t *scores_out;
    void *leftover_keys; /* or NULL */
    uint8_t *leftover_values;
    uint64_t *leftover_scores;
    struct sw_cache_table_tally *tally;
    struct sw_cache_counters *totals;
    struct sw_cache_record *record;
    uint64_t ticket;
};

/* Launchers. The last kernel of each fills the record. */
cudaError_t sw_cache_table_read(const struct sw_cache_table_batch *batch, cudaStream_t stream);
cudaError_t sw_cache_table_write(const struct sw_cache_table_batch *batch,
                                 struct sw_cache_rows *rows, cudaStream_t stream);
cudaError_t sw_cache_table_clear(const struct sw_cache_table_batch *batch, cudaStream_t stream);
/* Keys have key_bytes bytes; the record receives the number of entries listed. */
cudaError_t sw_cache_table_scan(const struct sw_cache_table_batch *batch,
                                const struct sw_cache_window *what, cudaStream_t stream);
/* Count the entries with min <= score <= max in record->listed, or erase them. */
cudaError_t sw_cache_table_count(const struct sw_cache_table_batch *batch, uint64_t min,
                                 uint64_t max, cudaStream_t stream);
cudaError_t sw_cache_table_erase(const struct sw_cache_table_batch *batch, uint64_t min,
                                 uint64_t max, cudaStream_t stream);
/* Launches a kernel that only fills the record. */
cudaError_t sw_cache_table_end(const struct sw_cache_table_batch *batch, cudaStream_t stream);

/* Launches every kernel above once, on an empty table, so that later batches need not load kernels.
 * `batch` has no operations; it has the table's slots, scratch, key_bytes and totals. Returns when
 * all kernels are complete. */
cudaError_t sw_cache_table_warm_up(const struct sw_cache_table_batch *batch,
                                   struct sw_cache_rows *rows);

/* Executes a batch whose only operation is DELETE. Fills the record. */
cudaError_t sw_cache_table_delete(const struct sw_cache_table_batch *batch, cudaStream_t stream);

#endif
