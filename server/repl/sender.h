/* SPDX-License-Identifier: MIT
 *
 * sender.h - what a primary sends to its replicas: a thread each.
 *
 * A sender never holds anybody up: what its replica has not taken is in the feed, and once it is
 * gone there the connection ends. Threads: any, but for create, stop and destroy.
 */
#ifndef SHERWOOD_SERVER_REPL_SENDER_H
#define SHERWOOD_SERVER_REPL_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/config/config.h"
#include "server/repl/feed.h"
#include "server/repl/stream.h"
#include "server/repl/terms.h"
#include "server/repl/wire.h"
#include "server/users/users.h"

struct sw_table;

struct sw_senders;

/* Who sent REPLICATE. Borrowed for the call, except the users. */
struct sw_repl_peer {
    const char *address;
    struct sw_users *users;       /* NULL: the server has none */
    const struct sw_login *login; /* as whom it has logged in */
    uint32_t command;             /* of the users' catalog, which the login was allowed to run */
};

struct sw_senders_parts {
    const struct sw_config *config;
    struct sw_table *table;
    struct sw_feed *feed;
    struct sw_repl_state *state;
    void (*wake)(void *context); /* a replica has acknowledged: somebody may wait for that */
    void *context;
};

struct sw_senders *sw_senders_create(const struct sw_senders_parts *parts);
/* Sends what is in the feed, for two seconds at most, and ends the threads. */
void sw_senders_stop(struct sw_senders *senders);
void sw_senders_destroy(struct sw_senders *senders);

/* Serves a replica by a wire, which is taken over, for as long as its user may run REPLICATE.
 * Returns 0; or -1 with a sentence in `reason`, and the wire is the caller's. */
int sw_senders_add(struct sw_senders *senders, const struct sw_wire *wire,
                   const struct sw_repl_peer *peer, const struct sw_repl_hello *hello,
                   const struct sw_repl_ack *who, char *reason, size_t reason_bytes);
/* Ends all connections: the server is no primary any more, or of another history. */
void sw_senders_cut(struct sw_senders *senders);

/* What those have acknowledged who have acknowledged anything, as members of a shard. Returns how
 * many. */
unsigned sw_senders_acks(struct sw_senders *senders, struct sw_repl_ack *acks, unsigned max);
/* How many replicas have carried out the writes up to this one. */
unsigned sw_senders_reached(struct sw_senders *senders, uint64_t sequence);

#define SW_SENDERS_SHOWN_MAX 16
struct sw_sender_facts {
    char address[64];
    bool is_online; /* it has its snapshot, or needed none */
    uint64_t acknowledged;
    uint64_t silent_ms; /* since its last acknowledgement */
};
struct sw_senders_figures {
    unsigned replicas;
    struct sw_sender_facts shown[SW_SENDERS_SHOWN_MAX];
    uint64_t snapshots, resumes, dropped, errors, sent_bytes;
};
void sw_senders_figures(struct sw_senders *senders, struct sw_senders_figures *figures);

#endif
