/* SPDX-License-Identifier: MIT
 *
 * id_map.cuh - the free ids of a table of ids (ids_backend.h) in device memory.
 *
 * Level 0 is a bitmap: bit i is set if id i is free. A word of a higher level is the number of free
 * ids in 32 neighbouring words of the level below it. The last level has at most 32 words. So a
 * thread finds the free id with a given number of lower free ids in one word of each level: many
 * threads select ids at once, and give the ids that ids.h gives one by one. Changes are atomic
 * operations that do not depend on their order (M6).
 *
 * Threads: write launches of the table, one after the other. One kernel, or one part of a block
 * between two barriers, either selects ids or changes the map.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_IDS_ID_MAP_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_IDS_ID_MAP_CUH

#include "table/device/warp_aggregate.cuh"

/* Ids are below 2^32, and 32^7 is more than that. */
#define SW_CUDA_ID_LEVELS_MAX 6U

struct sw_cuda_id_map {
    uint64_t limit; /* ids are 0 .. limit - 1 */
    uint32_t *levels[SW_CUDA_ID_LEVELS_MAX];
    uint32_t level_count;
};

/* Returns the words of a level of the map: its bits or counts, in whole groups of 32. */
static inline __host__ __device__ uint64_t sw_cuda_id_words(uint64_t limit, uint32_t level)
{
    uint64_t words = limit;
    for (uint32_t l = 0; l <= level; l++) {
        words = (words + 31) / 32;
    }
    return (words + 31) / 32 * 32;
}

static __device__ inline bool sw_id_is_free(const struct sw_cuda_id_map &map, uint32_t id)
{
    return id < map.limit && (map.levels[0][id / 32] >> id % 32 & 1) != 0;
}

/* Returns the free id below which exactly `rank` ids are free. There is one. */
static __device__ inline uint32_t sw_id_select(const struct sw_cuda_id_map &map, uint32_t rank)
{
    uint64_t at = 0;
    for (uint32_t level = map.level_count; --level > 0;) {
        at *= 32;
        for (uint32_t count = map.levels[level][at]; rank >= count;
             count = map.levels[level][++at]) {
            rank -= count;
        }
    }
    at *= 32;
    for (uint32_t count = __popc(map.levels[0][at]); rank >= count;
         count = __popc(map.levels[0][++at])) {
        rank -= count;
    }
    uint32_t bits = map.levels[0][at];
    for (; rank > 0; rank--) {
        bits &= bits - 1;
    }
    return (uint32_t)(at * 32) + (uint32_t)__ffs((int)bits) - 1;
}

/* Takes an id. Returns false if it was not free. Does not change the counts: call sw_id_count. */
static __device__ inline bool sw_id_take(const struct sw_cuda_id_map &map, uint32_t id)
{
    const uint32_t bit = 1U << id % 32;
    return id < map.limit && (atomicAnd(&map.levels[0][id / 32], ~bit) & bit) != 0;
}

/* Frees an id that was taken. Does not change the counts either. */
static __device__ inline void sw_id_free(const struct sw_cuda_id_map &map, uint32_t id)
{
    atomicOr(&map.levels[0][id / 32], 1U << id % 32);
}

/* Adds `change`, 1 or -1, to the counts of free ids above this id, where `mine`. One lane of a warp
 * adds for all whose ids have one count. All lanes. */
static __device__ inline void sw_id_count(const struct sw_cuda_id_map &map, uint32_t id, bool mine,
                                          int32_t change)
{
    for (uint32_t level = 1; level < map.level_count; level++) {
        const uint32_t at = (uint32_t)((uint64_t)id >> 5 * (level + 1));
        const uint32_t alike = __match_any_sync(SW_WARP_ALL, at) & __ballot_sync(SW_WARP_ALL, mine);
        if (mine && sw_warp_is_first(alike)) {
            atomicAdd(&map.levels[level][at], (uint32_t)(change * __popc(alike)));
        }
    }
}

#endif
