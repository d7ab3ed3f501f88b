/* SPDX-License-Identifier: MIT
 *
 * peers.h - requests to other members of the shard, on the port that replicas connect to.
 *
 * Each request has a connection and a thread of its own. The thread logs in as a replica does,
 * sends one command, and reads one line. Threads: the libuv loop's, for all functions and
 * callbacks.
 */
#ifndef SHERWOOD_SERVER_HA_PEERS_H
#define SHERWOOD_SERVER_HA_PEERS_H

#include <uv.h>

#include "server/config/config.h"
#include "server/repl/lookup.h"

struct sw_peers {
    uv_loop_t *uv;
    const struct sw_config *config;
    int end_fd; /* readable once all requests are to end */
    struct sw_lookups *lookups;
};

/* Returns 0; or -1 if no descriptor is free or memory is short. Borrows both arguments. */
int sw_peers_init(struct sw_peers *peers, uv_loop_t *uv, const struct sw_config *config);
/* Ends all requests: the loop soon calls `done` of each with NULL. */
void sw_peers_end(struct sw_peers *peers);
/* Frees the members. Call it when no request is left on the loop. */
void sw_peers_fini(struct sw_peers *peers);

/* `line` is the reply without its line end; NULL: no reply arrived in time. */
typedef void sw_peer_done(void *context, const char *line);

/* Sends a command to the member at "host:port". Spaces in `words` separate its arguments. */
void sw_peer_ask(struct sw_peers *peers, const char *address, const char *words,
                 uint64_t timeout_ms, sw_peer_done *done, void *context);

#endif
