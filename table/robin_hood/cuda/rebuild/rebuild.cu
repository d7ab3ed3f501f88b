/* SPDX-License-Identifier: MIT
 *
 * rebuild.cu - writes a whole table from an older table, a sorted batch, or both.
 *
 * There are no atomics on slots: the slot of an entry follows from the entries before it. Each
 * block sorts one segment, a range of m (segment.cuh). Then it computes where the segments before
 * it end (look_back.cuh), and writes the segment's slots.
 *
 * In place, a block overwrites entries of its neighbours. Earlier kernels sort the buckets that
 * hold entries of several segments, so that each segment's entries are contiguous. Without a batch
 * entries only move to the left, over entries of earlier segments. A block that knows where those
 * segments end also knows that they have been read. With a batch entries only move to the right.
 * Then a first pass only computes where every segment ends and whether the merge can succeed. The
 * second pass goes from right to left. A block waits until the segments that it overwrites have
 * been read; their blocks started before it.
 */
#include "table/device/occupancy.cuh"
#include "table/robin_hood/cuda/rebuild/merge.cuh"
#include "table/robin_hood/cuda/rebuild/segment_borders.cuh"
#include "table/robin_hood/cuda/rebuild/segment_ends.cuh"

enum sw_rebuild_role {
    REBUILD_WRITE,   /* single pass, from left to right */
    REBUILD_MEASURE, /* first of two passes: measures all segments */
    REBUILD_PLACE    /* second pass, from right to left */
};

enum sw_rebuild_batch { REBUILD_ALONE, REBUILD_SET, REBUILD_COMBINE };

/* Returns the largest value of the warps before this one; *all is the largest of all warps. Each
 * warp's value is the `own` of its last lane. Every thread must call it. A barrier must come before
 * the next use of the same `warps`. */
static __device__ inline int32_t max_of_warps(int32_t warps[SW_SEGMENT_WARPS], int32_t own,
                                              int32_t *all)
{
    uint32_t lane = threadIdx.x % 32;
    if (lane == 31) {
        warps[threadIdx.x / 32] = own;
    }
    __syncthreads(); /* M2: all warps have written */
    int32_t other = lane < SW_SEGMENT_WARPS ? warps[lane] : SW_NOWHERE;
    *all = sw_reduce_max(other);
    return sw_reduce_max(lane < threadIdx.x / 32 ? other : SW_NOWHERE);
}

/* Returns the largest `most` of the threads before this one; *all is the largest of all threads.
 * Entry i of a segment whose entries begin at slot x gets slot max(x, largest `most` up to its own)
 * + i. */
static __device__ inline int32_t max_before(int32_t warps[SW_SEGMENT_WARPS], int32_t most,
                                            int32_t *all)
{
    int32_t to_here = most;
#pragma unroll
    for (uint32_t distance = 1; distance < 32; distance *= 2) {
        int32_t before = __shfl_up_sync(SW_WARP_ALL, to_here, distance);
        to_here = threadIdx.x % 32 >= distance ? max(to_here, before) : to_here;
    }
    int32_t lanes = __shfl_up_sync(SW_WARP_ALL, to_here, 1);
    int32_t before = max_of_warps(warps, to_here, all);
    return threadIdx.x % 32 > 0 ? max(before, lanes) : before;
}

/* Computes the slots of the thread's entries. Entry i gets slot `base` + i, or the first slot of
 * its home if that is larger. The entries before the thread's determine `base`. Returns the largest
 * distance from home, in slots. */
template <int BITS, bool HINTS, bool FULL, int RUN>
static __device__ inline int32_t place_run(sw_segment_memory<BITS> *memory, int32_t base,
                                           sw_taken<BITS, RUN> *taken)
{
    int32_t farthest = 0;
    int32_t last = -1;
#pragma unroll
    for (int k = 0; k < RUN; k++) {
        if (FULL || k < taken->count) {
            const int32_t i = taken->first + k;
            const int32_t home = taken->at[k];
            if (HINTS && home != last) { /* the first entry of a home has the lowest slot (M6) */
                atomicMin(&memory->starts[(uint32_t)home / SW_BUCKET_SLOTS], base + i);
            }
            last = home;
            base = max(base, home - i);
            taken->at[k] = base + i;
            farthest = max(farthest, base + i - home);
        }
    }
    return farthest;
}

