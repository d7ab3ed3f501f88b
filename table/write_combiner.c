/* SPDX-License-Identifier: MIT
 *
 * write_combiner.c - gathering write batches, and launching them in order.
 */
#include "table/write_combiner_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* From this many gathered operations on, a batch of another operation waits for the next launch:
 * backends carry out many operations of one kind faster than mixed ones. */
#define APART_MIN 65536

/* --- open and close --------------------------------------------------------------------------- */

int sw_combiner_open(struct sw_combiner *combiner, const struct sw_backend *backend, void *table,
                     struct sw_sequencer *sequencer, uint32_t operations_max, uint32_t gathered_max,
                     bool gathers_all)
{
    *combiner = (struct sw_combiner){.backend = backend,
                                     .table = table,
                                     .sequencer = sequencer,
                                     .operations_max = operations_max,
                                     .gathered_max = gathered_max,
                                     .gathers_all = gathers_all,
                                     .waiting_end = &combiner->waiting,
                                     .sweeps_end = &combiner->sweeps};
    combiner->combined = calloc(SW_COMBINED_LAUNCHES, sizeof(*combiner->combined));
    if (combiner->combined == NULL) {
        return SW_E_NOMEM;
    }
    for (uint32_t i = 0; i < SW_COMBINED_LAUNCHES; i++) {
        combiner->combined[i].number = i;
        combiner->combined[i].room = SW_COMBINED_BATCHES_FEW;
        combiner->combined[i].parts = combiner->combined[i].few;
    }
    const int status = backend->queue_open(table, &combiner->queue);
    if (status != SW_OK) {
        free(combiner->combined);
        return status;
    }
    pthread_mutex_init(&combiner->lock,
                       NULL); /* cannot fail with the default attributes of Linux */
    return SW_OK;
}

void sw_combiner_close(struct sw_combiner *combiner)
{
    assert(combiner->waiting == NULL && combiner->sweeps == NULL && combiner->flying == 0);
    combiner->backend->queue_close(combiner->queue);
    for (uint32_t i = 0; i < SW_COMBINED_LAUNCHES; i++) {
        if (combiner->combined[i].parts != combiner->combined[i].few) {
            free(combiner->combined[i].parts);
        }
    }
    pthread_mutex_destroy(&combiner->lock);
    free(combiner->combined);
}

void sw_combiner_set_sequence(struct sw_combiner *combiner, uint64_t sequence)
{
    pthread_mutex_lock(&combiner->lock);
    __atomic_fetch_add(&combiner->era, sequence < combiner->sequence, __ATOMIC_RELEASE);
    sw_sequencer_set(combiner->sequencer, sequence);
    __atomic_store_n(&combiner->sequence, sequence, __ATOMIC_RELEASE);
    __atomic_store_n(&combiner->launched, sequence, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&combiner->lock);
}

uint64_t sw_combiner_last_sequence(const struct sw_combiner *combiner)
{
    return __atomic_load_n(&combiner->sequence, __ATOMIC_ACQUIRE);
}

/* --- launches; the leader's ------------------------------------------------------------------- */

/* A batch that may hand entries back has room only for its own left-overs, so it is not gathered.
 * With gathers_all no entries are handed back. A batch with scores is not gathered either. */
bool sw_combiner_gathers(const struct sw_combiner *combiner, const struct sw_batch *batch)
{
    return batch->kind == SW_BATCH_OPERATIONS &&
           (batch->leftover_keys == NULL || combiner->gathers_all) && batch->scores == NULL &&
           batch->scores_out == NULL && batch->count <= combiner->gathered_max &&
           batch->group_count <= batch->count;
}

/* Returns whether a batch of writes concerns expiry times. */
static bool concerns_times(const struct sw_combiner *combiner, const struct sw_batch *batch)
{
    const struct sw_backend *backend = combiner->backend;
    return backend->keeps_times != NULL && batch->kind == SW_BATCH_OPERATIONS &&
           (batch->_times || backend->keeps_times(combiner->table));
}

/* Returns whether a batch may be launched together with others. */
static bool shares(const struct sw_combiner *combiner, const struct sw_batch *batch)
{
    return batch->count <= combiner->operations_max && sw_combiner_gathers(combiner, batch) &&
           !concerns_times(combiner, batch);
}

/* Returns whether a batch is gathered even if it is launched alone: if others may change it
 * meanwhile, if it is large and lies in host memory, if it concerns times, or if the backend
 * gathers every batch. */
static bool is_gathered_alone(const struct sw_combiner *combiner, const struct sw_batch *batch)
{
    if (concerns_times(combiner, batch)) {
        return true;
    }
    return sw_combiner_gathers(combiner, batch) &&
           (batch->shared || combiner->gathers_all ||
            (batch->count >= SW_GATHERED_MIN && !batch->on_device && shares(combiner, batch)));
}

