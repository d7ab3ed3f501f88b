/* SPDX-License-Identifier: MIT
 *
 * repl.h - replication as one object: the feed, those who send it on, and the thread that follows a
 * primary. What the rest of the server sees of it.
 *
 * Threads: any, but for create, start, stop and destroy.
 */
#ifndef SHERWOOD_SERVER_REPL_REPL_H
#define SHERWOOD_SERVER_REPL_REPL_H

#include "server/cluster/cluster.h"
#include "server/repl/facts.h"
#include "server/repl/feed.h"
#include "server/repl/replica.h"
#include "server/repl/sender.h"

struct sw_repl_owner {
    void *server;
    bool (*is_quiet)(void *server, uint64_t fence); /* see struct sw_replica_parts */
    void (*wake)(void *server);                     /* somebody may wait for replicas, or a role */
    void (*wake_all)(void *server);                 /* every loop is to look at the role */
    struct sw_saver *saver;                         /* NULL: there is no data directory */
    struct sw_wal *wal;                             /* NULL: writes are not logged */
};

struct sw_repl {
    struct sw_repl_owner owner;
    const struct sw_config *config; /* borrowed, as the table */
    struct sw_table *table;
    struct sw_repl_state state;
    struct sw_role_keeper role;
    char replicaof[SW_ROLE_PRIMARY_BYTES]; /* the option at the start */
    struct sw_feed *feed;
    struct sw_senders *senders;
    struct sw_replica *replica;
    const char *lacks; /* why such a table has no replicas; NULL: it may have some */
};

/* Returns NULL with a sentence logged. */
struct sw_repl *sw_repl_create(const struct sw_config *config, struct sw_table *table,
                               const struct sw_repl_owner *owner);
/* The data directory is loaded: see sw_replica_loaded. Returns 0; or -1 with a sentence logged. */
int sw_repl_loaded(struct sw_repl *repl);
/* The log has moved. Any thread; does not block. */
void sw_repl_log_moved(struct sw_repl *repl);
/* Follows the primary of the options, or of the topology, if there is one. `cluster` may be NULL.
 * Returns 0; or -1 with a sentence logged. */
int sw_repl_start(struct sw_repl *repl, struct sw_cluster *cluster);
/* The loops have ended: sends what is left, and ends all threads. */
void sw_repl_stop(struct sw_repl *repl);
void sw_repl_destroy(struct sw_repl *repl);

/* May REPLICAOF change the role? Returns NULL, or why not. */
const char *sw_repl_why_not(const struct sw_repl *repl);
/* REPLICAOF: the data directory has the new role before the server has it. May block for the disk:
 * call it from no loop. Returns 0; or -1 with a sentence in `reason`, and nothing changed. */
int sw_repl_follow(struct sw_repl *repl, const char *primary, char reason[SW_REPL_REASON_BYTES]);
/* Writes what replicaof would have to be for this role. */
void sw_repl_replicaof(struct sw_repl *repl, char text[SW_ROLE_PRIMARY_BYTES]);
/* A topology says whose replica this node is, or that it is a primary; one that is in no topology
 * stays what it was, and so does a member of a shard that elects its primary (--ha). What cannot be
 * done is logged. `cluster` may be NULL. */
void sw_repl_take_role(struct sw_repl *repl, struct sw_cluster *cluster);
/* REPLICATE: takes over the wire. Returns 0; or -1 with a sentence. */
int sw_repl_serve(struct sw_repl *repl, const struct sw_wire *wire, const struct sw_repl_peer *peer,
                  const struct sw_repl_hello *hello, char *reason, size_t reason_bytes);

/* How many replicas that count have carried out the writes up to this one. */
unsigned sw_repl_reached(struct sw_repl *repl, uint64_t sequence);

void sw_repl_facts(struct sw_repl *repl, struct sw_repl_facts *facts);

#endif
