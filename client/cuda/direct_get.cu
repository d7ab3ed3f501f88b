/* SPDX-License-Identifier: MIT
 *
 * direct_get.cu - the kernel of direct reads: looks keys up in the server's table, with the
 * functions of the server's own kernels.
 *
 * Every block loads the epoch of the table's page before its look-ups and after them. An attempt
 * has succeeded if all blocks saw the same even epoch, and the generation of the view. Then no
 * write was under way between the first look-up and the last, so all answers are of one state of
 * the table. The look-ups of a torn table end, and stay within the arrays: the search shrinks its
 * range with each step, and clamps it (find_gap in robin_hood.inl).
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
    uint64_t epoch, no_jumps;
    struct sw_direct_view view;
    bool is_skipped;
};

__device__ inline uint64_t load_volatile(const uint64_t *word)
{
    return *(const volatile uint64_t *)word;
}

/* One thread: counts the block as active, then reads what its look-ups need. The fence keeps the
 * count before the load of the generation (direct_call.h). */
__device__ inline void begin(const struct sw_direct_call &call, struct block *block)
{
    struct sw_direct_state *state = (struct sw_direct_state *)call.state;
    const struct sw_direct_view *view = (const struct sw_direct_view *)call.view;
    block->is_skipped = *(volatile uint32_t *)&state->is_settled != 0;
    if (block->is_skipped) {
        return;
    }
    atomicAdd(&state->started, 1U);
    __threadfence();
    block->view.generation = load_volatile(&view->generation);
    block->view.page = load_volatile(&view->page);
    block->view.slots = load_volatile(&view->slots);
    block->view.seed = load_volatile(&view->seed);
    block->view.buckets = load_volatile(&view->buckets);
    block->view.buckets_total = load_volatile(&view->buckets_total);
    block->view.max_probe = load_volatile(&view->max_probe);
    block->view.stash_buckets = load_volatile(&view->stash_buckets);
    block->view.stash_buckets_total = load_volatile(&view->stash_buckets_total);
    block->epoch = 1;
    if (block->view.generation != 0) {
        const struct sw_cuda_direct_page *page =
            (const struct sw_cuda_direct_page *)block->view.page;
        block->epoch = load_volatile(&page->epoch);
        __threadfence();
        block->no_jumps = load_volatile(&page->no_jumps);
    }
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
    table.main.no_jumps = block.no_jumps;
    table.stash.slots = table.main.slots + block.view.buckets_total * SW_BUCKET_SLOTS;
    table.stash.buckets = block.view.stash_buckets;
    table.stash.buckets_total = block.view.stash_buckets_total;
    table.stash.max_probe = block.view.stash_buckets_total;
    table.state = &page->state;
    table.seed = block.view.seed;
    return table;
}

/* Stores the found bits or bytes of a warp's 32 keys, which begin with key `first`, and the zeros
 * up to the end of the array. All lanes call it. */
__device__ inline void store_found(const struct sw_direct_call &call, uint32_t first, bool found)
{
    const uint32_t word = __ballot_sync(SW_WARP_ALL, found);
    const uint32_t lane = threadIdx.x % 32;
    if (call.found == 0) {
        return;
    }
    if (call.found_bytes != 0) {
        const uint64_t end = ((uint64_t)call.count + 7) / 8 * 8;
        if (first + lane < end) {
            ((uint8_t *)call.found)[first + lane] = found;
        }
    } else if (lane == 0 && first < ((uint64_t)call.count + 63) / 64 * 64) {
        ((uint32_t *)call.found)[first / 32] = word;
    }
}

