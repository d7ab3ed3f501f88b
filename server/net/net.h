/* SPDX-License-Identifier: MIT
 *
 * net.h - one loop's connections: who is there, who waits, and what each may do in a turn.
 *
 * All fields belong to the loop's thread unless said otherwise.
 */
#ifndef SHERWOOD_SERVER_NET_NET_H
#define SHERWOOD_SERVER_NET_NET_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "server/config/config.h"
#include "server/list.h"
#include "server/net/inbox.h"
#include "server/net/input.h"
#include "server/net/protocol.h"
#include "server/observe/counters.h"

/* The protocols of a loop. The last one takes what the others do not claim, and is spoken to a peer
 * that has not said anything. */
enum { SW_PROTOCOLS = 2 };

struct sw_spoken {
    const struct sw_protocol *protocol;
    void *side; /* the protocol's side of the loop, given to its open */
};

/* What a connection may receive, and send of bulk replies, before others have their turn. */
struct sw_turn {
    uint64_t number;
    uint64_t bytes;        /* for each connection in this turn */
    unsigned sharers;      /* connections read in this turn whose protocol shares_turn */
    uint64_t single_at_ms; /* when single requests were last served; 0: never */
};

struct sw_net {
    uv_loop_t *uv;
    const struct sw_config *config;
    struct sw_loop_counters *counters;
    struct sw_input_budget *budget; /* all loops' */
    struct sw_spoken spoken[SW_PROTOCOLS];
    size_t state_bytes; /* of a connection, for whichever protocol */

    struct sw_list conns;
    struct sw_list stalled; /* connections whose input waits, oldest first */
    uint32_t refused;       /* connections that are only told of connections-max */
    uint64_t next_id;       /* loops number theirs in turn, so ids are unique */
    uint64_t id_step;
    uint8_t *read_buffer; /* SW_READ_BYTES; for all connections, one at a time */

    struct sw_turn turn;
    unsigned arena_waiters; /* connections stalled for I/O memory */
    bool retry;             /* something a stalled connection may wait for has changed */
    bool arena_closed;      /* during a retry: an earlier connection still waits for memory */

    struct sw_inbox inbox; /* any thread */

    /* Written here, read by any thread, relaxed. */
    uint64_t connections;
    uint64_t stalled_count;
};

/* Borrows everything. Returns 0, or -1 (memory); sw_net_fini is allowed after both. */
int sw_net_init(struct sw_net *net, uv_loop_t *uv, const struct sw_config *config,
                struct sw_loop_counters *counters, struct sw_input_budget *budget);
void sw_net_fini(struct sw_net *net);

/* Adds a protocol; before any connection. */
void sw_net_speak(struct sw_net *net, uint32_t i, const struct sw_protocol *protocol, void *side);

/* Gives every stalled connection one more try, oldest first, if something has changed. Returns
 * true if there was anybody to try. */
bool sw_net_retry_stalled(struct sw_net *net);

/* The turn is over: what a connection may do in the next one. */
void sw_net_end_turn(struct sw_net *net);

/* Closes what has waited too long; everything, where `all`. Every SW_SWEEP_MS. */
void sw_net_sweep(struct sw_net *net, bool all);

/* The loop did not look at its sockets for so many milliseconds. That was not the peers' fault:
 * their deadlines move. */
void sw_net_forgive(struct sw_net *net, uint64_t ms);

/* Closes every connection once what it sent is answered. */
void sw_net_drain(struct sw_net *net);

/* Milliseconds of a monotonic clock, as of this turn. */
static inline uint64_t sw_net_now_ms(const struct sw_net *net)
{
    return uv_now(net->uv);
}

/* Asserts what holds of the connections and lists between two events. */
void sw_net_check(const struct sw_net *net);

#endif
