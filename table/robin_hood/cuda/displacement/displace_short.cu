/* SPDX-License-Identifier: MIT
 *
 * displace_short.cu - short displacements: inserts and removals that end within a few buckets, each
 * by one thread. The other operations are listed for displace.cu.
 *
 * Inserts need no locks. Removals move entries only if there are many. Then they use the locks of
 * displace.cu (M5): every access to a slot is under the lock of its range.
 */
#include "table/device/follow.cuh"
#include "table/robin_hood/cuda/displacement/insert.cuh"

/* Buckets that a short insert may visit, and entries that a short removal may move.
 *
 * %RANGE% SW_SHORT_BUCKETS sbk {2,4,8,16}
 * %RANGE% SW_SHORT_MOVES smv {4,8,14}
 */
#ifndef SW_SHORT_BUCKETS
#define SW_SHORT_BUCKETS 4
#endif
#ifndef SW_SHORT_MOVES
#define SW_SHORT_MOVES 8
#endif
/* Enough blocks to fill any GPU; they loop. */
#define BLOCKS_MAX 4096

/* Inserts the listed entries, each by one thread. Lists the entries that go further. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    short_insert_kernel(const __grid_constant__ struct sw_cuda_device<BITS> device)
{
    sw_cuda_follow();
    uint64_t probes = 0;
    insert_listed_short<BITS>(device, (uint64_t)blockIdx.x * SW_CUDA_BLOCK + threadIdx.x,
                              (uint64_t)gridDim.x * SW_CUDA_BLOCK, SW_SHORT_BUCKETS, &probes);
    sw_block_add(&device.control->counters.by_class[SW_CLASS_UPSERT].probes, probes);
}

/* Attempts to lock before a removal is listed. */
#define LOCK_ATTEMPTS 16
/* The list has at least LOCKED_MIN removals if they move entries in this kernel, and LOCKED_ALL_MIN
 * if it also has those that move none. A shorter list is faster without moves on an H200: a thread
 * reads one bucket after the other. */
#define LOCKED_MIN (1U << 16)
#define LOCKED_ALL_MIN (1U << 19)

enum removed { REMOVED, RESTS, LOCKED_OUT };

/* Finds the entry with the mixed key m. Other removals may have moved it to the left since it was
 * looked up in bucket *b. Returns the index of its slot in *b, or -1 if it left the lock range. */
template <int BITS>
static __device__ inline int find_moved(const typename sw_width<BITS>::view *view,
                                        typename sw_width<BITS>::word m, uint64_t *b)
{
    typedef sw_width<BITS> W;
    for (;;) {
        typename W::slot held[SW_BUCKET_SLOTS];
        typename W::word value;
        W::bucket_read(view, *b, held);
        const int at = W::probe(held, m, &value);
        if (at >= 0 || *b % LANES == 0) {
            return at >= 0 ? at : -1;
        }
        --*b;
    }
}

/* A removal: the slots that its entries leave. */
struct short_chain {
    uint64_t lock;    /* number of the first bucket's lock */
    uint64_t indexes; /* in the buckets after the first one, 4 bits each */
    uint32_t moves;   /* number of entries that move to the bucket before theirs */
    bool both;        /* the next range is locked as well */
};

/* Finds the entries that move if bucket b loses an entry. Locks the next range if one of their
 * buckets is there. */
template <int BITS>
static __device__ inline enum removed measure(const struct sw_cuda_device<BITS> &device, uint64_t b,
                                              struct short_chain *chain, uint64_t *probes)
{
    typedef sw_width<BITS> W;
    const typename W::view *view = &device.table.main;
    for (uint64_t next = b + 1; next < view->buckets_total; next++) {
        const uint64_t lock = next / LANES;
        if (lock > chain->lock + 1) {
            return RESTS;
        }
        if (lock > chain->lock && !chain->both) {
            chain->both = sw_try_lock_bit(device.locks, lock);
            if (!chain->both) {
                return LOCKED_OUT;
            }
        }
        typename W::slot held[SW_BUCKET_SLOTS];
        W::bucket_read(view, next, held);
        ++*probes;
        const int min = W::bucket_min(held);
        typename W::word low = 0;
        for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
            low = i == min ? held[i].m : low;
        }
        if (min < 0 || W::home(view, low) >= next) {
            break;
        }
        if (chain->moves == SW_SHORT_MOVES) {
            return RESTS;
        }
        chain->indexes |= (uint64_t)min << (4 * chain->moves);
        chain->moves++;
    }
    return REMOVED;
}

/* Removes an entry under the lock of its bucket's range, and of the next range if the chain ends
 * there. Changes nothing unless it returns REMOVED. No thread waits for a lock while it holds
 * one. */
