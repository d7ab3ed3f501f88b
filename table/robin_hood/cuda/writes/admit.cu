/* SPDX-License-Identifier: MIT
 *
 * admit.cu - decides which groups of a batch are refused if the limit may refuse some. All threads
 * together compute the decisions that one thread would make if it applied the groups in order.
 *
 * Whether an operation inserts or deletes depends on the earlier operations on the same key, and on
 * which of their groups were refused. So the kernel runs rounds. A round assumes that the groups
 * refused in the last round are refused. First it computes the effect of each operation from the
 * operations before it on the same key. A refused group counts as tried and rolled back. Then it
 * decides the groups in order, by the room that earlier groups leave. A round that makes the same
 * decisions as the round before is right. Otherwise there would be a first wrong group, and its
 * decision would rest on right decisions only. A round is right at least up to the first group that
 * the round before decided wrongly. The first round assumes that all groups are admitted. The
 * second round assumes that all groups after the first refused one are refused. On a full table
 * that is nearly always right.
 */
#include "table/device/cooperative_blocks.cuh"
#include "table/robin_hood/cuda/writes/decide.cuh"

/* Limits of the number of rounds. More rounds would take as long as one thread. */
#define ROUNDS_MIN 16U
#define ROUNDS_MAX 256U
#define OPERATIONS_A_ROUND 16

/* --- the operations --------------------------------------------------------------------------- */

/* Copies the ends of the groups, and clears the counts. */
template <int BITS>
static __device__ inline void copy_groups(const struct sw_cuda_device<BITS> &device,
                                          const struct sw_cuda_batch<BITS> &batch, uint32_t start,
                                          uint32_t step)
{
    const struct sw_cuda_groups *groups = &device.scratch.groups;
    for (uint32_t g = start; g < batch.group_count; g += step) {
        const bool one = batch.group_count == 1;
        const uint32_t end = one ? batch.count : batch.group_ends[g];
        const uint32_t begin = g == 0 ? 0 : batch.group_ends[g - 1];
        if (end - begin > 1) {
            device.control->larger_groups = 1;
        }
        groups->ends[g] = end;
        groups->refused[g] = 0;
        groups->inserts[g] = 0;
        groups->deletes[g] = 0;
    }
    for (uint64_t word = start; word < ((uint64_t)batch.count + 63) / 64; word += step) {
        device.scratch.found[word] = 0; /* the batch will be folded again */
    }
}

