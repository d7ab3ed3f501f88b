/* SPDX-License-Identifier: MIT
 *
 * expiry.c - batches that concern expiry times, and sweeps.
 */
#include "table/robin_hood/cpu/expiry.h"

#include "table/growth.h"
#include "table/robin_hood/cpu/admit.h"
#include "table/robin_hood/cpu/expiry_removal.h"

/* --- the clock -------------------------------------------------------------------------------- */

uint64_t sw_expiry_clock(struct sw_cpu *cpu, uint64_t clock_ms)
{
    return sw_expiry_advance_clock(&cpu->clock_ms, clock_ms);
}

/* --- operations ------------------------------------------------------------------------------- */

enum sw_effect sw_expiry_apply(struct sw_expiry *expiry, const struct sw_batch *batch, uint32_t i,
                               uint32_t op, uint64_t key, bool found, enum sw_effect effect)
{
    uint64_t after = 0;
    const uint64_t before = found ? sw_expiry_of(expiry, key) : 0;
    effect = sw_expiry_decide(op, found, effect, before, sw_expiry_given(expiry, batch, i, op),
                              expiry->past, &after);
    if (after != before) {
        sw_expiry_put(expiry, key, after);
    }
    if (batch->expires_out != NULL) {
        batch->expires_out[i] = before;
    }
    expiry->expired += effect == SW_EFFECT_REMOVE && op != SW_DELETE;
    return effect;
}

/* --- room for times --------------------------------------------------------------------------- */

/* Returns the number of times that the operations may set. */
static uint64_t times_set_by(const struct sw_batch *batch, uint32_t first, uint32_t end)
{
    uint64_t given = 0;
    for (uint32_t i = first; i < end; i++) {
        given += sw_expiry_may_set(sw_cpu_op_at(batch, i), sw_expiry_wanted(batch, i));
    }
    return given;
}

bool sw_expiry_has_room(const struct sw_expiry *expiry, const struct sw_batch *batch,
                        uint32_t first, uint32_t end)
{
    if (expiry->failed || expiry->roomy) {
        return !expiry->failed;
    }
    const uint64_t given = times_set_by(batch, first, end);
    const struct sw_cpu *times = expiry->times;
    return given == 0 || (!sw_cpu_stash_is_full(times) &&
                          given <= times->geometry.occupied_max - times->state.occupied);
}

void sw_expiry_make_room(struct sw_cpu *cpu, const struct sw_batch *batch)
{
    struct sw_expiry *expiry = cpu->expiry;
    struct sw_cpu *times = expiry->times;
    const uint64_t given = times_set_by(batch, 0, batch->count);
    /* there are never more times than entries */
    const uint64_t most = cpu->geometry.occupied_max;
    uint64_t wanted = times->state.occupied + given;
    wanted = wanted < most ? wanted : most;
    bool fits =
        given == 0 || (!sw_cpu_stash_is_full(times) && wanted <= times->geometry.occupied_max);
    if (!fits) {
        cpu->expiry_calls->grow(times, wanted - times->state.occupied);
        fits = !sw_cpu_stash_is_full(times) && wanted <= times->geometry.occupied_max;
    }
    expiry->roomy = fits;
}

/* --- batches ---------------------------------------------------------------------------------- */

/* Removes the expired keys that the batch lists. */
static void remove_named(struct sw_cpu *cpu, struct sw_batch *batch)
{
    for (uint32_t i = 0; i < batch->remove_count; i++) {
        const uint64_t key = sw_expiry_key(cpu, batch->remove_keys, i);
        if (sw_expiry_of(cpu->expiry, key) == 0) {
            batch->status = SW_E_INVALID;
        } else {
            sw_expiry_remove(cpu, key);
        }
    }
}

/* From now on operations use expiry times and count removed entries. */
static void activate(struct sw_expiry *expiry, const struct sw_batch *batch)
{
    sw_phase_lock_enter_write(&expiry->times->lock);
    expiry->active = true;
    expiry->some = expiry->times->state.occupied != 0;
    expiry->failed = false;
    expiry->expired = 0;
    expiry->wants_expired_keys = batch->wants_expired_keys;
    expiry->past = batch->clock_ms > 0 ? batch->clock_ms : 1;
}

/* No entry expires any more. */
static void forget_times(struct sw_expiry *expiry)
{
    sw_expiry_pass_clear(&expiry->pass);
    sw_due_clear(&expiry->due);
    expiry->leaves_suspended = false;
}

