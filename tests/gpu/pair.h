/* SPDX-License-Identifier: MIT
 *
 * pair.h - two tables of one configuration, given the same batches and compared.
 *
 * Side 0 is the CPU backend, side 1 the backend under test. A case fills `in`, calls pair_run, and
 * from time to time pair_compare; the first difference ends the case and is kept as text.
 *
 * Threads: a pair belongs to one thread, but several pairs may share two tables (pair_share).
 */
#ifndef SHERWOOD_TESTS_GPU_PAIR_H
#define SHERWOOD_TESTS_GPU_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "table/table.h"

/* One table's end: a queue and I/O memory for one batch. */
struct side {
    struct sw_table *table;
    struct sw_queue *queue;
    void *keys;
    void *values;
    uint8_t *ops;
    void *previous;
    uint64_t *found;
    uint32_t *group_ends;
    uint8_t *group_refused;
    void *leftover_keys;
    void *leftover_values;
    struct sw_batch batch;
};

struct pair {
    struct side side[2];
    bool owns_tables;
    uint32_t slot_bits;
    uint32_t n_max; /* operations of a batch */
    uint64_t seed;  /* of the tables */
    uint64_t random;
    uint64_t operations; /* compared so far */

    /* The next batch. Keys and values are cut to the width. */
    struct {
        uint64_t *keys;   /* [n_max] */
        uint64_t *values; /* [n_max] */
        uint8_t *ops;     /* [n_max] */
        uint32_t count;
        int op; /* what all do, or -1: see ops */
        uint32_t *group_ends;
        uint32_t group_count;
    } in;

    char failure[512]; /* empty: none */
};

/* The backend of side 1. SW_BACKEND_CPU compares the CPU backend with itself. */
int pair_open(struct pair *pair, const struct sw_table_config *config, enum sw_backend_kind second,
              uint64_t random_seed);
/* A pair on the tables of `owner`, with queues of its own. The owner must outlive it. */
int pair_share(struct pair *pair, const struct pair *owner, uint64_t random_seed);
void pair_close(struct pair *pair);

uint64_t pair_random(struct pair *pair);
uint64_t pair_below(struct pair *pair, uint64_t bound);
/* The i-th of distinct, scattered keys of the width. */
uint64_t pair_key(const struct pair *pair, uint64_t i);
/* The key whose mixed value is m. */
uint64_t pair_key_of(const struct pair *pair, uint64_t m);

/* Keeps the first failure of the pair. Returns false. */
__attribute__((format(printf, 2, 3))) bool pair_fail(struct pair *pair, const char *format, ...);

/* Runs `in` on both sides and compares status, answers, refusals, counters (probes apart) and
 * left-overs. loose: entries met the probe cap while keys were also deleted or repeated, so which
 * entries those are may differ: failures and left-overs are not compared. */
bool pair_run(struct pair *pair, bool loose);
/* Runs one operation on distinct keys [first, first + count), in as many batches as needed, with
 * random values. */
bool pair_range(struct pair *pair, enum sw_op op, uint64_t first, uint64_t count);
/* Looks up the same keys, and one beyond each end. */
bool pair_lookup(struct pair *pair, uint64_t first, uint64_t count);
bool pair_clear(struct pair *pair);
/* Reads both tables by scans of `wanted` entries and compares what came. */
bool pair_scan(struct pair *pair, uint32_t wanted);

/* Audits both tables and compares their contents: bucket by bucket, or, if loose, as one set. */
bool pair_compare(struct pair *pair, bool loose);

#endif
