/* SPDX-License-Identifier: MIT
 *
 * peers.h - questions to other members of the shard, by the port that replicas come by: one
 * connection each, which logs in as a replica does, sends one command, and reads one line. Each has
 * a thread of its own while it lasts; its answer comes on the libuv loop, as all calls do.
 */
#ifndef SHERWOOD_SERVER_HA_PEERS_H
#define SHERWOOD_SERVER_HA_PEERS_H

#include <uv.h>

#include "server/config/config.h"
#include "server/repl/lookup.h"

struct sw_peers {
    uv_loop_t *uv;
    const struct sw_config *config;
    int end_fd; /* readable once all questions are to end */
    struct sw_lookups *lookups;
};

/* Returns 0, or -1: there is no descriptor. Borrows both. */
int sw_peers_init(struct sw_peers *peers, uv_loop_t *uv, const struct sw_config *config);
/* Ends the questions: `done` of each is called with NULL, soon, on the loop. */
void sw_peers_end(struct sw_peers *peers);
/* The loop has no question any more. */
void sw_peers_fini(struct sw_peers *peers);

/* `line` is the answer without its end; NULL: none came in time. */
typedef void sw_peer_done(void *context, const char *line);

/* Asks the member at "host:port". `words` is one command, without blanks in its words. */
void sw_peer_ask(struct sw_peers *peers, const char *address, const char *words,
                 uint64_t timeout_ms, sw_peer_done *done, void *context);

#endif
