/* SPDX-License-Identifier: MIT
 *
 * table.cuh - the cache as a table's engine on CUDA: a batch as its kernels see it.
 *
 * A batch with writes takes effect in array order where a key is repeated. A large one of one
 * operation goes by rows (rows.cuh), sorted by the numbers of their operations; what rows have no
 * room for, and every other batch, goes by bins (bins.cuh).
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_TABLE_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_TABLE_CUH

#include "table/cache/cuda/launch.cuh"
#include "table/cache/table_ops.h"
#include "table/device/channel.cuh"

/* What a batch tells the host, in mapped memory. */
struct sw_cache_record {
    uint64_t done; /* its ticket */
    struct sw_counters counters;
    uint64_t listed; /* entries evicted that are listed, or scanned */
};

/* What is counted while a batch runs. */
enum sw_cache_word {
    SW_CACHE_WORD_CLASS, /* three a class: misses, hits, probes */
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

/* Operations whose keys have the same bits of a hash, in array order: part of an array of
 * numbers of operations. */
struct sw_cache_bin {
    uint32_t first;
    uint32_t count;
};

/* While a slice of a batch is put in bins; all zero between slices. */
struct sw_cache_bin_numbers {
    uint32_t placed; /* operations */
    uint32_t few;    /* bins with few of them, and with many */
    uint32_t many;
    uint32_t taken; /* bins of many that some block has taken */
    uint32_t blocks;
};

/* Operations of a bin that a tile carries out; of more a block does. */
#define SW_CACHE_BIN_FEW 32U
/* Operations of a slice at most. */
#define SW_CACHE_BINS_PIECE_MAX (1U << 21)

/* Device memory for putting a slice of up to ops_max operations in bins. */
struct sw_cache_bins {
    uint32_t ops_max;
    uint32_t mask;             /* their number, a power of two, less 1 */
    uint32_t *counts;          /* [mask + 1], all zero between slices */
    uint32_t *firsts;          /* [mask + 1] */
    uint32_t *ranks;           /* [ops_max] by operation: which one it is of its bin */
    uint32_t *ids;             /* [ops_max] operations by bin, in any order */
    uint32_t *sorted;          /* [ops_max] the same in order, where they are many */
    struct sw_cache_bin *few;  /* [ops_max] */
    struct sw_cache_bin *many; /* [ops_max / SW_CACHE_BIN_FEW + 1] */
    struct sw_cache_bin_numbers *numbers;
};

/* Device memory for a batch with writes, of batch_ops_max operations; writes take turns. */
struct sw_cache_scratch {
    uint64_t *keys; /* of the batch, which lie in host memory, and its operations */
    uint8_t *ops;
    uint8_t *results; /* by operation: enum sw_cache_result; where an answer is wanted */
    uint64_t *left;   /* keys of entries that left */
    uint64_t *places; /* slots of keys that are erased */
    uint8_t *zeros;   /* [SW_CACHE_VALUE_BYTES_MAX] */
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
/* Entries with min <= score <= max: counted, in record->listed, or erased. */
cudaError_t sw_cache_table_count(const struct sw_cache_table_batch *batch, uint64_t min,
                                 uint64_t max, cudaStream_t stream);
cudaError_t sw_cache_table_erase(const struct sw_cache_table_batch *batch, uint64_t min,
                                 uint64_t max, cudaStream_t stream);
/* Only fills the record. */
cudaError_t sw_cache_table_end(const struct sw_cache_table_batch *batch, cudaStream_t stream);

/* Launches every kernel above once, on an empty table, so that later batches need not load kernels.
 * `batch` has no operations; it has the table's slots, scratch, key_bytes and totals. Returns when
 * all kernels are complete. */
cudaError_t sw_cache_table_warm_up(const struct sw_cache_table_batch *batch,
                                   struct sw_cache_rows *rows);

/* Executes a batch whose only operation is DELETE. Fills the record. */
cudaError_t sw_cache_table_delete(const struct sw_cache_table_batch *batch, cudaStream_t stream);

#endif
