/* SPDX-License-Identifier: MIT
 *
 * combined.h - write batches of several threads, carried out together by these threads.
 *
 * A write batch has the table alone, and one thread carries it out unless it is large. So while one
 * thread writes, the writes of all others would wait. Here their threads do not sleep. Each thread
 * partitions its own batch by the top bits of m, which needs no lock: the result is a part. The
 * thread appends the part to a list. The first thread that finds no leader leads: it enters a write
 * phase, takes the parts of the list, and numbers them in the order of the list. That is a launch.
 * All threads whose parts wait carry out the launch, also those that arrive meanwhile. A thread
 * takes a unit, some neighbouring partitions, and applies the operations of all parts on it. At the
 * end of the phase each thread writes the answers of its own batch.
 *
 * Invariant: effects and answers are those of the batches one after the other, in the order of
 * their numbers. All operations on a key are in one unit. One thread applies them, in the order of
 * the parts and, within a part, in the order of the batch (rule 7). No group is refused: the leader
 * forms a launch only if the table has room for every operation, as an insert. The stash must not
 * be too full for any batch, even if every operation before that batch adds an entry to it.
 * Otherwise the leader carries out the parts one after the other, as if they had not been combined.
 * No operation of a launch deletes, or concerns expiry times. Entries that meet the cap, and the
 * buckets read for all parts, are counted in the last part.
 *
 * A step (update, insert) ends when all units are done. So no thread works on a launch after the
 * leader has ended the phase.
 *
 * Threads: any number. Memory: the arrays of a part lie in an area that it borrows from the
 * device.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_COMBINED_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_COMBINED_H

#include <stdalign.h>

#include "table/robin_hood/cpu/cpu.h"

enum sw_cpu_part_stage {
    SW_PART_WAITS,
    SW_PART_LAUNCHED,   /* the launch is done; the answers are to be written */
    SW_PART_ALONE,      /* the leader carried out the batch by itself, with its answers */
    SW_PART_TURNED_AWAY /* nothing has happened */
};

/* A batch, partitioned. It lies on the stack of its thread, its arrays in the area. Other threads
 * read no field of the batch while it waits, and the leader alone writes to it: each would wait for
 * a cache line of the thread that submitted it. */
struct sw_cpu_part {
    alignas(SW_CPU_LINE) struct sw_batch *batch;
    struct sw_cpu_part *next;
    const void *expected; /* of the batch, like the next three */
    void *previous;
    uint32_t count, op;
    uint32_t stage; /* atomic: enum sw_cpu_part_stage */
    /* Atomic; operations on absent keys, that inserted, and that changed nothing. */
    uint64_t misses, inserted, unchanged;
    uint32_t first[SW_CPU_PARTITIONS + 1]; /* index of each partition's first record */
    void *records;
    void *keys; /* m of each operation; then the words of `found` */
};

/* Opens and closes cpu->combined. */
void sw_cpu_combined_open(struct sw_cpu *cpu);
void sw_cpu_combined_close(struct sw_cpu *cpu);
/* Lets the batches of the table be combined if the process may use at least SW_COMBINED_THREADS_MIN
 * cores, and the device has at least that number of threads. With fewer cores the threads that wait
 * would take the time of the threads that work. */
#define SW_COMBINED_THREADS_MIN 4
void sw_cpu_combined_allow(struct sw_cpu *cpu);

/* Begins and ends a write batch of this thread. Returns whether other threads write or wait. */
static inline bool sw_cpu_begin_write(struct sw_cpu *cpu)
{
    return __atomic_fetch_add(&cpu->combined.writers, 1, __ATOMIC_RELAXED) > 0;
}

static inline void sw_cpu_end_write(struct sw_cpu *cpu)
{
    __atomic_fetch_sub(&cpu->combined.writers, 1, __ATOMIC_RELAXED);
}

/* Carries out a batch together with those of other threads. The batch has no DELETE. In a write
 * phase `write_alone` carries out a batch by itself and numbers it; it returns false if the phase
 * has become that of the batch, and ends with it. Returns false if the batch cannot be combined, if
 * too many parts wait, or if a phase is long: then nothing has happened. */
typedef bool sw_cpu_write_alone(struct sw_cpu *cpu, struct sw_batch *batch);
bool sw_cpu_write_combined(struct sw_cpu *cpu, struct sw_batch *batch,
                           sw_cpu_write_alone *write_alone);

/* parallel.c: the functions that know the format of slots.
 *
 * sw_part_bytes is the size of the arrays of a part: for most operations that it may have, one huge
 * page, in which stores to all partitions in turns miss no entry of a TLB. sw_partition_part places
 * these arrays in `memory` and partitions the batch of the part. In no phase. sw_run_launch carries
 * out the launch of cpu->combined: for the leader, in its write phase, with scratch. sw_help_launch
 * takes units of the current step, and carries them out, until other threads have the rest.
 * sw_answer_part writes the answers and counters of a part that was launched. In no phase. */
#define SW_COMBINED(bits, word, suffix)                                                 \
    uint64_t sw_part_bytes_##suffix(uint32_t operations);                               \
    void sw_partition_part_##suffix(const struct sw_cpu *cpu, struct sw_cpu_part *part, \
                                    void *memory);                                      \
    void sw_run_launch_##suffix(struct sw_cpu *cpu);                                    \
    void sw_help_launch_##suffix(struct sw_cpu *cpu);                                   \
    void sw_answer_part_##suffix(struct sw_cpu_part *part);
SW_FORMATS(SW_COMBINED)
#undef SW_COMBINED

/* Returns whether a step has units that no thread has taken. */
static inline bool sw_cpu_launch_has_work(const struct sw_cpu *cpu)
{
    return (uint32_t)__atomic_load_n(&cpu->combined.next, __ATOMIC_SEQ_CST) < SW_CPU_PARTITIONS;
}

/* Begins a step of the launch, and returns when it is done. For the leader. */
void sw_cpu_run_step(struct sw_cpu *cpu, bool is_insert, void (*help)(struct sw_cpu *cpu));

#endif
