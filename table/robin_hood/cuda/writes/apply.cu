/* SPDX-License-Identifier: MIT
 *
 * apply.cu - second half of a write batch: admits it, applies its net effects, reports.
 *
 * Order of the kernels: updates in place, removals, inserts (displace.cu). Rule 6 holds by M1.
 * Every kernel except the last returns at once unless the batch was admitted. The host reads
 * nothing between them.
 *
 * The grids fit the whole batch, since only the device knows the lengths of the lists.
 */
#include "table/device/bits.cuh"
#include "table/device/follow.cuh"
#include "table/robin_hood/cuda/device.cuh"
#include "table/robin_hood/cuda/displacement/displace.cuh"
#include "table/robin_hood/cuda/writes/report.cuh"

static __device__ inline uint64_t thread_number(void)
{
    return (uint64_t)blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
}

/* For a batch that may not fit: refuses it if it has one group and no deletes. Otherwise discards
 * its net effects, and chooses how its groups are decided: by admit.cu, or by one thread in
 * order. */
template <int BITS>
static __device__ inline void leave_undecided(const struct sw_cuda_device<BITS> &device,
                                              const struct sw_cuda_batch<BITS> &batch,
                                              bool has_room)
{
    struct sw_cuda_control *control = device.control;
    control->may_delete = control->counters.deleted != 0;
    memset(&control->counters, 0, sizeof(control->counters));
    if (batch.group_count == 1 && control->may_delete == 0) {
        control->mode = SW_CUDA_REFUSED;
        control->counters.refused = batch.count;
        if (batch.group_refused != NULL) {
            batch.group_refused[0] = 1;
        }
        return;
    }
    /* with empty groups there may be more groups than admit.cu has room for */
    const bool many = batch.group_count > device.scratch.groups.most;
    control->mode = has_room || many ? SW_CUDA_SERIAL : SW_CUDA_GROUPS;
    control->updates = 0;
    control->deletes = 0;
    control->deletes_in_stash = 0;
    control->inserts = 0;
    control->side_effect = SW_NET_NONE;
}

/* Decides by one thread whether to admit the batch, or leaves the decision to later kernels. The
 * decision is the same as if the operations were applied in order. A batch without inserts is never
 * refused. In a batch without deletes the number of entries only grows, so the final number
 * decides. After admit.cu has decided, everything that was folded since is admitted. All stores are
 * plain: only this thread runs, and later kernels read them (M1). */
template <int BITS>
static __global__ void admit_kernel(const struct sw_cuda_device<BITS> device,
                                    const struct sw_cuda_batch<BITS> batch, bool has_room)
{
    struct sw_cuda_control *control = device.control;
    struct sw_state *state = device.table.state;
    uint64_t inserted = control->counters.inserted;
    bool fits = state->occupied + inserted <= device.table.occupied_max &&
                state->stash_occupied <= device.table.stash_max;
    if (control->mode != SW_CUDA_UNDECIDED && control->mode != SW_CUDA_AGAIN) {
        return; /* this is the second call: the first call decided */
    }
    sw_note_stash(control, state);
    if (control->mode == SW_CUDA_UNDECIDED && inserted != 0 && !fits) {
        leave_undecided<BITS>(device, batch, has_room);
        return;
    }
    control->mode = SW_CUDA_ADMITTED;
    state->occupied += control->inserts;
    state->occupied -= control->deletes;
    state->stash_occupied -= control->deletes_in_stash;
    if (control->side_effect == SW_NET_DELETE) {
        state->side_present = 0;
        state->occupied--;
    } else if (control->side_effect != SW_NET_NONE) {
        state->occupied += control->side_effect == SW_NET_INSERT;
        state->side_present = 1;
        state->side_value = control->side_value;
    }
}

