/* SPDX-License-Identifier: MIT
 *
 * facts.h - what INFO, ROLE, the metrics and the pages tell of replication.
 */
#ifndef SHERWOOD_SERVER_REPL_FACTS_H
#define SHERWOOD_SERVER_REPL_FACTS_H

#include "server/repl/feed.h"
#include "server/repl/sender.h"
#include "server/repl/state.h"

struct sw_repl_facts {
    bool is_replica;
    bool lacks_data;
    struct sw_lineage history;
    uint64_t position; /* the last write that this server has carried out */
    char host[SW_REPL_ADDRESS_BYTES];
    uint16_t port;
    enum sw_link link;
    uint64_t primary_at;
    uint64_t lag_writes; /* of a replica: what it has not carried out, as far as it knows */
    uint64_t lag_ms;     /* .. since it last had everything */
    uint64_t silent_ms;  /* .. since something came from the primary */
    uint64_t down_ms;    /* .. since it has no connection */
    uint64_t synced_bytes;
    uint64_t resyncs, resumed, errors;
    struct sw_feed_figures feed;
    struct sw_senders_figures senders;
};

#endif
