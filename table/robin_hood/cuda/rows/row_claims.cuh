/* SPDX-License-Identifier: MIT
 *
 * row_claims.cuh - finds the rows that occur more than once in a batch.
 *
 * If several operations of a warp touch one row, each of them is marked as repeated, and one of
 * them claims the row for all. It claims the row in a hash table. A slot holds the batch's epoch, a
 * row and an operation on the row, packed into one number that only grows. A claim that meets its
 * own row marks its operation and the other one as repeated. A claim that meets a smaller number
 * takes the slot and carries the replaced claim on. Claims of earlier batches have smaller epochs,
 * so no batch clears the table.
 *
 * Invariant: two claims of one row meet. A claim passes a slot only if the slot holds a larger row,
 * and the slot still does when the next claim of that row comes. So the second claim either meets
 * the first one in its slot, or follows it to the slot where it moved (M6: a slot is one word). The
 * invariant also holds for claims of several kernels that run one after the other.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_CLAIMS_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_CLAIMS_CUH

#include "table/robin_hood/cuda/rows/rows.cuh"

#define CLAIM_ROW_SHIFT 24
#define CLAIM_EPOCH_SHIFT 56
#define CLAIM_OPERATION ((1ULL << CLAIM_ROW_SHIFT) - 1)
#define CLAIM_EPOCHS 256

/* The claims of a batch. */
struct row_claims {
    unsigned long long *slots;
    uint32_t mask;  /* number of slots - 1 */
    uint64_t epoch; /* 0: no operation of the batch writes, so repeated rows need no marks */
    uint32_t *repeated;
};

/* Sets the bits first + k of an array, for the bits k of a word. M6: other threads set other bits.
 */
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

/* Called after a claim was written to a slot that held `old`. Returns whether a claim must go on to
 * the next slot: *mine, which is then the smaller of the two. Marks both operations if they are on
 * the same row. */
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

/* Returns whether another operation holds the row's first slot with a claim of this row; marks that
 * operation as repeated. This saves an atomic operation where many claims of one row would wait for
 * each other. */
static __device__ inline bool row_is_claimed(const struct row_claims &claims, uint32_t row)
{
    /* M6: an old value of the slot only leads to the atomic operation */
    const unsigned long long there =
        *(volatile unsigned long long *)&claims.slots[row_hash(row) & claims.mask];
    const bool is = there >> CLAIM_ROW_SHIFT == row_claim_of(claims, row, 0) >> CLAIM_ROW_SHIFT;
    const uint32_t other = (uint32_t)(there & CLAIM_OPERATION);
    if (is && (claims.repeated[other / 32] >> other % 32 & 1) == 0) {
        row_mark_claim(claims, there);
    }
    return is;
}

/* Returns whether this lane claims the row for the operations of the warp on that row. `first` is
 * the operation of lane 0. Marks the operations if there are several on the row. All lanes. */
static __device__ inline bool row_claims_for_warp(const struct row_claims &claims, uint32_t first,
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

/* Claims the rows that the operations of a warp touch, KEYS operations a lane. Operation k of a
 * lane is number first + 32 k + lane. All lanes. */
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
        goes_on[k] = row_claims_for_warp(claims, first + 32 * k, rows[k], touches[k]);
        mine[k] = row_claim_of(claims, rows[k], first + 32 * k + threadIdx.x % 32);
        at[k] = row_hash(rows[k]);
        any |= goes_on[k];
    }
    while (any) {
#pragma unroll
        for (int k = 0; k < KEYS; k++) {
            /* M6: a slot is one word, which only grows */
            old[k] = goes_on[k] ? atomicMax(&claims.slots[at[k] & claims.mask], mine[k]) : 0;
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

/* Returns whether any operation of the batch may write a row. */
template <int BITS> static bool row_writes(const struct sw_cuda_row_batch<BITS> *batch)
{
    return batch->ops != NULL || sw_row_effect(batch->op, false) == SW_EFFECT_WRITE ||
           sw_row_effect(batch->op, true) == SW_EFFECT_WRITE;
}

/* The claims of the batch of the current epoch. */
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
