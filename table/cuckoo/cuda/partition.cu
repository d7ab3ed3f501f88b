/* SPDX-License-Identifier: MIT
 *
 * partition.cu - inserts of large batches: array 0 by pieces in shared memory.
 *
 * 1. scatter_kernel sorts the batch by piece of array 0: a block sorts its tile in shared memory,
 * so that what goes to one piece is written in one run.
 * 2. fill_kernel, a block a piece, carries out the first exchange of every entry of the piece in
 *    shared memory and writes the piece back as a whole. What it takes out stays where it was
 *    staged.
 * 3. carry_kernel takes these entries on, from array 1, by exchanges in device memory.
 *
 * Each step is an exchange of the same insert, so what holds of those holds of these. Entries for
 * which a piece has no room (keys that are not spread evenly) are inserted directly.
 */
#include <cub/block/block_scan.cuh>

#include "table/cuckoo/cuda/launch.cuh"

#define PART_BYTES (64U << 10)
#define PARTS_MAX ((uint32_t)(SW_CUCKOO_PARTITIONED_BYTES_MAX / PART_BYTES))
#define SCATTER_BLOCK 1024
#define TILE_BYTES (64U << 10)
#define FILL_BLOCK 512
#define PARTS_PER_THREAD (PARTS_MAX / SCATTER_BLOCK)
static_assert(PARTS_MAX % SCATTER_BLOCK == 0, "every thread sums as many pieces");

/* --- 1 ---------------------------------------------------------------------------------------- */

struct scatter_shared {
    uint32_t next[PARTS_MAX]; /* entries of the tile that go to the piece; then where the next of
                                 them goes in the sorted tile */
    uint32_t to[PARTS_MAX];   /* their places in the piece's room, minus those in the tile */
    typename cub::BlockScan<uint32_t, SCATTER_BLOCK>::TempStorage scan;
    uint32_t total;
    alignas(16) unsigned char tile[TILE_BYTES];
};

template <int BITS>
static __device__ __forceinline__ uint32_t part_of(const sw_cuckoo_put<BITS> &put,
                                                   const sw_cuckoo_partition &partition,
                                                   typename sw_cuckoo_kind<BITS>::word key)
{
    return (uint32_t)(sw_cuckoo_kind<BITS>::place(&put.view.shape, key, 0, false) >>
                      partition.part_of);
}

/* Counts become places, and room in the pieces is taken. */
static __device__ void reserve(struct scatter_shared *shared, const sw_cuckoo_partition &partition)
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

template <int BITS>
static __global__ void __launch_bounds__(SCATTER_BLOCK, 2)
    scatter_kernel(const sw_cuckoo_put<BITS> put, const sw_cuckoo_partition partition)
{
    typedef sw_cuckoo_kind<BITS> kind;
    typedef typename kind::cell cell;
    typedef typename kind::word word;
    constexpr uint32_t TILE = TILE_BYTES / sizeof(cell);
    extern __shared__ unsigned char memory[];
    struct scatter_shared *shared = (struct scatter_shared *)memory;
    cell *tile = (cell *)shared->tile;
    uint64_t base = (uint64_t)blockIdx.x * TILE;
    uint32_t count = put.count - base < TILE ? (uint32_t)(put.count - base) : TILE;

    for (uint32_t p = threadIdx.x; p < PARTS_MAX; p += SCATTER_BLOCK) {
        shared->next[p] = 0;
    }
    __syncthreads();
#pragma unroll 4
    for (uint32_t j = threadIdx.x; j < count; j += SCATTER_BLOCK) {
        word key = put.keys[base + j];
        if (key != kind::ones) {
            atomicAdd(&shared->next[part_of<BITS>(put, partition, key)], 1U);
        }
    }
    __syncthreads();
    reserve(shared, partition);
    __syncthreads();
#pragma unroll 4
    for (uint32_t j = threadIdx.x; j < count; j += SCATTER_BLOCK) {
        word key = put.keys[base + j];
        word value = put.values == NULL ? 0 : __ldcs(put.values + base + j);
        if (key != kind::ones) {
            uint32_t at = atomicAdd(&shared->next[part_of<BITS>(put, partition, key)], 1U);
            tile[at] = kind::cell_of(key, value);
        } else {
            put.control->side.value = BITS == 32 ? 0 : (uint64_t)value;
            put.control->side.present = 1;
        }
    }
    __syncthreads();
#pragma unroll 4
    for (uint32_t j = threadIdx.x; j < shared->total; j += SCATTER_BLOCK) {
        uint32_t part = part_of<BITS>(put, partition, tile[j].key);
        uint32_t to = shared->to[part] + j;
        if (to < partition.room) {
            ((cell *)partition.staged)[part * partition.room + to] = tile[j];
        } else {
            sw_cuckoo_append((cell *)partition.overflow, &put.control->overflow, tile[j]);
        }
    }
}

