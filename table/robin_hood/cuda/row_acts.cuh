/* SPDX-License-Identifier: MIT
 *
 * row_acts.cuh - what an operation of a batch does to the bytes of a row.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROW_ACTS_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROW_ACTS_CUH

#include "table/robin_hood/cuda/rows.cuh"

/* Which operations a chunk has, and where their rows are: those of operation `begin`. */
struct row_chunk {
    const uint8_t *values;
    uint8_t *previous;   /* NULL: not wanted */
    uint32_t begin, end; /* counted in the batch */
};

static __device__ inline struct row_chunk row_chunk_of(const struct sw_cuda_parts *parts,
                                                       uint32_t chunk, uint32_t value_bytes)
{
    const struct sw_cuda_part *part = &parts->parts[parts->of_chunk[chunk]];
    const uint32_t begin = (chunk - part->first_chunk) * SW_TOGETHER_CHUNK;
    const uint32_t count = min(part->count - begin, (uint32_t)SW_TOGETHER_CHUNK);
    const uint64_t at = (uint64_t)begin * value_bytes;
    return {part->values + at, part->previous != NULL ? part->previous + at : NULL,
            part->first + begin, part->first + begin + count};
}

/* Whether the group of operation i was refused. */
template <int BITS>
static __device__ inline bool row_refused(const struct sw_cuda_row_batch<BITS> &batch, uint32_t i)
{
    uint32_t low = 0;
    uint32_t high = batch.group_count - 1;
    while (low < high) { /* the first group that ends behind it */
        const uint32_t middle = (low + high) / 2;
        if (batch.group_ends[middle] > i) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return batch.group_refused[low] != 0;
}

struct row_act {
    bool found;   /* its key was present */
    bool refused; /* then nothing else holds */
    bool writes;  /* its row */
    bool inserts; /* it writes the row that it got */
    bool removes; /* its row is given back */
    uint32_t op;
};

template <int BITS>
static __device__ inline struct row_act row_act_of(const struct sw_cuda_row_batch<BITS> &batch,
                                                   uint32_t i)
{
    struct row_act act = {};
    act.op = batch.ops != NULL ? batch.ops[i] : batch.op;
    act.refused = batch.status != NULL && *batch.status == SW_E_FULL && row_refused<BITS>(batch, i);
    if (act.refused) {
        return act;
    }
    act.found = (batch.found[i / 64] >> (i % 64) & 1) != 0;
    const enum sw_effect effect = sw_row_effect(act.op, act.found);
    act.writes = effect == SW_EFFECT_WRITE;
    act.inserts = act.writes && !act.found;
    act.removes = effect == SW_EFFECT_REMOVE;
    return act;
}

#endif
