/* SPDX-License-Identifier: MIT
 *
 * replica_orders.c - orders to the thread of a replica, and their outcome.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/repl/login.h"
#include "server/repl/replica_parts.h"

uint64_t sw_replica_order(struct sw_replica *replica, bool follows)
{
    const uint64_t one = 1;
    replica->follows = follows;
    replica->orders++;
    ssize_t written = write(replica->wake_fd, &one, sizeof(one));
    (void)written; /* if the counter is full, the eventfd is readable already */
    pthread_cond_broadcast(&replica->changed);
    return replica->orders;
}

int sw_replica_follow(struct sw_replica *replica, const char *primary, char *reason,
                      size_t reason_bytes)
{
    struct sw_repl_state *state = replica->parts.state;
    char host[SW_REPL_ADDRESS_BYTES];
    uint16_t port = 0;
    if (sw_login_parse(primary, host, &port) != 0) {
        snprintf(reason, reason_bytes,
                 "a primary is \"host port\", host:port or unix:/path, without spaces or control "
                 "characters in the host");
        return -1;
    }
    pthread_mutex_lock(&replica->lock);
    pthread_mutex_lock(&state->lock);
    bool same = sw_repl_is_replica(state) && replica->follows && strcmp(state->host, host) == 0 &&
                state->port == port;
    memcpy(state->host, host, sizeof(state->host));
    state->port = port;
    pthread_mutex_unlock(&state->lock);
    if (!same) {
        (void)sw_repl_close_writes(state);
        sw_replica_order(replica, true);
    }
    pthread_mutex_unlock(&replica->lock);
    return 0;
}

uint64_t sw_replica_hold(struct sw_replica *replica)
{
    struct sw_repl_state *state = replica->parts.state;
    pthread_mutex_lock(&replica->lock);
    pthread_mutex_lock(&state->lock);
    state->host[0] = '\0';
    state->port = 0;
    pthread_mutex_unlock(&state->lock);
    (void)sw_repl_close_writes(state);
    uint64_t number = sw_replica_order(replica, true);
    pthread_mutex_unlock(&replica->lock);
    return number;
}

uint64_t sw_replica_promote(struct sw_replica *replica, uint64_t term)
{
    pthread_mutex_lock(&replica->lock);
    replica->promotion_term = term;
    uint64_t number = sw_replica_order(replica, false);
    pthread_mutex_unlock(&replica->lock);
    return number;
}

int sw_replica_outcome(struct sw_replica *replica, uint64_t number, char *reason,
                       size_t reason_bytes)
{
    int outcome = 0;
    pthread_mutex_lock(&replica->lock);
    bool is_done = replica->promoted >= number;
    if (is_done || replica->carried_out > number || replica->stopping) {
        outcome = !is_done || replica->could_not ? -1 : 1;
        snprintf(
            reason, reason_bytes, "%s",
            replica->why_not[0] != '\0'
                ? replica->why_not
                : "this replica cannot become a primary: it has not received its primary's table");
    }
    pthread_mutex_unlock(&replica->lock);
    return outcome;
}
