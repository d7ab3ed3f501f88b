/* SPDX-License-Identifier: MIT
 *
 * table_end.cuh - the end of a table's batch: the record.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_TABLE_END_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_TABLE_END_CUH

#include "table/cache/cuda/table.cuh"

static __device__ __forceinline__ void sw_cache_fill_class(struct sw_op_counters *counters,
                                                           const uint64_t *words)
{
    counters->misses = __ldcg(words);
    counters->hits = __ldcg(words + 1);
    counters->operations = counters->hits + counters->misses;
    counters->probes = __ldcg(words + 2);
}

/* Adds the counters of the SETs that rows have carried out in MEMORY mode (rows.cuh). */
static __device__ __forceinline__ void sw_cache_add_sets(struct sw_counters *counters,
                                                         const struct sw_cache_counters *sets)
{
    struct sw_op_counters *upserts = &counters->by_class[SW_CLASS_UPSERT];
    uint64_t hits = __ldcg(&sets->hits);
    uint64_t misses = __ldcg(&sets->misses);
    upserts->operations += hits + misses;
    upserts->hits += hits;
    upserts->misses += misses;
    upserts->probes += 2 * (hits + misses);
    counters->updated += hits;
    counters->inserted += __ldcg(&sets->inserted);
    counters->evicted += __ldcg(&sets->evicted);
    counters->not_admitted += __ldcg(&sets->not_admitted);
}

/* Fills the record and clears the tally. One thread calls it, after all other work of the batch. */
static __device__ __forceinline__ void
sw_cache_fill_record(const struct sw_cache_table_batch *batch)
{
    struct sw_cache_table_tally *tally = batch->tally;
    const uint64_t *words = tally->words;
    struct sw_counters counters = sw_counters();
    for (uint32_t k = 0; k < SW_CLASS_COUNT; k++) {
        sw_cache_fill_class(&counters.by_class[k], words + SW_CACHE_WORD_CLASS + 3 * k);
    }
    counters.inserted = __ldcg(words + SW_CACHE_WORD_INSERTED);
    counters.updated = __ldcg(words + SW_CACHE_WORD_UPDATED);
    counters.deleted = __ldcg(words + SW_CACHE_WORD_DELETED);
    counters.evicted = __ldcg(words + SW_CACHE_WORD_EVICTED);
    counters.not_admitted = __ldcg(words + SW_CACHE_WORD_NOT_ADMITTED);
    sw_cache_add_sets(&counters, &tally->list.counters);
    struct sw_cache_counters sum = sw_cache_counters();
    sum.inserted = counters.inserted;
    sum.erased = counters.deleted;
    sum.evicted = counters.evicted;
    sw_cache_add_counters(batch->totals, &sum);
    counters.deleted += __ldcg(&tally->cleared.erased);
    batch->record->counters = counters;
    batch->record->listed = __ldcg(&tally->list.listed);
    *tally = sw_cache_table_tally();
    sw_cuda_record_ticket(&batch->record->done, batch->ticket);
}

/* Ends a block; the last block fills the record. One thread of each block calls it, after a
 * barrier. Between blocks a fence of device scope is enough: order is transitive, and the fence
 * before the ticket has system scope (M7). */
static __device__ __forceinline__ void
sw_cache_end_table_block(const struct sw_cache_table_batch *batch)
{
    __threadfence(); /* M7: the stores of the block come before its count */
    if (atomicAdd(&batch->tally->blocks, 1U) == gridDim.x - 1) {
        /* M7: this block has seen the counts of all blocks before it loads what they wrote */
        __threadfence();
        sw_cache_fill_record(batch);
    }
}

#endif
