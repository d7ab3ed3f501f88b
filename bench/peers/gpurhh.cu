/* SPDX-License-Identifier: MIT
 *
 * gpurhh.cu - adapter of GPURobinHoodHashing, with kernels of our own: the library has none.
 *
 * Slots of 64 bits only: the library's slots of 128 bits need cuda::atomic_ref of 16 bytes, which
 * does not compile with the libcu++ of CUDA 13.0.
 */
#include <thrust/count.h>
#include <thrust/execution_policy.h>

#include <gpurhh/hash_table.cuh>

#include "bench/peers/adapter.cuh"

/* More buckets than any probe sees, so that nothing is dropped before the table is full; its
 * default, 8, drops keys at high loads. */
#define MAX_PROBE_BUCKETS (1 << 20)

/* A bucket is a cache line, a tile a bucket: the library's defaults. */
#define LINE_BYTES 128
#define WARP_THREADS 32

/* The grid of its own benchmarks: 8 blocks of 256 threads a multiprocessor. Other block sizes get
 * the same number of threads. */
#define BLOCK_DEFAULT 256
#define BLOCK_MAX 1024
#define THREADS_PER_MULTIPROCESSOR 2048

using robin_table = gpurhh::HashTable<uint32_t, uint32_t, gpurhh::default_hash<uint32_t>,
                                      gpurhh::default_empty_key<uint32_t>::key, gpurhh::replace_op,
                                      LINE_BYTES, WARP_THREADS, MAX_PROBE_BUCKETS>;

#define TILE (robin_table::tile_size)

/* --- kernels ---------------------------------------------------------------------------------- */

/* A thread's tile, and how the tiles of the grid share operations: tile t does t, t + tiles, .. */
struct tile_work {
    cooperative_groups::thread_block_tile<TILE, cooperative_groups::thread_block> tile;
    uint64_t first;
    uint64_t tiles;

    __device__ tile_work()
        : tile(cooperative_groups::tiled_partition<TILE>(cooperative_groups::this_thread_block())),
          first(((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) / TILE),
          tiles((uint64_t)gridDim.x * blockDim.x / TILE)
    {
    }
};

struct pair_arrays {
    const uint32_t *keys;
    const uint32_t *values;
    uint64_t count;
};

/* A pair that finds no place is dropped: it, or one that it displaced. */
static __global__ void insert_kernel(robin_table::View table, struct pair_arrays pairs)
{
    tile_work work;
    for (uint64_t i = work.first; i < pairs.count; i += work.tiles) {
        (void)table.insert(work.tile, pairs.keys[i], pairs.values[i]);
    }
}

static __global__ void get_kernel(robin_table::View table, const uint32_t *keys, uint32_t *values,
                                  uint64_t count)
{
    tile_work work;
    for (uint64_t i = work.first; i < count; i += work.tiles) {
        auto found = table.get(work.tile, keys[i]);
        if (work.tile.thread_rank() == 0) {
            values[i] = found ? *found : UINT32_MAX;
        }
    }
}

/* The two kinds of pairs in turn, then the rest of the longer array: neighbouring tiles insert and
 * update at the same time. */
static __global__ void mixed_kernel(robin_table::View table, struct pair_arrays fresh,
                                    struct pair_arrays stored)
{
    tile_work work;
    uint64_t total = fresh.count + stored.count;
    uint64_t in_turn = 2 * (fresh.count < stored.count ? fresh.count : stored.count);
    for (uint64_t n = work.first; n < total; n += work.tiles) {
        bool is_fresh = n < in_turn ? n % 2 == 0 : fresh.count > stored.count;
        uint64_t i = n < in_turn ? n / 2 : n - in_turn / 2;
        const struct pair_arrays *from = is_fresh ? &fresh : &stored;
        (void)table.insert(work.tile, from->keys[i], from->values[i]);
    }
}

/* --- the table -------------------------------------------------------------------------------- */

struct robin {
    robin_table table;
    uint32_t block;
    uint32_t blocks_max;

    robin(const struct sw_timing_wanted *wanted, uint32_t block_size, uint32_t multiprocessors)
        : table(wanted->slots), block(block_size),
          blocks_max(multiprocessors * (THREADS_PER_MULTIPROCESSOR / block_size))
    {
    }