template <int BITS>
static __device__ inline enum removed try_remove(const struct sw_cuda_device<BITS> &device,
                                                 const struct sw_cuda_removal<BITS> &removal,
                                                 uint64_t *probes)
{
    typedef sw_width<BITS> W;
    const typename W::view *view = &device.table.main;
    uint64_t b = removal.slot / SW_BUCKET_SLOTS;
    struct short_chain chain = {b / LANES, 0, 0, false};
    if (b >= view->buckets_total) {
        return RESTS; /* in the stash */
    }
    if (!sw_try_lock_bit(device.locks, chain.lock)) {
        return LOCKED_OUT;
    }
    const int at = find_moved<BITS>(view, removal.m, &b);
    const enum removed result = at >= 0 ? measure<BITS>(device, b, &chain, probes) : RESTS;
    if (result == REMOVED) {
        typename W::slot *hole = view->slots + b * SW_BUCKET_SLOTS + at;
        for (uint32_t i = 0; i < chain.moves; i++) {
            typename W::slot *from =
                view->slots + (b + 1 + i) * SW_BUCKET_SLOTS + (chain.indexes >> (4 * i) & 15);
            *hole = *from;
            hole = from;
        }
        hole->m = W::empty;
        W::put_value(hole, W::empty);
        W::hint_forget(view, device.hints, b, b + chain.moves + 1, 0, 1);
    }
    if (chain.both) {
        sw_unlock_bit(device.locks, chain.lock + 1);
    }
    sw_unlock_bit(device.locks, chain.lock);
    return result;
}

/* Removes one entry. Returns false if its chain is long, or if other threads hold the locks. */
template <int BITS>
static __device__ inline bool remove_short(const struct sw_cuda_device<BITS> &device,
                                           const struct sw_cuda_removal<BITS> &removal,
                                           uint64_t *probes)
{
    enum removed result = LOCKED_OUT;
    for (int i = 0; i < LOCK_ATTEMPTS && result == LOCKED_OUT; i++) {
        result = try_remove<BITS>(device, removal, probes);
    }
    return result == REMOVED;
}

/* Removes an entry without a lock, if the next bucket has no displaced entry. For a kernel that
 * moves no entry: that stays true while other entries are removed, and only this thread stores the
 * slot (M8). Another thread that loads the slot meanwhile sees the entry or EMPTY, and decides
 * correctly on either. */
template <int BITS>
static __device__ inline bool remove_in_place(const struct sw_cuda_device<BITS> &device,
                                              const struct sw_cuda_removal<BITS> &removal,
                                              uint64_t *probes)
{
    typedef sw_width<BITS> W;
    const uint64_t buckets = device.table.main.buckets_total;
    const uint64_t bucket = removal.slot / SW_BUCKET_SLOTS;
    const bool in_stash = bucket >= buckets;
    const typename W::view *view = in_stash ? &device.table.stash : &device.table.main;
    const uint64_t b = in_stash ? bucket - buckets : bucket;
    ++*probes;
    if (b + 1 < view->buckets_total && !W::is_boundary(view, b + 1)) {
        return false;
    }
    W::clear_slot(device.table.main.slots + removal.slot);
    if (!in_stash) {
        W::hint_forget(view, device.hints, b, b + 1, 0, 1);
    }
    return true;
}

/* Removes the listed entries, each by one thread. Lists the entries that remain. Either all threads
 * of the grid remove under locks, or none does. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    short_removal_kernel(const __grid_constant__ struct sw_cuda_device<BITS> device)
{
    sw_cuda_follow();
    struct sw_cuda_control *control = device.control;
    const uint32_t count = sw_is_admitted(control) ? control->deletes : 0;
    const bool locked = count >= (control->direct_removals != 0 ? LOCKED_MIN : LOCKED_ALL_MIN);
    const uint64_t step = (uint64_t)gridDim.x * SW_CUDA_BLOCK;
    const uint64_t rounds = (count + step - 1) / step;
    uint64_t i = (uint64_t)blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    uint64_t probes = 0;
    for (uint64_t r = 0; r < rounds; r++, i += step) {
        struct sw_cuda_removal<BITS> removal;
        bool rests = false;
        if (i < count) {
            removal = device.scratch.deletes[i];
            rests = locked ? !remove_short<BITS>(device, removal, &probes)
                           : !remove_in_place<BITS>(device, removal, &probes);
        }
        const uint32_t at = sw_list_append(&control->long_removals, rests);
        if (rests) {
            device.scratch.long_removals[at] = removal;
        }
    }
    sw_block_add(&control->counters.by_class[SW_CLASS_DELETE].probes, probes);
}

static uint32_t blocks_for(uint32_t count)
{
    uint32_t blocks = (count + SW_CUDA_BLOCK - 1) / SW_CUDA_BLOCK;
    return blocks < 1 ? 1 : blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX;
}

template <int BITS>
cudaError_t sw_cuda_launch_short_inserts(const struct sw_cuda_device<BITS> *device, uint32_t count,
                                         cudaStream_t stream)
{
    return sw_cuda_launch_following(true, short_insert_kernel<BITS>, blocks_for(count),
                                    SW_CUDA_BLOCK, stream, *device);
}

template <int BITS>
cudaError_t sw_cuda_launch_short_removals(const struct sw_cuda_device<BITS> *device, uint32_t count,
                                          cudaStream_t stream)
{
    return sw_cuda_launch_following(true, short_removal_kernel<BITS>, blocks_for(count),
                                    SW_CUDA_BLOCK, stream, *device);
}

#define INSTANTIATE(BITS, ...)                                                                    \
    template cudaError_t sw_cuda_launch_short_inserts<BITS>(const struct sw_cuda_device<BITS> *,  \
                                                            uint32_t, cudaStream_t);              \
    template cudaError_t sw_cuda_launch_short_removals<BITS>(const struct sw_cuda_device<BITS> *, \
                                                             uint32_t, cudaStream_t);
SW_FORMATS(INSTANTIATE)