/* Updates values in place. No entry moves in this kernel (rule 6), and one thread has each slot
 * (M8). So it stores the value half of a slot alone. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    update_kernel(const struct sw_cuda_device<BITS> device)
{
    const struct sw_cuda_control *control = device.control;
    uint64_t i = thread_number();
    if (control->mode == SW_CUDA_ADMITTED && i < control->updates) {
        struct sw_cuda_update<BITS> update = device.scratch.updates[i];
        sw_width<BITS>::put_value(&device.table.main.slots[update.slot], update.value);
    }
}

/* Replaces removed entries by tombstones, before the entries are moved or compacted. One thread has
 * each slot (M8). */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    tombstone_kernel(const struct sw_cuda_device<BITS> device)
{
    const struct sw_cuda_control *control = device.control;
    uint64_t i = thread_number();
    if (control->mode == SW_CUDA_ADMITTED && i < control->deletes) {
        typename sw_width<BITS>::slot *slot =
            device.table.main.slots + device.scratch.deletes[i].slot;
        slot->m = sw_width<BITS>::empty;
        sw_width<BITS>::put_value(slot, 0);
    }
}

/* Applies the batch in order, group by group, by one thread. That is rare: only if the limit is
 * near. The operations are in the scratch (IN_SCRATCH), where net_effects.cu copied them, or in the
 * arrays of the batch. */
template <int BITS, bool IN_SCRATCH>
static __device__ inline void apply_in_order(const struct sw_cuda_device<BITS> &device,
                                             const struct sw_cuda_batch<BITS> &batch)
{
    struct sw_cuda_control *control = device.control;
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    typename sw_width<BITS>::work work = {};
    work.ops = batch.ops != NULL && IN_SCRATCH ? scratch->ops : batch.ops;
    work.op = batch.op;
    work.count = batch.count;
    work.keys = IN_SCRATCH ? scratch->keys : batch.keys;
    work.values = IN_SCRATCH ? scratch->operands : batch.values;
    work.expected = IN_SCRATCH ? batch.expected : NULL;
    work.previous = IN_SCRATCH ? scratch->previous : batch.previous;
    work.found = IN_SCRATCH ? scratch->found : (uint64_t *)batch.found;
    work.group_count = batch.group_count;
    work.group_ends = batch.group_ends;
    work.group_refused = batch.group_refused;
    work.undo = scratch->undo;
    work.leftovers = scratch->leftovers;
    sw_width<BITS>::execute_in_order(&device.table, &work, &control->counters);
    control->leftovers = work.leftover_count;
}

template <int BITS, bool IN_SCRATCH>
static __global__ void serial_kernel(const struct sw_cuda_device<BITS> device,
                                     const struct sw_cuda_batch<BITS> batch)
{
    if (device.control->mode == SW_CUDA_SERIAL) {
        apply_in_order<BITS, IN_SCRATCH>(device, batch);
    }
}

/* Clears all hints. Applying a batch in order removes entries without clearing their hints, so no
 * hint is valid afterwards. */
template <int BITS>
static __device__ inline void forget_all(const struct sw_cuda_device<BITS> &device, uint64_t first,
                                         uint64_t step)
{
    uint64_t count = sw_hint_count(device.table.main.buckets);
    for (uint64_t g = first; g < count; g += step) {
        device.hints[g] = 0;
    }
}

template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    forget_kernel(const struct sw_cuda_device<BITS> device)
{
    if (device.control->mode == SW_CUDA_SERIAL) {
        forget_all<BITS>(device, thread_number(), (uint64_t)gridDim.x * SW_CUDA_BLOCK);
    }
}

/* Resets the results of a rebuild, between a move and the batch that it was made for. The recorded
 * state of the stash stays. A move leaves no holes. */
template <int BITS> static __global__ void reset_kernel(const struct sw_cuda_device<BITS> device)
{
    device.control->rebuild_failed = 0;
    device.control->rebuild_off = 0;
    device.table.state->holes = 0;
}

/* Counts all entries as deleted, and zeroes the table's state, before the slots are set to
 * EMPTY. */
template <int BITS> static __global__ void clear_kernel(const struct sw_cuda_device<BITS> device)
{
    device.control->counters.deleted = device.table.state->occupied;
    sw_note_stash(device.control, device.table.state);
    memset(device.table.state, 0, sizeof(*device.table.state));
}

