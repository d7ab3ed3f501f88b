/* SPDX-License-Identifier: MIT
 *
 * expiry.cu - expiry times of a table on a device: the second table, its batches, and the removal
 * of expired entries.
 */
#include "table/robin_hood/cuda/times/expiry.cuh"

#include <stdlib.h>
#include <string.h>

#include "table/robin_hood/cuda/rebuild/reserve.cuh"

/* Acquire, on the host: sw_cuda_expiry_open stores the pointer with release order once the struct
 * is complete. */
static struct sw_cuda_expiry *expiry_of(const struct sw_cuda_table *table)
{
    return __atomic_load_n(&table->expiry, __ATOMIC_ACQUIRE);
}

bool sw_cuda_keeps_times(const void *context)
{
    const struct sw_cuda_expiry *expiry = expiry_of((const struct sw_cuda_table *)context);
    return expiry != NULL && __atomic_load_n(&expiry->held, __ATOMIC_RELAXED) != 0;
}

uint64_t sw_cuda_expiry_bytes(const struct sw_cuda_expiry *expiry)
{
    return sw_cuda_expiry_is_open(expiry)
               ? expiry->bytes + expiry->times->scratch_bytes + expiry->times->arrays.bytes +
                     sw_device_bytes(expiry->times->own_device)
               : 0;
}

void sw_cuda_expiry_resized(struct sw_cuda_table *table)
{
    table->times_bytes = sw_cuda_expiry_bytes(table->expiry);
    sw_cuda_table_resized(table);
}

void sw_cuda_expiry_facts(struct sw_cuda_table *table, struct sw_backend_facts *facts)
{
    const struct sw_cuda_expiry *expiry = expiry_of(table);
    if (expiry != NULL) {
        const uint64_t held = __atomic_load_n(&expiry->held, __ATOMIC_RELAXED);
        facts->bytes_reserved += sw_cuda_expiry_bytes(expiry);
        if (sw_cuda_expiry_is_open(expiry)) {
            facts->bytes_unused +=
                sw_cuda_pool_unused(expiry->times->pool, expiry->times->arrays.bytes);
        }
        facts->expires = held;
        facts->expires_next = held > 0 ? expiry->pass.next : 0;
        facts->expires_mean = held > 0 ? expiry->pass.mean_at : 0;
        facts->clock_steps = expiry->pass.clock_steps;
    }
}

/* --- the clock -------------------------------------------------------------------------------- */

uint64_t sw_cuda_clock(const void *table)
{
    return __atomic_load_n(&((const struct sw_cuda_table *)table)->clock_ms, __ATOMIC_RELAXED);
}

uint64_t sw_cuda_advance_clock(struct sw_cuda_table *table, uint64_t clock_ms)
{
    return sw_expiry_advance_clock(&table->clock_ms, clock_ms);
}

void sw_cuda_report_clock(struct sw_cuda_table *table, struct sw_batch *batch)
{
    if (expiry_of(table) != NULL) {
        batch->clock_ms = sw_cuda_advance_clock(table, batch->clock_ms);
    }
}

/* --- the second table ------------------------------------------------------------------------- */

cudaError_t sw_cuda_times_run(struct sw_cuda_expiry *expiry, struct sw_batch *batch)
{
    return (cudaError_t)expiry->times->expiry_calls->run(expiry->times_queue, batch);
}

cudaError_t sw_cuda_times_write(struct sw_cuda_expiry *expiry, enum sw_op op, const uint64_t *keys,
                                const uint64_t *values, uint64_t *found, uint32_t count)
{
    const uint32_t most = expiry->times->config.batch_ops_max;
    cudaError_t error = cudaSuccess;
    for (uint32_t at = 0; at < count && error == cudaSuccess; at += most) {
        struct sw_batch batch = {};
        batch.kind = SW_BATCH_OPERATIONS;
        batch.op = op;
        batch.count = count - at < most ? count - at : most;
        batch.keys = keys + at;
        batch.values = values != NULL ? values + at : NULL;
        batch.found = found; /* a caller that wants `found` passes at most one batch */
        error = sw_cuda_times_run(expiry, &batch);
        __atomic_fetch_add(&expiry->held, batch.counters.inserted - batch.counters.deleted,
                           __ATOMIC_RELAXED);
    }
    return error;
}

cudaError_t sw_cuda_settle(struct sw_cuda_queue *queue)
{
    const cudaError_t error = sw_cuda_wait_for_reads(queue);
    return error == cudaSuccess ? cudaStreamSynchronize(queue->stream) : error;
}

/* --- removing expired entries ----------------------------------------------------------------- */

void sw_cuda_expiry_activate(struct sw_cuda_expiry *expiry, const struct sw_batch *batch)
{
    if (sw_cuda_expiry_is_open(expiry)) {
        expiry->view.times = expiry->times->s128.table;
    }
    expiry->view.past = batch->clock_ms > 0 ? batch->clock_ms : 1;
    expiry->some = expiry->held != 0;
    expiry->failed = false;
    expiry->expired = 0;
    expiry->removals = 0;
    expiry->wants_expired_keys = batch->wants_expired_keys;
    expiry->now = {};
}

