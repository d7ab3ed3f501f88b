/* SPDX-License-Identifier: MIT
 *
 * peers.h - questions to other members of the shard, by the port of their clients: one connection
 * each, which logs in as a replica does, sends one command, and reads one line. On a libuv loop.
 */
#ifndef SHERWOOD_SERVER_HA_PEERS_H
#define SHERWOOD_SERVER_HA_PEERS_H

#include <uv.h>

#include "server/config/config.h"

/* `line` is the answer without its end; NULL: none came in time. */
typedef void sw_peer_done(void *context, const char *line);

/* Asks the member at "host:port". `words` is one command, without blanks in its words. */
void sw_peer_ask(uv_loop_t *uv, const struct sw_config *config, const char *address,
                 const char *words, uint64_t timeout_ms, sw_peer_done *done, void *context);

#endif
