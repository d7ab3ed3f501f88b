/* SPDX-License-Identifier: MIT
 *
 * id_writes.cu - the kernels of a launch on a table of ids (ids.cuh).
 *
 * An operation that inserts or removes a key, or sets its id, is an event. Events of one kind that
 * follow each other commute: n inserts take the n lowest free ids. So a block goes through the
 * operations tile by tile, and carries out such a run of events at once. If a launch only takes
 * ids, or only frees some, its tiles are independent, and each has a block of its own.
 */
#include "table/device/follow.cuh"
#include "table/robin_hood/cuda/ids/ids.cuh"

/* Not an id: ids are below 2^32 - 1. */
#define NO_ID UINT32_MAX

enum id_event {
    NO_EVENT,
    ID_TAKEN,  /* a new key takes the lowest free id */
    ID_FREED,  /* a key is removed */
    ID_SET,    /* a new key gets the id in its operand */
    ID_CHANGED /* a key of the table gets the id in its operand */
};

/* --- before the engine ------------------------------------------------------------------------ */

static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    ids_gathered_kernel(uint8_t *ops, uint32_t count)
{
    const uint32_t i = blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    if (i < count && SW_OPS_HAS(SW_OPS_ABSENT, ops[i])) {
        ops[i] = SW_SET_ABSENT;
    }
}

cudaError_t sw_cuda_launch_ids_gathered(uint8_t *ops, uint32_t count, cudaStream_t stream)
{
    ids_gathered_kernel<<<count / SW_CUDA_BLOCK + 1, SW_CUDA_BLOCK, 0, stream>>>(ops, count);
    return cudaGetLastError();
}

template <int BITS>
static __device__ inline uint32_t op_of(const struct sw_cuda_id_batch<BITS> &batch, uint32_t i)
{
    return batch.ops != NULL ? batch.ops[i] : batch.op;
}

template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    ids_begin_kernel(const struct sw_cuda_ids ids, const struct sw_cuda_id_batch<BITS> batch)
{
    typedef typename sw_width<BITS>::word word;
    const uint32_t i = blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    if (i < batch.count) {
        const bool sets = SW_OPS_HAS(SW_OPS_PUT, op_of<BITS>(batch, i));
        const word operand = sets ? batch.values[i] : 0;
        ids.given[i] = sets && operand < ids.map.limit ? (uint32_t)operand : NO_ID;
        batch.values[i] = (word)(ids.map.limit + i);
    }
}

template <int BITS>
cudaError_t sw_cuda_launch_ids_begin(const struct sw_cuda_ids *ids,
                                     const struct sw_cuda_id_batch<BITS> *batch,
                                     cudaStream_t stream)
{
    ids_begin_kernel<BITS>
        <<<batch->count / SW_CUDA_BLOCK + 1, SW_CUDA_BLOCK, 0, stream>>>(*ids, *batch);
    return cudaGetLastError();
}

/* --- events ----------------------------------------------------------------------------------- */

template <int BITS>
static __device__ inline bool is_found(const struct sw_cuda_id_batch<BITS> &batch, uint32_t i)
{
    return (batch.found[i / 64] >> (i % 64) & 1) != 0;
}

template <int BITS>
static __device__ inline bool is_refused(const struct sw_cuda_id_batch<BITS> &batch, uint32_t i)
{
    return *batch.status == SW_E_FULL &&
           batch.group_refused[sw_group_of(batch.group_ends, 0, batch.group_count - 1, i)] != 0;
}

template <int BITS>
static __device__ inline enum id_event event_of(const struct sw_cuda_id_batch<BITS> &batch,
                                                uint32_t i)
{
    const uint32_t op = op_of<BITS>(batch, i);
    if (SW_OPS_HAS(SW_OPS_READ, op) || is_refused<BITS>(batch, i)) {
        return NO_EVENT;
    }
    const bool found = is_found<BITS>(batch, i);
    if (SW_OPS_HAS(SW_OPS_PUT, op)) {
        return found ? ID_CHANGED : ID_SET;
    }
    return SW_OPS_HAS(SW_OPS_DELETE, op)   ? (found ? ID_FREED : NO_EVENT)
           : SW_OPS_HAS(SW_OPS_INSERT, op) ? (found ? NO_EVENT : ID_TAKEN)
                                           : NO_EVENT;
}