/* The same, but returns false if an entry meets the probe cap. */
template <int BITS, bool HINTS, int RUN>
static __device__ inline bool place(const typename sw_width<BITS>::view *view,
                                    sw_segment_memory<BITS> *memory, int32_t base,
                                    sw_taken<BITS, RUN> *taken)
{
    const uint64_t probe_max = min(view->max_probe, (uint64_t)1 << 24);
    int32_t farthest = taken->count == RUN
                           ? place_run<BITS, HINTS, true, RUN>(memory, base, taken)
                           : place_run<BITS, HINTS, false, RUN>(memory, base, taken);
    return farthest < ((int32_t)probe_max + 1) * SW_BUCKET_SLOTS;
}

/* Returns how many buckets from home h on are full of entries of earlier homes. h counts from the
 * segment's first home. The segment's entries end at `end`. */
template <int BITS>
static __device__ inline uint32_t
lead(const sw_segment<BITS> &own, const sw_segment_memory<BITS> *memory, uint32_t h, int32_t end)
{
    uint32_t next = h; /* first home from h on that has entries: the entries of earlier homes end
                          where it starts */
    while (next < own.homes && memory->starts[next] == INT32_MAX) {
        next++;
    }
    int32_t before = next < own.homes ? memory->starts[next] : end;
    int32_t buckets = max(before, 0) / SW_BUCKET_SLOTS - (int32_t)h;
    return (uint32_t)min(max(buckets, 0), SW_HINT_LEAD_MAX + 3);
}

/* Writes the hints of the pairs whose even home belongs to this segment. If this segment shares its
 * first home with the segment before, that segment writes the hint of the shared home. */
template <int BITS>
static __device__ inline void write_hints(const struct sw_cuda_rebuild<BITS> &rebuild,
                                          const sw_segment<BITS> &own, uint32_t number, int32_t end,
                                          const sw_segment_memory<BITS> *memory)
{
    typedef sw_width<BITS> W;
    const uint64_t before = number > 0 ? W::home(&rebuild.table.main, own.low - 1) : own.home - 1;
    uint32_t first = before == own.home ? 1 : 0;
    first += (own.home + first) % 2;
    for (uint32_t h = first + 2 * threadIdx.x; h < own.homes; h += 2 * SW_SEGMENT_BLOCK) {
        rebuild.hints[(own.home + h) / 2] =
            sw_hint_encode(lead<BITS>(own, memory, h, end), lead<BITS>(own, memory, h + 1, end));
    }
}

/* Writes slots [from, to), counted from the segment's first. A barrier must come before it. Uses
 * plain stores, since one block writes each slot (M8). If two segments share a pack, each block
 * writes its slots of it. */
template <int BITS, int RUN>
static __device__ inline void write(typename sw_width<BITS>::slot *out, int32_t from, int32_t to,
                                    sw_segment_memory<BITS> *memory,
                                    const sw_taken<BITS, RUN> &taken)
{
    typedef sw_width<BITS> W;
    typedef typename sw_pack<BITS>::type pack_type;
    constexpr int32_t pack = sw_pack<BITS>::slots;
    constexpr int32_t count = SW_CUDA_REBUILD_ENTRIES / pack;
    constexpr int32_t rounds = (count + SW_SEGMENT_BLOCK - 1) / SW_SEGMENT_BLOCK;
    constexpr bool whole = count % SW_SEGMENT_BLOCK == 0; /* a pack for each thread in each round */
    pack_type *packs = (pack_type *)memory->slots;
    for (int32_t at = from & -pack; at < to; at += SW_CUDA_REBUILD_ENTRIES) {
#pragma unroll
        for (int r = 0; r < rounds; r++) {
            if (whole || r * SW_SEGMENT_BLOCK + (int32_t)threadIdx.x < count) {
                packs[r * SW_SEGMENT_BLOCK + threadIdx.x] = sw_pack<BITS>::empty();
            }
        }
        __syncthreads(); /* M2: EMPTY before entries */
#pragma unroll
        for (int k = 0; k < RUN; k++) {
            uint32_t i = (uint32_t)(taken.at[k] - at);
            if (k < taken.count && i < SW_CUDA_REBUILD_ENTRIES) {
                memory->slots[i] = taken.slots[k];
            }
        }
        __syncthreads(); /* M2: entries before they are read */
#pragma unroll
        for (int r = 0; r < rounds; r++) {
            int32_t i = r * SW_SEGMENT_BLOCK + (int32_t)threadIdx.x;
            int32_t slot = at + i * pack;
            if (!whole && i >= count) {
                break;
            } else if (slot >= from && slot + pack <= to) {
                ((pack_type *)(out + at))[i] = packs[i];
            } else if constexpr (pack <= 2) {
                if (max(slot, from) < to) { /* the other half belongs to another segment */
                    slot = max(slot, from);
                    out[slot] = memory->slots[slot - at];
                }
            } else {
                for (int32_t s = max(slot, from); s < min(slot + pack, to); s++) {
                    out[s] = memory->slots[s - at];
                }
            }
        }
        __syncthreads(); /* M2: all reads before the next round overwrites `slots` */
    }
}
static_assert(SW_CUDA_REBUILD_ENTRIES % (2 * SW_SEGMENT_BLOCK) == 0, "whole rounds of packs");

