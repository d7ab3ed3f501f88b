/* SPDX-License-Identifier: MIT
 *
 * row_look_up.cu - before the engine: finds the present keys of a batch that deletes nothing. They
 * stay present and keep their rows, so the engine processes only the other keys.
 */
#include "table/device/follow.cuh"
#include "table/robin_hood/cuda/rows/row_claims.cuh"
#include "table/robin_hood/cuda/rows/row_effects.cuh"
#include "table/robin_hood/cuda/rows/row_find.cuh"

/* Operations of a thread, and threads of a block. A block processes one piece.
 *
 * %RANGE% SW_ROW_LOOK_UP_KEYS kpt {1,2,4,8}
 */
#ifndef SW_ROW_LOOK_UP_KEYS
#define SW_ROW_LOOK_UP_KEYS 4
#endif
#define KEYS SW_ROW_LOOK_UP_KEYS
#define THREADS (SW_CUDA_BLOCK / KEYS)

/* For the operations of a warp from `base` on, before `end`: stores the rows, marks the present
 * keys and claims their rows. Returns whether any key is absent. */
template <int BITS>
static __device__ inline bool store_rows(const struct sw_cuda_rows &rows,
                                         const struct sw_cuda_row_batch<BITS> &batch,
                                         const struct row_claims &claims,
                                         const uint32_t own[32 * KEYS], uint32_t base, uint32_t end)
{
    const uint32_t lane = threadIdx.x % 32;
    uint32_t row[KEYS];
    bool touches[KEYS];
    bool absent = false;
#pragma unroll
    for (uint32_t k = 0; k < KEYS; k++) {
        const uint32_t i = base + 32 * k + lane;
        row[k] = own[32 * k + lane];
        const bool found = row[k] != SW_CUDA_NO_ROW;
        if (i < end) {
            rows.scratch.rows[i] = row[k];
        }
        const uint32_t found_here = __ballot_sync(SW_WARP_ALL, found);
        if (lane == 0 && found_here != 0) {
            row_mark((uint32_t *)batch.found, base + 32 * k, found_here);
        }
        const uint32_t op = i < end && batch.ops != NULL ? batch.ops[i] : batch.op;
        touches[k] = found && (batch.answers || sw_row_effect(op, true) == SW_EFFECT_WRITE);
        absent |= i < end && !found;
    }
    row_claim_all<KEYS>(claims, base, row, touches);
    return absent;
}

template <int BITS, bool HINTS>
static __global__ void __launch_bounds__(THREADS, 1024 / THREADS)
    look_up_kernel(const typename sw_width<BITS>::table table, const uint8_t *hints,
                   const typename sw_width<BITS>::word *keys, const struct sw_cuda_rows rows,
                   const struct sw_cuda_row_batch<BITS> batch, const struct row_claims claims,
                   uint64_t *all_probes)
{
    typedef sw_width<BITS> W;
    __shared__ struct row_finder<BITS, KEYS> finders[THREADS / 32];
    sw_cuda_follow();
    struct row_finder<BITS, KEYS> *own = &finders[threadIdx.x / 32];
    const struct row_chunk piece = row_piece_of<BITS>(batch, blockIdx.x, rows.value_bytes);
    const uint32_t base = piece.begin + threadIdx.x / 32 * (32 * KEYS);
    struct row_probes probes = {};
    typename W::word m[KEYS];
    bool mine[KEYS];
#pragma unroll
    for (uint32_t k = 0; k < KEYS; k++) {
        const uint32_t i = base + 32 * k + threadIdx.x % 32;
        mine[k] = i < piece.end;
        m[k] = mine[k] ? W::mix(&table, __ldcs(keys + i)) : 0;
    }
    row_find<BITS, KEYS, HINTS>(table, hints, m, mine, own, &probes);
    const bool absent = store_rows<BITS>(rows, batch, claims, own->rows, base, piece.end);
    if (__syncthreads_or(absent) != 0 && threadIdx.x == 0) {
        rows.scratch.control->absent = 1; /* M6: all store the same */
    }
    if (threadIdx.x == 0 && blockIdx.x == 0 && batch.may_be_early) {
        rows.scratch.control->early = table.state->stash_occupied <= table.stash_max;
    }
    if (all_probes != NULL) { /* the engine counts the probes for absent keys */
        sw_block_add(all_probes, probes.present);
    }
}

template <int BITS>
cudaError_t
sw_cuda_launch_row_look_up(const struct sw_cuda_device<BITS> *device, struct sw_cuda_rows *rows,
                           const typename sw_width<BITS>::word *keys, bool use_hints,
                           const struct sw_cuda_row_batch<BITS> *batch, cudaStream_t stream)
{
    struct sw_op_counters *counters =
        &device->control->counters.by_class[sw_op_class_of(sw_cuda_row_engine_op(batch->op))];
    uint64_t *probes = device->counts_probes ? &counters->probes : NULL;
    const bool hinted = use_hints && device->hints != NULL;
    const cudaError_t error = row_next_epoch(rows, stream);
    if (error != cudaSuccess) {
        return error;
    }
    return sw_cuda_launch_following(
        true, hinted ? look_up_kernel<BITS, true> : look_up_kernel<BITS, false>,
        batch->chunks * ROW_PIECES, THREADS, stream, device->table, (const uint8_t *)device->hints,
        keys, *rows, *batch, row_claims_of<BITS>(rows, batch), probes);
}

template <int BITS> cudaError_t sw_cuda_load_row_look_up(void)
{
    struct cudaFuncAttributes attributes;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, look_up_kernel<BITS, true>);
    return error == cudaSuccess ? cudaFuncGetAttributes(&attributes, look_up_kernel<BITS, false>)
                                : error;
}

#define INSTANTIATE(BITS, ...)                                                               \
    template cudaError_t sw_cuda_launch_row_look_up<BITS>(                                   \
        const struct sw_cuda_device<BITS> *, struct sw_cuda_rows *,                          \
        const typename sw_width<BITS>::word *, bool, const struct sw_cuda_row_batch<BITS> *, \
        cudaStream_t);                                                                       \
    template cudaError_t sw_cuda_load_row_look_up<BITS>(void);
SW_WIDTHS(INSTANTIATE)
