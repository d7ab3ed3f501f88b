/* SPDX-License-Identifier: MIT
 *
 * write_timed.cu - a launch of one batch that concerns expiry times (expiry.cuh): its steps, and
 * the decisions of the host between them.
 */
#include "table/device/direct.cuh"
#include "table/robin_hood/cuda/times/expiry.cuh"

#include <stdlib.h>
#include <string.h>

/* The parameters of a launch, for its steps. */
struct timed {
    struct sw_cuda_queue *queue;
    struct sw_combined_launch *combined;
    struct sw_batch *batch; /* the only part of `combined` */
    struct sw_cuda_mix mix;
    uint64_t ticket;
};

static struct sw_cuda_table *table_of(const struct timed *launch)
{
    return launch->queue->table;
}

static bool keeps_key_strings(const struct sw_cuda_table *table)
{
    return table->config.key_text_bytes > 0;
}

template <int BITS> static struct sw_cuda_timed<BITS> timed_of(const struct timed *launch) {
    typedef typename sw_width<BITS>::word word;
    const struct sw_batch *whole = &launch->combined->whole;
    const struct sw_cuda_combined *memory = &table_of(launch)->combined;
    struct sw_cuda_timed<BITS> timed = {
    };
    timed.count = whole->count;
    timed.op = whole->op;
    timed.ops = whole->ops;
    timed.keys = (const word *)whole->keys;
    timed.rows = sw_cuda_has_rows(table_of(launch));
    timed.gives_ids = sw_cuda_has_ids(table_of(launch));
    timed.operands = timed.rows ? NULL : (const word *)whole->values;
    timed.group_count = whole->group_count;
    timed.group_ends = whole->group_ends;
    timed.parts = memory->gathered[launch->combined->number].parts;
    timed.part_count = launch->combined->count;
    timed.disputed = keeps_key_strings(table_of(launch))
                         ? table_of(launch)->arena.view.key_strings.disputed
                         : NULL;
    return timed;
}

/* begin_counting resets the counters of the kernels; read_counts reads them when the kernels are
 * done. */
static cudaError_t
begin_counting(const struct timed *launch)
{
    struct sw_cuda_expiry *expiry = table_of(launch)->expiry;
    expiry->pinned->control = {};
    expiry->pinned->control.next = SW_EXPIRY_NEVER;
    return cudaMemcpyAsync(expiry->view.control, &expiry->pinned->control,
                           sizeof(expiry->pinned->control), cudaMemcpyHostToDevice,
                           launch->queue->stream);
}

static cudaError_t read_counts(const struct timed *launch)
{
    struct sw_cuda_expiry *expiry = table_of(launch)->expiry;
    const cudaStream_t stream = launch->queue->stream;
    const cudaError_t error =
        cudaMemcpyAsync(&expiry->pinned->control, expiry->view.control,
                        sizeof(expiry->pinned->control), cudaMemcpyDeviceToHost, stream);
    return error == cudaSuccess ? cudaStreamSynchronize(stream) : error;
}

/* Sorts the operations by key, runs a kernel that counts, and reads the counters. */
template <int BITS, typename LAUNCH>
static cudaError_t sort_and_count(const struct timed *launch, LAUNCH enqueue)
{
    struct sw_cuda_table *table = table_of(launch);
    const struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(table);
    const struct sw_cuda_timed<BITS> timed = timed_of<BITS>(launch);
    const cudaStream_t stream = launch->queue->stream;
    cudaError_t error = begin_counting(launch);
    if (error == cudaSuccess) {
        error = sw_cuda_launch_times_sort<BITS>(device, &timed, stream);
    }
    if (error == cudaSuccess) {
        error = enqueue(device, &table->expiry->view, &timed, stream);
    }
    return error == cudaSuccess ? read_counts(launch) : error;
}

/* --- expired keys ----------------------------------------------------------------------------- */

static int in_order(const void *a, const void *b)
{
    const uint32_t x = ((const struct sw_cuda_expired_key *)a)->operation;
    const uint32_t y = ((const struct sw_cuda_expired_key *)b)->operation;
    return x < y ? -1 : x > y;
}

