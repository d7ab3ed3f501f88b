/* SPDX-License-Identifier: MIT
 *
 * restore.h - fills an empty table segment by segment.
 *
 * The home buckets are cut into segments that fit a core's cache. Adding writes entries to the
 * slots of their segment in order of arrival. The end sorts and lays out each segment separately.
 * An entry that does not fit in its segment is inserted like the entries of a batch.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_RESTORE_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_RESTORE_H

#include "table/robin_hood/cpu/cpu.h"

/* Threads: `counts`, `next`, `failed`, `repeated` and `rows` are atomic. The mutex guards the
 * overflow and the side entry. All other fields are constant between begin and end. */
struct sw_cpu_restore {
    struct sw_cpu *cpu;
    uint32_t segment_shift; /* log 2 of the home buckets of a segment */
    uint32_t segments;
    uint64_t *counts; /* [segments]: entries added, including those without room in the segment */
    uint32_t next;    /* the next segment to lay out */
    bool failed;      /* memory is short */
    bool repeated;    /* a key was added twice */
    pthread_mutex_t mutex;
    void *overflow; /* slots */
    uint64_t overflow_count, overflow_room;
    uint64_t rows; /* rows used so far; atomic */
    bool side;     /* the entry without a slot was added */
    uint64_t side_value;
};

int sw_cpu_restore_begin(void *cpu, uint64_t entries, void **out);
int sw_cpu_restore_add(void *restore, const void *keys, const void *values, uint32_t count);
int sw_cpu_restore_end(void *restore, bool keep, struct sw_batch *batch);

#endif
