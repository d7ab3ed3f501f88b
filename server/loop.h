/* SPDX-License-Identifier: MIT
 *
 * loop.h - one I/O thread: a libuv loop, its connections, its queues into the table.
 *
 * In one iteration libuv reads the sockets. RESP commands add operations to a RESP batch;
 * bulk frames are submitted as they arrive. The loop then submits the RESP batch, polls batches,
 * writes the replies of completed batches (RESP first), resumes stalled connections, and sends bulk
 * replies. While batches are in flight the loop polls; otherwise it sleeps in epoll.
 *
 * The parts of a loop (connections, batches, the two protocols) do not know this struct. All fields
 * belong to the loop's thread unless a comment says otherwise. server/README.md shows the threads.
 */
#ifndef SHERWOOD_SERVER_LOOP_H
#define SHERWOOD_SERVER_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "server/bulk/bulk.h"
#include "server/config/config.h"
#include "server/move/move.h"
#include "server/net/net.h"
#include "server/observe/counters.h"
#include "server/observe/server_stats.h"
#include "server/observe/timings.h"
#include "server/observe/watch.h"
#include "server/repl/repl.h"
#include "server/seat.h"
#include "server/sweeping.h"
#include "server/tables/tables.h"
#include "server/trace/tracer.h"

/* The functions and shared objects of the server that a loop uses. The functions may be called from
 * any thread. */
struct sw_loop_owner {
    void *server; /* argument of the functions */
    void (*snapshot)(void *server, struct sw_server_stats *snapshot);
    /* Begins the shutdown and returns at once. The server owns `fd` (-1: none), a socket whose peer
     * waits for the end, and closes it last. */
    void (*stop)(void *server, bool save, int fd);
    void (*device_lost)(void *server);      /* stops the server; the process exits with 1 */
    struct sw_input_budget *input_budget;   /* shared by all loops */
    struct sw_region_budget *region_budget; /* shared by all loops; NULL: no memory is shared */
    struct sw_clients *clients;             /* shared by all loops; NULL: none */
    struct sw_saver *saver; /* shared by all loops; NULL: there is no data directory */
    struct sw_users *users; /* shared by all loops; NULL: everybody may do everything */
    const struct sw_unix_users *unix_users; /* shared by all loops; NULL: none */
    struct sw_wal *wal;                     /* shared by all loops; NULL: writes are not logged */
    struct sw_cluster *cluster;             /* shared by all loops; NULL: no cluster mode */
    struct sw_repl *repl;                   /* shared by all loops; NULL: no replication */
    struct sw_mover *mover;                 /* shared by all loops; NULL: no cluster mode */
    struct sw_registry *registry;           /* shared by all loops; NULL: no topology in etcd */
    struct sw_ha *ha;                       /* shared by all loops; NULL: there is no shard */
    struct sw_live *live;                   /* changes options; shared by all loops */
    struct sw_tls_credentials *tls_credentials; /* NULL: nobody connects by TLS. Borrowed */
    struct sw_timings *timings;                 /* shared by all loops; NULL: nothing is timed */
    struct sw_gate *gate;       /* shared by all loops; NULL: no command needs one (in tests) */
    struct sw_tracer *tracer;   /* shared by all loops; NULL: nothing is traced */
    struct sw_account *account; /* of the server's table; NULL: none */
    struct sw_tables **tables;  /* the server's, set before the loops run; NULL: one table */
    uint32_t run;               /* random number of this start of the server */
};

/* When the loop last received or sent a byte or took a request from a ring, for busy-poll-us. */
struct sw_loop_activity {
    uint64_t bytes; /* bytes and requests of rings by then, since the start */
    uint64_t at_ns; /* when this number last changed */
};

struct sw_loop {
    uv_loop_t uv;
    uv_async_t wake;
    uv_timer_t sweep;
    uv_timer_t held; /* wakes the loop, whose iteration then polls batches of held tables */
    uv_thread_t thread;
    struct sw_loop_owner owner;
    const struct sw_config *config;
    uint32_t index; /* the number of the loop */