/* Copies the list of expired keys to host memory and sorts it by operation. Returns false if memory
 * is short (then the batch fails) or after an error. */
static bool fetch_expired(const struct timed *launch, uint32_t count, cudaError_t *error)
{
    struct sw_cuda_expiry *expiry = table_of(launch)->expiry;
    if (count > expiry->found_expired_room) {
        free(expiry->found_expired);
        expiry->found_expired =
            (struct sw_cuda_expired_key *)malloc(count * sizeof(*expiry->found_expired));
        expiry->found_expired_room = expiry->found_expired == NULL ? 0 : count;
    }
    expiry->failed = expiry->found_expired_room < count;
    if (expiry->failed) {
        return false;
    }
    *error = cudaMemcpyAsync(expiry->found_expired, expiry->view.found_expired,
                             count * sizeof(*expiry->found_expired), cudaMemcpyDeviceToHost,
                             launch->queue->stream);
    if (*error == cudaSuccess) {
        *error = cudaStreamSynchronize(launch->queue->stream);
    }
    if (*error == cudaSuccess) {
        qsort(expiry->found_expired, count, sizeof(*expiry->found_expired), in_order);
    }
    return *error == cudaSuccess;
}

/* Removes the expired entries of the batch's keys. */
template <int BITS> static cudaError_t remove_own_expired(const struct timed *launch)
{
    struct sw_cuda_expiry *expiry = table_of(launch)->expiry;
    cudaError_t error = sort_and_count<BITS>(launch, sw_cuda_launch_times_expired<BITS>);
    const uint32_t count = expiry->pinned->control.found_expired;
    if (error != cudaSuccess || count == 0 || !fetch_expired(launch, count, &error)) {
        return error;
    }
    for (uint32_t i = 0; i < count && error == cudaSuccess; i++) {
        if (!sw_cuda_list_removal(launch->queue, expiry->found_expired[i].key, &error)) {
            break;
        }
    }
    return error == cudaSuccess ? sw_cuda_remove_listed(launch->queue) : error;
}

/* Sets *is_short if the table may lack room for the inserts of the batch. */
static cudaError_t is_short_of_room(const struct timed *launch, bool *is_short)
{
    struct sw_cuda_table *table = table_of(launch);
    const struct sw_geometry *geometry = &table->arrays.geometry;
    struct sw_state *state = &table->expiry->pinned->state;
    cudaError_t error = cudaMemcpyAsync(state, table->state, sizeof(*state), cudaMemcpyDeviceToHost,
                                        launch->queue->stream);
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(launch->queue->stream);
    }
    *is_short = state->stash_occupied > geometry->stash_max ||
                state->occupied + launch->batch->count > geometry->occupied_max;
    return error;
}

/* Removes expired entries. No reads run. */
static cudaError_t begin(const struct timed *launch)
{
    struct sw_cuda_table *table = table_of(launch);
    struct sw_cuda_expiry *expiry = table->expiry;
    const struct sw_batch *batch = launch->batch;
    bool is_short = false;
    cudaError_t error = sw_cuda_remove_named(launch->queue, batch);
    if (error == cudaSuccess && expiry->pass.next <= batch->clock_ms && !expiry->failed) {
        error = SW_BY_BITS(table->slot_bits, remove_own_expired, launch);
    }
    if (error == cudaSuccess && expiry->pass.next <= batch->clock_ms && !expiry->failed) {
        error = is_short_of_room(launch, &is_short);
    }
    return error == cudaSuccess && is_short
               ? sw_cuda_remove_some_expired(launch->queue, batch->clock_ms, batch->count)
               : error;
}

/* --- operations ------------------------------------------------------------------------------- */

/* Loads the new times of the operations into device memory, unless all are equal. */
static cudaError_t load_wanted(const struct timed *launch)
{
    struct sw_cuda_expiry_view *view = &table_of(launch)->expiry->view;
    const struct sw_batch *batch = launch->batch;
    view->all_want = batch->expires == NULL;
    view->wanted_by_all = batch->expire_at;
    return view->all_want ? cudaSuccess
                          : cudaMemcpyAsync(view->wanted, batch->expires,
                                            (uint64_t)batch->count * sizeof(*view->wanted),
                                            cudaMemcpyDefault, launch->queue->stream);
}

