/* SPDX-License-Identifier: MIT
 *
 * net.h - the connections of one loop: the list of all of them, the list of the stalled ones, and
 * the bytes that each may transfer in an iteration.
 *
 * Functions are called on the loop's thread, and fields belong to it, unless a comment says
 * otherwise.
 */
#ifndef SHERWOOD_SERVER_NET_NET_H
#define SHERWOOD_SERVER_NET_NET_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "server/cluster/cluster.h"
#include "server/config/config.h"
#include "server/list.h"
#include "server/net/inbox.h"
#include "server/net/input.h"
#include "server/net/iteration.h"
#include "server/net/pause.h"
#include "server/net/protocol.h"
#include "server/net/tls.h"
#include "server/net/tls_credentials.h"
#include "server/observe/counters.h"
#include "server/tables/tables.h"
#include "server/users/unix_users.h"
#include "server/users/users.h"

/* Number of protocols of a loop. The last one takes every connection that the others do not claim,
 * and a connection that is refused before its peer has sent a byte. */
enum { SW_PROTOCOLS = 2 };

/* A protocol that a loop speaks. */
struct sw_net_protocol {
    const struct sw_protocol *protocol;
    void *loop_state; /* the protocol's state of the loop, which is passed to its open; borrowed */
};

struct sw_clients;

struct sw_net {
    uv_loop_t *uv;
    const struct sw_config *config;
    struct sw_loop_counters *counters;
    struct sw_input_budget *budget; /* shared by all loops */
    struct sw_users *users;         /* shared by all loops; NULL: everybody may do everything */
    const uint64_t *users_version;  /* of these users, or no_users */
    const struct sw_unix_users *unix_users; /* shared by all loops; NULL: none */
    struct sw_cluster_handle cluster;       /* the cluster's view that checks requests */
    struct sw_tables_handle tables;         /* the places of the server and the tables in them */
    struct sw_pause_handle pause;           /* what CLIENT PAUSE holds back */
    struct sw_net_protocol protocols[SW_PROTOCOLS];
    size_t state_bytes; /* size of protocol_state: the largest that a protocol wants */

    struct sw_list conns;   /* all connections whose transport is not closed */
    struct sw_list stalled; /* connections that are stalled, oldest first */
    /* connections that CLIENT PAUSE stalls (SW_STALL_PAUSED) until it ends */
    struct sw_list paused;
    uint64_t no_users;      /* 0: the version of no users */
    uint64_t users_seen;    /* the version of users that the last sweep saw */
    uint64_t lacking_login; /* connections that have not logged in */
    uint32_t turned_away;   /* connections that conn_login.c refuses */
    uint32_t refused;       /* connections that only get the error of connections-max */
    uint64_t next_id;       /* id of the next connection */
    uint64_t id_step;       /* number of loops: ids of different loops never meet */
    uint8_t *read_buffer;   /* SW_READ_BYTES, which all connections share, one read at a time */

    struct sw_iteration iteration;
    unsigned arena_waiters;  /* connections that are stalled for arena memory */
    unsigned held_waiters;   /* connections that are stalled because their table is held */
    unsigned memory_waiters; /* connections that are stalled for memory of a RESP batch */
    uint64_t paused_count;   /* length of `paused` */
    bool retry;              /* a condition that some stalled connection waits for has changed */
    bool arena_closed;       /* during a retry: an earlier connection still waits for memory */
    bool held_closed;        /* during a retry: an earlier one still waits for its held table */
    bool tries_held;         /* a sweep asks that all that wait for held tables are tried */

    struct sw_tls_loop tls;
    struct sw_tls_credentials *tls_credentials; /* NULL: nobody connects by TLS. Borrowed */

    struct sw_clients *clients; /* of all loops' connections; NULL: none. Borrowed */
    bool kill_some;             /* atomic: CLIENT KILL has named some of these connections */

    struct sw_inbox inbox; /* has a lock of its own: other threads put sockets into it */

    /* Written by the loop's thread and read by any, both relaxed atomics. */
    uint64_t connections;   /* open connections, without refused ones */
    uint64_t stalled_count; /* length of `stalled`, and of `paused` */
};

/* Borrows all arguments until sw_net_fini. Returns 0, or -1 if there is no memory; sw_net_fini may
 * be called after either. */
int sw_net_init(struct sw_net *net, uv_loop_t *uv, const struct sw_config *config,
                struct sw_loop_counters *counters, struct sw_input_budget *budget);
/* Admits TLS connections with these credentials; NULL: admits none. Returns 0, or -1 if there is no
 * memory. */
int sw_net_set_tls(struct sw_net *net, struct sw_tls_credentials *credentials);
void sw_net_fini(struct sw_net *net);

/* Sets the users, and the users of Unix peers. Call it before any connection is opened. Borrows
 * both; `unix_users` may be NULL. */
void sw_net_set_users(struct sw_net *net, struct sw_users *users,
                      const struct sw_unix_users *unix_users);

/* Registers protocol number `i`, with its state of this loop. To be called before any connection is
 * opened. */
void sw_net_add_protocol(struct sw_net *net, uint32_t i, const struct sw_protocol *protocol,
                         void *loop_state);

/* If net->retry is set, resumes stalled connections, oldest first and each once, until the time of
 * the phase is over. Skips those that CLIENT PAUSE holds back. Returns true if any was stalled. */
bool sw_net_retry_stalled(struct sw_net *net);
/* Resumes the connections that CLIENT PAUSE holds back, because the pause has changed. */
void sw_net_retry_paused(struct sw_net *net);

/* Ends the iteration, and computes the budget of bytes for the next one. */
void sw_net_end_iteration(struct sw_net *net);

/* Closes the connections whose deadlines have passed, or all of them if `all`. To be called every
 * SW_SWEEP_MS. */
void sw_net_sweep(struct sw_net *net, bool all);

/* Closes the connections that CLIENT KILL has named. To be called when the loop was woken. */
void sw_net_kill(struct sw_net *net);

/* Moves the deadlines of all connections by the `ms` milliseconds during which the loop did not
 * read its sockets: that delay was not the peers'. */
void sw_net_move_deadlines(struct sw_net *net, uint64_t ms);

/* Drains every connection. It closes once the replies to its accepted requests are sent. */
void sw_net_drain(struct sw_net *net);

/* Milliseconds of a monotonic clock, read once an iteration. */
static inline uint64_t sw_net_now_ms(const struct sw_net *net)
{
    return uv_now(net->uv);
}

/* Asserts the invariants of the connections and lists that hold between two events. */
void sw_net_check(const struct sw_net *net);

#endif
