/* SPDX-License-Identifier: MIT
 *
 * replica_parts.h - the thread of a replica, and the orders that it gets. For replica.c and
 * replica_orders.c alone.
 */
#ifndef SHERWOOD_SERVER_REPL_REPLICA_PARTS_H
#define SHERWOOD_SERVER_REPL_REPLICA_PARTS_H

#include <pthread.h>

#include "server/repl/apply.h"
#include "server/repl/keep.h"
#include "server/repl/link.h"
#include "server/repl/replica.h"

struct sw_replica {
    struct sw_replica_parts parts;
    pthread_t thread;
    bool started;
    int wake_fd;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopping;
    bool follows;         /* it is to be a replica */
    uint64_t orders;      /* follow, promote: their number */
    uint64_t carried_out; /* .. of the last one that the thread has taken up */
    bool could_not;       /* .. and could not carry out */
    char why_not[SW_REPL_REASON_BYTES];

    /* The thread's. */
    bool has_position; /* the table is that of the history, at state->applied */
    uint64_t term;     /* of the connection; 0: there are none */
    struct sw_link_to link;
    struct sw_apply apply;
    struct sw_keep keep;
    char last[SW_REPL_REASON_BYTES]; /* the sentence that was logged last */
};

/* With the lock held. Returns the order's number. */
uint64_t sw_replica_order(struct sw_replica *replica, bool follows);

#endif