/* Returns the operation of a batch; SW_OP_END if its operations may differ. */
static uint32_t operation_of(const struct sw_batch *batch)
{
    return batch->ops == NULL ? (uint32_t)batch->op : (uint32_t)SW_OP_END;
}

/* A launch to which batches are being added. */
struct gathering {
    struct sw_combined_launch *combined;
    const struct sw_batch *own; /* the batch that the leader submits or polls */
    uint32_t operations;
    bool is_plain; /* all have one operation, and no batch wants `previous` */
    uint32_t most; /* most operations of a plain launch; 0: combined_ops() was not called yet */
};

static bool fits_plain(const struct gathering *launch, const struct sw_batch *batch)
{
    return launch->is_plain && batch->kind == SW_BATCH_OPERATIONS && batch->previous == NULL &&
           batch->ops == NULL && batch->op == launch->combined->parts[0]->op;
}

/* Returns whether the launch has room for a batch. Calls combined_ops() only if the launch exceeds
 * the limit of all launches. */
static bool has_room(const struct sw_combiner *combiner, struct gathering *launch,
                     const struct sw_batch *batch)
{
    const struct sw_backend *backend = combiner->backend;
    const uint64_t operations = (uint64_t)launch->operations + batch->count;
    if (operations <= combiner->operations_max) {
        return true;
    }
    if (backend->combined_ops == NULL || !fits_plain(launch, batch)) {
        return false;
    }
    if (launch->most == 0) {
        launch->most = backend->combined_ops(combiner->table, launch->combined->parts[0]->op);
    }
    return operations <= launch->most;
}

/* Returns whether the launch takes this batch. A backend may copy much to the host for an image. So
 * only the thread that requested the image launches it, since that thread waits anyway. It does so
 * only if no launch is in flight, because no launch is completed during the copy. */
static bool takes(const struct sw_combiner *combiner, struct gathering *launch,
                  const struct sw_batch *batch)
{
    const struct sw_combined_launch *combined = launch->combined;
    if (combined->count == 0) {
        return batch->kind != SW_BATCH_IMAGE || (batch == launch->own && combiner->flying == 0);
    }
    return combined->count < combined->room && shares(combiner, combined->parts[0]) &&
           shares(combiner, batch) && batch->wide_operands == combined->parts[0]->wide_operands &&
           (launch->operations < APART_MIN ||
            operation_of(batch) == operation_of(combined->parts[0])) &&
           has_room(combiner, launch, batch);
}

static void add_to_launch(struct gathering *launch, struct sw_batch *batch)
{
    struct sw_combined_launch *combined = launch->combined;
    combined->parts[combined->count++] = batch;
    launch->operations += batch->count;
    launch->is_plain = fits_plain(launch, batch);
}

/* Makes room for the batches that wait. Without memory the launch takes fewer, and the next launch
 * takes the others. */
static void make_room(struct sw_combined_launch *combined, uint64_t batches)
{
    uint32_t room = combined->room;
    while (room < batches && room < SW_COMBINED_BATCHES_MAX) {
        room *= 2;
    }
    struct sw_batch **parts =
        room > combined->room ? malloc(room * sizeof(struct sw_batch *)) : NULL;
    if (parts == NULL) {
        return;
    }
    if (combined->parts != combined->few) {
        free(combined->parts);
    }
    combined->parts = parts;
    combined->room = room;
}

/* Takes waiting batches, the oldest first. Returns false if none may be launched. */
static bool gather_launch(struct sw_combiner *combiner, struct sw_combined_launch *combined,
                          const struct sw_batch *own)
{
    struct gathering gathering = {.combined = combined, .own = own, .is_plain = true};
    combined->count = 0;
    const uint64_t gathered = __atomic_load_n(&combiner->gathered, __ATOMIC_ACQUIRE);
    if (gathered == 0) {
        return false;
    }
    make_room(combined, gathered);
    pthread_mutex_lock(&combiner->lock);
    while (combiner->waiting != NULL && takes(combiner, &gathering, combiner->waiting)) {
        struct sw_batch *batch = combiner->waiting;
        combiner->waiting = batch->_next;
        add_to_launch(&gathering, batch);
    }
    if (combiner->waiting == NULL) {
        combiner->waiting_end = &combiner->waiting;
    }
    __atomic_fetch_sub(&combiner->gathered, combined->count, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&combiner->lock);
    return combined->count > 0;
}

/* Returns the batches of a launch to their owners. */
static void release(const struct sw_combined_launch *combined)
{
    for (uint32_t i = 0; i < combined->count; i++) {
        sw_batch_set_stage(combined->parts[i], DONE);
    }
}

/* Returns the number of the write, or of the last write before the image. */
static uint64_t place_of(const struct sw_batch *batch)
{
    return batch->kind == SW_BATCH_IMAGE ? batch->image.sequence : batch->write_sequence;
}