/* Waits until the later segments that may have entries before slot `end` of the table have been
 * read. Then this block may overwrite them (look_back.cuh, READ). */
template <int BITS>
static __device__ inline void wait_for_readers(const struct sw_cuda_rebuild<BITS> &rebuild,
                                               uint32_t number, uint64_t end)
{
    typedef sw_width<BITS> W;
    typedef typename W::word word;
    for (uint32_t t = number + 1 + threadIdx.x;
         t < rebuild.segments &&
         W::home(&rebuild.table.main, (word)t << rebuild.shift) * SW_BUCKET_SLOTS < end;
         t += SW_SEGMENT_BLOCK) {
        while (sw_status_load(rebuild.status + t) >> SW_STATUS_KIND != SW_STATUS_READ) {
        }
    }
    __syncthreads(); /* M2: all threads have seen READ; M6: the status is the whole message */
}

/* Sorts the segment's entries; sets *fresh to the number of new ones. Returns false, and treats the
 * segment as empty, if it has too many. */
template <int BITS, enum sw_rebuild_role ROLE, enum sw_rebuild_batch BATCH, int ITEMS>
static __device__ inline bool sort_segment(const struct sw_cuda_rebuild<BITS> &rebuild,
                                           uint32_t number, sw_segment_work<BITS, ITEMS> *memory,
                                           sw_segment<BITS> *own, uint32_t *fresh)
{
    const bool has_batch = BATCH != REBUILD_ALONE;
    const bool combines = BATCH == REBUILD_COMBINE;
    sw_item<BITS> items[ITEMS];
    *own = sw_segment_open<BITS, has_batch>(rebuild, number, memory);
    if (rebuild.hints != NULL && ROLE != REBUILD_MEASURE) {
        for (uint32_t h = threadIdx.x; h < SW_CUDA_SEGMENT_BUCKETS + 2; h += SW_SEGMENT_BLOCK) {
            memory->starts[h] = INT32_MAX;
        }
    }
    if (rebuild.old.slots != NULL) {
        sw_segment_gather<BITS, has_batch>(rebuild, memory, own, &items[0]);
    } else {
        __syncthreads(); /* M2: `starts`, and the stores of sw_segment_open */
        if (has_batch) {
            sw_segment_load_item<BITS>(rebuild, *own, 0, &items[0]);
        }
    }
    if (ROLE == REBUILD_PLACE && threadIdx.x == 0) {
        sw_status_store(rebuild.status + number,
                        sw_status_load(rebuild.status + number) | SW_STATUS_READ << SW_STATUS_KIND);
    }
    *fresh = 0;
    bool fits = own->old_count <= SW_CUDA_REBUILD_ENTRIES && own->count <= memory->room &&
                own->old_count + own->count <= SW_CUDA_REBUILD_ENTRIES;
    if (fits && has_batch && own->count > 0) {
        bool has_side = sw_segment_load<BITS>(rebuild, *own, memory, items);
        /* M2: the vote of all threads. M8: only thread 0 writes the side cell */
        if (ROLE != REBUILD_MEASURE && __syncthreads_or(has_side) && threadIdx.x == 0) {
            sw_segment_fold_side<BITS>(rebuild, own->first, own->count);
        }
        fits = sw_segment_sum_bins<BITS>(*own, memory);
        if (fits) {
            const bool answers = ROLE != REBUILD_MEASURE && rebuild.found != NULL;
            uint32_t ordered =
                sw_segment_order<BITS, combines>(rebuild, *own, memory, items, answers);
            *fresh = sw_segment_match<BITS, combines>(rebuild, *own, memory, ordered, answers);
        }
    }
    own->old_count = fits ? own->old_count : 0;
    return fits;
}

