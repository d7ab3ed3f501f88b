/* SPDX-License-Identifier: MIT
 *
 * worker.h - a phase of a run, the threads that carry it out, and what a protocol must provide.
 *
 * A phase is cut into units: the keys of one frame (bulk) or of one pipeline (RESP). Workers take
 * units from the phase until the phase has no more. A unit costs one atomic addition, two or three
 * clock reads and one histogram entry. The cost does not depend on the number of keys.
 *
 * In closed loop a unit is sent when there is room for it. With a rate, unit i is due at a fixed
 * time, whatever the server does, and its latency counts from then.
 *
 * Ownership: run.c owns phases, workers and transports. While a phase runs, a worker is touched by
 * its own thread only, except `keys_done` and `finished`, which anyone may read.
 */
#ifndef SHERWOOD_LOAD_WORKER_H
#define SHERWOOD_LOAD_WORKER_H

#include "bench/load/cluster.h"
#include "bench/load/histogram.h"
#include "bench/load/life.h"
#include "bench/load/options.h"
#include "bench/load/partition.h"
#include "bench/load/prefill.h"
#include "bench/load/series.h"
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
    enum sw_load_operation operation;                /* what one phase does: not SET_GET */
    uint32_t unit_keys;                              /* of a full unit */
    uint32_t unit_keys_min;                          /* of any, if seconds != 0 */
    bool is_fresh;                                   /* SET: no key is there before */
    struct sw_load_life life;                        /* of the keys that it reads, without a mix */
    uint64_t units;                                  /* unless seconds != 0 */
    double seconds;                                  /* != 0: until then, with keys drawn */
    uint64_t rate;                                   /* keys a second; 0: closed loop */
    uint64_t start_ns;                               /* with a rate: when unit 0 is due */
    const struct sw_load_distribution *distribution; /* of the draws, unless a partition draws */
    atomic_uint_fast64_t next;                       /* unit */
    atomic_bool stop;                                /* a worker failed: take no more units */
};

/* The first key whose answer was not right. */
struct sw_load_example {
    bool is_set;
    bool missing;
    bool surplus; /* there, but should not be */
    uint64_t key;
    uint64_t expected;
    uint64_t found;
};

/* A unit on its way. The transport owns the arrays. */
struct sw_load_unit {
    struct sw_load_partition *partition; /* NULL unless the run has a mix */
    void *keys;
    void *operands;    /* of writes; by RESP NULL without a partition */
    bool is_filled;    /* keys, operands and operation are there before it is taken */
    uint8_t operation; /* of a mix, bulk: enum sw_load_mix_operation */
    uint32_t count;
    uint64_t number;   /* of the phase's units; not of a sweep */
    uint64_t due_ns;   /* 0: closed loop */
    uint64_t since_ns; /* from when its latency counts */
};

/* What the system calls of a phase were, and the bytes they moved. */
struct sw_load_traffic {
    uint64_t reads, writes, polls, options;
    uint64_t bytes_received, bytes_sent;
    uint64_t bytes_spliced;             /* of those sent: as pages, without a copy */
    uint64_t ring_requests, ring_bells; /* on memory that is shared */
};

struct sw_load_worker {
    const struct sw_load_options *options;
    const struct sw_load_workload *workload;
    struct sw_load_phase *phase;
    void *connections; /* the transport's */
    pthread_t thread;
    uint64_t random;
    uint64_t start_ns;
    uint64_t end_ns;   /* of the last answer */
    uint64_t until_ns; /* the answers that are being checked were there then */
    atomic_uint_fast64_t keys_done;
    uint64_t missing;
    uint64_t wrong;
    uint64_t expired; /* absent keys whose time was over, or may have been over */
    uint64_t operations[SW_LOAD_MIX_OPERATIONS]; /* of the mix: keys */
    uint64_t hits; /* bulk: keys that existed; in a mix, only of its gets */
    uint64_t late; /* units sent after their time, see limits.h */
    uint64_t late_max_ns;
    struct sw_load_example example;
    struct sw_load_histogram *latency;    /* ns; owned */
    struct sw_load_series_counts *series; /* the same, for --series; owned, or NULL */
    struct sw_load_traffic traffic;
    uint64_t cpu_ns; /* of its thread */
    int status;
    char error[SW_LOAD_ERROR_BYTES];
};

