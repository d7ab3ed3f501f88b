/* SPDX-License-Identifier: MIT
 *
 * iteration.h - the time and the bytes that connections may use in one iteration of the event loop.
 *
 * An iteration has several phases: events of sockets, accepted connections, TLS handshakes, rings,
 * entries that SCAN and KEYS have read, stalled connections. Each phase has a budget of
 * SW_ITERATION_NS of the loop's time. Invariants:
 *
 * 1. No phase begins a request once its budget is spent. A request that has begun ends, so a phase
 *    takes at most SW_ITERATION_NS and the time of its longest request.
 * 2. The connections that a phase serves share its budget. A connection that has used its share
 *    yields (SW_STALL_YIELDED): it goes behind all stalled ones, and continues in a later phase.
 * 3. While sockets have more requests than the budget, each connection is read once before any is
 *    read a second time (`passes`). Connections that have yielded lately are heavy, and have passes
 *    of their own. If a light one was not read, the next iteration reads no heavy one. No two
 *    iterations in a row leave out the heavy ones. So a client with small requests waits for one
 *    iteration, however many others send large ones.
 *
 * 4. If a request of the sockets took much longer than its budget, the connections that have
 * yielded wait for the next iteration, which reads no heavy sockets. So an iteration has one long
 * request of a heavy connection, and not one of each phase.
 *
 * So the delay of a connection depends on the number of connections that want to be served, and not
 * on the requests that each of them sends at once.
 *
 * The clock is read once a phase, and once for about SW_ITERATION_CLOCK_COST of cost. The caller
 * estimates the cost of what it did, in units of about 50 ns; a request on one key costs 1.
 * Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_NET_ITERATION_H
#define SHERWOOD_SERVER_NET_ITERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "server/limits.h"

/* A pass over the sockets of one class: each is read once. */
struct sw_iteration_pass {
    uint64_t number; /* from 1; no two passes have the same */
    bool is_behind;  /* it began in an earlier iteration, which did not read all */
    bool left_out;   /* this iteration left out a socket that the pass has not read yet */
};

/* The state of a loop. */
struct sw_iteration {
    uint64_t number;       /* of this iteration, from 1 */
    uint64_t bytes;        /* that each connection may transfer in this iteration */
    uint64_t single_at_ms; /* when a RESP batch was last submitted; 0: never */

    uint64_t (*clock_ns)(void); /* a monotonic clock */
    uint64_t phase;             /* number of this phase, from 1 */
    uint64_t now_ns;            /* when the clock was last read in this phase */
    uint64_t until_ns;          /* when the budget of this phase is spent; 0: nobody was served */
    uint32_t cost;              /* since the clock was last read */
    bool is_spent;              /* the budget of this phase */

    struct sw_iteration_pass passes[2]; /* of light connections, and of heavy ones */
    uint64_t pass_count;
    bool lights_first;       /* no heavy connection is read in this iteration */
    bool was_long;           /* a request of this iteration took longer than twice the budget */
    bool was_long_before;    /* the same for the iteration before */
    bool left_yielded;       /* this iteration has left out the connections that have yielded */
    uint32_t waiting;        /* connections that have yielded, and wait for the next phase */
    uint32_t refused;        /* connections whose sockets were not read, or not to the end */
    uint32_t refused_before; /* `refused` of the iteration before */
};

/* The share of a connection. */
struct sw_iteration_share {
    uint64_t number;         /* of the iteration in which it last received bytes */
    uint64_t bytes;          /* that it received in that iteration */
    uint64_t phase;          /* in which it was last served */
    uint64_t until_ns;       /* when its share of that phase is used up */
    uint64_t heavy_until_ns; /* it is heavy until then */
    uint64_t pass;           /* that last read it */
    uint64_t refused; /* number of the last iteration in which it was not read, or not to the end */
};

void sw_iteration_init(struct sw_iteration *iteration);

/* Begins the next phase, with a new budget. */
static inline void sw_iteration_begin_phase(struct sw_iteration *iteration)
{
    iteration->phase++;
    iteration->until_ns = 0;
    iteration->is_spent = false;
}

/* Ends the iteration. `shared`: a connection may transfer SW_ITERATION_BYTES_SHARED in the next
 * one. */
void sw_iteration_end(struct sw_iteration *iteration, bool shared);

/* Did a request of this iteration, or of the one before, take much longer than the budget? */
static inline bool sw_iteration_is_slow(const struct sw_iteration *iteration)
{
    return iteration->was_long || iteration->was_long_before;
}

/* Must the connections that have yielded wait for the next iteration? Not twice in a row. */
bool sw_iteration_leaves_yielded(struct sw_iteration *iteration);

/* Reads the clock: is the budget spent? */
void sw_iteration_read_clock(struct sw_iteration *iteration);

/* Starts the time of the phase. Call it before a request that belongs to no connection's share. */
static inline void sw_iteration_start(struct sw_iteration *iteration)
{
    if (iteration->until_ns == 0) {
        sw_iteration_read_clock(iteration);
    }
}

/* Begins the share of a connection in this phase, unless it has begun. */
void sw_iteration_enter(struct sw_iteration *iteration, struct sw_iteration_share *share);

/* Adds the cost of what was done. Returns true if the budget of the phase is spent. */
static inline bool sw_iteration_add(struct sw_iteration *iteration, uint32_t cost)
{
    iteration->cost += cost;
    if (iteration->cost >= SW_ITERATION_CLOCK_COST) {
        sw_iteration_read_clock(iteration);
    }
    return iteration->is_spent;
}

/* Must a connection that was served in this phase yield? It is heavy then. */
static inline bool sw_iteration_must_yield(const struct sw_iteration *iteration,
                                           struct sw_iteration_share *share)
{
    if (iteration->is_spent ||
        (share->phase == iteration->phase && iteration->now_ns >= share->until_ns)) {
        share->heavy_until_ns = iteration->now_ns + SW_ITERATION_HEAVY_NS;
        return true;
    }
    return false;
}

/* May the socket of a connection be read now? */
bool sw_iteration_may_read(struct sw_iteration *iteration, struct sw_iteration_share *share);

/* Connections that share the budget of a phase, as far as the last iteration shows. */
static inline uint32_t sw_iteration_sharers(const struct sw_iteration *iteration)
{
    return 1 + iteration->waiting + iteration->refused_before;
}

#endif
