/* SPDX-License-Identifier: MIT
 *
 * row_claims.cuh - which rows a batch has more than once.
 *
 * Of the operations of a warp that are on one row, one speaks for all, and each of them is repeated
 * if there are several. It claims the row in a table of hashes, of which a slot holds the batch's
 * epoch, a row and an operation on it, as one number that only grows: an operation that meets its
 * row marks itself and the other one as repeated; one that meets a smaller row takes the slot, and
 * goes on with what it took out. Claims of earlier batches have smaller epochs, so that nothing is
 * cleared.
 *
 * Invariant: two claims of one row meet. A claim passes a slot only if this holds a larger row, and
 * it still does when the next claim of that row comes: so the second one to come either meets the
 * first where it is, or follows it to where it went on to (M6: a slot is one word). It holds for
 * the claims of several kernels, one after the other, too.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_CLAIMS_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_CLAIMS_CUH

#include "table/robin_hood/cuda/rows/rows.cuh"

#define CLAIM_ROW_SHIFT 24
#define CLAIM_EPOCH_SHIFT 56
#define CLAIM_OPERATION ((1ULL << CLAIM_ROW_SHIFT) - 1)
#define CLAIM_EPOCHS 256

/* Where claims of a batch are. */
struct row_claims {
    unsigned long long *slots;
    uint32_t mask;  /* of the slots */
    uint64_t epoch; /* 0: no operation of the batch writes, so that none needs to know */
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

static __device__ inline unsigned long long row_claim_of(const struct row_claims &claims,
                                                         uint32_t row, uint32_t i)
{
    return claims.epoch << CLAIM_EPOCH_SHIFT | (uint64_t)row << CLAIM_ROW_SHIFT | i;
}

/* Whether a claim that a slot has taken has to go on: with what it took out, or as it is. Marks
 * those of one row. */
static __device__ inline bool row_claim_goes_on(const struct row_claims &claims,
                                                unsigned long long old, unsigned long long *mine)
{
    if (old >> CLAIM_EPOCH_SHIFT != claims.epoch || old == *mine) {
        return false;
    }
    if (old >> CLAIM_ROW_SHIFT == *mine >> CLAIM_ROW_SHIFT) {
        row_mark_claim(claims, old);
        row_mark_claim(claims, *mine);
        return false;
    }
    *mine = old < *mine ? old : *mine;
    return true;
}

/* Whether another operation has claimed the row, and is where the first claim of it would be; then
 * that one is repeated. Saves a claim, where many of one row would wait for each other. */
static __device__ inline bool row_is_claimed(const struct row_claims &claims, uint32_t row)
{
    const unsigned long long there =
        *(volatile unsigned long long *)&claims.slots[row_hash(row) & claims.mask]; /* M6 */
    const bool is = there >> CLAIM_ROW_SHIFT == row_claim_of(claims, row, 0) >> CLAIM_ROW_SHIFT;
    const uint32_t other = (uint32_t)(there & CLAIM_OPERATION);
    if (is && (claims.repeated[other / 32] >> other % 32 & 1) == 0) {
        row_mark_claim(claims, there);
    }
    return is;
}

/* Whether this lane speaks for the operations of the warp on its row, operation `first` that of its
 * first lane. Marks them if they are several. All lanes. */
static __device__ inline bool row_speaks(const struct row_claims &claims, uint32_t first,
                                         uint32_t row, bool touches)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t touching = __ballot_sync(SW_WARP_ALL, touches);
    const uint32_t alike = __match_any_sync(SW_WARP_ALL, row) & touching;
    const bool several = touches && (alike & (alike - 1)) != 0;
    const uint32_t marked = __ballot_sync(SW_WARP_ALL, several);
    if (lane == 0 && marked != 0) {
        row_mark(claims.repeated, first, marked);
    }
    return touches && (alike & ((1U << lane) - 1)) == 0 &&
           !(several && row_is_claimed(claims, row));
}

/* Claims the rows that the operations of a warp touch, KEYS of each lane: from `first` on those of
 * all lanes one after the other. All lanes. */
template <int KEYS>
static __device__ inline void row_claim_all(const struct row_claims &claims, uint32_t first,
                                            const uint32_t rows[KEYS], const bool touches[KEYS])
{
    unsigned long long mine[KEYS];
    unsigned long long old[KEYS];
    uint32_t at[KEYS];
    bool goes_on[KEYS];
    bool any = false;
    if (claims.epoch == 0) {
        return;
    }
#pragma unroll
    for (uint32_t k = 0; k < KEYS; k++) {
        goes_on[k] = row_speaks(claims, first + 32 * k, rows[k], touches[k]);
        mine[k] = row_claim_of(claims, rows[k], first + 32 * k + threadIdx.x % 32);
        at[k] = row_hash(rows[k]);
        any |= goes_on[k];
    }
    while (any) {
#pragma unroll
        for (int k = 0; k < KEYS; k++) {
            old[k] =
                goes_on[k] ? atomicMax(&claims.slots[at[k] & claims.mask], mine[k]) : 0; /* M6 */
        }
        any = false;
#pragma unroll
        for (int k = 0; k < KEYS; k++) {
            goes_on[k] = goes_on[k] && row_claim_goes_on(claims, old[k], &mine[k]);
            at[k]++;
            any |= goes_on[k];
        }
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
    struct row_claims claims = {rows->scratch.claims, sw_cuda_row_claims(batch->count) - 1,
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
