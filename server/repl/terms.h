/* SPDX-License-Identifier: MIT
 *
 * terms.h - who decides which primary is followed, served and counted, where several servers are
 * members of a shard (server/ha). Without one an operator does, and nothing here is called.
 *
 * A connection belongs to one term: that of the primary when it came. Threads: any.
 */
#ifndef SHERWOOD_SERVER_REPL_TERMS_H
#define SHERWOOD_SERVER_REPL_TERMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/log/history_terms.h"

struct sw_repl_hello;
struct sw_repl_welcome;

/* What a replica has acknowledged. */
struct sw_repl_ack {
    uint64_t node; /* 0: it is no member of the shard */
    uint64_t incarnation;
    uint64_t term;
    uint64_t sequence;
};

struct sw_repl_terms {
    void *context;
    /* The data directory is loaded: the last write is of this term, which began there, and `newest`
     * is the highest that this member has taken part in. */
    void (*loaded)(void *context, struct sw_term_start of, uint64_t newest);
    /* Of a replica: fills in what it says of itself. */
    void (*introduce)(void *context, struct sw_repl_hello *hello);
    /* .. it was welcomed: may it take what comes? Without a resumption its table goes first. */
    bool (*follow)(void *context, const struct sw_repl_welcome *welcome);
    /* .. it has carried out what came in this term: may it acknowledge that, and as whom? */
    bool (*advance)(void *context, uint64_t term, uint64_t *incarnation);
    /* Of a primary: may the replica have what this server holds? Fills in the term, and by which
     * number the replica counts. */
    bool (*serve)(void *context, const struct sw_repl_hello *hello, struct sw_repl_ack *who,
                  char *reason, size_t reason_bytes);
    /* .. the first record of its term; 0: it serves that no more. */
    uint64_t (*start)(void *context, uint64_t term);
    /* .. how many of those who have the write count? */
    unsigned (*count)(void *context, const struct sw_repl_ack *acks, unsigned count,
                      uint64_t sequence);
};

#endif
