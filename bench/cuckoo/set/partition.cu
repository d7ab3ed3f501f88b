/* SPDX-License-Identifier: MIT
 *
 * partition.cu - inserts of large batches: array 0 by pieces in shared memory.
 *
 * 1. scatter_kernel sorts the batch by piece of array 0: a block sorts its tile in shared memory,
 * so that what goes to one piece is written in one run.
 * 2. fill_kernel, a block a piece, carries out the first exchange of every key of the piece in
 *    shared memory and writes the piece back as a whole. What it takes out stays where it was
 *    staged.
 * 3. carry_kernel takes these keys on, from array 1, by exchanges in device memory.
 *
 * Each step is an exchange of the same insert, so what holds of those holds of these. Keys for
 * which a piece has no room, where they are not spread evenly, are inserted directly.
 */
#include <cub/block/block_scan.cuh>

#include "bench/cuckoo/set/launch.cuh"
#include "table/device/resident.cuh"

#define PART_BYTES (64U << 10)
#define PART_CELLS (PART_BYTES / (uint32_t)sizeof(uint32_t))
#define PARTS_MAX ((uint32_t)(SW_CSET_PARTITIONED_BYTES_MAX / PART_BYTES))
#define SCATTER_BLOCK 1024
#define TILE (16U << 10) /* keys */
#define FILL_BLOCK 512
#define PARTS_PER_THREAD (PARTS_MAX / SCATTER_BLOCK)
static_assert(PARTS_MAX % SCATTER_BLOCK == 0, "every thread sums as many pieces");

/* --- 1 ---------------------------------------------------------------------------------------- */

struct scatter_shared {
    uint32_t next[PARTS_MAX]; /* keys of the tile that go to the piece; then where the next of
                                 them goes in the sorted tile */
    uint32_t to[PARTS_MAX];   /* their places in the piece's room, minus those in the tile */
    typename cub::BlockScan<uint32_t, SCATTER_BLOCK>::TempStorage scan;
    uint32_t total;
    uint32_t tile[TILE];
};

/* A key's cell in array 0. */
static __device__ __forceinline__ uint64_t place_of(const sw_cset_put &put, uint32_t key)
{
    return (uint64_t)(sw_cuckoo_cell_at_k32(&put.view, key, 0) - put.view.cells);
}

static __device__ __forceinline__ uint32_t part_of(const sw_cset_put &put, uint32_t key)
{
    return (uint32_t)(place_of(put, key) / PART_CELLS);
}

/* Counts become places, and room in the pieces is taken. */
static __device__ void take_room(struct scatter_shared *shared, const sw_cset_partition &partition)
{
    uint32_t counts[PARTS_PER_THREAD];
    uint32_t begins[PARTS_PER_THREAD];
    uint32_t part = threadIdx.x * PARTS_PER_THREAD;
    uint32_t total;
#pragma unroll
    for (int p = 0; p < (int)PARTS_PER_THREAD; p++) {
        counts[p] = shared->next[part + p];
    }
    cub::BlockScan<uint32_t, SCATTER_BLOCK>(shared->scan).ExclusiveSum(counts, begins, total);
#pragma unroll
    for (int p = 0; p < (int)PARTS_PER_THREAD; p++) {
        uint32_t to = counts[p] == 0 ? 0 : atomicAdd(partition.filled + part + p, counts[p]);
        shared->next[part + p] = begins[p];
        shared->to[part + p] = to - begins[p];
    }
    if (threadIdx.x == 0) {
        shared->total = total;
    }
}

