/* SPDX-License-Identifier: MIT
 *
 * terms.h - callbacks of replication for a member of a shard (server/ha): they decide which primary
 * it follows, which replicas it serves, and which of them count. Without a shard an operator
 * decides, and replication does not call these.
 *
 * A connection belongs to one term: the primary's term when the replica connected. Threads: any.
 */
#ifndef SHERWOOD_SERVER_REPL_TERMS_H
#define SHERWOOD_SERVER_REPL_TERMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/log/history_terms.h"

struct sw_repl_hello;
struct sw_repl_welcome;

/* The last acknowledgement of a replica. */
struct sw_repl_ack {
    uint64_t node; /* 0: not a member of the shard */
    uint64_t incarnation;
    uint64_t term;
    uint64_t sequence;
};

struct sw_repl_terms {
    void *context;
    /* The data directory is loaded. `of`: the term of the last write, and its first record.
     * `newest`: the highest term that this member has taken part in. */
    void (*loaded)(void *context, struct sw_term_start of, uint64_t newest);
    /* Replica: fills in the member's words of REPLICATE. */
    void (*introduce)(void *context, struct sw_repl_hello *hello);
    /* Replica: returns true if it may take the records of a primary that has welcomed it. If the
     * primary does not resume, the replica's table is emptied afterwards. */
    bool (*follow)(void *context, const struct sw_repl_welcome *welcome);
    /* Replica: returns true if it may acknowledge the records of this term that it has applied.
     * Fills in the incarnation for the acknowledgement. */
    bool (*advance)(void *context, uint64_t term, uint64_t *incarnation);
    /* Primary: returns true if it may serve the replica. Fills in the term and the node under which
     * the replica's acknowledgements count. */
    bool (*serve)(void *context, const struct sw_repl_hello *hello, struct sw_repl_ack *who,
                  char *reason, size_t reason_bytes);
    /* Primary: returns the sequence of the first record of its term; 0: it no longer serves this
     * term. */
    uint64_t (*start)(void *context, uint64_t term);
    /* Primary: returns the number of replicas that count and have acknowledged the write. */
    unsigned (*count)(void *context, const struct sw_repl_ack *acks, unsigned count,
                      uint64_t sequence);
};

#endif