/* Copies the answers to the host and writes the record. M7: every block fences its answers before
 * it counts itself as done, and the last block writes the ticket. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    finish_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch)
{
    sw_cuda_follow();
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    uint64_t i = thread_number();
    if (i < batch.count && batch.previous != NULL) {
        batch.previous[i] = scratch->previous[i];
    }
    if (batch.found != NULL) {
        const uint32_t first = blockIdx.x * SW_CUDA_BLOCK;
        sw_bits_store(batch.found, batch.count, first, (uint32_t *)scratch->found + first / 32,
                      SW_CUDA_BLOCK / 32);
    }
    if (i < device.control->leftovers) {
        typename sw_width<BITS>::slot entry = scratch->leftovers[i];
        batch.leftover_keys[i] = sw_width<BITS>::unmix(&device.table, entry.m);
        batch.leftover_values[i] = sw_width<BITS>::value(entry);
    }
    if (sw_last_block(&device.control->blocks_done, gridDim.x)) {
        report_write(device.control, device.table.state, batch.record, batch.ticket,
                     batch.gathered);
    }
}

/* Ends a batch that was gathered and has no answers to copy. One block applies it in order if it
 * was not admitted as a whole, and writes the record. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    close_kernel(const __grid_constant__ struct sw_cuda_device<BITS> device,
                 const __grid_constant__ struct sw_cuda_batch<BITS> batch)
{
    sw_cuda_follow();
    const bool in_order = device.control->mode == SW_CUDA_SERIAL;
    if (in_order && threadIdx.x == 0) {
        apply_in_order<BITS, false>(device, batch);
    }
    if (in_order && device.hints != NULL) {
        forget_all<BITS>(device, threadIdx.x, SW_CUDA_BLOCK);
    }
    __syncthreads(); /* M2: thread 0 has set the state that all threads report */
    report_write(device.control, device.table.state, batch.record, batch.ticket, true);
}

/* The launchers. A kernel that fails to launch ends the sequence. */

/* Blocks of forget_kernel. It hardly ever has hints to clear. */
#define FORGET_BLOCKS 132

#define LAUNCH(error, kernel, blocks, threads, stream, ...)            \
    do {                                                               \
        if ((error) == cudaSuccess) {                                  \
            kernel<<<(blocks), (threads), 0, (stream)>>>(__VA_ARGS__); \
            (error) = cudaGetLastError();                              \
        }                                                              \
    } while (0)

static uint32_t blocks_for(uint32_t count)
{
    uint32_t blocks = (count + SW_CUDA_BLOCK - 1) / SW_CUDA_BLOCK;
    return blocks > 0 ? blocks : 1;
}

template <int BITS, bool IN_SCRATCH>
static cudaError_t launch_serial(const struct sw_cuda_device<BITS> *device,
                                 const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream)
{
    serial_kernel<BITS, IN_SCRATCH><<<1, 1, 0, stream>>>(*device, *batch);
    cudaError_t error = cudaGetLastError();
    if (device->hints != NULL) {
        LAUNCH(error, forget_kernel<BITS>, FORGET_BLOCKS, SW_CUDA_BLOCK, stream, *device);
    }
    return error;
}

template <int BITS>
cudaError_t sw_cuda_launch_serial(const struct sw_cuda_device<BITS> *device,
                                  const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream)
{
    return launch_serial<BITS, false>(device, batch, stream);
}