static void publish(struct sw_cpu *cpu)
{
    struct sw_expiry *expiry = cpu->expiry;
    const struct sw_cpu *times = expiry->times;
    sw_due_fit(&expiry->due, times->geometry.buckets * SW_BUCKET_SLOTS);
    const uint64_t bytes = times->geometry.bytes_total + sizeof(*expiry) +
                           sw_due_bytes(&expiry->due) +
                           (cpu->own_device != NULL ? expiry->batch_bytes : 0);
    pthread_mutex_lock(&cpu->facts_mutex);
    cpu->facts.bytes_reserved += bytes - expiry->bytes;
    expiry->bytes = bytes;
    cpu->facts.expires = expiry->times->state.occupied;
    cpu->facts.expires_next = cpu->facts.expires > 0 ? expiry->pass.next : 0;
    cpu->facts.expires_mean = cpu->facts.expires > 0 ? expiry->pass.mean_at : 0;
    cpu->facts.clock_steps = expiry->pass.clock_steps;
    sw_growth_has_times(cpu->config.growth, bytes);
    sw_growth_has(cpu->config.growth, cpu->facts.bytes_reserved);
    pthread_mutex_unlock(&cpu->facts_mutex);
}

void sw_expiry_begin(struct sw_cpu *cpu, struct sw_batch *batch, const void *keys)
{
    batch->clock_ms = sw_expiry_clock(cpu, batch->clock_ms);
    if (cpu->expiry == NULL) {
        cpu->expiry = sw_expiry_open(cpu);
    }
    struct sw_expiry *expiry = cpu->expiry;
    if (expiry == NULL) {
        return;
    }
    activate(expiry, batch);
    remove_named(cpu, batch);
    for (uint32_t i = 0; i < batch->count && expiry->pass.next <= batch->clock_ms; i++) {
        const uint64_t key = sw_expiry_key(cpu, keys, i);
        const uint64_t at = sw_expiry_of(expiry, key);
        if (at != 0 && at <= batch->clock_ms) {
            sw_expiry_remove(cpu, key);
        }
    }
    if (sw_cpu_is_short_of_room(cpu, batch->count)) {
        sw_expiry_remove_for_room(cpu, batch->clock_ms, batch->count);
    }
}

void sw_expiry_end(struct sw_cpu *cpu, struct sw_batch *batch)
{
    struct sw_expiry *expiry = cpu->expiry;
    batch->some_expire = expiry->some || expiry->times->state.occupied != 0;
    batch->expired = expiry->expired;
    batch->expired_keys = expiry->expired_keys;
    batch->expired_keys_count = expiry->expired_keys_count;
    expiry->expired_keys = NULL;
    expiry->expired_keys_count = 0;
    expiry->expired_keys_room = 0;
    expiry->active = false;
    if (expiry->times->state.occupied == 0) {
        forget_times(expiry);
    }
    sw_phase_lock_leave_write(&expiry->times->lock);
    publish(cpu);
}

void sw_expiry_clear(struct sw_cpu *cpu)
{
    struct sw_expiry *expiry = cpu->expiry;
    if (sw_expiry_some(cpu)) {
        struct sw_batch clear = {.kind = SW_BATCH_CLEAR};
        cpu->expiry_calls->run(expiry->times, &clear);
        forget_times(expiry);
        publish(cpu);
    }
}

void sw_expiry_resize(struct sw_cpu *cpu)
{
    if (cpu->expiry != NULL) {
        struct sw_batch least = {.kind = SW_BATCH_RESIZE, .capacity = 1};
        cpu->expiry_calls->run(cpu->expiry->times, &least);
        publish(cpu);
    }
}

/* --- the sweep -------------------------------------------------------------------------------- */

/* Returns whether a sweep has work. */
static bool is_due(const struct sw_cpu *cpu, uint64_t clock_ms, bool goes_back)
{
    const struct sw_expiry_pass *pass = &cpu->expiry->pass;
    return goes_back || pass->cursor != 0 || pass->next <= clock_ms;
}

/* Updates the mean of the expiry times. Removes nothing. */
static void survey(struct sw_cpu *cpu, uint64_t clock_ms)
{
    struct sw_expiry *expiry = cpu->expiry;
    struct sw_batch scan = {.kind = SW_BATCH_SCAN,
                            .count = SW_EXPIRY_PIECE,
                            .scan.cursor = expiry->pass.survey_cursor,
                            .scan.keys = expiry->piece_keys,
                            .scan.values = expiry->piece_times};
    sw_cpu_scan_slots(expiry->times, &scan);
    sw_expiry_survey(&expiry->pass, expiry->piece_times, scan.scan.got, scan.scan.cursor, clock_ms);
    publish(cpu);
}