static __global__ void __launch_bounds__(SCATTER_BLOCK, SW_CUDA_RESIDENT_BLOCKS(SCATTER_BLOCK, 2))
    scatter_kernel(const sw_cset_put put, const sw_cset_partition partition)
{
    extern __shared__ unsigned char memory[];
    struct scatter_shared *shared = (struct scatter_shared *)memory;
    uint32_t *tile = shared->tile;
    uint64_t base = (uint64_t)blockIdx.x * TILE;
    uint32_t count = put.count - base < TILE ? (uint32_t)(put.count - base) : TILE;

    for (uint32_t p = threadIdx.x; p < PARTS_MAX; p += SCATTER_BLOCK) {
        shared->next[p] = 0;
    }
    __syncthreads();
#pragma unroll 4
    for (uint32_t j = threadIdx.x; j < count; j += SCATTER_BLOCK) {
        uint32_t key = put.keys[base + j];
        if (key != SW_CSET_EMPTY) {
            atomicAdd(&shared->next[part_of(put, key)], 1U);
        }
    }
    __syncthreads();
    take_room(shared, partition);
    __syncthreads();
#pragma unroll 4
    for (uint32_t j = threadIdx.x; j < count; j += SCATTER_BLOCK) {
        uint32_t key = put.keys[base + j];
        if (key != SW_CSET_EMPTY) {
            uint32_t at = atomicAdd(&shared->next[part_of(put, key)], 1U);
            tile[at] = key;
        } else {
            put.control->has_ones = 1;
        }
    }
    __syncthreads();
#pragma unroll 4
    for (uint32_t j = threadIdx.x; j < shared->total; j += SCATTER_BLOCK) {
        uint32_t part = part_of(put, tile[j]);
        uint32_t to = shared->to[part] + j;
        if (to < partition.room) {
            partition.staged[part * partition.room + to] = tile[j];
        } else {
            sw_cset_append(partition.overflow, &put.control->overflow, tile[j]);
        }
    }
}

/* --- 2 ---------------------------------------------------------------------------------------- */

/* The first `cells` cells of a piece to or from shared memory. */
static __device__ void copy_piece(uint32_t *to, const uint32_t *from, uint32_t cells)
{
    constexpr uint32_t PER_LOAD = sizeof(uint4) / sizeof(uint32_t);
    uint32_t whole = cells / PER_LOAD;
    for (uint32_t i = threadIdx.x; i < whole; i += FILL_BLOCK) {
        ((uint4 *)to)[i] = ((const uint4 *)from)[i];
    }
    for (uint32_t i = whole * PER_LOAD + threadIdx.x; i < cells; i += FILL_BLOCK) {
        to[i] = from[i];
    }
}

static __global__ void __launch_bounds__(FILL_BLOCK)
    fill_kernel(const sw_cset_put put, const sw_cset_partition partition, bool is_empty)
{
    extern __shared__ unsigned char memory[];
    __shared__ uint32_t taken_out;
    uint32_t *piece = (uint32_t *)memory;
    uint32_t *array = (uint32_t *)put.view.cells;
    uint64_t first = (uint64_t)blockIdx.x * PART_CELLS;
    uint64_t rest = put.view.shape.each - first;
    uint32_t cells = rest < PART_CELLS ? (uint32_t)rest : PART_CELLS;
    uint32_t *staged = partition.staged + blockIdx.x * partition.room;
    uint32_t count = partition.filled[blockIdx.x];

    count = count < partition.room ? count : (uint32_t)partition.room;
    if (count == 0) {
        return; /* filled[] says already that nothing is taken out */
    }
    if (threadIdx.x == 0) {
        taken_out = 0;
    }
    if (is_empty) {
        for (uint32_t i = threadIdx.x; i < PART_BYTES / 16; i += FILL_BLOCK) {
            ((uint4 *)memory)[i] = make_uint4(~0U, ~0U, ~0U, ~0U);
        }
    } else {
        copy_piece(piece, array + first, cells);
    }
    __syncthreads();
    /* Rounds: what is taken out goes to the front of the staged keys, all of which up to there
     * have been read by then. */
    for (uint32_t round = 0; round < count; round += FILL_BLOCK) {
        uint32_t j = round + threadIdx.x;
        uint32_t was = SW_CSET_EMPTY;
        if (j < count) {
            uint32_t carried = staged[j];
            was = atomicExch(piece + (place_of(put, carried) - first), carried);
            was = was == carried ? SW_CSET_EMPTY : was; /* one copy of a key stays */
        }
        __syncthreads();
        if (was != SW_CSET_EMPTY) {
            staged[atomicAdd(&taken_out, 1U)] = was;
        }
    }
    __syncthreads();
    copy_piece(array + first, piece, cells);
    if (threadIdx.x == 0) {
        partition.filled[blockIdx.x] = taken_out;
    }
}

/* --- 3 ---------------------------------------------------------------------------------------- */

