/* SPDX-License-Identifier: MIT
 *
 * insert.cuh - inserts the entries that a batch listed. First each by one thread, which gives up
 * after a few buckets, then the rest by displacement chains (chain.cuh). Two kernels do it, or the
 * last kernel of a batch by ranges (writes/range_rest.cu).
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_DISPLACEMENT_INSERT_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_DISPLACEMENT_INSERT_CUH

#include "table/robin_hood/cuda/displacement/chain.cuh"

/* --- by one thread ---------------------------------------------------------------------------- */

/* Inserts one entry without locks. Rules 1 to 4 of table/robin_hood/README.md and M6 allow this,
 * since every store is one compare-and-swap of a whole slot (robin_hood.inl, insert_absent_before).
 * Returns false if *carried, an entry that the thread still carries, goes beyond `buckets` buckets.
 * Its key is absent, like the key before. */
template <int BITS>
static __device__ inline bool insert_short(const struct sw_cuda_device<BITS> &device,
                                           typename sw_width<BITS>::slot *carried, uint32_t buckets,
                                           uint64_t *probes)
{
    typedef sw_width<BITS> W;
    const typename W::view *view = &device.table.main;
    const uint64_t limit = W::hint_start(view, device.hints, carried->m) + buckets;
    return W::insert_before(view, device.hints, carried,
                            limit < view->buckets_total ? limit : view->buckets_total, probes);
}

/* Inserts the listed entries, each by one thread: by thread number `thread` of `threads`. Lists the
 * entries that go beyond `buckets` buckets. All threads of a warp must call it. */
template <int BITS>
static __device__ inline void insert_listed_short(const struct sw_cuda_device<BITS> &device,
                                                  uint64_t thread, uint64_t threads,
                                                  uint32_t buckets, uint64_t *probes)
{
    struct sw_cuda_control *control = device.control;
    const uint32_t count = sw_is_admitted(control) ? control->inserts : 0;
    const uint64_t rounds = (count + threads - 1) / threads;
    uint64_t i = thread;
    for (uint64_t r = 0; r < rounds; r++, i += threads) {
        typename sw_width<BITS>::slot carried;
        bool rests = false;
        if (i < count) {
            carried = *sw_listed_insert<BITS>(device.scratch, (uint32_t)i);
            rests = !insert_short<BITS>(device, &carried, buckets, probes);
        }
        const uint32_t at = sw_list_append(&control->long_inserts, rests);
        if (rests) {
            device.scratch.long_inserts[at] = carried;
        }
    }
}

/* --- by chains -------------------------------------------------------------------------------- */

template <int BITS>
static __device__ inline void begin_insert(const struct sw_cuda_device<BITS> &device,
                                           struct chain<BITS> *chain,
                                           typename sw_width<BITS>::slot carried, bool in_stash)
{
    typedef sw_width<BITS> W;
    const typename W::view *view = in_stash ? &device.table.stash : &device.table.main;
    chain->carried = carried;
    chain->in_stash = in_stash;
    chain->home =
        in_stash ? W::home(view, carried.m) : W::hint_start(view, device.hints, carried.m);
    chain->lock_range = chain->home / LANES;
    chain->active = true;
    chain->holds = false;
}

/* Takes an entry that met the probe cap out of its array. The entry goes to the stash, or to the
 * leftovers if there is no stash. The counts are words (M6); later kernels read them. */
template <int BITS>
static __device__ inline void meet_cap(const struct sw_cuda_device<BITS> &device,
                                       struct chain<BITS> *chain)
{
    const bool first = threadIdx.x % LANES == 0;
    struct sw_state *state = device.table.state;
    if (chain->in_stash) {
        chain->active = false;
        if (first) {
            atomicAdd(&device.control->lost, 1U);
        }
    } else if (device.table.stash.slots == NULL) {
        chain->active = false;
        if (first) {
            device.scratch.leftovers[atomicAdd(&device.control->leftovers, 1U)] = chain->carried;
            atomicAdd((unsigned long long *)&state->occupied, ~0ULL);
        }
    } else {
        if (first) {
            atomicAdd((unsigned long long *)&state->stash_occupied, 1ULL);
        }
        begin_insert<BITS>(device, chain, chain->carried, true);
    }
}

