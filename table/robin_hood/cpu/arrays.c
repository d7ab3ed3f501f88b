/* SPDX-License-Identifier: MIT
 *
 * arrays.c - maps, empties and describes the slots of a CPU table.
 */
#include "table/robin_hood/cpu/arrays.h"

#include <string.h>

#include "table/host/memory.h"

/* Bytes that a thread sets to EMPTY at a time. */
#define FILL_BYTES (4ULL << 20)
/* 1 / 20 of the available memory, 5 %, stays free for other users. */
#define AVAILABLE_MARGIN 20

void *sw_cpu_arrays_map(const struct sw_geometry *geometry, uint64_t bytes_more)
{
    /* with overcommitted memory, mmap succeeds and the system kills the process at the first
     * write */
    uint64_t installed = sw_memory_installed();
    uint64_t available = sw_memory_available();
    if (bytes_more > installed || geometry->bytes_total > installed - bytes_more ||
        geometry->bytes_total > available - available / AVAILABLE_MARGIN) {
        return NULL;
    }
    return sw_memory_map(geometry->bytes_total);
}

struct fill {
    uint8_t *bytes;
    uint64_t count;
    uint64_t next;
};

static void fill_job(void *context, uint32_t thread, uint32_t threads)
{
    struct fill *fill = context;
    (void)thread;
    (void)threads;
    for (;;) {
        uint64_t at = __atomic_fetch_add(&fill->next, FILL_BYTES, __ATOMIC_RELAXED);
        if (at >= fill->count) {
            return;
        }
        uint64_t left = fill->count - at;
        memset(fill->bytes + at, 0xFF, (size_t)(left < FILL_BYTES ? left : FILL_BYTES));
    }
}

void sw_cpu_arrays_empty(struct sw_cpu *cpu, const struct sw_geometry *geometry, void *slots)
{
    struct fill fill = {slots, geometry->bytes_total, 0};
    if (geometry->bytes_total > FILL_BYTES && sw_pool_try_lock(cpu->pool)) {
        sw_pool_run(cpu->pool, fill_job, &fill);
        sw_pool_unlock(cpu->pool);
    } else {
        fill_job(&fill, 0, 1);
    }
}

#define RH_FIELD SW_WIDTH_SUFFIX
#define SW_WIDTH_BODY "table/robin_hood/cpu/arrays.inl"
#include "table/each_format.inl"

union sw_cpu_table sw_cpu_arrays_table(const struct sw_cpu *cpu, const struct sw_geometry *geometry,
                                       void *slots, struct sw_state *state)
{
    return SW_BY_FORMAT(sw_cpu_format(cpu), sw_arrays_table, cpu, geometry, slots, state);
}

bool sw_cpu_arrays_rebuild(const struct sw_cpu *cpu, const union sw_cpu_table *to,
                           uint64_t stash_limit)
{
    return SW_BY_FORMAT(sw_cpu_format(cpu), sw_arrays_rebuild, &cpu->table, to, stash_limit);
}

void sw_cpu_arrays_guard(struct sw_cpu *cpu, struct sw_cow_guard *guard)
{
    SW_BY_FORMAT(sw_cpu_format(cpu), sw_arrays_guard, &cpu->table, guard);
}

void sw_cpu_arrays_home(const struct sw_cpu *cpu, uint64_t m, uint64_t *main, uint64_t *stash)
{
    SW_BY_FORMAT(sw_cpu_format(cpu), sw_arrays_home, &cpu->table, m, main, stash);
}
