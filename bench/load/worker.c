/* SPDX-License-Identifier: MIT
 *
 * worker.c - takes units from a phase and accounts for them.
 */
#include "bench/load/worker.h"

#include "bench/load/random.h"
#include "bench/load/tables.h"

#include <stdarg.h>
#include <stdio.h>

#define SECOND_NS 1000000000ULL
/* An open loop that is behind gives up after this time for each of its seconds. */
#define GIVE_UP_NS (2 * SECOND_NS)

/* Returns when unit number `unit` is due. Computes this from the number, so errors do not add up.
 */
static uint64_t due_ns(const struct sw_load_phase *phase, uint64_t unit)
{
    __extension__ typedef unsigned __int128 uint128;
    uint128 keys = (uint128)unit * phase->unit_keys;
    return phase->start_ns + (uint64_t)(keys * SECOND_NS / phase->rate);
}

uint64_t sw_load_phase_due(const struct sw_load_phase *phase)
{
    if (!(phase->seconds > 0)) {
        return phase->units;
    }
    uint64_t keys = (uint64_t)(phase->seconds * (double)phase->rate);
    return (keys + phase->unit_keys - 1) / phase->unit_keys;
}

/* Takes a number from the phase, and returns how many keys that unit has; 0 if the phase has no
 * more. */
static uint32_t take_number(struct sw_load_worker *worker, uint64_t now_ns, uint64_t *number,
                            uint64_t *due)
{
    struct sw_load_phase *phase = worker->phase;
    *due = 0;
    const double gone = (double)(now_ns - worker->start_ns);
    if (phase->seconds > 0 && !phase->rate && gone >= phase->seconds * SECOND_NS) {
        return 0;
    }
    *number = atomic_fetch_add_explicit(&phase->next, 1, memory_order_relaxed);
    if (phase->rate) {
        *due = due_ns(phase, *number);
    }
    if (phase->seconds > 0) {
        const uint64_t give_up = phase->start_ns + (uint64_t)(phase->seconds * GIVE_UP_NS);
        bool is_over = phase->rate && (*number >= sw_load_phase_due(phase) || now_ns > give_up);
        const uint32_t choice = phase->unit_keys - phase->unit_keys_min + 1;
        return is_over
                   ? 0
                   : phase->unit_keys_min + (uint32_t)sw_load_random_below(&worker->random, choice);
    }
    if (*number >= phase->units) {
        return 0;
    }
    uint64_t left = worker->workload->keys - *number * phase->unit_keys;
    return left < phase->unit_keys ? (uint32_t)left : phase->unit_keys;
}

static bool is_sweep(const struct sw_load_phase *phase)
{
    return phase->operation == SW_LOAD_FILL || phase->operation == SW_LOAD_CHECK;
}

bool sw_load_worker_take(struct sw_load_worker *worker, uint64_t now_ns, struct sw_load_unit *unit)
{
    struct sw_load_phase *phase = worker->phase;
    unit->due_ns = 0;
    unit->count = 0;
    if (atomic_load_explicit(&phase->stop, memory_order_relaxed)) {
        return false;
    }
    if (is_sweep(phase)) {
        unit->count = sw_load_partition_sweep(unit->partition, phase->operation == SW_LOAD_FILL,
                                              unit->keys, unit->operands);
        unit->operation = unit->partition->operations[0];
        return unit->count != 0;
    }
    unit->count = take_number(worker, now_ns, &unit->number, &unit->due_ns);
    if (unit->count == 0) {
        return false;
    }
    if (unit->is_filled) {
        return true;
    }
    if (unit->partition) {
        sw_load_partition_draw(unit->partition, unit->count, unit->keys, unit->operands);
        unit->operation = unit->partition->operations[0];
    } else if (worker->options->tables > 0) {
        sw_load_tables_fill(worker, unit);
    } else if (!(phase->seconds > 0) || phase->distribution->kind == SW_LOAD_SEQUENTIAL) {
        sw_load_fill_range(worker->workload, unit->number * phase->unit_keys, unit->count,
                           unit->keys);
    } else {
        sw_load_fill_drawn(worker->workload, phase->distribution, &worker->random, unit->count,
                           unit->keys);
    }
    return true;
}

