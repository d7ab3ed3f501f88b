/* SPDX-License-Identifier: MIT
 *
 * restore.h - fills an empty table segment by segment.
 *
 * The home buckets are cut into segments that fit a core's cache. Entries are first written to the
 * slots of their segment in the order they come. At the end each segment is sorted and laid out by
 * itself. An entry that did not fit there, or belongs past the segment's end, is inserted as by a
 * batch.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_RESTORE_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_RESTORE_H

#include "table/robin_hood/cpu/cpu.h"

/* Threads: `counts`, `next`, `failed` and `repeated` are atomic, the overflow is under the mutex;
 * everything else is constant between begin and end. */
struct sw_cpu_restore {
    struct sw_cpu *cpu;
    uint32_t segment_shift; /* log 2 of the home buckets of a segment */
    uint32_t segments;
    uint64_t *counts; /* [segments]: entries written there, or without room there */
    uint32_t next;    /* the next segment to be laid out */
    bool failed;      /* out of memory */
    bool repeated;    /* a key was added twice */
    pthread_mutex_t mutex;
    void *overflow; /* slots */
    uint64_t overflow_count, overflow_room;
    uint64_t rows; /* given out so far; atomic */
    bool side;     /* the entry without a slot was added */
    uint64_t side_value;
};

int sw_cpu_restore_begin(void *cpu, uint64_t entries, void **out);
int sw_cpu_restore_add(void *restore, const void *keys, const void *values, uint32_t count);
int sw_cpu_restore_end(void *restore, bool keep, struct sw_batch *batch);

#endif
