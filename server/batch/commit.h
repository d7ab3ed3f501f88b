/* SPDX-License-Identifier: MIT
 *
 * commit.h - combines the RESP writes of several loops into one batch (group commit).
 *
 * The table runs batches of writes one after the other, whichever loop submits them, and a small
 * one costs the device much the same as a large one. So loops queue their write rounds here. A loop
 * that finds fewer than SW_COMMITS combined batches in flight becomes a leader: it takes the queued
 * rounds, submits them as one batch through its own queue, copies the results back to each round,
 * and then takes the rounds that were queued meanwhile. A round waits only while there are leaders.
 * A loop has one round in flight at a time, so the commands of a connection keep their order.
 *
 * Functions are called on a loop's thread. The lock protects the queue; it is never held during a
 * submit. (gather.h does the same for bulk frames within one loop. One combiner behind table.h is
 * to replace both.)
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
    pthread_mutex_t lock;  /* protects all fields */
    struct sw_list rounds; /* the queued rounds, oldest first */
    unsigned batches;      /* combined batches in flight */
};

/* A loop's combined batch, of its own rounds and those of other loops. The arrays are in I/O
 * memory. */
struct sw_commit_batch {
    struct sw_flight flight;
    struct sw_commit *commit;
    struct sw_batches *batches;
    uv_async_t *wake;      /* the loop's handle, by which another leader signals results */
    struct sw_list rounds; /* the rounds of the batch in flight */
    uint32_t operations_max;
    void *memory;
    size_t memory_bytes;
    uint8_t *ops;
    uint8_t *keys;
    uint8_t *values;
    uint8_t *previous;
    uint64_t *found;
    uint64_t *not_admitted; /* as in struct sw_round */
    uint32_t *group_ends;
    uint8_t *group_refused;
};

void sw_commit_init(struct sw_commit *commit);
void sw_commit_fini(struct sw_commit *commit);

/* Returns 0, or -1 if there is no memory; sw_commit_batch_fini may be called after either. */
int sw_commit_batch_init(struct sw_commit_batch *batch, struct sw_commit *commit,
                         struct sw_batches *batches, uv_async_t *wake);
void sw_commit_batch_fini(struct sw_commit_batch *batch);

/* Queues a round whose batch is filled in and has groups, and borrows it until sw_commit_is_done.
 * If another loop submits it, that loop signals this one's `wake` when the results are there. */
void sw_commit_start(struct sw_round *round);
bool sw_commit_is_done(const struct sw_round *round);

/* To be called by a loop whose rounds are all done, before it closes its handles: waits until no
 * leader is signalling its `wake` any more. */
void sw_commit_leave(struct sw_commit *commit);

#endif