void sw_load_worker_sent(struct sw_load_worker *worker, struct sw_load_unit *unit, uint64_t now_ns)
{
    unit->since_ns = now_ns;
    if (unit->due_ns) {
        uint64_t late = now_ns > unit->due_ns ? now_ns - unit->due_ns : 0;
        unit->since_ns = unit->due_ns;
        worker->late += late > SW_LOAD_LATE_NS;
        worker->late_max_ns = late > worker->late_max_ns ? late : worker->late_max_ns;
    }
}

void sw_load_worker_done(struct sw_load_worker *worker, const struct sw_load_unit *unit,
                         uint64_t now_ns)
{
    sw_load_histogram_record(worker->latency, now_ns - unit->since_ns);
    if (worker->series) {
        sw_load_series_record(worker->series, now_ns - unit->since_ns);
    }
    worker->end_ns = worker->until_ns = now_ns;
    uint64_t done = atomic_load_explicit(&worker->keys_done, memory_order_relaxed);
    atomic_store_explicit(&worker->keys_done, done + unit->count, memory_order_relaxed);
}

static void keep_example(struct sw_load_worker *worker, const struct sw_load_example *example)
{
    worker->missing += example->missing;
    worker->wrong += !example->missing;
    if (!worker->example.is_set) {
        worker->example = *example;
    }
}

void sw_load_worker_mismatch(struct sw_load_worker *worker, uint64_t key, bool missing,
                             uint64_t found)
{
    const struct sw_load_example example = {
        .is_set = true,
        .missing = missing,
        .key = key,
        .expected = sw_load_value(worker->workload, key),
        .found = found,
    };
    keep_example(worker, &example);
}

void sw_load_worker_presence(struct sw_load_worker *worker, uint64_t key, bool should)
{
    const struct sw_load_example example = {
        .is_set = true,
        .missing = should,
        .surplus = !should,
        .key = key,
        .expected = sw_load_value(worker->workload, key),
    };
    keep_example(worker, &example);
}

void sw_load_worker_read(struct sw_load_worker *worker, const struct sw_load_unit *unit,
                         uint64_t key, bool missing, bool is_right, uint64_t found)
{
    const enum sw_load_stage stage =
        sw_load_life_at(&worker->phase->life, unit->since_ns, worker->until_ns);
    if (missing && stage != SW_LOAD_ALIVE) {
        worker->expired++;
    } else if (missing || !is_right) {
        sw_load_worker_mismatch(worker, key, missing, found);
    } else if (stage == SW_LOAD_EXPIRED) {
        sw_load_worker_presence(worker, key, false);
    }
}

void sw_load_worker_check(struct sw_load_worker *worker, const struct sw_load_unit *unit,
                          uint32_t i, struct sw_load_answer *answer)
{
    const struct sw_load_workload *workload = worker->workload;
    uint64_t operand = sw_load_element(unit->operands, workload->value_bytes, i);
    answer->since_ns = unit->since_ns;
    answer->until_ns = worker->until_ns;
    struct sw_load_verdict verdict = sw_load_partition_check(unit->partition, i, operand, answer);
    worker->expired += verdict.expired;
    if (verdict.right) {
        return;
    }
    const struct sw_load_example example = {
        .is_set = true,
        .missing = verdict.missing,
        .surplus = verdict.surplus,
        .key = sw_load_element(unit->keys, workload->key_bytes, i),
        .expected = verdict.expected,
        .found = answer->value,
    };
    keep_example(worker, &example);
}

int sw_load_worker_fail(struct sw_load_worker *worker, int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(worker->error, sizeof(worker->error), format, arguments);
    va_end(arguments);
    return status;
}
