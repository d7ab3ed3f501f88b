/* SPDX-License-Identifier: MIT
 *
 * cache_cpu.c - the CPU's driver: host memory, and one thread a batch under a phase lock.
 */
#include "table/cache/driver.h"

#include <stdio.h>
#include <stdlib.h>

#include "table/cache/cpu.h"
#include "table/cpu/memory.h"
#include "table/cpu/phase_lock.h"

struct cpu_cache {
    struct sw_cache_slots slots;
    struct sw_phase_lock phases;
    struct sw_cache_counters counters; /* atomic */
    void *memory;
    uint64_t bytes;
};

static int cpu_open(const struct sw_cache_config *config, const struct sw_cache_slots *slots,
                    void **out, char *reason, size_t reason_size)
{
    (void)config;
    *out = NULL;
    struct cpu_cache *cache = calloc(1, sizeof(*cache));
    if (cache == NULL || sw_phase_lock_init(&cache->phases) != SW_OK) {
        free(cache);
        snprintf(reason, reason_size, "no memory for a cache");
        return SW_E_NOMEM;
    }
    cache->slots = *slots;
    cache->memory = sw_cache_cpu_allocate(&cache->slots, &cache->bytes, reason, reason_size);
    if (cache->memory == NULL) {
        sw_phase_lock_fini(&cache->phases);
        free(cache);
        return SW_E_NOMEM;
    }
    *out = cache;
    return SW_OK;
}

static void cpu_close(void *opaque)
{
    struct cpu_cache *cache = opaque;
    sw_phase_lock_fini(&cache->phases);
    sw_memory_unmap(cache->memory, cache->bytes);
    free(cache);
}

static uint64_t cpu_bytes_reserved(void *opaque)
{
    const struct cpu_cache *cache = opaque;
    return cache->bytes;
}

static int cpu_enter(void *opaque, bool writes, void *stream)
{
    struct cpu_cache *cache = opaque;
    (void)stream;
    if (writes) {
        sw_phase_lock_enter_write(&cache->phases);
    } else {
        sw_phase_lock_enter_read(&cache->phases);
    }
    return SW_OK;
}

static void cpu_leave(void *opaque, bool writes)
{
    struct cpu_cache *cache = opaque;
    if (writes) {
        sw_phase_lock_leave_write(&cache->phases);
    } else {
        sw_phase_lock_leave_read(&cache->phases);
    }
}

/* Batches that read run beside each other. */
static void add_counters(struct sw_cache_counters *sum, const struct sw_cache_counters *counters)
{
    __atomic_fetch_add(&sum->hits, counters->hits, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum->misses, counters->misses, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum->inserted, counters->inserted, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum->erased, counters->erased, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum->evicted, counters->evicted, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum->not_admitted, counters->not_admitted, __ATOMIC_RELAXED);
}

static int cpu_run(void *opaque, const struct sw_cache_work *work, void *stream)
{
    struct cpu_cache *cache = opaque;
    struct sw_cache_counters counters = {0};
    (void)stream;
    if (sw_cache_op_writes(work->batch.op)) {
        sw_cache_cpu_write(&cache->slots, work, &counters);
    } else {
        sw_cache_cpu_read(&cache->slots, work, &counters);
    }
    add_counters(&cache->counters, &counters);
    if (work->batch.counters != NULL) {
        add_counters(work->batch.counters, &counters);
    }
    return SW_OK;
}

static uint64_t held(const struct sw_cache_counters *counters)
{
    return counters->inserted - counters->erased - counters->evicted;
}

static int cpu_clear(void *opaque, void *stream)
{
    struct cpu_cache *cache = opaque;
    (void)stream;
    sw_cache_cpu_empty(&cache->slots);
    cache->counters.erased += held(&cache->counters);
    return SW_OK;
}

static int cpu_list(void *opaque, const struct sw_cache_export *what, void *stream)
{
    struct cpu_cache *cache = opaque;
    (void)stream;
    sw_cache_cpu_list(&cache->slots, what);
    return SW_OK;
}

static int cpu_wait(void *opaque, void *stream)
{
    (void)opaque;
    (void)stream;
    return SW_OK;
}

static int cpu_counters(void *opaque, struct sw_cache_counters *counters)
{
    struct cpu_cache *cache = opaque;
    sw_phase_lock_enter_write(&cache->phases);
    *counters = cache->counters;
    sw_phase_lock_leave_write(&cache->phases);
    return SW_OK;
}

static int cpu_snapshot(void *opaque, struct sw_cache_snapshot *snapshot)
{
    struct cpu_cache *cache = opaque;
    snapshot->slots = cache->slots;
    snapshot->memory = NULL;
    snapshot->counters = cache->counters;
    return SW_OK;
}

const struct sw_cache_driver sw_cache_driver_cpu = {
    .kind = SW_BACKEND_CPU,
    .open = cpu_open,
    .close = cpu_close,
    .bytes_reserved = cpu_bytes_reserved,
    .enter = cpu_enter,
    .leave = cpu_leave,
    .run = cpu_run,
    .clear = cpu_clear,
    .list = cpu_list,
    .wait = cpu_wait,
    .release = cpu_wait,
    .counters = cpu_counters,
    .snapshot = cpu_snapshot,
};