void sw_cuda_expiry_deactivate(struct sw_cuda_table *table, struct sw_batch *batch)
{
    struct sw_cuda_expiry *expiry = table->expiry;
    batch->some_expire = expiry->some || expiry->held != 0;
    batch->expired = expiry->expired;
    batch->expired_keys = expiry->expired_keys;
    batch->expired_keys_count = expiry->expired_keys_count;
    expiry->expired_keys = NULL;
    expiry->expired_keys_count = 0;
    expiry->expired_keys_room = 0;
    if (expiry->held == 0) {
        sw_expiry_pass_clear(&expiry->pass);
    }
}

static size_t key_bytes_of(const struct sw_cuda_table *table)
{
    return table->slot_bits / 16;
}

/* Makes room to report `more` removed keys, if the batch wants them. On failure the batch fails. */
static bool reserve_expired(struct sw_cuda_table *table, uint32_t more)
{
    struct sw_cuda_expiry *expiry = table->expiry;
    const uint64_t wanted = (uint64_t)expiry->expired_keys_count + more;
    if (!expiry->wants_expired_keys || wanted <= expiry->expired_keys_room) {
        return true;
    }
    uint64_t room = 2 * (uint64_t)expiry->expired_keys_room + 64;
    room = room < wanted ? wanted : room;
    uint8_t *expired_keys = (uint8_t *)realloc(expiry->expired_keys, room * key_bytes_of(table));
    if (expired_keys == NULL) {
        expiry->failed = true;
        return false;
    }
    expiry->expired_keys = expired_keys;
    expiry->expired_keys_room = (uint32_t)room;
    return true;
}

/* Removes the first `count` keys of pinned->keys (or pinned->narrow) from the first table. All are
 * present. */
static cudaError_t remove_entries(struct sw_cuda_queue *queue, uint32_t count)
{
    struct sw_cuda_table *table = queue->table;
    struct sw_cuda_expiry *expiry = table->expiry;
    const struct sw_cuda_record *record = &expiry->pinned->record;
    const struct sw_cuda_mix mix = {true, 0, false, false, false, true, false};
    struct sw_batch batch = {};
    batch.kind = SW_BATCH_OPERATIONS;
    batch.op = SW_DELETE;
    batch.count = count;
    batch.keys = table->slot_bits == 64 ? (const void *)expiry->pinned->narrow
                                        : (const void *)expiry->pinned->keys;
    expiry->launch.number = 0;
    expiry->launch.count = 1;
    expiry->launch.parts = expiry->launch.few;
    expiry->launch.parts[0] = &batch;
    cudaError_t error =
        SW_BY_BITS(table->slot_bits, sw_cuda_enqueue_combined, queue, &expiry->inner,
                   &expiry->launch, mix, 1, &expiry->pinned->record);
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(queue->stream);
    }
    if (error != cudaSuccess || record->status != SW_OK || record->counters.deleted != count) {
        return error != cudaSuccess ? error : cudaErrorUnknown; /* a time had no entry */
    }
    __atomic_fetch_sub(&table->entries, count, __ATOMIC_RELAXED);
    __atomic_fetch_add(&table->stash, (uint64_t)record->stash_change, __ATOMIC_RELAXED);
    expiry->now.stash_change += record->stash_change;
    return cudaSuccess;
}

cudaError_t sw_cuda_remove_listed(struct sw_cuda_queue *queue)
{
    struct sw_cuda_expiry *expiry = queue->table->expiry;
    const uint32_t count = expiry->removals;
    expiry->removals = 0;
    if (count == 0) {
        return cudaSuccess;
    }
    const cudaError_t error =
        sw_cuda_times_write(expiry, SW_DELETE, expiry->pinned->keys, NULL, NULL, count);
    return error == cudaSuccess ? remove_entries(queue, count) : error;
}

/* Adds a key to the keys to be removed next, and reports it. The caller has reserved the memory. */
static void list_removal(struct sw_cuda_table *table, uint64_t key)
{
    struct sw_cuda_expiry *expiry = table->expiry;
    const uint32_t narrow = (uint32_t)key;
    const size_t bytes = key_bytes_of(table);
    if (expiry->wants_expired_keys) {
        memcpy(expiry->expired_keys + expiry->expired_keys_count++ * bytes,
               bytes == sizeof(narrow) ? (const void *)&narrow : (const void *)&key, bytes);
    }
    expiry->pinned->keys[expiry->removals] = key;
    expiry->pinned->narrow[expiry->removals++] = narrow;
    expiry->expired++;
}

bool sw_cuda_list_removal(struct sw_cuda_queue *queue, uint64_t key, cudaError_t *error)
{
    struct sw_cuda_expiry *expiry = queue->table->expiry;
    if (!reserve_expired(queue->table, 1)) {
        return false;
    }
    list_removal(queue->table, key);
    if (expiry->removals == expiry->inner.operations_max) {
        *error = sw_cuda_remove_listed(queue);
    }
    return true;
}

