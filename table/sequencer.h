/* SPDX-License-Identifier: MIT
 *
 * sequencer.h - the numbers of the writes of all tables that share one sequencer, and how many of
 * these tables have entries that may expire.
 *
 * A table takes a number while it locks its own order of writes (write_combiner.h,
 * host/phase_lock.h). So the numbers of one table ascend in the order in which its writes take
 * effect, and no two writes of any table have the same number. A table with a sequencer of its own
 * has every number from 1 on.
 *
 * Threads: any.
 */
#ifndef SHERWOOD_TABLE_SEQUENCER_H
#define SHERWOOD_TABLE_SEQUENCER_H

#include <stdint.h>

struct sw_sequencer {
    uint64_t last;     /* atomic: the last number taken; 0: none */
    uint64_t expiring; /* atomic: sw_table_expiring_tables */
};

/* Takes the next number. */
static inline uint64_t sw_sequencer_next(struct sw_sequencer *sequencer)
{
    return __atomic_add_fetch(&sequencer->last, 1, __ATOMIC_ACQ_REL);
}

static inline uint64_t sw_sequencer_last(const struct sw_sequencer *sequencer)
{
    return __atomic_load_n(&sequencer->last, __ATOMIC_ACQUIRE);
}

/* Sets the last number. No table may take one meanwhile. */
static inline void sw_sequencer_set(struct sw_sequencer *sequencer, uint64_t last)
{
    __atomic_store_n(&sequencer->last, last, __ATOMIC_RELEASE);
}

#endif
