/* SPDX-License-Identifier: MIT
 *
 * decide.cuh - a part of admit.cu: admits or refuses groups in order, when the needs of all groups
 * are known. A group is admitted if the groups before it leave enough room.
 *
 * A group of one operation is a function of the room, y -> max(y + gain, least). Such functions
 * compose, so each block decides a part of the groups. If some group has more operations, there are
 * fewer groups, and one block decides all of them.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_DECIDE_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_DECIDE_CUH

#include <cooperative_groups.h>
#include <cub/block/block_scan.cuh>

#include "table/robin_hood/cuda/device.cuh"
#include "table/robin_hood/cuda/writes/admit.cuh"

#define ADMIT_BLOCK 512
/* A block has at least one thread per earlier block, so it can join their changes in one scan. */
#define ADMIT_BLOCKS_MAX ADMIT_BLOCK
/* With at most FEW_GROUPS groups, blocks first count inserts and deletes in shared memory. */
#define FEW_GROUPS 1024
#define NONE UINT32_MAX
/* Lower than any value of the room: a batch has at most 2^28 operations. */
#define NO_PEAK (-(1 << 30))

/* A change of the room y: y -> max(y + gain, least). */
struct change {
    int32_t gain;
    int32_t least;
};

struct join_changes {
    __device__ struct change operator()(const struct change &first,
                                        const struct change &second) const
    {
        return {first.gain + second.gain, max(first.least + second.gain, second.least)};
    }
};

typedef cub::BlockScan<struct change, ADMIT_BLOCK> change_scan;

static __device__ inline int32_t change_room(struct change change, int32_t room)
{
    return max(room + change.gain, change.least);
}

struct admit_memory {
    typename change_scan::TempStorage scan;
    uint32_t inserts[FEW_GROUPS];
    uint32_t deletes[FEW_GROUPS];
    int32_t peak[ADMIT_BLOCK]; /* peaks of a tile that one thread decides; later 1: refused */
    int32_t net[ADMIT_BLOCK];
    uint32_t first;
    int32_t room;
};

/* The needs of a group: its most additional entries while it runs (peak), and after it (net). */
struct need {
    int32_t peak;
    int32_t net;
};

/* A round. All threads have the same copy. */
struct round {
    uint32_t number;
    uint32_t guessed; /* this round assumes that all groups after this one are refused; NONE: no
                         such assumption */
    bool deletes;     /* some operation deletes if all groups are admitted */
    bool units;       /* each group has at most one operation */
    bool no_inserts;  /* the stash is too full */
};

static __device__ inline bool assumed_refused(const struct sw_cuda_groups *groups,
                                              const struct round &round, uint32_t g)
{
    return groups->refused[g] != 0 || (round.guessed != NONE && g > round.guessed);
}

/* Returns the needs of group g, or none after the last group. */
static __device__ inline struct need need_of(const struct sw_cuda_groups *groups,
                                             const struct round &round, uint32_t count, uint32_t g)
{
    if (g >= count) {
        return {0, 0};
    }
    const int32_t inserts = (int32_t)groups->inserts[g];
    const int32_t deletes = (int32_t)groups->deletes[g];
    /* if no entry may be inserted, none may replace a deleted entry either */
    const bool alone = inserts == 0 || deletes == 0 || round.no_inserts;
    const int32_t peak = alone ? inserts : groups->peaks[g];
    return {peak, round.no_inserts ? 0 : inserts - deletes};
}

/* Returns the change of the room by a group of one operation. */
static __device__ inline struct change change_of(struct need need)
{
    return {-need.net, need.peak > 0 ? 0 : NO_PEAK};
}

/* Decides the groups of a tile in order, by one thread. */
static __device__ inline void decide_in_order(struct admit_memory *memory, int32_t room)
{
    for (uint32_t t = 0; t < ADMIT_BLOCK; t++) {
        const bool refused = memory->peak[t] > 0 && memory->peak[t] > room;
        room -= refused ? 0 : memory->net[t];
        memory->peak[t] = refused;
    }
    memory->room = room;
}

/* Decides groups of any size, one per thread, and subtracts the admitted groups' needs from *room.
 * Returns whether this thread's group is refused. All threads of the block must call it. */
static __device__ inline bool decide_tile(struct admit_memory *memory, struct need need,
                                          bool deletes, int32_t *room)
{
    bool refused = false;
    for (;;) {
        const struct change nothing = {0, NO_PEAK};
        const struct change own = {refused ? 0 : -need.net, NO_PEAK};
        struct change before;
        struct change all;
        change_scan(memory->scan).ExclusiveScan(own, before, nothing, join_changes(), all);
        if (threadIdx.x == 0) {
            memory->first = ADMIT_BLOCK;
        }
        __syncthreads(); /* M2: `first` is set */
        const int32_t left = *room + before.gain;
        if (!refused && need.peak > 0 && need.peak > left) {
            atomicMin(&memory->first, threadIdx.x);
        }
        __syncthreads(); /* M2: `first` is the minimum */
        const uint32_t first = memory->first;
        if (first == ADMIT_BLOCK) { /* the rest fits */
            *room += all.gain;
            return refused;
        }
        if (deletes) {
            memory->peak[threadIdx.x] = need.peak;
            memory->net[threadIdx.x] = need.net;
        }
        if (threadIdx.x == first) {
            memory->room = left;
        }
        __syncthreads(); /* M2: `room`, and the arrays for thread 0 */
        if (!deletes) {  /* without deletes, later groups have no more room than this one */
            refused |= threadIdx.x >= first && need.peak > memory->room;
            continue;
        }
        if (threadIdx.x == 0) {
            decide_in_order(memory, *room);
        }
        __syncthreads(); /* M2: thread 0 has decided */
        *room = memory->room;
        return memory->peak[threadIdx.x] != 0;
    }
}