static int launch_on(const struct sw_combiner *combiner, struct sw_combined_launch *combined)
{
    const struct sw_backend *backend = combiner->backend;
    struct sw_batch *first = combined->parts[0];
    /* The arrays of gathered batches have room for one group per operation. A batch with more
     * groups is refused when it is submitted if times concern it (valid.c). If another batch gave
     * the first time since then, it is refused here. */
    if (concerns_times(combiner, first) && first->group_count > first->count) {
        return SW_E_INVALID;
    }
    combined->alone = combined->count == 1 && !is_gathered_alone(combiner, first);
    return combined->alone ? backend->submit(combiner->queue, first)
                           : backend->submit_combined(combiner->queue, combined);
}

/* Returns false if the backend takes the launch only after it has completed one in flight. */
static bool launch(struct sw_combiner *combiner, struct sw_combined_launch *combined)
{
    uint64_t sequence = place_of(combined->parts[combined->count - 1]);
    int status = launch_on(combiner, combined);
    combiner->postponed = status == SW_E_BUSY && combiner->flying > 0;
    if (combiner->postponed) {
        return false;
    }
    __atomic_store_n(&combiner->launched, sequence, __ATOMIC_RELEASE);
    __atomic_fetch_add(&combiner->launches, 1, __ATOMIC_RELAXED);
    if (status == SW_OK) {
        combiner->flying++;
        return true;
    }
    for (uint32_t i = 0; i < combined->count; i++) {
        combined->parts[i]->status = status;
    }
    release(combined);
    return true;
}

/* Completes the oldest launch. Returns false if it still runs. */
static bool complete(struct sw_combiner *combiner)
{
    struct sw_combined_launch *combined = &combiner->combined[combiner->oldest];
    int status = combined->alone ? combiner->backend->poll(combiner->queue, combined->parts[0])
                                 : combiner->backend->poll_combined(combiner->queue, combined);
    if (status == SW_PENDING) {
        return false;
    }
    release(combined);
    combiner->oldest = (combiner->oldest + 1) % SW_COMBINED_LAUNCHES;
    combiner->flying--;
    return true;
}

/* Takes the oldest sweep if no other batch waits. By the leader, which has locked `lock`. */
static struct sw_batch *take_sweep(struct sw_combiner *combiner)
{
    struct sw_batch *batch = combiner->sweeps;
    if (batch == NULL || combiner->waiting != NULL || combiner->postponed) {
        return NULL;
    }
    combiner->sweeps = batch->_next;
    if (combiner->sweeps == NULL) {
        combiner->sweeps_end = &combiner->sweeps;
    }
    __atomic_fetch_sub(&combiner->sweeping, 1, __ATOMIC_RELAXED);
    return batch;
}

/* Carries out sweeps while no other batch waits. A sweep that removed something gets the next
 * number. */
static void sweep(struct sw_combiner *combiner)
{
    struct sw_batch *batch = NULL;
    do {
        pthread_mutex_lock(&combiner->lock);
        batch = take_sweep(combiner);
        if (batch != NULL) {
            batch->status = combiner->backend->submit(combiner->queue, batch);
            if (batch->status == SW_OK && batch->expired > 0) {
                batch->write_sequence = sw_sequencer_next(combiner->sequencer);
                __atomic_store_n(&combiner->sequence, batch->write_sequence, __ATOMIC_RELEASE);
                __atomic_store_n(&combiner->launched, batch->write_sequence, __ATOMIC_RELEASE);
            }
        }
        pthread_mutex_unlock(&combiner->lock);
        if (batch != NULL) {
            sw_batch_set_stage(batch, DONE);
        }
    } while (batch != NULL);
}

/* A thread that waited inside the backend would submit nothing meanwhile, and each launch would
 * have one batch. */
static bool must_wait(const struct sw_combiner *combiner)
{
    const struct sw_backend *backend = combiner->backend;
    return backend->must_wait != NULL && backend->must_wait(combiner->table, combiner->flying);
}

void sw_combiner_lead(struct sw_combiner *combiner, const struct sw_batch *own)
{
    if (__atomic_load_n(&combiner->is_led, __ATOMIC_RELAXED) ||
        __atomic_exchange_n(&combiner->is_led, true, __ATOMIC_ACQUIRE)) {
        return;
    }
    while (combiner->flying > 0 && complete(combiner)) {
    }
    while (combiner->flying < SW_COMBINED_LAUNCHES && !must_wait(combiner)) {
        uint32_t next = (combiner->oldest + combiner->flying) % SW_COMBINED_LAUNCHES;
        if ((!combiner->postponed && !gather_launch(combiner, &combiner->combined[next], own)) ||
            !launch(combiner, &combiner->combined[next])) {
            break;
        }
    }
    if (__atomic_load_n(&combiner->sweeping, __ATOMIC_ACQUIRE) > 0) {
        sweep(combiner);
    }
    __atomic_store_n(&combiner->is_led, false, __ATOMIC_RELEASE);
}