    struct sw_list seats;    /* one for each table, `first` at the beginning */
    struct sw_list active;   /* those that may have work (seat.h), in the order of its arrival */
    struct sw_sweeps sweeps; /* the tables that sweeps visit */
    struct sw_seat first;
    struct sw_net net;
    struct sw_bulk bulk;

    struct sw_loop_activity activity;
    struct sw_watch *watch; /* called every sweep; NULL on every loop but the first. Borrowed */
    bool initialised;       /* the libuv loop is open, and the thread does not run */
    uint64_t swept_at_ms;   /* when the last sweep ran, by the loop's clock */
    bool sweep_due;         /* the timer has expired; the sweep runs after the sockets were read */
    bool has_accepted;      /* the inbox may have sockets */
    bool stopping;
    uint64_t stop_since_ms; /* when `stopping` was set */
    bool stop_asked;        /* atomic: set by any thread */
    uv_mutex_t wake_lock;   /* held while the log wakes the loop, which may end meanwhile */
    bool has_lock;          /* wake_lock is initialised */
    bool has_ended;         /* under wake_lock: `wake` is being closed */

    /* Written by the loop's thread and read by any, with relaxed atomics. */
    struct sw_loop_counters counters;
    uint64_t iterations; /* iterations since the start */
    uint64_t losses;     /* of replication, when clients were last disconnected for one */
    uint64_t quiet; /* atomic: every request parsed before replication raised its fence to this is
                       over */

    uint64_t
        iterations_seen; /* belongs to the watchdog's thread: `iterations` when it last looked */
};

/* Allocates everything and does not start the thread. Borrows the arguments until sw_loop_fini.
 * `index` is the number of this loop among `loops`. Returns 0, or -1 with a sentence logged and
 * nothing left to free. The loop must not move afterwards. */
int sw_loop_init(struct sw_loop *loop, const struct sw_config *config, struct sw_table *table,
                 const struct sw_loop_owner *owner, uint32_t index, uint32_t loops);
/* Opens the loop's seat of a table (tables/tables.h). Returns 0, or -1 if there is no memory;
 * sw_seat_fini may be called after either. Threads: that of a change. */
int sw_loop_open_seat(struct sw_loop *loop, struct sw_seat *seat, const struct sw_served *served);
/* Starts the thread. Returns 0, or an error of libuv. */
int sw_loop_start(struct sw_loop *loop);
/* Makes the loop run an iteration. May be called from any thread, between sw_loop_init and
 * sw_loop_fini. */
void sw_loop_wake(struct sw_loop *loop);
/* Wakes the loop if something in it waits for the write-ahead log. May be called from any thread,
 * between sw_loop_init and sw_loop_fini. */
void sw_loop_log_moved(struct sw_loop *loop);
/* Returns true if all loops have seen this fence of replication (repl/state.h) and have since had
 * no batch in flight. Wakes the other loops. May be called from any thread. */
bool sw_loops_are_quiet(struct sw_loop *loops, uint32_t count, uint64_t fence);
/* Replaces 0 loops by sw_config_loops(). */
void sw_loops_choose(struct sw_config *config);
/* Requests that the loop drains its connections and ends. May be called from any thread. */
void sw_loop_stop(struct sw_loop *loop);
/* Waits until the thread has ended. */
void sw_loop_join(struct sw_loop *loop);
/* The same as the functions above, for all of these loops. */
void sw_loops_wake(struct sw_loop *loops, uint32_t count);
void sw_loops_log_moved(struct sw_loop *loops, uint32_t count);
/* Stops and joins these loops. */
void sw_loops_stop(struct sw_loop *loops, uint32_t count);
/* Frees everything. The thread has been joined, or was never started. */
void sw_loop_fini(struct sw_loop *loop);

/* Returns true if the loop has finished an iteration since the last call, or is inside a submit
 * that may take long. Only the watchdog's thread calls it. */
bool sw_loop_is_alive(struct sw_loop *loop);
bool sw_loops_are_alive(struct sw_loop *loops, uint32_t count);

#endif
