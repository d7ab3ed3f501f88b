/* SPDX-License-Identifier: MIT
 *
 * repl.h - replication as one object, the interface for the rest of the server: the backlog, the
 * senders, and the thread that follows a primary.
 *
 * Threads: any. Create, start, stop and destroy are the exceptions: only the owner calls them.
 */
#ifndef SHERWOOD_SERVER_REPL_REPL_H
#define SHERWOOD_SERVER_REPL_REPL_H

#include "server/cluster/cluster.h"
#include "server/repl/backlog.h"
#include "server/repl/repl_status.h"
#include "server/repl/replica.h"
#include "server/repl/sender.h"

struct sw_repl_owner {
    void *server;
    bool (*is_quiet)(void *server, uint64_t fence); /* see struct sw_replica_parts */
    void (*wake)(void *server);     /* a client may wait for replicas, or for a role */
    void (*wake_all)(void *server); /* every loop must read the role again */
    struct sw_saver *saver;         /* NULL: there is no data directory */
    struct sw_wal *wal;             /* NULL: writes are not logged */
};

struct sw_repl {
    struct sw_repl_owner owner;
    const struct sw_config *config; /* borrowed, as the table */
    struct sw_table *table;         /* the first one */
    struct sw_sequencer *sequencer; /* of all tables: sw_repl_set_tables */
    struct sw_repl_state state;
    struct sw_role_store role;
    char replicaof[SW_ROLE_PRIMARY_BYTES]; /* the option at the start */
    struct sw_backlog *backlog;
    struct sw_senders *senders;
    struct sw_replica *replica;
    const char *lacks; /* why such a table cannot have replicas; NULL: it can */
};

/* Logs an error and returns NULL if it fails. */
struct sw_repl *sw_repl_create(const struct sw_config *config, struct sw_table *table,
                               const struct sw_repl_owner *owner);
/* Sets the tables, and the sequencer that numbers their writes. Borrows both. Call it before
 * sw_repl_start. */
void sw_repl_set_tables(struct sw_repl *repl, struct sw_tables *tables,
                        struct sw_sequencer *sequencer);
/* Returns the last number of a write that a table, or a change of the tables, has taken. */
uint64_t sw_repl_last(const struct sw_repl *repl);
/* The data directory is loaded: see sw_replica_loaded. Returns 0; or logs an error and returns -1.
 */
int sw_repl_loaded(struct sw_repl *repl);
/* The log has made progress. Threads: any. Does not block. */
void sw_repl_log_moved(struct sw_repl *repl);
/* Follows the primary of the options, or of the topology, if there is one. `cluster` may be NULL.
 * Returns 0; or logs an error and returns -1. */
int sw_repl_start(struct sw_repl *repl, struct sw_cluster *cluster);
/* Sends the remaining records and ends all threads. Call it when the loops have ended. */
void sw_repl_stop(struct sw_repl *repl);
void sw_repl_destroy(struct sw_repl *repl);

/* Returns NULL if REPLICAOF may change the role, else an error text. */
const char *sw_repl_why_not(const struct sw_repl *repl);
/* REPLICAOF: writes the new role to the data directory, then changes it. May block for the disk, so
 * loops must not call it. Returns 0; or changes nothing and returns -1 with an error in `reason`.
 */
int sw_repl_follow(struct sw_repl *repl, const char *primary, char reason[SW_REPL_REASON_BYTES]);
/* Writes the value of replicaof that stands for the current role. */
void sw_repl_replicaof(struct sw_repl *repl, char text[SW_ROLE_PRIMARY_BYTES]);
/* Takes the role that the topology gives this node: primary, or replica of a node. Changes nothing
 * if the node is in no topology, or its shard elects the primary (--ha). Logs failures. `cluster`
 * may be NULL. */
void sw_repl_take_role(struct sw_repl *repl, struct sw_cluster *cluster);
/* REPLICATE: takes over the socket and serves the replica. Returns 0; or -1 and an error in
 * `reason`.
 */
int sw_repl_serve(struct sw_repl *repl, const struct sw_peer_socket *socket,
                  const struct sw_repl_peer *peer, const struct sw_repl_hello *hello, char *reason,
                  size_t reason_bytes);

/* Returns the number of replicas that count and have applied the writes up to this one. */
unsigned sw_repl_reached(struct sw_repl *repl, uint64_t sequence);

void sw_repl_status(struct sw_repl *repl, struct sw_repl_status *facts);

#endif
