/* SPDX-License-Identifier: MIT
 *
 * direct_get.cu - the kernels of direct reads: look keys up in the server's table, with the
 * functions of the server's own kernels.
 *
 * An attempt is valid if each of its blocks loaded the same even epoch from the table's page before
 * its look-ups and after them, and the generation of the view. The server's epoch only grows, and
 * it is odd while a write may change the table. So no write was under way between the first look-up
 * and the last, and all answers are of one state of the table. This takes two orders:
 *
 *   before   The load of the epoch comes before all loads of the table: a fence follows it, then a
 *            barrier. Before the server stores an even epoch, it fences the stores of the write. So
 *            the look-ups see that write. The fence also drops what L1 holds of the table. A later
 *            attempt of the same block needs that: L1 has slots of the attempt before, and the
 *            table's loads are plain.
 *   after    All loads of the table come before the second load of the epoch: each loaded value has
 *            been compared or stored before the barrier, and a fence follows the barrier. The
 * server stores an odd epoch and fences it before it changes a slot. So a block that saw a slot of
 * a write also sees its odd epoch, or a later one.
 *
 * The look-ups of a torn table end, and stay within the arrays: the search shrinks its range with
 * each step, and clamps it (find_gap in robin_hood.inl).
 *
 * `started` of the state rises before the generation is loaded, with a fence between (the library
 * stores and loads them in the other order), and falls after the last access of the table and the
 * page. Rises and falls may overtake each other: the sum is not 0 while a block is active.
 */
#include "client/cuda/direct_call.h"
#include "table/device/direct.cuh"
#include "table/device/reduce.cuh"
#include "table/robin_hood/cuda/look_up/get.cuh"

static_assert(sizeof(struct sw_direct_state) == 64, "a line");

namespace
{

/* What the threads of a block share. */
struct block {
    uint64_t epoch;
    struct sw_direct_view view;
    uint32_t hits;
    bool is_skipped, is_bad;
};

__device__ inline uint64_t load_volatile(const uint64_t *word)
{
    return *(const volatile uint64_t *)word;
}

__device__ inline const struct sw_cuda_direct_page *page_of(const struct block &block)
{
    return (const struct sw_cuda_direct_page *)block.view.page;
}

__device__ inline bool has(const struct sw_direct_call &call, uint32_t flag)
{
    return (call.flags & flag) != 0;
}

/* --- one attempt of a block ------------------------------------------------------------------- */

/* One thread: loads the view and the epoch, and begins the count of hits. Returns the epoch of the
 * first block, plus 1; 0: this block is the first. Only end() needs it, so the look-ups hide the
 * latency of the exchange. */
__device__ inline unsigned long long begin(const struct sw_direct_call &call, struct block *block)
{
    const struct sw_direct_view *view = (const struct sw_direct_view *)call.view;
    struct sw_direct_state *state = (struct sw_direct_state *)call.state;
    block->hits = 0;
    block->view.generation = load_volatile(&view->generation);
    block->view.page = load_volatile(&view->page);
    block->view.slots = load_volatile(&view->slots);
    block->view.seed = load_volatile(&view->seed);
    block->view.buckets = load_volatile(&view->buckets);
    block->view.buckets_total = load_volatile(&view->buckets_total);
    block->view.max_probe = load_volatile(&view->max_probe);
    block->view.stash_buckets = load_volatile(&view->stash_buckets);
    block->view.stash_buckets_total = load_volatile(&view->stash_buckets_total);
    block->epoch = block->view.generation != 0 ? load_volatile(&page_of(*block)->epoch) : 1;
    __threadfence();
    if (has(call, SW_DIRECT_CLEAR) && has(call, SW_DIRECT_FIRST) && blockIdx.x == 0) {
        *(volatile uint32_t *)call.done = 0;
    }
    return gridDim.x > 1 ? atomicCAS((unsigned long long *)&state->epoch, 0ULL,
                                     (unsigned long long)block->epoch + 1)
                         : 0;
}

/* One thread, after a barrier that follows the look-ups: compares what it sees now with what it saw
 * before them. */
__device__ inline void end(struct block *block, unsigned long long first)
{
    bool is_bad = block->view.generation == 0 || block->epoch % 2 != 0;
    if (!is_bad) {
        __threadfence();
        is_bad = load_volatile(&page_of(*block)->generation) != block->view.generation ||
                 load_volatile(&page_of(*block)->epoch) != block->epoch;
    }
    block->is_bad = is_bad || (first != 0 && first != block->epoch + 1);
}

template <int BITS>
__device__ inline typename sw_width<BITS>::table table_of(const struct block &block)
{
    typename sw_width<BITS>::table table = {};
    struct sw_cuda_direct_page *page = (struct sw_cuda_direct_page *)block.view.page;
    table.main.slots = (typename sw_width<BITS>::slot *)block.view.slots;
    table.main.buckets = block.view.buckets;
    table.main.buckets_total = block.view.buckets_total;
    table.main.max_probe = block.view.max_probe;
    table.main.no_jumps = load_volatile(&page->no_jumps);
    table.stash.slots = table.main.slots + block.view.buckets_total * SW_BUCKET_SLOTS;
    table.stash.buckets = block.view.stash_buckets;
    table.stash.buckets_total = block.view.stash_buckets_total;
    table.stash.max_probe = block.view.stash_buckets_total;
    table.state = &page->state;
    table.seed = block.view.seed;
    return table;
}

/* Stores the found bits or bytes of a warp's 32 keys, which begin with key `first`, and the zeros
 * up to the end of the array. Returns the number of keys found. All lanes call it. */
__device__ inline uint32_t store_found(const struct sw_direct_call &call, uint64_t first,
                                       bool found)
{
    const uint32_t word = __ballot_sync(SW_WARP_ALL, found);
    const uint32_t lane = threadIdx.x % 32;
    if (call.found == 0) {
        return (uint32_t)__popc(word);
    }
    if (has(call, SW_DIRECT_BYTES)) {
        const uint64_t end = ((uint64_t)call.count + 7) / 8 * 8;
        if (first + lane < end) {
            ((uint8_t *)call.found)[first + lane] = found;
        }
    } else if (lane == 0 && first < ((uint64_t)call.count + 63) / 64 * 64) {
        ((uint32_t *)call.found)[first / 32] = word;
    }
    return (uint32_t)__popc(word);
}

/* Loads this thread's keys of the tiles at `tile`, tile + step, ... */
template <int BITS, int KEYS>
__device__ inline void load_keys(const struct sw_direct_call &call, uint64_t tile, uint64_t step,
                                 typename sw_width<BITS>::word keys[KEYS])
{
    typedef typename sw_width<BITS>::word word;
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        const uint64_t i = tile + k * step + threadIdx.x;
        keys[k] = i < call.count ? __ldcs((const word *)call.keys + i) : 0;
    }
}

