/* SPDX-License-Identifier: MIT
 *
 * expiring.c - the clock of a table, the keys whose expiry is suspended, and whether entries may
 * expire.
 */
#include "table/expiring.h"

#include "table/instance.h"

uint64_t sw_table_clock(const struct sw_table *table, uint64_t wall_ms)
{
    const uint64_t last = table->backend->clock == NULL ? 0 : table->backend->clock(table->memory);
    return last > wall_ms ? last : wall_ms;
}

void sw_table_suspend_expiry(struct sw_table *table,
                             bool (*is_suspended)(const void *context, uint64_t key),
                             const void *context)
{
    if (table->backend->suspend_expiry != NULL) {
        table->backend->suspend_expiry(table->memory, is_suspended, context);
    }
}

bool sw_table_may_expire(const struct sw_table *table)
{
    return atomic_load_explicit(&table->may_expire, memory_order_relaxed);
}

/* A thread that finds the table not counted yet counts it before it goes on, also if another thread
 * does the same. So no thread submits a time before the number has increased. */
void sw_table_will_expire(struct sw_table *table)
{
    if (!atomic_load_explicit(&table->is_counted, memory_order_acquire)) {
        atomic_store_explicit(&table->may_expire, true, memory_order_relaxed);
        __atomic_fetch_add(&table->config.sequencer->expiring, 1, __ATOMIC_RELEASE);
        atomic_store_explicit(&table->is_counted, true, memory_order_release);
    }
}

uint64_t sw_table_expiring_tables(const struct sw_table *table)
{
    return __atomic_load_n(&table->config.sequencer->expiring, __ATOMIC_ACQUIRE);
}
