/* SPDX-License-Identifier: MIT
 *
 * login.h - where a primary is, and the first words of a replica to it. By the thread of the link.
 */
#ifndef SHERWOOD_SERVER_REPL_LOGIN_H
#define SHERWOOD_SERVER_REPL_LOGIN_H

#include <stdint.h>

#include "server/config/config.h"
#include "server/repl/link.h"
#include "server/repl/stream.h"

struct sw_table;

/* Parses where a primary is: "host port", "host:port", "[v6]:port" or "unix:/path". Returns 0, or
 * -1. */
int sw_login_parse(const char *primary, char host[SW_REPL_ADDRESS_BYTES], uint16_t *port);

/* Goes on by TLS where tls-replication says so; over a Unix socket (port 0) never. Returns 0, or
 * -1.
 */
int sw_login_secure(struct sw_link_to *link, const struct sw_config *config, const char *host,
                    uint16_t port);
/* Logs in as primary-user, if there is a primary-password-file. Returns 0, or -1. */
int sw_login_send(struct sw_link_to *link, const struct sw_config *config);

/* What this server says of itself, but for its position. */
void sw_login_hello(const struct sw_table *table, const struct sw_config *config,
                    struct sw_repl_hello *hello);

#endif
