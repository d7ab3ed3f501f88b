/* SPDX-License-Identifier: MIT
 *
 * restore.h - filling an empty table part by part.
 *
 * The home buckets are cut into parts that a core's cache holds. What is added goes to the slots of
 * its part in the order it comes; in the end each part is sorted and laid out by itself, and what
 * did not fit in there, or belongs past its end, is inserted as by any batch.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_RESTORE_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_RESTORE_H

#include "table/robin_hood/cpu/cpu.h"

/* Threads: `counts`, `next`, `failed` and `repeated` are atomic, the overflow is under the mutex;
 * everything else is constant between begin and end. */
struct sw_cpu_restore {
    struct sw_cpu *cpu;
    uint32_t part_shift; /* log 2 of the home buckets of a part */
    uint32_t parts;
    uint64_t *counts; /* [parts]: entries that were put there, or found no room there */
    uint32_t next;    /* part to be laid out */
    bool failed;      /* no memory */
    bool repeated;    /* a key was there twice */
    pthread_mutex_t mutex;
    void *overflow; /* slots */
    uint64_t overflow_count, overflow_room;
    bool side; /* the entry without a slot was there */
    uint64_t side_value;
};

int sw_cpu_restore_begin(void *cpu, uint64_t entries, void **out);
int sw_cpu_restore_add(void *restore, const void *keys, const void *values, uint32_t count);
int sw_cpu_restore_end(void *restore, bool keep, struct sw_batch *batch);

#endif
