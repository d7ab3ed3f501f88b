/* SPDX-License-Identifier: MIT
 *
 * combined.h - rounds of batches that are submitted to one table before any is polled, so that
 * writes are carried out together, and given to another table one after the other. What every batch
 * says must be the same.
 *
 * Table 0 is the oracle's, table 1 the one under test. Both have one configuration, and were given
 * the same batches before.
 *
 * Threads: a struct combined belongs to one thread.
 */
#ifndef SHERWOOD_TESTS_GPU_COMBINED_H
#define SHERWOOD_TESTS_GPU_COMBINED_H

#include "table/table.h"
#include "tests/gpu/failure.h"
#include "tests/support/io_memory.h"
#include "tests/support/random.h"

#define COMBINED_QUEUES 3
#define COMBINED_BATCHES_MAX 1100 /* more than one launch takes */

#define COMBINED_COUNT_MAX 5000 /* operations of a batch */
#define COMBINED_OUTPUTS 5      /* of a batch, at most, with a guard behind each */
#define COMBINED_GUARD_BYTES 24
#define COMBINED_GUARD 0xE7

/* Properties of the batches of a round. */
struct combined_round {
    uint32_t batches;    /* at most COMBINED_BATCHES_MAX */
    uint32_t count_max;  /* operations of a batch, at least 1 */
    uint32_t large;      /* percent of the batches with 1000 to 5000 operations */
    uint32_t queues;     /* to which they are submitted in turn, at most COMBINED_QUEUES */
    enum sw_op op;       /* operation of nearly all batches; SW_GET: each has another one */
    bool reads;          /* some batches only read; needs one queue, for their place to be known */
    bool clears;         /* some batches clear the table */
    uint32_t fresh;      /* percent of the batches with keys that were never used */
    uint32_t deletes;    /* percent of the batches that delete */
    uint64_t universe;   /* all other keys are combined_key of [0, universe) */
    uint64_t operations; /* in all, at most operations_max; later batches are small */
};

/* A batch of the round, for both tables. */
struct combined_part {
    bool done; /* on table 1 */
    struct sw_batch batch[2];
    size_t guards[COMBINED_OUTPUTS]; /* where they are */
    uint32_t guard_count;
    uint32_t queue;
};

struct combined {
    struct sw_table *tables[2];
    struct sw_queue *oracle;
    struct sw_queue *queues[COMBINED_QUEUES]; /* of table 1 */
    struct sw_table_info info;
    struct random random;
    uint64_t next_fresh;
    uint64_t operations_max; /* of a round */
    uint64_t operations;     /* of all rounds so far */
    uint64_t round_operations;
    struct io_memory io[2];
    uint8_t *memory[2]; /* I/O memory of each table, laid out alike */
    size_t memory_bytes;
    size_t used;
    struct combined_part *parts;
    uint32_t part_count;
    char failure[200]; /* empty: none */
};

/* Numbers of fresh keys begin at `fresh`. Returns false with the failure; combined_close is due
 * whatever it returns. */
bool combined_open(struct combined *combined, struct sw_table *oracle, struct sw_table *tested,
                   uint64_t operations_max, uint64_t fresh, uint64_t seed);
void combined_close(struct combined *combined);

/* Carries out a round. False after the first difference, which is kept as text. */
bool combined_run(struct combined *combined, const struct combined_round *round);

/* Its first step (combined_draw.c): fills memory[0] and the parts, which it points into both. */
void combined_draw(struct combined *combined, const struct combined_round *round);

#endif
