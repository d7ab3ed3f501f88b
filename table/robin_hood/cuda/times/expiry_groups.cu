/* SPDX-License-Identifier: MIT
 *
 * expiry_groups.cu - decides the effects of a batch's operations, from presence and expiry time, if
 * groups may be refused: for lack of room, or because key strings differ. Whether a group is
 * refused depends on the groups before it, so one thread carries out all operations in order on the
 * state of their keys. Then the engine gets no operation that it would refuse.
 */
#include "table/device/bits.cuh"
#include "table/robin_hood/cuda/key_strings/row_key_strings.cuh"
#include "table/robin_hood/cuda/times/expiry_step.cuh"

/* Reads the state of the keys before the batch. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    keys_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_expiry_view view,
                const struct sw_cuda_timed<BITS> batch)
{
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    const uint32_t p = blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    if (!sw_timed_is_first<BITS>(*scratch, batch.count, p)) {
        return;
    }
    const typename sw_width<BITS>::word m = scratch->m_sorted[p];
    const uint32_t first = scratch->index_sorted[p];
    const struct sw_cuda_keyed key = sw_timed_key<BITS>(device, view, m);
    view.present[first] = key.present;
    view.time[first] = key.at;
    view.time_before[first] = key.at;
    for (uint32_t q = p; q < batch.count && scratch->m_sorted[q] == m; q++) {
        view.first[scratch->index_sorted[q]] = first;
    }
}

/* The inputs of the decision about groups. */
template <int BITS> struct group_inputs {
    const struct sw_cuda_device<BITS> &device;
    const struct sw_cuda_expiry_view &view;
    const struct sw_cuda_rows &rows;
    const struct sw_cuda_timed<BITS> &batch;
    const struct sw_cuda_times_room &room;
    bool stash_full;
};

/* The state after the groups decided so far. */
struct group_state {
    uint64_t occupied, held; /* entries; entries that expire */
    struct sw_cuda_timed_sums sums;
};

/* Undoes the operations [first, i). */
template <int BITS>
static __device__ void take_back(const struct group_inputs<BITS> &of, uint32_t first, uint32_t i)
{
    const struct sw_cuda_expiry_view &view = of.view;
    while (i > first) {
        i--;
        view.present[view.first[i]] = view.was[i];
        view.time[view.first[i]] = view.before[i];
        if (of.rows.key_string_bytes > 0) {
            key_string_step_back(of.rows, i);
        }
    }
}

template <int BITS>
static __device__ bool has_room_for_times(const struct group_inputs<BITS> &of, uint64_t held,
                                          uint32_t first, uint32_t end)
{
    const struct sw_cuda_times_room &room = of.room;
    uint64_t given = 0;
    for (uint32_t i = first; i < end && !room.certain; i++) {
        given += sw_expiry_may_set(sw_timed_op<BITS>(of.batch, i),
                                   sw_time_wanted<BITS>(of.view, of.batch, i));
    }
    return !room.none && (given == 0 || (!room.stash_full && given <= room.held_max - held));
}

/* Carries out operation i, or returns why its group is refused. */
template <int BITS>
static __device__ inline enum sw_admission
decide_operation(const struct group_inputs<BITS> &of, uint32_t i, struct group_state *group_state)
{
    const struct sw_cuda_expiry_view &view = of.view;
    const struct sw_cuda_rows &rows = of.rows;
    const struct sw_cuda_timed<BITS> &batch = of.batch;
    const uint32_t k = view.first[i];
    const struct sw_cuda_keyed key = {view.present[k] != 0, view.time[k]};
    if (rows.key_string_bytes > 0 &&
        key_string_collides(rows, batch.parts, batch.part_count, i, *key_string_state(rows, i))) {
        return SW_REFUSED_COLLISION;
    }
    const struct sw_cuda_stepped step = sw_timed_step<BITS>(view, batch, i, key);
    if (step.inserts && (group_state->occupied >= of.device.table.occupied_max || of.stash_full)) {
        return SW_REFUSED_FULL;
    }
    sw_timed_answer<BITS>(view, batch, i, key, step);
    view.present[k] = step.after.present;
    view.time[k] = step.after.at;
    if (rows.key_string_bytes > 0) {
        key_string_step(rows, i, step.effect);
    }
    group_state->occupied += step.after.present;
    group_state->occupied -= key.present;
    group_state->held += step.after.at != 0;
    group_state->held -= key.at != 0;
    sw_timed_add(&group_state->sums, key, step);
    return SW_ADMITTED;
}

/* Carries out all operations of [first, end), or leaves the state unchanged if the group is
 * refused. */
