/* SPDX-License-Identifier: MIT
 *
 * pair.h - two tables of one configuration, given the same batches and compared.
 *
 * Side 0 is the CPU backend, side 1 the backend under test. A case fills `in`, calls pair_run, and
 * from time to time pair_compare; the first difference ends the case and is kept as text.
 *
 * Threads: one.
 */
#ifndef SHERWOOD_TESTS_GPU_PAIR_H
#define SHERWOOD_TESTS_GPU_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "table/table.h"
#include "tests/gpu/failure.h"
#include "tests/support/io_memory.h"
#include "tests/support/random.h"

/* One table's end: a queue and I/O memory for one batch. */
struct side {
    struct sw_table *table;
    struct sw_queue *queue;
    struct io_memory io;
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

/* Which of `previous` and `found` the batches of a pair ask for. */
enum pair_answers {
    PAIR_ANSWERS_DRAWN, /* one operation for all, GET or an upsert: drawn for each batch; all of the
                           rest. Upserts are also drawn to be given as an array of operations, or
                           as a batch of one group */
    PAIR_ANSWERS_ALL,
    PAIR_ANSWERS_PREVIOUS,
    PAIR_ANSWERS_FOUND,
    PAIR_ANSWERS_NONE
};

struct pair {
    struct side side[2];
    uint32_t slot_bits;
    bool is_set;         /* key sets: other operations become those that they have (choose_form) */
    uint32_t n_max;      /* operations of a batch */
    enum sw_choice bulk; /* the tables' tuning of it */
    enum sw_choice ranges;
    uint64_t seed; /* of the tables */
    struct random random;
    uint64_t operations;       /* compared so far */
    enum pair_answers answers; /* of the batches to come */

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

    /* How pair_run gives that batch to both sides. */
    struct {
        bool previous;
        bool found;
        bool array; /* of operations, though all are the same */
        uint32_t group_count;
    } form;

    char failure[512]; /* empty: none */
};

/* The backend of side 1. SW_BACKEND_CPU compares the CPU backend with itself. */
int pair_open(struct pair *pair, const struct sw_table_config *config, enum sw_backend_kind second,
              uint64_t random_seed);
void pair_close(struct pair *pair);

static inline uint64_t pair_random(struct pair *pair)
{
    return random_next(&pair->random);
}
static inline uint64_t pair_below(struct pair *pair, uint64_t bound)
{
    return random_below(&pair->random, bound);
}
/* The i-th of distinct, scattered keys of the width. */
uint64_t pair_key(const struct pair *pair, uint64_t i);
/* The key whose mixed value is m. */
uint64_t pair_key_of(const struct pair *pair, uint64_t m);
uint64_t pair_mix(const struct pair *pair, uint64_t key);

/* Words of the width, as keys and values are. */
uint64_t pair_word(const struct pair *pair, const void *array, uint64_t i);
void pair_word_set(const struct pair *pair, void *array, uint64_t i, uint64_t word);

/* Keeps the first failure of the pair. Returns false. */
#define pair_fail(pair, ...) keep_failure((pair)->failure, sizeof((pair)->failure), __VA_ARGS__)

/* Runs `in` on both sides and compares status, answers, refusals, counters (probes apart) and
 * left-overs. loose: entries met the probe cap while keys were also deleted or repeated, so which
 * entries those are may differ: failures and left-overs are not compared. Failures are also not
 * compared for a batch without `previous`, because a bulk merge counts them otherwise, and for a
 * batch with refused groups: in order, such a group may reach the cap before it is refused. */
bool pair_run(struct pair *pair, bool loose);
/* Runs one operation on distinct keys [first, first + count), in one or several batches, with
 * random values. */
bool pair_range(struct pair *pair, enum sw_op op, uint64_t first, uint64_t count);
/* Looks up the same keys, and one beyond each end; all answers are asked for. */
bool pair_lookup(struct pair *pair, uint64_t first, uint64_t count);
bool pair_clear(struct pair *pair);
/* Resizes both tables and compares the capacities they report. False unless both end with the
 * status. */
bool pair_resize(struct pair *pair, uint64_t capacity, int status);
/* Reads both tables by scans of `wanted` entries and compares what came. */
bool pair_scan(struct pair *pair, uint32_t wanted);

/* Audits both tables and compares how many entries they hold. */
bool pair_audit(struct pair *pair);
/* Audits both tables and compares their contents: bucket by bucket, or, if loose, as one set. */
bool pair_compare(struct pair *pair, bool loose);
/* Audits both tables and compares their entries as sets, whatever their capacities. */
bool pair_compare_contents(struct pair *pair);

#endif