/* Publishes the measure of the segment for the kernels that join segments. `before` is the maximum
 * over the entries before this thread's, `most` the maximum over all. */
template <int BITS, int RUN>
static __device__ inline void publish_measure(const struct sw_cuda_rebuild<BITS> &rebuild,
                                              uint32_t number, sw_segment_memory<BITS> *memory,
                                              int32_t before, int32_t most, uint32_t count,
                                              const sw_taken<BITS, RUN> &taken)
{
    int32_t all = 0;
    int32_t far = SW_NOWHERE;
    int32_t ahead = SW_NOWHERE;
#pragma unroll
    for (int k = 0; k < RUN; k++) {
        if (k < taken.count) {
            int32_t from = taken.at[k] - taken.first - k;
            before = max(before, from);
            far = max(far, before - from);
            ahead = max(ahead, -from);
        }
    }
    max_of_warps(memory->warps[0], sw_reduce_max(ahead), &ahead);
    max_of_warps(memory->warps[1], sw_reduce_max(far), &all);
    if (threadIdx.x == 0) {
        rebuild.status[number] = sw_measured_pack(count, most + (int32_t)count, ahead, all);
    }
}

/* Computes the slots of the segment's entries, and writes them unless this is the measuring pass. A
 * thread has at most RUN entries. */
template <int BITS, enum sw_rebuild_role ROLE, enum sw_rebuild_batch BATCH, int RUN, int ITEMS>
static __device__ inline void finish(const struct sw_cuda_rebuild<BITS> &rebuild, uint32_t number,
                                     sw_segment_work<BITS, ITEMS> *memory,
                                     const sw_segment<BITS> &own, uint32_t fresh, bool fits)
{
    typedef sw_width<BITS> W;
    const typename W::view *view = &rebuild.table.main;
    sw_taken<BITS, RUN> taken;
    int32_t most = 0;
    sw_segment_take<BITS, BATCH != REBUILD_ALONE, RUN>(rebuild, own, fresh, memory, &taken);
    const int32_t before = max_before(memory->warps[1], taken.most, &most);
    const int64_t origin = (int64_t)(own.home * SW_BUCKET_SLOTS);
    const int32_t count = (int32_t)(own.old_count + fresh);
    if (ROLE == REBUILD_MEASURE) {
        publish_measure<BITS, RUN>(rebuild, number, memory, before, most, (uint32_t)count, taken);
        if (!fits && threadIdx.x == 0) {
            rebuild.control->rebuild_failed = 1;
        }
        return;
    }
    const sw_run whole = {count, count > 0 ? most + count : SW_NOWHERE};
    const int32_t x = ROLE == REBUILD_PLACE
                          ? sw_look_back_known(rebuild.status, number, origin)
                          : sw_look_back_chain(rebuild.status, number, origin, whole);
    const int32_t end = max(x + whole.n, whole.e);
    fits &= rebuild.hints != NULL ? place<BITS, true, RUN>(view, memory, max(x, before), &taken)
                                  : place<BITS, false, RUN>(view, memory, max(x, before), &taken);
    fits &= origin + end <= (int64_t)(view->buckets_total * SW_BUCKET_SLOTS);
    fits = __syncthreads_and(fits); /* M2: `starts` and `fits` of all threads */
    if (!fits) {
        if (threadIdx.x == 0) {
            rebuild.control->rebuild_failed = 1;
        }
        return;
    }
    if (rebuild.hints != NULL) {
        write_hints<BITS>(rebuild, own, number, end, memory);
    }
    if (threadIdx.x == 0 && fresh > 0) {
        atomicAdd((unsigned long long *)&rebuild.control->counters.inserted,
                  (unsigned long long)fresh);
    }
    const bool is_last = number + 1 == rebuild.segments;
    uint64_t next = is_last ? view->buckets : W::home(view, (typename W::word)(own.high + 1));
    if (is_last && rebuild.old.slots == view->slots) {
        next = view->buckets_total; /* the old entries there may have moved away */
    }
    const int32_t to = max(end, (int32_t)(next * SW_BUCKET_SLOTS - origin));
    if (ROLE == REBUILD_PLACE) {
        wait_for_readers<BITS>(rebuild, number, (uint64_t)(origin + to));
    }
    write<BITS, RUN>(view->slots + origin, max(x, 0), to, memory, taken);
}

