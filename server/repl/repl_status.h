/* SPDX-License-Identifier: MIT
 *
 * repl_status.h - status of replication, for INFO, ROLE, the metrics and the pages.
 */
#ifndef SHERWOOD_SERVER_REPL_REPL_STATUS_H
#define SHERWOOD_SERVER_REPL_REPL_STATUS_H

#include "server/repl/backlog.h"
#include "server/repl/sender.h"
#include "server/repl/state.h"

struct sw_repl_status {
    bool is_replica;
    bool lacks_data;
    bool knows_no_primary; /* a member of a shard that is not primary and follows none */
    struct sw_repl_history history;
    uint64_t position; /* the last write that this server has applied */
    char host[SW_REPL_ADDRESS_BYTES];
    uint16_t port;
    enum sw_link link;
    uint64_t primary_at;
    /* The next four are a replica's. */
    uint64_t lag_writes; /* known writes of the primary that it has not applied */
    uint64_t lag_ms;     /* since it last had all of them */
    uint64_t silent_ms;  /* since it last received bytes from the primary */
    uint64_t down_ms;    /* since it lost the connection */
    uint64_t synced_bytes;
    uint64_t resyncs, resumed, errors;
    struct sw_backlog_stats backlog;
    struct sw_senders_stats senders;
};

#endif
