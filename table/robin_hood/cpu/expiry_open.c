/* SPDX-License-Identifier: MIT
 *
 * expiry_open.c - opens the second table when the first expiry time is set, and closes it with the
 * table; and suspends the expiry of keys.
 */
#include <stdlib.h>

#include "table/host/memory.h"
#include "table/robin_hood/cpu/expiry.h"

/* Configuration of the second table. Its maximum capacity suffices if every entry of the table
 * expires. It has no sequencer: its batches are parts of writes that have a number. */
static struct sw_table_config config_of(const struct sw_cpu *cpu)
{
    const uint64_t most = sw_geometry_capacity_max(&cpu->config);
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.capacity_slots = SW_EXPIRY_FIRST_SLOTS < most ? SW_EXPIRY_FIRST_SLOTS : most;
    config.max_capacity_slots = most;
    config.max_load = cpu->config.max_load;
    config.seed = cpu->config.seed;
    config.batch_ops_max = cpu->config.batch_ops_max;
    config.stash_slots = SW_EXPIRY_STASH_SLOTS;
    config.threads = 1;
    config.tuning.long_bytes = cpu->config.tuning.long_bytes;
    return config;
}

struct sw_expiry *sw_expiry_open(const struct sw_cpu *cpu)
{
    const struct sw_table_config config = config_of(cpu);
    void *times = NULL;
    struct sw_expiry *expiry = calloc(1, sizeof(*expiry));
    if (expiry == NULL) {
        return NULL;
    }
    expiry->group_times_bytes = 2 * sizeof(uint64_t) * (uint64_t)cpu->config.batch_ops_max;
    expiry->group_times = sw_memory_map(expiry->group_times_bytes);
    if (!sw_due_open(&expiry->due) || expiry->group_times == NULL ||
        cpu->expiry_calls->open(&config, &times) != SW_OK) {
        sw_memory_unmap(expiry->group_times, expiry->group_times_bytes);
        sw_due_close(&expiry->due);
        free(expiry);
        return NULL;
    }
    expiry->times = times;
    expiry->batch_bytes = expiry->group_times_bytes + sw_cpu_own_scratch_bytes(expiry->times);
    __atomic_add_fetch(&cpu->device->own_bytes, expiry->batch_bytes, __ATOMIC_RELAXED);
    sw_expiry_pass_clear(&expiry->pass);
    return expiry;
}

void sw_expiry_close(struct sw_cpu *cpu)
{
    struct sw_expiry *expiry = cpu->expiry;
    if (expiry != NULL) {
        __atomic_sub_fetch(&cpu->device->own_bytes, expiry->batch_bytes, __ATOMIC_RELAXED);
        cpu->expiry_calls->close(expiry->times);
        sw_memory_unmap(expiry->group_times, expiry->group_times_bytes);
        free(expiry->expired_keys);
        sw_due_close(&expiry->due);
        free(expiry);
    }
}

void sw_expiry_suspend(void *table, bool (*is_suspended)(const void *context, uint64_t key),
                       const void *context)
{
    struct sw_cpu *cpu = table;
    (void)sw_phase_lock_enter_uncounted(&cpu->lock);
    cpu->is_suspended = is_suspended;
    cpu->suspended_context = context;
    if (cpu->expiry != NULL && cpu->expiry->leaves_suspended) {
        sw_due_lower(&cpu->expiry->due, cpu->expiry->pass.next);
        cpu->expiry->leaves_suspended = false;
    }
    sw_phase_lock_leave_write(&cpu->lock);
}
