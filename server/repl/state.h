/* SPDX-License-Identifier: MIT
 *
 * state.h - what a server is among its copies: primary or replica, of which history, how far.
 *
 * A history is a sequence of writes that nobody else has: 40 random hexadecimal digits, drawn when
 * a primary starts and when a replica becomes one. A position is a history and a sequence; equal
 * positions are equal tables. A replica that becomes primary remembers the history that it came
 * from, and up to where, so that others of that history may go on with it.
 *
 * Threads: any. What is not atomic is under the lock.
 */
#ifndef SHERWOOD_SERVER_REPL_STATE_H
#define SHERWOOD_SERVER_REPL_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/log/history_terms.h"

struct sw_repl_terms;

#define SW_HISTORY_ID_BYTES 41
#define SW_REPL_ADDRESS_BYTES 256
#define SW_REPL_REASON_BYTES 320

struct sw_lineage {
    char id[SW_HISTORY_ID_BYTES];
    char before[SW_HISTORY_ID_BYTES]; /* the history that it came from; zeros: none */
    uint64_t before_through;          /* .. up to this write */
    uint64_t own_from;                /* see SW_OWNS_NOTHING */
    struct sw_terms terms;            /* of a member of a shard */
};

enum sw_link {
    SW_LINK_NONE,      /* it is a primary */
    SW_LINK_CONNECT,   /* to be connected, or connecting */
    SW_LINK_HANDSHAKE, /* logging in, telling positions */
    SW_LINK_SYNC,      /* receiving a snapshot */
    SW_LINK_CONNECTED  /* receiving writes */
};

struct sw_repl_state {
    /* Atomic. */
    bool is_replica;    /* writes of clients are refused */
    bool lacks_data;    /* its table is not that of a position: reads are refused, too */
    uint64_t applied;   /* replica: the last write of its primary that it has carried out */
    uint64_t fence;     /* raised whenever one of the first two becomes true */
    uint64_t demotions; /* times that writes were refused: those from before may be undone */
    bool is_down;       /* a member of a shard that neither is primary nor follows one */
    bool is_paused;     /* .. a primary that hands over */
    uint64_t lease;    /* CLOCK_BOOTTIME at which a primary of a shard is none; UINT64_MAX: never */
    uint64_t losses;   /* raised whenever it stops to be one: clients are disconnected */
    uint64_t discards; /* times that it dropped writes which others of its shard lack */
    const struct sw_repl_terms *terms; /* set before any thread starts; NULL: an operator decides */

    pthread_mutex_t lock;
    struct sw_lineage history;
    char host[SW_REPL_ADDRESS_BYTES]; /* of the primary; a path for a Unix socket */
    uint16_t port;                    /* 0: a Unix socket */
    enum sw_link link;
    uint64_t primary_at;   /* the primary's last write, as it has said */
    uint64_t heard_ns;     /* when something came from it last; 0: never */
    uint64_t whole_ns;     /* when the replica last had everything; 0: never */
    uint64_t down_ns;      /* since when there is no link */
    uint64_t synced_bytes; /* of the snapshot that is being received */
    uint64_t resyncs;      /* snapshots received */
    uint64_t resumes;      /* times that it went on without one */
    uint64_t errors;       /* connections that ended for wrong bytes or a refused write */
    char trouble[SW_REPL_REASON_BYTES]; /* why the last connection ended */
};

/* Draws a history. */
void sw_repl_state_init(struct sw_repl_state *state);
void sw_repl_state_fini(struct sw_repl_state *state);

static inline bool sw_repl_is_replica(const struct sw_repl_state *state)
{
    return __atomic_load_n(&state->is_replica, __ATOMIC_SEQ_CST);
}
static inline bool sw_repl_lacks_data(const struct sw_repl_state *state)
{
    return __atomic_load_n(&state->lacks_data, __ATOMIC_SEQ_CST);
}
static inline uint64_t sw_repl_fence(const struct sw_repl_state *state)
{
    return __atomic_load_n(&state->fence, __ATOMIC_SEQ_CST);
}
static inline uint64_t sw_repl_demotions(const struct sw_repl_state *state)
{
    return __atomic_load_n(&state->demotions, __ATOMIC_SEQ_CST);
}
static inline uint64_t sw_repl_applied(const struct sw_repl_state *state)
{
    return __atomic_load_n(&state->applied, __ATOMIC_ACQUIRE);
}

static inline bool sw_repl_is_down(const struct sw_repl_state *state)
{
    return __atomic_load_n(&state->is_down, __ATOMIC_SEQ_CST) ||
           __atomic_load_n(&state->is_paused, __ATOMIC_SEQ_CST);
}
static inline bool sw_repl_is_lost(const struct sw_repl_state *state)
{
    return __atomic_load_n(&state->is_down, __ATOMIC_SEQ_CST);
}
static inline uint64_t sw_repl_losses(const struct sw_repl_state *state)
{
    return __atomic_load_n(&state->losses, __ATOMIC_SEQ_CST);
}
/* Has the lease of a primary run out? Looks at the clock, if there is one. */
bool sw_repl_lease_is_over(const struct sw_repl_state *state);
/* It is primary until then. */
void sw_repl_set_lease(struct sw_repl_state *state, uint64_t until_ns);
/* It is none any more, unless it was none before: nothing is read or written. */
void sw_repl_lose(struct sw_repl_state *state);
/* Nothing is read or written for a while. What is on its way is over once every loop has seen the
 * fence that this returns. */
uint64_t sw_repl_pause(struct sw_repl_state *state);
/* It follows a primary, or is one: reads, or writes, too, are served. Called with the lock under
 * which it was found to be so (server/ha), and under which sw_repl_lose follows when it ends. */
void sw_repl_rise(struct sw_repl_state *state);

/* Refuses reads, or writes, from now on. Those on their way are over once every loop has seen the
 * fence that this returns. */
uint64_t sw_repl_close_reads(struct sw_repl_state *state);
uint64_t sw_repl_close_writes(struct sw_repl_state *state);
/* The table is that of a position again. */
void sw_repl_open_reads(struct sw_repl_state *state);

/* May a replica at this position go on with writes alone? */
bool sw_lineage_has(const struct sw_lineage *history, const char *id, uint64_t sequence);
/* Draws the history that begins behind this write. */
void sw_repl_next_history(struct sw_repl_state *state, uint64_t sequence, struct sw_lineage *next);
/* A replica becomes primary, and that one begins. */
void sw_repl_promote(struct sw_repl_state *state, const struct sw_lineage *next);

/* Writes "host:port", or the path, of the primary. */
void sw_repl_primary(struct sw_repl_state *state, char *text, size_t bytes);

#endif