/* Looks up the keys of the block's tiles; `keys` are those of the first ones. Returns the hits of
 * the warp. */
template <int BITS, int KEYS>
__device__ inline uint32_t look_up(const struct sw_direct_call &call, const struct block &block,
                                   typename sw_width<BITS>::word keys[KEYS])
{
    typedef sw_width<BITS> W;
    const typename W::table table = table_of<BITS>(block);
    typename W::word *previous = (typename W::word *)call.previous;
    const uint64_t end = ((uint64_t)call.count + 63) / 64 * 64; /* found bits are whole words */
    const uint64_t step = (uint64_t)gridDim.x * SW_DIRECT_BLOCK;
    uint32_t hits = 0;
    for (uint64_t tile = (uint64_t)blockIdx.x * SW_DIRECT_BLOCK; tile < end; tile += KEYS * step) {
        typename W::word m[KEYS];
        uint64_t bucket[KEYS];
        typename W::slot held[KEYS][SW_BUCKET_SLOTS];
#pragma unroll
        for (int k = 0; k < KEYS; k++) {
            m[k] = W::mix(&table, keys[k]);
            bucket[k] = W::home(&table.main, m[k]);
            /* also without a key: a condition would place `held` in local memory */
            read_bucket<BITS, 1, false>(&table.main, bucket[k], 0, held[k]);
        }
        load_keys<BITS, KEYS>(call, tile + KEYS * step, step, keys);
#pragma unroll
        for (int k = 0; k < KEYS; k++) {
            const uint64_t i = tile + k * step + threadIdx.x;
            bool found = false;
            if (tile + k * step >= end) {
                break;
            }
            if (i < call.count) {
                typename W::word value = 0;
                uint64_t probes = 0;
                const int at = W::probe(held[k], m[k], &value);
                found = get_one<BITS>(&table, at, bucket[k], m[k], &value, &probes);
                if (previous != NULL) {
                    __stcs(previous + i, found ? value : 0);
                }
            }
            hits += store_found(call, i - threadIdx.x % 32, found);
        }
    }
    return hits;
}

/* All threads: looks the block's keys up. Leaves in `block` the hits, and whether the attempt
 * failed. Begins and ends with a barrier. */
template <int BITS, int KEYS>
__device__ inline void attempt(const struct sw_direct_call &call, struct block *block)
{
    typename sw_width<BITS>::word keys[KEYS];
    unsigned long long first = 0;
    load_keys<BITS, KEYS>(call, (uint64_t)blockIdx.x * SW_DIRECT_BLOCK,
                          (uint64_t)gridDim.x * SW_DIRECT_BLOCK, keys);
    __syncthreads(); /* M2: all threads have read `block` of the attempt before */
    if (threadIdx.x == 0) {
        first = begin(call, block);
    }
    __syncthreads(); /* M2: `block`. No load of the table comes before */
    if (block->view.generation != 0) {
        const uint32_t hits = look_up<BITS, KEYS>(call, *block, keys);
        if (threadIdx.x % 32 == 0 && hits != 0) {
            atomicAdd(&block->hits, hits);
        }
    }
    __syncthreads(); /* M2: all look-ups of the block come before the second load of the epoch */
    if (threadIdx.x == 0) {
        end(block, first);
    }
    __syncthreads(); /* M2: `is_bad` */
}

