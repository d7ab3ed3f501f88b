/* SPDX-License-Identifier: MIT
 *
 * describe.h - addresses and table in words, for the line that main prints at the start. Pure
 * functions.
 */
#ifndef SHERWOOD_SERVER_DESCRIBE_H
#define SHERWOOD_SERVER_DESCRIBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/config/config.h"

struct sw_table_info;

/* The addresses: "127.0.0.1:7379, 127.0.0.1:7380 by TLS and unix:/run/sherwood.sock". `activated`:
 * the service manager has passed sockets. The ports are those that are bound. */
void sw_describe_addresses(const struct sw_config *config, bool activated, uint16_t port,
                           uint16_t tls_port, char *out, size_t room);
/* The widths: "u64 keys, u64 values" or "u64 keys, values of up to 252 bytes". */
void sw_describe_widths(const struct sw_config *config, const struct sw_table_info *info, char *out,
                        size_t room);
/* The capacity: "16777216 slots (14260633 keys at load 0.85)". A cache is never full, so its policy
 * and mode stand there instead of the keys. */
void sw_describe_slots(const struct sw_config *config, const struct sw_table_info *info, char *out,
                       size_t room);
/* Where the pages are: "HTTP on 127.0.0.1:7380", or "no HTTP". */
void sw_describe_http(const struct sw_config *config, bool has_http, uint16_t port, char *out,
                      size_t room);
/* What is kept: "snapshots and a log in /var/lib/sherwood", or "in memory only". */
void sw_describe_files(const struct sw_config *config, char *out, size_t room);

#endif
