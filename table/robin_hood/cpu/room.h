/* SPDX-License-Identifier: MIT
 *
 * room.h - preparation of batches of integers and rows: room and threads.
 *
 * Threads: the caller is in the phase that the batch needs.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_ROOM_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_ROOM_H

#include "table/robin_hood/cpu/cpu.h"

/* Properties of the operations of a batch. */
struct sw_cpu_mix {
    bool writes;
    bool deletes;
    bool conditional; /* earlier operations decide whether an absent key is inserted */
};

/* Takes the pool. Returns true if the pool has more than one thread and now belongs to the
 * caller. */
bool sw_cpu_try_parallel(struct sw_cpu *cpu);

void sw_cpu_admit_all(struct sw_batch *batch);

/* Returns the most entries that the batch adds. In a write phase with scratch. */
#define SW_ABSENT_IN(bits, word, suffix) \
    uint64_t sw_absent_in_##suffix(const struct sw_cpu *cpu, const struct sw_batch *batch);
SW_FORMATS(SW_ABSENT_IN)
#undef SW_ABSENT_IN

/* Grows the table if an insert of the batch might be refused. Does not grow for a single group that
 * no size could admit. May copy the keys: then work->keys is the scratch's keys. Returns false if
 * the growth is postponed: then the batch must end before it has changed anything. */
#define SW_MAKE_ROOM(bits, word, suffix)                                          \
    bool sw_make_room_##suffix(struct sw_cpu *cpu, struct sw_work_##suffix *work, \
                               const struct sw_cpu_mix *mix);
SW_FORMATS(SW_MAKE_ROOM)
#undef SW_MAKE_ROOM

#endif
