/* SPDX-License-Identifier: MIT
 *
 * room.h - what batches of integers and of rows do before their operations: find room and threads.
 *
 * Threads: the caller is in the phase that the batch needs.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_ROOM_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_ROOM_H

#include "table/robin_hood/cpu/cpu.h"

/* The operations of a batch, summed up. */
struct sw_cpu_mix {
    bool writes;
    bool deletes;
    bool conditional; /* whether an absent key is inserted depends on earlier operations */
};

/* True if the pool has more than one thread and is now the caller's. */
bool sw_cpu_try_parallel(struct sw_cpu *cpu);

void sw_cpu_admit_all(struct sw_batch *batch);

/* Grows before a batch that might have an insert refused; not for a single group that is refused at
 * any size. It may load the keys, once and for all: work->keys is then a copy, the scratch's
 * keys. */
void sw_make_room_s64(struct sw_cpu *cpu, struct sw_work_s64 *work, const struct sw_cpu_mix *mix);
void sw_make_room_s128(struct sw_cpu *cpu, struct sw_work_s128 *work, const struct sw_cpu_mix *mix);

#endif
