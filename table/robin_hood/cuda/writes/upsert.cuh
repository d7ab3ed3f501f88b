/* SPDX-License-Identifier: MIT
 *
 * upsert.cuh - writes one key of a batch that is sure to fit, and computes the batch's counters.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_UPSERT_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_UPSERT_CUH

#include "table/device/counts.cuh"
#include "table/robin_hood/cuda/device.cuh"

/* Updates the key in place if it is present. Returns true if it is absent and must be inserted. */
template <int BITS>
static __device__ inline bool write_one(const struct sw_cuda_device<BITS> &device,
                                        typename sw_width<BITS>::place place,
                                        typename sw_width<BITS>::slot entry)
{
    if (entry.m == sw_width<BITS>::empty) {
        struct sw_state *state = device.table.state;
        state->side_value = sw_width<BITS>::value(entry);
        if (!place.found) {
            state->side_present = 1;
            device.control->side_inserts = 1;
        }
        return false;
    }
    if (place.found) {
        /* M8: one thread has the key's operations, and nothing moves in this phase (rule 6) */
        sw_width<BITS>::put_value(place.slot, sw_width<BITS>::value(entry));
    }
    return !place.found;
}

/* Records that the key of an operation was present before it. M6: other threads set other bits of
 * the word. */
template <int BITS>
static __device__ inline void set_found(const struct sw_cuda_device<BITS> &device,
                                        uint32_t operation)
{
    atomicOr((uint32_t *)device.scratch.found + operation / 32, 1U << operation % 32);
}

/* Looks up a key to be removed. If it has a slot, sets *removal and returns true. */
template <int BITS>
static __device__ inline bool
remove_one(const struct sw_cuda_device<BITS> &device, typename sw_width<BITS>::word m,
           struct sw_cuda_removal<BITS> *removal, bool *found, uint64_t *probes)
{
    typedef sw_width<BITS> W;
    const typename W::place place = W::locate_hinted(&device.table, device.hints, m, probes);
    *found = place.found;
    if (place.found && m == W::empty) {
        device.table.state->side_present = 0;
        device.control->side_removals = 1;
    }
    if (!place.found || m == W::empty) {
        return false;
    }
    removal->m = m;
    removal->slot = (uint64_t)(place.slot - device.table.main.slots);
    if (place.in_stash) {
        atomicAdd(&device.control->deletes_in_stash, 1U); /* M6: a count */
    }
    return true;
}

/* Counts a batch of upserts of one kind. SET_ABSENT, which only sets fold, updates no key. */
template <int BITS>
static __device__ inline void count_upserts(struct sw_counters *counters,
                                            const struct sw_cuda_batch<BITS> &batch,
                                            uint64_t inserted)
{
    sw_count_upserts(counters, batch.count, inserted);
    if (sw_width<BITS>::is_set && !SW_OPS_HAS(SW_OPS_PUT, batch.op)) {
        counters->updated = 0;
    }
}

/* Computes the counters, and updates the table's numbers of entries for the inserts and removals
 * that follow. Called by one thread of the last block. It sees all counts of the other blocks by
 * sw_last_block (M7). Operations folded in array order have been counted already. */
template <int BITS>
static __device__ inline void count_and_enter(const struct sw_cuda_device<BITS> &device,
                                              const struct sw_cuda_batch<BITS> &batch,
                                              bool in_order)
{
    struct sw_cuda_control *control = device.control;
    if (control->mode == SW_CUDA_SERIAL) {
        return;
    }
    if (!sw_is_admitted(control)) {
        control->counters.inserted = 0; /* a rebuild may have counted before it failed */
        if (batch.group_count > 1) {
            control->mode = SW_CUDA_SERIAL; /* groups without inserts must still be admitted */
            return;
        }
        control->counters.refused = batch.count;
        if (batch.group_refused != NULL) {
            batch.group_refused[0] = 1;
        }
        return;
    }
    if (in_order) { /* the fold has counted the operations */
        struct sw_state *state = device.table.state;
        state->occupied += (uint64_t)control->inserts + control->side_inserts;
        state->occupied -= (uint64_t)control->deletes + control->side_removals;
        state->stash_occupied -= control->deletes_in_stash;
        return;
    }
    if (batch.op == SW_SET_PRESENT) {
        sw_count_updates(&control->counters, batch.count);
        return;
    }
    if (batch.op == SW_DELETE) {
        uint64_t deleted = control->deletes + control->direct_removals + control->side_removals;
        sw_count_deletes(&control->counters, batch.count, deleted);
        device.table.state->occupied -= deleted;
        device.table.state->stash_occupied -= control->deletes_in_stash;
        return;
    }
    uint64_t inserted = control->inserts + control->direct_inserts + control->side_inserts;
    count_upserts<BITS>(&control->counters, batch, inserted);
    device.table.state->occupied += inserted;
}

#endif
