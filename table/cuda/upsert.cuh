/* SPDX-License-Identifier: MIT
 *
 * upsert.cuh - what both ways of upserts share: constants, what becomes of one key, launches.
 */
#ifndef SHERWOOD_TABLE_CUDA_UPSERT_CUH
#define SHERWOOD_TABLE_CUDA_UPSERT_CUH

#include "table/cuda/reduce.cuh"

/* Base, and what may be tried in its place. Threads of a block; for how many threads a
 * multiprocessor there are to be registers; blocks of a launch at most, which loop, so that a
 * launch that has nothing to do costs no more than these; whether hints are read, where the table
 * has them.
 *
 * %RANGE% SW_UPSERT_BLOCK tpb {128,256,512}
 * %RANGE% SW_UPSERT_RESIDENT tpm {1024,2048}
 * %RANGE% SW_UPSERT_BLOCKS grd {2112,4096} Operation{ct}=[cells]
 * %RANGE% SW_UPSERT_HINTS hin {0,1}
 */
#ifndef SW_UPSERT_BLOCK
#define SW_UPSERT_BLOCK 256
#endif
#ifndef SW_UPSERT_RESIDENT
#define SW_UPSERT_RESIDENT 1024
#endif
#ifndef SW_UPSERT_BLOCKS
#define SW_UPSERT_BLOCKS 4096
#endif
#ifndef SW_UPSERT_HINTS
#define SW_UPSERT_HINTS 1
#endif
template <int ARCH, int BITS> struct sw_policy_upsert_cells {
    static constexpr int tpb = SW_UPSERT_BLOCK;
    static constexpr int tpm = SW_UPSERT_RESIDENT;
    static constexpr int grd = SW_UPSERT_BLOCKS;
    static constexpr int hin = SW_UPSERT_HINTS;
};
template <int ARCH, int BITS> struct sw_policy_upsert_ordered {
    static constexpr int tpb = SW_UPSERT_BLOCK;
    static constexpr int tpm = SW_UPSERT_RESIDENT;
    static constexpr int hin = SW_UPSERT_HINTS;
};
#define SW_POLICY_UPSERT
#include "table/cuda/policy.cuh"
#undef SW_POLICY_UPSERT /* a file that includes this one may have a part of its own */

/* Blocks of the kernel that hardly ever has anything to do. */
#define ASK_BLOCKS 264

template <int BITS>
static __device__ inline bool is_off(const struct sw_cuda_device<BITS> &device, bool only_if_failed)
{
    return only_if_failed && device.control->rebuild_failed == 0;
}

/* Looks for absent keys, if the batch may have none. */
template <int BITS, typename SHAPE>
static __global__ void __launch_bounds__(SHAPE::block, SHAPE::blocks_min)
    ask_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch,
               bool only_if_failed)
{
    typedef sw_width<BITS> W;
    struct sw_cuda_control *control = device.control;
    if (is_off<BITS>(device, only_if_failed) || control->mode != SW_CUDA_ASK) {
        return;
    }
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < batch.count;
         i += (uint64_t)gridDim.x * blockDim.x) {
        uint64_t probes = 0;
        if (!W::locate(&device.table, W::mix(&device.table, batch.keys[i]), &probes).found) {
            control->absent = 1;
        }
    }
}

/* Writes the value of a key in place. Returns whether it is absent and is to get a slot. */
template <int BITS>
static __device__ inline bool write_one(const struct sw_cuda_device<BITS> &device,
                                        typename sw_width<BITS>::place place,
                                        typename sw_width<BITS>::slot entry)
{
    if (entry.m == sw_width<BITS>::empty) {
        struct sw_state *state = device.table.state;
        state->side_value = entry.value;
        if (!place.found) {
            state->side_present = 1;
            device.control->side_inserts = 1;
        }
        return false;
    }
    if (place.found) {
        place.slot->value = entry.value; /* nothing moves in this phase */
    }
    return !place.found;
}

/* Looks a key up that is to leave. Returns whether it has a slot to leave, which *removal tells. */
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
        atomicAdd(&device.control->deletes_in_stash, 1U);
    }
    return true;
}