#define CARRY_KEYS 4

static __global__ void __launch_bounds__(SW_CSET_BLOCK, 1)
    carry_kernel(const sw_cset_put put, const sw_cset_partition partition)
{
    const uint32_t *staged = partition.staged + blockIdx.x * partition.room;
    uint32_t count = partition.filled[blockIdx.x];
    for (uint32_t base = threadIdx.x; base < count; base += SW_CSET_BLOCK * CARRY_KEYS) {
        struct sw_cuckoo_cell_k32 carried[CARRY_KEYS];
        uint32_t live = 0;
#pragma unroll
        for (int k = 0; k < CARRY_KEYS; k++) {
            if (base + k * SW_CSET_BLOCK < count) {
                carried[k].key = staged[base + k * SW_CSET_BLOCK];
                live |= 1U << k;
            }
        }
        live = sw_cuckoo_insert_from_k32(&put.view, carried, live, 1, CARRY_KEYS,
                                         put.view.shape.functions);
        sw_cset_keep_left<CARRY_KEYS>(put, carried, live);
    }
}

/* --- host ------------------------------------------------------------------------------------- */

/* Room for the keys of a piece: as many as there are on average and six standard deviations. */
static uint64_t room_of(uint32_t batch_max, uint32_t parts)
{
    uint64_t mean = (batch_max + parts - 1) / parts;
    uint64_t deviation = 1;
    while (deviation * deviation < mean) {
        deviation++;
    }
    return (mean + 6 * deviation + 63) / 64 * 64;
}

static cudaError_t allow_shared()
{
    cudaError_t error =
        cudaFuncSetAttribute(scatter_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)sizeof(struct scatter_shared));
    return error != cudaSuccess
               ? error
               : cudaFuncSetAttribute(fill_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      PART_BYTES);
}

cudaError_t sw_cset_partition_open(struct sw_cset_partition *partition,
                                   const struct sw_cset_config *config)
{
    *partition = sw_cset_partition{};
    partition->parts = (uint32_t)((config->cells_each + PART_CELLS - 1) / PART_CELLS);
    partition->room = room_of(config->batch_max, partition->parts);
    uint64_t staged = partition->parts * partition->room * sizeof(uint32_t);
    uint64_t overflow = config->batch_max * sizeof(uint32_t);
    partition->bytes = staged + overflow + PARTS_MAX * sizeof(uint32_t);
    cudaError_t error = allow_shared();
    if (error == cudaSuccess) {
        error = cudaMalloc((void **)&partition->staged, staged);
    }
    if (error == cudaSuccess) {
        error = cudaMalloc((void **)&partition->overflow, overflow);
    }
    if (error == cudaSuccess) {
        error = cudaMalloc((void **)&partition->filled, PARTS_MAX * sizeof(uint32_t));
    }
    if (error != cudaSuccess) {
        sw_cset_partition_close(partition);
    }
    return error;
}

void sw_cset_partition_close(struct sw_cset_partition *partition)
{
    (void)cudaFree(partition->staged);
    (void)cudaFree(partition->overflow);
    (void)cudaFree(partition->filled);
    *partition = sw_cset_partition{};
}

cudaError_t sw_cset_put_partitioned(const struct sw_cset_partition &partition,
                                    const sw_cset_put &put, bool is_empty, cudaStream_t stream)
{
    if (put.count == 0) {
        return cudaSuccess;
    }
    cudaError_t error = cudaMemsetAsync(partition.filled, 0, PARTS_MAX * sizeof(uint32_t), stream);
    if (error != cudaSuccess) {
        return error;
    }
    scatter_kernel<<<(unsigned)((put.count + TILE - 1) / TILE), SCATTER_BLOCK,
                     sizeof(struct scatter_shared), stream>>>(put, partition);
    fill_kernel<<<partition.parts, FILL_BLOCK, PART_BYTES, stream>>>(put, partition, is_empty);
    carry_kernel<<<partition.parts, SW_CSET_BLOCK, 0, stream>>>(put, partition);
    error = cudaGetLastError();
    return error != cudaSuccess
               ? error
               : sw_cset_put_list(put, partition.overflow, &put.control->overflow, stream);
}
