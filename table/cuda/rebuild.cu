/* SPDX-License-Identifier: MIT
 *
 * rebuild.cu - writes a whole table in one pass, from an older table, a sorted batch, or both.
 *
 * No atomics on slots: the place of an entry follows from the entries before it. Each block brings
 * one segment, a range of m, in order (segment.cuh), learns where the segments before it end
 * (look_back.cuh), and writes the segment's slots.
 */
#include "table/cuda/segment.cuh"

/* Notes how many leading buckets of homes (after, until] are full of earlier homes' entries, which
 * end at `end`. */
template <int BITS>
static __device__ inline void note_leads(sw_segment_memory<BITS> *memory, int32_t after,
                                         int32_t until, int32_t end)
{
#pragma unroll 1
    for (int32_t h = after + 1; h <= until; h++) {
        int32_t lead = end < 0 ? 0 : end / SW_BUCKET_SLOTS - h;
        memory->leads[h] = (uint8_t)min(max(lead, 0), SW_HINT_LEAD_MAX + 3);
    }
}

/* Writes the hints of the pairs whose even home is this segment's. Where the odd one is the next
 * segment's, its lead is at least one less, since starts grow with the home. */
template <int BITS>
static __device__ inline void write_hints(const struct sw_cuda_rebuild<BITS> &rebuild,
                                          const sw_segment<BITS> &own, bool shares_home,
                                          const sw_segment_memory<BITS> *memory)
{
    uint64_t first = own.home + (shares_home ? 1 : 0);
    uint64_t end = own.home + own.homes;
    for (uint64_t h = first + first % 2 + 2 * threadIdx.x; h < end; h += 2 * SW_SEGMENT_BLOCK) {
        uint32_t even = memory->leads[h - own.home];
        uint32_t odd = h + 1 < end ? memory->leads[h + 1 - own.home] : even > 0 ? even - 1 : 0;
        rebuild.hints[h / 2] = sw_hint_encode(even, odd);
    }
}

/* Gives each of the thread's entries its slot. `before` is the run of the segment's entries before
 * them, x where the segments before end. False if one meets the probe cap. */
template <int BITS>
static __device__ inline bool place(const struct sw_cuda_rebuild<BITS> &rebuild,
                                    const sw_segment<BITS> &own, sw_segment_memory<BITS> *memory,
                                    sw_run before, int32_t x, sw_item<BITS> items[SW_SEGMENT_ITEMS])
{
    typedef sw_width<BITS> W;
    const typename W::view *view = &rebuild.table.main;
    int32_t end = max(x + before.n, before.e);
    int32_t last_home = before.home;
    bool fits = true;
#pragma unroll
    for (int k = 0; k < SW_SEGMENT_ITEMS; k++) {
        if (items[k].m != W::empty) {
            int32_t home = items[k].at;
            int32_t at = max(end, home * SW_BUCKET_SLOTS);
            uint32_t bucket = (uint32_t)at / SW_BUCKET_SLOTS;
            if (rebuild.hints != NULL) {
                note_leads<BITS>(memory, last_home, home, end);
            }
            fits &= bucket - (uint32_t)home <= view->max_probe &&
                    own.home + bucket < view->buckets_total;
            items[k].at = at;
            last_home = home;
            end = at + 1;
        }
    }
    return fits;
}

/* Writes slots [from, to), counted from the segment's first. */
template <int BITS>
static __device__ inline void write(typename sw_width<BITS>::slot *out, int32_t from, int32_t to,
                                    sw_segment_memory<BITS> *memory,
                                    const sw_item<BITS> items[SW_SEGMENT_ITEMS])
{
    typedef sw_width<BITS> W;
    for (int32_t at = from; at < to; at += SW_CUDA_REBUILD_ENTRIES) {
        int32_t length = min(to - at, SW_CUDA_REBUILD_ENTRIES);
        __syncthreads();
        for (int32_t i = threadIdx.x; i < length; i += SW_SEGMENT_BLOCK) {
            memory->slots[i].m = W::empty;
            memory->slots[i].value = W::empty;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < SW_SEGMENT_ITEMS; k++) {
            int32_t i = items[k].at - at;
            if (items[k].m != W::empty && i >= 0 && i < length) {
                memory->slots[i].m = items[k].m;
                memory->slots[i].value = items[k].value;
            }
        }
        __syncthreads();
#pragma unroll 4
        for (int32_t i = threadIdx.x; i < length; i += SW_SEGMENT_BLOCK) {
            out[at + i] = memory->slots[i];
        }
    }
}