/* Returns the id that a value stands for: the value itself, or for a tentative one the id that its
 * operation gave. */
static __device__ inline uint32_t id_of(const struct sw_cuda_ids &ids, uint64_t value)
{
    return value < ids.map.limit ? (uint32_t)value : ids.given[value - ids.map.limit];
}

/* Counts operation i in its part: its operand is not an id that its key can get. */
template <int BITS>
static __device__ inline void note_invalid(const struct sw_cuda_id_batch<BITS> &batch, uint32_t i)
{
    uint32_t p = 0;
    while (i >= batch.parts->parts[p].first + batch.parts->parts[p].count) {
        p++;
    }
    atomicAdd(&batch.part_words[p * SW_PART_WORDS + SW_PART_INVALID], 1U);
}

/* Counts an id as taken (change -1) or freed (1). One thread. */
static __device__ inline void count_one(const struct sw_cuda_id_map &map, uint32_t id,
                                        int32_t change)
{
    for (uint32_t level = 1; level < map.level_count; level++) {
        atomicAdd(&map.levels[level][(uint64_t)id >> 5 * (level + 1)], (uint32_t)change);
    }
}

/* Carries out operation i, which sets an id. One thread. */
template <int BITS>
static __device__ inline void set_one(const struct sw_cuda_ids &ids,
                                      const struct sw_cuda_id_batch<BITS> &batch, uint32_t i)
{
    const uint32_t wanted = ids.given[i];
    const uint32_t old = is_found<BITS>(batch, i) ? id_of(ids, batch.previous[i]) : NO_ID;
    if (wanted != NO_ID && wanted == old) {
        return;
    }
    if (wanted != NO_ID && sw_id_take(ids.map, wanted)) {
        count_one(ids.map, wanted, -1);
        if (old != NO_ID) {
            sw_id_free(ids.map, old);
            count_one(ids.map, old, 1);
        }
        return;
    }
    note_invalid<BITS>(batch, i);
    ids.given[i] = old;
    if (old == NO_ID) {
        const uint32_t lowest = sw_id_select(ids.map, 0);
        (void)sw_id_take(ids.map, lowest);
        count_one(ids.map, lowest, -1);
        ids.given[i] = lowest;
    }
}

/* --- runs of events --------------------------------------------------------------------------- */

/* Returns the number of threads of the block before this one with `mine`. All threads. */
static __device__ inline uint32_t rank_in_tile(bool mine)
{
    __shared__ uint32_t warps[SW_CUDA_ID_TILE / 32];
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t bits = __ballot_sync(SW_WARP_ALL, mine);
    if (lane == 0) {
        warps[threadIdx.x / 32] = (uint32_t)__popc(bits);
    }
    __syncthreads(); /* M2: the counts of all warps */
    uint32_t rank = (uint32_t)__popc(bits & ((1U << lane) - 1));
    for (uint32_t w = 0; w < threadIdx.x / 32; w++) {
        rank += warps[w];
    }
    __syncthreads(); /* M2: the counts have been read */
    return rank;
}

/* Returns the first thread from `from` on whose event is one, and is not `other_than`; the size of
 * the tile if there is none. All threads. */
static __device__ inline uint32_t next_event(uint32_t from, uint8_t mine, uint8_t other_than)
{
    __shared__ uint32_t next;
    if (threadIdx.x == 0) {
        next = SW_CUDA_ID_TILE;
    }
    __syncthreads(); /* M2: `next` is the size */
    if (threadIdx.x >= from && mine != NO_EVENT && mine != other_than) {
        atomicMin(&next, threadIdx.x);
    }
    __syncthreads(); /* M2: `next` is the lowest thread */
    const uint32_t found = next;
    __syncthreads(); /* M2: all threads have read it */
    return found;
}

