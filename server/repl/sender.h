/* SPDX-License-Identifier: MIT
 *
 * sender.h - the senders of a primary: one thread for each replica.
 *
 * A sender never blocks a writer. Unsent records stay in the backlog. If the backlog drops one, the
 * sender closes the connection.
 *
 * Threads: any. Create, stop and destroy are the exceptions: only the owner calls them.
 */
#ifndef SHERWOOD_SERVER_REPL_SENDER_H
#define SHERWOOD_SERVER_REPL_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/config/config.h"
#include "server/repl/backlog.h"
#include "server/repl/peer_socket.h"
#include "server/repl/stream.h"
#include "server/repl/terms.h"
#include "server/users/users.h"

struct sw_sequencer;
struct sw_table;
struct sw_tables;

struct sw_senders;

/* The client that sent REPLICATE. Borrowed for the call, except `users`. */
struct sw_repl_peer {
    const char *address;
    struct sw_users *users;       /* NULL: the server has no users */
    const struct sw_login *login; /* its login */
    uint32_t command;             /* number of REPLICATE in the users' catalog */
};

struct sw_senders_parts {
    const struct sw_config *config;
    struct sw_table *table; /* the first one */
    struct sw_backlog *backlog;
    struct sw_repl_state *state;
    void (*wake)(void *context); /* a replica has acknowledged: a client may wait for that */
    void *context;
    struct sw_tables *tables;       /* sw_senders_set_tables, which also sets the next one */
    struct sw_sequencer *sequencer; /* of all tables */
};

struct sw_senders *sw_senders_create(const struct sw_senders_parts *parts);
/* Sets the tables and their sequencer, which are borrowed. Call it before sw_senders_add. */
void sw_senders_set_tables(struct sw_senders *senders, struct sw_tables *tables,
                           struct sw_sequencer *sequencer);
/* Sends the records in the backlog, for two seconds at most, and ends the threads. */
void sw_senders_stop(struct sw_senders *senders);
void sw_senders_destroy(struct sw_senders *senders);

/* Takes over a socket and serves the replica on it, for as long as its user may run REPLICATE.
 * Returns 0; or -1 and an error in `reason`: the caller then keeps the socket. */
int sw_senders_add(struct sw_senders *senders, const struct sw_peer_socket *socket,
                   const struct sw_repl_peer *peer, const struct sw_repl_hello *hello,
                   const struct sw_repl_ack *who, char *reason, size_t reason_bytes);
/* Ends all connections: the server is not a primary any more, or has another history. */
void sw_senders_cut(struct sw_senders *senders);

/* Writes the acknowledgements of the shard's members that have sent one, at most `max`. Returns
 * their number.
 */
unsigned sw_senders_acks(struct sw_senders *senders, struct sw_repl_ack *acks, unsigned max);
/* Returns the number of replicas that have applied the writes up to this one. */
unsigned sw_senders_reached(struct sw_senders *senders, uint64_t sequence);

#define SW_SENDERS_SHOWN_MAX 16
struct sw_sender_status {
    char address[64];
    bool is_online; /* it has its snapshot, or needed none */
    uint64_t acknowledged;
    uint64_t silent_ms; /* since its last acknowledgement */
};
struct sw_senders_stats {
    unsigned replicas;
    struct sw_sender_status shown[SW_SENDERS_SHOWN_MAX];
    uint64_t snapshots, resumes, dropped, errors, sent_bytes;
};
void sw_senders_stats(struct sw_senders *senders, struct sw_senders_stats *stats);

#endif
