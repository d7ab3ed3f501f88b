/* SPDX-License-Identifier: MIT
 *
 * replica_parts.h - internals of the replica's thread and its orders, shared by replica.c and
 * replica_*.c.
 */
#ifndef SHERWOOD_SERVER_REPL_REPLICA_PARTS_H
#define SHERWOOD_SERVER_REPL_REPLICA_PARTS_H

#include <pthread.h>

#include "server/log/archived_files.h"
#include "server/repl/apply.h"
#include "server/repl/peer_connection.h"
#include "server/repl/replica.h"
#include "server/repl/replica_files.h"

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
    bool follows;            /* the last order was to be a replica */
    uint64_t promotion_term; /* last order was a promotion: its term; 0: no shard */
    uint64_t orders;         /* number of the last order */
    uint64_t carried_out;    /* number of the last order that the thread has begun */
    uint64_t promoted;       /* number of the last promotion that is done, or has failed */
    bool could_not;
    char why_not[SW_REPL_REASON_BYTES];

    /* Only the thread uses the fields below. */
    bool has_position; /* the table has exactly the writes of the history up to state->applied */
    uint64_t term;     /* of the connection; 0: no shard */
    uint64_t version;  /* SW_REPL_ONE_TABLE: the primary is of an earlier version */
    struct sw_repl_welcome welcome; /* of the connection */
    struct sw_apply_tables tables;
    struct sw_repl_position dropped; /* member of a shard: the last write that the files still have,
                                        when the table is replaced */
    struct sw_peer_connection connection;
    struct sw_apply apply;
    struct sw_replica_files files;
    bool lacked_room;                /* the attempt before this one ended with apply.lacks_room */
    char last[SW_REPL_REASON_BYTES]; /* the reason that was logged last */
};

/* --- replica_dropped.c --- */

/* Prepares to replace the table, whose last writes the primary may lack. A member of a shard notes
 * the last write, and waits until the log has written it. Any other server archives its files if it
 * took writes from clients. Returns false if a newer order ends this, or the files cannot be
 * archived; the table then stays. */
bool sw_replica_note_dropped(struct sw_replica *replica, const struct sw_repl_welcome *welcome);
/* Counts and logs dropped writes of another term, which the other members may lack. Returns the
 * name of the directory that keeps their files; NULL: no files. */
const char *sw_replica_choose_archive(struct sw_replica *replica,
                                      const struct sw_repl_welcome *welcome,
                                      char name[SW_ARCHIVE_NAME_MAX]);

/* --- replica_tables.c --- */

/* Returns the last number of a write or of a change. */
uint64_t sw_replica_last(const struct sw_replica *replica);
/* Closes all tables except the first. Returns 0; or -1 and an error in apply.reason. */
int sw_replica_leave_one(struct sw_replica *replica);

/* --- replica_promote.c --- */

/* Becomes a primary if the table is at a position, unless a later order supersedes this one. The
 * caller holds the lock; the function releases it meanwhile. Returns true if the server is a
 * primary. */
bool sw_replica_become_primary(struct sw_replica *replica);

/* --- replica_orders.c --- */

/* Gives the thread an order and returns its number. The caller holds the lock. */
uint64_t sw_replica_order(struct sw_replica *replica, bool follows);

#endif