/* What meets the cap goes to the stash or is handed back. */
template <int BITS>
static __device__ inline bool insert_one(const struct sw_cuda_device<BITS> &device,
                                         typename sw_width<BITS>::slot hand, uint64_t *probes)
{
    typedef sw_width<BITS> W;
    const typename W::table *table = &device.table;
    if (W::insert_hinted(&table->main, device.hints, &hand, probes)) {
        return true;
    }
    if (table->stash.slots == NULL) {
        device.scratch.leftovers[atomicAdd(&device.control->leftovers, 1U)] = hand;
        atomicAdd((unsigned long long *)&table->state->occupied, ~0ULL);
    } else {
        atomicAdd((unsigned long long *)&table->state->stash_occupied, 1ULL);
        if (!W::insert_absent(&table->stash, &hand, probes)) {
            atomicAdd(&device.control->lost, 1U);
        }
    }
    return false;
}

/* One thread, after everything else: counts, and enters what was inserted. */
template <int BITS>
static __device__ inline void conclude(const struct sw_cuda_device<BITS> &device,
                                       const struct sw_cuda_batch<BITS> &batch)
{
    struct sw_cuda_control *control = device.control;
    if (!sw_is_admitted(control)) {
        control->counters.inserted = 0; /* a rebuild may have counted before it failed */
        if (batch.group_count > 1) {
            control->mode = SW_CUDA_SERIAL; /* some groups may insert nothing */
            return;
        }
        control->counters.refused = batch.count;
        if (batch.group_refused != NULL) {
            batch.group_refused[0] = 1;
        }
        return;
    }
    if (batch.op == SW_DELETE) {
        uint64_t deleted = control->deletes + control->side_removals;
        sw_count_deletes(&control->counters, batch.count, deleted);
        device.table.state->occupied -= deleted;
        device.table.state->stash_occupied -= control->deletes_in_stash;
        return;
    }
    uint64_t inserted = control->inserts + control->ordered_inserts + control->side_inserts;
    sw_count_upserts(&control->counters, batch.count, inserted);
    device.table.state->occupied += inserted;
}

static inline uint32_t blocks_for(uint32_t count, uint32_t threads, uint32_t most)
{
    uint32_t blocks = (uint32_t)(((uint64_t)count + threads - 1) / threads);
    return blocks == 0 ? 1 : blocks < most ? blocks : most;
}

/* What launches of one policy have in common. */
template <int BITS, typename POLICY> struct launches {
    typedef sw_cuda_shape<POLICY::tpb, POLICY::tpm> own;
    struct sw_cuda_device<BITS> device;
    const struct sw_cuda_batch<BITS> *batch;
    uint32_t threads;
    bool only_if_failed;
    cudaStream_t stream;

    launches(const struct sw_cuda_device<BITS> *of, const struct sw_cuda_batch<BITS> *what,
             bool only_after_failure, cudaStream_t on)
        : device(*of), batch(what), threads(of->block_size != 0 ? of->block_size : own::block),
          only_if_failed(only_after_failure), stream(on)
    {
        if (!POLICY::hin) {
            device.hints = NULL;
        }
    }
};

/* Calls launch(shape) with the policy's shape, or with the one for any block size. */
template <int BITS, typename POLICY, typename LAUNCH>
static cudaError_t shaped(const struct launches<BITS, POLICY> &with, LAUNCH launch)
{
    if (with.threads == launches<BITS, POLICY>::own::block) {
        launch(typename launches<BITS, POLICY>::own());
    } else {
        launch(sw_cuda_any_shape());
    }
    return cudaGetLastError();
}

template <int BITS, typename POLICY>
static cudaError_t launch_ask(const struct launches<BITS, POLICY> &with)
{
    return shaped(with, [&](auto shape) {
        ask_kernel<BITS, decltype(shape)>
            <<<blocks_for(with.batch->count, with.threads, ASK_BLOCKS), with.threads, 0,
               with.stream>>>(with.device, *with.batch, with.only_if_failed);
    });
}

#endif
