/* SPDX-License-Identifier: MIT
 *
 * cpu.h - the CPU backend's table, shared by its files.
 *
 * Threads: read phases of the lock may read `slots`, `geometry`, `table`, `state` and `arena`;
 * write phases may write them. Only write phases use `scratch`, `failed`, `postpones` and
 * `postponed`. facts_mutex guards
 * `facts`. All other fields are constant after open.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_CPU_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_CPU_H

#include "table/host/long_phase.h"
#include "table/host/resources.h"
#include "table/robin_hood/cpu/arena.h"
#include "table/robin_hood/expiry_table.h"
#include "table/robin_hood/id_audit.h"
#include "table/robin_hood/robin_hood_backend.h"

/* Partitions of a parallel write batch, by the top bits of m. */
#define SW_CPU_PARTITION_BITS 6
#define SW_CPU_PARTITIONS (1U << SW_CPU_PARTITION_BITS)
/* Slices per thread of such a batch, by position. Several slices let fast threads take over the
 * work of a late one. */
#define SW_CPU_SLICES_PER_THREAD 4
/* Prefetch distances, in operations: for home buckets, and for the buckets after them. */
#define SW_CPU_AHEAD 48U
#define SW_CPU_NEAR 6U
/* Keys that are looked up, or updated, together: the bits of a word of `found`. */
#define SW_CPU_BLOCK 64U

/* Scratch of write batches, with room for batch_ops_max operations. A batch borrows the memory
 * (sw_cpu_borrow_scratch). */
struct sw_cpu_scratch {
    struct sw_scratch_area *area; /* the area that the last batch borrowed; NULL: none */
    void *memory;                 /* the memory in which the arrays below lie */
    uint64_t bytes;               /* what a batch needs */
    void *records; /* undo records in order, or the partitioned operations in parallel */
    void *entries; /* slots: entries to insert, or leftovers */
    void *keys;    /* [operations]: keys of a batch that is read several times. With several threads
                      they share the memory of `index`, which is used later */
    uint32_t *index;   /* [4 * operations]: index of entries by key; NULL with one thread */
    uint32_t *offsets; /* [slices][partitions]; NULL with one thread */
    const uint8_t **key_strings; /* [2 * operations]: key strings of the keys of a group (admit.h);
                                    NULL: the table stores none */
};

union sw_cpu_table {
#define SW_MEMBER(bits, word, suffix) struct sw_table_##suffix suffix;
    SW_FORMATS(SW_MEMBER)
#undef SW_MEMBER
};

/* The last attempt to grow, if it failed. */
struct sw_cpu_failed {
    uint64_t retry_ns; /* monotonic time of the next attempt; 0: the last one did not fail */
    bool full;         /* it failed because of the probe cap, with these numbers: */
    uint64_t capacity;
    uint64_t occupied;
    uint64_t stash_occupied;
};

/* Write batches that are carried out together (combined.h). The bytes between the parts keep them
 * in different cache lines: the first changes with each batch, the second with each unit taken, the
 * third with each thread that has none left. The fourth stays during a step. */
#define SW_CPU_PARTS_MAX 32U
#define SW_CPU_LINE 64
struct sw_cpu_part;
struct sw_cpu_combined {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint32_t parts_max; /* most parts that wait at the same time; 0: batches are never combined */
    uint32_t writers;   /* atomic: threads that carry out a write batch, or wait for their turn */
    /* under `mutex`: parts that wait, the oldest first */
    struct sw_cpu_part *waiting, **waiting_end;
    uint32_t waiting_count;

    uint8_t apart_1[SW_CPU_LINE];
    /* A thread takes a unit: SW_CPU_PARTITIONS / units neighbouring partitions. Unit u is taken
     * when the low half of `next` is SW_CPU_PARTITIONS - units + u. */
    uint64_t next; /* atomic: step << 32 | what is taken next; SW_CPU_PARTITIONS or more: nothing */
    uint32_t sleepers; /* atomic: threads that wait for `changed` */
    bool is_led;       /* atomic */

    uint8_t apart_2[SW_CPU_LINE];
    uint64_t probes;  /* atomic: buckets read by updates */
    uint64_t inserts; /* atomic: a bit for each unit with keys to insert */
    uint32_t done;    /* atomic: units done in this step */

    uint8_t apart_3[SW_CPU_LINE];
    /* the launch: written by the leader before it publishes a step in `next` */
    uint32_t units;
    uint32_t count; /* of parts */
    bool is_insert; /* the step inserts; otherwise it updates */
    void *job;      /* the leader's struct RH(job) */
    struct sw_cpu_part *parts[SW_CPU_PARTS_MAX];
};

