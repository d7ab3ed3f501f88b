/* SPDX-License-Identifier: MIT
 *
 * worker.h - a phase of a run, the threads that carry it out, and what a protocol must provide.
 *
 * A phase is cut into units: the keys of one frame (bulk) or of one pipeline (RESP). Workers take
 * units from the phase until there are no more. A unit costs one atomic addition, two clock reads
 * and one histogram entry; a key costs none of these.
 *
 * Ownership: run.c owns phases, workers and transports. While a phase runs, a worker is touched by
 * its own thread only, except `keys_done` and `finished`, which anyone may read.
 */
#ifndef SHERWOOD_LOAD_WORKER_H
#define SHERWOOD_LOAD_WORKER_H

#include "bench/load/histogram.h"
#include "bench/load/options.h"
#include "bench/load/workload.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum sw_load_status {
    SW_LOAD_OK = 0,
    SW_LOAD_E_MISMATCH = -1,
    SW_LOAD_E_USAGE = -2,
    SW_LOAD_E_PEER = -3, /* connection or server */
    SW_LOAD_E_NOMEM = -4
};

struct sw_load_phase {
    enum sw_load_operation operation; /* SET, GET or MGET */
    uint32_t unit_keys;               /* of a full unit */
    uint64_t units;                   /* each key once; not used if seconds != 0 */
    uint32_t seconds;                 /* != 0: random keys until then */
    atomic_uint_fast64_t next;        /* unit */
    atomic_bool stop;                 /* a worker failed: take no more units */
};

/* The first key whose answer was not right. */
struct sw_load_example {
    bool is_set;
    bool missing;
    uint64_t key;
    uint64_t expected;
    uint64_t found;
};

struct sw_load_worker {
    const struct sw_load_options *options;
    const struct sw_load_workload *workload;
    struct sw_load_phase *phase;
    void *connections; /* the transport's */
    pthread_t thread;
    uint64_t random;
    uint64_t start_ns;
    uint64_t end_ns; /* of the last answer */
    atomic_uint_fast64_t keys_done;
    uint64_t missing;
    uint64_t wrong;
    struct sw_load_example example;
    struct sw_load_histogram *latency; /* ns; owned */
    int status;
    char error[SW_LOAD_ERROR_BYTES];
};

/* What a server told about itself; zero where the protocol does not say. */
struct sw_load_server {
    char version[32];
    char backend[16];
    uint32_t key_bytes;
    uint32_t value_bytes;
};

/* A protocol: how one thread drives its share of the connections. */
struct sw_load_transport {
    /* Connects `count` sockets. On success *out is owned by the caller; on failure *out is NULL
     * and `error` (SW_LOAD_ERROR_BYTES) says why. *server is filled. */
    int (*connect)(const struct sw_load_options *options, uint32_t count, void **out,
                   struct sw_load_server *server, char *error);
    /* Buffers for units of these keys, once all connections stand. */
    int (*prepare)(void *connections, const struct sw_load_workload *workload, char *error);
    /* Takes units until the phase has none, and waits for all answers. */
    int (*run)(struct sw_load_worker *worker);
    void (*destroy)(void *connections); /* NULL is allowed */
};
extern const struct sw_load_transport sw_load_bulk_transport;
extern const struct sw_load_transport sw_load_resp_transport;

/* Takes a unit: writes its keys to `keys` and returns how many, 0 if the phase has no more.
 * `now_ns` is the time, as for sw_load_worker_done. */
uint32_t sw_load_worker_take(struct sw_load_worker *worker, uint64_t now_ns, void *keys);
/* Accounts for an answered unit. */
void sw_load_worker_done(struct sw_load_worker *worker, uint64_t submitted_ns, uint64_t now_ns,
                         uint32_t keys);
/* Accounts for a key whose answer is not right. */
void sw_load_worker_mismatch(struct sw_load_worker *worker, uint64_t key, bool missing,
                             uint64_t found);
/* Keeps a failure's text; returns `status`. */
int sw_load_worker_fail(struct sw_load_worker *worker, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline uint64_t sw_load_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

#endif
