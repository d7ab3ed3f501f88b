/* SPDX-License-Identifier: MIT
 *
 * bulk_check.c - compares the reply to a bulk frame with the expected reply (see bulk.h).
 */
#include "bench/load/bulk.h"

/* Compares the answers of a frame one by one. The caller does this only if a count shows that the
 * answers are neither all right nor all expired. */
static void compare_each(struct sw_load_worker *worker, const struct sw_load_slot *slot,
                         uint32_t count)
{
    const struct sw_load_workload *workload = worker->workload;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t key = sw_load_element(slot->unit.keys, workload->key_bytes, i);
        uint64_t got = sw_load_shown(workload, slot->got, i);
        /* Without the bitmap, an absent key has the value 0, or no bytes. */
        bool missing = slot->request.found ? !sherwood_found(slot->found, i) : got == 0;
        bool is_right = sw_load_is_right(workload, slot->unit.keys, slot->got, i);
        sw_load_worker_read(worker, &slot->unit, key, missing, is_right, got);
    }
}

/* Checks that all keys existed (`should`), or that all were absent: by the bitmap for each key, or
 * without it by the hits in the head of the reply. */
static void report_presence(struct sw_load_worker *worker, const struct sw_load_slot *slot,
                            uint32_t count, bool should)
{
    const struct sw_load_workload *workload = worker->workload;
    for (uint32_t i = 0; slot->request.found && i < count; i++) {
        if (sherwood_found(slot->found, i) != should) {
            uint64_t key = sw_load_element(slot->unit.keys, workload->key_bytes, i);
            sw_load_worker_presence(worker, key, should);
        }
    }
    if (!slot->request.found) {
        worker->missing += should ? count - slot->request.hits : 0;
        worker->wrong += should ? 0 : slot->request.hits;
    }
}

/* Returns how many keys of the frame were present: by the bitmap, or by the head of a reply without
 * one. */
static uint64_t count_found(const struct sw_load_slot *slot, uint32_t count)
{
    uint64_t found = 0;
    if (!slot->request.found) {
        return slot->request.hits;
    }
    for (size_t i = 0; i < count / 64; i++) {
        found += (uint32_t)__builtin_popcountll(slot->found[i]);
    }
    if (count % 64) {
        uint64_t last = slot->found[count / 64] & ((1ULL << count % 64) - 1);
        found += (uint32_t)__builtin_popcountll(last);
    }
    return found;
}

static void verify(struct sw_load_worker *worker, const struct sw_load_slot *slot, uint32_t count)
{
    const bool has_expired = sw_load_life_at(&worker->phase->life, slot->unit.since_ns,
                                             worker->until_ns) == SW_LOAD_EXPIRED;
    const uint64_t found = count_found(slot, count);
    if (has_expired && found == 0) {
        worker->expired += count;
    } else if (has_expired || found != count ||
               sw_load_count_wrong(worker->workload, slot->unit.keys, slot->got, count)) {
        compare_each(worker, slot, count);
    }
}

/* Does the same for a frame of a partition, by its model. */
static void verify_partition(struct sw_load_worker *worker, const struct sw_load_slot *slot)
{
    const bool is_get = slot->request.operation == SHERWOOD_GET;
    const bool has_found = slot->request.found != NULL;
    for (uint32_t i = 0; i < slot->unit.count; i++) {
        struct sw_load_answer answer = {
            .has_found = has_found,
            .found = has_found && sherwood_found(slot->found, i),
            .has_value = is_get,
            .has_previous = !is_get && slot->request.previous,
            .value = slot->request.previous
                         ? sw_load_element(slot->got, worker->workload->value_bytes, i)
                         : 0,
        };
        sw_load_worker_check(worker, &slot->unit, i, &answer);
    }
}

void sw_load_bulk_use(struct sw_load_worker *worker, const struct sw_load_slot *slot)
{
    const struct sw_load_unit *unit = &slot->unit;
    const bool is_delete = worker->phase->operation == SW_LOAD_DELETE;
    if (unit->partition) {
        worker->operations[unit->operation] += unit->count;
    }
    worker->hits +=
        !unit->partition || slot->request.operation == SHERWOOD_GET ? slot->request.hits : 0;
    if (worker->options->no_verify) {
        return;
    }
    if (unit->partition) {
        verify_partition(worker, slot);
    } else if (worker->phase->operation == SW_LOAD_GET || (is_delete && slot->request.previous)) {
        verify(worker, slot, unit->count);
    } else if (is_delete || worker->phase->is_fresh) {
        if (count_found(slot, unit->count) != (is_delete ? unit->count : 0)) {
            report_presence(worker, slot, unit->count, is_delete);
        }
    }
}