struct sw_cpu_image;
struct sw_row_image;
struct sw_expiry;

struct sw_cpu {
    struct sw_phase_lock lock;
    struct sw_device *device; /* config.shared, or `own_device` */
    struct sw_device *own_device;
    struct sw_pool *pool;          /* the device's */
    struct sw_table_config config; /* as created: capacity_slots is the first capacity */
    struct sw_geometry geometry;
    void *slots;
    union sw_cpu_table table;
    struct sw_state state;
    struct sw_arena arena; /* rows; arena.rows is NULL: the values are integers */
    struct sw_ids ids;     /* ids.limit is 0: the values are not ids. Threads: like `slots` */
    struct sw_cpu_scratch scratch;
    struct sw_cpu_combined combined;
    struct sw_cpu_failed failed;
    bool postpones;     /* a batch ends before a long growth, so that a thread carries out both */
    uint64_t postponed; /* the entries for which the table must grow first; 0: it need not */
    struct sw_long_phase long_phase;
    struct sw_cpu_image *image;     /* guards the arrays; NULL: none. In exclusive phases */
    struct sw_row_image *row_image; /* keeps rows for an image; likewise */
    struct sw_expiry *expiry; /* expiry times; NULL: no entry ever had one. Threads: like `slots` */
    const struct sw_expiry_table_calls
        *expiry_calls; /* creates a table of expiry times (a struct sw_cpu). Its
            `grow` is called in that table's write phase */
    bool (*is_suspended)(const void *context, uint64_t key); /* sw_table_suspend_expiry; likewise */
    const void *suspended_context;
    uint64_t clock_ms; /* the latest clock of a batch; atomic */
    pthread_mutex_t facts_mutex;
    struct sw_backend_facts facts;
};

/* Returns the format of the slots (widths.h). */
static inline uint32_t sw_cpu_format(const struct sw_cpu *cpu)
{
    return sw_format(cpu->config.slot_bits, cpu->config.is_set);
}

static inline bool sw_cpu_stash_is_full(const struct sw_cpu *cpu)
{
    return cpu->state.stash_occupied > cpu->geometry.stash_max;
}

/* Returns whether these operations may find no room, if all of them insert. */
static inline bool sw_cpu_is_short_of_room(const struct sw_cpu *cpu, uint32_t operations)
{
    return sw_cpu_stash_is_full(cpu) ||
           cpu->state.occupied + operations > cpu->geometry.occupied_max;
}

/* scratch.c. sw_cpu_reserve_scratch has the device keep memory for the scratch. Returns SW_OK or
 * SW_E_NOMEM. */
SW_MUST_CHECK int sw_cpu_reserve_scratch(struct sw_cpu *cpu);
/* Borrows memory for the scratch, and returns it. In a write phase. Borrowing may wait for writes
 * to other tables of the device. */
void sw_cpu_borrow_scratch(struct sw_cpu *cpu);
void sw_cpu_return_scratch(struct sw_cpu *cpu);
/* Maps memory for the scratch of one batch, in which the table may grow. Returns false if memory is
 * short. Then unmaps it. */
bool sw_cpu_map_scratch(struct sw_cpu *cpu);
void sw_cpu_unmap_scratch(struct sw_cpu *cpu);
/* Returns the bytes of scratch that only this table uses. */
uint64_t sw_cpu_own_scratch_bytes(const struct sw_cpu *cpu);

/* The entries, for the passes of id_audit.h. */
static inline struct sw_id_entries sw_cpu_id_entries(const struct sw_cpu *cpu)
{
    return (struct sw_id_entries){cpu->config.slot_bits, cpu->slots, cpu->geometry.slots_total,
                                  &cpu->state};
}

/* batch.c: carries out a batch of operations, in the phase that it needs. Returns SW_OK or
 * SW_E_BUSY. */
int sw_cpu_run_operations(struct sw_cpu *cpu, struct sw_batch *batch);
/* Does the same for a table of ids. A batch of FIND_OR_INSERT whose keys are all present is a read:
 * it gets no write_sequence. */
int sw_cpu_run_id_operations(struct sw_cpu *cpu, struct sw_batch *batch);

/* scan.c: scans the slots, in a read phase. */
void sw_cpu_scan_slots(const struct sw_cpu *cpu, struct sw_batch *batch);

#endif
