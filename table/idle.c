/* SPDX-License-Identifier: MIT
 *
 * idle.c - work on a table that can wait until no write arrives.
 */
#include "table/idle.h"

#include "table/instance.h"

bool sw_table_tidies(const struct sw_table *table)
{
    return table->combines && table->backend->tidy != NULL;
}

void sw_table_tidy(struct sw_table *table)
{
    if (sw_table_tidies(table)) {
        sw_combiner_tidy(&table->combiner);
    }
}

void sw_combiner_tidy(struct sw_combiner *combiner)
{
    const uint64_t launches = sw_combiner_launches(combiner);
    const bool idle = launches == combiner->idle_launches;
    combiner->idle_launches = launches;
    if (!idle || launches == combiner->tidied_launches ||
        __atomic_exchange_n(&combiner->is_led, true, __ATOMIC_ACQUIRE)) {
        return;
    }
    if (combiner->flying == 0 && !combiner->postponed &&
        launches == sw_combiner_launches(combiner) &&
        __atomic_load_n(&combiner->gathered, __ATOMIC_ACQUIRE) == 0) {
        combiner->tidied_launches = launches;
        (void)combiner->backend->tidy(combiner->queue); /* the next batch reports a failure */
    }
    __atomic_store_n(&combiner->is_led, false, __ATOMIC_RELEASE);
}
