/* SPDX-License-Identifier: MIT
 *
 * table_move.cu - moves a table's cache to arrays of another number of buckets.
 */
#include "table/cache/cuda/device.cuh"
#include "table/cache/cuda/ids.cuh"
#include "table/cache/cuda/table_move.cuh"
#include "table/device/warp_reduce.cuh"

/* Copies the entry at `slot`, under the locks of its new buckets (M5). Returns false if another
 * tile has one of them. *left counts moves that evicted an entry or did not admit this one. */
static __device__ __forceinline__ bool move_one(struct sw_cache_tile g,
                                                const struct sw_cache_slots *from,
                                                const struct sw_cache_slots *to, uint64_t slot,
                                                uint32_t *left)
{
    const struct sw_cache_entry *entry = sw_cache_entry_at(from, slot);
    const struct sw_cache_sink nowhere = {NULL, NULL, NULL, NULL};
    const struct sw_cache_time never = sw_cache_time();
    struct sw_cache_step step = sw_cache_step();
    step.actions = SW_CACHE_DO_INSERT;
    step.key = entry->key;
    step.given = entry->score;
    step.value = sw_cache_value_at(from, slot);
    struct sw_cache_candidates candidates = sw_cache_candidates_of(to, step.key);
    uint32_t *lock = sw_cache_my_lock(g, to, &candidates);
    if (!sw_cache_try_locks(g, lock)) {
        return false;
    }
    uint32_t result = sw_cache_operate(g, to, &never, &step, &candidates, &nowhere, false);
    sw_cache_leave_locks(g, lock);
    *left += g.lane == 0 && result != SW_CACHE_INSERTED;
    return true;
}

/* Each lane has a slot; its tile moves the entries of these slots one by one. `to` has the policy
 * CUSTOM, which keeps the scores unchanged. */
static __global__ void __launch_bounds__(SW_CACHE_THREADS, 3)
    move_kernel(const struct sw_cache_slots from, const struct sw_cache_slots to, uint64_t *evicted)
{
    struct sw_cache_tile g = sw_cache_my_tile();
    uint64_t capacity = from.buckets * SW_CACHE_BUCKET_SLOTS;
    uint64_t step = (uint64_t)gridDim.x * SW_CACHE_THREADS;
    uint32_t left = 0;
    for (uint64_t first = (uint64_t)blockIdx.x * SW_CACHE_THREADS; first < capacity;
         first += step) {
        uint64_t slot = first + threadIdx.x;
        bool held = slot < capacity && from.digests[slot] != 0;
        struct sw_cache_turns turns = {sw_cache_ballot(g, held), 0, 0};
        while (__any_sync(0xffffffffU, turns.pending != 0)) {
            bool progress = false;
            if (turns.pending != 0) {
                uint32_t turn = sw_cache_next_turn(&turns);
                progress = move_one(g, &from, &to, sw_cache_from_wide(g, slot, turn), &left);
                turns.pending &= progress ? ~(1U << turn) : 0xffffffffU;
                sw_cache_end_turn(&turns, progress);
            }
            if (!__any_sync(0xffffffffU, progress)) {
                sw_cache_pause();
            }
        }
    }
    left = sw_reduce_add(left);
    if (threadIdx.x % 32 == 0) {
        sw_cache_add_to(evicted, left);
    }
}

static cudaError_t launch(const struct sw_cache_slots *from, struct sw_cache_slots to,
                          uint64_t *evicted, cudaStream_t stream)
{
    to.policy = SW_CACHE_CUSTOM;
    uint32_t blocks = sw_cache_look_up_blocks(from->buckets * SW_CACHE_BUCKET_SLOTS);
    move_kernel<<<blocks, SW_CACHE_THREADS, 0, stream>>>(*from, to, evicted);
    return cudaGetLastError();
}

/* Moves all entries to the arrays `fresh`, and waits. `settling`: without memory the ids are not
 * settled. */
static cudaError_t move_into(const struct sw_cache_arrays *arrays, struct sw_cache_arrays *fresh,
                             const struct sw_cache_settling *settling, uint64_t *evicted,
                             cudaStream_t stream)
{
    cudaError_t error = launch(&arrays->slots, fresh->slots, evicted, stream);
    if (error == cudaSuccess && settling->memory != NULL) {
        error = sw_cache_launch_settle(&fresh->slots, settling, stream);
    }
    if (error == cudaSuccess) {
        error = cudaMemcpyAsync(fresh->totals, arrays->totals, sizeof(*fresh->totals),
                                cudaMemcpyDeviceToDevice, stream);
    }
    return error == cudaSuccess ? cudaStreamSynchronize(stream) : error;
}

cudaError_t sw_cache_table_move(struct sw_cache_arrays *arrays, uint64_t buckets, bool settles,
                                uint64_t *evicted, cudaStream_t stream)
{
    struct sw_cache_slots sizes = arrays->slots;
    struct sw_cache_settling settling = sw_cache_settling();
    struct sw_cache_arrays fresh;
    sizes.buckets = buckets;
    cudaError_t error = cudaSuccess;
    if (settles && sizes.ids != 0) {
        error = sw_cache_settling_open(&settling, sizes.ids, buckets * SW_CACHE_BUCKET_SLOTS);
    }
    if (error == cudaSuccess) {
        error = sw_cache_arrays_open(&fresh, &sizes, arrays->writing);
    }
    if (error != cudaSuccess) {
        sw_cache_settling_close(&settling);
        return error;
    }
    error = move_into(arrays, &fresh, &settling, evicted, stream);
    sw_cache_settling_close(&settling);
    struct sw_cache_arrays *old = error == cudaSuccess ? arrays : &fresh;
    sw_cache_arrays_close(old);
    if (error == cudaSuccess) {
        *arrays = fresh;
    }
    return error;
}

cudaError_t sw_cache_table_entries(const struct sw_cache_arrays *arrays, uint64_t *held,
                                   cudaStream_t stream)
{
    struct sw_cache_counters totals;
    cudaError_t error =
        cudaMemcpyAsync(&totals, arrays->totals, sizeof(totals), cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(stream);
    }
    *held = error == cudaSuccess ? totals.inserted - totals.erased - totals.evicted : 0;
    return error;
}

cudaError_t sw_cache_table_move_warm_up(const struct sw_cache_slots *slots, uint64_t *evicted)
{
    struct sw_cache_slots nothing = *slots;
    nothing.buckets = 0;
    return launch(&nothing, *slots, evicted, NULL);
}
