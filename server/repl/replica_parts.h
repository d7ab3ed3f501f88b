/* SPDX-License-Identifier: MIT
 *
 * replica_parts.h - the thread of a replica, and the orders that it gets. For replica.c and files
 * whose names begin so.
 */
#ifndef SHERWOOD_SERVER_REPL_REPLICA_PARTS_H
#define SHERWOOD_SERVER_REPL_REPLICA_PARTS_H

#include <pthread.h>

#include "server/log/aside.h"
#include "server/repl/apply.h"
#include "server/repl/keep.h"
#include "server/repl/link.h"
#include "server/repl/replica.h"

struct sw_repl_position {
    uint64_t term, sequence;
};

struct sw_replica {
    struct sw_replica_parts parts;
    pthread_t thread;
    bool started;
    int wake_fd;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopping;
    bool follows;         /* the last order: be a replica */
    uint64_t rises;       /* .. or primary of this term */
    uint64_t orders;      /* follow, promote: their number */
    uint64_t carried_out; /* .. of the last one that the thread has taken up */
    uint64_t promoted;    /* .. of the last one to promote that is done, or could not be */
    bool could_not;
    char why_not[SW_REPL_REASON_BYTES];

    /* The thread's. */
    bool has_position;               /* the table is that of the history, at state->applied */
    uint64_t term;                   /* of the connection; 0: there are none */
    struct sw_repl_position dropped; /* the last write that the files have, and the table not any
                                        more; of a member of a shard */
    struct sw_link_to link;
    struct sw_apply apply;
    struct sw_keep keep;
    char last[SW_REPL_REASON_BYTES]; /* the sentence that was logged last */
};

/* --- replica_dropped.c --- */

/* The table goes, and files with it once there is another one. If the primary may lack its last
 * writes: a member of a shard notes the last one, once the log has it, and another server keeps its
 * files aside, if it took writes from clients. Returns false if it is over before, or the files
 * cannot be kept: then the table stays. */
bool sw_replica_note_dropped(struct sw_replica *replica, const struct sw_repl_welcome *welcome);
/* Writes that were dropped are of another term, so others may lack them: counts and tells that, and
 * names the directory in which their files stay. NULL: there are none. */
const char *sw_replica_choose_aside(struct sw_replica *replica,
                                    const struct sw_repl_welcome *welcome,
                                    char name[SW_ASIDE_NAME_MAX]);

/* --- replica_promote.c --- */

/* Becomes a primary, if the table is one that somebody had and no later order supersedes this one.
 * With the lock, which is given back meanwhile. Returns whether the server is a primary. */
bool sw_replica_become_primary(struct sw_replica *replica);

/* --- replica_orders.c --- */

/* With the lock held. Returns the order's number. */
uint64_t sw_replica_order(struct sw_replica *replica, bool follows);

#endif
