/* SPDX-License-Identifier: MIT
 *
 * row_look_up.cu - before the engine: which keys of a batch that deletes nothing are present. They
 * stay that, and keep their rows, so that the engine is asked for the other ones only.
 */
#include "table/device/follow.cuh"
#include "table/robin_hood/cuda/get.cuh"
#include "table/robin_hood/cuda/row_acts.cuh"
#include "table/robin_hood/cuda/row_claims.cuh"

/* The row of the key of operation i, if it is present. */
template <int BITS, bool HINTS>
static __device__ inline bool look_up(const typename sw_width<BITS>::table &table,
                                      const uint8_t *hints, typename sw_width<BITS>::word key,
                                      typename sw_width<BITS>::word *row, uint64_t *probes)
{
    typedef sw_width<BITS> W;
    typename W::slot held[SW_BUCKET_SLOTS];
    const typename W::word m = W::mix(&table, key);
    uint64_t bucket = W::home(&table.main, m);
    if (HINTS) {
        bucket += sw_hint_lead(load_hint(hints + bucket / 2), bucket % 2 != 0);
        bucket = min(bucket, table.main.buckets_total - 1);
    }
    read_bucket<BITS, 1, HINTS>(&table.main, bucket, 0, held);
    const int at = probe<BITS, 1>(held, m, row);
    return get_one<BITS>(&table, at, bucket, m, row, probes);
}

/* A thread an operation. */
template <int BITS, bool HINTS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    look_up_kernel(const typename sw_width<BITS>::table table, const uint8_t *hints,
                   const typename sw_width<BITS>::word *keys, const struct sw_cuda_rows rows,
                   const struct sw_cuda_row_batch<BITS> batch, const struct row_claims claims,
                   uint64_t *all_probes)
{
    __shared__ struct row_notes notes;
    sw_cuda_follow();
    const struct row_chunk piece = row_piece_of<BITS>(batch, blockIdx.x, rows.value_bytes);
    const uint32_t base = piece.begin + threadIdx.x / 32 * 32;
    const uint32_t i = piece.begin + threadIdx.x;
    const bool mine = i < piece.end;
    uint64_t probes = 0;
    typename sw_width<BITS>::word value = 0;
    const bool found =
        mine && look_up<BITS, HINTS>(table, hints, __ldcs(keys + i), &value, &probes);
    const uint32_t row = found ? (uint32_t)value : SW_CUDA_NO_ROW;
    if (mine) {
        rows.scratch.rows[i] = row;
    }
    const uint32_t found_here = __ballot_sync(SW_WARP_ALL, found);
    if (threadIdx.x % 32 == 0 && found_here != 0) {
        row_mark((uint32_t *)batch.found, base, found_here);
    }
    const uint32_t op = mine && batch.ops != NULL ? batch.ops[i] : batch.op;
    const bool writes = sw_row_effect(op, true) == SW_EFFECT_WRITE;
    row_note_all(claims, piece.begin, row, found && (writes || batch.answers), &notes);
    const bool absent = __syncthreads_or(mine && !found) != 0;
    if (threadIdx.x == 0 && absent) {
        rows.scratch.control->absent = 1; /* M6: all store the same */
    }
    if (threadIdx.x == 0 && blockIdx.x == 0 && batch.may_be_early) {
        rows.scratch.control->early = table.state->stash_occupied <= table.stash_max;
    }
    if (all_probes != NULL) { /* those for absent keys the engine counts */
        sw_block_add(all_probes, found ? probes : 0);
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
    const cudaError_t launched = sw_cuda_launch_following(
        true, hinted ? look_up_kernel<BITS, true> : look_up_kernel<BITS, false>,
        batch->chunks * ROW_PIECES, SW_CUDA_BLOCK, stream, device->table,
        (const uint8_t *)device->hints, keys, *rows, *batch, row_claims_of<BITS>(rows, batch),
        probes);
    return launched == cudaSuccess ? sw_cuda_launch_row_meets<BITS>(rows, batch, false, stream)
                                   : launched;
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