/* Compares the key strings of the operations, after the expired entries were removed. */
template <int BITS> static cudaError_t compare_key_strings(const struct timed *launch)
{
    typedef typename sw_width<BITS>::word word;
    struct sw_cuda_table *table = table_of(launch);
    const struct sw_cuda_timed<BITS> timed = timed_of<BITS>(launch);
    return sw_cuda_launch_row_compare<BITS>(sw_cuda_device_of<BITS>(table), &table->arena.view,
                                            (const word *)timed.keys, timed.parts, timed.part_count,
                                            timed.count, launch->queue->stream);
}

/* Decides the effects of the operations if no group is refused. */
template <int BITS> static cudaError_t decide(const struct timed *launch)
{
    return sort_and_count<BITS>(launch, sw_cuda_launch_times_decide<BITS>);
}

/* Decides which groups are refused, and the effects of the others. */
template <int BITS>
static cudaError_t decide_groups(const struct timed *launch, const struct sw_cuda_times_room *room)
{
    struct sw_cuda_table *table = table_of(launch);
    const struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(table);
    const struct sw_cuda_timed<BITS> timed = timed_of<BITS>(launch);
    const cudaStream_t stream = launch->queue->stream;
    cudaError_t error = begin_counting(launch);
    if (error == cudaSuccess) {
        error = sw_cuda_launch_times_groups<BITS>(device, &table->expiry->view, &table->arena.view,
                                                  &timed, room, stream);
    }
    return error == cudaSuccess ? read_counts(launch) : error;
}

/* Grows the table if the inserts may not fit. Other threads may run reads meanwhile, and the sorted
 * operations are lost, so grow decides again. */
static cudaError_t grow(const struct timed *launch)
{
    struct sw_cuda_table *table = table_of(launch);
    const uint64_t inserts = table->expiry->pinned->control.inserts;
    if (!sw_cuda_must_grow(table, inserts)) {
        return cudaSuccess;
    }
    cudaError_t error = sw_cuda_grow_for(launch->queue, inserts, launch->ticket);
    if (error == cudaSuccess) {
        error = sw_cuda_settle(launch->queue);
    }
    return error == cudaSuccess ? SW_BY_BITS(table->slot_bits, decide, launch) : error;
}

static bool has_room(const struct sw_cuda_table *times, uint64_t entries)
{
    const struct sw_geometry *geometry = &times->arrays.geometry;
    return __atomic_load_n(&times->stash, __ATOMIC_RELAXED) <= geometry->stash_max &&
           entries <= geometry->occupied_max;
}

/* Grows the second table for the times that the batch may set, and writes the available room to
 * `room`. There are never more times than entries. */
static cudaError_t make_room(const struct timed *launch, struct sw_cuda_times_room *room)
{
    const struct sw_cuda_expiry *expiry = table_of(launch)->expiry;
    const struct sw_cuda_table *times = expiry->times;
    const uint64_t given = expiry->pinned->control.given;
    const uint64_t most = table_of(launch)->arrays.geometry.occupied_max;
    const uint64_t wanted = expiry->held + given < most ? expiry->held + given : most;
    cudaError_t error = cudaSuccess;
    if (given > 0 && !has_room(times, wanted)) {
        const uint64_t more = wanted > expiry->held ? wanted - expiry->held : 1;
        error = (cudaError_t)times->expiry_calls->grow(expiry->times_queue, more);
        sw_cuda_expiry_resized(table_of(launch));
    }
    room->none = expiry->failed;
    room->certain = !expiry->failed && (given == 0 || has_room(times, wanted));
    room->stash_full =
        __atomic_load_n(&times->stash, __ATOMIC_RELAXED) > times->arrays.geometry.stash_max;
    room->held = expiry->held;
    room->held_max = times->arrays.geometry.occupied_max;
    return error;
}

