/* SPDX-License-Identifier: MIT
 *
 * pause.h - CLIENT PAUSE: until a moment requests of clients are held back, those that write or
 * all. They are not lost: their connections stall (SW_STALL_PAUSED), and go on in order.
 *
 * Invariant: once sw_pause_is_quiet says true of a pause, nothing that it holds back takes effect
 * before its end. Requests that were parsed before are over by then, on every loop.
 *
 * Threads: a seat belongs to its loop, but for its fields under the lock. The pause is shared; who
 * changes it takes the lock, and a loop that looks at it once a turn does not.
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
    struct sw_list seats; /* of all loops, under the lock */
    uint64_t end;         /* atomic: when it ends, in ms of the monotonic clock, and the mode */
    uint64_t version;     /* atomic: how often it was changed */
};

/* A loop's side of it. */
struct sw_pause_seat {
    struct sw_pause *pause; /* NULL: there is none */
    struct sw_list link;
    uv_async_t *wake;        /* the loop's. Borrowed */
    enum sw_pause_mode mode; /* what is held back now, as the loop has seen it */
    uint64_t end;            /* as the loop has seen it */
    uint64_t version;
    uint64_t quiet; /* under the lock: what this version holds back is over */
};

void sw_pause_init(struct sw_pause *pause);
/* To be called when every seat has left. */
void sw_pause_fini(struct sw_pause *pause);

/* Borrows both until the seat leaves, and the seat must not move. */
void sw_pause_sit(struct sw_pause *pause, struct sw_pause_seat *seat, uv_async_t *wake);
/* The loop has ended: it is not waited for. Does nothing with a seat that is none. */
void sw_pause_leave(struct sw_pause_seat *seat);

/* Holds requests back for so many milliseconds from now; one that is there is lengthened and made
 * stricter, never the other way. Returns its version. */
uint64_t sw_pause_begin(struct sw_pause *pause, uint64_t ms, enum sw_pause_mode mode,
                        uint64_t now_ms);
/* Ends it. */
void sw_pause_end(struct sw_pause *pause);
/* Does no loop work on a request any more that this version, or a later one, holds back? */
bool sw_pause_is_quiet(struct sw_pause *pause, uint64_t version);
/* Returns the milliseconds until it ends, and whether it holds all back; 0: there is none. */
uint64_t sw_pause_left_ms(const struct sw_pause *pause, bool *of_all);

/* To be called by a loop once a turn. Returns true if something has changed: then the loop lets
 * those try again that wait, and notes what is on its way. */
bool sw_pause_look(struct sw_pause_seat *seat, uint64_t now_ms);
/* Nothing is on its way that the loop has parsed before it saw this version. */
void sw_pause_settle(struct sw_pause_seat *seat);
/* Has the loop told so of what it has seen? */
static inline bool sw_pause_is_settled(const struct sw_pause_seat *seat)
{
    return seat->quiet == seat->version; /* the loop alone writes both */
}

#endif