/* Sets the clock back. Removes nothing. */
static int follow_back(struct sw_cpu *cpu, const struct sw_batch *batch, bool goes_back)
{
    const int status = goes_back ? sw_batch_enter_write(&cpu->lock, batch) : SW_OK;
    if (goes_back && status == SW_OK) {
        __atomic_store_n(&cpu->clock_ms, batch->clock_ms, __ATOMIC_RELAXED);
        sw_phase_lock_leave_write(&cpu->lock);
    }
    return status;
}

static void end_sweep(struct sw_cpu *cpu, uint64_t clock_ms, uint64_t wall_ms, bool goes_back)
{
    struct sw_expiry *expiry = cpu->expiry;
    sw_expiry_pass_end(&expiry->pass, clock_ms);
    if (expiry->pass.steps_back && goes_back) {
        expiry->pass.clock_steps++;
        __atomic_store_n(&cpu->clock_ms, wall_ms, __ATOMIC_RELAXED);
    }
    expiry->pass.steps_back = false;
}

/* Removes the keys that a sweep of another table has removed. */
static int sweep_named(struct sw_cpu *cpu, struct sw_batch *batch)
{
    const int status = sw_batch_enter_write(&cpu->lock, batch);
    if (status != SW_OK) {
        return status;
    }
    const uint64_t stash_before = cpu->state.stash_occupied;
    if (cpu->expiry == NULL) { /* no key ever expired */
        batch->status = SW_E_INVALID;
    } else {
        activate(cpu->expiry, batch);
        remove_named(cpu, batch);
        batch->_stash_change = (int64_t)(cpu->state.stash_occupied - stash_before);
        sw_expiry_end(cpu, batch);
    }
    sw_batch_leave_write(&cpu->lock, batch);
    return SW_OK;
}

/* Checks in a read phase, before the sweep counts as a write: most calls find no work. */
static int find_due(struct sw_cpu *cpu, const struct sw_batch *batch, bool goes_back, bool *due)
{
    const int status = sw_batch_enter_read(&cpu->lock, batch);
    if (status == SW_OK) {
        *due =
            cpu->expiry != NULL &&
            (is_due(cpu, batch->clock_ms, goes_back) ||
             (sw_expiry_some(cpu) && sw_expiry_survey_is_due(&cpu->expiry->pass, batch->clock_ms)));
        sw_phase_lock_leave_read(&cpu->lock);
    }
    return status;
}

/* Sweeps `count` entries, at the clock in the batch. The phase is exclusive. */
static void sweep(struct sw_cpu *cpu, struct sw_batch *batch, uint64_t wall_ms, bool goes_back)
{
    struct sw_expiry *expiry = cpu->expiry;
    const uint64_t stash_before = cpu->state.stash_occupied;
    activate(expiry, batch);
    if (goes_back && !expiry->pass.steps_back) {
        expiry->pass.steps_back = true;
        expiry->pass.cursor = 0;
    }
    while (batch->sweep.looked < batch->count && !expiry->failed) {
        batch->sweep.looked += sw_expiry_sweep_piece(
            cpu, batch->clock_ms, batch->count - (uint32_t)batch->sweep.looked, batch->count);
        if (expiry->pass.cursor == 0) {
            end_sweep(cpu, batch->clock_ms, wall_ms, goes_back);
            break;
        }
    }
    batch->sweep.cursor = expiry->pass.cursor;
    batch->_stash_change = (int64_t)(cpu->state.stash_occupied - stash_before);
    if (expiry->expired > 0) {
        batch->write_sequence = sw_phase_lock_count(&cpu->lock);
    }
    sw_expiry_end(cpu, batch);
}

int sw_expiry_run_sweep(struct sw_cpu *cpu, struct sw_batch *batch)
{
    bool due = false;
    const uint64_t wall_ms = batch->clock_ms;
    const uint64_t last = __atomic_load_n(&cpu->clock_ms, __ATOMIC_RELAXED);
    const bool goes_back = wall_ms != 0 && last > wall_ms && last - wall_ms > SW_CLOCK_HOLD_MS;
    if (batch->remove_count > 0) {
        return sweep_named(cpu, batch);
    }
    if (batch->count == 0) {
        return follow_back(cpu, batch, goes_back);
    }
    batch->clock_ms = sw_expiry_clock(cpu, wall_ms);
    batch->sweep.cursor = 0;
    int status = batch->clock_ms == 0 ? SW_OK : find_due(cpu, batch, goes_back, &due);
    status = due ? sw_batch_enter_write(&cpu->lock, batch) : status;
    if (!due || status != SW_OK) {
        return status;
    }
    if (is_due(cpu, batch->clock_ms, goes_back)) {
        sweep(cpu, batch, wall_ms, goes_back);
    } else {
        survey(cpu, batch->clock_ms);
    }
    sw_phase_lock_leave_write(&cpu->lock);
    return SW_OK;
}