/* --- calls ------------------------------------------------------------------------------------ */

/* One thread: its block is active from now on. */
__device__ inline void activate(const struct sw_direct_call &call)
{
    atomicAdd(&((struct sw_direct_state *)call.state)->started, 1U);
    __threadfence();
}

/* One thread of a valid attempt: adds the call to the counters of the page. */
__device__ inline void count(const struct sw_direct_call &call, const struct block &block,
                             uint32_t hits)
{
    struct sw_cuda_direct_page *page = (struct sw_cuda_direct_page *)block.view.page;
    atomicAdd((unsigned long long *)&page->hits, (unsigned long long)hits);
    atomicAdd((unsigned long long *)&page->misses, (unsigned long long)(call.count - hits));
}

/* One thread, after all accesses of the launch: `active` blocks end. Unless it is NULL, `word` gets
 * the ticket. The fence orders the answers and the state before the word (M7), and the counts
 * before the fall of `started`. */
__device__ inline void finish(const struct sw_direct_call &call, uint32_t active,
                              volatile uint32_t *word)
{
    __threadfence_system();
    atomicSub(&((struct sw_direct_state *)call.state)->started, active);
    if (word != NULL) {
        *word = call.ticket;
    }
}

/* A small call: this block is the only one. */
template <int BITS> __device__ inline void get_small(const struct sw_direct_call &call)
{
    __shared__ struct block block;
    if (threadIdx.x == 0) {
        activate(call);
    }
    for (int i = 0; i < SW_DIRECT_ATTEMPTS; i++) {
        attempt<BITS, SW_DIRECT_SMALL_KEYS>(call, &block);
        if (!block.is_bad || block.view.generation == 0) {
            break;
        }
    }
    if (threadIdx.x == 0) { /* M2: the attempt's last barrier comes after all stores of answers */
        if (!block.is_bad) {
            count(call, block, block.hits);
        }
        finish(call, 1, (volatile uint32_t *)(block.is_bad ? call.ready : call.done));
    }
}

/* One thread of the last block of a launch. */
__device__ inline void settle(const struct sw_direct_call &call, const struct block &block,
                              uint64_t ended)
{
    struct sw_direct_state *state = (struct sw_direct_state *)call.state;
    const bool is_last = has(call, SW_DIRECT_LAST);
    const bool is_settled = block.is_skipped || ended < SW_DIRECT_FAILED;
    if (is_settled && !block.is_skipped) {
        count(call, block, (uint32_t)ended);
    }
    state->epoch = 0;
    state->ended = 0;
    state->is_settled = is_settled && !is_last;
    finish(call, block.is_skipped ? 0 : gridDim.x,
           is_last ? (volatile uint32_t *)(is_settled ? call.done : call.ready) : NULL);
}

/* One thread: adds its block to those that have ended. The last one settles the attempt, and the
 * call if it was the last attempt. The fences as in sw_last_block. */
__device__ inline void leave(const struct sw_direct_call &call, const struct block &block)
{
    struct sw_direct_state *state = (struct sw_direct_state *)call.state;
    const uint64_t mine = block.is_skipped
                              ? SW_DIRECT_ENDED
                              : SW_DIRECT_ENDED + (block.is_bad ? SW_DIRECT_FAILED : block.hits);
    __threadfence_system();
    const uint64_t ended =
        mine + atomicAdd((unsigned long long *)&state->ended, (unsigned long long)mine);
    if ((ended / SW_DIRECT_ENDED & SW_DIRECT_BLOCKS_MAX) == gridDim.x) {
        __threadfence_system();
        settle(call, block, ended);
    }
}

/* One attempt of a large call. */
template <int BITS> __device__ inline void get_large(const struct sw_direct_call &call)
{
    __shared__ struct block block;
    if (threadIdx.x == 0) {
        const struct sw_direct_state *state = (const struct sw_direct_state *)call.state;
        block.is_skipped =
            !has(call, SW_DIRECT_FIRST) && *(const volatile uint32_t *)&state->is_settled != 0;
        if (!block.is_skipped) {
            activate(call);
        }
    }
    __syncthreads(); /* M2: `is_skipped` */
    if (block.is_skipped && !has(call, SW_DIRECT_LAST)) {
        return;
    }
    if (!block.is_skipped) {
        attempt<BITS, SW_DIRECT_LARGE_KEYS>(call, &block);
    }
    if (threadIdx.x == 0) {
        leave(call, block);
    }
}

} // namespace

#define KERNEL(name, function, bits)                              \
    extern "C" __global__ void __launch_bounds__(SW_DIRECT_BLOCK) \
        name(const __grid_constant__ struct sw_direct_call call)  \
    {                                                             \
        function<bits>(call);                                     \
    }
KERNEL(sw_direct_small_64, get_small, 64)
KERNEL(sw_direct_small_128, get_small, 128)
KERNEL(sw_direct_large_64, get_large, 64)
KERNEL(sw_direct_large_128, get_large, 128)