/* Writes the changed times to the second table. */
static cudaError_t write_times(const struct timed *launch)
{
    struct sw_cuda_expiry *expiry = table_of(launch)->expiry;
    const struct sw_cuda_expiry_view *view = &expiry->view;
    const struct sw_cuda_expiry_control *control = &expiry->pinned->control;
    cudaError_t error =
        sw_cuda_times_write(expiry, SW_DELETE, view->ended_keys, NULL, NULL, control->ended);
    if (error == cudaSuccess) {
        error = sw_cuda_times_write(expiry, SW_SET, view->kept_keys, view->kept_times, NULL,
                                    control->kept);
    }
    if (control->next != SW_EXPIRY_NEVER) {
        sw_expiry_pass_set(&expiry->pass, control->next);
    }
    expiry->expired += control->expired;
    return error;
}

/* Decides the effects of all operations, and writes the times. */
static cudaError_t settle_times(const struct timed *launch)
{
    struct sw_cuda_table *table = table_of(launch);
    struct sw_cuda_expiry *expiry = table->expiry;
    const struct sw_cuda_expiry_control *control = &expiry->pinned->control;
    struct sw_cuda_times_room room = {};
    cudaError_t error = load_wanted(launch);
    if (error == cudaSuccess && keeps_key_strings(table)) {
        error = SW_BY_BITS(table->slot_bits, compare_key_strings, launch);
    }
    if (error == cudaSuccess) {
        error = SW_BY_BITS(table->slot_bits, decide, launch);
    }
    if (error == cudaSuccess) {
        error = grow(launch);
    }
    if (error == cudaSuccess) {
        error = make_room(launch, &room);
    }
    expiry->view.times = expiry->times->s128.table; /* the second table may have grown */
    const bool fits = control->inserts == 0 ||
                      (control->stash_full == 0 &&
                       control->occupied + control->inserts <= table->arrays.geometry.occupied_max);
    if (error == cudaSuccess && (!fits || !room.certain || control->disputed != 0)) {
        error = SW_BY_BITS(table->slot_bits, decide_groups, launch, &room);
    }
    return error == cudaSuccess ? write_times(launch) : error;
}

/* Runs the engine on the remaining operations, and writes the replies. */
template <int BITS> static cudaError_t carry_out(const struct timed *launch)
{
    struct sw_cuda_table *table = table_of(launch);
    struct sw_cuda_expiry *expiry = table->expiry;
    struct sw_cuda_combined *memory = &table->combined;
    struct sw_batch *whole = &launch->combined->whole;
    const struct sw_cuda_expiry_control *control = &expiry->pinned->control;
    const bool rows = sw_cuda_has_rows(table);
    const uint32_t upserts = rows ? launch->mix.upserts : (uint32_t)control->inserts;
    const struct sw_cuda_mix mix = {true, upserts, false, true, launch->mix.in_order, false, true};
    whole->ops = expiry->view.ops;
    whole->previous = rows ? whole->previous : memory->previous;
    whole->found = memory->found;
    cudaError_t error =
        sw_cuda_carry_out<BITS>(launch->queue, memory, launch->combined, mix, launch->ticket);
    whole->found = memory->found; /* for rows it was the engine's array */
    if (error == cudaSuccess && control->refused > 0) {
        error = sw_cuda_launch_times_refuse(
            &expiry->view, whole->count, whole->group_count, memory->found, whole->group_refused,
            &((struct sw_cuda_record *)memory->record)->status, launch->queue->stream);
    }
    if (error == cudaSuccess && launch->batch->expires_out != NULL) {
        error = cudaMemcpyAsync(launch->batch->expires_out, expiry->view.before,
                                (uint64_t)whole->count * sizeof(uint64_t), cudaMemcpyDefault,
                                launch->queue->stream);
    }
    memory->silent = expiry->view.silent;
    return error;
}

/* Writes the reply of a refused batch: no key was found, and no key had a value or a time. These
 * arrays hold data of other batches. */