/* Gives each new key with `mine` one of the lowest free ids, in the order of the threads. */
static __device__ inline void take_run(const struct sw_cuda_ids &ids, uint32_t i, bool mine)
{
    const uint32_t rank = rank_in_tile(mine);
    uint32_t id = 0;
    if (mine) {
        id = sw_id_select(ids.map, rank);
        ids.given[i] = id;
    }
    __syncthreads(); /* M2: all threads have selected before the map changes */
    if (mine) {
        (void)sw_id_take(ids.map, id);
    }
    sw_id_count(ids.map, id, mine, -1);
}

template <int BITS>
static __device__ inline void free_run(const struct sw_cuda_ids &ids,
                                       const struct sw_cuda_id_batch<BITS> &batch, uint32_t i,
                                       bool mine)
{
    const uint32_t id = mine ? id_of(ids, batch.previous[i]) : 0;
    if (mine) {
        sw_id_free(ids.map, id);
    }
    sw_id_count(ids.map, id, mine, 1);
}

/* Returns false, with nothing changed, if not every key with `mine` can get the id in its
 * operand. */
static __device__ inline bool set_run(const struct sw_cuda_ids &ids, uint32_t i, bool mine)
{
    const uint32_t id = mine ? ids.given[i] : 0;
    const bool taken = mine && id != NO_ID && sw_id_take(ids.map, id);
    const bool all = __syncthreads_and(!mine || taken) != 0; /* M2 */
    if (taken && !all) {
        sw_id_free(ids.map, id);
    }
    sw_id_count(ids.map, id, taken && all, -1);
    return all;
}

/* One block goes through all events of a launch in array order. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_ID_TILE)
    ids_in_order_kernel(const struct sw_cuda_ids ids, const struct sw_cuda_id_batch<BITS> batch)
{
    __shared__ uint8_t events[SW_CUDA_ID_TILE];
    for (uint32_t first = 0; first < batch.count; first += SW_CUDA_ID_TILE) {
        const uint32_t i = first + threadIdx.x;
        const uint8_t own = i < batch.count ? (uint8_t)event_of<BITS>(batch, i) : NO_EVENT;
        events[threadIdx.x] = own;
        uint32_t begin = next_event(0, own, NO_EVENT);
        while (begin < SW_CUDA_ID_TILE) {
            const uint8_t event = events[begin];
            const uint32_t end = next_event(begin, own, event);
            const bool mine = own == event && threadIdx.x >= begin && threadIdx.x < end;
            bool done = true;
            if (event == ID_TAKEN) {
                take_run(ids, i, mine);
            } else if (event == ID_FREED) {
                free_run<BITS>(ids, batch, i, mine);
            } else {
                done = event == ID_SET && set_run(ids, i, mine);
            }
            __syncthreads(); /* M2: the run is done, or undone */
            if (!done && threadIdx.x == 0) {
                for (uint32_t t = begin; t < end; t++) {
                    if (events[t] == event) {
                        set_one<BITS>(ids, batch, first + t);
                    }
                }
            }
            __syncthreads(); /* M2: the run is done; `given` and the map are read by the next one */
            begin = end;
        }
        __syncthreads(); /* M2: all threads have read the events */
    }
}

/* --- launches of one kind --------------------------------------------------------------------- */

template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_ID_TILE)
    ids_free_kernel(const struct sw_cuda_ids ids, const struct sw_cuda_id_batch<BITS> batch)
{
    const uint32_t i = blockIdx.x * SW_CUDA_ID_TILE + threadIdx.x;
    free_run<BITS>(ids, batch, i, i < batch.count && event_of<BITS>(batch, i) == ID_FREED);
}

