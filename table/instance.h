/* SPDX-License-Identifier: MIT
 *
 * instance.h - the structures of a table and a queue, for the files that implement table.h.
 */
#ifndef SHERWOOD_TABLE_INSTANCE_H
#define SHERWOOD_TABLE_INSTANCE_H

#include <stdatomic.h>

#include "table/sequencer.h"
#include "table/write_combiner.h"

#define SW_REASON_BYTES 512

/* table.c adds up sw_counters word by word. */
#define SW_COUNTER_WORDS (sizeof(struct sw_counters) / sizeof(uint64_t))

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
    /* sums over the batches polled done */
    _Atomic uint64_t counters[SW_COUNTER_WORDS];
    _Atomic uint64_t handed_back;
    _Atomic uint64_t expired;
    _Atomic uint64_t adjusted; /* sw_batch_adjusted */
    _Atomic uint64_t stash_occupied;
    _Atomic uint64_t batches;
    _Atomic uint64_t writes;
    _Atomic uint32_t images, image_claims;
    _Atomic bool may_expire; /* some batch has given or removed expiry times, or will */
    _Atomic bool is_counted; /* the sequencer has counted that */
};

struct sw_queue {
    struct sw_table *table;
    void *memory; /* the backend's */
    struct sw_combiner_queue combined;
};

static inline struct sw_backend_facts sw_table_facts_of(const struct sw_table *table)
{
    struct sw_backend_facts facts = {0};
    table->backend->facts(table->memory, &facts);
    return facts;
}

/* Adds a completed batch to the sums. */
void sw_table_account(struct sw_table *table, const struct sw_batch *batch);

/* As sw_batch_submit, for a valid batch. */
int sw_queue_submit(struct sw_queue *queue, struct sw_batch *batch);

#endif