template <int BITS, bool COMBINE>
static __global__ void __launch_bounds__(SW_SEGMENT_BLOCK, BITS == 64 ? 4 : 2)
    rebuild_kernel(const __grid_constant__ struct sw_cuda_rebuild<BITS> rebuild)
{
    typedef sw_width<BITS> W;
    typedef typename W::word word;
    extern __shared__ __align__(16) unsigned char shared[];
    sw_segment_memory<BITS> *memory = (sw_segment_memory<BITS> *)shared;
    const typename W::view *view = &rebuild.table.main;
    /* blocks start in the order of their numbers, so those waited for are running or done */
    const uint32_t number = blockIdx.x;
    sw_segment<BITS> own;
    sw_item<BITS> items[SW_SEGMENT_ITEMS];

    uint32_t batch_count = 0;
    if (rebuild.control->rebuild_off != 0) {
        return;
    }
    bool fits = sw_segment_open<BITS>(rebuild, number, memory, &own, &batch_count);
    sw_segment_load<BITS>(rebuild, own, memory, items);
    fits &= sw_segment_sum_bins<BITS>(memory);
    uint32_t ordered = fits ? sw_segment_order<BITS, COMBINE>(rebuild, memory, items) : 0;
    sw_run thread_run = sw_segment_take<BITS>(rebuild, own, memory, ordered, items);
    sw_run nothing = {0, SW_NOWHERE, -1};
    sw_run before;
    sw_run whole;
    cub::BlockScan<sw_run, SW_SEGMENT_BLOCK>(memory->scan.runs)
        .ExclusiveScan(thread_run, before, nothing, sw_compose(), whole);

    const int64_t origin = (int64_t)(own.home * SW_BUCKET_SLOTS);
    const int32_t x = sw_look_back_chain(rebuild.status, number, origin, whole);
    const int32_t end = max(x + whole.n, whole.e);
    const bool is_last = number + 1 == rebuild.segments;
    const uint64_t next = is_last ? view->buckets : W::home(view, (word)(own.high + 1));
    /* then the segment before gave that home its hint */
    const bool shares_home = number > 0 && W::home(view, (word)(own.low - 1)) == own.home;
    before.home = shares_home ? max(before.home, 0) : before.home;
    fits &= place<BITS>(rebuild, own, memory, before, x, items);
    if (rebuild.hints != NULL) {
        int32_t after = shares_home ? max(whole.home, 0) : whole.home;
        for (int32_t h = after + 1 + (int32_t)threadIdx.x; h < (int32_t)own.homes;
             h += SW_SEGMENT_BLOCK) {
            note_leads<BITS>(memory, h - 1, h, end);
        }
    }
    fits = __syncthreads_and(fits);
    if (fits && rebuild.hints != NULL) {
        write_hints<BITS>(rebuild, own, shares_home, memory);
    }
    if (!fits) {
        if (threadIdx.x == 0) {
            rebuild.control->rebuild_failed = 1;
        }
        return;
    }
    if (threadIdx.x == 0 && batch_count > 0) {
        atomicAdd((unsigned long long *)&rebuild.control->counters.inserted,
                  (unsigned long long)(whole.n - (int32_t)own.old_count));
    }
    write<BITS>(view->slots + origin, max(x, 0),
                max(end, (int32_t)(next * SW_BUCKET_SLOTS - origin)), memory, items);
}

#define OFFSETS_PER_THREAD 4

/* offsets[s] = the first entry of segment s or later; m is in order of segments. */
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

template <int BITS>
cudaError_t sw_cuda_launch_rebuild(struct sw_cuda_rebuild<BITS> *rebuild, uint32_t count,
                                   uint32_t *offsets, cudaStream_t stream)
{
    typedef typename sw_width<BITS>::word word;
    const bool combine = rebuild->m != NULL && rebuild->op != SW_SET;
    const int bytes = (int)(sizeof(sw_segment_memory<BITS>) +
                            (combine ? SW_CUDA_REBUILD_ENTRIES * sizeof(word) : 0));
    auto *kernel = combine ? rebuild_kernel<BITS, true> : rebuild_kernel<BITS, false>;
    rebuild->bin_shift =
        rebuild->shift > SW_SEGMENT_BIN_BITS ? rebuild->shift - SW_SEGMENT_BIN_BITS : 0;
    cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error == cudaSuccess) {
        error = cudaMemsetAsync(rebuild->status, 0, rebuild->segments * sizeof(uint64_t), stream);
    }
    if (error == cudaSuccess && offsets != NULL) {
        offsets_kernel<BITS>
            <<<count / (SW_CUDA_BLOCK * OFFSETS_PER_THREAD) + 1, SW_CUDA_BLOCK, 0, stream>>>(
                rebuild->m, count, rebuild->shift, rebuild->segments, offsets);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess) {
        kernel<<<rebuild->segments, SW_SEGMENT_BLOCK, bytes, stream>>>(*rebuild);
        error = cudaGetLastError();
    }
    return error;
}

template cudaError_t sw_cuda_launch_rebuild<64>(struct sw_cuda_rebuild<64> *, uint32_t, uint32_t *,
                                                cudaStream_t);
template cudaError_t sw_cuda_launch_rebuild<128>(struct sw_cuda_rebuild<128> *, uint32_t,
                                                 uint32_t *, cudaStream_t);