/* The same, for groups of one operation. */
static __device__ inline bool decide_units(struct admit_memory *memory, struct need need,
                                           int32_t *room)
{
    const struct change nothing = {0, NO_PEAK};
    struct change before;
    struct change all;
    change_scan(memory->scan).ExclusiveScan(change_of(need), before, nothing, join_changes(), all);
    __syncthreads(); /* M2: before `scan` is used again */
    const bool refused = need.peak > 0 && need.peak > change_room(before, *room);
    *room = change_room(all, *room);
    return refused;
}

/* Writes the decision on a group, and records whether it differs from the last round's. Clears the
 * group's counts for the next round. One thread has the group (M8); admit_news is a word (M6). */
static __device__ inline void write_decision(struct sw_cuda_control *control,
                                             const struct sw_cuda_groups *groups,
                                             const struct round &round, uint32_t count, uint32_t g,
                                             bool refused)
{
    const bool is_news = g < count && refused != assumed_refused(groups, round, g);
    const uint32_t news = __ballot_sync(SW_WARP_ALL, is_news);
    if (news != 0 && threadIdx.x % 32 == (uint32_t)__ffs((int)news) - 1) {
        control->admit_news[round.number % 4] = 1;
        atomicMax(&control->first_news, ~g); /* used after the first round: the first refused
                                                group */
    }
    if (g < count) {
        groups->refused[g] = refused;
        groups->inserts[g] = 0;
        groups->deletes[g] = 0;
    }
}

/* Decides groups [first, end), in tiles. All threads of the block must call it. */
static __device__ inline void decide(struct sw_cuda_control *control,
                                     const struct sw_cuda_groups *groups, const struct round &round,
                                     struct admit_memory *memory, uint32_t first, uint32_t end,
                                     int32_t room)
{
    struct need next = need_of(groups, round, end, first + threadIdx.x);
    for (uint32_t from = first; from < end; from += ADMIT_BLOCK) {
        const struct need need = next;
        next = need_of(groups, round, end, from + ADMIT_BLOCK + threadIdx.x); /* loads the next tile
                                                                                 early */
        const bool refused = round.units ? decide_units(memory, need, &room)
                                         : decide_tile(memory, need, round.deletes, &room);
        write_decision(control, groups, round, end, from + threadIdx.x, refused);
    }
}

/* Returns the change of the room by all groups of a block. */
static __device__ inline struct change join_part(const struct sw_cuda_groups *groups,
                                                 const struct round &round,
                                                 struct admit_memory *memory, uint32_t first,
                                                 uint32_t end)
{
    const struct change nothing = {0, NO_PEAK};
    struct change joined = nothing;
    for (uint32_t from = first; from < end; from += ADMIT_BLOCK) {
        struct change before;
        struct change all;
        change_scan(memory->scan)
            .ExclusiveScan(change_of(need_of(groups, round, end, from + threadIdx.x)), before,
                           nothing, join_changes(), all);
        __syncthreads(); /* M2: before `scan` is used again */
        joined = join_changes()(joined, all);
    }
    return joined;
}

/* Decides groups of one operation, each block a part of them. All threads of the grid must call
 * it. */
static __device__ inline void
decide_by_parts(cooperative_groups::grid_group grid, struct sw_cuda_control *control,
                const struct sw_cuda_groups *groups, const struct round &round,
                struct admit_memory *memory, uint32_t count, int32_t room)
{
    const uint32_t tiles = (count + ADMIT_BLOCK - 1) / ADMIT_BLOCK;
    const uint32_t part = (tiles + gridDim.x - 1) / gridDim.x * ADMIT_BLOCK;
    const uint32_t first = min(blockIdx.x * part, count);
    const uint32_t end = min(first + part, count);
    struct change *changes = (struct change *)groups->peaks; /* groups of one operation do not use
                                                                `peaks` */
    const struct change nothing = {0, NO_PEAK};
    if (first < end) {
        const struct change own = join_part(groups, round, memory, first, end);
        if (threadIdx.x == 0) {
            changes[blockIdx.x] = own;
        }
    }
    grid.sync(); /* M4: the changes of all blocks */
    if (first < end) {
        const struct change other = threadIdx.x < blockIdx.x ? changes[threadIdx.x] : nothing;
        struct change unused;
        struct change before;
        change_scan(memory->scan).ExclusiveScan(other, unused, nothing, join_changes(), before);
        __syncthreads(); /* M2: before decide() uses `scan` */
        decide(control, groups, round, memory, first, end, change_room(before, room));
    }
}
static_assert(sizeof(struct change) <= ADMIT_BLOCK * sizeof(int32_t), "one a tile has room");

#endif
