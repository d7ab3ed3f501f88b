/* SPDX-License-Identifier: MIT
 *
 * replica.h - the thread that makes this server a replica of another one, while it is to be one.
 *
 * Threads: any, but for create, start, stop and destroy.
 */
#ifndef SHERWOOD_SERVER_REPL_REPLICA_H
#define SHERWOOD_SERVER_REPL_REPLICA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/config/config.h"
#include "server/log/saver.h"
#include "server/repl/feed.h"
#include "server/repl/role.h"
#include "server/repl/stream.h"

struct sw_table;

struct sw_replica;

struct sw_replica_parts {
    const struct sw_config *config;
    struct sw_table *table;
    struct sw_feed *feed;
    struct sw_repl_state *state;
    struct sw_saver *saver; /* NULL: there is no data directory */
    struct sw_wal *wal;     /* NULL: writes are not logged */
    struct sw_role_keeper *role;
    /* Has every loop seen the fence, with nothing in flight since? Wakes those that have not. */
    bool (*is_quiet)(void *context, uint64_t fence);
    void (*history_changed)(void *context); /* who replicates from this server has to ask again */
    void (*promoted)(void *context);
    void *context;
};

/* The files are loaded, and nothing is served yet: what they hold is of the history that they name,
 * or a primary's that comes from it. Returns 0; or -1 with a sentence in `reason`. */
int sw_replica_loaded(struct sw_replica *replica, char reason[SW_REPL_REASON_BYTES]);
/* The log has moved. Any thread; does not block. */
void sw_replica_log_moved(struct sw_replica *replica);

struct sw_replica *sw_replica_create(const struct sw_replica_parts *parts);
int sw_replica_start(struct sw_replica *replica);
void sw_replica_stop(struct sw_replica *replica);
void sw_replica_destroy(struct sw_replica *replica);

/* Follows a primary from now on: "host port", "host:port", "[v6]:port" or "unix:/path". Writes are
 * refused when this returns. Returns 0; or -1 with a sentence in `reason`. */
int sw_replica_follow(struct sw_replica *replica, const char *primary, char *reason,
                      size_t reason_bytes);
/* Follows nobody from now on, and is no primary. Writes are refused when this returns. Returns the
 * number to ask about. */
uint64_t sw_replica_hold(struct sw_replica *replica);
/* Asks it to become a primary; of a term, if it is a member of a shard (else 0). Returns the number
 * to ask about. */
uint64_t sw_replica_promote(struct sw_replica *replica, uint64_t term);
/* Returns 0 while that is under way, 1 once it is one, -1 with a sentence in `reason` if it cannot.
 */
int sw_replica_outcome(struct sw_replica *replica, uint64_t number, char *reason,
                       size_t reason_bytes);

#endif