template <int BITS>
static __device__ enum sw_admission decide_group(const struct group_inputs<BITS> &of,
                                                 uint32_t first, uint32_t end,
                                                 struct group_state *group_state)
{
    const struct group_state saved = *group_state;
    if (!has_room_for_times<BITS>(of, group_state->held, first, end)) {
        return SW_REFUSED_FULL;
    }
    for (uint32_t i = first; i < end; i++) {
        const enum sw_admission admission = decide_operation<BITS>(of, i, group_state);
        if (admission != SW_ADMITTED) {
            take_back<BITS>(of, first, i);
            *group_state = saved;
            return admission;
        }
    }
    return SW_ADMITTED;
}

/* Turns the operations [first, end) of a refused group into GETs. */
static __device__ void leave_out(const struct sw_cuda_expiry_view &view, uint32_t first,
                                 uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        view.ops[i] = SW_GET;
        view.silent[i] = 1;
        view.was[i] = 0;
        view.before[i] = 0;
    }
}

/* By one thread. */
template <int BITS>
static __global__ void
times_groups_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_expiry_view view,
                    const struct sw_cuda_rows rows, const struct sw_cuda_timed<BITS> batch,
                    const struct sw_cuda_times_room room)
{
    struct sw_cuda_expiry_control *control = view.control;
    const bool stash_full = device.table.state->stash_occupied > device.table.stash_max;
    const struct group_inputs<BITS> of = {
        device, view, rows, batch, room, stash_full
    };
    struct group_state group_state = {
        device.table.state->occupied, room.held, {0, 0, 0, SW_EXPIRY_NEVER}};
    for (uint32_t g = 0, first = 0; g < batch.group_count; g++) {
        const uint32_t end = batch.group_ends[g];
        const enum sw_admission admission = decide_group<BITS>(of, first, end, &group_state);
        view.refused[g] = (uint8_t)admission;
        control->refused += admission != SW_ADMITTED;
        if (admission != SW_ADMITTED) {
            leave_out(view, first, end);
        }
        first = end;
    }
    control->inserts = group_state.sums.inserts;
    control->expired = group_state.sums.expired;
    control->next = group_state.sums.next;
}

/* Lists the keys whose times the groups have changed. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    list_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_expiry_view view,
                const struct sw_cuda_timed<BITS> batch)
{
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    const uint32_t p = blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    struct sw_cuda_keyed after = {false, 0};
    uint64_t key = 0;
    bool other = false;
    if (sw_timed_is_first<BITS>(*scratch, batch.count, p)) {
        const uint32_t first = scratch->index_sorted[p];
        key = sw_width<BITS>::unmix(&device.table, scratch->m_sorted[p]);
        after.at = view.time[first];
        other = after.at != view.time_before[first];
    }
    sw_timed_list(view, other, key, after);
}

template <int BITS>
cudaError_t sw_cuda_launch_times_groups(const struct sw_cuda_device<BITS> *device,
                                        const struct sw_cuda_expiry_view *view,
                                        const struct sw_cuda_rows *rows,
                                        const struct sw_cuda_timed<BITS> *batch,
                                        const struct sw_cuda_times_room *room, cudaStream_t stream)
{
    const uint32_t blocks = sw_timed_blocks(batch->count);
    keys_kernel<BITS><<<blocks, SW_CUDA_BLOCK, 0, stream>>>(*device, *view, *batch);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) {
        times_groups_kernel<BITS><<<1, 1, 0, stream>>>(*device, *view, *rows, *batch, *room);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess) {
        list_kernel<BITS><<<blocks, SW_CUDA_BLOCK, 0, stream>>>(*device, *view, *batch);
        error = cudaGetLastError();
    }
    return error;
}

/* --- answers ---------------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    refuse_kernel(const struct sw_cuda_expiry_view view, uint32_t count, uint32_t group_count,
                  uint32_t *found, uint8_t *group_refused, int32_t *status)
{
    const uint32_t i = blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    if (i == 0) {
        *status = SW_E_FULL;
    }
    if (i < group_count) {
        group_refused[i] = view.refused[i];
    }
    sw_bits_answer<SW_CUDA_BLOCK>(found, count, blockIdx.x * SW_CUDA_BLOCK,
                                  i < count && view.was[i] != 0);
}

cudaError_t sw_cuda_launch_times_refuse(const struct sw_cuda_expiry_view *view, uint32_t count,
                                        uint32_t group_count, uint64_t *found,
                                        uint8_t *group_refused, int32_t *status,
                                        cudaStream_t stream)
{
    refuse_kernel<<<sw_timed_blocks(count), SW_CUDA_BLOCK, 0, stream>>>(
        *view, count, group_count, (uint32_t *)found, group_refused, status);
    return cudaGetLastError();
}

#define INSTANTIATE(BITS, ...)                                                   \
    template cudaError_t sw_cuda_launch_times_groups<BITS>(                      \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_expiry_view *, \
        const struct sw_cuda_rows *, const struct sw_cuda_timed<BITS> *,         \
        const struct sw_cuda_times_room *, cudaStream_t);
SW_WIDTHS(INSTANTIATE)