static uint64_t key_at(const struct sw_cuda_table *table, const void *keys, uint64_t i)
{
    return table->slot_bits == 64 ? ((const uint32_t *)keys)[i] : ((const uint64_t *)keys)[i];
}

/* Removes the expiry times of these keys first: a key that had no time is invalid.
 */
static cudaError_t remove_named_some(struct sw_cuda_queue *queue, const void *keys, uint32_t first,
                                     uint32_t count)
{
    struct sw_cuda_table *table = queue->table;
    struct sw_cuda_expiry *expiry = table->expiry;
    struct sw_cuda_expiry_pinned *pinned = expiry->pinned;
    if (!reserve_expired(table, count)) {
        return cudaSuccess;
    }
    for (uint32_t i = 0; i < count; i++) {
        pinned->keys[i] = key_at(table, keys, first + i);
    }
    cudaError_t error =
        sw_cuda_times_write(expiry, SW_DELETE, pinned->keys, NULL, pinned->found, count);
    for (uint32_t i = 0; i < count && error == cudaSuccess; i++) {
        if ((pinned->found[i / 64] >> (i % 64) & 1) == 0) {
            expiry->now.invalid = true;
        } else {
            list_removal(table, key_at(table, keys, first + i));
        }
    }
    const uint32_t removals = expiry->removals;
    expiry->removals = 0;
    return error == cudaSuccess && removals > 0 ? remove_entries(queue, removals) : error;
}

cudaError_t sw_cuda_remove_named(struct sw_cuda_queue *queue, const struct sw_batch *batch)
{
    const uint32_t most = queue->table->expiry->inner.operations_max;
    cudaError_t error = cudaSuccess;
    for (uint32_t at = 0; at < batch->remove_count && error == cudaSuccess; at += most) {
        const uint32_t left = batch->remove_count - at;
        error = remove_named_some(queue, batch->remove_keys, at, left < most ? left : most);
    }
    return error;
}

/* --- a pass over the second table ------------------------------------------------------------- */

/* Returns whether expiry of this key is suspended (sw_table_suspend_expiry). */
static bool is_suspended(const struct sw_cuda_table *table, uint64_t key)
{
    return table->is_suspended != NULL && table->is_suspended(table->suspended_context, key);
}

cudaError_t sw_cuda_sweep_piece(struct sw_cuda_queue *queue, uint64_t clock_ms, uint32_t count,
                                uint32_t most, uint32_t *looked)
{
    struct sw_cuda_expiry *expiry = queue->table->expiry;
    struct sw_expiry_pass *pass = &expiry->pass;
    struct sw_batch scan = {};
    scan.kind = SW_BATCH_SCAN;
    scan.count = count < SW_EXPIRY_PIECE ? count : SW_EXPIRY_PIECE;
    scan.scan.cursor = sw_cuda_expiry_is_open(expiry) ? pass->cursor : 0;
    scan.scan.keys = expiry->piece_keys;
    scan.scan.values = expiry->piece_times;
    sw_expiry_pass_begin(pass, clock_ms);
    cudaError_t error =
        sw_cuda_expiry_is_open(expiry) ? sw_cuda_times_run(expiry, &scan) : cudaSuccess;
    for (uint32_t i = 0; i < scan.scan.got && error == cudaSuccess; i++) {
        const uint64_t at = expiry->piece_times[i];
        const uint64_t key = expiry->piece_keys[i];
        if (at <= clock_ms && most > 0 && !is_suspended(queue->table, key) &&
            sw_cuda_list_removal(queue, key, &error)) {
            most--;
        } else {
            sw_expiry_pass_kept(pass, at);
        }
    }
    pass->cursor = scan.scan.cursor;
    *looked = scan.scan.got;
    return error;
}

cudaError_t sw_cuda_remove_some_expired(struct sw_cuda_queue *queue, uint64_t clock_ms,
                                        uint32_t most)
{
    struct sw_cuda_expiry *expiry = queue->table->expiry;
    const uint64_t before = expiry->expired;
    cudaError_t error = cudaSuccess;
    int ends = 0; /* the current pass, and one whole pass */
    while (ends < 2 && expiry->pass.next <= clock_ms && expiry->expired - before < most &&
           !expiry->failed && error == cudaSuccess) {
        uint32_t looked = 0;
        error = sw_cuda_sweep_piece(queue, clock_ms, SW_EXPIRY_PIECE,
                                    most - (uint32_t)(expiry->expired - before), &looked);
        if (error == cudaSuccess && expiry->pass.cursor == 0) {
            error = sw_cuda_remove_listed(queue); /* the next pass must not find these keys */
            sw_expiry_pass_end(&expiry->pass, clock_ms);
            ends++;
        }
    }
    return error == cudaSuccess ? sw_cuda_remove_listed(queue) : error;
}