/* Returns the first group that ends after operation i: the group of the operation. */
static __device__ inline uint32_t group_of(const struct sw_cuda_groups *groups, uint32_t count,
                                           uint32_t i)
{
    uint32_t low = 0;
    uint32_t high = count - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (groups->ends[middle] > i) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Writes the claim of each operation, in the order of the sorted batch. */
template <int BITS>
static __device__ inline void make_claims(const struct sw_cuda_device<BITS> &device,
                                          const struct sw_cuda_batch<BITS> &batch, uint32_t start,
                                          uint32_t step)
{
    typedef sw_width<BITS> W;
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    for (uint32_t i = start; i < batch.count; i += step) {
        const typename W::word m = scratch->m_sorted[i];
        const uint32_t index = scratch->index_sorted[i];
        const uint32_t op = batch.ops != NULL ? scratch->ops[index] : batch.op;
        uint32_t claim = group_of(&scratch->groups, batch.group_count, index);
        typename W::word out = 0;
        uint64_t probes = 0;
        const bool skipped = sw_is_skipped<BITS>(batch, index);
        if (!skipped &&
            W::decide(op, false, 0, scratch->operands[index], &out) == SW_EFFECT_WRITE) {
            claim |= SW_CLAIM_INSERTS;
        }
        if (!skipped && op == SW_DELETE) {
            claim |= SW_CLAIM_DELETES;
        }
        if ((i == 0 || scratch->m_sorted[i - 1] != m) &&
            W::locate_hinted(&device.table, device.hints, m, &probes).found) {
            claim |= SW_CLAIM_PRESENT;
        }
        scratch->groups.claims[i] = claim;
    }
}

/* Computes the effects of the operations on the key at position i of the sorted batch, and counts
 * them per group. */
template <int BITS>
static __device__ inline void count_run_effects(const struct sw_cuda_scratch<BITS> &scratch,
                                                uint32_t count, const struct round &round,
                                                uint32_t i, uint32_t *inserts, uint32_t *deletes)
{
    const struct sw_cuda_groups *groups = &scratch.groups;
    const typename sw_width<BITS>::word m = scratch.m_sorted[i];
    bool exists = (groups->claims[i] & SW_CLAIM_PRESENT) != 0;
    bool before = exists; /* before the group */
    bool refused = false;
    uint32_t group = NONE;
    for (uint32_t j = i; j < count && scratch.m_sorted[j] == m; j++) {
        const uint32_t claim = groups->claims[j];
        if ((claim & SW_CLAIM_GROUP) != group) {
            group = claim & SW_CLAIM_GROUP;
            exists = refused ? before : exists;
            before = exists;
            refused = assumed_refused(groups, round, group);
        }
        const bool leaves = exists && (claim & SW_CLAIM_DELETES) != 0;
        const bool enters = !exists && (claim & SW_CLAIM_INSERTS) != 0;
        if (enters) {
            atomicAdd(&inserts[group], 1U); /* M6: a count */
        }
        if (leaves) {
            atomicAdd(&deletes[group], 1U);
        }
        if (round.deletes) {
            groups->effects[scratch.index_sorted[j]] = (int8_t)(enters - leaves);
        }
        exists = exists ? !leaves : enters;
    }
}

/* Computes the effects of all operations, and counts them per group. All threads of the block must
 * call it. */
template <int BITS>
static __device__ inline void
count_effects(const struct sw_cuda_scratch<BITS> &scratch, const struct sw_cuda_batch<BITS> &batch,
              const struct round &round, struct admit_memory *memory, uint32_t start, uint32_t step)
{
    const struct sw_cuda_groups *groups = &scratch.groups;
    const bool few = batch.group_count <= FEW_GROUPS;
    for (uint32_t g = threadIdx.x; few && g < batch.group_count; g += ADMIT_BLOCK) {
        memory->inserts[g] = 0;
        memory->deletes[g] = 0;
    }
    __syncthreads(); /* M2: the counts are zero */
    for (uint32_t i = start; i < batch.count; i += step) {
        if (i == 0 || scratch.m_sorted[i - 1] != scratch.m_sorted[i]) {
            count_run_effects<BITS>(scratch, batch.count, round, i,
                                    few ? memory->inserts : groups->inserts,
                                    few ? memory->deletes : groups->deletes);
        }
    }
    __syncthreads(); /* M2: the counts of all threads */
    for (uint32_t g = threadIdx.x; few && g < batch.group_count; g += ADMIT_BLOCK) {
        if (memory->inserts[g] != 0) {
            atomicAdd(&groups->inserts[g], memory->inserts[g]);
        }
        if (memory->deletes[g] != 0) {
            atomicAdd(&groups->deletes[g], memory->deletes[g]);
        }
    }
}

/* For groups that insert and delete: computes the most additional entries while the group runs. One
 * warp per group. */
static __device__ inline void find_peaks(const struct sw_cuda_groups *groups, uint32_t count,
                                         uint32_t start, uint32_t step)
{
    const uint32_t lane = threadIdx.x % 32;
    for (uint32_t g = start / 32; g < count; g += step / 32) {
        if (groups->inserts[g] == 0 || groups->deletes[g] == 0) {
            continue;
        }
        const uint32_t end = groups->ends[g];
        int32_t before = 0;
        int32_t peak = 0;
        for (uint32_t from = g == 0 ? 0 : groups->ends[g - 1]; from < end; from += 32) {
            const int32_t effect = from + lane < end ? groups->effects[from + lane] : 0;
            const uint32_t enter = __ballot_sync(SW_WARP_ALL, effect > 0);
            const uint32_t leave = __ballot_sync(SW_WARP_ALL, effect < 0);
            const uint32_t to_here = 0xffffffffU >> (31 - lane);
            if (effect > 0) {
                peak = max(peak, before + __popc(enter & to_here) - __popc(leave & to_here));
            }
            before += __popc(enter) - __popc(leave);
        }
        peak = sw_reduce_max(peak);
        if (lane == 0) {
            groups->peaks[g] = peak;
        }
    }
}

/* --- the rounds ------------------------------------------------------------------------------- */

/* Runs one round. Returns true if it makes the same decisions as the round before. All threads of
 * the grid must call it. */
template <int BITS>
static __device__ inline bool decide_round(cooperative_groups::grid_group grid,
                                           const struct sw_cuda_device<BITS> &device,
                                           const struct sw_cuda_batch<BITS> &batch,
                                           const struct round &round, struct admit_memory *memory)
{
    const struct sw_cuda_groups *groups = &device.scratch.groups;
    const struct sw_state *state = device.table.state;
    struct sw_cuda_control *control = device.control;
    const uint32_t start = blockIdx.x * ADMIT_BLOCK + threadIdx.x;
    const uint32_t step = gridDim.x * ADMIT_BLOCK;
    const uint64_t most = device.table.occupied_max;
    uint64_t room = state->occupied < most && !round.no_inserts ? most - state->occupied : 0;
    room = min(room, (uint64_t)batch.count);
    if (start == 0) {
        control->admit_news[(round.number + 1) % 4] = 0; /* last read three rounds ago; the barriers
                                                            of the rounds between order the two
                                                            accesses (M4) */
    }
    count_effects<BITS>(device.scratch, batch, round, memory, start, step);
    grid.sync(); /* M4: effects and counts of all groups */
    if (round.deletes && !round.units) {
        find_peaks(groups, batch.group_count, start, step);
        grid.sync(); /* M4: the peaks */
    }
    if (round.units) {
        decide_by_parts(grid, control, groups, round, memory, batch.group_count, (int32_t)room);
    } else if (blockIdx.x == 0) {
        decide(control, groups, round, memory, 0, batch.group_count, (int32_t)room);
    }
    grid.sync(); /* M4: the decisions, and admit_news */
    return control->admit_news[round.number % 4] == 0;
}

template <int BITS>
static __global__ void __launch_bounds__(ADMIT_BLOCK, 1)
    groups_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch)
{
    __shared__ struct admit_memory memory;
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    const struct sw_cuda_groups *groups = &device.scratch.groups;
    struct sw_cuda_control *control = device.control;
    const uint32_t start = blockIdx.x * ADMIT_BLOCK + threadIdx.x;
    const uint32_t step = gridDim.x * ADMIT_BLOCK;
    if (control->mode != SW_CUDA_GROUPS) {
        return;
    }
    copy_groups<BITS>(device, batch, start, step);
    grid.sync(); /* M4: groups and operations are copied */
    make_claims<BITS>(device, batch, start, step);
    grid.sync(); /* M4: the claims */
    struct round round = {0, NONE, control->may_delete != 0, control->larger_groups == 0,
                          device.table.state->stash_occupied > device.table.stash_max};
    const uint32_t most = min(ROUNDS_MAX, ROUNDS_MIN + batch.count / OPERATIONS_A_ROUND);
    bool decided = false;
    for (; !decided && round.number < most; round.number++) {
        decided = decide_round<BITS>(grid, device, batch, round, &memory);
        round.guessed = round.number == 0 ? ~control->first_news : NONE;
    }
    for (uint32_t g = start; decided && batch.group_refused != NULL && g < batch.group_count;
         g += step) {
        if (groups->refused[g] != 0) {
            batch.group_refused[g] = 1;
        }
    }
    if (start == 0) {
        control->mode = decided ? SW_CUDA_AGAIN : SW_CUDA_SERIAL;
    }
}

template <int BITS>
cudaError_t sw_cuda_launch_groups(const struct sw_cuda_device<BITS> *device,
                                  const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream)
{
    struct sw_cuda_device<BITS> to = *device;
    struct sw_cuda_batch<BITS> what = *batch;
    void *arguments[] = {&to, &what};
    uint32_t blocks;
    cudaError_t error = sw_cuda_cooperative_blocks(groups_kernel<BITS>, ADMIT_BLOCK,
                                                   device->multiprocessors, 1, &blocks);
    if (error != cudaSuccess) {
        return error;
    }
    blocks = blocks < ADMIT_BLOCKS_MAX ? blocks : ADMIT_BLOCKS_MAX;
    blocks = sw_cuda_cooperative_grid(device, blocks);
    return cudaLaunchCooperativeKernel((const void *)groups_kernel<BITS>, dim3(blocks),
                                       dim3(ADMIT_BLOCK), arguments, 0, stream);
}

#define INSTANTIATE(BITS, ...)                        \
    template cudaError_t sw_cuda_launch_groups<BITS>( \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_batch<BITS> *, cudaStream_t);
SW_FORMATS(INSTANTIATE)
