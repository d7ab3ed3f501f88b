/* SPDX-License-Identifier: MIT
 *
 * row_claims.cuh - which rows a batch has more than once, in two steps, each of one kernel.
 *
 * An operation notes its number at a place that the hash of its row says: one store, of which any
 * may last. Then it reads the place (row_meets.cu). All operations on one row read the same number,
 * whatever it is. If that operation is on their row, they are repeated and so is it; if it is the
 * operation itself, nobody else is on the row unless he says so. If it is on another row, all of
 * them claim the row.
 *
 * Rows are claimed in a table of hashes, of which a slot holds the batch's epoch, a row and an
 * operation on it, as one number that only grows: an operation that meets its row marks itself and
 * the other one as repeated; one that meets a smaller row takes the slot, and goes on with what it
 * took out. Claims of earlier batches have smaller epochs, so that nothing is cleared.
 *
 * Invariant: two claims of one row meet. A claim passes a slot only if this holds a larger row, and
 * it still does when the next claim of that row comes: so the second one to come either meets the
 * first where it is, or follows it to where it went on to (M6: a slot is one word). It holds for
 * the claims of several kernels, one after the other, too.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROW_CLAIMS_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROW_CLAIMS_CUH

#include "table/robin_hood/cuda/rows.cuh"

#define CLAIM_ROW_SHIFT 24
#define CLAIM_EPOCH_SHIFT 56
#define CLAIM_OPERATION ((1ULL << CLAIM_ROW_SHIFT) - 1)
#define CLAIM_EPOCHS 256

/* Where claims of a batch are. */
struct row_claims {
    unsigned long long *slots;
    uint32_t *notes; /* two for a slot */
    uint32_t mask;   /* of the slots */
    uint64_t epoch;  /* 0: no operation of the batch writes, so that none needs to know */
    uint32_t *repeated;
};

/* Sets the bits first + k of an array, for the bits k of a word. */
static __device__ inline void row_mark(uint32_t *words, uint32_t first, uint32_t bits)
{
    const uint32_t shift = first % 32;
    if (bits << shift != 0) {
        atomicOr(&words[first / 32], bits << shift);
    }
    if (shift != 0 && bits >> (32 - shift) != 0) {
        atomicOr(&words[first / 32 + 1], bits >> (32 - shift));
    }
}

static __device__ inline void row_mark_claim(const struct row_claims &claims,
                                             unsigned long long claim)
{
    row_mark(claims.repeated, (uint32_t)(claim & CLAIM_OPERATION), 1);
}

static __device__ inline uint32_t row_hash(uint32_t row)
{
    return (row * 0x9e3779b1U) ^ (row >> 16);
}

static __device__ inline uint32_t *row_note(const struct row_claims &claims, uint32_t row)
{
    return &claims.notes[row_hash(row) & (2 * claims.mask + 1)];
}

/* Claims a row for operation i, which may have claimed it before. */
static __device__ inline void row_claim(const struct row_claims &claims, uint32_t row, uint32_t i)
{
    unsigned long long mine =
        claims.epoch << CLAIM_EPOCH_SHIFT | (uint64_t)row << CLAIM_ROW_SHIFT | i;
    uint32_t at = row_hash(row);
    for (;;) {
        at &= claims.mask;
        const unsigned long long old = atomicMax(&claims.slots[at], mine); /* M6 */
        if (old >> CLAIM_EPOCH_SHIFT != claims.epoch || old == mine) {
            return;
        }
        if (old >> CLAIM_ROW_SHIFT == mine >> CLAIM_ROW_SHIFT) {
            row_mark_claim(claims, old);
            row_mark_claim(claims, mine);
            return;
        }
        mine = old < mine ? old : mine;
        at++;
    }
}

/* Places in which the operations of a block meet. */
#define NOTES_HERE (2 * SW_CUDA_BLOCK)

struct row_notes {
    uint32_t rows[SW_CUDA_BLOCK];
    uint32_t places[NOTES_HERE];
    uint32_t met[SW_CUDA_BLOCK]; /* 1: by another operation on its row */
};

/* Notes the operations of a block, operation `first` that of its first thread, that touch rows. In
 * the same way those of the block meet before, so that one of them notes for the others: the place
 * of a row that is hot would be stored to again and again. All threads of the block. */
static __device__ inline void row_note_all(const struct row_claims &claims, uint32_t first,
                                           uint32_t row, bool touches, struct row_notes *own)
{
    const uint32_t t = threadIdx.x;
    uint32_t *place = &own->places[row_hash(row) % NOTES_HERE];
    if (claims.epoch == 0) {
        return;
    }
    own->rows[t] = touches ? row : SW_CUDA_NO_ROW;
    own->met[t] = 0;
    if (touches) {
        atomicExch(place, t); /* M6: any may last */
    }
    __syncthreads(); /* M2: rows and places */
    const uint32_t other = touches ? *place : t;
    const bool same = other != t && own->rows[other] == row;
    if (same) {
        atomicExch(&own->met[other], 1U); /* M6: all store the same */
    }
    __syncthreads(); /* M2: who was met */
    const uint32_t marked = __ballot_sync(SW_WARP_ALL, same || own->met[t] != 0);
    if (t % 32 == 0) {
        row_mark(claims.repeated, first + t, marked);
    }
    if (touches && !same) {
        *row_note(claims, row) = first + t;
    }
}

/* Whether any operation of the batch may write a row. */
template <int BITS> static bool row_writes(const struct sw_cuda_row_batch<BITS> *batch)
{
    return batch->ops != NULL || sw_row_effect(batch->op, false) == SW_EFFECT_WRITE ||
           sw_row_effect(batch->op, true) == SW_EFFECT_WRITE;
}

/* The claims of the batch whose epoch has begun. */
template <int BITS>
static struct row_claims row_claims_of(const struct sw_cuda_rows *rows,
                                       const struct sw_cuda_row_batch<BITS> *batch)
{
    struct row_claims claims = {rows->scratch.claims, rows->scratch.notes,
                                sw_cuda_row_claims(batch->count) - 1,
                                row_writes<BITS>(batch) ? rows->epoch : 0, rows->scratch.repeated};
    return claims;
}

/* Begins the epoch of a batch. */
static inline cudaError_t row_next_epoch(struct sw_cuda_rows *rows, cudaStream_t stream)
{
    rows->epoch++;
    if (rows->epoch < CLAIM_EPOCHS) {
        return cudaSuccess;
    }
    rows->epoch = 1;
    return cudaMemsetAsync(rows->scratch.claims, 0,
                           sw_cuda_row_claims(rows->operations_max) * sizeof(*rows->scratch.claims),
                           stream);
}

#endif