/* --- 2 ---------------------------------------------------------------------------------------- */

/* As the cell's exchange, in shared memory. */
static __device__ __forceinline__ sw_cuckoo_cell_k32 exchange_shared(sw_cuckoo_cell_k32 *to,
                                                                     sw_cuckoo_cell_k32 entry)
{
    return sw_cuckoo_cell_of_k32(atomicExch((unsigned int *)to, entry.key), 0);
}

static __device__ __forceinline__ sw_cuckoo_cell_s64 exchange_shared(sw_cuckoo_cell_s64 *to,
                                                                     sw_cuckoo_cell_s64 entry)
{
    unsigned long long word = ((unsigned long long)entry.key << 32) | entry.value;
    word = atomicExch((unsigned long long *)to, word);
    return sw_cuckoo_cell_of_s64((uint32_t)(word >> 32), (uint32_t)word);
}

/* The first `cells` cells of a piece to or from shared memory. */
template <typename CELL>
static __device__ void copy_piece(CELL *to, const CELL *from, uint32_t cells)
{
    constexpr uint32_t PER_LOAD = 16 / sizeof(CELL);
    uint32_t whole = cells / PER_LOAD;
    for (uint32_t i = threadIdx.x; i < whole; i += FILL_BLOCK) {
        ((uint4 *)to)[i] = ((const uint4 *)from)[i];
    }
    for (uint32_t i = whole * PER_LOAD + threadIdx.x; i < cells; i += FILL_BLOCK) {
        to[i] = from[i];
    }
}

template <int BITS>
static __global__ void __launch_bounds__(FILL_BLOCK)
    fill_kernel(const sw_cuckoo_put<BITS> put, const sw_cuckoo_partition partition, bool is_empty)
{
    typedef sw_cuckoo_kind<BITS> kind;
    typedef typename kind::cell cell;
    extern __shared__ unsigned char memory[];
    __shared__ uint32_t taken_out;
    cell *piece = (cell *)memory;
    uint64_t first = (uint64_t)blockIdx.x << partition.part_of;
    uint64_t rest = put.view.shape.each - first;
    uint32_t cells = rest < (1ULL << partition.part_of) ? (uint32_t)rest : 1U << partition.part_of;
    cell *staged = (cell *)partition.staged + blockIdx.x * partition.room;
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
        copy_piece<cell>(piece, put.view.cells + first, cells);
    }
    __syncthreads();
    /* Rounds: what is taken out goes to the front of the staged entries, all of which up to there
     * have been read by then. */
    for (uint32_t round = 0; round < count; round += FILL_BLOCK) {
        uint32_t j = round + threadIdx.x;
        cell was = kind::cell_of(kind::ones, 0);
        if (j < count) {
            cell hand = staged[j];
            was = exchange_shared(
                piece + (kind::place(&put.view.shape, hand.key, 0, false) - first), hand);
            was.key = was.key == hand.key ? kind::ones : was.key; /* one copy of a key stays */
        }
        __syncthreads();
        if (was.key != kind::ones) {
            staged[atomicAdd(&taken_out, 1U)] = was;
        }
    }
    __syncthreads();
    copy_piece<cell>(put.view.cells + first, piece, cells);
    if (threadIdx.x == 0) {
        partition.filled[blockIdx.x] = taken_out;
    }
}

/* --- 3 ---------------------------------------------------------------------------------------- */

#define CARRY_KEYS 4

template <int BITS>
static __global__ void __launch_bounds__(SW_CUCKOO_BLOCK, 1)
    carry_kernel(const sw_cuckoo_put<BITS> put, const sw_cuckoo_partition partition)
{
    typedef sw_cuckoo_kind<BITS> kind;
    typedef typename kind::cell cell;
    const cell *staged = (const cell *)partition.staged + blockIdx.x * partition.room;
    uint32_t count = partition.filled[blockIdx.x];
    for (uint32_t base = threadIdx.x; base < count; base += SW_CUCKOO_BLOCK * CARRY_KEYS) {
        cell hand[CARRY_KEYS];
        uint32_t live = 0;
#pragma unroll
        for (int k = 0; k < CARRY_KEYS; k++) {
            if (base + k * SW_CUCKOO_BLOCK < count) {
                hand[k] = staged[base + k * SW_CUCKOO_BLOCK];
                live |= 1U << k;
            }
        }
        live = kind::insert_from(&put.view, hand, live, 1, CARRY_KEYS, put.view.shape.functions,
                                 false);
#pragma unroll
        for (int k = 0; k < CARRY_KEYS; k++) {
            if ((live >> k & 1) != 0) {
                sw_cuckoo_append(put.left, &put.control->left, hand[k]);
            }
        }
    }
}

