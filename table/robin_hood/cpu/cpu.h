/* SPDX-License-Identifier: MIT
 *
 * cpu.h - the CPU backend's table, shared by its files.
 *
 * Threads: `slots`, `geometry`, `table`, `state` and `arena` are read inside the lock's read phases
 * and written inside its write phases; `scratch` and `failed` are touched in write phases only;
 * `facts` with facts_mutex held. Everything else is constant after open.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_CPU_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_CPU_H

#include "table/host/phase_lock.h"
#include "table/host/pool.h"
#include "table/robin_hood/cpu/arena.h"
#include "table/robin_hood/robin_hood_backend.h"
#include "table/robin_hood/times_of.h"

/* Write batches carried out in parallel are cut by the top bits of m into this many partitions. */
#define SW_CPU_PARTITION_BITS 6
#define SW_CPU_PARTITIONS (1U << SW_CPU_PARTITION_BITS)
/* And by position into this many slices a thread, so that a late thread finds less left. */
#define SW_CPU_SLICES_PER_THREAD 4
#define SW_CPU_THREADS_MAX 256
/* Distance, in operations, at which buckets are prefetched. */
#define SW_CPU_AHEAD 16U

/* Scratch of write batches; sized for batch_ops_max operations. */
struct sw_cpu_scratch {
    void *memory;
    uint64_t bytes;
    void *records;         /* undo records in order, or the partitioned operations in parallel */
    void *entries;         /* slots: entries to insert, or left over */
    void *keys;            /* [operations]: keys of a batch that is passed over several times. With
                              several threads they share the memory of `index`, which is needed later */
    uint32_t *index;       /* [4 * operations]: finds entries by key; NULL with one thread */
    uint32_t *offsets;     /* [slices][partitions]; NULL with one thread */
    const uint8_t **texts; /* [2 * operations]: texts of keys in a walk of groups (admit.h); NULL:
                              none are kept */
};

union sw_cpu_table {
    struct sw_table_s64 s64;
    struct sw_table_s128 s128;
};

/* The last growth, if it failed. */
struct sw_cpu_failed {
    uint64_t retry_ns; /* monotonic: not tried again before; 0: it did not fail */
    bool full;         /* it failed for the probe cap, with these numbers: */
    uint64_t capacity;
    uint64_t occupied;
    uint64_t stash_occupied;
};

struct sw_cpu_image;
struct sw_row_image;
struct sw_expiry;

struct sw_cpu {
    struct sw_phase_lock lock;
    struct sw_pool *pool;
    struct sw_table_config config; /* as created: capacity_slots is the first one */
    struct sw_geometry geometry;
    void *slots;
    union sw_cpu_table table;
    struct sw_state state;
    struct sw_arena arena; /* rows; arena.rows is NULL: the values are integers */
    struct sw_cpu_scratch scratch;
    struct sw_cpu_failed failed;
    struct sw_cpu_image *image; /* the image that guards the arrays; NULL: none. Touched alone */
    struct sw_row_image *row_image;     /* what keeps rows for an image; likewise */
    struct sw_expiry *expiry;           /* when entries expire; NULL: none ever did. As `slots` */
    const struct sw_times_of *times_of; /* what makes a table of times, a struct sw_cpu. Its `grow`
                                           is called in that table's write phase */
    bool (*holds)(const void *context, uint64_t key); /* sw_table_hold; likewise */
    const void *holds_context;
    uint64_t clock_ms; /* the latest of a batch; atomic */
    pthread_mutex_t facts_mutex;
    struct sw_backend_facts facts;
};

/* batch.c: carries out a batch of operations, in the phase it needs. */
void sw_cpu_run_operations(struct sw_cpu *cpu, struct sw_batch *batch);

/* scan.c: a scan of the slots, in a read phase. */
void sw_cpu_scan_slots(const struct sw_cpu *cpu, struct sw_batch *batch);

#endif
