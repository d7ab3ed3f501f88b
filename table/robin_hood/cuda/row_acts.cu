/* SPDX-License-Identifier: MIT
 *
 * row_acts.cu - which row each operation of a batch is about, and which rows a batch has more than
 * once.
 *
 * Rows are claimed in a table of hashes, of which a slot holds the batch's epoch, a row and an
 * operation on it, as one number that only grows: an operation that meets its row marks itself and
 * the other one as repeated; one that meets a smaller row takes the slot, and goes on with what it
 * took out. Claims of earlier batches have smaller epochs, so that nothing is cleared.
 *
 * Invariant: two operations on one row meet. A claim passes a slot only if this holds a larger row,
 * and it still does when the next claim of that row comes: so the second one to come either meets
 * the first where it is, or follows it to where it went on to (M6: a slot is one word).
 */
#include "table/device/alike.cuh"
#include "table/device/follow.cuh"
#include "table/robin_hood/cuda/row_acts.cuh"

#define CLAIM_ROW_SHIFT 24
#define CLAIM_EPOCH_SHIFT 56
#define CLAIM_OPERATION ((1ULL << CLAIM_ROW_SHIFT) - 1)
#define CLAIM_EPOCHS 256

/* Where claims of a batch are. */
struct claims {
    unsigned long long *slots;
    uint32_t mask;
    uint64_t epoch; /* 0: no operation of the batch writes, so that none needs to know */
    uint32_t *repeated;
};

/* Marks the operations first + k of the bits k of a word. */
static __device__ inline void mark(const struct claims &claims, uint32_t first, uint32_t bits)
{
    const uint32_t shift = first % 32;
    if (bits << shift != 0) {
        atomicOr(&claims.repeated[first / 32], bits << shift);
    }
    if (shift != 0 && bits >> (32 - shift) != 0) {
        atomicOr(&claims.repeated[first / 32 + 1], bits >> (32 - shift));
    }
}

static __device__ inline void mark_one(const struct claims &claims, unsigned long long claim)
{
    mark(claims, (uint32_t)(claim & CLAIM_OPERATION), 1);
}

/* Claims a row for operation i. */
static __device__ inline void claim(const struct claims &claims, uint32_t row, uint32_t i)
{
    unsigned long long mine =
        claims.epoch << CLAIM_EPOCH_SHIFT | (uint64_t)row << CLAIM_ROW_SHIFT | i;
    uint32_t at = (row * 0x9e3779b1U) ^ (row >> 16);
    for (;;) {
        at &= claims.mask;
        const unsigned long long old = atomicMax(&claims.slots[at], mine); /* M6 */
        if (old >> CLAIM_EPOCH_SHIFT != claims.epoch) {
            return;
        }
        if (old >> CLAIM_ROW_SHIFT == mine >> CLAIM_ROW_SHIFT) {
            mark_one(claims, old);
            mark_one(claims, mine);
            return;
        }
        mine = old < mine ? old : mine;
        at++;
    }
}

template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    acts_kernel(const struct sw_cuda_rows rows, const struct sw_cuda_row_batch<BITS> batch,
                const struct claims claims)
{
    sw_cuda_follow();
    const struct row_chunk chunk = row_chunk_of(batch.parts, blockIdx.x, rows.value_bytes);
    const uint64_t free_count = rows.stack->free_count;
    int32_t fresh = 0;
    for (uint32_t base = chunk.begin + threadIdx.x / 32 * 32; base < chunk.end;
         base += SW_CUDA_BLOCK) {
        const uint32_t i = base + threadIdx.x % 32;
        struct row_act act = {};
        uint32_t row = SW_CUDA_NO_ROW;
        if (i < chunk.end) {
            act = row_act_of<BITS>(batch, i);
            row = act.found     ? (uint32_t)batch.previous[i]
                  : act.inserts ? (uint32_t)batch.tentative[i]
                                : SW_CUDA_NO_ROW;
            rows.scratch.rows[i] = row;
        }
        if (act.inserts && i >= free_count) {
            fresh = (int32_t)(i - free_count) + 1;
        }
        const bool touches = row != SW_CUDA_NO_ROW && (act.writes || chunk.previous != NULL);
        if (claims.epoch != 0) {
            const uint32_t touching = __ballot_sync(SW_WARP_ALL, touches);
            const uint32_t alike = __match_any_sync(SW_WARP_ALL, row) & touching;
            const uint32_t marked = __ballot_sync(SW_WARP_ALL, touches && (alike & (alike - 1)));
            if (threadIdx.x % 32 == 0) {
                mark(claims, base, marked);
            }
            if (touches && sw_is_first_alike(alike)) {
                claim(claims, row, i);
            }
        }
    }
    fresh = sw_reduce_max(fresh);
    if (threadIdx.x % 32 == 0 && fresh > 0) {
        atomicMax(&rows.scratch.control->fresh, (uint32_t)fresh);
    }
}

/* Whether any operation of the batch may write a row. */
template <int BITS> static bool writes(const struct sw_cuda_row_batch<BITS> *batch)
{
    return batch->ops != NULL || sw_row_effect(batch->op, false) == SW_EFFECT_WRITE ||
           sw_row_effect(batch->op, true) == SW_EFFECT_WRITE;
}

/* The epoch of a batch. */
static cudaError_t next_epoch(struct sw_cuda_rows *rows, cudaStream_t stream)
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

template <int BITS>
cudaError_t sw_cuda_launch_row_acts(struct sw_cuda_rows *rows,
                                    const struct sw_cuda_row_batch<BITS> *batch,
                                    cudaStream_t stream)
{
    struct claims claims = {rows->scratch.claims, sw_cuda_row_claims(batch->count) - 1, 0,
                            rows->scratch.repeated};
    if (writes<BITS>(batch)) {
        const cudaError_t error = next_epoch(rows, stream);
        if (error != cudaSuccess) {
            return error;
        }
        claims.epoch = rows->epoch;
    }
    acts_kernel<BITS><<<batch->chunks, SW_CUDA_BLOCK, 0, stream>>>(*rows, *batch, claims);
    return cudaGetLastError();
}

template <int BITS> cudaError_t sw_cuda_load_row_acts(void)
{
    struct cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, acts_kernel<BITS>);
}

#define INSTANTIATE(BITS, ...)                                                        \
    template cudaError_t sw_cuda_launch_row_acts<BITS>(                               \
        struct sw_cuda_rows *, const struct sw_cuda_row_batch<BITS> *, cudaStream_t); \
    template cudaError_t sw_cuda_load_row_acts<BITS>(void);
SW_WIDTHS(INSTANTIATE)