/* Blocks that a multiprocessor should hold at once, with slots of 64 and of 128 bits.
 *
 * %RANGE% SW_REBUILD_BLOCKS bpm {3,4,5,6}
 * %RANGE% SW_REBUILD_WIDE_BLOCKS wbm {1,2,3}
 */
#ifndef SW_REBUILD_BLOCKS
#define SW_REBUILD_BLOCKS 5
#endif
#ifndef SW_REBUILD_WIDE_BLOCKS
#define SW_REBUILD_WIDE_BLOCKS 2
#endif

static constexpr int blocks_for(int bits, enum sw_rebuild_role role)
{
    return bits == 128               ? SW_REBUILD_WIDE_BLOCKS
           : role == REBUILD_MEASURE ? SW_REBUILD_BLOCKS + 1
                                     : SW_REBUILD_BLOCKS;
}

template <int BITS, enum sw_rebuild_role ROLE, enum sw_rebuild_batch BATCH, int ITEMS>
static __global__ void __launch_bounds__(SW_SEGMENT_BLOCK,
                                         SW_CUDA_RESIDENT_BLOCKS(SW_SEGMENT_BLOCK,
                                                                 blocks_for(BITS, ROLE)))
    rebuild_kernel(const __grid_constant__ struct sw_cuda_rebuild<BITS> rebuild)
{
    extern __shared__ __align__(16) unsigned char shared[];
    sw_segment_work<BITS, ITEMS> *memory = (sw_segment_work<BITS, ITEMS> *)shared;
    /* blocks start in the order of their numbers, so a block waits only for blocks that have
     * started */
    const uint32_t number = ROLE == REBUILD_PLACE ? rebuild.segments - 1 - blockIdx.x : blockIdx.x;
    sw_segment<BITS> own;
    uint32_t fresh = 0;
    if (rebuild.control->rebuild_off != 0 ||
        (ROLE == REBUILD_PLACE && rebuild.control->rebuild_failed != 0)) {
        return;
    }
    const bool fits = sort_segment<BITS, ROLE, BATCH>(rebuild, number, memory, &own, &fresh);
    const uint32_t count = own.old_count + fresh;
    if (count <= 5 * SW_SEGMENT_BLOCK) {
        finish<BITS, ROLE, BATCH, 5>(rebuild, number, memory, own, fresh, fits);
    } else if (count <= 7 * SW_SEGMENT_BLOCK) {
        finish<BITS, ROLE, BATCH, 7>(rebuild, number, memory, own, fresh, fits);
    } else if (count <= 9 * SW_SEGMENT_BLOCK) {
        finish<BITS, ROLE, BATCH, 9>(rebuild, number, memory, own, fresh, fits);
    } else {
        finish<BITS, ROLE, BATCH, 11>(rebuild, number, memory, own, fresh, fits);
    }
}
static_assert(SW_CUDA_REBUILD_ENTRIES <= 11 * SW_SEGMENT_BLOCK, "room for all");

#define OFFSETS_PER_THREAD 4

