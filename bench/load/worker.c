/* SPDX-License-Identifier: MIT
 *
 * worker.c - taking units from a phase and accounting for them.
 */
#include "bench/load/worker.h"

#include <stdarg.h>
#include <stdio.h>

uint32_t sw_load_worker_take(struct sw_load_worker *worker, uint64_t now_ns, void *keys)
{
    struct sw_load_phase *phase = worker->phase;
    if (atomic_load_explicit(&phase->stop, memory_order_relaxed)) {
        return 0;
    }
    if (phase->seconds) {
        if (now_ns - worker->start_ns >= phase->seconds * 1000000000ULL) {
            return 0;
        }
        sw_load_fill_random(worker->workload, &worker->random, phase->unit_keys, keys);
        return phase->unit_keys;
    }
    uint64_t unit = atomic_fetch_add_explicit(&phase->next, 1, memory_order_relaxed);
    if (unit >= phase->units) {
        return 0;
    }
    uint64_t first = unit * phase->unit_keys, left = worker->workload->keys - first;
    uint32_t count = left < phase->unit_keys ? (uint32_t)left : phase->unit_keys;
    sw_load_fill_keys(worker->workload, first, count, keys);
    return count;
}

void sw_load_worker_done(struct sw_load_worker *worker, uint64_t submitted_ns, uint64_t now_ns,
                         uint32_t keys)
{
    sw_load_histogram_record(worker->latency, now_ns - submitted_ns);
    worker->end_ns = now_ns;
    uint64_t done = atomic_load_explicit(&worker->keys_done, memory_order_relaxed);
    atomic_store_explicit(&worker->keys_done, done + keys, memory_order_relaxed);
}

void sw_load_worker_mismatch(struct sw_load_worker *worker, uint64_t key, bool missing,
                             uint64_t found)
{
    worker->missing += missing;
    worker->wrong += !missing;
    if (!worker->example.is_set) {
        worker->example = (struct sw_load_example){
            .is_set = true,
            .missing = missing,
            .key = key,
            .expected = sw_load_value(worker->workload, key),
            .found = found,
        };
    }
}

int sw_load_worker_fail(struct sw_load_worker *worker, int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(worker->error, sizeof worker->error, format, arguments);
    va_end(arguments);
    return status;
}
