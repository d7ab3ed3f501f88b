/* SPDX-License-Identifier: MIT
 *
 * login.h - the address of a primary, and the login of a replica. Threads: the connection's.
 */
#ifndef SHERWOOD_SERVER_REPL_LOGIN_H
#define SHERWOOD_SERVER_REPL_LOGIN_H

#include <stdint.h>

#include "server/config/config.h"
#include "server/repl/peer_connection.h"
#include "server/repl/stream.h"

struct sw_table;

/* Parses the address of a primary: "host port", "host:port", "[v6]:port" or "unix:/path". Returns
 * 0, or -1. */
int sw_login_parse(const char *primary, char host[SW_REPL_ADDRESS_BYTES], uint16_t *port);

/* Starts TLS if tls-replication is set, except over a Unix socket (port 0). Returns 0, or -1. */
int sw_login_secure(struct sw_peer_connection *connection, const struct sw_config *config,
                    const char *host, uint16_t port);
/* Logs in as primary-user, if there is a primary-password-file. Returns 0, or -1. */
int sw_login_send(struct sw_peer_connection *connection, const struct sw_config *config);

/* Fills in what this server reports of itself, except its position. */
void sw_login_hello(const struct sw_table *table, const struct sw_config *config,
                    struct sw_repl_hello *hello);

#endif