/* Counts the new keys of each tile. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_ID_TILE)
    ids_count_kernel(const struct sw_cuda_ids ids, const struct sw_cuda_id_batch<BITS> batch)
{
    const uint32_t i = blockIdx.x * SW_CUDA_ID_TILE + threadIdx.x;
    const bool mine = i < batch.count && event_of<BITS>(batch, i) == ID_TAKEN;
    const int count = __syncthreads_count(mine);
    if (threadIdx.x == 0) {
        ids.takes[1 + blockIdx.x] = (uint32_t)count;
    }
}

/* Adds the counts up. One block. */
static __global__ void __launch_bounds__(SW_CUDA_ID_TILE)
    ids_sum_kernel(const struct sw_cuda_ids ids, uint32_t tiles)
{
    __shared__ uint32_t sums[SW_CUDA_ID_TILE];
    uint32_t total = 0; /* the same in all threads */
    for (uint32_t first = 0; first < tiles; first += SW_CUDA_ID_TILE) {
        const uint32_t t = first + threadIdx.x;
        sums[threadIdx.x] = t < tiles ? ids.takes[1 + t] : 0;
        __syncthreads(); /* M2: the counts */
        for (uint32_t by = 1; by < SW_CUDA_ID_TILE; by *= 2) {
            const uint32_t before = threadIdx.x >= by ? sums[threadIdx.x - by] : 0;
            __syncthreads(); /* M2: all threads have read */
            sums[threadIdx.x] += before;
            __syncthreads(); /* M2: all threads have added */
        }
        if (t < tiles) {
            ids.takes[1 + t] = total + sums[threadIdx.x];
        }
        total += sums[SW_CUDA_ID_TILE - 1];
        __syncthreads(); /* M2: all threads have read the sums */
    }
    if (threadIdx.x == 0) {
        ids.takes[0] = 0;
    }
}

template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_ID_TILE)
    ids_select_kernel(const struct sw_cuda_ids ids, const struct sw_cuda_id_batch<BITS> batch)
{
    const uint32_t before = ids.takes[blockIdx.x];
    if (ids.takes[blockIdx.x + 1] == before) { /* the same in all threads */
        return;
    }
    const uint32_t i = blockIdx.x * SW_CUDA_ID_TILE + threadIdx.x;
    const bool mine = i < batch.count && event_of<BITS>(batch, i) == ID_TAKEN;
    const uint32_t rank = rank_in_tile(mine);
    if (mine) {
        ids.given[i] = sw_id_select(ids.map, before + rank);
    }
}

template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_ID_TILE)
    ids_take_kernel(const struct sw_cuda_ids ids, const struct sw_cuda_id_batch<BITS> batch)
{
    if (ids.takes[blockIdx.x + 1] == ids.takes[blockIdx.x]) { /* the same in all threads */
        return;
    }
    const uint32_t i = blockIdx.x * SW_CUDA_ID_TILE + threadIdx.x;
    const bool mine = i < batch.count && event_of<BITS>(batch, i) == ID_TAKEN;
    const uint32_t id = mine ? ids.given[i] : 0;
    if (mine) {
        (void)sw_id_take(ids.map, id);
    }
    sw_id_count(ids.map, id, mine, -1);
}

static uint32_t tiles_of(uint32_t count)
{
    return (count + SW_CUDA_ID_TILE - 1) / SW_CUDA_ID_TILE;
}

template <int BITS>
static cudaError_t take_all(const struct sw_cuda_ids *ids,
                            const struct sw_cuda_id_batch<BITS> *batch, cudaStream_t stream)
{
    const uint32_t tiles = tiles_of(batch->count);
    ids_count_kernel<BITS><<<tiles, SW_CUDA_ID_TILE, 0, stream>>>(*ids, *batch);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) {
        ids_sum_kernel<<<1, SW_CUDA_ID_TILE, 0, stream>>>(*ids, tiles);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess) {
        ids_select_kernel<BITS><<<tiles, SW_CUDA_ID_TILE, 0, stream>>>(*ids, *batch);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess) {
        ids_take_kernel<BITS><<<tiles, SW_CUDA_ID_TILE, 0, stream>>>(*ids, *batch);
        error = cudaGetLastError();
    }
    return error;
}

/* --- after the engine ------------------------------------------------------------------------- */

/* Stores the id of operation i in the entry of its key, if the entry has the tentative value of
 * this operation: then no later one wrote it. M8: no other thread has that value. */
