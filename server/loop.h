/* SPDX-License-Identifier: MIT
 *
 * loop.h - one I/O thread: a libuv loop, its connections, its way into the table.
 *
 * One turn: libuv reads sockets; RESP commands gather in a round, bulk frames are submitted as they
 * are, but for small writes, which gather too; what gathered is submitted; finished batches are
 * answered, RESP first; stalled connections are tried again; bulk replies are sent. With work in
 * flight the loop polls; without, it sleeps in epoll. The parts of a loop know nothing of it: they
 * are connections (net), batches, and the two protocols. All fields belong to the loop's thread
 * unless said otherwise.
 */
#ifndef SHERWOOD_SERVER_LOOP_H
#define SHERWOOD_SERVER_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "server/batch/batches.h"
#include "server/batch/commit.h"
#include "server/bulk/bulk.h"
#include "server/config/config.h"
#include "server/net/net.h"
#include "server/observe/counters.h"
#include "server/observe/snapshot.h"
#include "server/observe/watch.h"
#include "server/resp/resp.h"
#include "table/table.h"

/* What a loop needs of the server around it. */
struct sw_loop_owner {
    void *server;
    void (*snapshot)(void *server, struct sw_snapshot *snapshot);
    void (*stop)(void *server);           /* begin the shutdown */
    void (*device_lost)(void *server);    /* and exit with a failure */
    struct sw_commit *commit;             /* NULL: rounds that write go each by itself */
    struct sw_input_budget *input_budget; /* of all loops */
    struct sw_clients *clients;           /* of all loops */
};

/* When the loop last received or sent anything, for busy-poll-us. */
struct sw_loop_activity {
    uint64_t bytes; /* received and sent by then */
    uint64_t at_ns;
};

struct sw_loop {
    uv_loop_t uv;
    uv_async_t wake;
    uv_check_t polled;
    uv_timer_t sweep;
    uv_thread_t thread;
    struct sw_loop_owner owner;
    const struct sw_config *config;

    struct sw_batches batches;
    struct sw_commit_batch commit_batch;
    struct sw_net net;
    struct sw_resp resp;
    struct sw_bulk bulk;

    struct sw_loop_activity activity;
    struct sw_watch *watch; /* looked at every sweep; NULL on every loop but one. Borrowed */
    bool initialised;
    uint64_t polled_at_ms; /* when libuv last came back from waiting for events */
    bool sweep_due;        /* the timer has run; sockets are looked at first */
    bool stopping;
    uint64_t stop_since_ms;
    bool stop_asked; /* any thread, atomic */

    /* Written here, read by any thread, relaxed. */
    struct sw_loop_counters counters;
    uint64_t turns;

    uint64_t turns_seen; /* the watchdog's: turns when it last looked */
};

/* Allocates everything and does not start the thread. Returns 0, or -1 with a sentence logged; then
 * nothing is left. The loop must not move afterwards. */
int sw_loop_init(struct sw_loop *loop, const struct sw_config *config, struct sw_table *table,
                 const struct sw_loop_owner *owner, uint32_t index, uint32_t loops);
int sw_loop_start(struct sw_loop *loop);
/* Asks the loop to close its connections and end. Any thread. */
void sw_loop_stop(struct sw_loop *loop);
/* Waits for the thread. */
void sw_loop_join(struct sw_loop *loop);
void sw_loop_fini(struct sw_loop *loop);

/* Has the loop done anything since the last call, or does it do something that may take long? The
 * watchdog's thread. */
bool sw_loop_is_alive(struct sw_loop *loop);

#endif