/* Sets offsets[s] to the first entry of segment s or of a later segment. m is sorted by segment. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    offsets_kernel(const typename sw_width<BITS>::word *m, uint32_t count, uint32_t shift,
                   uint32_t segments, uint32_t *offsets)
{
    uint64_t start = (uint64_t)blockIdx.x * SW_CUDA_BLOCK * OFFSETS_PER_THREAD + threadIdx.x;
    int64_t own[OFFSETS_PER_THREAD];
    int64_t before[OFFSETS_PER_THREAD];
#pragma unroll
    for (int k = 0; k < OFFSETS_PER_THREAD; k++) {
        uint64_t i = start + k * SW_CUDA_BLOCK;
        own[k] = i < count ? (int64_t)(m[i] >> shift) : segments;
        before[k] = i > count ? segments : i > 0 ? (int64_t)(m[i - 1] >> shift) : -1;
    }
#pragma unroll
    for (int k = 0; k < OFFSETS_PER_THREAD; k++) {
        for (int64_t s = before[k] + 1; s <= own[k]; s++) {
            offsets[s] = (uint32_t)(start + k * SW_CUDA_BLOCK);
        }
    }
}

uint32_t sw_cuda_segment_bits(uint64_t buckets)
{
    uint32_t bits = 1;
    while (buckets >> bits > SW_CUDA_SEGMENT_BUCKETS) {
        bits++;
    }
    return bits;
}

bool sw_cuda_fits_in_place(uint64_t buckets, uint64_t max_probe)
{
    uint64_t homes = (buckets >> sw_cuda_segment_bits(buckets)) + 2;
    return (homes + max_probe) * SW_BUCKET_SLOTS <= SW_CUDA_REBUILD_ENTRIES;
}

template <int BITS, enum sw_rebuild_role ROLE, enum sw_rebuild_batch BATCH>
static cudaError_t launch(const struct sw_cuda_rebuild<BITS> *rebuild, cudaStream_t stream)
{
    size_t most = 0;
    typedef typename sw_width<BITS>::word word;
    constexpr int items = ROLE == REBUILD_WRITE ? SW_SEGMENT_BUILT : SW_SEGMENT_MERGED;
    typedef sw_segment_work<BITS, items> work;
    auto *kernel = rebuild_kernel<BITS, ROLE, BATCH, items>;
    const size_t bytes = BATCH == REBUILD_ALONE ? sizeof(sw_segment_memory<BITS>)
                         : BATCH == REBUILD_SET ? sizeof(work)
                                                : sizeof(work) + work::room * sizeof(word);
    cudaError_t error = sw_cuda_shared_most(&most);
    if (error == cudaSuccess && bytes > most) { /* 128-bit slots on compute capability 7.5 */
        return cudaMemsetAsync(&rebuild->control->rebuild_failed, 1, 1, stream);
    }
    if (error == cudaSuccess) {
        error =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    }
    if (error == cudaSuccess) {
        kernel<<<rebuild->segments, SW_SEGMENT_BLOCK, bytes, stream>>>(*rebuild);
        error = cudaGetLastError();
    }
    return error;
}

/* Launches a merge: in place in two passes, otherwise in one. */
template <int BITS, enum sw_rebuild_batch BATCH>
static cudaError_t launch_passes(const struct sw_cuda_rebuild<BITS> *rebuild, cudaStream_t stream)
{
    if (rebuild->old.slots != rebuild->table.main.slots) {
        return launch<BITS, REBUILD_WRITE, BATCH>(rebuild, stream);
    }
    cudaError_t error = launch<BITS, REBUILD_MEASURE, BATCH>(rebuild, stream);
    if (error == cudaSuccess) {
        error = sw_cuda_launch_ends<BITS>(rebuild, stream);
    }
    return error == cudaSuccess ? launch<BITS, REBUILD_PLACE, BATCH>(rebuild, stream) : error;
}

template <int BITS>
cudaError_t sw_cuda_launch_rebuild(const struct sw_cuda_rebuild<BITS> *rebuild, uint32_t count,
                                   uint32_t *offsets, cudaStream_t stream)
{
    const bool in_place = rebuild->old.slots == rebuild->table.main.slots;
    cudaError_t error = in_place ? sw_cuda_launch_borders<BITS>(rebuild, stream) : cudaSuccess;
    if (error == cudaSuccess) {
        error = cudaMemsetAsync(rebuild->status, 0, rebuild->segments * sizeof(uint64_t), stream);
    }
    if (error == cudaSuccess && offsets != NULL) {
        offsets_kernel<BITS>
            <<<count / (SW_CUDA_BLOCK * OFFSETS_PER_THREAD) + 1, SW_CUDA_BLOCK, 0, stream>>>(
                rebuild->m, count, rebuild->shift, rebuild->segments, offsets);
        error = cudaGetLastError();
    }
    if (error != cudaSuccess) {
        return error;
    }
    if constexpr (!sw_width<BITS>::is_set) { /* a key set has no values to combine */
        if (rebuild->m != NULL && rebuild->op != SW_SET) {
            return launch_passes<BITS, REBUILD_COMBINE>(rebuild, stream);
        }
    }
    return rebuild->m != NULL ? launch_passes<BITS, REBUILD_SET>(rebuild, stream)
                              : launch<BITS, REBUILD_WRITE, REBUILD_ALONE>(rebuild, stream);
}

#define INSTANTIATE(BITS, ...)                                                              \
    template cudaError_t sw_cuda_launch_rebuild<BITS>(const struct sw_cuda_rebuild<BITS> *, \
                                                      uint32_t, uint32_t *, cudaStream_t);
SW_FORMATS(INSTANTIATE)
