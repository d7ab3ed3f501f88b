/* SPDX-License-Identifier: MIT
 *
 * replica.h - the thread that makes this server a replica of another one.
 *
 * Threads: any. Create, start, stop and destroy are the exceptions: only the owner calls them.
 */
#ifndef SHERWOOD_SERVER_REPL_REPLICA_H
#define SHERWOOD_SERVER_REPL_REPLICA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/config/config.h"
#include "server/log/saver.h"
#include "server/repl/backlog.h"
#include "server/repl/role.h"
#include "server/repl/stream.h"

struct sw_sequencer;
struct sw_table;
struct sw_tables;

struct sw_replica;

struct sw_replica_parts {
    const struct sw_config *config;
    struct sw_table *table; /* the first one */
    struct sw_backlog *backlog;
    struct sw_repl_state *state;
    struct sw_saver *saver; /* NULL: there is no data directory */
    struct sw_wal *wal;     /* NULL: writes are not logged */
    struct sw_role_store *role;
    /* Returns true if every loop has seen the fence and has no earlier request in flight. Wakes the
     * loops that have not seen it. */
    bool (*is_quiet)(void *context, uint64_t fence);
    void (*history_changed)(void *context); /* the replicas of this server must connect again */
    void (*promoted)(void *context);
    void *context;
    struct sw_tables *tables;       /* sw_replica_set_tables, which also sets the next one */
    struct sw_sequencer *sequencer; /* of all tables */
};

/* Sets the tables and their sequencer, which are borrowed. Call it before sw_replica_start. */
void sw_replica_set_tables(struct sw_replica *replica, struct sw_tables *tables,
                           struct sw_sequencer *sequencer);
/* Call this when the files are loaded, before clients are served. Gives the table the history that
 * the files name, or on a primary a new history that begins there. Returns 0; or -1 and an error in
 * `reason`. */
int sw_replica_loaded(struct sw_replica *replica, char reason[SW_REPL_REASON_BYTES]);
/* Call this when the log has made progress. Threads: any. Does not block. */
void sw_replica_log_moved(struct sw_replica *replica);

struct sw_replica *sw_replica_create(const struct sw_replica_parts *parts);
int sw_replica_start(struct sw_replica *replica);
void sw_replica_stop(struct sw_replica *replica);
void sw_replica_destroy(struct sw_replica *replica);

/* Follows a primary from now on: "host port", "host:port", "[v6]:port" or "unix:/path". The server
 * refuses writes when this returns. Returns 0; or -1 and an error in `reason`. */
int sw_replica_follow(struct sw_replica *replica, const char *primary, char *reason,
                      size_t reason_bytes);
/* Stops following without becoming a primary. The server refuses writes when this returns. Returns
 * the number of the order. */
uint64_t sw_replica_hold(struct sw_replica *replica);
/* Orders the promotion to primary. `term`: for a member of a shard, else 0. Returns the number of
 * the order, for sw_replica_outcome. */
uint64_t sw_replica_promote(struct sw_replica *replica, uint64_t term);
/* Returns 0 while the promotion runs, 1 once the server is a primary, or -1 and an error in
 * `reason` if it cannot be one. */
int sw_replica_outcome(struct sw_replica *replica, uint64_t number, char *reason,
                       size_t reason_bytes);

#endif
