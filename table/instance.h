/* SPDX-License-Identifier: MIT
 *
 * instance.h - the structures of a table and a queue, for the files that implement table.h.
 */
#ifndef SHERWOOD_TABLE_INSTANCE_H
#define SHERWOOD_TABLE_INSTANCE_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>

#include "table/sequencer.h"
#include "table/write_combiner.h"

#define SW_REASON_BYTES 512
/* Alignment of the sums of a queue: threads that complete batches write no cache line in common. */
#define SW_SUMS_ALIGNMENT 64

/* Sums over completed batches, in words only. Relaxed atomics: one thread adds, any thread reads,
 * and no reader relates two of the sums. */
struct sw_sums {
    struct sw_counters counters; /* first */
    uint64_t handed_back;
    uint64_t expired;
    uint64_t adjusted;       /* sw_batch_adjusted */
    uint64_t stash_occupied; /* may wrap: batches may complete in another order */
    uint64_t batches;
    uint64_t writes;
};

struct sw_table {
    const struct sw_backend *backend;
    void *memory; /* the backend's */
    enum sw_backend_kind kind;
    const char *engine_name;
    struct sw_table_config config;
    uint64_t capacity_max; /* slots */
    uint64_t operations;   /* as in sw_table_info, with this configuration */
    uint32_t batch_kinds;
    bool filters_slots;
    struct sw_sequencer own_sequencer; /* used if the configuration has none */
    bool combines;                     /* writes go to the combiner instead of the queues */
    struct sw_combiner combiner;
    char reason[SW_REASON_BYTES];
    pthread_mutex_t queues_lock;
    struct sw_queue *queues; /* under `queues_lock` */
    struct sw_sums sums; /* likewise: of destroyed queues, and of batches that belong to no queue */
    _Atomic uint32_t images;
    _Atomic uint32_t image_claims, claims_begun; /* claims that have not ended; all so far */
    _Atomic bool may_expire; /* some batch has given or removed expiry times, or will */
    _Atomic bool is_counted; /* the sequencer has counted that */
};

struct sw_queue {
    struct sw_table *table;
    void *memory; /* the backend's */
    struct sw_combiner_queue combined;
    struct sw_queue *next; /* of the table's list */
    /* over the batches polled done; only the queue's thread adds to them */
    alignas(SW_SUMS_ALIGNMENT) struct sw_sums sums;
};

static inline struct sw_backend_facts sw_table_facts_of(const struct sw_table *table)
{
    struct sw_backend_facts facts = {0};
    table->backend->facts(table->memory, &facts);
    return facts;
}

/* Sums (sums.c). */

/* Add a completed batch to the sums of its queue, or to those of a table if it belongs to no queue.
 * Only the queue's thread may call the first. */
void sw_queue_account(struct sw_queue *queue, const struct sw_batch *batch);
void sw_table_account(struct sw_table *table, const struct sw_batch *batch);
/* Returns the sums over all queues that the table has or had. */
struct sw_sums sw_table_sums(const struct sw_table *table);
/* Adds a queue to its table's list, and removes it again. */
void sw_table_add_queue(struct sw_queue *queue);
void sw_table_remove_queue(struct sw_queue *queue);

/* As sw_batch_submit, for a valid batch. */
int sw_queue_submit(struct sw_queue *queue, struct sw_batch *batch);

#endif