/* Tries one step of an insert. Returns whether an entry met the cap. Adds the buckets that this
 * lane read to *probes. */
template <int BITS>
static __device__ inline bool insert_step(const struct sw_cuda_device<BITS> &device,
                                          struct chain<BITS> *chain, uint64_t *probes)
{
    typedef sw_width<BITS> W;
    const int lane = (int)(threadIdx.x % LANES);
    const typename W::view *view = chain->in_stash ? &device.table.stash : &device.table.main;
    const struct step<BITS> step = step_into<BITS>(device, *chain);
    typename W::slot top;
    typename W::slot in;
    const int max = W::bucket_max(step.held, &top);
    /* the carried entry enters the first bucket that has room or a larger entry; an entry from the
     * range before is smaller than all entries of this one */
    const bool takes =
        step.inside && (chain->holds || (step.number >= chain->home && top.m > chain->carried.m));
    const int begin = first_lane(takes);
    in.m = __shfl_up_sync(SW_WARP_ALL, top.m, 1, LANES);
    if constexpr (!W::is_set) {
        in.value = __shfl_up_sync(SW_WARP_ALL, top.value, 1, LANES);
    }
    if (lane == begin) {
        in = chain->carried;
    }
    /* a bucket with room passes no entry on, and an entry does not enter a bucket past its cap */
    const bool fits = step.inside && step.number - W::home(view, in.m) <= view->max_probe;
    const int end = first_lane(step.stepped && lane >= begin && (!fits || top.m == W::empty));
    const bool placed = __shfl_sync(SW_WARP_ALL, fits, end < LANES ? end : 0, LANES);
    if (lane >= begin && (lane < end || (lane == end && fits))) {
        step.bucket[max] = in;
    }
    *probes += step.inside && step.number >= chain->home && lane <= end;
    const typename W::slot out =
        slot_of_lane<BITS>(end < LANES ? in : top, end < LANES ? end : LANES - 1);
    const bool goes_on = end == LANES && (chain->lock_range + 1) * LANES < view->buckets_total;
    step_out<BITS>(device, chain, step, begin < LANES && goes_on);
    if (!step.stepped) {
        return false;
    }
    if (begin < LANES) { /* otherwise the chain has not reached the carried entry's bucket yet */
        chain->carried = out;
    }
    if (goes_on) {
        chain->lock_range++;
        return false;
    }
    chain->active = false;
    if (end < LANES && placed) {
        return false;
    }
    meet_cap<BITS>(device, chain);
    return true;
}

/* Inserts the entries that insert_listed_short listed, each by LANES neighbouring threads. The
 * parameters are the same. Adds the entries that met the cap to *failures. */
template <int BITS>
static __device__ inline void insert_listed_long(const struct sw_cuda_device<BITS> &device,
                                                 uint64_t thread, uint64_t threads,
                                                 uint64_t *probes, uint64_t *failures)
{
    const struct sw_cuda_control *control = device.control;
    const uint32_t count = sw_is_admitted(control) ? control->long_inserts : 0;
    const uint64_t step = threads / LANES;
    uint64_t next = thread / LANES;
    struct chain<BITS> chain = {
    };
    for (;;) {
        if (!chain.active && next < count) {
            begin_insert<BITS>(device, &chain, device.scratch.long_inserts[next], false);
            next += step;
        }
        if (!__any_sync(SW_WARP_ALL, chain.active)) {
            break;
        }
        const bool failed = insert_step<BITS>(device, &chain, probes);
        *failures += failed && threadIdx.x % LANES == 0;
    }
}

#endif
