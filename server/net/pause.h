/* SPDX-License-Identifier: MIT
 *
 * pause.h - CLIENT PAUSE: holds back all requests of clients, or those that write, for a given
 * time. No request is lost: the connections stall (SW_STALL_PAUSED) and then continue in order.
 *
 * Invariant: once sw_pause_is_quiet returns true for a pause, no request that it holds back takes
 * effect before its end. By then every loop has finished the requests that it parsed before.
 *
 * Threads: a handle belongs to its loop, except its fields under the lock. The pause is shared. A
 * change takes the lock; the check that each loop makes once an iteration does not.
 */
#ifndef SHERWOOD_SERVER_NET_PAUSE_H
#define SHERWOOD_SERVER_NET_PAUSE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "server/list.h"

enum sw_pause_mode { SW_PAUSE_NONE, SW_PAUSE_WRITES, SW_PAUSE_ALL };

struct sw_pause {
    pthread_mutex_t lock;
    struct sw_list handles; /* of all loops, under the lock */
    uint64_t end;           /* atomic: when it ends, in ms of the monotonic clock, and the mode */
    uint64_t version;       /* atomic: how often it was changed */
};

/* A loop's handle of the pause. */
struct sw_pause_handle {
    struct sw_pause *pause; /* NULL: there is none */
    struct sw_list link;
    uv_async_t *wake;        /* the loop's handle. Borrowed */
    enum sw_pause_mode mode; /* what is held back now, as the loop has seen it */
    uint64_t end;            /* as the loop has seen it */
    uint64_t version;
    uint64_t quiet; /* under the lock: the version that sw_pause_settle reported last */
};

void sw_pause_init(struct sw_pause *pause);
/* To be called when every handle has left. */
void sw_pause_fini(struct sw_pause *pause);

/* Registers a loop. Borrows the pause and `wake` until sw_pause_leave. The handle must not move. */
void sw_pause_join(struct sw_pause *pause, struct sw_pause_handle *handle, uv_async_t *wake);
/* Removes a loop that has ended: sw_pause_is_quiet no longer waits for it. Does nothing if the
 * handle is not registered. */
void sw_pause_leave(struct sw_pause_handle *handle);

/* Pauses requests for `ms` milliseconds. Extends an active pause or makes it stricter, never the
 * opposite. Returns the pause's version. */
uint64_t sw_pause_begin(struct sw_pause *pause, uint64_t ms, enum sw_pause_mode mode,
                        uint64_t now_ms);
/* Ends the pause. */
void sw_pause_end(struct sw_pause *pause);
/* Returns true if every loop has finished the requests that it parsed before it saw this version of
 * the pause or a later one. */
bool sw_pause_is_quiet(struct sw_pause *pause, uint64_t version);
/* Returns the milliseconds until the pause ends; 0: no pause. Sets *of_all if it holds back all
 * requests. */
uint64_t sw_pause_left_ms(const struct sw_pause *pause, bool *of_all);

/* Each loop calls this once an iteration. Returns true if the pause has changed: then the loop
 * retries its paused connections, and notes its requests in flight. */
bool sw_pause_poll(struct sw_pause_handle *handle, uint64_t now_ms);
/* Reports that the loop has finished the requests that it parsed before it saw this version. */
void sw_pause_settle(struct sw_pause_handle *handle);
/* Has the loop called sw_pause_settle for the version that it has seen? */
static inline bool sw_pause_is_settled(const struct sw_pause_handle *handle)
{
    return handle->quiet == handle->version; /* the loop alone writes both */
}

#endif