/* --- host ------------------------------------------------------------------------------------- */

/* Room for the entries of a piece: as many as there are on average and six standard deviations. */
static uint64_t room_of(uint32_t batch_max, uint32_t parts)
{
    uint64_t mean = (batch_max + parts - 1) / parts;
    uint64_t deviation = 1;
    while (deviation * deviation < mean) {
        deviation++;
    }
    return (mean + 6 * deviation + 63) / 64 * 64;
}

template <int BITS> static cudaError_t allow_shared()
{
    cudaError_t error =
        cudaFuncSetAttribute(scatter_kernel<BITS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)sizeof(struct scatter_shared));
    return error != cudaSuccess
               ? error
               : cudaFuncSetAttribute(fill_kernel<BITS>,
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, PART_BYTES);
}

cudaError_t sw_cuckoo_partition_open(struct sw_cuckoo_partition *partition,
                                     const struct sw_cuckoo_config *config)
{
    uint64_t cell_bytes = config->cell_bits / 8;
    uint64_t part_cells = PART_BYTES / cell_bytes;
    *partition = sw_cuckoo_partition{};
    while (1ULL << partition->part_of < part_cells) {
        partition->part_of++;
    }
    partition->parts = (uint32_t)((config->cells_each + part_cells - 1) / part_cells);
    partition->room = room_of(config->batch_max, partition->parts);
    uint64_t staged = partition->parts * partition->room * cell_bytes;
    uint64_t overflow = config->batch_max * cell_bytes;
    partition->bytes = staged + overflow + PARTS_MAX * sizeof(uint32_t);
    cudaError_t error = config->cell_bits == 32 ? allow_shared<32>() : allow_shared<64>();
    if (error == cudaSuccess) {
        error = cudaMalloc(&partition->staged, staged);
    }
    if (error == cudaSuccess) {
        error = cudaMalloc(&partition->overflow, overflow);
    }
    if (error == cudaSuccess) {
        error = cudaMalloc((void **)&partition->filled, PARTS_MAX * sizeof(uint32_t));
    }
    if (error != cudaSuccess) {
        sw_cuckoo_partition_close(partition);
    }
    return error;
}

void sw_cuckoo_partition_close(struct sw_cuckoo_partition *partition)
{
    (void)cudaFree(partition->staged);
    (void)cudaFree(partition->overflow);
    (void)cudaFree(partition->filled);
    *partition = sw_cuckoo_partition{};
}

template <int BITS>
cudaError_t sw_cuckoo_put_partitioned(const struct sw_cuckoo_partition &partition,
                                      const sw_cuckoo_put<BITS> &put, bool is_empty,
                                      cudaStream_t stream)
{
    typedef typename sw_cuckoo_kind<BITS>::cell cell;
    constexpr uint32_t TILE = TILE_BYTES / sizeof(cell);
    if (put.count == 0) {
        return cudaSuccess;
    }
    cudaError_t error = cudaMemsetAsync(partition.filled, 0, PARTS_MAX * sizeof(uint32_t), stream);
    if (error != cudaSuccess) {
        return error;
    }
    scatter_kernel<BITS><<<(unsigned)((put.count + TILE - 1) / TILE), SCATTER_BLOCK,
                           sizeof(struct scatter_shared), stream>>>(put, partition);
    fill_kernel<BITS>
        <<<partition.parts, FILL_BLOCK, PART_BYTES, stream>>>(put, partition, is_empty);
    carry_kernel<BITS><<<partition.parts, SW_CUCKOO_BLOCK, 0, stream>>>(put, partition);
    error = cudaGetLastError();
    return error != cudaSuccess ? error
                                : sw_cuckoo_put_list<BITS>(put, (const cell *)partition.overflow,
                                                           &put.control->overflow, stream);
}

template cudaError_t sw_cuckoo_put_partitioned<32>(const struct sw_cuckoo_partition &,
                                                   const sw_cuckoo_put<32> &, bool, cudaStream_t);
template cudaError_t sw_cuckoo_put_partitioned<64>(const struct sw_cuckoo_partition &,
                                                   const sw_cuckoo_put<64> &, bool, cudaStream_t);
