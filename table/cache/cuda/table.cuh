/* SPDX-License-Identifier: MIT
 *
 * table.cuh - the cache as a table's engine on CUDA: a batch as its kernels see it.
 *
 * A batch with writes takes effect in array order where a key is repeated: its operations are
 * sorted by a hash of their keys, and one group carries out those of equal hash one by one.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_TABLE_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_TABLE_CUH

#include "table/cache/cuda/launch.cuh"
#include "table/cache/table_ops.h"
#include "table/cuda/lane.cuh"

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

/* Device memory for a batch with writes, of batch_ops_max operations; writes take turns. */
struct sw_cache_scratch {
    uint64_t *keys; /* of the batch, which lie in host memory, and its operations */
    uint8_t *ops;
    uint32_t *hashes;
    uint32_t *sorted_hashes;
    uint32_t *indexes;
    uint32_t *sorted_indexes;
    uint8_t *results; /* by operation: enum sw_cache_result */
    uint64_t *left;   /* keys of entries that left */
    void *sort;
    size_t sort_bytes;
};

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
cudaError_t sw_cache_table_write(const struct sw_cache_table_batch *batch, cudaStream_t stream);
cudaError_t sw_cache_table_clear(const struct sw_cache_table_batch *batch, cudaStream_t stream);
/* Keys are of key_bytes; the record has the count. */
cudaError_t sw_cache_table_scan(const struct sw_cache_table_batch *batch,
                                const struct sw_cache_export *what, cudaStream_t stream);
/* Entries with min <= score <= max: counted, in record->listed, or erased. */
cudaError_t sw_cache_table_count(const struct sw_cache_table_batch *batch, uint64_t min,
                                 uint64_t max, cudaStream_t stream);
cudaError_t sw_cache_table_erase(const struct sw_cache_table_batch *batch, uint64_t min,
                                 uint64_t max, cudaStream_t stream);
/* Nothing but the record. */
cudaError_t sw_cache_table_end(const struct sw_cache_table_batch *batch, cudaStream_t stream);

/* Launches every kernel of the above once, on an empty table, so that none is loaded while it
 * serves. `batch` is one of no operations that has the table's slots, scratch, key_bytes and
 * totals. Returns when all is done. */
cudaError_t sw_cache_table_warm_up(const struct sw_cache_table_batch *batch, uint32_t ops_max);

/* Bytes that sorting `count` operations needs. */
cudaError_t sw_cache_sort_bytes(uint32_t count, size_t *bytes);

#endif