static cudaError_t answer_nothing(const struct timed *launch)
{
    struct sw_cuda_table *table = table_of(launch);
    const struct sw_batch *batch = launch->batch;
    const uint64_t count = batch->count;
    const bool rows = sw_cuda_has_rows(table);
    void *previous = rows ? batch->previous : table->combined.previous;
    const uint64_t value_bytes = rows ? table->config.value_bytes : table->combined.value_bytes;
    const cudaStream_t stream = launch->queue->stream;
    cudaError_t error =
        cudaMemsetAsync(table->combined.found, 0, (count + 63) / 64 * sizeof(uint64_t), stream);
    if (error == cudaSuccess && previous != NULL) {
        error = cudaMemsetAsync(previous, 0, count * value_bytes, stream);
    }
    if (error == cudaSuccess && batch->expires_out != NULL) {
        error = cudaMemsetAsync(batch->expires_out, 0, count * sizeof(uint64_t), stream);
    }
    return error;
}

/* Refuses all groups, because memory for expiry times is short. */
template <int BITS> static cudaError_t refuse_all(const struct timed *launch)
{
    struct sw_cuda_table *table = table_of(launch);
    struct sw_cuda_combined *memory = &table->combined;
    struct sw_batch *whole = &launch->combined->whole;
    struct sw_cuda_record *record = (struct sw_cuda_record *)memory->record;
    static const int32_t full = SW_E_FULL;
    const cudaStream_t stream = launch->queue->stream;
    struct sw_cuda_batch<BITS> typed =
        sw_cuda_typed_batch<BITS>(launch->queue, whole, launch->ticket);
    typed.record = record;
    typed.gathered = true;
    whole->found = memory->found;
    cudaError_t error = sw_cuda_launch_close<BITS>(sw_cuda_device_of<BITS>(table), &typed, stream);
    if (error == cudaSuccess) {
        error = answer_nothing(launch);
    }
    if (error == cudaSuccess) {
        error = cudaMemsetAsync(whole->group_refused, SW_REFUSED_FULL, whole->group_count, stream);
    }
    return error == cudaSuccess ? cudaMemcpyAsync(&record->status, &full, sizeof(full),
                                                  cudaMemcpyHostToDevice, stream)
                                : error;
}

/* Runs after the operations were gathered. */
static cudaError_t carry_out_all(const struct timed *launch)
{
    struct sw_cuda_table *table = table_of(launch);
    launch->batch->clock_ms = sw_cuda_advance_clock(table, launch->batch->clock_ms);
    if (!sw_cuda_expiry_open(table)) {
        return SW_BY_BITS(table->slot_bits, refuse_all, launch);
    }
    sw_cuda_expiry_activate(table->expiry, launch->batch);
    sw_cuda_direct_renew(table); /* direct reads know no times */
    cudaError_t error = begin(launch);
    if (error == cudaSuccess) {
        error = settle_times(launch);
    }
    if (error == cudaSuccess) {
        error = SW_BY_BITS(table->slot_bits, carry_out, launch);
    }
    sw_cuda_expiry_deactivate(table, launch->batch);
    launch->combined->whole.some_expire = true;
    table->expiry->after[launch->combined->number] = table->expiry->now;
    return error;
}

cudaError_t sw_cuda_write_timed(struct sw_cuda_queue *queue, struct sw_combined_launch *combined,
                                struct sw_cuda_mix mix, uint64_t ticket)
{
    struct sw_cuda_table *table = queue->table;
    struct sw_cuda_combined *memory = &table->combined;
    const struct timed launch = {queue, combined, combined->parts[0], mix, ticket};
    cudaError_t error = sw_cuda_wait_for_write(queue);
    if (error == cudaSuccess) {
        error = sw_cuda_gather(queue, memory, combined);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_settle(queue);
    }
    if (error == cudaSuccess) {
        error = carry_out_all(&launch);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_combined_scatter(memory, combined,
                                         &((struct sw_cuda_record *)memory->record)->status,
                                         sw_cuda_record_of(queue, ticket), queue->stream);
    }
    memory->silent = NULL;
    return error == cudaSuccess ? sw_cuda_write_submitted(queue) : error;
}

void sw_cuda_timed_polled(struct sw_cuda_table *table, struct sw_combined_launch *combined)
{
    if (!combined->whole.some_expire) {
        return;
    }
    struct sw_batch *batch = combined->parts[0];
    const struct sw_cuda_expiry_after *after = &table->expiry->after[combined->number];
    batch->_stash_change += after->stash_change;
    if (batch->status == SW_OK && after->invalid) {
        batch->status = SW_E_INVALID;
    }
}