template <int BITS>
static __device__ inline void store_id(const struct sw_cuda_ids &ids,
                                       const struct sw_cuda_device<BITS> &device,
                                       const struct sw_cuda_id_batch<BITS> &batch, uint32_t i)
{
    typedef sw_width<BITS> W;
    typedef typename W::word word;
    uint64_t probes = 0;
    const word m = W::mix(&device.table, batch.keys[i]);
    const typename W::place place = W::locate(&device.table, m, &probes);
    if (!place.found || place.value != (word)(ids.map.limit + i)) {
        return;
    }
    if (m == W::empty) {
        device.table.state->side_value = ids.given[i];
    } else {
        place.slot->value = ids.given[i];
    }
}

/* Replaces the tentative values of entries and answers. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    ids_end_kernel(const struct sw_cuda_ids ids, const struct sw_cuda_device<BITS> device,
                   const struct sw_cuda_id_batch<BITS> batch)
{
    typedef typename sw_width<BITS>::word word;
    const uint32_t i = blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    sw_cuda_follow();
    if (i >= batch.count) {
        return;
    }
    const enum id_event event = event_of<BITS>(batch, i);
    word answer = 0;
    if (event == ID_TAKEN) {
        answer = ids.given[i];
    } else if (is_found<BITS>(batch, i) && !is_refused<BITS>(batch, i)) {
        answer = id_of(ids, batch.previous[i]);
    }
    batch.previous[i] = answer;
    if (event == ID_TAKEN || event == ID_SET || event == ID_CHANGED) {
        store_id<BITS>(ids, device, batch, i);
    }
}

template <int BITS>
cudaError_t sw_cuda_launch_ids_end(const struct sw_cuda_ids *ids,
                                   const struct sw_cuda_device<BITS> *device,
                                   const struct sw_cuda_id_batch<BITS> *batch, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    if (batch->only_takes) {
        error = take_all<BITS>(ids, batch, stream);
    } else if (batch->only_frees) {
        ids_free_kernel<BITS><<<tiles_of(batch->count), SW_CUDA_ID_TILE, 0, stream>>>(*ids, *batch);
        error = cudaGetLastError();
    } else {
        ids_in_order_kernel<BITS><<<1, SW_CUDA_ID_TILE, 0, stream>>>(*ids, *batch);
        error = cudaGetLastError();
    }
    if (error != cudaSuccess) {
        return error;
    }
    ids_end_kernel<BITS>
        <<<batch->count / SW_CUDA_BLOCK + 1, SW_CUDA_BLOCK, 0, stream>>>(*ids, *device, *batch);
    return cudaGetLastError();
}

template <int BITS> cudaError_t sw_cuda_ids_load(void)
{
    struct cudaFuncAttributes attributes;
    const void *const kernels[] = {(const void *)ids_gathered_kernel,
                                   (const void *)ids_begin_kernel<BITS>,
                                   (const void *)ids_in_order_kernel<BITS>,
                                   (const void *)ids_count_kernel<BITS>,
                                   (const void *)ids_sum_kernel,
                                   (const void *)ids_select_kernel<BITS>,
                                   (const void *)ids_take_kernel<BITS>,
                                   (const void *)ids_free_kernel<BITS>,
                                   (const void *)ids_end_kernel<BITS>};
    cudaError_t error = cudaSuccess;
    for (const void *kernel : kernels) {
        error = error == cudaSuccess ? cudaFuncGetAttributes(&attributes, kernel) : error;
    }
    return error;
}

#define INSTANTIATE(BITS, ...)                                                            \
    template cudaError_t sw_cuda_launch_ids_begin<BITS>(                                  \
        const struct sw_cuda_ids *, const struct sw_cuda_id_batch<BITS> *, cudaStream_t); \
    template cudaError_t sw_cuda_launch_ids_end<BITS>(                                    \
        const struct sw_cuda_ids *, const struct sw_cuda_device<BITS> *,                  \
        const struct sw_cuda_id_batch<BITS> *, cudaStream_t);                             \
    template cudaError_t sw_cuda_ids_load<BITS>(void);
SW_WIDTHS(INSTANTIATE)
