/* SPDX-License-Identifier: MIT
 *
 * bulk.h - what the files of the bulk protocol share: frames in flight and their slots. One thread.
 */
#ifndef SHERWOOD_LOAD_BULK_H
#define SHERWOOD_LOAD_BULK_H

#include "bench/load/prefill.h"
#include "bench/load/random.h"
#include "bench/load/tables.h"
#include "bench/load/worker.h"
#include "client/sherwood.h"

/* One system call sends all ready frames of at most this many keys. */
#define SW_LOAD_BATCH_KEYS 8192

/* A place for a frame in flight. */
struct sw_load_slot {
    struct sherwood_request request;
    struct sw_load_unit unit;
    struct sw_load_partition partition; /* if the run has a mix */
    void *keys, *operands;              /* the slot's own arrays */
    void *got;
    uint64_t *found;
};

/* A thread's connections; of a cluster, one to each node. */
struct sw_load_bulk {
    struct sherwood *client; /* of all connections of the thread */
    struct sw_load_tables tables;
    struct sw_load_segments *segments; /* one for each slot; NULL: no frame has segments */
    uint32_t connections;
    uint32_t frame;
    uint32_t slots_count; /* connections times depth */
    uint32_t in_flight;
    struct sherwood_times times;    /* expiry times of sets, with --ttl */
    void *arrays;                   /* one block for all slots; in the region, if there is one */
    struct sherwood_region *region; /* the handle's region; NULL: arrays go by the socket */
    struct sw_load_slot *slots;
    struct sw_load_slot **idle; /* open loop: a stack */
    uint32_t idle_count;
    struct sw_load_prefill prefill;       /* frames of this thread, for the timed phase */
    const struct sw_load_prefill *frames; /* frames of every unit, borrowed; NULL: none */
    bool splices;                         /* prefilled frames are sent as pages */
};

/* Checks that the server's limits and values allow what the options request, and copies its facts.
 * Returns a status with the reason in `error`. */
int sw_load_bulk_facts(const struct sw_load_options *options, const struct sherwood_server *facts,
                       uint32_t connections, struct sw_load_server *server, char *error);

/* Counts the replies of a frame, and compares them with the expected ones. */
void sw_load_bulk_use(struct sw_load_worker *worker, const struct sw_load_slot *slot);

#endif
