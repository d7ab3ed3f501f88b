/* SPDX-License-Identifier: MIT
 *
 * state.h - the replication state of a server: its role, its history and its position.
 *
 * A history is a unique sequence of writes. Its id is 40 random hexadecimal digits, drawn when a
 * primary starts and when a replica becomes a primary. A position is a history and a sequence.
 * Tables at equal positions are equal. A replica that becomes primary remembers the history that
 * it came from, and its last write of that history, so that other replicas can continue with it.
 *
 * Threads: any. The lock protects the fields that are not atomic.
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

struct sw_repl_history {
    char id[SW_HISTORY_ID_BYTES];
    char before[SW_HISTORY_ID_BYTES]; /* the history that this one continues; zeros: none */
    uint64_t before_through;          /* the last write that it has of that history */
    uint64_t own_from;                /* see SW_OWNS_NOTHING */
    struct sw_terms terms;            /* only on a member of a shard */
};

enum sw_link {
    SW_LINK_NONE,      /* it is a primary */
    SW_LINK_CONNECT,   /* to be connected, or connecting */
    SW_LINK_HANDSHAKE, /* logging in, exchanging positions */
    SW_LINK_SYNC,      /* receiving a snapshot */
    SW_LINK_CONNECTED  /* receiving writes */
};

struct sw_repl_state {
    /* Atomic. */
    bool is_replica;    /* the server refuses writes of clients */
    bool lacks_data;    /* the table is at no position: the server also refuses reads */
    uint64_t applied;   /* replica: the last write of its primary that it has applied */
    uint64_t fence;     /* raised by each call that refuses requests, sw_repl_pause included */
    uint64_t closures;  /* times that reads were closed */
    uint64_t demotions; /* times that writes were closed: earlier writes may be undone */
    bool is_down;       /* a member of a shard that is not primary and follows none */
    bool is_paused;     /* a primary of a shard that hands over */
    uint64_t lease;     /* CLOCK_BOOTTIME at which the term of a primary ends; UINT64_MAX: never */
    uint64_t losses;    /* raised when is_down becomes true: clients are disconnected */
    uint64_t discards;  /* times that it dropped writes that the others of its shard lack */
    const struct sw_repl_terms *terms; /* set before any thread starts; NULL: an operator decides */

    pthread_mutex_t lock;
    struct sw_repl_history history;
    char host[SW_REPL_ADDRESS_BYTES]; /* of the primary; a path for a Unix socket */
    uint16_t port;                    /* 0: a Unix socket */
    enum sw_link link;
    uint64_t primary_at;   /* the primary's last write, as it has reported */
    uint64_t heard_ns;     /* when the primary last sent bytes; 0: never */
    uint64_t whole_ns;     /* when the replica last had every write; 0: never */
    uint64_t down_ns;      /* since when there is no link */
    uint64_t synced_bytes; /* received bytes of the current snapshot */
    uint64_t resyncs;      /* snapshots received */
    uint64_t resumes;      /* times that it continued without a snapshot */
    uint64_t errors;       /* connections that ended because of wrong bytes or a refused write */
    char trouble[SW_REPL_REASON_BYTES]; /* why the last connection ended */
};

/* Initialises a primary with a new, random history. */
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
/* For a long read such as DIGEST, which the fence does not wait for. The caller reads this number,
 * then checks sw_repl_lacks_data. If the number is unchanged after the read, the table was at a
 * position all the time. */
static inline uint64_t sw_repl_closures(const struct sw_repl_state *state)
{
    return __atomic_load_n(&state->closures, __ATOMIC_SEQ_CST);
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
/* Returns true if the lease of a primary has run out. Reads the clock only if there is a lease. */
bool sw_repl_lease_is_over(const struct sw_repl_state *state);
/* Sets the end of the lease, in CLOCK_BOOTTIME nanoseconds. */
void sw_repl_set_lease(struct sw_repl_state *state, uint64_t until_ns);
/* Stops reads and writes until sw_repl_resume_serving. Counts one loss, unless the server had
 * stopped already.
 */
void sw_repl_stop_serving(struct sw_repl_state *state);
/* Pauses reads and writes until sw_repl_resume_serving or sw_repl_stop_serving. Requests in flight
 * have ended once every loop has seen the fence that this returns. */
uint64_t sw_repl_pause(struct sw_repl_state *state);
/* Serves again: reads on a replica that follows, reads and writes on a primary. The caller holds
 * the lock under which it found that role (server/ha). It calls sw_repl_stop_serving under the same
 * lock when the role ends. */
void sw_repl_resume_serving(struct sw_repl_state *state);

/* Refuse reads, or writes, from now on, and return a new fence. Once every loop has seen that
 * fence, no earlier read or write is in flight. DIGEST is the exception: see sw_repl_closures. */
uint64_t sw_repl_close_reads(struct sw_repl_state *state);
uint64_t sw_repl_close_writes(struct sw_repl_state *state);
/* Serves reads again: the table is at a position. */
void sw_repl_open_reads(struct sw_repl_state *state);

/* Returns true if a replica at this position needs no snapshot, only later writes. */
bool sw_repl_history_has(const struct sw_repl_history *history, const char *id, uint64_t sequence);
/* Draws the history that begins after this write. */
void sw_repl_next_history(struct sw_repl_state *state, uint64_t sequence,
                          struct sw_repl_history *next);
/* Draws another history, which no other server knows: the tables are at no position. */
void sw_repl_forget_position(struct sw_repl_state *state);
/* Makes a replica a primary, with the history `next`. */
void sw_repl_promote(struct sw_repl_state *state, const struct sw_repl_history *next);

/* Writes the primary's "host:port" or path. */
void sw_repl_primary(struct sw_repl_state *state, char *text, size_t bytes);

#endif
