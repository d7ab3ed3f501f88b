/* SPDX-License-Identifier: MIT
 *
 * commit.h - RESP writes of several loops in one batch.
 *
 * Batches of writes run one after the other, whichever loop submits them, and a small one costs the
 * device much the same as a large one. So loops leave their rounds that write here. One that finds
 * fewer than SW_COMMITS batches under way takes what waits, submits it as one batch through its own
 * queue, and gives every round its part of the results; then it takes what has come meanwhile.
 * Rounds wait only while somebody does this. A loop has one round in flight at a time, so commands
 * of a connection keep their order. Functions are called on a loop's thread.
 */
#ifndef SHERWOOD_SERVER_BATCH_COMMIT_H
#define SHERWOOD_SERVER_BATCH_COMMIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "server/batch/batches.h"
#include "server/list.h"

struct sw_round;

/* Shared by the loops of a server. */
struct sw_commit {
    pthread_mutex_t lock;
    struct sw_list rounds; /* waiting */
    unsigned batches;      /* under way */
};

/* A loop's batch of rounds, its own or others'. Arrays are in I/O memory. */
struct sw_commit_batch {
    struct sw_flight flight;
    struct sw_commit *commit;
    struct sw_batches *batches;
    uv_async_t *wake;      /* the loop's; sent when another loop has the results */
    struct sw_list rounds; /* under way */
    uint32_t operations_max;
    void *memory;
    size_t memory_bytes;
    uint8_t *ops;
    uint8_t *keys;
    uint8_t *values;
    uint8_t *previous;
    uint64_t *found;
    uint64_t *not_admitted; /* as a round's */
    uint32_t *group_ends;
    uint8_t *group_refused;
};

void sw_commit_init(struct sw_commit *commit);
void sw_commit_fini(struct sw_commit *commit);

/* Returns 0, or -1 (memory); fini is allowed after both. */
int sw_commit_batch_init(struct sw_commit_batch *batch, struct sw_commit *commit,
                         struct sw_batches *batches, uv_async_t *wake);
void sw_commit_batch_fini(struct sw_commit_batch *batch);

/* Takes a round whose batch is filled in and has groups, until sw_commit_is_done. If another loop
 * sees to it, this one's `wake` is sent then. */
void sw_commit_start(struct sw_round *round);
bool sw_commit_is_done(const struct sw_round *round);

/* Before a loop whose rounds are all done closes its handles. */
void sw_commit_leave(struct sw_commit *commit);

#endif