/* Looks up the keys of the block's tiles. Returns the hits of the warp, in lane 0. */
template <int BITS>
__device__ inline uint32_t look_up(const struct sw_direct_call &call, const struct block &block)
{
    typedef sw_width<BITS> W;
    const typename W::table table = table_of<BITS>(block);
    const typename W::word *keys = (const typename W::word *)call.keys;
    typename W::word *previous = (typename W::word *)call.previous;
    const uint64_t end = ((uint64_t)call.count + 63) / 64 * 64; /* found bits are whole words */
    uint32_t hits = 0;
    for (uint64_t tile = (uint64_t)blockIdx.x * SW_DIRECT_BLOCK; tile < end;
         tile += (uint64_t)gridDim.x * SW_DIRECT_BLOCK) {
        const uint64_t i = tile + threadIdx.x;
        const bool mine = i < call.count;
        bool found = false;
        typename W::word value = 0;
        if (mine) {
            const typename W::word m = W::mix(&table, keys[i]);
            const uint64_t bucket = W::home(&table.main, m);
            typename W::slot held[SW_BUCKET_SLOTS];
            uint64_t probes = 0;
            read_bucket<BITS, 1, false>(&table.main, bucket, 0, held);
            const int at = W::probe(held, m, &value);
            found = get_one<BITS>(&table, at, bucket, m, &value, &probes);
            if (previous != NULL) {
                previous[i] = found ? value : 0;
            }
        }
        hits += (uint32_t)__popc(__ballot_sync(SW_WARP_ALL, found));
        store_found(call, (uint32_t)(i - threadIdx.x % 32), found);
    }
    return hits;
}

/* One thread: compares what the block sees now with what it saw before its look-ups. */
__device__ inline void end(struct sw_direct_state *state, const struct block &block)
{
    bool is_bad = block.view.generation == 0 || block.epoch % 2 != 0;
    if (!is_bad) {
        const struct sw_cuda_direct_page *page =
            (const struct sw_cuda_direct_page *)block.view.page;
        __threadfence();
        is_bad = load_volatile(&page->generation) != block.view.generation ||
                 load_volatile(&page->epoch) != block.epoch;
    }
    const unsigned long long mine = block.epoch + 1;
    const unsigned long long first = atomicCAS((unsigned long long *)&state->epoch, 0ULL, mine);
    if (is_bad || (first != 0 && first != mine)) {
        atomicExch(&state->is_bad, 1U);
    }
}

/* One thread of the last block: settles the attempt, and the call if it was the last one. */
__device__ inline void settle(const struct sw_direct_call &call, const struct block &block)
{
    struct sw_direct_state *state = (struct sw_direct_state *)call.state;
    const bool was_settled = block.is_skipped;
    const bool is_settled = was_settled || *(volatile uint32_t *)&state->is_bad == 0;
    if (is_settled && !was_settled) {
        struct sw_cuda_direct_page *page = (struct sw_cuda_direct_page *)block.view.page;
        const uint64_t hits = *(volatile uint32_t *)&state->hits;
        atomicAdd((unsigned long long *)&page->hits, (unsigned long long)hits);
        atomicAdd((unsigned long long *)&page->misses, (unsigned long long)(call.count - hits));
    }
    state->epoch = 0;
    state->hits = 0;
    state->is_bad = 0;
    state->finished = 0;
    state->is_settled = is_settled && call.is_last == 0;
    __threadfence_system();
    *(volatile uint32_t *)&state->started = 0;
    if (call.is_last != 0) {
        __threadfence_system(); /* M7: the answers, before the host sees the word */
        *(volatile uint32_t *)(is_settled ? call.done : call.ready) = call.ticket;
    }
}

template <int BITS> __device__ inline void get(const struct sw_direct_call &call)
{
    __shared__ struct block block;
    struct sw_direct_state *state = (struct sw_direct_state *)call.state;
    if (threadIdx.x == 0) {
        begin(call, &block);
    }
    __syncthreads(); /* M2: `block` */
    if (block.is_skipped && call.is_last == 0) {
        return;
    }
    if (!block.is_skipped) {
        const uint32_t hits = block.view.generation != 0 ? look_up<BITS>(call, block) : 0;
        if (threadIdx.x % 32 == 0 && hits != 0) {
            atomicAdd(&state->hits, hits);
        }
        __syncthreads(); /* M2: all look-ups of the block come before the second load */
        if (threadIdx.x == 0) {
            end(state, block);
        }
    }
    if (sw_last_block(&state->finished, gridDim.x) && threadIdx.x == 0) {
        settle(call, block);
    }
}

} // namespace

extern "C" __global__ void __launch_bounds__(SW_DIRECT_BLOCK)
    sw_direct_get_64(const __grid_constant__ struct sw_direct_call call)
{
    get<64>(call);
}

extern "C" __global__ void __launch_bounds__(SW_DIRECT_BLOCK)
    sw_direct_get_128(const __grid_constant__ struct sw_direct_call call)
{
    get<128>(call);
}