    uint32_t blocks_for(uint64_t count) const
    {
        uint64_t tiles = block / TILE;
        uint64_t blocks = (count + tiles - 1) / tiles;
        return blocks < blocks_max ? (uint32_t)blocks : blocks_max;
    }
};

static void *robin_open(const struct sw_timing_wanted *wanted, uint64_t *slots, char *reason,
                        size_t reason_size)
{
    int multiprocessors = 0;
    uint32_t block = wanted->block_size != 0 ? wanted->block_size : BLOCK_DEFAULT;
    if (block % WARP_THREADS != 0 || block > BLOCK_MAX) {
        snprintf(reason, reason_size, "blocks of %u threads: not a multiple of %d up to %d", block,
                 WARP_THREADS, BLOCK_MAX);
        return NULL;
    }
    cudaError_t error =
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, wanted->device);
    if (error != cudaSuccess) {
        snprintf(reason, reason_size, "counting multiprocessors: %s", cudaGetErrorString(error));
        return NULL;
    }
    robin *r = sw_peer_make<robin>(wanted, reason, reason_size, [&] {
        return new robin(wanted, block, (uint32_t)multiprocessors);
    });
    *slots = r != NULL ? r->table.capacity() : 0;
    return r;
}

static void robin_close(void *table)
{
    delete (robin *)table;
}

static bool robin_clear(void *table)
{
    return sw_peer_run("gpurhh: clear", [&] { ((robin *)table)->table.clear(); });
}

static bool robin_insert(void *table, const void *keys, const void *values, uint64_t count)
{
    robin *r = (robin *)table;
    struct pair_arrays pairs = {(const uint32_t *)keys, (const uint32_t *)values, count};
    return count == 0 || sw_peer_run("gpurhh: insert", [&] {
               insert_kernel<<<r->blocks_for(count), r->block>>>(r->table.view(), pairs);
           });
}

static bool robin_get(void *table, const void *keys, void *values, uint64_t count)
{
    robin *r = (robin *)table;
    return count == 0 || sw_peer_run("gpurhh: get", [&] {
               get_kernel<<<r->blocks_for(count), r->block>>>(
                   r->table.view(), (const uint32_t *)keys, (uint32_t *)values, count);
           });
}

struct is_occupied {
    __host__ __device__ bool operator()(const robin_table::Slot &slot) const
    {
        return slot.key != robin_table::empty_key;
    }
};

static bool robin_size(void *table, uint64_t *occupied)
{
    robin *r = (robin *)table;
    return sw_peer_run("gpurhh: size", [&] {
        /* the buckets are one array of slots: a bucket holds nothing else */
        const robin_table::Slot *slots = (const robin_table::Slot *)r->table.data();
        *occupied = (uint64_t)thrust::count_if(thrust::device, slots, slots + r->table.capacity(),
                                               is_occupied());
    });
}

static bool robin_insert_and_update(void *table, const void *fresh, const void *fresh_values,
                                    uint64_t fresh_count, const void *stored,
                                    const void *stored_values, uint64_t stored_count)
{
    robin *r = (robin *)table;
    uint64_t count = fresh_count + stored_count;
    struct pair_arrays one = {(const uint32_t *)fresh, (const uint32_t *)fresh_values, fresh_count};
    struct pair_arrays other = {(const uint32_t *)stored, (const uint32_t *)stored_values,
                                stored_count};
    return count == 0 || sw_peer_run("gpurhh: insert beside update", [&] {
               mixed_kernel<<<r->blocks_for(count), r->block>>>(r->table.view(), one, other);
           });
}

/* No erase: the library has none. */
static constexpr struct sw_timing_library library(void)
{
    struct sw_timing_library made = {};
    made.name = "gpurhh";
    made.version = SW_PEER_VERSION;
    made.slot_bits = 64;
    made.takes_block_size = true;
    made.open = robin_open;
    made.close = robin_close;
    made.clear = robin_clear;
    made.insert = robin_insert;
    made.get = robin_get;
    made.size = robin_size;
    made.insert_and_update = robin_insert_and_update;
    return made;
}

const struct sw_timing_library sw_timing_gpurhh = library();
