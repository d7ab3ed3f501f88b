/* SPDX-License-Identifier: MIT
 *
 * row_effects.cuh - the effect of an operation of a batch on the bytes of a row.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_EFFECTS_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_EFFECTS_CUH

#include "table/robin_hood/cuda/rows/rows.cuh"

/* The operations of a chunk. `values` and `previous` point to the rows of operation `begin`. */
struct row_chunk {
    const uint8_t *values;
    uint8_t *previous;   /* NULL: not wanted */
    uint32_t begin, end; /* indices in the batch; empty if end <= begin */
};

/* Returns the bytes of an operand. */
template <int BITS>
static __device__ inline uint32_t row_operand_bytes(const struct sw_cuda_row_batch<BITS> &batch,
                                                    uint32_t value_bytes)
{
    return batch.wide ? 2 * value_bytes : value_bytes;
}

template <int BITS>
static __device__ inline struct row_chunk row_chunk_of(const struct sw_cuda_row_batch<BITS> &batch,
                                                       uint32_t chunk, uint32_t value_bytes)
{
    const struct sw_cuda_parts *parts = batch.parts;
    const struct sw_cuda_part *part = &parts->parts[parts->of_chunk[chunk]];
    const uint32_t begin = (chunk - part->first_chunk) * SW_COMBINED_CHUNK;
    const uint32_t count = min(part->count - begin, (uint32_t)SW_COMBINED_CHUNK);
    return {part->values + (uint64_t)begin * row_operand_bytes<BITS>(batch, value_bytes),
            part->previous != NULL ? part->previous + (uint64_t)begin * value_bytes : NULL,
            part->first + begin, part->first + begin + count};
}

/* A chunk consists of ROW_PIECES pieces. A piece has one operation for each thread of a block. */
#define ROW_PIECES (SW_COMBINED_CHUNK / SW_CUDA_BLOCK)

/* The operations of piece `number`; numbers run through all chunks. */
template <int BITS>
static __device__ inline struct row_chunk row_piece_of(const struct sw_cuda_row_batch<BITS> &batch,
                                                       uint32_t number, uint32_t value_bytes)
{
    const uint32_t before = number % ROW_PIECES * SW_CUDA_BLOCK;
    const uint64_t at = (uint64_t)before * value_bytes;
    struct row_chunk piece = row_chunk_of<BITS>(batch, number / ROW_PIECES, value_bytes);
    piece.values += (uint64_t)before * row_operand_bytes<BITS>(batch, value_bytes);
    piece.previous = piece.previous != NULL ? piece.previous + at : NULL;
    piece.begin += before;
    piece.end = min(piece.end, piece.begin + SW_CUDA_BLOCK);
    return piece;
}

/* Blocks of a kernel, which process the pieces with a grid stride. The default is one block a
 * piece. `few`: fewer blocks, for a kernel that often has no work, since starting and ending a
 * block for each piece takes some us. */
template <int BITS>
static uint32_t row_blocks(const struct sw_cuda_rows *rows,
                           const struct sw_cuda_row_batch<BITS> *batch, bool few)
{
    const uint32_t pieces = batch->chunks * ROW_PIECES;
    const uint32_t most = 2 * rows->repeats_blocks;
    return few && most < pieces ? most : pieces;
}

/* Returns the part that operation i belongs to. */
static __device__ inline const struct sw_cuda_part *part_of(const struct sw_cuda_parts *parts,
                                                            uint32_t part_count, uint32_t i)
{
    uint32_t low = 0;
    uint32_t high = part_count - 1;
    while (low < high) { /* the last part that begins at i or before */
        const uint32_t middle = (low + high + 1) / 2;
        if (parts->parts[middle].first <= i) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return &parts->parts[low];
}

/* Returns the key string of a row or of an operand; NULL: it has none. */
static __device__ inline const uint8_t *row_key_string(const struct sw_cuda_rows &rows,
                                                       const uint8_t *row)
{
    const uint8_t *key_string = row + rows.value_bytes - rows.key_string_bytes;
    return (__ldcg((const uint32_t *)key_string) & 0xffff) != 0 ? key_string : NULL;
}

/* Returns the group of operation i. */
template <int BITS>
static __device__ inline uint32_t row_group(const struct sw_cuda_row_batch<BITS> &batch, uint32_t i)
{
    return sw_group_of(batch.group_ends, 0, batch.group_count - 1, i);
}

struct row_effect {
    bool found;   /* the key was present */
    bool refused; /* all other fields except `op` are false */
    bool writes;  /* the operation writes the row */
    bool inserts; /* the operation writes its preallocated row */
    bool removes; /* the row of the key becomes free */
    uint32_t op;
};

template <int BITS>
static __device__ inline bool row_found(const struct sw_cuda_row_batch<BITS> &batch, uint32_t i)
{
    return (batch.found[i / 64] >> (i % 64) & 1) != 0;
}

/* Returns the effect of operation i. `found`: its key is present. */
template <int BITS>
static __device__ inline struct row_effect
row_effect_of(const struct sw_cuda_row_batch<BITS> &batch, uint32_t i, bool found)
{
    struct row_effect effect = {};
    effect.op = batch.ops != NULL ? batch.ops[i] : batch.op;
    effect.refused = batch.status != NULL && *batch.status == SW_E_FULL &&
                     batch.group_refused[row_group<BITS>(batch, i)] != 0;
    if (effect.refused) {
        return effect;
    }
    effect.found = found;
    const enum sw_effect change = sw_row_effect(effect.op, effect.found);
    effect.writes = change == SW_EFFECT_WRITE;
    effect.inserts = effect.writes && !effect.found;
    effect.removes = change == SW_EFFECT_REMOVE;
    return effect;
}

template <int BITS>
static __device__ inline struct row_effect
row_effect_of(const struct sw_cuda_row_batch<BITS> &batch, uint32_t i)
{
    return row_effect_of<BITS>(batch, i, row_found<BITS>(batch, i));
}

/* Returns the number of free rows that the batch took off the stack as preallocated rows. */
template <int BITS>
static __device__ inline uint64_t row_taken(const struct sw_cuda_rows &rows,
                                            const struct sw_cuda_row_batch<BITS> &batch)
{
    const bool none = !batch.inserts || (batch.looked_up && rows.scratch.control->absent == 0);
    return none ? 0 : min(rows.stack->free_count, (uint64_t)batch.count);
}

#endif