/* State shared by all open connections of a run. */
struct sw_load_setup {
    const struct sw_load_options *options;
    const struct sw_load_workload *workload;
    const struct sw_load_partition_setup *partitions; /* NULL unless the run has a mix */
    const struct sw_load_distribution *distribution;
    const struct sw_load_prefill *frames; /* of every unit, for all threads; NULL: none */
};

/* Facts that the server reports about itself; zero if the protocol does not report them. */
struct sw_load_server {
    char version[32];
    char backend[16];
    char engine[16];
    uint32_t key_bytes;
    uint32_t value_bytes;
    enum sw_load_values format;
    uint32_t content_bytes; /* of a value of this run, if values are bytes */
};

/* A protocol: how one thread drives its share of the connections. */
struct sw_load_transport {
    /* Connects `count` sockets. On success *out is owned by the caller; on failure *out is NULL
     * and `error` (SW_LOAD_ERROR_BYTES) says why. *server is filled. */
    int (*connect)(const struct sw_load_options *options, uint32_t count, void **out,
                   struct sw_load_server *server, char *error);
    /* Buffers for units of these keys, once all connections stand. `first` is how many connections
     * other workers have that were prepared before. `setup` is only read during the call, but
     * setup->partitions and setup->frames are kept. */
    int (*prepare)(void *connections, const struct sw_load_setup *setup, uint32_t first,
                   char *error);
    /* Takes units until the phase has none, and waits for all answers. */
    int (*run)(struct sw_load_worker *worker);
    /* Adds the counts that the connections have sent to the nodes of a cluster. Without a cluster
     * there are no nodes. NULL: the protocol has no clusters. */
    void (*count)(const void *connections, struct sw_load_nodes *nodes);
    void (*destroy)(void *connections); /* NULL is allowed */
};
extern const struct sw_load_transport sw_load_bulk_transport;
extern const struct sw_load_transport sw_load_resp_transport;

/* Units that are due in a phase with a rate. */
uint64_t sw_load_phase_due(const struct sw_load_phase *phase);

/* Takes a unit: writes its keys (and operands, with a partition), its count and number, and when it
 * is due. Keys of a unit that is_filled are the caller's to point at, once its number is known.
 * Returns false if the phase, or a partition's sweep, has no more. `now_ns` is the time, as for
 * sw_load_worker_done. */
bool sw_load_worker_take(struct sw_load_worker *worker, uint64_t now_ns, struct sw_load_unit *unit);
/* Accounts for a unit that is being sent. */
void sw_load_worker_sent(struct sw_load_worker *worker, struct sw_load_unit *unit, uint64_t now_ns);
/* Accounts for an answered unit. */
void sw_load_worker_done(struct sw_load_worker *worker, const struct sw_load_unit *unit,
                         uint64_t now_ns);
/* Accounts for the answer to a key outside of a mix. `is_right`: the value is the workload's value
 * of the key; otherwise `found` is the value of the answer. */
void sw_load_worker_read(struct sw_load_worker *worker, const struct sw_load_unit *unit,
                         uint64_t key, bool missing, bool is_right, uint64_t found);
/* Accounts for a key whose answer is not the value that the workload gives to it. */
void sw_load_worker_mismatch(struct sw_load_worker *worker, uint64_t key, bool missing,
                             uint64_t found);
/* Accounts for a key that is absent but should exist, or exists but should be absent. */
void sw_load_worker_presence(struct sw_load_worker *worker, uint64_t key, bool should);
/* Checks the answer to element i of a unit that has a partition; when it was under way is added. */
void sw_load_worker_check(struct sw_load_worker *worker, const struct sw_load_unit *unit,
                          uint32_t i, struct sw_load_answer *answer);
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
