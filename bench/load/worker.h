/* SPDX-License-Identifier: MIT
 *
 * worker.h - a phase of a run, its threads, and the interface of a protocol.
 *
 * A phase is cut into units: the keys of one frame (bulk) or of one pipeline (RESP). Workers take
 * units from the phase until the phase has no more. A unit costs one atomic addition, two or three
 * clock reads and one histogram entry. The cost does not depend on the number of keys.
 *
 * In closed loop a unit is sent when there is room for it. With a rate, unit i is due at a fixed
 * time, independent of the server, and its latency counts from that time.
 *
 * Ownership: run.c owns phases, workers and transports. While a phase runs, only its own thread
 * uses a worker. `keys_done` and `finished` are the exception: any thread may read them.
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
    SW_LOAD_E_PEER = -3, /* the connection or the server failed */
    SW_LOAD_E_NOMEM = -4
};

struct sw_load_phase {
    enum sw_load_operation operation; /* the operation of the phase, never SET_GET */
    uint32_t unit_keys;               /* keys of a full unit */
    uint32_t unit_keys_min;           /* fewest keys of a unit, if seconds != 0 */
    bool is_fresh;                    /* SET: all keys are absent before */
    struct sw_load_life life;         /* life of the keys that it reads, without a mix */
    uint64_t units;                   /* number of units, unless seconds != 0 */
    double seconds;                   /* not 0: duration, with drawn keys */
    uint64_t rate;                    /* keys per second; 0: closed loop */
    uint64_t start_ns;                /* with a rate: when unit 0 is due */
    const struct sw_load_distribution *distribution; /* unless a partition draws */
    atomic_uint_fast64_t next;                       /* number of the next unit */
    atomic_bool stop; /* a worker failed: the others take no more units */
};

/* The first wrong answer. */
struct sw_load_example {
    bool is_set;
    bool missing;
    bool surplus; /* the key exists, but should be absent */
    uint64_t key;
    uint64_t expected;
    uint64_t found;
};

/* A unit in flight. The transport owns the arrays. */
struct sw_load_unit {
    struct sw_load_partition *partition; /* NULL unless the run has a mix */
    void *keys;
    void *operands;    /* operands of writes; by RESP NULL without a partition */
    bool is_filled;    /* keys, operands and operation are set before the unit is taken */
    uint8_t operation; /* bulk, in a mix: enum sw_load_mix_operation */
    uint32_t table;    /* with --tables: the table of its keys, unless the frame has segments */
    uint32_t count;
    uint64_t number;   /* number in the phase; unused in a sweep */
    uint64_t due_ns;   /* 0: closed loop */
    uint64_t since_ns; /* start of its latency */
};

/* System calls of a phase, and the bytes they moved. */
struct sw_load_traffic {
    uint64_t reads, writes, polls, options;
    uint64_t bytes_received, bytes_sent;
    uint64_t bytes_spliced;             /* bytes of these that were sent as pages, without a copy */
    uint64_t ring_requests, ring_bells; /* requests by shared memory, and their doorbells */
};

struct sw_load_worker {
    const struct sw_load_options *options;
    const struct sw_load_workload *workload;
    struct sw_load_phase *phase;
    void *connections; /* owned by the transport */
    pthread_t thread;
    uint64_t random;
    uint64_t start_ns;
    uint64_t end_ns;   /* time of the last reply */
    uint64_t until_ns; /* arrival time of the replies that are being checked */
    atomic_uint_fast64_t keys_done;
    uint64_t missing;
    uint64_t wrong;
    uint64_t expired; /* absent keys that had expired, or may have expired */
    uint64_t operations[SW_LOAD_MIX_OPERATIONS]; /* keys of each operation of the mix */
    uint64_t hits; /* bulk: keys that existed; in a mix, only of its gets */
    uint64_t late; /* units that were sent late, see limits.h */
    uint64_t late_max_ns;
    struct sw_load_example example;
    struct sw_load_histogram *latency;    /* ns; owned */
    struct sw_load_series_counts *series; /* the same for --series; owned, or NULL */
    struct sw_load_traffic traffic;
    uint64_t cpu_ns; /* CPU time of its thread */
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
    uint32_t content_bytes; /* length of a value of this run, if values are bytes */
};

/* A protocol: how one thread drives its share of the connections. */
struct sw_load_transport {
    /* Connects `count` sockets. On success the caller owns *out; on failure *out is NULL and
     * `error` (SW_LOAD_ERROR_BYTES) has the reason. Fills *server. */
    int (*connect)(const struct sw_load_options *options, uint32_t count, void **out,
                   struct sw_load_server *server, char *error);
    /* Allocates buffers for units, once all connections are open. `first`: number of connections of
     * the workers prepared before. `setup` is valid only during the call; the transport may keep
     * setup->partitions and setup->frames. */
    int (*prepare)(void *connections, const struct sw_load_setup *setup, uint32_t first,
                   char *error);
    /* Takes units until the phase has none, and waits for all answers. */
    int (*run)(struct sw_load_worker *worker);
    /* Adds the counts of the connections to the nodes of a cluster. NULL: the protocol has no
     * clusters. */
    void (*count)(const void *connections, struct sw_load_nodes *nodes);
    void (*destroy)(void *connections); /* NULL is allowed */
};
extern const struct sw_load_transport sw_load_bulk_transport;
extern const struct sw_load_transport sw_load_resp_transport;

/* Returns the number of units that are due in a phase with a rate. */
uint64_t sw_load_phase_due(const struct sw_load_phase *phase);

/* Takes a unit: sets its keys (and operands, with a partition), its count, number and due time. If
 * is_filled, the caller sets the keys once it knows the number. Returns false if the phase, or a
 * partition's sweep, has no more. `now_ns` is the time, as for sw_load_worker_done. */
bool sw_load_worker_take(struct sw_load_worker *worker, uint64_t now_ns, struct sw_load_unit *unit);
/* Accounts for a unit that is being sent. */
void sw_load_worker_sent(struct sw_load_worker *worker, struct sw_load_unit *unit, uint64_t now_ns);
/* Accounts for an answered unit. */
void sw_load_worker_done(struct sw_load_worker *worker, const struct sw_load_unit *unit,
                         uint64_t now_ns);
/* Accounts for the answer to a key outside of a mix. `is_right`: the value is the expected one;
 * otherwise `found` is the value in the answer. */
void sw_load_worker_read(struct sw_load_worker *worker, const struct sw_load_unit *unit,
                         uint64_t key, bool missing, bool is_right, uint64_t found);
/* Accounts for a key whose value is not the expected one. */
void sw_load_worker_mismatch(struct sw_load_worker *worker, uint64_t key, bool missing,
                             uint64_t found);
/* Accounts for a key that is absent but should exist, or exists but should be absent. */
void sw_load_worker_presence(struct sw_load_worker *worker, uint64_t key, bool should);
/* Checks the answer to element i of a unit that has a partition. Adds to the answer when its
 * request was in flight. */
void sw_load_worker_check(struct sw_load_worker *worker, const struct sw_load_unit *unit,
                          uint32_t i, struct sw_load_answer *answer);
/* Keeps the text of a failure; returns `status`. */
int sw_load_worker_fail(struct sw_load_worker *worker, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline uint64_t sw_load_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

#endif