template <int BITS>
cudaError_t sw_cuda_launch_apply(const struct sw_cuda_device<BITS> *device,
                                 const struct sw_cuda_batch<BITS> *batch, bool may_delete,
                                 bool has_room, cudaStream_t stream)
{
    uint32_t blocks = blocks_for(batch->count);
    cudaError_t error = cudaSuccess;
    LAUNCH(error, admit_kernel<BITS>, 1, 1, stream, *device, *batch, has_room);
    if (!has_room && (may_delete || batch->group_count > 1)) {
        error = error == cudaSuccess ? sw_cuda_launch_groups<BITS>(device, batch, stream) : error;
        error =
            error == cudaSuccess ? sw_cuda_launch_fold_again<BITS>(device, batch, stream) : error;
        LAUNCH(error, admit_kernel<BITS>, 1, 1, stream, *device, *batch, has_room);
    }
    LAUNCH(error, update_kernel<BITS>, blocks, SW_CUDA_BLOCK, stream, *device);
    if (may_delete) {
        error = error == cudaSuccess ? sw_cuda_launch_removals<BITS>(device, batch->count, stream)
                                     : error;
    }
    if (error == cudaSuccess && (batch->ops != NULL || batch->op != SW_DELETE)) {
        error = sw_cuda_launch_inserts<BITS>(device, batch->count, stream);
    }
    if (may_delete || batch->group_count > 1) {
        error = error == cudaSuccess ? launch_serial<BITS, true>(device, batch, stream) : error;
    }
    return error;
}

template <int BITS>
cudaError_t sw_cuda_launch_tombstones(const struct sw_cuda_device<BITS> *device,
                                      const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    LAUNCH(error, admit_kernel<BITS>, 1, 1, stream, *device, *batch, true);
    if constexpr (sw_width<BITS>::is_set) {
        return error == cudaSuccess
                   ? sw_cuda_launch_holes_rebuilt<BITS>(device, batch->count, stream)
                   : error;
    } else {
        LAUNCH(error, tombstone_kernel<BITS>, blocks_for(batch->count), SW_CUDA_BLOCK, stream,
               *device);
        return error;
    }
}

template <int BITS>
cudaError_t sw_cuda_launch_close(const struct sw_cuda_device<BITS> *device,
                                 const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream)
{
    return sw_cuda_launch_following(true, close_kernel<BITS>, 1, SW_CUDA_BLOCK, stream, *device,
                                    *batch);
}

template <int BITS>
cudaError_t sw_cuda_launch_clear(const struct sw_cuda_device<BITS> *device, uint64_t slots_total,
                                 cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    LAUNCH(error, clear_kernel<BITS>, 1, 1, stream, *device);
    if (error == cudaSuccess) {
        error = cudaMemsetAsync(device->table.main.slots, 0xFF,
                                slots_total * sizeof(typename sw_width<BITS>::slot), stream);
    }
    if (error == cudaSuccess && device->hints != NULL) {
        error =
            cudaMemsetAsync(device->hints, 0, sw_hint_count(device->table.main.buckets), stream);
    }
    return error;
}

template <int BITS>
cudaError_t sw_cuda_launch_reset(const struct sw_cuda_device<BITS> *device, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    LAUNCH(error, reset_kernel<BITS>, 1, 1, stream, *device);
    return error;
}

template <int BITS>
cudaError_t sw_cuda_launch_finish(const struct sw_cuda_device<BITS> *device,
                                  const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream)
{
    return sw_cuda_launch_following(true, finish_kernel<BITS>, blocks_for(batch->count),
                                    SW_CUDA_BLOCK, stream, *device, *batch);
}

#define INSTANTIATE(BITS, ...)                                                                     \
    template cudaError_t sw_cuda_launch_apply<BITS>(const struct sw_cuda_device<BITS> *,           \
                                                    const struct sw_cuda_batch<BITS> *, bool,      \
                                                    bool, cudaStream_t);                           \
    template cudaError_t sw_cuda_launch_serial<BITS>(                                              \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_batch<BITS> *, cudaStream_t);    \
    template cudaError_t sw_cuda_launch_close<BITS>(                                               \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_batch<BITS> *, cudaStream_t);    \
    template cudaError_t sw_cuda_launch_clear<BITS>(const struct sw_cuda_device<BITS> *, uint64_t, \
                                                    cudaStream_t);                                 \
    template cudaError_t sw_cuda_launch_reset<BITS>(const struct sw_cuda_device<BITS> *,           \
                                                    cudaStream_t);                                 \
    template cudaError_t sw_cuda_launch_finish<BITS>(                                              \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_batch<BITS> *, cudaStream_t);    \
    template cudaError_t sw_cuda_launch_tombstones<BITS>(                                          \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_batch<BITS> *, cudaStream_t);
SW_FORMATS(INSTANTIATE)
